//! What a site declares of its URLs, in robots.txt or with each page: it is tried, and believed
//! only as far as its pages agree.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crawler::clock::Timestamp;
use crawler::crawl::DustMode;
use crawler::crawl::log::{self, Line};
use crawler::db::families::hosts;
use crawler::demo::{Habits, RobotsAnswer, SiteSpec, Truth, UrlStyle, WebSpec};
use crawler::dust::{RuleEvent, RuleState};
use crawler::url::CrawlUrl;

use super::{Crash, Run, START, World, balanced};

/// A site where `sid` never matters and `lang` chooses between a text and its translation.
fn site() -> SiteSpec {
    let mut site = SiteSpec::new("says.test", 150);
    site.style = UrlStyle::Query;
    let (session, sessions) = (Some("sid"), 3);
    site.habits = Habits { share: 30, session, sessions, decoy: true, ..Habits::default() };
    site
}

/// Returns the states that a rule was in, and when it came to each.
fn life(events: &[RuleEvent], rule: &str) -> BTreeMap<&'static str, Timestamp> {
    let steps = events.iter().filter(|event| event.text == rule);
    steps.map(|event| (name(event.to), event.at)).collect()
}

fn name(state: RuleState) -> &'static str {
    match state {
        RuleState::Candidate => "candidate",
        RuleState::Shadow => "trial",
        RuleState::Enforced => "force",
        RuleState::Suspended => "suspended",
        RuleState::Retired => "retired",
    }
}

/// Crawls the site with what it declares, without and with rules; no document may be missed.
/// Returns what became of the rules.
async fn crawled(robots: &str, header: Option<&'static str>) -> Vec<RuleEvent> {
    let mut site = site();
    site.robots = vec![(Duration::ZERO, RobotsAnswer::Text(robots.to_owned()))];
    site.no_vary_search = header;
    let web = WebSpec::new(11, vec![site]);
    let mut found = Vec::new();
    for dust in [DustMode::Off, DustMode::Enforce] {
        let mut world = World::new(web.clone());
        world.dust.mode = dust;
        let (run, _) = world.run(START, Crash::Never).await;
        let Run::Ended(summary) = run else { panic!("nothing crashes here") };
        balanced(&summary);
        found.push((world.documents(), summary.counters.requests, world));
    }
    let [(all, plain, _), (kept, requests, world)] = &found[..] else { unreachable!("two crawls") };
    let lost: Vec<_> = all.difference(kept).collect();
    assert!(lost.is_empty(), "lost {lost:?}");
    assert!(requests < plain, "{requests} requests with rules, {plain} without");
    audits_are_no_duplicates_of_the_host(world);
    what_is_fetched_beside_its_stand_in_says_why(world);
    let log = std::fs::read_to_string(world.logs.path().join("rules.jsonl")).expect("it is there");
    log.lines().map(|line| serde_json::from_str(line).expect("a step")).collect()
}

/// What is fetched to measure a rule repeats a known text where the rule is right; a host would be
/// taken for one that shows mostly duplicates, whose links are not followed, by our own doing.
fn audits_are_no_duplicates_of_the_host(world: &World) {
    let mut counted = 0;
    hosts::each(&world.state(), |record| {
        counted += record.duplicates;
        true
    })
    .expect("the state is read");
    let urls = world.store.urls();
    let parsed = urls.iter().filter_map(|url| CrawlUrl::parse(url).ok());
    let shown = parsed.filter(|url| matches!(world.web.truth(url), Some(Truth::Document { .. })));
    let logged = (shown.count() - world.documents().len()) as u64;
    assert!(counted < logged, "{counted} of {logged} repeats are the host's");
}

/// A page was fetched though another one stood for it, and nothing said what for.
fn what_is_fetched_beside_its_stand_in_says_why(world: &World) {
    let files = log::files(world.logs.path()).expect("there is a log");
    let text: String = files.iter().map(|f| std::fs::read_to_string(f).expect("reads")).collect();
    let lines = text.lines().map(|line| serde_json::from_str::<Line>(line).expect("a line"));
    let lines: Vec<Line> = lines.filter(|line| line.purpose == "page").collect();
    let asked: BTreeSet<&str> = lines.iter().map(|line| line.url.as_str()).collect();
    let mut reasons: BTreeMap<&str, u32> = BTreeMap::new();
    for (line, beside) in lines.iter().filter_map(|line| Some((line, line.beside.as_ref()?))) {
        let is_other = line.url != beside.url && asked.contains(beside.url.as_str());
        assert!(is_other, "{} beside what was not asked for: {beside:?}", line.url);
        assert_eq!(beside.rules.is_empty(), beside.why == "brought-back", "{beside:?}");
        *reasons.entry(&beside.why).or_default() += 1;
    }
    assert!(["audit", "check"].iter().all(|why| reasons.contains_key(*why)), "{reasons:?}");
    // Of those that rules in force rewrite, each whose key was shown before.
    let mut shown: BTreeMap<&str, u64> = BTreeMap::new();
    for line in &lines {
        let key = line.canonical.as_deref().unwrap_or(&line.url);
        let stood = shown.get(key).is_some_and(|until| line.at_ms > *until);
        let has_key = line.canonical.is_some();
        assert!(!stood || !has_key || line.beside.is_some(), "{} beside {key}", line.url);
        shown.entry(key).or_insert(line.at_ms + line.took_ms);
    }
}

const PLAIN: &str = "User-agent: *\nDisallow:\n";

#[tokio::test(start_paused = true)]
async fn clean_param_is_tried_and_what_it_says_wrongly_costs_no_page() {
    let said = format!("{PLAIN}Clean-param: sid&lang\n");
    let declared = crawled(&said, None).await;
    let right = life(&declared, "drop parameter \"sid\" on says.test");
    assert!(right["trial"] < right["force"], "{right:?}");
    let wrong = life(&declared, "drop parameter \"lang\" on says.test");
    assert!(!wrong.contains_key("force"), "{wrong:?}");
}

#[tokio::test(start_paused = true)]
async fn no_vary_search_is_tried_and_what_it_says_wrongly_costs_no_page() {
    let declared = crawled(PLAIN, Some("params=(\"sid\" \"lang\")")).await;
    let right = life(&declared, "drop parameter \"sid\" under \"/view.php\" on says.test");
    assert!(right["trial"] < right["force"], "{right:?}");
    let wrong = life(&declared, "drop parameter \"lang\" under \"/view.php\" on says.test");
    assert!(!wrong.contains_key("force"), "{wrong:?}");
}
