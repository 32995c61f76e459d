use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Record};
use minutehand_domain::failed_occurrence::{FailedOccurrence, FailureKey};
use minutehand_domain::firing::LeftOut;
use minutehand_domain::work_item::JobRef;
use minutehand_ports_macro::port;

use super::{OpenAttempt, Page, PageRequest, StoreError};

/// A worker's hold on an attempt, until the lease ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The job.
    pub job: JobRef,
    /// The attempt.
    pub attempt: Attempt,
    /// Tells this claim from all others.
    pub claim_id: String,
    /// When the lease ends, on the worker's clock of work. Until then no other worker gets the attempt.
    pub lease_until: DateTime<Utc>,
}

/// A worker asks for a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The claim that the worker asks for.
    pub claim: Claim,
    /// The time now, on the worker's clock of work. Leases that ended before are over.
    pub now: DateTime<Utc>,
}

/// How a request for a claim ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// The caller holds the claim. So it does if it held the claim before and the answer was lost.
    Won,
    /// Another worker holds the attempt.
    Held {
        /// How long the lease of the other worker still lasts.
        left: TimeDelta,
    },
    /// The caller holds the claim, but only to record the attempt as failed: too many workers died
    /// during its action.
    Exhausted,
    /// The attempt has ended.
    Ended(Record),
    /// The attempt is open, or its end was reported while its worker died: it is not made again.
    Open(Box<OpenAttempt>),
}

/// How often an attempt may be claimed. The last claim is only for recording that the workers of
/// all earlier claims died.
pub const CLAIMS_MAX: u32 = 10;

/// How a recording ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// The record is stored. So it is if it was stored before and the answer was lost.
    Kept,
    /// Another worker has recorded the attempt.
    Already(Record),
    /// Another worker holds the claim now.
    Lost,
}

/// An attempt as the history shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The attempt.
    pub attempt: Attempt,
    /// How it ended; `None` while it is only claimed, or waits for its slot or a seat.
    pub record: Option<Record>,
    /// Whether it waits for its slot or a seat, or because its origin hangs: no worker has claimed it.
    pub waits: bool,
}

impl HistoryEntry {
    /// Whether it is still answered: it has not ended, or it ended after this instant.
    #[must_use]
    pub fn is_answered(&self, since: DateTime<Utc>) -> bool {
        self.record.as_ref().is_none_or(|record| record.ended_at > since)
    }
}

/// Attempts: claimed by one worker at a time, recorded once.
///
/// A claim protects against two workers that perform the same attempt together. It is not needed to
/// find out that an attempt has ended: a request for its claim answers [`Claimed::Ended`].
#[port]
pub trait Attempts: Send + Sync {
    /// Claims an attempt until the claim's lease ends.
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError>;

    /// Asks, immediately before an action, whether it may begin under a claim. After an error it may not: the
    /// caller may have been frozen for so long that another worker has the attempt. Where a lease alone says
    /// so, there is nothing to ask.
    async fn may_act(&self, _claim: &Claim) -> Result<(), StoreError> {
        Ok(())
    }

    /// Gives back a claim under which nothing was done. If the caller no longer holds it, nothing
    /// happens.
    async fn release(&self, claim: &Claim) -> Result<(), StoreError>;

    /// Gives back a claim under which nothing was done because of what its attempt now waits for.
    /// The attempt leaves a trace, so that it is not taken for lost, and the claim does not count as one
    /// that led to nothing. For this much work time, only who has waited gets the attempt. If the caller no
    /// longer holds the claim, nothing happens.
    async fn postpone(
        &self,
        claim: &Claim,
        hold: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError>;

    /// Records how an attempt ended.
    async fn record(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError>;

    /// Records that occurrences of a job were left out, unless it is recorded that more were, from the
    /// same one on.
    async fn leave_out(&self, job_uid: &str, left_out: &LeftOut) -> Result<(), StoreError>;

    /// Adds an occurrence that failed for good to the list of its subscription. Adding it again changes
    /// nothing.
    async fn add_failure(&self, failed: &FailedOccurrence) -> Result<(), StoreError>;

    /// Takes an occurrence off that list, because a redrive of it succeeded. Doing so again changes nothing.
    async fn remove_failure(&self, failure: FailureKey<'_>) -> Result<(), StoreError>;
}

/// Reads what jobs have done. Its own trait, so that a reader of history cannot claim.
#[port]
pub trait History: Send + Sync {
    /// Lists the attempts of a job: the newest occurrence first, and of an occurrence the newest
    /// attempt first. An error action is newer than the attempts that it follows.
    async fn list(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<HistoryEntry>, StoreError>;

    /// The attempts that are claimed or have ended at the occurrences of this time, both ends included.
    /// What was written a moment ago may be missing.
    async fn attempts_between(
        &self,
        job_uid: &str,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Vec<Attempt>, StoreError>;

    /// Whether there is an archive of the records that have expired.
    fn has_archive(&self) -> bool {
        false
    }

    /// Lists the archived attempts of a job that ended until an instant, in the order of
    /// [`list`](Self::list). A page may have fewer items than were asked for, or none, and not be the
    /// last.
    async fn list_archived(
        &self,
        _job_uid: &str,
        _page: PageRequest,
        _until: DateTime<Utc>,
    ) -> Result<Page<HistoryEntry>, StoreError> {
        Ok(Page { items: Vec::new(), next: None })
    }

    /// Lists the occurrences of a job that were left out, the newest first.
    async fn list_left_out(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<LeftOut>, StoreError>;
}
