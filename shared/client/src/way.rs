//! The way to a server: connections, TLS, proxies and limits, or a server in this process.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use reqwest::redirect::Policy;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tokio::time::timeout;

use crate::error::{Error, causes};
use crate::options::Options;
use crate::server_url::ServerUrl;

/// The most bytes of an answer. The server's answers are at most 4 MB.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// The protocols that are offered in a TLS handshake, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// A server in this process, which answers requests.
pub type LocalServer =
    Arc<dyn Fn(http::Request<Bytes>) -> BoxFuture<'static, http::Response<Bytes>> + Send + Sync>;

/// The way to a server.
#[derive(Clone)]
pub(crate) enum Way {
    Network(reqwest::Client),
    Within(LocalServer),
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network(_) => "Network",
            Self::Within(_) => "Within",
        })
    }
}

impl Way {
    /// A pool of connections. Proxies are read from the environment; a server on this machine is
    /// reached without one.
    pub(crate) fn over_the_network(server: &ServerUrl, options: &Options) -> Result<Self, Error> {
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(server, options)?)
            .connect_timeout(options.limits.connect)
            .redirect(Policy::none())
            .tcp_nodelay(true);
        if server.is_loopback() {
            builder = builder.no_proxy();
        }
        let built = builder.build();
        let setup = |error| Error::Setup(format!("cannot set up connections: {}", causes(&error)));
        built.map(Self::Network).map_err(setup)
    }

    /// Sends a request, and reads the whole answer.
    pub(crate) async fn exchange(
        &self,
        server: &ServerUrl,
        request: http::Request<Bytes>,
        after: Duration,
    ) -> Result<http::Response<Bytes>, Error> {
        has_no_dots(request.uri().path())?;
        let exchanged = async {
            match self {
                Self::Network(client) => over_the_network(client, server, request).await,
                Self::Within(answering) => Ok(answering(request).await),
            }
        };
        let exchanged = timeout(after, exchanged).await;
        exchanged.unwrap_or_else(|_| Err(Error::TimedOut { server: server.to_string(), after }))
    }
}

/// Refuses segments that a URL resolves: the request would be for something else.
fn has_no_dots(path: &str) -> Result<(), Error> {
    let is_resolved = |segment: &str| {
        let segment = segment.to_ascii_lowercase().replace("%2e", ".");
        segment == "." || segment == ".."
    };
    if path.split(['/', '\\']).any(is_resolved) {
        return Err(Error::Setup(format!("no part of {path} may be '.' or '..'")));
    }
    Ok(())
}

async fn over_the_network(
    client: &reqwest::Client,
    server: &ServerUrl,
    request: http::Request<Bytes>,
) -> Result<http::Response<Bytes>, Error> {
    let name = || server.to_string();
    let path = request.uri().path().to_owned();
    let request = reqwest::Request::try_from(request);
    let request = request.map_err(|error| Error::Setup(format!("{path}: {}", why(&error))))?;
    let mut answer = match client.execute(request).await {
        Ok(answer) => answer,
        Err(error) if error.is_connect() => {
            return Err(Error::NotReached { server: name(), why: why(&error) });
        }
        Err(error) => return Err(Error::Broken { server: name(), why: why(&error) }),
    };
    let mut body = BytesMut::new();
    while let Some(chunk) =
        answer.chunk().await.map_err(|error| Error::Broken { server: name(), why: why(&error) })?
    {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            let why = format!("the answer is longer than {ANSWER_BYTES_MAX} bytes");
            return Err(Error::NotUnderstood { server: name(), why });
        }
        body.extend_from_slice(&chunk);
    }
    let mut read = http::Response::new(body.freeze());
    *read.status_mut() = answer.status();
    *read.headers_mut() = std::mem::take(answer.headers_mut());
    Ok(read)
}

/// The causes below the error of the pool, which says only that a request failed, and has its URL.
fn why(error: &reqwest::Error) -> String {
    std::error::Error::source(error).map_or_else(|| "it failed".to_owned(), causes)
}

fn tls(server: &ServerUrl, options: &Options) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(setup)?;
    // The system's certificates are read only where they are needed, as that takes time. A proxy may be
    // reached with TLS although the server is not.
    let roots = RootCertStore::empty();
    if !server.is_https() && server.is_loopback() {
        return Ok(builder.with_root_certificates(roots).with_no_client_auth());
    }
    let verifier: Arc<dyn ServerCertVerifier> = match &options.ca {
        Some(path) => {
            let roots = Arc::new(roots_of(path)?);
            WebPkiServerVerifier::builder_with_provider(roots, provider).build().map_err(setup)?
        }
        None => Arc::new(Verifier::new(provider).map_err(setup)?),
    };
    let mut config =
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
    Ok(config)
}

fn roots_of(path: &std::path::Path) -> Result<RootCertStore, Error> {
    let at = path.display();
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let certificates = certificates
        .map_err(|error| Error::Setup(format!("cannot read certificates in {at}: {error}")))?;
    if certificates.is_empty() {
        return Err(Error::Setup(format!(
            "{at} holds no certificate as PEM: it has to contain -----BEGIN CERTIFICATE-----"
        )));
    }
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add(certificate).map_err(|error| {
            Error::Setup(format!("cannot trust a certificate in {at}: {error}"))
        })?;
    }
    Ok(roots)
}

fn setup(error: impl std::error::Error) -> Error {
    Error::Setup(format!("cannot set up TLS: {}", causes(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_a_url_resolves_is_refused() {
        for path in ["/jobs/..", "/jobs/../run", "/%2e%2E/a", "/.", "/a/.%2e/b", "/a\\..\\b"] {
            assert!(has_no_dots(path).is_err(), "{path}");
        }
        for path in ["/", "/jobs/...", "/a.b/..c", "/healthz", "/%252e"] {
            assert!(has_no_dots(path).is_ok(), "{path}");
        }
    }
}
