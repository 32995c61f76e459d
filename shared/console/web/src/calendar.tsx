// How much falls due in each hour of a week, in each minute of an hour, and of which jobs.
import { useRef, useState } from 'preact/hooks';
import { api, type Load } from './api';
import { useKeys } from './keys';
import { useLoad } from './load';
import { Bars, level, summary } from './overview';
import { place, route, setQuery, zoneChoice } from './state';
import { dayAfter, dayOf, grouped, mine, mondayOf, now, parts, startOfDay } from './time';
import { Panel, Title } from './ui';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

/** An hour of the week: what is due in it, or that the clock skips it. */
interface Cell {
  at: number;
  count: number;
}

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
    cells[place] = known ? { at: known.at, count: known.count + count } : { at, count };
  });
  return days;
}

const iso = (at: number) => new Date(at).toISOString();

export function Calendar() {
  const { subscription } = place.value;
  const zone = zoneChoice.value === 'UTC' ? 'UTC' : mine;
  const monday = mondayOf(route.value.query.get('week') ?? dayOf(now(), zone));
  const end = dayAfter(monday, 7);
  const load = useLoad(`week ${subscription} ${monday} ${zone}`, () =>
    api.load(place.value, { from: iso(startOfDay(monday, zone)), to: iso(startOfDay(end, zone)), step: 'PT1H', zone }), 300);
  const [chosen, setChosen] = useState<number | null>(null);
  const turn = (weeks: number) => {
    setChosen(null);
    setQuery({ week: dayAfter(monday, weeks * 7) });
  };
  useKeys({ '[': () => turn(-1), ']': () => turn(1) });
  const all = (load.data?.counts ?? []).reduce((sum, count) => sum + count, 0);
  return (
    <>
      <div class="head">
        <div><p class="eyebrow">{subscription}</p><Title voice>{load.data === null ? 'Calendar' : all === 0 ? 'Nothing is due in this week.' : busiest(load.data, zone)}</Title></div>
        <div class="acts">
          <button type="button" class="btn" onClick={() => turn(-1)}>← <span class="vh">The week before</span></button>
          <button type="button" class="btn" onClick={() => { setChosen(null); setQuery({ week: null }); }}>This week</button>
          <button type="button" class="btn" onClick={() => turn(1)}>→ <span class="vh">The week after</span></button>
        </div>
      </div>
      <section class="sheet" aria-labelledby="week">
        <header><h2 id="week">Occurrences an hour</h2>
          <span class="muted">from {monday}, {zone.replaceAll('_', ' ')}, as the jobs are defined now: {grouped(all)} of {grouped(load.data?.jobs ?? 0)} jobs{load.data && !load.data.isWhole && ', not all of them read'}</span></header>
        <Panel of={load} rows={7}>
          {(data) => <Week key={monday} data={data} monday={monday} zone={zone} chosen={chosen} onChoose={setChosen} />}
        </Panel>
      </section>
      {chosen !== null && <Minutes at={chosen} zone={zone} />}
    </>
  );
}

function busiest(data: Load, zone: string): string {
  const most = Math.max(...data.counts);
  const at = Date.parse(data.from) + data.counts.indexOf(most) * HOUR;
  const it = parts(at, zone);
  return `${it.day} ${it.time} is the fullest hour, with ${grouped(most)}.`;
}

const short = (count: number) => (count < 1_000 ? String(count) : `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)}k`);

function Week({ data, monday, zone, chosen, onChoose }: {
  data: Load;
  monday: string;
  zone: string;
  chosen: number | null;
  onChoose: (at: number) => void;
}) {
  const cells = cellsOf(data, zone);
  const days = Array.from({ length: 7 }, (_, day) => dayAfter(monday, day));
  const [here, setHere] = useState<[number, number]>([0, 0]);
  const grid = useRef<HTMLDivElement>(null);
  const pressed = (event: KeyboardEvent) => {
    const steps: Record<string, [number, number]> = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const next: [number, number] = [Math.max(0, Math.min(6, here[0] + step[0])), Math.max(0, Math.min(23, here[1] + step[1]))];
    setHere(next);
    grid.current?.querySelector<HTMLElement>(`[data-cell="${next.join('-')}"]`)?.focus();
  };
  return (
    <div class="scrolls" tabIndex={-1}>
      <div class="heat" role="grid" aria-label="Occurrences by day and hour" ref={grid} onKeyDown={pressed}>
        <span role="row"><span role="columnheader"><span class="vh">Day</span></span>{HOURS.map((hour) => <span key={hour} class="h" role="columnheader">{String(hour).padStart(2, '0')}</span>)}<span class="h end" role="columnheader">day</span></span>
        {days.map((day, row) => {
          const own = cells.get(day) ?? [];
          const hours = own.filter(Boolean).length;
          const name = parts(startOfDay(day, zone), zone).day;
          return (
            <span role="row" key={day}>
              <span class="d" role="rowheader">{name}{hours < 24 && hours > 0 && <small> 23 h</small>}</span>
              {HOURS.map((hour) => {
                const cell = own[hour];
                const tab = here[0] === row && here[1] === hour ? 0 : -1;
                const id = `${row}-${hour}`;
                if (!cell) return <span key={hour} class="gap" role="gridcell" tabIndex={tab} data-cell={id}><span class="vh">skipped by the clock</span></span>;
                return (
                  <span key={hour} role="gridcell" aria-selected={chosen === cell.at}>
                    <button type="button" tabIndex={tab} data-cell={id} class={`k${level(cell.count, data.counts)}`}
                      onFocus={() => setHere([row, hour])} onClick={() => onChoose(cell.at)}>
                      {short(cell.count)}<span class="vh"> on {name} at {String(hour).padStart(2, '0')}:00</span>
                    </button>
                  </span>
                );
              })}
              <span class="s" role="gridcell">{grouped(own.reduce((sum, cell) => sum + (cell?.count ?? 0), 0))}</span>
            </span>
          );
        })}
      </div>
    </div>
  );
}

/** The minutes of an hour, and what is due in the fullest. */
function Minutes({ at, zone }: { at: number; zone: string }) {
  const { subscription } = place.value;
  const load = useLoad(`minutes ${subscription} ${at}`, () => api.load(place.value, { from: iso(at), to: iso(at + HOUR), step: 'PT1M' }), null);
  const it = parts(at, zone);
  return (
    <div class="grid cal2">
      <section class="sheet" aria-labelledby="minutes">
        <header><h2 id="minutes">{it.day}, {it.time} – {parts(at + HOUR, zone).time}</h2>{load.data && <span class="muted">{summary(load.data, zone, MINUTE)}</span>}</header>
        <Panel of={load} rows={3}>{(data) => <div class="hour"><Bars data={data} step={MINUTE} zone={zone} label="Occurrences a minute" /></div>}</Panel>
      </section>
      <section class="sheet who" aria-labelledby="who">
        <header><h2 id="who">What is due</h2><span class="muted">in the fullest instants</span></header>
        <Panel of={load} rows={3}>
          {(data) => (data.top.length === 0 ? <p class="none">Nothing is due in this hour.</p> : (
            <table>
              <thead class="vh"><tr><th>When</th><th>How many</th><th>Which</th><th>Rule</th></tr></thead>
              <tbody>
                {data.top.flatMap((peak) => peak.groups.map((group, row) => (
                  <tr key={`${peak.at} ${row}`}>
                    <td class="nowrap">{row === 0 && parts(Date.parse(peak.at), zone).time}</td>
                    <td class="num"><b>{grouped(group.count)}</b></td>
                    <td>{group.names.join(', ')}{group.count > group.names.length && ' …'}</td>
                    <td class="voice">{group.rule}</td>
                  </tr>
                )))}
              </tbody>
            </table>
          ))}
        </Panel>
      </section>
    </div>
  );
}
