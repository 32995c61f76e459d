//! History that is kept for a shorter time, and messages that come back after it.

use chrono::TimeDelta;
use minutehand_domain::collection::CollectionState::{Disabled, Enabled};
use serde_json::json;

use super::target::Behaviour::{Fail, Succeed};
use super::world::{World, instant, status};

/// A world that keeps history for 7 days.
async fn week(now: &str) -> World {
    let mut world = World::at(now).await;
    world.keep_history("7");
    world
}

impl World {
    /// Goes on until a time, and removes what has expired each day.
    async fn live_until(&mut self, until: &str) {
        while self.now() < instant(until) {
            self.run_to(instant(until).min(self.now() + TimeDelta::days(1))).await;
            self.expire().await;
        }
    }

    /// The same for a time in which no sweeper works, and a test has less to do.
    async fn wait_until(&mut self, until: &str) {
        self.sweeper_running = false;
        self.live_until(until).await;
        self.sweeper_running = true;
    }
}

#[tokio::test]
async fn a_dead_letter_that_comes_back_runs_nothing_twice_on_its_last_day_and_later() {
    let mut world = week("2027-03-01T09:59").await;
    let daily = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "day"}});
    world.put("j", daily).await;
    let letter = world.copy_all().remove(0);
    world.live_until("2027-03-07T09:59").await;
    let job = world.job("j").await;
    assert_eq!((world.calls("http://j/").len(), world.n_executions(&job).await), (6, 6));
    // SQS deletes it a minute later.
    world.put_back(letter.clone());
    world.live_until("2027-03-07T09:59:30").await;
    assert_eq!(world.calls("http://j/").len(), 6);
    // To be sent again made it a new message there, and its time began anew.
    world.live_until("2027-03-12T10:30").await;
    assert_eq!(world.calls("http://j/").len(), 12);
    assert_eq!(world.n_executions(&job).await, 7, "the record has expired");
    world.put_back(letter);
    world.live_until("2027-03-12T10:40").await;
    assert_eq!((world.calls("http://j/").len(), world.queued()), (12, 0));
    assert_eq!(world.status("j").await, status("enabled").executions(12));
}

#[tokio::test]
async fn a_letter_whose_attempt_was_never_made_is_made_on_its_last_day() {
    let mut world = week("2027-03-01T09:59").await;
    world.put("j", json!({"startTime": "2027-03-01T10:00"})).await;
    let letter = world.take();
    // Otherwise it is sent again much earlier.
    world.sweeper_running = false;
    world.live_until("2027-03-07T09:58").await;
    world.put_back(letter);
    world.deliver().await;
    assert_eq!(world.calls("http://j/"), ["07 09:58"]);
}

#[tokio::test]
async fn a_retry_that_waits_for_longer_than_history_runs_once_and_ends_the_job() {
    let mut world = week("2027-03-01T09:59").await;
    world.put_failing_once("j", "P10D").await;
    world.live_until("2027-03-01T12:00").await;
    world.wait_until("2027-03-10T10:00").await;
    let job = world.job("j").await;
    assert_eq!(world.n_executions(&job).await, 0, "the first attempt is forgotten");
    assert_eq!(world.status("j").await.state, "enabled");
    world.redeliver = true;
    world.live_until("2027-03-11T12:00").await;
    let calls = world.calls("http://j/");
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert_eq!(world.status("j").await, status("completed").executions(2).failures(1));
    world.wait_until("2027-03-25T10:00").await;
    assert_eq!(world.calls("http://j/").len(), 2);
}

#[tokio::test]
async fn a_retry_that_was_due_while_nothing_worked_for_longer_than_history_is_not_forgotten() {
    let mut world = week("2027-03-01T09:59").await;
    world.put_failing_once("j", "P1D").await;
    world.live_until("2027-03-01T11:00").await;
    (world.sweeper_running, world.worker_running) = (false, false);
    world.live_until("2027-03-12T10:00").await;
    (world.sweeper_running, world.worker_running) = (true, true);
    world.live_until("2027-03-12T11:00").await;
    assert_eq!(world.calls("http://j/").len(), 2);
    assert_eq!(world.status("j").await, status("completed").executions(2).failures(1));
}

#[tokio::test]
async fn the_last_of_many_long_retries_decides_although_the_others_are_forgotten() {
    for (last, state) in [(Fail, "faulted"), (Succeed, "completed")] {
        let mut world = week("2027-03-01T09:59").await;
        world.targets.always("http://j/", Fail);
        let retries = json!({"retryType": "Fixed", "retryInterval": "P8D", "retryCount": 2});
        let start = "2027-03-01T10:00";
        world.put("j", json!({"startTime": start, "action": {"retryPolicy": retries}})).await;
        world.live_until("2027-03-01T12:00").await;
        world.wait_until("2027-03-09T09:00").await;
        world.live_until("2027-03-09T12:00").await;
        assert_eq!(world.status("j").await, status("enabled").executions(2).failures(2));
        world.targets.always("http://j/", last);
        world.wait_until("2027-03-17T09:00").await;
        world.live_until("2027-03-17T12:00").await;
        let status = world.status("j").await;
        assert_eq!((status.state.as_str(), world.calls("http://j/").len()), (state, 3));
    }
}

#[tokio::test]
async fn a_job_that_can_end_only_after_its_history_has_expired_ends_and_runs_nothing_again() {
    let mut world = week("2027-03-01T09:59").await;
    world.put_failing_once("j", "P1D").await;
    world.live_until("2027-03-01T11:00").await;
    // Its retry is due while the collection is off, and never comes.
    world.switch(Disabled).await;
    world.live_until("2027-03-02T12:00").await;
    world.wait_until("2027-03-12T10:00").await;
    world.switch(Enabled).await;
    world.live_until("2027-03-12T12:00").await;
    assert_eq!(world.calls("http://j/").len(), 1);
    assert_eq!(world.status("j").await.state, "completed", "of the failure nothing is known");
}

#[tokio::test]
async fn a_setting_that_goes_down_and_up_again_runs_nothing_twice() {
    let mut world = World::at("2027-01-01T09:00").await;
    let monthly = json!({"startTime": "2027-01-01T10:00", "recurrence": {"frequency": "month"}});
    world.put("j", monthly).await;
    let daily = json!({"startTime": "2027-01-01T10:00", "recurrence": {"frequency": "day"}});
    world.put("d", daily).await;
    world.live_until("2027-02-01T09:00").await;
    assert_eq!(world.executions("d").await.len(), 31);
    // From now on, 7 days are answered. What was written to stay for longer is only hidden.
    world.keep_history("7");
    assert_eq!(world.executions("d").await.len(), 7);
    world.live_until("2027-02-20T09:00").await;
    let daily = world.job("d").await;
    assert_eq!(world.n_executions(&daily).await, 31 + 7);
    // From now on, 60 days: what was written before to stay is there again, the rest is gone.
    world.keep_history("60");
    assert_eq!(world.executions("d").await.len(), 31 + 7);
    world.live_until("2027-02-28T09:00").await;
    assert_eq!(world.executions("d").await.len(), 31 + 8);
    // Of the first of February there is no record, and yet it is not taken for lost.
    world.live_until("2027-03-02T09:00").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00"; 3]);
    assert_eq!(world.executions("j").await.len(), 2);
    // Nor does a letter of that time run again.
    world.live_until("2027-05-30T09:00").await;
    assert_eq!(world.executions("d").await.len(), 60);
}
