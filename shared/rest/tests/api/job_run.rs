//! `Jobs_Run`.

use domain::attempt::{Attempt, Occurrence};
use domain::job::JobState;
use domain::work_item::WorkItem;
use ports::QueueMessage;

use crate::support::{Api, NO_COLLECTION};

#[test]
fn a_job_is_run_and_nothing_is_answered() {
    let api = Api::with_job();
    api.world.sent.lock().unwrap().clear();
    api.ask("POST", "/C1/jobs/J1/run", "").is(200, "");
    let sent = api.world.sent.lock().unwrap();
    let [QueueMessage { work_item: WorkItem::Execute { attempts, .. }, .. }] = &sent[..] else {
        panic!("not one execution: {sent:?}");
    };
    assert!(matches!(attempts[..], [Attempt { occurrence: Occurrence::Run { .. }, .. }]));
}

#[test]
fn what_is_switched_off_or_over_does_not_run() {
    let api = Api::with_job();
    api.world.change_job("J1", |job| job.timer.state = JobState::Faulted);
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
fn what_is_not_there_does_not_run() {
    let api = Api::with_collection();
    let answer = api.ask("POST", "/C1/jobs/nope/run", "");
    answer.fails(404, "NotFound", "Job 'nope' cannot be found.");
    let answer = api.ask("POST", "/nope/jobs/J1/run", "");
    answer.fails(404, "ResourceNotFound", NO_COLLECTION);
}
