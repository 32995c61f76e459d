//! Connections: accepted, protected, served, and closed in good order.
//!
//! Every wait on a client has a limit, so that clients that are slow or gone hold nothing up, and
//! there is a limit to how many are served at once: whoever comes then takes the place of the one that
//! has been idle for longest, or waits until one is. HTTP/1.1
//! alone is spoken: every client of the original does, and an intermediary does the rest.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_LENGTH;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use ports::Clock;
use runtime::SystemClock;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::impatient::Impatient;
use super::tasks::Stop;

/// The most connections at once: half of the files that a process may usually have open.
const CONNECTIONS_MAX: usize = 512;
/// How long a TLS handshake may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// How long a connection may be idle, and a request's head take.
const HEAD_MAX: Duration = Duration::from_secs(30);
/// The most bytes of a request's head.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// How long a request may take, its body included.
const REQUEST_MAX: Duration = Duration::from_mins(1);
/// How long to wait after the system refused a connection, for want of files or memory.
const REFUSED_PAUSE: Duration = Duration::from_millis(200);

/// Serves an API until asked to stop; then ends when the requests that are under way are answered.
pub(super) async fn listen(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    api: Router,
    stop: Stop,
) {
    let mut connections = JoinSet::new();
    let room = Arc::new(Notify::new());
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
                Ok((socket, _)) => {
                    let until = Until { stop: stop.clone(), room: room.clone() };
                    connections.spawn(serve(socket, tls.clone(), api.clone(), until));
                    if connections.len() >= CONNECTIONS_MAX {
                        // Those that are idle are woken in the order in which they began to be.
                        room.notify_one();
                    }
                }
                Err(error) => pause_after(&error).await,
            },
            Some(_) = connections.join_next() => {}
            () = stop.requested() => break,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// What ends a connection that its client would keep.
struct Until {
    stop: Stop,
    /// Somebody else wants to be served.
    room: Arc<Notify>,
}

/// A client that went away before it was accepted is nobody's concern; any other refusal is.
async fn pause_after(error: &io::Error) {
    if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
        tracing::error!(%error, "cannot accept a connection");
        SystemClock.wait(REFUSED_PAUSE).await;
    }
}

async fn serve(socket: TcpStream, tls: Option<TlsAcceptor>, api: Router, until: Until) {
    // An answer is written in one piece, and does not wait for another to go with it.
    let _ = socket.set_nodelay(true);
    let socket = Impatient::new(socket);
    let Some(tls) = tls else {
        return converse(socket, api, until).await;
    };
    let handshake = timeout(HANDSHAKE_MAX, tls.accept(socket));
    tokio::select! {
        shaken = handshake => match shaken {
            Ok(Ok(stream)) => converse(stream, api, until).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        },
        () = until.stop.requested() => {}
    }
}

/// Answers the requests of a connection, one after the other.
async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, api: Router, until: Until) {
    let api = TowerToHyperService::new(api);
    let (busy, mut is_busy) = watch::channel(false);
    let busy = Arc::new(busy);
    let limited = service_fn(move |request| {
        let answer = timeout(REQUEST_MAX, api.call(request));
        let busy = busy.clone();
        async move {
            busy.send_replace(true);
            let answered = answer.await;
            busy.send_replace(false);
            let Ok(mut answer) = answered
                .inspect_err(|_| tracing::warn!("a request took too long: its connection ends"))?;
            // The router gives every answer to HEAD a length, which HTTP forbids here.
            if answer.status() == StatusCode::NO_CONTENT {
                answer.headers_mut().remove(CONTENT_LENGTH);
            }
            Ok::<_, Elapsed>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), limited);
    let mut connection = std::pin::pin!(connection);
    let ended = loop {
        let is_idle = !*is_busy.borrow_and_update();
        tokio::select! {
            // First of all, what has been sent is read: a request that came before the end was asked
            // for is under way, and is answered.
            biased;
            ended = connection.as_mut() => break ended,
            () = until.stop.requested() => {}
            () = until.room.notified(), if is_idle => {}
            // It begins to be idle, or is no more.
            _ = is_busy.changed() => continue,
        }
        connection.as_mut().graceful_shutdown();
        break connection.await;
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended before its time");
    }
}
