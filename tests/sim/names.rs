//! Names are looked up ahead of their need, and every answer is kept; so is what robots.txt says of
//! the use of contents.

use std::collections::BTreeSet;
use std::time::Duration;

use crawler::clock::{Span, Timestamp};
use crawler::demo::{RobotsAnswer, SiteSpec, WebSpec};

use super::{Crash, Run, START, World, balanced};

/// One site whose name is forgotten at once and takes a second to find again.
fn forgetful() -> World {
    let mut site = SiteSpec::new("slow-names.test", 20);
    site.cross_links = 0;
    (site.dns.latency, site.dns.ttl) = (Duration::from_secs(1), Duration::from_secs(5));
    let mut world = World::new(WebSpec::new(3, vec![site]));
    world.politeness.min_delay = Span::secs(10);
    world
}

async fn ended_after(world: &World) -> Duration {
    let (run, end): (Run, Timestamp) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    assert!(summary.counters.done >= 20, "{summary:?}");
    end.since(START)
}

#[tokio::test(start_paused = true)]
async fn a_name_is_looked_up_while_its_host_rests() {
    let ahead = ended_after(&forgetful()).await;
    let mut world = forgetful();
    world.limits.names_ahead = Span::secs(0);
    let when_needed = ended_after(&world).await;
    // All but the first of twenty pages, robots.txt and the seed save the second of their lookup.
    assert!(when_needed >= ahead + Duration::from_secs(18), "{when_needed:?} {ahead:?}");
}

#[tokio::test(start_paused = true)]
async fn the_answers_of_name_servers_are_archived_once_for_each_question() {
    let sites = ["a.test", "b.test", "c.test"].map(|name| SiteSpec::new(name, 8));
    let world = World::new(WebSpec::new(4, sites.to_vec()));
    ended_after(&world).await;
    let names = world.store.names();
    let distinct: BTreeSet<&String> = names.iter().collect();
    assert_eq!(distinct.len(), 3, "{names:?}");
    assert_eq!(names.len(), 3, "{names:?}");
}

#[tokio::test(start_paused = true)]
async fn usage_preferences_of_robots_txt_go_with_every_page_they_hold_for() {
    let mut site = SiteSpec::new("reserved.test", 8);
    let text = "Content-Signal: search=yes\n\nUser-agent: crawler\nContent-Usage: train-ai=n\n\
                Disallow:\n\nUser-agent: other\nContent-Usage: train-ai=y\n";
    site.robots = vec![(Duration::ZERO, RobotsAnswer::Text(text.to_owned()))];
    let world = World::new(WebSpec::new(4, vec![site]));
    let (run, _) = world.run(START, Crash::Never).await;
    assert!(matches!(run, Run::Ended(_)));
    let want = [("content-signal", "search=yes"), ("content-usage", "train-ai=n")];
    let want = want.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(world.store.usage(), BTreeSet::from(want));
}
