const DAY_MS = 86_400_000;

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
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);

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
  return (found[1] === '−' ? -minutes : minutes) * 60_000;
}

const HALF_DAY = 43_200_000;

/**
 * The instants at which a zone's clock shows a time: two in an hour that is doubled. In an hour that is
 * skipped it is the one at which the clock would have shown it.
 */
export function instantsOf(local: string, zone: string): number[] {
  const utc = Date.parse(`${local}Z`);
  const guesses = [utc - HALF_DAY, utc + HALF_DAY].map((near) => utc - offsetMs(near, zone));
  const shown = [...new Set(guesses)].filter((at) => localOf(at, zone) === local.slice(0, 16));
  return shown.length > 0 ? shown.sort((a, b) => a - b) : guesses.slice(0, 1);
}

const WEEK_DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/**
 * The instants that a text means on a zone's clock: `02:30`, `yesterday 02:30`, `Mon 14:00`,
 * `2026-10-19 02:30`. A day of the week is the last one. `null` if it is none of these.
 */
export function meant(text: string, zone: string, now: number): number[] | null {
  const found =
    /^(?:(today|yesterday|mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +|(\d{4}-\d\d-\d\d)[ T]+)?(\d\d?):(\d\d)$/i.exec(
      text.trim(),
    );
  if (!found) return null;
  const [, word = 'today', date, hour = '', minute = ''] = found;
  if (Number(hour) > 23 || Number(minute) > 59 || (date && Number.isNaN(Date.parse(date)))) return null;
  const today = dayOf(now, zone);
  const week = WEEK_DAYS.indexOf(word.slice(0, 3).toLowerCase());
  const back = week < 0 ? (/^y/i.test(word) ? 1 : 0) : (new Date(`${today}T00:00:00Z`).getUTCDay() - week + 7) % 7;
  return instantsOf(`${date ?? dayAfter(today, -back)}T${hour.padStart(2, '0')}:${minute}`, zone);
}
