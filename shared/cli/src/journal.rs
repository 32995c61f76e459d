//! `journal`: who changed and ran what in a collection.

use clap::Args;
use minutehand_client::{JournalChange, NotedRun};

use crate::at_server::ServerCommand;
use crate::failure::Result;
use crate::input;
use crate::output::table::harmless;
use crate::output::times::Times;
use crate::work::{Work, in_collection};

/// The arguments of `journal`.
#[derive(Debug, Args)]
pub struct JournalArgs {
    /// Collection, or COLLECTION/JOB for the changes of one job [default: the context's, else 'default']
    name: Option<String>,
    /// Show at most this many changes
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20,
          value_parser = input::positive::<usize>, allow_negative_numbers = true)]
    limit: usize,
}

impl ServerCommand for JournalArgs {
    async fn run(self, work: Work) -> Result<()> {
        let (path, job) = match &self.name {
            Some(name) => work.defaults().collection_or_job(name)?,
            None => (work.defaults().collection(None)?, None),
        };
        let changes = work.client().journal(&path, job.as_deref(), self.limit).await;
        let changes = changes.map_err(in_collection(&work, &path))?;
        let (times, titles) = (work.times(None), ["at", "who", "what", "name", "changed"]);
        work.list(&changes, "no changes in the last 400 days", &titles, |change| {
            let JournalChange { at, who, operation, job, .. } = change;
            vec![
                times.written(at),
                harmless(who),
                words(operation).to_owned(),
                job.clone().unwrap_or_else(|| "(collection)".to_owned()),
                harmless(&about(change, &times)),
            ]
        })
    }
}

/// What was done, in words.
fn words(operation: &str) -> &str {
    match operation {
        "switchedOn" => "switched on",
        "switchedOff" => "switched off",
        other => other,
    }
}

/// What changed: the names of the properties, the occurrence that a run repeats, or why a job was paused.
fn about(change: &JournalChange, times: &Times) -> String {
    if let Some(NotedRun { redrive_of: Some(of), .. }) = &change.run {
        return format!("the occurrence {}", times.written(of));
    }
    let why = change.change.as_ref().filter(|_| change.operation == "paused");
    let why = why.and_then(|change| change.pointer("/minutehand/paused/reason")?.as_str());
    why.map_or_else(|| change.names.join(", "), str::to_owned)
}
