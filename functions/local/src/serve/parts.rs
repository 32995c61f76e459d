//! Puts the parts of the process together: the store, the queue, and the services over them.
//!
//! Store and queue are one database, of this process alone or of several. So what a sweep or the end of an attempt changes in both is one
//! transaction.

use std::sync::{Arc, Mutex, OnceLock};

use anyhow::{Context, Result};
use minutehand_actions::{ActionSettings, Actions};
use minutehand_app::fire::{
    Dispatcher, Executor, FirePorts, FireSettings, FireStore, Heartbeat, Sweeper, TimerChanges,
    ToldStep, Worker,
};
use minutehand_app::{ApiPresence, COMPLETION_KEY, CompletionUrls, Manage, ManagePorts};
use minutehand_archive_objects::{ArchivedBodies, ArchivedHistory};
use minutehand_domain::own::OwnResources;
use minutehand_outbound::HeartbeatUrl;
use minutehand_ports::store::PulseOf;
use minutehand_ports::{
    Clock, Collections, DispatchStep, GivenKey, History, IdSource, Jobs, OpenAttempts,
};
use minutehand_rest::Live;
use minutehand_runtime::{Metrics, PfxReader, ProcessClock, RandomIds, TestClock, system_now};
use minutehand_store_sql::postgres::{PgClock, Sweeping as SweepLease};
use minutehand_store_sql::{AnyDatabase, SqlQueue, SqlStore};

use super::build_info::store_version;
use super::condition::Condition;
use super::forget::{Forgotten, forget};
use super::home::Home;
use super::http::PrometheusPage;
use super::live::{Telling, telling};
use super::peers::Peers;
use super::places::SharedPlaces;
use super::secrets::{self, KeyFound};
use super::settings::{ClockSettings, ServeSettings, Storage};
use super::state_count::StateCount;
use super::under_way::UnderWay;
use super::watcher::Watcher;
use crate::archive::{DailyBackups, NewestBackup};

/// The location of collections that name none, and the region that targets are told.
const REGION: &str = "local";

/// How many idle connections the API keeps to a receiver of alerts that it tests.
const TESTS_IDLE: usize = 1;

/// The parts that several services share.
pub(super) struct Parts {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdSource>,
    pub(super) queue: SqlQueue,
    pub(super) home: Home,
    pub(super) jobs: Arc<SqlStore>,
    pub(super) timer_changes: Arc<TimerChanges>,
    metrics: Arc<Metrics>,
    pub(super) under_way: UnderWay,
    pub(super) condition: Arc<Condition>,
    pub(super) state_count: StateCount,
    /// The places of attempts, once this process performs some.
    pub(super) places: OnceLock<Arc<SharedPlaces>>,
    newest_backup: NewestBackup,
    pub(super) live: Arc<Live>,
    pub(super) presence: Arc<ApiPresence>,
}

impl Parts {
    /// Opens the store and the queue. It must be called within a runtime.
    pub(super) async fn open(settings: &ServeSettings) -> Result<Self> {
        let home = Home::open(&settings.storage, settings.forget_secrets).await?;
        let database = home.database.clone();
        let clock = match &database {
            AnyDatabase::Postgres(database) => Arc::new(PgClock::new(database.clone())),
            AnyDatabase::Sqlite(_) => clock(settings.clock),
        };
        let peers = match (&database, &settings.storage) {
            (AnyDatabase::Postgres(database), Storage::Database { place, .. }) => {
                Some(Arc::new(Peers::new(database.clone(), (**place).clone())))
            }
            _ => None,
        };
        let jobs = SqlStore::new(database.clone()).with_history(settings.history);
        let jobs = Arc::new(if home.is_alone() { jobs.alone() } else { jobs });
        let queue =
            SqlQueue::open(database, clock.clone()).await.context("cannot open the queue")?;
        let id = RandomIds.new_id();
        let presence = ApiPresence::new(jobs.clone(), clock.clone(), id, home.is_alone());
        Ok(Self {
            presence: Arc::new(presence),
            metrics: Arc::default(),
            under_way: UnderWay::default(),
            condition: Arc::new(Condition::of(queue.clone(), peers)),
            state_count: StateCount::default(),
            places: OnceLock::new(),
            newest_backup: NewestBackup::default(),
            live: Arc::new(Live::new(&RandomIds.new_id())),
            timer_changes: Arc::default(),
            ids: Arc::new(RandomIds),
            clock,
            queue,
            home,
            jobs,
        })
    }

    /// With `--forget-secrets`: disables what needs a secret that the key does not open, if this is not
    /// the key that sealed the secrets.
    pub(super) async fn forget_secrets(&self, settings: &ServeSettings) -> Result<()> {
        if !settings.forget_secrets {
            return Ok(());
        }
        let Home { key, dir, sealer, database, .. } = &self.home;
        if *key == KeyFound::Right {
            tracing::warn!("--forget-secrets: the key is the right one, so nothing was forgotten");
            return Ok(());
        }
        let Forgotten { jobs, collections } = forget(&self.manage(settings)?, &self.jobs).await?;
        secrets::remember_key(*key, dir.as_ref(), sealer, database).await?;
        tracing::warn!(
            jobs,
            collections,
            "--forget-secrets: went on with another key; start without the flag from now on"
        );
        Ok(())
    }

    /// The service that the API calls.
    pub(super) fn manage(&self, settings: &ServeSettings) -> Result<Manage> {
        let history: Arc<dyn History> = match settings.archive.clone() {
            Some(objects) => Arc::new(ArchivedHistory::new(self.jobs.clone(), objects)),
            None => self.jobs.clone(),
        };
        let bodies = settings.archive.clone().map(|objects| Arc::new(ArchivedBodies::new(objects)));
        let ping_bodies = bodies.clone().map(|bodies| bodies as _);
        let ports = ManagePorts {
            collections: Arc::new(Telling::<dyn Collections>::new(
                self.jobs.clone(),
                self.live.clone(),
            )),
            cloud_services: self.jobs.clone(),
            jobs: Arc::new(Telling::<dyn Jobs>::new(self.jobs.clone(), self.live.clone())),
            alerts: self.jobs.clone(),
            open: Arc::new(Telling::<dyn OpenAttempts>::new(self.jobs.clone(), self.live.clone())),
            history,
            browse: self.jobs.clone(),
            queue: Arc::new(self.queue.clone()),
            dead_letters: Arc::new(self.queue.clone()),
            hanging: match self.places.get() {
                Some(places) => places.clone(),
                None => Arc::new(()),
            },
            dispatcher: self.dispatcher(Arc::new(ToldStep {
                step: self.jobs.clone(),
                changes: self.timer_changes.clone(),
            })),
            sealer: self.home.sealer.clone(),
            certificates: Arc::new(PfxReader),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            disk: self.jobs.clone(),
            bodies: bodies.map(|bodies| bodies as _),
            sender: Some(Arc::new(self.under_way.clone().around(actions(settings, TESTS_IDLE)?))),
            completions: self.completions(settings),
        };
        let settings = minutehand_app::ManageSettings {
            region: REGION.to_owned(),
            plan_limits: settings.plan_limits,
            has_aws: settings.actions.aws.is_some(),
            own: OwnResources::default(),
            history: settings.history,
        };
        let manage = Manage::new(ports, settings);
        Ok(manage.with_pings_and_bodies(self.jobs.clone(), ping_bodies))
    }

    /// Where targets report the end of their work, if this server knows its public address.
    fn completions(&self, settings: &ServeSettings) -> Option<Arc<CompletionUrls>> {
        let key = self.home.sealer.derived(COMPLETION_KEY);
        let key = Arc::new(GivenKey(key.to_vec().into()));
        Some(Arc::new(CompletionUrls::new(settings.public_url.as_deref()?, key)))
    }

    /// What pings another watcher.
    pub(super) fn watcher(&self, url: HeartbeatUrl) -> Watcher {
        let (condition, jobs) = (self.condition.clone(), self.jobs.clone());
        Watcher { url, condition, jobs, clock: self.clock.clone() }
    }

    /// The sweeper, which need not be told of the timers that it moves itself.
    pub(super) fn sweeper(&self) -> Sweeper {
        let heartbeat = Heartbeat::new(self.jobs.clone(), self.clock.clone(), PulseOf::Sweepers);
        let dispatcher = self.dispatcher(self.jobs.clone());
        let heartbeat = if self.home.is_alone() { heartbeat.alone() } else { heartbeat };
        Sweeper::new(self.jobs.clone(), dispatcher, Arc::new(heartbeat), self.clock.clone())
    }

    /// The right to sweep, for which the processes that share a database compete.
    pub(super) fn sweep_lease(&self) -> Option<SweepLease> {
        match &self.home.database {
            AnyDatabase::Postgres(database) => Some(database.sweeping()),
            AnyDatabase::Sqlite(_) => None,
        }
    }

    /// The worker that performs deliveries, and its signs of life. It keeps at most `idle_max` idle
    /// connections to a target.
    pub(super) fn worker(
        &self,
        settings: &ServeSettings,
        idle_max: usize,
    ) -> Result<(Worker, Arc<Heartbeat>)> {
        let ports = FirePorts {
            store: telling(FireStore::new(self.jobs.clone()), &self.live),
            queue: Arc::new(self.queue.clone()),
            settle: self.jobs.clone(),
            sender: Arc::new(self.under_way.clone().around(actions(settings, idle_max)?)),
            sealer: self.home.sealer.clone(),
            events: self.metrics.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            bodies: settings
                .archive
                .clone()
                .filter(|_| settings.keep_bodies)
                .map(|objects| Arc::new(ArchivedBodies::new(objects)) as _),
            completions: self.completions(settings),
            brakes: None,
        };
        let settings = FireSettings {
            region: REGION.to_owned(),
            is_quiet: false,
            is_alone: self.home.is_alone(),
            history: settings.history,
        };
        let executor = Executor::new(ports, settings).with_presence(self.presence.clone());
        let heartbeat = executor.heartbeat();
        Ok((Worker::new(executor, self.clock.clone(), self.metrics.clone()), heartbeat))
    }

    /// What writes backups; `None` if none are made.
    pub(super) fn backups(&self, settings: &ServeSettings) -> Option<DailyBackups> {
        let installation = self.jobs.database().installation();
        let (kept, newest) = (settings.backups_kept?, self.newest_backup.clone());
        Some(DailyBackups { installation, kept, newest })
    }

    /// What stores everything, and its version if that is a part of this program.
    pub(super) fn store(&self) -> String {
        if self.home.is_alone() { store_version() } else { "PostgreSQL".to_owned() }
    }

    /// The page that `GET /metrics` answers.
    pub(super) fn page(&self) -> PrometheusPage {
        PrometheusPage {
            metrics: self.metrics.clone(),
            queue: self.queue.clone(),
            clock: self.clock.clone(),
            under_way: self.under_way.clone(),
            condition: self.condition.clone(),
            state_count: self.state_count.clone(),
            newest_backup: self.newest_backup.clone(),
            store: self.store(),
            disk: self.jobs.clone(),
            data: self.home.dir.as_ref().map(|dir| dir.path().to_owned()),
            requests: Mutex::default(),
        }
    }

    fn dispatcher(&self, step: Arc<dyn DispatchStep>) -> Dispatcher {
        let (queue, events) = (Arc::new(self.queue.clone()), self.metrics.clone());
        let clock = self.clock.clone();
        Dispatcher::new(self.jobs.clone(), self.jobs.clone(), queue, events, clock).with_step(step)
    }
}

fn clock(settings: Option<ClockSettings>) -> Arc<dyn Clock> {
    match settings {
        None => Arc::new(ProcessClock::default()),
        Some(clock) => Arc::new(TestClock::new(clock.start.unwrap_or_else(system_now), clock.rate)),
    }
}

fn actions(settings: &ServeSettings, idle_max: usize) -> Result<Actions> {
    let wanted = ActionSettings { idle_connections_max: idle_max, ..settings.actions.clone() };
    Actions::new(&wanted).context("cannot prepare to call targets")
}
