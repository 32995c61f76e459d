//! `job history`: the attempts of a job.

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use client::{HistoryFilter, HistoryItem, HistoryProperties, JobPath, Listed};

use crate::failure::Result;
use crate::output::table::{Table, harmless};
use crate::output::times::{Times, read, span_text};
use crate::work::{Work, zone_of};
use crate::{input, instant};

/// How many attempts are shown if nothing else is asked for.
const LIMIT_DEFAULT: usize = 20;
/// How many attempts are read for --since, at most.
const READ_MAX: usize = 100_000;

/// The arguments of `job history`.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Name of the job, or COLLECTION/JOB
    name: String,
    /// Only attempts that failed
    #[arg(long)]
    failed: bool,
    /// Only attempts since then: -7d, yesterday 00:00
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    since: Option<String>,
    /// Show at most this many attempts [default: 20; all with --since]
    #[arg(long, value_name = "N", value_parser = input::positive::<usize>,
          allow_negative_numbers = true)]
    limit: Option<usize>,
}

pub(super) async fn history(work: &Work, args: &HistoryArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let zone = zone_of(&work.client().job(&path).await?.value.properties);
    let since = match &args.since {
        Some(since) => Some(instant::parse(since, zone, work.now())?),
        None => None,
    };
    let limit = args.limit.unwrap_or(if since.is_some() { READ_MAX } else { LIMIT_DEFAULT });
    let items = items(work, &path, args.failed, since, limit).await?;
    if let Some(json) = &work.json {
        return json.list(&work.screen, items.iter().map(|item| item.text.as_str()));
    }
    if items.is_empty() {
        work.screen.hint("no attempts; `minutehand job next` shows when it fires");
        return Ok(());
    }
    let times = work.times(zone);
    let mut table = Table::new(&["due", "started", "took", "attempt", "result", "message"]);
    for item in &items {
        table.row(row(work, &item.value.properties, &times));
    }
    work.screen.table(&table)
}

async fn items(
    work: &Work,
    path: &JobPath,
    failed: bool,
    since: Option<DateTime<Utc>>,
    limit: usize,
) -> Result<Vec<Listed<HistoryItem>>> {
    let which = if failed { HistoryFilter::Failed } else { HistoryFilter::All };
    let mut listing = work.client().history(path, which);
    let mut items = Vec::new();
    while let Some(page) = listing.next_page().await? {
        for item in page {
            let due = read(&item.value.properties.expected_execution_time);
            // The newest occurrence comes first, so all that follow are older.
            let is_older = due.zip(since).is_some_and(|(due, since)| due < since);
            if is_older || items.len() >= limit {
                return Ok(items);
            }
            items.push(item);
        }
    }
    Ok(items)
}

fn row(work: &Work, attempt: &HistoryProperties, times: &Times) -> Vec<String> {
    let due = read(&attempt.expected_execution_time);
    let (start, end) = (read(&attempt.start_time), read(&attempt.end_time));
    let delay = start.zip(due).map(|(start, due)| start - due);
    let what = match (attempt.action_name.as_str(), attempt.retry_count) {
        ("MainAction", 0) => format!("#{}", attempt.repeat_count),
        ("MainAction", n) => format!("#{} retry {n}", attempt.repeat_count),
        (_, _) => format!("#{} error action", attempt.repeat_count),
    };
    let result = if attempt.failed() { work.screen.bad("failed") } else { work.screen.good("ok") };
    vec![
        times.written(&attempt.expected_execution_time),
        delay.map_or_else(String::new, |delay| {
            format!("+{}", span_text(delay.max(TimeDelta::zero())))
        }),
        start.zip(end).map_or_else(String::new, |(start, end)| span_text(end - start)),
        what,
        result,
        harmless(&attempt.message),
    ]
}
