//! `job history`: the attempts of a job.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use console::truncate_str;
use minutehand_client::{HistoryItem, HistoryProperties, JobPath, Listed};
use minutehand_recurrence::zone::Zone;

use crate::failure::Result;
use crate::output::table::harmless;
use crate::output::times::{Times, read, span_text};
use crate::wait::pause;
use crate::work::{Work, zone_of};
use crate::{input, instant};

/// The most bytes of a body that a server keeps.
const BODY_BYTES_MAX: usize = 256 * 1024;
/// How many attempts are shown if nothing else is asked for.
const LIMIT_DEFAULT: usize = 20;
/// The most characters of a caller in the list.
const CALLER_MAX: usize = 16;
/// How many attempts are read for --since, at most.
const READ_MAX: usize = 100_000;
/// The most attempts that are read at a time while it goes on.
const ATTEMPTS_MAX: usize = 100;

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
    /// Continue in the server's archive, where its own history ends
    #[arg(long, conflicts_with = "follow")]
    archive: bool,
    /// Print the body with which the target answered a failed attempt, by the id in the list
    #[arg(long, value_name = "ID", conflicts_with_all = ["failed", "since", "archive", "limit",
          "follow"])]
    body: Option<String>,
    /// Show at most this many attempts [default: 20; all with --since]
    #[arg(long, short = 'n', value_name = "N", value_parser = input::positive::<usize>,
          allow_negative_numbers = true)]
    limit: Option<usize>,
    /// Continue with attempts as they end, oldest first, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    /// With --follow, end after this many attempts
    #[arg(long, value_name = "N", requires = "follow", value_parser = input::positive::<usize>,
          allow_negative_numbers = true)]
    count: Option<usize>,
}

pub(super) async fn history(work: &Work, args: &HistoryArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    if let Some(id) = &args.body {
        return print_body(work, &path, id).await;
    }
    let zone = zone_of(&work.client().job(&path).await?.value.properties);
    let since = args.since.as_deref().map(|since| instant::parse(since, zone, work.now()));
    let since = since.transpose()?;
    let limit = args.limit.unwrap_or(if since.is_some() { READ_MAX } else { LIMIT_DEFAULT });
    if args.follow {
        // What is there is read first: an attempt that ends now is printed, and once.
        let known = items(work, &path, args, None, ATTEMPTS_MAX).await?;
        let found = items(work, &path, args, since, limit).await?;
        return follow(work, (&path, zone), args, known, found).await;
    }
    let items = items(work, &path, args, since, limit).await?;
    let times = work.times(zone);
    let has_body = |item: &HistoryItem| item.properties.minutehand.body_bytes > 0;
    let with_bodies = items.iter().any(|item| has_body(&item.value));
    let mut titles = vec!["due", "started", "took", "attempt", "result", "cause"];
    if with_bodies {
        titles.insert(5, "body");
    }
    let with_callers = items.iter().any(|item| item.value.properties.minutehand.asked_by.is_some());
    if with_callers {
        titles.insert(4, "asked by");
    }
    let nothing = "no attempts; `minutehand job next` shows when it fires";
    work.list(&items, nothing, &titles, |item| {
        let mut row = row(work, &item.properties, &times);
        if with_bodies {
            let id = if has_body(item) { item.own_name() } else { "" };
            row.insert(5, id.to_owned());
        }
        if with_callers {
            row.insert(4, caller(&item.properties));
        }
        row
    })
}

/// Prints the body of a failure.
async fn print_body(work: &Work, path: &JobPath, id: &str) -> Result<()> {
    // The whole id is a path, of which the last part is enough.
    let id = id.rsplit('/').next().unwrap_or_default();
    let body = work.client().failure_body(path, id).await?;
    if body.len() >= BODY_BYTES_MAX {
        work.screen.note("cut: the target answered more than the server keeps");
    }
    work.screen.foreign(&body)
}

/// Prints what was found, and then each attempt that ends, until so many were printed.
async fn follow(
    work: &Work,
    (path, zone): (&JobPath, Option<Zone>),
    args: &HistoryArgs,
    known: Vec<Listed<HistoryItem>>,
    found: Vec<Listed<HistoryItem>>,
) -> Result<()> {
    let times = work.times(zone);
    let mut known: BTreeSet<String> = known.into_iter().map(|item| item.value.name).collect();
    let mut left = args.count.unwrap_or(usize::MAX);
    let mut fresh = found;
    loop {
        // The newest came first.
        for item in fresh.iter().rev() {
            print(work, item, &times)?;
            left -= 1;
            if left == 0 {
                return Ok(());
            }
        }
        pause(work.every()).await;
        let latest = items(work, path, args, None, ATTEMPTS_MAX).await?;
        // Only the latest are remembered: an older one does not come back.
        let names: BTreeSet<String> = latest.iter().map(|item| item.value.name.clone()).collect();
        known.extend(fresh.into_iter().map(|item| item.value.name));
        fresh = latest.into_iter().filter(|item| !known.contains(&item.value.name)).collect();
        known.retain(|name| names.contains(name));
    }
}

fn print(work: &Work, item: &Listed<HistoryItem>, times: &Times) -> Result<()> {
    if work.json.is_some() {
        return work.screen.line(&item.text);
    }
    let cells = row(work, &item.value.properties, times);
    work.screen.row(&cells)
}

async fn items(
    work: &Work,
    path: &JobPath,
    args: &HistoryArgs,
    since: Option<DateTime<Utc>>,
    limit: usize,
) -> Result<Vec<Listed<HistoryItem>>> {
    let listing = work.client().history(path, args.failed.then_some("failed"));
    let mut listing = if args.archive { listing.and_archive() } else { listing };
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

/// The caller who asked for the run of an attempt, if that is known.
fn caller(attempt: &HistoryProperties) -> String {
    let caller = harmless(attempt.minutehand.asked_by.as_deref().unwrap_or_default());
    truncate_str(&caller, CALLER_MAX, "…").into_owned()
}

fn row(work: &Work, attempt: &HistoryProperties, times: &Times) -> Vec<String> {
    let due = read(&attempt.expected_execution_time);
    let (start, end) = (read(&attempt.start_time), read(&attempt.end_time));
    let delay = start.zip(due).map(|(start, due)| start - due);
    let run = attempt.minutehand.run().map_or_else(String::new, |run| format!(" {run}"));
    let of = format!("#{}{run}", attempt.repeat_count);
    let what = match (attempt.is_of_action(), attempt.retry_count) {
        (true, 0) => of,
        (true, n) => format!("{of} retry {n}"),
        _ if attempt.minutehand.action.is_some() => format!("{of} notice"),
        _ => format!("{of} error action"),
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
        harmless(&attempt.reason()),
    ]
}
