//! What performs the groups of a batching store.

use std::sync::Arc;

use async_trait::async_trait;
use minutehand_domain::attempt::Record;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Claim, ClaimRequest, Claimed, CounterUpdate, Finish, JobSnapshot, Recorded,
};
use minutehand_ports::{
    Attempts, Counters, History, Pulses, Removal, RetryTimers, Seats, Slots, Snapshots, StoreError,
    Timers, Turns,
};

use crate::counters::AskedEvicted;
use crate::store::DynamoStore;

/// A snapshot, if there is such a job.
pub type SnapshotRead = Result<Option<Arc<JobSnapshot>>, StoreError>;

/// A store that performs calls in groups. Each call of a group ends by itself; the answers are in the
/// order of the group.
#[async_trait]
pub trait GroupedStore:
    Attempts
    + Counters
    + History
    + Pulses
    + Removal
    + RetryTimers
    + Seats
    + Slots
    + Snapshots
    + Timers
    + Turns
    + 'static
{
    /// Claims attempts.
    async fn claim_all(&self, group: &[ClaimRequest]) -> Vec<Result<Claimed, StoreError>>;

    /// Gives back claims under which nothing was done.
    async fn release_all(&self, group: &[Claim]) -> Vec<Result<(), StoreError>>;

    /// Reads jobs as they are now. It fails or succeeds for all of them.
    async fn read_all(&self, group: &[JobRef])
    -> Result<Vec<Option<Arc<JobSnapshot>>>, StoreError>;

    /// Records how attempts ended.
    async fn record_all(&self, group: &[(Claim, Record)]) -> Vec<Result<Recorded, StoreError>>;

    /// Adds occurrences that have failed for good.
    async fn add_failures(&self, group: &[FailedOccurrence]) -> Vec<Result<(), StoreError>>;

    /// Counts attempts. Of two updates of one job the second one is not done.
    async fn add_all(&self, group: &[CounterUpdate]) -> Vec<Result<bool, StoreError>>;

    /// Tells which attempts are among those that their jobs no longer remember.
    async fn are_evicted(&self, group: &[AskedEvicted]) -> Vec<Result<bool, StoreError>>;

    /// Says when the definitions of jobs expire that are about to finish.
    async fn expire_all(&self, group: &[Finish]) -> Vec<Result<bool, StoreError>>;

    /// Finishes jobs.
    async fn finish_all(&self, group: &[Finish]) -> Vec<Result<bool, StoreError>>;

    /// Keeps the snapshot that `read` reads for [`unchanged_prefetched`](Self::unchanged_prefetched).
    /// `None` if this process cannot know whether the job is written in between.
    async fn prefetch_by(
        &self,
        claim: &Claim,
        read: impl Future<Output = SnapshotRead> + Send,
    ) -> Option<Arc<JobSnapshot>>;

    /// The prefetched snapshot of a claim's job, if nothing of the job was written since.
    fn unchanged_prefetched(&self, claim: &Claim) -> Option<Arc<JobSnapshot>>;
}

#[async_trait]
impl GroupedStore for DynamoStore {
    async fn claim_all(&self, group: &[ClaimRequest]) -> Vec<Result<Claimed, StoreError>> {
        self.claim_all(group).await
    }

    async fn release_all(&self, group: &[Claim]) -> Vec<Result<(), StoreError>> {
        self.release_all(group).await
    }

    async fn read_all(
        &self,
        group: &[JobRef],
    ) -> Result<Vec<Option<Arc<JobSnapshot>>>, StoreError> {
        self.read_all(group).await
    }

    async fn record_all(&self, group: &[(Claim, Record)]) -> Vec<Result<Recorded, StoreError>> {
        let group: Vec<_> = group.iter().map(|(claim, record)| (claim, record)).collect();
        self.record_all(&group).await
    }

    async fn add_failures(&self, group: &[FailedOccurrence]) -> Vec<Result<(), StoreError>> {
        self.add_failures(group).await
    }

    async fn add_all(&self, group: &[CounterUpdate]) -> Vec<Result<bool, StoreError>> {
        self.add_all(group).await
    }

    async fn are_evicted(&self, group: &[AskedEvicted]) -> Vec<Result<bool, StoreError>> {
        self.are_evicted(group).await
    }

    async fn expire_all(&self, group: &[Finish]) -> Vec<Result<bool, StoreError>> {
        self.expire_all(group).await
    }

    async fn finish_all(&self, group: &[Finish]) -> Vec<Result<bool, StoreError>> {
        self.finish_all(group).await
    }

    async fn prefetch_by(
        &self,
        claim: &Claim,
        read: impl Future<Output = SnapshotRead> + Send,
    ) -> Option<Arc<JobSnapshot>> {
        self.prefetch_by(claim, read).await
    }

    fn unchanged_prefetched(&self, claim: &Claim) -> Option<Arc<JobSnapshot>> {
        self.unchanged_prefetched(claim)
    }
}
