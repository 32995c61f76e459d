//! What is answered of collections and jobs.

use chrono::{DateTime, Utc};
use domain::attempt::{Attempt, Record};
use domain::document::write_collection;
use domain::job::{Counters, JobState};
use domain::name::Name;
use ports::store::{CollectionRecord, ResourceGroup};
use serde_json::Value;

/// A collection as it is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectionView {
    /// Where it is, as it was first given.
    pub place: ResourceGroup,
    /// As it was first given.
    pub name: Name,
    /// `location`, `tags` and `properties`, in this order.
    pub document: Value,
}

impl From<CollectionRecord> for CollectionView {
    fn from(record: CollectionRecord) -> Self {
        let document = write_collection(&record.collection.definition);
        Self { place: record.place, name: record.collection.name, document }
    }
}

/// A job as it is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct JobView {
    /// Where its collection is, as it was first given.
    pub place: ResourceGroup,
    /// Its collection, as it was first given.
    pub collection: Name,
    /// As it was first given.
    pub name: Name,
    /// Its properties, without secrets; the last one is its state.
    pub properties: Value,
    /// What it has done and will do; `None` for a job that is disabled and never ran.
    pub status: Option<JobStatus>,
}

/// What a job has done and will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobStatus {
    /// What it has done.
    pub counters: Counters,
    /// The next occurrence, never a retry.
    pub next_execution_at: Option<DateTime<Utc>>,
}

impl JobStatus {
    /// The status of a job: none for one that is disabled and has never run.
    pub(super) fn of(
        state: JobState,
        counters: Counters,
        next_execution_at: Option<DateTime<Utc>>,
    ) -> Option<Self> {
        let silent = state == JobState::Disabled && counters.last_execution_at.is_none();
        (!silent).then_some(Self { counters, next_execution_at })
    }
}

/// An attempt that ended, as it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionView {
    /// Where its job's collection is, as it was first given.
    pub place: ResourceGroup,
    /// Its job's collection, as it was first given.
    pub collection: Name,
    /// Its job, as it was first given.
    pub job: Name,
    /// Which attempt it was.
    pub attempt: Attempt,
    /// What became of it.
    pub record: Record,
}

impl ExecutionView {
    /// When it was expected: at the instant of its occurrence, however late it was, and of a retry
    /// when that was due itself. The first attempt of an error action is no retry: it is expected
    /// with what it answers, so that the two are found together.
    #[must_use]
    pub const fn expected_at(&self) -> DateTime<Utc> {
        match self.attempt.number {
            0 => self.attempt.occurrence.nominal_at(),
            _ => self.attempt.due_at,
        }
    }
}
