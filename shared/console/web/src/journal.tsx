// Who changed what: the changes of a collection and its jobs, the newest first.
import { useEffect, useState } from 'preact/hooks';
import { type ApiError, api, type Entry } from './api';
import { useListKeys } from './keys';
import { asError, useLoad } from './load';
import { inPlace, place, route, setQuery, zoneChoice } from './state';
import { shownZone, withOffset } from './time';
import { Crumbs, ErrorPanel, Field, Panel, Skeleton, Title } from './ui';

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
  const [written, setWritten] = useState(job);
  const { entries, next, error, more, again } = useEntries(collection, job);
  zoneChoice.value;
  useListKeys('.changes [aria-expanded]');
  return (
    <>
      <div class="head">
        <div><Crumbs collection={collection} here="journal" /><Title>Journal of {collection}</Title></div>
        <form class="row2" role="search" aria-label="Entries of one job" onSubmit={(event) => { event.preventDefault(); setQuery({ job: written.trim() || null }); }}>
          <Field label="Only this job">{(given) => <input {...given} class="i" spellcheck={false} value={written} onInput={(event) => setWritten(event.currentTarget.value)} />}</Field>
          <button type="submit" class="btn">Show</button>
        </form>
      </div>
      {error && <ErrorPanel error={error} onRetry={entries ? more : again} />}
      {entries === null && !error && <section class="sheet"><Skeleton rows={6} /></section>}
      {entries?.length === 0 && (
        <section class="sheet empty"><p class="voice">No changes{job && ` of ${job}`} yet.</p>{next && <p><button type="button" class="btn" onClick={more}>Look further back</button></p>}</section>
      )}
      {entries && entries.length > 0 && (
        <section class="sheet scrolls changes" aria-label="Changes" tabIndex={0}>
          <table>
            <thead><tr><th>When</th><th>Who</th><th>What</th><th>Properties</th></tr></thead>
            <tbody>{entries.map((one) => <Change key={`${one.at} ${one.requestId}`} one={one} collection={collection} />)}</tbody>
          </table>
          {next && <p class="none"><button type="button" class="btn sm" onClick={more}>Older</button></p>}
        </section>
      )}
    </>
  );
}

function Change({ one, collection }: { one: Entry; collection: string }) {
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
          {has && <button type="button" class="btn sm" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>Diff</button>}
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={4}>
            <dl class="kv flat">
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
