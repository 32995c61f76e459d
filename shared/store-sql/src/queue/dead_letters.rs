//! The dead letters, for people. A dead letter becomes a message again in one script: it is in one of the
//! two tables.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::work_item;
use minutehand_ports::{
    ChosenLetters, DeadLetter, DeadLetters, DeadLettersDone, DeadLettersSeen, QueueError,
    StoreError,
};

use super::{SqlQueue, TOGETHER_MAX, unreadable};
use crate::script::{Row, Statement};
use crate::sql::queue as sql;
use crate::store::{background, rest};
use crate::value::{Columns, params};

/// The most dead letters that one call reads.
const LOOK_MAX: usize = 1_000;
/// The ids that one script of forgetting looks at: a few milliseconds of work.
const FORGOTTEN_TOGETHER: i64 = 2_000;

#[async_trait]
impl DeadLetters for SqlQueue {
    async fn count(&self) -> Result<Option<u64>, QueueError> {
        self.standing().await.map(|standing| Some(standing.dead_letters))
    }

    async fn look(&self, max: usize) -> Result<DeadLettersSeen, QueueError> {
        let max = i64::try_from(max.min(LOOK_MAX)).unwrap_or(i64::MAX);
        let look = Statement::new(sql::DEAD_LETTERS, params![max]);
        let rows = self.read(rest("", vec![look])).await?;
        let items = rows.into_iter().map(read_letter).collect::<Result<_, _>>();
        let items = items.map_err(unreadable)?;
        Ok(DeadLettersSeen { about: self.standing().await?.dead_letters, items })
    }

    async fn redrive(&self, chosen: &ChosenLetters) -> Result<DeadLettersDone, QueueError> {
        self.take_letters(chosen, true).await
    }

    async fn delete(&self, chosen: &ChosenLetters) -> Result<DeadLettersDone, QueueError> {
        self.take_letters(chosen, false).await
    }
}

impl SqlQueue {
    /// Deletes messages and dead letters that were sent before an instant. Returns how many. A message that
    /// is not due by then stays.
    ///
    /// # Errors
    ///
    /// If the database refuses. Some may be deleted by then.
    pub async fn forget(&self, before: DateTime<Utc>) -> Result<u64, QueueError> {
        let last = Statement::new(sql::LAST_ID, Vec::new());
        let last = ids(self.read(rest("", vec![last])).await?)?;
        let last = last.first().copied().unwrap_or_default();
        let (mut behind, mut forgotten) = (0, 0);
        // Bounded by the ids that were given by then.
        while behind < last {
            let end = behind + FORGOTTEN_TOGETHER;
            let slice = |sql| Statement::new(sql, params![before, behind, end]);
            let statements = vec![slice(sql::FORGET_MESSAGES), slice(sql::FORGET_LETTERS)];
            let rows = self.perform(background(statements)).await?;
            forgotten += u64::try_from(rows.iter().flatten().count()).unwrap_or(u64::MAX);
            behind = end;
        }
        Ok(forgotten)
    }

    /// Deletes dead letters, or makes them messages again.
    async fn take_letters(
        &self,
        chosen: &ChosenLetters,
        is_redrive: bool,
    ) -> Result<DeadLettersDone, QueueError> {
        let ChosenLetters::Ids(named) = chosen else {
            let count = self.take_all_letters(is_redrive).await?;
            return Ok(DeadLettersDone { count, ..DeadLettersDone::default() });
        };
        // An id that is not a number is that of no dead letter.
        let numbers: Vec<i64> = named.iter().filter_map(|id| id.parse().ok()).collect();
        let found = self.take(&numbers, is_redrive).await?;
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let not_found = named.iter().filter(|id| !found.contains(id)).cloned().collect();
        let count = u64::try_from(found.len()).unwrap_or(u64::MAX);
        Ok(DeadLettersDone { count, goes_on: false, not_found })
    }

    /// Takes all that are there now: those that come meanwhile stay.
    async fn take_all_letters(&self, is_redrive: bool) -> Result<u64, QueueError> {
        let newest = Statement::new(sql::DEAD_LETTERS, params![1_i64]);
        let newest = ids(self.read(rest("", vec![newest])).await?)?;
        let Some(newest) = newest.first().copied() else { return Ok(0) };
        let mut count = 0;
        loop {
            let together = i64::try_from(TOGETHER_MAX).unwrap_or(i64::MAX);
            let slice = Statement::new(sql::DEAD_IDS, params![newest, together]);
            let rows = self.perform(rest("", vec![slice])).await?;
            let slice = ids(rows.into_iter().flatten())?;
            if slice.is_empty() {
                return Ok(count);
            }
            let taken = self.take(&slice, is_redrive).await?;
            count += u64::try_from(taken.len()).unwrap_or(u64::MAX);
        }
    }

    /// Takes some, and says which of them there were.
    async fn take(&self, numbers: &[i64], is_redrive: bool) -> Result<Vec<i64>, QueueError> {
        let now = self.clock.now();
        let statements = numbers.iter().flat_map(|number| {
            let redrive = is_redrive.then(|| Statement::new(sql::REDRIVE, params![*number, now]));
            let delete = Statement::new(sql::DELETE_LETTER, params![*number]);
            redrive.into_iter().chain([delete])
        });
        let rows = self.perform(rest("", statements.collect()).waking()).await?;
        ids(rows.into_iter().flatten())
    }
}

fn ids(rows: impl IntoIterator<Item = Row>) -> Result<Vec<i64>, QueueError> {
    let read = |row| Columns::new("dead_letters", row).next();
    rows.into_iter().map(read).collect::<Result<_, _>>().map_err(unreadable)
}

fn read_letter(row: Row) -> Result<DeadLetter, StoreError> {
    let mut row = Columns::new("dead_letters", row);
    let id: i64 = row.next()?;
    Ok(DeadLetter {
        id: id.to_string(),
        sent_at: Some(row.next()?),
        deliveries: row.next()?,
        reason: Some(row.next()?),
        work_items: work_item::decode(&row.next::<String>()?),
    })
}
