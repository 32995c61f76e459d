// What runs and what waits is told as it is: nothing is on time while a collection starves.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defects, eventually, heading, place, setUp, startServer } from './world.mjs';

const START = '2027-03-14T04:00:00Z';
const LATER = '2027-03-14T04:05:00Z';

/** A target that answers nobody until it is told to. */
async function startHolding() {
  const held = [];
  const seen = [];
  const reports = [];
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === '/long') {
      reports.push(request.headers['x-minutehand-completion']);
      response.statusCode = 202;
      return response.end();
    }
    seen.push(request.url);
    return held.push(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    seen,
    reports,
    release: () => held.splice(0).forEach((response) => response.end('done')),
    stop: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    }),
  };
}

/** A server whose collection lets one attempt run at once, and has had three to run for five minutes. */
async function start() {
  const data = mkdtempSync(join(tmpdir(), 'minutehand-present-'));
  const target = await startHolding();
  const at = (clock, ...args) => startServer({ data, args: ['--clock-start', clock, '--allow-private-targets', '--drain', '0', '--public-url', 'https://jobs.example.org', ...args] });
  const first = await at(START);
  const job = (name) => ({
    action: { type: 'Http', request: { method: 'POST', uri: `${target.url}/${name}` }, retryPolicy: { retryType: 'None' } },
    recurrence: { frequency: 'month' },
    startTime: '2027-04-01',
  });
  await first.putCollection('shop', { minutehand: { maxConcurrent: 1 } });
  await first.putCollection('other');
  for (const name of ['a', 'b', 'c']) await first.putJob('shop', name, job(name));
  await first.putJob('other', 'slow', job('slow'));
  await first.putJob('other', 'long', { ...job('long'), minutehand: { completion: { within: 'PT2H' } } });
  await first.run('shop', 'a');
  await eventually(() => target.seen.length === 1, () => `the first attempt does not start\n${first.log()}`);
  for (const name of ['b', 'c']) await first.run('shop', name);
  await first.stop();
  const server = await at(LATER);
  await eventually(() => target.seen.length === 2, () => `no attempt starts again\n${server.log()}`);
  return { server, target, stop: async () => { await Promise.all([server.stop(), target.stop()]); rmSync(data, { recursive: true }); } };
}

const { world, using } = setUp(start);
const needs = (page) => page.getByRole('region', { name: 'Needs you' });

using('a collection that starves is behind on every page', place('overview'), async (page) => {
  await heading(page, /^Shop is 5 min( \d+ s)? behind\.$/);
  const line = needs(page).getByRole('listitem').filter({ hasText: 'shop' });
  await line.getByText(/^5 min.* behind\. 2 attempts wait for the limit of the collection, 1 at once\.$/).waitFor();
  const fact = (name) => page.locator('.facts div').filter({ hasText: name }).locator('dd').textContent();
  assert.equal(await fact('Running'), '1');
  assert.match(await fact('Waiting'), /^2, 5 min/);
  assert.equal(await fact('Late'), '2');
  await page.getByRole('region', { name: 'Collections of dev' }).getByText(/^1 runs, 2 wait 5 min/).waitFor();
  await eventually(async () => (await page.title()).startsWith('(1) '), () => 'the title has no count');
  assert.equal(await page.getByText('on time').count(), 0);
  assert.deepEqual(await defects(page), []);
  await page.setViewportSize({ width: 390, height: 800 });
  assert.deepEqual(await defects(page), []);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await page.setViewportSize({ width: 1280, height: 800 });
  // Its limit is one click away.
  await line.getByRole('link', { name: 'Limits of shop' }).click();
  await page.getByRole('dialog').getByRole('heading', { name: 'shop' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('row').filter({ hasText: 'shop' }).getByText(/2 wait 5 min/).waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
});

using('the list says which jobs run and wait', `${place('jobs', 'shop')}?state=late`, async (page) => {
  await page.getByRole('button', { name: 'Late 2' }).waitFor();
  const rows = page.getByRole('grid').getByRole('row');
  assert.deepEqual(await rows.count(), 2);
  await rows.first().getByText(/^waits 5 min/).waitFor();
  await page.getByRole('button', { name: 'All 3' }).click();
  await page.getByRole('grid').getByText(/^running /).waitFor();
  assert.deepEqual(await defects(page), []);
});

using('a job says what its attempt waits for', place('job', 'shop', 'c'), async (page) => {
  // Which of them runs is chance.
  const name = (await (await fetch(`${world.server.url}/minutehand/v1/subscriptions/me/resourceGroups/dev/jobCollections/shop/jobs/c`, { headers: { Authorization: `Bearer ${world.server.token}` } })).json()).present[0].state === 'waiting' ? 'c' : 'b';
  await page.goto(`${world.server.url}/console/${place('job', 'shop', name)}`);
  const present = page.getByRole('region', { name: 'Now', exact: true });
  await present.getByText(/^waiting for 5 min/).waitFor();
  await present.getByText(/the limit of the collection/).waitFor();
  assert.equal(await page.getByText('It has not run yet').count(), 0);
  assert.deepEqual(await defects(page), []);
});

using('the metrics say the same', '', async () => {
  const page = await (await fetch(`${world.server.url}/metrics`, { headers: { Authorization: `Bearer ${world.server.token}` } })).text();
  const [, seconds] = /^minutehand_queue_oldest_due_seconds (\d+)$/m.exec(page) ?? [];
  assert.ok(Number(seconds) >= 300, page);
});

using('Run now shows its attempt at once, and ends with its outcome', place('job', 'other', 'slow'), async (page) => {
  await page.getByText('It has not run yet').first().waitFor();
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
  const present = page.getByRole('region', { name: 'Now', exact: true });
  await present.getByText('run on demand').waitFor();
  await present.getByText(/^running for /).waitFor();
  assert.equal(await page.getByText('It has not run yet').count(), 0);
  assert.deepEqual(await defects(page), []);
  world.target.release();
  await page.getByText(/^The run of slow succeeded after /).waitFor();
  await present.waitFor({ state: 'detached' });
});

using('an attempt whose target is at work says so, and can be cancelled', place('job', 'other', 'long'), async (page) => {
  await page.getByText('a target that answers 202 reports its end within 2 h').waitFor();
  await world.server.run('other', 'long');
  const present = page.getByRole('region', { name: 'Now', exact: true });
  await present.getByText(/its deadline is in /).waitFor();
  const [url] = world.target.reports;
  const alive = await fetch(url.replace('https://jobs.example.org', world.server.url) + '/alive', { method: 'POST', body: '7 of 9' });
  assert.equal(alive.status, 200);
  await present.getByText(/: 7 of 9, its deadline/).waitFor();
  assert.deepEqual(await defects(page), []);
  await present.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel it' }).click();
  await present.waitFor({ state: 'detached' });
  await page.getByRole('table').getByText(/cancelled/).first().waitFor();
  assert.deepEqual(await defects(page), []);
});

using('each page says how old it is, and when reads fail', place('job', 'other', 'slow'), async (page) => {
  const age = page.locator('.live');
  await age.filter({ hasText: /^(live|read just now)$/ }).waitFor();
  await page.route((url) => url.pathname.startsWith('/minutehand/'), (route) => route.abort());
  await page.locator('.live.off').waitFor({ timeout: 40_000 });
  await age.filter({ hasText: /read \d+ s ago/ }).waitFor();
  assert.deepEqual(await defects(page), []);
});
