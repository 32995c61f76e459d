//! Going on without the key of stored secrets.
//!
//! A job that needs a secret which no key opens is disabled, and says why. A collection loses its action
//! for failures, because it would fail as well. What is sealed stays as it is until the owner sends the
//! secrets again: nothing else tells which ones there were.
//!
//! Each change is one transaction, with its entry in the journal. A crash leaves some of them done. To do
//! them again changes nothing, so the next start goes through all of them.

use domain::earlier_timing::EarlierTiming;
use domain::name::Name;
use domain::pause::{Paused, paused};
use domain::refusal::Refusal;
use domain::timing::Change;
use ports::SealError;
use ports::store::{JobRecord, ResourceGroup, SaveJob, Saved};

use super::jobs::{timer, with_policies};
use super::{Manage, retry_on_stale};
use crate::definition::shown_definition;
use crate::error::AppError;

/// Why a job is paused whose secrets are lost.
const REASON: &str = "The key of its secrets is lost. Send the job again with all of its secrets.";

impl Manage {
    /// Disables a job whose secrets cannot be opened. Returns whether it was changed: one that is over, or
    /// gone, or says already why it is disabled, stays as it is.
    ///
    /// # Errors
    ///
    /// If the store does not answer, or the job cannot be read.
    pub async fn forget_secrets_of_job(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        name: &Name,
    ) -> Result<bool, AppError> {
        retry_on_stale(format!("job '{name}'"), || async {
            let collection = self.parent(place, collection).await?;
            let old = match self.job(&collection, name).await {
                Err(AppError::NoJob { .. }) => return Ok(Some(false)),
                found => found?,
            };
            let before = shown_definition(&old.uid, &old.document)?;
            if old.timer.state.is_final() || before.paused().is_some_and(|it| it.reason == REASON) {
                return Ok(Some(false));
            }
            let now = self.ports.clock.now();
            let wanted = paused(&before, Paused { at: now, reason: REASON.to_owned() });
            let change = old.timer.timing.changed([&before, &wanted], &old.uid, now);
            let (new_timer, timer_changes) = match change.map_err(Refusal::from)? {
                Change::Keeps => (with_policies(&old, &wanted)?, false),
                Change::Becomes(timing) => {
                    let schedule =
                        timing.schedule(&wanted, &old.uid, now).map_err(Refusal::from)?;
                    (timer(&wanted, timing, &schedule, old.timer.counters), true)
                }
            };
            let document = wanted.write().shown();
            let entry = self.job_entry(&old.name, Some(&old.document), Some(&document), false);
            let earlier = if timer_changes {
                EarlierTiming::ending(&old.timer.timing, old.timer.timetable.clone())
                    .after(old.earlier.clone())
            } else {
                old.earlier.clone()
            };
            let job = JobRecord { document, earlier, timer: new_timer, ..old };
            let save =
                SaveJob { collection: &collection, job: &job, timer_changes, entry: Some(&entry) };
            Ok((self.ports.jobs.replace(save).await? == Saved::Kept).then_some(true))
        })
        .await
    }

    /// Takes the action for failures from a collection, because its secrets cannot be opened. Returns
    /// whether there was one.
    ///
    /// # Errors
    ///
    /// If the store does not answer, or the collection is gone.
    pub async fn forget_secrets_of_collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<bool, AppError> {
        retry_on_stale(format!("job collection '{name}'"), || async {
            let old = self.collection(place, name).await?;
            let mut wanted = old.collection.definition.clone();
            let had = wanted.extensions.as_mut().and_then(|it| it.on_failure.take());
            if had.is_none() {
                return Ok(Some(false));
            }
            let saved = self.save(old, wanted, None, self.ports.clock.now()).await?;
            Ok(saved.map(|_| true))
        })
        .await
    }
}

/// What to do about a job whose secrets do not open, if it says itself that they are lost.
pub(super) fn explain_lost(job: &JobRecord, error: AppError) -> AppError {
    let is_lost = matches!(error, AppError::Seal(SealError::NotOurs))
        && shown_definition(&job.uid, &job.document)
            .is_ok_and(|it| it.paused().is_some_and(|paused| paused.reason == REASON));
    if !is_lost {
        return error;
    }
    let name = &job.name;
    Refusal::invalid(format!(
        "The key of the secrets of the job '{name}' is lost. Send the whole job again (PUT) with all of its \
         secrets."
    ))
    .into()
}
