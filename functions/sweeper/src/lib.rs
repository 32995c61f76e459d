//! The sweeper: on the minute's tick, one pass over the timers that are due.
//!
//! A pass is `app`'s, and what a crash in it leaves is said there: timers that stay due, which the
//! next tick finds. So a tick that is missing, doubled or cut off needs no repair, and a pass that
//! failed is not tried again before the next minute.

mod settings;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use app::fire::{Dispatcher, Pass, Sweeper};
use domain::firing::limits::PASS_MAX;
use events_eventbridge::Bus;
use ports::Clock;
use queue_sqs::{IN_FLIGHT_MAX, SqsQueue};
use runtime_aws::{ErrorType, Metric, Tally, print_metrics};
use serde_json::{Value, json};
use store_dynamodb::{DynamoStore, SINGLES_IN_FLIGHT_MAX};

pub use settings::SweeperSettings;

/// How far the first shard of a pass is from that of the one a minute before. Passes that are cut
/// short begin so far apart that no shard waits for long; 64 shards share no divisor with it.
const SHARD_STRIDE: u32 = 39;

/// Pages under way at once, each of another shard. A page of 100 timers that send a message each is nine
/// round trips one after the other: at 10 ms for each, eight pages are 8,900 timers a second, and a
/// whole processor gets through 8,000. More would not be faster, and keep each page waiting for others.
const AT_ONCE: NonZeroUsize = match NonZeroUsize::new(8) {
    Some(pages) => pages,
    None => NonZeroUsize::MIN,
};
/// Requests to one service under way at once. Each has a connection, and that is a file, of which
/// Lambda lets a function open 1,024; two services are called so often.
const REQUESTS_MAX: usize = 128;

const _: () = {
    assert!(AT_ONCE.get() * SINGLES_IN_FLIGHT_MAX <= REQUESTS_MAX);
    assert!(AT_ONCE.get() * IN_FLIGHT_MAX <= REQUESTS_MAX);
};

/// The clients of AWS that the sweeper calls.
#[derive(Debug, Clone)]
pub struct SweeperClients {
    /// Where everything is kept.
    pub dynamodb: aws_sdk_dynamodb::Client,
    /// Where what is due goes.
    pub sqs: aws_sdk_sqs::Client,
    /// Who is told.
    pub eventbridge: aws_sdk_eventbridge::Client,
}

/// The function.
pub struct Function {
    sweeper: Sweeper,
    clock: Arc<dyn Clock>,
    tally: Arc<Tally>,
    bus: Option<Arc<Bus>>,
    table: String,
}

/// No shard could be swept.
#[derive(Debug, thiserror::Error)]
#[error("no shard could be swept; the log says why")]
pub struct SweepFailed;

impl Function {
    /// The function over these clients.
    #[must_use]
    pub fn new(settings: &SweeperSettings, clients: SweeperClients, clock: Arc<dyn Clock>) -> Self {
        let store = Arc::new(DynamoStore::new(clients.dynamodb, &settings.table));
        let queue = SqsQueue::new(clients.sqs, &settings.queue_url, clock.clone());
        let bus = settings.event_bus.as_ref();
        let bus = bus.map(|name| Arc::new(Bus::new(clients.eventbridge, name, clock.clone())));
        let tally = Arc::new(Tally::default());
        let events = Arc::new((tally.clone(), bus.clone()));
        let dispatcher =
            Dispatcher::new(store.clone(), Arc::new(queue), events, clock.clone(), None);
        let sweeper = Sweeper::new(store, dispatcher, clock.clone()).with_at_once(AT_ONCE);
        Self { sweeper, clock, tally, bus, table: settings.table.clone() }
    }

    /// What became of passes since the metrics were last printed.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Makes a pass; answers what it came to, for whoever calls the function by hand.
    ///
    /// # Errors
    ///
    /// If no shard could be swept.
    pub async fn tick(&self) -> Result<Value, SweepFailed> {
        let minute = self.clock.work_now().timestamp().div_euclid(60);
        // Which shard is first is all that it decides, so its last digits are enough.
        let minute = u32::try_from(minute.rem_euclid(i64::from(u32::MAX))).unwrap_or_default();
        // Lambda would end it a little later, and nobody would know what it came to.
        let over = self.clock.wait(PASS_MAX.to_std().unwrap_or(Duration::MAX));
        let pass = self.sweeper.pass(minute.wrapping_mul(SHARD_STRIDE), over).await;
        self.count(&pass);
        tell(&pass);
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
            "isCut": pass.is_cut,
            "timers": pass.dispatched.timers,
            "messages": pass.dispatched.messages,
        }))
    }

    /// Prints what was counted since the last time.
    pub fn print_metrics(&self) {
        print_metrics(&self.tally, &self.table, self.clock.work_now());
    }

    fn count(&self, pass: &Pass) {
        let is_whole = pass.failed == 0 && !pass.is_cut;
        self.tally.add(if is_whole { Metric::Swept } else { Metric::SweepsFailed }, 1);
        for (metric, n) in [
            (Metric::Timers, pass.dispatched.timers),
            (Metric::Dispatched, pass.dispatched.messages),
            (Metric::TimersUnreadable, pass.dispatched.unreadable),
        ] {
            self.tally.add(metric, n as u64);
        }
    }
}

/// One line for a pass; at `debug` for one that found nothing.
fn tell(pass: &Pass) {
    let dispatched = pass.dispatched;
    let (timers, messages) = (dispatched.timers, dispatched.messages);
    let (overtaken, failed, is_cut) = (dispatched.overtaken, pass.failed, pass.is_cut);
    if timers == 0 && failed == 0 {
        tracing::debug!(shards = pass.shards, "a sweep found nothing due");
    } else {
        tracing::info!(timers, messages, overtaken, failed, is_cut, "swept");
    }
}
