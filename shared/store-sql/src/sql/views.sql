-- Views for people with `sqlite3`: names, ids that can be read, and ISO instants.

CREATE VIEW job_overview AS SELECT
  collections.subscription || '/' || collections.resource_group || '/' || collections.name AS collection,
  jobs.name AS job,
  timers.state AS state,
  strftime('%Y-%m-%dT%H:%M:%SZ', timers.due_at / 10000000, 'unixepoch') AS due_at,
  timers.executions AS executions,
  timers.failures AS failures,
  timers.faulted AS faulted,
  timers.skipped AS skipped,
  strftime('%Y-%m-%dT%H:%M:%SZ', timers.last_at / 10000000, 'unixepoch') AS last_at,
  timers.timetable AS timetable,
  jobs.document AS document,
  lower(hex(jobs.uid)) AS uid
FROM jobs
JOIN timers ON timers.job_uid = jobs.uid
LEFT JOIN collections ON collections.uid = jobs.collection_uid;

CREATE VIEW history AS SELECT
  collections.subscription || '/' || collections.resource_group || '/' || collections.name AS collection,
  jobs.name AS job,
  strftime('%Y-%m-%dT%H:%M:%SZ', attempts.nominal_at / 10000000, 'unixepoch') AS nominal_at,
  CASE attempts.role WHEN 0 THEN 'action' WHEN 1 THEN 'errorAction' ELSE 'notice' END AS role,
  attempts.number AS number,
  strftime('%Y-%m-%dT%H:%M:%SZ', attempts.started_at / 10000000, 'unixepoch') AS started_at,
  strftime('%Y-%m-%dT%H:%M:%SZ', attempts.ended_at / 10000000, 'unixepoch') AS ended_at,
  COALESCE(attempts.outcome, CASE attempts.claims WHEN 0 THEN 'waiting' ELSE 'running' END) AS outcome,
  attempts.message AS message,
  lower(hex(attempts.job_uid)) AS job_uid
FROM attempts
LEFT JOIN timers ON timers.job_uid = attempts.job_uid
LEFT JOIN jobs ON jobs.collection_uid = timers.collection_uid AND jobs.name_key = timers.job_key
LEFT JOIN collections ON collections.uid = timers.collection_uid;
