//! What a firing costs, in write units: what the store consumed, as it says itself.

#![expect(clippy::float_cmp, reason = "units are whole numbers")]

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::TimeDelta;
use minutehand_domain::attempt::Record;
use minutehand_domain::firing::SkipReason;
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::recent::LastSkip;
use minutehand_domain::recently_counted::RecentlyCounted;
use minutehand_ports::store::{
    Advance, Claimed, Counted, CounterUpdate, CountersAdd, Recorded, TimerKey,
};
use minutehand_ports::{Attempts, Counters, Snapshots, Timers};
use minutehand_store_dynamodb::{DynamoStore, MeteredCall};

use crate::world::{
    JOB, World, at, claim, collection, held, job, job_ref, noise, record, scheduled,
};

#[tokio::test]
async fn a_claim_costs_one() {
    let world = World::in_process().await;
    assert_eq!(world.claim(claim(&scheduled(60), CLAIM)).await, Claimed::Won);
    assert_eq!(units(&world, MeteredCall::Claim), 1.0);
}

#[tokio::test]
async fn a_record_costs_one_while_its_item_is_below_a_kilobyte() {
    let world = World::in_process().await;
    let headers = "Cache-Control: no-cache\r\nContent-Type: text/html; charset=utf-8\r\n";
    for (n, (message, price)) in [
        (noise(1, 700), 1.0),
        // Letters that hardly get smaller: 900 of them are 760 bytes.
        (noise(2, 900), 1.0),
        (headers.repeat(30), 1.0),
        (noise(3, 3_000), 3.0),
    ]
    .into_iter()
    .enumerate()
    {
        let attempt = scheduled(60 * i64::try_from(n).unwrap());
        assert_eq!(world.claim(claim(&attempt, CLAIM)).await, Claimed::Won);
        let record = Record { message, ..record(60) };
        assert_eq!(world.record(&held(&attempt, CLAIM), record).await, Recorded::Kept);
        assert_eq!(units(&world, MeteredCall::Record), price, "{n}");
    }
}

/// The `n`-th attempt is counted.
fn counting(as_read: RecentlyCounted, n: i64, add: CountersAdd) -> CounterUpdate {
    let (attempt, ended_at) = (scheduled(60 * n), Some(at(60 * n + 1)));
    let counted = vec![Counted { attempt, ended_at, add }];
    let counters = JobCounters::default();
    CounterUpdate { job_uid: JOB.to_owned(), as_read, counters, counted }
}

#[tokio::test]
async fn counting_costs_one_with_a_full_list_of_counted_attempts() {
    let world = World::in_process().await.and_job().await;
    let mut read = RecentlyCounted::default();
    for n in 0..100 {
        let attempt = scheduled(60 * n);
        let add = CountersAdd {
            executions: 1,
            failures: 1,
            last_execution_at: Some(attempt.due_at),
            ..CountersAdd::default()
        };
        let update = counting(read, n, add);
        assert!(world.store.add(&update).await.unwrap());
        // Forty at a time are no longer remembered, and are stored by themselves.
        let evicts = n >= 44 && (n - 44) % 40 == 0;
        let price = if evicts { 2.0 } else { 1.0 };
        assert_eq!(units(&world, MeteredCall::Count), price, "{n}");
        read = update.after().recently_counted;
    }
    // A timer, and a switch. The definition is read at half the price.
    world.store.read(&job_ref()).await.unwrap();
    assert_eq!(units(&world, MeteredCall::Snapshot), 2.5);
}

#[tokio::test]
async fn counting_costs_one_for_a_job_of_the_longest_name_and_a_long_rule() {
    let list = RecentlyCounted::default();
    counts_in_the_largest_timer("", list.clone(), 83).await;
    counts_in_the_largest_timer(POLICIES, list.beside_policies(), 57).await;
}

/// Counts until a list is full, and once more.
async fn counts_in_the_largest_timer(policies: &str, mut read: RecentlyCounted, counted: i64) {
    let world = World::in_process().await;
    let mut job = job(&"j".repeat(100));
    // As much as a schedule in a time zone comes to.
    job.timer.timetable =
        Some(format!("{policies}{:<160}", "1 every=1week minutes=0 hours=9 zone=Europe/Berlin"));
    job.timer.timing.anchor = Some(at(0) + TimeDelta::nanoseconds(123_456_700));
    job.expires_at = Some(at(0));
    world.put_job(&collection(), &job).await;
    for n in 0..counted {
        let add = CountersAdd {
            executions: 1_000_000,
            last_execution_at: Some(at(60)),
            ..CountersAdd::default()
        };
        let update = counting(read, n, add);
        assert!(world.store.add(&update).await.unwrap());
        read = update.after().recently_counted;
    }
    let _ = world.meter.take();
    let skip = LastSkip::one(at(60), SkipReason::CollectionOff);
    let update = counting(read, counted, CountersAdd::skipped(skip));
    assert!(world.store.add(&update).await.unwrap());
    assert_eq!(units(&world, MeteredCall::Count), 1.0);
    let items = world.raw(&format!("T#{}", job.uid)).await;
    let timer = items.iter().find(|item| item["sk"] == AttributeValue::S("T".to_owned()));
    let timer = timer.unwrap();
    for attribute in ["settled", "recent", "last_skip", "latest", "expires_at", "due_at"] {
        assert!(timer.contains_key(attribute), "{attribute}");
    }
    let size = size(timer);
    println!("figure: the largest timer with a full list of counted attempts has {size} bytes");
    assert!(size <= 1_024, "{size}");
}

#[tokio::test]
async fn moving_a_timer_costs_three() {
    let world = World::in_process().await.and_job().await;
    for (from, to, is_spent) in [(60, 900, false), (900, 2_100, true)] {
        let (job_uid, state) = (JOB.to_owned(), JobState::Enabled);
        let timer = TimerKey::Job { job_uid, generation: 1, state, is_spent, left_out: Vec::new() };
        let advance = Advance { timer, from: at(from), to: at(to), at: at(from) };
        assert!(world.store.advance(&[advance]).await.remove(0).unwrap());
        assert_eq!(units(&world, MeteredCall::Advance), 3.0);
    }
}

#[tokio::test]
async fn a_store_without_a_meter_counts_nothing() {
    let world = World::in_process().await;
    let store = DynamoStore::new(world.client.clone(), &world.table);
    store.claim(&claim(&scheduled(60), CLAIM)).await.unwrap();
    assert!(world.meter.take().is_empty());
}

/// The longest policies that a timer may have.
const POLICIES: &str = "2 catchUp=all:5184000000:1000 maxLateness=47347200000 jitter=86400000:4294967295 overlap=skip dates=ffffffff:99:100 ";

/// The size of an item by the rules of DynamoDB.
fn size(item: &HashMap<String, AttributeValue>) -> usize {
    let value = |value: &AttributeValue| match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::Bool(_) => 1,
        // Two digits a byte, one byte more, and one for the sign.
        AttributeValue::N(digits) => digits.len().div_ceil(2) + 2,
        other => panic!("no attribute of a timer: {other:?}"),
    };
    item.iter().map(|(name, it)| name.len() + value(it)).sum()
}

/// As long as an identity is.
const CLAIM: &str = "01hzzzzzzzzzzzzzzzzzzzzzzx";

/// What calls of a kind consumed since this was last asked.
fn units(world: &World, call: MeteredCall) -> f64 {
    world.meter.take().get(&call).copied().unwrap_or_default().units
}
