// Who changed what: the changes of a collection and its jobs, the newest first.
import { Fragment } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Document, Entry } from './answers';
import { api, type ApiError } from './api';
import { changed, done, isPart, line } from './changed';
import { useListKeys } from './keys';
import { asError, useLoad } from './load';
import { each } from './many';
import { inPlace, me, place, route, setQuery, zoneChoice } from './state';
import { grouped, wideZone, withOffset } from './time';
import { Crumbs, ErrorPanel, Field, Panel, Skeleton, Title } from './ui';
import { makeAgain, remedy, Undo } from './undo';

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
    return () => {
      over = true;
    };
  }, [key]);
  return { entries, next, error, more: () => void read(next, () => false), again: () => void read(null, () => false) };
}

/** The journal of a collection; without one, that of all collections of the group. */
export function Journal({ collection }: { collection: string | null }) {
  return collection === null ? <Whole /> : <Entries collection={collection} />;
}

/** How many collections a group's journal is put together of, and how many entries are shown. */
const COLLECTIONS_MAX = 40;
const ENTRIES_MAX = 100;

interface Together {
  entries: [collection: string, one: Entry][];
  names: string[];
  /** How many collections were not read. */
  left: number;
}

/** The newest entries of all collections of the group. */
async function readAll(): Promise<Together> {
  const { items } = await api.collections(place.value, null);
  const names = items.map((one) => one.name);
  const entries: Together['entries'] = [];
  await each(
    names.slice(0, COLLECTIONS_MAX),
    () => false,
    async (name) => {
      const { items: found } = await api.journal(place.value, name, '', null);
      for (const one of found) entries.push([name, one]);
    },
  );
  entries.sort(([, a], [, b]) => (a.at < b.at ? 1 : -1));
  return { entries: entries.slice(0, ENTRIES_MAX), names, left: Math.max(0, names.length - COLLECTIONS_MAX) };
}

function Whole() {
  const { subscription, group } = place.value;
  const loaded = useLoad(`journals ${subscription}/${group}`, readAll, null);
  const [undoing, setUndoing] = useState<[string, Entry] | null>(null);
  const who = route.value.query.get('who') ?? '';
  const all = loaded.data?.entries ?? [];
  useListKeys('.changes [aria-expanded]');
  return (
    <>
      <div class="head">
        <div>
          <p class="eyebrow">
            {subscription} / {group}
          </p>
          <Title>Journal</Title>
        </div>
        <Who people={all.map(([, one]) => one.who)} />
      </div>
      <Panel of={loaded} rows={6}>
        {({ names, left }) =>
          names.length === 0 ? (
            <section class="sheet">
              <p class="none">
                No collections in {subscription} / {group} yet, so nothing has changed.
              </p>
            </section>
          ) : (
            <>
              <Changes
                all={all.filter(([, one]) => who === '' || one.who === who)}
                isWhole
                onUndo={(collection, one) => setUndoing([collection, one])}
              />
              <p class="none">
                The journal of a collection goes back for 400 days:{' '}
                {names.map((name) => (
                  <Fragment key={name}>
                    <a href={inPlace('journal', name)}>{name}</a>{' '}
                  </Fragment>
                ))}
                {left > 0 && `Of ${grouped(left)} of them nothing is shown here.`}
              </p>
            </>
          )
        }
      </Panel>
      {undoing && (
        <Undo one={undoing[1]} collection={undoing[0]} onDone={loaded.reload} onClose={() => setUndoing(null)} />
      )}
    </>
  );
}

/** A token without a name is known by the beginning of its hash: one's own is called so. */
const nameOf = (who: string) => (who === me.value?.principal.label ? `you (${who})` : who);

/** Whose changes are shown, if there are those of several. */
function Who({ people }: { people: string[] }) {
  const who = route.value.query.get('who') ?? '';
  const all = [...new Set([...people, who])].filter(Boolean);
  if (all.length < 2 && !who) return null;
  return (
    <Field label="Who">
      {(given) => (
        <select
          {...given}
          class="i"
          value={who}
          onChange={(event) => setQuery({ who: event.currentTarget.value || null })}
        >
          <option value="">anyone</option>
          {all.map((one) => (
            <option key={one} value={one}>
              {nameOf(one)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function Changes({
  all,
  isWhole = false,
  onUndo,
}: {
  all: Together['entries'];
  /** Whether they are of several collections. */
  isWhole?: boolean;
  onUndo: (collection: string, one: Entry) => void;
}) {
  return (
    <section class="sheet scrolls changes" aria-label="Changes" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th>When</th>
            <th class="wide-only">Who</th>
            <th>What</th>
            <th>Changes</th>
          </tr>
        </thead>
        <tbody>
          {all.map(([collection, one]) => (
            <Change
              key={`${one.at} ${one.requestId}`}
              one={one}
              collection={collection}
              isWhole={isWhole}
              onUndo={() => onUndo(collection, one)}
            />
          ))}
        </tbody>
      </table>
    </section>
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
        <div>
          <Crumbs collection={collection} here="journal" />
          <Title>Journal of {collection}</Title>
        </div>
        <form
          class="row2"
          role="search"
          aria-label="Some of the entries"
          onSubmit={(event) => {
            event.preventDefault();
            setQuery({ job: written.trim() || null });
          }}
        >
          <Field label="Only this job">
            {(given) => (
              <input
                {...given}
                class="i"
                spellcheck={false}
                value={written}
                onInput={(event) => setWritten(event.currentTarget.value)}
              />
            )}
          </Field>
          <button type="submit" class="btn">
            Show
          </button>
          <Who people={people} />
        </form>
      </div>
      {error && <ErrorPanel error={error} onRetry={entries ? more : again} />}
      {entries === null && !error && (
        <section class="sheet">
          <Skeleton rows={6} />
        </section>
      )}
      {entries?.length === 0 && (
        <section class="sheet empty">
          <p class="voice">
            No changes{job && ` of ${job}`}
            {who && ` by ${who}`} {next ? 'so far' : 'yet'}.
          </p>
          <p class="muted">A change is kept for 400 days.</p>
          {next && (
            <p>
              <button type="button" class="btn" onClick={more}>
                Look further back
              </button>
            </p>
          )}
        </section>
      )}
      {entries && entries.length > 0 && (
        <>
          <Changes all={entries.map((one) => [collection, one])} onUndo={(_, one) => setUndoing(one)} />
          {next && (
            <p class="none">
              <button type="button" class="btn sm" onClick={more}>
                Older
              </button>
            </p>
          )}
        </>
      )}
      {undoing && <Undo one={undoing} collection={collection} onDone={again} onClose={() => setUndoing(null)} />}
    </>
  );
}

/** How many properties of a change are told before it is unfolded. */
const LINES = 3;

function Change({
  one,
  collection,
  isWhole,
  onUndo,
}: {
  one: Entry;
  collection: string;
  isWhole: boolean;
  onUndo: () => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const has = isPart(one.change);
  const lines = has && isPart(one.undo) ? changed(one.change as Document, one.undo as Document).map(line) : one.names;
  // What is made or deleted is more than a few lines.
  const shown = /^(created|deleted)$/.test(one.operation) ? [] : lines;
  return (
    <>
      <tr>
        <td class="nowrap">{withOffset(Date.parse(one.at), wideZone())}</td>
        <td class="wide-only">{nameOf(one.who)}</td>
        <td>
          {done(one.operation)}{' '}
          {isWhole && (
            <>
              <a href={inPlace('jobs', collection)}>{collection}</a>
              {one.job && ' / '}
            </>
          )}
          {one.job ? <a href={inPlace('job', collection, one.job)}>{one.job}</a> : !isWhole && 'the collection'}
        </td>
        <td>
          {shown.slice(0, LINES).map((said) => (
            <div key={said}>{said}</div>
          ))}
          {shown.length > LINES && <div class="muted">and {shown.length - LINES} more</div>}
          {one.names.includes('secrets') && <div class="muted">secrets were written</div>}
          {has && (
            <button type="button" class="btn sm" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              Diff
            </button>
          )}{' '}
          {remedy(one) === 'undo' && (
            <button type="button" class="btn sm" onClick={onUndo}>
              Undo…
            </button>
          )}
          {remedy(one) === 'again' && (
            <button type="button" class="btn sm" onClick={() => makeAgain(collection, one)}>
              Create anew…
            </button>
          )}
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={4}>
            <dl class="kv flat both">
              <dt>Before</dt>
              <dd>
                <pre>{JSON.stringify(one.undo, null, 2)}</pre>
              </dd>
              <dt>After</dt>
              <dd>
                <pre>{JSON.stringify(one.change, null, 2)}</pre>
              </dd>
              <dt>Request</dt>
              <dd>
                <code>{one.requestId}</code>
              </dd>
            </dl>
          </td>
        </tr>
      )}
    </>
  );
}
