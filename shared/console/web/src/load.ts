// Reads that repeat: what was read stays while the next read runs or fails.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, isRefused } from './api';

/** How long a page waits before it tries again after a failure, in seconds. */
const RETRIES = [5, 10, 30];

export interface Loaded<T> {
  data: T | null;
  error: ApiError | null;
  /** When `data` was read. */
  at: number | null;
  /** When the next try is due after a failure. */
  retryAt: number | null;
  reload: () => void;
}

/** Reads at once, when `key` changes, and then every `seconds` while the page is visible. */
export function useLoad<T>(key: string, read: () => Promise<T>, seconds: number | null = 10): Loaded<T> {
  const [state, set] = useState<Omit<Loaded<T>, 'reload'> & { key: string }>({
    key,
    data: null,
    error: null,
    at: null,
    retryAt: null,
  });
  const reading = useRef(read);
  reading.current = read;
  const again = useRef(() => {});
  const refused = isRefused.value;

  useEffect(() => {
    let timer = 0;
    let round = 0;
    let failed = 0;
    const later = (after: number) => {
      clearTimeout(timer);
      timer = setTimeout(start, after * 1_000) as unknown as number;
    };
    const start = () => {
      if (document.hidden && round > 0) return;
      const mine = ++round;
      clearTimeout(timer);
      reading.current().then(
        (data) => {
          if (mine !== round) return;
          failed = 0;
          set({ key, data, error: null, at: Date.now(), retryAt: null });
          if (seconds !== null) later(seconds);
        },
        (thrown: unknown) => {
          if (mine !== round) return;
          const error = asError(thrown);
          const isPassing = error.status === 0 || error.status === 429 || error.status >= 500;
          const wait = error.retryAfter ?? RETRIES[Math.min(failed++, RETRIES.length - 1)] ?? 30;
          const retryAt = isPassing ? Date.now() + wait * 1_000 : null;
          set((old) => ({ ...(old.key === key ? old : { key, data: null, at: null }), error, retryAt }));
          if (isPassing) later(wait);
        },
      );
    };
    const seen = () => {
      if (!document.hidden && seconds !== null) start();
    };
    again.current = start;
    start();
    document.addEventListener('visibilitychange', seen);
    return () => {
      round = -1;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [key, seconds, refused]);

  const fresh = state.key === key ? state : { data: null, error: null, at: null, retryAt: null };
  return { ...fresh, reload: () => again.current() };
}

export function asError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new ApiError(0, 'Unexpected', message, null, null, null);
}
