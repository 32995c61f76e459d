// The console in a browser, against a real server: pages, flows, states, security.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ODD, defects, heading, instead, open, place, setUp, startServer, unfold } from './world.mjs';

const { world, using } = setUp();

describe('serving', () => {
  test('a browser is sent to the console, and other clients are not', async () => {
    const ask = (accept) => fetch(`${world.server.url}/`, { headers: { Accept: accept }, redirect: 'manual' });
    const html = await ask('text/html');
    assert.deepEqual([html.status, html.headers.get('location')], [302, '/console/']);
    assert.equal((await ask('application/json')).status, 401);
  });

  test('every file has the policy, and no file needs a token', async () => {
    const page = await fetch(`${world.server.url}/console/`);
    assert.match(page.headers.get('content-security-policy'), /default-src 'none'.*trusted-types 'none'/);
    assert.equal(page.headers.get('cache-control'), 'no-cache');
    for (const [, file] of (await page.text()).matchAll(/"(\/console\/[^"]+)"/g)) {
      const found = await fetch(`${world.server.url}${file}`);
      assert.equal(found.status, 200, file);
      assert.match(found.headers.get('cache-control'), /immutable/, file);
      assert.equal(found.headers.get('x-content-type-options'), 'nosniff', file);
    }
  });
});

describe('signing in', () => {
  using('a token is asked for, refused, and taken', '', async (page) => {
    await page.getByRole('dialog', { name: 'Sign in to Minutehand' }).waitFor();
    await page.getByLabel('Token').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('This server does not know that token.').waitFor();
    await page.getByLabel('Token').fill(world.server.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'billing', exact: true }).waitFor();
    assert.match(page.url(), /#\/in\/me\/dev\/overview$/);
    assert.deepEqual(await page.evaluate(() => [sessionStorage.length > 0, localStorage.getItem('minutehand.token')]), [true, null]);
  }, { signedIn: false });

  test('a token in the fragment is taken, and leaves the address', async () => {
    const tab = await open(world.server, `#token=${world.server.token}`, { signedIn: false });
    await tab.page.getByRole('link', { name: 'billing', exact: true }).waitFor();
    assert.doesNotMatch(tab.page.url(), /token/);
    tab.faults.length = 0; // the address that the test itself opened
    await tab.close();
  });

  test('a fragment that is not an encoded token is a wrong token, and breaks nothing', async () => {
    const tab = await open(world.server, '#token=%', { signedIn: false });
    await tab.page.getByRole('dialog', { name: 'Sign in to Minutehand' }).waitFor();
    assert.doesNotMatch(tab.page.url(), /token/);
    tab.faults.length = 0; // the address that the test itself opened
    await tab.close();
  });

  test('a server that asks for no token says so, and shows no sign-in', async () => {
    const open_ = await startServer({ token: null });
    const tab = await open(open_, '#/settings');
    await tab.page.getByText('nobody: this server asks for no token').waitFor();
    await tab.page.getByText('Nobody is asked for a token here.').waitFor();
    assert.equal(await tab.page.getByRole('dialog').count(), 0);
    await tab.close();
    await open_.stop();
  });

  using('signing out leaves no token behind', '#/settings', async (page) => {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('dialog', { name: 'Sign in to Minutehand' }).waitFor();
    const kept = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.documentElement.outerHTML]));
    assert.ok(!kept.includes(world.server.token));
  });

  using('what was typed stays when the token ends', place('new', 'empty'), async (page) => {
    await page.getByLabel('Name in empty').fill('typed');
    await instead(page, '/preview', (route) => route.fulfill({ status: 401, json: { error: { code: 'InvalidAuthenticationToken', message: 'The token is not valid.' } } }));
    await page.getByLabel('URL').fill('https://example.com/2');
    await page.getByRole('dialog', { name: 'Sign in to Minutehand' }).waitFor();
    await page.unrouteAll();
    await page.getByLabel('Token').fill(world.server.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Name in empty').inputValue(), 'typed');
  });
});

describe('pages', () => {
  using('collections: how many, which are off', place('collections'), async (page) => {
    await page.getByText('3 of 3, 1 off').waitFor();
    await page.getByPlaceholder('Name contains…').fill('zzz');
    await page.getByText("No collection's name contains “zzz”.").waitFor();
  });

  using('collections: a group that nobody has named is empty', '#/in/me/nobody/collections', (page) => page.getByText('No collections in me / nobody yet.').waitFor());

  using('collections: grey lines while the answer is held back', place('collections'), async (page) => {
    let release;
    await instead(page, '/jobCollections', async (route) => {
      await new Promise((resolve) => { release = resolve; });
      await route.continue();
    });
    await page.reload();
    await page.getByRole('status', { name: 'Loading' }).waitFor();
    release();
    await page.getByRole('link', { name: 'billing' }).waitFor();
  });

  using('collections: the API says what is wrong, and the page tries again', place('collections'), async (page) => {
    await instead(page, '/jobCollections', (route) => route.fulfill({ status: 503, headers: { 'retry-after': '1', 'x-ms-request-id': 'r-1' }, json: { error: { code: 'ServiceUnavailable', message: 'The store is busy.' } } }));
    await page.reload();
    await page.getByText('The store is busy.').waitFor();
    await page.getByText('r-1').waitFor();
    await page.unrouteAll();
    await page.getByRole('link', { name: 'billing' }).waitFor();
  });

  using('collections: an answer that is not JSON is an error in words', place('collections'), async (page) => {
    await instead(page, '/jobCollections', (route) => route.fulfill({ status: 200, body: '<html>' }));
    await page.reload();
    await page.getByText('The answer is not JSON.').waitFor();
  });

  using('collections: what was read stays when the server is gone', place('collections'), async (page) => {
    await page.getByRole('link', { name: 'billing' }).waitFor();
    await instead(page, '/', (route) => (route.request().url().includes('/console/') ? route.continue() : route.abort()));
    await page.getByText(/^As of .* cannot be reached/).waitFor({ timeout: 20_000 });
    await page.getByRole('link', { name: 'billing' }).waitFor();
  });

  using('jobs: those in view are in the page, and no others', place('jobs', 'billing'), async (page) => {
    await page.getByText('42 jobs').waitFor();
    const rows = await page.getByRole('row').count();
    assert.ok(rows >= 13 && rows < 30, `${rows} rows`);
    await page.getByRole('grid').focus();
    await page.keyboard.press('End');
    await page.getByRole('link', { name: 'tenant-39' }).waitFor();
  });

  using('jobs: a name is found by its beginning, and inside', place('jobs', 'billing'), async (page) => {
    const name = page.getByPlaceholder('Name begins with… or *contains*');
    await name.fill('tenant-3');
    await page.getByText('of 10').waitFor();
    await name.fill('*voice');
    await page.getByRole('link', { name: 'invoice-export' }).waitFor();
    await name.fill('zzz');
    await page.getByText('No job fits “zzz”.').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByText('of 42').waitFor();
  });

  using('jobs: none yet', place('jobs', 'empty'), (page) => page.getByText('No jobs in empty yet.').waitFor());
  using('jobs: a collection that is off says so', place('jobs', 'off'), (page) => page.getByText('This collection is off').waitFor());
  using('jobs: a collection that is not there', place('jobs', 'nowhere'), (page) => page.getByRole('alert').first().waitFor());

  using('job: sentence, next ten, the clock change, history', place('job', 'billing', 'invoice-export'), async (page) => {
    await page.getByText('Every day at 02:30 America/New_York time.').waitFor();
    await page.getByText(/clock skips 02:30/).first().waitFor();
    await page.getByRole('button', { name: /^What happened at/ }).first().click();
    await page.getByText(/first attempt/).waitFor();
  });

  using('job: an occurrence that was due a moment ago is now', place('job', 'billing', 'odd'), async (page) => {
    const read = async (path) => (await fetch(`${world.server.url}/minutehand/v1${path}`, { headers: { Authorization: `Bearer ${world.server.token}` } })).json();
    const path = '/subscriptions/me/resourceGroups/dev/jobCollections/billing/jobs/odd';
    const [me, job] = await Promise.all([read('/me'), read(path)]);
    const json = { ...job, next: new Date(Date.parse(me.now) - 5_000).toISOString() };
    await page.route((url) => url.pathname.endsWith(path), (route) => route.fulfill({ json }));
    await page.reload();
    await page.locator('.nextup').getByText('now', { exact: true }).waitFor();
  });

  using('job: one that is not there', place('job', 'billing', 'nothing'), (page) => page.getByRole('alert').first().waitFor());

  using('job: why it did not fire', place('why', 'billing', 'invoice-export'), async (page) => {
    await page.getByLabel('The instant at which it was due').fill('2027-03-15T12:00:00Z');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByRole('heading', { level: 3 }).waitFor();
    await page.getByLabel('The instant at which it was due').fill('yesterday-ish');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByRole('alert').waitFor();
  });

  using('journal: the changes of a collection', place('journal', 'billing'), async (page) => {
    await page.getByRole('cell', { name: /invoice-export/ }).first().waitFor();
  });

  using('collections: none takes nine requests, with the count of what needs someone, and others are looked for on demand', '#/in/me/elsewhere/collections', async (page) => {
    await page.getByText('No collections in me / elsewhere yet.').waitFor();
    await page.locator('.top .live').filter({ hasText: /^live$/ }).waitFor();
    const requests = await page.evaluate(() => performance.getEntriesByType('resource').map((one) => one.name));
    assert.ok(requests.length + 1 <= 9, requests.join('\n'));
    await page.getByRole('button', { name: 'Look in other groups' }).click();
    await page.getByText('There are collections in other groups:').waitFor();
    assert.deepEqual(await defects(page), []);
    await page.getByRole('link', { name: 'me / dev', exact: true }).click();
    await page.getByRole('link', { name: 'billing', exact: true }).waitFor();
  });

  using('the pages are listed with how much each has', place('journal'), async (page) => {
    for (const parts of [['journal'], ['collections'], ['job', 'billing', 'odd']]) {
      await page.goto(`${world.server.url}/console/${place(...parts)}`);
      await page.reload();
      await page.getByRole('link', { name: 'Collections 3', exact: true }).waitFor();
    }
  });

  using('calendar: what may start in a second is a line', `${place('calendar')}?day=2027-03-22&collection=billing`, async (page) => {
    const counts = Array.from({ length: 60 }, (_, minute) => (minute === 30 ? 90 : 1));
    await instead(page, '/jobCollections', async (route) => {
      const answer = await (await route.fetch()).json();
      for (const one of answer.value ?? []) one.properties.minutehand = { maxPerSecond: 1 };
      return route.fulfill({ json: answer });
    });
    await instead(page, '/load', async (route) => {
      const answer = await (await route.fetch()).json();
      const isHour = new URL(route.request().url()).searchParams.get('step') === 'PT1M';
      return route.fulfill({ json: { ...answer, ...(isHour && { counts }) } });
    });
    await page.reload();
    await page.locator('[data-cell="0-7"]').click();
    await page.getByText('The collection lets 1 a second start, 60 a minute (the line): more than that start late.').waitFor();
    assert.equal(await page.locator('.bars line').count(), 1);
    assert.deepEqual(await defects(page), []);
  });

  using('overview: how it is going, what comes, and where', place('overview'), async (page) => {
    await page.getByText('jobs in 3 collections, 1 of them off.').waitFor();
    await page.getByRole('img', { name: /^Occurrences a minute/ }).waitFor();
    await page.getByRole('region', { name: 'Up next' }).getByRole('link').first().click();
    await page.getByRole('heading', { level: 2, name: 'Next ten' }).waitFor();
  });

  using('calendar: a week by the keyboard, an hour, and its jobs', `${place('calendar')}?day=2027-03-28`, async (page) => {
    await page.getByRole('grid').waitFor();
    // Berlin's clock goes forward on that Sunday.
    await page.getByText('skipped by the clock').waitFor({ state: 'attached' });
    await page.locator('[data-cell="0-0"]').focus();
    for (let hour = 0; hour < 7; hour += 1) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 2, name: /^Mon 22 Mar, 07:00/ }).waitFor();
    await page.getByText('every day at 02:30 America/New_York time').first().waitFor();
    await page.keyboard.press(']');
    await page.getByText('Mon 29 Mar – Sun 4 Apr 2027').waitFor();
  });

  using('a page that is not there', '#/nothing', (page) => heading(page, 'There is no such page'));
});

describe('flows', () => {
  using('a job is made in the form, fires, and is in the history', place('new', 'empty'), async (page) => {
    await page.getByLabel('URL').fill(`${world.target.url}/200/made`);
    await page.getByRole('button', { name: 'HTTP', exact: true }).click();
    await page.getByLabel('At', { exact: true }).fill('03:45');
    await page.getByTestId('sentence').getByText('03:45').waitFor();
    await page.getByLabel('Name in empty').fill('made');
    await page.getByRole('button', { name: 'Save', exact: false }).last().click();
    await heading(page, 'made');
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('button', { name: /^What happened at/ }).first().waitFor({ timeout: 20_000 });
    assert.ok(world.target.seen.includes('/200/made'));
  });

  using('what the API refuses is said at its field', place('new', 'empty'), async (page) => {
    await page.getByLabel('Every').fill('0');
    await page.locator('.err').first().waitFor();
    assert.equal(await page.getByLabel('Every').getAttribute('aria-invalid'), 'true');
    await page.getByLabel('Every').fill('2');
    await page.locator('.err').first().waitFor({ state: 'detached' });
  });

  using('the form and the JSON are one document', place('new', 'empty'), async (page) => {
    await page.getByRole('tab', { name: 'JSON' }).click();
    const json = page.getByLabel('The job as JSON');
    const document = JSON.parse(await json.inputValue());
    document.recurrence.schedule.hours = [7];
    await json.fill(JSON.stringify(document));
    await page.getByTestId('sentence').getByText('07:30').waitFor();
    await page.getByRole('tab', { name: 'Form' }).click();
    assert.equal(await page.getByLabel('At', { exact: true }).inputValue(), '07:30');
  });

  using('an edit sends what changed, and keeps the rest', place('edit', 'billing', 'odd'), async (page) => {
    await page.getByLabel('At', { exact: true }).fill('05:15');
    await page.getByTestId('sentence').getByText('05:15').waitFor();
    await page.getByRole('button', { name: /^Save/ }).click();
    await page.getByRole('button', { name: 'Run now' }).waitFor();
    await page.getByText('Every day at 05:15').waitFor();
    const { properties } = await world.server.job('billing', 'odd');
    assert.equal(properties.action.request.body, ODD);
  });

  using('a line of cron becomes the recurrence', place('new', 'empty'), async (page) => {
    await page.getByRole('tab', { name: 'From a cron line' }).click();
    await page.getByLabel('Minute, hour, day, month, day of the week').fill('*/20 8-17 * * 1-5');
    await page.getByRole('button', { name: 'Read it' }).click();
    await page.getByRole('button', { name: 'Take it' }).click();
    await page.getByTestId('sentence').getByText('Monday').waitFor();
    await page.getByRole('tab', { name: 'From a cron line' }).click();
    await page.getByLabel('Minute, hour, day, month, day of the week').fill('61 * * * *');
    await page.getByRole('button', { name: 'Read it' }).click();
    await page.locator('.err').or(page.getByRole('alert')).first().waitFor();
  });

  using('a job is duplicated without its secrets, with an action after its failure', place('new', 'billing'), async (page) => {
    await page.getByLabel('URL').fill('https://example.com/secret');
    await page.getByLabel('Authentication').selectOption('Basic');
    await page.getByLabel('User', { exact: true }).fill('web');
    await page.getByLabel('Password', { exact: true }).fill('hidden');
    await unfold(page, 'If it fails');
    await page.getByRole('button', { name: 'perform another action' }).click();
    await page.getByLabel('URL').last().fill('https://example.com/failed');
    await page.getByLabel('Name in billing').fill('twin');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await heading(page, 'twin');
    await page.getByText('POST example.com').last().waitFor();
    await page.getByRole('link', { name: 'Duplicate' }).click();
    await page.getByText('Passwords and tokens of twin are not copied: enter them again.').waitFor();
    assert.equal(await page.getByLabel('User', { exact: true }).inputValue(), 'web');
    assert.equal(await page.getByLabel('Password', { exact: true }).inputValue(), '');
    await world.server.call('DELETE', world.server.jobPath('billing', 'twin'));
  });

  using('a job that fails pauses, is run again for what failed, and is resumed', place('new', 'billing'), async (page) => {
    const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
    await page.getByLabel('URL').fill(`${world.target.url}/500/pauses`);
    await page.getByRole('button', { name: 'HTTP', exact: true }).click();
    await page.getByRole('button', { name: 'Minutes' }).click();
    await page.getByLabel('Starts', { exact: true }).fill('now');
    await unfold(page, 'If it fails', 'Policies');
    await page.getByRole('button', { name: 'do not try again' }).click();
    await page.getByLabel('Pause after so many failures in a row').fill('0');
    await page.getByText(/'minutehand.pauseOnFailure.after' is 0/).first().waitFor();
    await page.getByLabel('Pause after so many failures in a row').fill('1');
    await page.getByLabel(/^Secrets that sign its requests/).fill(secret);
    await page.getByLabel('Name in billing').fill('pauses');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await heading(page, 'pauses');
    // The first occurrence fires at once, and fails.
    await page.getByText(/The occurrence at .* failed for good. Resume it./).waitFor({ timeout: 20_000 });
    await page.getByRole('button', { name: /^What happened at/ }).first().click();
    await page.getByRole('button', { name: 'Run again for this occurrence' }).click();
    await page.getByRole('cell', { name: /; again for / }).waitFor({ timeout: 20_000 });
    const { properties } = await world.server.job('billing', 'pauses');
    assert.deepEqual(properties.minutehand.sign, { secrets: ['(withheld)'] });
    world.target.answers.set('/500/pauses', 200);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('switch', { checked: true }).waitFor();
    assert.equal((await world.server.job('billing', 'pauses')).properties.minutehand.paused, undefined);
    await world.server.call('DELETE', world.server.jobPath('billing', 'pauses'));
  });

  using('older attempts are read on demand', place('job', 'billing', 'odd'), async (page) => {
    await instead(page, '/occurrences', async (route) => {
      const answer = await (await route.fetch()).json();
      if (!route.request().url().includes('position')) return route.fulfill({ json: { ...answer, position: 'abc' } });
      const attempt = { action: 'action', retry: 0, dueAt: '2027-03-01T07:30:00Z', startedAt: '2027-03-01T07:30:00Z', endedAt: '2027-03-01T07:30:01Z', outcome: 'succeeded', cause: null, said: null, message: '' };
      return route.fulfill({ json: { items: [{ at: '2027-03-01T07:30:00Z', kind: 'scheduled', redriveOf: null, outcome: 'succeeded', attempts: [attempt] }], position: null, lookedAt: 1 } });
    });
    await page.reload();
    await page.getByRole('button', { name: 'Older' }).click();
    await page.getByRole('button', { name: /^What happened at Mon 1 Mar/ }).waitFor();
    await page.getByRole('button', { name: 'Older' }).waitFor({ state: 'detached' });
  });

  using('a switch is turned, and a job deleted by typing its name', place('job', 'billing', 'tenant-00'), async (page) => {
    await page.getByRole('switch').click();
    await page.getByText(/The job is disabled since/).waitFor();
    await page.getByRole('button', { name: 'Delete…' }).click();
    const remove = page.getByRole('dialog').getByRole('button', { name: 'Delete' });
    assert.ok(await remove.isDisabled());
    await page.getByRole('textbox', { name: /Type tenant-00/ }).fill('tenant-00');
    await remove.click();
    await heading(page, 'billing');
  });

  using('what fails of many stays chosen, with its reason', place('jobs', 'billing'), async (page) => {
    await page.getByPlaceholder('Name begins with… or *contains*').fill('tenant-2');
    await page.getByText('of 10').waitFor();
    await instead(page, '/jobs/tenant-21', (route) => route.fulfill({ status: 503, json: { error: { code: 'ServiceUnavailable', message: 'Busy.' } } }));
    await page.getByRole('grid').focus();
    await page.keyboard.press('x');
    await page.keyboard.press('End');
    await page.keyboard.press('Shift+X');
    await page.getByText('10 chosen').waitFor();
    await page.getByRole('region', { name: 'Chosen jobs' }).getByRole('button', { name: 'Switch off…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Switch off' }).click();
    await page.getByText('1 failed and stay chosen. Busy.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('1 chosen').waitFor();
  });

  using('a crontab becomes jobs', place('import'), async (page) => {
    await page.getByLabel('A command becomes').fill(`${world.target.url}/200?cmd={command}`);
    await page.getByLabel('Text: paste it, or drop a file').fill('15 4 * * * /usr/bin/first\n@daily /usr/bin/second\n');
    await page.getByRole('button', { name: 'Read it' }).click();
    await page.getByRole('heading', { name: '2 jobs of 2 schedules' }).waitFor();
    await page.getByLabel('Into').selectOption('empty');
    await page.getByRole('button', { name: 'Import 2 of 2' }).click();
    await page.getByText('2 imported').waitFor();
  });

  using('single letters are off in fields, and where they are not wanted', '#/settings', async (page) => {
    await page.getByRole('group', { name: 'Keys of one letter' }).getByRole('button', { name: 'off' }).click();
    await page.keyboard.press('?');
    assert.equal(await page.getByRole('dialog').count(), 0);
  });
});

describe('security', () => {
  using('names and bodies are shown as text', place('job', 'billing', 'odd'), async (page) => {
    await page.getByText(ODD).waitFor();
    assert.equal(await page.locator('img').count(), 0);
  });
});

