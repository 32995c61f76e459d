//! How jobs end, and what goes when they have.

use chrono::TimeDelta;
use serde_json::json;

use super::target::Behaviour::Fail;
use super::world::{World, instant, short, status};

#[tokio::test]
async fn a_job_finishes_with_its_count_or_its_end_whichever_comes_first() {
    for (rule, last) in [
        (json!({"frequency": "minute", "count": 3}), "01 10:02 #3.0"),
        // The end is part of it.
        (json!({"frequency": "minute", "endTime": "2027-03-01T10:03"}), "01 10:03 #4.0"),
        (
            json!({"frequency": "minute", "endTime": "2027-03-01T10:02:59", "count": 9}),
            "01 10:02 #3.0",
        ),
        (
            json!({"frequency": "minute", "endTime": "2027-03-01T12:00", "count": 2}),
            "01 10:01 #2.0",
        ),
    ] {
        let mut world = World::at("2027-03-01T09:00").await;
        let start = "2027-03-01T10:00";
        world.put("j", json!({"startTime": start, "recurrence": rule})).await;
        world.run_until("2027-03-01T10:10").await;
        assert_eq!(world.history("j").await.last().unwrap(), last);
        assert_eq!(world.status("j").await.state, "completed");
    }
}

#[tokio::test]
async fn a_job_created_after_its_end_finishes_at_once() {
    let mut world = World::at("2027-03-01T09:00").await;
    let over = json!({"startTime": "2027-01-01", "recurrence": {"frequency": "day", "endTime": "2027-02-01"}});
    world.put("j", over).await;
    assert_eq!(world.status("j").await, status("completed"));
    world.run_until("2027-03-03T09:00").await;
    assert!(world.calls("http://j/").is_empty());
    // It is deleted like any other.
    world.run_until("2027-04-30T08:59").await;
    assert!(world.is_there("j").await);
    world.run_until("2027-04-30T09:02").await;
    assert!(!world.is_there("j").await);
}

#[tokio::test]
async fn a_disabled_job_enabled_after_its_end_finishes_at_once() {
    let mut world = World::at("2027-03-01T09:00").await;
    let off = json!({"state": "Disabled", "startTime": "2027-01-01", "recurrence": {"frequency": "day", "endTime": "2027-02-01"}});
    world.put("j", off).await;
    world.run_until("2027-03-01T09:30").await;
    assert_eq!(world.view("j").await.state.name(), "disabled");
    world.enable("j").await;
    assert_eq!(world.status("j").await, status("completed"));
}

#[tokio::test]
async fn a_finished_job_is_deleted_after_sixty_days_and_frees_its_place() {
    for fails in [false, true] {
        let mut world = World::with("2027-03-01T09:00", json!({"quota": {"maxJobCount": 1}})).await;
        if fails {
            world.targets.always("http://j/", Fail);
        }
        let none = json!({"retryPolicy": {"retryType": "None"}});
        world.put("j", json!({"startTime": "2027-03-01T10:00", "action": none})).await;
        world.run_until("2027-03-01T10:01").await;
        assert_eq!(world.status("j").await.state, if fails { "faulted" } else { "completed" });
        world.run_until("2027-04-30T09:59").await;
        assert!(world.try_put("k", json!({})).await.is_err());
        world.run_until("2027-04-30T10:02").await;
        assert!(!world.is_there("j").await);
        world.put("k", json!({})).await;
        world.run_for(TimeDelta::minutes(1)).await;
        assert_eq!(world.calls("http://k/").len(), 1);
    }
}

#[tokio::test]
async fn history_is_answered_for_sixty_days() {
    let mut world = World::at("2027-01-01T09:00").await;
    world
        .put("j", json!({"startTime": "2027-01-01T10:00", "recurrence": {"frequency": "day"}}))
        .await;
    world.run_until("2027-03-15T09:00").await;
    let history = world.executions("j").await;
    assert_eq!(history.len(), 60);
    assert_eq!(short(history[59].expected_at()), "14 10:00");
    assert_eq!(history[59].record.repeat_count, 14);
    assert!(history[59].record.ended_at > instant("2027-03-15T09:00") - TimeDelta::days(60));
}

#[tokio::test]
async fn the_last_occurrence_is_sent_again_if_its_message_is_lost() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.put("j", json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute", "count": 3}})).await;
    assert_eq!(world.queued(), 3);
    world.run_until("2027-03-01T10:01:30").await;
    world.lose_all();
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0", "01 10:01 #2.0", "01 10:02 #3.0"]);
    assert_eq!(world.calls("http://j/")[2], "01 10:22", "looked at after twenty minutes");
    assert_eq!(world.status("j").await, status("completed").executions(3));
}

#[tokio::test]
async fn an_occurrence_whose_message_is_lost_is_sent_again_at_the_next_planning() {
    let mut world = World::at("2027-03-01T09:59").await;
    let every = |n| json!({"frequency": "minute", "interval": n});
    for (name, interval) in [("j", 1), ("hourly", 60)] {
        let start = "2027-03-01T10:00";
        world.put(name, json!({"startTime": start, "recurrence": every(interval)})).await;
    }
    world.tick_until("2027-03-01T10:05:30").await;
    // Those of seven minutes.
    world.lose_all();
    world.tick_until("2027-03-01T10:20:30").await;
    let calls = world.calls("http://j/");
    // The last three were not due for long enough.
    assert_eq!(calls.len(), 18, "{calls:?}");
    assert_eq!(calls[6..10], ["01 10:11"; 4], "sent again together");
    world.tick_until("2027-03-01T10:30:30").await;
    assert_eq!(world.calls("http://j/").len(), 31, "they were found the next time");
    world.tick_until("2027-03-01T10:59:30").await;
    world.lose_all();
    world.tick_until("2027-03-01T11:59:30").await;
    assert_eq!(world.calls("http://hourly/"), ["01 10:00", "01 11:58"]);
    // Nothing of a time in which it is not owed.
    world.disable("hourly").await;
    world.tick_until("2027-03-01T13:30").await;
    world.enable("hourly").await;
    world.tick_until("2027-03-01T15:30").await;
    let calls = world.calls("http://hourly/");
    assert_eq!(calls[2..], ["01 14:00", "01 15:00"], "{calls:?}");
}
