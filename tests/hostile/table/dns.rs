//! Names that lead nowhere, inside, or elsewhere the next time.

use std::net::Ipv6Addr;

use crate::hostile::site::{ADDRESS, http_by};
use crate::hostile::world::{Case, case};
use crate::loopback::name_server::Reply as Dns;

pub(crate) fn cases() -> Vec<Case> {
    let named = |id: &'static str, does: &'static str, reply: Dns| {
        case(id, does, http_by(|_| None)).zone(&[("bad.test", reply)])
    };
    let lost = |id: &'static str, does: &'static str, reply: Dns| {
        named(id, does, reply)
            .at("/", "failed host-given-up|refused robots-unreachable")
            .requests(0)
            .lost()
    };
    vec![
        lost("dns_nxdomain", "the name does not exist", Dns::Code(3)),
        lost("dns_timeout", "the name server is silent", Dns::Silence),
        lost("dns_private", "a private address", Dns::V4(vec![[10, 0, 0, 1]], 60)),
        lost("dns_wrongid", "answers to other questions", Dns::WrongId(ADDRESS)),
        lost("dns_v6only", "IPv6 loopback and nothing else", Dns::V6(Ipv6Addr::LOCALHOST)),
        case("dns_invalid", "a name that can never exist", http_by(|_| None))
            .seeds(&["/", "http://host.invalid:PORT/"])
            .at("http://host.invalid:PORT/", "failed host-given-up|refused robots-unreachable"),
        lost("x_dns_servfail", "the name server fails", Dns::Code(2)),
        lost("x_dns_refused", "the name server refuses", Dns::Code(5)),
        lost("x_dns_none", "no address at all", Dns::V4(Vec::new(), 60)),
        lost("x_dns_garbage", "bytes that are no answer", Dns::Garbage),
        lost("x_dns_alias_loop", "an alias of itself", Dns::Alias("bad.test")),
        lost("x_dns_metadata", "the metadata of a cloud", Dns::V4(vec![[169, 254, 169, 254]], 60)),
        lost("x_dns_zero", "the address of zeros", Dns::V4(vec![[0, 0, 0, 0]], 60)),
        lost("x_dns_broadcast", "the address of everybody", Dns::V4(vec![[255; 4]], 60)),
        lost("x_dns_multicast", "a group address", Dns::V4(vec![[224, 0, 0, 1]], 60)),
        lost(
            "x_dns_mapped",
            "loopback within IPv6",
            Dns::V6(std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped()),
        ),
        lost("x_dns_nat64", "loopback behind NAT64", Dns::V6("64:ff9b::7f00:1".parse().unwrap())),
        lost("x_dns_ula", "a local IPv6 address", Dns::V6("fd00::1".parse().unwrap())),
        lost(
            "x_dns_link_local",
            "an IPv6 address of the link",
            Dns::V6("fe80::1".parse().unwrap()),
        ),
        case("x_dns_alias_chain", "an alias of an alias, twelve deep", http_by(|_| None))
            .zone(&[
                ("bad.test", Dns::Alias("c1.test")),
                ("c1.test", Dns::Alias("c2.test")),
                ("c2.test", Dns::Alias("c3.test")),
                ("c3.test", Dns::Alias("c4.test")),
                ("c4.test", Dns::Alias("c5.test")),
                ("c5.test", Dns::Alias("c6.test")),
                ("c6.test", Dns::Alias("c7.test")),
                ("c7.test", Dns::Alias("c8.test")),
                ("c8.test", Dns::Alias("c9.test")),
                ("c9.test", Dns::Alias("c10.test")),
                ("c10.test", Dns::Alias("c11.test")),
                ("c11.test", Dns::V4(vec![ADDRESS], 60)),
            ])
            .at("/", "done 200|failed host-given-up|refused robots-unreachable")
            .lost(),
        case("x_dns_alias_pair", "two names that are aliases of each other", http_by(|_| None))
            .zone(&[("bad.test", Dns::Alias("c1.test")), ("c1.test", Dns::Alias("bad.test"))])
            .at("/", "failed host-given-up|refused robots-unreachable")
            .requests(0)
            .lost(),
        named("dns_trunc", "answers in full by TCP only", Dns::Cut(ADDRESS)),
        named(
            "x_dns_mixed",
            "an inner address among others",
            Dns::V4(vec![[127, 0, 0, 1], ADDRESS, [10, 0, 0, 1]], 60),
        ),
        named(
            "x_dns_many",
            "20 addresses, of which one answers",
            Dns::V4((100..119).map(|n| [10, 0, 0, n]).chain([ADDRESS]).collect(), 60),
        ),
        named("x_dns_ttl_huge", "an answer for 136 years", Dns::V4(vec![ADDRESS], u32::MAX)),
        case("dns_rebind", "one address at first, an inner one next", http_by(|_| None))
            .zone(&[("bad.test", Dns::Rebind(ADDRESS, [127, 0, 0, 1]))])
            .with(|limits| {
                limits.dns.ttl_min = crawler::clock::Span::millis(0);
            })
            .lost(),
        case("x_dns_rebind_cached", "the same, while the first answer is kept", http_by(|_| None))
            .zone(&[("bad.test", Dns::Rebind(ADDRESS, [127, 0, 0, 1]))]),
    ]
}
