//! Limits how many attempts start at the same moment, and how many are recorded.
//!
//! Thousands of attempts may be due at one instant. If all started at once, they would compete for
//! connections and CPU, and each of them would end late. So an attempt needs a permit to start. It
//! gives the permit back when it has ended. A permit also expires by itself [`START_PERMIT_MAX`] after
//! the start, so that a slow target does not hold up the other attempts.
//!
//! The collections take turns, and a permit is left for one that has none: the burst of one collection
//! does not delay the attempts of another.
//!
//! Calls go before records: while attempts wait for their start, those that have ended wait with their
//! records, for at most [`RECORD_WAITS_MAX`]. So the last of a burst starts in half the time. A crash
//! meanwhile repeats the actions of these, as of any attempt without a record. Then so many are recorded
//! and followed at a time as keep the store busy: more would only take memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use minutehand_ports::ReceiptHandle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
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
/// The most attempts that are recorded and followed at a time: several passes of the store.
const RECORDED_MAX: usize = 500;

/// The permits of attempts that have started, by their messages.
type Started = Arc<Mutex<HashMap<ReceiptHandle, Permit>>>;

/// Who may start, and who may be recorded.
pub(super) struct StartLimiter {
    permits: Arc<Permits>,
    started: Started,
    waiting: Waiting,
    recorded: Arc<Semaphore>,
    /// When permits expire, and whose.
    expiries: mpsc::UnboundedSender<(Instant, ReceiptHandle)>,
}

impl StartLimiter {
    /// It must be made within a Tokio runtime. Its task ends when it is dropped.
    pub(super) fn new() -> Self {
        let (expiries, expiring) = mpsc::unbounded_channel();
        let started = Started::default();
        tokio::spawn(expire(started.clone(), expiring));
        Self {
            permits: Permits::new(STARTS_MAX),
            started,
            waiting: Waiting::default(),
            recorded: Arc::new(Semaphore::new(RECORDED_MAX)),
            expiries,
        }
    }

    /// Waits until an attempt of a collection may start. It keeps its permit until it ends, or the permit expires.
    pub(super) async fn start(&self, collection_uid: &str, message: ReceiptHandle) {
        let waits = self.waiting.one_more();
        // If the limiter is gone, nothing limits starts.
        let Some(permit) = self.permits.permit(collection_uid).await else { return };
        drop(waits);
        let replaced = lock(&self.started).insert(message, permit);
        drop(replaced);
        // If the task is gone, the permit goes with the limiter.
        let _ = self.expiries.send((Instant::now() + START_PERMIT_MAX, message));
    }

    /// Gives back the permit of an attempt that has ended.
    pub(super) fn end(&self, message: ReceiptHandle) {
        let permit = lock(&self.started).remove(&message);
        drop(permit);
    }

    /// Waits until an attempt that has ended may be recorded: until none waits for its start, or for
    /// [`RECORD_WAITS_MAX`], and then for its turn, which lasts until the returned permit is dropped.
    pub(super) async fn record(&self, message: ReceiptHandle) -> Option<OwnedSemaphorePermit> {
        self.end(message);
        // Whether it was too long or not: the record is due.
        let _ = timeout(RECORD_WAITS_MAX, self.waiting.none()).await;
        self.recorded.clone().acquire_owned().await.ok()
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
async fn expire(started: Started, mut expiring: mpsc::UnboundedReceiver<(Instant, ReceiptHandle)>) {
    while let Some((expires_at, message)) = expiring.recv().await {
        if lock(&started).contains_key(&message) {
            sleep_until(expires_at).await;
            let permit = lock(&started).remove(&message);
            drop(permit);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::*;

    const fn message(id: i64) -> ReceiptHandle {
        ReceiptHandle { id, delivery: 1 }
    }

    /// Starts attempts of a collection until one has to wait. Returns how many have started: messages from 0.
    fn start(limiter: &StartLimiter, collection: &str) -> i64 {
        (0..1_000)
            .find(|id| limiter.start(collection, message(*id)).now_or_never().is_none())
            .unwrap_or_default()
    }

    #[tokio::test(start_paused = true)]
    async fn a_permit_is_given_back_when_its_attempt_ends_or_after_its_time() {
        let limiter = StartLimiter::new();
        assert_eq!(start(&limiter, "a"), 252);
        let since = Instant::now();
        limiter.end(message(7));
        limiter.start("a", message(1_000)).await;
        assert_eq!(since.elapsed(), Duration::ZERO, "the attempt has ended");
        // On the paused clock, this takes no time.
        let started = timeout(Duration::from_secs(10), limiter.start("a", message(1_001))).await;
        assert!(started.is_ok(), "a permit expires");
        let waited = since.elapsed();
        assert!(
            (START_PERMIT_MAX..2 * START_PERMIT_MAX).contains(&waited),
            "the other attempts have not ended: {waited:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_record_waits_until_the_others_have_started_or_for_its_time() {
        let limiter = StartLimiter::new();
        let since = Instant::now();
        let turn = limiter.record(message(-1)).await;
        assert!(turn.is_some() && since.elapsed() == Duration::ZERO, "no attempt waits");
        start(&limiter, "a");
        let mut waits = pin!(limiter.start("a", message(1_000)));
        assert!(waits.as_mut().now_or_never().is_none(), "no permit is free");
        let mut record = pin!(limiter.record(message(-1)));
        assert!(record.as_mut().now_or_never().is_none(), "an attempt waits for its start");
        limiter.end(message(7));
        waits.await;
        record.await;
        assert_eq!(since.elapsed(), Duration::ZERO, "all have started");
        // As of a target that takes long: no permit becomes free.
        let stuck = limiter.waiting.one_more();
        limiter.record(message(-1)).await;
        assert!((RECORD_WAITS_MAX..2 * RECORD_WAITS_MAX).contains(&since.elapsed()));
        drop(stuck);
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_are_recorded_at_a_time_and_the_next_when_one_of_them_is_over() {
        let limiter = StartLimiter::new();
        let mut turns = Vec::new();
        for _ in 0..RECORDED_MAX {
            turns.push(limiter.record(message(-1)).await);
        }
        let mut next = pin!(limiter.record(message(-1)));
        assert!(next.as_mut().now_or_never().is_none());
        turns.pop();
        assert!(next.await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_burst_of_one_collection_leaves_permits_for_another() {
        let limiter = StartLimiter::new();
        start(&limiter, "burst");
        assert!(limiter.start("other", message(1_000)).now_or_never().is_some());
        // A caller that has gone, as the last one of the burst, holds up no other.
        limiter.end(message(0));
        assert!(limiter.start("burst", message(1_001)).now_or_never().is_some());
    }
}
