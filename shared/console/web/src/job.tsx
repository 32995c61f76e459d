// A job: what it says, what happened, what comes, and why it does not fire.
import { Fragment } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api, asArm, asCommand, asCurl, type Attempt, type Description, type Page } from './api';
import { at } from './document';
import { useLoad } from './load';
import { useKeys } from './keys';
import { asError } from './load';
import { failed, gist, lateBy, messageParts, occurrences, type Occurred, took } from './outcome';
import { askedRun, asksRun, go, inPlace, may, place, route, RUN_ONCE, say, tick, zoneChoice } from './state';
import { span } from './spans';
import { civil, grouped, inZone, now, oclock, parts, shownZone, until, withOffset } from './time';
import { Confirm, Copy, copyCommand, Crumbs, ErrorPanel, Key, Marks, OUTCOMES, Panel, State, stateOf, stateWord, Title } from './ui';
import type { ApiError } from './api';
import { target } from './actions';
import { saidPolicies, saidRetries } from './policies';
import { Ask } from './why';

const QUEUED = 'One run is in the queue.';
/** How many marks of the past the tape shows. */
const TAPE = 44;
/** How long after an occurrence is due the page is read again. */
const JUST_AFTER_MS = 1_500;
/** Half of how long an occurrence that is due is said to be now: the server moves on within a minute. */
const SOON_MS = 30_000;
/** How long what a run becomes is looked for more often. */
const FOLLOWED_MS = 60_000;
/** After how many successes in a row the history folds them. */
const FOLD = 10;

export function JobPage({ collection, name }: { collection: string; name: string }) {
  const key = `${place.value.subscription}/${place.value.group}/${collection}/${name}`;
  const [asking, setAsking] = useState<'run' | 'delete' | null>(null);
  const [shows, setShows] = useState<{ due: number } | null>(null);
  const [ran, setRan] = useState(0);
  const job = useLoad(`job ${key}`, () => api.describe(place.value, collection, name));
  useEffect(() => {
    const timer = setTimeout(() => setRan(0), FOLLOWED_MS);
    return () => clearTimeout(timer);
  }, [ran]);
  const history = useLoad(`history ${key}`, () => api.history(place.value, collection, name, null), ran > 0 ? 2 : 10);
  const older = useOlder(collection, name, history.data);
  const coming = useLoad(`next ${key}`, () => api.coming(place.value, collection, name), 30);
  const [error, setError] = useState<ApiError | null>(null);
  zoneChoice.value;

  const reload = () => [job, history, coming].forEach((one) => one.reload());
  // Once the next occurrence is due, all of it has changed a moment later.
  useEffect(() => {
    const wait = job.data?.next ? Date.parse(job.data.next) - now() : NaN;
    if (Number.isNaN(wait) || wait > 60_000 || wait < -5_000) return;
    const timer = setTimeout(reload, Math.max(0, wait) + JUST_AFTER_MS);
    return () => clearTimeout(timer);
  }, [job.data]);
  const isOn = stateOf(job.data?.state) === 'on';
  const isOver = ['done', 'bad'].includes(stateOf(job.data?.state));
  const turn = async () => {
    setError(null);
    try {
      await api.patchJob(place.value, collection, name, { state: isOn ? 'Disabled' : 'Enabled' });
      say(`${name} is ${isOn ? 'off' : 'on'}.`);
      reload();
    } catch (thrown) {
      setError(asError(thrown));
    }
  };
  const isPaused = at(job.data?.properties ?? {}, 'minutehand.paused') !== undefined;
  const attempt = async (act: () => Promise<void>, said: string) => {
    setError(null);
    try {
      await act();
      say(said);
      setRan(now());
      reload();
    } catch (thrown) {
      setError(asError(thrown));
    }
  };
  const resume = () => attempt(() => api.resume(place.value, collection, name), `${name} is resumed.`);
  const redrive = (of: string) => void attempt(() => api.redriveOccurrence(place.value, collection, name, of), 'One run for this occurrence is in the queue.');
  const ask = () => (asksRun() ? setAsking('run') : void attempt(() => api.run(place.value, collection, name), QUEUED));
  // A dead letter leads here, to its occurrence.
  const letter = Date.parse(route.value.query.get('letter') ?? '') || 0;
  const isRead = history.data !== null;
  useEffect(() => { if (letter && isRead) setShows({ due: letter }); }, [letter, isRead]);
  useKeys({
    e: () => may('write') && go(inPlace('edit', collection, name)),
    r: () => may('run') && ask(),
    s: () => may('write') && job.data && !isOver && void turn(),
    y: () => copyCommand(collection, name),
    w: () => document.querySelector<HTMLInputElement>('.why input')?.focus(),
    Escape: () => go(letter ? inPlace('dead') : inPlace('jobs', collection)),
  });
  const all = occurrences(older.attempts);
  return (
    <>
      <div class="head">
        <div>
          <Crumbs collection={collection} here="job" />
          <Title>{name}</Title>
        </div>
        {job.data && (
          <div class="acts">
            {may('write') && !isOver
              ? (
                <button type="button" class="switch" role="switch" aria-checked={isOn} onClick={turn}>
                  <i aria-hidden="true" />{isOn ? 'On' : 'Off'}
                </button>
              )
              : <State kind={stateOf(job.data.state)}>{stateWord(job.data.state)}</State>}
            {may('write') && isPaused && <button type="button" class="btn go" onClick={() => void resume()}>Resume</button>}
            {may('run') && <button type="button" class="btn" onClick={ask}>Run now</button>}
            {may('write') && <a class="btn" href={inPlace('edit', collection, name)}>{isOver ? 'Look at it' : 'Edit'} <Key>e</Key></a>}
            {may('write') && <a class="btn" href={`${inPlace('new', collection)}?from=${encodeURIComponent(name)}`}>{isOver ? 'Create anew' : 'Duplicate'}</a>}
            {may('write') && <button type="button" class="btn" onClick={() => setAsking('delete')}>Delete…</button>}
          </div>
        )}
        {job.data && <p class="say">{capital(job.data.sentence)}</p>}
      </div>
      {error && <ErrorPanel error={error} />}
      {letter > 0 && (
        <p class="notice">
          A dead letter is of the occurrence {civil(letter, zoneOf(job.data))}.{' '}
          <a href={`${inPlace('why', collection, name)}?at=${new Date(letter).toISOString()}`}>What became of it</a> · <a href={inPlace('dead')}>Dead letters</a>
        </p>
      )}
      {job.data?.notFiring.map((why) => (
        <p key={why.reason} class="notice late" role="status"><b>It does not fire.</b> {inZone(why.message, zoneOf(job.data))}</p>
      ))}
      {job.data === null ? <section class="sheet"><Panel of={job} rows={6}>{() => null}</Panel></section> : (
        <>
          <Tape job={job.data} all={all} coming={coming.data?.occurrences.map((one) => Date.parse(one.at)) ?? []} onOpen={(due) => setShows({ due })} />
          <div class="grid two">
            <History of={history} older={older} all={all} job={job.data} shows={shows} onRedrive={may('run') && !isOver ? redrive : null} />
            <div class="grid">
              <section class="sheet" aria-labelledby="why">
                <header><h2 id="why">Why did it not fire?</h2></header>
                <Ask collection={collection} name={name} zone={job.data.properties.recurrence?.timeZone as string | undefined} onRun={() => { setRan(now()); reload(); }} />
              </section>
              <section class="sheet nx" aria-labelledby="next">
                <header><h2 id="next">Next ten</h2><span class="r">{zoneName(job.data)}</span></header>
                <Panel of={coming} rows={4}>{(data) => <Next data={data} zone={zoneOf(job.data as Description)} />}</Panel>
              </section>
              <What job={job.data} collection={collection} name={name} />
            </div>
          </div>
        </>
      )}
      {asking === 'run' && (
        <Confirm title={`Run ${name} now?`} verb="Run now"
          text={RUN_ONCE}
          onYes={async () => {
            await api.run(place.value, collection, name);
            askedRun();
            say(QUEUED);
            setRan(now());
            reload();
          }}
          onClose={() => setAsking(null)} />
      )}
      {asking === 'delete' && (
        <Confirm title={`Delete ${name}?`} verb="Delete" name={name}
          text="The job and its history are deleted. This cannot be taken back."
          onYes={async () => {
            await api.deleteJob(place.value, collection, name);
            say(`${name} is deleted.`);
            go(inPlace('jobs', collection));
          }}
          onClose={() => setAsking(null)} />
      )}
    </>
  );
}

/** All attempts that were read: the newest, which are read again and again, and older ones on demand. */
function useOlder(collection: string, name: string, first: Page<Attempt> | null) {
  const kept = useRef(new Map<string, Attempt>());
  const [next, setNext] = useState<string | null | undefined>(undefined);
  const [error, setError] = useState<ApiError | null>(null);
  for (const one of first?.items ?? []) kept.current.set(one.name, one);
  const from = next === undefined ? (first?.next ?? null) : next;
  return { attempts: [...kept.current.values()], error, more: from === null ? null : () => void read(from) };

  async function read(position: string) {
    setError(null);
    try {
      const page = await api.history(place.value, collection, name, position);
      for (const one of page.items) kept.current.set(one.name, one);
      setNext(page.next);
    } catch (thrown) {
      setError(asError(thrown));
    }
  }
}

export const capital = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
const zoneOf = (job: Description | null) => shownZone(job?.properties.recurrence?.timeZone as string | undefined);
const zoneName = (job: Description) => zoneOf(job).replaceAll('_', ' ');

/** The width of a mark of the tape, of the room after it, and of the hand at now. */
const MARK = 10;
const GAP = 3;
const HAND = 6;

/** What happened, now, and what comes, as marks. The arrows walk from one to the next. */
function Tape({ job, all, coming, onOpen }: { job: Description; all: Occurred[]; coming: number[]; onOpen: (due: number) => void }) {
  tick.value;
  const past = all.slice(0, TAPE).reverse();
  const letters = `${past.map((one) => one.letter).join('')}|${'p'.repeat(coming.length)}`;
  const zone = zoneOf(job);
  const next = job.next === null ? null : Date.parse(job.next);
  const first = past[0];
  const tape = useRef<HTMLDivElement>(null);
  const [here, setHere] = useState<number | null>(null);
  // Where the tape is wider than the page, now is in view.
  useEffect(() => { if (tape.current) tape.current.scrollLeft = tape.current.scrollWidth; }, [letters.length]);
  const marks = [
    ...past.map(({ due, letter }) => ({ due, words: OUTCOMES[letter] ?? '', isPast: true })),
    ...coming.map((due) => ({ due, words: 'to come', isPast: false })),
  ];
  const left = (place: number) => place * (MARK + GAP) + (place >= past.length ? HAND + GAP : 0);
  const named = (place: number) => `${civil(marks[place]?.due ?? 0, zone)}: ${marks[place]?.words ?? ''}`;
  const open = (place: number) => { const mark = marks[place]; if (mark?.isPast) onOpen(mark.due); };
  const pressed = (event: KeyboardEvent) => {
    const at = here ?? past.length - 1;
    const moves: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: marks.length - 1 };
    const to = moves[event.key];
    if (to !== undefined) setHere(Math.max(0, Math.min(marks.length - 1, to)));
    else if (event.key === 'Enter' && here !== null) open(here);
    else return;
    event.preventDefault();
  };
  return (
    <section class="sheet tape" aria-labelledby="tape">
      <h2 id="tape" class="vh">Tape: what happened, now, and what comes</h2>
      <div class="scrolls" ref={tape}><div class="past">
        {marks.length === 0 ? <Marks letters={letters} wide={MARK} gap={GAP} tall={38} /> : (
          <div class="walk" role="listbox" aria-orientation="horizontal" aria-labelledby="tape" tabIndex={0} onKeyDown={pressed}
            onFocus={() => setHere((was) => was ?? Math.max(0, past.length - 1))} aria-activedescendant={here === null ? undefined : `mark-${here}`}>
            <Marks letters={letters} wide={MARK} gap={GAP} tall={38} isHidden />
            {marks.map((mark, place) => (
              <span key={mark.due} role="option" id={`mark-${place}`} aria-selected={place === here} aria-label={named(place)} title={named(place)}
                style={{ left: `${left(place)}px`, width: `${MARK}px` }} onClick={() => { setHere(place); open(place); }} />
            ))}
          </div>
        )}
        <div class="lab">
          {here !== null && marks[here] ? <span><b>{named(here)}</b></span> : <span>{first ? civil(first.due, zone) : 'It has not run yet.'}</span>}
          <span>{coming.length > 0 && `to ${civil(coming.at(-1) ?? 0, zone)}`}</span>
        </div>
      </div></div>
      <div class="nextup">
        {next === null ? <b class="faint">nothing is due</b> : (
          <><span>next</span><b>{Math.abs(next - now() + SOON_MS) < SOON_MS ? 'now' : until(next)}</b><span>{withOffset(next, zone)}</span></>
        )}
      </div>
    </section>
  );
}

function History({ of, older, all, job, shows, onRedrive }: {
  /** The occurrence to unfold and to go to, and how often it was asked for. */
  shows: { due: number } | null;
  of: ReturnType<typeof useLoad<Page<Attempt>>>;
  older: ReturnType<typeof useOlder>;
  all: Occurred[];
  job: Description;
  onRedrive: ((of: string) => void) | null;
}) {
  const [only, setOnly] = useState(false);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [whole, setWhole] = useState(false);
  const zone = zoneOf(job);
  const isBad = (one: Occurred) => one.letter === 'f' || one.letter === 'e';
  const shown = only ? all.filter(isBad) : all;
  const visible = whole ? shown : fold(shown, isBad);
  useEffect(() => {
    if (shows === null) return;
    setWhole(true);
    setOnly(false);
    setOpen((old) => new Set(old).add(shows.due));
    // Once it is there.
    setTimeout(() => document.querySelector<HTMLElement>(`[data-due="${shows.due}"]`)?.focus());
  }, [shows]);
  const toggle = (due: number) => setOpen((old) => {
    const next = new Set(old);
    if (!next.delete(due)) next.add(due);
    return next;
  });
  return (
    <section class="sheet hist" aria-labelledby="history">
      <header>
        <h2 id="history">History</h2>
        <span class="muted">{grouped(job.executions)} attempt{job.executions === 1 ? '' : 's'}, {grouped(job.failures)} failed{job.skipped > 0 && `, ${grouped(job.skipped)} skipped`}</span>
        <span class="r">
          <button type="button" class="chip" aria-pressed={!only} onClick={() => setOnly(false)}>All</button>{' '}
          <button type="button" class="chip" aria-pressed={only} onClick={() => setOnly(true)}>Failed</button>
        </span>
      </header>
      <Panel of={of} rows={6}>
        {() => visible.length === 0
          ? <p class="none">{only ? 'None of the kept occurrences failed.' : 'It has not run yet.'}</p>
          : (
            <div class="scrolls" tabIndex={0} role="group" aria-labelledby="history">
              <table>
                <thead><tr><th class="tw"><span class="vh">Open</span></th><th>Due</th><th>Started</th><th>Attempts</th><th>What happened</th><th class="num">Took</th></tr></thead>
                <tbody>
                  {visible.map((one) => <Occurrence key={one.due} one={one} zone={zone} isOpen={open.has(one.due)} onToggle={() => toggle(one.due)} onRedrive={onRedrive} />)}
                  {visible.length < shown.length && (
                    <tr><td /><td colSpan={5} class="faint">{shown.length - visible.length} more that succeeded · <button type="button" class="btn sm" onClick={() => setWhole(true)}>Show</button></td></tr>
                  )}
                </tbody>
              </table>
            </div>
          )}
      </Panel>
      {older.error && <ErrorPanel error={older.error} />}
      {older.more && <p class="none"><button type="button" class="btn sm" onClick={older.more}>Older</button></p>}
    </section>
  );
}

/** Leaves out what succeeded after the first ten in a row. */
function fold(all: Occurred[], isBad: (one: Occurred) => boolean): Occurred[] {
  let row = 0;
  return all.filter((one) => {
    row = isBad(one) ? 0 : row + 1;
    return row <= FOLD;
  });
}

function Occurrence({ one, zone, isOpen, onToggle, onRedrive }: {
  one: Occurred;
  zone: string;
  isOpen: boolean;
  onToggle: () => void;
  onRedrive: ((of: string) => void) | null;
}) {
  const last = one.attempts.at(-1);
  const first = one.attempts[0];
  const redriveOf = first?.minutehand?.redriveOf;
  // A retry has an instant of its own, and is repeated with its occurrence.
  const of = first?.retryCount === 0 ? first.expectedExecutionTime : undefined;
  const isBad = one.letter === 'f' || one.letter === 'e';
  const due = civil(one.due, zone);
  const late = lateBy(one);
  const duration = took(one);
  return (
    <>
      <tr class={isOpen ? `open${isBad ? '' : ' fine'}` : ''}>
        <td class="tw">
          <button type="button" class="tog" data-due={one.due} aria-expanded={isOpen} aria-label={`What happened at ${due}`} onClick={onToggle}>{isOpen ? '▼' : '▶'}</button>
        </td>
        <td class="nowrap"><b>{due}</b></td>
        <td class="nowrap muted">{Number.isFinite(late) ? `+${span(Math.max(0, late))}` : '—'}</td>
        <td class="nowrap"><State kind={isBad ? 'bad' : one.letter === 'l' ? 'late' : one.letter === 's' ? 'off' : 'on'}>{one.letter === 's' ? 'none' : one.attempts.length}{isBad && one.attempts.length > 1 ? ', all failed' : isBad ? ' failed' : ''}</State></td>
        <td class={isBad ? 'bad' : ''}>{gist(last?.message)}{one.errorAction && `; error action ${failed(one.errorAction) ? 'failed' : 'succeeded'}`}{redriveOf && `; again for ${civil(Date.parse(redriveOf), zone)}`}</td>
        <td class="num muted nowrap">{Number.isFinite(duration) ? span(duration) : '—'}</td>
      </tr>
      {isOpen && (
        <tr class={isBad ? 'more' : 'more fine'}>
          <td colSpan={6}>
            <ol class="tl">
              {[...one.attempts, ...(one.errorAction ? [one.errorAction] : [])].map((attempt, place) => (
                <li key={place} class={failed(attempt) ? 'b' : ''}>
                  <span class="t">{clock(attempt.startTime, zone)}</span>
                  <span>
                    {attempt === one.errorAction ? 'error action' : place === 0 ? 'first attempt' : `retry ${place}`}:{' '}
                    <b>{failed(attempt) ? 'failed' : 'succeeded'}</b>
                    {attempt.endTime && attempt.startTime && ` in ${span(Date.parse(attempt.endTime) - Date.parse(attempt.startTime))}`}
                    <pre>{message(attempt.message)}</pre>
                  </span>
                </li>
              ))}
            </ol>
            {isBad && of && onRedrive && <p><button type="button" class="btn sm" onClick={() => onRedrive(of)}>Run again for this occurrence</button></p>}
          </td>
        </tr>
      )}
    </>
  );
}

function clock(text: string | undefined, zone: string): string {
  if (!text) return '—';
  const at = Date.parse(text);
  const it = parts(at, zone);
  return `${it.time}:${it.seconds}.${String(at % 1_000).padStart(3, '0')}`;
}

/** A message with its headers and its body on lines of their own; a body of JSON is indented. */
function message(text: string | undefined): string {
  const { head, headers, body } = messageParts(text);
  return [head, headers, indented(body)].filter(Boolean).join('\n\n');
}

function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function Next({ data, zone }: { data: Awaited<ReturnType<typeof api.coming>>; zone: string }) {
  tick.value;
  if (data.occurrences.length === 0) return <p class="none">Nothing is left to fire.</p>;
  return (
    <table>
      <thead class="vh"><tr><th>Day</th><th>Time</th><th>Offset</th><th>In</th></tr></thead>
      <tbody>
        {data.occurrences.map((one) => {
          const at = Date.parse(one.at);
          const it = parts(at, zone);
          return (
            <tr key={one.at}>
              <td>{it.day}</td>
              <td><b>{oclock(it.time, it.seconds)}</b></td>
              <td class="faint">{it.offset}</td>
              <td class="num muted">{one.note ? <span class="note">▲ {one.note.text}</span> : until(at).replace('in ', '')}</td>
            </tr>
          );
        })}
        {data.clockChanges.filter((change) => data.occurrences.every((one) => one.at !== change.at)).slice(0, 2).map((change) => (
          <tr key={change.at}><td colSpan={4} class="note">▲ {civil(Date.parse(change.at), zone)}: {change.note?.text}</td></tr>
        ))}
      </tbody>
    </table>
  );
}

function What({ job, collection, name }: { job: Description; collection: string; name: string }) {
  const action = (job.properties.action ?? {}) as Record<string, unknown>;
  const error = action.errorAction as Record<string, unknown> | undefined;
  const request = action.request as { authentication?: { type?: string; username?: string }; body?: string } | undefined;
  return (
    <section class="sheet" aria-labelledby="what">
      <header>
        <h2 id="what">What it does</h2>
        <span class="r">
          <Copy text={() => JSON.stringify(job.properties, null, 2)}>Copy JSON</Copy>{' '}
          <Copy text={() => asCurl(place.value, collection, name, job.properties)}>Copy curl</Copy>{' '}
          <Copy text={() => asCommand(place.value, collection, name, job.properties)}>Copy CLI</Copy>{' '}
          <Copy text={() => asArm(collection, name, job.properties)}>Copy ARM</Copy>
        </span>
      </header>
      <dl class="kv">
        <dt>Calls</dt><dd>{target(action)}</dd>
        {request?.authentication?.type && <><dt>With</dt><dd>{request.authentication.type}{request.authentication.username && `, user ${request.authentication.username}`}</dd></>}
        {request?.body && <><dt>Sends</dt><dd><pre>{request.body}</pre></dd></>}
        <dt>Retries</dt><dd>{saidRetries(job.properties)}</dd>
        <dt>If it fails</dt><dd>{error ? target(error) : 'nothing more'}</dd>
        {saidPolicies(job.properties).map(([policy, said]) => <Fragment key={policy}><dt>{policy}</dt><dd>{said}</dd></Fragment>)}
        <dt>Changes</dt><dd><a href={`${inPlace('journal', collection)}?job=${encodeURIComponent(name)}`}>Journal</a></dd>
        <dt>Since</dt><dd>{stateWord(job.state)} since {withOffset(Date.parse(job.since), zoneOf(job))}</dd>
      </dl>
    </section>
  );
}
