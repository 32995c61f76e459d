//! What a job has missed since its last success, which its targets are told, and how long its action took last.
//!
//! A job counts the occurrences that failed for good and those that it skipped. What it has missed is how
//! much these numbers have grown since its last success: so a skip that a sweeper counts without reading
//! the job is among them, and telling what was missed costs no write of its own.

use chrono::{DateTime, TimeDelta, Utc};

use crate::attempt::{Attempt, Occurrence};
use crate::recent::{LastSkip, Mark, Recent};
use crate::tick::{from_ticks, ticks};

/// What stands for an instant that there is none of.
const NONE: i64 = i64::MIN;

/// What a job remembers of its latest results, beside their marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Latest {
    /// The instant of the newest occurrence or run that succeeded.
    last_success: Option<DateTime<Utc>>,
    /// The instant of the first occurrence after it that an attempt has missed.
    first_missed: Option<DateTime<Utc>>,
    /// How many occurrences had failed or were skipped before those that are missed; the lowest 32 bits.
    uncounted: u32,
    /// How long the action took last, in milliseconds and one more; 0 if that is not known.
    took: u32,
}

/// What a job has missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Missed {
    /// How many occurrences were owed and did not succeed since the last success.
    pub occurrences: u64,
    /// The instant of the first of them.
    pub since: Option<DateTime<Utc>>,
    /// The instant of the newest occurrence or run that succeeded; `None` if there was none, or none since
    /// the job was created by a version that did not keep it.
    pub last_success: Option<DateTime<Utc>>,
}

impl Latest {
    /// Of a job that an earlier version wrote: its last results say what it missed. `unsuccessful` is how many
    /// occurrences have failed for good or were skipped.
    #[must_use]
    pub fn derived(results: Recent, unsuccessful: u32) -> Self {
        let missed = results.marks().rev().take_while(|mark| mark.is_miss()).count();
        let missed = u32::try_from(missed).unwrap_or(u32::MAX);
        Self { uncounted: unsuccessful.wrapping_sub(missed), ..Self::default() }
    }

    /// After the main action of an occurrence has ended with a mark, when so many had failed or were
    /// skipped before.
    #[must_use]
    pub fn after(self, attempt: &Attempt, mark: Mark, skip: Option<LastSkip>, before: u32) -> Self {
        let nominal_at = attempt.occurrence.nominal_at();
        if !mark.is_miss() {
            return self.succeeded(nominal_at, before);
        }
        let is_owed = matches!(attempt.occurrence, Occurrence::Scheduled { .. })
            && skip.is_none_or(LastSkip::was_owed);
        if is_owed && self.last_success.is_none_or(|last| last < nominal_at) {
            let first = self.first_missed.map_or(nominal_at, |it| it.min(nominal_at));
            Self { first_missed: Some(first), ..self }
        } else {
            Self { uncounted: self.uncounted.wrapping_add(1), ..self }
        }
    }

    /// What the job has missed, of which so many occurrences have failed for good or were skipped.
    #[must_use]
    pub fn missed(self, unsuccessful: u32, last_skip: Option<LastSkip>) -> Missed {
        let Self { last_success, first_missed, uncounted, .. } = self;
        let occurrences = u64::from(unsuccessful.wrapping_sub(uncounted));
        // A sweeper that counts skips writes nothing else of them than the last range.
        let skipped = last_skip.filter(|skip| skip.was_owed());
        let skipped = skipped.map(|skip| skip.first).filter(|first| last_success < Some(*first));
        let since = match (first_missed, skipped) {
            (Some(missed), Some(skipped)) => Some(missed.min(skipped)),
            (missed, skipped) => missed.or(skipped),
        };
        Missed { occurrences, since: since.filter(|_| occurrences > 0), last_success }
    }

    /// After an attempt at the action has taken this long.
    #[must_use]
    pub fn with_time(self, took: TimeDelta) -> Self {
        let took = took.num_milliseconds().saturating_add(1).max(1);
        Self { took: u32::try_from(took).unwrap_or(u32::MAX), ..self }
    }

    /// How long the action took last, in milliseconds.
    #[must_use]
    pub const fn took_ms(self) -> Option<u32> {
        self.took.checked_sub(1)
    }

    /// An occurrence before all that is missed may succeed last, with a retry: it makes up for none of them.
    fn succeeded(self, nominal_at: DateTime<Utc>, before: u32) -> Self {
        let last_success = self.last_success.max(Some(nominal_at));
        match self.first_missed {
            Some(first) if nominal_at < first => Self { last_success, ..self },
            _ => Self { last_success, first_missed: None, uncounted: before, ..self },
        }
    }

    /// As bytes.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        let instant = |at: Option<DateTime<Utc>>| at.map_or(NONE, ticks).to_be_bytes();
        let instants = [self.last_success, self.first_missed].map(instant);
        let numbers = [self.uncounted, self.took].map(u32::to_be_bytes);
        [instants.as_flattened(), numbers.as_flattened()].concat()
    }

    /// Reads the bytes of [`Self::to_bytes`]; `None` if they are damaged, or of a later version.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (last_success, bytes) = bytes.split_first_chunk::<8>()?;
        let (first_missed, bytes) = bytes.split_first_chunk::<8>()?;
        let (uncounted, took) = bytes.split_first_chunk::<4>()?;
        let instant = |bytes: &[u8; 8]| {
            Some(i64::from_be_bytes(*bytes)).filter(|ticks| *ticks != NONE).and_then(from_ticks)
        };
        Some(Self {
            last_success: instant(last_success),
            first_missed: instant(first_missed),
            uncounted: u32::from_be_bytes(*uncounted),
            took: u32::from_be_bytes(took.try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes: two instants, and two numbers.
    const BYTES: usize = 24;

    use crate::firing::SkipReason;
    use crate::job::JobCounters;

    /// What ended: the second of the occurrence, and how.
    type Ended = (i64, char);
    /// What ended, how many were missed, since when, and the last success.
    type Case<'a> = (&'a [Ended], u64, Option<i64>, Option<i64>);

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    /// Counts what ended: `o` succeeded, `f` failed for good, `s` skipped, `c` skipped while the collection
    /// was off, `w` skipped by a sweeper, `R` a run that failed, `r` a run that succeeded.
    fn count(counters: &mut JobCounters, (second, how): Ended) {
        let one = |reason| LastSkip::one(at(second), reason);
        let (mark, skip) = match how {
            'o' | 'r' => (Mark::Ok, None),
            'f' | 'R' => (Mark::Failed, None),
            's' => (Mark::Skipped, Some(one(SkipReason::Overlap))),
            'c' => (Mark::Skipped, Some(one(SkipReason::CollectionOff))),
            'w' => {
                counters.skipped += 1;
                counters.last_skip =
                    Some(one(SkipReason::Overtaken).after(counters.last_skip, None));
                return;
            }
            _ => unreachable!(),
        };
        let occurrence = match how {
            'r' | 'R' => Occurrence::Run { asked_at: at(second), run_id: "5f".to_owned() },
            _ => Occurrence::Scheduled { nominal_at: at(second) },
        };
        let attempt = Attempt::first(1, occurrence);
        let before = counters.unsuccessful();
        counters.latest = Some(counters.latest().after(&attempt, mark, skip, before));
        counters.faulted += u64::from(mark == Mark::Failed);
        counters.skipped += u64::from(mark == Mark::Skipped);
        counters.last_skip = skip.or(counters.last_skip);
    }

    #[test]
    fn what_was_owed_and_did_not_succeed_is_missed() {
        let cases: &[Case<'_>] = &[
            (&[], 0, None, None),
            (&[(1, 'o')], 0, None, Some(1)),
            (&[(1, 'f')], 1, Some(1), None),
            (&[(1, 'o'), (2, 'f'), (3, 's'), (4, 'f')], 3, Some(2), Some(1)),
            (&[(1, 'f'), (2, 'o')], 0, None, Some(2)),
            (&[(1, 'o'), (2, 'w'), (3, 'w')], 2, Some(2), Some(1)),
            (&[(1, 'o'), (2, 'w'), (3, 'f')], 2, Some(2), Some(1)),
            (&[(1, 'f'), (2, 'w'), (3, 'o')], 0, None, Some(3)),
            // Not owed: what fell into the time in which the collection was off, and runs.
            (&[(1, 'o'), (2, 'c'), (3, 'R')], 0, None, Some(1)),
            (&[(1, 'o'), (2, 'f'), (3, 'c'), (4, 'f')], 2, Some(2), Some(1)),
            // A run that succeeds is a success of the job.
            (&[(1, 'f'), (2, 'r')], 0, None, Some(2)),
            // An earlier occurrence that succeeds or fails late, after its retries.
            (&[(2, 'f'), (1, 'o')], 1, Some(2), Some(1)),
            (&[(2, 'o'), (1, 'f')], 0, None, Some(2)),
            (&[(1, 'o'), (3, 'f'), (2, 'f')], 2, Some(2), Some(1)),
        ];
        for (ended, occurrences, since, last_success) in cases {
            let mut counters = JobCounters::default();
            for one in *ended {
                count(&mut counters, *one);
            }
            let (since, last_success) = (since.map(at), last_success.map(at));
            let expected = Missed { occurrences: *occurrences, since, last_success };
            assert_eq!(counters.missed(), expected, "{ended:?}");
        }
    }

    #[test]
    fn the_last_results_say_what_a_job_of_an_earlier_version_missed() {
        let mut counters = JobCounters { faulted: 9, skipped: 4, ..JobCounters::default() };
        counters.recent = [Mark::Failed, Mark::Ok, Mark::Skipped, Mark::FailedWithErrorAction]
            .into_iter()
            .fold(crate::recent::Recent::without_skips_until(3), crate::recent::Recent::and);
        assert_eq!(counters.missed(), Missed { occurrences: 2, since: None, last_success: None });
        count(&mut counters, (5, 'f'));
        let since = Some(at(5));
        assert_eq!(counters.missed(), Missed { occurrences: 3, since, last_success: None });
        count(&mut counters, (6, 'o'));
        let last_success = Some(at(6));
        assert_eq!(counters.missed(), Missed { occurrences: 0, since: None, last_success });
    }

    #[test]
    fn what_is_kept_comes_back_from_its_bytes_which_are_frozen() {
        let kept = Latest {
            last_success: Some(at(1)),
            first_missed: None,
            uncounted: 0x0102_0304,
            took: 0x0506_0708,
        };
        let bytes = kept.to_bytes();
        assert_eq!(bytes.len(), BYTES);
        assert_eq!(bytes[..8], 10_000_000_i64.to_be_bytes());
        assert_eq!(bytes[8..], [0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(Latest::from_bytes(&bytes), Some(kept));
        for damaged in [&bytes[..23], &[bytes.as_slice(), &[0]].concat(), &[]] {
            assert_eq!(Latest::from_bytes(damaged), None);
        }
    }

    #[test]
    fn the_time_of_the_last_attempt_is_remembered() {
        let kept = Latest::default();
        assert_eq!(kept.took_ms(), None);
        for (ms, took) in [(0, 0), (1_500, 1_500), (-1, 0), (i64::from(u32::MAX), u32::MAX - 1)] {
            let kept = kept.with_time(TimeDelta::milliseconds(ms));
            assert_eq!(kept.took_ms(), Some(took));
            let attempt = Attempt::first(1, Occurrence::Scheduled { nominal_at: at(1) });
            assert_eq!(kept.after(&attempt, Mark::Ok, None, 7).took_ms(), Some(took));
        }
    }

    #[test]
    fn counters_that_are_full_go_on() {
        let mut counters = JobCounters { faulted: u64::MAX, ..JobCounters::default() };
        count(&mut counters, (1, 'o'));
        counters.faulted = counters.faulted.wrapping_add(2);
        assert_eq!(counters.missed().occurrences, 2);
    }
}
