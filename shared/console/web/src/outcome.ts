import type { Cause, Failure, JobAt, JobRow, PastAttempt, PastOccurrence } from './answers';

export interface Occurred {
  /** When it was due; for a run on demand, when it was asked for. */
  due: number;
  /** The attempts at the action of the job. */
  attempts: PastAttempt[];
  /** The attempts at its error action and at the collection's notice. */
  after: PastAttempt[];
  letter: string;
  of: PastOccurrence;
}

const at = (text: string | null | undefined) => (text == null ? NaN : Date.parse(text));

/** How much later than due an attempt may begin before it counts as late. */
const LATE_MS = 1_000;

/** Occurrences with their attempts in order, newest first. */
export function occurrences(all: PastOccurrence[]): Occurred[] {
  return all
    .map((of) => {
      const sorted = (of.attempts ?? []).toSorted((a, b) => at(a.dueAt) - at(b.dueAt));
      const attempts = sorted.filter((one) => one.action === 'action');
      const after = sorted.filter((one) => one.action !== 'action');
      return { due: at(of.at), attempts, after, letter: letter(of, attempts, after), of };
    })
    .sort((a, b) => b.due - a.due);
}

function letter(of: PastOccurrence, attempts: PastAttempt[], after: PastAttempt[]): string {
  if (of.outcome === 'skipped') return 's';
  if (of.outcome === 'failed')
    return after.some((one) => one.action === 'errorAction' && one.outcome === 'succeeded') ? 'e' : 'f';
  if (of.outcome !== 'succeeded') return 'u';
  if (attempts.length > 1) return 'r';
  return at(attempts[0]?.startedAt) - at(of.at) > LATE_MS ? 'l' : 'o';
}

/** How long an occurrence took, from its first attempt to the end of the last at its action. */
export const took = (one: Occurred) => at(one.attempts.at(-1)?.endedAt) - at(one.attempts[0]?.startedAt);

export const lateBy = (one: Occurred) => at(one.attempts[0]?.startedAt) - one.due;
export const isBad = (one: Occurred) => one.letter === 'f' || one.letter === 'e';

/** How many successes it takes to say how long one usually takes. */
const USUAL_MIN = 3;

/** How long an occurrence that succeeds takes in the middle of all; `null` if there are too few. */
export function usually(all: Occurred[]): number | null {
  const times = all
    .filter((one) => 'orl'.includes(one.letter))
    .map(took)
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  return times.length < USUAL_MIN ? null : (times[times.length >> 1] ?? null);
}

/** Why something failed: the cause, and after it what the target said in its own words. */
export function causeOf({
  cause,
  said,
  message,
}: {
  cause?: Cause | null;
  said?: string | null;
  message?: string | null;
}): string {
  if (!cause) return message ?? '';
  return said ? `${cause.text}: “${said}”` : cause.text;
}

export const nameOf = (one: JobAt) => `${one.resourceGroup}/${one.collection}/${one.job}`;

/** The last occurrence failed for good; where the server does not keep outcomes, all attempts did. */
export function isFailing({ recent, failures, executions }: JobRow): boolean {
  return recent ? /[fe]s*$/.test(recent) : failures > 0 && failures === executions;
}

/** A job that failed for good: the last time, and how often. */
export interface Failing {
  last: Failure;
  times: number;
  all: Failure[];
}

/** Failures by job, the newest first. */
export function byJob(failures: Failure[]): Failing[] {
  const found = new Map<string, Failing>();
  for (const one of failures) {
    const { last, all } = found.get(nameOf(one)) ?? { last: one, all: [] };
    found.set(nameOf(one), { last: one.at > last.at ? one : last, times: all.length + 1, all: [...all, one] });
  }
  return [...found.values()].sort((a, b) => (a.last.at < b.last.at ? 1 : -1));
}

/** Jobs that failed alike: they call one host, and the last message of each says the same. */
export interface Alike<T extends Failing> {
  host: string;
  said: string;
  jobs: T[];
}

/** How many jobs fail alike before they share a line. */
const ALIKE_MIN = 4;

/** Failing jobs in lines: those that are alike share one, if they are many, where the newest of them would stand. */
export function inLines<T extends Failing>(failing: T[]): (T | Alike<T>)[] {
  const alike = new Map<string, Alike<T>>();
  const lineOf = ({ last }: T): Alike<T> => {
    // What is called, without the method. What each target said of itself may differ.
    const [host, said] = [(last.target ?? '').replace(/^[A-Z]+ /, ''), last.cause?.text ?? last.message];
    const key = `${host}\n${said}`;
    const line = alike.get(key) ?? { host, said, jobs: [] };
    alike.set(key, line);
    return line;
  };
  for (const one of failing) lineOf(one).jobs.push(one);
  return failing.flatMap<T | Alike<T>>((one) => {
    const line = lineOf(one);
    if (line.host === '' || line.jobs.length < ALIKE_MIN) return one;
    return line.jobs[0] === one ? line : [];
  });
}

/** What all names begin with. */
export function common(names: readonly string[]): string {
  const [first = ''] = names;
  let length = first.length;
  for (const name of names) while (!name.startsWith(first.slice(0, length))) length -= 1;
  return first.slice(0, length);
}

/** How many results a server keeps of a job. */
const RECENT = 32;

/** How many failed in a row until now, of results with the newest last. What was skipped is not counted. */
export function streak(recent: string): { count: number; isLeast: boolean } {
  const tail = /[fes]*$/.exec(recent)?.[0] ?? '';
  return { count: tail.replaceAll('s', '').length, isLeast: tail.length >= RECENT };
}
