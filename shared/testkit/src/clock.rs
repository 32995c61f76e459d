//! Clocks that a test sets.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_ports::Clock;
use tokio::sync::watch;

/// A clock on which waiting takes no time and moves it on. Clones are the same.
#[derive(Debug, Clone)]
pub struct SetClock(Arc<Mutex<(DateTime<Utc>, Vec<Duration>)>>);

impl SetClock {
    /// A clock that stands there.
    #[must_use]
    pub fn at(now: DateTime<Utc>) -> Self {
        Self(Arc::new(Mutex::new((now, Vec::new()))))
    }

    /// Moves it on.
    pub fn advance(&self, by: TimeDelta) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 += by;
    }

    /// The stretches of work that were waited for.
    #[must_use]
    pub fn waits(&self) -> Vec<Duration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
}

#[async_trait]
impl Clock for SetClock {
    fn now(&self) -> DateTime<Utc> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        let mut clock = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        clock.0 = clock.0.max(at);
    }

    async fn wait(&self, work: Duration) {
        let mut clock = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        clock.0 += TimeDelta::from_std(work).unwrap_or_default();
        clock.1.push(work);
    }
}

/// A clock that stands still until the test moves it, which ends the waits until then.
#[derive(Debug)]
pub struct ManualClock(watch::Sender<DateTime<Utc>>);

impl ManualClock {
    /// A clock that stands there.
    #[must_use]
    pub fn at(now: DateTime<Utc>) -> Self {
        Self(watch::Sender::new(now))
    }

    /// Moves it on.
    pub fn advance(&self, by: TimeDelta) {
        self.0.send_modify(|now| *now += by);
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.borrow()
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        // The sender is the clock itself, so the wait never fails.
        let _ = self.0.subscribe().wait_for(|now| *now >= at).await;
    }

    async fn wait(&self, work: Duration) {
        self.wait_until(self.now() + work).await;
    }
}
