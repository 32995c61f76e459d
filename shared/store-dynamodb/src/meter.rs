//! What calls of the store consume, for tests and benches that hold the price of a firing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_sdk_dynamodb::types::ConsumedCapacity;

/// A kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MeteredCall {
    /// Reading what is due.
    Due,
    /// Moving timers on.
    Advance,
    /// Claiming attempts.
    Claim,
    /// Giving claims back.
    Release,
    /// Reading what decides whether attempts may start, or a job may be removed.
    Look,
    /// Recording how attempts ended.
    Record,
    /// Counting attempts.
    Settle,
    /// Ending jobs.
    Finish,
    /// Keeping and dropping retries in timers of their own.
    Retries,
    /// Reading which of those there are.
    Pending,
    /// Reading executions.
    Executions,
    /// Removing what is over.
    Remove,
}

impl MeteredCall {
    /// Whether what it consumes are units of writing, and not of reading.
    #[must_use]
    pub const fn is_write(self) -> bool {
        match self {
            Self::Advance
            | Self::Claim
            | Self::Release
            | Self::Record
            | Self::Settle
            | Self::Finish
            | Self::Retries
            | Self::Remove => true,
            Self::Due | Self::Look | Self::Pending | Self::Executions => false,
        }
    }
}

/// What calls of one kind consumed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Consumed {
    /// Requests that were answered. One whose only condition failed is answered without a price.
    pub requests: u64,
    /// Capacity units: of reading for what reads, of writing for what writes, indexes included.
    pub units: f64,
}

/// Sums what calls consume. A store without one does not ask.
#[derive(Debug, Default)]
pub struct Meter(Mutex<BTreeMap<MeteredCall, Consumed>>);

impl Meter {
    /// What calls of a kind consumed so far.
    #[must_use]
    pub fn of(&self, call: MeteredCall) -> Consumed {
        self.read().get(&call).copied().unwrap_or_default()
    }

    /// What calls consumed since this was last asked.
    #[must_use]
    pub fn take(&self) -> BTreeMap<MeteredCall, Consumed> {
        std::mem::take(&mut *self.read())
    }

    pub(crate) fn count<'a>(
        &self,
        call: MeteredCall,
        consumed: impl IntoIterator<Item = &'a ConsumedCapacity>,
    ) {
        let units: f64 = consumed.into_iter().filter_map(ConsumedCapacity::capacity_units).sum();
        let mut calls = self.read();
        let sum = calls.entry(call).or_default();
        sum.requests += 1;
        sum.units += units;
    }

    fn read(&self) -> MutexGuard<'_, BTreeMap<MeteredCall, Consumed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
