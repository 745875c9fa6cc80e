//! The name servers or the network are gone for a while: nobody is blamed for it, nothing is lost.

use std::sync::Arc;
use std::time::Duration;

use crawler::clock::{Clock, Span, Timestamp};
use crawler::crawl::log::{Line, files};
use crawler::crawl::{Crawl, CrawlError, Edge, Ended, Options, SeedUrl, State};
use crawler::demo::{Draft, SimWeb, SiteSpec, WebSpec};
use crawler::dns::{DnsFailure, Resolve, Resolved};
use crawler::fetch::{Failed, Failure, Fetch, Outcome, Request};
use crawler::filter::Filter;
use crawler::url::{CrawlUrl, Host};
use tokio::sync::mpsc;

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
    /// The proxy that everything goes through.
    Proxy,
    /// A bug in what resolves names.
    Resolver,
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
        assert_ne!(self.gone(), Some(Gone::Resolver), "no answer, as the test wants it");
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
            Some(Gone::Proxy) => (Failure::ProxyFailed, Duration::ZERO),
            Some(Gone::NameServers | Gone::Zone | Gone::Resolver) | None => {
                return self.web.fetch(request).await;
            }
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
    world.politeness.unreachable_initial = Span::secs(60);
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

/// Crawls four hosts that answer for a minute and then never again; returns how often each was
/// asked in vain.
async fn asked_in_vain(gone: Gone) -> Vec<usize> {
    let sites = ["a.test", "b.test", "c.test", "d.test"].map(|name| SiteSpec::new(name, 200));
    let mut world = World::new(WebSpec::new(6, sites.to_vec()));
    world.politeness.unreachable_initial = Span::secs(60);
    world.politeness.unreachable_max = 6;
    world.limits = Default::default();
    world.limits.time_max = Span::secs(3 * 24 * 3600);
    let from = START.plus(Duration::from_secs(60));
    world.outage = Some((gone, from, from.plus(Duration::from_secs(365 * 24 * 3600))));
    let (run, _) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    assert_eq!(summary.ended, Ended::Complete, "{gone:?}: {summary:?}");
    let mut vain = std::collections::BTreeMap::<String, usize>::new();
    for file in files(world.logs.path()).expect("the log is there") {
        for line in std::fs::read_to_string(file).expect("it is text").lines() {
            let line: Line = serde_json::from_str(line).expect("a line of the log");
            *vain.entry(line.host).or_default() += usize::from(line.failure.is_some());
        }
    }
    vain.into_values().collect()
}

/// Each of them was asked once a minute for six hours.
#[tokio::test(start_paused = true)]
async fn hosts_that_fall_silent_together_and_for_good_are_asked_ever_more_rarely() {
    let vain = asked_in_vain(Gone::Network).await;
    assert!(vain.len() == 4 && vain.iter().all(|times| *times < 40), "{vain:?}");
}

/// As hosts of the other address family do, where a machine has but one: they were asked for ever.
#[tokio::test(start_paused = true)]
async fn hosts_that_our_own_machine_can_never_reach_are_given_up() {
    let vain = asked_in_vain(Gone::Route).await;
    assert!(vain.len() == 4 && vain.iter().all(|times| *times < 40), "{vain:?}");
}

/// Only requests for pages were counted, and before the first page stands a robots.txt.
#[tokio::test(start_paused = true)]
async fn a_proxy_that_never_works_ends_the_crawl() {
    let mut world = World::new(WebSpec::new(6, vec![SiteSpec::new("a.test", 5)]));
    world.limits.time_max = Span::secs(24 * 3600);
    world.outage = Some((Gone::Proxy, START, START.plus(Duration::from_secs(365 * 24 * 3600))));
    let clock = Arc::new(Clock::starting_at(START));
    let web = SimWeb::new(world.web.clone(), clock.clone());
    let homes = world.web.homes();
    let filter = Filter::new(&world.filter, &homes).expect("settings are right");
    let (state, _) = State::open(world.parts(filter, START), START).expect("opens");
    let (resolve, fetch) = (world.cut(&web, &clock), world.cut(&web, &clock));
    world.store.resume(&state.archive_position(), Crash::Never);
    let edge = Arc::new(Edge { clock, resolve, fetch, store: world.store.clone() });
    let mut crawl = Crawl::new(edge, state, Options::new(tokio::runtime::Handle::current()));
    let seeds = homes.into_iter().map(|url| SeedUrl { url, priority: None, hops_max: None });
    let ended = crawl.run(&seeds.collect::<Vec<_>>(), mpsc::channel(1).1).await;
    assert!(matches!(ended, Err(CrawlError::Proxy(_))), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_name_that_does_not_exist_is_asked_for_three_times() {
    let mut world = World::new(WebSpec::new(6, vec![SiteSpec::new("good.test", 20)]));
    world.politeness.unreachable_initial = Span::secs(60);
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
