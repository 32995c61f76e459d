//! Minutehand on one machine: one process on an engine with store and queue, which dies or is stopped, and
//! begins again while the clock has jumped.
//!
//! What `functions/local` does around the services is done here as it does it: the loops of sweeper,
//! worker and signs of life, and what a start does before them.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::select;
use minutehand_app::fire::{
    Delivery, DeliveryPlace, Dispatcher, Executor, FirePorts, FireSettings, Heartbeat, Stop,
    Sweeper, TimerChanges, ToldStep, Worker,
};
use minutehand_app::{Manage, ManagePorts};
use minutehand_domain::firing::limits::{BEAT_EVERY, FUNCTION};
use minutehand_ports::store::PulseOf;
use minutehand_ports::{Clock, ReceiptHandle, TakenMessage};
use minutehand_testkit::services::{fire_ports, manage_ports};

use super::engine::EnginePort;
use super::faults::StorePort;
use super::tally::Fault;
use super::time::{Process, ProcessClock, SECOND};
use super::way::{Share, SweepPass};
use super::world::{Ids, SimulatedTarget, World, manage_settings};

/// The longest wait between two passes.
const PASS_EVERY: Duration = Duration::from_secs(30);
/// The shortest one.
const PASS_PAUSE: Duration = Duration::from_millis(5);
/// The wait after a pass in which a shard failed.
const FAILED_PAUSE: Duration = Duration::from_secs(1);

/// The time in which one process ran.
#[derive(Debug, Clone, Copy)]
pub(super) struct Life {
    pub(super) from: i64,
    /// How far its clock was off.
    pub(super) skew: i64,
    /// When it died or was stopped.
    pub(super) until: i64,
}

/// A process.
pub(super) struct Machine {
    world: Arc<World>,
    pub(super) process: Arc<Process>,
    store: Arc<StorePort>,
    clock: Arc<ProcessClock>,
    changes: Arc<TimerChanges>,
    stop: Stop,
    /// When it is told to stop; it answers no requests from then on.
    stop_at: i64,
}

/// The place of a delivery. There are enough for all.
pub(super) struct Held(pub(super) ReceiptHandle);

impl DeliveryPlace for Held {
    fn is_scarce(&self) -> bool {
        false
    }

    fn try_origin(&self, _origin: &str) -> bool {
        true
    }

    fn set_origin(&self, _origin: &str) {}

    fn receipt(&self) -> Option<ReceiptHandle> {
        Some(self.0)
    }
}

impl Machine {
    /// Begins a process, which is told to stop at an instant.
    pub(super) fn begin(world: &Arc<World>, skew: i64, stop_at: i64) -> Arc<Self> {
        let process = Process::with_clock(&world.time, skew, None);
        world.begin_on_engine(&process);
        world.log_begin(&process);
        let life = Life { from: world.time.now(), skew, until: i64::MAX };
        world.lives.lock().unwrap().push(life);
        let machine = Arc::new(Self {
            stop: Stop::when(world.time.until(stop_at)),
            world: world.clone(),
            clock: world.clock(&process),
            store: world.local_store(&process),
            changes: Arc::default(),
            process,
            stop_at,
        });
        machine.start();
        machine
    }

    /// Notes that a process has ended.
    pub(super) fn end(&self) {
        self.process.kill();
        let now = self.world.time.now();
        self.world.lives.lock().unwrap().last_mut().unwrap().until = now;
        self.world.log_end_of_process();
    }

    pub(super) fn is_answering(&self) -> bool {
        !self.process.is_dead() && self.world.time.now() < self.stop_at
    }

    /// The service that manages, for one request.
    pub(super) fn manage(&self, request: &Arc<Process>) -> Manage {
        let store = self.world.local_store(request);
        let queue = Arc::new(EnginePort { is_api: true, ..self.queue(request) });
        let clock = self.world.clock(request);
        let ports = manage_ports(store.clone(), queue, clock);
        let step = Arc::new(ToldStep { step: store, changes: self.changes.clone() });
        let dispatcher = ports.dispatcher.clone().with_step(step);
        let ids = Arc::new(Ids(self.world.clone()));
        let completions = Some(super::reports::completion_urls());
        Manage::new(ManagePorts { ids, dispatcher, completions, ..ports }, manage_settings())
    }

    fn queue(&self, process: &Arc<Process>) -> EnginePort {
        EnginePort { world: self.world.clone(), process: process.clone(), is_api: false }
    }

    fn start(self: &Arc<Self>) {
        let sender = SimulatedTarget { world: self.world.clone(), process: self.process.clone() };
        let queue = Arc::new(self.queue(&self.process));
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let ports = FirePorts {
            ids: Arc::new(Ids(self.world.clone())),
            settle: store.clone(),
            completions: Some(super::reports::completion_urls()),
            ..fire_ports(store, queue, Arc::new(sender), clock.clone())
        };
        let settings = FireSettings { is_alone: true, ..FireSettings::default() };
        let executor = Executor::new(ports, settings);
        self.spawn(beat(executor.heartbeat(), clock.clone()));
        let worker = Arc::new(Worker::new(executor, clock, Arc::new(())));
        let machine = self.clone();
        self.spawn(async move { machine.work(worker).await });
        let machine = self.clone();
        self.spawn(async move { machine.sweep().await });
    }

    /// Starts a task that ends when the process is told to stop.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.world.time.spawn(&self.process, async move {
            let (task, stopped) = (std::pin::pin!(task), std::pin::pin!(stop.requested()));
            select(task, stopped).await;
        });
    }

    async fn work(&self, worker: Arc<Worker>) {
        let queue = Arc::new(self.queue(&self.process));
        loop {
            for message in queue.receive().await {
                let (queue, worker, stop) = (queue.clone(), worker.clone(), self.stop.clone());
                let deadline = self.clock.work_now() + FUNCTION;
                let handled = handle(queue, worker, message, (deadline, stop));
                self.world.time.spawn(&self.process, handled);
            }
        }
    }

    async fn sweep(&self) {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let heartbeat = Heartbeat::new(store.clone(), clock.clone(), PulseOf::Sweepers).alone();
        let queue = Arc::new(self.queue(&self.process));
        let events = Arc::new(());
        let dispatcher =
            Dispatcher::new(store.clone(), store.clone(), queue, events, clock.clone())
                .with_step(store.clone());
        let sweeper = Sweeper::new(store, dispatcher, Arc::new(heartbeat), clock.clone());
        let mut first_shard = 0_u32;
        loop {
            let from = self.world.time.now();
            let pass = sweeper.pass(first_shard, pending()).await;
            let (until, process) = (self.world.time.now(), self.process.id);
            self.world.time.ways.passed(SweepPass { from, until, process, share: Share::WHOLE });
            first_shard = first_shard.wrapping_add(1);
            clock.wait(if pass.failed > 0 { FAILED_PAUSE } else { PASS_PAUSE }).await;
            let next = std::pin::pin!(async {
                if self.changes.next_in_view(&sweeper, clock.as_ref()).await.is_err() {
                    clock.wait(FAILED_PAUSE).await;
                }
            });
            select(next, clock.wait(PASS_EVERY)).await;
        }
    }
}

/// Handles one message, and tells the queue what becomes of it.
async fn handle(
    queue: Arc<EnginePort>,
    worker: Arc<Worker>,
    TakenMessage { receipt, receive_count, work_item, .. }: TakenMessage,
    (deadline, stop): (DateTime<Utc>, Stop),
) {
    let (work_item, place) = (work_item.as_ref(), &Held(receipt));
    let delivery = Delivery { message_id: &receipt, receives: receive_count, work_item, place };
    queue.acknowledge(receipt, worker.handle(delivery, deadline, &stop).await).await;
}

async fn beat(heartbeat: Arc<Heartbeat>, clock: Arc<ProcessClock>) {
    loop {
        // One that fails is tried again with the next attempt, or the next time.
        drop(heartbeat.beat().await);
        clock.wait(BEAT_EVERY.to_std().unwrap()).await;
    }
}

impl World {
    /// The store of a process, or of a request in it.
    fn local_store(self: &Arc<Self>, process: &Arc<Process>) -> Arc<StorePort> {
        Arc::new(StorePort::new(self, process, None))
    }

    /// Runs one process after the other until the end of the run.
    pub(super) async fn run_machine(self: Arc<Self>, span: i64) {
        const HOUR: i64 = 3_600 * SECOND;
        let mut skew = 0;
        loop {
            let now = self.time.now();
            let is_last = now >= span;
            let runs = self.time.chance().between(5 * SECOND, 40 * 60 * SECOND);
            let is_stopped = self.time.chance().happens(500_000);
            // What is given back meanwhile waits, in less time than an attempt may take to start.
            let drain = self.time.chance().between(0, 5 * SECOND);
            let ends_at = if is_last { i64::MAX } else { now + runs };
            let stop_at = if is_stopped && !is_last { ends_at - drain } else { i64::MAX };
            let machine = Machine::begin(&self, skew, stop_at);
            *self.machine.lock().unwrap() = Some(machine.clone());
            while !machine.process.is_dead() && self.time.now() < ends_at {
                self.time.until((self.time.now() + SECOND).min(ends_at)).await;
            }
            *self.machine.lock().unwrap() = None;
            machine.end();
            self.time.tally.note(Fault::Restart);
            let down = [SECOND / 5, 5 * SECOND, 60 * SECOND, 300 * SECOND, 1_800 * SECOND];
            let down = self.time.chance().pick(&down);
            self.time.until(self.time.now() + down).await;
            let jumps = [0, 0, 2, -2, 90, -90, 900, -900, 3_600, -3_600, 3 * 3_600];
            let jump = SECOND * self.time.chance().pick(&jumps);
            if jump != 0 && (-HOUR..=4 * HOUR).contains(&(skew + jump)) {
                skew += jump;
                self.time.tally.note(Fault::ClockJump);
            }
        }
    }

    /// Drops what runs: tasks and processes hold the world that they are in.
    pub(super) fn end(&self) {
        *self.machine.lock().unwrap() = None;
        self.time.end();
    }

    /// The process that runs, if it answers requests.
    pub(super) fn machine(&self) -> Option<Arc<Machine>> {
        self.machine.lock().unwrap().clone().filter(|it| it.is_answering())
    }
}
