// Questions: dialogs of the browser, which keep the focus.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { ApiError } from './api';
import { ErrorPanel } from './ui';

/** A dialog of the browser's own: it keeps the focus, and Escape closes it. */
export function Dialog({
  title,
  onClose,
  isFixed = false,
  children,
}: {
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
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onClose={onClose}
      onCancel={(event) => {
        if (isFixed) event.preventDefault();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

/** Asks before something that cannot be taken back; the name has to be typed if one is given. */
export function Confirm({
  title,
  text,
  verb,
  name,
  isReady: isGiven = true,
  onYes,
  onClose,
}: {
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
          <label class="f">
            Type <b>{name}</b> to confirm
            <input
              class="i"
              value={typed}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </label>
        )}
        {error && <ErrorPanel error={error} />}
        <p class="acts">
          <button type="button" class="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="btn go" disabled={!isReady}>
            {verb}
          </button>
        </p>
      </form>
    </Dialog>
  );
}
