// How a subscription is doing: what needs someone, what is late, and what comes.
import type { ComponentChildren } from 'preact';
import type { CollectionLine, OverviewData, Upcoming } from './answers';
import { api, FIRST_COLLECTION } from './api';
import { iso, NextDay, NextHour } from './bars';
import { parts } from './clock';
import { useLoad } from './load';
import { inWords, Needs, WorthALook } from './needing';
import { behindIn, countOf, isBehind, isSilent, lateTimers, needs } from './needs';
import { nameOf } from './outcome';
import { HOUR, MINUTE, span } from './spans';
import { inPlace, isHere, isOurs, isSame, me, pageOf, place, tick } from './state';
import { grouped, now, oclock, until, wideZone, withOffset } from './time';
import { Panel, State, stateOf, stateWord, Title } from './ui';

/** How many jobs that come next are read, and shown. */
const READ = 100;
const NEXT = 14;
/** How many collections are shown. */
const COLLECTIONS = 10;
export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** The first sentence of the page. The server decides which one it is, but for what needs someone. */
export function headline(found: OverviewData): string {
  const { headline, sweep } = found;
  if (headline.kind === 'noJobs') return 'No jobs yet.';
  if (isSilent(found)) {
    return `Nothing fires: no sweeper has run ${sweep.at ? `for ${span(now() - Date.parse(sweep.at))}` : 'yet'}.`;
  }
  const late = lateTimers(found);
  if (late > 0) return late === 1 ? 'One occurrence is late.' : `${grouped(late)} occurrences are late.`;
  if (found.hanging?.length) return `No answer from ${found.hanging.join(', ')}.`;
  const behind = behindIn(found);
  const [first] = behind;
  if (first?.waiting?.since) {
    return behind.length > 1
      ? `${capital(inWords(behind.length))} collections are behind.`
      : `${capital(first.collection)} is ${span(now() - Date.parse(first.waiting.since))} behind.`;
  }
  const { waiting } = found.late;
  if (waiting) return `${grouped(waiting)} occurrences wait.`;
  const count = countOf(found);
  // Where the server does not know what waits, nobody can say that nothing does.
  const onTime = found.waiting ? ' Everything else is on time.' : '';
  const jobs = needs.value?.data?.jobs.length;
  if (!count) return jobs === undefined ? '' : found.waiting ? 'Everything is on time.' : 'Nothing needs you.';
  const things = jobs === count ? 'job' : 'thing';
  return `${capital(inWords(count))} ${things}${count > 1 ? 's need' : ' needs'} you.${onTime}`;
}

export function Overview() {
  const { subscription, group } = place.value;
  const key = `${subscription}/${group}`;
  const found = useLoad(`overview ${key}`, () => api.overview(place.value), 10, false, isOurs);
  const coming = useLoad(`upcoming ${key}`, () => api.upcoming(place.value, { limit: String(READ) }));
  // Before that the server's clock is not known.
  const isRead = me.value !== null && found.data !== null;
  const day = useLoad(
    `day ${key} ${isRead}`,
    () => {
      if (!isRead) return new Promise<never>(() => {});
      const from = Math.floor(now() / (15 * MINUTE)) * 15 * MINUTE;
      return api.load(place.value, { from: iso(from), to: iso(from + 24 * HOUR), step: 'PT15M', far: 'true' });
    },
    300,
  );
  const zone = wideZone();
  return (
    <>
      <div class="lede">
        <div>
          <p class="eyebrow">{subscription}</p>
          <Title voice>{(found.data && headline(found.data)) || 'Overview'}</Title>
          {found.data && found.data.collections.all > 0 && (
            <p>
              {grouped(found.data.jobs.all)} job{found.data.jobs.all === 1 ? '' : 's'} in{' '}
              {grouped(found.data.collections.all)} collection{found.data.collections.all === 1 ? '' : 's'}
              {found.data.collections.off > 0 && `, ${grouped(found.data.collections.off)} of them off`}.
            </p>
          )}
        </div>
        {found.data && <Facts of={found.data} />}
      </div>
      {found.data === null && (
        <section class="sheet">
          <Panel of={found} rows={3}>
            {() => null}
          </Panel>
        </section>
      )}
      {found.data && found.error && <Panel of={found}>{() => null}</Panel>}
      {found.data?.headline.kind === 'noJobs' && <NoJobs />}
      {found.data && found.data.headline.kind !== 'noJobs' && (
        <>
          <Needs of={found.data} found={needs.value} />
          <WorthALook of={found.data} far={day.data?.far ?? []} />
          <div class="grid cols">
            <div class="grid">
              <NextHour id={key} zone={zone} />
              <NextDay of={day} zone={zone} />
              <Collections
                all={found.data.collections.items}
                whole={found.data.collections.items.length === found.data.collections.all}
                coming={coming.data}
              />
            </div>
            <section class="sheet upnext" aria-labelledby="up">
              <header>
                <h2 id="up">Up next</h2>
                <span class="r">{zone.replaceAll('_', ' ')}</span>
              </header>
              <Panel of={coming} rows={6}>
                {(data) => <Next data={data} zone={zone} />}
              </Panel>
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
      <p class="acts">
        <a class="btn go" href={inPlace('new', FIRST_COLLECTION)}>
          New job
        </a>
        <a class="btn" href={inPlace('collections')}>
          Collections
        </a>
        <a class="btn" href={inPlace('import')}>
          Import
        </a>
      </p>
      <p class="muted">On the command line:</p>
      <pre class="code">minutehand job create weekdays --at 09:00 --on mon-fri --url https://example.com/</pre>
    </section>
  );
}

export function Facts({ of, children }: { of: OverviewData; children?: ComponentChildren }) {
  tick.value;
  const ago = (at: string | null) => (at === null ? 'never' : `${span(Math.max(0, now() - Date.parse(at)))} ago`);
  return (
    <dl class="facts">
      <div>
        <dt>Last sweep</dt>
        <dd>{ago(of.sweep.at)}</dd>
      </div>
      {of.running == null ? (
        <div>
          <dt>Workers seen</dt>
          <dd>{ago(of.work.at)}</dd>
        </div>
      ) : (
        <div>
          <dt>Running</dt>
          <dd>{grouped(of.running)}</dd>
        </div>
      )}
      {of.waiting && (
        <div>
          <dt>Waiting</dt>
          <dd class={isBehind(of.waiting.since) ? 'late' : ''}>
            {grouped(of.waiting.count)}
            {of.waiting.since && `, ${span(now() - Date.parse(of.waiting.since))}`}
          </dd>
        </div>
      )}
      <div>
        <dt>Late</dt>
        <dd class={of.late.count > 0 ? 'late' : ''}>
          {of.late.isLeast && '≥ '}
          {grouped(of.late.count)}
        </dd>
      </div>
      {children}
    </dl>
  );
}

function Collections({ all, whole, coming }: { all: CollectionLine[]; whole: boolean; coming: Upcoming | null }) {
  tick.value;
  const own = all.filter(isHere);
  const next = (name: string) => coming?.items.find((one) => isSame(one.collection, name) && isHere(one));
  return (
    <section class="sheet coll" aria-labelledby="coll">
      <header>
        <h2 id="coll">Collections of {place.value.group}</h2>
        <span class="r">
          <a href={inPlace('collections')}>All</a>
        </span>
      </header>
      {own.length === 0 ? (
        <p class="none">{whole ? 'No collections in this group.' : 'Not among those that are read here.'}</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>State</th>
              <th>Jobs</th>
              <th>Now</th>
              <th>Next</th>
            </tr>
          </thead>
          <tbody>
            {own.slice(0, COLLECTIONS).map((one) => {
              const first = next(one.collection);
              return (
                <tr key={one.collection}>
                  <td>
                    <a href={inPlace('jobs', one.collection)}>
                      <b>{one.collection}</b>
                    </a>
                  </td>
                  <td>
                    <State kind={stateOf(one.state)}>{stateWord(one.state)}</State>
                  </td>
                  <td class="nowrap">
                    <Full of={one} />
                  </td>
                  <td class="nowrap">
                    <Now of={one} />
                  </td>
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
    <span class="full">
      <span class={`prog${isFull ? ' hot' : ''}`} aria-hidden="true">
        <i style={{ width: `${Math.min(1, jobs / Math.max(1, jobsMax)) * 100}%` }} />
      </span>
      {grouped(jobs)} of {grouped(jobsMax)}
    </span>
  );
}

/** What runs in a collection, and what waits. */
export function Now({ of: { running, waiting } }: { of: CollectionLine }) {
  if (running == null || !waiting) return <span class="faint">—</span>;
  if (running + waiting.count === 0) return <span class="faint">idle</span>;
  const since = waiting.since && span(now() - Date.parse(waiting.since));
  return (
    <>
      {running > 0 && `${grouped(running)} run${running === 1 ? 's' : ''}`}
      {running > 0 && waiting.count > 0 && ', '}
      {waiting.count > 0 && (
        <span class={isBehind(waiting.since) ? 'bad' : ''}>
          {grouped(waiting.count)} wait{waiting.count === 1 ? 's' : ''} {since}
        </span>
      )}
    </>
  );
}

/** The next occurrence of each job: a job that fires howOften would hide the others. */
function Next({ data, zone }: { data: Upcoming; zone: string }) {
  tick.value;
  if (data.items.length === 0) return <p class="none">Nothing is due in the next 24 hours.</p>;
  const first = new Map<string, Upcoming['items'][number]>();
  for (const one of data.items) if (!first.has(nameOf(one))) first.set(nameOf(one), one);
  const all = [...first.values()];
  return (
    <table>
      <thead class="vh">
        <tr>
          <th>When</th>
          <th>Job</th>
          <th>In</th>
        </tr>
      </thead>
      <tbody>
        {all.slice(0, NEXT).map((one) => {
          const at = Date.parse(one.at);
          const it = parts(at, zone);
          return (
            <tr key={nameOf(one)}>
              <td class="t" title={withOffset(at, zone)}>
                {oclock(it.time, it.seconds)}
              </td>
              <td class="who1">
                <a href={pageOf('job', one)}>{one.job}</a> <span class="muted">{one.collection}</span>
              </td>
              <td class="num muted nowrap">{until(at).replace(/^in /, '')}</td>
            </tr>
          );
        })}
        {(all.length > NEXT || !data.complete || data.items.length >= READ) && (
          <tr>
            <td />
            <td colSpan={2} class="faint">
              and more: <a href={inPlace('calendar')}>calendar</a>
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}
