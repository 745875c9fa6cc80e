//! The explanation of every URL agrees with the ledger, at a crawl's end and in its middle.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Crash, START, World, seeds};
use crawler::clock::Timestamp;
use crawler::crawl::DustMode;
use crawler::crawl::explain::{Explanation, Judges, State, explain};
use crawler::crawl::verify::verify_state;
use crawler::db::families::{queue, urls};
use crawler::db::{Db, Family};
use crawler::demo::{Draft, WebSpec, demo_web};
use crawler::filter::{Filter, Reason};
use crawler::frontier::{HostId, Place, Rules, UrlRecord, UrlState};
use crawler::url::{CrawlUrl, Fingerprint};

/// What was compared, so that no comparison passes for want of cases.
type Seen = BTreeMap<String, u64>;

fn world(seed: u64) -> World {
    let draft = Draft { hosts: 16, pages: (10, 60), ..Draft::default() };
    let mut world = with_limits(WebSpec::draw(seed, &draft));
    world.filter.url_length_max = 60;
    world
}

/// Rules are applied, and a host without end is cut off.
fn with_limits(web: WebSpec) -> World {
    let mut world = World::new(web);
    world.dust.mode = DustMode::Enforce;
    world.filter.host_pages_max = 400;
    world
}

/// Explains every URL of the ledger and compares.
fn compare(world: &World, now: Timestamp) -> Seen {
    let db = Db::open_in_memory(Path::new("/state"), &Default::default(), &world.env);
    let db = db.expect("the state opens again");
    let filter = Filter::new(&world.filter, &world.web.homes()).expect("settings are right");
    let politeness = Rules::new(world.politeness.clone(), &Default::default());
    let dust = Default::default();
    let judges = Judges {
        filter: &filter,
        politeness: &politeness,
        dust: &dust,
        enforces: true,
        seeds: &world.web.homes(),
        robots: None,
        paused: false,
    };
    let report = verify_state(&db, None, 0).expect("the state is read");
    assert_eq!(report.problems, [], "the state must agree with itself first");
    let lines = lines(&db);
    let mut rows: Vec<(Fingerprint, UrlRecord)> = Vec::new();
    urls::each(&db, |fingerprint, record| {
        rows.push((fingerprint, record));
        true
    })
    .expect("the ledger is read");
    let mut seen = Seen::new();
    for (_, record) in &rows {
        let url = CrawlUrl::parse(&record.url).expect("the ledger holds URLs");
        let explanation = explain(Some(&db), &judges, &url, now).expect("it is explained");
        assert_eq!(explanation.url, record.url);
        found_alike(&db, record, &explanation);
        state_alike(&db, record, &explanation, &lines, &mut seen);
    }
    let stranger = CrawlUrl::parse("http://nobody.example/never-seen").unwrap();
    let explanation = explain(Some(&db), &judges, &stranger, now).unwrap();
    assert!(!explanation.is_known() && !explanation.schedule_gate.accept);
    seen
}

/// Rows of each host in their order.
fn lines(db: &Db) -> BTreeMap<HostId, Vec<Place>> {
    let mut lines: BTreeMap<HostId, Vec<Place>> = BTreeMap::new();
    db.scan(Family::Queue, &[], &[], |key, _| {
        let (host, place) = queue::parse(key).expect("a key of the queue");
        lines.entry(host).or_default().push(place);
        Ok(true)
    })
    .expect("the queue is read");
    lines
}

fn found_alike(db: &Db, record: &UrlRecord, explanation: &Explanation) {
    let seen = explanation.seen.as_ref().expect("it was found");
    assert_eq!((seen.at, &seen.path, seen.hops), (record.discovered, &record.path, record.hops));
    let via = record.via.and_then(|via| urls::get(db, via).unwrap());
    assert_eq!(seen.via, via.as_ref().map(|via| via.url.clone()));
    assert_eq!(seen.chain.last(), Some(&record.url));
    if let Some(via) = via {
        assert_eq!(seen.chain.get(seen.chain.len() - 2), Some(&via.url));
    }
}

fn state_alike(
    db: &Db,
    record: &UrlRecord,
    explanation: &Explanation,
    lines: &BTreeMap<HostId, Vec<Place>>,
    seen: &mut Seen,
) {
    let url = &record.url;
    let mut count = |what: &str| *seen.entry(what.to_owned()).or_default() += 1;
    let robots = &explanation.robots;
    // What robots.txt says now counts for then only if it is the same copy.
    let same_robots = |at: Timestamp| robots.fetched.is_some_and(|fetched| fetched <= at);
    match (&record.state, &explanation.state) {
        (UrlState::Queued(place), State::Queued(line)) => {
            count("queued");
            assert!(explanation.schedule_gate.accept, "{url}");
            let host = lines.values().find_map(|line| line.iter().position(|at| at == place));
            assert_eq!(host.map(|before| before as u64), Some(line.before), "{url}");
            assert!(!line.why.is_empty());
            if let (Some(at), Some(host)) = (line.earliest, &explanation.host_state) {
                assert!(line.in_flight || at >= host.next_allowed, "{url}");
            }
        }
        (UrlState::Done(done), State::Done { status, file, offset, content, .. }) => {
            count("done");
            assert_eq!((done.status, &done.content), (*status, content), "{url}");
            let at = done.record.as_ref().map(|(file, offset, _)| (file.clone(), *offset));
            assert_eq!(at, file.clone().zip(*offset), "{url}");
            assert!(explanation.schedule_gate.accept, "{url}: {:?}", explanation.schedule_gate);
            if same_robots(done.at) {
                count("done, robots.txt alike");
                assert!(robots.allowed, "{url}: {}", robots.reason);
            }
        }
        (UrlState::Refused { reason, detail, at }, State::Refused { reason: code, .. }) => {
            count(&format!("refused: {reason}"));
            assert_eq!(reason, code);
            if reason.starts_with("robots-") {
                if same_robots(*at) {
                    assert!(!robots.allowed, "{url}");
                    assert_eq!(&robots.reason, detail, "{url}");
                }
            } else if reason == "trap" {
                // Judged by what the section showed, not by a gate.
                assert!(!detail.is_empty(), "{url}");
            } else if reason == "host-pages" || reason == "total-pages" {
                assert!(explanation.schedule_gate.accept, "{url}");
                assert_eq!(&explanation.fetch_gate.code, reason, "{url}");
            } else {
                assert!(Reason::CODES.contains(&reason.as_str()), "{url}: {reason}");
                assert!(!explanation.schedule_gate.accept, "{url}");
                assert_eq!(&explanation.schedule_gate.code, reason, "{url}");
            }
        }
        (UrlState::Failed { reason, .. }, State::Failed { reason: code, .. }) => {
            count("failed");
            assert_eq!(reason, code, "{url}");
        }
        (UrlState::Suppressed { by, rules, .. }, State::Suppressed { by: named, .. }) => {
            count("suppressed");
            let holder = urls::get(db, *by).unwrap().expect("what stands for it is known");
            assert_eq!(&holder.url, named, "{url}");
            same_rules(rules, explanation);
        }
        (state, explained) => panic!("{url}: {state:?} is explained as {explained:?}"),
    }
}

fn same_rules(rules: &[u64], explanation: &Explanation) {
    let State::Suppressed { rules: known, rules_gone, .. } = &explanation.state else { return };
    let mut named: Vec<&str> = known.iter().map(|rule| rule.id.as_str()).collect();
    named.extend(rules_gone.iter().map(String::as_str));
    named.sort_unstable();
    let mut want: Vec<String> = rules.iter().map(|rule| format!("{rule:016x}")).collect();
    want.sort_unstable();
    assert_eq!(named, want, "{}", explanation.url);
    assert!(known.iter().all(|rule| !rule.text.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn every_url_of_a_finished_crawl_is_explained_as_the_ledger_has_it() {
    let mut all = Seen::new();
    // The demo's web is the one that rules are certainly learned on.
    let worlds = seeds(3).into_iter().map(world).chain([with_limits(demo_web())]);
    for world in worlds {
        let (_, now) = world.run(START, Crash::Never).await;
        for (what, count) in compare(&world, now) {
            *all.entry(what).or_default() += count;
        }
    }
    println!("{all:?}");
    for what in ["done", "done, robots.txt alike", "suppressed", "refused: robots-disallowed"] {
        assert!(all.get(what).is_some_and(|count| *count > 0), "no case of {what}: {all:?}");
    }
    assert!(all.keys().filter(|what| what.starts_with("refused")).count() > 1, "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn every_url_of_a_crawl_that_is_under_way_is_explained_as_the_ledger_has_it() {
    let mut queued = 0;
    for seed in seeds(2) {
        let world = world(seed);
        let (_, now) = world.run(START, Crash::AfterRecords(120)).await;
        queued += compare(&world, now).get("queued").copied().unwrap_or(0);
    }
    assert!(queued > 50, "{queued}");
}
