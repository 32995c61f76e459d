//! A server in this process, whose clock stands still between two looks: everything that it answers is
//! the same in every run.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use minutehand_app::fire::{
    Dispatcher, Executor, FirePorts, FireSettings, Heartbeat, Performed, Performer as _, Stop,
    Sweeper, Unbounded,
};
use minutehand_app::{Manage, ManagePorts, ManageSettings};
use minutehand_domain::action::Target;
use minutehand_domain::attempt::Outcome;
use minutehand_domain::cause::Cause;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::own::OwnResources;
use minutehand_domain::plan::PlanLimits;
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::store::PulseOf;
use minutehand_ports::{
    ActionOutcome, ActionSender, AttemptContext, Clock, Deliveries as _, DispatchQueue, NotMade,
    QueueError, QueueMessage,
};
use minutehand_recurrence::WrittenDate;
use minutehand_rest::{Access, BuildInfo, Home, Rest, Scheme, router};
use minutehand_store_sql::sqlite::Database;
use minutehand_store_sql::{SqlQueue, SqlStore};
use minutehand_testkit::SetClock;
use minutehand_testkit::services::{CountedIds, fire_ports, manage_ports};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// How long every action takes.
const TOOK: TimeDelta = TimeDelta::milliseconds(250);
/// How far one message may lead to the next within one minute.
const ROUNDS_MAX: usize = 100;

/// The server.
pub(crate) struct Standing {
    runtime: Runtime,
    clock: SetClock,
    sweeper: Sweeper,
    executor: Executor,
    queue: Arc<Sent>,
    letters: SqlQueue,
    pub(crate) address: SocketAddr,
}

/// The messages that were sent and are not done.
#[derive(Default)]
struct Sent(Mutex<Vec<QueueMessage>>);

/// A target that fails for jobs whose names say so.
struct Named(SetClock);

/// What clients are told of the clock: it stands.
struct Still(SetClock);

impl Standing {
    pub(crate) fn at(now: &str) -> Self {
        let clock = SetClock::at(instant(now));
        let runtime = Runtime::new().unwrap();
        let entered = runtime.enter();
        let (database, _threads) = Database::in_memory().unwrap();
        let store = Arc::new(SqlStore::new(database.clone()));
        let queue = Arc::new(Sent::default());
        let letters = SqlQueue::open(database, Arc::new(clock.clone()));
        let letters = runtime.block_on(letters).unwrap();
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let dispatcher = Dispatcher::new(
            store.clone(),
            store.clone(),
            queue.clone(),
            Arc::new(()),
            shared.clone(),
        );
        let sweepers = Heartbeat::new(store.clone(), shared.clone(), PulseOf::Sweepers);
        let sweeper = Sweeper::new(store.clone(), dispatcher, Arc::new(sweepers), shared.clone());
        let sender = Arc::new(Named(clock.clone()));
        let ports = fire_ports(store.clone(), queue.clone(), sender, shared.clone());
        let ports = FirePorts { ids: Arc::new(CountedIds::from(1_000)), ..ports };
        let executor = Executor::new(ports, FireSettings::default());
        let ports = ManagePorts {
            browse: store.clone(),
            dead_letters: Arc::new(letters.clone()),
            hanging: Arc::new(()),
            ..manage_ports(store, queue.clone(), shared)
        };
        let settings = ManageSettings {
            region: "local".to_owned(),
            plan_limits: PlanLimits::Off,
            has_aws: false,
            own: OwnResources::default(),
            history: HistoryDays::default(),
        };
        let address = serve(&runtime, Manage::new(ports, settings), Still(clock.clone()));
        drop(entered);
        Self { runtime, clock, sweeper, executor, queue, letters, address }
    }

    /// Lets the schedule run, minute by minute.
    pub(crate) fn until(&self, end: &str) {
        let end = instant(end);
        while self.clock.now() < end {
            let minute = 60_000 - self.clock.now().timestamp_millis() % 60_000;
            let next = (self.clock.now() + TimeDelta::milliseconds(minute)).min(end);
            self.clock.advance(next - self.clock.now());
            self.runtime.block_on(self.minute());
        }
    }

    async fn minute(&self) {
        self.executor.heartbeat().beat().await.unwrap();
        let pass = self.sweeper.pass(0, pending()).await;
        assert_eq!(pass.failed, 0);
        for _ in 0..ROUNDS_MAX {
            let Some(message) = self.queue.due(self.clock.now()) else { return };
            // Without a deadline: waiting for one would advance this clock.
            let performed =
                self.executor.perform(&message.work_item, &Unbounded, &Stop::never()).await;
            match performed.unwrap() {
                Performed::Done | Performed::Finished => {}
                Performed::Again(after) => {
                    let due_at = self.clock.now() + TimeDelta::from_std(after).unwrap();
                    self.queue.0.lock().unwrap().push(QueueMessage { due_at, ..message });
                }
                other @ Performed::Waits(_) => panic!("{other:?}"),
            }
        }
        panic!("messages lead to messages without an end");
    }

    /// Buries a message that asks for this.
    pub(crate) fn bury(&self, work_item: WorkItem) {
        let due_at = self.clock.now();
        let message = QueueMessage { work_item, due_at };
        self.runtime.block_on(async {
            self.letters.send(&[message], due_at).await.unwrap();
            for taken in self.letters.receive(1).await.unwrap() {
                self.letters.bury(&[taken.receipt], "ActionStuck").await.unwrap();
            }
        });
    }
}

fn serve(runtime: &Runtime, manage: Manage, clock: Still) -> SocketAddr {
    let text = || "test".to_owned();
    let router = router(Rest {
        manage,
        clock: Arc::new(clock),
        ids: Arc::new(CountedIds::default()),
        access: Arc::new(RwLock::new(Access::Open)),
        certificates: Arc::default(),
        scheme: Scheme::Http,
        build: BuildInfo {
            version: text(),
            commit: text(),
            store: text(),
            time_zones: text(),
            time_zones_date: None,
        },
        readiness: Arc::new(()),
        metrics: None,
        live: None,
        home: Home::Machine,
    });
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = TowerToHyperService::new(router.clone());
            tokio::spawn(async move {
                // A client that goes away is not a failure.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    address
}

impl Sent {
    /// The first message that is due; it is taken.
    fn due(&self, now: DateTime<Utc>) -> Option<QueueMessage> {
        let mut sent = self.0.lock().unwrap();
        let due = |(n, it): (usize, &QueueMessage)| (it.due_at <= now).then_some((it.due_at, n));
        let (_, first) = sent.iter().enumerate().filter_map(due).min()?;
        Some(sent.remove(first))
    }
}

pub(crate) fn instant(text: &str) -> DateTime<Utc> {
    WrittenDate::parse(text).unwrap().instant(None).unwrap()
}

#[async_trait]
impl DispatchQueue for Sent {
    async fn send(&self, messages: &[QueueMessage], _now: DateTime<Utc>) -> Result<(), QueueError> {
        self.0.lock().unwrap().extend_from_slice(messages);
        Ok(())
    }
}

#[async_trait]
impl ActionSender for Named {
    async fn send(
        &self,
        _target: &Target,
        context: &AttemptContext,
    ) -> Result<ActionOutcome, NotMade> {
        self.0.advance(TOOK);
        let (outcome, message) = if context.job.contains("broken") {
            (
                Outcome::Failed,
                "Http Action - Response from host 'example.com': 'Service Unavailable' Response body: {\"error\":\"maintenance until 15:00\"}",
            )
        } else {
            (
                Outcome::Succeeded,
                "Http Action - Response from host 'example.com': 'OK' Response body: done",
            )
        };
        Ok(ActionOutcome {
            outcome,
            is_accepted: false,
            cause: (outcome == Outcome::Failed).then(|| Cause::http(500)),
            message: message.to_owned(),
            retry_after: None,
            body: None,
        })
    }
}

#[async_trait]
impl Clock for Still {
    fn now(&self) -> DateTime<Utc> {
        self.0.now()
    }

    fn scheduled_during(&self, _work: TimeDelta) -> TimeDelta {
        TimeDelta::zero()
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        self.0.wait_until(at).await;
    }

    async fn wait(&self, work: Duration) {
        self.0.wait(work).await;
    }
}
