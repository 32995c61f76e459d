// graphile-worker: `add` adds the jobs of the plan, `work` performs them.
import { makeWorkerUtils, run } from "graphile-worker";
import { call, command, pages, plan, ready, store } from "./harness.mjs";

// set-up
const preset = {
  worker: {
    connectionString: store,
    concurrentJobs: 24,
    maxPoolSize: 25,
    pollInterval: 500,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
};

if (command === "add") {
  const utils = await makeWorkerUtils({ preset });
  await utils.migrate();
  for (const page of pages(plan.jobs ?? [], 1000)) {
    await utils.addJobs(page.map(([name, due]) => ({ identifier: "call", payload: { name }, runAt: new Date(due) })));
  }
  await utils.release();
} else {
  await run({ preset, taskList: { call: (payload) => call(payload.name) }, crontab: "" });
  // end of set-up
  ready();
}
