use chrono::{DateTime, Utc};
use minutehand_domain::attempt::{Attempt, Record};
use minutehand_domain::completion::Ending;
use minutehand_domain::work_item::JobRef;
use minutehand_ports_macro::port;

use super::{Claim, Recorded, StoreError};

/// An attempt is left open: its target is at work, and no worker waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaveOpen {
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// Its deadline. Its timer is due then.
    pub until: DateTime<Utc>,
    /// Until when it keeps its seat and workers of an earlier version leave it alone, on the clock of work:
    /// far behind its deadline.
    pub held_until: DateTime<Utc>,
    /// Whether its claim has a seat.
    pub has_seat: bool,
}

/// How leaving an attempt open ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOpen {
    /// It is open. So it is if it was before and the answer was lost.
    Open,
    /// Its end was reported before: the claim still holds it, and records that.
    Over(Ending),
    /// It is recorded.
    Already(Record),
    /// Another worker holds the claim now.
    Lost,
}

impl LeftOpen {
    /// What a store answers that could not leave an attempt open, by what it found: whether the claim is the
    /// caller's, the record, whether the attempt is open, and the ending that was said.
    #[must_use]
    pub fn found(
        is_mine: bool,
        record: Option<Record>,
        is_open: bool,
        ending: Option<Ending>,
    ) -> Self {
        match (record, is_open, ending) {
            (Some(record), ..) => Self::Already(record),
            (None, true, _) if is_mine => Self::Open,
            (None, false, Some(ending)) if is_mine => Self::Over(ending),
            (None, ..) => Self::Lost,
        }
    }
}

/// An attempt that is open, or whose end was reported while its worker died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAttempt {
    /// The attempt as it was claimed.
    pub attempt: Attempt,
    /// The id of the claim under which it was made.
    pub claim_id: String,
    /// Since when it is at work, and its deadline; `None` if its worker died before it was left open.
    pub open: Option<OpenSpan>,
    /// How it ended, if it did.
    pub ending: Option<Ending>,
    /// What its target last said of its progress.
    pub progress: Option<String>,
}

/// The time of an open attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenSpan {
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// Its deadline.
    pub until: DateTime<Utc>,
}

/// What is stored of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptSeen {
    /// It is open.
    Open(Box<OpenAttempt>),
    /// It is recorded.
    Recorded(Record),
    /// A worker holds it, or its worker died, or it waits.
    Claimed,
    /// Nothing.
    Nothing,
}

/// How it ended to say how an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It counts.
    First,
    /// It does not: this ending came before.
    Already(Ending),
    /// It does not: the deadline is over.
    Late,
    /// It does not: the attempt is recorded without it, is not open, or is not known.
    Nothing,
}

/// Attempts that are open: their action has begun, and one ending ends them, wherever it comes from.
///
/// An open attempt has no worker and no lease that matters. It keeps its turn and its seat, and its timer is
/// due at its deadline. Restarts and deaths of processes leave all of that as it is.
#[port]
pub trait OpenAttempts: Send + Sync {
    /// Leaves an attempt open under the caller's claim, with the timer of its deadline, its turn and its seat:
    /// all of it or nothing.
    async fn leave_open(&self, claim: &Claim, open: &LeaveOpen) -> Result<LeftOpen, StoreError>;

    /// Says how an attempt ended, if nothing was said before. A report may come while a worker holds the attempt,
    /// and not after the deadline; anything else needs an open attempt.
    async fn say(
        &self,
        job_uid: &str,
        attempt: &Attempt,
        ending: &Ending,
    ) -> Result<Said, StoreError>;

    /// Notes what the target of an attempt said of its progress; `false` if the attempt has ended, or is not
    /// known.
    async fn note_progress(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        line: &str,
    ) -> Result<bool, StoreError>;

    /// Reads an attempt.
    async fn see(&self, job_uid: &str, attempt: &Attempt) -> Result<AttemptSeen, StoreError>;

    /// Records how an attempt ended of which that was [said](Self::say). If it is recorded, or not known, nothing
    /// happens.
    async fn record_ending(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError>;
}
