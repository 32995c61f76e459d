//! Timers that the API has moved, for a sweeper in the same process that waits for the next one.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use futures_util::future::{Either, select};
use futures_util::task::AtomicWaker;
use minutehand_domain::firing::limits::AHEAD;
use minutehand_ports::store::{Advance, StoreError};
use minutehand_ports::{Clock, DispatchStep, QueueError, QueueMessage};

use super::Sweeper;
use crate::error::Result;

/// Tells the sweeper of timers that other callers have moved, so that it knows whether the timer it
/// waits for is still the next.
#[derive(Debug, Default)]
pub struct TimerChanges {
    next: Mutex<Option<DateTime<Utc>>>,
    /// Of the task that waits.
    waker: AtomicWaker,
}

/// A step of which the sweeper is told.
pub struct ToldStep {
    /// The step.
    pub step: Arc<dyn DispatchStep>,
    /// Tells the sweeper.
    pub changes: Arc<TimerChanges>,
}

impl TimerChanges {
    /// Waits until timers are moved; returns when the first of them is due. Only one task may wait.
    async fn next(&self) -> DateTime<Utc> {
        poll_fn(|context| {
            // Before the look, so that no move is missed in between.
            self.waker.register(context.waker());
            let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
            next.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Waits until the next timer is so nearly due that a pass dispatches it.
    ///
    /// The index is asked once. If a timer is moved meanwhile, it is known when that one is due, so that the
    /// index is not asked again for each of thousands of new jobs. It is told of timers that are due soon; the
    /// passes at regular times find the others.
    ///
    /// # Errors
    ///
    /// If the index does not answer.
    pub async fn next_in_view(&self, sweeper: &Sweeper, clock: &dyn Clock) -> Result<()> {
        let mut next = sweeper.next_due_at().await?;
        loop {
            let due_at = next;
            let in_view = pin!(async move {
                match due_at {
                    Some(due_at) => clock.wait_until(due_at - clock.scheduled_during(AHEAD)).await,
                    None => pending().await,
                }
            });
            match select(in_view, pin!(self.next())).await {
                Either::Left(_) => return Ok(()),
                Either::Right((moved, _)) => next = next.into_iter().chain([moved]).min(),
            }
        }
    }

    fn moved(&self, moves: &[Advance]) {
        let Some(first) = moves.iter().map(|advance| advance.to).min() else { return };
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next = Some(next.map_or(first, |next| next.min(first)));
        drop(next);
        self.waker.wake();
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
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Wake};

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

    /// Whether the task that waits was woken.
    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
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
        Advance { timer, from, to: from + TimeDelta::seconds(seconds), at: from }
    }

    #[test]
    fn who_waits_is_told_of_the_first_timer_that_has_moved_or_may_have() {
        let changes = Arc::<TimerChanges>::default();
        let told = ToldStep { step: Arc::new(Fails), changes: changes.clone() };
        let mut next = pin!(changes.next());
        let woken = Arc::<Woken>::default();
        let waker = woken.clone().into();
        let mut context = Context::from_waker(&waker);
        assert_eq!(next.as_mut().poll(&mut context), Poll::Pending);
        for moves in [vec![to(9), to(5)], vec![to(7)], vec![]] {
            let failed = pollster::block_on(told.dispatch(&[], &moves, DateTime::UNIX_EPOCH));
            assert!(failed.is_err());
        }
        assert!(woken.0.load(Ordering::Relaxed));
        let first = DateTime::from_timestamp(5, 0).unwrap();
        assert_eq!(next.as_mut().poll(&mut context), Poll::Ready(first));
    }
}
