// Dead letters of a real server: its own queue gave their messages up.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { closeBrowser, defects, eventually, heading, open, place, press, startServer, startTarget, write } from './world.mjs';

const START = '2027-03-14T04:00:00Z';
const DUE = '2027-03-14T04:10:00Z';
const LATER = '2027-03-14T04:11:00Z';
const NAMES = ['one', 'two', 'three', 'four', 'five'];
/** How often a message is delivered before the queue gives it up. */
const DELIVERIES = 20;

/** Makes the messages of a stopped server look as if they were delivered again and again; one is not a message at all. */
function wearOut(data) {
  const script = `
import sqlite3, sys
queue = sqlite3.connect(sys.argv[1])
with queue:
    count = queue.execute("UPDATE messages SET receives = ?", (int(sys.argv[2]),)).rowcount
    queue.execute("INSERT INTO messages (due_at, sent_at, body) SELECT due_at, sent_at, 'no message' FROM messages LIMIT 1")
print(count)`;
  const { stdout, stderr } = spawnSync('python3', ['-c', script, join(data, 'minutehand.db'), String(DELIVERIES)], { encoding: 'utf8' });
  assert.equal(Number(stdout), NAMES.length, stderr);
}

/** A server that has given up a message of each job, and one that it cannot read. */
async function start() {
  const data = mkdtempSync(join(tmpdir(), 'minutehand-dead-'));
  const target = await startTarget();
  const at = (clock) => startServer({ data, args: ['--clock-start', clock, '--allow-private-targets'] });
  const first = await at(START);
  await first.putCollection('letters');
  const job = (name) => ({ startTime: DUE, action: { type: 'Http', request: { method: 'POST', uri: `${target.url}/200/${name}` }, retryPolicy: { retryType: 'None' } } });
  for (const name of NAMES) await first.putJob('letters', name, job(name));
  await first.stop();
  wearOut(data);
  const server = await at(LATER);
  await untilGivenUp(server);
  return { server, target, stop: async () => { await Promise.all([server.stop(), target.stop()]); rmSync(data, { recursive: true }); } };
}

/** Waits until the queue has given up all of them. */
const untilGivenUp = (server) => eventually(async () => (await letters(server)).about > NAMES.length, () => `the queue does not give them up\n${server.log()}`);

const letters = async (server) => (await fetch(`${server.url}/minutehand/v1/deadletters`, { headers: { Authorization: `Bearer ${server.token}` } })).json();

/** A test with a server and letters of its own. */
const flow = (name, use) => test(name, async () => {
  const world = await start();
  const tab = await open(world.server, place('dead'));
  try {
    await heading(tab.page, '6 dead letters.');
    await use(tab.page, world);
  } finally {
    await tab.close();
    await world.stop();
  }
});
after(closeBrowser);

const row = (page, name) => page.getByRole('row').filter({ hasText: `letters / ${name}` });
const question = (page, verb) => page.getByRole('dialog').getByRole('button', { name: verb, exact: true });

/** Waits until the target was called for a job. */
const called = (target, name) => eventually(() => target.seen.includes(`/200/${name}`), () => `${name} did not run: ${target.seen}`);

flow('they are shown: of which job, when it was due, how often it was delivered, and why it was given up', async (page, { server, target }) => {
  assert.deepEqual(target.seen, []);
  await row(page, 'one').getByText('received 20 times and never finished').waitFor();
  await row(page, 'one').getByText('20', { exact: true }).waitFor();
  await row(page, 'one').getByText(/05:10 .*\+01:00/).waitFor();
  await page.getByRole('row').filter({ hasText: 'not readable' }).getByText(/JSON|read/).first().waitFor();
  assert.deepEqual(await defects(page), []);
  await page.goto(`${server.url}/console/${place('overview')}`);
  await page.getByRole('link', { name: '6 dead letters', exact: true }).click();
  await heading(page, '6 dead letters.');
});

flow('by the mouse: one is sent again, and its job runs; the one that cannot be read is deleted', async (page, { server, target }) => {
  await row(page, 'one').getByRole('button', { name: 'Send again…' }).click();
  await question(page, 'Send again').click();
  await heading(page, '5 dead letters.');
  await called(target, 'one');
  // What becomes of it is followed.
  await page.getByRole('region', { name: 'Sent again' }).getByText(/^It fired/).waitFor();
  await page.getByRole('row').filter({ hasText: 'not readable' }).getByRole('button', { name: 'Delete…' }).click();
  assert.ok(await question(page, 'Delete').isDisabled());
  await page.getByRole('textbox', { name: /Type 1/ }).fill('1');
  await question(page, 'Delete').click();
  await heading(page, '4 dead letters.');
  assert.equal((await letters(server)).about, 4);
  await page.goto(`${server.url}/console/${place('job', 'letters', 'one')}`);
  await page.getByRole('button', { name: /^What happened at/ }).first().waitFor();
  assert.deepEqual(target.seen, ['/200/one']);
});

flow('a letter leads to its job at its occurrence, to why, and back', async (page) => {
  await press(page, row(page, 'one').getByRole('link'), 'Enter');
  await heading(page, 'one');
  await page.getByText(/^A dead letter is of the occurrence Sun 14 Mar 0[45]:10/).waitFor();
  assert.deepEqual(await defects(page), []);
  await press(page, page.getByRole('link', { name: 'What became of it' }), 'Enter');
  await heading(page, 'Why did it not fire?');
  await page.getByRole('heading', { level: 3 }).waitFor();
  await page.goBack();
  await heading(page, 'one');
  await page.keyboard.press('Escape');
  await heading(page, '6 dead letters.');
});

flow('by the keyboard alone: two are chosen and sent again, the rest is deleted', async (page, { server, target }) => {
  await row(page, 'five').waitFor();
  // The newest stand first.
  const shown = await page.locator('.letters tbody tr').allInnerTexts();
  const chosen = shown.map((text) => NAMES.find((name) => text.includes(`letters / ${name}`))).filter(Boolean).slice(0, 2);
  const places = chosen.map((name) => shown.findIndex((text) => text.includes(`letters / ${name}`)));
  for (let place_ = 0; place_ <= Math.max(...places); place_ += 1) {
    await page.keyboard.press('j');
    if (places.includes(place_)) await page.keyboard.press('x');
  }
  await page.getByText('2 chosen').waitFor();
  await press(page, page.getByRole('region', { name: 'Chosen letters' }).getByRole('button', { name: 'Send again…' }), 'Enter');
  await press(page, question(page, 'Send again'), 'Enter');
  await heading(page, '4 dead letters.');
  for (const name of chosen) await called(target, name);
  await press(page, page.getByRole('button', { name: 'Delete all…' }), 'Enter');
  await write(page, page.getByRole('textbox', { name: /Type 4/ }), '4');
  await page.keyboard.press('Enter');
  await heading(page, 'No dead letters.');
  assert.deepEqual((await letters(server)).items, []);
  // Those that were deleted did not run.
  assert.deepEqual(target.seen.toSorted(), chosen.map((name) => `/200/${name}`).toSorted());
});
