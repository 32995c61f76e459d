//! The results of a job's last occurrences, and what it left out last: kept in its timer for people,
//! so that a list of jobs shows them without reading any history.
//!
//! A result is four bits. It is added in the write that counts the attempt which ended the occurrence,
//! so the results are in the order in which occurrences ended. Skipped occurrences may be counted by a
//! sweeper that has not read the timer and cannot change the results. So the results remember how many
//! skips they contain, and a reader adds the others from the counter of skips.

use chrono::{DateTime, Utc};
use minutehand_recurrence::named;

use crate::attempt::{Attempt, Outcome, Record, Then};
use crate::firing::{LATE, LeftOut, LeftOutReason, SkipReason};
use crate::tick::{from_ticks, ticks};

/// How many results are remembered.
pub const RECENT_MAX: usize = 32;
/// Bits of a result.
const BITS: u32 = 4;

named! {
    /// How an occurrence ended, with its letter in answers. The numbers that are stored are the places in
    /// this list, and begin with 1.
    pub enum Mark {
        /// Its first attempt succeeded in time.
        Ok = "o",
        /// A retry succeeded.
        Retried = "r",
        /// Its first attempt succeeded, and started more than a second after it was due.
        Late = "l",
        /// It failed for good, and the job has no error action.
        Failed = "f",
        /// It failed for good, and the error action follows.
        FailedWithErrorAction = "e",
        /// It was left out.
        Skipped = "s",
    }
}

impl Mark {
    /// The mark of an occurrence whose main action ended with this attempt. `is_fault` says that the
    /// attempt was the last one and failed; `None` if another attempt follows.
    #[must_use]
    pub fn of(attempt: &Attempt, record: &Record, is_fault: bool) -> Option<Self> {
        match record.outcome {
            Outcome::Succeeded if attempt.number > 0 => Some(Self::Retried),
            Outcome::Succeeded if record.started_at - attempt.due_at > LATE => Some(Self::Late),
            Outcome::Succeeded => Some(Self::Ok),
            Outcome::Failed if !is_fault => None,
            Outcome::Failed if record.then == Some(Then::ErrorAction) => {
                Some(Self::FailedWithErrorAction)
            }
            Outcome::Failed => Some(Self::Failed),
        }
    }

    /// Whether the occurrence did not succeed.
    pub(crate) const fn is_miss(self) -> bool {
        matches!(self, Self::Failed | Self::FailedWithErrorAction | Self::Skipped)
    }

    const fn number(self) -> u128 {
        self as u128 + 1
    }

    /// `None` for 0, which is not a mark, and for the marks of later versions.
    fn from_number(number: u128) -> Option<Self> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        Self::ALL.get(place).copied()
    }
}

/// The results of the last occurrences of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recent {
    /// The newest result is in the lowest four bits.
    marks: u128,
    /// How many skips were counted when this was written; of larger numbers the lowest 32 bits.
    skips: u32,
}

impl Recent {
    /// No results, of a job that had skipped so many occurrences before results were kept.
    #[must_use]
    pub const fn without_skips_until(skipped: u64) -> Self {
        Self { marks: 0, skips: low_bits(skipped) }
    }

    /// With the skips that were counted since.
    #[must_use]
    pub fn with_skips_until(self, skipped: u64) -> Self {
        let missing = low_bits(skipped).wrapping_sub(self.skips);
        let added = usize::try_from(missing).unwrap_or(RECENT_MAX).min(RECENT_MAX);
        let marks = (0..added).fold(self.marks, |marks, _| pushed(marks, Mark::Skipped));
        Self { marks, skips: low_bits(skipped) }
    }

    /// With one more result.
    #[must_use]
    pub fn and(self, mark: Mark) -> Self {
        let skips = self.skips.wrapping_add(u32::from(mark == Mark::Skipped));
        Self { marks: pushed(self.marks, mark), skips }
    }

    /// The results, the newest last.
    pub(crate) fn marks(self) -> impl DoubleEndedIterator<Item = Mark> {
        (0..RECENT_MAX).rev().filter_map(move |place| {
            let place = BITS * u32::try_from(place).ok()?;
            Mark::from_number(self.marks.checked_shr(place)? & 0xF)
        })
    }

    /// The results, one letter each, the newest last.
    #[must_use]
    pub fn letters(self) -> String {
        self.marks().map(Mark::name).collect()
    }

    /// As bytes.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        [self.marks.to_be_bytes().as_slice(), &self.skips.to_be_bytes()].concat()
    }

    /// Reads the bytes of [`Self::to_bytes`]; `None` if they are damaged.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (marks, skips) = bytes.split_first_chunk::<16>()?;
        Some(Self {
            marks: u128::from_be_bytes(*marks),
            skips: u32::from_be_bytes(skips.try_into().ok()?),
        })
    }
}

const fn pushed(marks: u128, mark: Mark) -> u128 {
    (marks << BITS) | mark.number()
}

#[expect(clippy::cast_possible_truncation, reason = "that is what it is for")]
const fn low_bits(number: u64) -> u32 {
    number as u32
}

/// Occurrences that were left out, one after the other, for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastSkip {
    /// The first of them.
    pub first: DateTime<Utc>,
    /// The last of them.
    pub last: DateTime<Utc>,
    /// How many they are.
    pub occurrences: u32,
    /// Why they were left out.
    pub reason: SkipReason,
}

impl LastSkip {
    /// Whether what was left out had been owed: it is not while its collection is off.
    #[must_use]
    pub fn was_owed(self) -> bool {
        self.reason != SkipReason::CollectionOff
    }

    /// One occurrence.
    #[must_use]
    pub const fn one(nominal_at: DateTime<Utc>, reason: SkipReason) -> Self {
        Self { first: nominal_at, last: nominal_at, occurrences: 1, reason }
    }

    /// What was left out last when this was left out after another. If the job has run nothing between
    /// the two, for which `last_execution_at` stands, they are one.
    #[must_use]
    pub fn after(self, before: Option<Self>, last_execution_at: Option<DateTime<Utc>>) -> Self {
        let Some(before) = before else { return self };
        // Workers come to the same range one after the other, each to a longer one; a late message may
        // bring an early part of it.
        let (first, last) = (before.first.min(self.first), before.last.max(self.last));
        for part in [self, before] {
            if part.reason == self.reason && (part.first, part.last) == (first, last) {
                return part;
            }
        }
        let ran_since = last_execution_at.is_some_and(|at| at >= before.first);
        if before.reason == self.reason && before.last < self.first && !ran_since {
            let occurrences = before.occurrences.saturating_add(self.occurrences);
            return Self { first, last, occurrences, ..self };
        }
        if self.last < before.last { before } else { self }
    }

    /// As bytes.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        let [first, last] = [self.first, self.last].map(|at| ticks(at).to_be_bytes());
        let occurrences = self.occurrences.to_be_bytes();
        [first.as_slice(), &last, &occurrences, &[self.reason.number()]].concat()
    }

    /// Reads the bytes of [`Self::to_bytes`]; `None` if they are damaged, or a later version wrote them
    /// for a reason that this one does not know.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (first, bytes) = bytes.split_first_chunk::<8>()?;
        let (last, bytes) = bytes.split_first_chunk::<8>()?;
        let (occurrences, reason) = bytes.split_first_chunk::<4>()?;
        let [reason] = reason else { return None };
        Some(Self {
            first: from_ticks(i64::from_be_bytes(*first))?,
            last: from_ticks(i64::from_be_bytes(*last))?,
            occurrences: u32::from_be_bytes(*occurrences),
            reason: SkipReason::from_number(*reason)?,
        })
    }
}

impl From<&LeftOut> for LastSkip {
    fn from(left_out: &LeftOut) -> Self {
        Self {
            first: left_out.first,
            last: left_out.last,
            occurrences: u32::try_from(left_out.occurrences).unwrap_or(u32::MAX),
            reason: match left_out.reason {
                LeftOutReason::Outage(_) => SkipReason::Overtaken,
                LeftOutReason::TooLate => SkipReason::TooLate,
                LeftOutReason::Overlap => SkipReason::Overlap,
                LeftOutReason::NotWatched => SkipReason::NotWatched,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Occurrence;

    /// Bytes of the results, and of how many skips they contain.
    const BYTES: usize = 20;
    /// Bytes of what was left out last: two instants, a number and a reason.
    const SKIP_BYTES: usize = 21;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    #[test]
    fn the_mark_of_each_end() {
        let first = Attempt::first(1, Occurrence::Scheduled { nominal_at: at(60) });
        let record = |outcome, millis, then| Record {
            started_at: at(60) + chrono::TimeDelta::milliseconds(millis),
            ended_at: at(70),
            outcome,
            message: String::new(),
            repeat_count: 1,
            cause: None,
            body_bytes: 0,
            then,
        };
        let (ok, failed) = (Outcome::Succeeded, Outcome::Failed);
        let retry = Then::Retry { due_at: at(90), is_long: false };
        for (number, outcome, millis, then, is_fault, expected) in [
            (0, ok, 1_000, Then::Nothing, false, Some("o")),
            (0, ok, 1_001, Then::Nothing, false, Some("l")),
            (2, ok, 60_000, Then::Nothing, false, Some("r")),
            (0, failed, 0, retry, false, None),
            (4, failed, 0, Then::Nothing, true, Some("f")),
            (4, failed, 0, Then::Notice, true, Some("f")),
            (4, failed, 0, Then::ErrorAction, true, Some("e")),
        ] {
            let attempt = Attempt { number, ..first.clone() };
            let mark = Mark::of(&attempt, &record(outcome, millis, Some(then)), is_fault);
            assert_eq!(mark.map(Mark::name), expected, "{number} {outcome:?} {then:?}");
        }
    }

    #[test]
    fn marks_are_stored_under_numbers_of_their_own() {
        for mark in Mark::ALL {
            assert_eq!(Mark::from_number(mark.number()), Some(mark));
        }
        assert_eq!((Mark::from_number(0), Mark::from_number(7)), (None, None));
    }

    #[test]
    fn the_last_results_are_remembered_the_newest_last() {
        let mut recent = Recent::default();
        assert_eq!(recent.letters(), "");
        for mark in Mark::ALL {
            recent = recent.and(mark);
        }
        assert_eq!(recent.letters(), "orlfes");
        for _ in 0..RECENT_MAX {
            recent = recent.and(Mark::Ok);
        }
        assert_eq!(recent.and(Mark::Failed).letters(), format!("{}f", "o".repeat(31)));
        assert_eq!(Recent::from_bytes(&recent.to_bytes()), Some(recent));
        assert_eq!(recent.to_bytes().len(), BYTES);
        assert_eq!(Recent::from_bytes(&recent.to_bytes()[1..]), None);
    }

    #[test]
    fn skips_that_others_counted_are_added_by_the_reader() {
        let read = Recent::default().with_skips_until(2);
        assert_eq!(read.letters(), "ss");
        let after = read.and(Mark::Ok);
        // A sweeper counts three more.
        assert_eq!(after.with_skips_until(5).letters(), "ssosss");
        assert_eq!(after.and(Mark::Skipped).with_skips_until(3).letters(), "ssos");
        assert_eq!(after.with_skips_until(u64::from(u32::MAX)).letters().len(), RECENT_MAX);
        // The job skipped before results were kept.
        let old = Recent::without_skips_until(7);
        assert_eq!(old.with_skips_until(7).letters(), "");
        assert_eq!(old.with_skips_until(8).letters(), "s");
    }

    #[test]
    fn skips_with_nothing_between_them_are_one() {
        let skip = |first, last, occurrences, reason| LastSkip {
            first: at(first),
            last: at(last),
            occurrences,
            reason,
        };
        let (off, overtaken) = (SkipReason::CollectionOff, SkipReason::Overtaken);
        let before = skip(100, 200, 2, off);
        for (what, new, ran_at, expected) in [
            ("the next one", skip(300, 300, 1, off), None, skip(100, 300, 3, off)),
            ("it ran before", skip(300, 300, 1, off), Some(99), skip(100, 300, 3, off)),
            ("it ran between", skip(300, 300, 1, off), Some(250), skip(300, 300, 1, off)),
            ("another reason", skip(300, 300, 1, overtaken), None, skip(300, 300, 1, overtaken)),
            ("a longer range", skip(100, 300, 3, off), None, skip(100, 300, 3, off)),
            ("a part of it", skip(100, 100, 1, off), None, before),
            ("an older one", skip(50, 50, 1, overtaken), None, before),
        ] {
            assert_eq!(new.after(Some(before), ran_at.map(at)), expected, "{what}");
        }
        assert_eq!(before.after(None, None), before);
    }

    #[test]
    fn what_was_left_out_last_is_read_as_it_was_written() {
        for reason in SkipReason::ALL {
            let skip = LastSkip { first: at(1), last: at(2), occurrences: 3, reason };
            assert_eq!(LastSkip::from_bytes(&skip.to_bytes()), Some(skip));
        }
        let mut bytes = LastSkip::one(at(1), SkipReason::Overtaken).to_bytes();
        assert_eq!(bytes.len(), SKIP_BYTES);
        bytes[SKIP_BYTES - 1] = u8::MAX;
        assert_eq!(LastSkip::from_bytes(&bytes), None, "the reason of a later version");
    }
}
