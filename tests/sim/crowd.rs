//! Many hosts that answer at the very same moment.

use std::time::Duration;

use crawler::clock::Span;
use crawler::crawl::{Command, Ended};
use crawler::demo::{SiteSpec, WebSpec};
use crawler::frontier::Settings as FrontierSettings;

use super::{Crash, Run, START, World, balanced};

/// Runs where all visits that can end do so before the loop has its next turn, as on a machine with
/// many cores.
fn crowded(crawl: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).event_interval(10_000);
    runtime.build().expect("a runtime").block_on(crawl);
}

/// Returns a web of so many hosts that all need the same time for an answer.
fn even(hosts: u32, pages: u32, latency: Duration) -> World {
    let site = |n: u32| {
        let mut site = SiteSpec::new(&format!("host{n}.test"), pages);
        site.latency.base = latency;
        site.latency.spread = Duration::ZERO;
        site
    };
    let mut world = World::new(WebSpec::new(5, (0..hosts).map(site).collect()));
    world.frontier = FrontierSettings { in_flight_max: 256, ..FrontierSettings::default() };
    world
}

#[test]
fn an_order_is_heard_before_visits_that_end_at_the_same_moment() {
    crowded(async {
        // No more than are read at once, or the last visits would end after others have begun.
        let mut world = even(16, 50, Duration::from_millis(20));
        world.politeness.min_delay = Span::secs(0);
        world.politeness.factor = 0.0;
        let store = world.store.clone();
        let operate = async |commands: tokio::sync::mpsc::Sender<Command>| {
            store.holds(32).await;
            commands.send(Command::Stop).await.expect("the crawl listens");
        };
        let (run, ..) = world.steered(START, Duration::ZERO, Crash::Never, operate).await;
        let Run::Ended(summary) = run else { panic!("nothing crashes here") };
        assert_eq!(summary.ended, Ended::Interrupted);
        balanced(&summary);
        assert_eq!(summary.counters.done, 32, "something was begun after the order");
    });
}

#[test]
fn visits_that_end_at_the_same_moment_are_all_settled() {
    crowded(crowd());
}

async fn crowd() {
    let mut world = even(200, 3, Duration::from_millis(20));
    // A visit that is never settled would hold the crawl up for ever.
    world.limits.time_max = Span::secs(3600);
    let (run, end) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    assert_eq!(summary.ended, Ended::Complete);
    balanced(&summary);
    assert!(summary.counters.done >= 600, "{summary:?}");
    assert!(end.since(START) < Duration::from_secs(600));
}
