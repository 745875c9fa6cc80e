//! A robots.txt that has to be asked for again, because the crawl outlasts its day; and a host that
//! has several, one for each port.

use std::time::Duration;

use crawler::clock::Span;
use crawler::demo::{RobotsAnswer, SiteSpec, WebSpec};
use crawler::url::CrawlUrl;

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
