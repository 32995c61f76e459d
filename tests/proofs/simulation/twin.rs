//! The store in memory beside real ones: every call goes to all of them, and all have to answer the same. So
//! what is simulated is what is deployed.
//!
//! Two things are not compared: the order of lists whose positions each store makes by itself, and the index of
//! timers, as the simulated one is late on purpose. One machine works with those of its engine.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::name::PathSegment;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Advance, AlertsLayer, AttemptsLayer, Call, Claim, CollectionRecord, CollectionsLayer,
    CountersLayer, Due, Finish, HistoryEntry, HistoryLayer, JobRecord, JobSnapshot, JobsLayer,
    Layer, OpenAttemptsLayer, Page, PageRequest, PulsesLayer, RemovalLayer, RetryTimersLayer,
    SeatsLayer, SlotsLayer, SnapshotsLayer, TimersLayer, TurnsLayer,
};
use minutehand_ports::{
    Collections, Counters as _, History, Jobs, QueueMessage, Settled, Settlement, Snapshots as _,
    StoreError, Timers as _,
};
use minutehand_store_dynamodb::{DynamoStore, ensure_table};
use minutehand_testkit::back_end;
use minutehand_testkit::dynamodb::LocalDynamo;
use tokio::runtime::Runtime;

use super::engine::Engine;
use super::faults::{Beside, Ports, now, settled};
use super::judge::judge;
use super::memory::Memory;
use super::play::{Scenario, Stores, play_on};
use super::scenario;

/// The table of DynamoDB.
const TABLE: &str = "simulated";

/// A real store, which answers in no simulated time.
pub(super) trait Real: Beside {
    /// The store, as the process that runs has it.
    fn ports(&self) -> Arc<dyn Ports>;

    /// What its answers need.
    fn runtime(&self) -> Option<&Runtime> {
        None
    }

    /// Whether it reads jobs before their attempts are due.
    fn prefetches(&self) -> bool {
        true
    }
}

fn answer<T>(runtime: Option<&Runtime>, work: impl Future<Output = T>) -> T {
    match runtime {
        Some(runtime) => runtime.block_on(work),
        None => now(work),
    }
}

/// The store in memory, and others.
pub(super) struct Twin {
    pub(super) memory: Arc<Memory>,
    pub(super) others: Vec<Arc<dyn Real>>,
    /// Whether the first of the others answers what is not compared, and not the one in memory.
    pub(super) is_led: bool,
}

impl Beside for Twin {
    fn remove_expired(&self, at: DateTime<Utc>) {
        self.memory.remove_expired(at);
        self.others.iter().for_each(|it| it.remove_expired(at));
    }

    fn begin_process(&self, process: u64) {
        self.memory.begin_process(process);
        self.others.iter().for_each(|it| it.begin_process(process));
    }

    fn dispatch(
        &self,
        messages: &[QueueMessage],
        moves: &[Advance],
        at: DateTime<Utc>,
    ) -> Vec<Result<bool, StoreError>> {
        let simulated = self.memory.dispatch(messages, moves, at);
        self.same(simulated, |it| it.dispatch(messages, moves, at))
    }

    fn settle(&self, settlement: Settlement<'_>) -> Settled {
        let simulated = self.memory.settle(settlement);
        self.same(simulated, |it| it.settle(settlement))
    }
}

impl Twin {
    /// The answers of the others.
    fn ask<T>(&self, ask: impl Fn(&dyn Real) -> T) -> Vec<T> {
        self.others.iter().map(|it| ask(it.as_ref())).collect()
    }

    /// The answer of the store in memory, which has to be that of all others.
    #[track_caller]
    fn same<T: Debug>(&self, simulated: T, ask: impl Fn(&dyn Real) -> T) -> T {
        self.are_same(&simulated, self.ask(ask));
        simulated
    }

    #[track_caller]
    fn are_same<T: Debug>(&self, simulated: &T, real: impl IntoIterator<Item = T>) {
        let one = format!("{simulated:?}");
        for other in real {
            let other = format!("{other:?}");
            if one != other {
                // A worker would survive a panic alone.
                self.memory.differences.lock().unwrap().push(format!("{one}\nand {other}"));
            }
            assert_eq!(one, other);
        }
    }

    /// Chooses between answers that need not be the same: the one of the first of the others, if it leads.
    fn led<T>(&self, simulated: T, real: Vec<T>) -> T {
        real.into_iter().next().filter(|_| self.is_led).unwrap_or(simulated)
    }
}

/// DynamoDB, in the process.
struct Dynamo {
    client: Client,
    store: Arc<DynamoStore>,
    runtime: Arc<Runtime>,
}

impl Real for Dynamo {
    fn ports(&self) -> Arc<dyn Ports> {
        self.store.clone()
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(&self.runtime)
    }

    fn prefetches(&self) -> bool {
        false
    }
}

impl Beside for Dynamo {
    fn remove_expired(&self, at: DateTime<Utc>) {
        self.runtime.block_on(back_end::remove_expired(&self.client, TABLE, at));
    }

    fn begin_process(&self, _process: u64) {}

    fn dispatch(
        &self,
        _messages: &[QueueMessage],
        moves: &[Advance],
        _at: DateTime<Utc>,
    ) -> Vec<Result<bool, StoreError>> {
        self.runtime.block_on(self.store.advance(moves))
    }

    fn settle(&self, settlement: Settlement<'_>) -> Settled {
        let end = |_: &Finish| panic!("a table does not finish jobs with their last attempts");
        settled(settlement, |count| self.runtime.block_on(self.store.add(count)), end)
    }
}

/// Plays a seed on memory, DynamoDB and SQLite.
#[track_caller]
fn all_answer_the_same(seed: u64, scenario: Scenario) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = Arc::new(runtime.unwrap());
    let client = LocalDynamo::in_memory().client();
    runtime.block_on(ensure_table(&client, TABLE)).unwrap();
    let store = Arc::new(DynamoStore::new(client.clone(), TABLE));
    let dynamo = Arc::new(Dynamo { client, store, runtime: runtime.clone() });
    let run = play_on(seed, scenario, None, |memory| {
        // All purge pages of one size.
        memory.purged_max.store(100, Relaxed);
        let (memory, engine) = (memory.clone(), Engine::in_memory());
        let is_led = scenario == Scenario::Machine;
        // A process of one machine knows that claims of the one before it are void; DynamoDB has several.
        let others: Vec<Arc<dyn Real>> =
            if is_led { vec![engine.clone()] } else { vec![engine.clone(), dynamo] };
        let twin = Twin { memory, others, is_led };
        Stores { store: Arc::new(twin), engine: is_led.then_some(engine) }
    });
    assert_eq!(judge(&run), [""; 0], "seed {seed}");
}

macro_rules! twins {
    ($($name:ident: $seed:literal, $scenario:expr;)+) => {
        mod all_stores_answer_the_same {
            use super::{Scenario, all_answer_the_same, scenario};

            $(
                #[test]
                fn $name() {
                    all_answer_the_same($seed, $scenario);
                }
            )+
        }
    };
}

// Each is a test, so that they are played at the same time.
twins! {
    in_seed_0: 0, scenario(0);
    in_seed_1: 1, scenario(1);
    in_seed_2: 2, scenario(2);
    in_seed_3: 3, scenario(3);
    in_seed_6: 6, scenario(6);
    in_seed_9: 9, scenario(9);
    in_seed_18: 18, scenario(18);
    in_seed_39: 39, scenario(39);
    where_none_overlap: 0, Scenario::Overlap;
    where_starts_are_limited: 0, Scenario::Limits;
    where_what_runs_is_limited: 0, Scenario::Seats;
}

/// Each call goes to all stores, and its answer is the one on which they agree.
impl Layer for Twin {
    type Inner = dyn Ports;

    /// The store that answers what is not compared.
    fn inner(&self) -> Arc<dyn Ports> {
        match self.others.first() {
            Some(first) if self.is_led => first.ports(),
            _ => self.memory.clone(),
        }
    }

    async fn try_call<'a, T: Debug + Send + 'a>(
        &'a self,
        call: impl Call<'a, dyn Ports, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.call(call).await
    }

    async fn call<'a, A: Debug + Send + 'a>(&'a self, call: impl Call<'a, dyn Ports, A>) -> A {
        let simulated = now(call(self.memory.clone()));
        self.same(simulated, |it| answer(it.runtime(), call(it.ports())))
    }
}

#[async_trait]
impl CollectionsLayer for Twin {
    async fn list(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        now(Collections::list(self.inner().as_ref(), subscription, group, page))
    }
}

#[async_trait]
impl JobsLayer for Twin {
    async fn list(
        &self,
        collection_uid: &str,
        at: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        now(Jobs::list(self.inner().as_ref(), collection_uid, at, page))
    }
}

#[async_trait]
impl TimersLayer for Twin {
    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        now(self.inner().due(shard, until, page))
    }

    /// SQLite has one instant at which a job expires, that of the worker who asked last. So it may tell other
    /// workers who finish a finished job in the same way that they did, and those who ask again that they did not.
    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        let was_finished = self.memory.is_finished(finish);
        let simulated = now(self.memory.finish(finish)).unwrap();
        let real = self.ask(|it| answer(it.runtime(), it.ports().finish(finish)).unwrap());
        let alike = |it: &bool| if was_finished { simulated } else { *it };
        self.are_same(&simulated, real.iter().map(alike));
        Ok(self.led(simulated, real))
    }
}

#[async_trait]
impl HistoryLayer for Twin {
    async fn list(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<HistoryEntry>, StoreError> {
        // The one in memory answers in one page.
        let simulated = now(History::list(self.memory.as_ref(), job_uid, page.clone()))?.items;
        self.same(simulated, |it| {
            let (mut items, mut from) = (Vec::new(), None);
            loop {
                let page = PageRequest { from, items_max: page.items_max };
                let ports = it.ports();
                let listed = answer(it.runtime(), History::list(ports.as_ref(), job_uid, page));
                let page = listed.unwrap();
                items.extend(page.items);
                from = page.next;
                if from.is_none() {
                    return items;
                }
            }
        });
        now(History::list(self.inner().as_ref(), job_uid, page))
    }

    async fn attempts_between(
        &self,
        job_uid: &str,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Vec<Attempt>, StoreError> {
        // In no order, and without their times.
        let ids = |found: Result<Vec<Attempt>, StoreError>| {
            let ids = found.unwrap().into_iter().map(|attempt| attempt.id().to_string());
            ids.collect::<BTreeSet<_>>()
        };
        let simulated = now(self.memory.attempts_between(job_uid, from, until));
        self.same(ids(simulated), |it| {
            let ports = it.ports();
            ids(answer(it.runtime(), ports.attempts_between(job_uid, from, until)))
        });
        now(self.inner().attempts_between(job_uid, from, until))
    }
}

/// Without when the timer moved, which only stores know that have a queue beside them.
fn unmoved(snapshot: Option<&JobSnapshot>) -> Option<JobSnapshot> {
    snapshot.map(|it| JobSnapshot { moved_at: None, ..it.clone() })
}

#[async_trait]
impl SnapshotsLayer for Twin {
    async fn read(&self, job: &JobRef) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        let simulated = now(self.memory.read(job)).unwrap();
        let real = self.ask(|it| answer(it.runtime(), it.ports().read(job)).unwrap());
        let unmoved = |it: &Option<Arc<JobSnapshot>>| unmoved(it.as_deref());
        self.are_same(&unmoved(&simulated), real.iter().map(unmoved));
        Ok(self.led(simulated, real))
    }

    async fn prefetch(&self, claim: &Claim) -> Option<Arc<JobSnapshot>> {
        let simulated = now(self.memory.prefetch(claim));
        let others = self.others.iter().filter(|it| it.prefetches());
        let real = others.map(|it| answer(it.runtime(), it.ports().prefetch(claim)));
        self.are_same(&unmoved(simulated.as_deref()), real.map(|it| unmoved(it.as_deref())));
        simulated
    }

    /// What was counted since it was prefetched decides nothing at a start, so a snapshot may be without it.
    async fn read_for_start(&self, claim: &Claim) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        let simulated = now(self.memory.read_for_start(claim)).unwrap();
        let real = self.ask(|it| answer(it.runtime(), it.ports().read_for_start(claim)).unwrap());
        let uncounted = |snapshot: &Option<Arc<JobSnapshot>>| {
            let mut snapshot = unmoved(snapshot.as_deref())?;
            (snapshot.counters, snapshot.recently_counted) = Default::default();
            Some(snapshot)
        };
        self.are_same(&uncounted(&simulated), real.iter().map(uncounted));
        Ok(self.led(simulated, real))
    }
}

impl AttemptsLayer for Twin {}
impl OpenAttemptsLayer for Twin {}
impl AlertsLayer for Twin {}
impl TurnsLayer for Twin {}
impl SlotsLayer for Twin {}
impl SeatsLayer for Twin {}
impl CountersLayer for Twin {}
impl RetryTimersLayer for Twin {}
impl PulsesLayer for Twin {}
impl RemovalLayer for Twin {}
