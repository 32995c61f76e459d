//! A database of either engine, as the store and the queue use it.

use std::time::Duration;

use minutehand_ports::{QueueError, StoreError};

use crate::postgres::{self, PgError};
use crate::script::{Script, ScriptOutcome};
use crate::sqlite::{self, SqlError};

/// The process of a store that does not know whether it is alone.
pub(crate) const ANY_PROCESS: i64 = 0;

/// A database. Clones are the same one.
#[derive(Debug, Clone)]
pub enum AnyDatabase {
    /// One file, of one process.
    Sqlite(sqlite::Database),
    /// A database of many processes.
    Postgres(postgres::PgDatabase),
}

/// Why a database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// An error of SQLite.
    #[error(transparent)]
    Sqlite(#[from] SqlError),
    /// An error of PostgreSQL.
    #[error(transparent)]
    Postgres(#[from] PgError),
}

impl From<sqlite::Database> for AnyDatabase {
    fn from(database: sqlite::Database) -> Self {
        Self::Sqlite(database)
    }
}

impl From<postgres::PgDatabase> for AnyDatabase {
    fn from(database: postgres::PgDatabase) -> Self {
        Self::Postgres(database)
    }
}

impl AnyDatabase {
    /// The number of this process, if no other one uses the database; else 0.
    pub(crate) fn only_process(&self) -> i64 {
        match self {
            Self::Sqlite(database) => database.process(),
            Self::Postgres(_) => ANY_PROCESS,
        }
    }

    /// The number under which this process, as one of several, takes claims, turns, seats and messages.
    pub(crate) fn process_of_many(&self) -> Option<i64> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(database) => Some(database.process()),
        }
    }

    /// The counts of changes that starts read: see [`crate::changed`]. `None` on PostgreSQL, where other
    /// processes write, too.
    pub(crate) fn changes_of(&self, of: [u32; 2]) -> Option<[u32; 2]> {
        match self {
            Self::Sqlite(database) => Some(database.changed().read(of)),
            Self::Postgres(_) => None,
        }
    }

    /// Performs a script.
    ///
    /// # Errors
    ///
    /// If the database refuses it, or does not answer.
    pub async fn perform(&self, script: Script) -> Result<ScriptOutcome, DatabaseError> {
        Ok(match self {
            Self::Sqlite(database) => database.perform(script).await?,
            Self::Postgres(database) => database.perform(script).await?,
        })
    }

    /// Has a script performed, whatever becomes of it.
    pub(crate) fn tell(&self, script: Script) {
        match self {
            Self::Sqlite(database) => database.tell(script),
            Self::Postgres(database) => database.tell(script),
        }
    }

    /// Performs scripts, each by itself. The answers are in their order.
    pub(crate) async fn perform_all(
        &self,
        scripts: Vec<Script>,
    ) -> Vec<Result<ScriptOutcome, DatabaseError>> {
        match self {
            Self::Sqlite(database) => of_either(database.perform_all(scripts).await),
            Self::Postgres(database) => of_either(database.perform_all(scripts).await),
        }
    }

    /// Performs a script that only reads, beside the writes.
    pub(crate) async fn read(&self, script: Script) -> Result<ScriptOutcome, DatabaseError> {
        Ok(match self {
            Self::Sqlite(database) => database.read(script).await?,
            Self::Postgres(database) => database.read(script).await?,
        })
    }

    /// Waits until a message may have been added, or shown again.
    pub(crate) async fn woken(&self) {
        match self {
            Self::Sqlite(database) => database.woken().await,
            Self::Postgres(database) => database.woken().await,
        }
    }

    /// How often a receiver looks for messages of which it was not told; `None` where it is told of all.
    pub(crate) fn look_every(&self) -> Option<Duration> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(database) => Some(database.look_every()),
        }
    }

    /// What tells this database from others, in 16 digits. Copies and backups have the same.
    #[must_use]
    pub fn installation(&self) -> String {
        match self {
            Self::Sqlite(database) => database.installation(),
            Self::Postgres(database) => database.installation(),
        }
    }

    /// Gives the space of removed rows back to the file system, if the database does not do so by itself.
    ///
    /// # Errors
    ///
    /// If the database refuses. Some may be given back by then.
    pub async fn give_back_space(&self) -> Result<(), DatabaseError> {
        match self {
            Self::Sqlite(database) => Ok(database.give_back_space().await?),
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Performs nothing any more.
    pub fn close(&self) {
        match self {
            Self::Sqlite(database) => database.close(),
            Self::Postgres(database) => database.close(),
        }
    }
}

impl DatabaseError {
    /// Whether something is wrong with a request: another try does not help.
    fn is_of_request(&self) -> bool {
        match self {
            Self::Sqlite(error) => error.is_of_request(),
            Self::Postgres(error) => error.is_of_request(),
        }
    }
}

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        let is_request = error.is_of_request();
        if is_request { Self::Refused(Box::new(error)) } else { Self::Unavailable(Box::new(error)) }
    }
}

impl From<DatabaseError> for QueueError {
    fn from(error: DatabaseError) -> Self {
        let is_request = error.is_of_request();
        if is_request { Self::Refused(Box::new(error)) } else { Self::Unavailable(Box::new(error)) }
    }
}

fn of_either<E: Into<DatabaseError>>(
    answers: Vec<Result<ScriptOutcome, E>>,
) -> Vec<Result<ScriptOutcome, DatabaseError>> {
    answers.into_iter().map(|answer| answer.map_err(Into::into)).collect()
}
