//! Scans on one machine: removing expired items, which the table does not do there, and finding what has
//! secrets.
//!
//! It scans the table a page at a time, so that other requests are served in between. If it is
//! stopped, or the process crashes, the next scan removes the rest.

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use minutehand_domain::attempt_key::nominal_key;
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::name::Name;
use minutehand_ports::StoreError;

use crate::store::DynamoStore;
use crate::table::item::{Item, Reader, number, text, ticks};
use crate::table::keys::{self, JOURNALS, Key};
use crate::table::{MeteredCall, Write, store_error};

/// Items that one request scans.
const PAGE_ITEMS: i32 = 100;

/// A claim expires by the clock of work, a record by the clock of the schedule. What the archive is to
/// have and does not have yet stays.
const IS_EXPIRED: &str = "((attribute_not_exists(lease_until) AND expires_at <= :now) \
                          OR (attribute_exists(lease_until) AND expires_at <= :work_now)) \
                          AND (attribute_not_exists(ended_at) OR ended_at < :archived) \
                          AND (NOT begins_with(pk, :journals) OR sk < :journaled)";

/// A job or a collection that has sealed secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WithSecrets {
    /// A job.
    Job {
        /// Its collection.
        collection_uid: String,
        /// Its name.
        name: Name,
    },
    /// A collection.
    Collection(CollectionPlace),
}

/// A place in a scan.
#[derive(Debug, Clone)]
pub struct ScanPosition(Item);

impl DynamoStore {
    /// A page of the jobs and collections that have secrets, and where the next one begins. It scans, so
    /// it is for one machine only.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn with_secrets(
        &self,
        from: Option<ScanPosition>,
    ) -> Result<(Vec<WithSecrets>, Option<ScanPosition>), StoreError> {
        let scan = self
            .table
            .scan(PAGE_ITEMS, from.map(|ScanPosition(item)| item))
            .filter_expression("attribute_exists(sealed)")
            .projection_expression("pk, sk, #name")
            .expression_attribute_names("#name", "name");
        let page = scan.send().await.map_err(store_error)?;
        let found = page.items().iter().map(read_with_secrets).collect::<Result<_, _>>()?;
        Ok((found, page.last_evaluated_key.map(ScanPosition)))
    }

    /// Removes expired items and returns how many: attempts that are only claimed by the clock of work,
    /// and all others by the clock of the schedule. With an archive, finished attempts and journal
    /// entries stay unless they ended before `archived_until`.
    ///
    /// # Errors
    ///
    /// If the store does not answer. Some items may be removed by then.
    pub async fn remove_expired(
        &self,
        now: DateTime<Utc>,
        work_now: DateTime<Utc>,
        archived_until: Option<DateTime<Utc>>,
    ) -> Result<u64, StoreError> {
        let archived_until = archived_until.unwrap_or(DateTime::<Utc>::MAX_UTC);
        let values = [
            (":now", number(now.timestamp())),
            (":work_now", number(work_now.timestamp())),
            (":archived", ticks(archived_until)),
            (":journals", text(JOURNALS)),
            (":journaled", text(nominal_key(archived_until))),
        ];
        let mut removed = 0;
        let mut from = None;
        loop {
            let scan = self
                .table
                .scan(PAGE_ITEMS, from)
                .filter_expression(IS_EXPIRED)
                .projection_expression("pk, sk");
            let scan = values.iter().fold(scan, |scan, (name, value)| {
                scan.expression_attribute_values(*name, value.clone())
            });
            let page = scan.send().await.map_err(store_error)?;
            let mut writes = Vec::new();
            for found in page.items() {
                let reader = Reader::new(found);
                let (pk, sk) = (reader.text("pk")?.to_owned(), reader.text("sk")?.to_owned());
                // The attempt may have been claimed again since it was read.
                let write = Write::delete(Key { pk, sk }).when(IS_EXPIRED);
                let with = |write: Write, (name, value): &(&str, _)| {
                    write.with(name, AttributeValue::clone(value))
                };
                writes.push(values.iter().fold(write, with));
            }
            for wrote in self.table.write_group(MeteredCall::Remove, writes).await {
                wrote?;
                removed += 1;
            }
            from = page.last_evaluated_key;
            if from.is_none() {
                return Ok(removed);
            }
        }
    }
}

fn read_with_secrets(item: &Item) -> Result<WithSecrets, StoreError> {
    let reader = Reader::new(item);
    let (pk, sk) = (reader.text("pk")?, reader.text("sk")?);
    if let Some(path) = keys::collection_path(pk, sk) {
        return Ok(WithSecrets::Collection(path));
    }
    let collection_uid = keys::collection_of_job(pk)
        .ok_or_else(|| reader.corrupt("pk", "it is neither of a job nor of a collection"))?;
    let name = Name::new(reader.text("name")?);
    let name = name.map_err(|error| reader.corrupt("name", &error.message))?;
    Ok(WithSecrets::Job { collection_uid: collection_uid.to_owned(), name })
}
