//! Counting attempts, each once.
//!
//! The counters of a job and the list of recently counted attempts change in one statement. Its condition is
//! that the list is the one that was read. So a crash leaves an attempt counted or not counted, and the next
//! worker that gets its message sees which.
//!
//! Attempts that the list forgets get a row of their own in the same script. An attempt is looked for only
//! among those that ended when it did or later.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::missed::Latest;
use minutehand_domain::recent::LastSkip;
use minutehand_domain::recently_counted::{Evicted, RecentlyCounted, end_of};
use minutehand_ports::store::{AfterUpdate, CounterUpdate};
use minutehand_ports::{Counters, StoreError};

use crate::attempts::expiry;
use crate::script::{Row, Script, Statement};
use crate::sql::jobs as sql;
use crate::store::{SqlStore, changes, record};
use crate::value::{Columns, id, params};

/// Rows of evicted attempts that are read together.
const SLICE: u16 = 500;

#[async_trait]
impl Counters for SqlStore {
    async fn add(&self, update: &CounterUpdate) -> Result<bool, StoreError> {
        let Counting { mut statements, settled, after } = counting(update, self.history);
        statements.extend(self.count_quarters(update));
        let script = Script { otherwise: Some(settled), ..record(&update.job_uid, statements) };
        self.unmet(script).await?.map_or(Ok(true), |found| after.is_in(found))
    }

    async fn is_evicted(
        &self,
        job_uid: &str,
        attempt: &Attempt,
        ended_at: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        let mut behind = params![end_of(attempt, ended_at), Vec::new()];
        // Bounded by what the job has counted since.
        loop {
            let mut parameters = params![id(job_uid)];
            parameters.extend(params![..behind, u32::from(SLICE)]);
            let rows = self.read(sql::EVICTED, parameters).await?;
            let is_last = rows.len() < usize::from(SLICE);
            let mut last = None;
            for row in rows {
                let mut row = Columns::after_id("counted", row)?;
                let (newest, ids): (i64, Vec<u8>) = (row.next()?, row.next()?);
                let evicted = Evicted::from_bytes(&ids, newest);
                let evicted = evicted.ok_or_else(|| row.corrupt("they are damaged"))?;
                if evicted.has(attempt) {
                    return Ok(true);
                }
                last = Some(params![newest, ids]);
            }
            match last {
                Some(last) if !is_last => behind = last,
                _ => return Ok(false),
            }
        }
    }
}

/// How attempts are counted.
pub(crate) struct Counting {
    /// The statements. The first one needs a change.
    pub(crate) statements: Vec<Statement>,
    /// Reads the list if they are not performed.
    pub(crate) settled: Statement,
    /// The list after them.
    pub(crate) after: ListBytes,
}

/// A list of attempts that were counted.
pub(crate) struct ListBytes(Vec<u8>);

impl ListBytes {
    /// Whether the list that was read is this one: then the write was done, and its answer was lost.
    pub(crate) fn is_in(&self, rows: Vec<Row>) -> Result<bool, StoreError> {
        let Some(row) = rows.into_iter().next() else { return Ok(false) };
        let mut row = Columns::after_id("timers", row)?;
        Ok(row.next::<Option<Vec<u8>>>()?.as_ref() == Some(&self.0))
    }
}

/// Counts attempts if no others were counted since the job was read. The quarters are counted last in a script.
pub(crate) fn counting(update: &CounterUpdate, history: HistoryDays) -> Counting {
    let AfterUpdate { recently_counted, evicted, recent, last_skip, latest } = update.after();
    let (job, add) = (|| id(&update.job_uid), update.sum());
    let after = recently_counted.to_bytes();
    let parameters = params![
        job(),
        update.as_read.to_bytes(),
        after.as_slice(),
        recently_counted.checksum(),
        recent.to_bytes(),
        add.executions,
        add.failures,
        add.faulted,
        add.skipped,
        add.last_execution_at,
        last_skip.map(LastSkip::to_bytes),
        RecentlyCounted::default().to_bytes(),
        latest.map(Latest::to_bytes),
    ];
    let mut statements = vec![changes(sql::COUNT, parameters)];
    statements.extend(evicted.map(|evicted| {
        let newest = DateTime::from_timestamp_millis(evicted.newest());
        let expires_at = expiry(newest.unwrap_or(DateTime::<Utc>::MAX_UTC), history);
        let parameters = params![job(), evicted.newest(), evicted.to_bytes(), expires_at];
        Statement::new(sql::EVICT, parameters)
    }));
    let settled = Statement::new(sql::SETTLED, params![job()]);
    Counting { statements, settled, after: ListBytes(after) }
}
