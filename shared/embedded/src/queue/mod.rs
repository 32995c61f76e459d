//! The queue on one machine: carries messages from the sweeper and the API to the workers.
//!
//! The queue behaves like SQS. A message waits until it is due, is delivered to one worker, and is
//! hidden from the others for [`VISIBILITY`]. It is delivered again unless that worker finishes it.
//! After [`RECEIVES_MAX`] deliveries it goes to the dead letters. The queue differs where one machine
//! can do better:
//!
//! - The delay has no limit.
//! - Messages arrive in the order in which they are due, and up to [`DELIVER_AHEAD`] before, so that
//!   a worker has claimed the attempt when it is due.
//! - When a process starts, the deliveries of the one before are void at once.
//! - A dead letter that becomes a message again is as old as it was.
//!
//! Due times are in schedule time; the time for which a message is hidden is work time. A test clock
//! may run a month of schedule in a minute of work. Work time has to be a stopwatch, as it is on the
//! clock of one process: otherwise a system clock that jumps would deliver a message to a second worker.
//!
//! # What is durable, and when
//!
//! SQLite stores the messages in `queue.db`, and one thread writes them. Requests that wait together
//! share one transaction and one `fsync`, so a burst costs only a few of them.
//!
//! A send waits for the disk in both [modes](SyncMode). The timer that the message came from is
//! advanced afterwards, in *another* file, whose log may reach the disk first: a power cut must lose
//! the advance, not the message. If any other write is lost, the worst case is that a message is
//! delivered again, which receivers must handle anyway. Those writes wait in [`SyncMode::Full`] only.
//! Therefore SQLite runs at `synchronous = NORMAL`, and the queue syncs the log itself, as the store
//! does: `FULL` would wait at every commit.
//!
//! | after this step | a kill leaves | a power cut leaves | repaired by |
//! |---|---|---|---|
//! | sent, not answered | all messages of a request, or none | the same | the sender, which sends again: workers recognize a message that they receive twice |
//! | send answered | the messages | the messages | |
//! | delivered | the messages, hidden | the messages, hidden or visible | the next start: they are visible at once, and the delivery is not counted |
//! | delivered, and the worker stalls | | | the queue: the message is visible after [`VISIBILITY`] |
//! | work done, not finished | as delivered | as delivered | the next receiver, which finds in the store that the work is done |
//! | finish answered | nothing | nothing, or in [`SyncMode::Normal`] as delivered | as above |
//! | put back, set aside or buried, answered | that | that, or in [`SyncMode::Normal`] as delivered | as delivered |
//! | during a checkpoint | the log; the next start repeats the checkpoint | the same | |
//!
//! If the disk fails to make something durable, the queue refuses every further request: what the
//! log holds is unknown then, and only a restart can find out.

mod dead_letters;
mod file;
mod schema;
mod table;
mod taken;
mod thread;

use std::error::Error;
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::firing::limits;
use minutehand_domain::tick::ticks;
use minutehand_domain::work_item;
use minutehand_ports::{
    Clock, Deliveries, DispatchQueue, HIDDEN_MAX, QueueError, ReceiptHandle, TakenMessage,
};
use rusqlite::Connection;
use tokio::sync::{Mutex, Notify, OwnedSemaphorePermit, Semaphore, oneshot};

pub(crate) use self::file::{QUEUE, QueueFile};
use self::table::{NextWake, ReceiveQuery, Received, StoredMessage};
use self::taken::{Receiving, TakenMessages};
pub(crate) use self::thread::QueueCommand;
use self::thread::{Kind, QueueFailure, QueueServer, Task};
use crate::data_dir::DataDir;
use crate::error::OpenError;
use crate::log::SyncMode;
use crate::serving::{self, IN_FLIGHT_MAX, ThreadMessage};

/// How long before its due time a message may be delivered, in work time. A worker sends a message
/// again that arrives earlier.
pub const DELIVER_AHEAD: TimeDelta = limits::EARLY;

/// How long a delivered message is hidden from other workers, in work time.
///
/// This is longer than the lease of a claim, which is longer than an action may take.
pub const VISIBILITY: TimeDelta = limits::VISIBILITY;

/// How often a message is delivered before it goes to the dead letters.
pub const RECEIVES_MAX: u32 = limits::RECEIVES_MAX;

/// The most messages in one request to the thread. Larger calls are split.
pub const REQUEST_MAX: usize = 1_000;

/// The most messages that one call receives.
pub const RECEIVE_MAX: usize = 1_000;

/// The most dead letters that one call reads.
pub const DEAD_LETTERS_MAX: usize = 1_000;

/// The longest body of a message; the limit of SQS.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// How often, in work time, a waiting receiver reads the clock: it may be set, or the machine
/// suspended.
const RECHECK_EVERY: Duration = Duration::from_secs(1);

/// A running queue.
///
/// Cheap to clone. It runs until the last clone is dropped, or until it is closed.
#[derive(Clone)]
pub struct Queue {
    messages: Sender<ThreadMessage<QueueCommand>>,
    /// One permit for each concurrent call.
    permits: Arc<Semaphore>,
    /// Held by the one receiver that waits for messages; the others queue up behind it.
    receiver: Arc<Mutex<()>>,
    /// Whether the last try to receive messages failed.
    has_failed_to_deliver: Arc<AtomicBool>,
    /// Wakes that receiver, because another message may come first now.
    wake: Arc<Notify>,
    clock: Arc<dyn Clock>,
}

/// A message that is no longer delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuriedMessage {
    /// Identifies the dead letter; later ones have greater numbers.
    pub number: i64,
    /// The message as it was sent.
    pub body: String,
    /// When the message was due.
    pub due_at: DateTime<Utc>,
    /// When the message was sent.
    pub sent_at: DateTime<Utc>,
    /// How often the message was delivered.
    pub receive_count: u32,
    /// Why the message was buried.
    pub reason: String,
    /// When the message was buried, in schedule time.
    pub buried_at: DateTime<Utc>,
}

/// How much is in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueStats {
    /// Messages that are due and wait for a worker.
    pub visible: u64,
    /// Messages that are not due yet.
    pub delayed: u64,
    /// Messages that a worker holds or has put back.
    pub hidden: u64,
    /// The earliest due time of the messages that are not hidden.
    pub oldest_due_at: Option<DateTime<Utc>>,
    /// Dead letters.
    pub dead_letters: u64,
}

/// A message that the queue refuses because of its length.
#[derive(Debug, thiserror::Error)]
#[error("a message has {bytes} bytes, and {BODY_BYTES_MAX} is the most")]
struct TooLong {
    bytes: usize,
}

impl Queue {
    /// Opens the queue in a data directory, and creates it if it is missing.
    ///
    /// This blocks on the disk, so call it while the program starts. Messages that an earlier process
    /// received and did not finish can be received again.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be opened, or if a newer version wrote it.
    pub fn open(
        data_dir: &DataDir,
        sync: SyncMode,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        Self::start(QueueFile::open(data_dir)?, sync, clock)
    }

    /// Creates a queue in memory; its messages are lost when it stops.
    ///
    /// # Errors
    ///
    /// Returns an error if there is not enough memory, or if its thread cannot be started.
    pub fn in_memory(clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Self::start(QueueFile::in_memory()?, SyncMode::Normal, clock)
    }

    /// Whether the last try to receive messages failed. A receiver that waits tries every second.
    #[must_use]
    pub fn has_failed_to_deliver(&self) -> bool {
        self.has_failed_to_deliver.load(Ordering::Relaxed)
    }

    /// Returns the newest dead letters, newest first, up to `limit` and at most
    /// [`DEAD_LETTERS_MAX`].
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is closed or its disk fails.
    pub async fn dead_letters(&self, limit: usize) -> Result<Vec<BuriedMessage>, QueueError> {
        let limit = limit.min(DEAD_LETTERS_MAX);
        self.ask(Kind::Read, limit, move |connection| table::dead_letters(connection, limit)).await
    }

    /// Deletes messages and dead letters that were sent before an instant. Returns how many. A message that
    /// is not due by then stays.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is closed or its disk fails.
    pub async fn forget(&self, before: DateTime<Utc>) -> Result<usize, QueueError> {
        let before = ticks(before);
        self.ask(Kind::Finish, 1, move |connection| table::forget(connection, before)).await
    }

    /// Counts the messages in the queue. This scans an index, which takes some milliseconds for a
    /// hundred thousand messages.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is closed or its disk fails.
    pub async fn stats(&self) -> Result<QueueStats, QueueError> {
        let (now, work_now) = (ticks(self.clock.now()), ticks(self.clock.work_now()));
        self.ask(Kind::Read, 1, move |connection| table::stats(connection, now, work_now)).await
    }

    /// Answers all accepted requests, then stops the queue and releases its directory.
    ///
    /// From then on, clones of the queue return errors, and so do receivers that wait for a message.
    pub async fn close(self) {
        serving::close(self.messages).await;
    }

    /// The channel to the queue's thread.
    pub(crate) fn messages(&self) -> Sender<ThreadMessage<QueueCommand>> {
        self.messages.clone()
    }

    pub(crate) fn start(
        file: QueueFile,
        sync: SyncMode,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        let wake = Arc::new(Notify::new());
        let server = QueueServer { file, sync, wake: Arc::clone(&wake) };
        let messages = serving::start(QUEUE, server)?;
        let permits = Arc::new(Semaphore::new(IN_FLIGHT_MAX));
        let (receiver, has_failed_to_deliver) = (Arc::default(), Arc::default());
        Ok(Self { messages, permits, receiver, has_failed_to_deliver, wake, clock })
    }

    async fn ask<T: Send + 'static>(
        &self,
        kind: Kind,
        n_messages: usize,
        perform: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, QueueError> {
        let permit = Some(self.permit().await?);
        let (reply, answer) = oneshot::channel();
        let work = Box::new(Task::new(perform, reply));
        self.call(QueueCommand { kind, n_messages, work, permit }, answer).await
    }

    async fn receive_visible(&self, max: usize) -> Result<TakenMessages, QueueError> {
        let permit = Some(self.permit().await?);
        let (reply, answer) = oneshot::channel();
        let (now, work_now) = (self.clock.now(), self.clock.work_now());
        let query = ReceiveQuery {
            max,
            due_until: ticks(now + self.clock.scheduled_during(DELIVER_AHEAD)),
            now: ticks(now),
            work_now: ticks(work_now),
            hide_until: ticks(work_now + VISIBILITY),
        };
        let sender = self.messages.clone();
        let work = Box::new(Receiving { query, received: Received::default(), sender, reply });
        self.call(QueueCommand { kind: Kind::Read, n_messages: max, work, permit }, answer).await
    }

    /// Until when messages are hidden; `None` for not at all.
    fn until(&self, receipts: &[(ReceiptHandle, Duration)]) -> Vec<(ReceiptHandle, Option<i64>)> {
        let now = self.clock.work_now();
        let until = |after: Duration| (!after.is_zero()).then(|| ticks(now + after));
        receipts.iter().map(|(it, after)| (*it, until((*after).min(HIDDEN_MAX)))).collect()
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, QueueError> {
        let permits = Arc::clone(&self.permits);
        permits.acquire_owned().await.map_err(|_| unavailable(QueueFailure::Closed))
    }

    async fn call<T>(
        &self,
        call: QueueCommand,
        answer: oneshot::Receiver<Result<T, QueueFailure>>,
    ) -> Result<T, QueueError> {
        // A queue that stops before it gets to this call drops the reply.
        let closed = || unavailable(QueueFailure::Closed);
        self.messages.send(ThreadMessage::Request(call)).map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?.map_err(unavailable)
    }

    /// Waits until another message may be deliverable.
    async fn wait_for(&self, next: NextWake) {
        let ahead = self.clock.scheduled_during(DELIVER_AHEAD);
        let deliver_at = next.due_at.map(|due_at| due_at - ahead);
        // Only a send wakes an empty queue.
        let is_empty = deliver_at.is_none() && next.hidden_until.is_none();
        loop {
            let work_now = self.clock.work_now();
            // A negative duration becomes zero.
            let hidden = next.hidden_until.map(|at| (at - work_now).to_std().unwrap_or_default());
            let is_due = deliver_at.is_some_and(|at| at <= self.clock.now());
            if is_due || hidden == Some(Duration::ZERO) {
                return;
            }
            let due = async {
                match deliver_at {
                    Some(at) => self.clock.wait_until(at).await,
                    None => pending().await,
                }
            };
            let rechecked = async {
                match hidden.unwrap_or(RECHECK_EVERY).min(RECHECK_EVERY) {
                    _ if is_empty => pending().await,
                    left => self.clock.wait(left).await,
                }
            };
            tokio::select! {
                () = self.wake.notified() => return,
                () = due => {}
                () = rechecked => {}
            }
        }
    }
}

fn read_taken(message: &table::Delivered) -> TakenMessage {
    TakenMessage {
        receipt: message.receipt,
        work_item: work_item::decode_one(&message.body),
        due_at: message.due_at,
        sent_at: message.sent_at,
        receive_count: message.receive_count,
    }
}

#[async_trait]
impl Deliveries for Queue {
    /// At most [`RECEIVE_MAX`] messages.
    async fn receive(&self, max: usize) -> Result<Vec<TakenMessage>, QueueError> {
        let max = max.clamp(1, RECEIVE_MAX);
        let receiver = self.receiver.lock().await;
        let delivered = loop {
            let answer = self.receive_visible(max).await;
            self.has_failed_to_deliver.store(answer.is_err(), Ordering::Relaxed);
            let Received { delivered, next } = answer?.open();
            if !delivered.is_empty() {
                break delivered;
            }
            self.wait_for(next).await;
        };
        // Decoding the messages must not delay the next receiver.
        drop(receiver);
        Ok(delivered.iter().map(read_taken).collect())
    }

    async fn finish(&self, receipts: &[ReceiptHandle]) -> Result<(), QueueError> {
        for receipts in receipts.chunks(REQUEST_MAX) {
            let receipts = receipts.to_vec();
            let n_messages = receipts.len();
            let finish = move |connection: &Connection| table::finish(connection, &receipts);
            self.ask(Kind::Finish, n_messages, finish).await?;
        }
        Ok(())
    }

    async fn put_back(&self, receipts: &[(ReceiptHandle, Duration)]) -> Result<(), QueueError> {
        for receipts in receipts.chunks(REQUEST_MAX) {
            let receipts = self.until(receipts);
            let n_messages = receipts.len();
            let put_back = move |connection: &Connection| table::put_back(connection, &receipts);
            self.ask(Kind::PutBack, n_messages, put_back).await?;
        }
        Ok(())
    }

    async fn set_aside(&self, receipts: &[(ReceiptHandle, Duration)]) -> Result<(), QueueError> {
        for receipts in receipts.chunks(REQUEST_MAX) {
            let receipts = self.until(receipts);
            let n_messages = receipts.len();
            let set_aside = move |connection: &Connection| table::set_aside(connection, &receipts);
            self.ask(Kind::PutBack, n_messages, set_aside).await?;
        }
        Ok(())
    }

    /// At most [`REQUEST_MAX`] messages.
    async fn take_again(
        &self,
        receipts: &[ReceiptHandle],
    ) -> Result<Vec<Option<TakenMessage>>, QueueError> {
        let receipts: Vec<_> = receipts.iter().take(REQUEST_MAX).copied().collect();
        let n_messages = receipts.len();
        let hide_until = ticks(self.clock.work_now() + VISIBILITY);
        let take =
            move |connection: &Connection| table::take_again(connection, &receipts, hide_until);
        let taken = self.ask(Kind::Read, n_messages, take).await?;
        Ok(taken.iter().map(|message| message.as_ref().map(read_taken)).collect())
    }

    async fn bury(&self, receipts: &[ReceiptHandle], why: &str) -> Result<(), QueueError> {
        let now = ticks(self.clock.now());
        for receipts in receipts.chunks(REQUEST_MAX) {
            let (receipts, why) = (receipts.to_vec(), why.to_owned());
            let n_messages = receipts.len();
            let bury = move |connection: &Connection| table::bury(connection, &receipts, &why, now);
            self.ask(Kind::Finish, n_messages, bury).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl DispatchQueue for Queue {
    async fn send(
        &self,
        messages: &[minutehand_ports::QueueMessage],
        now: DateTime<Utc>,
    ) -> Result<(), QueueError> {
        let stored: Result<Vec<_>, _> =
            messages.iter().map(|message| stored_message(message, now)).collect();
        let mut stored = stored?.into_iter();
        loop {
            let request: Vec<_> = stored.by_ref().take(REQUEST_MAX).collect();
            if request.is_empty() {
                return Ok(());
            }
            let n_messages = request.len();
            let send = move |connection: &Connection| table::send(connection, &request);
            self.ask(Kind::Send, n_messages, send).await?;
        }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

fn stored_message(
    message: &minutehand_ports::QueueMessage,
    now: DateTime<Utc>,
) -> Result<StoredMessage, QueueError> {
    let body = work_item::encode(&message.work_item);
    if body.len() > BODY_BYTES_MAX {
        return Err(QueueError::Refused(TooLong { bytes: body.len() }.into()));
    }
    Ok(StoredMessage { due: ticks(message.due_at), sent: ticks(now), body })
}

fn unavailable(failure: QueueFailure) -> QueueError {
    QueueError::Unavailable(Box::<dyn Error + Send + Sync>::from(failure))
}
