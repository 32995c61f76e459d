//! Managing collections and jobs.
//!
//! Every change reads, decides, and writes on the condition that nothing changed in between. If
//! something did, it starts again, a bounded number of times. So concurrent changes have the same
//! result as if they had come one after the other, and no property of either is lost.
//!
//! A change is one transaction in the store. Occurrences that are due soon are sent to the queue
//! after it:
//!
//! | after | a crash leaves | repaired by |
//! |---|---|---|
//! | the change is committed | a job whose timer is in the index | the next sweep dispatches it, up to a minute late |
//! | its occurrences within the horizon are sent | messages that a sweep will send again | workers count each occurrence once |
//! | the timer moves on, if it is still the one that was written | nothing | |

mod again;
mod ahead;
mod alerts;
mod asked;
mod browse;
mod check;
mod check_many;
mod cloud_services;
mod collections;
mod coming;
mod condition;
mod dead_letters;
mod describe;
mod failures;
mod find;
mod forget;
mod history;
mod jobs;
mod journal;
mod load;
mod occurrences;
mod pings;
mod present;
mod reach;
mod reports;
mod run;
mod secrets;
mod timing;
mod view;
mod wall;
mod wanted;
mod why;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use minutehand_domain::chain::Depth;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::own::OwnResources;
use minutehand_domain::plan::PlanLimits;
use minutehand_domain::reach::Reach;
use minutehand_ports::store::ResourceGroup;
use minutehand_ports::{
    ActionSender, Alerts, Browse, CertificateReader, Clock, CloudServices, Collections,
    DeadLetters, Disk, DispatchQueue, FailureBodies, HangingOrigins, History, IdSource, Jobs,
    OpenAttempts, Pings, Sealer,
};

use crate::completion::CompletionUrls;
use crate::error::{AppError, Result};
use crate::fire::Dispatcher;

pub use again::Redriven;
pub use ahead::{Ahead, CollectionOverview, LateJob, Overview, Upcoming, UpcomingOccurrence};
pub use alerts::{AlertSetting, JobAlertSetting};
pub use browse::JobRow;
pub use check::{AcceptedCheck, CheckedChange, CheckedRequest, JobCheck};
pub use check_many::{ChangesCheck, CheckedChanges};
pub use cloud_services::{CloudServiceSettings, CloudServiceView, ResourceSettings, ResourceView};
pub use coming::{Coming, WantedOccurrences};
pub use condition::{Condition, Etags};
pub use dead_letters::{AskedWork, DeadLetterView, LETTERS_MAX};
pub use describe::JobDescription;
pub use failures::{Failures, FailuresPosition, WantedFailures};
pub use find::{FoundJobs, WantedJobs};
pub use jobs::PutOutcome;
pub use journal::Author;
pub use load::{Load, LoadGroup, Peak, WantedLoad};
pub use occurrences::{PastOccurrence, PastOccurrences, PastOutcome};
pub use pings::{PingAddress, Pinged};
pub use present::{OpenState, Present, PresentCounts, PresentState};
pub use reports::{Report, Reported};
pub use view::{CollectionView, ExecutionView, JobStatus, JobView, LeftOutView};
pub use wall::{RunningJob, Wall, WallRow, WantedWall};
pub use why::Explanation;

/// How often a change is attempted while concurrent changes come first.
const CHANGE_ATTEMPTS_MAX: usize = 20;

/// The names on the way to a job: its group, its collection, and its own.
pub type JobPlace<'a> = (&'a ResourceGroup, &'a Name, &'a Name);

/// The ports that managing needs.
#[derive(Clone)]
pub struct ManagePorts {
    /// Stores collections.
    pub collections: Arc<dyn Collections>,
    /// Stores cloud services.
    pub cloud_services: Arc<dyn CloudServices>,
    /// Stores jobs.
    pub jobs: Arc<dyn Jobs>,
    /// The states of alerts.
    pub alerts: Arc<dyn Alerts>,
    /// Attempts whose targets are at work.
    pub open: Arc<dyn OpenAttempts>,
    /// Reads what jobs have done.
    pub history: Arc<dyn History>,
    /// Reads for people, as the store was a moment ago.
    pub browse: Arc<dyn Browse>,
    /// The queue that occurrences are sent to.
    pub queue: Arc<dyn DispatchQueue>,
    /// The messages that are no longer delivered.
    pub dead_letters: Arc<dyn DeadLetters>,
    /// Knows which origins hang.
    pub hanging: Arc<dyn HangingOrigins>,
    /// Dispatches occurrences that are due soon, as a sweep does.
    pub dispatcher: Dispatcher,
    /// Seals secrets.
    pub sealer: Arc<dyn Sealer>,
    /// Opens client certificates.
    pub certificates: Arc<dyn CertificateReader>,
    /// The clock by which jobs are scheduled.
    pub clock: Arc<dyn Clock>,
    /// The source of new identifiers.
    pub ids: Arc<dyn IdSource>,
    /// The disk that the store writes to.
    pub disk: Arc<dyn Disk>,
    /// The bodies of failures, if they are kept.
    pub bodies: Option<Arc<dyn FailureBodies>>,
    /// Sends test alerts, if this process may call targets. Else a worker does.
    pub sender: Option<Arc<dyn ActionSender>>,
    /// Where targets report the end of their work, if they can.
    pub completions: Option<Arc<CompletionUrls>>,
}

/// The settings of an installation.
#[derive(Debug, Clone)]
pub struct ManageSettings {
    /// The location of a collection that names none.
    pub region: String,
    /// Whether the limits of plans apply.
    pub plan_limits: PlanLimits,
    /// Whether actions can be sent to AWS.
    pub has_aws: bool,
    /// The installation's own resources on AWS, to which no job may send.
    pub own: OwnResources,
    /// For how long history is kept.
    pub history: HistoryDays,
}

/// Manages collections and jobs.
#[derive(Clone)]
pub struct Manage {
    ports: ManagePorts,
    settings: ManageSettings,
    condition: Condition,
    author: Author,
    depth: Depth,
    reach: Reach,
    /// The pings of jobs, if this installation takes any.
    pings: Option<Arc<TakenPings>>,
}

/// Where pings go.
struct TakenPings {
    store: Arc<dyn Pings>,
    /// Where whole bodies are kept, if they are.
    bodies: Option<Arc<dyn FailureBodies>>,
}

impl Manage {
    /// A service over these ports.
    #[must_use]
    pub fn new(ports: ManagePorts, settings: ManageSettings) -> Self {
        Self {
            ports,
            settings,
            condition: Condition::default(),
            author: Author::default(),
            depth: Depth::default(),
            reach: Reach::default(),
            pings: None,
        }
    }

    /// The same service, which takes pings, and keeps whole bodies if it is said where.
    #[must_use]
    pub fn with_pings_and_bodies(
        self,
        store: Arc<dyn Pings>,
        bodies: Option<Arc<dyn FailureBodies>>,
    ) -> Self {
        Self { pings: Some(Arc::new(TakenPings { store, bodies })), ..self }
    }

    /// Whether it takes pings.
    #[must_use]
    pub const fn takes_pings(&self) -> bool {
        self.pings.is_some()
    }

    /// The same service for a request at a depth in a chain of jobs that ask for each other.
    #[must_use]
    pub fn at_depth(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    /// The settings of the installation.
    #[must_use]
    pub const fn settings(&self) -> &ManageSettings {
        &self.settings
    }

    /// History that ended after this instant is answered.
    #[must_use]
    pub fn history_since(&self) -> DateTime<Utc> {
        self.settings.history.answered_since(self.ports.clock.now())
    }

    /// Checks that the store answers and that its disk accepts writes.
    ///
    /// # Errors
    ///
    /// If the store does not answer, or the disk is full or read-only.
    pub async fn look_at_store(&self) -> Result<()> {
        // Any read shows whether the store answers; this collection does not need to exist.
        let segment = PathSegment::new("health")?;
        let place = ResourceGroup { subscription: segment.clone(), group: segment };
        self.ports.collections.find(&place, &Name::new("health")?).await?;
        self.ports.disk.accepts_writes().await.map_err(AppError::NoWrites)
    }
}

/// Attempts a change until no concurrent change comes first. An attempt that finds that its read is
/// stale answers `None`.
async fn retry_on_stale<T, F>(what: String, mut change: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    for _ in 0..CHANGE_ATTEMPTS_MAX {
        if let Some(done) = change().await? {
            return Ok(done);
        }
    }
    Err(AppError::Busy { what })
}
