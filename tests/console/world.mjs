// A server with the console, and a browser that watches what every page does.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { after, before, test } from 'node:test';

const modules = process.env.MINUTEHAND_MODULES;
const require = createRequire(join(modules, 'index.js'));
const { chromium } = require('playwright-core');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** The schedule's clock when a server starts: three hours before New York's clock goes forward. */
export const CLOCK_START = '2027-03-14T04:00:00Z';
export const SUBSCRIPTION = 'me';
export const GROUP = 'dev';
const READY_MS = 60_000;
/** How long a test waits for what should be on a page. */
const WAIT_MS = 15_000;
const TEST_MS = 120_000;
const TEXT_NODE = 3;

/** What ends with the tests, however they end. */
const children = new Set();
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

/** Waits until a process says where it listens. */
async function listening(process_, where = /listening on (http:\S+)\s/) {
  children.add(process_);
  let log = '';
  for (const stream of [process_.stdout, process_.stderr]) stream?.on('data', (data) => { log += data; });
  const url = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the server is not ready:\n${log}`)), READY_MS);
    process_.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${log}`)));
    process_.stdout.on('data', () => {
      const [, found] = where.exec(log) ?? [];
      if (!found) return;
      clearTimeout(timer);
      resolve(found);
    });
  });
  return { process_, url, log: () => log };
}

/** Waits until something is so. Nothing tells when it is, so it is asked again and again. */
export async function eventually(isSo, why) {
  const end = Date.now() + READY_MS;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(why());
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Starts the function of AWS behind a gateway, with the collection `jc` in `s`, `g`, and a target. */
export async function startFunction() {
  const { process_, url, log } = await listening(spawn(process.env.MINUTEHAND_FUNCTION, { stdio: ['pipe', 'pipe', 'inherit'] }));
  const [, target] = /^target (\S+)/.exec(log());
  const stop = () => new Promise((resolve) => {
    process_.removeAllListeners('exit');
    process_.once('exit', resolve);
    process_.stdin.end();
  });
  return { server: { url, token: 'open-sesame' }, target, stop };
}

/** Starts a server, with everything in memory unless a directory is given. */
export async function startServer({ data = null, args = ['--clock-start', CLOCK_START, '--allow-private-targets'], token = randomBytes(16).toString('hex'), env = {}, listen = '127.0.0.1:0' } = {}) {
  const auth = token === null ? ['--no-auth'] : ['--token', token];
  const { process_, url, log } = await listening(spawn(process.env.MINUTEHAND_BINARY, ['serve', ...(data ? ['--data', data] : ['--memory']), '--listen', listen, ...auth, ...args], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] }));
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
    collectionPath: collection,
    jobPath: (name, job) => `${collection(name)}/jobs/${job}`,
    run: (name, job) => call('POST', `${collection(name)}/jobs/${job}/run`),
    job: async (name, job) => (await call('GET', `${collection(name)}/jobs/${job}`)).json(),
    history: async (name, job) => ({ items: (await (await call('GET', `${collection(name)}/jobs/${job}/history`)).json()).value }),
    log,
    stop: () => ended(process_, 'SIGTERM'),
    kill: () => ended(process_, 'SIGKILL'),
  };
}

const ended = (process_, signal) => new Promise((resolve) => {
  process_.once('exit', resolve);
  process_.kill(signal);
});

/** Starts `minutehand console` for a server, and returns the link that it prints. */
export async function startBridge(server, ...args) {
  const { process_, url: link } = await listening(spawn(process.env.MINUTEHAND_BINARY, ['console', ...args], {
    env: { MINUTEHAND_URL: server.url, MINUTEHAND_TOKEN: server.token, HOME: '/nonexistent' },
    stdio: ['ignore', 'pipe', 'inherit'],
  }), /^console: (\S+)\s/);
  const stop = () => new Promise((resolve) => {
    process_.removeAllListeners('exit');
    process_.once('exit', resolve);
    process_.kill('SIGTERM');
  });
  return { link, url: new URL(link).origin, stop };
}

/** What a target says of its failures. */
export const REASON = 'read-only until 03:15, ticket OPS-4711';

/** A target of jobs: it answers with the status that stands in the path, unless another is set. */
export async function startTarget() {
  const seen = [];
  const answers = new Map();
  /** Requests that get no answer yet, by the paths that are held. */
  const held = new Map();
  const server = createServer((request, response) => {
    request.resume();
    seen.push(request.url);
    if (held.has(request.url)) return held.get(request.url).push(response);
    response.statusCode = answers.get(request.url) ?? Number(/\d{3}/.exec(request.url)?.[0] ?? 200);
    if (response.statusCode < 400) return response.end('{"said":"hello"}');
    response.setHeader('Content-Type', 'application/problem+json');
    return response.end(JSON.stringify({ title: 'Unavailable', detail: REASON }));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, seen, answers, hold: (path) => held.set(path, []), free: (path) => {
    const all = held.get(path) ?? [];
    held.delete(path);
    all.forEach((response) => response.end());
  }, stop: () => new Promise((resolve) => server.close(resolve)) };
}

export const daily = (uri, more = {}) => ({
  action: { type: 'Http', request: { method: 'POST', uri }, retryPolicy: { retryType: 'None' } },
  recurrence: { frequency: 'day', schedule: { hours: [2], minutes: [30] }, timeZone: 'America/New_York' },
  startTime: '2027-03-14T05:00:00Z',
  ...more,
});

let launched;

/** The one browser of a test file. What the machine says of letters, colours and graphics does not count. */
export const browser = () => (launched ??= chromium.launch({
  executablePath: process.env.MINUTEHAND_CHROMIUM,
  env: { ...process.env, FONTCONFIG_FILE: join(import.meta.dirname, 'fonts.conf') },
  args: ['--no-sandbox', '--disable-gpu', '--disable-lcd-text', '--force-color-profile=srgb', '--font-render-hinting=none'],
}));

export const closeBrowser = async () => (await launched)?.close();

/** Which errors are none: of answers; and of the style of the folder, which the tools of the browser ask the server for. */
const NO_FAULT = process.env.MINUTEHAND_DIST ? /Failed to load resource|Refused to apply style/ : /Failed to load resource/;
const TYPES = { '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.woff2': 'font/woff2' };

/** Answers the files of the console from a folder, in place of those in the binary: a change of them needs no build of it. */
async function fromFolder(context, folder) {
  const names = readdirSync(folder);
  await context.route((url) => url.pathname.startsWith('/console/'), async (route) => {
    const { pathname } = new URL(route.request().url());
    const name = pathname.slice('/console/'.length) || 'index.html';
    const found = names.find((one) => one === name || one === `${name}.gz`);
    const contentType = TYPES[extname(name)];
    if (!found || !contentType) return route.fallback();
    const bytes = readFileSync(join(folder, found));
    // The policy is that of the server.
    const { headers } = await fetch(new URL('/console/', route.request().url()), { method: 'HEAD' });
    return route.fulfill({ contentType, headers: { 'content-security-policy': headers.get('content-security-policy') }, body: found.endsWith('.gz') ? gunzipSync(bytes) : bytes });
  });
}

/**
 * Opens a tab of its own. What it does that it must not is collected: requests to other origins, the
 * token in a URL, violations of the policy, and errors of the script.
 */
export async function open(server, path = '', { signedIn = true, ...options } = {}) {
  const context = await (await browser()).newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options });
  if (process.env.MINUTEHAND_DIST) await fromFolder(context, process.env.MINUTEHAND_DIST);
  const faults = [];
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => {
      console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  if (signedIn && server.token) {
    await context.addInitScript((token) => sessionStorage.setItem('minutehand.token', token), server.token);
  }
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // The browser writes a line for each answer that is an error, which many tests want.
    if (message.type() === 'error' && !NO_FAULT.test(message.text())) faults.push(message.text());
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
      if (page.url().startsWith(server.url)) faults.push(...await machineFonts(page));
      // An answer that a test still gives fails with its page, which would fail the file.
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await context.unrouteAll({ behavior: 'ignoreErrors' });
      await context.close();
      if (faults.length > 0) throw new Error(faults.join('\n'));
    },
  };
}

export const place = (...parts) => `#/in/${SUBSCRIPTION}/${GROUP}/${parts.map(encodeURIComponent).join('/')}`;

const STANDARDS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa', 'best-practice'];

/**
 * What is wrong with a page, a line each: what axe finds in both themes, and text in a font of the machine.
 * Themes differ in their colours alone, so the second is asked for these. It runs outside the page's policy.
 */
export async function defects(page) {
  const found = await machineFonts(page);
  for (const [colorScheme, runOnly] of [['light', STANDARDS], ['dark', { type: 'rule', values: ['color-contrast'] }]]) {
    await page.emulateMedia({ colorScheme });
    found.push(...(await axeOnce(page, runOnly)).map((line) => `${colorScheme}: ${line}`));
  }
  await page.emulateMedia({ colorScheme: null });
  return found;
}

async function axeOnce(page, runOnly) {
  const session = await page.context().newCDPSession(page);
  const isThere = await session.send('Runtime.evaluate', { expression: 'typeof axe' });
  if (isThere.result.value === 'undefined') await session.send('Runtime.evaluate', { expression: AXE });
  const run = `axe.run(document, {runOnly: ${JSON.stringify(runOnly)}, resultTypes: ['violations']})
    .then((found) => JSON.stringify(found.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.target.join(' ') + ' ' + (node.any[0]?.message ?? node.all[0]?.message ?? '')).join(' | '))))`;
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', { expression: run, awaitPromise: true, returnByValue: true });
  await session.detach();
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return JSON.parse(result.value);
}

/** How often texts are looked at that seem to be drawn with a font of the machine. */
const LOOKS_MAX = 5;

/**
 * The texts of a page that are drawn with a font of the machine, a line each. The browser says for each text
 * of which fonts its letters are; a custom font is one that the page has brought.
 */
async function machineFonts(page) {
  let found = await lookForMachineFonts(page);
  // A text that has just appeared is drawn in a font of the machine until its own one is there.
  for (let look = 1; look < LOOKS_MAX && found.length > 0; look += 1) found = await lookForMachineFonts(page);
  return found;
}

async function lookForMachineFonts(page) {
  await page.evaluate(() => document.fonts.ready);
  const session = await page.context().newCDPSession(page);
  await session.send('DOM.enable');
  await session.send('CSS.enable');
  const { root } = await session.send('DOM.getDocument', { depth: -1, pierce: true });
  const lines = await Promise.all(textsIn(root).map(async ({ nodeId, nodeValue, pseudoType }) => {
    const { fonts } = await session.send('CSS.getPlatformFontsForNode', { nodeId }).catch((error) => {
      // A text that the page has removed meanwhile draws nothing.
      if (/Could not find node/.test(error.message)) return { fonts: [] };
      throw error;
    });
    return fonts.filter((font) => !font.isCustomFont).map((font) => `drawn in ${font.familyName}, a font of the machine: ${pseudoType ?? nodeValue}`);
  }));
  await session.detach();
  return lines.flat();
}

/** The texts below a node: those of fields, which the browser adds, and those of the style, too. */
function textsIn(node) {
  const { nodeType, pseudoType, children = [], shadowRoots = [], pseudoElements = [] } = node;
  if (nodeType === TEXT_NODE || pseudoType !== undefined) return [node];
  return [...children, ...shadowRoots, ...pseudoElements].flatMap(textsIn);
}

/** A name and a body that a page must not read as HTML. */
export const ODD = '<img src=x onerror=alert(1)>';

/** A server with jobs, and their target. */
export async function startWorld() {
  const [server, target] = await Promise.all([startServer(), startTarget()]);
  await server.putCollection('billing', { sku: { name: 'P20Premium' } });
  await server.putCollection('empty');
  await server.putCollection('off', { state: 'Disabled' });
  await server.putJob('billing', 'invoice-export', daily(`${target.url}/503`));
  await server.putJob('billing', 'odd', daily(`${target.url}/200`, { action: { type: 'Http', request: { method: 'POST', uri: `${target.url}/200`, body: ODD } } }));
  const tenant = (n) => server.putJob('billing', `tenant-${String(n).padStart(2, '0')}`, daily(`${target.url}/200`));
  await Promise.all(Array.from({ length: 40 }, (_, n) => tenant(n)));
  await server.run('billing', 'invoice-export');
  return { server, target, stop: () => Promise.all([server.stop(), target.stop()]) };
}

/**
 * Starts what a file of tests needs before them, and stops it and the browser after them. The result has
 * what was started, once it is there, and makes tests that open a page, use it, and fail for what the page
 * did that it must not.
 */
export function setUp(start = startWorld) {
  const world = {};
  before(async () => { Object.assign(world, await start()); });
  after(async () => {
    await closeBrowser();
    await world.stop?.();
  });
  const using = (name, path, use, options) => test(name, { timeout: TEST_MS }, async () => {
    const tab = await open(world.server, path, options);
    try {
      await use(tab.page, tab);
    } finally {
      await tab.close();
    }
  });
  return { world, using };
}

export const heading = (page, name) => page.getByRole('heading', { level: 1, name }).waitFor();

/** Answers a path in place of the server. */
export const instead = (page, path, answer) => page.route((url) => url.pathname.includes(path), answer);

/** Waits until nothing on a page is being read for the first time. */
export async function settled(page) {
  await page.locator('h1, [role=alert]').first().waitFor();
  await page.waitForFunction(() => document.querySelector('.skeleton') === null);
}

/** How often Tab is pressed to reach a part of the page. */
const TABS_MAX = 90;

/**
 * Presses Tab until a part of the page has the focus. The part is looked for once, as that takes longer than
 * the key; and again where the page has drawn another in its place.
 */
export async function tabTo(page, wanted) {
  await wanted.waitFor();
  let part = await wanted.elementHandle();
  for (let n = 0; n < TABS_MAX; n += 1) {
    const state = await part.evaluate((element) => (element.isConnected ? element === document.activeElement : 'gone'));
    if (state === true) return;
    if (state === 'gone') part = await wanted.elementHandle();
    else await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${wanted}`);
}

/** Unfolds steps of the editor that are folded, by their titles. */
export async function unfold(page, ...titles) {
  for (const title of titles) {
    const summary = page.locator('summary', { has: page.getByText(title, { exact: true }) });
    if (!(await summary.evaluate((element) => element.parentElement.open))) await press(page, summary, 'Enter');
  }
}

/** Reaches a part of the page by Tab, and presses keys there. */
export async function press(page, wanted, ...keys) {
  await tabTo(page, wanted);
  for (const key of keys) await page.keyboard.press(key);
}

export async function write(page, wanted, text) {
  await tabTo(page, wanted);
  await page.keyboard.press('Control+a');
  await page.keyboard.type(text);
}
