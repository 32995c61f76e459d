//! Collections that limit how many attempts run at the same time: what waits, for how long, and what
//! becomes free.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::collection::CollectionState::Disabled;
use minutehand_domain::firing::SkipReason;
use minutehand_domain::limits::Concurrent;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::Collections;
use minutehand_ports::store::Claim;
use minutehand_store_dynamodb::MeteredCall;
use serde_json::{Value, json};

use super::target::Behaviour::{Fail, Hold, Kill, NotMade, Take};
use super::world::{World, instant, named, place, status};

/// A world whose collection runs so many attempts at the same time.
async fn limited(now: &str, concurrent: u32) -> World {
    World::with(now, properties(concurrent)).await
}

/// The same on a table, which says what it costs.
async fn metered(now: &str, concurrent: u32) -> World {
    World::on_table(now, properties(concurrent)).await
}

fn properties(concurrent: u32) -> Value {
    json!({"minutehand": {"maxConcurrent": concurrent}})
}

fn once(start: &str) -> Value {
    json!({"startTime": start})
}

async fn collection_uid(world: &World) -> String {
    let found = Collections::find(world.store.as_ref(), &place(), &named("jc")).await.unwrap();
    found.unwrap().collection.uid
}

/// The claim of another worker, whose lease ends then.
async fn other(world: &World, n: u32, lease_until: &str) -> Claim {
    let collection_uid = collection_uid(world).await;
    Claim {
        job: JobRef { uid: "other".to_owned(), collection_uid, key: "other".to_owned() },
        attempt: Attempt::first(1, Occurrence::Scheduled { nominal_at: world.now() }),
        claim_id: format!("other{n}"),
        lease_until: instant(lease_until),
    }
}

/// Lets others have so many seats until then.
async fn busy_until(world: &World, seats: u32, until: &str) {
    for n in 0..seats {
        let claim = other(world, n, until).await;
        let limit = Concurrent::new(seats).unwrap();
        assert!(world.store.take_seat(&claim, limit, world.now()).await.unwrap());
    }
}

async fn taken(world: &World) -> u32 {
    let uid = collection_uid(world).await;
    world.store.taken_seats(&uid, world.now()).await.unwrap()
}

/// The instants of all calls, in order.
fn starts(world: &World) -> Vec<DateTime<Utc>> {
    let mut starts: Vec<_> = world.targets.calls().into_iter().map(|call| call.at).collect();
    starts.sort();
    starts
}

fn seconds_after(at: DateTime<Utc>, since: &str) -> i64 {
    (at - instant(since)).num_seconds()
}

#[tokio::test]
async fn the_next_attempt_runs_when_one_of_those_that_run_has_ended() {
    let mut world = limited("2027-03-01T09:59", 2).await;
    for name in ["a", "b", "c"] {
        world.put(name, once("2027-03-01T12:00")).await;
        world.targets.always(&format!("http://{name}/"), Hold);
        world.call_run(name).await;
    }
    let (one, two) = (world.begin_next().await, world.begin_next().await);
    assert_eq!(taken(&world).await, 2);
    for _ in 0..20 {
        world.run_for(TimeDelta::seconds(1)).await;
    }
    assert_eq!(starts(&world).len(), 2);
    world.targets.go_on();
    tokio::select!(ended = one => ended.unwrap(), ended = two => ended.unwrap());
    assert_eq!(taken(&world).await, 1);
    // The third one finds the seat when it looks.
    world.targets.always("http://c/", Take(1));
    world.run_for(TimeDelta::seconds(10)).await;
    assert_eq!(starts(&world).len(), 3);
    assert_eq!(taken(&world).await, 1);
    assert!(world.dead.is_empty());
}

#[tokio::test]
async fn hundreds_of_attempts_run_one_after_the_other() {
    let mut world = limited("2027-03-01T09:59", 1).await;
    world.put("j", once("2027-03-01T12:00")).await;
    world.targets.always("http://j/", Take(2));
    busy_until(&world, 1, "2027-03-01T09:59:10").await;
    for _ in 0..200 {
        world.call_run("j").await;
    }
    world.run_until("2027-03-01T09:59:10").await;
    assert!(starts(&world).is_empty());
    world.run_until("2027-03-01T10:20").await;
    assert_eq!(starts(&world).len(), 200);
    assert!(starts(&world).windows(2).all(|pair| pair[1] - pair[0] >= TimeDelta::seconds(2)));
    assert_eq!(world.status("j").await, status("enabled").executions(200));
    assert_eq!((world.dead.len(), world.queued(), taken(&world).await), (0, 0, 0));
}

#[tokio::test]
async fn to_look_whether_a_seat_is_free_writes_nothing() {
    let mut world = metered("2027-03-01T09:59", 3).await;
    world.put("j", once("2027-03-01T12:00")).await;
    busy_until(&world, 3, "2027-03-01T10:59").await;
    for _ in 0..10 {
        world.call_run("j").await;
    }
    world.run_until("2027-03-01T09:59:02").await;
    drop(world.table().meter.take());
    world.run_until("2027-03-01T10:58").await;
    let calls = world.table().meter.take();
    assert!(starts(&world).is_empty());
    let wrote = calls.iter().filter(|(call, _)| call.is_write() && **call != MeteredCall::Beat);
    let wrote: Vec<_> = wrote.collect();
    assert!(wrote.is_empty(), "{wrote:?}");
    let looks = calls[&MeteredCall::ReadSeats].units / 10.0;
    let snapshots = calls[&MeteredCall::Snapshot].units / 10.0;
    println!("figure: {looks} looks for a seat in an hour, {snapshots} read units for jobs");
    assert!((55.0..90.0).contains(&looks), "{looks}");
    world.run_until("2027-03-01T11:01").await;
    assert_eq!(starts(&world).len(), 10);
    // One after the other, and within a minute.
    let found: Vec<_> =
        starts(&world).iter().map(|at| seconds_after(*at, "2027-03-01T10:59")).collect();
    assert!(found.iter().all(|after| (0..=60).contains(after)), "{found:?}");
    assert!(world.dead.is_empty());
}

#[tokio::test]
async fn retries_error_actions_and_runs_take_seats_too() {
    let mut world = metered("2027-03-01T09:59", 1).await;
    let mut job = once("2027-03-01T10:00");
    job["action"] = json!({
        "retryPolicy": {"retryType": "fixed", "retryInterval": "PT20S", "retryCount": 1},
        "errorAction": {"type": "Http", "request": {"uri": "http://err/", "method": "GET"}},
    });
    world.put("j", job).await;
    world.targets.next("http://j/", &[Fail, Fail]);
    world.run_until("2027-03-01T10:10").await;
    assert_eq!(starts(&world).len(), 3);
    // Each took a seat and gave it back.
    assert_eq!(world.table().meter.take()[&MeteredCall::Seats].requests, 6);
    assert_eq!(taken(&world).await, 0);
}

#[tokio::test]
async fn the_seat_of_a_worker_that_died_is_free_when_its_lease_is_over() {
    let mut world = limited("2027-03-01T10:00", 1).await;
    world.visibility = TimeDelta::minutes(10);
    for name in ["dies", "waits"] {
        world.put(name, once("2027-03-01T12:00")).await;
    }
    world.targets.next("http://dies/", &[Kill]);
    world.call_run("dies").await;
    world.deliver().await;
    world.call_run("waits").await;
    world.run_until("2027-03-01T10:01:39").await;
    assert_eq!(world.calls("http://waits/").len(), 0);
    world.run_until("2027-03-01T10:02:40").await;
    assert_eq!(world.calls("http://waits/").len(), 1);
    world.run_until("2027-03-01T10:20").await;
    assert_eq!(world.calls("http://dies/").len(), 2);
    assert_eq!((world.dead.len(), taken(&world).await), (0, 0));
}

#[tokio::test]
async fn an_attempt_that_could_not_begin_has_no_seat() {
    let mut world = limited("2027-03-01T09:59", 1).await;
    world.put("j", once("2027-03-01T10:00")).await;
    world.targets.next("http://j/", &[NotMade]);
    world.run_until("2027-03-01T10:00:01").await;
    assert_eq!((starts(&world).len(), taken(&world).await), (1, 0));
    world.run_until("2027-03-01T10:01").await;
    assert_eq!(world.status("j").await, status("completed").executions(1));
}

#[tokio::test]
async fn a_limit_that_is_removed_or_raised_lets_what_waits_start_within_a_minute() {
    for limit in [Value::Null, json!(5)] {
        let mut world = limited("2027-03-01T09:59", 1).await;
        world.put("j", once("2027-03-01T12:00")).await;
        busy_until(&world, 1, "2027-03-01T11:00").await;
        for _ in 0..30 {
            world.call_run("j").await;
        }
        world.run_until("2027-03-01T10:20").await;
        assert!(starts(&world).is_empty());
        world.patch_collection(json!({"minutehand": {"maxConcurrent": limit}})).await;
        world.run_until("2027-03-01T10:21").await;
        assert_eq!(starts(&world).len(), 30, "{limit}");
        assert!(world.dead.is_empty());
    }
}

#[tokio::test]
async fn a_limit_that_is_lowered_holds_until_enough_have_ended() {
    let mut world = limited("2027-03-01T09:59", 3).await;
    busy_until(&world, 3, "2027-03-01T10:30").await;
    world.patch_collection(json!({"minutehand": {"maxConcurrent": 2}})).await;
    world.put("j", once("2027-03-01T10:00")).await;
    for n in 0..2 {
        world.run_for(TimeDelta::minutes(3)).await;
        assert!(starts(&world).is_empty());
        world.store.give_back_seat(&other(&world, n, "2027-03-01T10:30").await).await.unwrap();
    }
    world.run_for(TimeDelta::minutes(1)).await;
    assert_eq!(starts(&world).len(), 1);
}

#[tokio::test]
async fn a_collection_that_is_limited_after_its_messages_were_sent_limits_them() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.put("j", once("2027-03-01T10:00")).await;
    world.run_until("2027-03-01T09:59:50").await;
    world.patch_collection(json!({"minutehand": {"maxConcurrent": 1}})).await;
    busy_until(&world, 1, "2027-03-01T10:05").await;
    world.run_until("2027-03-01T10:05").await;
    assert!(starts(&world).is_empty());
    world.run_until("2027-03-01T10:06").await;
    assert_eq!(starts(&world).len(), 1);
}

#[tokio::test]
async fn copies_of_messages_start_nothing() {
    let mut world = limited("2027-03-01T09:59", 1).await;
    world.redeliver = true;
    world.put("j", once("2027-03-01T12:00")).await;
    busy_until(&world, 1, "2027-03-01T10:00").await;
    for _ in 0..10 {
        world.call_run("j").await;
    }
    for copy in world.copy_all() {
        world.put_back(copy);
    }
    world.run_until("2027-03-01T10:20").await;
    assert_eq!(starts(&world).len(), 10);
    assert_eq!(world.status("j").await, status("enabled").executions(10));
    assert_eq!((world.dead.len(), world.queued(), taken(&world).await), (0, 0, 0));
}

#[tokio::test]
async fn what_waits_longer_than_its_job_allows_is_left_out() {
    let mut world = limited("2027-03-01T09:59", 1).await;
    let job = json!({"startTime": "2027-03-01T10:00", "minutehand": {"maxLateness": "PT1M"}});
    world.put("j", job).await;
    busy_until(&world, 1, "2027-03-01T11:00").await;
    world.run_until("2027-03-01T10:01:20").await;
    assert_eq!(world.noted.dropped("j"), [SkipReason::TooLate]);
    world.run_until("2027-03-01T10:30").await;
    assert!(starts(&world).is_empty());
    assert_eq!(world.status("j").await, status("completed").skipped(1));
    assert_eq!(world.left_out("j").await, ["01 10:00 to 01 10:00: 1"]);
}

#[tokio::test]
async fn an_attempt_that_waits_says_so_and_is_not_taken_for_lost() {
    let mut world = limited("2027-03-01T09:59", 1).await;
    busy_until(&world, 1, "2027-03-01T10:31").await;
    world
        .put("j", json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"}}))
        .await;
    world.tick_until("2027-03-01T10:29:30").await;
    let at = instant("2027-03-01T10:20");
    let explained = world.manage.explain((&place(), &named("jc"), &named("j")), at).await.unwrap();
    assert_eq!(explained.why.name(), "waitsForLimit");
    let wanted = (None, 10);
    let listed = world.manage.list_occurrences((&place(), &named("jc"), &named("j")), wanted).await;
    assert_eq!(listed.unwrap().items, []);
    assert!(world.history("j").await.is_empty());
    world.tick_until("2027-03-01T11:59:30").await;
    // Each occurrence has run once, and the last ones on time.
    assert_eq!((starts(&world).len(), world.history("j").await.len()), (120, 120));
    assert_eq!(world.calls("http://j/").last().unwrap(), "01 11:59");
    assert!(world.dead.is_empty());
}

#[tokio::test]
async fn what_waits_does_not_start_once_its_collection_is_off() {
    let mut world = limited("2027-03-01T09:59", 1).await;
    world.put("j", once("2027-03-01T10:00")).await;
    busy_until(&world, 1, "2027-03-01T11:00").await;
    world.run_until("2027-03-01T10:05").await;
    world.switch(Disabled).await;
    world.run_until("2027-03-01T10:06").await;
    assert!(starts(&world).is_empty());
    assert_eq!(world.noted.dropped("j"), [SkipReason::CollectionOff]);
    assert_eq!(world.queued(), 0);
}

#[tokio::test]
async fn jobs_that_let_none_overlap_take_turns_and_seats() {
    let mut world = limited("2027-03-01T09:59", 1).await;
    for n in 0..10 {
        let job = json!({"startTime": "2027-03-01T10:00",
            "recurrence": {"frequency": "minute", "interval": 10, "count": 3},
            "minutehand": {"overlap": {"policy": "skip"}}});
        world.put(&format!("j{n}"), job).await;
        world.targets.always(&format!("http://j{n}/"), Take(5));
    }
    busy_until(&world, 1, "2027-03-01T10:01").await;
    world.run_until("2027-03-01T10:40").await;
    assert_eq!(starts(&world).len(), 30);
    for n in 0..10 {
        assert_eq!(world.status(&format!("j{n}")).await, status("completed").executions(3));
    }
    assert_eq!((world.dead.len(), taken(&world).await), (0, 0));
}

#[tokio::test]
async fn the_seats_of_a_process_end_with_it() {
    let mut world = World::local("2027-03-01T09:59").await;
    world.patch_collection(json!({"minutehand": {"maxConcurrent": 2}})).await;
    world.put("j", once("2027-03-01T12:00")).await;
    busy_until(&world, 2, "2027-03-01T11:00").await;
    for _ in 0..3 {
        world.call_run("j").await;
    }
    world.run_until("2027-03-01T09:59:30").await;
    assert_eq!((starts(&world).len(), taken(&world).await), (0, 2));
    let mut world = world.restart().await;
    assert_eq!(taken(&world).await, 0);
    world.run_until("2027-03-01T10:00").await;
    assert_eq!(starts(&world).len(), 3);
    assert!(world.dead.is_empty());
}

#[tokio::test]
async fn who_waits_for_a_seat_takes_no_slot() {
    let limits = json!({"minutehand": {"maxPerSecond": 1, "maxConcurrent": 1}});
    let mut world = World::on_table("2027-03-01T09:59", limits).await;
    world.put("j", once("2027-03-01T12:00")).await;
    busy_until(&world, 1, "2027-03-01T10:05").await;
    for _ in 0..20 {
        world.call_run("j").await;
    }
    world.run_until("2027-03-01T10:04:59").await;
    let calls = world.table().meter.take();
    assert!(!calls.contains_key(&MeteredCall::Slots), "{calls:?}");
    world.run_until("2027-03-01T10:30").await;
    let starts = starts(&world);
    assert_eq!(starts.len(), 20);
    let apart = starts.windows(2).map(|pair| (pair[1] - pair[0]).num_milliseconds());
    // An instant is stored to the tenth of a microsecond.
    assert!(apart.clone().all(|apart| apart >= 999), "{:?}", apart.collect::<Vec<_>>());
    assert!(world.dead.is_empty());
}
