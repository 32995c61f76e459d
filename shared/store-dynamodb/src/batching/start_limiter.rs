//! Limits how many attempts start at the same moment.
//!
//! Thousands of attempts may be due at one instant. If all started at once, they would compete for
//! connections and CPU, and each of them would end late. So an attempt needs a permit to start. It
//! gets the permit when it reads its snapshot, and gives it back when it is recorded. A permit also
//! expires by itself [`START_PERMIT_MAX`] after the snapshot was read, so that a slow target does not
//! hold up the other attempts.
//!
//! The collections take turns, and a permit is left for one that has none: the burst of one collection
//! does not delay the attempts of another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use super::host::Host;
use super::permits::{Permit, Permits};
use super::priority::{OpenCalls, Priority};

/// The most attempts that start at a time. One collection alone gets seven eighths of them: as many
/// requests as keep a target on the same machine busy.
pub(super) const STARTS_MAX: usize = 288;
/// How long an attempt keeps its permit, if it does not end before.
const START_PERMIT_MAX: Duration = Duration::from_millis(20);

/// The permits of attempts that have started, by the ids of their claims.
type Started = Arc<Mutex<HashMap<String, Permit>>>;

pub(super) struct StartLimiter {
    permits: Arc<Permits>,
    /// While an attempt waits for its permit, calls of lower priorities wait, too.
    waiting: Arc<OpenCalls>,
    started: Started,
    /// When permits expire, and whose.
    expiries: mpsc::UnboundedSender<(Duration, String)>,
    host: Arc<dyn Host>,
}

impl StartLimiter {
    /// Its task runs on the host of this priority until it is dropped.
    pub(super) fn new(Priority { open: waiting, host, .. }: Priority) -> Self {
        let (expiries, expiring) = mpsc::unbounded_channel();
        let started = Started::default();
        host.spawn(Box::pin(expire(started.clone(), expiring, host.clone())));
        Self { permits: Permits::new(STARTS_MAX), waiting, started, expiries, host }
    }

    /// Waits for a permit for an attempt of a collection. `None` if the limiter is gone: then nothing
    /// limits starts.
    pub(super) async fn permit(&self, collection_uid: &str) -> Option<Permit> {
        let _waiting = self.waiting.open();
        self.permits.permit(collection_uid).await
    }

    /// Keeps the permit of an attempt that starts now, until the attempt ends or the permit expires.
    pub(super) fn begin(&self, claim_id: &str, permit: Option<Permit>) {
        let Some(permit) = permit else { return };
        let replaced = lock(&self.started).insert(claim_id.to_owned(), permit);
        drop(replaced);
        // If the task is gone, the permit goes with the limiter.
        let _ = self.expiries.send((self.host.elapsed() + START_PERMIT_MAX, claim_id.to_owned()));
    }

    /// Gives back the permit of an attempt that has ended.
    pub(super) fn end(&self, claim_id: &str) {
        let permit = lock(&self.started).remove(claim_id);
        drop(permit);
    }
}

/// Gives back permits that expire. All last equally long, so they expire in the order in which they
/// were granted.
async fn expire(
    started: Started,
    mut expiring: mpsc::UnboundedReceiver<(Duration, String)>,
    host: Arc<dyn Host>,
) {
    while let Some((expires_at, claim_id)) = expiring.recv().await {
        if lock(&started).contains_key(&claim_id) {
            host.sleep(expires_at.saturating_sub(host.elapsed())).await;
            let permit = lock(&started).remove(&claim_id);
            drop(permit);
        }
    }
}

fn lock(started: &Started) -> MutexGuard<'_, HashMap<String, Permit>> {
    started.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::super::host::TokioHost;
    use super::super::priority::Priorities;
    use super::*;

    fn limiter() -> StartLimiter {
        let host: Arc<dyn Host> = Arc::new(TokioHost::new());
        StartLimiter::new(Priorities::new(&host).before_actions)
    }

    /// Starts attempts of a collection until one has to wait. Returns how many have started.
    async fn start(limiter: &StartLimiter, collection: &str) -> usize {
        for number in 0.. {
            let permit = Box::pin(limiter.permit(collection));
            match futures_util::future::select(permit, std::future::ready(())).await {
                futures_util::future::Either::Left((permit, _)) => {
                    limiter.begin(&format!("{collection}{number}"), permit);
                }
                futures_util::future::Either::Right(_) => return number,
            }
        }
        0
    }

    #[tokio::test(start_paused = true)]
    async fn a_permit_is_given_back_when_its_attempt_ends_or_after_its_time() {
        let limiter = limiter();
        assert_eq!(start(&limiter, "a").await, 252);
        let since = Instant::now();
        limiter.end("a7");
        let permit = limiter.permit("a").await;
        assert_eq!(since.elapsed(), Duration::ZERO, "the attempt has ended");
        limiter.begin("more", permit);
        // On the paused clock, this takes no time.
        let permit = timeout(Duration::from_secs(10), limiter.permit("a")).await;
        let permit = permit.expect("a permit expires");
        let waited = since.elapsed();
        assert!(
            (START_PERMIT_MAX..2 * START_PERMIT_MAX).contains(&waited),
            "the other attempts have not ended: {waited:?}"
        );
        drop(permit);
    }

    #[tokio::test(start_paused = true)]
    async fn the_burst_of_one_collection_leaves_permits_for_another() {
        let limiter = limiter();
        start(&limiter, "burst").await;
        let since = Instant::now();
        let permit = limiter.permit("other").await;
        assert_eq!(since.elapsed(), Duration::ZERO);
        drop(permit);
        // A caller that has gone, as the last one of the burst, holds up no other.
        limiter.end("burst0");
        assert!(limiter.permit("burst").await.is_some());
    }
}
