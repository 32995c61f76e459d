//! Everything that is simulated, and the real services in it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use minutehand_app::fire::{
    Dispatcher, Executor, FirePorts, FireSettings, Healer, Heartbeat, Performed, Performer as _,
    Stop, Sweeper, Unbounded, Wait,
};
use minutehand_app::{AppError, Manage, ManagePorts, ManageSettings};
use minutehand_domain::action::Target;
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Role};
use minutehand_domain::cause::CauseKind;
use minutehand_domain::firing::limits::PASS_MAX;
use minutehand_domain::firing::{StartCheck, may_start};
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::job::JobState;
use minutehand_domain::own::OwnResources;
use minutehand_domain::plan::PlanLimits;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::work_item::{JobRef, PACKET_RECEIVES_MAX, WorkItem};
use minutehand_ports::store::PulseOf;
use minutehand_ports::{ActionOutcome, ActionSender, AttemptContext, Clock, IdSource, NotMade};
use minutehand_testkit::services::{fire_ports, manage_ports};

use super::chance::Chance;
use super::engine::Engine;
use super::faults::{Store, StorePort};
use super::hanging::{BrakeWhat, Hanging, brakes_of};
use super::log::{Log, described};
use super::machine::{Life, Machine};
use super::memory::{Memory, Staleness};
use super::mutation::Mutation;
use super::parts::{Parts, swept};
use super::pings::{PingPort, Pinged};
use super::play::Stores;
use super::postgres::Shared;
use super::queue::{QueuePort, Received, Sender, Sqs};
use super::reports::Reports;
use super::tally::Fault;
use super::time::{Process, ProcessClock, SECOND, Time, micros};
use super::way::{Share, SweepPass};
use super::why::Reader;

/// Pages of a pass under way at once: all shards.
const PAGES_AT_ONCE: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// Timers that are dispatched together.
const GATHERED_MAX: NonZeroUsize = NonZeroUsize::new(16).unwrap();
/// From this seed on, each scenario is played with sweepers that heal and without.
pub(super) const EITHER_FROM: u64 = 200_000;
/// The versions that run: the new one, both, or an earlier one.
pub(super) const NEW: u64 = 0;
pub(super) const BOTH: u64 = 1;
pub(super) const EARLIER: u64 = 2;

/// How often things go wrong, in a million times.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    pub(super) throttled: u64,
    pub(super) lost: u64,
    pub(super) doubled: u64,
    pub(super) late: u64,
    pub(super) crashes: u64,
    pub(super) slow_index: u64,
    pub(super) lost_ticks: u64,
    pub(super) doubled_ticks: u64,
    /// Messages that are accepted, and never come.
    pub(super) vanished: u64,
    /// Workers that stand still for longer than a lease, after they acted.
    pub(super) stalls: u64,
    /// How far a clock may be off.
    pub(super) skew: i64,
}

/// An action that was performed.
#[derive(Debug, Clone)]
pub(super) struct Fire {
    /// The instant of the event.
    pub(super) at: i64,
    /// When by the worker's clock.
    pub(super) clock: i64,
    pub(super) execution_id: String,
    pub(super) uid: String,
    pub(super) generation: u64,
    /// `None` is a run.
    pub(super) nominal: Option<i64>,
    pub(super) role: Role,
    pub(super) number: u32,
    /// When the attempt was due.
    pub(super) due: Option<i64>,
    /// How long the target works.
    pub(super) took: i64,
    /// Whether its worker died before it was recorded.
    pub(super) is_unrecorded: bool,
    pub(super) worker: u64,
}

/// What happened to an attempt of a job that lets none overlap.
#[derive(Debug, Clone)]
pub(super) struct TurnNote {
    pub(super) at: i64,
    pub(super) uid: String,
    pub(super) generation: u64,
    /// `None` is a run.
    pub(super) nominal: Option<i64>,
    pub(super) number: u32,
    /// Which attempt of its job.
    pub(super) id: String,
    pub(super) what: TurnWhat,
}

/// The store was told so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnWhat {
    /// It has the turn.
    Takes,
    /// It waits.
    Waits,
    /// It has given the turn back.
    Back,
    /// It is recorded.
    Ended,
    /// It is left out.
    LeftOut,
}

pub(super) struct World {
    pub(super) seed: u64,
    pub(super) time: Arc<Time>,
    pub(super) memory: Arc<Memory>,
    pub(super) store: Arc<dyn Store>,
    /// What one machine stands on.
    pub(super) engine: Option<Arc<Engine>>,
    pub(super) mutation: Option<Mutation>,
    pub(super) log: Log,
    pub(super) sqs: Mutex<Sqs>,
    /// The process on one machine, while it runs.
    pub(super) machine: Mutex<Option<Arc<Machine>>>,
    /// The processes on one machine, one after the other.
    pub(super) lives: Mutex<Vec<Life>>,
    pub(super) redrives: Mutex<Vec<Redrive>>,
    /// Never dies.
    pub(super) keeper: Arc<Process>,
    faults: Mutex<Faults>,
    pub(super) fires: Mutex<Vec<Fire>>,
    /// Runs that were accepted: when, of which job, and as which execution.
    pub(super) runs: Mutex<Vec<(i64, String, String)>>,
    /// Which versions run.
    pub(super) versions: AtomicU64,
    /// When workers gave their first sign of life.
    pub(super) workers_since: AtomicI64,
    /// How often a message of an attempt was lost.
    pub(super) vanished: Mutex<BTreeMap<String, u32>>,
    /// Refusals of jobs for which there was room.
    pub(super) refusals: Mutex<Vec<String>>,
    ids: AtomicU64,
    /// Packets that were performed.
    pub(super) packets: AtomicU64,
    pub(super) are_workers_down: AtomicBool,
    pub(super) are_sweepers_down: AtomicBool,
    /// Whether sweepers run and cannot read the index of timers.
    pub(super) are_sweepers_blind: AtomicBool,
    /// Until when nothing runs.
    pub(super) asleep_until: AtomicI64,
    /// A recorded attempt: its execution id, its end time, and how far its worker's clock was off.
    pub(super) records: Mutex<Vec<(String, i64, i64)>>,
    /// How often the action of a job succeeds, in a million.
    pub(super) successes: Mutex<BTreeMap<String, u64>>,
    /// The turns of jobs that let no attempts overlap.
    pub(super) turns: Mutex<Vec<TurnNote>>,
    /// Open attempts, and what their targets report.
    pub(super) reports: Reports,
    /// The processes with the API, and the pings that they take.
    pub(super) pinged: Pinged,
    /// What many processes share.
    pub(super) shared: Shared,
    /// The sweepers.
    pub(super) parts: Parts,
    /// The origin that hangs.
    pub(super) hanging: Hanging,
}

/// How the work on a work item ended for its message. The worst of them decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ended {
    Done,
    Later(i64),
    Stays,
}

/// What a work item is a part of.
#[derive(Debug, Clone, Copy)]
struct Part {
    is_packet: bool,
    /// Whether the packet was delivered too often, and is divided.
    is_divided: bool,
}

/// Whether one process is the only writer, and nothing heals. From a seed on, half of the runs of each scenario
/// are; below that, all runs of some.
const fn is_alone(seed: u64) -> bool {
    let of = if seed < EITHER_FROM { seed } else { seed / 16 };
    of % 2 == 1
}

pub(super) struct SimulatedTarget {
    pub(super) world: Arc<World>,
    pub(super) process: Arc<Process>,
}

pub(super) struct Ids(pub(super) Arc<World>);

impl World {
    pub(super) fn new(
        seed: u64,
        mutation: Option<Mutation>,
        log: Log,
        stores: impl FnOnce(&Arc<Memory>) -> Stores,
    ) -> Arc<Self> {
        let time = Time::of(seed);
        let memory = Memory::new(&time, mutation, is_alone(seed));
        let Stores { store, engine } = stores(&memory);
        Arc::new(Self {
            seed,
            keeper: Process::new(&time, 0),
            store,
            engine,
            memory,
            time,
            mutation,
            log,
            sqs: Mutex::default(),
            machine: Mutex::default(),
            lives: Mutex::default(),
            redrives: Mutex::default(),
            faults: Mutex::default(),
            fires: Mutex::default(),
            runs: Mutex::default(),
            versions: AtomicU64::new(NEW),
            workers_since: AtomicI64::new(i64::MAX),
            vanished: Mutex::default(),
            refusals: Mutex::default(),
            ids: AtomicU64::new(0),
            packets: AtomicU64::new(0),
            are_workers_down: AtomicBool::new(false),
            are_sweepers_down: AtomicBool::new(false),
            are_sweepers_blind: AtomicBool::new(false),
            asleep_until: AtomicI64::new(0),
            records: Mutex::default(),
            successes: Mutex::default(),
            turns: Mutex::default(),
            reports: Reports::default(),
            pinged: Pinged::default(),
            shared: Shared::default(),
            parts: Parts::default(),
            hanging: Hanging::default(),
        })
    }

    pub(super) fn faults(&self) -> Faults {
        *self.faults.lock().unwrap()
    }

    pub(super) fn set_faults(&self, faults: Faults) {
        *self.faults.lock().unwrap() = faults;
        self.time.crashes.store(i64::try_from(faults.crashes).unwrap(), Relaxed);
        // Except on AWS, the index is a part of the store.
        let usual_max = if self.is_machine() || self.shared.is_on() { 0 } else { SECOND / 2 };
        *self.memory.staleness.lock().unwrap() =
            Staleness { usual_max, slow: faults.slow_index, slow_max: 200 * SECOND };
    }

    /// Whether one machine is played.
    pub(super) fn is_machine(&self) -> bool {
        !self.lives.lock().unwrap().is_empty()
    }

    pub(super) fn workers_are_down(&self) -> bool {
        self.are_workers_down.load(Relaxed)
    }

    /// The given instant, or the end of the outage if that is later.
    pub(super) fn awake_at(&self, at: i64) -> i64 {
        at.max(self.asleep_until.load(Relaxed))
    }

    pub(super) fn process(&self) -> Arc<Process> {
        Process::new(&self.time, self.faults().skew)
    }

    /// Notes that the latest action of a process under this id is recorded.
    pub(super) fn recorded(&self, execution_id: &str, ended_at: i64, process: &Arc<Process>) {
        let worker = process.id;
        let record = (execution_id.to_owned(), ended_at, process.skew());
        self.records.lock().unwrap().push(record);
        for fire in self.fires.lock().unwrap().iter_mut().rev() {
            if fire.execution_id == execution_id && fire.worker == worker {
                fire.is_unrecorded = false;
                return;
            }
        }
    }

    fn store_port(
        self: &Arc<Self>,
        process: &Arc<Process>,
        queue: &Arc<QueuePort>,
    ) -> Arc<StorePort> {
        let held_back = (self.mutation == Some(Mutation::AdvanceFirst)).then(|| queue.clone());
        Arc::new(StorePort::new(self, process, held_back))
    }

    /// Whether sweepers send again what the queue has lost: not where one process is alone. Healing
    /// makes up for what a timer leaves out that moves on wherever it is.
    pub(super) fn heals(&self) -> bool {
        !self.memory.is_alone() && self.mutation != Some(Mutation::UnconditionalAdvance)
    }

    /// Whether a process runs an earlier version: half of them do while a version is rolled out, and
    /// all of them after it was rolled back.
    pub(super) fn is_early(&self, process: &Process) -> bool {
        match self.versions.load(Relaxed) {
            NEW => false,
            BOTH => process.id.is_multiple_of(2),
            _ => true,
        }
    }

    fn queue_port(self: &Arc<Self>, process: &Arc<Process>, sender: Sender) -> Arc<QueuePort> {
        let (world, process) = (self.clone(), process.clone());
        Arc::new(QueuePort { world, process, sender, held_back: Mutex::default() })
    }

    /// A queue for what sends nothing.
    pub(super) fn queue_of_keeper(self: &Arc<Self>) -> Arc<QueuePort> {
        self.queue_port(&self.keeper, Sender::Api)
    }

    pub(super) fn clock(&self, process: &Arc<Process>) -> Arc<ProcessClock> {
        let is_hasty = self.mutation == Some(Mutation::NoWait);
        Arc::new(ProcessClock { process: process.clone(), is_hasty })
    }

    /// The service that manages, in a process of its own.
    pub(super) fn manage(self: &Arc<Self>, process: &Arc<Process>) -> Manage {
        let queue = self.queue_port(process, Sender::Api);
        let store = self.store_port(process, &queue);
        let clock = self.clock(process);
        let ids = Arc::new(Ids(self.clone()));
        let completions = Some(super::reports::completion_urls());
        let pings = Arc::new(PingPort::new(store.clone()));
        let ports = ManagePorts { ids, completions, ..manage_ports(store, queue, clock) };
        Manage::new(ports, manage_settings()).with_pings_and_bodies(pings, None)
    }

    /// The service that manages, which sees what failed.
    pub(super) fn redriving(self: &Arc<Self>, process: &Arc<Process>) -> Manage {
        let queue = self.queue_port(process, Sender::Api);
        let store = self.store_port(process, &queue);
        let clock = self.clock(process);
        let ids = Arc::new(Ids(self.clone()));
        let browse = Arc::new(Reader::new(&self.memory));
        let ports = ManagePorts { ids, browse, ..manage_ports(store, queue, clock) };
        Manage::new(ports, manage_settings())
    }

    /// A process that answers a request, and its service; `None` if there is none.
    pub(super) fn answering(self: &Arc<Self>) -> Option<(Arc<Process>, Manage)> {
        if self.shared.is_on() {
            return self.answering_shared();
        }
        if !self.is_machine() {
            let process = self.process();
            let manage = self.manage(&process);
            return Some((process, manage));
        }
        let machine = self.machine()?;
        let request = machine.process.part();
        let manage = machine.manage(&request);
        Some((request, manage))
    }

    /// The store of a process that sends nothing.
    pub(super) fn store_of(self: &Arc<Self>, process: &Arc<Process>) -> Arc<StorePort> {
        Arc::new(StorePort::new(self, process, None))
    }

    /// A pass of a sweeper, in a process of its own.
    pub(super) fn sweep(self: &Arc<Self>, share: Share) {
        let process = self.process();
        let queue = self.queue_port(&process, Sender::Sweeper);
        let store = self.store_port(&process, &queue);
        let is_first = share.part == 0;
        store.is_silent.store(self.mutation == Some(Mutation::FirstBeats) && !is_first, Relaxed);
        let clock = self.clock(&process);
        let events = Arc::new(());
        let dispatcher =
            Dispatcher::new(store.clone(), store.clone(), queue.clone(), events, clock.clone())
                .with_history(store.clone());
        let healer = Healer {
            history: store.clone(),
            snapshots: store.clone(),
            pulses: store.clone(),
            queue,
            clock: clock.clone(),
            kept: HistoryDays::default(),
        };
        let heartbeat = Heartbeat::new(store.clone(), clock.clone(), PulseOf::Sweepers);
        let sweeper = Sweeper::new(store, dispatcher, Arc::new(heartbeat), clock.clone())
            .with_concurrent_pages(PAGES_AT_ONCE)
            .gathering(GATHERED_MAX);
        let heals = self.heals() && !self.is_early(&process);
        let heals = heals && (self.mutation != Some(Mutation::FirstHeals) || is_first);
        let sweeper = if heals { sweeper.with_healer(healer) } else { sweeper };
        let first = u32::try_from(self.time.chance().below(64)).unwrap();
        let (part, round) = swept(share, self.mutation, process.clock());
        let (world, id) = (self.clone(), process.id);
        self.time.spawn(&process, async move {
            let from = world.time.now();
            let over = clock.wait(PASS_MAX.to_std().unwrap());
            sweeper.pass_part(part, round, first, over).await;
            world.time.ways.passed(SweepPass { from, until: world.time.now(), process: id, share });
        });
        if self.parts.is_dead(share.part, self.time.now()) {
            self.time.tally.note(Fault::PartDead);
            // At once, or after it has sent some of what it moves.
            let at = self.time.now() + self.time.chance().pick(&[0, 0, SECOND / 2, SECOND]);
            let world = self.clone();
            self.time.spawn(&self.keeper, async move {
                world.time.until(at).await;
                process.trouble();
                process.kill();
            });
        }
    }

    /// Whether a process is of the version that knows no packets. In most runs half of the processes are
    /// for a while, again and again: updates that take as long as a message stays hidden.
    pub(super) fn is_old(&self, process: &Process) -> bool {
        const EVERY: i64 = 8 * 60 * SECOND;
        const TAKES: i64 = 2 * 60 * SECOND;
        let has_updates = !self.seed.is_multiple_of(3);
        has_updates && self.time.now() % EVERY < TAKES && process.id.is_multiple_of(2)
    }

    /// Performs some messages in one process, which has ninety seconds.
    pub(super) fn work(self: &Arc<Self>, received: Vec<Received>) {
        let process = self.process();
        let is_misread = self.mutation == Some(Mutation::OldReadsPackets);
        let mut results = Vec::new();
        let mut tasks = Vec::new();
        for Received { id, visible_at, receives, work_items } in received {
            let times = (self.time.now(), visible_at);
            let is_packet = work_items.len() > 1;
            if is_packet && self.is_old(&process) && !is_misread {
                // It cannot be read, and comes back by itself.
                self.time.ways.received(id, &work_items, None, times);
                continue;
            }
            self.time.ways.received(id, &work_items, Some(process.id), times);
            let is_divided = is_packet && receives > PACKET_RECEIVES_MAX;
            results.push((id, work_items.len(), Vec::new()));
            self.packets.fetch_add(u64::from(is_packet), Relaxed);
            for work_item in self.as_read(&process, work_items) {
                tasks.push((id, work_item, Part { is_packet, is_divided }));
            }
        }
        let results = Arc::new(Mutex::new(results));
        for (id, work_item, part) in tasks {
            let (world, worker, results) = (self.clone(), process.clone(), results.clone());
            self.time.spawn(&process, async move {
                let ended = world.part(&worker, &work_item, part).await;
                let now = world.time.now();
                if ended == Ended::Done {
                    world.time.ways.ended(id, &work_item, now);
                } else {
                    world.time.ways.put_off(id, &work_item, now);
                }
                let mut results = results.lock().unwrap();
                for (_, left, of_message) in results.iter_mut().filter(|(of, ..)| *of == id) {
                    *left -= 1;
                    of_message.push(ended);
                }
                if results.iter().all(|(_, left, _)| *left == 0) {
                    world.settle_messages(&std::mem::take(&mut *results));
                } else if world.mutation == Some(Mutation::PacketEndsWithFirst) && part.is_packet {
                    world.acknowledge(id);
                }
            });
        }
        let (world, ends_at) = (self.clone(), self.time.now() + 90 * SECOND);
        self.time.spawn(&self.keeper, async move {
            world.time.until(ends_at).await;
            // What stands still is not even ended.
            if let Some(until) = process.stalled_until() {
                world.time.until(until + 5 * SECOND).await;
            }
            if !results.lock().unwrap().is_empty() {
                process.kill();
            }
        });
    }

    /// The work items of a message as this process reads them.
    fn as_read(&self, process: &Process, work_items: Vec<WorkItem>) -> Vec<WorkItem> {
        let Some(WorkItem::Attempt { job: first, .. }) = work_items.first().cloned() else {
            return work_items;
        };
        let of_first = |work_item| match work_item {
            WorkItem::Attempt { attempt, .. } => WorkItem::Attempt { job: first.clone(), attempt },
            other => other,
        };
        if self.is_old(process) {
            work_items.into_iter().map(of_first).collect()
        } else {
            work_items
        }
    }

    /// Performs a work item, and if it is of a packet and has to come later, sends it on.
    async fn part(
        self: &Arc<Self>,
        process: &Arc<Process>,
        work_item: &WorkItem,
        part: Part,
    ) -> Ended {
        const LATER: i64 = 30 * SECOND;
        let performed = if part.is_divided {
            Ok(Performed::Again(Duration::ZERO))
        } else {
            self.perform(process, work_item).await
        };
        // It is sent on alone as well, so that the delivery does not count.
        let is_sent_on = part.is_packet || matches!(performed, Ok(Performed::Waits(Wait::For(_))));
        let ended = match performed {
            Ok(Performed::Done | Performed::Finished) => Ended::Done,
            Ok(Performed::Again(after)) => Ended::Later(i64::try_from(after.as_micros()).unwrap()),
            Ok(Performed::Waits(Wait::For(after))) => {
                Ended::Later(i64::try_from(after.as_micros()).unwrap())
            }
            // It comes back by itself.
            Ok(Performed::Waits(_)) | Err(_) if !part.is_packet => Ended::Stays,
            Ok(Performed::Waits(_)) | Err(_) => Ended::Later(LATER),
        };
        match ended {
            Ended::Later(_)
                if self.mutation == Some(Mutation::PacketLosesLater) && part.is_packet =>
            {
                Ended::Done
            }
            Ended::Later(after) if is_sent_on => {
                let queue = self.queue_port(process, Sender::Worker);
                match queue.send_on(work_item, after).await {
                    Ok(()) => Ended::Done,
                    Err(_) => Ended::Stays,
                }
            }
            ended => ended,
        }
    }

    /// A message is done when all of its work items are.
    fn settle_messages(self: &Arc<Self>, results: &[(u64, usize, Vec<Ended>)]) {
        for (id, _, ended) in results {
            match ended.iter().max() {
                Some(Ended::Done) | None => self.acknowledge(*id),
                Some(Ended::Later(after)) => self.put_back(*id, *after),
                Some(Ended::Stays) => {}
            }
        }
    }

    async fn perform(
        self: &Arc<Self>,
        process: &Arc<Process>,
        work_item: &WorkItem,
    ) -> Result<Performed, AppError> {
        let queue = self.queue_port(process, Sender::Worker);
        let store = self.store_port(process, &queue);
        if self.skips(&store, work_item) {
            return Ok(Performed::Done);
        }
        let sender = SimulatedTarget { world: self.clone(), process: process.clone() };
        let clock = self.clock(process);
        let ports = FirePorts {
            ids: Arc::new(Ids(self.clone())),
            completions: Some(super::reports::completion_urls()),
            brakes: brakes_of(&store),
            ..fire_ports(store.clone(), queue, Arc::new(sender), clock)
        };
        let executor = Executor::new(ports, FireSettings::default());
        let executor = if self.mutation == Some(Mutation::SignsAreIgnored) {
            executor
        } else {
            executor.with_presence(self.presence(process, &store))
        };
        let work_item = &self.mistaken(work_item);
        let performed = executor.perform(work_item, &Unbounded, &Stop::never()).await;
        match (self.mutation, performed) {
            (Some(Mutation::LostClaimAcks), Ok(Performed::Again(_))) => Ok(Performed::Done),
            (Some(Mutation::LeaseOverVisibility), Ok(Performed::Again(_))) => {
                Err(AppError::Busy { what: "the attempt".to_owned() })
            }
            (Some(Mutation::DoneAcks), _) if store.found_ended.load(Relaxed) => Ok(Performed::Done),
            (_, performed) => performed,
        }
    }

    /// The work item as a mutation reads it.
    fn mistaken(&self, work_item: &WorkItem) -> WorkItem {
        match (self.mutation, work_item.clone()) {
            (Some(Mutation::GapByIdle), WorkItem::Attempt { job, attempt }) => {
                WorkItem::Attempt { job, attempt: Attempt { sent_late_at: None, ..attempt } }
            }
            (Some(Mutation::ClaimsBeforeGrace), WorkItem::Attempt { job, attempt })
                if attempt.under_policy =>
            {
                let due_at = attempt.due_at - TimeDelta::seconds(5);
                WorkItem::Attempt { job, attempt: Attempt { due_at, ..attempt } }
            }
            (Some(Mutation::OpenLapses), WorkItem::Attempt { job, attempt }) => {
                WorkItem::Attempt { job, attempt: Attempt { waited: None, ..attempt } }
            }
            (_, work_item) => work_item,
        }
    }

    /// Whether a mutation drops the work item at once.
    fn skips(&self, store: &StorePort, work_item: &WorkItem) -> bool {
        let (job, attempt) = match (self.mutation, work_item) {
            (Some(Mutation::BlindSettle), WorkItem::CheckFinished { job, generation }) => {
                store.finish_as(&job.uid, *generation, JobState::Completed);
                return true;
            }
            (Some(_), WorkItem::Attempt { job, attempt }) => (job, attempt),
            _ => return false,
        };
        let Some(snapshot) = self.memory.snapshot(job) else { return false };
        let line = snapshot.timetable.as_deref();
        let timetable = line.and_then(|line| Schedule::read(line, &snapshot.document).ok());
        match self.mutation {
            Some(Mutation::ErrorNeedsEnabled) => {
                attempt.role == Role::Error && snapshot.state != JobState::Enabled
            }
            Some(Mutation::OwedByNominal) => {
                let nominal_at = attempt.occurrence.nominal_at();
                snapshot.collection_on_since.is_some_and(|since| nominal_at < since)
            }
            Some(Mutation::StaleFirst) => {
                let standing = minutehand_domain::firing::JobStanding {
                    is_paused: false,
                    state: snapshot.state,
                    generation: snapshot.timing.generation,
                    since: snapshot.timing.since,
                    timetable: timetable.as_ref(),
                    collection_on_since: snapshot.collection_on_since,
                };
                let start =
                    StartCheck { now: attempt.due_at, ready_at: attempt.due_at, outages: &[] };
                may_start(attempt, Some(standing), start).is_err()
            }
            _ => false,
        }
    }

    /// How an attempt ends and how long it takes, the same for every worker.
    fn outcome(&self, context: &AttemptContext) -> (Outcome, i64) {
        let mut chance = self.chance_of(&context.execution_id);
        let successes = self.successes.lock().unwrap();
        let often = successes.get(&context.job).copied().unwrap_or(800_000);
        let outcome = if chance.happens(often) { Outcome::Succeeded } else { Outcome::Failed };
        let millis = chance.pick(&[50, 100, 300, 1_000, 1_000, 5_000, 30_000, 59_000]);
        (outcome, millis * 1_000)
    }

    /// What happens to an execution is always the same.
    pub(super) fn chance_of(&self, execution_id: &str) -> Chance {
        Chance::of(
            execution_id.bytes().fold(self.seed, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            }),
        )
    }

    /// How long the target of an execution asks to wait, if that fails.
    pub(super) fn asked(&self, execution_id: &str) -> Option<i64> {
        let seconds = self.chance_of(&format!("{execution_id} asks")).pick(&[0, 0, 5, 45, 200]);
        (seconds > 0).then_some(SECOND * seconds)
    }

    fn attempt_of(&self, context: &AttemptContext) -> Option<Attempt> {
        let tables = self.memory.tables();
        let of_job = tables.executions.get(&context.job_uid)?;
        let id = context.execution_id.strip_prefix(&format!("{}.", context.job_uid))?;
        let mut items = of_job.values().rev();
        items.find(|item| item.attempt.id().to_string() == id).map(|item| item.attempt.clone())
    }
}

/// A request to repeat an occurrence, which was done or refused because it has not failed.
#[derive(Debug, Clone)]
pub(super) struct Redrive {
    pub(super) at: i64,
    pub(super) uid: String,
    pub(super) nominal: i64,
    pub(super) is_accepted: bool,
}

/// What every installation is told.
pub(super) fn manage_settings() -> ManageSettings {
    ManageSettings {
        region: "here".to_owned(),
        plan_limits: PlanLimits::On,
        has_aws: false,
        own: OwnResources::default(),
        history: HistoryDays::default(),
    }
}

impl SimulatedTarget {
    /// Logs a call, or its answer.
    ///
    /// A target that answers that it goes on says nothing of how it ends: then there is no outcome.
    fn note(
        &self,
        what: &str,
        context: &AttemptContext,
        attempt: &Attempt,
        outcome: Option<Outcome>,
    ) {
        self.world.log.note(|| {
            let job = JobRef {
                uid: context.job_uid.clone(),
                collection_uid: context.collection_uid.clone(),
                key: context.job.clone(),
            };
            let mut line = described(&job, attempt);
            line["e"] = what.into();
            line["at"] = self.world.time.now().into();
            line["clock"] = self.process.clock().into();
            line["worker"] = self.process.id.into();
            line["expected"] = micros(context.expected_at).into();
            line["due"] = micros(attempt.due_at).into();
            if what == "answer" {
                line["ok"] = outcome.map(|outcome| outcome == Outcome::Succeeded).into();
                let asked = outcome.and_then(|_| self.world.asked(&context.execution_id));
                line["asks"] = asked.into();
            }
            line
        });
    }
}

#[async_trait]
impl ActionSender for SimulatedTarget {
    async fn send(
        &self,
        target: &Target,
        context: &AttemptContext,
    ) -> Result<ActionOutcome, NotMade> {
        let attempt = self.world.attempt_of(context).unwrap();
        let is_run = matches!(attempt.occurrence, Occurrence::Run { .. });
        let (outcome, took) = self.world.outcome(context);
        let (origin, now) = (target.origin(), self.world.time.now());
        let (is_answered, took) = self.world.hanging.answers(&origin, now, took);
        let outcome = if is_answered { outcome } else { Outcome::Failed };
        let (id, due) = (context.execution_id.clone(), micros(attempt.due_at));
        self.world.note_brake(&origin, BrakeWhat::Call { id, due, until: now + took });
        let fire = Fire {
            at: self.world.time.now(),
            clock: self.process.clock(),
            execution_id: context.execution_id.clone(),
            uid: context.job_uid.clone(),
            generation: attempt.generation,
            nominal: (!is_run).then(|| micros(context.expected_at)),
            role: attempt.role,
            number: attempt.number,
            due: Some(micros(attempt.due_at)),
            took,
            is_unrecorded: true,
            worker: self.process.id,
        };
        self.world.fires.lock().unwrap().push(fire);
        self.note("call", context, &attempt, Some(outcome));
        let is_accepted = self.world.accepts(context, took);
        // The worker may die as soon as the target works, and when the target has answered.
        let begun = async {
            let time = self.process.time();
            time.until(time.now() + 20_000).await;
            self.process.may_die().await;
        };
        tokio::join!(self.process.pause(took, took + 1), begun);
        let stalls = self.world.faults().stalls;
        if stalls > 0 && self.process.time().chance().happens(stalls) {
            self.process.stall().await;
        }
        self.process.may_die().await;
        self.note("answer", context, &attempt, Some(outcome).filter(|_| !is_accepted));
        self.process.may_die().await;
        let asked = self.world.asked(&context.execution_id);
        let retry_after = asked.filter(|_| outcome == Outcome::Failed).map(TimeDelta::microseconds);
        let cause = (!is_answered).then(|| CauseKind::Timeout.into());
        let message = String::new();
        if is_accepted {
            let outcome = Outcome::Succeeded;
            let retry_after = None;
            return Ok(ActionOutcome {
                outcome,
                is_accepted,
                cause,
                message,
                retry_after,
                body: None,
            });
        }
        Ok(ActionOutcome { outcome, is_accepted, cause, message, retry_after, body: None })
    }
}

impl IdSource for Ids {
    fn new_id(&self) -> String {
        format!("i{}", self.0.ids.fetch_add(1, Relaxed))
    }
}
