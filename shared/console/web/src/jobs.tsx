// The jobs of a collection, of which only those in view are in the page.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type ApiError, api, clockOffset, type Document, type Page, type Row as JobRow } from './api';
import { Bulk, type Verb } from './bulk';
import { SwitchCollection } from './collections';
import { asError, useLoad } from './load';
import { useKeys } from './keys';
import { asksRun, density, go, inPlace, may, place, route, say, setQuery, tick, zoneChoice } from './state';
import { grouped, instantOf, localOf, now, oclock, parts, shownZone, until, wideZone } from './time';
import { copyCommand, Crumbs, ErrorPanel, Key, Marks, Skeleton, State, stateOf, stateWord, Title } from './ui';

/** How tall a row is. */
const TALL = { roomy: 44, dense: 30 };
/** How many jobs a request asks for: few at first, so that there is something to see. */
const FIRST = 100;
const MORE = 500;
/** How many jobs are held; beyond them only a narrower filter helps. */
const HELD_MAX = 100_000;

const FILTERS = ['all', 'on', 'off', 'failed', 'late', 'over'] as const;
const FILTER_NAMES: Record<Filter, string> = { all: 'All', on: 'On', off: 'Off', failed: 'Failed before', late: 'Late', over: 'Over' };
type Filter = (typeof FILTERS)[number];

/** A job that has been due for longer is late: the sweeper moves it on within a minute. */
const LATE_MS = 120_000;

/** What the marks of a row mean. */
const LEGEND = [['o', 'ok'], ['r', 'after a retry'], ['l', 'late'], ['f', 'failed'], ['s', 'skipped']] as const;

function fits(job: JobRow, filter: Filter, readAt: number): boolean {
  const state = stateOf(job.state);
  if (filter === 'all') return true;
  // Where the server keeps outcomes, the last of them counts.
  if (filter === 'failed') return job.recent ? isFailing(job) : job.failures > 0;
  if (filter === 'late') return isLate(job, readAt);
  if (filter === 'over') return state === 'done' || state === 'bad';
  return state === filter;
}

/** The last occurrence failed for good; where the server does not keep outcomes, all attempts did. */
function isFailing({ recent, failures, executions }: JobRow): boolean {
  return recent ? /[fe]$/.test(recent) : failures > 0 && failures === executions;
}

const isLate = ({ next, state }: JobRow, readAt: number) => next !== null && stateOf(state) === 'on' && readAt - Date.parse(next) > LATE_MS;

/** The zone that a job's times of the day are in; one that runs once has none. */
const zoneOf = ({ zone }: JobRow) => zone ?? 'UTC';

/** How long the list rests before it is read again, for each page of it. */
const REST_MS = 10_000;

interface Read {
  jobs: JobRow[];
  whole: boolean;
  error: ApiError | null;
  /** When the last reading of all began, on this machine's clock. */
  at: number;
}

/** Reads all jobs, page after page, and again and again. The first reading shows how far it is. */
function useJobs(collection: string) {
  const [read, setRead] = useState<Read>({ jobs: [], whole: false, error: null, at: 0 });
  const [round, setRound] = useState(0);
  const key = `${place.value.subscription}/${place.value.group}/${collection}`;
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    setRead({ jobs: [], whole: false, error: null, at: Date.now() });
    const readAll = async (isFirst: boolean) => {
      const jobs: JobRow[] = [];
      const at = Date.now();
      let from: string | null = null;
      let pages = 0;
      try {
        do {
          const page: Page<JobRow> = await api.rows(place.value, collection, '', isFirst && pages === 0 ? FIRST : MORE, from);
          if (isOver) return;
          jobs.push(...page.items);
          from = page.next;
          pages += 1;
          if (isFirst) setRead({ jobs: jobs.slice(), whole: false, error: null, at });
        } while (from !== null && jobs.length < HELD_MAX);
        setRead({ jobs, whole: from === null, error: null, at });
      } catch (thrown) {
        if (isOver) return;
        setRead((old) => ({ ...old, error: asError(thrown) }));
        if (isFirst) return;
      }
      timer = setTimeout(again, REST_MS * Math.max(1, pages));
    };
    const again = () => {
      // Nothing moves below a question, and nothing is read that is not seen.
      if (document.hidden || document.querySelector('dialog[open]')) timer = setTimeout(again, REST_MS);
      else void readAll(false);
    };
    void readAll(true);
    return () => { isOver = true; clearTimeout(timer); };
  }, [key, round]);
  const replace = (name: string, job: JobRow | null) =>
    setRead((old) => ({ ...old, jobs: old.jobs.flatMap((one) => (one.name === name ? (job ? [job] : []) : [one])) }));
  return { ...read, replace, reload: () => setRound((was) => was + 1) };
}

export function Jobs({ collection }: { collection: string }) {
  const about = useLoad(`collection ${collection}`, () => api.collection(place.value, collection), 30);
  const { jobs, whole, error, at, replace, reload } = useJobs(collection);
  const readAt = at + clockOffset.value;
  const name = route.value.query.get('name') ?? '';
  const filter = (FILTERS.find((one) => one === route.value.query.get('state')) ?? 'all') as Filter;
  const zone = route.value.query.get('zone') ?? '';
  const by = route.value.query.get('by') === 'next' ? 'next' : 'name';
  const due = useDue(collection);
  const shown = useMemo(() => {
    const text = name.toLowerCase();
    const isInside = text.startsWith('*');
    const wanted = text.replaceAll('*', '');
    const found = jobs.filter((job) => {
      const own = job.name.toLowerCase();
      return fits(job, filter, readAt) && (zone === '' || zoneOf(job) === zone) && (due.names?.has(own) ?? true) &&
        (isInside ? own.includes(wanted) : own.startsWith(wanted));
    });
    // Those without a next occurrence come last.
    const next = (job: JobRow) => (job.next === null ? Infinity : Date.parse(job.next));
    return by === 'next' ? found.sort((a, b) => next(a) - next(b) || (a.name < b.name ? -1 : 1)) : found;
  }, [jobs, name, filter, zone, by, due.names, readAt]);
  const zones = useMemo(() => [...new Set(jobs.map(zoneOf))].sort(), [jobs]);
  const counts = useMemo(
    () => Object.fromEntries(FILTERS.map((one) => [one, jobs.filter((job) => fits(job, one, readAt)).length])),
    [jobs, readAt],
  );
  useKeys({ n: () => may('write') && go(inPlace('new', collection)) });
  const hasMarks = useMemo(() => jobs.some((job) => job.recent !== null), [jobs]);
  const isOn = stateOf(about.data?.properties.state) === 'on';
  const [isSwitching, setSwitching] = useState(false);
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
          {may('write') && about.data && <button type="button" class="btn" onClick={() => setSwitching(true)}>Switch {isOn ? 'off' : 'on'}…</button>}
          {may('write') && <a class="btn go" href={inPlace('new', collection)}>New job <Key>n</Key></a>}
        </div>
      </div>
      {isSwitching && <SwitchCollection name={collection} isOn={isOn} jobs={whole ? jobs.length : undefined} onDone={about.reload} onClose={() => setSwitching(false)} />}
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
              <button type="button" class="chip" aria-pressed={by === 'next'} onClick={() => setQuery({ by: by === 'next' ? null : 'next' })}>Soonest first</button>
              <span class="between" />
              {FILTERS.map((one) => (
                <button key={one} type="button" class="chip" aria-pressed={one === filter}
                  onClick={() => setQuery({ state: one === 'all' ? null : one })}>
                  {one === 'failed' && hasMarks ? 'Failing' : FILTER_NAMES[one]} <b>{grouped(counts[one] ?? 0)}</b>
                </button>
              ))}
              {(zones.length > 1 || zone) && (
                <label class="pick">Zone
                  <select class="i" value={zone} onChange={(event) => setQuery({ zone: event.currentTarget.value || null })}>
                    <option value="">any</option>
                    {[...new Set([...zones, zone])].filter(Boolean).map((one) => <option key={one}>{one}</option>)}
                  </select>
                </label>
              )}
              <Due of={due} />
            </div>
            {shown.length === 0
              ? (
                <section class="sheet empty">
                  <p class="voice">No job fits{name && <> “{name}”</>}.</p>
                  <p><button type="button" class="btn" onClick={() => setQuery({ name: null, state: null, zone: null, at: null, for: null })}>Clear</button></p>
                </section>
              )
              : <Grid collection={collection} shown={shown} by={by} total={jobs.length} whole={whole} error={error}
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
      {may('write') && <p class="acts"><a class="btn go" href={inPlace('new', collection)}>New job</a><a class="btn" href={inPlace('import')}>Import</a></p>}
    </section>
  );
}

const LENGTHS = [['PT1M', 'a minute', 60_000], ['PT1H', 'an hour', 3_600_000], ['P1D', 'a day', 86_400_000]] as const;
/** How many occurrences of a time are asked for. */
const DUE_MAX = 500;

/** The jobs that fire in a time that the address names: the server says which. */
function useDue(collection: string) {
  const at = route.value.query.get('at') ?? '';
  const long = LENGTHS.find(([name]) => name === route.value.query.get('for')) ?? LENGTHS[1];
  const zone = wideZone();
  const from = at === '' ? NaN : instantOf(at, zone);
  const isAsked = !Number.isNaN(from);
  const { subscription, group } = place.value;
  const query = isAsked ? { collection: `${group}/${collection}`, from: new Date(from).toISOString(), to: new Date(from + long[2]).toISOString(), limit: String(DUE_MAX) } : null;
  const loaded = useLoad(`due ${subscription} ${JSON.stringify(query)}`, async () => (query ? api.upcoming(place.value, query) : null), null);
  const names = useMemo(
    () => (isAsked ? new Set((loaded.data?.items ?? []).map((one) => one.job.toLowerCase())) : null),
    [loaded.data, isAsked],
  );
  const isPart = loaded.data !== null && (loaded.data.items.length >= DUE_MAX || !loaded.data.complete);
  return { at, long, zone, names, isPart, error: loaded.error };
}

/** Asks for the jobs that fire in a time. */
function Due({ of: { at, long, zone, names, isPart, error } }: { of: ReturnType<typeof useDue> }) {
  const [isOpen, setOpen] = useState(at !== '');
  const [written, setWritten] = useState(at);
  if (!isOpen) return <button type="button" class="chip" onClick={() => { setOpen(true); setWritten(localOf(now(), zone)); }}>Fires at…</button>;
  const close = () => { setOpen(false); setQuery({ at: null, for: null }); };
  return (
    <form class="due" role="search" aria-label="Fires at" onSubmit={(event) => { event.preventDefault(); setQuery({ at: written, for: long[0] }); }}>
      <label class="pick">Fires from
        <input class="i" type="datetime-local" required value={written} onInput={(event) => setWritten(event.currentTarget.value)} />
      </label>
      <label class="pick">within
        <select class="i" value={long[0]} onChange={(event) => setQuery({ at: written, for: event.currentTarget.value })}>
          {LENGTHS.map(([value, words]) => <option key={value} value={value}>{words}</option>)}
        </select>
      </label>
      <span class="faint">{zone}</span>
      <button type="submit" class="btn sm">Show</button>
      <button type="button" class="btn sm bare" onClick={close}>Any time</button>
      {names !== null && isPart && <span class="faint">the first {grouped(DUE_MAX)} occurrences</span>}
      {error && <span class="err">{error.message}</span>}
    </form>
  );
}

interface GridProps {
  collection: string;
  by: 'name' | 'next';
  shown: JobRow[];
  total: number;
  whole: boolean;
  error: ApiError | null;
  onRetry: () => void;
  onReplace: (name: string, job: JobRow | null) => void;
}

function Grid({ collection, shown, by, total, whole, error, onRetry, onReplace }: GridProps) {
  const view = useRef<HTMLDivElement>(null);
  const rowTall = TALL[density.value];
  const [top, setTop] = useState(0);
  const [tall, setTall] = useState(612);
  const [at, setAt] = useState(0);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [anchor, setAnchor] = useState<number | null>(null);
  const [asking, setAsking] = useState<Verb | null>(null);
  const exported = useRef<Document[]>([]);
  useEffect(() => setAt((was) => Math.min(was, Math.max(0, shown.length - 1))), [shown.length]);
  useEffect(() => {
    const element = view.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setTall(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / rowTall) - 3);
  const last = Math.min(shown.length, Math.ceil((top + tall) / rowTall) + 3);
  const rows = shown.slice(first, last);

  const reach = (row: number) => {
    const next = Math.max(0, Math.min(shown.length - 1, row));
    setAt(next);
    const element = view.current;
    if (!element) return;
    if (next * rowTall < element.scrollTop) element.scrollTop = next * rowTall;
    else if ((next + 1) * rowTall > element.scrollTop + element.clientHeight) {
      element.scrollTop = (next + 1) * rowTall - element.clientHeight;
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
  const run = ({ name }: JobRow) => {
    if (!asksRun()) {
      api.run(place.value, collection, name).then(() => say(`One run of ${name} is in the queue.`), (thrown: unknown) => say(asError(thrown).message));
      return;
    }
    setChosen(new Set([name]));
    setAsking('run');
  };
  const screen = Math.max(1, Math.floor(tall / rowTall) - 1);
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
    else if (event.key === 'r' && may('run')) run(current);
    else if (event.key === 's' && writes) {
      setChosen(new Set([current.name]));
      setAsking(stateOf(current.state) === 'on' ? 'off' : 'on');
    } else if (event.key === 'y') copyCommand(collection, current.name);
    else if (event.key === 'Escape') setChosen(new Set());
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const act = async (job: JobRow, what: Verb, zone: string) => {
    const { name } = job;
    if (what === 'export') {
      const { properties: { status: _, ...properties } } = await api.job(place.value, collection, name);
      exported.current.push({ name: `${collection}/${name}`, properties });
    } else if (what === 'zone') {
      const { properties } = await api.job(place.value, collection, name);
      if (!properties.recurrence) return;
      await api.patchJob(place.value, collection, name, { recurrence: { timeZone: zone.trim() } });
      const { items } = await api.rows(place.value, collection, name, 1, null);
      if (items[0]?.name === name) onReplace(name, items[0]);
    } else if (what === 'run') await api.run(place.value, collection, name);
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
          <span /><span>{by === 'name' ? <b>Name ↑</b> : 'Name'}</span><span>When</span>{hasMarks && <span>Last 20</span>}<span class="h-nx">{by === 'next' ? <b>Next ↑</b> : 'Next'}</span><span class="num">Attempts</span><span />
        </div>
        <div ref={view} class="view" role="grid" tabIndex={0} aria-label={`Jobs of ${collection}`}
          aria-rowcount={shown.length} aria-multiselectable="true" onKeyDown={pressed}
          aria-activedescendant={current && at >= first && at < last ? `row-${at}` : undefined}
          onScroll={(event) => setTop(event.currentTarget.scrollTop)}
          style={{ height: `${Math.min(612, Math.max(rowTall, shown.length * rowTall))}px` }}>
          <div class="pad" role="presentation" style={{ height: `${shown.length * rowTall}px` }}>
            {rows.map((job, offset) => (
              <Row key={job.name} job={job} row={first + offset} isCurrent={first + offset === at}
                isChosen={chosen.has(job.name)} collection={collection} hasMarks={hasMarks}
                onChoose={() => { setAt(first + offset); choose(first + offset, first + offset); setAnchor(first + offset); }}
                onRun={() => run(job)} />
            ))}
          </div>
        </div>
      </div>
      <div class="fo">
        <span>rows {grouped(Math.min(shown.length, Math.floor(top / rowTall) + 1))} – {grouped(Math.min(shown.length, Math.floor((top + tall) / rowTall)))} of {grouped(shown.length)}</span>
        <span role="status">
          {error ? `${whole ? 'These are not the newest' : `Stopped at ${grouped(total)}`}: ${error.message}` : whole ? '' : `${grouped(total)} read so far`}
        </span>
        {error && <button type="button" class="btn sm" onClick={onRetry}>Read again</button>}
        {hasMarks && <span class="legend" aria-hidden="true">{LEGEND.map(([letter, name]) => <span key={letter} class="state1"><Marks letters={letter} />{name}</span>)}</span>}
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
              <button type="button" class="btn sm" onClick={() => setAsking('zone')}>Zone…</button>
              <button type="button" class="btn sm" onClick={() => setAsking('delete')}>Delete…</button>
            </>
          )}
          <button type="button" class="btn sm" onClick={() => { exported.current = []; setAsking('export'); }}>Export…</button>
          <button type="button" class="btn sm bare" onClick={() => setChosen(new Set())}>None</button>
        </div>
      )}
      {asking && (
        <Bulk what={asking} jobs={shown.filter((job) => chosen.has(job.name))} act={act}
          onLeft={(left) => setChosen(new Set(left))} onEnd={(what) => what === 'export' && save(`${collection}.json`, { value: exported.current })} onClose={() => { setAsking(null); view.current?.focus(); }} />
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
      aria-selected={isChosen} data-current={isCurrent || undefined} style={{ top: `${row * TALL[density.value]}px` }}>
      <span role="gridcell"><input type="checkbox" tabIndex={-1} checked={isChosen} onChange={onChoose} aria-label={`Choose ${name}`} /></span>
      <span role="gridcell" class="nm">
        <State kind={kind}><span class="vh">{kind === 'bad' ? 'failing' : stateWord(job.state)}</span>
          <a tabIndex={-1} href={inPlace('job', collection, name)}>{name}</a></State>
        <small>{job.target}</small>
      </span>
      <span role="gridcell" class="st">{job.sentence}</span>
      {hasMarks && <span role="gridcell" class="mk"><Marks letters={(job.recent ?? '').slice(-20)} /></span>}
      <span role="gridcell" class="nx">
        {next && when ? <><b>{until(Date.parse(next))}</b><small>{when.day} {oclock(when.time)} {when.offset}</small></> : <span class="faint">—</span>}
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

/** Saves a document as a file of this browser. */
function save(name: string, document_: unknown) {
  const url = URL.createObjectURL(new Blob([JSON.stringify(document_, null, 2)], { type: 'application/json' }));
  const link_ = document.createElement('a');
  link_.href = url;
  link_.download = name;
  link_.click();
  URL.revokeObjectURL(url);
}
