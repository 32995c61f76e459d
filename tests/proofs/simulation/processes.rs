//! Processes that share a database of PostgreSQL: each serves the API, sweeps and works, dies, ends, is frozen
//! and comes back. What `functions/local` does around the services is done here as it does it.

use std::future::pending;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_app::fire::{
    Delivery, Dispatcher, Disposition, Executor, FirePorts, FireSettings, Heartbeat, Stop, Sweeper,
    Wait, Worker,
};
use minutehand_app::{Manage, ManagePorts};
use minutehand_domain::firing::limits::{BEAT_EVERY, FUNCTION};
use minutehand_ports::store::PulseOf;
use minutehand_ports::{Clock, DispatchQueue, QueueError, QueueMessage};
use minutehand_testkit::services::{fire_ports, manage_ports};

use super::machine::Held;
use super::postgres::{Member, SharedWhat, Taken};
use super::tally::Fault;
use super::time::{Process, SECOND};
use super::world::{Ids, SimulatedTarget, World, manage_settings};

/// The processes of a run.
const PROCESSES: usize = 3;
/// How often a process looks for messages.
const LOOKS_EVERY: i64 = SECOND;
/// The shortest wait between two passes.
const PASS_EVERY: i64 = 2 * SECOND;

/// The queue of a process, or of a request in it.
struct SharedQueue {
    world: Arc<World>,
    process: Arc<Process>,
    is_api: bool,
}

#[async_trait]
impl DispatchQueue for SharedQueue {
    async fn send(&self, messages: &[QueueMessage], _at: DateTime<Utc>) -> Result<(), QueueError> {
        let store = self.world.store_of(&self.process);
        let send = || {
            if self.is_api {
                self.world.note_runs(messages);
            }
            self.world.share(messages);
            Ok(())
        };
        store.op(false, send).await.map_err(|error| QueueError::Unavailable(error.into()))
    }
}

impl World {
    /// Lets processes come and go, and the database go away now and then.
    pub(super) fn run_processes(self: &Arc<Self>, span: i64) {
        self.shared.is_on.store(true, std::sync::atomic::Ordering::Relaxed);
        for _ in 0..PROCESSES {
            let world = self.clone();
            self.time.spawn(&self.keeper, async move {
                loop {
                    world.run_member(span).await;
                    let down = [SECOND / 5, 2 * SECOND, 15 * SECOND, 60 * SECOND];
                    let down = world.time.chance().pick(&down);
                    world.time.until(world.time.now() + down).await;
                }
            });
        }
        let times = self.time.chance().below(4);
        for _ in 0..times {
            let at = self.time.chance().between(60 * SECOND, span - 300 * SECOND);
            let away = self.time.chance().pick(&[4 * SECOND, 20 * SECOND, 200 * SECOND]);
            let world = self.clone();
            self.time.spawn(&self.keeper, async move {
                world.time.until(at).await;
                world.lose_database(at + away);
            });
        }
    }

    /// One process, from its begin to its end.
    async fn run_member(self: &Arc<Self>, span: i64) {
        let now = self.time.now();
        let runs = self.time.chance().between(10 * SECOND, 900 * SECOND);
        let ends_at = if now >= span { i64::MAX } else { now + runs };
        let is_stopped = self.time.chance().happens(400_000);
        let member = Member::begin(self);
        self.shared.members.lock().unwrap().push(member.clone());
        member.clone().start();
        let mut freezes_at = now + self.time.chance().between(30 * SECOND, 900 * SECOND);
        while !member.process.is_dead() && self.time.now() < ends_at {
            let now = self.time.now();
            if now >= freezes_at && now < span {
                let frozen = self.time.chance().pick(&[2 * SECOND, 10 * SECOND, 40 * SECOND]);
                self.freeze(&member, now + frozen);
                freezes_at = now + self.time.chance().between(60 * SECOND, 1_200 * SECOND);
            }
            self.time.until((now + SECOND / 2).min(ends_at)).await;
        }
        if is_stopped && !member.process.is_dead() {
            member.end();
        }
        member.process.kill();
        self.time.tally.note(Fault::Restart);
        self.note_shared(SharedWhat::Gone { process: member.process.id });
        self.shared.members.lock().unwrap().retain(|it| !Arc::ptr_eq(it, &member));
    }

    fn freeze(&self, member: &Member, until: i64) {
        self.time.tally.note(Fault::Stall);
        member.process.freeze(until);
        self.note_shared(SharedWhat::Frozen { process: member.process.id, until });
    }

    /// A request to one of the processes, and its service.
    pub(super) fn answering_shared(self: &Arc<Self>) -> Option<(Arc<Process>, Manage)> {
        let any = self.time.chance().next();
        let member = self.shared.answering(any)?;
        let request = member.process.part();
        let queue =
            Arc::new(SharedQueue { world: self.clone(), process: request.clone(), is_api: true });
        let store = self.store_of(&request);
        let clock = self.clock(&request);
        let ports = manage_ports(store.clone(), queue, clock);
        let dispatcher = ports.dispatcher.clone().with_step(store);
        let ids = Arc::new(Ids(self.clone()));
        let completions = Some(super::reports::completion_urls());
        let ports = ManagePorts { ids, dispatcher, completions, ..ports };
        Some((request, Manage::new(ports, manage_settings())))
    }
}

impl Member {
    fn start(self: Arc<Self>) {
        let (world, process) = (self.world().clone(), self.process.clone());
        let member = self.clone();
        world.time.clone().spawn(&process, async move {
            // It does nothing before it knows the time.
            while !member.renew().await {}
            let (world, process) = (member.world().clone(), member.process.clone());
            world.time.spawn(&process, member.clone().live());
            world.time.spawn(&process, member.clone().lead());
            world.time.spawn(&process, member.clone().sweep());
            member.work().await;
        });
    }

    async fn work(self: Arc<Self>) {
        let (world, process) = (self.world().clone(), self.process.clone());
        let sender = SimulatedTarget { world: world.clone(), process: process.clone() };
        let (store, clock) = (world.store_of(&process), world.clock(&process));
        let queue = SharedQueue { world: world.clone(), process: process.clone(), is_api: false };
        let ports = FirePorts {
            ids: Arc::new(Ids(world.clone())),
            settle: store.clone(),
            completions: Some(super::reports::completion_urls()),
            ..fire_ports(store, Arc::new(queue), Arc::new(sender), clock.clone())
        };
        let executor = Executor::new(ports, FireSettings::default());
        let (heartbeat, beats) = (executor.heartbeat(), clock.clone());
        world.time.spawn(&process, async move {
            loop {
                drop(heartbeat.beat().await);
                beats.wait(BEAT_EVERY.to_std().unwrap()).await;
            }
        });
        let worker = Arc::new(Worker::new(executor, clock.clone(), Arc::new(())));
        loop {
            process.pause(500, 6_000).await;
            for taken in self.take() {
                let deadline = clock.work_now() + FUNCTION;
                let handled = handle(self.clone(), worker.clone(), taken, deadline);
                world.time.spawn(&process, handled);
            }
            world.time.until(world.time.now() + LOOKS_EVERY).await;
        }
    }

    async fn sweep(self: Arc<Self>) {
        let (world, process) = (self.world().clone(), self.process.clone());
        let (store, clock) = (world.store_of(&process), world.clock(&process));
        let heartbeat = Heartbeat::new(store.clone(), clock.clone(), PulseOf::Sweepers);
        let queue = SharedQueue { world: world.clone(), process: process.clone(), is_api: false };
        let dispatcher = Dispatcher::new(
            store.clone(),
            store.clone(),
            Arc::new(queue),
            Arc::new(()),
            clock.clone(),
        );
        let dispatcher = dispatcher.with_step(store.clone());
        let sweeper = Sweeper::new(store, dispatcher, Arc::new(heartbeat), clock);
        let mut first_shard = 0_u32;
        loop {
            if self.sweeps() {
                world.note_shared(SharedWhat::Sweeps { process: process.id });
                sweeper.pass(first_shard, pending()).await;
                first_shard = first_shard.wrapping_add(1);
            }
            world.time.until(world.time.now() + PASS_EVERY).await;
        }
    }
}

/// Handles one message, and tells the queue what becomes of it.
async fn handle(
    member: Arc<Member>,
    worker: Arc<Worker>,
    Taken { receipt, work_item, receives }: Taken,
    deadline: DateTime<Utc>,
) {
    let work_item = Ok(work_item);
    let place = &Held(receipt);
    let delivery =
        Delivery { message_id: &receipt, receives, work_item: work_item.as_ref(), place };
    let disposition = worker.handle(delivery, deadline, &Stop::never()).await;
    let (world, store) = (member.world(), member.world().store_of(&member.process));
    let span = |after: std::time::Duration| i64::try_from(after.as_micros()).unwrap();
    let tell = || {
        match &disposition {
            Disposition::Deleted | Disposition::RetryAtVisibilityTimeout => {}
            Disposition::Delete | Disposition::Bury(_) => {
                world.finish_shared(receipt);
            }
            Disposition::RetryAfter(after) | Disposition::RetryThrottled(after) => {
                world.put_back_shared(receipt, span(*after), true);
            }
            Disposition::Wait(Wait::For(after)) => {
                world.put_back_shared(receipt, span(*after), false);
            }
            Disposition::Wait(Wait::ForOrigin(_)) => panic!("places are not bounded"),
        }
        Ok(())
    };
    // If it fails, the message is delivered again.
    drop(store.op(false, tell).await);
}
