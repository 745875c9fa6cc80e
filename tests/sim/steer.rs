//! Orders to a running crawl: what they drop comes back, what they change lasts, and the ledger
//! stays whole.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crawler::clock::{ByteSize, Span, Timestamp};
use crawler::crawl::log::{Line, files};
use crawler::crawl::steer::{Answer, Budget, By, Changes, Channel, Entry, Kind, Order, Refusal};
use crawler::crawl::verify::verify_state;
use crawler::crawl::{Command, Ended, SeedUrl, Summary};
use crawler::db::families::{meta, urls};
use crawler::demo::{Draft, SiteSpec, WebSpec};
use crawler::frontier::UrlState;
use crawler::url::CrawlUrl;
use tokio::sync::{mpsc, oneshot};

use super::scripted::{Page, empty};
use super::{Crash, Run, START, World, balanced};

/// Gives an order and waits for what is said.
async fn say(commands: &mpsc::Sender<Command>, order: Order) -> Result<Answer, Refusal> {
    let (reply, answer) = oneshot::channel();
    let by = By { channel: Channel::Socket, uid: Some(7), pid: None };
    commands.send(Command::Steer { order, by, reply }).await.expect("the crawl listens");
    answer.await.expect("the crawl answers")
}

/// Lets the crawl go on for a while of its own time.
async fn let_pass(secs: u64) {
    tokio::time::sleep(Duration::from_secs(secs)).await;
}

fn exclude(pattern: &str, preview: bool) -> Order {
    Order::Exclude { pattern: pattern.to_owned(), preview }
}

fn include(pattern: &str) -> Order {
    Order::Include { pattern: pattern.to_owned() }
}

/// A web whose pages are the same however and whenever they are fetched.
fn web(seed: u64) -> WebSpec {
    let draft =
        Draft { hosts: 6, pages: (30, 60), sick: 0, touchy: 0, dust: 0, ..Draft::default() };
    WebSpec::draw(seed, &draft)
}

/// Returns the URLs of the ledger in a state, of one host.
fn of_host(world: &World, host: &str, is: impl Fn(&UrlState) -> bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    urls::each(&world.state(), |_, record| {
        let url = CrawlUrl::parse(&record.url).expect("the ledger holds URLs");
        if url.host_str() == host && is(&record.state) {
            found.insert(record.url);
        }
        true
    })
    .expect("the ledger is read");
    found
}

#[track_caller]
fn is_whole(world: &World) {
    let report = verify_state(&world.state(), None, 0).expect("the state is read");
    assert_eq!(report.problems, []);
}

fn is_excluded(state: &UrlState) -> bool {
    matches!(state, UrlState::Refused { reason, .. } if reason == "excluded")
}

async fn crawled(world: &World, start: Timestamp) -> BTreeSet<String> {
    let (run, _) = world.run(start, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    assert_eq!(summary.ended, Ended::Complete);
    balanced(&summary);
    world.store.urls()
}

#[tokio::test(start_paused = true)]
async fn an_exclusion_drops_what_its_preview_counted_and_taking_it_back_brings_all_of_it_back() {
    for seed in super::seeds(2) {
        let want = crawled(&World::new(web(seed)), START).await;
        let world = World::new(web(seed));
        let host = world.web.homes()[2].host_str().to_owned();
        let gap = world.politeness.min_delay.get();
        let operate = async |commands: mpsc::Sender<Command>| {
            let_pass(15).await;
            say(&commands, Order::Pause).await.expect("it pauses");
            let_pass(60).await;
            let counted = say(&commands, exclude(&host, true)).await.expect("it counts");
            let again = say(&commands, exclude(&host, true)).await.expect("it counts");
            assert_eq!(counted, again, "a preview changes nothing");
            let dropped = say(&commands, exclude(&host, false)).await.expect("it drops");
            let (counted, dropped) = (counted.count.unwrap(), dropped.count.unwrap());
            assert!(counted.exact && counted.urls > 0, "seed {seed}: {counted:?}");
            assert_eq!(counted.urls, dropped.urls, "seed {seed}");
            let refusal = say(&commands, exclude(&host, false)).await.unwrap_err();
            assert_eq!(refusal.kind, Kind::Refused);
            say(&commands, Order::Resume).await.expect("it goes on");
            let_pass(30).await;
            let back = say(&commands, include(&host)).await.expect("it comes back");
            // Links that were found meanwhile come back as well.
            assert!(back.count.unwrap().urls >= dropped.urls, "seed {seed}: {back:?}");
            let refusal = say(&commands, include(&host)).await.unwrap_err();
            assert_eq!(refusal.kind, Kind::Nothing);
        };
        let (run, _, judgement) = world.steered(START, gap, Crash::Never, operate).await;
        let Run::Ended(summary) = run else { panic!("nothing crashes here") };
        assert_eq!(summary.ended, Ended::Complete, "seed {seed}");
        balanced(&summary);
        assert_eq!(judgement.violations, 0, "{:?}", judgement.examples);
        is_whole(&world);
        assert_eq!(world.store.urls(), want, "seed {seed}: what came back was fetched");
        assert_eq!(of_host(&world, &host, is_excluded), BTreeSet::new());
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_operator_changes_outlives_kills() {
    for seed in super::seeds(2) {
        let world = World::new(web(seed));
        let gap = world.politeness.min_delay.get();
        let homes = world.web.homes();
        let (gone, slow) = (homes[1].host_str().to_owned(), homes[3].host_str().to_owned());
        let delay = Order::Delay { host: slow.clone(), delay: Some(Span::secs(4)) };
        let budget = Budget { host_pages: Some(1000), ..Budget::default() };
        let operate = async |commands: mpsc::Sender<Command>| {
            let_pass(5).await;
            for order in [delay.clone(), Order::Budget(budget), exclude(&gone, false)] {
                say(&commands, order).await.expect("it is done");
            }
        };
        // So many records that the orders are given first.
        let (run, at, _) = world.steered(START, gap, Crash::AfterRecords(60), operate).await;
        assert!(matches!(run, Run::Crashed), "seed {seed}: it is killed");
        let stored = meta::control(&world.state()).unwrap();
        let changes = Changes::read(stored.as_deref()).expect("it is read");
        assert_eq!(changes.excluded, std::slice::from_ref(&gone), "seed {seed}");
        assert_eq!(changes.delays.get(&slow), Some(&Span::secs(4)));
        assert_eq!(changes.budget, budget);
        let before = fetched_of(&world, &gone);
        let mut now = at.plus(Duration::from_millis(50));
        for crashes in 0..1000 {
            // The judge wants the changed delay of that one host.
            let (run, at, judgement) = world.judged(now, gap, Crash::after(seed, crashes)).await;
            assert_eq!(judgement.violations, 0, "{:?}", judgement.examples);
            now = at.plus(Duration::from_millis(50));
            if let Run::Ended(summary) = run {
                balanced(&summary);
                break;
            }
        }
        is_whole(&world);
        assert_eq!(fetched_of(&world, &gone), before, "seed {seed}: it stays excluded");
        assert!(!of_host(&world, &gone, is_excluded).is_empty());
        let log = crawler::crawl::audit::audit(world.logs.path(), None).expect("the log is read");
        assert_eq!(log.violations.len(), 0, "{:?}", log.violations);
        slowed(&world, &slow, at);
    }
}

/// Checks that between the requests of a host lies its changed delay, once it is changed.
fn slowed(world: &World, host: &str, from: Timestamp) {
    let mut ends: Option<u64> = None;
    let mut gaps = 0;
    for file in crawler::crawl::log::files(world.logs.path()).unwrap() {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let line: crawler::crawl::log::Line = serde_json::from_str(line).unwrap();
            if line.host != host || line.at_ms < from.as_millis() || line.then == "interrupted" {
                continue;
            }
            if let Some(end) = ends {
                // What a request took is rounded up to a millisecond.
                assert!(line.at_ms + 1 >= end + 4000, "{} after {end}", line.at_ms);
                gaps += 1;
            }
            ends = Some(line.at_ms + line.took_ms);
        }
    }
    assert!(gaps > 3, "{gaps} gaps prove little");
}

fn fetched_of(world: &World, host: &str) -> BTreeSet<String> {
    let of_host = |url: &String| CrawlUrl::parse(url).is_ok_and(|url| url.host_str() == host);
    world.store.urls().into_iter().filter(of_host).collect()
}

#[tokio::test(start_paused = true)]
async fn a_crawl_that_was_paused_is_paused_when_it_starts_again_until_it_is_resumed() {
    let want = crawled(&World::new(web(3)), START).await;
    let world = World::new(web(3));
    let gap = world.politeness.min_delay.get();
    let pause = async |commands: mpsc::Sender<Command>| {
        let_pass(20).await;
        say(&commands, Order::Pause).await.expect("it pauses");
        let_pass(30).await;
        say(&commands, Order::Stop).await.expect("it stops");
    };
    let (run, at, _) = world.steered(START, gap, Crash::Never, pause).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    assert_eq!(summary.ended, Ended::Interrupted);
    let before = world.store.urls();
    assert!(before.len() < want.len());
    let resume = async |commands: mpsc::Sender<Command>| {
        let_pass(300).await;
        assert_eq!(world.store.urls(), before, "a paused crawl asks nobody");
        say(&commands, Order::Resume).await.expect("it goes on");
    };
    let (run, _, judgement) = world.steered(at, gap, Crash::Never, resume).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    assert_eq!(summary.ended, Ended::Complete);
    balanced(&summary);
    assert_eq!(judgement.violations, 0, "{:?}", judgement.examples);
    assert_eq!(world.store.urls(), want);
    let journal = std::fs::read_to_string(world.logs.path().join("control.jsonl")).unwrap();
    let entries: Vec<Entry> =
        journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let orders: Vec<&Order> = entries.iter().map(|entry| &entry.order).collect();
    assert_eq!(orders, [&Order::Pause, &Order::Stop, &Order::Resume]);
    assert!(entries.iter().all(|entry| entry.ok && entry.by.uid == Some(7)));
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_is_raised_brings_back_what_it_refused() {
    let want = crawled(&World::new(web(5)), START).await;
    let mut world = World::new(web(5));
    world.filter.host_pages_max = 8;
    let first = crawled(&world, START).await;
    assert!(first.len() < want.len());
    let gap = world.politeness.min_delay.get();
    let raise = async |commands: mpsc::Sender<Command>| {
        let budget = Budget { host_pages: Some(0), ..Budget::default() };
        let answer = say(&commands, Order::Budget(budget)).await.expect("it is raised");
        assert!(answer.count.unwrap().urls > 0, "{answer:?}");
    };
    let later = START.plus(Duration::from_secs(100_000));
    let (run, ..) = world.steered(later, gap, Crash::Never, raise).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    is_whole(&world);
    assert_eq!(world.store.urls(), want);
}

/// Runs until the crawl ends, while an operator gives one order or none.
async fn ends_with(world: &World, start: Timestamp, order: Option<Order>) -> (Summary, Timestamp) {
    let gap = world.politeness.min_delay.get();
    let operate = |commands: mpsc::Sender<Command>| async move {
        if let Some(order) = order {
            say(&commands, order).await.expect("it is done");
        }
    };
    let (run, at, _) = world.steered(start, gap, Crash::Never, operate).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    is_whole(world);
    (*summary, at.plus(Duration::from_secs(60)))
}

/// It kept the reason of the exclusion that had been taken back, and the larger budget did not find
/// it: the crawl was complete without it.
#[tokio::test(start_paused = true)]
async fn what_comes_back_while_a_budget_is_spent_is_fetched_under_a_larger_one() {
    let want = crawled(&World::new(web(5)), START).await;
    let mut world = World::new(web(5));
    world.filter.total_pages_max = 8;
    let (summary, now) = ends_with(&world, START, None).await;
    assert_eq!((summary.ended, summary.counters.done), (Ended::Limit, 8), "{summary:?}");
    let is_cut = |state: &UrlState| {
        let UrlState::Refused { reason, .. } = state else { return false };
        reason == "total-pages"
    };
    let homes = world.web.homes();
    let of = |host: &str| of_host(&world, host, is_cut).len();
    let host = homes.iter().map(CrawlUrl::host_str).max_by_key(|host| of(host)).unwrap();
    assert!(of(host) > 0, "the budget refused nothing");
    let (_, now) = ends_with(&world, now, Some(exclude(host, false))).await;
    let (_, now) = ends_with(&world, now, None).await;
    assert!(!of_host(&world, host, is_excluded).is_empty());
    let (summary, now) = ends_with(&world, now, Some(include(host))).await;
    assert_eq!(summary.ended, Ended::Limit, "{summary:?}");
    assert_eq!(of_host(&world, host, is_excluded), BTreeSet::new());
    let budget = Budget { total_pages: Some(0), ..Budget::default() };
    let (summary, _) = ends_with(&world, now, Some(Order::Budget(budget))).await;
    assert_eq!(summary.ended, Ended::Complete, "{summary:?}");
    assert_eq!(world.store.urls(), want);
}

/// A fetch that came to nothing was counted while it was under way: others were refused for it, and
/// the crawl was complete with room left in its budget.
#[tokio::test(start_paused = true)]
async fn nobody_is_refused_for_a_page_that_is_under_way() {
    let mut world = empty();
    world.filter.total_pages_max = 1;
    world.limits.retries_max = 0;
    let seeds = ["http://a.test/", "http://b.test/", "http://c.test/"].map(|home| {
        let url = CrawlUrl::parse(home).expect("a URL");
        SeedUrl { url, priority: None, hops_max: None }
    });
    let failed = AtomicBool::new(false);
    let crawled = world
        .scripted_at(START, seeds.to_vec(), Vec::new(), move |url| match url.path() {
            "/" if !failed.swap(true, Ordering::Relaxed) => Page::Broken,
            "/" => Page::text(url.host_str(), &[]),
            _ => Page::Missing,
        })
        .await;
    let summary = &crawled.summary;
    let counters = &summary.counters;
    assert_eq!((counters.done, counters.failed, counters.refused), (1, 1, 1), "{summary:?}");
    assert_eq!(summary.ended, Ended::Limit, "{summary:?}");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_was_given_up_is_tried_again_when_it_is_forgiven() {
    let draft = Draft { hosts: 12, pages: (5, 20), sick: 1000, touchy: 0, ..Draft::default() };
    let world = World::new(WebSpec::draw(1, &draft));
    let gap = world.politeness.min_delay.get();
    let (run, at) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    let given_up = |state: &UrlState| matches!(state, UrlState::Failed { reason, .. } if reason == "host-given-up");
    let failed = |host: &str| of_host(&world, host, given_up).len() as u64;
    let homes = world.web.homes();
    let host = homes.iter().map(CrawlUrl::host_str).max_by_key(|host| failed(host)).unwrap();
    let lost = failed(host);
    assert!(lost > 0, "no host of this web was given up");
    let forgive = async |commands: mpsc::Sender<Command>| {
        let order = |host: &str| Order::Forgive { host: host.to_owned() };
        let answer = say(&commands, order(host)).await.expect("it is forgiven");
        assert_eq!(answer.count.unwrap().urls, lost);
        let refusal = say(&commands, order("nobody.test")).await.unwrap_err();
        assert_eq!(refusal.kind, Kind::Nothing);
    };
    let requests = summary.counters.requests;
    let (run, ..) = world.steered(at, gap, Crash::Never, forgive).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    is_whole(&world);
    assert!(summary.counters.requests > requests, "the host was asked again");
}

/// A crawl ended, as if all that was left were parked, in the moment in which its last host fell
/// asleep and the one that was to have its back queue had nothing any more.
#[tokio::test(start_paused = true)]
async fn a_host_that_sleeps_is_waited_for_where_all_others_turn_out_to_have_nothing() {
    let site = |name| SiteSpec { cross_links: 0, ..SiteSpec::new(name, 300) };
    let mut world = World::new(WebSpec::new(6, ["a.test", "b.test"].map(site).to_vec()));
    world.frontier.back_queues = 1;
    let second = START.as_millis() / 1000 % 86_400;
    // It closes a minute or two after the crawl has begun.
    let (hour, minute) = (second / 3600, second / 60 % 60 + 2);
    assert!(minute < 60, "the window is of one hour");
    let window = format!("{hour:02}:00-{hour:02}:{minute:02} UTC");
    world.politeness.windows = vec![window.parse().expect("a window")];
    let operate = async |commands: mpsc::Sender<Command>| {
        let_pass(20).await;
        say(&commands, Order::Pause).await.expect("it pauses");
        say(&commands, exclude("b.test", false)).await.expect("it drops");
        let_pass(300).await;
        say(&commands, Order::Resume).await.expect("it goes on");
    };
    let gap = world.politeness.min_delay.get();
    let (run, end, _) = world.steered(START, gap, Crash::Never, operate).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    assert_eq!(summary.ended, Ended::Complete, "{summary:?}");
    assert_eq!(summary.counters.queued, 0, "{summary:?}");
    assert!(end.since(START) > Duration::from_secs(80_000), "its hours were not over");
    is_whole(&world);
}

/// What an operator let go on had leases until the next look at the disk.
#[tokio::test(start_paused = true)]
async fn no_order_lets_a_crawl_go_on_that_a_full_disk_holds() {
    let mut world = World::new(WebSpec::new(6, vec![SiteSpec::new("a.test", 50)]));
    world.disks = vec![world.logs.path().to_owned()];
    world.limits.disk_reserve = ByteSize(u64::MAX);
    world.limits.time_max = Span::secs(20);
    let gap = world.politeness.min_delay.get();
    let operator = |commands: mpsc::Sender<Command>| async move {
        tokio::time::sleep(Duration::from_millis(5_300)).await;
        let (reply, _answer) = oneshot::channel();
        commands.send(Command::Resume(reply)).await.expect("the crawl runs");
    };
    let (run, _, _) = world.steered(START, gap, Crash::Never, operator).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    assert_eq!(summary.ended, Ended::Limit);
    let mut late = Vec::new();
    for file in files(world.logs.path()).expect("the log is there") {
        for line in std::fs::read_to_string(file).expect("it is text").lines() {
            let line: Line = serde_json::from_str(line).expect("a line of the log");
            let is_late = line.at_ms > START.plus(Duration::from_secs(3)).as_millis();
            late.extend(is_late.then_some(line.url));
        }
    }
    assert!(late.is_empty(), "{late:?}");
}
