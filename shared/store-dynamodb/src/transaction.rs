//! Transactions, and the read of one item: what collections and jobs have in common.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::builders::TransactWriteItemBuilder;
use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem, Update};
use ports::StoreError;
use ports::store::Saved;

use crate::DynamoStore;
use crate::changes::ended;
use crate::error::{failed_conditions, store_error};
use crate::item::{Item, Reader, key};
use crate::keys::Key;
use crate::meter::MeteredCall;

/// The most times that a transaction is tried which others are in the way of.
const TRIES_MAX: usize = 4;

/// One item of a transaction.
pub(crate) fn item(
    build: impl FnOnce(TransactWriteItemBuilder) -> Result<TransactWriteItemBuilder, BuildError>,
) -> Result<TransactWriteItem, StoreError> {
    let item = build(TransactWriteItem::builder()).map(TransactWriteItemBuilder::build);
    item.map_err(|error| StoreError::Refused(Box::new(error)))
}

/// What an item of a transaction writes.
fn written(item: &TransactWriteItem) -> Option<Key> {
    let put = item.put().map(Put::item);
    let update = item.update().map(Update::key);
    let delete = item.delete().map(Delete::key);
    let reader = put.or(update).or(delete).map(Reader::of)?;
    let (pk, sk) = (reader.text("pk").ok()?, reader.text("sk").ok()?);
    Some(Key { pk: pk.to_owned(), sk: sk.to_owned() })
}

impl DynamoStore {
    /// Reads an item as it is now.
    pub(crate) async fn get(&self, at: Key) -> Result<Option<Item>, StoreError> {
        self.get_for(None, at).await
    }

    /// Reads an item as it is now, and counts what that consumes as a part of a call.
    pub(crate) async fn get_for(
        &self,
        call: Option<MeteredCall>,
        at: Key,
    ) -> Result<Option<Item>, StoreError> {
        let request = self.client.get_item().table_name(&self.table).set_key(Some(key(at)));
        let request = request
            .consistent_read(true)
            .set_return_consumed_capacity(call.and_then(|_| self.asks_for_capacity()));
        let found = request.send().await.map_err(store_error)?;
        if let Some(call) = call {
            self.consumed(call, found.consumed_capacity());
        }
        Ok(found.item)
    }

    /// Performs a transaction; what comes back is which conditions failed, item by item.
    ///
    /// One that meets another, such as a job that is counted at that moment, is tried again.
    pub(crate) async fn transact(
        &self,
        items: Vec<TransactWriteItem>,
    ) -> Result<Option<Vec<bool>>, StoreError> {
        self.transact_for(None, items).await
    }

    /// As [`Self::transact`], and counts what that consumes as a part of a call.
    pub(crate) async fn transact_for(
        &self,
        call: Option<MeteredCall>,
        items: Vec<TransactWriteItem>,
    ) -> Result<Option<Vec<bool>>, StoreError> {
        let keys: Vec<Key> = items.iter().filter_map(written).collect();
        let writing = self.begin(&keys);
        let mut tries = 1;
        let failed = loop {
            let request = self
                .client
                .transact_write_items()
                .set_transact_items(Some(items.clone()))
                .set_return_consumed_capacity(call.and_then(|_| self.asks_for_capacity()));
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
        ended(writing);
        Ok(failed)
    }

    /// Performs a transaction whose every condition says that nothing changed.
    pub(crate) async fn save(&self, items: Vec<TransactWriteItem>) -> Result<Saved, StoreError> {
        Ok(match self.transact(items).await? {
            None => Saved::Kept,
            Some(_) => Saved::Stale,
        })
    }
}
