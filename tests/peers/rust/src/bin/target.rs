//! The target that every scheduler calls: it notes when each request arrives, by the system's clock.
//!
//! A request is `POST /{run}/{job}`, or `POST /{run}/{job}/{ms}` for an answer that takes so long.
//! `GET /` hands over what has arrived since the last one, a line each: run, job, microseconds since 1970.
//! `target --load ADDRESS SECONDS` calls one as fast as a hundred connections can, and prints how fast that is.

use std::convert::Infallible;
use std::error::Error;
use std::fmt::Write as _;
use std::mem::take;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 4_096;
/// Connections of the load.
const CONNECTIONS: usize = 100;
/// The longest that an answer takes.
const ANSWER_MS_MAX: u64 = 10_000;

type Failure = Box<dyn Error + Send + Sync>;
/// The lines of what has arrived.
type Arrivals = Arc<Mutex<String>>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => serve().await,
        ["--load", address, seconds] => load(address, seconds.parse()?).await,
        _ => Err("usage: target [--load ADDRESS SECONDS]".into()),
    }
}

async fn serve() -> Result<(), Failure> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let listener: TcpListener = socket.listen(BACKLOG)?;
    println!("{}", listener.local_addr()?);
    let arrivals = Arrivals::default();
    loop {
        // A peer that is killed leaves connections that are gone already: they are nothing to end for.
        let Ok((stream, _)) = listener.accept().await else { continue };
        let _ = stream.set_nodelay(true);
        let arrivals = arrivals.clone();
        let service = service_fn(move |request| answer(request, arrivals.clone()));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(
    request: Request<Incoming>,
    arrivals: Arrivals,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let arrived = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let lock = || arrivals.lock().unwrap_or_else(PoisonError::into_inner);
    if request.method() == Method::GET {
        let lines = take(&mut *lock());
        return Ok(Response::new(Full::from(lines)));
    }
    let mut parts = request.uri().path().trim_start_matches('/').split('/');
    let (run, job) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    // A string takes every line.
    let _ = writeln!(lock(), "{run} {job} {}", arrived.as_micros());
    if let Some(ms) = parts.next().and_then(|ms| ms.parse().ok()) {
        tokio::time::sleep(Duration::from_millis(ANSWER_MS_MAX.min(ms))).await;
    }
    // Read to its end, so that the connection can be used again.
    let _ = request.into_body().collect().await;
    Ok(Response::new(Full::from("ok")))
}

async fn load(address: &str, seconds: u64) -> Result<(), Failure> {
    let (start, until) = (Instant::now(), Duration::from_secs(seconds));
    let mut connections = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        connections.spawn(async move {
            let request = format!(
                "POST /load/j HTTP/1.1\r\nhost: target\r\ncontent-length: 100\r\n\r\n{:x<100}",
                ""
            );
            let (mut n, mut answer) = (0_u64, [0; 1024]);
            while start.elapsed() < until {
                stream.write_all(request.as_bytes()).await?;
                // An answer is far smaller than a packet, so it comes in one piece.
                if stream.read(&mut answer).await? == 0 {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
                n += 1;
            }
            Ok::<u64, std::io::Error>(n)
        });
    }
    let mut n = 0;
    while let Some(done) = connections.join_next().await {
        n += done??;
    }
    println!("{:.0}", n as f64 / start.elapsed().as_secs_f64());
    Ok(())
}
