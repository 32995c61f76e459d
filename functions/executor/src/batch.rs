//! Handles a batch of messages, and tells Lambda and the queue what becomes of each.

use std::sync::Arc;
use std::time::Duration;

use actions::{Actions, Aws, SettingsError};
use app::fire::{
    Deadline, Delivery, Disposition, Executor, FirePorts, FireSettings, FireStore, Stop, Unbounded,
    Wait, Worker,
};
use chrono::{DateTime, TimeDelta, Utc};
use domain::work_item::WorkItem;
use events_eventbridge::Bus;
use futures_util::future::join_all;
use ports::{ActionSender, Clock, EventSink};
use queue_sqs::{Batch, BatchAnswer, SqsDelivery, SqsQueue, SqsReceipt};
use runtime::{RandomIds, chain};
use runtime_aws::{ErrorType, Metric, Tally, counting_throttles, print_metrics};
use sealer_kms::KmsSealer;
use store_dynamodb::{BatchingStore, DynamoStore};

use crate::ExecutorSettings;

/// The time of an invocation that is kept for putting messages back and flushing events.
const CLOSING: TimeDelta = TimeDelta::seconds(3);

/// How long a message waits for an origin at which too many attempts are under way.
const ORIGIN_PAUSE: Duration = Duration::from_secs(5);

/// The AWS clients of the executor.
#[derive(Debug, Clone)]
pub struct ExecutorClients {
    /// Reads and writes jobs, claims and history.
    pub dynamodb: aws_sdk_dynamodb::Client,
    /// Puts messages back, and sends those that follow.
    pub sqs: aws_sdk_sqs::Client,
    /// Opens secrets.
    pub kms: aws_sdk_kms::Client,
    /// Receives events.
    pub eventbridge: aws_sdk_eventbridge::Client,
}

/// The executor function.
pub struct Function {
    worker: Worker,
    /// Lambda lets started work end.
    never_stop: Stop,
    queue: SqsQueue,
    clock: Arc<dyn Clock>,
    tally: Arc<Tally>,
    bus: Option<Arc<Bus>>,
    table: String,
}

impl Function {
    /// Creates the function over these clients. Must be called within a Tokio runtime.
    ///
    /// Jobs send to AWS in a role of their own, and without one they do not: the executor's
    /// credentials open the scheduler's own queue and bus.
    ///
    /// # Errors
    ///
    /// Returns an error if the actions cannot be set up.
    pub fn new(
        settings: &ExecutorSettings,
        aws: Aws,
        clients: ExecutorClients,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SettingsError> {
        let region = aws.region.clone();
        let mut wanted = actions::ActionSettings::new(settings.targets);
        wanted.authority.clone_from(&settings.authority);
        wanted.aws = settings.actions_role.as_ref().map(|role| aws.in_role(role));
        wanted.own.clone_from(&settings.own);
        let sender = Arc::new(Actions::new(&wanted)?);
        Ok(Self::with_sender(settings, &region, clients, clock, sender))
    }

    /// Creates the function with its own sender of actions.
    #[must_use]
    pub fn with_sender(
        settings: &ExecutorSettings,
        region: &str,
        clients: ExecutorClients,
        clock: Arc<dyn Clock>,
        sender: Arc<dyn ActionSender>,
    ) -> Self {
        let queue = SqsQueue::new(clients.sqs, &settings.queue_url, clock.clone());
        let bus = settings.event_bus.as_ref();
        let bus = bus.map(|name| Arc::new(Bus::new(clients.eventbridge, name, clock.clone())));
        let tally = Arc::new(Tally::default());
        let events: Arc<dyn EventSink> = Arc::new((tally.clone(), bus.clone()));
        let dynamodb = counting_throttles(&clients.dynamodb, &tally);
        let store = DynamoStore::new(dynamodb, &settings.table);
        let ports = FirePorts {
            // The messages of a batch read and write together.
            store: FireStore::new(Arc::new(BatchingStore::new(Arc::new(store)))),
            queue: Arc::new(queue.clone()),
            sender,
            sealer: Arc::new(KmsSealer::new(clients.kms, &settings.key_id)),
            events: events.clone(),
            clock: clock.clone(),
            ids: Arc::new(RandomIds),
        };
        let fire = FireSettings { region: region.to_owned(), is_quiet: true, is_alone: false };
        let worker = Worker::new(Executor::new(ports, fire), clock.clone(), events);
        let never_stop = Stop::never();
        Self { worker, never_stop, queue, clock, tally, bus, table: settings.table.clone() }
    }

    /// The counts since the metrics were last printed.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Handles the messages of an invocation, which Lambda ends at this work time.
    pub async fn perform(&self, batch: Batch, ends_at: DateTime<Utc>) -> BatchAnswer {
        let deadline = Deadline::at(ends_at - CLOSING);
        let deliveries = batch.deliveries();
        let handled = deliveries.into_iter().map(|delivery| self.handle(delivery, deadline));
        let (mut put_back, mut failed) = (Vec::new(), Vec::new());
        for (message_id, receipt, disposition) in join_all(handled).await {
            match disposition {
                Disposition::Delete => continue,
                Disposition::RetryAfter(after) => put_back.push((receipt, after)),
                Disposition::RetryAtVisibilityTimeout | Disposition::Wait(_) => {}
                // SQS buries a message by itself, after its last delivery.
                Disposition::Bury(_) => put_back.push((receipt, Duration::ZERO)),
            }
            failed.push(message_id);
        }
        self.put_back(&put_back).await;
        self.flush_events().await;
        failed.into_iter().collect()
    }

    /// Prints the counts since the last time.
    pub fn print_metrics(&self) {
        print_metrics(&self.tally, &self.table, self.clock.work_now());
    }

    async fn handle(
        &self,
        delivery: SqsDelivery,
        deadline: Deadline,
    ) -> (String, SqsReceipt, Disposition) {
        let SqsDelivery { message_id, receipt, receives, work_items } = delivery;
        let work_items = work_items.as_deref();
        // Lambda bounds how many batches are performed at once, and a batch has ten messages at most.
        let place = &Unbounded;
        let delivery = Delivery { message_id: &message_id, receives, work_items, place };
        let disposition = self.worker.handle(delivery, deadline, &self.never_stop).await;
        let disposition = match (disposition, work_items) {
            (Disposition::Wait(wait), Ok(work_items)) => {
                self.send_on(work_items, receives, wait).await
            }
            (disposition, _) => disposition,
        };
        (message_id, receipt, disposition)
    }

    /// Sends a message on that has to wait. This delivery does not count.
    async fn send_on(&self, work_items: &[WorkItem], receives: u32, wait: Wait) -> Disposition {
        let after = match wait {
            Wait::For(after) => after,
            Wait::ForOrigin(_) => ORIGIN_PAUSE,
        };
        match self.queue.send_on(work_items, receives.saturating_sub(1), after).await {
            Ok(()) => Disposition::Delete,
            Err(error) => {
                // This delivery counts then.
                tracing::warn!(error = chain(&error), "a message that has to wait was not sent on");
                Disposition::RetryAfter(after)
            }
        }
    }

    async fn put_back(&self, receipts: &[(SqsReceipt, Duration)]) {
        if let Err(error) = self.queue.put_back(receipts).await {
            // The queue delivers them again at their visibility timeout.
            tracing::warn!(error = chain(&error), "messages will be retried later than planned");
        }
    }

    async fn flush_events(&self) {
        let Some(bus) = &self.bus else { return };
        if let Err(lost) = bus.flush().await {
            self.tally.add(Metric::EventsLost, lost.events as u64);
            tracing::error!(error_type = %ErrorType::EventsLost, error = %lost, "events are lost");
        }
    }
}
