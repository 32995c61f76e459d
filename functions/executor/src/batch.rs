//! A batch, message by message.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use actions::{Actions, Aws, SettingsError};
use app::fire::{Executor, FirePorts, FireSettings, FireStore, Performed, Stop};
use chrono::{DateTime, TimeDelta, Utc};
use domain::firing::limits::{RECEIVES_MAX, VISIBILITY};
use domain::work_item::WorkItem;
use events_eventbridge::Bus;
use futures_util::FutureExt;
use futures_util::future::join_all;
use ports::{ActionSender, Clock, UnreadableMessage};
use queue_sqs::{Batch, BatchAnswer, SqsDelivery, SqsQueue, SqsReceipt};
use runtime::{RandomIds, chain};
use runtime_aws::{ErrorType, Metric, Tally, print_metrics};
use sealer_kms::KmsSealer;
use store_dynamodb::{BatchingStore, DynamoStore};

use crate::ExecutorSettings;

/// What is left of an invocation's time for putting messages back and telling of them.
const ENDING: TimeDelta = TimeDelta::seconds(3);
/// How long a message stays away whose work failed for a reason of ours, the first time.
const FAILED_PAUSE: Duration = Duration::from_secs(5);
/// How often that doubles before it is as long as the queue would keep it away.
const FAILED_DOUBLINGS_MAX: u32 = 5;

/// The clients of AWS that the executor calls.
#[derive(Debug, Clone)]
pub struct ExecutorClients {
    /// Where everything is kept.
    pub dynamodb: aws_sdk_dynamodb::Client,
    /// Where messages come from.
    pub sqs: aws_sdk_sqs::Client,
    /// Who opens secrets.
    pub kms: aws_sdk_kms::Client,
    /// Who is told.
    pub eventbridge: aws_sdk_eventbridge::Client,
}

/// The function.
pub struct Function {
    executor: Executor,
    /// Lambda lets work end by itself.
    never: Stop,
    queue: SqsQueue,
    clock: Arc<dyn Clock>,
    tally: Arc<Tally>,
    bus: Option<Arc<Bus>>,
    table: String,
}

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is deleted.
    Finished,
    /// It comes back after this time.
    BackAfter(Duration),
    /// It comes back when the queue says.
    Back,
}

impl Function {
    /// The function over these clients. It has to be made within a runtime.
    ///
    /// # Errors
    ///
    /// If the actions cannot be set up.
    pub fn new(
        settings: &ExecutorSettings,
        aws: Aws,
        clients: ExecutorClients,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SettingsError> {
        let region = aws.region.clone();
        let mut wanted = actions::ActionSettings::new(settings.targets);
        wanted.authority.clone_from(&settings.authority);
        wanted.aws = Some(aws);
        let sender = Arc::new(Actions::new(&wanted)?);
        Ok(Self::with_sender(settings, &region, clients, clock, sender))
    }

    fn with_sender(
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
        let store = DynamoStore::new(clients.dynamodb, &settings.table);
        let ports = FirePorts {
            // The jobs of a batch are read together.
            store: FireStore::new(Arc::new(BatchingStore::new(Arc::new(store)))),
            queue: Arc::new(queue.clone()),
            sender,
            sealer: Arc::new(KmsSealer::new(clients.kms, &settings.key_id)),
            events: Arc::new((tally.clone(), bus.clone())),
            clock: clock.clone(),
            ids: Arc::new(RandomIds),
        };
        let fire = FireSettings { region: region.to_owned(), is_quiet: true, catch_up_from: None };
        let executor = Executor::new(ports, fire);
        Self {
            executor,
            never: Stop::never(),
            queue,
            clock,
            tally,
            bus,
            table: settings.table.clone(),
        }
    }

    /// What became of messages since the metrics were last printed.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Performs the messages of an invocation, which ends at this time of work at the latest.
    pub async fn perform(&self, batch: Batch, ends_at: DateTime<Utc>) -> BatchAnswer {
        let stop_at = ends_at - ENDING;
        let deliveries = batch.deliveries();
        let performed = deliveries.into_iter().map(|delivery| self.message(delivery, stop_at));
        let (mut away, mut failed) = (Vec::new(), Vec::new());
        for (message_id, receipt, fate) in join_all(performed).await {
            match fate {
                Fate::Finished => continue,
                Fate::BackAfter(after) => away.push((receipt, after)),
                Fate::Back => {}
            }
            failed.push(message_id);
        }
        self.put_back(&away).await;
        self.flush_events().await;
        failed.into_iter().collect()
    }

    /// Prints what was counted since the last time.
    pub fn print_metrics(&self) {
        print_metrics(&self.tally, &self.table, self.clock.work_now());
    }

    async fn message(
        &self,
        delivery: SqsDelivery,
        stop_at: DateTime<Utc>,
    ) -> (String, SqsReceipt, Fate) {
        let SqsDelivery { message_id, receipt, receives, work_item } = delivery;
        let fate = match work_item {
            Ok(work_item) => self.work_item(&work_item, receives, stop_at).await,
            Err(error) => self.unreadable(&message_id, &error),
        };
        if fate != Fate::Finished && receives >= RECEIVES_MAX {
            self.tally.add(Metric::DeadLetters, 1);
            tracing::error!(
                error_type = %ErrorType::DeadLetter,
                message_id,
                receives,
                "a message goes to the dead letters"
            );
        }
        (message_id, receipt, fate)
    }

    async fn work_item(&self, work_item: &WorkItem, receives: u32, stop_at: DateTime<Utc>) -> Fate {
        let left = (stop_at - self.clock.work_now()).to_std().unwrap_or_default();
        let performed =
            AssertUnwindSafe(self.executor.perform(work_item, &self.never)).catch_unwind();
        let performed = tokio::select! {
            biased;
            performed = performed => performed,
            () = self.clock.wait(left) => {
                tracing::error!(error_type = %ErrorType::MessageTimedOut, "a work item took too long");
                return Fate::Back;
            }
        };
        match performed {
            Ok(Ok(Performed::Done)) => Fate::Finished,
            Ok(Ok(Performed::Again(after))) => Fate::BackAfter(after),
            Ok(Err(error)) => {
                let error = chain(&error);
                tracing::error!(error_type = %ErrorType::MessageFailed, error, "a work item comes back");
                Fate::BackAfter(failed_pause(receives))
            }
            // The panic itself is in the log. Its claim holds until its lease is over.
            Err(_) => {
                tracing::error!(error_type = %ErrorType::MessagePanicked, "a work item comes back");
                Fate::Back
            }
        }
    }

    fn unreadable(&self, message_id: &str, error: &UnreadableMessage) -> Fate {
        let (error_type, fate) = match error {
            UnreadableMessage::Newer { .. } => (ErrorType::MessageNewer, Fate::Back),
            UnreadableMessage::Malformed(_) | UnreadableMessage::Nonsense(_) => {
                (ErrorType::MessageUnreadable, Fate::BackAfter(Duration::ZERO))
            }
        };
        self.tally.add(Metric::MessagesUnreadable, 1);
        tracing::error!(%error_type, message_id, %error, "a message cannot be read");
        fate
    }

    async fn put_back(&self, away: &[(SqsReceipt, Duration)]) {
        if let Err(error) = self.queue.put_back(away).await {
            // They come back when the queue says.
            tracing::warn!(error = chain(&error), "messages come back later than they could");
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

/// How long a message stays away that failed for a reason of ours: longer each time, so that all its
/// deliveries together outlast an outage of half an hour.
fn failed_pause(receives: u32) -> Duration {
    let doublings = receives.saturating_sub(1).min(FAILED_DOUBLINGS_MAX);
    (FAILED_PAUSE * 2_u32.pow(doublings)).min(VISIBILITY.to_std().unwrap_or(FAILED_PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_stays_away_longer_each_time_and_outlasts_half_an_hour() {
        let pauses: Vec<u64> = (1..=7).map(|receives| failed_pause(receives).as_secs()).collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80, 120, 120]);
        let total: Duration = (1..RECEIVES_MAX).map(failed_pause).sum();
        assert!(total > Duration::from_mins(30), "{total:?}");
    }
}
