//! What runs and what waits now.

statements! {
    /// The jobs of the attempts that have not ended, without those that are gone.
    JOBS = "SELECT job_uid, collection_uid, job_key FROM timers WHERE job_uid IN (SELECT job_uid FROM attempts \
         WHERE ended_at IS NULL AND lease_until >= ?1 ORDER BY lease_until LIMIT ?2)";

    /// The messages that are due and that no worker has taken.
    UNTAKEN = "SELECT body FROM messages WHERE hidden_until IS NULL AND stands_at <= ?2 AND due_at <= ?1 \
         ORDER BY stands_at, due_at LIMIT ?3";

    /// The messages that are due and that a worker has set aside or put back.
    SET_ASIDE = "SELECT body FROM messages WHERE hidden_until > ?2 AND due_at <= ?1 AND leased = 0 \
         ORDER BY hidden_until LIMIT ?3";

    /// The jobs of which attempts wait for their turn.
    IN_TURN = "SELECT job_uid FROM turns WHERE waiting <> '' AND job_uid >= ?1 LIMIT ?2";
}
