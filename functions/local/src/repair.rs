//! `minutehand repair`: makes a lost or damaged queue anew, and sends again what it must have held.
//!
//! The server has to be stopped. `embedded` decides what is damaged and puts it aside, `app` computes
//! from the store what is to be sent. A crash leaves a directory that no server opens and the next
//! repair goes on with.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use minutehand_app::fire::{FireStore, RepairPorts, RepairReport};
use minutehand_embedded::{BegunRepair, DataDir, DataDirectory};
use minutehand_ports::{Clock, IdSource};
use minutehand_runtime::{ProcessClock, RandomIds};
use minutehand_store_dynamodb::{DynamoStore, ensure_table};

use crate::serve::TABLE;
use crate::wait_for;

/// What a repair did.
#[derive(Debug)]
pub struct Repaired {
    damage: String,
    aside: Option<PathBuf>,
    pub(crate) report: RepairReport,
}

impl fmt::Display for Repaired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RepairReport { jobs, occurrences, attempts, unreadable } = self.report;
        writeln!(f, "found: {}", self.damage)?;
        if let Some(aside) = &self.aside {
            writeln!(f, "put aside: {}", aside.display())?;
        }
        writeln!(f, "looked at {jobs} enabled jobs")?;
        writeln!(f, "sent again: {occurrences} occurrences that were due or soon due")?;
        writeln!(f, "sent again: {attempts} recent attempts, for retries and error actions")?;
        if unreadable > 0 {
            writeln!(f, "left out: {unreadable} jobs that cannot be read: replace them with PUT")?;
        }
        writeln!(f, "An attempt that has ended is not made again.")?;
        writeln!(f, "Lost: dead letters, and runs that were asked for and not begun. Ask again.")
    }
}

/// Refuses a directory without data. Opening it would make it one.
pub(crate) fn check_is_data(data: &Path) -> Result<()> {
    if !data.join("format").exists() {
        bail!(
            "{} is not a data directory: with --data, name the directory that `minutehand serve` \
             uses; it contains a file 'format'",
            data.display()
        );
    }
    Ok(())
}

/// Repairs a data directory that is not in use; `None` if nothing is damaged.
///
/// # Errors
///
/// If the directory is in use or not one, if only a backup helps, or if a file cannot be written.
pub fn repair(data: &Path) -> Result<Option<Repaired>> {
    check_is_data(data)?;
    let dir = DataDir::open(data)?;
    wait_for(run(&dir))
}

async fn run(dir: &DataDir) -> Result<Option<Repaired>> {
    let clock: Arc<dyn Clock> = Arc::new(ProcessClock::new());
    let id = RandomIds.new_id();
    let begun = DataDirectory::begin_repair(dir, clock.clone(), &id)?;
    let Some(BegunRepair { directory, damage, aside }) = begun else {
        return Ok(None);
    };
    let client = directory.store.client();
    ensure_table(&client, TABLE).await.context("cannot read the store")?;
    let store = Arc::new(DynamoStore::new(client, TABLE));
    let ports = RepairPorts {
        store: FireStore::new(store.clone()),
        jobs_at_rest: store,
        queue: Arc::new(directory.queue.clone()),
        clock,
    };
    let report =
        minutehand_app::fire::repair(&ports).await.context("cannot send again what may be lost")?;
    directory.close().await?;
    Ok(Some(Repaired { damage: damage.to_string(), aside, report }))
}
