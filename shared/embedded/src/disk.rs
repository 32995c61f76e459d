//! Checks whether the disk accepts writes.

use std::sync::mpsc::Sender;

use async_trait::async_trait;
use minutehand_ports::StoreError;
use tokio::sync::oneshot;

use crate::log::NoWrites;
use crate::queue::{Queue, QueueCommand};
use crate::serving::ThreadMessage;
use crate::store::Store;
use crate::thread::StoreRequest;

/// Checks the disk under a store and a queue.
#[derive(Debug, Clone)]
pub struct WriteProbe {
    store: Sender<ThreadMessage<StoreRequest>>,
    queue: Sender<ThreadMessage<QueueCommand>>,
}

/// The thread of the store or the queue has ended.
#[derive(Debug, thiserror::Error)]
#[error("it is closed")]
struct Closed;

impl WriteProbe {
    /// A probe of the disk under this store and queue.
    #[must_use]
    pub fn under(store: &Store, queue: &Queue) -> Self {
        Self { store: store.messages(), queue: queue.messages() }
    }
}

#[async_trait]
impl minutehand_ports::Disk for WriteProbe {
    async fn accepts_writes(&self) -> Result<(), StoreError> {
        accepts_writes(&self.store).await?;
        accepts_writes(&self.queue).await
    }
}

async fn accepts_writes<R: Send>(messages: &Sender<ThreadMessage<R>>) -> Result<(), StoreError> {
    let (reply, answer) = oneshot::channel();
    // If the thread has ended, so has the channel of the answer.
    let _ = messages.send(ThreadMessage::CheckDisk(reply));
    let answer: Result<Result<(), NoWrites>, _> = answer.await;
    match answer {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(StoreError::Unavailable(error.into())),
        Err(_) => Err(StoreError::Unavailable(Closed.into())),
    }
}
