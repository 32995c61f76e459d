//! An origin that hangs for a while, and the brakes that workers share.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::firing::SharedBrake;
use minutehand_domain::firing::limits::ACTION;
use minutehand_ports::{Brakes, StoreError};
use serde_json::json;

use super::faults::StorePort;
use super::mutation::Mutation;
use super::time::SECOND;
use super::world::World;

/// The address of what hangs now and then.
pub(super) const HANGS: &str = "http://hangs.example/";
/// How long a call takes that has no answer.
const NO_ANSWER: i64 = ACTION.num_seconds() * SECOND;
/// How often a process reads what it could not read.
const READS: usize = 4;
/// The longest time in which that origin answers.
const ANSWER: i64 = 5 * SECOND;

/// The times in which the origin hangs, and what is known of all origins.
#[derive(Default)]
pub(super) struct Hanging {
    pub(super) spans: Mutex<Vec<(i64, i64)>>,
    pub(super) notes: Mutex<Vec<BrakeNote>>,
}

/// What happened to an origin.
#[derive(Debug, Clone)]
pub(super) struct BrakeNote {
    pub(super) at: i64,
    pub(super) origin: String,
    pub(super) what: BrakeWhat,
}

#[derive(Debug, Clone)]
pub(super) enum BrakeWhat {
    /// It is called.
    Call {
        id: String,
        /// When the attempt was due.
        due: i64,
        /// When its target has answered, or would have.
        until: i64,
    },
    /// The store was told that a call has no answer.
    Unanswered,
    /// The store was told that it has answered.
    Answered,
}

impl Hanging {
    /// Whether brakes are shared.
    pub(super) fn is_on(&self) -> bool {
        !self.spans.lock().unwrap().is_empty()
    }

    /// Whether a call to an origin has an answer, and how long it takes that would take so long elsewhere.
    pub(super) fn answers(&self, origin: &str, now: i64, took: i64) -> (bool, i64) {
        if !origin.contains("hangs.example") {
            return (true, took);
        }
        let spans = self.spans.lock().unwrap();
        let hangs = spans.iter().any(|(from, until)| (*from..*until).contains(&now));
        if hangs { (false, NO_ANSWER) } else { (true, took.min(ANSWER)) }
    }
}

impl World {
    /// Notes what happened to an origin, where brakes are shared.
    pub(super) fn note_brake(&self, origin: &str, what: BrakeWhat) {
        if !self.hanging.is_on() {
            return;
        }
        let note = BrakeNote { at: self.time.now(), origin: origin.to_owned(), what };
        self.log.note(|| {
            let mut line = json!({"e": "brake", "at": note.at, "origin": note.origin});
            match &note.what {
                BrakeWhat::Call { id, due, until } => {
                    line["what"] = "call".into();
                    line["id"] = id.as_str().into();
                    line["due"] = (*due).into();
                    line["until"] = (*until).into();
                }
                BrakeWhat::Unanswered => line["what"] = "unanswered".into(),
                BrakeWhat::Answered => line["what"] = "answered".into(),
            }
            line
        });
        self.hanging.notes.lock().unwrap().push(note);
    }
}

#[async_trait]
impl Brakes for StorePort {
    async fn read_brakes(&self) -> Result<Vec<(String, SharedBrake)>, StoreError> {
        let read = || {
            if self.is(Mutation::BrakesAreIgnored) {
                return Ok(Vec::new());
            }
            Ok(self.world.memory.brakes().into_iter().collect())
        };
        // A process that cannot read them goes on with what it knew. Here each one is new, so it reads again.
        for _ in 0..READS {
            if let Ok(known) = self.op(true, read).await {
                return Ok(known);
            }
        }
        self.op(true, read).await
    }

    async fn count_unanswered(
        &self,
        origin: &str,
        now: DateTime<Utc>,
    ) -> Result<SharedBrake, StoreError> {
        let count = || {
            self.world.note_brake(origin, BrakeWhat::Unanswered);
            Ok(self.world.memory.count_brake(origin, now))
        };
        self.op(false, count).await
    }

    async fn take_call(&self, origin: &str, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let take = || {
            if self.is(Mutation::CallsAreShared) {
                return Ok(true);
            }
            let took = self.world.memory.take_call_now(origin, now);
            if self.is(Mutation::CallsAreLost) && took {
                let never = now + TimeDelta::days(1);
                return Ok(self.world.memory.take_call_now(origin, never) || took);
            }
            Ok(took)
        };
        self.op(false, take).await
    }

    async fn release_brake(&self, origin: &str) -> Result<(), StoreError> {
        let release = || {
            self.world.note_brake(origin, BrakeWhat::Answered);
            if !self.is(Mutation::BrakesStay) {
                self.world.memory.release_brake_now(origin);
            }
            Ok(())
        };
        self.op(true, release).await
    }
}

/// The brakes of the workers of a process.
pub(super) fn brakes_of(store: &Arc<StorePort>) -> Option<Arc<dyn Brakes>> {
    store.world.hanging.is_on().then(|| store.clone() as _)
}
