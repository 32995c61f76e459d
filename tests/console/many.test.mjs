// Many at once: jobs chosen by the mouse, rows left out of an import, and the journal of all collections.
import assert from 'node:assert/strict';
import { defects, place, setUp } from './world.mjs';

const { world, using } = setUp();
const chosen = (page, count) => page.getByRole('region', { name: 'Chosen jobs' }).getByText(`${count} chosen`).waitFor();

using('the head of the list chooses all, Shift a range, and Ctrl A all', place('jobs', 'billing'), async (page) => {
  const box = (name) => page.getByRole('checkbox', { name, exact: true });
  await box('Choose tenant-00').click();
  await chosen(page, 1);
  await box('Choose tenant-03').click({ modifiers: ['Shift'] });
  await chosen(page, 4);
  assert.ok(await box('Choose tenant-03').isChecked());
  assert.deepEqual(await defects(page), []);
  await box('Choose all 42').click();
  await chosen(page, 42);
  await box('Choose all 42').click();
  await page.getByRole('region', { name: 'Chosen jobs' }).waitFor({ state: 'detached' });
  await page.getByRole('grid').focus();
  await page.keyboard.press('Control+a');
  await chosen(page, 42);
});

using('an import asks where to, and leaves out what is not wanted', place('import'), async (page) => {
  await page.getByLabel('A command becomes').fill(`${world.target.url}/200?cmd={command}`);
  await page.getByLabel('Text: paste it, or drop a file').fill('15 4 * * * /usr/bin/first\n@daily /usr/bin/second\n');
  await page.getByRole('button', { name: 'Read it' }).click();
  await page.getByRole('checkbox', { name: 'Import second' }).click();
  const button = page.getByRole('button', { name: 'Import 1 of 2' });
  assert.ok(await button.isDisabled());
  await page.getByLabel('Into').selectOption('empty');
  await page.getByLabel('The jobs begin').selectOption('off');
  assert.deepEqual(await defects(page), []);
  await button.click();
  await page.getByText('1 imported').waitFor();
  assert.match((await world.server.job('empty', 'first')).properties.state, /disabled/i);
  await assert.rejects(world.server.job('empty', 'second'), /404/);
});

using('the journal of all collections tells changes in words', place('journal'), async (page) => {
  await world.server.call('PATCH', world.server.jobPath('billing', 'odd'), { properties: { recurrence: { schedule: { hours: [4], minutes: [30] } } } });
  await page.reload();
  const row = page.getByRole('row').filter({ hasText: 'changed billing / odd' });
  await row.getByText('recurrence.schedule.hours: 2 → 4').waitFor();
  await row.getByText(/^you \(token /).waitFor();
  assert.deepEqual(await defects(page), []);
  await page.getByRole('link', { name: 'off', exact: true }).last().click();
  await page.getByRole('heading', { level: 1, name: 'Journal of off' }).waitFor();
});
