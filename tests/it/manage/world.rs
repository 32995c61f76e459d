//! The services over the store of one machine, with a clock that stands still.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_app::fire::Dispatcher;
use minutehand_app::{AppError, JobView, Manage, ManagePorts, ManageSettings};
use minutehand_domain::action::{CertificateFacts, ClientCertificate};
use minutehand_domain::document::Durations;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::own::OwnResources;
use minutehand_domain::plan::PlanLimits;
use minutehand_domain::refusal::Refusal;
use minutehand_ports::store::{JobRecord, ResourceGroup};
use minutehand_ports::{CertificateReader, Clock, Collections, Deliveries, Jobs};
use minutehand_recurrence::WrittenDate;
use minutehand_sealer_aes::AesSealer;
use minutehand_store_sql::queue::RECEIVE_MAX;
use minutehand_store_sql::{AnyDatabase, SqlQueue, SqlStore};
use minutehand_testkit::TimeLimit;
use minutehand_testkit::services::manage_ports;
use serde_json::Value;

use crate::postgres::shared_database;

pub(super) struct World {
    pub(super) manage: Manage,
    pub(super) store: Arc<SqlStore>,
    pub(super) queue: Arc<SqlQueue>,
    pub(super) clock: Arc<Standing>,
    pub(super) sealer: Arc<AesSealer>,
    _limit: TimeLimit,
}

pub(super) struct Standing(Mutex<DateTime<Utc>>);

/// Opens files with the real thing.
struct Opener;

impl World {
    pub(super) async fn at(now: &str) -> Self {
        Self::over(shared_database().await, now).await
    }

    pub(super) async fn over(database: impl Into<AnyDatabase>, now: &str) -> Self {
        let (clock, database) = (standing(now), database.into());
        let queue = Arc::new(SqlQueue::open(database.clone(), clock.clone()).await.unwrap());
        let store = Arc::new(SqlStore::new(database).alone());
        let sealer = Arc::new(AesSealer::new(&AesSealer::new_key().unwrap()));
        let manage = manage(store.clone(), queue.clone(), clock.clone(), sealer.clone());
        Self { manage, store, queue, clock, sealer, _limit: TimeLimit::start() }
    }

    /// The same store with another key.
    pub(super) fn with_other_key(&self) -> Manage {
        let sealer = Arc::new(AesSealer::new(&AesSealer::new_key().unwrap()));
        manage(self.store.clone(), self.queue.clone(), self.clock.clone(), sealer)
    }

    /// The instants of what was sent since the last look.
    pub(super) async fn taken(&self) -> Vec<String> {
        let later = SqlQueue::open(self.store.database().clone(), standing("9000-01-01"));
        let later = later.await.unwrap();
        let mut taken = Vec::new();
        while later.standing().await.unwrap().visible > 0 {
            for message in later.receive(RECEIVE_MAX).await.unwrap() {
                later.finish(&[message.receipt]).await.unwrap();
                taken.push(minutehand_recurrence::format_instant(message.due_at));
            }
        }
        taken
    }

    pub(super) fn now_is(&self, now: &str) {
        *self.clock.0.lock().unwrap() = instant(now);
    }

    pub(super) async fn collection(&self, name: &str, body: &str) -> Result<Value, AppError> {
        let view = self.manage.put_collection(&place(), &named(name), json(body)).await?;
        Ok(view.document)
    }

    /// Puts a job with these properties beside its action, into the collection `jc`.
    pub(super) async fn job(&self, name: &str, properties: &str) -> Result<Value, AppError> {
        let body = with_action(properties);
        let (view, _) = self.manage.put_job((&place(), &named("jc"), &named(name)), body).await?;
        Ok(self::properties(&view))
    }

    pub(super) async fn patch(&self, name: &str, body: &str) -> Result<Value, AppError> {
        let patch =
            self.manage.patch_job((&place(), &named("jc"), &named(name)), json(body)).await?;
        Ok(self::properties(&patch))
    }

    /// A job as it is kept, and its secrets.
    pub(super) async fn kept(&self, name: &str) -> (JobRecord, Value) {
        let store = self.store.as_ref();
        let found = Collections::find(store, &place(), &named("jc")).await.unwrap().unwrap();
        let job = Jobs::find(store, &found.collection.uid, &named(name)).await.unwrap().unwrap();
        let secrets = self.sealer.open(&job.uid, job.sealed.as_deref().unwrap()).unwrap();
        (job, json(&secrets))
    }

    pub(super) async fn next(&self, name: &str) -> Option<String> {
        let view = self.manage.get_job((&place(), &named("jc"), &named(name))).await.unwrap();
        view.status
            .and_then(|status| status.next_execution_at)
            .map(minutehand_recurrence::format_instant)
    }
}

fn manage(
    store: Arc<SqlStore>,
    queue: Arc<SqlQueue>,
    clock: Arc<Standing>,
    sealer: Arc<AesSealer>,
) -> Manage {
    let events = Arc::new(());
    let dispatcher =
        Dispatcher::new(store.clone(), store.clone(), queue.clone(), events, clock.clone());
    let ports = ManagePorts {
        sealer,
        certificates: Arc::new(Opener),
        browse: store.clone(),
        dead_letters: queue.clone(),
        hanging: Arc::new(()),
        dispatcher: dispatcher.with_step(store.clone()),
        ..manage_ports(store, queue, clock)
    };
    Manage::new(ports, settings())
}

pub(super) fn settings() -> ManageSettings {
    ManageSettings {
        region: "local".to_owned(),
        plan_limits: PlanLimits::On,
        has_aws: false,
        own: OwnResources::default(),
        history: HistoryDays::default(),
    }
}

pub(super) fn standing(now: &str) -> Arc<Standing> {
    Arc::new(Standing(Mutex::new(instant(now))))
}

pub(super) fn with_action(properties: &str) -> Value {
    let mut properties = json(properties);
    if properties.get("action").is_none() {
        properties["action"] = json(HTTP);
    }
    serde_json::json!({"properties": properties})
}

pub(super) const HTTP: &str = r#"{"type":"Http","request":{"uri":"http://example.org","method":"GET","authentication":{"type":"Basic","username":"u","password":"hunter2"}}}"#;

/// The properties of a job as most clients read them.
pub(super) fn properties(view: &JobView) -> Value {
    view.properties(Durations::TimeSpan).into()
}

pub(super) fn place() -> ResourceGroup {
    let segment = |text| PathSegment::new(text).unwrap();
    ResourceGroup { subscription: segment("Sub"), group: segment("Group") }
}

pub(super) fn named(name: &str) -> Name {
    Name::new(name).unwrap()
}

pub(super) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

pub(super) fn instant(text: &str) -> DateTime<Utc> {
    WrittenDate::parse(text).unwrap().instant(None).unwrap()
}

/// The code of a refusal.
#[track_caller]
pub(super) fn refused<T: std::fmt::Debug>(result: Result<T, AppError>) -> &'static str {
    match result {
        Err(AppError::Refused(refusal)) => refusal.code.name(),
        other => panic!("not refused: {other:?}"),
    }
}

#[async_trait]
impl Clock for Standing {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }

    async fn wait_until(&self, _at: DateTime<Utc>) {}

    async fn wait(&self, _work: Duration) {}
}

impl CertificateReader for Opener {
    fn read(&self, client: &ClientCertificate) -> Result<CertificateFacts, Refusal> {
        let opened = minutehand_pfx::open_base64(client.pfx.expose(), client.password.expose());
        let opened = opened.map_err(|error| Refusal::invalid(error.to_string()))?;
        Ok(CertificateFacts {
            thumbprint: opened.thumbprint,
            expires_at: opened.expires_at,
            subject_name: opened.subject,
        })
    }
}
