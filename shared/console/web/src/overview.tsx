// How a subscription is doing: what is wrong, what is late, and what comes.
import { api, type Load, type Overview as Found, type Upcoming } from './api';
import { useLoad } from './load';
import { inPlace, link, place, tick, zoneChoice } from './state';
import { grouped, now, parts, shownZone, span, until, withOffset } from './time';
import { Panel, State, stateOf, stateWord, Title } from './ui';

const HOUR = 3_600_000;
const MINUTE = 60_000;
/** How many of the next occurrences are shown. */
const NEXT = 14;

/** The first sentence of the page. The server decides which one it is. */
function headline({ headline: { kind, n = 0 }, sweep }: Found): string {
  if (kind === 'noJobs') return 'No jobs yet.';
  if (kind === 'late') return n === 1 ? 'One occurrence is late.' : `${grouped(n)} occurrences are late.`;
  if (kind === 'notSweeping') {
    return sweep.at === null ? 'Nothing fires: no sweeper has run yet.' : `Nothing fires: no sweeper has run for ${span(now() - Date.parse(sweep.at))}.`;
  }
  return 'Everything is on time.';
}

export function Overview() {
  const { subscription, group } = place.value;
  const key = `${subscription}/${group}`;
  const found = useLoad(`overview ${key}`, () => api.overview(place.value));
  const coming = useLoad(`upcoming ${key}`, () => api.upcoming(place.value, { limit: String(NEXT) }));
  const zone = shownZone(zoneChoice.value === 'UTC' ? 'UTC' : undefined);
  return (
    <>
      <div class="lede">
        <div>
          <p class="eyebrow">{subscription}</p>
          <Title voice>{found.data ? headline(found.data) : 'Overview'}</Title>
          {found.data && <p>{grouped(found.data.jobs.all)} jobs in {grouped(found.data.collections.all)} collections{found.data.collections.off > 0 && `, ${grouped(found.data.collections.off)} of them off`}.</p>}
        </div>
        {found.data && <Facts of={found.data} />}
      </div>
      {found.data === null && <section class="sheet"><Panel of={found} rows={3}>{() => null}</Panel></section>}
      {found.data?.headline.kind === 'noJobs' && (
        <section class="sheet empty">
          <p class="muted">A job is a rule that says when, and an action that says what. A collection holds jobs.</p>
          <p class="acts"><a class="btn go" href={inPlace('collections')}>Collections</a><a class="btn" href={inPlace('import')}>Import</a></p>
        </section>
      )}
      {found.data && found.data.headline.kind !== 'noJobs' && (
        <div class="grid cols">
          <div class="grid">
            <NextHour id={key} zone={zone} />
            <NextDay id={key} zone={zone} />
            <Collections id={key} />
          </div>
          <section class="sheet upnext" aria-labelledby="up">
            <header><h2 id="up">Up next</h2><span class="r">{zone.replaceAll('_', ' ')}</span></header>
            <Panel of={coming} rows={6}>{(data) => <Next data={data} zone={zone} />}</Panel>
          </section>
        </div>
      )}
    </>
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
      <header><h2 id="hour">The next hour</h2>{load.data && <span class="muted">{summary(load.data, zone, MINUTE)}</span>}</header>
      <Panel of={load} rows={2}>
        {(data) => (
          <div class="hour">
            <Bars data={data} step={MINUTE} zone={zone} label="Occurrences a minute" />
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
export function Bars({ data, step, zone, label }: { data: Load; step: number; zone: string; label: string }) {
  const most = Math.max(1, ...data.counts);
  const from = Date.parse(data.from);
  const wide = 100 / Math.max(1, data.counts.length);
  const marks = [0, 0.25, 0.5, 0.75, 1].map((part) => clock(from + part * data.counts.length * step, zone));
  return (
    <>
      <svg class="bars" role="img" aria-label={`${label}: ${summary(data, zone, step)}`} viewBox="0 0 100 100" preserveAspectRatio="none">
        {data.counts.map((count, place) => {
          const tall = count === 0 ? 1 : Math.max(3, Math.sqrt(count / most) * 96);
          return <rect key={place} class={count === 0 ? 'z' : count === most ? 'pk' : ''} x={place * wide} y={100 - tall} width={wide * 0.8} height={tall} />;
        })}
      </svg>
      <div class="axis" aria-hidden="true">{marks.map((mark, place) => <span key={place}>{mark}</span>)}</div>
    </>
  );
}

function NextDay({ id, zone }: { id: string; zone: string }) {
  const load = useLoad(`day ${id}`, () => {
    const from = Math.floor(now() / (15 * MINUTE)) * 15 * MINUTE;
    return api.load(place.value, { from: iso(from), to: iso(from + 24 * HOUR), step: 'PT15M' });
  }, 300);
  return (
    <section class="sheet" aria-labelledby="day">
      <header><h2 id="day">The next 24 hours</h2>{load.data && <span class="muted">{summary(load.data, zone, 15 * MINUTE)}</span>}<span class="r"><a href={inPlace('calendar')}>Calendar</a></span></header>
      <Panel of={load} rows={1}>
        {(data) => {
          const wide = 100 / Math.max(1, data.counts.length);
          return (
            <div class="hour">
              <svg class="day" role="img" aria-label={`Occurrences a quarter of an hour: ${summary(data, zone, 15 * MINUTE)}`} viewBox="0 0 100 10" preserveAspectRatio="none">
                {data.counts.map((count, place) => <rect key={place} class={`k${level(count, data.counts)}`} x={place * wide} y="0" width={wide * 0.86} height="10" />)}
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
export function level(count: number, all: number[]): number {
  return count === 0 ? 0 : Math.max(1, Math.ceil((count / Math.max(...all)) * 5));
}

function Collections({ id }: { id: string }) {
  const loaded = useLoad(`overview collections ${id}`, () => api.collections(place.value, null), 30);
  return (
    <section class="sheet coll" aria-labelledby="coll">
      <header><h2 id="coll">Collections of {place.value.group}</h2><span class="r"><a href={inPlace('collections')}>All</a></span></header>
      <Panel of={loaded} rows={3}>
        {(data) => (
          <table>
            <thead><tr><th>Name</th><th>State</th><th>Plan</th></tr></thead>
            <tbody>
              {data.items.slice(0, 10).map((one) => (
                <tr key={one.name}>
                  <td><a href={inPlace('jobs', one.name)}><b>{one.name}</b></a></td>
                  <td><State kind={stateOf(one.properties.state)}>{stateWord(one.properties.state)}</State></td>
                  <td>{one.properties.sku?.name ?? '—'}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Panel>
    </section>
  );
}

function Next({ data, zone }: { data: Upcoming; zone: string }) {
  tick.value;
  if (data.items.length === 0) return <p class="none">Nothing is due in the next 24 hours.</p>;
  return (
    <table>
      <thead class="vh"><tr><th>When</th><th>Job</th><th>In</th></tr></thead>
      <tbody>
        {data.items.map((one, row) => {
          const at = Date.parse(one.at);
          const it = parts(at, zone);
          return (
            <tr key={row}>
              <td class="t" title={withOffset(at, zone)}>{it.time}:{it.seconds}</td>
              <td><a href={link('in', place.value.subscription, one.resourceGroup, 'job', one.collection, one.job)}>{one.job}</a> <span class="muted">{one.collection}</span></td>
              <td class="num muted nowrap">{until(at).replace(/^in /, '')}</td>
            </tr>
          );
        })}
        {!data.complete && <tr><td /><td colSpan={2} class="faint">There are more.</td></tr>}
      </tbody>
    </table>
  );
}
