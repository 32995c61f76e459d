//! The steps that change the queue and the store: whole, or not at all.

use std::sync::Arc;

use chrono::TimeDelta;
use minutehand_domain::job::JobState;
use minutehand_domain::recently_counted::RecentlyCounted;
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::store::{
    Advance, Counted, CounterUpdate, CountersAdd, Finish, JobRecord, TimerKey,
};
use minutehand_ports::{
    Deliveries, DispatchQueue, DispatchStep, QueueMessage, SettleStep, Settled, Settlement,
    Snapshots,
};
use minutehand_store_sql::SqlQueue;
use minutehand_testkit::ManualClock;

use crate::world::{World, at, attempt, claim};

async fn queue(world: &World) -> SqlQueue {
    let clock = Arc::new(ManualClock::at(at(100)));
    SqlQueue::open(world.store.database().clone(), clock).await.unwrap()
}

fn message(second: i64) -> QueueMessage {
    let job = claim(&attempt(second), "").job;
    QueueMessage {
        work_item: WorkItem::Attempt { job, attempt: attempt(second) },
        due_at: at(second),
    }
}

async fn move_of(world: &World, seconds: i64) -> Advance {
    let from = world.job().await.timer.due_at.unwrap();
    let timer = TimerKey::Job {
        job_uid: claim(&attempt(60), "").job.uid,
        generation: 0,
        state: JobState::Enabled,
        is_spent: false,
        left_out: Vec::new(),
    };
    Advance { timer, from, to: from + TimeDelta::seconds(seconds), at: from }
}

async fn received(queue: &SqlQueue) -> Vec<WorkItem> {
    let mut items = Vec::new();
    while queue.standing().await.unwrap().visible > 0 {
        for taken in queue.receive(1_000).await.unwrap() {
            queue.finish(&[taken.receipt]).await.unwrap();
            items.push(taken.work_item.unwrap());
        }
    }
    items
}

#[tokio::test]
async fn a_dispatch_sends_and_moves_and_says_what_has_moved() {
    let world = World::with_job().await;
    let queue = queue(&world).await;
    let (first, second) = (move_of(&world, 60).await, move_of(&world, 90).await);
    let messages = [message(60), message(61)];
    // Of two moves from one instant, one is too late.
    let moves = [first.clone(), second, first.clone()];
    let answers = world.store.dispatch(&messages, &moves, at(50)).await.unwrap();
    let answers: Vec<bool> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(answers, [true, false, false]);
    assert_eq!(world.job().await.timer.due_at, Some(first.to));
    assert_eq!(received(&queue).await, messages.map(|message| message.work_item));
    assert_eq!(world.store.dispatch(&[], &[], at(50)).await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_dispatch_of_any_length_sends_everything_before_it_moves() {
    let world = World::with_job().await;
    let queue = queue(&world).await;
    for count in [499, 500, 1_201] {
        let messages: Vec<_> = (0..count).map(message).collect();
        let step = move_of(&world, 60).await;
        let moved = world.store.dispatch(&messages, &[step], at(50)).await.unwrap();
        assert!(matches!(moved.as_slice(), [Ok(true)]));
        // Those that are due within two seconds can be received.
        let standing = queue.standing().await.unwrap();
        assert_eq!(standing.visible + standing.delayed, u64::try_from(count).unwrap());
        queue.forget(at(100_000)).await.unwrap();
    }
}

fn counting(as_read: &RecentlyCounted, second: i64) -> CounterUpdate {
    let add = CountersAdd { executions: 1, ..CountersAdd::default() };
    let counted = Counted { attempt: attempt(second), ended_at: Some(at(second + 1)), add };
    CounterUpdate {
        job_uid: claim(&attempt(60), "").job.uid,
        as_read: as_read.clone(),
        counters: minutehand_domain::job::JobCounters::default(),
        counted: vec![counted],
    }
}

const fn done(is_finished: bool, is_job_finished: bool) -> Settled {
    Settled::Done { is_finished, is_job_finished }
}

async fn executions(world: &World) -> u64 {
    world.job().await.timer.counters.executions
}

#[tokio::test]
async fn a_settlement_sends_counts_and_finishes_together_or_not_at_all() {
    let world = World::with_job().await;
    let queue = queue(&world).await;
    queue.send(&[message(60)], at(50)).await.unwrap();
    let taken = queue.receive(1).await.unwrap().remove(0);
    let nothing = RecentlyCounted::default();
    let (next, count) = ([message(95)], counting(&nothing, 60));
    let settlement = Settlement {
        next: &next,
        count: Some(&count),
        finish: None,
        receipt: Some(taken.receipt),
        now: at(90),
    };
    let settled = world.store.settle(settlement).await.unwrap();
    assert_eq!(settled, done(true, false));
    assert_eq!(executions(&world).await, 1);
    let taken = queue.receive(10).await.unwrap();
    assert_eq!(taken.len(), 1);
    assert_eq!(*taken[0].work_item.as_ref().unwrap(), next[0].work_item);
    // Another attempt was counted since the job was read.
    let late = counting(&nothing, 120);
    let late = Settlement { count: Some(&late), receipt: Some(taken[0].receipt), ..settlement };
    assert_eq!(world.store.settle(late).await.unwrap(), Settled::Stale { is_sent: false });
    assert_eq!(executions(&world).await, 1);
    let standing = queue.standing().await.unwrap();
    assert_eq!((standing.visible + standing.delayed, standing.hidden), (0, 1));
}

#[tokio::test]
async fn a_settlement_whose_answer_was_lost_finishes_the_message_that_came_again() {
    let world = World::with_job().await;
    let queue = queue(&world).await;
    queue.send(&[message(60), message(60)], at(50)).await.unwrap();
    let taken = queue.receive(2).await.unwrap();
    let count = counting(&RecentlyCounted::default(), 60);
    for message in &taken {
        let receipt = Some(message.receipt);
        let settlement =
            Settlement { next: &[], count: Some(&count), finish: None, receipt, now: at(90) };
        let settled = world.store.settle(settlement).await.unwrap();
        assert_eq!(settled, done(true, false));
    }
    assert_eq!(executions(&world).await, 1);
    assert_eq!(queue.standing().await.unwrap().hidden, 0);
    let nothing = Settlement { next: &[], count: None, finish: None, receipt: None, now: at(90) };
    let settled = world.store.settle(nothing).await.unwrap();
    assert_eq!(settled, done(false, false));
    let job = claim(&attempt(60), "").job;
    assert!(world.store.read(&job).await.unwrap().is_some());
}

#[tokio::test]
async fn a_settlement_finishes_the_job_with_its_last_attempt_or_leaves_the_message() {
    let world = World::with_job().await;
    let queue = queue(&world).await;
    let JobRecord { version, timer, .. } = world.job().await;
    let (generation, expires_at) = (timer.timing.generation, at(5_000));
    let (job, state) = (claim(&attempt(60), "").job, JobState::Completed);
    let finish = Finish { job, version, generation, state, expires_at };
    let changed = Finish { version: version + 1, ..finish.clone() };
    let retimed = Finish { generation: generation + 1, ..finish.clone() };
    let (overtaken, again) = (Settled::Stale { is_sent: false }, done(false, false));
    for (name, finish, second, is_read, expected) in [
        ("the job has changed", &changed, 60, true, again),
        ("its timing has changed", &retimed, 120, true, again),
        ("others were counted", &finish, 180, false, overtaken),
        ("all is as it was read", &finish, 180, true, done(true, true)),
    ] {
        let before = world.store.read(&finish.job).await.unwrap().unwrap();
        let none = RecentlyCounted::default();
        let as_read = if is_read { &before.recently_counted } else { &none };
        let count = counting(as_read, second);
        queue.send(&[message(60)], at(50)).await.unwrap();
        let receipt = Some(queue.receive(1).await.unwrap().remove(0).receipt);
        let (finish, count) = (Some(finish), Some(&count));
        let settlement = Settlement { next: &[], count, finish, receipt, now: at(90) };
        assert_eq!(world.store.settle(settlement).await.unwrap(), expected, "{name}");
        let is_finished = expected == done(true, true);
        let (JobRecord { timer, expires_at, .. }, left) =
            (world.job().await, queue.standing().await.unwrap().hidden);
        assert_eq!((timer.state == state, left == 0), (is_finished, is_finished), "{name}");
        assert_eq!(expires_at.is_some(), is_finished, "{name}");
        assert_eq!(timer.counters.executions > before.counters.executions, expected != overtaken);
        queue.finish(receipt.as_slice()).await.unwrap();
    }
}

#[tokio::test]
async fn a_delivery_of_an_earlier_process_is_void_and_does_not_count() {
    let mut world = World::with_job().await;
    queue(&world).await.send(&[message(60)], at(50)).await.unwrap();
    for _ in 0..20 {
        let queue = queue(&world).await;
        let taken = queue.receive(1).await.unwrap().remove(0);
        assert_eq!(taken.receive_count, 1);
        drop(queue);
        world = world.next();
    }
}

#[tokio::test]
async fn a_receiver_finds_out_that_the_database_is_closed() {
    let world = World::with_job().await;
    let queue = queue(&world).await;
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.receive(1).await }
    });
    tokio::task::yield_now().await;
    world.store.database().close();
    let error = waiting.await.unwrap().unwrap_err();
    assert!(error.is_retryable());
    assert!(queue.send(&[message(60)], at(50)).await.is_err());
}
