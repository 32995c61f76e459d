//! Removing what has expired, in short scripts that wait for everything else.
//!
//! A reader finds it, so that the thread that writes has only to remove it. If the process ends, the next
//! walk removes the rest.

use chrono::{DateTime, Utc};
use minutehand_ports::StoreError;

use crate::script::{Statement, Value};
use crate::sql::expired::{EXPIRING, Expiring};
use crate::store::{SqlStore, background};
use crate::value::params;

/// The rows that are read together.
const SLICE: u16 = 500;
/// The rows that one script removes: a millisecond of work.
const REMOVED_TOGETHER: usize = 100;

impl SqlStore {
    /// Removes what has expired and returns how much: attempts that are only claimed, turns and seats by the
    /// clock of work, and everything else by the clock of the schedule. With an archive, finished attempts
    /// and journal entries stay unless they ended before `archived_until`.
    ///
    /// # Errors
    ///
    /// If the store does not answer. Some rows may be removed by then.
    pub async fn remove_expired(
        &self,
        now: DateTime<Utc>,
        work_now: DateTime<Utc>,
        archived_until: Option<DateTime<Utc>>,
    ) -> Result<u64, StoreError> {
        let archived = archived_until.map_or(Value::from(i64::MAX), Value::from);
        let times = params![now, work_now, archived];
        let mut removed = 0;
        for table in &EXPIRING {
            removed += self.remove_expired_of(table, &times).await?;
        }
        Ok(removed)
    }

    async fn remove_expired_of(
        &self,
        table: &Expiring,
        times: &[Value],
    ) -> Result<u64, StoreError> {
        let mut removed = 0;
        let mut behind: Option<Vec<Value>> = None;
        // Bounded by the table: each slice begins behind the one before.
        loop {
            let mut parameters = params![..times.to_vec(), u32::from(SLICE)];
            let sql = if let Some(behind) = behind {
                parameters.extend(behind);
                table.next
            } else {
                table.first
            };
            let rows = self.read(sql, parameters).await?;
            let is_last = rows.len() < usize::from(SLICE);
            behind = rows.last().map(|last| key_of(table, last));
            let expired: Vec<Vec<Value>> = rows
                .iter()
                .filter(|row| row.last() == Some(&Value::from(true)))
                .map(|row| key_of(table, row))
                .collect();
            for keys in expired.chunks(REMOVED_TOGETHER) {
                let statements = keys.iter().flat_map(|key| {
                    let parameters = [times, key.as_slice()].concat();
                    table.remove.iter().map(move |sql| Statement::new(sql, parameters.clone()))
                });
                self.perform(background(statements.collect())).await?;
                removed += u64::try_from(keys.len()).unwrap_or(u64::MAX);
            }
            if is_last {
                return Ok(removed);
            }
        }
    }
}

fn key_of(table: &Expiring, row: &[Value]) -> Vec<Value> {
    row.iter().take(table.key_columns).cloned().collect()
}
