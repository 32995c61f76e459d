//! The executor's task: takes messages from the queue and passes them to the worker.
//!
//! Each message is handled by a task of its own, so a slow target delays no other message. What
//! becomes of a message is decided by [`Worker`], and carried out here.
//!
//! When the process stops, this task takes no more messages, and attempts that are not due yet give
//! back their claims. Started attempts continue until they end or the process does. That is a crash
//! like any other: the next process takes over the claims of an ended one.

use std::sync::Arc;
use std::time::Duration;

use app::fire::{Deadline, Delivery, Disposition, Performer, Worker};
use domain::firing::limits::FUNCTION;
use embedded::Queue;
use embedded::queue::TakenMessage;
use ports::Clock;
use runtime::chain;
use tokio::sync::Semaphore;

use super::tasks::Stop;

/// Messages that are handled concurrently. Most of them wait for their instant, or for an answer.
const CONCURRENT_MAX: u32 = 16_384;
/// Messages that are taken from the queue at once.
const TAKEN_MAX: usize = 200;
/// The pause after the queue failed.
const QUEUE_FAILED_PAUSE: Duration = Duration::from_secs(5);

/// Works until it is asked to stop and everything it has started has ended.
pub(super) async fn work(queue: Queue, worker: Worker, clock: Arc<dyn Clock>, stop: Stop) {
    let worker = Arc::new(worker);
    let permits = Arc::new(Semaphore::new(CONCURRENT_MAX as usize));
    loop {
        let taken = async {
            // Wait for one permit; the number of the others decides how many messages are taken.
            let first = permits.clone().acquire_owned().await;
            let taken = queue.receive(TAKEN_MAX.min(permits.available_permits() + 1)).await;
            drop(first);
            taken
        };
        let taken = tokio::select! {
            () = stop.requested() => break,
            taken = taken => taken,
        };
        match taken {
            Ok(messages) => {
                // A message may be taken up to two seconds before it is due; its action takes a
                // minute at most. Both fit, and the message is still hidden from other workers.
                let deadline = Deadline::at(clock.work_now() + FUNCTION);
                for message in messages {
                    let Ok(permit) = permits.clone().acquire_owned().await else { return };
                    let (queue, worker, stop) = (queue.clone(), worker.clone(), stop.clone());
                    tokio::spawn(async move {
                        handle(&queue, &worker, message, deadline, &stop).await;
                        drop(permit);
                    });
                }
            }
            Err(error) => {
                tracing::error!(error = chain(&error), "messages could not be taken");
                clock.wait(QUEUE_FAILED_PAUSE).await;
            }
        }
    }
    // All permits are free when everything has ended.
    let _ = permits.acquire_many(CONCURRENT_MAX).await;
}

/// Handles one message, and tells the queue what becomes of it.
async fn handle<P: Performer>(
    queue: &Queue,
    worker: &Worker<P>,
    message: TakenMessage,
    deadline: Deadline,
    stop: &Stop,
) {
    let TakenMessage { receipt, work_items, receive_count, .. } = message;
    let delivery = Delivery {
        message_id: &receipt,
        receives: receive_count,
        work_items: work_items.as_deref(),
    };
    let acknowledged = match worker.handle(delivery, deadline, stop).await {
        Disposition::Delete => queue.finish(&[receipt]).await,
        Disposition::RetryAfter(after) => queue.put_back(&[(receipt, after)]).await,
        Disposition::RetryAtVisibilityTimeout => Ok(()),
        Disposition::Bury(reason) => queue.bury(&[receipt], &reason).await,
    };
    if let Err(error) = acknowledged {
        // The queue delivers the message again, and the store knows what is done.
        tracing::warn!(error = chain(&error), "message could not be acknowledged");
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicI64, Ordering};

    use app::AppError;
    use app::fire::Performed;
    use chrono::{DateTime, TimeDelta};
    use domain::firing::limits::{RECEIVES_MAX, VISIBILITY};
    use domain::work_item::WorkItem;
    use embedded::queue::QueueStats;
    use ports::{DispatchQueue as _, QueueMessage, StoreError};
    use runtime::{ProcessClock, system_now};
    use testkit::SetClock;

    use super::*;

    /// The store is down.
    struct Failing;

    impl Performer for Failing {
        async fn perform(&self, _item: &WorkItem, _stop: &Stop) -> Result<Performed, AppError> {
            Err(StoreError::Unavailable("as the test asked for".into()).into())
        }
    }

    struct Hanging;

    impl Performer for Hanging {
        async fn perform(&self, _item: &WorkItem, _stop: &Stop) -> Result<Performed, AppError> {
            pending().await
        }
    }

    struct World<P> {
        clock: SetClock,
        queue: Queue,
        worker: Worker<P>,
    }

    impl<P: Performer> World<P> {
        /// A worker and a queue with one message.
        async fn with_message(performer: P) -> Self {
            let clock = SetClock::at(DateTime::UNIX_EPOCH);
            let shared: Arc<dyn Clock> = Arc::new(clock.clone());
            let queue = Queue::in_memory(shared.clone()).unwrap();
            let work_item = WorkItem::PurgeCollection { collection_uid: "c".to_owned() };
            let message = QueueMessage { work_item, due_at: clock.now() };
            queue.send(&[message], clock.now()).await.unwrap();
            Self { clock, queue, worker: Worker::new(performer, shared, Arc::new(())) }
        }

        /// Waits for the message and handles it.
        async fn deliver(&self) {
            let message = self.queue.receive(1).await.unwrap().pop().unwrap();
            let deadline = Deadline::at(self.clock.work_now() + FUNCTION);
            handle(&self.queue, &self.worker, message, deadline, &Stop::never()).await;
        }

        async fn stats(&self) -> QueueStats {
            self.queue.stats().await.unwrap()
        }
    }

    #[tokio::test]
    async fn a_message_that_fails_nineteen_times_is_still_there_after_half_an_hour() {
        let world = World::with_message(Failing).await;
        let start = world.clock.work_now();
        for _ in 1..RECEIVES_MAX {
            world.deliver().await;
        }
        world.clock.advance(start + chrono::TimeDelta::minutes(30) - world.clock.work_now());
        let stats = world.stats().await;
        assert_eq!((stats.hidden, stats.dead_letters), (1, 0));
        // Only the twentieth failure is the last.
        world.deliver().await;
        assert!(world.clock.work_now() - start > chrono::TimeDelta::minutes(30));
        let dead = world.queue.dead_letters(10).await.unwrap();
        assert_eq!(
            dead[0].reason,
            "delivered 20 times; the last time it failed: \
             the store is not available: as the test asked for"
        );
        assert_eq!(world.stats().await, QueueStats { dead_letters: 1, ..QueueStats::default() });
    }

    #[tokio::test]
    async fn a_system_clock_that_jumps_delivers_no_message_again_while_its_worker_has_it() {
        let jump = Arc::new(AtomicI64::new(0));
        let start = system_now();
        let jumped = jump.clone();
        let system = move || start + TimeDelta::seconds(jumped.load(Ordering::Relaxed));
        let clock: Arc<dyn Clock> = Arc::new(ProcessClock::over(system));
        let queue = Queue::in_memory(clock.clone()).unwrap();
        let work_item = WorkItem::PurgeCollection { collection_uid: "c".to_owned() };
        queue.send(&[QueueMessage { work_item, due_at: start }], start).await.unwrap();
        let held = queue.receive(1).await.unwrap().pop().unwrap();
        for seconds in [130, 86_400, -600] {
            jump.store(seconds, Ordering::Relaxed);
            let stats = queue.stats().await.unwrap();
            assert_eq!((stats.hidden, stats.visible), (1, 0), "after a jump by {seconds} s");
        }
        queue.finish(&[held.receipt]).await.unwrap();
        assert_eq!(queue.stats().await.unwrap(), QueueStats::default());
    }

    #[tokio::test]
    async fn work_that_hangs_frees_its_permit_and_comes_back_at_the_visibility_timeout() {
        let world = World::with_message(Hanging).await;
        let start = world.clock.work_now();
        world.deliver().await;
        assert_eq!(world.clock.work_now() - start, FUNCTION);
        assert_eq!(world.stats().await.hidden, 1);
        world.clock.advance(VISIBILITY - FUNCTION);
        assert_eq!(world.stats().await.visible, 1);
    }
}
