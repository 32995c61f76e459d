//! Connections that are used again. A script has one for itself, for as long as it takes.
//!
//! A connection is made when it is needed and none is free, so that the program comes back by itself when
//! the database does. One on which something went wrong is not used again: PostgreSQL undoes what it had
//! not committed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::error::PgError;
use super::perform::{Session, perform, run_together};
use super::settings::{CONNECT_MAX, PgAddress};
use crate::script::{Row, Script, ScriptOutcome, Urgency, Value};

/// How long a script waits for a connection that is free.
const BUSY_MAX: Duration = Duration::from_secs(10);
/// How long an answer may take: longer than the server gives a statement.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// How often a script is performed again that PostgreSQL undoes because of others.
const TRIES_MAX: u32 = 8;

/// Connections to a database.
#[derive(Debug)]
pub(super) struct Pool {
    settings: PgAddress,
    has_named_statements: bool,
    /// Those that no script has.
    free: Mutex<Vec<Session>>,
    permits: Semaphore,
    /// Has one permit, for the record that waits for a connection: behind a burst thousands wait, and none of the
    /// others stands before a start.
    next_record: Semaphore,
    /// Has one permit, for the script that is tried again: at the same time, two of them would undo each other
    /// once more.
    again: Semaphore,
}

impl Pool {
    /// At most so many connections, and none yet.
    pub(super) fn new(settings: PgAddress, max: usize) -> Self {
        Self {
            settings,
            has_named_statements: false,
            free: Mutex::default(),
            permits: Semaphore::new(max),
            next_record: Semaphore::new(1),
            again: Semaphore::new(1),
        }
    }

    /// The same connections, on which statements have names, or none.
    pub(super) fn with_named_statements(self, has_named_statements: bool) -> Self {
        Self { has_named_statements, ..self }
    }

    /// Performs a script. `from` is what other processes are told of this one.
    pub(super) async fn perform(
        &self,
        script: &Script,
        from: &str,
    ) -> Result<ScriptOutcome, PgError> {
        let record = match script.urgency {
            Urgency::Record => Some(self.next_record.acquire().await.map_err(|_| PgError::Closed)?),
            Urgency::Start | Urgency::Rest | Urgency::Background => None,
        };
        let _permit = self.permit().await?;
        drop(record);
        let mut performed = self.perform_once(script, from).await;
        if !is_undone(&performed) {
            return performed;
        }
        let again = timeout(ANSWER_MAX, self.again.acquire()).await;
        let _again = again.map_err(|_| PgError::Busy(ANSWER_MAX))?.map_err(|_| PgError::Closed)?;
        for _ in 0..TRIES_MAX {
            performed = self.perform_once(script, from).await;
            if !is_undone(&performed) {
                break;
            }
        }
        performed
    }

    async fn perform_once(&self, script: &Script, from: &str) -> Result<ScriptOutcome, PgError> {
        let mut session = self.take().await?;
        let performed = timeout(ANSWER_MAX, perform(&mut session, script, from)).await;
        self.after(session, performed)
    }

    /// Runs a statement over arrays, each with the type of its values.
    pub(super) async fn perform_together(
        &self,
        text: &str,
        arrays: Vec<(Vec<Value>, Type)>,
    ) -> Result<Vec<Row>, PgError> {
        let _permit = self.permit().await?;
        let session = self.take().await?;
        let performed = timeout(ANSWER_MAX, run_together(session.client(), text, arrays)).await;
        self.after(session, performed)
    }

    async fn permit(&self) -> Result<SemaphorePermit<'_>, PgError> {
        let permit = timeout(BUSY_MAX, self.permits.acquire()).await;
        permit.map_err(|_| PgError::Busy(BUSY_MAX))?.map_err(|_| PgError::Closed)
    }

    /// Keeps a connection on which nothing went wrong.
    fn after<T>(
        &self,
        session: Session,
        performed: Result<Result<T, PgError>, Elapsed>,
    ) -> Result<T, PgError> {
        let Ok(performed) = performed else {
            let (token, tls) = (session.client().cancel_token(), self.settings.tls());
            // If it does not get there, the server's own limits end the statement.
            tokio::spawn(timeout(CONNECT_MAX, async move { token.cancel_query(tls).await }));
            return Err(PgError::NoAnswer(ANSWER_MAX));
        };
        let is_usable = performed.as_ref().err().is_none_or(PgError::leaves_connection);
        if is_usable && !session.client().is_closed() {
            self.free.lock().unwrap_or_else(PoisonError::into_inner).push(session);
        }
        performed
    }

    async fn take(&self) -> Result<Session, PgError> {
        let free = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.retain(|session| !session.client().is_closed());
            free.pop()
        };
        match free {
            Some(session) => Ok(session),
            None => Session::open(self.connect().await?, self.has_named_statements).await,
        }
    }

    /// Makes a connection.
    pub(super) async fn connect(&self) -> Result<Client, PgError> {
        let (client, connection) = self.settings.connect().await?;
        // It ends with the client. If it breaks, what is asked of the client fails.
        tokio::spawn(connection);
        Ok(client)
    }

    /// Performs nothing any more.
    pub(super) fn close(&self) {
        self.permits.close();
        self.next_record.close();
        self.again.close();
        self.free.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

fn is_undone(performed: &Result<ScriptOutcome, PgError>) -> bool {
    performed.as_ref().err().is_some_and(PgError::is_undone_by_others)
}
