//! Whether what is answered can be kept.

use std::sync::mpsc::Sender;

use async_trait::async_trait;
use ports::StoreError;
use tokio::sync::oneshot;

use crate::log::NoWrites;
use crate::queue::{Call as QueueCall, Queue};
use crate::serving::Message;
use crate::store::Store;
use crate::thread::Call as StoreCall;

/// The disk under a store and a queue.
#[derive(Debug, Clone)]
pub struct Disk {
    store: Sender<Message<StoreCall>>,
    queue: Sender<Message<QueueCall>>,
}

/// Its thread has ended.
#[derive(Debug, thiserror::Error)]
#[error("it is closed")]
struct Closed;

impl Disk {
    /// The disk under these.
    #[must_use]
    pub fn under(store: &Store, queue: &Queue) -> Self {
        Self { store: store.messages(), queue: queue.messages() }
    }
}

#[async_trait]
impl ports::Disk for Disk {
    async fn takes_writes(&self) -> Result<(), StoreError> {
        takes_writes(&self.store).await?;
        takes_writes(&self.queue).await
    }
}

async fn takes_writes<R: Send>(messages: &Sender<Message<R>>) -> Result<(), StoreError> {
    let (reply, answer) = oneshot::channel();
    // If it cannot be asked the answer says so, too.
    let _ = messages.send(Message::Try(reply));
    let answer: Result<Result<(), NoWrites>, _> = answer.await;
    match answer {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(StoreError::Unavailable(error.into())),
        Err(_) => Err(StoreError::Unavailable(Closed.into())),
    }
}
