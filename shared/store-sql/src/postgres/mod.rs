//! The engine for many processes: one database of PostgreSQL.
//!
//! Nothing depends on a session but listening, so a pooler may stand between: statements have no names,
//! settings and locks go with their transaction.
//!
//! Every wait has a limit: for a connection ([`PgAddress`]), for one that is free and for an answer (`pool`),
//! and on the server for a lock, a statement, and a process that says nothing inside a transaction
//! (`perform`).

mod clock;
mod database;
mod dialect;
mod error;
mod life;
mod listener;
mod liveness;
mod perform;
mod pool;
mod process_clock;
mod schema;
mod settings;
#[cfg(test)]
mod texts;
mod tls;

pub use clock::{ServerTime, ShownTime};
pub use database::{PgDatabase, PgOptions};
pub use error::PgError;
pub use life::{PgProcess, ProcessName};
pub use process_clock::PgClock;
pub use settings::PgAddress;
