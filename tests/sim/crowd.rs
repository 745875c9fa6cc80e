//! Many hosts that answer at the very same moment.

use std::time::Duration;

use crawler::clock::Span;
use crawler::crawl::Ended;
use crawler::demo::{SiteSpec, WebSpec};
use crawler::frontier::Settings as FrontierSettings;

use super::{Crash, Run, START, World, balanced};

#[test]
fn visits_that_end_at_the_same_moment_are_all_settled() {
    // All of them end before the loop has its next turn, as on a machine with many cores.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).event_interval(10_000);
    runtime.build().expect("a runtime").block_on(crowd());
}

async fn crowd() {
    let even = |n: u32| {
        let mut site = SiteSpec::new(&format!("host{n}.test"), 3);
        site.latency.spread = Duration::ZERO;
        site
    };
    let mut world = World::new(WebSpec::new(5, (0..200).map(even).collect()));
    world.frontier = FrontierSettings { in_flight_max: 256, ..FrontierSettings::default() };
    // A visit that is never settled would hold the crawl up for ever.
    world.limits.time_max = Span::secs(3600);
    let (run, end) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    assert_eq!(summary.ended, Ended::Complete);
    balanced(&summary);
    assert!(summary.counters.done >= 600, "{summary:?}");
    assert!(end.since(START) < Duration::from_secs(600));
}
