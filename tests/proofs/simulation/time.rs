//! Simulated time: tasks that wait for instants, polled by one thread in one order.
//!
//! Time stands still while a task runs, and jumps to the next instant that a task waits for. A
//! process is a set of tasks; a crash drops them where they wait.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_ports::Clock;

use super::chance::Chance;
use super::tally::{Fault, Tally};
use super::way::Ways;

/// A second, in the unit of simulated time.
pub(super) const SECOND: i64 = 1_000_000;
/// When a simulation begins, unless the clocks of zones are to change in it.
const BEGINNING: i64 = 1_800_000_000;

thread_local! {
    /// When the simulation of this thread begins. It is played and judged in one thread.
    static BEGINS: Cell<i64> = const { Cell::new(BEGINNING) };
}

/// Sets when the simulation of this thread begins.
pub(super) fn begin_at(beginning: Option<DateTime<Utc>>) {
    BEGINS.set(beginning.map_or(BEGINNING, |it| it.timestamp()));
}

/// An instant of simulated time.
pub(super) fn instant(micros: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(BEGINS.get() * SECOND + micros).unwrap()
}

/// An instant as simulated time.
pub(super) fn micros(instant: DateTime<Utc>) -> i64 {
    instant.timestamp_micros() - BEGINS.get() * SECOND
}

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Task {
    process: Arc<Process>,
    work: Work,
}

/// A task that waits for an instant: the earliest first, and of one instant the first to ask.
struct Waiting {
    at: i64,
    order: u64,
    waker: Waker,
}

/// Tasks that can go on.
#[derive(Default)]
struct Ready(Mutex<VecDeque<u64>>);

struct TaskWaker {
    id: u64,
    ready: Arc<Ready>,
}

/// The time, and all tasks in it.
pub(super) struct Time {
    now: AtomicI64,
    waiting: Mutex<BinaryHeap<Reverse<Waiting>>>,
    tasks: Mutex<BTreeMap<u64, Task>>,
    ready: Arc<Ready>,
    order: Mutex<u64>,
    chance: Mutex<Chance>,
    /// What went wrong.
    pub(super) tally: Tally,
    pub(super) ways: Ways,
    /// How often, in a million, a process dies where it waits.
    pub(super) crashes: AtomicI64,
}

/// What has one clock, and dies as one.
pub(super) struct Process {
    pub(super) id: u64,
    time: Arc<Time>,
    skew: AtomicI64,
    /// Until when it is frozen: it does nothing, and then goes on.
    frozen_until: AtomicI64,
    /// What its clock showed when it was last read.
    last_read: AtomicI64,
    is_dead: AtomicBool,
    /// When it died.
    died_at: AtomicI64,
    stalled_until: AtomicI64,
    /// The process that it is a part of, with which it dies.
    whole: Option<Arc<Self>>,
}

impl Time {
    pub(super) fn of(seed: u64) -> Arc<Self> {
        Arc::new(Self {
            now: AtomicI64::new(0),
            waiting: Mutex::default(),
            tasks: Mutex::default(),
            ready: Arc::default(),
            order: Mutex::default(),
            chance: Mutex::new(Chance::of(seed)),
            tally: Tally::default(),
            ways: Ways::default(),
            crashes: AtomicI64::new(0),
        })
    }

    pub(super) fn now(&self) -> i64 {
        self.now.load(Relaxed)
    }

    pub(super) fn chance(&self) -> MutexGuard<'_, Chance> {
        self.chance.lock().unwrap()
    }

    fn ordinal(&self) -> u64 {
        let mut order = self.order.lock().unwrap();
        *order += 1;
        *order
    }

    /// Starts a task of a process.
    pub(super) fn spawn(
        &self,
        process: &Arc<Process>,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        let id = self.ordinal();
        let task = Task { process: process.clone(), work: Box::pin(work) };
        self.tasks.lock().unwrap().insert(id, task);
        self.ready.0.lock().unwrap().push_back(id);
    }

    /// Waits for an instant.
    pub(super) fn until(self: &Arc<Self>, at: i64) -> impl Future<Output = ()> + Send + use<> {
        let time = self.clone();
        let mut asked = false;
        std::future::poll_fn(move |context| {
            if time.now() >= at && (asked || time.now() > at) {
                return Poll::Ready(());
            }
            if !asked {
                asked = true;
                let waiting = Waiting { at, order: time.ordinal(), waker: context.waker().clone() };
                time.waiting.lock().unwrap().push(Reverse(waiting));
            }
            Poll::Pending
        })
    }

    /// Runs all tasks until an instant.
    pub(super) fn run(&self, until: i64) {
        loop {
            self.run_ready();
            let next = {
                let mut waiting = self.waiting.lock().unwrap();
                match waiting.peek() {
                    Some(Reverse(first)) if first.at <= until => waiting.pop(),
                    _ => None,
                }
            };
            let Some(Reverse(Waiting { at, waker, .. })) = next else {
                self.now.store(until.max(self.now()), Relaxed);
                return;
            };
            self.now.store(at.max(self.now()), Relaxed);
            waker.wake();
        }
    }

    fn run_ready(&self) {
        loop {
            let Some(id) = self.ready.0.lock().unwrap().pop_front() else {
                return;
            };
            // While it runs it is nowhere, so that it may start others.
            let Some(mut task) = self.tasks.lock().unwrap().remove(&id) else {
                continue;
            };
            if task.process.is_dead() {
                continue;
            }
            let waker = Waker::from(Arc::new(TaskWaker { id, ready: self.ready.clone() }));
            if task.process.is_frozen() {
                let at = task.process.frozen_until();
                let waiting = Waiting { at, order: self.ordinal(), waker };
                self.waiting.lock().unwrap().push(Reverse(waiting));
                self.tasks.lock().unwrap().insert(id, task);
                continue;
            }
            let is_done = task.work.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
            if !is_done && !task.process.is_dead() {
                self.tasks.lock().unwrap().insert(id, task);
            }
        }
    }

    /// Drops all tasks: a task holds the time that it is in.
    pub(super) fn end(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap());
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap());
        drop((tasks, waiting));
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.ready.0.lock().unwrap().push_back(self.id);
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl Process {
    /// A process with a clock that is off by up to `skew_max`.
    pub(super) fn new(time: &Arc<Time>, skew_max: i64) -> Arc<Self> {
        let skew = time.chance().between(-skew_max, skew_max + 1);
        Self::with_clock(time, skew, None)
    }

    /// A process whose clock is off by this much.
    pub(super) fn with_clock(time: &Arc<Time>, skew: i64, whole: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self {
            id: time.ordinal(),
            time: time.clone(),
            skew: AtomicI64::new(skew),
            frozen_until: AtomicI64::new(0),
            last_read: AtomicI64::new(0),
            is_dead: AtomicBool::new(false),
            died_at: AtomicI64::new(i64::MAX),
            stalled_until: AtomicI64::new(0),
            whole,
        })
    }

    /// A request in a process, with an id of its own.
    pub(super) fn part(self: &Arc<Self>) -> Arc<Self> {
        Self::with_clock(&self.time, self.skew(), Some(self.clone()))
    }

    pub(super) fn time(&self) -> &Arc<Time> {
        &self.time
    }

    /// Its own clock.
    pub(super) fn clock(&self) -> i64 {
        self.time.now() + self.skew()
    }

    /// What its clock showed when it was last read.
    pub(super) fn last_read(&self) -> i64 {
        self.last_read.load(Relaxed)
    }

    /// How far its clock is off.
    pub(super) fn skew(&self) -> i64 {
        match &self.whole {
            Some(whole) => whole.skew(),
            None => self.skew.load(Relaxed),
        }
    }

    /// Sets how far its clock is off.
    pub(super) fn set_skew(&self, skew: i64) {
        self.skew.store(skew, Relaxed);
    }

    /// Lets it do nothing until an instant.
    pub(super) fn freeze(&self, until: i64) {
        self.frozen_until.store(until, Relaxed);
    }

    fn frozen_until(&self) -> i64 {
        let own = self.frozen_until.load(Relaxed);
        self.whole.as_ref().map_or(own, |whole| own.max(whole.frozen_until()))
    }

    pub(super) fn is_frozen(&self) -> bool {
        self.frozen_until() > self.time.now()
    }

    /// The process that it is, or is a part of.
    pub(super) fn whole_id(&self) -> u64 {
        self.whole.as_ref().map_or(self.id, |whole| whole.whole_id())
    }

    pub(super) fn is_dead(&self) -> bool {
        self.is_dead.load(Relaxed) || self.whole.as_ref().is_some_and(|it| it.is_dead())
    }

    /// Drops all its tasks where they wait.
    pub(super) fn kill(&self) {
        self.died_at.fetch_min(self.time.now(), Relaxed);
        self.is_dead.store(true, Relaxed);
        if let Some(whole) = &self.whole {
            whole.kill();
        }
    }

    /// When it died.
    pub(super) fn died_at(&self) -> i64 {
        self.died_at.load(Relaxed)
    }

    /// Notes that something failed for it.
    pub(super) fn trouble(&self) {
        self.time.ways.trouble(self.id, self.time.now());
    }

    /// Stands still for longer than a lease, as a computer that is suspended.
    pub(super) async fn stall(&self) {
        self.time.tally.note(Fault::Stall);
        self.trouble();
        let until = self.time.now() + self.time.chance().between(100 * SECOND, 300 * SECOND);
        self.stalled_until.fetch_max(until, Relaxed);
        self.time.until(until).await;
    }

    /// Until when it stands still, if it does.
    pub(super) fn stalled_until(&self) -> Option<i64> {
        Some(self.stalled_until.load(Relaxed)).filter(|until| *until > self.time.now())
    }

    /// Waits for a moment, and may die.
    pub(super) async fn pause(&self, low: i64, high: i64) {
        let at = self.time.now() + self.time.chance().between(low, high);
        self.time.until(at).await;
        self.may_die().await;
    }

    pub(super) async fn may_die(&self) {
        let crashes = u64::try_from(self.time.crashes.load(Relaxed)).unwrap_or(0);
        if self.time.chance().happens(crashes) {
            self.time.tally.note(Fault::Crash);
            self.trouble();
            self.kill();
            std::future::pending::<()>().await;
        }
    }
}

/// The clock of a process.
pub(super) struct ProcessClock {
    pub(super) process: Arc<Process>,
    /// Whether it comes back from waiting at once.
    pub(super) is_hasty: bool,
}

#[async_trait]
impl Clock for ProcessClock {
    fn now(&self) -> DateTime<Utc> {
        let clock = self.process.clock();
        self.process.last_read.store(clock, Relaxed);
        instant(clock)
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        if self.is_hasty {
            return;
        }
        let left = micros(at) - self.process.clock();
        if left > 0 {
            let time = self.process.time();
            time.until(time.now() + left + 1).await;
            self.process.may_die().await;
        }
    }

    async fn wait(&self, work: Duration) {
        let time = self.process.time();
        let at = time.now() + i64::try_from(work.as_micros()).unwrap_or(i64::MAX / 2);
        time.until(at).await;
        self.process.may_die().await;
    }
}
