//! What each stage costs by itself, on pages as the whole crawl is measured with: `cargo bench
//! --bench micro`; with `--profile dev` and `CARGO_PROFILE_DEV_OPT_LEVEL=3` in the environment it
//! builds faster. `end_to_end -- prices` says what the stages cost together.

#[path = "end_to_end/web.rs"]
#[allow(dead_code, reason = "the server of the benchmark of the whole crawl is not needed here")]
mod web;

use std::hint::black_box;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use crawler::archive::{self, Archive, Capture, Compression};
use crawler::clock::Timestamp;
use crawler::content::{self, Analysis, Block, Content, Room, SiteModel, sketch};
use crawler::db::families::seen;
use crawler::db::{Batch, Db};
use crawler::dust::{Rule, RuleKind, RuleSet, Scope, Source};
use crawler::extract::{self, Extracted, extract};
use crawler::fetch::{Answer, HttpVersion, Outcome, Timing};
use crawler::frontier::{Behaviour, Errand, Frontier, HostId, HostRecord, Next, Place, Rules};
use crawler::frontier::{Standing, Waiting};
use crawler::url::{CrawlUrl, Site};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use web::Shape;

fn main() {
    divan::main();
}

const SHAPE: Shape = Shape { hosts: 1, pages: 100 };

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).expect("a URL of the benchmark")
}

fn extracted(body: &[u8]) -> Extracted {
    let url = url("http://127.1.0.0:8080/news/page.html");
    let content_type = Some("text/html; charset=utf-8");
    let page = extract::Page { url: &url, content_type, link_headers: &[], body };
    extract(&page, &extract::Settings::default())
}

/// Links, text, forms and directives of one page.
#[divan::bench]
fn extract_page(bencher: Bencher<'_, '_>) {
    let pages = web::render(SHAPE);
    let mut next = pages.iter().cycle();
    let bytes: usize = pages.iter().map(Bytes::len).sum();
    bencher.counter(BytesCount::new(bytes / pages.len())).bench_local(|| {
        let body = next.next().expect("a cycle has no end");
        black_box(extracted(body))
    });
}

/// A link as it stands in a page, to normal form.
#[divan::bench]
fn normalize_link(bencher: Bencher<'_, '_>) {
    let base = url("http://127.1.0.0:8080/news/page.html");
    bencher.bench_local(|| base.join(black_box("/reference/api/veritamon-lireso-17.html?id=%7e4")));
}

fn block(block: &extract::TextBlock) -> Block<'_> {
    let (path, link_chars) = (block.path, block.link_chars);
    Block { path, link_chars, ..Block::paragraph(&block.text) }
}

/// Words, main text, digests and sketches of one page, of a site that is still learned.
#[divan::bench]
fn analyse_page(bencher: Bencher<'_, '_>) {
    let page = extracted(&web::render(SHAPE)[7]);
    let blocks: Vec<Block<'_>> = page.blocks.iter().map(block).collect();
    let page =
        content::Page { blocks: &blocks, links: page.links.len(), ..content::Page::default() };
    let (mut content, known) = (Content::default(), SiteModel::default().boilerplate());
    bencher.bench_local(|| content.analyse(black_box(&page), &known));
}

/// What is learned of a site by a page of its sample, with what is published on the way.
#[divan::bench]
fn learn_site(bencher: Bencher<'_, '_>) {
    let mut content = Content::default();
    let analyse = |body: &Bytes| {
        let page = extracted(body);
        let blocks: Vec<Block<'_>> = page.blocks.iter().map(block).collect();
        let page =
            content::Page { blocks: &blocks, links: page.links.len(), ..content::Page::default() };
        content.analyse(&page, &SiteModel::default().boilerplate())
    };
    let pages: Vec<Analysis> = web::render(SHAPE).iter().map(analyse).collect();
    bencher.counter(ItemsCount::new(pages.len())).bench_local(|| {
        let mut model = SiteModel::default();
        for page in &pages {
            model.observe(page, &content::Settings::default(), Room::Ample);
        }
        model
    });
}

/// Both sketches of the shingles of 1,400 words.
#[divan::bench]
fn sketch_shingles(bencher: Bencher<'_, '_>) {
    let text: Vec<String> = (0..1_400).map(|n| format!("word{}", n * 7919 % 5_003)).collect();
    let shingles = content::shingles(&text.join(" "), 4);
    bencher.bench_local(|| sketch(black_box(&shingles)));
}

/// The seen test of the 40 links of a page where 200,000 URLs are known: per link, all known or
/// none.
#[divan::bench(args = [true, false])]
fn seen_test(bencher: Bencher<'_, '_>, known: bool) {
    const HOSTS: u32 = 2_000;
    let link = |n: u32| url(&format!("http://h{}.example/page-{n}.html", n % HOSTS)).fingerprint();
    let dir = tempfile::tempdir().expect("a directory");
    let db = Db::open(dir.path(), &Default::default()).expect("opens");
    for first in (0..200_000).step_by(1_000) {
        let mut batch = Batch::default();
        for n in first..first + 1_000 {
            seen::put_itself(&mut batch, &db, link(n), (1 + (n % 3) as u16, None));
        }
        db.commit(batch).expect("commits");
    }
    let mut page = 0;
    bencher.counter(ItemsCount::new(40u32)).bench_local(|| {
        page += 1;
        let first = page * 7919 % HOSTS + if known { 0 } else { 1_000_000 };
        let mut keys: Vec<_> = (0..40).map(|nth| link(first + HOSTS * nth)).collect();
        keys.sort_unstable();
        seen::get_many(&db, &keys).expect("answers")
    });
}

/// Ten thousand hosts with a back queue each: the decision what is next, and the lease's end.
#[divan::bench]
fn frontier_lease(bencher: Bencher<'_, '_>) {
    const HOSTS: u32 = 10_000;
    let mut now = Timestamp::from_millis(1_800_000_000_000);
    let rules = Rules::new(Default::default(), &Default::default());
    let settings =
        crawler::frontier::Settings { back_queues: HOSTS as usize, ..Default::default() };
    let mut frontier = Frontier::new(settings, rules, now);
    let place = |serial| Place { priority: 3, serial };
    for id in 0..HOSTS {
        let name = crawler::url::Host::new(&format!("h{id}.example"));
        let mut record = HostRecord::new(HostId(id), name);
        record.queued = 1 << 40;
        record.standing = Standing::InLine(place(u64::from(id)));
        frontier.ticket_added(3);
        frontier.activate(record, place(u64::from(id)));
    }
    let mut serial = u64::from(HOSTS);
    bencher.bench_local(|| {
        loop {
            match frontier.next(now) {
                Next::Fetch(lease) => {
                    let took = Duration::from_millis(50);
                    let ended = now.plus(took);
                    black_box(frontier.finish(lease, Behaviour::Good { took }, now, ended));
                    break;
                }
                Next::Fill(host) => {
                    let row = |serial| Waiting {
                        place: place(serial),
                        url: url(&format!("http://h{}.example/{serial}", host.0)),
                        fingerprint: crawler::url::Fingerprint(u128::from(serial)),
                        path: "LL".to_owned(),
                        via: None,
                        hops: 2,
                        hops_max: None,
                        attempts: 0,
                        busy: 0,
                        errand: Errand::Page,
                    };
                    let rows: Vec<Waiting> = (serial..serial + 32).map(row).collect();
                    let places: Vec<_> = rows.iter().map(|row| row.place).collect();
                    frontier.fill(host, &places, rows, true);
                    serial += 32;
                }
                Next::Wait(at) => now = at,
                Next::Activate(_) | Next::Full | Next::Idle => panic!("all hosts have URLs"),
            }
        }
    });
}

/// Rules of one site: six in ten literals, the others parameters, but for order, case and escapes.
fn rules(count: usize) -> RuleSet {
    let rule = |kind| {
        let site = Site::new("example.com");
        Arc::new(Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO))
    };
    let literal = |i| {
        let (from, to) = (format!("/section{i}/old_"), format!("/section{i}/new?id="));
        rule(RuleKind::Substring { from, to, at_start: true, at_end: false })
    };
    let drop = |i| rule(RuleKind::drop(vec![format!("p{i}")], None));
    let index = RuleKind::Substring {
        from: "/index.html".to_owned(),
        to: "/".to_owned(),
        at_start: false,
        at_end: true,
    };
    let literals = (count * 6 / 10).max(8);
    let mut rules: Vec<Arc<Rule>> = (0..literals - 1).map(literal).collect();
    let drops = count.saturating_sub(literals + 4).max(4);
    rules.extend((0..drops).map(drop));
    rules.extend([rule(index), rule(RuleKind::SortParameters), rule(RuleKind::PathCase)]);
    rules.extend([false, true].map(|spaces| rule(RuleKind::Escapes { spaces })));
    RuleSet::compile(1, rules, 0.01).expect("good rules")
}

fn canonize(bencher: Bencher<'_, '_>, count: usize, forms: &[&str]) {
    let set = rules(count);
    let form = |i: usize| url(&forms[i % forms.len()].replace("{}", &i.to_string()));
    let urls: Vec<CrawlUrl> = (0..1_000).map(form).collect();
    let mut next = urls.iter().cycle();
    bencher.bench_local(|| {
        let url = next.next().expect("a cycle has no end");
        black_box(set.canonize(black_box(url)));
    });
}

const UNTOUCHED: &str = "https://www.example.com/section7/some/longer/path/item-{}.html?x=1&y=2";
const ONE_RULE: &str = "https://www.example.com/section7/list.html?p3={}&x=1";

/// A URL of a site without rules.
#[divan::bench(args = [10, 100, 1_000])]
fn canonize_another_site(bencher: Bencher<'_, '_>, rules: usize) {
    canonize(bencher, rules, &["https://www.other.org/section7/item-{}.html?x=1&y=2"]);
}

/// A URL of the site that no rule touches.
#[divan::bench(args = [10, 100, 1_000])]
fn canonize_untouched(bencher: Bencher<'_, '_>, rules: usize) {
    canonize(bencher, rules, &[UNTOUCHED]);
}

/// One URL in ten is rewritten, as on a real site.
#[divan::bench(args = [10, 100, 1_000])]
fn canonize_one_in_ten(bencher: Bencher<'_, '_>, rules: usize) {
    let mut forms = [UNTOUCHED; 10];
    forms[9] = ONE_RULE;
    canonize(bencher, rules, &forms);
}

/// Every URL is rewritten by one rule.
#[divan::bench(args = [10, 100, 1_000])]
fn canonize_one_rule(bencher: Bencher<'_, '_>, rules: usize) {
    canonize(bencher, rules, &[ONE_RULE]);
}

/// Every URL has escapes that stay.
#[divan::bench(args = [10, 100, 1_000])]
fn canonize_escaped(bencher: Bencher<'_, '_>, rules: usize) {
    canonize(
        bencher,
        rules,
        &["https://www.example.com/wiki/%D0%9C%D0%BE%D1%81%D0%BA%D0%B2%D0%B0{}"],
    );
}

/// Every URL is rewritten by four rules.
#[divan::bench(args = [10, 100, 1_000])]
fn canonize_four_rules(bencher: Bencher<'_, '_>, rules: usize) {
    canonize(bencher, rules, &["https://www.example.com/Section3/old_{}?y=2&p3=1&a=1"]);
}

fn answer(body: Bytes) -> Answer {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    Answer {
        status: 200,
        version: HttpVersion::Http11,
        headers: vec![("content-type".to_owned(), Bytes::from_static(b"text/html"))],
        request_block: Bytes::from_static(b"GET / HTTP/1.1\r\nHost: 127.1.0.0\r\n\r\n"),
        head_block: Bytes::from(head),
        wire_body: body.clone(),
        payload: body.clone(),
        body,
        truncated: None,
        asked_to_sign: false,
        address: IpAddr::from([127, 1, 0, 0]),
        tls: None,
        began: Timestamp::from_millis(1_800_000_000_000),
        timing: Timing::default(),
    }
}

/// The records of one page, written and indexed: wall clock, with the hand-over to the writer.
#[divan::bench(args = [Compression::Gzip, Compression::None])]
fn warc_write(bencher: Bencher<'_, '_>, compression: Compression) {
    let dir = tempfile::tempdir().expect("a directory");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let settings =
        archive::Settings { dir: dir.path().to_owned(), compression, ..Default::default() };
    let archive = runtime.block_on(async {
        Archive::open(settings, archive::About::default(), None).expect("opens").0
    });
    let (pages, count) = (web::render(SHAPE), AtomicU64::new(0));
    let bytes: usize = pages.iter().map(Bytes::len).sum();
    bencher.counter(BytesCount::new(bytes / pages.len())).bench_local(|| {
        let nth = count.fetch_add(1, Ordering::Relaxed) as usize;
        let answer = answer(pages[nth % pages.len()].clone());
        let url = url(&format!("http://127.1.0.0:8080/news/page-{nth}.html"));
        let capture = Arc::new(Capture::new(url, Arc::new(Outcome::Answer(Box::new(answer)))));
        runtime.block_on(archive.write(capture)).expect("writes")
    });
}
