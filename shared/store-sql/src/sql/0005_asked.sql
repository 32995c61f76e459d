-- Runs that were asked for under a key, so that each is begun once.
CREATE TABLE asked (
  job_uid BLOB NOT NULL,
  asked_key TEXT NOT NULL,
  generation INTEGER NOT NULL,
  asked_at INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (job_uid, asked_key)
) STRICT, WITHOUT ROWID;
