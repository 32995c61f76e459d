//! Pings: how long answers take at a steady rate, of jobs that owe them and of others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::burst::create_all;
use crate::client::{Client, collection};
use crate::figures::{Figures, part};
use crate::server::Server;

/// Pings a second.
const PER_SECOND: usize = 500;
const SECONDS: usize = 30;
/// Jobs that owe pings. Each is pinged every other second, and in turn pays, and has nothing more to pay.
const JOBS: usize = 1_000;
/// Connections that are kept open.
const SENDERS: usize = 32;

pub(crate) async fn measure(figures: &mut Figures) {
    for sync in ["normal", "full"] {
        if std::env::var("BENCH_SYNC").is_ok_and(|only| only != sync) {
            continue;
        }
        let server = Server::start(sync);
        one(figures, &server, sync).await;
        server.stop();
    }
}

async fn one(figures: &mut Figures, server: &Server, sync: &str) {
    // Five are owed at a time, and one more each minute.
    let job = serde_json::json!({"properties": {
        "startTime": "2027-01-01T00:00:00Z",
        "recurrence": {"frequency": "minute"},
        "action": {"type": "Expect", "expect": {"early": "PT30S", "grace": "PT5M"}},
    }});
    let jobs: Arc<[String]> = vec![job.to_string(); JOBS].into();
    create_all(server.address, jobs, "pings", 10).await;
    let mut client = Client::connect(server.address).await;
    let mut paths = Vec::new();
    for n in 0..JOBS {
        let classic = collection(&format!("pings-{}", n % 10));
        let own = classic.replace("/providers/Microsoft.Scheduler", "");
        let answer =
            client.answer_to("POST", &format!("/minutehand/v1{own}/jobs/j{n}/pingUrl"), "").await;
        let answer: serde_json::Value = serde_json::from_slice(&answer).expect("an answer");
        let url = answer["url"].as_str().expect("a URL").to_owned();
        let (_, key) = url.rsplit_once('/').expect("a key");
        paths.push(format!("/ping/{key}"));
    }
    let cpu = server.cpu();
    let late = pinged(server, paths.into()).await;
    let answered = u32::try_from(late.len()).expect("not so many");
    let micros = (server.cpu() - cpu).as_secs_f64() * 1e6 / f64::from(answered);
    let figure = format!(
        "p50 {:.1}, p99 {:.1}, max {:.1} ms",
        part(&late, 500),
        part(&late, 990),
        part(&late, 1_000)
    );
    let what = format!("{sync}: {PER_SECOND} pings a second for {SECONDS} s, until answered");
    figures.add(&what, figure, "p99 50 ms", "");
    figures.add(&format!("{sync}: CPU of each ping"), format!("{micros:.0} µs"), "", "");
}

/// Sends pings at their instants, and returns how many milliseconds after those they were answered, sorted.
async fn pinged(server: &Server, paths: Arc<[String]>) -> Vec<f64> {
    let (next, start) = (Arc::new(AtomicUsize::new(0)), Instant::now());
    let mut senders = JoinSet::new();
    for _ in 0..SENDERS {
        let (next, paths, address) = (next.clone(), paths.clone(), server.address);
        senders.spawn(async move {
            let mut client = Client::connect(address).await;
            let mut late = Vec::new();
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= PER_SECOND * SECONDS {
                    return late;
                }
                let due = Duration::from_micros((n * 1_000_000 / PER_SECOND) as u64);
                tokio::time::sleep_until((start + due).into()).await;
                // No two are the same.
                client.must("POST", &paths[n % paths.len()], &format!("{n} rows")).await;
                late.push((start.elapsed() - due).as_secs_f64() * 1e3);
            }
        });
    }
    let mut late: Vec<f64> = senders.join_all().await.into_iter().flatten().collect();
    late.sort_by(f64::total_cmp);
    late
}
