//! Reading many items at once.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::types::KeysAndAttributes;
use ports::StoreError;

use crate::DynamoStore;
use crate::error::store_error;
use crate::item::{Item, Reader, key};
use crate::keys::Key;
use crate::meter::MeteredCall;

/// The most keys that one request reads.
const BATCH_MAX: usize = 100;
/// The most times that a batch is asked for what it left out.
const BATCH_ROUNDS_MAX: usize = 20;

/// As of when items are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    /// As they are now.
    Now,
    /// As they were a moment ago, at half the price.
    Lately,
}

impl DynamoStore {
    /// Reads items, each once, whoever asks for it how often. What is not there is not in the answer.
    pub(crate) async fn get_many(
        &self,
        call: Option<MeteredCall>,
        reads: Reads,
        keys: impl IntoIterator<Item = Key>,
    ) -> Result<HashMap<Key, Item>, StoreError> {
        let keys: Vec<Key> = keys.into_iter().collect::<HashSet<_>>().into_iter().collect();
        let mut found = HashMap::with_capacity(keys.len());
        for batch in keys.chunks(BATCH_MAX) {
            self.get_batch(call, reads, batch, &mut found).await?;
        }
        Ok(found)
    }

    async fn get_batch(
        &self,
        call: Option<MeteredCall>,
        reads: Reads,
        batch: &[Key],
        found: &mut HashMap<Key, Item>,
    ) -> Result<(), StoreError> {
        let mut wanted: Vec<Item> = batch.iter().cloned().map(key).collect();
        for _ in 0..BATCH_ROUNDS_MAX {
            let keys = KeysAndAttributes::builder()
                .set_keys(Some(wanted))
                .consistent_read(reads == Reads::Now)
                .build();
            let keys = keys.map_err(|error| StoreError::Refused(Box::new(error)))?;
            let request = self
                .client
                .batch_get_item()
                .request_items(&self.table, keys)
                .set_return_consumed_capacity(call.and_then(|_| self.asks_for_capacity()));
            let answer = request.send().await.map_err(store_error)?;
            if let Some(call) = call {
                self.consumed(call, answer.consumed_capacity());
            }
            for item in answer.responses.unwrap_or_default().into_values().flatten() {
                let reader = Reader::of(&item);
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
