//! Connections for protocols other than HTTP. They follow the same rules: only allowed addresses are
//! dialled, and with TLS the server has to present a trusted certificate.

use std::error::Error;
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

use super::endpoint::ResolvedUrl;
use super::policy::{TargetPolicy, literal_address};
use super::resolve::{GuardedResolver, Resolver};

/// A connection, with TLS or without.
pub(crate) trait Stream: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin> Stream for S {}

/// Opens connections.
pub(crate) struct Dialer {
    pub(super) resolver: Arc<dyn Resolver>,
    pub(super) targets: TargetPolicy,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) connect_time_max: Duration,
}

impl Dialer {
    /// Opens a connection within the time limit.
    pub(crate) async fn dial(
        &self,
        to: &ResolvedUrl,
        port: u16,
        is_tls: bool,
    ) -> Result<Box<dyn Stream>, Box<dyn Error + Send + Sync>> {
        let opened = tokio::time::timeout(self.connect_time_max, self.open(to, port, is_tls)).await;
        opened.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
    }

    async fn open(
        &self,
        to: &ResolvedUrl,
        port: u16,
        is_tls: bool,
    ) -> Result<Box<dyn Stream>, Box<dyn Error + Send + Sync>> {
        let policy = if to.is_from_settings { TargetPolicy::AllowPrivate } else { self.targets };
        let resolver = GuardedResolver { resolver: Arc::clone(&self.resolver), policy };
        let addresses = match literal_address(&to.url) {
            Some(address) => {
                policy.check(address)?;
                vec![address]
            }
            None => resolver.addresses(to.url.host_str().unwrap_or_default()).await?,
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

/// Tries addresses in their order. There is at least one.
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
