// The wall: what became of occurrences by quarters of an hour, and what it does by itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defects, eventually, heading, instead, open, place, setUp, settled, startServer, startTarget, SUBSCRIPTION } from './world.mjs';

const COLLECTIONS = 100;
/** How long the answer about a hundred collections may take; the best of some, as the machine does other things, too. */
const ANSWER_MS = 200;
const TRIES = 7;

async function start() {
  const [server, target] = await Promise.all([startServer(), startTarget()]);
  const job = (path, more = {}) => ({
    action: { type: 'Http', request: { method: 'POST', uri: `${target.url}${path}` }, retryPolicy: { retryType: 'None' } },
    recurrence: { frequency: 'hour' },
    startTime: '2027-03-14T05:00:00Z',
    ...more,
  });
  const name = (n) => `c-${String(n).padStart(2, '0')}`;
  for (let n = 0; n < COLLECTIONS; n += 1) {
    await server.putCollection(name(n));
    await server.putJob(name(n), 'job', job('/200'));
    await server.run(name(n), 'job');
  }
  await server.putJob('c-00', 'fails', job('/503'));
  await eventually(async () => {
    const rows = (await wall(server)).collections.items;
    return rows.every((row) => row.ok.at(-1) === 1);
  }, () => 'the runs are not counted');
  return { server, target, stop: () => Promise.all([server.stop(), target.stop()]) };
}

async function wall(server, query = '') {
  const response = await fetch(`${server.url}/minutehand/v1/subscriptions/${SUBSCRIPTION}/wall${query}`, { headers: { Authorization: `Bearer ${server.token}` } });
  assert.equal(response.status, 200);
  return response.json();
}

/** What the server answers to a request, whatever the page has read before. */
const whole = (route) => route.fetch({ headers: { ...route.request().headers(), 'if-none-match': '' } });

const { world, using } = setUp(start);
const rows = (page) => page.getByRole('region', { name: '18 hours back, 6 hours ahead' }).getByRole('listitem');
const icon = (page) => page.locator('link[rel=icon]').getAttribute('href').then(decodeURIComponent);

using('a hundred collections, and nothing that axe finds', place('wall'), async (page) => {
  await settled(page);
  await eventually(async () => (await rows(page).count()) === COLLECTIONS, () => 'not all rows are there');
  await rows(page).first().getByRole('img', { name: /^1 went well, 0 failed, 0 skipped, \d+ due$/ }).waitFor();
  await page.getByText('100 occurrences of 100 collections in 18 h').waitFor();
  await page.getByText('Nothing runs.').waitFor();
  assert.deepEqual(await defects(page), []);
  const { items } = (await wall(world.server)).collections;
  assert.deepEqual([items[0].failed, items[0].skipped, items[0].retried], [[], [], []]);
  assert.equal(items[0].due.length, 25);
});

test('the answer about a hundred collections is within its budget', async () => {
  let best = Infinity;
  for (let n = 0; n < TRIES; n += 1) {
    const began = performance.now();
    await wall(world.server);
    best = Math.min(best, performance.now() - began);
  }
  assert.ok(best <= ANSWER_MS, `${best} ms`);
});

using('what fails is on the wall, in the title and in the icon without asking', place('wall'), async (page) => {
  await page.clock.install();
  await page.reload();
  await settled(page);
  await page.locator('.top .live').filter({ hasText: /^live$/ }).waitFor();
  assert.equal(await page.title(), 'Wall · Minutehand');
  assert.doesNotMatch(await icon(page), /B92C19/);
  await world.server.run('c-00', 'fails');
  const first = rows(page).first();
  // Timers stand still but for the moment after a word.
  await eventually(async () => {
    await page.clock.runFor(500);
    const isTold = (await page.title()) === '(1) Wall · Minutehand' && (await first.getByText('fails').count()) > 0;
    return isTold && (await first.getByRole('img', { name: /1 failed/ }).count()) > 0;
  }, () => 'the failure is not shown');
  assert.match(await icon(page), /B92C19/);
  await heading(page, 'One job needs you. Everything else is on time.');
  await page.getByRole('region', { name: 'Needs you' }).getByText('HTTP 503').waitFor();
  assert.deepEqual(await defects(page), []);
  // The mark that failed leads to what failed then.
  const box = await first.locator('svg').boundingBox();
  await page.mouse.click(box.x + (box.width * 72.5) / 97, box.y + box.height / 2);
  await page.waitForURL(/then\/c-00\/?\?from=2027-03-14T04:00:00.000Z&to=2027-03-14T04:15:00.000Z$/);
  await heading(page, '2 occurrences, 1 failed.');
  await page.getByRole('row', { name: /fails.*failed for good: HTTP 503/ }).waitFor();
  assert.deepEqual(await defects(page), []);
});

using('a mark of what is to come leads to what is due then', place('wall'), async (page) => {
  const first = rows(page).first();
  await first.getByRole('img', { name: /[1-9]\d* due$/ }).waitFor();
  const box = await first.locator('svg').boundingBox();
  // An hour ahead: each job is due once an hour.
  await page.mouse.click(box.x + (box.width * 76.5) / 97, box.y + box.height / 2);
  await page.waitForURL(/then\/c-00/);
  await heading(page, '2 occurrences to come.');
  assert.deepEqual(await defects(page), []);
});

using('a browser tells when more needs someone, if it was asked to', place('wall'), async (page) => {
  // Without a window, a browser denies it at once.
  await page.addInitScript(() => {
    globalThis.told = [];
    globalThis.Notification = class {
      static get permission() { return sessionStorage.getItem('permission') ?? 'default'; }
      static async requestPermission() { sessionStorage.setItem('permission', 'granted'); }
      constructor(title, { body }) { globalThis.told.push(`${title}: ${body}`); }
    };
  });
  await page.reload();
  await page.getByRole('button', { name: 'Notify me' }).click();
  let failures = 0;
  await instead(page, '/overview', async (route) => {
    const response = await whole(route);
    await route.fulfill({ response, json: { ...(await response.json()), deadLetters: failures } });
  });
  await page.reload();
  await settled(page);
  await page.clock.install();
  failures = 3;
  await eventually(async () => {
    await page.clock.runFor(70_000);
    return (await page.evaluate(() => globalThis.told.length)) > 0;
  }, () => 'nothing is told');
  assert.match((await page.evaluate(() => globalThis.told))[0], /^Minutehand: \d need you\.$/);
});

test('where nothing is counted, the wall says so', async () => {
  const tab = await open(world.server, place('wall'));
  try {
    await instead(tab.page, '/wall', async (route) => {
      const response = await whole(route);
      const answer = await response.json();
      const items = answer.collections.items.map((one) => ({ ...one, retried: null, late: null, starts: null }));
      await route.fulfill({ response, json: { ...answer, isCounted: false, starts: null, running: null, collections: { ...answer.collections, items } } });
    });
    await tab.page.reload();
    await tab.page.getByText('retries, delays and starts are on CloudWatch’s board').waitFor();
    await tab.page.getByText('On CloudWatch’s board.').waitFor();
    assert.deepEqual(await defects(tab.page), []);
  } finally {
    await tab.close();
  }
});
