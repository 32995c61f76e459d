//! What a behaviour is tried on: a back end, as a value.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_app::fire::StoreOfFiring;
use minutehand_ports::store::{CollectionRecord, JobRecord};
use minutehand_ports::{
    ApiSigns, Brakes, Browse, CloudServices, Collections, HangingOrigins, Installation, Jobs, Pings,
};

/// The ports that firing and managing cannot do without, as one store.
pub trait CoreStore: StoreOfFiring + Collections + Jobs {}

impl<S: StoreOfFiring + Collections + Jobs> CoreStore for S {}

/// The ports of a store, as one process has them.
#[derive(Clone)]
pub struct StorePorts {
    /// What firing and managing need.
    pub store: Arc<dyn CoreStore>,
    /// The reads for people.
    pub browse: Arc<dyn Browse>,
    /// The cloud services.
    pub cloud_services: Arc<dyn CloudServices>,
    /// What moves an installation.
    pub installation: Arc<dyn Installation>,
    /// Pings.
    pub pings: Arc<dyn Pings>,
    /// The signs of who takes pings, if it needs any.
    pub signs: Option<Arc<dyn ApiSigns>>,
    /// The brakes of origins, if processes share them.
    pub brakes: Option<Arc<dyn Brakes>>,
    /// What tells which of them hang.
    pub hanging: Option<Arc<dyn HangingOrigins>>,
}

impl StorePorts {
    /// One store that implements them, without signs and brakes.
    #[must_use]
    pub fn new(
        store: Arc<impl CoreStore + Browse + CloudServices + Installation + Pings + 'static>,
    ) -> Self {
        Self {
            store: store.clone(),
            browse: store.clone(),
            cloud_services: store.clone(),
            installation: store.clone(),
            pings: store,
            signs: None,
            brakes: None,
            hanging: None,
        }
    }
}

/// A kind of store, such as DynamoDB in the process. It makes stores, each with nothing in it.
#[async_trait]
pub trait BackEnd: Send + Sync {
    /// Its name, as [`DIFFERENCES`](super::DIFFERENCES) has it.
    fn name(&self) -> &'static str;

    /// Makes a store with nothing in it, for the test of this name.
    async fn open(&self, test: &str) -> Arc<dyn OpenedStore>;
}

/// A store that a back end has made, and what happens to it beside the calls of its ports.
#[async_trait]
pub trait OpenedStore: Send + Sync {
    /// The ports as another process has them: one that remembers nothing, and finds what is stored.
    fn ports(&self) -> StorePorts;

    /// Makes a stored row one that cannot be read.
    async fn spoil(&self, row: SpoiledRow<'_>);

    /// Removes what has expired, as the back end does by itself in its own time.
    async fn remove_expired(&self, now: DateTime<Utc>);

    /// Closes the store after a test that succeeded. A test that failed leaves it to be looked at.
    async fn close(&self);
}

/// A row to spoil.
#[derive(Debug, Clone, Copy)]
pub enum SpoiledRow<'a> {
    /// A collection.
    Collection(&'a CollectionRecord),
    /// The definition of a job.
    Definition(&'a JobRecord),
    /// The timer of a job.
    Timer(&'a JobRecord),
    /// All attempts of the job with this id.
    Attempts(&'a str),
}
