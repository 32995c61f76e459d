//! The schema of a database: what it has, what is missing, and whether this program may use it.

use rusqlite::{Connection, OptionalExtension};

use super::error::SqlError;
use super::perform::{read_number, write_number};
use crate::sql::{MIGRATIONS, VIEWS, WORKS_FROM};

const META: &str = "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID";
const READ: &str = "SELECT value FROM meta WHERE name = ?1";
const WRITE: &str = "INSERT INTO meta (name, value) VALUES (?1, ?2) \
     ON CONFLICT (name) DO UPDATE SET value = excluded.value";
/// What tells this database from others for good: made with it, and copied with it.
const INSTALLATION: &str = "INSERT INTO meta (name, value) VALUES ('installation', random()) \
     ON CONFLICT (name) DO NOTHING";
const OLD_VIEWS: &str = "SELECT name FROM sqlite_master WHERE type = 'view'";

/// What a program has to know of the database that it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opened {
    /// The number of this process.
    pub(super) process: i64,
    /// The number of the last commit.
    pub(super) number: u32,
    /// What tells this database from others.
    pub(super) installation: i64,
}

/// Brings the schema up to date and counts this process, in one transaction.
pub(super) fn prepare(connection: &Connection) -> Result<Opened, SqlError> {
    let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    let transaction = connection.unchecked_transaction()?;
    let number = next_number(read_number(connection)?);
    write_number(connection, number)?;
    connection.execute_batch(META)?;
    let works_from: u32 = read(connection, "works_from")?.unwrap_or_default();
    if works_from > known {
        return Err(SqlError::Newer);
    }
    let schema: u32 = read(connection, "schema")?.unwrap_or_default();
    if schema < known {
        let missing = MIGRATIONS.iter().skip(usize::try_from(schema).unwrap_or(usize::MAX));
        for migration in missing {
            connection.execute_batch(migration)?;
        }
        let views = connection.prepare(OLD_VIEWS)?.query_map([], |row| row.get(0))?.collect();
        let views: rusqlite::Result<Vec<String>> = views;
        for view in views? {
            connection.execute_batch(&format!("DROP VIEW \"{view}\""))?;
        }
        connection.execute_batch(VIEWS)?;
        connection.execute(WRITE, ("schema", known))?;
        connection.execute(WRITE, ("works_from", WORKS_FROM))?;
    }
    connection.execute(INSTALLATION, [])?;
    let installation = read(connection, "installation")?.unwrap_or_default();
    let process = read(connection, "process")?.unwrap_or(0_i64) + 1;
    connection.execute(WRITE, ("process", process))?;
    transaction.commit()?;
    Ok(Opened { process, number, installation })
}

/// The number after another one. 0 stands for none.
pub(super) const fn next_number(number: u32) -> u32 {
    match number.wrapping_add(1) {
        0 => 1,
        next => next,
    }
}

fn read<T: rusqlite::types::FromSql>(
    connection: &Connection,
    name: &str,
) -> rusqlite::Result<Option<T>> {
    connection.query_row(READ, [name], |row| row.get(0)).optional()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_database_gets_the_schema_and_each_process_a_number() {
        let connection = Connection::open_in_memory().unwrap();
        let installation = prepare(&connection).unwrap().installation;
        for n in 2..4 {
            let opened = prepare(&connection).unwrap();
            assert_eq!(opened, Opened { process: n.into(), number: n, installation });
        }
        let other = Connection::open_in_memory().unwrap();
        assert_ne!(prepare(&other).unwrap().installation, installation);
        for view in ["job_overview", "history"] {
            let count =
                connection.query_row(&format!("SELECT count(*) FROM {view}"), [], |row| row.get(0));
            assert_eq!(count, Ok(0), "{view}");
        }
    }

    #[test]
    fn a_newer_database_is_refused_only_if_it_says_so() {
        let connection = Connection::open_in_memory().unwrap();
        prepare(&connection).unwrap();
        connection.execute(WRITE, ("schema", 99)).unwrap();
        let opened = prepare(&connection).unwrap();
        assert_eq!(read(&connection, "schema"), Ok(Some(99)));
        connection.execute(WRITE, ("works_from", 99)).unwrap();
        assert!(matches!(prepare(&connection), Err(SqlError::Newer)));
        assert!(connection.is_autocommit());
        assert_eq!(read_number(&connection), Ok(opened.number), "nothing was written");
    }

    #[test]
    fn a_number_is_never_none() {
        assert_eq!(next_number(u32::MAX), 1);
        assert_eq!(next_number(i32::MAX.cast_unsigned()), 1 << 31);
    }
}
