//! Resolution of names into addresses. Only allowed addresses are returned.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::policy::TargetPolicy;

/// Resolves names.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// Returns all addresses of a name, in the order in which they should be tried.
    ///
    /// # Errors
    ///
    /// If the name has no address, or the name servers do not answer.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Resolves names as the operating system does: with its hosts file, name servers and precedence.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let addresses = tokio::net::lookup_host((name, 0)).await?;
        Ok(addresses.map(|address| address.ip()).collect())
    }
}

/// A resolver that drops forbidden addresses.
///
/// The address that is checked is the address that is dialled, so a name that changes its address in
/// between cannot get around the policy.
#[derive(Clone)]
pub(super) struct GuardedResolver {
    pub(super) resolver: Arc<dyn Resolver>,
    pub(super) policy: TargetPolicy,
}

impl GuardedResolver {
    /// Returns the allowed addresses of a name: at least one.
    pub(super) async fn addresses(
        &self,
        name: &str,
    ) -> Result<Vec<IpAddr>, Box<dyn Error + Send + Sync>> {
        let found = self.resolver.resolve(name).await.map_err(Unresolved)?;
        allowed(self.policy, found)
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let addresses = resolver.addresses(name.as_str()).await?;
            // The HTTP client replaces port 0 with the port of the URL.
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

fn allowed(
    policy: TargetPolicy,
    found: Vec<IpAddr>,
) -> Result<Vec<IpAddr>, Box<dyn Error + Send + Sync>> {
    let (mut allowed, mut first_forbidden) = (Vec::with_capacity(found.len()), None);
    for address in found {
        match policy.check(address) {
            Ok(()) => allowed.push(address),
            Err(forbidden) => first_forbidden = first_forbidden.or(Some(forbidden)),
        }
    }
    match first_forbidden {
        Some(forbidden) if allowed.is_empty() => Err(Box::new(forbidden)),
        _ if allowed.is_empty() => Err(Box::new(Unresolved(io::ErrorKind::NotFound.into()))),
        _ => Ok(allowed),
    }
}

/// A name without an address.
#[derive(Debug, thiserror::Error)]
#[error("the name could not be resolved")]
pub(crate) struct Unresolved(#[source] io::Error);
