'use strict';

// The history of a job that has never run: every list is empty.

const assert = require('node:assert/strict');
const { test } = require('node:test');

const { http } = require('./actions.js');
const { GROUP, World, read, refused } = require('./world.js');

test('a job that never ran has no history', async () => {
  const world = new World();
  const collection = await world.standard();
  const job = { properties: { action: http(), state: 'Disabled' } };
  await world.jobs.createOrUpdate(GROUP, collection, 'job', job);
  for (const options of [
    {},
    { top: 5 },
    { top: 5, skip: 5 },
    { filter: 'status eq Completed' },
    { filter: "status eq 'failed'" },
  ]) {
    const history = await world.jobs.listJobHistory(GROUP, collection, 'job', options);
    assert.deepEqual(read(history), [], JSON.stringify(options));
    assert.ok(!history.nextLink, JSON.stringify(options));
  }
  const another = { filter: 'state eq Enabled' };
  const refusal = world.jobs.listJobHistory(GROUP, collection, 'job', another);
  await refused(refusal, 400, 'BadRequest');
});

test('the history of a missing job is not found', async () => {
  const world = new World();
  const collection = await world.standard();
  await refused(world.jobs.listJobHistory(GROUP, collection, 'job'), 404, 'NotFound');
});
