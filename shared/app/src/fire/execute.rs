//! Performs work items.
//!
//! A message is deleted only after its work is done. A crash before leaves it in the queue, and the
//! worker that receives it next finds in the store how far the work came.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::work_item::WorkItem;
use minutehand_ports::QueueMessage;
use minutehand_ports::store::PulseOf;

use super::counting_turns::CountingTurns;
use super::shared_brakes::SharedBrakes;
use super::sighting::Noticed;
use super::skip_log::SkipLog;
use super::{DeliveryPlace, FirePorts, FireSettings, Heartbeat, Stop, Wait};
use crate::error::Result;
use crate::presence::ApiPresence;

/// Performs work items.
#[derive(Clone)]
pub struct Executor {
    pub(super) ports: FirePorts,
    pub(super) settings: Arc<FireSettings>,
    pub(super) heartbeat: Arc<Heartbeat>,
    pub(super) skip_log: Arc<SkipLog>,
    pub(super) counting: Arc<CountingTurns>,
    pub(super) noticed: Arc<Noticed>,
    /// Tells when pings could be taken; `None` if that was always so.
    pub(super) presence: Option<Arc<ApiPresence>>,
    /// The brakes of origins, if processes share them.
    pub(super) brakes: Option<Arc<SharedBrakes>>,
}

/// How the work on a work item ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Performed {
    /// The work is done; the message can be deleted.
    Done,
    /// The work is done, and the message is deleted.
    Finished,
    /// Another worker holds the attempt, or will claim it. The message must be delivered again after
    /// this much work time.
    Again(Duration),
    /// Nothing was done, because this host has no place for it now, or because it is not its turn. The
    /// message must wait, which does not count as a delivery.
    Waits(Wait),
}

/// Performs work items. [`Executor`] does; tests of hosts have performers of their own.
pub trait Performer: Send + Sync {
    /// Performs a work item. When `stop` fires, an attempt that is not due yet gives its claim back;
    /// an attempt that has started goes on.
    ///
    /// # Errors
    ///
    /// If the store, the queue or the key failed. The message must be delivered again.
    fn perform(
        &self,
        work_item: &WorkItem,
        place: &dyn DeliveryPlace,
        stop: &Stop,
    ) -> impl Future<Output = Result<Performed>> + Send;
}

impl Performer for Executor {
    async fn perform(
        &self,
        work_item: &WorkItem,
        place: &dyn DeliveryPlace,
        stop: &Stop,
    ) -> Result<Performed> {
        // The first thing, so that the end of an outage is known before anything is late for it.
        self.heartbeat.beat().await?;
        // Boxed, as thousands of attempts wait, and no other work item does.
        match work_item {
            WorkItem::Attempt { job, attempt } => {
                return self.attempt(job, attempt, place, stop).await;
            }
            WorkItem::CheckFinished { job, generation } => {
                Box::pin(self.check_finished_due(job, *generation)).await?;
            }
            WorkItem::DeleteJob { job, generation } => {
                Box::pin(self.expire_finished(job, *generation)).await?;
            }
            WorkItem::PurgeCollection { collection_uid } => {
                Box::pin(self.purge(work_item, collection_uid)).await?;
            }
            WorkItem::Alert { collection_uid, alert } => {
                return Box::pin(self.send_alert(collection_uid, alert)).await;
            }
        }
        Ok(Performed::Done)
    }
}

impl Executor {
    /// An executor over these ports.
    #[must_use]
    pub fn new(ports: FirePorts, settings: FireSettings) -> Self {
        let (pulses, clock) = (ports.store.pulses.clone(), ports.clock.clone());
        let heartbeat = Heartbeat::new(pulses, clock, PulseOf::Workers).keeping(settings.history);
        let heartbeat = if settings.is_alone { heartbeat.alone() } else { heartbeat };
        let brakes = ports.brakes.clone().map(|it| SharedBrakes::new(it, ports.clock.clone()));
        Self {
            ports,
            settings: Arc::new(settings),
            heartbeat: Arc::new(heartbeat),
            skip_log: Arc::default(),
            counting: Arc::default(),
            noticed: Arc::default(),
            presence: None,
            brakes: brakes.map(Arc::new),
        }
    }

    /// Sets what tells when pings could be taken. Without it, they always could.
    #[must_use]
    pub fn with_presence(self, presence: Arc<ApiPresence>) -> Self {
        Self { presence: Some(presence), ..self }
    }

    /// Its signs of life. A process that may have no work for a while gives them itself.
    #[must_use]
    pub fn heartbeat(&self) -> Arc<Heartbeat> {
        self.heartbeat.clone()
    }

    /// Sends messages to the workers, this one included.
    pub(super) async fn send(&self, messages: &[QueueMessage]) -> Result<()> {
        Ok(self.ports.queue.send(messages, self.ports.clock.now()).await?)
    }

    async fn purge(&self, work_item: &WorkItem, collection_uid: &str) -> Result<()> {
        if self.ports.store.removal.purge(collection_uid).await? {
            return Ok(());
        }
        // Another message deletes the rest, so that no worker is busy for long.
        let due_at = self.ports.clock.now();
        let rest = QueueMessage { work_item: work_item.clone(), due_at };
        Ok(self.ports.queue.send(&[rest], due_at).await?)
    }
}
