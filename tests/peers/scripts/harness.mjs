// What the scripts of the peers share: the plan, and the call that a job makes.
import { readFileSync } from "node:fs";
import http from "node:http";

export const plan = JSON.parse(readFileSync(process.env.PEER_PLAN, "utf8"));
export const store = process.env.PEER_STORE;
export const command = process.argv[2];
export const ready = () => console.log("ready");

const agent = new http.Agent({ keepAlive: true, maxSockets: 100 });

export const call = (name) =>
  new Promise((resolve, reject) => {
    const request = http.request(`${plan.target}/${name}${plan.suffix}`, { method: "POST", agent }, (response) => {
      response.resume();
      response.on("end", resolve);
    });
    request.on("error", reject);
    request.end("x".repeat(100));
  });

export function* pages(items, size) {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
