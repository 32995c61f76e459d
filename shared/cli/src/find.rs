//! `find`: jobs of the subscription by a part of their names.

use clap::Args;
use minutehand_client::FoundJob;

use crate::at_server::ServerCommand;
use crate::failure::Result;
use crate::input;
use crate::output::marks::marks;
use crate::output::table::harmless;
use crate::work::Work;

/// The most jobs that the server answers.
pub(crate) const FOUND_MAX: u32 = 20;
/// How many of the last results are shown.
const RESULTS_MAX: usize = 12;

/// The arguments of `find`.
#[derive(Debug, Args)]
pub struct FindArgs {
    /// Part of a job's name in any case; COLLECTION/JOB takes a part of both names
    #[arg(value_name = "TEXT")]
    text: String,
    /// Show at most this many, up to 20
    #[arg(long, short = 'n', value_name = "N", default_value_t = FOUND_MAX, value_parser = limit,
          allow_negative_numbers = true)]
    limit: u32,
}

/// Reads how many jobs are wanted.
pub(crate) fn limit(text: &str) -> std::result::Result<u32, String> {
    input::within(text, &(1..=FOUND_MAX))
}

impl ServerCommand for FindArgs {
    async fn run(self, work: Work) -> Result<()> {
        let subscription = &work.defaults().place.subscription;
        let limit = self.limit as usize;
        let (found, is_whole) = work.client().find(subscription, &self.text, limit).await?;
        let nothing = "no job's name contains it; `minutehand job list` lists a collection";
        let titles = ["job", "state", "next", "last", "fires"];
        let times = work.times(None);
        work.list(&found, nothing, &titles, |job| {
            vec![
                name(&work, job),
                job.state.clone(),
                job.next.as_deref().map(|at| times.written(at)).unwrap_or_default(),
                marks(&work.screen, &job.recent, RESULTS_MAX),
                harmless(job.sentence.as_deref().unwrap_or_default()),
            ]
        })?;
        if !is_whole {
            work.screen.hint("not every name was looked at: name a collection, COLLECTION/TEXT");
        }
        Ok(())
    }
}

/// The name of a job that was found, as short as commands take it.
pub(crate) fn name(work: &Work, job: &FoundJob) -> String {
    let path = work.defaults().in_group(&job.resource_group, &job.collection);
    work.defaults().short_job(&path.job(&job.job))
}
