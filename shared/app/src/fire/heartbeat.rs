//! Signs of life, from which outages are known: see [`minutehand_domain::firing::Pulse`].
//!
//! A beat is one write with the beat before as its condition. A crash before it leaves the pulse as it
//! was, and the next beat notes a longer outage. Two processes that beat at the same time do not
//! disturb each other: the second one finds the beat of the first.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use chrono::{DateTime, Utc};
use futures_util::lock::Mutex;
use minutehand_domain::attempt::CLOCKS;
use minutehand_domain::firing::limits::BEAT_EVERY;
use minutehand_domain::firing::{Outage, Pulse};
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::tick::ticks;
use minutehand_ports::store::PulseOf;
use minutehand_ports::{Clock, Pulses};

use super::spans;
use crate::error::{AppError, Result};

/// How often a beat is tried when other processes beat first.
const BEAT_ROUNDS_MAX: usize = 5;

/// Gives signs of life for the sweepers or the workers, and tells their outages.
pub struct Heartbeat {
    pulses: Arc<dyn Pulses>,
    clock: Arc<dyn Clock>,
    of: PulseOf,
    /// For how long these processes keep history; `None` if they write none.
    history: Option<HistoryDays>,
    /// Whether no other process gives such signs.
    is_alone: bool,
    /// The work time, in ticks, from which on another look is needed.
    next_at: AtomicI64,
    /// Held while the pulse is looked at, so that concurrent callers look once.
    looking: Mutex<()>,
    /// The pulse that was last seen or written.
    known: StdMutex<Option<Pulse>>,
}

impl Heartbeat {
    /// The signs of life of sweepers or workers.
    #[must_use]
    pub fn new(pulses: Arc<dyn Pulses>, clock: Arc<dyn Clock>, of: PulseOf) -> Self {
        Self {
            pulses,
            clock,
            of,
            history: None,
            is_alone: false,
            next_at: AtomicI64::new(i64::MIN),
            looking: Mutex::new(()),
            known: StdMutex::default(),
        }
    }

    /// The same for processes that keep history for this long, which each beat notes.
    #[must_use]
    pub fn keeping(self, history: HistoryDays) -> Self {
        Self { history: Some(history), ..self }
    }

    /// The same for a process that is alone: nothing worked before it began.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { is_alone: true, ..self }
    }

    /// Gives a sign of life, if the last one that this process knows of was some time ago.
    ///
    /// # Errors
    ///
    /// If the store fails. Nothing should be done then whose lateness an outage would explain.
    pub async fn beat(&self) -> Result<()> {
        if self.has_beaten() {
            return Ok(());
        }
        let _looking = self.looking.lock().await;
        if self.has_beaten() {
            return Ok(());
        }
        for _ in 0..BEAT_ROUNDS_MAX {
            if let Some(pulse) = self.try_beat().await? {
                *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(pulse);
                let next_at = self.clock.work_now() + BEAT_EVERY;
                self.next_at.store(ticks(next_at), Ordering::Relaxed);
                return Ok(());
            }
        }
        Err(AppError::Busy { what: "the pulse".to_owned() })
    }

    /// The outages that may explain why something that was ready at this time has not happened yet.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn outages(&self, ready_at: DateTime<Utc>) -> Result<Vec<Outage>> {
        if self.is_alone {
            return Ok(self.known_outages());
        }
        // What is late for a shorter time is late for another reason.
        let late = self.clock.now() - ready_at;
        if late <= spans(self.clock.as_ref()).outage_min {
            return Ok(Vec::new());
        }
        Ok(self.pulses.read_pulses().await?.of(self.of).outages.clone())
    }

    /// Until when an outage cost every occurrence that its job does not make up for. One that was due later may
    /// have started, if its message came soon enough after the outage. Clocks differ a little.
    #[must_use]
    pub fn costs_all_until(&self, outage: Outage) -> DateTime<Utc> {
        let margin = spans(self.clock.as_ref()).outage_min + CLOCKS;
        let all_until = if self.is_alone { None } else { outage.until.checked_sub_signed(margin) };
        all_until.unwrap_or(outage.until)
    }

    /// The outages that the last beat knew of.
    #[must_use]
    pub fn known_outages(&self) -> Vec<Outage> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().map(|pulse| pulse.outages.clone()).unwrap_or_default()
    }

    fn has_beaten(&self) -> bool {
        ticks(self.clock.work_now()) < self.next_at.load(Ordering::Relaxed)
    }

    /// One look at the pulse, and a beat if it is due; `None` if another process came first.
    async fn try_beat(&self) -> Result<Option<Pulse>> {
        let before = self.pulses.read_pulses().await?.of(self.of).clone();
        let is_start =
            self.is_alone && self.known.lock().unwrap_or_else(PoisonError::into_inner).is_none();
        let (now, spans) = (self.clock.now(), spans(self.clock.as_ref()));
        if !is_start && !before.is_due(now, &spans) {
            return Ok(Some(before));
        }
        let pulse = before.beat(now, is_start, &spans);
        let noted = self.history.map(|days| pulse.history.and(days, now));
        let pulse = Pulse { history: noted.unwrap_or_default(), ..pulse };
        let is_kept = self.pulses.beat(self.of, before.beat_at, &pulse).await?;
        Ok(is_kept.then_some(pulse))
    }
}
