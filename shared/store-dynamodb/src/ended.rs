//! What has ended, for the archive: finished attempts and journal entries, as the table's stream has them
//! or in a walk through the table.
//!
//! On one machine a walk has the order of the keys: it begins at the attempts and ends behind the
//! journals, and what is between them is small. In a table of AWS it has no order, so it reads
//! everything. It returns nothing that is sealed.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use minutehand_domain::attempt_key::nominal_key;
use minutehand_domain::ended::EndedItem;
use minutehand_ports::StoreError;
use minutehand_ports::store::HistoryEntry;

use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, text, ticks};
use crate::table::keys::{EXECUTIONS, JOURNALS};
use crate::table::store_error;
use crate::{attempts, journal};

/// Items that one request scans on one machine, where others wait for it.
const PAGE_ITEMS: i32 = 100;
/// Items that one request scans on AWS: about as many as an answer can hold.
const AWS_PAGE_ITEMS: i32 = 1_000;

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

/// Reads an item of the table; `None` if nothing has ended in it.
///
/// # Errors
///
/// If it is damaged.
#[expect(clippy::implicit_hasher, reason = "an item is what the SDK makes of it")]
pub fn read_ended(item: &HashMap<String, AttributeValue>) -> Result<Option<EndedItem>, StoreError> {
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

impl WalkPosition {
    /// A position from its text.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (pk, sk) = text.split_once('\n')?;
        Some(Self(ItemBuilder::default().text("pk", pk).text("sk", sk).done()))
    }

    /// The position as text.
    ///
    /// # Errors
    ///
    /// If it is no position in the table.
    pub fn to_text(&self) -> Result<String, StoreError> {
        let reader = Reader::new(&self.0);
        Ok(format!("{}\n{}", reader.text("pk")?, reader.text("sk")?))
    }
}

impl DynamoStore {
    /// Reads a page of what has ended, on one machine: the items are in the order of their keys.
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
        let page = self.scan_ended(PAGE_ITEMS, when, Some(start)).await?;
        let next = page.next.filter(|WalkPosition(last)| is_inside(last));
        Ok(EndedPage { next, ..page })
    }

    /// Reads a page of what belongs to a day, in a table of AWS, whose items are in no order. All pages
    /// together read the whole table.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn ended_of_day(
        &self,
        day: NaiveDate,
        from: Option<WalkPosition>,
    ) -> Result<EndedPage, StoreError> {
        let start = from.map(|WalkPosition(item)| item);
        self.scan_ended(AWS_PAGE_ITEMS, EndedWhen::OfDay(day), start).await
    }

    async fn scan_ended(
        &self,
        items_max: i32,
        when: EndedWhen,
        start: Option<Item>,
    ) -> Result<EndedPage, StoreError> {
        let scan = self.table.scan(items_max, start);
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
            match read_ended(item) {
                Ok(ended) => found.extend(ended),
                Err(error) => {
                    tracing::error!(%error, "cannot archive an item that cannot be read");
                    unreadable += 1;
                }
            }
        }
        let next = page.last_evaluated_key.map(WalkPosition);
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
