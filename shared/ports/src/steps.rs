//! Steps of firing that change the queue and the store.
//!
//! Where both are one database, a step is one transaction. Where they are two, it is what
//! `minutehand_app::fire` has in `two_steps`: first the queue, then the store.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::store::{Advance, CounterUpdate, Finish, StoreError};
use crate::{QueueError, QueueMessage, ReceiptHandle};

/// Sends what timers are due for, and moves the timers.
#[async_trait]
pub trait DispatchStep: Send + Sync {
    /// Sends the messages, and moves the timers to their next due times, each if it is where it was
    /// seen. The answers are those of [`Timers::advance`](crate::Timers::advance).
    ///
    /// After an error, some messages may be sent, and no timer has moved: the caller does all of it
    /// again. A timer never moves before its messages are stored.
    async fn dispatch(
        &self,
        messages: &[QueueMessage],
        moves: &[Advance],
        now: DateTime<Utc>,
    ) -> Result<Vec<Result<bool, StoreError>>, QueueError>;
}

/// Does what follows a record: sends the next attempt, counts the one that ended, finishes the job of which
/// it was the last, deletes its message.
#[async_trait]
pub trait SettleStep: Send + Sync {
    /// Performs a settlement.
    ///
    /// After an error, any part of it may be done, and the caller does all of it again: attempts are
    /// claimed once and counted once.
    async fn settle(&self, settlement: Settlement<'_>) -> Result<Settled, StepError>;

    /// Whether it finishes jobs. If not, the caller does so after the settlement.
    fn finishes_jobs(&self) -> bool {
        false
    }
}

/// What follows a record.
#[derive(Debug, Clone, Copy)]
pub struct Settlement<'a> {
    /// The messages to send.
    pub next: &'a [QueueMessage],
    /// What to count, if anything.
    pub count: Option<&'a CounterUpdate>,
    /// The job to finish, if this was its last attempt; only for a step that [finishes jobs].
    ///
    /// [finishes jobs]: SettleStep::finishes_jobs
    pub finish: Option<&'a Finish>,
    /// The message that is done with it; `None` if more is to be done, or if another process deletes it.
    pub receipt: Option<ReceiptHandle>,
    /// The time of the schedule.
    pub now: DateTime<Utc>,
}

/// How far a settlement came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// To its end.
    Done {
        /// Whether the message is deleted. If not, the caller deletes it as any other.
        is_finished: bool,
        /// Whether the job is finished. If not, it may have changed: the caller looks again.
        is_job_finished: bool,
    },
    /// Not to its end, because others were counted since the job was read, or the job is gone.
    Stale {
        /// Whether the next messages are sent all the same.
        is_sent: bool,
    },
}

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
