//! `top`: what fires next, what fails, and how many jobs there are, drawn again and again.

use std::time::Duration;

use chrono::{DateTime, Utc};
use clap::Args;

use crate::environment::Environment;
use crate::failure::Result;
use crate::fleet::{Fleet, JOBS_MAX};
use crate::options::Options;
use crate::output::plural;
use crate::output::table::Table;
use crate::output::times::read;
use crate::wait::pause;
use crate::work::{Work, zone_of};

/// How often it is drawn.
const EVERY: Duration = Duration::from_secs(5);
/// How many jobs it shows.
const SHOWN: usize = 12;

/// The arguments of `top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Only the jobs of this collection [default: every job of the group]
    collection: Option<String>,
    /// Print it once and exit
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    options: Options,
}

impl TopArgs {
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) async fn run(self, environment: Environment) -> Result<()> {
        let work = Work::open(&self.options, environment)?;
        loop {
            let fleet = Fleet::read(&work, self.collection.as_deref()).await?;
            let once = self.once || !work.screen.is_terminal();
            if !once {
                work.screen.clear()?;
            }
            draw(&work, &fleet)?;
            if once {
                return Ok(());
            }
            pause(EVERY).await;
        }
    }
}

fn draw(work: &Work, fleet: &Fleet) -> Result<()> {
    let count = |state: &str| fleet.jobs().filter(|(_, job)| job.state() == state).count();
    let failing = fleet.jobs().filter(|(_, job)| job.status().faulted_count > 0).count();
    let off = fleet.collections.iter().filter(|members| !members.is_on).count();
    let mut head = format!(
        "{} in {}: {} on, {} off, {} completed",
        plural(fleet.jobs().count(), "job"),
        plural(fleet.collections.len(), "collection"),
        count("enabled"),
        count("disabled"),
        count("completed")
    );
    if fleet.is_cut {
        head.extend([format!(" (the first {JOBS_MAX} jobs)")]);
    }
    work.screen.line(&head)?;
    if off > 0 {
        work.screen.line(&work.screen.warn(&format!("off: {}", plural(off, "collection"))))?;
    }
    if failing > 0 {
        let says = format!("failed for good: occurrences of {}", plural(failing, "job"));
        work.screen.line(&work.screen.bad(&says))?;
    }
    let mut coming: Vec<(DateTime<Utc>, _, _)> = fleet
        .jobs()
        .filter_map(|(members, job)| {
            Some((read(job.status().next_execution_time.as_deref()?)?, members, job))
        })
        .collect();
    coming.sort_by_key(|(at, ..)| *at);
    work.screen.line("")?;
    let mut table = Table::new(&["next", "in", "runs", "failed", "job"]);
    for (at, members, job) in coming.into_iter().take(SHOWN) {
        let times = work.times(zone_of(&job.properties));
        let status = job.status();
        let next = status.next_execution_time.as_deref().unwrap_or_default();
        let away = times.away(next);
        table.row(vec![
            times.at(at),
            away.strip_prefix("in ").unwrap_or(&away).to_owned(),
            status.execution_count.to_string(),
            status.faulted_count.to_string(),
            work.defaults().short_job(&members.path.job(job.short_name())),
        ]);
    }
    work.screen.table(&table)
}
