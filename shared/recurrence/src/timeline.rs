//! From the clock on the wall to instants: what happens to a pattern where the clock jumps.
//!
//! Two readings, and which one applies is part of the rule (see [`Reading`]):
//!
//! | | gap (the clock goes forward) | fold (the clock goes back) |
//! |---|---|---|
//! | [`Reading::Named`] | a time that is never shown moves forward by the gap | the first of the two |
//! | [`Reading::Every`] | not at all | both |
//!
//! Inside a segment the clock runs straight, so a search is one look at the zone and one at the
//! pattern. Only a search that ends beyond its segment looks again, at the segment it ends in:
//! segments in between cannot hold a match, since the pattern has none before the one found
//! (a fold shows times again, but times that were searched when they were first shown; the one
//! exception, a fold right where the search began, is looked at).

use chrono::{DateTime, NaiveDateTime};

use crate::civil::{CALENDAR_END, CALENDAR_START};
use crate::pattern::Pattern;
use crate::zone::{OffsetSegment, Zone};

/// How often a search may find that its match falls into a gap.
///
/// A pattern read as [`Reading::Every`] meets each hour of the clock again within 42 days, so two
/// gaps running are rare and a third is not known; the bound is far above.
const GAPS_MAX: usize = 64;

/// How far apart the guess of a segment and the right one may be: zones have changed their offset
/// by a day, and at most this many times around it.
const NEIGHBOURS_MAX: usize = 8;

/// How civil times become instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Hours are named: one instant for each civil time.
    Named,
    /// Every hour is meant: each instant at which the clock shows such a time.
    Every,
}

/// A pattern on a zone's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeline<'a> {
    pub(crate) zone: &'a Zone,
    pub(crate) pattern: &'a Pattern,
    pub(crate) reading: Reading,
}

/// Where a civil time lies.
enum CivilPlace {
    /// In this segment (the earlier one, if it is shown twice).
    Shown(OffsetSegment),
    /// In the gap before this segment.
    Skipped(OffsetSegment),
}

impl Timeline<'_> {
    /// The first match at or after an instant.
    pub(crate) fn next(&self, instant: i64) -> Option<i64> {
        match self.reading {
            Reading::Named => self.next_named(instant),
            Reading::Every => self.next_every(instant),
        }
    }

    fn next_named(&self, instant: i64) -> Option<i64> {
        let segment = self.zone.segment_at(instant);
        let jump = segment.jump();
        let shown = instant + segment.offset;
        if jump == 0 || instant.saturating_sub(segment.start) >= jump.abs() {
            return self.next_shown(segment, shown);
        }
        if jump < 0 {
            // The second pass of a fold: what it shows was taken in the first.
            return self.next_shown(segment, segment.start + segment.before);
        }
        // The shadow of a gap: its times still come out here, among those that are shown.
        let gap_end = segment.start + segment.offset;
        let skipped = self.pattern.next(instant + segment.before).filter(|civil| *civil < gap_end);
        let moved = skipped.map(|civil| civil - segment.before);
        self.next_shown(segment, shown).into_iter().chain(moved).min()
    }

    /// The first match that a segment, or a later one, shows at or after a civil time.
    fn next_shown(&self, segment: OffsetSegment, from: i64) -> Option<i64> {
        let civil = self.pattern.next(from)?;
        if civil < segment.civil_end() {
            return Some(civil - segment.offset);
        }
        match place(self.zone, civil, segment) {
            CivilPlace::Shown(segment) => Some(civil - segment.offset),
            CivilPlace::Skipped(after) => {
                let moved = civil - after.before;
                let shown = self.pattern.next(after.start + after.offset);
                Some(shown.map_or(moved, |civil| moved.min(civil - after.offset)))
            }
        }
    }

    fn next_every(&self, instant: i64) -> Option<i64> {
        let mut segment = self.zone.segment_at(instant);
        let mut from = instant + segment.offset;
        for _ in 0..GAPS_MAX {
            let civil = self.pattern.next(from)?;
            if civil < segment.civil_end() {
                return Some(civil - segment.offset);
            }
            // Right after this segment the clock may go back before `from`.
            let following = self.zone.segment_at(segment.end);
            let shown_again = segment.end.saturating_add(following.offset);
            if shown_again < from {
                let civil = self.pattern.next(shown_again)?;
                if civil < following.civil_end() {
                    return Some(civil - following.offset);
                }
            }
            match place(self.zone, civil, segment) {
                CivilPlace::Shown(segment) => return Some(civil - segment.offset),
                CivilPlace::Skipped(after) => {
                    segment = after;
                    from = after.start + after.offset;
                }
            }
        }
        None
    }

    /// How many matches lie from one instant (inclusive) to another (exclusive).
    pub(crate) fn count(&self, from: i64, to: i64) -> i64 {
        let (mut at, to) = (from.max(CALENDAR_START), to.min(CALENDAR_END + 1));
        let mut total = 0;
        // Bounded: a zone has two segments a year, and the calendar 9,999 years.
        while at < to {
            let segment = self.zone.segment_at(at);
            let end = segment.end.min(to);
            total += self.count_in(&segment, at, end);
            at = end;
        }
        total
    }

    fn count_in(&self, segment: &OffsetSegment, from: i64, to: i64) -> i64 {
        let (first, last) = (from + segment.offset, to + segment.offset);
        let jump = segment.jump();
        if self.reading == Reading::Every || jump == 0 {
            return self.pattern.count(first, last);
        }
        if jump < 0 {
            let taken = segment.start + segment.before;
            return self.pattern.count(first.max(taken), last);
        }
        let shadow_end = to.min(segment.start + jump);
        let skipped = (from + segment.before, shadow_end + segment.before);
        self.pattern.count(first, last) + self.count_moved(skipped, jump)
    }

    /// How many matches in a gap come out at an instant that is not a match anyway.
    fn count_moved(&self, (from, to): (i64, i64), jump: i64) -> i64 {
        let next = |from| self.pattern.next(from).filter(|civil| *civil < to);
        // Bounded by the minutes of a gap, the longest of which was a day.
        let skipped = std::iter::successors(next(from), |civil| next(civil + 1));
        skipped.map(|civil| i64::from(!self.pattern.contains(civil + jump))).sum()
    }

    /// What a change of the clock did to a match; all matches have this fraction of a second.
    pub(crate) fn clock_change(&self, instant: i64, nanos: u32) -> Option<ClockChange> {
        let segment = self.zone.segment_at(instant);
        let jump = segment.jump();
        let shown = instant + segment.offset;
        if jump != 0 && instant.saturating_sub(segment.start) < jump.abs() {
            if jump < 0 {
                return Some(ClockChange::SecondOfTwo);
            }
            let skipped = instant + segment.before;
            if self.reading == Reading::Named && self.pattern.contains(skipped) {
                let skipped = DateTime::from_timestamp(skipped, nanos)?.naive_utc();
                return Some(ClockChange::Moved { skipped });
            }
        }
        let following = self.zone.segment_at(segment.end);
        let again = segment.end != i64::MAX && shown >= segment.end + following.offset;
        again.then_some(ClockChange::FirstOfTwo)
    }
}

/// What a change of the clock did to an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockChange {
    /// The clock never showed the civil time, so the occurrence moved forward by the gap (even
    /// where the rule names the time that it moved to, as well).
    Moved {
        /// The time that was skipped.
        skipped: NaiveDateTime,
    },
    /// The clock shows this time twice, and this is the first.
    FirstOfTwo,
    /// The clock shows this time twice, and this is the second.
    SecondOfTwo,
}

/// Finds a civil time, starting where it would be if the offset had not changed since `near`.
fn place(zone: &Zone, civil: i64, near: OffsetSegment) -> CivilPlace {
    let mut segment = zone.segment_at(civil - near.offset);
    for _ in 0..NEIGHBOURS_MAX {
        if civil >= segment.civil_end() {
            let next = zone.segment_at(segment.end);
            if civil < next.start + next.offset {
                return CivilPlace::Skipped(next);
            }
            segment = next;
        } else if segment.start == i64::MIN {
            break;
        } else if civil < segment.start + segment.before {
            segment = zone.segment_at(segment.start - 1);
        } else if civil < segment.start + segment.offset {
            return CivilPlace::Skipped(segment);
        } else {
            break;
        }
    }
    CivilPlace::Shown(segment)
}

/// The instant of a civil time: moved forward out of a gap, the first of a fold.
pub(crate) fn instant_of(zone: &Zone, civil: i64) -> i64 {
    match place(zone, civil, OffsetSegment::fixed(0)) {
        CivilPlace::Shown(segment) => civil - segment.offset,
        CivilPlace::Skipped(after) => civil - after.before,
    }
}
