//! The queue's tables, and their version.
//!
//! The version is SQLite's `user_version`. The transaction that creates the tables also writes it, so
//! a crash in between leaves an empty database, which the next start treats as a new one.

use rusqlite::{Connection, TransactionBehavior};

/// The version that is written, and the newest that can be read.
pub(super) const VERSION: u32 = 1;

/// `id` is never reused, so a receipt identifies one message for ever. `delivery` numbers the
/// deliveries of a message and never decreases. `receives` counts them, and decreases when a delivery
/// is undone. Instants are in ticks: `due` and `sent` in schedule time, `hidden_until` in work time.
/// `hidden_until` is null while the message can be received. A hidden message was delivered
/// (`leased`) or put back.
///
/// Each index contains only the messages that its queries need, in their order. Ten thousand hidden
/// messages therefore do not slow down a receiver.
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

/// Returns the version of a database; 0 for a new one.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, USER_VERSION, |row| row.get(0))
}

/// Creates the tables in a new database.
pub(super) fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, USER_VERSION, VERSION)?;
    transaction.commit()
}
