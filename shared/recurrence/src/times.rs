//! Times of day: each hour of one set combined with each minute of another, at one second.

use crate::civil::{DAY, HOUR, MINUTE, count_below, first_from, position};

/// All 24 hours.
pub(crate) const ALL_HOURS: u32 = 0x00ff_ffff;

/// The times of a day at which a rule fires; never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    /// Bits 0 to 23.
    pub(crate) hours: u32,
    /// Bits 0 to 59.
    pub(crate) minutes: u64,
    /// 0 to 59, the same for all times.
    pub(crate) second: i64,
}

impl Times {
    /// Returns the first time at or after a second of the day.
    pub(crate) fn first_from(&self, second_of_day: i64) -> Option<i64> {
        let minute = minute_from(second_of_day, self.second);
        let (hour, within) = (minute / 60, minute % 60);
        if let (true, Some(minute)) = (self.has(hour), first_from(self.minutes, within)) {
            return Some(self.at(hour, minute));
        }
        let hour = first_from(self.hours.into(), hour + 1)?;
        Some(self.at(hour, self.minutes.trailing_zeros()))
    }

    /// Returns the first time of the day.
    pub(crate) fn first(&self) -> i64 {
        self.at(self.hours.trailing_zeros(), self.minutes.trailing_zeros())
    }

    /// Returns the last time of the day.
    pub(crate) fn last(&self) -> i64 {
        self.at(self.hours.ilog2(), self.minutes.ilog2())
    }

    /// Counts the times of a day.
    pub(crate) fn in_a_day(&self) -> i64 {
        i64::from(self.hours.count_ones() * self.minutes.count_ones())
    }

    /// Counts the times before a second of the day.
    pub(crate) fn count_before(&self, second_of_day: i64) -> i64 {
        let minute = minute_from(second_of_day, self.second);
        let hour = minute / 60;
        let whole = count_below(self.hours.into(), hour) * i64::from(self.minutes.count_ones());
        let part = count_below(self.minutes, minute % 60);
        whole + if self.has(hour) { part } else { 0 }
    }

    /// Returns the smallest distance between two times of one day.
    pub(crate) fn smallest_gap(&self) -> Option<i64> {
        let between_minutes = smallest_step(self.minutes).map(|minutes| minutes * MINUTE);
        let across_hours = smallest_step(u64::from(self.hours)).map(|hours| {
            let span = i64::from(self.minutes.ilog2() - self.minutes.trailing_zeros());
            hours * HOUR - span * MINUTE
        });
        between_minutes.into_iter().chain(across_hours).min()
    }

    /// Returns the distance from the last time of a day to the first time `days` days later.
    pub(crate) fn gap_across(&self, days: i64) -> i64 {
        days * DAY - (self.last() - self.first())
    }

    fn has(&self, hour: u32) -> bool {
        hour < 24 && self.hours >> hour & 1 == 1
    }

    fn at(&self, hour: u32, minute: u32) -> i64 {
        i64::from(hour) * HOUR + i64::from(minute) * MINUTE + self.second
    }
}

/// Returns the first minute of a day or an hour whose `second` is at or after a second of it.
pub(crate) const fn minute_from(at: i64, second: i64) -> u32 {
    position(at + MINUTE - 1 - second) / 60
}

/// Returns the smallest distance between two members of a set.
pub(crate) fn smallest_step(bits: u64) -> Option<i64> {
    let mut smallest = None;
    let mut at = first_from(bits, 0)?;
    // Bounded: a set has at most 64 members.
    while let Some(next) = first_from(bits, at + 1) {
        let step = i64::from(next - at);
        smallest = Some(smallest.map_or(step, |known: i64| known.min(step)));
        at = next;
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_time(times: &Times) -> Vec<i64> {
        let of_minute = |minute: i64| minute * MINUTE + times.second;
        (0..1_440)
            .filter(|minute| times.hours >> (minute / 60) & 1 == 1)
            .filter(|minute| times.minutes >> (minute % 60) & 1 == 1)
            .map(of_minute)
            .collect()
    }

    #[test]
    fn search_and_count_agree_with_a_walk_over_the_day() {
        let sets = [
            Times { hours: 0b1, minutes: 0b1, second: 0 },
            Times { hours: 1 << 23, minutes: 1 << 59, second: 59 },
            Times { hours: 0b10_0000_0100, minutes: 1 << 15 | 1 << 45, second: 7 },
            Times { hours: ALL_HOURS, minutes: 0b101, second: 30 },
        ];
        for times in sets {
            let all = every_time(&times);
            assert_eq!((times.first(), times.last()), (all[0], all[all.len() - 1]));
            assert_eq!(usize::try_from(times.in_a_day()), Ok(all.len()));
            for second in 0..=DAY {
                let next = all.iter().copied().find(|time| *time >= second);
                assert_eq!(times.first_from(second), next, "{times:?} from {second}");
                let before = all.iter().filter(|time| **time < second).count();
                assert_eq!(
                    usize::try_from(times.count_before(second)),
                    Ok(before),
                    "{times:?} before {second}"
                );
            }
            let gap = all.windows(2).map(|pair| pair[1] - pair[0]).min();
            assert_eq!(times.smallest_gap(), gap, "{times:?}");
        }
    }
}
