import type { JobProperties } from './answers';
import { at, expectsPings } from './document';
import { type Form, type Line, Lines, type Read, reader, shownLines, Unsaid } from './fields';
import { isoSpan } from './spans';
import { Step } from './ui';

/** Where a job's document has its policies. */
const BASE = 'minutehand';

interface Policy {
  /** What it is about, on the page of a job. */
  name: string;
  /** Its properties, as fields in one row. */
  lines: readonly Line[];
  /** What it says, in words; `null` if it says nothing. */
  said: (read: Read, properties: JobProperties) => string | null;
}

const isHttp = (properties: JobProperties) => /"type":"https?"/i.test(JSON.stringify(properties.action ?? {}));
const isRepeated = ({ recurrence }: JobProperties) => recurrence !== undefined && recurrence !== null;
const is = (path: string, value: string) => (read: Read) => read(path).toLowerCase() === value;

/** The most dates that are said one by one. */
const DATES_SAID = 4;

function datesOf(properties: JobProperties, path: string, how: string): string {
  const all = at(properties, `${BASE}.${path}`);
  if (!Array.isArray(all) || all.length === 0) return '';
  const said = all
    .slice(0, DATES_SAID)
    .map((date) => String(date).replace('/', ' to '))
    .join(', ');
  return `${how} ${said}${all.length > DATES_SAID ? ` and ${all.length - DATES_SAID} more` : ''}`;
}

const POLICIES: readonly Policy[] = [
  {
    name: 'After an outage',
    lines: [
      {
        path: 'catchUp.policy',
        label: 'Of what fell into an outage',
        as: [
          ['last', 'run the last one'],
          ['none', 'run none'],
          ['all', 'run all'],
        ],
        clears: ['catchUp'],
        when: (_, properties) => isRepeated(properties),
      },
      { path: 'catchUp.max', label: 'At most', as: 'number', placeholder: '100', when: is('catchUp.policy', 'all') },
      {
        path: 'catchUp.window',
        label: 'Not older than',
        as: 'span',
        placeholder: '1 day',
        when: is('catchUp.policy', 'all'),
      },
    ],
    said: (read) => {
      const policy = read('catchUp.policy').toLowerCase();
      if (policy === 'none') return 'none of the missed occurrences runs';
      if (policy !== 'all') return null;
      return `all missed occurrences run, ${read('catchUp.max') || '100'} at most, not older than ${isoSpan(read('catchUp.window')) || '1 day'}`;
    },
  },
  {
    name: 'If it is late',
    lines: [{ path: 'maxLateness', label: 'Leave out what is later than', as: 'span', placeholder: 'any time' }],
    said: (read) => (read('maxLateness') ? `left out if it is later than ${isoSpan(read('maxLateness'))}` : null),
  },
  {
    name: 'Time limit',
    lines: [{ path: 'timeout', label: 'Give up an action after', as: 'span', placeholder: '60 s' }],
    said: (read) => (read('timeout') ? `an action is given up after ${isoSpan(read('timeout'))}` : null),
  },
  {
    name: 'Completion',
    lines: [
      {
        path: 'completion.within',
        label: 'A target that answers 202 reports its end within',
        as: 'span',
        placeholder: '202 is the end',
        when: (_, properties) => isHttp(properties),
      },
    ],
    said: (read) =>
      read('completion.within')
        ? `a target that answers 202 reports its end within ${isoSpan(read('completion.within'))}`
        : null,
  },
  {
    name: 'Templates',
    lines: [
      {
        path: 'template',
        label: 'Names in double braces, such as {{occurrence}}',
        as: [
          ['no', 'stay as they are'],
          ['yes', 'become values', true],
        ],
        optionOf: (value) => (value === true ? 'yes' : 'no'),
        clears: ['template'],
      },
    ],
    said: (_, properties) =>
      at(properties, `${BASE}.template`) === true ? 'names in double braces become values' : null,
  },
  {
    name: 'Spread',
    lines: [{ path: 'jitter.window', label: 'Spread the starts over', as: 'span', placeholder: 'no time' }],
    said: (read) => (read('jitter.window') ? `starts within ${isoSpan(read('jitter.window'))} after it is due` : null),
  },
  {
    name: 'Dates',
    lines: [
      {
        path: 'exclude.dates',
        label: 'Not on these dates, one a line',
        as: 'list',
        placeholder: '2027-12-24, or 2027-12-27/2028-01-02',
        when: (_, properties) => isRepeated(properties),
      },
      {
        path: 'extraDates',
        label: 'Also then, one a line',
        as: 'list',
        placeholder: '2027-12-23T18:00',
        when: (_, properties) => isRepeated(properties),
      },
    ],
    said: (_, properties) =>
      [datesOf(properties, 'exclude.dates', 'not on'), datesOf(properties, 'extraDates', 'also on')]
        .filter(Boolean)
        .join('; ') || null,
  },
  {
    name: 'No overlap',
    lines: [
      {
        path: 'overlap.policy',
        label: 'What comes while an attempt runs',
        as: [
          ['allow', 'runs beside it'],
          ['skip', 'is left out'],
        ],
        clears: ['overlap'],
      },
    ],
    said: (read) => (is('overlap.policy', 'skip')(read) ? 'what comes while an attempt runs is left out' : null),
  },
  {
    name: 'Pauses',
    lines: [
      {
        path: 'pauseOnFailure.after',
        label: 'Pause after so many failures in a row',
        as: 'number',
        placeholder: 'never',
        when: (_, properties) => isRepeated(properties),
      },
    ],
    said: (read) => {
      const after = read('pauseOnFailure.after');
      return after ? `after ${after === '1' ? 'one failure' : `${after} failures in a row`}` : null;
    },
  },
  {
    name: 'Signed',
    lines: [
      {
        path: 'sign.secrets',
        label: 'Secrets that sign its requests, one a line, the newest first',
        as: 'list',
        placeholder: 'whsec_…; (withheld) keeps the stored one',
        when: (_, properties) => isHttp(properties),
      },
    ],
    said: (_, properties) => {
      const secrets = at(properties, `${BASE}.sign.secrets`);
      const count = Array.isArray(secrets) ? secrets.length : 0;
      return count === 0
        ? null
        : `with ${count === 1 ? 'a secret' : `${count} secrets`}, as Standard Webhooks describes`;
    },
  },
];

const isGrowing = is('retry.backoff', 'exponential');
const honours = (value: unknown) =>
  value !== undefined && value !== null && (value as { honour?: unknown }).honour !== false;

/** How retries are spaced: they stand beside the retries of the action. */
const RETRIES: readonly Policy[] = [
  {
    name: 'Waits',
    lines: [
      {
        path: 'retry.backoff',
        label: 'The wait before each retry',
        as: [
          ['fixed', 'stays the same'],
          ['exponential', 'grows'],
        ],
        clears: ['retry.factor', 'retry.maxInterval'],
      },
      { path: 'retry.factor', label: 'by a factor of', as: 'number', placeholder: '2', when: isGrowing },
      { path: 'retry.maxInterval', label: 'but is at most', as: 'span', placeholder: 'no limit', when: isGrowing },
    ],
    said: (read) =>
      isGrowing(read)
        ? `each ${read('retry.factor') || '2'} times the one before${read('retry.maxInterval') && `, ${isoSpan(read('retry.maxInterval'))} at most`}`
        : null,
  },
  {
    name: 'Chance',
    lines: [
      {
        path: 'retry.jitter',
        label: 'Each wait is',
        as: [
          ['none', 'exact'],
          ['full', 'shortened by chance'],
        ],
      },
      { path: 'retry.maxElapsed', label: 'No retry later than', as: 'span', placeholder: 'no limit' },
    ],
    said: (read) =>
      [
        is('retry.jitter', 'full')(read) ? 'each wait is shortened by chance' : '',
        read('retry.maxElapsed') ? `none later than ${isoSpan(read('retry.maxElapsed'))} after it was due` : '',
      ]
        .filter(Boolean)
        .join(', ') || null,
  },
  {
    name: 'Retry-After',
    lines: [
      {
        path: 'retry.retryAfter',
        label: 'A target that says when to try again',
        as: [
          ['no', 'is not heard'],
          ['yes', 'is waited for', { honour: true }],
        ],
        optionOf: (value) => (honours(value) ? 'yes' : 'no'),
      },
      {
        path: 'retry.retryAfter.max',
        label: 'for at most',
        as: 'span',
        placeholder: '1 h',
        when: (_, properties) => honours(at(properties, `${BASE}.retry.retryAfter`)),
      },
    ],
    said: (read, properties) =>
      honours(at(properties, `${BASE}.retry.retryAfter`))
        ? `waited for, ${isoSpan(read('retry.retryAfter.max')) || '1 h'} at most`
        : null,
  },
];

const allLines = (policies: readonly Policy[]) => policies.flatMap((policy) => policy.lines);

/** The policies that are not about retries. */
export function Policies(form: Form) {
  const { properties } = form;
  // A refusal of the retries is said at the retries.
  const of = (path: string) => (path === BASE && form.of(`${BASE}.retry`) !== undefined ? undefined : form.of(path));
  if (shownLines(allLines(POLICIES), BASE, properties).length === 0) return null;
  return (
    <Step
      n={4}
      title="Policies"
      said={
        saidOf(POLICIES, properties)
          .map(([name, said]) => `${name}: ${said}`)
          .join('; ') || 'none'
      }
      isFolded
      hasProblem={of(BASE) !== undefined}
    >
      <Rows {...form} policies={POLICIES} />
      <Unsaid base={BASE} lines={allLines(POLICIES)} properties={properties} of={of} />
    </Step>
  );
}

export function RetryPolicies(form: Form) {
  return (
    <>
      <Rows {...form} policies={RETRIES} />
      <Unsaid
        base={`${BASE}.retry`}
        lines={allLines(RETRIES).map((line) => ({ ...line, path: line.path.slice('retry.'.length) }))}
        properties={form.properties}
        of={form.of}
      />
    </>
  );
}

/** Policies of short fields alone share a row; every other one has a row of its own. */
function Rows({ policies, ...form }: Form & { policies: readonly Policy[] }) {
  const rows: { name: string; isShort: boolean; lines: Line[] }[] = [];
  for (const { name, lines } of policies) {
    const isShort = lines.every(({ as }) => as === 'span' || as === 'number');
    const last = rows.at(-1);
    if (isShort && last?.isShort) last.lines.push(...lines);
    else rows.push({ name, isShort, lines: [...lines] });
  }
  return (
    <>
      {rows.map(({ name, lines }) => (
        <Lines key={name} {...form} base={BASE} lines={lines} />
      ))}
    </>
  );
}

/** The policies that a job has, each with its name and in words. */
export const saidPolicies = (properties: JobProperties) => saidOf([...RETRIES, ...POLICIES], properties);

function saidOf(policies: readonly Policy[], properties: JobProperties): (readonly [name: string, said: string])[] {
  const read = reader(properties, BASE);
  return policies.flatMap(({ name, said }) => {
    const words = said(read, properties);
    return words === null ? [] : [[name, words] as const];
  });
}

/** The retries of a job's action, and what follows them, in a few words. */
export function saidRetries(properties: JobProperties): string {
  const read = reader(properties, 'action.retryPolicy');
  return expectsPings(properties) || is('retryType', 'none')(read)
    ? 'no retry'
    : `${read('retryCount') || '4'} retries, ${read('retryInterval') ? isoSpan(read('retryInterval')) : '30 s (in a Free collection 1 h)'} apart`;
}
