//! A key of the installation for one purpose: a random one, sealed, in an item of its own.
//!
//! Whoever needs it first makes it. Of two that make one at once, the second takes that of the first. A crash
//! leaves the item or none.

use std::sync::Arc;

use async_trait::async_trait;
use minutehand_ports::{IdSource, PurposeKey, PurposeKeyError, Sealer, StoreError};
use zeroize::Zeroizing;

use crate::store::DynamoStore;
use crate::table::item::{ItemBuilder, Reader, bytes};
use crate::table::{MeteredCall, Write, WriteOutcome, keys};

const SEALED: &str = "sealed";
/// An id has 128 random bits.
const IDS_IN_KEY: usize = 2;

/// The key for one purpose.
pub struct StoredKey {
    store: Arc<DynamoStore>,
    sealer: Arc<dyn Sealer>,
    ids: Arc<dyn IdSource>,
    purpose: &'static str,
}

impl StoredKey {
    /// The key for a purpose, whose name is a part of the item's key.
    #[must_use]
    pub fn new(
        store: Arc<DynamoStore>,
        sealer: Arc<dyn Sealer>,
        ids: Arc<dyn IdSource>,
        purpose: &'static str,
    ) -> Self {
        Self { store, sealer, ids, purpose }
    }

    async fn stored(&self) -> Result<Option<Zeroizing<Vec<u8>>>, PurposeKeyError> {
        let Some(item) = self.store.table.get(keys::purpose_key(self.purpose)).await? else {
            return Ok(None);
        };
        let sealed = Reader::new(&item).optional_bytes(SEALED)?.unwrap_or_default();
        let key = self.sealer.open(self.purpose, &sealed).await?;
        Ok(Some(key.into_bytes().into()))
    }

    /// Makes the key; `None` if there is one by now.
    async fn make(&self) -> Result<Option<Zeroizing<Vec<u8>>>, PurposeKeyError> {
        let ids = (0..IDS_IN_KEY).map(|_| self.ids.new_id());
        let key = Zeroizing::new(ids.collect::<String>());
        let sealed = self.sealer.seal(self.purpose, &key).await?;
        let at = keys::purpose_key(self.purpose);
        let item = ItemBuilder::at(at.clone()).set(SEALED, bytes(&sealed));
        let write = Write::put(at, item).when("attribute_not_exists(pk)");
        let outcome = self.store.table.write(MeteredCall::Change, write).await?;
        Ok(matches!(outcome, WriteOutcome::Done).then(|| key.as_bytes().to_vec().into()))
    }
}

#[async_trait]
impl PurposeKey for StoredKey {
    async fn key(&self) -> Result<Zeroizing<Vec<u8>>, PurposeKeyError> {
        if let Some(key) = self.stored().await? {
            return Ok(key);
        }
        if let Some(key) = self.make().await? {
            return Ok(key);
        }
        let gone = || StoreError::Unavailable("a key was made and is gone".into());
        Ok(self.stored().await?.ok_or_else(gone)?)
    }
}
