//! The text of every statement, once for all engines.
//!
//! Parameters are `?1`, `?2` … and become `$1`, `$2` … where PostgreSQL prepares them. What stands in
//! `/*pg … */` is for PostgreSQL: locks of rows that a script has read and another one may change. A list reads a page
//! behind a position, and one row more, which tells whether another page follows.

/// Declares statements, and a list of them.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)+) => {
        $($(#[$doc])* pub(crate) const $name: &str = $text;)+

        /// All of them, for tests.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),+];
    };
}

/// On PostgreSQL, whether the process with this number is alive. It stays so until the script ends, because
/// its row is locked: who takes it for dead waits, and then sees what was taken. 0 is not a process, and lives.
macro_rules! alive {
    ($process:literal) => {
        concat!(
            " /*pg AND (",
            $process,
            "::bigint = 0 OR (SELECT id FROM processes WHERE id = ",
            $process,
            " FOR KEY SHARE) IS NOT NULL)*/ "
        )
    };
}

pub(crate) mod attempts;

pub(crate) mod expired;
pub(crate) mod jobs;
pub(crate) mod other;
pub(crate) mod pings;
pub(crate) mod present;
pub(crate) mod processes;
pub(crate) mod quarters;
pub(crate) mod queue;

/// The tables, as numbered changes: the first one makes version 1. One that was released never changes.
pub(crate) const MIGRATIONS: [&str; 11] = [
    include_str!("0001_tables.sql"),
    include_str!("0002_processes.sql"),
    include_str!("0003_cause.sql"),
    include_str!("0004_latest.sql"),
    include_str!("0005_asked.sql"),
    include_str!("0006_alerts.sql"),
    include_str!("0007_asked_by.sql"),
    include_str!("0009_present.sql"),
    include_str!("0010_open_attempts.sql"),
    include_str!("0011_quarters.sql"),
    include_str!("0012_pings.sql"),
];

/// The oldest program that works with a database of this schema, as the number of the schema that it knows.
pub(crate) const WORKS_FROM: u32 = 1;

/// The views for people, made anew whenever the schema changes.
pub(crate) const VIEWS: &str = include_str!("views.sql");

/// The same views for PostgreSQL.
pub(crate) const POSTGRES_VIEWS: &str = include_str!("postgres_views.sql");

/// How PostgreSQL stores the tables, set anew whenever the schema changes.
pub(crate) const POSTGRES_STORAGE: &str = include_str!("postgres_storage.sql");

/// Every statement with its name, for tests.
#[cfg(test)]
pub(crate) fn all() -> Vec<(&'static str, &'static str)> {
    let expiring = expired::EXPIRING.iter().flat_map(|table| {
        [table.first, table.next].into_iter().chain(table.remove.iter().copied())
    });
    let named =
        [attempts::ALL, jobs::ALL, other::ALL, pings::ALL, present::ALL, quarters::ALL, queue::ALL]
            .concat();
    named.into_iter().chain(expiring.map(|text| ("EXPIRING", text))).collect()
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::{MIGRATIONS, VIEWS, all};

    fn database() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        let meta = "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID";
        connection.execute_batch(meta).unwrap();
        for migration in MIGRATIONS {
            connection.execute_batch(migration).unwrap();
        }
        connection.execute_batch(VIEWS).unwrap();
        connection
    }

    /// Statements that read a whole table, because it is small or because that is what is asked for.
    const WHOLE: [&str; 5] = [
        "SCAN pulses",
        "SCAN CONSTANT ROW",
        "SCAN dead_letters",
        "SCAN messages USING",
        "SCAN first",
    ];

    #[test]
    fn every_statement_finds_its_rows_by_a_key_or_an_index() {
        let connection = database();
        for (name, text) in all() {
            let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
            // The plan does not depend on the parameters.
            for n in 1..=explain.parameter_count() {
                explain.raw_bind_parameter(n, 1).unwrap();
            }
            let mut steps = explain.raw_query();
            while let Some(step) = steps.next().unwrap() {
                let step: String = step.get(3).unwrap();
                // A slice of what expires is read in the order of the key.
                let is_slice = name == "EXPIRING" && text.starts_with("SELECT");
                let is_whole = step.starts_with("SCAN")
                    && !is_slice
                    && !WHOLE.iter().any(|whole| step.starts_with(whole));
                let is_sorted = step.contains("TEMP B-TREE FOR ORDER BY");
                assert!(!is_whole && !is_sorted, "{name}: {step}");
            }
        }
    }

    #[test]
    fn every_parameter_up_to_the_last_is_used_or_common_to_a_table() {
        let connection = database();
        for (name, text) in all() {
            let count = connection.prepare(text).unwrap().parameter_count();
            let is_used = |n: &usize| text.contains(&format!("?{n}"));
            let unused = (1..=count).filter(|n| !is_used(n)).count();
            assert!(unused == 0 || name == "EXPIRING", "{name}: {text}");
        }
    }
}
