'use strict';

// Retry policies. This client sends ISO 8601, and reads TimeSpan, which Azure answered.

const assert = require('node:assert/strict');
const { test } = require('node:test');

const moment = require('moment');

const { http } = require('./actions.js');
const { GROUP, World, read } = require('./world.js');

const fixed = (retryInterval) => ({ retryType: 'fixed', retryInterval, retryCount: 2 });

for (const interval of ['PT1M', 'PT15S', 'PT23H59M59S', 'P30DT1M']) {
  test(`an interval of ${interval} is the same in every answer`, async () => {
    const world = new World();
    const collection = await world.standard();
    const retryPolicy = fixed(moment.duration(interval));
    const action = { ...http(), retryPolicy, errorAction: { ...http(), retryPolicy } };
    const answers = await world.everywhere(collection, { action });
    for (const [where, job] of Object.entries(answers)) {
      const found = job.properties.action;
      assert.deepEqual(read(found.retryPolicy), fixed(interval), where);
      assert.deepEqual(read(found.errorAction.retryPolicy), fixed(interval), where);
    }
  });
}

test('a patch changes an interval and keeps the rest', async () => {
  const world = new World();
  const collection = await world.standard();
  const retryPolicy = fixed(moment.duration(1, 'hour'));
  const properties = { action: { ...http(), retryPolicy } };
  await world.jobs.createOrUpdate(GROUP, collection, 'job', { properties });
  const change = { action: { retryPolicy: { retryInterval: moment.duration(1, 'minute') } } };
  const patched = await world.jobs.patch(GROUP, collection, 'job', { properties: change });
  const fetched = await world.jobs.get(GROUP, collection, 'job');
  for (const job of [patched, fetched]) {
    assert.deepEqual(read(job.properties.action.retryPolicy), fixed('PT1M'));
  }
});

test('no retries, and answers add no retry policy', async () => {
  const world = new World();
  const collection = await world.standard();
  for (const retryPolicy of [{ retryType: 'none' }, undefined]) {
    const answers = await world.everywhere(collection, { action: { ...http(), retryPolicy } });
    for (const [where, job] of Object.entries(answers)) {
      assert.deepEqual(read(job.properties.action).retryPolicy, retryPolicy, where);
    }
  }
});
