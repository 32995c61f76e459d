//! The page that `GET /metrics` returns: the counters of this process, the state of the queue, what the
//! system says about the process, and its requests.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::http::{Method, StatusCode};
use chrono::{DateTime, Utc};
use minutehand_ports::{Clock, Disk as _};
use minutehand_rest::{MetricsError, MetricsPage, Peers, Readiness as _};
use minutehand_runtime::{Metrics, gauge, head};
use minutehand_store_sql::{QueueStanding, SqlQueue, SqlStore};
use rustix::fs::statvfs;

use super::process_figures::ProcessFigures;
use crate::archive::NewestBackup;
use crate::lock;
use crate::serve::build_info::{COMMIT, VERSION};
use crate::serve::condition::Condition;
use crate::serve::state_count::{CountedStates, StateCount};
use crate::serve::under_way::UnderWay;

/// Renders `GET /metrics` in the text format of Prometheus.
pub(in crate::serve) struct PrometheusPage {
    pub(in crate::serve) metrics: Arc<Metrics>,
    pub(in crate::serve) queue: SqlQueue,
    pub(in crate::serve) clock: Arc<dyn Clock>,
    pub(in crate::serve) under_way: UnderWay,
    pub(in crate::serve) condition: Arc<Condition>,
    pub(in crate::serve) state_count: StateCount,
    pub(in crate::serve) newest_backup: NewestBackup,
    /// What stores everything.
    pub(in crate::serve) store: String,
    pub(in crate::serve) disk: Arc<SqlStore>,
    /// The data directory; `None` if everything is in memory.
    pub(in crate::serve) data: Option<PathBuf>,
    /// Answered requests by method, route and status. There are as many as routes have statuses.
    pub(in crate::serve) requests: Mutex<BTreeMap<(String, &'static str, u16), u64>>,
}

#[async_trait]
impl MetricsPage for PrometheusPage {
    async fn text(&self) -> Result<String, MetricsError> {
        let mut text = self.metrics.text();
        // Without its database, a process still tells that it has none, and its own figures.
        let is_lost = self.condition.lost_database().is_some();
        if !is_lost {
            // Writing to a string does not fail.
            let _ = write_queue(&mut text, &self.queue.standing().await?, self.clock.now());
        }
        let is_ready = !is_lost
            && self.disk.accepts_writes().await.is_ok()
            && self.condition.trouble().is_none();
        let _ = self.write_condition(&mut text, is_ready);
        if let Some(counted) = lock(&self.state_count).clone() {
            let _ = write_states(&mut text, &counted);
        }
        let _ = write_process(&mut text, &self.store);
        let _ = self.write_requests(&mut text);
        Ok(text)
    }

    fn count_request(&self, method: &Method, route: Option<&'static str>, status: StatusCode) {
        // A client may send any method; only those of routes are counted by name.
        let (method, route) = route.map_or(("other", "none"), |route| (method.as_str(), route));
        let mut requests = lock(&self.requests);
        *requests.entry((method.to_owned(), route, status.as_u16())).or_default() += 1;
    }
}

impl PrometheusPage {
    fn write_condition(&self, text: &mut String, is_ready: bool) -> fmt::Result {
        let help = "1 if /healthz reports no trouble, else 0.";
        gauge(text, "ready", help, u8::from(is_ready))?;
        let under_way = self.under_way.count();
        gauge(text, "actions_under_way", "Actions that are being performed.", under_way)?;
        if let Some(Peers { name, live }) = self.condition.peers() {
            let help = "Live processes that share the database, with this one.";
            gauge(text, "processes", help, live)?;
            let info = "minutehand_process_info";
            head(text, info, "gauge", "The process that answers; always 1.")?;
            writeln!(text, "{info}{{name=\"{name}\"}} 1")?;
        }
        if let Some(age) = self.condition.since_complete_sweep() {
            let help = "Seconds since the last sweep that read all shards.";
            gauge(text, "sweep_age_seconds", help, age.as_secs())?;
        }
        if let Some(second) = *lock(&self.newest_backup) {
            let help = "When the newest daily backup began, in seconds since 1970; 0 without one.";
            gauge(text, "backup_time_seconds", help, second)?;
        }
        if let Some(is_ok) = self.condition.is_archive_ok() {
            let help = "1 if the archive could be written when it was last tried, else 0.";
            gauge(text, "archive_ok", help, u8::from(is_ok))?;
        }
        if let Some(is_ok) = self.condition.is_ping_ok() {
            let help = "1 if the last ping of --heartbeat-url was sent and answered, else 0.";
            gauge(text, "heartbeat_ok", help, u8::from(is_ok))?;
        }
        // Where the system does not tell it, there is no line.
        let disk = self.data.as_ref().and_then(|data| statvfs(data).ok());
        if let Some(disk) = disk {
            let help = "Space that the disk under the data directory has left.";
            gauge(text, "disk_free_bytes", help, disk.f_bavail.saturating_mul(disk.f_frsize))?;
        }
        Ok(())
    }

    fn write_requests(&self, text: &mut String) -> fmt::Result {
        let name = "minutehand_requests_total";
        head(text, name, "counter", "Answered requests, by method, route and status.")?;
        let requests = lock(&self.requests);
        for ((method, route, status), n) in requests.iter() {
            writeln!(
                text,
                "{name}{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}} {n}"
            )?;
        }
        Ok(())
    }
}

fn write_process(text: &mut String, store: &str) -> fmt::Result {
    let name = "minutehand_build_info";
    head(text, name, "gauge", "The build that is running; always 1.")?;
    let zones = minutehand_recurrence::zone::database_version();
    writeln!(
        text,
        "{name}{{version=\"{VERSION}\",commit=\"{COMMIT}\",store=\"{store}\",time_zones=\"{zones}\"}} 1"
    )?;
    ProcessFigures::read().write(text)
}

fn write_states(text: &mut String, counted: &CountedStates) -> fmt::Result {
    for (name, help, states) in [
        ("minutehand_jobs", "Jobs by state, when they were last counted.", &counted.states.jobs),
        (
            "minutehand_collections",
            "Collections by state, when they were last counted.",
            &counted.states.collections,
        ),
    ] {
        head(text, name, "gauge", help)?;
        for (state, n) in states {
            writeln!(text, "{name}{{state=\"{state}\"}} {n}")?;
        }
    }
    let help = "Seconds since jobs and collections were last counted.";
    gauge(text, "state_count_age_seconds", help, counted.began_at.elapsed().as_secs())
}

fn write_queue(text: &mut String, stats: &QueueStanding, now: DateTime<Utc>) -> fmt::Result {
    let late = stats.oldest_due_at.map_or(0, |due_at| (now - due_at).num_seconds().max(0));
    for (name, help, value) in [
        ("queue_visible", "Messages that are due and waiting for a worker.", stats.visible),
        ("queue_delayed", "Messages that are not due yet.", stats.delayed),
        ("queue_hidden", "Messages being processed or waiting for another try.", stats.hidden),
        ("dead_letters", "Messages that will not be delivered again.", stats.dead_letters),
        (
            "queue_oldest_due_seconds",
            "How long the oldest attempt that waits has been due.",
            late.unsigned_abs(),
        ),
    ] {
        gauge(text, name, help, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn only_a_message_that_is_overdue_counts_as_late() {
        let now = DateTime::UNIX_EPOCH;
        for (late, shown) in [(90, "90"), (-90, "0")] {
            let oldest_due_at = Some(now - TimeDelta::seconds(late));
            let stats = QueueStanding { visible: 7, oldest_due_at, ..QueueStanding::default() };
            let mut text = String::new();
            write_queue(&mut text, &stats, now).unwrap();
            assert!(text.contains("\nminutehand_queue_visible 7\n"), "{text}");
            let line = format!("\nminutehand_queue_oldest_due_seconds {shown}\n");
            assert!(text.contains(&line), "{text}");
        }
    }
}
