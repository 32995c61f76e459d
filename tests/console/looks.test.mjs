// How the console looks: twelve pictures of pages whose answers and clock are given, compared pixel by
// pixel. `tests/console/run --pictures` replaces the kept ones.
//
// The pictures are the same on every machine. All text is in fonts that the console brings, which each tab
// checks as it closes (world.mjs). The browser draws without a graphics driver, and smooths letters as
// fonts.conf says instead of the machine's settings. Colours may differ a little, as processors round
// differently.
// Another major version of the browser draws letters otherwise: its pictures are made in target/console,
// and the comparison is skipped.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { browser, open, place, setUp, settled, startServer } from './world.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const KEPT = join(HERE, 'pictures');
const MADE = join(HERE, '../../target/console/pictures');
const VERSION = join(KEPT, 'browser.json');
/** How much of a picture may differ. */
const PART_MAX = 0.005;
/** How much a colour of a pixel may differ, of 255. */
const COLOUR_MAX = 24;

const NOW = Date.parse('2027-03-25T14:06:42Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const iso = (at) => new Date(at).toISOString().replace('.000Z', 'Z');
const NIGHTLY = 'every day at 02:30 America/New_York time';
/** A number from 0 to 1 that depends on another alone. */
const noise = (n) => (((n * 2_654_435_761) >>> 0) % 1_000) / 1_000;

const answered = (status, body) => `Http Action - Response from host 'billing.example.com': '${status}' Response Headers: Date: now Body: ${body}`;
const cause = { kind: 'httpStatus', text: 'HTTP 503' };
const said = 'read-only until 03:15';
const bad = answered('ServiceUnavailable', JSON.stringify({ title: said }));
/** An attempt at an action, and how many seconds after its occurrence is due it begins. */
const attempt = (due, after, isOk, action = 'action', retry = 0) => ({
  action, retry, dueAt: iso(due + after * 1_000), startedAt: iso(due + after * 1_000 + 4), endedAt: iso(due + after * 1_000 + 218), outcome: isOk ? 'succeeded' : 'failed',
  cause: isOk ? null : cause, said: isOk ? null : said, message: isOk ? answered('OK', '{}') : bad,
});
const nights = Array.from({ length: 34 }, (_, n) => NOW - (NOW % DAY) + 6.5 * HOUR - n * DAY);
const occurrences = nights.map((due, n) => {
  const one = { at: iso(due), kind: 'scheduled', outcome: 'succeeded', redriveOf: null };
  if (n === 27) return { ...one, kind: 'leftOut', outcome: 'skipped', last: iso(due), count: 1, reason: 'outage', outage: { from: iso(due - 18 * MINUTE), until: iso(due + 14 * MINUTE) }, attempts: [] };
  if (n === 20) return { ...one, attempts: [attempt(due, 0, false), attempt(due, 31, true, 'action', 1)] };
  if (n >= 4) return { ...one, attempts: [attempt(due, 0, true)] };
  return { ...one, outcome: 'failed', attempts: [attempt(due, 0, false), attempt(due, 31, false, 'action', 1), attempt(due, 62, false, 'action', 2), attempt(due, 63, true, 'errorAction')] };
});
const properties = {
  state: 'enabled',
  action: {
    type: 'Https',
    request: { method: 'POST', uri: 'https://billing.example.com/v2/export', authentication: { type: 'Basic', username: 'reports' } },
    retryPolicy: { retryType: 'fixed', retryCount: 3, retryInterval: 'PT1M' },
    errorAction: { type: 'StorageQueue', queueMessage: { storageAccount: 'contoso', queueName: 'failed-reports' } },
  },
  recurrence: { frequency: 'day', schedule: { hours: [2], minutes: [30] }, timeZone: 'America/New_York' },
};
const coming = Array.from({ length: 10 }, (_, n) => {
  const at = NOW - (NOW % DAY) + DAY + 6.5 * HOUR + n * DAY;
  return { at: iso(at), local: `${iso(at).slice(0, 10)}T02:30:00`, offset: '-04:00', note: null };
});
const NAMES = ['dunning', 'fx-rates', 'invoice-export', 'ledger-close', 'payouts', 'price-feed', 'stock-sync', 'usage-report', 'vat-report'];
const RECENT = { dunning: 'oooooooooooooooooooo', 'invoice-export': 'oooooooosoooorooeeee', 'price-feed': 'ooooooooooooloollooo', payouts: 'nnnnnnnnnnnnooooddoo' };
const columns = ['name', 'state', 'sentence', 'zone', 'next', 'executions', 'failures', 'faulted', 'target', 'recent'];
const rows = Array.from({ length: 400 }, (_, n) => {
  const base = NAMES[n % NAMES.length];
  const name = n < NAMES.length ? base : `${base}-${String(Math.floor(n / NAMES.length)).padStart(2, '0')}`;
  const sentence = n % 3 === 0 ? 'every week on Monday and Thursday at 02:30 America/New_York time' : n % 3 === 1 ? 'every 2 hours' : NIGHTLY;
  return [name, n % 11 === 10 ? 'disabled' : 'enabled', sentence, 'America/New_York', n % 11 === 10 ? null : iso(NOW + (n + 1) * 47 * MINUTE), 300 + n * 7, base === 'invoice-export' ? 9 : 0, 0, 'POST billing.example.com', RECENT[base] ?? 'oooooooooooooooooooo'];
});

/** Occurrences in each step, with a night that is crowded at two. */
function load(query) {
  const [from, to] = [Date.parse(query.get('from')), Date.parse(query.get('to'))];
  const step = { PT1M: MINUTE, PT5M: 5 * MINUTE, PT15M: 15 * MINUTE, PT1H: HOUR }[query.get('step')];
  const length = Math.round((to - from) / step);
  const counts = Array.from({ length }, (_, n) => {
    const at = from + n * step;
    const hour = new Date(at + HOUR).getUTCHours();
    if (step === MINUTE) return at % HOUR === 0 ? 412 : Math.floor(noise(at / MINUTE) * 60);
    // Many jobs of the night fire together.
    const herd = step === 5 * MINUTE && hour === 2 && at % HOUR === 0 ? 2.5 : 1;
    return Math.floor(herd * (hour === 2 ? 4_700 : hour >= 8 && hour < 18 ? 2_000 : 900) * (step / HOUR) * (0.85 + noise(at / step) * 0.3));
  });
  const groups = [{ rule: 'every day at 02:00 Europe/Berlin time', count: 1_702, names: ['t10400-usage', 't10401-usage', 't10402-usage'] }, { rule: 'every 15 minutes', count: 96, names: ['stock-sync-eu', 'stock-sync-us'] }];
  return { from: iso(from), to: iso(to), counts, starts: null, jobs: 1_171, top: [{ at: iso(from), count: 1_798, groups }], far: [{ at: '2028-04-01T06:30:00Z', resourceGroup: 'dev', collection: 'reports', job: 'month-end', sentence: NIGHTLY }], position: null };
}

const COLLECTIONS = [['ops', 'Disabled', 31, 50], ['billing', 'Enabled', 214, 1_000], ['reports', 'Enabled', 12, 50], ['shop', 'Enabled', 947, 1_000]]
  .map(([collection, state, jobs, jobsMax]) => ({ resourceGroup: 'dev', collection, state, since: iso(NOW - 3 * DAY), jobs, jobsMax, running: collection === 'shop' ? 2 : 0, waiting: { count: 0, since: null, for: {} } }));
const ANSWERS = [
  ['/me', () => ({ principal: { kind: 'token', label: 'web shop' }, may: ['read', 'run', 'write'], now: iso(NOW), clockRate: 1, home: 'aws', region: 'eu-west-1', version: '1.0.0', timeZones: '2026e', planLimits: true, actions: [] })],
  ['/overview', () => ({ headline: { kind: 'allWell' }, collections: { all: 4, off: 1, items: COLLECTIONS }, jobs: { all: 1_204 }, late: { count: 0, waiting: 0, isLeast: false, oldest: null, items: [] }, running: 2, waiting: { count: 0, since: null, for: {} }, sweep: { at: iso(NOW - 12_000) }, work: { at: iso(NOW - 3_000) }, deadLetters: 3 })],
  ['/failures', () => ({ items: [{ at: iso(nights[0]), resourceGroup: 'dev', collection: 'billing', job: 'invoice-export', cause, said, message: bad }, { at: iso(nights[1]), resourceGroup: 'dev', collection: 'shop', job: 'price-feed', cause, said, message: bad }], position: null })],
  ['/upcoming', () => ({ items: NAMES.map((job, n) => ({ at: iso(NOW - (NOW % MINUTE) + (n + 1) * 3 * MINUTE), resourceGroup: 'dev', collection: n % 2 ? 'shop' : 'billing', job, sentence: NIGHTLY })), complete: true })],
  ['/load', load],
  ['/rows', () => ({ columns, items: rows, position: null })],
  ['/next', () => ({ sentence: NIGHTLY, occurrences: coming, ends: false, clockChanges: [{ at: '2027-11-07T06:30:00Z', local: '2027-11-07T02:30:00', offset: '-05:00', note: { kind: 'firstOfTwo', text: 'the first of two 01:30' } }] })],
  ['/occurrences', () => ({ items: occurrences, position: null, lookedAt: 34 })],
  ['/zones', () => ({ names: ['Europe/Berlin'] })],
  ['/check', () => ({ ok: true, problems: [], warnings: [], sentence: NIGHTLY, change: null })],
  ['/preview', () => ({ sentence: 'every day at 02:30 Europe/Berlin time', occurrences: coming.slice(0, 5), ends: false, perYear: 365, smallestGap: 'P1D', firesOnSave: false, clockChanges: [] })],
  ['/minutehand/v1/subscriptions/me/resourceGroups/dev/jobCollections/billing/jobs/invoice-export', () => ({ state: 'enabled', since: '2027-02-02T09:11:00Z', collection: { name: 'billing', state: 'enabled', since: null }, sentence: NIGHTLY, anchor: null, next: coming[0].at, notFiring: [], last: iso(nights[0]), executions: 312, failures: 9, faulted: 0, skipped: 1, properties })],
  ['/jobCollections/billing', () => ({ name: 'billing', properties: { state: 'Enabled', sku: { name: 'P20Premium' } } })],
  ['/jobCollections', () => ({ value: ['billing', 'reports', 'shop', 'ops'].map((name) => ({ name, properties: { state: name === 'ops' ? 'Disabled' : 'Enabled', sku: { name: 'P20Premium' } } })) })],
];

const PAGES = {
  overview: place('overview'),
  jobs: place('jobs', 'billing'),
  job: place('job', 'billing', 'invoice-export'),
  new: place('new', 'billing'),
  calendar: place('calendar'),
};
/** What is done to a page before its picture is taken. */
const USES = {
  jobs: (page) => page.getByRole('grid').focus().then(() => page.keyboard.press('j')).then(() => page.keyboard.press('j')),
  job: (page) => page.getByRole('button', { name: /^What happened at/ }).first().click(),
  new: (page) => page.getByTestId('sentence').getByText('02:30').waitFor(),
  calendar: (page) => page.locator('[data-cell="3-2"]').click(),
};
const PICTURES = [
  ...Object.keys(PAGES).flatMap((name) => [[name, 'light', 1_280], [name, 'dark', 1_280]]),
  ['overview', 'light', 390],
  ['job', 'dark', 390],
];

let isSame;

const { world } = setUp(async () => {
  const server = await startServer({ token: null });
  const major = (await browser()).version().split('.')[0];
  isSame = existsSync(VERSION) && JSON.parse(readFileSync(VERSION)).chromium === major;
  mkdirSync(MADE, { recursive: true });
  if (process.env.MINUTEHAND_PICTURES) {
    mkdirSync(KEPT, { recursive: true });
    writeFileSync(VERSION, `${JSON.stringify({ chromium: major })}\n`);
  }
  return { server, stop: server.stop };
});

for (const [name, colorScheme, width] of PICTURES) {
  test(`${name}, ${colorScheme}, ${width} px wide`, async (t) => {
    const tab = await open(world.server, 'nothing', { colorScheme, viewport: { width, height: 900 }, reducedMotion: 'reduce' });
    await tab.page.clock.install({ time: NOW });
    await tab.page.route((url) => /^\/(minutehand|subscriptions)\//.test(url.pathname), (route) => {
      const { pathname, searchParams } = new URL(route.request().url());
      const [, answer] = ANSWERS.find(([end]) => pathname.endsWith(end)) ?? [];
      return answer ? route.fulfill({ json: answer(searchParams) }) : route.abort();
    });
    await tab.page.goto(`${world.server.url}/console/${PAGES[name]}`);
    await tab.page.reload();
    await settled(tab.page);
    await USES[name]?.(tab.page);
    await settled(tab.page);
    await tab.page.evaluate(() => document.fonts.ready);
    // What the machine and its speed decide is not compared.
    const mask = [tab.page.locator('.top'), tab.page.locator('.pv header .r'), tab.page.locator('.facts')];
    const file = `${name}-${colorScheme}-${width}.png`;
    const made = await tab.page.screenshot({ path: join(MADE, file), mask, maskColor: '#888888', animations: 'disabled', caret: 'hide' });
    await tab.page.screenshot({ path: join(MADE, `whole-${file}`) });
    await tab.close();
    if (process.env.MINUTEHAND_PICTURES) writeFileSync(join(KEPT, file), made);
    else if (!isSame) t.skip('the kept pictures are of another version of the browser');
    else {
      const part = await difference(readFileSync(join(KEPT, file)), made);
      assert.ok(part <= PART_MAX, `${file}: ${(part * 100).toFixed(2)} % differ; look at target/console/pictures, and keep them by tests/console/run --pictures`);
    }
  });
}

/** Which part of the pixels of two pictures differs. */
async function difference(kept, made) {
  const page = await (await browser()).newPage();
  const part = await page.evaluate(async ([one, other, most]) => {
    const pixels = async (data) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
      const canvas = new OffscreenCanvas(image.width, image.height);
      const context = canvas.getContext('2d');
      context.drawImage(image, 0, 0);
      return context.getImageData(0, 0, image.width, image.height);
    };
    const [a, b] = [await pixels(one), await pixels(other)];
    if (a.width !== b.width || a.height !== b.height) return 1;
    let count = 0;
    for (let at = 0; at < a.data.length; at += 4) {
      if ([0, 1, 2].some((colour) => Math.abs(a.data[at + colour] - b.data[at + colour]) > most)) count += 1;
    }
    return count / (a.width * a.height);
  }, [kept.toString('base64'), made.toString('base64'), COLOUR_MAX]);
  await page.close();
  return part;
}
