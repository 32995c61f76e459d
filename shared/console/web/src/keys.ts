// Keys. They act outside fields, all but those with Ctrl; single letters only if the settings allow them.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { singleKeys } from './state';

type Actions = Record<string, (event: KeyboardEvent) => void>;

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
    (target as HTMLInputElement).type !== 'checkbox'
  );
}

let first: { key: string; at: number } | null = null;

/** How long the second key of two may take. */
const PAIR_MS = 1_500;

/** Binds keys to actions while a part is shown: `j`, `g o`, `Escape`, `Ctrl+Enter`. */
export function useKeys(actions: Actions) {
  const current = useRef(actions);
  current.current = actions;
  // Before the page is painted: a key that is pressed at first sight counts.
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey || document.querySelector('dialog[open]')) return;
      const isControl = event.ctrlKey || event.metaKey;
      const name = isControl ? `Ctrl+${event.key}` : event.key;
      const isLetter = !isControl && event.key.length === 1;
      if (!isControl && isTyping(event.target)) return;
      if (isLetter && singleKeys.value === 'off') return;
      const pair = first && Date.now() - first.at < PAIR_MS ? `${first.key} ${name}` : null;
      const action = (pair && current.current[pair]) || (pair ? undefined : current.current[name]);
      if (!action) {
        if (isLetter && Object.keys(current.current).some((key) => key.startsWith(`${name} `))) {
          first = { key: name, at: Date.now() };
        }
        return;
      }
      first = null;
      event.preventDefault();
      action(event);
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}

/** Moves the focus along the parts of a list with `j` and `k`; `Enter` does what the part does. Tells which has it. */
export function useListKeys(selector: string): () => number {
  const all = () => [...document.querySelectorAll<HTMLElement>(selector)];
  const here = () => all().indexOf(document.activeElement as HTMLElement);
  const move = (step: number) => all()[Math.max(0, Math.min(all().length - 1, here() + step))]?.focus();
  useKeys({ j: () => move(1), k: () => move(-1) });
  return here;
}
