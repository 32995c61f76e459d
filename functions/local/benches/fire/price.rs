//! Write and read units of a firing, as on AWS: groups are single writes, messages come in batches
//! of ten. It is counted, and so the same whenever it runs.
//!
//! A clock that is set by hand lets the sweeper's ticks and the due instants go by.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_app::fire::{
    Dispatcher, Executor, FirePorts, FireSettings, FireStore, Heartbeat, Performed, Performer as _,
    SendThenCount, Stop, Sweeper, Unbounded,
};
use minutehand_app::{Manage, ManagePorts, ManageSettings};
use minutehand_domain::action::Target;
use minutehand_domain::attempt::Outcome;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::own::OwnResources;
use minutehand_domain::plan::PlanLimits;
use minutehand_ports::store::{PulseOf, ResourceGroup};
use minutehand_ports::{
    ActionOutcome, ActionSender, AttemptContext, Clock, DispatchQueue, NotMade, QueueError,
    QueueMessage,
};
use minutehand_runtime::{PfxReader, RandomIds};
use minutehand_sealer_aes::AesSealer;
use minutehand_store_dynamodb::{
    Consumed, DynamoStore, Meter, MeteredCall, ensure_table, gathering,
};
use minutehand_testkit::dynamodb::LocalDynamo;
use serde_json::{Value, json};

use crate::figures::Figures;

const TABLE: &str = "minutehand";
/// Jobs of a collection that are due together: a batch of messages.
const JOBS: usize = 10;
/// A tick of the rule that starts a sweep.
const TICK: TimeDelta = TimeDelta::minutes(1);
/// How long a recurring job runs: a whole number of advances, as good as.
const RUNS: TimeDelta = TimeDelta::hours(24);
/// How long a one-time job is kept when it is over, and a little more.
const KEPT: TimeDelta = TimeDelta::days(61);

pub(crate) async fn measure(figures: &mut Figures) {
    for (name, recurrence, runs, bar, aim) in [
        ("minutely", json!({"frequency": "minute"}), RUNS, "3.3; 2", "2.3; 1.3"),
        ("hourly", json!({"frequency": "hour"}), RUNS, "", ""),
        ("one-time", Value::Null, TimeDelta::minutes(30), "", ""),
    ] {
        let world = World::new().await;
        let firings = world.run(recurrence, runs).await;
        let spent = world.meter.take();
        let writes = per(firings, &spent, MeteredCall::is_write);
        let reads = per(firings, &spent, |call| !call.is_write() && call != MeteredCall::Due);
        let calls: Vec<String> = spent
            .iter()
            .filter(|(call, _)| **call != MeteredCall::Due)
            .map(|(call, consumed)| format!("{call:?} {:.2}", units(consumed) / firings))
            .collect();
        let figure = format!("{writes:.2}; {reads:.2}");
        figures.add(&format!("units of a firing, written; read: {name}"), figure, bar, aim);
        eprintln!("  {}", calls.join(", "));
    }
}

fn per(
    firings: f64,
    spent: &BTreeMap<MeteredCall, Consumed>,
    of: impl Fn(MeteredCall) -> bool,
) -> f64 {
    let spent = spent.iter().filter(|(call, _)| of(**call));
    spent.map(|(_, consumed)| units(consumed)).sum::<f64>() / firings
}

const fn units(consumed: &Consumed) -> f64 {
    consumed.units
}

struct World {
    clock: Arc<Hand>,
    letters: Arc<Letters>,
    manage: Manage,
    sweeper: Sweeper,
    executor: Executor,
    meter: Arc<Meter>,
}

impl World {
    async fn new() -> Self {
        let store = LocalDynamo::in_memory();
        ensure_table(&store.client(), TABLE).await.expect("a table");
        let start = DateTime::from_timestamp(1_800_000_000, 0).expect("a date");
        let clock = Arc::new(Hand(Mutex::new(start)));
        let letters = Arc::new(Letters::default());
        let meter = Arc::new(Meter::default());
        let jobs = DynamoStore::new(store.client(), TABLE).with_meter(meter.clone());
        let jobs = Arc::new(jobs);
        let key = AesSealer::new_key().expect("a key");
        let sealer = Arc::new(AesSealer::new(&key));
        let events = Arc::new(());
        let dispatcher =
            Dispatcher::new(jobs.clone(), jobs.clone(), letters.clone(), events, clock.clone());
        let manage = Manage::new(
            ManagePorts {
                collections: jobs.clone(),
                cloud_services: jobs.clone(),
                jobs: jobs.clone(),
                alerts: jobs.clone(),
                open: jobs.clone(),
                history: jobs.clone(),
                browse: jobs.clone(),
                queue: letters.clone(),
                dead_letters: Arc::new(()),
                hanging: Arc::new(()),
                dispatcher: dispatcher.clone(),
                sealer: sealer.clone(),
                certificates: Arc::new(PfxReader),
                clock: clock.clone(),
                ids: Arc::new(RandomIds),
                disk: Arc::new(()),
                bodies: None,
                sender: None,
                completions: None,
            },
            ManageSettings {
                region: "local".to_owned(),
                plan_limits: PlanLimits::Off,
                has_aws: false,
                own: OwnResources::default(),
                history: HistoryDays::default(),
            },
        );
        let (snapshots, counters) = gathering(&jobs);
        let ports = FirePorts {
            settle: Arc::new(SendThenCount { queue: letters.clone(), counters: counters.clone() }),
            store: FireStore { snapshots, counters, ..FireStore::new(jobs.clone()) },
            queue: letters.clone(),
            sender: Arc::new(Answering),
            sealer,
            events: Arc::new(()),
            clock: clock.clone(),
            ids: Arc::new(RandomIds),
            bodies: None,
            completions: None,
            brakes: Some(jobs.clone()),
        };
        let heartbeat = Heartbeat::new(jobs.clone(), clock.clone(), PulseOf::Sweepers);
        Self {
            executor: Executor::new(ports, FireSettings::default()),
            sweeper: Sweeper::new(jobs, dispatcher, Arc::new(heartbeat), clock.clone()),
            clock,
            letters,
            manage,
            meter,
        }
    }

    /// Creates the jobs, lets them run, and returns how often they fired.
    async fn run(&self, recurrence: Value, runs: TimeDelta) -> f64 {
        let segment = |text| PathSegment::new(text).expect("a segment");
        let place = ResourceGroup { subscription: segment("s"), group: segment("g") };
        let collection = Name::new("jc").expect("a name");
        let put = self.manage.put_collection(&place, &collection, json!({}));
        put.await.expect("a collection");
        let is_once = recurrence.is_null();
        for n in 0..JOBS {
            let name = Name::new(&format!("j{n}")).expect("a name");
            let start =
                minutehand_recurrence::format_instant(self.clock.now() + TimeDelta::minutes(20));
            let request = json!({"uri": "http://example.org/", "method": "GET"});
            let mut body = json!({"properties": {
                "startTime": start,
                "action": {"type": "Http", "request": request},
            }});
            if !is_once && let Some(properties) = body.get_mut("properties") {
                properties["recurrence"] = recurrence.clone();
            }
            self.manage.put_job((&place, &collection, &name), body).await.expect("a job");
        }
        // What the API does for a change is the price of the change.
        let _ = self.meter.take();
        let mut firings = self.until(self.clock.now() + runs).await;
        if is_once {
            // Nothing happens until what is over is deleted.
            self.clock.set(self.clock.now() + KEPT);
            firings += self.until(self.clock.now() + TimeDelta::minutes(2)).await;
        }
        f64::from(firings)
    }

    /// Sweeps once a minute and executes what falls due, until then.
    async fn until(&self, end: DateTime<Utc>) -> u32 {
        let mut firings = 0;
        while self.clock.now() < end {
            let tick = self.clock.now();
            let pass = self.sweeper.pass(0, pending()).await;
            assert_eq!(pass.failed, 0, "a pass failed");
            loop {
                let batch = self.letters.due_before(tick + TICK);
                let Some(first) = batch.first() else { break };
                self.clock.set(first.due_at);
                let never = Stop::never();
                let performed =
                    batch.iter().map(|it| self.executor.perform(&it.work_item, &Unbounded, &never));
                for performed in futures_util::future::join_all(performed).await {
                    assert_eq!(performed.expect("a work item"), Performed::Done);
                }
                let is_firing = |it: &&QueueMessage| {
                    matches!(it.work_item, minutehand_domain::work_item::WorkItem::Attempt { .. })
                };
                firings += u32::try_from(batch.iter().filter(is_firing).count()).expect("a batch");
            }
            self.clock.set(tick + TICK);
        }
        firings
    }
}

/// A clock that is set by hand.
struct Hand(Mutex<DateTime<Utc>>);

impl Hand {
    /// Never back.
    fn set(&self, at: DateTime<Utc>) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now = (*now).max(at);
    }
}

#[async_trait]
impl Clock for Hand {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        self.set(at);
    }

    async fn wait(&self, _work: Duration) {}
}

/// The messages that were sent.
#[derive(Default)]
struct Letters(Mutex<Vec<QueueMessage>>);

impl Letters {
    /// A batch of those that are due first.
    fn due_before(&self, end: DateTime<Utc>) -> Vec<QueueMessage> {
        let mut letters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        letters.sort_by_key(|letter| letter.due_at);
        let Some(due_at) = letters.first().map(|first| first.due_at).filter(|at| *at < end) else {
            return Vec::new();
        };
        let together = letters.iter().take(JOBS).take_while(|letter| letter.due_at == due_at);
        let n = together.count();
        letters.drain(..n).collect()
    }
}

#[async_trait]
impl DispatchQueue for Letters {
    async fn send(&self, messages: &[QueueMessage], _now: DateTime<Utc>) -> Result<(), QueueError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(messages);
        Ok(())
    }
}

/// A target that succeeds with an answer of two kilobytes, as services give them.
struct Answering;

#[async_trait]
impl ActionSender for Answering {
    async fn send(
        &self,
        _target: &Target,
        _context: &AttemptContext,
    ) -> Result<ActionOutcome, NotMade> {
        let headers: String =
            (0..14).map(|n| format!("X-Header-{n}: {}\r\n", u64::MAX / (7 * n + 3))).collect();
        let body: String =
            (0..28).map(|n| format!(r#"{{"id":{n},"state":"accepted"}},"#)).collect();
        let message = format!(
            "Http Action - Response from host 'example.org': 'OK' Response Headers: {headers}\r\n \
             Body: {body}"
        );
        Ok(ActionOutcome {
            outcome: Outcome::Succeeded,
            is_accepted: false,
            cause: None,
            message,
            retry_after: None,
            body: None,
        })
    }
}
