//! What became of occurrences, by collections and quarters of an hour.

statements! {
    /// Adds to the counts of the collection of a job, while the job is there.
    ADD_QUARTER = "INSERT INTO quarters (collection_uid, at, part, \
         ok, retried, late, failed, skipped, start_0, start_1, start_2, start_3, start_4, start_5, start_6, \
         start_7, start_8, start_9, start_10, start_11, start_12, start_13, expires_at) \
         SELECT collection_uid, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23 \
         FROM timers WHERE job_uid = ?1 \
         ON CONFLICT (collection_uid, at, part) DO UPDATE SET \
         ok = quarters.ok + excluded.ok, retried = quarters.retried + excluded.retried, \
         late = quarters.late + excluded.late, failed = quarters.failed + excluded.failed, \
         skipped = quarters.skipped + excluded.skipped, start_0 = quarters.start_0 + excluded.start_0, \
         start_1 = quarters.start_1 + excluded.start_1, start_2 = quarters.start_2 + excluded.start_2, \
         start_3 = quarters.start_3 + excluded.start_3, start_4 = quarters.start_4 + excluded.start_4, \
         start_5 = quarters.start_5 + excluded.start_5, start_6 = quarters.start_6 + excluded.start_6, \
         start_7 = quarters.start_7 + excluded.start_7, start_8 = quarters.start_8 + excluded.start_8, \
         start_9 = quarters.start_9 + excluded.start_9, start_10 = quarters.start_10 + excluded.start_10, \
         start_11 = quarters.start_11 + excluded.start_11, start_12 = quarters.start_12 + excluded.start_12, \
         start_13 = quarters.start_13 + excluded.start_13";

    /// Adds what a sweeper leaves out when it moves a timer, if the timer is where it was seen. It stays there until
    /// the script has moved it.
    ADD_LEFT_OUT = "INSERT INTO quarters (collection_uid, at, part, skipped, expires_at) \
         SELECT collection_uid, ?2, ?3, ?4, ?5 \
         FROM timers WHERE job_uid = ?1 AND due_at = ?6 AND generation = ?7 AND state = ?8 /*pg FOR UPDATE*/ \
         ON CONFLICT (collection_uid, at, part) DO UPDATE SET skipped = quarters.skipped + excluded.skipped";

    QUARTERS = "SELECT at, \
         CAST(SUM(ok) AS BIGINT), CAST(SUM(retried) AS BIGINT), CAST(SUM(late) AS BIGINT), \
         CAST(SUM(failed) AS BIGINT), CAST(SUM(skipped) AS BIGINT), CAST(SUM(start_0) AS BIGINT), \
         CAST(SUM(start_1) AS BIGINT), CAST(SUM(start_2) AS BIGINT), CAST(SUM(start_3) AS BIGINT), \
         CAST(SUM(start_4) AS BIGINT), CAST(SUM(start_5) AS BIGINT), CAST(SUM(start_6) AS BIGINT), \
         CAST(SUM(start_7) AS BIGINT), CAST(SUM(start_8) AS BIGINT), CAST(SUM(start_9) AS BIGINT), \
         CAST(SUM(start_10) AS BIGINT), CAST(SUM(start_11) AS BIGINT), CAST(SUM(start_12) AS BIGINT), \
         CAST(SUM(start_13) AS BIGINT) \
         FROM quarters WHERE collection_uid = ?1 AND at >= ?2 AND at < ?3 GROUP BY at ORDER BY at LIMIT ?4";
}
