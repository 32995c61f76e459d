//! Messages that come back so late that history cannot tell whether their attempt was made: a dead letter
//! that was sent again and again, or what a machine held that was off for weeks.
//!
//! A message is not kept for as long as a record, so this happens only if its time began anew. To make the
//! attempt could be to make it twice, so it is not made. A retry that waits in a timer is no such attempt:
//! its timer is there for as long as it is owed.
//!
//! The step reads, and writes nothing. A crash leaves the message, which comes again.

use minutehand_domain::attempt::Attempt;
use minutehand_domain::firing::limits::LONG_RETRIES_MAX;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::PulseRecord;

use super::execute::Executor;
use super::loaded_job::path_without_names;
use crate::error::Result;

impl Executor {
    /// Whether the record of an attempt, if it was made, may have expired.
    pub(super) async fn is_forgotten(&self, job: &JobRef, attempt: &Attempt) -> Result<bool> {
        let now = self.ports.clock.now();
        let slot_at = attempt.slot().map(|slot| slot.at);
        let began_at = attempt.ready_at().max(slot_at.unwrap_or(attempt.due_at));
        if began_at >= HistoryDays::Seven.known_since(now) {
            return Ok(false);
        }
        let store = &self.ports.store;
        let PulseRecord { workers, .. } = store.pulses.read_pulses().await?;
        if began_at >= workers.history.known_since(self.settings.history, now) {
            return Ok(false);
        }
        if attempt.is_long {
            let waiting = store.retries.list(&job.uid, LONG_RETRIES_MAX).await?;
            if waiting.iter().any(|it| it.is_same(attempt)) {
                return Ok(false);
            }
        }
        let (job_path, id) = (path_without_names(job), attempt.id());
        tracing::warn!(
            job.path = job_path,
            job.uid,
            attempt = %id,
            began_at = %began_at,
            "an attempt is not made: its message is older than history is kept, so that nothing tells \
             whether it was made before"
        );
        Ok(true)
    }
}
