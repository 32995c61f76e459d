//! The sweeper: each minute, one pass over the timers that are due.
//!
//! Lambda calls it on each tick, several times if several sweepers divide the timers. It never decides what
//! is sent: `app` does.
//!
//! `minutehand_app::fire` makes the pass. A crash in it leaves timers due, and the next tick finds them. So a tick
//! that is missing, doubled or cut off needs no repair, and a failed pass is not retried before the
//! next minute.

mod healed;
mod settings;
mod tick;
mod watcher;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use minutehand_app::fire::{Dispatcher, Healer, Heartbeat, Pass, Sweeper};
use minutehand_domain::firing::limits::PASS_MAX;
use minutehand_events_eventbridge::Bus;
use minutehand_ports::Clock;
use minutehand_ports::store::PulseOf;
use minutehand_queue_sqs::{IN_FLIGHT_MAX, SqsQueue};
use minutehand_runtime_aws::{DynamoDb, ErrorType, Metric, Tally, print_metrics};
use minutehand_store_dynamodb::{DynamoStore, WRITES_IN_FLIGHT_MAX};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use healed::HealedQueue;
pub use settings::SweeperSettings;
pub use tick::{NotATick, Tick};
use watcher::Watcher;

/// The distance between the first shards of two successive passes. It shares no divisor with the 64
/// shards, so if passes run out of time, no shard is left out for long.
const SHARD_STRIDE: u32 = 39;

/// Pages in progress at a time, each of another shard. A page of 100 timers that send a message each
/// takes nine round trips, one after the other. At 10 ms for each, eight pages are 8,900 timers a
/// second, and one CPU does 8,000. More pages would not be faster, and would wait for each other. What is
/// gathered is one of them, and has no more requests in progress than a page.
const CONCURRENT_PAGES: NonZeroUsize = match NonZeroUsize::new(8) {
    Some(pages) => pages,
    None => NonZeroUsize::MIN,
};
/// Timers that are dispatched together: what the pages in progress have. Their attempts of one second
/// share messages.
const GATHERED_MAX: NonZeroUsize = match NonZeroUsize::new(800) {
    Some(timers) => timers,
    None => NonZeroUsize::MIN,
};
/// The most requests to one service in progress at a time. Each has a connection, and Lambda lets a
/// function open 1,024 files; two services are called this often.
const REQUESTS_MAX: usize = 128;

const _: () = {
    assert!(CONCURRENT_PAGES.get() * WRITES_IN_FLIGHT_MAX <= REQUESTS_MAX);
    assert!(CONCURRENT_PAGES.get() * IN_FLIGHT_MAX <= REQUESTS_MAX);
};

/// The clients of AWS that the sweeper calls.
#[derive(Debug, Clone)]
pub struct SweeperClients {
    /// The store.
    pub dynamodb: DynamoDb,
    /// The queue.
    pub sqs: aws_sdk_sqs::Client,
    /// The event bus.
    pub eventbridge: aws_sdk_eventbridge::Client,
}

/// The function.
pub struct Function {
    sweeper: Sweeper,
    clock: Arc<dyn Clock>,
    tally: Arc<Tally>,
    bus: Option<Arc<Bus>>,
    watcher: Option<Watcher>,
    table: String,
}

/// No shard could be read.
#[derive(Debug, thiserror::Error)]
#[error("no shard could be swept; the log says why")]
pub struct SweepFailed;

impl Function {
    /// The function over these clients.
    #[must_use]
    pub fn new(settings: &SweeperSettings, clients: SweeperClients, clock: Arc<dyn Clock>) -> Self {
        let tally = Arc::new(Tally::default());
        let dynamodb = clients.dynamodb.counting_throttles(&tally);
        let store = DynamoStore::new(dynamodb.client(), &settings.table)
            .with_connector(dynamodb.connector())
            .with_history(settings.history);
        let store = Arc::new(store);
        let queue = Arc::new(SqsQueue::new(clients.sqs, &settings.queue_url, clock.clone()));
        let bus = settings.event_bus.as_ref();
        let bus = bus.map(|name| Arc::new(Bus::new(clients.eventbridge, name, clock.clone())));
        let events = Arc::new((tally.clone(), bus.clone()));
        let watcher = settings.heartbeat.clone().map(|url| Watcher {
            url,
            store: store.clone(),
            queue: queue.clone(),
            clock: clock.clone(),
            pool: OnceCell::new(),
        });
        let healer = Healer {
            history: store.clone(),
            snapshots: store.clone(),
            pulses: store.clone(),
            queue: Arc::new(HealedQueue { queue: queue.clone(), tally: tally.clone() }),
            clock: clock.clone(),
            kept: settings.history,
        };
        let dispatcher =
            Dispatcher::new(store.clone(), store.clone(), queue, events, clock.clone())
                .with_history(store.clone());
        let heartbeat = Heartbeat::new(store.clone(), clock.clone(), PulseOf::Sweepers);
        let sweeper = Sweeper::new(store, dispatcher, Arc::new(heartbeat), clock.clone())
            .with_concurrent_pages(CONCURRENT_PAGES)
            .gathering(GATHERED_MAX)
            .with_healer(healer);
        Self { sweeper, clock, tally, bus, watcher, table: settings.table.clone() }
    }

    /// What happened since the metrics were last printed.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Makes a pass over all timers. Returns its result, for an operator who invokes the function by hand.
    ///
    /// # Errors
    ///
    /// If no shard could be swept.
    pub async fn tick(&self) -> Result<Value, SweepFailed> {
        self.sweep(Tick::default()).await
    }

    /// Makes the pass, or the part of one, that a tick asks for.
    ///
    /// # Errors
    ///
    /// If no shard could be swept.
    pub async fn sweep(&self, tick: Tick) -> Result<Value, SweepFailed> {
        let (part, minute) = (tick.part, tick.minute(self.clock.work_now()));
        let first_shard = minute.wrapping_mul(SHARD_STRIDE);
        // A little later Lambda would end the function, and the result would be lost.
        let over = self.clock.wait(PASS_MAX.to_std().unwrap_or(Duration::MAX));
        let pass = self.sweeper.pass_part(part, minute, first_shard, over).await;
        let is_whole = self.count(&pass);
        pass.log();
        if let Some(watcher) = self.watcher.as_ref().filter(|_| part.is_first()) {
            watcher.ping(is_whole).await;
        }
        if let Some(bus) = &self.bus
            && let Err(lost) = bus.flush().await
        {
            self.tally.add(Metric::EventsLost, lost.events as u64);
            tracing::error!(error_type = %ErrorType::EventsLost, error = %lost, "events are lost");
        }
        if pass.shards == 0 && pass.failed > 0 {
            tracing::error!(error_type = %ErrorType::SweepFailed, "no shard could be swept");
            return Err(SweepFailed);
        }
        Ok(json!({
            "shards": pass.shards,
            "shardsFailed": pass.failed,
            "timersThrottled": pass.throttled,
            "isCut": pass.is_cut,
            "timers": pass.dispatched.timers,
            "messages": pass.dispatched.messages,
        }))
    }

    /// Prints the metrics of what happened since the last time.
    pub fn print_metrics(&self) {
        print_metrics(&self.tally, &self.table, self.clock.work_now());
    }

    /// Counts a pass, and returns whether it saw all that is due.
    fn count(&self, pass: &Pass) -> bool {
        let is_whole = pass.failed == 0 && pass.throttled == 0 && !pass.is_cut;
        self.tally.add(Metric::Swept, is_whole.into());
        self.tally.add(Metric::SweepsFailed, u64::from(pass.failed > 0));
        for (metric, n) in [
            (Metric::Timers, pass.dispatched.timers),
            (Metric::Dispatched, pass.dispatched.messages),
            (Metric::TimersUnreadable, pass.dispatched.unreadable),
        ] {
            self.tally.add(metric, n as u64);
        }
        is_whole
    }
}

#[cfg(test)]
mod tests {
    mod herd;
}
