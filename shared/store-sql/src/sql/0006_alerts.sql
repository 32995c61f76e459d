-- Whether the failure action of a collection has a format (1) or rules (2).
ALTER TABLE collections ADD COLUMN alert_use INTEGER;

-- The states of alerts: of jobs under rules, and of collections of which an alert failed.
CREATE TABLE alerts (
  uid BLOB PRIMARY KEY,
  number INTEGER NOT NULL,
  state TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
