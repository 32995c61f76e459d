// The parts that pages are made of.
import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';
import type { ApiError } from './api';
import { hours, inPlace, place, say, tick } from './state';
import type { Loaded } from './load';

/** One letter an occurrence, and what it means. */
export const OUTCOMES: Record<string, string> = {
  o: 'succeeded',
  r: 'succeeded after a retry',
  l: 'succeeded, late',
  f: 'failed for good',
  e: 'failed, and the error action ran',
  s: 'skipped',
  d: 'was switched off',
  p: 'to come',
  n: 'nothing yet',
};

/** Outcomes in words, for those who do not see the marks. */
export function outcomesInWords(letters: string): string {
  const counts = new Map<string, number>();
  for (const letter of letters) {
    const name = OUTCOMES[letter];
    if (name && letter !== 'n') counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => `${count} ${name}`).join(', ') || 'nothing yet';
}

/**
 * Marks of occurrences, oldest first. Shape tells before colour: a success is short and full, a failure
 * half as tall again, a late one slanted, a skipped one an outline. One path for each kind.
 */
export function Marks({ letters, wide = 4, gap = 2, tall = 18, isHidden = false }: {
  /** Whether something else says it to a screen reader. */
  isHidden?: boolean;
  letters: string;
  wide?: number;
  gap?: number;
  tall?: number;
}) {
  const short = Math.round((tall * 2) / 3);
  const paths: Record<string, string> = {};
  const add = (kind: string, path: string) => (paths[kind] = (paths[kind] ?? '') + path);
  const box = (x: number, y: number, w: number, h: number) => `M${x} ${y}h${w}v${h}h${-w}z`;
  let x = 0;
  for (const letter of letters) {
    const top = tall - short;
    if (letter === '|') {
      add('now', box(x + 2, 0, 2, tall));
      x += 6 + gap;
      continue;
    }
    if (letter === 'o') add('o', box(x, top, wide, short));
    else if (letter === 'r') {
      add('f', box(x, top, wide, 3));
      add('o', box(x, top + 4.5, wide, short - 4.5));
    } else if (letter === 'l') add('l', `M${x} ${top + short / 4}l${wide} ${-short / 4}v${short}h${-wide}z`);
    else if (letter === 'f') add('f', box(x, 0, wide, tall));
    else if (letter === 'e') {
      add('f', box(x, 0, wide, tall * 0.6));
      add('l', box(x, tall * 0.7, wide, tall * 0.3));
    } else if (letter === 'd') add('d', box(x, tall - 3, wide, 3));
    else add(letter === 's' ? 's' : letter === 'p' ? 'p' : 'n', box(x + 0.5, top + 0.5, wide - 1, short - 1));
    x += wide + gap;
  }
  return (
    <svg class="marks" {...(isHidden ? { 'aria-hidden': true } : { role: 'img', 'aria-label': outcomesInWords(letters) })} width={x} height={tall}
      viewBox={`0 0 ${Math.max(x, 1)} ${tall}`}>
      {Object.entries(paths).map(([kind, path]) => <path key={kind} class={kind} d={path} />)}
    </svg>
  );
}

/** A state: a mark with a shape of its own, and a word. */
export function State({ kind, children }: { kind: 'on' | 'off' | 'bad' | 'late' | 'done'; children: ComponentChildren }) {
  return <span class={`state ${kind === 'on' ? '' : kind}`}>{children}</span>;
}

export function stateOf(state: string | undefined): 'on' | 'off' | 'bad' | 'done' {
  const low = (state ?? 'enabled').toLowerCase();
  if (low === 'enabled') return 'on';
  return low === 'faulted' ? 'bad' : low === 'completed' ? 'done' : 'off';
}

export const stateWord = (state: string | undefined) =>
  ({ on: 'on', off: 'off', bad: 'faulted', done: 'completed' })[stateOf(state)];

/** Copies a text. What was copied is said, since nothing on the page changes. */
export const copy = (text: string, said = 'Copied.') => void navigator.clipboard.writeText(text).then(
  () => say(said),
  () => say('The browser did not allow copying.'),
);

export function Copy({ text, children = 'Copy' }: { text: () => string; children?: ComponentChildren }) {
  return <button type="button" class="btn sm" onClick={() => copy(text())}>{children}</button>;
}

/** Copies the command that shows a job. */
export const copyCommand = (collection: string, job: string) => copy(`minutehand job show ${collection}/${job}`, 'The command is copied.');

/** The API's own sentence, with what is needed to find the request in the server's log. */
export function ErrorPanel({ error, retryAt, onRetry }: {
  error: ApiError;
  retryAt?: number | null;
  onRetry?: () => void;
}) {
  tick.value;
  const wait = retryAt ? Math.max(0, Math.ceil((retryAt - Date.now()) / 1_000)) : null;
  const mendings = useContext(Mendings)(error.message);
  const report = () => [error.message, error.code, error.requestId].filter(Boolean).join('\n');
  return (
    <div class="problem" role="alert">
      <p><span class="bad" aria-hidden="true">◆</span> {error.message}</p>
      <p class="faint">
        {error.code}{error.requestId && <> · request <code>{error.requestId}</code></>}
        {wait !== null && <> · again in {wait} s</>}
      </p>
      <p class="acts">
        {onRetry && <button type="button" class="btn sm" onClick={onRetry}>Try again</button>}
        {mendings.map(([name, mend]) => <button key={name} type="button" class="btn sm" onClick={mend}>{name}</button>)}
        <Copy text={report} />
      </p>
    </div>
  );
}

/** What is loaded, or the state it is in. Rows are grey lines first: the frame does not jump. */
export function Panel<T>({ of, rows = 3, children }: {
  of: Loaded<T>;
  rows?: number;
  children: (data: T) => ComponentChildren;
}) {
  return (
    <>
      {of.data !== null && of.error && <Stale of={of} />}
      {of.data !== null ? children(of.data)
        : of.error ? <ErrorPanel error={of.error} retryAt={of.retryAt} onRetry={of.reload} />
        : <Skeleton rows={rows} />}
    </>
  );
}

function Stale<T>({ of }: { of: Loaded<T> }) {
  tick.value;
  if (!of.error) return null;
  const time = of.at === null ? '' : new Date(of.at).toLocaleTimeString(hours.value === '12' ? 'en-US' : 'en-GB');
  const wait = of.retryAt ? Math.max(0, Math.ceil((of.retryAt - Date.now()) / 1_000)) : null;
  return (
    <p class="stale" role="status">
      As of {time}. {of.error.message}{wait !== null && ` The next try is in ${wait} s.`}{' '}
      <button type="button" class="btn sm" onClick={of.reload}>Try now</button>
    </p>
  );
}

export function Skeleton({ rows }: { rows: number }) {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => <i key={row} />)}
    </div>
  );
}

/** A heading that takes the focus when its page opens, so that a reader begins there. */
export function Title({ children, voice = false }: { children: ComponentChildren; voice?: boolean }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const active = document.activeElement;
    if (!active || active === document.body || !document.contains(active)) {
      heading.current?.focus({ preventScroll: true });
    }
  }, []);
  return <h1 ref={heading} tabIndex={-1} class={voice ? '' : 'name'}>{children}</h1>;
}

/** Where a page lies: the way back up. */
export function Crumbs({ collection, here }: { collection?: string; here: string }) {
  return (
    <nav class="eyebrow" aria-label="Where this is">
      <a href={inPlace('collections')}>{place.value.group}</a>/
      {collection && <><a href={inPlace('jobs', collection)}>{collection}</a>/</>}
      <span aria-current="page">{here}</span>
    </nav>
  );
}

/** A dialog of the browser's own: it keeps the focus, and Escape closes it. */
export function Dialog({ title, onClose, isFixed = false, children }: {
  title: string;
  onClose: () => void;
  /** Whether Escape does not close it. */
  isFixed?: boolean;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    return () => {
      if (before && document.contains(before)) before.focus();
      else document.querySelector<HTMLElement>('h1')?.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}
      onCancel={(event) => { if (isFixed) event.preventDefault(); }}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

/** Asks before something that cannot be taken back; the name has to be typed if one is given. */
export function Confirm({ title, text, verb, name, isReady: isGiven = true, onYes, onClose }: {
  /** Whether there is something to do. */
  isReady?: boolean;
  title: string;
  text: ComponentChildren;
  verb: string;
  name?: string;
  onYes: () => Promise<void>;
  onClose: () => void;
}) {
  const [typed, setTyped] = useState('');
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const isReady = isGiven && !busy && (name === undefined || typed === name);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!isReady) return;
    setBusy(true);
    setError(null);
    try {
      await onYes();
      onClose();
    } catch (thrown) {
      setError(thrown as ApiError);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        <div class="text">{text}</div>
        {name !== undefined && (
          <label class="f">Type <b>{name}</b> to confirm
            <input class="i" value={typed} autocomplete="off" spellcheck={false}
              onInput={(event) => setTyped(event.currentTarget.value)} />
          </label>
        )}
        {error && <ErrorPanel error={error} />}
        <p class="acts">
          <button type="button" class="btn" onClick={onClose}>Cancel</button>
          <button type="submit" class="btn go" disabled={!isReady}>{verb}</button>
        </p>
      </form>
    </Dialog>
  );
}

/** A change that mends what is wrong: what it is called, and making it. */
export type Mending = readonly [name: string, mend: () => void];

/** What can be done about a sentence of the API, where something is edited. */
export const Mendings = createContext<(problem: string) => readonly Mending[]>(() => []);

/** The API's sentence about a property, with a button for each value that it says is right. */
export function Wrong({ id, children }: { id?: string | undefined; children: ComponentChildren }) {
  const mendings = useContext(Mendings)(String(children));
  return (
    <p class="err" id={id}>
      <span aria-hidden="true">◆</span>
      <span>{children}{mendings.map(([name, mend]) => <button key={name} type="button" class="btn sm" onClick={mend}>{name}</button>)}</span>
    </p>
  );
}

/** A field with its label, and the API's sentence about it. */
export function Field({ label, problem, children }: {
  label: string;
  problem?: string | undefined;
  children: (given: { id: string; 'aria-invalid': boolean; 'aria-describedby': string | undefined }) => ComponentChildren;
}) {
  const id = useId();
  const about = problem ? `${id}-problem` : undefined;
  return (
    <div class="f">
      <label for={id}>{label}</label>
      {children({ id, 'aria-invalid': Boolean(problem), 'aria-describedby': about })}
      {problem && <Wrong id={about}>{problem}</Wrong>}
    </div>
  );
}

export function Choice<T extends string>({ label, value, options, onChange }: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}) {
  return (
    <div class="seg" role="group" aria-label={label}>
      {options.map(([option, name]) => (
        <button key={option} type="button" aria-pressed={option === value} onClick={() => onChange(option)}>
          {name}
        </button>
      ))}
    </div>
  );
}

/** A choice as a field: with a label that is seen, and the API's sentence about it. */
export function Options<T extends string>({ label, value, options, problem, onChange }: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  problem?: string | undefined;
  onChange: (value: T) => void;
}) {
  return (
    <div class="f">
      <span class="lb" aria-hidden="true">{label}</span>
      <Choice label={label} value={value} options={options} onChange={onChange} />
      {problem && <Wrong>{problem}</Wrong>}
    </div>
  );
}

/** A step of a form. Folded, it is what it says; a problem unfolds it. */
export function Step({ n, title, said, isFolded = false, hasProblem, children }: {
  n: number;
  title: string;
  said: ComponentChildren;
  isFolded?: boolean;
  hasProblem: boolean;
  children: ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(!isFolded);
  return (
    <details class="step" open={isOpen || hasProblem} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="hd"><i>{n}</i> <b>{title}</b> <span class="muted">{said}</span></summary>
      {children}
    </details>
  );
}

export const Key = ({ children }: { children: ComponentChildren }): JSX.Element =>
  <kbd aria-hidden="true">{children}</kbd>;
