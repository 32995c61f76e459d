// What a refusal of the API says would be right, as changes of the document.
import type { Document } from './answers';
import { at, put } from './document';
import type { Mending } from './ui';

/** The most values that are offered. */
const OFFERED_MAX = 6;

/** A path as the document spells it: names are read in any case. */
function spelled(document: Document, path: string): string {
  const names: string[] = [];
  for (const name of path.split('.')) {
    const known = Object.keys((at(document, names.join('.')) ?? {}) as Document);
    const all = names.length === 0 ? Object.keys(document) : known;
    names.push(all.find((one) => one.toLowerCase() === name.toLowerCase()) ?? name);
  }
  return names.join('.');
}

/** The changes that a message about a property of the document offers. */
export function mendings(document: Document, message: string, change: (next: Document) => void): Mending[] {
  const [, said = '', rest = ''] = /^(?:Line \d+: )?'(?:properties\.)?([\w.]+)' (.*)$/s.exec(message) ?? [];
  if (said === '') return [];
  const path = spelled(document, said);
  const value = at(document, path);
  const meant = /^is not a property; did you mean '(\w+)'\?$/.exec(rest)?.[1];
  if (meant !== undefined) {
    if (value === undefined) return [];
    const place = path.replace(/[^.]+$/, meant);
    return [[`Use ${meant}`, () => change(put(put(document, path, undefined), place, value))]];
  }
  if (/ leave it out\.$/.test(rest)) return [['Leave it out', () => change(put(document, path, undefined))]];
  // One value cannot replace a list of them.
  if (value !== null && typeof value === 'object') return [];
  const use = (next: unknown): Mending => [`Use ${next}`, () => change(put(document, path, next))];
  const like = /such as '([^']+)'\.$/.exec(rest)?.[1];
  if (like !== undefined) return [use(like)];
  const names = /use one of ([\w, ]+)\.$/.exec(rest)?.[1]?.split(', ') ?? [];
  if (names.length > 0) return names.length > OFFERED_MAX ? [] : names.map(use);
  const [, least, most] = /use (?:a (?:whole )?number from )?(\d+) to (\d+)\b/.exec(rest) ?? [];
  return least !== undefined && typeof value === 'number'
    ? [use(value < Number(least) ? Number(least) : Number(most))]
    : [];
}
