//! What a user asks for after failures: to resume a job that was paused, and to repeat an occurrence
//! that failed for good.

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::{Role, redrive_id};
use minutehand_domain::job::{JobState, Switch};
use minutehand_domain::name::Name;
use minutehand_domain::refusal::{Code, Refusal};
use minutehand_recurrence::format_instant;

use super::asked::redrive_key;
use super::occurrences::{PastOutcome, outcomes_at};
use super::run::asked_at;
use super::{JobPlace, JobView, Manage, retry_on_stale};
use crate::definition::shown_definition;
use crate::error::{AppError, Result};

/// How often a redrive is tried while others redrive the same failure.
const ROUNDS_MAX: usize = 5;

/// A run that repeats an occurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redriven {
    /// The instant of the run, under which the history has it.
    pub at: DateTime<Utc>,
    /// The instant of the occurrence that it repeats.
    pub redrive_of: DateTime<Utc>,
}

impl Manage {
    /// Enables a job that the scheduler has paused. One that is enabled already stays as it is.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist, or if the job is off for another reason.
    pub async fn resume_job(&self, of: JobPlace<'_>) -> Result<JobView> {
        let (.., name) = of;
        retry_on_stale(format!("job '{name}'"), || async {
            let (collection, old) = self.parent_and_job(of).await?;
            self.check_job_condition(name, Some(&old))?;
            if old.timer.state == JobState::Enabled {
                return Ok(Some(self.stored_view(&collection, old)?));
            }
            if shown_definition(&old.uid, &old.document)?.paused().is_none() {
                let state = old.timer.state.name();
                return Err(Refusal::new(
                    Code::JobNotPaused,
                    format!(
                        "The job '{}' is {state}, but was not paused by the scheduler. Only a job that \
                         pauses after failures is resumed; to enable a disabled job, set its 'state' to \
                         'enabled'.",
                        old.name
                    ),
                )
                .into());
            }
            let before = self.whole_definition(&old).await?;
            let mut wanted = before.clone();
            wanted.switch = Switch::Enabled;
            self.replace_job(&collection, old, &before, wanted).await
        })
        .await
    }

    /// Runs a job once for an occurrence that failed for good. The run says in the history which one it
    /// repeats. While one is under way, asking for another one returns it.
    ///
    /// # Errors
    ///
    /// If the job cannot [run](Self::run_job), or if what became of the occurrence is not a failure.
    pub async fn redrive_occurrence(
        &self,
        of: JobPlace<'_>,
        at: DateTime<Utc>,
    ) -> Result<Redriven> {
        let (.., name) = of;
        let (collection, job) = self.runnable(of).await?;
        let found = self.attempts_at(&job, at).await?;
        // As the list of failures has it.
        let main = found.iter().filter(|entry| entry.attempt.role == Role::Main);
        let failed_at = main.filter_map(|entry| Some(entry.record.as_ref()?.ended_at)).max();
        let failed_at = failed_at.unwrap_or(at);
        check_failed(&outcomes_at(found.into_iter(), &job.timer), name, at)?;
        let now = self.ports.clock.now();
        let asked_at = asked_at(&collection, now);
        let id = self.ports.ids.new_id();
        let run_id = redrive_id(&id, self.depth, [at, failed_at]);
        let expires_at = self.settings.history.kept_until(now);
        let asked = self.asked_run(&job, redrive_key(at), (asked_at, run_id), expires_at);
        let mut instead_of = None;
        for _ in 0..ROUNDS_MAX {
            let kept = self.ports.jobs.keep_asked(&job.uid, &asked, instead_of.as_deref(), now);
            let kept = kept.await?.unwrap_or_else(|| asked.clone());
            let fate = if kept == asked {
                PastOutcome::UnderWay
            } else {
                self.fate(&collection, &job, &kept).await?
            };
            match fate {
                PastOutcome::UnderWay | PastOutcome::Retrying => {
                    self.send_asked(&collection, &job, &kept, now).await?;
                    return Ok(Redriven { at: kept.asked_at, redrive_of: at });
                }
                PastOutcome::Failed => instead_of = Some(kept.run_id),
                PastOutcome::Succeeded => return Err(mended(at, kept.asked_at).into()),
            }
        }
        Err(AppError::Busy { what: format!("job '{name}'") })
    }
}

/// Refuses to repeat what a redrive has mended.
fn mended(at: DateTime<Utc>, by: DateTime<Utc>) -> Refusal {
    let (at, by) = (format_instant(at), format_instant(by));
    let message = format!(
        "The failure of {at} was mended by the redrive of {by}, which succeeded. To run the job once more, \
         use 'run'."
    );
    Refusal::new(Code::OccurrenceMended, message)
}

/// Refuses to repeat what has not failed for good.
fn check_failed(outcomes: &[PastOutcome], name: &Name, at: DateTime<Utc>) -> Result<(), Refusal> {
    let at = format_instant(at);
    let why = match outcomes {
        [] => format!(
            "The history of the job '{name}' has no attempt at {at}. Send the instant of an occurrence \
             as the history and the list of failures have it."
        ),
        outcomes if outcomes.contains(&PastOutcome::Failed) => return Ok(()),
        outcomes if outcomes.contains(&PastOutcome::Succeeded) => {
            format!("The occurrence at {at} succeeded. To run the job once more, use 'run'.")
        }
        _ => format!(
            "The occurrence at {at} has not ended: an attempt is under way, or a retry follows. Wait \
             until it has failed for good."
        ),
    };
    Err(Refusal::new(Code::OccurrenceNotFailed, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_failed_for_good_is_repeated() {
        use PastOutcome::{Failed, Retrying, Succeeded, UnderWay};

        let (name, at) = (Name::new("j").unwrap(), DateTime::from_timestamp(60, 0).unwrap());
        for (outcomes, expected) in [
            (vec![Failed], None),
            (vec![Succeeded, Failed], None),
            (vec![], Some("has no attempt at 1970-01-01T00:01:00Z")),
            (vec![Succeeded], Some("succeeded. To run the job once more, use 'run'.")),
            (vec![Retrying], Some("has not ended")),
            (vec![UnderWay], Some("has not ended")),
        ] {
            let checked = check_failed(&outcomes, &name, at);
            match expected {
                None => assert_eq!(checked, Ok(())),
                Some(says) => assert!(checked.unwrap_err().message.contains(says), "{outcomes:?}"),
            }
        }
    }
}
