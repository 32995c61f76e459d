//! What a run is put together from: what is kept, and the services over it.

use std::sync::Arc;

use actions::Actions;
use anyhow::{Context, Result};
use app::fire::{Dispatcher, Executor, FirePorts, FireSettings, Process, Sweeper};
use app::{Manage, ManagePorts};
use embedded::{DataDir, Queue, Store, WriteProbe};
use ports::firing::FiringStore;
use ports::{Clock, DispatchQueue, IdSource, Sealer};
use runtime::{
    Advanced, Grouped, Metrics, PfxReader, RandomIds, SystemClock, TestClock, system_now,
};
use store_dynamodb::{DynamoStore, Groups, ensure_table};

use super::home::Home;
use super::page::PrometheusPage;
use super::run::BUILD;
use super::settings::{ClockSettings, ServeSettings};

/// The one table of the store.
const TABLE: &str = "minutehand";
/// The location of collections that name none, and the region that targets are told.
const REGION: &str = "local";

/// The parts of a process. What is in several of them is here once.
pub(super) struct Parts {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdSource>,
    pub(super) queue: Queue,
    /// The data directory; `None` if everything is in memory.
    pub(super) dir: Option<DataDir>,
    pub(super) store: Store,
    pub(super) jobs: Arc<DynamoStore>,
    grouped: Arc<Grouped>,
    sealer: Arc<dyn Sealer>,
    metrics: Arc<Metrics>,
    process: Process,
}

impl Parts {
    /// Opens what is kept. It has to be called within a runtime.
    pub(super) async fn open(settings: &ServeSettings) -> Result<Self> {
        let clock = clock(settings.clock);
        let Home { dir, sealer, store, queue } = Home::open(&settings.storage, clock.clone())?;
        ensure_table(&store.client(), TABLE).await.context("cannot create the table")?;
        // One commit for what comes together: here a commit is the price, and not a write.
        let jobs = DynamoStore::new(store.client(), TABLE).with_groups(Groups::Transactions);
        // One process has a data directory, so what it does not write nobody does.
        let jobs = Arc::new(jobs.alone());
        let ids: Arc<dyn IdSource> = Arc::new(RandomIds);
        let process = Process { id: ids.new_id(), started_at: clock.now() };
        Ok(Self {
            grouped: Arc::new(Grouped::new(jobs.clone())),
            sealer: Arc::new(sealer),
            metrics: Arc::default(),
            clock,
            ids,
            queue,
            dir,
            store,
            jobs,
            process,
        })
    }

    /// What the API calls.
    pub(super) fn manage(&self, settings: &ServeSettings) -> Manage {
        let ports = ManagePorts {
            store: self.jobs.clone(),
            history: self.grouped.clone(),
            queue: self.messages(),
            dispatcher: self.dispatcher(self.grouped.clone()),
            sealer: self.sealer.clone(),
            certificates: Arc::new(PfxReader),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            disk: Arc::new(WriteProbe::under(&self.store, &self.queue)),
        };
        let settings = app::ManageSettings {
            region: REGION.to_owned(),
            plan_limits: settings.plan_limits,
            has_aws: settings.services.aws.is_some(),
        };
        Manage::new(ports, settings)
    }

    /// What finds what is due. It goes past the groups: a pass moves a page of timers at once, and
    /// need not wake itself. It has one page at once: one thread performs what they ask for, and what
    /// fires has a turn in between.
    pub(super) fn sweeper(&self) -> Sweeper {
        Sweeper::new(self.jobs.clone(), self.dispatcher(self.jobs.clone()), self.clock.clone())
    }

    /// Tells of timers that others than the sweeper have moved.
    pub(super) fn advanced(&self) -> Arc<Advanced> {
        self.grouped.advanced()
    }

    /// What performs what is due.
    pub(super) fn executor(&self, settings: &ServeSettings) -> Result<Executor> {
        let ports = FirePorts {
            store: self.grouped.clone(),
            queue: self.messages(),
            gate: self.grouped.starts(),
            sender: Arc::new(actions(settings)?),
            sealer: self.sealer.clone(),
            events: self.metrics.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
        };
        let settings = FireSettings {
            region: REGION.to_owned(),
            is_quiet: false,
            only_process: Some(self.process.clone()),
        };
        Ok(Executor::new(ports, settings))
    }

    /// What `GET /metrics` answers.
    pub(super) fn page(&self) -> PrometheusPage {
        PrometheusPage::new(self.metrics.clone(), self.queue.clone(), self.clock.clone())
    }

    /// Closes what is kept, once what it has accepted is done.
    pub(super) async fn close(self) {
        self.queue.close().await;
        self.store.close().await;
    }

    fn messages(&self) -> Arc<dyn DispatchQueue> {
        Arc::new(self.queue.clone())
    }

    fn dispatcher(&self, store: Arc<dyn FiringStore>) -> Dispatcher {
        let process = Some(self.process.clone());
        Dispatcher::new(store, self.messages(), self.metrics.clone(), self.clock.clone(), process)
    }
}

fn clock(settings: Option<ClockSettings>) -> Arc<dyn Clock> {
    match settings {
        None => Arc::new(SystemClock),
        Some(clock) => Arc::new(TestClock::new(clock.start.unwrap_or_else(system_now), clock.rate)),
    }
}

fn actions(settings: &ServeSettings) -> Result<Actions> {
    let mut wanted = actions::ActionSettings::new(settings.targets);
    wanted.authority.clone_from(&settings.oauth_authority);
    wanted.storage = settings.services.storage.clone();
    wanted.service_bus = settings.services.bus.clone();
    wanted.service_bus_amqp.clone_from(&settings.services.bus_amqp);
    wanted.aws.clone_from(&settings.services.aws);
    wanted.user_agent = format!("minutehand/{}", BUILD.version);
    Actions::new(&wanted).context("cannot prepare to call targets")
}
