//! Where things are kept: a data directory, or memory.

use std::sync::Arc;

use anyhow::{Context, Result};
use embedded::{DataDir, Queue, Store};
use ports::Clock;
use sealer_aes::AesSealer;

use super::key;
use super::settings::Storage;

/// What is kept, opened.
pub(super) struct Home {
    /// The data directory; `None` if everything is in memory.
    pub(super) dir: Option<DataDir>,
    pub(super) sealer: AesSealer,
    pub(super) store: Store,
    pub(super) queue: Queue,
}

impl Home {
    /// Opens what is kept; the key first, see [`key`].
    pub(super) fn open(storage: &Storage, clock: Arc<dyn Clock>) -> Result<Self> {
        match storage {
            Storage::Memory => {
                let store = Store::in_memory().context("cannot start")?;
                let queue = Queue::in_memory(clock).context("cannot start")?;
                Ok(Self { dir: None, sealer: key::passing_sealer()?, store, queue })
            }
            Storage::Directory { path, sync } => {
                let dir = DataDir::open(path)?;
                let sealer = key::open_sealer(&dir)?;
                let store = Store::open(&dir, *sync)?;
                let queue = Queue::open(&dir, *sync, clock)?;
                Ok(Self { dir: Some(dir), sealer, store, queue })
            }
        }
    }
}
