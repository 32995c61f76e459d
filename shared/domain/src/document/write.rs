//! Documents out: jobs and collections, in the order and the case of the original's answers.

use minutehand_recurrence::{Recurrence, format_instant};
use serde_json::{Map, Value, json};

use crate::collection::CollectionDefinition;
use crate::extensions::{CollectionExtensions, EXTENSIONS, JobExtensions};
use crate::job::{JobDefinition, JobState};
use crate::json::{Durations, ObjectBuilder, SplitDocument};
use crate::plan::Quota;
use crate::refusal::{Code, Refusal};
use crate::secret::Secret;

/// The most bytes of a job: compact JSON with its secrets, without what the service found out.
pub const JOB_BYTES_MAX: usize = 16 * 1_024;

/// The `properties` of a job, written once: the store and clients get different renderings of it.
#[derive(Debug, Clone, PartialEq)]
pub struct JobDocument(ObjectBuilder);

impl JobDefinition {
    /// Writes the job's document. Its state is the switch, until [`JobDocument::answer`] is told
    /// what the scheduler has made of it.
    #[must_use]
    pub fn write(&self) -> JobDocument {
        #[cfg(feature = "count-writes")]
        WRITES.with(|writes| writes.set(writes.get() + 1));
        let mut properties = ObjectBuilder::default()
            .maybe("startTime", self.start_time.map(format_instant))
            .object("action", Some(self.action.write()));
        if let Some(kept) = self.recurrence.as_deref().and_then(write_recurrence) {
            properties = match spell_occurrences_twice(&kept) {
                Some(answered) => properties.differs("recurrence", kept, answered),
                None => properties.set("recurrence", kept),
            };
        }
        let properties = properties
            .object(EXTENSIONS, self.extensions.as_ref().map(JobExtensions::write))
            .set("state", JobState::from(self.switch).name());
        JobDocument(properties)
    }
}

impl JobDocument {
    /// A stored document that this version cannot read, for answering it unchanged.
    #[must_use]
    pub fn unread(properties: Map<String, Value>) -> Self {
        Self(ObjectBuilder::from_map(properties))
    }

    /// The document as the store keeps it: without its secrets, and they apart.
    ///
    /// # Errors
    ///
    /// [`Code::JobTooLarge`] if the job has more than [`JOB_BYTES_MAX`].
    pub fn split(&self) -> Result<SplitDocument, Refusal> {
        let split = self.0.split();
        let bytes = split.bytes;
        if bytes <= JOB_BYTES_MAX {
            return Ok(split);
        }
        let message = format!(
            "The job has {bytes} bytes; at most {JOB_BYTES_MAX} are allowed. Shorten its body, \
             headers or messages."
        );
        Err(Refusal::new(Code::JobTooLarge, message))
    }

    /// The document without its secrets, as the store keeps it, however long it is.
    #[must_use]
    pub fn shown(&self) -> String {
        self.0.split().shown
    }

    /// The document as a client reads it, without its secrets.
    #[must_use]
    pub fn answer(&self, state: JobState, durations: Durations) -> Map<String, Value> {
        let mut properties = self.0.answer(durations);
        if let Some(written) = properties.get_mut("state") {
            *written = state.name().into();
        }
        properties
    }
}

#[cfg(feature = "count-writes")]
thread_local! {
    static WRITES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How often this thread has written a job: for tests that count.
#[cfg(feature = "count-writes")]
#[must_use]
pub fn job_writes() -> u64 {
    WRITES.with(std::cell::Cell::get)
}

fn write_recurrence(recurrence: &Recurrence) -> Option<Value> {
    // A recurrence writes itself as JSON.
    serde_json::from_str(&recurrence.to_string()).ok()
}

/// The original answered `occurrence`; its Python clients read `Occurrence` alone. `None` without any.
fn spell_occurrences_twice(recurrence: &Value) -> Option<Value> {
    let occurrences = "/schedule/monthlyOccurrences";
    recurrence.pointer(occurrences)?;
    let mut recurrence = recurrence.clone();
    for day in recurrence.pointer_mut(occurrences)?.as_array_mut().into_iter().flatten() {
        let Value::Object(day) = day else {
            continue;
        };
        if let Some(occurrence) = day.get("occurrence").cloned() {
            day.insert("Occurrence".to_owned(), occurrence);
        }
    }
    Some(recurrence)
}

/// A collection without its id, type, name and secrets: as a client reads it, and as the store keeps
/// it beside its secrets.
#[must_use]
pub fn write_collection(collection: &CollectionDefinition) -> Value {
    build_collection(collection).answer(Durations::TimeSpan).into()
}

/// The secrets of a collection, as a JSON merge patch of what [`write_collection`] writes; `None` if
/// there are none.
#[must_use]
pub fn collection_secrets(collection: &CollectionDefinition) -> Option<Secret> {
    build_collection(collection).split().secrets
}

fn build_collection(collection: &CollectionDefinition) -> ObjectBuilder {
    let properties = ObjectBuilder::default()
        .set("sku", json!({"name": collection.plan.name()}))
        .set("state", collection.state.name())
        .object("quota", collection.quota.as_ref().map(write_quota))
        .object(EXTENSIONS, collection.extensions.as_ref().map(CollectionExtensions::write));
    ObjectBuilder::default()
        .maybe("location", collection.location.clone())
        .texts("tags", collection.tags.as_deref())
        .object("properties", Some(properties))
}

fn write_quota(quota: &Quota) -> ObjectBuilder {
    let max = quota
        .max_recurrence
        .map(|max| json!({"frequency": max.frequency.name(), "interval": max.interval}));
    ObjectBuilder::default()
        .maybe("maxJobCount", quota.max_job_count)
        .maybe("maxJobOccurrence", quota.max_job_occurrence)
        .maybe("maxRecurrence", max)
}
