'use strict';

// The life cycle of a collection.

const assert = require('node:assert/strict');
const { test } = require('node:test');

const { http } = require('./actions.js');
const { GROUP, World, read, refused } = require('./world.js');

test('a collection survives a round trip', async () => {
  const world = new World();
  const properties = {
    sku: { name: 'Standard' },
    state: 'Suspended',
    quota: { maxJobCount: 20, maxRecurrence: { frequency: 'week', interval: 1 } },
  };
  const sent = { name: 'First', location: 'westus', tags: { department: 'marketing' }, properties };
  const expected = {
    id: world.idOf('First'),
    type: 'Microsoft.Scheduler/jobCollections',
    ...sent,
    location: 'West US',
  };
  const created = await world.collections.createOrUpdate(GROUP, 'First', sent);
  assert.deepEqual(read(created), expected);
  assert.deepEqual(read(await world.collections.get(GROUP, 'First')), expected);
  // Names match in any case; answers have the first spelling.
  assert.deepEqual(read(await world.collections.get(GROUP, 'fIRST')), expected);
});

test('a put replaces and a patch merges', async () => {
  const world = new World();
  const quota = { maxJobCount: 20, maxRecurrence: { frequency: 'week', interval: 1 } };
  const first = { location: 'westus', tags: { a: '1' }, properties: { quota } };
  await world.collections.createOrUpdate(GROUP, 'first', first);

  const patched = read(await world.collections.patch(GROUP, 'first', { tags: { b: '2' } }));
  assert.deepEqual(patched.tags, { a: '1', b: '2' });
  assert.deepEqual(patched.properties, { sku: { name: 'Standard' }, state: 'Enabled', quota });

  const second = { location: 'westus', properties: { sku: { name: 'P10Premium' } } };
  const replaced = read(await world.collections.createOrUpdate(GROUP, 'first', second));
  assert.equal(replaced.tags, undefined);
  assert.deepEqual(replaced.properties, { sku: { name: 'P10Premium' }, state: 'Enabled' });
  assert.deepEqual(read(await world.collections.get(GROUP, 'first')), replaced);
});

test('a collection is disabled and enabled', async () => {
  const world = new World();
  const collection = await world.standard();
  const state = async () => (await world.collections.get(GROUP, collection)).properties.state;
  await world.collections.disable(GROUP, collection);
  assert.equal(await state(), 'Disabled');
  await world.collections.enable(GROUP, collection);
  assert.equal(await state(), 'Enabled');
});

test('deleting a collection deletes its jobs', async () => {
  const world = new World();
  const collection = await world.standard();
  const job = { properties: { action: http() } };
  await world.jobs.createOrUpdate(GROUP, collection, 'job', job);
  await world.collections.deleteMethod(GROUP, collection);
  const missing =
    "The Resource 'Microsoft.Scheduler/jobCollections/Collection' under resource group 'Group 1' was not found.";
  const create = ' Create the job collection first, with a PUT of its path and the body {}.';
  for (const [what, code, message] of [
    [() => world.collections.get(GROUP, collection), 'ResourceNotFound', missing],
    [() => world.collections.deleteMethod(GROUP, collection), 'ResourceNotFound', missing],
    [() => world.jobs.get(GROUP, collection, 'job'), 'NotFound', "Job 'job' cannot be found."],
    [() => world.jobs.list(GROUP, collection), 'ResourceNotFound', missing + create],
  ]) {
    const answered = await refused(what(), 404, code);
    assert.equal(answered.toLowerCase(), message.toLowerCase());
  }
  assert.deepEqual(read(await world.collections.listByResourceGroup(GROUP)), []);
  // A new collection with the same name is empty.
  await world.standard();
  assert.deepEqual(read(await world.jobs.list(GROUP, collection)), []);
});

test('lists are ordered by name and limited to their scope', async () => {
  const world = new World();
  for (const name of ['b', 'C', 'a']) {
    await world.collections.createOrUpdate(GROUP, name, { location: 'westus' });
  }
  const names = (found) => found.map(({ name }) => name);
  assert.deepEqual(names(await world.collections.listByResourceGroup(GROUP)), ['a', 'b', 'C']);
  assert.deepEqual(names(await world.collections.listBySubscription()), ['a', 'b', 'C']);
  assert.deepEqual(names(await world.collections.listByResourceGroup('another')), []);
});
