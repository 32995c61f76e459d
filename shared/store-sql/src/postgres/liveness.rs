//! Who is alive: decisions on what was seen, without a database.
//!
//! A process raises its counter once a second. Another one takes it for dead that has seen the counter
//! unchanged during [`UNCHANGED_MAX`] renewals of its own in a row, each answered in time, by its own
//! stopwatch. No clock decides: while the database stalls, no process has an answer in time, and none counts
//! as dead.

use std::collections::BTreeMap;
use std::time::Duration;

/// How often a process gives a sign of life.
pub(super) const RENEW_EVERY: Duration = Duration::from_secs(1);
/// How long the answer to a renewal takes that counts.
const ANSWERED_MAX: Duration = Duration::from_secs(1);
/// How many renewals of its own a process sees the counter of a dead one unchanged.
const UNCHANGED_MAX: u32 = 5;
/// Renewals that are closer to each other count once: some are asked for before an action.
const APART_MIN: Duration = Duration::from_millis(900);
/// Renewals that are further apart are not in a row: the process was frozen meanwhile.
const APART_MAX: Duration = Duration::from_millis(2_500);
/// For how long a process may begin actions after a renewal that was answered: less than the others wait
/// until they take it for dead.
const TRUSTED_FOR: Duration = Duration::from_secs(3);

/// A sign of life: a process, and its counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sign {
    pub(super) process: i64,
    pub(super) counter: i64,
}

/// A renewal that was answered, by the stopwatch of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Renewal {
    pub(super) sent: Duration,
    pub(super) arrived: Duration,
    /// The signs of the others.
    pub(super) others: Vec<Sign>,
}

/// What a process has seen of the others, and of itself.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The counters of the others, and during how many renewals in a row they were the same.
    others: BTreeMap<i64, (i64, u32)>,
    /// When the last renewal that counts was sent.
    counted: Option<Duration>,
    /// When the last renewal that was answered was sent.
    answered: Option<Duration>,
}

impl Watch {
    /// Takes a renewal. Returns the processes that are dead, with their last signs.
    pub(super) fn learn(&mut self, renewal: &Renewal) -> Vec<Sign> {
        let Renewal { sent, arrived, others } = renewal;
        self.answered = Some(*sent);
        let apart = self.counted.map(|counted| sent.saturating_sub(counted));
        if apart.is_some_and(|apart| apart < APART_MIN) {
            return Vec::new();
        }
        self.counted = Some(*sent);
        let is_in_row = apart.is_some_and(|apart| apart <= APART_MAX);
        let is_in_time = arrived.saturating_sub(*sent) <= ANSWERED_MAX;
        let before = std::mem::take(&mut self.others);
        let before = if is_in_row && is_in_time { before } else { BTreeMap::new() };
        for Sign { process, counter } in others {
            let unchanged = match before.get(process) {
                Some((seen, unchanged)) if seen == counter => unchanged.saturating_add(1),
                _ => 0,
            };
            self.others.insert(*process, (*counter, unchanged));
        }
        let dead = self.others.iter().filter(|(_, (_, unchanged))| *unchanged >= UNCHANGED_MAX);
        dead.map(|(process, (counter, _))| Sign { process: *process, counter: *counter }).collect()
    }

    /// A renewal was not answered: what was seen before it is in no row with what comes.
    pub(super) fn miss(&mut self) {
        self.others.clear();
    }

    /// Whether this process may begin an action, when its stopwatch shows this. Otherwise it renews first: it
    /// may have been frozen, and the others may have taken it for dead.
    pub(super) fn may_act(&self, stopwatch: Duration) -> bool {
        self.answered.is_some_and(|sent| stopwatch.saturating_sub(sent) <= TRUSTED_FOR)
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::super::clock::{ServerTime, ShownTime};
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// When a renewal is sent, how long its answer takes (`None`: it fails), and the counter of process 7.
    type Step = (u64, Option<u64>, i64);

    /// The renewals after which process 7 is dead.
    fn dead_after(steps: &[Step]) -> Vec<usize> {
        let mut watch = Watch::default();
        let mut dead = Vec::new();
        for (n, (sent, took, counter)) in steps.iter().enumerate() {
            let Some(took) = took else {
                watch.miss();
                continue;
            };
            let others = vec![
                Sign { process: 7, counter: *counter },
                Sign { process: 8, counter: i64::try_from(n).unwrap() },
            ];
            let renewal = Renewal { sent: MS(*sent), arrived: MS(sent + took), others };
            let found = watch.learn(&renewal);
            assert!(
                found.iter().all(|it| *it == Sign { process: 7, counter: *counter }),
                "{found:?}"
            );
            dead.extend((!found.is_empty()).then_some(n));
        }
        dead
    }

    #[test]
    fn a_process_is_dead_after_five_answered_renewals_in_a_row_with_its_counter_unchanged() {
        let steady = |counter: fn(u64) -> i64| -> Vec<Step> {
            (0..9).map(|n| (n * 1_000, Some(5), counter(n))).collect()
        };
        assert_eq!(dead_after(&steady(|_| 3)), [5, 6, 7, 8]);
        assert_eq!(dead_after(&steady(|n| i64::from(n >= 4))), [0; 0], "it gave a sign");
        assert_eq!(dead_after(&steady(|n| i64::from(n >= 3))), [8]);
    }

    #[test]
    fn an_answer_that_is_late_or_missing_makes_nobody_dead() {
        let with = |took: Option<u64>| -> Vec<Step> {
            (0..13).map(|n| (n * 1_000, if n == 4 { took } else { Some(5) }, 3)).collect()
        };
        assert_eq!(dead_after(&with(Some(1_000))), [5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(dead_after(&with(Some(1_001))), [9, 10, 11, 12], "it begins anew");
        assert_eq!(dead_after(&with(None)), [10, 11, 12], "the same, with the next one");
        let slow: Vec<Step> = (0..40).map(|n| (n * 1_000, Some(1_500), 3)).collect();
        assert_eq!(dead_after(&slow), [0; 0], "a database that stalls");
    }

    #[test]
    fn renewals_before_actions_do_not_count_and_those_after_a_freeze_are_in_no_row() {
        let often: Vec<Step> = (0..45).map(|n| (n * 100, Some(5), 3)).collect();
        assert_eq!(dead_after(&often), [0; 0], "five seconds have not passed");
        // It is frozen for 30 seconds after the fifth.
        let frozen = (0..12).map(|n| (n * 1_000 + if n > 4 { 30_000 } else { 0 }, Some(5), 3));
        assert_eq!(dead_after(&frozen.collect::<Vec<_>>()), [10, 11]);
    }

    #[test]
    fn an_action_begins_within_three_seconds_after_a_renewal_that_was_answered_was_sent() {
        let mut watch = Watch::default();
        assert!(!watch.may_act(MS(0)), "it has not renewed");
        watch.learn(&Renewal { sent: MS(1_000), arrived: MS(3_500), others: Vec::new() });
        assert!(watch.may_act(MS(3_900)) && watch.may_act(MS(4_000)));
        assert!(
            !watch.may_act(MS(4_001)),
            "the time of sending counts, and the time of the answer does not"
        );
        watch.miss();
        assert!(watch.may_act(MS(4_000)), "what was answered stays answered");
        watch.learn(&Renewal { sent: MS(4_500), arrived: MS(4_501), others: Vec::new() });
        assert!(watch.may_act(MS(7_500)));
    }

    /// A process whose renewals a database answers that stalls.
    struct Renewing {
        watch: Watch,
        time: ServerTime,
        /// When its next renewal is sent.
        next: u64,
    }

    #[test]
    fn a_database_that_stalls_for_20_seconds_makes_nobody_dead_and_nobody_early() {
        const WAITED_FOR: u64 = 5_000;
        const AHEAD: u64 = 70_000;
        for (stall, phase) in [(3_000, 0), (8_000, 300), (20_000, 0), (20_000, 950), (60_000, 500)]
        {
            let stalls = 10_000..10_000 + stall;
            let renewing = |n: u64| {
                let (watch, time) = (Watch::default(), ServerTime::default());
                Renewing { watch, time, next: n * (100 + phase) }
            };
            let mut processes: Vec<_> = (0..3).map(renewing).collect();
            let mut counters = [0_i64; 3];
            let mut answered = [0; 3];
            while let Some(n) =
                (0..3).filter(|n| processes[*n].next < 90_000).min_by_key(|n| processes[*n].next)
            {
                let sent = processes[n].next;
                // The database reads the request when it goes on, even if its sender has stopped waiting.
                let read = if stalls.contains(&sent) { stalls.end + 3 } else { sent + 3 };
                counters[n] += 1;
                if read - sent > WAITED_FOR {
                    processes[n].watch.miss();
                    processes[n].next = sent + WAITED_FOR + 1_000;
                    continue;
                }
                let others = (0..3).filter(|other| *other != n);
                let sign =
                    |n: usize| Sign { process: i64::try_from(n).unwrap(), counter: counters[n] };
                let (sent, arrived) = (MS(sent), MS(read + 3));
                let others = others.map(sign).collect();
                let found = processes[n].watch.learn(&Renewal { sent, arrived, others });
                assert!(found.is_empty(), "a stall of {stall} ms, at {read} ms: {found:?}");
                let shown = |ms: u64| DateTime::from_timestamp_millis(ms.cast_signed()).unwrap();
                let answer = ShownTime { shown: shown(read + AHEAD), sent, arrived };
                assert!(!processes[n].time.learn(answer), "the clock was not set back");
                assert!(processes[n].time.at(arrived).unwrap() <= shown(read + 3 + AHEAD));
                processes[n].next = (read + 3).max(processes[n].next + 1_000);
                answered[n] = read;
            }
            assert!(answered.iter().all(|at| *at > 88_000), "all go on: {answered:?}");
        }
    }
}
