//! An API over a store in memory. Tests see its answers as text.

mod doubles;

use std::sync::{Arc, RwLock};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use chrono::{DateTime, NaiveDate, Utc};
use http_body_util::BodyExt;
use minutehand_app::{Manage, ManagePorts, ManageSettings};
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::history_days::{HistoryDays, JOBS_KEPT_FOR};
use minutehand_domain::job::JobState;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::own::OwnResources;
use minutehand_domain::plan::PlanLimits;
use minutehand_domain::recently_counted::RecentlyCounted;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Counted, CounterUpdate, CountersAdd, Finish, JobRecord, ResourceGroup,
};
use minutehand_ports::{Attempts, Collections, Counters, Jobs, Timers};
use minutehand_rest::{Access, BuildInfo, Live, ManagementCertificate, MetricsPage, Rest, Scheme};
use minutehand_store_sql::SqlStore;
use minutehand_store_sql::sqlite::Database;
use minutehand_testkit::services::{CountedIds, manage_ports};
use minutehand_testkit::{SetClock, TimeLimit};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt;

pub(crate) use doubles::Trouble;
use doubles::{KnownCertificate, SentMessages, TroubledCollections, Troubles, WrittenHistory};

/// The path of the subscription.
pub(crate) const SUBSCRIPTION: &str = "/subscriptions/S1";
/// The path of the collections in a resource group.
pub(crate) const GROUP: &str =
    "/subscriptions/S1/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections";
/// The version that most clients use.
pub(crate) const VERSION: &str = "api-version=2016-03-01";
/// The smallest valid job.
pub(crate) const JOB: &str = r#"{"properties":{"action":{"type":"Http","request":{"uri":"http://example.org","method":"GET"}}}}"#;

/// When everything happens: 2016-03-30T20:40:34Z.
const NOW: i64 = 1_459_370_434;

/// An API and its store.
pub(crate) struct Api {
    pub(crate) troubles: Arc<Troubles>,
    pub(crate) history: Arc<WrittenHistory>,
    pub(crate) queue: Arc<SentMessages>,
    pub(crate) certificates: Arc<RwLock<Vec<ManagementCertificate>>>,
    pub(crate) live: Arc<Live>,
    store: Arc<SqlStore>,
    router: Router,
    runtime: Runtime,
    _limit: TimeLimit,
}

/// The SHA-256 of `token`.
pub(crate) const TOKEN: [u8; 32] = [
    0x3c, 0x46, 0x9e, 0x9d, 0x6c, 0x58, 0x75, 0xd3, 0x7a, 0x43, 0xf3, 0x53, 0xd4, 0xf8, 0x8e, 0x61,
    0xfc, 0xf8, 0x12, 0xc6, 0x6e, 0xee, 0x34, 0x57, 0x46, 0x5a, 0x40, 0xb0, 0xda, 0x41, 0x53, 0xe0,
];

/// The time now.
pub(crate) fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(NOW, 0).unwrap()
}

impl Api {
    /// An empty API that needs no token.
    pub(crate) fn new() -> Self {
        Self::with(Access::Open)
    }

    /// An empty API with these access rules.
    pub(crate) fn with(access: Access) -> Self {
        Self::with_metrics(access, None)
    }

    pub(crate) fn with_metrics(access: Access, metrics: Option<Arc<dyn MetricsPage>>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (database, _threads) = Database::in_memory().unwrap();
        let store = Arc::new(SqlStore::new(database));
        let (troubles, history) = (Arc::<Troubles>::default(), Arc::<WrittenHistory>::default());
        let certificates = Arc::<RwLock<Vec<ManagementCertificate>>>::default();
        let (queue, clock) = (Arc::<SentMessages>::default(), Arc::new(SetClock::at(now())));
        let ids = Arc::new(CountedIds::default());
        let ports = ManagePorts {
            collections: Arc::new(TroubledCollections {
                inner: store.clone(),
                troubles: troubles.clone(),
            }),
            cloud_services: store.clone(),
            history: history.clone(),
            browse: store.clone(),
            certificates: Arc::new(KnownCertificate(now())),
            disk: troubles.clone(),
            ids: ids.clone(),
            ..manage_ports(store.clone(), queue.clone(), clock.clone())
        };
        let settings = ManageSettings {
            region: "local".to_owned(),
            plan_limits: PlanLimits::On,
            has_aws: false,
            own: OwnResources::default(),
            history: HistoryDays::default(),
        };
        // Its streams end once they have sent what was told.
        let live = Arc::new(Live::new("test"));
        live.close();
        let router = minutehand_rest::router(Rest {
            manage: Manage::new(ports, settings),
            clock,
            ids,
            access: Arc::new(RwLock::new(access)),
            certificates: Arc::clone(&certificates),
            scheme: Scheme::Http,
            build: BuildInfo {
                version: "1.2.3".to_owned(),
                commit: "abc".to_owned(),
                store: "1".to_owned(),
                time_zones: "2026a".to_owned(),
                time_zones_date: NaiveDate::from_ymd_opt(2026, 3, 2),
            },
            readiness: troubles.clone(),
            metrics,
            live: Some(live.clone()),
            home: minutehand_rest::Home::Machine,
        });
        let limit = TimeLimit::start();
        Self { troubles, history, queue, certificates, store, router, runtime, live, _limit: limit }
    }

    /// An API with the collection `C1`.
    pub(crate) fn with_collection() -> Self {
        let api = Self::new();
        let body = r#"{"location":"West US","properties":{"sku":{"name":"Standard"}}}"#;
        assert_eq!(api.put("/C1", body).status, StatusCode::CREATED);
        api
    }

    /// An API with the collection `C1`, which has the job `J1`, a copy of [`JOB`].
    pub(crate) fn with_job() -> Self {
        let api = Self::with_collection();
        assert_eq!(api.put("/C1/jobs/J1", JOB).status, StatusCode::CREATED);
        api
    }

    /// Counts attempts of the job `J1`, as a worker does.
    pub(crate) fn count(&self, add: CountersAdd) {
        let job = self.job();
        let counted = Counted { attempt: attempt(), ended_at: Some(now()), add };
        let as_read = RecentlyCounted::default();
        let counters = job.timer.counters;
        let update = CounterUpdate { job_uid: job.uid, as_read, counters, counted: vec![counted] };
        assert!(self.runtime.block_on(self.store.add(&update)).unwrap());
    }

    /// Finishes the job `J1`, as a worker does.
    pub(crate) fn finish(&self, state: JobState) {
        let job = self.job();
        let generation = job.timer.timing.generation;
        let at =
            JobRef { uid: job.uid, collection_uid: self.collection_uid(), key: job.name.key() };
        let expires_at = now() + JOBS_KEPT_FOR;
        let finish = Finish { job: at, version: job.version, generation, state, expires_at };
        assert!(self.runtime.block_on(self.store.finish(&finish)).unwrap());
    }

    /// Adds an occurrence of a job that failed for good, as a worker does.
    pub(crate) fn add_failure(&self, collection: &str, job: &str) {
        let failed = FailedOccurrence {
            job_uid: job.to_owned(),
            collection_path: CollectionPlace::read(collection).unwrap(),
            job: job.to_owned(),
            nominal_at: now(),
            is_run: false,
            attempts: 1,
            ended_at: now(),
            cause: None,
            said: None,
            message: "failed".to_owned(),
            target: None,
        };
        self.runtime.block_on(self.store.add_failure(&failed)).unwrap();
    }

    /// The job `J1` as it is stored.
    fn job(&self) -> JobRecord {
        let (uid, name) = (self.collection_uid(), Name::new("J1").unwrap());
        self.runtime.block_on(Jobs::find(self.store.as_ref(), &uid, &name)).unwrap().unwrap()
    }

    fn collection_uid(&self) -> String {
        let segment = |text| PathSegment::new(text).unwrap();
        let place = ResourceGroup { subscription: segment("S1"), group: segment("RG") };
        let (store, name) = (self.store.as_ref(), Name::new("C1").unwrap());
        let found = self.runtime.block_on(Collections::find(store, &place, &name));
        found.unwrap().unwrap().collection.uid
    }

    /// Sends a GET for a path below [`GROUP`], with an `api-version`.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "")
    }

    /// Sends a PUT for a path below [`GROUP`], with an `api-version`.
    pub(crate) fn put(&self, path: &str, body: &str) -> Answer {
        self.ask("PUT", path, body)
    }

    /// Sends a request for a path below [`GROUP`], with an `api-version`.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let mark = if path.contains('?') { '&' } else { '?' };
        self.send(method, &format!("{GROUP}{path}{mark}{VERSION}"), &[], body)
    }

    /// Sends a request.
    pub(crate) fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(target);
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request = request.header("Host", "localhost");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.answer(request.body(Body::from(body.to_owned())).unwrap())
    }

    /// Answers a request that is complete.
    pub(crate) fn answer(&self, request: Request<Body>) -> Answer {
        self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.unwrap();
            let (head, body) = response.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let body = String::from_utf8(body.into()).unwrap();
            Answer { status: head.status, headers: head.headers, body }
        })
    }
}

fn attempt() -> Attempt {
    Attempt::first(1, Occurrence::Scheduled { nominal_at: now() })
}

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    /// Checks the complete answer: the status, the body, and `content-type`, which is set if and
    /// only if there is a body.
    #[track_caller]
    pub(crate) fn is(&self, status: u16, body: &str) {
        assert_eq!((self.status.as_u16(), self.body.as_str()), (status, body));
        let expected = (!body.is_empty()).then_some("application/json; charset=utf-8");
        assert_eq!(self.header("content-type"), expected);
    }

    /// Checks that the answer is a failure with this code and message.
    #[track_caller]
    pub(crate) fn fails(&self, status: u16, code: &str, message: &str) {
        self.is(status, &json!({"error": {"code": code, "message": message}}).to_string());
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The body as JSON, for tests of single properties.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// The message for a missing collection, `nope`.
pub(crate) const NO_COLLECTION: &str = "The Resource 'Microsoft.Scheduler/jobcollections/nope' \
                                        under resource group 'RG' was not found.";

/// The message for an operation on a job of that collection.
pub(crate) const NO_PARENT: &str = "The Resource 'Microsoft.Scheduler/jobcollections/nope' under \
                                    resource group 'RG' was not found. Create the job collection \
                                    first, with a PUT of its path and the body {}.";
