//! Slots: the attempts of a collection that limits its starts begin one after the other.
//!
//! Such a collection has one more item, its [`SlotBook`]. An attempt that is due takes a [`Slot`]: the
//! next instant at which one may start. Slots are evenly spaced, so that no second has more starts than
//! the limit allows. The attempt waits for its slot with its message, which carries the slot.
//!
//! A slot is kept for some seconds only. An attempt that comes later, perhaps because its worker died
//! after the start, takes another one: every start has a slot of its own. Another limit begins another
//! book, and the slots of the one before are void.
//!
//! Slots are on the clock of work.

use chrono::{DateTime, TimeDelta, Utc};

use crate::limits::PerSecond;
use crate::tick::{from_ticks, ticks};

/// How long after its slot an attempt may start.
pub const SLOT_KEEPS: TimeDelta = TimeDelta::seconds(5);
/// How far ahead slots are given out.
pub const SLOTS_AHEAD: TimeDelta = TimeDelta::hours(1);
/// How long an attempt waits before it looks whether the limit is still the same.
pub const SLOT_LOOK: TimeDelta = TimeDelta::minutes(5);
/// How long an attempt waits that found no slot in the time ahead: a minute less than a message may be
/// delayed.
pub const NO_SLOT_PAUSE: TimeDelta = TimeDelta::minutes(14);

/// An instant that is kept for the start of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The instant.
    pub at: DateTime<Utc>,
    /// The number of the book that it is from.
    pub book: u32,
}

impl Slot {
    /// Whether an attempt may start in it now, if its book is the one that holds.
    #[must_use]
    pub fn is_now(&self, now: DateTime<Utc>) -> bool {
        self.at <= now && now - self.at < SLOT_KEEPS
    }
}

/// Which slot of a collection is the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotBook {
    /// Its number: the one after that of the book before it.
    pub number: u32,
    /// The limit.
    pub per_second: PerSecond,
    /// The next slot.
    pub next_at: DateTime<Utc>,
}

impl SlotBook {
    /// The book after a slot.
    #[must_use]
    pub fn after(slot: Slot, per_second: PerSecond) -> Self {
        let next = ticks(slot.at).saturating_add(per_second.gap_ticks());
        let next_at = from_ticks(next).unwrap_or(slot.at);
        Self { number: slot.book, per_second, next_at }
    }

    /// Whether a slot was given out under the limit that holds now.
    #[must_use]
    pub fn holds(&self, slot: Slot, per_second: Option<PerSecond>) -> bool {
        self.number == slot.book && Some(self.per_second) == per_second
    }
}

/// How an attempt gets its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotStep {
    /// It gets this one, once the book after it is stored in place of the one that was read.
    Opens(Slot),
    /// It takes the next one of the book: this one, or a later one if others come first.
    Takes(Slot),
    /// All are given away for the time ahead.
    Full,
}

/// Decides how an attempt that is due gets its slot.
#[must_use]
pub fn next_slot(book: Option<SlotBook>, per_second: PerSecond, now: DateTime<Utc>) -> SlotStep {
    let Some(SlotBook { number, per_second: before, next_at }) = book else {
        return SlotStep::Opens(Slot { at: now, book: 0 });
    };
    if before != per_second {
        let now = Slot { at: now, book: number.wrapping_add(1) };
        // An attempt may have started this very moment, under the limit before.
        let at = SlotBook::after(now, per_second).next_at;
        return SlotStep::Opens(Slot { at, ..now });
    }
    if next_at < now {
        return SlotStep::Opens(Slot { at: now, book: number });
    }
    if next_at - now > SLOTS_AHEAD {
        return SlotStep::Full;
    }
    SlotStep::Takes(Slot { at: next_at, book: number })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(millis).unwrap()
    }

    fn limit(per_second: u32) -> PerSecond {
        PerSecond::new(per_second).unwrap()
    }

    fn slot(millis: i64, book: u32) -> Slot {
        Slot { at: at(millis), book }
    }

    fn book(number: u32, next: i64, per_second: u32) -> SlotBook {
        SlotBook { number, per_second: limit(per_second), next_at: at(next) }
    }

    #[test]
    fn slots_are_evenly_spaced_and_none_is_in_the_past() {
        let step = |book| next_slot(book, limit(4), at(1_000));
        assert_eq!(step(None), SlotStep::Opens(slot(1_000, 0)));
        assert_eq!(step(Some(book(7, 999, 4))), SlotStep::Opens(slot(1_000, 7)));
        assert_eq!(step(Some(book(7, 1_000, 4))), SlotStep::Takes(slot(1_000, 7)));
        assert_eq!(step(Some(book(7, 7_000, 4))), SlotStep::Takes(slot(7_000, 7)));
        assert_eq!(SlotBook::after(slot(1_000, 7), limit(4)), book(7, 1_250, 4));
    }

    #[test]
    fn a_gap_is_never_too_short() {
        for per_second in [1, 3, 7, 999, PerSecond::MAX] {
            let mut slot = slot(0, 0);
            for _ in 0..per_second {
                slot.at = SlotBook::after(slot, limit(per_second)).next_at;
            }
            assert!(slot.at >= at(1_000), "{per_second}: {}", slot.at);
        }
    }

    #[test]
    fn slots_are_given_out_for_an_hour() {
        let step = |next| next_slot(Some(book(0, next, 1)), limit(1), at(0));
        assert_eq!(step(3_600_000), SlotStep::Takes(slot(3_600_000, 0)));
        assert_eq!(step(3_600_001), SlotStep::Full);
    }

    #[test]
    fn another_limit_begins_another_book_a_gap_later() {
        for next in [0, 90_000_000] {
            let old = book(7, next, 4);
            let step = next_slot(Some(old), limit(2), at(1_000));
            assert_eq!(step, SlotStep::Opens(slot(1_500, 8)));
            // The slots of the old one are void, even when its limit holds again.
            let new = book(8, 2_000, 2);
            let SlotStep::Opens(again) = next_slot(Some(new), limit(4), at(1_100)) else {
                panic!()
            };
            let again = SlotBook::after(again, limit(4));
            assert!(!again.holds(slot(1_000, 7), Some(limit(4))));
        }
    }

    #[test]
    fn a_slot_is_kept_for_some_seconds_and_under_its_limit() {
        for (now, expected) in [(999, false), (1_000, true), (5_999, true), (6_000, false)] {
            assert_eq!(slot(1_000, 0).is_now(at(now)), expected, "{now}");
        }
        let book = book(7, 2_000, 4);
        assert!(book.holds(slot(1_000, 7), Some(limit(4))));
        assert!(!book.holds(slot(1_000, 7), Some(limit(5))));
        assert!(!book.holds(slot(1_000, 7), None));
        assert!(!book.holds(slot(1_000, 6), Some(limit(4))));
    }
}
