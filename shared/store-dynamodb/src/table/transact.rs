//! Transactions: what creating, replacing and deleting collections and jobs have in common.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::builders::TransactWriteItemBuilder;
use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem, Update};
use ports::StoreError;
use ports::store::Saved;

use super::client::Table;
use super::error::failed_conditions;
use super::item::Reader;
use super::keys::Key;
use super::meter::MeteredCall;

/// How often a transaction that conflicts with another one is tried.
const TRIES_MAX: usize = 4;

/// One item of a transaction.
pub(crate) fn item(
    build: impl FnOnce(TransactWriteItemBuilder) -> Result<TransactWriteItemBuilder, BuildError>,
) -> Result<TransactWriteItem, StoreError> {
    let item = build(TransactWriteItem::builder()).map(TransactWriteItemBuilder::build);
    item.map_err(|error| StoreError::Refused(Box::new(error)))
}

/// The key that an item of a transaction writes.
fn written_key(item: &TransactWriteItem) -> Option<Key> {
    let put = item.put().map(Put::item);
    let update = item.update().map(Update::key);
    let delete = item.delete().map(Delete::key);
    let reader = put.or(update).or(delete).map(Reader::new)?;
    let (pk, sk) = (reader.text("pk").ok()?, reader.text("sk").ok()?);
    Some(Key { pk: pk.to_owned(), sk: sk.to_owned() })
}

impl Table {
    /// Performs a transaction; returns which conditions failed, item by item, or `None` if it was
    /// done.
    ///
    /// A transaction that conflicts with another one is tried again. Two jobs that are created in
    /// one collection conflict, because both are counted there.
    pub(crate) async fn transact(
        &self,
        items: Vec<TransactWriteItem>,
    ) -> Result<Option<Vec<bool>>, StoreError> {
        self.transact_for(None, items).await
    }

    /// Performs a transaction, and adds what that consumes to the meter.
    pub(crate) async fn transact_for(
        &self,
        call: Option<MeteredCall>,
        items: Vec<TransactWriteItem>,
    ) -> Result<Option<Vec<bool>>, StoreError> {
        let keys: Vec<Key> = items.iter().filter_map(written_key).collect();
        let in_progress = self.begin_write(&keys);
        let mut tries = 1;
        let failed = loop {
            let request = self
                .client
                .transact_write_items()
                .set_transact_items(Some(items.clone()))
                .set_return_consumed_capacity(call.and_then(|_| self.capacity_to_return()));
            match request.send().await {
                Ok(done) => {
                    if let Some(call) = call {
                        self.consumed(call, done.consumed_capacity());
                    }
                    break None;
                }
                Err(error) => match failed_conditions(error) {
                    Err(StoreError::Throttled(_)) if tries < TRIES_MAX => tries += 1,
                    failed => break Some(failed?),
                },
            }
        };
        Self::end_write(in_progress);
        Ok(failed)
    }

    /// Performs a transaction whose conditions all say that nothing changed since it was read.
    pub(crate) async fn save(&self, items: Vec<TransactWriteItem>) -> Result<Saved, StoreError> {
        Ok(match self.transact(items).await? {
            None => Saved::Kept,
            Some(_) => Saved::Stale,
        })
    }
}
