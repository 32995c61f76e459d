//! The services over an embedded store of their own, with a clock that stands still.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_app::{AppError, JobView, Manage, ManagePorts, ManageSettings};
use minutehand_domain::action::{CertificateFacts, ClientCertificate};
use minutehand_domain::document::Durations;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::own::OwnResources;
use minutehand_domain::plan::PlanLimits;
use minutehand_domain::refusal::Refusal;
use minutehand_embedded::{Queue, Store};
use minutehand_ports::store::{JobRecord, ResourceGroup};
use minutehand_ports::{
    CertificateReader, Clock, Collections, DispatchQueue, Jobs, QueueError, QueueMessage,
};
use minutehand_recurrence::WrittenDate;
use minutehand_sealer_aes::AesSealer;
use minutehand_store_dynamodb::{DynamoStore, Groups, Meter, ensure_table};
use minutehand_testkit::TimeLimit;
use minutehand_testkit::services::manage_ports;
use serde_json::Value;

pub(super) struct World {
    pub(super) manage: Manage,
    pub(super) store: Store,
    pub(super) firing: Arc<DynamoStore>,
    pub(super) queue: Arc<Recorded>,
    pub(super) clock: Arc<Standing>,
    pub(super) sealer: Arc<AesSealer>,
    pub(super) meter: Arc<Meter>,
    /// A queue with dead letters.
    pub(super) letters: Queue,
    _limit: TimeLimit,
}

/// A queue that shows what it was given.
#[derive(Default)]
pub(super) struct Recorded(Mutex<Vec<QueueMessage>>);

pub(super) struct Standing(Mutex<DateTime<Utc>>);

/// Opens files with the real thing.
struct Opener;

impl World {
    pub(super) async fn at(now: &str) -> Self {
        let store = Store::in_memory().unwrap();
        ensure_table(&store.client(), "minutehand").await.unwrap();
        let queue = Arc::new(Recorded::default());
        let clock = standing(now);
        let meter = Arc::new(Meter::default());
        let firing = Arc::new(dynamo(&store).with_meter(meter.clone()));
        let sealer = Arc::new(AesSealer::new(&AesSealer::new_key().unwrap()));
        let letters = Queue::in_memory(clock.clone()).unwrap();
        let dead = Arc::new(letters.clone());
        let manage = manage(firing.clone(), queue.clone(), dead, clock.clone(), sealer.clone());
        let limit = TimeLimit::start();
        Self { manage, store, firing, queue, clock, sealer, meter, letters, _limit: limit }
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
        let (view, _) = self.manage.put_job(&place(), &named("jc"), &named(name), body).await?;
        Ok(self::properties(&view))
    }

    pub(super) async fn patch(&self, name: &str, body: &str) -> Result<Value, AppError> {
        let patch = self.manage.patch_job(&place(), &named("jc"), &named(name), json(body)).await?;
        Ok(self::properties(&patch))
    }

    /// A job as it is kept, and its secrets.
    pub(super) async fn kept(&self, name: &str) -> (JobRecord, Value) {
        let store = DynamoStore::new(self.store.client(), "minutehand");
        let found = Collections::find(&store, &place(), &named("jc")).await.unwrap().unwrap();
        let job = Jobs::find(&store, &found.collection.uid, &named(name)).await.unwrap().unwrap();
        let secrets = self.sealer.open(&job.uid, job.sealed.as_deref().unwrap()).unwrap();
        (job, json(&secrets))
    }

    pub(super) async fn next(&self, name: &str) -> Option<String> {
        let view = self.manage.get_job(&place(), &named("jc"), &named(name)).await.unwrap();
        view.status
            .and_then(|status| status.next_execution_at)
            .map(minutehand_recurrence::format_instant)
    }
}

impl Recorded {
    /// The instants of what was sent since the last look.
    pub(super) fn taken(&self) -> Vec<String> {
        let sent = std::mem::take(&mut *self.0.lock().unwrap());
        sent.into_iter()
            .map(|message| minutehand_recurrence::format_instant(message.due_at))
            .collect()
    }
}

/// The services over this store and this queue.
pub(super) fn dynamo(store: &Store) -> DynamoStore {
    DynamoStore::new(store.client(), "minutehand")
        .with_connector(Some(store.connector()))
        .with_groups(Groups::Transactions)
}

pub(super) fn manage(
    store: Arc<DynamoStore>,
    queue: Arc<dyn DispatchQueue>,
    dead_letters: Arc<Queue>,
    clock: Arc<dyn Clock>,
    sealer: Arc<AesSealer>,
) -> Manage {
    let certificates = Arc::new(Opener);
    let browse = store.clone();
    let ports = ManagePorts {
        sealer,
        certificates,
        browse,
        dead_letters,
        ..manage_ports(store, queue, clock)
    };
    let settings = ManageSettings {
        region: "local".to_owned(),
        plan_limits: PlanLimits::On,
        has_aws: false,
        own: OwnResources::default(),
        history: HistoryDays::default(),
    };
    Manage::new(ports, settings)
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
        Err(AppError::Refused(refusal)) => refusal.code.as_str(),
        other => panic!("not refused: {other:?}"),
    }
}

#[async_trait]
impl DispatchQueue for Recorded {
    async fn send(&self, messages: &[QueueMessage], _now: DateTime<Utc>) -> Result<(), QueueError> {
        self.0.lock().unwrap().extend_from_slice(messages);
        Ok(())
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
