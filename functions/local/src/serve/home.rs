//! Storage: a data directory, or memory only.

use anyhow::{Context, Result, anyhow, bail};
use minutehand_sealer_aes::AesSealer;
use minutehand_store_sql::sqlite::{CopyProblem, DATABASE, Database, SqlError, Threads};

use super::secrets;
use super::settings::Storage;
use crate::data_dir::DataDir;

/// Opened storage.
pub(crate) struct Home {
    /// The data directory; `None` if everything is in memory.
    pub(crate) dir: Option<DataDir>,
    pub(crate) sealer: AesSealer,
    pub(crate) database: Database,
    pub(crate) threads: Threads,
}

impl Home {
    /// Opens the storage. The key comes before the database, so that a crash leaves no database without a
    /// key.
    pub(crate) fn open(storage: &Storage, forget_secrets: bool) -> Result<Self> {
        match storage {
            Storage::Memory => {
                let opened = Database::in_memory().context("cannot create the store in memory")?;
                let (database, threads) = opened;
                Ok(Self { dir: None, sealer: secrets::temporary_sealer()?, database, threads })
            }
            Storage::Directory { path, sync, accept_copy } => {
                if path.exists() && !path.is_dir() {
                    bail!("{} is not a directory: give one with --data", path.display());
                }
                let dir = DataDir::open(path)?;
                for mended in dir.mended() {
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
                Ok(Self { dir: Some(dir), sealer, database, threads })
            }
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
