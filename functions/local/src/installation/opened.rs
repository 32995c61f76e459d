//! The data directory or the database of an installation, open.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use minutehand_carry::StoreOfMoves;
use minutehand_ports::Sealer;
use minutehand_store_sql::SqlStore;
use minutehand_store_sql::sqlite::Durability;

use super::data_directory;
use crate::BadArguments;
use crate::data_dir::check_is_data;
use crate::serve::{DATA_DIR, DatabaseArgs, Home, KeyArgs, Storage};

/// Where an installation is.
#[derive(Debug, clap::Args)]
pub(super) struct Place {
    /// Data directory that is not in use [default: .minutehand]
    #[arg(long, value_name = "DIR", value_parser = data_directory)]
    data: Option<PathBuf>,
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    key: KeyArgs,
}

impl Place {
    /// Where it is, and how it is called in what is said to the user.
    ///
    /// # Errors
    ///
    /// If the arguments do not fit together.
    pub(super) fn storage(
        &self,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<(Storage, String)> {
        // An argument takes precedence over the environment.
        let environment = |name: &str| environment(name).filter(|_| self.data.is_none());
        let place = self.database.read(environment).map_err(BadArguments)?;
        let key = self.key.read(place.is_some(), environment).map_err(BadArguments)?;
        let (Some(place), Some(key)) = (place, key) else {
            let path = self.data.clone().unwrap_or_else(|| DATA_DIR.into());
            let shown = path.display().to_string();
            let sync = Durability::Normal;
            return Ok((Storage::Directory { path, sync, accept_copy: false }, shown));
        };
        if self.data.is_some() {
            let problem = "--data and --database exclude each other: give one of them".to_owned();
            return Err(BadArguments(vec![problem]).into());
        }
        let (place, migrates) = (Box::new(place), true);
        Ok((Storage::Database { place, key, migrates }, "the database".to_owned()))
    }
}

/// Refuses a directory without data.
pub(super) fn check_has_data(storage: &Storage) -> Result<()> {
    match storage {
        Storage::Directory { path, .. } => check_is_data(path),
        Storage::Database { .. } | Storage::Memory => Ok(()),
    }
}

/// An installation that is open.
pub(super) struct Opened {
    pub(super) store: Arc<dyn StoreOfMoves>,
    /// What seals its secrets.
    pub(super) sealer: Arc<dyn Sealer>,
    home: Home,
}

impl Opened {
    /// Opens an installation. A directory that does not exist is created.
    pub(super) async fn open(storage: &Storage) -> Result<Self> {
        let home = Home::open(storage, false).await?;
        let store = Arc::new(SqlStore::new(home.database.clone()));
        Ok(Self { store, sealer: home.sealer.clone(), home })
    }

    /// Closes it.
    pub(super) async fn close(self) {
        self.home.close().await;
    }
}
