//! The world of these tests: a sweeper that ticks every minute and a worker that takes one message
//! after the other, both on the clock of the test.

use std::future::pending;
use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use chrono::{DateTime, TimeDelta, Utc};
use http_body_util::BodyExt;
use minutehand_app::fire::{
    DeliveryPlace, Dispatcher, Executor, FirePorts, FireSettings, Healer, Heartbeat, Performed,
    Performer as _, Stop, Sweeper, Unbounded, Wait,
};
use minutehand_app::{
    ApiPresence, AppError, CompletionUrls, ExecutionView, JobView, LeftOutView, Manage,
    ManagePorts, ManageSettings, WantedFailures, WantedOccurrences,
};
use minutehand_domain::attempt::{Occurrence, Outcome, Role};
use minutehand_domain::collection::CollectionState;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::firing::limits::{AHEAD, RECEIVES_MAX, VISIBILITY};
use minutehand_domain::firing::{LeftOut, Why};
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::job::JobCounters;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::own::OwnResources;
use minutehand_domain::plan::PlanLimits;
use minutehand_domain::work_item::{JobRef, encode_waiting};
use minutehand_ports::store::{JobRecord, PageRequest, PulseOf, ResourceGroup};
use minutehand_ports::{Clock, Collections, GivenKey, History, Jobs, Pings};
use minutehand_recurrence::WrittenDate;
use minutehand_sealer_aes::AesSealer;
use minutehand_store_sql::SqlStore;
use minutehand_testkit::TimeLimit;
use minutehand_testkit::services::{CountedIds, NoCertificates, fire_ports};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tower::ServiceExt;

use super::ground::{Ground, Machine, Table, WholeStore};
use super::store::{Fronted, Trouble};
use super::target::Behaviour::Fail;
use super::target::{Moved, Noted, Still, Targets, Told};
use super::transit::{Parcel, Transit, full_minute};
use super::watch::{Function, Watch};
use crate::manage::api::api_over;

pub(super) struct World {
    pub(super) manage: Manage,
    /// The same on a host that may not call what jobs call.
    pub(super) manage_only: Box<Manage>,
    /// Ends a wait of that host.
    pub(super) told: Arc<Notify>,
    pub(super) targets: Arc<Targets>,
    pub(super) noted: Arc<Noted>,
    pub(super) trouble: Arc<Trouble>,
    pub(super) store: Arc<dyn WholeStore>,
    pub(super) sweeper_running: bool,
    pub(super) worker_running: bool,
    /// Whether each message is delivered a second time when it is done.
    pub(super) redeliver: bool,
    /// How long a message stays invisible after its worker failed.
    pub(super) visibility: TimeDelta,
    /// Messages that were delivered too often.
    pub(super) dead: Vec<Parcel>,
    clock: Arc<Moved>,
    transit: Arc<Transit>,
    fronted: Arc<Fronted>,
    pub(super) sealer: Arc<AesSealer>,
    sweeper: Sweeper,
    executor: Executor,
    /// No worker is told to stop.
    never: Stop,
    _limit: TimeLimit,
    history: HistoryDays,
    pub(super) ids: Arc<CountedIds>,
    ticked: DateTime<Utc>,
    pub(super) ground: Ground,
}

/// The state of a job and its counters, as the API shows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) state: String,
    executions: u64,
    failures: u64,
    faulted: u64,
    skipped: u64,
}

/// The status of a job in this state, with counters that are zero.
pub(super) fn status(state: &str) -> Status {
    Status { state: state.to_owned(), ..Status::default() }
}

impl Status {
    pub(super) fn executions(self, executions: u64) -> Self {
        Self { executions, ..self }
    }

    pub(super) fn failures(self, failures: u64) -> Self {
        Self { failures, ..self }
    }

    pub(super) fn faulted(self, faulted: u64) -> Self {
        Self { faulted, ..self }
    }

    pub(super) fn skipped(self, skipped: u64) -> Self {
        Self { skipped, ..self }
    }
}

impl World {
    /// A world with an empty collection `jc`.
    pub(super) async fn at(now: &str) -> Self {
        Self::with(now, json!({})).await
    }

    /// A world with a collection of these properties.
    pub(super) async fn with(now: &str, properties: Value) -> Self {
        Self::on(async |_| Ground::shared().await, now, properties).await
    }

    /// A world with a process that is alone, as on one machine.
    pub(super) async fn local(now: &str) -> Self {
        let ground = async |transit| Ground::Machine(Machine::new(transit).await);
        Self::on(ground, now, json!({})).await
    }

    /// A world on a table of DynamoDB, with a collection of these properties.
    pub(super) async fn on_table(now: &str, properties: Value) -> Self {
        Self::on(async |_| Ground::Table(Table::new(None).await), now, properties).await
    }

    /// The same, which notes the requests to the table.
    pub(super) async fn watched(now: &str) -> (Self, Arc<Watch>) {
        let watch = Arc::new(Watch::default());
        let ground = async |_| Ground::Table(Table::new(Some(watch.clone())).await);
        (Self::on(ground, now, json!({})).await, watch)
    }

    async fn on(
        ground: impl AsyncFnOnce(Arc<Transit>) -> Ground,
        now: &str,
        properties: Value,
    ) -> Self {
        let trouble = Arc::new(Trouble::default());
        let clock = Arc::new(Moved::at(instant(now)));
        let transit = Arc::new(Transit::new(trouble.clone()));
        let targets = Arc::new(Targets::new(clock.clone()));
        let ground = ground(transit.clone()).await;
        let noted = Arc::new(Noted::default());
        let sealer = Arc::new(AesSealer::new(&AesSealer::new_key().unwrap()));
        let ids = Arc::new(CountedIds::default());
        let history = HistoryDays::default();
        let store = ground.store(history);
        let fronted = Arc::new(Fronted::new(store.clone(), trouble.clone()));
        let ports = FirePorts {
            sealer: sealer.clone(),
            events: noted.clone(),
            ids: ids.clone(),
            completions: Some(completions()),
            ..fire_ports(fronted.clone(), transit.clone(), targets.clone(), clock.clone())
        };
        let Services { manage, manage_only, told, sweeper, executor } =
            services(ports, &ground, &store, history);
        let world = Self {
            manage,
            manage_only,
            told,
            targets,
            noted,
            trouble,
            store,
            sweeper_running: true,
            worker_running: true,
            redeliver: false,
            visibility: VISIBILITY,
            dead: Vec::new(),
            clock,
            transit,
            fronted,
            sealer,
            sweeper,
            executor,
            never: Stop::never(),
            history,
            ids,
            ticked: instant(now) - TimeDelta::seconds(1),
            ground,
            _limit: TimeLimit::start(),
        };
        world.put_collection(properties).await;
        world
    }

    /// Sends a request to the API, and returns the status and the body of the answer.
    pub(super) async fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        self.fronted.stir();
        let api = api_over(self.manage.clone(), self.clock.clone());
        let request = Request::builder().method(method).uri(path).header("host", "localhost");
        let request = request.header("x-ms-version", "2013-03-01");
        let answer = api.oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    /// The table, if it stands on one.
    pub(super) fn table(&self) -> &Table {
        match &self.ground {
            Ground::Table(table) => table,
            Ground::Shared(_) | Ground::Machine(_) => panic!("it stands on no table"),
        }
    }

    /// Puts the collection `jc` with these properties.
    pub(super) async fn put_collection(&self, properties: Value) {
        let collection = json!({"properties": properties});
        self.manage.put_collection(&place(), &named("jc"), collection).await.unwrap();
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// The process ends, and another one starts now.
    pub(super) async fn restart(self) -> Self {
        let Ground::Machine(machine) = self.ground else { panic!("no process is alone") };
        let mut world = Self { ground: Ground::Machine(machine.restart().await), ..self };
        world.start();
        world
    }

    /// Other processes start, as on AWS, which keep history for so many days.
    pub(super) fn keep_history(&mut self, days: &str) {
        assert!(matches!(self.ground, Ground::Shared(_)), "it is of several processes");
        self.history = days.parse().unwrap();
        self.start();
    }

    /// Removes what has expired by now.
    pub(super) async fn expire(&self) {
        let Ground::Shared(database) = &self.ground else { panic!("nothing to remove it from") };
        let (store, now) = (SqlStore::new(database.clone()), self.now());
        store.remove_expired(now, now, None).await.unwrap();
    }

    fn start(&mut self) {
        self.store = self.ground.store(self.history);
        self.fronted = Arc::new(Fronted::new(self.store.clone(), self.trouble.clone()));
        let ports = self.ports(self.clock.clone());
        let services = services(ports, &self.ground, &self.store, self.history);
        self.manage = services.manage;
        (self.manage_only, self.told) = (services.manage_only, services.told);
        self.sweeper = services.sweeper;
        self.executor = services.executor;
    }

    /// The signs of a process with the API.
    pub(super) fn presence(&self, id: &str) -> ApiPresence {
        let signs = self.ground.signs().unwrap();
        let is_alone = self.ground.queue().is_some();
        ApiPresence::new(signs, self.clock.clone(), id.to_owned(), is_alone)
    }

    /// The store of pings.
    pub(super) fn ping_store(&self) -> Arc<dyn Pings> {
        self.ground.pings()
    }

    /// The worker asks who was there.
    pub(super) fn use_presence(&mut self, presence: Arc<ApiPresence>) {
        self.executor = self.executor.clone().with_presence(presence);
    }

    /// Something that the sweeper does not know of may be due.
    pub(super) fn stir(&self) {
        self.fronted.stir();
    }

    /// An executor that waits for instants that do not come.
    pub(super) fn waiting(&self) -> Executor {
        let ports = self.ports(Arc::new(Still(self.clock.clone())));
        services(ports, &self.ground, &self.store, self.history).executor
    }

    fn ports(&self, clock: Arc<dyn Clock>) -> FirePorts {
        FirePorts {
            sealer: self.sealer.clone(),
            events: self.noted.clone(),
            ids: self.ids.clone(),
            completions: Some(completions()),
            ..fire_ports(self.fronted.clone(), self.transit.clone(), self.targets.clone(), clock)
        }
    }

    /// Takes the next message.
    pub(super) fn take(&self) -> Parcel {
        self.transit.take().expect("a message is there")
    }

    /// Puts a message back.
    pub(super) fn put_back(&self, parcel: Parcel) {
        self.transit.put(self.now(), parcel);
    }

    /// A copy of each message.
    pub(super) fn copy_all(&self) -> Vec<Parcel> {
        let taken: Vec<_> = std::iter::from_fn(|| self.transit.take()).collect();
        for parcel in taken.clone() {
            self.put_back(parcel);
        }
        taken
    }

    /// How many attempts of a job are claimed or have ended.
    pub(super) async fn n_executions(&self, job: &JobRef) -> usize {
        let page = PageRequest { from: None, items_max: 100 };
        History::list(self.store.as_ref(), &job.uid, page).await.unwrap().items.len()
    }

    /// Ticks and delivers messages until a time, in the order of time. Then the clock is at that time.
    pub(super) async fn run_until(&mut self, until: &str) {
        self.run_to(instant(until)).await;
    }

    /// The same, with a tick each minute, whether or not anything is due.
    pub(super) async fn tick_until(&mut self, until: &str) {
        let until = instant(until);
        while self.now() < until {
            self.fronted.stir();
            self.run_to(until.min(self.now() + TimeDelta::minutes(1))).await;
        }
    }

    pub(super) async fn run_for(&mut self, time: TimeDelta) {
        self.run_to(self.now() + time).await;
    }

    pub(super) async fn run_to(&mut self, until: DateTime<Utc>) {
        loop {
            let tick = self.sweeper_running.then(|| self.next_tick());
            let delivery = self.worker_running.then(|| self.transit.next_at()).flatten();
            let is_tick = match (tick, delivery) {
                (Some(tick), Some(delivery)) => tick <= delivery.max(self.now()),
                (tick, _) => tick.is_some(),
            };
            let Some(at) = (if is_tick { tick } else { delivery }).filter(|at| *at <= until) else {
                break;
            };
            self.clock.move_to(at);
            if is_tick {
                self.ticked = at;
                self.turn(Function::Sweeper);
                self.sweeper.pass(0, pending()).await;
            } else {
                self.turn(Function::Executor);
                self.deliver().await;
            }
            self.turn(Function::Api);
        }
        self.clock.move_to(until);
    }

    fn turn(&self, function: Function) {
        if let Ground::Table(Table { watch: Some(watch), .. }) = &self.ground {
            watch.turn(function);
        }
    }

    /// The next full minute at which a sweep may find something.
    fn next_tick(&self) -> DateTime<Utc> {
        let next = full_minute(self.ticked + TimeDelta::nanoseconds(1));
        match self.fronted.quiet_until() {
            None => next,
            Some(never) if never == DateTime::<Utc>::MAX_UTC => never,
            Some(quiet) => next.max(full_minute(quiet - AHEAD)),
        }
    }

    /// Takes the next message, performs it, and treats the message as a queue does.
    pub(super) async fn deliver(&mut self) {
        let Some(mut parcel) = self.transit.take() else {
            return;
        };
        parcel.receives += 1;
        let work_item = parcel.work_item();
        let performed = tokio::select! {
            biased;
            performed = self.executor.perform(&work_item, &parcel, &self.never) => Some(performed),
            () = self.targets.died() => None,
        };
        let now = self.clock.now();
        let again = match performed {
            Some(Ok(performed @ (Performed::Done | Performed::Finished))) => {
                if self.redeliver {
                    self.executor.perform(&work_item, &Unbounded, &self.never).await.unwrap();
                }
                return self.discard(&parcel, &performed).await;
            }
            Some(Ok(Performed::Again(after))) => now + TimeDelta::from_std(after).unwrap(),
            Some(Ok(Performed::Waits(Wait::For(after)))) => {
                // As on AWS: another message takes its place, with the deliveries before this one.
                parcel.text = encode_waiting(&work_item, parcel.deliveries() - 1);
                parcel.receives = 0;
                now + TimeDelta::from_std(after).unwrap()
            }
            Some(Ok(Performed::Waits(wait))) => panic!("origins have no bound here: {wait:?}"),
            Some(Err(_)) | None => now + self.visibility,
        };
        if parcel.deliveries() < RECEIVES_MAX {
            self.transit.put(again, parcel);
        } else {
            self.dead.push(parcel);
        }
    }

    /// Deletes a message, if it is not deleted yet.
    async fn discard(&self, parcel: &Parcel, performed: &Performed) {
        match (performed, self.ground.queue(), parcel.receipt) {
            (Performed::Done, Some(queue), Some(receipt)) => queue.finish(receipt).await,
            (Performed::Finished, _, Some(_)) | (Performed::Done, None, None) => {}
            _ => panic!("not done: {performed:?}"),
        }
    }

    /// Performs a message.
    pub(super) async fn perform(&self, parcel: &Parcel) -> Performed {
        self.executor.perform(&parcel.work_item(), parcel, &self.never).await.unwrap()
    }

    /// Takes the next message and performs it at this place. A message that is not done comes back.
    pub(super) async fn deliver_at(&self, place: &dyn DeliveryPlace) -> Performed {
        let parcel = self.take();
        let work_item = parcel.work_item();
        let performed = self.executor.perform(&work_item, place, &self.never).await.unwrap();
        if performed != Performed::Done {
            self.put_back(parcel);
        }
        performed
    }

    /// Takes the next message and performs it in a task of its own, until it calls its target, which stands
    /// still.
    pub(super) async fn begin_next(&self) -> tokio::task::JoinHandle<()> {
        let (parcel, n_calls) = (self.take(), self.targets.calls().len());
        let (executor, never) = (self.executor.clone(), self.never.clone());
        let performing = tokio::spawn(async move {
            let performed = executor.perform(&parcel.work_item(), &Unbounded, &never).await;
            assert_eq!(performed.unwrap(), Performed::Done);
        });
        while self.targets.calls().len() == n_calls {
            tokio::task::yield_now().await;
        }
        performing
    }

    /// Takes all messages and performs them concurrently.
    pub(super) async fn deliver_all(&self) {
        let mut performing = JoinSet::new();
        while let Some(parcel) = self.transit.take() {
            let (executor, never) = (self.executor.clone(), self.never.clone());
            performing.spawn(async move {
                let performed = executor.perform(&parcel.work_item(), &parcel, &never).await;
                (performed.unwrap(), parcel)
            });
        }
        for (performed, parcel) in performing.join_all().await {
            self.discard(&parcel, &performed).await;
        }
    }

    /// How many snapshots of jobs were read since the process started.
    pub(super) fn snapshots_read(&self) -> usize {
        self.fronted.snapshots_read()
    }

    /// Messages that are not deleted, of one machine.
    pub(super) async fn stored_messages(&self) -> u64 {
        self.ground.queue().unwrap().len().await
    }

    /// Messages on their way.
    pub(super) fn queued(&self) -> usize {
        self.transit.len()
    }

    /// The queue loses what it has.
    pub(super) fn lose_all(&self) {
        while self.transit.take().is_some() {}
    }

    /// Puts a job whose action calls `http://{name}/`, with these properties beside it.
    pub(super) async fn put(&self, name: &str, properties: Value) {
        self.try_put(name, properties).await.unwrap();
    }

    /// Puts a job for 10:00 on the first day. Its action fails once, and then succeeds.
    pub(super) async fn put_failing_once(&self, name: &str, retry_interval: &str) {
        self.targets.next(&format!("http://{name}/"), &[Fail]);
        let retry = json!({"retryType": "Fixed", "retryInterval": retry_interval});
        let job = json!({"startTime": "2027-03-01T10:00", "action": {"retryPolicy": retry}});
        self.put(name, job).await;
    }

    pub(super) async fn try_put(
        &self,
        name: &str,
        mut properties: Value,
    ) -> Result<JobView, AppError> {
        let main = json!({"method": "GET", "uri": format!("http://{name}/")});
        let action = &mut properties["action"];
        action["type"] = "Http".into();
        action["request"] = main;
        self.fronted.stir();
        let body = json!({"properties": properties});
        let (view, _) = self.manage.put_job((&place(), &named("jc"), &named(name)), body).await?;
        Ok(view)
    }

    pub(super) async fn patch(&self, name: &str, properties: Value) {
        self.fronted.stir();
        let body = json!({"properties": properties});
        self.manage.patch_job((&place(), &named("jc"), &named(name)), body).await.unwrap();
    }

    pub(super) async fn patch_collection(&self, properties: Value) {
        self.fronted.stir();
        let body = json!({"properties": properties});
        self.manage.patch_collection(&place(), &named("jc"), body).await.unwrap();
    }

    pub(super) async fn disable(&self, name: &str) {
        self.patch(name, json!({"state": "Disabled"})).await;
    }

    pub(super) async fn enable(&self, name: &str) {
        self.patch(name, json!({"state": "Enabled"})).await;
    }

    pub(super) async fn delete(&self, name: &str) {
        self.fronted.stir();
        self.manage.delete_job((&place(), &named("jc"), &named(name))).await.unwrap();
    }

    pub(super) async fn call_run(&self, name: &str) {
        self.manage.run_job((&place(), &named("jc"), &named(name))).await.unwrap();
    }

    /// Sets the clock, forward or back.
    pub(super) fn set_clock(&self, to: &str) {
        self.fronted.stir();
        self.clock.set_to(instant(to));
    }

    pub(super) async fn switch(&self, state: CollectionState) {
        self.fronted.stir();
        self.manage.switch_collection(&place(), &named("jc"), state).await.unwrap();
    }

    pub(super) async fn delete_collection(&self) {
        self.fronted.stir();
        self.manage.delete_collection(&place(), &named("jc")).await.unwrap();
    }

    /// Lists collections and jobs.
    pub(super) async fn lists(&self) {
        let page = || PageRequest { from: None, items_max: 100 };
        let place = place();
        let group = Some(&place.group);
        self.manage.list_collections(&place.subscription, group, page()).await.unwrap();
        self.manage.list_jobs(&place, &named("jc"), page()).await.unwrap();
    }

    /// Reads all that tools for people read.
    pub(super) async fn browse(&self) {
        let page = PageRequest { from: None, items_max: 100 };
        let found = self.manage.list_subscriptions(page).await.unwrap();
        assert_eq!(found.items.len(), 1);
        let wanted = WantedOccurrences { from: None, max: 1 };
        self.manage.coming((&place(), &named("jc"), &named("off")), wanted).await.unwrap();
        let page = PageRequest { from: None, items_max: 100 };
        self.manage.explain((&place(), &named("jc"), &named("off")), self.now()).await.unwrap();
        let all = PageRequest { from: None, items_max: 100 };
        self.manage.list_rows(&place(), &named("jc"), "f", all).await.unwrap();
        self.manage.list_journal(&place(), &named("jc"), page).await.unwrap();
        self.manage.overview(place().subscription).await.unwrap();
        let wanted = (None, 10);
        self.manage
            .list_occurrences((&place(), &named("jc"), &named("off")), wanted)
            .await
            .unwrap();
        self.failures(self.now()).await;
    }

    /// The targets that hang, as the overview says.
    pub(super) async fn hanging(&self) -> Vec<String> {
        self.manage
            .overview(place().subscription)
            .await
            .unwrap()
            .hanging
            .unwrap()
            .into_iter()
            .collect()
    }

    /// What failed for good since then.
    pub(super) async fn failures(&self, since: DateTime<Utc>) -> Vec<FailedOccurrence> {
        let wanted = WantedFailures {
            subscription: place().subscription,
            collection: None,
            job: None,
            since,
            max: 100,
            from: None,
        };
        self.manage.list_failures(&wanted).await.unwrap().items
    }

    pub(super) async fn view(&self, name: &str) -> JobView {
        self.manage.get_job((&place(), &named("jc"), &named(name))).await.unwrap()
    }

    pub(super) async fn is_there(&self, name: &str) -> bool {
        let found = self.manage.get_job((&place(), &named("jc"), &named(name))).await;
        match found {
            Ok(_) => true,
            Err(AppError::NoJob { .. }) => false,
            Err(error) => panic!("{error}"),
        }
    }

    pub(super) async fn status(&self, name: &str) -> Status {
        let (view, counters) = (self.view(name).await, self.counters(name).await);
        Status {
            state: view.state.name().to_owned(),
            executions: counters.executions,
            failures: counters.failures,
            faulted: counters.faulted,
            skipped: counters.skipped,
        }
    }

    pub(super) async fn counters(&self, name: &str) -> JobCounters {
        let status = self.view(name).await.status;
        status.unwrap_or_else(|| panic!("{name} has no status")).counters
    }

    /// A job as it is stored.
    pub(super) async fn record(&self, name: &str) -> JobRecord {
        let job = self.job(name).await;
        Jobs::find(self.store.as_ref(), &job.collection_uid, &named(name)).await.unwrap().unwrap()
    }

    /// How messages and the store name a job.
    pub(super) async fn job(&self, name: &str) -> JobRef {
        let found =
            Collections::find(self.store.as_ref(), &place(), &named("jc")).await.unwrap().unwrap();
        let collection_uid = found.collection.uid;
        let job =
            Jobs::find(self.store.as_ref(), &collection_uid, &named(name)).await.unwrap().unwrap();
        JobRef { uid: job.uid, collection_uid, key: job.name.key() }
    }

    pub(super) async fn executions(&self, name: &str) -> Vec<ExecutionView> {
        let mut all = Vec::new();
        let mut from = None;
        loop {
            let page = PageRequest { from, items_max: 500 };
            let (place, job) = (place(), named(name));
            let page = self.manage.list_history((&place, &named("jc"), &job), page).await.unwrap();
            all.extend(page.items);
            match page.next {
                Some(next) => from = Some(next),
                None => return all,
            }
        }
    }

    /// What was left out, the newest first: the first and the last occurrence, and how many.
    pub(super) async fn left_out(&self, name: &str) -> Vec<String> {
        let page = PageRequest { from: None, items_max: 100 };
        let (place, job) = (place(), named(name));
        let page = self.manage.list_left_out((&place, &named("jc"), &job), page).await.unwrap();
        let line = |view: &LeftOutView| {
            let LeftOut { first, last, occurrences, .. } = &view.left_out;
            format!("{} to {}: {occurrences}", short(*first), short(*last))
        };
        page.items.iter().map(line).collect()
    }

    /// What became of an occurrence of a job.
    pub(super) async fn explain(&self, name: &str, at: &str) -> Why {
        self.manage.explain((&place(), &named("jc"), &named(name)), instant(at)).await.unwrap().why
    }

    /// The history, the oldest line first: when it was expected, whether it is a run or the error
    /// action, its number, its retry, and whether it failed.
    pub(super) async fn history(&self, name: &str) -> Vec<String> {
        self.executions(name).await.iter().rev().map(line).collect()
    }

    /// When a uri was called.
    pub(super) fn calls(&self, uri: &str) -> Vec<String> {
        let calls = self.targets.calls().into_iter().filter(|call| call.uri == uri);
        calls.map(|call| short(call.at)).collect()
    }
}

fn line(view: &ExecutionView) -> String {
    let attempt = &view.attempt;
    let what = match (&attempt.occurrence, attempt.role) {
        (Occurrence::Scheduled { .. }, Role::Main) => "",
        (Occurrence::Run { .. }, Role::Main) => " run",
        (_, Role::Error) => " error action",
        (_, Role::Notice) => " notice",
    };
    let outcome = match view.record.outcome {
        Outcome::Succeeded => "",
        Outcome::Failed => " failed",
    };
    let number = view.record.repeat_count;
    format!("{}{what} #{number}.{}{outcome}", short(view.expected_at()), attempt.number)
}

struct Services {
    manage: Manage,
    manage_only: Box<Manage>,
    told: Arc<Notify>,
    sweeper: Sweeper,
    executor: Executor,
}

/// The services over these ports, of a process that is alone on its machine if it has one. `store` is what
/// the API writes to.
fn services(
    ports: FirePorts,
    ground: &Ground,
    store: &Arc<dyn WholeStore>,
    history: HistoryDays,
) -> Services {
    let machine = ground.queue();
    let is_alone = machine.is_some();
    let ports = match &machine {
        Some(queue) => FirePorts { queue: queue.clone(), settle: queue.clone(), ..ports },
        None => ports,
    };
    let ports = FirePorts { brakes: ground.brakes(), ..ports };
    let FirePorts { store: fronted, queue, events, clock, .. } = ports.clone();
    let timers = fronted.timers;
    let snapshots = fronted.snapshots;
    let dispatcher =
        Dispatcher::new(timers.clone(), snapshots.clone(), queue.clone(), events, clock.clone());
    let dispatcher = match machine {
        Some(step) => dispatcher.with_step(step),
        None => dispatcher.with_history(fronted.history.clone()),
    };
    let healer = Healer {
        history: fronted.history,
        snapshots,
        pulses: fronted.pulses.clone(),
        queue: queue.clone(),
        clock: clock.clone(),
        kept: history,
    };
    let heartbeat = Heartbeat::new(fronted.pulses, clock.clone(), PulseOf::Sweepers);
    let heartbeat = if is_alone { heartbeat.alone() } else { heartbeat };
    let manage = ManagePorts {
        collections: store.clone(),
        cloud_services: store.clone(),
        jobs: store.clone(),
        alerts: store.clone(),
        open: store.clone(),
        history: store.clone(),
        browse: store.clone(),
        queue,
        dead_letters: Arc::new(()),
        hanging: ground.hanging(),
        dispatcher: dispatcher.clone(),
        sealer: ports.sealer.clone(),
        certificates: Arc::new(NoCertificates),
        clock: clock.clone(),
        ids: ports.ids.clone(),
        disk: Arc::new(()),
        bodies: None,
        sender: Some(ports.sender.clone()),
        completions: ports.completions.clone(),
    };
    let settings = FireSettings { is_alone, history, ..FireSettings::default() };
    let sweeper = Sweeper::new(timers, dispatcher, Arc::new(heartbeat), clock);
    let sweeper = if is_alone { sweeper } else { sweeper.with_healer(healer) };
    let told = Arc::new(Notify::new());
    let waiting = Arc::new(Told(ports.clock.clone(), told.clone()));
    let manage_only = ManagePorts { sender: None, clock: waiting, ..manage.clone() };
    let manage_settings = || ManageSettings { history, ..manage_settings() };
    let managing = Manage::new(manage, manage_settings());
    let managing = managing.with_pings_and_bodies(ground.pings(), None);
    Services {
        manage: managing,
        manage_only: Box::new(Manage::new(manage_only, manage_settings())),
        told,
        sweeper,
        executor: Executor::new(ports, settings),
    }
}

/// Where targets report.
fn completions() -> Arc<CompletionUrls> {
    let key = Arc::new(GivenKey(vec![7; 32].into()));
    Arc::new(CompletionUrls::new("https://jobs.example.org", key))
}

pub(super) fn place() -> ResourceGroup {
    let segment = |text| PathSegment::new(text).unwrap();
    ResourceGroup { subscription: segment("s"), group: segment("g") }
}

pub(super) fn named(name: &str) -> Name {
    Name::new(name).unwrap()
}

pub(super) fn instant(text: &str) -> DateTime<Utc> {
    WrittenDate::parse(text).unwrap().instant(None).unwrap()
}

/// Day and time, with seconds where there are some.
pub(super) fn short(at: DateTime<Utc>) -> String {
    let format = if at.timestamp() % 60 == 0 { "%d %H:%M" } else { "%d %H:%M:%S" };
    at.format(format).to_string()
}

fn manage_settings() -> ManageSettings {
    ManageSettings {
        region: "local".to_owned(),
        plan_limits: PlanLimits::On,
        has_aws: false,
        own: OwnResources::default(),
        history: HistoryDays::default(),
    }
}
