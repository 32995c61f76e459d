//! Collections, jobs and executions as they are answered.

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::{Attempt, Record};
use minutehand_domain::document::{Durations, JobDocument, write_collection};
use minutehand_domain::firing::LeftOut;
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::name::Name;
use minutehand_ports::store::{CollectionRecord, ResourceGroup};
use serde_json::{Map, Value};

use crate::etag::Etag;

/// A collection as it is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectionView {
    /// The subscription and resource group, in the case in which they were first given.
    pub place: ResourceGroup,
    /// The name in the case in which it was first given.
    pub name: Name,
    /// `location`, `tags` and `properties`, in this order.
    pub document: Value,
    /// The version of the definition.
    pub etag: Etag,
}

impl From<CollectionRecord> for CollectionView {
    fn from(record: CollectionRecord) -> Self {
        let (document, etag) =
            (write_collection(&record.collection.definition), Etag::from(&record));
        Self { place: record.place, name: record.collection.name, document, etag }
    }
}

/// A job as it is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct JobView {
    /// The subscription and resource group, in the case in which they were first given.
    pub place: ResourceGroup,
    /// The name of the collection, in the case in which it was first given.
    pub collection: Name,
    /// The name in the case in which it was first given.
    pub name: Name,
    /// The user's part of the properties.
    pub document: JobDocument,
    /// The state of the job: the user's switch, unless the scheduler has ended the job.
    pub state: JobState,
    /// The scheduler's part of the properties; `None` for a job that is disabled and never ran.
    pub status: Option<JobStatus>,
    /// The version of the definition.
    pub etag: Etag,
}

impl JobView {
    /// The user's part of the properties, without secrets; the last one is the state.
    #[must_use]
    pub fn properties(&self, durations: Durations) -> Map<String, Value> {
        self.document.answer(self.state, durations)
    }
}

/// What a job has done, and when it fires next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobStatus {
    /// The numbers of executions and failures, and the time of the last execution.
    pub counters: JobCounters,
    /// The next occurrence, never a retry.
    pub next_execution_at: Option<DateTime<Utc>>,
}

/// An attempt that ended, as it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionView {
    /// The subscription and resource group, in the case in which they were first given.
    pub place: ResourceGroup,
    /// The name of the collection, in the case in which it was first given.
    pub collection: Name,
    /// The name of the job, in the case in which it was first given.
    pub job: Name,
    /// The attempt.
    pub attempt: Attempt,
    /// How it ended.
    pub record: Record,
}

/// Occurrences that were left out, as they are answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutView {
    /// The subscription and resource group, in the case in which they were first given.
    pub place: ResourceGroup,
    /// The name of the collection, in the case in which it was first given.
    pub collection: Name,
    /// The name of the job, in the case in which it was first given.
    pub job: Name,
    /// The occurrences.
    pub left_out: LeftOut,
}

impl ExecutionView {
    /// The instant at which the attempt was expected: that of its occurrence, or for a retry the
    /// instant at which the retry was due, however late it started. The first attempt of an error
    /// action is not a retry: it has the instant of the occurrence that failed, so that clients find
    /// the two together.
    #[must_use]
    pub const fn expected_at(&self) -> DateTime<Utc> {
        match self.attempt.number {
            0 => self.attempt.occurrence.nominal_at(),
            _ => self.attempt.due_at,
        }
    }
}
