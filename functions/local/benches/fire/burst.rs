//! Many jobs that are due at one instant.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, DurationRound as _, TimeDelta, Utc};
use tokio::task::JoinSet;

use crate::client::{Client, collection, job};
use crate::figures::{Figures, part};
use crate::server::Server;
use crate::target::{Came, Target};

/// Jobs that are created at once.
const IN_FLIGHT: usize = 64;
/// Collections that they are spread over.
const COLLECTIONS: usize = 10;
/// How slow the API may be for the jobs to be there in time: this machine has other work.
const CREATED_PER_SECOND: usize = 400;
/// How long it is quiet at least.
const QUIET: TimeDelta = TimeDelta::seconds(6);
/// How long to wait for what does not come.
const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) async fn measure(
    figures: &mut Figures,
    server: &Server,
    target: &Target,
    sync: &str,
    n: usize,
) {
    let run = new_run();
    let takes = i64::try_from(n.div_ceil(CREATED_PER_SECOND)).expect("seconds");
    let due = instant_in(TimeDelta::seconds(takes) + QUIET);
    create(server.address, &uris(target, run, n), &vec![due; n], &format!("burst-{run}")).await;
    let left = due - minutehand_runtime::system_now();
    eprintln!("due in {:.1?}", left.to_std().unwrap_or_default());
    if left < TimeDelta::seconds(3) {
        figures.add(&format!("{sync}: {n} at one instant"), "created too slowly", "2 s", "0.5 s");
        return;
    }
    let before = server.cpu();
    let wait = left.to_std().unwrap_or_default();
    let came = target.came(run, &vec![due; n], wait + PATIENCE).await;
    let used = server.cpu() - before;
    let what = format!("{sync}: {n} at one instant");
    figures.add(&what, describe(&came, n), "last 2 s", "last 0.5 s");
    figures.add(&format!("{what}: CPU"), format!("{:.0} ms", used.as_secs_f64() * 1e3), "", "");
}

/// First, median and last, and what is wrong with them.
pub(crate) fn describe(came: &Came, n: usize) -> String {
    let Came { late, again } = came;
    let mut text = format!(
        "first {:.1}, median {:.0}, last {:.0} ms",
        part(late, 0),
        part(late, 500),
        part(late, 1_000),
    );
    let early = late.iter().filter(|late| **late < 0.0).count();
    for (count, what) in [(early, "early"), (*again, "again"), (n - late.len(), "missing")] {
        if count > 0 {
            text.push_str(&format!("; {count} {what}"));
        }
    }
    text
}

/// A number that no run had before.
pub(crate) fn new_run() -> u32 {
    static RUNS: AtomicUsize = AtomicUsize::new(1);
    u32::try_from(RUNS.fetch_add(1, Ordering::Relaxed)).expect("a small number")
}

/// A whole second, some time from now.
pub(crate) fn instant_in(time: TimeDelta) -> DateTime<Utc> {
    let at = minutehand_runtime::system_now() + time + TimeDelta::seconds(1);
    at.duration_trunc(TimeDelta::seconds(1)).expect("a date of today")
}

pub(crate) fn uris(target: &Target, run: u32, n: usize) -> Vec<String> {
    (0..n).map(|number| target.uri(run, number)).collect()
}

/// Creates a job for each URI, due then.
pub(crate) async fn create(
    address: SocketAddr,
    uris: &[String],
    due: &[DateTime<Utc>],
    name: &str,
) {
    let jobs = uris
        .iter()
        .zip(due)
        .map(|(uri, due)| job(uri, &minutehand_recurrence::format_instant(*due)));
    create_all(address, jobs.collect(), name, COLLECTIONS).await;
}

/// Creates these jobs, spread over so many collections.
pub(crate) async fn create_all(
    address: SocketAddr,
    jobs: Arc<[String]>,
    name: &str,
    collections: usize,
) {
    let (start, n_jobs) = (Instant::now(), jobs.len());
    let mut client = Client::connect(address).await;
    for n in 0..collections {
        client.must("PUT", &collection(&format!("{name}-{n}")), "{}").await;
    }
    let next = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..IN_FLIGHT {
        let (jobs, next, name) = (jobs.clone(), next.clone(), name.to_owned());
        clients.spawn(async move {
            let mut client = Client::connect(address).await;
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let Some(body) = jobs.get(n) else { return };
                let path = collection(&format!("{name}-{}", n % collections));
                client.must("PUT", &format!("{path}/jobs/j{n}"), body).await;
            }
        });
    }
    clients.join_all().await;
    eprintln!("{n_jobs} jobs created in {:.1?}", start.elapsed());
}
