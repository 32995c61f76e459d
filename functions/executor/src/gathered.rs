//! Gathers what the attempts of an invocation send on, so that it shares messages.
//!
//! Sends go through one task: while it sends some, the next ones gather. A send that comes alone waits for no
//! other. It is performed even if its caller has gone, as if its answer was lost. A crash loses what was not
//! answered: its senders have not gone on, and their messages come again.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_ports::{DispatchQueue, QueueError, QueueMessage, chain};
use tokio::sync::{mpsc, oneshot};

/// The most sends that may wait. Further callers wait for a place.
const WAITING_MAX: usize = 4_096;

/// A send, and where its answer goes.
struct Send {
    messages: Vec<QueueMessage>,
    now: DateTime<Utc>,
    reply: oneshot::Sender<Result<(), QueueError>>,
}

/// A queue to which concurrent sends go together.
pub(crate) struct GatheredQueue {
    sends: mpsc::Sender<Send>,
}

impl GatheredQueue {
    /// Must be called within a Tokio runtime; its task ends when the value is dropped.
    pub(crate) fn new(queue: Arc<dyn DispatchQueue>) -> Self {
        let (sends, waiting) = mpsc::channel(WAITING_MAX);
        tokio::spawn(send(queue, waiting));
        Self { sends }
    }
}

#[async_trait]
impl DispatchQueue for GatheredQueue {
    async fn send(&self, messages: &[QueueMessage], now: DateTime<Utc>) -> Result<(), QueueError> {
        let (reply, answer) = oneshot::channel();
        // If it cannot be sent, the reply channel is closed.
        let _ = self.sends.send(Send { messages: messages.to_vec(), now, reply }).await;
        let ended = || QueueError::Unavailable("its task has ended".into());
        answer.await.unwrap_or_else(|_| Err(ended()))
    }
}

async fn send(queue: Arc<dyn DispatchQueue>, mut waiting: mpsc::Receiver<Send>) {
    let mut group = Vec::new();
    while waiting.recv_many(&mut group, WAITING_MAX).await > 0 {
        let now = group.iter().map(|it| it.now).max().unwrap_or_default();
        let messages: Vec<_> = group.iter().flat_map(|it| it.messages.iter().cloned()).collect();
        let sent = queue.send(&messages, now).await;
        for Send { reply, .. } in group.drain(..) {
            // The caller may have gone.
            drop(reply.send(sent.as_ref().copied().map_err(copy)));
        }
    }
}

/// An error for each of those who sent together. What is refused of one is tried again by all: each decides then
/// for itself.
fn copy(error: &QueueError) -> QueueError {
    QueueError::Unavailable(chain(error).into())
}
