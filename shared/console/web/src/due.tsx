// The jobs of a collection that fire in a certain time.
import { useMemo, useState } from 'preact/hooks';
import { api } from './api';
import { instantOf, localOf } from './clock';
import { useLoad } from './load';
import { DAY, HOUR, MINUTE } from './spans';
import { place, route, setQuery } from './state';
import { grouped, now, wideZone } from './time';

const LENGTHS = [
  ['PT1M', 'a minute', MINUTE],
  ['PT1H', 'an hour', HOUR],
  ['P1D', 'a day', DAY],
] as const;

/** How many occurrences of a time are asked for. */
const DUE_MAX = 500;

/** The jobs that fire in a time that the address names: the server says which. */
export function useDue(collection: string) {
  const at = route.value.query.get('at') ?? '';
  const long = LENGTHS.find(([name]) => name === route.value.query.get('for')) ?? LENGTHS[1];
  const zone = wideZone();
  const from = at === '' ? NaN : instantOf(at, zone);
  const isAsked = !Number.isNaN(from);
  const { subscription, group } = place.value;
  const query = isAsked
    ? {
        collection: `${group}/${collection}`,
        from: new Date(from).toISOString(),
        to: new Date(from + long[2]).toISOString(),
        limit: String(DUE_MAX),
      }
    : null;
  const loaded = useLoad(
    `due ${subscription} ${JSON.stringify(query)}`,
    async () => (query ? api.upcoming(place.value, query) : null),
    null,
  );
  const names = useMemo(
    () => (isAsked ? new Set((loaded.data?.items ?? []).map((one) => one.job.toLowerCase())) : null),
    [loaded.data, isAsked],
  );
  const isPart = loaded.data !== null && (loaded.data.items.length >= DUE_MAX || !loaded.data.complete);
  return { at, long, zone, names, isPart, error: loaded.error };
}

/** Asks for the jobs that fire in a time. */
export function Due({ of: { at, long, zone, names, isPart, error } }: { of: ReturnType<typeof useDue> }) {
  const [isOpen, setOpen] = useState(at !== '');
  const [written, setWritten] = useState(at);
  if (!isOpen)
    return (
      <button
        type="button"
        class="chip"
        onClick={() => {
          setOpen(true);
          setWritten(localOf(now(), zone));
        }}
      >
        Fires at…
      </button>
    );
  const close = () => {
    setOpen(false);
    setQuery({ at: null, for: null });
  };
  return (
    <form
      class="due"
      role="search"
      aria-label="Fires at"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery({ at: written, for: long[0] });
      }}
    >
      <label class="pick">
        Fires from
        <input
          class="i"
          type="datetime-local"
          required
          value={written}
          onInput={(event) => setWritten(event.currentTarget.value)}
        />
      </label>
      <label class="pick">
        within
        <select
          class="i"
          value={long[0]}
          onChange={(event) => setQuery({ at: written, for: event.currentTarget.value })}
        >
          {LENGTHS.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <span class="faint">{zone}</span>
      <button type="submit" class="btn sm">
        Show
      </button>
      <button type="button" class="btn sm bare" onClick={close}>
        Any time
      </button>
      {names !== null && isPart && <span class="faint">the first {grouped(DUE_MAX)} occurrences</span>}
      {error && <span class="err">{error.message}</span>}
    </form>
  );
}
