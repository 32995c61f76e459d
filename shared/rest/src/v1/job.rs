//! `GET J`: a job with everything that is known of it without its history.

use chrono::{DateTime, SubsecRound as _, Utc};
use minutehand_app::{JobDescription, Present, PresentState};
use minutehand_domain::document::Durations;
use minutehand_domain::extensions::EXTENSIONS;
use minutehand_domain::firing::NotFiring;
use minutehand_domain::recent::LastSkip;
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

use super::parameters::Parameters;
use super::tagged;
use crate::answer::Answer;
use crate::call::Call;
use crate::durations::Position;
use crate::failure::Failure;
use crate::wire;

/// Describes a job: its document, when it fires, and why it does not.
pub(crate) async fn get_job(call: Call) -> Result<Answer, Failure> {
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    Parameters::of(&call, &[])?;
    let job = call.manage.describe_job((&place, &collection, &name)).await?;
    let durations = call.client().durations(Position::Alone);
    Ok(tagged(&job_document(&job, durations), &call.head.headers))
}

fn job_document(job: &JobDescription, durations: Durations) -> Value {
    let view = &job.view;
    let instant = |at: Option<DateTime<Utc>>| at.map(format_instant);
    let counters = &job.counters;
    let mut document = json!({
        "path": wire::job_path(view),
        "id": wire::job_id(view),
        "uid": job.uid,
        "state": view.state.name(),
        "since": format_instant(job.since),
        "collection": {
            "name": view.collection.as_str(),
            "state": job.collection_state.name(),
            "since": instant(job.collection_since),
        },
        "sentence": job.sentence,
        "anchor": instant(job.anchor),
        "next": instant(job.next_at),
        "notFiring": job.not_firing.iter().map(|why| reason_of(job, *why)).collect::<Vec<_>>(),
        "last": instant(counters.last_execution_at),
        "executions": counters.executions,
        "failures": counters.failures,
        "faulted": counters.faulted,
        "skipped": counters.skipped,
        "recent": counters.results().letters(),
        "lastSkip": counters.last_skip.map(last_skip),
        "tookMs": counters.latest().took_ms(),
        "present": job.present.iter().map(present).collect::<Vec<_>>(),
    });
    if let Some(document) = document.as_object_mut() {
        // Moved: the macro would copy them.
        document.insert("properties".to_owned(), view.properties(durations).into());
        let start = job
            .next_starts_at
            .map(|start| ("nextStartsAt".to_owned(), format_instant(start).into()));
        document.extend(start);
    }
    document
}

/// An attempt that runs or waits.
fn present(Present { attempt, state }: &Present) -> Value {
    let (name, since, open, waits_for) = match state {
        PresentState::Running { since, open } => ("running", *since, open.as_ref(), None),
        PresentState::Waiting(what) => ("waiting", attempt.due_at, None, Some(what.name())),
    };
    json!({
        "at": format_instant(attempt.occurrence.nominal_at()),
        "kind": wire::kind(&attempt.occurrence),
        "action": wire::action(attempt.role),
        "retry": attempt.number,
        "dueAt": format_instant(attempt.due_at),
        "state": name,
        "since": format_instant(since),
        "waitsFor": waits_for,
        "openUntil": open.map(|it| format_instant(it.until)),
        "progress": open.and_then(|it| it.progress.as_deref()),
    })
}

fn last_skip(skip: LastSkip) -> Value {
    json!({
        "from": format_instant(skip.first),
        "to": format_instant(skip.last),
        "occurrences": skip.occurrences,
        "reason": skip.reason.name(),
    })
}

/// A reason for which a job does not fire: a name for programs, and what to do for people.
fn reason_of(job: &JobDescription, why: NotFiring) -> Value {
    json!({"reason": why.name(), "message": reason(job, why)})
}

/// Why a job does not fire, and what to do about it.
pub(super) fn reason(job: &JobDescription, why: NotFiring) -> String {
    let second = |at: DateTime<Utc>| format_instant(at.trunc_subsecs(0));
    let since = second(job.since);
    match why {
        NotFiring::CollectionOff => {
            let (name, state) = (&job.view.collection, job.collection_state.name().to_lowercase());
            let since = job
                .collection_since
                .map_or_else(String::new, |since| format!(" since {}", second(since)));
            format!("The job collection '{name}' is {state}{since}. Enable it.")
        }
        NotFiring::JobDisabled => match paused(job) {
            Some(paused) => format!("The job is paused since {since}. {paused} Resume it."),
            None => format!("The job is disabled since {since}. Set its 'state' to 'enabled'."),
        },
        NotFiring::JobFinished => {
            let state = job.view.state.name();
            format!("The job is {state} since {since}. Delete it and create it again.")
        }
        NotFiring::NothingLeft => {
            "No occurrence is left. The job finishes when its last attempt has \
                                   ended, within 20 minutes."
                .to_owned()
        }
        NotFiring::JobUnreadable => {
            "A newer version wrote the job, and this one cannot read it. Use \
                                     the newer version, or create the job again."
                .to_owned()
        }
    }
}

/// Why the scheduler has paused the job, if it has.
fn paused(job: &JobDescription) -> Option<String> {
    let extensions = job.view.properties(Durations::TimeSpan).remove(EXTENSIONS)?;
    Some(extensions.pointer("/paused/reason")?.as_str()?.to_owned())
}
