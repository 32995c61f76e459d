// The functions of the console that need no browser.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const require = createRequire(join(process.env.MINUTEHAND_MODULES, 'index.js'));
const sources = join(dirname(fileURLToPath(import.meta.url)), '../../shared/console/web/src');
const folder = mkdtempSync(join(tmpdir(), 'minutehand-console-'));
let documents;
let outcomes;
let spans;
let clocks;
let mend;
let changed;
let pastes;
let crowds;

before(async () => {
  const names = ['document', 'outcome', 'spans', 'clock', 'mend', 'changed', 'pasted', 'crowd'];
  await require('esbuild').build({
    entryPoints: names.map((name) => join(sources, `${name}.ts`)),
    bundle: true,
    format: 'esm',
    outdir: folder,
    outExtension: { '.js': '.mjs' },
  });
  [documents, outcomes, spans, clocks, mend, changed, pastes, crowds] = await Promise.all(names.map((name) => import(pathToFileURL(join(folder, `${name}.mjs`)))));
});
after(() => rmSync(folder, { recursive: true }));

test('a value is put at a path, and what is left empty goes', () => {
  const { put } = documents;
  const first = put({}, 'action.request.uri', 'https://a');
  assert.deepEqual(first, { action: { request: { uri: 'https://a' } } });
  assert.deepEqual(put(first, 'action.request.uri', undefined), {});
  assert.deepEqual(put({ action: { type: 'Https' } }, 'action.request.uri', undefined), { action: { type: 'Https' } });
});

test('the form keeps what it does not know', () => {
  const before = { recurrence: { frequency: 'day', odd: 1, schedule: { hours: [2], minutes: [30] } }, minutehand: { x: 1 } };
  const after = documents.withTimes(before, '03:45').document;
  assert.deepEqual(after, { recurrence: { frequency: 'day', odd: 1, schedule: { hours: [3], minutes: [45] } }, minutehand: { x: 1 } });
});

test('a job that expects pings from now on keeps what has an effect', () => {
  const before = {
    recurrence: { frequency: 'hour' },
    action: { type: 'Https', request: { uri: 'https://a' }, retryPolicy: { retryType: 'None' }, errorAction: { type: 'Https' } },
    minutehand: { timeout: 'PT5S', retry: { backoff: 'exponential' }, pauseOnFailure: { after: 3 }, exclude: { dates: ['2027-12-24'] } },
  };
  const { document, dropped } = documents.expecting(before);
  assert.deepEqual(document, {
    recurrence: { frequency: 'hour' },
    action: { type: 'Expect', expect: {} },
    minutehand: { pauseOnFailure: { after: 3 }, exclude: { dates: ['2027-12-24'] } },
  });
  assert.deepEqual(dropped, ['action.retryPolicy', 'action.errorAction', 'minutehand.retry', 'minutehand.timeout']);
  assert.ok(documents.isIdle(document, 'minutehand.overlap.policy') && !documents.isIdle(before, 'minutehand.overlap.policy'));
  assert.ok(!documents.isIdle(document, 'minutehand.pauseOnFailure.after'));
});

for (const [written, hours, minutes] of [['02:30', [2], [30]], ['2:05', [2], [5]], ['02:30, 14:30', [2, 14], [30]], ['02:00,02:30,14:00,14:30', [2, 14], [0, 30]], ['9', [9], [0]], ['9am, 9 pm', [9, 21], [0]], ['12:15am', [0], [15]]]) {
  test(`the times ${written} are a schedule`, () => {
    const { document, problem } = documents.withTimes({}, written);
    assert.equal(problem, null);
    assert.deepEqual(document.recurrence.schedule, { hours, minutes });
  });
}

for (const [written, said] of [['2.30', 'is not a time'], ['25:00', 'is not a time'], ['13pm', 'is not a time'], ['02:30, x', '“x” is not a time'], ['02:30, 14:45', 'a job for each of the other times']]) {
  test(`the times ${written} are refused, with what to do`, () => {
    const { document, problem } = documents.withTimes({ a: 1 }, written);
    assert.ok(problem.includes(said), problem);
    assert.deepEqual(document, { a: 1 });
  });
}

test('a change of one part of a schedule sends all of it, because a PATCH replaces it', () => {
  const from = { recurrence: { frequency: 'day', schedule: { hours: [2], minutes: [30] } } };
  const { document } = documents.withTimes(from, '04:30');
  assert.deepEqual(documents.changes(from, document), { recurrence: { schedule: { hours: [4], minutes: [30] } } });
});

test('another frequency keeps the parts of the schedule that it takes', () => {
  const month = { recurrence: { frequency: 'month', schedule: { hours: [2], monthDays: [-1] } } };
  assert.deepEqual(documents.withOften(month, 'day').recurrence, { frequency: 'day', schedule: { hours: [2] } });
  assert.deepEqual(documents.withOften(month, 'minute').recurrence, { frequency: 'minute' });
  assert.deepEqual(documents.withOften(month, 'once'), {});
});

test('a change says what is new, null for what is gone, and nothing of what stays', () => {
  const from = { state: 'enabled', startTime: 'x', action: { type: 'Http', request: { uri: 'a', authentication: { type: 'Basic', username: 'u' } } } };
  const to = { state: 'enabled', action: { type: 'Http', request: { uri: 'b', authentication: { type: 'Basic', username: 'u' } } } };
  assert.deepEqual(documents.changes(from, to), { startTime: null, action: { request: { uri: 'b' } } });
});

test('a refused property is found in the text', () => {
  const json = JSON.stringify({ action: { request: { uri: 'x' } }, recurrence: { schedule: { hours: [25] } } }, null, 2);
  assert.equal(json.split('\n')[documents.lineOf(json, 'properties.recurrence.schedule.hours') - 1].trim(), '"hours": [');
  assert.equal(documents.lineOf(json, 'properties.nothing'), null);
});

test('a merge patch is what it says, and null removes', () => {
  const document = { a: { b: 1, c: 2 }, d: [1, 2], e: 'x' };
  assert.deepEqual(documents.merged(document, { a: { b: null, f: 3 }, d: [3], e: null }), { a: { c: 2, f: 3 }, d: [3] });
  assert.deepEqual(document, { a: { b: 1, c: 2 }, d: [1, 2], e: 'x' });
});

test('taking back a part of a schedule sends all of it', () => {
  const now = { recurrence: { schedule: { hours: [2], minutes: [37] } } };
  const back = documents.merged(now, { recurrence: { schedule: { minutes: [30] } } });
  assert.deepEqual(documents.changes(now, back), { recurrence: { schedule: { hours: [2], minutes: [30] } } });
});

for (const [written, read] of [['', undefined], ['5', 5], ['1.5', 1.5], ['1.', '1.'], ['1.50', '1.50'], ['many', 'many'], ['-1', '-1'], ['1e9', '1e9']]) {
  test(`the number “${written}” is sent as ${JSON.stringify(read)}`, () => assert.equal(documents.number(written), read));
}

test('names and values are read a line each, and a line that is neither is named', () => {
  assert.deepEqual(documents.textAsPairs('A: 1\n\n B-C:2: 3 '), { value: { A: '1', 'B-C': '2: 3' }, stray: undefined });
  assert.deepEqual(documents.textAsPairs('A: 1\nodd'), { value: { A: '1' }, stray: 'odd' });
  assert.equal(documents.textAsPairs(': 1').stray, ': 1');
});

for (const [written, iso, words] of [
  ['90 s', 'PT90S', '1 min 30 s'], ['5m', 'PT5M', '5 min'], ['1h 30m', 'PT1H30M', '1 h 30 min'], ['1 day', 'P1D', '1 day'],
  ['2 days 3 hours 4 minutes 5 seconds', 'P2DT3H4M5S', '2 days 3 h 4 min 5 s'], ['PT10M', 'PT10M', '10 min'],
]) {
  test(`the time ${written} is ${iso}, and in words ${words}`, () => {
    assert.equal(spans.asIsoSpan(written), iso);
    assert.equal(spans.isoSpan(iso), words);
    // What the words mean is the same time.
    assert.equal(spans.isoSpan(spans.asIsoSpan(words)), words);
  });
}

for (const text of ['soon', '5 weeks', '5', 'P1W', '']) {
  test(`the time “${text}” is left to the server`, () => {
    assert.equal(spans.asIsoSpan(text), text);
    assert.equal(spans.isoSpan(text), text);
  });
}

test('times of answers, in the form of .NET, are read too', () => {
  assert.deepEqual(['00:00:30', '01:30:00', '2.00:00:00', '00:00:00'].map(spans.isoSpan), ['30 s', '1 h 30 min', '2 days', '0 s']);
});

test('a draft holds no secret', () => {
  const kept = JSON.stringify(documents.withoutSecrets({
    action: { request: { authentication: { type: 'Basic', username: 'u', password: 'p1' }, headers: { Authorization: 'p2', 'X-Token': 'p3' } }, queueMessage: { sasToken: 'p4' } },
    other: { authentication: { sasKeyName: 'send', sasKey: 'p5' }, headers: { 'X-Api-Key': 'p6', Cookie: 'p7' }, request: { uri: 'https://a.b/?x=1&code=p8#c' } },
    minutehand: { sign: { secrets: ['p9'] } },
  }));
  assert.match(kept, /"sasKeyName":"send"/);
  assert.match(kept, /\?x=1&code=#c/);
  assert.doesNotMatch(kept, /minutehand/);
  assert.doesNotMatch(kept, /p\d/);
  assert.match(kept, /"username":"u"/);
});

const T = '2027-01-01T00:00:00Z';
/** An attempt, whose retries begin at instants of their own, as those of a server do. */
const attempt = (outcome, second = 0, more = {}) => {
  const at = new Date(Date.parse(T) + second * 1_000).toISOString();
  return { action: 'action', retry: 0, dueAt: at, startedAt: at, endedAt: at, outcome, cause: null, said: null, message: '', ...more };
};
const occurred = (outcome, attempts, more = {}) => ({ at: T, kind: 'scheduled', redriveOf: null, outcome, attempts, ...more });
for (const [letter, one] of [
  ['o', occurred('succeeded', [attempt('succeeded')])],
  ['l', occurred('succeeded', [attempt('succeeded', 2)])],
  ['r', occurred('succeeded', [attempt('failed'), attempt('succeeded', 30, { retry: 1 })])],
  ['f', occurred('failed', [attempt('failed'), attempt('failed', 30, { retry: 1 }), attempt('failed', 60, { retry: 2 })])],
  ['e', occurred('failed', [attempt('failed'), attempt('succeeded', 1, { action: 'errorAction' })])],
  ['f', occurred('failed', [attempt('failed'), attempt('failed', 1, { action: 'errorAction' })])],
  ['f', occurred('failed', [attempt('failed'), attempt('succeeded', 1, { action: 'notice' })])],
  ['u', occurred('retrying', [attempt('failed')])],
  ['u', occurred('underWay', [attempt('underWay')])],
  ['s', occurred('skipped', undefined, { kind: 'leftOut' })],
]) {
  test(`${one.outcome}, of ${(one.attempts ?? []).map(({ action, outcome }) => `${action} ${outcome}`)}, is the mark ${letter}`, () => {
    assert.deepEqual(outcomes.occurrences([one]).map((found) => found.letter), [letter]);
  });
}

test('occurrences come newest first', () => {
  const all = [2, 1, 3].map((day) => occurred('succeeded', [attempt('succeeded')], { at: `2027-01-0${day}T00:00:00Z` }));
  assert.deepEqual(outcomes.occurrences(all).map((one) => new Date(one.due).getUTCDate()), [3, 2, 1]);
});

test('how long it usually takes is said of three successes and more, whatever failed', () => {
  const lasted = (outcome, seconds) => occurred(outcome, [attempt(outcome, 0, { endedAt: new Date(Date.parse(T) + seconds * 1_000).toISOString() })]);
  const all = outcomes.occurrences([lasted('succeeded', 2), lasted('succeeded', 90), lasted('succeeded', 3), lasted('failed', 60)]);
  assert.equal(outcomes.usually(all), 3_000);
  assert.equal(outcomes.usually(all.slice(0, 2)), null);
});

for (const [failure, words] of [
  [{ cause: { kind: 'httpStatus', text: 'HTTP 503' }, said: 'read-only', message: 'x' }, 'HTTP 503: “read-only”'],
  [{ cause: { kind: 'timeout', text: 'timeout after 60 s' }, said: null, message: 'x' }, 'timeout after 60 s'],
  [{ cause: null, message: 'It failed.' }, 'It failed.'],
  [{ message: null }, ''],
]) {
  test(`a failure is told as ${words || 'nothing'}`, () => assert.equal(outcomes.causeOf(failure), words));
}

// A Thursday in New York, whose clock was set back on the Sunday before.
const NOW = Date.parse('2026-11-05T18:00:00Z');
for (const [text, instants] of [
  ['02:30', ['2026-11-05T07:30:00.000Z']],
  ['2:30', ['2026-11-05T07:30:00.000Z']],
  ['yesterday 02:30', ['2026-11-04T07:30:00.000Z']],
  ['Mon 14:00', ['2026-11-02T19:00:00.000Z']],
  ['thursday, 14:00', ['2026-11-05T19:00:00.000Z']],
  ['2026-10-19 02:30', ['2026-10-19T06:30:00.000Z']],
  // The clock shows half past one twice, and in March it skips half past two.
  ['2026-11-01 01:30', ['2026-11-01T05:30:00.000Z', '2026-11-01T06:30:00.000Z']],
  ['2026-03-08T02:30', ['2026-03-08T07:30:00.000Z']],
  ['25:00', null], ['2026-13-01 02:30', null], ['2026-10-19T02:30:00-04:00', null], ['someday', null],
]) {
  test(`“${text}” in New York is ${instants ?? 'left to the server'}`, () => {
    assert.deepEqual(clocks.meant(text, 'America/New_York', NOW)?.map((at) => new Date(at).toISOString()) ?? null, instants);
  });
}

// On that Thursday at one in the afternoon.
for (const [text, instants] of [
  ['2027-03-14 9:00', ['2027-03-14T13:00:00.000Z']],
  ['2027-3-14T09:00', ['2027-03-14T13:00:00.000Z']],
  ['14 Mar 2027 9:00', ['2027-03-14T13:00:00.000Z']],
  ['Sun, 14th March 2027 at 9am', ['2027-03-14T13:00:00.000Z']],
  ['March 14 2027, 9:30 pm', ['2027-03-15T01:30:00.000Z']],
  ['14.3.2027 9:00', ['2027-03-14T13:00:00.000Z']],
  ['14 Mar 2027', ['2027-03-14T05:00:00.000Z']],
  ['tomorrow 9:00', ['2026-11-06T14:00:00.000Z']],
  ['tomorrow', ['2026-11-06T05:00:00.000Z']],
  // What is over today is the next day, week or year.
  ['14:00', ['2026-11-05T19:00:00.000Z']], ['12:00', ['2026-11-06T17:00:00.000Z']],
  ['Thu 14:00', ['2026-11-05T19:00:00.000Z']], ['thursday 12:00', ['2026-11-12T17:00:00.000Z']], ['mon 9:00', ['2026-11-09T14:00:00.000Z']],
  ['24 Dec 18:00', ['2026-12-24T23:00:00.000Z']], ['14 Mar 9:00', ['2027-03-14T13:00:00.000Z']],
  ['2027-11-07 01:30', ['2027-11-07T05:30:00.000Z', '2027-11-07T06:30:00.000Z']],
  ['31 Feb 2027 9:00', null], ['2027-02-30', null], ['12:60', null], ['0am', null], ['monk 9:00', null], ['14 xyz 2027', null], ['now', null], ['', null],
  ['2027-06-01T00:00:00Z', null], ['2027', null],
]) {
  test(`ahead, “${text}” in New York is ${instants ?? 'left to the server'}`, () => {
    assert.deepEqual(clocks.meant(text, 'America/New_York', NOW, true)?.map((at) => new Date(at).toISOString()) ?? null, instants);
  });
}

// As `minutehand job create` has it.
for (const [recurrence, start] of [
  [{ frequency: 'minute', interval: 15 }, '2026-11-05T18:15:00Z'],
  [{ frequency: 'hour' }, '2026-11-05T19:00:00Z'],
  [{ frequency: 'week', interval: 2 }, '2026-11-19T18:00:00Z'],
  [{ frequency: 'month', interval: 1 }, '2026-12-05T18:00:00Z'],
  [{ frequency: 'year' }, '2027-11-05T18:00:00Z'],
  [{ frequency: 'day', schedule: { hours: [2] } }, '2026-11-05T18:01:00Z'],
  [{ frequency: 'hour', schedule: { minutes: [5] } }, '2026-11-05T18:01:00Z'],
  [{ frequency: 'minute', interval: 'x' }, undefined], [{ frequency: 'minute', interval: 0 }, undefined], [{ frequency: 'day', interval: 1e12 }, undefined], [undefined, undefined],
]) {
  test(`a new job with ${JSON.stringify(recurrence)} starts at ${start}`, () => {
    assert.equal(documents.withStart({ recurrence }, NOW + 42_000).startTime, start);
  });
}

test('a start that is given stays, and a month that is too short ends earlier', () => {
  const given = { startTime: 'x', recurrence: { frequency: 'day' } };
  assert.equal(documents.withStart(given, NOW), given);
  assert.equal(documents.withStart({ recurrence: { frequency: 'month' } }, Date.parse('2027-01-31T10:00:30Z')).startTime, '2027-02-28T10:00:00Z');
});

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
for (const [text, action] of [
  ['https://example.com/x', null], ['', null], ['curling is a sport', null],
  ['https://contoso.queue.core.windows.net/reports', { type: 'StorageQueue', queueMessage: { storageAccount: 'contoso', queueName: 'reports' } }],
  ['https://contoso.queue.core.windows.net/reports/messages?sv=1&sig=x%3D', { type: 'StorageQueue', queueMessage: { storageAccount: 'contoso', queueName: 'reports', sasToken: 'sv=1&sig=x%3D' } }],
  ['sb://contoso.servicebus.windows.net/a/b', { type: 'ServiceBusQueue', serviceBusQueueMessage: { namespace: 'contoso', queueName: 'a/b', authentication: { type: 'sharedAccessKey' } } }],
  [' https://sqs.eu-west-1.amazonaws.com/123456789012/reports.fifo ', { type: 'Sqs', sqsMessage: { queueUrl: 'https://sqs.eu-west-1.amazonaws.com/123456789012/reports.fifo' } }],
  ['curl https://example.com/a', { type: 'Https', request: { method: 'GET', uri: 'https://example.com/a' } }],
  ['$ curl example.com', { type: 'Http', request: { method: 'GET', uri: 'http://example.com' } }],
  [`curl -fsSL -X PUT -H 'X-A: it'\\''s' -H "X-B: 1:2" 'https://example.com/?a=1&b=2'`, { type: 'Https', request: { method: 'PUT', uri: 'https://example.com/?a=1&b=2', headers: { 'X-A': "it's", 'X-B': '1:2' } } }],
  [`curl 'https://a.example/' \\\n  -H 'content-type: application/json' \\\r\n  --data-raw $'{"a":\\'1\\'\\n}' --compressed`, { type: 'Https', request: { method: 'POST', uri: 'https://a.example/', headers: { 'content-type': 'application/json' }, body: '{"a":\'1\'\n}' } }],
  // As a field has it, which joins lines.
  ['curl https://a.example/ \\  -XPOST \\-d a', { type: 'Https', request: { method: 'POST', uri: 'https://a.example/', headers: FORM, body: 'a' } }],
  ['curl -d a=1 --data b=2 --data-urlencode "c=x y" https://a.example/', { type: 'Https', request: { method: 'POST', uri: 'https://a.example/', headers: FORM, body: 'a=1&b=2&c=x%20y' } }],
  ['curl -G -d a=1 --url https://a.example/?b', { type: 'Https', request: { method: 'GET', uri: 'https://a.example/?b&a=1' } }],
  [`curl --json '{"a":"\\\\d"}' -u web:s:e https://a.example/`, { type: 'Https', request: { method: 'POST', uri: 'https://a.example/', headers: { Accept: 'application/json', 'Content-Type': 'application/json' }, body: '{"a":"\\\\d"}', authentication: { type: 'Basic', username: 'web', password: 's:e' } } }],
  ["curl -I -A agent -b 'a=b' https://a.example/ --data-raw ''", { type: 'Https', request: { method: 'HEAD', uri: 'https://a.example/', headers: { 'User-Agent': 'agent', Cookie: 'a=b', ...FORM }, body: '' } }],
]) {
  test(`what is pasted is ${action?.type ?? 'a text'}: ${text}`, () => assert.deepEqual(pastes.pasted(text), action && { action }));
}

for (const [line, said] of [
  ['curl -k https://a.example/', /option -k is not understood/], ['curl -sm 10 https://a.example/', /option -sm is not understood/], ['curl -F a=@b https://a.example/', /option -F/],
  ['curl', null], ['curl -s', /has no URL/], ['curl https://a.example/ https://b.example/', /a call of one URL/],
  ['curl https://a.example/ -d @body.json', /“@body.json” is a file/], ['curl https://a.example/ -b jar', /file of cookies/], ['curl https://a.example/ -H', /option -H has no value/],
  ['curl -H "Authorization: Bearer $TOKEN" https://a.example/', /\$TOKEN.* is a variable or command of a shell/], ['curl https://a.example/$(date)', /“\$\(” is a variable/],
  ['curl https://a.example/ | jq .', /“\|” is for a shell/], ['curl https://a.example/?a=1&b=2', /URL in quotes/], ["curl 'https://a.example/", /' is not closed/],
  ['curl -H odd https://a.example/', /“odd” has no colon/], ['curl -u web https://a.example/', /a name, a colon and a password/],
]) {
  test(`this call of curl is refused with a sentence: ${line}`, () => {
    const found = pastes.pasted(line);
    if (said === null) assert.equal(found, null);
    else assert.match(found.problem, said);
  });
}

test('steps make parts, with the fullest step of each, and what failed where it was due', () => {
  const parts = crowds.partsOf(1_000, 10, [1, 2, 3, 9, 0], 2);
  assert.deepEqual(parts.map(({ at, count, fullest }) => [at, count, fullest]), [[1_000, 3, 2], [1_020, 12, 9], [1_040, 0, 0]]);
  assert.deepEqual(crowds.withFailed(parts, 1_060, [999, 1_000, 1_019, 1_059, 1_060]).map(({ failed }) => failed), [2, 0, 1]);
});

for (const [steps, more] of [[[], null], [[9, 0, 0], null], [[10, 0, 0], 10], [[82, 42, 41, 43], 39], [[60, 41, 42, 43], null], [[500, 480, 490], null], [[40, 40, 40], null]]) {
  test(`of ${JSON.stringify(steps)} the fullest is ${more ? `a herd, ${more} more than usual` : 'not a herd'}`, () => assert.equal(crowds.herd(steps)?.more ?? null, more));
}

test('the fullest herd is looked for in what is to come', () => {
  const counts = [50, 0, 0, 30, 0, 0, 0, 40, 0];
  assert.deepEqual(crowds.herdAfter(0, 0, 10, counts, 3), { at: 0, count: 50, more: 50 });
  assert.deepEqual(crowds.herdAfter(10, 0, 10, counts, 3), { at: 70, count: 40, more: 40 });
  assert.equal(crowds.herdAfter(80, 0, 10, counts, 3), null);
});

for (const [document, patch, after] of [
  [{ recurrence: { schedul: { hours: [2] } } }, { from: '/recurrence/schedul', path: '/recurrence/schedule' }, { recurrence: { schedule: { hours: [2] } } }],
  [{ recurrence: { timeZone: 'Berln' } }, { path: '/recurrence/timeZone', value: 'Europe/Berlin' }, { recurrence: { timeZone: 'Europe/Berlin' } }],
  [{ minutehand: { catchUp: { policy: 'last', max: 3 } } }, { path: '/minutehand/catchUp/max' }, { minutehand: { catchUp: { policy: 'last' } } }],
]) {
  test(`${JSON.stringify(document)} is mended as the API says`, () => {
    let next;
    const problem = { message: 'It is wrong.', fixes: [{ label: 'Mend it', patch: [patch] }] };
    const [[label, make]] = mend.mendings(document, problem, (one) => { next = one; })('Line 3: It is wrong.');
    make();
    assert.deepEqual([label, next], ['Mend it', after]);
  });
}

test('nothing is offered beside another sentence, or where the API says of none', () => {
  const fixes = [{ label: 'Mend it', patch: [] }];
  for (const [problem, said] of [[{ message: 'It is wrong.', fixes }, 'It is away.'], [{ message: 'It is wrong.' }, 'It is wrong.'], [null, 'It is wrong.']]) {
    assert.deepEqual(mend.mendings({}, problem, () => {})(said), []);
  }
});

for (const [recent, count, isLeast] of [['', 0, false], ['of', 1, false], ['ofof', 1, false], ['offe', 3, false], ['ofsfs', 2, false], ['ffo', 0, false], ['f'.repeat(32), 32, true]]) {
  test(`of the results “${recent}” the last ${count} failed`, () => assert.deepEqual(outcomes.streak(recent), { count, isLeast }));
}

for (const [recent, state, failures, isFailing] of [['of', 'enabled', 1, true], ['ofs', 'enabled', 1, true], ['fo', 'enabled', 1, false], [null, 'enabled', 2, true], [null, 'enabled', 1, false], ['', 'enabled', 0, false]]) {
  test(`a job of two attempts with the results “${recent}” ${isFailing ? 'fails' : 'does not fail'}`, () => {
    assert.equal(outcomes.isFailing({ recent, state, failures, executions: 2 }), isFailing);
  });
}

test('what names begin with is found', () => {
  assert.deepEqual([['tenant-a', 'tenant-b'], ['one'], ['a', 'b'], []].map(outcomes.common), ['tenant-', 'one', '', '']);
});

test('jobs that fail alike share a line where the newest of them stands, if they are many', () => {
  const failure = (job, at, host) => ({ at, resourceGroup: 'g', collection: 'c', job, target: `POST ${host}`, cause: { kind: 'status', text: 'HTTP 502' }, message: 'It failed.' });
  const failing = outcomes.byJob([failure('z', '1', 'two'), ...['a', 'b', 'c', 'd', 'd'].map((job, n) => failure(job, String(n + 2), 'one')), failure('y', '9', 'two')]);
  assert.deepEqual(failing.map(({ last, times }) => [last.job, times]), [['y', 1], ['d', 2], ['c', 1], ['b', 1], ['a', 1], ['z', 1]]);
  const lines = outcomes.inLines(failing);
  assert.deepEqual(lines.map((line) => line.jobs?.length ?? line.last.job), ['y', 4, 'z']);
  assert.deepEqual([lines[1].host, lines[1].said], ['one', 'HTTP 502']);
});

for (const [patch, back, lines] of [
  [{ recurrence: { interval: 2 } }, { recurrence: { interval: 1 } }, ['recurrence.interval: 1 → 2']],
  [{ properties: { state: 'Disabled' } }, { properties: { state: 'Enabled' } }, ['state: Enabled → Disabled']],
  [{ action: { request: { body: 'x' } } }, { action: null }, ['action.request.body: nothing → x']],
  [{ recurrence: null }, { recurrence: { schedule: { hours: [2, 14] } } }, ['recurrence.schedule.hours: 2, 14 → nothing']],
  [{ tags: { a: '1', b: null } }, { tags: { a: null, b: '2' } }, ['tags.a: nothing → 1', 'tags.b: 2 → nothing']],
]) {
  test(`a change is told as ${lines}`, () => assert.deepEqual(changed.changed(patch, back).map(changed.line), lines));
}

test('what was done is told in words, that of a later server, too', () => {
  assert.deepEqual(['changed', 'switchedOn', 'pausedByScheduler'].map(changed.done), ['changed', 'switched on', 'paused by scheduler']);
});

test('secrets stand where a converted document refers to them, and nowhere else', () => {
  const document = { action: { request: { headers: { a: { $env: 'ONE' }, b: 'c' } }, list: [{ $env: 'TWO' }, null, 1] } };
  assert.deepEqual(documents.withSecrets(document, { ONE: 'x', TWO: 'y' }), { action: { request: { headers: { a: 'x', b: 'c' } }, list: ['y', null, 1] } });
});
