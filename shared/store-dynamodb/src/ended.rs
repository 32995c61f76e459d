//! What has ended, for the archive: finished attempts and journal entries, in one walk on one machine.
//!
//! The walk begins at the attempts and ends behind the journals; what is between them is small. It reads
//! nothing that is sealed.

use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use domain::attempt::{Attempt, Record};
use domain::attempt_key::nominal_key;
use domain::journal::JournalEntry;
use ports::StoreError;
use ports::store::HistoryEntry;

use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, text, ticks};
use crate::table::keys::{EXECUTIONS, JOURNALS};
use crate::table::store_error;
use crate::{attempts, journal};

/// Items that one request scans.
const PAGE_ITEMS: i32 = 100;

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

/// Something that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndedItem {
    /// A finished attempt.
    Attempt {
        /// The job.
        job_uid: String,
        /// What was attempted.
        attempt: Attempt,
        /// How it ended.
        record: Record,
    },
    /// A change.
    Change {
        /// The collection.
        collection_uid: String,
        /// The change.
        entry: JournalEntry,
    },
}

/// A page of the walk.
#[derive(Debug)]
pub struct EndedPage {
    /// What was found.
    pub found: Vec<EndedItem>,
    /// Items that cannot be read.
    pub unreadable: u64,
    /// Where the next page begins; `None` at the end.
    pub next: Option<WalkPosition>,
}

/// A place in the walk.
#[derive(Debug, Clone)]
pub struct WalkPosition(Item);

impl DynamoStore {
    /// Reads a page of what has ended. It scans, so it is for one machine only.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn ended(
        &self,
        when: EndedWhen,
        from: Option<WalkPosition>,
    ) -> Result<EndedPage, StoreError> {
        let start = from.map_or_else(before_all, |WalkPosition(item)| item);
        let scan = self.table.scan(PAGE_ITEMS, Some(start));
        let scan = match when {
            EndedWhen::Between { from, until } => {
                let from = from.unwrap_or(DateTime::UNIX_EPOCH);
                scan.filter_expression(
                    "(begins_with(pk, :attempts) AND ended_at >= :from AND ended_at < :until) \
                     OR (begins_with(pk, :journals) AND sk >= :first AND sk < :end)",
                )
                .expression_attribute_values(":from", ticks(from))
                .expression_attribute_values(":until", ticks(until))
                .expression_attribute_values(":first", text(nominal_key(from)))
                .expression_attribute_values(":end", text(nominal_key(until)))
            }
            EndedWhen::OfDay(day) => {
                let start = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
                let end = day.checked_add_days(Days::new(1)).unwrap_or(NaiveDate::MAX);
                scan.filter_expression(
                    "((begins_with(pk, :attempts) AND attribute_exists(ended_at)) \
                     OR begins_with(pk, :journals)) AND sk >= :first AND sk < :end",
                )
                .expression_attribute_values(":first", text(nominal_key(start(day))))
                .expression_attribute_values(":end", text(nominal_key(start(end))))
            }
        };
        let page = scan
            .expression_attribute_values(":attempts", text(EXECUTIONS))
            .expression_attribute_values(":journals", text(JOURNALS))
            .send()
            .await
            .map_err(store_error)?;
        let (mut found, mut unreadable) = (Vec::new(), 0);
        for item in page.items() {
            match read(item) {
                Ok(ended) => found.extend(ended),
                Err(error) => {
                    tracing::error!(%error, "cannot archive an item that cannot be read");
                    unreadable += 1;
                }
            }
        }
        let next = page.last_evaluated_key.filter(is_inside).map(WalkPosition);
        Ok(EndedPage { found, unreadable, next })
    }
}

fn before_all() -> Item {
    ItemBuilder::default().text("pk", EXECUTIONS).text("sk", " ").done()
}

/// Whether a position is before the end of the journals.
fn is_inside(last: &Item) -> bool {
    let pk = Reader::new(last).text("pk");
    pk.is_ok_and(|pk| pk < JOURNALS || pk.starts_with(JOURNALS))
}

fn read(item: &Item) -> Result<Option<EndedItem>, StoreError> {
    let pk = Reader::new(item).text("pk")?;
    if let Some(job_uid) = pk.strip_prefix(EXECUTIONS) {
        let HistoryEntry { attempt, record, .. } = attempts::read(item)?;
        let job_uid = job_uid.to_owned();
        return Ok(record.map(|record| EndedItem::Attempt { job_uid, attempt, record }));
    }
    let Some(collection_uid) = pk.strip_prefix(JOURNALS) else {
        return Ok(None);
    };
    let entry = journal::read(item)?;
    Ok(Some(EndedItem::Change { collection_uid: collection_uid.to_owned(), entry }))
}
