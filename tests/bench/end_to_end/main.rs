//! Measures a whole crawl on loopback, with everything on, beside a bare client of the same pages.
//!
//! `cargo bench --profile dev --bench end_to_end -- [compare|prices|polite|tls] [--hosts 1,20,500]
//! [--pages 20000] [--runs 3] [--peers all] [--set KEY=VALUE ...]`; with the environment variable
//! `CARGO_PROFILE_DEV_OPT_LEVEL=3` our own code is built as well as in a release, but for inlining
//! across crates. The server has one core and what is measured the other.
//!
//! - `compare`: each round runs the ceiling (hyper alone), the same with the bodies written to a
//!   file, the crawl, the crawl with an uncompressed archive, and those peers that are installed
//!   (`peers.sh` installs them), one after another.
//! - `prices`: the crawl with everything on, and with one stage off at a time; all pages are seeds.
//! - `polite`: a delay of one second on the real clock, against hosts / delay; then `crawler audit`
//!   proves that no host was asked too early.
//! - `tls`: `compare` over HTTPS, without peers.
//!
//! Of each, the run with the least processor time counts, for what else the machine does can only
//! add to it. The crawl is the program itself, `crawler run`, with its defaults but for politeness,
//! which is off except in `polite`.

mod ceiling;
mod crawl;
mod measure;
mod peers;
mod web;

use std::path::Path;

use crawl::Server;
use measure::Usage;
use web::Shape;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().expect("a number");
    let shape = |hosts: &str, pages: &str| Shape { hosts: number(hosts), pages: number(pages) };
    let named = |text: &&str| (*text != "-").then(|| (*text).to_owned());
    match words[..] {
        ["serve", hosts, pages, ref ca @ ..] => {
            block_on(web::serve(shape(hosts, pages), ca.first().copied()));
        }
        ["ceiling", hosts, pages, port, file, ca] => {
            let port = port.parse().expect("a port");
            let (file, ca) = (named(&file), named(&ca));
            let all = ceiling::fetch_all(shape(hosts, pages), port, file.as_deref(), ca.as_deref());
            block_on(all);
        }
        ["prices", ref rest @ ..] => prices(&Wanted::read(rest)),
        ["polite", ref rest @ ..] => polite(&Wanted::read(rest)),
        ["tls", ref rest @ ..] => compare(&Wanted::read(rest), true),
        ["compare", ref rest @ ..] => compare(&Wanted::read(rest), false),
        _ => compare(&Wanted::read(&words), false),
    }
}

fn block_on(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future);
}

/// What is to be measured.
struct Wanted {
    hosts: Vec<u32>,
    pages: u32,
    runs: u32,
    peers: bool,
    set: Vec<String>,
}

impl Wanted {
    fn read(words: &[&str]) -> Wanted {
        let (hosts, set) = (vec![1, 20, 500], Vec::new());
        let mut wanted = Wanted { hosts, pages: 20_000, runs: 3, peers: false, set };
        for pair in words.chunks(2) {
            match *pair {
                ["--hosts", list] => {
                    wanted.hosts = list.split(',').map(|n| n.parse().expect("a number")).collect();
                }
                ["--pages", pages] => wanted.pages = pages.parse().expect("a number"),
                ["--runs", runs] => wanted.runs = runs.parse().expect("a number"),
                ["--peers", "all"] => wanted.peers = true,
                ["--set", set] => wanted.set.push(set.to_owned()),
                _ => panic!("unknown argument {pair:?}; see the head of this file"),
            }
        }
        wanted
    }

    fn and(&self, more: &[&str]) -> Vec<String> {
        self.set.iter().cloned().chain(more.iter().map(|set| (*set).to_owned())).collect()
    }
}

fn compare(wanted: &Wanted, tls: bool) {
    print_head("of ceiling");
    for hosts in &wanted.hosts {
        let server = Server::start(Shape { hosts: *hosts, pages: wanted.pages }, tls);
        let plain = wanted.and(&["archive.compression=\"none\""]);
        let mut best = Vec::new();
        for _ in 0..wanted.runs {
            let mut rows = vec![
                bare(&server, "hyper alone", false),
                bare(&server, "hyper, bodies to a file", true),
                server.crawl("crawl", &server.roots(), &wanted.set),
                server.crawl("crawl, archive not compressed", &server.roots(), &plain),
            ];
            if wanted.peers {
                rows.extend(peers::run_all(&server));
            }
            keep_best(&mut best, rows);
        }
        let ceiling = best[1].per_page();
        best.iter().for_each(|row| row.print(*hosts, 100.0 * ceiling / row.per_page(), "%"));
    }
}

/// What each stage costs: the difference that it makes to be without it.
fn prices(wanted: &Wanted) {
    const STAGES: [(&str, &[&str]); 7] = [
        ("everything on", &[]),
        ("without gzip", &["archive.compression=\"none\""]),
        ("without WARC and gzip", &["scope.archive_types=[\"none/none\"]"]),
        ("without DUST", &["dust.mode=\"off\""]),
        ("without near-duplicates", &["repeats.near_duplicates=\"off\""]),
        ("without learning boilerplate", &["content.learn_boilerplate=false"]),
        ("without parse, links, text and sketch", &["scope.extract_types=[\"none/none\"]"]),
    ];
    print_head("us of the whole");
    for hosts in &wanted.hosts {
        let server = Server::start(Shape { hosts: *hosts, pages: wanted.pages }, false);
        let mut best = Vec::new();
        for _ in 0..wanted.runs {
            let run = |(what, off): (&'static str, &[&str])| {
                server.crawl(what, &server.all_urls(), &wanted.and(off))
            };
            let mut rows: Vec<Row> = STAGES.into_iter().map(run).collect();
            rows.push(bare(&server, "hyper alone: what fetching costs", false));
            keep_best(&mut best, rows);
        }
        let whole = best[0].per_page();
        for row in &best {
            row.print(*hosts, whole - row.per_page(), "us");
        }
    }
}

/// Pages that a host has in a polite crawl: as many seconds, a third of which are measured.
const POLITE_PAGES: u32 = 36;

fn polite(wanted: &Wanted) {
    println!("| hosts | pages/s | of hosts / delay | early requests | share of a core | peak MB |");
    println!("|---|---|---|---|---|---|");
    for hosts in &wanted.hosts {
        let server = Server::start(Shape { hosts: *hosts, pages: hosts * POLITE_PAGES }, false);
        let polite = wanted.and(&[
            "politeness.min_delay=\"1s\"",
            "politeness.group_delay=\"1s\"",
            &format!("frontier.back_queues={}", hosts + hosts / 4),
        ]);
        let row = server.crawl_politely(&polite);
        println!(
            "| {hosts} | {:.1} | {:.2} % | {} | {:.1} % | {:.0} |",
            row.rate,
            100.0 * row.rate / f64::from(*hosts),
            row.early,
            100.0 * row.usage.cpu / row.usage.wall,
            row.usage.peak_mb
        );
    }
}

fn print_head(last: &str) {
    println!("processor: {}", processor());
    println!(
        "| hosts | what | pages | CPU us/page | pages/CPU s | pages/s | MB written | peak MB | {last} |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
}

fn keep_best(best: &mut Vec<Row>, rows: Vec<Row>) {
    if best.is_empty() {
        *best = rows;
        return;
    }
    for (best, row) in best.iter_mut().zip(rows) {
        if row.per_page() < best.per_page() {
            *best = row;
        }
    }
}

/// What one run came to.
struct Row {
    what: &'static str,
    pages: u64,
    written: u64,
    usage: Usage,
}

impl Row {
    /// Returns microseconds of processor time per page.
    fn per_page(&self) -> f64 {
        self.usage.cpu * 1e6 / self.pages as f64
    }

    fn print(&self, hosts: u32, last: f64, unit: &str) {
        let pages = self.pages as f64;
        println!(
            "| {hosts} | {} | {} | {:.1} | {:.0} | {:.0} | {:.1} | {:.1} | {last:.1} {unit} |",
            self.what,
            self.pages,
            self.per_page(),
            pages / self.usage.cpu,
            pages / self.usage.wall,
            self.written as f64 / 1e6,
            self.usage.peak_mb,
        );
    }
}

fn bare(server: &Server, what: &'static str, writes: bool) -> Row {
    let dir = tempfile::tempdir().expect("a directory");
    let program = std::env::current_exe().expect("the program's own path");
    let shape = server.shape;
    let bodies = dir.path().join("bodies").display().to_string();
    let arguments = [
        "ceiling".to_owned(),
        shape.hosts.to_string(),
        shape.pages.to_string(),
        server.port.to_string(),
        if writes { bodies } else { "-".to_owned() },
        server.ca_file().unwrap_or_else(|| "-".to_owned()),
    ];
    let program = program.to_str().expect("a path in UTF-8");
    let usage = measure::run(program, &arguments, dir.path(), &[0]);
    Row { what, pages: shape.in_all(), written: size_of(dir.path()), usage }
}

fn size_of(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Returns what the machine calls its processor.
fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name"));
    name.unwrap_or("unknown").trim_start_matches(['\t', ' ', ':']).to_owned()
}
