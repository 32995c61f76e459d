//! The engine for one machine: one file of SQLite, written by one thread.

mod backup;
mod copies;
mod database;
mod error;
mod files;
mod keeper;
mod log_file;
mod order;
mod orders;
mod perform;
mod schema;
mod writer;

pub use backup::back_up;
pub use copies::{CopyProblem, OpenRecord, check};
pub use database::{Database, Threads};
pub use error::SqlError;
pub use files::DATABASE;
pub use keeper::SYNC_EVERY;
pub use log_file::{LogContent, LogHeader, Salt, read_log};
pub use orders::Durability;
pub use perform::{Answers, PerformedPass, perform};

/// The version of SQLite that this program has.
#[must_use]
pub fn version() -> &'static str {
    rusqlite::version()
}
