//! Work items performed, one message at a time.
//!
//! A message is settled only when everything it asks for has been done: a crash before leaves it in
//! the queue, and whoever gets it next finds in the store how far it came.

use std::sync::Arc;
use std::time::Duration;

use domain::attempt::Attempt;
use domain::work_item::{JobRef, WorkItem};
use ports::QueueMessage;

use super::{FirePorts, FireSettings, Stop};
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

impl Performed {
    /// What becomes of a message that asked for both.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Done, other) | (other, Self::Done) => other,
            (Self::Again(one), Self::Again(other)) => Self::Again(one.min(other)),
        }
    }
}

impl Executor {
    /// An executor over these ports.
    #[must_use]
    pub fn new(ports: FirePorts, settings: FireSettings) -> Self {
        Self { ports, settings: Arc::new(settings) }
    }

    /// Performs a work item. When `stop` fires, an attempt that is not due yet gives its claim back;
    /// an attempt that has started goes on.
    ///
    /// # Errors
    ///
    /// If the store, the queue or the key did not do their part: the message comes back by itself.
    pub async fn perform(&self, work_item: &WorkItem, stop: &Stop) -> Result<Performed, AppError> {
        match work_item {
            WorkItem::Execute { job, attempts } => self.attempts(job, attempts, stop).await,
            WorkItem::Conclude { job, generation } => {
                self.check_finished_due(job, *generation).await?;
                Ok(Performed::Done)
            }
            WorkItem::Delete { job, generation } => {
                self.ports.store.removal.delete_finished(job, *generation).await?;
                Ok(Performed::Done)
            }
            WorkItem::Purge { collection_uid } => {
                if !self.ports.store.removal.purge(collection_uid).await? {
                    // The rest by another message, so that no worker is at it for long.
                    let due_at = self.ports.clock.now();
                    let rest = QueueMessage { work_item: work_item.clone(), due_at };
                    self.ports.queue.send(&[rest], due_at).await?;
                }
                Ok(Performed::Done)
            }
        }
    }

    async fn attempts(
        &self,
        job: &JobRef,
        attempts: &[Attempt],
        stop: &Stop,
    ) -> Result<Performed, AppError> {
        if let [attempt] = attempts {
            return self.attempt(job, attempt, stop).await;
        }
        let each = attempts.iter().map(|attempt| self.attempt(job, attempt, stop));
        let mut performed = Performed::Done;
        for one in futures_util::future::join_all(each).await {
            performed = performed.and(one?);
        }
        Ok(performed)
    }
}
