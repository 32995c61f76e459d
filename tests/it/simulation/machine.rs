//! Minutehand on one machine: one process with the queue and the batching layer of its own, which dies
//! or is stopped, and begins again while the clock has jumped.
//!
//! What `functions/local` does around the services is done here as it does it: the loops of sweeper,
//! worker and signs of life, and what a start does before them.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{Either, select};
use minutehand_app::fire::{
    Deadline, Delivery, Dispatcher, Disposition, Executor, FirePorts, FireSettings, FireStore,
    Heartbeat, RepairPorts, Stop, Sweeper, Unbounded, Wait, Worker,
};
use minutehand_app::{Manage, ManagePorts};
use minutehand_domain::firing::limits::{AHEAD, BEAT_EVERY, FUNCTION};
use minutehand_ports::Clock;
use minutehand_ports::store::PulseOf;
use minutehand_store_dynamodb::{BatchingStore, Host, Running, TimerChanges};
use minutehand_testkit::services::{fire_ports, manage_ports};
use tokio::sync::Notify;

use super::faults::StorePort;
use super::local_queue::{LocalPort, Settled, Taken};
use super::tally::Fault;
use super::time::{Process, ProcessClock, SECOND};
use super::way::SweepPass;
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
    batching: Arc<BatchingStore<StorePort>>,
    clock: Arc<ProcessClock>,
    wake: Arc<Notify>,
    stop: Stop,
    /// When it is told to stop; it answers no requests from then on.
    stop_at: i64,
}

/// Runs the tasks of the batching layer in a process.
struct ProcessHost(Arc<Process>);

impl Host for ProcessHost {
    fn spawn(&self, task: Running) {
        self.0.time().spawn(&self.0, task);
    }

    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.0.time().now().unsigned_abs())
    }

    fn sleep(&self, time: Duration) -> Running {
        let at = self.0.time().now() + i64::try_from(time.as_micros()).unwrap();
        Box::pin(self.0.time().until(at))
    }
}

impl Machine {
    /// Begins a process, which is told to stop at an instant.
    pub(super) fn begin(world: &Arc<World>, skew: i64, stop_at: i64) -> Arc<Self> {
        let process = Process::with_clock(&world.time, skew, None);
        world.store.begin_process(process.id);
        world.open_local_queue(process.clock());
        world.log_begin(&process);
        let life = Life { from: world.time.now(), skew, until: i64::MAX };
        world.lives.lock().unwrap().push(life);
        let store = world.local_store(&process);
        let host: Arc<dyn Host> = Arc::new(ProcessHost(process.clone()));
        let batching = BatchingStore::on(&host, store);
        let machine = Arc::new(Self {
            stop: Stop::when(world.time.until(stop_at)),
            world: world.clone(),
            clock: world.clock(&process),
            batching: Arc::new(batching),
            wake: Arc::default(),
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
        let queue = Arc::new(LocalPort { is_api: true, ..self.queue(request) });
        let clock = self.world.clock(request);
        let timers = self.batching.clone();
        let (snapshots, events) = (store.clone(), Arc::new(()));
        let dispatcher = Dispatcher::new(timers, snapshots, queue.clone(), events, clock.clone());
        let ids = Arc::new(Ids(self.world.clone()));
        let ports = ManagePorts { ids, dispatcher, ..manage_ports(store, queue, clock) };
        Manage::new(ports, manage_settings())
    }

    fn queue(&self, process: &Arc<Process>) -> LocalPort {
        let (world, process, wake) = (self.world.clone(), process.clone(), self.wake.clone());
        LocalPort { world, process, wake, is_api: false }
    }

    fn start(self: &Arc<Self>) {
        let sender = SimulatedTarget { world: self.world.clone(), process: self.process.clone() };
        let queue = Arc::new(self.queue(&self.process));
        let (store, clock) = (self.batching.clone(), self.clock.clone());
        let ports = FirePorts {
            ids: Arc::new(Ids(self.world.clone())),
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
                let deadline = Deadline::at(self.clock.work_now() + FUNCTION);
                let handled = handle(queue, worker, message, (deadline, stop));
                self.world.time.spawn(&self.process, handled);
            }
        }
    }

    async fn sweep(&self) {
        let store = self.world.local_store(&self.process);
        let clock: Arc<dyn Clock> = self.clock.clone();
        let heartbeat = Heartbeat::new(store.clone(), clock.clone(), PulseOf::Sweepers).alone();
        let queue = Arc::new(self.queue(&self.process));
        let events = Arc::new(());
        let dispatcher =
            Dispatcher::new(store.clone(), store.clone(), queue, events, clock.clone());
        let sweeper = Sweeper::new(store, dispatcher, Arc::new(heartbeat), clock.clone());
        let changes = self.batching.timer_changes();
        let mut first_shard = 0_u32;
        loop {
            let from = self.world.time.now();
            let pass = sweeper.pass(first_shard, pending()).await;
            let (until, process) = (self.world.time.now(), self.process.id);
            self.world.time.ways.passed(SweepPass { from, until, process });
            first_shard = first_shard.wrapping_add(1);
            clock.wait(if pass.failed > 0 { FAILED_PAUSE } else { PASS_PAUSE }).await;
            let next = std::pin::pin!(next_in_view(&sweeper, clock.as_ref(), &changes));
            select(next, clock.wait(PASS_EVERY)).await;
        }
    }
}

/// Handles one message, and tells the queue what becomes of it.
async fn handle(
    queue: Arc<LocalPort>,
    worker: Arc<Worker>,
    Taken { receipt, receives, work_item }: Taken,
    (deadline, stop): (Deadline, Stop),
) {
    let delivery =
        Delivery { message_id: &receipt, receives, work_item: Ok(&work_item), place: &Unbounded };
    let settled = match worker.handle(delivery, deadline, &stop).await {
        Disposition::Delete | Disposition::Deleted => Settled::Done,
        Disposition::RetryAfter(after) => Settled::PutBack(after),
        Disposition::RetryAtVisibilityTimeout => return,
        Disposition::Wait(Wait::For(after)) => Settled::SetAside(after),
        Disposition::Wait(Wait::ForOrigin(_)) => panic!("places are not bounded"),
        Disposition::Bury(_) => Settled::Buried,
    };
    queue.settle(receipt, settled).await;
}

async fn beat(heartbeat: Arc<Heartbeat>, clock: Arc<ProcessClock>) {
    loop {
        // One that fails is tried again with the next attempt, or the next time.
        drop(heartbeat.beat().await);
        clock.wait(BEAT_EVERY.to_std().unwrap()).await;
    }
}

/// Waits until the next timer is so nearly due that a pass dispatches it.
async fn next_in_view(sweeper: &Sweeper, clock: &dyn Clock, changes: &TimerChanges) {
    let Ok(mut next) = sweeper.next_due_at().await else {
        return clock.wait(FAILED_PAUSE).await;
    };
    loop {
        let due_at = next;
        let in_view = std::pin::pin!(async move {
            match due_at {
                Some(due_at) => clock.wait_until(due_at - AHEAD).await,
                None => pending().await,
            }
        });
        let moved = std::pin::pin!(changes.next());
        match select(in_view, moved).await {
            Either::Left(_) => return,
            Either::Right((moved, _)) => next = Some(next.map_or(moved, |it| it.min(moved))),
        }
    }
}

impl World {
    /// The store of a process, or of a request in it.
    fn local_store(self: &Arc<Self>, process: &Arc<Process>) -> Arc<StorePort> {
        Arc::new(StorePort::new(self, process, None))
    }

    /// Computes a lost queue from the store, as `minutehand repair` does.
    pub(super) async fn repair(self: &Arc<Self>, skew: i64) {
        self.local.lock().unwrap().lose();
        self.time.tally.note(Fault::QueueLost);
        self.queue_losses.lock().unwrap().push(self.time.now());
        self.log_repair();
        // Bounded by the chance of each of them to fail.
        loop {
            let process = Process::with_clock(&self.time, skew, None);
            let is_repaired = Arc::new(Mutex::new(None));
            let (world, repairing, told) = (self.clone(), process.clone(), is_repaired.clone());
            self.time.spawn(&process, async move {
                let is_done = world.try_repair(&repairing).await;
                *told.lock().unwrap() = Some(is_done);
            });
            while !process.is_dead() && is_repaired.lock().unwrap().is_none() {
                self.time.until(self.time.now() + SECOND / 10).await;
            }
            if *is_repaired.lock().unwrap() == Some(true) {
                return;
            }
        }
    }

    async fn try_repair(self: &Arc<Self>, process: &Arc<Process>) -> bool {
        let store = self.local_store(process);
        let wake = Arc::default();
        let queue =
            LocalPort { world: self.clone(), process: process.clone(), wake, is_api: false };
        let ports = RepairPorts {
            store: FireStore::new(store.clone()),
            jobs_at_rest: store,
            queue: Arc::new(queue),
            clock: self.clock(process),
        };
        minutehand_app::fire::repair(&ports).await.is_ok()
    }

    /// Runs one process after the other until the end of the run.
    pub(super) async fn run_machine(self: Arc<Self>, span: i64) {
        const HOUR: i64 = 3_600 * SECOND;
        const WORKS_FOR: i64 = 15 * 60 * SECOND;
        const OUTAGE_MIN: i64 = 101 * SECOND;
        let mut skew = 0;
        // What waits since before the last process is known to a repair only if the pause between the
        // two was an outage, and if what had waited before that one was known, too.
        let (mut is_known, mut paused) = (true, OUTAGE_MIN);
        loop {
            let now = self.time.now();
            let is_last = now >= span;
            let runs = self.time.chance().between(5 * SECOND, 40 * 60 * SECOND);
            let is_stopped = self.time.chance().happens(500_000);
            let drain = self.time.chance().between(0, 7 * SECOND);
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
            let mut jumped = 0;
            if jump != 0 && (-HOUR..=4 * HOUR).contains(&(skew + jump)) {
                jumped = jump;
                skew += jump;
                self.time.tally.note(Fault::ClockJump);
            }
            let has_worked = self.time.now() - down - now >= WORKS_FOR;
            is_known = has_worked || (is_known && paused >= OUTAGE_MIN);
            paused = down + jumped;
            if self.time.chance().happens(300_000) && is_known {
                self.repair(skew).await;
            }
        }
    }

    /// The process that runs, if it answers requests.
    pub(super) fn machine(&self) -> Option<Arc<Machine>> {
        self.machine.lock().unwrap().clone().filter(|it| it.is_answering())
    }

    /// What all dead letters of a machine are.
    pub(super) fn local_dead_letters(&self) -> usize {
        self.local.lock().unwrap().dead.len()
    }
}
