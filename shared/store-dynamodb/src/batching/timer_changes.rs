//! Timers that were moved, for the sweeper that waits for the next one.

use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Utc};
use minutehand_ports::store::Advance;
use tokio::sync::Notify;

/// Tells the sweeper of timers that other callers have moved, so that it knows whether the timer it
/// waits for is still the next.
#[derive(Debug, Default)]
pub struct TimerChanges {
    next: Mutex<Option<DateTime<Utc>>>,
    moved: Notify,
}

impl TimerChanges {
    /// Waits until timers are moved; returns when the first of them is due. Only one task may wait.
    pub async fn next(&self) -> DateTime<Utc> {
        loop {
            self.moved.notified().await;
            let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(next) = next {
                return next;
            }
        }
    }

    pub(super) fn moved(&self, advances: &[Advance]) {
        let Some(first) = advances.iter().map(|advance| advance.to).min() else { return };
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next = Some(next.map_or(first, |next| next.min(first)));
        drop(next);
        self.moved.notify_one();
    }
}
