//! A server with many stored jobs, created through its API and started again: how soon it listens, what memory
//! it takes, how late the first jobs are, and how long a page of each kind takes.

use std::time::{Duration, Instant};

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};

use crate::burst::{create, create_all, describe, new_run, uris};
use crate::client::{Client, collection, daily};
use crate::figures::{Figures, part};
use crate::server::Server;
use crate::target::Target;

/// The part of the bench that runs only if it is named.
pub(crate) const STORED: &str = "stored";

/// Collections that the jobs are spread over.
const COLLECTIONS: usize = 20;
/// Jobs that are due soon after the start.
const SOON: usize = 20;
/// From the start to their instant.
const SOON_AFTER: TimeDelta = TimeDelta::seconds(5);
/// How long a server may take to create these and to end.
const ENDS_WITHIN: TimeDelta = TimeDelta::seconds(20);
/// How long to wait for a job that does not come.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often each page is asked for.
const ASKED: usize = 21;

pub(crate) async fn measure(figures: &mut Figures, target: &Target, many: usize) {
    let mut server = Server::start("normal");
    // Daily, over the whole of a day, and none of them today.
    let first = minutehand_runtime::system_now().trunc_subsecs(0) + TimeDelta::days(1);
    let start = |n: usize| first + TimeDelta::milliseconds(i64::try_from(n * 86).expect("a time"));
    let jobs = (0..many)
        .map(|n| daily("http://127.0.0.1:9/", &minutehand_recurrence::format_instant(start(n))));
    let started = Instant::now();
    create_all(server.address, jobs.collect(), STORED, COLLECTIONS).await;
    let took = started.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a few million")]
    let rate = many as f64 / took;
    figures.add(&format!("{many} daily jobs created"), format!("{rate:.0} a second"), "", "");

    let run = new_run();
    let soon = (minutehand_runtime::system_now() + ENDS_WITHIN + SOON_AFTER).trunc_subsecs(0);
    create(server.address, &uris(target, run, SOON), &[soon; SOON], "soon").await;
    let listens = server.restart(soon - SOON_AFTER);
    figures.add("stored: start until it listens", millis(listens), "1 s", "0.3 s");
    let came = target.came(run, &[soon; SOON], PATIENCE).await;
    let what = format!("stored: {SOON} jobs {} s after the start", SOON_AFTER.num_seconds());
    figures.add(&what, describe(&came, SOON), "50 ms", "");
    figures.add("stored: memory after a start", server.memory(), "50 MiB", "45 MiB");
    let bytes = server.file_bytes("minutehand.db") + server.file_bytes("minutehand.db-wal");
    let each = bytes / u64::try_from(many).unwrap_or(u64::MAX).max(1);
    figures.add("stored: a daily job", format!("{each} bytes"), "1.5 KB", "1.2 KB");
    pages(figures, &server, first).await;
    figures.add("stored: memory after the pages", server.memory(), "", "");
    server.stop();
}

async fn pages(figures: &mut Figures, server: &Server, first: DateTime<Utc>) {
    let ours = "/minutehand/v1/subscriptions/bench";
    let list = format!("{}/jobs", collection(&format!("{STORED}-0")));
    let text = |at| minutehand_recurrence::format_instant(at);
    let (from, to) = (text(first), text(first + TimeDelta::days(7)));
    let pages = [
        ("a page of the list", list, ""),
        ("overview", format!("{ours}/overview"), ""),
        ("upcoming", format!("{ours}/upcoming"), ""),
        ("a week of the calendar", format!("{ours}/load"), &*format!("&from={from}&to={to}")),
    ];
    let mut client = Client::connect(server.address).await;
    for (name, path, query) in pages {
        let mut took = Vec::new();
        for _ in 0..ASKED {
            let start = Instant::now();
            client.must_with("GET", &path, query, "").await;
            took.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let once = took.first().copied().unwrap_or(f64::NAN);
        took.sort_by(f64::total_cmp);
        let figure = format!("{once:.1} ms at first, median {:.1} ms", part(&took, 500));
        figures.add(&format!("stored: {name}"), figure, "", "");
    }
}

fn millis(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}
