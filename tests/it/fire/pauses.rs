//! Jobs that pause after failures, what follows those failures, and what a user does about them.

use minutehand_domain::document::Durations;
use minutehand_domain::refusal::Code;
use minutehand_ports::store::PageRequest;
use serde_json::{Value, json};

use super::target::Behaviour::{Fail, Kill, Succeed};
use super::world::{World, instant, named, place, status};
use minutehand_app::AppError;
use minutehand_store_dynamodb::MeteredCall;

const NOTICE: &str = "http://notice/";

fn never() -> Value {
    json!({"retryType": "None"})
}

/// An hourly job that pauses after so many failures.
fn hourly(after: u32) -> Value {
    json!({
        "startTime": "2027-03-01T10:00", "recurrence": {"frequency": "hour", "count": 20},
        "action": {"retryPolicy": never()}, "minutehand": {"pauseOnFailure": {"after": after}},
    })
}

async fn extensions(world: &World, name: &str) -> Value {
    world.view(name).await.properties(Durations::TimeSpan)["minutehand"].clone()
}

#[tokio::test]
async fn a_job_pauses_after_failures_in_a_row_and_is_resumed() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.redeliver = true;
    // The third one in a row, after a success in between.
    world.targets.next("http://j/", &[Fail, Fail, Succeed, Fail, Fail, Fail, Succeed]);
    world.put("j", hourly(3)).await;
    world.run_until("2027-03-01T14:30").await;
    assert_eq!(world.status("j").await, status("enabled").executions(5).failures(4).faulted(4));
    assert_eq!(extensions(&world, "j").await, json!({"pauseOnFailure": {"after": 3}}));
    world.run_until("2027-03-01T20:30").await;
    assert_eq!(world.status("j").await, status("disabled").executions(6).failures(5).faulted(5));
    let paused = extensions(&world, "j").await["paused"].take();
    assert_eq!(
        paused["reason"],
        "3 occurrences in a row failed for good, up to that at 2027-03-01T15:00:00Z."
    );
    assert!(paused["at"].as_str().unwrap().starts_with("2027-03-01T15:00:00"), "{paused}");
    assert_eq!(world.noted.happened().paused, ["j"]);
    // A change of something else leaves it paused.
    world.patch("j", json!({"action": {"request": {"method": "POST"}}})).await;
    assert_eq!(extensions(&world, "j").await["paused"], paused);
    // Entries of one instant differ by their requests, which there are none of here.
    world.set_clock("2027-03-01T20:31");
    let (place, jc, j) = (place(), named("jc"), named("j"));
    let view = world.manage.resume_job((&place, &jc, &j)).await.unwrap();
    assert_eq!(view.properties(Durations::TimeSpan)["minutehand"].get("paused"), None);
    // Again is the same.
    world.manage.resume_job((&place, &jc, &j)).await.unwrap();
    let page = PageRequest { from: None, items_max: 10 };
    let journal = world.manage.list_journal(&place, &jc, page).await.unwrap().items;
    let told = journal.iter().map(|entry| (entry.operation.name(), entry.who.as_str()));
    assert_eq!(
        told.take(3).collect::<Vec<_>>(),
        [("resumed", "nobody"), ("changed", "nobody"), ("paused", "scheduler")]
    );
    let patches = journal[2].difference.patches.as_ref().unwrap();
    assert_eq!(patches.there["minutehand"]["paused"], paused);
    assert_eq!(patches.back["state"], "enabled");
    world.run_until("2027-03-01T21:30").await;
    assert_eq!(world.calls("http://j/").last().map(String::as_str), Some("01 21:00"));
    assert_eq!(world.status("j").await, status("enabled").executions(7).failures(5).faulted(5));
    // The six before the pause and this one are of the count.
    world.run_until("2027-03-02T11:30").await;
    assert_eq!(world.status("j").await.state, "completed");
    assert_eq!(world.calls("http://j/").len(), 20);
}

#[tokio::test]
async fn what_failed_before_the_job_was_enabled_does_not_count() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.always("http://j/", Fail);
    world.put("j", hourly(2)).await;
    world.run_until("2027-03-01T11:30").await;
    assert_eq!(world.status("j").await.state, "disabled");
    world.enable("j").await;
    world.run_until("2027-03-01T12:30").await;
    assert_eq!(world.status("j").await.state, "enabled");
    world.run_until("2027-03-01T15:30").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 11:00", "01 12:00", "01 13:00"]);
    assert_eq!(world.status("j").await, status("disabled").executions(4).failures(4).faulted(4));
}

#[tokio::test]
async fn the_failure_after_which_a_job_pauses_has_its_error_action_and_its_notice() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.redeliver = true;
    let request = json!({"method": "POST", "uri": NOTICE});
    let action = json!({"type": "Http", "request": request, "retryPolicy": never()});
    world.patch_collection(json!({"minutehand": {"onFailure": action}})).await;
    world.targets.always("http://j/", Fail);
    world.targets.next("http://err/", &[Fail]);
    let retry = json!({"retryType": "Fixed", "retryInterval": "PT5M", "retryCount": 1});
    let error = json!({"type": "Http", "request": {"uri": "http://err/", "method": "GET"}, "retryPolicy": retry});
    let mut job = hourly(1);
    job["action"]["errorAction"] = error;
    world.put("j", job).await;
    world.run_until("2027-03-01T13:00").await;
    assert_eq!(
        world.history("j").await,
        [
            "01 10:00 #1.0 failed",
            "01 10:00 error action #1.0 failed",
            "01 10:05 error action #1.1",
            "01 10:00 notice #1.0",
        ]
    );
    let calls = world.targets.calls();
    let notice = calls.iter().find(|call| call.uri == NOTICE).unwrap();
    let event: Value = serde_json::from_str(notice.request.body.as_deref().unwrap()).unwrap();
    assert_eq!(
        event["data"]["paused"]["reason"],
        "The occurrence at 2027-03-01T10:00:00Z failed for good."
    );
    assert_eq!(event["data"].get("nextOccurrence"), None);
}

#[tokio::test]
async fn a_crash_between_the_pause_and_what_follows_loses_neither() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.always("http://j/", Fail);
    let error = json!({"type": "Http", "request": {"uri": "http://err/", "method": "GET"}});
    let mut job = hourly(1);
    job["action"]["errorAction"] = error;
    world.put("j", job).await;
    world.targets.next("http://j/", &[Kill]);
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(world.status("j").await.state, "disabled");
    assert_eq!(world.calls("http://err/").len(), 1);
}

#[tokio::test]
async fn a_last_occurrence_ends_the_job_and_does_not_pause_it() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.always("http://j/", Fail);
    let mut job = hourly(3);
    job["recurrence"]["count"] = json!(3);
    world.put("j", job).await;
    world.run_until("2027-03-01T14:00").await;
    assert_eq!(world.status("j").await, status("faulted").executions(3).failures(3).faulted(3));
}

#[tokio::test]
async fn a_run_neither_pauses_a_job_nor_ends_a_row() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.next("http://j/", &[Fail, Fail, Fail, Succeed, Fail]);
    world.put("j", hourly(2)).await;
    world.call_run("j").await;
    world.call_run("j").await;
    world.run_until("2027-03-01T10:30").await;
    assert_eq!(world.status("j").await.state, "enabled");
    world.call_run("j").await;
    world.run_until("2027-03-01T11:30").await;
    assert_eq!(world.status("j").await.state, "disabled");
}

#[tokio::test]
async fn success_costs_a_job_that_may_pause_nothing() {
    let mut units = Vec::new();
    for extensions in [json!(null), json!({"pauseOnFailure": {"after": 5}})] {
        let mut world = World::on_table("2027-03-01T09:00", json!({})).await;
        let mut job = hourly(5);
        job["minutehand"] = extensions;
        world.put("j", job).await;
        drop(world.table().meter.take());
        world.run_until("2027-03-01T18:30").await;
        let used = world.table().meter.take();
        assert!(
            !used.contains_key(&MeteredCall::History) && !used.contains_key(&MeteredCall::Pause)
        );
        units.push(used);
    }
    assert_eq!(units[0], units[1]);
}

#[tokio::test]
async fn only_a_paused_job_is_resumed() {
    let world = World::at("2027-03-01T09:00").await;
    world.put("j", hourly(2)).await;
    world.disable("j").await;
    let refused = world.manage.resume_job((&place(), &named("jc"), &named("j"))).await;
    let Err(AppError::Refused(refusal)) = refused else { panic!("{refused:?}") };
    assert_eq!(refusal.code, Code::JobNotPaused);
    assert_eq!(
        refusal.message,
        "The job 'j' is disabled, but was not paused by the scheduler. Only a job that pauses after \
         failures is resumed; to enable a disabled job, set its 'state' to 'enabled'."
    );
}

#[tokio::test]
async fn a_failed_occurrence_is_repeated_by_a_run_that_says_so() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.redeliver = true;
    world.targets.next("http://j/", &[Fail, Fail]);
    world.put("j", hourly(5)).await;
    world.run_until("2027-03-01T11:30").await;
    let (place, jc, j) = (place(), named("jc"), named("j"));
    let redrive = |at: &str| world.manage.redrive_occurrence((&place, &jc, &j), instant(at));
    let sent = redrive("2027-03-01T10:00").await.unwrap();
    assert_eq!(sent.redrive_of, instant("2027-03-01T10:00"));
    for (at, says) in [
        ("2027-03-01T09:30", "has no attempt at 2027-03-01T09:30:00Z"),
        ("2027-03-01T12:00", "has no attempt at"),
    ] {
        let refused = redrive(at).await;
        let Err(AppError::Refused(refusal)) = refused else { panic!("{refused:?}") };
        assert_eq!(refusal.code, Code::OccurrenceNotFailed);
        assert!(refusal.message.contains(says), "{}", refusal.message);
    }
    world.run_until("2027-03-01T12:30").await;
    let found = world.executions("j").await;
    let repeated: Vec<_> =
        found.iter().filter_map(|it| it.attempt.occurrence.redrive_of()).collect();
    assert_eq!(repeated, [instant("2027-03-01T10:00")]);
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 11:00", "01 11:30", "01 12:00"]);
    // It moves nothing, and counts as a run does.
    assert_eq!(world.status("j").await, status("enabled").executions(4).failures(2).faulted(2));
    let refused =
        world.manage.redrive_occurrence((&place, &jc, &j), instant("2027-03-01T12:00")).await;
    let Err(AppError::Refused(refusal)) = refused else { panic!("{refused:?}") };
    assert!(refusal.message.contains("succeeded. To run the job once more, use 'run'."));
}
