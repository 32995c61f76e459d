//! Receiving work items as a worker in the process, and saying what becomes of them.
//!
//! On AWS, Lambda receives the messages and hands them over as events, so SQS implements
//! [`DispatchQueue`](crate::DispatchQueue) only.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::work_item::{UnreadableMessage, WorkItem};

use crate::QueueError;

/// The longest time for which a message can be put back or set aside; the limit of SQS.
pub const HIDDEN_MAX: Duration = Duration::from_hours(12);

/// A message as a worker receives it.
#[derive(Debug)]
pub struct TakenMessage {
    /// Identifies this delivery when the message is finished, put back or buried.
    pub receipt: ReceiptHandle,
    /// What the message asks for.
    pub work_item: Result<WorkItem, UnreadableMessage>,
    /// When the work may start: at most two seconds of work time from now.
    pub due_at: DateTime<Utc>,
    /// When the message was sent.
    pub sent_at: DateTime<Utc>,
    /// How often the message was delivered, this time included.
    pub receive_count: u32,
}

/// Identifies one delivery of one message. It is void once the message is delivered again.
///
/// It is small: a million messages may wait for a place, and the process holds a receipt of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReceiptHandle {
    /// The message, as the queue numbers it.
    pub id: i64,
    /// Its delivery.
    pub delivery: i64,
}

impl fmt::Display for ReceiptHandle {
    /// The message and its delivery, for the log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.id, self.delivery)
    }
}

/// The side of the queue from which workers in the process take messages.
///
/// A delivered message is hidden from other workers for the visibility timeout, and is delivered again
/// unless its worker finishes it. After too many deliveries it goes to the dead letters. Times for which
/// messages are hidden are spans of work time: the queue has the clock.
///
/// A void receipt does nothing, in every method. After an error, a part may be done.
#[async_trait]
pub trait Deliveries: Send + Sync {
    /// Waits until a message can be delivered. Returns up to `max` messages, and at least one, in the
    /// order in which they are due.
    ///
    /// Several callers may wait; each message goes to one of them. Cancelling the call delivers
    /// nothing.
    async fn receive(&self, max: usize) -> Result<Vec<TakenMessage>, QueueError>;

    /// Deletes messages whose work is done.
    async fn finish(&self, receipts: &[ReceiptHandle]) -> Result<(), QueueError>;

    /// Delivers messages again after this much work time, at most [`HIDDEN_MAX`].
    async fn put_back(&self, receipts: &[(ReceiptHandle, Duration)]) -> Result<(), QueueError>;

    /// Sets messages aside of which nothing was done: as [`put_back`](Self::put_back), but the
    /// delivery does not count. A message that is set aside for [`HIDDEN_MAX`] waits for
    /// [`take_again`](Self::take_again).
    async fn set_aside(&self, receipts: &[(ReceiptHandle, Duration)]) -> Result<(), QueueError>;

    /// Delivers messages that were set aside, as many as the queue allows at once, in this order.
    /// `None` stands for a message that was delivered again in the meantime, or no longer exists.
    async fn take_again(
        &self,
        receipts: &[ReceiptHandle],
    ) -> Result<Vec<Option<TakenMessage>>, QueueError>;

    /// Moves messages to the dead letters, for this reason.
    async fn bury(&self, receipts: &[ReceiptHandle], why: &str) -> Result<(), QueueError>;
}
