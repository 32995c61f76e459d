// How much falls due in each hour of a week, each minute of an hour, and of which jobs.
import { useRef, useState } from 'preact/hooks';
import { api, type Load } from './api';
import { useKeys } from './keys';
import { useLoad } from './load';
import { Bars, level, summary } from './overview';
import { Spread } from './spread';
import { may, me, place, route, setQuery } from './state';
import { civil, dayAfter, dayOf, grouped, mondayOf, monthOf, now, oclock, parts, shareOf, startOfDay, wideZone } from './time';
import { Choice, Panel, Title } from './ui';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);
const VIEWS = [['day', 'Day'], ['week', 'Week'], ['month', 'Month']] as const;
type View = (typeof VIEWS)[number][0];

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

interface Table {
  columns: string[];
  rows: Row[];
  /** Why a cell may be missing. */
  gap: string;
}

const iso = (at: number) => new Date(at).toISOString();
const two = (number: number) => String(number).padStart(2, '0');
const sum = (counts: number[]) => counts.reduce((all, count) => all + count, 0);

/** The hours by day and hour of the zone's clock: a day has 23, 24 or 25 of them. */
export function cellsOf(load: Pick<Load, 'from' | 'counts'>, zone: string): Map<string, (Cell | undefined)[]> {
  const days = new Map<string, (Cell | undefined)[]>();
  load.counts.forEach((count, hour) => {
    const at = Date.parse(load.from) + hour * HOUR;
    const day = dayOf(at, zone);
    const cells = days.get(day) ?? [];
    days.set(day, cells);
    const place = Number(parts(at, zone).time.slice(0, 2));
    const known = cells[place];
    // The clock shows an hour twice when it goes back.
    cells[place] = known ? { ...known, count: known.count + count } : { at, count, name: `${parts(at, zone).day} at ${oclock(`${two(place)}:00`)}` };
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
  const byDay = new Map((load.starts ?? []).map((start, day) => [dayOf(Date.parse(start), zone), { start, count: load.counts[day] ?? 0 }]));
  const rows: Row[] = [];
  for (let monday = first; monday < dayAfter(from, 31) && monthOf(monday) <= monthOf(from); monday = dayAfter(monday, 7)) {
    const cells = WEEK.map((_, day) => {
      const found = byDay.get(dayAfter(monday, day));
      return found && { at: Date.parse(found.start), count: found.count, name: parts(Date.parse(found.start), zone).day };
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
  const load = useLoad(`${view} ${subscription} ${from} ${zone} ${collection}`, () =>
    api.load(place.value, { ...only, from: iso(startOfDay(from, zone)), to: iso(startOfDay(end, zone)), step, zone }), 300);
  const collections = useLoad(`calendar ${subscription}/${group}`, () => api.collections(place.value, null), null);
  const [chosen, setChosen] = useState<number | null>(null);
  const turn = (to: Record<string, string | null>) => {
    setChosen(null);
    setQuery(to);
  };
  useKeys({
    '[': () => turn({ day: before }), ']': () => turn({ day: end }),
    d: () => turn({ view: 'day' }), w: () => turn({ view: null }), m: () => turn({ view: 'month' }),
  });
  const choose = (at: number) => {
    if (view === 'month') turn({ view: 'day', day: dayOf(at, zone) });
    else setChosen(Math.floor(at / HOUR) * HOUR === at ? at : hourOf(at, startOfDay(from, zone)));
  };
  const all = sum(load.data?.counts ?? []);
  return (
    <>
      <div class="head">
        <div><p class="eyebrow">{subscription}{collection && ` / ${group} / ${collection}`}</p><Title voice>{load.data === null ? 'Calendar' : finding(load.data, view, zone)}</Title></div>
        <div class="acts">
          <Choice label="How long" value={view} options={VIEWS} onChange={(to) => turn({ view: to === 'week' ? null : to })} />
          <select class="i" aria-label="Of which collection" value={collection ?? ''} onChange={(event) => turn({ collection: event.currentTarget.value || null })}>
            <option value="">all collections</option>
            {[...new Set([...(collection ? [collection] : []), ...(collections.data?.items ?? []).map((one) => one.name)])].map((name) => <option key={name}>{name}</option>)}
          </select>
          <button type="button" class="btn" aria-label={`The ${view} before`} onClick={() => turn({ day: before })}>←</button>
          <button type="button" class="btn" onClick={() => turn({ day: null })}>Today</button>
          <button type="button" class="btn" aria-label={`The ${view} after`} onClick={() => turn({ day: end })}>→</button>
        </div>
      </div>
      <section class="sheet" aria-labelledby="shown">
        <header>
          <h2 id="shown">Occurrences {view === 'day' ? 'in five minutes' : view === 'week' ? 'an hour' : 'a day'}</h2>
          <span class="muted">{range(from, end, zone)}: {grouped(all)} occurrence{all === 1 ? '' : 's'} of {grouped(load.data?.jobs ?? 0)} job{load.data?.jobs === 1 ? '' : 's'}, as they are defined now{load.data && !load.data.isWhole && ', not all of them read'}</span>
          <span class="r legend" aria-hidden="true">fewer{[0, 1, 2, 3, 4, 5].map((shade) => <i key={shade} class={`k${shade}`} />)}more</span>
        </header>
        <Panel of={load} rows={7}>
          {(data) => <Heat key={`${view} ${from}`} counts={data.counts} chosen={chosen} onChoose={choose} view={view}
            table={view === 'day' ? dayTable(data, zone) : view === 'week' ? weekTable(data, from, zone) : monthTable(data, from, zone)} />}
        </Panel>
      </section>
      {chosen !== null && <Minutes at={chosen} zone={zone} only={only} limit={collections.data?.items.find((one) => one.name === collection)?.properties.minutehand?.maxPerSecond} />}
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

const short = (count: number) => (count === 0 ? '·' : count < 1_000 ? String(count) : `${(count / 1_000).toFixed(count < 9_950 ? 1 : 0)}k`);

const STEPS: Record<string, [number, number]> = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

/** A grid of which one cell is a stop for Tab; the arrows move in it. */
function Heat({ table, counts, view, chosen, onChoose }: {
  table: Table;
  counts: number[];
  view: View;
  chosen: number | null;
  onChoose: (at: number) => void;
}) {
  const [here, setHere] = useState<[number, number]>([0, 0]);
  const grid = useRef<HTMLDivElement>(null);
  const most = Math.max(...counts);
  const reach = (row: number, column: number) => {
    setHere([row, column]);
    grid.current?.querySelector<HTMLElement>(`[data-cell="${row}-${column}"]`)?.focus();
  };
  const pressed = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    const isEnd = event.key === 'Home' || event.key === 'End';
    if (!step && !isEnd) return;
    event.preventDefault();
    if (!step) return reach(here[0], event.key === 'Home' ? 0 : table.columns.length - 1);
    reach(
      Math.max(0, Math.min(table.rows.length - 1, here[0] + step[0])),
      Math.max(0, Math.min(table.columns.length - 1, here[1] + step[1])),
    );
  };
  return (
    <div class="scrolls" tabIndex={-1}>
      <div class={`heat ${view}`} role="grid" aria-label="Occurrences" ref={grid} onKeyDown={pressed}>
        <span role="row">
          <span role="columnheader"><span class="vh">{view === 'day' ? 'Hour' : 'Day'}</span></span>
          {table.columns.map((column) => <span key={column} class="h" role="columnheader">{column}</span>)}
          <span class="h end" role="columnheader">{view === 'day' ? 'hour' : view === 'week' ? 'day' : 'week'}</span>
        </span>
        {table.rows.map((one, row) => (
          <span role="row" key={row}>
            <span class="d" role="rowheader">{one.label}{one.note && <small> {one.note}</small>}</span>
            {one.cells.map((cell, column) => {
              const tab = here[0] === row && here[1] === column ? 0 : -1;
              const id = `${row}-${column}`;
              if (!cell) return <span key={column} class="gap" role="gridcell" tabIndex={tab} data-cell={id}><span class="vh">{table.gap}</span></span>;
              const isChosen = chosen !== null && cell.at >= chosen && cell.at < chosen + HOUR;
              return (
                <span key={column} role="gridcell" aria-selected={isChosen}>
                  <button type="button" tabIndex={tab} data-cell={id} class={`k${level(cell.count, most)}`}
                    aria-label={`${grouped(cell.count)} on ${cell.name}`} title={`${cell.name}: ${grouped(cell.count)}`}
                    onFocus={() => setHere([row, column])} onClick={() => onChoose(cell.at)}>
                    {short(cell.count)}
                  </button>
                </span>
              );
            })}
            <span class="s" role="gridcell">{grouped(sum(one.cells.map((cell) => cell?.count ?? 0)))}</span>
          </span>
        ))}
      </div>
    </div>
  );
}

/** How many attempts AWS lets start in a second before it has added pollers: `infra/README.md` has the arithmetic. */
const AWS_AT_FIRST = 208;

/** The minutes of an hour, and what is due in the fullest. */
function Minutes({ at, zone, only, limit }: {
  at: number;
  zone: string;
  only: Record<string, string>;
  /** How many attempts of the shown collection may start in a second. */
  limit: number | undefined;
}) {
  const { subscription } = place.value;
  const load = useLoad(`minutes ${subscription} ${at} ${JSON.stringify(only)}`, () => api.load(place.value, { ...only, from: iso(at), to: iso(at + HOUR), step: 'PT1M' }), null);
  const [spreading, setSpreading] = useState<number | null>(null);
  const it = parts(at, zone);
  const aSecond = limit ?? (me.value?.home === 'aws' ? AWS_AT_FIRST : null);
  const most = Math.max(...(load.data?.counts ?? [0]));
  return (
    <div class="grid cal2">
      <section class="sheet" aria-labelledby="minutes">
        <header><h2 id="minutes">{it.day}, {oclock(it.time)} – {oclock(parts(at + HOUR, zone).time)}</h2>{load.data && <span class="muted">{summary(load.data, zone, MINUTE)}</span>}<span class="r">a minute</span></header>
        <Panel of={load} rows={3}>{(data) => (
          <div class="hour">
            <Bars data={data} step={MINUTE} zone={zone} label="Occurrences a minute" {...(aSecond && { limit: aSecond * 60 })} />
            {aSecond && <p class="faint">{limit ? 'The collection lets' : 'AWS at first lets'} {grouped(aSecond)} a second start, {grouped(aSecond * 60)} a minute{most >= aSecond * 60 ? ' (the line): more than that start late' : ', which no minute reaches'}.</p>}
          </div>
        )}</Panel>
      </section>
      <section class="sheet who" aria-labelledby="who">
        <header><h2 id="who">What is due</h2><span class="muted">in the fullest instants</span></header>
        <Panel of={load} rows={3}>
          {(data) => (data.top.length === 0 ? <p class="none">Nothing is due in this hour.</p> : (
            <>
              <table>
                <thead class="vh"><tr><th>When</th><th>How many</th><th>Which</th><th>Rule</th></tr></thead>
                <tbody>
                  {data.top.flatMap((peak) => peak.groups.map((group, row) => (
                    <tr key={`${peak.at} ${row}`}>
                      <td class="nowrap">{row === 0 && civil(Date.parse(peak.at), zone).slice(-5)}</td>
                      <td class="num"><b>{grouped(group.count)}</b></td>
                      <td><span class="names">{group.names.join(', ')}{group.count > group.names.length && ' …'}</span><span class="voice muted line">{group.rule}</span></td>
                    </tr>
                  )))}
                </tbody>
              </table>
              {may('write') && (data.top[0]?.count ?? 0) > 1 && (
                <p class="fix"><b>Spread them</b> over the hour, each to a minute of its own name.{' '}
                  <button type="button" class="btn sm" onClick={() => setSpreading(Date.parse(data.top[0]?.at ?? ''))}>See what would change…</button></p>
              )}
            </>
          ))}
        </Panel>
      </section>
      {spreading !== null && load.data && <Spread at={spreading} load={load.data} zone={zone} only={only} onClose={() => { setSpreading(null); load.reload(); }} />}
    </div>
  );
}
