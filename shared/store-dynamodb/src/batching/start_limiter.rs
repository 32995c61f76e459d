//! Limits how many attempts start at the same moment.
//!
//! Thousands of attempts may be due at one instant. If all started at once, they would compete for
//! connections and CPU, and each of them would end late. So an attempt needs a permit to start. It
//! gets the permit when it reads its snapshot, and gives it back when it is recorded. A permit also
//! expires by itself [`START_PERMIT_MAX`] after the snapshot was read, so that a slow target does not
//! hold up the other attempts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, sleep_until};

use super::priority::OpenCalls;

/// The most attempts that start at a time: as many requests as keep a target on the same machine
/// busy.
pub(super) const STARTS_MAX: usize = 256;
/// How long an attempt keeps its permit, if it does not end before.
const START_PERMIT_MAX: Duration = Duration::from_millis(20);

/// The permission to start. `None` if the limiter is gone: then nothing limits starts.
pub(super) type StartPermit = Option<OwnedSemaphorePermit>;

/// The permits of attempts that have started, by the ids of their claims.
type Started = Arc<Mutex<HashMap<String, StartPermit>>>;

pub(super) struct StartLimiter {
    permits: Arc<Semaphore>,
    /// While an attempt waits for its permit, calls of lower priorities wait, too.
    waiting: Arc<OpenCalls>,
    started: Started,
    expiries: mpsc::UnboundedSender<(Instant, String)>,
}

impl StartLimiter {
    /// It must be made within a runtime, where its task runs until it is dropped.
    pub(super) fn new(waiting: Arc<OpenCalls>) -> Self {
        let (expiries, expiring) = mpsc::unbounded_channel();
        let started = Started::default();
        tokio::spawn(expire(started.clone(), expiring));
        let permits = Arc::new(Semaphore::new(STARTS_MAX));
        Self { permits, waiting, started, expiries }
    }

    /// Waits for a permit.
    pub(super) async fn permit(&self) -> StartPermit {
        let _waiting = self.waiting.open();
        self.permits.clone().acquire_owned().await.ok()
    }

    /// Keeps the permit of an attempt that starts now, until the attempt ends or the permit expires.
    pub(super) fn begin(&self, claim_id: &str, permit: StartPermit) {
        lock(&self.started).insert(claim_id.to_owned(), permit);
        // If the task is gone, the permit goes with the limiter.
        let _ = self.expiries.send((Instant::now() + START_PERMIT_MAX, claim_id.to_owned()));
    }

    /// Gives back the permit of an attempt that has ended.
    pub(super) fn end(&self, claim_id: &str) {
        let permit = lock(&self.started).remove(claim_id);
        drop(permit);
    }
}

/// Gives back permits that expire. All last equally long, so they expire in the order in which they
/// were granted.
async fn expire(started: Started, mut expiring: mpsc::UnboundedReceiver<(Instant, String)>) {
    while let Some((expires_at, claim_id)) = expiring.recv().await {
        if lock(&started).contains_key(&claim_id) {
            sleep_until(expires_at).await;
            let permit = lock(&started).remove(&claim_id);
            drop(permit);
        }
    }
}

fn lock(started: &Started) -> std::sync::MutexGuard<'_, HashMap<String, StartPermit>> {
    started.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_permit_is_given_back_when_its_attempt_ends_or_after_its_time() {
        let limiter = StartLimiter::new(Arc::default());
        for number in 0..STARTS_MAX {
            let permit = limiter.permit().await;
            limiter.begin(&number.to_string(), permit);
        }
        let since = Instant::now();
        limiter.end("7");
        let permit = limiter.permit().await;
        assert_eq!(since.elapsed(), Duration::ZERO, "the attempt has ended");
        limiter.begin("more", permit);
        let permit = limiter.permit().await;
        let waited = since.elapsed();
        assert!(
            (START_PERMIT_MAX..2 * START_PERMIT_MAX).contains(&waited),
            "the other attempts have not ended: {waited:?}"
        );
        drop(permit);
    }
}
