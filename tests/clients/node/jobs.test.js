'use strict';

// The life cycle of a job.

const assert = require('node:assert/strict');
const { test } = require('node:test');

const { http } = require('./actions.js');
const { GROUP, World, read, refused } = require('./world.js');

const COUNTERS = { executionCount: 0, failureCount: 0, faultedCount: 0 };

test('a job survives a round trip', async () => {
  const world = new World();
  const collection = await world.standard();
  const startTime = '2027-06-01T12:30:45.123Z';
  const recurrence = { frequency: 'day', count: 3 };
  const properties = { startTime: new Date(startTime), action: http(), recurrence };
  const created = await world.jobs.createOrUpdate(GROUP, collection, 'Job-1', { properties });
  const expected = {
    id: world.idOf(collection, 'Job-1'),
    type: 'Microsoft.Scheduler/jobCollections/jobs',
    name: 'Collection/Job-1',
    properties: {
      startTime,
      action: http(),
      recurrence: { ...recurrence, interval: 1 },
      state: 'enabled',
      status: { ...COUNTERS, nextExecutionTime: startTime },
    },
  };
  assert.deepEqual(read(created), expected);
  assert.deepEqual(read(await world.jobs.get(GROUP, collection, 'Job-1')), expected);
  assert.deepEqual(read(await world.jobs.get(GROUP, 'COLLECTION', 'JOB-1')), expected);
  assert.deepEqual(read(await world.jobs.list(GROUP, collection)), [expected]);
});

test('only an enabled job has a status', async () => {
  const world = new World();
  const collection = await world.standard();
  const startTime = '2027-06-01T00:00:00.000Z';
  const job = { properties: { startTime: new Date(startTime), action: http() } };
  await world.jobs.createOrUpdate(GROUP, collection, 'job', job);
  const patch = async (state) => {
    const patched = await world.jobs.patch(GROUP, collection, 'job', { properties: { state } });
    return read(patched).properties;
  };
  const disabled = { startTime, action: http(), state: 'disabled' };
  assert.deepEqual(await patch('Disabled'), disabled);
  const status = { ...COUNTERS, nextExecutionTime: startTime };
  assert.deepEqual(await patch('Enabled'), { ...disabled, state: 'enabled', status });
});

test('a patch keeps missing properties, and a put removes them', async () => {
  const world = new World();
  const collection = await world.standard();
  const startTime = new Date('2027-07-13T00:00:00Z');
  const endTime = new Date('2040-10-10T10:10:10Z');
  const recurrence = { frequency: 'Week', interval: 2, count: 10000, endTime };
  const job = { properties: { startTime, action: http(), recurrence } };
  await world.jobs.createOrUpdate(GROUP, collection, 'job', job);

  const change = { properties: { recurrence: { frequency: 'Day', interval: 1 } } };
  const patched = read(await world.jobs.patch(GROUP, collection, 'job', change)).properties;
  assert.equal(patched.startTime, '2027-07-13T00:00:00.000Z');
  assert.deepEqual(patched.recurrence, {
    frequency: 'day',
    count: 10000,
    endTime: '2040-10-10T10:10:10.000Z',
    interval: 1,
  });

  const bare = { properties: { action: http(), state: 'Disabled' } };
  await world.jobs.createOrUpdate(GROUP, collection, 'job', bare);
  const replaced = read(await world.jobs.get(GROUP, collection, 'job')).properties;
  assert.deepEqual(replaced, { action: http(), state: 'disabled' });
});

test('a job can be run unless its collection is disabled', async () => {
  const world = new World();
  const collection = await world.standard();
  const job = { properties: { action: http(), state: 'Disabled' } };
  await world.jobs.createOrUpdate(GROUP, collection, 'job', job);
  await world.jobs.run(GROUP, collection, 'job');
  await world.collections.disable(GROUP, collection);
  await refused(world.jobs.run(GROUP, collection, 'job'), 409, 'JobCollectionDisabled');
});

test('a deleted job is not found', async () => {
  const world = new World();
  const collection = await world.standard();
  await world.jobs.createOrUpdate(GROUP, collection, 'job', { properties: { action: http() } });
  await world.jobs.deleteMethod(GROUP, collection, 'job');
  assert.deepEqual(read(await world.jobs.list(GROUP, collection)), []);
  for (const what of ['get', 'deleteMethod', 'run']) {
    const message = await refused(world.jobs[what](GROUP, collection, 'job'), 404, 'NotFound');
    assert.equal(message, "Job 'job' cannot be found.");
  }
});

test('an unknown token is refused', async () => {
  const world = new World();
  const collection = await world.standard();
  const get = world.stranger().jobCollections.get(GROUP, collection);
  await refused(get, 401, 'InvalidAuthenticationToken');
});
