//! The ports of the services, for tests.
//!
//! A test gives the store, the queue and the clock that it is about, and replaces other ports with
//! struct update syntax:
//!
//! ```text
//! let ports = ManagePorts { sealer, ..manage_ports(store, queue, clock) };
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use minutehand_app::ManagePorts;
use minutehand_app::fire::{Dispatcher, FirePorts, FireStore, SendThenCount, StoreOfFiring};
use minutehand_domain::action::{CertificateFacts, ClientCertificate};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::firing::LeftOut;
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::refusal::Refusal;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Brought, CloudServiceRecord, CollectionRecord, CollectionStanding, CountedQuarters, Due, Found,
    HistoryEntry, JobRecord, Page, PageRequest, Part, PresentAttempt, PresentAttempts, PulseRecord,
    ResourceGroup, Saved,
};
use minutehand_ports::{
    ActionSender, Alerts, Browse, CertificateReader, Clock, CloudServices, Collections,
    DispatchQueue, History, IdSource, Installation, Jobs, OpenAttempts, SealError, Sealer,
    Snapshots, StoreError, Timers,
};

/// The ports of `Manage`. Secrets are not encrypted, certificates are refused, events are dropped, and
/// reads for people fail.
pub fn manage_ports<S>(
    store: Arc<S>,
    queue: Arc<dyn DispatchQueue>,
    clock: Arc<dyn Clock>,
) -> ManagePorts
where
    S: Alerts + Collections + Jobs + History + OpenAttempts + Snapshots + Timers + 'static,
{
    let events = Arc::new(());
    let dispatcher =
        Dispatcher::new(store.clone(), store.clone(), queue.clone(), events, clock.clone());
    ManagePorts {
        collections: store.clone(),
        cloud_services: Arc::new(NoCloudServices),
        jobs: store.clone(),
        alerts: store.clone(),
        open: store.clone(),
        history: store,
        browse: Arc::new(NothingToBrowse),
        queue,
        dead_letters: Arc::new(()),
        dispatcher,
        sealer: Arc::new(PlainSealer),
        certificates: Arc::new(NoCertificates),
        clock,
        ids: Arc::new(CountedIds::default()),
        disk: Arc::new(()),
        bodies: None,
        sender: None,
        completions: None,
    }
}

/// The ports of the executor. Secrets are not encrypted, and events are dropped.
pub fn fire_ports(
    store: Arc<impl StoreOfFiring + 'static>,
    queue: Arc<dyn DispatchQueue>,
    sender: Arc<dyn ActionSender>,
    clock: Arc<dyn Clock>,
) -> FirePorts {
    FirePorts {
        settle: Arc::new(SendThenCount::new(queue.clone(), store.clone())),
        store: FireStore::new(store),
        queue,
        sender,
        sealer: Arc::new(PlainSealer),
        events: Arc::new(()),
        clock,
        ids: Arc::new(CountedIds::default()),
        bodies: None,
        completions: None,
    }
}

/// Ids that count up: `id0`, `id1`, and so on.
#[derive(Debug, Default)]
pub struct CountedIds(AtomicU64);

impl CountedIds {
    /// Ids that begin with this number.
    #[must_use]
    pub const fn from(first: u64) -> Self {
        Self(AtomicU64::new(first))
    }
}

impl IdSource for CountedIds {
    fn new_id(&self) -> String {
        format!("id{}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Fails every read for people: for tests that make none.
#[derive(Debug, Clone, Copy)]
pub struct NothingToBrowse;

impl NothingToBrowse {
    fn fail<T>() -> Result<T, StoreError> {
        Err(StoreError::Refused("this test does not browse".into()))
    }
}

#[async_trait]
impl Browse for NothingToBrowse {
    async fn subscriptions(&self, _page: PageRequest) -> Result<Page<PathSegment>, StoreError> {
        Self::fail()
    }

    async fn collection(
        &self,
        _place: &ResourceGroup,
        _name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        Self::fail()
    }

    async fn collection_path(
        &self,
        _collection_uid: &str,
    ) -> Result<Option<CollectionPlace>, StoreError> {
        Self::fail()
    }

    async fn job(
        &self,
        _collection_uid: &str,
        _name: &Name,
    ) -> Result<Option<JobRecord>, StoreError> {
        Self::fail()
    }

    async fn jobs(
        &self,
        _collection_uid: &str,
        _prefix: &str,
        _now: DateTime<Utc>,
        _page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        Self::fail()
    }

    async fn attempts(
        &self,
        _job_uid: &str,
        _nominal_at: DateTime<Utc>,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        Self::fail()
    }

    async fn attempts_before(
        &self,
        _job_uid: &str,
        _before: Option<DateTime<Utc>>,
        _items_max: u32,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        Self::fail()
    }

    async fn job_names(
        &self,
        _collection_uid: &str,
        _prefix: &str,
        _now: DateTime<Utc>,
        _page: PageRequest,
    ) -> Result<Page<Name>, StoreError> {
        Self::fail()
    }

    fn names_max(&self) -> usize {
        0
    }

    async fn present(
        &self,
        _now: DateTime<Utc>,
        _work_now: DateTime<Utc>,
    ) -> Result<Option<PresentAttempts>, StoreError> {
        Self::fail()
    }

    async fn present_of(
        &self,
        _job: &JobRef,
        _now: DateTime<Utc>,
        _work_now: DateTime<Utc>,
    ) -> Result<Vec<PresentAttempt>, StoreError> {
        Self::fail()
    }

    async fn left_out(
        &self,
        _job_uid: &str,
        _before: Option<DateTime<Utc>>,
        _items_max: u32,
    ) -> Result<Vec<LeftOut>, StoreError> {
        Self::fail()
    }

    async fn failures(
        &self,
        _subscription: &PathSegment,
        _day: NaiveDate,
        _page: PageRequest,
    ) -> Result<Page<FailedOccurrence>, StoreError> {
        Self::fail()
    }

    async fn quarters(
        &self,
        _collection_uid: &str,
        _between: [DateTime<Utc>; 2],
    ) -> Result<CountedQuarters, StoreError> {
        Self::fail()
    }

    async fn collections(
        &self,
        _subscription: &PathSegment,
        _page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        Self::fail()
    }

    fn timer_shards(&self) -> u32 {
        0
    }

    async fn timers(
        &self,
        _shard: u32,
        _until: DateTime<Utc>,
        _page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        Self::fail()
    }

    async fn pulses(&self) -> Result<PulseRecord, StoreError> {
        Self::fail()
    }

    async fn journal(
        &self,
        _collection_uid: &str,
        _page: PageRequest,
    ) -> Result<Page<JournalEntry>, StoreError> {
        Self::fail()
    }
}

/// Knows no cloud service, and refuses to store any: for tests that are not about them.
#[derive(Debug, Clone, Copy)]
pub struct NoCloudServices;

impl NoCloudServices {
    fn fail<T>() -> Result<T, StoreError> {
        Err(StoreError::Refused("this test stores no cloud services".into()))
    }
}

#[async_trait]
impl CloudServices for NoCloudServices {
    async fn find(&self, _place: &ResourceGroup) -> Result<Option<CloudServiceRecord>, StoreError> {
        Ok(None)
    }

    async fn list(
        &self,
        _subscription: &PathSegment,
        _page: PageRequest,
    ) -> Result<Page<CloudServiceRecord>, StoreError> {
        Ok(Page { items: Vec::new(), next: None })
    }

    async fn save(&self, _service: &CloudServiceRecord) -> Result<Saved, StoreError> {
        Self::fail()
    }

    async fn delete(&self, _service: &CloudServiceRecord) -> Result<Saved, StoreError> {
        Self::fail()
    }
}

/// Has nothing that could be moved: for tests that move nothing.
#[derive(Debug, Clone, Copy)]
pub struct NothingToMove;

impl NothingToMove {
    fn fail<T>() -> Result<T, StoreError> {
        Err(StoreError::Refused("this test moves nothing".into()))
    }
}

#[async_trait]
impl Installation for NothingToMove {
    async fn subscriptions(&self, _page: PageRequest) -> Result<Page<PathSegment>, StoreError> {
        Self::fail()
    }

    fn timer_shards(&self) -> u32 {
        0
    }

    async fn part(
        &self,
        _part: &Part,
        _now: DateTime<Utc>,
        _page: PageRequest,
    ) -> Result<Page<Found>, StoreError> {
        Self::fail()
    }

    async fn standing(
        &self,
        _collection: &CollectionRecord,
    ) -> Result<CollectionStanding, StoreError> {
        Self::fail()
    }

    async fn bring_cloud_service(
        &self,
        _service: &CloudServiceRecord,
    ) -> Result<Brought, StoreError> {
        Self::fail()
    }

    async fn bring_job(
        &self,
        _collection_uid: &str,
        _job: &JobRecord,
    ) -> Result<Brought, StoreError> {
        Self::fail()
    }

    async fn import_under_way(&self) -> Result<Option<String>, StoreError> {
        Self::fail()
    }

    async fn begin_import(&self, _export_id: &str, _in_place: bool) -> Result<bool, StoreError> {
        Self::fail()
    }

    async fn end_import(&self, _export_id: &str) -> Result<(), StoreError> {
        Self::fail()
    }
}

/// Seals nothing: for tests that are not about secrets.
#[derive(Debug, Clone, Copy)]
pub struct PlainSealer;

#[async_trait]
impl Sealer for PlainSealer {
    async fn seal(&self, _place: &str, plain: &str) -> Result<Vec<u8>, SealError> {
        Ok(plain.as_bytes().to_vec())
    }

    async fn open(&self, _place: &str, sealed: &[u8]) -> Result<String, SealError> {
        String::from_utf8(sealed.to_vec()).map_err(|_| SealError::NotOurs)
    }
}

/// Refuses every certificate: for tests that are not about certificates.
#[derive(Debug, Clone, Copy)]
pub struct NoCertificates;

impl CertificateReader for NoCertificates {
    fn read(&self, _client: &ClientCertificate) -> Result<CertificateFacts, Refusal> {
        Err(Refusal::invalid("this test uses no certificates"))
    }
}
