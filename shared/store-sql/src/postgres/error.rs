//! Why PostgreSQL did not do what it was asked.

use std::time::Duration;

use tokio_postgres::error::{Severity, SqlState};

/// An error of PostgreSQL, or of the way to it.
#[derive(Debug, thiserror::Error)]
pub enum PgError {
    /// The address is not one of a database.
    #[error("the address of the database is not valid: {0}")]
    Address(String),
    /// TLS cannot be set up.
    #[error("TLS to the database cannot be set up: {0}")]
    Tls(String),
    /// No connection can be made.
    #[error("cannot connect to PostgreSQL")]
    Connect(#[source] tokio_postgres::Error),
    /// PostgreSQL refused, or the connection broke.
    #[error(transparent)]
    Postgres(#[from] tokio_postgres::Error),
    /// A request could not be sent, so the connection is given up with what was sent before it.
    #[error("a request to PostgreSQL could not be sent")]
    Unsent(#[source] Box<PgError>),
    /// An answer took too long. What was asked may have been done.
    #[error("PostgreSQL has not answered within {0:?}")]
    NoAnswer(Duration),
    /// Every connection was in use for too long.
    #[error("no connection to PostgreSQL was free within {0:?}")]
    Busy(Duration),
    /// A statement returned more rows than a page holds.
    #[error("a statement returned too many rows: its list has no bound")]
    TooManyRows,
    /// The database's clock shows no time that the schedule knows.
    #[error("the clock of the database shows a time after the year 9999")]
    NoTime,
    /// An answer is not one to what was asked.
    #[error("PostgreSQL answered with other columns than were asked for")]
    Strange,
    /// A newer version made the database, and this one cannot use it.
    #[error("a newer version of Minutehand made this database, and this version cannot use it")]
    Newer,
    /// The schema is behind, and this process does not migrate.
    #[error(
        "the schema of the database is older than this version: run `minutehand database migrate`, or start without --no-migrate"
    )]
    Behind,
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

impl PgError {
    fn state(&self) -> Option<&SqlState> {
        match self {
            Self::Connect(error) | Self::Postgres(error) => error.code(),
            _ => None,
        }
    }

    /// Whether PostgreSQL has undone everything because of others, so that another try is likely to do it.
    pub(super) fn is_undone_by_others(&self) -> bool {
        let undone = [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE];
        self.state().is_some_and(|state| undone.contains(state))
    }

    /// Whether a lock was not free in time.
    pub(super) fn is_locked_out(&self) -> bool {
        self.state() == Some(&SqlState::LOCK_NOT_AVAILABLE)
    }

    /// Whether PostgreSQL refused this role or this address of a client, with or without TLS.
    pub(super) fn is_refused_client(&self) -> bool {
        self.state() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
    }

    /// Whether the connection can be used after it: PostgreSQL refused a statement, and said so.
    pub(super) fn leaves_connection(&self) -> bool {
        match self {
            Self::Postgres(error) => error.as_db_error().is_some_and(|error| {
                // What is worse than an error ends the connection. A plan that no longer fits its table would
                // fail again.
                error.parsed_severity() == Some(Severity::Error)
                    && *error.code() != SqlState::FEATURE_NOT_SUPPORTED
            }),
            _ => false,
        }
    }

    /// Whether something is wrong with a request: another try does not help. The first two characters of a
    /// state are its class: values, constraints, the text of a statement, limits.
    pub(crate) fn is_of_request(&self) -> bool {
        let class = |state: &SqlState| {
            let is_of_text =
                state.code().starts_with("42") && *state != SqlState::INSUFFICIENT_PRIVILEGE;
            is_of_text || ["22", "23", "54"].iter().any(|class| state.code().starts_with(class))
        };
        matches!(self, Self::TooManyRows) || self.state().is_some_and(class)
    }
}
