// What else of a collection is due around an occurrence.
import { api } from './api';
import { Bars } from './bars';
import { useLoad } from './load';
import { HOUR, MINUTE } from './spans';
import { place } from './state';
import { grouped } from './time';

/** How far from the wanted minute a quieter one is looked for. */
const NEAR = 15;

/** The quietest minute near another, the nearest of those that are alike. */
function quieter(counts: number[], minute: number): number {
  let best = minute;
  for (let away = 1; away <= NEAR; away += 1) {
    for (const next of [minute + away, minute - away]) {
      if ((counts[next] ?? Infinity) < (counts[best] ?? 0)) best = next;
    }
  }
  return best;
}

/** What else of the collection is due around the first occurrence, and a minute that has less. */
export function Neighbours({
  collection,
  at: instant,
  local,
  onTime,
}: {
  collection: string;
  at: number;
  local: string;
  onTime: ((time: string) => void) | null;
}) {
  const { subscription, group } = place.value;
  const minute = Number(local.slice(14, 16));
  const from = instant - minute * MINUTE - (instant % MINUTE);
  const load = useLoad(
    `neighbours ${subscription}/${group}/${collection} ${from}`,
    () =>
      api.load(place.value, {
        collection: `${group}/${collection}`,
        from: new Date(from).toISOString(),
        to: new Date(from + HOUR).toISOString(),
        step: 'PT1M',
      }),
    null,
  );
  // What is missing here keeps no one from saving.
  if (load.data === null) return null;
  const { counts } = load.data;
  const here = counts[minute] ?? 0;
  const other = quieter(counts, minute);
  const hour = local.slice(11, 13);
  const name = (of: number) => `${hour}:${String(of).padStart(2, '0')}`;
  const due = (count: number) => `${count === 0 ? 'nothing' : grouped(count)}${count === 0 ? ' else' : ''}`;
  return (
    <div class="load">
      <p>
        {here === 0 ? (
          <>
            Of {collection}, nothing else is due at {name(minute)}.
          </>
        ) : (
          <>
            <b>
              {grouped(here)} of {collection}
            </b>{' '}
            {here === 1 ? 'is' : 'are'} due at {name(minute)}.
          </>
        )}
        {other !== minute && onTime && (
          <>
            {' '}
            {name(other)} has {due(counts[other] ?? 0)}.{' '}
            <button type="button" class="btn sm" onClick={() => onTime(name(other))}>
              Take {name(other)}
            </button>
          </>
        )}
      </p>
      {counts.some((count) => count > 0) && (
        <Bars
          data={load.data}
          step={MINUTE}
          zone="UTC"
          labels={[...[0, 15, 30, 45].map(name), `${String((Number(hour) + 1) % 24).padStart(2, '0')}:00`]}
          mark={minute}
          label={`Occurrences of ${collection} a minute`}
        />
      )}
    </div>
  );
}
