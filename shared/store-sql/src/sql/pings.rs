//! Pings, and the signs of those who take them.

statements! {
    PING_KEY = "SELECT job_uid, ping_key, sealed FROM pings WHERE job_uid = ?1";

    FIRST_PING_KEY = "INSERT INTO pings (job_uid, collection_uid, job_key, ping_key, sealed, number, book) \
         VALUES (?1, ?2, ?3, ?4, ?5, 0, '') ON CONFLICT DO NOTHING";

    NEXT_PING_KEY = "UPDATE pings SET ping_key = ?2, sealed = ?3 WHERE job_uid = ?1 AND ping_key = ?4";

    NEXT_BOOK = "UPDATE pings SET number = number + 1, book = ?3 WHERE ping_key = ?1 AND number = ?2";

    /// Opens an attempt of which there is nothing yet.
    OPEN_BY_PING = "INSERT INTO attempts (job_uid, nominal_at, generation, occurrence, role, number, \
         process, claim_id, claims, lease_until, attempt_due_at, expires_at, started_at, open_until, ending) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, 1, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT DO NOTHING";

    FORGET_PING_KEY = "DELETE FROM pings WHERE job_uid = ?1";

    /// Before a new job takes the name of one that has expired.
    FORGET_EXPIRED_KEY = "DELETE FROM pings WHERE job_uid = (SELECT uid FROM jobs \
         WHERE collection_uid = ?1 AND name_key = ?2 AND expires_at <= ?3 /*pg FOR UPDATE*/)";

    /// Those of the jobs of a deleted collection that are removed next.
    PURGE_PING_KEYS = "WITH first AS MATERIALIZED (SELECT uid FROM jobs WHERE collection_uid = ?1 \
         ORDER BY name_key LIMIT ?2 /*pg FOR UPDATE*/) \
         DELETE FROM pings WHERE job_uid IN (SELECT uid FROM first)";

    PRESENCE = "SELECT one, number, state FROM presence WHERE one = 1";

    FIRST_PRESENCE = "INSERT INTO presence (one, number, state) VALUES (1, ?1 + 1, ?2) ON CONFLICT DO NOTHING";

    NEXT_PRESENCE = "UPDATE presence SET number = ?1 + 1, state = ?2 WHERE one = 1 AND number = ?1";
}
