//! Reading many items with one request.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemInput;
use aws_sdk_dynamodb::types::KeysAndAttributes;
use minutehand_ports::StoreError;

use super::client::Table;
use super::error::store_error;
use super::item::{Item, Reader, key};
use super::keys::Key;
use super::meter::MeteredCall;

/// The most keys that one request reads.
const BATCH_MAX: usize = 100;
/// The most requests for the keys of one batch that earlier requests left unprocessed.
const BATCH_ROUNDS_MAX: usize = 20;

/// How fresh the items must be that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consistency {
    /// As they are now.
    Strong,
    /// As they were a moment ago, at half the price.
    Eventual,
}

impl Table {
    /// Reads items, each key once. An item that does not exist is missing from the answer.
    pub(crate) async fn get_many(
        &self,
        call: Option<MeteredCall>,
        consistency: Consistency,
        keys: impl IntoIterator<Item = Key>,
    ) -> Result<HashMap<Key, Item>, StoreError> {
        let keys: Vec<Key> = keys.into_iter().collect::<HashSet<_>>().into_iter().collect();
        let mut found = HashMap::with_capacity(keys.len());
        for batch in keys.chunks(BATCH_MAX) {
            self.get_batch(call, consistency, batch, &mut found).await?;
        }
        Ok(found)
    }

    async fn get_batch(
        &self,
        call: Option<MeteredCall>,
        consistency: Consistency,
        batch: &[Key],
        found: &mut HashMap<Key, Item>,
    ) -> Result<(), StoreError> {
        let mut wanted: Vec<Item> = batch.iter().cloned().map(key).collect();
        for _ in 0..BATCH_ROUNDS_MAX {
            let keys = KeysAndAttributes::builder()
                .set_keys(Some(wanted))
                .consistent_read(consistency == Consistency::Strong)
                .build();
            let keys = keys.map_err(|error| StoreError::Refused(Box::new(error)))?;
            let request = BatchGetItemInput::builder()
                .request_items(&self.name, keys)
                .set_return_consumed_capacity(call.and_then(|_| self.capacity_to_return()));
            let answer = self.send(request).await.map_err(store_error)?;
            if let Some(call) = call {
                self.consumed(call, answer.consumed_capacity());
            }
            for item in answer.responses.unwrap_or_default().into_values().flatten() {
                let reader = Reader::new(&item);
                let (pk, sk) = (reader.text("pk")?.to_owned(), reader.text("sk")?.to_owned());
                found.insert(Key { pk, sk }, item);
            }
            let left = answer.unprocessed_keys.unwrap_or_default().into_values().next();
            match left.map(|left| left.keys).filter(|keys| !keys.is_empty()) {
                Some(left) => wanted = left,
                None => return Ok(()),
            }
        }
        Err(StoreError::Throttled("keys stay unprocessed".into()))
    }
}
