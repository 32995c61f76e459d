//! The view: each execution of a job exactly once, out of files that have it at least once.
//!
//! A list has the order of the API: the newest occurrence first, and within it the newest attempt. As
//! an attempt's object is that of its occurrence's day, days are read from the newest to the oldest,
//! and what a day has is complete before the next one begins.

use std::collections::BTreeMap;

use chrono::{Days, NaiveDate, NaiveTime};
use minutehand_domain::attempt_key::{attempt_key, nominal_key, read_attempt};

use crate::line::Execution;

/// The position below all that belongs to a day.
#[must_use]
pub fn position_below(day: NaiveDate) -> String {
    nominal_key(day.and_time(NaiveTime::MIN).and_utc())
}

/// The newest day that may hold something below a position; `None` if any may.
#[must_use]
pub fn newest_day_below(position: &str) -> Option<NaiveDate> {
    // The position behind a day is not an attempt, but the beginning of one.
    let attempt = read_attempt(position, None);
    let attempt = attempt.or_else(|| read_attempt(&format!("{position}.a1.s.aa0"), None))?;
    let nominal_at = attempt.occurrence.nominal_at();
    let is_beginning = nominal_at.time() == NaiveTime::MIN && !position.contains('.');
    let day = nominal_at.date_naive();
    if is_beginning { day.checked_sub_days(Days::new(1)) } else { Some(day) }
}

/// The executions of a job below a position: the key of an attempt, or the beginning of one.
#[derive(Debug)]
pub struct JobHistory<'a> {
    job_uid: &'a str,
    below: Option<String>,
    found: BTreeMap<String, Execution>,
}

impl<'a> JobHistory<'a> {
    /// Nothing yet.
    #[must_use]
    pub const fn of(job_uid: &'a str, below: Option<String>) -> Self {
        Self { job_uid, below, found: BTreeMap::new() }
    }

    /// Adds an execution, unless it is there, or is another job's, or is not below the position.
    pub fn add(&mut self, execution: Execution) {
        let key = attempt_key(&execution.attempt);
        let is_below = self.below.as_ref().is_none_or(|position| key < *position);
        if execution.job_uid == self.job_uid && is_below {
            self.found.entry(key).or_insert(execution);
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// The first of them, in the order of the API, and where to go on if there are more.
    #[must_use]
    pub fn first(self, items_max: usize) -> (Vec<Execution>, Option<String>) {
        let is_more = self.found.len() > items_max;
        let newest_first = self.found.into_iter().rev().take(items_max);
        let (mut keys, executions): (Vec<_>, Vec<_>) = newest_first.unzip();
        (executions, keys.pop().filter(|_| is_more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::tests::{at, execution};
    use crate::{Batches, Chunk, Line, Object, Stream, unpack};

    const DAY: i64 = 86_400;

    /// A generator of numbers: the same ones each time.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, n: u64) -> u64 {
            // Knuth's constants; the high bits are the good ones.
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % n
        }
    }

    fn pack(executions: &[Execution], chunk_max: usize) -> Vec<Object> {
        let mut batches = Batches::with_limits(chunk_max, 1 << 20);
        let lines = executions.iter().map(Line::from);
        let mut chunks: Vec<Chunk> = lines.filter_map(|line| batches.add(&line)).collect();
        chunks.extend(std::iter::from_fn(|| batches.take_rest()));
        chunks.into_iter().map(Chunk::pack).collect()
    }

    /// Delivers a batch as a stream does: some are repeated, cut in two, or lost and delivered later.
    fn deliver(batch: &[Execution], chance: &mut Chance, stored: &mut BTreeMap<String, Vec<u8>>) {
        let chunk_max = 1 + usize::try_from(chance.below(3_000)).unwrap();
        match chance.below(4) {
            0 if batch.len() > 1 => {
                // It fails as a whole after a part of its objects, and is cut in two.
                let objects = pack(batch, chunk_max);
                let some = usize::try_from(chance.below(objects.len() as u64 + 1)).unwrap();
                let some = objects.into_iter().take(some);
                stored.extend(some.map(|object| (object.name, object.bytes)));
                let (one, other) = batch.split_at(batch.len() / 2);
                deliver(one, chance, stored);
                deliver(other, chance, stored);
            }
            1 => {
                // Its answer is lost, so it comes again.
                let objects = pack(batch, chunk_max);
                let before: Vec<_> = objects.iter().map(|object| object.name.clone()).collect();
                stored.extend(objects.into_iter().map(|object| (object.name, object.bytes)));
                let objects = stored.len();
                for again in pack(batch, chunk_max) {
                    assert!(before.contains(&again.name));
                    stored.insert(again.name, again.bytes);
                }
                assert_eq!(stored.len(), objects, "the same batch overwrites itself");
            }
            _ => {
                stored.extend(pack(batch, chunk_max).into_iter().map(|it| (it.name, it.bytes)));
            }
        }
    }

    /// Reads a job's history page by page, as a server does.
    fn read(stored: &BTreeMap<String, Vec<u8>>, job_uid: &str, page: usize) -> Vec<Execution> {
        let mut all = Vec::new();
        let mut position = None;
        loop {
            let mut history = JobHistory::of(job_uid, position.clone());
            for (name, bytes) in stored {
                let contents = unpack(name, bytes);
                assert_eq!(contents.damage, None);
                for line in contents.lines {
                    history.add(Execution::read(&line).unwrap());
                }
            }
            let (executions, next) = history.first(page);
            all.extend(executions);
            if next.is_none() {
                return all;
            }
            position = next;
        }
    }

    #[test]
    fn repeated_cut_and_lost_batches_leave_every_execution_exactly_once() {
        for seed in 0..40 {
            let mut chance = Chance(seed);
            let jobs = ["1a", "2b", "3c"];
            let mut all: Vec<Execution> = (0..120)
                .zip(jobs.into_iter().cycle())
                .map(|(n, job_uid)| execution(job_uid, n * DAY / 24 + 40 * DAY))
                .collect();
            let mut stored = BTreeMap::new();
            let mut lost: Vec<Execution> = Vec::new();
            for batch in all.chunks(1 + usize::try_from(chance.below(30)).unwrap()) {
                if chance.below(5) == 0 {
                    lost.extend_from_slice(batch);
                } else {
                    deliver(batch, &mut chance, &mut stored);
                }
            }
            // A repair writes what was lost, among what was not.
            let missing = lost.iter().chain(all.iter().take(17)).cloned().collect::<Vec<_>>();
            deliver(&missing, &mut chance, &mut stored);
            all.reverse();
            for job_uid in jobs {
                let expected: Vec<_> =
                    all.iter().filter(|execution| execution.job_uid == job_uid).cloned().collect();
                assert_eq!(read(&stored, job_uid, 7), expected, "seed {seed}");
            }
        }
    }

    #[test]
    fn a_position_tells_the_newest_day_below_it() {
        let day = |position: &str| newest_day_below(position).map(|day| day.to_string());
        let key = |second| attempt_key(&execution("j", second).attempt);
        assert_eq!(day(&key(DAY - 1)).as_deref(), Some("1970-01-01"));
        // An occurrence at midnight may have older attempts.
        assert_eq!(day(&key(DAY)).as_deref(), Some("1970-01-02"));
        let below = position_below(at(DAY).date_naive());
        assert_eq!(day(&below).as_deref(), Some("1970-01-01"));
        let (newer, older) = (execution("j", DAY), execution("j", DAY - 1));
        assert_eq!(Line::from(&newer).stream, Stream::History);
        let mut history = JobHistory::of("j", Some(below));
        history.add(newer);
        history.add(older.clone());
        assert_eq!(history.first(2), (vec![older], None));
        // A client may send anything.
        assert_eq!(day("x"), None);
    }
}
