// By the keyboard alone: what one does in dialogs and in the fields of the editor, in lists, and what
// mends what the API refuses.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe } from 'node:test';
import { daily, defects, heading, instead, place, press, setUp, settled, startServer, startTarget, tabTo, unfold, write } from './world.mjs';

const { world, using } = setUp(async () => {
  const [server, target] = await Promise.all([
    startServer({
      args: ['--clock-start', '2027-03-14T04:00:00Z', '--allow-private-targets', '--aws-endpoint', 'http://127.0.0.1:9'],
      env: { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'key', AWS_REGION: 'eu-west-1' },
    }),
    startTarget(),
  ]);
  await server.putCollection('keys', { sku: { name: 'P20Premium' }, quota: { maxJobCount: 40 } });
  await server.putCollection('idle', { state: 'Disabled' });
  for (const name of ['a', 'b', 'c']) await server.putJob('keys', name, daily(`${target.url}/200`));
  return { server, target, stop: () => Promise.all([server.stop(), target.stop()]) };
});

const collection = async (name) => (await world.server.call('GET', world.server.collectionPath(name))).json();
const job = async (name) => (await world.server.job('keys', name)).properties;
const clean = async (page) => assert.deepEqual(await defects(page), []);
const ended = (dialog) => dialog.waitFor({ state: 'detached' });
/** The field of a label, in a part of the page. */
const field = (part, label) => part.getByLabel(label, { exact: true }).first();
const group = (page, name, button) => page.getByRole('group', { name }).getByRole('button', { name: button, exact: true });

describe('the collections', () => {
  using('the settings of one are changed in its dialog', place('collections'), async (page) => {
    await press(page, page.getByRole('button', { name: 'Edit… idle' }), 'Enter');
    const dialog = page.getByRole('dialog', { name: 'idle' });
    await press(page, group(dialog, 'Plan', 'P10 Premium'), 'Enter');
    await write(page, field(dialog, 'Jobs at most'), '12');
    await write(page, field(dialog, 'Time zone of jobs that name none'), 'Europe/Berlin');
    await write(page, field(dialog, 'Tags, one a line'), 'team: billing');
    await press(page, dialog.getByRole('button', { name: 'perform an action' }), 'Enter');
    await write(page, field(dialog, 'URL'), 'https://example.com/failed');
    await press(page, dialog.getByRole('button', { name: 'Save' }), 'Enter');
    await ended(dialog);
    const { properties, tags } = await collection('idle');
    assert.deepEqual([properties.sku.name, properties.quota.maxJobCount, properties.minutehand.timeZone, tags], ['P10Premium', 12, 'Europe/Berlin', { team: 'billing' }]);
    assert.equal(properties.minutehand.onFailure.request.uri, 'https://example.com/failed');
    // The focus is where it was before.
    await page.waitForFunction(() => document.activeElement?.textContent === 'Edit… idle');
  });

  using('what is refused in the dialog is mended by a button, and Escape leaves it', place('collections'), async (page) => {
    await press(page, page.getByRole('button', { name: 'Edit… idle' }), 'Enter');
    const dialog = page.getByRole('dialog', { name: 'idle' });
    await write(page, field(dialog, 'Time zone of jobs that name none'), 'Europe/Berln');
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').waitFor();
    await clean(page);
    await press(page, dialog.getByRole('button', { name: 'Use Europe/Berlin' }).first(), 'Enter');
    assert.equal(await field(dialog, 'Time zone of jobs that name none').inputValue(), 'Europe/Berlin');
    await dialog.getByRole('alert').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await ended(dialog);
  });

  using('how full one is, since when one is off, and the keys of the list', place('collections'), async (page) => {
    const row = (name) => page.getByRole('row', { name: new RegExp(`^${name}`) });
    await row('keys').getByText('3 of 40').waitFor();
    await row('idle').getByText(/^since Sun 14 Mar 05:/).waitFor();
    await clean(page);
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('s');
    const dialog = page.getByRole('dialog', { name: 'Switch keys off?' });
    await dialog.getByText('Its 3 jobs do not fire until it is on again.', { exact: false }).waitFor();
    await press(page, dialog.getByRole('button', { name: 'Switch off' }), 'Enter');
    await ended(dialog);
    await row('keys').getByText('off', { exact: true }).waitFor();
    await page.keyboard.press('s');
    await press(page, page.getByRole('dialog').getByRole('button', { name: 'Switch on' }), 'Enter');
    await ended(page.getByRole('dialog'));
    await tabTo(page, page.getByRole('link', { name: 'keys' }));
    await page.keyboard.press('l');
    await page.getByRole('combobox', { name: 'Of which collection' }).waitFor();
    assert.equal(await page.getByRole('combobox', { name: 'Of which collection' }).inputValue(), 'keys');
  });
});

describe('the page of a collection', () => {
  using('switches it off and on', place('jobs', 'keys'), async (page) => {
    await press(page, page.getByRole('button', { name: 'Switch off…' }), 'Enter');
    const dialog = page.getByRole('dialog', { name: 'Switch keys off?' });
    await dialog.getByText('Its 3 jobs do not fire until it is on again.', { exact: false }).waitFor();
    await clean(page);
    await press(page, dialog.getByRole('button', { name: 'Switch off' }), 'Enter');
    await page.getByText('This collection is off: none of its jobs fires.').waitFor();
    await page.getByText('keys is off.').waitFor();
    await press(page, page.getByRole('button', { name: 'Switch on…' }), 'Enter');
    await press(page, page.getByRole('dialog').getByRole('button', { name: 'Switch on' }), 'Enter');
    await page.getByText('This collection is off').waitFor({ state: 'detached' });
  });
});

/** Chooses the first jobs of the list. */
async function choose(page, count) {
  await tabTo(page, page.getByRole('grid'));
  await page.keyboard.press('x');
  for (let n = 1; n < count; n += 1) for (const key of ['j', 'x']) await page.keyboard.press(key);
  await page.getByText(`${count} chosen`).waitFor();
}

describe('chosen jobs', () => {
  using('get another zone', place('jobs', 'keys'), async (page) => {
    await choose(page, 2);
    await press(page, page.getByRole('button', { name: 'Zone…' }), 'Enter');
    const dialog = page.getByRole('dialog', { name: 'Change the zone 2 jobs?' });
    await write(page, field(dialog, 'Time zone'), 'Europe/Paris');
    await press(page, dialog.getByRole('button', { name: 'Change the zone' }), 'Enter');
    await ended(dialog);
    assert.deepEqual([(await job('a')).recurrence.timeZone, (await job('b')).recurrence.timeZone, (await job('c')).recurrence.timeZone], ['Europe/Paris', 'Europe/Paris', 'America/New_York']);
  });

  using('are exported', place('jobs', 'keys'), async (page) => {
    await choose(page, 2);
    await press(page, page.getByRole('button', { name: 'Export…' }), 'Enter');
    const download = page.waitForEvent('download');
    await press(page, page.getByRole('dialog').getByRole('button', { name: 'Export' }), 'Enter');
    const { value } = JSON.parse(readFileSync(await (await download).path(), 'utf8'));
    assert.deepEqual(value.map(({ name }) => name).sort(), ['keys/a', 'keys/b']);
  });
});

describe('a job that was changed meanwhile', () => {
  const theirs = (body) => world.server.call('PATCH', world.server.jobPath('keys', 'c'), { properties: { action: { request: { body } } } });

  using('is saved over it', place('edit', 'keys', 'c'), async (page) => {
    await write(page, field(page, 'At'), '05:15');
    await page.getByTestId('sentence').getByText('05:15').waitFor();
    await theirs('first');
    await page.keyboard.press('Control+Enter');
    await press(page, page.getByRole('button', { name: 'Save mine over it' }), 'Enter');
    await page.getByRole('button', { name: 'Run now' }).waitFor();
    const { action, recurrence } = await job('c');
    assert.deepEqual([action.request.body, recurrence.schedule.hours], ['first', [5]]);
  });

  using('or mine is dropped', place('edit', 'keys', 'c'), async (page) => {
    await write(page, field(page, 'Body'), 'mine');
    await theirs('second');
    await page.keyboard.press('Control+Enter');
    await press(page, page.getByRole('button', { name: 'Drop mine, and begin with theirs' }), 'Enter');
    await page.waitForFunction(() => [...document.querySelectorAll('textarea')].some((one) => one.value === 'second'));
    assert.equal((await job('c')).action.request.body, 'second');
  });
});

/** The messages of the actions: the button of the type, what is written, and what is stored then. */
const MESSAGES = {
  'Storage queue': [{ 'Storage account': 'contoso', Queue: 'reports', 'SAS token': 'sv=1&sp=a&sig=x', Message: 'nightly' }, ({ queueMessage }) => [queueMessage.storageAccount, queueMessage.queueName, queueMessage.message]],
  'Service Bus queue': [{ Namespace: 'contoso', Queue: 'reports', 'Name of the key': 'send', Key: 'secret', Message: 'nightly' }, ({ serviceBusQueueMessage: it }) => [it.namespace, it.queueName, it.message]],
  SQS: [{ 'URL of the queue': 'https://sqs.eu-west-1.amazonaws.com/123456789012/reports', Message: 'nightly' }, ({ sqsMessage }) => ['contoso', sqsMessage.queueUrl.split('/').pop(), sqsMessage.message]],
  EventBridge: [{ 'Event bus': 'reports', Source: 'contoso', 'Detail type': 'nightly', 'Detail, as JSON': '{}' }, ({ eventBridgeEvent: it }) => [it.source, it.eventBusName, it.detailType]],
};

describe('the fields of the editor', () => {
  for (const [button, [written, stored]] of Object.entries(MESSAGES)) {
    using(`a message of ${button}`, place('new', 'keys'), async (page) => {
      const name = `m-${button.toLowerCase().replaceAll(' ', '-')}`;
      await press(page, group(page, 'Type of action', button), 'Enter');
      for (const [label, text] of Object.entries(written)) await write(page, field(page, label), text);
      await write(page, field(page, 'Starts'), '2027-06-01T00:00:00Z');
      await write(page, page.getByLabel('Name in keys'), name);
      await page.keyboard.press('Control+Enter');
      await heading(page, name);
      assert.deepEqual(stored((await job(name)).action), ['contoso', 'reports', 'nightly']);
    });
  }

  using('dates on which it does not run, and on which it also runs', place('new', 'keys'), async (page) => {
    await write(page, field(page, 'URL'), 'https://example.com/');
    await write(page, field(page, 'Starts'), '2027-06-01T00:00:00Z');
    await unfold(page, 'Policies');
    await write(page, field(page, 'Not on these dates, one a line'), '2027-06-03\n2027-12-24/2028-01-02');
    await write(page, field(page, 'Also then, one a line'), '2027-06-05T18:00');
    await page.getByRole('row', { name: /^Sat 5 Jun 2027 18:00/ }).waitFor();
    assert.equal(await page.getByRole('row', { name: /^Thu 3 Jun 2027/ }).count(), 0);
    await clean(page);
    await write(page, page.getByLabel('Name in keys'), 'dates');
    await page.keyboard.press('Control+Enter');
    await heading(page, 'dates');
    await page.getByText('not on 2027-06-03, 2027-12-24 to 2028-01-02; also on 2027-06-05T18:00', { exact: true }).waitFor();
    assert.deepEqual((await job('dates')).minutehand.exclude.dates, ['2027-06-03', '2027-12-24/2028-01-02']);
  });

  using('a number that is refused is mended by a button', place('new', 'keys'), async (page) => {
    await unfold(page, 'Policies');
    await write(page, field(page, 'Pause after so many failures in a row'), '101');
    await press(page, page.getByRole('tabpanel').getByRole('button', { name: 'Use 100' }), 'Enter');
    assert.equal(await field(page, 'Pause after so many failures in a row').inputValue(), '100');
    await page.locator('.err').first().waitFor({ state: 'detached' });
  });

  using('a name in the JSON that is refused is mended by a button', place('new', 'keys'), async (page) => {
    await tabTo(page, page.getByRole('tab', { name: 'Form' }));
    await page.keyboard.press('ArrowRight');
    const json = page.getByLabel('The job as JSON');
    await json.fill((await json.inputValue()).replace('"schedule"', '"schedul"'));
    const mend = page.getByRole('tabpanel').getByRole('button', { name: 'Use schedule' });
    await mend.waitFor();
    await clean(page);
    await press(page, mend, 'Enter');
    await page.getByTestId('sentence').getByText('02:30').waitFor();
    assert.ok((await json.inputValue()).includes('"schedule"'));
    await page.locator('.err').first().waitFor({ state: 'detached' });
  });

  using('Escape asks before it leaves what was changed', place('edit', 'keys', 'a'), async (page) => {
    await write(page, field(page, 'At'), '07:45');
    await page.getByTestId('sentence').getByText('07:45').waitFor();
    await tabTo(page, page.getByRole('tab', { name: 'Form' }));
    let asked = '';
    page.once('dialog', (dialog) => { asked = dialog.message(); void dialog.accept(); });
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Run now' }).waitFor();
    assert.equal(asked, 'Leave? What you changed is not saved.');
    assert.deepEqual((await job('a')).recurrence.schedule.hours, [2]);
  });
});

describe('a run', () => {
  using('is asked about once in a session, in the list and on the page of a job', place('jobs', 'keys'), async (page) => {
    const runs = [];
    page.on('request', (request) => { if (request.url().includes('/run?')) runs.push(new URL(request.url()).pathname.split('/').at(-2)); });
    await tabTo(page, page.getByRole('grid'));
    await page.keyboard.press('r');
    const dialog = page.getByRole('dialog', { name: 'Run now a?' });
    await dialog.getByText(/the next runs start without this question/).waitFor();
    await press(page, dialog.getByRole('button', { name: 'Run now' }), 'Enter');
    await ended(dialog);
    await tabTo(page, page.getByRole('grid'));
    await page.keyboard.press('j');
    await page.keyboard.press('r');
    await page.getByText('One run of b is in the queue.').waitFor();
    await clean(page);
    await page.goto(`${world.server.url}/console/${place('job', 'keys', 'c')}`);
    await heading(page, 'c');
    await page.getByRole('button', { name: 'Run now' }).waitFor();
    await page.keyboard.press('r');
    await page.getByText('One run is in the queue.').waitFor();
    await page.getByRole('button', { name: /^What happened at/ }).first().waitFor();
    assert.deepEqual(runs, ['a', 'b', 'c']);
  });

  using('is offered by the answer about an occurrence that was left out', `${place('why', 'keys', 'a')}?at=2027-03-13T07:30:00Z`, async (page) => {
    const why = { at: '2027-03-13T07:30:00Z', verdict: 'overtaken', sentence: 'It was left out.', near: { before: null, after: null }, evidence: [] };
    await instead(page, '/why', (route) => route.fulfill({ json: why }));
    await page.reload();
    await page.getByRole('heading', { level: 3, name: 'It was left out.' }).waitFor();
    await clean(page);
    const asked = page.waitForRequest((request) => request.url().includes('/jobs/a/run?'));
    await press(page, page.getByRole('button', { name: 'Run it now' }), 'Enter');
    await asked;
    await heading(page, 'a');
    await page.getByText('One run of a is in the queue.').waitFor();
  });
});

describe('what needs someone', () => {
  using('a job whose next occurrence is unusually far away', place('overview'), async (page) => {
    await world.server.putJob('keys', 'next-year', daily(`${world.target.url}/200`, { startTime: '2028-04-01T00:00:00Z' }));
    try {
      await page.reload();
      const needs = page.getByRole('region', { name: 'Worth a look' });
      await needs.getByText(/^Not due before Sat 1 Apr 2028 .*, which is far away for this rule: every day at 02:30 America\/New_York time/).waitFor();
      await clean(page);
      await press(page, needs.getByRole('link', { name: 'Edit next-year' }), 'Enter');
      await heading(page, 'next-year');
    } finally {
      await world.server.call('DELETE', world.server.jobPath('keys', 'next-year'));
    }
  });

  const overview = {
    headline: { kind: 'late', n: 3 },
    collections: { all: 2, off: 1, items: [
      { resourceGroup: 'dev', collection: 'idle', state: 'Disabled', since: '2027-03-11T04:12:00Z', jobs: 611, jobsMax: null },
      { resourceGroup: 'dev', collection: 'keys', state: 'Enabled', since: null, jobs: 40, jobsMax: 40 },
    ] },
    jobs: { all: 651 },
    late: { count: 3, isLeast: false, oldest: '2027-03-14T03:50:00Z', items: [{ at: '2027-03-14T03:50:00Z', resourceGroup: 'dev', collection: 'keys', job: 'a' }] },
    sweep: { at: '2027-03-14T04:00:00Z' }, work: { at: '2027-03-14T04:00:00Z' }, deadLetters: 0,
  };
  const failed = (n, job, host) => ({ at: `2027-03-13T02:${String(n).padStart(2, '0')}:00Z`, resourceGroup: 'dev', collection: 'keys', job, target: `POST ${host}`, message: `Http Action - Response from host '${host}': 'ServiceUnavailable' Response Headers:  Body: x` });
  const failures = { items: [failed(30, 'b', 'other.example.com'), ...Array.from({ length: 25 }, (_, n) => failed(n, `t-${n}`, 'hooks.example.com'))], position: null };
  const shown = async (page) => {
    await instead(page, '/overview', (route) => route.fulfill({ json: overview }));
    await instead(page, '/failures', (route) => route.fulfill({ json: failures }));
    await instead(page, '/rows', (route) => route.fulfill({ json: { columns: ['name', 'state', 'recent'], items: failures.items.map(({ job }) => [job, 'enabled', 'of']), position: null } }));
    // Other tests leave jobs that are due far away. Each would be a line more, once it is read.
    await instead(page, '/load', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), far: [] } });
    });
    const far = page.waitForResponse((response) => response.url().includes('far=true'));
    await page.reload();
    await far;
    await settled(page);
    await heading(page, '3 occurrences are late.');
  };

  using('jobs that are late, collections that are off, and jobs that fail alike by their host', place('overview'), async (page) => {
    await shown(page);
    const needs = page.getByRole('region', { name: 'Needs you' });
    await needs.getByText('Due since Sun 14 Mar 04:50 +01:00, and not started.').waitFor();
    await needs.getByText('2 more are late').waitFor();
    await page.getByRole('region', { name: 'Worth a look' }).getByText('Off since Thu 11 Mar 05:12: its 611 jobs do not fire.').waitFor();
    await needs.getByText('25 jobs that call hooks.example.com').waitFor();
    assert.equal(await needs.getByRole('listitem').count(), 4);
    await page.getByText('40 of 40').waitFor();
    await page.getByRole('link', { name: 'Overview 29 need you', exact: true }).waitFor();
    await press(page, needs.getByRole('button', { name: 'Which call hooks.example.com' }), 'Enter');
    await needs.getByText('and 5 more').waitFor();
    await needs.getByRole('link', { name: 'keys / t-24' }).waitFor();
    await clean(page);
    await press(page, needs.getByRole('link', { name: 'Why' }), 'Enter');
    await heading(page, 'Why did it not fire?');
    await page.getByRole('heading', { level: 3 }).waitFor();
  });

  using('a failed occurrence runs again', place('overview'), async (page) => {
    await shown(page);
    let asked = '';
    await instead(page, '/redrive', (route) => { asked = route.request().url(); return route.fulfill({ json: { at: '2027-03-14T04:00:00Z', redriveOf: '2027-03-13T02:30:00Z' } }); });
    await press(page, page.getByRole('button', { name: 'Run again b' }), 'Enter');
    await heading(page, 'b');
    assert.ok(asked.endsWith('/jobCollections/keys/jobs/b/occurrences/2027-03-13T02%3A30%3A00Z/redrive'), asked);
  });
});

describe('what one chooses for this browser', () => {
  using('another group, of those that have collections', '#/settings', async (page) => {
    await press(page, page.getByRole('link', { name: 'me / dev', exact: true }), 'Enter');
    await page.getByRole('region', { name: 'Collections of dev' }).getByRole('link', { name: 'idle', exact: true }).waitFor();
  });

  using('a clock of 12 hours, dense lists, no motion', '#/settings', async (page) => {
    await press(page, group(page, 'The clock has', '12 hours'), 'Enter');
    await press(page, group(page, 'Lists are', 'dense'), 'Enter');
    await press(page, group(page, 'Motion', 'none'), 'Enter');
    assert.deepEqual(await page.evaluate(() => ({ ...document.documentElement.dataset })), { theme: 'system', density: 'dense', motion: 'none' });
    await clean(page);
    await page.goto(`${world.server.url}/console/${place('jobs', 'keys')}`);
    await page.getByRole('row').first().waitFor();
    assert.equal(await page.getByRole('row').first().evaluate((row) => row.getBoundingClientRect().height), 30);
    await clean(page);
    await page.getByRole('link', { name: 'b', exact: true }).click();
    await page.locator('.nextup').getByText(/2:30 am/).waitFor();
  });
});

describe('an import', () => {
  const read = async (page) => {
    await write(page, page.getByLabel('A command becomes'), `${world.target.url}/200?cmd={command}`);
    // Pasted beside every field.
    await page.evaluate(() => {
      document.activeElement.blur();
      const clipboardData = new DataTransfer();
      clipboardData.setData('text', '15 4 * * * /usr/bin/backup\n15 5 * * * /usr/bin/backup-2');
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    });
    await press(page, page.getByRole('button', { name: 'Read it' }), 'Enter');
    await press(page, page.getByLabel('Into'), 'End', 'Home');
  };
  const put = (page) => press(page, page.getByRole('button', { name: /^Import \d of \d$/ }), 'Enter');

  using('leaves out a job whose name is taken, renames it, or replaces what is there', place('import'), async (page) => {
    await read(page);
    const into = await page.getByLabel('Into').inputValue();
    const uri = async (name) => (await world.server.job(into, name)).properties.action.request.uri;
    await put(page);
    await page.getByText('2 imported').waitFor();
    assert.match(await uri('backup'), /cmd=/);
    await page.reload();
    await read(page);
    await put(page);
    await page.getByText('left out: the name is taken').nth(1).waitFor();
    await page.getByLabel('A job whose name is taken').selectOption('rename');
    await clean(page);
    await put(page);
    // Not backup-2: another job of the file has that name, whether it is written yet or not.
    await page.getByText('imported as backup-3').waitFor();
    await page.getByText('imported as backup-2-2').waitFor();
    assert.equal(await uri('backup-3'), await uri('backup'));
    await press(page, page.getByRole('button', { name: 'Copy the report' }), 'Enter');
  });

  using('asks for the secrets that an export does not have', place('import'), async (page) => {
    const properties = { startTime: '2027-06-01T00:00:00Z', action: { type: 'Https', request: { method: 'POST', uri: 'https://example.com/', authentication: { type: 'Basic', username: 'web' } } }, recurrence: { frequency: 'day' } };
    await page.getByLabel('Format').selectOption('azure');
    await write(page, page.getByLabel('Text: paste it, or drop a file'), JSON.stringify({ value: [{ name: 'x/secret', properties }] }));
    await press(page, page.getByRole('button', { name: 'Read it' }), 'Enter');
    await page.getByRole('button', { name: 'Import 0 of 1' }).waitFor();
    await press(page, page.getByLabel('Into'), 'End', 'Home');
    const into = await page.getByLabel('Into').inputValue();
    await clean(page);
    await write(page, page.getByLabel(/^Secret of .*: password$/), 'pass-4711');
    await put(page);
    await page.getByText('1 imported').waitFor();
    const { authentication } = (await world.server.job(into, 'secret')).properties.action.request;
    assert.deepEqual(authentication, { type: 'Basic', username: 'web' });
    assert.ok(!(await page.content()).includes('pass-4711'));
  });
});
