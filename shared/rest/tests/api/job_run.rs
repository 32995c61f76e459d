//! `Jobs_Run`.

use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::job::JobState;
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::QueueMessage;

use crate::support::{Api, NO_PARENT};

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
fn a_finished_job_and_a_job_of_a_disabled_collection_do_not_run() {
    let api = Api::with_job();
    api.finish(JobState::Faulted);
    api.ask("POST", "/C1/jobs/J1/run", "").fails(
        409,
        "JobFinished",
        "The job 'J1' is faulted and cannot change. Delete it and create it again.",
    );
    api.ask("POST", "/C1/disable", "");
    api.ask("POST", "/C1/jobs/J1/run", "").fails(
        409,
        "JobCollectionDisabled",
        "The job collection 'C1' is disabled. Enable it first.",
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
