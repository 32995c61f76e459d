//! What one machine stands on: the store and the queue in one database of SQLite, here in memory. It outlives
//! the processes of the machine.
//!
//! The thread of the database answers in real time. A caller blocks until then, so that simulated time does not
//! go on meanwhile.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_app::fire::{Disposition, Wait};
use minutehand_domain::firing::limits::{EARLY, VISIBILITY};
use minutehand_domain::tick::from_ticks;
use minutehand_domain::work_item::{WorkItem, decode};
use minutehand_ports::store::Advance;
use minutehand_ports::{
    Clock, DeadLetters as _, Deliveries as _, DispatchQueue, DispatchStep, QueueError,
    QueueMessage, ReceiptHandle, SettleStep, Settled, Settlement, StepError, StoreError,
    TakenMessage, Timers as _,
};
use minutehand_store_sql::script::{Script, ScriptOutcome, Statement, Turn, Urgency, Value};
use minutehand_store_sql::sqlite::Database;
use minutehand_store_sql::{SqlQueue, SqlStore};
use tokio::runtime::Runtime;

use super::faults::{Beside, Ports, StorePort, now};
use super::mutation::Mutation;
use super::tally::Fault;
use super::time::{Process, instant, micros};
use super::twin::Real;
use super::world::World;

/// Messages of one delivery. Few, so that there is more than one.
const RECEIVED_MAX: usize = 8;
const MESSAGES: &str = "SELECT due_at, body FROM messages ORDER BY id";

pub(super) struct Engine {
    database: Database,
    /// The store, as the process that runs has it.
    store: Mutex<SqlStore>,
    queue: Mutex<Option<SqlQueue>>,
    clock: Arc<QueueClock>,
    /// Has the tasks of the queue.
    runtime: Runtime,
}

/// The clock of the process that runs, which has not died where the queue waits.
#[derive(Default)]
struct QueueClock(Mutex<Option<Arc<Process>>>);

impl Engine {
    pub(super) fn in_memory() -> Arc<Self> {
        let (database, _threads) = Database::in_memory().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        Arc::new(Self {
            store: Mutex::new(SqlStore::new(database.clone()).alone()),
            queue: Mutex::default(),
            clock: Arc::default(),
            runtime: runtime.unwrap(),
            database,
        })
    }

    fn store(&self) -> SqlStore {
        self.store.lock().unwrap().clone()
    }

    fn queue(&self) -> SqlQueue {
        self.queue.lock().unwrap().clone().unwrap()
    }

    /// A process begins on the queue that the one before it has left.
    fn begin(&self, process: &Arc<Process>, is_void: bool) {
        *self.clock.0.lock().unwrap() = Some(process.clone());
        let mut queue = self.queue.lock().unwrap();
        if is_void || queue.is_none() {
            let opened = SqlQueue::open(self.database.clone(), self.clock.clone());
            *queue = Some(now(opened).unwrap());
        }
    }

    /// All messages: what they ask for, and when they are due.
    fn messages(&self) -> Vec<(WorkItem, i64)> {
        let statements = vec![Statement::new(MESSAGES, Vec::new())];
        let script = Script::new(Urgency::Rest, Turn::default(), statements);
        let ScriptOutcome::Done(rows) = now(self.database.read(script)).unwrap() else {
            panic!("it needs nothing");
        };
        let read = |row: Vec<Value>| match row.as_slice() {
            [Value::Integer(due_at), Value::Text(body)] => {
                (decode(body).unwrap().remove(0), micros(from_ticks(*due_at).unwrap()))
            }
            other => panic!("{other:?}"),
        };
        rows.into_iter().flatten().map(read).collect()
    }

    /// Receives as the program does. The queue asks the database in a task of its own, for which nothing but
    /// this task waits.
    async fn receive(&self) -> Vec<TakenMessage> {
        let queue = self.queue();
        let mut receiving = pin!(queue.receive(RECEIVED_MAX));
        let is_asking = || self.runtime.metrics().num_alive_tasks() > 0;
        let receive = poll_fn(|context| {
            let _entered = self.runtime.enter();
            loop {
                if let Poll::Ready(taken) = receiving.as_mut().poll(context) {
                    return Poll::Ready(taken.unwrap());
                }
                if !is_asking() {
                    return Poll::Pending;
                }
                self.runtime.block_on(async {
                    while is_asking() {
                        // What was asked before is answered before.
                        let nothing = Script::new(Urgency::Background, Turn::default(), Vec::new());
                        self.database.perform(nothing).await.unwrap();
                    }
                });
            }
        });
        receive.await
    }
}

impl Real for Engine {
    fn ports(&self) -> Arc<dyn Ports> {
        Arc::new(self.store())
    }
}

impl Beside for Engine {
    fn remove_expired(&self, at: DateTime<Utc>) {
        now(self.store().remove_expired(at, at, None)).unwrap();
    }

    fn begin_process(&self, process: u64) {
        let store = SqlStore::new(self.database.clone());
        *self.store.lock().unwrap() = store.alone_as(process.cast_signed());
    }

    fn dispatch(
        &self,
        messages: &[QueueMessage],
        moves: &[Advance],
        at: DateTime<Utc>,
    ) -> Vec<Result<bool, StoreError>> {
        now(self.store().dispatch(messages, moves, at)).unwrap()
    }

    fn settle(&self, settlement: Settlement<'_>) -> Settled {
        now(self.store().settle(settlement)).unwrap()
    }
}

#[async_trait]
impl Clock for QueueClock {
    fn now(&self) -> DateTime<Utc> {
        instant(self.process().clock())
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        let process = self.process();
        let left = micros(at) - process.clock();
        if left > 0 {
            process.time().until(process.time().now() + left).await;
        }
    }

    async fn wait(&self, work: Duration) {
        let process = self.process();
        process.time().until(process.time().now() + span(work)).await;
    }
}

impl QueueClock {
    fn process(&self) -> Arc<Process> {
        self.0.lock().unwrap().clone().unwrap()
    }
}

/// The queue of one process, or of a request in it.
pub(super) struct EnginePort {
    pub(super) world: Arc<World>,
    pub(super) process: Arc<Process>,
    /// Whether the API sends.
    pub(super) is_api: bool,
}

impl EnginePort {
    /// Waits for messages that are due.
    pub(super) async fn receive(&self) -> Vec<TakenMessage> {
        let taken = self.world.engine().receive().await;
        let now = self.world.time.now();
        let times = (now, now + VISIBILITY.num_microseconds().unwrap());
        for TakenMessage { receipt, work_item, .. } in &taken {
            let work_items = std::slice::from_ref(work_item.as_ref().unwrap());
            let (id, worker) = (receipt.id.cast_unsigned(), Some(self.process.id));
            self.world.time.ways.received(id, work_items, worker, times);
        }
        self.process.pause(200, 2_000).await;
        taken
    }

    /// Tells the queue what becomes of a delivery.
    pub(super) async fn acknowledge(&self, receipt: ReceiptHandle, disposition: Disposition) {
        self.process.pause(200, 2_000).await;
        if self.fails() {
            // The message is delivered again.
            return;
        }
        let queue = self.world.engine().queue();
        let hidden_for = match disposition {
            Disposition::Deleted | Disposition::RetryAtVisibilityTimeout => return,
            Disposition::Delete => now(queue.finish(&[receipt])).map(|()| None),
            Disposition::Bury(reason) => now(queue.bury(&[receipt], &reason)).map(|()| None),
            Disposition::RetryAfter(after) | Disposition::RetryThrottled(after) => {
                now(queue.put_back(&[(receipt, after)])).map(|()| Some(after))
            }
            Disposition::Wait(Wait::For(after)) => {
                now(queue.set_aside(&[(receipt, after)])).map(|()| Some(after))
            }
            Disposition::Wait(Wait::ForOrigin(_)) => panic!("places are not bounded"),
        };
        let now = self.world.time.now();
        let hidden_until = hidden_for.unwrap().map(|after| now + span(after));
        self.world.time.ways.settled(receipt.id.cast_unsigned(), now, hidden_until);
    }

    fn fails(&self) -> bool {
        let fails = self.world.time.chance().happens(self.world.faults().throttled);
        if fails {
            self.world.time.tally.note(Fault::Throttled);
            self.process.trouble();
        }
        fails
    }
}

#[async_trait]
impl DispatchQueue for EnginePort {
    async fn send(&self, messages: &[QueueMessage], at: DateTime<Utc>) -> Result<(), QueueError> {
        self.process.pause(200, 5_000).await;
        if self.fails() {
            return Err(QueueError::Unavailable("the simulation says so".into()));
        }
        if self.is_api {
            self.world.note_runs(messages);
        }
        now(self.world.engine().queue().send(messages, at)).unwrap();
        self.world.note_sent(messages, &self.process);
        self.process.pause(200, 5_000).await;
        if self.world.time.chance().happens(self.world.faults().lost / 10) {
            self.world.time.tally.note(Fault::AnswerLost);
            self.process.trouble();
            return Err(QueueError::Unavailable("the simulation lost the answer".into()));
        }
        Ok(())
    }
}

/// What changes store and queue together. With a mistake in the run, the engine has the queue alone.
#[async_trait]
impl DispatchStep for StorePort {
    async fn dispatch(
        &self,
        messages: &[QueueMessage],
        moves: &[Advance],
        at: DateTime<Utc>,
    ) -> Result<Vec<Result<bool, StoreError>>, QueueError> {
        let send = || {
            if self.world.shared.is_on() {
                self.world.share(messages);
                return;
            }
            if self.world.mutation.is_some() {
                now(self.world.engine().queue().send(messages, at)).unwrap();
            }
            self.world.note_sent(messages, &self.process);
        };
        let failed = |error: StoreError| QueueError::Unavailable(error.into());
        if self.is(Mutation::StepsAreTorn) {
            let answers = self.advance(moves).await;
            let later = || {
                send();
                Ok(())
            };
            self.op(false, later).await.map_err(failed)?;
            return Ok(answers);
        }
        let dispatch = || {
            let answers = self.inner().dispatch(messages, moves, at);
            send();
            Ok(answers)
        };
        self.op(false, dispatch).await.map_err(failed)
    }
}

#[async_trait]
impl SettleStep for StorePort {
    async fn settle(&self, settlement: Settlement<'_>) -> Result<Settled, StepError> {
        let Settlement { next, receipt, now: at, .. } = settlement;
        let finish = || {
            let Some(receipt) = receipt else { return Ok(()) };
            if self.world.shared.is_on() {
                self.world.finish_shared(receipt);
                return Ok(());
            }
            if self.world.mutation.is_some() {
                now(self.world.engine().queue().finish(&[receipt])).unwrap();
            }
            let id = receipt.id.cast_unsigned();
            self.world.time.ways.settled(id, self.world.time.now(), None);
            Ok(())
        };
        let is_torn = self.is(Mutation::StepsAreTorn);
        if is_torn {
            self.op(false, finish).await?;
        }
        let settle = || {
            let settled = self.grouped(settlement, self.inner().settle(settlement));
            if let Settled::Done { is_finished, .. } = settled {
                if self.world.shared.is_on() {
                    self.world.share(next);
                    if is_finished {
                        finish()?;
                    }
                    return Ok(settled);
                }
                if self.world.mutation.is_some() {
                    now(self.world.engine().queue().send(next, at)).unwrap();
                }
                self.world.note_sent(next, &self.process);
                if !is_torn && is_finished {
                    finish()?;
                }
            }
            Ok(settled)
        };
        Ok(self.op(false, settle).await?)
    }

    /// Mutations are of the steps that the store in memory does one by one.
    fn finishes_jobs(&self) -> bool {
        self.world.engine.is_some() && self.world.mutation.is_none()
    }
}

impl StorePort {
    /// What a mutation that groups updates of shared rows answers.
    fn grouped(&self, settlement: Settlement<'_>, settled: Settled) -> Settled {
        let Settlement { count, finish, receipt, .. } = settlement;
        let Some(count) = count else { return settled };
        let is_done = matches!(settled, Settled::Done { .. });
        if !self.world.is_grouped(&count.job_uid, is_done) {
            return settled;
        }
        let is_finished = receipt.is_some() && finish.is_none();
        Settled::Done { is_finished, is_job_finished: false }
    }
}

impl World {
    /// The engine of the machine.
    fn engine(&self) -> &Engine {
        self.engine.as_deref().expect("one machine is played")
    }

    /// A process begins on the database that the one before it has left.
    pub(super) fn begin_on_engine(&self, process: &Arc<Process>) {
        self.store.begin_process(process.id);
        self.engine().begin(process, self.mutation != Some(Mutation::DeliveriesOutlive));
        let now = self.time.now();
        let messages = self.engine().messages().into_iter();
        let hidden = messages.map(|(item, due)| (item, visible_at(due, now, process)));
        self.time.ways.restarted(now, hidden.filter(|(_, at)| *at > now).collect());
    }

    /// Notes messages that were sent.
    fn note_sent(&self, messages: &[QueueMessage], process: &Process) {
        let now = self.time.now();
        for QueueMessage { work_item, due_at } in messages {
            self.log_message("sent", work_item);
            let visible_at = visible_at(micros(*due_at), now, process);
            self.time.ways.sent(work_item, now, visible_at.max(now));
        }
    }

    /// Notes the dead letters of a machine.
    pub(super) fn note_dead_letters(&self) {
        for work_item in self.local_dead_letters() {
            self.time.tally.note(Fault::DeadLetter);
            self.time.ways.dead(&work_item);
            self.log_message("dead", &work_item);
        }
    }

    /// What the dead letters of a machine ask for.
    pub(super) fn local_dead_letters(&self) -> Vec<WorkItem> {
        let Some(engine) = &self.engine else { return Vec::new() };
        let letters = now(engine.queue().look(1_000)).unwrap().items;
        letters.into_iter().flat_map(|it| it.work_items.unwrap()).collect()
    }
}

/// When a process receives a message that is due by its clock.
fn visible_at(due: i64, now: i64, process: &Process) -> i64 {
    now + due - EARLY.num_microseconds().unwrap() - process.clock()
}

fn span(work: Duration) -> i64 {
    i64::try_from(work.as_micros()).unwrap()
}
