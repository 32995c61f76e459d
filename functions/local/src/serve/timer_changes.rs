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

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use minutehand_domain::job::JobState;
    use minutehand_ports::store::TimerKey;

    use super::*;

    /// A step that fails, after which some timers may have moved all the same.
    struct Fails;

    #[async_trait]
    impl DispatchStep for Fails {
        async fn dispatch(
            &self,
            _messages: &[QueueMessage],
            _moves: &[Advance],
            _now: DateTime<Utc>,
        ) -> Result<Vec<Result<bool, StoreError>>, QueueError> {
            Err(QueueError::Unavailable("no queue".into()))
        }
    }

    fn to(seconds: i64) -> Advance {
        let timer = TimerKey::Job {
            job_uid: "u".to_owned(),
            generation: 0,
            state: JobState::Enabled,
            is_spent: false,
            left_out: Vec::new(),
        };
        let from = DateTime::UNIX_EPOCH;
        Advance { timer, from, to: from + TimeDelta::seconds(seconds) }
    }

    #[tokio::test]
    async fn who_waits_is_told_of_the_first_timer_that_has_moved_or_may_have() {
        let changes = Arc::<TimerChanges>::default();
        let told = ToldStep { step: Arc::new(Fails), changes: changes.clone() };
        for moves in [vec![to(9), to(5)], vec![to(7)], vec![]] {
            let failed = told.dispatch(&[], &moves, DateTime::UNIX_EPOCH).await;
            assert!(failed.is_err());
        }
        assert_eq!(changes.next().await, DateTime::from_timestamp(5, 0).unwrap());
    }
}
