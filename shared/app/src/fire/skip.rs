//! Attempts that do not start: what is left out is recorded, the log and the counters say so.

use minutehand_domain::attempt::Attempt;
use minutehand_domain::firing::{Around, LeftOut, LeftOutReason, Outage, SkipReason, overtaken_in};
use minutehand_domain::incident::Incident;
use minutehand_domain::recent::LastSkip;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::Event;
use minutehand_ports::store::{Claim, Counted, CountersAdd};

use super::execute::{Executor, Performed};
use super::loaded_job::{LoadedJob, job_path};
use super::sighting::Sighting;
use crate::error::Result;

/// No attempt has this number. A skipped occurrence is counted under it.
const SKIPPED: u32 = u32::MAX;

impl Executor {
    /// Records what is left out, before its claim is released: this occurrence, or all that an outage
    /// cost up to it. Of several workers, the one with the latest occurrence records the most. Returns
    /// what is recorded.
    pub(super) async fn note_left_out(
        &self,
        claim: &Claim,
        reason: SkipReason,
        loaded: &LoadedJob,
        outages: &[Outage],
    ) -> Result<Option<LeftOut>> {
        let Claim { job, attempt, .. } = claim;
        let (generation, nominal_at) = (attempt.generation, attempt.occurrence.nominal_at());
        let at = self.ports.clock.now();
        let left_out = match (reason, &loaded.schedule) {
            (SkipReason::Overtaken, Some(schedule)) => {
                let outage = overtaken_in(schedule, nominal_at, attempt.ready_at(), outages);
                let since = loaded.snapshot.timing.since;
                outage.and_then(|outage| {
                    let costs_all_until = self.heartbeat.costs_all_until(outage);
                    let around = Around { outage, since, costs_all_until, at };
                    LeftOut::around(schedule, generation, nominal_at, &around)
                })
            }
            (SkipReason::TooLate, _) => {
                Some(LeftOut::one(generation, nominal_at, LeftOutReason::TooLate, at))
            }
            (SkipReason::NotWatched, _) => {
                Some(LeftOut::one(generation, nominal_at, LeftOutReason::NotWatched, at))
            }
            (SkipReason::Overtaken, None)
            | (
                SkipReason::Gone
                | SkipReason::CollectionOff
                | SkipReason::TimingChanged
                | SkipReason::NotEnabled
                | SkipReason::Overlap,
                _,
            ) => None,
        };
        if let Some(left_out) = &left_out {
            self.ports.store.attempts.leave_out(&job.uid, left_out).await?;
            if let Some(outage) = left_out.reason.outage() {
                let incident = Incident::Missed { occurrences: left_out.occurrences, jobs: 1 };
                let (occurrence, at) = (left_out.first, outage.until);
                let sighting = Sighting { job, occurrence, at, incident };
                Box::pin(self.notice_incident(&sighting, loaded)).await?;
            }
        }
        Ok(left_out)
    }

    /// Gives up an attempt that may not start, and is not claimed.
    pub(super) async fn drop_attempt(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        skip: LastSkip,
        loaded: Option<LoadedJob>,
    ) -> Result<Performed> {
        let reason = skip.reason;
        let (job_path, id) = (job_path(job, loaded.as_ref()), attempt.id());
        let due = if reason == SkipReason::CollectionOff {
            self.skip_log.count(&job.collection_uid, self.ports.clock.now())
        } else {
            Some(1)
        };
        if let (true, Some(occurrences)) = (reason.is_skip(), due) {
            tracing::warn!(
                job.path = job_path, job.uid, attempt = %id, occurrences, %reason,
                "an occurrence is skipped"
            );
        } else if reason.is_skip() {
            tracing::debug!(
                job.path = job_path, job.uid, attempt = %id, %reason, "an occurrence is skipped"
            );
        } else {
            tracing::info!(
                job.path = job_path, job.uid, attempt = %id, %reason, "an attempt does not start"
            );
        }
        self.ports.events.note(Event::Dropped { job, attempt, why: reason });
        if let (true, true, Some(loaded)) = (reason.is_skip(), attempt.is_first(), loaded) {
            let add = CountersAdd::skipped(skip);
            // Under a number of its own. The clock of the worker that gets a copy of the message may
            // be behind, so that the attempt starts there after all and is counted, too.
            let attempt = Attempt { number: SKIPPED, ..attempt.clone() };
            self.count(job, Counted { attempt, ended_at: None, add }, loaded).await?;
        }
        self.remove_timer(job, attempt).await?;
        Ok(Performed::Done)
    }
}
