//! One SQLite transaction for several requests.
//!
//! dynoxide begins and ends a transaction for each write, which SQLite refuses inside of another one.
//! dynoxide's storage trait is sealed, so these calls cannot be replaced. Instead, the connection has
//! an authorizer: while a shared transaction is open, SQLite compiles a `BEGIN`, `COMMIT` or `ROLLBACK`
//! to a statement that does nothing; dynoxide compiles them anew for each request. In their place, each
//! request that dynoxide performs and that writes has a savepoint. A direct write needs none: it changes
//! nothing unless all of it is decided, and if SQLite then refuses a part, the transaction ends.
//!
//! SQLite may roll back the whole transaction by itself, on a full disk for instance, and even in a read.
//! What came after would be written outside of it. So after each request it is checked that the
//! transaction is still there.
//!
//! | after this step | a crash, a refused commit or the end of the transaction leaves |
//! |---|---|
//! | the transaction began | nothing |
//! | some requests were performed | nothing |
//! | committed | the writes of all requests that succeeded |

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, Transaction};

/// Shares transactions of one connection.
pub(crate) struct SharedTransaction {
    /// Whether SQLite ignores statements that begin or end a transaction.
    is_open: Arc<AtomicBool>,
}

impl SharedTransaction {
    /// Sets the authorizer of the connection.
    pub(crate) fn on(connection: &Connection) -> Self {
        let is_open = Arc::new(AtomicBool::new(false));
        let is_ignoring = Arc::clone(&is_open);
        connection.authorizer(Some(move |context: AuthContext<'_>| match context.action {
            AuthAction::Transaction { .. } if is_ignoring.load(Ordering::Relaxed) => {
                Authorization::Ignore
            }
            _ => Authorization::Allow,
        }));
        Self { is_open }
    }

    /// Performs the requests in the transaction and commits it.
    ///
    /// # Errors
    ///
    /// If a request fails in a way that it cannot undo, if SQLite has rolled back the transaction
    /// already, or refuses to commit it. None of the requests has an effect then.
    pub(crate) fn perform<R, A>(
        &self,
        mut transaction: Transaction<'_>,
        requests: &[R],
        perform: impl Fn(&R, &mut Undo<'_, '_>) -> rusqlite::Result<A>,
    ) -> rusqlite::Result<Vec<A>> {
        self.is_open.store(true, Ordering::Relaxed);
        let answers: rusqlite::Result<Vec<A>> = requests
            .iter()
            .map(|request| {
                let answer = perform(request, &mut Undo(&mut transaction))?;
                // In a transaction, SQLite does not commit each statement.
                if transaction.is_autocommit() { Err(rolled_back()) } else { Ok(answer) }
            })
            .collect();
        self.is_open.store(false, Ordering::Relaxed);
        // If this returns early, or the commit fails, the transaction is dropped and thereby rolled back.
        let answers = answers?;
        transaction.commit()?;
        Ok(answers)
    }
}

fn rolled_back() -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ABORT_ROLLBACK);
    rusqlite::Error::SqliteFailure(code, None)
}

/// Undoes what single requests of a shared transaction have written.
pub(crate) struct Undo<'t, 'c>(&'t mut Transaction<'c>);

impl Undo<'_, '_> {
    /// Performs a request in a savepoint, and undoes its writes if it fails.
    ///
    /// # Errors
    ///
    /// If the savepoint is gone with the transaction.
    pub(crate) fn if_failed<A, E>(
        &mut self,
        perform: impl FnOnce() -> Result<A, E>,
    ) -> rusqlite::Result<Result<A, E>> {
        let savepoint = self.0.savepoint()?;
        let answer = perform();
        let end = if answer.is_ok() { savepoint.commit() } else { savepoint.finish() };
        end.map(|()| answer)
    }
}
