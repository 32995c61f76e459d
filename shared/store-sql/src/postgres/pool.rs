//! Connections that are used again. A script has one for itself, for as long as it takes.
//!
//! A connection is made when it is needed and none is free, so that the program comes back by itself when
//! the database does. One on which something went wrong is not used again: PostgreSQL undoes what it had
//! not committed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_postgres::Client;

use super::error::PgError;
use super::perform::perform;
use super::settings::{CONNECT_MAX, PgAddress};
use crate::script::{Script, ScriptOutcome};

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
    /// Those that no script has.
    free: Mutex<Vec<Client>>,
    permits: Semaphore,
    /// Has one permit, for the script that is tried again: at the same time, two of them would undo each other
    /// once more.
    again: Semaphore,
}

impl Pool {
    /// At most so many connections, and none yet.
    pub(super) fn new(settings: PgAddress, max: usize) -> Self {
        let (permits, again) = (Semaphore::new(max), Semaphore::new(1));
        Self { settings, free: Mutex::default(), permits, again }
    }

    /// Performs a script. `from` is what other processes are told of this one.
    pub(super) async fn perform(
        &self,
        script: &Script,
        from: &str,
    ) -> Result<ScriptOutcome, PgError> {
        let permit = timeout(BUSY_MAX, self.permits.acquire()).await;
        let _permit = permit.map_err(|_| PgError::Busy(BUSY_MAX))?.map_err(|_| PgError::Closed)?;
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
        let client = match self.take() {
            Some(client) => client,
            None => self.connect().await?,
        };
        let Ok(performed) = timeout(ANSWER_MAX, perform(&client, script, from)).await else {
            let (token, tls) = (client.cancel_token(), self.settings.tls());
            // If it does not get there, the server's own limits end the statement.
            tokio::spawn(timeout(CONNECT_MAX, async move { token.cancel_query(tls).await }));
            return Err(PgError::NoAnswer(ANSWER_MAX));
        };
        let is_usable = performed.as_ref().err().is_none_or(PgError::leaves_connection);
        if is_usable && !client.is_closed() {
            self.free.lock().unwrap_or_else(PoisonError::into_inner).push(client);
        }
        performed
    }

    fn take(&self) -> Option<Client> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.retain(|client| !client.is_closed());
        free.pop()
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
        self.again.close();
        self.free.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

fn is_undone(performed: &Result<ScriptOutcome, PgError>) -> bool {
    performed.as_ref().err().is_some_and(PgError::is_undone_by_others)
}
