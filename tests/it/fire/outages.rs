//! Sweepers and workers that are away, late, or die.

use std::time::Duration;

use chrono::TimeDelta;
use minutehand_app::fire::{Performed, Performer as _, Stop, Unbounded};
use minutehand_domain::firing::SkipReason;
use minutehand_domain::firing::limits::LEASE;
use minutehand_ports::History;
use minutehand_ports::store::{Claim, ClaimRequest, Claimed, PageRequest};
use serde_json::{Value, json};

use super::store::{Failing, Fails};
use super::target::Behaviour::{Fail, Hold, Kill, Take};
use super::world::{World, instant, status};

fn minutely() -> Value {
    json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"}})
}

fn minutes(hour: u32, range: std::ops::RangeInclusive<u32>) -> Vec<String> {
    range.map(|minute| format!("01 {hour}:{minute:02}")).collect()
}

/// When the occurrences were expected that are in the history of `j`.
async fn fired(world: &World) -> Vec<String> {
    let history = world.history("j").await;
    history.iter().map(|line| line.split(" #").next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn what_is_late_runs_unless_an_outage_is_known() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put("j", minutely()).await;
    world.worker_running = false;
    world.run_until("2027-03-01T10:12:30").await;
    // No worker has ever given a sign of life.
    world.worker_running = true;
    world.run_until("2027-03-01T10:13:30").await;
    assert_eq!(fired(&world).await, minutes(10, 0..=13));
    assert_eq!(world.status("j").await, status("enabled").executions(14));
}

#[tokio::test]
async fn one_missing_tick_makes_nothing_late() {
    for missing in 0..15 {
        let mut world = World::at("2027-03-01T09:00").await;
        let minutely =
            json!({"startTime": "2027-03-01T10:00:45", "recurrence": {"frequency": "minute"}});
        world.put("j", minutely).await;
        let missing_at = instant("2027-03-01T10:13") + TimeDelta::minutes(missing);
        world.run_to(missing_at - TimeDelta::seconds(1)).await;
        world.sweeper_running = false;
        world.run_to(missing_at + TimeDelta::seconds(59)).await;
        world.sweeper_running = true;
        world.run_until("2027-03-01T10:40:50").await;
        let executions = world.executions("j").await;
        assert_eq!(executions.len(), 41, "{missing_at}");
        for it in executions {
            assert_eq!(it.record.started_at, it.expected_at(), "{missing_at}");
        }
    }
}

#[tokio::test]
async fn a_job_is_not_over_while_something_is_under_way_that_was_sent_before_an_outage() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put("early", json!({"startTime": "2027-03-01T09:59"})).await;
    let thrice = json!({"frequency": "minute", "interval": 30, "count": 3});
    world.put("j", json!({"startTime": "2027-03-01T10:00", "recurrence": thrice})).await;
    world.run_until("2027-03-01T09:59:30").await;
    let under_way = world.take();
    (world.sweeper_running, world.worker_running) = (false, false);
    world.run_until("2027-03-01T11:10:30").await;
    (world.sweeper_running, world.worker_running) = (true, true);
    world.run_until("2027-03-01T11:12:30").await;
    // It is taken for lost, and sent again.
    assert_eq!(fired(&world).await, ["01 10:00", "01 11:00"]);
    world.put_back(under_way);
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(fired(&world).await, ["01 10:00", "01 11:00"]);
    assert_eq!(world.status("j").await, status("completed").executions(2).skipped(1));
}

#[tokio::test]
async fn of_what_is_ten_minutes_late_for_an_outage_of_workers_nothing_runs() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put("j", minutely()).await;
    world.run_until("2027-03-01T10:05:30").await;
    world.worker_running = false;
    world.run_until("2027-03-01T10:30:30").await;
    world.worker_running = true;
    world.run_until("2027-03-01T10:31:30").await;
    // The last sign of life was at 10:05, so that workers may have been there for 100 seconds more.
    assert_eq!(fired(&world).await, [minutes(10, 0..=6), minutes(10, 21..=31)].concat());
    // The sweeper takes what waits for a worker for lost, so there are copies of three messages.
    assert_eq!(world.noted.dropped("j"), [SkipReason::Overtaken; 14 + 3]);
    assert_eq!(world.status("j").await, status("enabled").executions(18).skipped(14));
    assert_eq!(world.left_out("j").await, ["01 10:07 to 01 10:20: 14"]);
    let counters = world.counters("j").await;
    let results = counters.results().letters();
    assert!(results.contains(&"s".repeat(14)), "{results}");
    let skip = counters.last_skip.unwrap();
    assert_eq!(skip.reason, SkipReason::Overtaken);
    assert_eq!(skip.last, instant("2027-03-01T10:20"));
}

#[tokio::test]
async fn after_an_outage_of_two_hours_there_is_no_flood() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put("j", minutely()).await;
    world
        .put(
            "hourly",
            json!({"startTime": "2027-03-01T10:45", "recurrence": {"frequency": "hour"}}),
        )
        .await;
    world.put("once", json!({"startTime": "2027-03-01T11:00"})).await;
    world.run_until("2027-03-01T10:29:30").await;
    (world.sweeper_running, world.worker_running) = (false, false);
    world.run_until("2027-03-01T12:30").await;
    (world.sweeper_running, world.worker_running) = (true, true);
    world.run_until("2027-03-01T12:30:30").await;
    // Until 10:30:40 workers may have been there. After that, only the last one runs.
    assert_eq!(fired(&world).await, [minutes(10, 0..=30), minutes(12, 30..=30)].concat());
    assert_eq!(world.status("j").await, status("enabled").executions(32).skipped(119));
    // Workers leave out what was sent before the outage, the sweeper what was not.
    assert_eq!(world.left_out("j").await, ["01 10:37 to 01 12:29: 113", "01 10:31 to 01 10:36: 6"]);
    assert_eq!(world.left_out("hourly").await, ["01 10:45 to 01 10:45: 1"]);
    assert_eq!(world.left_out("once").await, [""; 0]);
    assert_eq!(world.history("hourly").await, ["01 11:45 #2.0"]);
    assert_eq!(world.status("hourly").await, status("enabled").executions(1).skipped(1));
    assert_eq!(world.calls("http://once/"), ["01 12:30"]);
}

#[tokio::test]
async fn what_was_sent_before_an_outage_is_not_left_out_although_its_timer_did_not_move() {
    let mut sent_and_not_moved = 0;
    // All calls from one of them on fail, until the outage begins. A pass makes fewer than these.
    for first in 1..=400 {
        let mut world = World::at("2027-03-01T10:00").await;
        let minutely =
            json!({"startTime": "2027-03-01T10:20", "recurrence": {"frequency": "minute"}});
        world.put("j", minutely).await;
        world.run_until("2027-03-01T10:17:30").await;
        world.trouble.begin(Failing { first, each: 1, how: Fails::Before });
        world.run_until("2027-03-01T10:18:30").await;
        if world.trouble.calls() < first {
            break;
        }
        world.trouble.begin(Failing { first: u64::MAX, each: 1, how: Fails::Before });
        world.sweeper_running = false;
        world.run_until("2027-03-01T10:50").await;
        let before = fired(&world).await;
        sent_and_not_moved += u32::from(!before.is_empty());
        world.sweeper_running = true;
        world.run_until("2027-03-01T10:52").await;
        for range in world.left_out("j").await {
            let (range, _) = range.rsplit_once(": ").unwrap();
            let (from, until) = range.split_once(" to ").unwrap();
            let ran = before.iter().filter(|at| (from..=until).contains(&at.as_str()));
            assert_eq!(ran.collect::<Vec<_>>(), [""; 0], "call {first}: left out {range}");
        }
        let all = minutes(10, 20..=52).len() as u64;
        let skipped = all - fired(&world).await.len() as u64;
        let counted = status("enabled").executions(all - skipped).skipped(skipped);
        assert_eq!(world.status("j").await, counted, "call {first}");
    }
    assert!(sent_and_not_moved > 0, "no call was that of the timer");
}

#[tokio::test]
async fn a_sweeper_that_cannot_read_the_index_costs_no_occurrence() {
    let mut world = World::at("2027-03-01T10:00").await;
    let minutely = json!({"startTime": "2027-03-01T10:20", "recurrence": {"frequency": "minute"}});
    world.put("j", minutely).await;
    world.run_until("2027-03-01T10:00:30").await;
    // Sweepers give signs of life, and every read fails.
    world.trouble.begin(Failing { first: 1, each: 1, how: Fails::Before });
    world.run_until("2027-03-01T11:30:30").await;
    world.trouble.begin(Failing { first: u64::MAX, each: 1, how: Fails::Before });
    world.run_until("2027-03-01T11:45:30").await;
    assert_eq!(world.calls("http://j/").len(), 86);
    assert_eq!(world.status("j").await, status("enabled").executions(86));
}

/// Five messages of `j`, its last ones, that were sent an hour late, a moment after an outage of workers.
async fn sent_after_an_outage() -> World {
    let mut world = World::at("2027-03-01T10:00").await;
    let five = json!({"frequency": "minute", "count": 5});
    world.put("j", json!({"startTime": "2027-03-01T10:20", "recurrence": five})).await;
    world.put("k", json!({"startTime": "2027-03-02T10:00"})).await;
    world.call_run("k").await;
    world.run_until("2027-03-01T10:00:30").await;
    // Sweepers find nothing, so workers have nothing to do, and give no sign of life.
    world.trouble.begin(Failing { first: 1, each: 1, how: Fails::Before });
    world.run_until("2027-03-01T11:30:30").await;
    world.trouble.begin(Failing { first: u64::MAX, each: 1, how: Fails::Before });
    world.call_run("k").await;
    world.run_until("2027-03-01T11:30:50").await;
    world.worker_running = false;
    world.run_until("2027-03-01T11:31").await;
    assert_eq!(world.queued(), 5);
    world
}

#[tokio::test]
async fn a_job_does_not_finish_before_what_was_sent_after_an_outage() {
    let mut world = sent_after_an_outage().await;
    // A worker dies with the first message.
    let first = world.take();
    world.worker_running = true;
    world.run_until("2027-03-01T11:33").await;
    assert_eq!(world.status("j").await, status("enabled").executions(4));
    world.put_back(first);
    world.run_until("2027-03-01T11:34").await;
    assert_eq!(world.status("j").await, status("completed").executions(5));
}

#[tokio::test]
async fn a_lost_message_that_was_sent_after_an_outage_is_sent_again() {
    let mut world = sent_after_an_outage().await;
    drop(world.take());
    world.worker_running = true;
    // The sweeper looks after twenty minutes.
    world.tick_until("2027-03-01T11:53").await;
    assert_eq!(world.status("j").await, status("completed").executions(5));
    assert_eq!(world.left_out("j").await, [""; 0]);
}

#[tokio::test]
async fn a_lost_message_that_was_all_there_was_to_do_is_not_forgotten() {
    let mut world = World::at("2027-03-01T09:00").await;
    let often = json!({"frequency": "minute", "interval": 6});
    world.put("j", json!({"startTime": "2027-03-01T09:59:50", "recurrence": often})).await;
    world.tick_until("2027-03-01T10:01").await;
    // That of 10:05, so that workers give no sign of life for twelve minutes.
    drop(world.take());
    world.tick_until("2027-03-01T10:19").await;
    assert_eq!(fired(&world).await, ["01 09:59:50", "01 10:11:50", "01 10:17:50"]);
    assert_eq!(world.noted.dropped("j"), [SkipReason::Overtaken]);
    assert_eq!(world.left_out("j").await, ["01 10:05:50 to 01 10:05:50: 1"]);
    assert_eq!(world.status("j").await, status("enabled").executions(3).skipped(1));
}

#[tokio::test]
async fn a_one_time_job_fires_however_late() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put("j", json!({"startTime": "2027-03-01T10:00"})).await;
    world.run_until("2027-03-01T09:59:30").await;
    world.worker_running = false;
    world.run_until("2027-03-04T10:00").await;
    world.worker_running = true;
    world.run_until("2027-03-04T11:00").await;
    assert_eq!(world.calls("http://j/"), ["04 10:00"]);
    assert_eq!(world.history("j").await, ["01 10:00 #1.0"]);
    assert_eq!(world.status("j").await, status("completed").executions(1));
}

#[tokio::test]
async fn of_what_fell_due_while_the_only_process_was_away_the_last_runs() {
    for minutes_away in [5, 120] {
        let mut world = World::local("2027-03-01T09:00").await;
        world.put("j", minutely()).await;
        world.run_until("2027-03-01T10:02:30").await;
        (world.sweeper_running, world.worker_running) = (false, false);
        world.run_for(TimeDelta::minutes(minutes_away)).await;
        let mut world = world.restart().await;
        (world.sweeper_running, world.worker_running) = (true, true);
        world.run_for(TimeDelta::seconds(90)).await;
        let calls = world.calls("http://j/");
        // Until 10:03:40 it may have been there: 10:03 runs, the last one in the outage, and two more.
        assert_eq!(calls.len(), 3 + 1 + 1 + 2, "{calls:?}");
        let skipped = u64::try_from(minutes_away).unwrap() - 2;
        assert_eq!(world.status("j").await, status("enabled").executions(7).skipped(skipped));
    }
}

#[tokio::test]
async fn messages_left_by_an_outage_are_skipped_with_few_reads() {
    let mut world = World::local("2027-03-01T09:00").await;
    world.put("j", minutely()).await;
    world.run_until("2027-03-01T10:02:30").await;
    world.worker_running = false;
    world.run_until("2027-03-01T12:59:30").await;
    let messages = world.queued();
    assert_eq!(messages, 179);
    world.sweeper_running = false;
    world.run_until("2027-03-01T13:20").await;
    let world = world.restart().await;
    world.deliver_all().await;
    let reads = world.snapshots_read();
    println!("figure: {messages} messages, {reads} snapshots");
    // Each reads before it starts, and again if another was counted in between.
    assert!(reads <= 3 * messages, "{reads}");
    // More than are remembered, and none is counted twice or not at all. The first of them is of a time
    // at which the process may still have been there.
    let counted = status("enabled").executions(3 + 1).skipped(messages as u64 - 1);
    assert_eq!(world.status("j").await, counted);
    // One item of history for all of them.
    assert_eq!(world.left_out("j").await, ["01 10:04 to 01 13:01: 178"]);
}

#[tokio::test]
async fn the_next_process_takes_over_unfinished_attempts_at_once() {
    let mut world = World::local("2027-03-01T09:00").await;
    world.targets.next("http://j/", &[Kill]);
    world.put("j", json!({"startTime": "2027-03-01T10:00"})).await;
    world.run_until("2027-03-01T09:59:59").await;
    world.deliver().await;
    let mut world = world.restart().await;
    world.run_until("2027-03-01T10:01").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:00"]);
    assert_eq!(world.status("j").await, status("completed").executions(1));
}

#[tokio::test]
async fn a_process_that_stops_releases_claims_of_attempts_that_are_not_due() {
    let mut world = World::local("2027-03-01T09:00").await;
    world.put("j", json!({"startTime": "2027-03-01T10:00"})).await;
    world.run_until("2027-03-01T09:59:59").await;
    let (job, parcel, executor) = (world.job("j").await, world.take(), world.waiting());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let performing = {
        let work_item = parcel.work_item();
        let stop = Stop::when(async { stopped.await.unwrap() });
        tokio::spawn(async move { executor.perform(&work_item, &Unbounded, &stop).await })
    };
    while world.n_executions(&job).await == 0 {
        tokio::task::yield_now().await;
    }
    stop.send(()).unwrap();
    assert_eq!(performing.await.unwrap().unwrap(), Performed::Again(Duration::ZERO));
    assert_eq!(world.n_executions(&job).await, 0, "no claim is left");
    let mut world = world.restart().await;
    world.run_until("2027-03-01T10:01").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00"]);
    assert_eq!(world.status("j").await, status("completed").executions(1));
}

#[tokio::test]
async fn another_worker_performs_the_attempt_of_a_dead_worker() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.next("http://j/", &[Kill]);
    world.put("j", json!({"startTime": "2027-03-01T10:00"})).await;
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:02"]);
    assert_eq!(world.history("j").await, ["01 10:00 #1.0"]);
    assert_eq!(world.status("j").await, status("completed").executions(1));
}

#[tokio::test]
async fn a_message_waits_for_the_lease_of_another_worker() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.next("http://j/", &[Kill]);
    world.put("j", json!({"startTime": "2027-03-01T10:00"})).await;
    world.visibility = TimeDelta::seconds(10);
    world.run_until("2027-03-01T11:00").await;
    // The lease of a hundred seconds, and one more.
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:01:41"]);
    assert_eq!(world.status("j").await, status("completed").executions(1));
}

#[tokio::test]
async fn an_action_that_kills_its_workers_is_recorded_as_failed() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.targets.always("http://j/", Kill);
    let none = json!({"retryPolicy": {"retryType": "None"}});
    world.put("j", json!({"startTime": "2027-03-01T10:00", "action": none})).await;
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.calls("http://j/").len(), 9);
    assert_eq!(world.history("j").await, ["01 10:00 #1.0 failed"]);
    let message = &world.executions("j").await[0].record.message;
    assert!(message.ends_with("Its workers were lost, again and again"), "{message}");
    assert_eq!(world.status("j").await, status("faulted").executions(1).failures(1).faulted(1));
    assert!(world.dead.is_empty());
}

#[tokio::test]
async fn a_message_delivered_twice_performs_its_action_once() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.redeliver = true;
    world.targets.always("http://j/", Fail);
    let action = json!({"retryPolicy": {"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 1}, "errorAction": {"type": "Http", "request": {"uri": "http://err/", "method": "GET"}}});
    world
        .put("j", json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "hour", "count": 3}, "action": action}))
        .await;
    world.put("long", json!({"startTime": "2027-03-01T10:00", "action": {"retryPolicy": {"retryType": "Fixed", "retryInterval": "PT1H", "retryCount": 1}}})).await;
    world.targets.next("http://long/", &[Fail]);
    world.run_until("2027-03-01T13:00").await;
    assert_eq!(world.calls("http://j/").len(), 6);
    assert_eq!(world.calls("http://err/").len(), 3);
    assert_eq!(world.status("j").await, status("faulted").executions(6).failures(6).faulted(3));
    assert_eq!(world.calls("http://long/"), ["01 10:00", "01 11:00"]);
    assert_eq!(world.status("long").await, status("completed").executions(2).failures(1));
    assert_eq!(world.noted.happened().finished.len(), 2);
}

#[tokio::test]
async fn a_message_delivered_twice_is_counted_as_skipped_once() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.redeliver = true;
    world.put("j", minutely()).await;
    world.run_until("2027-03-01T10:00:30").await;
    world.worker_running = false;
    world.run_until("2027-03-01T10:13:30").await;
    world.worker_running = true;
    world.run_until("2027-03-01T10:14:30").await;
    // 10:02 and 10:03.
    assert_eq!(world.status("j").await, status("enabled").executions(13).skipped(2));
}

#[tokio::test]
async fn a_slow_worker_is_late_and_never_early() {
    let mut world = World::at("2027-03-01T09:00").await;
    // Each takes longer than there is time, one after the other.
    world.targets.always("http://j/", Take(50));
    world.put("j", json!({"startTime": "2027-03-01T10:00:00.75", "recurrence": {"frequency": "minute", "count": 4}})).await;
    world.put("k", json!({"startTime": "2027-03-01T10:00:01.25", "recurrence": {"frequency": "minute", "count": 4}})).await;
    world.run_until("2027-03-01T10:30").await;
    let at = |text: &str| instant(&format!("2027-03-01T{text}"));
    let calls = world.targets.calls();
    let k: Vec<_> = calls.iter().filter(|it| it.uri == "http://k/").map(|it| it.at).collect();
    assert_eq!(k, ["10:00:50.75", "10:01:50.75", "10:02:50.75", "10:03:50.75"].map(at));
    let j: Vec<_> = calls.iter().filter(|it| it.uri == "http://j/").map(|it| it.at).collect();
    assert_eq!(j, ["10:00:00.75", "10:01:00.75", "10:02:00.75", "10:03:00.75"].map(at));
}

#[tokio::test]
async fn a_stalled_worker_keeps_the_message_for_the_worker_that_took_over() {
    let mut world = World::at("2027-03-01T09:58").await;
    world.targets.next("http://j/", &[Hold]);
    let job = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "hour"}});
    world.put("j", job).await;
    let (job, targets, store) = (world.job("j").await, world.targets.clone(), world.store.clone());
    let other = async {
        while targets.calls().is_empty() {
            tokio::task::yield_now().await;
        }
        let now = targets.calls()[0].at + LEASE + TimeDelta::seconds(1);
        let page = PageRequest { from: None, items_max: 1 };
        let attempt =
            History::list(store.as_ref(), &job.uid, page).await.unwrap().items.remove(0).attempt;
        let (claim_id, lease_until) = ("other".to_owned(), now + LEASE);
        let claim = Claim { job, attempt, claim_id, lease_until };
        let claimed = store.claim(&ClaimRequest { claim, now }).await.unwrap();
        assert_eq!(claimed, Claimed::Won);
        targets.go_on();
    };
    tokio::join!(world.run_until("2027-03-01T10:00:30"), other);
    assert_eq!(world.history("j").await, [""; 0]);
    // The other one dies.
    world.run_until("2027-03-01T10:10").await;
    assert_eq!(world.calls("http://j/").len(), 2);
    assert_eq!(world.status("j").await, status("enabled").executions(1));
}
