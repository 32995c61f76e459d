//! The database's clock, by which every process fires.
//!
//! If each process used a clock of its own, the fastest would win every message, and all jobs would be early
//! by its error. When an answer that shows the database's time arrives, that clock shows at least this, and
//! at most the time that the question was under way more. A process runs on the greatest of the lower bounds
//! that its last answers gave, and by its stopwatch in between: so it is never before the database's clock,
//! and never on a middle, which an answer that took long would make early.
//!
//! If an answer's upper bound lies clearly below the time that a process runs on, the clock was set back.
//! Then the process begins anew with that answer.

use std::collections::VecDeque;
use std::time::Duration;

use chrono::{DateTime, Utc};
use minutehand_domain::tick::{from_ticks, ticks};

/// The answers whose bounds count. The clocks of two machines do not run equally fast.
const ANSWERS_MAX: usize = 10;
/// How far below the time that a process runs on an answer has to lie for the clock to have been set back.
const SET_BACK: Duration = Duration::from_millis(50);
/// The nanoseconds of a tick.
const TICK_NANOS: u128 = 100;

/// An answer that showed the database's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownTime {
    /// What it showed.
    pub shown: DateTime<Utc>,
    /// When it was asked for, by the stopwatch of this process.
    pub sent: Duration,
    /// When it arrived.
    pub arrived: Duration,
}

/// What a process knows of the database's clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerTime {
    /// What the stopwatch's zero is at least, in ticks, by each of the last answers.
    zeros: VecDeque<i64>,
}

impl ServerTime {
    /// Takes an answer. Returns whether the clock was set back.
    pub fn learn(&mut self, answer: ShownTime) -> bool {
        let ShownTime { shown, sent, arrived } = answer;
        let at_most = ticks(shown)
            .saturating_add(length(arrived.saturating_sub(sent).saturating_add(SET_BACK)));
        let is_set_back = self.ticks_at(arrived).is_some_and(|now| at_most < now);
        if is_set_back {
            self.zeros.clear();
        }
        if self.zeros.len() == ANSWERS_MAX {
            self.zeros.pop_front();
        }
        self.zeros.push_back(ticks(shown).saturating_sub(length(arrived)));
        is_set_back
    }

    /// The time, when the stopwatch shows this; `None` before the first answer.
    #[must_use]
    pub fn at(&self, stopwatch: Duration) -> Option<DateTime<Utc>> {
        self.ticks_at(stopwatch).and_then(from_ticks)
    }

    fn ticks_at(&self, stopwatch: Duration) -> Option<i64> {
        self.zeros.iter().max().map(|zero| zero.saturating_add(length(stopwatch)))
    }
}

/// A span in ticks.
fn length(span: Duration) -> i64 {
    i64::try_from(span.as_nanos() / TICK_NANOS).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(ms: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(ms).unwrap()
    }

    /// An answer, given the stopwatch's times and what was shown.
    fn answer(sent: u64, arrived: u64, shown: i64) -> ShownTime {
        ShownTime { shown: at(shown), sent: MS(sent), arrived: MS(arrived) }
    }

    #[test]
    fn the_time_is_the_greatest_that_any_of_the_last_answers_proves() {
        let mut time = ServerTime::default();
        assert_eq!(time.at(MS(5)), None);
        // The database's clock is 1,000 ahead of the stopwatch, and was read on the way back, or there.
        assert!(!time.learn(answer(0, 20, 1_000)));
        assert_eq!(time.at(MS(20)), Some(at(1_000)), "not the middle of the way");
        assert!(!time.learn(answer(100, 104, 1_102)));
        assert_eq!(time.at(MS(104)), Some(at(1_102)));
        assert!(!time.learn(answer(200, 20_200, 1_201)));
        assert_eq!(time.at(MS(20_200)), Some(at(21_198)), "an answer that took long proves less");
    }

    #[test]
    fn no_answer_makes_a_process_early() {
        // Whatever the ways take, and wherever on them the clock is read.
        for there in [0, 1, 7, 300, 20_000] {
            for back in [0, 2, 900, 20_000] {
                let mut time = ServerTime::default();
                let (mut stopwatch, ahead) = (0_u64, 5_000_i64);
                for n in 0..30 {
                    let sent = stopwatch;
                    let read = sent + there * (n % 3);
                    let arrived = read + back * (n % 2);
                    let shown = i64::try_from(read).unwrap() + ahead;
                    assert!(!time.learn(answer(sent, arrived, shown)), "it was not set back");
                    let now = i64::try_from(arrived).unwrap() + ahead;
                    assert!(time.at(MS(arrived)).unwrap() <= at(now));
                    stopwatch = arrived + 1_000;
                }
            }
        }
    }

    #[test]
    fn a_clock_that_is_set_back_is_followed_and_one_that_is_set_on_as_well() {
        let mut time = ServerTime::default();
        time.learn(answer(0, 10, 100_000));
        assert!(!time.learn(answer(1_000, 1_010, 100_960)), "within what clocks differ");
        assert!(time.learn(answer(2_000, 2_010, 50_000)));
        assert_eq!(time.at(MS(2_010)), Some(at(50_000)));
        assert!(!time.learn(answer(3_000, 3_010, 90_000)));
        assert_eq!(time.at(MS(3_010)), Some(at(90_000)));
    }

    #[test]
    fn a_bound_is_forgotten_after_some_answers_since_clocks_do_not_run_equally_fast() {
        let mut time = ServerTime::default();
        time.learn(answer(0, 0, 1_000));
        for n in 1..=10 {
            // It loses a millisecond a second.
            time.learn(answer(n * 1_000, n * 1_000, 1_000 + i64::try_from(n).unwrap() * 999));
        }
        assert_eq!(time.at(MS(10_000)), Some(at(10_999)), "not 11,000, which the first one says");
    }
}
