//! `Jobs_Run`.

use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::job::JobState;
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::QueueMessage;

use crate::support::{Api, GROUP, NO_PARENT, VERSION};

#[test]
fn running_a_job_sends_one_attempt_and_answers_without_a_body() {
    let api = Api::with_job();
    api.queue.0.lock().unwrap().clear();
    api.ask("POST", "/C1/jobs/J1/run", "").is(200, "");
    let sent = api.queue.0.lock().unwrap();
    let [QueueMessage { work_item: WorkItem::Attempt { attempt, .. }, .. }] = &sent[..] else {
        panic!("not one execution: {sent:?}");
    };
    assert!(matches!(attempt, Attempt { occurrence: Occurrence::Run { .. }, .. }));
}

#[test]
fn a_finished_job_runs_and_a_job_of_a_disabled_collection_does_not() {
    let api = Api::with_job();
    api.finish(JobState::Faulted);
    api.ask("POST", "/C1/jobs/J1/run", "").is(200, "");
    api.ask("POST", "/C1/disable", "");
    api.ask("POST", "/C1/jobs/J1/run", "").fails(
        409,
        "JobCollectionDisabled",
        "The job collection 'C1' is disabled. Enable it first.",
    );
}

/// Asks for a run with a header.
fn run_with(api: &Api, header: (&str, &str)) -> crate::support::Answer {
    api.send("POST", &format!("{GROUP}/C1/jobs/J1/run?{VERSION}"), &[header], "")
}

#[test]
fn a_run_with_a_key_is_one_attempt_however_often_it_is_asked_for() {
    let api = Api::with_job();
    api.queue.0.lock().unwrap().clear();
    for key in ["a", "a", "b"] {
        run_with(&api, ("Idempotency-Key", key)).is(200, "");
    }
    let sent = api.queue.0.lock().unwrap();
    let ids = sent.iter().map(|message| match &message.work_item {
        WorkItem::Attempt { attempt, .. } => attempt.id().to_string(),
        other => panic!("{other:?}"),
    });
    let ids: Vec<String> = ids.collect();
    assert_eq!(ids.len(), 3);
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[1], ids[2]);
}

#[test]
fn wrong_headers_of_a_run_are_refused() {
    let api = Api::with_job();
    let answer = run_with(&api, ("Idempotency-Key", ""));
    answer.fails(
        400,
        "BadRequest",
        "The header 'idempotency-key' must have 1 to 255 printable ASCII characters. Send a new UUID for \
         each run that you want.",
    );
    run_with(&api, ("x-minutehand-depth", "8")).is(200, "");
    let answer = run_with(&api, ("x-minutehand-depth", "9"));
    answer.fails(
        409,
        "ChainTooDeep",
        "This request is number 9 in a chain of jobs that ask for each other, and a chain ends after 8. If \
         the jobs are meant to go on, let one of them recur.",
    );
    let answer = run_with(&api, ("x-minutehand-depth", "deep"));
    answer.fails(
        400,
        "BadRequest",
        "The header 'x-minutehand-depth' is not a whole number. Pass on what the scheduler sent, or leave the \
         header out.",
    );
}

#[test]
fn a_missing_job_or_collection_is_not_found() {
    let api = Api::with_collection();
    let answer = api.ask("POST", "/C1/jobs/nope/run", "");
    answer.fails(404, "NotFound", "Job 'nope' cannot be found.");
    let answer = api.ask("POST", "/nope/jobs/J1/run", "");
    answer.fails(404, "ResourceNotFound", NO_PARENT);
}
