//! Opens connections: to allowed addresses only, and with TLS only to a server that presents a
//! trusted certificate.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::endpoint::ResolvedUrl;
use super::lookup::Lookups;
use super::out_of::OutOf;
use super::policy::TargetPolicy;
use super::resolve::allowed;

/// The maximum number of addresses of a name that are tried.
const ADDRESSES_MAX: usize = 8;

/// How long an address is tried before the next one is tried beside it.
const HEAD_START: Duration = Duration::from_millis(300);

/// A connection, with TLS or without.
pub(crate) trait Stream: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin> Stream for S {}

/// Why a connection was not opened.
pub(crate) type DialError = Box<dyn Error + Send + Sync>;

/// Opens connections.
#[derive(Clone)]
pub(crate) struct Dialer {
    pub(super) lookups: Lookups,
    pub(super) targets: TargetPolicy,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) connect_time_max: Duration,
}

impl Dialer {
    /// Opens a connection to the host of a URL.
    pub(crate) async fn dial(
        &self,
        to: &ResolvedUrl,
        port: u16,
        is_tls: bool,
    ) -> Result<Box<dyn Stream>, DialError> {
        let targets = if to.is_from_settings { TargetPolicy::AllowPrivate } else { self.targets };
        let dialer = Self { targets, ..self.clone() };
        dialer.open(to.url.host_str().unwrap_or_default(), port, is_tls).await
    }

    /// Opens a connection to a host. The time limit begins when the addresses of the host are known:
    /// the lookups of other hosts are no reason to fail.
    pub(super) async fn open(
        &self,
        host: &str,
        port: u16,
        is_tls: bool,
    ) -> Result<Box<dyn Stream>, DialError> {
        let host = host.trim_matches(['[', ']']);
        let found = match host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => self.lookups.addresses(host).await?,
        };
        let addresses = allowed(self.targets, found)?;
        let opened = timeout(self.connect_time_max, async {
            let stream = connect(&addresses, port).await?;
            stream.set_nodelay(true)?;
            if !is_tls {
                return Ok(Box::new(stream) as Box<dyn Stream>);
            }
            let connector = TlsConnector::from(Arc::clone(&self.tls));
            let name = ServerName::try_from(host.to_owned())?;
            Ok(Box::new(connector.connect(name, stream).await?) as Box<dyn Stream>)
        });
        opened.await.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
    }
}

/// Connects to the first address that answers. Each has a head start over the next.
async fn connect(addresses: &[IpAddr], port: u16) -> Result<TcpStream, DialError> {
    let mut failure: DialError = Box::new(io::Error::from(io::ErrorKind::NotFound));
    let mut left = addresses.iter().take(ADDRESSES_MAX).peekable();
    let mut attempts = FuturesUnordered::new();
    loop {
        if let Some(address) = left.next() {
            attempts.push(async move { (*address, TcpStream::connect((*address, port)).await) });
        }
        let next = if left.peek().is_some() {
            timeout(HEAD_START, attempts.next()).await
        } else {
            Ok(attempts.next().await)
        };
        match next {
            Ok(Some((_, Ok(stream)))) => return Ok(stream),
            Ok(Some((address, Err(error)))) => match OutOf::of_dialling(&error, address) {
                Some(out_of) => return Err(out_of.into()),
                None => failure = error.into(),
            },
            Ok(None) => return Err(failure),
            // The head start is over.
            Err(_) => {}
        }
    }
}
