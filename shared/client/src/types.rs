//! What the API answers, as far as a program needs it.
//!
//! A property that a server may leave out is optional or has a default, and unknown ones are
//! ignored: an answer of a newer version is still read. Instants stay text, as the server wrote them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::answer::Listed;

/// A collection.
#[derive(Debug, Clone, Deserialize)]
pub struct CollectionDocument {
    /// The path in Azure's API.
    #[serde(default)]
    pub id: String,
    /// The name.
    pub name: String,
    /// The tags.
    pub tags: Option<BTreeMap<String, String>>,
    /// What else it has.
    #[serde(default)]
    pub properties: CollectionProperties,
}

/// The properties of a collection.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct CollectionProperties {
    /// `Enabled`, `Disabled` or `Suspended`.
    #[serde(default)]
    pub state: String,
    /// All others, as they were sent.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A job, as Azure's API answers it.
#[derive(Debug, Clone, Deserialize)]
pub struct Job {
    /// The path in Azure's API.
    #[serde(default)]
    pub id: String,
    /// The collection and the name, with a slash between them.
    pub name: String,
    /// The properties, with `state` and `status`.
    #[serde(default)]
    pub properties: Map<String, Value>,
}

impl Job {
    /// The name without the collection.
    #[must_use]
    pub fn short_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    /// `enabled`, `disabled`, `completed` or `faulted`.
    #[must_use]
    pub fn state(&self) -> &str {
        self.properties.get("state").and_then(Value::as_str).unwrap_or_default()
    }

    /// The counters and instants.
    #[must_use]
    pub fn status(&self) -> Status {
        let status = self.properties.get("status").cloned().unwrap_or_default();
        serde_json::from_value(status).unwrap_or_default()
    }
}

/// The counters of a job, and when it runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    /// The next occurrence.
    pub next_execution_time: Option<String>,
    /// The start of the latest attempt.
    pub last_execution_time: Option<String>,
    /// Attempts of the main action.
    pub execution_count: u64,
    /// Attempts that failed.
    pub failure_count: u64,
    /// Occurrences that failed for good.
    pub faulted_count: u64,
    /// Occurrences that were skipped.
    pub skipped_count: u64,
}

/// An attempt in the history of a job.
#[derive(Debug, Clone, Deserialize)]
pub struct HistoryItem {
    /// The name, which is unique in the history of its job.
    pub name: String,
    /// The attempt.
    pub properties: HistoryProperties,
}

/// An attempt.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HistoryProperties {
    /// When it started.
    pub start_time: String,
    /// When it ended.
    pub end_time: String,
    /// When it was due.
    pub expected_execution_time: String,
    /// `failed`, or nothing if it succeeded.
    pub status: Option<String>,
    /// What happened, in a sentence.
    pub message: String,
    /// 0 for the first attempt of an occurrence.
    pub retry_count: u32,
    /// The number of the occurrence.
    pub repeat_count: u64,
    /// `MainAction` or `ErrorAction`.
    pub action_name: String,
    /// What only Minutehand says.
    pub minutehand: HistoryExtensions,
}

/// What only Minutehand says of an attempt.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HistoryExtensions {
    /// How many bytes of the target's answer are kept; 0 if none.
    pub body_bytes: u64,
    /// `onFailure` for a notice.
    pub action: Option<String>,
    /// `run` for a run that was asked for.
    pub kind: Option<String>,
    /// The instant of the occurrence that a run repeats.
    pub redrive_of: Option<String>,
    /// The caller who asked for a run.
    pub asked_by: Option<String>,
    /// Why it failed.
    pub cause: Option<FailureCause>,
    /// What the target said of its failure.
    pub said: Option<String>,
}

impl HistoryExtensions {
    /// `run` or `redrive`, if the attempt belongs to what a user asked for.
    #[must_use]
    pub fn run(&self) -> Option<&'static str> {
        match (self.kind.as_deref(), &self.redrive_of) {
            (_, Some(_)) => Some("redrive"),
            (Some("run"), None) => Some("run"),
            _ => None,
        }
    }
}

/// Why an attempt failed.
#[derive(Debug, Clone, Deserialize)]
pub struct FailureCause {
    /// The kind, for programs: `httpStatus`.
    pub kind: String,
    /// The same in a few words: `HTTP 500`.
    pub text: String,
}

/// Why an attempt failed, and what the target said of it. Without a cause, an earlier version recorded the
/// attempt, and its whole message is all that is known.
fn reason(cause: Option<&FailureCause>, said: Option<&str>, message: &str) -> String {
    match (cause, said) {
        (Some(cause), Some(said)) => format!("{}: {said}", cause.text),
        (Some(cause), None) => cause.text.clone(),
        (None, _) => message.to_owned(),
    }
}

impl HistoryItem {
    /// The last part of the name, which tells the attempt from the others of its job.
    #[must_use]
    pub fn own_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }
}

impl HistoryProperties {
    /// Why it failed; nothing if it did not.
    #[must_use]
    pub fn reason(&self) -> String {
        let HistoryExtensions { cause, said, .. } = &self.minutehand;
        if !self.failed() {
            return String::new();
        }
        reason(cause.as_ref(), said.as_deref(), &self.message)
    }

    /// Why it failed, or what its message says of its success.
    #[must_use]
    pub fn told(&self) -> String {
        if self.failed() { self.reason() } else { self.message.clone() }
    }

    /// Whether it is an attempt at the action, and not at the error action or a notice.
    #[must_use]
    pub fn is_of_action(&self) -> bool {
        self.action_name == "MainAction"
    }

    /// Whether the attempt failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.status.is_some()
    }
}

/// All about a job, from `/minutehand/v1`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// Subscription, resource group, collection and job.
    pub path: String,
    /// `enabled`, `disabled`, `completed` or `faulted`.
    pub state: String,
    /// Since when it has its state, start and recurrence.
    #[serde(default)]
    pub since: String,
    /// When it fires, in words.
    pub sentence: String,
    /// The start of a job that names none.
    pub anchor: Option<String>,
    /// The next occurrence.
    pub next: Option<String>,
    /// When that starts, if the job's jitter delays it.
    pub next_starts_at: Option<String>,
    /// Why there is none.
    #[serde(default)]
    pub not_firing: Vec<NotFiringReason>,
    /// The start of the latest attempt.
    pub last: Option<String>,
    /// Attempts of the main action.
    #[serde(default)]
    pub executions: u64,
    /// Attempts that failed.
    #[serde(default)]
    pub failures: u64,
    /// Occurrences that failed for good.
    #[serde(default)]
    pub faulted: u64,
    /// Occurrences that were skipped.
    #[serde(default)]
    pub skipped: u64,
    /// How the last occurrences ended, one letter each, the newest last.
    #[serde(default)]
    pub recent: String,
    /// What was skipped last.
    pub last_skip: Option<SkippedLast>,
    /// How long the action took last, in milliseconds.
    pub took_ms: Option<u32>,
    /// The definition, without secrets.
    #[serde(default)]
    pub properties: Map<String, Value>,
}

/// A run that repeats an occurrence.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RedriveAnswer {
    /// The instant of the run.
    pub at: String,
    /// The instant of the occurrence.
    pub redrive_of: String,
}

/// An attempt that was open and is cancelled.
#[derive(Debug, Clone, Deserialize)]
pub struct CancelAnswer {
    /// The instant of its occurrence.
    pub at: String,
}

/// Occurrences that were skipped, one after the other.
#[derive(Debug, Clone, Deserialize)]
pub struct SkippedLast {
    /// The first of them.
    pub from: String,
    /// The last of them.
    pub to: String,
    /// How many they are.
    pub occurrences: u64,
    /// Why, for programs: `overtaken`.
    pub reason: String,
}

/// A job in one row of a list.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ListedJob {
    /// The name.
    pub name: String,
    /// `enabled`, `disabled`, `completed` or `faulted`.
    pub state: String,
    /// When it fires, in words.
    pub sentence: Option<String>,
    /// The zone of its recurrence; nothing is UTC.
    pub zone: Option<String>,
    /// The next occurrence.
    pub next: Option<String>,
    /// Attempts of the main action.
    pub executions: u64,
    /// Occurrences that failed for good.
    pub faulted: u64,
    /// How the last occurrences ended, one letter each, the newest last.
    pub recent: Option<String>,
    /// How long the action took last, in milliseconds.
    #[serde(rename = "tookMs")]
    pub took_ms: Option<u32>,
}

/// The coming occurrences of a job.
#[derive(Debug, Clone)]
pub struct NextAnswer {
    /// The occurrences.
    pub occurrences: Vec<Listed<ComingOccurrence>>,
    /// Whether none follows the last of them.
    pub ends: bool,
}

/// A coming occurrence.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ComingOccurrence {
    /// The instant.
    pub at: String,
    /// When it starts, if the job's jitter delays it.
    pub starts_at: Option<String>,
    /// What the clock does to it.
    pub note: Option<ClockNote>,
}

/// A remark about an occurrence.
#[derive(Debug, Clone, Deserialize)]
pub struct ClockNote {
    /// In words.
    pub text: String,
}

/// The next occurrence of some job of a subscription.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpcomingItem {
    /// When it is due.
    pub at: String,
    /// The resource group of the collection.
    pub resource_group: String,
    /// The collection.
    pub collection: String,
    /// The job, in lower case.
    pub job: String,
    /// When the job fires, in words.
    pub sentence: String,
}

/// An occurrence that failed for good.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureItem {
    /// When it was due.
    pub at: String,
    /// `scheduled`, or `run` if a user asked for it.
    pub kind: String,
    /// When the last attempt ended.
    pub ended_at: String,
    /// The resource group of the collection.
    pub resource_group: String,
    /// The collection.
    pub collection: String,
    /// The job.
    pub job: String,
    /// The identity of the job.
    pub uid: String,
    /// How many attempts were made.
    pub attempts: u32,
    /// Why the last one failed.
    pub cause: Option<FailureCause>,
    /// What its target said of it.
    pub said: Option<String>,
    /// The beginning of the message of the last one.
    pub message: String,
}

impl FailureItem {
    /// Why it failed.
    #[must_use]
    pub fn reason(&self) -> String {
        reason(self.cause.as_ref(), self.said.as_deref(), &self.message)
    }
}

/// How a subscription is doing.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OverviewAnswer {
    /// What to say first.
    pub headline: Headline,
    /// The collections.
    pub collections: Numbers,
    /// The jobs.
    pub jobs: Numbers,
    /// Timers that have been due for minutes.
    pub late: Late,
    /// The sweepers.
    pub sweep: Beat,
    /// About how many messages are no longer delivered.
    pub dead_letters: Option<u64>,
    /// The targets that hang.
    pub hanging: Option<Vec<String>>,
    /// The collections whose alerts do not arrive.
    #[serde(default)]
    pub alerts: Vec<AlertsOf>,
}

/// A collection whose alerts do not arrive.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlertsOf {
    /// Its resource group.
    pub resource_group: String,
    /// Its name.
    pub collection: String,
    /// What is wrong.
    pub trouble: LostAlerts,
}

/// What is known of a job for alerts.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobAlertAnswer {
    /// Whether its collection sends alerts.
    pub is_set: bool,
    /// What is known, if the rules of the alerts need something.
    pub state: Option<JobAlertState>,
}

/// The state of a job under the rules of alerts.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobAlertState {
    /// How many occurrences have failed since the last success.
    pub failures_in_row: u32,
    /// When the first alert was sent that no success has followed.
    pub open_since: Option<String>,
    /// When the last alert of a failure was sent.
    pub last_sent_at: Option<String>,
    /// How many alerts were held back since then.
    pub held_back: u32,
}

/// Whether the alerts of a collection arrive.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlertAnswer {
    /// Whether it sends any.
    #[serde(default)]
    pub is_set: bool,
    /// What is wrong with them.
    pub trouble: Option<LostAlerts>,
}

/// The alerts of a collection that failed since the last one that arrived.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LostAlerts {
    /// How many.
    pub alerts: u64,
    /// When the first of them failed.
    pub since: String,
    /// The job of the last one.
    pub job: String,
    /// Why the last one failed.
    pub cause: Option<FailureCause>,
}

/// What came back when a test alert was sent.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlertTestAnswer {
    /// Whether the receiver accepted it.
    pub arrived: bool,
    /// Why it failed.
    pub cause: Option<FailureCause>,
    /// What the receiver or the connection said.
    pub message: String,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// What to say first of a subscription.
#[derive(Debug, Clone, Deserialize)]
pub struct Headline {
    /// For programs: `noJobs`, `notSweeping`, `late` or `allWell`.
    pub kind: String,
}

/// How many there are.
#[derive(Debug, Clone, Deserialize)]
pub struct Numbers {
    /// All of them.
    pub all: u64,
    /// Those that are off.
    #[serde(default)]
    pub off: u64,
}

/// Timers that have been due for minutes.
#[derive(Debug, Clone, Deserialize)]
pub struct Late {
    /// How many.
    pub count: u64,
    /// Since when the first of them is due.
    pub oldest: Option<String>,
}

/// A sign of life.
#[derive(Debug, Clone, Deserialize)]
pub struct Beat {
    /// The last one.
    pub at: Option<String>,
}

/// What became of an occurrence, from `/minutehand/v1`.
#[derive(Debug, Clone, Deserialize)]
pub struct WhyAnswer {
    /// What became of it, in a word for programs: `fired`, `notScheduled`.
    pub verdict: String,
    /// What became of it, in a sentence.
    pub sentence: String,
    /// The occurrences around it.
    #[serde(default)]
    pub near: Near,
    /// What the sentence rests on, the oldest first.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
}

/// The occurrences around an instant.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Near {
    /// The last one before it.
    pub before: Option<String>,
    /// The first one after it.
    pub after: Option<String>,
}

/// Something that is known of an occurrence.
#[derive(Debug, Clone, Deserialize)]
pub struct Evidence {
    /// When it happened.
    pub at: String,
    /// What happened.
    pub text: String,
}

/// A reason for which a job does not fire.
#[derive(Debug, Clone, Deserialize)]
pub struct NotFiringReason {
    /// The reason, for programs.
    pub reason: String,
    /// What to do.
    pub message: String,
}

/// A change of a collection or of a job, from the journal.
#[derive(Debug, Clone, Deserialize)]
pub struct JournalChange {
    /// The instant of the change.
    pub at: String,
    /// The sender of the request.
    pub who: String,
    /// `created`, `changed`, `switchedOn`, `switchedOff`, `deleted`, `paused`, `resumed`, `ran` or `redriven`.
    pub operation: String,
    /// The job; nothing if the collection changed.
    pub job: Option<String>,
    /// The names of the properties that changed.
    #[serde(default)]
    pub names: Vec<String>,
    /// The run that was asked for.
    pub run: Option<NotedRun>,
    /// The change as a merge patch.
    pub change: Option<Value>,
}

/// A run in a journal.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotedRun {
    /// The instant under which the history has it.
    pub at: String,
    /// The instant of the occurrence that it repeats.
    pub redrive_of: Option<String>,
}

/// A message that is no longer delivered.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetterItem {
    /// Names it in requests.
    pub id: String,
    /// When it was first sent.
    pub first_sent_at: Option<String>,
    /// How often it was delivered.
    pub deliveries: u32,
    /// Why it is no longer delivered, in words.
    pub error_type: Option<String>,
    /// What it asks for; nothing if it cannot be read.
    pub asks: Option<String>,
    /// The resource group of the collection.
    pub resource_group: Option<String>,
    /// The collection.
    pub collection: Option<String>,
    /// The job.
    pub job: Option<String>,
    /// The instant of the occurrence.
    pub occurrence: Option<String>,
    /// What else it asks for.
    #[serde(default)]
    pub others: Vec<Value>,
}

/// What was done with dead letters.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLettersAnswer {
    /// How many.
    #[serde(alias = "moved", alias = "deleted")]
    pub count: u64,
    /// Whether the queue goes on with it.
    #[serde(default)]
    pub goes_on: bool,
    /// The ids that were not found.
    #[serde(default)]
    pub not_found: Vec<String>,
}

/// A process that shares the database of an installation.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessItem {
    /// Its name.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// When it started.
    pub since: String,
    /// When it last gave a sign of life.
    pub seen_at: String,
    /// How many attempts it has under way.
    pub attempts: u64,
    /// Whether it answered.
    #[serde(default)]
    pub answers: bool,
}

/// Something to know of the database of an installation.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseItem {
    /// The part that it is about, in a word.
    pub about: String,
    /// What it is.
    pub says: String,
    /// What to do; nothing if all is well.
    pub remedy: Option<String>,
    /// Whether that can wait.
    #[serde(default)]
    pub is_warning: bool,
}

/// How many occurrences are due in each span.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct LoadAnswer {
    /// The beginning.
    pub from: Option<String>,
    /// The end.
    pub to: Option<String>,
    /// The beginning of each day, if days are counted.
    pub starts: Option<Vec<String>>,
    /// One count for each span.
    pub counts: Vec<u64>,
    /// The jobs that fire in that time.
    #[serde(default)]
    pub jobs: u64,
    /// The position of the next page.
    pub position: Option<String>,
}

impl LoadAnswer {
    /// The sum of two pages.
    pub(crate) fn and(mut self, other: Self) -> Self {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        Self { jobs: self.jobs + other.jobs, position: other.position, ..self }
    }
}
