//! A data directory that is open for an export or an import.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use minutehand_carry::StoreOfMoves;
use minutehand_embedded::{DataDirectory, SyncMode};
use minutehand_ports::Sealer;
use minutehand_runtime::ProcessClock;
use minutehand_store_dynamodb::{DynamoStore, Groups, ensure_table};

use crate::serve::{Home, Storage, TABLE, check_key};

/// An installation that is open.
pub(super) struct Opened {
    pub(super) store: Arc<dyn StoreOfMoves>,
    /// What seals its secrets.
    pub(super) sealer: Arc<dyn Sealer>,
    directory: Option<DataDirectory>,
}

impl Opened {
    /// Opens a data directory. One that does not exist is created.
    pub(super) async fn open(path: &Path) -> Result<Self> {
        let storage = Storage::Directory { path: path.to_owned(), sync: SyncMode::Normal };
        let home = Home::open(&storage, false, Arc::new(ProcessClock::new()))?;
        let Home { dir, sealer, store, queue } = home;
        let (dir, mark) = dir.unzip();
        ensure_table(&store.client(), TABLE).await.context("cannot open the store")?;
        let jobs = DynamoStore::new(store.client(), TABLE).with_groups(Groups::Transactions);
        if let Some(dir) = &dir {
            check_key(dir, &sealer, &jobs, false).await?;
        }
        let directory = mark.map(|mark| DataDirectory { mark, store, queue });
        Ok(Self { store: Arc::new(jobs), sealer: Arc::new(sealer), directory })
    }

    pub(super) async fn close(self) -> Result<()> {
        match self.directory {
            Some(directory) => Ok(directory.close().await?),
            None => Ok(()),
        }
    }
}
