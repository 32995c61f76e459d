// Instants as people read them. The server computes when jobs fire; this only writes instants down.
import { clockOffset } from './api';
import { zoneChoice } from './state';

/** The instant on the schedule's own clock. */
export const now = () => Date.now() + clockOffset.value;

/** The zone of this browser. */
export const mine = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The zone in which an instant of a job is shown. */
export function shownZone(job: string | undefined): string {
  const wanted = zoneChoice.value;
  const zone = wanted === 'mine' ? mine : wanted === 'UTC' ? 'UTC' : (job ?? 'UTC');
  return isZone(zone) ? zone : 'UTC';
}

/** The zone in which instants of many jobs are shown. */
export const wideZone = () => (zoneChoice.value === 'UTC' ? 'UTC' : mine);

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

/** `Sat 21 Nov 02:30`, with the year if it is another one, and seconds unless they are 0. */
export function civil(at: number, zone: string): string {
  const it = parts(at, zone);
  const year = it.year === parts(now(), zone).year ? '' : ` ${it.year}`;
  return `${it.day}${year} ${it.time}${it.seconds === '00' ? '' : `:${it.seconds}`}`;
}

export const withOffset = (at: number, zone: string) => `${civil(at, zone)} ${parts(at, zone).offset}`;

const UNITS: [number, string, string][] = [
  [86_400, 'day', 'days'],
  [3_600, 'h', 'h'],
  [60, 'min', 'min'],
  [1, 's', 's'],
];

/** A span in at most two units: `17 h 23 min`. */
export function span(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  let left = Math.round(milliseconds / 1_000);
  const words: string[] = [];
  for (const [seconds, one, many] of UNITS) {
    const count = Math.floor(left / seconds);
    if (count > 0) words.push(`${count} ${count === 1 ? one : many}`);
    else if (words.length > 0) break;
    left -= count * seconds;
    if (words.length === 2) break;
  }
  return words.join(' ');
}

export function until(at: number): string {
  const left = at - now();
  if (left >= 1_000) return `in ${span(left)}`;
  return left > -1_000 ? 'now' : `${span(-left)} ago`;
}

/** A number with thin grouping. */
export const grouped = (number: number) => number.toLocaleString('en');

/** A span in ISO 8601 in words; the text itself if it is another one. */
export function isoSpan(text: string): string {
  const found = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/.exec(text);
  if (!found) return text;
  const [days, hours, minutes, seconds] = found.slice(1).map((part) => Number(part ?? 0));
  const all = (((days ?? 0) * 24 + (hours ?? 0)) * 60 + (minutes ?? 0)) * 60 + (seconds ?? 0);
  return all === 0 ? '0 s' : span(all * 1_000);
}

const DAY_MS = 86_400_000;

/** The date on a zone's clock, as `2027-03-14`. */
export function dayOf(at: number, zone: string): string {
  const found = format(zone, { year: 'numeric', month: '2-digit', day: '2-digit' }).formatToParts(at);
  const of = (type: string) => found.find((part) => part.type === type)?.value ?? '';
  return `${of('year')}-${of('month')}-${of('day')}`;
}

/** A date some days later. */
export const dayAfter = (day: string, days: number) =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);

/** The Monday of the week that holds a date; of this week if the text is no date. */
export function mondayOf(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(date.getTime())) return mondayOf(new Date(now()).toISOString().slice(0, 10));
  return dayAfter(day, -((date.getUTCDay() + 6) % 7));
}

/** When a date begins on a zone's clock. */
export function startOfDay(day: string, zone: string): number {
  const utc = Date.parse(`${day}T00:00:00Z`);
  let at = utc;
  // The offset is that of the result, so the second round corrects the first.
  for (let round = 0; round < 2; round += 1) at = utc - offsetMs(at, zone);
  return at;
}

function offsetMs(at: number, zone: string): number {
  const found = /^([+−])(\d\d):(\d\d)/.exec(parts(at, zone).offset);
  if (!found) return 0;
  const minutes = Number(found[2]) * 60 + Number(found[3]);
  return (found[1] === '−' ? -minutes : minutes) * 60_000;
}

/** The month of a date, as `2027-03`. */
export const monthOf = (day: string) => day.slice(0, 7);

const SHARES: [number, string][] = [[0.95, 'nearly all'], [0.6, 'two thirds'], [0.45, 'half'], [0.3, 'a third'], [0.22, 'a quarter'], [0.18, 'a fifth']];

/** A part of a whole in words; the exact number of hundredths if it is small. */
export function shareOf(part: number): string {
  const words = part >= 0.75 && part < 0.95 ? null : SHARES.find(([least]) => part >= least)?.[1];
  return words ?? `${Math.round(part * 100)} %`;
}
