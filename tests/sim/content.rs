//! Traps, soft errors and near-duplicates in whole crawls: what repeats itself is left alone long
//! before any limit, what does not is fetched to its last document.

use std::collections::{BTreeMap, BTreeSet};

use crawler::crawl::DustMode;
use crawler::crawl::log::Line;
use crawler::demo::{Habits, SiteSpec, Traps, Truth, UrlStyle};
use crawler::url::CrawlUrl;

use super::scripted::{Page, empty};
use super::{Crash, Run, START, World, balanced};
use crawler::crawl::{Ended, Summary};
use crawler::demo::WebSpec;

fn site(name: &str, pages: u32, change: impl FnOnce(&mut SiteSpec)) -> SiteSpec {
    let mut site = SiteSpec::new(name, pages);
    (site.fanout, site.links, site.cross_links) = (12, 3, 0);
    change(&mut site);
    site
}

async fn crawl(world: &World) -> Summary {
    let (run, _) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    *summary
}

impl World {
    /// Returns how many of the pages that were fetched are of some kind, and what they show: `of`
    /// is `None` for one of another kind, and `Some(None)` for one that shows nothing of its own.
    fn shown<T: Ord>(&self, of: impl Fn(Truth) -> Option<Option<T>>) -> (usize, BTreeSet<T>) {
        let pages = self.lines().into_iter().filter(|line| line.purpose == "page");
        let truths = pages.filter_map(|line| {
            let url = CrawlUrl::parse(&line.url).expect("a log has URLs");
            self.web.truth(&url)
        });
        let all: Vec<Option<T>> = truths.filter_map(of).collect();
        (all.len(), all.into_iter().flatten().collect())
    }

    /// Returns the number of documents of all hosts that were not fetched under any URL.
    fn lost(&self) -> usize {
        let all: usize =
            (0..self.web.hosts().len() as u32).map(|host| self.web.documents(host).count()).sum();
        all - self.documents().len()
    }
}

#[tokio::test(start_paused = true)]
async fn endless_spaces_are_left_long_before_any_limit_and_no_document_with_them() {
    let traps = |traps: Traps| move |site: &mut SiteSpec| site.traps = traps;
    let none = Traps::default();
    let world = World::new(WebSpec::new(
        5,
        vec![
            site("calendar.test", 150, traps(Traps { calendar: true, ..none })),
            site("deeper.test", 150, traps(Traps { growing_path: true, ..none })),
            site("members.test", 150, traps(Traps { session_path: true, ..none })),
            site("shop.test", 150, traps(Traps { facets: true, ..none })),
            site("told.test", 150, traps(Traps { edited: true, ..none })),
        ],
    ));
    let summary = crawl(&world).await;
    assert_eq!(summary.ended, Ended::Complete, "{summary:?}");
    let mut trapped: BTreeMap<String, u64> = BTreeMap::new();
    for line in world.lines() {
        let url = CrawlUrl::parse(&line.url).expect("a log has URLs");
        if line.purpose == "page" && world.web.truth(&url) == Some(Truth::Trap) {
            *trapped.entry(line.host).or_default() += 1;
        }
    }
    println!("pages of traps fetched before they were left: {trapped:?}");
    assert_eq!(trapped.len(), 5);
    for (host, pages) in trapped {
        let most = if matches!(&*host, "shop.test" | "told.test") { 400 } else { 300 };
        assert!(pages <= most, "{host}: {pages} pages of its trap");
    }
    // The filter stops the paths that repeat their segments by itself.
    assert_eq!(summary.reasons.get("trap-section-parked"), Some(&4), "{:?}", summary.reasons);
    assert_eq!(world.lost(), 0);
}

/// Lists in every order of their columns, on a site where parameters of those names are known to
/// make no difference: what is fetched to prove that of the lists, too, must not keep the crawl
/// from seeing that they go on for ever.
#[tokio::test(start_paused = true)]
async fn rules_do_not_hide_that_a_space_is_endless() {
    let (session, sessions) = (Some("sort"), 3);
    let habits = Habits { share: 30, session, sessions, tracking: 3, ..Habits::default() };
    let site = site("sorted.test", 150, |site| {
        site.traps.sorted = true;
        (site.style, site.habits) = (UrlStyle::Query, habits);
    });
    for dust in [DustMode::Off, DustMode::Enforce] {
        let mut world = World::new(WebSpec::new(13, vec![site.clone()]));
        world.dust.mode = dust;
        let summary = crawl(&world).await;
        assert_eq!(summary.ended, Ended::Complete, "{summary:?}");
        let of_lists = |folder: &str| {
            let lines = world.lines().into_iter().filter(|line| line.purpose == "page");
            lines.filter(|line| line.url.contains(folder)).count()
        };
        let (short, long) = (of_lists("/hours/"), of_lists("/tasks/"));
        println!("short and long lists fetched with rules {dust:?}: {short}, {long}");
        assert!(short <= 300 && long <= 300, "{dust:?}: {short} short lists, {long} long ones");
        assert_eq!(world.lost(), 0);
    }
}

/// Boards that show other tasks in each order where they are cut into pages, and the same where
/// they are not: what is learned of these must not hide those.
#[tokio::test(start_paused = true)]
async fn each_page_of_a_list_that_is_cut_is_fetched_in_every_order() {
    // Of a host that shows mostly texts that are known, links of known texts are not followed.
    let site = site("board.test", 800, |site| site.boards = 16);
    for dust in [DustMode::Off, DustMode::Enforce] {
        let mut world = World::new(WebSpec::new(14, vec![site.clone()]));
        world.dust.mode = dust;
        let summary = crawl(&world).await;
        assert_eq!(summary.ended, Ended::Complete, "{summary:?}");
        let (pages, shown) = world.shown(|truth| match truth {
            Truth::Board { tasks } => Some(Some(tasks)),
            _ => None,
        });
        let all: BTreeSet<u64> = world.web.sets_of_tasks(0).collect();
        let lost = all.difference(&shown).count();
        println!("{dust:?}: {lost} of {} sets of tasks lost, {pages} pages", all.len());
        assert_eq!((lost, world.lost()), (0, 0), "{:?}", summary.reasons);
    }
}

#[tokio::test(start_paused = true)]
async fn a_repository_shown_at_every_commit_is_fetched_to_its_last_text() {
    for commits in [18, 60] {
        let spec = site("git.test", 20, |site| site.commits = commits);
        let world = World::new(WebSpec::new(11, vec![spec]));
        let summary = crawl(&world).await;
        assert_eq!(summary.ended, Ended::Complete, "{summary:?}");
        let (pages, shown) = world.shown(|truth| match truth {
            Truth::Repository { text } => Some(text),
            _ => None,
        });
        let all: BTreeSet<u32> = world.web.repository_texts(0).collect();
        println!("{} texts on {pages} pages of {commits} commits", all.len());
        assert_eq!(shown, all, "{:?}", summary.reasons);
        assert_eq!(world.lost(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn pages_that_are_not_there_are_known_whatever_their_status_says() {
    let world = World::new(WebSpec::new(
        6,
        vec![
            site("soft.test", 300, |site| {
                site.traps.soft_404 = true;
                site.dead_links = 300;
            }),
            site("honest.test", 300, |site| site.dead_links = 300),
        ],
    ));
    let summary = crawl(&world).await;
    let (mut right, mut wrong, mut missed) = (0u64, 0u64, 0u64);
    for line in world.lines().into_iter().filter(|line| line.purpose == "page") {
        let url = CrawlUrl::parse(&line.url).expect("a log has URLs");
        let soft = matches!(world.web.truth(&url), Some(Truth::Error { soft: true }));
        match (soft && line.status == 200, line.content.starts_with("junk:")) {
            (true, true) => right += 1,
            (false, true) => wrong += 1,
            (true, false) => missed += 1,
            (false, false) => {}
        }
    }
    println!("soft errors: {right} known, {missed} missed, {wrong} wrongly, {summary:?}");
    assert_eq!(wrong, 0, "a page with content was taken for an error");
    assert!(right >= 20 * missed && right > 20, "{right} known, {missed} missed");
    assert_eq!(summary.counters.junk, right);
    // Few probes, each under a lease: two hosts, and robots.txt allows all.
    assert!((2..=8).contains(&summary.counters.probe_requests), "{:?}", summary.counters);
    assert_eq!(world.lost(), 0);
}

/// A probe asked for nonsense behind the number of an item, and was shown the item: what showed it
/// under another name was taken for an error.
#[tokio::test(start_paused = true)]
async fn a_site_that_goes_by_the_number_of_an_item_says_nothing_of_what_is_not_there() {
    let addresses = || {
        let of = |name: &str| (0..40).map(|n| format!("/item/{n}/{name}")).collect::<Vec<_>>();
        [of("title"), of("old-title")].concat().into_iter()
    };
    let answer = move |url: &CrawlUrl| {
        let parts: Vec<&str> = url.path()[1..].split('/').collect();
        match parts[..] {
            [""] => {
                let links: Vec<String> = addresses().collect();
                Page::text("home", &links.iter().map(String::as_str).collect::<Vec<_>>())
            }
            ["item", n, _] if n.parse().is_ok_and(|n: u32| n < 40) => Page::text(n, &[]),
            _ => Page::Missing,
        }
    };
    let crawled = empty().scripted(Vec::new(), answer).await;
    let known: BTreeSet<String> =
        addresses().map(|address| format!("http://a.test{address}")).collect();
    let is_of_item = |url: &&String| url.contains("/item/") && !known.contains(*url);
    assert!(crawled.asked.iter().any(|url| is_of_item(&url)), "it was asked for nonsense");
    assert_eq!(crawled.summary.counters.junk, 0);
    assert_eq!(crawled.summary.counters.duplicates, 40);
}

#[tokio::test(start_paused = true)]
async fn a_small_site_with_many_dead_links_is_fetched_to_its_last_page_and_not_parked() {
    // What is left at the end are dead links alone, several times as many as the site has pages.
    let dead = |links: u32| {
        move |site: &mut SiteSpec| {
            (site.traps.soft_404, site.dead_links) = (true, links);
        }
    };
    for seed in 0..4 {
        let world = World::new(WebSpec::new(
            seed,
            vec![
                site("tiny.test", 30, dead(300)),
                site("small.test", 90, dead(300)),
                site("middle.test", 250, dead(300)),
                site("ruin.test", 120, dead(600)),
            ],
        ));
        let summary = crawl(&world).await;
        assert_eq!(summary.ended, Ended::Complete, "seed {seed}: {summary:?}");
        assert!(summary.parked.is_empty(), "seed {seed}: {:?}", summary.parked);
        assert_eq!(summary.reasons.get("trap-section-parked"), None, "seed {seed}");
        assert!(summary.counters.junk > 100, "seed {seed}: {:?}", summary.counters);
        assert_eq!(world.lost(), 0, "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_healthy_archive_is_fetched_to_its_last_page_unhindered() {
    let world = World::new(WebSpec::new(7, vec![site("archive.test", 2000, |_| {})]));
    let summary = crawl(&world).await;
    assert_eq!(summary.ended, Ended::Complete);
    assert_eq!(world.lost(), 0);
    assert!(summary.parked.is_empty());
    let trap = summary.reasons.keys().find(|reason| reason.starts_with("trap"));
    assert_eq!(trap, None, "{:?}", summary.reasons);
    assert_eq!(summary.counters.junk, 0);
}

#[tokio::test(start_paused = true)]
async fn a_near_duplicate_is_named_in_the_log() {
    let spec = site("story.test", 120, |site| site.near_replicas = 200);
    let world = World::new(WebSpec::new(8, vec![spec]));
    crawl(&world).await;
    let near: Vec<Line> = world.lines().into_iter().filter(|line| line.near.is_some()).collect();
    assert!(near.len() > 5, "{} near-duplicates", near.len());
    for line in near {
        let known = line.near.expect("it was asked for");
        assert_ne!(known.url, line.url);
        assert!((0.7..=1.0).contains(&known.resemblance), "{known:?}");
    }
}

/// Returns the number of pages under `/page/` that are fetched where each of 300 shows what `body`
/// says and leads to the next one, and `elsewhere` answers everything else.
async fn fetched_of_chain(body: fn(u64) -> String, elsewhere: fn(&str) -> Page) -> usize {
    let mut world = empty();
    world.filter.hops_max = 1000;
    let crawled = world
        .scripted(Vec::new(), move |url| {
            let target = url.path_and_query();
            let number = target.strip_prefix("/page/").and_then(|rest| rest.parse::<u64>().ok());
            match number.filter(|number| (1..=300).contains(number)) {
                Some(number) => Page::Html(format!(
                    "<title>{number}</title><p><a href=/>Home</a> <a href=/about>About us</a></p>\
                     {}<p><a href=/page/{}>Next</a></p><p>All rights reserved.</p>",
                    body(number),
                    number + 1
                )),
                None if target == "/" => Page::text("home", &["/page/1"]),
                None => elsewhere(target),
            }
        })
        .await;
    asked_of(&crawled.asked, "/page/")
}

/// Returns how many numbers below 301 were asked for behind `folder`.
fn asked_of(asked: &[String], folder: &str) -> usize {
    let rest = asked.iter().filter_map(|url| url.split_once(folder));
    let numbers = rest.filter_map(|(_, rest)| rest.parse::<u64>().ok()).filter(|n| *n <= 300);
    numbers.collect::<BTreeSet<_>>().len()
}

fn drawn(n: u64, nth: u64, below: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64(&[n.to_le_bytes(), nth.to_le_bytes()].concat()) % below
}

/// What the weather was and what a crown cost was taken for a calendar: a third of the days were
/// fetched, and the rest left as a trap. So were questions in forms, and formulas without a word.
#[tokio::test(start_paused = true)]
async fn pages_that_differ_in_numbers_forms_or_signs_alone_are_fetched_to_the_last() {
    let weather = |n| {
        let figure = |nth, below| drawn(n, nth, below);
        format!(
            "<h1>Day {n}</h1><p>On this day it was {} degrees with a wind of {} kilometres an \
             hour, and {} millimetres of rain fell.</p>",
            figure(0, 40),
            figure(1, 90),
            figure(2, 30)
        )
    };
    let rates = |n| {
        let row = |name: &&str| {
            let cell = |nth| format!("<td>{}.{:04}", drawn(n, nth, 99), drawn(n, nth + 9, 9999));
            let nth = u64::from(name.as_bytes()[0]) << 8 | u64::from(name.as_bytes()[1]);
            format!("<tr><td>{name}{}{}", cell(nth), cell(nth + 99))
        };
        let names = ["USD", "JPY", "GBP", "CHF", "SEK", "NOK", "DKK", "CZK"];
        format!("<h1>Rates {n}</h1><table>{}</table>", names.iter().map(row).collect::<String>())
    };
    let question = |n| {
        let word = |nth| format!("w{:x} ", drawn(n, nth, 4000));
        let words = (0..10).map(word).collect::<String>();
        format!("<form action=/answer><p>Question {n}: {words}?</p><input name=a></form>")
    };
    let formula = |n| {
        let sign = |nth| ['∑', '∫', '√', '≤', '∀', '∃', '⊂', '∈'][drawn(n, nth, 8) as usize];
        format!("<p>{}</p>", (0..20).map(sign).collect::<String>())
    };
    let kinds: [fn(u64) -> String; 4] = [weather, rates, question, formula];
    let mut fetched = Vec::new();
    for body in kinds {
        fetched.push(fetched_of_chain(body, |_| Page::Missing).await);
    }
    assert_eq!(fetched, [300; 4], "weather, rates, questions, formulas");
}

/// A page that has a photograph and a number has no text at all: such a gallery was left after a
/// hundred of them.
#[tokio::test(start_paused = true)]
async fn photographs_are_fetched_to_the_last_whatever_their_pages_say() {
    let gallery = |n| format!("<p>Photo {n} of 300</p><img src=/photo/{n}.jpg>");
    let photo = |target: &str| match target.starts_with("/photo/") {
        true => {
            let kind = vec![("content-type", &b"image/jpeg"[..])];
            Page::Said(200, kind, target.repeat(40).into_bytes())
        }
        false => Page::Missing,
    };
    assert_eq!(fetched_of_chain(gallery, photo).await, 300);
    // The same picture on each page is none of them.
    let same = |n| format!("<p>Photo {n} of 300</p><img src=/photo/{n}.jpg>");
    let pixel = |target: &str| match target.starts_with("/photo/") {
        true => Page::Said(200, vec![("content-type", b"image/jpeg")], b"a pixel".repeat(40)),
        false => Page::Missing,
    };
    let fetched = fetched_of_chain(same, pixel).await;
    assert!(fetched < 150, "{fetched}");
}

/// Lists of what has no text raise what waits; while it is worked off nothing is endless.
#[tokio::test(start_paused = true)]
async fn what_is_listed_is_fetched_to_the_last_though_it_says_nothing() {
    let crawled = empty()
        .scripted(Vec::new(), |url| {
            let target = url.path_and_query();
            let listed = |from: u64, to: u64, kind: &str| {
                let link = |n| format!("<li><a href=/{kind}/{n}>{n}</a></li>");
                Page::Html(format!("<ul>{}</ul>", (from..to).map(link).collect::<String>()))
            };
            let number = target.rsplit('/').next().and_then(|rest| rest.parse::<u64>().ok());
            match (target, number) {
                ("/", _) => listed(0, 12, "list"),
                (list, Some(n)) if list.starts_with("/list/") => {
                    listed(n * 25, n * 25 + 25, "item")
                }
                (_, Some(n)) if n < 300 => {
                    Page::Html(format!("<p>Item {n}</p><p><a href=/item/{}>Next</a>", n + 1))
                }
                _ => Page::Missing,
            }
        })
        .await;
    // The last one leads to one that is not there.
    assert_eq!(asked_of(&crawled.asked, "/item/"), 301);
}
