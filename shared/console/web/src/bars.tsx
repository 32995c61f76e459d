import type { Load } from './answers';
import { api } from './api';
import { parts } from './clock';
import { type Loaded, useLoad, whenKnown } from './load';
import { HOUR, MINUTE } from './spans';
import { inPlace, me, place } from './state';
import { grouped, now, oclock } from './time';
import { Panel } from './ui';

/** How long the quietest time of a day is, in quarters of an hour. */
const QUIET = 4;

/** The start of the minute that holds an instant. */
const minuteOf = (at: number) => Math.floor(at / MINUTE) * MINUTE;
export const iso = (at: number) => new Date(at).toISOString();
export const clock = (at: number, zone: string) => oclock(parts(at, zone).time);
export const sum = (counts: number[]) => counts.reduce((all, count) => all + count, 0);

export function NextHour({ id, zone }: { id: string; zone: string }) {
  // Before that the server's clock is not known.
  const isRead = me.value !== null;
  const load = useLoad(
    `hour ${id} ${isRead}`,
    whenKnown(() => {
      const from = minuteOf(now());
      return api.load(place.value, { from: iso(from), to: iso(from + HOUR), step: 'PT1M' });
    }),
    60,
  );
  return (
    <section class="sheet" aria-labelledby="hour">
      <header>
        <h2 id="hour">The next hour</h2>
        {load.data && <span class="muted">{summary(load.data, zone, MINUTE)}</span>}
        <span class="r">a minute</span>
      </header>
      <Panel of={load} rows={2}>
        {(data) => (
          <div class="hour">
            <Bars data={data} step={MINUTE} zone={zone} label="Occurrences a minute" isNow />
          </div>
        )}
      </Panel>
    </section>
  );
}

/** How many there are, and where the most of them are. */
export function summary(data: Load, zone: string, step: number): string {
  const all = sum(data.counts);
  if (all === 0) return 'nothing is due';
  const most = Math.max(...data.counts);
  const at = Date.parse(data.from) + data.counts.indexOf(most) * step;
  return `${grouped(all)} due; the most at ${clock(at, zone)}: ${grouped(most)}`;
}

/** A bar for each step. The fullest has the colour of ink; a height is a square root, so that few are seen beside many. */
export function Bars({
  data,
  step,
  zone,
  label,
  isNow = false,
  mark = null,
  labels,
  limit = Infinity,
}: {
  /** How many can be started in a step. */
  limit?: number;
  data: Load;
  step: number;
  zone: string;
  label: string;
  /** Whether the first step is now. */
  isNow?: boolean;
  /** A step that is pointed at. */
  mark?: number | null;
  /** What stands below, if not the times of the zone. */
  labels?: string[];
}) {
  const most = Math.max(...data.counts, 0);
  const from = Date.parse(data.from);
  const wide = 100 / Math.max(1, data.counts.length);
  const marks = labels ?? [0, 0.25, 0.5, 0.75, 1].map((part) => clock(from + part * data.counts.length * step, zone));
  const peak = data.counts.indexOf(most);
  const isCrowded = most > 0 && most * data.counts.length > sum(data.counts) * 2;
  const place = (peak + 0.5) * wide;
  return (
    <>
      <div class="plot">
        {isNow && (
          <span class="hand" aria-hidden="true">
            now
          </span>
        )}
        {isCrowded && !labels && (
          <span
            class={place > 70 ? 'peak before' : 'peak'}
            aria-hidden="true"
            style={{ insetInlineStart: `${place}%` }}
          >
            <b>{grouped(most)}</b> at {clock(from + peak * step, zone)}
          </span>
        )}
        <svg
          class="bars"
          role="img"
          aria-label={`${label}: ${summary(data, zone, step)}`}
          viewBox="0 0 100 100"
          preserveAspectRatio="none"
        >
          {data.counts.map((count, at) => {
            const tall = count === 0 ? 1 : Math.max(4, Math.sqrt(count / most) * 92);
            const kind = at === mark ? 'me' : count === 0 ? 'z' : count === most && isCrowded && !labels ? 'pk' : '';
            return <rect key={at} class={kind} x={at * wide} y={100 - tall} width={wide * 0.8} height={tall} />;
          })}
          {limit <= most && (
            <line
              x2="100"
              y1={100 - Math.sqrt(limit / most) * 92}
              y2={100 - Math.sqrt(limit / most) * 92}
              vector-effect="non-scaling-stroke"
            />
          )}
        </svg>
      </div>
      <div class="axis" aria-hidden="true">
        {marks.map((mark_, at) => (
          <span key={at}>{mark_}</span>
        ))}
      </div>
    </>
  );
}

/** The quietest hour of a day in quarters: where it begins, and how much is due in it. */
function quietest(counts: number[]): { at: number; count: number } | null {
  let found: { at: number; count: number } | null = null;
  for (let at = 0; at + QUIET <= counts.length; at += 1) {
    const count = sum(counts.slice(at, at + QUIET));
    if (found === null || count < found.count) found = { at, count };
  }
  return found;
}

export function NextDay({ of: load, zone }: { of: Loaded<Load>; zone: string }) {
  const quiet = load.data && quietest(load.data.counts);
  const quietAt = load.data && quiet ? Date.parse(load.data.from) + quiet.at * 15 * MINUTE : 0;
  return (
    <section class="sheet" aria-labelledby="day">
      <header>
        <h2 id="day">The next 24 hours</h2>
        {load.data && quiet && (
          <span class="muted">
            {grouped(sum(load.data.counts))} due; quietest {clock(quietAt, zone)} – {clock(quietAt + HOUR, zone)}, with{' '}
            {quiet.count === 0 ? 'none' : grouped(quiet.count)}
          </span>
        )}
        <span class="r">
          <a href={inPlace('calendar')}>Calendar</a>
        </span>
      </header>
      <Panel of={load} rows={1}>
        {(data) => {
          const wide = 100 / Math.max(1, data.counts.length);
          const most = Math.max(...data.counts);
          return (
            <div class="hour">
              <svg
                class="day"
                role="img"
                aria-label={`Occurrences a quarter of an hour: ${summary(data, zone, 15 * MINUTE)}`}
                viewBox="0 0 100 10"
                preserveAspectRatio="none"
              >
                {data.counts.map((count, at) => (
                  <rect key={at} class={`k${level(count, most)}`} x={at * wide} y="0" width={wide * 0.86} height="10" />
                ))}
              </svg>
              <div class="axis" aria-hidden="true">
                {[0, 6, 12, 18, 24].map((hours) => (
                  <span key={hours}>{clock(Date.parse(data.from) + hours * HOUR, zone)}</span>
                ))}
              </div>
            </div>
          );
        }}
      </Panel>
    </section>
  );
}

/** A shade from 0 to 5: none has 0, the most has 5. */
export function level(count: number, most: number): number {
  return count === 0 ? 0 : Math.max(1, Math.ceil((count / most) * 5));
}
