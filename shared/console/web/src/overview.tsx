// How a subscription is doing: what needs someone, what is late, and what comes.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Ahead, api, ApiError, type CollectionLine, FIRST_COLLECTION, type JobAt, type Load, type Overview as Found, type Upcoming } from './api';
import { asError, type Loaded, useLoad } from './load';
import { go, inPlace, isHere, isSame, link, may, place, say, tick } from './state';
import { span } from './spans';
import { civil, grouped, now, oclock, parts, until, wideZone, withOffset } from './time';
import { Panel, State, stateOf, stateWord, Title } from './ui';
import { type Alike, byJob, type Failing, gist, inLines, nameOf } from './outcome';

const HOUR = 3_600_000;
const MINUTE = 60_000;
/** How many jobs that come next are read, and shown. */
const READ = 100;
const NEXT = 14;
/** How many collections are shown. */
const COLLECTIONS = 10;
/** How many things that need someone are shown. */
const NEEDS = 20;
/** How many of the jobs that are late, whose next occurrence is far away, and that fail alike, are named. */
const LATE = 5;
const FAR = 5;
const ALIKE_MAX = 20;
/** How long a collection is off before someone should know: a day. */
const OFF_MS = 24 * HOUR;
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

/** A page of a job, in its own group. */
const to = (page: string, { resourceGroup, collection, job }: JobAt) => link('in', place.value.subscription, resourceGroup, page, collection, job);

/** Failures by job, the newest first. A server that does not keep them has none to show. */
async function failing(): Promise<Failing[]> {
  try {
    return byJob((await api.failures(place.value, new Date(now() - DAYS * 24 * HOUR))).items);
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 404) return [];
    throw thrown;
  }
}

export function Overview() {
  const { subscription, group } = place.value;
  const key = `${subscription}/${group}`;
  const found = useLoad(`overview ${key}`, () => api.overview(place.value));
  const coming = useLoad(`upcoming ${key}`, () => api.upcoming(place.value, { limit: String(READ) }));
  const failed = useLoad(`failures ${subscription}`, failing, 30);
  // By then the server's clock is known.
  const isRead = found.data !== null;
  const day = useLoad(`day ${key} ${isRead}`, () => {
    if (!isRead) return new Promise<never>(() => {});
    const from = Math.floor(now() / (15 * MINUTE)) * 15 * MINUTE;
    return api.load(place.value, { from: iso(from), to: iso(from + 24 * HOUR), step: 'PT15M', far: 'true' });
  }, 300);
  const zone = wideZone();
  const needs = failed.data?.length ?? 0;
  return (
    <>
      <div class="lede">
        <div>
          <p class="eyebrow">{subscription}</p>
          <Title voice>{found.data ? headline(found.data, needs) : 'Overview'}</Title>
          {found.data && found.data.collections.all > 0 && <p>{grouped(found.data.jobs.all)} job{found.data.jobs.all === 1 ? '' : 's'} in {grouped(found.data.collections.all)} collection{found.data.collections.all === 1 ? '' : 's'}{found.data.collections.off > 0 && `, ${grouped(found.data.collections.off)} of them off`}.</p>}
        </div>
        {found.data && <Facts of={found.data} />}
      </div>
      {found.data === null && <section class="sheet"><Panel of={found} rows={3}>{() => null}</Panel></section>}
      {found.data && found.error && <Panel of={found}>{() => null}</Panel>}
      {found.data?.headline.kind === 'noJobs' && <NoJobs />}
      {found.data && found.data.headline.kind !== 'noJobs' && (
        <>
          <Needs of={found.data} failed={failed} far={day.data?.far ?? []} />
          <div class="grid cols">
            <div class="grid">
              <NextHour id={key} zone={zone} />
              <NextDay of={day} zone={zone} />
              <Collections all={found.data.collections.items} whole={found.data.collections.items.length === found.data.collections.all} coming={coming.data} />
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
function Needs({ of, failed, far }: { of: Found; failed: Loaded<Failing[]>; far: Ahead[] }) {
  tick.value;
  const zone = wideZone();
  const rows: ComponentChildren[] = of.late.items.slice(0, LATE).map((one) => (
    <Need key={`late ${nameOf(one)}`} kind="late" title={<a href={to('job', one)}><b>{one.collection} / {one.job}</b></a>}
      text={`Due since ${withOffset(Date.parse(one.at), zone)}, and not started.`} acts={<a class="btn sm" href={`${to('why', one)}?at=${one.at}`}>Why</a>} />
  ));
  if (of.late.count > rows.length) {
    rows.push(<Need key="late" kind="late" title={<b>{grouped(of.late.count - rows.length)} more are late</b>} text="The list of a collection shows them with the filter “Late”." />);
  }
  const letters = of.deadLetters ?? 0;
  if (letters > 0) {
    rows.push(
      <Need key="dead" kind="bad" title={<a href={inPlace('dead')}><b>{grouped(letters)} dead letter{letters === 1 ? '' : 's'}</b></a>}
        text="Messages that were delivered again and again, and never finished." acts={<a class="btn sm" href={inPlace('dead')}>Look</a>} />,
    );
  }
  for (const { resourceGroup, collection, trouble } of of.alerts ?? []) {
    const why = trouble.cause ? `: ${trouble.cause.text}` : '';
    rows.push(
      <Need key={`alert ${resourceGroup}/${collection}`} kind="bad" title={<a href={link('in', place.value.subscription, resourceGroup, 'collections')}><b>Alerts of {collection}</b></a>}
        text={`${grouped(trouble.alerts)} did not arrive since ${civil(Date.parse(trouble.since), zone)}, the last one of ${trouble.job}${why}.`}
        acts={<a class="btn sm" href={link('in', place.value.subscription, resourceGroup, 'collections')}>Look</a>} />,
    );
  }
  const lines = inLines(failed.data ?? []);
  for (const line of lines.slice(0, NEEDS)) rows.push('jobs' in line ? <ManyFailed key={`${line.host} ${line.said}`} of={line} zone={zone} /> : <OneFailed key={nameOf(line.last)} of={line} zone={zone} />);
  const left = lines.slice(NEEDS).reduce((all, line) => all + ('jobs' in line ? line.jobs.length : 1), 0);
  for (const { resourceGroup, collection, state, since, jobs } of of.collections.items) {
    if (stateOf(state) === 'on') break;
    if (jobs === 0 || (since && now() - Date.parse(since) < OFF_MS)) continue;
    rows.push(
      <Need key={`off ${resourceGroup}/${collection}`} kind="off" title={<a href={link('in', place.value.subscription, resourceGroup, 'jobs', collection)}><b>{collection}</b></a>}
        text={`Off${since ? ` since ${civil(Date.parse(since), zone)}` : ''}: ${jobs === 1 ? 'its job does' : `its ${grouped(jobs)} jobs do`} not fire.`}
        acts={<a class="btn sm" href={`${link('in', place.value.subscription, resourceGroup, 'collections')}?state=off`}>Look</a>} />,
    );
  }
  // The server finds them in no order. What is farthest is the least likely to be meant.
  rows.push(...far.toSorted((a, b) => b.at.localeCompare(a.at)).slice(0, FAR).map((one) => (
    <Need key={`far ${nameOf(one)}`} kind="done" title={<a href={to('job', one)}><b>{one.collection} / {one.job}</b></a>}
      text={`Not due before ${withOffset(Date.parse(one.at), zone)}, ${until(Date.parse(one.at))}, which is far away for this rule: ${one.sentence}.`}
      acts={<a class="btn sm" href={to('edit', one)}>Edit<span class="vh"> {one.job}</span></a>} />
  )));
  if (rows.length === 0 && !failed.error) return null;
  return (
    <section class="sheet needs" aria-labelledby="needs">
      <header><h2 id="needs">Needs you</h2><span class="r">failures of {DAYS} days</span></header>
      {failed.error && failed.data === null && <Panel of={failed}>{() => null}</Panel>}
      <ul>{rows}</ul>
      {left > 0 && <p class="none">And {grouped(left)} more jobs that failed.</p>}
    </section>
  );
}

const often = (times: number, last: string, zone: string) => `${times === 1 ? 'once,' : `${inWords(times)} times, the last time`} ${civil(Date.parse(last), zone)}`;

function OneFailed({ of: { last, times }, zone }: { of: Failing; zone: string }) {
  const [error, setError] = useState<string | null>(null);
  const again = async () => {
    try {
      await api.redriveOccurrence({ subscription: place.value.subscription, group: last.resourceGroup }, last.collection, last.job, last.at);
      say(`One run of ${last.job} for this occurrence is in the queue.`);
      go(to('job', last));
    } catch (thrown) {
      const { message } = asError(thrown);
      setError(message);
      say(message);
    }
  };
  return (
    <Need kind="bad" title={<a href={to('job', last)}><b>{last.collection} / {last.job}</b></a>}
      text={error ?? `Failed for good ${often(times, last.at, zone)}. “${gist(last.message)}”`}
      acts={<>{may('run') && <button type="button" class="btn sm" onClick={again}>Run again<span class="vh"> {last.job}</span></button>}<a class="btn sm" href={to('job', last)}>What happened<span class="vh"> to {last.job}</span></a></>} />
  );
}

/** Jobs that fail alike: what they call is to be looked at, not each of them. */
function ManyFailed({ of: { host, said, jobs }, zone }: { of: Alike; zone: string }) {
  const [isOpen, setOpen] = useState(false);
  const times = jobs.reduce((all, one) => all + one.times, 0);
  return (
    <Need kind="bad" title={<b>{grouped(jobs.length)} jobs that call {host}</b>} text={`Failed for good ${often(times, jobs[0]?.last.at ?? '', zone)}. “${said}”`}
      acts={<button type="button" class="btn sm" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>Which<span class="vh"> call {host}</span></button>}>
      {isOpen && (
        <ul class="which">
          {jobs.slice(0, ALIKE_MAX).map(({ last }) => <li key={nameOf(last)}><a href={to('job', last)}>{last.collection} / {last.job}</a></li>)}
          {jobs.length > ALIKE_MAX && <li class="muted">and {grouped(jobs.length - ALIKE_MAX)} more</li>}
        </ul>
      )}
    </Need>
  );
}

const KINDS = { bad: 'failed', late: 'late', off: 'off', done: 'far away' } as const;

function Need({ kind, title, text, acts, children }: {
  kind: keyof typeof KINDS;
  title: ComponentChildren;
  text: string;
  acts?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <li>
      <State kind={kind}><span class="vh">{KINDS[kind]}</span></State>
      <div class="said">{title}<p class="muted" title={text}>{text}</p></div>
      <div class="acts">{acts}</div>
      {children}
    </li>
  );
}

/** The start of the minute that holds an instant. */
const minuteOf = (at: number) => Math.floor(at / MINUTE) * MINUTE;
const iso = (at: number) => new Date(at).toISOString();
const clock = (at: number, zone: string) => oclock(parts(at, zone).time);
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
export function Bars({ data, step, zone, label, isNow = false, mark = null, labels, limit = Infinity }: {
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
          {limit <= most && <line x2="100" y1={100 - Math.sqrt(limit / most) * 92} y2={100 - Math.sqrt(limit / most) * 92} vector-effect="non-scaling-stroke" />}
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

function NextDay({ of: load, zone }: { of: Loaded<Load>; zone: string }) {
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

function Collections({ all, whole, coming }: { all: CollectionLine[]; whole: boolean; coming: Upcoming | null }) {
  tick.value;
  const own = all.filter(isHere);
  const next = (name: string) => coming?.items.find((one) => isSame(one.collection, name) && isHere(one));
  return (
    <section class="sheet coll" aria-labelledby="coll">
      <header><h2 id="coll">Collections of {place.value.group}</h2><span class="r"><a href={inPlace('collections')}>All</a></span></header>
      {own.length === 0 ? <p class="none">{whole ? 'No collections in this group.' : 'Not among those that are read here.'}</p> : (
        <table>
          <thead><tr><th>Name</th><th>State</th><th>Jobs</th><th>Next</th></tr></thead>
          <tbody>
            {own.slice(0, COLLECTIONS).map((one) => {
              const first = next(one.collection);
              return (
                <tr key={one.collection}>
                  <td><a href={inPlace('jobs', one.collection)}><b>{one.collection}</b></a></td>
                  <td><State kind={stateOf(one.state)}>{stateWord(one.state)}</State></td>
                  <td class="nowrap"><Full of={one} /></td>
                  <td class="nowrap">{first ? until(Date.parse(first.at)) : '—'}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** How many jobs a collection has of those that it may have. */
export function Full({ of: { jobs, jobsMax } }: { of: CollectionLine }) {
  if (jobsMax === null) return <>{grouped(jobs)}</>;
  const isFull = jobs >= jobsMax;
  return (
    <span class="full"><span class={`prog${isFull ? ' hot' : ''}`} aria-hidden="true"><i style={{ width: `${Math.min(1, jobs / Math.max(1, jobsMax)) * 100}%` }} /></span>{grouped(jobs)} of {grouped(jobsMax)}</span>
  );
}

/** The next occurrence of each job: a job that fires often would hide the others. */
function Next({ data, zone }: { data: Upcoming; zone: string }) {
  tick.value;
  if (data.items.length === 0) return <p class="none">Nothing is due in the next 24 hours.</p>;
  const first = new Map<string, Upcoming['items'][number]>();
  for (const one of data.items) if (!first.has(nameOf(one))) first.set(nameOf(one), one);
  const all = [...first.values()];
  return (
    <table>
      <thead class="vh"><tr><th>When</th><th>Job</th><th>In</th></tr></thead>
      <tbody>
        {all.slice(0, NEXT).map((one) => {
          const at = Date.parse(one.at);
          const it = parts(at, zone);
          return (
            <tr key={nameOf(one)}>
              <td class="t" title={withOffset(at, zone)}>{oclock(it.time, it.seconds)}</td>
              <td class="who1"><a href={to('job', one)}>{one.job}</a> <span class="muted">{one.collection}</span></td>
              <td class="num muted nowrap">{until(at).replace(/^in /, '')}</td>
            </tr>
          );
        })}
        {(all.length > NEXT || !data.complete || data.items.length >= READ) && <tr><td /><td colSpan={2} class="faint">and more: <a href={inPlace('calendar')}>calendar</a></td></tr>}
      </tbody>
    </table>
  );
}
