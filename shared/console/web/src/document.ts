import type { Document, JobProperties } from './answers';
import { timeOfDay } from './clock';
import { DAY, HOUR, MINUTE } from './spans';

export type Often = 'once' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';

export const OFTEN: readonly (readonly [Often, string])[] = [
  ['once', 'Once'],
  ['minute', 'Minutes'],
  ['hour', 'Hours'],
  ['day', 'Day'],
  ['week', 'Week'],
  ['month', 'Month'],
  ['year', 'Year'],
];

const object = (value: unknown): Document =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Document) : {};

/** The value at a path such as `action.request.uri`. */
export function at(document: Document, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => object(value)[name], document);
}

export const text = (document: Document, path: string): string => {
  const value = at(document, path);
  return value === undefined || value === null ? '' : String(value);
};

/** The document with a value at a path; `undefined` removes it, and what it leaves empty around it. */
export function put(document: Document, path: string, value: unknown): Document {
  const [name = '', ...rest] = path.split('.');
  const next = { ...document };
  const inner = rest.length === 0 ? value : put(object(document[name]), rest.join('.'), value);
  const isEmpty = inner === undefined || (rest.length > 0 && Object.keys(object(inner)).length === 0);
  if (isEmpty) delete next[name];
  else next[name] = inner;
  return next;
}

/** What has no effect on a job that expects pings: the server refuses it. */
const SENDING =
  'action.retryPolicy action.errorAction minutehand.retry minutehand.timeout minutehand.completion minutehand.sign minutehand.template minutehand.catchUp minutehand.maxLateness minutehand.jitter minutehand.overlap'.split(
    ' ',
  );

export const expectsPings = (document: JobProperties) => /^expect$/i.test(text(document, 'action.type'));

/** Whether a property has no effect on a job. */
export const isIdle = (document: JobProperties, path: string) =>
  expectsPings(document) && SENDING.some((one) => path.startsWith(one));

/** The document of a job that expects pings from now on, and what it does not keep. */
export function expecting(document: JobProperties): { document: JobProperties; dropped: string[] } {
  const dropped = SENDING.filter((path) => at(document, path) !== undefined);
  const rest = dropped.reduce((next, path) => put(next, path, undefined), document as Document);
  return { document: put(rest, 'action', { type: 'Expect', expect: {} }), dropped };
}

export function often(document: JobProperties): Often {
  const name = text(document, 'recurrence.frequency').toLowerCase();
  return OFTEN.find(([one]) => one === name)?.[0] ?? 'once';
}

/** Which parts of a schedule each frequency takes. */
const TAKES: Record<Often, string[]> = {
  once: [],
  minute: [],
  hour: ['minutes'],
  day: ['hours', 'minutes'],
  week: ['hours', 'minutes', 'weekDays'],
  month: ['hours', 'minutes', 'monthDays', 'monthlyOccurrences', 'months'],
  year: ['hours', 'minutes', 'monthDays', 'monthlyOccurrences', 'months'],
};

export function withOften(document: Document, to: Often): Document {
  if (to === 'once') return put(document, 'recurrence', undefined);
  let next = put(document, 'recurrence.frequency', to);
  for (const part of Object.keys(object(at(next, 'recurrence.schedule')))) {
    if (!TAKES[to].includes(part)) next = put(next, `recurrence.schedule.${part}`, undefined);
  }
  return next;
}

const STEPS: Partial<Record<Often, number>> = { minute: MINUTE, hour: HOUR, day: DAY, week: 7 * DAY };

/** An instant some months later, on the last day of a month that is too short. */
function monthsAfter(at: number, months: number): number {
  const date = new Date(at);
  const next = new Date(at);
  next.setUTCMonth(date.getUTCMonth() + months);
  if (next.getUTCDate() !== date.getUTCDate()) next.setUTCDate(0);
  return next.getTime();
}

/**
 * The document with the start that a new job gets if it names none, so that it does not fire at once: an
 * interval begins one interval from now, times of the day at the next minute. The command line does the same.
 */
export function withStart(document: JobProperties, now: number): JobProperties {
  const kind = often(document);
  if (kind === 'once' || at(document, 'startTime') !== undefined) return document;
  const minute = Math.floor(now / MINUTE) * MINUTE;
  const interval = at(document, 'recurrence.interval') ?? 1;
  // What the server refuses needs no start.
  if (typeof interval !== 'number' || !(interval > 0)) return document;
  const step = STEPS[kind];
  const start =
    at(document, 'recurrence.schedule') !== undefined
      ? Math.ceil(now / MINUTE) * MINUTE
      : step
        ? minute + interval * step
        : monthsAfter(minute, interval * (kind === 'year' ? 12 : 1));
  return Number.isNaN(new Date(start).getTime()) ? document : { ...document, startTime: isoSeconds(start) };
}

/** An instant as a document has it, without fractions of a second. */
export const isoSeconds = (at: number) => new Date(at).toISOString().replace('.000Z', 'Z');

const numbers = (value: unknown): number[] =>
  (Array.isArray(value) ? value : []).filter((one): one is number => typeof one === 'number');
const two = (value: number) => String(value).padStart(2, '0');

/** The times of a day as one text: `02:30, 14:30`. */
export function times(document: Document): string {
  const hours = numbers(at(document, 'recurrence.schedule.hours'));
  const minutes = numbers(at(document, 'recurrence.schedule.minutes'));
  if (hours.length === 0) return '';
  const each = minutes.length === 0 ? [0] : minutes;
  return hours.flatMap((hour) => each.map((minute) => `${two(hour)}:${two(minute)}`)).join(', ');
}

/**
 * The document with the times of a text. A schedule pairs every hour with every minute, so times that
 * are no such pairing are refused, with what to do.
 */
export function withTimes(document: Document, written: string): { document: Document; problem: string | null } {
  const parts = written
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
  if (parts.length === 0) {
    const next = put(put(document, 'recurrence.schedule.hours', undefined), 'recurrence.schedule.minutes', undefined);
    return { document: next, problem: null };
  }
  // An hour alone is one of the clock.
  const read = parts.map((part) => timeOfDay(/^\d\d?$/.test(part) ? `${part}:00` : part));
  const bad = parts.find((_, place) => read[place] === null);
  if (bad !== undefined)
    return { document, problem: `“${bad}” is not a time; write hours and minutes, such as 02:30.` };
  const pairs = read.map((time) => [Number(time?.slice(0, 2)), Number(time?.slice(3))] as const);
  const hours = [...new Set(pairs.map(([hour]) => hour))];
  const minutes = [...new Set(pairs.map(([, minute]) => minute))];
  const have = new Set(pairs.map(([hour, minute]) => `${hour}:${minute}`));
  if (hours.length * minutes.length !== have.size) {
    return {
      document,
      problem: 'One job fires at the same minutes of each hour; make a job for each of the other times.',
    };
  }
  const next = put(put(document, 'recurrence.schedule.hours', hours), 'recurrence.schedule.minutes', minutes);
  return { document: next, problem: null };
}

type DayPart = 'weekDays' | 'monthDays' | 'months';

/** The days or months that are chosen of a part of the schedule. */
export function days(document: Document, part: DayPart): (string | number)[] {
  const value = at(document, `recurrence.schedule.${part}`);
  return (Array.isArray(value) ? value : []) as (string | number)[];
}

export function toggleDay(document: Document, part: DayPart, day: string | number): Document {
  const same = (one: string | number) => String(one).toLowerCase() === String(day).toLowerCase();
  const old = days(document, part);
  const next = old.some(same) ? old.filter((one) => !same(one)) : [...old, day];
  return put(document, `recurrence.schedule.${part}`, next.length === 0 ? undefined : next);
}

const isObject = (value: unknown): value is Document =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/**
 * What a PATCH has to say so that one document becomes another: `null` removes. What is the same is not
 * sent, so secrets, which no answer contains, stay as they are. A schedule is replaced whole.
 */
export function changes(from: Document, to: Document): Document {
  const changed: Document = {};
  for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [old, next] = [from[name], to[name]];
    if (JSON.stringify(old) === JSON.stringify(next)) continue;
    if (next === undefined) changed[name] = null;
    else changed[name] = name !== 'schedule' && isObject(old) && isObject(next) ? changes(old, next) : next;
  }
  return changed;
}

/** A document after a JSON merge patch: objects merge, `null` removes, all else replaces. */
export function merged(document: Document, patch: Document): Document {
  const next = { ...document };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete next[name];
    else next[name] = isObject(value) ? merged(object(next[name]), value) : value;
  }
  return next;
}

/** The line of a JSON text that a property stands on, from 1; `null` if it is not there. */
export function lineOf(json: string, target: string): number | null {
  const names = target
    .replace(/^properties\./, '')
    .split('.')
    .filter((name) => !/^\d+$/.test(name));
  const lines = json.split('\n');
  let line = 0;
  let found: number | null = null;
  for (const name of names) {
    const next = lines.findIndex((one, place) => place >= line && one.includes(`"${name}"`));
    if (next < 0) break;
    found = next + 1;
    line = next;
  }
  return found;
}

/** Names of properties, headers and parameters of a query whose values are secrets. */
const SECRET = /password|secret|pfx|token|authorization|cookie|^sasKey$|-key$/i;
const SECRET_PARAMETER = /([?&](?:code|sig|key|token|api_key|apikey|access_token|password|secret)=)[^&#]*/gi;

/** A document for a draft: without what only the server may remember. */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !SECRET.test(name))
      .map(
        ([name, inner]) =>
          [
            name,
            name === 'uri' && typeof inner === 'string' ? inner.replace(SECRET_PARAMETER, '$1') : withoutSecrets(inner),
          ] as const,
      )
      // What held nothing but secrets is gone with them.
      .filter(
        ([name, inner]) =>
          !isObject(inner) || Object.keys(inner).length > 0 || isEmptyObject((value as Document)[name]),
      ),
  );
}

const isEmptyObject = (value: unknown) => isObject(value) && Object.keys(value).length === 0;

/** A number if the text is one; else the text, so that the server says what is wrong with it. */
export const number = (value: string): unknown =>
  value === '' ? undefined : /^\d/.test(value) && String(Number(value)) === value ? Number(value) : value;

/** The lines of a text, without those that are empty. */
export const linesOf = (written: string) =>
  written
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/** Names and values of a text, and the first line that is neither. */
export function textAsPairs(written: string): { value: Record<string, string>; stray: string | undefined } {
  const lines = linesOf(written);
  const stray = lines.find((line) => line.indexOf(':') < 1);
  const value = Object.fromEntries(
    lines
      .filter((line) => line.indexOf(':') >= 1)
      .map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
      }),
  );
  return { value, stray };
}

/** A converted document with secrets where it refers to them, as `{"$env": "NAME"}`. */
export function withSecrets(value: unknown, secrets: Record<string, string>): unknown {
  if (Array.isArray(value)) return value.map((one) => withSecrets(one, secrets));
  if (!isObject(value)) return value;
  const { $env: name } = value;
  if (typeof name === 'string') return secrets[name];
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withSecrets(one, secrets)]));
}
