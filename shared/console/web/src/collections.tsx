// The collections of a group: what is on, how full each is, and what can be done with it.
import { useState } from 'preact/hooks';
import { api, type Collection } from './api';
import { asError, useLoad } from './load';
import { useKeys, useListKeys } from './keys';
import { go, inPlace, link, may, place, route, say, setQuery } from './state';
import { grouped } from './time';
import { Confirm, Dialog, ErrorPanel, Field, Key, Panel, State, stateOf, stateWord, Title } from './ui';
import type { ApiError } from './api';

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
  const loaded = useLoad(`collections ${subscription}/${group}`, all);
  const [creating, setCreating] = useState(false);
  const filter = route.value.query.get('name') ?? '';
  useKeys({ n: () => may('write') && setCreating(true) });
  return (
    <>
      <div class="head">
        <div>
          <p class="eyebrow">{subscription} / {group}</p>
          <Title>Collections</Title>
        </div>
        <div class="acts">
          {may('write') && (
            <button type="button" class="btn go" onClick={() => setCreating(true)}>New collection <Key>n</Key></button>
          )}
        </div>
      </div>
      <Panel of={loaded} rows={4}>
        {(data) => data.length === 0
          ? <Empty onNew={() => setCreating(true)} />
          : <List all={data} filter={filter} onChange={loaded.reload} />}
      </Panel>
      {creating && <Create onClose={() => setCreating(false)} />}
    </>
  );
}

function Empty({ onNew }: { onNew: () => void }) {
  const elsewhere = useLoad('places', api.places, null).data ?? [];
  return (
    <section class="sheet empty">
      <p class="voice">No collections in {place.value.subscription} / {place.value.group} yet.</p>
      <p class="muted">A collection holds jobs: it has a plan, and one switch for all of them.</p>
      {may('write') && <p><button type="button" class="btn go" onClick={onNew}>New collection</button></p>}
      {elsewhere.length > 0 && (
        <>
          <p class="muted">There are collections in other groups:</p>
          <ul>
            {elsewhere.map((one) => <li key={link(one.subscription, one.group)}><a href={link('in', one.subscription, one.group, 'collections')}>{one.subscription} / {one.group}</a></li>)}
          </ul>
        </>
      )}
    </section>
  );
}

/** How many collections are shown at first: of more, the name finds one. */
const SHOWN = 200;

function List({ all, filter, onChange }: { all: Collection[]; filter: string; onChange: () => void }) {
  const shown = all.filter((one) => one.name.toLowerCase().includes(filter.toLowerCase()));
  useListKeys('.coll td:first-child a');
  const [most, setMost] = useState(SHOWN);
  const off = all.filter((one) => stateOf(one.properties.state) !== 'on').length;
  return (
    <>
      <div class="bar">
        <label class="find"><span class="vh">Collections whose name contains</span>
          <input value={filter} placeholder="Name contains…" onInput={(event) => setQuery({ name: event.currentTarget.value })} />
        </label>
        <span class="muted" role="status">{grouped(shown.length)} of {grouped(all.length)}{off > 0 && `, ${off} off`}</span>
      </div>
      <section class="sheet coll scrolls" aria-label="Collections" tabIndex={0}>
        {shown.length === 0 ? <p class="none">No collection's name contains “{filter}”.</p> : (
          <table>
            <thead><tr><th>Name</th><th>State</th><th>Plan</th><th class="num">Jobs at most</th><th><span class="vh">Actions</span></th></tr></thead>
            <tbody>{shown.slice(0, most).map((one) => <Row key={one.name} one={one} onChange={onChange} />)}</tbody>
          </table>
        )}
        {shown.length > most && <p class="none">The first {grouped(most)} are shown. <button type="button" class="btn sm" onClick={() => setMost(most + SHOWN)}>Show more</button></p>}
      </section>
    </>
  );
}

function Row({ one, onChange }: { one: Collection; onChange: () => void }) {
  const [asking, setAsking] = useState<'switch' | 'delete' | null>(null);
  const isOn = stateOf(one.properties.state) === 'on';
  const most = one.properties.quota?.maxJobCount;
  const turn = async () => {
    await api.switchCollection(place.value, one.name, !isOn);
    say(`${one.name} is ${isOn ? 'off' : 'on'}.`);
    onChange();
  };
  const remove = async () => {
    await api.deleteCollection(place.value, one.name);
    say(`${one.name} is deleted.`);
    onChange();
  };
  return (
    <tr>
      <td><a href={inPlace('jobs', one.name)}><b>{one.name}</b></a></td>
      <td><State kind={stateOf(one.properties.state)}>{stateWord(one.properties.state)}</State></td>
      <td>{one.properties.sku?.name ?? '—'}</td>
      <td class="num">{most === undefined ? '—' : grouped(most)}</td>
      <td>
        {may('write') && (
          <div class="acts end">
            <button type="button" class="btn sm" onClick={() => setAsking('switch')}>
              {isOn ? 'Switch off…' : 'Switch on…'}<span class="vh"> {one.name}</span>
            </button>
            <button type="button" class="btn sm" onClick={() => setAsking('delete')}>Delete…<span class="vh"> {one.name}</span></button>
          </div>
        )}
        {asking === 'switch' && (
          <Confirm title={`Switch ${one.name} ${isOn ? 'off' : 'on'}?`} verb={isOn ? 'Switch off' : 'Switch on'}
            text={isOn
              ? 'Its jobs do not fire until it is on again. What falls due in between is not made up for.'
              : 'Its jobs fire again from their next occurrence on.'}
            onYes={turn} onClose={() => setAsking(null)} />
        )}
        {asking === 'delete' && (
          <Confirm title={`Delete ${one.name}?`} verb="Delete" name={one.name}
            text="All its jobs and their history are deleted. This cannot be taken back."
            onYes={remove} onClose={() => setAsking(null)} />
        )}
      </td>
    </tr>
  );
}

const PLANS = ['Free', 'Standard', 'P10Premium', 'P20Premium'];

function Create({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [plan, setPlan] = useState('Standard');
  const [error, setError] = useState<ApiError | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      await api.putCollection(place.value, name, { properties: { sku: { name: plan } } });
      say(`${name} is created.`);
      onClose();
      go(inPlace('jobs', name));
    } catch (thrown) {
      setError(asError(thrown));
    }
  };
  return (
    <Dialog title="New collection" onClose={onClose}>
      <form onSubmit={submit}>
        <Field label="Name">
          {(given) => <input {...given} class="i" required value={name} autocomplete="off" spellcheck={false} onInput={(event) => setName(event.currentTarget.value)} />}
        </Field>
        <Field label="Plan">
          {(given) => (
            <select {...given} class="i" value={plan} onChange={(event) => setPlan(event.currentTarget.value)}>
              {PLANS.map((one) => <option key={one}>{one}</option>)}
            </select>
          )}
        </Field>
        {error && <ErrorPanel error={error} />}
        <p class="acts">
          <button type="button" class="btn" onClick={onClose}>Cancel</button>
          <button type="submit" class="btn go">Create</button>
        </p>
      </form>
    </Dialog>
  );
}
