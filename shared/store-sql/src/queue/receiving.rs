//! Waiting for messages, and receiving them.
//!
//! A receiver may be cancelled at any moment, even after messages were hidden for it. They would stay hidden
//! for two minutes. So messages that no receiver takes go back as if never delivered.

use std::future::pending;
use std::mem;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use minutehand_domain::firing::limits::{EARLY, RECEIVES_MAX, VISIBILITY};
use minutehand_ports::{QueueError, ReceiptHandle, TakenMessage};
use tokio::sync::oneshot;

use super::fetch_start::FetchStart;
use super::lost_deliveries::LostDeliveries;
use super::{SqlQueue, bury, read_taken, unreadable};
use crate::script::{Row, Statement, Value};
use crate::sql::queue as sql;
use crate::store::{record, start};
use crate::value::{Columns, Read as _, params};

/// How often, in work time, a waiting receiver reads the clock: it may be set, or the machine suspended.
const RECHECK_EVERY: Duration = Duration::from_secs(1);

/// When the next message can be delivered.
#[derive(Debug, Default, Clone, Copy)]
struct NextWake {
    /// The earliest due time, in schedule time.
    due_at: Option<DateTime<Utc>>,
    /// The earliest end of a hidden time, in work time.
    shown_at: Option<DateTime<Utc>>,
}

/// Messages that were hidden for a receiver. Dropping them unopened gives them back.
struct Unopened {
    queue: SqlQueue,
    messages: Vec<TakenMessage>,
}

impl Unopened {
    fn open(mut self) -> Vec<TakenMessage> {
        mem::take(&mut self.messages)
    }
}

impl Drop for Unopened {
    fn drop(&mut self) {
        let aside = self.messages.iter().map(|message| {
            let ReceiptHandle { id, delivery } = message.receipt;
            Statement::new(sql::SET_ASIDE, params![id, delivery, self.queue.shown()])
        });
        let aside: Vec<_> = aside.collect();
        if !aside.is_empty() {
            // If the queue is closed, the next start voids these deliveries.
            self.queue.database.tell(record("", aside).waking());
        }
    }
}

impl SqlQueue {
    /// Waits until a message can be delivered.
    pub(super) async fn wait_and_receive(
        &self,
        max: usize,
    ) -> Result<Vec<TakenMessage>, QueueError> {
        let _receiver = self.receiver.lock().await;
        loop {
            let (taken, is_taken) = oneshot::channel();
            let queue = self.clone();
            // The answer has to come back somewhere, even if this receiver is cancelled meanwhile.
            tokio::spawn(async move {
                let received = queue.receive_now(max).await;
                let unopened = |(messages, next)| (Unopened { queue, messages }, next);
                let _ = taken.send(received.map(unopened));
            });
            let ended = |_| QueueError::Unavailable("the program ends".into());
            let received = is_taken.await.map_err(ended).flatten();
            self.has_failed_to_deliver.store(received.is_err(), Ordering::Relaxed);
            let (unopened, next) = received?;
            let messages = unopened.open();
            if !messages.is_empty() {
                return Ok(messages);
            }
            self.wait_for(next).await;
        }
    }

    /// What can be delivered now, and when something can be next.
    async fn receive_now(&self, max: usize) -> Result<(Vec<TakenMessage>, NextWake), QueueError> {
        let (now, work_now) = (self.clock.now(), self.clock.work_now());
        let until = now + self.clock.scheduled_during(EARLY);
        let limit = i64::try_from(max).unwrap_or(i64::MAX);
        let from = self.looks_from(work_now);
        // Where work has another clock than the schedule, messages stand by that one, too.
        let to = until.max(work_now + EARLY);
        let (taker, hidden_until) = (self.taker(), work_now + VISIBILITY);
        let lost = self.lost().hidden();
        let show = |until: &DateTime<Utc>| {
            Statement::new(sql::SHOW_LOST, params![work_now, *until, taker])
        };
        let mut statements: Vec<_> = lost.iter().map(show).collect();
        statements.push(Statement::new(sql::SHOW_AGAIN, params![work_now]));
        let before = statements.len();
        statements.extend([
            Statement::new(
                sql::RECEIVE,
                params![until, limit, hidden_until, taker, from.clone(), to],
            ),
            Statement::new(sql::NEXT_DUE, vec![from]),
            Statement::new(sql::NEXT_SHOWN, Vec::new()),
        ]);
        let performed = self.perform(start("", statements)).await;
        let rows = performed.inspect_err(|_| self.lost().add(hidden_until))?;
        self.lost().remove(&lost, work_now);
        let mut rows = rows.into_iter().skip(before);
        let found = rows.next().unwrap_or_default();
        let stand_at =
            found.iter().filter_map(|row| row.last().cloned()).filter_map(DateTime::<Utc>::read);
        let looked_until = if found.len() < max { None } else { stand_at.max() };
        self.fetch_start().looked(now, looked_until);
        let mut messages: Vec<_> = found.into_iter().map(read_taken).collect::<Result<_, _>>()?;
        // SQL returns them in any order.
        messages.sort_unstable_by_key(|message| (message.due_at, message.receipt.id));
        let too_often = messages.extract_if(.., |message| message.receive_count > RECEIVES_MAX);
        let too_often: Vec<_> = too_often.map(|message| message.receipt).collect();
        self.bury_unfinished(&too_often, now).await?;
        let mut next = || first_instant(rows.next().unwrap_or_default());
        Ok((messages, NextWake { due_at: next()?, shown_at: next()? }))
    }

    /// From which instant on it looks. In a file, finished messages are gone at once.
    fn looks_from(&self, work_now: DateTime<Utc>) -> Value {
        let is_shared = self.database.process_of_many().is_some();
        let from = if is_shared { self.fetch_start().begin(work_now) } else { None };
        from.map_or(Value::Integer(i64::MIN), Value::from)
    }

    fn fetch_start(&self) -> MutexGuard<'_, FetchStart> {
        self.fetch_start.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lost(&self) -> MutexGuard<'_, LostDeliveries> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves messages to the dead letters that were delivered too often. This delivery is none.
    async fn bury_unfinished(
        &self,
        receipts: &[ReceiptHandle],
        now: DateTime<Utc>,
    ) -> Result<(), QueueError> {
        let why = format!("received {RECEIVES_MAX} times and never finished");
        for receipt in receipts {
            let ReceiptHandle { id, delivery } = *receipt;
            let mut statements =
                vec![Statement::new(sql::SET_ASIDE, params![id, delivery, self.shown()])];
            statements.extend(bury(*receipt, &why, now));
            self.perform(record("", statements)).await?;
        }
        Ok(())
    }

    /// Waits until another message may be deliverable.
    async fn wait_for(&self, next: NextWake) {
        let look_every = self.database.look_every();
        let ahead = self.clock.scheduled_during(EARLY);
        let deliver_at = next.due_at.map(|due_at| due_at - ahead);
        // Only a send wakes an empty queue, if this process is told of it.
        let is_idle = deliver_at.is_none() && next.shown_at.is_none() && look_every.is_none();
        let recheck_every = look_every.unwrap_or(RECHECK_EVERY).min(RECHECK_EVERY);
        loop {
            let work_now = self.clock.work_now();
            // A negative duration becomes zero.
            let hidden = next.shown_at.map(|at| (at - work_now).to_std().unwrap_or_default());
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
                match hidden.unwrap_or(recheck_every).min(recheck_every) {
                    _ if is_idle => pending().await,
                    left => self.clock.wait(left).await,
                }
            };
            tokio::select! {
                biased;
                () = self.database.woken() => return,
                () = due => {}
                // Another process may have sent something.
                () = rechecked => if look_every.is_some() { return },
            }
        }
    }
}

fn first_instant(rows: Vec<Row>) -> Result<Option<DateTime<Utc>>, QueueError> {
    let first = rows.into_iter().next().map(|row| Columns::new("messages", row).next());
    first.transpose().map_err(unreadable)
}
