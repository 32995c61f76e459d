// How a subscription is doing: what needs someone, what is late, and what comes.
import type { ComponentChildren } from 'preact';
import { api, ApiError, FIRST_COLLECTION, type Failure, type Load, type Overview as Found, type Upcoming } from './api';
import { useLoad } from './load';
import { inPlace, link, place, tick } from './state';
import { span } from './spans';
import { civil, grouped, now, parts, until, wideZone, withOffset } from './time';
import { Marks, Panel, State, stateOf, stateWord, Title } from './ui';
import { gist } from './outcome';

const HOUR = 3_600_000;
const MINUTE = 60_000;
/** How many jobs that come next are read, and shown. */
const READ = 100;
const NEXT = 14;
/** How many things that need someone are shown. */
const NEEDS = 20;
/** How far back failures are read. */
const DAYS = 7;
/** How long the quietest time of a day is, in quarters of an hour. */
const QUIET = 4;

const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
const inWords = (count: number) => NUMBERS[count] ?? grouped(count);
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** The first sentence of the page. The server decides which one it is, but for what failed. */
function headline({ headline: { kind, n = 0 }, sweep }: Found, needs: number): string {
  if (kind === 'noJobs') return 'No jobs yet.';
  if (kind === 'notSweeping') {
    return sweep.at === null ? 'Nothing fires: no sweeper has run yet.' : `Nothing fires: no sweeper has run for ${span(now() - Date.parse(sweep.at))}.`;
  }
  if (kind === 'late') return n === 1 ? 'One occurrence is late.' : `${grouped(n)} occurrences are late.`;
  if (needs > 0) return `${capital(inWords(needs))} ${needs === 1 ? 'job needs' : 'jobs need'} you. Everything else is on time.`;
  return 'Everything is on time.';
}

/** A job that failed for good, with how often in this time. */
interface Failing {
  last: Failure;
  times: number;
}

/** Failures by job, the newest first. A server that does not keep them has none to show. */
async function failing(): Promise<Failing[]> {
  let all: Failure[];
  try {
    all = (await api.failures(place.value, new Date(now() - DAYS * 24 * HOUR))).items;
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 404) return [];
    throw thrown;
  }
  const byJob = new Map<string, Failing>();
  for (const one of all) {
    const key = `${one.resourceGroup}/${one.collection}/${one.job}`;
    const known = byJob.get(key);
    if (!known) byJob.set(key, { last: one, times: 1 });
    else byJob.set(key, { last: one.at > known.last.at ? one : known.last, times: known.times + 1 });
  }
  return [...byJob.values()].sort((a, b) => (a.last.at < b.last.at ? 1 : -1));
}

export function Overview() {
  const { subscription, group } = place.value;
  const key = `${subscription}/${group}`;
  const found = useLoad(`overview ${key}`, () => api.overview(place.value));
  const coming = useLoad(`upcoming ${key}`, () => api.upcoming(place.value, { limit: String(READ) }));
  const failed = useLoad(`failures ${subscription}`, failing, 30);
  const zone = wideZone();
  const needs = failed.data?.length ?? 0;
  return (
    <>
      <div class="lede">
        <div>
          <p class="eyebrow">{subscription}</p>
          <Title voice>{found.data ? headline(found.data, needs) : 'Overview'}</Title>
          {found.data && <p>{grouped(found.data.jobs.all)} job{found.data.jobs.all === 1 ? '' : 's'} in {grouped(found.data.collections.all)} collection{found.data.collections.all === 1 ? '' : 's'}{found.data.collections.off > 0 && `, ${grouped(found.data.collections.off)} of them off`}.</p>}
        </div>
        {found.data && <Facts of={found.data} />}
      </div>
      {found.data === null && <section class="sheet"><Panel of={found} rows={3}>{() => null}</Panel></section>}
      {found.data && found.error && <Panel of={found}>{() => null}</Panel>}
      {found.data?.headline.kind === 'noJobs' && <NoJobs />}
      {found.data && found.data.headline.kind !== 'noJobs' && (
        <>
          <Needs of={found.data} failed={failed} />
          <div class="grid cols">
            <div class="grid">
              <NextHour id={key} zone={zone} />
              <NextDay id={key} zone={zone} />
              <Collections id={key} coming={coming.data} />
            </div>
            <section class="sheet upnext" aria-labelledby="up">
              <header><h2 id="up">Up next</h2><span class="r">{zone.replaceAll('_', ' ')}</span></header>
              <Panel of={coming} rows={6}>{(data) => <Next data={data} zone={zone} />}</Panel>
            </section>
          </div>
        </>
      )}
    </>
  );
}

/** The three ways to a first job. */
function NoJobs() {
  return (
    <section class="sheet empty">
      <p class="voice">A job is a rule that says when, and an action that says what.</p>
      <p class="muted">A collection holds jobs: it has a plan, and one switch for all of them.</p>
      <p class="acts"><a class="btn go" href={inPlace('new', FIRST_COLLECTION)}>New job</a><a class="btn" href={inPlace('collections')}>Collections</a><a class="btn" href={inPlace('import')}>Import</a></p>
      <p class="muted">On the command line:</p>
      <pre class="code">minutehand job create weekdays --at 09:00 --on mon-fri --url https://example.com/</pre>
    </section>
  );
}

function Facts({ of }: { of: Found }) {
  tick.value;
  const ago = (at: string | null) => (at === null ? 'never' : `${span(Math.max(0, now() - Date.parse(at)))} ago`);
  return (
    <dl class="facts">
      <div><dt>Last sweep</dt><dd>{ago(of.sweep.at)}</dd></div>
      <div><dt>Workers seen</dt><dd>{ago(of.work.at)}</dd></div>
      <div><dt>Late</dt><dd class={of.late.count > 0 ? 'late' : ''}>{of.late.isLeast && '≥ '}{grouped(of.late.count)}</dd></div>
    </dl>
  );
}

/** What is wrong, each with one thing to do. Without any, the panel is not there. */
function Needs({ of, failed }: { of: Found; failed: ReturnType<typeof useLoad<Failing[]>> }) {
  tick.value;
  const rows: ComponentChildren[] = [];
  if (of.late.count > 0) {
    rows.push(
      <Need key="late" kind="late" title={<b>{grouped(of.late.count)} late</b>} acts={<a class="btn sm" href={inPlace('why')}>Why</a>}
        text={`The oldest has been due since ${of.late.oldest ? withOffset(Date.parse(of.late.oldest), wideZone()) : 'a while'}.`} />,
    );
  }
  const letters = of.deadLetters ?? 0;
  if (letters > 0) {
    rows.push(
      <Need key="dead" kind="bad" title={<a href={inPlace('dead')}><b>{grouped(letters)} dead letter{letters === 1 ? '' : 's'}</b></a>}
        text="Messages that were delivered again and again, and never finished." acts={<a class="btn sm" href={inPlace('dead')}>Look</a>} />,
    );
  }
  const all = failed.data ?? [];
  const left = all.length - NEEDS;
  for (const { last, times } of all.slice(0, NEEDS)) {
    const to = (...page: string[]) => link('in', place.value.subscription, last.resourceGroup, ...page, last.collection, last.job);
    rows.push(
      <Need key={`${last.resourceGroup}/${last.collection}/${last.job}`} kind="bad"
        title={<a href={to('job')}><b>{last.collection} / {last.job}</b></a>}
        text={`Failed for good ${times === 1 ? 'once' : `${inWords(times)} times`}, the last time ${civil(Date.parse(last.at), wideZone())}. “${gist(last.message)}”`}
        marks={last.recent ?? null} acts={<a class="btn sm" href={to('job')}>What happened</a>} />,
    );
  }
  if (rows.length === 0 && !failed.error) return null;
  return (
    <section class="sheet needs" aria-labelledby="needs">
      <header><h2 id="needs">Needs you</h2><span class="r">newest first, {DAYS} days</span></header>
      {failed.error && failed.data === null && <Panel of={failed}>{() => null}</Panel>}
      <ul>{rows}</ul>
      {left > 0 && <p class="none">And {grouped(left)} more jobs that failed.</p>}
    </section>
  );
}

function Need({ kind, title, text, marks = null, acts }: {
  kind: 'bad' | 'late';
  title: ComponentChildren;
  text: string;
  marks?: string | null;
  acts: ComponentChildren;
}) {
  return (
    <li>
      <State kind={kind}><span class="vh">{kind === 'bad' ? 'failed' : 'late'}</span></State>
      <div class="said">{title}<p class="muted" title={text}>{text}</p></div>
      {marks && <Marks letters={marks.slice(-20)} />}
      <div class="acts">{acts}</div>
    </li>
  );
}

/** The start of the minute that holds an instant. */
const minuteOf = (at: number) => Math.floor(at / MINUTE) * MINUTE;
const iso = (at: number) => new Date(at).toISOString();
const clock = (at: number, zone: string) => parts(at, zone).time;
const sum = (counts: number[]) => counts.reduce((all, count) => all + count, 0);

function NextHour({ id, zone }: { id: string; zone: string }) {
  const load = useLoad(`hour ${id}`, () => {
    const from = minuteOf(now());
    return api.load(place.value, { from: iso(from), to: iso(from + HOUR), step: 'PT1M' });
  }, 60);
  return (
    <section class="sheet" aria-labelledby="hour">
      <header><h2 id="hour">The next hour</h2>{load.data && <span class="muted">{summary(load.data, zone, MINUTE)}</span>}<span class="r">a minute</span></header>
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
export function Bars({ data, step, zone, label, isNow = false, mark = null, labels }: {
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
        {isNow && <span class="hand" aria-hidden="true">now</span>}
        {isCrowded && !labels && (
          <span class={place > 70 ? 'peak before' : 'peak'} aria-hidden="true" style={{ insetInlineStart: `${place}%` }}>
            <b>{grouped(most)}</b> at {clock(from + peak * step, zone)}
          </span>
        )}
        <svg class="bars" role="img" aria-label={`${label}: ${summary(data, zone, step)}`} viewBox="0 0 100 100" preserveAspectRatio="none">
          {data.counts.map((count, at) => {
            const tall = count === 0 ? 1 : Math.max(4, Math.sqrt(count / most) * 92);
            const kind = at === mark ? 'me' : count === 0 ? 'z' : count === most && isCrowded && !labels ? 'pk' : '';
            return <rect key={at} class={kind} x={at * wide} y={100 - tall} width={wide * 0.8} height={tall} />;
          })}
        </svg>
      </div>
      <div class="axis" aria-hidden="true">{marks.map((mark_, at) => <span key={at}>{mark_}</span>)}</div>
    </>
  );
}

/** The quietest hour of a day in quarters: where it begins, and how much is due in it. */
export function quietest(counts: number[]): { at: number; count: number } | null {
  let found: { at: number; count: number } | null = null;
  for (let at = 0; at + QUIET <= counts.length; at += 1) {
    const count = sum(counts.slice(at, at + QUIET));
    if (found === null || count < found.count) found = { at, count };
  }
  return found;
}

function NextDay({ id, zone }: { id: string; zone: string }) {
  const load = useLoad(`day ${id}`, () => {
    const from = Math.floor(now() / (15 * MINUTE)) * 15 * MINUTE;
    return api.load(place.value, { from: iso(from), to: iso(from + 24 * HOUR), step: 'PT15M' });
  }, 300);
  const quiet = load.data && quietest(load.data.counts);
  const quietAt = load.data && quiet ? Date.parse(load.data.from) + quiet.at * 15 * MINUTE : 0;
  return (
    <section class="sheet" aria-labelledby="day">
      <header>
        <h2 id="day">The next 24 hours</h2>
        {load.data && quiet && <span class="muted">{grouped(sum(load.data.counts))} due; quietest {clock(quietAt, zone)} – {clock(quietAt + HOUR, zone)}, with {quiet.count === 0 ? 'none' : grouped(quiet.count)}</span>}
        <span class="r"><a href={inPlace('calendar')}>Calendar</a></span>
      </header>
      <Panel of={load} rows={1}>
        {(data) => {
          const wide = 100 / Math.max(1, data.counts.length);
          const most = Math.max(...data.counts);
          return (
            <div class="hour">
              <svg class="day" role="img" aria-label={`Occurrences a quarter of an hour: ${summary(data, zone, 15 * MINUTE)}`} viewBox="0 0 100 10" preserveAspectRatio="none">
                {data.counts.map((count, at) => <rect key={at} class={`k${level(count, most)}`} x={at * wide} y="0" width={wide * 0.86} height="10" />)}
              </svg>
              <div class="axis" aria-hidden="true">{[0, 6, 12, 18, 24].map((hours) => <span key={hours}>{clock(Date.parse(data.from) + hours * HOUR, zone)}</span>)}</div>
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

function Collections({ id, coming }: { id: string; coming: Upcoming | null }) {
  tick.value;
  const loaded = useLoad(`overview collections ${id}`, () => api.collections(place.value, null), 30);
  const next = (name: string) => {
    const own = coming?.items.find((one) => one.collection.toLowerCase() === name.toLowerCase() && one.resourceGroup.toLowerCase() === place.value.group.toLowerCase());
    return own ? until(Date.parse(own.at)) : '—';
  };
  return (
    <section class="sheet coll" aria-labelledby="coll">
      <header><h2 id="coll">Collections of {place.value.group}</h2><span class="r"><a href={inPlace('collections')}>All</a></span></header>
      <Panel of={loaded} rows={3}>
        {(data) => (data.items.length === 0 ? <p class="none">No collections in this group.</p> : (
          <table>
            <thead><tr><th>Name</th><th>State</th><th>Plan</th><th>Next</th></tr></thead>
            <tbody>
              {data.items.slice(0, 10).map((one) => (
                <tr key={one.name}>
                  <td><a href={inPlace('jobs', one.name)}><b>{one.name}</b></a></td>
                  <td><State kind={stateOf(one.properties.state)}>{stateWord(one.properties.state)}</State></td>
                  <td class="muted">{one.properties.sku?.name ?? '—'}</td>
                  <td class="nowrap">{next(one.name)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        ))}
      </Panel>
    </section>
  );
}

/** The next occurrence of each job: a job that fires often would hide the others. */
function Next({ data, zone }: { data: Upcoming; zone: string }) {
  tick.value;
  if (data.items.length === 0) return <p class="none">Nothing is due in the next 24 hours.</p>;
  const first = new Map<string, Upcoming['items'][number]>();
  for (const one of data.items) {
    const key = `${one.resourceGroup}/${one.collection}/${one.job}`;
    if (!first.has(key)) first.set(key, one);
  }
  const all = [...first.values()];
  const hasMarks = all.some((one) => one.recent);
  return (
    <table>
      <thead class="vh"><tr><th>When</th><th>Job</th><th>{hasMarks ? 'Last' : 'In'}</th></tr></thead>
      <tbody>
        {all.slice(0, NEXT).map((one) => {
          const at = Date.parse(one.at);
          const it = parts(at, zone);
          return (
            <tr key={`${one.collection}/${one.job}`}>
              <td class="t" title={withOffset(at, zone)}>{it.time}:{it.seconds}</td>
              <td class="who1"><a href={link('in', place.value.subscription, one.resourceGroup, 'job', one.collection, one.job)}>{one.job}</a> <span class="muted">{one.collection}</span></td>
              {hasMarks
                ? <td class="end"><Marks letters={(one.recent ?? '').slice(-12)} tall={14} /></td>
                : <td class="num muted nowrap">{until(at).replace(/^in /, '')}</td>}
            </tr>
          );
        })}
        {(all.length > NEXT || !data.complete || data.items.length >= READ) && <tr><td /><td colSpan={2} class="faint">and more: <a href={inPlace('calendar')}>calendar</a></td></tr>}
      </tbody>
    </table>
  );
}
