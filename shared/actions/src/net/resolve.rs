//! Resolution of names into addresses.

use std::fs::File;
use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};

use async_trait::async_trait;

use super::out_of::OutOf;
use super::policy::{Forbidden, TargetPolicy};

/// Resolves names.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// Returns all addresses of a name, in the order in which they should be tried.
    ///
    /// A caller does not cancel it: what a cancelled call leaves running would not be counted.
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
        let name = name.to_owned();
        let resolved = tokio::task::spawn_blocking(move || addresses(&name)).await;
        resolved.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

fn addresses(name: &str) -> io::Result<Vec<IpAddr>> {
    match (name, 0).to_socket_addrs() {
        Ok(addresses) => Ok(addresses.map(|address| address.ip()).collect()),
        // The system's own resolver reports a name without an address if it cannot open a file.
        Err(error) => match File::open("/dev/null").err().filter(|it| OutOf::of(it).is_some()) {
            Some(reason) => Err(reason),
            None => Err(error),
        },
    }
}

/// Why a name has no address that may be dialled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAddress {
    #[error(transparent)]
    OutOf(#[from] OutOf),
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    /// The name does not exist, or the name servers do not answer.
    #[error("the name could not be resolved")]
    Unresolved,
}

/// The addresses that a policy allows: at least one.
///
/// The address that is checked is the address that is dialled, so a name that changes its address in
/// between cannot get around the policy.
pub(super) fn allowed(policy: TargetPolicy, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, NoAddress> {
    let (mut allowed, mut first_forbidden) = (Vec::with_capacity(found.len()), None);
    for address in found {
        match policy.check(address) {
            Ok(()) => allowed.push(address),
            Err(forbidden) => first_forbidden = first_forbidden.or(Some(forbidden)),
        }
    }
    match first_forbidden {
        Some(forbidden) if allowed.is_empty() => Err(forbidden.into()),
        _ if allowed.is_empty() => Err(NoAddress::Unresolved),
        _ => Ok(allowed),
    }
}
