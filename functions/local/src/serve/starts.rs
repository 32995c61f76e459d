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
//!
//! Calls go before records: while attempts wait for their start, those that have ended wait with their
//! records, for at most [`RECORD_WAITS_MAX`]. So the last of a burst starts in half the time. A crash
//! meanwhile repeats the actions of these, as of any attempt without a record.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_app::fire::FireStore;
use minutehand_domain::attempt::Record;
use minutehand_ports::store::{
    AttemptsLayer, Claim, JobSnapshot, Layer, Recorded, SnapshotsLayer, StoreError,
};
use minutehand_ports::{Attempts, Snapshots};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::permits::{Permit, Permits};
use crate::lock;

/// The most attempts that start at a time. One collection alone gets seven eighths of them: as many
/// requests as keep a target on the same machine busy.
const STARTS_MAX: usize = 288;
/// How long an attempt keeps its permit, if it does not end before.
const START_PERMIT_MAX: Duration = Duration::from_millis(20);
/// How long the record of an attempt waits at most, while others wait for their start.
const RECORD_WAITS_MAX: Duration = Duration::from_millis(500);

/// The permits of attempts that have started, by the ids of their claims.
type Started = Arc<Mutex<HashMap<String, Permit>>>;

/// The same store, with a limit of how many attempts start at the same moment. It must be made within a Tokio
/// runtime.
pub(super) fn with_limited_starts(store: FireStore) -> FireStore {
    let starts = Arc::new(StartLimiter::new());
    FireStore {
        attempts: Arc::new(LimitedStarts { store: store.attempts, starts: starts.clone() }),
        snapshots: Arc::new(LimitedStarts { store: store.snapshots, starts }),
        ..store
    }
}

struct LimitedStarts<S: ?Sized> {
    store: Arc<S>,
    starts: Arc<StartLimiter>,
}

impl<S: ?Sized + Send + Sync + 'static> Layer for LimitedStarts<S> {
    type Inner = S;

    fn inner(&self) -> Arc<S> {
        self.store.clone()
    }
}

#[async_trait]
impl SnapshotsLayer for LimitedStarts<dyn Snapshots> {
    async fn read_for_start(&self, claim: &Claim) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        let permit = self.starts.permit(&claim.job.collection_uid).await;
        let snapshot = self.store.read_for_start(claim).await?;
        if snapshot.is_some() {
            self.starts.begin(&claim.claim_id, permit);
        }
        Ok(snapshot)
    }
}

#[async_trait]
impl AttemptsLayer for LimitedStarts<dyn Attempts> {
    async fn release(&self, claim: &Claim) -> Result<(), StoreError> {
        self.starts.end(&claim.claim_id);
        self.store.release(claim).await
    }

    async fn postpone(
        &self,
        claim: &Claim,
        hold: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.starts.end(&claim.claim_id);
        self.store.postpone(claim, hold, now).await
    }

    async fn record(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError> {
        self.starts.end(&claim.claim_id);
        self.starts.all_started().await;
        self.store.record(claim, record).await
    }
}

struct StartLimiter {
    permits: Arc<Permits>,
    started: Started,
    waiting: Waiting,
    /// When permits expire, and whose.
    expiries: mpsc::UnboundedSender<(Instant, String)>,
}

impl StartLimiter {
    /// Its task ends when it is dropped.
    fn new() -> Self {
        let (expiries, expiring) = mpsc::unbounded_channel();
        let started = Started::default();
        tokio::spawn(expire(started.clone(), expiring));
        Self { permits: Permits::new(STARTS_MAX), started, waiting: Waiting::default(), expiries }
    }

    /// Waits for a permit for an attempt of a collection. `None` if the limiter is gone: then nothing
    /// limits starts.
    async fn permit(&self, collection_uid: &str) -> Option<Permit> {
        let _waits = self.waiting.one_more();
        self.permits.permit(collection_uid).await
    }

    /// Waits until no attempt waits for a permit, or for [`RECORD_WAITS_MAX`].
    async fn all_started(&self) {
        let none = self.waiting.none();
        // Whether it was too long or not: the record is due.
        let _ = timeout(RECORD_WAITS_MAX, none).await;
    }

    /// Keeps the permit of an attempt that starts now, until the attempt ends or the permit expires.
    fn begin(&self, claim_id: &str, permit: Option<Permit>) {
        let Some(permit) = permit else { return };
        let replaced = lock(&self.started).insert(claim_id.to_owned(), permit);
        drop(replaced);
        // If the task is gone, the permit goes with the limiter.
        let _ = self.expiries.send((Instant::now() + START_PERMIT_MAX, claim_id.to_owned()));
    }

    /// Gives back the permit of an attempt that has ended.
    fn end(&self, claim_id: &str) {
        let permit = lock(&self.started).remove(claim_id);
        drop(permit);
    }
}

/// How many attempts wait for a permit. Who waits for none is told of zero only.
#[derive(Default)]
struct Waiting(watch::Sender<usize>);

impl Waiting {
    /// Counts one, until it is dropped.
    fn one_more(&self) -> Waits<'_> {
        self.0.send_if_modified(|count| {
            *count += 1;
            false
        });
        Waits(self)
    }

    /// Waits until none waits.
    async fn none(&self) {
        // It cannot be closed: the sender is here.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// An attempt that waits for a permit.
struct Waits<'a>(&'a Waiting);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.0.send_if_modified(|count| {
            *count -= 1;
            *count == 0
        });
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

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

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
        let limiter = StartLimiter::new();
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
    async fn a_record_waits_until_the_others_have_started_or_for_its_time() {
        let limiter = StartLimiter::new();
        let since = Instant::now();
        limiter.all_started().await;
        assert_eq!(since.elapsed(), Duration::ZERO, "no attempt waits");
        start(&limiter, "a").await;
        let waits = limiter.permit("a");
        let mut record = pin!(limiter.all_started());
        let mut waits = pin!(waits);
        tokio::select! {
            biased;
            _ = waits.as_mut() => panic!("no permit is free"),
            () = record.as_mut() => panic!("an attempt waits for its start"),
            () = std::future::ready(()) => {}
        }
        limiter.end("a7");
        drop(waits.await);
        record.await;
        assert_eq!(since.elapsed(), Duration::ZERO, "all have started");
        // As of a target that takes long: no permit becomes free.
        let stuck = limiter.waiting.one_more();
        limiter.all_started().await;
        assert!((RECORD_WAITS_MAX..2 * RECORD_WAITS_MAX).contains(&since.elapsed()));
        drop(stuck);
    }

    #[tokio::test(start_paused = true)]
    async fn the_burst_of_one_collection_leaves_permits_for_another() {
        let limiter = StartLimiter::new();
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
