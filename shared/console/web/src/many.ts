// Something that is done to each of many: some at once, until it is stopped.

/** How many requests run at once. */
const AT_ONCE = 8;

/** Does something to each; what is left when it was stopped. */
export async function each<T>(
  all: readonly T[],
  isStopped: () => boolean,
  work: (one: T) => Promise<void>,
): Promise<T[]> {
  const left = all.slice();
  const lane = async (): Promise<void> => {
    const one = isStopped() ? undefined : left.shift();
    if (one === undefined) return;
    await work(one);
    return lane();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return left;
}
