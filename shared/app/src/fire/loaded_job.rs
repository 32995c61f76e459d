//! A job as a worker sees it, and what it reads out of that.

use std::sync::OnceLock;

use chrono::{DateTime, Utc};
use domain::action::Action;
use domain::attempt::{Attempt, Occurrence, Role};
use domain::firing::JobStanding;
use domain::job::JobDefinition;
use domain::retry::Retries;
use domain::work_item::JobRef;
use ports::firing::{JobSnapshot, Mark};
use recurrence::Timetable;

use super::execute::Executor;
use crate::definition::definition;
use crate::error::AppError;

/// The longest document that is kept while its attempt waits: there may be thousands of them.
const AHEAD_MAX: usize = 4_096;

/// A job as it was seen, with its timetable read.
pub(super) struct Seen {
    pub(super) sight: JobSnapshot,
    pub(super) timetable: Option<Timetable>,
    /// Read when it is first asked for, and then at hand.
    definition: OnceLock<JobDefinition>,
}

/// A job as it was seen before its attempt is due.
pub(super) struct Ahead {
    seen: Seen,
    since: Mark,
}

/// What decides what follows an attempt.
pub(super) struct Policy {
    pub(super) retries: Retries,
    pub(super) has_error_action: bool,
}

impl Executor {
    pub(super) async fn look(&self, job: &JobRef) -> Result<Option<Seen>, AppError> {
        let snapshots = self.ports.store.look(std::slice::from_ref(job)).await?;
        Ok(snapshots.into_iter().next().flatten().map(Seen::of))
    }

    /// Looks at a job whose attempt is not due yet, if it can be known at the instant whether that
    /// still stands: then what takes time is done when thousands of others are due, too.
    pub(super) async fn look_ahead(&self, job: &JobRef, attempt: &Attempt) -> Option<Box<Ahead>> {
        let since = self.ports.store.mark()?;
        if attempt.due_at <= self.ports.clock.now() {
            return None;
        }
        // It is only an attempt at being early: what fails now is asked again, and says so then.
        let seen = self.look(job).await.ok()??;
        if seen.sight.document.len() > AHEAD_MAX {
            return None;
        }
        let _ = self.define(job, &seen).await;
        Some(Box::new(Ahead { seen, since }))
    }

    /// Looks at a job whose attempt is due, and which may have been looked at ahead.
    pub(super) async fn look_last(
        &self,
        job: &JobRef,
        ahead: Option<Box<Ahead>>,
    ) -> Result<Option<Seen>, AppError> {
        match ahead {
            Some(ahead) if self.ports.store.stands(job, ahead.since) => Ok(Some(ahead.seen)),
            _ => self.look(job).await,
        }
    }

    pub(super) async fn define<'a>(
        &self,
        job: &JobRef,
        seen: &'a Seen,
    ) -> Result<&'a JobDefinition, AppError> {
        if let Some(definition) = seen.definition.get() {
            return Ok(definition);
        }
        let JobSnapshot { document, sealed, .. } = &seen.sight;
        let sealer = self.ports.sealer.as_ref();
        let read = definition(sealer, &job.uid, document, sealed.as_deref()).await?;
        Ok(seen.definition.get_or_init(|| read))
    }

    /// What decides what follows; for a job that cannot be read nothing does.
    pub(super) async fn policy(
        &self,
        job: &JobRef,
        role: Role,
        seen: &Seen,
    ) -> Result<Policy, AppError> {
        let definition = match self.define(job, seen).await {
            Ok(definition) => definition,
            Err(error) if may_pass(&error) => return Err(error),
            Err(_) => {
                let retries = Retries { count: 0, ..Retries::from_policy(None, seen.sight.plan) };
                return Ok(Policy { retries, has_error_action: false });
            }
        };
        Ok(Policy {
            retries: retries(definition, role, &seen.sight),
            has_error_action: definition.action.error_action.is_some(),
        })
    }
}

impl Seen {
    fn of(sight: JobSnapshot) -> Self {
        let timetable = sight.rule.as_deref().and_then(|rule| rule.parse().ok());
        Self { sight, timetable, definition: OnceLock::new() }
    }

    pub(super) fn standing(&self) -> JobStanding<'_> {
        JobStanding {
            state: self.sight.state,
            generation: self.sight.timing.generation,
            timetable: self.timetable.as_ref(),
            collection_on_since: self.sight.collection_on_since,
        }
    }

    /// The number of the occurrence, from 1; of a run, of the one before it.
    pub(super) fn repeat_count(&self, attempt: &Attempt, now: DateTime<Utc>) -> u64 {
        let timing = &self.sight.timing;
        let count = |until| {
            self.timetable.map_or(0, |timetable| timetable.count_between(timing.since, until))
        };
        let before = u64::from(timing.used);
        match attempt.occurrence {
            Occurrence::Scheduled { nominal_at } => before + count(nominal_at) + 1,
            Occurrence::Run { .. } => (before + count(now)).max(1),
        }
    }
}

pub(super) fn action(definition: &JobDefinition, role: Role) -> Option<&Action> {
    match role {
        Role::Main => Some(&definition.action.action),
        Role::Error => definition.action.error_action.as_ref(),
    }
}

/// The retries of an action; an error action without a policy of its own has the job's.
fn retries(definition: &JobDefinition, role: Role, sight: &JobSnapshot) -> Retries {
    let main = definition.action.action.retry_policy.as_ref();
    let error = definition.action.error_action.as_ref();
    let policy = match role {
        Role::Main => main,
        Role::Error => error.and_then(|action| action.retry_policy.as_ref()).or(main),
    };
    Retries::from_policy(policy, sight.plan)
}

/// Whether it may help to try again later, as nothing is wrong with the job.
pub(super) fn may_pass(error: &AppError) -> bool {
    error.is_retryable()
}
