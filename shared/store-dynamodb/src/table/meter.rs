//! What the store's calls consume. Tests and benches use it to hold the price of a firing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_sdk_dynamodb::types::ConsumedCapacity;

/// A kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MeteredCall {
    /// Reading the timers that are due.
    Due,
    /// Moving timers.
    Advance,
    /// Claiming attempts.
    Claim,
    /// Giving claims back.
    Release,
    /// Reading snapshots of jobs.
    Snapshot,
    /// Recording how attempts ended.
    Record,
    /// Leaving attempts open.
    LeaveOpen,
    /// Saying how open attempts end, and how far they are.
    SayEnding,
    /// Reading open attempts.
    See,
    /// Finding the job of a ping.
    FindPing,
    /// Storing pings, with what they do.
    TakePing,
    /// Recording occurrences that were left out.
    LeaveOut,
    /// Adding occurrences that failed for good to their list.
    AddFailure,
    /// Taking turns, and giving them back.
    Turns,
    /// Reading whose turn it is.
    ReadTurns,
    /// Storing the states of alerts.
    Alerts,
    /// Reading the states of alerts.
    ReadAlerts,
    /// Keeping attempts that wait for their slots or for seats.
    Postpone,
    /// Taking slots.
    Slots,
    /// Reading which slot is the next.
    ReadSlots,
    /// Taking seats, and giving them back.
    Seats,
    /// Reading how many seats are taken.
    ReadSeats,
    /// Counting calls without an answer, and taking those that origins get that hang.
    Brakes,
    /// Reading which origins hang.
    ReadBrakes,
    /// Counting attempts.
    Count,
    /// Looking for attempts that were counted long ago.
    FindEvicted,
    /// Finishing jobs.
    Finish,
    /// Pausing jobs.
    Pause,
    /// Storing and removing the timers of retries.
    Retries,
    /// Listing the timers of retries.
    ListRetries,
    /// Looking whether occurrences have left a trace.
    FindAttempts,
    /// Reading history.
    History,
    /// Removing what is over.
    Remove,
    /// Correcting the number of jobs of a collection.
    Recount,
    /// Giving signs of life.
    Beat,
    /// Reading for people.
    Browse,
    /// Changing collections and jobs.
    Change,
}

impl MeteredCall {
    /// Whether the units it consumes are write units. Otherwise they are read units.
    #[must_use]
    pub const fn is_write(self) -> bool {
        !matches!(
            self,
            Self::Due
                | Self::Snapshot
                | Self::See
                | Self::FindPing
                | Self::ReadTurns
                | Self::ReadAlerts
                | Self::ReadSlots
                | Self::ReadSeats
                | Self::ReadBrakes
                | Self::FindEvicted
                | Self::FindAttempts
                | Self::ListRetries
                | Self::History
                | Self::Browse
        )
    }
}

/// What calls of one kind consumed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Consumed {
    /// Requests that reported what they consumed. A write whose condition failed does not.
    pub requests: u64,
    /// Writes whose conditions failed.
    pub failed_conditions: u64,
    /// Capacity units, indexes included.
    pub units: f64,
}

/// Adds up what calls consume. A store without a meter does not ask the service for it.
#[derive(Debug, Default)]
pub struct Meter(Mutex<BTreeMap<MeteredCall, Consumed>>);

impl Meter {
    /// What calls of a kind have consumed so far.
    #[must_use]
    pub fn consumed_by(&self, call: MeteredCall) -> Consumed {
        self.sums().get(&call).copied().unwrap_or_default()
    }

    /// What calls have consumed since the last time this was called.
    #[must_use]
    pub fn take(&self) -> BTreeMap<MeteredCall, Consumed> {
        std::mem::take(&mut *self.sums())
    }

    pub(super) fn count<'a>(
        &self,
        call: MeteredCall,
        consumed: impl IntoIterator<Item = &'a ConsumedCapacity>,
    ) {
        let units: f64 = consumed.into_iter().filter_map(ConsumedCapacity::capacity_units).sum();
        let mut sums = self.sums();
        let sum = sums.entry(call).or_default();
        sum.requests += 1;
        sum.units += units;
    }

    pub(super) fn count_failed_conditions(&self, call: MeteredCall, writes: u64) {
        self.sums().entry(call).or_default().failed_conditions += writes;
    }

    fn sums(&self) -> MutexGuard<'_, BTreeMap<MeteredCall, Consumed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
