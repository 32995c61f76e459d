// A change as lines that people read: which property, what it was, and what it is.
import type { Document } from './answers';

/** A property that a change sets: `null` stands for nothing. */
interface Changed {
  path: string;
  from: unknown;
  to: unknown;
}

export const isPart = (value: unknown): value is Document =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** The values of a document by their paths. A list is a value. */
function leaves(document: Document, before = '', found = new Map<string, unknown>()): Map<string, unknown> {
  for (const [name, value] of Object.entries(document)) {
    const path = before ? `${before}.${name}` : name;
    if (isPart(value) && Object.keys(value).length > 0) leaves(value, path, found);
    else found.set(path, value);
  }
  return found;
}

/** The properties of a merge patch, each with its value before, of the patch that leads back. */
export function changed(patch: Document, back: Document): Changed[] {
  const [to, from] = [leaves(patch), leaves(back)];
  const paths = [...new Set([...to.keys(), ...from.keys()])];
  // A part that was not there is one `null` beside the values in it.
  const own = paths.filter((path) => !paths.some((other) => other.startsWith(`${path}.`)));
  return own.map((path) => ({ path, from: from.get(path) ?? null, to: to.get(path) ?? null }));
}

/** A value as a word. */
export function word(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value))
    return value.every((one) => typeof one !== 'object') ? value.join(', ') : JSON.stringify(value);
  return isPart(value) ? JSON.stringify(value) : String(value);
}

/** A change of a property in words: `recurrence.interval: 1 → 2`. */
export const line = ({ path, from, to }: Changed): string =>
  `${path.replace(/^properties\./, '')}: ${word(from)} → ${word(to)}`;

const OPERATIONS: Record<string, string> = { switchedOn: 'switched on', switchedOff: 'switched off' };

/** What was done, in words. A server may tell more than this console knows. */
export const done = (operation: string): string =>
  OPERATIONS[operation] ?? operation.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
