//! The store of a process beneath the batching layer: groups of calls that fail in part, are done
//! without an answer, and hold calls that exclude each other.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::DateTime;
use minutehand_domain::attempt::Record;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Claim, ClaimRequest, Claimed, CounterUpdate, Finish, JobSnapshot, Recorded,
};
use minutehand_ports::{Counters, Snapshots, StoreError};
use minutehand_store_dynamodb::{AskedEvicted, GroupedStore, SnapshotRead};

use super::faults::{StorePort, now};
use super::mutation::Mutation;
use super::tally::Fault;

/// Calls of one transaction. Few, so that a group has several.
const TRANSACTION_MAX: usize = 4;

impl StorePort {
    /// Performs a group as transactions, each of which fails, or loses its answer, by itself.
    async fn in_transactions<Q: Sync, A: Clone + Send>(
        &self,
        group: &[Q],
        if_done: &A,
        perform: impl Fn(&Q) -> Result<A, StoreError> + Send + Sync,
    ) -> Vec<Result<A, StoreError>> {
        let mut answers = Vec::new();
        for part in group.chunks(TRANSACTION_MAX) {
            let all = || Ok(part.iter().map(&perform).collect::<Vec<_>>());
            match self.op(true, all).await {
                Ok(of_part) => answers.extend(of_part),
                Err(_) if self.is(Mutation::GroupErrorsDropped) => {
                    answers.extend(part.iter().map(|_| Ok(if_done.clone())));
                }
                Err(error) => answers.extend(part.iter().map(|_| Err(copy(&error)))),
            }
        }
        if group.len() > 1 {
            self.world.time.tally.note(Fault::Group);
            if self.is(Mutation::GroupOutOfOrder) {
                answers.rotate_left(1);
            }
        }
        answers
    }
}

/// The same error for another call of a transaction.
fn copy(error: &StoreError) -> StoreError {
    match error {
        StoreError::Throttled(why) => StoreError::Throttled(why.to_string().into()),
        other => StoreError::Unavailable(other.to_string().into()),
    }
}

#[async_trait]
impl GroupedStore for StorePort {
    async fn claim_all(&self, group: &[ClaimRequest]) -> Vec<Result<Claimed, StoreError>> {
        self.in_transactions(group, &Claimed::Won, |request| self.claim_now(request)).await
    }

    async fn release_all(&self, group: &[Claim]) -> Vec<Result<(), StoreError>> {
        let release = |claim: &Claim| now(self.inner().release(claim));
        self.in_transactions(group, &(), release).await
    }

    async fn read_all(
        &self,
        group: &[JobRef],
    ) -> Result<Vec<Option<Arc<JobSnapshot>>>, StoreError> {
        let read =
            |job: &JobRef| self.snapshot_now(job, || now(Snapshots::read(self.inner(), job)));
        self.op(true, || group.iter().map(read).collect()).await
    }

    async fn record_all(&self, group: &[(Claim, Record)]) -> Vec<Result<Recorded, StoreError>> {
        let record = |(claim, record): &(Claim, Record)| self.record_now(claim, record);
        self.in_transactions(group, &Recorded::Kept, record).await
    }

    async fn add_failures(&self, group: &[FailedOccurrence]) -> Vec<Result<(), StoreError>> {
        let add = |failed: &FailedOccurrence| now(self.inner().add_failure(failed));
        self.in_transactions(group, &(), add).await
    }

    async fn add_all(&self, group: &[CounterUpdate]) -> Vec<Result<bool, StoreError>> {
        let add = |update: &CounterUpdate| now(Counters::add(self.inner(), update));
        self.in_transactions(group, &true, add).await
    }

    async fn are_evicted(&self, group: &[AskedEvicted]) -> Vec<Result<bool, StoreError>> {
        let is_evicted = |asked: &AskedEvicted| {
            let ended_at = DateTime::from_timestamp_millis(asked.end);
            now(self.inner().is_evicted(&asked.job_uid, &asked.attempt, ended_at))
        };
        self.in_transactions(group, &false, is_evicted).await
    }

    async fn expire_all(&self, group: &[Finish]) -> Vec<Result<bool, StoreError>> {
        self.in_transactions(group, &true, |finish| self.expire_now(finish)).await
    }

    async fn finish_all(&self, group: &[Finish]) -> Vec<Result<bool, StoreError>> {
        self.in_transactions(group, &true, |finish| self.end_now(finish)).await
    }

    async fn prefetch_by(
        &self,
        claim: &Claim,
        read: impl Future<Output = SnapshotRead> + Send,
    ) -> Option<Arc<JobSnapshot>> {
        let snapshot = read.await.ok()??;
        self.memory().keep_prefetched(claim, &snapshot);
        Some(snapshot)
    }

    fn unchanged_prefetched(&self, claim: &Claim) -> Option<Arc<JobSnapshot>> {
        let (snapshot, is_unchanged) = self.memory().take_prefetched(claim)?;
        (is_unchanged || self.is(Mutation::AheadStands)).then_some(snapshot)
    }
}
