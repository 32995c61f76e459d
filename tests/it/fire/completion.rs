//! Targets that answer 202 and report the end later: what an open attempt holds, and what ends it.

use chrono::TimeDelta;
use minutehand_app::{AppError, Report, Reported};
use minutehand_domain::cause::Cause;
use minutehand_domain::refusal::Code;
use serde_json::{Value, json};

use super::target::Behaviour::{Accept, Fail};
use super::world::{World, instant, named, place, status};

/// A job whose target may take two hours, with these properties beside it.
fn job(mut properties: Value) -> Value {
    properties["minutehand"]["completion"] = json!({"within": "PT2H"});
    properties
}

fn hourly() -> Value {
    job(json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "hour"}}))
}

fn retrying(mut properties: Value) -> Value {
    properties["action"]["retryPolicy"] =
        json!({"retryType": "fixed", "retryInterval": "PT5M", "retryCount": 1});
    properties
}

impl World {
    /// What the target of a call reports.
    async fn report(&self, call: usize, report: Report, text: &str) -> Reported {
        let url = self.targets.calls()[call].context.completion_url.clone().unwrap();
        let key = url.strip_prefix("https://jobs.example.org/ping/").unwrap();
        self.manage.report(key, report, text).await.unwrap()
    }

    async fn cancel(&self, name: &str, at: &str) -> Result<(), AppError> {
        self.manage.cancel_occurrence((&place(), &named("jc"), &named(name)), instant(at)).await
    }

    async fn causes(&self, name: &str) -> Vec<String> {
        let executions = self.executions(name).await;
        let causes = executions.iter().rev().filter_map(|it| it.record.cause.as_ref());
        causes.map(Cause::to_string).collect()
    }
}

#[tokio::test]
async fn an_attempt_is_open_until_its_target_reports() {
    let mut world = World::local("2027-03-01T09:59").await;
    world.targets.always("http://j/", Accept);
    world.put("j", hourly()).await;
    world.run_until("2027-03-01T10:30").await;
    assert_eq!(world.history("j").await, [""; 0]);
    assert_eq!(world.report(0, Report::Alive, "50 %").await, Reported::Kept);
    // Neither restarts nor leases that end matter.
    for until in ["2027-03-01T10:40", "2027-03-01T10:50"] {
        world = world.restart().await;
        world.run_until(until).await;
    }
    assert_eq!(world.report(0, Report::Success, "7 rows").await, Reported::Kept);
    world.run_until("2027-03-01T10:51").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0"]);
    let view = world.executions("j").await.remove(0);
    let took = view.record.ended_at - view.record.started_at;
    assert_eq!(took.num_minutes(), 50);
    assert!(view.record.message.ends_with("Success was reported. Body: 7 rows"));
    assert_eq!(world.calls("http://j/"), ["01 10:00"]);
    // The same once more is answered alike, and anything else is not kept.
    assert_eq!(world.report(0, Report::Success, "").await, Reported::Kept);
    assert_eq!(world.report(0, Report::Failure, "").await, Reported::Over);
    assert_eq!(world.report(0, Report::Alive, "").await, Reported::Over);
    let unknown = world.manage.report("a.b", Report::Success, "").await.unwrap();
    assert_eq!(unknown, Reported::Unknown);
    world.run_until("2027-03-01T10:59").await;
    assert_eq!(world.status("j").await, status("enabled").executions(1));
    // The next occurrence waits, and nothing else.
    assert_eq!((world.queued(), world.dead.len()), (1, 0));
}

#[tokio::test]
async fn silence_is_a_failure_that_is_retried() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.targets.always("http://j/", Accept);
    let once = job(retrying(json!({"startTime": "2027-03-01T10:00"})));
    world.put("j", once).await;
    world.run_until("2027-03-01T11:59").await;
    assert_eq!(world.history("j").await, [""; 0]);
    world.run_until("2027-03-01T12:01").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0 failed"]);
    assert_eq!(world.causes("j").await, ["no completion within 2 h"]);
    assert_eq!(world.report(0, Report::Success, "").await, Reported::Over);
    world.run_until("2027-03-01T12:06").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 12:05"]);
    // The job has not finished while its last attempt is open.
    world.run_until("2027-03-01T13:00").await;
    assert_eq!(world.status("j").await, status("enabled").executions(1).failures(1));
    assert_eq!(world.report(1, Report::Success, "").await, Reported::Kept);
    world.run_until("2027-03-01T13:01").await;
    assert_eq!(world.status("j").await, status("completed").executions(2).failures(1));
}

#[tokio::test]
async fn a_target_reports_a_failure_and_a_user_cancels() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.targets.always("http://j/", Accept);
    let mut hourly = hourly();
    hourly["action"]["retryPolicy"] = json!({"retryType": "none"});
    world.put("j", hourly).await;
    world.run_until("2027-03-01T10:10").await;
    assert_eq!(world.report(0, Report::Failure, "disk full\nat /var").await, Reported::Kept);
    world.run_until("2027-03-01T11:10").await;
    let refused = world.cancel("j", "2027-03-01T10:00").await;
    let Err(AppError::Refused(refusal)) = refused else { panic!("{refused:?}") };
    assert_eq!(refusal.code, Code::OccurrenceNotOpen);
    world.cancel("j", "2027-03-01T11:00").await.unwrap();
    assert_eq!(world.report(1, Report::Success, "").await, Reported::Over);
    world.run_until("2027-03-01T11:20").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0 failed", "01 11:00 #2.0 failed"]);
    assert_eq!(world.causes("j").await, ["disk full", "cancelled"]);
    assert_eq!(world.status("j").await, status("enabled").executions(2).failures(2).faulted(2));
}

#[tokio::test]
async fn a_job_that_lets_none_overlap_waits_for_the_end() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.targets.always("http://j/", Accept);
    let mut minutely = job(
        json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute", "interval": 10}}),
    );
    minutely["minutehand"]["overlap"] = json!({"policy": "skip"});
    world.put("j", minutely).await;
    world.run_until("2027-03-01T10:25").await;
    assert_eq!(world.left_out("j").await, ["01 10:20 to 01 10:20: 1", "01 10:10 to 01 10:10: 1"]);
    // A run waits.
    world.call_run("j").await;
    world.run_until("2027-03-01T10:26").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00"]);
    world.report(0, Report::Success, "").await;
    world.run_until("2027-03-01T10:27").await;
    assert_eq!(world.calls("http://j/").len(), 2);
    world.report(1, Report::Success, "").await;
    world.run_until("2027-03-01T10:31").await;
    assert_eq!(world.calls("http://j/").len(), 3);
}

#[tokio::test]
async fn an_open_attempt_has_its_seat() {
    let mut world =
        World::with("2027-03-01T09:59", json!({"minutehand": {"maxConcurrent": 1}})).await;
    world.targets.always("http://j/", Accept);
    world.put("j", hourly()).await;
    world.put("k", json!({"startTime": "2027-03-01T10:05"})).await;
    world.run_until("2027-03-01T10:30").await;
    assert_eq!(world.calls("http://k/"), [""; 0]);
    world.report(0, Report::Success, "").await;
    world.run_until("2027-03-01T10:32").await;
    assert_eq!(world.calls("http://k/").len(), 1);
}

#[tokio::test]
async fn after_a_change_of_the_job_it_may_end_and_no_retry_follows() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.targets.always("http://j/", Accept);
    world.put("j", retrying(hourly())).await;
    world.run_until("2027-03-01T10:10").await;
    world.disable("j").await;
    world.report(0, Report::Failure, "").await;
    world.run_until("2027-03-01T12:30").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0 failed"]);
    assert_eq!(world.calls("http://j/"), ["01 10:00"]);
    // A job that is gone leaves nothing behind.
    world.put("k", hourly()).await;
    world.targets.always("http://k/", Accept);
    world.run_until("2027-03-01T13:10").await;
    world.delete("k").await;
    world.run_until("2027-03-01T15:30").await;
    assert_eq!((world.queued(), world.dead.len()), (0, 0));
}

#[tokio::test]
async fn without_the_extension_202_is_a_success_and_other_answers_are_as_always() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.targets.always("http://j/", Accept);
    world.put("j", json!({"startTime": "2027-03-01T10:00"})).await;
    world.targets.always("http://k/", Fail);
    let mut failing = job(json!({"startTime": "2027-03-01T10:00"}));
    failing["action"]["retryPolicy"] = json!({"retryType": "none"});
    world.put("k", failing).await;
    world.run_for(TimeDelta::minutes(2)).await;
    assert_eq!(world.status("j").await, status("completed").executions(1));
    let faulted = status("faulted").executions(1).failures(1).faulted(1);
    assert_eq!(world.status("k").await, faulted);
    assert!(world.targets.calls().iter().any(|call| call.context.completion_url.is_none()));
}
