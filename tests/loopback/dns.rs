//! Name servers, sound and otherwise.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use crawler::clock::{Clock, Span, Timestamp};
use crawler::dns::{DnsFailure, Family, HickoryResolver, Resolve, Resolved, Settings};
use crawler::fetch::Fetch;
use crawler::url::Host;

use super::client::{answered, fetcher, request, small};
use super::name_server::{NameServer, Reply};
use super::server::{GOOD, Server, answer};

fn settings(server: &NameServer) -> Settings {
    Settings {
        servers: vec![server.address],
        timeout: Span::millis(150),
        attempts: 1,
        total: Span::millis(1_500),
        allow: vec!["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()],
        ..Settings::default()
    }
}

fn resolver(settings: &Settings) -> HickoryResolver {
    let clock = Arc::new(Clock::starting_at(Timestamp::from_millis(1_000)));
    HickoryResolver::new(settings, clock).unwrap()
}

async fn resolve(resolver: &HickoryResolver, host: &str) -> Result<Resolved, DnsFailure> {
    resolver.resolve(&Host::new(host)).await
}

const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

async fn check(name: &str, reply: Reply, want: Result<IpAddr, &str>) {
    let zone = [("bad.test", reply), ("good.test", Reply::V4(vec![[127, 0, 0, 1]], 300))];
    let server = NameServer::start(&zone).await;
    let resolver = resolver(&settings(&server));
    match (resolve(&resolver, "bad.test").await, want) {
        (Ok(resolved), Ok(address)) => assert_eq!(resolved.addresses, [address], "{name}"),
        (Err(DnsFailure::NotFound), Err("not found")) => {}
        (Err(DnsFailure::Refused(_)), Err("refused")) => {}
        (Err(DnsFailure::Failed(why)), Err("failed")) => assert!(!why.is_empty(), "{name}"),
        (got, want) => panic!("{name}: {want:?} expected, {got:?} came"),
    }
    let good = resolve(&resolver, "good.test").await.unwrap();
    assert_eq!(good.addresses, [LOOPBACK], "after {name}");
}

#[tokio::test]
async fn every_kind_of_answer_has_its_verdict() {
    check("dns_one", Reply::V4(vec![[127, 0, 0, 1]], 60), Ok(LOOPBACK)).await;
    check("dns_invalid", Reply::Code(3), Err("not found")).await;
    check("dns_zero", Reply::V4(vec![], 60), Err("not found")).await;
    check("dns_nxdomain", Reply::Code(3), Err("not found")).await;
    check("dns_servfail", Reply::Code(2), Err("failed")).await;
    check("dns_refused", Reply::Code(5), Err("failed")).await;
    check("dns_timeout", Reply::Silence, Err("failed")).await;
    check("dns_garbage", Reply::Garbage, Err("failed")).await;
    check("dns_wrongid", Reply::WrongId([127, 0, 0, 1]), Err("failed")).await;
    check("dns_trunc", Reply::Cut([127, 0, 0, 1]), Ok(LOOPBACK)).await;
    check("dns_private", Reply::V4(vec![[10, 0, 0, 1]], 60), Err("refused")).await;
    check("dns_metadata", Reply::V4(vec![[169, 254, 169, 254]], 60), Err("refused")).await;
    check("dns_v6only", Reply::V6(Ipv6Addr::LOCALHOST), Ok(Ipv6Addr::LOCALHOST.into())).await;
    check("dns_alias", Reply::Alias("good.test"), Ok(LOOPBACK)).await;
    check("dns_alias_loop", Reply::Alias("bad.test"), Err("not found")).await;
}

#[tokio::test]
async fn of_many_addresses_only_the_allowed_ones_are_given_and_all_are_bounded() {
    let mut many: Vec<[u8; 4]> = (1..=20).map(|n| [127, 0, 0, n]).collect();
    many.push([10, 0, 0, 1]);
    let server = NameServer::start(&[("many.test", Reply::V4(many, 60))]).await;
    let got = resolve(&resolver(&settings(&server)), "many.test").await.unwrap();
    assert_eq!((got.addresses.len(), got.refused), (20, vec![IpAddr::from([10, 0, 0, 1])]));
}

#[tokio::test]
async fn only_the_kinds_of_address_that_are_set_are_asked_for() {
    let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
    for (family, want, questions) in [
        (Family::Ipv4First, vec![LOOPBACK], 1),
        (Family::Ipv6First, vec![v6], 1),
        (Family::Both, vec![LOOPBACK, v6], 2),
        (Family::Ipv4, vec![LOOPBACK], 1),
        (Family::Ipv6, vec![v6], 1),
    ] {
        let zone = [("dual.test", Reply::Dual([127, 0, 0, 1], Ipv6Addr::LOCALHOST))];
        let server = NameServer::start(&zone).await;
        let resolver = resolver(&Settings { family, ..settings(&server) });
        assert_eq!(resolve(&resolver, "dual.test").await.unwrap().addresses, want, "{family:?}");
        assert_eq!(server.asked("dual.test"), questions, "{family:?}");
    }
}

#[tokio::test]
async fn whoever_asks_while_a_question_is_under_way_gets_its_answer() {
    let server = NameServer::start(&[("one.test", Reply::V4(vec![[127, 0, 0, 1]], 60))]).await;
    let resolver = resolver(&settings(&server));
    let host = Host::new("one.test");
    let until = Timestamp::from_millis(2_000);
    assert!(!resolver.knows(&host, until));
    let (a, b, c) =
        tokio::join!(resolver.resolve(&host), resolver.resolve(&host), resolver.resolve(&host));
    let answers = [a, b, c].map(|answer| answer.unwrap());
    assert!(answers.iter().all(|answer| answer.addresses == [LOOPBACK]), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| !answer.cached).count(), 1, "{answers:?}");
    assert_eq!(server.asked("one.test"), 1);
    assert!(resolver.knows(&host, until));
    assert!(!resolver.knows(&host, Timestamp::from_millis(61_000)), "its minute is over by then");
}

/// The wait for those that were asked before counted as the name server's: behind names whose
/// servers are silent, hosts that are well could not be resolved, and were given up in the end.
#[tokio::test]
async fn a_name_that_waits_for_its_turn_loses_none_of_its_time() {
    let dead = ["a.test", "b.test", "c.test", "d.test", "e.test", "f.test"];
    let mut zone = dead.map(|name| (name, Reply::Silence)).to_vec();
    zone.push(("good.test", Reply::V4(vec![[127, 0, 0, 1]], 60)));
    let server = NameServer::start(&zone).await;
    let total = Span::millis(400);
    let resolver = resolver(&Settings { in_flight_max: 1, total, ..settings(&server) });
    let lost = futures_util::future::join_all(dead.map(|name| resolve(&resolver, name)));
    let (lost, good) = tokio::join!(lost, resolve(&resolver, "good.test"));
    assert!(lost.iter().all(|lost| matches!(lost, Err(DnsFailure::Failed(_)))), "{lost:?}");
    assert_eq!(good.map(|good| good.addresses), Ok(vec![LOOPBACK]));
}

#[tokio::test]
async fn the_final_dot_keeps_search_domains_out() {
    let server = NameServer::start(&[]).await;
    let resolver = resolver(&settings(&server));
    for host in ["single", "under_score.test", "-hyphen.test", "trailing.test."] {
        assert_eq!(resolve(&resolver, host).await, Err(DnsFailure::NotFound), "{host}");
    }
    let names = server.names();
    for name in ["single", "under_score.test", "-hyphen.test", "trailing.test"] {
        assert!(names.iter().any(|asked| asked == name), "{name} in {names:?}");
    }
    assert!(names.iter().all(|name| name.matches('.').count() < 2), "{names:?}");
}

#[tokio::test]
async fn addresses_in_place_of_names_are_judged_and_never_asked_for() {
    let server = NameServer::start(&[]).await;
    let resolver = resolver(&settings(&server));
    let got = resolve(&resolver, "127.0.0.1").await.unwrap();
    assert_eq!(got.addresses, [LOOPBACK]);
    assert_eq!(resolve(&resolver, "[::1]").await.unwrap().addresses, [Ipv6Addr::LOCALHOST]);
    for host in ["10.0.0.1", "0.0.0.0", "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]", "[fe80::1]"] {
        let got = resolve(&resolver, host).await;
        assert!(matches!(got, Err(DnsFailure::Refused(_))), "{host}: {got:?}");
    }
    assert!(server.names().is_empty());
}

/// Where only the proxy can resolve, every host was given up as a name that does not exist.
#[tokio::test]
async fn names_are_left_to_a_proxy_and_addresses_are_judged() {
    let server = NameServer::start(&[]).await;
    let left = |allow: &[&str]| {
        let allow = allow.iter().map(|net| net.parse().unwrap()).collect();
        resolver(&Settings { allow, ..settings(&server) }).left_to_proxy()
    };
    let resolver = left(&[]);
    let got = resolve(&resolver, "known-to-the-proxy.test").await.unwrap();
    assert_eq!(got.addresses, [] as [std::net::IpAddr; 0]);
    for host in ["10.0.0.1", "127.0.0.1", "[::1]", "localhost", "localhost.", "a.localhost"] {
        let got = resolve(&resolver, host).await;
        assert!(matches!(got, Err(DnsFailure::Refused(_))), "{host}: {got:?}");
    }
    assert_eq!(resolve(&left(&["127.0.0.0/8"]), "localhost").await.unwrap().addresses, [LOOPBACK]);
    assert!(server.names().is_empty());
}

#[tokio::test]
async fn no_spelling_of_an_inner_address_is_let_through() {
    let zone = [
        ("localhost", Reply::V4(vec![[127, 0, 0, 1]], 60)),
        ("inner.test", Reply::V4(vec![[127, 0, 0, 1], [10, 0, 0, 1]], 60)),
    ];
    let server = NameServer::start(&zone).await;
    let strict = resolver(&Settings { allow: Vec::new(), ..settings(&server) });
    for url in [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://localhost./",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://0/",
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::127.0.0.1]/",
        "http://[2002:7f00:1::]/",
        "http://public.example@127.0.0.1/",
        "http://inner.test/",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://\u{ff11}27.0.0.1/",
    ] {
        let host = crawler::url::CrawlUrl::parse(url).unwrap().host();
        let got = strict.resolve(&host).await;
        assert!(matches!(got, Err(DnsFailure::Refused(_))), "{url}: {got:?}");
    }
}

#[tokio::test]
async fn answers_are_kept_and_so_are_failures() {
    let zone =
        [("short.test", Reply::V4(vec![[127, 0, 0, 1]], 0)), ("broken.test", Reply::Code(2))];
    let server = NameServer::start(&zone).await;
    let resolver = resolver(&settings(&server));
    let first = resolve(&resolver, "short.test").await.unwrap();
    let again = resolve(&resolver, "short.test").await.unwrap();
    assert_eq!((first.cached, again.cached), (false, true));
    assert_eq!((first.ttl.as_secs(), server.asked("short.test")), (60, 1));
    for host in ["broken.test", "missing.test"] {
        let first = resolve(&resolver, host).await;
        let asked = server.asked(host);
        assert_eq!(resolve(&resolver, host).await, first);
        assert_eq!(server.asked(host), asked, "{host}");
    }
}

#[tokio::test]
async fn a_name_that_is_bound_anew_does_not_move_a_fetch() {
    let zone = [("rebind.test", Reply::Rebind([127, 0, 0, 1], [10, 0, 0, 1]))];
    let server = NameServer::start(&zone).await;
    // A TTL of zero is taken at its word, so that the second look asks again.
    let eager = Settings { ttl_min: Span::millis(0), ..settings(&server) };
    let resolver = resolver(&eager);
    let checked = resolve(&resolver, "rebind.test").await.unwrap();
    assert!(matches!(resolve(&resolver, "rebind.test").await, Err(DnsFailure::Refused(_))));
    let site = Server::playing(answer(GOOD)).await;
    let mut page = request(&format!("http://rebind.test:{}/", site.address.port()));
    page.addresses = checked.addresses;
    let got = answered(fetcher(&small()).fetch(page).await);
    assert_eq!((got.address, &got.body[..]), (LOOPBACK, &b"good"[..]));
    assert_eq!(server.asked("rebind.test"), 2, "the fetch itself resolves nothing");
}

#[tokio::test]
async fn a_second_name_server_stands_in_for_a_silent_one() {
    let silent = NameServer::start(&[("a.test", Reply::Silence)]).await;
    let good = NameServer::start(&[("a.test", Reply::V4(vec![[127, 0, 0, 1]], 60))]).await;
    let both = Settings { servers: vec![silent.address, good.address], ..settings(&silent) };
    let got = resolve(&resolver(&both), "a.test").await.unwrap();
    assert_eq!(got.addresses, [LOOPBACK]);
}

#[tokio::test]
async fn a_silent_server_costs_no_more_than_the_limit() {
    let server = NameServer::start(&[("a.test", Reply::Silence)]).await;
    let slow = Settings {
        timeout: Span::secs(30),
        attempts: 9,
        total: Span::millis(100),
        ..settings(&server)
    };
    match resolve(&resolver(&slow), "a.test").await {
        Err(DnsFailure::Failed(why)) => assert!(why.contains("100ms"), "{why}"),
        other => panic!("{other:?}"),
    }
}
