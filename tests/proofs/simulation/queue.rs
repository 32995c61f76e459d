//! A queue like SQS: messages are delivered twice, late and in any order, are invisible while a
//! worker has them, and go to the dead letters after too many deliveries.
//!
//! Messages are packed as they are for SQS, and read as they are from it. In some runs the processes
//! are of two versions for a while: old ones send one work item a message, and cannot read packets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Role};
use minutehand_domain::work_item::{JobRef, WorkItem, decode, encode, pack};
use minutehand_ports::{DispatchQueue, QueueError, QueueMessage};

use super::mutation::Mutation;
use super::tally::Fault;
use super::time::{Process, SECOND, instant, micros};
use super::world::World;

/// The longest delay of a message.
const DELAY_MAX: i64 = 900;
/// Messages of one request.
const BATCH_MAX: usize = 10;

/// A message in the queue.
#[derive(Default)]
pub(super) struct Sqs {
    pub(super) messages: BTreeMap<u64, Kept>,
    pub(super) dead: Vec<String>,
    next: u64,
    pub(super) is_poked: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) body: String,
    pub(super) visible_at: i64,
    pub(super) receives: u32,
}

/// A message that a worker received.
pub(super) struct Received {
    pub(super) id: u64,
    /// When others may receive it.
    pub(super) visible_at: i64,
    pub(super) receives: u32,
    /// A packet has several.
    pub(super) work_items: Vec<WorkItem>,
}

/// The kind of process that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    Api,
    Sweeper,
    Worker,
}

/// The queue of one process.
pub(super) struct QueuePort {
    pub(super) world: Arc<World>,
    pub(super) process: Arc<Process>,
    pub(super) sender: Sender,
    /// The additional delay of a mutation.
    pub(super) held_back: Mutex<Vec<QueueMessage>>,
}

impl QueuePort {
    /// The check that a mutation leaves out.
    fn lets_through(&self, message: &QueueMessage) -> bool {
        match (self.world.mutation, self.sender, &message.work_item) {
            (Some(Mutation::NoSettleTimer), Sender::Sweeper, WorkItem::CheckFinished { .. }) => {
                false
            }
            (Some(Mutation::SkipDisabled), Sender::Sweeper, WorkItem::Attempt { job, .. }) => {
                self.is_on(job)
            }
            (Some(Mutation::WaitsInVain), Sender::Worker, WorkItem::Attempt { attempt, .. }) => {
                attempt.waited.is_none()
            }
            (Some(Mutation::NoRetries), Sender::Worker, WorkItem::Attempt { attempt, .. }) => {
                attempt.role == Role::Error || attempt.number == 0
            }
            (Some(Mutation::NoNotices), Sender::Worker, WorkItem::Attempt { attempt, .. }) => {
                attempt.role != Role::Notice
            }
            _ => true,
        }
    }

    fn is_on(&self, job: &JobRef) -> bool {
        let snapshot = self.world.memory.snapshot(job);
        snapshot.is_none_or(|snapshot| snapshot.collection_on_since.is_some())
    }

    /// Sends what was said to be sent.
    pub(super) async fn send_held_back(&self) {
        let messages = std::mem::take(&mut *self.held_back.lock().unwrap());
        for batch in messages.chunks(BATCH_MAX) {
            // A failure is that of a process which has moved its timers on already.
            if self.send_batch(batch).await.is_err() {
                return;
            }
        }
    }

    /// Sends a work item of a received message on.
    pub(super) async fn send_on(&self, work_item: &WorkItem, after: i64) -> Result<(), QueueError> {
        let due_at = instant(self.process.clock() + after);
        self.send_batch(&[QueueMessage { work_item: work_item.clone(), due_at }]).await
    }

    async fn send_batch(&self, messages: &[QueueMessage]) -> Result<(), QueueError> {
        self.process.pause(2_000, 15_000).await;
        let faults = self.world.faults();
        let chance = |in_a_million| self.process.time().chance().happens(in_a_million);
        if chance(faults.throttled) {
            self.process.time().tally.note(Fault::Throttled);
            self.process.trouble();
            return Err(QueueError::Unavailable("the simulation says so".into()));
        }
        if self.sender == Sender::Api {
            self.world.note_runs(messages);
        }
        self.world.keep(messages, &self.process);
        if chance(faults.lost) {
            self.process.time().tally.note(Fault::AnswerLost);
            self.process.pause(SECOND / 10, SECOND / 10 + 1).await;
            self.world.keep(messages, &self.process);
        }
        self.process.pause(2_000, 15_000).await;
        if chance(faults.lost / 10) {
            self.process.time().tally.note(Fault::AnswerLost);
            self.process.trouble();
            return Err(QueueError::Unavailable("the simulation lost the answer".into()));
        }
        Ok(())
    }
}

/// A notice beside a retry.
fn notice(message: &QueueMessage) -> Option<QueueMessage> {
    let WorkItem::Attempt { job, attempt } = &message.work_item else { return None };
    let is_retry = attempt.role == Role::Main && attempt.number > 0;
    let attempt = Attempt { role: Role::Notice, number: 0, ..attempt.clone() };
    let work_item = WorkItem::Attempt { job: job.clone(), attempt };
    is_retry.then(|| QueueMessage { work_item, ..message.clone() })
}

#[async_trait]
impl DispatchQueue for QueuePort {
    async fn send(&self, messages: &[QueueMessage], _now: DateTime<Utc>) -> Result<(), QueueError> {
        let mut messages: Vec<_> =
            messages.iter().filter(|it| self.lets_through(it)).cloned().collect();
        if self.world.mutation == Some(Mutation::NoticeOfEveryFailure) {
            messages.extend(messages.iter().filter_map(notice).collect::<Vec<_>>());
        }
        if self.world.mutation == Some(Mutation::AdvanceFirst) && self.sender != Sender::Worker {
            self.held_back.lock().unwrap().extend(messages);
            return Ok(());
        }
        // Work items of one message fail and are lost together.
        for batch in messages.chunks(BATCH_MAX) {
            self.send_batch(batch).await?;
        }
        Ok(())
    }
}

impl World {
    /// Notes which runs were accepted.
    pub(super) fn note_runs(&self, messages: &[QueueMessage]) {
        for message in messages {
            if let WorkItem::Attempt { job, attempt } = &message.work_item
                && matches!(attempt.occurrence, Occurrence::Run { .. })
            {
                let id = format!("{}.{}", job.uid, attempt.id());
                self.runs.lock().unwrap().push((self.time.now(), job.uid.clone(), id));
                self.log_message("accepted", &message.work_item);
            }
        }
    }

    /// Keeps messages, some of them twice, and none of them punctually.
    fn keep(self: &Arc<Self>, messages: &[QueueMessage], process: &Process) {
        let faults = self.faults();
        let clock = process.clock();
        for (body, due_at) in self.packed(messages, process) {
            let work_items = decode(&body).unwrap();
            for work_item in &work_items {
                self.log_message("sent", work_item);
            }
            if faults.vanished > 0 && self.time.chance().happens(faults.vanished) {
                self.lose(&work_items);
                continue;
            }
            let copies = 1 + u32::from(self.time.chance().happens(faults.doubled));
            if copies > 1 {
                self.time.tally.note(Fault::MessageDoubled);
            }
            let delay = ((micros(due_at) - clock) / SECOND).clamp(0, DELAY_MAX) * SECOND;
            for _ in 0..copies {
                let is_late = self.time.chance().happens(faults.late);
                if is_late {
                    self.time.tally.note(Fault::MessageLate);
                }
                let late = if is_late { 20 * SECOND } else { SECOND / 5 };
                let visible_at = self.time.now() + delay + self.time.chance().between(0, late);
                for work_item in &work_items {
                    self.time.ways.sent(work_item, self.time.now(), visible_at);
                }
                let mut sqs = self.sqs.lock().unwrap();
                let id = sqs.next;
                sqs.next += 1;
                sqs.messages.insert(id, Kept { body: body.clone(), visible_at, receives: 0 });
                drop(sqs);
                self.poke_at(visible_at + 1_000);
            }
        }
    }

    /// A message never comes.
    fn lose(&self, work_items: &[WorkItem]) {
        for work_item in work_items {
            if let WorkItem::Attempt { job, attempt } = work_item {
                let id = format!("{}.{}", job.uid, attempt.id());
                *self.vanished.lock().unwrap().entry(id).or_default() += 1;
            }
            self.time.ways.lost(work_item, self.time.now());
            self.log_message("lost", work_item);
        }
        self.time.tally.note(Fault::MessageLost);
    }

    /// The bodies of the messages, and when they are due.
    fn packed(&self, messages: &[QueueMessage], process: &Process) -> Vec<(String, DateTime<Utc>)> {
        if self.is_old(process) {
            return messages.iter().map(|it| (encode(&it.work_item), it.due_at)).collect();
        }
        let now = instant(process.clock());
        let packets = pack(messages.iter().map(|it| (&it.work_item, it.due_at)), now);
        packets.iter().map(|packet| (packet.encode(), packet.due_at)).collect()
    }

    pub(super) fn poke_at(self: &Arc<Self>, at: i64) {
        let world = self.clone();
        self.time.spawn(&self.keeper, async move {
            world.time.until(at).await;
            world.poke();
        });
    }

    /// Lets a worker look into the queue in a moment.
    pub(super) fn poke(self: &Arc<Self>) {
        if std::mem::replace(&mut self.sqs.lock().unwrap().is_poked, true) {
            return;
        }
        let world = self.clone();
        let at = self.time.now() + self.time.chance().between(10_000, 150_000);
        self.time.spawn(&self.keeper, async move {
            world.time.until(at).await;
            world.sqs.lock().unwrap().is_poked = false;
            world.receive();
        });
    }

    /// Gives some messages to a worker.
    pub(super) fn receive(self: &Arc<Self>) {
        let now = self.time.now();
        if self.workers_are_down() {
            self.poke_at(self.awake_at(now + 30 * SECOND));
            return;
        }
        let sqs = self.sqs.lock().unwrap();
        let mut visible: Vec<u64> =
            sqs.messages.iter().filter(|(_, it)| it.visible_at <= now).map(|(id, _)| *id).collect();
        drop(sqs);
        let mut batch = Vec::new();
        while !visible.is_empty() && batch.len() < BATCH_MAX {
            let at = self.time.chance().below(u64::try_from(visible.len()).unwrap());
            batch.push(visible.swap_remove(usize::try_from(at).unwrap()));
        }
        if !visible.is_empty() {
            self.poke();
        }
        let received = batch.into_iter().filter_map(|id| self.receive_one(id)).collect::<Vec<_>>();
        if !received.is_empty() {
            self.work(received);
        }
    }

    fn receive_one(self: &Arc<Self>, id: u64) -> Option<Received> {
        let (visibility, receives_max) = match self.mutation {
            Some(Mutation::LeaseOverVisibility) => (95, 3),
            _ => (120, 20),
        };
        let mut sqs = self.sqs.lock().unwrap();
        let message = sqs.messages.get_mut(&id)?;
        message.receives += 1;
        message.visible_at = self.time.now() + visibility * SECOND;
        let Kept { body, visible_at, receives } = message.clone();
        if receives > receives_max {
            sqs.messages.remove(&id);
            self.time.tally.note(Fault::DeadLetter);
            for work_item in decode(&body).unwrap() {
                self.time.ways.dead(&work_item);
                self.log_message("dead", &work_item);
            }
            sqs.dead.push(body);
            return None;
        }
        drop(sqs);
        self.poke_at(visible_at + 1_000);
        Some(Received { id, visible_at, receives, work_items: decode(&body).unwrap() })
    }

    /// A worker is done with a message; some deletions do not reach every copy.
    pub(super) fn acknowledge(&self, id: u64) {
        self.time.ways.settled(id, self.time.now(), None);
        if self.time.chance().happens(self.faults().doubled / 5) {
            self.time.tally.note(Fault::DeletionLost);
        } else {
            self.sqs.lock().unwrap().messages.remove(&id);
        }
    }

    /// A message comes back after so long.
    pub(super) fn put_back(self: &Arc<Self>, id: u64, after: i64) {
        let at = self.time.now() + after;
        self.time.ways.settled(id, self.time.now(), Some(at));
        if let Some(message) = self.sqs.lock().unwrap().messages.get_mut(&id) {
            message.visible_at = at;
        }
        self.poke_at(at + 1_000);
    }
}
