//! Converts the civil times of a pattern to instants, also where the clock changes.
//!
//! The rule decides which of two readings applies (see [`Reading`]):
//!
//! | | gap (the clock goes forward) | fold (the clock goes back) |
//! |---|---|---|
//! | [`Reading::Named`] | a skipped time moves forward by the length of the gap | the first of the two times fires |
//! | [`Reading::Every`] | a skipped time does not fire | both times fire |
//!
//! Within a segment the offset is constant, so a search needs one lookup in the zone and one in the
//! pattern. A search that ends after its segment needs a second lookup, in the segment where it ends.
//! Segments in between have no match, because the pattern has none before the one found. A fold
//! repeats times, but the search has already passed them. The only exception is a fold at the end of
//! the first segment, so the search checks it.

use chrono::{DateTime, NaiveDateTime};

use crate::civil::{CALENDAR_END, CALENDAR_START};
use crate::pattern::Pattern;
use crate::zone::{OffsetSegment, Zone};

/// The number of times that the match of a search may fall into a gap.
///
/// A pattern with [`Reading::Every`] reaches each hour of the day again within 42 days. Two gaps in a
/// row are therefore rare and three are not known, so this limit is never reached.
const GAPS_MAX: usize = 64;

/// The number of segments between a guess and the right segment.
///
/// The largest change of an offset is one day, and no zone has more changes than this around it.
const NEIGHBOURS_MAX: usize = 8;

/// How civil times become instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The rule names hours: each civil time fires once.
    Named,
    /// The rule means every hour: it fires whenever the clock shows a matching time.
    Every,
}

/// A pattern in a time zone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeline<'a> {
    pub(crate) zone: &'a Zone,
    pub(crate) pattern: &'a Pattern,
    pub(crate) reading: Reading,
}

/// The place of a civil time between the clock changes of a zone.
enum CivilPlace {
    /// The time is in this segment; if the clock shows it twice, in the earlier one.
    Shown(OffsetSegment),
    /// The time is in the gap before this segment.
    Skipped(OffsetSegment),
}

impl Timeline<'_> {
    /// Returns the first match at or after an instant.
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
            // The fold repeats times that have already fired.
            return self.next_shown(segment, segment.start + segment.before);
        }
        // Right after a gap, skipped times fire among the times that the clock shows.
        let gap_end = segment.start + segment.offset;
        let skipped = self.pattern.next(instant + segment.before).filter(|civil| *civil < gap_end);
        let moved = skipped.map(|civil| civil - segment.before);
        self.next_shown(segment, shown).into_iter().chain(moved).min()
    }

    /// Returns the first match at or after a civil time of a segment, in this segment or a later one.
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
            // The clock may go back at the end of this segment and show times before `from` again.
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

    /// Counts the matches from one instant (inclusive) to another (exclusive).
    pub(crate) fn count(&self, from: i64, to: i64) -> i64 {
        let (mut at, to) = (from.max(CALENDAR_START), to.min(CALENDAR_END + 1));
        let mut total = 0;
        // Bounded: a zone has about two segments a year, and the calendar has 9,999 years.
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

    /// Counts the skipped times that move to an instant which does not match by itself.
    fn count_moved(&self, (from, to): (i64, i64), jump: i64) -> i64 {
        let next = |from| self.pattern.next(from).filter(|civil| *civil < to);
        // Bounded: the longest gap is one day, and a pattern has at most one match a minute.
        let skipped = std::iter::successors(next(from), |civil| next(civil + 1));
        skipped.map(|civil| i64::from(!self.pattern.contains(civil + jump))).sum()
    }

    /// Returns how a clock change affected a match; `nanos` is the fraction of a second of all
    /// matches.
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

/// The effect of a clock change on an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockChange {
    /// The clock skipped the civil time, so the occurrence moved forward by the length of the gap.
    ///
    /// An occurrence also counts as moved if the rule names the time that it moved to.
    Moved {
        /// The civil time that the clock skipped.
        skipped: NaiveDateTime,
    },
    /// The clock shows this time twice; this is the first occurrence.
    FirstOfTwo,
    /// The clock shows this time twice; this is the second occurrence.
    SecondOfTwo,
}

/// Finds the place of a civil time, starting from the offset of the segment `near`.
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

/// Returns the instant of a civil time.
///
/// A skipped time moves forward by the length of the gap. Of a time that the clock shows twice, it
/// is the first.
pub(crate) fn instant_of(zone: &Zone, civil: i64) -> i64 {
    match place(zone, civil, OffsetSegment::fixed(0)) {
        CivilPlace::Shown(segment) => civil - segment.offset,
        CivilPlace::Skipped(after) => civil - after.before,
    }
}
