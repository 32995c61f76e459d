//! The values of the names in a job's templates.

use chrono::{DateTime, Utc};
use minutehand_domain::action::Target;
use minutehand_domain::attempt::{Attempt, Outcome, Role};
use minutehand_domain::job::JobDefinition;
use minutehand_domain::missed::Missed;
use minutehand_domain::template::{Placeholder, PlaceholderValue, Template};
use minutehand_ports::store::Claim;
use minutehand_recurrence::Recurrence;

use super::execute::Executor;
use super::loaded_job::LoadedJob;
use crate::error::Result;

impl Executor {
    /// The target of an attempt with values in place of the names in its texts; or the message of an attempt
    /// whose texts are not templates.
    pub(super) async fn rendered(
        &self,
        claim: &Claim,
        loaded: &LoadedJob,
        definition: &JobDefinition,
        target: &Target,
    ) -> Result<Result<Target, String>> {
        let Claim { job, attempt, .. } = claim;
        let cause = match attempt.role {
            Role::Error => self.cause_of_failure(claim).await?,
            Role::Main | Role::Notice => None,
        };
        let id = execution_id(claim);
        let Missed { occurrences, since, last_success } = loaded.snapshot.counters.missed();
        let schedule = loaded.schedule.as_deref();
        let zone = definition.recurrence.as_deref().and_then(Recurrence::zone).copied();
        let instant = |at: Option<DateTime<Utc>>| {
            at.map_or(PlaceholderValue::Absent, PlaceholderValue::Instant)
        };
        let value = |name| match name {
            Placeholder::Job => PlaceholderValue::Text(loaded.snapshot.name.as_str()),
            Placeholder::Collection => {
                PlaceholderValue::Text(loaded.snapshot.collection_path.name())
            }
            Placeholder::Occurrence => PlaceholderValue::Instant(meant(attempt)),
            Placeholder::PreviousOccurrence => {
                instant(schedule.and_then(|it| it.before(meant(attempt))))
            }
            Placeholder::ScheduledTime => PlaceholderValue::Instant(attempt.due_at),
            Placeholder::Attempt => PlaceholderValue::Number(u64::from(attempt.number) + 1),
            Placeholder::ExecutionId => PlaceholderValue::Text(&id),
            Placeholder::Missed => PlaceholderValue::Number(occurrences),
            Placeholder::MissedSince => instant(since),
            Placeholder::LastSuccess => instant(last_success),
            Placeholder::Cause => {
                cause.as_deref().map_or(PlaceholderValue::Absent, PlaceholderValue::Text)
            }
            // Only alerts have them.
            Placeholder::Kind | Placeholder::Summary => PlaceholderValue::Absent,
        };
        let mut rendered = target.clone();
        let done = rendered.render(|template: &Template| template.render(zone, &value));
        Ok(done.map(|()| rendered).map_err(|refusal| {
            tracing::error!(job.uid, %refusal, "a template of a job cannot be read");
            target.failure("InternalError", "A template of the action cannot be read")
        }))
    }

    /// Why the action failed whose error action this is.
    async fn cause_of_failure(&self, claim: &Claim) -> Result<Option<String>> {
        let attempts = self.attempts_of_occurrence(&claim.job, &claim.attempt).await?;
        let failures = attempts.into_iter().filter(|(attempt, record)| {
            attempt.role == Role::Main && record.outcome == Outcome::Failed
        });
        let last = failures.max_by_key(|(attempt, _)| attempt.number);
        Ok(last.and_then(|(_, record)| Some(record.cause?.text().to_owned())))
    }
}

/// Tells an attempt from all others, of any job.
pub(super) fn execution_id(claim: &Claim) -> String {
    format!("{}.{}", claim.job.uid, claim.attempt.id())
}

/// The instant of the occurrence for which an attempt is made: of a redrive, of the one that it repeats.
fn meant(attempt: &Attempt) -> DateTime<Utc> {
    let occurrence = &attempt.occurrence;
    occurrence.redrive_of().unwrap_or_else(|| occurrence.nominal_at())
}
