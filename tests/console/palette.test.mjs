// One field finds everything: jobs by any part of their names, and what can be done with them.
import assert from 'node:assert/strict';
import { defects, heading, place, setUp } from './world.mjs';

const { using } = setUp();
const field = (page) => page.getByRole('combobox', { name: 'Find a job, a collection or a page' });
const options = (page) => page.getByRole('listbox', { name: 'Found' }).getByRole('option');
const chosen = (page) => page.getByRole('option', { selected: true });

using('a job by a part of its name, with keys only', place('overview'), async (page) => {
  await heading(page, /./);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('voice');
  await chosen(page).filter({ hasText: 'invoice-export' }).waitFor();
  assert.equal(await chosen(page).locator('u').textContent(), 'voice');
  assert.deepEqual(await defects(page), []);
  await page.keyboard.press('Enter');
  await heading(page, 'invoice-export');
  assert.equal(await field(page).count(), 0);
  // What is pressed before the answer is there opens what was typed.
  await page.keyboard.press('/');
  await page.keyboard.type('billing/odd');
  await page.keyboard.press('Enter');
  await heading(page, 'odd');
});

using('what can be done follows the job that is chosen', place('overview'), async (page) => {
  await heading(page, /./);
  await page.getByRole('button', { name: 'Find a job, a collection or a page…' }).click();
  await field(page).fill('tenant-3');
  await options(page).filter({ hasText: 'Why did tenant-30 not fire?' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await options(page).filter({ hasText: 'Why did tenant-31 not fire?' }).waitFor();
  await field(page).fill('odd');
  await options(page).filter({ hasText: 'Run odd now' }).click();
  await heading(page, 'odd');
  await page.getByText('One run of odd is in the queue.').waitFor();
  await page.keyboard.press('/');
  await field(page).fill('odd');
  await options(page).filter({ hasText: 'Edit odd' }).click();
  await heading(page, 'odd');
  assert.match(page.url(), /edit/);
});

using('collections, pages, and nothing', place('overview'), async (page) => {
  await heading(page, /./);
  await page.keyboard.press('/');
  await page.keyboard.type('bill');
  await options(page).filter({ hasText: 'billing collection' }).click();
  await heading(page, 'billing');
  await page.keyboard.press('/');
  await page.keyboard.type('journ');
  await page.keyboard.press('Enter');
  await heading(page, 'Journal');
  await page.keyboard.press('/');
  await page.keyboard.type('nothing-of-this');
  await page.getByText('No job\'s name contains “nothing-of-this”.').waitFor();
  assert.equal(await options(page).count(), 0);
  await page.setViewportSize({ width: 390, height: 800 });
  assert.deepEqual(await defects(page), []);
  await page.keyboard.press('Escape');
  assert.equal(await field(page).count(), 0);
});

using('Why not? finds the job by a part of its name', place('why'), async (page) => {
  await page.getByLabel('Job: any part of its name, or collection/job').fill('voice');
  await page.getByRole('list', { name: 'Jobs of this name' }).getByRole('link', { name: 'billing / invoice-export' }).waitFor();
  assert.deepEqual(await defects(page), []);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 2, name: 'billing / invoice-export' }).waitFor();
});
