//! The queue on one machine, as `embedded` keeps it on the disk: it outlives processes.
//!
//! A message is due at an instant of the schedule, and is hidden for a span of work from the worker
//! that did not receive it. What a process has received is visible again when the next one begins.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::work_item::{WorkItem, decode, encode};
use minutehand_ports::{DispatchQueue, QueueError, QueueMessage};

use super::mutation::Mutation;
use super::tally::Fault;
use super::time::{Process, SECOND, micros};
use super::world::World;

/// How long a received message is hidden.
const VISIBILITY: i64 = 120 * SECOND;
/// How often a message is received before it goes to the dead letters.
const RECEIVES_MAX: u32 = 20;
/// How long before it is due a message is delivered.
const AHEAD: i64 = 2 * SECOND;
/// Messages of one delivery. Few, so that there is more than one.
const RECEIVED_MAX: usize = 8;
/// The longest wait between two looks.
const LOOK_EVERY: i64 = 30 * SECOND;

/// All messages.
#[derive(Default)]
pub(super) struct LocalQueue {
    messages: BTreeMap<u64, Message>,
    pub(super) dead: Vec<String>,
    /// How many of them are in the log.
    told: usize,
    next: u64,
}

struct Message {
    body: String,
    due: i64,
    hidden_until: Option<i64>,
    /// Whether a worker has it; otherwise it is hidden because it was put back.
    is_leased: bool,
    receives: u32,
    delivery: u64,
}

/// A delivery of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Receipt {
    id: u64,
    delivery: u64,
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.id, self.delivery)
    }
}

/// A message that was received.
pub(super) struct Taken {
    pub(super) receipt: Receipt,
    pub(super) receives: u32,
    pub(super) work_item: WorkItem,
}

/// What becomes of a delivery.
#[derive(Debug, Clone, Copy)]
pub(super) enum Settled {
    Done,
    PutBack(Duration),
    SetAside(Duration),
    Buried,
}

impl LocalQueue {
    fn keep(&mut self, body: String, due: i64) {
        let message =
            Message { body, due, hidden_until: None, is_leased: false, receives: 0, delivery: 0 };
        self.messages.insert(self.next, message);
        self.next += 1;
    }

    /// A process begins: what earlier ones have received is visible, and does not count.
    pub(super) fn begin_process(&mut self) {
        for message in self.messages.values_mut() {
            message.receives -= u32::from(message.is_leased);
            (message.hidden_until, message.is_leased) = (None, false);
        }
    }

    /// All messages are lost.
    pub(super) fn lose(&mut self) {
        self.messages.clear();
    }

    /// Makes messages visible whose hidden time has ended.
    fn show_again(&mut self, clock: i64) {
        for message in self.messages.values_mut() {
            if message.hidden_until.is_some_and(|until| until <= clock) {
                (message.hidden_until, message.is_leased) = (None, false);
            }
        }
    }

    fn receive(&mut self, clock: i64) -> Vec<Taken> {
        self.show_again(clock);
        let visible = self.messages.iter().filter(|(_, it)| it.hidden_until.is_none());
        let mut due: Vec<(i64, u64)> = visible.map(|(id, it)| (it.due, *id)).collect();
        due.retain(|(due, _)| *due <= clock + AHEAD);
        due.sort_unstable();
        due.truncate(RECEIVED_MAX);
        let taken = due.into_iter().filter_map(|(_, id)| self.take(id, clock));
        taken.collect()
    }

    fn take(&mut self, id: u64, clock: i64) -> Option<Taken> {
        let message = self.messages.get_mut(&id)?;
        if message.receives >= RECEIVES_MAX {
            self.dead.push(self.messages.remove(&id)?.body);
            return None;
        }
        message.receives += 1;
        message.delivery += 1;
        (message.hidden_until, message.is_leased) = (Some(clock + VISIBILITY), true);
        let receipt = Receipt { id, delivery: message.delivery };
        let work_item = decode(&message.body).unwrap().remove(0);
        Some(Taken { receipt, receives: message.receives, work_item })
    }

    /// When the next message may be received.
    fn next_at(&self) -> Option<i64> {
        self.messages.values().map(|it| it.hidden_until.unwrap_or(it.due - AHEAD)).min()
    }

    fn settle(&mut self, Receipt { id, delivery }: Receipt, settled: Settled, clock: i64) {
        let Some(message) = self.messages.get_mut(&id).filter(|it| it.delivery == delivery) else {
            return;
        };
        let hidden = |after: Duration| Some(clock + i64::try_from(after.as_micros()).unwrap());
        match settled {
            Settled::Done => drop(self.messages.remove(&id)),
            Settled::Buried => self.dead.extend(self.messages.remove(&id).map(|it| it.body)),
            Settled::PutBack(after) => {
                (message.hidden_until, message.is_leased) = (hidden(after), false);
            }
            Settled::SetAside(after) => {
                message.receives -= u32::from(message.is_leased);
                (message.hidden_until, message.is_leased) = (hidden(after), false);
            }
        }
    }
}

/// The queue of one process, which works while it does.
pub(super) struct LocalPort {
    pub(super) world: Arc<World>,
    pub(super) process: Arc<Process>,
    /// Tells the receiver of messages that were sent or put back.
    pub(super) wake: Arc<tokio::sync::Notify>,
    /// Whether the API sends.
    pub(super) is_api: bool,
}

impl LocalPort {
    /// Waits for messages that are due.
    pub(super) async fn receive(&self) -> Vec<Taken> {
        loop {
            let clock = self.process.clock();
            let (taken, next) = {
                let mut queue = self.world.local.lock().unwrap();
                (queue.receive(clock), queue.next_at())
            };
            self.tell_dead();
            if !taken.is_empty() {
                let now = self.process.time().now();
                for Taken { receipt, work_item, .. } in &taken {
                    let times = (now, now + VISIBILITY);
                    let work_items = std::slice::from_ref(work_item);
                    self.process.time().ways.received(
                        receipt.id,
                        work_items,
                        Some(self.process.id),
                        times,
                    );
                }
                self.process.pause(200, 2_000).await;
                return taken;
            }
            let wait = next.map_or(LOOK_EVERY, |at| (at - clock).clamp(1_000, LOOK_EVERY));
            let time = self.process.time();
            let woken = std::pin::pin!(self.wake.notified());
            let waited = std::pin::pin!(time.until(time.now() + wait));
            futures_util::future::select(woken, waited).await;
        }
    }

    /// Tells the queue what becomes of a delivery.
    pub(super) async fn settle(&self, receipt: Receipt, settled: Settled) {
        self.process.pause(200, 2_000).await;
        if self.fails() {
            // The message is delivered again.
            return;
        }
        let mut queue = self.world.local.lock().unwrap();
        queue.settle(receipt, settled, self.process.clock());
        drop(queue);
        let now = self.process.time().now();
        let hidden_until = match settled {
            Settled::Done | Settled::Buried => None,
            Settled::PutBack(after) | Settled::SetAside(after) => {
                Some(now + i64::try_from(after.as_micros()).unwrap())
            }
        };
        self.process.time().ways.settled(receipt.id, now, hidden_until);
        self.tell_dead();
        self.wake.notify_one();
    }

    /// Logs the new dead letters.
    fn tell_dead(&self) {
        let mut queue = self.world.local.lock().unwrap();
        let new = queue.dead.get(queue.told..).unwrap_or_default().to_vec();
        queue.told = queue.dead.len();
        drop(queue);
        for body in new {
            self.process.time().tally.note(Fault::DeadLetter);
            for work_item in decode(&body).unwrap() {
                self.world.time.ways.dead(&work_item);
                self.world.log_message("dead", &work_item);
            }
        }
    }

    fn fails(&self) -> bool {
        let fails = self.process.time().chance().happens(self.world.faults().throttled);
        if fails {
            self.process.time().tally.note(Fault::Throttled);
            self.process.trouble();
        }
        fails
    }
}

#[async_trait]
impl DispatchQueue for LocalPort {
    async fn send(&self, messages: &[QueueMessage], _now: DateTime<Utc>) -> Result<(), QueueError> {
        self.process.pause(200, 5_000).await;
        if self.fails() {
            return Err(QueueError::Unavailable("the simulation says so".into()));
        }
        if self.is_api {
            self.world.note_runs(messages);
        }
        for QueueMessage { work_item, due_at } in messages {
            self.world.log_message("sent", work_item);
            let (now, due) = (self.process.time().now(), micros(*due_at));
            let visible_at = now + due - AHEAD - self.process.clock();
            self.process.time().ways.sent(work_item, now, visible_at.max(now));
            self.world.local.lock().unwrap().keep(encode(work_item), micros(*due_at));
        }
        self.wake.notify_one();
        self.process.pause(200, 5_000).await;
        if self.process.time().chance().happens(self.world.faults().lost / 10) {
            self.process.time().tally.note(Fault::AnswerLost);
            self.process.trouble();
            return Err(QueueError::Unavailable("the simulation lost the answer".into()));
        }
        Ok(())
    }
}

impl World {
    /// A process begins on the queue that the one before it has left.
    pub(super) fn open_local_queue(&self, clock: i64) {
        let mut queue = self.local.lock().unwrap();
        if self.mutation != Some(Mutation::DeliveriesOutlive) {
            queue.begin_process();
        }
        let now = self.time.now();
        let visible_at =
            |it: &Message| (decode(&it.body).unwrap().remove(0), now + it.due - AHEAD - clock);
        let hidden = queue.messages.values().map(visible_at).filter(|(_, at)| *at > now).collect();
        self.time.ways.restarted(now, hidden);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use chrono::TimeDelta;
    use minutehand_ports::{Deliveries as _, ReceiptHandle};
    use minutehand_store_sql::sqlite::Database;
    use minutehand_store_sql::{QueueStanding, SqlQueue};
    use minutehand_testkit::SetClock;

    use super::super::chance::Chance;
    use super::super::time::instant;
    use super::*;

    /// Both queues, and the deliveries of each that are under way, by the texts of the simulated ones.
    struct Both {
        clock: SetClock,
        database: Database,
        real: SqlQueue,
        simulated: LocalQueue,
        held: BTreeMap<String, (Receipt, ReceiptHandle)>,
    }

    impl Both {
        async fn new() -> Self {
            let clock = SetClock::at(instant(0));
            let (database, _) = Database::in_memory().unwrap();
            let real = Self::open(&database, &clock).await;
            Self { clock, database, real, simulated: LocalQueue::default(), held: BTreeMap::new() }
        }

        async fn open(database: &Database, clock: &SetClock) -> SqlQueue {
            SqlQueue::alone(database.clone(), Arc::new(clock.clone())).await.unwrap()
        }

        fn now(&self) -> i64 {
            micros(minutehand_ports::Clock::now(&self.clock))
        }

        async fn send(&mut self, number: u64, due: i64) {
            let work_item = WorkItem::PurgeCollection { collection_uid: format!("c{number}") };
            self.simulated.keep(encode(&work_item), due);
            let message = QueueMessage { work_item, due_at: instant(due) };
            self.real.send(&[message], instant(self.now())).await.unwrap();
        }

        async fn receive(&mut self) {
            let taken = self.simulated.receive(self.now());
            if taken.is_empty() {
                // The real queue would wait.
                assert_eq!(self.real.standing().await.unwrap().visible, 0);
                return;
            }
            let real = self.real.receive(RECEIVED_MAX).await.unwrap();
            let told = |item: &WorkItem, receives: u32| format!("{item:?} {receives}");
            let one: Vec<_> = taken.iter().map(|it| told(&it.work_item, it.receives)).collect();
            let other: Vec<_> = real
                .iter()
                .map(|it| told(it.work_item.as_ref().unwrap(), it.receive_count))
                .collect();
            assert_eq!(one, other);
            for (one, other) in taken.iter().zip(&real) {
                self.held.insert(one.receipt.to_string(), (one.receipt, other.receipt));
            }
        }

        async fn settle(&mut self, chance: &mut Chance) {
            let at = usize::try_from(chance.below(u64::try_from(self.held.len()).unwrap()));
            let Some((text, (one, other))) =
                self.held.iter().nth(at.unwrap()).map(|(text, both)| (text.clone(), *both))
            else {
                return;
            };
            self.held.remove(&text);
            let after = Duration::from_secs(chance.pick(&[0, 5, 100, 3_000]));
            let (settled, answered) = match chance.below(4) {
                0 => (Settled::Done, self.real.finish(&[other]).await),
                1 => (Settled::PutBack(after), self.real.put_back(&[(other, after)]).await),
                2 => (Settled::SetAside(after), self.real.set_aside(&[(other, after)]).await),
                _ => (Settled::Buried, self.real.bury(&[other], "it is").await),
            };
            answered.unwrap();
            self.simulated.settle(one, settled, self.now());
        }

        /// The next process, whose clock may show less.
        async fn restart(&mut self, jump: i64) {
            self.real = Self::open(&self.database, &self.clock).await;
            self.clock.advance(TimeDelta::seconds(jump));
            self.simulated.begin_process();
        }

        async fn compare(&self) {
            let QueueStanding { visible, delayed, hidden, dead_letters, .. } =
                self.real.standing().await.unwrap();
            let all = u64::try_from(self.simulated.messages.len()).unwrap();
            assert_eq!(visible + delayed + hidden, all);
            assert_eq!(dead_letters, u64::try_from(self.simulated.dead.len()).unwrap());
        }
    }

    #[tokio::test]
    async fn the_local_queue_in_memory_answers_as_the_real_one() {
        for seed in 0..4 {
            let (mut chance, mut both) = (Chance::of(seed), Both::new().await);
            for number in 0..400 {
                match chance.below(10) {
                    0..3 => {
                        let due = both.now() + SECOND * chance.pick(&[-600, 0, 1, 30, 900]);
                        both.send(number, due).await;
                    }
                    3..6 => both.receive().await,
                    6..8 => both.settle(&mut chance).await,
                    8 => both.clock.advance(TimeDelta::seconds(chance.pick(&[1, 20, 121]))),
                    _ => both.restart(chance.pick(&[0, 0, 600, -600])).await,
                }
                both.compare().await;
            }
        }
    }
}
