//! How late jobs are that come one after another.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::burst::{create, instant_in, new_run, uris};
use crate::figures::{Figures, part};
use crate::server::Server;
use crate::target::Target;

/// Jobs a second.
const PER_SECOND: u64 = 20;
/// Between two of them.
const APART: TimeDelta = TimeDelta::milliseconds(50);
/// How slow the API may be for the jobs to be there in time.
const CREATED_PER_SECOND: u64 = 400;

pub(crate) async fn measure(figures: &mut Figures, server: &Server, target: &Target, seconds: u64) {
    let run = new_run();
    let n = seconds * PER_SECOND;
    let takes = i64::try_from(n.div_ceil(CREATED_PER_SECOND)).expect("seconds");
    let first = instant_in(TimeDelta::seconds(takes + 6));
    let dues = std::iter::successors(Some(first), |due| Some(*due + APART));
    let n = usize::try_from(n).expect("a count of jobs");
    let due: Vec<DateTime<Utc>> = dues.take(n).collect();
    create(server.address, &uris(target, run, n), &due, "lag").await;
    let left = (first - minutehand_runtime::system_now()).to_std().unwrap_or_default();
    let patience = left + Duration::from_secs(seconds + 30);
    let came = target.came(run, &due, patience).await;
    let late = &came.late;
    let early = late.iter().filter(|late| **late < 0.0).count();
    let figure = format!(
        "p50 {:.1}, p99 {:.1}, max {:.1} ms; {early} early, {} again, {} missing",
        part(late, 500),
        part(late, 990),
        part(late, 1_000),
        came.again,
        n - late.len(),
    );
    let what = format!("lag, {PER_SECOND} jobs a second for {seconds} s");
    figures.add(&what, figure, "p99 50 ms", "p99 10 ms");
}
