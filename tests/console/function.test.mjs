// The console as the function of AWS serves it: its files, and the API behind API Gateway's events.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heading, setUp, settled, startFunction } from './world.mjs';

const { world, using } = setUp(startFunction);

test('the files are whole, and have the policy', async () => {
  const page = await fetch(`${world.server.url}/`, { headers: { Accept: 'text/html' } });
  assert.match(page.url, /\/console\/(index\.html)?$/);
  assert.match(page.headers.get('content-security-policy'), /default-src 'none'.*trusted-types 'none'/);
  const files = [...(await page.text()).matchAll(/"(\/console\/[^"]+)"/g)];
  assert.ok(files.length > 0);
  for (const [, file] of files) {
    const found = await fetch(`${world.server.url}${file}`);
    assert.equal(found.status, 200, file);
    assert.match(found.headers.get('cache-control'), /immutable/, file);
    assert.ok((await found.arrayBuffer()).byteLength > 0, file);
  }
});

using('signs in, makes a job in the form, runs it, and sees what happened', '', async (page) => {
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Token').fill(world.server.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  // The only group that there is.
  await page.getByRole('link', { name: 's / g' }).waitFor();
  // An overview without jobs has a link of this name, too.
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: /^Collections/ }).click();
  await page.getByRole('link', { name: 'jc', exact: true }).click();
  await page.getByText('No jobs in jc yet.').waitFor();
  await page.keyboard.press('n');
  await page.getByLabel('URL').fill(world.target);
  await page.getByRole('button', { name: 'HTTP', exact: true }).click();
  await page.getByLabel('At', { exact: true }).fill('03:45');
  await page.getByTestId('sentence').getByText('03:45').waitFor();
  await page.getByLabel('Name in jc').fill('made');
  await page.getByRole('button', { name: /^Save/ }).last().click();
  await heading(page, 'made');
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
  await page.getByRole('button', { name: /^What happened at/ }).first().waitFor();
}, { signedIn: false });

for (const path of ['collections', 'overview', 'jobs/jc', 'new/jc', 'job/jc/made', 'edit/jc/made', 'calendar', 'why', 'why/jc/made', 'dead', 'import', 'journal', 'journal/jc']) {
  using(`${path}: shown without a fault`, `#/in/s/g/${path}`, async (page) => {
    await settled(page);
    assert.equal(await page.getByRole('alert').count(), 0);
    assert.equal(await page.getByRole('heading', { name: 'There is no such page' }).count(), 0);
  });
}
