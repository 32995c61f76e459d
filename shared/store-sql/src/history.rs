//! History as it is read: attempts, what was left out, and what failed for good.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::attempt_key::{attempt_key, read_attempt};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::firing::LeftOut;
use minutehand_domain::tick::{from_ticks, ticks};
use minutehand_ports::store::{HistoryEntry, Page, PageRequest};
use minutehand_ports::{History, StoreError};

use crate::attempts::{Seen, key, read_cause, read_left_out, reason_number};
use crate::script::{Row, Value};
use crate::sql::attempts as sql;
use crate::store::{SqlStore, page_of, rows_of};
use crate::value::{Columns, id, params};

/// The rows that one statement reads of the attempts of a time.
const SLICE: u16 = 1_000;

#[async_trait]
impl History for SqlStore {
    async fn list(
        &self,
        job_uid: &str,
        PageRequest { from, items_max }: PageRequest,
    ) -> Result<Page<HistoryEntry>, StoreError> {
        let behind = from.map(|from| read_attempt(&from, None).ok_or_else(StoreError::no_position));
        let behind = behind.transpose()?.map(|attempt| key(job_uid, &attempt));
        let items = self.newest(behind.unwrap_or_else(|| before(job_uid, None)), items_max).await?;
        Ok(page_of(items, items_max, |last| attempt_key(&last.attempt)))
    }

    async fn attempts_between(
        &self,
        job_uid: &str,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Vec<Attempt>, StoreError> {
        let entries = self.between(job_uid, [from, until]).await?;
        Ok(entries.into_iter().map(|entry| entry.attempt).collect())
    }

    async fn list_left_out(
        &self,
        job_uid: &str,
        PageRequest { from, items_max }: PageRequest,
    ) -> Result<Page<LeftOut>, StoreError> {
        let behind = match from {
            None => [i64::MAX, 0, 0],
            Some(from) => {
                let parts: Option<Vec<i64>> =
                    from.split(' ').map(|part| part.parse().ok()).collect();
                parts.and_then(|parts| parts.try_into().ok()).ok_or_else(StoreError::no_position)?
            }
        };
        let items = self.left_out_behind(job_uid, behind, items_max).await?;
        Ok(page_of(items, items_max, |last| {
            let LeftOut { first, generation, reason, .. } = last;
            format!("{} {} {}", ticks(*first), generation.cast_signed(), reason_number(*reason))
        }))
    }
}

impl SqlStore {
    /// The attempts behind a position, the newest first, and one more than a page holds.
    pub(crate) async fn newest(
        &self,
        behind: Vec<Value>,
        items_max: u32,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        entries(self.read(sql::HISTORY, params![..behind, rows_of(items_max)]).await?)
    }

    /// The attempts of a time, both ends included, in the order in which they follow each other.
    pub(crate) async fn between(
        &self,
        job_uid: &str,
        [from, until]: [DateTime<Utc>; 2],
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        let mut all: Vec<HistoryEntry> = Vec::new();
        let mut behind = params![id(job_uid), from, i64::MIN, "", 0_u32, 0_u32];
        // Bounded by the attempts of that time.
        loop {
            let parameters = params![..behind, until, u32::from(SLICE)];
            let found = entries(self.read(sql::BETWEEN, parameters).await?)?;
            let is_last = found.len() < usize::from(SLICE);
            all.extend(found);
            match all.last() {
                Some(last) if !is_last => behind = key(job_uid, &last.attempt),
                _ => return Ok(all),
            }
        }
    }

    /// What was left out behind a position, the newest first, and one more than a page holds.
    pub(crate) async fn left_out_behind(
        &self,
        job_uid: &str,
        [first, generation, reason]: [i64; 3],
        items_max: u32,
    ) -> Result<Vec<LeftOut>, StoreError> {
        let parameters = params![id(job_uid), first, generation, reason, rows_of(items_max)];
        self.read(sql::LEFT_OUT, parameters).await?.into_iter().map(read_left_out).collect()
    }
}

/// The position before all attempts of an instant, or of all.
pub(crate) fn before(job_uid: &str, before: Option<DateTime<Utc>>) -> Vec<Value> {
    let nominal_at = before.map_or(i64::MAX, ticks);
    params![id(job_uid), nominal_at, i64::MIN, "", 0_u32, 0_u32]
}

pub(crate) fn entries(rows: Vec<Row>) -> Result<Vec<HistoryEntry>, StoreError> {
    rows.into_iter().map(|row| Seen::read(row).map(Seen::entry)).collect()
}

pub(crate) fn read_failure_position(text: &str) -> Option<(i64, i64, Value)> {
    let mut parts = text.splitn(3, ' ');
    let mut number = || from_ticks(parts.next()?.parse().ok()?).map(ticks);
    let (ended, nominal) = (number()?, number()?);
    Some((ended, nominal, id(parts.next()?)))
}

pub(crate) fn read_failure(row: Row) -> Result<FailedOccurrence, StoreError> {
    let mut row = Columns::new("failures", row);
    Ok(FailedOccurrence {
        job_uid: row.id()?,
        collection_path: row.named("path", CollectionPlace::read)?,
        job: row.next()?,
        nominal_at: row.next()?,
        is_run: row.next()?,
        attempts: row.next()?,
        ended_at: row.next()?,
        message: row.next()?,
        target: row.next()?,
        cause: read_cause(&mut row)?,
        said: row.next()?,
    })
}
