//! Timers: what wakes the sweeper.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::job::JobState;
use minutehand_ports::Timers;
use minutehand_ports::store::{Advance, TimerKey};
use minutehand_store_dynamodb::{BatchingStore, Groups};

use crate::world::{JOB, World, at};

/// How long a test waits to be woken. It takes microseconds.
const WAKE_MAX: Duration = Duration::from_secs(10);

fn key(is_spent: bool) -> TimerKey {
    let (job_uid, state) = (JOB.to_owned(), JobState::Enabled);
    TimerKey::Job { job_uid, generation: 1, state, is_spent, left_out: Vec::new() }
}

fn advance(timer: TimerKey, from: i64, to: i64) -> Advance {
    Advance { timer, from: at(from), to: at(to) }
}

/// The sweeper sleeps until the first timer is due, and a dispatcher may set an earlier one.
#[tokio::test]
async fn the_sweeper_is_woken_when_timers_are_moved() {
    let world = World::with_job(Groups::Transactions).await;
    let store = BatchingStore::new(Arc::new(world.store.clone()));
    let changes = store.timer_changes();
    let next = async || tokio::time::timeout(WAKE_MAX, changes.next()).await.unwrap();
    for moves in [[(60, 120), (60, 90)], [(90, 95), (120, 180)]] {
        let advances = moves.map(|(from, to)| advance(key(false), from, to));
        store.advance(&advances).await;
        let first = moves.iter().map(|(_, to)| at(*to)).min();
        assert_eq!(Some(next().await), first);
    }
}
