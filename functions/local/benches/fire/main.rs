//! What `minutehand serve` does in a second, and how late it is: one run, one table, each figure
//! beside its bar.
//!
//! The binary runs as it is installed, with its log, and is asked over HTTP; its jobs call a target
//! in this process. What has to be counted, and not timed, runs over the store in this process.
//! `make peers` runs other schedulers on the same burst.
//!
//! `BENCH_SECONDS` is how long the light load lasts (300), `BENCH_STORED` how many jobs the sweep
//! passes over, or `stored` creates (1,000,000), `BENCH_FAIR_SECONDS` how long each noisy neighbour goes on (180),
//! `BENCH_FAIR` a part of the name of those to measure, `BENCH_ONLY` names parts to run:
//! `lag,api,burst,price,sweep,fair,pings`, or `soak` for `BENCH_SOAK_MINUTES` (30), or `stored`, `BENCH_BINARY` another binary, to compare with.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::print_stderr, reason = "and says how far it is")]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unchecked_time_subtraction,
    clippy::unwrap_used,
    reason = "a bench that meets what it did not expect has to stop"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "a bench is told by the environment, and waits for time to go by"
)]
#![expect(clippy::format_collect, clippy::format_push_string, reason = "not what is measured")]

mod api;
mod burst;
mod client;
mod disk;
mod fair;
mod figures;
mod lag;
#[path = "../../tests/fire/nuisance.rs"]
mod nuisance;
mod pings;
mod price;
mod server;
mod soak;
mod stored;
mod sweep;
mod target;

use std::time::Duration;

use figures::Figures;
use server::Server;
use target::Target;

/// How long a server is left alone before it is looked at.
const REST: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() {
    let target = Target::start();
    let mut figures = Figures::default();
    let dir = disk::new_dir();
    let (median, p99) = disk::fsync_micros(dir.path());
    figures.add("one fsync", format!("median {median} µs, p99 {p99} µs"), "", "");
    if is_wanted("price") {
        price::measure(&mut figures).await;
    }
    if is_wanted("sweep") {
        sweep::measure(&mut figures, number("BENCH_STORED", 1_000_000)).await;
    }
    for sync in ["normal", "full"] {
        if !is_wanted("api") && !is_wanted("lag") && !is_wanted("burst") {
            break;
        }
        if std::env::var("BENCH_SYNC").is_ok_and(|only| only != sync) {
            continue;
        }
        let server = Server::start(sync);
        tokio::time::sleep(REST).await;
        let idle = server.memory();
        figures.add(&format!("{sync}: memory idle"), idle, "", "");
        let before = server.cpu();
        tokio::time::sleep(REST).await;
        let used = (server.cpu() - before).as_secs_f64() / REST.as_secs_f64() * 100.0;
        figures.add(&format!("{sync}: CPU idle"), format!("{used:.1} %"), "", "0 %");
        if is_wanted("api") {
            api::measure(&mut figures, &server, sync).await;
        }
        if is_wanted("lag") && sync == "normal" {
            let seconds = number("BENCH_SECONDS", 300);
            lag::measure(&mut figures, &server, &target, seconds).await;
        }
        if is_wanted("burst") {
            for n in [1_000, usize::try_from(number("BENCH_BURST", 10_000)).expect("a count")] {
                burst::measure(&mut figures, &server, &target, sync, n).await;
            }
            tokio::time::sleep(REST).await;
            figures.add(&format!("{sync}: memory after the bursts"), server.memory(), "", "");
        }
        server.stop();
    }
    if is_wanted("pings") {
        pings::measure(&mut figures).await;
    }
    if is_wanted("fair") {
        fair::measure(&mut figures, &target).await;
    }
    if std::env::var("BENCH_ONLY").is_ok_and(|only| only == fair::NAMES) {
        fair::measure_names(&mut figures, &target).await;
    }
    if std::env::var("BENCH_ONLY").is_ok_and(|only| only == soak::SOAK) {
        let server = Server::start("normal");
        soak::measure(&mut figures, &server, &target, number("BENCH_SOAK_MINUTES", 30)).await;
        server.stop();
    }
    if std::env::var("BENCH_ONLY").is_ok_and(|only| only == stored::STORED) {
        let many = usize::try_from(number("BENCH_STORED", 1_000_000)).expect("a count");
        stored::measure(&mut figures, &target, many).await;
    }
    figures.print();
    println!("`make peers` runs other schedulers on the same jobs.");
}

/// Whether a part is to run.
fn is_wanted(part: &str) -> bool {
    std::env::var("BENCH_ONLY").map_or(true, |parts| parts.split(',').any(|it| it == part))
}

fn number(variable: &str, otherwise: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.map_or(otherwise, |given| given.parse().expect("a whole number"))
}
