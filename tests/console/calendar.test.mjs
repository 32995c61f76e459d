// The calendar against a real server: what is over, now, and herds.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { defects, instead, place, press, setUp, settled, tabTo } from './world.mjs';

const { world, using } = setUp();

const cell = (page, row, column) => page.locator(`[data-cell="${row}-${column}"]`);
const clean = async (page) => assert.deepEqual(await defects(page), []);

describe('a time that holds now', () => {
  // The clock stands at five in the morning of a Sunday in Berlin.
  for (const [view, row, column, name] of [['week', 6, 5, /on Sun 14 Mar at 05:00, 1 failed$/], ['day', 5, 0, /on 05:0\d, 1 failed$/], ['month', 1, 6, /on Sun 14 Mar, 1 failed$/]]) {
    using(`a ${view}: what is over has no shade, what failed is marked, and a line stands at now`, `${place('calendar')}?view=${view}`, async (page) => {
      await settled(page);
      const here = page.locator('[aria-current="time"]').and(page.getByRole('button'));
      assert.equal(await here.locator('.hand').count(), 1);
      assert.equal(await page.locator('.heat .hand').count(), 1);
      await page.locator('.heat .today').waitFor();
      // The run that failed began as the server did.
      const failed = page.getByRole('button', { name });
      await failed.waitFor();
      assert.equal(await failed.locator('.badge').getAttribute('data-n'), '1');
      await page.getByText('failed for good. What was left out is on the page of its job.').waitFor();
      const before = view === 'month' ? cell(page, row, column - 1) : cell(page, row - 1, column);
      assert.equal(await before.getAttribute('class'), 'over');
      const after = view === 'month' ? cell(page, row + 1, 0) : cell(page, row, column + 1);
      assert.match(await after.getAttribute('class'), /^k\d$/);
      await clean(page);
    });
  }

  using('an hour that is over leads to what happened in it', place('calendar'), async (page) => {
    await page.getByRole('button', { name: /on Sun 14 Mar at 05:00, 1 failed$/ }).click();
    await page.getByRole('link', { name: 'What happened' }).click();
    await page.getByRole('heading', { level: 1, name: '1 occurrence, 1 failed.' }).waitFor();
    await page.getByRole('link', { name: 'Why invoice-export' }).click();
    await page.waitForURL(/why\/billing\/invoice-export/);
  });

  using('failures of another collection are not shown', `${place('calendar')}?collection=empty`, async (page) => {
    await page.getByText('failed for good.').waitFor();
    assert.equal(await page.locator('.heat .badge').count(), 0);
  });

  using('failures that were not all read are shown since the oldest of them', place('calendar'), async (page) => {
    await instead(page, '/failures', (route) => route.fulfill({ json: { items: [{ at: '2027-03-12T06:10:00Z', resourceGroup: 'dev', collection: 'billing', job: 'odd', message: 'x', target: null }], position: 'more' } }));
    await page.reload();
    await page.getByText('failed for good since Fri 12 Mar 07:10.').waitFor();
    await page.getByRole('button', { name: /on Fri 12 Mar at 07:00, 4 failed$/ }).waitFor();
  });

  using('that failures cannot be read is said', place('calendar'), async (page) => {
    await instead(page, '/failures', (route) => route.fulfill({ status: 400, json: { error: { code: 'Invalid', message: 'They are away.' } } }));
    await page.reload();
    await page.getByText('What failed cannot be shown: They are away.').waitFor();
  });
});

describe('a herd', () => {
  // 41 jobs are due at half past two in New York, besides one.
  using('is said, has the darkest shade, and is spread from there by the keyboard', `${place('calendar')}?day=2027-03-29`, async (page) => {
    await page.getByText('are due within 5 minutes from Mon 29 Mar 08:30, 42 more than usual in that hour.').waitFor();
    await page.getByText('in the fullest 5 minutes of an hour').waitFor();
    assert.equal(await cell(page, 0, 8).getAttribute('class'), 'k5');
    await press(page, page.getByRole('button', { name: 'Look at that hour, and spread them…' }), 'Enter');
    await page.getByRole('heading', { level: 2, name: /^Mon 29 Mar, 08:00/ }).waitFor();
    await clean(page);
    await press(page, page.getByRole('button', { name: 'See what would change…' }), 'Enter');
    await page.getByRole('group', { name: 'What would change' }).waitFor();
  });

  using('of a day is one of a minute', `${place('calendar')}?view=day&day=2027-03-29`, async (page) => {
    await page.getByText('are due within a minute from Mon 29 Mar 08:30').waitFor();
    await page.getByText('in the fullest minute').waitFor();
  });

  using('is not made of a few', `${place('calendar')}?day=2027-03-29`, async (page) => {
    await instead(page, '/load', async (route) => {
      const answer = await (await route.fetch()).json();
      return route.fulfill({ json: { ...answer, counts: answer.counts.map((count) => Math.min(count, 9)) } });
    });
    await page.reload();
    await tabTo(page, cell(page, 0, 0));
    for (let hour = 0; hour < 8; hour += 1) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 2, name: /^Mon 29 Mar, 08:00/ }).waitFor();
    await page.getByRole('region', { name: 'What is due' }).getByRole('table').waitFor();
    assert.equal(await page.getByRole('button', { name: /spread|See what would change/ }).count(), 0);
  });

  using('a week of an hour more is counted in quarters', `${place('calendar')}?day=2027-10-31`, async (page) => {
    await page.getByText('in the fullest quarter of an hour').waitFor();
    await page.getByText('25 h').waitFor();
    await settled(page);
    assert.equal(await page.getByRole('alert').count(), 0);
  });
});
