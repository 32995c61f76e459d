//! Measures requests per second to a target on the loopback interface, by the number of requests in
//! flight.
//!
//! The target runs on a thread of its own, and answers each request with the same bytes. It is much
//! cheaper than the sender, which is what the benchmark measures. Both share the machine.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::expect_used, reason = "a benchmark has to stop when something is unexpected")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chrono::DateTime;
use minutehand_actions::{ActionSettings, Actions, TargetPolicy};
use minutehand_domain::action::{HttpRequest, Target};
use minutehand_domain::attempt::Outcome;
use minutehand_domain::chain::Depth;
use minutehand_domain::missed::Missed;
use minutehand_ports::{ActionSender as _, AttemptContext};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The numbers of requests in flight.
const IN_FLIGHT: [usize; 4] = [1, 64, 256, 1_024];
/// The number of requests in a round.
const N_REQUESTS: usize = 10_000;
/// The number of rounds. The best and the median are printed, since the machine has other work.
const ROUNDS: usize = 7;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";

fn main() {
    let address = target();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let start = Instant::now();
    Actions::new(&ActionSettings::new(TargetPolicy::PublicOnly)).expect("valid settings");
    println!("set up in {:.1?}", start.elapsed());
    println!("{N_REQUESTS} POSTs with a body of 100 bytes, {ROUNDS} rounds");
    println!("in flight |  first/s | median/s |   best/s | median for all");
    for in_flight in IN_FLIGHT {
        // Each number has connections of its own, which the first round opens.
        let settings = ActionSettings::new(TargetPolicy::AllowPrivate);
        let actions = Arc::new(Actions::new(&settings).expect("valid settings"));
        let mut times: Vec<Duration> =
            (0..ROUNDS).map(|_| runtime.block_on(round(&actions, address, in_flight))).collect();
        let first = times.first().copied().expect("a round");
        times.sort();
        let best = times.first().copied().expect("a round");
        let median = times.get(ROUNDS / 2).copied().expect("a round");
        println!(
            "{in_flight:>9} | {:>8.0} | {:>8.0} | {:>8.0} | {median:>10.1?}",
            per_second(first),
            per_second(median),
            per_second(best),
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of a few thousand")]
fn per_second(time: Duration) -> f64 {
    N_REQUESTS as f64 / time.as_secs_f64()
}

async fn round(actions: &Arc<Actions>, address: SocketAddr, in_flight: usize) -> Duration {
    let target = Arc::new(Target::Http(HttpRequest {
        uri: format!("http://{address}/hook"),
        method: "POST".to_owned(),
        headers: Some(vec![("Content-Type".to_owned(), "application/json".to_owned())]),
        body: Some("x".repeat(100)),
        authentication: None,
        sealed_uri: None,
    }));
    let next = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..in_flight {
        let (actions, target) = (Arc::clone(actions), Arc::clone(&target));
        let next = Arc::clone(&next);
        tasks.spawn(async move {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= N_REQUESTS {
                    return;
                }
                let sent = actions.send(&target, &context(n)).await.expect("enough files");
                assert_eq!(sent.outcome, Outcome::Succeeded, "{}", sent.message);
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.expect("a task that ends");
    }
    start.elapsed()
}

fn context(n: usize) -> AttemptContext {
    AttemptContext {
        execution_id: format!("4f7c1d2e/1.{n}.m0"),
        job: "job".to_owned(),
        job_path: "s/Grün, 1/c/job".to_owned(),
        job_uid: "4f7c1d2e".to_owned(),
        collection_uid: "9a8b".to_owned(),
        expected_at: DateTime::UNIX_EPOCH,
        sent_at: DateTime::UNIX_EPOCH,
        region: "local".to_owned(),
        signed: None,
        time_max: None,
        missed: Missed::default(),
        depth: Depth::default().next(),
        completion_url: None,
    }
}

/// Starts the target, and returns its address.
fn target() -> SocketAddr {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            tell.send(listener.local_addr().expect("an address")).expect("a receiver");
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                tokio::spawn(serve(stream));
            }
        });
    });
    told.recv().expect("the target starts")
}

/// Answers each chunk of bytes that arrives: a short request arrives as one chunk.
async fn serve(mut stream: TcpStream) {
    let mut buffer = vec![0; 8 * 1024];
    stream.set_nodelay(true).expect("a socket");
    while stream.read(&mut buffer).await.is_ok_and(|n| n > 0) {
        if stream.write_all(ANSWER).await.is_err() {
            return;
        }
    }
}
