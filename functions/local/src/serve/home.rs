//! Storage: a database of many processes, a data directory, or memory only.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use minutehand_runtime::chain;
use minutehand_sealer_aes::AesSealer;
use minutehand_store_sql::sqlite::{CopyProblem, DATABASE, Database, SqlError, Threads};
use minutehand_store_sql::{AnyDatabase, SqlStore};
use tokio::time::timeout;

use super::secrets::{self, KeyFound, SharedKey};
use super::settings::Storage;
use crate::data_dir::DataDir;

/// How long a process takes to give back what it holds in a database.
const END_MAX: Duration = Duration::from_secs(1);
const NOT_GIVEN_BACK: &str =
    "what this process held was not given back: the others free it in a few seconds";

/// Opened storage.
pub(crate) struct Home {
    /// The data directory, if there is one.
    pub(crate) dir: Option<DataDir>,
    pub(crate) sealer: Arc<AesSealer>,
    pub(crate) key: KeyFound,
    pub(crate) database: AnyDatabase,
    /// Those of a file or of memory.
    threads: Option<Threads>,
}

impl Home {
    /// Opens the storage. The key comes before the database, so that a crash leaves no database without a
    /// key; then it is checked.
    pub(crate) async fn open(storage: &Storage, forget_secrets: bool) -> Result<Self> {
        match storage {
            Storage::Database { place, key, migrates } => {
                let key = SharedKey::read(key)?;
                let database = place.connect(*migrates).await?;
                let (sealer, found) =
                    (Arc::new(key.sealer()), key.check(&database, forget_secrets).await?);
                let (dir, threads) = (None, None);
                Ok(Self { dir, sealer, key: found, database: database.into(), threads })
            }
            Storage::Memory => {
                let opened = Database::in_memory().context("cannot create the store in memory")?;
                let (database, threads) = opened;
                let (sealer, key) = (Arc::new(secrets::temporary_sealer()?), KeyFound::Right);
                let (database, threads) = (database.into(), Some(threads));
                Ok(Self { dir: None, sealer, key, database, threads })
            }
            Storage::Directory { path, sync, accept_copy } => {
                if path.exists() && !path.is_dir() {
                    bail!("{} is not a directory: give one with --data", path.display());
                }
                let dir = DataDir::open(path)?;
                for mended in &dir.mended {
                    tracing::warn!("{mended}");
                }
                let sealer = secrets::open_sealer(&dir, forget_secrets)?;
                let cannot = |error| cannot_open(&dir, error);
                let (database, threads) = if *accept_copy {
                    let (database, threads, problem) =
                        Database::open_copy(dir.path(), *sync).map_err(cannot)?;
                    log_accepted(problem);
                    (database, threads)
                } else {
                    Database::open(dir.path(), *sync).map_err(cannot)?
                };
                let store = SqlStore::new(database.clone());
                let key = secrets::check_key(&dir, &sealer, &store, forget_secrets).await?;
                let (database, threads) = (database.into(), Some(threads));
                Ok(Self { dir: Some(dir), sealer: Arc::new(sealer), key, database, threads })
            }
        }
    }

    /// Whether no other process uses the database.
    pub(crate) const fn is_alone(&self) -> bool {
        !matches!(self.database, AnyDatabase::Postgres(_))
    }

    /// Closes the database, after it has done what it has accepted. Then the data directory is unlocked.
    pub(crate) async fn close(self) {
        if let AnyDatabase::Postgres(database) = &self.database {
            match timeout(END_MAX, database.end()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(error = chain(&error), "{NOT_GIVEN_BACK}"),
                Err(_) => tracing::warn!("{NOT_GIVEN_BACK}"),
            }
        }
        self.database.close();
        if let Some(threads) = self.threads {
            threads.ended().await;
        }
    }
}

/// Says what may be missing in files that are used although they do not belong together.
fn log_accepted(problem: Option<CopyProblem>) {
    if let Some(problem) = problem {
        tracing::warn!(
            %problem,
            "--accept-copy: what was answered before the copy was made may be missing: jobs and changes, runs \
             that were due, history; start without the flag from now on"
        );
    } else {
        tracing::warn!("--accept-copy: the files belong together, and nothing is missing");
    }
}

/// Says which database cannot be opened, and what to do about a damaged one: the library's own message
/// suggests something else.
fn cannot_open(dir: &DataDir, error: SqlError) -> anyhow::Error {
    let file = dir.path().join(DATABASE);
    let file = file.display();
    if error.is_damage() {
        anyhow!("{file} is damaged, or not a database: restore the data directory from a backup")
    } else {
        anyhow::Error::from(error).context(format!("cannot open {file}"))
    }
}
