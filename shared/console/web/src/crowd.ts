// How crowded parts of time are: how much is due in each, in its fullest step, and what failed there.

export interface Part {
  at: number;
  count: number;
  /** How much is due in its fullest step. */
  fullest: number;
  /** How many occurrences failed for good. */
  failed: number;
}

/** Steps that are counted, put together as parts of some steps each. */
export function partsOf(from: number, step: number, counts: readonly number[], per: number): Part[] {
  return Array.from({ length: Math.ceil(counts.length / per) }, (_, place) => {
    const steps = counts.slice(place * per, (place + 1) * per);
    const count = steps.reduce((all, one) => all + one, 0);
    return { at: from + place * per * step, count, fullest: Math.max(...steps), failed: 0 };
  });
}

/** Two parts that one cell shows, such as an hour that the clock shows twice. */
export const both = (one: Part, other: Part): Part => ({
  at: one.at,
  count: one.count + other.count,
  fullest: Math.max(one.fullest, other.fullest),
  failed: one.failed + other.failed,
});

/** The parts with what failed in each. */
export function withFailed(parts: readonly Part[], end: number, failures: readonly number[]): Part[] {
  const failed = parts.map(() => 0);
  for (const at of failures) {
    const place = at < end ? parts.findLastIndex((part) => part.at <= at) : -1;
    if (place >= 0) failed[place] = (failed[place] ?? 0) + 1;
  }
  return parts.map((part, place) => ({ ...part, failed: failed[place] ?? 0 }));
}

/** How many more than usual make a herd, at least, and how many times as many. */
const HERD_MORE = 10;
const HERD_TIMES = 1.5;

/** How many more are due in the fullest step than usual, if they are a herd; else `null`. */
export function herd(steps: readonly number[]): { place: number; count: number; more: number } | null {
  const count = Math.max(0, ...steps);
  const usual = steps.toSorted((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
  const isHerd = count - usual >= HERD_MORE && count >= usual * HERD_TIMES;
  return isHerd ? { place: steps.indexOf(count), count, more: count - usual } : null;
}

/** The fullest herd from an instant on, looked for in each hour alone. */
export function herdAfter(
  now: number,
  from: number,
  step: number,
  counts: readonly number[],
  perHour: number,
): { at: number; count: number; more: number } | null {
  let found: { at: number; count: number; more: number } | null = null;
  for (let place = 0; place < counts.length; place += perHour) {
    const one = herd(counts.slice(place, place + perHour));
    if (!one) continue;
    const at = from + (place + one.place) * step;
    if (at + step > now && one.count > (found?.count ?? 0)) found = { at, count: one.count, more: one.more };
  }
  return found;
}
