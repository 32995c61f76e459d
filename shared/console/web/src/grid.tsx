// The list of jobs, of which only the rows in view are in the page.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Document, JobRow } from './answers';
import { api, type ApiError } from './api';
import { Bulk, type Verb } from './bulk';
import { parts } from './clock';
import { listeners, type Told } from './live';
import { asError } from './load';
import { Marks } from './marks';
import { isBehind, needsSomeone } from './needs';
import { span } from './spans';
import { asksRun, density, go, inPlace, isOf, may, place, say, tick, zoneChoice } from './state';
import { grouped, now, oclock, shownZone, until } from './time';
import { copyCommand, Key, State, stateOf, stateWord } from './ui';

/** How tall a row is. */
const TALL = { roomy: 44, dense: 30 };
/** What the marks of a row mean. */
const LEGEND = [
  ['o', 'ok'],
  ['r', 'after a retry'],
  ['l', 'late'],
  ['f', 'failed'],
  ['s', 'skipped'],
] as const;

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

/** How long after a word rows are read again. */
const REFRESH_MS = 1_000;

/** Reads rows in view again of whose jobs the server tells something. */
function useRefreshed(collection: string, rows: JobRow[], onReplace: GridProps['onReplace']) {
  const view = useRef({ rows, onReplace });
  view.current = { rows, onReplace };
  useEffect(() => {
    const due = new Set<string>();
    let timer = 0;
    const refresh = () => {
      timer = 0;
      for (const name of due)
        api.rows(place.value, collection, name, 1, null).then(
          ({ items: [row] }) => row?.name === name && view.current.onReplace(name, row),
          () => {},
        );
      due.clear();
    };
    const hear = (told: Told | null) => {
      const row = told?.job && view.current.rows.find(({ name }) => isOf(collection, name)(told));
      if (!row) return;
      due.add(row.name);
      timer ||= setTimeout(refresh, REFRESH_MS) as unknown as number;
    };
    listeners.add(hear);
    return () => {
      listeners.delete(hear);
      clearTimeout(timer);
    };
  }, [collection]);
}

export function Grid({ collection, shown, by, total, whole, error, onRetry, onReplace }: GridProps) {
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
  useRefreshed(collection, rows, onReplace);

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
  const choose = (from: number, to: number) =>
    setChosen((old) => {
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
      api.run(place.value, collection, name).then(
        () => say(`One run of ${name} is in the queue.`),
        (thrown: unknown) => say(asError(thrown).message),
      );
      return;
    }
    setChosen(new Set([name]));
    setAsking('run');
  };
  const screen = Math.max(1, Math.floor(tall / rowTall) - 1);
  const pressed = (event: KeyboardEvent) => {
    if (event.target !== view.current) return;
    if ((event.ctrlKey || event.metaKey) && event.key === 'a') {
      event.preventDefault();
      setChosen(new Set(shown.map((job) => job.name)));
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves: Record<string, number> = {
      ArrowDown: at + 1,
      j: at + 1,
      ArrowUp: at - 1,
      k: at - 1,
      PageDown: at + screen,
      PageUp: at - screen,
      Home: 0,
      End: shown.length - 1,
    };
    const to = moves[event.key];
    const writes = may('write');
    if (to !== undefined) reach(to);
    else if (!current) return;
    else if (event.key === 'Enter') open(current);
    else if (event.key === 'x') {
      choose(at, at);
      setAnchor(at);
    } else if (event.key === 'X') choose(anchor ?? at, at);
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
      const {
        properties: { status: _, ...properties },
      } = await api.job(place.value, collection, name);
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
        <div class="vhead">
          <Every all={shown} chosen={chosen} onChoose={setChosen} />
          <span aria-hidden="true">{by === 'name' ? <b>Name ↑</b> : 'Name'}</span>
          <span aria-hidden="true">When</span>
          {hasMarks && <span aria-hidden="true">Last 20</span>}
          <span class="h-nx" aria-hidden="true">
            {by === 'next' ? <b>Next ↑</b> : 'Next'}
          </span>
          <span class="num" aria-hidden="true">
            Attempts
          </span>
          <span />
        </div>
        <div
          ref={view}
          class="view"
          role="grid"
          tabIndex={0}
          aria-label={`Jobs of ${collection}`}
          aria-rowcount={shown.length}
          aria-multiselectable="true"
          onKeyDown={pressed}
          aria-activedescendant={current && at >= first && at < last ? `row-${at}` : undefined}
          onScroll={(event) => setTop(event.currentTarget.scrollTop)}
          style={{ height: `${Math.min(612, Math.max(rowTall, shown.length * rowTall))}px` }}
        >
          <div class="pad" role="presentation" style={{ height: `${shown.length * rowTall}px` }}>
            {rows.map((job, offset) => (
              <Row
                key={job.name}
                job={job}
                row={first + offset}
                isCurrent={first + offset === at}
                isChosen={chosen.has(job.name)}
                collection={collection}
                hasMarks={hasMarks}
                onChoose={(isRange) => {
                  const row = first + offset;
                  setAt(row);
                  choose(isRange ? (anchor ?? row) : row, row);
                  if (!isRange) setAnchor(row);
                }}
                onRun={() => run(job)}
              />
            ))}
          </div>
        </div>
      </div>
      <div class="fo">
        <span>
          rows {grouped(Math.min(shown.length, Math.floor(top / rowTall) + 1))} –{' '}
          {grouped(Math.min(shown.length, Math.floor((top + tall) / rowTall)))} of {grouped(shown.length)}
        </span>
        <span role="status">
          {error
            ? `${whole ? 'These are not the newest' : `Stopped at ${grouped(total)}`}: ${error.message}`
            : whole
              ? ''
              : `${grouped(total)} read so far`}
        </span>
        {error && (
          <button type="button" class="btn sm" onClick={onRetry}>
            Read again
          </button>
        )}
        {hasMarks && (
          <span class="legend" aria-hidden="true">
            {LEGEND.map(([letter, name]) => (
              <span key={letter} class="state1">
                <Marks letters={letter} />
                {name}
              </span>
            ))}
          </span>
        )}
        <span class="hints">
          <Key>j</Key> <Key>k</Key> move <Key>Enter</Key> open <Key>x</Key> choose <Key>?</Key> all keys
        </span>
      </div>
      {chosen.size > 0 && (
        <div class="fo bulk" role="region" aria-label="Chosen jobs">
          <b>{grouped(chosen.size)} chosen</b>
          {may('run') && (
            <button type="button" class="btn sm" onClick={() => setAsking('run')}>
              Run…
            </button>
          )}
          {may('write') && (
            <>
              <button type="button" class="btn sm" onClick={() => setAsking('on')}>
                Switch on…
              </button>
              <button type="button" class="btn sm" onClick={() => setAsking('off')}>
                Switch off…
              </button>
              <button type="button" class="btn sm" onClick={() => setAsking('zone')}>
                Zone…
              </button>
              <button type="button" class="btn sm" onClick={() => setAsking('delete')}>
                Delete…
              </button>
            </>
          )}
          <button
            type="button"
            class="btn sm"
            onClick={() => {
              exported.current = [];
              setAsking('export');
            }}
          >
            Export…
          </button>
          <button type="button" class="btn sm bare" onClick={() => setChosen(new Set())}>
            None
          </button>
        </div>
      )}
      {asking && (
        <Bulk
          what={asking}
          jobs={shown.filter((job) => chosen.has(job.name))}
          act={act}
          onLeft={(left) => setChosen(new Set(left))}
          onEnd={(what) => what === 'export' && save(`${collection}.json`, { value: exported.current })}
          onClose={() => {
            setAsking(null);
            view.current?.focus();
          }}
        />
      )}
    </section>
  );
}

/** Chooses all jobs that are shown, or none. */
function Every({
  all,
  chosen,
  onChoose,
}: {
  all: JobRow[];
  chosen: ReadonlySet<string>;
  onChoose: (next: ReadonlySet<string>) => void;
}) {
  const isAll = all.length > 0 && all.every((job) => chosen.has(job.name));
  return (
    <span>
      <input
        type="checkbox"
        checked={isAll}
        indeterminate={!isAll && chosen.size > 0}
        onChange={() => onChoose(new Set(isAll ? [] : all.map((job) => job.name)))}
        aria-label={`Choose all ${grouped(all.length)}`}
      />
    </span>
  );
}

function Row({
  job,
  row,
  isCurrent,
  isChosen,
  hasMarks,
  collection,
  onChoose,
  onRun,
}: {
  job: JobRow;
  row: number;
  isCurrent: boolean;
  isChosen: boolean;
  hasMarks: boolean;
  collection: string;
  onChoose: (isRange: boolean) => void;
  onRun: () => void;
}) {
  tick.value;
  zoneChoice.value;
  const { name, next, failures, runningSince, waitingSince } = job;
  const state = stateOf(job.state);
  const isLate = isBehind(waitingSince);
  const kind = needsSomeone(collection, job) ? 'bad' : isLate ? 'late' : state;
  const zone = shownZone(job.zone ?? undefined);
  const when = next ? parts(Date.parse(next), zone) : null;
  return (
    <div
      class={`row${isChosen ? ' chosen' : ''}`}
      role="row"
      id={`row-${row}`}
      aria-rowindex={row + 1}
      aria-selected={isChosen}
      data-current={isCurrent || undefined}
      style={{ top: `${row * TALL[density.value]}px` }}
    >
      <span role="gridcell">
        <input
          type="checkbox"
          tabIndex={-1}
          checked={isChosen}
          onClick={(event) => {
            onChoose(event.shiftKey);
            // A range may leave it as it is.
            event.currentTarget.checked = event.shiftKey || !isChosen;
          }}
          aria-label={`Choose ${name}`}
        />
      </span>
      <span role="gridcell" class="nm">
        <State kind={kind}>
          <span class="vh">{kind === 'bad' ? 'failing' : kind === 'late' ? 'waiting' : stateWord(job.state)}</span>
          <a tabIndex={-1} href={inPlace('job', collection, name)}>
            {name}
          </a>
        </State>
        <small>{job.target}</small>
      </span>
      <span role="gridcell" class="st">
        {job.sentence}
      </span>
      {hasMarks && (
        <span role="gridcell" class="mk">
          <Marks letters={(job.recent ?? '').slice(-20)} />
        </span>
      )}
      <span role="gridcell" class="nx">
        {runningSince ? (
          <b class="ok">running {passed(runningSince)}</b>
        ) : waitingSince ? (
          <b class={isLate ? 'bad' : ''}>waits {passed(waitingSince)}</b>
        ) : next ? (
          <b>{until(Date.parse(next))}</b>
        ) : (
          <span class="faint">—</span>
        )}
        {when && (
          <small>
            {when.day} {oclock(when.time)} {when.offset}
          </small>
        )}
      </span>
      <span role="gridcell" class="num">
        {grouped(job.executions)}
        {failures > 0 && <small class="bad">{grouped(failures)} failed</small>}
      </span>
      <span role="gridcell" class="go">
        {may('run') && (
          <button type="button" class="btn sm" tabIndex={-1} onClick={onRun} aria-label={`Run ${name}`}>
            Run
          </button>
        )}
      </span>
    </div>
  );
}

const passed = (since: string) => span(Math.max(0, now() - Date.parse(since)));

/** Saves a document as a file of this browser. */
function save(name: string, document_: unknown) {
  const url = URL.createObjectURL(new Blob([JSON.stringify(document_, null, 2)], { type: 'application/json' }));
  const link_ = document.createElement('a');
  link_.href = url;
  link_.download = name;
  link_.click();
  URL.revokeObjectURL(url);
}
