//! The engine for many processes: one database of PostgreSQL.
//!
//! Nothing depends on a session but listening, so a pooler may stand between: settings and locks go with their
//! transaction, and statements have names only where no pooler is.
//!
//! Every wait has a limit: for a connection ([`PgAddress`]), for one that is free and for an answer (`pool`),
//! for a sign of life (`life`), and on the server for a lock, a statement, and a process that says nothing
//! inside a transaction (`perform`).
//!
//! | part | what it decides or does |
//! |---|---|
//! | `clock` | what the database's clock shows at least |
//! | `liveness` | who is dead, and whether this process may begin an action |
//! | `life` | gives signs of life, ends the dead, takes a new number after its own death |
//! | `sweeping` | which process sweeps |
//! | `groups` | claims, and records, that wait at the same time, as one statement |
//! | `perform`, `pool` | a script as a transaction, on one of a few connections |
//! | `listener` | wakes receivers when others send |
//! | `schema` | the tables, and their upgrade |
//! | `key_check` | whether all processes have one key |
//! | `inspect`, `remedy` | what an operator has to know, and what to do about an error |
//! | `passwords` | the password, from where libpq takes it |
//!
//! | a process dies, or is frozen, with | the others | counts |
//! |---|---|---|
//! | a claim, a seat, a turn | free it when the process has given no sign for five seconds | the claim, among those that led to nothing |
//! | a message that it received | deliver it again then | as a delivery |
//! | a message that it set aside | deliver it again then | as nothing |
//! | a message that it put back | deliver it when its time has come, as ever | as a delivery |
//! | the lease of the sweeper | take it within two seconds | |
//! | an attempt that belongs to no process | leave it alone | |
//! | a transaction | wait until the server has undone it | |

mod clock;
mod database;
mod dialect;
mod error;
mod groups;
mod inspect;
mod key_check;
mod life;
mod listener;
mod liveness;
mod passwords;
mod perform;
mod pool;
mod process_clock;
mod remedy;
mod schema;
mod settings;
mod sweeping;
mod task;
mod tls;

pub use clock::{ServerTime, ShownTime};
pub use database::{PgDatabase, PgOptions};
pub use error::PgError;
pub use inspect::{PgFacts, PgFinding};
pub use life::{PgProcess, ProcessName};
pub use process_clock::PgClock;
pub use settings::PgAddress;
pub use sweeping::Sweeping;

#[cfg(test)]
mod tests {
    mod races;
    mod texts;
}
