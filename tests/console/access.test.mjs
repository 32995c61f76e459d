// The console for everybody: every page in every state without a finding of axe, and every flow by the
// keyboard alone.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { defects, heading, instead, place, press, setUp, settled, tabTo, write } from './world.mjs';

const { world, using } = setUp();

const clean = async (page) => assert.deepEqual(await defects(page), []);

/** Pages, and the path of the API that each of them cannot do without. */
const PAGES = {
  overview: [place('overview'), '/overview'],
  calendar: [place('calendar'), '/load'],
  wall: [place('wall'), '/wall'],
  then: [`${place('then', 'billing')}?from=2027-03-14T04:00:00Z&to=2027-03-14T05:00:00Z`, '/upcoming'],
  collections: [place('collections'), '/jobCollections'],
  jobs: [place('jobs', 'billing'), '/rows'],
  job: [place('job', 'billing', 'invoice-export'), '/jobs/invoice-export'],
  edit: [place('edit', 'billing', 'odd'), '/jobs/odd'],
  journal: [place('journal', 'billing'), '/journal'],
  journals: [place('journal'), '/jobCollections'],
  'dead letters': [place('dead'), '/deadletters'],
  settings: ['#/settings', '/me'],
};

const LETTERS = {
  about: 12,
  items: [
    { id: 'a', firstSentAt: '2027-03-13T02:30:00Z', deliveries: 20, errorType: 'ActionStuck', resourceGroup: 'dev', collection: 'billing', job: 'odd', occurrence: '2027-03-13T02:30:00Z', attempt: 0 },
    { id: 'b', firstSentAt: null, deliveries: 20, errorType: null, resourceGroup: null, collection: null, job: null, occurrence: null, attempt: null },
  ],
};
const FAILURES = {
  items: Array.from({ length: 30 }, (_, n) => ({ at: `2027-03-13T02:${String(n).padStart(2, '0')}:00Z`, resourceGroup: 'dev', collection: 'billing', job: `tenant-${n}`, message: "Http Action - Response from host 'h': 'ServiceUnavailable' Response Headers:  Body: " })),
  position: null,
};

describe('axe finds nothing, in light and in dark, and 320 px need no second scroll bar', () => {
  const pages = {
    ...Object.fromEntries(Object.entries(PAGES).map(([name, [path]]) => [name, path])),
    'a day': `${place('calendar')}?view=day`,
    'a month': `${place('calendar')}?view=month&collection=billing`,
    'overview of nothing': '#/in/nobody/nothing/overview',
    'no collections': '#/in/me/nobody/collections',
    'no jobs': place('jobs', 'empty'),
    'jobs of a collection that is off': place('jobs', 'off'),
    'no job fits': `${place('jobs', 'billing')}?name=zzz`,
    'no such job': place('job', 'billing', 'nothing'),
    new: place('new', 'empty'),
    why: place('why', 'billing', 'invoice-export'),
    'why of no job': place('why'),
    import: place('import'),
    'no such page': '#/nothing',
  };
  for (const [name, path] of Object.entries(pages)) {
    using(name, path, async (page) => {
      await settled(page);
      await clean(page);
      await page.setViewportSize({ width: 320, height: 700 });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `${over} px too wide`);
    });
  }

  for (const [name, [path, api]] of Object.entries(PAGES)) {
    using(`${name}: while it is read, and when that fails`, path, async (page) => {
      let answer;
      const held = new Promise((resolve) => { answer = resolve; });
      await instead(page, api, async (route) => {
        await held;
        await route.fulfill({ status: 503, headers: { 'retry-after': '600', 'x-ms-request-id': 'r-1' }, json: { error: { code: 'ServiceUnavailable', message: 'The store is busy.' } } }).catch(() => {});
      });
      await page.reload();
      await page.getByRole('status', { name: 'Loading' }).first().waitFor();
      await clean(page);
      answer();
      await page.getByText('The store is busy.').first().waitFor();
      await page.getByText('r-1').first().waitFor();
      await clean(page);
    });
  }

  using('sign-in', '', async (page) => {
    await page.getByRole('dialog').waitFor();
    await clean(page);
  }, { signedIn: false });

  using('the keys', place('collections'), async (page) => {
    await page.getByRole('link', { name: 'billing' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await clean(page);
  });

  using('an unfolded attempt, and an answer to why', place('job', 'billing', 'invoice-export'), async (page) => {
    await page.getByRole('button', { name: /^What happened at/ }).first().click();
    await page.getByLabel('The instant at which it was due').fill('2027-03-15T12:00:00Z');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByRole('heading', { level: 3 }).waitFor();
    await clean(page);
  });

  using('chosen jobs, and a question about them', place('jobs', 'billing'), async (page) => {
    await page.getByRole('grid').focus();
    await page.keyboard.press('x');
    await page.getByText('1 chosen').waitFor();
    await clean(page);
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').waitFor();
    await clean(page);
  });

  using('what is refused in the form, in the JSON, and in a cron line', place('new', 'empty'), async (page) => {
    await page.getByLabel('Every').fill('0');
    await page.locator('.err').first().waitFor();
    await clean(page);
    await page.getByRole('tab', { name: 'JSON' }).click();
    await page.getByLabel('The job as JSON').fill('{');
    await page.locator('.err').first().waitFor();
    await clean(page);
    await page.getByRole('tab', { name: 'From a cron line' }).click();
    await clean(page);
    await page.getByRole('tab', { name: 'As curl, CLI, ARM' }).click();
    await clean(page);
  });

  using('what needs someone, and letters', place('overview'), async (page) => {
    await instead(page, '/failures', (route) => route.fulfill({ json: FAILURES }));
    await instead(page, '/rows', (route) => route.fulfill({ json: { columns: ['name', 'state', 'recent'], items: FAILURES.items.map(({ job }) => [job, 'enabled', 'of']), position: null } }));
    await instead(page, '/deadletters', (route) => route.fulfill({ json: LETTERS }));
    await page.reload();
    await heading(page, '30 jobs need you. Everything else is on time.');
    await page.getByText('And 10 more jobs that fail.').waitFor();
    await clean(page);
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await heading(page, '12 dead letters.');
    await page.getByText('A look at 2 of about 12.').waitFor();
    await clean(page);
    await press(page, page.getByRole('button', { name: 'Message' }).first(), 'Enter');
    await page.getByText('"errorType": "ActionStuck"').waitFor();
    await clean(page);
  });

  using('an hour of the calendar, and what a spread would change', `${place('calendar')}?day=2027-03-15`, async (page) => {
    await page.locator('[data-cell="0-7"]').click();
    await page.getByRole('button', { name: 'See what would change…' }).click();
    await page.getByRole('group', { name: 'What would change' }).waitFor();
    await clean(page);
  });
});

/** The keys of the two letters that go to a page. */
async function goTo(page, letter) {
  await page.keyboard.press('g');
  await page.keyboard.press(letter);
}

describe('the keyboard alone', () => {
  using('signs in', '', async (page) => {
    await write(page, page.getByLabel('Token'), world.server.token);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'billing', exact: true }).waitFor();
  }, { signedIn: false });

  using('goes from page to page, and finds its way by /', place('collections'), async (page) => {
    await page.getByRole('link', { name: 'billing' }).waitFor();
    for (const [letter, name] of [['l', /./], ['w', 'Why did it not fire?'], ['d', /letters/], ['i', /Import/], ['s', 'Settings'], ['o', /./], ['c', 'Collections']]) {
      await goTo(page, letter);
      await heading(page, name);
    }
    await page.getByRole('link', { name: 'billing' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('grid').waitFor();
    await goTo(page, 'c');
    await goTo(page, 'j');
    await heading(page, 'billing');
    await page.keyboard.press('/');
    await page.keyboard.type('billing/odd');
    await page.keyboard.press('Enter');
    await heading(page, 'odd');
    await page.keyboard.press('Escape');
    await page.getByRole('grid').waitFor();
  });

  using('makes a collection and a job: refused at its field, mended, saved, run, deleted', place('collections'), async (page) => {
    await page.getByRole('link', { name: 'billing' }).waitFor();
    await page.keyboard.press('n');
    await write(page, page.getByLabel('Name', { exact: true }), 'keys');
    await page.keyboard.press('Enter');
    await heading(page, 'keys');
    await page.getByText('No jobs in keys yet.').waitFor();
    await page.keyboard.press('n');
    await write(page, page.getByLabel('Every'), '0');
    await page.locator('.err').first().waitFor();
    await write(page, page.getByLabel('Every'), '1');
    await page.locator('.err').first().waitFor({ state: 'detached' });
    await press(page, page.getByRole('group', { name: 'How often' }).getByRole('button', { name: 'Week' }), 'Enter');
    await press(page, page.getByRole('group', { name: 'Days of the week' }).getByRole('button', { name: 'Monday' }), 'Enter', 'ArrowRight', 'Enter');
    await page.getByTestId('sentence').getByText('Tuesday').waitFor();
    await press(page, page.getByRole('button', { name: 'HTTP', exact: true }), 'Enter');
    await write(page, page.getByLabel('URL'), `${world.target.url}/200/keys`);
    await write(page, page.getByLabel('Name in keys'), 'typed');
    await page.keyboard.press('Control+Enter');
    await heading(page, 'typed');
    await page.keyboard.press('r');
    await press(page, page.getByRole('dialog').getByRole('button', { name: 'Run now' }), 'Enter');
    await press(page, page.getByRole('button', { name: /^What happened at/ }).first(), 'Enter');
    await page.getByText('first attempt').first().waitFor();
    await page.keyboard.press('s');
    await page.getByText(/The job is disabled since/).waitFor();
    await press(page, page.getByRole('button', { name: 'Delete…' }), 'Enter');
    await write(page, page.getByRole('textbox', { name: /Type typed/ }), 'typed');
    await page.keyboard.press('Enter');
    await heading(page, 'keys');
    // The focus is not lost with what was deleted.
    await page.waitForFunction(() => document.activeElement?.tagName !== 'BODY');
  });

  using('edits as a form and as JSON, and sees what changes', place('job', 'billing', 'tenant-01'), async (page) => {
    await heading(page, 'tenant-01');
    await page.getByText('Every day at 02:30').first().waitFor();
    await page.keyboard.press('e');
    await write(page, page.getByLabel('At', { exact: true }), '04:30');
    await page.getByText(/^The timing changes/).waitFor();
    await page.keyboard.press('Control+/');
    await page.getByLabel('The job as JSON').waitFor();
    await page.keyboard.press('Control+/');
    await page.getByLabel('URL').waitFor();
    await page.keyboard.press('Control+Enter');
    await page.getByRole('button', { name: 'Run now' }).waitFor();
    await page.getByText('Every day at 04:30').first().waitFor();
  });

  using('asks why, and steps to the occurrence before', place('job', 'billing', 'invoice-export'), async (page) => {
    await page.getByRole('button', { name: 'Ask' }).waitFor();
    await page.keyboard.press('w');
    await page.keyboard.type('2027-03-16T06:30:00Z');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 3 }).waitFor();
    await page.waitForFunction(() => document.activeElement?.tagName === 'H3');
    await page.keyboard.press('[');
    await page.waitForFunction(() => document.querySelector('.why input').value.startsWith('2027-03-15'));
  });

  using('chooses jobs and switches them off', place('jobs', 'billing'), async (page) => {
    await tabTo(page, page.getByRole('grid'));
    for (const key of ['End', 'x', 'k', 'k', 'Shift+X']) await page.keyboard.press(key);
    await page.getByText('3 chosen').waitFor();
    await press(page, page.getByRole('region', { name: 'Chosen jobs' }).getByRole('button', { name: 'Switch off…' }), 'Enter');
    await press(page, page.getByRole('dialog').getByRole('button', { name: 'Switch off' }), 'Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal((await world.server.job('billing', 'tenant-38')).properties.state, 'disabled');
  });

  using('looks at a day, and spreads a crowded minute', `${place('calendar')}?day=2027-03-15`, async (page) => {
    await page.keyboard.press('d');
    await page.getByText('in five minutes').waitFor();
    await page.keyboard.press('m');
    await page.getByText('Occurrences a day').waitFor();
    await page.keyboard.press('w');
    await press(page, page.locator('[data-cell="0-0"]'), 'End');
    await page.keyboard.press('Home');
    for (let hour = 0; hour < 7; hour += 1) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await press(page, page.getByRole('button', { name: 'See what would change…' }), 'Enter');
    await press(page, page.getByRole('button', { name: /^Move \d+$/ }), 'Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached', timeout: 20_000 });
    const { properties } = await world.server.job('billing', 'tenant-05');
    assert.notDeepEqual(properties.recurrence.schedule.minutes, [30]);
    assert.deepEqual(properties.recurrence.schedule.hours, [2]);
  });

  using('sends dead letters again, and deletes one by typing how many', place('overview'), async (page) => {
    const asked = [];
    await instead(page, '/deadletters', (route) => {
      if (route.request().method() === 'POST') asked.push([route.request().url().split('/').pop(), route.request().postDataJSON()]);
      return route.fulfill({ json: route.request().method() === 'POST' ? { moved: 1, deleted: 1 } : LETTERS });
    });
    await goTo(page, 'd');
    await heading(page, '12 dead letters.');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await press(page, page.getByRole('region', { name: 'Chosen letters' }).getByRole('button', { name: 'Send again…' }), 'Enter');
    await press(page, page.getByRole('dialog').getByRole('button', { name: 'Send again' }), 'Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await press(page, page.getByRole('button', { name: 'Delete all…' }), 'Enter');
    await write(page, page.getByRole('textbox', { name: /Type 12/ }), '12');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.deepEqual(asked, [['redrive', { ids: ['a'] }], ['delete', { all: true }]]);
  });

  using('imports a crontab', place('import'), async (page) => {
    await write(page, page.getByLabel('A command becomes'), `${world.target.url}/200?cmd={command}`);
    await write(page, page.getByLabel('Text: paste it, or drop a file'), '15 4 * * * /usr/bin/keyed');
    await press(page, page.getByRole('button', { name: 'Read it' }), 'Enter');
    await press(page, page.getByLabel('Into'), 'End', 'Home');
    await press(page, page.getByRole('button', { name: 'Import 1 of 1' }), 'Enter');
    await page.getByText('1 imported').waitFor();
  });

  using('reads the journal and unfolds a change', place('journal', 'billing'), async (page) => {
    await press(page, page.getByRole('button', { name: 'Diff' }).first(), 'Enter');
    await page.getByText('Before', { exact: true }).waitFor();
  });

  using('changes the theme, and signs out', '#/settings', async (page) => {
    await press(page, page.getByRole('group', { name: 'Theme' }).getByRole('button', { name: 'dark' }), 'Enter');
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    await press(page, page.getByRole('button', { name: 'Sign out' }), 'Enter');
    await page.getByRole('dialog', { name: 'Sign in to Minutehand' }).waitFor();
  });
});
