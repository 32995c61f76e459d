//! The executor's task: takes messages from the queue and passes them to the worker.
//!
//! Each message is handled by a task of its own, so a slow target delays no other message. It needs a
//! [place](super::places) for that. What becomes of a message is decided by [`Worker`], and carried out
//! here.
//!
//! A message without a place is set aside in the queue, and taken again when it has one. That uses up
//! no delivery, and the message holds no claim. So this task takes every message that is due, however
//! many wait: a burst of one collection does not stand before the messages of the others.
//!
//! When the process stops, this task takes no more messages, and attempts that are not due yet give
//! back their claims. Started attempts continue until they end or the process does. That is a crash
//! like any other: the next process takes over the claims of an ended one, and receives what was set
//! aside.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use minutehand_app::fire::{Delivery, Disposition, Performer, Wait, Worker};
use minutehand_domain::firing::limits::FUNCTION;
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::{Clock, Deliveries, HIDDEN_MAX, QueueError, ReceiptHandle, TakenMessage};
use minutehand_runtime::chain;

use super::places::{HeldPlace, SharedPlaces};
use super::tasks::Stop;

/// Messages that are taken from the queue at once.
const TAKEN_MAX: usize = 200;
/// Messages that may wait for a place. Each takes some 30 bytes here. Beyond that, messages stay in
/// the queue.
const WAITING_MAX: usize = 1_000_000;
/// The pause while too many messages wait.
const FULL_PAUSE: Duration = Duration::from_secs(1);
/// The pause after the queue failed. Messages are late by it when the database comes back.
const QUEUE_FAILED_PAUSE: Duration = Duration::from_secs(1);

/// Works until it is asked to stop and everything it has started has ended. A message is handled while it holds
/// a place; most of them wait for their instant, or for an answer.
pub(super) async fn work<P: Performer + 'static>(
    queue: Arc<dyn Deliveries>,
    worker: Worker<P>,
    places: Arc<SharedPlaces>,
    clock: Arc<dyn Clock>,
    stop: Stop,
) {
    Host { queue, worker: Arc::new(worker), places, clock, stop }.run().await;
}

struct Host<P> {
    queue: Arc<dyn Deliveries>,
    worker: Arc<Worker<P>>,
    places: Arc<SharedPlaces>,
    clock: Arc<dyn Clock>,
    stop: Stop,
}

impl<P: Performer + 'static> Host<P> {
    async fn run(&self) {
        // Kept when a place becomes free: to receive again costs a question to the queue.
        let mut receiving = pin!(self.receive());
        loop {
            tokio::select! {
                // What is received goes before what waits, since it may be of a collection that waits
                // for nothing. It cannot starve the other: to receive takes a moment each time.
                biased;
                () = self.stop.requested() => break,
                messages = receiving.as_mut() => {
                    self.admit(messages).await;
                    receiving.set(self.receive());
                }
                () = self.places.freed() => self.start_waiting().await,
            }
        }
        self.places.all_free().await;
    }

    /// Waits for messages that are due.
    async fn receive(&self) -> Vec<TakenMessage> {
        loop {
            while self.places.waiting() >= WAITING_MAX {
                self.clock.wait(FULL_PAUSE).await;
            }
            match self.queue.receive(TAKEN_MAX).await {
                Ok(messages) => return messages,
                Err(error) => {
                    tracing::error!(error = chain(&error), "messages could not be taken");
                    self.clock.wait(QUEUE_FAILED_PAUSE).await;
                }
            }
        }
    }

    /// Starts the messages that get a place, and sets the others aside.
    async fn admit(&self, messages: Vec<TakenMessage>) {
        let mut waiting = Vec::new();
        for message in messages {
            match self.places.arrive(collection_uid(&message), message.receipt) {
                Some(place) => self.start(message, place),
                None => waiting.push((message.receipt, HIDDEN_MAX)),
            }
        }
        if waiting.is_empty() {
            return;
        }
        if let Err(error) = self.queue.set_aside(&waiting).await {
            // They can still be taken again. Otherwise the queue delivers them again.
            tracing::warn!(
                error = chain(&error),
                "messages without a place could not be set aside"
            );
        }
    }

    /// Starts what waits, as far as there are places for it: some messages, and in the next turn of
    /// the loop more.
    async fn start_waiting(&self) {
        let next = self.places.next(TAKEN_MAX);
        if next.is_empty() {
            return;
        }
        let receipts: Vec<_> = next.iter().map(|place| place.receipt).collect();
        match self.queue.take_again(&receipts).await {
            Ok(taken) => {
                for (mut place, message) in next.into_iter().zip(taken) {
                    // A message that is gone from the queue gives its place back.
                    if let Some(message) = message {
                        place.receipt = message.receipt;
                        self.start(message, place);
                    }
                }
            }
            Err(error) => {
                tracing::error!(error = chain(&error), "messages could not be taken again");
                for place in next {
                    place.wait(None);
                }
                self.clock.wait(QUEUE_FAILED_PAUSE).await;
            }
        }
    }

    fn start(&self, message: TakenMessage, place: HeldPlace) {
        // A message may be taken up to two seconds before it is due; its action takes a minute at
        // most. Both fit, and the message is still hidden from other workers.
        let deadline = self.clock.work_now() + FUNCTION;
        let (queue, worker) = (self.queue.clone(), self.worker.clone());
        let (clock, stop) = (self.clock.clone(), self.stop.clone());
        // Thousands of these tasks may wait: each holds its message once.
        tokio::spawn(async move {
            let bounds = Bounds { clock: clock.as_ref(), deadline, stop: &stop };
            let waits_for = handle(queue.as_ref(), &worker, &message, &place, &bounds).await;
            if let Some(origin) = waits_for {
                place.wait(Some(&origin));
            }
        });
    }
}

/// The collection that a message is for. Messages that cannot be read have one of their own.
fn collection_uid(message: &TakenMessage) -> &str {
    message.work_item.as_ref().map_or("", WorkItem::collection_uid)
}

/// Until when a message is handled.
struct Bounds<'a> {
    clock: &'a dyn Clock,
    /// In work time.
    deadline: DateTime<Utc>,
    stop: &'a Stop,
}

/// Handles one message, and tells the queue what becomes of it. Returns the origin for which it waits, if it does.
async fn handle<P: Performer>(
    queue: &dyn Deliveries,
    worker: &Worker<P>,
    message: &TakenMessage,
    place: &HeldPlace,
    bounds: &Bounds<'_>,
) -> Option<String> {
    let TakenMessage { receipt, work_item, receive_count, .. } = message;
    let delivery = Delivery {
        message_id: receipt,
        receives: *receive_count,
        work_item: work_item.as_ref(),
        place,
    };
    let disposition = worker.handle(delivery, bounds.deadline, bounds.stop).await;
    match tell_until_heard(queue, *receipt, &disposition, bounds).await {
        Ok(()) => match disposition {
            Disposition::Wait(Wait::ForOrigin(origin)) => Some(origin),
            _ => None,
        },
        // The queue delivers the message again, and the store knows what is done.
        Err(error) => {
            tracing::warn!(error = chain(&error), "message could not be acknowledged");
            None
        }
    }
}

/// Tells the queue what becomes of a message, and tells it again while it cannot be reached: otherwise the
/// message would stay hidden until its visibility timeout.
async fn tell_until_heard(
    queue: &dyn Deliveries,
    receipt: ReceiptHandle,
    disposition: &Disposition,
    &Bounds { clock, deadline, stop }: &Bounds<'_>,
) -> Result<(), QueueError> {
    loop {
        let told = tell(queue, receipt, disposition).await;
        match &told {
            Err(error) if error.is_retryable() && clock.work_now() < deadline => tokio::select! {
                biased;
                () = stop.requested() => return told,
                () = clock.wait(QUEUE_FAILED_PAUSE) => {}
            },
            _ => return told,
        }
    }
}

async fn tell(
    queue: &dyn Deliveries,
    receipt: ReceiptHandle,
    disposition: &Disposition,
) -> Result<(), QueueError> {
    match disposition {
        Disposition::Delete => queue.finish(&[receipt]).await,
        Disposition::RetryAfter(after) | Disposition::RetryThrottled(after) => {
            queue.put_back(&[(receipt, *after)]).await
        }
        Disposition::RetryAtVisibilityTimeout | Disposition::Deleted => Ok(()),
        Disposition::Wait(Wait::For(after)) => queue.set_aside(&[(receipt, *after)]).await,
        Disposition::Wait(Wait::ForOrigin(_)) => queue.set_aside(&[(receipt, HIDDEN_MAX)]).await,
        Disposition::Bury(reason) => queue.bury(&[receipt], reason).await,
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicI64, Ordering};

    use async_trait::async_trait;
    use chrono::TimeDelta;
    use minutehand_app::AppError;
    use minutehand_app::fire::{DeliveryPlace, Performed};
    use minutehand_domain::firing::limits::{RECEIVES_MAX, VISIBILITY};
    use minutehand_domain::work_item::WorkItem;
    use minutehand_ports::{DeadLetters as _, DispatchQueue as _, QueueMessage, StoreError};
    use minutehand_runtime::{ProcessClock, system_now};
    use minutehand_store_sql::sqlite::Database;
    use minutehand_store_sql::{QueueStanding, SqlQueue};
    use minutehand_testkit::{ManualClock, SetClock};
    use tokio::sync::{Semaphore, mpsc, oneshot};
    use tokio::task::JoinHandle;

    use super::*;

    /// A queue in memory.
    async fn queue_in_memory(clock: Arc<dyn Clock>) -> SqlQueue {
        let (database, _threads) = Database::in_memory().unwrap();
        SqlQueue::open(database, clock).await.unwrap()
    }

    /// The store is down.
    struct Failing;

    impl Performer for Failing {
        async fn perform(
            &self,
            _item: &WorkItem,
            _place: &dyn DeliveryPlace,
            _stop: &Stop,
        ) -> Result<Performed, AppError> {
            Err(StoreError::Unavailable("as the test asked for".into()).into())
        }
    }

    struct Hanging;

    impl Performer for Hanging {
        async fn perform(
            &self,
            _item: &WorkItem,
            _place: &dyn DeliveryPlace,
            _stop: &Stop,
        ) -> Result<Performed, AppError> {
            pending().await
        }
    }

    struct World<P> {
        clock: SetClock,
        queue: SqlQueue,
        worker: Worker<P>,
    }

    impl<P: Performer> World<P> {
        /// A worker and a queue with one message.
        async fn with_message(performer: P) -> Self {
            let clock = SetClock::at(DateTime::UNIX_EPOCH);
            let shared: Arc<dyn Clock> = Arc::new(clock.clone());
            let queue = queue_in_memory(shared.clone()).await;
            let work_item = WorkItem::PurgeCollection { collection_uid: "c".to_owned() };
            let message = QueueMessage { work_item, due_at: clock.now() };
            queue.send(&[message], clock.now()).await.unwrap();
            Self { clock, queue, worker: Worker::new(performer, shared, Arc::new(())) }
        }

        /// Waits for the message and handles it.
        async fn deliver(&self) {
            self.deliver_over(&self.queue).await;
        }

        /// The same; what becomes of the message is told over another way to the queue.
        async fn deliver_over(&self, way: &dyn Deliveries) {
            let message = self.queue.receive(1).await.unwrap().pop().unwrap();
            let deadline = self.clock.work_now() + FUNCTION;
            let place = SharedPlaces::new(1, Arc::new(self.clock.clone()))
                .arrive("c", message.receipt)
                .unwrap();
            let bounds = Bounds { clock: &self.clock, deadline, stop: &Stop::never() };
            handle(way, &self.worker, &message, &place, &bounds).await;
        }

        async fn standing(&self) -> QueueStanding {
            self.queue.standing().await.unwrap()
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
        let stats = world.standing().await;
        assert_eq!((stats.hidden, stats.dead_letters), (1, 0));
        // Only the twentieth failure is the last.
        world.deliver().await;
        assert!(world.clock.work_now() - start > chrono::TimeDelta::minutes(30));
        let dead = world.queue.look(10).await.unwrap().items;
        assert_eq!(
            dead[0].reason.as_deref(),
            Some(
                "delivered 20 times; the last time it failed: the store is not available: as the test asked for"
            )
        );
        assert_eq!(
            world.standing().await,
            QueueStanding { dead_letters: 1, ..QueueStanding::default() }
        );
    }

    /// A way to the queue on which so many requests get lost.
    struct Lossy {
        queue: SqlQueue,
        lost: AtomicI64,
    }

    #[async_trait]
    impl Deliveries for Lossy {
        async fn receive(&self, max: usize) -> Result<Vec<TakenMessage>, QueueError> {
            self.queue.receive(max).await
        }

        async fn finish(&self, receipts: &[ReceiptHandle]) -> Result<(), QueueError> {
            self.queue.finish(receipts).await
        }

        async fn put_back(&self, receipts: &[(ReceiptHandle, Duration)]) -> Result<(), QueueError> {
            if self.lost.fetch_sub(1, Ordering::Relaxed) > 0 {
                return Err(QueueError::Unavailable("as the test asked for".into()));
            }
            self.queue.put_back(receipts).await
        }

        async fn set_aside(
            &self,
            receipts: &[(ReceiptHandle, Duration)],
        ) -> Result<(), QueueError> {
            self.queue.set_aside(receipts).await
        }

        async fn take_again(
            &self,
            receipts: &[ReceiptHandle],
        ) -> Result<Vec<Option<TakenMessage>>, QueueError> {
            self.queue.take_again(receipts).await
        }

        async fn bury(&self, receipts: &[ReceiptHandle], why: &str) -> Result<(), QueueError> {
            self.queue.bury(receipts, why).await
        }
    }

    #[tokio::test]
    async fn a_queue_that_cannot_be_reached_is_told_again_what_becomes_of_a_message() {
        let world = World::with_message(Failing).await;
        let start = world.clock.work_now();
        let lost = AtomicI64::new(30);
        world.deliver_over(&Lossy { queue: world.queue.clone(), lost }).await;
        assert_eq!(world.clock.work_now() - start, TimeDelta::seconds(30));
        assert_eq!(world.standing().await.hidden, 1);
        world.clock.advance(TimeDelta::seconds(5));
        assert_eq!(world.standing().await.visible, 1, "not after its visibility timeout");
        let never = AtomicI64::new(i64::MAX);
        world.deliver_over(&Lossy { queue: world.queue.clone(), lost: never }).await;
        assert_eq!(world.clock.work_now() - start, TimeDelta::seconds(35) + FUNCTION);
    }

    #[tokio::test]
    async fn a_system_clock_that_jumps_delivers_no_message_again_while_its_worker_has_it() {
        let jump = Arc::new(AtomicI64::new(0));
        let start = system_now();
        let jumped = jump.clone();
        let system = move || start + TimeDelta::seconds(jumped.load(Ordering::Relaxed));
        let clock: Arc<dyn Clock> = Arc::new(ProcessClock::over(system));
        let queue = queue_in_memory(clock.clone()).await;
        let work_item = WorkItem::PurgeCollection { collection_uid: "c".to_owned() };
        queue.send(&[QueueMessage { work_item, due_at: start }], start).await.unwrap();
        let held = queue.receive(1).await.unwrap().pop().unwrap();
        for seconds in [130, 86_400, -600] {
            jump.store(seconds, Ordering::Relaxed);
            let stats = queue.standing().await.unwrap();
            assert_eq!((stats.hidden, stats.visible), (1, 0), "after a jump by {seconds} s");
        }
        queue.finish(&[held.receipt]).await.unwrap();
        assert_eq!(queue.standing().await.unwrap(), QueueStanding::default());
    }

    #[tokio::test]
    async fn work_that_hangs_frees_its_permit_and_comes_back_at_the_visibility_timeout() {
        let world = World::with_message(Hanging).await;
        let start = world.clock.work_now();
        world.deliver().await;
        assert_eq!(world.clock.work_now() - start, FUNCTION);
        assert_eq!(world.standing().await.hidden, 1);
        world.clock.advance(VISIBILITY - FUNCTION);
        assert_eq!(world.standing().await.visible, 1);
    }

    /// Tells which collection it works for, and works until the test lets it end.
    struct Gate {
        begun: mpsc::UnboundedSender<String>,
        open: Arc<Semaphore>,
    }

    impl Performer for Gate {
        async fn perform(
            &self,
            item: &WorkItem,
            _place: &dyn DeliveryPlace,
            _stop: &Stop,
        ) -> Result<Performed, AppError> {
            let WorkItem::PurgeCollection { collection_uid } = item else { panic!("{item:?}") };
            self.begun.send(collection_uid.clone()).unwrap();
            self.open.acquire().await.unwrap().forget();
            Ok(Performed::Done)
        }
    }

    /// A worker's task with so many places, on a queue with a message for each collection.
    struct Hosted {
        clock: Arc<ManualClock>,
        queue: SqlQueue,
        begun: mpsc::UnboundedReceiver<String>,
        open: Arc<Semaphore>,
        task: JoinHandle<()>,
        stop: oneshot::Sender<()>,
    }

    impl Hosted {
        async fn with(places: usize, collections: &[&str]) -> Self {
            let clock = Arc::new(ManualClock::at(DateTime::UNIX_EPOCH));
            let queue = queue_in_memory(clock.clone()).await;
            let due_at = clock.now();
            let message = |collection: &&str| {
                let collection_uid = (*collection).to_owned();
                QueueMessage { work_item: WorkItem::PurgeCollection { collection_uid }, due_at }
            };
            let messages: Vec<_> = collections.iter().map(message).collect();
            queue.send(&messages, due_at).await.unwrap();
            let (tell, begun) = mpsc::unbounded_channel();
            let open = Arc::new(Semaphore::new(0));
            let worker =
                Worker::new(Gate { begun: tell, open: open.clone() }, clock.clone(), Arc::new(()));
            let (stop, stopped) = oneshot::channel();
            let stopped = Stop::when(async { stopped.await.unwrap() });
            let places = SharedPlaces::new(places, clock.clone());
            let task =
                tokio::spawn(work(Arc::new(queue.clone()), worker, places, clock.clone(), stopped));
            Self { clock, queue, begun, open, task, stop }
        }

        /// Asks the task to stop, and lets so many messages end that it has begun. Returns what is
        /// left in the queue.
        async fn end(self, begun: usize) -> QueueStanding {
            self.stop.send(()).unwrap();
            self.open.add_permits(begun);
            self.task.await.unwrap();
            self.queue.standing().await.unwrap()
        }
    }

    #[tokio::test]
    async fn a_message_that_waits_for_three_hours_is_handled_once_and_is_no_dead_letter() {
        // A minute and a half each; the last one waits for all others of its collection.
        const BEFORE: usize = 122;
        let mut hosted = Hosted::with(1, &["busy"; BEFORE + 1]).await;
        let step = FUNCTION - chrono::TimeDelta::seconds(1);
        for _ in 0..BEFORE {
            assert_eq!(hosted.begun.recv().await.unwrap(), "busy");
            hosted.clock.advance(step);
            hosted.open.add_permits(1);
        }
        assert_eq!(hosted.begun.recv().await.unwrap(), "busy");
        let waited = hosted.clock.now() - DateTime::UNIX_EPOCH;
        assert!(waited > chrono::TimeDelta::hours(3), "{waited}");
        assert_eq!(hosted.end(1).await, QueueStanding::default());
    }

    #[tokio::test]
    async fn a_burst_of_one_collection_does_not_hold_up_another() {
        let mut collections = vec!["burst"; 1_000];
        collections.push("other");
        let mut hosted = Hosted::with(8, &collections).await;
        let mut begun = Vec::new();
        for _ in 0..8 {
            begun.push(hosted.begun.recv().await.unwrap());
        }
        assert_eq!(begun.iter().filter(|it| *it == "burst").count(), 7, "{begun:?}");
        assert_eq!(begun[7], "other");
        // What has no place waits in the queue, and for the next process.
        let stats = hosted.queue.standing().await.unwrap();
        assert_eq!((stats.visible, stats.hidden), (0, 1_001));
        let stats = hosted.end(8).await;
        assert_eq!((stats.hidden, stats.dead_letters), (993, 0));
    }
}
