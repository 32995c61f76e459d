//! What the process cannot do at the moment, as `/healthz` reports it.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use minutehand_app::fire::Pass;
use minutehand_rest::{DatabaseNote, HealthNote, Peers as PeerCount, ProcessNote, Readiness};
use minutehand_store_sql::SqlQueue;

use super::peers::Peers;
use crate::archive::ArchiveHealth;
use crate::lock;

/// Whether messages are taken and timers are swept.
pub(super) struct Condition {
    queue: SqlQueue,
    /// How many shards the last pass did not finish.
    unswept: Mutex<Option<u32>>,
    /// When a pass last read all shards, or when the sweeper started; `None` without a sweeper.
    swept_at: Mutex<Option<Instant>>,
    /// Not set if this process writes no archive.
    archive: OnceLock<ArchiveHealth>,
    /// Whether the last ping of `--heartbeat-url` was answered; `None` without one.
    ping: Mutex<Option<bool>>,
    /// The processes that share the database; `None` if this one is alone.
    pub(super) peers: Option<Arc<Peers>>,
}

impl Condition {
    pub(super) const fn of(queue: SqlQueue, peers: Option<Arc<Peers>>) -> Self {
        Self {
            queue,
            peers,
            unswept: Mutex::new(None),
            swept_at: Mutex::new(None),
            archive: OnceLock::new(),
            ping: Mutex::new(None),
        }
    }

    /// Takes note that the sweeper starts: a first pass that never ends has an age, too.
    pub(super) fn note_sweeper(&self) {
        *lock(&self.swept_at) = Some(Instant::now());
    }

    /// Takes note that another process sweeps: then no age of a pass says anything.
    pub(super) fn note_no_sweeper(&self) {
        *lock(&self.unswept) = None;
        *lock(&self.swept_at) = None;
    }

    /// Takes note that this process writes an archive.
    pub(super) fn note_archive(&self, health: ArchiveHealth) {
        // A process has one.
        let _ = self.archive.set(health);
    }

    /// Whether the archive can be written; `None` if this process writes none.
    pub(super) fn is_archive_ok(&self) -> Option<bool> {
        self.archive.get().map(|health| health.trouble().is_none())
    }

    /// Takes note of a ping of `--heartbeat-url`, or that none is sent.
    pub(super) fn note_ping(&self, is_answered: bool) {
        *lock(&self.ping) = Some(is_answered);
    }

    /// Whether the last ping was sent and answered; `None` without `--heartbeat-url`.
    pub(super) fn is_ping_ok(&self) -> Option<bool> {
        *lock(&self.ping)
    }

    /// Takes note of a pass.
    pub(super) fn note(&self, pass: &Pass) {
        let unswept = (pass.failed > 0).then_some(pass.failed);
        *lock(&self.unswept) = unswept;
        if unswept.is_none() && !pass.is_cut {
            self.note_sweeper();
        }
    }

    /// How long ago a pass last read all shards, or the sweeper started; `None` without a sweeper.
    pub(super) fn since_complete_sweep(&self) -> Option<Duration> {
        lock(&self.swept_at).map(|at| at.elapsed())
    }
}

#[async_trait]
impl Readiness for Condition {
    fn lost_database(&self) -> Option<String> {
        self.peers.as_ref()?.lost()
    }

    fn peers(&self) -> Option<PeerCount> {
        self.peers.as_ref().map(|peers| peers.count())
    }

    async fn processes(&self) -> Result<Vec<ProcessNote>, String> {
        match &self.peers {
            Some(peers) => peers.processes().await,
            None => Ok(Vec::new()),
        }
    }

    async fn database(&self) -> Result<Vec<DatabaseNote>, String> {
        match &self.peers {
            Some(peers) => peers.findings().await,
            None => Ok(Vec::new()),
        }
    }

    fn trouble(&self) -> Option<String> {
        if self.queue.has_failed_to_deliver() {
            let why = "Messages cannot be taken from the queue, so jobs do not fire. The log gives the \
                       reason.";
            return Some(why.to_owned());
        }
        let unswept = (*lock(&self.unswept))?;
        Some(format!(
            "{unswept} shards of timers cannot be swept, so some jobs do not fire. The log gives the \
             reason."
        ))
    }

    fn notes(&self) -> Vec<HealthNote> {
        self.archive.get().and_then(ArchiveHealth::trouble).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use minutehand_ports::Deliveries as _;
    use minutehand_runtime::ProcessClock;
    use minutehand_store_sql::sqlite::Database;

    use super::*;

    #[tokio::test]
    async fn shards_and_messages_that_fail_are_trouble_until_they_do_not() {
        let (database, threads) = Database::in_memory().unwrap();
        let clock = Arc::new(ProcessClock::default());
        let queue = SqlQueue::open(database.clone(), clock).await.unwrap();
        let condition = Condition::of(queue.clone(), None);
        let pass = |failed, is_cut| Pass { failed, is_cut, ..Pass::default() };
        assert_eq!(condition.trouble(), None);
        condition.note(&pass(3, false));
        assert!(condition.trouble().unwrap().starts_with("3 shards of timers cannot be swept"));
        condition.note(&pass(0, false));
        assert_eq!(condition.trouble(), None);

        database.close();
        threads.ended().await;
        assert!(queue.receive(1).await.is_err());
        assert!(condition.trouble().unwrap().starts_with("Messages cannot be taken"));
    }
}
