//! One job a second in one collection, while another one does what it can to be in the way.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpSocket;

use crate::burst::{create, create_all, instant_in, new_run, uris};
use crate::figures::{Figures, part};
use crate::number;
use crate::server::Server;
use crate::target::Target;

/// How slow the API may be for the jobs to be there in time.
const CREATED_PER_SECOND: usize = 400;
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 4_096;
const BAR: &str = "p99 50 ms, none lost";

/// What another collection has: minutely jobs at these delays after a full minute's first second.
struct Noise {
    name: &'static str,
    /// How many files the server may have open; `None` for as many as the machine gives it.
    files: Option<u32>,
    delays: Vec<TimeDelta>,
}

pub(crate) async fn measure(figures: &mut Figures, target: &Target) {
    let steady = || (0..2_000).map(|n| TimeDelta::milliseconds(30) * n).collect();
    let hanging = hanging_target();
    for noise in [
        Noise { name: "2,000 hang a minute, 1,024 files", files: Some(1_024), delays: steady() },
        Noise { name: "2,000 hang a minute, 8,192 files", files: Some(8_192), delays: steady() },
        Noise {
            name: "19,000 hang at one instant",
            files: None,
            delays: vec![TimeDelta::zero(); 19_000],
        },
    ] {
        beside(figures, target, &noise, hanging).await;
    }
}

/// Fires a job a second beside the noise.
async fn beside(figures: &mut Figures, target: &Target, noise: &Noise, hanging: SocketAddr) {
    let files = noise.files.map(|files| files.to_string());
    let server = Server::with_files("normal", files.as_deref().unwrap_or("$(ulimit -Hn)"));
    let run = new_run();
    let seconds = usize::try_from(number("BENCH_FAIR_SECONDS", 180)).expect("a count of seconds");
    let takes = (noise.delays.len() + seconds).div_ceil(CREATED_PER_SECOND);
    let first = instant_in(TimeDelta::seconds(i64::try_from(takes).expect("seconds") + 6));
    let jobs = noise.delays.iter().enumerate();
    let jobs = jobs.map(|(n, delay)| minutely(&format!("http://{hanging}/{n}"), first + *delay));
    create_all(server.address, jobs.collect(), "noisy", 1).await;
    let dues = std::iter::successors(Some(first), |due| Some(*due + TimeDelta::seconds(1)));
    let due: Vec<DateTime<Utc>> = dues.take(seconds).collect();
    create(server.address, &uris(target, run, seconds), &due, "quiet").await;
    let left = first - runtime::system_now();
    if left < TimeDelta::seconds(3) {
        figures.add(noise.name, "created too slowly", BAR, "");
        return;
    }
    let patience = left.to_std().unwrap_or_default() + Duration::from_secs(30);
    let patience = patience + Duration::from_secs(u64::try_from(seconds).expect("seconds"));
    let came = target.came(run, &due, patience).await;
    let late = &came.late;
    let figure = format!(
        "p50 {:.1}, p99 {:.1}, max {:.1} ms; {} again, {} missing; {}",
        part(late, 500),
        part(late, 990),
        part(late, 1_000),
        came.again,
        seconds - late.len(),
        server.memory(),
    );
    figures.add(&format!("a job a second beside: {}", noise.name), figure, BAR, "");
    server.stop();
}

/// A job that calls a URL every minute.
fn minutely(uri: &str, start: DateTime<Utc>) -> String {
    json!({"properties": {
        "startTime": recurrence::format_instant(start),
        "recurrence": {"frequency": "minute"},
        "action": {"type": "Http", "request": {"uri": uri, "method": "GET"}},
    }})
    .to_string()
}

/// A target on a thread of its own that reads what comes, and never answers.
fn hanging_target() -> SocketAddr {
    let (tell, told) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let socket = TcpSocket::new_v4().expect("a socket");
            socket.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
            let listener = socket.listen(BACKLOG).expect("a listener");
            tell.send(listener.local_addr().expect("an address")).expect("who waits for it");
            loop {
                let Ok((mut stream, _)) = listener.accept().await else {
                    // It has as many files open as it may.
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                };
                tokio::spawn(async move {
                    let mut bytes = [0; 256];
                    while stream.read(&mut bytes).await.is_ok_and(|n| n > 0) {}
                });
            }
        });
    });
    told.recv().expect("where it listens")
}
