//! Attempts that get no place at their origin.

use std::sync::Mutex;

use minutehand_app::fire::{DeliveryPlace, Performed, Wait};
use minutehand_domain::firing::limits::RECEIVES_MAX;
use serde_json::json;

use super::target::Behaviour::{NotMade, Succeed};
use super::world::{World, status};

/// A place among few, at a machine on which this origin has as many as it may.
struct Scarce {
    full: &'static str,
    /// What the executor has told.
    told: Mutex<Vec<String>>,
}

impl Scarce {
    fn with(full: &'static str) -> Self {
        Self { full, told: Mutex::default() }
    }
}

impl DeliveryPlace for Scarce {
    fn is_scarce(&self) -> bool {
        true
    }

    fn try_origin(&self, origin: &str) -> bool {
        self.told.lock().unwrap().push(format!("try {origin}"));
        origin != self.full
    }

    fn set_origin(&self, origin: &str) {
        self.told.lock().unwrap().push(format!("set {origin}"));
    }
}

#[tokio::test]
async fn an_attempt_without_a_place_at_its_origin_waits_without_a_claim() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put("j", json!({"startTime": "2027-03-01T10:00"})).await;
    world.run_until("2027-03-01T09:59:59").await;
    let job = world.job("j").await;
    for _ in 0..2 * RECEIVES_MAX {
        let performed = world.deliver_at(&Scarce::with("request http://j")).await;
        let origin = "request http://j".to_owned();
        assert_eq!(performed, Performed::Waits(Wait::ForOrigin(origin)));
    }
    assert_eq!(world.n_executions(&job).await, 0, "nothing was claimed");
    assert_eq!(world.calls("http://j/"), [""; 0]);
    world.run_until("2027-03-01T10:01").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00"]);
    assert_eq!(world.status("j").await, status("completed").executions(1));
}

#[tokio::test]
async fn an_attempt_tells_its_origin_before_the_claim_and_when_it_starts() {
    let mut world = World::at("2027-03-01T09:00").await;
    for name in ["j", "gone"] {
        world.put(name, json!({"startTime": "2027-03-01T10:00"})).await;
    }
    world.worker_running = false;
    world.run_until("2027-03-01T10:00").await;
    world.delete("gone").await;
    let mut told = Vec::new();
    for _ in 0..2 {
        let place = Scarce::with("another");
        assert_eq!(world.deliver_at(&place).await, Performed::Done);
        told.extend(place.told.into_inner().unwrap());
    }
    // A job that is gone calls nothing.
    assert_eq!(told, ["try request http://j", "set request http://j"]);
    assert_eq!(world.calls("http://j/"), ["01 10:00"]);
}

#[tokio::test]
async fn an_attempt_that_waits_for_half_an_hour_runs_once_and_is_no_dead_letter() {
    let mut world = World::at("2027-03-01T09:59:30").await;
    world.put("j", json!({"startTime": "2027-03-01T10:00"})).await;
    world.targets.always("http://j/", NotMade);
    world.run_until("2027-03-01T10:30").await;
    // Twenty deliveries without success make a dead letter.
    assert!(world.targets.calls().len() > 150, "it was tried again and again");
    assert_eq!(world.history("j").await, [""; 0], "it is not a failure of the target");
    world.targets.always("http://j/", Succeed);
    world.run_until("2027-03-01T11:30").await;
    assert_eq!(world.history("j").await.len(), 1);
    assert_eq!(world.status("j").await, status("completed").executions(1));
    assert!(world.dead.is_empty());
    assert_eq!(world.queued(), 0);
}
