//! The data directory or the database of an installation.

use std::path::PathBuf;

use anyhow::Result;
use minutehand_store_sql::sqlite::Durability;

use super::data_directory;
use crate::serve::{DATA_DIR, DatabaseArgs, KeyArgs, Storage};
use crate::{BadArguments, Variables};

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
    pub(super) fn storage(&self, environment: Variables<'_>) -> Result<(Storage, String)> {
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
