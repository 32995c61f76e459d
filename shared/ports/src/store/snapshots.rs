use std::sync::Arc;

use chrono::{DateTime, Utc};
use minutehand_domain::alert::AlertUse;
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::job::{self, JobState};
use minutehand_domain::limits::CollectionLimits;
use minutehand_domain::name::Name;
use minutehand_domain::plan::Plan;
use minutehand_domain::recently_counted::RecentlyCounted;
use minutehand_domain::timing::Timing;
use minutehand_domain::work_item::JobRef;
use minutehand_ports_macro::port;

use super::{Claim, CollectionRecord, StoreError};

/// Everything that decides whether an attempt may start, and what the attempt does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSnapshot {
    /// The job's name, in the spelling in which it was first given.
    pub name: Name,
    /// The path of its collection.
    pub collection_path: CollectionPlace,
    /// The version of its definition.
    pub version: u64,
    /// Its properties, without secrets.
    pub document: String,
    /// Its secrets, sealed.
    pub sealed: Option<Vec<u8>>,
    /// Its state.
    pub state: JobState,
    /// Its timing.
    pub timing: Timing,
    /// Its timetable as one line; `None` while the job is disabled.
    pub timetable: Option<String>,
    /// The counters of what it has done so far.
    pub counters: job::JobCounters,
    /// The attempts that are in the counters.
    pub recently_counted: RecentlyCounted,
    /// Whether every occurrence has been dispatched.
    pub is_spent: bool,
    /// When its timer last moved, and so what it was due for was sent; `None` where no message is lost.
    pub moved_at: Option<DateTime<Utc>>,
    /// The plan of its collection.
    pub plan: Plan,
    /// Since when its collection is on; `None` if it is off.
    pub collection_on_since: Option<DateTime<Utc>>,
    /// Whether its collection has an action for occurrences that fail for good.
    pub has_failure_action: bool,
    /// Whether that one has a format or rules.
    pub alert_use: AlertUse,
    /// The limits of its collection.
    pub limits: CollectionLimits,
}

/// Reads jobs as workers need them.
#[port]
pub trait Snapshots: Send + Sync {
    /// Reads a job as it is now; `None` if the job or its collection is gone.
    async fn read(&self, job: &JobRef) -> Result<Option<Arc<JobSnapshot>>, StoreError>;

    /// Reads a collection as it is now; `None` if it is gone.
    async fn read_collection(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionRecord>, StoreError>;

    /// Hints that the claimed attempt is not due yet and that
    /// [`read_for_start`](Self::read_for_start) follows when it is.
    ///
    /// A store that can tell whether a job has been written since may read it now, so that at the
    /// due time nothing is left to read. It returns what it read, so that the caller can prepare the
    /// attempt. The default reads nothing. A failed prefetch is not reported: the later read reports
    /// its own error.
    async fn prefetch(&self, claim: &Claim) -> Option<Arc<JobSnapshot>> {
        let _ = claim;
        None
    }

    /// Reads the job of a claimed attempt that is due, as it is now.
    ///
    /// It may answer with the very snapshot that [`prefetch`](Self::prefetch) returned, if nothing
    /// of the job was written since. It may let the caller wait, so that thousands of attempts that
    /// are due at one instant do not all start at the same moment.
    async fn read_for_start(&self, claim: &Claim) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        self.read(&claim.job).await
    }
}
