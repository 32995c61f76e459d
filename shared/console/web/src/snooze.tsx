// Snoozing: a job or a collection that needs someone stands folded below until then.
import { useState } from 'preact/hooks';
import type { ApiError } from './api';
import { api } from './api';
import { Dialog } from './dialog';
import { asError } from './load';
import { needs } from './needs';
import { DAY, HOUR } from './spans';
import { may, place, placeOf, say } from './state';
import { civil, now, wideZone } from './time';
import { ErrorPanel } from './ui';

/** What may be snoozed: a collection, or a job of it. */
export interface Snoozable {
  resourceGroup: string;
  collection: string;
  job?: string;
}

/** For how long something is snoozed. */
const SPANS = [
  ['an hour', HOUR],
  ['4 hours', 4 * HOUR],
  ['a day', DAY],
  ['a week', 7 * DAY],
  ['30 days', 30 * DAY],
] as const;
/** A server allows 30 days from when it is asked. */
const MARGIN_MS = 60_000;

const nameOf = ({ collection, job }: Snoozable) => job ?? collection;

async function snooze(of: Snoozable, until: string | null) {
  const where = placeOf(of);
  const properties = { minutehand: { snoozedUntil: until } };
  if (of.job === undefined) await api.patchCollection(where, of.collection, { properties });
  else await api.patchJob(where, of.collection, of.job, properties);
  await api.overview(place.value);
  needs.value?.reload();
}

/** Asks until when, and snoozes. */
export function Snooze({ of, onDone }: { of: Snoozable; onDone?: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  if (!may('write')) return null;
  const choose = async (ms: number) => {
    const until = new Date(now() + Math.min(ms, 30 * DAY - MARGIN_MS)).toISOString();
    try {
      await snooze(of, until);
      say(`${nameOf(of)} is snoozed until ${civil(Date.parse(until), wideZone())}.`);
      setAsking(false);
      onDone?.();
    } catch (thrown) {
      setError(asError(thrown));
    }
  };
  return (
    <>
      <button type="button" class="btn sm" onClick={() => setAsking(true)}>
        Snooze…<span class="vh"> {nameOf(of)}</span>
      </button>
      {isAsking && (
        <Dialog title={`Snooze ${nameOf(of)}?`} onClose={() => setAsking(false)}>
          <p class="text">
            {of.job === undefined ? 'The collection and its jobs stand' : 'It stands'} folded below what needs you. Jobs
            fire and alerts are sent as before.
          </p>
          {error && <ErrorPanel error={error} />}
          <p class="acts">
            {SPANS.map(([words, ms]) => (
              <button key={words} type="button" class="btn" onClick={() => void choose(ms)}>
                For {words}
              </button>
            ))}
            <button type="button" class="btn" onClick={() => setAsking(false)}>
              Cancel
            </button>
          </p>
        </Dialog>
      )}
    </>
  );
}

/** Ends a snooze. */
export function Wake({ of, onDone }: { of: Snoozable; onDone?: () => void }) {
  if (!may('write')) return null;
  const wake = () =>
    snooze(of, null).then(
      () => {
        say(`${nameOf(of)} is not snoozed any more.`);
        onDone?.();
      },
      (thrown: unknown) => say(asError(thrown).message),
    );
  return (
    <button type="button" class="btn sm" onClick={() => void wake()}>
      Wake<span class="vh"> {nameOf(of)}</span>
    </button>
  );
}
