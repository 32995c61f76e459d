// What every page shares: the address, the preferences of this browser, and what the server said.
import { computed, effect, signal } from '@preact/signals';
import type { Me, Place } from './answers';
import type { Told } from './live';

type Theme = 'system' | 'light' | 'dark';
type ZoneChoice = 'job' | 'mine' | 'UTC';

function kept<T extends string>(name: string, values: readonly T[], first: T) {
  const key = `minutehand.${name}`;
  const found = localStorage.getItem(key) as T | null;
  const value = signal<T>(found && values.includes(found) ? found : first);
  effect(() => localStorage.setItem(key, value.value));
  return value;
}

export const theme = kept<Theme>('theme', ['system', 'light', 'dark'], 'system');
export const zoneChoice = kept<ZoneChoice>('zone', ['job', 'mine', 'UTC'], 'job');
export const singleKeys = kept<'on' | 'off'>('keys', ['on', 'off'], 'on');
export const hours = kept<'24' | '12'>('hours', ['24', '12'], '24');
export const density = kept<'roomy' | 'dense'>('density', ['roomy', 'dense'], 'roomy');
export const motion = kept<'system' | 'none'>('motion', ['system', 'none'], 'system');

/** What the style sheet asks about. */
const looks = { theme, density, motion };
for (const [name, choice] of Object.entries(looks)) {
  effect(() => {
    document.documentElement.dataset[name] = choice.value;
  });
}

export const me = signal<Me | null>(null);
/** A second that has passed, for countdowns and the clock. */
export const tick = signal(0);
/** How long what was done is shown. */
const SAID_MS = 6_000;

/** What was done: shown for a while, and told to screen readers. */
export const said = signal('');
let silence = 0;
export const say = (text: string) => {
  said.value = '';
  queueMicrotask(() => (said.value = text));
  clearTimeout(silence);
  silence = setTimeout(() => (said.value = ''), SAID_MS) as unknown as number;
};

const RUN = 'minutehand.run';

/** Whether a run is asked about: the first one of this tab's session is. */
export const asksRun = () => sessionStorage.getItem(RUN) === null;
export const askedRun = () => sessionStorage.setItem(RUN, 'asked');
/** What the question about a run says. */
export const RUN_ONCE =
  'It runs once. Its next occurrence stays where it is. In this tab, the next runs start without this question.';

/** Whether the caller may do this. Until the server has said so, nothing is offered. */
export const may = (what: string) => me.value?.may.includes(what) ?? false;

const hash = signal(location.hash);
addEventListener('hashchange', () => (hash.value = location.hash));

/** The address after `#/`: its parts, and what follows its question mark. */
export const route = computed(() => {
  const [path = '', query = ''] = hash.value.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').filter(Boolean).map(decoded);
  return { parts, query: new URLSearchParams(query) };
});

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const link = (...parts: string[]) => `#/${parts.map(encodeURIComponent).join('/')}`;

/** Asks whether a page may be left; it says why not. */
export const guard = signal<(() => string | null) | null>(null);

export function go(href: string) {
  location.hash = href;
}

/** Changes what follows the question mark, without an entry in the browser's history. */
export function setQuery(changes: Record<string, string | null>) {
  const query = new URLSearchParams(route.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const path = hash.value.split('?')[0] ?? '';
  history.replaceState(null, '', `${path || '#/'}${query.size ? `?${query}` : ''}`);
  hash.value = location.hash;
}

const PLACE = 'minutehand.place';

function keptPlace(): Place {
  const [subscription, group] = (localStorage.getItem(PLACE) ?? '').split('\n');
  return { subscription: subscription || 'me', group: group || 'dev' };
}

const chosen = signal<Place>(keptPlace());

/** The subscription and the group of the address, or those that were used last. */
export const place = computed<Place>(() => {
  const [first, subscription, group] = route.value.parts;
  return first === 'in' && subscription && group ? { subscription, group } : chosen.value;
});

export function choose(next: Place) {
  chosen.value = next;
  localStorage.setItem(PLACE, `${next.subscription}\n${next.group}`);
  go(inPlace('overview'));
}

effect(() => {
  const { subscription, group } = place.value;
  // Until the address names one, it is only a guess.
  if (route.value.parts[0] === 'in') localStorage.setItem(PLACE, `${subscription}\n${group}`);
});

/** Whether two names are one: they are read in any case. */
export const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

/** Whether something is in the group that is shown. */
export const isHere = ({ resourceGroup }: { resourceGroup: string }) => isSame(resourceGroup, place.value.group);

/** Whether something happened in the subscription that is shown. */
export const isOurs = ({ subscription }: Told) => isSame(subscription, place.value.subscription);

/** Whether something happened to a job of the group that is shown, or may have. */
export const isOf = (collection: string, job: string) => (told: Told) =>
  isOurs(told) && isHere(told) && isSame(told.collection, collection) && (!told.job || isSame(told.job, job));

/** The group of something of the subscription that is shown. */
export const placeOf = ({ resourceGroup }: { resourceGroup: string }): Place => ({
  subscription: place.value.subscription,
  group: resourceGroup,
});

/** A page of a job, in its own group. */
export const pageOf = (
  page: string,
  { resourceGroup, collection, job }: { resourceGroup: string; collection: string; job: string },
) => link('in', place.value.subscription, resourceGroup, page, collection, job);

/** The address of a page of the place that is shown. */
export const inPlace = (...parts: string[]) => link('in', place.value.subscription, place.value.group, ...parts);

const LAST = 'minutehand.collection';

/** The collection whose jobs were looked at last. */
export const lastCollection = signal(localStorage.getItem(LAST) ?? '');

effect(() => {
  const [first, , , page, collection] = route.value.parts;
  if (first !== 'in' || page !== 'jobs' || !collection) return;
  lastCollection.value = collection;
  localStorage.setItem(LAST, collection);
});
