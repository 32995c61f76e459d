// Why an occurrence did not fire: the server's sentence, and what it rests on.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Why } from './answers';
import { api, type ApiError } from './api';
import { meant } from './clock';
import { useKeys } from './keys';
import { asError, useLoad } from './load';
import { causeOf } from './outcome';
import { DAY } from './spans';
import { go, inPlace, isHere, link, may, pageOf, place, route, say } from './state';
import { inZone, now, shownZone, wideZone, withOffset } from './time';
import { Named, useFound } from './palette';
import { ErrorPanel, Field, Title } from './ui';

/** What became of an occurrence that may be worth a run now. */
const CAN_RUN = /^(failed|overtaken|tooLate|overlap|superseded|timingChanged|excluded|jobOff|collectionOff|lost)$/;

/** Asks for an instant, and shows the answer. The server reads the instant: no zone is guessed. */
export function Ask({
  collection,
  name,
  zone,
  first = '',
  onAsked,
  onRun,
}: {
  /** Once a run is in the queue. */
  onRun: () => void;
  collection: string;
  name: string;
  zone?: string | undefined;
  first?: string;
  onAsked?: (at: string) => void;
}) {
  const [at, setAt] = useState(first);
  const [found, setFound] = useState<Why | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const answer = useRef<HTMLHeadingElement>(null);
  const round = useRef(0);
  const shown = shownZone(zone);
  const [choice, setChoice] = useState<number[] | null>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    const instants = meant(at, shown, now());
    setFound(null);
    setError(null);
    setChoice(instants && instants.length > 1 ? instants : null);
    if (instants?.[0] === undefined) void ask(at);
    else if (instants.length === 1) void ask(new Date(instants[0]).toISOString());
  };
  const ask = async (instant: string) => {
    const mine = ++round.current;
    setChoice(null);
    setAt(instant);
    setError(null);
    onAsked?.(instant);
    try {
      const why = await api.why(place.value, collection, name, instant.trim());
      if (mine === round.current) setFound(why);
    } catch (thrown) {
      if (mine === round.current) {
        setFound(null);
        setError(asError(thrown));
      }
    }
  };
  /** What failed is repeated, so that its history says of what; anything else runs as a job that is run by hand. */
  const again = async ({ verdict, at: instant }: Why) => {
    setError(null);
    try {
      await (verdict === 'failed' ? api.redriveOccurrence : api.run)(place.value, collection, name, instant);
      say(`One run of ${name} is in the queue.`);
      onRun();
    } catch (thrown) {
      setError(asError(thrown));
    }
  };
  useEffect(() => {
    if (first) void ask(first);
  }, []);
  useEffect(() => {
    if (found) answer.current?.focus({ preventScroll: true });
  }, [found]);
  const step = (to: string | null | undefined) => {
    if (to) void ask(to);
  };
  useKeys({ '[': () => step(found?.near.before), ']': () => step(found?.near.after) });
  const kinds: Record<string, string> = { outage: 'b', timing: 'h' };
  return (
    <div class="why">
      <form class="ask" onSubmit={submit}>
        <input
          aria-label="The instant at which it was due"
          placeholder="yesterday 02:30"
          required
          spellcheck={false}
          value={at}
          onInput={(event) => setAt(event.currentTarget.value)}
        />
        <button type="submit" class="btn">
          Ask
        </button>
      </form>
      <p class="faint">
        On the clock of {shown.replaceAll('_', ' ')}, such as “02:30”, “Mon 14:00” or “2026-10-19 02:30”; or as in
        2026-10-19T02:30:00-04:00.
      </p>
      {choice && (
        <p class="acts" role="status">
          That day the clock shows this time twice:{' '}
          {choice.map((one) => (
            <button key={one} type="button" class="btn sm" onClick={() => void ask(new Date(one).toISOString())}>
              {withOffset(one, shown)}
            </button>
          ))}
        </p>
      )}
      {error && <ErrorPanel error={error} />}
      {found && (
        <>
          <h3 class="ans" tabIndex={-1} ref={answer}>
            {inZone(found.sentence, shown)}
          </h3>
          <ol class="tl">
            {found.evidence.map((line, row) => (
              <li key={row} class={kinds[line.kind] ?? (/failed/.test(line.text) ? 'b' : '')}>
                <span class="t">{withOffset(Date.parse(line.at), shown)}</span>
                <span>{inZone(line.text, shown)}</span>
              </li>
            ))}
          </ol>
          {may('run') && CAN_RUN.test(found.verdict) && (
            <p class="acts near">
              <button type="button" class="btn" onClick={() => void again(found)}>
                Run it now
              </button>
            </p>
          )}
          <p class="acts near">
            <button type="button" class="btn sm" disabled={!found.near.before} onClick={() => step(found.near.before)}>
              ← {found.near.before ? withOffset(Date.parse(found.near.before), shown) : 'none before'}
            </button>
            <button type="button" class="btn sm" disabled={!found.near.after} onClick={() => step(found.near.after)}>
              {found.near.after ? withOffset(Date.parse(found.near.after), shown) : 'none after'} →
            </button>
          </p>
        </>
      )}
    </div>
  );
}

/** How many jobs that failed are offered, and how far back. */
const OFFERED = 10;
const OFFERED_DAYS = 7;

/** The occurrences that failed last, to ask about. */
function Failed() {
  const { subscription, group } = place.value;
  const loaded = useLoad(
    `failed ${subscription}/${group}`,
    () => api.failures(place.value, new Date(now() - OFFERED_DAYS * DAY)),
    null,
  );
  const items = (loaded.data?.items ?? []).filter(isHere).slice(0, OFFERED);
  if (items.length === 0) return null;
  return (
    <>
      <h2>These failed last</h2>
      <ul class="offered">
        {items.map((one) => (
          <li key={`${one.collection}/${one.job} ${one.at}`}>
            <a href={`${inPlace('why', one.collection, one.job)}?at=${encodeURIComponent(one.at)}`}>
              {one.collection} / {one.job}
            </a>{' '}
            <span class="muted">{withOffset(Date.parse(one.at), wideZone())}</span>{' '}
            <span class="bad">{causeOf(one)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The same for any job: the address names the job and the instant. */
export function WhyPage() {
  const [, , , , collection, job] = route.value.parts;
  const at = route.value.query.get('at') ?? '';
  const [written, setWritten] = useState(collection && job ? `${collection}/${job}` : '');
  const described = useLoad(
    `why ${place.value.subscription}/${place.value.group}/${collection}/${job}`,
    async () => (collection && job ? api.describe(place.value, collection, job) : null),
    null,
  );
  // The answer about a job that is gone says so itself.
  const isReady = described.data !== null || described.error !== null;
  const zone = described.data?.properties.recurrence?.timeZone as string | undefined;
  const { jobs } = useFound(collection && job ? '' : written);
  const submit = (event: Event) => {
    event.preventDefault();
    const [first = '', second = ''] = written.split('/').map((part) => part.trim());
    if (first && second) go(inPlace('why', first, second));
    else if (jobs[0]) go(pageOf('why', jobs[0]));
  };
  return (
    <>
      <div class="head">
        <div>
          <p class="eyebrow">{place.value.group}</p>
          <Title voice>Why did it not fire?</Title>
        </div>
      </div>
      <section class="sheet form" aria-label="Which job">
        <p class="muted">
          Name a job and an instant: the answer says whether the job was due then, what became of it, and why.
        </p>
        <form onSubmit={submit} class="row2">
          <Field label="Job: any part of its name, or collection/job">
            {(given) => (
              <input
                {...given}
                class="i"
                required
                placeholder="billing/invoice-export"
                spellcheck={false}
                value={written}
                onInput={(event) => setWritten(event.currentTarget.value)}
              />
            )}
          </Field>
          <button type="submit" class="btn">
            Choose
          </button>
        </form>
        {jobs.length > 0 && (
          <ul class="offered" aria-label="Jobs of this name">
            {jobs.map((one) => (
              <li key={`${one.resourceGroup}/${one.collection}/${one.job}`}>
                <a href={pageOf('why', one)}>
                  {one.collection} / <Named name={one.job} part={written.trim().split('/').at(-1) ?? ''} />
                </a>
              </li>
            ))}
          </ul>
        )}
        {!(collection && job) && written.trim() === '' && <Failed />}
        {collection && job && isReady && (
          <>
            <h2>
              <a href={inPlace('job', collection, job)}>
                {collection} / {job}
              </a>
            </h2>
            <Ask
              key={`${collection}/${job}`}
              collection={collection}
              name={job}
              first={at}
              zone={zone}
              onRun={() => go(inPlace('job', collection, job))}
              onAsked={(instant) =>
                history.replaceState(
                  null,
                  '',
                  `${link('in', place.value.subscription, place.value.group, 'why', collection, job)}?at=${encodeURIComponent(instant)}`,
                )
              }
            />
          </>
        )}
      </section>
    </>
  );
}
