// pg-boss: `add` adds the jobs of the plan, `work` performs them.
import { PgBoss } from "pg-boss";
import { call, command, pages, plan, ready, store } from "./harness.mjs";

// set-up
const boss = new PgBoss(store);
boss.on("error", console.error);
await boss.start();
// An attempt without a sign of life for 10 s is tried again; without this it is after 15 minutes.
await boss.createQueue("call", { heartbeatSeconds: 10 });

if (command === "add") {
  for (const page of pages(plan.jobs ?? [], 1000)) {
    await boss.insert("call", page.map(([name, due]) => ({ data: { name }, startAfter: new Date(due) })));
  }
  for (const [name, rule] of plan.rules ?? []) {
    await boss.schedule("call", rule, { name }, { tz: plan.zone, key: name });
  }
  await boss.stop();
} else {
  const options = { batchSize: 100, localConcurrency: 4, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
  await boss.work("call", options, (jobs) => Promise.all(jobs.map((job) => call(job.data.name))));
  // end of set-up
  ready();
}
