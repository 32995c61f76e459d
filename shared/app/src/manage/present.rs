//! What runs and what waits now.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::firing::limits::LEASE;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::Clock;
use minutehand_ports::store::{OpenSpan, PresentAttempt, Standing, WaitsFor};

use super::Manage;
use crate::error::Result;

/// A worker takes what is due within a moment. What is due for longer waits.
const WAITS_AFTER: TimeDelta = TimeDelta::seconds(5);
/// A collection in which an attempt is due for longer, and has not started, is behind.
pub(super) const BEHIND_AFTER: TimeDelta = TimeDelta::minutes(1);

/// An attempt that runs or waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// The attempt.
    pub attempt: Attempt,
    /// Which of both it does.
    pub state: PresentState,
}

/// Whether an attempt runs or waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PresentState {
    /// It runs.
    Running {
        /// Since when; to two seconds, unless it is open.
        since: DateTime<Utc>,
        /// What is known of the work of its target, if it is open.
        open: Option<OpenState>,
    },
    /// It is due, and waits.
    Waiting(WaitsFor),
}

/// An attempt whose target is at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenState {
    /// Its deadline.
    pub until: DateTime<Utc>,
    /// What its target last said of its progress.
    pub progress: Option<String>,
}

/// How many attempts of a collection run and wait.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PresentCounts {
    /// How many run.
    pub running: usize,
    /// How many wait, by what they wait for.
    pub waiting: BTreeMap<WaitsFor, usize>,
    /// Since when the first of those that wait is due.
    pub waiting_since: Option<DateTime<Utc>>,
}

impl PresentCounts {
    pub(super) fn add(&mut self, present: &Present) {
        match &present.state {
            PresentState::Running { .. } => self.running += 1,
            PresentState::Waiting(what) => {
                *self.waiting.entry(*what).or_default() += 1;
                let due_at = present.attempt.due_at;
                self.waiting_since = self.waiting_since.into_iter().chain([due_at]).min();
            }
        }
    }

    /// How many wait.
    #[must_use]
    pub fn waits(&self) -> usize {
        self.waiting.values().sum()
    }
}

impl<'a> std::iter::Sum<&'a Self> for PresentCounts {
    fn sum<I: Iterator<Item = &'a Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum.running += one.running;
            for (what, n) in &one.waiting {
                *sum.waiting.entry(*what).or_default() += n;
            }
            sum.waiting_since = [sum.waiting_since, one.waiting_since].into_iter().flatten().min();
            sum
        })
    }
}

/// What runs and what waits of all jobs.
pub(super) struct AllPresent {
    pub(super) items: Vec<(JobRef, Present)>,
    /// Whether there may be more.
    pub(super) is_least: bool,
}

/// Since when an attempt of a job runs, and since when one waits that is due.
pub(super) type SinceByJob = HashMap<String, [Option<DateTime<Utc>>; 2]>;

impl AllPresent {
    /// Since when the first attempt of each job of a collection runs, and is due.
    pub(super) fn since_by_job(&self, collection_uid: &str) -> SinceByJob {
        let mut found = SinceByJob::new();
        for (job, Present { attempt, state }) in &self.items {
            if job.collection_uid != collection_uid {
                continue;
            }
            let [running, waiting] = found.entry(job.uid.clone()).or_default();
            let (kept, since) = match state {
                PresentState::Running { since, .. } => (running, *since),
                PresentState::Waiting(_) => (waiting, attempt.due_at),
            };
            *kept = Some(kept.map_or(since, |kept| kept.min(since)));
        }
        found
    }
}

impl Manage {
    /// What runs and what waits; `None` if the store cannot list it.
    pub(super) async fn all_present(&self) -> Result<Option<AllPresent>> {
        let clock = self.ports.clock.as_ref();
        let found = self.ports.browse.present(clock.now(), clock.work_now()).await?;
        Ok(found.map(|found| AllPresent {
            is_least: found.is_least,
            items: found
                .items
                .into_iter()
                .filter_map(|found| Some((found.job.clone(), present(found, clock)?)))
                .collect(),
        }))
    }

    /// What runs and what waits of a job: first what is due for longest.
    pub(super) async fn present_of(&self, job: &JobRef) -> Result<Vec<Present>> {
        let clock = self.ports.clock.as_ref();
        let found = self.ports.browse.present_of(job, clock.now(), clock.work_now()).await?;
        let found = found.into_iter().filter_map(|found| present(found, clock));
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|it| it.attempt.due_at);
        Ok(found)
    }
}

/// What an attempt does that has not ended; `None` while it is about to start.
fn present(found: PresentAttempt, clock: &dyn Clock) -> Option<Present> {
    let PresentAttempt { attempt, standing, .. } = found;
    let (now, due_at) = (clock.now(), attempt.due_at);
    let state = match standing {
        Standing::Claimed { lease_until } => {
            let claimed_for = clock.work_now() - (lease_until - LEASE);
            let claimed_at = now.checked_sub_signed(clock.scheduled_during(claimed_for))?;
            let since = claimed_at.max(due_at).min(now);
            (due_at <= now).then_some(PresentState::Running { since, open: None })
        }
        Standing::Open { span: OpenSpan { started_at, until }, progress } => {
            let open = Some(OpenState { until, progress });
            Some(PresentState::Running { since: started_at, open })
        }
        Standing::Waits(what) => {
            let waits = now - due_at >= clock.scheduled_during(WAITS_AFTER);
            waits.then_some(PresentState::Waiting(what))
        }
    };
    Some(Present { attempt, state: state? })
}
