// How much falls due in each hour of a week, each minute of an hour, and of which jobs.
import { useState } from 'preact/hooks';
import type { Load } from './answers';
import { api } from './api';
import { iso, sum } from './bars';
import { dayAfter, dayOf, parts, startOfDay } from './clock';
import { Heat } from './heat';
import { useKeys } from './keys';
import { useLoad } from './load';
import { Minutes } from './minutes';
import { HOUR } from './spans';
import { place, route, setQuery } from './state';
import { grouped, mondayOf, monthOf, now, oclock, shareOf, wideZone } from './time';
import { Choice, Panel, Title } from './ui';

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);
const VIEWS = [
  ['day', 'Day'],
  ['week', 'Week'],
  ['month', 'Month'],
] as const;

export type View = (typeof VIEWS)[number][0];

/** A step of the shown time, and how much is due in it. */
interface Cell {
  at: number;
  count: number;
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
function cellsOf(load: Pick<Load, 'from' | 'counts'>, zone: string): Map<string, (Cell | undefined)[]> {
  const days = new Map<string, (Cell | undefined)[]>();
  load.counts.forEach((count, hour) => {
    const at = Date.parse(load.from) + hour * HOUR;
    const day = dayOf(at, zone);
    const cells = days.get(day) ?? [];
    days.set(day, cells);
    const place = Number(parts(at, zone).time.slice(0, 2));
    const known = cells[place];
    // The clock shows an hour twice when it goes back.
    cells[place] = known
      ? { ...known, count: known.count + count }
      : { at, count, name: `${parts(at, zone).day} at ${oclock(`${two(place)}:00`)}` };
  });
  return days;
}

/** A row for each day, with its hours. */
function weekTable(load: Load, from: string, zone: string): Table {
  const days = cellsOf(load, zone);
  const rows = Array.from({ length: 7 }, (_, day) => dayAfter(from, day)).map((day) => {
    const cells = HOURS.map((hour) => days.get(day)?.[hour]);
    const hours = load.counts.filter((_, hour) => dayOf(Date.parse(load.from) + hour * HOUR, zone) === day).length;
    return { label: parts(startOfDay(day, zone), zone).day, note: hours === 24 ? '' : `${hours} h`, cells };
  });
  return { columns: HOURS.map(two), rows, gap: 'skipped by the clock' };
}

const SLICES = 12;

/** A row for each hour of a day, with slices of five minutes. A day has as many hours as its zone says. */
function dayTable(load: Load, zone: string): Table {
  const from = Date.parse(load.from);
  const slice = HOUR / SLICES;
  const hours = Math.ceil(load.counts.length / SLICES);
  const rows = Array.from({ length: hours }, (_, hour) => {
    const it = parts(from + hour * HOUR, zone);
    const cells = Array.from({ length: SLICES }, (_, part) => {
      const at = from + hour * HOUR + part * slice;
      return { at, count: load.counts[hour * SLICES + part] ?? 0, name: oclock(parts(at, zone).time) };
    });
    return { label: it.time, note: hours === 24 ? '' : it.offset, cells };
  });
  return { columns: Array.from({ length: SLICES }, (_, part) => `:${two(part * 5)}`), rows, gap: '' };
}

const WEEK = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** A row for each week of a month, with its days. */
function monthTable(load: Load, from: string, zone: string): Table {
  const first = mondayOf(from);
  const byDay = new Map(
    (load.starts ?? []).map((start, day) => [dayOf(Date.parse(start), zone), { start, count: load.counts[day] ?? 0 }]),
  );
  const rows: Row[] = [];
  for (
    let monday = first;
    monday < dayAfter(from, 31) && monthOf(monday) <= monthOf(from);
    monday = dayAfter(monday, 7)
  ) {
    const cells = WEEK.map((_, day) => {
      const found = byDay.get(dayAfter(monday, day));
      return (
        found && { at: Date.parse(found.start), count: found.count, name: parts(Date.parse(found.start), zone).day }
      );
    });
    rows.push({ label: parts(startOfDay(monday, zone), zone).day.slice(4), note: '', cells });
  }
  return { columns: WEEK, rows, gap: 'not in this month' };
}

/** The time that a view shows: from one date up to another, and the step of its cells. */
function spanOf(view: View, day: string): { from: string; end: string; step: string; before: string } {
  if (view === 'day') return { from: day, end: dayAfter(day, 1), step: 'PT5M', before: dayAfter(day, -1) };
  if (view === 'week') {
    const monday = mondayOf(day);
    return { from: monday, end: dayAfter(monday, 7), step: 'PT1H', before: dayAfter(monday, -7) };
  }
  const from = `${monthOf(day)}-01`;
  return { from, end: `${monthOf(dayAfter(from, 31))}-01`, step: 'P1D', before: `${monthOf(dayAfter(from, -1))}-01` };
}

export function Calendar() {
  const { subscription, group } = place.value;
  const { query } = route.value;
  const zone = wideZone();
  const view = VIEWS.find(([one]) => one === query.get('view'))?.[0] ?? 'week';
  const day = /^\d{4}-\d\d-\d\d$/.test(query.get('day') ?? '') ? (query.get('day') ?? '') : dayOf(now(), zone);
  const collection = query.get('collection');
  const { from, end, step, before } = spanOf(view, day);
  const only: Record<string, string> = collection ? { collection: `${group}/${collection}` } : {};
  const load = useLoad(
    `${view} ${subscription} ${from} ${zone} ${collection}`,
    () =>
      api.load(place.value, { ...only, from: iso(startOfDay(from, zone)), to: iso(startOfDay(end, zone)), step, zone }),
    300,
  );
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
  const all = sum(load.data?.counts ?? []);
  return (
    <>
      <div class="head">
        <div>
          <p class="eyebrow">
            {subscription}
            {collection && ` / ${group} / ${collection}`}
          </p>
          <Title voice>{load.data === null ? 'Calendar' : finding(load.data, view, zone)}</Title>
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
          <span class="r legend" aria-hidden="true">
            fewer
            {[0, 1, 2, 3, 4, 5].map((shade) => (
              <i key={shade} class={`k${shade}`} />
            ))}
            more
          </span>
        </header>
        <Panel of={load} rows={7}>
          {(data) => (
            <Heat
              key={`${view} ${from}`}
              counts={data.counts}
              chosen={chosen}
              onChoose={choose}
              view={view}
              table={
                view === 'day'
                  ? dayTable(data, zone)
                  : view === 'week'
                    ? weekTable(data, from, zone)
                    : monthTable(data, from, zone)
              }
            />
          )}
        </Panel>
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

/** The start of the hour that holds an instant, of those that begin at another. */
const hourOf = (at: number, start: number) => start + Math.floor((at - start) / HOUR) * HOUR;

/** The shown time in words: `Mon 22 – Sun 28 Mar 2027`. */
function range(from: string, end: string, zone: string): string {
  const [first, last] = [parts(startOfDay(from, zone), zone), parts(startOfDay(dayAfter(end, -1), zone), zone)];
  const isSame = first.day === last.day;
  return `${isSame ? '' : `${first.day} – `}${last.day} ${last.year}, ${zone.replaceAll('_', ' ')}`;
}

/** What is most to be seen: the hour that carries the most. */
function finding(data: Load, view: View, zone: string): string {
  const all = sum(data.counts);
  if (all === 0) return `Nothing is due in this ${view}.`;
  if (view === 'month') {
    const most = Math.max(...data.counts);
    const at = Date.parse(data.starts?.[data.counts.indexOf(most)] ?? data.from);
    return `${parts(at, zone).day} is the fullest day, with ${grouped(most)}.`;
  }
  const byHour = new Map<string, number>();
  const step = view === 'day' ? HOUR / SLICES : HOUR;
  data.counts.forEach((count, place) => {
    const hour = parts(Date.parse(data.from) + place * step, zone).time.slice(0, 2);
    byHour.set(hour, (byHour.get(hour) ?? 0) + count);
  });
  const [hour, most] = [...byHour].reduce((old, one) => (one[1] > old[1] ? one : old));
  // When no hour has much more than its share, none is to be pointed at.
  if (most * byHour.size < all * 1.5) return `The ${view} is even: no hour carries much more than another.`;
  return `${hour}:00 carries ${shareOf(most / all)} of the ${view}.`;
}
