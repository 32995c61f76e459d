// What a document means, asked of the server: the sentence, the next occurrences, and what a change does.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Check, JobProperties, Preview } from './answers';
import { api, type ApiError } from './api';
import { parts } from './clock';
import { changes } from './document';
import { asError } from './load';
import { Neighbours } from './neighbours';
import { isoSpan } from './spans';
import { place, tick } from './state';
import { civil, grouped, oclock, until } from './time';
import { capital, ErrorPanel, Wrong } from './ui';

/** How long the last key rests before the server is asked. */
const REST_MS = 150;
/** How long before a screen reader hears the new sentence. */
const SPEAK_MS = 500;

interface Asked {
  preview: Preview | null;
  error: ApiError | null;
  check: Check | null;
  took: number | null;
}

/** Asks the server what a document means, a moment after the last change of it. */
export function useMeaning(
  collection: string,
  name: string,
  properties: JobProperties,
  old: JobProperties | null,
): Asked {
  const [asked, set] = useState<Asked>({ preview: null, error: null, check: null, took: null });
  const json = JSON.stringify(properties);
  useEffect(() => {
    let isOver = false;
    const timer = setTimeout(() => {
      const begun = performance.now();
      const now = JSON.parse(json) as JobProperties;
      api.preview({ properties: now, count: 5 }).then(
        (preview) => isOver || set((old) => ({ ...old, preview, error: null, took: performance.now() - begun })),
        (thrown: unknown) => isOver || set((old) => ({ ...old, error: asError(thrown) })),
      );
      // A name is needed to ask for the rest: any will do while there is none. Of a job that is there only
      // the change is asked about, as it will be sent: no answer has its secrets.
      const checked = old
        ? api.check(place.value, collection, name, changes(old, now), 'patch')
        : api.check(place.value, collection, name || 'new-job', now);
      checked.then(
        (check) => isOver || set((old) => ({ ...old, check })),
        () => isOver || set((old) => ({ ...old, check: null })),
      );
    }, REST_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [json, collection, old ? '' : name]);
  return asked;
}

/** What is said of a property that no field of the form is for. */
const NOWHERE = /^'[^']*' (is not a property|belongs)/;

export function Meaning({
  asked,
  problem,
  isExample,
  zone,
  isEdit,
  collection,
  onStart,
  onTime,
}: {
  asked: Asked;
  problem: string | null;
  isExample: boolean;
  zone: string;
  isEdit: boolean;
  collection: string;
  /** Takes an instant as the start. */
  onStart: (instant: string) => void;
  /** Takes another time of the day; `null` if the job has more than one. */
  onTime: ((time: string) => void) | null;
}) {
  tick.value;
  const { preview, check, took } = asked;
  const spoken = useSpoken(problem ?? preview?.sentence ?? '');
  const before = useRef<string | null>(null);
  const sentence = preview ? capital(preview.sentence) : null;
  const marked = useMemo(() => {
    const old = before.current;
    before.current = sentence;
    return sentence === null ? [] : words(old, sentence);
  }, [sentence]);
  // The first one of the rule itself, if saving fires, too.
  const first = preview?.firesOnSave ? preview.occurrences[1] : preview?.occurrences[0];
  const startInstead =
    preview?.firesOnSave && first ? (
      <button type="button" class="btn sm" onClick={() => onStart(first.at)}>
        Start on {longDay(first.local)} at {oclock(first.local.slice(11, 16))} instead
      </button>
    ) : null;
  return (
    <aside class="sheet pv" aria-labelledby="meaning">
      <header>
        <h2 id="meaning">{isExample ? 'An example' : 'What it means'}</h2>
        <span class="r">{took !== null && `asked the server, ${Math.round(took)} ms`}</span>
      </header>
      <p class={`say${asked.error ? ' faint' : ''}`} data-testid="sentence">
        {marked.map(([word, isNew], place) => (isNew ? <mark key={place}>{word}</mark> : word))}
      </p>
      <p class="vh" aria-live="polite">
        {spoken}
      </p>
      {asked.error && <ErrorPanel error={asked.error} />}
      {!asked.error && problem && NOWHERE.test(problem) && (
        <div class="pad">
          <Wrong>{problem}</Wrong>
        </div>
      )}
      {check?.warnings.map((warning) => (
        <div class="warn" key={warning.message}>
          <i aria-hidden="true">▲</i>
          <span>
            {warning.message} {warning.kind === 'firesOnSave' && startInstead}
          </span>
        </div>
      ))}
      {!check && preview?.firesOnSave && (
        <div class="warn">
          <i aria-hidden="true">▲</i>
          <span>
            <b>It also fires at once when you save,</b> since no start is given. {startInstead}
          </span>
        </div>
      )}
      {isEdit && check?.change && <Change change={check.change} zone={zone || 'UTC'} />}
      {preview && (
        <>
          <table>
            <thead>
              <tr>
                <th>Next</th>
                <th>{zone || 'UTC'}</th>
                <th>UTC</th>
                <th class="num">in</th>
              </tr>
            </thead>
            <tbody>
              {preview.occurrences.map((one) => {
                const instant = Date.parse(one.at);
                return (
                  <tr key={one.at}>
                    <td>{longDay(one.local)}</td>
                    <td>
                      <b>{oclock(one.local.slice(11, 16))}</b> <span class="faint">{one.offset.replace('-', '−')}</span>
                    </td>
                    <td class="muted">{oclock(parts(instant, 'UTC').time)}</td>
                    <td class="num muted">
                      {one.note ? <span class="note">▲ {one.note.text}</span> : until(instant).replace(/^in /, '')}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
          <p class="faint pad">
            {preview.occurrences.length === 0
              ? 'It never fires.'
              : `${grouped(preview.perYear)} a year${preview.smallestGap ? `, never two closer than ${isoSpan(preview.smallestGap)}` : ''}.`}
            {preview.clockChanges.slice(0, 3).map((one) => (
              <span key={one.at} class="note line">
                ▲ {longDay(one.local)}: {one.note?.text}
              </span>
            ))}
          </p>
        </>
      )}
      {first && !asked.error && (
        <Neighbours collection={collection} at={Date.parse(first.at)} local={first.local} onTime={onTime} />
      )}
    </aside>
  );
}

function Change({ change, zone }: { change: NonNullable<Check['change']>; zone: string }) {
  if (!change.timing) return null;
  const shown = (all: string[]) =>
    all
      .slice(0, 3)
      .map((one) => civil(Date.parse(one), zone))
      .join(', ') || 'none';
  return (
    <div class="warn">
      <i aria-hidden="true">▲</i>
      <span>
        The timing changes{change.dropsPending && ': pending retries are dropped'}
        {change.countRestarts && ', and the count starts again'}.
        <span class="line">
          Goes: {shown(change.gone)}
          {change.gone.length > 3 && ` and ${change.gone.length - 3} more`}.
        </span>
        <span class="line">
          Comes: {shown(change.new)}
          {change.new.length > 3 && ` and ${change.new.length - 3} more`}.
        </span>
      </span>
    </div>
  );
}

function longDay(local: string): string {
  const day = parts(Date.parse(`${local.slice(0, 10)}T00:00:00Z`), 'UTC');
  return `${day.day} ${day.year}`;
}

/** The words of a sentence, and which of them the one before did not have. */
function words(old: string | null, next: string): [string, boolean][] {
  const had = new Set(old?.split(' '));
  return next.split(' ').map((word, place) => [`${place > 0 ? ' ' : ''}${word}`, old !== null && !had.has(word)]);
}

/** A text for a screen reader, once it has rested. */
function useSpoken(text: string): string {
  const [spoken, set] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => set(text), SPEAK_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return spoken;
}
