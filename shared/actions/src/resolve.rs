//! Names into addresses, of which only those that may be reached are handed on.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::policy::TargetPolicy;

/// Finds the addresses of a name.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// All of them, in the order in which they are to be tried.
    ///
    /// # Errors
    ///
    /// If the name has none, or nobody can say.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Asks the system: its hosts file, its name servers, its rules of precedence.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let addresses = tokio::net::lookup_host((name, 0)).await?;
        Ok(addresses.map(|address| address.ip()).collect())
    }
}

/// Stands between names and connections, so that no name, however often it changes its address,
/// leads where none may go.
#[derive(Clone)]
pub(crate) struct Guard {
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) policy: TargetPolicy,
}

impl Guard {
    /// The addresses of a name that may be reached: one at least.
    pub(crate) async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, Unreachable> {
        let found = self.resolver.resolve(name).await.map_err(Unresolved)?;
        allowed(self.policy, found)
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let addresses = guard.addresses(name.as_str()).await?;
            // The port is the URL's, and filled in later.
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

/// Why none of a name's addresses is dialled.
type Unreachable = Box<dyn std::error::Error + Send + Sync>;

/// Keeps the addresses that may be reached.
fn allowed(policy: TargetPolicy, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, Unreachable> {
    let (mut kept, mut forbidden) = (Vec::with_capacity(found.len()), None);
    for address in found {
        match policy.check(address) {
            Ok(()) => kept.push(address),
            Err(why) => forbidden = forbidden.or(Some(why)),
        }
    }
    match forbidden {
        Some(why) if kept.is_empty() => Err(Box::new(why)),
        _ if kept.is_empty() => Err(Box::new(Unresolved(io::ErrorKind::NotFound.into()))),
        _ => Ok(kept),
    }
}

/// A name without an address.
#[derive(Debug, thiserror::Error)]
#[error("the name could not be resolved")]
pub(crate) struct Unresolved(#[source] io::Error);
