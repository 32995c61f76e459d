// The collections of a group: what is on, how full each is, and what can be done with it.
import { useEffect, useState } from 'preact/hooks';
import type { Collection, Place } from './answers';
import { api, FIRST_COLLECTION } from './api';
import { Edit, SwitchCollection } from './collection';
import { Confirm } from './dialog';
import { useKeys, useListKeys } from './keys';
import { asError, useLoad } from './load';
import { needs } from './needs';
import { Full, Now } from './overview';
import { go, inPlace, isHere, isOurs, isSame, link, may, place, route, say, setQuery, tick } from './state';
import { civil, grouped, until, wideZone } from './time';
import { Key, Panel, State, stateOf, stateWord, Title } from './ui';

/** A group has at most this many pages of collections that are read. */
const PAGES_MAX = 20;

async function all(): Promise<Collection[]> {
  const found: Collection[] = [];
  let from: string | null = null;
  for (let read = 0; read < PAGES_MAX; read += 1) {
    const page = await api.collections(place.value, from);
    found.push(...page.items);
    from = page.next;
    if (from === null) break;
  }
  return found;
}

export function Collections() {
  const { subscription, group } = place.value;
  const loaded = useLoad(
    `collections ${subscription}/${group}`,
    all,
    10,
    false,
    (told) => told.kind === 'changed' && isOurs(told),
  );
  const [editing, setEditing] = useState<Collection | 'new' | null>(null);
  const closeEdit = () => {
    setEditing(null);
    if (route.value.query.has('edit')) setQuery({ edit: null });
  };
  const setCreating = (is: boolean) => setEditing(is ? 'new' : null);
  const filter = route.value.query.get('name') ?? '';
  // What is behind leads here, to its limits.
  const wanted = route.value.query.get('edit');
  const found = wanted === null ? undefined : loaded.data?.find((one) => isSame(one.name, wanted));
  useEffect(() => {
    if (found) setEditing(found);
  }, [found?.name]);
  useKeys({ n: () => may('write') && setCreating(true) });
  return (
    <>
      <div class="head">
        <div>
          <p class="eyebrow">
            {subscription} / {group}
          </p>
          <Title>Collections</Title>
        </div>
        <div class="acts">
          {may('write') && (
            <button type="button" class="btn go" onClick={() => setCreating(true)}>
              New collection <Key>n</Key>
            </button>
          )}
        </div>
      </div>
      <Panel of={loaded} rows={4}>
        {(data) =>
          data.length === 0 ? (
            <Empty onNew={() => setCreating(true)} />
          ) : (
            <List all={data} filter={filter} onChange={loaded.reload} onEdit={setEditing} />
          )
        }
      </Panel>
      {editing && <Edit old={editing === 'new' ? null : editing} onDone={loaded.reload} onClose={() => closeEdit()} />}
    </>
  );
}

function Empty({ onNew }: { onNew: () => void }) {
  const [elsewhere, setElsewhere] = useState<Place[] | null>(null);
  const look = () => void api.places().then(setElsewhere, (thrown: unknown) => say(asError(thrown).message));
  return (
    <section class="sheet empty">
      <p class="voice">
        No collections in {place.value.subscription} / {place.value.group} yet.
      </p>
      <p class="muted">A collection holds jobs: it has a plan, and one switch for all of them.</p>
      {may('write') && (
        <p class="acts">
          <a class="btn go" href={inPlace('new', FIRST_COLLECTION)}>
            New job
          </a>
          <button type="button" class="btn" onClick={onNew}>
            New collection
          </button>
          <a class="btn" href={inPlace('import')}>
            Import
          </a>
        </p>
      )}
      {may('write') && <p class="faint">A first job makes the collection “{FIRST_COLLECTION}” for itself.</p>}
      {elsewhere === null ? (
        <p class="acts">
          <button type="button" class="btn sm" onClick={look}>
            Look in other groups
          </button>
        </p>
      ) : (
        <>
          <p class="muted" role="status">
            {elsewhere.length > 0
              ? 'There are collections in other groups:'
              : 'There are no collections in other groups.'}
          </p>
          <Places all={elsewhere} />
        </>
      )}
    </section>
  );
}

/** How many collections are shown at first: of more, the name finds one. */
const SHOWN = 200;

const STATES = [
  ['all', 'All'],
  ['failing', 'Failing'],
  ['off', 'Off'],
] as const;

/** How many occurrences to come are read. */
const COMING = 500;

/** What comes next of each collection, and which of its jobs need someone. What cannot be read is left out. */
function useLife() {
  const { subscription, group } = place.value;
  const coming = useLoad(
    `coming ${subscription}/${group}`,
    () => api.upcoming(place.value, { limit: String(COMING) }),
    30,
  );
  const found = useLoad(`lines ${subscription}`, () => api.overview(place.value), 30, false, isOurs);
  const next = new Map<string, string>();
  for (const one of (coming.data?.items ?? []).filter(isHere)) {
    const name = one.collection.toLowerCase();
    if (!next.has(name)) next.set(name, one.at);
  }
  const failing = needs.value?.data?.jobs.filter(({ last }) => isHere(last)) ?? [];
  return {
    next: (name: string) => next.get(name.toLowerCase()) ?? null,
    failing: (name: string) => failing.filter(({ last }) => isSame(last.collection, name)).length,
    line: (name: string) => found.data?.collections.items.find((one) => isHere(one) && isSame(one.collection, name)),
    error: coming.error ?? needs.value?.error ?? found.error,
  };
}

function List({
  all,
  filter,
  onChange,
  onEdit,
}: {
  all: Collection[];
  filter: string;
  onChange: () => void;
  onEdit: (one: Collection) => void;
}) {
  const life = useLife();
  const state = STATES.find(([one]) => one === route.value.query.get('state'))?.[0] ?? 'all';
  const fits = (one: Collection, wanted: string) =>
    wanted === 'all' || (wanted === 'off' ? stateOf(one.properties.state) !== 'on' : life.failing(one.name) > 0);
  const shown = all.filter((one) => fits(one, state) && one.name.toLowerCase().includes(filter.toLowerCase()));
  const at = useListKeys('.coll td:first-child a');
  const open = (page: (name: string) => string) => {
    const one = shown[at()];
    if (one) go(page(one.name));
  };
  useKeys({
    l: () => open((name) => `${inPlace('calendar')}?collection=${encodeURIComponent(name)}`),
    s: () => may('write') && setAsking(shown[at()]?.name ?? null),
  });
  const [asking, setAsking] = useState<string | null>(null);
  const [most, setMost] = useState(SHOWN);
  const off = all.filter((one) => stateOf(one.properties.state) !== 'on').length;
  return (
    <>
      <div class="bar">
        <label class="find">
          <span class="vh">Collections whose name contains</span>
          <input
            value={filter}
            placeholder="Name contains…"
            onInput={(event) => setQuery({ name: event.currentTarget.value })}
          />
        </label>
        {STATES.map(([one, name]) => (
          <button
            key={one}
            type="button"
            class="chip"
            aria-pressed={one === state}
            onClick={() => setQuery({ state: one === 'all' ? null : one })}
          >
            {name} <b>{grouped(all.filter((each) => fits(each, one)).length)}</b>
          </button>
        ))}
        <span class="muted" role="status">
          {grouped(shown.length)} of {grouped(all.length)}
          {off > 0 && `, ${off} off`}
        </span>
      </div>
      <section class="sheet coll scrolls" aria-label="Collections" tabIndex={0}>
        {shown.length === 0 ? (
          <p class="none">
            {filter ? (
              <>No collection's name contains “{filter}”.</>
            ) : state === 'off' ? (
              'None is off.'
            ) : (
              'No job fails now.'
            )}
          </p>
        ) : (
          <table>
            <thead>
              <tr>
                <th>Name</th>
                <th>State</th>
                <th class="wide-only">Plan</th>
                <th>Jobs</th>
                <th>Now</th>
                <th>Next</th>
                <th class="num">Failing</th>
                <th>
                  <span class="vh">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.slice(0, most).map((one) => (
                <Row
                  key={one.name}
                  one={one}
                  life={life}
                  isAsked={asking === one.name}
                  onAnswered={() => setAsking(null)}
                  onChange={onChange}
                  onEdit={() => onEdit(one)}
                />
              ))}
            </tbody>
          </table>
        )}
        {shown.length > most && (
          <p class="none">
            The first {grouped(most)} are shown.{' '}
            <button type="button" class="btn sm" onClick={() => setMost(most + SHOWN)}>
              Show more
            </button>
          </p>
        )}
      </section>
    </>
  );
}

function Row({
  one,
  life,
  isAsked,
  onAnswered,
  onChange,
  onEdit,
}: {
  one: Collection;
  life: ReturnType<typeof useLife>;
  /** Whether a key asked to switch it. */
  isAsked: boolean;
  onAnswered: () => void;
  onChange: () => void;
  onEdit: () => void;
}) {
  tick.value;
  const next = life.next(one.name);
  const failing = life.failing(one.name);
  const [asking, setAsking] = useState<'switch' | 'delete' | null>(null);
  const isOn = stateOf(one.properties.state) === 'on';
  const line = life.line(one.name);
  const remove = async () => {
    await api.deleteCollection(place.value, one.name);
    say(`${one.name} is deleted.`);
    onChange();
  };
  return (
    <tr>
      <td>
        <a href={inPlace('jobs', one.name)}>
          <b>{one.name}</b>
        </a>
        {one.tags && Object.keys(one.tags).length > 0 && (
          <small class="faint line">
            {Object.entries(one.tags)
              .map(([name, value]) => `${name}: ${value}`)
              .join(', ')}
          </small>
        )}
      </td>
      <td>
        <State kind={stateOf(one.properties.state)}>{stateWord(one.properties.state)}</State>
        {line?.snoozedUntil && (
          <small class="faint line">snoozed until {civil(Date.parse(line.snoozedUntil), wideZone())}</small>
        )}
        {!isOn && line?.since && <small class="faint line">since {civil(Date.parse(line.since), wideZone())}</small>}
      </td>
      <td class="wide-only">{one.properties.sku?.name ?? '—'}</td>
      <td class="nowrap" title={life.error?.message}>
        {line ? <Full of={line} /> : '—'}
      </td>
      <td class="nowrap" title={life.error?.message}>
        {line ? <Now of={line} /> : '—'}
      </td>
      <td class="nowrap" title={life.error?.message}>
        {next === null ? '—' : until(Date.parse(next))}
      </td>
      <td class="num" title={life.error?.message}>
        {failing === 0 ? <span class="faint">0</span> : <b class="bad">{grouped(failing)}</b>}
      </td>
      <td>
        {may('write') && (
          <div class="acts end">
            <button type="button" class="btn sm" onClick={onEdit}>
              Edit…<span class="vh"> {one.name}</span>
            </button>
            <button type="button" class="btn sm" onClick={() => setAsking('switch')}>
              {isOn ? 'Switch off…' : 'Switch on…'}
              <span class="vh"> {one.name}</span>
            </button>
            <button type="button" class="btn sm" onClick={() => setAsking('delete')}>
              Delete…<span class="vh"> {one.name}</span>
            </button>
          </div>
        )}
        {(asking === 'switch' || isAsked) && (
          <SwitchCollection
            name={one.name}
            isOn={isOn}
            jobs={line?.jobs}
            onDone={onChange}
            onClose={() => {
              setAsking(null);
              onAnswered();
            }}
          />
        )}
        {asking === 'delete' && (
          <Confirm
            title={`Delete ${one.name}?`}
            verb="Delete"
            name={one.name}
            text="All its jobs and their history are deleted. This cannot be taken back."
            onYes={remove}
            onClose={() => setAsking(null)}
          />
        )}
      </td>
    </tr>
  );
}

/** Groups, each with its link. */
export function Places({ all }: { all: Place[] }) {
  return (
    <ul>
      {all.map((one) => (
        <li key={link(one.subscription, one.group)}>
          <a href={link('in', one.subscription, one.group, 'overview')}>
            {one.subscription} / {one.group}
          </a>
        </li>
      ))}
    </ul>
  );
}
