//! Removing what has expired, where the table does not do it: on one machine.
//!
//! It is a walk through the table, a page at a time, so that other requests come in between. Whoever
//! stops it, or a crash, leaves what is left to the next walk.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use ports::StoreError;

use crate::DynamoStore;
use crate::error::store_error;
use crate::groups::Write;
use crate::item::{Reader, number};
use crate::keys::Key;
use crate::meter::MeteredCall;

/// Items that are looked at in one request.
const PAGE_ITEMS: i32 = 100;

/// A claim counts in time of work, and a record by the schedule.
const IS_EXPIRED: &str = "(attribute_not_exists(lease_until) AND expires_at <= :now) \
                          OR (attribute_exists(lease_until) AND expires_at <= :work_now)";

impl DynamoStore {
    /// Removes the executions that have expired: by the schedule's clock those that ended, by that
    /// of work those that never did. Returns how many.
    ///
    /// # Errors
    ///
    /// If the store does not answer; some may then be removed.
    pub async fn remove_expired(
        &self,
        now: DateTime<Utc>,
        work_now: DateTime<Utc>,
    ) -> Result<u64, StoreError> {
        let (now, work_now) = (number(now.timestamp()), number(work_now.timestamp()));
        let mut removed = 0;
        let mut from: Option<HashMap<String, AttributeValue>> = None;
        loop {
            let page = self
                .client
                .scan()
                .table_name(&self.table)
                .filter_expression(IS_EXPIRED)
                .projection_expression("pk, sk")
                .expression_attribute_values(":now", now.clone())
                .expression_attribute_values(":work_now", work_now.clone())
                .limit(PAGE_ITEMS)
                .set_exclusive_start_key(from)
                .send()
                .await
                .map_err(store_error)?;
            let mut writes = Vec::new();
            for found in page.items() {
                let reader = Reader::of(found);
                let (pk, sk) = (reader.text("pk")?.to_owned(), reader.text("sk")?.to_owned());
                // It may have been claimed again since it was read.
                let write = Write::delete(Key { pk, sk })
                    .only_if(IS_EXPIRED)
                    .with(":now", now.clone())
                    .with(":work_now", work_now.clone());
                writes.push(write);
            }
            for wrote in self.write_group(MeteredCall::Remove, writes).await {
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
