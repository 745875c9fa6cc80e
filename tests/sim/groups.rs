//! Hosts of one address or one domain are kept apart, whatever their names answered first and what
//! an earlier run was told to keep apart.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crawler::clock::Span;
use crawler::crawl::{Ended, SeedUrl};
use crawler::demo::{DnsAnswer, SiteSpec, WebSpec};
use crawler::frontier::Grouping;
use crawler::url::CrawlUrl;

use super::outage::Gone;
use super::scripted::{Page, empty};
use super::{Crash, Run, START, World, balanced};

/// Rest of a group in these crawls: longer than that of a host, so that it is the one that tells.
const REST: Duration = Duration::from_secs(5);

/// Returns a world that keeps addresses apart.
fn world(sites: Vec<SiteSpec>) -> World {
    let mut world = World::new(WebSpec::new(8, sites));
    world.politeness.group = Grouping::Ip;
    world.politeness.group_delay = Span(REST);
    world
}

fn sites(count: u32, pages: u32, address: Option<std::net::IpAddr>) -> Vec<SiteSpec> {
    let site = |n| SiteSpec { address, ..SiteSpec::new(&format!("host{n}.test"), pages) };
    (0..count).map(site).collect()
}

/// Requires that between two requests to an address lies the rest of a group.
fn kept_apart(world: &World) {
    let mut ended: BTreeMap<String, (u64, String)> = BTreeMap::new();
    let mut lines = world.lines();
    lines.sort_by_key(|line| line.at_ms);
    for line in lines {
        let Some(address) = line.address.clone() else { continue };
        if let Some((end, before)) = ended.get(&address) {
            let rest = Duration::from_millis(line.at_ms.saturating_sub(*end));
            assert!(rest >= REST, "{address}: {before}, and after {rest:?} {}", line.url);
        }
        ended.insert(address, (line.at_ms + line.took_ms, line.url));
    }
    assert!(!ended.is_empty(), "nothing was asked");
}

async fn runs(world: &World) {
    let (run, _) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    assert_eq!(summary.ended, Ended::Complete, "{summary:?}");
    assert_eq!(summary.counters.failed, 0, "{summary:?}");
}

/// A host waited for ever for a lookup of its name that had broken.
#[tokio::test(start_paused = true)]
async fn a_lookup_that_breaks_holds_no_host_up() {
    let mut world = world(sites(3, 4, None));
    world.outage = Some((Gone::Resolver, START, START.plus(Duration::from_secs(3))));
    runs(&world).await;
    let urls = world.store.urls();
    for host in ["host0.test", "host1.test", "host2.test"] {
        assert!(urls.iter().any(|url| url.contains(host)), "{host} was never asked: {urls:?}");
    }
}

/// Each of them was put into a group of its own for ever, and all were asked side by side.
#[tokio::test(start_paused = true)]
async fn hosts_whose_names_failed_at_first_join_the_group_of_their_address() {
    let mut world = world(sites(6, 5, Some([192, 0, 2, 7].into())));
    world.outage = Some((Gone::NameServers, START, START.plus(Duration::from_secs(15))));
    runs(&world).await;
    kept_apart(&world);
}

/// It was asked at its new address in the group of the old one.
#[tokio::test(start_paused = true)]
async fn a_host_that_moves_to_another_address_joins_the_group_of_that_one() {
    let mut sites = sites(2, 40, None);
    sites[0].dns.answer = DnsAnswer::Changing(Duration::from_secs(60));
    sites[0].dns.ttl = Duration::from_secs(20);
    let world = world(sites);
    runs(&world).await;
    kept_apart(&world);
    let moved = world.lines().into_iter().filter(|line| line.host == "host0.test");
    let addresses = moved.filter_map(|line| line.address);
    let addresses: std::collections::BTreeSet<String> = addresses.collect();
    assert_eq!(addresses.len(), 2, "it has not moved");
}

/// They waited for room in a group that nobody leaves any more.
#[tokio::test(start_paused = true)]
async fn hosts_that_wait_for_room_in_their_group_are_crawled_under_another_grouping_too() {
    let groupings = [Grouping::Ip, Grouping::Host, Grouping::RegistrableDomain];
    for (first, then) in groupings.iter().flat_map(|one| groupings.map(|other| (*one, other))) {
        let one_site = |n| SiteSpec {
            address: Some([192, 0, 2, 7].into()),
            ..SiteSpec::new(&format!("host{n}.site.test"), 4)
        };
        let mut world = world((0..8).map(one_site).collect());
        world.politeness.group = first;
        world.frontier.group_hosts_max = 1;
        let (run, now) = world.run(START, Crash::AfterRecords(6)).await;
        assert!(matches!(run, Run::Crashed), "it must be in the middle");
        world.politeness.group = then;
        let (run, _) = world.run(now.plus(REST), Crash::Never).await;
        let Run::Ended(summary) = run else { panic!("nothing crashes here") };
        balanced(&summary);
        assert_eq!(summary.ended, Ended::Complete, "{first:?}, then {then:?}: {summary:?}");
        if then == Grouping::Ip && first == Grouping::Ip {
            kept_apart(&world);
        }
    }
}

/// Those that had a place in the group kept it, though they were told to come back in hours.
#[tokio::test(start_paused = true)]
async fn a_host_that_must_rest_leaves_its_place_in_the_group_to_another() {
    let mut world = empty();
    world.politeness.group = Grouping::RegistrableDomain;
    world.frontier.group_hosts_max = 1;
    let homes = ["http://a.one.test/", "http://b.one.test/"];
    let seed = |home| SeedUrl { url: url(home), priority: None, hops_max: None };
    let busy = AtomicBool::new(true);
    let crawled = world
        .scripted_at(START, homes.map(seed).to_vec(), Vec::new(), move |url| match url.path() {
            "/" if busy.swap(false, Ordering::Relaxed) => {
                Page::Said(503, vec![("retry-after", &b"14400"[..])], Vec::new())
            }
            "/" => Page::text(url.host_str(), &[]),
            _ => Page::Missing,
        })
        .await;
    let pages: Vec<&String> = crawled.asked.iter().filter(|url| url.ends_with("test/")).collect();
    assert!(matches!(pages[..], [a, b, again] if a == again && a != b), "{:?}", crawled.asked);
}

/// One that had its session took its own place again, before the one that waited for it.
#[tokio::test(start_paused = true)]
async fn hosts_of_a_group_take_turns_where_it_has_no_room_for_all() {
    let mut world = empty();
    world.politeness.group = Grouping::RegistrableDomain;
    world.frontier.group_hosts_max = 1;
    world.frontier.session = 3;
    let homes = ["http://a.one.test/", "http://b.one.test/", "http://c.one.test/"];
    let seed = |home| SeedUrl { url: url(home), priority: None, hops_max: None };
    let crawled = world
        .scripted_at(START, homes.map(seed).to_vec(), Vec::new(), |url| match url.path() {
            "/" => Page::text(url.host_str(), &["/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8"]),
            "/robots.txt" => Page::Missing,
            path => Page::text(&format!("{}{path}", url.host_str()), &[]),
        })
        .await;
    let hosts: Vec<char> = crawled.asked.iter().filter_map(|url| url.chars().nth(7)).collect();
    let turns: Vec<char> = hosts.chunk_by(|a, b| a == b).map(|turn| turn[0]).collect();
    assert!(turns.len() >= 9, "{turns:?}");
    assert!(turns.windows(3).take(6).all(|turn| turn[0] != turn[2]), "{turns:?}");
}

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).expect("a URL")
}
