//! `--heartbeat-url`: another watcher is told each minute that jobs fire, so it notices a silent server.
//!
//! Nothing is sent while jobs do not fire. So the watcher needs no more than to miss pings, and tells a server
//! that has stopped from nothing else.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::firing::limits::SILENT_AFTER;
use minutehand_outbound::HeartbeatUrl;
use minutehand_ports::{Clock, Pulses as _, chain};
use minutehand_rest::Readiness as _;
use minutehand_store_sql::SqlStore;

use super::condition::Condition;

/// The time between two pings.
const PING_EVERY: Duration = Duration::from_mins(1);
/// The time between two looks before the first ping: a server that starts is well within seconds.
const FIRST_LOOKS: Duration = Duration::from_secs(1);

/// Pings a watcher.
pub(super) struct Watcher {
    pub(super) url: HeartbeatUrl,
    pub(super) condition: Arc<Condition>,
    pub(super) jobs: Arc<SqlStore>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Watcher {
    /// Pings for ever.
    pub(super) async fn ping(self) {
        let pool = match self.url.pool() {
            Ok(pool) => pool,
            Err(error) => {
                let error = chain(&error);
                tracing::error!(error, "--heartbeat-url: TLS cannot be used, no ping is sent");
                return std::future::pending().await;
            }
        };
        let (mut wait, mut said) = (FIRST_LOOKS, None::<Option<String>>);
        loop {
            self.clock.wait(wait).await;
            let trouble = if let Some(trouble) = self.trouble().await {
                Some(format!("no ping is sent: {trouble}"))
            } else {
                wait = PING_EVERY;
                self.url.ping(&pool).await.err().map(|error| chain(&error))
            };
            self.condition.note_ping(trouble.is_none());
            // What goes on is said once.
            if said.as_ref() != Some(&trouble) {
                let host = self.url.host();
                match &trouble {
                    Some(trouble) if wait == PING_EVERY => {
                        tracing::warn!(host, trouble, "--heartbeat-url");
                    }
                    Some(trouble) => tracing::debug!(host, trouble, "--heartbeat-url"),
                    None => tracing::info!(host, "--heartbeat-url: pings arrive"),
                }
                said = Some(trouble);
            }
        }
    }

    /// Why jobs do not fire; `None` if they do.
    async fn trouble(&self) -> Option<String> {
        let known = self.condition.lost_database().or_else(|| self.condition.trouble());
        if known.is_some() {
            return known;
        }
        let pulses = match self.jobs.read_pulses().await {
            Ok(pulses) => pulses,
            Err(error) => return Some(format!("the store does not answer: {}", chain(&error))),
        };
        let (now, after) = (self.clock.now(), self.clock.scheduled_during(SILENT_AFTER));
        let mut of = [("sweeper", pulses.sweepers), ("executor", pulses.workers)].into_iter();
        let silent = of.find(|(_, pulse)| pulse.is_silent(now, after));
        silent.map(|(name, _)| format!("no {name} gives a sign of life"))
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use minutehand_domain::firing::Pulse;
    use minutehand_ports::store::PulseOf;
    use minutehand_runtime::ProcessClock;
    use minutehand_store_sql::SqlQueue;
    use minutehand_store_sql::sqlite::Database;

    use super::*;

    #[tokio::test]
    async fn without_a_sweeper_or_an_executor_nothing_is_sent() {
        let (database, _threads) = Database::in_memory().unwrap();
        let clock = Arc::new(ProcessClock::default());
        let queue = SqlQueue::open(database.clone(), clock.clone()).await.unwrap();
        let jobs = Arc::new(SqlStore::new(database));
        let url: HeartbeatUrl = "https://watch.example.org/".parse().unwrap();
        let condition = Arc::new(Condition::of(queue, None));
        let watcher = Watcher { url, condition, jobs: jobs.clone(), clock: clock.clone() };
        let beat = async |of, ago| {
            let old = jobs.read_pulses().await.unwrap().of(of).beat_at;
            let beat_at = Some(clock.now() - TimeDelta::seconds(ago));
            let pulse = Pulse { beat_at, ..Pulse::default() };
            assert!(jobs.beat(of, old, &pulse).await.unwrap());
        };
        assert_eq!(watcher.trouble().await.unwrap(), "no sweeper gives a sign of life");
        beat(PulseOf::Sweepers, 100).await;
        assert_eq!(watcher.trouble().await.unwrap(), "no executor gives a sign of life");
        beat(PulseOf::Workers, 1).await;
        assert_eq!(watcher.trouble().await, None);
        beat(PulseOf::Sweepers, 200).await;
        assert_eq!(watcher.trouble().await.unwrap(), "no sweeper gives a sign of life");
    }
}
