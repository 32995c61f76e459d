//! `failures`: the occurrences that failed for good.

use clap::Args;
use minutehand_client::{CollectionPath, FailureItem, Listed};
use minutehand_recurrence::format_instant;

use crate::at_server::ServerCommand;
use crate::failure::Result;
use crate::output::table::{Table, harmless};
use crate::reference;
use crate::work::{Work, in_collection};
use crate::{input, instant};

/// The arguments of `failures`.
#[derive(Debug, Args)]
pub struct FailuresArgs {
    /// Collection, or COLLECTION/JOB for one job [default: every job of the subscription]
    name: Option<String>,
    /// Only occurrences that ended since then: -1d, yesterday 00:00
    #[arg(long, value_name = "INSTANT", default_value = "-7d", allow_hyphen_values = true)]
    since: String,
    /// Show at most this many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50,
          value_parser = input::positive::<usize>, allow_negative_numbers = true)]
    limit: usize,
}

impl ServerCommand for FailuresArgs {
    async fn run(self, work: Work) -> Result<()> {
        let named = self.name.as_deref().map(|name| work.defaults().collection_or_job(name));
        let (collection, job) = named.transpose()?.unzip();
        let job = job.flatten();
        let since = format_instant(instant::parse(&self.since, None, work.now())?);
        let subscription = match &collection {
            Some(path) => path.place.subscription.clone(),
            None => work.defaults().place.subscription.clone(),
        };
        let of = (collection.as_ref(), job.as_deref());
        let found = work.client().failures(&subscription, of, &since, self.limit).await;
        let failures = found?;
        if let Some(json) = &work.json {
            return json.list(&work.screen, failures.iter().map(|item| item.text.as_str()));
        }
        if failures.is_empty() {
            if let Some(path) = &collection {
                exists(&work, path, job.as_deref()).await?;
            }
            let since = work.times(None).written(&since);
            work.screen.hint(&format!("no occurrence has failed for good since {since}"));
            return Ok(());
        }
        work.screen.table(&table(&work, &subscription, &failures))?;
        work.screen.hint(
            "`minutehand job redrive JOB DUE` runs one again, `job history JOB --failed` has all \
             that its target said",
        );
        Ok(())
    }
}

/// Fails if a collection or job does not exist: the server answers an empty list for it.
pub(crate) async fn exists(work: &Work, path: &CollectionPath, job: Option<&str>) -> Result<()> {
    match job {
        Some(job) => work.client().job(&path.job(job)).await.map(drop)?,
        None => {
            work.client().collection(path).await.map(drop).map_err(in_collection(work, path))?;
        }
    }
    Ok(())
}

fn table(work: &Work, subscription: &str, failures: &[Listed<FailureItem>]) -> Table {
    let times = work.times(None);
    let mut table = Table::new(&["due", "job", "tries", "cause"]);
    for Listed { value, .. } in failures {
        let FailureItem { at, kind, resource_group, collection, job, attempts, .. } = value;
        let path = reference::path(subscription, resource_group, collection);
        let due = times.written(at);
        table.row(vec![
            if kind == "run" { format!("{due}, run") } else { due },
            work.defaults().short_job(&path.job(job)),
            attempts.to_string(),
            harmless(&value.reason()),
        ]);
    }
    table
}
