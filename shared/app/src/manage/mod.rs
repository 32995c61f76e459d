//! Managing collections and jobs.
//!
//! Every change reads, decides and writes on the condition that nothing changed in between; when
//! something did, it begins again, a bounded number of times. So concurrent changes are as if one
//! came after the other, and no field of either is lost.
//!
//! A change is one transaction in the store. What is due soon is handed to the queue after it:
//!
//! 1. the change is committed; a crash here leaves a job whose timer is in the index: the next
//!    sweep dispatches it, up to a minute late;
//! 2. its occurrences within the horizon are sent; a crash here leaves messages that a sweep will
//!    send again, and whoever receives them counts each occurrence once;
//! 3. the timer moves on, if it is still the one that was written.

mod collections;
mod history;
mod jobs;
mod secrets;
mod view;

use std::sync::Arc;

use domain::name::{Name, PathSegment};
use domain::pricing_tier::PlanLimits;
use ports::store::ResourceGroup;
use ports::{
    CertificateReader, Clock, Collections, Disk, DispatchQueue, History, IdSource, Jobs, Sealer,
};

use crate::error::AppError;
use crate::fire::Dispatcher;

pub use jobs::Put;
pub use view::{CollectionView, ExecutionView, JobStatus, JobView};

/// How often a change begins again when others were first.
const ATTEMPTS_MAX: usize = 20;

/// What managing needs from the world.
#[derive(Clone)]
pub struct ManagePorts {
    /// Stores collections.
    pub collections: Arc<dyn Collections>,
    /// Stores jobs.
    pub jobs: Arc<dyn Jobs>,
    /// Reads what jobs have done.
    pub history: Arc<dyn History>,
    /// Where occurrences go.
    pub queue: Arc<dyn DispatchQueue>,
    /// Hands over what is due soon, as a sweep does.
    pub dispatcher: Dispatcher,
    /// Seals secrets.
    pub sealer: Arc<dyn Sealer>,
    /// Opens client certificates.
    pub certificates: Arc<dyn CertificateReader>,
    /// The time by which jobs are scheduled.
    pub clock: Arc<dyn Clock>,
    /// New identities.
    pub ids: Arc<dyn IdSource>,
    /// What all of it is written on.
    pub disk: Arc<dyn Disk>,
}

/// What an installation decides once.
#[derive(Debug, Clone)]
pub struct ManageSettings {
    /// The location of a collection that names none.
    pub region: String,
    /// Whether plans limit anything.
    pub plan_limits: PlanLimits,
    /// Whether there is an AWS that actions can be sent to.
    pub has_aws: bool,
}

/// Manages collections and jobs.
#[derive(Clone)]
pub struct Manage {
    ports: ManagePorts,
    settings: ManageSettings,
}

impl Manage {
    /// The service over these ports.
    #[must_use]
    pub fn new(ports: ManagePorts, settings: ManageSettings) -> Self {
        Self { ports, settings }
    }

    /// Looks whether the store answers, and could keep what it is given.
    ///
    /// # Errors
    ///
    /// If it does not.
    pub async fn look_at_store(&self) -> Result<(), AppError> {
        // Whether it is there does not matter.
        let segment = PathSegment::new("health")?;
        let place = ResourceGroup { subscription: segment.clone(), group: segment };
        self.ports.collections.find(&place, &Name::new("health")?).await?;
        self.ports.disk.takes_writes().await.map_err(AppError::NoWrites)
    }
}
