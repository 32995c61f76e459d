// Jobs that are due at one instant, as BullMQ has them: added ahead with a delay, and each calls the
// target. Prints the instant in milliseconds, and ends when all are done.
import http from "node:http";
import { Queue, Worker } from "bullmq";

const [redis, target, count] = process.argv.slice(2);
const connection = { host: "127.0.0.1", port: Number(redis) };
const agent = new http.Agent({ keepAlive: true, maxSockets: 100 });
const n = Number(count);

const call = (number) =>
  new Promise((resolve, reject) => {
    const options = { method: "POST", agent, headers: { "Content-Type": "application/json" } };
    const request = http.request(`${target}/${number}`, options, (response) => {
      response.resume();
      response.on("end", resolve);
    });
    request.on("error", reject);
    request.end("x".repeat(100));
  });

const queue = new Queue("burst", { connection });
await queue.waitUntilReady();
const due = Math.ceil(Date.now() / 1000) * 1000 + 15_000;
for (let from = 0; from < n; from += 500) {
  const jobs = [];
  for (let number = from; number < Math.min(from + 500, n); number += 1) {
    jobs.push({ name: "call", data: { number }, opts: { delay: due - Date.now() } });
  }
  await queue.addBulk(jobs);
}
if (Date.now() > due - 2_000) throw new Error("added too slowly");
console.log(due);
let left = n;
const worker = new Worker("burst", (job) => call(job.data.number), { connection, concurrency: 100 });
await new Promise((resolve) => worker.on("completed", () => (left -= 1) || resolve()));
await worker.close();
await queue.close();
agent.destroy();
