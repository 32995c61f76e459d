//! What a connection needs of this process and its machine, and what may run out.

use std::io;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};

/// This process or its machine has run out of something. It says nothing about the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("out of {0}")]
pub(crate) struct OutOf(pub(crate) &'static str);

impl OutOf {
    /// Whether an error means that something has run out.
    pub(super) fn of(error: &io::Error) -> Option<Self> {
        match error.raw_os_error()? {
            libc::EMFILE | libc::ENFILE => Some(Self("open files")),
            libc::ENOMEM | libc::ENOBUFS => Some(Self("memory")),
            _ => None,
        }
    }

    /// The same for an error while an address was dialled.
    pub(super) fn of_dialling(error: &io::Error, address: IpAddr) -> Option<Self> {
        Self::of(error).or_else(|| {
            let is_unavailable = error.kind() == io::ErrorKind::AddrNotAvailable;
            (is_unavailable && has_family(address)).then_some(Self("local ports"))
        })
    }
}

/// Whether the machine has addresses of a family. Without IPv6, every address of IPv6 is unavailable,
/// and will be so.
fn has_family(address: IpAddr) -> bool {
    address.is_ipv4() || UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_out_here_is_told_from_failures_of_targets() {
        let here = IpAddr::from([127, 0, 0, 1]);
        for (code, expected) in [
            (libc::EMFILE, Some("open files")),
            (libc::ENFILE, Some("open files")),
            (libc::ENOMEM, Some("memory")),
            (libc::ENOBUFS, Some("memory")),
            (libc::EADDRNOTAVAIL, Some("local ports")),
            (libc::ECONNREFUSED, None),
            (libc::ENETUNREACH, None),
            (libc::ETIMEDOUT, None),
        ] {
            let error = io::Error::from_raw_os_error(code);
            assert_eq!(OutOf::of_dialling(&error, here).map(|it| it.0), expected, "{error}");
        }
    }
}
