//! What a firing costs in the store, as its answers say. The figures are printed:
//! `cargo test -p minutehand-tests fire::cost -- --nocapture`.

use std::collections::BTreeMap;

use minutehand_domain::work_item::JobRef;
use minutehand_store_dynamodb::{Consumed, MeteredCall};
use serde_json::{Value, json};

use super::world::World;

/// Write units for each firing until then, and of what calls.
async fn writes(job: &Value, until: &str, firings: u32) -> f64 {
    let (units, calls) = consumed(job, until, firings).await;
    // Only jobs that let none overlap have such an item, and only collections with limits the other one.
    for call in [
        MeteredCall::Turns,
        MeteredCall::ReadTurns,
        MeteredCall::Slots,
        MeteredCall::ReadSlots,
        MeteredCall::Seats,
        MeteredCall::ReadSeats,
        MeteredCall::Postpone,
    ] {
        assert!(!calls.contains_key(&call), "{calls:?}");
    }
    units
}

/// The same, with all that was consumed.
async fn consumed(
    job: &Value,
    until: &str,
    firings: u32,
) -> (f64, BTreeMap<MeteredCall, Consumed>) {
    consumed_in(json!({}), job, until, firings).await
}

/// The same, in a collection of these properties.
async fn consumed_in(
    collection: Value,
    job: &Value,
    until: &str,
    firings: u32,
) -> (f64, BTreeMap<MeteredCall, Consumed>) {
    let mut world = World::on_table("2027-03-01T09:59", collection).await;
    world.put("j", job.clone()).await;
    world.run_until(until).await;
    assert_eq!(world.calls("http://j/").len(), firings as usize);
    let calls = world.table().meter.take();
    // An installation beats whether or not anything fires, and a change is not a firing.
    let others = [MeteredCall::Beat, MeteredCall::Change];
    let firing = calls.iter().filter(|(call, _)| !others.contains(call));
    let (writing, reading): (Vec<_>, Vec<_>) = firing.partition(|(call, _)| call.is_write());
    let show = |which: &[(&MeteredCall, &Consumed)]| {
        let each = which
            .iter()
            .map(|(call, consumed)| format!("{call:?} {:.2}", consumed.units / f64::from(firings)));
        each.collect::<Vec<_>>().join(", ")
    };
    let units = writing.iter().map(|(_, it)| it.units).sum::<f64>() / f64::from(firings);
    println!("figure: {units:.2} write units a firing of {firings}: {}", show(&writing));
    println!("figure: read units: {}", show(&reading));
    assert!(!calls.contains_key(&MeteredCall::Release), "{calls:?}");
    (units, calls)
}

#[tokio::test]
async fn a_job_that_lets_none_overlap_writes_one_unit_more_and_reads_four() {
    let job = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"},
        "minutehand": {"overlap": {"policy": "skip"}}});
    let (units, calls) = consumed(&job, "2027-03-01T11:31:30", 92).await;
    assert!(units <= 4.3, "{units}");
    // Whose turn it is, whether that one has ended, and what is known of the attempt itself.
    let reads = calls[&MeteredCall::ReadTurns].units / 92.0;
    assert!(reads <= 4.0, "{reads}");
}

#[tokio::test]
async fn a_job_under_a_limit_writes_one_unit_more_and_reads_one() {
    let job = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"}});
    let limit = json!({"minutehand": {"maxPerSecond": 10}});
    let (units, calls) = consumed_in(limit, &job, "2027-03-01T11:31:30", 92).await;
    assert!(units <= 4.3, "{units}");
    let reads = calls[&MeteredCall::ReadSlots].units / 92.0;
    assert!(reads <= 1.0, "{reads}");
    assert!(!calls.contains_key(&MeteredCall::Postpone), "{calls:?}");
}

#[tokio::test]
async fn a_job_that_runs_in_a_seat_writes_two_units_more() {
    let job = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"}});
    let (without, _) = consumed(&job, "2027-03-01T11:31:30", 92).await;
    let limit = json!({"minutehand": {"maxConcurrent": 10}});
    let (units, calls) = consumed_in(limit, &job, "2027-03-01T11:31:30", 92).await;
    // The first one finds no item.
    assert_eq!(calls[&MeteredCall::Seats].failed_conditions, 1, "{calls:?}");
    assert!(units - without <= 2.02, "{units} {without}");
    for call in [MeteredCall::ReadSeats, MeteredCall::Postpone] {
        assert!(!calls.contains_key(&call), "{calls:?}");
    }
}

#[tokio::test]
async fn a_minutely_job_writes_a_little_more_than_three_units_a_firing() {
    let job = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"}});
    // An hour and a half, less one: what is handed over and not fired yet is paid for, too.
    let units = writes(&job, "2027-03-01T11:31:30", 92).await;
    assert!(units <= 3.3, "{units}");
}

#[tokio::test]
async fn an_hourly_job_writes_six_units_a_firing() {
    let job = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "hour"}});
    let units = writes(&job, "2027-03-02T09:30", 24).await;
    assert!(units <= 6.3, "{units}");
}

#[tokio::test]
async fn a_one_time_job_ends_for_nine_units_and_is_removed_for_none() {
    let job = json!({"startTime": "2027-03-01T10:30"});
    let units = writes(&job, "2027-03-02T10:00", 1).await;
    assert!(units <= 9.0, "{units}");
    let units = writes(&job, "2027-05-02T10:00", 1).await;
    assert!(units <= 9.0, "{units}");
}

#[tokio::test]
async fn reading_ten_snapshots_together_costs_little_more_than_their_timers() {
    let world = World::on_table("2027-03-01T09:59", json!({})).await;
    let mut jobs = Vec::new();
    for n in 0..10 {
        let name = format!("j{n}");
        world
            .put(
                &name,
                json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"}}),
            )
            .await;
        jobs.push(world.job(&name).await);
    }
    drop(world.table().meter.take());
    let look = async |jobs: &[JobRef]| {
        world.table().store.read_all(jobs).await.unwrap();
        world.table().meter.take()[&MeteredCall::Snapshot].units
    };
    let first = look(&jobs).await / 10.0;
    let again = look(&jobs).await / 10.0;
    let alone = look(&jobs[..1]).await;
    println!(
        "figure: {first:.2} read units for a first look in a group of ten, {again:.2} for each that follows, {alone:.2} alone"
    );
    // A unit for the timer, half of one for the definition, and a tenth of the switch.
    assert!(first <= 1.61, "{first}");
    // As long as it is the same definition, nothing for that.
    assert!(again <= 1.11, "{again}");
}

#[tokio::test]
async fn a_job_with_dates_writes_as_much_as_one_without() {
    let job = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute"},
        "minutehand": {"exclude": {"dates": ["2027-03-02"]},
            "extraDates": ["2027-03-01T10:00", "2027-03-01T12:00"]}});
    let units = writes(&job, "2027-03-01T11:31:30", 92).await;
    assert!(units <= 3.3, "{units}");
}
