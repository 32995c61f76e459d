//! TLS before a server that has none, as AWS is called over TLS alone: a certificate of the bench's own,
//! and a file of authorities that has it among those of this machine.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::NamedTempFile;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The name that the certificate is for.
pub(crate) const NAME: &str = "localhost";

/// Where Linux keeps the authorities that it trusts.
const AUTHORITIES: [&str; 2] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

/// What stands before servers.
pub(crate) struct Tls {
    acceptor: TlsAcceptor,
    authorities: NamedTempFile,
}

impl Tls {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new([NAME.to_owned()]).expect("a name");
        let certificate = params.self_signed(&key).expect("a certificate");
        let mut authorities = NamedTempFile::new().expect("a file");
        for path in AUTHORITIES {
            if let Ok(those) = std::fs::read(path) {
                authorities.write_all(&those).expect("there is room");
                break;
            }
        }
        authorities.write_all(certificate.pem().as_bytes()).expect("there is room");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("they fit");
        Self { acceptor: TlsAcceptor::from(Arc::new(config)), authorities }
    }

    /// The file of all authorities that are trusted.
    pub(crate) fn authorities(&self) -> &Path {
        self.authorities.path()
    }

    /// Listens, and hands on to the server. It lives as long as the runtime.
    pub(crate) async fn before(&self, server: SocketAddr) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
        let address = listener.local_addr().expect("it has an address");
        let acceptor = self.acceptor.clone();
        tokio::spawn(async move {
            while let Ok((outside, _)) = listener.accept().await {
                tokio::spawn(connection(acceptor.clone(), outside, server));
            }
        });
        address
    }
}

async fn connection(acceptor: TlsAcceptor, outside: TcpStream, server: SocketAddr) -> Option<()> {
    outside.set_nodelay(true).ok()?;
    let mut outside = acceptor.accept(outside).await.ok()?;
    let mut inside = TcpStream::connect(server).await.ok()?;
    inside.set_nodelay(true).ok()?;
    tokio::io::copy_bidirectional(&mut outside, &mut inside).await.ok()?;
    Some(())
}
