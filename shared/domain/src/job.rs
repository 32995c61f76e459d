//! Jobs: the user's part of a job, its states and its counters.

use chrono::{DateTime, Utc};
use minutehand_recurrence::{Recurrence, named};

use crate::action::MainAction;
use crate::attempt::Role;
use crate::chain::Depth;
use crate::completion::Completion;
use crate::duration::Span;
use crate::extensions::JobExtensions;
use crate::missed::{Latest, Missed};
use crate::pause::{PauseOnFailure, Paused};
use crate::plan::Plan;
use crate::policies::Policies;
use crate::recent::{LastSkip, Recent};
use crate::retry::{Retries, RetryPolicy};
use crate::sign::Signing;

/// The user's part of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobDefinition {
    /// The start as it was sent; `None` is the instant at which the job is created or enabled.
    pub start_time: Option<DateTime<Utc>>,
    /// The action at each occurrence, and the error action.
    pub action: MainAction,
    /// The recurrence; a job without one runs once. Boxed, because workers hold thousands of jobs.
    pub recurrence: Option<Box<Recurrence>>,
    /// The extensions; an empty object is echoed, `None` is not.
    pub extensions: Option<JobExtensions>,
    /// Whether the user has enabled the job.
    pub switch: Switch,
}

impl JobDefinition {
    /// The retries of one of the job's actions. An error action without a retry policy uses the policy
    /// of the main action.
    #[must_use]
    pub fn retries(&self, role: Role, plan: Plan, job_uid: &str) -> Retries {
        let main = self.action.action.retry_policy.as_ref();
        let error = self.action.error_action.as_ref();
        let policy = match role {
            Role::Main | Role::Notice => main,
            Role::Error => error.and_then(|action| action.retry_policy.as_ref()).or(main),
        };
        let pings = self.action.ping_window();
        let policy = if pings.is_some() { Some(&RetryPolicy::None) } else { policy };
        let retries = Retries::from_policy(policy, plan);
        let backoff = self.extensions.as_ref().and_then(|extensions| extensions.retry);
        backoff.map_or(retries, |backoff| retries.with_backoff(backoff, job_uid))
    }

    /// The secrets that sign the requests of its actions.
    #[must_use]
    pub fn signing(&self) -> Option<&Signing> {
        self.extensions.as_ref()?.sign.as_ref()
    }

    /// Whether names in double braces become values where its actions are sent.
    #[must_use]
    pub fn has_templates(&self) -> bool {
        self.extensions.as_ref().is_some_and(|extensions| extensions.template)
    }

    /// How deep the request was that put it, if a job sent it.
    #[must_use]
    pub fn depth(&self) -> Depth {
        self.extensions.as_ref().map(|extensions| extensions.depth).unwrap_or_default()
    }

    /// Notes how deep the request is that puts it.
    pub fn set_depth(&mut self, depth: Depth) {
        if !depth.is_none() {
            self.extensions.get_or_insert_default().depth = depth;
        } else if let Some(extensions) = &mut self.extensions {
            extensions.depth = depth;
        }
    }

    /// How long its actions may take.
    #[must_use]
    pub fn time_max(&self) -> Option<Span> {
        self.extensions.as_ref()?.timeout
    }

    /// Whether its target may answer 202 and report the end later, and in which time.
    #[must_use]
    pub fn completion(&self) -> Option<Completion> {
        self.extensions.as_ref()?.completion
    }

    /// After how many failures it pauses.
    #[must_use]
    pub fn pause_on_failure(&self) -> Option<PauseOnFailure> {
        self.extensions.as_ref()?.pause_on_failure
    }

    /// Why the scheduler has disabled it, if it has.
    #[must_use]
    pub fn paused(&self) -> Option<&Paused> {
        self.extensions.as_ref()?.paused.as_ref()
    }

    /// Until when it is not shown as needing someone.
    #[must_use]
    pub fn snoozed_until(&self) -> Option<DateTime<Utc>> {
        self.extensions.as_ref()?.snoozed_until
    }
}

/// The two states that a user can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switch {
    /// The job fires.
    #[default]
    Enabled,
    /// The job does not fire.
    Disabled,
}

named! {
    /// The state of a job. A user sets the first two; the last two are final.
    pub enum JobState {
        /// The job fires.
        Enabled = "enabled",
        /// The job does not fire until it is enabled.
        Disabled = "disabled",
        /// No occurrence is left, and the last one succeeded.
        Completed = "completed",
        /// No occurrence is left, and the last one failed after all retries.
        Faulted = "faulted",
    }
}

impl JobState {
    /// The state as a user sets it; `None` for the states that only the scheduler sets.
    #[must_use]
    pub const fn switch(self) -> Option<Switch> {
        match self {
            Self::Enabled => Some(Switch::Enabled),
            Self::Disabled => Some(Switch::Disabled),
            Self::Completed | Self::Faulted => None,
        }
    }

    /// Whether the job has ended: it can only be deleted.
    #[must_use]
    pub const fn is_final(self) -> bool {
        self.switch().is_none()
    }
}

impl From<Switch> for JobState {
    fn from(switch: Switch) -> Self {
        match switch {
            Switch::Enabled => Self::Enabled,
            Switch::Disabled => Self::Disabled,
        }
    }
}

/// The numbers of a job's executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobCounters {
    /// Attempts of the main action.
    pub executions: u64,
    /// Attempts of the main action that failed.
    pub failures: u64,
    /// Occurrences that failed after all retries.
    pub faulted: u64,
    /// Occurrences that were skipped.
    pub skipped: u64,
    /// The start of the latest attempt.
    pub last_execution_at: Option<DateTime<Utc>>,
    /// The results of the last occurrences, as they are stored: see [`Self::results`].
    pub recent: Recent,
    /// What was left out last.
    pub last_skip: Option<LastSkip>,
    /// What it remembers of its latest results; `None` if an earlier version wrote it: see
    /// [`Self::latest`].
    pub latest: Option<Latest>,
}

impl JobCounters {
    /// The results of the last occurrences.
    #[must_use]
    pub fn results(&self) -> Recent {
        self.recent.with_skips_until(self.skipped)
    }

    /// How many occurrences have failed for good or were skipped; the lowest 32 bits.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "that is what it is for")]
    pub const fn unsuccessful(&self) -> u32 {
        self.faulted.wrapping_add(self.skipped) as u32
    }

    /// What the job remembers of its latest results.
    #[must_use]
    pub fn latest(&self) -> Latest {
        self.latest.unwrap_or_else(|| Latest::derived(self.results(), self.unsuccessful()))
    }

    /// What the job has missed since its last success.
    #[must_use]
    pub fn missed(&self) -> Missed {
        self.latest().missed(self.unsuccessful(), self.last_skip)
    }
}

impl Policies {
    /// The policies of a job.
    #[must_use]
    pub fn of_job(job: &JobDefinition, job_uid: &str) -> Self {
        let pings = job.action.ping_window();
        Self { pings, ..Self::of(job.extensions.as_ref(), job_uid) }
    }
}

/// A job as the scheduler disables it.
#[must_use]
pub fn paused(job: &JobDefinition, paused: Paused) -> JobDefinition {
    let mut job = JobDefinition { switch: Switch::Disabled, ..job.clone() };
    job.extensions.get_or_insert_default().paused = Some(paused);
    job
}

/// The job that a user's change makes of one that may be paused: it stays so until it is enabled.
pub fn keep_paused(before: &JobDefinition, wanted: &mut JobDefinition) {
    let paused = before.paused().filter(|_| wanted.switch == Switch::Disabled).cloned();
    match (&mut wanted.extensions, paused) {
        (None, None) => {}
        (extensions, paused) => extensions.get_or_insert_default().paused = paused,
    }
}
