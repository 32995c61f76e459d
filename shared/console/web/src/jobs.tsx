// The jobs of a collection, of which only those in view are in the page.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, api, type Job, type Page, type Row as JobRow } from './api';
import { asError, useLoad } from './load';
import { useKeys } from './keys';
import { go, inPlace, may, place, route, say, setQuery, tick, zoneChoice } from './state';
import { grouped, parts, shownZone, until } from './time';
import { Confirm, Crumbs, ErrorPanel, Key, Marks, Skeleton, State, stateOf, stateWord, Title } from './ui';

const ROW = 44;
/** How many jobs a request asks for: few at first, so that there is something to see. */
const FIRST = 100;
const MORE = 500;
/** How many jobs are held; beyond them only a narrower filter helps. */
const HELD_MAX = 100_000;
/** How many requests run at once when something is done to many jobs. */
const AT_ONCE = 8;

const FILTERS = ['all', 'on', 'off', 'failed', 'over'] as const;
const FILTER_NAMES: Record<Filter, string> = { all: 'All', on: 'On', off: 'Off', failed: 'Failed before', over: 'Over' };
type Filter = (typeof FILTERS)[number];

/** What the marks of a row mean. */
const LEGEND = [['o', 'ok'], ['r', 'after a retry'], ['l', 'late'], ['f', 'failed'], ['s', 'skipped']] as const;

function fits(job: JobRow, filter: Filter): boolean {
  const state = stateOf(job.state);
  if (filter === 'all') return true;
  // Where the server keeps outcomes, the last of them counts.
  if (filter === 'failed') return job.recent ? isFailing(job) : job.failures > 0;
  if (filter === 'over') return state === 'done' || state === 'bad';
  return state === filter;
}

/** The last occurrence failed for good; where the server does not keep outcomes, all attempts did. */
function isFailing({ recent, failures, executions }: JobRow): boolean {
  return recent ? /[fe]$/.test(recent) : failures > 0 && failures === executions;
}

/** Reads all jobs, page after page, and says after each how far it is. */
function useJobs(collection: string) {
  const [jobs, setJobs] = useState<JobRow[]>([]);
  const [state, setState] = useState<{ whole: boolean; error: ApiError | null }>({ whole: false, error: null });
  const [round, setRound] = useState(0);
  const key = `${place.value.subscription}/${place.value.group}/${collection}`;
  useEffect(() => {
    let isOver = false;
    const found: JobRow[] = [];
    setJobs([]);
    setState({ whole: false, error: null });
    (async () => {
      let from: string | null = null;
      try {
        do {
          const page: Page<JobRow> =
            await api.rows(place.value, collection, '', found.length === 0 ? FIRST : MORE, from);
          if (isOver) return;
          found.push(...page.items);
          from = page.next;
          setJobs(found.slice());
        } while (from !== null && found.length < HELD_MAX);
        setState({ whole: from === null, error: null });
      } catch (thrown) {
        if (!isOver) setState({ whole: false, error: asError(thrown) });
      }
    })();
    return () => { isOver = true; };
  }, [key, round]);
  const replace = (name: string, job: JobRow | null) =>
    setJobs((old) => old.flatMap((one) => (one.name === name ? (job ? [job] : []) : [one])));
  return { jobs, ...state, replace, reload: () => setRound((was) => was + 1) };
}

export function Jobs({ collection }: { collection: string }) {
  const about = useLoad(`collection ${collection}`, () => api.collection(place.value, collection), 30);
  const { jobs, whole, error, replace, reload } = useJobs(collection);
  const name = route.value.query.get('name') ?? '';
  const filter = (FILTERS.find((one) => one === route.value.query.get('state')) ?? 'all') as Filter;
  const shown = useMemo(() => {
    const text = name.toLowerCase();
    const isInside = text.startsWith('*');
    const wanted = text.replaceAll('*', '');
    return jobs.filter((job) => {
      const own = job.name.toLowerCase();
      return fits(job, filter) && (isInside ? own.includes(wanted) : own.startsWith(wanted));
    });
  }, [jobs, name, filter]);
  const counts = useMemo(
    () => Object.fromEntries(FILTERS.map((one) => [one, jobs.filter((job) => fits(job, one)).length])),
    [jobs],
  );
  useKeys({ n: () => may('write') && go(inPlace('new', collection)) });
  const hasMarks = useMemo(() => jobs.some((job) => job.recent !== null), [jobs]);
  const isOn = stateOf(about.data?.properties.state) === 'on';
  return (
    <>
      <div class="head">
        <div>
          <Crumbs here="jobs" collection={collection} />
          <div class="named">
            <Title>{collection}</Title>
            {about.data && <State kind={isOn ? 'on' : 'off'}>{stateWord(about.data.properties.state)}</State>}
            <span class="muted">{grouped(jobs.length)}{whole ? '' : '+'} jobs</span>
          </div>
        </div>
        <div class="acts">
          <a class="btn" href={`${inPlace('calendar')}?collection=${encodeURIComponent(collection)}`}>Calendar</a>
          <a class="btn" href={inPlace('journal', collection)}>Journal</a>
          {may('write') && <a class="btn go" href={inPlace('new', collection)}>New job <Key>n</Key></a>}
        </div>
      </div>
      {about.data && !isOn && <p class="notice late" role="status">This collection is off: none of its jobs fires.</p>}
      {error && jobs.length === 0 ? <ErrorPanel error={error} onRetry={reload} />
        : !whole && jobs.length === 0 ? <section class="sheet"><Skeleton rows={10} /></section>
        : jobs.length === 0 ? <EmptyJobs collection={collection} />
        : (
          <>
            <div class="bar">
              <label class="find"><span class="vh">Name begins with, or *contains</span>
                <input value={name} placeholder="Name begins with… or *contains*" onInput={(event) => setQuery({ name: event.currentTarget.value })} />
              </label>
              {FILTERS.map((one) => (
                <button key={one} type="button" class="chip" aria-pressed={one === filter}
                  onClick={() => setQuery({ state: one === 'all' ? null : one })}>
                  {one === 'failed' && hasMarks ? 'Failing' : FILTER_NAMES[one]} <b>{grouped(counts[one] ?? 0)}</b>
                </button>
              ))}
              {hasMarks && <span class="legend" aria-hidden="true">{LEGEND.map(([letter, name]) => <span key={letter} class="state1"><Marks letters={letter} />{name}</span>)}</span>}
            </div>
            {shown.length === 0
              ? (
                <section class="sheet empty">
                  <p class="voice">No job fits{name && <> “{name}”</>}.</p>
                  <p><button type="button" class="btn" onClick={() => setQuery({ name: null, state: null })}>Clear</button></p>
                </section>
              )
              : <Grid collection={collection} shown={shown} total={jobs.length} whole={whole} error={error}
                  onRetry={reload} onReplace={replace} />}
          </>
        )}
    </>
  );
}

function EmptyJobs({ collection }: { collection: string }) {
  return (
    <section class="sheet empty">
      <p class="voice">No jobs in {collection} yet.</p>
      <p class="muted">A job is a rule that says when, and an action that says what.</p>
      {may('write') && <p><a class="btn go" href={inPlace('new', collection)}>New job</a></p>}
    </section>
  );
}

interface GridProps {
  collection: string;
  shown: JobRow[];
  total: number;
  whole: boolean;
  error: ApiError | null;
  onRetry: () => void;
  onReplace: (name: string, job: JobRow | null) => void;
}

function Grid({ collection, shown, total, whole, error, onRetry, onReplace }: GridProps) {
  const view = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [tall, setTall] = useState(612);
  const [at, setAt] = useState(0);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [anchor, setAnchor] = useState<number | null>(null);
  const [asking, setAsking] = useState<'on' | 'off' | 'run' | 'delete' | null>(null);
  useEffect(() => setAt((was) => Math.min(was, Math.max(0, shown.length - 1))), [shown.length]);
  useEffect(() => {
    const element = view.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setTall(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / ROW) - 3);
  const last = Math.min(shown.length, Math.ceil((top + tall) / ROW) + 3);
  const rows = shown.slice(first, last);

  const reach = (row: number) => {
    const next = Math.max(0, Math.min(shown.length - 1, row));
    setAt(next);
    const element = view.current;
    if (!element) return;
    if (next * ROW < element.scrollTop) element.scrollTop = next * ROW;
    else if ((next + 1) * ROW > element.scrollTop + element.clientHeight) {
      element.scrollTop = (next + 1) * ROW - element.clientHeight;
    }
  };
  const current = shown[at];
  const hasMarks = shown.some((job) => job.recent !== null);
  const open = (job: JobRow) => go(inPlace('job', collection, job.name));
  const choose = (from: number, to: number) => setChosen((old) => {
    const next = new Set(old);
    const isRange = from !== to;
    for (let row = Math.min(from, to); row <= Math.max(from, to); row += 1) {
      const name = shown[row]?.name;
      if (!name) continue;
      if (!isRange && next.has(name)) next.delete(name);
      else next.add(name);
    }
    return next;
  });
  const screen = Math.max(1, Math.floor(tall / ROW) - 1);
  const pressed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== view.current) return;
    const moves: Record<string, number> = {
      ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1,
      PageDown: at + screen, PageUp: at - screen, Home: 0, End: shown.length - 1,
    };
    const to = moves[event.key];
    const writes = may('write');
    if (to !== undefined) reach(to);
    else if (!current) return;
    else if (event.key === 'Enter') open(current);
    else if (event.key === 'x') { choose(at, at); setAnchor(at); }
    else if (event.key === 'X') choose(anchor ?? at, at);
    else if (event.key === 'w') go(inPlace('why', collection, current.name));
    else if (event.key === 'e' && writes) go(inPlace('edit', collection, current.name));
    else if (event.key === 'r' && may('run')) { setChosen(new Set([current.name])); setAsking('run'); }
    else if (event.key === 's' && writes) {
      setChosen(new Set([current.name]));
      setAsking(stateOf(current.state) === 'on' ? 'off' : 'on');
    } else if (event.key === 'y') {
      navigator.clipboard.writeText(`minutehand job show ${collection}/${current.name}`).then(
        () => say('The command is copied.'), () => say('The browser did not allow copying.'));
    } else if (event.key === 'Escape') setChosen(new Set());
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const act = async (job: JobRow, what: NonNullable<typeof asking>) => {
    const { name } = job;
    if (what === 'run') await api.run(place.value, collection, name);
    else if (what === 'delete') {
      await api.deleteJob(place.value, collection, name);
      onReplace(name, null);
    } else {
      const state = what === 'on' ? 'Enabled' : 'Disabled';
      const { properties } = await api.patchJob(place.value, collection, name, { state });
      const next = properties.status?.nextExecutionTime ?? null;
      onReplace(name, { ...job, state: properties.state ?? state, next });
    }
  };
  return (
    <section class={`sheet list${hasMarks ? ' marked' : ''}`} aria-label="Jobs">
      <div class="wide">
        <div class="vhead" aria-hidden="true">
          <span /><span><b>Name ↑</b></span><span>When</span>{hasMarks && <span>Last 20</span>}<span class="h-nx">Next</span><span class="num">Attempts</span><span />
        </div>
        <div ref={view} class="view" role="grid" tabIndex={0} aria-label={`Jobs of ${collection}`}
          aria-rowcount={shown.length} aria-multiselectable="true" onKeyDown={pressed}
          aria-activedescendant={current && at >= first && at < last ? `row-${at}` : undefined}
          onScroll={(event) => setTop(event.currentTarget.scrollTop)}
          style={{ height: `${Math.min(612, Math.max(ROW, shown.length * ROW))}px` }}>
          <div class="pad" role="presentation" style={{ height: `${shown.length * ROW}px` }}>
            {rows.map((job, offset) => (
              <Row key={job.name} job={job} row={first + offset} isCurrent={first + offset === at}
                isChosen={chosen.has(job.name)} collection={collection} hasMarks={hasMarks}
                onChoose={() => { setAt(first + offset); choose(first + offset, first + offset); setAnchor(first + offset); }}
                onRun={() => { setChosen(new Set([job.name])); setAsking('run'); }} />
            ))}
          </div>
        </div>
      </div>
      <div class="fo">
        <span>rows {grouped(Math.min(shown.length, Math.floor(top / ROW) + 1))} – {grouped(Math.min(shown.length, Math.floor((top + tall) / ROW)))} of {grouped(shown.length)}</span>
        <span role="status">
          {error ? `Stopped at ${grouped(total)}: ${error.message}` : whole ? '' : `${grouped(total)} read so far`}
        </span>
        {error && <button type="button" class="btn sm" onClick={onRetry}>Read again</button>}
        <span class="hints"><Key>j</Key> <Key>k</Key> move <Key>Enter</Key> open <Key>x</Key> choose <Key>?</Key> all keys</span>
      </div>
      {chosen.size > 0 && (
        <div class="fo bulk" role="region" aria-label="Chosen jobs">
          <b>{grouped(chosen.size)} chosen</b>
          {may('run') && <button type="button" class="btn sm" onClick={() => setAsking('run')}>Run…</button>}
          {may('write') && (
            <>
              <button type="button" class="btn sm" onClick={() => setAsking('on')}>Switch on…</button>
              <button type="button" class="btn sm" onClick={() => setAsking('off')}>Switch off…</button>
              <button type="button" class="btn sm" onClick={() => setAsking('delete')}>Delete…</button>
            </>
          )}
          <button type="button" class="btn sm bare" onClick={() => setChosen(new Set())}>None</button>
        </div>
      )}
      {asking && (
        <Bulk what={asking} jobs={shown.filter((job) => chosen.has(job.name))} act={act}
          onLeft={(left) => setChosen(new Set(left))} onClose={() => { setAsking(null); view.current?.focus(); }} />
      )}
    </section>
  );
}

function Row({ job, row, isCurrent, isChosen, hasMarks, collection, onChoose, onRun }: {
  job: JobRow;
  row: number;
  isCurrent: boolean;
  isChosen: boolean;
  hasMarks: boolean;
  collection: string;
  onChoose: () => void;
  onRun: () => void;
}) {
  tick.value;
  zoneChoice.value;
  const { name, next, failures } = job;
  const state = stateOf(job.state);
  const kind = state === 'on' && isFailing(job) ? 'bad' : state;
  const zone = shownZone(job.zone ?? undefined);
  const when = next ? parts(Date.parse(next), zone) : null;
  return (
    <div class={`row${isChosen ? ' chosen' : ''}`} role="row" id={`row-${row}`} aria-rowindex={row + 1}
      aria-selected={isChosen} data-current={isCurrent || undefined} style={{ top: `${row * ROW}px` }}>
      <span role="gridcell"><input type="checkbox" tabIndex={-1} checked={isChosen} onChange={onChoose} aria-label={`Choose ${name}`} /></span>
      <span role="gridcell" class="nm">
        <State kind={kind}><span class="vh">{kind === 'bad' ? 'failing' : stateWord(job.state)}</span>
          <a tabIndex={-1} href={inPlace('job', collection, name)}>{name}</a></State>
        <small>{job.target}</small>
      </span>
      <span role="gridcell" class="st">{job.sentence}</span>
      {hasMarks && <span role="gridcell" class="mk"><Marks letters={(job.recent ?? '').slice(-20)} /></span>}
      <span role="gridcell" class="nx">
        {next && when ? <><b>{until(Date.parse(next))}</b><small>{when.day} {when.time} {when.offset}</small></> : <span class="faint">—</span>}
      </span>
      <span role="gridcell" class="num">
        {grouped(job.executions)}
        {failures > 0 && <small class="bad">{grouped(failures)} failed</small>}
      </span>
      <span role="gridcell" class="go">
        {may('run') && <button type="button" class="btn sm" tabIndex={-1} onClick={onRun} aria-label={`Run ${name}`}>Run</button>}
      </span>
    </div>
  );
}

/** What a job calls, in a few words. */
export function target({ properties: { action } }: Pick<Job, 'properties'>): string {
  const { request, queueMessage, type } = (action ?? {}) as {
    request?: { method?: string; uri?: string };
    queueMessage?: { storageAccount?: string; queueName?: string };
    type?: string;
  };
  if (request?.uri) return `${(request.method ?? 'GET').toUpperCase()} ${request.uri.replace(/^https?:\/\//, '')}`;
  if (queueMessage?.queueName) return `queue ${queueMessage.queueName} of ${queueMessage.storageAccount ?? ''}`;
  return type ?? '';
}

const VERBS = {
  on: ['Switch on', 'They fire again from their next occurrence on.'],
  off: ['Switch off', 'They do not fire until they are on again. What falls due in between is not made up for.'],
  run: ['Run now', 'Each runs once, now. Their next occurrences stay where they are.'],
  delete: ['Delete', 'They and their history are deleted. This cannot be taken back.'],
} as const;

/** Does something to many jobs, some at once. Those that fail stay chosen, with their reasons. */
function Bulk({ what, jobs, act, onLeft, onClose }: {
  what: keyof typeof VERBS;
  jobs: JobRow[];
  act: (job: JobRow, what: keyof typeof VERBS) => Promise<void>;
  onLeft: (names: string[]) => void;
  onClose: () => void;
}) {
  const [wanted] = useState(jobs);
  const [done, setDone] = useState<number | null>(null);
  const [failures, setFailures] = useState<[string, ApiError][]>([]);
  const isStopped = useRef(false);
  useEffect(() => () => { isStopped.current = true; }, []);
  const [verb, text] = VERBS[what];
  const one = wanted.length === 1 ? wanted[0]?.name ?? '' : null;
  const run = async () => {
    setDone(0);
    const left = wanted.slice();
    const failed: [string, ApiError][] = [];
    let finished = 0;
    const lane = async (): Promise<void> => {
      const job = isStopped.current ? undefined : left.shift();
      if (!job) return;
      try {
        await act(job, what);
      } catch (thrown) {
        failed.push([job.name, asError(thrown)]);
        setFailures(failed.slice());
      }
      finished += 1;
      setDone(finished);
      return lane();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    onLeft([...failed.map(([name]) => name), ...left.map((job) => job.name)]);
    say(`${verb}: ${finished - failed.length} done, ${failed.length} failed.`);
    if (failed.length === 0) onClose();
    else if (isStopped.current) throw failed[0]?.[1];
    if (failed.length > 0) throw new ApiError(0, 'SomeFailed', summary(failed), null, null, null);
  };
  return (
    <Confirm title={one ? `${verb} ${one}?` : `${verb} ${grouped(wanted.length)} jobs?`} verb={verb}
      {...(what === 'delete' ? { name: one ?? String(wanted.length) } : {})}
      text={
        <>
          {text}
          {done !== null && (
            <span class="run" role="status">
              <progress max={wanted.length} value={done} aria-label="Jobs done" /> {done} of {wanted.length}
              {failures.length > 0 && `, ${failures.length} failed`}{' '}
              <button type="button" class="btn sm" onClick={() => { isStopped.current = true; }}>Stop</button>
            </span>
          )}
        </>
      }
      onYes={run} onClose={onClose} />
  );
}

/** The reasons of failures, each once, with how many jobs it holds for. */
function summary(failed: [string, ApiError][]): string {
  const counts = new Map<string, number>();
  for (const [, error] of failed) counts.set(error.message, (counts.get(error.message) ?? 0) + 1);
  const reasons = [...counts].slice(0, 3).map(([message, count]) => (counts.size === 1 ? message : `${count}: ${message}`));
  return `${failed.length} failed and stay chosen. ${reasons.join(' ')}`;
}
