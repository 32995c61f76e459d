//! A small HTTP client: one request per connection, and the raw response.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{
    ALL_VERSIONS, ClientConfig, ClientConnection, ConfigBuilder, RootCertStore, StreamOwned,
    SupportedProtocolVersion,
};
use serde_json::Value;

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The whole response as text, head and body.
    pub(crate) fn whole(&self) -> String {
        format!("{}\r\n\r\n{}", self.head, self.body)
    }

    fn read(mut stream: impl Read) -> std::io::Result<Self> {
        let mut bytes = Vec::new();
        match stream.read_to_end(&mut bytes) {
            // A server may close a TLS connection without a close_notify alert.
            Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => return Err(error),
            _ => {}
        }
        let text = String::from_utf8(bytes).unwrap();
        let ended = || std::io::Error::other(format!("incomplete response: {text:?}"));
        let (head, body) = text.split_once("\r\n\r\n").ok_or_else(ended)?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Ok(Self { status: status.ok_or_else(ended)?, head: head.to_owned(), body: body.to_owned() })
    }
}

/// A request.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) token: Option<&'a str>,
    pub(crate) body: &'a str,
}

impl Request<'_> {
    /// The bytes on the wire.
    pub(crate) fn text(&self) -> String {
        let Self { method, path, token, body } = self;
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        if let Some(token) = token {
            write!(head, "Authorization: Bearer {token}\r\n").unwrap();
        }
        format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
    }

    /// Sends it without TLS.
    pub(crate) fn send(&self, to: SocketAddr) -> std::io::Result<Answer> {
        let mut stream = TcpStream::connect(to)?;
        stream.write_all(self.text().as_bytes())?;
        Answer::read(stream)
    }

    /// Sends it over TLS; the server must present this certificate for this name.
    pub(crate) fn send_tls(
        &self,
        to: SocketAddr,
        name: &str,
        certificate: &Path,
    ) -> std::io::Result<Answer> {
        let config = tls(certificate, ALL_VERSIONS).with_no_client_auth();
        exchange_tls(config, to, name, &self.text())
    }
}

/// A client that speaks these versions and trusts this certificate of a server.
pub(crate) fn tls(
    certificate: &Path,
    versions: &[&'static SupportedProtocolVersion],
) -> ConfigBuilder<ClientConfig, WantsClientCert> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
}

/// Sends a request over TLS, and reads the response.
pub(crate) fn exchange_tls(
    config: ClientConfig,
    to: SocketAddr,
    name: &str,
    request: &str,
) -> std::io::Result<Answer> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(to)?);
    stream.write_all(request.as_bytes())?;
    Answer::read(stream)
}

/// Reads a response from a connection on which the request was sent by hand.
pub(crate) fn read_answer(stream: TcpStream) -> std::io::Result<Answer> {
    Answer::read(stream)
}
