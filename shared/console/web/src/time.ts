// Instants as people read them. The server computes when jobs fire; this only writes instants down.
import type { Description } from './answers';
import { clockOffset } from './api';
import { dayAfter, isZone, parts } from './clock';
import { span } from './spans';
import { hours, zoneChoice } from './state';

export * from './clock';

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

/** The zone in which instants of a job are shown that may not be read yet. */
export const zoneOf = (job: Description | null) =>
  shownZone(job?.properties.recurrence?.timeZone as string | undefined);

/** The zone in which instants of many jobs are shown. */
export const wideZone = () => (zoneChoice.value === 'UTC' ? 'UTC' : mine);

/** A time of the day as the settings want it, `14:05` or `2:05 pm`; seconds unless they are 0. */
export function oclock(time: string, seconds = '00'): string {
  const rest = seconds === '00' ? '' : `:${seconds}`;
  const hour = Number(time.slice(0, 2));
  return hours.value === '24' ? time + rest : `${hour % 12 || 12}${time.slice(2)}${rest} ${hour < 12 ? 'am' : 'pm'}`;
}

/** `Sat 21 Nov 02:30`, with the year if it is another one, and seconds unless they are 0. */
export function civil(at: number, zone: string): string {
  const it = parts(at, zone);
  const year = it.year === parts(now(), zone).year ? '' : ` ${it.year}`;
  return `${it.day}${year} ${oclock(it.time, it.seconds)}`;
}

export const withOffset = (at: number, zone: string) => `${civil(at, zone)} ${parts(at, zone).offset}`;

/** A sentence of the server with its instants on a zone's clock. */
export const inZone = (sentence: string, zone: string) =>
  sentence.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => withOffset(Date.parse(at), zone));

export function until(at: number): string {
  const left = at - now();
  if (left >= 1_000) return `in ${span(left)}`;
  return left > -1_000 ? 'now' : `${span(-left)} ago`;
}

/** A number with thin grouping. */
export const grouped = (number: number) => number.toLocaleString('en');

/** The Monday of the week that holds a date; of this week if the text is not a date. */
export function mondayOf(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(date.getTime())) return mondayOf(new Date(now()).toISOString().slice(0, 10));
  return dayAfter(day, -((date.getUTCDay() + 6) % 7));
}

/** The month of a date, as `2027-03`. */
export const monthOf = (day: string) => day.slice(0, 7);

const SHARES: [number, string][] = [
  [0.95, 'nearly all'],
  [0.6, 'two thirds'],
  [0.45, 'half'],
  [0.3, 'a third'],
  [0.22, 'a quarter'],
  [0.18, 'a fifth'],
];

/** A part of a whole in words; the exact number of hundredths if it is small. */
export function shareOf(part: number): string {
  const words = part >= 0.75 && part < 0.95 ? null : SHARES.find(([least]) => part >= least)?.[1];
  return words ?? `${Math.round(part * 100)} %`;
}
