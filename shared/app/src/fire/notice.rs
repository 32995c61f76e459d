//! The notice of an occurrence that has failed for good: the failure action of the collection.
//!
//! A notice is an attempt like others: it is claimed, recorded, and retried under the policy of the
//! failure action. It follows the last record of the error action, or of the main action if the job has
//! no error action. Whether the collection has a failure action is read when the record is followed,
//! and the action itself when the notice is sent.
//!
//! | a crash after | leaves | repaired by |
//! |---|---|---|
//! | the record of the failed action | no notice | the message of that action is delivered again: the worker finds the record, and sends the message of the error action or of the notice |
//! | the message of the notice is sent | the message of the failed action as well | that one sends the same notice again: both have one identity, and it is claimed once |
//! | the claim of the notice | a lease | the message of the notice, when the lease is over |
//! | the event is sent | no record of the notice | the same: the event is sent again with the same id, by which the receiver knows it |
//! | the record of the notice | no retry of it, if it failed | the message of the notice: the worker finds the record, and sends the retry |
//!
//! The event is made from the records of the occurrence, so that every attempt at the notice sends
//! the same one, except for what the next occurrence is by then.
//!
//! A change of the job's start, recurrence or state cancels a notice that has not been sent, as it
//! cancels a retry and an error action. A collection that is off tells nothing.

use minutehand_domain::action::{FailureAction, Target};
use minutehand_domain::attempt::{Attempt, Record, Role};
use minutehand_domain::failure_event::{FailureEvent, JobFacts, JobNames};
use minutehand_domain::job::{JobDefinition, JobState};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::CollectionRecord;
use minutehand_recurrence::Recurrence;

use super::execute::Executor;
use super::loaded_job::LoadedJob;
use crate::definition::collection_definition;
use crate::error::Result;

impl Executor {
    /// The failure action of a collection as it is now, and the collection.
    pub(super) async fn failure_action(
        &self,
        collection_uid: &str,
    ) -> Result<Option<(CollectionRecord, FailureAction)>> {
        let snapshots = &self.ports.store.snapshots;
        let Some(record) = snapshots.read_collection(collection_uid).await? else {
            return Ok(None);
        };
        let definition = collection_definition(self.ports.sealer.as_ref(), &record).await?;
        Ok(definition.on_failure().cloned().map(|action| (record, action)))
    }

    /// The target of a notice, with the event that it sends; `None` if the collection has no failure
    /// action any more.
    pub(super) async fn notice(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        loaded: &LoadedJob,
    ) -> Result<Option<Target>> {
        let Some((record, action)) = self.failure_action(&job.collection_uid).await? else {
            return Ok(None);
        };
        let attempts = self.attempts_of_occurrence(job, attempt).await?;
        let first = Attempt { number: 0, ..attempt.clone() };
        let is_on = loaded.snapshot.collection_on_since.is_some()
            && loaded.snapshot.state == JobState::Enabled;
        let timetable = loaded.schedule.as_ref().filter(|_| is_on);
        let definition = self.definition(job, loaded).await.ok();
        let recurrence = definition.and_then(|it| it.recurrence.as_deref());
        let before = attempt.occurrence.redrive_of().unwrap_or(attempt.occurrence.nominal_at());
        let event = FailureEvent {
            id: format!("{}.{}", job.uid, first.id()),
            names: JobNames {
                subscription: record.place.subscription.as_str(),
                group: record.place.group.as_str(),
                collection: record.collection.name.as_str(),
                job: loaded.snapshot.name.as_str(),
            },
            occurrence: &attempt.occurrence,
            attempts: &attempts,
            paused: definition.and_then(JobDefinition::paused),
            next_at: timetable.and_then(|it| it.at_or_after(self.ports.clock.now())),
            told: self.told(job, attempt, loaded).await?,
            facts: JobFacts {
                zone: recurrence.and_then(Recurrence::zone).copied(),
                previous_at: loaded.schedule.as_ref().and_then(|it| it.before(before)),
                missed: loaded.snapshot.counters.missed(),
            },
        };
        Ok(Some(action.with_event(&event)))
    }

    /// The attempts of an occurrence that are on record, notices aside. If there are too many of
    /// later occurrences, the event says nothing of them.
    pub(super) async fn attempts_of_occurrence(
        &self,
        job: &JobRef,
        attempt: &Attempt,
    ) -> Result<Vec<(Attempt, Record)>> {
        let nominal_at = attempt.occurrence.nominal_at();
        let found = self.attempts_since(job, nominal_at).await?.unwrap_or_default();
        let is_of_occurrence = |other: &Attempt| {
            other.generation == attempt.generation
                && other.occurrence == attempt.occurrence
                && other.role != Role::Notice
        };
        let found = found.into_iter().filter(|(other, _)| is_of_occurrence(other));
        Ok(found.filter_map(|(other, record)| Some((other, record?))).collect())
    }
}
