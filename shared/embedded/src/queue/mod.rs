//! The queue on one machine: messages on their way from the sweeper and the API to the workers.
//!
//! It mirrors SQS. A message waits until it is due, is delivered to one worker and hidden from the
//! others for [`VISIBILITY`], and delivered again unless that worker finishes it; one that was
//! delivered [`RECEIVES_MAX`] times goes to the dead letters. It differs where one machine can do
//! better: the delay has no limit, messages come in the order in which they are due and up to
//! [`DELIVER_AHEAD`] before it, so that whoever executes them has claimed them by then, and the
//! deliveries of a process that is gone are void as soon as the next one starts.
//!
//! Dues are by the schedule, the time in which a message is hidden is time of work: a test clock
//! runs a month of the one in a minute of the other.
//!
//! # What is durable, and when
//!
//! The messages are in SQLite, `queue.db`, written by one thread. What waits for it together is one
//! transaction and one wait for the disk, so a burst costs a few of them. A send waits for the disk
//! in both [modes](SyncMode): the advance of a timer follows it in *another* file, whose log may
//! reach the disk first, and a power cut must lose the advance, not the message. Everything else
//! can only be lost towards delivering a message once more, which its receiver must bear anyway,
//! so it waits in [`SyncMode::Full`] alone. Therefore SQLite runs at `synchronous = NORMAL` and
//! the log is synced from outside, as the store's is: `FULL` would wait at every commit.
//!
//! | after this step | a kill leaves | a power cut leaves | repaired by |
//! |---|---|---|---|
//! | sent, not answered | the messages of a request, or none | the same | the sender, who sends again: two of the same are known as one when they are received |
//! | send answered | the messages | the messages | |
//! | delivered | them, hidden | them, hidden or as before | the next start: visible at once, and the delivery not counted |
//! | delivered, and its worker stalls | | | the queue: visible after [`VISIBILITY`] |
//! | done, not finished | as delivered | as delivered | who receives it again finds it done |
//! | finished, answered | nothing | nothing, or in [`SyncMode::Normal`] as delivered | as above |
//! | put back or buried, answered | that | that, or in [`SyncMode::Normal`] as delivered | as delivered |
//! | in the middle of a checkpoint | the log, from which the next start repeats it | the same | |
//!
//! If the disk refuses to make something durable, everything is refused from then on: what is in
//! the log is then unknown, and only a new start can find out.

mod file;
mod parcel;
mod schema;
mod table;
mod thread;

use std::error::Error;
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::firing::limits;
use domain::tick::ticks;
use domain::work_item::{self, UnreadableMessage, WorkItem};
use ports::{Clock, DispatchQueue, QueueError};
use rusqlite::Connection;
use tokio::sync::{Mutex, Notify, OwnedSemaphorePermit, Semaphore, oneshot};

use self::file::{QUEUE, QueueFile};
use self::parcel::{Looking, TakenMessages};
use self::table::{Found, Look, Next, StoredMessage};
pub(crate) use self::thread::QueueCommand;
use self::thread::{Kind, QueueFailure, QueueServer, Task};
use crate::data_dir::DataDir;
use crate::error::OpenError;
use crate::log::SyncMode;
use crate::serving::{self, IN_FLIGHT_MAX, ThreadMessage};

/// How long before it is due a message may be delivered, in time of work: as early as whoever gets it
/// keeps it. One that is earlier is sent again.
pub const DELIVER_AHEAD: TimeDelta = limits::EARLY;

/// How long a delivered message is hidden from others, in time of work.
///
/// Longer than the lease of a claim, which is longer than an action may take.
pub const VISIBILITY: TimeDelta = limits::VISIBILITY;

/// How long a message can be hidden when it is put back; as in SQS.
pub const HIDDEN_MAX: Duration = Duration::from_hours(12);

/// How often a message is delivered; then it goes to the dead letters.
pub const RECEIVES_MAX: u32 = limits::RECEIVES_MAX;

/// Messages of one request of the thread. More are sent, or ended, in several.
pub const REQUEST_MAX: usize = 1_000;

/// Messages that are received at once, at most.
pub const RECEIVE_MAX: usize = 1_000;

/// Dead letters that are read at once, at most.
pub const DEAD_LETTERS_MAX: usize = 1_000;

/// The longest body of a message; as in SQS.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// How long, in time of work, a clock is trusted that may be set, or have been suspended.
const RECHECK_EVERY: Duration = Duration::from_secs(1);

/// A running queue.
///
/// Cheap to clone. It runs until the last clone is dropped, or until it is closed.
#[derive(Clone)]
pub struct Queue {
    messages: Sender<ThreadMessage<QueueCommand>>,
    /// One for each call that may be under way.
    places: Arc<Semaphore>,
    /// Whose turn it is to look for messages and to wait for them: one wait is enough.
    turn: Arc<Mutex<()>>,
    /// Tells who waits that something else may come first now.
    wake: Arc<Notify>,
    clock: Arc<dyn Clock>,
}

/// A message as a worker gets it.
#[derive(Debug)]
pub struct TakenMessage {
    /// With which it is finished, put back or buried.
    pub receipt: ReceiptHandle,
    /// What the message asks for: at least one work item.
    pub work_items: Result<Vec<WorkItem>, UnreadableMessage>,
    /// When, at the earliest: up to [`DELIVER_AHEAD`] from now.
    pub due_at: DateTime<Utc>,
    /// When it was sent.
    pub sent_at: DateTime<Utc>,
    /// How often it was delivered, this time included.
    pub receive_count: u32,
}

/// One delivery of one message. It is void once the message is delivered again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReceiptHandle {
    id: i64,
    delivery: i64,
}

impl fmt::Display for ReceiptHandle {
    /// For logs: the message, and its delivery.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.id, self.delivery)
    }
}

/// A message that is not delivered any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Its own, among the dead letters; later ones have greater numbers.
    pub number: i64,
    /// The message as it was sent.
    pub body: String,
    /// When it was due.
    pub due_at: DateTime<Utc>,
    /// When it was sent.
    pub sent_at: DateTime<Utc>,
    /// How often it was delivered.
    pub receive_count: u32,
    /// Why it is here.
    pub reason: String,
    /// Since when, by the schedule.
    pub buried_at: DateTime<Utc>,
}

/// How much is in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueStats {
    /// Messages that are due and wait for a worker.
    pub visible: u64,
    /// Messages that are not due yet.
    pub delayed: u64,
    /// Messages that a worker has, or has put back for a while.
    pub hidden: u64,
    /// When the first of those that are not hidden is, or was, due.
    pub oldest_due_at: Option<DateTime<Utc>>,
    /// Dead letters.
    pub dead_letters: u64,
}

/// Why a message is refused.
#[derive(Debug, thiserror::Error)]
#[error(
    "a message has {bytes} bytes, and {BODY_BYTES_MAX} is the most: send fewer attempts in one"
)]
struct TooLong {
    bytes: usize,
}

impl Queue {
    /// Opens the queue in a data directory, and creates it if it is missing.
    ///
    /// Waits for the disk, so it belongs into a program's start. What an earlier process had
    /// received and not finished can be received again.
    ///
    /// # Errors
    ///
    /// If the database cannot be opened, or a newer version wrote it.
    pub fn open(
        data_dir: &DataDir,
        sync: SyncMode,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        Self::start(QueueFile::open(data_dir)?, sync, clock)
    }

    /// Makes a queue that is gone when it stops.
    ///
    /// # Errors
    ///
    /// If there is no memory, or no thread, for it.
    pub fn in_memory(clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Self::start(QueueFile::in_memory()?, SyncMode::Normal, clock)
    }

    /// Waits until a message can be delivered, and returns it and the next, up to `max` or
    /// [`RECEIVE_MAX`], those first that are due first.
    ///
    /// Several may wait; none gets what another has. Whoever stops waiting leaves everything as it
    /// was.
    ///
    /// # Errors
    ///
    /// If the queue is closed or its disk fails.
    pub async fn receive(&self, max: usize) -> Result<Vec<TakenMessage>, QueueError> {
        let max = max.clamp(1, RECEIVE_MAX);
        let turn = self.turn.lock().await;
        let letters = loop {
            let Found { letters, next } = self.look(max).await?.open();
            if !letters.is_empty() {
                break letters;
            }
            self.wait_for(next).await;
        };
        // Reading them is nobody else's delay.
        drop(turn);
        let read = |letter: table::Delivered| TakenMessage {
            receipt: letter.receipt,
            work_items: work_item::decode(&letter.body),
            due_at: letter.due_at,
            sent_at: letter.sent_at,
            receive_count: letter.receive_count,
        };
        Ok(letters.into_iter().map(read).collect())
    }

    /// Deletes messages that are done. A void receipt does nothing, here and below.
    ///
    /// # Errors
    ///
    /// If the queue is closed or its disk fails; some may then be deleted.
    pub async fn finish(&self, receipts: &[ReceiptHandle]) -> Result<(), QueueError> {
        for receipts in receipts.chunks(REQUEST_MAX) {
            let receipts = receipts.to_vec();
            let n_messages = receipts.len();
            let finish = move |connection: &Connection| table::finish(connection, &receipts);
            self.ask(Kind::Ends, n_messages, finish).await?;
        }
        Ok(())
    }

    /// Lets messages be delivered again after so much time of work, at most [`HIDDEN_MAX`].
    ///
    /// # Errors
    ///
    /// If the queue is closed or its disk fails; some may then be put back.
    pub async fn put_back(&self, receipts: &[(ReceiptHandle, Duration)]) -> Result<(), QueueError> {
        let now = self.clock.work_now();
        for receipts in receipts.chunks(REQUEST_MAX) {
            let until = |after: Duration| (!after.is_zero()).then(|| ticks(now + after));
            let receipts: Vec<_> = receipts
                .iter()
                .map(|(receipt, after)| (*receipt, until((*after).min(HIDDEN_MAX))))
                .collect();
            let n_messages = receipts.len();
            let put_back = move |connection: &Connection| table::put_back(connection, &receipts);
            self.ask(Kind::Returns, n_messages, put_back).await?;
        }
        Ok(())
    }

    /// Moves messages to the dead letters.
    ///
    /// # Errors
    ///
    /// If the queue is closed or its disk fails; some may then be moved.
    pub async fn bury(&self, receipts: &[ReceiptHandle], why: &str) -> Result<(), QueueError> {
        let now = ticks(self.clock.now());
        for receipts in receipts.chunks(REQUEST_MAX) {
            let (receipts, why) = (receipts.to_vec(), why.to_owned());
            let n_messages = receipts.len();
            let bury = move |connection: &Connection| table::bury(connection, &receipts, &why, now);
            self.ask(Kind::Ends, n_messages, bury).await?;
        }
        Ok(())
    }

    /// Returns the last dead letters, up to `limit` or [`DEAD_LETTERS_MAX`], the latest first.
    ///
    /// # Errors
    ///
    /// If the queue is closed or its disk fails.
    pub async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, QueueError> {
        let limit = limit.min(DEAD_LETTERS_MAX);
        self.ask(Kind::Looks, limit, move |connection| table::dead_letters(connection, limit)).await
    }

    /// Says how much is in the queue. It counts, in an index: some milliseconds for a hundred
    /// thousand messages.
    ///
    /// # Errors
    ///
    /// If the queue is closed or its disk fails.
    pub async fn stats(&self) -> Result<QueueStats, QueueError> {
        let (now, work_now) = (ticks(self.clock.now()), ticks(self.clock.work_now()));
        self.ask(Kind::Looks, 1, move |connection| table::stats(connection, now, work_now)).await
    }

    /// Stops the queue once what it has accepted is answered, and lets its directory go.
    ///
    /// Clones that are still there get errors from then on, and so does who waits for a message.
    pub async fn close(self) {
        serving::close(self.messages).await;
    }

    /// Where its thread is asked.
    pub(crate) fn messages(&self) -> Sender<ThreadMessage<QueueCommand>> {
        self.messages.clone()
    }

    fn start(file: QueueFile, sync: SyncMode, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let wake = Arc::new(Notify::new());
        let server = QueueServer { file, sync, wake: Arc::clone(&wake) };
        let messages = serving::start(QUEUE, server)?;
        let places = Arc::new(Semaphore::new(IN_FLIGHT_MAX));
        Ok(Self { messages, places, turn: Arc::default(), wake, clock })
    }

    async fn ask<T: Send + 'static>(
        &self,
        kind: Kind,
        n_messages: usize,
        perform: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, QueueError> {
        let place = Some(self.place().await?);
        let (reply, answer) = oneshot::channel();
        let work = Box::new(Task::new(perform, reply));
        self.call(QueueCommand { kind, n_messages, work, place }, answer).await
    }

    async fn look(&self, max: usize) -> Result<TakenMessages, QueueError> {
        let place = Some(self.place().await?);
        let (reply, answer) = oneshot::channel();
        let (now, work_now) = (self.clock.now(), self.clock.work_now());
        let look = Look {
            max,
            due_until: ticks(now + self.clock.scheduled_during(DELIVER_AHEAD)),
            now: ticks(now),
            work_now: ticks(work_now),
            hide_until: ticks(work_now + VISIBILITY),
        };
        let sender = self.messages.clone();
        let work = Box::new(Looking { look, found: Found::default(), sender, reply });
        self.call(QueueCommand { kind: Kind::Looks, n_messages: max, work, place }, answer).await
    }

    async fn place(&self) -> Result<OwnedSemaphorePermit, QueueError> {
        let places = Arc::clone(&self.places);
        places.acquire_owned().await.map_err(|_| unavailable(QueueFailure::Closed))
    }

    async fn call<T>(
        &self,
        call: QueueCommand,
        answer: oneshot::Receiver<Result<T, QueueFailure>>,
    ) -> Result<T, QueueError> {
        // The reply is dropped unanswered by a queue that stopped before this call's turn.
        let closed = || unavailable(QueueFailure::Closed);
        self.messages.send(ThreadMessage::Request(call)).map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?.map_err(unavailable)
    }

    /// Waits until a message may be deliverable that was not.
    async fn wait_for(&self, next: Next) {
        let ahead = self.clock.scheduled_during(DELIVER_AHEAD);
        let deliver_at = next.due_at.map(|due_at| due_at - ahead);
        // An empty queue is woken by whoever sends to it, and not otherwise.
        let is_empty = deliver_at.is_none() && next.hidden_until.is_none();
        loop {
            let work_now = self.clock.work_now();
            // Nothing is left of a stretch that would be negative.
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

#[async_trait]
impl DispatchQueue for Queue {
    async fn send(
        &self,
        messages: &[ports::QueueMessage],
        now: DateTime<Utc>,
    ) -> Result<(), QueueError> {
        let letters: Result<Vec<_>, _> =
            messages.iter().map(|message| letter(message, now)).collect();
        let mut letters = letters?.into_iter();
        loop {
            let request: Vec<_> = letters.by_ref().take(REQUEST_MAX).collect();
            if request.is_empty() {
                return Ok(());
            }
            let n_messages = request.len();
            let send = move |connection: &Connection| table::send(connection, &request);
            self.ask(Kind::Sends, n_messages, send).await?;
        }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

fn letter(message: &ports::QueueMessage, now: DateTime<Utc>) -> Result<StoredMessage, QueueError> {
    let body = work_item::encode(&message.work_item);
    if body.len() > BODY_BYTES_MAX {
        return Err(QueueError::Refused(TooLong { bytes: body.len() }.into()));
    }
    Ok(StoredMessage { due: ticks(message.due_at), sent: ticks(now), body })
}

fn unavailable(failure: QueueFailure) -> QueueError {
    QueueError::Unavailable(Box::<dyn Error + Send + Sync>::from(failure))
}
