//! `journal`: who changed what in a collection.

use clap::Args;
use minutehand_client::{JournalChange, Listed};

use crate::environment::Environment;
use crate::failure::Result;
use crate::input;
use crate::options::Options;
use crate::output::table::{Table, harmless};
use crate::work::{Work, in_collection};

/// The arguments of `journal`.
#[derive(Debug, Args)]
pub struct JournalArgs {
    /// Collection, or COLLECTION/JOB for the changes of one job [default: the context's, else 'default']
    name: Option<String>,
    /// Show at most this many changes
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = input::positive::<usize>,
          allow_negative_numbers = true)]
    limit: usize,
    #[command(flatten)]
    options: Options,
}

impl JournalArgs {
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) async fn run(self, environment: Environment) -> Result<()> {
        let work = Work::open(&self.options, environment).await?;
        let (path, job) = match &self.name {
            Some(name) => work.defaults().collection_or_job(name)?,
            None => (work.defaults().collection(None)?, None),
        };
        let changes = work.client().journal(&path, job.as_deref(), self.limit).await;
        let changes = changes.map_err(in_collection(&work, &path))?;
        if let Some(json) = &work.json {
            return json.list(&work.screen, changes.iter().map(|change| change.text.as_str()));
        }
        if changes.is_empty() {
            work.screen.hint("no changes in the last 400 days");
            return Ok(());
        }
        let times = work.times(None);
        let mut table = Table::new(&["at", "who", "what", "name", "changed"]);
        for Listed { value, .. } in &changes {
            let JournalChange { at, who, operation, job, names } = value;
            table.row(vec![
                times.written(at),
                harmless(who),
                words(operation).to_owned(),
                job.clone().unwrap_or_else(|| "(collection)".to_owned()),
                harmless(&names.join(", ")),
            ]);
        }
        work.screen.table(&table)
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
