//! The connections of all AWS clients: one pool, HTTP/1.1, with TLS where the endpoint has it.
//!
//! The SDK's own pool also speaks HTTP/2 and asks proxies. The services that the functions call need
//! neither, and without them each package is smaller and each request takes less time.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::connection::{CaptureSmithyConnection, ConnectionMetadata};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use minutehand_outbound::connections;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

type Tcp = legacy::connect::HttpConnector;

/// The pool. Clones share its connections.
#[derive(Debug, Clone)]
pub(crate) struct Connections(legacy::Client<HttpsConnector<Tcp>, SdkBody>);

impl Connections {
    /// Reads the certificates that the system trusts. Nothing is connected yet.
    ///
    /// # Errors
    ///
    /// If the TLS library refuses its settings.
    pub(crate) fn new(connect_time_max: Duration) -> Result<Self, rustls::Error> {
        Ok(Self(connections(tls()?, connect_time_max)))
    }
}

impl HttpConnector for Connections {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let mut request = match request.try_into_http1x() {
            Ok(request) => request,
            Err(error) => {
                return HttpConnectorFuture::ready(Err(ConnectorError::user(error.into())));
            }
        };
        let connection = capture_connection(&mut request);
        if let Some(capture) = request.extensions().get::<CaptureSmithyConnection>() {
            capture.set_connection_retriever(move || metadata_of(&connection));
        }
        let answer = self.0.request(request);
        HttpConnectorFuture::new(async move {
            let answer = answer.await.map_err(|error| connector_error(error.into()))?;
            HttpResponse::try_from(answer.map(SdkBody::from_body_1_x))
                .map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

/// What the SDK uses a connection's metadata for: to have it closed after an error that a new
/// connection may not have.
fn metadata_of(connection: &CaptureConnection) -> Option<ConnectionMetadata> {
    connection.connection_metadata().as_ref()?;
    let connection = connection.clone();
    let close = move || {
        if let Some(connection) = connection.connection_metadata().as_ref() {
            connection.poison();
        }
    };
    Some(ConnectionMetadata::builder().proxied(false).poison_fn(close).build())
}

/// Decides whether the SDK tries again: it does after an error of the connection.
fn connector_error(error: BoxError) -> ConnectorError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error.as_ref());
    while let Some(current) = cause {
        match current.downcast_ref::<hyper::Error>() {
            Some(hyper) if hyper.is_user() => return ConnectorError::user(error),
            Some(hyper) if hyper.is_parse() => return ConnectorError::other(error, None),
            _ => cause = current.source(),
        }
    }
    ConnectorError::io(error)
}

fn tls() -> Result<ClientConfig, rustls::Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(system_roots())
        .with_no_client_auth();
    Ok(config)
}

/// The certificates that the system trusts, without those that cannot be read.
fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let loaded = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(loaded.certs);
    if roots.is_empty() {
        let errors = loaded.errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        tracing::error!(errors, "no certificate of an authority: every HTTPS request will fail");
    }
    roots
}

#[cfg(test)]
mod tests {
    use std::io;

    use aws_smithy_runtime_api::client::connection::CaptureSmithyConnection;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    const LIMIT: Duration = Duration::from_secs(30);

    fn pool() -> Connections {
        Connections::new(LIMIT).unwrap()
    }

    fn request(listener: &TcpListener) -> HttpRequest {
        HttpRequest::get(format!("http://{}/", listener.local_addr().unwrap())).unwrap()
    }

    async fn listener() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").await.unwrap()
    }

    async fn read_request(stream: &mut TcpStream) -> io::Result<()> {
        let mut read = Vec::new();
        while !read.ends_with(b"\r\n\r\n") {
            read.push(stream.read_u8().await?);
        }
        Ok(())
    }

    /// Sends a request, and reads the answer to its end so that the connection is free again.
    async fn ask(pool: &Connections, request: HttpRequest) {
        let answer = pool.call(request).await.unwrap();
        assert_eq!(answer.status().as_u16(), 200);
        let body = http_body_util::BodyExt::collect(answer.into_body()).await.unwrap();
        assert_eq!(body.to_bytes(), "ok");
    }

    #[tokio::test]
    async fn a_connection_is_used_again_until_it_is_given_up() {
        let (pool, listener) = (pool(), listener().await);
        let captured = CaptureSmithyConnection::new();
        let mut last = request(&listener);
        last.add_extension(captured.clone());
        let server = async {
            let (mut first, _) = listener.accept().await.unwrap();
            for _ in 0..2 {
                read_request(&mut first).await.unwrap();
                first.write_all(ANSWER).await.unwrap();
            }
            let (mut second, _) = listener.accept().await.unwrap();
            read_request(&mut second).await.unwrap();
            second.write_all(ANSWER).await.unwrap();
        };
        let client = async {
            ask(&pool, request(&listener)).await;
            ask(&pool, last).await;
            captured.get().unwrap().poison();
            ask(&pool, request(&listener)).await;
        };
        tokio::join!(server, client);
    }

    #[tokio::test]
    async fn an_error_of_the_connection_is_tried_again() {
        let (pool, listener) = (pool(), listener().await);
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_request(&mut stream).await.unwrap();
        };
        let (answer, ()) = tokio::join!(pool.call(request(&listener)), server);
        assert!(answer.unwrap_err().is_io(), "closed without an answer");

        let closed = request(&listener);
        drop(listener);
        assert!(pool.call(closed).await.unwrap_err().is_io(), "nothing listens");
    }

    #[tokio::test]
    async fn an_answer_that_is_not_http_is_not_asked_for_again() {
        let (pool, listener) = (pool(), listener().await);
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_request(&mut stream).await.unwrap();
            stream.write_all(b"hello\r\n\r\n").await.unwrap();
        };
        let (answer, ()) = tokio::join!(pool.call(request(&listener)), server);
        let error = answer.unwrap_err();
        assert!(error.is_other() && error.as_other().is_none(), "{error:?}");
    }
}
