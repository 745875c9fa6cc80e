//! The name servers or the network are gone for a while: nobody is blamed for it, nothing is lost.

use std::sync::Arc;
use std::time::Duration;

use crawler::clock::{Clock, Timestamp};
use crawler::demo::{Draft, SimWeb, SiteSpec, WebSpec};
use crawler::dns::{DnsFailure, Resolve, Resolved};
use crawler::fetch::{Failed, Failure, Fetch, Outcome, Request};
use crawler::url::{CrawlUrl, Host};

use super::{Crash, Run, START, World, balanced, seeds};

/// What is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// Name servers, which are asked anew for every request: the worst case.
    NameServers,
    /// Packets vanish, and connections time out.
    Network,
    /// The machine knows that it has no route.
    Route,
    /// The zone that the names stand in: there are no such names.
    Zone,
}

/// An outage: what is gone, from when to when.
pub(super) type Outage = (Gone, Timestamp, Timestamp);

/// A web of which something cannot be reached for a while.
pub(super) struct Cut {
    pub(super) web: SimWeb,
    pub(super) clock: Arc<Clock>,
    pub(super) outage: Option<Outage>,
}

impl Cut {
    fn gone(&self) -> Option<Gone> {
        let (gone, from, to) = self.outage?;
        (from..to).contains(&self.clock.now()).then_some(gone)
    }
}

impl Resolve for Cut {
    async fn resolve(&self, host: &Host) -> Result<Resolved, DnsFailure> {
        if self.gone() == Some(Gone::NameServers) {
            tokio::time::sleep(Duration::from_secs(10)).await;
            return Err(DnsFailure::Failed("no answer within 10s".to_owned()));
        }
        if self.gone() == Some(Gone::Zone) {
            return Err(DnsFailure::NotFound);
        }
        self.web.resolve(host).await
    }

    fn knows(&self, host: &Host, at: Timestamp) -> bool {
        self.web.knows(host, at)
    }
}

impl Fetch for Cut {
    async fn fetch(&self, request: Request) -> Outcome {
        let (failure, took) = match self.gone() {
            Some(Gone::Network) => (Failure::ConnectTimeout, Duration::from_secs(10)),
            Some(Gone::Route) => (Failure::LocalFailure, Duration::ZERO),
            Some(Gone::NameServers | Gone::Zone) | None => return self.web.fetch(request).await,
        };
        let began = self.clock.now();
        tokio::time::sleep(took).await;
        Outcome::Failed(Failed {
            failure,
            detail: "gone".to_owned(),
            began,
            took,
            address: None,
            request_block: None,
            received: Default::default(),
        })
    }
}

/// Crawls a web of `hosts` twice, the second time with an outage, and compares.
async fn check(seed: u64, hosts: u32, gone: Gone, lasts: Duration) {
    let draft = Draft { hosts, pages: (3, 40), sick: 0, touchy: 0, dust: 0, ..Draft::default() };
    let calm = World::new(WebSpec::draw(seed, &draft));
    calm.run(START, Crash::Never).await;
    let mut world = World::new(WebSpec::draw(seed, &draft));
    // As they are by default, not as quick as other simulations want them.
    world.politeness.unreachable_initial = crawler::clock::Span::secs(60);
    world.politeness.unreachable_max = 6;
    world.limits = Default::default();
    let from = START.plus(Duration::from_secs(20));
    world.outage = Some((gone, from, from.plus(lasts)));
    let (run, end) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    let context = format!("seed {seed}, {hosts} hosts, {gone:?}: {:?}", summary.reasons);
    assert!(end > from.plus(lasts), "{context}");
    // Another order may lead to a page that a directive hides in this one: more is no loss.
    let (found, wanted) = (world.store.urls(), calm.store.urls());
    let lost: Vec<&String> = wanted.difference(&found).collect();
    assert!(lost.is_empty(), "lost {lost:?}: {context}");
    assert_eq!((summary.counters.failed, summary.parked.len()), (0, 0), "{context}");
}

#[tokio::test(start_paused = true)]
async fn ten_minutes_without_name_servers_or_network_lose_no_url_and_no_host() {
    for seed in seeds(2) {
        for gone in [Gone::NameServers, Gone::Network, Gone::Route] {
            check(seed, 12, gone, Duration::from_secs(600)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn hours_without_network_lose_nothing_where_several_hosts_had_answered() {
    for gone in [Gone::NameServers, Gone::Network, Gone::Route] {
        check(3, 20, gone, Duration::from_secs(5 * 3600)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_crawl_of_one_host_outlives_ten_minutes_without_name_servers_or_its_name() {
    for gone in [Gone::NameServers, Gone::Route, Gone::Zone] {
        check(4, 1, gone, Duration::from_secs(600)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_does_not_exist_is_asked_for_three_times() {
    let mut world = World::new(WebSpec::new(6, vec![SiteSpec::new("good.test", 20)]));
    world.politeness.unreachable_initial = crawler::clock::Span::secs(60);
    world.politeness.unreachable_max = 6;
    world.seeds = vec![CrawlUrl::parse("http://nowhere.test/").expect("a URL")];
    let (run, end) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    assert_eq!(summary.reasons.get("status-200"), Some(&20), "{summary:?}");
    assert_eq!(summary.reasons.get("host-given-up"), Some(&1), "{summary:?}");
    // One minute and two, and what the last answer took.
    let waited = end.since(START).as_secs();
    assert!((180..200).contains(&waited), "{waited} s");
}
