//! The connection loop: accepts connections, serves their requests, and closes them at shutdown.
//!
//! Every wait for a client has a timeout, so that slow or vanished clients do not occupy the server.
//! The number of connections is limited, too: when the limit is reached, an idle one closes, see
//! `places`.
//!
//! Only HTTP/1.1 is served. All clients of Azure Scheduler speak it, and a proxy can translate for
//! others.
//!
//! A request with a `Transfer-Encoding` ends its connection. If it has a `Content-Length`, too, a proxy
//! in front may have found another end of it, and what follows may be hidden from that proxy.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use axum::http::{HeaderValue, Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use minutehand_ports::Clock;
use minutehand_rest::PresentedCertificate;
use minutehand_runtime::{SystemClock, system_now};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::body::RequestBody;
use super::client_certificates::{is_refused, presented};
use super::places::{ConnectionPlace, ConnectionPlaces};
use super::timeouts::WriteTimeout;
use crate::serve::tasks::Stop;

/// Time limit of a TLS handshake.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Time limit for the next request's head to arrive, and thereby for an idle connection.
const HEAD_MAX: Duration = Duration::from_secs(30);
/// Time limit for the rest of a head that has begun when the server ends.
const LAST_HEAD_MAX: Duration = Duration::from_secs(1);
/// Size limit of a request's head, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Time limit of a request, including its body.
const REQUEST_MAX: Duration = Duration::from_mins(1);
/// Pause after the system could not accept a connection, for example for lack of file handles.
const REFUSED_PAUSE: Duration = Duration::from_millis(200);

/// Serves the API until it is asked to stop; then finishes the requests in progress and returns.
/// At most `connections_max` connections are open at the same time.
pub(in crate::serve) async fn listen(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    api: Router,
    connections_max: usize,
    stop: Stop,
) {
    let mut connections = JoinSet::new();
    let places = ConnectionPlaces::new(connections_max);
    loop {
        let is_full = connections.len() >= connections_max;
        tokio::select! {
            accepted = listener.accept(), if !is_full => match accepted {
                Ok((socket, peer)) => {
                    let place = Arc::new(places.take(peer.ip()));
                    let until = Until { stop: stop.clone(), place };
                    connections.spawn(serve((socket, peer), tls.clone(), api.clone(), until));
                }
                Err(error) => pause_after(&error).await,
            },
            Some(_) = connections.join_next() => {}
            () = places.make_room(), if is_full => {}
            () = stop.requested() => break,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// The two reasons for which the server closes a connection that its client keeps open.
struct Until {
    stop: Stop,
    /// Its place, which another connection may need.
    place: Arc<ConnectionPlace>,
}

/// Logs an error of `accept` and waits a moment, unless the client merely went away.
async fn pause_after(error: &io::Error) {
    if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
        tracing::error!(%error, "cannot accept a connection");
        SystemClock.wait(REFUSED_PAUSE).await;
    }
}

async fn serve(
    (socket, peer): (TcpStream, SocketAddr),
    tls: Option<TlsAcceptor>,
    api: Router,
    until: Until,
) {
    // A response is written in one piece, so delaying it for more data would gain nothing.
    let _ = socket.set_nodelay(true);
    let Some(tls) = tls else {
        return serve_requests(WriteTimeout::new(socket), None, api, until).await;
    };
    let handshake = timeout(HANDSHAKE_MAX, shake_hands(socket, tls));
    let shaken = tokio::select! {
        shaken = handshake => shaken,
        () = until.stop.requested() => return,
        () = until.place.needed() => return,
    };
    match shaken {
        Ok(Ok(Shaken::Tls(stream))) => {
            let chain = stream.get_ref().1.peer_certificates();
            let certificate = chain.and_then(<[_]>::first).and_then(|own| presented(own));
            serve_requests(*stream, certificate, api, until).await;
        }
        Ok(Ok(Shaken::Plain(socket))) => {
            tracing::info!(%peer, "request without TLS refused: clients have to use https");
            serve_requests(socket, None, use_https(), until).await;
        }
        Ok(Err(error)) if is_refused(&error) => tracing::warn!(
            %peer, %error,
            "client certificate refused: it has to be of version 3, and an RSA key of 2048 bits or more"
        ),
        Ok(Err(error)) => tracing::debug!(%peer, %error, "TLS handshake failed"),
        Err(_) => tracing::debug!(%peer, "TLS handshake timed out"),
    }
}

/// A connection to a port with TLS, after the handshake.
enum Shaken {
    Tls(Box<TlsStream<WriteTimeout<TcpStream>>>),
    /// The client speaks HTTP without TLS.
    Plain(WriteTimeout<TcpStream>),
}

/// Performs the TLS handshake, unless the first byte shows a request without TLS.
async fn shake_hands(socket: TcpStream, tls: TlsAcceptor) -> io::Result<Shaken> {
    let mut first = [0];
    socket.peek(&mut first).await?;
    let socket = WriteTimeout::new(socket);
    // A request begins with the letters of its method, a handshake with a control character.
    if first[0].is_ascii_alphabetic() {
        return Ok(Shaken::Plain(socket));
    }
    tls.accept(socket).await.map(Box::new).map(Shaken::Tls)
}

/// Answers every request without TLS with what to do. The body is a failure as the API writes it.
fn use_https() -> Router {
    const BODY: &str =
        r#"{"error":{"code":"BadRequest","message":"This port uses TLS; use https://."}}"#;
    let headers = [(CONTENT_TYPE, "application/json; charset=utf-8"), (CONNECTION, "close")];
    Router::new().fallback(move || async move { (StatusCode::BAD_REQUEST, headers, BODY) })
}

/// Why a request gets no answer, and its connection closes.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    #[error("another connection needs the place")]
    Replaced,
    #[error("the request timed out")]
    TimedOut,
}

/// Answers the requests of a connection, one after the other. All are of the owner of `certificate`.
async fn serve_requests(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    certificate: Option<PresentedCertificate>,
    api: Router,
    until: Until,
) {
    let api = TowerToHyperService::new(api);
    let (busy, mut is_busy) = watch::channel(false);
    let busy = Arc::new(busy);
    let place = until.place.clone();
    let limited = service_fn(move |mut request: Request<Incoming>| {
        if let Some(certificate) = certificate {
            let certificate = PresentedCertificate { at: system_now(), ..certificate };
            request.extensions_mut().insert(certificate);
        }
        let is_last = request.headers().contains_key(TRANSFER_ENCODING);
        let request = request.map(|body| RequestBody::new(body, place.clone()));
        let answer = timeout(REQUEST_MAX, api.call(request));
        let (busy, place) = (busy.clone(), place.clone());
        async move {
            if !place.set_busy() {
                return Err(Unanswered::Replaced);
            }
            busy.send_replace(true);
            let answered = answer.await;
            busy.send_replace(false);
            place.set_idle();
            let Ok(mut answer) = answered.map_err(|_| {
                tracing::warn!("request timed out; closing its connection");
                Unanswered::TimedOut
            })?;
            if is_last {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            // The router adds a length to every response to HEAD; HTTP forbids it with 204.
            if answer.status() == StatusCode::NO_CONTENT {
                answer.headers_mut().remove(CONTENT_LENGTH);
            }
            Ok::<_, Unanswered>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), limited);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        // The connection is polled first: a request that arrived before the stop counts as in
        // progress, and is answered.
        biased;
        ended = connection.as_mut() => ended,
        // Not gracefully: that would wait for the rest of a request that may never come.
        () = until.place.needed() => return,
        () = until.stop.requested() => {
            connection.as_mut().graceful_shutdown();
            let begins = async { is_busy.wait_for(|is_busy| *is_busy).await.is_ok() };
            tokio::select! {
                biased;
                ended = connection.as_mut() => ended,
                begins = timeout(LAST_HEAD_MAX, begins) => match begins {
                    Ok(_) => connection.await,
                    Err(_) => return,
                },
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection closed early");
    }
}
