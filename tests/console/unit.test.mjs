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

before(async () => {
  const names = ['document', 'outcome'];
  await require('esbuild').build({
    entryPoints: names.map((name) => join(sources, `${name}.ts`)),
    bundle: true,
    format: 'esm',
    outdir: folder,
    outExtension: { '.js': '.mjs' },
  });
  [documents, outcomes] = await Promise.all(names.map((name) => import(pathToFileURL(join(folder, `${name}.mjs`)))));
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

for (const [written, hours, minutes] of [['02:30', [2], [30]], ['2:05', [2], [5]], ['02:30, 14:30', [2, 14], [30]], ['02:00,02:30,14:00,14:30', [2, 14], [0, 30]]]) {
  test(`the times ${written} are a schedule`, () => {
    const { document, problem } = documents.withTimes({}, written);
    assert.equal(problem, null);
    assert.deepEqual(document.recurrence.schedule, { hours, minutes });
  });
}

for (const [written, said] of [['2.30', 'is no time'], ['02:30, x', '“x” is no time'], ['02:30, 14:45', 'a job for each of the other times']]) {
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

test('a draft holds no secret', () => {
  const kept = JSON.stringify(documents.withoutSecrets({
    action: { request: { authentication: { type: 'Basic', username: 'u', password: 'p1' }, headers: { Authorization: 'p2', 'X-Token': 'p3' } }, queueMessage: { sasToken: 'p4' } },
  }));
  assert.doesNotMatch(kept, /p\d/);
  assert.match(kept, /"username":"u"/);
});

const attempt = (due, started, status, more = {}) => ({ name: 'n', properties: { expectedExecutionTime: due, startTime: started, endTime: started, status, actionName: 'MainAction', ...more } });
const T = '2027-01-01T00:00:00Z';
for (const [letter, attempts] of [
  ['o', [attempt(T, T, 'completed')]],
  ['l', [attempt(T, '2027-01-01T00:00:02Z', 'completed')]],
  ['r', [attempt(T, T, 'failed'), attempt(T, '2027-01-01T00:00:30Z', 'completed')]],
  ['f', [attempt(T, T, 'failed'), attempt(T, '2027-01-01T00:00:30Z', 'failed')]],
  ['e', [attempt(T, T, 'failed'), attempt(T, T, 'completed', { actionName: 'ErrorAction' })]],
  ['f', [attempt(T, T, 'failed'), attempt(T, T, 'failed', { actionName: 'ErrorAction' })]],
  ['s', [attempt(T, T, 'skipped')]],
]) {
  test(`${attempts.map((one) => `${one.properties.actionName} ${one.properties.status}`)} is the mark ${letter}`, () => {
    assert.deepEqual(outcomes.occurrences(attempts).map((one) => one.letter), [letter]);
  });
}

test('occurrences come newest first, each once', () => {
  const all = [attempt('2027-01-02T00:00:00Z', T, 'completed'), attempt(T, T, 'failed'), attempt('2027-01-03T00:00:00Z', T, 'completed'), attempt(T, T, 'completed')];
  assert.deepEqual(outcomes.occurrences(all).map((one) => new Date(one.due).getUTCDate()), [3, 2, 1]);
});

for (const [message, head, headers, body, said] of [
  ["Http Action - Response from host 'h': 'ServiceUnavailable' Response Headers: A: 1\r\nB: 2\r\n Body: {\"a\":1}", "Http Action - Response from host 'h': 'ServiceUnavailable'", 'A: 1\r\nB: 2', '{"a":1}', 'Service Unavailable'],
  ["Http Action - Response from host 'h': 'OK' Response Headers:  Body: ", "Http Action - Response from host 'h': 'OK'", '', '', 'OK'],
  ["Http Action - Request to host 'h' failed: timeout", "Http Action - Request to host 'h' failed: timeout", '', '', "Request to host 'h' failed: timeout"],
]) {
  test(`a message says ${said}`, () => {
    assert.deepEqual(outcomes.messageParts(message), { head, headers, body });
    assert.equal(outcomes.gist(message), said);
  });
}
