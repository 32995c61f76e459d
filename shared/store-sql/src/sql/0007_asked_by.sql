-- The caller who asked for a run, if that is known.
ALTER TABLE attempts ADD COLUMN asked_by TEXT;
ALTER TABLE retries ADD COLUMN asked_by TEXT;
ALTER TABLE asked ADD COLUMN asked_by TEXT;
-- The kind of an entry if its operation does not say all, and the run that was asked for.
ALTER TABLE journal ADD COLUMN kind TEXT;
