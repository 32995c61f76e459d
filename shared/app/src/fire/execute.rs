//! Work items performed, one message at a time.
//!
//! A message is settled only when everything it asks for has been done: a crash before leaves it in
//! the queue, and whoever gets it next finds in the store how far it came.

use std::sync::Arc;
use std::time::Duration;

use domain::work_item::WorkItem;
use ports::QueueMessage;

use super::{FirePorts, FireSettings};
use crate::error::AppError;

/// Performs work items.
#[derive(Clone)]
pub struct Executor {
    pub(super) ports: FirePorts,
    pub(super) settings: Arc<FireSettings>,
}

/// What became of a work item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Performed {
    /// Its message can go.
    Done,
    /// Another has it, or will have it: its message comes back after this time of work.
    Again(Duration),
}

impl Executor {
    /// An executor over these ports.
    #[must_use]
    pub fn new(ports: FirePorts, settings: FireSettings) -> Self {
        Self { ports, settings: Arc::new(settings) }
    }

    /// Lets nothing wait for its instant any more: what does gives its claim back, and its message
    /// can be had again. What has begun goes on.
    pub fn stop(&self) {
        self.ports.gate.close();
    }

    /// Performs a work item.
    ///
    /// # Errors
    ///
    /// If the store, the queue or the key did not do their part: the message comes back by itself.
    pub async fn perform(&self, work_item: &WorkItem) -> Result<Performed, AppError> {
        match work_item {
            WorkItem::Attempt { job, attempt } => self.attempt(job, attempt).await,
            WorkItem::CheckFinished { job, generation } => {
                self.conclude_stuck(job, *generation).await?;
                Ok(Performed::Done)
            }
            WorkItem::DeleteJob { job, generation } => {
                self.ports.store.delete_finished(job, *generation).await?;
                Ok(Performed::Done)
            }
            WorkItem::PurgeCollection { collection_uid } => {
                if !self.ports.store.purge(collection_uid).await? {
                    // The rest by another message, so that no worker is at it for long.
                    let due_at = self.ports.clock.now();
                    let rest = QueueMessage { work_item: work_item.clone(), due_at };
                    self.ports.queue.send(&[rest], due_at).await?;
                }
                Ok(Performed::Done)
            }
        }
    }
}
