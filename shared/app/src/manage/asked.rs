//! Runs that are begun once, however often they are asked for.
//!
//! Such a run is kept under a key before its message is sent, and the first one under a key wins. A crash
//! between the two leaves a run without a message. The next request with the same key sends that message. It
//! is the same attempt each time, and an attempt is claimed once.

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::{Occurrence, run_id};
use minutehand_domain::idempotency_key::{IDEMPOTENCY_KEPT_FOR, IdempotencyKey};
use minutehand_domain::tick::ticks;
use minutehand_ports::store::{AskedRun, CollectionRecord, HistoryEntry, JobRecord};

use super::occurrences::{PastOutcome, outcomes_at};
use super::run::{Run, asked_at};
use super::{JobPlace, Manage};
use crate::error::Result;

impl Manage {
    /// Runs a job once now, and no more if it is asked again with the same key within a day.
    ///
    /// # Errors
    ///
    /// As [`Self::run_job`].
    pub async fn run_job_once(&self, of: JobPlace<'_>, key: &IdempotencyKey) -> Result<()> {
        let (collection, job) = self.runnable(of).await?;
        let now = self.ports.clock.now();
        let run_id = run_id(&self.ports.ids.new_id(), self.depth);
        let (asked_at, expires_at) = (asked_at(&collection, now), now + IDEMPOTENCY_KEPT_FOR);
        let asked = self.asked_run(&job, key.stored(), (asked_at, run_id), expires_at);
        let other = self.ports.jobs.keep_asked(&job.uid, &asked, None, now).await?;
        self.send_asked(&collection, &job, &other.unwrap_or(asked), now).await
    }

    /// Sends the message of a run that is kept.
    pub(super) async fn send_asked(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
        asked: &AskedRun,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let AskedRun { generation, asked_at, run_id, asked_by, .. } = asked.clone();
        let run = Run { what: Occurrence::Run { asked_at, run_id }, generation, asked_by };
        self.send_run(collection, job, run, now).await
    }

    /// What became of a run that is kept. One that is to begin is under way; one that was not made because its
    /// collection was disabled has failed.
    pub(super) async fn fate(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
        asked: &AskedRun,
    ) -> Result<PastOutcome> {
        let entries = self.attempts_at(job, asked.asked_at).await?.into_iter().filter(|entry| {
            matches!(&entry.attempt.occurrence, Occurrence::Run { run_id, .. } if *run_id == asked.run_id)
        });
        Ok(match outcomes_at(entries, &job.timer).first() {
            Some(outcome) => *outcome,
            // What was asked for before the collection was switched on does not start any more.
            None if collection.on_since > asked.asked_at => PastOutcome::Failed,
            None => PastOutcome::UnderWay,
        })
    }

    /// The attempts of a job at the occurrences of an instant, as far as they are answered.
    pub(super) async fn attempts_at(
        &self,
        job: &JobRecord,
        at: DateTime<Utc>,
    ) -> Result<Vec<HistoryEntry>> {
        let since = self.history_since();
        let mut found = self.ports.browse.attempts(&job.uid, at).await?;
        found.retain(|entry| entry.is_answered(since));
        Ok(found)
    }

    /// A run as it is kept.
    pub(super) fn asked_run(
        &self,
        job: &JobRecord,
        key: String,
        (asked_at, run_id): (DateTime<Utc>, String),
        expires_at: DateTime<Utc>,
    ) -> AskedRun {
        let (generation, asked_by) = (job.timer.timing.generation, self.author.known());
        AskedRun { key, generation, asked_at, run_id, asked_by, expires_at }
    }
}

/// The key of the redrives of what failed at an instant. Keys of users begin with another letter.
pub(super) fn redrive_key(of: DateTime<Utc>) -> String {
    format!("x{}", ticks(of))
}
