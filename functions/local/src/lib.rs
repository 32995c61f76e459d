//! The commands of the `minutehand` program, as a library that tests can call.
//!
//! [`serve`] runs the whole scheduler as one process: the API, the sweeper and the executor, with a
//! store in one file, or in a [`database`] of many processes. [`preview`] shows when a job would fire. [`backup`] copies a data directory.
//! [`archive`] keeps history for good, [`installation`] carries collections and jobs to another installation, and [`zones`] reads the time
//! zones of the system.

pub mod archive;
pub mod backup;
mod data_dir;
pub mod database;
pub mod health;
pub mod installation;
pub mod preview;
pub mod schema;
pub mod serve;
pub mod zones;

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};

/// Arguments that do not fit together: all problems, each as a sentence that says what to change.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct BadArguments(pub Vec<String>);

/// Reads variables of the environment.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Runs something that waits, on this thread.
fn wait_for<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build();
    threads.context("cannot start threads")?.block_on(work)
}

/// What a lock guards, also after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
