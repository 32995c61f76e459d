//! One job a second in one collection, while another one does what it can to be in the way.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::burst::{create, create_all, instant_in, new_run};
use crate::client::Client;
use crate::figures::{Figures, part};
use crate::nuisance::{endless_informational_answers, serve_names, with_own_name_server};
use crate::number;
use crate::server::Server;
use crate::target::{Target, listen};

/// How slow the API may be for the jobs to be there in time.
const CREATED_PER_SECOND: usize = 300;
const BAR: &str = "p99 50 ms, none lost";

/// The part that runs in namespaces of its own, as its names need a name server of their own.
pub(crate) const NAMES: &str = "names";

/// What another collection has: minutely jobs, each with its URL and its delay after the first job of
/// the quiet collection.
struct Noise {
    name: &'static str,
    /// How many files the server may have open; `None` for as many as the machine gives it.
    files: Option<u32>,
    jobs: Vec<(String, TimeDelta)>,
}

pub(crate) async fn measure(figures: &mut Figures, target: &Target) {
    for files in [1_024, 8_192] {
        beside_heads(figures, files).await;
    }
    let hanging = hanging_target();
    let hanging = |delays: Vec<TimeDelta>| {
        let jobs = delays.into_iter().enumerate();
        jobs.map(|(n, delay)| (format!("http://{hanging}/{n}"), delay)).collect()
    };
    let steady = || (0..2_000).map(|n| TimeDelta::milliseconds(30) * n).collect();
    let endless = endless_informational_answers();
    let endless = (0..2).map(|n| (format!("http://{endless}/{n}"), TimeDelta::zero())).collect();
    for (name, files, jobs) in [
        ("2,000 hang a minute, 1,024 files", Some(1_024), hanging(steady())),
        ("2,000 hang a minute, 8,192 files", Some(8_192), hanging(steady())),
        ("19,000 hang at one instant", None, hanging(vec![TimeDelta::zero(); 19_000])),
        ("two answer 1xx for ever", None, endless),
    ] {
        if is_wanted(name) {
            beside(figures, target, &Noise { name, files, jobs }, |path| {
                format!("http://{}{path}", target.address)
            })
            .await;
        }
    }
    if !is_wanted(NAMES) {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let Some(mut inside) = with_own_name_server(dir.path()) else {
        figures.add("a job a second beside: 2,500 silent names", "not root", BAR, "");
        return;
    };
    let inside = inside.arg(std::env::current_exe().expect("a path")).env("BENCH_ONLY", NAMES);
    let figure = if inside.status().is_ok_and(|status| status.success()) { "above" } else { "-" };
    figures.add("a job a second beside: 2,500 silent names", figure, BAR, "");
}

/// The same beside names whose server is silent.
pub(crate) async fn measure_names(figures: &mut Figures, target: &Target) {
    serve_names();
    let port = target.address.port();
    let jobs = (0..2_500).map(|n| (format!("http://x{n}.slow.test:{port}/"), TimeDelta::zero()));
    let noise = Noise { name: "2,500 silent names", files: None, jobs: jobs.collect() };
    let uri = |path: String| format!("http://q{}.fast.test:{port}{path}", path.replace('/', "-"));
    beside(figures, target, &noise, uri).await;
}

/// Asks whether the server is ready, beside connections that never finish the head of a request.
async fn beside_heads(figures: &mut Figures, files: u32) {
    const HEADS: usize = 2_000;
    let name = format!("/healthz beside {HEADS} halves of heads, {files} files");
    if !is_wanted(&name) {
        return;
    }
    let server = Server::with_files("normal", &files.to_string());
    let mut heads = Vec::new();
    for _ in 0..HEADS {
        let mut stream = TcpStream::connect(server.address).await.expect("a connection");
        stream.write_all(b"GET /healthz HTTP/1.1\r\nX-Slow: ").await.expect("half a head");
        heads.push(stream);
    }
    let mut took = Vec::new();
    for _ in 0..100 {
        let start = Instant::now();
        Client::connect(server.address).await.must("GET", "/healthz", "").await;
        took.push(start.elapsed().as_secs_f64() * 1e3);
    }
    took.sort_by(f64::total_cmp);
    let figure = format!("p50 {:.1}, max {:.1} ms", part(&took, 500), part(&took, 1_000));
    figures.add(&name, figure, "max 1,000 ms", "");
    server.stop();
}

/// Whether a neighbour is to be measured.
fn is_wanted(name: &str) -> bool {
    std::env::var("BENCH_FAIR").map_or(true, |part| name.contains(&part))
}

/// Fires a job a second beside the noise.
async fn beside(
    figures: &mut Figures,
    target: &Target,
    noise: &Noise,
    uri: impl Fn(String) -> String,
) {
    let files = noise.files.map(|files| files.to_string());
    let server = Server::with_files("normal", files.as_deref().unwrap_or("$(ulimit -Hn)"));
    let run = new_run();
    let seconds = usize::try_from(number("BENCH_FAIR_SECONDS", 180)).expect("a count of seconds");
    let takes = (noise.jobs.len() + seconds).div_ceil(CREATED_PER_SECOND);
    let first = instant_in(TimeDelta::seconds(i64::try_from(takes).expect("seconds") + 6));
    let jobs = noise.jobs.iter().map(|(uri, delay)| minutely(uri, first + *delay));
    create_all(server.address, jobs.collect(), "noisy", 1).await;
    let dues = std::iter::successors(Some(first), |due| Some(*due + TimeDelta::seconds(1)));
    let due: Vec<DateTime<Utc>> = dues.take(seconds).collect();
    let uris: Vec<_> = (0..seconds).map(|n| uri(format!("/{run}/{n}"))).collect();
    create(server.address, &uris, &due, "quiet").await;
    let left = first - minutehand_runtime::system_now();
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
        "startTime": minutehand_recurrence::format_instant(start),
        "recurrence": {"frequency": "minute"},
        "action": {"type": "Http", "request": {"uri": uri, "method": "GET"}},
    }})
    .to_string()
}

/// A target that reads what comes, and never answers.
fn hanging_target() -> SocketAddr {
    listen(|mut stream| async move {
        let mut bytes = [0; 256];
        while stream.read(&mut bytes).await.is_ok_and(|n| n > 0) {}
    })
}
