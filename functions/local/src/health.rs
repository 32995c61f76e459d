//! `minutehand health`: asks a running server for `/healthz`, for a container or a monitor that only
//! reads an exit code.
//!
//! The request carries no token and no other secret. So a server on this machine may show any
//! certificate: its certificate names the address that clients use, not the loopback address that
//! the health check uses. For every other address the certificate is verified.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use axum::body::Bytes;
use axum::http::header::HOST;
use axum::http::{Request, Response};
use http_body_util::{BodyExt, Collected, Empty, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use minutehand_client::ServerUrl;
use minutehand_outbound::{CheckedServer, trusting};
use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls_platform_verifier::Verifier;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// The maximum size of an answer in bytes. The answer of a server is a tenth of it.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// Asks a server whether it is healthy; returns a line about the server.
///
/// `ca` names a file with the only certificates to trust, as PEM; it is read for `https` only.
///
/// # Errors
///
/// If the server is not healthy, is not reached, or does not answer within `time_max`.
pub fn check(url: &ServerUrl, ca: Option<&Path>, time_max: Duration) -> Result<String> {
    let tls = if url.is_https() { Some(tls(url, ca)?) } else { None };
    let system = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a thread")?;
    let asked = system.block_on(async { timeout(time_max, ask(url, tls)).await });
    // A look-up of the host's name may still wait for its name server.
    system.shutdown_background();
    let seconds = time_max.as_secs();
    asked.map_err(|_| anyhow!("{url} does not answer within {seconds} s"))?
}

async fn ask(url: &ServerUrl, tls: Option<Arc<ClientConfig>>) -> Result<String> {
    let host = url.host();
    let socket = TcpStream::connect((host.as_str(), url.port()))
        .await
        .with_context(|| format!("cannot connect to {url}"))?;
    let answer = match tls {
        None => send(url, socket).await.with_context(|| {
            format!("{url} does not answer in HTTP; if it uses TLS, ask for https://")
        })?,
        Some(config) => {
            let name = ServerName::try_from(host).context("the host is not a name for TLS")?;
            let connecting = TlsConnector::from(config).connect(name, socket);
            let stream = connecting.await.with_context(|| {
                format!("cannot use TLS with {url}; if it does not use TLS, ask for http://")
            })?;
            send(url, stream).await.with_context(|| format!("{url} does not answer in HTTP"))?
        }
    };
    judge(url, answer).await
}

async fn send<S>(url: &ServerUrl, stream: S) -> Result<Response<Incoming>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with the connection; if it fails, so does the request.
    tokio::spawn(connection);
    let request = Request::get(url.path_of("/healthz")).header(HOST, url.authority());
    Ok(sender.send_request(request.body(Empty::<Bytes>::new())?).await?)
}

/// Only a server of ours that says that it is ready is healthy: another program may answer 200 to
/// everything.
async fn judge(url: &ServerUrl, answer: Response<Incoming>) -> Result<String> {
    let status = answer.status();
    let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
    let body = body.map(Collected::to_bytes).unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |pointer| body.pointer(pointer).and_then(Value::as_str);
    if !status.is_success() {
        let message = text("/error/message").map(|message| format!(": {message}"));
        bail!("{url} answers {status}{}", message.unwrap_or_default());
    }
    match (text("/status"), text("/version"), text("/commit")) {
        (Some("ready"), Some(version), Some(commit)) => {
            Ok(format!("{url} is healthy: minutehand {version} (commit {commit})"))
        }
        _ => bail!("{url} answers {status}, but is not a Minutehand server"),
    }
}

fn tls(url: &ServerUrl, ca: Option<&Path>) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier(url, ca, provider)?)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn verifier(
    url: &ServerUrl,
    ca: Option<&Path>,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>> {
    let Some(path) = ca else {
        return if url.is_loopback() {
            // Any certificate of which the server has the key.
            Ok(Arc::new(CheckedServer::new(provider, |_| Ok(()))))
        } else {
            let system = Verifier::new(provider);
            Ok(Arc::new(system.context("cannot read the system's certificates")?))
        };
    };
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let certificates =
        certificates.with_context(|| format!("cannot read certificates in {}", path.display()))?;
    if certificates.is_empty() {
        bail!("{} holds no certificate as PEM", path.display());
    }
    let trusted = trusting(certificates, provider);
    trusted.with_context(|| format!("cannot trust the certificates in {}", path.display()))
}
