//! The processes of one database, on PostgreSQL alone.

/// The database's clock in ticks.
macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 10000000)::bigint"
    };
}

statements! {
    /// Gives a process its number: no other one gets it.
    COUNT_PROCESS = "INSERT INTO meta (name, value) VALUES ('process', 1) \
         ON CONFLICT (name) DO UPDATE SET value = meta.value + 1 RETURNING value";

    ADD_PROCESS = concat!("INSERT INTO processes (id, name, version, since) VALUES (?1, ?2, ?3, ", now!(), ")");

    FIRST_SIGN = concat!("INSERT INTO signs (process, counter, seen_at) VALUES (?1, 0, ", now!(), ")");

    /// Gives a sign of life. Returns for each process the clock, whether the sign was given, and the process
    /// with its counter as it was before; one row without a process if there is none.
    GIVE_SIGN = concat!(
        "WITH given AS (UPDATE signs SET counter = counter + 1, seen_at = ", now!(),
        " WHERE process = ?1 RETURNING 1) \
         SELECT ", now!(), ", (SELECT count(*) FROM given), signs.process, signs.counter \
         FROM (SELECT 1) AS one LEFT JOIN signs ON signs.process <> ?1 LIMIT ?2"
    );

    /// Ends the signs of a process, if it has given none since one was seen.
    END_SIGNS = "DELETE FROM signs WHERE process = ?1 AND counter = COALESCE(?2, counter)";

    /// Waits for the scripts of the process that take something. Those that come later take nothing.
    END_PROCESS = "DELETE FROM processes WHERE id = ?1";

    /// The process died: its claims count among those that led to nothing.
    FREE_CLAIMS = "UPDATE attempts SET lease_until = 0, process = 0 \
         WHERE process = ?1 AND process <> 0 AND ended_at IS NULL";

    /// The process has ended: its claims count as nothing.
    GIVE_BACK_CLAIMS = "UPDATE attempts SET lease_until = 0, process = 0, claims = GREATEST(claims - 1, 0) \
         WHERE process = ?1 AND process <> 0 AND ended_at IS NULL";

    FREE_TURNS = "UPDATE turns SET number = number + 1, turn = NULL, claim_id = NULL, process = 0 \
         WHERE process = ?1";

    FREE_SEATS_OF = "DELETE FROM seats WHERE process = ?1";

    /// The process died: what it had received counts as delivered, and its receipts are void.
    FREE_MESSAGES = "UPDATE messages SET hidden_until = NULL, leased = 0, process = 0, delivery = delivery + 1, \
         stands_at = GREATEST(due_at, ?2) WHERE process = ?1 AND hidden_until IS NOT NULL";

    /// The process has ended: what it had received does not count.
    GIVE_BACK_MESSAGES = "UPDATE messages SET hidden_until = NULL, leased = 0, process = 0, \
         delivery = delivery + 1, receives = receives - leased, stands_at = GREATEST(due_at, ?2) \
         WHERE process = ?1 AND hidden_until IS NOT NULL";

    /// Takes the lease of the sweeper, if it has ended or the caller has it: it knows the number. One that ends
    /// later than any is of a clock that was set back.
    SWEEP = concat!(
        "INSERT INTO meta (name, value) VALUES ('swept_until', ", now!(), " + ?2) \
         ON CONFLICT (name) DO UPDATE SET value = excluded.value \
         WHERE meta.value = ?1 OR meta.value < ", now!(), " OR meta.value > ", now!(), " + ?2 RETURNING value"
    );

    END_SWEEP = "UPDATE meta SET value = 0 WHERE name = 'swept_until' AND value = ?1";

    PROCESSES = "SELECT id, name, version, since, seen_at, (SELECT count(*) FROM attempts \
         WHERE attempts.process = processes.id AND attempts.process <> 0 AND ended_at IS NULL AND claims > 0) \
         FROM processes JOIN signs ON signs.process = processes.id ORDER BY id LIMIT ?1";
}
