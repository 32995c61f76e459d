//! Why an occurrence of a job did not fire, or that it did.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::{Attempt, Record, Role};
use minutehand_domain::earlier_timing::{HeldTiming, created_at};
use minutehand_domain::firing::{Outage, Waited, Why, WhyFacts, occurrence_before, why};
use minutehand_domain::goes_on::GoesOn;
use minutehand_domain::pause::Paused;
use minutehand_domain::refusal::Refusal;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::tick::TICK;
use minutehand_ports::store::{CollectionRecord, HistoryEntry, JobRecord};
use minutehand_recurrence::Rule;

use super::describe::{finished_at, since};
use super::occurrences::{PastOccurrence, PastOutcome};
use super::{JobDescription, JobPlace, Manage};
use crate::definition::shown_definition;
use crate::error::Result;

/// The most ranges of occurrences that were left out before the instant, or at it: those of older
/// timings may be among them.
const LEFT_OUT_READ_MAX: u32 = 10;
/// The most of the last occurrences among which trouble is looked for.
const TROUBLE_READ_MAX: usize = 100;

/// What became of an occurrence, with what is known around it.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The instant that is explained.
    pub at: DateTime<Utc>,
    /// The answer.
    pub why: Why,
    /// The occurrence before the instant.
    pub before: Option<DateTime<Utc>>,
    /// The occurrence after the instant.
    pub after: Option<DateTime<Utc>>,
    /// The attempts at the occurrence, the oldest first.
    pub attempts: Vec<(Attempt, Option<Record>)>,
    /// The earlier timing that held at the instant, if there is one and it is known.
    pub earlier: Option<HeldTiming>,
    /// Since when the job has its state, start and recurrence.
    pub since: DateTime<Utc>,
    /// The outages of sweepers and of workers that the instant fell into.
    pub outages: Vec<Outage>,
    /// The schedule of the job as it is, in whose zone times are told.
    pub schedule: Schedule,
    /// Why the scheduler has disabled the job, if it has.
    pub paused: Option<Paused>,
}

impl Manage {
    /// Describes a job, and explains the newest of its last occurrences and runs that did not go well, if there
    /// is one.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist, or the job cannot be read.
    pub async fn explain_newest_trouble(
        &self,
        of: JobPlace<'_>,
    ) -> Result<(JobDescription, Option<Explanation>)> {
        let (collection, job) = self.browsed_job(of).await?;
        let trouble = match self.newest_trouble(&job).await? {
            Some(at) => Some(self.explanation(&collection, &job, at).await?),
            None => None,
        };
        Ok((self.description(&collection, job).await?, trouble))
    }

    async fn newest_trouble(&self, job: &JobRecord) -> Result<Option<DateTime<Utc>>> {
        let found = self.occurrences_of(job, None, TROUBLE_READ_MAX).await?;
        let is_trouble = |it: &&PastOccurrence| match it {
            PastOccurrence::LeftOut(_) => true,
            PastOccurrence::Attempted { outcome, .. } => {
                matches!(outcome, PastOutcome::Failed | PastOutcome::Retrying)
            }
        };
        Ok(found.items.iter().find(is_trouble).map(|it| match it {
            PastOccurrence::LeftOut(left_out) => left_out.last,
            attempted @ PastOccurrence::Attempted { .. } => attempted.at(),
        }))
    }

    /// Explains what became of the occurrence of a job at an instant.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist, or the job cannot be read.
    pub async fn explain(&self, of: JobPlace<'_>, at: DateTime<Utc>) -> Result<Explanation> {
        let (collection, job) = self.browsed_job(of).await?;
        self.explanation(&collection, &job, at).await
    }

    async fn explanation(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
        at: DateTime<Utc>,
    ) -> Result<Explanation> {
        let (now, since_kept) = (self.ports.clock.now(), self.history_since());
        let definition = shown_definition(&job.uid, &job.document)?;
        let timing = &job.timer.timing;
        let timetable = timing.schedule(&definition, &job.uid, now).map_err(Refusal::from)?;
        let goes_on = job.timer.timetable.as_deref().and_then(GoesOn::of_line);
        let timetable = Schedule { goes_on, ..timetable };
        let rule = definition.recurrence.as_deref().map(Rule::canonical).transpose();
        let found = self.ports.browse.attempts(&job.uid, at).await?;
        let waits = |entry: &HistoryEntry| entry.waits && entry.attempt.role == Role::Main;
        let for_place = |entry: &HistoryEntry| entry.attempt.waited == Some(Waited::Place);
        let waits_for_place = found.iter().any(|entry| waits(entry) && for_place(entry));
        let waits_for_limit = found.iter().any(|entry| waits(entry) && !for_place(entry));
        let mut attempts: Vec<_> = found
            .into_iter()
            .filter(|entry| entry.is_answered(since_kept) && !entry.waits)
            .map(|HistoryEntry { attempt, record, .. }| (attempt, record))
            .collect();
        attempts.sort_by_key(|(attempt, _)| (attempt.generation, attempt.role, attempt.number));
        let earlier = HeldTiming::at(at, &job.earlier, timing, &job.document);
        let of_then = earlier.as_ref().and_then(|held| held.schedule.as_ref());
        let after = at.checked_add_signed(TICK);
        let left_out = self.ports.browse.left_out(&job.uid, after, LEFT_OUT_READ_MAX).await?;
        let pulses = self.ports.browse.pulses().await?;
        let is_on = collection.collection.definition.state.is_on();
        let facts = WhyFacts {
            at,
            now,
            history: self.settings.history,
            state: job.timer.state,
            created_at: created_at(&job.earlier, timing),
            generation: timing.generation,
            since: timing.since,
            finished_at: finished_at(job),
            timetable: &timetable,
            earlier: earlier.as_ref(),
            ends_at: rule.map_err(Refusal::from)?.and_then(|rule| rule.end()),
            collection_on_since: is_on.then_some(collection.on_since),
            attempts: &attempts,
            waits_for_limit,
            waits_for_place,
            left_out: &left_out,
            last_skip: job.timer.counters.last_skip,
            retries: definition.retries(
                Role::Main,
                collection.collection.definition.plan,
                &job.uid,
            ),
            outages: [&pulses.sweepers.outages, &pulses.workers.outages],
            beats: [pulses.sweepers.beat_at, pulses.workers.beat_at],
        };
        let outages = facts.outages.into_iter().flatten();
        let around = outages.filter(|outage| (outage.from..=outage.until).contains(&at)).copied();
        // Sweepers and workers are often away together.
        let outages: BTreeMap<_, _> = around.map(|it| ((it.from, it.until), it)).collect();
        Ok(Explanation {
            at,
            why: why(&facts),
            before: occurrence_before(of_then.unwrap_or(&timetable), at),
            after: after_in(earlier.as_ref(), at).or_else(|| timetable.after(at)),
            earlier,
            outages: outages.into_values().collect(),
            since: since(job),
            attempts,
            paused: definition.paused().cloned(),
            schedule: timetable,
        })
    }
}

/// The next occurrence of an earlier timing, while it held.
fn after_in(held: Option<&HeldTiming>, at: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let HeldTiming { until, schedule, .. } = held?;
    schedule.as_ref()?.after(at).filter(|next| next < until)
}
