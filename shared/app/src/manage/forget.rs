//! Going on without the key of stored secrets.
//!
//! A job whose secrets do not open is disabled, and says why. A collection loses its failure action, which
//! would fail as well. The sealed secrets of a job stay: without them, the job could be enabled and would
//! run as if it had none.
//!
//! Each change is one transaction, with its entry in the journal. A crash leaves some of them done; to do
//! them again changes nothing.

use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::job::{JobState, paused};
use minutehand_domain::name::Name;
use minutehand_domain::pause::Paused;
use minutehand_domain::refusal::Refusal;
use minutehand_domain::timing::Change;
use minutehand_ports::SealError;
use minutehand_ports::store::{
    CollectionRecord, JobRecord, ResourceGroup, SaveJob, Saved, TimerRecord,
};

use super::{JobPlace, Manage, retry_on_stale};
use crate::definition::{shown_definition, whole_collection};
use crate::error::{AppError, Result};

/// Why a job is paused whose secrets are lost.
const REASON: &str = "The key of its secrets is lost. Put the job again, with all of its secrets.";

impl Manage {
    /// Disables a job whose secrets do not open. Returns whether it was changed: one whose secrets open,
    /// that has finished, or that says already that their key is lost, stays as it is.
    ///
    /// # Errors
    ///
    /// If the store does not answer, or the job is gone or cannot be read.
    pub async fn forget_secrets_of_job(&self, of: JobPlace<'_>) -> Result<bool> {
        let (.., name) = of;
        retry_on_stale(format!("job '{name}'"), || async {
            let (collection, old) = self.parent_and_job(of).await?;
            if old.timer.state.is_final() || says_lost(&old) {
                return Ok(Some(false));
            }
            match self.whole_definition(&old).await {
                Ok(_) => Ok(Some(false)),
                Err(AppError::Seal(SealError::NotOurs)) => {
                    let saved = self.pause_lost(&collection, old).await?;
                    Ok((saved == Saved::Kept).then_some(true))
                }
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// Takes the failure action from a collection if its secrets do not open. Returns whether it was
    /// changed.
    ///
    /// # Errors
    ///
    /// If the store does not answer, or the collection is gone or cannot be read.
    pub async fn forget_secrets_of_collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<bool> {
        retry_on_stale(format!("job collection '{name}'"), || async {
            let old = self.collection(place, name).await?;
            match whole_collection(self.ports.sealer.as_ref(), &old).await {
                Ok(_) => return Ok(Some(false)),
                Err(AppError::Seal(SealError::NotOurs)) => {}
                Err(error) => return Err(error),
            }
            let mut wanted = old.collection.definition.clone();
            if let Some(extensions) = &mut wanted.extensions {
                extensions.on_failure = None;
            }
            let saved = self.save(old, wanted, None, self.ports.clock.now()).await?;
            Ok(saved.map(|_| true))
        })
        .await
    }

    async fn pause_lost(&self, collection: &CollectionRecord, old: JobRecord) -> Result<Saved> {
        let now = self.ports.clock.now();
        let before = shown_definition(&old.uid, &old.document)?;
        let wanted = paused(&before, Paused { at: now, reason: REASON.to_owned() });
        let change = old.timer.timing.changed([&before, &wanted], &old.uid, now);
        let document = wanted.write().shown();
        let entry = self.job_entry(&old.name, Some(&old.document), Some(&document), false);
        let mut job = JobRecord { document, ..old };
        let timer_changes = match change.map_err(Refusal::from)? {
            Change::Keeps => false,
            Change::Becomes(timing) => {
                let ended = EarlierTiming::ending(&job.timer.timing, job.timer.timetable.take());
                job.earlier = ended.after(job.earlier);
                let state = JobState::Disabled;
                job.timer =
                    TimerRecord { state, timing, due_at: None, is_spent: false, ..job.timer };
                true
            }
        };
        let save = SaveJob { collection, job: &job, timer_changes, entry: Some(&entry) };
        Ok(self.ports.jobs.replace(save).await?)
    }
}

/// What to do about a job whose secrets do not open, if it says itself that their key is lost.
pub(super) fn explain_lost(job: &JobRecord, error: AppError) -> AppError {
    if !matches!(error, AppError::Seal(SealError::NotOurs)) || !says_lost(job) {
        return error;
    }
    let name = &job.name;
    Refusal::invalid(format!(
        "The key of the secrets of job '{name}' is lost. Send the whole job again (PUT), with all of its \
         secrets."
    ))
    .into()
}

/// Whether a job was disabled because its secrets are lost.
pub(super) fn says_lost(job: &JobRecord) -> bool {
    let definition = shown_definition(&job.uid, &job.document);
    definition.is_ok_and(|it| it.paused().is_some_and(|paused| paused.reason == REASON))
}
