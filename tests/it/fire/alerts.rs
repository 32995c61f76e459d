//! Alerts: the failure action of a collection in the format of a receiver, and under rules.

use chrono::{DurationRound as _, TimeDelta};
use minutehand_app::{AppError, Manage};
use minutehand_domain::attempt::Outcome;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::refusal::Code;
use minutehand_ports::Alerts;
use minutehand_ports::store::ResourceGroup;
use serde_json::{Value, json};

use super::store::{Failing, Fails};
use super::target::Behaviour::{Fail, Succeed};
use super::world::{World, instant};

pub(super) const RECEIVER: &str = "http://hooks/services/hunter2";

/// A world whose collection has a failure action with these properties beside its URL.
pub(super) async fn world(more: &Value) -> World {
    let world = World::at("2027-03-01T09:00").await;
    let mut action = json!({"type": "Http", "request": {"uri": RECEIVER},
        "format": "slack", "retryPolicy": {"retryType": "None"}});
    for (name, value) in more.as_object().unwrap() {
        action[name] = value.clone();
    }
    world.patch_collection(json!({"minutehand": {"onFailure": action}})).await;
    world
}

/// A job each hour from ten on, without retries.
pub(super) async fn hourly(world: &World) {
    let recurrence = json!({"frequency": "hour"});
    let action = json!({"retryPolicy": {"retryType": "None"}});
    let job = json!({"startTime": "2027-03-01T10:00", "action": action, "recurrence": recurrence});
    world.put("j", job).await;
}

/// What was told, each as the title of its alert.
pub(super) fn told(world: &World) -> Vec<String> {
    let calls = world.targets.calls();
    let alerts = calls.iter().filter(|call| call.uri == RECEIVER);
    let title = |body: Value| body["text"].as_str().unwrap().to_owned();
    let body = |text: Option<&str>| serde_json::from_str(text.unwrap_or_default()).unwrap();
    alerts.map(|call| title(body(call.request.body.as_deref()))).collect()
}

/// The facts of the last alert.
pub(super) fn facts(world: &World) -> String {
    let calls = world.targets.calls();
    let last = calls.iter().rfind(|call| call.uri == RECEIVER).unwrap();
    let body: Value = serde_json::from_str(last.request.body.as_deref().unwrap()).unwrap();
    body["blocks"][1]["text"]["text"].as_str().unwrap().to_owned()
}

const FAILED: &str = ":red_circle: jc/j failed: HTTP 500";
const WORKS: &str = ":white_check_mark: jc/j works again";

#[tokio::test]
async fn each_failure_is_told_in_the_format_of_the_receiver() {
    let mut world = world(&json!({})).await;
    world.redeliver = true;
    world.targets.next("http://j/", &[Fail, Succeed, Fail]);
    hourly(&world).await;
    world.run_until("2027-03-01T12:30").await;
    assert_eq!(told(&world), [FAILED, FAILED]);
    let facts = facts(&world);
    assert!(facts.contains("*Occurrence:* 2027-03-01 12:00:00 UTC"), "{facts}");
    assert!(!facts.contains("in a row"), "nothing counts without rules: {facts}");
}

#[tokio::test]
async fn an_alert_waits_for_failures_in_a_row_and_a_recovery_is_told_once() {
    let mut world = world(&json!({"after": 2, "recovered": true})).await;
    world.redeliver = true;
    world.targets.next("http://j/", &[Fail, Succeed, Fail, Fail, Fail, Succeed, Succeed]);
    hourly(&world).await;
    world.run_until("2027-03-01T13:30").await;
    assert_eq!(told(&world), [FAILED], "the first failure was alone");
    assert!(facts(&world).contains("*Failures in a row:* 2"));
    world.run_until("2027-03-01T17:30").await;
    assert_eq!(told(&world), [FAILED, FAILED, WORKS]);
    assert!(
        facts(&world).contains("*Failing since:* 2027-03-01 13:00:00 UTC"),
        "{}",
        facts(&world)
    );
    let history = world.history("j").await;
    assert_eq!(history.iter().filter(|line| line.contains("notice")).count(), 3, "{history:?}");
    assert!(history.contains(&"01 15:00 notice #6.0".to_owned()), "{history:?}");
}

#[tokio::test]
async fn a_job_is_told_of_once_in_a_time_and_the_next_alert_counts_what_was_held_back() {
    let mut world = world(&json!({"every": "PT3H"})).await;
    world.targets.always("http://j/", Fail);
    hourly(&world).await;
    world.run_until("2027-03-01T13:30").await;
    assert_eq!(world.calls(RECEIVER), ["01 10:00", "01 13:00"]);
    let (group, collection) = place();
    let named = |name: &str| Name::new(name).unwrap();
    let found = world.manage.job_alert((&group, &collection, &named("j"))).await.unwrap();
    let state = found.state.unwrap();
    let since = Some(instant("2027-03-01T10:00"));
    assert_eq!((state.failures(), state.held_back(), found.is_set), (4, 0, true));
    assert_eq!(state.open_since().map(|at| at.duration_trunc(TimeDelta::hours(1)).unwrap()), since);
    assert!(state.told_at() > state.open_since());
    let missing = world.manage.job_alert((&group, &collection, &named("k"))).await;
    assert!(matches!(missing, Err(AppError::NoJob { .. })));
    let facts = facts(&world);
    assert!(
        facts.contains("*Failures in a row:* 4\n*Alerts held back since the last one:* 2"),
        "{facts}"
    );
}

#[tokio::test]
async fn no_alert_comes_twice_and_none_is_lost_whichever_call_fails() {
    for fails in [Fails::Before, Fails::After] {
        for call in 1..40 {
            let mut world = world(&json!({"after": 2, "recovered": true})).await;
            world.targets.next("http://j/", &[Fail, Fail, Succeed]);
            hourly(&world).await;
            world.run_until("2027-03-01T10:59").await;
            world.trouble.begin(Failing { first: call, each: u64::MAX, how: fails });
            world.run_until("2027-03-01T12:58").await;
            assert_eq!(told(&world), [FAILED, WORKS], "call {call} {fails:?}");
        }
    }
}

#[tokio::test]
async fn a_collection_without_rules_keeps_no_state() {
    let mut world = world(&json!({})).await;
    world.targets.next("http://j/", &[Fail, Succeed]);
    hourly(&world).await;
    world.run_until("2027-03-01T11:30").await;
    let job = world.job("j").await;
    assert_eq!(Alerts::read_alert(&*world.store, &job.uid).await.unwrap().number, 0);
}

pub(super) fn place() -> (ResourceGroup, Name) {
    let segment = |text| PathSegment::new(text).unwrap();
    let place = ResourceGroup { subscription: segment("s"), group: segment("g") };
    (place, Name::new("jc").unwrap())
}

pub(super) async fn setting(manage: &Manage) -> Option<(u32, String)> {
    let (place, name) = place();
    let trouble = manage.alert_setting(&place, &name).await.unwrap().trouble?;
    Some((trouble.alerts, format!("{} {}", trouble.job, trouble.cause.unwrap().text())))
}

#[tokio::test]
async fn alerts_that_do_not_arrive_are_trouble_until_one_does() {
    let mut world = world(&json!({})).await;
    world.redeliver = true;
    world.targets.always("http://j/", Fail);
    world.targets.always(RECEIVER, Fail);
    hourly(&world).await;
    assert_eq!(setting(&world.manage).await, None);
    world.run_until("2027-03-01T11:30").await;
    assert_eq!(setting(&world.manage).await, Some((2, "j HTTP 500".to_owned())));
    let overview = world.manage.overview(place().0.subscription).await.unwrap();
    let [(_, collection, trouble)] = &overview.alerts[..] else { panic!("{:?}", overview.alerts) };
    assert_eq!((collection.as_str(), trouble.alerts), ("jc", 2));
    world.targets.always(RECEIVER, Succeed);
    world.run_until("2027-03-01T12:30").await;
    assert_eq!(setting(&world.manage).await, None);
    let overview = world.manage.overview(place().0.subscription).await.unwrap();
    assert_eq!(overview.alerts, []);
}

#[tokio::test]
async fn a_test_says_what_came_back_and_ends_the_trouble() {
    let mut world = world(&json!({})).await;
    let (place, name) = place();
    world.targets.always("http://j/", Fail);
    world.targets.always(RECEIVER, Fail);
    hourly(&world).await;
    world.run_until("2027-03-01T10:30").await;
    let tested = world.manage.test_alert(&place, &name).await.unwrap();
    assert_eq!((tested.outcome, tested.cause.unwrap().text()), (Outcome::Failed, "HTTP 500"));
    assert!(setting(&world.manage).await.is_some());
    world.targets.always(RECEIVER, Succeed);
    let tested = world.manage.test_alert(&place, &name).await.unwrap();
    assert_eq!((tested.outcome, tested.cause), (Outcome::Succeeded, None));
    assert_eq!(
        told(&world).last().unwrap(),
        ":white_check_mark: Test alert of the job collection jc"
    );
    assert_eq!(setting(&world.manage).await, None);
    world.patch_collection(json!({"minutehand": null})).await;
    let refused = world.manage.test_alert(&place, &name).await;
    assert!(
        matches!(refused, Err(AppError::Refused(refusal)) if refusal.code == Code::NoFailureAction)
    );
}
