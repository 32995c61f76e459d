//! Alerts that follow no attempt of a job: incidents of a collection, and tests that a worker sends.

use minutehand_domain::attempt::Outcome;
use minutehand_domain::collection::CollectionState;
use serde_json::json;

use super::alerts::{RECEIVER, facts, hourly, place, setting, told, world};
use super::store::{Failing, Fails};
use super::target::Behaviour::{Fail, Succeed};
use super::world::World;

/// Workers stop for a while, and an outage is longer than that.
async fn without_workers(world: &mut World, until: &str) {
    world.worker_running = false;
    world.run_until(until).await;
    world.worker_running = true;
}

/// Nothing runs for a while.
async fn without_anything(world: &mut World, until: &str) {
    (world.sweeper_running, world.worker_running) = (false, false);
    world.run_until(until).await;
    (world.sweeper_running, world.worker_running) = (true, true);
}

#[tokio::test]
async fn a_late_start_is_told_if_it_is_later_than_the_collection_allows() {
    for (until, expected) in [
        ("2027-03-01T10:03", &[][..]),
        ("2027-03-01T10:08", &[":red_circle: jc/j started 8 min late"][..]),
    ] {
        let mut world = world(&json!({"alsoTell": {"late": "PT5M"}})).await;
        world.redeliver = true;
        hourly(&world).await;
        world.run_until("2027-03-01T09:59").await;
        without_workers(&mut world, until).await;
        world.run_until("2027-03-01T10:59").await;
        assert_eq!(told(&world), expected);
        assert_eq!(world.history("j").await, ["01 10:00 #1.0"], "it is not an attempt");
    }
}

#[tokio::test]
async fn what_an_outage_cost_all_jobs_of_a_collection_is_one_alert() {
    let mut world = world(&json!({"alsoTell": {"missed": true, "late": "PT5M"}})).await;
    world.redeliver = true;
    hourly(&world).await;
    let recurrence = json!({"frequency": "minute", "interval": 30});
    let job = json!({"startTime": "2027-03-01T10:10", "recurrence": recurrence});
    world.put("k", job).await;
    world.run_until("2027-03-01T10:05").await;
    without_anything(&mut world, "2027-03-01T15:05").await;
    world.run_until("2027-03-01T15:59").await;
    let missed: Vec<_> = told(&world).into_iter().filter(|it| it.contains("missed")).collect();
    assert_eq!(missed.len(), 1, "{:?}", told(&world));
    assert!(missed[0].contains("missed in an outage"), "{missed:?}");
    assert!(facts(&world).contains("*Job:* s/g/jc/"), "{}", facts(&world));
}

#[tokio::test]
async fn a_collection_that_is_behind_its_limit_tells_so_once() {
    let mut world = world(&json!({})).await;
    let behind = json!({"onFailure": {"alsoTell": {"behind": "PT1M"}}, "maxPerSecond": 1});
    let sku = json!({"name": "P20Premium"});
    world.patch_collection(json!({"sku": sku, "minutehand": behind})).await;
    world.redeliver = true;
    for n in 0..90 {
        world.put(&format!("j{n}"), json!({"startTime": "2027-03-01T10:00"})).await;
    }
    world.run_until("2027-03-01T10:30").await;
    let told = told(&world);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].ends_with("waits for 1 min under a limit"), "{told:?}");
}

#[tokio::test]
async fn a_pause_is_told_although_failures_are_held_back() {
    let mut world = world(&json!({"after": 9, "alsoTell": {"paused": true}})).await;
    world.redeliver = true;
    world.targets.always("http://j/", Fail);
    hourly(&world).await;
    world.patch("j", json!({"minutehand": {"pauseOnFailure": {"after": 3}}})).await;
    world.run_until("2027-03-01T16:00").await;
    assert_eq!(told(&world), [":red_circle: jc/j failed and is paused: HTTP 500"]);
}

#[tokio::test]
async fn an_alert_of_an_incident_is_retried_and_its_loss_is_trouble() {
    let retry = json!({"retryType": "fixed", "retryInterval": "PT20M", "retryCount": 2});
    let mut world = world(&json!({"alsoTell": {"late": "PT5M"}, "retryPolicy": retry})).await;
    world.redeliver = true;
    world.targets.always(RECEIVER, Fail);
    hourly(&world).await;
    world.run_until("2027-03-01T09:59").await;
    without_workers(&mut world, "2027-03-01T10:08").await;
    world.run_until("2027-03-01T12:30").await;
    assert_eq!(world.calls(RECEIVER), ["01 10:08", "01 10:28", "01 10:48"]);
    assert_eq!(setting(&world.manage).await, Some((1, "j HTTP 500".to_owned())));
}

#[tokio::test]
async fn a_collection_that_is_off_tells_nothing() {
    let mut world = world(&json!({"alsoTell": {"late": "PT5M"}})).await;
    hourly(&world).await;
    world.run_until("2027-03-01T09:59").await;
    without_workers(&mut world, "2027-03-01T10:08").await;
    world.deliver().await;
    world.switch(CollectionState::Disabled).await;
    world.run_until("2027-03-01T12:30").await;
    assert_eq!(told(&world), [""; 0]);
}

#[tokio::test]
async fn no_incident_is_told_twice_and_none_is_lost_whichever_call_fails() {
    for fails in [Fails::Before, Fails::After] {
        for call in 1..30 {
            let also = json!({"missed": true, "late": "PT5M"});
            let mut world = world(&json!({"alsoTell": also})).await;
            hourly(&world).await;
            world.run_until("2027-03-01T09:59").await;
            without_workers(&mut world, "2027-03-01T10:08").await;
            world.trouble.begin(Failing { first: call, each: u64::MAX, how: fails });
            world.run_until("2027-03-01T10:40").await;
            let late = told(&world);
            assert!(matches!(&late[..], [late] if late.contains(" min late")), "{call} {late:?}");
            without_anything(&mut world, "2027-03-01T14:20").await;
            world.trouble.begin(Failing { first: call, each: u64::MAX, how: fails });
            world.run_until("2027-03-01T14:50").await;
            let told = told(&world);
            let missed = told.iter().filter(|it| it.contains("missed in an outage")).count();
            assert_eq!(missed, 1, "call {call} {fails:?} {told:?}");
        }
    }
}

#[tokio::test]
async fn a_worker_sends_the_test_of_a_host_that_may_not_call_targets() {
    let mut world = world(&json!({})).await;
    let (place, name) = place();
    for (behaviour, outcome) in [(Fail, Outcome::Failed), (Succeed, Outcome::Succeeded)] {
        world.targets.always(RECEIVER, behaviour);
        let manage = world.manage_only.clone();
        let delivered = async {
            while world.queued() == 0 {
                tokio::task::yield_now().await;
            }
            world.deliver().await;
            world.told.notify_one();
        };
        let (tested, ()) = tokio::join!(manage.test_alert(&place, &name), delivered);
        let tested = tested.unwrap();
        assert_eq!(tested.outcome, outcome, "{tested:?}");
        assert_eq!(tested.cause.is_some(), outcome == Outcome::Failed);
        assert_eq!(setting(&world.manage).await, None, "a test is not a lost alert");
    }
    assert_eq!(
        told(&world).last().unwrap(),
        ":white_check_mark: Test alert of the job collection jc"
    );
    assert_eq!(told(&world).len(), 2);
}
