-- Several processes on one database. SQLite has one, and reads a comment where PostgreSQL reads tables.
--
-- A message that is hidden belongs to the process that received it, until it is put back; 0 is no process.

ALTER TABLE messages ADD COLUMN process INTEGER NOT NULL DEFAULT 0;

-- Where a message stands among those that can be received: at its due time, and on PostgreSQL not before it
-- was written or shown again, so that a receiver need not look from the beginning each time.
ALTER TABLE messages ADD COLUMN stands_at INTEGER NOT NULL DEFAULT 0;
UPDATE messages SET stands_at = due_at;
DROP INDEX messages_visible;
CREATE INDEX messages_visible ON messages (stands_at, due_at) WHERE hidden_until IS NULL;

-- A process is alive while it has a row: a script that takes something for it locks the row first. The
-- signs of life are rows of their own, so that no such lock holds them up.
/*pg CREATE TABLE processes (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  since INTEGER NOT NULL
);
CREATE TABLE signs (
  process INTEGER PRIMARY KEY,
  counter INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
);
CREATE INDEX attempts_of_process ON attempts (process) WHERE ended_at IS NULL AND process <> 0;*/
