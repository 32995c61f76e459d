//! The data directory of an installation, open.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use minutehand_carry::StoreOfMoves;
use minutehand_ports::Sealer;
use minutehand_store_sql::SqlStore;
use minutehand_store_sql::sqlite::{Database, Durability, Threads};

use crate::data_dir::DataDir;
use crate::serve::{Home, Storage, check_key};

/// An installation that is open.
pub(super) struct Opened {
    pub(super) store: Arc<dyn StoreOfMoves>,
    /// What seals its secrets.
    pub(super) sealer: Arc<dyn Sealer>,
    database: Database,
    threads: Threads,
    /// Locked until the database is closed.
    _dir: Option<DataDir>,
}

impl Opened {
    /// Opens a data directory. One that does not exist is created.
    pub(super) async fn open(path: &Path) -> Result<Self> {
        let (path, sync) = (path.to_owned(), Durability::Normal);
        let storage = Storage::Directory { path, sync, accept_copy: false };
        let Home { dir, sealer, database, threads } = Home::open(&storage, false)?;
        let store = SqlStore::new(database.clone());
        if let Some(dir) = &dir {
            check_key(dir, &sealer, &store, false).await?;
        }
        let (store, sealer) = (Arc::new(store), Arc::new(sealer));
        Ok(Self { store, sealer, database, threads, _dir: dir })
    }

    /// Closes it.
    pub(super) async fn close(self) {
        let Self { database, threads, _dir, .. } = self;
        database.close();
        threads.ended().await;
    }
}
