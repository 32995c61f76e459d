'use strict';

// A client with a subscription of its own for each test, so that tests do not affect each other.

const assert = require('node:assert/strict');
const { randomUUID } = require('node:crypto');

const moment = require('moment');

const { connect } = require('./connect.js');

const URL = process.env.MINUTEHAND_URL;
const TOKEN = process.env.MINUTEHAND_TOKEN;
const GROUP = 'Group 1';

class World {
  constructor() {
    this.subscription = randomUUID();
    this.client = connect(URL, TOKEN, this.subscription);
    this.collections = this.client.jobCollections;
    this.jobs = this.client.jobs;
  }

  // The same subscription, with another token.
  stranger() {
    return connect(URL, 'another', this.subscription);
  }

  idOf(collection, job) {
    const id =
      `/subscriptions/${this.subscription}/resourceGroups/${GROUP}` +
      `/providers/Microsoft.Scheduler/jobCollections/${collection}`;
    return job === undefined ? id : `${id}/jobs/${job}`;
  }

  // Sends a request past the client, for what its models lack, and returns the answer's JSON.
  async send(method, path, body) {
    const answer = await fetch(`${URL}${encodeURI(path)}?api-version=2016-03-01`, {
      method,
      headers: { Authorization: `Bearer ${TOKEN}` },
      body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    assert.ok(answer.ok, text);
    return JSON.parse(text);
  }

  // Creates a collection with the plan Standard, and returns its name.
  async standard() {
    await this.collections.createOrUpdate(GROUP, 'Collection', { location: 'westus' });
    return 'Collection';
  }

  // Creates a collection with room for a thousand jobs, and returns its name.
  async big() {
    const properties = { sku: { name: 'P20Premium' } };
    await this.collections.createOrUpdate(GROUP, 'Big', { location: 'westus', properties });
    return 'Big';
  }

  // The answers of create, get, patch and list for one job. The patch changes nothing.
  async everywhere(collection, properties) {
    const state = properties.state ?? 'Enabled';
    return {
      create: await this.jobs.createOrUpdate(GROUP, collection, 'job', { properties }),
      get: await this.jobs.get(GROUP, collection, 'job'),
      patch: await this.jobs.patch(GROUP, collection, 'job', { properties: { state } }),
      list: (await this.jobs.list(GROUP, collection)).find((job) => job.name.endsWith('/job')),
    };
  }

  // The jobs of a collection, with one list for each page.
  async pages(collection, options) {
    const pages = [await this.jobs.list(GROUP, collection, options)];
    while (pages.at(-1).nextLink) {
      pages.push(await this.jobs.listNext(pages.at(-1).nextLink));
    }
    return pages;
  }
}

// The properties that the client read from an answer, with durations and dates as ISO 8601.
function read(value) {
  if (moment.isDuration(value)) return value.toISOString();
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(read);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, read(inner)]);
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined));
}

async function refused(promise, status, code) {
  const error = await promise.then(
    () => assert.fail('the request was not refused'),
    (error) => error,
  );
  assert.deepEqual([error.statusCode, error.body?.code ?? error.code], [status, code]);
  return error.body?.message ?? error.message;
}

module.exports = { GROUP, World, read, refused };
