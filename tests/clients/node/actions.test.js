'use strict';

// Round trips of every type of action, each with an error action of every type.

const assert = require('node:assert/strict');
const { test } = require('node:test');

const { READ, SENT } = require('./actions.js');
const { GROUP, World, read } = require('./world.js');

for (const type of Object.keys(SENT)) {
  for (const errorType of Object.keys(SENT)) {
    test(`${type} and its error action ${errorType} survive a round trip`, async () => {
      const world = new World();
      const collection = await world.standard();
      const action = { ...SENT[type], errorAction: SENT[errorType] };
      const answers = await world.everywhere(collection, { action });
      const expected = { ...READ[type], errorAction: READ[errorType] };
      for (const [where, job] of Object.entries(answers)) {
        assert.deepEqual(read(job).properties.action, expected, where);
      }
    });
  }
}

test('a put with another action removes the first one', async () => {
  const world = new World();
  const collection = await world.standard();
  for (const action of [SENT.ServiceBusQueue, SENT.Http]) {
    const properties = { action, state: 'Disabled' };
    await world.jobs.createOrUpdate(GROUP, collection, 'job', { properties });
  }
  const { properties } = read(await world.jobs.get(GROUP, collection, 'job'));
  assert.deepEqual(properties, { action: READ.Http, state: 'disabled' });
});
