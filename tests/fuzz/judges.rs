//! What must hold for any bytes at all: one function for each thing that is read.
//!
//! The same functions are driven by libFuzzer (`fuzz_targets`) and by every test run (`mod.rs`), so
//! an input that libFuzzer finds is a test as soon as it lies in the corpus.

#![allow(unreachable_pub, reason = "the crate for libFuzzer uses them from outside")]

use std::io::Cursor;

use crawler::archive::{Reader, resync};
use crawler::clock::Timestamp;
use crawler::config;
use crawler::crawl::log::Line;
use crawler::db::families::{line, meta, queue, suppressed, urls};
use crawler::db::{Db, Family};
use crawler::dns::History;
use crawler::dust::durable::RuleRows;
use crawler::dust::input::{Batch, Settings as LogSettings};
use crawler::dust::{RuleBook, RuleFile, RuleSet};
use crawler::extract::{self, Page};
use crawler::frontier::HostRecord;
use crawler::robots::{self, Robots};
use crawler::url::{CrawlUrl, Site};

/// A function that panics if something does not hold.
pub type Judge = fn(&[u8]);

/// All of them, by the name of their corpus.
pub const ALL: &[(&str, Judge)] = &[
    ("robots", robots),
    ("html", html),
    ("sitemap", sitemap),
    ("url", url),
    ("warc", warc),
    ("config", config),
    ("rules", rules),
    ("log", log),
    ("rows", rows),
    ("http", http),
];

fn base() -> CrawlUrl {
    CrawlUrl::parse("http://a.example/dir/page?q=1").expect("it is a URL")
}

/// robots.txt: any bytes give rules that answer, survive being stored, and ask for a finite delay.
pub fn robots(bytes: &[u8]) {
    let rules = Robots::parse_within(bytes, "crawler/1.0", 500 * 1024);
    for path in ["/", "/a%2Fb?c=d$", "/a*b", "/robots.txt", "/%ff/é"] {
        let Ok(url) = base().join(path) else { continue };
        let verdict = rules.verdict(&url);
        assert_eq!(verdict.allowed, rules.is_allowed(&url));
    }
    let stored = rules.to_bytes();
    let again = Robots::from_bytes(&stored).expect("what was stored can be read");
    assert_eq!(again.to_bytes(), stored);
    assert_eq!(again.crawl_delay(), rules.crawl_delay());
    let _ = Robots::from_bytes(bytes);
    let _ = robots::Entry::from_bytes(bytes);
}

/// A page: its links are URLs in normal form, and everything keeps its bound.
pub fn html(bytes: &[u8]) {
    let settings = extract::Settings::default();
    let (first, body) = bytes.split_first().unwrap_or((&0, bytes));
    let types = ["text/html", "text/html; charset=utf-16", "text/css", "application/xhtml+xml", ""];
    let content_type = Some(types[usize::from(*first) % types.len()]);
    let url = base();
    let page = Page { url: &url, content_type, link_headers: &[], body };
    let found = extract::extract(&page, &settings);
    // A feed may be sent as HTML.
    let links_max = settings.links_max.max(settings.sitemap_entries_max);
    assert!(found.links.len() <= links_max);
    for link in &found.links {
        check_normal(&link.url);
    }
}

/// A sitemap or feed, also compressed.
pub fn sitemap(bytes: &[u8]) {
    let settings = extract::Settings::default();
    if let Ok(found) = extract::sitemap(&base(), Some("application/xml"), bytes, &settings) {
        assert!(found.entries.len() <= settings.sitemap_entries_max);
        for entry in &found.entries {
            check_normal(&entry.url);
        }
    }
}

fn check_normal(url: &CrawlUrl) {
    let again = CrawlUrl::parse(url.as_str()).expect("a URL in normal form is a URL");
    assert_eq!(again.as_str(), url.as_str(), "normalizing is idempotent");
    assert_eq!(again.fingerprint(), url.fingerprint());
}

/// A URL and a reference to be joined with it, on two lines.
pub fn url(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (first, second) = text.split_once('\n').unwrap_or((&text, ""));
    let _ = crawler::url::cdx_key(first);
    let Ok(url) = CrawlUrl::parse(first) else { return };
    check_normal(&url);
    let host = url.host();
    assert_eq!(host.as_str(), url.host_str());
    assert!(!url.as_str().contains('@') || url.as_url().username().is_empty());
    assert!(url.surt().starts_with(['h', '(']) || url.surt().contains(')'), "{}", url.surt());
    let _ = (url.site(), url.origin(), robots::robots_url(&url));
    if let Ok(joined) = url.join(second) {
        check_normal(&joined);
    }
}

/// An archive: records follow one another within the file, and behind damage reading goes on.
pub fn warc(bytes: &[u8]) {
    let mut reader = Reader::new(Cursor::new(bytes), 0);
    let mut behind = 0;
    // Every record and every damage moves on by a byte at least.
    for _ in 0..=2 * bytes.len() {
        match reader.next_record(1 << 16) {
            None => return,
            Some(Ok(record)) => {
                assert!(record.extent.offset >= behind || record.extent.index_in_member > 0);
                let end = record.extent.offset + record.extent.length;
                assert!(end <= bytes.len() as u64, "{end} is behind the end");
                if record.extent.is_alone {
                    behind = end;
                }
            }
            Some(Err(damage)) => {
                assert!(damage.offset <= bytes.len() as u64);
                match resync(Cursor::new(bytes), &damage).expect("memory can be read") {
                    None => return,
                    Some((offset, next)) => {
                        assert!(offset > damage.offset);
                        reader = next;
                        behind = offset;
                    }
                }
            }
        }
    }
    panic!("reading does not end");
}

/// A configuration: what is accepted is accepted again when it is written out.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match config::read("fuzz.toml", text, &[]) {
        Ok(loaded) => assert!(!loaded.effective().is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A rule file: what is accepted can be put in force.
pub fn rules(bytes: &[u8]) {
    let Ok(file) = RuleFile::parse(bytes) else { return };
    let written = serde_json::to_vec(&file).expect("rules can be written");
    RuleFile::parse(&written).expect("what is written can be read");
    let mut book = RuleBook::new(Default::default());
    book.import(file.rules);
    let _ = book.rule_set();
    let stored = book.encode_rules();
    RuleBook::decode(Default::default(), &stored, []).expect("what is stored can be read");
}

/// A log: other people's access logs in any format, and our own lines.
pub fn log(bytes: &[u8]) {
    let mut batch = Batch::new(LogSettings::default());
    let _ = batch.read(bytes, "fuzz.log", None);
    let _ = batch.finish();
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Ok(line) = serde_json::from_slice::<Line>(line) {
            let written = serde_json::to_vec(&line).expect("a line can be written");
            let again: Line = serde_json::from_slice(&written).expect("and read");
            assert_eq!(again.url, line.url);
        }
    }
    let _ = Timestamp::from_rfc3339(&String::from_utf8_lossy(bytes));
}

/// Keys and values of the state.
pub fn rows(bytes: &[u8]) {
    if let Some((host, place)) = queue::parse(bytes) {
        assert_eq!(queue::key(host, place)[..], *bytes);
    }
    if let Some(place) = line::place_of(bytes) {
        assert_eq!(line::key(place)[..], bytes[..9]);
    }
    let _ = Db::decode::<queue::Item>(Family::Queue, bytes, bytes);
    let _ = Db::decode::<HostRecord>(Family::Hosts, bytes, bytes);
    let _ = urls::decode(bytes, bytes);
    let _ = Db::decode::<suppressed::Suppression>(Family::Suppressed, bytes, bytes);
    let _ = Db::decode::<meta::Counters>(Family::Meta, bytes, bytes);
    let _ = Db::decode::<meta::Session>(Family::Meta, bytes, bytes);
    if let Ok(history) = History::decode(bytes) {
        let again = History::decode(&history.encode()).expect("what is written can be read");
        assert_eq!(again.encode(), history.encode());
    }
    let empty = RuleBook::new(Default::default()).encode_rules();
    let of_site = vec![(Site::new("fuzz.example"), Some(bytes.to_vec()))];
    let books = [
        RuleBook::decode(
            Default::default(),
            &RuleRows { head: bytes.to_vec(), ..empty.clone() },
            [],
        ),
        RuleBook::decode(Default::default(), &RuleRows { sites: of_site, ..empty.clone() }, []),
        RuleBook::decode(Default::default(), &empty, [bytes]),
    ];
    for book in books.into_iter().flatten() {
        let _ = book.rule_set().map(|set: RuleSet| set.version());
    }
}

/// An HTTP answer, spoken over a real connection to the real client.
pub fn http(bytes: &[u8]) {
    super::http::judge(bytes);
}
