//! Firing: the sweeper reads due timers, the dispatcher sends occurrences, the executor performs
//! attempts and finishes jobs.
//!
//! `minutehand_domain::firing` decides; this module carries out, in an order in which a crash after any step
//! loses nothing. Each file has a table of what a crash in it leaves, and how it is repaired.

mod act;
mod alert;
mod attempt;
mod body;
mod counting_turns;
mod dispatch;
mod execute;
mod expected;
mod finish;
mod follow;
mod forgotten;
mod hanging;
mod heal;
mod heartbeat;
mod held;
mod incident;
mod loaded_job;
mod notice;
mod open;
mod pause;
mod place;
mod record;
mod rendered;
mod schedules;
mod seat;
mod shared_brakes;
mod sighting;
mod skip;
mod skip_log;
mod slot;
mod stop;
mod sweep;
mod timer_changes;
mod turn;
mod two_steps;
mod worker;

use std::sync::Arc;

use crate::completion::CompletionUrls;

use minutehand_domain::firing::limits::Spans;
use minutehand_domain::history_days::HistoryDays;
use minutehand_ports::{
    ActionSender, Alerts, Attempts, Brakes, Clock, Counters, DispatchQueue, EventSink,
    FailureBodies, History, IdSource, OpenAttempts, Pulses, Removal, RetryTimers, Sealer, Seats,
    SettleStep, Slots, Snapshots, Timers, Turns,
};

pub(crate) use body::put_in_time;
pub(crate) use dispatch::attempt_message;
pub use dispatch::{DispatchReport, Dispatcher};
pub use execute::{Executor, Performed, Performer};
pub use heal::Healer;
pub use heartbeat::Heartbeat;
pub(crate) use open::HELD_FOR;
pub use place::{DeliveryPlace, Unbounded, Wait, Waiting};
pub use stop::Stop;
pub use sweep::{Pass, SweepPart, Sweeper};
pub use timer_changes::{TimerChanges, ToldStep};
pub use two_steps::SendThenCount;
pub use worker::{Delivery, Disposition, Worker};

/// What the executor needs from the world.
#[derive(Clone)]
pub struct FirePorts {
    /// The store.
    pub store: FireStore,
    /// Takes the messages of attempts that wait or are checked again.
    pub queue: Arc<dyn DispatchQueue>,
    /// Does what follows a record.
    pub settle: Arc<dyn SettleStep>,
    /// Performs actions.
    pub sender: Arc<dyn ActionSender>,
    /// Opens secrets.
    pub sealer: Arc<dyn Sealer>,
    /// Takes note of what happens.
    pub events: Arc<dyn EventSink>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes the ids of claims.
    pub ids: Arc<dyn IdSource>,
    /// Keeps the bodies of failures, if they are kept.
    pub bodies: Option<Arc<dyn FailureBodies>>,
    /// Where targets report the end of their work, if they can.
    pub completions: Option<Arc<CompletionUrls>>,
    /// What processes share of origins that hang. A process that is alone has the places of its host instead.
    pub brakes: Option<Arc<dyn Brakes>>,
}

/// Declares what firing needs of a store: each trait once, with the field that has it.
macro_rules! store_of_firing {
    ($($(#[$doc:meta])+ $field:ident: $port:ident,)+) => {
        /// The traits of the store that the executor needs.
        #[derive(Clone)]
        pub struct FireStore {
            $($(#[$doc])+ pub $field: Arc<dyn $port>,)+
        }

        /// A store that implements all that firing needs of one.
        pub trait StoreOfFiring: $($port +)+ {}

        impl<S: $($port +)+> StoreOfFiring for S {}

        impl FireStore {
            /// One store that implements all of them.
            #[must_use]
            pub fn new(store: Arc<impl StoreOfFiring + 'static>) -> Self {
                Self { $($field: store.clone(),)+ }
            }
        }
    };
}

store_of_firing! {
    /// Claims and records attempts.
    attempts: Attempts,
    /// Attempts whose targets are at work.
    open: OpenAttempts,
    /// The states of alerts.
    alerts: Alerts,
    /// The turns of jobs that let no attempts overlap.
    turns: Turns,
    /// The slots of collections that limit their starts.
    slots: Slots,
    /// The seats of collections that limit how many attempts run at the same time.
    seats: Seats,
    /// Reads jobs.
    snapshots: Snapshots,
    /// Counts attempts.
    counters: Counters,
    /// Finishes jobs.
    timers: Timers,
    /// Timers of retries.
    retries: RetryTimers,
    /// Reads which attempts have ended.
    history: History,
    /// Deletes what is over.
    removal: Removal,
    /// Knows of outages.
    pulses: Pulses,
}

/// What an installation decides once.
#[derive(Debug, Clone, Default)]
pub struct FireSettings {
    /// The region that targets are told.
    pub region: String,
    /// Whether successful attempts are logged at debug level only. Where metrics count them, log
    /// lines only cost money.
    pub is_quiet: bool,
    /// Whether the process is the only executor: while it does not run, there is an outage.
    pub is_alone: bool,
    /// For how long history is kept.
    pub history: HistoryDays,
}

/// The time spans of the protocol on this clock.
fn spans(clock: &dyn Clock) -> Spans {
    Spans::stretched(|work| clock.scheduled_during(work))
}
