//! Converts an event into the form of the bus.

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::{Occurrence, Outcome};
use minutehand_domain::cause::Cause;
use minutehand_domain::firing::SkipReason;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::Event;
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

/// An event in the form of the bus.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BusEvent {
    /// What happened.
    pub(crate) detail_type: &'static str,
    /// The details, as JSON.
    pub(crate) detail: Value,
    /// When it happened, if the event has an instant.
    pub(crate) at: Option<DateTime<Utc>>,
}

/// Converts an event; `None` for events that are not put on the bus.
pub(crate) fn bus_event(event: Event<'_>) -> Option<BusEvent> {
    match event {
        Event::Executed { job, attempt, record, late, .. } => {
            if record.outcome == Outcome::Succeeded {
                return None;
            }
            let detail = json!({
                "attempt": attempt.id().to_string(),
                "action": attempt.role.name(),
                "try": attempt.number,
                "isRun": matches!(attempt.occurrence, Occurrence::Run { .. }),
                "occurrence": format_instant(attempt.occurrence.nominal_at()),
                "dueAt": format_instant(attempt.due_at),
                "startedAt": format_instant(record.started_at),
                "endedAt": format_instant(record.ended_at),
                "lateMs": late.num_milliseconds(),
                "repeatCount": record.repeat_count,
                "cause": record.cause.as_ref().map(Cause::to_json),
            });
            Some(about_job("Execution Failed", job, detail, Some(record.ended_at)))
        }
        Event::Dropped { job, attempt, why } => {
            let reason = match why {
                SkipReason::Overtaken => "Overtaken",
                SkipReason::CollectionOff => "CollectionOff",
                SkipReason::TooLate => "TooLate",
                SkipReason::Overlap => "Overlap",
                SkipReason::NotWatched => "NotWatched",
                // The user caused these skips.
                SkipReason::Gone | SkipReason::TimingChanged | SkipReason::NotEnabled => {
                    return None;
                }
            };
            let occurrence = format_instant(attempt.occurrence.nominal_at());
            let detail = json!({"occurrences": 1, "reason": reason, "occurrence": occurrence});
            Some(about_job("Occurrences Skipped", job, detail, None))
        }
        Event::Overtaken { job, occurrences } => {
            let detail = json!({"occurrences": occurrences, "reason": "Overtaken"});
            Some(about_job("Occurrences Skipped", job, detail, None))
        }
        Event::Finished { job, state } => {
            let faulted = state == minutehand_domain::job::JobState::Faulted;
            let detail_type = if faulted { "Job Faulted" } else { "Job Completed" };
            Some(about_job(detail_type, job, json!({"state": state.name()}), None))
        }
        Event::Paused { job, at, reason } => {
            Some(about_job("Job Paused", job, json!({"reason": reason}), Some(at)))
        }
        // A retry follows an event of its failure.
        Event::Started { .. }
        | Event::Retried { .. }
        | Event::AlertLost { .. }
        | Event::MessageUnreadable
        | Event::DeadLetter => None,
    }
}

fn about_job(
    detail_type: &'static str,
    job: &JobRef,
    more: Value,
    at: Option<DateTime<Utc>>,
) -> BusEvent {
    let JobRef { uid, collection_uid, key } = job;
    let mut detail = json!({"jobUid": uid, "collectionUid": collection_uid, "job": key});
    if let (Value::Object(detail), Value::Object(more)) = (&mut detail, more) {
        detail.extend(more);
    }
    BusEvent { detail_type, detail, at }
}
