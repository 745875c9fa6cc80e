//! What can be set about names and addresses.

use std::net::SocketAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::clock::Span;

/// Settings of name resolution and of the address policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// Name servers as `"address:port"`, asked in this order; empty means the system's
    /// (`/etc/resolv.conf` and `/etc/hosts`).
    pub servers: Vec<SocketAddr>,
    /// How long one question to one server may take. Two seconds are four slow round trips.
    pub timeout: Span,
    /// How often a question is put again to a silent server.
    pub attempts: usize,
    /// Wall-clock limit of one resolution, all servers, attempts and aliases together; the wait for
    /// its turn, where `in_flight_max` are under way, is not part of it.
    pub total: Span,
    /// Which addresses to ask for. IPv4 first halves the questions, since nearly every host has
    /// it.
    pub family: Family,
    /// Names kept in memory at most; about 300 bytes each.
    pub cache_max: usize,
    /// Answers are kept at least so long, whatever their TTL: a TTL of zero must not mean one
    /// question per page.
    pub ttl_min: Span,
    /// Answers are kept at most so long, so that a host that moves is found again within a day.
    pub ttl_max: Span,
    /// How long a name is taken not to exist after the first such answer; doubles with each.
    pub negative_min: Span,
    /// Where that doubling ends.
    pub negative_max: Span,
    /// How long a failure of the name servers is remembered; doubles with each. Shorter than for
    /// missing names: the servers may be back at any moment.
    pub failed_min: Span,
    /// Where that doubling ends.
    pub failed_max: Span,
    /// Questions under way at once, for the name servers' sake.
    pub in_flight_max: usize,
    /// Connect to private, loopback, link-local and other special addresses too.
    pub allow_private: bool,
    /// Networks that may be connected to although they are special, such as `"127.0.0.0/8"`.
    pub allow: Vec<IpNet>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            servers: Vec::new(),
            timeout: Span::secs(2),
            attempts: 2,
            total: Span::secs(10),
            family: Family::Ipv4First,
            cache_max: 100_000,
            ttl_min: Span::secs(60),
            ttl_max: Span::secs(24 * 3600),
            negative_min: Span::secs(15),
            negative_max: Span::secs(15 * 60),
            failed_min: Span::secs(5),
            failed_max: Span::secs(60),
            in_flight_max: 64,
            allow_private: false,
            allow: Vec::new(),
        }
    }
}

/// Which kinds of address to ask for, in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// IPv4; IPv6 only where a name has no IPv4 address.
    Ipv4First,
    /// IPv6; IPv4 only where a name has no IPv6 address.
    Ipv6First,
    /// Both, IPv4 before IPv6.
    Both,
    /// IPv4 only.
    Ipv4,
    /// IPv6 only.
    Ipv6,
}
