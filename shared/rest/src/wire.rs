//! Collections and jobs as they are answered.

use app::{CollectionView, ExecutionView, JobStatus, JobView, LeftOutView};
use chrono::{DateTime, Utc};
use domain::attempt::{Attempt, Occurrence, Outcome, Role};
use domain::document::Durations;
use domain::extensions::EXTENSIONS;
use domain::firing::{LeftOut, LeftOutReason, Outage};
use domain::name::Name;
use domain::tick::ticks;
use ports::store::ResourceGroup;
use recurrence::format_instant;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

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
    let own = history_name(attempt, record.started_at);
    json!({
        "id": format!("{}/jobs/{job}/history/{own}", collection_id(place, collection)),
        "type": "Microsoft.Scheduler/jobCollections/jobs/history",
        "name": format!("{collection}/{job}/{own}"),
        "properties": history_properties(view),
    })
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
    if attempt.role == Role::Notice {
        properties.insert(EXTENSIONS.to_owned(), json!({"action": "onFailure"}));
    } else if let Some(of) = attempt.occurrence.redrive_of() {
        properties.insert(EXTENSIONS.to_owned(), json!({"redriveOf": format_instant(of)}));
    }
    properties
}

/// Occurrences that were left out, in the form of an item of history.
pub(crate) fn left_out(view: &LeftOutView) -> Value {
    let LeftOutView { place, collection, job, left_out } = view;
    let LeftOut { generation, first, last, occurrences, reason, at } = left_out;
    let attempt = Attempt::first(*generation, Occurrence::Scheduled { nominal_at: *first });
    let own = history_name(&attempt, *at);
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

/// The name of an item of history: `{A}:{B}`, with twenty digits each. A is the number of .NET ticks
/// from the start of the attempt to the end of the calendar, so that names sort from the newest to
/// the oldest. B was a counter in the original; here it is a hash of the attempt's identity, so that
/// an item always has the same name.
fn history_name(attempt: &Attempt, started_at: DateTime<Utc>) -> String {
    /// The last tick of the year 9999, counted from the year 1.
    const LAST_TICK: i64 = 3_155_378_975_999_999_999;
    /// The first tick of 1970.
    const TICK_OF_1970: i64 = 621_355_968_000_000_000;
    let left = LAST_TICK.saturating_sub(TICK_OF_1970.saturating_add(ticks(started_at)));
    let hash: [u8; 32] = Sha256::digest(attempt.id().to_string()).into();
    let own = hash.into_iter().take(8).fold(0_u64, |bits, byte| bits << 8 | u64::from(byte));
    format!("{:020}:{:020}", left.max(0), own >> 1)
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

#[cfg(test)]
mod tests {
    use domain::attempt::Occurrence;

    use super::*;

    #[test]
    fn history_items_are_named_as_in_the_recordings() {
        let instant = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        for (started_at, a) in [
            ("2016-03-30T20:39:53.8021951Z", "02519429304061978048"),
            ("2015-06-14T06:28:54.1459279Z", "02519680374658540720"),
            ("9999-12-31T23:59:59.9999999Z", "00000000000000000000"),
        ] {
            let nominal_at = instant("2016-03-30T20:39:52Z");
            let attempt = Attempt::first(1, Occurrence::Scheduled { nominal_at });
            let name = history_name(&attempt, instant(started_at));
            let (first, second) = name.split_once(':').unwrap();
            assert_eq!((first, second.len()), (a, 20));
            assert!(second.parse::<i64>().is_ok(), "{second}");
            let retry = Attempt { number: 1, ..attempt };
            assert_ne!(history_name(&retry, instant(started_at)), name);
        }
    }
}
