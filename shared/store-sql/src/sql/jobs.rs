//! Collections, jobs and their timers.

macro_rules! collection {
    () => {
        "SELECT uid, subscription, resource_group, name, document, job_count, on_since, sealed, state_since, \
         label, version, name_key, group_key FROM collections "
    };
}

macro_rules! job_columns {
    () => {
        "SELECT timers.job_uid, name, document, jobs.sealed, version, expires_at, earlier, state, generation, \
         anchor, since, used, timetable, due_at, is_spent, executions, failures, faulted, skipped, last_at, recent, \
         last_skip, latest, "
    };
}

macro_rules! job {
    () => {
        concat!(job_columns!(), "name_key FROM jobs JOIN timers ON timers.job_uid = jobs.uid ")
    };
}

statements! {
    COLLECTION = concat!(collection!(), "WHERE subscription_key = ?1 AND name_key = ?2 AND group_key = ?3");

    COLLECTION_OF_UID = concat!(collection!(), "WHERE uid = ?1");

    /// A page of the collections of a subscription, or of one of its groups, behind a position.
    COLLECTIONS = concat!(
        collection!(),
        "WHERE subscription_key = ?1 AND group_key = COALESCE(?2, group_key) AND name_key >= ?3 \
         AND (name_key, group_key) > (?3, ?4) ORDER BY name_key, group_key LIMIT ?5"
    );

    CREATE_COLLECTION = "INSERT INTO collections (uid, subscription, resource_group, name, \
         subscription_key, group_key, name_key, document, sealed, label, job_count, creations, on_since, state_since, \
         version, state, plan, per_second, concurrent, has_failure_action, alert_use) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20) \
         ON CONFLICT DO NOTHING";

    /// The change was checked against the jobs of the collection: no job may have been added since.
    REPLACE_COLLECTION = "UPDATE collections SET document = ?2, sealed = ?3, label = ?4, \
         on_since = ?5, state_since = COALESCE(?6, state_since), version = version + 1, state = ?7, plan = ?8, \
         per_second = ?9, concurrent = ?10, has_failure_action = ?11, alert_use = ?12 \
         WHERE uid = ?1 AND version = ?13 AND job_count = ?14";

    DELETE_COLLECTION = "DELETE FROM collections WHERE uid = ?1 AND version = ?2";

    REGISTER = "INSERT INTO subscriptions (key, name) VALUES (?1, ?2) \
         ON CONFLICT (key) DO UPDATE SET name = excluded.name";

    SUBSCRIPTIONS = "SELECT key, name FROM subscriptions WHERE key > ?1 ORDER BY key LIMIT ?2";

    COLLECTION_PATH = "SELECT uid, subscription || '/' || resource_group || '/' || name FROM collections WHERE uid = ?1";

    PURGE = "SELECT collection_uid FROM purges WHERE collection_uid = ?1";

    ADD_PURGE = "INSERT INTO purges (collection_uid, due_at) VALUES (?1, ?2) \
         ON CONFLICT (collection_uid) DO UPDATE SET due_at = excluded.due_at";


    /// What a ping needs to know.
    JOB_OF_PING = concat!(
        job_columns!(),
        "pings.collection_uid, pings.job_key, number, book FROM pings \
         JOIN jobs ON jobs.collection_uid = pings.collection_uid AND jobs.name_key = pings.job_key \
         JOIN timers ON timers.job_uid = jobs.uid WHERE pings.ping_key = ?1 AND jobs.uid = pings.job_uid"
    );

    JOB = concat!(job!(), "WHERE jobs.collection_uid = ?1 AND name_key = ?2");

    /// A page of the jobs of a collection that have not expired and whose names begin with a prefix, behind a
    /// position. No name has a character that follows `?4`.
    JOBS = concat!(
        job!(),
        "WHERE jobs.collection_uid = ?1 AND name_key > ?2 AND name_key >= ?3 AND name_key < ?4 \
         AND (expires_at IS NULL OR expires_at > ?5) ORDER BY name_key LIMIT ?6"
    );

    /// The names of such a page alone.
    JOB_NAMES = "SELECT name FROM jobs WHERE collection_uid = ?1 AND name_key > ?2 AND name_key >= ?3 \
         AND name_key < ?4 AND (expires_at IS NULL OR expires_at > ?5) ORDER BY name_key LIMIT ?6";

    COUNT_ONE = "UPDATE collections SET job_count = job_count + 1, creations = creations + 1 \
         WHERE uid = ?1 AND version = ?2 AND job_count < ?3";

    COUNT_OFF = "UPDATE collections SET job_count = job_count - 1 WHERE uid = ?1";

    /// Why a job was not created.
    STANDING = "SELECT uid, version, job_count, EXISTS (SELECT 1 FROM jobs \
         WHERE collection_uid = ?1 AND name_key = ?2 AND (expires_at IS NULL OR expires_at > ?3)) \
         FROM collections WHERE uid = ?1";

    /// Before a new job takes the name of one that has expired.
    FORGET_TIMER = "DELETE FROM timers WHERE job_uid = (SELECT uid FROM jobs \
         WHERE collection_uid = ?1 AND name_key = ?2 AND expires_at <= ?3 /*pg FOR UPDATE*/)";

    FORGET_JOB = "DELETE FROM jobs WHERE collection_uid = ?1 AND name_key = ?2 AND expires_at <= ?3";

    CREATE_JOB = "INSERT INTO jobs (collection_uid, name_key, uid, name, document, sealed, \
         version, expires_at, earlier) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING";

    CREATE_TIMER = "INSERT INTO timers (job_uid, collection_uid, job_key, state, generation, \
         anchor, since, used, timetable, due_at, is_spent, executions, failures, faulted, skipped, last_at, recent, \
         last_skip, latest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, \
         ?18, ?19) \
         ON CONFLICT DO NOTHING";

    REPLACE_JOB = "UPDATE jobs SET name = ?5, document = ?6, sealed = ?7, \
         version = version + 1, expires_at = ?8, earlier = ?9 \
         WHERE collection_uid = ?1 AND name_key = ?2 AND uid = ?3 AND version = ?4";

    /// Another timing, if the timer still has the one that was read. The counters stay.
    REPLACE_TIMING = "UPDATE timers SET state = ?3, generation = ?4, anchor = ?5, since = ?6, \
         used = ?7, timetable = ?8, due_at = ?9, is_spent = ?10 \
         WHERE job_uid = ?1 AND generation = ?2 AND state NOT IN ('completed', 'faulted')";

    /// The policies in the line of the timetable, unless the job has finished: the definition says then when
    /// it expires, which the new one does not know.
    REPLACE_LINE = "UPDATE timers SET timetable = COALESCE(?2, timetable) \
         WHERE job_uid = ?1 AND state NOT IN ('completed', 'faulted')";

    DELETE_JOB = "DELETE FROM jobs WHERE collection_uid = ?1 AND name_key = ?2 AND uid = ?3 AND version = ?4";

    DELETE_TIMER = "DELETE FROM timers WHERE job_uid = ?1";

    COUNTS = "SELECT uid, job_count, creations, (SELECT count(*) FROM jobs \
         WHERE collection_uid = ?1 AND (expires_at IS NULL OR expires_at > ?2)) FROM collections WHERE uid = ?1";

    CORRECT_COUNT = "UPDATE collections SET job_count = ?2 WHERE uid = ?1 AND job_count = ?3 AND creations = ?4";

    /// Everything that decides whether an attempt may start.
    SNAPSHOT = "SELECT job_uid, jobs.name, jobs.document, jobs.sealed, jobs.version, expires_at, \
         earlier, timers.state, generation, anchor, since, used, timetable, due_at, is_spent, executions, failures, faulted, \
         skipped, last_at, recent, last_skip, latest, settled, checksum, \
         collections.subscription || '/' || collections.resource_group || '/' || collections.name, plan, collections.state, \
         on_since, has_failure_action, alert_use, per_second, concurrent \
         FROM jobs JOIN timers ON timers.job_uid = jobs.uid JOIN collections ON collections.uid = jobs.collection_uid \
         WHERE jobs.collection_uid = ?1 AND jobs.name_key = ?2 AND jobs.uid = ?3";

    /// The timers that are due until an instant, the earliest first, behind a position.
    DUE = "SELECT job_uid AS uid, 0 AS kind, '' AS attempt, due_at, collection_uid, job_key, \
         state, generation, timetable, is_spent, NULL AS attempt_due_at FROM timers \
         WHERE due_at BETWEEN ?2 AND ?1 AND (due_at, job_uid, 0, '') > (?2, ?3, ?4, ?5) \
         UNION ALL SELECT job_uid, 1, attempt, due_at, collection_uid, job_key, COALESCE(asked_by, ''), 0, '', policy, attempt_due_at \
         FROM retries WHERE due_at BETWEEN ?2 AND ?1 AND (due_at, job_uid, 1, attempt) > (?2, ?3, ?4, ?5) \
         UNION ALL SELECT collection_uid, 2, '', due_at, collection_uid, '', '', 0, '', 0, NULL FROM purges \
         WHERE due_at BETWEEN ?2 AND ?1 AND (due_at, collection_uid, 2, '') > (?2, ?3, ?4, ?5) \
         ORDER BY due_at, uid, kind, attempt LIMIT ?6";

    MOVE_TIMER = "UPDATE timers SET due_at = ?3, is_spent = ?4, skipped = skipped + ?5, \
         last_skip = COALESCE(?6, last_skip) \
         WHERE job_uid = ?1 AND due_at = ?2 AND generation = ?7 AND state = ?8 RETURNING 1";

    MOVE_RETRY = "UPDATE retries SET due_at = ?3 WHERE job_uid = ?1 AND due_at = ?2 AND attempt = ?4 RETURNING 1";

    MOVE_PURGE = "UPDATE purges SET due_at = ?3 WHERE collection_uid = ?1 AND due_at = ?2 RETURNING 1";

    EXPIRE_JOB = "UPDATE jobs SET expires_at = ?5 \
         WHERE collection_uid = ?1 AND name_key = ?2 AND uid = ?3 AND version = ?4";

    /// The definition in a version, which stays in it until the script has ended.
    HAS_VERSION = "SELECT 1 FROM jobs WHERE collection_uid = ?1 AND name_key = ?2 AND uid = ?3 AND version = ?4 \
         /*pg FOR SHARE*/";

    /// A job that an earlier version finished is in the index still.
    FINISH = "UPDATE timers SET state = ?3, due_at = NULL WHERE job_uid = ?1 \
         AND generation = ?2 AND (state = 'enabled' OR (state = ?3 AND due_at IS NOT NULL))";

    /// Whether a job was finished before, and the answer was lost.
    IS_FINISHED = "SELECT 1 FROM timers JOIN jobs ON jobs.uid = timers.job_uid \
         WHERE jobs.collection_uid = ?1 AND name_key = ?2 AND timers.job_uid = ?3 AND generation = ?4 AND state = ?5 \
         AND expires_at = ?6";

    /// A user resumes the job before it pauses again, and writes no more than a few timings.
    PAUSE_JOB = "UPDATE jobs SET document = ?5, version = version + 1, expires_at = NULL, \
         earlier = COALESCE(earlier, '') || ?6 \
         WHERE collection_uid = ?1 AND name_key = ?2 AND uid = ?3 AND version = ?4";

    PAUSE_TIMER = "UPDATE timers SET state = 'disabled', generation = ?3, since = ?4, used = ?5, \
         timetable = NULL, due_at = NULL, is_spent = 0 \
         WHERE job_uid = ?1 AND generation = ?2 AND state = 'enabled'";

    /// The states of a page of jobs that have not expired.
    JOB_STATES = "SELECT timers.job_uid, timers.state FROM timers JOIN jobs \
         ON jobs.collection_uid = timers.collection_uid AND jobs.name_key = timers.job_key \
         WHERE timers.job_uid > ?1 AND (jobs.expires_at IS NULL OR jobs.expires_at > ?2) \
         ORDER BY timers.job_uid LIMIT ?3";

    /// The states of a page of collections.
    COLLECTION_STATES = "SELECT uid, state FROM collections WHERE uid > ?1 ORDER BY uid LIMIT ?2";

    /// When a user last changed something in each collection.
    COLLECTION_MARKS = "SELECT uid, (SELECT MAX(at) FROM journal WHERE journal.collection_uid = collections.uid) \
         FROM collections WHERE uid >= ?1 ORDER BY uid LIMIT ?2";

    /// A page of the jobs that have secrets, behind a position.
    SEALED_JOBS = "SELECT uid, sealed, collection_uid, name_key, name FROM jobs \
         WHERE (collection_uid, name_key) > (?1, ?2) AND sealed IS NOT NULL \
         ORDER BY collection_uid, name_key LIMIT ?3";

    /// A page of the collections that have secrets, behind a position.
    SEALED_COLLECTIONS = "SELECT uid, sealed, subscription || '/' || resource_group || '/' || name \
         FROM collections WHERE uid > ?1 AND sealed IS NOT NULL ORDER BY uid LIMIT ?2";

    KEEP_RETRY = "INSERT INTO retries (job_uid, attempt, collection_uid, job_key, due_at, \
         attempt_due_at, policy, asked_by) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7) ON CONFLICT DO NOTHING";

    /// The timer of a deadline, in place of the one in which the attempt waited, if it did.
    SET_RETRY = "INSERT INTO retries (job_uid, attempt, collection_uid, job_key, due_at, \
         attempt_due_at, policy, asked_by) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7) \
         ON CONFLICT (job_uid, attempt) DO UPDATE SET due_at = excluded.due_at, \
         attempt_due_at = excluded.attempt_due_at, policy = excluded.policy";

    REMOVE_RETRY = "DELETE FROM retries WHERE job_uid = ?1 AND attempt = ?2";

    RETRIES = "SELECT job_uid, attempt, attempt_due_at, policy, asked_by FROM retries WHERE job_uid = ?1 ORDER BY attempt LIMIT ?2";

    /// A page of all retries, behind a position.
    ALL_RETRIES = "SELECT job_uid, attempt, attempt_due_at, policy, asked_by, collection_uid, job_key \
         FROM retries WHERE (job_uid, attempt) > (?1, ?2) ORDER BY job_uid, attempt LIMIT ?3";

    /// Counts, if no others were counted since the job was read.
    COUNT = "UPDATE timers SET settled = ?3, checksum = ?4, recent = ?5, \
         executions = executions + ?6, failures = failures + ?7, faulted = faulted + ?8, skipped = skipped + ?9, \
         last_at = COALESCE(?10, last_at), last_skip = COALESCE(?11, last_skip), \
         latest = COALESCE(?13, latest) \
         WHERE job_uid = ?1 AND COALESCE(settled, ?12) = ?2";

    /// Keeps a run under its key, unless another one is kept under it.
    KEEP_ASKED = "INSERT INTO asked (job_uid, asked_key, generation, asked_at, run_id, expires_at, asked_by) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?9) ON CONFLICT (job_uid, asked_key) DO UPDATE SET \
         generation = excluded.generation, asked_at = excluded.asked_at, run_id = excluded.run_id, \
         expires_at = excluded.expires_at, asked_by = excluded.asked_by \
         WHERE asked.expires_at <= ?7 OR asked.run_id IN (?8, excluded.run_id)";

    ASKED = "SELECT job_uid, generation, asked_at, run_id, expires_at, asked_by FROM asked \
         WHERE job_uid = ?1 AND asked_key = ?2";

    SETTLED = "SELECT job_uid, settled FROM timers WHERE job_uid = ?1";

    EVICT = "INSERT INTO counted (job_uid, newest, ids, expires_at) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT DO NOTHING";

    /// What a job no longer remembers of what ended at an instant or later, behind a position.
    EVICTED = "SELECT job_uid, newest, ids FROM counted WHERE job_uid = ?1 AND newest >= ?2 \
         AND (newest, ids) > (?2, ?3) ORDER BY newest, ids LIMIT ?4";

    /// The jobs of a deleted collection that are removed next, and their timers.
    PURGE_TIMERS = "WITH first AS MATERIALIZED (SELECT uid FROM jobs WHERE collection_uid = ?1 \
         ORDER BY name_key LIMIT ?2 /*pg FOR UPDATE*/) \
         DELETE FROM timers WHERE job_uid IN (SELECT uid FROM first)";

    PURGE_JOBS = "WITH first AS MATERIALIZED (SELECT name_key FROM jobs WHERE collection_uid = ?1 \
         ORDER BY name_key LIMIT ?2) \
         DELETE FROM jobs WHERE collection_uid = ?1 AND name_key IN (SELECT name_key FROM first)";

    END_PURGE = "DELETE FROM purges WHERE collection_uid = ?1 \
         AND NOT EXISTS (SELECT 1 FROM jobs WHERE collection_uid = ?1)";

    ANY_JOB = "SELECT 1 FROM jobs WHERE collection_uid = ?1 LIMIT 1";
}
