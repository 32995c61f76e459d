// A failure with real retries is one occurrence, and each page says why it failed.
import assert from 'node:assert/strict';
import { defects, eventually, place, REASON, setUp, settled, startServer, startTarget } from './world.mjs';

/** The least time between retries is 15 s, of a clock that is fast. */
const RATE = '30';
const CAUSE = `HTTP 503: “${REASON}”`;

/** A server with a job that failed three times, and whose error action then worked. */
async function start() {
  const [server, target] = await Promise.all([startServer({ args: ['--clock-start', '2027-03-14T04:00:00Z', '--clock-rate', RATE, '--allow-private-targets'] }), startTarget()]);
  const call = (path) => ({ type: 'Http', request: { method: 'POST', uri: `${target.url}${path}` } });
  await server.putCollection('billing');
  await server.putJob('billing', 'export', {
    action: { ...call('/503'), retryPolicy: { retryType: 'Fixed', retryCount: 2, retryInterval: 'PT15S' }, errorAction: call('/200/pager') },
    recurrence: { frequency: 'month' },
  });
  await eventually(() => target.seen.includes('/200/pager'), () => `the error action does not run\n${server.log()}`);
  return { server, target, stop: () => Promise.all([server.stop(), target.stop()]) };
}

const { using } = setUp(start);

using('the job has one row and one mark for it, and its attempts inside', place('job', 'billing', 'export'), async (page) => {
  const toggle = page.getByRole('button', { name: /^What happened at/ });
  await page.getByText(`${CAUSE}; error action succeeded`).waitFor();
  assert.equal(await toggle.count(), 1);
  await page.getByText('3, all failed').waitFor();
  assert.equal(await page.getByRole('option', { name: /failed, and the error action ran$/ }).count(), 1);
  await toggle.click();
  for (const name of ['first attempt', 'retry 1', 'retry 2', 'error action']) await page.getByRole('listitem').filter({ hasText: name }).waitFor();
  assert.equal(await page.locator('.lanes li').count(), 4);
  await page.getByRole('listitem').filter({ hasText: 'retry 1' }).getByText(/HTTP 503.* in \d+ m?s, waited 1\d s/).waitFor();
  await page.getByRole('button', { name: 'Run again for this occurrence' }).waitFor();
  assert.deepEqual(await defects(page), []);
});

using('on a phone the cause is on the screen', place('job', 'billing', 'export'), async (page) => {
  const cause = page.getByRole('cell').getByText(CAUSE);
  await cause.waitFor();
  const { x, width } = await cause.boundingBox();
  assert.ok(x >= 0 && x + width <= 390, `${x} ${width}`);
  await page.getByRole('button', { name: /^What happened at/ }).click();
  assert.deepEqual(await defects(page), []);
}, { viewport: { width: 390, height: 800 } });

for (const viewport of [{ width: 1280, height: 800 }, { width: 390, height: 800 }]) {
  using(`the overview says why, ${viewport.width} px wide`, place('overview'), async (page) => {
    await page.getByText(CAUSE).waitFor();
    assert.deepEqual(await defects(page), []);
  }, { viewport });
}

using('“Why not?” offers it with its cause, and the answer has it', place('why'), async (page) => {
  await page.getByText(CAUSE).waitFor();
  await page.getByRole('link', { name: 'billing / export' }).click();
  await page.getByRole('heading', { level: 3 }).getByText(`HTTP 503 (“${REASON}”)`).waitFor();
  await settled(page);
});
