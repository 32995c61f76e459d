//! The ports of the services, for tests.
//!
//! A test gives the store, the queue and the clock that it is about, and replaces other ports with
//! struct update syntax:
//!
//! ```text
//! let ports = ManagePorts { sealer, ..manage_ports(store, queue, clock) };
//! ```

use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_app::ManagePorts;
use minutehand_app::fire::{Dispatcher, FirePorts, FireStore, SendThenCount, StoreOfFiring};
use minutehand_domain::action::{CertificateFacts, ClientCertificate};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::firing::Pulse;
use minutehand_domain::name::PathSegment;
use minutehand_domain::refusal::Refusal;
use minutehand_ports::store::{
    BrowseLayer, Call, CloudServiceRecord, CloudServicesLayer, InstallationLayer, Layer, Page,
    PageRequest, PulseOf, PulseRecord, ResourceGroup, SnapshotsLayer, TimersLayer,
};
use minutehand_ports::{
    ActionSender, Alerts, Browse, CertificateReader, Clock, CloudServices, Collections,
    DispatchQueue, History, IdSource, Installation, Jobs, OpenAttempts, Pulses, SealError, Sealer,
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
        cloud_services: Arc::new(Unused::<dyn CloudServices>::default()),
        jobs: store.clone(),
        alerts: store.clone(),
        open: store.clone(),
        history: store,
        browse: Arc::new(Unused::<dyn Browse>::default()),
        queue,
        dead_letters: Arc::new(()),
        hanging: Arc::new(()),
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
        settle: Arc::new(SendThenCount { queue: queue.clone(), counters: store.clone() }),
        store: FireStore::new(store),
        queue,
        sender,
        sealer: Arc::new(PlainSealer),
        events: Arc::new(()),
        clock,
        ids: Arc::new(CountedIds::default()),
        bodies: None,
        completions: None,
        brakes: None,
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

/// Refuses every call of a port: for tests that make none.
pub struct Unused<P: ?Sized>(PhantomData<Arc<P>>);

impl<P: ?Sized> Default for Unused<P> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<P: ?Sized + Send + Sync + 'static> Layer for Unused<P> {
    type Inner = P;

    #[expect(clippy::panic, reason = "a test says by it what went wrong")]
    fn inner(&self) -> Arc<P> {
        panic!("this test does not use that port")
    }

    async fn try_call<'a, T: Debug + Send + 'a>(
        &'a self,
        _call: impl Call<'a, P, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        Err(StoreError::Refused("this test does not use that port".into()))
    }
}

impl BrowseLayer for Unused<dyn Browse> {
    fn names_max(&self) -> usize {
        0
    }

    fn timer_shards(&self) -> u32 {
        0
    }
}

/// Knows no cloud service.
#[async_trait]
impl CloudServicesLayer for Unused<dyn CloudServices> {
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
}

impl InstallationLayer for Unused<dyn Installation> {
    fn timer_shards(&self) -> u32 {
        0
    }
}

impl SnapshotsLayer for Unused<dyn Snapshots> {}

/// Beneath the timers of a test: it knows no path of a collection, and any other call fails the test.
#[derive(Debug, Clone, Copy)]
pub struct NoTimers;

impl Layer for NoTimers {
    type Inner = dyn Timers;

    #[expect(clippy::panic, reason = "a test says by it what went wrong")]
    fn inner(&self) -> Arc<dyn Timers> {
        panic!("this test does not answer that call of its timers")
    }
}

#[async_trait]
impl TimersLayer for NoTimers {
    async fn collection_path(&self, _: &str) -> Result<Option<CollectionPlace>, StoreError> {
        Ok(None)
    }
}

/// Takes every sign of life, and knows of no outage.
#[derive(Debug, Clone, Copy)]
pub struct NoOutages;

#[async_trait]
impl Pulses for NoOutages {
    async fn read_pulses(&self) -> Result<PulseRecord, StoreError> {
        Ok(PulseRecord::default())
    }

    async fn beat(
        &self,
        _of: PulseOf,
        _as_read: Option<DateTime<Utc>>,
        _pulse: &Pulse,
    ) -> Result<bool, StoreError> {
        Ok(true)
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
