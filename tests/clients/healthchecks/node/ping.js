// Pings with healthchecks-io-client: URL and UUID, then what to report. Prints each answer.

const { HealthChecksPingClient } = require("healthchecks-io-client");

async function main([baseUrl, uuid, ...steps]) {
  const client = new HealthChecksPingClient({ baseUrl, uuid, returnResponse: true });
  for (const step of steps) {
    const [what, text] = step.split("=");
    console.log(await client[what](text));
  }
}

main(process.argv.slice(2));
