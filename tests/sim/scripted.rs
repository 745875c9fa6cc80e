//! Crawls of webs whose every answer is written down in the test, under rules that are given.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crawler::clock::{Clock, Timestamp};
use crawler::crawl::explain::{Judges, explain};
use crawler::crawl::parked::parked_parts;
use crawler::crawl::{Crawl, Edge, Options, SeedUrl, State, Summary};
use crawler::db::Db;
use crawler::db::families::urls;
use crawler::dns::{DnsFailure, Resolve, Resolved};
use crawler::dust::{Rule, RuleKind, RuleSet, Scope, Source};
use crawler::fetch::{
    Answer, Failed, Failure, Fetch, HttpVersion, Outcome, Request, Timing, Truncated,
};
use crawler::filter::Filter;
use crawler::frontier::{Rules, UrlState};
use crawler::url::{CrawlUrl, Host};
use tokio::sync::mpsc;

use super::{Crash, START, World, balanced};

/// One answer.
pub(super) enum Page {
    /// 200 with this body.
    Html(String),
    /// 200 with the beginning of this body: then the connection breaks.
    Cut(String),
    /// 302 to this place.
    Moved(&'static str),
    /// 403 with this body.
    Denied(String),
    /// 404.
    Missing,
    /// The connection breaks.
    Broken,
    /// Our own machine fails.
    Ours,
    /// The server wants to be asked less.
    Calm,
    /// This status with these header fields, the type among them, and this body.
    Said(u16, Vec<(&'static str, &'static [u8])>, Vec<u8>),
}

impl Page {
    /// Returns a redirect to this place.
    pub(super) fn moved(to: String) -> Page {
        Page::Moved(to.leak())
    }

    /// Returns a page of the text that `seed` says, 200 words long, with these links.
    pub(super) fn text(seed: &str, links: &[&str]) -> Page {
        let mut text = String::new();
        for n in 0..200 {
            let word = xxhash_rust::xxh3::xxh3_64(format!("{seed} {n}").as_bytes());
            text.push_str(&format!("w{word:x} "));
        }
        let links = links.iter().map(|to| format!("<p><a href=\"{to}\">to {to}</a></p>"));
        let links = links.collect::<String>();
        Page::Html(format!("<!doctype html><title>{seed}</title><p>{text}</p>{links}"))
    }
}

type Script = Box<dyn Fn(&CrawlUrl) -> Page + Send + Sync>;

/// The web: it answers at once, and remembers what it was asked for.
#[derive(Clone)]
struct Scripted {
    clock: Arc<Clock>,
    script: Arc<Script>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Resolve for Scripted {
    async fn resolve(&self, _: &Host) -> Result<Resolved, DnsFailure> {
        let addresses = vec![[127, 0, 0, 1].into()];
        let ttl = Duration::from_secs(3600);
        Ok(Resolved { addresses, refused: Vec::new(), ttl, cached: true })
    }

    fn knows(&self, _: &Host, _: Timestamp) -> bool {
        true
    }
}

impl Scripted {
    fn failed(&self, failure: Failure) -> Outcome {
        Outcome::Failed(Failed {
            failure,
            detail: "as the script says".to_owned(),
            began: self.clock.now(),
            took: Duration::ZERO,
            address: None,
            request_block: None,
            received: bytes::Bytes::new(),
        })
    }
}

impl Fetch for Scripted {
    async fn fetch(&self, request: Request) -> Outcome {
        let page = (self.script)(&request.url);
        self.asked.lock().expect("nobody breaks here").push(request.url.to_string());
        let truncated = matches!(page, Page::Cut(_)).then_some(Truncated::Disconnect);
        let html = vec![("content-type", &b"text/html"[..])];
        let moved = |to: &'static str| [html.clone(), vec![("location", to.as_bytes())]].concat();
        let (status, fields, body) = match page {
            Page::Html(body) => (200, html, body.into_bytes()),
            Page::Cut(body) => (200, html, body.as_bytes()[..body.len() / 2].to_vec()),
            Page::Moved(to) => (302, moved(to), Vec::new()),
            Page::Denied(body) => (403, html, body.into_bytes()),
            Page::Missing => (404, html, b"not here".to_vec()),
            Page::Broken => return self.failed(Failure::ClosedEarly),
            Page::Ours => return self.failed(Failure::LocalFailure),
            Page::Calm => return self.failed(Failure::EnhanceYourCalm),
            Page::Said(status, fields, body) => (status, fields, body),
        };
        let mut head = format!("HTTP/1.1 {status} Said\r\n").into_bytes();
        let mut headers = Vec::new();
        for (name, value) in fields {
            head.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
            headers.push((name.to_owned(), bytes::Bytes::from_static(value)));
        }
        head.extend(b"\r\n");
        let (body, target) = (bytes::Bytes::from(body), request.url.path_and_query());
        Outcome::Answer(Box::new(Answer {
            status,
            version: HttpVersion::Http11,
            headers,
            request_block: format!("GET {target} HTTP/1.1\r\n\r\n").into(),
            head_block: head.into(),
            wire_body: body.clone(),
            payload: body.clone(),
            body,
            truncated,
            address: [127, 0, 0, 1].into(),
            tls: None,
            began: self.clock.now(),
            timing: Timing::default(),
            asked_to_sign: false,
        }))
    }
}

/// A crawl that has ended.
pub(super) struct Crawled {
    pub(super) db: Db,
    pub(super) summary: Summary,
    /// URLs in the order in which they were asked for, robots.txt and probes too.
    pub(super) asked: Vec<String>,
}

impl Crawled {
    /// Returns the URL that stands for one, if it is suppressed.
    pub(super) fn hidden_by(&self, url: &str) -> Option<String> {
        let url = CrawlUrl::parse(url).expect("a URL");
        let record = urls::get(&self.db, url.fingerprint()).expect("reads").expect("is known");
        let UrlState::Suppressed { by, .. } = record.state else { return None };
        urls::get(&self.db, by).expect("reads").map(|record| record.url)
    }

    /// Returns how often a URL was asked for.
    pub(super) fn fetches(&self, url: &str) -> usize {
        self.asked.iter().filter(|asked| *asked == url).count()
    }
}

/// Returns a rule of a.test.
pub(super) fn drop_parameter(name: &str) -> Rule {
    let kind = RuleKind::drop(vec![name.to_owned()], None);
    let site = CrawlUrl::parse("http://a.test/").expect("a URL").site();
    Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO)
}

impl World {
    /// Crawls from `http://a.test/` what `script` answers, under these rules alone.
    pub(super) async fn scripted(
        &self,
        rules: Vec<Rule>,
        script: impl Fn(&CrawlUrl) -> Page + Send + Sync + 'static,
    ) -> Crawled {
        let home = CrawlUrl::parse("http://a.test/").expect("a URL");
        let seed = SeedUrl { url: home, priority: None, hops_max: None };
        self.scripted_from(seed, rules, script).await
    }

    /// Crawls in the same way from another seed.
    pub(super) async fn scripted_from(
        &self,
        seed: SeedUrl,
        rules: Vec<Rule>,
        script: impl Fn(&CrawlUrl) -> Page + Send + Sync + 'static,
    ) -> Crawled {
        self.scripted_at(START, vec![seed], rules, script).await
    }

    /// Crawls in the same way from these seeds, from that time on.
    pub(super) async fn scripted_at(
        &self,
        start: Timestamp,
        seeds: Vec<SeedUrl>,
        rules: Vec<Rule>,
        script: impl Fn(&CrawlUrl) -> Page + Send + Sync + 'static,
    ) -> Crawled {
        let clock = Arc::new(Clock::starting_at(start));
        let asked = Arc::default();
        let web = Scripted { clock: clock.clone(), script: Arc::new(Box::new(script)), asked };
        let homes: Vec<CrawlUrl> = seeds.iter().map(|seed| seed.url.clone()).collect();
        let filter = Filter::new(&self.filter, &homes).expect("settings are right");
        let parts = self.parts(filter, start);
        let rules = rules.into_iter().map(Arc::new).collect();
        parts.rules.publish(RuleSet::compile(1, rules, 0.0).expect("rules are right"));
        let (state, _) = State::open(parts, start).expect("opens");
        self.store.resume(&state.archive_position(), Crash::Never);
        let (resolve, fetch) = (web.clone(), web.clone());
        let edge = Arc::new(Edge { clock, resolve, fetch, store: self.store.clone() });
        let mut crawl = Crawl::new(edge, state, Options::new(tokio::runtime::Handle::current()));
        let summary = crawl.run(&seeds, mpsc::channel(1).1).await.expect("no failure of our own");
        drop(crawl);
        balanced(&summary);
        let asked = web.asked.lock().expect("nobody breaks here").clone();
        Crawled { db: self.state(), summary, asked }
    }
}

pub(super) fn empty() -> World {
    World::new(crawler::demo::WebSpec::new(1, Vec::new()))
}

/// Who was excluded was still asked, wherever the robots.txt of another host led.
#[tokio::test(start_paused = true)]
async fn a_robots_txt_leads_to_no_host_that_is_excluded() {
    for (exclude, fetches) in [("b.test", 0), (r"regex:\.txt$", 1)] {
        let mut world = empty();
        world.filter.exclude = vec![exclude.to_owned()];
        let crawled = world
            .scripted(Vec::new(), |url| match url.as_str() {
                "http://a.test/robots.txt" => Page::Moved("http://b.test/any/robots.txt"),
                "http://a.test/" => Page::text("home", &[]),
                _ => Page::Missing,
            })
            .await;
        assert_eq!(crawled.fetches("http://b.test/any/robots.txt"), fetches, "{exclude}");
        assert_eq!(crawled.fetches("http://a.test/"), fetches, "{exclude}");
    }
}

/// A form to log in for each of hundreds of items was fetched to the last, since ever fewer waited.
#[tokio::test(start_paused = true)]
async fn the_wall_that_items_lead_to_is_left_out_in_time_and_the_items_are_not() {
    let crawled = empty()
        .scripted(Vec::new(), |url| match url.path() {
            "/" => {
                let items = (0..400).map(|n| format!("/item/{n}"));
                let links: Vec<String> =
                    items.chain((0..40).map(|n| format!("/open/{n}"))).collect();
                Page::text("home", &links.iter().map(String::as_str).collect::<Vec<_>>())
            }
            path if path.starts_with("/item/") => Page::moved(format!("/login?next={path}")),
            "/login" => Page::Html(
                "<!doctype html><title>Log in</title><h1>Log in</h1><form method=post>\
                 <p>User name <input name=user> Password <input type=password name=pass>\
                 <button>Log in</button></form>"
                    .to_owned(),
            ),
            path if path.starts_with("/open/") => Page::text(path, &[]),
            _ => Page::Missing,
        })
        .await;
    let of = |part: &str| crawled.asked.iter().filter(|url| url.contains(part)).count();
    let once = |place: &str, all: u32| {
        let all = (0..all).map(|n| format!("http://a.test/{place}/{n}"));
        all.filter(|url| crawled.fetches(url) == 1).count()
    };
    assert_eq!((once("item", 400), once("open", 40)), (400, 40));
    assert!((27..60).contains(&of("/login?")), "{} of 400", of("/login?"));
}

/// The plain form was suppressed in favour of a URL that waited, and that redirected to it.
#[tokio::test(start_paused = true)]
async fn a_page_is_fetched_though_what_redirects_to_it_was_found_first() {
    let crawled = empty()
        .scripted(vec![drop_parameter("sid")], |url| match url.path_and_query() {
            "/" => Page::text("home", &["/p?sid=1", "/p"]),
            "/p?sid=1" => Page::Moved("/p"),
            "/p" => Page::text("page", &[]),
            _ => Page::Missing,
        })
        .await;
    assert_eq!(crawled.hidden_by("http://a.test/p"), None);
    assert_eq!(crawled.fetches("http://a.test/p"), 1);
    assert_eq!(crawled.summary.counters.queued, 0);
}

/// An old session leads to the front page, any other one to what was asked for: the rule is right,
/// and the page was lost.
#[tokio::test(start_paused = true)]
async fn what_leads_elsewhere_stands_for_no_other_form() {
    let crawled = empty()
        .scripted(vec![drop_parameter("sid")], |url| match url.path_and_query() {
            "/" => Page::text("home", &["/p?sid=old", "/1"]),
            "/1" => Page::text("first", &["/p?sid=a", "/p?sid=b", "/2"]),
            "/2" => Page::text("second", &["/p?sid=c", "/p?sid=d"]),
            "/p?sid=old" => Page::Moved("/"),
            url if url.starts_with("/p?") => Page::text("page", &[]),
            _ => Page::Missing,
        })
        .await;
    let forms = ["a", "b", "c", "d"].map(|sid| format!("http://a.test/p?sid={sid}"));
    let hidden = forms.iter().filter(|url| crawled.hidden_by(url).is_some()).count();
    // One is the page, and the one that was suppressed last is a measure of the rule.
    assert_eq!(hidden, 2, "{:?}", crawled.asked);
    assert_eq!(forms.iter().map(|url| crawled.fetches(url)).sum::<usize>(), 2);
}

/// Crawls pages of which each is found under an old session first, where the server fails in this
/// way, and under four others later; returns how many of the eight were fetched under any of those.
async fn fetched_in_spite_of(failure: fn(&str) -> Page) -> usize {
    const PAGES: usize = 8;
    let forms = |page: usize| ["a", "b", "c", "d"].map(|sid| format!("/p{page}?sid={sid}"));
    let mut world = empty();
    world.filter.extract_errors = true;
    let crawled = world
        .scripted(vec![drop_parameter("sid")], move |url| match url.path_and_query() {
            "/" => {
                let old = (0..PAGES).map(|page| format!("/p{page}?sid=old"));
                let links: Vec<String> = old.chain(["/1".to_owned()]).collect();
                Page::text("home", &links.iter().map(String::as_str).collect::<Vec<_>>())
            }
            "/1" => {
                let links: Vec<String> = (0..PAGES).flat_map(forms).collect();
                Page::text("first", &links.iter().map(String::as_str).collect::<Vec<_>>())
            }
            target if target.ends_with("?sid=old") => failure(url.path()),
            target if target.starts_with("/p") => Page::text(url.path(), &[]),
            _ => Page::Missing,
        })
        .await;
    let is_fetched = |tail: &String| crawled.fetches(&format!("http://a.test{tail}")) > 0;
    (0..PAGES).filter(|page| forms(*page).iter().any(is_fetched)).count()
}

/// A script that died answered 200 with nothing, and that stood for the page under all other
/// sessions; so did the part that came before the connection broke.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_empty_or_cut_off_stands_for_no_other_form() {
    assert_eq!(fetched_in_spite_of(|_| Page::Html(String::new())).await, 8);
    let cut = |path: &str| Page::Cut(format!("<p>{}</p>", title(path).repeat(80)));
    assert_eq!(fetched_in_spite_of(cut).await, 8);
}

/// What a page led to was hidden for that page in the moment in which this came to nothing.
#[tokio::test(start_paused = true)]
async fn what_comes_to_nothing_does_not_stand_for_what_it_leads_to() {
    fn again(path: &str) -> String {
        format!("<a href=\"{path}?sid=a\">log in again</a>")
    }
    assert_eq!(fetched_in_spite_of(|path| Page::Denied(again(path))).await, 8);
    let cut = |path: &str| Page::Cut(format!("{}<p>{}</p>", again(path), title(path).repeat(80)));
    assert_eq!(fetched_in_spite_of(cut).await, 8);
}

/// Each fault of our own machine took one of the tries that a URL has.
#[tokio::test(start_paused = true)]
async fn faults_of_ours_are_no_tries() {
    let asked = AtomicUsize::new(0);
    let crawled = empty()
        .scripted(Vec::new(), move |url| match url.path_and_query() {
            "/" => Page::text("home", &["/p"]),
            "/p" => match asked.fetch_add(1, Ordering::Relaxed) {
                0..4 => Page::Ours,
                4 => Page::Broken,
                _ => Page::text("page", &[]),
            },
            _ => Page::Missing,
        })
        .await;
    assert_eq!(crawled.fetches("http://a.test/p"), 6, "{:?}", crawled.summary.reasons);
    assert_eq!(crawled.summary.counters.failed, 0);
}

/// As a 429 does, and the URL has lost no try by it.
#[tokio::test(start_paused = true)]
async fn a_server_that_wants_calm_has_a_longer_rest_each_time() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let noted = times.clone();
    let crawled = empty()
        .scripted(Vec::new(), move |url| match url.path_and_query() {
            "/" => Page::text("home", &["/p"]),
            "/p" => {
                let mut times = noted.lock().expect("nobody breaks here");
                times.push(tokio::time::Instant::now());
                if times.len() <= 5 { Page::Calm } else { Page::text("page", &[]) }
            }
            _ => Page::Missing,
        })
        .await;
    let times = times.lock().expect("nobody breaks here");
    let rests: Vec<u64> = times.windows(2).map(|two| (two[1] - two[0]).as_secs()).collect();
    assert_eq!(rests, [60, 120, 240, 480, 960], "{:?}", crawled.summary.reasons);
    assert_eq!(crawled.summary.counters.failed, 0);
}

/// A calendar without end beside notes: people could not see what of the host was parked.
#[tokio::test(start_paused = true)]
async fn a_part_that_is_parked_as_a_trap_is_named_with_what_it_holds() {
    const NOTES: usize = 40;
    let world = empty();
    let crawled = world
        .scripted(Vec::new(), |url| {
            let tail = url.path().rsplit('/').next().unwrap_or_default();
            match url.path().split('/').nth(1) {
                Some("") => {
                    let notes = (0..NOTES).map(|n| format!("/notes/{n}")).collect::<Vec<_>>();
                    let mut links: Vec<&str> = notes.iter().map(String::as_str).collect();
                    links.push("/cal2/1");
                    Page::text("home", &links)
                }
                Some("notes") => Page::text(tail, &[]),
                Some("cal2") => {
                    let number: u64 = tail.parse().unwrap_or(0);
                    let next = (0..5).map(|n| format!("/cal2/{}", number * 5 + n));
                    let next = next.collect::<Vec<_>>();
                    let next = next.iter().map(String::as_str).collect::<Vec<_>>();
                    match Page::text("nothing on this day", &[]) {
                        Page::Html(html) => {
                            // No text comes twice, or its links would not be followed.
                            let html = html.replacen("<p>", &format!("<p>{number} "), 1);
                            let links = next.iter().map(|to| format!("<a href='{to}'>go</a> "));
                            Page::Html(html + &links.collect::<String>())
                        }
                        _ => Page::Missing,
                    }
                }
                _ => Page::Missing,
            }
        })
        .await;
    let mut held = Vec::new();
    urls::each(&crawled.db, |_, record| {
        if matches!(&record.state, UrlState::Refused { reason, .. } if reason == "trap") {
            held.push(CrawlUrl::parse(&record.url).expect("the ledger holds URLs"));
        }
        true
    })
    .expect("the ledger is read");
    assert!(held.len() > 20, "{:?}", crawled.summary.reasons);
    let parts = parked_parts(&crawled.db, 10).expect("reads");
    let [part] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!((&*part.host, &*part.part), ("a.test", "/cal#"));
    assert_eq!(part.urls, held.len() as u64);
    assert!(part.reason.contains("had new text"), "{part:?}");

    let filter = Filter::new(&world.filter, &held[..1]).expect("settings are right");
    let politeness = Rules::new(world.politeness.clone(), &Default::default());
    let judges = Judges {
        filter: &filter,
        politeness: &politeness,
        dust: &Default::default(),
        enforces: true,
        seeds: &[],
        robots: None,
        paused: false,
    };
    let said = |url: &str| {
        let url = CrawlUrl::parse(url).expect("a URL");
        explain(Some(&crawled.db), &judges, &url, START).expect("it is explained")
    };
    let known = said(held[0].as_str()).parked_part.expect("it lies in the part");
    assert_eq!((&*known.name, known.urls, known.leaves_out), ("/cal#", part.urls, true));
    assert_eq!((known.since, &known.reason), (Some(part.since), &part.reason));
    assert_eq!(said("http://a.test/notes/1").parked_part, None);
    let mut fetched = Vec::new();
    urls::each(&crawled.db, |_, record| {
        let is_page = record.url.starts_with("http://a.test/cal");
        fetched
            .extend((is_page && matches!(record.state, UrlState::Done(_))).then_some(record.url));
        true
    })
    .expect("the ledger is read");
    assert!(!fetched.is_empty());
    let left_out = |url: &String| said(url).parked_part.is_some_and(|part| part.leaves_out);
    assert_eq!(fetched.iter().find(|url| left_out(url)), None);
    let forecasts = (0..64).map(|n| said(&format!("http://a.test/cal9/{}", u64::MAX - n)));
    for unmet in forecasts {
        let part = unmet.parked_part.expect("it lies in the part, too");
        let forecast = unmet.forecast.expect("it was not met");
        let want = part.leaves_out.then(|| "trap".to_owned());
        assert_eq!(forecast.reason, want, "{}", forecast.why);
    }
}

/// Returns eight words that say what `seed` is.
fn title(seed: &str) -> String {
    let word = |n: u32| xxhash_rust::xxh3::xxh3_64(format!("{seed} {n}").as_bytes());
    (0..8).map(|n| format!("w{:x} ", word(n) >> 40)).collect()
}

/// Software that keeps all it has under one name: lists in every order, posts, and tags that are
/// shown anew for each list. These parked the section, and most posts were never fetched.
#[tokio::test(start_paused = true)]
async fn posts_are_fetched_to_the_last_where_all_else_in_their_section_repeats_itself() {
    const POSTS: usize = 400;
    let crawled = empty()
        .scripted(Vec::new(), |url| {
            let value = |name: &str| {
                let mut pairs = url.as_url().query_pairs();
                pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
            };
            let number = |name: &str| value(name).and_then(|n| n.parse().ok()).unwrap_or(0);
            match url.path() {
                "/" => Page::text("home", &["/admin/post/?page=0"]),
                "/admin/post/details/" => Page::text(&format!("post {}", number("id")), &[]),
                "/admin/tag/details/" => {
                    Page::text(&format!("tag {}", number("id")), &["/admin/post/?page=0"])
                }
                "/admin/post/" => {
                    let (page, sort) = (number("page"), number("sort"));
                    let mut order: Vec<usize> = (0..POSTS).collect();
                    order.sort_by_key(|n| {
                        xxhash_rust::xxh3::xxh3_64(format!("{n} {sort}").as_bytes())
                    });
                    let mut html = "<!doctype html><title>posts</title>".to_owned();
                    let list = |page, sort| format!("/admin/post/?page={page}&sort={sort}");
                    let orders = (0..8).map(|sort| list(0, sort));
                    let tags = (0..40)
                        .map(|tag| format!("/admin/tag/details/?id={tag}&url={page}-{sort}"));
                    let next = (page + 1 < POSTS.div_ceil(5)).then(|| list(page + 1, sort));
                    for to in tags.chain(orders).chain(next) {
                        html.push_str(&format!("<p><a href='{to}'>go</a></p>"));
                    }
                    for n in order.iter().skip(page * 5).take(5) {
                        let title = title(&format!("post {n}"));
                        let to = format!("/admin/post/details/?id={n}&url=list");
                        html.push_str(&format!("<p><a href='{to}'>{title}</a></p>"));
                    }
                    Page::Html(html)
                }
                _ => Page::Missing,
            }
        })
        .await;
    let posts = crawled.asked.iter().filter(|url| url.contains("/post/details/?id="));
    let reasons = &crawled.summary.reasons;
    assert_eq!(posts.count(), POSTS, "{reasons:?}");
    assert!(reasons.contains_key("trap-section-parked"), "{reasons:?}");
}

/// Pages of a form that is the same on all, each leading to a note of its own: the form repeats
/// itself, and what it leads to is new.
#[tokio::test(start_paused = true)]
async fn pages_that_lead_to_new_text_are_fetched_though_they_show_little_of_their_own() {
    const NOTES: usize = 240;
    let crawled = empty()
        .scripted(Vec::new(), |url| {
            let tail = url.path().rsplit('/').next().unwrap_or_default();
            let number: usize = tail.parse().unwrap_or(0);
            match url.path().split('/').nth(1) {
                Some("") => {
                    let lists = (0..NOTES / 10).map(|n| format!("/list/{n}"));
                    let lists = lists.collect::<Vec<_>>();
                    Page::text("home", &lists.iter().map(String::as_str).collect::<Vec<_>>())
                }
                Some("list") => {
                    let of = (0..10).map(|n| number * 10 + n);
                    let of: Vec<String> = of
                        .map(|n| format!("/s/{}", title(&n.to_string()).replace(' ', "")))
                        .collect();
                    let links = of.iter().map(String::as_str).collect::<Vec<_>>();
                    Page::text(&format!("list {number}"), &links)
                }
                Some("s") => {
                    let own = title(tail);
                    let note = format!("/note/{tail}");
                    let Page::Html(form) = Page::text("form", &[&note]) else {
                        return Page::Missing;
                    };
                    Page::Html(form.replace("<title>", &format!("<p>{own}</p><title>")))
                }
                Some("note") => Page::text(tail, &[]),
                _ => Page::Missing,
            }
        })
        .await;
    let notes = crawled.asked.iter().filter(|url| url.contains("/note/")).count();
    assert_eq!(notes, NOTES, "{:?}", crawled.summary.reasons);
}
