-- The keys of jobs that expect pings, with what is remembered of their pings.
CREATE TABLE pings (
  job_uid BLOB PRIMARY KEY,
  collection_uid BLOB NOT NULL,
  job_key TEXT NOT NULL,
  ping_key TEXT NOT NULL,
  sealed BLOB NOT NULL,
  number INTEGER NOT NULL,
  book TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX pings_key ON pings (ping_key);

-- The signs of the processes that could take pings: one row.
CREATE TABLE presence (
  one INTEGER PRIMARY KEY,
  number INTEGER NOT NULL,
  state TEXT NOT NULL
) STRICT, WITHOUT ROWID;
