//! What has ended, for the archive: finished attempts and journal entries, as the table's stream has them
//! or in a walk through the table. Items have no order, so a walk reads everything. It returns nothing that
//! is sealed.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{Days, NaiveDate, NaiveTime};
use minutehand_domain::attempt_key::nominal_key;
use minutehand_domain::ended::EndedItem;
use minutehand_ports::StoreError;
use minutehand_ports::store::HistoryEntry;

use crate::store::DynamoStore;
use crate::table::item::{Item, Reader, key, text};
use crate::table::keys::{EXECUTIONS, JOURNALS, Key};
use crate::table::store_error;
use crate::{attempts, journal};

/// Items that one request scans: about as many as an answer can hold.
const PAGE_ITEMS: i32 = 1_000;

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
        Some(Self(key(Key { pk: pk.to_owned(), sk: sk.to_owned() })))
    }

    /// The position as text.
    ///
    /// # Errors
    ///
    /// If it is not a position in the table.
    pub fn to_text(&self) -> Result<String, StoreError> {
        let reader = Reader::new(&self.0);
        Ok(format!("{}\n{}", reader.text("pk")?, reader.text("sk")?))
    }
}

impl DynamoStore {
    /// Reads a page of what belongs to a day: its occurrences, and the entries that were made then. All pages
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
        let start = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
        let end = day.checked_add_days(Days::new(1)).unwrap_or(NaiveDate::MAX);
        let scan = self.table.scan(PAGE_ITEMS, from.map(|WalkPosition(item)| item));
        let page = scan
            .filter_expression(
                "((begins_with(pk, :attempts) AND attribute_exists(ended_at)) \
                 OR begins_with(pk, :journals)) AND sk >= :first AND sk < :end",
            )
            .expression_attribute_values(":first", text(nominal_key(start(day))))
            .expression_attribute_values(":end", text(nominal_key(start(end))))
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
