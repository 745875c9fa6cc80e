//! Measures whether a page costs more the more URLs are known: 10^4 to 10^7 of them over 10^2 to
//! 10^5 hosts, of which the last 10,000 wait.
//!
//! `cargo bench --profile dev --bench growth [-- SIZE ...]`, SIZE one of `4` to `7`. Each state is
//! written by one process and opened by another, as after a restart. That one says how long opening
//! took and how much memory is resident, then runs the whole crawl in virtual time: every page has
//! 40 links, 38 of them to known URLs of its host and two to new ones, a title and a paragraph. At
//! last it asks the seen test for 40 known and 40 new URLs of a host at once, over and over.
//!
//! | column | meaning |
//! |---|---|
//! | seen B | bytes of table files per URL once all rows of the seen test were written |
//! | disk B | the same of the whole state |
//! | open s | wall clock from nothing to a frontier that gives leases |
//! | MiB | resident memory, when opened and at the end |
//! | us/page | processor time of everything but network and archive, per page |
//! | known, new us | wall clock per URL asked for |
//!
//! `-- plot TABLE PLOT` draws such a table, as it was printed into a file, as an SVG.

mod growth_plot;
mod simulated;

use std::path::Path;

use bytes::Bytes;
use crawler::db::Db;
use crawler::db::families::seen;
use crawler::url::CrawlUrl;
use simulated::{Run, Shape, measure, path, step, wall_us};

/// URLs that wait, and those known for each host.
const WAITING: u32 = 10_000;
const PER_HOST: u32 = 100;
/// Links of a page to URLs that are known, and to new ones.
const KNOWN_LINKS: u32 = 38;
const NEW_LINKS: u32 = 2;
/// Batches of the seen test that are timed.
const TESTS: u32 = 500;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["plot", table, plot] => growth_plot::draw(Path::new(table), Path::new(plot)),
        ["fill", known, dir] => {
            let disk = shape(known).fill(Path::new(dir));
            println!("{:.1} | {:.1}", disk.seen, disk.all);
        }
        ["measure", known, dir] => crawl(shape(known), Path::new(dir)),
        [] => compare(&["4", "5", "6", "7"]),
        ref sizes => compare(sizes),
    }
}

fn shape(known: &str) -> Shape {
    let known: u32 = known.parse().expect("a number");
    Shape { known, waiting: WAITING, hosts: known / PER_HOST }
}

fn compare(sizes: &[&str]) {
    println!("| known | hosts | seen B | disk B | open s | MiB | us/page | known us | new us |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for size in sizes {
        let known = 10u32.pow(size.parse().expect("a power of ten")).to_string();
        let dir = tempfile::tempdir().expect("a directory for the state");
        let disk = step(&["fill", &known], dir.path());
        let figures = step(&["measure", &known], dir.path());
        println!("| {known} | {} | {disk} | {figures} |", shape(&known).hosts);
    }
}

fn crawl(shape: Shape, dir: &Path) {
    let run = Run { warm: 1_000, measured: 6_000, media_type: "text/html", page };
    let mut seen = (0.0, 0.0);
    let measured = measure(dir, shape, run, |db| {
        let new = shape.hosts * (PER_HOST + 1_000_000 / PER_HOST);
        seen = (time_seen(shape, db, 0), time_seen(shape, db, new));
    });
    println!(
        "{:.2} | {}, {} | {} | {:.2} | {:.2}",
        measured.opened,
        measured.resident_opened / 1024,
        measured.resident / 1024,
        measured.per_page,
        seen.0,
        seen.1
    );
}

/// Renders a page with links to URLs of its host, known ones all over and new ones.
fn page(shape: Shape, url: &CrawlUrl, count: u32) -> Bytes {
    let hosts = shape.hosts;
    let number = url.path().trim_end_matches(".html").rsplit('-').next();
    let n: u32 = number.and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut html = format!("<title>Page {n}</title><p>The text of page {n}, the {count}.</p>");
    let known = (0..KNOWN_LINKS).map(|k| n % hosts + hosts * ((count * 31 + k * 7) % PER_HOST));
    let new = (0..NEW_LINKS).map(|k| n % hosts + hosts * (PER_HOST + count * NEW_LINKS + k));
    for to in known.chain(new) {
        html.push_str(&format!("<a href=\"{}\">{to}</a> ", path(to)));
    }
    Bytes::from(html)
}

/// Asks the seen test for 40 URLs of one host at a time, from number `first` on; returns
/// microseconds per URL.
fn time_seen(shape: Shape, db: &Db, first: u32) -> f64 {
    let mut spent = 0;
    for test in 0..TESTS {
        let host = test.wrapping_mul(2_654_435_761) % shape.hosts;
        let urls = (0..40).map(|k| shape.url(first + host + shape.hosts * (k * 2)));
        let mut keys: Vec<_> = urls.map(|url| url.fingerprint()).collect();
        keys.sort_unstable();
        let began = wall_us();
        let found = seen::get_many(db, &keys).expect("answers");
        spent += wall_us() - began;
        assert_eq!(found.len(), keys.len());
    }
    spent as f64 / f64::from(TESTS * 40)
}
