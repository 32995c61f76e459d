// The pictures of the README, of a server with jobs that have run.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { closeBrowser, daily, open, place, startServer, startTarget } from './world.mjs';

const folder = process.argv[2];
const [server, target] = await Promise.all([startServer(), startTarget()]);
mkdirSync(folder, { recursive: true });
for (const name of ['billing', 'reports', 'shop']) await server.putCollection(name, { sku: { name: 'P20Premium' } });
await server.putJob('billing', 'invoice-export', daily(`${target.url}/503`));
for (const name of ['dunning', 'fx-rates', 'ledger-close', 'payouts', 'vat-report']) await server.putJob('billing', name, daily(`${target.url}/200`));
for (let n = 0; n < 6; n += 1) {
  await server.run('billing', 'fx-rates');
  if (n > 3) await server.run('billing', 'invoice-export');
}
const pages = { collections: place('collections'), jobs: place('jobs', 'billing'), job: place('job', 'billing', 'invoice-export'), new: place('new', 'reports'), why: `${place('why', 'billing', 'invoice-export')}?at=2027-03-14T06:30:00Z`, journal: place('journal', 'billing'), import: place('import'), settings: '#/settings' };
for (const [name, path] of Object.entries(pages)) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1280, 390]) {
      const tab = await open(server, path, { colorScheme, viewport: { width, height: 900 }, reducedMotion: 'reduce' });
      await tab.page.getByRole('heading', { level: 1 }).waitFor();
      await tab.page.waitForLoadState('networkidle');
      await tab.page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`) });
      await tab.close();
    }
  }
}
await closeBrowser();
await Promise.all([server.stop(), target.stop()]);
