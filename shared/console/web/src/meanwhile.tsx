// A job that was changed since it was read: what the other change and this one say, and which of them to take.
import type { Document, JobProperties } from './answers';
import { api } from './api';
import { changed, word } from './changed';
import { at, changes } from './document';
import { useLoad } from './load';
import { place } from './state';
import { capital, Panel } from './ui';

interface Both {
  theirs: JobProperties;
  /** When the job fires by either change; `null` if that cannot be said. */
  sentences: [theirs: string | null, mine: string | null];
}

/** The job as it is by now. */
async function read(collection: string, name: string, mine: JobProperties): Promise<Both> {
  const {
    properties: { status: _, ...theirs },
  } = await api.job(place.value, collection, name);
  const sentence = (properties: JobProperties) =>
    api.preview({ properties, count: 1 }).then(
      (found) => found.sentence,
      () => null,
    );
  return { theirs, sentences: await Promise.all([sentence(theirs), sentence(mine)]) };
}

export function Meanwhile({
  collection,
  name,
  old,
  mine: own,
  onMine,
  onTheirs,
}: {
  collection: string;
  name: string;
  old: JobProperties;
  mine: JobProperties;
  onMine: () => void;
  onTheirs: () => void;
}) {
  const loaded = useLoad(`meanwhile ${collection}/${name}`, () => read(collection, name, own), null);
  return (
    <section class="notice late" role="alert" aria-label="Changed meanwhile">
      <p>
        <b>{name} was changed meanwhile.</b> Nothing is saved yet.
      </p>
      <Panel of={loaded} rows={2}>
        {({ theirs, sentences: [said, mine] }) => (
          <>
            {said !== mine && said !== null && mine !== null && (
              <p class="voice">
                Theirs: {capital(said)} Yours: {capital(mine)}
              </p>
            )}
            <Sides old={old} theirs={theirs} own={own} />
          </>
        )}
      </Panel>
      <p class="acts">
        <button type="button" class="btn" onClick={onTheirs}>
          Drop mine, and begin with theirs
        </button>
        <button type="button" class="btn go" onClick={onMine}>
          Save mine over it
        </button>
      </p>
    </section>
  );
}

/** Each property that one of the changes sets, with its value before and after either. */
function Sides({ old, theirs, own }: { old: Document; theirs: Document; own: Document }) {
  const paths = (next: Document) => changed(changes(old, next), changes(next, old)).map(({ path }) => path);
  const all = [...new Set([...paths(theirs), ...paths(own)])];
  const cell = (next: Document, path: string) => {
    const [before, after] = [word(at(old, path)), word(at(next, path))];
    return before === after ? <span class="muted">as it was</span> : <b>{after}</b>;
  };
  return (
    <div class="scrolls sides" tabIndex={0} role="group" aria-label="Both changes">
      <table>
        <thead>
          <tr>
            <th>Property</th>
            <th>Was</th>
            <th>Theirs</th>
            <th>Yours</th>
          </tr>
        </thead>
        <tbody>
          {all.map((path) => (
            <tr key={path}>
              <td>{path}</td>
              <td>{word(at(old, path))}</td>
              <td>{cell(theirs, path)}</td>
              <td>{cell(own, path)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
