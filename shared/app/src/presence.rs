//! The signs of the processes with the API: see [`minutehand_domain::presence`].
//!
//! A sign is one write, which succeeds only if no other process has written since the signs were read. After a
//! crash before it, the next process sees from the last sign since when no process may have been there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::lock::Mutex;
use minutehand_domain::presence::{Presence, SIGN_EVERY, Watched};
use minutehand_ports::{ApiSigns, Clock};

use crate::error::{AppError, Result};

/// How often a sign is tried when other processes write first.
const ROUNDS_MAX: usize = 20;
/// A process without so many signs is taken for dead.
const SIGNS_MISSED: i32 = 2;

/// Gives the signs of this process, if it has the API, and tells which times were watched.
pub struct ApiPresence {
    signs: Arc<dyn ApiSigns>,
    clock: Arc<dyn Clock>,
    /// Tells this process from others.
    id: String,
    /// Whether no other process uses the store.
    is_alone: bool,
    is_here: AtomicBool,
    /// Held while it is asked what was watched.
    asked: Mutex<()>,
}

impl ApiPresence {
    /// The signs of a process with an id of its own.
    #[must_use]
    pub fn new(
        signs: Arc<dyn ApiSigns>,
        clock: Arc<dyn Clock>,
        id: String,
        is_alone: bool,
    ) -> Self {
        Self {
            signs,
            clock,
            id,
            is_alone,
            is_here: AtomicBool::new(false),
            asked: Mutex::default(),
        }
    }

    /// The API begins to take pings.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn begin(&self) -> Result<()> {
        let begins = |it: &Presence, now, overdue| it.begins(&self.id, self.is_alone, now, overdue);
        let _: Presence = self.change(begins).await?;
        self.is_here.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The API is there. One that has not begun, or has ended, gives no sign.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn sign(&self) -> Result<()> {
        if self.is_here() { self.signed().await.map(drop) } else { Ok(()) }
    }

    /// Gives a sign if a process that has begun beside this one cannot know that it lives.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn answer_doubts(&self) -> Result<()> {
        let may_be_doubted = !self.is_alone && self.is_here();
        if may_be_doubted && self.known().await?.is_doubted(&self.id) {
            self.signed().await?;
        }
        Ok(())
    }

    /// The API takes no more pings.
    ///
    /// # Errors
    ///
    /// If the store fails. Then it is as if the process had died.
    pub async fn end(&self) -> Result<()> {
        if !self.is_here.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        self.change(|it, now, overdue| it.ends(&self.id, now, overdue)).await.map(drop)
    }

    /// Whether something could take pings in all of this time, which is over. A process with the API says so
    /// itself.
    pub(crate) async fn watched(&self, span: [DateTime<Utc>; 2]) -> Result<Watched> {
        let watched_by =
            |presence: &Presence| presence.watched(span, self.clock.now(), self.overdue());
        // Many pings may be missing at once: the sign for one of them tells of the others.
        let _turn = self.asked.lock().await;
        let watched = watched_by(&self.known().await?);
        if watched == Watched::Unknown && self.is_here() {
            return Ok(watched_by(&self.signed().await?));
        }
        Ok(watched)
    }

    /// Whether the API of this process takes pings.
    fn is_here(&self) -> bool {
        self.is_here.load(Ordering::Relaxed)
    }

    /// What the signs tell.
    async fn known(&self) -> Result<Presence> {
        read(&self.signs.read_signs().await?.state)
    }

    async fn signed(&self) -> Result<Presence> {
        self.change(|it, now, overdue| it.signs(&self.id, now, overdue)).await
    }

    /// After how long without a sign a process is taken for dead, on the clock of the schedule.
    fn overdue(&self) -> TimeDelta {
        self.clock.scheduled_during(SIGN_EVERY * SIGNS_MISSED)
    }

    /// Stores what becomes of the signs, and returns it.
    async fn change(
        &self,
        change: impl Fn(&Presence, DateTime<Utc>, TimeDelta) -> Presence + Send,
    ) -> Result<Presence> {
        for _ in 0..ROUNDS_MAX {
            let stored = self.signs.read_signs().await?;
            let after = change(&read(&stored.state)?, self.clock.now(), self.overdue());
            if self.signs.write_signs(stored.number, &after.to_string()).await? {
                return Ok(after);
            }
        }
        Err(AppError::Busy { what: "the signs of the API".to_owned() })
    }
}

fn read(state: &str) -> Result<Presence> {
    Presence::read(state)
        .ok_or_else(|| AppError::Newer { name: "presence".to_owned(), what: state.to_owned() })
}
