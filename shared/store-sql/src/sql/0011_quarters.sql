-- What became of the occurrences of a collection in a quarter of an hour, and how late their first attempts started.
-- PostgreSQL has several rows of a quarter, so that what is counted at once does not wait for one row.
CREATE TABLE quarters (
  collection_uid BLOB NOT NULL,
  at INTEGER NOT NULL,
  part INTEGER NOT NULL,
  ok INTEGER NOT NULL DEFAULT 0,
  retried INTEGER NOT NULL DEFAULT 0,
  late INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  skipped INTEGER NOT NULL DEFAULT 0,
  start_0 INTEGER NOT NULL DEFAULT 0,
  start_1 INTEGER NOT NULL DEFAULT 0,
  start_2 INTEGER NOT NULL DEFAULT 0,
  start_3 INTEGER NOT NULL DEFAULT 0,
  start_4 INTEGER NOT NULL DEFAULT 0,
  start_5 INTEGER NOT NULL DEFAULT 0,
  start_6 INTEGER NOT NULL DEFAULT 0,
  start_7 INTEGER NOT NULL DEFAULT 0,
  start_8 INTEGER NOT NULL DEFAULT 0,
  start_9 INTEGER NOT NULL DEFAULT 0,
  start_10 INTEGER NOT NULL DEFAULT 0,
  start_11 INTEGER NOT NULL DEFAULT 0,
  start_12 INTEGER NOT NULL DEFAULT 0,
  start_13 INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (collection_uid, at, part)
) STRICT, WITHOUT ROWID;
