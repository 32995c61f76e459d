//! Permits for which collections take turns: a permit is left for a collection that has none, so the
//! burst of one collection does not delay another.

use std::sync::{Arc, Mutex};

use minutehand_domain::firing::{Place, Places, Share};
use tokio::sync::oneshot;

use crate::lock;

/// All permits, and the callers that wait for one.
pub(super) struct Permits(Mutex<Places<oneshot::Sender<Permit>>>);

/// A permit. It is given back when it is dropped.
pub(super) struct Permit {
    permits: Arc<Permits>,
    /// `None` after it was given back.
    place: Option<Place>,
}

impl Permits {
    /// So many permits. One collection alone gets seven eighths of them.
    pub(super) fn new(permits: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Places::new(permits, Share::times_free(7)))))
    }

    /// Waits for a permit for a collection.
    pub(super) async fn permit(self: &Arc<Self>, collection_uid: &str) -> Option<Permit> {
        let (sender, granted) = oneshot::channel();
        let at_once = lock(&self.0).arrive(collection_uid, sender);
        match at_once {
            Some((place, _)) => Some(self.hold(place)),
            None => granted.await.ok(),
        }
    }

    fn hold(self: &Arc<Self>, place: Place) -> Permit {
        Permit { permits: self.clone(), place: Some(place) }
    }

    /// Gives a permit back, and grants what is free then.
    fn give_back(self: &Arc<Self>, place: Place) {
        lock(&self.0).leave(place);
        loop {
            let Some((place, waiting)) = lock(&self.0).start_next() else { return };
            if let Err(mut refused) = waiting.send(self.hold(place)) {
                // Its caller is gone. It must not call this function again, which would recurse.
                if let Some(place) = refused.place.take() {
                    lock(&self.0).leave(place);
                }
            }
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.permits.give_back(place);
        }
    }
}
