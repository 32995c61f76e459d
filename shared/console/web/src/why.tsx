// Why an occurrence did not fire: the server's sentence, and what it rests on.
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, api, type Why } from './api';
import { asError, useLoad } from './load';
import { useKeys } from './keys';
import { go, inPlace, link, place, route } from './state';
import { shownZone, withOffset } from './time';
import { ErrorPanel, Field, Title } from './ui';

/** Asks for an instant, and shows the answer. The server reads the instant: no zone is guessed. */
export function Ask({ collection, name, zone, first = '', onAsked }: {
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
  const ask = async (instant: string) => {
    const mine = ++round.current;
    setAt(instant);
    setError(null);
    onAsked?.(instant);
    try {
      const why = await api.why(place.value, collection, name, instant.trim());
      if (mine === round.current) setFound(why);
    } catch (thrown) {
      if (mine === round.current) { setFound(null); setError(asError(thrown)); }
    }
  };
  useEffect(() => { if (first) void ask(first); }, []);
  useEffect(() => { if (found) answer.current?.focus({ preventScroll: true }); }, [found]);
  const step = (to: string | null | undefined) => { if (to) void ask(to); };
  useKeys({ '[': () => step(found?.near.before), ']': () => step(found?.near.after) });
  const shown = shownZone(zone);
  const kinds: Record<string, string> = { outage: 'b', timing: 'h' };
  return (
    <div class="why">
      <form class="ask" onSubmit={(event) => { event.preventDefault(); void ask(at); }}>
        <input aria-label="The instant at which it was due" placeholder="2026-10-19T02:30:00-04:00" required spellcheck={false} value={at} onInput={(event) => setAt(event.currentTarget.value)} />
        <button type="submit" class="btn">Ask</button>
      </form>
      {error && <ErrorPanel error={error} />}
      {found && (
        <>
          <h3 class="ans" tabIndex={-1} ref={answer}>{found.sentence}</h3>
          <ol class="tl">
            {found.evidence.map((line, row) => (
              <li key={row} class={kinds[line.kind] ?? (/failed/.test(line.text) ? 'b' : '')}>
                <span class="t">{withOffset(Date.parse(line.at), shown)}</span><span>{line.text}</span>
              </li>
            ))}
          </ol>
          <p class="acts near">
            <button type="button" class="btn sm" disabled={!found.near.before} onClick={() => step(found.near.before)}>← {found.near.before ? withOffset(Date.parse(found.near.before), shown) : 'none before'}</button>
            <button type="button" class="btn sm" disabled={!found.near.after} onClick={() => step(found.near.after)}>{found.near.after ? withOffset(Date.parse(found.near.after), shown) : 'none after'} →</button>
          </p>
        </>
      )}
    </div>
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
  const submit = (event: Event) => {
    event.preventDefault();
    const [first = '', second = ''] = written.split('/').map((part) => part.trim());
    if (first && second) go(inPlace('why', first, second));
  };
  return (
    <>
      <div class="head"><div><p class="eyebrow">{place.value.group}</p><Title voice>Why did it not fire?</Title></div></div>
      <section class="sheet form" aria-label="Which job">
        <form onSubmit={submit} class="row2">
          <Field label="Job, as collection/job">
            {(given) => <input {...given} class="i" required pattern="[^/]+/[^/]+" spellcheck={false} value={written} onInput={(event) => setWritten(event.currentTarget.value)} />}
          </Field>
          <button type="submit" class="btn">Choose</button>
        </form>
        {collection && job && isReady && (
          <>
            <h2><a href={inPlace('job', collection, job)}>{collection} / {job}</a></h2>
            <Ask key={`${collection}/${job}`} collection={collection} name={job} first={at} zone={zone}
              onAsked={(instant) => history.replaceState(null, '', `${link('in', place.value.subscription, place.value.group, 'why', collection, job)}?at=${encodeURIComponent(instant)}`)} />
          </>
        )}
      </section>
    </>
  );
}

