// The draft of a new job: it stays in the tab until it is saved or discarded.
import type { JobProperties } from './answers';
import { withoutSecrets } from './document';
import { place } from './state';

interface Draft {
  name: string;
  properties: JobProperties;
}

const key = (collection: string) => `minutehand.draft.${place.value.subscription}/${place.value.group}/${collection}/`;

/** The draft of a collection, if there is one that can be read. */
export function keptDraft(collection: string): Draft | null {
  try {
    return JSON.parse(sessionStorage.getItem(key(collection)) ?? 'null') as Draft | null;
  } catch {
    forgetDraft(collection);
    return null;
  }
}

/** Keeps a draft, without its secrets. */
export function keepDraft(collection: string, { name, properties }: Draft) {
  sessionStorage.setItem(key(collection), JSON.stringify({ name, properties: withoutSecrets(properties) }));
}

export const forgetDraft = (collection: string) => sessionStorage.removeItem(key(collection));
