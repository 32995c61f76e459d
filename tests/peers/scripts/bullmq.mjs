// BullMQ: `add` adds the jobs of the plan, `work` performs them.
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { call, command, pages, plan, ready, store } from "./harness.mjs";

// set-up
const connection = new Redis(store, { maxRetriesPerRequest: null });

if (command === "add") {
  const queue = new Queue("call", { connection });
  for (const page of pages(plan.jobs ?? [], 1000)) {
    const timestamp = Date.now();
    await queue.addBulk(
      page.map(([name, due]) => ({ name: "call", data: { name }, opts: { timestamp, delay: due - timestamp } })),
    );
  }
  for (const [name, rule] of plan.rules ?? []) {
    await queue.upsertJobScheduler(name, { pattern: rule, tz: plan.zone }, { name: "call", data: { name } });
  }
  await queue.close();
  await connection.quit();
} else {
  const worker = new Worker("call", (job) => call(job.data.name), { connection, concurrency: 100 });
  worker.on("error", console.error);
  await worker.waitUntilReady();
  // end of set-up
  ready();
}
