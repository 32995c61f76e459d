'use strict';

// Windows, filters and pages of lists.

const assert = require('node:assert/strict');
const { test } = require('node:test');

const { http } = require('./actions.js');
const { GROUP, World, refused } = require('./world.js');

// The number of concurrent requests that fill a collection.
const HANDS = 4;

async function fill(world, collection, nJobs, { everyEnabled = Infinity, request } = {}) {
  const names = Array.from({ length: nJobs }, (_, n) => `job-${String(n).padStart(3, '0')}`);
  const left = names.entries();
  const hand = async () => {
    for (const [n, name] of left) {
      const state = n % everyEnabled === 0 ? 'Enabled' : 'Disabled';
      const job = { properties: { action: http(request), state } };
      await world.jobs.createOrUpdate(GROUP, collection, name, job);
    }
  };
  await Promise.all(Array.from({ length: HANDS }, hand));
  return names;
}

// The names of jobs, without that of their collection.
const namesOf = (jobs) => jobs.map(({ name }) => name.split('/')[1]);

test('windows and filters', async () => {
  const world = new World();
  const collection = await world.standard();
  const names = await fill(world, collection, 7, { everyEnabled: 2 });
  const enabled = names.filter((_, n) => n % 2 === 0);
  const disabled = names.filter((_, n) => n % 2 === 1);
  for (const [options, expected] of [
    [{}, names],
    [{ top: 3 }, names.slice(0, 3)],
    [{ skip: 5 }, names.slice(5)],
    [{ top: 2, skip: 3 }, names.slice(3, 5)],
    [{ skip: 7 }, []],
    [{ filter: 'state eq Disabled' }, disabled],
    [{ filter: "state eq 'enabled'" }, enabled],
    [{ filter: 'state eq Faulted' }, []],
    [{ filter: 'state eq Disabled', top: 1, skip: 1 }, disabled.slice(1, 2)],
  ]) {
    const found = await world.jobs.list(GROUP, collection, options);
    assert.deepEqual(namesOf(found), expected, JSON.stringify(options));
  }
});

test('an invalid filter is refused', async () => {
  const world = new World();
  const collection = await world.standard();
  const list = world.jobs.list(GROUP, collection, { filter: 'state ne Enabled' });
  assert.match(await refused(list, 400, 'BadRequest'), /'\$filter'/);
});

test('links lead through all pages', async () => {
  const world = new World();
  const collection = await world.big();
  const names = await fill(world, collection, 503, { everyEnabled: 10 });
  const pages = await world.pages(collection);
  assert.ok(pages.length > 1);
  assert.ok(pages.every((page) => page.length <= 500));
  assert.deepEqual(namesOf(pages.flat()), names);
  // The link to the next page repeats the filter.
  const enabled = await world.pages(collection, { filter: 'state eq Enabled' });
  assert.deepEqual(namesOf(enabled.flat()), names.filter((_, n) => n % 10 === 0));
});

test('the size of jobs limits a page', async () => {
  const world = new World();
  const collection = await world.big();
  const request = { body: 'b'.repeat(8_000), headers: { 'X-Long': 'h'.repeat(4_000) } };
  const names = await fill(world, collection, 340, { request });
  const pages = await world.pages(collection);
  // The jobs have about 4.2 MB, and a page has at most 4 MB.
  assert.ok(pages.length > 1);
  assert.ok(pages.every((page) => page.length * 12_400 <= 4_000_000));
  assert.deepEqual(namesOf(pages.flat()), names);
  assert.ok(pages.flat().every((job) => job.properties.action.request.body === request.body));
});
