//! Handles a batch of messages, and tells Lambda and the queue what becomes of each.

use std::slice::from_ref;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::join_all;
use minutehand_actions::{Actions, Aws, SettingsError};
use minutehand_app::fire::{
    Delivery, Disposition, Executor, FirePorts, FireSettings, FireStore, SendThenCount, Stop,
    Unbounded, Wait, Worker,
};
use minutehand_app::{COMPLETION_KEY, CompletionUrls};
use minutehand_archive_objects::ArchivedBodies;
use minutehand_domain::firing::limits::{FUNCTION, VISIBILITY};
use minutehand_domain::work_item::{PACKET_RECEIVES_MAX, UnreadableMessage, WorkItem};
use minutehand_events_eventbridge::Bus;
use minutehand_ports::{ActionSender, Clock, DispatchQueue, EventSink, IdSource, Sealer};
use minutehand_queue_sqs::{Batch, SqsDelivery, SqsQueue, SqsReceipt};
use minutehand_runtime::{RandomIds, chain};
use minutehand_runtime_aws::{BatchAnswer, DynamoDb, ErrorType, Metric, Tally, print_metrics};
use minutehand_sealer_kms::KmsSealer;
use minutehand_store_dynamodb::{DynamoStore, StoredKey, gathering};

use crate::ExecutorSettings;
use crate::gathered::GatheredQueue;

/// The time of an invocation that is kept for putting messages back and flushing events.
const CLOSING: TimeDelta = TimeDelta::seconds(3);

/// How long a message waits for an origin at which too many attempts are under way.
const ORIGIN_PAUSE: Duration = Duration::from_secs(5);

/// The AWS clients of the executor.
#[derive(Debug, Clone)]
pub struct ExecutorClients {
    /// Reads and writes jobs, claims and history.
    pub dynamodb: DynamoDb,
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

/// A delivery of a message, whatever it asks for.
#[derive(Clone, Copy)]
struct Work<'a> {
    message_id: &'a str,
    receives: u32,
    /// When Lambda ends the invocation.
    ends_at: DateTime<Utc>,
}

/// What is left of a work item of a packet.
#[derive(Debug, Clone, Copy)]
enum Left {
    Nothing,
    /// It has to come again after this time, and could not be sent on.
    NotSent(Duration),
    /// The store throttled it, and it has to come again after this time.
    Throttled(Duration),
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
        let mut wanted = minutehand_actions::ActionSettings::new(settings.targets);
        wanted.authority.clone_from(&settings.authority);
        wanted.aws = settings.actions_role.as_ref().map(|role| aws.in_role(role));
        wanted.own.clone_from(&settings.own);
        wanted.keep_bodies = settings.bodies.is_some();
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
        let dynamodb = clients.dynamodb.counting_throttles(&tally);
        let store = DynamoStore::new(dynamodb.client(), &settings.table)
            .with_connector(dynamodb.connector())
            .with_history(settings.history);
        let store = Arc::new(store);
        // The messages of a batch read and count together.
        let (snapshots, counters) = gathering(&store);
        let gathered: Arc<dyn DispatchQueue> =
            Arc::new(GatheredQueue::new(Arc::new(queue.clone())));
        let ids: Arc<dyn IdSource> = Arc::new(RandomIds);
        let sealer: Arc<dyn Sealer> = Arc::new(KmsSealer::new(clients.kms, &settings.key_id));
        let key = StoredKey::new(store.clone(), sealer.clone(), ids.clone(), COMPLETION_KEY);
        let completions = settings.public_url.as_deref();
        let completions = completions.map(|url| Arc::new(CompletionUrls::new(url, Arc::new(key))));
        let ports = FirePorts {
            settle: Arc::new(SendThenCount { queue: gathered.clone(), counters: counters.clone() }),
            brakes: Some(store.clone()),
            store: FireStore { snapshots, counters, ..FireStore::new(store) },
            queue: gathered,
            sender,
            sealer,
            events: events.clone(),
            clock: clock.clone(),
            ids,
            bodies: settings.bodies.clone().map(|it| Arc::new(ArchivedBodies::new(it)) as _),
            completions,
        };
        let fire = FireSettings {
            region: region.to_owned(),
            is_quiet: true,
            is_alone: false,
            history: settings.history,
        };
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
        let deliveries = batch.deliveries();
        let handled = deliveries.into_iter().map(|delivery| self.handle(delivery, ends_at));
        let (mut put_back, mut failed) = (Vec::new(), Vec::new());
        for (message_id, receipt, disposition) in join_all(handled).await {
            match disposition {
                Disposition::Delete | Disposition::Deleted => continue,
                Disposition::RetryAfter(after) | Disposition::RetryThrottled(after) => {
                    put_back.push((receipt, after));
                }
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
        ends_at: DateTime<Utc>,
    ) -> (String, SqsReceipt, Disposition) {
        let SqsDelivery { message_id, receipt, receives, work_items } = delivery;
        let work = Work { message_id: &message_id, receives, ends_at };
        let disposition = match work_items.as_deref() {
            Err(error) => self.work(work, Err(error)).await,
            Ok([work_item]) => self.alone(work, work_item).await,
            Ok(packet) if receives > PACKET_RECEIVES_MAX => self.divide(work, packet).await,
            Ok(packet) => self.packet(work, packet).await,
        };
        (message_id, receipt, disposition)
    }

    async fn work(
        &self,
        work: Work<'_>,
        work_item: Result<&WorkItem, &UnreadableMessage>,
    ) -> Disposition {
        let Work { message_id, receives, ends_at } = work;
        // Lambda bounds how many batches are performed at once, and a batch has few messages.
        let place = &Unbounded;
        let delivery = Delivery { message_id: &message_id, receives, work_item, place };
        self.worker.handle(delivery, ends_at - CLOSING, &self.never_stop).await
    }

    /// Handles a message with one work item. If it has to wait, it is sent on, and this delivery does
    /// not count.
    async fn alone(&self, work: Work<'_>, work_item: &WorkItem) -> Disposition {
        let disposition = self.work(work, Ok(work_item)).await;
        let Disposition::Wait(wait) = disposition else { return disposition };
        let (deliveries, after) = (work.receives.saturating_sub(1), pause(&wait));
        if self.send_on(from_ref(work_item), deliveries, after).await {
            return Disposition::Delete;
        }
        // This delivery counts then.
        Disposition::RetryAfter(after)
    }

    /// Handles a packet: each work item by itself. The packet comes again for work items that could not be
    /// sent on, and if the store throttles most of it: as messages of their own they would be more load. What
    /// is done then finds that, and does nothing again.
    async fn packet(&self, work: Work<'_>, work_items: &[WorkItem]) -> Disposition {
        let each = work_items.iter().map(|work_item| self.of_packet(work, work_item));
        let each = join_all(each).await;
        if let Some(after) = mostly_throttled(&each) {
            return Disposition::RetryThrottled(after);
        }
        let mut again = Vec::new();
        for (left, work_item) in each.iter().zip(work_items) {
            match left {
                Left::Nothing => {}
                Left::NotSent(after) => again.push(*after),
                Left::Throttled(after) => {
                    if !self.send_on(from_ref(work_item), 0, *after).await {
                        again.push(*after);
                    }
                }
            }
        }
        again.into_iter().min().map_or(Disposition::Delete, Disposition::RetryAfter)
    }

    /// Handles a work item of a packet. One that has to come later is sent at once as a message of its
    /// own, with deliveries of its own, unless the store throttles.
    async fn of_packet(&self, work: Work<'_>, work_item: &WorkItem) -> Left {
        let after = match self.work(work, Ok(work_item)).await {
            Disposition::Delete | Disposition::Deleted => return Left::Nothing,
            Disposition::RetryThrottled(after) => return Left::Throttled(after),
            Disposition::RetryAfter(after) => after,
            Disposition::Wait(wait) => pause(&wait),
            Disposition::RetryAtVisibilityTimeout => {
                // When the packet would be visible again; the lease has ended by then.
                let visible_at = work.ends_at + (VISIBILITY - FUNCTION);
                (visible_at - self.clock.work_now()).to_std().unwrap_or_default()
            }
            // A packet is divided long before its last delivery.
            Disposition::Bury(_) => Duration::ZERO,
        };
        let is_sent = self.send_on(from_ref(work_item), 0, after).await;
        if is_sent { Left::Nothing } else { Left::NotSent(after) }
    }

    /// Divides a packet that was delivered too often into messages of one work item each.
    async fn divide(&self, work: Work<'_>, work_items: &[WorkItem]) -> Disposition {
        let Work { message_id, receives, .. } = work;
        tracing::warn!(
            message_id,
            receives,
            "a packet keeps failing, so its messages are sent one by one"
        );
        let is_sent = self.send_on(work_items, 0, Duration::ZERO).await;
        if is_sent { Disposition::Delete } else { Disposition::RetryAtVisibilityTimeout }
    }

    /// Sends work items on as messages of their own. Returns whether the queue took them.
    async fn send_on(&self, work_items: &[WorkItem], deliveries: u32, after: Duration) -> bool {
        let sent = self.queue.send_on(work_items, deliveries, after).await;
        if let Err(error) = &sent {
            tracing::warn!(error = chain(error), "a message that has to wait was not sent on");
        }
        sent.is_ok()
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

/// How long a message waits for which there is no place.
const fn pause(wait: &Wait) -> Duration {
    match wait {
        Wait::For(after) => *after,
        Wait::ForOrigin(_) => ORIGIN_PAUSE,
    }
}

/// When a packet has to come again of which the store throttles more than half.
fn mostly_throttled(each: &[Left]) -> Option<Duration> {
    let after = |left: &Left| match left {
        Left::Throttled(after) => Some(*after),
        Left::Nothing | Left::NotSent(_) => None,
    };
    let throttled = each.iter().filter_map(after);
    if throttled.clone().count() * 2 > each.len() { throttled.max() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_comes_back_whole_if_more_than_half_of_it_is_throttled() {
        let (done, late) = (Left::Nothing, Left::NotSent(Duration::from_secs(30)));
        let throttled = |seconds| Left::Throttled(Duration::from_secs(seconds));
        for (each, expected) in [
            (&[done, late][..], None),
            (&[done, throttled(5)], None),
            (&[throttled(5), done, throttled(7)], Some(7)),
            (&[throttled(5)], Some(5)),
        ] {
            assert_eq!(mostly_throttled(each), expected.map(Duration::from_secs), "{each:?}");
        }
    }
}
