// The server tells what happens: pages show it without asking, and say so; without a stream they ask as before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defects, eventually, instead, open, place, setUp, settled, startServer, startTarget } from './world.mjs';

async function start() {
  const [server, target] = await Promise.all([startServer(), startTarget()]);
  const job = (path) => ({
    action: { type: 'Http', request: { method: 'POST', uri: `${target.url}${path}` }, retryPolicy: { retryType: 'None' } },
    recurrence: { frequency: 'month' },
    startTime: '2027-04-01',
  });
  await server.putCollection('shop');
  for (const name of ['quiet', 'runs']) await server.putJob('shop', name, job('/200'));
  await server.putJob('shop', 'fails', job('/503'));
  return { server, target, stop: () => Promise.all([server.stop(), target.stop()]) };
}

const { world, using } = setUp(start);
const state = (page) => page.locator('.top .live');
const live = (page) => state(page).filter({ hasText: /^live$/ }).waitFor();

/** Opens a page whose timers stand still, and waits until it is live. */
async function still(page, ...parts) {
  await page.clock.install();
  await page.goto(`${world.server.url}/console/${place(...parts)}`);
  await settled(page);
  await live(page);
}

using('what a job does is shown without asking', place('overview'), async (page) => {
  await still(page, 'job', 'shop', 'runs');
  await world.server.run('shop', 'runs');
  // Timers stand still but for the moment after a word.
  await eventually(async () => {
    await page.clock.runFor(500);
    return (await page.locator('.hist .tog').count()) > 0;
  }, () => 'the run is not shown');
  assert.deepEqual(await defects(page), []);
});

using('what fails is counted on every page without asking', place('overview'), async (page) => {
  await still(page, 'overview');
  await world.server.run('shop', 'fails');
  await eventually(async () => {
    await page.clock.runFor(500);
    return (await page.title()).startsWith('(1) ');
  }, () => 'the failure is not shown');
});

using('a tab in which nothing happens costs little', place('overview'), async (page) => {
  await still(page, 'job', 'shop', 'quiet');
  await page.clock.runFor(5_000);
  await settled(page);
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  let bytes = 0;
  let open = 0;
  session.on('Network.requestWillBeSent', () => { open += 1; });
  session.on('Network.dataReceived', (event) => { bytes += event.encodedDataLength; });
  session.on('Network.responseReceived', (event) => {
    bytes += event.response.encodedDataLength;
    open -= 1;
  });
  for (let second = 0; second < 60; second += 5) {
    await page.clock.runFor(5_000);
    await eventually(() => open <= 0, () => `${open} requests do not end`);
  }
  assert.ok(bytes > 0 && bytes <= 20_000, `${bytes} bytes in a minute`);
});

using('without a stream, pages ask as before', place('overview'), async (page) => {
  await instead(page, '/minutehand/v1/live', (route) => route.fulfill({ status: 404, json: { error: { code: 'UnknownRoute', message: 'Nothing here.' } } }));
  await page.reload();
  await settled(page);
  await state(page).filter({ hasText: 'read just now' }).waitFor();
  const again = page.waitForResponse(/\/overview/);
  await again;
});

test('a server that ends is told in red at once', { timeout: 60_000 }, async () => {
  const server = await startServer();
  const tab = await open(server, place('overview'));
  try {
    await live(tab.page);
    await server.stop();
    await tab.page.locator('.top .live.off').waitFor();
  } finally {
    await tab.close();
  }
});

test('of many jobs, those on the screen are read again', { timeout: 60_000 }, async () => {
  const tab = await open(world.server, place('jobs', 'shop'));
  try {
    await live(tab.page);
    const row = tab.page.getByRole('row').filter({ hasText: 'quiet' });
    await row.waitFor();
    await tab.page.clock.install();
    await world.server.run('shop', 'quiet');
    await eventually(async () => {
      await tab.page.clock.runFor(500);
      return (await row.getByRole('img').count()) > 0;
    }, () => 'the row is not read again');
  } finally {
    await tab.close();
  }
});
