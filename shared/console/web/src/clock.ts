import { DAY, HOUR, MINUTE } from './spans';

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let found = formats.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', ...options });
    formats.set(key, found);
  }
  return found;
}

/** Whether the browser knows a zone: names of Windows are known to the server alone. */
export function isZone(zone: string): boolean {
  try {
    format(zone, { hour: 'numeric' });
    return true;
  } catch {
    return false;
  }
}

export function parts(at: number, zone: string) {
  const found = format(zone, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'longOffset',
  }).formatToParts(at);
  const of = (type: string) => found.find((part) => part.type === type)?.value ?? '';
  const offset = of('timeZoneName').replace('GMT', '').replace('-', '−') || '+00:00';
  return {
    day: `${of('weekday')} ${of('day')} ${of('month')}`,
    year: of('year'),
    time: `${of('hour')}:${of('minute')}`,
    seconds: of('second'),
    offset,
  };
}

/** The date on a zone's clock, as `2027-03-14`. */
export function dayOf(at: number, zone: string): string {
  const found = format(zone, { year: 'numeric', month: '2-digit', day: '2-digit' }).formatToParts(at);
  const of = (type: string) => found.find((part) => part.type === type)?.value ?? '';
  return `${of('year')}-${of('month')}-${of('day')}`;
}

/** A date some days later. */
export const dayAfter = (day: string, days: number) =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY).toISOString().slice(0, 10);

/** When a zone's clock shows a time, such as `2027-03-14T02:30`. */
export function instantOf(local: string, zone: string): number {
  const utc = Date.parse(`${local}Z`);
  let at = utc;
  // The first guess may lie on the other side of a clock change and have the wrong offset; the second
  // round computes with the offset at the corrected instant.
  for (let round = 0; round < 2; round += 1) at = utc - offsetMs(at, zone);
  return at;
}

/** What a zone's clock shows at an instant, such as `2027-03-14T02:30`. */
export const localOf = (at: number, zone: string) => `${dayOf(at, zone)}T${parts(at, zone).time}`;

/** When a date begins on a zone's clock. */
export const startOfDay = (day: string, zone: string) => instantOf(`${day}T00:00`, zone);

function offsetMs(at: number, zone: string): number {
  const found = /^([+−])(\d\d):(\d\d)/.exec(parts(at, zone).offset);
  if (!found) return 0;
  const minutes = Number(found[2]) * 60 + Number(found[3]);
  return (found[1] === '−' ? -minutes : minutes) * MINUTE;
}

const HALF_DAY = 12 * HOUR;

/**
 * The instants at which a zone's clock shows a time: two in an hour that is doubled. In an hour that is
 * skipped it is the one at which the clock would have shown it.
 */
function instantsOf(local: string, zone: string): number[] {
  const utc = Date.parse(`${local}Z`);
  const guesses = [utc - HALF_DAY, utc + HALF_DAY].map((near) => utc - offsetMs(near, zone));
  const shown = [...new Set(guesses)].filter((at) => localOf(at, zone) === local.slice(0, 16));
  return shown.length > 0 ? shown.sort((a, b) => a - b) : guesses.slice(0, 1);
}

export const WEEK_DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
export const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const NEAR_DAYS = ['yesterday', 'today', 'tomorrow'];

const two = (number: number) => String(number).padStart(2, '0');

/** A time of the day, such as `9:00`, `9am` or `9:30 pm`, as `09:00`; `null` if it is none. */
export function timeOfDay(text: string): string | null {
  const [, hour, minute, half] = /^(\d\d?)(?::(\d\d))? ?(am|pm)?$/i.exec(text.trim()) ?? [];
  if (hour === undefined || (minute === undefined && half === undefined)) return null;
  const written = Number(hour);
  if (Number(minute ?? 0) > 59 || written > (half ? 12 : 23) || (half && written === 0)) return null;
  const shown = half ? (written % 12) + (/^p/i.test(half) ? 12 : 0) : written;
  return `${two(shown)}:${minute ?? '00'}`;
}

/** The place of a name in a list, by its first three letters or more; -1 if it is not there. */
const named = (names: readonly string[], word: string) =>
  word.length < 3 ? -1 : names.findIndex((name) => name.toLowerCase().startsWith(word));

/** A date as a person writes it; without a year it is the one of `today`. `null` if it is none. */
function dateOf(text: string, today: string): { date: string; hasYear: boolean } | null {
  const [, day, month, year] =
    /^(\d\d?)(?:st|nd|rd|th)?\.? ([a-z]{3,9})\.?(?: (\d{4}))?$/.exec(text) ??
    /^(\d\d?)\.(\d\d?)\.(\d{4})?$/.exec(text) ??
    // The month or the year comes first: the parts are turned round.
    turned(/^([a-z]{3,9})\.? (\d\d?)(?:st|nd|rd|th)?(?: (\d{4}))?$/.exec(text), 2, 1, 3) ??
    turned(/^(\d{4})-(\d\d?)-(\d\d?)$/.exec(text), 3, 2, 1) ??
    [];
  if (day === undefined || month === undefined) return null;
  const place = /^\d/.test(month) ? Number(month) : named(MONTHS, month) + 1;
  const date = `${year ?? today.slice(0, 4)}-${two(place)}-${two(Number(day))}`;
  const at = Date.parse(`${date}T00:00:00Z`);
  // A day that the month does not have would be one of the next month.
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== date) return null;
  return { date, hasYear: year !== undefined };
}

const turned = (found: RegExpExecArray | null, ...order: number[]) =>
  found && ['', ...order.map((place) => found[place])];

/**
 * The instants that a text means on a zone's clock: `02:30`, `yesterday 02:30`, `Mon 14:00`,
 * `2026-10-19 02:30`, `19 Oct 2026 2:30 am`. A day of the week is the last one. With `isAhead`, a day
 * that is left open is the next one, and a date alone begins at 00:00. `null` if it is none of these.
 */
export function meant(text: string, zone: string, now: number, isAhead = false): number[] | null {
  const words = text
    .toLowerCase()
    .replace(/,|\bat\b/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const [, before = words, written] = /^(|.*?[ t])(\d\d?(?::\d\d)? ?(?:am|pm)|\d\d?:\d\d)$/.exec(words) ?? [];
  const time = written === undefined ? (isAhead ? '00:00' : null) : timeOfDay(written);
  const rest = before.replace(/(\d)t$/, '$1').trim();
  if (time === null || (written === undefined && rest === '')) return null;
  const today = dayOf(now, zone);
  const on = (day: string) => instantsOf(`${day}T${time}`, zone);
  /** The first of two days, unless that is over and what is ahead is wanted. */
  const next = (first: string, second: string) => (isAhead && (on(first)[0] ?? 0) <= now ? on(second) : on(first));
  if (rest === '') return next(today, dayAfter(today, 1));
  const near = NEAR_DAYS.indexOf(rest);
  if (near >= 0) return on(dayAfter(today, near - 1));
  const [first = '', ...others] = rest.split(' ');
  const week = named(WEEK_DAYS, first);
  if (week >= 0 && others.length === 0) {
    const back = (new Date(`${today}T00:00:00Z`).getUTCDay() - week + 6) % 7;
    const last = dayAfter(today, -back);
    return isAhead && back > 0 ? on(dayAfter(last, 7)) : next(last, dayAfter(last, 7));
  }
  const found = dateOf(week >= 0 ? others.join(' ') : rest, today);
  if (found === null) return null;
  const { date, hasYear } = found;
  return hasYear ? on(date) : next(date, `${Number(date.slice(0, 4)) + 1}${date.slice(4)}`);
}
