//! `GET J/why`: what became of an occurrence, in one word, in a sentence, and with what it rests on.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_app::{Explanation, JobDescription};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Role};
use minutehand_domain::cause::{Cause, CauseKind};
use minutehand_domain::firing::{LATE, Outage, Waited, Why};
use minutehand_domain::message::explained;
use minutehand_domain::pause::Paused;
use minutehand_domain::preview::hours_and_minutes;
use minutehand_domain::schedule::Schedule;
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

use super::job::reason;
use super::parameters::Parameters;
use super::tagged;
use super::why_ping;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::wire::said_of;

pub(crate) async fn why(call: Call) -> Result<Answer, Failure> {
    let at = Parameters::of(&call, &["at"])?.instant("at")?;
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    let manage = &call.manage;
    let of = (&place, &collection, &name);
    let document = match at {
        Some(at) => {
            let found = manage.explain(of, at).await?;
            answer(&found, &sentence(&found))
        }
        None => match manage.explain_newest_trouble(of).await? {
            (job, None) => without_trouble(&job),
            (job, Some(found)) => {
                let (at, now) = (time(&found, found.at), now_of(&job, &found));
                answer(&found, &format!("{at}: {} {now}", sentence(&found)))
            }
        },
    };
    Ok(tagged(&document, &call.head.headers))
}

/// The answer about an occurrence or a run.
fn answer(found: &Explanation, sentence: &str) -> Value {
    let (run, last) = (run(found), last_failure(found));
    json!({
        "at": format_instant(found.at),
        "kind": if run.is_some() { "run" } else { "scheduled" },
        "redriveOf": run.and_then(Occurrence::redrive_of).map(format_instant),
        "askedBy": asked_by(found),
        "verdict": found.why.name(),
        "sentence": sentence,
        "cause": last.and_then(|record| record.cause.as_ref()).map(Cause::to_json),
        "said": last.and_then(said_of),
        "near": {
            "before": found.before.map(format_instant),
            "after": found.after.map(format_instant),
        },
        "evidence": evidence(found),
    })
}

/// The answer about a job of whose last occurrences none went wrong.
fn without_trouble(job: &JobDescription) -> Value {
    let sentence = match (job.not_firing.first(), job.next_at) {
        (Some(why), _) => format!("Nothing has gone wrong of late. {}", reason(job, *why)),
        (None, Some(next)) => {
            let next = time_in(job.schedule.as_ref(), next);
            format!("Nothing has gone wrong of late. It fires next at {next}.")
        }
        (None, None) => "Nothing has gone wrong of late.".to_owned(),
    };
    json!({
        "at": null,
        "kind": null,
        "redriveOf": null,
        "askedBy": null,
        "verdict": if job.not_firing.is_empty() { "well" } else { "notFiring" },
        "sentence": sentence,
        "cause": null,
        "said": null,
        "near": {"before": null, "after": job.next_at.map(format_instant)},
        "evidence": [],
    })
}

/// What the scheduler adds to the few words of a cause that leaves something open.
fn own_words(record: &Record) -> Option<&str> {
    record.cause.as_ref().filter(|cause| cause.kind.leaves_open())?;
    explained(&record.message)
}

/// What holds now, after the explanation of something in the past.
fn now_of(job: &JobDescription, found: &Explanation) -> String {
    // A ping may have come before its instant: what it paid comes no more.
    let next_at = job.next_at.filter(|next| *next != found.at);
    let next_at = next_at.or(job.next_at.and(found.after));
    match (&found.paused, job.not_firing.first(), next_at) {
        (Some(paused), ..) => {
            format!(
                "The scheduler has paused the job since {}: {}",
                time(found, paused.at),
                paused.reason
            )
        }
        (None, Some(why), _) => reason(job, *why),
        (None, None, Some(next)) => format!("It fires next at {}.", time(found, next)),
        (None, None, None) => String::new(),
    }
}

/// An instant by the clock of the zone of a schedule, in whole seconds.
fn time_in(schedule: Option<&Schedule>, at: DateTime<Utc>) -> String {
    let Some(schedule) = schedule else { return format_instant(at) };
    let (local, offset) = schedule.timetable.local(at);
    let zone = if offset.is_zero() { "UTC".to_owned() } else { hours_and_minutes(offset) };
    format!("{} {zone}", local.format("%Y-%m-%d %H:%M:%S"))
}

/// An instant for people: in the zone of the job, in whole seconds.
fn time(found: &Explanation, at: DateTime<Utc>) -> String {
    time_in(Some(&found.schedule), at)
}

/// The run that is explained, if it is one.
fn run(found: &Explanation) -> Option<&Occurrence> {
    let (attempt, _) = found.attempts.first()?;
    let is_run = |(attempt, _): &(Attempt, _)| matches!(attempt.occurrence, Occurrence::Run { .. });
    found.attempts.iter().all(is_run).then_some(&attempt.occurrence)
}

/// The caller who asked for the run that is explained, if that is known.
fn asked_by(found: &Explanation) -> Option<&str> {
    run(found)?;
    found.attempts.iter().find_map(|(attempt, _)| attempt.asked_by.as_deref())
}

/// The record of the last attempt with a role, if it has ended.
fn last_of(found: &Explanation, role: Role) -> Option<&Record> {
    let of_role = found.attempts.iter().filter(|(attempt, _)| attempt.role == role);
    let last = of_role.max_by_key(|(attempt, _)| (attempt.generation, attempt.number));
    last.and_then(|(_, record)| record.as_ref())
}

/// The record of the last attempt at the action that failed.
fn last_failure(found: &Explanation) -> Option<&Record> {
    let records = found.attempts.iter().filter(|(attempt, _)| attempt.role == Role::Main);
    let failed = records
        .filter_map(|(_, record)| record.as_ref())
        .filter(|record| record.outcome == Outcome::Failed);
    failed.max_by_key(|record| record.ended_at)
}

/// What failed, and what followed.
fn failure(found: &Explanation) -> String {
    let Some(record) = last_failure(found) else { return String::new() };
    let took = after(record);
    let cause = record.cause.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
    let more = match said_of(record) {
        Some(said) => format!(" (\u{201c}{said}\u{201d})"),
        None => own_words(record).map_or_else(String::new, |known| format!(" ({known})")),
    };
    format!("{cause}{more}{took}")
}

/// How the error action and the notice ended.
fn followed(found: &Explanation) -> String {
    let said = |(role, what): (Role, &str)| {
        let Record { outcome, cause, .. } = last_of(found, role)?;
        let cause = cause.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
        Some(match outcome {
            Outcome::Succeeded => format!(" {what} was done."),
            Outcome::Failed => format!(" {what} failed{cause}."),
        })
    };
    [(Role::Error, "The error action"), (Role::Notice, "The alert")]
        .into_iter()
        .filter_map(said)
        .collect()
}

/// How late it started, and why, as far as that is known.
fn lateness(found: &Explanation, started_at: DateTime<Utc>) -> String {
    let late = span(started_at - found.at);
    let first = found.attempts.iter().find(|(attempt, _)| attempt.is_first());
    let waited = first.and_then(|(attempt, _)| attempt.waited);
    let why = match (found.outages.first(), waited) {
        (Some(Outage { from, until }), _) => format!(
            ", because nothing worked from {} to {}",
            time(found, *from),
            time(found, *until)
        ),
        (None, Some(Waited::Slot(_) | Waited::Seat)) => {
            ", because the limits of its job collection held it up".to_owned()
        }
        (None, Some(Waited::Place)) => ", because its origin did not answer".to_owned(),
        (None, None | Some(Waited::Completion)) if started_at - found.at > LATE => {
            ", because it waited to be sent or for a worker".to_owned()
        }
        (None, None | Some(Waited::Completion)) => String::new(),
    };
    format!("{late} late{why}")
}

/// That the first attempt started late, if it did.
fn first_was_late(found: &Explanation) -> String {
    let mut attempts = found.attempts.iter();
    let first = attempts.find(|(attempt, _)| attempt.is_first());
    let started_at = first.and_then(|(_, record)| record.as_ref()).map(|it| it.started_at);
    let late = started_at.filter(|started_at| *started_at - found.at > LATE);
    late.map_or_else(String::new, |started_at| format!(" {}", lateness(found, started_at)))
}

/// The whole explanation.
fn sentence(found: &Explanation) -> String {
    let what = match run(found).map(Occurrence::redrive_of) {
        None => return of_ping(found).unwrap_or_else(|| verdict(found)),
        Some(None) => format!("{} asked for this run.", asked_by(found).unwrap_or("A user")),
        Some(Some(of)) => {
            let by = asked_by(found).map_or_else(String::new, |by| format!(", as {by} asked"));
            format!("This run repeats the occurrence at {}{by}.", time(found, of))
        }
    };
    format!("{what} {}", verdict(found))
}

/// What the verdict is of an occurrence that owes a ping.
fn of_ping(found: &Explanation) -> Option<String> {
    let what = why_ping::of_ping(found, last_of(found, Role::Main), |at| time(found, at))?;
    Some(format!("{what}{}", followed(found)))
}

#[expect(clippy::too_many_lines, reason = "it is a table: a sentence for each answer")]
fn verdict(found: &Explanation) -> String {
    let instant = |at| time(found, at);
    match found.why {
        Why::Fired { number: 0, .. } => "It fired on time.".to_owned(),
        Why::FiredLate { started_at, number: 0 } => {
            format!("It fired {}.", lateness(found, started_at))
        }
        Why::Fired { number, .. } | Why::FiredLate { number, .. } => {
            format!("It succeeded with retry {number}; before, it failed{}.", failure(found))
        }
        Why::Failed { attempts: 1, .. } => format!(
            "It fired{} and failed{}.{}",
            first_was_late(found),
            failure(found),
            followed(found)
        ),
        Why::Failed { ended_at, attempts, .. } => format!(
            "It fired{} and failed {attempts} times{}. The last attempt ended at {}.{}",
            first_was_late(found),
            failure(found),
            instant(ended_at),
            followed(found)
        ),
        Why::Retrying { number, due_at } => {
            format!("It failed{}. Retry {number} is due at {}.", failure(found), instant(due_at))
        }
        Why::UnderWay { number: 0 } => "Its attempt is under way.".to_owned(),
        Why::UnderWay { number } => format!("Its retry {number} is under way."),
        Why::Waiting => "It is due, and waits to be sent or for a worker.".to_owned(),
        Why::WaitsForLimit => {
            "It is due, and waits until the limits of its job collection let it start.".to_owned()
        }
        Why::WaitsForPlace => {
            "It is due, and waits: the origin hangs. Its calls have no answer, so only two \
            are under way at a time until one is answered."
                .to_owned()
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
        Why::NotWatched => "It was left out, because no process could take its ping.".to_owned(),
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
        Why::JobOff { since, until: None } => match &found.paused {
            Some(Paused { at, reason }) => {
                format!("The scheduler had paused the job at {}: {reason}", instant(*at))
            }
            None => format!("The job is disabled since {}.", instant(since)),
        },
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

/// What the answer rests on, the oldest first.
fn evidence(found: &Explanation) -> Vec<Value> {
    let line = |at: DateTime<Utc>, kind: &str, text: String| {
        (at, json!({"at": format_instant(at), "kind": kind, "text": text}))
    };
    let since = "the job got the state and the timing that it has".to_owned();
    let mut lines = vec![line(found.since, "timing", since)];
    lines.extend(found.earlier.as_ref().map(|held| {
        let text = match &held.schedule {
            Some(schedule) => format!("the job had another timing: {}", schedule.sentence()),
            None => "the job was disabled".to_owned(),
        };
        line(held.since, "timing", text)
    }));
    lines.extend(found.outages.iter().map(|outage| {
        let until = time(found, outage.until);
        line(outage.from, "outage", format!("nothing worked until {until}"))
    }));
    lines.extend(found.attempts.iter().map(|(attempt, record)| {
        let (at, text) = attempt_line(attempt, record.as_ref());
        line(at, "attempt", text)
    }));
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(_, line)| line).collect()
}

/// The schedule of then, in words.
fn earlier_sentence(found: &Explanation) -> String {
    let schedule = found.earlier.as_ref().and_then(|held| held.schedule.as_ref());
    schedule.map(|schedule| format!(" ('{}')", schedule.sentence())).unwrap_or_default()
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
            let took = after(record);
            let outcome = match (record.outcome, &record.cause) {
                (Outcome::Succeeded, _) => "done".to_owned(),
                (Outcome::Failed, None) => "failed".to_owned(),
                (Outcome::Failed, Some(cause)) => format!("failed: {cause}"),
            };
            (record.started_at, format!("{what}: {outcome}{took}"))
        }
    }
}

/// After how long an attempt ended, at the end of a sentence. The cause of a timeout says it already.
fn after(record: &Record) -> String {
    if record.cause.as_ref().is_some_and(|cause| cause.kind == CauseKind::Timeout) {
        return String::new();
    }
    format!(", after {}", span(record.ended_at - record.started_at))
}

/// A span for people, in its largest unit.
fn span(span: TimeDelta) -> String {
    let seconds = span.num_seconds();
    match seconds {
        ..1 => format!("{} ms", span.num_milliseconds()),
        1..10 => format!("{:.1} s", span.as_seconds_f64()),
        10..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
