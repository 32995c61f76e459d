// How fast the console is with 50,000 jobs, beside the bars of its budget. Nothing is asserted.
import { closeBrowser, daily, open, place, startServer, SUBSCRIPTION } from './world.mjs';

const JOBS = 50_000;
/** A job that is on the screen, and that the server really has. */
const SHOWN = 't00000-usage-export';
const COLLECTIONS = 100;
const ANSWERS = 7;
const server = await startServer();
await server.putCollection('tenants');
await server.putJob('tenants', SHOWN, daily('http://127.0.0.1:9/'));
const columns = ['name', 'state', 'sentence', 'zone', 'next', 'last', 'executions', 'failures', 'faulted', 'skipped', 'action', 'target'];
const row = (n) => [`t${String(n).padStart(5, '0')}-usage-export`, 'enabled', 'every day at 02:07 Europe/Berlin time', 'Europe/Berlin', '2027-03-15T01:07:00Z', null, n % 3_000, n % 97 ? 0 : 4, 0, 0, 'Https', `POST hooks.example.com/t/${n}`];
const recorded = (route) => {
  const query = new URL(route.request().url()).searchParams;
  const from = Number(query.get('position') ?? 0);
  const to = Math.min(JOBS, from + Number(query.get('limit') ?? 100));
  return route.fulfill({ json: { columns, items: Array.from({ length: to - from }, (_, n) => row(from + n)), position: to < JOBS ? String(to) : null, lookedAt: to - from } });
};
const tab = await open(server, place('collections'));
await tab.page.route((url) => url.pathname.endsWith('/rows'), recorded);
const session = await tab.page.context().newCDPSession(tab.page);
await session.send('Performance.enable', { timeDomain: 'threadTicks' });
const metrics = async () => Object.fromEntries((await session.send('Performance.getMetrics')).metrics.map(({ name, value }) => [name, value]));
const timed = async (name, bar, work) => {
  const [before, begun] = [await metrics(), performance.now()];
  await work();
  const after = await metrics();
  const cpu = (after.TaskDuration - before.TaskDuration) * 1_000;
  console.log(`${name.padEnd(34)} ${cpu.toFixed(0).padStart(6)} ms CPU ${(performance.now() - begun).toFixed(0).padStart(7)} ms  bar ${bar}`);
};
await timed('first rows', '150 ms CPU', async () => {
  await tab.page.goto(`${server.url}/console/${place('jobs', 'tenants')}`);
  await tab.page.getByRole('row').first().waitFor();
});
await timed('all rows', '-', () => tab.page.getByText('50,000 jobs').waitFor({ timeout: 120_000 }));
await timed('a row that is shown has run', '-', async () => {
  const read = tab.page.waitForResponse((response) => response.url().includes('/rows'));
  await server.run('tenants', SHOWN);
  await read;
  await tab.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
});
await timed('a filter', '-', async () => {
  await tab.page.getByPlaceholder('Name begins with… or *contains*').fill('t49');
  await tab.page.getByText('of 1,000').waitFor();
  await tab.page.getByPlaceholder('Name begins with… or *contains*').fill('');
});
await timed('a jump to the end', '-', async () => {
  await tab.page.getByRole('grid').focus();
  await tab.page.keyboard.press('End');
  await tab.page.getByRole('link', { name: 't49999-usage-export' }).waitFor();
});
const { JSHeapUsedSize } = await metrics();
// Those of the page: the browser's own count has those, too, that are not yet collected.
const nodes = await tab.page.evaluate(() => {
  const walker = document.createTreeWalker(document);
  let count = 1;
  while (walker.nextNode()) count += 1;
  return count;
});
console.log(`${'nodes of the page'.padEnd(34)} ${String(nodes).padStart(6)}  bar 1,500`);
console.log(`${'heap'.padEnd(34)} ${(JSHeapUsedSize / 1e6).toFixed(0).padStart(6)} MB  bar 60 MB`);
await tab.close();
const editor = await open(server, place('new', 'tenants'));
await editor.page.getByTestId('sentence').getByText('02:30').waitFor();
const begun = performance.now();
await editor.page.getByLabel('At', { exact: true }).fill('03:45');
await editor.page.getByTestId('sentence').getByText('03:45').waitFor();
console.log(`${'from a key to the new sentence'.padEnd(34)} ${(performance.now() - begun).toFixed(0).padStart(6)} ms  bar 300 ms`);
await editor.close();
for (let n = 0; n < COLLECTIONS; n += 1) {
  await server.putCollection(`c-${n}`);
  await server.putJob(`c-${n}`, 'job', daily('http://127.0.0.1:9/'));
}
const asked = async () => {
  const began = performance.now();
  await (await fetch(`${server.url}/minutehand/v1/subscriptions/${SUBSCRIPTION}/wall`, { headers: { Authorization: `Bearer ${server.token}` } })).text();
  return performance.now() - began;
};
const answers = [];
for (let n = 0; n < ANSWERS; n += 1) answers.push(await asked());
console.log(`${'the answer of the wall'.padEnd(34)} ${Math.min(...answers).toFixed(0).padStart(6)} ms  bar 200 ms, with ${COLLECTIONS} collections`);
const wall = await open(server, place('wall'));
await wall.page.getByRole('listitem').nth(COLLECTIONS - 1).waitFor();
const first = await wall.page.evaluate(() => performance.now());
console.log(`${'the wall from the address to rows'.padEnd(34)} ${first.toFixed(0).padStart(6)} ms`);
await wall.close();
await closeBrowser();
await server.stop();
