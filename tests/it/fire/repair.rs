//! A lost queue, and the repair that sends again what it must have held.

use serde_json::json;

use super::target::Behaviour::{Fail, Kill};
use super::world::{World, status};

/// Jobs that have every kind of message in the queue at some time of these two hours.
async fn with_jobs() -> World {
    let mut world = World::local("2027-03-01T09:30").await;
    let retry =
        |interval: &str| json!({"retryType": "Fixed", "retryInterval": interval, "retryCount": 2});
    let err = json!({"type": "Http", "request": {"uri": "http://err/", "method": "GET"}});
    let request = json!({"method": "POST", "uri": "http://notice/"});
    let notice = json!({"type": "Http", "request": request, "retryPolicy": retry("PT4M")});
    world.patch_collection(json!({"minutehand": {"onFailure": notice}})).await;
    let often = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute", "interval": 3}});
    world.put("often", often).await;
    let hourly =
        json!({"startTime": "2027-03-01T10:05", "recurrence": {"frequency": "hour", "count": 2}});
    world.put("hourly", hourly).await;
    world.put("once", json!({"startTime": "2027-03-01T10:10"})).await;
    let fails = json!({"retryPolicy": retry("PT4M"), "errorAction": err});
    world.put("fails", json!({"startTime": "2027-03-01T10:00", "action": fails})).await;
    world
        .put(
            "long",
            json!({"startTime": "2027-03-01T10:00", "action": {"retryPolicy": retry("PT30M")}}),
        )
        .await;
    world.targets.always("http://fails/", Fail);
    world.targets.always("http://long/", Fail);
    // A retry of a notice waits from 10:08 to 10:12.
    world.targets.next("http://notice/", &[Fail]);
    world.run_until("2027-03-01T09:40").await;
    world
}

/// The history of all jobs, and the calls to the target of the error action.
async fn outcome(world: &World) -> Vec<String> {
    let mut lines = Vec::new();
    for job in ["often", "hourly", "once", "fails", "long"] {
        lines.extend(world.history(job).await.into_iter().map(|line| format!("{job} {line}")));
        lines.push(format!("{job} {:?}", world.status(job).await));
    }
    lines.push(format!("{} calls", world.targets.calls().len()));
    lines
}

#[tokio::test]
async fn after_a_repair_everything_runs_as_if_the_queue_had_never_been_lost() {
    let mut undisturbed = with_jobs().await;
    undisturbed.run_until("2027-03-01T12:00").await;
    let expected = outcome(&undisturbed).await;
    assert!(expected.len() > 50, "{expected:#?}");
    assert_eq!(undisturbed.calls("http://notice/"), ["01 10:08", "01 10:12", "01 11:00"]);
    for lost_at in ["09:59:30", "10:00:30", "10:02", "10:05:01", "10:08:59", "10:31", "11:30"] {
        let mut world = with_jobs().await;
        world.run_until(&format!("2027-03-01T{lost_at}")).await;
        world.lose_all();
        world.restart("p2");
        let report = world.repair().await;
        assert!(report.occurrences > 0 && report.unreadable == 0, "{lost_at}: {report:?}");
        world.run_until("2027-03-01T12:00").await;
        assert_eq!(outcome(&world).await, expected, "lost at {lost_at}");
    }
}

#[tokio::test]
async fn a_long_retry_that_was_sent_is_made_at_its_time() {
    let mut world = with_jobs().await;
    world.run_until("2027-03-01T10:29:30").await;
    assert_eq!(world.calls("http://long/"), ["01 10:00"]);
    world.lose_all();
    world.restart("p2");
    world.repair().await;
    world.run_until("2027-03-01T10:31").await;
    assert_eq!(world.calls("http://long/"), ["01 10:00", "01 10:30"]);
}

#[tokio::test]
async fn without_a_repair_the_occurrences_are_lost() {
    let mut world = with_jobs().await;
    world.run_until("2027-03-01T09:59:30").await;
    world.lose_all();
    world.restart("p2");
    world.run_until("2027-03-01T10:12").await;
    assert_eq!(world.calls("http://often/"), Vec::<String>::new());
}

#[tokio::test]
async fn a_repair_of_a_repair_makes_no_attempt_twice() {
    let mut world = with_jobs().await;
    world.run_until("2027-03-01T10:05:01").await;
    world.lose_all();
    world.restart("p2");
    let first = world.repair().await;
    assert_eq!(world.repair().await, first);
    world.run_until("2027-03-01T12:00").await;
    let mut undisturbed = with_jobs().await;
    undisturbed.run_until("2027-03-01T12:00").await;
    assert_eq!(outcome(&world).await, outcome(&undisturbed).await);
}

#[tokio::test]
async fn an_attempt_that_was_under_way_is_made_again_and_only_an_unclaimed_run_is_lost() {
    let mut world = World::local("2027-03-01T09:59").await;
    world.put("j", json!({"startTime": "2027-03-01T10:00"})).await;
    world.put("far", json!({"startTime": "2027-06-01T10:00"})).await;
    world.targets.next("http://j/", &[Kill]);
    world.run_until("2027-03-01T10:00:01").await;
    // A run that a worker has claimed, and one that none has.
    world.targets.next("http://far/", &[Kill]);
    world.call_run("far").await;
    world.run_until("2027-03-01T10:00:05").await;
    world.worker_running = false;
    world.call_run("far").await;
    world.lose_all();
    world.restart("p2");
    world.worker_running = true;
    let report = world.repair().await;
    assert_eq!((report.occurrences, report.attempts), (0, 2));
    world.run_until("2027-03-01T10:30").await;
    assert_eq!(world.calls("http://j/").len(), 2);
    assert_eq!(world.calls("http://far/").len(), 2, "of two runs one was begun before");
    assert_eq!(world.history("j").await, ["01 10:00 #1.0"]);
}

#[tokio::test]
async fn all_runs_that_were_under_way_go_on_however_many() {
    const RUNS: usize = 120;
    let mut world = World::local("2027-03-01T09:59").await;
    world.put("far", json!({"startTime": "2027-06-01T10:00"})).await;
    world.targets.next("http://far/", &[Kill; RUNS]);
    for _ in 0..RUNS {
        world.call_run("far").await;
    }
    world.run_until("2027-03-01T10:00:30").await;
    assert_eq!(world.calls("http://far/").len(), RUNS);
    world.lose_all();
    world.restart("p2");
    assert_eq!(world.repair().await.attempts, 120);
    world.run_until("2027-03-01T10:30").await;
    assert_eq!(world.history("far").await.len(), RUNS);
}

#[tokio::test]
async fn what_was_under_way_or_waiting_for_a_job_at_rest_goes_on() {
    let mut world = World::local("2027-03-01T09:59").await;
    // A run of a disabled job is under way.
    world.put("off", json!({"startTime": "2027-06-01T10:00", "state": "Disabled"})).await;
    world.targets.next("http://off/", &[Kill]);
    world.call_run("off").await;
    // The error action of a job that has finished has begun.
    let err = json!({"type": "Http", "request": {"uri": "http://err/", "method": "GET"}});
    let never = json!({"retryPolicy": {"retryType": "None"}, "errorAction": err});
    world.put("over", json!({"startTime": "2027-03-01T10:00", "action": never})).await;
    world.targets.always("http://over/", Fail);
    world.targets.next("http://err/", &[Kill]);
    world.run_until("2027-03-01T10:00:05").await;
    world.lose_all();
    world.restart("p2");
    let report = world.repair().await;
    assert_eq!((report.occurrences, report.attempts), (0, 3), "two of them were under way");
    world.run_until("2027-03-01T10:30").await;
    assert_eq!(world.calls("http://off/").len(), 2);
    assert_eq!(world.calls("http://err/").len(), 2);
    assert_eq!(world.calls("http://over/").len(), 1);
    assert_eq!(world.history("off").await.len(), 1);
}

#[tokio::test]
async fn what_has_long_ended_is_not_looked_at_again() {
    let mut world = World::local("2027-03-01T09:59").await;
    world.targets.always("http://j/", Fail);
    let never = json!({"retryPolicy": {"retryType": "None"}});
    let daily = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "day"}, "action": never});
    world.put("j", daily).await;
    let often = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"}});
    world.put("often", often).await;
    world.run_until("2027-03-01T15:00").await;
    // With today's policy the failure of this morning would have a retry.
    let once = json!({"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 1});
    world.patch("j", json!({"action": {"retryPolicy": once}})).await;
    world.lose_all();
    world.restart("p2");
    world.repair().await;
    world.run_until("2027-03-01T16:00").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00"]);
}

#[tokio::test]
async fn what_was_sent_before_an_outage_and_lost_with_the_queue_is_left_out_with_a_word() {
    let mut world = World::local("2027-03-01T09:00").await;
    let minutely = json!({"frequency": "minute"});
    world.put("j", json!({"startTime": "2027-03-01T10:00", "recurrence": minutely})).await;
    world.run_until("2027-03-01T10:05:30").await;
    world.lose_all();
    (world.sweeper_running, world.worker_running) = (false, false);
    world.run_until("2027-03-01T12:30").await;
    world.restart("p2");
    (world.sweeper_running, world.worker_running) = (true, true);
    world.repair().await;
    world.run_until("2027-03-01T12:31:30").await;
    // Until 10:06:40 workers may have been there. After that, only the last one runs.
    assert_eq!(world.calls("http://j/").len(), 7 + 2);
    assert_eq!(world.status("j").await, status("enabled").executions(9).skipped(143));
}
