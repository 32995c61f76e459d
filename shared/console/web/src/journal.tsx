// Who changed what: the changes of a collection and its jobs, the newest first.
import { useEffect, useState } from 'preact/hooks';
import { type ApiError, api, type Check, type Document, type Entry, type JobProperties } from './api';
import { changes, merged } from './document';
import { keepDraft } from './draft';
import { useListKeys } from './keys';
import { asError, useLoad } from './load';
import { go, inPlace, may, place, route, say, setQuery, zoneChoice } from './state';
import { shownZone, withOffset } from './time';
import { Confirm, Crumbs, ErrorPanel, Field, Panel, Skeleton, Title, Wrong } from './ui';

/** Reads page after page, as far as one asks. */
function useEntries(collection: string, job: string) {
  const [entries, setEntries] = useState<Entry[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const key = `${place.value.subscription}/${place.value.group}/${collection}/${job}`;
  const read = async (from: string | null, isOver: () => boolean) => {
    setError(null);
    try {
      const page = await api.journal(place.value, collection, job, from);
      if (isOver()) return;
      setEntries((old) => (from === null ? page.items : [...(old ?? []), ...page.items]));
      setNext(page.next);
    } catch (thrown) {
      if (!isOver()) setError(asError(thrown));
    }
  };
  useEffect(() => {
    let over = false;
    setEntries(null);
    void read(null, () => over);
    return () => { over = true; };
  }, [key]);
  return { entries, next, error, more: () => void read(next, () => false), again: () => void read(null, () => false) };
}

/** The journal of a collection; without one, a choice of them. */
export function Journal({ collection }: { collection: string | null }) {
  return collection === null ? <Choose /> : <Entries collection={collection} />;
}

function Choose() {
  const { subscription, group } = place.value;
  const loaded = useLoad(`journals ${subscription}/${group}`, () => api.collections(place.value, null), null);
  useListKeys('.coll td:first-child a');
  return (
    <>
      <div class="head"><div><p class="eyebrow">{subscription} / {group}</p><Title>Journal</Title></div></div>
      <section class="sheet coll" aria-label="Journals">
        <Panel of={loaded} rows={4}>
          {(data) => (data.items.length === 0 ? <p class="none">No collections in {subscription} / {group} yet, so nothing has changed.</p> : (
            <table>
              <thead><tr><th>Whose changes</th></tr></thead>
              <tbody>{data.items.map((one) => <tr key={one.name}><td><a href={inPlace('journal', one.name)}><b>{one.name}</b></a></td></tr>)}</tbody>
            </table>
          ))}
        </Panel>
      </section>
    </>
  );
}

function Entries({ collection }: { collection: string }) {
  const job = route.value.query.get('job') ?? '';
  const who = route.value.query.get('who') ?? '';
  const [written, setWritten] = useState(job);
  const [undoing, setUndoing] = useState<Entry | null>(null);
  const { entries: all, next, error, more, again } = useEntries(collection, job);
  const people = [...new Set((all ?? []).map((one) => one.who))];
  const entries = all && who ? all.filter((one) => one.who === who) : all;
  zoneChoice.value;
  useListKeys('.changes [aria-expanded]');
  return (
    <>
      <div class="head">
        <div><Crumbs collection={collection} here="journal" /><Title>Journal of {collection}</Title></div>
        <form class="row2" role="search" aria-label="Some of the entries" onSubmit={(event) => { event.preventDefault(); setQuery({ job: written.trim() || null }); }}>
          <Field label="Only this job">{(given) => <input {...given} class="i" spellcheck={false} value={written} onInput={(event) => setWritten(event.currentTarget.value)} />}</Field>
          <button type="submit" class="btn">Show</button>
          {(people.length > 1 || who) && (
            <Field label="Who">
              {(given) => (
                <select {...given} class="i" value={who} onChange={(event) => setQuery({ who: event.currentTarget.value || null })}>
                  <option value="">anyone</option>
                  {[...new Set([...people, who])].filter(Boolean).map((one) => <option key={one}>{one}</option>)}
                </select>
              )}
            </Field>
          )}
        </form>
      </div>
      {error && <ErrorPanel error={error} onRetry={entries ? more : again} />}
      {entries === null && !error && <section class="sheet"><Skeleton rows={6} /></section>}
      {entries?.length === 0 && (
        <section class="sheet empty"><p class="voice">No changes{job && ` of ${job}`}{who && ` by ${who}`} {next ? 'so far' : 'yet'}.</p><p class="muted">A change is kept for 400 days.</p>{next && <p><button type="button" class="btn" onClick={more}>Look further back</button></p>}</section>
      )}
      {entries && entries.length > 0 && (
        <section class="sheet scrolls changes" aria-label="Changes" tabIndex={0}>
          <table>
            <thead><tr><th>When</th><th>Who</th><th>What</th><th>Properties</th></tr></thead>
            <tbody>{entries.map((one) => <Change key={`${one.at} ${one.requestId}`} one={one} collection={collection} onUndo={() => setUndoing(one)} />)}</tbody>
          </table>
          {next && <p class="none"><button type="button" class="btn sm" onClick={more}>Older</button></p>}
        </section>
      )}
      {undoing && <Undo one={undoing} collection={collection} onDone={again} onClose={() => setUndoing(null)} />}
    </>
  );
}

/** What can be done about a change: to take it back, or to make again what it deleted. */
function remedy({ operation, undo, job }: Entry): 'undo' | 'again' | null {
  if (undo === null || undefined === undo || !may('write')) return null;
  if (operation === 'deleted') return job === null ? null : 'again';
  return operation === 'created' || Object.keys(undo).length === 0 ? null : 'undo';
}

/** Opens the editor with a job that was deleted. */
function makeAgain(collection: string, { job, undo }: Entry) {
  const { status: _, ...properties } = undo as JobProperties;
  keepDraft(collection, { name: job ?? '', properties });
  go(inPlace('new', collection));
}

interface Undoing {
  /** What is sent: nothing if all is as it was before the change. */
  patch: Document;
  etag: string | null;
  check: Check | null;
}

/** What has to be sent so that a change is taken back, whatever else was changed since. */
async function undoOf(collection: string, { job, undo }: Entry): Promise<Undoing> {
  const back = undo as Document;
  if (job === null) {
    const { name: _, ...now } = await api.collection(place.value, collection) as unknown as Document & { name: string };
    return { patch: changes(now, merged(now, back)), etag: null, check: null };
  }
  const { properties, etag } = await api.job(place.value, collection, job);
  const patch = changes(properties, merged(properties, back));
  return { patch, etag, check: await api.check(place.value, collection, job, patch, 'patch') };
}

/** Asks before a change is taken back, and shows what that writes. */
function Undo({ one, collection, onDone, onClose }: { one: Entry; collection: string; onDone: () => void; onClose: () => void }) {
  const loaded = useLoad(`undo ${one.at} ${one.requestId}`, () => undoOf(collection, one), null);
  const what = one.job ?? collection;
  const isSame = loaded.data !== null && Object.keys(loaded.data.patch).length === 0;
  const yes = async () => {
    if (!loaded.data) return;
    const { patch, etag } = loaded.data;
    if (one.job === null) await api.patchCollection(place.value, collection, patch);
    else await api.patchJob(place.value, collection, one.job, patch, etag);
    say(`The change of ${what} is taken back.`);
    onDone();
  };
  return (
    <Confirm title={`Take back this change of ${what}?`} verb="Undo" isReady={loaded.data !== null && !isSame} onYes={yes} onClose={onClose}
      text={
        <Panel of={loaded} rows={2}>
          {({ patch, check }) => (isSame
            ? <>Everything that it changed is as before already.</>
            : (
              <>
                This is written:
                <pre class="code">{JSON.stringify(patch, null, 2)}</pre>
                {one.names.includes('secrets') && <span class="line">Secrets stay as they are now: the journal does not have them.</span>}
                {check?.change?.dropsPending && <span class="line">The timing changes: pending retries are dropped.</span>}
                {check?.problems.map((problem) => <Wrong key={problem.message}>{problem.message}</Wrong>)}
              </>
            ))}
        </Panel>
      } />
  );
}

function Change({ one, collection, onUndo }: { one: Entry; collection: string; onUndo: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const zone = shownZone(undefined);
  const has = one.change !== null && one.change !== undefined;
  return (
    <>
      <tr>
        <td class="nowrap">{withOffset(Date.parse(one.at), zone)}</td>
        <td>{one.who}</td>
        <td>{one.operation} {one.job ? <a href={inPlace('job', collection, one.job)}>{one.job}</a> : 'the collection'}</td>
        <td>
          {one.names.join(', ') || '—'}{' '}
          {has && <button type="button" class="btn sm" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>Diff</button>}{' '}
          {remedy(one) === 'undo' && <button type="button" class="btn sm" onClick={onUndo}>Undo…</button>}
          {remedy(one) === 'again' && <button type="button" class="btn sm" onClick={() => makeAgain(collection, one)}>Create anew…</button>}
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={4}>
            <dl class="kv flat both">
              <dt>Before</dt><dd><pre>{JSON.stringify(one.undo, null, 2)}</pre></dd>
              <dt>After</dt><dd><pre>{JSON.stringify(one.change, null, 2)}</pre></dd>
              <dt>Request</dt><dd><code>{one.requestId}</code></dd>
            </dl>
          </td>
        </tr>
      )}
    </>
  );
}
