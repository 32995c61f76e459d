//! Jobs that come and go as they should.
use serde_json::json;

use super::world::{World, status};

#[tokio::test]
async fn a_weekday_job_fires_on_weekdays() {
    let mut world = World::at("2027-03-01T00:00").await; // A Monday.
    let weekdays = json!({"frequency": "week", "schedule": {"weekDays": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"], "hours": [9], "minutes": [30]}});
    world.put("j", json!({"startTime": "2027-01-01", "recurrence": weekdays})).await;
    world.run_until("2027-03-08T00:00").await;
    let days =
        ["01 09:30 #1.0", "02 09:30 #2.0", "03 09:30 #3.0", "04 09:30 #4.0", "05 09:30 #5.0"];
    assert_eq!(world.history("j").await, days);
    assert_eq!(world.calls("http://j/").len(), 5);
    assert_eq!(world.status("j").await, status("enabled").executions(5));
}

#[tokio::test]
async fn a_one_time_job_fires_once() {
    let mut world = World::at("2027-03-01T00:00").await;
    world.put("j", json!({"startTime": "2027-03-01T10:00:20"})).await;
    world.run_until("2027-03-03T00:00").await;
    assert_eq!(world.history("j").await, ["01 10:00:20 #1.0"]);
    assert_eq!(world.status("j").await, status("completed").executions(1));
    assert_eq!(world.queued(), 0);
}
