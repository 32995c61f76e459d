//! Collections that limit the starts of their attempts: what waits, for how long, and what takes another
//! slot.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::collection::CollectionState::Disabled;
use minutehand_domain::firing::{SkipReason, Slot, SlotBook};
use minutehand_domain::limits::PerSecond;
use minutehand_ports::Collections;
use minutehand_store_dynamodb::MeteredCall;
use serde_json::{Value, json};

use super::target::Behaviour::{Fail, Kill};
use super::world::{World, instant, named, place, status};

/// A world whose collection starts so many attempts in a second.
async fn limited(now: &str, per_second: u32) -> World {
    World::with(now, properties(per_second)).await
}

/// The same on a table, which says what it costs.
async fn metered(now: &str, per_second: u32) -> World {
    World::on_table(now, properties(per_second)).await
}

fn properties(per_second: u32) -> Value {
    json!({"minutehand": {"maxPerSecond": per_second}})
}

fn once(start: &str) -> Value {
    json!({"startTime": start})
}

/// Puts so many jobs for one instant.
async fn put_all(world: &World, jobs: usize, start: &str) {
    for n in 0..jobs {
        world.put(&format!("j{n:03}"), once(start)).await;
    }
}

/// The instants of all calls, in order.
fn starts(world: &World) -> Vec<DateTime<Utc>> {
    let mut starts: Vec<_> = world.targets.calls().into_iter().map(|call| call.at).collect();
    starts.sort();
    starts
}

/// The most calls in any second.
fn most_in_a_second(world: &World) -> usize {
    let starts = starts(world);
    let since = |at: &DateTime<Utc>| {
        let until = *at + TimeDelta::seconds(1);
        starts.iter().filter(|other| (*at..until).contains(*other)).count()
    };
    starts.iter().map(since).max().unwrap_or_default()
}

/// Lets others have all slots until then, so that what comes waits with its message.
async fn busy_until(world: &World, per_second: u32, until: &str) {
    let uid = collection_uid(world).await;
    let book = SlotBook { number: 0, per_second: limit(per_second), next_at: instant(until) };
    assert!(world.store.open_slots(&uid, None, book).await.unwrap());
}

async fn collection_uid(world: &World) -> String {
    let found = Collections::find(world.store.as_ref(), &place(), &named("jc")).await.unwrap();
    found.unwrap().collection.uid
}

fn limit(per_second: u32) -> PerSecond {
    PerSecond::new(per_second).unwrap()
}

#[tokio::test]
async fn a_thousand_attempts_of_one_instant_start_one_after_the_other() {
    let mut world = limited("2027-03-01T09:59", 10).await;
    world.put("j", once("2027-03-01T12:00")).await;
    busy_until(&world, 10, "2027-03-01T09:59:03").await;
    let asked = world.now();
    for _ in 0..1_000 {
        world.call_run("j").await;
    }
    world.run_until("2027-03-01T10:05").await;
    let starts = starts(&world);
    assert_eq!(starts.len(), 1_000);
    assert_eq!(most_in_a_second(&world), 10);
    assert_eq!(starts[0] - asked, TimeDelta::seconds(3));
    assert_eq!(starts[999] - starts[0], TimeDelta::milliseconds(99_900));
    assert_eq!(world.status("j").await, status("enabled").executions(1_000));
    assert!(world.dead.is_empty());
    assert_eq!(world.queued(), 0);
}

#[tokio::test]
async fn a_firing_that_waits_costs_a_few_writes_however_long_it_waits() {
    let mut world = metered("2027-03-01T09:59", 1).await;
    world.put("j", once("2027-03-01T12:00")).await;
    busy_until(&world, 1, "2027-03-01T09:59:03").await;
    for _ in 0..400 {
        world.call_run("j").await;
    }
    drop(world.table().meter.take());
    world.run_until("2027-03-01T10:15").await;
    assert_eq!(starts(&world).len(), 400);
    let calls = world.table().meter.take();
    let of = |call| calls.get(&call).copied().unwrap_or_default();
    let each = |call| of(call).units / 400.0;
    let names = [MeteredCall::Claim, MeteredCall::Slots, MeteredCall::Postpone];
    let writes: f64 = names.into_iter().map(each).sum();
    let (slots, snapshots) = (each(MeteredCall::ReadSlots), each(MeteredCall::Snapshot));
    println!(
        "figure: {writes:.2} write units for claims and slots of a firing that waits up to 400 s, \
         {slots:.2} read units for slots, {snapshots:.2} for jobs"
    );
    assert!(writes <= 4.1, "{writes}");
    let failed: u64 = names.into_iter().map(|call| of(call).failed_conditions).sum();
    assert!(failed < 10, "{failed}");
    // A look every five minutes.
    assert!(slots <= 4.0, "{slots}");
    assert!(!calls.contains_key(&MeteredCall::Release), "{calls:?}");
}

#[tokio::test]
async fn jobs_of_one_minute_take_their_slots_without_waiting_in_the_queue() {
    let mut world = metered("2027-03-01T09:59", 10).await;
    put_all(&world, 20, "2027-03-01T10:00").await;
    world.run_until("2027-03-01T10:00:30").await;
    assert_eq!(starts(&world).len(), 20);
    assert_eq!(most_in_a_second(&world), 10);
    let last = *starts(&world).last().unwrap() - instant("2027-03-01T10:00");
    assert!(last < TimeDelta::seconds(3), "{last}");
    // Under its claim each waits for its slot.
    assert!(!world.table().meter.take().contains_key(&MeteredCall::Postpone));
}

#[tokio::test]
async fn retries_error_actions_and_runs_take_slots_too() {
    let mut world = limited("2027-03-01T09:59", 1).await;
    for n in 0..5 {
        let name = format!("j{n}");
        let mut job = once("2027-03-01T10:00");
        job["action"] = json!({
            "retryPolicy": {"retryType": "fixed", "retryInterval": "PT20S", "retryCount": 1},
            "errorAction": {"type": "Http", "request": {"uri": "http://err/", "method": "GET"}},
        });
        world.put(&name, job).await;
        world.targets.next(&format!("http://{name}/"), &[Fail, Fail]);
    }
    world.put("runs", once("2027-03-01T12:00")).await;
    world.run_until("2027-03-01T09:59:59").await;
    for _ in 0..5 {
        world.call_run("runs").await;
    }
    world.run_until("2027-03-01T10:10").await;
    assert_eq!(world.calls("http://err/").len(), 5);
    // Of each job the action, its retry and the error action, and the runs.
    assert_eq!(starts(&world).len(), 20);
    assert_eq!(most_in_a_second(&world), 1);
    assert!(world.dead.is_empty());
}

#[tokio::test]
async fn a_limit_that_is_removed_or_raised_lets_what_waits_start_within_five_minutes() {
    for (limit, until) in
        [(Value::Null, "2027-03-01T10:04:01"), (json!(100), "2027-03-01T10:04:03")]
    {
        let mut world = limited("2027-03-01T09:59", 1).await;
        world.put("j", once("2027-03-01T12:00")).await;
        busy_until(&world, 1, "2027-03-01T10:20").await;
        for _ in 0..150 {
            world.call_run("j").await;
        }
        world.run_until("2027-03-01T10:01").await;
        assert!(starts(&world).is_empty());
        world.patch_collection(json!({"minutehand": {"maxPerSecond": limit}})).await;
        world.run_until(until).await;
        assert_eq!(starts(&world).len(), 150, "{limit}");
        assert!(world.dead.is_empty());
    }
}

#[tokio::test]
async fn a_limit_that_is_lowered_holds_for_what_waits() {
    let mut world = limited("2027-03-01T09:59", 10).await;
    world.put("j", once("2027-03-01T12:00")).await;
    busy_until(&world, 10, "2027-03-01T09:59:03").await;
    for _ in 0..200 {
        world.call_run("j").await;
    }
    world.run_until("2027-03-01T09:59:10").await;
    let before = starts(&world).len();
    world.patch_collection(json!({"minutehand": {"maxPerSecond": 1}})).await;
    let changed = world.now();
    world.run_until("2027-03-01T10:04:10").await;
    let starts = starts(&world);
    assert_eq!(starts.len(), 200);
    let after: Vec<_> = starts[before..].iter().map(|at| (*at - changed).num_seconds()).collect();
    assert!(after.windows(2).all(|pair| pair[0] < pair[1]), "{after:?}");
}

#[tokio::test]
async fn a_collection_that_is_limited_after_its_messages_were_sent_limits_them() {
    let mut world = World::at("2027-03-01T09:59").await;
    put_all(&world, 30, "2027-03-01T10:00").await;
    world.run_until("2027-03-01T09:59:50").await;
    world.patch_collection(json!({"minutehand": {"maxPerSecond": 5}})).await;
    world.run_until("2027-03-01T10:01").await;
    assert_eq!((starts(&world).len(), most_in_a_second(&world)), (30, 5));
}

#[tokio::test]
async fn an_attempt_whose_worker_dies_takes_another_slot() {
    let mut world = limited("2027-03-01T09:59", 1).await;
    put_all(&world, 10, "2027-03-01T10:00").await;
    busy_until(&world, 1, "2027-03-01T10:00:03").await;
    for n in 0..10 {
        world.targets.next(&format!("http://j{n:03}/"), &[Kill]);
    }
    world.run_until("2027-03-01T10:10").await;
    // Each action is done twice.
    assert_eq!((starts(&world).len(), most_in_a_second(&world)), (20, 1));
    for n in 0..10 {
        let name = format!("j{n:03}");
        assert_eq!(world.status(&name).await, status("completed").executions(1));
    }
    assert!(world.dead.is_empty());
}

#[tokio::test]
async fn copies_of_messages_start_nothing_and_take_no_slots() {
    let mut world = limited("2027-03-01T09:59", 1).await;
    world.redeliver = true;
    world.put("j", once("2027-03-01T12:00")).await;
    busy_until(&world, 1, "2027-03-01T09:59:03").await;
    for _ in 0..30 {
        world.call_run("j").await;
    }
    for copy in world.copy_all() {
        world.put_back(copy);
    }
    world.run_until("2027-03-01T09:59:45").await;
    assert_eq!(starts(&world).len(), 30);
    world.run_until("2027-03-01T10:10").await;
    assert_eq!((starts(&world).len(), most_in_a_second(&world)), (30, 1));
    assert_eq!(world.status("j").await, status("enabled").executions(30));
}

#[tokio::test]
async fn what_would_wait_longer_than_its_job_allows_is_left_out_and_takes_no_slot() {
    let mut world = limited("2027-03-01T09:59", 1).await;
    let recurrence = json!({"frequency": "minute", "count": 3});
    for n in 0..50 {
        let job = json!({"startTime": "2027-03-01T10:00", "recurrence": recurrence,
            "minutehand": {"maxLateness": "PT20S"}});
        world.put(&format!("j{n:03}"), job).await;
    }
    world.run_until("2027-03-01T10:10").await;
    let mut of_minute: HashMap<String, usize> = HashMap::new();
    for at in starts(&world) {
        *of_minute.entry(at.format("%H:%M").to_string()).or_default() += 1;
    }
    // In every minute those that fit into a third of it, and not only in the first.
    for minute in ["10:00", "10:01", "10:02"] {
        let started = of_minute[minute];
        assert!((18..=22).contains(&started), "{minute}: {started}");
    }
    assert_eq!(most_in_a_second(&world), 1);
    let mut skipped = 0;
    for n in 0..50 {
        let dropped = world.noted.dropped(&format!("j{n:03}"));
        assert!(dropped.iter().all(|reason| *reason == SkipReason::TooLate), "{dropped:?}");
        skipped += dropped.len();
    }
    assert_eq!(skipped + starts(&world).len(), 150);
}

#[tokio::test]
async fn an_attempt_that_waits_says_so_and_is_not_taken_for_lost() {
    let mut world = limited("2027-03-01T09:59", 1).await;
    busy_until(&world, 1, "2027-03-01T10:31").await;
    world
        .put("j", json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"}}))
        .await;
    world.tick_until("2027-03-01T10:29:30").await;
    let explained = async |at| {
        let at = instant(at);
        world.manage.explain((&place(), &named("jc"), &named("j")), at).await.unwrap().why.name()
    };
    assert_eq!(explained("2027-03-01T10:20").await, "waitsForLimit");
    let wanted = (None, 10);
    let listed = world.manage.list_occurrences((&place(), &named("jc"), &named("j")), wanted).await;
    assert_eq!(listed.unwrap().items, []);
    world.tick_until("2027-03-01T11:59:30").await;
    // Each occurrence has run once, and the last ones on time.
    assert_eq!((starts(&world).len(), world.history("j").await.len()), (120, 120));
    assert_eq!(world.calls("http://j/").last().unwrap(), "01 11:59");
    // The one worker here may come to a place a second late, while it waits for another one.
    assert!(most_in_a_second(&world) <= 2, "{:?}", starts(&world));
    assert!(world.dead.is_empty());
}

#[tokio::test]
async fn without_a_slot_in_the_next_hour_an_attempt_looks_again_later() {
    let mut world = limited("2027-03-01T10:00", 1).await;
    world.put("j", once("2027-03-01T12:00")).await;
    busy_until(&world, 1, "2027-03-01T11:10").await;
    for _ in 0..3 {
        world.call_run("j").await;
    }
    world.run_until("2027-03-01T11:09:59").await;
    assert!(starts(&world).is_empty());
    world.run_until("2027-03-01T11:11").await;
    assert_eq!((starts(&world).len(), most_in_a_second(&world)), (3, 1));
    assert_eq!(world.status("j").await, status("enabled").executions(3));
}

#[tokio::test]
async fn what_waits_does_not_start_once_its_collection_is_off() {
    let mut world = limited("2027-03-01T09:59", 1).await;
    put_all(&world, 20, "2027-03-01T10:00").await;
    busy_until(&world, 1, "2027-03-01T10:00:03").await;
    world.run_until("2027-03-01T10:00:05").await;
    let before = starts(&world).len();
    world.switch(Disabled).await;
    world.run_until("2027-03-01T10:10").await;
    assert_eq!(starts(&world).len(), before);
    let dropped = (0..20).flat_map(|n| world.noted.dropped(&format!("j{n:03}")));
    assert_eq!(dropped.collect::<Vec<_>>(), vec![SkipReason::CollectionOff; 20 - before]);
}

#[tokio::test]
async fn jobs_that_let_none_overlap_take_turns_and_slots() {
    let mut world = limited("2027-03-01T09:59", 1).await;
    for n in 0..20 {
        let job = json!({"startTime": "2027-03-01T10:00",
            "recurrence": {"frequency": "minute", "count": 4},
            "minutehand": {"overlap": {"policy": "skip"}}});
        world.put(&format!("j{n:03}"), job).await;
    }
    busy_until(&world, 1, "2027-03-01T10:00:03").await;
    world.run_until("2027-03-01T10:30").await;
    assert_eq!((starts(&world).len(), most_in_a_second(&world)), (80, 1));
    for n in 0..20 {
        let name = format!("j{n:03}");
        assert_eq!(world.status(&name).await, status("completed").executions(4));
    }
}

#[tokio::test]
async fn a_process_that_begins_anew_keeps_the_slots() {
    let mut world = World::local("2027-03-01T09:59").await;
    world.patch_collection(json!({"minutehand": {"maxPerSecond": 1}})).await;
    world.put("j", once("2027-03-01T12:00")).await;
    busy_until(&world, 1, "2027-03-01T09:59:03").await;
    for _ in 0..30 {
        world.call_run("j").await;
    }
    world.run_until("2027-03-01T09:59:10").await;
    let mut world = world.restart().await;
    world.run_until("2027-03-01T10:05").await;
    assert_eq!((starts(&world).len(), most_in_a_second(&world)), (30, 1));
    assert!(world.dead.is_empty());
}

#[tokio::test]
async fn a_slot_of_an_earlier_limit_is_void_though_it_holds_again() {
    let world = limited("2027-03-01T09:59", 1).await;
    let uid = collection_uid(&world).await;
    let book = |number, per_second| SlotBook { number, per_second, next_at: world.now() };
    assert!(world.store.open_slots(&uid, None, book(0, limit(1))).await.unwrap());
    let old = Slot { at: world.now(), book: 0 };
    assert!(world.store.read_slots(&uid).await.unwrap().unwrap().holds(old, Some(limit(1))));
    for (number, per_second) in [(1, limit(2)), (2, limit(1))] {
        let as_read = world.store.read_slots(&uid).await.unwrap();
        assert!(world.store.open_slots(&uid, as_read, book(number, per_second)).await.unwrap());
    }
    assert!(!world.store.read_slots(&uid).await.unwrap().unwrap().holds(old, Some(limit(1))));
}

#[tokio::test]
async fn a_worker_that_knows_no_limits_leaves_the_attempts_to_a_newer_one() {
    for limits in [json!({"maxPerSecond": 10}), json!({"maxConcurrent": 10})] {
        let limits = json!({"minutehand": limits});
        let mut world = World::on_table("2027-03-01T09:59", limits).await;
        world.put("j", once("2027-03-01T10:00")).await;
        // Such a worker reads the plan of the collection under this name.
        assert!(!world.table().rename_in_switch("plan", "plan").await);
        // And this build is as one, if it does not find the plan under the name that it knows.
        assert!(world.table().rename_in_switch("limited_plan", "unknown_plan").await);
        world.run_until("2027-03-01T10:20").await;
        assert!(starts(&world).is_empty());
        assert!(world.executions("j").await.is_empty());
        assert!(world.dead.is_empty());
        assert!(world.table().rename_in_switch("unknown_plan", "limited_plan").await);
        world.run_until("2027-03-01T10:30").await;
        assert_eq!(starts(&world).len(), 1);
        assert_eq!(world.status("j").await, status("completed").executions(1));
    }
    // Without limits it is there for every version.
    let world = World::on_table("2027-03-01T09:59", json!({})).await;
    assert!(world.table().rename_in_switch("plan", "plan").await);
}
