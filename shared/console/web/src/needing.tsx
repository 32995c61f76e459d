// What needs someone, each with what can be done about it; and below it what may be worth a look.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Ahead, CollectionLine, Failure, OverviewData } from './answers';
import { api } from './api';
import { Confirm } from './dialog';
import { asError, type Loaded } from './load';
import { each } from './many';
import { Marks } from './marks';
import {
  behindIn,
  countOf,
  countsOf,
  isSnoozed,
  lateTimers,
  type Needed,
  type Needing,
  needs,
  snoozedIn,
  troubledIn,
} from './needs';
import { type Alike, causeOf, inLines, nameOf } from './outcome';
import { type Snoozable, Snooze, Wake } from './snooze';
import { HOUR, span } from './spans';
import { go, inPlace, link, may, pageOf, place, placeOf, say, tick } from './state';
import { civil, grouped, now, until, wideZone, withOffset } from './time';
import { Panel, State, stateOf } from './ui';

/** How many lines about jobs are shown. */
const LINES = 20;
/** How many of the jobs that are late, whose next occurrence is far away, that fail alike, and that recovered, are named. */
const LATE = 5;
const FAR = 5;
const ALIKE_MAX = 20;
const RECOVERED_MAX = 50;
/** How many results of a job are shown. */
const RESULTS = 12;
/** How long a collection is off before someone should know: a day. */
const OFF_MS = 24 * HOUR;

const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
export const inWords = (count: number) => NUMBERS[count] ?? grouped(count);

/** What is wrong, each with what to do. Without any, the panel is not there. */
export function Needs({ of, found, max = Infinity }: { of: OverviewData; found: Loaded<Needed> | null; max?: number }) {
  tick.value;
  const zone = wideZone();
  const rows: ComponentChildren[] = behindIn(of).map((one) => (
    <Behind key={`behind ${one.resourceGroup}/${one.collection}`} of={one} />
  ));
  const late = of.late.items.filter((one) => !one.waitsFor && !isSnoozed(of, one)).slice(0, LATE);
  const lateRows = late.map((one) => (
    <Need
      key={`late ${nameOf(one)}`}
      kind="late"
      title={<JobLink of={one} />}
      text={`Due since ${withOffset(Date.parse(one.at), zone)}, and not started.`}
      acts={
        <a class="btn sm" href={`${pageOf('why', one)}?at=${one.at}`}>
          Why
        </a>
      }
    />
  ));
  rows.push(...lateRows);
  const more = lateTimers(of) - late.length;
  if (more > 0) {
    const text = 'The list of a collection shows them with the filter “Late”.';
    rows.push(<Need key="late" kind="late" title={<b>{grouped(more)} more are late</b>} text={text} />);
  }
  const letters = of.deadLetters;
  if (letters) {
    const title = `${grouped(letters)} dead letter${letters === 1 ? '' : 's'}`;
    const text = 'A dead letter is a message that was delivered again and again, and never finished.';
    rows.push(<Linked key="dead" kind="bad" title={title} href={inPlace('dead')} text={text} />);
  }
  for (const { resourceGroup, collection, trouble } of troubledIn(of)) {
    const why = trouble.cause ? `: ${trouble.cause.text}` : '';
    rows.push(
      <Linked
        key={`alert ${resourceGroup}/${collection}`}
        kind="bad"
        title={`Alerts of ${collection}`}
        href={link('in', place.value.subscription, resourceGroup, 'collections')}
        text={`${grouped(trouble.alerts)} did not arrive since ${civil(Date.parse(trouble.since), zone)}, the last one of ${trouble.job}${why}.`}
      />,
    );
  }
  const jobs = found?.data?.jobs ?? [];
  const lines = [
    ...jobs.filter((one) => one.kind === 'paused'),
    ...inLines(jobs.filter((one) => one.kind !== 'paused')),
  ];
  for (const line of lines.slice(0, LINES)) {
    rows.push(
      'jobs' in line ? (
        <ManyFailed key={`${line.host} ${line.said}`} of={line} zone={zone} />
      ) : (
        <OneFailed key={nameOf(line.last)} of={line} zone={zone} />
      ),
    );
  }
  const left = lines.slice(LINES).reduce((all, line) => all + ('jobs' in line ? line.jobs.length : 1), 0);
  const recovered = found?.data?.recovered ?? [];
  const snoozed: (Snoozable & { snoozedUntil?: string | null })[] = [
    ...snoozedIn(of),
    ...(found?.data?.snoozed ?? []).map(inShort),
  ];
  if (rows.length === 0 && recovered.length + snoozed.length === 0 && !found?.error) return null;
  return (
    <section class="sheet needs" aria-labelledby="needs">
      <header>
        <h2 id="needs">Needs you</h2>
        <span class="muted">{countsInWords(of)}</span>
      </header>
      {found?.error && found.data === null && <Panel of={found}>{() => null}</Panel>}
      <ul>{rows.slice(0, max)}</ul>
      {left > 0 && max === Infinity && <p class="none">And {grouped(left)} more jobs that fail.</p>}
      {snoozed.length > 0 && (
        <details class="none">
          <summary>{grouped(snoozed.length)} snoozed</summary>
          <ul class="which">
            {snoozed.slice(0, RECOVERED_MAX).map((one) => (
              <li key={`${one.resourceGroup}/${one.collection}/${one.job}`}>
                <b>
                  {one.collection}
                  {one.job && ` / ${one.job}`}
                </b>{' '}
                <span class="muted">snoozed until {civil(Date.parse(one.snoozedUntil ?? ''), zone)}</span>{' '}
                {(one.job === undefined || !isSnoozed(of, one)) && <Wake of={one} />}
              </li>
            ))}
          </ul>
        </details>
      )}
      {recovered.length > 0 && (
        <details class="none">
          <summary>{grouped(recovered.length)} recovered within a day</summary>
          <ul class="which">
            {recovered.slice(0, RECOVERED_MAX).map(({ last }) => (
              <li key={nameOf(last)}>
                <JobLink of={last} /> <span class="muted">{causeOf(last)}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

/** `3: 2 failing, 1 paused`; without the sum if it says the same. */
function countsInWords(of: OverviewData): string {
  const parts = countsOf(of)
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${grouped(count)} ${what}`);
  return `${parts.length > 1 ? `${grouped(countOf(of))}: ` : ''}${parts.join(', ')}`;
}

/** A job that is snoozed. */
const inShort = ({ last: { resourceGroup, collection, job }, snoozedUntil }: Needing) => ({
  resourceGroup,
  collection,
  job,
  snoozedUntil,
});

/** What attempts wait for, in words. */
export function waitsFor(what: string | null, { maxConcurrent, maxPerSecond }: Partial<CollectionLine>): string {
  const limits = [
    maxConcurrent && `${grouped(maxConcurrent)} at once`,
    maxPerSecond && `${grouped(maxPerSecond)} a second`,
  ].filter(Boolean);
  const words: Record<string, string> = {
    limit: `the limit of the collection${limits.length > 0 ? `, ${limits.join(' and ')}` : ''}`,
    turn: 'another attempt of the job, which lets none overlap',
    place: 'a place among the attempts under way',
    origin: 'its target, which hangs',
    worker: 'a worker',
  };
  return words[what ?? ''] ?? what ?? '';
}

/** A collection in which attempts wait for too long. */
function Behind({ of }: { of: CollectionLine }) {
  const { resourceGroup, collection, waiting } = of;
  if (!waiting?.since) return null;
  const where = (page: string, ...parts: string[]) =>
    link('in', place.value.subscription, resourceGroup, page, ...parts);
  const whats = Object.entries(waiting.for);
  const many = whats.map(([what, count]) => `${whats.length > 1 ? `${grouped(count)} ` : ''}for ${waitsFor(what, of)}`);
  const count = waiting.count === 1 ? 'One attempt waits' : `${grouped(waiting.count)} attempts wait`;
  return (
    <Need
      kind="late"
      name="behind"
      title={
        <a href={`${where('jobs', collection)}?state=late`}>
          <b>{collection}</b>
        </a>
      }
      text={`${span(now() - Date.parse(waiting.since))} behind. ${count} ${many.join(', ')}.`}
      acts={
        <>
          {may('write') && waiting.for.limit !== undefined && (
            <a class="btn sm" href={`${where('collections')}?edit=${encodeURIComponent(collection)}`}>
              Limits<span class="vh"> of {collection}</span>
            </a>
          )}
          <a class="btn sm" href={`${where('jobs', collection)}?state=late`}>
            Which<span class="vh"> of {collection} wait</span>
          </a>
          <Snooze of={{ resourceGroup, collection }} />
        </>
      }
    />
  );
}

/** What is as somebody has set it, and may not be meant: it is in no count. */
export function WorthALook({ of, far }: { of: OverviewData; far: Ahead[] }) {
  tick.value;
  const zone = wideZone();
  const rows: ComponentChildren[] = [];
  for (const { resourceGroup, collection, state, since, jobs } of of.collections.items) {
    if (stateOf(state) === 'on') break;
    if (jobs === 0 || (since && now() - Date.parse(since) < OFF_MS)) continue;
    rows.push(
      <Linked
        key={`off ${resourceGroup}/${collection}`}
        kind="off"
        title={collection}
        href={`${link('in', place.value.subscription, resourceGroup, 'collections')}?state=off`}
        text={`Off${since ? ` since ${civil(Date.parse(since), zone)}` : ''}: ${jobs === 1 ? 'its job does' : `its ${grouped(jobs)} jobs do`} not fire.`}
      />,
    );
  }
  // The server finds them in no order. What is farthest is the least likely to be meant.
  for (const one of far.toSorted((a, b) => b.at.localeCompare(a.at)).slice(0, FAR)) {
    rows.push(
      <Need
        key={`far ${nameOf(one)}`}
        kind="done"
        title={<JobLink of={one} />}
        text={`Not due before ${withOffset(Date.parse(one.at), zone)}, ${until(Date.parse(one.at))}, which is far away for this rule: ${one.sentence}.`}
        acts={
          <a class="btn sm" href={pageOf('edit', one)}>
            Edit<span class="vh"> {one.job}</span>
          </a>
        }
      />,
    );
  }
  if (rows.length === 0) return null;
  return (
    <section class="sheet needs look" aria-labelledby="look">
      <header>
        <h2 id="look">Worth a look</h2>
      </header>
      <ul>{rows}</ul>
    </section>
  );
}

function JobLink({ of }: { of: { resourceGroup: string; collection: string; job: string; at: string } }) {
  return (
    <a href={pageOf('job', of)}>
      <b>
        {of.collection} / {of.job}
      </b>
    </a>
  );
}

const redrive = (of: Failure) => api.redriveOccurrence(placeOf(of), of.collection, of.job, of.at);

/** How often a job failed in a row, and since when. */
function inRow({ inRow, isLeast, since, last }: Needing, zone: string): string {
  if (inRow === 1) return `Failed for good ${civil(Date.parse(last.at), zone)}`;
  return `Failed for good ${inWords(inRow)} times in a row${isLeast ? ' or more' : ''}${since ? `, since ${civil(Date.parse(since), zone)}` : ''}`;
}

function OneFailed({ of, zone }: { of: Needing; zone: string }) {
  const { last } = of;
  const [error, setError] = useState<string | null>(null);
  const where = placeOf(last);
  const act = async (what: () => Promise<void>, done: string) => {
    try {
      await what();
      say(done);
      needs.value?.reload();
    } catch (thrown) {
      const { message } = asError(thrown);
      setError(message);
      say(message);
    }
  };
  const again = async () => {
    await redrive(last);
    go(pageOf('job', last));
  };
  const isPaused = of.kind === 'paused';
  // The cause comes first: where the line is short, it is what is read.
  const paused = of.pausedAt ? `; paused ${civil(Date.parse(of.pausedAt), zone)}` : '';
  const said = `${isPaused ? 'Paused by the scheduler. ' : ''}${causeOf(last)}. ${inRow(of, zone)}${paused}.`;
  const button = (verb: string, what: () => Promise<void>, done: string) => (
    <button type="button" class="btn sm" onClick={() => void act(what, done)}>
      {verb}
      <span class="vh"> {last.job}</span>
    </button>
  );
  return (
    <Need
      kind={isPaused ? 'off' : 'bad'}
      name={isPaused ? 'paused' : 'failing'}
      title={<JobLink of={last} />}
      text={error ?? said}
      acts={
        <>
          {of.recent && <Marks letters={of.recent.slice(-RESULTS)} />}
          {isPaused &&
            may('write') &&
            button('Resume', () => api.resume(where, last.collection, last.job), `${last.job} is resumed.`)}
          {isPaused &&
            may('run') &&
            button(
              'Try once',
              () => api.run(where, last.collection, last.job),
              `One run of ${last.job} is in the queue.`,
            )}
          {!isPaused &&
            may('run') &&
            button('Run again', again, `One run of ${last.job} for this occurrence is in the queue.`)}
          <a class="btn sm" href={pageOf('job', last)}>
            What happened<span class="vh"> to {last.job}</span>
          </a>
          <Snooze of={last} />
        </>
      }
    />
  );
}

/** Jobs that fail alike: what they call is to be looked at, not each of them. */
function ManyFailed({ of: { host, said, jobs }, zone }: { of: Alike<Needing>; zone: string }) {
  const [isOpen, setOpen] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const times = jobs.reduce((all, one) => all + one.inRow, 0);
  const count = grouped(jobs.length);
  const own = new Set(jobs.map(({ last }) => last.said ?? ''));
  const [one = ''] = own;
  return (
    <Need
      kind="bad"
      name="failing"
      title={
        <b>
          {count} jobs that call {host}
        </b>
      }
      text={`${said}${own.size === 1 && one ? `: “${one}”` : ''}. Failed for good ${inWords(times)} times, the last time ${civil(Date.parse(jobs[0]?.last.at ?? ''), zone)}.`}
      acts={
        <>
          {may('run') && (
            <button type="button" class="btn sm" onClick={() => setAsking(true)}>
              Run all again…<span class="vh"> that call {host}</span>
            </button>
          )}
          <button type="button" class="btn sm" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            Which<span class="vh"> call {host}</span>
          </button>
        </>
      }
    >
      {isOpen && (
        <ul class="which">
          {jobs.slice(0, ALIKE_MAX).map(({ last }) => (
            <li key={nameOf(last)}>
              <a href={pageOf('job', last)}>
                {last.collection} / {last.job}
              </a>
            </li>
          ))}
          {jobs.length > ALIKE_MAX && <li class="muted">and {grouped(jobs.length - ALIKE_MAX)} more</li>}
        </ul>
      )}
      {isAsking && <RunAll jobs={jobs} host={host} onClose={() => setAsking(false)} />}
    </Need>
  );
}

/** Asks before each of many jobs runs again for the occurrence that failed last. */
function RunAll({ jobs, host, onClose }: { jobs: Needing[]; host: string; onClose: () => void }) {
  const run = async () => {
    let sent = 0;
    let refused: unknown = null;
    await each(
      jobs,
      () => false,
      async ({ last }) => {
        try {
          await redrive(last);
          sent += 1;
        } catch (thrown) {
          refused = thrown;
        }
      },
    );
    say(`${grouped(sent)} runs are in the queue, ${grouped(jobs.length - sent)} were refused.`);
    needs.value?.reload();
    if (refused !== null) throw asError(refused);
  };
  return (
    <Confirm
      title={`Run ${grouped(jobs.length)} jobs again?`}
      verb="Run all again"
      text={`Each of the jobs that call ${host} runs once, now, for its occurrence that failed last. Their next occurrences stay where they are.`}
      onYes={run}
      onClose={onClose}
    />
  );
}

const KINDS = { bad: 'failed', late: 'late', off: 'off', done: 'far away' } as const;

interface NeedProps {
  kind: keyof typeof KINDS;
  /** What the mark is called, if not as others of its kind. */
  name?: string;
  title: ComponentChildren;
  text: string;
  acts?: ComponentChildren;
  children?: ComponentChildren;
}

function Need({ kind, name = KINDS[kind], title, text, acts, children }: NeedProps) {
  return (
    <li>
      <State kind={kind}>
        <span class="vh">{name}</span>
      </State>
      <div class="said">
        {title}
        <p class="muted" title={text}>
          {text}
        </p>
      </div>
      <div class="acts">{acts}</div>
      {children}
    </li>
  );
}

/** Something that another page shows. */
function Linked({ kind, title, href, text }: { kind: keyof typeof KINDS; title: string; href: string; text: string }) {
  return (
    <Need
      kind={kind}
      title={
        <a href={href}>
          <b>{title}</b>
        </a>
      }
      text={text}
      acts={
        <a class="btn sm" href={href}>
          Look<span class="vh"> at {title}</span>
        </a>
      }
    />
  );
}
