//! What is learned from small made-up sites whose truth is known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::book::{RuleBook, RuleEvent, Settings};
use super::evidence::{Declared, Observation, Text};
use super::fetched::Fetched;
use super::items::NO_ITEMS;
use super::learn::{Fetcher, Report, learn, prove_rules};
use super::live::RuleSet;
use super::proven::{Proven, places};
use super::rule::{Rule, RuleFile, RuleId, RuleKind, RuleState, Scope, Source};
use super::shape::ODDS_WRONG;
use super::sketch::Sketch;
use super::validate::Finding;
use crate::clock::Timestamp;
use crate::content::Bag;
use crate::url::{CrawlUrl, Site};

/// A site as a function from path and query to the text that it serves there.
#[derive(Clone, Copy)]
struct Model {
    serve: fn(&CrawlUrl) -> Option<u64>,
}

/// The text that a site shows for everything it does not know, with status 200.
const SOFT_ERROR: u64 = 999_999;

fn text(document: u64) -> Text {
    let from = document * 1_000;
    Sketch::of_shingles(from..from + 120).map_or(Text::Unknown, Text::Main)
}

fn url(tail: &str) -> CrawlUrl {
    CrawlUrl::parse(&format!("http://www.example.com{tail}")).unwrap()
}

fn page(url: CrawlUrl, text: Text) -> Observation {
    Observation::of(url, 200, text)
}

impl Model {
    fn crawl(&self, tails: impl IntoIterator<Item = String>) -> Vec<Observation> {
        let observe = |tail: String| {
            let url = url(&tail);
            let document = (self.serve)(&url);
            let mut page = page(url, document.map_or(Text::Unknown, text));
            page.status = if document.is_some() { 200 } else { 404 };
            page
        };
        tails.into_iter().map(observe).collect()
    }

    fn learn(mut self, log: Vec<Observation>) -> Report {
        let mut settings = Settings::default();
        // These sites are too small to pay for their probes.
        settings.validate.probe_share_max = 0.5;
        learn(log, Some(&mut self), settings, Timestamp::ZERO).unwrap()
    }
}

impl Fetcher for Model {
    fn fetch(&mut self, url: &CrawlUrl) -> Fetched {
        (self.serve)(url).map_or(Fetched::Gone, |document| Fetched::Page {
            text: text(document),
            digest: None,
            bag: None,
            junk: false,
        })
    }
}

/// Returns what a key's page had shown, and what a URL that shows this says beside it.
fn beside(known: Fetched, audited: Fetched) -> (Fetched, Finding) {
    (known, known.judged_by(audited))
}

fn enforced(report: &Report) -> Vec<String> {
    let mut rules: Vec<String> = report.enforced().map(Rule::to_string).collect();
    rules.sort();
    rules
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok()
}

fn parameter(url: &CrawlUrl, name: &str) -> Option<u64> {
    let mut pairs = url.as_url().query_pairs();
    pairs.find(|(key, _)| key == name).and_then(|(_, value)| number(&value))
}

/// A forum: items by number or by parameter, sessions, and pages of a list that differ.
fn forum(url: &CrawlUrl) -> Option<u64> {
    match url.path() {
        "/item" => {
            let id = parameter(url, "id").filter(|id| *id < 400)?;
            Some(id * 10 + parameter(url, "page").unwrap_or(1))
        }
        path => number(path.strip_prefix("/item_")?).filter(|id| *id < 400).map(|id| id * 10 + 1),
    }
}

fn forum_log() -> Vec<String> {
    (0..400)
        .flat_map(|i| {
            let other = match i % 5 {
                0 => format!("/item_{i}"),
                1 => format!("/item?id={i}&sid={:x}", 0xabc_def0_u64 + i),
                2 => format!("/item?id={i}&page=2"),
                3 => format!("/item?id={i}&page=1"),
                _ => format!("/item?sid={:x}&id={i}", 0xfff_def0_u64 + i),
            };
            [format!("/item?id={i}"), other]
        })
        .collect()
}

/// Lists of a tracker, whose rows stand around a text of their own: each order shows others.
struct Tracker {
    /// Whether the words of a page are told, or its main text alone.
    tells_words: bool,
}

impl Tracker {
    fn shown(&self, url: &CrawlUrl) -> (Text, Option<Bag>) {
        let list = parameter(url, "list").unwrap_or_default();
        let sort = parameter(url, "sort").unwrap_or_default();
        let (form, rows) = (list * 1_000, 1_000_000 + (list * 10 + sort) * 1_000);
        let words = (form..form + 120).chain(rows..rows + 300);
        (text(list), self.tells_words.then(|| Bag::of(words)))
    }
}

impl Fetcher for Tracker {
    fn fetch(&mut self, url: &CrawlUrl) -> Fetched {
        let (text, bag) = self.shown(url);
        Fetched::Page { text, digest: None, bag, junk: false }
    }
}

#[test]
fn lists_that_show_other_rows_in_one_frame_prove_no_rule() {
    let learned = |mut tracker: Tracker| {
        let tails = (0..300).flat_map(|list| {
            [format!("/tasks?list={list}"), format!("/tasks?list={list}&sort={}", 1 + list % 3)]
        });
        let observe = |tail: String| {
            let url = url(&tail);
            let (text, bag) = tracker.shown(&url);
            Observation { bag, ..page(url, text) }
        };
        let log: Vec<Observation> = tails.map(observe).collect();
        let mut settings = Settings::default();
        settings.validate.probe_share_max = 0.5;
        enforced(&learn(log, Some(&mut tracker), settings, Timestamp::ZERO).unwrap())
    };
    assert_eq!(learned(Tracker { tells_words: true }), [""; 0]);
    assert_eq!(learned(Tracker { tells_words: false }), ["drop parameter \"sort\""]);
}

#[test]
fn a_forum_is_learned_and_its_traps_are_left_alone() {
    let model = Model { serve: forum };
    let report = model.learn(model.crawl(forum_log()));
    assert_eq!(
        enforced(&report),
        [
            "\"^/item_\" -> \"^/item?id=\"",
            "drop parameter \"page\" when \"1\"",
            "drop parameter \"sid\"",
        ]
    );
    let set = report.book.rule_set().unwrap();
    for (i, tail) in forum_log().into_iter().enumerate() {
        let url = url(&tail);
        let key = set.canonize(&url);
        assert_eq!(forum(&key.key), forum(&url), "{url}");
        let page = tail.contains("page=2");
        assert_eq!(key.key.as_str().contains("page"), page, "{i} {url}");
    }
}

/// A library that decodes before it looks: an escaped slash or ampersand is a part of a name.
fn library(url: &CrawlUrl) -> Option<u64> {
    let value = |name: &str| {
        let mut pairs = url.as_url().query_pairs();
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    match url.path() {
        "/act" => number(value("uri")?.strip_prefix("A:")?),
        "/find" => number(value("q")?.strip_prefix("a b ")?).map(|item| 1_000 + item),
        "/tag" => match value("name")?.strip_suffix("&x") {
            Some(item) => number(item).map(|item| 2_000 + item),
            None => number(&value("name")?).map(|item| 3_000 + item),
        },
        path => match path.strip_prefix("/file/a/") {
            Some(item) => number(item).map(|item| 4_000 + item),
            None => number(path.strip_prefix("/file/a%2F")?).map(|item| 5_000 + item),
        },
    }
}

/// The same where spaces are searched for as they are written.
fn literal_library(url: &CrawlUrl) -> Option<u64> {
    let is_literal = url.query().is_some_and(|query| query.contains('+'));
    library(url).map(|document| if is_literal { document + 6_000 } else { document })
}

#[test]
fn escapes_are_decoded_where_that_makes_no_difference_and_what_parts_a_url_is_left_alone() {
    let forms = [
        ["/act?uri=A:*", "/act?uri=A%3A*"],
        ["/find?q=a+b+*", "/find?q=a%20b%20*"],
        ["/tag?name=*&x", "/tag?name=*%26x"],
        ["/file/a/*", "/file/a%2F*"],
    ];
    let form = |item: u32| {
        let forms = forms.into_iter().flatten();
        forms.map(move |form| form.replace('*', &item.to_string()))
    };
    let spaces = "\"+\" is \"%20\" in queries";
    for (model, want) in [
        (Model { serve: library }, vec![spaces, "decode escapes"]),
        (Model { serve: literal_library }, vec!["decode escapes"]),
    ] {
        let tails: Vec<String> = (0..100).flat_map(form).collect();
        let report = model.learn(model.crawl(tails.clone()));
        assert_eq!(enforced(&report), want);
        let set = report.book.rule_set().unwrap();
        for url in tails.iter().map(|tail| url(tail)) {
            assert_eq!((model.serve)(&set.canonize(&url).key), (model.serve)(&url), "{url}");
        }
    }
}

#[test]
fn learning_is_the_same_every_time() {
    let model = Model { serve: forum };
    let (a, b) = (model.learn(model.crawl(forum_log())), model.learn(model.crawl(forum_log())));
    assert_eq!(a.events, b.events);
    assert_eq!(a.probes, b.probes);
}

/// Half of the sections answer without their prefix; for the others that URL does not exist.
fn sections(url: &CrawlUrl) -> Option<u64> {
    let mut parts = url.path()[1..].split('/');
    let mut first = parts.next()?;
    let short = first != "labs";
    if !short {
        first = parts.next()?;
    }
    let lab = ["optics", "vision", "power", "signal"].iter().position(|lab| *lab == first)? as u64;
    let item = number(parts.next()?).filter(|item| *item < 60)?;
    (!short || lab < 2).then_some(lab * 100 + item)
}

#[test]
fn a_rule_whose_outcomes_do_not_exist_everywhere_is_split() {
    let model = Model { serve: sections };
    let tails = (0..60).flat_map(|i| {
        let long = ["optics", "vision", "power", "signal"].map(|lab| format!("/labs/{lab}/{i}"));
        let short = ["optics", "vision"].map(|lab| format!("/{lab}/{i}"));
        long.into_iter().chain(short.into_iter().filter(move |_| i % 3 == 0))
    });
    let report = model.learn(model.crawl(tails));
    assert_eq!(
        enforced(&report),
        ["\"^/labs/optics/\" -> \"^/optics/\"", "\"^/labs/vision/\" -> \"^/vision/\""]
    );
    let refuted = |rule: &Rule| rule.state == RuleState::Retired && rule.evidence.draws_failed > 1;
    assert!(report.rules.iter().any(refuted), "the general rule was tried");
}

/// A wiki of which each page has ten views; the empty one is the page itself.
fn views(url: &CrawlUrl) -> Option<u64> {
    let view = url.as_url().query_pairs().find(|(name, _)| name == "do");
    let view = view.and_then(|(_, view)| number(view.strip_prefix("view")?)).unwrap_or(0);
    parameter(url, "id").map(|id| id * 100 + view)
}

#[test]
fn of_many_values_the_one_without_effect_is_tried_though_others_are_more_frequent() {
    let tails = (0..60).flat_map(|id| {
        let views = (1..=10).map(move |view| format!("/wiki?id={id}&do=view{view}"));
        let empty = (id % 2 == 0).then(|| format!("/wiki?id={id}&do="));
        std::iter::once(format!("/wiki?id={id}")).chain(views).chain(empty)
    });
    let model = Model { serve: views };
    let report = model.learn(model.crawl(tails));
    assert_eq!(enforced(&report), [r#"drop parameter "do" when """#]);
}

/// A wiki of pages with names, of which four views show the same whichever page they belong to.
fn shared_views(url: &CrawlUrl) -> Option<u64> {
    let value = |name: &str| {
        let mut pairs = url.as_url().query_pairs();
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    let views = ["index", "recent", "media", "login"];
    let named = |view: String| views.iter().position(|known| *known == view);
    match value("do") {
        Some(view) => named(view).map(|at| at as u64),
        None => value("id").map(|id| 10 + xxhash_rust::xxh3::xxh3_64(id.as_bytes()) % 100_000),
    }
}

#[test]
fn one_item_is_not_exchanged_for_another_for_the_views_that_they_share() {
    let letter = |n: u32| char::from_u32(u32::from('a') + n).unwrap();
    let tails = (0..50).flat_map(|n| {
        let page = format!("/wiki?id=page_{}{}", letter(n / 10), letter(n % 10));
        let views = ["", "&do=index", "&do=recent", "&do=media", "&do=login"];
        views.map(|view| format!("{page}{view}"))
    });
    let log = Model { serve: shared_views }.crawl(tails);
    let report = learn(log, None, Settings::default(), Timestamp::ZERO).unwrap();
    let found: Vec<String> = report.rules.iter().map(Rule::to_string).collect();
    assert!(found.iter().all(|rule| !rule.contains("->")), "{found:?}");
}

/// Answers every URL that it does not know with one friendly page.
fn soft(url: &CrawlUrl) -> Option<u64> {
    let id = number(url.path().strip_prefix("/a/")?);
    Some(id.filter(|id| *id < 200).unwrap_or(SOFT_ERROR))
}

#[test]
fn a_soft_error_is_one_witness_however_many_urls_lead_to_it() {
    let model = Model { serve: soft };
    let tails = (0..200).map(|i| format!("/a/{i}"));
    let missing = (0..200).flat_map(|i| [format!("/a/x{i}"), format!("/a/x{i}?ref=a")]);
    let report = model.learn(model.crawl(tails.chain(missing)));
    assert_eq!(enforced(&report), [] as [&str; 0]);
}

#[test]
fn redirects_are_evidence_without_any_text_of_their_own() {
    let serve: fn(&CrawlUrl) -> Option<u64> = |url| {
        let path = url.path();
        number(path.strip_prefix("/new/").or_else(|| path.strip_prefix("/old-"))?)
    };
    let model = Model { serve };
    let mut log = model.crawl((0..60).map(|i| format!("/new/{i}")));
    log.extend((0..60).map(|i| Observation {
        status: 301,
        declared: Some(Declared::Redirect(url(&format!("/new/{i}")))),
        ..page(url(&format!("/old-{i}")), Text::Unknown)
    }));
    let mut book = RuleBook::new(Settings::default());
    log.iter().for_each(|observation| book.observe(observation));
    assert_eq!(book.mine(&Site::new("example.com"), Timestamp::ZERO), Ok(1));
    let found: Vec<String> = book.rules().map(Rule::to_string).collect();
    assert_eq!(found, ["\"^/old-\" -> \"^/new/\""]);
}

#[test]
fn pages_of_a_host_in_trouble_say_nothing() {
    let model = Model { serve: forum };
    let mut log = model.crawl(forum_log());
    log.iter_mut().for_each(|observation| observation.troubled = true);
    let report = model.learn(log);
    assert_eq!((report.rules.len(), report.probes), (0, 0));
}

#[test]
fn samples_of_many_sites_have_one_bound_and_what_is_dropped_is_told_once() {
    let mut settings = Settings::default();
    settings.miner.pages_total = 100;
    let mut book = RuleBook::new(settings);
    let of = |site: u64, page: u64| {
        CrawlUrl::parse(&format!("http://site{site:04}.test/page/{page}")).unwrap()
    };
    let (mut forgotten, mut rows) = (Vec::new(), BTreeMap::new());
    for site in 0..1_000 {
        for number in 0..5 {
            let observation = page(of(site, number), text(site * 5 + number));
            // On every second site there is nothing but dead links.
            let status = if site.is_multiple_of(2) { 404 } else { 200 };
            book.observe(&Observation { status, ..observation });
        }
        forgotten.extend(book.take_forgotten());
        keep_changed_rows(&mut book, &mut rows);
        assert!(rows.len() <= 100, "no more is kept of rules");
        assert!(book.sites().count() <= 100);
    }
    let kept: BTreeSet<Site> = book.sites().cloned().collect();
    // A page weighs one, a dead address a quarter: the last 28 sites are there.
    assert_eq!(kept.len(), 28);
    assert!(kept.contains(&of(999, 0).site()) && !kept.contains(&of(0, 0).site()));
    let gone: BTreeSet<Site> = forgotten.iter().cloned().collect();
    assert_eq!((forgotten.len(), gone.len()), (972, 972));
    assert!(gone.is_disjoint(&kept));

    // A restart keeps to the bound too, whatever was kept before.
    let rows: Vec<Vec<u8>> = kept.iter().map(|site| book.encode_site(site).unwrap()).collect();
    let mut settings = Settings::default();
    settings.miner.pages_total = 10;
    let windows = rows.iter().map(Vec::as_slice);
    let mut book = RuleBook::decode(settings, &book.encode_rules(), windows).unwrap();
    let left: Vec<&Site> = book.sites().collect();
    assert_eq!(left, [&of(998, 0).site(), &of(999, 0).site()]);
    assert_eq!(book.take_forgotten().len(), 26);
}

#[test]
fn a_site_without_duplicates_is_not_probed() {
    let serve: fn(&CrawlUrl) -> Option<u64> = |url| number(url.path().strip_prefix("/doc/")?);
    let model = Model { serve };
    let log = model.crawl((0..3_000).map(|i| format!("/doc/{i}")));
    let mut book = RuleBook::new(Settings::default());
    for observation in &log {
        book.observe(observation);
        assert!(book.take_due().is_empty());
    }
    assert_eq!(model.learn(log).probes, 0);
}

#[test]
fn probes_stay_within_their_share_and_forbidden_outcomes_refute() {
    let model = Model { serve: forum };
    let site = Site::new("example.com");
    let mut book = RuleBook::new(Settings::default());
    model.crawl(forum_log()).iter().for_each(|observation| book.observe(observation));
    book.mine(&site, Timestamp::ZERO).unwrap();
    let forbid = |url: &CrawlUrl| url.path() != "/item";
    assert_eq!(book.next_probes(Timestamp::ZERO, &site, 100, &forbid), Ok(vec![]));
    assert!(book.rules().all(|rule| rule.state != RuleState::Enforced));
    let mut small = Settings::default();
    small.validate.probe_share_max = 0.0;
    let mut book = RuleBook::new(small);
    model.crawl(forum_log()).iter().for_each(|observation| book.observe(observation));
    book.mine(&site, Timestamp::ZERO).unwrap();
    assert!(book.next_probes(Timestamp::ZERO, &site, 100, &|_| true).unwrap().len() <= 1);
}

#[test]
fn a_site_that_changes_its_habits_gets_its_pages_back() {
    let model = Model { serve: forum };
    let mut book = model.learn(model.crawl(forum_log())).book;
    assert!(book.take_rule_set().unwrap().is_some());
    assert!(book.take_rule_set().unwrap().is_none(), "nothing has changed since");
    book.take_events();
    let rule = book.rules().find(|rule| rule.to_string().contains("item_")).unwrap().id;
    let fetched =
        |document| Fetched::Page { text: text(document), digest: None, bag: None, junk: false };
    // A place like those that the rule was proved in.
    let url = CrawlUrl::parse("http://example.com/item_7").unwrap();
    for i in 0..50 {
        book.audit_result(&[rule], (&url, &url), beside(fetched(i), fetched(i)), Timestamp::ZERO);
    }
    assert!(book.take_events().is_empty());
    book.audit_result(&[rule], (&url, &url), beside(Fetched::Gone, fetched(1)), Timestamp::ZERO);
    assert_eq!(book.rule(rule).unwrap().evidence.audits_failed, 1, "a dead form speaks against it");
    for i in 0..50 {
        book.audit_result(&[rule], (&url, &url), beside(fetched(i), fetched(i)), Timestamp::ZERO);
    }
    let drift = (1..=10).find(|i| {
        book.audit_result(
            &[rule],
            (&url, &url),
            beside(fetched(i + 1), fetched(*i)),
            Timestamp::ZERO,
        );
        book.rule(rule).is_some_and(|rule| rule.state == RuleState::Retired)
    });
    assert_eq!(drift, Some(1), "no rule fails twice");
    let events = book.take_events();
    assert!(events.iter().any(|event| event.rule == rule && event.readmits()));
    let set = book.take_rule_set().unwrap().unwrap();
    assert!(set.rule(rule).is_none());
    book.mine(&Site::new("example.com"), Timestamp::ZERO).unwrap();
    let state = book.rule(rule).map(|rule| rule.state);
    assert_eq!(state, Some(RuleState::Retired), "not before its wait is over");
}

#[test]
fn trials_survive_a_restart() {
    let mut model = Model { serve: forum };
    let site = Site::new("example.com");
    let mut book = RuleBook::new(Settings::default());
    model.crawl(forum_log()).iter().for_each(|observation| book.observe(observation));
    book.mine(&site, Timestamp::ZERO).unwrap();
    let mut kept = BTreeMap::new();
    for round in 0..500 {
        let window = book.encode_site(&site).unwrap();
        let rules = book.encode_rules();
        keep_changed_rows(&mut book, &mut kept);
        book = RuleBook::decode(Settings::default(), &rules, [&window[..]]).unwrap();
        let probes = book.next_probes(Timestamp::ZERO, &site, 2, &|_| true).unwrap();
        if probes.is_empty() {
            break;
        }
        for probe in probes {
            let outcome = model.fetch(&probe.url);
            book.probe_result(probe.id, outcome, None, Timestamp::ZERO);
        }
        assert!(round < 400, "trials come to an end");
    }
    let proved = book.rules().filter(|rule| rule.state == RuleState::Enforced).count();
    assert_eq!(proved, 3);
}

#[test]
fn declared_rules_come_first_and_must_still_be_proved() {
    let model = Model { serve: forum };
    let site = Site::new("example.com");
    let mut book = RuleBook::new(Settings::default());
    let drop = |name: &str| RuleKind::drop(vec![name.to_owned()], None);
    book.declare(&site, drop("id"), Scope::default());
    book.declare(&site, drop("sid"), Scope::default());
    model.crawl(forum_log()).iter().for_each(|observation| book.observe(observation));
    book.mine(&site, Timestamp::ZERO).unwrap();
    let sources: Vec<(String, Source)> = book
        .rules()
        .filter(|rule| matches!(rule.rule, RuleKind::DropParameter { value: None, .. }))
        .map(|rule| (rule.to_string(), rule.source))
        .collect();
    assert_eq!(sources, [("drop parameter \"sid\"".to_owned(), Source::Declared)]);
}

#[test]
fn where_a_rule_is_not_proved_it_is_checked_and_where_it_failed_it_is_not_applied() {
    let model = Model { serve: forum };
    let mut book = model.learn(model.crawl(forum_log())).book;
    let rule = book.rules().find(|rule| rule.to_string().contains("item_")).unwrap().id;
    let new = url("/item_7?view=x");
    let audits = |book: &RuleBook, url: &CrawlUrl| book.rule_set().unwrap().audits(url, &[rule]);
    let unproved =
        |book: &RuleBook, url: &CrawlUrl| book.rule_set().unwrap().must_prove(url, &[rule]);
    let many = || (0..200).map(|n| url(&format!("/item_{n}?view=x")));
    assert!(many().all(|url| unproved(&book, &url)), "its parameter was never seen");
    let known = || (0..200).map(|n| url(&format!("/item_{n}")));
    assert!(!known().any(|url| unproved(&book, &url)));
    let checked = known().filter(|url| audits(&book, url)).count();
    assert!(checked < 20, "where it was proved, {checked} of 200 are fetched");
    let page =
        |document| Fetched::Page { text: text(document), digest: None, bag: None, junk: false };
    let other = url("/item_7?view=y&z=1");
    book.audit_result(&[rule], (&other, &other), beside(page(3), page(3)), Timestamp::ZERO);
    assert!(!unproved(&book, &other), "one agreement opens a place");
    for document in 1..=10 {
        book.audit_result(
            &[rule],
            (&new, &new),
            beside(page(document + 1), page(document)),
            Timestamp::ZERO,
        );
    }
    let state = book.rule(rule).map(|rule| rule.state);
    assert_eq!(state, Some(RuleState::Enforced), "it still holds where it was proved");
    assert!(many().all(|url| audits(&book, &url)), "and is not applied where it fails");
    book.audit_result(&[rule], (&new, &new), beside(page(3), page(3)), Timestamp::ZERO);
    assert!(many().all(|url| audits(&book, &url)), "also where it holds now and then");
    // Whoever has the rules as a file applies them where the crawl does.
    let file = RuleFile::parse(&serde_json::to_vec(&book.export()).unwrap()).unwrap();
    let enforced = file.rules.into_iter().filter(|rule| rule.state == RuleState::Enforced);
    let set = RuleSet::compile(1, enforced.map(Arc::new).collect(), 0.0).unwrap().limited();
    let applied = |url: &CrawlUrl| set.canonize_proved(url).rules.contains(&rule);
    assert!(known().all(|url| applied(&url)) && !many().any(|url| applied(&url)));
}

/// A failure in a place that was new took the rule out of force there, however many such places
/// there had been before.
#[test]
fn a_rule_that_fails_in_many_places_holds_in_none() {
    let model = Model { serve: forum };
    let show = |n| Fetched::Page { text: text(n), digest: None, bag: None, junk: false };
    let failed_after = |audits: u64| {
        let mut book = model.learn(model.crawl(forum_log())).book;
        let rule = book.rules().find(|rule| rule.to_string().contains("item_")).unwrap().id;
        let mut audit = |tail: &str, known: u64, shown: u64| {
            let (url, shown) = (url(tail), beside(show(known), show(shown)));
            book.audit_result(&[rule], (&url, &url), shown, Timestamp::ZERO);
            book.rule(rule).unwrap().state == RuleState::Retired
        };
        for document in 10..10 + audits {
            audit("/item_7", document, document);
        }
        (1..99).find(|part| audit(&format!("/item_7?view{part}=x"), 1, 2))
    };
    assert_eq!(failed_after(0), Some(6));
    let later = failed_after(60);
    assert!(later > Some(15) && later < Some(30), "one place for each four pairs: {later:?}");
}

/// A rule that is wrong for one file in twenty was taken for one that fails in some parts of the
/// site, and went on hiding such files in all others.
#[test]
fn a_rule_that_fails_as_seldom_in_a_part_as_in_others_falls() {
    let model = Model { serve: forum };
    let show = |n| Fetched::Page { text: text(n), digest: None, bag: None, junk: false };
    let holds_after = |agreed: u64, failed: u64| {
        let mut book = model.learn(model.crawl(forum_log())).book;
        let rule = book.rules().find(|rule| rule.to_string().contains("item_")).unwrap().id;
        let mut audit = |tail: &str, known: u64, shown: u64| {
            let (url, shown) = (url(tail), beside(show(known), show(shown)));
            book.audit_result(&[rule], (&url, &url), shown, Timestamp::ZERO);
        };
        (10..30).for_each(|document| audit("/item_7", document, document));
        for part in ["/item_7?view=x", "/item_7?part=x"] {
            (0..failed).for_each(|n| audit(part, 100 + n, 200 + n));
            (0..agreed).for_each(|n| audit(part, 300 + n, 300 + n));
            // More forms of one document say nothing more.
            (0..20).for_each(|_| audit(part, 300, 300));
        }
        book.rule(rule).unwrap().state == RuleState::Enforced
    };
    assert!(holds_after(3, 1) && !holds_after(4, 1));
    assert!(holds_after(11, 3) && !holds_after(12, 3), "so it fails in most of a part");
}

/// Keeps the rows of a book that have changed, as the state does: they are all its rows.
fn keep_changed_rows(book: &mut RuleBook, kept: &mut BTreeMap<Site, Vec<u8>>) {
    for (site, row) in book.take_changed_rows().sites {
        match row {
            Some(row) => drop(kept.insert(site, row)),
            None => drop(kept.remove(&site)),
        }
    }
    let all = book.encode_rules().sites.into_iter();
    let all: BTreeMap<Site, Vec<u8>> = all.filter_map(|(site, row)| Some((site, row?))).collect();
    assert!(all == *kept, "what changed was kept");
}

/// Crawls a model site as the loop does: what has the key of a known page is set aside, and fetched
/// where that proves a rule. Returns the book, and the URLs that were fetched.
fn crawl_by_pairs(model: Model, tails: &[String]) -> (RuleBook, Vec<CrawlUrl>) {
    let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
    let mut set = book.take_rule_set().unwrap().unwrap();
    let mut holders: BTreeMap<CrawlUrl, (CrawlUrl, u64)> = BTreeMap::new();
    let mut aside: Vec<(CrawlUrl, CrawlUrl)> = Vec::new();
    let mut fetched = Vec::new();
    let mut todo: Vec<CrawlUrl> = tails.iter().rev().map(|tail| url(tail)).collect();
    let mut kept = BTreeMap::new();
    while !todo.is_empty() || !aside.is_empty() {
        let at_the_end = todo.is_empty();
        let Some(own) = todo.pop().or_else(|| {
            // What is still in doubt is fetched before the end.
            let open = |(own, rewritten): &(CrawlUrl, CrawlUrl)| {
                let rules = set.canonize(rewritten).rules;
                let open = set.must_prove(rewritten, &rules) || set.is_refused(rewritten, &rules);
                rules.is_empty() || own == rewritten && open
            };
            let at = aside.iter().position(open)?;
            Some(aside.swap_remove(at).0)
        }) else {
            break;
        };
        let canonized = set.canonize(&own);
        let (key, mut rules) = (canonized.key.into_owned(), canonized.rules);
        let held = holders.get(&key).cloned();
        if let Some((holder, _)) = &held
            && let Some(needed) = set.uniting(&own, holder)
        {
            rules.retain(|rule| needed.contains(rule));
        }
        let checks = set.audits(&own, &rules) || set.must_prove(&own, &rules);
        if held.is_some() && !rules.is_empty() && !checks && !at_the_end {
            book.count_suppressed(&rules);
            aside.push((own.clone(), own));
            continue;
        }
        let Some(document) = (model.serve)(&own) else { continue };
        fetched.push(own.clone());
        let show =
            |document| Fetched::Page { text: text(document), digest: None, bag: None, junk: false };
        if let Some((_, held)) = held.filter(|_| !rules.is_empty()) {
            let pair = (&own, &key);
            book.audit_result(&rules, pair, beside(show(held), show(document)), Timestamp::ZERO);
        }
        holders.entry(key).or_insert((own.clone(), document));
        book.observe(&page(own, text(document)));
        for site in book.take_due() {
            book.mine(&site, Timestamp::ZERO).unwrap();
        }
        if fetched.len().is_multiple_of(7) {
            keep_changed_rows(&mut book, &mut kept);
        }
        if let Some(new) = book.take_rule_set().unwrap() {
            set = new;
            let whole = book.rule_set().unwrap();
            for url in fetched.iter().rev().take(20) {
                let says = |set: &RuleSet| {
                    let rules = set.canonize(url).rules;
                    let (audits, open) = (set.audits(url, &rules), set.must_prove(url, &rules));
                    (set.version(), audits, open, set.least_agreed(&rules), rules)
                };
                assert_eq!(says(&set), says(&whole), "made from the last one, it is the same");
            }
            // What stood for a key of a rule that fell stands for nothing.
            let fallen = book.take_events().iter().any(RuleEvent::readmits);
            if fallen {
                todo.extend(aside.drain(..).map(|(own, _)| own));
            }
            let old = std::mem::take(&mut holders);
            for (key, held) in old {
                holders.entry(set.canonize(&key).key.into_owned()).or_insert(held);
            }
        }
    }
    (book, fetched)
}

#[test]
fn a_crawl_proves_its_rules_by_pages_that_it_fetches_anyway() {
    let model = Model { serve: forum };
    let (book, fetched) = crawl_by_pairs(model, &forum_log());
    let enforced: Vec<String> = book
        .rules()
        .filter(|rule| rule.state == RuleState::Enforced)
        .map(Rule::to_string)
        .collect();
    assert!(enforced.contains(&"drop parameter \"sid\"".to_owned()), "{enforced:?}");
    assert!(enforced.iter().any(|rule| rule.contains("item_")), "{enforced:?}");
    let all: BTreeSet<u64> = forum_log().iter().filter_map(|tail| forum(&url(tail))).collect();
    let reached: BTreeSet<u64> = fetched.iter().filter_map(forum).collect();
    assert_eq!(reached, all, "no document is lost");
    assert_eq!(book.probes_spent(), 0);
    let again = fetched.len() - all.len();
    let without = forum_log().len() - all.len();
    assert!(3 * again < without, "{again} of {without} duplicates were fetched");
}

#[test]
fn a_rule_that_holds_for_the_first_pages_only_is_refuted_by_a_pair() {
    // Versions of a page are alike as long as nobody has edited it.
    let serve: fn(&CrawlUrl) -> Option<u64> = |url| {
        let id = number(url.path().strip_prefix("/page/")?)?;
        let old = parameter(url, "version").is_some() && (id > 30 || id.is_multiple_of(6));
        Some(id * 2 + u64::from(old))
    };
    let tails: Vec<String> = (0..200)
        .flat_map(|id| [format!("/page/{id}"), format!("/page/{id}?version={}", id * 7)])
        .filter(|tail| tail != "/page/0?version=0")
        .collect();
    let (book, fetched) = crawl_by_pairs(Model { serve }, &tails);
    let enforced = book.rules().find(|rule| rule.state == RuleState::Enforced);
    assert!(enforced.is_none(), "{enforced:?}");
    let documents = |urls: &[CrawlUrl]| urls.iter().filter_map(serve).collect::<BTreeSet<u64>>();
    let all: Vec<CrawlUrl> = tails.iter().map(|tail| url(tail)).collect();
    assert_eq!(documents(&fetched), documents(&all), "what was set aside came back");
}

/// A browser of a repository: each file at each commit, of which most change nothing in it, what
/// each commit changed in a file, and the same under the name of the branch.
fn repository(url: &CrawlUrl) -> Option<u64> {
    let (path, query) = url.path_and_query().split_once('?').unwrap_or((url.path(), ""));
    let mut segments = path[1..].split('/');
    let (_, view, file) = (segments.next()?, segments.next()?, segments.next()?);
    let file: u64 = file.strip_prefix("file_")?.parse().ok()?;
    let id = query.split('&').find_map(|part| part.strip_prefix("id="));
    let commit: u64 = id.map_or(Some(COMMITS - 1), |id| id.strip_prefix('c')?.parse().ok())?;
    let changes = |commit: u64| (commit * 7 + file * 3).is_multiple_of(5);
    let last = (0..=commit).rev().find(|commit| changes(*commit)).unwrap_or(0);
    match view {
        "tree" => Some(1_000 + file * 100 + last),
        // It says also of which commit it is.
        _ => Some(100_000 + file * 100 + commit),
    }
}

const COMMITS: u64 = 12;

#[test]
fn each_file_at_each_commit_is_reached_though_most_commits_do_not_change_it() {
    let mut tails = Vec::new();
    for commit in (0..COMMITS).rev() {
        for file in 0..30 {
            for view in ["tree", "commit"] {
                let path = format!("/perl/{view}/file_{file}");
                tails.push(format!("{path}?id=c{commit}"));
                tails.push(format!("{path}?h=master&id=c{commit}"));
                if commit == COMMITS - 1 {
                    tails.push(path);
                }
            }
        }
    }
    let (book, fetched) = crawl_by_pairs(Model { serve: repository }, &tails);
    let documents = |urls: &[CrawlUrl]| urls.iter().filter_map(repository).collect::<BTreeSet<_>>();
    let all: Vec<CrawlUrl> = tails.iter().map(|tail| url(tail)).collect();
    let in_force: Vec<String> = book
        .rules()
        .filter(|rule| rule.state == RuleState::Enforced)
        .map(|rule| rule.to_string())
        .collect();
    assert_eq!(documents(&fetched).len(), documents(&all).len(), "{in_force:#?}");
    let saved = all.len() - fetched.len();
    assert!(saved > all.len() / 4, "{saved} of {} saved by {in_force:#?}", all.len());
}

/// Views of a few changes: lists show as many of those before as their address says, if there are
/// so many, and all other views keep that word in their links though it says nothing there.
fn history(url: &CrawlUrl) -> Option<u64> {
    let mut segments = url.path()[1..].split('/');
    let (view, change) = (segments.next()?, segments.next()?);
    let change = CHANGES.iter().position(|name| *name == change)? as u64;
    let shown = parameter(url, "count").unwrap_or(60).min(change + 1);
    let view = VIEWS.iter().position(|name| *name == view)? as u64;
    let file = segments.next().map_or(0, |file| 1 + u64::from(file.as_bytes()[0]));
    Some(view * 100_000 + change * 1_000 + if view < 2 { 500 + shown } else { file })
}

const CHANGES: [&str; 10] = ["bad", "cafe", "dab", "ebb", "fad", "gig", "hag", "ink", "jab", "kit"];
const VIEWS: [&str; 6] = ["list", "graph", "change", "file", "notes", "diff"];

#[test]
fn what_is_left_of_a_wrong_rule_loses_nothing_either() {
    let pages = CHANGES.iter().flat_map(|change| {
        let plain = VIEWS[..3].iter().map(move |view| format!("/{view}/{change}"));
        let files = VIEWS[3..]
            .iter()
            .flat_map(move |view| ["x", "y", "z"].map(|file| format!("/{view}/{change}/{file}")));
        plain.chain(files)
    });
    let pages: Vec<String> = pages.collect();
    let counts = [60, 120, 240, 30, 15, 7, 3, 1, 2, 6, 14, 28, 4, 12, 24, 8];
    let counted = counts
        .iter()
        .flat_map(|count| pages.iter().map(move |page| format!("{page}?count={count}")));
    let tails: Vec<String> = pages.iter().cloned().chain(counted).collect();
    let (book, fetched) = crawl_by_pairs(Model { serve: history }, &tails);
    let documents = |urls: &[CrawlUrl]| urls.iter().filter_map(history).collect::<BTreeSet<_>>();
    let all: Vec<CrawlUrl> = tails.iter().map(|tail| url(tail)).collect();
    let rules: Vec<String> = book.rules().map(|rule| format!("{rule}: {:?}", rule.state)).collect();
    let lost = documents(&all).len() - documents(&fetched).len();
    assert_eq!(lost, 0, "{} of {} fetched under {rules:#?}", fetched.len(), all.len());
    assert!(fetched.len() < all.len() * 9 / 10, "{} of {}", fetched.len(), all.len());
}

/// Crawls a model site by pairs and checks that each of its documents was reached, and that at
/// least so many fetches were saved.
fn assert_nothing_lost(serve: fn(&CrawlUrl) -> Option<u64>, tails: &[String], saved_min: usize) {
    let (book, fetched) = crawl_by_pairs(Model { serve }, tails);
    let documents = |urls: &[CrawlUrl]| urls.iter().filter_map(serve).collect::<BTreeSet<u64>>();
    let all: Vec<CrawlUrl> = tails.iter().map(|tail| url(tail)).collect();
    let rules: Vec<String> = book.rules().map(|rule| format!("{rule}: {:?}", rule.state)).collect();
    let lost = documents(&all).len() - documents(&fetched).len();
    assert_eq!(lost, 0, "{} of {} fetched under {rules:#?}", fetched.len(), all.len());
    let saved = all.len() - fetched.len();
    assert!(saved >= saved_min, "{saved} of {} saved under {rules:#?}", all.len());
}

/// Lists in parts: the first two parts of a list are all of it, or it has more.
fn parts(url: &CrawlUrl) -> Option<u64> {
    let list = number(url.path().strip_prefix("/list/")?)?;
    let shown = parameter(url, "part").filter(|part| *part > 2).unwrap_or(0);
    Some(list * 10 + shown)
}

#[test]
fn a_parameter_is_dropped_for_no_value_that_was_not_seen_to_be_without_effect() {
    let early = (0..400).flat_map(|list| {
        let plain = format!("/list/{list}");
        let part = format!("{plain}?part={}", 1 + list % 2);
        [plain, part]
    });
    let late = [3, 4].map(|part| format!("/list/7?part={part}"));
    let tails: Vec<String> = early.chain(late).collect();
    assert_nothing_lost(parts, &tails, 150);
}

/// Articles under the number of the edition that they are shown in; the last editions differ.
fn editions(url: &CrawlUrl) -> Option<u64> {
    let article = number(url.path().strip_prefix("/article/")?)?;
    let edition = parameter(url, "edition").filter(|edition| *edition > 5).unwrap_or(0);
    Some(article * 10 + edition)
}

#[test]
fn a_parameter_of_few_values_is_dropped_for_none_that_was_not_seen() {
    let early = (0..1_200).flat_map(|article| {
        let plain = format!("/article/{article}");
        let edition = format!("{plain}?edition={}", article % 6);
        [plain, edition]
    });
    let late = (0..4).map(|n| format!("/article/{}?edition={}", 100 + n, 6 + n / 2));
    let tails: Vec<String> = early.chain(late).collect();
    assert_nothing_lost(editions, &tails, 200);
}

/// Pages of voyages, each under the names of two ships, which say nothing but in a log that began
/// after the first two voyages.
fn voyages(url: &CrawlUrl) -> Option<u64> {
    let (view, voyage) = url.path()[1..].split_once('/')?;
    let view = ["crew", "cargo", "route", "log"].iter().position(|name| *name == view)? as u64;
    let voyage = number(voyage)?;
    let other = view == 3 && voyage > 2 && url.path_and_query().ends_with("=beagle");
    Some(view * 10_000 + voyage * 10 + u64::from(other))
}

#[test]
fn words_are_exchanged_nowhere_but_where_they_often_proved_to_say_nothing() {
    let of = |view: &'static str, voyages: u64| {
        (0..voyages).flat_map(move |voyage| {
            ["argo", "beagle"].map(|ship| format!("/{view}/{voyage}?ship={ship}"))
        })
    };
    let views = of("crew", 100).chain(of("cargo", 100)).chain(of("route", 100));
    let tails: Vec<String> = views.chain(of("log", 9)).collect();
    assert_nothing_lost(voyages, &tails, 100);
}

#[test]
fn the_more_pairs_agree_the_fewer_are_fetched_and_some_for_ever() {
    let settings = super::validate::Settings::default();
    let shares: Vec<f64> =
        (0..200).map(|agreed| settings.share_after(agreed, ODDS_WRONG)).collect();
    assert!(shares.windows(2).all(|pair| pair[0] >= pair[1]));
    assert!(shares[3] > 0.3 && shares[12] < 0.4 && shares[12] > settings.audit_share);
    assert_eq!(shares[199], settings.audit_share);
    let doubtful = |agreed| settings.share_after(agreed, 0.5);
    assert_eq!(doubtful(10), 1.0, "where rules of a kind are often wrong, nothing is hidden yet");
    assert!(doubtful(60) < 0.5 && doubtful(120) < 0.2);
    let among = |urls, odds| settings.agreed_among(urls, odds);
    assert_eq!(among(0, ODDS_WRONG), 0);
    let (sound, doubted) = (among(250, ODDS_WRONG), among(250, 1.0));
    assert!((25..45).contains(&sound), "{sound}");
    assert!(
        (90..160).contains(&doubted),
        "a rule of a doubtful kind is looked at again: {doubted}"
    );
    assert!(among(u32::MAX, ODDS_WRONG) < 25_000);
}

/// Two rules in force, of which one is wrong now and then, and audits of both.
struct Two {
    book: RuleBook,
    sound: RuleId,
    wrong: RuleId,
    documents: u64,
}

impl Two {
    fn new() -> Two {
        let drop = |name: &str| {
            let (site, kind) = (Site::new("example.com"), RuleKind::drop(vec![name.into()], None));
            Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO)
        };
        let rules = [drop("a"), drop("b")];
        let [sound, wrong] = [rules[0].id, rules[1].id];
        let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
        book.import(rules.into());
        assert!(book.enforce(sound, "told", Timestamp::ZERO));
        assert!(book.enforce(wrong, "told", Timestamp::ZERO));
        Two { book, sound, wrong, documents: 0 }
    }

    /// Takes in audits of these rules; returns whether each of the two is in force after them.
    fn audit(&mut self, rules: &[RuleId], agrees: bool, times: usize) -> (bool, bool) {
        self.audit_of("/x", rules, agrees, times)
    }

    /// The same of the page at a path.
    fn audit_of(
        &mut self,
        path: &str,
        rules: &[RuleId],
        agrees: bool,
        times: usize,
    ) -> (bool, bool) {
        let show = |n| Fetched::Page { text: text(n), digest: None, bag: None, junk: false };
        let (found, key) = (url(&format!("{path}?a=1&b=2")), url(path));
        for _ in 0..times {
            self.documents += 1;
            let known = show(self.documents);
            let said = beside(known, if agrees { known } else { show(1_000) });
            self.book.audit_result(rules, (&found, &key), said, Timestamp::ZERO);
        }
        let holds = |id| self.book.rule(id).is_some_and(|rule| rule.state == RuleState::Enforced);
        (holds(self.sound), holds(self.wrong))
    }
}

#[test]
fn a_rule_that_fails_now_and_then_falls_and_others_are_not_blamed_for_it() {
    let mut two = Two::new();
    let (sound, both) = (two.sound, [two.sound, two.wrong]);
    assert_eq!(two.audit(&[sound], true, 100), (true, true));
    assert_eq!(two.audit(&both, true, 60), (true, true));
    assert_eq!(two.audit(&both, false, 1), (true, true), "one may be an accident");
    assert_eq!(two.audit(&both, true, 60), (true, true));
    assert_eq!(two.audit(&both, false, 1), (true, false));
}

/// A list with counts beside it was told apart from the one without; a moment later, in another
/// order of its parameters, it spoke against that order until two hundred lists spoke for it.
#[test]
fn a_page_that_was_told_apart_may_be_what_has_its_words() {
    let finds = |later: std::ops::Range<u64>| {
        let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
        let mut observe = |tail: &str, document: u64, clock: std::ops::Range<u64>| {
            let bag = Some(Bag::of((document * 1_000..document * 1_000 + 120).chain(clock)));
            book.observe(&Observation { bag, ..page(url(tail), text(document)) });
        };
        for list in 1..=20 {
            observe(&format!("/list?topic={list}&facet=1"), list, 0..0);
            observe(&format!("/list?facet=1&topic={list}"), list, 0..0);
        }
        observe("/list?topic=21", 21, 0..0);
        observe("/list?topic=21&facet=1", 21, 7..9);
        observe("/list?facet=1&topic=21", 21, later);
        let [from, to] = ["/list?topic=21&facet=1", "/list?topic=21"].map(url);
        let (known, other) = (text(21), text(22));
        let show = |text| Fetched::Page { text, digest: None, bag: None, junk: false };
        book.set_apart(&from, &to);
        book.audit_result(&[], (&from, &to), beside(show(known), show(other)), Timestamp::ZERO);
        book.mine(&Site::new("example.com"), Timestamp::ZERO).unwrap();
        book.rules().any(|rule| rule.rule == RuleKind::SortParameters)
    };
    assert!(finds(8..10));
    assert!(!finds(500..540), "it has words of its own");
}

/// An English page was told apart from the German one, which stood for their key by a wrong rule,
/// and was another document than the other forms of the English one from then on.
#[test]
fn a_page_that_is_told_apart_from_another_text_is_what_its_other_forms_are() {
    let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
    let mut look = 1_000_000;
    let mut observe = |tail: String, document: u64| {
        // Each look has words of chance.
        look += 100;
        let words = document * 1_000..document * 1_000 + 120;
        let bag = Some(Bag::of(words.chain(look..look + 20)));
        book.observe(&Observation { bag, ..page(url(&tail), text(document)) });
    };
    for id in 1..=20 {
        observe(format!("/pub?id={id}&lang=de"), 500 + id);
        observe(format!("/pub?id={id}&lang=en"), id);
        observe(format!("/pub?lang=en&id={id}"), id);
    }
    book.set_apart(&url("/pub?lang=en&id=7"), &url("/pub?id=7&lang=de"));
    book.mine(&Site::new("example.com"), Timestamp::ZERO).unwrap();
    assert!(book.rules().any(|rule| rule.rule == RuleKind::SortParameters));
}

/// Two forms that redirect to one URL were evidence to the miner, and none to the trial of what it
/// found.
#[test]
fn a_rule_is_proved_by_forms_that_redirect_to_the_same_unless_that_is_one_url() {
    let proves = |to: fn(u64) -> CrawlUrl| {
        let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
        let form = |id: u64, lang: &str| url(&format!("/go?next={id}&lang={lang}"));
        for (id, lang) in (1..=20).flat_map(|id| ["de", "en", "fr"].map(|lang| (id, lang))) {
            let declared = Some(Declared::Redirect(to(id)));
            let observation = page(form(id, lang), Text::Unknown);
            book.observe(&Observation { declared, ..observation });
        }
        book.mine(&Site::new("example.com"), Timestamp::ZERO).unwrap();
        let set = book.take_rule_set().unwrap().unwrap();
        for id in 21..=40 {
            let (found, shown) = (form(id, "de"), Fetched::redirect(&to(id)));
            let canonized = set.canonize(&found);
            let pair = (&found, &*canonized.key);
            let said = beside(shown, shown);
            book.audit_result(&canonized.rules, pair, said, Timestamp::ZERO);
        }
        let hides = |rule: &&Rule| rule.rule == RuleKind::drop(vec!["lang".into()], None);
        book.rules().find(hides).map(|rule| rule.state)
    };
    assert_eq!(proves(|id| url(&format!("/{id}"))), Some(RuleState::Enforced));
    assert_ne!(proves(|_| url("/")), Some(RuleState::Enforced), "all lead to the front page");
}

/// Of four hundred pages five were others, one of them was met, and what the rule hid stayed
/// hidden.
#[test]
fn a_failure_counts_twice_where_its_url_shows_the_same_at_a_second_look() {
    let show = |n| Fetched::Page { text: text(n), digest: None, bag: None, junk: false };
    let other = show(1_000);
    let after = |first: Fetched, second: Fetched| {
        let mut two = Two::new();
        let alone = [two.wrong];
        let (site, found) = (Site::new("example.com"), url("/x?a=1&b=2"));
        let Fetched::Page { text, .. } = first else { panic!("it is a page") };
        two.book.observe(&page(found.clone(), text));
        assert_eq!(two.audit(&alone, true, 100), (true, true));
        let asked =
            |two: &mut Two| two.book.next_probes(Timestamp::ZERO, &site, 9, &|_| true).unwrap();
        assert_eq!(asked(&mut two), [], "nothing has failed");
        assert_eq!(two.audit(&alone, false, 1), (true, true), "it may be an accident");
        let asked_for = asked(&mut two);
        let [probe] = &asked_for[..] else { panic!("{asked_for:?}") };
        assert_eq!((&probe.url, &probe.reference), (&found, &None));
        assert_eq!(two.book.site_of_probe(probe.id), Some(site.clone()));
        assert_eq!(asked(&mut two), [], "once");
        two.book.probe_result(probe.id, second, None, Timestamp::ZERO);
        two.book.rule(two.wrong).unwrap().state
    };
    assert_eq!(after(other, other), RuleState::Retired);
    assert_eq!(after(other, show(101)), RuleState::Enforced, "by now it shows what its key does");
    assert_eq!(after(other, show(2_000)), RuleState::Enforced, "it shows another text each time");
    assert_eq!(after(other, Fetched::Forbidden), RuleState::Enforced, "that says nothing of it");
}

/// Of four thousand pairs one failure was an accident, and so was the next one, which counted as a
/// second failure.
#[test]
fn a_failure_that_a_second_look_clears_does_not_count() {
    let show = |n| Fetched::Page { text: text(n), digest: None, bag: None, junk: false };
    let mut two = Two::new();
    let alone = [two.wrong];
    let site = Site::new("example.com");
    for accident in 0..3 {
        assert_eq!(two.audit(&alone, true, 100), (true, true));
        assert_eq!(two.audit(&alone, false, 1), (true, true), "{accident}");
        let asked = two.book.next_probes(Timestamp::ZERO, &site, 9, &|_| true).unwrap();
        let [probe] = &asked[..] else { panic!("{accident}: {asked:?}") };
        let known = show(two.documents);
        two.book.probe_result(probe.id, known, None, Timestamp::ZERO);
    }
}

/// A rule that failed on one site began on the next with the trust that it had on a third.
#[test]
fn what_agreed_on_other_sites_does_not_count_where_the_rule_failed_on_one() {
    let drop_of = |host: &str| {
        let (site, kind) = (Site::new(host), RuleKind::drop(vec!["sid".into()], None));
        Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO)
    };
    let rules = ["example.com", "example.net", "example.org"].map(drop_of);
    let [known, failed, new] = rules.each_ref().map(|rule| rule.id);
    let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
    book.import(rules.into());
    for id in [known, failed, new] {
        assert!(book.enforce(id, "told", Timestamp::ZERO));
    }
    for n in 0..400 {
        let show = Fetched::Page { text: text(n), digest: None, bag: None, junk: false };
        let (found, key) = (url(&format!("/p/{n}?sid={n}")), url(&format!("/p/{n}")));
        let said = (show, Finding::Same);
        book.audit_result(&[known], (&found, &key), said, Timestamp::ZERO);
    }
    assert!(book.rule_set().unwrap().least_agreed(&[new]) > 0);
    book.retire(failed, "audits no longer agree", Timestamp::ZERO);
    assert_eq!(book.rule_set().unwrap().least_agreed(&[new]), 0);
}

/// The one that had agreed less often was blamed for what the other one did.
#[test]
fn what_has_failed_alone_is_blamed_where_it_fails_beside_others() {
    let mut two = Two::new();
    let (sound, wrong, both) = (two.sound, two.wrong, [two.sound, two.wrong]);
    assert_eq!(two.audit(&[sound], true, 40), (true, true));
    assert_eq!(two.audit(&[wrong], true, 100), (true, true));
    assert_eq!(two.audit(&[wrong], false, 1), (true, true));
    assert_eq!(two.audit(&both, true, 60), (true, true));
    assert_eq!(two.audit(&both, false, 1), (true, false));
}

/// The order of parameters had been right for hundreds of pages, and each form of it was fetched
/// again since a rule beside it had failed.
#[test]
fn what_far_more_pairs_speak_for_is_not_doubted_beside_what_is_blamed() {
    let is_doubted = |agreed: usize| {
        let mut two = Two::new();
        two.audit(&[two.sound], true, agreed);
        two.audit(&[two.wrong], true, 10);
        assert_eq!(two.audit(&[two.sound, two.wrong], false, 1), (true, true));
        two.book.entries.get(two.sound).unwrap().audit.sum > 0.0
    };
    assert!(is_doubted(30));
    assert!(!is_doubted(80));
}

/// Where two rules made one page of two in a new part of the site, both stayed out of force there,
/// and what the one hid that was right was fetched to the end of the crawl.
#[test]
fn what_was_refused_for_the_fault_of_another_rule_comes_back_where_it_agrees() {
    let mut two = Two::new();
    let (sound, wrong, both) = (two.sound, two.wrong, [two.sound, two.wrong]);
    for id in [sound, wrong] {
        two.book.entries.get_mut(id).unwrap().proven = Some(Proven::default());
    }
    two.audit(&[sound], true, 60);
    two.audit(&[wrong], true, 12);
    let refused = |two: &Two, rule: RuleId| {
        two.book.rule_set().unwrap().is_refused(&url("/other/y?a=1&b=2"), &[rule])
    };
    two.book.entries.get_mut(sound).unwrap().retired = 1;
    two.audit_of("/other/y", &both, false, 1);
    assert!(refused(&two, sound) && refused(&two, wrong));
    two.audit_of("/other/y", &[sound], true, 7);
    assert!(refused(&two, sound));
    assert_eq!(two.audit_of("/other/y", &both, false, 1), (true, true));
    two.audit_of("/other/y", &[sound], true, 7);
    assert!(refused(&two, sound), "what fails in between is counted anew from there");
    two.audit_of("/other/y", &[sound], true, 1);
    assert!(!refused(&two, sound) && refused(&two, wrong));
    assert!(two.book.entries.get(sound).unwrap().doubted, "it was retired before");
    // What fails alone is to blame, and then it has to agree for each failure.
    two.audit_of("/more/y", &both, false, 1);
    two.audit_of("/more/y", &[sound], false, 1);
    two.audit_of("/more/y", &[sound], true, 3);
    assert!(two.book.rule_set().unwrap().is_refused(&url("/more/y?a=1&b=2"), &[sound]));
}

/// Where a rule was known to make the page to log in one with the first page, the one on trial that
/// takes sessions out fell for that page with a session.
#[test]
fn a_rule_on_trial_does_not_fall_for_one_that_is_refused_in_that_place() {
    let mut two = Two::new();
    let (trial, known, both) = (two.sound, two.wrong, [two.sound, two.wrong]);
    two.book.entries.get_mut(known).unwrap().proven = Some(Proven::default());
    two.book.become_state(trial, RuleState::Shadow, "on trial", Timestamp::ZERO);
    let state = |two: &Two| two.book.rule(trial).unwrap().state;
    two.audit(&[known], true, 60);
    two.audit_of("/login/y", &[known], false, 1);
    assert!(two.book.rule_set().unwrap().is_refused(&url("/login/y?a=1&b=2"), &[known]));
    two.audit_of("/login/y", &both, false, 2);
    assert_eq!(state(&two), RuleState::Shadow);
    two.audit_of("/other/y", &both, false, 1);
    assert_eq!(state(&two), RuleState::Retired, "in other places either may be to blame");
}

/// Of two versions of a manual, the rule that leads to the newer one had been refuted, and the one
/// that leads back was believed after two pairs.
#[test]
fn a_rule_is_doubted_where_the_one_that_leads_back_was_refuted() {
    let moves = |from: &str, to: &str| {
        let (from, to, at_start) = (from.to_owned(), to.to_owned(), true);
        let kind = RuleKind::Substring { from, to, at_start, at_end: false };
        let site = Site::new("example.com");
        Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO)
    };
    let rules = [moves("/5.1/", "/5.2/"), moves("/5.2/", "/5.1/"), moves("/en/", "/de/")];
    let [refuted, back, other] = [0, 1, 2].map(|at: usize| rules[at].id);
    let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
    book.import(rules.into());
    for tail in ["/5.1/a", "/5.2/a", "/en/a", "/de/a"] {
        book.observe(&page(url(tail), text(1)));
    }
    book.enforce(refuted, "told", Timestamp::ZERO);
    let (from, to) = (url("/5.1/b"), url("/5.2/b"));
    let show = |n| Fetched::Page { text: text(n), digest: None, bag: None, junk: false };
    for n in 10..14 {
        let said = beside(show(n), show(n + 100));
        book.audit_result(&[refuted], (&from, &to), said, Timestamp::ZERO);
    }
    assert_eq!(book.rule(refuted).unwrap().state, RuleState::Retired);
    book.enforce(back, "told", Timestamp::ZERO);
    book.enforce(other, "told", Timestamp::ZERO);
    book.doubt().unwrap();
    assert!(book.entries.get(back).unwrap().doubted && !book.entries.get(other).unwrap().doubted);
}

/// Whoever put a rule in force that had failed in some places was told so, and it was not.
#[test]
fn a_rule_that_somebody_puts_in_force_holds_where_it_failed_as_well() {
    let kind = RuleKind::drop(vec!["sid".to_owned()], None);
    let (site, form) = (Site::new("example.com"), url("/list?sid=1"));
    let rule = Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO);
    let id = rule.id;
    let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
    book.import(vec![rule]);
    book.enforce(id, "told", Timestamp::ZERO);
    book.take_rule_set().unwrap().expect("it is news");
    let [_, failed, ..] = places(&form, &form, &NO_ITEMS);
    book.entries.get_mut(id).unwrap().refused = [failed].into();
    assert!(!book.rule_set().unwrap().hides(&form, &[id]));
    book.enforce(id, "told", Timestamp::ZERO);
    let set = book.take_rule_set().unwrap().expect("that is news too");
    assert!(set.hides(&form, &[id]));
}

/// A book that proves rules by pairs and was shown some pages.
struct Shown {
    book: RuleBook,
}

impl Shown {
    fn new(pages: impl IntoIterator<Item = (String, std::ops::Range<u64>)>) -> Shown {
        let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
        for (tail, words) in pages {
            book.observe(&Shown::observation(&tail, words));
        }
        book.mine(&Site::new("example.com"), Timestamp::ZERO).unwrap();
        Shown { book }
    }

    /// A page of these words, all of them main text.
    fn observation(tail: &str, words: std::ops::Range<u64>) -> Observation {
        let bag = Some(Bag::of(words.clone()));
        let text = Sketch::of_shingles(words).map_or(Text::Unknown, Text::Main);
        Observation { bag, ..page(url(tail), text) }
    }

    fn rule(&self, text: &str) -> Option<&Rule> {
        self.book.rules().find(|rule| rule.to_string() == text)
    }

    /// Fetches a form that a rule set aside, and that shows these words as its key does.
    fn draw(&mut self, rule: RuleId, (tail, key): (&str, &str), words: std::ops::Range<u64>) {
        let seen = Shown::observation(tail, words);
        let Observation { text, bag, .. } = seen;
        let shown = Fetched::Page { text, digest: None, bag, junk: false };
        let pair = (&url(tail), &url(key));
        self.book.audit_result(&[rule], pair, beside(shown, shown), Timestamp::ZERO);
        self.book.observe(&seen);
    }

    fn is_enforced(&self, rule: RuleId) -> bool {
        self.book.rule(rule).is_some_and(|rule| rule.state == RuleState::Enforced)
    }
}

/// Of a manual in two versions all that a rule had hidden came back when it was refuted, and in the
/// same second the one that leads back was believed by the pages that the first one had hidden.
#[test]
fn what_was_refuted_in_one_direction_is_not_tried_in_the_other() {
    let words = |page: u64| page * 1_000..page * 1_000 + 120;
    let of = |version: &'static str| {
        (0..20).map(move |page| (format!("/{version}/manual/{page}"), words(page)))
    };
    let mut shown = Shown::new(of("stable").chain(of("latest")));
    let found = |shown: &Shown| -> Vec<(RuleId, RuleKind, RuleState)> {
        let rules = shown.book.rules().filter(|rule| rule.to_string().contains("stable"));
        rules.map(|rule| (rule.id, rule.rule.clone(), rule.state)).collect()
    };
    let [(rule, kind, RuleState::Shadow)] = &found(&shown)[..] else {
        panic!("{:?}", found(&shown));
    };
    let inverse = kind.inverse().unwrap();
    shown.book.revert(*rule, "refuted", Timestamp::ZERO);
    shown.book.mine(&Site::new("example.com"), Timestamp::ZERO).unwrap();
    assert!(found(&shown).iter().all(|(_, kind, _)| *kind != inverse), "{:?}", found(&shown));
}

/// Of a repository a parameter without effect was found wherever nothing was on trial, and not
/// beside a rule that took one version of a file for another.
#[test]
fn a_wrong_rule_on_trial_does_not_speak_against_a_right_one() {
    let site = Site::new("example.com");
    let wrong = {
        let (from, to) = ("v=2".to_owned(), "v=1".to_owned());
        let kind = RuleKind::Substring { from, to, at_start: false, at_end: true };
        let none = Scope::default();
        let mut rule = Rule::new(site.clone(), kind, none, Source::Mined, Timestamp::ZERO);
        rule.state = RuleState::Shadow;
        rule
    };
    let found = |state: RuleState| {
        let mut miner = super::miner::Miner::new(super::miner::Settings::default());
        for file in 0..20 {
            // Of every other file the second version is met first.
            for version in if file % 2 == 0 { [1, 2] } else { [2, 1] } {
                let tail = format!("/f?id={file}&v={version}");
                miner.observe(&page(url(&tail), text(file * 10 + version)));
            }
            for version in [1, 2] {
                let tail = format!("/f?id={file}&js=0&v={version}");
                miner.observe(&page(url(&tail), text(file * 10 + version)));
            }
        }
        // What they show apart from each other was seen as well.
        miner.set_apart(&url("/f?id=3&v=2&js=1"), &url("/f?id=3&v=1&js=1"));
        let base = vec![Rule { state, ..wrong.clone() }];
        let found = miner.mine(&site, base, &BTreeSet::new(), &[], Timestamp::ZERO).unwrap();
        found.iter().map(Rule::to_string).collect::<Vec<_>>()
    };
    let right = r#"drop parameter "js""#;
    let on_trial = found(RuleState::Shadow);
    assert!(on_trial.iter().any(|rule| rule == right), "{on_trial:?}");
    // What is proved is believed: it is the other one that unites what is apart.
    let proved = found(RuleState::Enforced);
    assert!(proved.iter().all(|rule| rule != right), "{proved:?}");
}

/// Of shelves with a few books each the order was dropped, of two with more books it was shown that
/// each order has others of them, and in the next second the same rule was believed for all paths
/// of shelves, by those that have a few books.
#[test]
fn what_was_shown_to_be_two_pages_refutes_the_next_rule_too() {
    let words = |page: u64| page * 1_000..page * 1_000 + 120;
    let lists = (0..12).map(|n| (format!("/shelf/{n}"), n));
    let lists = lists.chain((0..12).map(|n| (format!("/news/{n}"), 100 + n)));
    let pages = lists.flat_map(|(tail, n)| {
        let sorted = (format!("{tail}?sort=title"), words(n));
        [(tail, words(n)), sorted]
    });
    let mut shown = Shown::new(pages);
    let rule = shown.rule("drop parameter \"sort\"").expect("it is found").id;
    shown.book.enforce(rule, "as the test says", Timestamp::ZERO);
    for n in 0..2 {
        let (form, list) = (url(&format!("/shelf/{n}?sort=title")), url(&format!("/shelf/{n}")));
        let Observation { text, bag, .. } = Shown::observation("/", words(n));
        let known = Fetched::Page { text, digest: None, bag, junk: false };
        let found = (known, Finding::Failed);
        shown.book.set_apart(&form, &list);
        shown.book.audit_result(&[rule], (&form, &list), found, Timestamp::ZERO);
    }
    assert_eq!(shown.book.rule(rule).map(|rule| rule.state), Some(RuleState::Retired));
    shown.book.mine(&Site::new("example.com"), Timestamp::ZERO).unwrap();
    let tried = shown.book.rules().filter(|rule| rule.state == RuleState::Shadow);
    let tried: Vec<String> = tried.map(Rule::to_string).collect();
    assert_eq!(tried, ["drop parameter \"sort\" under \"/news/#\""], "nothing speaks against it");
}

/// A file that was asked for by a session, and at a commit, is not the file as it is; by a session
/// it is the same at that commit. Such pages spoke against the session, too, and it went on.
#[test]
fn what_is_another_page_than_its_key_stays_one_page_with_its_own_forms() {
    let words = |page: u64| page * 1_000..page * 1_000 + 120;
    let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
    for n in 0..24 {
        for (rest, is_old) in
            [("", false), ("&sid=2", false), ("&at=3", true), ("&at=3&sid=4", true)]
        {
            let mut seen = Shown::observation(&format!("/file/{n}?a=1{rest}"), words(n));
            // The word that was changed is in no slot of the sketch.
            seen.bag = seen.bag.filter(|_| !is_old).or(Some(Bag::of(words(n).skip(1))));
            book.observe(&seen);
        }
    }
    book.mine(&Site::new("example.com"), Timestamp::ZERO).unwrap();
    let mut shown = Shown { book };
    let at = shown.rule("drop parameter \"at\"").expect("it is found").id;
    shown.book.enforce(at, "as the test says", Timestamp::ZERO);
    for n in 0..6 {
        let (form, file) = (format!("/file/{n}?a=1&at=3&sid=4"), format!("/file/{n}?a=1"));
        let Observation { text, bag, .. } = Shown::observation("/", words(n));
        let found = (Fetched::Page { text, digest: None, bag, junk: false }, Finding::Failed);
        shown.book.set_apart(&url(&form), &url(&file));
        shown.book.audit_result(&[at], (&url(&form), &url(&file)), found, Timestamp::ZERO);
    }
    shown.book.mine(&Site::new("example.com"), Timestamp::ZERO).unwrap();
    let rule = |text: &str| shown.rule(text).map(|rule| (rule.state, rule.evidence));
    let (state, evidence) = rule("drop parameter \"sid\"").expect("it is found");
    assert_eq!(state, RuleState::Shadow);
    assert_eq!((evidence.documents_same, evidence.documents_different), (24, 0));
    assert_eq!(rule("drop parameter \"at\"").map(|(state, _)| state), Some(RuleState::Retired));
}

/// A wiki names its pages by a word, as it does its views: a rule was asked for on each page.
#[test]
fn a_rule_is_asked_for_in_each_view_and_not_on_each_page() {
    let letter = |n: u64| char::from(b'a' + (n % 26) as u8);
    let named = |n: u64| format!("page_{}{}", letter(n), letter(n / 26));
    let words = |page: u64| page * 1_000..page * 1_000 + 120;
    let pages = (0..40).flat_map(|n| {
        let page = named(n);
        let shown = [(format!("/wiki?id={page}"), n), (format!("/wiki?id={page}&sid={n}"), n)];
        shown.map(|(tail, document)| (tail, words(document)))
    });
    let mut shown = Shown::new(pages);
    let sid = shown.rule("drop parameter \"sid\"").expect("it is found").id;
    for n in 40..44 {
        let key = format!("/wiki?id={}", named(n));
        shown.draw(sid, (&format!("{key}&sid={n}"), &key), words(n));
    }
    assert!(shown.is_enforced(sid));
    let set = shown.book.take_rule_set().unwrap().expect("it has a rule");
    let asks = |tail: String| set.must_prove(&url(&tail), &[sid]);
    assert!(!asks(format!("/wiki?id={}&sid=7", named(99))), "a page like the others");
    assert!(asks(format!("/wiki?id={}&do=diff&sid=7", named(99))), "another view of it");
    let rules = shown.book.rules_as_proved();
    let told = rules.iter().filter(|rule| !rule.limits.items.is_empty());
    assert_eq!(told.count(), 0, "who has the rule alone need not know: it failed nowhere");
    let kept = shown.book.encode_rules();
    let again = RuleBook::decode(Settings::default(), &kept, []).unwrap();
    assert_eq!(again.encode_rules(), kept);
    let set = again.proving_by_pairs().take_rule_set().unwrap().expect("it has a rule");
    let known = set.must_prove(&url(&format!("/wiki?id={}&sid=7", named(99))), &[sid]);
    assert!(!known, "nor after a restart, without the sample");
}

/// Of a catalogue in every order each `next` made a rule of its own with three documents behind it;
/// these were on trial for ever, and `sort` with thirty documents was not.
#[test]
fn a_trial_for_which_nothing_is_fetched_makes_room_for_a_better_rule() {
    let rule = |name: String, documents: u32| {
        let kind = RuleKind::drop(vec![name], None);
        let site = Site::new("example.com");
        let mut rule = Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO);
        rule.evidence.documents_same = documents;
        rule
    };
    let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
    let state = |book: &RuleBook, id: RuleId| book.entries.get(id).unwrap().rule.state;
    let place = |book: &mut RuleBook, rules: Vec<Rule>| {
        let ids: Vec<RuleId> = rules.iter().map(|rule| rule.id).collect();
        book.import(rules.clone());
        for rule in rules {
            book.entries.get_mut(rule.id).unwrap().rule.evidence = rule.evidence;
        }
        book.try_by_pairs(ids.clone(), Timestamp::ZERO).unwrap();
        ids
    };
    let small = place(&mut book, (0..100).map(|n| rule(format!("next{n}"), 3)).collect());
    assert!(small.iter().all(|id| state(&book, *id) == RuleState::Shadow));
    let better = place(&mut book, vec![rule("page".into(), 8), rule("sort".into(), 30)]);
    let better: Vec<RuleState> = better.iter().map(|id| state(&book, *id)).collect();
    assert_eq!(better, [RuleState::Candidate, RuleState::Shadow]);
    let left = small.iter().filter(|id| state(&book, **id) == RuleState::Shadow).count();
    assert_eq!(left, 99);
}

/// Two forms of each of three lists made a rule, and two more forms of one of them proved it: all
/// that was known of it was three documents.
#[test]
fn a_rule_is_proved_by_documents_and_not_by_many_forms_of_a_few() {
    let words = |list: u64| list * 1_000..list * 1_000 + 120;
    let forms = |list: u64| {
        let plain = format!("/list/{list}");
        let sorted = (1..4).map(move |n| format!("/list/{list}?sort={n}"));
        sorted.chain([plain]).map(move |tail| (tail, words(list)))
    };
    let mut shown = Shown::new((0..3).flat_map(forms));
    let rule = shown.rule("drop parameter \"sort\"").expect("it is found").id;
    for n in 4..20 {
        let list = n % 3;
        let (form, plain) = (format!("/list/{list}?sort={n}"), format!("/list/{list}"));
        shown.draw(rule, (&form, &plain), words(list));
        assert!(!shown.is_enforced(rule), "three lists in {n} orders");
    }
    for list in 3..5 {
        assert!(!shown.is_enforced(rule), "{list} lists");
        let (form, plain) = (format!("/list/{list}?sort=1"), format!("/list/{list}"));
        shown.book.observe(&Shown::observation(&plain, words(list)));
        shown.draw(rule, (&form, &plain), words(list));
    }
    assert!(shown.is_enforced(rule), "five lists: {:?}", shown.book.rule(rule));
}

/// Of each project the page of its latest release has a section more than that of the first one,
/// and that was evidence that they are one page.
#[test]
fn a_page_that_is_contained_in_another_is_no_witness_that_they_are_one() {
    let (first, latest) =
        (|n: u64| n * 1_000..n * 1_000 + 100, |n: u64| n * 1_000..n * 1_000 + 130);
    let pages = (0..12).flat_map(|n| {
        let page = |release: &str| format!("/simple/project/{n}/{release}");
        [(page("1.0"), first(n)), (page("latest"), latest(n))]
    });
    let mut shown = Shown::new(pages);
    let text = "\"/1.0$\" -> \"/latest$\"";
    let found: Vec<String> = shown.book.rules().map(Rule::to_string).collect();
    let rule = shown.rule(text).unwrap_or_else(|| panic!("{found:?}")).id;
    for n in 20..22 {
        let (form, key) =
            (format!("/simple/project/{n}/1.0"), format!("/simple/project/{n}/latest"));
        shown.book.observe(&Shown::observation(&key, latest(n)));
        shown.draw(rule, (&form, &key), latest(n));
    }
    assert!(!shown.is_enforced(rule), "{:?}", shown.book.rule(rule));
}

/// Where one rule in force made two pages one, they were counted as proof of each other rule that
/// rewrote them both; and so was a redirect that another rule had foreseen.
#[test]
fn what_other_rules_merge_anyway_proves_no_rule() {
    let site = Site::new("example.com");
    let rule =
        |kind| Rule::new(site.clone(), kind, Scope::default(), Source::Mined, Timestamp::ZERO);
    let drop = |name: &str| rule(RuleKind::drop(vec![name.to_owned()], None));
    let (sid, lang) = (drop("sid"), drop("lang"));
    let known = |pages: Vec<Observation>| {
        let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
        pages.iter().for_each(|page| book.observe(page));
        book.import(vec![sid.clone(), lang.clone()]);
        assert!(book.enforce(sid.id, "as the test says", Timestamp::ZERO));
        book.try_by_pairs(vec![lang.id], Timestamp::ZERO).unwrap();
        book.entries.get(lang.id).unwrap().pairs.known
    };
    let words = |n: u64| n * 1_000..n * 1_000 + 120;
    let form = |n, tail: &str| Shown::observation(&format!("/d?id={n}&{tail}"), words(n));
    let sessions = (0..6).flat_map(|n| [form(n, "lang=fr&sid=1"), form(n, "lang=fr&sid=2")]);
    assert_eq!(known(sessions.collect()), 0);
    let languages = (0..6).flat_map(|n| [form(n, "lang=fr&sid=1"), form(n, "lang=de&sid=2")]);
    assert_eq!(known(languages.collect()), 6);
    let redirects = |to: &'static str| {
        (0..6).map(move |n| Observation {
            declared: Some(Declared::Redirect(url(&format!("/d?id={n}{to}")))),
            ..form(n, "lang=fr&sid=1")
        })
    };
    assert_eq!(known(redirects("&lang=fr").collect()), 0, "the session was taken away");
    assert_eq!(known(redirects("").collect()), 6);
}

/// A rule that the operator had taken out of force was found again in the other direction.
#[test]
fn what_was_taken_out_of_force_does_not_come_back_in_another_form() {
    let words = |n: u64| n * 1_000..n * 1_000 + 120;
    let forms = |n: u64| [format!("/story?id={n}"), format!("/story_{n}")];
    let pages = (0..40).flat_map(|n| forms(n).map(|form| (form, words(n))));
    let mut shown = Shown::new(pages);
    let (site, at) = (Site::new("example.com"), Timestamp::ZERO);
    let found = |shown: &Shown| -> Vec<Rule> {
        let rules = shown.book.rules().filter(|rule| rule.state.hides());
        rules.cloned().collect()
    };
    shown.book.mine(&site, at).unwrap();
    let [rule] = &found(&shown)[..] else { panic!("{:?}", found(&shown)) };
    assert!(shown.book.suspend(rule.id, "as the test says", at));
    shown.book.mine(&site, at).unwrap();
    assert_eq!(found(&shown), []);
    let other = RuleKind::drop(vec!["sid".to_owned()], None);
    let other = Rule::new(site.clone(), other, Scope::default(), Source::Mined, at);
    shown.book.import(vec![other.clone()]);
    shown.book.mine(&site, at).unwrap();
    assert_eq!(found(&shown).iter().map(|rule| rule.id).collect::<Vec<_>>(), [other.id]);
}

/// A few documents under hundreds of addresses each made a rule seem as safe as if hundreds of
/// documents had agreed.
#[test]
fn many_forms_of_a_few_documents_count_as_few() {
    let words = |list: u64| list * 1_000..list * 1_000 + 120;
    let agreed = |lists: u64| {
        let pages = (0..lists).map(|list| (format!("/list/{list}"), words(list)));
        let mut shown = Shown::new(pages);
        let kind = RuleKind::drop(vec!["sort".to_owned()], None);
        let (site, at) = (Site::new("example.com"), Timestamp::ZERO);
        let rule = Rule::new(site, kind, Scope::default(), Source::Mined, at);
        shown.book.import(vec![rule.clone()]);
        shown.book.try_by_pairs(vec![rule.id], at).unwrap();
        for n in 0..400 {
            let list = n % lists;
            let (form, plain) = (format!("/list/{list}?sort={n}"), format!("/list/{list}"));
            shown.draw(rule.id, (&form, &plain), words(list));
        }
        let entry = &shown.book.entries.get(rule.id).unwrap();
        let here = places(&url("/list/0?sort=1"), &url("/list/0"), &NO_ITEMS);
        (entry.agreed(), entry.proven.as_ref().map_or(0, |proven| proven.least_in(&here)))
    };
    let (few, few_there) = agreed(6);
    assert_eq!(few, 6 * 8);
    assert!(few_there < 80, "each of some dozen first values counts for itself: {few_there}");
    assert_eq!(agreed(400), (400, 400));
}

/// A log of requests alone, as of a server that answers 304 or counts no bytes: its URLs were
/// passed over as if no rule touched them.
#[test]
fn rules_are_proved_on_urls_of_which_nothing_but_their_existence_is_known() {
    let site = Site::new("example.com");
    let rule =
        |kind| Rule::new(site.clone(), kind, Scope::default(), Source::Mined, Timestamp::ZERO);
    let drop = |name: &str| RuleKind::drop(vec![name.to_owned()], None);
    let (sound, wrong) = (rule(drop("sid")), rule(drop("page")));
    let mut log: Vec<Observation> =
        forum_log().iter().map(|tail| page(url(tail), Text::Unknown)).collect();
    let proved = |log: &[Observation]| {
        let mut settings = Settings::default();
        settings.validate.probe_share_max = f64::MAX;
        let rules = vec![sound.clone(), wrong.clone()];
        let mut model = Model { serve: forum };
        let report =
            prove_rules(rules, log.to_vec(), &mut model, settings, Timestamp::ZERO).unwrap();
        [&sound, &wrong].map(|rule| report.book.rule(rule.id).unwrap().state)
    };
    assert_eq!(proved(&log), [RuleState::Enforced, RuleState::Retired]);
    // What was looked at, and found to have no text, tells nothing of a rule.
    log.iter_mut().for_each(|seen| seen.digest = Some(1));
    assert_eq!(proved(&log), [RuleState::Candidate; 2]);
}

/// Rules that were in force were retired where their site could not be asked.
#[test]
fn a_rule_whose_pages_cannot_be_fetched_stays_as_it_was() {
    struct Away(Fetched);
    impl Fetcher for Away {
        fn fetch(&mut self, _: &CrawlUrl) -> Fetched {
            self.0
        }
    }
    let kind = RuleKind::drop(vec!["sid".to_owned()], None);
    let site = Site::new("example.com");
    let mut rule = Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO);
    rule.evidence.draws_same = 30;
    let log: Vec<Observation> =
        forum_log().iter().map(|tail| page(url(tail), Text::Unknown)).collect();
    let mut settings = Settings::default();
    settings.validate.probe_share_max = f64::MAX;
    for state in [RuleState::Enforced, RuleState::Suspended, RuleState::Candidate] {
        rule.state = state;
        for shown in [Fetched::Unavailable, Fetched::Forbidden, Fetched::Gone] {
            let (rules, settings) = (vec![rule.clone()], settings.clone());
            let report =
                prove_rules(rules, log.clone(), &mut Away(shown), settings, Timestamp::ZERO);
            let report = report.unwrap();
            assert_eq!(report.rules, [rule.clone()], "{shown:?}");
            assert_eq!(report.unanswered, BTreeSet::from([rule.id]), "{shown:?}");
            assert!(report.events.iter().all(|event| event.to != RuleState::Retired));
        }
    }
}

/// What was known of a rule was overwritten by the zeros of a file, and a retired rule was a
/// candidate again without a word of it.
#[test]
fn what_is_known_of_a_rule_outlives_the_import_of_it() {
    let model = Model { serve: forum };
    let mut book = model.learn(model.crawl(forum_log())).book;
    let known: Vec<Rule> = book.rules().cloned().collect();
    let retired = known.iter().find(|rule| rule.state == RuleState::Enforced).unwrap().id;
    assert!(book.revert(retired, "as the test says", Timestamp::ZERO));
    let before: BTreeMap<RuleId, Rule> = book.rules().map(|rule| (rule.id, rule.clone())).collect();
    let fresh = |rule: &Rule| Rule {
        evidence: Default::default(),
        state: RuleState::Candidate,
        ..rule.clone()
    };
    book.take_events();
    book.import(known.iter().map(fresh).collect());
    for rule in book.rules() {
        assert_eq!(*rule, before[&rule.id], "{rule}");
    }
    assert_eq!(book.take_events(), []);
    assert!(book.revive(retired, "imported", Timestamp::ZERO));
    assert!(!book.revive(retired, "imported", Timestamp::ZERO), "it is retired no more");
    let events: Vec<(RuleId, Option<RuleState>)> =
        book.take_events().iter().map(|event| (event.rule, event.from)).collect();
    assert_eq!(events, [(retired, Some(RuleState::Retired))]);
}

/// A rule of sessions was refuted by its first pair, before it was known how far the pages of a
/// shop change by themselves, and was not tried again until a week later.
#[test]
fn what_was_refuted_early_is_tried_again_when_much_more_is_known_of_its_site() {
    let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
    let observe = |book: &mut RuleBook, documents: std::ops::Range<u64>| {
        for n in documents {
            for tail in [format!("/p/{n}"), format!("/p/{n}?v=1")] {
                book.observe(&page(url(&tail), text(n)));
            }
        }
    };
    let (site, now) = (url("/").site(), Timestamp::from_millis(1));
    let on_trial = |book: &mut RuleBook| -> Vec<RuleId> {
        book.mine(&site, now).unwrap();
        book.rules().filter(|rule| rule.state.hides()).map(|rule| rule.id).collect()
    };
    observe(&mut book, 0..8);
    let [rule] = on_trial(&mut book)[..] else { panic!("one rule is found") };
    let show = |n| Fetched::Page { text: text(n), digest: None, bag: None, junk: false };
    let fails = |book: &mut RuleBook, n: u64| {
        let pair = (url(&format!("/p/{n}?v=1")), url(&format!("/p/{n}")));
        book.set_apart(&pair.0, &pair.1);
        book.audit_result(&[rule], (&pair.0, &pair.1), beside(show(n), show(n + 500)), now);
    };
    // Sixteen pages were known, then 64.
    for (n, until) in [(3, 32), (4, 128)] {
        let pair = (url(&format!("/p/{}?v=1", n - 2)), url(&format!("/p/{}", n - 2)));
        book.audit_result(&[rule], (&pair.0, &pair.1), beside(show(n - 2), show(n - 2)), now);
        fails(&mut book, n);
        assert_eq!(book.rule(rule).unwrap().state, RuleState::Retired);
        let known = book.pages_of(&site) / 2;
        observe(&mut book, known..until - 1);
        assert_eq!(on_trial(&mut book), [], "{until}");
        observe(&mut book, until - 1..until);
        assert_eq!(on_trial(&mut book), [rule], "{until}");
        let entry = book.entries.get(rule).unwrap();
        assert!(entry.doubted, "it is as likely wrong as not");
        assert!(entry.rule.evidence.fetched_same() > 0);
        assert_eq!(entry.agreed(), entry.pairs.known, "what agreed before is among these");
    }
    // By then one of so many pairs may be an accident.
    (5..7).for_each(|n| fails(&mut book, n));
    observe(&mut book, 128..800);
    assert_eq!(on_trial(&mut book), [], "so many failures are none");
}

/// A rule that fell was found again at once, by the pages that had agreed with it, in a context
/// that all of them share.
#[test]
fn what_refuted_a_rule_bars_others_until_it_is_tried_again() {
    let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
    for n in 0..40 {
        for tail in [format!("/p/{n}"), format!("/p/{n}?v=1")] {
            book.observe(&page(url(&tail), text(n)));
        }
    }
    let (site, now) = (url("/").site(), Timestamp::from_millis(1));
    book.mine(&site, now).unwrap();
    let on_trial = |book: &RuleBook| -> Vec<RuleId> {
        book.rules().filter(|rule| rule.state.hides()).map(|rule| rule.id).collect()
    };
    let [rule] = on_trial(&book)[..] else { panic!("one rule is found") };
    book.miner.set_apart(&url("/p/3?v=1"), &url("/p/3"));
    book.retire(rule, "audits no longer agree", now);
    book.mine(&site, now).unwrap();
    let named: Vec<String> = book.rules().map(|rule| format!("{rule} {:?}", rule.state)).collect();
    assert_eq!(on_trial(&book), [], "{named:?}");
    let later = now.plus(Settings::default().validate.retry_after.get());
    book.mine(&site, later).unwrap();
    assert_eq!(on_trial(&book), [rule], "its wait is over");
}

/// A page that came before the model of its site spoke neither for a rule nor against it, and so a
/// rule was proved though the crawl held a page on which it was wrong.
#[test]
fn a_page_from_before_the_model_of_its_site_speaks_against_a_rule() {
    let on_trial = |others: std::ops::Range<u64>| {
        let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
        let bag = |words: std::ops::Range<u64>| Some(Bag::of(words));
        let early = Observation { bag: bag(0..120), ..page(url("/p/99"), Text::Unknown) };
        let told = Observation { bag: bag(others), ..page(url("/p/99?v=1"), text(99)) };
        book.observe(&early);
        book.observe(&told);
        for n in 0..8 {
            for tail in [format!("/p/{n}"), format!("/p/{n}?v=1")] {
                book.observe(&page(url(&tail), text(n)));
            }
        }
        book.mine(&url("/").site(), Timestamp::from_millis(1)).unwrap();
        book.rules().filter(|rule| rule.state.hides()).count()
    };
    assert_eq!(on_trial(1_000..1_120), 0, "another page");
    assert_eq!(on_trial(2..120), 1, "a counter differs");
}

/// Pages that were under way when a rule was found were compared with nothing, and the rule was
/// proved by the next ones, though the crawl held a page on which it was wrong.
#[test]
fn what_was_under_way_when_a_rule_was_found_speaks_against_it() {
    let state_of = |late: u64| {
        let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
        let observe = |book: &mut RuleBook, tail: &str, document| {
            book.observe(&page(url(tail), text(document)));
        };
        observe(&mut book, "/p/99", 99);
        for n in 0..8 {
            observe(&mut book, &format!("/p/{n}"), n);
            observe(&mut book, &format!("/p/{n}?v=1"), n);
        }
        let now = Timestamp::from_millis(1);
        book.mine(&url("/").site(), now).unwrap();
        let rule = book.rules().find(|rule| rule.state.hides()).unwrap().id;
        observe(&mut book, "/p/99?v=1", late);
        for n in 20..40 {
            let shown = Fetched::Page { text: text(n), digest: None, bag: None, junk: false };
            let pair = (url(&format!("/p/{n}?v=1")), url(&format!("/p/{n}")));
            let beside = beside(shown, shown);
            book.audit_result(&[rule], (&pair.0, &pair.1), beside, now);
        }
        book.rule(rule).unwrap().state
    };
    assert_eq!(state_of(99), RuleState::Enforced);
    assert_eq!(state_of(100), RuleState::Retired);
}
