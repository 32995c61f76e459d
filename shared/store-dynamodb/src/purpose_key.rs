//! Keys of the installation, each sealed in an item of its own: a random one for a purpose, and the data
//! keys with which `sealer-kms` seals secrets.
//!
//! The first process that needs a key makes it. If two processes make one at once, both use the one that was stored
//! first. A crash leaves a complete item or none.

use std::sync::Arc;

use async_trait::async_trait;
use minutehand_ports::{DataKeys, IdSource, PurposeKey, PurposeKeyError, Sealer, StoreError};
use zeroize::Zeroizing;

use crate::store::DynamoStore;
use crate::table::item::{ItemBuilder, Reader, bytes};
use crate::table::{MeteredCall, Write, keys};

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
        let Some(sealed) = self.store.kept(self.purpose).await? else { return Ok(None) };
        let key = self.sealer.open(self.purpose, &sealed).await?;
        Ok(Some(key.into_bytes().into()))
    }

    /// Makes the key; `None` if there is one by now.
    async fn make(&self) -> Result<Option<Zeroizing<Vec<u8>>>, PurposeKeyError> {
        let ids = (0..IDS_IN_KEY).map(|_| self.ids.new_id());
        let key = Zeroizing::new(ids.collect::<String>());
        let sealed = self.sealer.seal(self.purpose, &key).await?;
        let is_kept = self.store.keep(self.purpose, &sealed).await?;
        Ok(is_kept.then(|| key.as_bytes().to_vec().into()))
    }
}

#[async_trait]
impl DataKeys for DynamoStore {
    async fn kept(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(item) = self.table.get(keys::purpose_key(name)).await? else { return Ok(None) };
        Ok(Some(Reader::new(&item).optional_bytes(SEALED)?.unwrap_or_default()))
    }

    async fn keep(&self, name: &str, encrypted: &[u8]) -> Result<bool, StoreError> {
        let item = ItemBuilder::at(keys::purpose_key(name)).set(SEALED, bytes(encrypted));
        let write = Write::put(item).when("attribute_not_exists(pk)");
        self.table.does(MeteredCall::Change, write).await
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
