// The parts that pages are made of.
import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';
import type { ApiError } from './api';
import type { Loaded } from './load';
import { hours, inPlace, place, say, tick } from './state';

/** A sentence of the server about a schedule, as one of its own. */
export const capital = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** A state: a mark with a shape of its own, and a word. */
export function State({
  kind,
  children,
}: {
  kind: 'on' | 'off' | 'bad' | 'late' | 'done';
  children: ComponentChildren;
}) {
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
const copy = (text: string, said = 'Copied.') =>
  void navigator.clipboard.writeText(text).then(
    () => say(said),
    () => say('The browser did not allow copying.'),
  );

export function Copy({ text, children = 'Copy' }: { text: () => string; children?: ComponentChildren }) {
  return (
    <button type="button" class="btn sm" onClick={() => copy(text())}>
      {children}
    </button>
  );
}

/** Copies the command that shows a job. */
export const copyCommand = (collection: string, job: string) =>
  copy(`minutehand job show ${collection}/${job}`, 'The command is copied.');

/** The API's own sentence, with what is needed to find the request in the server's log. */
export function ErrorPanel({
  error,
  retryAt,
  onRetry,
}: {
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
      <p>
        <span class="bad" aria-hidden="true">
          ◆
        </span>{' '}
        {error.message}
      </p>
      <p class="faint">
        {error.code}
        {error.requestId && (
          <>
            {' '}
            · request <code>{error.requestId}</code>
          </>
        )}
        {wait !== null && <> · again in {wait} s</>}
      </p>
      <p class="acts">
        {onRetry && (
          <button type="button" class="btn sm" onClick={onRetry}>
            Try again
          </button>
        )}
        {mendings.map(([name, mend]) => (
          <button key={name} type="button" class="btn sm" onClick={mend}>
            {name}
          </button>
        ))}
        <Copy text={report} />
      </p>
    </div>
  );
}

/** What is loaded, or the state it is in. Rows are grey lines first: the frame does not jump. */
export function Panel<T>({
  of,
  rows = 3,
  children,
}: {
  of: Loaded<T>;
  rows?: number;
  children: (data: T) => ComponentChildren;
}) {
  return (
    <>
      {of.data !== null && of.error && <Stale of={of} />}
      {of.data !== null ? (
        children(of.data)
      ) : of.error ? (
        <ErrorPanel error={of.error} retryAt={of.retryAt} onRetry={of.reload} />
      ) : (
        <Skeleton rows={rows} />
      )}
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
      As of {time}. {of.error.message}
      {wait !== null && ` The next try is in ${wait} s.`}{' '}
      <button type="button" class="btn sm" onClick={of.reload}>
        Try now
      </button>
    </p>
  );
}

export function Skeleton({ rows }: { rows: number }) {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <i key={row} />
      ))}
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
  return (
    <h1 ref={heading} tabIndex={-1} class={voice ? '' : 'name'}>
      {children}
    </h1>
  );
}

/** Where a page lies: the way back up. */
export function Crumbs({ collection, here }: { collection?: string; here: string }) {
  return (
    <nav class="eyebrow" aria-label="Where this is">
      <a href={inPlace('collections')}>{place.value.group}</a>/
      {collection && (
        <>
          <a href={inPlace('jobs', collection)}>{collection}</a>/
        </>
      )}
      <span aria-current="page">{here}</span>
    </nav>
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
      <span>
        {children}
        {mendings.map(([name, mend]) => (
          <button key={name} type="button" class="btn sm" onClick={mend}>
            {name}
          </button>
        ))}
      </span>
    </p>
  );
}

/** A field with its label, and the API's sentence about it. */
export function Field({
  label,
  problem,
  hint,
  children,
}: {
  label: string;
  problem?: string | undefined;
  /** What stands below, such as what was understood. */
  hint?: ComponentChildren;
  children: (given: {
    id: string;
    'aria-invalid': boolean;
    'aria-describedby': string | undefined;
  }) => ComponentChildren;
}) {
  const id = useId();
  const about = problem ? `${id}-problem` : hint ? `${id}-hint` : undefined;
  return (
    <div class="f">
      <label for={id}>{label}</label>
      {children({ id, 'aria-invalid': Boolean(problem), 'aria-describedby': about })}
      {problem && <Wrong id={about}>{problem}</Wrong>}
      {!problem && hint && (
        <p class="hint faint" id={about} aria-live="polite">
          {hint}
        </p>
      )}
    </div>
  );
}

export function Choice<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
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
export function Options<T extends string>({
  label,
  value,
  options,
  problem,
  onChange,
}: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  problem?: string | undefined;
  onChange: (value: T) => void;
}) {
  return (
    <div class="f">
      <span class="lb" aria-hidden="true">
        {label}
      </span>
      <Choice label={label} value={value} options={options} onChange={onChange} />
      {problem && <Wrong>{problem}</Wrong>}
    </div>
  );
}

/** A step of a form. Folded, it is what it says; a problem unfolds it. */
export function Step({
  n,
  title,
  said,
  isFolded = false,
  hasProblem,
  children,
}: {
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
      <summary class="hd">
        <i>{n}</i> <b>{title}</b> <span class="muted">{said}</span>
      </summary>
      {children}
    </details>
  );
}

export const Key = ({ children }: { children: ComponentChildren }): JSX.Element => (
  <kbd aria-hidden="true">{children}</kbd>
);
