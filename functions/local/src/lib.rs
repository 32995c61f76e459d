//! The commands of the `minutehand` program, as a library that tests can call.
//!
//! [`serve`] runs the whole scheduler as one process: the API, the sweeper and the executor, with an
//! store in one file. [`preview`] shows when a job would fire. [`backup`] copies a data directory.
//! [`archive`] keeps history for good, [`installation`] carries collections and jobs to another installation, and [`zones`] reads the time
//! zones of the system.

pub mod archive;
pub mod backup;
mod data_dir;
pub mod health;
pub mod installation;
pub mod preview;
pub mod serve;
pub mod zones;

use anyhow::{Context as _, Result};

/// Runs something that waits, on this thread.
fn wait_for<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build();
    threads.context("cannot start threads")?.block_on(work)
}
