//! The target of the jobs: a server on a thread of its own that notes when a request arrives.
//!
//! A path is `/{run}/{number}`: which run it belongs to, so that what is late from one is not taken
//! for another's, and which job it is.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use axum::body::Body;
use chrono::{DateTime, Utc};
use futures_util::FutureExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpSocket, TcpStream};

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 4_096;

/// A request that came.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    run: u32,
    number: usize,
    at: DateTime<Utc>,
}

/// The result of a run.
pub(crate) struct Came {
    /// How long after it was due each job called first, in milliseconds, sorted.
    pub(crate) late: Vec<f64>,
    /// Calls beyond the first of each job.
    pub(crate) again: usize,
}

pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
}

impl Target {
    pub(crate) fn start() -> Self {
        let arrivals: Arc<Mutex<Vec<Arrival>>> = Arc::default();
        let notes = arrivals.clone();
        let address = listen(move |stream| {
            let _ = stream.set_nodelay(true);
            let notes = notes.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                note(&notes, request.uri().path());
                async { Ok::<_, Infallible>(Response::new(Body::from("ok"))) }
            });
            let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            served.map(drop)
        });
        Self { address, arrivals }
    }

    /// Where a job of a run calls.
    pub(crate) fn uri(&self, run: u32, number: usize) -> String {
        format!("http://{}/{run}/{number}", self.address)
    }

    /// Waits until every job of a run has called, and a moment longer for what comes twice.
    pub(crate) async fn came(&self, run: u32, due: &[DateTime<Utc>], patience: Duration) -> Came {
        let until = Instant::now() + patience;
        loop {
            let came = self.count(run, due);
            if came.late.len() == due.len() || Instant::now() > until {
                tokio::time::sleep(Duration::from_secs(3)).await;
                return self.count(run, due);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Takes what came of a run since this was last asked: the number of the job, and when.
    pub(crate) fn take(&self, run: u32) -> Vec<(usize, DateTime<Utc>)> {
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = arrivals.extract_if(.., |arrival| arrival.run == run);
        taken.map(|arrival| (arrival.number, arrival.at)).collect()
    }

    fn count(&self, run: u32, due: &[DateTime<Utc>]) -> Came {
        let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        let mut first: Vec<Option<DateTime<Utc>>> = vec![None; due.len()];
        let mut again = 0;
        for arrival in arrivals.iter().filter(|arrival| arrival.run == run) {
            match first.get_mut(arrival.number) {
                Some(slot @ None) => *slot = Some(arrival.at),
                _ => again += 1,
            }
        }
        drop(arrivals);
        let late = |(at, due): (Option<DateTime<Utc>>, &DateTime<Utc>)| Some(millis(at? - *due));
        let mut late: Vec<f64> = first.into_iter().zip(due).filter_map(late).collect();
        late.sort_by(f64::total_cmp);
        Came { late, again }
    }
}

/// Serves connections on a thread of its own, each by a task. Returns the address.
pub(crate) fn listen<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let (tell, told) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let socket = TcpSocket::new_v4().expect("a socket");
            socket.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
            let listener = socket.listen(BACKLOG).expect("a listener");
            tell.send(listener.local_addr().expect("an address")).expect("who waits for it");
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => drop(tokio::spawn(serve(stream))),
                    // It has as many files open as it may.
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        });
    });
    told.recv().expect("where it listens")
}

fn note(notes: &Mutex<Vec<Arrival>>, path: &str) {
    let at = minutehand_runtime::system_now();
    let mut parts = path.trim_start_matches('/').split('/');
    let (Some(run), Some(number)) = (parts.next(), parts.next()) else { return };
    if let (Ok(run), Ok(number)) = (run.parse(), number.parse()) {
        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push(Arrival { run, number, at });
    }
}

#[expect(clippy::cast_precision_loss, reason = "a time of minutes")]
fn millis(time: chrono::TimeDelta) -> f64 {
    time.num_microseconds().map_or(f64::NAN, |micros| micros as f64 / 1_000.0)
}
