// Moves the jobs of one crowded minute to other minutes of its hour, after showing what would change.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Load } from './answers';
import { api } from './api';
import { parts } from './clock';
import { Dialog } from './dialog';
import { asError, useLoad } from './load';
import { each } from './many';
import { MINUTE } from './spans';
import { place, placeOf, say } from './state';
import { grouped } from './time';
import { Copy, Panel, Wrong } from './ui';

const MINUTES = 60;
/** How many jobs are moved at a time. */
const MOVED_MAX = 500;

interface Move {
  group: string;
  collection: string;
  job: string;
  from: number;
  to: number;
  /** The schedule as it is: a change replaces it whole. */
  schedule: Record<string, unknown>;
}

interface Plan {
  moves: Move[];
  /** How many are due then that have more than one minute, or none of their own. */
  left: number;
  /** The fullest minute, before and after. */
  before: number;
  after: number;
}

/** A number that depends on a text alone (FNV-1a): a job keeps its minute, whatever else is there. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value;
}

/** The minute that a job fires at in each of its hours, if it is one alone. */
function onlyMinute(schedule: Record<string, unknown>): number | null {
  const { minutes } = schedule;
  return Array.isArray(minutes) && minutes.length === 1 && typeof minutes[0] === 'number' ? minutes[0] : null;
}

/** How many are due in each minute once jobs have moved from one of them. */
function movedCounts(counts: number[], minute: number, moves: Pick<Move, 'from' | 'to'>[]): number[] {
  const after = counts.slice();
  for (const { from, to } of moves) {
    after[minute] = (after[minute] ?? 0) - 1;
    const next = minute + to - from;
    if (next >= 0 && next < after.length) after[next] = (after[next] ?? 0) + 1;
  }
  return after;
}

async function planFor(at: number, load: Load, only: Record<string, string>, isStopped: () => boolean): Promise<Plan> {
  const query = {
    ...only,
    from: new Date(at).toISOString(),
    to: new Date(at + MINUTE).toISOString(),
    limit: String(MOVED_MAX),
  };
  const due = await api.upcoming(place.value, query);
  const jobs = [
    ...new Map(due.items.map((one) => [`${one.resourceGroup}/${one.collection}/${one.job}`, one])).values(),
  ];
  const moves: Move[] = [];
  await each(jobs, isStopped, async (one) => {
    const where = placeOf(one);
    const { properties } = await api.describe(where, one.collection, one.job);
    const schedule = (properties.recurrence?.schedule ?? {}) as Record<string, unknown>;
    const from = onlyMinute(schedule);
    const to = hash(`${one.collection}/${one.job}`) % MINUTES;
    if (from !== null && from !== to)
      moves.push({ group: one.resourceGroup, collection: one.collection, job: one.job, from, to, schedule });
  });
  moves.sort((a, b) => (`${a.collection}/${a.job}` < `${b.collection}/${b.job}` ? -1 : 1));
  const minute = Math.floor((at - Date.parse(load.from)) / MINUTE);
  const after = movedCounts(load.counts, minute, moves);
  return {
    moves,
    left: (load.counts[minute] ?? jobs.length) - moves.length,
    before: Math.max(...load.counts),
    after: Math.max(...after),
  };
}

const asCommand = ({ group, collection, job, schedule, to }: Move) =>
  `minutehand job set ${collection}/${job} --group ${group} 'recurrence.schedule=${JSON.stringify({ ...schedule, minutes: [to] })}'`;

const two = (minute: number) => `:${String(minute).padStart(2, '0')}`;

export function Spread({
  at,
  load,
  zone,
  only,
  onClose,
}: {
  at: number;
  load: Load;
  zone: string;
  only: Record<string, string>;
  onClose: () => void;
}) {
  const isStopped = useRef(false);
  useEffect(
    () => () => {
      isStopped.current = true;
    },
    [],
  );
  const plan = useLoad(`spread ${at}`, () => planFor(at, load, only, () => isStopped.current), null);
  const [done, setDone] = useState<number | null>(null);
  const [failures, setFailures] = useState<string[]>([]);
  const apply = async ({ moves }: Plan) => {
    const failed: string[] = [];
    let finished = 0;
    setDone(0);
    await each(
      moves,
      () => isStopped.current,
      async (move) => {
        try {
          const where = { subscription: place.value.subscription, group: move.group };
          await api.patchJob(where, move.collection, move.job, {
            recurrence: { schedule: { ...move.schedule, minutes: [move.to] } },
          });
        } catch (thrown) {
          failed.push(`${move.collection}/${move.job}: ${asError(thrown).message}`);
          setFailures(failed.slice());
        }
        finished += 1;
        setDone(finished);
      },
    );
    say(`${finished - failed.length} moved, ${failed.length} failed.`);
    if (failed.length === 0) onClose();
  };
  return (
    <Dialog title={`Spread what is due at ${parts(at, zone).time}`} onClose={onClose}>
      <Panel of={plan} rows={4}>
        {(data) => (
          <>
            <p>
              {data.moves.length === 0
                ? 'None of these jobs fires at one minute of the hour alone, so none is moved.'
                : `${grouped(data.moves.length)} job${data.moves.length === 1 ? '' : 's'} would move within the hour, each to a minute that its name gives. The fullest minute has ${grouped(data.before)} now, and ${grouped(data.after)} then.`}
              {data.left > 0 && data.moves.length > 0 && ` ${grouped(data.left)} would stay.`}
            </p>
            {data.moves.length > 0 && (
              <div class="scrolls moves" tabIndex={0} role="group" aria-label="What would change">
                <table>
                  <thead>
                    <tr>
                      <th>Job</th>
                      <th class="num">Minute now</th>
                      <th class="num">Then</th>
                    </tr>
                  </thead>
                  <tbody>
                    {data.moves.map((move) => (
                      <tr key={`${move.collection}/${move.job}`}>
                        <td>
                          {move.collection}/{move.job}
                        </td>
                        <td class="num">{two(move.from)}</td>
                        <td class="num">
                          <b>{two(move.to)}</b>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
            {done !== null && (
              <p role="status">
                <progress max={data.moves.length} value={done} aria-label="Jobs moved" /> {done} of {data.moves.length}
              </p>
            )}
            {failures.slice(0, 3).map((line) => (
              <Wrong key={line}>{line}</Wrong>
            ))}
            <p class="acts">
              {data.moves.length > 0 && <Copy text={() => data.moves.map(asCommand).join('\n')}>Copy as commands</Copy>}
              <button
                type="button"
                class="btn"
                onClick={() => {
                  isStopped.current = true;
                  onClose();
                }}
              >
                {done === null ? 'Cancel' : 'Stop'}
              </button>
              {data.moves.length > 0 && (
                <button type="button" class="btn go" disabled={done !== null} onClick={() => void apply(data)}>
                  Move {grouped(data.moves.length)}
                </button>
              )}
            </p>
          </>
        )}
      </Panel>
    </Dialog>
  );
}
