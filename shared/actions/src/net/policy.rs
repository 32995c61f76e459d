//! The addresses that a job may reach.
//!
//! A scheduler calls targets that its users name, and often runs inside a private network. Without a
//! policy it would be a way around the firewall. The policy is a function of one address. It is
//! applied just before a connection is opened, so that the checked address is the dialled address.
//!
//! Link-local addresses and metadata services give out credentials of the machine, and are never
//! targets. Other addresses that are not public are targets with [`TargetPolicy::AllowPrivate`].
//! On Lambda, the machine itself is never a target either: its runtime API, on loopback, hands out and
//! acknowledges the messages of other jobs without authentication.
//!
//! For an IPv6 address that embeds an IPv4 address, both are checked. Of translated addresses, only
//! the NAT64 well-known prefix can be public: networks without IPv4 reach public IPv4 hosts with it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// The addresses that jobs may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetPolicy {
    /// Only public addresses.
    PublicOnly,
    /// Public and private addresses, but not those of the machine itself.
    AllowPrivateNotLoopback,
    /// Public, private and loopback addresses.
    AllowPrivate,
}

impl TargetPolicy {
    /// Checks that an address may be reached.
    ///
    /// # Errors
    ///
    /// If the address is forbidden. The error says what would change that.
    pub fn check(self, address: IpAddr) -> Result<(), Forbidden> {
        let Some((rule, reach)) = rule(address) else {
            return Ok(());
        };
        match (self, reach) {
            (Self::AllowPrivate | Self::AllowPrivateNotLoopback, Reach::Private)
            | (Self::AllowPrivate, Reach::Loopback) => Ok(()),
            (Self::AllowPrivateNotLoopback | Self::PublicOnly | Self::AllowPrivate, _) => {
                Err(Forbidden { address, rule, reach, policy: self })
            }
        }
    }

    /// Checks a URL whose host is an address and not a name: names are checked when they are
    /// resolved, and such a URL needs no resolver.
    pub(crate) fn check_url(self, url: &Url) -> Result<(), Forbidden> {
        literal_address(url).map_or(Ok(()), |address| self.check(address))
    }
}

/// An address that the policy forbids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    address: IpAddr,
    rule: &'static str,
    reach: Reach,
    policy: TargetPolicy,
}

impl std::error::Error for Forbidden {}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, rule, reach, policy } = self;
        match (reach, policy) {
            (Reach::Never, _) => write!(
                f,
                "{address} is {rule}, which is never a target; give the job another address"
            ),
            (Reach::Loopback, TargetPolicy::AllowPrivateNotLoopback) => {
                write!(
                    f,
                    "{address} is {rule}, which is never a target on Lambda; give the job another address"
                )
            }
            (Reach::Loopback | Reach::Private, _) => write!(
                f,
                "{address} is {rule}, and only public addresses are targets here; \
                 --allow-private-targets changes that, and Targets=private on AWS"
            ),
        }
    }
}

/// The policy under which an address that is not public may be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// No policy.
    Never,
    /// [`TargetPolicy::AllowPrivate`]: the address is of the machine itself.
    Loopback,
    /// Every policy that allows private addresses.
    Private,
}

use Reach::{Loopback, Never, Private};

/// IPv4 networks that are not public. The first one that contains an address decides.
const NETWORKS_V4: [(Ipv4Addr, u32, &str, Reach); 18] = [
    (v4([169, 254, 0, 0]), 16, "link-local (169.254.0.0/16)", Never),
    (v4([100, 100, 100, 200]), 32, "a metadata service (Alibaba Cloud)", Never),
    (v4([168, 63, 129, 16]), 32, "a metadata service (Azure)", Never),
    (v4([192, 0, 0, 192]), 32, "a metadata service (Oracle Cloud)", Never),
    (v4([127, 0, 0, 0]), 8, "loopback (127.0.0.0/8)", Loopback),
    (v4([10, 0, 0, 0]), 8, "private (10.0.0.0/8)", Private),
    (v4([172, 16, 0, 0]), 12, "private (172.16.0.0/12)", Private),
    (v4([192, 168, 0, 0]), 16, "private (192.168.0.0/16)", Private),
    (v4([100, 64, 0, 0]), 10, "shared by a provider (100.64.0.0/10)", Private),
    (v4([0, 0, 0, 0]), 8, "this machine (0.0.0.0/8)", Loopback),
    (v4([192, 0, 0, 0]), 24, "reserved (192.0.0.0/24)", Private),
    (v4([192, 0, 2, 0]), 24, "for documentation (192.0.2.0/24)", Private),
    (v4([198, 51, 100, 0]), 24, "for documentation (198.51.100.0/24)", Private),
    (v4([203, 0, 113, 0]), 24, "for documentation (203.0.113.0/24)", Private),
    (v4([192, 88, 99, 0]), 24, "a relay of 6to4 (192.88.99.0/24)", Private),
    (v4([198, 18, 0, 0]), 15, "for benchmarks (198.18.0.0/15)", Private),
    (v4([224, 0, 0, 0]), 4, "multicast (224.0.0.0/4)", Private),
    (v4([240, 0, 0, 0]), 4, "reserved (240.0.0.0/4)", Private),
];

/// IPv6 networks that are not public. The first one that contains an address decides.
const NETWORKS_V6: [(Ipv6Addr, u32, &str, Reach); 16] = [
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0]), 10, "link-local (fe80::/10)", Never),
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0]), 32, "a metadata service (AWS, fd00:ec2::/32)", Never),
    (v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254]), 128, "a metadata service (Google Cloud)", Never),
    (v6([0, 0, 0, 0, 0, 0, 0, 1]), 128, "loopback (::1)", Loopback),
    (v6([0, 0, 0, 0, 0, 0, 0, 0]), 128, "this machine (::)", Loopback),
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
    // Everything outside of 2000::/3. Addresses that are assigned in the future may be private.
    (v6([0, 0, 0, 0, 0, 0, 0, 0]), 0, "reserved (not in 2000::/3)", Private),
];

/// The network from which public IPv6 addresses are assigned.
const GLOBAL_V6: (Ipv6Addr, u32) = (v6([0x2000, 0, 0, 0, 0, 0, 0, 0]), 3);

const fn v4(octets: [u8; 4]) -> Ipv4Addr {
    Ipv4Addr::from_octets(octets)
}

const fn v6(segments: [u16; 8]) -> Ipv6Addr {
    Ipv6Addr::from_segments(segments)
}

/// The rule against an address; `None` if the address is public.
fn rule(address: IpAddr) -> Option<(&'static str, Reach)> {
    match address {
        IpAddr::V4(address) => rule_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(Embedded::Same(inner)) => rule_v4(inner),
            Some(Embedded::Translated(inner)) => {
                rule_v4(inner).filter(is_stricter).or_else(|| rule_v6(address))
            }
            // How long the prefix of a local NAT64 is, only its network knows.
            None if is_local_nat64(address) => NAT64_LENGTHS
                .into_iter()
                .find_map(|length| {
                    rule_v4(behind_prefix(address, length)).filter(|(_, reach)| *reach == Never)
                })
                .or_else(|| rule_v6(address)),
            None => rule_v6(address),
        },
    }
}

/// Whether the rule about an embedded address decides before the rule about the whole address.
fn is_stricter((_, reach): &(&'static str, Reach)) -> bool {
    matches!(reach, Never | Loopback)
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
        // The last row, with length 0, is for addresses outside of the public network.
        .find(|(network, length, ..)| within(network, *length) && !(is_global && *length == 0))
        .map(|(_, _, rule, reach)| (*rule, *reach))
}

/// Whether two addresses differ only in their `last` lowest bits.
const fn is_within(address: u128, network: u128, last: u32) -> bool {
    // Without a prefix, all addresses are equal.
    match address.checked_shr(last) {
        Some(prefix) => prefix == network >> last,
        None => true,
    }
}

/// An IPv4 address that is embedded in an IPv6 address.
enum Embedded {
    /// Both addresses always reach the same machine.
    Same(Ipv4Addr),
    /// A router on the way may translate the IPv6 address into the IPv4 address.
    Translated(Ipv4Addr),
}

fn embedded(address: Ipv6Addr) -> Option<Embedded> {
    let joined =
        |high: u16, low: u16| Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        // IPv4-mapped, and NAT64 with the well-known prefix.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(Embedded::Same(joined(high, low)))
        }
        // `::` and `::1` have rows of their own in the table.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        // IPv4-compatible, IPv4-translated (SIIT), and 6to4.
        [0, 0, 0, 0, 0 | 0xffff, 0, high, low] | [0x2002, high, low, ..] => {
            Some(Embedded::Translated(joined(high, low)))
        }
        // Teredo: the address of the client, with inverted bits.
        [0x2001, 0, .., high, low] => Some(Embedded::Translated(joined(!high, !low))),
        _ => None,
    }
}

/// The lengths of prefixes in the network of local NAT64 (RFC 6052, section 2.2).
const NAT64_LENGTHS: [u32; 4] = [48, 56, 64, 96];

const fn is_local_nat64(address: Ipv6Addr) -> bool {
    matches!(address.segments(), [0x64, 0xff9b, 1, ..])
}

/// The IPv4 address behind a prefix of NAT64. The octet in bits 64 to 71 does not belong to it.
fn behind_prefix(address: Ipv6Addr, length: u32) -> Ipv4Addr {
    const UNUSED: usize = 8;
    let octets = address.octets();
    let from = usize::try_from(length / 8).unwrap_or_default();
    let mut behind = (from..octets.len()).filter(|at| *at != UNUSED || length == 96);
    let mut next = || behind.next().and_then(|at| octets.get(at)).copied().unwrap_or_default();
    Ipv4Addr::new(next(), next(), next(), next())
}

/// The address of a URL whose host is not a name.
pub(super) fn literal_address(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        // Schemes other than those of the web leave an IPv4 address as a name.
        Host::Domain(name) => name.parse().ok(),
    }
}

/// Whether the host of a URL is this machine itself.
#[must_use]
pub fn is_on_loopback(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    literal_address(&url).map_or(url.host_str() == Some("localhost"), |it| it.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_on_loopback_by_its_address_or_as_localhost() {
        for url in ["http://127.0.0.1:4566", "https://localhost:1", "http://[::1]:8/x"] {
            assert!(is_on_loopback(url), "{url}");
        }
        let others =
            ["http://10.0.0.1", "https://localhost.example", "https://127.0.0.1.example", "", "x"];
        for url in others {
            assert!(!is_on_loopback(url), "{url}");
        }
    }

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

    const NEVER: [&str; 24] = [
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
        "64:ff9b:1:a9fe:a9:fe00::",
        "64:ff9b:1:55a9:fe:a9fe::",
        "64:ff9b:1:0:a9:fea9:fe00::",
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
    fn private_addresses_are_targets_if_the_policy_allows_them() {
        check(TargetPolicy::PublicOnly, false, &PRIVATE);
        check(TargetPolicy::AllowPrivate, true, &PRIVATE);
    }

    /// Addresses in `PRIVATE` that reach, or may reach, the machine itself.
    const LOOPBACK: [&str; 12] = [
        "0.0.0.0",
        "0.1.2.3",
        "127.0.0.1",
        "127.255.255.255",
        "::",
        "::1",
        // The IPv4-compatible forms of 0.0.0.2 and 127.0.0.1.
        "::2",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "2002:7f00:1::1",
    ];

    #[test]
    fn on_lambda_private_addresses_are_targets_but_never_the_machine_itself() {
        let policy = TargetPolicy::AllowPrivateNotLoopback;
        check(policy, true, &PUBLIC);
        let others = PRIVATE.into_iter().filter(|address| !LOOPBACK.contains(address));
        check(policy, true, &others.collect::<Vec<_>>());
        check(policy, false, &LOOPBACK);
        check(policy, false, &NEVER);
        check(TargetPolicy::PublicOnly, false, &LOOPBACK);
        check(TargetPolicy::AllowPrivate, true, &LOOPBACK);
        let error = policy.check("127.0.0.1".parse().unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "127.0.0.1 is loopback (127.0.0.0/8), which is never a target on Lambda; give the job another address"
        );
    }

    #[test]
    fn link_local_and_metadata_addresses_are_never_targets() {
        check(TargetPolicy::PublicOnly, false, &NEVER);
        check(TargetPolicy::AllowPrivate, false, &NEVER);
    }

    #[test]
    fn the_error_names_the_rule_and_the_flag_that_changes_it() {
        let message = |address: &str| {
            TargetPolicy::PublicOnly.check(address.parse().unwrap()).unwrap_err().to_string()
        };
        assert_eq!(
            message("::ffff:10.0.0.1"),
            "::ffff:10.0.0.1 is private (10.0.0.0/8), and only public addresses are targets here; \
             --allow-private-targets changes that, and Targets=private on AWS"
        );
        assert_eq!(
            message("169.254.169.254"),
            "169.254.169.254 is link-local (169.254.0.0/16), which is never a target; give the job another address"
        );
    }
}
