//! `GET J/why`: what became of an occurrence, in one word, in a sentence, and with what it rests on.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_app::Explanation;
use minutehand_domain::attempt::{Attempt, Outcome, Record, Role};
use minutehand_domain::firing::{Outage, Why};
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

use super::parameters::Parameters;
use super::tagged;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;

pub(crate) async fn why(call: Call) -> Result<Answer, Failure> {
    let at = Parameters::of(&call, &["at"])?.instant("at")?.ok_or_else(|| {
        Failure::invalid(
            "'at' is missing; send the instant of an occurrence, such as ?at=2027-01-02T09:00:00Z.",
        )
    })?;
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    let found = call.rest.manage.explain(&place, &collection, &name, at).await?;
    let document = json!({
        "at": format_instant(at),
        "verdict": found.why.name(),
        "sentence": sentence(found.why, at, &found),
        "near": {
            "before": found.before.map(format_instant),
            "after": found.after.map(format_instant),
        },
        "evidence": evidence(&found),
    });
    Ok(tagged(&document, &call.head.headers))
}

#[expect(clippy::too_many_lines, reason = "it is a table: a sentence for each answer")]
fn sentence(why: Why, at: DateTime<Utc>, found: &Explanation) -> String {
    let instant = format_instant;
    match why {
        Why::Fired { number: 0, .. } => "It fired on time.".to_owned(),
        Why::Fired { number, .. } => format!("It fired on time, with retry {number}."),
        Why::FiredLate { started_at, number } => {
            let retry = if number == 0 { String::new() } else { format!(", with retry {number}") };
            format!("It fired {} late{retry}.", span(started_at - at))
        }
        Why::Failed { ended_at, attempts, error_action } => {
            let error = match error_action {
                None => "",
                Some(Outcome::Succeeded) => " The error action was done.",
                Some(Outcome::Failed) => " The error action failed as well.",
            };
            let times = if attempts == 1 { "once".to_owned() } else { format!("{attempts} times") };
            format!("It fired and failed {times}, the last time at {}.{error}", instant(ended_at))
        }
        Why::Retrying { number, due_at } => {
            format!("It fired and failed; retry {number} is due at {}.", instant(due_at))
        }
        Why::UnderWay { number: 0 } => "Its attempt is under way.".to_owned(),
        Why::UnderWay { number } => format!("Its retry {number} is under way."),
        Why::Waiting => "It is due, and waits to be sent or for a worker.".to_owned(),
        Why::WaitsForPlace => {
            "It is due, and waits until the limits of its job collection let it start.".to_owned()
        }
        Why::NotYet => "It is not due yet.".to_owned(),
        Why::CollectionOff { until: None } => "The job collection is disabled.".to_owned(),
        Why::CollectionOff { until: Some(until) } => {
            format!("The job collection was disabled until {}.", instant(until))
        }
        Why::Overtaken { outage: Some(Outage { from, until }) } => format!(
            "It was left out: nothing worked from {} to {}, and by then the next occurrence was due.",
            instant(from),
            instant(until)
        ),
        Why::Overtaken { outage: None } => {
            "It was left out after an outage, because a later occurrence was due by then."
                .to_owned()
        }
        Why::TooLate { at } => format!(
            "It was left out{}, because it would have started later than the job's 'maxLateness' \
             allows.",
            at.map_or_else(String::new, |at| format!(" at {}", instant(at)))
        ),
        Why::Overlap { at } => format!(
            "It was left out{}, because another attempt of the job was running or waited, and the \
             job's 'overlap' is skip.",
            at.map_or_else(String::new, |at| format!(" at {}", instant(at)))
        ),
        Why::Lost => {
            "It was due, and nothing is known of it. This should not be: please report it, \
                      with the log of that time."
                .to_owned()
        }
        Why::NotCreated { at } => {
            format!("The job did not exist yet: it was created at {}.", instant(at))
        }
        Why::HistoryGone { history } => {
            format!("It is more than {history} days ago, and history is kept for {history} days.")
        }
        Why::TimingChanged { since } => format!(
            "The start, recurrence or state of the job has changed at {}; what it was before is not \
             known.",
            instant(since)
        ),
        Why::OtherTiming { until } => format!(
            "Until {} the job had another timing{}, which does not yield this instant.",
            instant(until),
            earlier_sentence(found)
        ),
        Why::Superseded { at } => {
            format!("It was due, and the job was changed at {} before it ran.", instant(at))
        }
        Why::JobOff { since, until: None } => {
            format!("The job is disabled since {}.", instant(since))
        }
        Why::JobOff { since, until: Some(until) } => {
            format!("The job was disabled from {} to {}.", instant(since), instant(until))
        }
        Why::JobFinished { at } => format!("The job had finished at {}.", instant(at)),
        Why::BeforeStart => match found.after {
            Some(first) => format!("The recurrence begins at {}.", instant(first)),
            None => "The recurrence begins later.".to_owned(),
        },
        Why::AfterEnd => "The recurrence has ended by its 'endTime'.".to_owned(),
        Why::CountUsed => "The occurrences of its 'count' are used up.".to_owned(),
        Why::NotScheduled => "The recurrence does not yield this instant.".to_owned(),
        Why::Excluded => "The job excludes this date, by 'exclude.dates'.".to_owned(),
    }
}

/// The schedule of then, in words.
fn earlier_sentence(found: &Explanation) -> String {
    let schedule = found.earlier.as_ref().and_then(|held| held.schedule.as_ref());
    schedule.map(|schedule| format!(" ('{}')", schedule.sentence())).unwrap_or_default()
}

/// What the answer rests on, the oldest first.
fn evidence(found: &Explanation) -> Vec<Value> {
    let line = |at: DateTime<Utc>, kind: &str, text: String| {
        (at, json!({"at": format_instant(at), "kind": kind, "text": text}))
    };
    let since = "the job has its state, start and recurrence since here".to_owned();
    let mut lines = vec![line(found.since, "timing", since)];
    lines.extend(found.earlier.as_ref().map(|held| {
        let text = match &held.schedule {
            Some(schedule) => format!("the job had another timing: {}", schedule.sentence()),
            None => "the job was disabled".to_owned(),
        };
        line(held.since, "timing", text)
    }));
    lines.extend(found.outages.iter().map(|outage| {
        let until = format_instant(outage.until);
        line(outage.from, "outage", format!("nothing worked until {until}"))
    }));
    lines.extend(found.attempts.iter().map(|(attempt, record)| {
        let (at, text) = attempt_line(attempt, record.as_ref());
        line(at, "attempt", text)
    }));
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(_, line)| line).collect()
}

fn attempt_line(attempt: &Attempt, record: Option<&Record>) -> (DateTime<Utc>, String) {
    let what = match (attempt.role, attempt.number) {
        (Role::Main, 0) => "the action".to_owned(),
        (Role::Main, number) => format!("retry {number}"),
        (Role::Error, 0) => "the error action".to_owned(),
        (Role::Error, number) => format!("retry {number} of the error action"),
        (Role::Notice, _) => "the notice of the failure".to_owned(),
    };
    match record {
        None => (attempt.due_at, format!("{what}: under way")),
        Some(record) => {
            let outcome = match record.outcome {
                Outcome::Succeeded => "done",
                Outcome::Failed => "failed",
            };
            (record.started_at, format!("{what}: {outcome}"))
        }
    }
}

/// A span for people, in its largest unit.
fn span(span: TimeDelta) -> String {
    let seconds = span.num_seconds();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
