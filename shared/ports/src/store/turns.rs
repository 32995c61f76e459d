use minutehand_domain::attempt::{Attempt, Record};
use minutehand_domain::firing::{LeftOut, TurnOrder};
use minutehand_ports_macro::port;

use super::{Claim, StoreError};

/// The order of a job's turns, as an attempt finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnsRead {
    /// The number of the order; 0 if there is none yet.
    pub number: u64,
    /// The order. An attempt that has ended no longer has its turn.
    pub order: TurnOrder,
    /// What is known of the attempt itself.
    pub own: OwnAttempt,
}

/// What is known of an attempt that asks for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnAttempt {
    /// Nothing.
    New,
    /// A worker has claimed it.
    Begun,
    /// It has ended.
    Ended(Record),
    /// Its occurrence was left out, because it was not its turn.
    LeftOut,
}

/// An order to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnsWrite {
    /// The job.
    pub job_uid: String,
    /// The number of the order that was read.
    pub as_read: u64,
    /// The order. It gets the next number.
    pub order: TurnOrder,
    /// The occurrence that is left out together with it.
    pub left_out: Option<LeftOut>,
}

/// The turns of jobs that let no attempts overlap. Other jobs have no such item.
#[port]
pub trait Turns: Send + Sync {
    /// Reads the order of a job: first the order, and then whether the attempt with the turn has ended.
    async fn read_turns(&self, job_uid: &str, attempt: &Attempt) -> Result<TurnsRead, StoreError>;

    /// Stores an order; `false` if it has changed since it was read. A caller whose answer was lost reads
    /// again, and finds what it stored.
    async fn write_turns(&self, write: &TurnsWrite) -> Result<bool, StoreError>;

    /// Gives back the turn of a claim under which nothing was done. If the claim does not have it, nothing
    /// happens.
    async fn give_back_turn(&self, claim: &Claim) -> Result<(), StoreError>;
}
