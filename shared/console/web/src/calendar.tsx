// How much falls due in each hour of a week, each minute of an hour, and of which jobs; and what failed.
import { useState } from 'preact/hooks';
import type { Load } from './answers';
import { api } from './api';
import { iso, sum } from './bars';
import { dayAfter, dayOf, parts, startOfDay } from './clock';
import { both, herdAfter, type Part, partsOf, withFailed } from './crowd';
import { Heat } from './heat';
import { useKeys } from './keys';
import { type Loaded, useLoad } from './load';
import { Minutes } from './minutes';
import { failuresSince, oldestFailure } from './needs';
import { DAY, HOUR, MINUTE } from './spans';
import { may, me, place, route, setQuery } from './state';
import { civil, grouped, mondayOf, monthOf, now, oclock, shareOf, wideZone } from './time';
import { Choice, Panel, Title } from './ui';

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);
const VIEWS = [
  ['day', 'Day'],
  ['week', 'Week'],
  ['month', 'Month'],
] as const;

export type View = (typeof VIEWS)[number][0];

/** A part of the shown time, and how much is due in it. */
interface Cell extends Part {
  /** What it is called. */
  name: string;
}

interface Row {
  label: string;
  /** What is odd about it: a day of 23 hours. */
  note: string;
  /** A cell that is missing is skipped by the clock, or lies outside. */
  cells: (Cell | undefined)[];
}

export interface Table {
  columns: string[];
  rows: Row[];
  /** Why a cell may be missing. */
  gap: string;
}

const two = (number: number) => String(number).padStart(2, '0');

/** The hours by day and hour of the zone's clock: a day has 23, 24 or 25 of them. */
function cellsOf(hours: Part[], zone: string): Map<string, (Cell | undefined)[]> {
  const days = new Map<string, (Cell | undefined)[]>();
  for (const hour of hours) {
    const it = parts(hour.at, zone);
    const day = dayOf(hour.at, zone);
    const cells = days.get(day) ?? [];
    days.set(day, cells);
    const place = Number(it.time.slice(0, 2));
    const known = cells[place];
    // The clock shows an hour twice when it goes back.
    cells[place] = known
      ? { ...known, ...both(known, hour) }
      : { ...hour, name: `${it.day} at ${oclock(`${two(place)}:00`)}` };
  }
  return days;
}

/** A row for each day, with its hours. */
function weekTable(hours: Part[], from: string, zone: string): Table {
  const days = cellsOf(hours, zone);
  const rows = Array.from({ length: 7 }, (_, day) => dayAfter(from, day)).map((day) => {
    const cells = HOURS.map((hour) => days.get(day)?.[hour]);
    const length = hours.filter(({ at }) => dayOf(at, zone) === day).length;
    return { label: parts(startOfDay(day, zone), zone).day, note: length === 24 ? '' : `${length} h`, cells };
  });
  return { columns: HOURS.map(two), rows, gap: 'skipped by the clock' };
}

const SLICES = 12;

/** A row for each hour of a day, with slices of five minutes. A day has as many hours as its zone says. */
function dayTable(slices: Part[], zone: string): Table {
  const hours = Math.ceil(slices.length / SLICES);
  const rows = Array.from({ length: hours }, (_, hour) => {
    const cells = slices
      .slice(hour * SLICES, (hour + 1) * SLICES)
      .map((slice) => ({ ...slice, name: oclock(parts(slice.at, zone).time) }));
    const it = parts(cells[0]?.at ?? 0, zone);
    return { label: it.time, note: hours === 24 ? '' : it.offset, cells };
  });
  return { columns: Array.from({ length: SLICES }, (_, part) => `:${two(part * 5)}`), rows, gap: '' };
}

const WEEK = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** A row for each week of a month, with its days. */
function monthTable(days: Part[], from: string, zone: string): Table {
  const byDay = new Map(days.map((day) => [dayOf(day.at, zone), day]));
  const rows: Row[] = [];
  for (
    let monday = mondayOf(from);
    monday < dayAfter(from, 31) && monthOf(monday) <= monthOf(from);
    monday = dayAfter(monday, 7)
  ) {
    const cells = WEEK.map((_, day) => {
      const found = byDay.get(dayAfter(monday, day));
      return found && { ...found, name: parts(found.at, zone).day };
    });
    rows.push({ label: parts(startOfDay(monday, zone), zone).day.slice(4), note: '', cells });
  }
  return { columns: WEEK, rows, gap: 'not in this month' };
}

/** What the cells of a view are counted in: as fine as the server counts so long a time. */
interface Step {
  name: string;
  length: number;
  /** How many of them a cell has, and an hour. */
  per: number;
  perHour: number;
  /** What the shade of a cell shows. */
  shade: string;
}

const FINE: Step = {
  name: 'PT5M',
  length: 5 * MINUTE,
  per: 12,
  perHour: 12,
  shade: 'in the fullest 5 minutes of an hour',
};
const STEPS: Record<View, Step> = {
  day: { name: 'PT1M', length: MINUTE, per: 5, perHour: 60, shade: 'in the fullest minute' },
  week: FINE,
  month: { name: 'P1D', length: DAY, per: 1, perHour: 0, shade: 'in a day' },
};
/** A week with an hour more is longer than the server counts in steps of 5 minutes. */
const LONG_WEEK: Step = {
  ...FINE,
  name: 'PT15M',
  length: 15 * MINUTE,
  per: 4,
  perHour: 4,
  shade: 'in the fullest quarter of an hour',
};

const stepOf = (view: View, length: number): Step => (view === 'week' && length > 7 * DAY ? LONG_WEEK : STEPS[view]);

const within = ({ length }: Step) => (length > MINUTE ? `within ${length / MINUTE} minutes` : 'within a minute');

/** The cells of a view, in the order of time. */
function cellParts({ from, counts, starts }: Load, { length, per }: Step): Part[] {
  if (starts === null) return partsOf(Date.parse(from), length, counts, per);
  return starts.map((start, day) => {
    const count = counts[day] ?? 0;
    return { at: Date.parse(start), count, fullest: count, failed: 0 };
  });
}

/** The time that a view shows: from one date up to another. */
function spanOf(view: View, day: string): { from: string; end: string; before: string } {
  if (view === 'day') return { from: day, end: dayAfter(day, 1), before: dayAfter(day, -1) };
  if (view === 'week') {
    const monday = mondayOf(day);
    return { from: monday, end: dayAfter(monday, 7), before: dayAfter(monday, -7) };
  }
  const from = `${monthOf(day)}-01`;
  return { from, end: `${monthOf(dayAfter(from, 31))}-01`, before: `${monthOf(dayAfter(from, -1))}-01` };
}

export function Calendar() {
  const { subscription, group } = place.value;
  const { query } = route.value;
  const zone = wideZone();
  const view = VIEWS.find(([one]) => one === query.get('view'))?.[0] ?? 'week';
  const day = /^\d{4}-\d\d-\d\d$/.test(query.get('day') ?? '') ? (query.get('day') ?? '') : dayOf(now(), zone);
  const collection = query.get('collection');
  const { from, end, before } = spanOf(view, day);
  const [begins, ends] = [startOfDay(from, zone), startOfDay(end, zone)];
  const step = stepOf(view, ends - begins);
  const only: Record<string, string> = collection ? { collection: `${group}/${collection}` } : {};
  const key = `${view} ${subscription} ${group} ${from} ${zone} ${collection}`;
  const load = useLoad(
    key,
    () => api.load(place.value, { ...only, from: iso(begins), to: iso(ends), step: step.name, zone }),
    300,
  );
  // Which time is over is not known before the server's clock.
  const failed = useLoad(`failed ${key} ${me.value !== null}`, () => failedIn(begins, only), 60);
  const collections = useLoad(`calendar ${subscription}/${group}`, () => api.collections(place.value, null), null);
  const [chosen, setChosen] = useState<number | null>(null);
  const turn = (to: Record<string, string | null>) => {
    setChosen(null);
    setQuery(to);
  };
  useKeys({
    '[': () => turn({ day: before }),
    ']': () => turn({ day: end }),
    d: () => turn({ view: 'day' }),
    w: () => turn({ view: null }),
    m: () => turn({ view: 'month' }),
  });
  const choose = (at: number) => {
    if (view === 'month') turn({ view: 'day', day: dayOf(at, zone) });
    else setChosen(Math.floor(at / HOUR) * HOUR === at ? at : hourOf(at, startOfDay(from, zone)));
  };
  const counted = load.data ? cellParts(load.data, step) : [];
  const all = sum(counted.map(({ count }) => count));
  const crowd =
    load.data && step.perHour > 0
      ? herdAfter(now(), Date.parse(load.data.from), step.length, load.data.counts, step.perHour)
      : null;
  return (
    <>
      <div class="head">
        <div>
          <p class="eyebrow">
            {subscription}
            {collection && ` / ${group} / ${collection}`}
          </p>
          <Title voice>{load.data === null ? 'Calendar' : finding(counted, view, step, zone, crowd)}</Title>
        </div>
        <div class="acts">
          <Choice
            label="How long"
            value={view}
            options={VIEWS}
            onChange={(to) => turn({ view: to === 'week' ? null : to })}
          />
          <select
            class="i"
            aria-label="Of which collection"
            value={collection ?? ''}
            onChange={(event) => turn({ collection: event.currentTarget.value || null })}
          >
            <option value="">all collections</option>
            {[
              ...new Set([
                ...(collection ? [collection] : []),
                ...(collections.data?.items ?? []).map((one) => one.name),
              ]),
            ].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <button type="button" class="btn" aria-label={`The ${view} before`} onClick={() => turn({ day: before })}>
            ←
          </button>
          <button type="button" class="btn" onClick={() => turn({ day: null })}>
            Today
          </button>
          <button type="button" class="btn" aria-label={`The ${view} after`} onClick={() => turn({ day: end })}>
            →
          </button>
        </div>
      </div>
      <section class="sheet" aria-labelledby="shown">
        <header>
          <h2 id="shown">Occurrences {view === 'day' ? 'in five minutes' : view === 'week' ? 'an hour' : 'a day'}</h2>
          <span class="muted">
            {range(from, end, zone)}: {grouped(all)} occurrence{all === 1 ? '' : 's'} of {grouped(load.data?.jobs ?? 0)}{' '}
            job{load.data?.jobs === 1 ? '' : 's'}, as they are defined now
            {load.data && !load.data.isWhole && ', not all of them read'}
          </span>
          <span class="r legend">
            fewer
            {[0, 1, 2, 3, 4, 5].map((shade) => (
              <i key={shade} class={`k${shade}`} aria-hidden="true" />
            ))}
            more, {step.shade}
          </span>
        </header>
        <Panel of={load} rows={7}>
          {() => {
            const cells = withFailed(counted, ends, failed.data?.at ?? []);
            return (
              <Heat
                key={`${view} ${from}`}
                end={ends}
                chosen={chosen}
                onChoose={choose}
                view={view}
                table={
                  view === 'day'
                    ? dayTable(cells, zone)
                    : view === 'week'
                      ? weekTable(cells, from, zone)
                      : monthTable(cells, from, zone)
                }
              />
            );
          }}
        </Panel>
        {load.data && begins < now() && <Past of={failed} begins={begins} zone={zone} />}
        {crowd && (
          <p class="fix">
            <b>{grouped(crowd.count)}</b> are due {within(step)} from {civil(crowd.at, zone)}, {grouped(crowd.more)}{' '}
            more than usual in that hour.{' '}
            <button type="button" class="btn sm" onClick={() => setChosen(hourOf(crowd.at, begins))}>
              Look at that hour{may('write') && ', and spread them'}…
            </button>
          </p>
        )}
      </section>
      {chosen !== null && (
        <Minutes
          at={chosen}
          zone={zone}
          only={only}
          limit={collections.data?.items.find((one) => one.name === collection)?.properties.minutehand?.maxPerSecond}
        />
      )}
    </>
  );
}

interface Failed {
  at: number[];
  /** Since when failures are shown. */
  since: number;
}

/** When what failed for good was due, since an instant; `null` if it is still to come. */
async function failedIn(begins: number, only: Record<string, string>): Promise<Failed | null> {
  if (begins >= now()) return null;
  const since = Math.max(begins, oldestFailure());
  const found = await failuresSince(new Date(since), only);
  const at = found.all.map((one) => Date.parse(one.at));
  return { at, since: found.isWhole ? since : Math.min(now(), ...at) };
}

/** What is said of the time that is over: the server lists what failed, and of each job alone what was left out. */
function Past({ of: { data, error }, begins, zone }: { of: Loaded<Failed | null>; begins: number; zone: string }) {
  if (error) return <p class="failednote faint">What failed cannot be shown: {error.message}</p>;
  if (data === null) return null;
  return (
    <p class="failednote faint">
      What is over has no shade; <b class="badge">n</b> failed for good
      {data.since > begins && ` since ${civil(data.since, zone)}`}. What was left out is on the page of its job.
    </p>
  );
}

/** The start of the hour that holds an instant, of those that begin at another. */
const hourOf = (at: number, start: number) => start + Math.floor((at - start) / HOUR) * HOUR;

/** The shown time in words: `Mon 22 – Sun 28 Mar 2027`. */
function range(from: string, end: string, zone: string): string {
  const [first, last] = [parts(startOfDay(from, zone), zone), parts(startOfDay(dayAfter(end, -1), zone), zone)];
  const isSame = first.day === last.day;
  return `${isSame ? '' : `${first.day} – `}${last.day} ${last.year}, ${zone.replaceAll('_', ' ')}`;
}

/** What is most to be seen: the hour that carries the most, or the herd. */
function finding(
  cells: Part[],
  view: View,
  step: Step,
  zone: string,
  crowd: { at: number; count: number } | null,
): string {
  const all = sum(cells.map(({ count }) => count));
  if (all === 0) return `Nothing is due in this ${view}.`;
  if (view === 'month') {
    const { at, count } = cells.reduce((old, one) => (one.count > old.count ? one : old));
    return `${parts(at, zone).day} is the fullest day, with ${grouped(count)}.`;
  }
  const byHour = new Map<string, number>();
  for (const { at, count } of cells) {
    const hour = parts(at, zone).time.slice(0, 2);
    byHour.set(hour, (byHour.get(hour) ?? 0) + count);
  }
  const [hour, most] = [...byHour].reduce((old, one) => (one[1] > old[1] ? one : old));
  // When no hour has much more than its share, none is to be pointed at.
  if (most * byHour.size >= all * 1.5) return `${hour}:00 carries ${shareOf(most / all)} of the ${view}.`;
  if (crowd)
    return `No hour carries much more than another, but ${grouped(crowd.count)} fire ${within(step)} from ${civil(crowd.at, zone)}.`;
  return `The ${view} is even: no hour carries much more than another.`;
}
