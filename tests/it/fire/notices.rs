//! Failure notices: the failure action of a collection.

use minutehand_domain::action::Authentication;
use serde_json::{Value, json};

use super::target::Behaviour::{Fail, Succeed};
use super::target::Call;
use super::world::{World, status};

const NOTICE: &str = "http://notice/";

/// A world whose collection has a failure action with a secret.
async fn world(retry_policy: Value) -> World {
    let world = World::at("2027-03-01T09:00").await;
    let authentication = json!({"type": "Basic", "username": "u", "password": "planted"});
    let request = json!({"method": "POST", "uri": NOTICE, "authentication": authentication});
    let action = json!({"type": "Http", "request": request, "retryPolicy": retry_policy});
    world.patch_collection(json!({"minutehand": {"onFailure": action}})).await;
    world
}

fn never() -> Value {
    json!({"retryType": "None"})
}

/// The events that were sent.
fn events(world: &World) -> Vec<Value> {
    let calls = world.targets.calls();
    let notices = calls.iter().filter(|call| call.uri == NOTICE);
    notices
        .map(|call| {
            serde_json::from_str(call.request.body.as_deref().unwrap_or_default())
                .unwrap_or_default()
        })
        .collect()
}

#[tokio::test]
async fn an_occurrence_that_failed_for_good_is_told_once() {
    let mut world = world(never()).await;
    world.redeliver = true;
    world.targets.always("http://j/", Fail);
    let retry = json!({"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 1});
    let recurrence = json!({"frequency": "hour", "count": 2});
    let job = json!({"startTime": "2027-03-01T10:00", "action": {"retryPolicy": retry}, "recurrence": recurrence});
    world.put("j", job).await;
    world.run_until("2027-03-01T10:30").await;
    assert_eq!(world.calls(NOTICE), ["01 10:01"]);
    let calls = world.targets.calls();
    let Some(Call { request, .. }) = calls.iter().find(|call| call.uri == NOTICE) else {
        panic!("no notice");
    };
    let content_type = request.headers.as_deref().unwrap_or_default();
    assert_eq!(
        content_type,
        [("Content-Type".to_owned(), "application/cloudevents+json; charset=utf-8".to_owned())]
    );
    let Some(Authentication::Basic { password, .. }) = &request.authentication else {
        panic!("no authentication");
    };
    assert_eq!(password.expose(), "planted");
    let [event] = &events(&world)[..] else { panic!("not one event") };
    assert_eq!(event["specversion"], "1.0");
    assert_eq!(event["type"], "minutehand.occurrence.failed");
    assert_eq!(event["subject"], "j");
    let expected = json!({
        "job": {"path": "s/g/jc/j", "name": "j"},
        "occurrence": "2027-03-01T10:00:00Z",
        "isRun": false,
        "attempts": 2,
        "cause": {"kind": "httpStatus", "text": "HTTP 500"},
        "message": event["data"]["message"],
        "nextOccurrence": "2027-03-01T11:00:00Z",
    });
    assert_eq!(event["data"], expected);
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(
        world.history("j").await,
        [
            "01 10:00 #1.0 failed",
            "01 10:01 #1.1 failed",
            "01 10:00 notice #1.0",
            "01 11:00 #2.0 failed",
            "01 11:01 #2.1 failed",
            "01 11:00 notice #2.0",
        ]
    );
    let ids: Vec<_> = events(&world).into_iter().map(|event| event["id"].clone()).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
    assert_eq!(world.status("j").await, status("faulted").executions(4).failures(4).faulted(2));
}

#[tokio::test]
async fn a_notice_follows_the_error_action_and_tells_how_that_ended() {
    for (does, outcome) in [(Succeed, "succeeded"), (Fail, "failed")] {
        let mut world = world(never()).await;
        world.targets.always("http://j/", Fail);
        world.targets.always("http://err/", does);
        let error = json!({"type": "Http", "request": {"uri": "http://err/", "method": "GET"}});
        let action = json!({"retryPolicy": never(), "errorAction": error});
        world.put("j", json!({"startTime": "2027-03-01T10:00", "action": action})).await;
        world.run_until("2027-03-01T12:00").await;
        assert_eq!(world.calls("http://err/"), ["01 10:00"]);
        let [event] = &events(&world)[..] else { panic!("not one event") };
        let error = &event["data"]["errorAction"];
        assert_eq!((&error["outcome"], &error["attempts"]), (&json!(outcome), &json!(1)));
        assert_eq!(event["data"].get("nextOccurrence"), None);
    }
}

#[tokio::test]
async fn a_notice_has_retries_of_its_own_and_the_same_event_each_time() {
    let retry = json!({"retryType": "Fixed", "retryInterval": "PT5M", "retryCount": 2});
    let mut world = world(retry).await;
    world.targets.always("http://j/", Fail);
    world.targets.next(NOTICE, &[Fail, Fail]);
    let action = json!({"retryPolicy": never()});
    world.put("j", json!({"startTime": "2027-03-01T10:00", "action": action})).await;
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(world.calls(NOTICE), ["01 10:00", "01 10:05", "01 10:10"]);
    let events = events(&world);
    assert!(events.iter().all(|event| *event == events[0]), "{events:?}");
    // The job has been faulted all the while.
    assert_eq!(world.status("j").await, status("faulted").executions(1).failures(1).faulted(1));
}

#[tokio::test]
async fn runs_are_told_too_and_successes_are_not() {
    let mut world = world(never()).await;
    world.put("good", json!({"startTime": "2027-03-01T10:00", "action": {}})).await;
    world.targets.always("http://bad/", Fail);
    let action = json!({"retryPolicy": never()});
    world.put("bad", json!({"startTime": "2028-03-01", "action": action})).await;
    world.call_run("bad").await;
    world.run_until("2027-03-01T12:00").await;
    let [event] = &events(&world)[..] else { panic!("not one event") };
    assert_eq!((&event["subject"], &event["data"]["isRun"]), (&json!("bad"), &json!(true)));
    assert_eq!(event["data"]["nextOccurrence"], "2028-03-01T00:00:00Z");
}

#[tokio::test]
async fn a_failure_action_that_is_removed_sends_nothing_more() {
    let retry = json!({"retryType": "Fixed", "retryInterval": "PT5M", "retryCount": 2});
    let mut world = world(retry).await;
    world.targets.always("http://j/", Fail);
    world.targets.always(NOTICE, Fail);
    let recurrence = json!({"frequency": "hour"});
    let job = json!({"startTime": "2027-03-01T10:00", "action": {"retryPolicy": never()}, "recurrence": recurrence});
    world.put("j", job).await;
    world.run_until("2027-03-01T10:01").await;
    world.patch_collection(json!({"minutehand": null})).await;
    world.run_until("2027-03-01T12:30").await;
    assert_eq!(world.calls(NOTICE), ["01 10:00"]);
}
