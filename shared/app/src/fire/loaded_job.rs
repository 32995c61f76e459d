//! A job as a worker has loaded it: its snapshot, with the schedule and the definition parsed.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use minutehand_domain::action::Action;
use minutehand_domain::attempt::{Attempt, Occurrence, Role};
use minutehand_domain::chain::Depth;
use minutehand_domain::completion::Completion;
use minutehand_domain::firing::{FollowPolicy, JobStanding, OnFailure};
use minutehand_domain::job::{JobDefinition, JobState};
use minutehand_domain::policies::Policies;
use minutehand_domain::retry::{Retries, RetryPolicy};
use minutehand_domain::schedule::Schedule;
use minutehand_domain::sign::Signing;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{Claim, JobSnapshot};

use super::execute::Executor;
use super::spans;
use crate::definition::{definition, shown_definition};
use crate::error::{AppError, Result};

/// A job as a worker has loaded it. Its parts are boxed, since thousands of futures hold one.
pub(super) struct LoadedJob {
    pub(super) snapshot: Arc<JobSnapshot>,
    pub(super) schedule: Option<Box<Schedule>>,
    /// Parsed when it is first needed.
    definition: OnceLock<Box<JobDefinition>>,
}

impl Executor {
    /// Loads a job as it is now.
    pub(super) async fn load(&self, job: &JobRef) -> Result<Option<LoadedJob>> {
        Ok(self.ports.store.snapshots.read(job).await?.map(LoadedJob::new))
    }

    /// Loads the job of an attempt that is not due yet, if the store can tell at the due time
    /// whether the job is unchanged. Then the slow steps are done before thousands of other attempts
    /// are due.
    pub(super) async fn prefetch(&self, claim: &Claim) -> Option<LoadedJob> {
        if claim.attempt.due_at <= self.ports.clock.now() {
            return None;
        }
        let loaded = LoadedJob::new(self.ports.store.snapshots.prefetch(claim).await?);
        // If the definition cannot be parsed now, that is tried again and reported at the due time.
        let _ = self.definition(&claim.job, &loaded).await;
        Some(loaded)
    }

    /// Loads the job of an attempt that is due, if this version can read its schedule.
    pub(super) async fn load_for_start(
        &self,
        claim: &Claim,
        prefetched: Option<LoadedJob>,
    ) -> Result<Option<LoadedJob>> {
        let Some(snapshot) = self.ports.store.snapshots.read_for_start(claim).await? else {
            return Ok(None);
        };
        let loaded = match prefetched {
            Some(loaded) if Arc::ptr_eq(&loaded.snapshot, &snapshot) => loaded,
            _ => LoadedJob::new(snapshot),
        };
        loaded.check_schedule(claim)?;
        Ok(Some(loaded))
    }

    /// The definition of a job, secrets included.
    pub(super) async fn definition<'a>(
        &self,
        job: &JobRef,
        loaded: &'a LoadedJob,
    ) -> Result<&'a JobDefinition> {
        if let Some(definition) = loaded.definition.get() {
            return Ok(definition);
        }
        let JobSnapshot { document, sealed, .. } = loaded.snapshot.as_ref();
        let sealer = self.ports.sealer.as_ref();
        let parsed = definition(sealer, &job.uid, document, sealed.as_deref()).await?;
        Ok(loaded.definition.get_or_init(|| Box::new(parsed)))
    }

    /// The policy of an action. A job that cannot be read has no retries and no error action.
    pub(super) async fn policy(
        &self,
        job: &JobRef,
        role: Role,
        loaded: &LoadedJob,
    ) -> Result<FollowPolicy> {
        let horizon = spans(self.ports.clock.as_ref()).horizon;
        let JobSnapshot { plan, has_failure_action: has_notice, .. } = *loaded.snapshot.as_ref();
        let no_retries = Retries::from_policy(Some(&RetryPolicy::None), plan);
        if role == Role::Notice {
            // Boxed, since thousands of attempts wait in here, and few of them are notices.
            let found =
                if_readable(Box::pin(self.failure_action(&job.collection_uid)).await)?.flatten();
            let retries = found.map_or(no_retries, |(_, action)| action.retries(plan));
            return Ok(FollowPolicy { retries, on_failure: OnFailure::default(), horizon });
        }
        let Some(definition) = if_readable(self.definition(job, loaded).await)? else {
            let on_failure = OnFailure { has_error_action: false, has_notice };
            return Ok(FollowPolicy { retries: no_retries, on_failure, horizon });
        };
        let has_error_action = definition.action.error_action.is_some();
        Ok(FollowPolicy {
            retries: definition.retries(role, plan, &job.uid),
            on_failure: OnFailure { has_error_action, has_notice },
            horizon,
        })
    }
}

impl LoadedJob {
    fn new(snapshot: Arc<JobSnapshot>) -> Self {
        let line = snapshot.timetable.as_deref();
        let schedule = line.and_then(|line| Schedule::read(line, &snapshot.document).ok());
        Self { snapshot, schedule: schedule.map(Box::new), definition: OnceLock::new() }
    }

    /// Refuses an attempt of a schedule that this version cannot read: it may have a policy under which
    /// the attempt does not start. A worker of a newer version can, or this one, where the definition had
    /// changed between the reads of the two.
    fn check_schedule(&self, claim: &Claim) -> Result<()> {
        let Claim { job, attempt, .. } = claim;
        let is_of_schedule = matches!(attempt.occurrence, Occurrence::Scheduled { .. })
            && attempt.generation == self.snapshot.timing.generation;
        match (&self.schedule, &self.snapshot.timetable) {
            (None, Some(line)) if is_of_schedule => {
                Err(AppError::Newer { name: job.uid.clone(), what: line.clone() })
            }
            _ => Ok(()),
        }
    }

    /// The path of the job: that of its collection, and its name.
    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.snapshot.collection_path, self.snapshot.name)
    }

    /// The secrets that sign the requests of the job's own actions, once its definition is parsed.
    pub(super) fn signing(&self, role: Role) -> Option<&Signing> {
        self.definition.get()?.signing().filter(|_| role != Role::Notice)
    }

    /// How long the job's own actions may take, once its definition is parsed, if it says so.
    pub(super) fn time_max(&self, role: Role) -> Option<Duration> {
        let own = self.definition.get()?.time_max().filter(|_| role != Role::Notice)?;
        Some(Duration::from_millis(own.millis()))
    }

    /// Whether its target may answer 202 and report the end later, once its definition is parsed.
    pub(super) fn completion(&self) -> Option<Completion> {
        self.definition.get()?.completion()
    }

    /// How deep the request was that put the job, once its definition is parsed.
    pub(super) fn depth(&self) -> Depth {
        self.definition.get().map(|definition| definition.depth()).unwrap_or_default()
    }

    /// Whether the attempts at the job's action take turns. The document of a disabled job says so, as it
    /// has no timetable.
    pub(super) fn takes_turns(&self) -> bool {
        if let Some(schedule) = &self.schedule {
            return schedule.policies.takes_turns();
        }
        shown_definition("", &self.snapshot.document)
            .is_ok_and(|definition| Policies::of_job(&definition, "").takes_turns())
    }

    pub(super) fn standing(&self) -> JobStanding<'_> {
        JobStanding {
            state: self.snapshot.state,
            generation: self.snapshot.timing.generation,
            since: self.snapshot.timing.since,
            timetable: self.schedule.as_deref(),
            collection_on_since: self.snapshot.collection_on_since,
            is_paused: self.paused_at().is_some(),
        }
    }

    /// Since when the scheduler has disabled the job, if it has. Its document says so, secrets aside.
    pub(super) fn paused_at(&self) -> Option<DateTime<Utc>> {
        if self.snapshot.state != JobState::Disabled {
            return None;
        }
        let definition = shown_definition("", &self.snapshot.document).ok()?;
        definition.paused().map(|paused| paused.at)
    }

    /// The number of the occurrence, from 1; for a run, the number of the occurrence before it.
    pub(super) fn repeat_count(&self, attempt: &Attempt, now: DateTime<Utc>) -> u64 {
        let timing = &self.snapshot.timing;
        let count =
            |until| self.schedule.as_ref().map_or(0, |schedule| schedule.count_before(until));
        let goes_on = self.schedule.as_ref().is_some_and(|it| it.goes_on.is_some());
        let before = u64::from(timing.used);
        match attempt.occurrence {
            // It follows the failure before a pause, or is of the occurrence with which the job goes on: the
            // last one that is used up.
            Occurrence::Scheduled { .. } if attempt.generation < timing.generation => before.max(1),
            Occurrence::Scheduled { nominal_at } => before + count(nominal_at) + 1,
            // That one is used up already.
            Occurrence::Run { .. } if goes_on => before,
            Occurrence::Run { .. } => (before + count(now)).max(1),
        }
    }
}

/// What was read; `None` if no further try can read it.
pub(super) fn if_readable<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if !error.is_retryable() => Ok(None),
        read => read.map(Some),
    }
}

/// The path of a job, for the log; if the job is gone, what its message says of it.
pub(super) fn job_path(job: &JobRef, loaded: Option<&LoadedJob>) -> String {
    loaded.map_or_else(|| path_without_names(job), LoadedJob::path)
}

/// What stands for the path of a job whose collection is not known.
pub(super) fn path_without_names(job: &JobRef) -> String {
    format!("(collection {})/{}", job.collection_uid, job.key)
}

/// The action of the job for a role; the action of a notice is the collection's.
pub(super) fn action(definition: &JobDefinition, role: Role) -> Option<&Action> {
    match role {
        Role::Main => Some(&definition.action.action),
        Role::Error => definition.action.error_action.as_deref(),
        Role::Notice => None,
    }
}
