-- The tables, written for SQLite.
--
-- An instant is ticks of 100 ns since 1970, which is the precision of dates in the API. An id is 16 bytes.
-- A key is a name in lower case. A count that can be larger than a signed number has its bits in one.

CREATE TABLE subscriptions (
  key TEXT PRIMARY KEY,
  name TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE cloud_services (
  subscription_key TEXT NOT NULL,
  group_key TEXT NOT NULL,
  uid BLOB NOT NULL,
  subscription TEXT NOT NULL,
  resource_group TEXT NOT NULL,
  label TEXT NOT NULL,
  description TEXT NOT NULL,
  region TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (subscription_key, group_key)
) STRICT, WITHOUT ROWID;

-- `state` and what follows is in the document, too: a start reads it here.
CREATE TABLE collections (
  uid BLOB PRIMARY KEY,
  subscription TEXT NOT NULL,
  resource_group TEXT NOT NULL,
  name TEXT NOT NULL,
  subscription_key TEXT NOT NULL,
  group_key TEXT NOT NULL,
  name_key TEXT NOT NULL,
  document TEXT NOT NULL,
  sealed BLOB,
  label TEXT,
  job_count INTEGER NOT NULL,
  creations INTEGER NOT NULL,
  on_since INTEGER NOT NULL,
  state_since INTEGER,
  version INTEGER NOT NULL,
  state TEXT NOT NULL,
  plan TEXT NOT NULL,
  per_second INTEGER,
  concurrent INTEGER,
  has_failure_action INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX collections_by_name ON collections (subscription_key, name_key, group_key);

-- A deleted collection whose jobs are to be removed.
CREATE TABLE purges (
  collection_uid BLOB PRIMARY KEY,
  due_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX purges_by_time ON purges (due_at);

-- Definitions of jobs. `earlier` has one line for each timing that the job had before.
CREATE TABLE jobs (
  collection_uid BLOB NOT NULL,
  name_key TEXT NOT NULL,
  uid BLOB NOT NULL,
  name TEXT NOT NULL,
  document TEXT NOT NULL,
  sealed BLOB,
  version INTEGER NOT NULL,
  expires_at INTEGER,
  earlier TEXT,
  PRIMARY KEY (collection_uid, name_key)
) STRICT, WITHOUT ROWID;

-- What changes when a job fires.
CREATE TABLE timers (
  job_uid BLOB PRIMARY KEY,
  collection_uid BLOB NOT NULL,
  job_key TEXT NOT NULL,
  state TEXT NOT NULL,
  generation INTEGER NOT NULL,
  anchor INTEGER,
  since INTEGER NOT NULL,
  used INTEGER NOT NULL,
  timetable TEXT,
  due_at INTEGER,
  is_spent INTEGER NOT NULL,
  executions INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  faulted INTEGER NOT NULL,
  skipped INTEGER NOT NULL,
  last_at INTEGER,
  recent BLOB NOT NULL,
  last_skip BLOB,
  settled BLOB,
  checksum BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX timers_by_time ON timers (due_at, job_uid);

-- Retries that are too far in the future for a message.
CREATE TABLE retries (
  job_uid BLOB NOT NULL,
  attempt TEXT NOT NULL,
  collection_uid BLOB NOT NULL,
  job_key TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  attempt_due_at INTEGER NOT NULL,
  policy INTEGER NOT NULL,
  PRIMARY KEY (job_uid, attempt)
) STRICT, WITHOUT ROWID;
CREATE INDEX retries_by_time ON retries (due_at);

-- Claims, and the history of what has ended. `occurrence` is `s` for one of the schedule and `r` with an
-- id for a run; `role` is 0 for the action, 1 for the error action, 2 for the notice of a failure.
CREATE TABLE attempts (
  job_uid BLOB NOT NULL,
  nominal_at INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  occurrence TEXT NOT NULL,
  role INTEGER NOT NULL,
  number INTEGER NOT NULL,
  process INTEGER NOT NULL,
  claim_id BLOB NOT NULL,
  claims INTEGER NOT NULL,
  lease_until INTEGER,
  attempt_due_at INTEGER,
  expires_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  outcome TEXT,
  message TEXT,
  repeat_count INTEGER,
  body_bytes INTEGER,
  what_next TEXT,
  next_at INTEGER,
  PRIMARY KEY (job_uid, nominal_at, generation, occurrence, role, number)
) STRICT, WITHOUT ROWID;

-- Attempts that are in the counters of a job and that its timer no longer remembers.
CREATE TABLE counted (
  job_uid BLOB NOT NULL,
  newest INTEGER NOT NULL,
  ids BLOB NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (job_uid, newest, ids)
) STRICT, WITHOUT ROWID;

-- Occurrences that were left out. `reason` is 0 for an outage, 1 for too late, 2 for an overlap.
CREATE TABLE left_out (
  job_uid BLOB NOT NULL,
  first_at INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  reason INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  occurrences INTEGER NOT NULL,
  left_at INTEGER NOT NULL,
  outage_from INTEGER,
  outage_until INTEGER,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (job_uid, first_at, generation, reason)
) STRICT, WITHOUT ROWID;

-- Occurrences that failed for good.
CREATE TABLE failures (
  subscription_key TEXT NOT NULL,
  ended_at INTEGER NOT NULL,
  nominal_at INTEGER NOT NULL,
  job_uid BLOB NOT NULL,
  path TEXT NOT NULL,
  name TEXT NOT NULL,
  is_run INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  message TEXT NOT NULL,
  target TEXT,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (subscription_key, ended_at, nominal_at, job_uid)
) STRICT, WITHOUT ROWID;

-- Which attempt of a job runs, and which ones wait: a line for each.
CREATE TABLE turns (
  job_uid BLOB PRIMARY KEY,
  number INTEGER NOT NULL,
  turn TEXT,
  process INTEGER NOT NULL,
  claim_id BLOB,
  lease_until INTEGER NOT NULL,
  waiting TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The next slot of a collection that limits its starts.
CREATE TABLE slots (
  collection_uid BLOB PRIMARY KEY,
  next_at INTEGER NOT NULL,
  book INTEGER NOT NULL,
  per_second INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The claims that run in a collection that limits how many do.
CREATE TABLE seats (
  collection_uid BLOB NOT NULL,
  process INTEGER NOT NULL,
  claim_id BLOB NOT NULL,
  lease_until INTEGER NOT NULL,
  PRIMARY KEY (collection_uid, process, claim_id)
) STRICT, WITHOUT ROWID;

-- The changes that users made. `patches` is deflated JSON: the patch there, and the patch back.
CREATE TABLE journal (
  collection_uid BLOB NOT NULL,
  at INTEGER NOT NULL,
  job_key TEXT NOT NULL,
  request_id TEXT NOT NULL,
  who TEXT NOT NULL,
  operation TEXT NOT NULL,
  job TEXT,
  names TEXT NOT NULL,
  patches BLOB,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (collection_uid, at, job_key, request_id)
) STRICT, WITHOUT ROWID;

-- The import that is under way, if one is: there is one row at most.
CREATE TABLE imports (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  export_id TEXT NOT NULL
) STRICT;

-- The signs of life of sweepers and workers.
CREATE TABLE pulses (
  of TEXT PRIMARY KEY,
  beat_at INTEGER,
  outages TEXT NOT NULL,
  history TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The queue. `id` is never used again, so a receipt identifies one message for ever. `delivery` numbers the
-- deliveries of a message and never decreases; `receives` counts them, and decreases when a delivery is
-- undone. `hidden_until` is an instant of work; without one, the message can be received. A hidden message
-- was delivered (`leased`) or put back.
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  due_at INTEGER NOT NULL,
  sent_at INTEGER NOT NULL,
  receives INTEGER NOT NULL DEFAULT 0,
  delivery INTEGER NOT NULL DEFAULT 0,
  leased INTEGER NOT NULL DEFAULT 0,
  hidden_until INTEGER,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX messages_visible ON messages (due_at) WHERE hidden_until IS NULL;
CREATE INDEX messages_hidden ON messages (hidden_until) WHERE hidden_until IS NOT NULL;

-- Messages that were delivered too often or cannot be read.
CREATE TABLE dead_letters (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  due_at INTEGER NOT NULL,
  sent_at INTEGER NOT NULL,
  receives INTEGER NOT NULL,
  body TEXT NOT NULL,
  reason TEXT NOT NULL,
  buried_at INTEGER NOT NULL
) STRICT;
