// The editor against a real server: every type of action and every policy in the form, the API's own
// words at the field they are about, and what happens when two people change one job.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { daily, defects, heading, place, press, setUp, startServer, startTarget, tabTo, unfold, write } from './world.mjs';

const { world, using } = setUp(async () => {
  const [server, target] = await Promise.all([
    startServer({
      args: ['--clock-start', '2027-03-14T04:00:00Z', '--allow-private-targets', '--aws-endpoint', 'http://127.0.0.1:9'],
      env: { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'key', AWS_REGION: 'eu-west-1' },
    }),
    startTarget(),
  ]);
  await server.putCollection('jobs', { sku: { name: 'P20Premium' } });
  await server.putJob('jobs', 'shared', daily(`${target.url}/200`, { action: { type: 'Http', request: { method: 'POST', uri: `${target.url}/200`, authentication: { type: 'Basic', username: 'web', password: 'hidden' } } } }));
  return { server, target, stop: () => Promise.all([server.stop(), target.stop()]) };
});

const field = (page, label) => page.getByLabel(label, { exact: true }).first();
const saved = async (page, name) => {
  await page.getByRole('button', { name: /^Save( Ctrl.*)?$/ }).last().click();
  // The page of the job, not that of its editor.
  await page.getByRole('button', { name: 'Run now' }).waitFor();
  await heading(page, name);
};
const job = async (name) => (await world.server.job('jobs', name)).properties;

/** Of each type: its button, what is written, what the document has then, and what the page of the job says. */
const TYPES = {
  Https: ['HTTPS', { URL: 'https://example.com/a', 'Headers, one a line': 'X-A: 1\nX-B: 2', Body: 'hello' }, { request: { uri: 'https://example.com/a', method: 'POST', body: 'hello', headers: { 'X-A': '1', 'X-B': '2' } } }, 'POST example.com/a'],
  Http: ['HTTP', { URL: 'http://example.com/b' }, { request: { uri: 'http://example.com/b', method: 'POST' } }, 'POST example.com/b'],
  StorageQueue: ['Storage queue', { 'Storage account': 'contoso', Queue: 'reports', 'SAS token': 'sv=1&sp=a&sig=x', Message: 'nightly' }, { queueMessage: { storageAccount: 'contoso', queueName: 'reports', message: 'nightly' } }, 'queue reports of contoso'],
  ServiceBusQueue: ['Service Bus queue', { Namespace: 'contoso', Queue: 'reports', 'Name of the key': 'send', Key: 'secret', Message: 'nightly', 'Properties of your own, one a line': 'priority: high' },
    { serviceBusQueueMessage: { queueName: 'reports', namespace: 'contoso', authentication: { sasKeyName: 'send', type: 'sharedAccessKey' }, message: 'nightly', customMessageProperties: { priority: 'high' } } }, 'Service Bus queue reports of contoso'],
  ServiceBusTopic: ['Service Bus topic', { Namespace: 'contoso', Topic: 'reports', 'Name of the key': 'send', Key: 'secret', Message: 'nightly' },
    { serviceBusTopicMessage: { topicPath: 'reports', namespace: 'contoso', authentication: { sasKeyName: 'send', type: 'sharedAccessKey' }, message: 'nightly' } }, 'Service Bus topic reports of contoso'],
  Sqs: ['SQS', { 'URL of the queue': 'https://sqs.eu-west-1.amazonaws.com/123456789012/reports', Message: 'nightly', 'Attributes, one a line': 'priority: high' },
    { sqsMessage: { queueUrl: 'https://sqs.eu-west-1.amazonaws.com/123456789012/reports', message: 'nightly', messageAttributes: { priority: 'high' } } }, 'SQS sqs.eu-west-1.amazonaws.com/123456789012/reports'],
  Sns: ['SNS', { 'ARN of the topic': 'arn:aws:sns:eu-west-1:123456789012:reports', Subject: 'A report', Message: 'nightly' },
    { snsMessage: { topicArn: 'arn:aws:sns:eu-west-1:123456789012:reports', message: 'nightly', subject: 'A report' } }, 'SNS arn:aws:sns:eu-west-1:123456789012:reports'],
  Lambda: ['Lambda', { Function: 'report', 'Payload, as JSON': '{"kind":"nightly"}' }, { lambdaInvocation: { functionName: 'report', payload: '{"kind":"nightly"}' } }, 'Lambda report'],
  EventBridge: ['EventBridge', { 'Event bus': 'reports', Source: 'minutehand', 'Detail type': 'Report due', 'Detail, as JSON': '{"kind":"nightly"}', 'Resources, one a line': 'one\ntwo' },
    { eventBridgeEvent: { eventBusName: 'reports', source: 'minutehand', detailType: 'Report due', detail: '{"kind":"nightly"}', resources: ['one', 'two'] } }, 'EventBridge reports: Report due'],
};

describe('types of actions', () => {
  for (const [type, [button, written, stored, said]] of Object.entries(TYPES)) {
    using(`${type}: made in the form, shown, and changed in the form`, place('new', 'jobs'), async (page) => {
      const name = `a-${type.toLowerCase()}`;
      await page.getByRole('group', { name: 'Type of action' }).getByRole('button', { name: button, exact: true }).click();
      for (const [label, text] of Object.entries(written)) await field(page, label).fill(text);
      await field(page, 'Starts').fill('2027-06-01T00:00:00Z');
      assert.deepEqual(await defects(page), []);
      await page.getByLabel('Name in jobs').fill(name);
      await page.locator('.pv .err').first().waitFor({ state: 'detached' });
      await saved(page, name);
      await page.getByText(said, { exact: true }).waitFor();
      const { action } = await job(name);
      assert.equal(action.type, type);
      for (const [property, value] of Object.entries(stored)) assert.deepEqual(action[property], value);
      // Again in the form: all is there but the secrets, and a change keeps them.
      await page.getByRole('link', { name: 'Edit' }).click();
      for (const [label, text] of Object.entries(written)) {
        const isSecret = label === 'Key' || label === 'SAS token';
        assert.equal(await field(page, label).inputValue(), isSecret ? '' : text, label);
        if (isSecret) assert.equal(await field(page, label).getAttribute('placeholder'), 'the stored one stays');
      }
      const last = Object.keys(written).at(-1);
      const other = { Body: 'bye', URL: 'http://example.com/c', Message: 'weekly' }[last];
      await field(page, other ? last : 'At').fill(other ?? '04:15');
      await page.getByText(/must be|missing|needs/).first().waitFor({ state: 'detached' });
      assert.equal(await page.locator('.err').count(), 0);
      await saved(page, name);
      const changed = await job(name);
      assert.ok(JSON.stringify(changed).includes(other ?? '"minutes":[15]'), JSON.stringify(changed));
    });
  }

  /** What is wrong, in which field, of which type. */
  for (const [button, written, label, said] of [
    ['HTTPS', { URL: 'ftp://example.com/' }, 'URL', /uri/],
    ['Storage queue', { 'Storage account': 'x y', Queue: 'q' }, 'Storage account', /storageAccount/],
    ['Service Bus queue', { Queue: 'reports', Namespace: 'a b' }, 'Namespace', /namespace/],
    ['SQS', { 'URL of the queue': 'nowhere', Message: 'm' }, 'URL of the queue', /queueUrl/],
    ['SNS', { 'ARN of the topic': 'nowhere' }, 'ARN of the topic', /topicArn/],
    ['Lambda', { Function: 'a b' }, 'Function', /functionName/],
    ['EventBridge', { Source: 'aws.mine', 'Detail type': 't', 'Detail, as JSON': '{}' }, 'Source', /source/],
  ]) {
    using(`${button}: what the API refuses is said at its field`, place('new', 'jobs'), async (page) => {
      await page.getByRole('group', { name: 'Type of action' }).getByRole('button', { name: button, exact: true }).click();
      for (const [name, text] of Object.entries(written)) await field(page, name).fill(text);
      const wrong = field(page, label);
      await page.waitForFunction((id) => document.getElementById(id)?.getAttribute('aria-invalid') === 'true', await wrong.getAttribute('id'));
      const about = await wrong.getAttribute('aria-describedby');
      assert.match(await page.locator(`[id="${about}"]`).innerText(), said);
    });
  }

  using('a required property without a value is asked for at its own field', place('new', 'jobs'), async (page) => {
    await page.getByRole('group', { name: 'Type of action' }).getByRole('button', { name: 'Storage queue', exact: true }).click();
    await page.locator('.step .err').first().waitFor();
  });

  using('a header without a colon is not lost in silence', place('new', 'jobs'), async (page) => {
    await field(page, 'Headers, one a line').fill('X-A: 1\nodd');
    await page.getByText('“odd” has no colon; write “name: value”.').waitFor();
    await field(page, 'Headers, one a line').fill('X-A: 1\nodd: 2');
    await page.getByText('has no colon').waitFor({ state: 'detached' });
  });
});

describe('the steps', () => {
  using('each folds to what it says, and unfolds for what is refused', place('new', 'jobs'), async (page) => {
    const summary = (title) => page.locator('summary', { has: page.getByText(title, { exact: true }) });
    await page.getByText('4 retries, 30 s (in a Free collection 1 h) apart').waitFor();
    assert.equal(await page.getByRole('button', { name: 'do not try again' }).isVisible(), false);
    await page.getByTestId('sentence').getByText('02:30').waitFor();
    await press(page, summary('When'), 'Enter');
    await summary('When').getByText(/^Every day at 02:30/).waitFor();
    await press(page, summary('What'), 'Enter');
    await summary('What').getByText('POST example.com/').waitFor();
    assert.deepEqual(await defects(page), []);
    await page.getByRole('tab', { name: 'JSON' }).click();
    const json = page.getByLabel('The job as JSON');
    await json.fill(JSON.stringify({ ...JSON.parse(await json.inputValue()), minutehand: { jitter: { window: 'P2D' } } }));
    await page.locator('.err').first().waitFor();
    await page.getByRole('tab', { name: 'Form' }).click();
    await field(page, 'Spread the starts over').waitFor();
    assert.equal(await field(page, 'Spread the starts over').getAttribute('aria-invalid'), 'true');
  });
});

describe('a job without a name', () => {
  using('is not saved: its field is shown, and what to do is said', place('new', 'jobs'), async (page) => {
    const json = page.getByRole('tab', { name: 'JSON' });
    await json.click();
    await page.keyboard.press('Control+Enter');
    await page.getByText('Give the job a name first.').waitFor();
    await page.waitForFunction(() => document.activeElement?.matches('[data-name]'));
    await page.keyboard.type('named');
    await page.keyboard.press('Control+Enter');
    await heading(page, 'named');
    assert.equal((await job('named')).state, 'enabled');
  });
});

describe('policies', () => {
  using('each is made in the form, shown in words, and read again', place('new', 'jobs'), async (page) => {
    await field(page, 'URL').fill('https://example.com/');
    await unfold(page, 'If it fails', 'Policies');
    await page.getByRole('button', { name: 'grows' }).click();
    await field(page, 'by a factor of').fill('1.5');
    await field(page, 'but is at most').fill('1 h');
    await page.getByRole('button', { name: 'shortened by chance' }).click();
    await field(page, 'No retry later than').fill('6h');
    await page.getByRole('button', { name: 'is waited for' }).click();
    await field(page, 'for at most').fill('10 min');
    await page.getByRole('button', { name: 'run all' }).click();
    await field(page, 'At most').fill('20');
    await field(page, 'Not older than').fill('6 h');
    await field(page, 'Leave out what is later than').fill('5m');
    await field(page, 'Spread the starts over').fill('90 s');
    await page.getByRole('group', { name: 'What comes while an attempt runs' }).getByRole('button', { name: 'is left out' }).click();
    await field(page, 'Pause after so many failures in a row').fill('5');
    await page.getByLabel(/^Secrets that sign its requests/).fill(`whsec_${Buffer.alloc(24, 7).toString('base64')}`);
    assert.deepEqual(await defects(page), []);
    await page.getByLabel('Name in jobs').fill('policies');
    await saved(page, 'policies');
    for (const said of [
      'each 1.5 times the one before, 1 h at most', 'each wait is shortened by chance, none later than 6 h after it was due', 'waited for, 10 min at most',
      'all missed occurrences run, 20 at most, not older than 6 h', 'left out if it is later than 5 min', 'starts within 1 min 30 s after it is due', 'what comes while an attempt runs is left out', 'after 5 failures in a row', 'with a secret, as Standard Webhooks describes',
    ]) await page.getByText(said, { exact: true }).waitFor();
    const { minutehand } = await job('policies');
    assert.deepEqual([minutehand.pauseOnFailure, minutehand.overlap], [{ after: 5 }, { policy: 'skip' }]);
    assert.equal(minutehand.retry.factor, 1.5);
    await page.getByRole('link', { name: 'Edit' }).click();
    // Folded, a step is what it says.
    await page.getByText(/^After an outage: all missed occurrences run, 20 at most/).waitFor();
    await unfold(page, 'If it fails', 'Policies');
    assert.equal(await field(page, 'Spread the starts over').inputValue(), '1 min 30 s');
    assert.equal(await field(page, 'by a factor of').inputValue(), '1.5');
    // The default removes what has no effect with it.
    await page.getByRole('button', { name: 'stays the same' }).click();
    await page.getByRole('button', { name: 'run the last one' }).click();
    await page.getByRole('button', { name: 'is not heard' }).click();
    await saved(page, 'policies');
    const after = (await job('policies')).minutehand;
    assert.deepEqual([after.catchUp, after.retry.backoff, after.retry.factor, after.retry.retryAfter], [undefined, undefined, undefined, undefined]);
    assert.deepEqual(after.sign, { secrets: ['(withheld)'] });
  });

  for (const [buttons, label, wrong, said] of [
    [['grows'], 'by a factor of', '11', /factor/],
    [['grows'], 'but is at most', 'soon', /maxInterval/],
    [[], 'No retry later than', '900 days', /maxElapsed/],
    [['is waited for'], 'for at most', '3 days', /retryAfter/],
    [['run all'], 'At most', '0', /catchUp.max/],
    [['run all'], 'Not older than', '10 s', /catchUp.window/],
    [[], 'Leave out what is later than', 'late', /maxLateness/],
    [[], 'Spread the starts over', '2 days', /jitter/],
    [[], 'Pause after so many failures in a row', '101', /pauseOnFailure/],
  ]) {
    using(`${label}: ${wrong} is refused at the field, and the preview goes on`, place('new', 'jobs'), async (page) => {
      await unfold(page, 'If it fails', 'Policies');
      for (const button of buttons) await page.getByRole('button', { name: button }).click();
      const input = field(page, label);
      await input.fill(wrong);
      await page.waitForFunction((id) => document.getElementById(id)?.getAttribute('aria-invalid') === 'true', await input.getAttribute('id'));
      assert.match(await page.locator(`[id="${await input.getAttribute('aria-describedby')}"]`).innerText(), said);
      await input.fill('');
      await page.waitForFunction((id) => document.getElementById(id)?.getAttribute('aria-invalid') === 'false', await input.getAttribute('id'));
      await page.getByTestId('sentence').getByText('02:30').waitFor();
    });
  }

  using('what is refused and has no field is said all the same', place('new', 'jobs'), async (page) => {
    await page.getByRole('tab', { name: 'JSON' }).click();
    const json = page.getByLabel('The job as JSON');
    await json.fill(JSON.stringify({ ...JSON.parse(await json.inputValue()), minutehand: { odd: 1 } }));
    await page.getByRole('tab', { name: 'Form' }).click();
    await page.locator('.step .err').getByText(/odd/).waitFor();
  });
});

describe('a job that two people change', () => {
  using('nothing is lost: the change that came first is shown, and mine is saved over it when I say so', place('edit', 'jobs', 'shared'), async (page) => {
    await field(page, 'At').fill('05:15');
    await page.getByTestId('sentence').getByText('05:15').waitFor();
    await world.server.call('PATCH', world.server.jobPath('jobs', 'shared'), { properties: { action: { request: { body: 'theirs' } } } });
    await page.getByRole('button', { name: /^Save/ }).click();
    const alert = page.getByRole('alert', { name: 'Changed meanwhile' });
    const row = (path) => alert.getByRole('row').filter({ hasText: path });
    await row('action.request.body').getByRole('cell', { name: 'theirs' }).waitFor();
    await row('action.request.body').getByText('as it was').waitFor();
    await row('recurrence.schedule.hours').getByRole('cell', { name: '5', exact: true }).waitFor();
    await alert.getByText(/Theirs: Every day at 02:30 .* Yours: Every day at 05:15/).waitFor();
    assert.deepEqual((await job('shared')).recurrence.schedule.hours, [2]);
    assert.deepEqual(await defects(page), []);
    await alert.getByRole('button', { name: 'Save mine over it' }).click();
    await page.getByRole('button', { name: 'Run now' }).waitFor();
    const { action, recurrence } = await job('shared');
    assert.deepEqual([action.request.body, recurrence.schedule.hours], ['theirs', [5]]);
  });

  using('or theirs is where I begin again', place('edit', 'jobs', 'shared'), async (page) => {
    await field(page, 'Body').fill('mine');
    await world.server.call('PATCH', world.server.jobPath('jobs', 'shared'), { properties: { action: { request: { body: 'theirs again' } } } });
    await page.getByRole('button', { name: /^Save/ }).click();
    await page.getByRole('button', { name: 'Drop mine, and begin with theirs' }).click();
    await page.waitForFunction(() => [...document.querySelectorAll('textarea')].some((one) => one.value === 'theirs again'));
  });

  using('an edit of a job with a password says nothing about the password', place('edit', 'jobs', 'shared'), async (page) => {
    await field(page, 'At').fill('06:15');
    await page.getByTestId('sentence').getByText('06:15').waitFor();
    await page.getByText(/^The timing changes/).waitFor();
    assert.equal(await page.locator('.err').count(), 0);
  });
});

/** Puts a text into the clipboard, and pastes it into a field in place of what is there. */
async function paste(page, wanted, text) {
  await page.evaluate((written) => navigator.clipboard.writeText(written), text);
  await tabTo(page, wanted);
  for (const key of ['Control+a', 'Control+v']) await page.keyboard.press(key);
}

describe('a new job', () => {
  using('starts at its next occurrence, as on the command line', place('new', 'jobs'), async (page) => {
    await page.getByTestId('sentence').getByText('02:30').waitFor();
    assert.equal(await page.locator('.warn').count(), 0);
    await page.getByRole('tab', { name: 'As curl, CLI, ARM' }).click();
    await page.getByText('"startTime": "2027-03-14T04:').first().waitFor();
    await page.getByRole('tab', { name: 'Form' }).click();
    await write(page, page.getByLabel('Name in jobs'), 'begins');
    await page.keyboard.press('Control+Enter');
    await heading(page, 'begins');
    const { startTime, status } = await job('begins');
    assert.match(startTime, /^2027-03-14T04:\d\d:00Z$/);
    assert.equal(status.nextExecutionTime, '2027-03-15T01:30:00Z');
  });

  using('fires at once if its start is now', place('new', 'jobs'), async (page) => {
    await write(page, field(page, 'Starts'), 'now');
    await page.getByText('Once when it is saved, and then as the rule says.').waitFor();
    await page.locator('.warn').getByText(/at once/).waitFor();
    assert.deepEqual(await defects(page), []);
    await write(page, page.getByLabel('Name in jobs'), 'at-once');
    await page.keyboard.press('Control+Enter');
    await heading(page, 'at-once');
    assert.equal((await job('at-once')).startTime, undefined);
  });

  using('starts and ends at dates as people write them', place('new', 'jobs'), async (page) => {
    const hint = (label, said) => page.locator('.f', { has: field(page, label) }).getByText(said).waitFor();
    for (const [written, said] of [
      ['2027-03-16 9:00', 'Tue 16 Mar 2027 09:00 +01:00 in Europe/Berlin'], ['14 Apr 2027 9:00', 'Wed 14 Apr 2027 09:00 +02:00 in Europe/Berlin'],
      ['31 Oct 2027 2:30', 'Sun 31 Oct 2027 02:30 +02:00 in Europe/Berlin, the first of two'], ['tomorrow 9:00', 'Mon 15 Mar 2027 09:00 +01:00 in Europe/Berlin'],
    ]) {
      await write(page, field(page, 'Starts'), written);
      await hint('Starts', said);
      assert.equal(await field(page, 'Starts').inputValue(), written);
    }
    await write(page, field(page, 'Ends'), 'in a while');
    await page.waitForFunction((id) => document.getElementById(id)?.getAttribute('aria-invalid') === 'true', await field(page, 'Ends').getAttribute('id'));
    await write(page, field(page, 'Ends'), '24 Dec');
    await hint('Ends', 'Fri 24 Dec 2027 00:00 +01:00 in Europe/Berlin');
    await write(page, field(page, 'At'), '9am');
    await page.getByTestId('sentence').getByText('09:00').waitFor();
    assert.deepEqual(await defects(page), []);
    await write(page, page.getByLabel('Name in jobs'), 'dated');
    await page.keyboard.press('Control+Enter');
    await heading(page, 'dated');
    const { startTime, recurrence } = await job('dated');
    assert.deepEqual([startTime, recurrence.endTime, recurrence.schedule.hours], ['2027-03-15T08:00:00Z', '2027-12-23T23:00:00Z', [9]]);
  });

  using('has the type of its URL', place('new', 'jobs'), async (page) => {
    const type = (name) => page.getByRole('group', { name: 'Type of action' }).getByRole('button', { name, exact: true, pressed: true }).waitFor();
    await write(page, field(page, 'URL'), 'http://example.com/');
    await type('HTTP');
    await write(page, field(page, 'URL'), 'https://example.com/');
    await type('HTTPS');
    // The address of a queue that is typed is offered, since the field would go away.
    await write(page, field(page, 'URL'), 'https://contoso.queue.core.windows.net/reports');
    await page.getByText('This means queue reports of contoso.').waitFor();
    assert.deepEqual(await defects(page), []);
    await press(page, page.getByRole('button', { name: 'Take it over' }), 'Enter');
    await type('Storage queue');
    await page.waitForFunction(() => document.activeElement?.textContent === 'Storage queue');
    assert.equal(await field(page, 'Storage account').inputValue(), 'contoso');
  });

  const permissions = ['clipboard-read', 'clipboard-write'];
  using('takes what is pasted: addresses of queues, and calls of curl', place('new', 'jobs'), async (page) => {
    const turn = (name) => press(page, page.getByRole('group', { name: 'Type of action' }).getByRole('button', { name, exact: true }), 'Enter');
    for (const [text, label, value] of [
      ['https://sqs.eu-west-1.amazonaws.com/123456789012/reports', 'URL of the queue', 'https://sqs.eu-west-1.amazonaws.com/123456789012/reports'],
      ['https://contoso.servicebus.windows.net/reports', 'Namespace', 'contoso'],
      ['https://contoso.queue.core.windows.net/reports?sv=1&sig=x', 'SAS token', 'sv=1&sig=x'],
    ]) {
      await paste(page, field(page, 'URL'), text);
      await field(page, label).waitFor();
      assert.equal(await field(page, label).inputValue(), value);
      await turn('HTTPS');
    }
    await paste(page, field(page, 'URL'), `curl -X PUT 'https://example.com/a?b=1' \\\n  -H 'X-A: 1' \\\n  -u web:hidden --data-raw '{"a":1}'`);
    await page.getByText('Read as PUT example.com/a?b=1.').waitFor();
    const form = { Method: 'PUT', URL: 'https://example.com/a?b=1', 'Headers, one a line': 'X-A: 1\nContent-Type: application/x-www-form-urlencoded', Body: '{"a":1}', User: 'web', Password: 'hidden' };
    for (const [label, value] of Object.entries(form)) assert.equal(await field(page, label).inputValue(), value, label);
    await paste(page, field(page, 'URL'), 'curl -k https://example.com/');
    await page.getByText('The option -k is not understood: leave it out, and set it in the form.').waitFor();
    assert.deepEqual(await defects(page), []);
  }, { permissions });

  using('has a name that is checked as it is written, and replaces no other job', place('new', 'jobs'), async (page) => {
    const before = JSON.stringify(await job('shared'));
    const name = page.getByLabel('Name in jobs');
    await write(page, name, 'my first job');
    await page.getByText('A name has 1 to 100 letters, digits', { exact: false }).waitFor();
    await page.getByTestId('sentence').getByText('02:30').waitFor();
    assert.deepEqual(await defects(page), []);
    await page.keyboard.press('Control+Enter');
    await page.getByText('Correct the name first.').waitFor();
    await press(page, page.getByRole('button', { name: 'Use my-first-job' }), 'Enter');
    assert.equal(await name.inputValue(), 'my-first-job');
    await write(page, name, 'shared');
    const taken = 'jobs has a job shared already: take another name, or edit that one.';
    await page.locator('.err').getByText(taken).waitFor();
    assert.equal(await name.getAttribute('aria-invalid'), 'true');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('alert').getByText(taken).waitFor();
    assert.equal(JSON.stringify(await job('shared')), before);
  });
});
