//! Claims, records and history.

/// The row of one attempt: the first six parameters.
macro_rules! this {
    () => {
        "job_uid = ?1 AND nominal_at = ?2 AND generation = ?3 AND occurrence = ?4 AND role = ?5 AND number = ?6"
    };
}

/// The row of one attempt while the caller's claim holds it: the first eight parameters.
macro_rules! mine {
    () => {
        concat!(this!(), " AND process = ?7 AND claim_id = ?8 AND ended_at IS NULL")
    };
}

/// What [`crate::attempts`] reads of a row.
macro_rules! columns {
    () => {
        "SELECT job_uid, nominal_at, generation, occurrence, role, number, attempt_due_at, process, claim_id, \
         claims, lease_until, asked_by, open_until, ending, progress, started_at, ended_at, outcome, message, repeat_count, body_bytes, what_next, \
         next_at, cause FROM attempts "
    };
}

/// The order of history, the newest first.
macro_rules! newest_first {
    () => {
        " ORDER BY nominal_at DESC, generation DESC, occurrence DESC, role DESC, number DESC LIMIT "
    };
}

statements! {
    /// Claims: of a row that is there, what [`crate::attempts::Seen`] says.
    CLAIM = concat!("INSERT INTO attempts (job_uid, nominal_at, generation, occurrence, role, number, \
         process, claim_id, claims, lease_until, attempt_due_at, expires_at, asked_by) \
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1, ?9, ?10, ?11, ?15 WHERE 1 = 1", alive!("?7"), " \
         ON CONFLICT (job_uid, nominal_at, generation, occurrence, role, number) DO UPDATE SET \
         claims = CASE \
         WHEN attempts.claims = 0 THEN 1 \
         WHEN attempts.process = ?7 AND attempts.claim_id = ?8 THEN attempts.claims \
         WHEN attempts.lease_until < ?12 AND attempts.claims < ?14 THEN attempts.claims + 1 \
         ELSE attempts.claims END, \
         process = excluded.process, claim_id = excluded.claim_id, \
         lease_until = excluded.lease_until, expires_at = excluded.expires_at \
         WHERE attempts.ended_at IS NULL AND attempts.open_until IS NULL AND attempts.ending IS NULL AND CASE \
         WHEN attempts.claims = 0 THEN ?13 = 1 OR attempts.lease_until <= ?12 \
         ELSE (attempts.process = ?7 AND attempts.claim_id = ?8) OR attempts.lease_until < ?12 \
         OR (?7 <> 0 AND attempts.process <> ?7 /*pg AND FALSE*/) END \
         RETURNING claims");

    ONE = concat!(columns!(), "WHERE ", this!());

    /// Whether the caller's claim holds the attempt.
    IS_MINE = concat!("SELECT 1 FROM attempts WHERE ", mine!());

    RELEASE = concat!("DELETE FROM attempts WHERE ", mine!());

    POSTPONE = concat!(
        "UPDATE attempts SET claims = claims - 1, lease_until = ?9, expires_at = ?10 WHERE claims > 0 AND ",
        mine!()
    );

    RECORD = concat!(
        "UPDATE attempts SET started_at = ?9, ended_at = ?10, outcome = ?11, message = ?12, repeat_count = ?13, \
         body_bytes = ?14, what_next = ?15, next_at = ?16, expires_at = ?17, cause = ?18, lease_until = NULL, claims = 0 WHERE ",
        mine!()
    );

    /// Leaves an attempt open. The caller's claim ends with that.
    LEAVE_OPEN = concat!(
        "UPDATE attempts SET process = 0, started_at = ?9, open_until = ?10, lease_until = ?11, expires_at = ?12 \
         WHERE ending IS NULL AND open_until IS NULL AND ", mine!()
    );

    /// Keeps the turn of an attempt that is left open. What was decided on the order before it is decided anew.
    KEEP_TURN = "UPDATE turns SET number = number + 1, process = 0, lease_until = ?4, expires_at = ?5 \
         WHERE job_uid = ?1 AND process = ?2 AND claim_id = ?3";

    /// Keeps the seat of an attempt that is left open.
    KEEP_SEAT = "UPDATE seats SET process = 0, lease_until = ?4 WHERE collection_uid = ?1 AND process = ?2 AND claim_id = ?3";

    /// Says how an attempt ended that is open or, if its target says so, under way.
    SAY_ENDING = concat!(
        "UPDATE attempts SET ending = ?7 WHERE ", this!(), " AND ended_at IS NULL AND ending IS NULL AND claims > 0 \
         AND CASE WHEN open_until IS NULL THEN ?9 = 1 ELSE open_until >= ?8 END"
    );

    NOTE_PROGRESS = concat!(
        "UPDATE attempts SET progress = ?7 WHERE ", this!(), " AND ended_at IS NULL AND ending IS NULL AND claims > 0"
    );

    /// Records the ending that was said. Whose claim it was is of no matter.
    RECORD_ENDING = concat!(
        "UPDATE attempts SET started_at = ?7, ended_at = ?8, outcome = ?9, message = ?10, repeat_count = ?11, \
         body_bytes = ?12, what_next = ?13, next_at = ?14, expires_at = ?15, cause = ?16, lease_until = NULL, claims = 0 WHERE ",
        this!(), " AND ended_at IS NULL AND ending IS NOT NULL"
    );

    /// A page of history behind a position.
    HISTORY = concat!(
        columns!(),
        "WHERE job_uid = ?1 AND nominal_at <= ?2 \
         AND (nominal_at, generation, occurrence, role, number) < (?2, ?3, ?4, ?5, ?6)",
        newest_first!(),
        "?7"
    );

    /// Attempts up to an instant in the order in which they follow each other, behind a position.
    BETWEEN = concat!(
        columns!(),
        "WHERE job_uid = ?1 AND nominal_at BETWEEN ?2 AND ?7 \
         AND (nominal_at, generation, occurrence, role, number) > (?2, ?3, ?4, ?5, ?6) \
         ORDER BY nominal_at, generation, occurrence, role, number LIMIT ?8"
    );

    /// Attempts of all jobs in the order of their keys, behind a position.
    ALL_ATTEMPTS = concat!(
        columns!(),
        "WHERE (job_uid, nominal_at, generation, occurrence, role, number) > (?1, ?2, ?3, ?4, ?5, ?6) \
         ORDER BY job_uid, nominal_at, generation, occurrence, role, number LIMIT ?7"
    );

    /// The attempts that have not ended.
    PRESENT = concat!(
        columns!(),
        "WHERE ended_at IS NULL AND lease_until >= ?1 ORDER BY lease_until LIMIT ?2"
    );

    LEAVE_OUT = "INSERT INTO left_out (job_uid, first_at, generation, reason, last_at, \
         occurrences, left_at, outage_from, outage_until, expires_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
         ON CONFLICT (job_uid, first_at, generation, reason) DO UPDATE SET \
         last_at = excluded.last_at, occurrences = excluded.occurrences, left_at = excluded.left_at, \
         outage_from = excluded.outage_from, outage_until = excluded.outage_until, \
         expires_at = excluded.expires_at WHERE left_out.last_at < excluded.last_at";

    /// A page of what was left out, behind a position.
    LEFT_OUT = "SELECT job_uid, first_at, generation, reason, last_at, occurrences, left_at, \
         outage_from, outage_until FROM left_out \
         WHERE job_uid = ?1 AND first_at <= ?2 AND (first_at, generation, reason) < (?2, ?3, ?4) \
         ORDER BY first_at DESC, generation DESC, reason DESC LIMIT ?5";

    IS_LEFT_OUT = "SELECT 1 FROM left_out WHERE job_uid = ?1 AND first_at = ?2 AND generation = ?3 AND reason = ?4";

    ADD_FAILURE = "INSERT INTO failures (subscription_key, ended_at, nominal_at, job_uid, \
         path, name, is_run, attempts, message, target, cause, said, \
         expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT DO NOTHING";

    REMOVE_FAILURE = "DELETE FROM failures WHERE subscription_key = ?1 AND ended_at = ?2 \
         AND nominal_at = ?3 AND job_uid = ?4";

    /// A page of failures that ended from one instant on, behind a position.
    FAILURES = "SELECT job_uid, path, name, nominal_at, is_run, attempts, ended_at, message, \
         target, cause, said FROM failures WHERE subscription_key = ?1 AND ended_at >= ?2 AND ended_at <= ?3 \
         AND (ended_at, nominal_at, job_uid) < (?3, ?4, ?5) \
         ORDER BY ended_at DESC, nominal_at DESC, job_uid DESC LIMIT ?6";

    /// The order of turns of a job.
    TURNS = "SELECT job_uid, number, turn, process, claim_id, lease_until, waiting FROM turns WHERE job_uid = ?1";

    /// Stores the first order of turns.
    FIRST_TURNS = concat!("INSERT INTO turns (job_uid, number, turn, process, claim_id, lease_until, \
         waiting, expires_at) SELECT ?1, ?2 + 1, ?3, ?4, ?5, ?6, ?7, ?8 WHERE 1 = 1", alive!("?4"), "ON CONFLICT DO NOTHING");

    /// Stores an order of turns in place of the one that was read. A holder that stays is of the process that it was of.
    NEXT_TURNS = concat!("UPDATE turns SET number = ?2 + 1, turn = ?3, \
         process = CASE WHEN claim_id = ?5 THEN process ELSE ?4 END, claim_id = ?5, \
         lease_until = ?6, waiting = ?7, expires_at = ?8 WHERE job_uid = ?1 AND number = ?2", alive!("?4"));

    GIVE_BACK_TURN = "UPDATE turns SET number = number + 1, turn = NULL, claim_id = NULL \
         WHERE job_uid = ?1 AND process = ?2 AND claim_id = ?3";

    ALERT = "SELECT uid, number, state FROM alerts WHERE uid = ?1";

    /// Stores the first state of alerts.
    FIRST_ALERT = "INSERT INTO alerts (uid, number, state, expires_at) VALUES (?1, ?2 + 1, ?3, ?4) ON CONFLICT DO NOTHING";

    /// Stores a state of alerts in place of the one that was read.
    NEXT_ALERT = "UPDATE alerts SET number = ?2 + 1, state = ?3, expires_at = ?4 WHERE uid = ?1 AND number = ?2";

    SLOTS = "SELECT collection_uid, next_at, book, per_second FROM slots WHERE collection_uid = ?1";

    /// Opens the first book of slots.
    FIRST_SLOTS = "INSERT INTO slots (collection_uid, next_at, book, per_second, expires_at) \
         VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";

    /// Opens a book of slots in place of the one that was read.
    NEXT_SLOTS = "UPDATE slots SET next_at = ?2, book = ?3, per_second = ?4, expires_at = ?5 \
         WHERE collection_uid = ?1 AND next_at = ?6 AND book = ?7";

    TAKE_SLOT = "UPDATE slots SET next_at = next_at + ?2, expires_at = ?3 \
         WHERE collection_uid = ?1 AND per_second = ?4 AND next_at BETWEEN ?5 AND ?6 \
         RETURNING collection_uid, next_at - ?2, book";

    /// The seats that are taken: leases that are over and claims of earlier processes have none. Those of open
    /// attempts are of no process.
    TAKEN_SEATS = "SELECT count(*) FROM seats \
         WHERE collection_uid = ?1 AND lease_until >= ?2 AND (?3 = 0 OR process IN (?3, 0) /*pg OR TRUE*/)";

    FREE_SEATS = "DELETE FROM seats WHERE collection_uid = ?1 \
         AND (lease_until < ?2 OR (?3 <> 0 AND process NOT IN (?3, 0) /*pg AND FALSE*/)) AND NOT (process = ?3 AND claim_id = ?4)";

    TAKE_SEAT = concat!("INSERT INTO seats (collection_uid, process, claim_id, lease_until) \
         SELECT ?1, ?2, ?3, ?4 WHERE (SELECT count(*) FROM seats WHERE collection_uid = ?1 \
         AND NOT (process = ?2 AND claim_id = ?3)) < ?5", alive!("?2"), "\
         ON CONFLICT (collection_uid, process, claim_id) DO UPDATE SET lease_until = excluded.lease_until");

    OWN_SEAT = "SELECT 1 FROM seats WHERE collection_uid = ?1 AND process = ?2 AND claim_id = ?3";

    GIVE_BACK_SEAT = "DELETE FROM seats WHERE collection_uid = ?1 AND process IN (?2, 0) AND claim_id = ?3";
}
