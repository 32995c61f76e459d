// What became of a job's occurrences: a line for each, and its attempts inside.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Description, Page, PastAttempt, PastOccurrence } from './answers';
import { api, type ApiError } from './api';
import { parts } from './clock';
import { asError, type Loaded } from './load';
import { causeOf, isBad, lateBy, type Occurred, took, usually } from './outcome';
import { span } from './spans';
import { place } from './state';
import { civil, grouped, withOffset, zoneOf } from './time';
import { ErrorPanel, Panel, State } from './ui';

/** After how many successes in a row the history folds them. */
const FOLD = 10;

interface Older {
  all: PastOccurrence[];
  error: ApiError | null;
  more: (() => void) | null;
}

/** All occurrences that were read: the newest, which are read again and again, and older ones on demand. */
export function useOlder(collection: string, name: string, first: Page<PastOccurrence> | null): Older {
  const kept = useRef(new Map<string, PastOccurrence>());
  const [next, setNext] = useState<string | null | undefined>(undefined);
  const [error, setError] = useState<ApiError | null>(null);
  const keep = (items: PastOccurrence[]) => {
    for (const one of items) kept.current.set(`${one.kind} ${one.at}`, one);
  };
  keep(first?.items ?? []);
  const from = next === undefined ? (first?.next ?? null) : next;
  return { all: [...kept.current.values()], error, more: from === null ? null : () => void read(from) };

  async function read(position: string) {
    setError(null);
    try {
      const page = await api.occurrences(place.value, collection, name, position);
      keep(page.items);
      setNext(page.next);
    } catch (thrown) {
      setError(asError(thrown));
    }
  }
}

export function History({
  of,
  older,
  all,
  job,
  shows,
  onRedrive,
}: {
  /** The occurrence to unfold and to go to, and how often it was asked for. */
  shows: { due: number } | null;
  of: Loaded<Page<PastOccurrence>>;
  older: Older;
  all: Occurred[];
  job: Description;
  onRedrive: ((of: string) => void) | null;
}) {
  const [only, setOnly] = useState(false);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [whole, setWhole] = useState(false);
  const zone = zoneOf(job);
  const shown = only ? all.filter(isBad) : all;
  const visible = whole ? shown : fold(shown);
  const usual = usually(all);
  useEffect(() => {
    if (shows === null) return;
    setWhole(true);
    setOnly(false);
    setOpen((old) => new Set(old).add(shows.due));
    // Once it is there.
    setTimeout(() => document.querySelector<HTMLElement>(`[data-due="${shows.due}"]`)?.focus());
  }, [shows]);
  const toggle = (due: number) =>
    setOpen((old) => {
      const next = new Set(old);
      if (!next.delete(due)) next.add(due);
      return next;
    });
  return (
    <section class="sheet hist" aria-labelledby="history">
      <header>
        <h2 id="history">History</h2>
        <span class="muted">
          {grouped(job.executions)} attempt{job.executions === 1 ? '' : 's'}, {grouped(job.failures)} failed
          {job.skipped > 0 && `, ${grouped(job.skipped)} skipped`}
          {usual !== null && `; it usually takes ${span(usual)}`}
        </span>
        <span class="r">
          <button type="button" class="chip" aria-pressed={!only} onClick={() => setOnly(false)}>
            All
          </button>{' '}
          <button type="button" class="chip" aria-pressed={only} onClick={() => setOnly(true)}>
            Failed
          </button>
        </span>
      </header>
      <Panel of={of} rows={6}>
        {() =>
          shown.length === 0 ? (
            <p class="none">
              {only
                ? 'No occurrence has failed.'
                : (job.present?.length ?? 0) > 0
                  ? 'Nothing has ended yet.'
                  : 'It has not run yet.'}
            </p>
          ) : (
            <div class="scrolls" tabIndex={0} role="group" aria-labelledby="history">
              <table>
                <thead>
                  <tr>
                    <th>
                      <span class="vh">Unfold</span>
                    </th>
                    <th>Due</th>
                    <th class="wide-only">Started</th>
                    <th>Attempts</th>
                    <th>What happened</th>
                    <th class="num wide-only">Took</th>
                  </tr>
                </thead>
                <tbody>
                  {visible.map((one) => (
                    <Occurrence
                      key={`${one.of.kind} ${one.due}`}
                      one={one}
                      zone={zone}
                      isOpen={open.has(one.due)}
                      onToggle={() => toggle(one.due)}
                      onRedrive={onRedrive}
                    />
                  ))}
                  {visible.length < shown.length && (
                    <tr>
                      <td />
                      <td colSpan={5}>
                        <button type="button" class="btn sm" onClick={() => setWhole(true)}>
                          {grouped(shown.length - visible.length)} more that succeeded
                        </button>
                      </td>
                    </tr>
                  )}
                </tbody>
              </table>
            </div>
          )
        }
      </Panel>
      {older.error && <ErrorPanel error={older.error} />}
      {older.more && (
        <p class="none">
          <button type="button" class="btn sm" onClick={older.more}>
            Older
          </button>
        </p>
      )}
    </section>
  );
}

/** Leaves out what succeeded after the first ten in a row. */
function fold(all: Occurred[]): Occurred[] {
  let row = 0;
  return all.filter((one) => {
    row = isBad(one) ? 0 : row + 1;
    return row <= FOLD;
  });
}

const MARKS = { f: 'bad', e: 'bad', l: 'late', s: 'off', u: 'late' } as Record<string, 'bad' | 'late' | 'off'>;

function Occurrence({
  one,
  zone,
  isOpen,
  onToggle,
  onRedrive,
}: {
  one: Occurred;
  zone: string;
  isOpen: boolean;
  onToggle: () => void;
  onRedrive: ((of: string) => void) | null;
}) {
  const bad = isBad(one);
  const due = civil(one.due, zone);
  const late = lateBy(one);
  const duration = took(one);
  const count = one.attempts.length;
  return (
    <>
      <tr class={isOpen ? `open${bad ? '' : ' fine'}` : ''}>
        <td class="tw">
          <button
            type="button"
            class="tog"
            data-due={one.due}
            aria-expanded={isOpen}
            aria-label={`What happened at ${due}`}
            onClick={onToggle}
          >
            {isOpen ? '▼' : '▶'}
          </button>
        </td>
        <td class="nowrap">
          <b>{due}</b>
        </td>
        <td class="nowrap muted wide-only">{Number.isFinite(late) ? `+${span(Math.max(0, late))}` : '—'}</td>
        <td class="nowrap">
          <State kind={MARKS[one.letter] ?? 'on'}>
            <span>
              {count === 0 ? 'none' : count}
              {bad && <span class="wide-only">{count > 1 ? ', all failed' : ' failed'}</span>}
            </span>
          </State>
        </td>
        <td class={bad ? 'bad' : ''}>{happened(one, zone)}</td>
        <td class="num muted nowrap wide-only">{Number.isFinite(duration) ? span(duration) : '—'}</td>
      </tr>
      {isOpen && (
        <tr class={bad ? 'more' : 'more fine'}>
          <td colSpan={6}>
            <Attempts one={one} zone={zone} />
            {bad && onRedrive && (
              <p>
                <button type="button" class="btn sm" onClick={() => onRedrive(one.of.at)}>
                  Run again for this occurrence
                </button>
              </p>
            )}
          </td>
        </tr>
      )}
    </>
  );
}

const REASONS: Record<string, string> = {
  outage: 'it fell into an outage',
  tooLate: 'it would have started too late',
  overlap: 'another attempt was running',
  notWatched: 'at some moment of its window nothing could take its ping',
};

/** What became of an occurrence, in a line: first why it failed, then what was done about it. */
function happened({ of, attempts, after }: Occurred, zone: string): string {
  if (of.outcome === 'skipped') {
    const outage = of.outage
      ? ` from ${civil(Date.parse(of.outage.from), zone)} to ${civil(Date.parse(of.outage.until), zone)}`
      : '';
    const many =
      (of.count ?? 1) > 1
        ? `, as ${grouped((of.count ?? 1) - 1)} more to ${civil(Date.parse(of.last ?? of.at), zone)}`
        : '';
    return `left out${many}: ${REASONS[of.reason ?? ''] ?? of.reason ?? 'no reason is known'}${outage}`;
  }
  const last = attempts.findLast((one) => one.outcome !== 'underWay');
  const words = last ? [causeOf(last)] : [];
  if (of.outcome === 'underWay') words.push('an attempt is under way');
  if (of.outcome === 'retrying') words.push('another attempt follows');
  for (const [action, name] of [
    ['errorAction', 'error action'],
    ['notice', 'notice'],
  ] as const) {
    const ended = after.findLast((one) => one.action === action);
    if (ended) words.push(`${name} ${OUTCOME[ended.outcome]}`);
  }
  if (of.redriveOf) words.push(`again for ${civil(Date.parse(of.redriveOf), zone)}`);
  else if (of.kind === 'run') words.push('a run on demand');
  return words.filter(Boolean).join('; ');
}

const OUTCOME = { succeeded: 'succeeded', failed: 'failed', underWay: 'is under way' } as const;

const NAMES = { action: 'attempt', errorAction: 'error action', notice: 'notice' } as const;

export function attemptName({ action, retry }: Pick<PastAttempt, 'action' | 'retry'>): string {
  if (action === 'action') return retry === 0 ? 'first attempt' : `retry ${retry}`;
  return retry === 0 ? NAMES[action] : `${NAMES[action]}, retry ${retry}`;
}

/** What an attempt came to, in a few words. */
export const said = (one: PastAttempt) => one.cause?.text ?? causeOf(one);

/** The narrowest bar, in hundredths of the whole time. */
const BAR_MIN = 0.6;

/** The attempts of an occurrence as bars to one scale, each with what it said. */
function Attempts({ one: { attempts, after }, zone }: { one: Occurred; zone: string }) {
  const all = [...attempts, ...after].filter((one) => one.startedAt !== null);
  const start = (one: PastAttempt) => Date.parse(one.startedAt ?? one.dueAt);
  const end = (one: PastAttempt) => (one.endedAt ? Date.parse(one.endedAt) : start(one));
  const from = Math.min(...all.map(start));
  const whole = Math.max(1, Math.max(...all.map(end)) - from);
  if (all.length === 0) return <p class="muted">No attempt was made.</p>;
  return (
    <ol class="lanes">
      {all.map((one, row) => {
        const before = all[row - 1];
        const waited = before ? start(one) - end(before) : 0;
        const left = ((start(one) - from) / whole) * 100;
        const wide = Math.min(100, Math.max(BAR_MIN, ((end(one) - start(one)) / whole) * 100));
        const isFailed = one.outcome === 'failed';
        return (
          <li key={`${one.action} ${one.retry}`} class={isFailed ? 'b' : ''}>
            <span class="t">
              {attemptName(one)}{' '}
              <span class="nowrap" title={withOffset(start(one), zone)}>
                {clock(start(one), zone)}
              </span>
            </span>
            <span class="lane" aria-hidden="true">
              <i style={{ insetInlineStart: `${Math.min(left, 100 - wide)}%`, width: `${wide}%` }} />
            </span>
            <span class="said">
              <b>{one.outcome === 'underWay' ? 'under way' : isFailed ? said(one) : 'succeeded'}</b>
              {one.endedAt && ` in ${span(end(one) - start(one))}`}
              {waited >= 1_000 && <span class="muted">, waited {span(waited)}</span>}
            </span>
            {one.message && (
              <details open={one === attempts.at(-1)}>
                <summary>what came back</summary>
                <pre>{message(one.message)}</pre>
              </details>
            )}
          </li>
        );
      })}
    </ol>
  );
}

function clock(at: number, zone: string): string {
  const it = parts(at, zone);
  return `${it.time}:${it.seconds}.${String(at % 1_000).padStart(3, '0')}`;
}

/** A message with its headers and its body on lines of their own; a body of JSON is indented. */
const message = (text: string): string =>
  text
    .split(/ Response Headers: | Body: /)
    .map(indented)
    .join('\n\n');

function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
