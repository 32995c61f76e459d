// Calls of the API, always on the origin that the console came from.
import { signal } from '@preact/signals';
import type {
  AlertTest,
  Check,
  Collection,
  Coming,
  Converted,
  DeadLetter,
  Description,
  Entry,
  Failure,
  FoundJob,
  Job,
  JobRow,
  Letters,
  Load,
  Me,
  OverviewData,
  Page,
  PastOccurrence,
  PingUrl,
  Place,
  Preview,
  Problem,
  Process,
  Upcoming,
  WallData,
  Why,
} from './answers';

export const VERSION = 'api-version=2016-03-01';
const TOKEN = 'minutehand.token';

/** What the API refused, or why it could not be reached (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly target: string | null = null,
    readonly requestId: string | null = null,
    readonly retryAfter: number | null = null,
    readonly fixes: Problem['fixes'] = [],
  ) {
    super(message);
  }
}

/** The token of this tab, or of this computer if that is wanted. */
export const token = signal<string | null>(sessionStorage.getItem(TOKEN) ?? localStorage.getItem(TOKEN));
/** Whether the last answer was that the token is missing or not valid. */
export const isRefused = signal(false);
/** The server's instant minus this machine's, in milliseconds, at the last answer. */
export const clockOffset = signal(0);

/** The last overview that was read, and of which subscription. */
export const seen = signal<{ subscription: string; found: OverviewData } | null>(null);

export function signIn(value: string, remember: boolean) {
  signOut();
  token.value = value;
  (remember ? localStorage : sessionStorage).setItem(TOKEN, value);
  isRefused.value = false;
}

export function signOut() {
  token.value = null;
  sessionStorage.removeItem(TOKEN);
  localStorage.removeItem(TOKEN);
}

/** Takes a token out of the address (`#token=…`), and removes it from there at once. */
export function takeToken() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (!found?.[1]) return;
  history.replaceState(null, '', location.pathname);
  let sent = found[1];
  try {
    sent = decodeURIComponent(sent);
  } catch {
    // It was not encoded: the server tells whether it is a token.
  }
  signIn(sent, false);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

const NOT_MODIFIED = 304;

async function send(
  method: string,
  path: string,
  body?: unknown,
  etag?: string | null,
  known?: string,
): Promise<Response> {
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (token.value) headers.Authorization = `Bearer ${token.value}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (etag) headers['If-Match'] = etag;
  if (known) headers['If-None-Match'] = known;
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      cache: 'no-store',
      credentials: 'omit',
    });
  } catch {
    throw new ApiError(0, 'Unreachable', 'The server cannot be reached.');
  }
  if (response.ok || response.status === NOT_MODIFIED) return response;
  if (response.status === 401) isRefused.value = true;
  throw await refusal(response);
}

async function refusal(response: Response): Promise<ApiError> {
  let error: { code?: unknown; message?: unknown; target?: unknown; fixes?: Problem['fixes'] } = {};
  try {
    error = ((await response.json()) as { error?: typeof error }).error ?? {};
  } catch {
    // Something between here and the server answered, and not in JSON.
  }
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  const wait = Number(response.headers.get('retry-after'));
  return new ApiError(
    response.status,
    text(error.code) ?? `Status${response.status}`,
    text(error.message) ?? `The server answered ${response.status} without an explanation.`,
    text(error.target),
    response.headers.get('x-ms-request-id'),
    Number.isFinite(wait) && wait > 0 ? wait : null,
    error.fixes,
  );
}

/** What happens from now on, or from after an event on, as a stream. */
export async function events(after: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const path = `/minutehand/v1/live${after && `?after=${encodeURIComponent(after)}`}`;
  const headers: Record<string, string> = {};
  if (token.value) headers.Authorization = `Bearer ${token.value}`;
  const response = await fetch(path, { headers, signal, cache: 'no-store', credentials: 'omit' });
  if (!response.ok || !response.body) throw await refusal(response);
  return response.body;
}

/** Answers that were read, and their versions: one that is still the same is not sent again. */
const known = new Map<string, { etag: string; answer: unknown }>();
/** How many are kept. */
const KNOWN_MAX = 40;

async function json<T>(
  method: string,
  path: string,
  body?: unknown,
  etag?: string | null,
  noneOf?: string,
): Promise<T> {
  const isRead = method === 'GET' && path.startsWith('/minutehand/');
  const old = isRead ? known.get(path) : undefined;
  const response = await send(method, path, body, etag, noneOf ?? old?.etag);
  if (response.status === NOT_MODIFIED && old) return old.answer as T;
  try {
    const answer = (await response.json()) as T;
    const version = response.headers.get('etag');
    if (isRead) known.delete(path);
    if (isRead && version) known.set(path, { etag: version, answer });
    if (known.size > KNOWN_MAX) known.delete(known.keys().next().value ?? '');
    return answer;
  } catch {
    const id = response.headers.get('x-ms-request-id');
    throw new ApiError(response.status, 'Malformed', 'The answer is not JSON.', null, id, null);
  }
}

const enc = encodeURIComponent;

export function collectionPath(place: Place, name = ''): string {
  const base = `/subscriptions/${enc(place.subscription)}/resourceGroups/${enc(place.group)}`;
  return `${base}/providers/Microsoft.Scheduler/jobCollections${name && `/${enc(name)}`}`;
}

export const jobPath = (place: Place, collection: string, job: string) =>
  `${collectionPath(place, collection)}/jobs/${enc(job)}`;

const ownPath = (place: Place, collection: string, job: string) =>
  `/minutehand/v1/subscriptions/${enc(place.subscription)}/resourceGroups/${enc(place.group)}` +
  `/jobCollections/${enc(collection)}/jobs/${enc(job)}`;

/** A page of a list of ARM. Only the position is taken from its link, which may name another host. */
async function page<T>(path: string, query: string, from: string | null): Promise<Page<T>> {
  const position = from === null ? '' : `&$skiptoken=${enc(from)}`;
  const answer = await json<{ value: T[]; nextLink?: string }>('GET', `${path}?${VERSION}${query}${position}`);
  let next: string | null = null;
  if (answer.nextLink) {
    const link = new URL(answer.nextLink, location.origin).searchParams;
    next = link.get('$skiptoken') ?? link.get('$skipToken');
  }
  return { items: answer.value, next };
}

const ownCollection = (place: Place, collection: string) =>
  `/minutehand/v1/subscriptions/${enc(place.subscription)}/resourceGroups/${enc(place.group)}` +
  `/jobCollections/${enc(collection)}`;

/** How many answers a count of occurrences is put together of. */
const LOAD_PAGES_MAX = 20;
/** How many of the fullest instants are kept. */
const PEAKS_MAX = 5;

/** How many collections an overview has, and how many failures are read. */
const LINES_MAX = 1_000;
const FAILURES_MAX = 500;

/** How many occurrences of a job are read at a time. */
const OCCURRENCES = 50;

/** How many subscriptions are looked through for groups. */
const SUBSCRIPTIONS_MAX = 5;

const ownSubscription = (place: Place) => `/minutehand/v1/subscriptions/${enc(place.subscription)}`;

const WORDS = [
  'name',
  'state',
  'sentence',
  'zone',
  'next',
  'target',
  'recent',
  'runningSince',
  'waitingSince',
  'snoozedUntil',
] as const;
const NUMBERS = ['executions', 'failures', 'faulted'] as const;

/** Rows come as arrays, whose columns are named once: a column that is not there is empty. */
function rowsOf(columns: string[], items: unknown[][]): JobRow[] {
  const place = new Map(columns.map((name, index) => [name, index]));
  const value = (item: unknown[], name: string) => item[place.get(name) ?? -1];
  return items.map((item) => {
    const words = WORDS.map((name) => [name, value(item, name) ?? null]);
    const numbers = NUMBERS.map((name) => [name, Number(value(item, name) ?? 0)]);
    return Object.fromEntries([...words, ...numbers]) as JobRow;
  });
}

/** The collection of a first job that names none. */
export const FIRST_COLLECTION = 'default';

export const api = {
  async me(): Promise<Me> {
    const sent = Date.now();
    const me = await json<Me>('GET', '/minutehand/v1/me');
    clockOffset.value = Date.parse(me.now) - (sent + Date.now()) / 2;
    return me;
  },
  /** Groups with collections, of the first subscriptions and the first page of each. */
  async places(): Promise<Place[]> {
    const { items } = await json<{ items: { name: string }[] }>('GET', '/minutehand/v1/subscriptions');
    const pages = items.slice(0, SUBSCRIPTIONS_MAX).map(async ({ name: subscription }) => {
      const found = await page<{ id: string }>(
        `/subscriptions/${enc(subscription)}/providers/Microsoft.Scheduler/jobCollections`,
        '',
        null,
      );
      const groups = new Set(found.items.map(({ id }) => id.split('/')[4] ?? ''));
      return [...groups].map((group) => ({ subscription, group }));
    });
    return (await Promise.all(pages)).flat();
  },
  processes: () => json<{ items: Process[] }>('GET', '/minutehand/v1/processes'),
  zones: () => json<{ names: string[] }>('GET', '/minutehand/v1/zones'),
  preview: (body: unknown) => json<Preview>('POST', '/minutehand/v1/preview', body),
  /** What the API says about a new definition, or with `patch` about a change of it. */
  check: (place: Place, collection: string, job: string, properties: unknown, as: 'put' | 'patch' = 'put') =>
    json<Check>('POST', `${ownPath(place, collection, job)}/check?as=${as}`, { properties }),
  coming: (place: Place, collection: string, job: string, count = 10) =>
    json<Coming>('GET', `${ownPath(place, collection, job)}/next?count=${count}`),
  describe: (place: Place, collection: string, job: string) =>
    json<Description>('GET', ownPath(place, collection, job)),
  collections: (place: Place, from: string | null) => page<Collection>(collectionPath(place), '', from),
  collection: (place: Place, name: string) => json<Collection>('GET', `${collectionPath(place, name)}?${VERSION}`),
  /** Why the API would refuse a collection, or a change of it. */
  problemsOf: async (place: Place, name: string, body: unknown, as: 'put' | 'patch') =>
    (await json<Check>('POST', `${ownCollection(place, name)}/check`, { collection: { as, body } })).problems,
  putCollection: (place: Place, name: string, body: unknown) =>
    json<Collection>('PUT', `${collectionPath(place, name)}?${VERSION}`, body),
  /** Makes the first collection, as the command line does: a job needs one. */
  makeFirstCollection: (place: Place) =>
    json<Collection>('PUT', `${collectionPath(place, FIRST_COLLECTION)}?${VERSION}`, { properties: {} }),
  async switchCollection(place: Place, name: string, on: boolean) {
    const verb = on ? 'enable' : 'disable';
    await send('POST', `${collectionPath(place, name)}/${verb}?${VERSION}`);
  },
  testAlert: (place: Place, name: string) => json<AlertTest>('POST', `${ownCollection(place, name)}/alert/test`),
  async deleteCollection(place: Place, name: string) {
    await send('DELETE', `${collectionPath(place, name)}?${VERSION}`);
  },
  async rows(
    place: Place,
    collection: string,
    prefix: string,
    limit: number,
    from: string | null,
  ): Promise<Page<JobRow>> {
    const query = new URLSearchParams({ limit: String(limit) });
    if (prefix) query.set('prefix', prefix);
    if (from !== null) query.set('position', from);
    const answer = await json<{ columns: string[]; items: unknown[][]; position: string | null }>(
      'GET',
      `${ownCollection(place, collection)}/rows?${query}`,
    );
    return { items: rowsOf(answer.columns, answer.items), next: answer.position };
  },
  async overview(place: Place): Promise<OverviewData> {
    const found = await json<OverviewData>('GET', `${ownSubscription(place)}/overview?collections=${LINES_MAX}`);
    seen.value = { subscription: place.subscription, found };
    return found;
  },
  wall: (place: Place, back: number, ahead: number) =>
    json<WallData>('GET', `${ownSubscription(place)}/wall?back=${back}&ahead=${ahead}`),
  find: (place: Place, text: string, limit: number) =>
    json<{ items: FoundJob[]; isWhole: boolean }>(
      'GET',
      `${ownSubscription(place)}/find?${new URLSearchParams({ q: text, limit: String(limit) })}`,
    ),
  upcoming: (place: Place, query: Record<string, string>) =>
    json<Upcoming>('GET', `${ownSubscription(place)}/upcoming?${new URLSearchParams(query)}`),
  failures(place: Place, since: Date, from: string | null = null, only: Record<string, string> = {}) {
    const query = new URLSearchParams({ ...only, limit: String(FAILURES_MAX), since: since.toISOString() });
    if (from !== null) query.set('position', from);
    return json<{ items: Failure[]; position: string | null }>('GET', `${ownSubscription(place)}/failures?${query}`);
  },
  deadLetters: () => json<{ about: number; items: DeadLetter[] }>('GET', '/minutehand/v1/deadletters'),
  redrive: (letters: Letters) => json<{ moved: number }>('POST', '/minutehand/v1/deadletters/redrive', letters),
  deleteLetters: (letters: Letters) => json<{ deleted: number }>('POST', '/minutehand/v1/deadletters/delete', letters),
  /** Each answer counts some of the jobs: together they are all. */
  async load(place: Place, query: Record<string, string>): Promise<Load> {
    const whole: Load = { from: '', counts: [], starts: null, jobs: 0, top: [], far: [], isWhole: false };
    let position: string | null = null;
    for (let read = 0; read < LOAD_PAGES_MAX; read += 1) {
      const asked = new URLSearchParams(query);
      if (position !== null) asked.set('position', position);
      const page: Omit<Load, 'isWhole'> & { position: string | null } = await json(
        'GET',
        `${ownSubscription(place)}/load?${asked}`,
      );
      whole.from = page.from;
      whole.starts = page.starts;
      whole.jobs += page.jobs;
      whole.counts = page.counts.map((count, step) => count + (whole.counts[step] ?? 0));
      whole.top = [...whole.top, ...page.top].sort((a, b) => b.count - a.count).slice(0, PEAKS_MAX);
      whole.far.push(...page.far);
      position = page.position;
      if (position === null) break;
    }
    whole.isWhole = position === null;
    return whole;
  },
  why: (place: Place, collection: string, job: string, at: string) =>
    json<Why>('GET', `${ownPath(place, collection, job)}/why?at=${enc(at)}`),
  convert: (body: unknown) => json<Converted>('POST', '/minutehand/v1/convert', body),
  async hasJob(place: Place, collection: string, job: string): Promise<boolean> {
    try {
      await send('GET', `${jobPath(place, collection, job)}?${VERSION}`);
      return true;
    } catch (thrown) {
      if (thrown instanceof ApiError && thrown.status === 404) return false;
      throw thrown;
    }
  },
  async journal(place: Place, collection: string, job: string, from: string | null): Promise<Page<Entry>> {
    const query = new URLSearchParams();
    if (job) query.set('job', job);
    if (from !== null) query.set('position', from);
    const answer = await json<{ items: Entry[]; position: string | null }>(
      'GET',
      `${ownCollection(place, collection)}/journal?${query}`,
    );
    return { items: answer.items, next: answer.position };
  },
  /** A job as it is stored, and the version of that. */
  async job(place: Place, collection: string, job: string): Promise<Job & { etag: string | null }> {
    const response = await send('GET', `${jobPath(place, collection, job)}?${VERSION}`);
    return { ...((await response.json()) as Job), etag: response.headers.get('etag') };
  },
  putJob: (place: Place, collection: string, job: string, properties: unknown) =>
    json<Job>('PUT', `${jobPath(place, collection, job)}?${VERSION}`, { properties }),
  /** Makes a job; one of this name that is there is not replaced. */
  putNewJob: (place: Place, collection: string, job: string, properties: unknown) =>
    json<Job>('PUT', `${jobPath(place, collection, job)}?${VERSION}`, { properties }, null, '*'),
  /** Changes a job; with `etag` only while it is still that version. */
  patchJob: (place: Place, collection: string, job: string, properties: unknown, etag?: string | null) =>
    json<Job>('PATCH', `${jobPath(place, collection, job)}?${VERSION}`, { properties }, etag),
  patchCollection: (place: Place, name: string, body: unknown) =>
    json<Collection>('PATCH', `${collectionPath(place, name)}?${VERSION}`, body),
  async deleteJob(place: Place, collection: string, job: string) {
    await send('DELETE', `${jobPath(place, collection, job)}?${VERSION}`);
  },
  async run(place: Place, collection: string, job: string) {
    await send('POST', `${jobPath(place, collection, job)}/run?${VERSION}`);
  },
  async resume(place: Place, collection: string, job: string) {
    await send('POST', `${ownPath(place, collection, job)}/resume`);
  },
  async redriveOccurrence(place: Place, collection: string, job: string, at: string) {
    await send('POST', `${ownPath(place, collection, job)}/occurrences/${enc(at)}/redrive`);
  },
  pingUrl: (place: Place, collection: string, job: string) =>
    json<PingUrl>('POST', `${ownPath(place, collection, job)}/pingUrl`),
  async rotatePing(place: Place, collection: string, job: string) {
    await send('POST', `${ownPath(place, collection, job)}/rotatePing`);
  },
  async cancelOccurrence(place: Place, collection: string, job: string, at: string) {
    await send('POST', `${ownPath(place, collection, job)}/occurrences/${enc(at)}/cancel`);
  },
  /** Occurrences from a position on, or those before an instant. */
  async occurrences(
    place: Place,
    collection: string,
    job: string,
    from: string | null,
    by: 'position' | 'before' = 'position',
  ): Promise<Page<PastOccurrence>> {
    const query = new URLSearchParams({ limit: String(OCCURRENCES) });
    if (from !== null) query.set(by, from);
    const answer = await json<{ items: PastOccurrence[]; position: string | null }>(
      'GET',
      `${ownPath(place, collection, job)}/occurrences?${query}`,
    );
    return { items: answer.items, next: answer.position };
  },
};
