//! `processes`: the processes that share a database.

use clap::Args;

use crate::at_server::ServerCommand;
use crate::failure::Result;
use crate::output::table::harmless;
use crate::work::Work;

/// The arguments of `processes`.
#[derive(Debug, Args)]
pub struct ProcessesArgs {}

impl ServerCommand for ProcessesArgs {
    async fn run(self, work: Work) -> Result<()> {
        let processes = work.client().processes().await?;
        let (nothing, times) =
            ("one process alone: no other one shares its data", work.times(None));
        let titles = ["name", "version", "since", "last seen", "attempts"];
        work.list(&processes, nothing, &titles, |process| {
            let answers = if process.answers { " (answers)" } else { "" };
            vec![
                harmless(&process.name) + answers,
                harmless(&process.version),
                times.written(&process.since),
                times.written(&process.seen_at),
                process.attempts.to_string(),
            ]
        })
    }
}
