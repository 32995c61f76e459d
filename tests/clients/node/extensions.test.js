'use strict';

// Extensions that the client does not know survive when it reads, changes and puts back.
// The server's clock begins on Friday, 2027-01-01T00:00:00Z.

const assert = require('node:assert/strict');
const { test } = require('node:test');

const { http } = require('./actions.js');
const { GROUP, World } = require('./world.js');

const BERLIN = 'Europe/Berlin';
const START = '2027-07-01T00:00:00Z';
const NINE = { minutes: [0], hours: [9] };
// Nine o'clock in Berlin, in summer.
const FIRST = '2027-07-01T07:00:00Z';

// The recurrence and the next execution of the job, with what the client does not read.
async function stored(world, collection) {
  const { properties } = await world.send('GET', world.idOf(collection, 'job'));
  return [properties.recurrence, properties.status.nextExecutionTime];
}

test('a job that is read, changed and put back stays in its time zone', async () => {
  const world = new World();
  const collection = await world.standard();
  const recurrence = { frequency: 'week', schedule: NINE, timeZone: BERLIN };
  const action = { type: 'Http', request: { uri: 'http://example.org', method: 'GET' } };
  const properties = { startTime: START, action, recurrence };
  await world.send('PUT', world.idOf(collection, 'job'), { properties });
  const before = await stored(world, collection);
  assert.deepEqual(before, [{ ...recurrence, interval: 1 }, FIRST]);

  const job = await world.jobs.get(GROUP, collection, 'job');
  job.properties.action.request.body = 'changed';
  const answer = await world.jobs.createOrUpdate(GROUP, collection, 'job', job);

  assert.equal(answer.properties.action.request.body, 'changed');
  assert.deepEqual(await stored(world, collection), before);
});

test('jobs are in the time zone of their collection', async () => {
  const world = new World();
  const collection = await world.standard();
  const extensions = { timeZone: BERLIN };
  const patch = { properties: { minutehand: extensions } };
  await world.send('PATCH', world.idOf(collection), patch);

  const found = await world.collections.get(GROUP, collection);
  found.tags = { changed: 'yes' };
  await world.collections.createOrUpdate(GROUP, collection, found);

  const answer = await world.send('GET', world.idOf(collection));
  assert.deepEqual(answer.tags, { changed: 'yes' });
  assert.deepEqual(answer.properties.minutehand, extensions);
  const recurrence = { frequency: 'Day', schedule: NINE };
  const properties = { startTime: new Date(START), action: http(), recurrence };
  await world.jobs.createOrUpdate(GROUP, collection, 'job', { properties });
  const [first, next] = await stored(world, collection);
  assert.deepEqual([first.timeZone, next], [BERLIN, FIRST]);

  // A change of the timing takes the zone again.
  const job = await world.jobs.get(GROUP, collection, 'job');
  job.properties.recurrence.schedule.hours = [10];
  await world.jobs.createOrUpdate(GROUP, collection, 'job', job);
  const [changed, later] = await stored(world, collection);
  assert.deepEqual([changed.timeZone, later], [BERLIN, '2027-07-01T08:00:00Z']);
});

test('a job that expects pings is listed with the type that it has', async () => {
  const world = new World();
  const collection = await world.standard();
  const action = { type: 'Expect', expect: { grace: 'PT20M' } };
  const properties = { action, recurrence: { frequency: 'Day', schedule: NINE } };
  await world.send('PUT', world.idOf(collection, 'job'), { properties });

  const [listed] = await world.jobs.list(GROUP, collection);
  const job = await world.jobs.get(GROUP, collection, 'job');
  assert.deepEqual([listed, job].map((it) => it.properties.action.type), ['Expect', 'Expect']);
  assert.equal((await world.collections.get(GROUP, collection)).name, collection);

  // The client does not put back a type that it does not know; a change of something else needs none.
  await assert.rejects(world.jobs.createOrUpdate(GROUP, collection, 'job', job), /Expect is not a valid value/);
  await world.jobs.patch(GROUP, collection, 'job', { properties: { state: 'Disabled' } });
  const after = await world.send('GET', world.idOf(collection, 'job'));
  assert.equal(after.properties.action.type, 'Expect');
  assert.equal(after.properties.action.expect.grace, '00:20:00');
});
