//! `watch`: what fires, as it happens.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use minutehand_client::{HistoryItem, JobPath, Listed};
use minutehand_recurrence::zone::Zone;

use crate::at_server::ServerCommand;
use crate::failure::Result;
use crate::fleet::Fleet;
use crate::input;
use crate::output::table::harmless;
use crate::output::times::{read, span_text};
use crate::wait::pause;
use crate::work::{Work, zone_of};

/// The most attempts of one job that are read at a time.
const ATTEMPTS_MAX: usize = 100;

/// The arguments of `watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Collection, or COLLECTION/JOB [default: every job of the group]
    name: Option<String>,
    /// End after this many attempts
    #[arg(long, value_name = "N", value_parser = input::positive::<usize>,
          allow_negative_numbers = true)]
    count: Option<usize>,
}

/// What has been seen of a job: its attempts, and the names of those that were printed.
#[derive(Default)]
struct Seen {
    executions: u64,
    names: BTreeSet<String>,
}

impl ServerCommand for WatchArgs {
    async fn run(self, work: Work) -> Result<()> {
        let (collection, only) = match self.name.as_deref().map(|name| (name, name.split_once('/')))
        {
            Some((_, Some((collection, job)))) => (Some(collection), Some(job)),
            Some((name, None)) => (Some(name), None),
            None => (None, None),
        };
        let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
        let mut printed = 0;
        let mut is_first = true;
        work.screen.hint("waiting for attempts; Ctrl-C ends it");
        loop {
            let fleet = Fleet::read(&work, collection).await?;
            for (members, job) in fleet.jobs() {
                if only.is_some_and(|only| !job.short_name().eq_ignore_ascii_case(only)) {
                    continue;
                }
                let path = members.path.job(job.short_name());
                let zone = zone_of(&job.properties);
                let executions = job.status().execution_count;
                let known = seen.entry(path.to_string()).or_default();
                if !is_first && known.executions == executions {
                    continue;
                }
                let fresh = fresh(&work, &path, known, is_first).await?;
                known.executions = executions;
                for item in fresh {
                    print(&work, &path, &item, zone)?;
                    printed += 1;
                    if self.count.is_some_and(|count| printed >= count) {
                        return Ok(());
                    }
                }
            }
            is_first = false;
            pause(work.every()).await;
        }
    }
}

/// The attempts of a job that have not been printed, oldest first. What happened before the command
/// began is only remembered.
async fn fresh(
    work: &Work,
    path: &JobPath,
    known: &mut Seen,
    is_first: bool,
) -> Result<Vec<Listed<HistoryItem>>> {
    let items = work.client().history(path, None).up_to(ATTEMPTS_MAX).await?;
    // Only the latest are kept: an older one does not come back.
    let names = items.iter().map(|item| item.value.name.clone()).collect();
    let before = std::mem::replace(&mut known.names, names);
    let is_fresh = |item: &Listed<HistoryItem>| !is_first && !before.contains(&item.value.name);
    Ok(items.into_iter().rev().filter(is_fresh).collect())
}

fn print(
    work: &Work,
    path: &JobPath,
    item: &Listed<HistoryItem>,
    zone: Option<Zone>,
) -> Result<()> {
    if work.json.is_some() {
        return work.screen.line(&item.text);
    }
    let attempt = &item.value.properties;
    let late = read(&attempt.start_time).zip(read(&attempt.expected_execution_time));
    let late = late.map_or_else(String::new, |(start, due)| format!("+{}", span_text(start - due)));
    let how = if attempt.failed() { work.screen.bad("failed") } else { work.screen.good("ok") };
    let cells = [
        work.times(zone).written(&attempt.expected_execution_time),
        late,
        work.defaults().short_job(path),
        how,
        harmless(&attempt.reason()),
    ];
    work.screen.row(&cells)
}
