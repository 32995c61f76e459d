//! Minutely jobs for a long time: memory, files and lateness, minute by minute.

use std::collections::HashSet;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::burst::{create_all, instant_in, new_run, uris};
use crate::client::minutely;
use crate::figures::{Figures, part};
use crate::server::Server;
use crate::target::Target;

/// The part of the bench that runs only if it is named.
pub(crate) const SOAK: &str = "soak";

/// Minutely jobs: fifty firings a second.
const JOBS: usize = 3_000;
/// Between the instants of two jobs.
const APART: TimeDelta = TimeDelta::milliseconds(20);
/// Collections that they are spread over.
const COLLECTIONS: usize = 10;
/// How long the API may take to create them.
const CREATED_WITHIN: TimeDelta = TimeDelta::seconds(20);
/// What a minute may be late and still count to it.
const LATE_MAX: TimeDelta = TimeDelta::seconds(5);
/// Minutes before the growth of the store counts: by then it has what each job needs once.
const WARM_UP: u64 = 5;

pub(crate) async fn measure(figures: &mut Figures, server: &Server, target: &Target, minutes: u64) {
    let run = new_run();
    let first = instant_in(CREATED_WITHIN);
    let due = |job: usize| first + APART * i32::try_from(job).expect("a few thousand jobs");
    let jobs = uris(target, run, JOBS).into_iter().enumerate();
    let jobs = jobs.map(|(n, uri)| minutely(&uri, &minutehand_recurrence::format_instant(due(n))));
    create_all(server.address, jobs.collect(), SOAK, COLLECTIONS).await;
    assert!(minutehand_runtime::system_now() < first, "the jobs were created too slowly");

    println!("memory in MiB, the database and its log in KiB, lateness in ms");
    println!("minute      memory    store      log  calls     p99     max");
    let (mut seen, mut again, mut warm) = (HashSet::new(), 0, None);
    for minute in 1..=minutes {
        let end = first + TimeDelta::minutes(i64::try_from(minute).expect("minutes")) + LATE_MAX;
        let left = (end - minutehand_runtime::system_now()).to_std().unwrap_or(Duration::ZERO);
        tokio::time::sleep(left).await;
        let mut late = Vec::new();
        for (job, at) in target.take(run) {
            let (occurrence, after) = occurrence_of(at, due(job));
            again += usize::from(!seen.insert((job, occurrence)));
            late.push(after);
        }
        late.sort_by(f64::total_cmp);
        let kib = |name| server.file_bytes(name) / 1_024;
        let (store, log) = (kib("minutehand.db"), kib("minutehand.db-wal"));
        println!(
            "{minute:>6}  {:>10.1} {store:>8} {log:>8}  {:>5}  {:>6.1}  {:>6.1}",
            f64::from(u32::try_from(server.memory_kib()).expect("a size")) / 1_024.0,
            late.len(),
            part(&late, 990),
            part(&late, 1_000),
        );
        if minute == WARM_UP {
            warm = Some((store, seen.len()));
        }
        if let Some((then, calls)) = warm.filter(|_| minute == minutes) {
            let bytes =
                (store - then) * 1_024 / u64::try_from(seen.len() - calls).unwrap_or(1).max(1);
            figures.add("soak: the store grows a firing by", format!("{bytes} bytes"), "1 KB", "");
        }
    }
    // The calls of the seconds after the last minute belong to the next.
    let last = i64::try_from(minutes).expect("minutes");
    let came = seen.iter().filter(|(_, occurrence)| (0..last).contains(occurrence)).count();
    let missing = JOBS * usize::try_from(minutes).expect("minutes") - came;
    let what = format!("soak: {JOBS} minutely jobs for {minutes} minutes");
    figures.add(&what, format!("{missing} missing, {again} again"), "0, 0", "");
    figures.add("soak: memory", server.memory(), "flat", "");
}

/// The number of the occurrence of a minutely job that a call is for, and how late the call is in
/// milliseconds.
fn occurrence_of(at: DateTime<Utc>, first: DateTime<Utc>) -> (i64, f64) {
    // A call that is a little early is of the occurrence that it comes before.
    let micros = (at - first).num_microseconds().unwrap_or(i64::MAX);
    let minute = 60_000_000;
    let occurrence = (micros + minute / 2).div_euclid(minute);
    #[expect(clippy::cast_precision_loss, reason = "at most half a minute")]
    let late = (micros - occurrence * minute) as f64 / 1_000.0;
    (occurrence, late)
}
