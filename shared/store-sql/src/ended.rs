//! What has ended, for the archive: finished attempts and journal entries, in a walk beside the writes. It
//! returns nothing that is sealed.

use chrono::{DateTime, NaiveDate, Utc};
use minutehand_domain::ended::EndedItem;
use minutehand_ports::StoreError;
use minutehand_ports::store::HistoryEntry;

use crate::attempts::Seen;
use crate::journal;
use crate::script::{Row, Value};
use crate::sql::{attempts, other};
use crate::store::SqlStore;
use crate::value::{Columns, params};

/// The rows that are read together.
const SLICE: u16 = 500;
/// How many columns the key of an attempt has, and that of a journal entry.
const ATTEMPT_KEY: usize = 6;
const ENTRY_KEY: usize = 4;

/// Which attempts and entries are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedWhen {
    /// Those that ended, or were made, in a time.
    Between {
        /// Its beginning; `None` for all that are there.
        from: Option<DateTime<Utc>>,
        /// The first instant behind it.
        until: DateTime<Utc>,
    },
    /// Those of the occurrences of a day, and the entries of that day.
    OfDay(NaiveDate),
}

/// A slice of the walk.
#[derive(Debug)]
pub struct EndedSlice {
    /// What was found.
    pub found: Vec<EndedItem>,
    /// Rows that cannot be read.
    pub unreadable: u64,
    /// Where the next slice begins; `None` at the end.
    pub next: Option<EndedPosition>,
}

/// A place in the walk: behind the attempt or the entry with this key.
#[derive(Debug, Clone)]
pub struct EndedPosition {
    is_of_attempts: bool,
    behind: Vec<Value>,
}

impl EndedWhen {
    fn has(self, item: &EndedItem) -> bool {
        let (of, ended_at) = match item {
            EndedItem::Attempt { attempt, record, .. } => {
                (attempt.occurrence.nominal_at(), record.ended_at)
            }
            EndedItem::Change { entry, .. } => (entry.at, entry.at),
        };
        match self {
            Self::Between { from, until } => {
                from.is_none_or(|from| ended_at >= from) && ended_at < until
            }
            Self::OfDay(day) => of.date_naive() == day,
        }
    }
}

impl SqlStore {
    /// Reads a slice of what has ended.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn ended(
        &self,
        when: EndedWhen,
        from: Option<EndedPosition>,
    ) -> Result<EndedSlice, StoreError> {
        let EndedPosition { is_of_attempts, behind } = from.unwrap_or_else(|| EndedPosition {
            is_of_attempts: true,
            behind: params![Vec::new(), i64::MIN, i64::MIN, "", 0_u32, 0_u32],
        });
        let (sql, key_columns) = if is_of_attempts {
            (attempts::ALL_ATTEMPTS, ATTEMPT_KEY)
        } else {
            (other::ALL_ENTRIES, ENTRY_KEY)
        };
        let rows = self.read(sql, params![..behind, u32::from(SLICE)]).await?;
        let last = rows.last().filter(|_| rows.len() == usize::from(SLICE));
        let next = match last.map(|row| row.iter().take(key_columns).cloned().collect()) {
            Some(behind) => Some(EndedPosition { is_of_attempts, behind }),
            None if is_of_attempts => {
                let behind = params![Vec::new(), i64::MIN, "", ""];
                Some(EndedPosition { is_of_attempts: false, behind })
            }
            None => None,
        };
        let read = if is_of_attempts { read_attempt } else { read_entry };
        let (mut found, mut unreadable) = (Vec::new(), 0);
        for row in rows {
            match read(row) {
                Ok(item) => found.extend(item.filter(|item| when.has(item))),
                Err(error) => {
                    tracing::error!(%error, "cannot archive a row that cannot be read");
                    unreadable += 1;
                }
            }
        }
        Ok(EndedSlice { found, unreadable, next })
    }
}

fn read_attempt(row: Row) -> Result<Option<EndedItem>, StoreError> {
    let job_uid = Columns::new("attempts", row.iter().take(1).cloned().collect()).id()?;
    let HistoryEntry { attempt, record, .. } = Seen::read(row)?.entry();
    Ok(record.map(|record| EndedItem::Attempt { job_uid, attempt, record }))
}

fn read_entry(row: Row) -> Result<Option<EndedItem>, StoreError> {
    let collection_uid = Columns::new("journal", row.iter().take(1).cloned().collect()).id()?;
    let entry = journal::read(row)?;
    Ok(Some(EndedItem::Change { collection_uid, entry }))
}
