//! The rules of alerts: which endings of occurrences are told, decided once for each of them.
//!
//! The decision stands between the record of an ending and the message of the alert. It is stored before the
//! message is sent:
//!
//! | a crash after | leaves | repaired by |
//! |---|---|---|
//! | the record of the ending | no decision | the message of that attempt is delivered again: the worker finds the record, and decides |
//! | the decision is stored | no message of the alert | the same: the worker finds the decision, and sends the message |
//! | the message of the alert is sent | the message of the ending as well | that one sends the same alert again, and it is claimed once |
//!
//! Two workers may decide on two endings of a job at the same time. Each stores its decision on the state that
//! it read, so one of them reads again and sees the other's.
//!
//! A job whose collection has no such rules has no state, and nothing of this is read for it.

use chrono::{DateTime, Utc};
use minutehand_domain::alert::{
    AlertDecision, AlertTrouble, AlertUse, Decided, EndedOccurrence, JobAlert, LostAlert,
};
use minutehand_domain::attempt::{Attempt, Outcome, Role};
use minutehand_domain::cause::Cause;
use minutehand_domain::failure_event::Told;
use minutehand_domain::firing::{FollowPolicy, NextStep, alert_of, is_final_failure};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::Event;
use minutehand_ports::store::{AlertRead, AlertWrite};

use super::execute::Executor;
use super::follow::EndedAttempt;
use super::loaded_job::LoadedJob;
use crate::error::{AppError, Result};

/// How often a state is read and written again when others were first.
const ROUNDS_MAX: usize = 20;

impl Executor {
    /// What follows an attempt under the rules of its collection's alerts.
    pub(super) async fn under_alert_rules(
        &self,
        EndedAttempt { job, attempt, record }: EndedAttempt<'_>,
        loaded: &LoadedJob,
        next: NextStep,
    ) -> Result<NextStep> {
        let is_success = attempt.role == Role::Main && record.outcome == Outcome::Succeeded;
        let alert_use = loaded.snapshot.alert_use;
        let has_failed = match &next {
            NextStep::Notice(_) if alert_use.has_rules() => true,
            NextStep::Notice(_) if alert_use != AlertUse::None => {
                return Ok(NextStep::Notice(alert_of(attempt, record)));
            }
            NextStep::Nothing if alert_use.has_rules() && is_success => false,
            _ => return Ok(next),
        };
        let paused_at = loaded.paused_at().filter(|_| has_failed);
        let ended = EndedOccurrence::of(attempt, has_failed, record.ended_at, paused_at);
        Ok(match Box::pin(self.decide_alert(job, &ended, has_failed)).await? {
            AlertDecision::Silent => NextStep::Nothing,
            AlertDecision::Failed { .. } | AlertDecision::Recovered { .. } => {
                NextStep::Notice(alert_of(attempt, record))
            }
        })
    }

    /// Whether the alert of a failure is to be sent with which a job finishes. What was dropped while the job
    /// was disabled has not been decided.
    pub(super) async fn is_told(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        loaded: &LoadedJob,
    ) -> Result<bool> {
        if attempt.role != Role::Notice || !loaded.snapshot.alert_use.has_rules() {
            return Ok(true);
        }
        let ended = EndedOccurrence::of(attempt, true, attempt.due_at, None);
        Ok(Box::pin(self.decide_alert(job, &ended, true)).await? != AlertDecision::Silent)
    }

    async fn decide_alert(
        &self,
        job: &JobRef,
        ended: &EndedOccurrence,
        has_failed: bool,
    ) -> Result<AlertDecision> {
        let alerts = &self.ports.store.alerts;
        for _ in 0..ROUNDS_MAX {
            let AlertRead { number, state } = alerts.read_alert(&job.uid).await?;
            if number == 0 && !has_failed {
                // Nothing has been told of it.
                return Ok(AlertDecision::Silent);
            }
            let collection =
                self.ports.store.snapshots.read_collection(&job.collection_uid).await?;
            let on_failure =
                collection.as_ref().and_then(|it| it.collection.definition.on_failure());
            let Some(action) = on_failure else { return Ok(AlertDecision::Silent) };
            // What another version wrote begins anew.
            let state = JobAlert::read_stored(&state).unwrap_or_default();
            let Decided { decision, state } = state.decide(ended, action.rules());
            let Some(state) = state else { return Ok(decision) };
            let now = self.ports.clock.now();
            let write = AlertWrite::at(now, &job.uid, number, state.to_stored());
            if alerts.write_alert(&write).await? {
                return Ok(decision);
            }
        }
        Err(AppError::Busy { what: format!("job '{}'", job.key) })
    }

    /// What an alert tells of its occurrence: what was decided.
    pub(super) async fn told(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        loaded: &LoadedJob,
    ) -> Result<Told> {
        if !loaded.snapshot.alert_use.has_rules() {
            return Ok(Told::FAILED);
        }
        let read = self.ports.store.alerts.read_alert(&job.uid).await?;
        let state = JobAlert::read_stored(&read.state).unwrap_or_default();
        Ok(match state.decision_on(attempt) {
            Some(AlertDecision::Failed { in_row, held_back }) => {
                Told::Failed { in_row: Some(*in_row), held_back: *held_back }
            }
            Some(AlertDecision::Recovered { since, held_back }) => {
                Told::Recovered { since: *since, held_back: *held_back }
            }
            Some(AlertDecision::Silent) | None => Told::FAILED,
        })
    }

    /// Notes whether an alert arrived, for people. Nothing else depends on it.
    pub(super) async fn note_alert(
        &self,
        ended: EndedAttempt<'_>,
        loaded: &LoadedJob,
        policy: FollowPolicy,
    ) {
        let EndedAttempt { job, attempt, record } = ended;
        let has_failed = is_final_failure(attempt, record, policy);
        if attempt.role != Role::Notice || (record.outcome == Outcome::Failed && !has_failed) {
            return;
        }
        let name = loaded.snapshot.name.as_str();
        let lost = has_failed.then(|| LostAlert::of_attempt(name, attempt, record));
        self.note_arrival(job, &loaded.path(), lost.as_ref(), record.ended_at).await;
    }

    /// Notes for people that an alert arrived, or that it was lost.
    pub(super) async fn note_arrival(
        &self,
        job: &JobRef,
        path: &str,
        lost: Option<&LostAlert>,
        ended_at: DateTime<Utc>,
    ) {
        let kept = self.keep_trouble(&job.collection_uid, lost, ended_at).await;
        let is_new = kept.unwrap_or_else(|error| {
            tracing::warn!(job.path = path, job.uid, %error, "cannot store whether an alert arrived");
            true
        });
        if let (Some(lost), true) = (lost, is_new) {
            self.ports.events.note(Event::AlertLost { job });
            let cause = lost.cause.as_ref().map(Cause::text);
            tracing::warn!(job.path = path, job.uid, cause, "an alert did not arrive");
        }
    }

    /// Stores what became of an alert; `false` if it was known.
    async fn keep_trouble(
        &self,
        collection_uid: &str,
        lost: Option<&LostAlert>,
        ended_at: DateTime<Utc>,
    ) -> Result<bool> {
        let alerts = &self.ports.store.alerts;
        for _ in 0..ROUNDS_MAX {
            let AlertRead { number, state } = alerts.read_alert(collection_uid).await?;
            let before = AlertTrouble::read_stored(&state);
            let now = if let Some(lost) = lost {
                match AlertTrouble::after(before.as_ref(), lost) {
                    Some(trouble) => trouble.to_stored(),
                    None => return Ok(false),
                }
            } else if before.is_some_and(|before| before.last_at <= ended_at) {
                String::new()
            } else {
                return Ok(false);
            };
            let write = AlertWrite::at(self.ports.clock.now(), collection_uid, number, now);
            if alerts.write_alert(&write).await? {
                return Ok(true);
            }
        }
        Err(AppError::Busy { what: format!("job collection '{collection_uid}'") })
    }
}
