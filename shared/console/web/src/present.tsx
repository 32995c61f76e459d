// What of a job runs and waits now, as bars that grow.
import type { CollectionLine, Description, PastOccurrence, Present } from './answers';
import { seen } from './api';
import { attemptName, said } from './history';
import { waitsFor } from './needing';
import { isBehind } from './needs';
import { span } from './spans';
import { tick } from './state';
import { now, until, withOffset, zoneOf } from './time';

/** How much wider than the usual time, or what has passed, the whole is. */
const ROOM = 1.25;
/** The longest that a lane shows if nothing is known: an action takes no longer. */
const WHOLE_MS = 60_000;

/** Attempts that run or wait, and a run that was asked for and is not there yet. */
export function PresentOf({
  job,
  line,
  usual,
  asked,
  onCancel,
}: {
  job: Description;
  /** The collection of the job, for its limits. */
  line: CollectionLine | undefined;
  usual: number | null;
  /** When a run was asked for of which nothing is known yet. */
  asked: number | null;
  /** Ends an attempt whose target is at work; `null` if the caller may not. */
  onCancel: ((at: string) => void) | null;
}) {
  tick.value;
  const all = job.present ?? [];
  if (all.length === 0 && asked === null) return null;
  const zone = zoneOf(job);
  const passed = (one: Present) => Math.max(0, now() - Date.parse(one.since));
  const whole = Math.max(usual ?? WHOLE_MS, ...all.filter(({ state }) => state === 'running').map(passed)) * ROOM;
  return (
    <section class="sheet now" aria-labelledby="now">
      <header>
        <h2 id="now">Now</h2>
        {usual !== null && <span class="muted">it usually takes {span(usual)}</span>}
      </header>
      <ol class="lanes">
        {asked !== null && (
          <li>
            <span class="t">run on demand</span>
            <span class="lane" aria-hidden="true" />
            <span class="said">
              <b>in the queue</b>
            </span>
          </li>
        )}
        {all.map((one) => {
          const runs = one.state === 'running';
          return (
            <li key={`${one.at} ${one.action} ${one.retry}`} class={runs ? '' : 'waits'}>
              <span class="t" title={withOffset(Date.parse(one.since), zone)}>
                {one.kind === 'run' && one.action === 'action' && one.retry === 0 ? 'run on demand' : attemptName(one)}
              </span>
              <span class="lane" aria-hidden="true">
                <i style={{ width: `${runs ? Math.min(100, (passed(one) / whole) * 100) : 100}%` }} />
                {usual !== null && <s style={{ insetInlineStart: `${(usual / whole) * 100}%` }} />}
              </span>
              <span class="said">
                <b class={isBehind(runs ? null : one.since) ? 'bad' : ''}>
                  {runs ? 'running' : 'waiting'} for {span(passed(one))}
                </b>
                {!runs && <span class="muted">: {waitsFor(one.waitsFor, line ?? {})}</span>}
                {one.openUntil && (
                  <span class="muted" title={withOffset(Date.parse(one.openUntil), zone)}>
                    {one.progress ? `: ${one.progress}` : ''}, its deadline is {until(Date.parse(one.openUntil))}{' '}
                    {onCancel && (
                      <button type="button" class="btn sm" onClick={() => onCancel(one.at)}>
                        Cancel
                      </button>
                    )}
                  </span>
                )}
              </span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

/** The collection of a job in the overview that every page reads. */
export const lineOf = (collection: string, isOwn: (one: CollectionLine) => boolean) =>
  seen.value?.found.collections.items.find(
    (one) => one.collection.toLowerCase() === collection.toLowerCase() && isOwn(one),
  );

/** How long after an occurrence of the server's clock a run counts as the one that was asked for. */
const SLACK_MS = 2_000;

/** The run that was asked for then, if it is known. */
export function runSince(asked: number, all: PastOccurrence[]): PastOccurrence | undefined {
  return all.find((one) => one.kind === 'run' && Date.parse(one.at) >= asked - SLACK_MS);
}

/** How a run ended, in a sentence; `null` while it goes on. */
export function outcomeOf(name: string, run: PastOccurrence): string | null {
  if (run.outcome !== 'succeeded' && run.outcome !== 'failed') return null;
  const last = (run.attempts ?? []).findLast((one) => one.action === 'action');
  const took =
    last?.startedAt && last.endedAt ? ` after ${span(Date.parse(last.endedAt) - Date.parse(last.startedAt))}` : '';
  const why = run.outcome === 'failed' && last ? `: ${said(last)}` : '';
  return `The run of ${name} ${run.outcome}${took}${why}.`;
}
