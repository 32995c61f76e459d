-- Views for people with `psql`: names, ids that can be read, and ISO instants.

DROP VIEW IF EXISTS job_overview, history;

CREATE VIEW job_overview AS SELECT
  collections.subscription || '/' || collections.resource_group || '/' || collections.name AS collection,
  jobs.name AS job,
  timers.state AS state,
  to_char(to_timestamp(timers.due_at / 10000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS due_at,
  timers.executions AS executions,
  timers.failures AS failures,
  timers.faulted AS faulted,
  timers.skipped AS skipped,
  to_char(to_timestamp(timers.last_at / 10000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS last_at,
  timers.timetable AS timetable,
  jobs.document AS document,
  encode(jobs.uid, 'hex') AS uid
FROM jobs
JOIN timers ON timers.job_uid = jobs.uid
LEFT JOIN collections ON collections.uid = jobs.collection_uid;

CREATE VIEW history AS SELECT
  collections.subscription || '/' || collections.resource_group || '/' || collections.name AS collection,
  jobs.name AS job,
  to_char(to_timestamp(attempts.nominal_at / 10000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS nominal_at,
  CASE attempts.role WHEN 0 THEN 'action' WHEN 1 THEN 'errorAction' ELSE 'notice' END AS role,
  attempts.number AS number,
  to_char(to_timestamp(attempts.started_at / 10000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS started_at,
  to_char(to_timestamp(attempts.ended_at / 10000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS ended_at,
  COALESCE(attempts.outcome, CASE attempts.claims WHEN 0 THEN 'waiting' ELSE 'running' END) AS outcome,
  attempts.message AS message,
  encode(attempts.job_uid, 'hex') AS job_uid
FROM attempts
LEFT JOIN timers ON timers.job_uid = attempts.job_uid
LEFT JOIN jobs ON jobs.collection_uid = timers.collection_uid AND jobs.name_key = timers.job_key
LEFT JOIN collections ON collections.uid = timers.collection_uid;
