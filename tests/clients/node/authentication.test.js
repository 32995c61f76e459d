'use strict';

// Every type of outbound authentication: round trips, and secrets that answers never contain.

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { test } = require('node:test');

const { http } = require('./actions.js');
const { GROUP, World, read, refused } = require('./world.js');

const SECRET = 'a secret that is never answered';
const PFX_PASSWORD = 'minutehand';
const PFX_FILES = join(__dirname, '../../../shared/pfx/tests/fixtures');

// The authentication in answers, which is the same for create, get, patch and list.
async function authenticationRead(authentication, secret = SECRET) {
  const world = new World();
  const collection = await world.standard();
  const answers = await world.everywhere(collection, { action: http({ authentication }) });
  const found = Object.values(answers).map((job) => read(job).properties.action.request.authentication);
  for (const other of found) assert.deepEqual(other, found[0]);
  assert.ok(!JSON.stringify(answers).includes(secret));
  return found[0];
}

test('basic', async () => {
  const sent = { type: 'Basic', username: 'user', password: SECRET };
  assert.deepEqual(await authenticationRead(sent), { type: 'Basic', username: 'user' });
});

test('active directory oauth', async () => {
  const shown = {
    type: 'ActiveDirectoryOAuth',
    tenant: 't.onmicrosoft.com',
    audience: 'https://a/',
    clientId: 'id',
  };
  assert.deepEqual(await authenticationRead({ ...shown, secret: SECRET }), shown);
});

for (const file of ['ec-old.p12', 'ec-new.p12']) {
  test(`client certificate of ${file}`, async () => {
    const pfx = readFileSync(join(PFX_FILES, file)).toString('base64');
    const sent = { type: 'ClientCertificate', pfx, password: PFX_PASSWORD };
    const found = await authenticationRead(sent, pfx);
    // Azure answered 'certificateExpiration', which no client reads: they were generated to read
    // 'certificateExpirationDate'.
    assert.deepEqual(found, {
      type: 'ClientCertificate',
      certificateThumbprint: '51A978930D75C2CB8B3F4F0C888E879A6AB1E2F2',
      certificateSubjectName: 'CN=minutehand ec',
    });
  });
}

test('a pfx with a wrong password is refused', async () => {
  const world = new World();
  const collection = await world.standard();
  const pfx = readFileSync(join(PFX_FILES, 'ec-new.p12')).toString('base64');
  const action = http({ authentication: { type: 'ClientCertificate', pfx, password: 'another' } });
  const put = world.jobs.createOrUpdate(GROUP, collection, 'job', { properties: { action } });
  assert.ok(!(await refused(put, 400, 'BadRequest')).includes(pfx));
});

test('basic without a password is refused in the words of Azure', async () => {
  const world = new World();
  const collection = await world.standard();
  const action = http({ authentication: { type: 'Basic', username: 'user' } });
  const put = world.jobs.createOrUpdate(GROUP, collection, 'job', { properties: { action } });
  assert.equal(
    await refused(put, 400, 'BadRequest'),
    "'Username' and 'Password' are required for 'Basic' type of Authentication.",
  );
});

test('a put without authentication removes it', async () => {
  const world = new World();
  const collection = await world.standard();
  const authentication = { type: 'Basic', username: 'user', password: SECRET };
  for (const action of [http({ authentication }), http()]) {
    await world.jobs.createOrUpdate(GROUP, collection, 'job', { properties: { action } });
  }
  const { properties } = read(await world.jobs.get(GROUP, collection, 'job'));
  assert.deepEqual(properties.action, http());
});

test('credentials in headers and queries survive reading, changing and writing', async () => {
  const world = new World();
  const collection = await world.standard();
  const uri = 'http://example.org/run?x=1&code=';
  const headers = { Accept: '*/*', 'X-Functions-Key': SECRET, Authorization: `Bearer ${SECRET}` };
  const withheld = { ...headers, 'X-Functions-Key': '(withheld)', Authorization: '(withheld)' };
  const action = http({ uri: `${uri}a+canary`, headers });
  const answers = await world.everywhere(collection, { action });
  for (const answer of Object.values(answers)) {
    const { request } = read(answer).properties.action;
    assert.equal(request.uri, `${uri}(withheld)`);
    assert.deepEqual(request.headers, withheld);
  }

  const job = await world.jobs.get(GROUP, collection, 'job');
  job.properties.action.request.body = 'changed';
  // If a value were lost, the second one would be refused: there would be nothing to keep.
  for (let n = 0; n < 2; n += 1) {
    const put = await world.jobs.createOrUpdate(GROUP, collection, 'job', job);
    const { request } = read(put).properties.action;
    assert.deepEqual([request.uri, request.headers], [`${uri}(withheld)`, withheld]);
  }

  job.properties.action.request.uri = 'http://other.example/run?x=1&code=(withheld)';
  const put = world.jobs.createOrUpdate(GROUP, collection, 'job', job);
  assert.match(await refused(put, 400, 'BadRequest'), /was given for another host/);
});
