// Pictures of the console, of a server whose jobs have run for weeks: it starts again for each night, with
// a clock that stands just before the jobs are due.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { closeBrowser, daily, eventually, open, place, settled, startServer, startTarget } from './world.mjs';

const folder = process.argv[2];
const DAY = 86_400_000;
/** Half past two in New York, in the winter before its clock goes forward. */
const LAST = Date.parse('2027-03-12T07:30:00Z');
const NIGHTS = 24;
/** The nights at which the target of one job does not work: some day in between, and the last four. */
const failing = (night) => night === 7 || night >= NIGHTS - 4;

const target = await startTarget();
const data = mkdtempSync(join(tmpdir(), 'minutehand-console-'));
const token = 'seeded';
const at = (time) => new Date(time).toISOString();
const start = (time) => startServer({ data, token, args: ['--clock-start', at(time), '--allow-private-targets'] });
const job = (path, more = {}) => daily(`${target.url}${path}`, {
  startTime: at(LAST - NIGHTS * DAY),
  recurrence: { frequency: 'day', schedule: { hours: [2], minutes: [30] }, timeZone: 'America/New_York', ...more },
});
const JOBS = {
  'invoice-export': {
    ...job('/invoices'),
    action: {
      type: 'Http',
      request: { method: 'POST', uri: `${target.url}/invoices`, authentication: { type: 'Basic', username: 'reports', password: 'seeded' } },
      retryPolicy: { retryType: 'None' },
      errorAction: { type: 'Http', request: { method: 'POST', uri: `${target.url}/200/pager` } },
    },
  },
  dunning: job('/200/dunning', { frequency: 'week', schedule: { hours: [2], minutes: [30], weekDays: ['monday', 'thursday'] } }),
  'fx-rates': job('/200/rates', { frequency: 'hour', interval: 2, schedule: undefined }),
  'ledger-close': job('/200/ledger', { frequency: 'month', schedule: { hours: [2], minutes: [30], monthDays: [-1] } }),
  payouts: job('/200/payouts'),
  'vat-report': job('/200/vat', { frequency: 'month', interval: 3, schedule: { hours: [2], minutes: [30], monthlyOccurrences: [{ day: 'friday', occurrence: 2 }] } }),
};

/** Waits until the job that may fail has nothing more to do that night. */
async function isOverThatNight(server, night) {
  const nights = Array.from({ length: night + 1 }, (_, one) => one);
  const wanted = nights.length + nights.filter(failing).length;
  const isOver = async () => (await server.history('billing', 'invoice-export')).items.filter((one) => one.properties.endTime).length >= wanted;
  await eventually(isOver, () => `night ${night} does not end\n${server.log()}`);
}

let server = await start(LAST - NIGHTS * DAY - DAY / 2);
for (const name of ['billing', 'reports', 'shop']) await server.putCollection(name, { sku: { name: 'P20Premium' } });
for (const [name, properties] of Object.entries(JOBS)) await server.putJob('billing', name, properties);
for (let night = 0; night < NIGHTS; night += 1) {
  await server.stop();
  target.answers.set('/invoices', failing(night) ? 503 : 200);
  server = await start(LAST - (NIGHTS - night) * DAY - 500);
  await isOverThatNight(server, night);
}
await server.stop();
server = await start(LAST - DAY + 6 * 3_600_000);

/** Jobs without a past: those of a shop, of which many fall due on the hour, and reports of the night. */
const daily_ = (hour, minute, more = {}) => job('/200', { schedule: { hours: [hour], minutes: [minute] }, timeZone: 'Europe/Berlin', ...more });
const every = (minutes, more = {}) => job('/200', { frequency: 'minute', interval: minutes, schedule: undefined, timeZone: undefined, ...more });
const two = (number) => String(number).padStart(2, '0');
const ahead = { startTime: at(LAST - DAY + 6.5 * 3_600_000) };
const seeds = [
  ['price-feed', every(10)], ['stock-sync-eu', every(15)], ['stock-sync-us', every(20)], ['cart-reminder', every(30)],
  ['sitemap', every(60)], ['search-index', every(90)],
  ...Array.from({ length: 60 }, (_, n) => [`tenant-${two(n)}-usage`, daily_(2, 0)]),
  ...Array.from({ length: 24 }, (_, n) => [`tenant-${two(n)}-trial-ends`, daily_(8 + (n % 9), (n * 7) % 60)]),
].map(([name, properties]) => ['shop', name, { ...properties, ...ahead }]);
for (let n = 0; n < 12; n += 1) seeds.push(['reports', `kpi-${two(n)}`, { ...daily_(6, (n * 5) % 60), ...ahead }]);
seeds.push(['reports', 'hourly-rollup', { ...job('/200', { frequency: 'hour', schedule: undefined }), ...ahead }]);
await server.putCollection('ops', { state: 'Disabled' });
await Promise.all(seeds.map((one) => server.putJob(...one)));

mkdirSync(folder, { recursive: true });
const pages = {
  overview: place('overview'),
  palette: place('overview'),
  calendar: `${place('calendar')}?day=2027-03-14`,
  day: `${place('calendar')}?view=day`,
  month: `${place('calendar')}?view=month`,
  dead: place('dead'),
  wall: place('wall'),
  then: `${place('then', 'billing')}?from=2027-03-11T06:00:00Z&to=2027-03-11T08:00:00Z`,
  collections: place('collections'),
  jobs: place('jobs', 'billing'),
  job: place('job', 'billing', 'invoice-export'),
  new: place('new', 'reports'),
  why: `${place('why', 'billing', 'invoice-export')}?at=2027-03-10T07:30:00Z`,
  journal: place('journal', 'billing'),
  import: place('import'),
  settings: '#/settings',
};
/** What is done to a page before its picture is taken. */
const use = {
  calendar: async (page) => {
    await page.locator('.failednote').waitFor();
    await page.locator('[data-cell="5-2"]').click();
    await page.getByRole('region', { name: 'What is due' }).getByRole('table').waitFor();
  },
  palette: async (page) => {
    await page.keyboard.press('/');
    await page.keyboard.type('invo');
    await page.getByRole('option', { name: /invoice-export/ }).first().waitFor();
  },
  wall: (page) => page.getByRole('region', { name: 'Needs you' }).waitFor(),
  new: (page) => page.getByTestId('sentence').getByText('02:30').waitFor(),
  job: async (page) => {
    await page.getByRole('button', { name: /^What happened at/ }).first().click();
  },
};
const only = process.argv.slice(3);
for (const [name, path] of Object.entries(pages).filter(([name]) => only.length === 0 || only.includes(name))) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1280, 390]) {
      const tab = await open(server, path, { colorScheme, viewport: { width, height: 860 }, reducedMotion: 'reduce' });
      await tab.page.getByRole('heading', { level: 1 }).waitFor();
      await tab.page.locator('.top .live').filter({ hasText: /^live$/ }).waitFor({ state: 'attached' });
      await settled(tab.page);
      await use[name]?.(tab.page);
      // The port is another one each time.
      await tab.page.evaluate(() => { document.querySelector('.ctx span').firstChild.textContent = '127.0.0.1:7070'; });
      await tab.page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`) });
      await tab.close();
    }
  }
}
// The pictures of README.
const documents = join(dirname(fileURLToPath(import.meta.url)), '../../shared/docs');
if (only.length === 0) for (const name of ['calendar', 'job']) copyFileSync(join(folder, `${name}-light-1280.png`), join(documents, `console-${name}.png`));
await closeBrowser();
await Promise.all([server.stop(), target.stop()]);
rmSync(data, { recursive: true });
