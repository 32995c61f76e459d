// Lists against a real server: which jobs are found and in which order, what is done to many of them, the
// settings of a collection, the journal and what it takes back, and the tape of a job.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe } from 'node:test';
import { daily, defects, eventually, heading, instead, place, press, setUp, startServer, startTarget, tabTo, write } from './world.mjs';

const at = (hour, timeZone, more = {}) => ({ recurrence: { frequency: 'day', schedule: { hours: [hour], minutes: [30] }, timeZone }, ...more });

const { world, using } = setUp(async () => {
  const [server, target] = await Promise.all([startServer(), startTarget()]);
  await server.putCollection('zones', { sku: { name: 'P20Premium' } });
  await server.putCollection('copy');
  await server.putCollection('idle', { state: 'Disabled' });
  const put = (name, hour, zone, more) => server.putJob('zones', name, daily(`${target.url}/200`, at(hour, zone, more)));
  // The clock stands at 04:00 UTC, 05:00 in Berlin: winter.
  await put('a-berlin', 9, 'Europe/Berlin');
  await put('b-tokyo', 15, 'Asia/Tokyo');
  await put('c-berlin', 6, 'Europe/Berlin');
  await put('d-off', 7, 'Asia/Tokyo', { state: 'disabled' });
  await server.putJob('zones', 'e-once', { startTime: '2027-03-20T00:00:00Z', action: { type: 'Http', request: { method: 'POST', uri: `${target.url}/200` } } });
  return { server, target, stop: () => Promise.all([server.stop(), target.stop()]) };
});

const names = async (page) => (await page.getByRole('row').locator('a').allInnerTexts()).map((name) => name.trim());
const shows = (page, wanted) => page.waitForFunction((all) => JSON.stringify([...document.querySelectorAll('[role=row] a')].map((one) => one.textContent)) === JSON.stringify(all), wanted);
const jobs = place('jobs', 'zones');

describe('the list of jobs', () => {
  using('the soonest first, those without a next occurrence last', jobs, async (page) => {
    await shows(page, ['a-berlin', 'b-tokyo', 'c-berlin', 'd-off', 'e-once']);
    await page.getByRole('button', { name: 'Soonest first' }).click();
    await shows(page, ['c-berlin', 'b-tokyo', 'a-berlin', 'e-once', 'd-off']);
    assert.match(page.url(), /by=next/);
    assert.deepEqual(await defects(page), []);
    await page.reload();
    await shows(page, ['c-berlin', 'b-tokyo', 'a-berlin', 'e-once', 'd-off']);
  });

  using('those of one zone', jobs, async (page) => {
    await page.getByRole('combobox', { name: /^Zone/ }).selectOption('Asia/Tokyo');
    await shows(page, ['b-tokyo', 'd-off']);
    await page.getByRole('combobox', { name: /^Zone/ }).selectOption('');
    await shows(page, ['a-berlin', 'b-tokyo', 'c-berlin', 'd-off', 'e-once']);
  });

  using('those that fire in a time, by the keyboard alone', jobs, async (page) => {
    await press(page, page.getByRole('button', { name: 'Fires at…' }), 'Enter');
    // The browser is in Berlin.
    await page.getByLabel('Fires from').fill('2027-03-14T06:00');
    await press(page, page.getByRole('button', { name: 'Show', exact: true }), 'Enter');
    await shows(page, ['c-berlin']);
    assert.deepEqual(await defects(page), []);
    await page.getByLabel('within').selectOption('P1D');
    await shows(page, ['a-berlin', 'b-tokyo', 'c-berlin']);
    await page.getByLabel('Fires from').fill('2027-03-20T00:30');
    await page.getByLabel('within').selectOption('PT1H');
    await shows(page, ['e-once']);
    await press(page, page.getByRole('button', { name: 'Any time' }), 'Enter');
    await shows(page, ['a-berlin', 'b-tokyo', 'c-berlin', 'd-off', 'e-once']);
  });

  using('those that are late', jobs, async (page) => {
    await page.getByText('5 jobs').waitFor();
    await instead(page, '/rows', async (route) => {
      const answer = await (await route.fetch()).json();
      const next = answer.columns.indexOf('next');
      answer.items[0][next] = '2027-03-14T03:50:00Z';
      await route.fulfill({ json: answer });
    });
    await page.reload();
    await page.getByRole('button', { name: /^Late 1/ }).click();
    await shows(page, ['a-berlin']);
  });

  using('a list is read again by itself', jobs, async (page) => {
    await page.getByText('5 jobs').waitFor();
    await world.server.putJob('zones', 'f-new', daily(`${world.target.url}/200`));
    await page.getByRole('link', { name: 'f-new' }).waitFor({ timeout: 20_000 });
    await world.server.call('DELETE', world.server.jobPath('zones', 'f-new'));
  });

  using('the zone of many is changed, and those that run once stay', jobs, async (page) => {
    await page.getByText('e-once').waitFor();
    await page.getByRole('grid').focus();
    for (const key of ['End', 'x', 'k', 'x']) await page.keyboard.press(key);
    await page.getByRole('button', { name: 'Zone…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change the zone 2 jobs?' }).or(page.getByRole('dialog'));
    assert.ok(await dialog.getByRole('button', { name: 'Change the zone' }).isDisabled());
    await dialog.getByLabel('Time zone').fill('Europe/Paris');
    assert.deepEqual(await defects(page), []);
    await dialog.getByRole('button', { name: 'Change the zone' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByText('every day at 07:30 Europe/Paris time').waitFor();
    assert.equal((await world.server.job('zones', 'e-once')).properties.recurrence, undefined);
  });

  using('what is exported can be imported', jobs, async (page) => {
    await page.getByText('e-once').waitFor();
    await page.getByRole('grid').focus();
    for (const key of ['x', 'j', 'x']) await page.keyboard.press(key);
    await page.getByRole('button', { name: 'Export…' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('dialog').getByRole('button', { name: 'Export' }).click();
    const file = await download;
    assert.equal(file.suggestedFilename(), 'zones.json');
    const text = readFileSync(await file.path(), 'utf8');
    await page.goto(`${world.server.url}/console/${place('import')}`);
    await page.getByLabel('Format').selectOption('azure');
    await page.getByLabel('Text: paste it, or drop a file').fill(text);
    await page.getByRole('button', { name: 'Read it' }).click();
    await page.getByLabel('Into').selectOption('copy');
    await page.getByRole('button', { name: 'Import 2 of 2' }).click();
    await page.getByText('2 imported').waitFor();
    const { properties } = await world.server.job('copy', 'b-tokyo');
    assert.deepEqual(properties.recurrence, (await world.server.job('zones', 'b-tokyo')).properties.recurrence);
  });
});

describe('collections', () => {
  using('settings are changed: plan, quota, zone, limits, tags, and the action that tells of failures', place('collections'), async (page) => {
    await page.getByRole('button', { name: 'Edit… copy' }).click();
    const dialog = page.getByRole('dialog', { name: 'copy' });
    await dialog.getByRole('button', { name: 'P10 Premium' }).click();
    await dialog.getByLabel('Jobs at most').fill('12');
    await dialog.getByLabel('Time zone of jobs that name none').fill('Europe/Berlin');
    await dialog.getByLabel('Starts in a second, at most').fill('10');
    await dialog.getByLabel('Running at a time, at most').fill('5');
    await dialog.getByLabel('Tags, one a line').fill('team: billing');
    await dialog.getByRole('button', { name: 'perform an action' }).click();
    await dialog.getByLabel('URL').fill('https://example.com/failed');
    assert.deepEqual(await defects(page), []);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('team: billing').waitFor();
    const { properties, tags } = await (await world.server.call('GET', world.server.collectionPath('copy'))).json();
    assert.deepEqual([properties.sku.name, properties.quota.maxJobCount, properties.minutehand.timeZone, tags], ['P10Premium', 12, 'Europe/Berlin', { team: 'billing' }]);
    assert.equal(properties.minutehand.onFailure.request.uri, 'https://example.com/failed');
    assert.deepEqual([properties.minutehand.maxPerSecond, properties.minutehand.maxConcurrent], [10, 5]);
    // And taken away again.
    await page.getByRole('button', { name: 'Edit… copy' }).click();
    await dialog.getByRole('button', { name: 'do nothing more' }).click();
    await dialog.getByLabel('Tags, one a line').fill('');
    await dialog.getByLabel('Running at a time, at most').fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const after = await (await world.server.call('GET', world.server.collectionPath('copy'))).json();
    assert.equal(after.properties.minutehand.onFailure, undefined);
    assert.deepEqual([after.properties.minutehand.maxPerSecond, after.properties.minutehand.maxConcurrent], [10, undefined]);
    assert.deepEqual(Object.keys(after.tags ?? {}), []);
  });

  using('what is refused is said at its field', place('collections'), async (page) => {
    await page.getByRole('button', { name: 'Edit… copy' }).click();
    const dialog = page.getByRole('dialog', { name: 'copy' });
    await dialog.getByLabel('Time zone of jobs that name none').fill('Mars/Phobos');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByLabel('Time zone of jobs that name none').and(page.locator('[aria-invalid=true]')).waitFor();
    await dialog.getByRole('alert').waitFor();
  });

  using('those that are off are found, and it is said what comes next', place('collections'), async (page) => {
    await page.getByRole('row', { name: /^zones/ }).getByText(/in \d/).waitFor();
    await page.getByRole('button', { name: /^Off 1/ }).click();
    await page.getByRole('link', { name: 'idle' }).waitFor();
    await page.getByRole('link', { name: 'zones' }).waitFor({ state: 'detached' });
  });
});

describe('the journal', () => {
  using('a change is taken back, whatever else was changed since, by the keyboard alone', place('journal', 'zones'), async (page) => {
    const path = world.server.jobPath('zones', 'a-berlin');
    await world.server.call('PATCH', path, { properties: { recurrence: { schedule: { hours: [9], minutes: [37] } } } });
    await world.server.call('PATCH', path, { properties: { action: { request: { body: 'later' } } } });
    await page.reload();
    const row = page.getByRole('row').filter({ hasText: 'recurrence.schedule.minutes' }).first();
    await press(page, row.getByRole('button', { name: 'Undo…' }), 'Enter');
    const dialog = page.getByRole('dialog', { name: 'Take back this change of a-berlin?' });
    // A schedule is written whole: the journal has only the minutes.
    await dialog.getByText('"hours"').waitFor();
    await dialog.getByText('pending retries are dropped').or(dialog.getByText('This is written')).first().waitFor();
    assert.deepEqual(await defects(page), []);
    await press(page, dialog.getByRole('button', { name: 'Undo' }), 'Enter');
    await dialog.waitFor({ state: 'detached' });
    const { properties } = await world.server.job('zones', 'a-berlin');
    assert.deepEqual([properties.recurrence.schedule, properties.action.request.body], [{ minutes: [30], hours: [9] }, 'later']);
    // Taking it back is a change itself, and there is nothing left to take back of the first.
    await row.getByRole('button', { name: 'Undo…' }).first().waitFor();
  });

  using('a change that is undone already has nothing to write', place('journal', 'zones'), async (page) => {
    const path = world.server.jobPath('zones', 'c-berlin');
    await world.server.call('PATCH', path, { properties: { state: 'disabled' } });
    await world.server.call('PATCH', path, { properties: { state: 'enabled' } });
    await page.reload();
    await page.getByRole('row').filter({ hasText: 'switched off' }).first().getByRole('button', { name: 'Undo…' }).click();
    await page.getByText('Everything that it changed is as before already.').waitFor();
    assert.ok(await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).isDisabled());
  });

  using('a change of a collection is taken back', place('journal', 'idle'), async (page) => {
    await world.server.call('PATCH', world.server.collectionPath('idle'), { properties: { state: 'Enabled' }, tags: { a: 'b' } });
    await page.reload();
    await page.getByRole('row').filter({ hasText: 'changed' }).first().getByRole('button', { name: 'Undo…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const { properties, tags } = await (await world.server.call('GET', world.server.collectionPath('idle'))).json();
    assert.deepEqual([properties.state, Object.keys(tags ?? {})], ['Disabled', []]);
  });

  using('a job that was deleted begins again in the editor', place('journal', 'zones'), async (page) => {
    await world.server.putJob('zones', 'gone', daily(`${world.target.url}/200`, at(11, 'Asia/Tokyo')));
    await world.server.call('DELETE', world.server.jobPath('zones', 'gone'));
    await page.reload();
    await page.getByRole('row').filter({ hasText: 'deleted' }).getByRole('button', { name: 'Create anew…' }).first().click();
    await page.getByTestId('sentence').getByText('11:30').waitFor();
    assert.equal(await page.getByLabel('Name in zones').inputValue(), 'gone');
    await page.getByRole('button', { name: /^Save( Ctrl.*)?$/ }).last().click();
    await heading(page, 'gone');
    await world.server.call('DELETE', world.server.jobPath('zones', 'gone'));
  });
});

describe('the tape of a job', () => {
  using('the arrows walk from one occurrence to the next, and Enter unfolds it', place('job', 'zones', 'b-tokyo'), async (page) => {
    await world.server.run('zones', 'b-tokyo');
    await page.getByRole('button', { name: /^What happened at/ }).first().waitFor({ timeout: 70_000 });
    const tape = page.getByRole('listbox');
    await tabTo(page, tape);
    await tape.getByRole('option', { name: /: succeeded$/, selected: true }).waitFor();
    assert.deepEqual(await defects(page), []);
    await page.keyboard.press('ArrowRight');
    await tape.getByRole('option', { name: /^Sun 14 Mar 15:30: to come$/, selected: true }).waitFor();
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    await page.getByText('first attempt').waitFor();
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-expanded') === 'true');
  });
});

describe('the first minute', () => {
  const nowhere = '#/in/me/fresh/';

  using('a job is made before there is a collection, and fires', `${nowhere}collections`, async (page) => {
    await page.getByText('A first job makes the collection “default” for itself.').waitFor();
    assert.deepEqual(await defects(page), []);
    await tabTo(page, page.getByRole('link', { name: 'New job' }));
    await page.keyboard.press('Enter');
    await press(page, page.getByRole('button', { name: 'Minutes' }), 'Enter');
    await press(page, page.getByRole('button', { name: 'HTTP', exact: true }), 'Enter');
    await write(page, page.getByLabel('URL'), `${world.target.url}/200/first`);
    await write(page, page.getByLabel('Name in default'), 'hello');
    await page.keyboard.press('Control+Enter');
    await heading(page, 'hello');
    // It fires at the next full minute.
    await page.getByRole('button', { name: /^What happened at/ }).first().waitFor({ timeout: 70_000 });
    // It is shown from its claim on, a moment before it is due.
    await eventually(() => world.target.seen.includes('/200/first'), () => 'the target is not called');
  });

  using('an import makes it, too', '#/in/me/other/import', async (page) => {
    await page.getByLabel('A command becomes').fill(`${world.target.url}/200?cmd={command}`);
    await page.getByLabel('Text: paste it, or drop a file').fill('15 4 * * * /usr/bin/first');
    await page.getByRole('button', { name: 'Read it' }).click();
    await page.getByRole('button', { name: 'Import 1 of 1' }).click();
    await page.getByText('1 imported').waitFor();
    await page.getByRole('link', { name: 'Open default' }).click();
    await heading(page, 'default');
  });
});

describe('why not', () => {
  using('a time on the clock of the job is understood, and asked about twice where it is twice', place('why', 'zones', 'c-berlin'), async (page) => {
    const field = page.getByLabel('The instant at which it was due');
    await field.fill('06:30');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 3 }).waitFor();
    assert.equal(await field.inputValue(), '2027-03-14T05:30:00.000Z');
    await field.fill('2026-10-25 02:30');
    await page.keyboard.press('Enter');
    await page.getByText('That day the clock shows this time twice:').waitFor();
    assert.deepEqual(await defects(page), []);
    await page.getByRole('button', { name: 'Sun 25 Oct 2026 02:30 +01:00' }).click();
    await page.getByRole('heading', { level: 3 }).waitFor();
    assert.equal(await field.inputValue(), '2026-10-25T01:30:00.000Z');
  });

  using('what failed last is offered', place('why'), async (page) => {
    await instead(page, '/failures', (route) => route.fulfill({ json: { items: [{ at: '2027-03-14T03:00:00Z', resourceGroup: 'dev', collection: 'zones', job: 'c-berlin', message: 'x' }], position: null } }));
    await page.reload();
    await page.getByRole('link', { name: 'zones / c-berlin' }).click();
    await page.getByRole('heading', { level: 3 }).waitFor();
  });
});
