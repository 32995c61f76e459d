//! Which addresses a job may reach.
//!
//! A scheduler calls what its users name, from inside a network: without a rule it is a way around
//! every firewall. The decision is a function of one address, made when a connection is about to be
//! opened, so that the address that was judged is the one that is dialled.
//!
//! Link-local addresses and those of metadata services hand out credentials of the machine itself,
//! and are never targets. Everything else that is not public is a target only where
//! [`TargetPolicy::AllowPrivate`] says so.
//!
//! An address of version 6 that carries one of version 4 is as forbidden as that one. Of those that
//! are translated, only the well-known prefix of NAT64 can be public: it is how a network of
//! version 6 alone reaches the rest.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Which addresses may be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetPolicy {
    /// Public ones only.
    PublicOnly,
    /// Private and loopback ones too.
    AllowPrivate,
}

impl TargetPolicy {
    /// Whether an address may be reached.
    ///
    /// # Errors
    ///
    /// Why not, in words that say what would change it.
    pub fn check(self, address: IpAddr) -> Result<(), Forbidden> {
        let Some((rule, reach)) = rule(address) else {
            return Ok(());
        };
        match (self, reach) {
            (Self::AllowPrivate, Reach::Private) => Ok(()),
            (Self::AllowPrivate | Self::PublicOnly, Reach::Never | Reach::Private) => {
                Err(Forbidden { address, rule, reach })
            }
        }
    }
}

/// An address that may not be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    address: IpAddr,
    rule: &'static str,
    reach: Reach,
}

impl std::error::Error for Forbidden {}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, rule, reach } = self;
        match reach {
            Reach::Never => write!(f, "{address} is {rule}, which is never a target"),
            Reach::Private => write!(
                f,
                "{address} is {rule}, and only public addresses are targets here; \
                 --allow-private-targets changes that"
            ),
        }
    }
}

/// Who may reach an address that is not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Nobody.
    Never,
    /// Whoever may reach private addresses.
    Private,
}

use Reach::{Never, Private};

/// Networks of version 4 that are not public; the first that holds an address decides.
const NETWORKS_V4: [(Ipv4Addr, u32, &str, Reach); 18] = [
    (v4([169, 254, 0, 0]), 16, "link-local (169.254.0.0/16)", Never),
    (v4([100, 100, 100, 200]), 32, "a metadata service (Alibaba Cloud)", Never),
    (v4([168, 63, 129, 16]), 32, "a metadata service (Azure)", Never),
    (v4([192, 0, 0, 192]), 32, "a metadata service (Oracle Cloud)", Never),
    (v4([127, 0, 0, 0]), 8, "loopback (127.0.0.0/8)", Private),
    (v4([10, 0, 0, 0]), 8, "private (10.0.0.0/8)", Private),
    (v4([172, 16, 0, 0]), 12, "private (172.16.0.0/12)", Private),
    (v4([192, 168, 0, 0]), 16, "private (192.168.0.0/16)", Private),
    (v4([100, 64, 0, 0]), 10, "shared by a provider (100.64.0.0/10)", Private),
    (v4([0, 0, 0, 0]), 8, "this machine (0.0.0.0/8)", Private),
    (v4([192, 0, 0, 0]), 24, "reserved (192.0.0.0/24)", Private),
    (v4([192, 0, 2, 0]), 24, "for documentation (192.0.2.0/24)", Private),
    (v4([198, 51, 100, 0]), 24, "for documentation (198.51.100.0/24)", Private),
    (v4([203, 0, 113, 0]), 24, "for documentation (203.0.113.0/24)", Private),
    (v4([192, 88, 99, 0]), 24, "a relay of 6to4 (192.88.99.0/24)", Private),
    (v4([198, 18, 0, 0]), 15, "for benchmarks (198.18.0.0/15)", Private),
    (v4([224, 0, 0, 0]), 4, "multicast (224.0.0.0/4)", Private),
    (v4([240, 0, 0, 0]), 4, "reserved (240.0.0.0/4)", Private),
];

/// Networks of version 6 that are not public; the first that holds an address decides.
const NETWORKS_V6: [(Ipv6Addr, u32, &str, Reach); 16] = [
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0]), 10, "link-local (fe80::/10)", Never),
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0]), 32, "a metadata service (AWS, fd00:ec2::/32)", Never),
    (v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254]), 128, "a metadata service (Google Cloud)", Never),
    (v6([0, 0, 0, 0, 0, 0, 0, 1]), 128, "loopback (::1)", Private),
    (v6([0, 0, 0, 0, 0, 0, 0, 0]), 128, "this machine (::)", Private),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0]), 7, "private (fc00::/7)", Private),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0]), 10, "private (fec0::/10)", Private),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0]), 8, "multicast (ff00::/8)", Private),
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0]), 48, "a local NAT64 (64:ff9b:1::/48)", Private),
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0]), 32, "for documentation (2001:db8::/32)", Private),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0]), 20, "for documentation (3fff::/20)", Private),
    (
        v6([0x2001, 0, 0, 0, 0, 0, 0, 0]),
        23,
        "for protocols, Teredo among them (2001::/23)",
        Private,
    ),
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0]), 16, "6to4 (2002::/16)", Private),
    (v6([0x100, 0, 0, 0, 0, 0, 0, 0]), 8, "reserved (100::/8, which discards)", Private),
    (v6([0x5f00, 0, 0, 0, 0, 0, 0, 0]), 16, "for segment routing (5f00::/16)", Private),
    // Whatever is given out later is public or not by then, and not by guessing.
    (v6([0, 0, 0, 0, 0, 0, 0, 0]), 0, "reserved (not in 2000::/3)", Private),
];

/// All that is given out as public.
const GLOBAL_V6: (Ipv6Addr, u32) = (v6([0x2000, 0, 0, 0, 0, 0, 0, 0]), 3);

const fn v4(octets: [u8; 4]) -> Ipv4Addr {
    Ipv4Addr::from_octets(octets)
}

const fn v6(segments: [u16; 8]) -> Ipv6Addr {
    Ipv6Addr::from_segments(segments)
}

/// What speaks against an address; `None` if it is public.
fn rule(address: IpAddr) -> Option<(&'static str, Reach)> {
    match address {
        IpAddr::V4(address) => rule_v4(address),
        IpAddr::V6(address) => match carried(address) {
            Some(Carried::Whole(inner)) => rule_v4(inner),
            Some(Carried::Translated(inner)) => {
                rule_v4(inner).filter(|(_, reach)| *reach == Never).or_else(|| rule_v6(address))
            }
            None => rule_v6(address),
        },
    }
}

fn rule_v4(address: Ipv4Addr) -> Option<(&'static str, Reach)> {
    NETWORKS_V4
        .iter()
        .find(|(network, length, ..)| {
            is_within(u128::from(address.to_bits()), u128::from(network.to_bits()), 32 - length)
        })
        .map(|(_, _, rule, reach)| (*rule, *reach))
}

fn rule_v6(address: Ipv6Addr) -> Option<(&'static str, Reach)> {
    let within = |network: &Ipv6Addr, length: u32| {
        is_within(address.to_bits(), network.to_bits(), 128 - length)
    };
    let (global, length) = GLOBAL_V6;
    let is_global = within(&global, length);
    NETWORKS_V6
        .iter()
        // The last row is for what is nowhere else.
        .find(|(network, length, ..)| within(network, *length) && !(is_global && *length == 0))
        .map(|(_, _, rule, reach)| (*rule, *reach))
}

/// Whether two addresses differ only in their last bits.
const fn is_within(address: u128, network: u128, last: u32) -> bool {
    // A shift by all bits leaves nothing to differ.
    match address.checked_shr(last) {
        Some(prefix) => prefix == network >> last,
        None => true,
    }
}

/// An address of version 4 inside one of version 6.
enum Carried {
    /// Both are the same machine, whoever sends.
    Whole(Ipv4Addr),
    /// A machine on the way may make the one of the other.
    Translated(Ipv4Addr),
}

fn carried(address: Ipv6Addr) -> Option<Carried> {
    let joined =
        |high: u16, low: u16| Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        // Mapped, and NAT64 at its well-known prefix.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(Carried::Whole(joined(high, low)))
        }
        // `::` and `::1` have rows of their own.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        // Compatible, translated (SIIT), and NAT64 at a local prefix; 6to4.
        [0, 0, 0, 0, 0 | 0xffff, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low]
        | [0x2002, high, low, ..] => Some(Carried::Translated(joined(high, low))),
        // Teredo: the client, inverted.
        [0x2001, 0, .., high, low] => Some(Carried::Translated(joined(!high, !low))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(policy: TargetPolicy, expected: bool, addresses: &[&str]) {
        for address in addresses {
            let answer = policy.check(address.parse().unwrap());
            assert_eq!(answer.is_ok(), expected, "{policy:?} {address}: {answer:?}");
        }
    }

    const PUBLIC: [&str; 20] = [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "128.0.0.1",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.1",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2001:4860:4860::8888",
        "2001:200::1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
    ];

    const PRIVATE: [&str; 47] = [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::2",
        "::7f00:1",
        "::8.8.8.8",
        "::ffff:127.0.0.1",
        "::ffff:10.1.2.3",
        "::ffff:0:8.8.8.8",
        "64:ff9b::10.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b:1::8.8.8.8",
        "64:ff9b:2::1",
        "100::1",
        "2001::1",
        "2001:10::1",
        "2001:db8::1",
        "2002:808:808::1",
        "2002:7f00:1::1",
        "3fff::1",
        "4000::1",
        "5f00::1",
        "fc00::1",
        "fdff::1",
        "fec0::1",
        "ff02::1",
    ];

    const NEVER: [&str; 21] = [
        "169.254.0.0",
        "169.254.169.254",
        "169.254.170.2",
        "169.254.255.255",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fe80::1",
        "febf::1",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "::ffff:169.254.169.254",
        "::ffff:a9fe:a9fe",
        "::169.254.169.254",
        "::ffff:0:169.254.169.254",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::169.254.169.254",
        "2002:a9fe:a9fe::1",
        // Teredo: the inverse of 169.254.169.254.
        "2001:0:1:2::5601:5601",
        "::ffff:168.63.129.16",
    ];

    #[test]
    fn public_addresses_are_targets() {
        check(TargetPolicy::PublicOnly, true, &PUBLIC);
        check(TargetPolicy::AllowPrivate, true, &PUBLIC);
    }

    #[test]
    fn private_addresses_are_targets_where_they_are_allowed() {
        check(TargetPolicy::PublicOnly, false, &PRIVATE);
        check(TargetPolicy::AllowPrivate, true, &PRIVATE);
    }

    #[test]
    fn link_local_and_metadata_addresses_are_never_targets() {
        check(TargetPolicy::PublicOnly, false, &NEVER);
        check(TargetPolicy::AllowPrivate, false, &NEVER);
    }

    #[test]
    fn a_forbidden_address_is_told_with_the_rule_and_what_changes_it() {
        let told = |address: &str| {
            TargetPolicy::PublicOnly.check(address.parse().unwrap()).unwrap_err().to_string()
        };
        assert_eq!(
            told("::ffff:10.0.0.1"),
            "::ffff:10.0.0.1 is private (10.0.0.0/8), and only public addresses are targets here; \
             --allow-private-targets changes that"
        );
        assert_eq!(
            told("169.254.169.254"),
            "169.254.169.254 is link-local (169.254.0.0/16), which is never a target"
        );
    }
}
