//! A target: it passes each request to the test, and answers as a handler decides.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use chrono::{DateTime, Utc};
use minutehand_runtime::system_now;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// How long a test waits for an expected event.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A request that the target received.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// When it arrived, in real time.
    pub(crate) at: DateTime<Utc>,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Seen {
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("{name} is missing: {self:?}"))
    }

    /// The execution id: the same each time that the same attempt runs.
    pub(crate) fn execution_id(&self) -> &str {
        self.header("x-ms-scheduler-execution-id")
    }

    /// The time for which the occurrence was scheduled.
    pub(crate) fn expected_at(&self) -> DateTime<Utc> {
        self.header("x-ms-scheduler-expected-execution-time").parse().unwrap()
    }
}

/// A target's reaction to a request.
pub(crate) enum Reply {
    Answer {
        status: &'static str,
        headers: String,
        body: String,
    },
    HangUp,
    /// Keeps the connection open and never answers.
    Silence,
}

pub(crate) fn status(status: &'static str) -> Reply {
    Reply::Answer { status, headers: String::new(), body: "done".to_owned() }
}

pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    seen: Receiver<Seen>,
    n_connections: Arc<AtomicUsize>,
    /// Runs the target's tasks. Dropped last, which stops them.
    _system: Runtime,
}

type Handler = dyn Fn(&Seen) -> Reply + Send + Sync;

impl Target {
    /// Answers everything with 200.
    pub(crate) fn ok() -> Self {
        Self::start(|_| status("200 OK"))
    }

    pub(crate) fn start(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let system = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let listener = system.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, seen) = channel();
        let handler: Arc<Handler> = Arc::new(handler);
        let n_connections = Arc::new(AtomicUsize::new(0));
        let open = n_connections.clone();
        system.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                open.fetch_add(1, Ordering::SeqCst);
                let talk = talk(stream, handler.clone(), tell.clone());
                let open = open.clone();
                tokio::spawn(async move {
                    talk.await;
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, seen, n_connections, _system: system }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits for the next request.
    #[track_caller]
    pub(crate) fn next(&self) -> Seen {
        self.seen.recv_timeout(PATIENCE).expect("the target receives a request")
    }

    /// The next request, if one comes in time.
    pub(crate) fn next_within(&self, time: Duration) -> Option<Seen> {
        self.seen.recv_timeout(time).ok()
    }

    /// Waits for the next `n` requests.
    #[track_caller]
    pub(crate) fn next_n(&self, n: usize) -> Vec<Seen> {
        (0..n).map(|_| self.next()).collect()
    }

    /// Waits until all connections are closed and everything sent on them is read.
    pub(crate) fn until_left(&self) {
        while self.n_connections.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
    }

    /// The requests that have arrived and were not taken yet.
    pub(crate) fn rest(&self) -> Vec<Seen> {
        self.seen.try_iter().collect()
    }
}

async fn talk(stream: TcpStream, handler: Arc<Handler>, tell: Sender<Seen>) {
    let mut stream = BufReader::new(stream);
    while let Some(seen) = read(&mut stream).await {
        let reply = handler(&seen);
        // Fails when the test has ended.
        let _ = tell.send(seen);
        match reply {
            Reply::Answer { status, headers, body } => {
                let length = body.len();
                let text =
                    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n{body}");
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            Reply::HangUp => return,
            Reply::Silence => std::future::pending().await,
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Seen> {
    let first = line(stream).await?;
    let at = system_now();
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let line = line(stream).await?;
        let Some((name, value)) = line.split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Seen { at, method, path, headers, body: String::from_utf8(body).unwrap() })
}

async fn line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    match stream.read_line(&mut line).await {
        Ok(n) if n > 0 => Some(line.trim_end_matches("\r\n").to_owned()),
        _ => None,
    }
}
