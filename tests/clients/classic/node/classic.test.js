'use strict';

// What azure-asm-scheduler 0.10.2 and azure-scheduler 0.10.4 do with the classic API, by token and by
// certificate.

const assert = require('node:assert/strict');
const { randomUUID } = require('node:crypto');
const { readFileSync } = require('node:fs');
const http = require('node:http');
const { describe, test } = require('node:test');
const { setTimeout: sleep } = require('node:timers/promises');
const { promisify } = require('node:util');

const { connect, connectWithCertificate } = require('./connect.js');

const URL = process.env.MINUTEHAND_URL;
const TOKEN = process.env.MINUTEHAND_TOKEN;
const RUN_SECONDS = 30;
const SERVICE = 'a service';
const COLLECTION = 'jobs';
const START = '2100-01-01T00:00:00Z';

const ways = {
  token: (...names) => connect(URL, TOKEN, ...names),
  certificate: (...names) => {
    const pem = readFileSync(process.env.MINUTEHAND_CLIENT_PEM, 'utf8');
    return connectWithCertificate(URL, pem, ...names);
  },
};

// The clients of a subscription, whose operations return promises. They ask for the end of an operation
// at once; otherwise they would wait 15 seconds.
function world(way, subscription = randomUUID()) {
  const clients = ways[way](subscription, SERVICE, COLLECTION);
  const { services, collections, jobs } = clients;
  services.longRunningOperationInitialTimeout = 0;
  collections.longRunningOperationInitialTimeout = 0;
  return {
    subscription,
    register: () => ended((done) => collections.registerResourceProvider(done)),
    unregister: () => ended((done) => collections.unregisterResourceProvider(done)),
    provider: promised(collections),
    services: promised(services.cloudServices),
    collections: promised(collections.jobCollections),
    jobs: promised(jobs.jobs),
  };
}

function promised(operations) {
  const promise = (_, name) => promisify(operations[name].bind(operations));
  return new Proxy({}, { get: promise });
}

// A PUT of the client that has no body waits for its stream to end.
function ended(operation) {
  return new Promise((resolve, reject) => {
    operation((error, result) => (error ? reject(error) : resolve(result))).end();
  });
}

async function withCollection(way) {
  const made = world(way);
  const service = { label: 'l', description: 'd', geoRegion: 'West US', email: 'a@example.org' };
  await made.services.create(SERVICE, service);
  await made.collections.create(SERVICE, COLLECTION, { label: 'a label' });
  return made;
}

async function refused(promise, status, message) {
  const error = await promise.then(
    () => assert.fail('the request was not refused'),
    (error) => error,
  );
  assert.equal(error.statusCode, status, error.message);
  assert.match(error.message, message);
}

// A target on this machine, which counts the requests of jobs.
async function target(context) {
  const seen = [];
  const server = http.createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers['x-own']}`);
    response.end('done');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => server.close());
  return { seen, uri: `http://127.0.0.1:${server.address().port}/hook` };
}

const httpAction = (uri) => ({
  type: 'http',
  request: { uri, method: 'POST', headers: { 'X-Own': '1' }, body: 'body' },
});
const queueAction = {
  type: 'storageQueue',
  queueMessage: {
    storageAccountName: 'account',
    queueName: 'queue',
    sasToken: '?sig=secret',
    message: 'hello',
  },
};

for (const way of Object.keys(ways)) {
  describe(`by ${way}`, () => {
    test('the provider is registered and described', async () => {
      const { provider, register, unregister } = world(way);
      await register();
      const described = await provider.getResourceProviderProperties();
      assert.equal(described.properties.Plans, 'Free, Standard, Premium');
      await unregister();
    });

    test('a cloud service is created, listed and deleted', async () => {
      const { services } = await withCollection(way);
      const { cloudServices } = await services.list();
      const [listed, ...others] = cloudServices;
      assert.equal(others.length, 0);
      assert.deepEqual([listed.name, listed.label, listed.geoRegion], [SERVICE, 'l', 'West US']);
      const read = await services.get(SERVICE);
      for (const { resources } of [listed, read]) {
        assert.deepEqual([resources[0].name, resources[0].state], [COLLECTION, 'Started']);
      }
      await services.delete(SERVICE);
      await refused(services.get(SERVICE), 404, /name a service was not found/);
    });

    test('a collection is named, created, updated and deleted', async () => {
      const { collections } = await withCollection(way);
      const isFree = async (name) =>
        (await collections.checkNameAvailability(SERVICE, name)).isAvailable;
      assert.deepEqual([await isFree(COLLECTION), await isFree('other')], [false, true]);
      const first = await collections.get(SERVICE, COLLECTION);
      assert.deepEqual([first.name, first.state], [COLLECTION, 'Started']);
      assert.deepEqual(first.lastOperationStatus.status, 'Succeeded');

      const quota = { maxJobCount: 7, maxRecurrence: { frequency: 'Hour', interval: 2 } };
      const settings = { plan: 'Premium', quota };
      const update = { eTag: first.eTag, intrinsicSettings: settings };
      const { eTag } = await collections.update(SERVICE, COLLECTION, update);
      const second = await collections.get(SERVICE, COLLECTION);
      assert.equal(second.eTag, eTag);
      assert.deepEqual(second.intrinsicSettings, settings);
      await refused(collections.update(SERVICE, COLLECTION, update), 412, /ETag/);
      await collections.deleteMethod(SERVICE, COLLECTION);
      await refused(collections.get(SERVICE, COLLECTION), 404, /job collection jobs of/);
    });

    test('jobs are created, updated, listed and deleted', async () => {
      const { jobs } = await withCollection(way);
      const recurrence = { frequency: 'day', count: 3, schedule: { hours: [9], minutes: [0, 30] } };
      const action = httpAction('http://127.0.0.1:9/');
      const made = (await jobs.create({ startTime: START, action, recurrence })).job;
      assert.match(made.id, /^[0-9a-f]{32}$/);
      assert.equal(made.status.nextExecutionTime, '2100-01-01T09:00:00Z');
      const put = { startTime: START, action: queueAction };
      const queue = (await jobs.createOrUpdate('queue', put)).job;
      assert.equal(queue.action.type, 'storageQueue');
      const { storageAccountName, queueName, sasToken, message } = queue.action.queueMessage;
      assert.deepEqual(
        [storageAccountName, queueName, sasToken, message],
        ['account', 'queue', undefined, 'hello'],
      );
      const replaced = await jobs.createOrUpdate('queue', { ...put, recurrence });
      assert.deepEqual([replaced.statusCode, replaced.job.recurrence.count], [200, 3]);

      const states = async () =>
        Object.fromEntries((await jobs.list({})).jobs.map(({ id, state }) => [id, state]));
      const reason = { state: 'disabled', updateStateReason: 'at night' };
      await jobs.updateState('queue', reason);
      assert.deepEqual(await states(), { [made.id]: 'enabled', queue: 'disabled' });
      const filtered = await jobs.listWithFilter({ state: 'disabled', skip: 0, top: 100 });
      assert.deepEqual(filtered.jobs.map(({ id }) => id), ['queue']);
      await jobs.updateJobCollectionState({ state: 'disabled' });
      assert.deepEqual(await states(), { [made.id]: 'disabled', queue: 'disabled' });

      assert.equal((await jobs.get(made.id)).job.id, made.id);
      await jobs.deleteMethod(made.id);
      await refused(jobs.get(made.id), 404, /cannot be found/);
      assert.deepEqual(await states(), { queue: 'disabled' });
    });

    test('a job runs and has a history', async (context) => {
      const { jobs } = await withCollection(way);
      const { seen, uri } = await target(context);
      await jobs.createOrUpdate('job', { action: httpAction(uri) });
      const deadline = Date.now() + RUN_SECONDS * 1000;
      let job;
      do {
        assert.ok(Date.now() < deadline, JSON.stringify(job));
        await sleep(100);
        ({ job } = await jobs.get('job'));
      } while (job.state === 'enabled');
      assert.deepEqual([job.state, job.status.executionCount], ['completed', 1]);
      assert.deepEqual(seen, ['POST /hook 1']);

      const { jobHistory } = await jobs.getHistory('job', { skip: 0, top: 10 });
      const [{ id, status, state, actionName, message, ...times }, ...more] = jobHistory;
      assert.equal(more.length, 0);
      assert.deepEqual([id, status, state, actionName], ['job', 'completed', 'completed', 'MainAction']);
      assert.match(message, /^Http Action - Response from host '127.0.0.1': 'OK'/);
      assert.ok(times.startTime <= times.endTime && times.endTime === times.timestamp);
      const failed = await jobs.getHistoryWithFilter('job', { status: 'failed', skip: 0, top: 10 });
      assert.deepEqual(failed.jobHistory, []);
    });

    test('what is wrong is refused', async () => {
      const { collections, jobs } = await withCollection(way);
      const plan = { intrinsicSettings: { plan: 'Gold' } };
      await refused(collections.create(SERVICE, 'gold', plan), 400, /'Plan' cannot be 'Gold'/);
      const action = { type: 'carrierPigeon' };
      await refused(jobs.create({ action }), 400, /carrierPigeon/);
    });
  });
}

test('strangers are refused', async () => {
  const names = [randomUUID(), SERVICE, COLLECTION];
  const pem = readFileSync(process.env.MINUTEHAND_STRANGER_PEM, 'utf8');
  for (const { services } of [connect(URL, 'other', ...names), connectWithCertificate(URL, pem, ...names)]) {
    await refused(promised(services.cloudServices).list(), 403, /^The server failed to authenticate the request/);
  }
});
