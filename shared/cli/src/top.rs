//! `top`: how a subscription is doing and what fires next, drawn again and again.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;
use clap::Args;
use minutehand_client::{AheadQuery, Answer, CollectionPath, Listed, OverviewAnswer, UpcomingItem};
use minutehand_recurrence::format_instant;

use crate::at_server::ServerCommand;
use crate::failure::Result;
use crate::output::table::Table;
use crate::output::{count, plural};
use crate::repeat::Repeat;
use crate::work::{Work, in_collection};

/// How often it is drawn.
const EVERY: Duration = Duration::from_secs(5);
/// How many occurrences it shows.
const SHOWN: usize = 12;
/// How long ago an occurrence may have failed, and how many such occurrences are read at most.
const FAILED_SINCE: TimeDelta = TimeDelta::hours(24);
const FAILURES_MAX: usize = 500;

/// The arguments of `top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Only the occurrences of this collection [default: those of the subscription]
    collection: Option<String>,
    /// Print it once and exit
    #[arg(long, conflicts_with = "watch")]
    once: bool,
    #[command(flatten)]
    repeat: Repeat,
}

impl ServerCommand for TopArgs {
    async fn run(self, work: Work) -> Result<()> {
        let collection = self.collection.as_deref();
        let collection = collection.map(|name| work.defaults().collection(Some(name)));
        let collection = collection.transpose()?;
        // A pipe gets it once, unless it is told otherwise.
        let goes_on = !self.once && (work.screen.is_terminal() || self.repeat.is_wanted());
        let look = async |work: &Work| {
            let seen = Seen::read(work, collection.clone()).await?;
            match &work.json {
                Some(json) => json.document(&work.screen, &seen.document()),
                None => seen.draw(work),
            }
        };
        if goes_on { self.repeat.or_every(EVERY).run(work, look).await } else { look(&work).await }
    }
}

/// What one look at a subscription shows.
struct Seen {
    overview: Answer<OverviewAnswer>,
    /// Jobs with occurrences that failed for good of late, and whether there may be more.
    failing: (usize, bool),
    coming: Vec<Listed<UpcomingItem>>,
}

impl Seen {
    async fn read(work: &Work, collection: Option<CollectionPath>) -> Result<Self> {
        let subscription = &work.defaults().place.subscription;
        let client = work.client();
        let overview = client.overview(subscription).await?;
        let since = format_instant(work.now() - FAILED_SINCE);
        let failures = client.failures(subscription, (None, None), &since, FAILURES_MAX).await?;
        let jobs: BTreeSet<&str> = failures.iter().map(|it| it.value.uid.as_str()).collect();
        let failing = (jobs.len(), failures.len() >= FAILURES_MAX);
        let path = collection.clone();
        let query = AheadQuery { collection, limit: Some(SHOWN), ..AheadQuery::default() };
        let coming = client.upcoming(subscription, &query).await;
        let coming = match &path {
            Some(path) => coming.map_err(in_collection(work, path))?,
            None => coming?,
        };
        Ok(Self { overview, failing, coming })
    }

    /// What the server answered, as one document.
    fn document(&self) -> String {
        let coming: Vec<&str> = self.coming.iter().map(|item| item.text.as_str()).collect();
        format!(r#"{{"overview":{},"upcoming":[{}]}}"#, self.overview.text, coming.join(","))
    }

    fn draw(&self, work: &Work) -> Result<()> {
        for line in self.head(work) {
            work.screen.line(&line)?;
        }
        work.screen.line("")?;
        let times = work.times(None);
        let mut table = Table::new(&["next", "in", "job", "fires"]);
        for Listed { value, .. } in &self.coming {
            let path = work.defaults().in_group(&value.resource_group, &value.collection);
            let away = times.away(&value.at);
            table.row(vec![
                times.written(&value.at),
                away.strip_prefix("in ").unwrap_or(&away).to_owned(),
                work.defaults().short_job(&path.job(&value.job)),
                value.sentence.split(';').next().unwrap_or_default().to_owned(),
            ]);
        }
        if table.is_empty() {
            return work.screen.line("nothing fires in the next 24 hours");
        }
        work.screen.table(&table)
    }

    fn head(&self, work: &Work) -> Vec<String> {
        let overview = &self.overview.value;
        let (jobs, collections) = (overview.jobs.all, overview.collections.all);
        let mut lines =
            vec![format!("{} in {}", count(jobs, "job"), count(collections, "collection"))];
        let times = work.times(None);
        if overview.headline.kind == "notSweeping" {
            let since = match &overview.sweep.at {
                Some(at) => format!("no sweeper since {}", times.written(at)),
                None => "no sweeper has ever run".to_owned(),
            };
            lines.push(work.screen.bad(&format!("nothing fires: {since}")));
        }
        if let (late @ 1.., Some(oldest)) = (overview.late.count, &overview.late.oldest) {
            let says = format!("late: {}, since {}", count(late, "job"), times.written(oldest));
            lines.push(work.screen.bad(&says));
        }
        if let Some(hanging @ [_, ..]) = overview.hanging.as_deref() {
            lines.push(work.screen.bad(&format!("hangs: {}", hanging.join(", "))));
        }
        if overview.collections.off > 0 {
            let says = format!("off: {}", count(overview.collections.off, "collection"));
            lines.push(work.screen.warn(&says));
        }
        if let (failing @ 1.., is_least) = self.failing {
            let least = if is_least { "at least " } else { "" };
            let jobs = plural(failing, "job");
            let says = format!("failed for good in the last 24 hours: {least}{jobs}");
            lines.push(work.screen.bad(&says));
        }
        if let Some(letters @ 1..) = overview.dead_letters {
            let says = format!("{}: minutehand dead list", count(letters, "dead letter"));
            lines.push(work.screen.warn(&says));
        }
        lines
    }
}
