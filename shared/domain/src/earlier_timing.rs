//! The timings that a job had before the one it has, kept for people: an occurrence that was due under
//! an earlier one is explained by that one.
//!
//! They are kept with the job's definition, and written in the transaction that changes the timing.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};

use crate::schedule::Schedule;
use crate::tick::{from_ticks, ticks};
use crate::timing::{FIRST_GENERATION, Timing};

/// How many are remembered.
pub const EARLIER_TIMINGS_MAX: usize = 8;
/// What stands for the line of a disabled job.
const OFF: &str = "off";

/// A timing that a job had, until the next one began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierTiming {
    /// Its generation. A version that does not know earlier timings leaves gaps.
    pub generation: u64,
    /// From when on its occurrences counted.
    pub since: DateTime<Utc>,
    /// Its schedule as one line; `None` if the job was disabled.
    pub line: Option<String>,
}

impl EarlierTiming {
    /// The timing that ends now, of a job whose timer has this line.
    #[must_use]
    pub fn ending(timing: &Timing, line: Option<String>) -> Self {
        Self { generation: timing.generation, since: timing.since, line }
    }

    /// With those before it. The oldest are forgotten.
    #[must_use]
    pub fn after(self, mut before: Vec<Self>) -> Vec<Self> {
        before.push(self);
        let forgotten = before.len().saturating_sub(EARLIER_TIMINGS_MAX);
        before.drain(..forgotten);
        before
    }
}

impl fmt::Display for EarlierTiming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { generation, since, line } = self;
        write!(f, "{generation} {} {}", ticks(*since), line.as_deref().unwrap_or(OFF))
    }
}

impl FromStr for EarlierTiming {
    type Err = UnreadableTiming;

    fn from_str(text: &str) -> Result<Self, UnreadableTiming> {
        let read = || {
            let (generation, rest) = text.split_once(' ')?;
            let (since, line) = rest.split_once(' ')?;
            Some(Self {
                generation: generation.parse().ok()?,
                since: from_ticks(since.parse().ok()?)?,
                line: (line != OFF).then(|| line.to_owned()),
            })
        };
        read().ok_or(UnreadableTiming)
    }
}

/// The text is not a timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadableTiming;

/// What held at an instant before the timing that a job has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldTiming {
    /// Its generation.
    pub generation: u64,
    /// From when on its occurrences counted.
    pub since: DateTime<Utc>,
    /// When the next timing began.
    pub until: DateTime<Utc>,
    /// The schedule; `None` if the job was disabled.
    pub schedule: Option<Schedule>,
}

impl HeldTiming {
    /// The timing that held at an instant, of those that a job had before this one. `None` if it is not
    /// known, or cannot be read: by this version, or because the job has other dates in its document now.
    #[must_use]
    pub fn at(
        instant: DateTime<Utc>,
        earlier: &[EarlierTiming],
        timing: &Timing,
        document: &str,
    ) -> Option<Self> {
        let mut next = (timing.generation, timing.since);
        for EarlierTiming { generation, since, line } in earlier.iter().rev() {
            if generation.checked_add(1) != Some(next.0) {
                return None;
            }
            if *since <= instant && instant < next.1 {
                let read = |line: &str| Schedule::read(line, document);
                let schedule = line.as_deref().map(read).transpose().ok()?;
                let (generation, since) = (*generation, *since);
                return Some(Self { generation, since, until: next.1, schedule });
            }
            next = (*generation, *since);
        }
        None
    }
}

/// When a job was created: the beginning of its first timing. If the clock was set back after that, it is
/// the earliest beginning. `None` if the first timing is forgotten.
#[must_use]
pub fn created_at(earlier: &[EarlierTiming], timing: &Timing) -> Option<DateTime<Utc>> {
    let first = earlier.first().map_or(timing.generation, |it| it.generation);
    let begins = earlier.iter().map(|it| it.since).chain([timing.since]);
    begins.min().filter(|_| first == FIRST_GENERATION)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn timing(generation: u64, since: i64) -> Timing {
        Timing { generation, anchor: None, since: at(since), used: 0 }
    }

    const LINE: &str = "1 every=1hour start=2027-01-01T00:00:00Z";

    fn earlier(generation: u64, since: i64, is_on: bool) -> EarlierTiming {
        EarlierTiming::ending(&timing(generation, since), is_on.then(|| LINE.to_owned()))
    }

    #[test]
    fn a_timing_reads_back() {
        for timing in [earlier(0, 7, true), earlier(12, 0, false)] {
            assert_eq!(timing.to_string().parse(), Ok(timing));
        }
        for text in ["", "1", "1 2", "x 2 off", "1 y off"] {
            assert_eq!(text.parse::<EarlierTiming>(), Err(UnreadableTiming), "{text}");
        }
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut all = Vec::new();
        for n in 0..20_u64 {
            all = earlier(n, 0, true).after(all);
        }
        let generations: Vec<u64> = all.iter().map(|it| it.generation).collect();
        assert_eq!(generations, (12..20).collect::<Vec<_>>());
    }

    #[test]
    fn the_timing_that_held_is_found() {
        let all = [earlier(3, 100, true), earlier(4, 200, false), earlier(5, 300, true)];
        let held = |instant, generation| {
            let held = HeldTiming::at(at(instant), &all, &timing(generation, 400), "{}")?;
            let HeldTiming { generation, since, until, schedule } = held;
            Some((generation, since.timestamp(), until.timestamp(), schedule.is_some()))
        };
        for (instant, expected) in [
            (99, None),
            (100, Some((3, 100, 200, true))),
            (199, Some((3, 100, 200, true))),
            (200, Some((4, 200, 300, false))),
            (399, Some((5, 300, 400, true))),
            (400, None),
        ] {
            assert_eq!(held(instant, 6), expected, "{instant}");
        }
        // Another version changed the timing in between.
        assert_eq!(held(399, 7), None);
    }

    #[test]
    fn the_first_timing_says_when_the_job_was_created() {
        let created = |earlier: &[EarlierTiming], generation| {
            created_at(earlier, &timing(generation, 400)).map(|at| at.timestamp())
        };
        assert_eq!(created(&[], 0), Some(400));
        assert_eq!(created(&[earlier(0, 100, false), earlier(1, 200, true)], 2), Some(100));
        // Another version forgot what came between.
        assert_eq!(created(&[earlier(0, 100, true)], 7), Some(100));
        assert_eq!(created(&[earlier(1, 100, true)], 2), None);
        assert_eq!(created(&[], 1), None);
        // The clock was set back.
        assert_eq!(created(&[earlier(0, 900, true)], 1), Some(400));
    }

    #[test]
    fn a_line_of_a_later_version_is_not_known() {
        let later = EarlierTiming { line: Some("9 moon=full".to_owned()), ..earlier(0, 1, true) };
        assert_eq!(HeldTiming::at(at(2), &[later], &timing(1, 3), "{}"), None);
    }
}
