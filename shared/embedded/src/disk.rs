//! Whether what is answered can be kept.

use std::sync::mpsc::Sender;

use async_trait::async_trait;
use ports::StoreError;
use tokio::sync::oneshot;

use crate::log::NoWrites;
use crate::queue::{Queue, QueueCommand};
use crate::serving::ThreadMessage;
use crate::store::Store;
use crate::thread::StoreRequest;

/// The disk under a store and a queue.
#[derive(Debug, Clone)]
pub struct WriteProbe {
    store: Sender<ThreadMessage<StoreRequest>>,
    queue: Sender<ThreadMessage<QueueCommand>>,
}

/// Its thread has ended.
#[derive(Debug, thiserror::Error)]
#[error("it is closed")]
struct Closed;

impl WriteProbe {
    /// The disk under these.
    #[must_use]
    pub fn under(store: &Store, queue: &Queue) -> Self {
        Self { store: store.messages(), queue: queue.messages() }
    }
}

#[async_trait]
impl ports::Disk for WriteProbe {
    async fn takes_writes(&self) -> Result<(), StoreError> {
        takes_writes(&self.store).await?;
        takes_writes(&self.queue).await
    }
}

async fn takes_writes<R: Send>(messages: &Sender<ThreadMessage<R>>) -> Result<(), StoreError> {
    let (reply, answer) = oneshot::channel();
    // If it cannot be asked the answer says so, too.
    let _ = messages.send(ThreadMessage::Try(reply));
    let answer: Result<Result<(), NoWrites>, _> = answer.await;
    match answer {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(StoreError::Unavailable(error.into())),
        Err(_) => Err(StoreError::Unavailable(Closed.into())),
    }
}
