//! `job list`: the jobs of a collection in a table.

use std::cmp::Reverse;
use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use clap::{Args, ValueEnum};
use minutehand_client::ListedJob;
use minutehand_recurrence::zone::Zone;
use serde_json::{Map, Value};

use super::schedule::timetable;
use crate::failure::Result;
use crate::fleet::is_late;
use crate::input;
use crate::output::marks::marks;
use crate::output::plural;
use crate::output::table::Table;
use crate::output::times::span_text;
use crate::repeat::Repeat;
use crate::work::{Work, in_collection};

/// How many jobs are listed if nothing else is asked for.
const LIMIT_DEFAULT: usize = 500;
/// How many of the last results are shown in a row.
const MARKS_MAX: usize = 8;

/// Where the column is that says how long actions took.
const TOOK_COLUMN: usize = 2;

/// The arguments of `job list`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct ListArgs {
    /// Collection [default: the context's, else 'default']
    collection: Option<String>,
    /// Only jobs in this state
    #[arg(long, value_name = "STATE", value_parser = ["enabled", "disabled", "completed", "faulted"])]
    state: Option<String>,
    /// Only jobs with occurrences that failed for good
    #[arg(long)]
    failing: bool,
    /// Only jobs whose next occurrence was due over two minutes ago and has not begun
    #[arg(long)]
    late: bool,
    /// Slowest first, by how long the action took last; without jobs that have not run
    #[arg(long, conflicts_with = "by")]
    slow: bool,
    /// Order of the list
    #[arg(long, value_name = "ORDER", default_value = "name")]
    by: Order,
    /// List at most this many jobs [default: 500]
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "all",
          value_parser = input::positive::<usize>, allow_negative_numbers = true)]
    limit: Option<usize>,
    /// List all jobs
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    pub(super) repeat: Repeat,
}

/// The orders of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Order {
    /// By name
    Name,
    /// Soonest first
    Next,
}

pub(super) async fn list(work: &Work, args: &ListArgs) -> Result<()> {
    let path = work.defaults().collection(args.collection.as_deref())?;
    let state = args.state.as_deref();
    let limit = if args.all { usize::MAX } else { args.limit.unwrap_or(LIMIT_DEFAULT) };
    // An order or a filter of ours is over the whole list, so all of it is read.
    let whole = args.failing || args.late || args.slow || args.by == Order::Next;
    let read = if whole { usize::MAX } else { limit.saturating_add(1) };
    if let Some(json) = &work.json {
        let listing = work.client().jobs(&path, state);
        let mut jobs = listing.up_to(read).await.map_err(in_collection(work, &path))?;
        choose(args, work.now(), &mut jobs, |job| {
            let status = job.value.status();
            (status.faulted_count, status.next_execution_time)
        });
        if args.slow {
            // Only rows say how long the actions took.
            let rows = work.client().rows(&path, state, read).await;
            let rows = rows.map_err(in_collection(work, &path))?;
            let took: HashMap<_, _> = rows.into_iter().map(|row| (row.name, row.took_ms)).collect();
            slowest_first(&mut jobs, |job| took.get(job.value.short_name()).copied().flatten());
        }
        let more = jobs.len() > limit;
        jobs.truncate(limit);
        json.list(&work.screen, jobs.iter().map(|job| job.text.as_str()))?;
        say_cut(work, more, limit);
        return Ok(());
    }
    let rows = work.client().rows(&path, state, read).await;
    let mut rows = rows.map_err(in_collection(work, &path))?;
    choose(args, work.now(), &mut rows, |row| (row.faulted, row.next.clone()));
    if args.slow {
        slowest_first(&mut rows, |row| row.took_ms);
    }
    let more = rows.len() > limit;
    rows.truncate(limit);
    if rows.is_empty() {
        let collection = work.defaults().short_collection(&path);
        work.screen.hint(&format!("no jobs in {collection}; `minutehand job create` makes one"));
        return Ok(());
    }
    work.screen.table(&table(work, &rows, args.slow))?;
    say_cut(work, more, limit);
    Ok(())
}

/// Keeps the jobs that are asked for, in the order that is asked for. `of` tells how many occurrences of
/// a job failed for good, and when it fires next.
fn choose<T>(
    args: &ListArgs,
    now: DateTime<Utc>,
    jobs: &mut Vec<T>,
    of: impl Fn(&T) -> (u64, Option<String>),
) {
    if args.failing {
        jobs.retain(|job| of(job).0 > 0);
    }
    if args.late {
        jobs.retain(|job| is_late(of(job).1.as_deref(), now));
    }
    if args.by == Order::Next {
        // Jobs that do not fire come last.
        jobs.sort_by_cached_key(|job| {
            let (_, next) = of(job);
            (next.is_none(), next)
        });
    }
}

/// Keeps the jobs of which it is known how long their actions took, the slowest first.
fn slowest_first<T>(jobs: &mut Vec<T>, took: impl Fn(&T) -> Option<u32>) {
    jobs.retain(|job| took(job).is_some());
    jobs.sort_by_key(|job| Reverse(took(job)));
}

fn say_cut(work: &Work, more: bool, limit: usize) {
    if more {
        let jobs = plural(limit, "job");
        work.screen.note(&format!("only the first {jobs}; --all lists every one"));
    }
}

fn table(work: &Work, rows: &[ListedJob], with_time: bool) -> Table {
    let mut columns = vec!["job", "state", "last", "next", "in", "runs", "failed", "fires"];
    if with_time {
        columns.insert(TOOK_COLUMN, "took");
    }
    let mut table = Table::new(&columns);
    for row in rows {
        let zone = row.zone.as_deref().and_then(Zone::named);
        let times = work.times(zone);
        let next = row.next.as_deref();
        let away = next.map_or_else(String::new, |next| times.away(next));
        let recent = row.recent.as_deref().unwrap_or_default();
        // Where the job began does not matter any more.
        let sentence = row.sentence.as_deref().unwrap_or_default().split(';').next();
        let mut cells = vec![
            row.name.clone(),
            state(work, &row.state),
            marks(&work.screen, recent, MARKS_MAX),
            next.map_or_else(|| "-".to_owned(), |next| times.written(next)),
            away.strip_prefix("in ").unwrap_or(&away).to_owned(),
            row.executions.to_string(),
            failed(work, row.faulted),
            sentence.unwrap_or_default().to_owned(),
        ];
        if with_time {
            let took = row.took_ms.map(|took| span_text(TimeDelta::milliseconds(took.into())));
            cells.insert(TOOK_COLUMN, took.unwrap_or_default());
        }
        table.row(cells);
    }
    table
}

/// The state of a job in one word.
pub(super) fn state(work: &Work, state: &str) -> String {
    match state {
        "enabled" => work.screen.good("on"),
        "disabled" => work.screen.dim("off"),
        "faulted" => work.screen.bad("faulted"),
        other => other.to_owned(),
    }
}

fn failed(work: &Work, faulted: u64) -> String {
    let text = faulted.to_string();
    if faulted > 0 { work.screen.bad(&text) } else { text }
}

/// When a job fires, in words. The list does not say it, so it is worked out from the definition.
pub(crate) fn sentence_of(work: &Work, properties: &Map<String, Value>) -> String {
    let timetable = timetable(properties, work.now());
    let sentence = timetable.map(|timetable| timetable.sentence()).unwrap_or_default();
    // Where the job began does not matter any more.
    sentence.split(';').next().unwrap_or_default().to_owned()
}
