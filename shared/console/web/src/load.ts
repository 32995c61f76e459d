// Reads that repeat: what was read stays while the next read runs or fails.
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, isRefused } from './api';
import { isBroken, isLive, listeners, openedAt, type Told } from './live';
import { me } from './state';

/** How long a page waits before it tries again after a failure, in seconds. */
const RETRIES = [5, 10, 30];

/** Something that was read, and is read again after some seconds, or never. */
interface Read {
  seconds: number;
  /** Whether it is of the frame around the page. */
  isFrame: boolean;
  /** When it was read, and how many reads have failed since. */
  at: number;
  missed: number;
}

/** What is shown, by the parts that have read it. */
const shown = signal<ReadonlyMap<object, Read>>(new Map());

function tell(part: object, state: Read | null) {
  const next = new Map(shown.peek());
  if (state) next.set(part, state);
  else next.delete(part);
  shown.value = next;
}

/** Tells of something that a page reads by itself. */
export function useTold(seconds: number, at: number, hasFailed: boolean) {
  const part = useRef({});
  useEffect(() => {
    tell(part.current, { seconds, at, missed: hasFailed ? MISSED_MAX : 0, isFrame: false });
    return () => tell(part.current, null);
  }, [seconds, at, hasFailed]);
}

/** How often is read what the server tells of, in seconds. */
const TOLD_SECONDS = 60;
/** How long after a word it is read, and the least time between two reads, as times of what a read takes. */
const HEARD_MS = 300;
const GAP_MS = 1_000;
const GAP_TIMES = 5;

/** After how many failed reads what is shown is old. */
const MISSED_MAX = 2;

/** When the part of the page was read that is read most often, and whether a part is old; `null` before a first read. */
export function age(): { at: number; isOld: boolean } | null {
  const all = [...shown.value.values()].filter(({ at }) => at > 0).sort((a, b) => a.seconds - b.seconds);
  const most = all.find(({ isFrame }) => !isFrame) ?? all[0];
  // A server that has stopped telling what happens is one that has missed.
  const max = isBroken.value ? 1 : MISSED_MAX;
  return most ? { at: most.at, isOld: all.some(({ missed }) => missed >= max) } : null;
}

export interface Loaded<T> {
  data: T | null;
  error: ApiError | null;
  /** When `data` was read. */
  at: number | null;
  /** When the next try is due after a failure. */
  retryAt: number | null;
  reload: () => void;
}

/** Reads something as soon as the server's clock is known: a key says when that is. */
export const whenKnown =
  <T>(read: () => Promise<T>) =>
  () =>
    me.peek() ? read() : new Promise<never>(() => {});

/** Reads at once, when `key` changes, and then every `seconds` while the page is visible. */
export function useLoad<T>(
  key: string,
  read: () => Promise<T>,
  seconds: number | null = 10,
  isFrame = false,
  /** Whether what happened is a reason to read it again. */
  concerns: ((told: Told) => boolean) | null = null,
): Loaded<T> {
  const [state, set] = useState<Omit<Loaded<T>, 'reload'> & { key: string }>({
    key,
    data: null,
    error: null,
    at: null,
    retryAt: null,
  });
  const reading = useRef(read);
  reading.current = read;
  const concerned = useRef(concerns);
  concerned.current = concerns;
  const again = useRef(() => {});
  const refused = isRefused.value;

  useEffect(() => {
    let timer = 0;
    let round = 0;
    let failed = 0;
    const part = {};
    let readAt = 0;
    let began = 0;
    let took = 0;
    let hears = 0;
    const told = () => tell(part, { seconds: seconds ?? Infinity, at: readAt, missed: failed, isFrame });
    const later = (after: number) => {
      clearTimeout(timer);
      timer = setTimeout(start, after * 1_000) as unknown as number;
    };
    const start = () => {
      if (document.hidden && round > 0) return;
      const mine = ++round;
      clearTimeout(timer);
      clearTimeout(hears);
      hears = 0;
      began = Date.now();
      reading.current().then(
        (data) => {
          if (mine !== round) return;
          failed = 0;
          readAt = Date.now();
          took = readAt - began;
          told();
          set({ key, data, error: null, at: Date.now(), retryAt: null });
          if (seconds !== null)
            later(isLive.peek() && concerned.current && began > openedAt ? Math.max(seconds, TOLD_SECONDS) : seconds);
        },
        (thrown: unknown) => {
          if (mine !== round) return;
          const error = asError(thrown);
          const isPassing = error.status === 0 || error.status === 429 || error.status >= 500;
          const wait = error.retryAfter ?? RETRIES[Math.min(failed++, RETRIES.length - 1)] ?? 30;
          told();
          const retryAt = isPassing ? Date.now() + wait * 1_000 : null;
          set((old) => ({ ...(old.key === key ? old : { key, data: null, at: null }), error, retryAt }));
          if (isPassing) later(wait);
        },
      );
    };
    const seen = () => {
      if (!document.hidden && seconds !== null) start();
    };
    const hear = (told: Told | null) => {
      if (hears || !concerned.current || (told && !concerned.current(told))) return;
      const gap = began + Math.max(GAP_MS, took * GAP_TIMES) - Date.now();
      hears = setTimeout(start, told === null ? 0 : Math.max(HEARD_MS, gap)) as unknown as number;
    };
    again.current = start;
    start();
    listeners.add(hear);
    document.addEventListener('visibilitychange', seen);
    return () => {
      round = -1;
      tell(part, null);
      clearTimeout(timer);
      clearTimeout(hears);
      listeners.delete(hear);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [key, seconds, refused]);

  const fresh = state.key === key ? state : { data: null, error: null, at: null, retryAt: null };
  return { ...fresh, reload: () => again.current() };
}

export function asError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new ApiError(0, 'Unexpected', message);
}
