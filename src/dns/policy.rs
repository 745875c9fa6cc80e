//! Which addresses may be connected to: a pure function of the address.
//!
//! Everything that the IANA special-purpose registries (RFC 6890 and its successors) do not call
//! globally reachable is refused, and an IPv4 address inside an IPv6 address is judged as itself:
//! `::ffff:10.0.0.1`, `64:ff9b::a00:1` and `2002:a00:1::` all lead to 10.0.0.1.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::Settings;

/// Decides which addresses may be connected to.
#[derive(Clone, Debug, Default)]
pub struct AddressPolicy {
    allow_private: bool,
    allow: Vec<IpNet>,
}

impl AddressPolicy {
    /// Returns the policy that `settings` describe.
    pub fn new(settings: &Settings) -> Self {
        AddressPolicy { allow_private: settings.allow_private, allow: settings.allow.clone() }
    }

    /// Returns true if `address` may be connected to.
    pub fn allows(&self, address: IpAddr) -> bool {
        self.refusal(address).is_none()
    }

    /// Returns why `address` may not be connected to, in words for the log.
    ///
    /// A network in `allow` matches the address itself or the IPv4 address embedded in it.
    /// Multicast, broadcast and unspecified addresses are refused even under `allow_private`: no
    /// web server can have one.
    pub fn refusal(&self, address: IpAddr) -> Option<&'static str> {
        let address = unmapped(address);
        let reason = special(address)?;
        let never = matches!(reason, MULTICAST | BROADCAST | UNSPECIFIED);
        let embedded = match address {
            IpAddr::V6(v6) => embedded_v4(v6).map(IpAddr::V4),
            IpAddr::V4(_) => None,
        };
        let listed = |ip: &IpAddr| self.allow.iter().any(|net| net.contains(ip));
        if listed(&address) || embedded.as_ref().is_some_and(listed) {
            return None;
        }
        (never || !self.allow_private).then_some(reason)
    }
}

const UNSPECIFIED: &str = "unspecified";
const MULTICAST: &str = "multicast";
const BROADCAST: &str = "broadcast";

const SPECIAL_V4: [(Ipv4Net, &str); 16] = [
    (v4_net([255, 255, 255, 255], 32), BROADCAST),
    (v4_net([0, 0, 0, 0], 32), UNSPECIFIED),
    (v4_net([0, 0, 0, 0], 8), "this network"),
    (v4_net([10, 0, 0, 0], 8), "private"),
    (v4_net([100, 64, 0, 0], 10), "shared address space"),
    (v4_net([127, 0, 0, 0], 8), "loopback"),
    (v4_net([169, 254, 0, 0], 16), "link-local"),
    (v4_net([172, 16, 0, 0], 12), "private"),
    (v4_net([192, 0, 0, 0], 24), "protocol assignments"),
    (v4_net([192, 0, 2, 0], 24), "documentation"),
    (v4_net([192, 88, 99, 0], 24), "6to4 relay"),
    (v4_net([192, 168, 0, 0], 16), "private"),
    (v4_net([198, 18, 0, 0], 15), "benchmarking"),
    (v4_net([198, 51, 100, 0], 24), "documentation"),
    (v4_net([203, 0, 113, 0], 24), "documentation"),
    (v4_net([224, 0, 0, 0], 4), MULTICAST),
];
const RESERVED_V4: Ipv4Net = v4_net([240, 0, 0, 0], 4);

const SPECIAL_V6: [(Ipv6Net, &str); 12] = [
    (v6_net([0, 0, 0, 0, 0, 0, 0, 0], 128), UNSPECIFIED),
    (v6_net([0, 0, 0, 0, 0, 0, 0, 1], 128), "loopback"),
    (v6_net([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), "local translation"),
    (v6_net([0x100, 0, 0, 0, 0, 0, 0, 0], 64), "discard only"),
    (v6_net([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), "documentation"),
    (v6_net([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "documentation"),
    (v6_net([0x2001, 2, 0, 0, 0, 0, 0, 0], 48), "benchmarking"),
    (v6_net([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16), "segment routing"),
    (v6_net([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "private"),
    (v6_net([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "link-local"),
    (v6_net([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), "site-local"),
    (v6_net([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), MULTICAST),
];
// Where no special range applies, only this range is in use on the public net (RFC 4291 §2.4), and
// the well-known translation prefix, whose embedded address is judged instead.
const GLOBAL_V6: Ipv6Net = v6_net([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);
const TRANSLATED: Ipv6Net = v6_net([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);
const COMPATIBLE: Ipv6Net = v6_net([0, 0, 0, 0, 0, 0, 0, 0], 96);
const SIX_TO_FOUR: Ipv6Net = v6_net([0x2002, 0, 0, 0, 0, 0, 0, 0], 16);
const TEREDO: Ipv6Net = v6_net([0x2001, 0, 0, 0, 0, 0, 0, 0], 32);

fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => special_v4(v4),
        IpAddr::V6(v6) => special_v6(v6),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    let named = SPECIAL_V4.iter().find(|(net, _)| net.contains(&address)).map(|(_, why)| *why);
    named.or_else(|| RESERVED_V4.contains(&address).then_some("reserved"))
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    if let Some((_, why)) = SPECIAL_V6.iter().find(|(net, _)| net.contains(&address)) {
        return Some(why);
    }
    match embedded_v4(address) {
        Some(v4) => special_v4(v4),
        None => (!GLOBAL_V6.contains(&address)).then_some("not global"),
    }
}

/// Returns the IPv4 address that a packet to `address` would reach in the end.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let octets = address.octets();
    let at = |i: usize| Ipv4Addr::new(octets[i], octets[i + 1], octets[i + 2], octets[i + 3]);
    if SIX_TO_FOUR.contains(&address) {
        Some(at(2))
    } else if TEREDO.contains(&address) {
        // The client's address stands inverted in the last four bytes (RFC 4380 §4).
        Some(Ipv4Addr::from(!u32::from(at(12))))
    } else if TRANSLATED.contains(&address) || COMPATIBLE.contains(&address) {
        Some(at(12))
    } else {
        None
    }
}

fn unmapped(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

const fn v4_net(o: [u8; 4], bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(o[0], o[1], o[2], o[3]), bits)
}

const fn v6_net(s: [u16; 8], bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]), bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(policy: &AddressPolicy, address: &str, want: Option<&str>) {
        let ip: IpAddr = address.parse().unwrap();
        assert_eq!(policy.refusal(ip), want, "{address}");
    }

    #[test]
    fn special_addresses_are_refused_with_their_reason() {
        let cases = [
            ("0.0.0.0", "unspecified"),
            ("0.1.2.3", "this network"),
            ("10.0.0.1", "private"),
            ("100.64.0.1", "shared address space"),
            ("100.127.255.255", "shared address space"),
            ("127.0.0.1", "loopback"),
            ("127.255.255.254", "loopback"),
            ("169.254.169.254", "link-local"),
            ("172.16.0.1", "private"),
            ("172.31.255.255", "private"),
            ("192.0.0.8", "protocol assignments"),
            ("192.0.2.1", "documentation"),
            ("192.88.99.1", "6to4 relay"),
            ("192.168.1.1", "private"),
            ("198.19.255.255", "benchmarking"),
            ("198.51.100.7", "documentation"),
            ("203.0.113.7", "documentation"),
            ("224.0.0.1", "multicast"),
            ("240.0.0.1", "reserved"),
            ("255.255.255.255", "broadcast"),
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("::ffff:127.0.0.1", "loopback"),
            ("::ffff:10.0.0.1", "private"),
            ("::127.0.0.1", "loopback"),
            ("64:ff9b::10.0.0.1", "private"),
            ("64:ff9b::169.254.169.254", "link-local"),
            ("64:ff9b:1::1", "local translation"),
            ("100::1", "discard only"),
            ("2001:db8::1", "documentation"),
            ("3fff::1", "documentation"),
            ("2001:2::1", "benchmarking"),
            ("2002:7f00:1::", "loopback"),
            ("2002:a00:1::1", "private"),
            // Teredo with the client 127.0.0.1, inverted.
            ("2001:0:4136:e378:8000:63bf:80ff:fffe", "loopback"),
            ("5f00::1", "segment routing"),
            ("fc00::1", "private"),
            ("fd12:3456::1", "private"),
            ("fe80::1", "link-local"),
            ("fec0::1", "site-local"),
            ("ff02::1", "multicast"),
            ("4000::1", "not global"),
        ];
        for (address, want) in cases {
            check(&AddressPolicy::default(), address, Some(want));
        }
    }

    #[test]
    fn public_addresses_are_allowed() {
        let cases = [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "64:ff9b::1.1.1.1",
            "::ffff:8.8.8.8",
            "2002:101:101::1",
        ];
        for address in cases {
            check(&AddressPolicy::default(), address, None);
        }
    }

    #[test]
    fn an_allowed_network_opens_just_itself() {
        let settings =
            Settings { allow: vec!["127.0.0.0/8".parse().unwrap()], ..Settings::default() };
        let policy = AddressPolicy::new(&settings);
        check(&policy, "127.0.0.1", None);
        check(&policy, "::ffff:127.0.0.1", None);
        check(&policy, "64:ff9b::127.0.0.1", None);
        check(&policy, "::1", Some("loopback"));
        check(&policy, "10.0.0.1", Some("private"));
    }

    #[test]
    fn allowing_private_addresses_does_not_allow_nonsense() {
        let settings = Settings { allow_private: true, ..Settings::default() };
        let policy = AddressPolicy::new(&settings);
        for address in ["127.0.0.1", "10.0.0.1", "::1", "fe80::1", "192.0.2.1"] {
            check(&policy, address, None);
        }
        check(&policy, "0.0.0.0", Some("unspecified"));
        check(&policy, "224.0.0.1", Some("multicast"));
        check(&policy, "255.255.255.255", Some("broadcast"));
        check(&policy, "ff02::1", Some("multicast"));
    }
}
