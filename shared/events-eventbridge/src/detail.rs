//! An event of ours as one of the bus.

use chrono::{DateTime, Utc};
use domain::attempt::{Occurrence, Outcome, Role};
use domain::firing::SkipReason;
use domain::work_item::JobRef;
use ports::Event;
use recurrence::format_instant;
use serde_json::{Map, Value, json};

/// An event as the bus takes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    /// What kind of thing happened.
    pub(crate) detail_type: &'static str,
    /// What exactly.
    pub(crate) detail: Value,
    /// When, if it says so itself.
    pub(crate) at: Option<DateTime<Utc>>,
}

/// What the bus is told of an event; `None` if nothing.
pub(crate) fn told(event: Event<'_>) -> Option<Told> {
    match event {
        Event::Executed { job, attempt, record, late } => {
            if record.outcome == Outcome::Succeeded {
                return None;
            }
            let action = match attempt.role {
                Role::Main => "main",
                Role::Error => "error",
            };
            let detail = json!({
                "attempt": attempt.id().to_string(),
                "action": action,
                "try": attempt.number,
                "isRun": matches!(attempt.occurrence, Occurrence::Run { .. }),
                "occurrence": format_instant(attempt.occurrence.nominal_at()),
                "dueAt": format_instant(attempt.due_at),
                "startedAt": format_instant(record.started_at),
                "endedAt": format_instant(record.ended_at),
                "lateMs": late.num_milliseconds(),
                "repeatCount": record.repeat_count,
            });
            Some(of("Execution Failed", job, detail, Some(record.ended_at)))
        }
        Event::Dropped {
            job,
            attempt,
            why: why @ (SkipReason::Overtaken | SkipReason::CollectionOff),
        } => {
            let reason = if why == SkipReason::Overtaken { "Overtaken" } else { "CollectionOff" };
            let occurrence = format_instant(attempt.occurrence.nominal_at());
            let detail = json!({"occurrences": 1, "reason": reason, "occurrence": occurrence});
            Some(of("Occurrences Skipped", job, detail, None))
        }
        Event::Overtaken { job, occurrences } => {
            let detail = json!({"occurrences": occurrences, "reason": "Overtaken"});
            Some(of("Occurrences Skipped", job, detail, None))
        }
        Event::Finished { job, state } => {
            let faulted = state == domain::job::JobState::Faulted;
            let detail_type = if faulted { "Job Faulted" } else { "Job Completed" };
            Some(of(detail_type, job, json!({"state": state.name()}), None))
        }
        // The user's own doing, and what the failure that led to it has told.
        Event::Dropped {
            why: SkipReason::Gone | SkipReason::TimingChanged | SkipReason::NotEnabled,
            ..
        }
        | Event::Retried { .. }
        | Event::MessageUnreadable
        | Event::DeadLetter => None,
    }
}

fn of(detail_type: &'static str, job: &JobRef, more: Value, at: Option<DateTime<Utc>>) -> Told {
    let mut detail = Map::new();
    detail.insert("jobUid".to_owned(), json!(job.uid));
    detail.insert("collectionUid".to_owned(), json!(job.collection_uid));
    detail.insert("job".to_owned(), json!(job.key));
    if let Value::Object(more) = more {
        detail.extend(more);
    }
    Told { detail_type, detail: Value::Object(detail), at }
}
