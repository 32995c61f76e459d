//! Collections and jobs as they are answered.

use chrono::{DateTime, Utc};
use minutehand_app::{CollectionView, ExecutionView, JobPlace, JobStatus, JobView, LeftOutView};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Role};
use minutehand_domain::cause::Cause;
use minutehand_domain::document::Durations;
use minutehand_domain::extensions::EXTENSIONS;
use minutehand_domain::firing::{LeftOut, LeftOutReason, Outage};
use minutehand_domain::history_name::HistoryName;
use minutehand_domain::name::Name;
use minutehand_domain::said::said;
use minutehand_ports::store::ResourceGroup;
use minutehand_recurrence::format_instant;
use serde_json::{Map, Value, json};

/// A collection: id, type, name, location, tags, properties.
pub(crate) fn collection(view: CollectionView) -> Value {
    let rest = if let Value::Object(rest) = view.document { rest } else { Map::new() };
    let id = collection_id(&view.place, &view.name);
    resource(id, "Microsoft.Scheduler/jobCollections", view.name.to_string(), rest)
}

/// A resource with what it has beside its id, type and name. That is moved: `json!` would copy it.
fn resource(
    id: String,
    kind: &str,
    name: String,
    rest: impl IntoIterator<Item = (String, Value)>,
) -> Value {
    let begins =
        [("id", Some(id.into())), ("type", Some(kind.into())), ("name", Some(name.into()))];
    let mut resource = present(begins);
    resource.extend(rest);
    resource.into()
}

/// The action of an attempt, in a word of a job's document.
pub(crate) const fn action(role: Role) -> &'static str {
    match role {
        Role::Main => "action",
        Role::Error => "errorAction",
        Role::Notice => "notice",
    }
}

/// Whether an occurrence is one of the recurrence, or a run that a caller asked for.
pub(crate) const fn kind(of: &Occurrence) -> &'static str {
    match of {
        Occurrence::Scheduled { .. } => "scheduled",
        Occurrence::Run { .. } => "run",
    }
}

/// A job: id, type, name, properties.
pub(crate) fn job(view: &JobView, durations: Durations) -> Value {
    let mut properties = view.properties(durations);
    if let Some(status) = &view.status {
        properties.insert("status".to_owned(), self::status(status));
    }
    let name = format!("{}/{}", view.collection, view.name);
    let rest = [("properties".to_owned(), properties.into())];
    resource(job_id(view), "Microsoft.Scheduler/jobCollections/jobs", name, rest)
}

/// The path of a job in Azure's API.
pub(crate) fn job_id(view: &JobView) -> String {
    format!("{}/jobs/{}", collection_id(&view.place, &view.collection), view.name)
}

/// The short path of a job, as the log and messages for people name it.
pub(crate) fn job_path(view: &JobView) -> String {
    format!("{}/{}", view.place.collection_path(&view.collection), view.name)
}

/// An item of history: id, type, name, properties.
pub(crate) fn history(view: &ExecutionView) -> Value {
    let ExecutionView { place, collection, job, attempt, record } = view;
    let own = HistoryName::new(attempt, record.started_at);
    history_item((place, collection, job), &own, history_properties(view).into())
}

fn history_item(of: JobPlace<'_>, own: &HistoryName, properties: Value) -> Value {
    let (place, collection, job) = of;
    let id = format!("{}/jobs/{job}/history/{own}", collection_id(place, collection));
    let kind = "Microsoft.Scheduler/jobCollections/jobs/history";
    let rest = [("properties".to_owned(), properties)];
    resource(id, kind, format!("{collection}/{job}/{own}"), rest)
}

/// What the target said in its own words of an attempt that failed, unless the cause says it.
pub(crate) fn said_of(record: &Record) -> Option<String> {
    let said = (record.outcome == Outcome::Failed).then(|| said(&record.message)).flatten()?;
    let is_cause = record.cause.as_ref().is_some_and(|cause| cause.to_string() == said);
    (!is_cause).then_some(said)
}

/// What is said of an attempt.
pub(crate) fn history_properties(view: &ExecutionView) -> Map<String, Value> {
    let ExecutionView { attempt, record, .. } = view;
    let action = match attempt.role {
        Role::Main => "MainAction",
        // Clients know two names.
        Role::Error | Role::Notice => "ErrorAction",
    };
    let is_notice = attempt.role == Role::Notice;
    let redrive_of = attempt.occurrence.redrive_of().filter(|_| !is_notice);
    // Extensions: a job that uses none of Minutehand's own features has the history of the original.
    let own = present([
        ("action", is_notice.then(|| "onFailure".into())),
        ("redriveOf", redrive_of.map(|of| format_instant(of).into())),
        ("kind", matches!(attempt.occurrence, Occurrence::Run { .. }).then(|| "run".into())),
        ("askedBy", attempt.asked_by.as_deref().map(Value::from)),
        ("cause", record.cause.as_ref().map(Cause::to_json)),
        ("said", said_of(record).map(Value::from)),
        ("bodyBytes", (record.body_bytes > 0).then(|| record.body_bytes.into())),
    ]);
    present([
        ("startTime", Some(format_instant(record.started_at).into())),
        ("endTime", Some(format_instant(record.ended_at).into())),
        ("expectedExecutionTime", Some(format_instant(view.expected_at()).into())),
        // The original left the status of a success out, and the tests of its clients expect that.
        ("status", (record.outcome == Outcome::Failed).then(|| "failed".into())),
        ("message", Some(record.message.as_str().into())),
        ("retryCount", Some(attempt.number.into())),
        ("repeatCount", Some(record.repeat_count.into())),
        ("actionName", Some(action.into())),
        (EXTENSIONS, (!own.is_empty()).then(|| own.into())),
    ])
}

/// The fields that have a value.
fn present<const N: usize>(fields: [(&str, Option<Value>); N]) -> Map<String, Value> {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Occurrences that were left out, in the form of an item of history.
pub(crate) fn left_out(view: &LeftOutView) -> Value {
    let LeftOutView { place, collection, job, left_out } = view;
    let LeftOut { generation, first, last, occurrences, reason, at } = left_out;
    let attempt = Attempt::first(*generation, Occurrence::Scheduled { nominal_at: *first });
    let own = HistoryName::new(&attempt, *at);
    let message = match reason {
        LeftOutReason::Outage(Outage { from, until }) => format!(
            "Nothing worked from {} to {}. The job's 'catchUp' does not make up for this occurrence.",
            format_instant(*from),
            format_instant(*until)
        ),
        LeftOutReason::TooLate => {
            "It would have started later than the job's 'maxLateness' allows.".to_owned()
        }
        LeftOutReason::Overlap => {
            "Another attempt of the job was running or waited, and the job's \
                                   'overlap' is skip."
                .to_owned()
        }
        LeftOutReason::NotWatched => {
            "At some moment of its window no process could take its ping.".to_owned()
        }
    };
    let properties = json!({
        "startTime": format_instant(*at),
        "endTime": format_instant(*at),
        "expectedExecutionTime": format_instant(*first),
        "status": "skipped",
        "message": message,
        "retryCount": 0,
        "actionName": "MainAction",
        EXTENSIONS: {
            "skipped": occurrences,
            "last": format_instant(*last),
            "reason": reason.name(),
        },
    });
    history_item((place, collection, job), &own, properties)
}

/// The path of a collection. The fixed parts have the original's case, and the names the case in
/// which they were first given.
fn collection_id(place: &ResourceGroup, name: &Name) -> String {
    let ResourceGroup { subscription, group } = place;
    format!(
        "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Scheduler/\
         jobCollections/{name}"
    )
}

pub(crate) fn status(status: &JobStatus) -> Value {
    let counters = &status.counters;
    let instant = |at: Option<DateTime<Utc>>| at.map(|at| format_instant(at).into());
    let fields = present([
        ("lastExecutionTime", instant(counters.last_execution_at)),
        ("nextExecutionTime", instant(status.next_execution_at)),
        ("executionCount", Some(counters.executions.into())),
        ("failureCount", Some(counters.failures.into())),
        ("faultedCount", Some(counters.faulted.into())),
        // An extension, which clients of the original see only if an occurrence was skipped.
        ("skippedCount", (counters.skipped > 0).then(|| counters.skipped.into())),
    ]);
    fields.into()
}
