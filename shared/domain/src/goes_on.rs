//! The last occurrence of a job that is disabled and enabled again.
//!
//! To disable a job cancels what is pending. If nothing is left when it is enabled, its last occurrence
//! would stay without a result. So the new timing *goes on* with that occurrence, if it fell due before the
//! job was disabled:
//!
//! - The line of the timer names the occurrence, and the generation of the timing that it is of. Such a
//!   schedule has this occurrence and no other one.
//! - The attempts at it keep that generation. So each is the same attempt for every process, before and
//!   after the change: it is claimed once, and one that is under way holds the next one up.
//! - While the job is disabled, no schedule has the occurrence, and none of its attempts starts.
//! - The timer is spent, and due at once: the check whether the job has finished finds the occurrence open,
//!   and sends what may have been dropped meanwhile. What is under way goes on by itself. A crash before
//!   the check leaves a timer that is due, and one after it is healed as that of any last occurrence.
//!
//! Another start, recurrence or list of dates begins a timing that goes on with nothing. If the job is
//! disabled and enabled again, the next timing goes on with the same occurrence.
//!
//! A version that does not know this cannot read the line. Its workers drop the attempts, as they are of an
//! older generation, and neither finish the job nor plan its timer; the check of a newer worker sends the
//! attempts again.

use std::fmt;

use chrono::{DateTime, Utc};

use crate::attempt::{Attempt, Occurrence};
use crate::earlier_timing::EarlierTiming;
use crate::firing::latest_until;
use crate::schedule::Schedule;
use crate::tick::{TICK, from_ticks, ticks};
use crate::timing::Timing;

/// The first word of a line with policies.
const LINE: &str = "2 ";
/// The word in the line of a timer begins so.
const WORD: &str = "goesOn=";

/// The last occurrence of an earlier timing, with which a job goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoesOn {
    /// The instant of the occurrence.
    pub at: DateTime<Utc>,
    /// The generation of its attempts.
    pub generation: u64,
}

impl GoesOn {
    /// The occurrence with which a job goes on that had the first timing while it was disabled, and has the
    /// second one with this schedule, which has no occurrence left. `earlier` are the timings before both,
    /// and `document` is the definition of the disabled job.
    #[must_use]
    pub fn of(
        [disabled, enabled]: [&Timing; 2],
        schedule: &Schedule,
        earlier: &[EarlierTiming],
        document: &str,
    ) -> Option<Self> {
        let before = earlier.last()?;
        // Another start or recurrence has used nothing.
        if enabled.used == 0 || before.generation.checked_add(1) != Some(disabled.generation) {
            return None;
        }
        // With other dates it cannot be read.
        let held = Schedule::read(before.line.as_deref()?, document).ok()?;
        let until = disabled.since.checked_sub_signed(TICK)?;
        let at = latest_until(&held, held.iter().next()?, until)?;
        let generation = held.attempt(before.generation, at).generation;
        (held.is_last(at) && held.has_dates_of(schedule)).then_some(Self { at, generation })
    }

    /// The occurrence that the line of a timer names.
    #[must_use]
    pub fn of_line(line: &str) -> Option<Self> {
        Self::read(line.strip_prefix(LINE)?.split(' ').next()?)
    }

    /// Reads a word of a line; `None` if it is another one.
    pub(crate) fn read(word: &str) -> Option<Self> {
        let (at, generation) = word.strip_prefix(WORD)?.split_once(':')?;
        let at = from_ticks(at.parse().ok()?)?;
        Some(Self { at, generation: generation.parse().ok()? })
    }

    /// Whether an attempt is at this occurrence, in a timing of this generation.
    #[must_use]
    pub fn has(&self, generation: u64, attempt: &Attempt) -> bool {
        attempt.occurrence == Occurrence::Scheduled { nominal_at: self.at }
            && (self.generation..=generation).contains(&attempt.generation)
    }
}

impl fmt::Display for GoesOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{WORD}{}:{}", ticks(self.at), self.generation)
    }
}

#[cfg(test)]
mod tests {
    use minutehand_recurrence::format_instant;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        format!("2027-01-01T{text}Z").parse().unwrap()
    }

    const THRICE: &str = "1 every=1hour count=3 start=2027-01-01T10:00:00Z last=1798804800";
    const ENDING: &str = "1 every=1hour start=2027-01-01T10:00:00Z last=1798804800";
    const ENDLESS: &str = "1 every=1hour start=2027-01-01T10:00:00Z";
    const AGAIN: &str = "2 goesOn=17988048000000000:3 1 every=1hour count=3 start=2027-01-01T10:00:00Z last=1798804800";

    /// What a job goes on with that had this timing, of generation 7, until it was disabled.
    fn goes_on(line: Option<&str>, disabled_at: &str, used: u32) -> Option<(String, u64)> {
        let earlier =
            [EarlierTiming { generation: 7, since: at("09:00:00"), line: line.map(str::to_owned) }];
        let disabled = Timing { generation: 8, anchor: None, since: at(disabled_at), used: 3 };
        let enabled = Timing { generation: 9, since: at("23:30:00"), used, ..disabled };
        let schedule: Schedule = THRICE.parse().unwrap();
        let found = GoesOn::of([&disabled, &enabled], &schedule, &earlier, "{}")?;
        Some((format_instant(found.at), found.generation))
    }

    #[test]
    fn a_job_goes_on_with_the_last_occurrence_if_that_fell_due_before_it_was_disabled() {
        let noon = Some(("2027-01-01T12:00:00Z".to_owned(), 7));
        for (line, disabled_at, used, expected) in [
            (Some(THRICE), "12:00:01", 3, noon.clone()),
            (Some(THRICE), "23:00:00", 3, noon.clone()),
            (Some(ENDING), "12:00:01", 3, noon.clone()),
            // It falls due when the job is disabled already.
            (Some(THRICE), "12:00:00", 2, None),
            (Some(ENDING), "11:30:00", 2, None),
            (Some(ENDLESS), "12:00:01", 3, None),
            // None has fallen due, or another start or recurrence begins.
            (Some(THRICE), "09:30:00", 0, None),
            (Some(THRICE), "12:00:01", 0, None),
            // It was disabled, and its recurrence changed.
            (None, "12:00:01", 3, None),
            // It is disabled once more.
            (Some(AGAIN), "14:00:00", 3, noon.map(|(at, _)| (at, 3))),
            // A newer version wrote it.
            (Some("3 x"), "12:00:01", 3, None),
        ] {
            assert_eq!(goes_on(line, disabled_at, used), expected, "{line:?} {disabled_at} {used}");
        }
    }

    #[test]
    fn nothing_goes_on_from_a_timing_that_is_not_the_one_before_or_has_other_dates() {
        let line = || Some(THRICE.to_owned());
        let earlier =
            |generation| EarlierTiming { generation, since: at("09:00:00"), line: line() };
        let disabled = Timing { generation: 8, anchor: None, since: at("13:00:00"), used: 3 };
        let plain: Schedule = THRICE.parse().unwrap();
        let found = |earlier: &[EarlierTiming]| {
            GoesOn::of([&disabled; 2], &plain, earlier, "{}").map(|it| it.generation)
        };
        assert_eq!(found(&[earlier(7)]), Some(7));
        assert_eq!(found(&[earlier(6)]), None);
        assert_eq!(found(&[]), None);
        let document = r#"{"minutehand": {"exclude": {"dates": ["2027-01-02"]}}}"#;
        let exceptions = crate::dates::stored_exceptions(document, None).unwrap();
        let dated = Schedule { exceptions: Some(exceptions.into()), ..plain.clone() };
        let earlier = |schedule: &Schedule| {
            [EarlierTiming { line: Some(schedule.to_string()), ..earlier(7) }]
        };
        let found = |before: &Schedule, document, enabled| {
            GoesOn::of([&disabled; 2], enabled, &earlier(before), document).is_some()
        };
        assert!(found(&dated, document, &dated));
        assert!(!found(&dated, document, &plain));
        assert!(!found(&dated, "{}", &plain));
        assert!(!found(&plain, document, &dated));
    }

    #[test]
    fn a_line_names_the_occurrence() {
        let expected = GoesOn { at: at("12:00:00"), generation: 3 };
        assert_eq!(GoesOn::of_line(AGAIN), Some(expected));
        for other in ["", THRICE, "2 catchUp=none 1 x", "2 goesOn=x:3 1 x", "2 goesOn=1 1 x"] {
            assert_eq!(GoesOn::of_line(other), None, "{other}");
        }
    }

    #[test]
    fn it_has_the_attempts_of_all_timings_since_its_own() {
        let goes_on = GoesOn { at: at("12:00:00"), generation: 3 };
        let first = Attempt::first(3, Occurrence::Scheduled { nominal_at: goes_on.at });
        let of = |generation| Attempt { generation, ..first.clone() };
        let found = [2, 3, 5, 6].map(|generation| goes_on.has(5, &of(generation)));
        assert_eq!(found, [false, true, true, false]);
        let other = Occurrence::Scheduled { nominal_at: at("11:00:00") };
        let run = Occurrence::Run { asked_at: goes_on.at, run_id: "a".to_owned() };
        for occurrence in [other, run] {
            assert!(!goes_on.has(5, &Attempt { occurrence, ..first.clone() }));
        }
    }
}
