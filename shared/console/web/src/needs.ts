// What needs someone, as it is now: by what each job that failed did last, and not by what it once did.
import { signal } from '@preact/signals';
import type { CollectionLine, Failure, JobAt, JobRow, OverviewData } from './answers';
import { api, ApiError } from './api';
import type { Loaded } from './load';
import { each } from './many';
import { byJob, common, type Failing, isFailing, nameOf, streak } from './outcome';
import { DAY, MINUTE } from './spans';
import { me, place, placeOf } from './state';
import { now } from './time';
import { stateOf } from './ui';

/** How far back failures are read: as long as a server keeps them, if it is told nothing else. */
const DAYS = 60;
/** How many pages of failures are read, and of the rows of a collection that has some. */
const FAILURE_PAGES_MAX = 4;
const ROW_PAGES_MAX = 4;
/** How many rows a page has. */
const ROWS = 500;
/** Within which time no sweep is trouble. A fast clock shows as much more. */
const SWEEP_MS = 5 * MINUTE;

export interface Needing extends Failing {
  /** `recovered` needs no one: its last occurrence succeeded. */
  kind: 'failing' | 'paused' | 'recovered';
  /** How many occurrences in a row failed, and whether there may be more. */
  inRow: number;
  isLeast: boolean;
  /** When the first of them was due; `null` if that is no longer known. */
  since: string | null;
  recent: string;
  /** When the scheduler paused it. */
  pausedAt: string | null;
  /** Until when somebody has snoozed it. */
  snoozedUntil: string | null;
}

export interface Needed {
  /** The newest failure first. */
  jobs: Needing[];
  /** Jobs that failed within a day, and whose last occurrence succeeded. */
  recovered: Needing[];
  /** Jobs that need someone, but not before a time. */
  snoozed: Needing[];
}

/** What every page shows of it: one reader, so that the counts of all pages are one. */
export const needs = signal<Loaded<Needed> | null>(null);

/** Reads which jobs need someone. */
export async function readNeeds(): Promise<Needed> {
  const failing = byJob((await failuresSince(new Date(oldestFailure()))).all);
  const byCollection = Map.groupBy(failing, ({ last }) => `${last.resourceGroup}/${last.collection}`.toLowerCase());
  const found: Needing[] = [];
  await each(
    [...byCollection.values()],
    () => false,
    async (all) => {
      const rows = await rowsOf(all);
      for (const one of all) {
        const row = rows.get(one.last.job.toLowerCase());
        // A job that is gone needs no one.
        if (row === undefined) continue;
        const needing = await state(one, row);
        if (needing) found.push(needing);
      }
    },
  );
  found.sort((a, b) => (a.last.at < b.last.at ? 1 : -1));
  const dayAgo = new Date(now() - DAY).toISOString();
  return {
    jobs: found.filter((one) => one.kind !== 'recovered' && !one.snoozedUntil),
    recovered: found.filter((one) => one.kind === 'recovered' && one.last.at > dayAgo),
    snoozed: found.filter((one) => one.kind !== 'recovered' && one.snoozedUntil),
  };
}

/** Failures of a time until now, the newest first, and whether they are all. */
export async function failuresSince(
  since: Date,
  only: Record<string, string> = {},
): Promise<{ all: Failure[]; isWhole: boolean }> {
  const all: Failure[] = [];
  let from: string | null = null;
  for (let read = 0; read < FAILURE_PAGES_MAX; read += 1) {
    const page: { items: Failure[]; position: string | null } = await api.failures(place.value, since, from, only);
    all.push(...page.items);
    from = page.position;
    if (!from) break;
  }
  return { all, isWhole: !from };
}

/** The start of the first day of which failures are read: the answer is the same one until something fails. */
export const oldestFailure = () => (Math.floor(now() / DAY) - DAYS + 1) * DAY;

/** The rows of jobs of one collection; one that was not reached is `null`. */
async function rowsOf(all: Failing[]): Promise<Map<string, JobRow | null>> {
  const wanted = new Map<string, JobRow | null>(all.map(({ last }) => [last.job.toLowerCase(), null]));
  const [{ last }] = all as [Failing];
  const where = placeOf(last);
  let left = wanted.size;
  let from: string | null = null;
  try {
    for (let read = 0; read < ROW_PAGES_MAX && left > 0; read += 1) {
      const page: { items: JobRow[]; next: string | null } = await api.rows(
        where,
        last.collection,
        common([...wanted.keys()]),
        ROWS,
        from,
      );
      for (const row of page.items) {
        const name = row.name.toLowerCase();
        if (wanted.get(name) !== null) continue;
        wanted.set(name, row);
        left -= 1;
      }
      from = page.next;
      if (from === null) break;
    }
  } catch (thrown) {
    if (!(thrown instanceof ApiError && thrown.status === 404)) throw thrown;
  }
  if (from === null) for (const [name, row] of wanted) if (row === null) wanted.delete(name);
  return wanted;
}

/** How a job that failed is now; `null` if somebody has switched it off. */
async function state(one: Failing, row: JobRow | null): Promise<Needing | null> {
  const recent = row?.recent ?? '';
  const { count, isLeast } = streak(recent);
  const first = one.all
    .map(({ at }) => at)
    .toSorted()
    .at(-Math.max(1, count));
  const since = count > one.times ? null : (first ?? null);
  const needing = {
    ...one,
    recent,
    inRow: Math.max(1, count),
    isLeast,
    since,
    pausedAt: null,
    snoozedUntil: row?.snoozedUntil ?? null,
  };
  // What is paused stays off, whatever a trial of it came to.
  if (row && stateOf(row.state) === 'off') {
    const pausedAt = await pauseOf(one.last);
    return pausedAt ? { ...needing, kind: 'paused', pausedAt } : null;
  }
  return { ...needing, kind: row && !isFailing(row) ? 'recovered' : 'failing' };
}

/** When the scheduler paused a job; `null` if it did not. */
async function pauseOf(of: JobAt): Promise<string | null> {
  const { properties } = await api.describe(placeOf(of), of.collection, of.job);
  return (properties.minutehand as { paused?: { at: string } } | undefined)?.paused?.at ?? null;
}

/** Whether a job of a list needs someone: its last occurrence failed, or the scheduler has paused it. */
export function needsSomeone(collection: string, row: JobRow): boolean {
  if (row.snoozedUntil) return false;
  if (stateOf(row.state) !== 'off') return isFailing(row);
  const name = `${place.value.group}/${collection}/${row.name}`.toLowerCase();
  return (
    needs.value?.data?.jobs.some(({ kind, last }) => kind === 'paused' && nameOf(last).toLowerCase() === name) ?? false
  );
}

/** How many times as much a test clock shows as has passed. */
const rate = () => Math.max(1, me.value?.clockRate ?? 1);

/** What waits for longer is late. */
const BEHIND_MS = MINUTE;

/** Whether what is due since then waits for too long, on a clock that may be fast. */
export const isBehind = (since: string | null | undefined) =>
  since != null && now() - Date.parse(since) >= BEHIND_MS * rate();

/** The collections that are snoozed, and whether one is. */
export const snoozedIn = ({ collections }: OverviewData): CollectionLine[] =>
  collections.items.filter(({ snoozedUntil }) => snoozedUntil);
export const isSnoozed = (
  of: OverviewData,
  { resourceGroup, collection }: { resourceGroup: string; collection: string },
) => snoozedIn(of).some((one) => one.resourceGroup === resourceGroup && one.collection === collection);

/** The collections in which attempts wait for too long. */
export const behindIn = ({ collections }: OverviewData): CollectionLine[] =>
  collections.items.filter(
    ({ state, waiting, snoozedUntil }) => !snoozedUntil && stateOf(state) === 'on' && isBehind(waiting?.since),
  );

/** The collections whose alerts do not arrive. */
export const troubledIn = (of: OverviewData) => (of.alerts ?? []).filter((one) => !isSnoozed(of, one));

/** How many timers nothing has moved on. */
export const lateTimers = ({ late }: OverviewData) => late.count - (late.waiting ?? 0) - (late.snoozed ?? 0);

/** Whether no sweeper runs. One that sweeps once a minute has done so hours ago on a test clock that is fast. */
export const isSilent = ({ headline, sweep }: OverviewData) =>
  headline.kind === 'notSweeping' &&
  (sweep.at === null || rate() === 1 || now() - Date.parse(sweep.at) >= SWEEP_MS * rate());

/** How many things need someone, by what they are. All dead letters are one thing. */
export function countsOf(found: OverviewData | null) {
  const jobs = needs.value?.data?.jobs ?? [];
  const paused = jobs.filter(({ kind }) => kind === 'paused').length;
  return [
    [jobs.length - paused, 'failing'],
    [paused, 'paused'],
    [found?.deadLetters ? 1 : 0, 'dead letters'],
    [found ? lateTimers(found) : 0, 'late'],
    [found ? behindIn(found).length : 0, 'behind'],
    [found ? troubledIn(found).length : 0, 'alerts lost'],
  ] as const;
}

/** How many things need someone: the same on every page. */
export const countOf = (found: OverviewData | null) => countsOf(found).reduce((all, [count]) => all + count, 0);
