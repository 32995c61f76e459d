// Finds a job of the subscription by any part of its name, and does what can be done with it.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FoundJob } from './answers';
import { api, seen } from './api';
import { asError } from './load';
import { streak } from './outcome';
import { go, inPlace, isHere, link, may, pageOf, place, placeOf, say } from './state';
import { Key, State, stateOf, stateWord } from './ui';

/** How long nothing is typed before jobs are looked for. */
const REST_MS = 150;
/** How many jobs and collections are offered. */
const JOBS = 8;
const COLLECTIONS = 4;

interface Choice {
  id: string;
  content: ComponentChildren;
  key?: string;
  act: () => void;
}

const PAGES: [string, string][] = [
  ['Overview', 'overview'],
  ['Collections', 'collections'],
  ['Calendar', 'calendar'],
  ['Why did it not fire?', 'why'],
  ['Dead letters', 'dead'],
  ['Journal', 'journal'],
  ['Import', 'import'],
];

/** The jobs whose names contain something, a moment after it was typed. */
export function useFound(text: string): { jobs: FoundJob[]; isWhole: boolean; error: string | null; isRead: boolean } {
  const [found, setFound] = useState({ of: '', jobs: [] as FoundJob[], isWhole: true, error: null as string | null });
  const wanted = text.trim();
  useEffect(() => {
    if (wanted === '') return;
    let isOver = false;
    const timer = setTimeout(() => {
      api.find(place.value, wanted, JOBS).then(
        ({ items, isWhole }) => !isOver && setFound({ of: wanted, jobs: items, isWhole, error: null }),
        (thrown: unknown) =>
          !isOver && setFound({ of: wanted, jobs: [], isWhole: true, error: asError(thrown).message }),
      );
    }, REST_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [wanted]);
  // What was found for a shorter text stays until there is something newer.
  return wanted === ''
    ? { jobs: [], isWhole: true, error: null, isRead: false }
    : { ...found, isRead: found.of === wanted };
}

/** A name with the part that was looked for. */
export function Named({ name, part }: { name: string; part: string }) {
  const at = part === '' ? -1 : name.toLowerCase().indexOf(part.toLowerCase());
  if (at < 0) return <b>{name}</b>;
  return (
    <b>
      {name.slice(0, at)}
      <u>{name.slice(at, at + part.length)}</u>
      {name.slice(at + part.length)}
    </b>
  );
}

function JobLine({ of, part }: { of: FoundJob; part: string }) {
  const failed = stateOf(of.state) === 'on' && streak(of.recent).count > 0;
  return (
    <State kind={failed ? 'bad' : stateOf(of.state)}>
      <span class="vh">{failed ? 'failing' : stateWord(of.state)}</span>
      <span>
        <Named name={of.job} part={part.split('/').at(-1) ?? ''} />{' '}
        <span class="muted">
          {of.collection}
          {of.sentence && ` · ${of.sentence.split(';')[0]}`}
        </span>
      </span>
    </State>
  );
}

/** One field for everything: jobs, collections, pages, and what can be done with the job that is chosen. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const [chosen, setChosen] = useState(0);
  const [waits, setWaits] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const { jobs, isWhole, error, isRead } = useFound(text);
  const before = useRef(document.activeElement as HTMLElement | null);
  // Before it is painted: what is typed at first sight is in its field.
  useLayoutEffect(() => {
    dialog.current?.showModal();
    return () => before.current?.isConnected && before.current.focus();
  }, []);
  useEffect(() => {
    setAt(0);
    setChosen(0);
  }, [text, jobs]);
  const part = text.trim();
  const open = (href: string) => () => {
    // The page that opens takes the focus.
    before.current = null;
    onClose();
    go(href);
  };
  const found = jobs.map(
    (one): Choice => ({
      id: `job ${one.resourceGroup}/${one.collection}/${one.job}`,
      content: <JobLine of={one} part={part} />,
      act: open(pageOf('job', one)),
    }),
  );
  const job = jobs[chosen];
  const run = async (one: FoundJob) => {
    const where = placeOf(one);
    try {
      await api.run(where, one.collection, one.job);
      say(`One run of ${one.job} is in the queue.`);
    } catch (thrown) {
      say(asError(thrown).message);
    }
  };
  const verbs: Choice[] = job
    ? [
        may('run') && {
          id: 'run',
          content: (
            <>
              Run <b>{job.job}</b> now
            </>
          ),
          act: () => {
            void run(job);
            open(pageOf('job', job))();
          },
        },
        {
          id: 'why',
          content: (
            <>
              Why did <b>{job.job}</b> not fire?
            </>
          ),
          act: open(pageOf('why', job)),
        },
        may('write') && {
          id: 'edit',
          content: (
            <>
              Edit <b>{job.job}</b>
            </>
          ),
          act: open(pageOf('edit', job)),
        },
      ].filter((one) => one !== false)
    : [];
  const known = seen.value?.subscription === place.value.subscription ? seen.value.found.collections.items : [];
  const collections = known
    .filter((one) => part !== '' && one.collection.toLowerCase().includes(part.toLowerCase()))
    .slice(0, COLLECTIONS)
    .map(
      (one): Choice => ({
        id: `collection ${one.resourceGroup}/${one.collection}`,
        content: (
          <>
            <Named name={one.collection} part={part} />{' '}
            <span class="muted">collection{isHere(one) ? '' : ` of ${one.resourceGroup}`}</span>
          </>
        ),
        act: open(link('in', place.value.subscription, one.resourceGroup, 'jobs', one.collection)),
      }),
    );
  const pages = [
    ...PAGES.map(([name, page]) => [name, inPlace(page)] as const),
    ['Settings', link('settings')] as const,
  ]
    .filter(([name]) => name.toLowerCase().includes(part.toLowerCase()))
    .map(
      ([name, href]): Choice => ({
        id: `page ${name}`,
        content: (
          <>
            {name} <span class="muted">page</span>
          </>
        ),
        act: open(href),
      }),
    );
  const all = [...found, ...collections, ...verbs, ...pages];
  const here = Math.min(at, all.length - 1);
  const move = (to: number) => {
    const next = Math.max(0, Math.min(all.length - 1, to));
    setAt(next);
    if (next < found.length) setChosen(next);
    document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' });
  };
  useEffect(() => {
    if (waits && isRead) all[0]?.act();
    setWaits(false);
  }, [isRead]);
  const pressed = (event: KeyboardEvent) => {
    const moves: Record<string, number> = {
      ArrowDown: here + 1,
      ArrowUp: here - 1,
      PageDown: here + 8,
      PageUp: here - 8,
    };
    const to = moves[event.key];
    if (to !== undefined) move(to);
    else if (event.key !== 'Enter') return;
    else if (part === '' || isRead) all[here]?.act();
    // Until it was looked for, what is chosen is of a shorter text.
    else setWaits(true);
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Find" onClose={onClose}>
      <input
        role="combobox"
        aria-label="Find a job, a collection or a page"
        aria-expanded={all.length > 0}
        aria-controls={`${id}-all`}
        aria-activedescendant={all.length > 0 ? `${id}-${here}` : undefined}
        aria-autocomplete="list"
        placeholder="Any part of a name, or collection/job"
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={pressed}
      />
      <ul id={`${id}-all`} role="listbox" aria-label="Found">
        {all.map((one, place_) => (
          <li
            key={one.id}
            id={`${id}-${place_}`}
            role="option"
            aria-selected={place_ === here}
            onMouseDown={(event) => event.preventDefault()}
            onClick={one.act}
          >
            {one.content}
            {place_ === here && <Key>Enter</Key>}
          </li>
        ))}
      </ul>
      <p class="muted" role="status">
        {error ??
          (part !== '' && isRead && jobs.length === 0
            ? `No job's name contains “${part}”${isWhole ? '' : ' among those that were looked at'}.`
            : isWhole
              ? ''
              : 'Not all jobs were looked at: the beginning of a name, or collection/name, finds more.')}
      </p>
    </dialog>
  );
}
