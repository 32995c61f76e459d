//! `GET J/occurrences` and `GET S/failures`: what became of the occurrences of a job, and those of a
//! subscription that failed for good.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use minutehand_app::{FailuresPosition, PastOccurrence, WantedFailures};
use minutehand_domain::attempt::{Attempt, Record};
use minutehand_domain::cause::Cause;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::firing::LeftOut;
use minutehand_domain::name::Name;
use minutehand_recurrence::{WrittenDate, format_instant};
use serde_json::{Value, json};

use super::ahead;
use super::list::page;
use super::parameters::{Parameters, invalid_position};
use super::tagged;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::wire;

/// The most instants in one answer of occurrences.
const OCCURRENCES_MAX: usize = 100;
/// How many are answered if the request names no number.
const OCCURRENCES: usize = 20;
/// The most characters of a message. The history of the job has all of them.
const MESSAGE_CHARS_MAX: usize = 4_000;
/// An answer of this many bytes takes no further instant. One instant has fewer again.
const BYTES_MAX: usize = 256 * 1024;

/// The most failures in one answer.
const FAILURES_MAX: usize = 500;
/// How many are answered if the request names no number.
const FAILURES: usize = 100;
/// How far back an answer looks if the request names no instant.
const FAILURES_SINCE: TimeDelta = TimeDelta::days(7);

/// Lists what became of the occurrences of a job.
pub(crate) async fn occurrences(call: Call) -> Result<Answer, Failure> {
    let parameters = Parameters::of(&call, &["before", "limit", "position"])?;
    let before = match parameters.position()? {
        Some(position) => Some(instant_of(&position)?),
        None => parameters.instant("before")?,
    };
    let limit = parameters.number("limit", 1..=OCCURRENCES_MAX, OCCURRENCES)?;
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    let found = call.manage.list_occurrences((&place, &collection, &name), (before, limit)).await?;
    let (mut items, mut before, mut bytes) = (Vec::new(), None, 0);
    let mut instants = found.items.chunk_by(|one, other| one.at() == other.at()).peekable();
    while let Some(instant) = instants.next() {
        let documents: Vec<Value> = instant.iter().map(past).collect();
        bytes += documents.iter().map(|document| document.to_string().len()).sum::<usize>();
        items.extend(documents);
        if bytes > BYTES_MAX && instants.peek().is_some() {
            before = instant.first().map(PastOccurrence::at);
            break;
        }
        before = found.before;
    }
    let position = before.map(format_instant);
    Ok(tagged(&page(&items, position.as_deref(), found.looked_at), &call.head.headers))
}

/// The instant of a position.
fn instant_of(position: &str) -> Result<DateTime<Utc>, Failure> {
    let read = WrittenDate::parse(position).and_then(|date| date.instant(None));
    read.map_err(|_| invalid_position())
}

fn past(found: &PastOccurrence) -> Value {
    match found {
        PastOccurrence::LeftOut(left_out) => skipped(left_out),
        PastOccurrence::Attempted { occurrence, outcome, attempts } => {
            let asked_by = attempts.iter().find_map(|(attempt, _)| attempt.asked_by.as_deref());
            let records = || attempts.iter().filter_map(|(_, record)| record.as_ref());
            json!({
                "at": format_instant(occurrence.nominal_at()),
                "kind": wire::kind(occurrence),
                "redriveOf": occurrence.redrive_of().map(format_instant),
                "askedBy": asked_by,
                "outcome": outcome.name(),
                "startedAt": records().map(|record| record.started_at).min().map(format_instant),
                "endedAt": records().map(|record| record.ended_at).max().map(format_instant),
                "number": records().map(|record| record.repeat_count).min(),
                "attempts": attempts.iter().map(attempt).collect::<Vec<_>>(),
            })
        }
    }
}

fn attempt((attempt, record): &(Attempt, Option<Record>)) -> Value {
    let record = record.as_ref();
    let message =
        |record: &Record| record.message.chars().take(MESSAGE_CHARS_MAX).collect::<String>();
    json!({
        "action": wire::action(attempt.role),
        "retry": attempt.number,
        "dueAt": format_instant(attempt.due_at),
        "startedAt": record.map(|record| format_instant(record.started_at)),
        "endedAt": record.map(|record| format_instant(record.ended_at)),
        "outcome": record.map_or("underWay", |record| record.outcome.name()),
        "cause": record.and_then(|record| record.cause.as_ref()).map(Cause::to_json),
        "said": record.and_then(wire::said_of),
        "message": record.map(message),
    })
}

fn skipped(left_out: &LeftOut) -> Value {
    json!({
        "at": format_instant(left_out.first),
        "kind": "leftOut",
        "outcome": "skipped",
        "last": format_instant(left_out.last),
        "count": left_out.occurrences,
        "reason": left_out.reason.name(),
        "outage": left_out.reason.outage().map(|outage| json!({
            "from": format_instant(outage.from),
            "until": format_instant(outage.until),
        })),
    })
}

/// Lists the occurrences of a subscription that failed for good.
pub(crate) async fn failures(call: Call) -> Result<Answer, Failure> {
    let known = ["since", "collection", "job", "limit", "position"];
    let parameters = Parameters::of(&call, &known)?;
    let jobs = ahead::jobs(&call, &parameters)?;
    let job = parameters.text("job").map(Name::new).transpose()?;
    let now = call.rest.clock.now();
    let oldest = call.manage.history_since();
    let since = parameters.instant("since")?;
    let since = since.or_else(|| now.checked_sub_signed(FAILURES_SINCE)).unwrap_or(oldest);
    let wanted = WantedFailures {
        subscription: jobs.subscription,
        collection: jobs.collection,
        job,
        since: since.max(oldest),
        max: parameters.number("limit", 1..=FAILURES_MAX, FAILURES)?,
        from: parameters.position()?.as_deref().map(read_position).transpose()?,
    };
    let found = call.manage.list_failures(&wanted).await?;
    let items: Vec<Value> = found.items.iter().map(failed).collect();
    let position = found.next.map(|FailuresPosition { day, within }| {
        let within = within.unwrap_or_default();
        format!("{day}/{within}")
    });
    Ok(tagged(&page(&items, position.as_deref(), found.looked_at), &call.head.headers))
}

fn read_position(text: &str) -> Result<FailuresPosition, Failure> {
    let (day, within) = text.split_once('/').ok_or_else(invalid_position)?;
    let day: NaiveDate = day.parse().map_err(|_| invalid_position())?;
    Ok(FailuresPosition { day, within: (!within.is_empty()).then(|| within.to_owned()) })
}

fn failed(found: &FailedOccurrence) -> Value {
    let path = &found.collection_path;
    json!({
        "at": format_instant(found.nominal_at),
        "kind": if found.is_run { "run" } else { "scheduled" },
        "endedAt": format_instant(found.ended_at),
        "resourceGroup": path.group(),
        "collection": path.name(),
        "job": found.job,
        "uid": found.job_uid,
        "attempts": found.attempts,
        "target": found.target,
        "cause": found.cause.as_ref().map(Cause::to_json),
        "said": found.said,
        "message": found.message,
    })
}
