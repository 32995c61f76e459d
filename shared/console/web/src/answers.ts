export interface Place {
  subscription: string;
  group: string;
}

export interface Me {
  principal: { kind: string; label: string | null };
  may: string[];
  now: string;
  clockRate: number;
  home: string;
  region: string;
  version: string;
  timeZones: string;
  planLimits: boolean;
  actions: string[];
}

/** A process that shares the database of the installation. */
export interface Process {
  name: string;
  version: string;
  since: string;
  seenAt: string;
  attempts: number;
  answers: boolean;
}

/** The alerts of a collection that failed since the last one that arrived. */
interface AlertTrouble {
  alerts: number;
  since: string;
  job: string;
  cause: Cause | null;
}

/** What came back when a test alert was sent. */
export interface AlertTest {
  arrived: boolean;
  cause: Cause | null;
  message: string;
}

export interface Collection {
  name: string;
  properties: {
    state: string;
    sku?: { name?: string };
    quota?: { maxJobCount?: number; maxJobOccurrence?: number };
    minutehand?: { maxPerSecond?: number };
  };
  tags?: Record<string, string>;
}

export type Document = Record<string, unknown>;

export interface JobProperties extends Document {
  state?: string;
  startTime?: string;
  action?: Document;
  recurrence?: Document;
  status?: {
    executionCount?: number;
    failureCount?: number;
    faultedCount?: number;
    lastExecutionTime?: string;
    nextExecutionTime?: string;
  };
}

export interface Job {
  name: string;
  properties: JobProperties;
}

export interface Description {
  state: string;
  since: string;
  collection: { name: string; state: string; since: string | null };
  sentence: string;
  anchor: string | null;
  next: string | null;
  notFiring: { reason: string; message: string }[];
  last: string | null;
  executions: number;
  failures: number;
  faulted: number;
  skipped: number;
  /** What runs and what waits. */
  present?: Present[];
  properties: JobProperties;
}

/** Where a job takes pings, and the last ones, the newest first. */
export interface PingUrl {
  url: string;
  pings: { at: string; kind: string; rid: string | null; occurrence: string | null; text: string }[];
}

/** An attempt that runs, or that is due and waits. */
export interface Present {
  at: string;
  kind: 'scheduled' | 'run';
  action: PastAttempt['action'];
  retry: number;
  dueAt: string;
  state: 'running' | 'waiting';
  since: string;
  waitsFor: string | null;
  /** If its target answered 202 and is at work: until when it reports the end, and what it last said. */
  openUntil?: string | null;
  progress?: string | null;
}

/** Why something failed, in a few words. */
export interface Cause {
  kind: string;
  text: string;
}

export interface PastAttempt {
  action: 'action' | 'errorAction' | 'notice';
  retry: number;
  dueAt: string;
  startedAt: string | null;
  endedAt: string | null;
  outcome: 'succeeded' | 'failed' | 'underWay';
  cause?: Cause | null;
  /** What the target said of its failure in its own words. */
  said?: string | null;
  message: string | null;
}

/** What became of an occurrence, or of several that were left out. */
export interface PastOccurrence {
  at: string;
  kind: 'scheduled' | 'run' | 'leftOut';
  redriveOf?: string | null;
  outcome: 'succeeded' | 'failed' | 'retrying' | 'underWay' | 'skipped';
  attempts?: PastAttempt[];
  /** Of those that were left out: the last one, how many they are, why, and in which outage. */
  last?: string;
  count?: number;
  reason?: string;
  outage?: { from: string; until: string } | null;
}

interface Occurrence {
  at: string;
  local: string;
  offset: string;
  note: { kind: string; text: string } | null;
}

export interface Preview {
  sentence: string;
  occurrences: Occurrence[];
  ends: boolean;
  perYear: number;
  smallestGap: string | null;
  firesOnSave: boolean;
  /** The next occurrences that a clock change moves or doubles, each with its note. */
  clockChanges: Occurrence[];
}

export interface Coming {
  sentence: string;
  occurrences: Occurrence[];
  ends: boolean;
  /** The next occurrences that a clock change moves or doubles, each with its note. */
  clockChanges: Occurrence[];
}

/** Why something would be refused, and which changes of the body would make it right, each as a JSON patch. */
export interface Problem {
  code: string;
  message: string;
  target: string | null;
  fixes?: { label: string; patch: { path: string; from?: string; value?: unknown }[] }[];
}

export interface Check {
  ok: boolean;
  problems: Problem[];
  warnings: { kind: string; message: string; target: string | null }[];
  sentence: string | null;
  change: null | {
    timing: boolean;
    dropsPending: boolean;
    countRestarts: boolean;
    gone: string[];
    new: string[];
  };
}

/** A job as a list shows it. */
export interface JobRow {
  name: string;
  state: string;
  sentence: string;
  zone: string | null;
  next: string | null;
  executions: number;
  failures: number;
  faulted: number;
  target: string;
  /** One letter an occurrence, the newest last, where the server keeps it. */
  recent: string | null;
  /** Since when an attempt runs, and since when one waits that is due. */
  runningSince: string | null;
  waitingSince: string | null;
  /** Until when it, or its collection, is snoozed. */
  snoozedUntil: string | null;
}

export interface Why {
  at: string;
  verdict: string;
  sentence: string;
  cause?: Cause | null;
  said?: string | null;
  near: { before: string | null; after: string | null };
  evidence: { at: string; kind: string; text: string }[];
}

export interface Entry {
  at: string;
  who: string;
  requestId: string;
  operation: string;
  job: string | null;
  names: string[];
  change: unknown;
  undo: unknown;
}

export interface ConvertedJob {
  name: string;
  line?: number;
  path?: string;
  state: string;
  sentence: string;
  next: string | null;
  document: { properties: JobProperties };
  secrets: { pointer: string; variable: string; isGiven: boolean }[];
}

export interface Converted {
  found: number;
  jobs: ConvertedJob[];
  problems: { kind: string; line?: number; path?: string; job: string | null; why: string; remedy: string }[];
}

/** A job that was found by a part of its name. */
export interface FoundJob {
  resourceGroup: string;
  collection: string;
  job: string;
  state: string;
  sentence: string | null;
  next: string | null;
  recent: string;
}

/** How a subscription is doing. */
export interface OverviewData {
  headline: { kind: string; n?: number };
  collections: { all: number; off: number; items: CollectionLine[] };
  jobs: { all: number };
  /** Timers that were not moved on, and attempts that wait (`waiting` of them). */
  late: {
    count: number;
    waiting?: number;
    snoozed?: number;
    isLeast: boolean;
    items: (JobAt & { waitsFor?: string | null })[];
  };
  /** What runs and what waits; `null` where the server does not know. */
  running?: number | null;
  waiting?: Waiting | null;
  sweep: { at: string | null };
  work: { at: string | null };
  /** How many messages were given up, where the server counts them. */
  deadLetters?: number | null;
  /** The targets that hang; `null` for a token that is limited to collections. An older server does not say it. */
  hanging?: string[] | null;
  /** The collections whose alerts do not arrive. An older server does not say it. */
  alerts?: { resourceGroup: string; collection: string; trouble: AlertTrouble }[];
}

/** How many attempts wait that are due, since when, and how many for what. */
export interface Waiting {
  count: number;
  since: string | null;
  for: Record<string, number>;
}

/** A collection, in short. */
export interface CollectionLine {
  resourceGroup: string;
  collection: string;
  state: string;
  since: string | null;
  jobs: number;
  jobsMax: number | null;
  maxPerSecond?: number | null;
  maxConcurrent?: number | null;
  running?: number | null;
  waiting?: Waiting | null;
  snoozedUntil?: string | null;
}

/** A job, and an instant at which it was or is due. */
export interface JobAt {
  at: string;
  resourceGroup: string;
  collection: string;
  job: string;
}

/** An occurrence that failed for good. */
export interface Failure extends JobAt {
  cause?: Cause | null;
  said?: string | null;
  message: string;
  /** What was called, in a few words. */
  target: string | null;
}

/** A message that was delivered again and again, and never finished. */
export interface DeadLetter {
  id: string;
  firstSentAt: string | null;
  deliveries: number;
  errorType: string | null;
  resourceGroup: string | null;
  collection: string | null;
  job: string | null;
  occurrence: string | null;
  attempt: number | null;
}

/** Which dead letters something is done to. */
export type Letters = { ids: string[] } | { all: true };

/** A job, when it is due, and when it fires, in words. */
export interface Ahead extends JobAt {
  sentence: string;
}

export interface Upcoming {
  items: Ahead[];
  complete: boolean;
}

/** How many occurrences fall due in each step of a time. */
export interface Load {
  from: string;
  counts: number[];
  /** When each step begins, where steps are days. */
  starts: string[] | null;
  jobs: number;
  /** The fullest instants, and what is due then. */
  top: { at: string; count: number; groups: { rule: string; count: number; names: string[] }[] }[];
  /** Jobs whose next occurrence is unusually far away, if they were asked for. */
  far: Ahead[];
  /** Whether all jobs were read. */
  isWhole: boolean;
}

export interface Page<T> {
  items: T[];
  /** Where the next page begins; `null` after the last. */
  next: string | null;
}

/** How late 99 of 100 attempts start at most, or that one of them is later. */
export interface Starts {
  withinMs?: number;
  overMs?: number;
}

/** A collection on the wall: numbers of quarters of an hour, or none if all are 0. */
export interface WallRow {
  resourceGroup: string;
  collection: string;
  state: string;
  jobs: number;
  ok: number[];
  retried: number[] | null;
  late: number[] | null;
  failed: number[];
  skipped: number[];
  due: number[];
  starts: Starts | null;
}

export interface WallData {
  from: string;
  isCounted: boolean;
  collections: { all: number; items: WallRow[] };
  starts: Starts | null;
  running: { resourceGroup: string; collection: string; job: string; since: string; tookMs: number | null }[] | null;
}
