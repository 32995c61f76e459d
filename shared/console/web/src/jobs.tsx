// The jobs of a collection, of which only those in view are in the page.
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { JobRow, Page } from './answers';
import { api, type ApiError, clockOffset } from './api';
import { SwitchCollection } from './collection';
import { Due, useDue } from './due';
import { Grid } from './grid';
import { useKeys } from './keys';
import { asError, useLoad, useTold } from './load';
import { isBehind, needs, needsSomeone } from './needs';
import { go, inPlace, may, place, route, setQuery } from './state';
import { grouped } from './time';
import { Crumbs, ErrorPanel, Key, Skeleton, State, stateOf, stateWord, Title } from './ui';

/** How many jobs a request asks for: few at first, so that there is something to see. */
const FIRST = 100;
const MORE = 500;
/** How many jobs are held; beyond them only a narrower filter helps. */
const HELD_MAX = 100_000;

const FILTERS = ['all', 'on', 'off', 'failed', 'late', 'over'] as const;
const FILTER_NAMES: Record<Filter, string> = {
  all: 'All',
  on: 'On',
  off: 'Off',
  failed: 'Failing',
  late: 'Late',
  over: 'Over',
};

type Filter = (typeof FILTERS)[number];

/** A job that has been due for longer is late: the sweeper moves it on within a minute. */
const LATE_MS = 120_000;

function fits(collection: string, job: JobRow, filter: Filter, readAt: number): boolean {
  const state = stateOf(job.state);
  if (filter === 'all') return true;
  if (filter === 'failed') return needsSomeone(collection, job);
  if (filter === 'late') return isLate(job, readAt);
  if (filter === 'over') return state === 'done' || state === 'bad';
  return state === filter;
}

const isLate = ({ next, state, waitingSince }: JobRow, readAt: number) =>
  isBehind(waitingSince) || (next !== null && stateOf(state) === 'on' && readAt - Date.parse(next) > LATE_MS);

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
          const page: Page<JobRow> = await api.rows(
            place.value,
            collection,
            '',
            isFirst && pages === 0 ? FIRST : MORE,
            from,
          );
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
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [key, round]);
  useTold(REST_MS / 1_000, read.whole ? read.at : 0, read.error !== null);
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
      return (
        fits(collection, job, filter, readAt) &&
        (zone === '' || zoneOf(job) === zone) &&
        (due.names?.has(own) ?? true) &&
        (isInside ? own.includes(wanted) : own.startsWith(wanted))
      );
    });
    // Those without a next occurrence come last.
    const next = (job: JobRow) => (job.next === null ? Infinity : Date.parse(job.next));
    return by === 'next' ? found.sort((a, b) => next(a) - next(b) || (a.name < b.name ? -1 : 1)) : found;
  }, [jobs, name, filter, zone, by, due.names, readAt, needs.value]);
  const zones = useMemo(() => [...new Set(jobs.map(zoneOf))].sort(), [jobs]);
  const counts = useMemo(
    () =>
      Object.fromEntries(FILTERS.map((one) => [one, jobs.filter((job) => fits(collection, job, one, readAt)).length])),
    [jobs, readAt, needs.value],
  );
  useKeys({ n: () => may('write') && go(inPlace('new', collection)) });
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
            <span class="muted">
              {grouped(jobs.length)}
              {whole ? '' : '+'} jobs
            </span>
          </div>
        </div>
        <div class="acts">
          <a class="btn" href={`${inPlace('calendar')}?collection=${encodeURIComponent(collection)}`}>
            Calendar
          </a>
          <a class="btn" href={inPlace('journal', collection)}>
            Journal
          </a>
          {may('write') && about.data && (
            <button type="button" class="btn" onClick={() => setSwitching(true)}>
              Switch {isOn ? 'off' : 'on'}…
            </button>
          )}
          {may('write') && (
            <a class="btn go" href={inPlace('new', collection)}>
              New job <Key>n</Key>
            </a>
          )}
        </div>
      </div>
      {isSwitching && (
        <SwitchCollection
          name={collection}
          isOn={isOn}
          jobs={whole ? jobs.length : undefined}
          onDone={about.reload}
          onClose={() => setSwitching(false)}
        />
      )}
      {about.data && !isOn && (
        <p class="notice late" role="status">
          This collection is off: none of its jobs fires.
        </p>
      )}
      {error && jobs.length === 0 ? (
        <ErrorPanel error={error} onRetry={reload} />
      ) : !whole && jobs.length === 0 ? (
        <section class="sheet">
          <Skeleton rows={10} />
        </section>
      ) : jobs.length === 0 ? (
        <EmptyJobs collection={collection} />
      ) : (
        <>
          <div class="bar">
            <label class="find">
              <span class="vh">Name begins with, or *contains</span>
              <input
                value={name}
                placeholder="Name begins with… or *contains*"
                onInput={(event) => setQuery({ name: event.currentTarget.value })}
              />
            </label>
            <button
              type="button"
              class="chip"
              aria-pressed={by === 'next'}
              onClick={() => setQuery({ by: by === 'next' ? null : 'next' })}
            >
              Soonest first
            </button>
            <span class="between" />
            {FILTERS.map((one) => (
              <button
                key={one}
                type="button"
                class="chip"
                aria-pressed={one === filter}
                onClick={() => setQuery({ state: one === 'all' ? null : one })}
              >
                {FILTER_NAMES[one]} <b>{grouped(counts[one] ?? 0)}</b>
              </button>
            ))}
            {(zones.length > 1 || zone) && (
              <label class="pick">
                Zone
                <select
                  class="i"
                  value={zone}
                  onChange={(event) => setQuery({ zone: event.currentTarget.value || null })}
                >
                  <option value="">any</option>
                  {[...new Set([...zones, zone])].filter(Boolean).map((one) => (
                    <option key={one}>{one}</option>
                  ))}
                </select>
              </label>
            )}
            <Due of={due} />
          </div>
          {shown.length === 0 ? (
            <section class="sheet empty">
              <p class="voice">No job fits{name && <> “{name}”</>}.</p>
              <p>
                <button
                  type="button"
                  class="btn"
                  onClick={() => setQuery({ name: null, state: null, zone: null, at: null, for: null })}
                >
                  Clear
                </button>
              </p>
            </section>
          ) : (
            <Grid
              collection={collection}
              shown={shown}
              by={by}
              total={jobs.length}
              whole={whole}
              error={error}
              onRetry={reload}
              onReplace={replace}
            />
          )}
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
      {may('write') && (
        <p class="acts">
          <a class="btn go" href={inPlace('new', collection)}>
            New job
          </a>
          <a class="btn" href={inPlace('import')}>
            Import
          </a>
        </p>
      )}
    </section>
  );
}
