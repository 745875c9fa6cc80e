//! Measures what a waiting URL costs: resident memory and time per decision with 10,000 URLs
//! waiting over 10,000 hosts, with the same 10,000 where 990,000 more have been fetched, and with
//! 1,000,000 waiting.
//!
//! `cargo bench --bench frontier`; with `--profile dev` it builds faster. Each state is written by
//! one process and opened by another, as after a restart. That one runs the whole crawl in virtual
//! time, with a network that answers every page with one line of text: `next`, `activate`, `fill`,
//! the gates, the lease, the visit, the log and the one batch. What it prints is therefore the cost
//! of all that, of which the frontier's own part is some. Time is the processor time of the loop's
//! thread, the least of [`RUNS`]; memory is the most of them.
//!
//! What waits costs memory only through caches that the configuration bounds: between the second
//! and the third row, which have the same URLs known, lies what a hundred times as many waiting
//! URLs cost. The first row is a crawl too small to fill those caches.

mod simulated;

use std::path::Path;

use bytes::Bytes;
use simulated::{Run, Shape, measure, step};

const HOSTS: u32 = 10_000;
const MANY: u32 = 1_000_000;
const FEW: u32 = 10_000;
/// Times that each size is measured, each on a state of its own.
const RUNS: u32 = 3;

const SIZES: [(&str, Shape); 3] = [
    ("few", Shape { known: FEW, waiting: FEW, hosts: HOSTS }),
    ("few-of-many", Shape { known: MANY, waiting: FEW, hosts: HOSTS }),
    ("many", Shape { known: MANY, waiting: MANY, hosts: HOSTS }),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let shape = |wanted: &str| {
        let found = SIZES.into_iter().find(|(name, _)| *name == wanted);
        found.expect("the parent names a size").1
    };
    match words[..] {
        ["fill", name, dir] => {
            let disk = shape(name).fill(Path::new(dir));
            println!("{:.1}, {:.1}", disk.seen, disk.all);
        }
        ["measure", name, dir] => {
            let page = |_, url: &_, _| Bytes::from(format!("The text of {url}.\n"));
            let run = Run { warm: 1_000, measured: 8_000, media_type: "text/plain", page };
            let measured = measure(Path::new(dir), shape(name), run, |_| {});
            let (before, after) = (measured.resident_opened, measured.resident);
            println!("{} {} {before} {after}", measured.opened, measured.per_page);
        }
        _ => compare(),
    }
}

fn compare() {
    println!("| known | waiting | disk B: seen, all | open s | KiB: open, end | us per fetch |");
    println!("|---|---|---|---|---|---|");
    for (name, shape) in SIZES {
        let (mut open, mut time, mut before, mut after) = (f64::MAX, f64::MAX, 0.0, 0.0);
        let mut disk = String::new();
        for _ in 0..RUNS {
            let dir = tempfile::tempdir().expect("a directory for the state");
            disk = step(&["fill", name], dir.path());
            let figures = step(&["measure", name], dir.path());
            let figures: Vec<f64> = figures.split(' ').filter_map(|f| f.parse().ok()).collect();
            open = figures[0].min(open);
            time = figures[1].min(time);
            before = figures[2].max(before);
            after = figures[3].max(after);
        }
        let Shape { known, waiting, .. } = shape;
        println!("| {known} | {waiting} | {disk} | {open:.2} | {before}, {after} | {time} |");
    }
}
