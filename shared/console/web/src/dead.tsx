// Messages that were delivered again and again and never finished: to look at, to send again, to delete.
import { Fragment } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { DeadLetter, Letters } from './answers';
import { api, ApiError } from './api';
import { Confirm } from './dialog';
import { useKeys, useListKeys } from './keys';
import { useLoad } from './load';
import { link, may, place, say } from './state';
import { grouped, inZone, wideZone, withOffset } from './time';
import { Panel, Title } from './ui';

type Found = Awaited<ReturnType<typeof api.deadLetters>>;

/** The letters, or that this installation keeps none. */
async function read(): Promise<Found | 'none kept'> {
  try {
    return await api.deadLetters();
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 404) return 'none kept';
    throw thrown;
  }
}

interface Asking {
  what: 'redrive' | 'delete';
  letters: Letters;
  count: number;
}

export function DeadLetters() {
  const loaded = useLoad('dead letters', read, 30);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [asking, setAsking] = useState<Asking | null>(null);
  const found = loaded.data === 'none kept' ? null : loaded.data;
  const items = found?.items ?? [];
  const ids = items.map((one) => one.id).filter((id) => chosen.has(id));
  const [sent, setSent] = useState<DeadLetter[]>([]);
  const ask = (what: Asking['what'], letters: Letters, count: number) => setAsking({ what, letters, count });
  return (
    <>
      <div class="head">
        <div>
          <p class="eyebrow">{place.value.subscription}</p>
          <Title voice>
            {found === null
              ? 'Dead letters'
              : found.about === 0
                ? 'No dead letters.'
                : `${grouped(found.about)} dead letter${found.about === 1 ? '' : 's'}.`}
          </Title>
        </div>
        {found !== null && found.about > 0 && may('write') && (
          <div class="acts">
            <button type="button" class="btn" onClick={() => ask('redrive', { all: true }, found.about)}>
              Send all again…
            </button>
            <button type="button" class="btn" onClick={() => ask('delete', { all: true }, found.about)}>
              Delete all…
            </button>
          </div>
        )}
      </div>
      {loaded.data === 'none kept' ? (
        <section class="sheet empty">
          <p class="voice">This installation has no queue of dead letters.</p>
        </section>
      ) : (
        <Panel of={loaded} rows={4}>
          {() =>
            items.length === 0 && found?.about === 0 ? (
              <section class="sheet empty">
                <p class="voice">None.</p>
                <p class="muted">A dead letter is a message that was delivered again and again, and never finished.</p>
              </section>
            ) : (
              <List
                items={items}
                about={found?.about ?? 0}
                chosen={chosen}
                setChosen={setChosen}
                onOne={(what, one) => ask(what, { ids: [one.id] }, 1)}
              />
            )
          }
        </Panel>
      )}
      {ids.length > 0 && may('write') && (
        <div class="sheet fo bulk" role="region" aria-label="Chosen letters">
          <b>{grouped(ids.length)} chosen</b>
          <button type="button" class="btn sm" onClick={() => ask('redrive', { ids }, ids.length)}>
            Send again…
          </button>
          <button type="button" class="btn sm" onClick={() => ask('delete', { ids }, ids.length)}>
            Delete…
          </button>
          <button type="button" class="btn sm bare" onClick={() => setChosen(new Set())}>
            None
          </button>
        </div>
      )}
      {sent.length > 0 && (
        <section class="sheet form" aria-labelledby="sent">
          <h2 id="sent">Sent again</h2>
          <ul>
            {sent.map((one) => (
              <Sent key={one.id} one={one} />
            ))}
          </ul>
        </section>
      )}
      {asking && (
        <Ask
          asking={asking}
          onDone={({ what, letters }) => {
            if (what === 'redrive')
              setSent(items.filter((one) => 'all' in letters || letters.ids.includes(one.id)).slice(0, FOLLOWED_MAX));
            setChosen(new Set());
            loaded.reload();
          }}
          onClose={() => setAsking(null)}
        />
      )}
    </>
  );
}

function List({
  items,
  about,
  chosen,
  setChosen,
  onOne,
}: {
  items: DeadLetter[];
  about: number;
  chosen: ReadonlySet<string>;
  setChosen: (next: ReadonlySet<string>) => void;
  onOne: (what: Asking['what'], one: DeadLetter) => void;
}) {
  const at = useListKeys('.letters input');
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  useKeys({
    x: () => {
      const one = items[at()];
      if (one) toggle(one.id);
    },
  });
  const [open, setOpen] = useState<string | null>(null);
  const zone = wideZone();
  const instant = (at: string | null) => (at === null ? '—' : withOffset(Date.parse(at), zone));
  return (
    <section class="sheet scrolls letters" aria-label="Dead letters" tabIndex={0}>
      {about > items.length && (
        <p class="none">
          A look at {grouped(items.length)} of about {grouped(about)}. The others are shown when these are gone; “all”
          acts on all.
        </p>
      )}
      <table>
        <thead>
          <tr>
            <th>
              <span class="vh">Choose</span>
            </th>
            <th>First sent</th>
            <th>Job</th>
            <th>Due</th>
            <th class="num">Deliveries</th>
            <th>Why</th>
            <th>
              <span class="vh">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((one) => (
            <Fragment key={one.id}>
              <tr>
                <td>
                  <input
                    type="checkbox"
                    checked={chosen.has(one.id)}
                    onChange={() => toggle(one.id)}
                    aria-label={`Choose the letter of ${one.job ?? 'an unknown job'}`}
                  />
                </td>
                <td class="nowrap">{instant(one.firstSentAt)}</td>
                <td>
                  {jobOf(one) ? (
                    <a href={jobOf(one) || ''}>
                      <b>
                        {one.collection} / {one.job}
                      </b>
                    </a>
                  ) : (
                    <span class="faint">not readable</span>
                  )}
                  {one.attempt !== null && <small class="faint"> attempt {one.attempt + 1}</small>}
                </td>
                <td class="nowrap">{instant(one.occurrence)}</td>
                <td class="num">{grouped(one.deliveries)}</td>
                <td>{one.errorType ?? '—'}</td>
                <td>
                  <div class="acts end">
                    <button
                      type="button"
                      class="btn sm"
                      aria-expanded={one.id === open}
                      onClick={() => setOpen(one.id === open ? null : one.id)}
                    >
                      Message
                    </button>
                    {may('write') && (
                      <>
                        <button type="button" class="btn sm" onClick={() => onOne('redrive', one)}>
                          Send again…
                        </button>
                        <button type="button" class="btn sm" onClick={() => onOne('delete', one)}>
                          Delete…
                        </button>
                      </>
                    )}
                  </div>
                </td>
              </tr>
              {one.id === open && (
                <tr>
                  <td />
                  <td colSpan={6}>
                    <pre class="code">{JSON.stringify(one, null, 2)}</pre>
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** How many letters that were sent again are followed, how often, and for how long. */
const FOLLOWED_MAX = 10;
const FOLLOWED_SECONDS = 2;
const FOLLOWED_MS = 60_000;

/** The page of a letter's job, at its occurrence. */
const jobOf = (one: DeadLetter) =>
  one.resourceGroup &&
  one.collection &&
  one.job &&
  `${link('in', place.value.subscription, one.resourceGroup, 'job', one.collection, one.job)}${one.occurrence ? `?letter=${one.occurrence}` : ''}`;

/** What becomes of a letter that was sent again. */
function Sent({ one }: { one: DeadLetter }) {
  const [isOver, setOver] = useState(false);
  const { resourceGroup, collection, job, occurrence } = one;
  const found = useLoad(
    `sent ${one.id}`,
    async () =>
      resourceGroup && collection && job && occurrence
        ? api.why({ subscription: place.value.subscription, group: resourceGroup }, collection, job, occurrence)
        : null,
    isOver ? null : FOLLOWED_SECONDS,
  );
  useEffect(() => {
    const timer = setTimeout(() => setOver(true), FOLLOWED_MS);
    return () => clearTimeout(timer);
  }, []);
  const href = jobOf(one);
  return (
    <li>
      {href ? (
        <a href={href}>
          {collection} / {job}
        </a>
      ) : (
        'Not readable'
      )}{' '}
      <span class="muted" role="status">
        {found.data ? inZone(found.data.sentence, wideZone()) : found.error?.message}
      </span>
    </li>
  );
}

function Ask({ asking, onDone, onClose }: { asking: Asking; onDone: (asked: Asking) => void; onClose: () => void }) {
  const { what, letters, count } = asking;
  const of = `${grouped(count)} letter${count === 1 ? '' : 's'}`;
  const isRedrive = what === 'redrive';
  const yes = async () => {
    if (isRedrive) await api.redrive(letters);
    else await api.deleteLetters(letters);
    say(isRedrive ? `${of} sent again.` : `${of} deleted.`);
    onDone(asking);
  };
  return (
    <Confirm
      title={isRedrive ? `Send ${of} again?` : `Delete ${of}?`}
      verb={isRedrive ? 'Send again' : 'Delete'}
      {...(isRedrive ? {} : { name: String(count) })}
      text={
        isRedrive
          ? 'Each attempt runs once at most. An occurrence that a later one has overtaken does not start.'
          : 'These attempts are not made any more. This cannot be taken back.'
      }
      onYes={yes}
      onClose={onClose}
    />
  );
}
