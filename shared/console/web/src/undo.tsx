// Taking back a change of the journal.
import type { Check, Document, Entry, JobProperties } from './answers';
import { api } from './api';
import { Confirm } from './dialog';
import { changes, merged } from './document';
import { keepDraft } from './draft';
import { useLoad } from './load';
import { go, inPlace, may, place, say } from './state';
import { Panel, Wrong } from './ui';

/** What can be done about a change: to take it back, or to make again what it deleted. */
export function remedy({ operation, undo, job }: Entry): 'undo' | 'again' | null {
  if (undo === null || undefined === undo || !may('write')) return null;
  if (operation === 'deleted') return job === null ? null : 'again';
  return operation === 'created' || Object.keys(undo).length === 0 ? null : 'undo';
}

/** Opens the editor with a job that was deleted. */
export function makeAgain(collection: string, { job, undo }: Entry) {
  const { status: _, ...properties } = undo as JobProperties;
  keepDraft(collection, { name: job ?? '', properties });
  go(inPlace('new', collection));
}

interface Undoing {
  /** What is sent: nothing if all is as it was before the change. */
  patch: Document;
  etag: string | null;
  check: Check | null;
}

/** What has to be sent so that a change is taken back, whatever else was changed since. */
async function undoOf(collection: string, { job, undo }: Entry): Promise<Undoing> {
  const back = undo as Document;
  if (job === null) {
    const { name: _, ...now } = (await api.collection(place.value, collection)) as unknown as Document & {
      name: string;
    };
    return { patch: changes(now, merged(now, back)), etag: null, check: null };
  }
  const { properties, etag } = await api.job(place.value, collection, job);
  const patch = changes(properties, merged(properties, back));
  return { patch, etag, check: await api.check(place.value, collection, job, patch, 'patch') };
}

/** Asks before a change is taken back, and shows what that writes. */
export function Undo({
  one,
  collection,
  onDone,
  onClose,
}: {
  one: Entry;
  collection: string;
  onDone: () => void;
  onClose: () => void;
}) {
  const loaded = useLoad(`undo ${one.at} ${one.requestId}`, () => undoOf(collection, one), null);
  const what = one.job ?? collection;
  const isSame = loaded.data !== null && Object.keys(loaded.data.patch).length === 0;
  const yes = async () => {
    if (!loaded.data) return;
    const { patch, etag } = loaded.data;
    if (one.job === null) await api.patchCollection(place.value, collection, patch);
    else await api.patchJob(place.value, collection, one.job, patch, etag);
    say(`The change of ${what} is taken back.`);
    onDone();
  };
  return (
    <Confirm
      title={`Take back this change of ${what}?`}
      verb="Undo"
      isReady={loaded.data !== null && !isSame}
      onYes={yes}
      onClose={onClose}
      text={
        <Panel of={loaded} rows={2}>
          {({ patch, check }) =>
            isSame ? (
              <>Everything that it changed is as before already.</>
            ) : (
              <>
                This is written:
                <pre class="code">{JSON.stringify(patch, null, 2)}</pre>
                {one.names.includes('secrets') && (
                  <span class="line">Secrets stay as they are now: the journal does not have them.</span>
                )}
                {check?.change?.dropsPending && (
                  <span class="line">The timing changes: pending retries are dropped.</span>
                )}
                {check?.problems.map((problem) => (
                  <Wrong key={problem.message}>{problem.message}</Wrong>
                ))}
              </>
            )
          }
        </Panel>
      }
    />
  );
}
