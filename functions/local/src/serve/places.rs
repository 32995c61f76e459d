//! The places of this process: which messages are handled now, and which wait.
//!
//! `minutehand_domain::firing::Places` decides; here are the lock around it, and the place that gives itself back.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_app::fire::{DeliveryPlace, Waiting};
use minutehand_domain::firing::{Place, Places, Share};
use minutehand_ports::{Clock, HangingOrigins, ReceiptHandle, StoreError};
use tokio::sync::{Notify, OwnedSemaphorePermit};

use super::alarm::Alarm;
use super::starts::StartLimiter;
use crate::lock;

/// The places of the process, and the receipts of the messages that wait for one.
pub(super) struct SharedPlaces {
    places: Mutex<Places<ReceiptHandle>>,
    freed: Notify,
    alarm: Arc<Alarm>,
    starts: StartLimiter,
}

/// A place of a message, which is given back when it is dropped.
pub(super) struct HeldPlace {
    places: Arc<SharedPlaces>,
    /// `None` after it was given back.
    place: Mutex<Option<Place>>,
    /// Its turn to be recorded.
    record: OnceLock<OwnedSemaphorePermit>,
    pub(super) receipt: ReceiptHandle,
}

impl SharedPlaces {
    /// It must be made within a Tokio runtime.
    pub(super) fn new(places: usize, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            alarm: Alarm::new(clock),
            places: Mutex::new(Places::new(places, Share::times_free(7))),
            freed: Notify::new(),
            starts: StartLimiter::new(),
        })
    }

    /// A place for a message of a collection, if it may have one now. Otherwise its receipt waits.
    pub(super) fn arrive(
        self: &Arc<Self>,
        collection: &str,
        receipt: ReceiptHandle,
    ) -> Option<HeldPlace> {
        let (place, _) = lock(&self.places).arrive(collection, receipt)?;
        Some(self.hold(place, receipt))
    }

    /// The places of the messages that are next in turn among those that wait, at most `max`. If there
    /// may be more, [`freed`](Self::freed) returns at once.
    pub(super) fn next(self: &Arc<Self>, max: usize) -> Vec<HeldPlace> {
        let mut places = lock(&self.places);
        let next = std::iter::from_fn(|| places.start_next()).take(max);
        let next: Vec<_> = next.map(|(place, receipt)| self.hold(place, receipt)).collect();
        if next.len() == max {
            self.freed.notify_one();
        }
        next
    }

    /// How many messages wait.
    pub(super) fn waiting(&self) -> usize {
        lock(&self.places).waiting()
    }

    /// Waits until a place was given back for which something waits. Only one task may wait.
    pub(super) async fn freed(&self) {
        self.freed.notified().await;
    }

    /// Waits until no place is held. Only one task may wait.
    pub(super) async fn all_free(&self) {
        while lock(&self.places).held() > 0 {
            self.freed.notified().await;
        }
    }

    fn hold(self: &Arc<Self>, place: Place, receipt: ReceiptHandle) -> HeldPlace {
        HeldPlace {
            places: self.clone(),
            place: Mutex::new(Some(place)),
            record: OnceLock::new(),
            receipt,
        }
    }

    /// Gives a place back. The task that waits is woken only if there is something for it to do:
    /// mostly nothing waits.
    fn give_back(&self, give_back: impl FnOnce(&mut Places<ReceiptHandle>)) {
        let mut places = lock(&self.places);
        give_back(&mut places);
        let is_awaited = places.waiting() > 0 || places.held() == 0;
        drop(places);
        if is_awaited {
            self.freed.notify_one();
        }
    }
}

/// Those that hang for this process: each has its own calls.
#[async_trait]
impl HangingOrigins for SharedPlaces {
    async fn hanging_origins(&self, _work_now: DateTime<Utc>) -> Result<Vec<String>, StoreError> {
        Ok(lock(&self.places).hanging().map(str::to_owned).collect())
    }
}

impl HeldPlace {
    /// Gives the place back, and lets its message wait: for a place at this origin, or at the one that
    /// was told before.
    pub(super) fn wait(mut self, origin: Option<&str>) {
        let receipt = self.receipt;
        if let Some(place) = self.take() {
            self.places.give_back(|places| places.wait(place, origin, receipt));
        }
    }

    fn take(&mut self) -> Option<Place> {
        self.place.get_mut().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Does something with the place, if it was not given back.
    fn with<R>(&self, act: impl FnOnce(&mut Places<ReceiptHandle>, &mut Place) -> R) -> Option<R> {
        let mut place = lock(&self.place);
        place.as_mut().map(|place| act(&mut lock(&self.places.places), place))
    }
}

impl DeliveryPlace for HeldPlace {
    fn is_scarce(&self) -> bool {
        lock(&self.places.places).is_scarce()
    }

    fn try_origin(&self, origin: &str) -> bool {
        self.with(|places, place| places.try_origin(place, origin)).unwrap_or(true)
    }

    fn receipt(&self) -> Option<ReceiptHandle> {
        Some(self.receipt)
    }

    fn set_origin(&self, origin: &str) {
        self.with(|places, place| places.set_origin(place, origin));
    }

    fn ended(&self, is_answered: bool) {
        self.with(|places, place| places.ended(place, is_answered));
    }

    fn wait_until<'a>(&'a self, clock: &'a dyn Clock, at: DateTime<Utc>) -> Waiting<'a> {
        match self.with(|_, place| place.collection()) {
            Some(collection) => Box::pin(self.places.alarm.clone().wait_until(collection, at)),
            None => clock.wait_until(at),
        }
    }

    fn may_start(&self) -> Waiting<'_> {
        Box::pin(async {
            if let Some(collection) = self.with(|_, place| place.collection()) {
                self.places.starts.start(&collection, self.receipt).await;
            }
        })
    }

    fn may_record(&self) -> Waiting<'_> {
        Box::pin(async {
            if let Some(turn) = self.places.starts.record(self.receipt).await {
                let _ = self.record.set(turn);
            }
        })
    }
}

impl Drop for HeldPlace {
    fn drop(&mut self) {
        self.places.starts.end(self.receipt);
        if let Some(place) = self.take() {
            self.places.give_back(|places| places.leave(place));
        }
    }
}
