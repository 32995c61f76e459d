//! `GET S/wall`: what became of the occurrences of each collection, what is due next, and what runs, for a screen
//! that many people look at.

use minutehand_app::{RunningJob, WallRow, WantedWall};
use minutehand_domain::quarter::{QuarterCounts, StartWithin};
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

use super::parameters::Parameters;
use super::tagged;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;

/// How many hours back and ahead an answer looks if the request names no number, and the most: counts are kept for
/// eight days.
const BACK: usize = 18;
const BACK_MAX: usize = 168;
const AHEAD: usize = 6;
const AHEAD_MAX: usize = 24;
/// The most collections in one answer, and how many there are if the request names no number.
const COLLECTIONS_MAX: usize = 200;
const COLLECTIONS: usize = 100;
/// The quarters of an hour.
const QUARTERS: usize = 4;

/// Tells what a wall shows.
pub(crate) async fn wall(call: Call) -> Result<Answer, Failure> {
    let parameters = Parameters::of(&call, &["back", "ahead", "collections"])?;
    let back = parameters.number("back", 1..=BACK_MAX, BACK)?;
    let ahead = parameters.number("ahead", 0..=AHEAD_MAX, AHEAD)?;
    let quarters = |hours: usize| u32::try_from(hours * QUARTERS).unwrap_or(u32::MAX);
    let wanted = WantedWall {
        subscription: call.path.subscription()?,
        back: quarters(back),
        ahead: quarters(ahead),
        collections_max: parameters.number("collections", 0..=COLLECTIONS_MAX, COLLECTIONS)?,
    };
    let found = call.manage.wall(&wanted).await?;
    let rows = found.rows.iter().map(|row| collection(row, found.is_counted));
    let running = found.running.as_ref().map(|all| all.iter().map(one_running));
    let document = json!({
        "step": "PT15M",
        "from": format_instant(found.first.start()),
        "isCounted": found.is_counted,
        "isPastWhole": found.is_past_whole,
        "isAheadWhole": found.is_ahead_whole,
        "collections": {"all": found.all, "items": rows.collect::<Vec<_>>()},
        "starts": found.starts.map(starts),
        "running": running.map(Iterator::collect::<Vec<_>>),
        "lookedAt": found.looked_at,
    });
    Ok(tagged(&document, &call.head.headers))
}

fn collection(row: &WallRow, is_counted: bool) -> Value {
    let counts = |of: fn(&QuarterCounts) -> u64| numbers(row.past.iter().map(of).collect());
    let counted = |of: fn(&QuarterCounts) -> u64| is_counted.then(|| counts(of));
    json!({
        "resourceGroup": row.place.group.as_str(),
        "collection": row.name.as_str(),
        "state": row.state.name(),
        "jobs": row.jobs,
        "ok": counts(|it| it.ok),
        "retried": counted(|it| it.retried),
        "late": counted(|it| it.late),
        "failed": counts(|it| it.failed),
        "skipped": counts(|it| it.skipped),
        "due": numbers(row.due.clone()),
        "starts": row.starts.map(starts),
    })
}

/// Numbers of quarters; none if all are 0, as most are.
fn numbers(all: Vec<u64>) -> Vec<u64> {
    if all.iter().all(|n| *n == 0) { Vec::new() } else { all }
}

/// How late 99 of 100 attempts have started at most, or that one of them was later.
fn starts(within: StartWithin) -> Value {
    match within {
        StartWithin::AtMost(after) => json!({"withinMs": after.num_milliseconds()}),
        StartWithin::MoreThan(after) => json!({"overMs": after.num_milliseconds()}),
    }
}

fn one_running(found: &RunningJob) -> Value {
    let (place, collection) = &found.collection;
    json!({
        "resourceGroup": place.group.as_str(),
        "collection": collection.as_str(),
        "job": found.key,
        "since": format_instant(found.since),
        "tookMs": found.took_ms,
    })
}
