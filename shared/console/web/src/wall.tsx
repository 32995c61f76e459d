// A screen on a wall, to be read from three metres: what became of occurrences, what runs, and what needs someone.
import { useEffect, useRef } from 'preact/hooks';
import type { CollectionLine, Starts, WallData, WallRow } from './answers';
import { api } from './api';
import { clock, sum } from './bars';
import { parts } from './clock';
import { useLoad, whenKnown } from './load';
import { Needs } from './needing';
import { countOf, countsOf, isBehind, needs } from './needs';
import { capital, Facts, headline, Now } from './overview';
import { thenPage } from './then';
import { HOUR, MINUTE, span } from './spans';
import { inPlace, isOurs, me, pageOf, place, tick } from './state';
import { civil, grouped, now, wideZone } from './time';
import { Panel, Title } from './ui';

const QUARTER = 15 * MINUTE;
/** How many hours are shown, and quarters: those that have begun, and those ahead. */
const BACK = 18;
const PASTS = BACK * 4 + 1;
const AHEAD = 24;
/** How often what is due next is read, and all of it where each read has a price. */
const AHEAD_SECONDS = 300;
const PRICED_SECONDS = 60;
/** The height of a row of marks. */
const TALL = 26;
/** How many of its kinds are counted: what waits and what is late stands beside. */
const KINDS = 3;
/** How many things that need someone are shown. */
const NEEDS = 3;

/** Where a row's mark leads: to the jobs of the collection that did so. */
const jobsOf = (of: WallRow) => pageOf('jobs', { ...of, job: '' });

const onTime = (starts: Starts | null) =>
  starts ? (starts.withinMs ? `≤ ${span(starts.withinMs)}` : `> ${span(starts.overMs ?? 0)}`) : '—';

/** How many of a row went well. */
const fineOf = (of: WallRow) => sum(of.ok) + sum(of.retried ?? []) + sum(of.late ?? []);

/** A part of all in hundredths. */
const share = (part: number, all: number) => `${((part / all) * 100).toFixed(2)} %`;

/** Whether two are of one collection. */
const isOne =
  (one: { resourceGroup: string; collection: string }) => (other: { resourceGroup: string; collection: string }) =>
    one.collection === other.collection && one.resourceGroup === other.resourceGroup;

/** The marks of a row, a path for each kind: many rows are drawn at once. */
function marks(row: WallRow, due: number[]) {
  const paths = { ok: '', late: '', bad: '', skip: '', due: '' };
  const at = (all: number[] | null, n: number) => all?.[n] ?? 0;
  const all = Array.from({ length: PASTS }, (_, n) =>
    [row.ok, row.retried, row.late, row.failed, row.skipped].reduce((all, of) => all + at(of, n), 0),
  );
  const most = Math.max(1, ...all, ...due);
  const bar = (n: number, count: number) => {
    const tall = 4 + Math.sqrt(count / most) * (TALL - 4);
    return `M${n * 8} ${TALL}v${-tall.toFixed(1)}h6v${tall.toFixed(1)}z`;
  };
  for (const [n, count] of all.entries()) {
    if (count === 0) continue;
    if (at(row.failed, n)) paths.bad += bar(n, most);
    else if (at(row.late, n) + at(row.retried, n)) paths.late += `M${n * 8} ${TALL}h6v-${TALL - 6}z`;
    else if (at(row.skipped, n)) paths.skip += bar(n, count);
    else paths.ok += bar(n, count);
  }
  for (const [n, count] of due.entries()) if (count) paths.due += bar(PASTS + n, count);
  return { ...paths, now: `M${PASTS * 8 - 1}-3v${TALL + 6}` };
}

/** What is to be said of a collection first. */
function Said({ of, line }: { of: WallRow; line: CollectionLine | undefined }) {
  const failing = needs.value?.data?.jobs.find(({ last }) => isOne(of)(last));
  const [fine, failed, skipped] = [fineOf(of), sum(of.failed), sum(of.skipped)];
  const all = fine + failed + skipped;
  if (line && isBehind(line.waiting?.since)) return <Now of={line} />;
  const [kind, first, rest] = failing
    ? [
        'bad',
        failing.last.job,
        ` ${failing.kind}${failing.since ? ` since ${civil(Date.parse(failing.since), wideZone())}` : ''}`,
      ]
    : of.state !== 'Enabled'
      ? ['', 'off', '']
      : failed
        ? ['bad', `${grouped(failed)} failed`, needs.value?.data ? ', recovered' : '']
        : [
            '',
            all ? share(fine, all) : 'nothing was due',
            `${skipped ? ` · ${grouped(skipped)} skipped` : ''}${of.starts ? ` · start ${onTime(of.starts)}` : ''}`,
          ];
  return (
    <span class="muted">
      <b class={kind}>{first}</b>
      {rest}
    </span>
  );
}

function Row({
  of,
  due,
  line,
  from,
}: {
  of: WallRow;
  due: number[];
  line: CollectionLine | undefined;
  /** When its first mark begins. */
  from: number;
}) {
  const paths = marks(of, due);
  const columns = PASTS + AHEAD;
  /** A mark leads to what it stands for. */
  const open = (event: { currentTarget: HTMLAnchorElement; clientX: number }) => {
    const link = event.currentTarget;
    const box = link.lastElementChild?.getBoundingClientRect() ?? new DOMRect();
    const n = Math.floor(((event.clientX - box.x) / box.width) * columns);
    const at = from + n * QUARTER;
    if (n === PASTS - 1 && isBehind(line?.waiting?.since)) link.href = `${jobsOf(of)}?state=late`;
    else if (n >= 0 && n < columns) link.href = thenPage(at, at + QUARTER, of);
  };
  return (
    <li>
      <a href={jobsOf(of)} onClick={open}>
        <span>
          <b>{of.collection}</b>
          <small>
            {grouped(of.jobs)} job{of.jobs === 1 ? '' : 's'}
          </small>
        </span>
        <svg
          role="img"
          aria-label={`${grouped(fineOf(of))} went well, ${grouped(sum(of.failed))} failed, ${grouped(sum(of.skipped))} skipped, ${grouped(sum(due))} due`}
          viewBox={`0 0 ${columns * 8} ${TALL}`}
          preserveAspectRatio="none"
        >
          {Object.entries(paths).map(([kind, path]) => (
            <path key={kind} class={kind} d={path} />
          ))}
        </svg>
      </a>
      <Said of={of} line={line} />
    </li>
  );
}

/** What is due in the quarters that follow those of `past`: what was read a while ago begins earlier. */
function dueIn(past: WallData, read: WallData | null, row: WallRow): number[] {
  const due = read?.collections.items.find(isOne(row))?.due ?? [];
  // The first one is the rest of a quarter, an hour after it begins.
  const shift = (Date.parse(past.from) - Date.parse(read?.from ?? '')) / QUARTER + PASTS - 4;
  return Array.from({ length: AHEAD }, (_, n) => due[n + shift] ?? 0);
}

export function Wall() {
  const { subscription } = place.value;
  const priced = me.value?.home !== 'machine';
  const read = (back: number, ahead: number) => whenKnown(() => api.wall(place.value, back, ahead));
  const key = `${subscription} ${me.value !== null}`;
  const found = useLoad(`overview ${subscription}`, () => api.overview(place.value), 10, false, isOurs);
  const past = useLoad(`wall ${key}`, read(BACK, 0), priced ? PRICED_SECONDS : 10, false, isOurs);
  const next = useLoad(`due ${key}`, read(1, AHEAD / 4), AHEAD_SECONDS);
  const of = found.data;
  const zone = wideZone();
  useNotice(of ? countOf(of) : NaN);
  const items = past.data?.collections.items ?? [];
  const failed = items.reduce((all, one) => all + sum(one.failed), 0);
  const fine = items.reduce((all, one) => all + fineOf(one), 0);
  return (
    <>
      <div class="lede">
        <div>
          <p class="eyebrow">
            <a href={inPlace('overview')}>{subscription}</a> · wall{' '}
            {permission() === 'default' && (
              <button type="button" class="btn sm" onClick={() => void Notification.requestPermission()}>
                Notify me
              </button>
            )}
          </p>
          <Title voice>{(of && headline(of)) || 'Wall'}</Title>
          {past.data && (
            <p>
              {grouped(fine + failed)} occurrences of {grouped(items.length)} collections in 18 h
              {failed > 0 && `, ${share(fine, fine + failed)} went well`}.
            </p>
          )}
        </div>
        <Big zone={zone} />
      </div>
      {of && (
        <Facts of={of}>
          <div>
            <dt>Start, 99 of 100</dt>
            <dd>{past.data?.isCounted === false ? 'CloudWatch' : onTime(past.data?.starts ?? null)}</dd>
          </div>
          {countsOf(of)
            .slice(0, KINDS)
            .map(([count, what]) => (
              <div key={what}>
                <dt>{capital(what)}</dt>
                <dd class={count ? 'bad' : ''}>
                  {what === 'dead letters' ? grouped(of.deadLetters ?? 0) : needs.value?.data ? grouped(count) : '—'}
                </dd>
              </div>
            ))}
        </Facts>
      )}
      <section class="sheet" aria-labelledby="hours">
        <header>
          <h2 id="hours">18 hours back, 6 hours ahead</h2>
          <span class="muted">
            {past.data?.isCounted === false
              ? 'computed of what was due and what failed; retries, delays and starts are on CloudWatch’s board'
              : 'a quarter of an hour a mark; height: how many; colour and shape: the worst'}
          </span>
        </header>
        <Panel of={past} rows={6}>
          {(data) => {
            const from = Date.parse(data.from);
            return (
              <>
                <ul>
                  {data.collections.items.map((one) => (
                    <Row
                      key={`${one.resourceGroup}/${one.collection}`}
                      of={one}
                      due={dueIn(data, next.data, one)}
                      from={from}
                      line={of?.collections.items.find(isOne(one))}
                    />
                  ))}
                </ul>
                <div class="axis times" aria-hidden="true">
                  {[0, 4, 8, 12, 16, 20, 24].map((hour) => (
                    <span key={hour}>{clock(from + hour * HOUR, zone)}</span>
                  ))}
                </div>
              </>
            );
          }}
        </Panel>
      </section>
      <div class="grid cols">
        {of && <Needs of={of} found={needs.value} max={NEEDS} />}
        <section class="sheet" aria-labelledby="running">
          <header>
            <h2 id="running">Running now</h2>
          </header>
          <Running of={past.data} />
        </section>
      </div>
    </>
  );
}

/** A clock that is read from afar. */
function Big({ zone }: { zone: string }) {
  tick.value;
  const at = parts(now(), zone);
  return (
    <p class="big">
      <b>
        {at.time}:{at.seconds}
      </b>
      {zone.replaceAll('_', ' ')} · {at.day}
    </p>
  );
}

function Running({ of }: { of: WallData | null }) {
  tick.value;
  if (!of?.running) return <p class="none">{of ? 'On CloudWatch’s board.' : ''}</p>;
  if (of.running.length === 0) return <p class="none">Nothing runs.</p>;
  return (
    <ol class="lanes">
      {of.running.map((one) => {
        const passed = Math.max(0, now() - Date.parse(one.since));
        const whole = Math.max(one.tookMs ?? MINUTE, passed) * 1.25;
        return (
          <li key={`${one.job} ${one.since}`} class={one.tookMs && passed > one.tookMs * 2 ? 'w' : ''}>
            <a class="t" href={pageOf('job', one)}>
              {one.job}
            </a>
            <span class="lane" aria-hidden="true">
              <i style={{ width: `${(passed / whole) * 100}%` }} />
              {one.tookMs && <s style={{ insetInlineStart: `${(one.tookMs / whole) * 100}%` }} />}
            </span>
            <span class="said muted">
              {span(passed)}
              {one.tookMs && `, usual ${span(one.tookMs)}`}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

/** Tells the desk beside the screen when more needs someone, if it was asked to. */
function useNotice(count: number) {
  const before = useRef(NaN);
  useEffect(() => {
    if (count > before.current && permission() === 'granted')
      new Notification('Minutehand', { body: `${grouped(count)} need you.`, tag: 'minutehand' });
    before.current = count;
  }, [count]);
}

/** Whether the browser lets a page tell something; it has none without HTTPS. */
const permission = () => globalThis.Notification?.permission;
