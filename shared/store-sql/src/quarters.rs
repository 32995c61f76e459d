//! What became of occurrences, by collections and quarters of an hour.
//!
//! The counts change in the script that counts the attempt, or moves the timer of what a sweeper leaves out, so
//! they agree with the counters of jobs, whatever crashes. They are the last rows that a count writes: on
//! PostgreSQL others wait for them until its commit. There, each count writes one of several rows of a quarter,
//! and each process has a row of its own for what it leaves out. So no two scripts wait for each other.

use minutehand_domain::quarter::{Quarter, QuarterCounts, START_COUNTS, StartTimes, spread};
use minutehand_ports::StoreError;
use minutehand_ports::store::{Advance, CounterUpdate, TimerKey};

use crate::changed::hash;
use crate::script::{Row, Statement, Value};
use crate::sql::quarters as sql;
use crate::store::SqlStore;
use crate::value::{Columns, id, params};

/// How many rows of a quarter PostgreSQL has for counts: more than a process has connections for them.
const PARTS: u32 = 16;

impl SqlStore {
    /// Adds what an update counts to the quarters.
    pub(crate) fn count_quarters(&self, update: &CounterUpdate) -> Vec<Statement> {
        let is_shared = self.database().process_of_many().is_some();
        let part = if is_shared { hash(&update.job_uid) % PARTS } else { 0 };
        let add = |(quarter, counts): (Quarter, QuarterCounts)| {
            let QuarterCounts { ok, retried, late, failed, skipped, starts } = counts;
            let mut parameters = params![id(&update.job_uid), quarter.start(), part];
            parameters.extend(params![ok, retried, late, failed, skipped]);
            parameters.extend(starts.0.iter().map(|count| Value::from(*count)));
            Statement::new(sql::ADD_QUARTER, params![..parameters, quarter.kept_until()])
        };
        update.quarters().into_iter().map(add).collect()
    }

    /// Adds what is left out with a move of a timer, before the timer is moved.
    pub(crate) fn count_left_out(&self, Advance { timer, from, .. }: &Advance) -> Vec<Statement> {
        let TimerKey::Job { job_uid, generation, state, left_out, .. } = timer else {
            return Vec::new();
        };
        // No count has a negative part.
        let part = self.database().process_of_many().map_or(0, |process| -process);
        let ranges = left_out.iter().flat_map(|it| spread([it.first, it.last], it.occurrences));
        let add = |(quarter, occurrences): (Quarter, u64)| {
            let parameters = params![
                id(job_uid),
                quarter.start(),
                part,
                occurrences,
                quarter.kept_until(),
                *from,
                *generation,
                state.name(),
            ];
            Statement::new(sql::ADD_LEFT_OUT, parameters)
        };
        ranges.map(add).collect()
    }
}

pub(crate) fn read(row: Row) -> Result<(Quarter, QuarterCounts), StoreError> {
    let mut row = Columns::new("quarters", row);
    let quarter = Quarter::of(row.next()?);
    let [ok, retried, late, failed, skipped] =
        [row.next()?, row.next()?, row.next()?, row.next()?, row.next()?];
    let mut starts = [0; START_COUNTS];
    for count in &mut starts {
        *count = row.next()?;
    }
    let starts = StartTimes(starts);
    Ok((quarter, QuarterCounts { ok, retried, late, failed, skipped, starts }))
}
