//! AWS requests that fail, in part or completely, and what happens to jobs then.

use minutehand_testkit::aws::{AwsAnswer, FakeAws};
use minutehand_testkit::fake_client;
use serde_json::json;

use super::world::{COLLECTION, Sent, World};

const THROTTLED: AwsAnswer = AwsAnswer::Failed(400, "ThrottlingException");

#[tokio::test]
async fn timers_stay_due_while_the_queue_accepts_nothing() {
    let mut world = World::new().await;
    world.trouble.lock().unwrap().sqs = Some(THROTTLED);
    // The job is kept, and its user need not know.
    world.put_job("once", json!({"startTime": "2030-01-01T00:00:30Z"})).await;
    world.sweeper.tick().await.unwrap();
    assert_eq!(world.counted(world.sweeper.tally())["SweepsFailed"], 1);
    world.trouble.lock().unwrap().sqs = None;
    world.sent();
    world.sweeper.tick().await.unwrap();
    let sent = world.sent();
    // A sweep sends near the end of a second, and the queue delays by whole seconds.
    assert_eq!(sent.iter().map(|it| it.delay).collect::<Vec<_>>(), [29]);
    world.advance(30);
    assert!(world.deliver(&sent).await.is_empty());
    assert_eq!(world.target.calls(), 1);
}

#[tokio::test]
async fn an_unavailable_key_delays_only_jobs_with_secrets() {
    let mut world = World::new().await;
    let authentication = json!({"type": "basic", "username": "u", "password": "hunter2"});
    let action = json!({
        "type": "http",
        "request": {"method": "GET", "uri": world.target.url(), "authentication": authentication},
    });
    let soon = "2030-01-01T00:00:30Z";
    world.put_job("secret", json!({"startTime": soon, "action": action})).await;
    world.put_job("open", json!({"startTime": soon})).await;
    let sent = world.sent();
    world.advance(30);
    world.trouble.lock().unwrap().kms = Some(THROTTLED);
    assert_eq!(world.deliver(&sent).await, ["m0"]);
    assert_eq!(world.put_back(), [("r0".to_owned(), 5)]);
    assert_eq!(world.target.calls(), 1);
    // Nothing was done, so no worker has to wait for a lease.
    world.trouble.lock().unwrap().kms = None;
    world.advance(5);
    assert!(world.deliver(&sent).await.is_empty());
    let heads = world.target.heads();
    assert_eq!(heads.len(), 2);
    assert!(heads[1].to_lowercase().contains("authorization: basic dtpodw50zxiy"), "{heads:?}");
    let decrypts = world.kms.calls().into_iter().filter(|call| call.action == "Decrypt").count();
    assert_eq!(decrypts, 2, "one that failed, and one");

    // A job is refused if its secrets cannot be sealed, with an error of the service.
    let other = World::new().await;
    other.trouble.lock().unwrap().kms = Some(THROTTLED);
    let job = json!({"properties": {"action": {"type": "http", "request": {
        "method": "GET", "uri": "http://203.0.113.9/", "authentication": authentication,
    }}}});
    let status = other.put("/jobs/secret", &job).await;
    assert!(status >= 500, "{status}");
}

#[tokio::test]
async fn jobs_fire_while_the_event_bus_accepts_nothing() {
    let mut world = World::new().await;
    world.target.answer(500);
    world.put_job("fails", json!({"startTime": "2030-01-01T00:00:30Z"})).await;
    let sent = world.sent();
    world.advance(30);
    world.trouble.lock().unwrap().bus = Some(AwsAnswer::Failed(400, "AccessDeniedException"));
    assert!(world.deliver(&sent).await.is_empty());
    assert_eq!(world.counted(world.executor.tally())["EventsLost"], 2);
    assert_eq!(world.history("fails").await[0]["properties"]["status"], "failed");
}

#[tokio::test]
async fn failures_are_sent_to_the_event_bus() {
    let mut world = World::new().await;
    world.target.answer(500);
    world.put_job("fails", json!({"startTime": "2030-01-01T00:00:30Z"})).await;
    let sent = world.sent();
    world.advance(30);
    assert!(world.deliver(&sent).await.is_empty());
    let types: Vec<_> = world
        .bus
        .calls()
        .iter()
        .flat_map(|call| call.body["Entries"].as_array().unwrap().clone())
        .map(|entry| entry["DetailType"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(types, ["Execution Failed", "Job Faulted"]);
}

#[tokio::test]
async fn a_throttled_store_is_retried() {
    for answer in [
        AwsAnswer::Failed(400, "ProvisionedThroughputExceededException"),
        AwsAnswer::Failed(500, "InternalServerError"),
        AwsAnswer::Silence,
    ] {
        let busy = FakeAws::new(move |_| answer.clone());
        let world = World::on(fake_client!(aws_sdk_dynamodb, busy));
        assert_eq!(world.call("GET", COLLECTION, "").await.0, 503);
        // Every message comes back, and a pass that saw nothing says so.
        let body = r#"{"v":1,"do":"conclude","j":{"u":"u","c":"c","k":"k"},"g":1}"#.to_owned();
        assert_eq!(world.deliver(&[Sent { body, delay: 0 }]).await, ["m0"]);
        let [(receipt, pause)] = world.put_back().try_into().unwrap();
        // What was throttled gets a part of ten seconds more.
        assert!(receipt == "r0" && (5..=15).contains(&pause), "{receipt}: {pause}");
        assert!(world.sweeper.tick().await.is_err());
    }
}

/// AWS counts them for the table and for its index apart; an alarm would pay for each.
#[tokio::test]
async fn requests_that_the_table_refuses_as_too_many_are_trouble_of_each_function() {
    let cancelled = json!({
        "__type": "TransactionCanceledException",
        "CancellationReasons": [{"Code": "ThrottlingError"}],
    });
    for (answer, is_trouble) in [
        (THROTTLED, true),
        (AwsAnswer::Failed(400, "ProvisionedThroughputExceededException"), true),
        (AwsAnswer::FailedWith(400, cancelled), true),
        (AwsAnswer::Failed(400, "ResourceNotFoundException"), false),
        (AwsAnswer::Failed(500, "InternalServerError"), false),
    ] {
        let busy = FakeAws::new({
            let answer = answer.clone();
            move |_| answer.clone()
        });
        let world = World::on(fake_client!(aws_sdk_dynamodb, busy));
        world.call("GET", COLLECTION, "").await;
        let body = r#"{"v":1,"do":"conclude","j":{"u":"u","c":"c","k":"k"},"g":1}"#.to_owned();
        world.deliver(&[Sent { body, delay: 0 }]).await;
        let failed = world.sweeper.tick().await;
        assert!(failed.is_err());
        for tally in [world.executor.tally(), world.sweeper.tally()] {
            let counted = world.counted(tally);
            let throttled = counted["Throttled"].as_u64().unwrap_or_default();
            assert_eq!(throttled > 0, is_trouble, "{answer:?}: {counted}");
        }
    }
}
