// History records grouped by occurrence, and the letter of each occurrence's mark.
import type { Attempt, Failure, JobAt } from './api';

export interface Occurred {
  /** When it was due; for a run on demand, when it was asked for. */
  due: number;
  attempts: Attempt['properties'][];
  errorAction: Attempt['properties'] | null;
  letter: string;
}

const at = (text: string | undefined) => (text === undefined ? NaN : Date.parse(text));
const isError = (one: Attempt['properties']) => /error/i.test(one.actionName ?? '');
const isSkipped = (one: Attempt['properties']) => /skip/i.test(one.status ?? '');
const hasFailed = (one: Attempt['properties']) => /fail/i.test(one.status ?? '');

/** How much later than due an attempt may begin before it counts as late. */
const LATE_MS = 1_000;

/** Groups attempts by the occurrence that they belong to, newest first. */
export function occurrences(all: Attempt[]): Occurred[] {
  const groups = new Map<string, Attempt['properties'][]>();
  for (const { properties: one } of all) {
    const key = one.expectedExecutionTime ?? one.startTime ?? '';
    const group = groups.get(key);
    if (group) group.push(one);
    else groups.set(key, [one]);
  }
  return [...groups].map(([key, group]) => {
    group.sort((a, b) => at(a.startTime) - at(b.startTime));
    const attempts = group.filter((one) => !isError(one));
    const errorAction = group.find(isError) ?? null;
    return { due: at(key), attempts, errorAction, letter: letter(at(key), attempts, errorAction) };
  }).sort((a, b) => b.due - a.due);
}

function letter(due: number, attempts: Attempt['properties'][], errorAction: Attempt['properties'] | null): string {
  const last = attempts.at(-1);
  if (last && isSkipped(last)) return 's';
  if (!last || hasFailed(last)) return errorAction && !hasFailed(errorAction) ? 'e' : 'f';
  if (attempts.length > 1) return 'r';
  return at(last.startTime) - due > LATE_MS ? 'l' : 'o';
}

/** How long an occurrence took, from its first attempt to the end of its last. */
export function took(one: Occurred): number {
  const ends = [...one.attempts, ...(one.errorAction ? [one.errorAction] : [])].map((it) => at(it.endTime));
  return Math.max(...ends) - at(one.attempts[0]?.startTime);
}

export const lateBy = (one: Occurred) => at(one.attempts[0]?.startTime) - one.due;
export const failed = hasFailed;

/** What stands between the parts of a message about an answer. */
const HEADERS = ' Response Headers: ';
const BODY = ' Body: ';

/** A message in its parts, each without what all messages of its kind begin with. */
export function messageParts(message: string | undefined): { head: string; headers: string; body: string } {
  const [head = '', rest = ''] = cut(message ?? '', HEADERS);
  const [headers = '', body = ''] = cut(rest, BODY);
  return { head, headers: headers.trim(), body };
}

function cut(text: string, mark: string): [string, string] {
  const place = text.indexOf(mark);
  return place < 0 ? [text, ''] : [text.slice(0, place), text.slice(place + mark.length)];
}

/** What a message says in a line: of an answer its status, `Service Unavailable`. */
export function gist(message: string | undefined): string {
  const { head } = messageParts(message);
  const status = /^Http Action - Response from host '[^']*': '(\w+)'$/.exec(head)?.[1];
  if (status) return status.replace(/([a-z])([A-Z])/g, '$1 $2');
  return (head.split('\n')[0] ?? '').replace(/^\w+ Action - /, '');
}

export const nameOf = (one: JobAt) => `${one.resourceGroup}/${one.collection}/${one.job}`;

/** A job that failed for good: the last time, and how often. */
export interface Failing {
  last: Failure;
  times: number;
}

/** Failures by job, the newest first. */
export function byJob(failures: Failure[]): Failing[] {
  const found = new Map<string, Failing>();
  for (const one of failures) {
    const { last, times } = found.get(nameOf(one)) ?? { last: one, times: 0 };
    found.set(nameOf(one), { last: one.at > last.at ? one : last, times: times + 1 });
  }
  return [...found.values()].sort((a, b) => (a.last.at < b.last.at ? 1 : -1));
}

/** Jobs that failed alike: they call one host, and the last message of each says the same. */
export interface Alike {
  host: string;
  said: string;
  jobs: Failing[];
}

/** How many jobs fail alike before they share a line. */
const ALIKE_MIN = 4;

/** Failing jobs in lines: those that are alike share one, if they are many, where the newest of them would stand. */
export function inLines(failing: Failing[]): (Failing | Alike)[] {
  const alike = new Map<string, Alike>();
  const lineOf = ({ last: { target, message } }: Failing): Alike => {
    // What is called, without the method.
    const [host, said] = [(target ?? '').replace(/^[A-Z]+ /, ''), gist(message)];
    const key = `${host}\n${said}`;
    const line = alike.get(key) ?? { host, said, jobs: [] };
    alike.set(key, line);
    return line;
  };
  for (const one of failing) lineOf(one).jobs.push(one);
  return failing.flatMap<Failing | Alike>((one) => {
    const line = lineOf(one);
    if (line.host === '' || line.jobs.length < ALIKE_MIN) return one;
    return line.jobs[0] === one ? line : [];
  });
}
