// A server with the console, and a browser that watches what every page does.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer as createSocket } from 'node:net';
import { join } from 'node:path';

const modules = process.env.MINUTEHAND_MODULES;
const require = createRequire(join(modules, 'index.js'));
const { chromium } = require('playwright-core');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** The schedule's clock when a server starts: three hours before New York's clock goes forward. */
export const CLOCK_START = '2027-03-14T04:00:00Z';
export const SUBSCRIPTION = 'me';
export const GROUP = 'dev';
const READY_MS = 60_000;

const freePort = () => new Promise((resolve, reject) => {
  const socket = createSocket();
  socket.once('error', reject);
  socket.listen(0, '127.0.0.1', () => {
    const { port } = socket.address();
    socket.close(() => resolve(port));
  });
});

/** Starts a server, with everything in memory unless a directory is given. */
export async function startServer({ data = null, args = ['--clock-start', CLOCK_START, '--allow-private-targets'], token = randomBytes(16).toString('hex') } = {}) {
  const port = await freePort();
  const listen = `127.0.0.1:${port}`;
  const auth = token === null ? ['--no-auth'] : ['--token', token];
  const process_ = spawn(process.env.MINUTEHAND_BINARY, ['serve', ...(data ? ['--data', data] : ['--memory']), '--listen', listen, ...auth, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const stream of [process_.stdout, process_.stderr]) stream.on('data', (data) => { log += data; });
  await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the server is not ready:\n${log}`)), READY_MS);
    process_.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${log}`)));
    process_.stdout.on('data', () => {
      if (!log.includes('listening on')) return;
      clearTimeout(timer);
      resolve();
    });
  });
  const url = `http://${listen}`;
  const collection = (name) => `/subscriptions/${SUBSCRIPTION}/resourceGroups/${GROUP}/providers/Microsoft.Scheduler/jobCollections/${name}`;
  const call = async (method, path, body) => {
    const response = await fetch(`${url}${path}?api-version=2016-03-01`, {
      method,
      headers: { ...(token && { Authorization: `Bearer ${token}` }), 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  return {
    url,
    token,
    call,
    putCollection: (name, properties = {}) => call('PUT', collection(name), { properties }),
    putJob: (name, job, properties) => call('PUT', `${collection(name)}/jobs/${job}`, { properties }),
    jobPath: (name, job) => `${collection(name)}/jobs/${job}`,
    run: (name, job) => call('POST', `${collection(name)}/jobs/${job}/run`),
    job: async (name, job) => (await call('GET', `${collection(name)}/jobs/${job}`)).json(),
    history: async (name, job) => ({ items: (await (await call('GET', `${collection(name)}/jobs/${job}/history`)).json()).value }),
    log: () => log,
    stop: () => new Promise((resolve) => {
      process_.once('exit', resolve);
      process_.kill('SIGTERM');
    }),
  };
}

/** Starts `minutehand console` for a server, and returns the link that it prints. */
export async function startBridge(server, ...args) {
  const process_ = spawn(process.env.MINUTEHAND_BINARY, ['console', ...args], {
    env: { MINUTEHAND_URL: server.url, MINUTEHAND_TOKEN: server.token, HOME: '/nonexistent' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const link = await new Promise((resolve, reject) => {
    process_.once('exit', (code) => reject(new Error(`minutehand console ended with ${code}`)));
    process_.stdout.once('data', (data) => resolve(/^console: (\S+)/.exec(data)[1]));
  });
  const stop = () => new Promise((resolve) => {
    process_.removeAllListeners('exit');
    process_.once('exit', resolve);
    process_.kill('SIGTERM');
  });
  return { link, url: new URL(link).origin, stop };
}

/** A target of jobs: it answers with the status that stands in the path, unless another is set. */
export async function startTarget() {
  const seen = [];
  const answers = new Map();
  const server = createServer((request, response) => {
    request.resume();
    seen.push(request.url);
    response.statusCode = answers.get(request.url) ?? Number(/\d{3}/.exec(request.url)?.[0] ?? 200);
    response.end('{"said":"hello"}');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, seen, answers, stop: () => new Promise((resolve) => server.close(resolve)) };
}

export const daily = (uri, more = {}) => ({
  action: { type: 'Http', request: { method: 'POST', uri }, retryPolicy: { retryType: 'None' } },
  recurrence: { frequency: 'day', schedule: { hours: [2], minutes: [30] }, timeZone: 'America/New_York' },
  startTime: '2027-03-14T05:00:00Z',
  ...more,
});

let launched;

/** The one browser of a test file. */
export const browser = () => (launched ??= chromium.launch({
  executablePath: process.env.MINUTEHAND_CHROMIUM,
  args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb', '--font-render-hinting=none'],
}));

export const closeBrowser = async () => (await launched)?.close();

/**
 * Opens a tab of its own. What it does that it must not is collected: requests to other origins, the
 * token in a URL, violations of the policy, and errors of the script.
 */
export async function open(server, path = '', { signedIn = true, ...options } = {}) {
  const context = await (await browser()).newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options });
  const faults = [];
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => {
      console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  if (signedIn && server.token) {
    await context.addInitScript((token) => sessionStorage.setItem('minutehand.token', token), server.token);
  }
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // The browser writes a line for each answer that is an error, which many tests want.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) faults.push(message.text());
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(server.url) && !url.startsWith('data:')) faults.push(`foreign request: ${url}`);
    if (server.token && url.includes(server.token)) faults.push(`token in a URL: ${url}`);
  });
  await page.goto(`${server.url}/console/${path}`);
  return {
    page,
    faults,
    close: async () => {
      await context.close();
      if (faults.length > 0) throw new Error(faults.join('\n'));
    },
  };
}

export const place = (...parts) => `#/in/${SUBSCRIPTION}/${GROUP}/${parts.map(encodeURIComponent).join('/')}`;

/** What axe finds wrong with a page, a line each. It runs outside the page's policy. */
export async function axe(page) {
  const session = await page.context().newCDPSession(page);
  const run = `${AXE}; axe.run(document, {runOnly: ['wcag2a','wcag2aa','wcag21a','wcag21aa','wcag22aa','best-practice']})
    .then((found) => JSON.stringify(found.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.target.join(' ') + ' ' + (node.any[0]?.message ?? node.all[0]?.message ?? '')).join(' | '))))`;
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', { expression: run, awaitPromise: true, returnByValue: true });
  await session.detach();
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return JSON.parse(result.value);
}
