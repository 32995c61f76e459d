//! The queue's tables, and their version.
//!
//! The version is SQLite's `user_version`, written in the transaction that creates the tables: a
//! crash in the middle leaves an empty database, which the next start takes for a new one.

use rusqlite::{Connection, TransactionBehavior};

/// The version that is written, and the newest that is read.
pub(super) const VERSION: u32 = 1;

/// `id` is never used again, so that a receipt is of one message for ever. `delivery` numbers a
/// message's deliveries and never goes back; `receives` counts them, and does when a delivery did
/// not happen. Instants are in ticks: `due` and `sent` by the schedule, `hidden_until` in the time
/// of work, null while it can be received. What is hidden was delivered (`leased`) or put back.
///
/// Either index has just the messages that its question is about, in their order, so the ten
/// thousand that are being worked on are in nobody's way.
const TABLES: &str = "
    CREATE TABLE message (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        due INTEGER NOT NULL,
        sent INTEGER NOT NULL,
        receives INTEGER NOT NULL DEFAULT 0,
        delivery INTEGER NOT NULL DEFAULT 0,
        leased INTEGER NOT NULL DEFAULT 0,
        hidden_until INTEGER,
        body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX visible ON message (due) WHERE hidden_until IS NULL;
    CREATE INDEX hidden ON message (hidden_until) WHERE hidden_until IS NOT NULL;
    CREATE TABLE dead_letter (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        due INTEGER NOT NULL,
        sent INTEGER NOT NULL,
        receives INTEGER NOT NULL,
        body TEXT NOT NULL,
        reason TEXT NOT NULL,
        buried INTEGER NOT NULL
    ) STRICT;
";

const USER_VERSION: &str = "user_version";

/// The version of a database; 0 of one that is new.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, USER_VERSION, |row| row.get(0))
}

/// Creates the tables in a database that is new.
pub(super) fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, USER_VERSION, VERSION)?;
    transaction.commit()
}
