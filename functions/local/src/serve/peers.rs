//! The database that this process shares, and the processes that share it.
//!
//! They are looked at again and again, so that `/healthz` answers at once, even while the database does
//! not. A process that loses the database goes on by itself when it returns.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use minutehand_ports::Clock;
use minutehand_rest::{DatabaseNote, Peers as PeerCount, ProcessNote};
use minutehand_runtime::chain;
use minutehand_store_sql::postgres::{PgDatabase, PgError, PgFinding, PgProcess};
use tokio::time::timeout;

use super::database::{DatabasePlace, process_name};
use crate::lock;

/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long an answer may take before the database counts as lost.
const ANSWER_MAX: Duration = Duration::from_secs(3);
/// How long the facts of a database may take.
const FACTS_MAX: Duration = Duration::from_secs(10);

/// What this process knows of its database and of the others.
#[derive(Debug)]
pub(super) struct Peers {
    database: PgDatabase,
    place: DatabasePlace,
    /// Its own name.
    pub(super) name: String,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    live: usize,
    /// Why the database does not answer, in a sentence for everybody.
    lost: Option<String>,
}

impl Peers {
    /// Nothing is known yet but that the database has just answered.
    pub(super) fn new(database: PgDatabase, place: DatabasePlace) -> Self {
        let known = Mutex::new(Known { live: 1, lost: None });
        Self { database, place, name: process_name().name, known }
    }

    /// Looks again and again.
    pub(super) async fn watch(self: Arc<Self>, clock: Arc<dyn Clock>) {
        loop {
            let listed = self.list().await;
            let was_lost = self.lost().is_some();
            match &listed {
                Err(error) if !was_lost => {
                    tracing::error!(error = chain(error), "the database is lost, nothing fires");
                }
                Ok(_) if was_lost => tracing::info!("the database is back"),
                _ => {}
            }
            self.note(&listed);
            clock.wait(LOOK_EVERY).await;
        }
    }

    fn note(&self, listed: &Result<Vec<PgProcess>, PgError>) {
        let mut known = lock(&self.known);
        known.lost = listed.as_ref().err().map(reason);
        known.live = listed.as_ref().map_or(known.live, Vec::len);
    }

    /// Why the database does not answer; `None` if it does.
    pub(super) fn lost(&self) -> Option<String> {
        let lost = lock(&self.known).lost.clone();
        lost.map(|reason| format!("Jobs do not fire. {reason}"))
    }

    /// How many processes live.
    pub(super) fn count(&self) -> PeerCount {
        let live = lock(&self.known).live;
        PeerCount { name: self.name.clone(), live }
    }

    /// The processes, by the order in which they began.
    pub(super) async fn processes(&self) -> Result<Vec<ProcessNote>, String> {
        let own = self.database.process();
        let note = |PgProcess { id, name, since, seen_at, attempts }: PgProcess| ProcessNote {
            name: name.name,
            version: name.version,
            since,
            seen_at,
            attempts,
            answers: id == own,
        };
        let listed = self.list().await.map_err(|error| reason(&error))?;
        Ok(listed.into_iter().map(note).collect())
    }

    /// What an operator has to know of the database.
    pub(super) async fn findings(&self) -> Result<Vec<DatabaseNote>, String> {
        let note = |PgFinding { about, says, remedy, is_warning }: PgFinding| DatabaseNote {
            about,
            says,
            remedy,
            is_warning,
        };
        let facts = timeout(FACTS_MAX, self.place.facts()).await;
        let facts = facts.unwrap_or(Err(PgError::NoAnswer(FACTS_MAX)));
        let facts = facts.map_err(|error| {
            tracing::error!(error = chain(&error), "the facts of the database cannot be read");
            reason(&error)
        })?;
        Ok(facts.findings().into_iter().map(note).collect())
    }

    async fn list(&self) -> Result<Vec<PgProcess>, PgError> {
        let listed = timeout(ANSWER_MAX, self.database.processes()).await;
        listed.unwrap_or(Err(PgError::NoAnswer(ANSWER_MAX)))
    }
}

/// Says why the database cannot be used, to everybody: without names and addresses.
fn reason(error: &PgError) -> String {
    let what = match error {
        PgError::NoAnswer(_) => "does not answer",
        PgError::Connect(_) => "cannot be reached",
        _ => "cannot be used",
    };
    let remedy = error.remedy().unwrap_or("the log gives the reason");
    format!("The database {what}: {remedy}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_says_what_to_do() {
        let silent = reason(&PgError::NoAnswer(ANSWER_MAX));
        assert!(silent.starts_with("The database does not answer: check that"));
        let closed = reason(&PgError::Closed);
        assert!(closed.ends_with("cannot be used: the log gives the reason."));
    }
}
