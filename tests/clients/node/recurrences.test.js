'use strict';

// Round trips of every frequency and every kind of schedule, and their next executions.
// The server's clock begins on Friday, 2027-01-01T00:00:00Z.

const assert = require('node:assert/strict');
const { test } = require('node:test');

const { http } = require('./actions.js');
const { GROUP, World, read, refused } = require('./world.js');

// A Thursday.
const START = '2027-07-01T08:15:30Z';

// The recurrence and the next execution, which are the same in every answer.
async function recur(recurrence, start = START) {
  const world = new World();
  const collection = await world.standard();
  const properties = { startTime: new Date(start), action: http(), recurrence };
  const answers = Object.values(await world.everywhere(collection, properties));
  const found = answers.map((job) => read(job).properties);
  for (const other of found) assert.deepEqual(other, found[0]);
  return [found[0].recurrence, found[0].status.nextExecutionTime];
}

for (const frequency of ['Minute', 'Hour', 'Day', 'Week', 'Month']) {
  test(`an interval of 3 with frequency ${frequency}`, async () => {
    assert.deepEqual(await recur({ frequency, interval: 3 }), [
      { frequency: frequency.toLowerCase(), interval: 3 },
      '2027-07-01T08:15:30.000Z',
    ]);
  });
}

const SCHEDULES = {
  'minutes of an hour': ['hour', { minutes: [10, 50] }, '2027-07-01T08:50:00.000Z'],
  'hours and minutes of a day': [
    'day',
    { minutes: [0, 30], hours: [5, 20] },
    '2027-07-01T20:00:00.000Z',
  ],
  'days of a week': [
    'week',
    { minutes: [0], hours: [17], weekDays: ['saturday', 'monday'] },
    '2027-07-03T17:00:00.000Z',
  ],
  'days of a month': [
    'month',
    { minutes: [45], hours: [6], monthDays: [-1, 15] },
    '2027-07-15T06:45:00.000Z',
  ],
  'occurrences of weekdays in a month': [
    'month',
    {
      minutes: [45],
      hours: [6],
      monthlyOccurrences: [
        { day: 'friday', occurrence: -1 },
        { day: 'monday', occurrence: 2 },
      ],
    },
    '2027-07-12T06:45:00.000Z',
  ],
};

for (const [kind, [frequency, schedule, next]] of Object.entries(SCHEDULES)) {
  test(kind, async () => {
    const sent = { frequency, interval: 1, schedule };
    assert.deepEqual(await recur(sent), [sent, next]);
  });
}

test('count and end survive a round trip, and the interval has a default', async () => {
  const endTime = '2030-01-01T00:00:00.000Z';
  const [found] = await recur({ frequency: 'Hour', count: 7, endTime: new Date(endTime) });
  assert.deepEqual(found, { frequency: 'hour', interval: 1, count: 7, endTime });
});

test('a start in the past determines the phase', async () => {
  const [, next] = await recur({ frequency: 'Week' }, '2026-07-13T00:00:00Z');
  assert.equal(next, '2027-01-04T00:00:00.000Z');
});

test('days of a month with frequency week are refused in the words of Azure', async () => {
  const world = new World();
  const collection = await world.standard();
  const recurrence = { frequency: 'Week', schedule: { monthDays: [1] } };
  const job = { properties: { action: http(), recurrence } };
  const put = world.jobs.createOrUpdate(GROUP, collection, 'job', job);
  assert.equal(
    await refused(put, 400, 'BadRequest'),
    "Cannot set days of month with recurrence unit 'Week'.",
  );
});
