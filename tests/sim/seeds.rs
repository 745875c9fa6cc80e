//! Runs that go on with other seeds, or another scope, than the one before.

use std::time::Duration;

use crawler::clock::Timestamp;
use crawler::crawl::verify::verify_state;
use crawler::crawl::{Ended, SeedUrl};
use crawler::demo::{Draft, WebSpec};
use crawler::filter::Scope;
use crawler::url::CrawlUrl;

use super::scripted::{Crawled, Page, empty};
use super::{Crash, Run, START, World, balanced};

/// A web whose pages are the same however and whenever they are fetched.
fn web(seed: u64) -> WebSpec {
    let draft =
        Draft { hosts: 6, pages: (10, 30), sick: 0, touchy: 0, dust: 0, ..Draft::default() };
    WebSpec::draw(seed, &draft)
}

/// Runs to the end that is wanted, and returns when the next run may begin.
async fn ends(world: &World, start: Timestamp, want: Ended) -> Timestamp {
    let (run, at) = world.run(start, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    assert_eq!(summary.ended, want, "{summary:?}");
    balanced(&summary);
    at.plus(Duration::from_millis(50))
}

/// The scope was measured from the seeds of the run alone: one that went on without any refused
/// every new link, and said that it was complete.
#[tokio::test(start_paused = true)]
async fn a_run_without_seeds_goes_on_with_those_of_the_run_before() {
    for seed in super::seeds(2) {
        let calm = World::new(web(seed));
        ends(&calm, START, Ended::Complete).await;
        let mut world = World::new(web(seed));
        world.filter.total_pages_max = 20;
        let now = ends(&world, START, Ended::Limit).await;
        world.filter.total_pages_max = 0;
        world.homes = 0;
        ends(&world, now, Ended::Complete).await;
        assert_eq!(world.store.urls(), calm.store.urls(), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_configuration_no_longer_excludes_comes_back() {
    for seed in super::seeds(2) {
        let calm = World::new(web(seed));
        ends(&calm, START, Ended::Complete).await;
        let mut world = World::new(web(seed));
        world.filter.exclude = vec![world.web.homes()[1].host_str().to_owned()];
        let now = ends(&world, START, Ended::Complete).await;
        assert_ne!(world.store.urls(), calm.store.urls(), "seed {seed}");
        world.filter.exclude.clear();
        world.homes = 0;
        ends(&world, now, Ended::Complete).await;
        assert_eq!(world.store.urls(), calm.store.urls(), "seed {seed}");
        let report = verify_state(&world.state(), None, 0).expect("the state is read");
        assert_eq!(report.problems, [], "seed {seed}");
    }
}

/// Crawls two hosts of one domain, of which the first knows a page that the second leads nowhere
/// to.
async fn crawled(world: &World, start: Timestamp, seeds: &[&str]) -> Crawled {
    let seed = |text: &&str| SeedUrl {
        url: CrawlUrl::parse(text).expect("a URL"),
        priority: None,
        hops_max: None,
    };
    let seeds = seeds.iter().map(seed).collect();
    let script = |url: &CrawlUrl| match url.as_str() {
        "http://a.test/" => Page::text("a", &["http://b.a.test/orphan"]),
        "http://b.a.test/" => Page::text("b", &[]),
        "http://b.a.test/orphan" => Page::text("orphan", &["/child"]),
        "http://b.a.test/child" => Page::text("child", &[]),
        _ => Page::Missing,
    };
    world.scripted_at(start, seeds, Vec::new(), script).await
}

#[tokio::test(start_paused = true)]
async fn links_into_the_scope_of_a_new_seed_come_back() {
    let later = START.plus(Duration::from_secs(3600));
    for (seeds, scope) in [(&["http://b.a.test/"][..], Scope::Host), (&[], Scope::Domain)] {
        let mut world = empty();
        let first = crawled(&world, START, &["http://a.test/"]).await;
        assert_eq!(first.fetches("http://b.a.test/orphan"), 0);
        drop(first);
        world.filter.scope = scope;
        let second = crawled(&world, later, seeds).await;
        assert_eq!(second.fetches("http://b.a.test/orphan"), 1, "{scope:?}");
        assert_eq!(second.fetches("http://b.a.test/child"), 1, "{scope:?}");
        assert_eq!(second.fetches("http://a.test/"), 0, "{scope:?}");
    }
}
