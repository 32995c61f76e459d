//! Storage: a data directory, or memory only.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use minutehand_embedded::{DataDir, DataDirectory, OpenError, OpenMark, Queue, Store};
use minutehand_ports::{Clock, IdSource};
use minutehand_runtime::RandomIds;
use minutehand_sealer_aes::AesSealer;

use super::secrets;
use super::settings::Storage;

/// Opened storage.
pub(crate) struct Home {
    /// The data directory and the mark that it is open; `None` if everything is in memory.
    pub(crate) dir: Option<(DataDir, OpenMark)>,
    pub(crate) sealer: AesSealer,
    pub(crate) store: Store,
    pub(crate) queue: Queue,
}

impl Home {
    /// Opens the storage. The key comes before the store, so that a crash leaves no store without a
    /// key.
    pub(crate) fn open(
        storage: &Storage,
        forget_secrets: bool,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        match storage {
            Storage::Memory => {
                let store = Store::in_memory().context("cannot create the store in memory")?;
                let queue = Queue::in_memory(clock).context("cannot create the queue in memory")?;
                Ok(Self { dir: None, sealer: secrets::temporary_sealer()?, store, queue })
            }
            Storage::Directory { path, sync } => {
                if path.exists() && !path.is_dir() {
                    bail!("{} is not a directory: give one with --data", path.display());
                }
                let dir = DataDir::open(path)?;
                for mended in dir.mended() {
                    tracing::warn!("{mended}");
                }
                let sealer = secrets::open_sealer(&dir, forget_secrets)?;
                let id = RandomIds.new_id();
                let opened = DataDirectory::open(&dir, *sync, clock, &id).map_err(with_advice)?;
                let DataDirectory { mark, store, queue } = opened;
                Ok(Self { dir: Some((dir, mark)), sealer, store, queue })
            }
        }
    }
}

/// Says what to do about a damaged database: the library's own message suggests something else.
fn with_advice(error: OpenError) -> anyhow::Error {
    let may_be_damaged = matches!(error, OpenError::Database { .. });
    let error = anyhow::Error::from(error);
    if may_be_damaged {
        error
            .context("the database may be damaged; if so, restore the data directory from a backup")
    } else {
        error
    }
}
