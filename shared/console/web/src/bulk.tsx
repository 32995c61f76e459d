// Something that is done to many jobs: some at once, and those that fail stay chosen.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { JobRow } from './answers';
import { ApiError } from './api';
import { Confirm } from './dialog';
import { asError } from './load';
import { each } from './many';
import { askedRun, RUN_ONCE, say } from './state';
import { grouped } from './time';
import { Field } from './ui';

export type Verb = keyof typeof VERBS;

const VERBS = {
  on: ['Switch on', 'They fire again from their next occurrence on.'],
  off: ['Switch off', 'They do not fire until they are on again. What falls due in between is not made up for.'],
  run: ['Run now', 'Each runs once, now. Their next occurrences stay where they are.'],
  delete: ['Delete', 'They and their history are deleted. This cannot be taken back.'],
  zone: [
    'Change the zone',
    'Their times of the day stay, in the other zone. Those that run once are left as they are.',
  ],
  export: ['Export', 'A file with their definitions is made. It has no secrets; the page Import reads it.'],
} as const;

/** Does something to many jobs, some at once. Those that fail stay chosen, with their reasons. */
export function Bulk({
  what,
  jobs,
  act,
  onLeft,
  onEnd,
  onClose,
}: {
  onEnd?: (what: Verb) => void;
  what: Verb;
  jobs: JobRow[];
  act: (job: JobRow, what: Verb, zone: string) => Promise<void>;
  onLeft: (names: string[]) => void;
  onClose: () => void;
}) {
  const [wanted] = useState(jobs);
  const [done, setDone] = useState<number | null>(null);
  const [failures, setFailures] = useState<[string, ApiError][]>([]);
  const [zone, setZone] = useState('');
  const isStopped = useRef(false);
  useEffect(
    () => () => {
      isStopped.current = true;
    },
    [],
  );
  const [verb, text] = VERBS[what];
  const one = wanted.length === 1 ? (wanted[0]?.name ?? '') : null;
  const run = async () => {
    setDone(0);
    const failed: [string, ApiError][] = [];
    let finished = 0;
    const left = await each(
      wanted,
      () => isStopped.current,
      async (job) => {
        try {
          await act(job, what, zone);
        } catch (thrown) {
          failed.push([job.name, asError(thrown)]);
          setFailures(failed.slice());
        }
        finished += 1;
        setDone(finished);
      },
    );
    onLeft([...failed.map(([name]) => name), ...left.map((job) => job.name)]);
    onEnd?.(what);
    say(`${verb}: ${finished - failed.length} done, ${failed.length} failed.`);
    if (one && what === 'run') askedRun();
    if (failed.length === 0) onClose();
    else if (isStopped.current) throw failed[0]?.[1];
    if (failed.length > 0) throw new ApiError(0, 'SomeFailed', summary(failed));
  };
  return (
    <Confirm
      title={one ? `${verb} ${one}?` : `${verb} ${grouped(wanted.length)} jobs?`}
      verb={verb}
      isReady={what !== 'zone' || zone.trim() !== ''}
      {...(what === 'delete' ? { name: one ?? String(wanted.length) } : {})}
      text={
        <>
          {one && what === 'run' ? RUN_ONCE : text}
          {what === 'zone' && (
            <Field label="Time zone">
              {(field) => (
                <input
                  {...field}
                  class="i"
                  list="zones"
                  spellcheck={false}
                  placeholder="Europe/Berlin"
                  value={zone}
                  onInput={(event) => setZone(event.currentTarget.value)}
                />
              )}
            </Field>
          )}
          {done !== null && (
            <span class="run" role="status">
              <progress max={wanted.length} value={done} aria-label="Jobs done" /> {done} of {wanted.length}
              {failures.length > 0 && `, ${failures.length} failed`}{' '}
              <button
                type="button"
                class="btn sm"
                onClick={() => {
                  isStopped.current = true;
                }}
              >
                Stop
              </button>
            </span>
          )}
        </>
      }
      onYes={run}
      onClose={onClose}
    />
  );
}

/** The reasons of failures, each once, with how many jobs it holds for. */
function summary(failed: [string, ApiError][]): string {
  const counts = new Map<string, number>();
  for (const [, error] of failed) counts.set(error.message, (counts.get(error.message) ?? 0) + 1);
  const reasons = [...counts]
    .slice(0, 3)
    .map(([message, count]) => (counts.size === 1 ? message : `${count}: ${message}`));
  return `${failed.length} failed and stay chosen. ${reasons.join(' ')}`;
}
