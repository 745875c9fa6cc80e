//! A robots.txt that has to be asked for again, because the crawl outlasts its day; and a host that
//! has several, one for each port.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crawler::clock::Span;
use crawler::crawl::log::{Line, files};
use crawler::crawl::{Ended, SeedUrl};
use crawler::demo::{RobotsAnswer, SiteSpec, WebSpec};
use crawler::frontier::Grouping;
use crawler::url::CrawlUrl;

use super::scripted::{Page, empty};
use super::{Crash, Run, START, World, balanced};

/// Crawls thirty pages an hour apart under what robots.txt says from which time on; returns the
/// status codes that it was answered with.
async fn answers(texts: &[(u64, &str)]) -> Vec<u16> {
    let mut site = SiteSpec::new("slow.test", 30);
    let said = |(hours, text): &(u64, &str)| {
        (Duration::from_secs(hours * 3600), RobotsAnswer::Text((*text).to_owned()))
    };
    site.robots = texts.iter().map(said).collect();
    let mut world = World::new(WebSpec::new(6, vec![site]));
    world.politeness.min_delay = Span::secs(3600);
    world.politeness.max_delay = Span::secs(3600);
    let (run, end) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    assert!(end.since(START) > Duration::from_secs(25 * 3600), "it asks no second time");
    world.store.robots()
}

#[tokio::test(start_paused = true)]
async fn a_robots_txt_that_has_not_changed_is_not_sent_again() {
    assert_eq!(answers(&[(0, "User-agent: *\nDisallow: /no/\n")]).await, [200, 304]);
}

#[tokio::test(start_paused = true)]
async fn a_robots_txt_that_has_changed_is() {
    let texts = [(0, "User-agent: *\nDisallow: /no/\n"), (5, "User-agent: *\nDisallow: /none/\n")];
    assert_eq!(answers(&texts).await, [200, 200]);
}

/// Half an hour of failures refused all URLs that waited, though there was a copy whose day was
/// just over, and which counts again when half a day has brought no new one.
#[tokio::test(start_paused = true)]
async fn a_robots_txt_that_fails_for_hours_costs_no_page_where_there_is_a_copy() {
    let mut site = SiteSpec::new("slow.test", 30);
    let hours = |hours: u64| Duration::from_secs(hours * 3600);
    let rules = RobotsAnswer::rules(&["/no/"], None);
    for fails_for in [2, 14] {
        site.robots = vec![
            (Duration::ZERO, rules.clone()),
            (hours(24), RobotsAnswer::Status(500)),
            (hours(24 + fails_for), rules.clone()),
        ];
        let mut world = World::new(WebSpec::new(6, vec![site.clone()]));
        world.politeness.min_delay = Span::secs(3600);
        world.politeness.max_delay = Span::secs(3600);
        let (run, end) = world.run(START, Crash::Never).await;
        let Run::Ended(summary) = run else { panic!("nothing crashes here") };
        balanced(&summary);
        assert_eq!(summary.reasons.get("status-200"), Some(&30), "{summary:?}");
        let asked = world.store.robots().len() as u64;
        assert!(asked <= 7 + end.since(START).as_secs() / 3600, "{:?}", world.store.robots());
    }
}

#[tokio::test(start_paused = true)]
async fn a_crawl_delay_holds_for_all_ports_of_a_host() {
    let mut site = SiteSpec::new("slow.test", 30);
    let text = "User-agent: *\nCrawl-delay: 40\n".to_owned();
    site.robots = vec![(Duration::ZERO, RobotsAnswer::Text(text))];
    let mut world = World::new(WebSpec::new(6, vec![site]));
    // Nobody answers there, so there is no robots.txt either.
    world.seeds = vec![CrawlUrl::parse("http://slow.test:8080/").expect("a URL")];
    let (run, _, judgement) = world.judged(START, Duration::from_secs(40), Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    assert_eq!(summary.reasons.get("status-200"), Some(&30), "{summary:?}");
    assert_eq!(summary.reasons.get("robots-unreachable"), Some(&1), "{summary:?}");
    assert_eq!(judgement.violations, 0, "{:?}", judgement.examples);
}

/// Crawls a host whose robots.txt is that of another one and asks for this Crawl-delay; returns the
/// seconds from each request to the next, whether it is parked, and what the crawl took.
async fn rests_of_a_redirected(delay: u32) -> (Vec<u64>, bool, Duration) {
    let mut bare = SiteSpec::new("bare.test", 3);
    let target = "http://www.bare.test/robots.txt".to_owned();
    bare.robots = vec![(Duration::ZERO, RobotsAnswer::Redirect(target))];
    let mut www = SiteSpec::new("www.bare.test", 1);
    // What it asks for itself does not hold up the answer for the other one.
    www.robots = vec![
        (Duration::ZERO, RobotsAnswer::rules(&[], None)),
        (Duration::from_millis(500), RobotsAnswer::rules(&[], Some(delay))),
    ];
    (bare.cross_links, www.cross_links) = (0, 0);
    let world = World::new(WebSpec::new(6, vec![bare, www]));
    let (run, end) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    let mut times = Vec::new();
    for file in files(world.logs.path()).expect("the log is there") {
        for line in std::fs::read_to_string(file).expect("it is text").lines() {
            let line: Line = serde_json::from_str(line).expect("a line of the log");
            times.extend((line.host == "bare.test").then_some(line.at_ms));
        }
    }
    let parked = summary.parked.iter().any(|(host, _)| host == "bare.test");
    let rests = times.windows(2).map(|two| (two[1] - two[0]) / 1000);
    (rests.collect(), parked, end.since(START))
}

/// The visit that brings it is one of the other host: nothing had followed for this one before its
/// first page was fetched.
#[tokio::test(start_paused = true)]
async fn a_crawl_delay_from_the_robots_txt_of_another_host_holds_from_the_first_page_on() {
    let (rests, parked, _) = rests_of_a_redirected(40).await;
    assert!(rests.len() == 3 && rests.iter().all(|rest| *rest >= 40), "{rests:?}");
    assert!(!parked);
    let (rests, parked, took) = rests_of_a_redirected(86_400).await;
    assert_eq!((rests, parked), (Vec::new(), true));
    assert!(took < Duration::from_secs(60), "{took:?}");
}

/// Crawls a site of sixty pages and `others` URLs on another port, whose robots.txt cannot be had;
/// its pages may not wait for these.
async fn goes_on(site: SiteSpec, port: &str, others: u64) {
    let mut world = World::new(WebSpec::new(6, vec![site]));
    let seeds =
        (0..others).map(|n| if n == 0 { format!("{port}/") } else { format!("{port}/{n}") });
    world.seeds = seeds.map(|url| CrawlUrl::parse(&url).expect("a URL")).collect();
    let (run, _) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    assert_eq!(summary.reasons.get("status-200"), Some(&60), "{summary:?}");
    assert_eq!(summary.reasons.get("robots-unreachable"), Some(&others), "{summary:?}");
    let mut times = Vec::new();
    let mut tries = Vec::new();
    let mut pages = 0;
    for file in files(world.logs.path()).expect("the log is there") {
        for line in std::fs::read_to_string(file).expect("it is text").lines() {
            let line: Line = serde_json::from_str(line).expect("a line of the log");
            pages += usize::from(line.purpose == "page");
            times.extend((line.purpose == "page").then_some(line.at_ms));
            if line.url.starts_with(port) {
                tries.push((line.at_ms, pages));
            }
        }
    }
    let longest = times.windows(2).map(|two| two[1] - two[0]).max();
    assert!(longest < Some(10_000), "{longest:?} ms between two pages");
    assert_eq!(tries.len(), 3, "as often as is set, for all URLs together");
    assert!(tries[1].0 - tries[0].0 >= 60_000, "{tries:?}");
    let meanwhile = tries[1].1 - tries[0].1;
    assert!(meanwhile >= 30, "{meanwhile} pages between two tries of the other port");
}

#[tokio::test(start_paused = true)]
async fn a_port_on_which_nobody_answers_does_not_hold_up_its_host() {
    goes_on(SiteSpec::new("busy.test", 60), "http://busy.test:8080", 2).await;
}

#[tokio::test(start_paused = true)]
async fn nor_does_one_that_has_no_robots_txt_but_a_failure() {
    let mut site = SiteSpec::new("busy.test", 60);
    site.https = true;
    // The one of http is read at once, that of https after a page.
    site.robots = vec![
        (Duration::ZERO, RobotsAnswer::rules(&[], None)),
        (Duration::from_millis(1_500), RobotsAnswer::Status(500)),
    ];
    goes_on(site, "https://busy.test", 2).await;
}

/// Each of them cost the host a second whenever its turn came.
#[tokio::test(start_paused = true)]
async fn nor_do_many_urls_of_such_a_port() {
    goes_on(SiteSpec::new("busy.test", 60), "http://busy.test:8080", 50).await;
}

/// Each of them kept its back queue while it waited, so that the host it waited for had none: every
/// batch of them stood still until that counted as no answer.
#[tokio::test(start_paused = true)]
async fn hosts_that_wait_for_the_robots_txt_of_another_let_that_one_have_a_back_queue() {
    let mut sites = Vec::new();
    for n in 0..12 {
        let www = format!("www.site{n}.test");
        let mut bare = SiteSpec::new(&format!("site{n}.test"), 3);
        let target = format!("http://{www}/robots.txt");
        bare.robots = vec![(Duration::ZERO, RobotsAnswer::Redirect(target))];
        sites.extend([bare, SiteSpec::new(&www, 3)]);
    }
    sites.iter_mut().for_each(|site| site.cross_links = 0);
    // The bare names stand in line before all others.
    sites.sort_by_key(|site| site.name.starts_with("www."));
    let mut world = World::new(WebSpec::new(6, sites));
    world.frontier.back_queues = 4;
    let (run, end) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    assert_eq!(summary.ended, Ended::Complete, "{summary:?}");
    assert_eq!(summary.reasons.get("status-200"), Some(&72), "{summary:?}");
    assert_eq!(summary.reasons.get("robots-unreachable"), None, "{summary:?}");
    let took = end.since(START);
    assert!(took < Duration::from_secs(300), "{took:?}");
}

/// It kept the only place of the group, for which the host that it waited for stood in line.
#[tokio::test(start_paused = true)]
async fn a_host_that_waits_for_the_robots_txt_of_another_lets_that_one_into_their_group() {
    let mut bare = SiteSpec::new("bare.test", 3);
    let target = "http://www.bare.test/robots.txt".to_owned();
    bare.robots = vec![(Duration::ZERO, RobotsAnswer::Redirect(target))];
    let mut www = SiteSpec::new("www.bare.test", 3);
    (bare.cross_links, www.cross_links) = (0, 0);
    let mut world = World::new(WebSpec::new(6, vec![bare, www]));
    world.politeness.group = Grouping::RegistrableDomain;
    world.frontier.group_hosts_max = 1;
    let (run, end) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    assert_eq!(summary.reasons.get("status-200"), Some(&6), "{summary:?}");
    let took = end.since(START);
    assert!(took < Duration::from_secs(300), "{took:?}");
}

fn homes(urls: [&str; 2]) -> Vec<SeedUrl> {
    let url = |home| CrawlUrl::parse(home).expect("a URL");
    urls.map(|home| SeedUrl { url: url(home), priority: None, hops_max: None }).to_vec()
}

/// Each had the row of the other behind a page that waited for that other one.
#[tokio::test(start_paused = true)]
async fn hosts_whose_robots_txts_redirect_to_each_other_do_not_wait_for_each_other() {
    let began = tokio::time::Instant::now();
    let seeds = homes(["http://a.test/", "http://b.test/"]);
    let crawled = empty()
        .scripted_at(START, seeds, Vec::new(), |url| match url.as_str() {
            "http://a.test/robots.txt" => Page::Moved("http://b.test/robots.txt"),
            "http://b.test/robots.txt" => Page::Moved("http://a.test/robots.txt"),
            "http://a.test/" | "http://b.test/" => Page::text(url.host_str(), &[]),
            _ => Page::Missing,
        })
        .await;
    let reasons = &crawled.summary.reasons;
    assert_eq!(reasons.get("status-200"), Some(&2), "{reasons:?}");
    let took = began.elapsed();
    assert!(took < Duration::from_secs(120), "{took:?}");
}

/// Each ten minutes of the other one's rest were taken for a failure, until the URLs of this one
/// were refused; and each time one more row waited for the same file.
#[tokio::test(start_paused = true)]
async fn a_robots_txt_is_waited_for_while_the_host_that_it_leads_to_must_rest() {
    let seeds = homes(["http://b.test/", "http://a.test/"]);
    let began = tokio::time::Instant::now();
    let busy = AtomicBool::new(true);
    let crawled = empty()
        .scripted_at(START, seeds, Vec::new(), move |url| match url.as_str() {
            "http://a.test/robots.txt" => Page::Moved("http://b.test/any/robots.txt"),
            "http://b.test/" if busy.swap(false, Ordering::Relaxed) => {
                Page::Said(503, vec![("retry-after", &b"14400"[..])], Vec::new())
            }
            "http://a.test/" | "http://b.test/" => Page::text(url.host_str(), &[]),
            _ => Page::Missing,
        })
        .await;
    for url in ["http://a.test/robots.txt", "http://b.test/any/robots.txt", "http://a.test/"] {
        assert_eq!(crawled.fetches(url), 1, "{url}: {:?}", crawled.asked);
    }
    let reasons = &crawled.summary.reasons;
    assert_eq!(reasons.get("status-200"), Some(&2), "{reasons:?}");
    let took = began.elapsed().as_secs();
    assert!((14_400..14_500).contains(&took), "{took} s");
}
