// What needs someone is how things are now, and its count is the same on every page.
import assert from 'node:assert/strict';
import { defects, eventually, heading, instead, place, REASON, setUp, settled, startServer, startTarget } from './world.mjs';

/** Jobs that call one target that is down, and so share a line. */
const ALIKE = ['a', 'b', 'c', 'd'].map((name) => `tenant-${name}`);

/** A server with jobs that fail, one that has recovered, one that was paused, and one that somebody switched off. */
async function start() {
  const [server, target] = await Promise.all([startServer(), startTarget()]);
  const job = (name, path, minutehand) => server.putJob('shop', name, {
    action: { type: 'Http', request: { method: 'POST', uri: `${target.url}${path}` }, retryPolicy: { retryType: 'None' } },
    recurrence: { frequency: 'month' },
    ...(minutehand && { minutehand }),
  });
  const results = async (name) => (await (await fetch(`${server.url}/minutehand/v1/subscriptions/me/resourceGroups/dev/jobCollections/shop/jobs/${name}`, { headers: { Authorization: `Bearer ${server.token}` } })).json()).recent;
  const until = (name, recent) => eventually(async () => (await results(name)) === recent, () => `${name} does not come to ${recent}\n${server.log()}`);
  await server.putCollection('shop');
  for (const name of ALIKE) await job(name, '/502/tenants');
  await job('twice', '/500/twice');
  await job('recovered', '/503/recovered');
  await job('paused', '/503/paused', { pauseOnFailure: { after: 1 } });
  await job('off', '/503/off');
  await job('fine', '/200/fine');
  for (const name of [...ALIKE, 'twice', 'recovered', 'paused', 'off']) await until(name, 'f');
  target.answers.set('/503/recovered', 200);
  await Promise.all(['twice', 'recovered'].map((name) => server.run('shop', name)));
  await Promise.all([until('twice', 'ff'), until('recovered', 'fo')]);
  await server.call('PATCH', server.jobPath('shop', 'off'), { properties: { state: 'Disabled' } });
  return { server, target, until, stop: () => Promise.all([server.stop(), target.stop()]) };
}

const { world, using } = setUp(start);
const needs = (page) => page.getByRole('region', { name: 'Needs you' });
const line = (page, text) => needs(page).getByRole('listitem').filter({ hasText: text });

/** Four tenants, `twice` and `paused`. */
const COUNT = 6;

using('each is told with how many failed in a row, its results and its cause', place('overview'), async (page) => {
  await heading(page, 'Six jobs need you. Everything else is on time.');
  await line(page, 'shop / twice').getByText(`HTTP 500: “${REASON}”`).waitFor();
  await line(page, 'shop / twice').getByText(/\. Failed for good two times in a row, since Sun 14 Mar/).waitFor();
  await line(page, 'shop / twice').getByRole('img', { name: '2 failed for good' }).waitFor();
  await line(page, '4 jobs that call 127.0.0.1').getByText(`HTTP 502: “${REASON}”`).waitFor();
  await line(page, 'shop / paused').getByText(/^Paused by the scheduler\. HTTP 503: .*; paused Sun 14 Mar/).waitFor();
  // Nobody has to do anything about these.
  for (const name of ['off', 'fine']) assert.equal(await needs(page).getByText(`shop / ${name}`).count(), 0);
  await needs(page).getByText('1 recovered within a day').click();
  await needs(page).getByRole('link', { name: 'shop / recovered' }).waitFor();
  assert.deepEqual(await defects(page), []);
  await page.setViewportSize({ width: 390, height: 800 });
  assert.deepEqual(await defects(page), []);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
});

using('the count is one on every page', place('overview'), async (page) => {
  const title = () => eventually(async () => (await page.title()).startsWith(`(${COUNT}) `), () => 'the title has no count');
  for (const parts of [['overview'], ['collections'], ['jobs', 'shop'], ['job', 'shop', 'fine'], ['journal'], ['why']]) {
    await page.goto(`${world.server.url}/console/${place(...parts)}`);
    await page.getByRole('link', { name: `Overview ${COUNT} need you`, exact: true }).waitFor();
    await title();
  }
  assert.match(await page.locator('link[rel=icon]').getAttribute('href'), /B92C19/);
  await page.goto(`${world.server.url}/console/${place('collections')}`);
  await page.getByRole('row').filter({ hasText: 'shop' }).getByRole('cell', { name: String(COUNT), exact: true }).waitFor();
  await page.goto(`${world.server.url}/console/${place('jobs', 'shop')}`);
  await page.getByRole('button', { name: `Failing ${COUNT}`, exact: true }).click();
  await page.getByText(`of ${COUNT}`).waitFor();
});

using('what is snoozed needs nobody on any page until it wakes', place('overview'), async (page) => {
  await line(page, 'shop / twice').getByRole('button', { name: 'Snooze… twice' }).click();
  const dialog = page.getByRole('dialog', { name: 'Snooze twice?' });
  await dialog.waitFor();
  assert.deepEqual(await defects(page), []);
  await dialog.getByRole('button', { name: 'For 4 hours' }).click();
  await heading(page, 'Five jobs need you. Everything else is on time.');
  await needs(page).getByText('1 snoozed').click();
  await needs(page).getByText(/^snoozed until Sun 14 Mar/).waitFor();
  assert.deepEqual(await defects(page), []);
  const { properties } = await world.server.job('shop', 'twice');
  assert.match(properties.minutehand.snoozedUntil, /^2027-03-14T0/);
  await page.goto(`${world.server.url}/console/${place('jobs', 'shop')}`);
  await page.getByRole('button', { name: `Failing ${COUNT - 1}`, exact: true }).waitFor();
  await page.goto(`${world.server.url}/console/${place('journal', 'shop')}`);
  await page.getByText(/minutehand\.snoozedUntil|minutehand: nothing/).first().waitFor();
  await page.goto(`${world.server.url}/console/${place('job', 'shop', 'twice')}`);
  await page.getByText(/^Snoozed until/).waitFor();
  await page.getByRole('button', { name: 'Wake twice' }).click();
  await page.getByText('twice is not snoozed any more.').waitFor();
  await page.getByRole('button', { name: 'Snooze… twice' }).waitFor();
  await page.getByRole('link', { name: `Overview ${COUNT} need you`, exact: true }).waitFor();
});

using('a snoozed collection snoozes its jobs', place('overview'), async (page) => {
  const until = new Date(Date.parse('2027-03-15T04:00:00Z')).toISOString();
  const path = world.server.collectionPath('shop');
  await world.server.call('PATCH', path, { properties: { minutehand: { snoozedUntil: until } } });
  await page.reload();
  await heading(page, 'Everything is on time.');
  await needs(page).getByText(`${COUNT + 1} snoozed`).click();
  assert.equal(await needs(page).getByRole('button', { name: /^Wake/ }).count(), 1);
  await needs(page).getByRole('button', { name: 'Wake shop' }).click();
  await heading(page, 'Six jobs need you. Everything else is on time.');
});

using('a server that runs fast is not called silent', place('overview'), async (page) => {
  await instead(page, '/me', async (route) => {
    const answer = await (await route.fetch()).json();
    return route.fulfill({ json: { ...answer, clockRate: 300 } });
  });
  await instead(page, '/overview', async (route) => {
    const answer = await (await route.fetch()).json();
    return route.fulfill({ json: { ...answer, headline: { kind: 'notSweeping' }, sweep: { at: new Date(Date.parse('2027-03-14T03:50:00Z')).toISOString() } } });
  });
  await page.reload();
  await heading(page, 'Six jobs need you. Everything else is on time.');
});

using('targets that hang come first', place('overview'), async (page) => {
  await instead(page, '/overview', async (route) => {
    const answer = await (await route.fetch()).json();
    return route.fulfill({ json: { ...answer, hanging: ['https://a.example', 'https://b.example'] } });
  });
  await page.reload();
  await heading(page, 'No answer from https://a.example, https://b.example.');
});

using('one that was paused is tried once, and resumed', place('overview'), async (page) => {
  world.target.answers.set('/503/paused', 200);
  await line(page, 'shop / paused').getByRole('button', { name: 'Try once paused' }).click();
  await world.until('paused', 'fo');
  // It has worked, and is off for all that.
  await page.reload();
  await line(page, 'shop / paused').getByRole('button', { name: 'Resume paused' }).click();
  await needs(page).getByText('2 recovered within a day').waitFor();
  const { properties } = await world.server.job('shop', 'paused');
  assert.match(properties.state, /enabled/i);
});

using('jobs that fail alike run again together, and leave by themselves', place('overview'), async (page) => {
  await line(page, '4 jobs that call').getByRole('button', { name: /^Run all again…/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Run 4 jobs again?' });
  await dialog.waitFor();
  assert.deepEqual(await defects(page), []);
  world.target.answers.set('/502/tenants', 200);
  await dialog.getByRole('button', { name: 'Run all again' }).click();
  await page.getByText('4 runs are in the queue, 0 were refused.').waitFor();
  for (const name of ALIKE) await world.until(name, 'fo');
  await page.reload();
  await settled(page);
  await heading(page, 'One job needs you. Everything else is on time.');
  assert.equal(await line(page, '4 jobs that call').count(), 0);
});
