//! The queue: carries messages from the sweeper and the API to the workers.
//!
//! It behaves like SQS. A message waits until it is due, is delivered to one worker, and is hidden from the
//! others for [`VISIBILITY`]. It is delivered again unless that worker finishes it. After
//! [`RECEIVES_MAX`](minutehand_domain::firing::limits::RECEIVES_MAX) deliveries it goes to the dead letters. It differs where one
//! database can do better:
//!
//! - The delay has no limit.
//! - Messages arrive in the order in which they are due, and up to [`EARLY`](minutehand_domain::firing::limits::EARLY) before, so that
//!   a worker has claimed the attempt when it is due.
//! - When the one process of a file starts, the deliveries of the one before are void at once.
//! - A dead letter that becomes a message again is as old as it was.
//!
//! Due times are in schedule time; the time for which a message is hidden is work time. Work time has to be
//! a stopwatch, as it is on the clock of one process: otherwise a system clock that jumps would deliver a
//! message to a second worker.
//!
//! | after this step | a crash leaves | repaired by |
//! |---|---|---|
//! | sent, not answered | all messages of a request, or none | the sender, which sends again: workers recognise a message that they receive twice |
//! | delivered | the messages, hidden | in a file the next start: they are visible at once, and the delivery is not counted; among many processes another one, which finds this one dead: they are visible then |
//! | delivered, and the answer is lost | the same, and a process that does not know | its next receiver, which shows them again: the delivery is not counted |
//! | delivered, and the worker stalls | | the message is visible after [`VISIBILITY`] |
//! | work done, not finished | as delivered | the next receiver, which finds that the work is done |
//! | put back, set aside or buried, answered | that | |

mod dead_letters;
mod fetch_start;
mod lost_deliveries;
mod receiving;
mod steps;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::firing::limits::VISIBILITY;
use minutehand_domain::work_item;
use minutehand_ports::{
    Clock, Deliveries, DispatchQueue, HIDDEN_MAX, QueueError, QueueMessage, ReceiptHandle,
    StoreError, TakenMessage,
};
use tokio::sync::Mutex;

use self::fetch_start::FetchStart;
use self::lost_deliveries::LostDeliveries;
use crate::database::{ANY_PROCESS, AnyDatabase, DatabaseError};
use crate::script::{Row, Script, ScriptOutcome, Statement, Value};
use crate::sql::queue as sql;
use crate::store::{record, start};
use crate::value::{Columns, params};

/// The most messages of one script. Larger calls are split.
const TOGETHER_MAX: usize = 500;

/// The most messages that one call receives.
pub const RECEIVE_MAX: usize = 1_000;

/// The longest body of a message; the limit of SQS.
const BODY_BYTES_MAX: usize = 256 * 1024;

/// The queue of a database. Clones are the same one.
#[derive(Clone)]
pub struct SqlQueue {
    database: AnyDatabase,
    clock: Arc<dyn Clock>,
    /// Held by the one receiver that waits for messages; the others queue up behind it.
    receiver: Arc<Mutex<()>>,
    /// Whether the last try to receive messages failed.
    has_failed_to_deliver: Arc<AtomicBool>,
    /// From where on it looks for messages, among many processes.
    fetch_start: Arc<std::sync::Mutex<FetchStart>>,
    /// What it may have received without an answer.
    lost: Arc<std::sync::Mutex<LostDeliveries>>,
}

/// How much is in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueStanding {
    /// Messages that are due and wait for a worker.
    pub visible: u64,
    /// Messages that are not due yet.
    pub delayed: u64,
    /// Messages that a worker holds or has put back.
    pub hidden: u64,
    /// The earliest due time of what waits: of messages that no worker has in hand, and of attempts that wait
    /// under the limits of their collections.
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

impl SqlQueue {
    /// The queue of a database. If this is its only process, what an earlier one received and did not
    /// finish can be received again; among many processes, that is so when the earlier one is found dead.
    ///
    /// # Errors
    ///
    /// If the database refuses.
    pub async fn open(
        database: impl Into<AnyDatabase>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DatabaseError> {
        let database = database.into();
        if database.only_process() != ANY_PROCESS {
            let void = Statement::new(sql::VOID_DELIVERIES, Vec::new());
            database.perform(record("", vec![void])).await?;
        }
        let (receiver, has_failed_to_deliver, fetch_start, lost) = Default::default();
        Ok(Self { database, clock, receiver, has_failed_to_deliver, fetch_start, lost })
    }

    /// Whether the last try to receive messages failed. A receiver that waits tries every second.
    #[must_use]
    pub fn has_failed_to_deliver(&self) -> bool {
        self.has_failed_to_deliver.load(Ordering::Relaxed)
    }

    /// Counts the messages, beside all writes.
    ///
    /// # Errors
    ///
    /// If the database refuses.
    pub async fn standing(&self) -> Result<QueueStanding, QueueError> {
        let now = params![self.clock.now(), self.clock.work_now()];
        let rows = self.read(record("", vec![Statement::new(sql::STANDING, now)])).await?;
        let mut row = Columns::new("messages", rows.into_iter().next().unwrap_or_default());
        let mut read = || {
            let (visible, delayed, hidden) = (row.next()?, row.next()?, row.next()?);
            let oldest: [Option<DateTime<Utc>>; 3] = [row.next()?, row.next()?, row.next()?];
            let oldest_due_at = oldest.into_iter().flatten().min();
            Ok(QueueStanding { visible, delayed, hidden, oldest_due_at, dead_letters: row.next()? })
        };
        read().map_err(unreadable)
    }

    /// Performs a script on messages whose statements need nothing.
    async fn perform(&self, script: Script) -> Result<Vec<Vec<Row>>, QueueError> {
        rows(self.database.perform(script).await?)
    }

    /// Reads rows beside all writes.
    async fn read(&self, script: Script) -> Result<Vec<Row>, QueueError> {
        Ok(rows(self.database.read(script).await?)?.into_iter().flatten().collect())
    }

    /// Performs a statement for each message, some of them together.
    async fn each(
        &self,
        statements: impl Iterator<Item = Statement>,
        finish: impl Fn(Vec<Statement>) -> Script,
    ) -> Result<(), QueueError> {
        let mut statements = statements;
        loop {
            let together: Vec<_> = statements.by_ref().take(TOGETHER_MAX).collect();
            if together.is_empty() {
                return Ok(());
            }
            self.perform(finish(together)).await?;
        }
    }

    /// Hides messages, each for a time.
    async fn hide(
        &self,
        sql: &'static str,
        receipts: &[(ReceiptHandle, Duration)],
    ) -> Result<(), QueueError> {
        let statements = receipts.iter().map(|(ReceiptHandle { id, delivery }, after)| {
            Statement::new(sql, params![*id, *delivery, self.hidden(*after)])
        });
        self.each(statements, |together| record("", together).waking()).await
    }

    /// The number under which this process takes messages.
    fn taker(&self) -> i64 {
        self.database.process_of_many().unwrap_or(ANY_PROCESS)
    }

    /// Until when messages are hidden.
    fn hidden(&self, after: Duration) -> Value {
        if after.is_zero() {
            return self.shown();
        }
        Value::from(self.clock.work_now() + after.min(HIDDEN_MAX))
    }

    /// Until when messages are hidden that can be received at once. Among many processes, they stand
    /// where they belong when they are shown again.
    fn shown(&self) -> Value {
        self.database.process_of_many().map(|_| self.clock.work_now()).into()
    }
}

#[async_trait]
impl DispatchQueue for SqlQueue {
    async fn send(&self, messages: &[QueueMessage], now: DateTime<Utc>) -> Result<(), QueueError> {
        let written_at = self.clock.now();
        let send = |it| send(it, now, written_at);
        let statements: Result<Vec<_>, _> = messages.iter().map(send).collect();
        self.each(statements?.into_iter(), |together| record("", together).waking()).await
    }
}

#[async_trait]
impl Deliveries for SqlQueue {
    /// At most [`RECEIVE_MAX`] messages.
    async fn receive(&self, max: usize) -> Result<Vec<TakenMessage>, QueueError> {
        self.wait_and_receive(max.clamp(1, RECEIVE_MAX)).await
    }

    async fn finish(&self, receipts: &[ReceiptHandle]) -> Result<(), QueueError> {
        let statements = receipts.iter().map(|it| finish(*it));
        self.each(statements, |together| record("", together)).await
    }

    async fn put_back(&self, receipts: &[(ReceiptHandle, Duration)]) -> Result<(), QueueError> {
        self.hide(sql::PUT_BACK, receipts).await
    }

    async fn set_aside(&self, receipts: &[(ReceiptHandle, Duration)]) -> Result<(), QueueError> {
        self.hide(sql::SET_ASIDE, receipts).await
    }

    async fn take_again(
        &self,
        receipts: &[ReceiptHandle],
    ) -> Result<Vec<Option<TakenMessage>>, QueueError> {
        let until = self.clock.work_now() + VISIBILITY;
        let process = self.taker();
        let take = |ReceiptHandle { id, delivery }: &ReceiptHandle| {
            Statement::new(sql::TAKE_AGAIN, params![*id, *delivery, until, process])
        };
        let statements = receipts.iter().take(TOGETHER_MAX).map(take).collect();
        let taken = self.perform(start("", statements)).await;
        let rows = taken.inspect_err(|_| self.lost().add(until))?;
        let read = |rows: Vec<Row>| rows.into_iter().next().map(read_taken).transpose();
        rows.into_iter().map(read).collect()
    }

    async fn bury(&self, receipts: &[ReceiptHandle], why: &str) -> Result<(), QueueError> {
        let now = self.clock.now();
        let statements = receipts.iter().flat_map(|receipt| bury(*receipt, why, now));
        self.each(statements, |together| record("", together)).await
    }
}

impl fmt::Debug for SqlQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlQueue").finish_non_exhaustive()
    }
}

fn rows(outcome: ScriptOutcome) -> Result<Vec<Vec<Row>>, QueueError> {
    match outcome {
        ScriptOutcome::Done(rows) => Ok(rows),
        ScriptOutcome::Unmet { .. } => Err(QueueError::Refused("nothing was needed".into())),
    }
}

/// A row cannot be read.
fn unreadable(error: StoreError) -> QueueError {
    QueueError::Refused(error.into())
}

/// Stores a message that was sent at one instant, and is written at another.
fn send(
    message: &QueueMessage,
    sent_at: DateTime<Utc>,
    written_at: DateTime<Utc>,
) -> Result<Statement, QueueError> {
    let body = work_item::encode(&message.work_item);
    if body.len() > BODY_BYTES_MAX {
        return Err(QueueError::Refused(TooLong { bytes: body.len() }.into()));
    }
    Ok(Statement::new(sql::SEND, params![message.due_at, sent_at, body, written_at]))
}

/// Deletes a message whose work is done.
fn finish(ReceiptHandle { id, delivery }: ReceiptHandle) -> Statement {
    Statement::new(sql::FINISH, params![id, delivery])
}

/// Moves a message to the dead letters: two statements, an even number of which is done together.
fn bury(receipt: ReceiptHandle, why: &str, now: DateTime<Utc>) -> [Statement; 2] {
    let ReceiptHandle { id, delivery } = receipt;
    [Statement::new(sql::BURY, params![id, delivery, why, now]), finish(receipt)]
}

/// Reads a message that is delivered. One whose body is damaged is delivered, too: an error here would hold
/// up every message behind it.
fn read_taken(row: Row) -> Result<TakenMessage, QueueError> {
    let mut row = Columns::new("messages", row);
    let mut read = || {
        Ok(TakenMessage {
            receipt: ReceiptHandle { id: row.next()?, delivery: row.next()? },
            due_at: row.next()?,
            sent_at: row.next()?,
            receive_count: row.next()?,
            work_item: work_item::decode_one(&row.next::<String>()?),
        })
    };
    read().map_err(unreadable)
}
