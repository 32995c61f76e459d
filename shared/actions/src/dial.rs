//! Connections that are not HTTP's, opened by the same rules: only addresses that may be reached are
//! dialled, and whoever answers shows a certificate.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use crate::endpoint::ResolvedUrl;
use crate::failure::ActionFailure;
use crate::policy::TargetPolicy;
use crate::resolve::{Guard, Resolver};

/// A connection, with TLS or without.
pub(crate) trait Stream: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin> Stream for S {}

/// Opens connections.
pub(crate) struct Dialer {
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) targets: TargetPolicy,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) connect_time_max: Duration,
}

impl Dialer {
    /// Opens a connection to a place.
    pub(crate) async fn dial(
        &self,
        to: &ResolvedUrl,
        port: u16,
        is_tls: bool,
    ) -> Result<Box<dyn Stream>, ActionFailure> {
        let host = to.url.host_str().unwrap_or_default();
        let opened = tokio::time::timeout(self.connect_time_max, self.open(to, port, is_tls)).await;
        let opened =
            opened.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()));
        opened.map_err(|error| ActionFailure::of_dialling(error.as_ref(), host, is_tls))
    }

    async fn open(
        &self,
        to: &ResolvedUrl,
        port: u16,
        is_tls: bool,
    ) -> Result<Box<dyn Stream>, Box<dyn std::error::Error + Send + Sync>> {
        let policy = if to.is_ours { TargetPolicy::AllowPrivate } else { self.targets };
        let guard = Guard { resolver: Arc::clone(&self.resolver), policy };
        let addresses = match literal(&to.url) {
            Some(address) => {
                policy.check(address)?;
                vec![address]
            }
            None => guard.addresses(to.url.host_str().unwrap_or_default()).await?,
        };
        let stream = connect(&addresses, port).await?;
        stream.set_nodelay(true)?;
        if !is_tls {
            return Ok(Box::new(stream));
        }
        let name = to.url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let connector = TlsConnector::from(Arc::clone(&self.tls));
        Ok(Box::new(connector.connect(ServerName::try_from(name)?, stream).await?))
    }
}

/// Tries addresses in their order; there is one at least.
async fn connect(addresses: &[IpAddr], port: u16) -> io::Result<TcpStream> {
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses {
        match TcpStream::connect((*address, port)).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// The address that a URL names by itself. Schemes that are not the web's leave it as text.
fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(name) => name.parse().ok(),
    }
}
