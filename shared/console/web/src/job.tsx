// A job: what it says, what happened, what comes, and why it does not fire.
import { Fragment } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { target } from './actions';
import type { Description } from './answers';
import { api, type ApiError } from './api';
import { parts } from './clock';
import { Confirm } from './dialog';
import { at, expectsPings } from './document';
import { asArm, asCommand, asCurl } from './elsewhere';
import { History, useOlder } from './history';
import { useKeys } from './keys';
import { asError, useLoad } from './load';
import { needs } from './needs';
import { occurrences, usually } from './outcome';
import { Pings } from './pings';
import { saidPolicies, saidRetries } from './policies';
import { lineOf, outcomeOf, PresentOf, runSince } from './present';
import { Snooze, Wake } from './snooze';
import {
  askedRun,
  asksRun,
  go,
  inPlace,
  isHere,
  isOf,
  may,
  place,
  route,
  RUN_ONCE,
  say,
  tick,
  zoneChoice,
} from './state';
import { Tape } from './tape';
import { civil, inZone, now, oclock, until, withOffset, zoneOf } from './time';
import { capital, Copy, copyCommand, Crumbs, ErrorPanel, Key, Panel, State, stateOf, stateWord, Title } from './ui';
import { Ask } from './why';

const QUEUED = 'One run is in the queue.';
/** How long after an occurrence is due the page is read again. */
const JUST_AFTER_MS = 1_500;
/** How long what a run becomes is looked for more often. */
const FOLLOWED_MS = 600_000;
/** How often, in seconds, a job is read of which something runs, waits or was asked for, and any other one. */
const BUSY = 2;
const QUIET = 10;

export function JobPage({ collection, name }: { collection: string; name: string }) {
  const key = `${place.value.subscription}/${place.value.group}/${collection}/${name}`;
  const [asking, setAsking] = useState<'run' | 'delete' | null>(null);
  const [cancelling, setCancelling] = useState<string | null>(null);
  const [shows, setShows] = useState<{ due: number } | null>(null);
  const [ran, setRan] = useState(0);
  const [isBusy, setBusy] = useState(false);
  const isOwn = isOf(collection, name);
  const often = isBusy || ran > 0 ? BUSY : QUIET;
  const job = useLoad(`job ${key}`, () => api.describe(place.value, collection, name), often, false, isOwn);
  useEffect(() => {
    const timer = setTimeout(() => setRan(0), FOLLOWED_MS);
    return () => clearTimeout(timer);
  }, [ran]);
  const history = useLoad(
    `history ${key}`,
    () => api.occurrences(place.value, collection, name, null),
    often,
    false,
    isOwn,
  );
  const isPresent = (job.data?.present?.length ?? 0) > 0;
  useEffect(() => setBusy(isPresent), [isPresent]);
  // A run that was asked for is told with its outcome.
  const run = ran > 0 ? runSince(ran, history.data?.items ?? []) : undefined;
  const ended = run && outcomeOf(name, run);
  useEffect(() => {
    if (!ended) return;
    say(ended);
    setRan(0);
  }, [ended]);
  const older = useOlder(collection, name, history.data);
  const coming = useLoad(`next ${key}`, () => api.coming(place.value, collection, name), 30, false, isOwn);
  const [error, setError] = useState<ApiError | null>(null);
  zoneChoice.value;

  const reload = () => {
    for (const one of [job, history, coming]) one.reload();
  };
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
  const own = { resourceGroup: place.value.group, collection, job: name };
  const snoozedUntil = Date.parse(String(at(job.data?.properties ?? {}, 'minutehand.snoozedUntil')));
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
  const redrive = (of: string) =>
    void attempt(
      () => api.redriveOccurrence(place.value, collection, name, of),
      'One run for this occurrence is in the queue.',
    );
  const ask = () => (asksRun() ? setAsking('run') : void attempt(() => api.run(place.value, collection, name), QUEUED));
  // A dead letter leads here, to its occurrence.
  const letter = Date.parse(route.value.query.get('letter') ?? '') || 0;
  const isRead = history.data !== null;
  useEffect(() => {
    if (letter && isRead) setShows({ due: letter });
  }, [letter, isRead]);
  useKeys({
    e: () => may('write') && go(inPlace('edit', collection, name)),
    r: () => may('run') && ask(),
    s: () => may('write') && job.data && !isOver && void turn(),
    y: () => copyCommand(collection, name),
    w: () => document.querySelector<HTMLInputElement>('.why input')?.focus(),
    Escape: () => go(letter ? inPlace('dead') : inPlace('jobs', collection)),
  });
  const all = occurrences(older.all);
  return (
    <>
      <div class="head">
        <div>
          <Crumbs collection={collection} here="job" />
          <Title>{name}</Title>
        </div>
        {job.data && (
          <div class="acts">
            {may('write') && !isOver ? (
              <button type="button" class="switch" role="switch" aria-checked={isOn} onClick={turn}>
                <i aria-hidden="true" />
                {isOn ? 'On' : 'Off'}
              </button>
            ) : (
              <State kind={stateOf(job.data.state)}>{stateWord(job.data.state)}</State>
            )}
            {may('write') && isPaused && (
              <button type="button" class="btn go" onClick={() => void resume()}>
                Resume
              </button>
            )}
            {needs.value?.data?.jobs.some(
              ({ last }) => isHere(last) && last.collection === collection && last.job === name,
            ) && <Snooze of={own} onDone={reload} />}
            {may('run') && !(job.data && expectsPings(job.data.properties)) && (
              <button type="button" class="btn" onClick={ask}>
                Run now
              </button>
            )}
            {may('write') && (
              <a class="btn" href={inPlace('edit', collection, name)}>
                {isOver ? 'Look at it' : 'Edit'} <Key>e</Key>
              </a>
            )}
            {may('write') && (
              <a class="btn" href={`${inPlace('new', collection)}?from=${encodeURIComponent(name)}`}>
                {isOver ? 'Create anew' : 'Duplicate'}
              </a>
            )}
            {may('write') && (
              <button type="button" class="btn" onClick={() => setAsking('delete')}>
                Delete…
              </button>
            )}
          </div>
        )}
        {job.data && <p class="say">{capital(job.data.sentence)}</p>}
      </div>
      {error && <ErrorPanel error={error} />}
      {letter > 0 && (
        <p class="notice">
          A dead letter is of the occurrence {civil(letter, zoneOf(job.data))}.{' '}
          <a href={`${inPlace('why', collection, name)}?at=${new Date(letter).toISOString()}`}>What became of it</a> ·{' '}
          <a href={inPlace('dead')}>Dead letters</a>
        </p>
      )}
      {snoozedUntil > now() && (
        <p class="notice">
          Snoozed until {civil(snoozedUntil, zoneOf(job.data))}: it needs nobody. <Wake of={own} onDone={reload} />
        </p>
      )}
      {job.data?.notFiring.map((why) => (
        <p key={why.reason} class="notice late" role="status">
          <b>It does not fire.</b> {inZone(why.message, zoneOf(job.data))}
        </p>
      ))}
      {job.data === null ? (
        <section class="sheet">
          <Panel of={job} rows={6}>
            {() => null}
          </Panel>
        </section>
      ) : (
        <>
          <PresentOf
            job={job.data}
            line={lineOf(collection, isHere)}
            usual={usually(all)}
            asked={ran > 0 && !run && !job.data.present?.some(({ kind }) => kind === 'run') ? ran : null}
            onCancel={may('run') ? setCancelling : null}
          />
          <Tape
            job={job.data}
            all={all}
            coming={coming.data?.occurrences.map((one) => Date.parse(one.at)) ?? []}
            onOpen={(due) => setShows({ due })}
          />
          <div class="grid two">
            <History
              of={history}
              older={older}
              all={all}
              job={job.data}
              shows={shows}
              onRedrive={may('run') && !isOver ? redrive : null}
            />
            <div class="grid">
              <section class="sheet" aria-labelledby="why">
                <header>
                  <h2 id="why">Why did it not fire?</h2>
                </header>
                <Ask
                  collection={collection}
                  name={name}
                  zone={job.data.properties.recurrence?.timeZone as string | undefined}
                  onRun={() => {
                    setRan(now());
                    reload();
                  }}
                />
              </section>
              <section class="sheet nx" aria-labelledby="next">
                <header>
                  <h2 id="next">Next ten</h2>
                  <span class="r">{zoneName(job.data)}</span>
                </header>
                <Panel of={coming} rows={4}>
                  {(data) => <Next data={data} zone={zoneOf(job.data as Description)} />}
                </Panel>
              </section>
              <Pings job={job.data} collection={collection} name={name} />
              <What job={job.data} collection={collection} name={name} />
            </div>
          </div>
        </>
      )}
      {asking === 'run' && (
        <Confirm
          title={`Run ${name} now?`}
          verb="Run now"
          text={RUN_ONCE}
          onYes={async () => {
            await api.run(place.value, collection, name);
            askedRun();
            say(QUEUED);
            setRan(now());
            reload();
          }}
          onClose={() => setAsking(null)}
        />
      )}
      {cancelling !== null && (
        <Confirm
          title={`Cancel this attempt of ${name}?`}
          verb="Cancel it"
          text="The attempt fails, and its retries follow. Its target is not told."
          onYes={async () => {
            await api.cancelOccurrence(place.value, collection, name, cancelling);
            say('The attempt is cancelled.');
            reload();
          }}
          onClose={() => setCancelling(null)}
        />
      )}
      {asking === 'delete' && (
        <Confirm
          title={`Delete ${name}?`}
          verb="Delete"
          name={name}
          text="The job and its history are deleted. This cannot be taken back."
          onYes={async () => {
            await api.deleteJob(place.value, collection, name);
            say(`${name} is deleted.`);
            go(inPlace('jobs', collection));
          }}
          onClose={() => setAsking(null)}
        />
      )}
    </>
  );
}

const zoneName = (job: Description) => zoneOf(job).replaceAll('_', ' ');

function Next({ data, zone }: { data: Awaited<ReturnType<typeof api.coming>>; zone: string }) {
  tick.value;
  if (data.occurrences.length === 0) return <p class="none">Nothing is left to fire.</p>;
  return (
    <table>
      <thead class="vh">
        <tr>
          <th>Day</th>
          <th>Time</th>
          <th>Offset</th>
          <th>In</th>
        </tr>
      </thead>
      <tbody>
        {data.occurrences.map((one) => {
          const at = Date.parse(one.at);
          const it = parts(at, zone);
          return (
            <tr key={one.at}>
              <td>{it.day}</td>
              <td>
                <b>{oclock(it.time, it.seconds)}</b>
              </td>
              <td class="faint">{it.offset}</td>
              <td class="num muted">
                {one.note ? <span class="note">▲ {one.note.text}</span> : until(at).replace('in ', '')}
              </td>
            </tr>
          );
        })}
        {data.clockChanges
          .filter((change) => data.occurrences.every((one) => one.at !== change.at))
          .slice(0, 2)
          .map((change) => (
            <tr key={change.at}>
              <td colSpan={4} class="note">
                ▲ {civil(Date.parse(change.at), zone)}: {change.note?.text}
              </td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

function What({ job, collection, name }: { job: Description; collection: string; name: string }) {
  const action = (job.properties.action ?? {}) as Record<string, unknown>;
  const error = action.errorAction as Record<string, unknown> | undefined;
  const request = action.request as
    | { authentication?: { type?: string; username?: string }; body?: string }
    | undefined;
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
        <dt>Calls</dt>
        <dd>{target(action)}</dd>
        {request?.authentication?.type && (
          <>
            <dt>With</dt>
            <dd>
              {request.authentication.type}
              {request.authentication.username && `, user ${request.authentication.username}`}
            </dd>
          </>
        )}
        {request?.body && (
          <>
            <dt>Sends</dt>
            <dd>
              <pre>{request.body}</pre>
            </dd>
          </>
        )}
        <dt>Retries</dt>
        <dd>{saidRetries(job.properties)}</dd>
        <dt>If it fails</dt>
        <dd>{error ? target(error) : 'nothing more'}</dd>
        {saidPolicies(job.properties).map(([policy, said]) => (
          <Fragment key={policy}>
            <dt>{policy}</dt>
            <dd>{said}</dd>
          </Fragment>
        ))}
        <dt>Changes</dt>
        <dd>
          <a href={`${inPlace('journal', collection)}?job=${encodeURIComponent(name)}`}>Journal</a>
        </dd>
        <dt>Since</dt>
        <dd>
          {stateWord(job.state)} since {withOffset(Date.parse(job.since), zoneOf(job))}
        </dd>
      </dl>
    </section>
  );
}
