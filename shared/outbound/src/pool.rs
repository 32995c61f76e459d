//! Connections that are used again, with TLS where the URL asks for it, and one exchange over them.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Body, Bytes};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::Verifier;
use tokio::time::timeout;

/// The pool. Clones share its connections.
pub type Pool = legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A pool. The system's certificates are read only if it is for HTTPS, because that takes time.
///
/// # Errors
///
/// If the TLS library refuses its settings, or the system's certificates cannot be read.
pub fn pool(is_https: bool, connect_time_max: Duration) -> Result<Pool, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let tls = if is_https {
        let verifier = Arc::new(Verifier::new(provider)?);
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    } else {
        builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth()
    };
    Ok(connections(tls, connect_time_max))
}

/// A pool of connections with these settings of TLS, for requests with any body.
#[must_use]
pub fn connections<B>(
    tls: ClientConfig,
    connect_time_max: Duration,
) -> legacy::Client<HttpsConnector<HttpConnector>, B>
where
    B: Body<Data: Send> + Send,
{
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(connect_time_max));
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    legacy::Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector)
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Exchange {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// Sends a request, and reads the answer to its end.
///
/// # Errors
///
/// If nothing answers, not to the end, not in time, or with more bytes than allowed.
pub async fn exchange(
    pool: &Pool,
    request: Request<Full<Bytes>>,
    time_max: Duration,
    bytes_max: usize,
) -> io::Result<Exchange> {
    let exchanged = async {
        let answer = pool.request(request).await.map_err(io::Error::other)?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, bytes_max).collect().await.map_err(io::Error::other)?;
        Ok(Exchange { status: head.status, headers: head.headers, body: body.to_bytes() })
    };
    let late = |_| Err(io::Error::new(ErrorKind::TimedOut, "no answer in time"));
    timeout(time_max, exchanged).await.unwrap_or_else(late)
}
