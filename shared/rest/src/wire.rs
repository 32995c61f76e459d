//! Collections and jobs as they are answered.

use minutehand_app::{CollectionView, ExecutionView, JobStatus, JobView, LeftOutView};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Role};
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
    let mut document = Map::new();
    document.insert("id".to_owned(), collection_id(&view.place, &view.name).into());
    document.insert("type".to_owned(), "Microsoft.Scheduler/jobCollections".into());
    document.insert("name".to_owned(), view.name.as_str().into());
    if let Value::Object(rest) = view.document {
        document.extend(rest);
    }
    Value::Object(document)
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
    json!({
        "id": job_id(view),
        "type": "Microsoft.Scheduler/jobCollections/jobs",
        "name": format!("{}/{}", view.collection, view.name),
        "properties": properties,
    })
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
    json!({
        "id": format!("{}/jobs/{job}/history/{own}", collection_id(place, collection)),
        "type": "Microsoft.Scheduler/jobCollections/jobs/history",
        "name": format!("{collection}/{job}/{own}"),
        "properties": history_properties(view),
    })
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
    let mut properties = Map::new();
    let instants = [
        ("startTime", record.started_at),
        ("endTime", record.ended_at),
        ("expectedExecutionTime", view.expected_at()),
    ];
    for (name, instant) in instants {
        properties.insert(name.to_owned(), format_instant(instant).into());
    }
    match record.outcome {
        // The original left the status out, and the tests of its clients expect that.
        Outcome::Succeeded => {}
        Outcome::Failed => {
            properties.insert("status".to_owned(), "failed".into());
        }
    }
    let action = match attempt.role {
        Role::Main => "MainAction",
        // Clients know two names.
        Role::Error | Role::Notice => "ErrorAction",
    };
    properties.insert("message".to_owned(), record.message.as_str().into());
    properties.insert("retryCount".to_owned(), attempt.number.into());
    properties.insert("repeatCount".to_owned(), record.repeat_count.into());
    properties.insert("actionName".to_owned(), action.into());
    // Extensions: a job that uses none of Minutehand's own features has the history of the original.
    let mut own = Map::new();
    if attempt.role == Role::Notice {
        own.insert("action".to_owned(), "onFailure".into());
    } else if let Some(of) = attempt.occurrence.redrive_of() {
        own.insert("redriveOf".to_owned(), format_instant(of).into());
    }
    if let Occurrence::Run { .. } = attempt.occurrence {
        own.insert("kind".to_owned(), "run".into());
    }
    if let Some(caller) = &attempt.asked_by {
        own.insert("askedBy".to_owned(), caller.as_str().into());
    }
    if let Some(cause) = &record.cause {
        own.insert("cause".to_owned(), cause.to_json());
    }
    if let Some(said) = said_of(record) {
        own.insert("said".to_owned(), said.into());
    }
    if record.body_bytes > 0 {
        own.insert("bodyBytes".to_owned(), record.body_bytes.into());
    }
    if !own.is_empty() {
        properties.insert(EXTENSIONS.to_owned(), own.into());
    }
    properties
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
    json!({
        "id": format!("{}/jobs/{job}/history/{own}", collection_id(place, collection)),
        "type": "Microsoft.Scheduler/jobCollections/jobs/history",
        "name": format!("{collection}/{job}/{own}"),
        "properties": {
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
        },
    })
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
    let mut document = Map::new();
    let counters = &status.counters;
    let instants = [
        ("lastExecutionTime", counters.last_execution_at),
        ("nextExecutionTime", status.next_execution_at),
    ];
    for (name, instant) in instants {
        if let Some(instant) = instant {
            document.insert(name.to_owned(), format_instant(instant).into());
        }
    }
    document.insert("executionCount".to_owned(), counters.executions.into());
    document.insert("failureCount".to_owned(), counters.failures.into());
    document.insert("faultedCount".to_owned(), counters.faulted.into());
    // An extension, which clients of the original see only if an occurrence was skipped.
    if counters.skipped > 0 {
        document.insert("skippedCount".to_owned(), counters.skipped.into());
    }
    Value::Object(document)
}
