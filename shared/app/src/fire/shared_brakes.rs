//! The brakes of origins, as one of many processes knows them.
//!
//! The process reads them every other second while it works, and writes only about calls that have no answer, about
//! the first answer after them, and for each call of an origin that hangs. An origin that answers costs nothing.
//!
//! A store that fails brakes nothing new: a first attempt calls with what the process knows, and a call that was
//! made is recorded whatever becomes of its brake.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::lock::Mutex;
use minutehand_domain::firing::SharedBrake;
use minutehand_ports::{Brakes, Clock, StoreError};

/// How often a process that works reads the brakes.
const LOOK_EVERY: TimeDelta = TimeDelta::seconds(2);

/// The brakes of origins.
pub(super) struct SharedBrakes {
    store: Arc<dyn Brakes>,
    clock: Arc<dyn Clock>,
    /// Held while the brakes are read, so that concurrent callers read once: when they were last read.
    looked_at: Mutex<Option<DateTime<Utc>>>,
    known: StdMutex<HashMap<String, SharedBrake>>,
}

impl SharedBrakes {
    pub(super) fn new(store: Arc<dyn Brakes>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, looked_at: Mutex::default(), known: StdMutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, SharedBrake>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the brakes, if that was not done just now; `false` if they cannot be read.
    async fn look(&self) -> bool {
        let mut looked_at = self.looked_at.lock().await;
        let now = self.clock.work_now();
        if looked_at.is_some_and(|at| now - at < LOOK_EVERY) {
            return true;
        }
        match self.store.read_brakes().await {
            Ok(brakes) => {
                *self.known() = brakes.into_iter().collect();
                *looked_at = Some(now);
                true
            }
            Err(error) => {
                note("the brakes of origins cannot be read", &error);
                false
            }
        }
    }

    /// Whether a call to an origin that hung seems to be allowed now.
    pub(super) async fn sees_call(&self, origin: &str) -> bool {
        if !self.look().await {
            return false;
        }
        let now = self.clock.work_now();
        self.known().get(origin).is_none_or(|brake| brake.may_call(now))
    }

    /// Takes a call to an origin, if that hangs; `false` if none is due.
    pub(super) async fn take_call(&self, origin: &str) -> Result<bool, StoreError> {
        self.look().await;
        let now = self.clock.work_now();
        {
            let mut known = self.known();
            let Some(brake) = known.get_mut(origin).filter(|brake| brake.hangs(now)) else {
                return Ok(true);
            };
            if !brake.may_call(now) {
                return Ok(false);
            }
            // Nothing else of this process asks before the next look.
            *brake = brake.called(now);
        }
        self.store.take_call(origin, now).await
    }

    /// Counts a call that has no answer.
    pub(super) async fn unanswered(&self, origin: &str) {
        match self.store.count_unanswered(origin, self.clock.work_now()).await {
            Ok(brake) => {
                if brake.begins_to_hang() {
                    tracing::warn!(origin, "an origin hangs: few calls are made until it answers");
                }
                self.known().insert(origin.to_owned(), brake);
            }
            Err(error) => note("a call without an answer is not counted", &error),
        }
    }

    /// Forgets the calls of an origin that had no answer, if there were any: it has answered. A call that was
    /// counted is known to the store even if this process has not read that.
    pub(super) async fn answered(&self, origin: &str, was_counted: bool) {
        let is_known = self.known().remove(origin).is_some();
        if !is_known && !was_counted {
            return;
        }
        if let Err(error) = self.store.release_brake(origin).await {
            note("the brake of an origin that answers is not released", &error);
        }
    }
}

/// Logs that the brakes do not work as they should. The attempt goes on.
fn note(what: &str, error: &StoreError) {
    tracing::warn!(%error, "{what}");
}
