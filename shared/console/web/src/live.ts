// What happens, as a server tells it: what is shown is read again when something of it has changed.
import { effect, signal } from '@preact/signals';
import { ApiError, events, token } from './api';
import { me } from './state';

/** Something that happened to a job, or to any job of a collection. */
export interface Told {
  kind: string;
  subscription: string;
  resourceGroup: string;
  collection: string;
  job: string | null;
}

/** Whether the server tells what happens. */
export const isLive = signal(false);
/** Whether it has stopped telling, and has not begun again. */
export const isBroken = signal(false);

/** When it began: what was read before may have changed meanwhile, and is read again as without it. */
export let openedAt = Infinity;

/** Who hears of it: of `null` that anything may have happened. */
export const listeners = new Set<(told: Told | null) => void>();

/** After how long without a word nobody is there: a server says something every 15 seconds. */
const SILENT_MS = 35_000;
/** What has to wait counts as waiting after a while, and as behind: then it is read again. */
const WAITS_MS = [5_000, 60_000];
/** When it is tried again after a break, and where there is no stream. */
const AGAIN_MS = 5_000;
const NONE_MS = 60_000;

const tell = (told: Told | null) => {
  for (const hear of listeners) hear(told);
};

let open: AbortController | null = null;
let timer = 0;
let last = '';

/** Reads the stream until it ends. */
async function listen(mine: AbortController) {
  let silence = 0;
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(() => mine.abort(), SILENT_MS) as unknown as number;
  };
  let wait = AGAIN_MS;
  try {
    heard();
    const reader = (await events(last, mine.signal)).getReader();
    isLive.value = true;
    // A stream that is resumed has told of all that happened meanwhile, or says that it has not.
    if (last === '') openedAt = Date.now();
    isBroken.value = false;
    const decoder = new TextDecoder();
    for (let rest = ''; ; ) {
      const { value, done } = await reader.read();
      if (done) break;
      heard();
      const parts = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) took(part);
    }
  } catch (thrown) {
    // It is read as before, and tried again: soon, unless the server gives none.
    if (thrown instanceof ApiError) wait = NONE_MS;
  }
  clearTimeout(silence);
  if (open !== mine) return;
  open = null;
  if (isLive.value) {
    isLive.value = false;
    isBroken.value = true;
    tell(null);
  }
  timer = setTimeout(start, wait) as unknown as number;
}

function took(part: string) {
  const fields = new Map(part.split('\n').map((line) => line.split(/: (.*)/s) as [string, string]));
  last = fields.get('id') ?? last;
  const kind = fields.get('event');
  if (kind === 'missed') tell(null);
  else if (kind && kind !== 'ready') {
    const told = { kind, ...JSON.parse(fields.get('data') ?? '{}') };
    tell(told);
    if (kind === 'waiting') for (const after of WAITS_MS) setTimeout(tell, after, told);
  }
}

function stop() {
  clearTimeout(timer);
  open?.abort();
  open = null;
  isLive.value = false;
}

function start() {
  stop();
  if (document.hidden || me.peek()?.home !== 'machine') return;
  open = new AbortController();
  void listen(open);
}

// A tab that nobody sees leaves its place to others.
document.addEventListener('visibilitychange', () => (document.hidden ? stop() : start()));
const isKnown = signal(false);
effect(() => {
  isKnown.value = me.value !== null;
});
effect(() => {
  token.value;
  if (isKnown.value) start();
});
