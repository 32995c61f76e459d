//! Timers that the API has moved, for the sweeper that waits for the next one.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_ports::store::{Advance, StoreError};
use minutehand_ports::{DispatchStep, QueueError, QueueMessage};
use tokio::sync::Notify;

/// Tells the sweeper of timers that other callers have moved, so that it knows whether the timer it
/// waits for is still the next.
#[derive(Debug, Default)]
pub(super) struct TimerChanges {
    next: Mutex<Option<DateTime<Utc>>>,
    moved: Notify,
}

/// A step of which the sweeper is told.
pub(super) struct ToldStep {
    pub(super) step: Arc<dyn DispatchStep>,
    pub(super) changes: Arc<TimerChanges>,
}

impl TimerChanges {
    /// Waits until timers are moved; returns when the first of them is due. Only one task may wait.
    pub(super) async fn next(&self) -> DateTime<Utc> {
        loop {
            self.moved.notified().await;
            let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(next) = next {
                return next;
            }
        }
    }

    fn moved(&self, moves: &[Advance]) {
        let Some(first) = moves.iter().map(|advance| advance.to).min() else { return };
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next = Some(next.map_or(first, |next| next.min(first)));
        drop(next);
        self.moved.notify_one();
    }
}

#[async_trait]
impl DispatchStep for ToldStep {
    async fn dispatch(
        &self,
        messages: &[QueueMessage],
        moves: &[Advance],
        now: DateTime<Utc>,
    ) -> Result<Vec<Result<bool, StoreError>>, QueueError> {
        let dispatched = self.step.dispatch(messages, moves, now).await;
        self.changes.moved(moves);
        dispatched
    }
}
