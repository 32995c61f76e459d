//! An origin that hangs, for processes that share brakes: it gets few calls, what waits says so, and everything is
//! called when it answers.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::firing::{BRAKED_EVERY, BRAKED_FOR};
use minutehand_ports::store::{Standing, WaitsFor};
use minutehand_store_dynamodb::MeteredCall;
use serde_json::json;

use super::target::Behaviour::{Fail, Hold, Succeed, Take, TimeOut};
use super::world::{World, named, place};

/// A minutely job, whose failures are not repeated.
async fn put_minutely(world: &World, name: &str) {
    let none = json!({"retryPolicy": {"retryType": "None"}});
    let minutely = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"},
        "action": none});
    world.put(name, minutely).await;
}

/// A world in which the target of a job hangs.
async fn hanging() -> World {
    let world = World::on_table("2027-03-01T09:59", json!({})).await;
    put_minutely(&world, "j").await;
    world.targets.always("http://j/", TimeOut);
    world
}

/// Asks for so many runs of the job.
async fn run(world: &World, times: u32) {
    for _ in 0..times {
        world.call_run("j").await;
    }
}

fn calls(world: &World) -> usize {
    world.calls("http://j/").len()
}

#[tokio::test]
async fn an_origin_that_hangs_gets_a_call_now_and_then_and_all_when_it_answers() {
    let mut world = hanging().await;
    world.run_until("2027-03-01T10:04:30").await;
    assert_eq!(calls(&world), 5);
    run(&world, 20).await;
    world.run_until("2027-03-01T10:10:30").await;
    // The first one begins at once.
    let while_it_hangs: Vec<_> =
        world.targets.calls().into_iter().skip(5).map(|call| call.at).collect();
    assert!((9..=13).contains(&while_it_hangs.len()), "{while_it_hangs:?}");
    let is_apart = |pair: &[DateTime<Utc>]| pair[1] - pair[0] >= BRAKED_EVERY;
    assert!(while_it_hangs.windows(2).all(is_apart), "{while_it_hangs:?}");
    // An error is an answer.
    world.targets.always("http://j/", Fail);
    world.run_until("2027-03-01T10:20:30").await;
    assert_eq!(calls(&world), 20 + 21);
    assert_eq!(world.executions("j").await.len(), 20 + 21);
    assert_eq!(world.calls("http://j/").last().unwrap(), "01 10:20", "nothing waits any more");
    assert!(world.dead.is_empty());
}

#[tokio::test]
async fn an_attempt_that_waits_says_that_its_origin_hangs_and_is_not_taken_for_lost() {
    let mut world = hanging().await;
    world.run_until("2027-03-01T10:04:30").await;
    // More than get a call within ten minutes.
    run(&world, 30).await;
    world.tick_until("2027-03-01T10:14:30").await;
    let job = (&place(), &named("jc"), &named("j"));
    let (of, now) = (world.job("j").await, world.now());
    let present = world.store.present_of(&of, now, now).await.unwrap();
    let waits = Standing::Waits(WaitsFor::Origin);
    assert!(!present.is_empty() && present.iter().all(|it| it.standing == waits), "{present:?}");
    for waiting in &present {
        let explained =
            world.manage.explain(job, waiting.attempt.occurrence.nominal_at()).await.unwrap();
        assert_eq!(explained.why.name(), "waitsForPlace", "{waiting:?}");
    }
    assert_eq!(world.hanging().await, ["http://j"]);
    world.targets.always("http://j/", Succeed);
    world.tick_until("2027-03-01T10:25:30").await;
    assert_eq!(world.hanging().await, [""; 0]);
    assert_eq!(calls(&world), 30 + 26);
    // Each was called once.
    assert_eq!(world.executions("j").await.len(), 30 + 26);
}

#[tokio::test]
async fn other_origins_go_on() {
    let mut world = hanging().await;
    put_minutely(&world, "well").await;
    world.run_until("2027-03-01T10:30:30").await;
    assert_eq!(world.calls("http://well/").len(), 31);
}

#[tokio::test]
async fn what_is_known_of_an_origin_is_forgotten_after_ten_minutes() {
    let mut world = hanging().await;
    world.run_until("2027-03-01T10:04:30").await;
    world.disable("j").await;
    world.run_for(BRAKED_FOR + TimeDelta::minutes(1)).await;
    let before = calls(&world);
    run(&world, 4).await;
    world.run_for(TimeDelta::seconds(1)).await;
    assert_eq!(calls(&world), before + 4);
}

#[tokio::test]
async fn a_seat_is_given_back_while_the_origin_hangs() {
    let mut world = hanging().await;
    world.patch_collection(json!({"minutehand": {"maxConcurrent": 1}})).await;
    put_minutely(&world, "well").await;
    world.run_until("2027-03-01T10:30:30").await;
    let called = world.calls("http://well/").len();
    assert!(called >= 30, "{called}");
}

#[tokio::test]
async fn an_origin_that_answers_costs_no_write_and_one_time_out_costs_two() {
    let mut world = World::on_table("2027-03-01T09:59", json!({})).await;
    put_minutely(&world, "j").await;
    world.targets.always("http://j/", Take(10));
    world.run_until("2027-03-01T10:30:30").await;
    let consumed = world.table().meter.take();
    assert!(!consumed.contains_key(&MeteredCall::Brakes), "{consumed:?}");
    let reads = consumed[&MeteredCall::ReadBrakes].units / 31.0;
    println!("figure: {reads:.2} read units a firing that is alone, to know what hangs");
    assert!(reads <= 0.5, "{reads}");
    world.targets.next("http://j/", &[TimeOut]);
    world.run_until("2027-03-01T10:40:30").await;
    let consumed = world.table().meter.take();
    assert_eq!(consumed[&MeteredCall::Brakes].requests, 2, "{consumed:?}");
}

#[tokio::test]
async fn a_slow_call_counts_until_it_is_answered() {
    let mut world = World::on_table("2027-03-01T09:59", json!({})).await;
    put_minutely(&world, "j").await;
    world.targets.always("http://j/", Hold);
    world.run_until("2027-03-01T09:59:30").await;
    for _ in 0..5 {
        run(&world, 1).await;
        drop(world.begin_next().await);
    }
    let known = world.ground.brakes().unwrap();
    let counted = async || {
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        known.read_brakes().await.unwrap().first().map(|(_, brake)| brake.unanswered)
    };
    assert_eq!(counted().await, Some(5));
    for _ in 0..5 {
        world.targets.go_on();
        counted().await;
    }
    assert_eq!(counted().await, None);
}
