// The wall beside a server that fails, recovers, starves, and is killed and started again: after how many seconds the
// wall says so. Not a part of the tests, as it takes ten minutes; `--watch MINUTES` of `run` starts it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeBrowser, instead, open, place, startServer, startTarget, SUBSCRIPTION } from './world.mjs';

const MINUTES = Number(process.argv[2] ?? 10);
/** How late the wall may say something: with a stream, and where it polls. */
const BARS = { push: 2_000, poll: 12_000 };
/** How often the page is looked at, how long an event is waited for, and the pause after each. */
const LOOK_MS = 50;
const WAIT_MS = 90_000;
const PAUSE_MS = 5_000;
/** When the action that others wait for ends, and the next one begins. */
const SWAP_MS = 45_000;

const target = await startTarget();
const data = mkdtempSync(join(tmpdir(), 'minutehand-wall-'));
const token = 'watched';
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const job = (uri, more = {}) => ({
  action: { type: 'Http', request: { method: 'POST', uri }, retryPolicy: { retryType: 'None' } },
  recurrence: { frequency: 'month' },
  startTime: '2050-01-01T00:00:00Z',
  ...more,
});
// The one address of all its lives: the page stays open.
const args = ['--allow-private-targets', '--drain', '0'];
let server = await startServer({ data, token, args });
const address = new URL(server.url).host;
await server.putCollection('shop');
await server.putJob('shop', 'payouts', job(`${target.url}/payouts`));
await server.putCollection('slow', { minutehand: { maxConcurrent: 1 } });
for (const name of ['a', 'b', 'c']) await server.putJob('slow', name, job(`${target.url}/slow`));

const tabs = { push: await open(server, place('wall')), poll: await open(server, place('wall')) };
await instead(tabs.poll.page, '/live', (route) => route.fulfill({ status: 503, json: { error: { code: 'ServiceUnavailable', message: 'No stream.' } } }));
await tabs.poll.page.reload();
const wall = (page) => page.evaluate(() => ({
  title: document.title,
  icon: decodeURIComponent(document.querySelector('link[rel=icon]')?.getAttribute('href') ?? ''),
  text: document.body.innerText,
  isOld: document.querySelector('.top .live.off') !== null,
}));
for (const tab of Object.values(tabs)) await tab.page.getByRole('heading', { level: 1 }).waitFor();
await tabs.push.page.locator('.top .live').filter({ hasText: /^live$/ }).waitFor();

let failed = 0;
/** How long after something happened each wall says so. */
async function seen(name, isSaid, since = performance.now(), bars = BARS) {
  const after = await Promise.all(Object.entries(tabs).map(async ([way, { page }]) => {
    while (performance.now() - since < WAIT_MS) {
      if (isSaid(await wall(page))) return [way, performance.now() - since];
      await pause(LOOK_MS);
    }
    console.log(await wall(page));
    return [way, Infinity];
  }));
  const line = after.map(([way, ms]) => {
    const isLate = ms > bars[way];
    if (isLate) failed += 1;
    return `${way} ${(ms / 1_000).toFixed(1).padStart(5)} s${isLate ? ' LATE' : ''}`;
  });
  console.log(`${name.padEnd(44)} ${line.join('   ')}`);
  await pause(PAUSE_MS);
}

/** Waits until a run of a job has ended as it should: what the wall says is measured from then on. */
async function ran(collection, name, failures) {
  await server.run(collection, name);
  for (;;) {
    const { status } = (await server.job(collection, name)).properties;
    if ((status?.failureCount ?? 0) >= failures.failed && (status?.executionCount ?? 0) >= failures.all) return;
    await pause(20);
  }
}

/** Waits until the API itself says it: what a page may know is measured from then on. */
async function until(isSo) {
  const headers = { Authorization: `Bearer ${token}` };
  for (;;) {
    const response = await fetch(`${server.url}/minutehand/v1/subscriptions/${SUBSCRIPTION}/overview`, { headers });
    if (isSo(await response.json())) return;
    await pause(LOOK_MS);
  }
}

const begun = performance.now();
let round = 0;
let [all, bad] = [0, 0];
console.log(`bars: push ${BARS.push / 1_000} s, poll ${BARS.poll / 1_000} s`);
do {
  round += 1;
  target.answers.set('/payouts', 503);
  await ran('shop', 'payouts', { all: (all += 1), failed: (bad += 1) });
  await seen(`${round}: a job fails`, ({ title, text, icon }) => /^\(\d+\) /.test(title) && /HTTP 503/.test(text) && icon.includes('B92C19'));

  target.answers.set('/payouts', 200);
  await ran('shop', 'payouts', { all: (all += 1), failed: bad });
  await seen(`${round}: it recovers`, ({ title, icon }) => !/^\(/.test(title) && !icon.includes('B92C19'));

  // Three runs in a collection that lets one at a time: the two others wait for longer than a minute.
  target.hold('/slow');
  const asked = performance.now();
  for (const name of ['a', 'b', 'c']) await server.run('slow', name);
  await until((of) => of.waiting.count === 2);
  await seen(`${round}: attempts wait`, ({ text }) => /Waiting\s+2/i.test(text));
  // No action may take a minute: the second one takes the place of the first before that.
  await pause(SWAP_MS - (performance.now() - asked));
  target.free('/slow');
  target.hold('/slow');
  await until((of) => of.headline.kind === 'behind');
  await seen(`${round}: the collection is behind`, ({ title, text }) => /^\(\d+\) /.test(title) && /is 1 min.* behind/.test(text));
  target.free('/slow');
  await until((of) => of.headline.kind !== 'behind');
  await seen(`${round}: it is behind no more`, ({ title, text }) => !/^\(/.test(title) && !/ behind\./.test(text));

  const killed = performance.now();
  await server.kill();
  await seen(`${round}: the server is killed`, ({ isOld, text }) => isOld || /cannot be reached/.test(text), killed);
  server = await startServer({ data, token, args, listen: address });
  // A page that has lost its server tries again after some seconds.
  await seen(`${round}: it is there again`, ({ isOld, text }) => !isOld && !/cannot be reached/.test(text), performance.now(), { push: 12_000, poll: 12_000 });
} while (performance.now() - begun < MINUTES * 60_000);
console.log(`${round} rounds, ${failed} late`);
for (const tab of Object.values(tabs)) await tab.page.context().close();
await closeBrowser();
await Promise.all([server.stop(), target.stop()]);
rmSync(data, { recursive: true });
process.exit(failed === 0 ? 0 : 1);
