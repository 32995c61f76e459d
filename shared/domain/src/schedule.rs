//! A job's schedule: its timetable, and the policies that decide what becomes of an occurrence.
//!
//! A timer holds it as one line. Without policies that is the timetable's line; with policies it is
//!
//! ```text
//! 2 catchUp=all:86400000:100 1 every=1hour start=2027-01-01T00:00:00Z
//! ```
//!
//! A version that does not know policies cannot read the line, nor a policy that it does not know. It
//! then reports the timer and leaves it to a newer version, and does not fire without the policy.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};
use recurrence::{Timetable, UnreadableTimetable};

use crate::attempt::{Attempt, Occurrence};
use crate::policies::{Policies, UnreadableWord};

/// The first word of a line with policies.
const WITH_POLICIES: &str = "2 ";
/// The first word of a line without.
const WITHOUT_POLICIES: &str = "1 ";

/// When a job fires, and its policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The occurrences of its recurrence.
    pub timetable: Timetable,
    /// Its policies.
    pub policies: Policies,
}

impl Schedule {
    /// Whether a timer's line has policies, whether or not this version knows them.
    #[must_use]
    pub fn has_policies(line: &str) -> bool {
        !line.starts_with(WITHOUT_POLICIES)
    }

    /// The first attempt at an occurrence.
    #[must_use]
    pub fn attempt(&self, generation: u64, nominal_at: DateTime<Utc>) -> Attempt {
        Attempt {
            due_at: self.start(nominal_at),
            under_policy: !self.policies.is_default(),
            ..Attempt::first(generation, Occurrence::Scheduled { nominal_at })
        }
    }

    /// When an occurrence starts.
    #[must_use]
    pub fn start(&self, nominal_at: DateTime<Utc>) -> DateTime<Utc> {
        let delay = self.policies.jitter.map(|jitter| jitter.delay(nominal_at));
        delay.and_then(|delay| nominal_at.checked_add_signed(delay)).unwrap_or(nominal_at)
    }

    /// The first occurrence that starts at an instant or after it.
    #[must_use]
    pub fn starting_from(&self, instant: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let window = self.policies.jitter.map(|jitter| jitter.window.delta()).unwrap_or_default();
        let earliest = instant.checked_sub_signed(window).unwrap_or(instant);
        // Bounded: the window is shorter than the time between two occurrences.
        let mut coming = std::iter::successors(self.at_or_after(earliest), |at| self.after(*at));
        coming.find(|at| self.start(*at) >= instant)
    }

    /// The first occurrence at an instant or after it.
    #[must_use]
    pub fn at_or_after(&self, instant: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.timetable.at_or_after(instant)
    }

    /// The first occurrence after an instant.
    #[must_use]
    pub fn after(&self, instant: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.timetable.after(instant)
    }

    /// The occurrences, from the first on.
    pub fn iter(&self) -> impl Iterator<Item = DateTime<Utc>> + '_ {
        self.timetable.iter()
    }

    /// Whether there is one occurrence, without a recurrence.
    #[must_use]
    pub const fn runs_once(&self) -> bool {
        self.timetable.runs_once()
    }

    /// The first occurrence, if it is due at once.
    #[must_use]
    pub fn at_once(&self) -> Option<DateTime<Utc>> {
        self.timetable.at_once()
    }

    /// How many occurrences there are from one instant (inclusive) to another (exclusive).
    #[must_use]
    pub fn count_between(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> u64 {
        self.timetable.count_between(from, to)
    }

    /// How many occurrences there are before an instant.
    #[must_use]
    pub fn count_before(&self, instant: DateTime<Utc>) -> u64 {
        self.timetable.count_before(instant)
    }

    /// The smallest distance between two occurrences by the calendar.
    #[must_use]
    pub fn smallest_gap(&self) -> Option<TimeDelta> {
        self.timetable.smallest_gap()
    }

    /// In words.
    #[must_use]
    pub fn sentence(&self) -> String {
        self.timetable.sentence()
    }
}

/// A schedule without policies.
impl From<Timetable> for Schedule {
    fn from(timetable: Timetable) -> Self {
        Self { timetable, policies: Policies::default() }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { timetable, policies } = self;
        if !policies.is_default() {
            write!(f, "{WITH_POLICIES}{policies}")?;
        }
        timetable.fmt(f)
    }
}

impl FromStr for Schedule {
    type Err = UnreadableTimetable;

    fn from_str(line: &str) -> Result<Self, UnreadableTimetable> {
        let Some(line) = line.strip_prefix(WITH_POLICIES) else {
            return Ok(line.parse::<Timetable>()?.into());
        };
        // Words of policies have a '='; the first word of a timetable has none.
        let is_policy = |word: &&str| word.contains('=');
        let end = line.split_inclusive(' ').take_while(is_policy).map(str::len).sum();
        let (words, timetable) = line.split_at_checked(end).unwrap_or((line, ""));
        let policies =
            words.parse().map_err(|UnreadableWord(word)| UnreadableTimetable { word })?;
        Ok(Self { timetable: timetable.parse()?, policies })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::CatchUp;

    #[test]
    fn a_line_reads_back_and_without_policies_it_is_the_timetables() {
        let line = "1 every=1hour start=2027-01-01T00:00:00Z";
        let plain: Schedule = line.parse().unwrap();
        assert!(plain.policies.is_default());
        assert_eq!(plain.to_string(), line);
        let with = format!("2 catchUp=none {line}");
        let schedule: Schedule = with.parse().unwrap();
        assert_eq!(schedule.policies.catch_up, CatchUp::None);
        assert_eq!((schedule.timetable, schedule.to_string()), (plain.timetable, with.clone()));
        // A version that knows no policies.
        assert_eq!(with.parse::<Timetable>().unwrap_err().word, "2");
    }

    #[test]
    fn a_line_with_an_unknown_policy_is_not_read() {
        for (line, word) in [
            ("2 moon=full 1 every=1hour start=2027-01-01T00:00:00Z", "moon=full"),
            ("2 catchUp=none", ""),
            ("2 catchUp=none 3 x", "3"),
            ("3 catchUp=none 1 every=1hour start=2027-01-01T00:00:00Z", "3"),
        ] {
            assert_eq!(line.parse::<Schedule>().unwrap_err().word, word, "{line}");
        }
    }

    #[test]
    fn attempts_of_a_job_with_policies_are_marked() {
        let line = "1 every=1hour start=2027-01-01T00:00:00Z";
        for (line, expected) in [(line.to_owned(), false), (format!("2 catchUp=none {line}"), true)]
        {
            let schedule: Schedule = line.parse().unwrap();
            let at = schedule.iter().next().unwrap();
            assert_eq!(schedule.attempt(1, at).under_policy, expected);
        }
    }
}
