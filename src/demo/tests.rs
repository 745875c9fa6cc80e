//! Tests of the web as a whole, in process.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Clock, Timestamp};
use crate::dns::{DnsFailure, Resolve};
use crate::fetch::{Answer, Failure, Fetch, Outcome, Purpose, Request, Truncated};
use crate::url::{CrawlUrl, Host};

use super::*;

pub(super) fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

pub(super) fn request(url: &CrawlUrl) -> Request {
    Request {
        url: url.clone(),
        addresses: vec!["198.18.0.0".parse().unwrap()],
        purpose: Purpose::Page,
        etag: None,
        last_modified: None,
        fresh: false,
    }
}

pub(super) fn answered(outcome: Outcome) -> Answer {
    match outcome {
        Outcome::Answer(answer) => *answer,
        Outcome::Failed(failed) => panic!("{failed:?}"),
    }
}

fn failure(outcome: Outcome) -> Failure {
    match outcome {
        Outcome::Answer(answer) => panic!("{}", answer.status),
        Outcome::Failed(failed) => failed.failure,
    }
}

fn open(sites: Vec<SiteSpec>) -> SimWeb {
    let clock = Arc::new(Clock::starting_at(Timestamp::from_millis(1_800_000_000_000)));
    SimWeb::new(Arc::new(WebSpec::new(7, sites)), clock)
}

/// A site with every habit, in one of the styles.
fn habitual(name: &str, style: UrlStyle) -> SiteSpec {
    let mut site = SiteSpec::new(name, 300);
    site.aliases = vec![format!("www.{name}")];
    (site.style, site.orphans, site.near_replicas, site.broken_markup) = (style, 7, 100, 100);
    site.habits = Habits {
        share: 60,
        session: Some("sid"),
        sessions: 3,
        tracking: 2,
        index_html: true,
        slash: true,
        case: true,
        order: true,
        print: true,
        story: style == UrlStyle::Story,
        decoy: true,
    };
    site
}

fn styles() -> Vec<SiteSpec> {
    vec![
        habitual("folders.test", UrlStyle::Folders),
        habitual("query.test", UrlStyle::Query),
        habitual("story.test", UrlStyle::Story),
    ]
}

/// Returns the hrefs of a page, naively: our own markup needs no parser.
fn hrefs(body: &[u8], base: &CrawlUrl) -> Vec<CrawlUrl> {
    let text = std::str::from_utf8(body).unwrap();
    let parts = text.split("href=\"").skip(1).chain(text.split("HREF='").skip(1));
    let ends = parts.filter_map(|part| part.split(['"', '\'']).next());
    ends.filter_map(|href| base.join(&href.replace("&amp;", "&")).ok()).collect()
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_answer() {
    let (one, two) = (open(styles()), open(styles()));
    for host in 0..3 {
        for id in one.web().documents(host).step_by(13) {
            let request = request(&one.web().url(id).unwrap());
            let (a, b) = tokio::join!(one.fetch(request.clone()), two.fetch(request));
            let (a, b) = (answered(a), answered(b));
            assert_eq!((a.status, a.head_block, a.wire_body), (200, b.head_block, b.wire_body));
        }
    }
    let other = WebSpec::new(8, styles());
    let home = DocumentId { host: 0, number: 0 };
    assert_ne!(one.web().text(home), other.text(home));
}

#[tokio::test(start_paused = true)]
async fn every_document_is_reachable_from_home_by_links_alone() {
    let sim = open(styles());
    let web = sim.web().clone();
    for host in 0..3u32 {
        let home = web.url(DocumentId { host, number: 0 }).unwrap();
        let (mut queue, mut seen) = (VecDeque::from([home.clone()]), HashSet::from([home]));
        let mut found = HashSet::new();
        let mut dust = 0;
        while let Some(page) = queue.pop_front() {
            let Some(Truth::Document { id, canonical }) = web.truth(&page) else { continue };
            if id.host != host {
                continue;
            }
            found.insert(id);
            dust += usize::from(!canonical);
            let answer = answered(sim.fetch(request(&page)).await);
            assert_eq!(answer.status, 200, "{page}");
            let text = std::str::from_utf8(&answer.body).unwrap();
            let first = web.text(id).unwrap().split('\n').next().unwrap().to_owned();
            assert!(text.contains(&first), "{page} has the text of its document");
            for link in hrefs(&answer.body, &page) {
                if seen.insert(link.clone()) {
                    queue.push_back(link);
                }
            }
        }
        let orphans = web.hosts()[host as usize].orphans;
        let pages = web.hosts()[host as usize].pages;
        let linked: HashSet<_> = web
            .documents(host)
            .filter(|id| !(pages..pages + orphans).contains(&id.number))
            .collect();
        assert_eq!(found, linked, "host {host}");
        assert!(dust > 300, "{dust} further URLs on host {host}");
    }
}

#[test]
fn every_document_has_one_canonical_url_and_a_text_of_its_own() {
    let web = WebSpec::new(7, styles());
    let (mut urls, mut texts) = (HashSet::new(), HashSet::new());
    for id in (0..3).flat_map(|host| web.documents(host)) {
        let url = web.url(id).unwrap();
        assert_eq!(web.truth(&url), Some(Truth::Document { id, canonical: true }), "{url}");
        assert!(urls.insert(url) && texts.insert(web.text(id)), "{id:?}");
    }
    assert_eq!(urls.len(), 3 * (300 + 7 + 299));
}

#[test]
fn other_urls_of_a_document_are_known_as_such() {
    let web = WebSpec::new(7, styles());
    let mut forms = 0;
    for host in 0..3 {
        for number in 0..300 {
            for link in web.links(DocumentId { host, number }) {
                let truth = web.truth(&link);
                let same = |id: DocumentId| web.url(id).is_some_and(|url| url == link);
                match truth {
                    Some(Truth::Document { id, canonical }) => {
                        assert_eq!(canonical, same(id), "{link}");
                        forms += usize::from(!canonical);
                    }
                    other => panic!("{link}: {other:?}"),
                }
            }
        }
    }
    assert!(forms > 1000);
    let query = url("http://query.test/view.php?topic=3&id=17");
    let absent = url("http://query.test/view.php?topic=4&id=17");
    let stranger = url("http://query.test/view.php?topic=3&id=17&x=1");
    let id = DocumentId { host: 1, number: 17 };
    let section = (17 - 1) / 12;
    assert_eq!(section, 1);
    for (url, want) in [
        (url("http://query.test/view.php?topic=1&id=17"), Some(true)),
        (url("http://query.test/VIEW.php?id=17&topic=1&utm_x=y&sid=0"), Some(false)),
        (url("http://www.query.test/view.php?topic=1&id=17&print=1"), Some(false)),
    ] {
        let want = want.map(|canonical| Truth::Document { id, canonical });
        assert_eq!(web.truth(&url), want, "{url}");
    }
    for url in [query, absent, stranger] {
        assert_eq!(web.truth(&url), Some(Truth::Error { soft: false }), "{url}");
    }
    assert_eq!(web.truth(&url("http://query.test:8080/")), None);
    assert_eq!(web.truth(&url("https://query.test/")), None);
    assert_eq!(web.truth(&url("http://elsewhere.test/")), None);
}

#[tokio::test(start_paused = true)]
async fn sick_hosts_fail_in_their_own_way() {
    let site = |name: &str, change: fn(&mut SiteSpec)| {
        let mut site = SiteSpec::new(name, 50);
        site.robots = vec![(Duration::ZERO, RobotsAnswer::rules(&[], None))];
        change(&mut site);
        site
    };
    let sim = open(vec![
        site("refused.test", |site| site.faults.refused = true),
        site("silent.test", |site| site.faults.silent = true),
        site("closed.test", |site| site.faults.closed = 1000),
        site("broken.test", |site| site.faults.errors = 1000),
        site("cut.test", |site| (site.faults.truncated, site.chunked) = (1000, true)),
        site("cutgzip.test", |site| (site.faults.truncated, site.gzip) = (1000, true)),
        site("slow.test", |site| site.latency.rate = 10),
        site("huge.test", |site| site.huge_bytes = 20 << 20),
    ]);
    let get = |text: &str| sim.fetch(request(&url(text)));
    assert_eq!(failure(get("http://refused.test/").await), Failure::ConnectFailed);
    assert_eq!(failure(get("http://silent.test/").await), Failure::FirstByteTimeout);
    assert_eq!(failure(get("http://closed.test/").await), Failure::ClosedEarly);
    assert_eq!(answered(get("http://closed.test/robots.txt").await).status, 200);
    assert!(matches!(answered(get("http://broken.test/").await).status, 500 | 503));
    for host in ["cut.test", "cutgzip.test"] {
        let cut = answered(get(&format!("http://{host}/")).await);
        assert_eq!(cut.truncated, Some(Truncated::Disconnect));
        assert!(cut.body.starts_with(b"<!DOCTYPE html>"));
        assert!(!cut.wire_body.ends_with(b"0\r\n\r\n") && !cut.body.ends_with(b"</html>\n"));
    }
    let slow = answered(get("http://slow.test/").await);
    assert_eq!(slow.truncated, Some(Truncated::Time));
    assert!(slow.timing.total <= Duration::from_secs(121));
    let huge = answered(get("http://huge.test/huge.html").await);
    assert_eq!((huge.truncated, huge.body.len()), (Some(Truncated::Length), 16 << 20));
}

#[tokio::test(start_paused = true)]
async fn names_resolve_or_fail_as_described() {
    let site = |name: &str, answer: DnsAnswer| {
        let mut site = SiteSpec::new(name, 1);
        (site.dns.answer, site.dns.ttl) = (answer, Duration::from_secs(30));
        site
    };
    let private = "10.0.0.1".parse().unwrap();
    let sim = open(vec![
        site("good.test", DnsAnswer::Address),
        site("turning.test", DnsAnswer::Changing(Duration::from_secs(60))),
        site("private.test", DnsAnswer::Private(private)),
        site("none.test", DnsAnswer::NotFound),
        site("fails.test", DnsAnswer::Fails),
        site("silent.test", DnsAnswer::Silent),
    ]);
    let ask = async |name: &str| sim.resolve(&Host::new(name)).await;
    let address = async |name: &str| ask(name).await.unwrap().addresses[0].to_string();
    assert_eq!(address("good.test").await, "198.18.0.0");
    assert_eq!(address("turning.test").await, "198.18.0.1");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(address("turning.test").await, "198.18.0.2");
    assert_eq!(ask("private.test").await, Err(DnsFailure::Refused(vec![private])));
    assert_eq!(ask("none.test").await, Err(DnsFailure::NotFound));
    assert_eq!(ask("unknown.test").await, Err(DnsFailure::NotFound));
    assert!(matches!(ask("fails.test").await, Err(DnsFailure::Failed(_))));
    assert!(matches!(ask("silent.test").await, Err(DnsFailure::Failed(_))));
    assert!(matches!(ask("127.0.0.1").await, Err(DnsFailure::Refused(_))));
}

#[tokio::test(start_paused = true)]
async fn a_busy_host_says_when_it_will_be_free() {
    let mut site = SiteSpec::new("busy.test", 50);
    site.faults.busy = Some(Busy {
        first: Duration::from_secs(10),
        length: Duration::from_secs(30),
        every: Duration::ZERO,
        status: 429,
        retry_after: RetryAfter::Seconds,
    });
    let sim = open(vec![site]);
    let get = async || answered(sim.fetch(request(&url("http://busy.test/"))).await);
    assert_eq!(get().await.status, 200);
    tokio::time::sleep(Duration::from_secs(15)).await;
    let busy = get().await;
    assert_eq!(busy.status, 429);
    let seconds: u64 = busy.header_text("retry-after").unwrap().parse().unwrap();
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    assert_eq!(get().await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_page_is_not_sent_again() {
    let sim = open(vec![SiteSpec::new("a.test", 50)]);
    let (mut tagged, mut unchanged) = (0, 0);
    for id in sim.web().documents(0) {
        let mut request = request(&sim.web().url(id).unwrap());
        let first = answered(sim.fetch(request.clone()).await);
        request.etag = first.header_text("etag");
        let again = answered(sim.fetch(request).await);
        tagged += usize::from(first.header("etag").is_some());
        unchanged += usize::from(again.status == 304 && again.body.is_empty());
    }
    assert!(tagged > 10 && tagged < 40);
    assert_eq!(tagged, unchanged);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_fetch_is_no_longer_under_way() {
    let sim = open(vec![SiteSpec::new("a.test", 50)]);
    sim.log().judge(Judge::new(Protect::Hosts, |_| Duration::from_secs(1)));
    let home = request(&url("http://a.test/"));
    let dropped = tokio::time::timeout(Duration::from_millis(5), sim.fetch(home.clone())).await;
    assert!(dropped.is_err());
    tokio::time::sleep(Duration::from_secs(1)).await;
    answered(sim.fetch(home.clone()).await);
    let judgement = sim.log().verdict().unwrap();
    assert_eq!((judgement.violations, judgement.in_flight_peak), (0, 1), "{judgement:?}");
    answered(sim.fetch(home).await);
    assert_eq!(sim.log().verdict().unwrap().violations, 1);
}

#[tokio::test(start_paused = true)]
async fn a_trap_has_no_end_and_is_told_apart_from_documents() {
    let mut site = SiteSpec::new("trap.test", 50);
    site.traps = Traps {
        calendar: true,
        growing_path: true,
        session_path: true,
        facets: true,
        edited: true,
        sorted: true,
        soft_404: true,
    };
    site.redirects =
        Redirects { share: 50, chain: 3, looping: true, cross_host: true, ..Redirects::default() };
    let sim = open(vec![site, SiteSpec::new("b.test", 3)]);
    for start in
        ["calendar/2026-11", "more/", "s/00000000/page-0", "shop?choice=0", "told/0", "hours/1"]
    {
        let mut page = url(&format!("http://trap.test/{start}"));
        let mut seen = HashSet::new();
        for _ in 0..50 {
            assert_eq!(sim.web().truth(&page), Some(Truth::Trap), "{page}");
            let answer = answered(sim.fetch(request(&page)).await);
            assert!(seen.insert(page.clone()), "{page} again");
            let links = hrefs(&answer.body, &page);
            let mut new =
                links.into_iter().filter(|link| link.path() != "/" && !seen.contains(link));
            page = new.next_back().expect("a way on");
        }
    }
    let lost = answered(sim.fetch(request(&url("http://trap.test/lost-and-found"))).await);
    assert_eq!(lost.status, 200);
    let mut hop = url("http://trap.test/go/3/17");
    for _ in 0..4 {
        assert_eq!(sim.web().truth(&hop), Some(Truth::Redirect));
        let answer = answered(sim.fetch(request(&hop)).await);
        hop = hop.join(&answer.header_text("location").unwrap()).unwrap();
    }
    let id = DocumentId { host: 0, number: 17 };
    assert_eq!(sim.web().truth(&hop), Some(Truth::Document { id, canonical: true }));
    let out = answered(sim.fetch(request(&url("http://trap.test/out"))).await);
    assert_eq!(out.header_text("location").as_deref(), Some("http://b.test/"));
}

#[tokio::test(start_paused = true)]
async fn sitemaps_name_every_linked_document_and_every_orphan() {
    for kind in [Sitemap::Plain, Sitemap::Gzip] {
        let mut site = SiteSpec::new("map.test", 2_500);
        (site.orphans, site.sitemap) = (10, kind);
        site.robots = vec![(Duration::ZERO, RobotsAnswer::rules(&["/private/"], Some(2)))];
        let sim = open(vec![site]);
        let robots = answered(sim.fetch(request(&url("http://map.test/robots.txt"))).await);
        let text = String::from_utf8(robots.body.to_vec()).unwrap();
        assert!(text.contains("Disallow: /private/\nCrawl-delay: 2\n"), "{text}");
        let index = text.split("Sitemap: ").nth(1).unwrap().trim();
        let mut files = vec![url(index)];
        let mut named = HashSet::new();
        while let Some(file) = files.pop() {
            let answer = answered(sim.fetch(request(&file)).await);
            let xml = match kind {
                Sitemap::Gzip => {
                    let mut xml = String::new();
                    let mut decoder = flate2::read::GzDecoder::new(&answer.body[..]);
                    std::io::Read::read_to_string(&mut decoder, &mut xml).unwrap();
                    xml
                }
                _ => String::from_utf8(answer.body.to_vec()).unwrap(),
            };
            for loc in xml.split("<loc>").skip(1) {
                let loc = url(&loc.split('<').next().unwrap().replace("&amp;", "&"));
                match sim.web().truth(&loc) {
                    Some(Truth::Sitemap) => files.push(loc),
                    Some(Truth::Document { id, canonical: true }) => assert!(named.insert(id)),
                    other => panic!("{loc}: {other:?}"),
                }
            }
        }
        assert_eq!(named, sim.web().documents(0).collect());
    }
}

#[test]
fn a_web_of_a_hundred_thousand_hosts_costs_its_list_of_hosts() {
    let sites = (0..100_000).map(|n| SiteSpec::new(&format!("h{n}.test"), 1_000)).collect();
    let web = WebSpec::new(1, sites);
    let id = DocumentId { host: 99_999, number: 999 };
    let url = web.url(id).unwrap();
    assert_eq!(web.truth(&url), Some(Truth::Document { id, canonical: true }));
    assert_eq!(web.documents(5).count(), 1_000);
    assert!(!web.text(id).unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn every_language_survives_every_encoding_that_has_its_letters() {
    use encoding_rs::*;
    for (language, encodings) in [
        (Language::Latin, &[UTF_8, WINDOWS_1252][..]),
        (Language::Accented, &[UTF_8, WINDOWS_1252, ISO_8859_15]),
        (Language::Cyrillic, &[UTF_8, WINDOWS_1251, KOI8_R]),
        (Language::Ideographs, &[UTF_8, SHIFT_JIS, EUC_JP, GB18030]),
    ] {
        for encoding in encodings {
            let mut site = SiteSpec::new("a.test", 30);
            site.language = language;
            site.charset = Charset { encoding, in_header: true, in_page: false };
            let sim = open(vec![site]);
            let page = answered(sim.fetch(request(&url("http://a.test/"))).await);
            let kind = page.header_text("content-type").unwrap();
            assert_eq!(kind, format!("text/html; charset={}", encoding.name().to_lowercase()));
            let (text, _, wrong) = encoding.decode(&page.body);
            let paragraph = sim.web().text(DocumentId { host: 0, number: 0 }).unwrap();
            assert!(!wrong && text.contains(paragraph.split('\n').next().unwrap()), "{text}");
            assert!(!text.contains("<meta charset"));
        }
    }
}

#[test]
fn mirrors_say_the_same_and_others_do_not() {
    let mut twin = SiteSpec::new("mirror.test", 40);
    twin.twin = Some("a.test".to_owned());
    let web = WebSpec::new(7, vec![SiteSpec::new("a.test", 40), twin, SiteSpec::new("b.test", 40)]);
    for number in 0..40 {
        let id = |host| DocumentId { host, number };
        let path = |host| web.url(id(host)).unwrap().path_and_query().to_owned();
        assert_eq!((web.text(id(0)), path(0)), (web.text(id(1)), path(1)));
        assert_ne!(web.text(id(0)), web.text(id(2)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_hurried_host_defends_itself() {
    let mut site = SiteSpec::new("a.test", 40);
    site.faults.hurried = Some(Duration::from_millis(1_500));
    let sim = open(vec![site]);
    let get = async |text: &str| answered(sim.fetch(request(&url(text))).await);
    assert_eq!(get("http://a.test/").await.status, 200);
    let early = get("http://a.test/").await;
    assert_eq!((early.status, early.header_text("retry-after").as_deref()), (429, Some("2")));
    assert_eq!(get("http://a.test/robots.txt").await.status, 404);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(get("http://a.test/").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn what_asks_for_restraint_can_be_told_from_what_does_not() {
    let mut site = SiteSpec::new("a.test", 40);
    (site.directives, site.feed) = (true, true);
    (site.links, site.dead_links, site.redirects.hostile) = (10, 300, true);
    let sim = open(vec![site]);
    let home = url("http://a.test/");
    let page = answered(sim.fetch(request(&home)).await);
    let text = std::str::from_utf8(&page.body).unwrap();
    assert!(text.contains("<a href=\"/quiet/page-0\" rel=\"nofollow\">"));
    let links = hrefs(&page.body, &home);
    let count = |want: Truth| {
        links.iter().filter(|link| sim.web().truth(link).as_ref() == Some(&want)).count()
    };
    let unwanted = count(Truth::Unwanted);
    assert_eq!((count(Truth::Quiet), unwanted, count(Truth::Redirect)), (2, 1, 9));
    assert!(count(Truth::Feed) >= 1 && count(Truth::Error { soft: false }) >= 1);
    let meta = answered(sim.fetch(request(&url("http://a.test/quiet/meta"))).await);
    let text = std::str::from_utf8(&meta.body).unwrap();
    assert!(text.contains("<meta name=\"robots\" content=\"nofollow, noarchive\">"));
    let header = answered(sim.fetch(request(&url("http://a.test/quiet/header"))).await);
    assert_eq!(header.header_text("x-robots-tag").as_deref(), Some("nofollow"));
    for (page, behind) in [(meta, "/quiet/page-1"), (header, "/quiet/page-2")] {
        let link = home.join(behind).unwrap();
        assert!(hrefs(&page.body, &home).contains(&link));
        assert_eq!(sim.web().truth(&link), Some(Truth::Unwanted));
    }
    let inward = answered(sim.fetch(request(&url("http://a.test/inward/2"))).await);
    assert_eq!(
        inward.header_text("location").as_deref(),
        Some("http://169.254.169.254/latest/meta-data/")
    );
    let feed = answered(sim.fetch(request(&url("http://a.test/feed.xml"))).await);
    assert_eq!(std::str::from_utf8(&feed.body).unwrap().matches("<item>").count(), 20);
}
