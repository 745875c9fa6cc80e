//! What answers lead to: sitemaps, redirects, embeds, headers; and that `explain` says the same.

use std::io::Write;

use crawler::clock::ByteSize;
use crawler::crawl::SeedUrl;
use crawler::crawl::explain::{Judges, explain};
use crawler::crawl::log::files;
use crawler::crawl::verify::verify_state;
use crawler::db::families::urls;
use crawler::filter::{Embeds, Filter, Reason, Scope};
use crawler::frontier::{Rules, UrlRecord, UrlState};
use crawler::url::CrawlUrl;
use serde_json::Value;

use super::scripted::{Crawled, Page, empty};
use super::{START, World};

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).expect("a URL")
}

fn seed(text: &str, hops_max: Option<u16>) -> SeedUrl {
    SeedUrl { url: url(text), priority: None, hops_max }
}

/// Returns an answer of 200 with this type.
fn typed(content_type: &'static str, body: impl Into<Vec<u8>>) -> Page {
    Page::Said(200, vec![("content-type", content_type.as_bytes())], body.into())
}

/// Returns an answer with these header fields.
fn said(status: u16, fields: &[(&'static str, &'static [u8])], body: &str) -> Page {
    Page::Said(status, fields.to_vec(), body.into())
}

fn robots(text: &str) -> Page {
    typed("text/plain", text)
}

/// Returns a sitemap of these locations; `names` of the list and of its entries.
fn listing(names: (&str, &str), locations: &[&str]) -> String {
    let (list, entry) = names;
    let entries = locations.iter().map(|to| format!("<{entry}><loc>{to}</loc></{entry}>"));
    format!("<{list}>{}</{list}>", entries.collect::<String>())
}

fn urlset(locations: &[&str]) -> String {
    listing(("urlset", "url"), locations)
}

fn index(locations: &[&str]) -> String {
    listing(("sitemapindex", "sitemap"), locations)
}

fn gzip(plain: &str) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    packer.write_all(plain.as_bytes()).expect("memory is there");
    packer.finish().expect("memory is there")
}

impl Crawled {
    fn record(&self, url: &str) -> UrlRecord {
        let fingerprint = self::url(url).fingerprint();
        urls::get(&self.db, fingerprint).expect("reads").expect("it was found")
    }

    fn was_asked(&self, url: &str) -> bool {
        self.fetches(url) > 0
    }

    /// Returns the code for which a URL was refused.
    fn refusal(&self, url: &str) -> String {
        match self.record(url).state {
            UrlState::Refused { reason, .. } => reason,
            state => panic!("{url}: {state:?}"),
        }
    }

    /// Checks that the schedule gate says now of every URL what it said when it was found.
    #[track_caller]
    fn is_explained(&self, world: &World, seeds: &[&str]) {
        let seeds: Vec<CrawlUrl> = seeds.iter().map(|seed| url(seed)).collect();
        let filter = Filter::new(&world.filter, &seeds).expect("settings are right");
        let politeness = Rules::new(world.politeness.clone(), &Default::default());
        let judges = Judges {
            filter: &filter,
            politeness: &politeness,
            dust: &Default::default(),
            enforces: true,
            seeds: &seeds,
            robots: None,
            paused: false,
        };
        let mut rows = Vec::new();
        urls::each(&self.db, |_, record| {
            rows.push(record);
            true
        })
        .expect("the ledger is read");
        for record in rows {
            let said = explain(Some(&self.db), &judges, &url(&record.url), START);
            let gate = said.expect("it is explained").schedule_gate;
            match &record.state {
                UrlState::Refused { reason, .. } if Reason::CODES.contains(&reason.as_str()) => {
                    assert_eq!((gate.accept, &gate.code), (false, reason), "{record:?}");
                }
                _ => assert!(gate.accept, "{record:?}: {gate:?}"),
            }
        }
        let report = verify_state(&self.db, None, 0).expect("the state is read");
        assert_eq!(report.problems, []);
    }
}

/// Returns the line of the crawl log about a page.
fn line_of(world: &World, url: &str) -> Value {
    let files = files(world.logs.path()).expect("there is a log");
    let text: String = files.iter().map(|f| std::fs::read_to_string(f).expect("reads")).collect();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut lines = lines.filter(|line| line["url"] == url);
    lines.next().expect("it was asked for")
}

/// Only what robots.txt named itself, without a redirect, was read as a sitemap whatever its type.
#[tokio::test(start_paused = true)]
async fn a_sitemap_is_read_whatever_its_type_also_behind_an_index_or_a_redirect() {
    let world = empty();
    let crawled = world
        .scripted(Vec::new(), |url| match url.path() {
            "/robots.txt" => robots("Sitemap: /index.xml\nSitemap: /moved.xml\n"),
            "/index.xml" => {
                let list = ["/sitemap-octet.xml.gz", "/urls.txt", "/two.gz", "/none.xml"];
                typed("application/xml", index(&list))
            }
            "/moved.xml" => Page::Moved("/list"),
            "/list" => typed("application/octet-stream", urlset(&["/by-redirect"])),
            "/sitemap-octet.xml.gz" => {
                typed("application/octet-stream", gzip(&urlset(&["/by-octets"])))
            }
            "/urls.txt" => typed("text/plain", "http://a.test/by-text\n"),
            "/two.gz" => typed("application/gzip", gzip(&urlset(&["/by-gzip"]))),
            "/none.xml" => typed("image/png", b"\x89PNG http://a.test/no".to_vec()),
            _ => Page::Missing,
        })
        .await;
    for page in ["redirect", "octets", "text", "gzip"] {
        assert!(crawled.was_asked(&format!("http://a.test/by-{page}")), "{:?}", crawled.asked);
    }
    crawled.is_explained(&world, &["http://a.test/"]);
}

/// Read as sitemaps, all texts that one lists would be searched for URLs.
#[tokio::test(start_paused = true)]
async fn what_a_sitemap_lists_is_a_page() {
    let crawled = empty()
        .scripted(Vec::new(), |url| match url.path() {
            "/robots.txt" => robots("Sitemap: /sitemap.xml\n"),
            "/sitemap.xml" => typed("application/xml", urlset(&["/readme"])),
            "/readme" => typed("text/plain", "http://a.test/no-link\n"),
            _ => Page::Missing,
        })
        .await;
    assert!(crawled.was_asked("http://a.test/readme"));
    assert!(!crawled.was_asked("http://a.test/no-link"));
}

/// The limit of pages held for sitemaps too, which are longer and have a limit of their own.
#[tokio::test(start_paused = true)]
async fn a_sitemap_is_read_though_a_page_of_its_length_would_not_be() {
    let mut world = empty();
    world.filter.extract_bytes_max = ByteSize::kib(1);
    let pages: Vec<String> = (0..100).map(|n| format!("/listed/{n}")).collect();
    let crawled = world
        .scripted(Vec::new(), move |url| match url.path() {
            "/" => Page::Html("<a href=/long>long</a><a href=/linked.xml>list</a>".to_owned()),
            "/robots.txt" => robots("Sitemap: /sitemap.xml\n"),
            "/sitemap.xml" | "/linked.xml" => {
                let list: Vec<String> =
                    pages.iter().map(|p| format!("{p}{}", url.path())).collect();
                let list: Vec<&str> = list.iter().map(String::as_str).collect();
                typed("application/xml", urlset(&list))
            }
            "/long" => Page::text("long", &["/behind-long"]),
            _ => Page::Missing,
        })
        .await;
    let listed = |list: &str| crawled.asked.iter().filter(|url| url.ends_with(list)).count();
    assert_eq!((listed("/sitemap.xml"), listed("/linked.xml")), (101, 101));
    assert!(!crawled.was_asked("http://a.test/behind-long"));
}

/// A redirect of what a page needs met the gate of pages, and was out of scope.
#[tokio::test(start_paused = true)]
async fn what_a_page_needs_is_followed_through_redirects_out_of_scope_and_a_page_is_not() {
    let world = empty();
    let crawled = world
        .scripted(Vec::new(), |url| match url.as_str() {
            "http://a.test/" => Page::Html("<img src=/i.png><a href=/p>p</a>".to_owned()),
            "http://a.test/i.png" => Page::Moved("http://cdn.test/1"),
            "http://cdn.test/1" => Page::Moved("http://img.test/2"),
            "http://img.test/2" => typed("text/css", "@import '/3.css';"),
            "http://img.test/3.css" => Page::Moved("/4.css"),
            "http://img.test/4.css" => typed("text/css", "@import 'http://x.test/5.css';"),
            "http://a.test/p" => Page::Moved("http://b.test/p"),
            _ => Page::Missing,
        })
        .await;
    assert!(crawled.was_asked("http://img.test/2"), "{:?}", crawled.asked);
    assert!(crawled.was_asked("http://x.test/5.css"), "{:?}", crawled.asked);
    assert_eq!(crawled.refusal("http://b.test/p"), "out-of-scope");
    crawled.is_explained(&world, &["http://a.test/"]);
}

/// Each embed behind a redirect began to be counted anew: a chain of them would have no end.
#[tokio::test(start_paused = true)]
async fn embeds_in_a_row_are_counted_over_redirects() {
    let world = empty();
    let crawled = world
        .scripted(Vec::new(), |url| match url.path() {
            "/" => Page::Html("<link rel=stylesheet href=/m/0>".to_owned()),
            "/robots.txt" => Page::Missing,
            path if path.starts_with("/m/") => {
                let number: u32 = path[3..].parse().unwrap_or(0);
                let to: &'static str =
                    ["/s/0", "/s/1", "/s/2", "/s/3", "/s/4", "/s/5", "/s/6"][(number % 7) as usize];
                Page::Moved(to)
            }
            path => {
                let number: u32 = path[3..].parse().unwrap_or(0);
                typed("text/css", format!("@import '/m/{}';", number + 1))
            }
        })
        .await;
    assert!(crawled.was_asked("http://a.test/s/4"), "{:?}", crawled.asked);
    assert!(!crawled.was_asked("http://a.test/m/5"), "{:?}", crawled.asked);
    assert_eq!(crawled.refusal("http://a.test/m/5"), "embed-too-deep");
    crawled.is_explained(&world, &["http://a.test/"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_body_leads_on_by_its_headers() {
    let crawled = empty()
        .scripted(Vec::new(), |url| match url.path() {
            "/" => Page::Html("<a href=/refresh>r</a><a href=/link>l</a>".to_owned()),
            "/refresh" => said(200, &[("refresh", b"0; url=/next")], ""),
            "/link" => said(200, &[("link", b"</linked>; rel=next")], ""),
            _ => Page::Missing,
        })
        .await;
    assert!(crawled.was_asked("http://a.test/next"), "{:?}", crawled.asked);
    assert!(crawled.was_asked("http://a.test/linked"), "{:?}", crawled.asked);
}

/// The bytes were replaced by U+FFFD, and another URL was asked for.
#[tokio::test(start_paused = true)]
async fn headers_that_are_not_utf_8_lead_where_their_bytes_say() {
    let crawled = empty()
        .scripted(Vec::new(), |url| match url.path() {
            "/" => Page::Html("<a href=/to>t</a><a href=/utf>u</a>".to_owned()),
            "/robots.txt" => said(301, &[("location", b"/r\xf6bots.txt")], ""),
            "/to" => said(302, &[("location", b"/caf\xe9?\xfc")], ""),
            "/utf" => said(302, &[("location", "/café".as_bytes())], ""),
            "/caf%E9" => said(
                200,
                &[("refresh", b"0;url=/refr\xe9sh"), ("link", b"</l\xefnk>; rel=next")],
                "text",
            ),
            _ => Page::Missing,
        })
        .await;
    for path in ["/r%F6bots.txt", "/caf%E9?%FC", "/caf%C3%A9", "/refr%E9sh", "/l%EFnk"] {
        assert!(crawled.was_asked(&format!("http://a.test{path}")), "{path}: {:?}", crawled.asked);
    }
}

/// A link that a page refreshes to as well counted as a redirect only, and the chain ended.
#[tokio::test(start_paused = true)]
async fn slides_that_refresh_to_the_next_are_fetched_to_the_last() {
    let world = empty();
    let crawled = world
        .scripted(Vec::new(), |url| {
            let number: usize = url.path().trim_start_matches('/').parse().unwrap_or(0);
            if url.path() == "/robots.txt" || number > 40 {
                return Page::Missing;
            }
            let next = format!("/{}", number + 1);
            let Page::Html(html) = Page::text(&format!("slide {number}"), &[&next]) else {
                return Page::Missing;
            };
            Page::Html(format!("<meta http-equiv=refresh content='5;url={next}'>{html}"))
        })
        .await;
    assert!(crawled.was_asked("http://a.test/40"), "{:?}", crawled.asked);
    // What would be one redirect too many is a link.
    let path = |number: u32| crawled.record(&format!("http://a.test/{number}")).path;
    assert_eq!((path(20), path(21)), ("R".repeat(20), "R".repeat(20) + "L"));
    crawled.is_explained(&world, &["http://a.test/"]);
}

/// Without embeds, pages were dropped as well that their page also shows.
#[tokio::test(start_paused = true)]
async fn a_page_that_is_also_shown_is_followed_where_embeds_are_not() {
    let mut world = empty();
    world.filter.embeds = Embeds::None;
    let crawled = world
        .scripted(Vec::new(), |url| match url.path() {
            "/" => Page::Html(
                "<a href=/photo.jpg><img src=/photo.jpg></a><img src=/only.png>\
                 <iframe src=/frame></iframe><a href=/frame>frame</a>\
                 <a rel=nofollow href=/no.jpg><img src=/no.jpg></a>"
                    .to_owned(),
            ),
            _ => Page::Missing,
        })
        .await;
    assert!(crawled.was_asked("http://a.test/photo.jpg"), "{:?}", crawled.asked);
    assert!(crawled.was_asked("http://a.test/frame"), "{:?}", crawled.asked);
    for refused in ["http://a.test/only.png", "http://a.test/no.jpg"] {
        assert_eq!(crawled.refusal(refused), "embed-out-of-scope");
    }
    crawled.is_explained(&world, &["http://a.test/"]);
}

/// A seed need not match `only`; where it redirects, the crawl ended with it.
#[tokio::test(start_paused = true)]
async fn what_a_seed_redirects_to_need_not_match_only() {
    let mut world = empty();
    world.filter.only = vec!["http://www.a.test/docs/".to_owned()];
    let crawled = world
        .scripted(Vec::new(), |url| match url.as_str() {
            "http://a.test/" => Page::Moved("http://www.a.test/"),
            "http://www.a.test/" => Page::text("home", &["/docs/x", "/other", "/back"]),
            "http://www.a.test/docs/x" => Page::text("x", &["/moved"]),
            _ => Page::Missing,
        })
        .await;
    assert!(crawled.was_asked("http://www.a.test/docs/x"), "{:?}", crawled.asked);
    assert_eq!(crawled.refusal("http://www.a.test/other"), "not-in-only");
    crawled.is_explained(&world, &["http://a.test/", "http://www.a.test/"]);
}

/// Returns a site whose pages only its sitemap names.
fn listed(url: &CrawlUrl) -> Page {
    match url.as_str() {
        "http://a.test/robots.txt" => {
            robots("Sitemap: /index.xml\nSitemap: http://b.test/s.xml\nSitemap: /bad.xml\n")
        }
        "http://a.test/index.xml" => {
            typed("text/xml", index(&["/sm/1.xml", "http://b.test/1.xml", "/sm/2.xml"]))
        }
        "http://a.test/sm/1.xml" => typed("text/xml", urlset(&["/docs/a", "/other/b"])),
        "http://a.test/sm/2.xml" => Page::Moved("/sm/3"),
        "http://a.test/sm/3" => typed("text/xml", urlset(&["/docs/c"])),
        "http://a.test/docs/" => Page::text("docs", &["/sitemap-page.xml"]),
        _ => Page::Missing,
    }
}

/// The sitemap lies at the root, so that it was refused with all that it lists.
#[tokio::test(start_paused = true)]
async fn the_sitemap_of_a_host_in_scope_is_read_wherever_it_lies() {
    for (scope, only) in [(Scope::Prefix, ""), (Scope::Host, "http://a.test/docs/")] {
        let mut world = empty();
        world.filter.exclude = vec!["regex:bad".to_owned()];
        world.filter.scope = scope;
        world.filter.only = only.split_whitespace().map(str::to_owned).collect();
        let from = seed("http://a.test/docs/", None);
        let crawled = world.scripted_from(from, Vec::new(), listed).await;
        for page in ["http://a.test/docs/a", "http://a.test/docs/c"] {
            assert!(crawled.was_asked(page), "{scope:?}: {:?}", crawled.asked);
        }
        for page in ["http://a.test/other/b", "http://a.test/sitemap-page.xml"] {
            assert!(!crawled.was_asked(page), "{scope:?}: {:?}", crawled.asked);
        }
        assert!(!crawled.was_asked("http://b.test/s.xml"));
        assert!(!crawled.was_asked("http://b.test/1.xml"));
        assert_eq!(crawled.refusal("http://a.test/bad.xml"), "excluded");
        crawled.is_explained(&world, &["http://a.test/docs/"]);
    }
}

/// The seed's own depth was counted from the crawl's limit: without one, `hops` meant nothing, and
/// with one the seed was fetched late.
#[tokio::test(start_paused = true)]
async fn a_seed_with_few_hops_begins_at_depth_0_whatever_the_limit_of_the_crawl() {
    for limit in [0, 100] {
        let mut world = empty();
        world.filter.hops_max = limit;
        let crawled = world
            .scripted_from(seed("http://a.test/", Some(1)), Vec::new(), |url| match url.path() {
                "/" => Page::Moved("/home"),
                "/home" => Page::text("home", &["/1"]),
                "/1" => {
                    let Page::Html(html) = Page::text("one", &["/2"]) else {
                        return Page::Missing;
                    };
                    Page::Html(html + "<img src=/i.png>")
                }
                _ => Page::Missing,
            })
            .await;
        assert!(crawled.was_asked("http://a.test/1"), "{limit}: {:?}", crawled.asked);
        assert!(crawled.was_asked("http://a.test/i.png"), "{limit}: {:?}", crawled.asked);
        assert_eq!(crawled.refusal("http://a.test/2"), "too-many-hops", "{limit}");
        let hops = |url: &str| crawled.record(url).hops;
        assert_eq!((hops("http://a.test/"), hops("http://a.test/1")), (0, 1), "{limit}");
        crawled.is_explained(&world, &["http://a.test/"]);
    }
    let world = empty();
    let from = seed("http://a.test/", Some(0));
    let home = |url: &CrawlUrl| match url.path() {
        "/" => Page::text("home", &["/1"]),
        _ => Page::Missing,
    };
    let crawled = world.scripted_from(from, Vec::new(), home).await;
    assert_eq!(crawled.refusal("http://a.test/1"), "too-many-hops");
}

/// The first depth held: what a fast host had found far away stayed there, and so did all behind
/// it, when a slow one led to it at once.
#[tokio::test(start_paused = true)]
async fn a_page_that_is_found_nearer_later_leads_as_far_as_from_there() {
    for (limit, last, beyond) in [(2, "/2", "/3"), (3, "/3", "/4")] {
        let mut world = empty();
        world.filter.hops_max = limit;
        let seeds = ["http://a.test/", "http://slow.test/"];
        let from = seeds.map(|text| seed(text, None)).to_vec();
        let crawled = world
            .scripted_at(START, from, Vec::new(), |url| match (url.host_str(), url.path()) {
                ("slow.test", "/robots.txt") => robots("User-agent: *\nCrawl-delay: 60\n"),
                ("slow.test", "/") => Page::text("slow", &["http://a.test/hub"]),
                ("a.test", "/") => Page::text("home", &["/way"]),
                ("a.test", "/way") => Page::text("way", &["/hub"]),
                ("a.test", "/hub") => Page::text("hub", &["/2"]),
                ("a.test", "/2") => Page::text("two", &["/3"]),
                ("a.test", "/3") => Page::text("three", &["/4"]),
                _ => Page::Missing,
            })
            .await;
        let at = |url: &str| crawled.asked.iter().position(|asked| asked == url);
        assert!(at("http://a.test/hub") < at("http://slow.test/"), "{:?}", crawled.asked);
        assert!(crawled.was_asked(&format!("http://a.test{last}")), "{:?}", crawled.asked);
        assert_eq!(crawled.record(&format!("http://a.test{last}")).hops, limit);
        assert_eq!(crawled.record("http://a.test/hub").hops, 1);
        assert_eq!(crawled.refusal(&format!("http://a.test{beyond}")), "too-many-hops");
        crawled.is_explained(&world, &seeds);
    }
}

/// The limit of a seed held also for those who came to it from another one.
#[tokio::test(start_paused = true)]
async fn a_seed_with_few_hops_is_no_end_for_who_comes_from_another_seed() {
    let both = [("http://a.test/news", Some(0)), ("http://a.test/", None)];
    for order in [[0, 1], [1, 0]] {
        let world = empty();
        let seeds = order.map(|n| both[n]);
        let from = seeds.map(|(text, hops_max)| seed(text, hops_max)).to_vec();
        let crawled = world
            .scripted_at(START, from, Vec::new(), |url| match url.path() {
                "/" => Page::text("home", &["/news"]),
                "/news" => Page::text("news", &["/story"]),
                "/story" => Page::text("story", &[]),
                _ => Page::Missing,
            })
            .await;
        assert!(crawled.was_asked("http://a.test/story"), "{:?}", crawled.asked);
        assert_eq!(crawled.fetches("http://a.test/news"), 1, "{:?}", crawled.asked);
        crawled.is_explained(&world, &seeds.map(|(text, _)| text));
    }
}

/// Links that a seed's limit had refused stayed refused when the limit was taken away, or when the
/// page that led to them was made a seed itself.
#[tokio::test(start_paused = true)]
async fn what_other_seeds_bring_near_enough_comes_back() {
    let script = |url: &CrawlUrl| match url.path() {
        "/" => Page::text("home", &["/1"]),
        "/1" => Page::text("one", &["/2"]),
        "/2" => Page::text("two", &[]),
        _ => Page::Missing,
    };
    let later = START.plus(std::time::Duration::from_secs(3600));
    for next in [seed("http://a.test/", None), seed("http://a.test/1", Some(1))] {
        let world = empty();
        let first = vec![seed("http://a.test/", Some(1))];
        let first = world.scripted_at(START, first, Vec::new(), script).await;
        assert_eq!(first.refusal("http://a.test/2"), "too-many-hops");
        drop(first);
        let second = world.scripted_at(later, vec![next], Vec::new(), script).await;
        assert!(second.was_asked("http://a.test/2"), "{:?}", second.asked);
        assert!(!second.was_asked("http://a.test/1"), "{:?}", second.asked);
        second.is_explained(&world, &["http://a.test/"]);
    }
}

/// Behind a redirect to another host it was forgotten from which page robots.txt was asked for:
/// what the file names had no limit.
#[tokio::test(start_paused = true)]
async fn a_seed_with_few_hops_holds_for_sitemaps_of_a_robots_txt_that_lies_elsewhere() {
    for (hops_max, is_asked) in [(Some(0), false), (Some(1), true)] {
        let world = empty();
        let from = seed("http://a.test/", hops_max);
        let crawled = world
            .scripted_from(from, Vec::new(), |url| match (url.host_str(), url.path()) {
                ("a.test", "/robots.txt") => Page::Moved("http://b.test/robots.txt"),
                ("b.test", "/robots.txt") => robots("Sitemap: http://a.test/sm.xml\n"),
                ("a.test", "/") => Page::text("home", &[]),
                ("a.test", "/sm.xml") => typed("text/xml", urlset(&["http://a.test/listed"])),
                _ => Page::Missing,
            })
            .await;
        assert!(crawled.was_asked("http://b.test/robots.txt"), "{:?}", crawled.asked);
        let sitemap = "http://a.test/sm.xml";
        assert_eq!(crawled.was_asked(sitemap), is_asked, "{:?}", crawled.asked);
        let refused = if is_asked { "http://a.test/listed" } else { sitemap };
        assert_eq!(crawled.refusal(refused), "too-many-hops");
    }
}

/// The directives of a page were read only where its links were looked for.
#[tokio::test(start_paused = true)]
async fn a_page_that_says_noarchive_is_obeyed_also_where_no_links_are_looked_for() {
    const SAYS: &str = "<meta name=robots content=noarchive><a href=/hidden>x</a>";
    let mut world = empty();
    world.filter.extract_bytes_max = ByteSize::kib(1);
    let crawled = world
        .scripted(Vec::new(), |url| match url.path() {
            "/" => Page::Html("<a href=/error>e</a><a href=/long>l</a>".to_owned()),
            "/error" => Page::Denied(SAYS.to_owned()),
            "/long" => Page::Html(format!("{SAYS}{}", " ".repeat(2000))),
            _ => Page::Missing,
        })
        .await;
    let archived = world.store.urls();
    for page in ["http://a.test/error", "http://a.test/long"] {
        assert!(crawled.was_asked(page));
        assert!(!archived.contains(page), "{archived:?}");
    }
    assert!(!crawled.was_asked("http://a.test/hidden"));
}

/// What was not searched, or not kept, was so in silence.
#[tokio::test(start_paused = true)]
async fn the_log_says_what_was_left_out_of_a_page() {
    let world = empty();
    world
        .scripted(Vec::new(), |url| match url.path() {
            "/" => Page::Html(format!("<img src=/i.png><a href=/{}>x</a>", "x".repeat(9000))),
            "/robots.txt" => robots("Sitemap: /sitemap.xml\n"),
            "/sitemap.xml" => typed("text/xml", "<urlset><url><loc>/a</loc></url><url><loc"),
            "/i.png" => typed("image/png", "png"),
            _ => Page::Missing,
        })
        .await;
    let home = line_of(&world, "http://a.test/");
    assert_eq!((&home["links_dropped"], &home["not_extracted"]), (&1.into(), &Value::Null));
    let image = line_of(&world, "http://a.test/i.png");
    assert_eq!(image["not_extracted"], "type-not-extracted");
    assert_eq!(image["links_dropped"], Value::Null);
    let sitemap = line_of(&world, "http://a.test/sitemap.xml");
    assert!(sitemap["problem"].is_string(), "{sitemap}");
    assert_eq!(home["problem"], Value::Null);
}
