//! Measures a whole crawl on loopback, with everything on, beside a bare client of the same pages.
//!
//! `cargo bench --profile dev --bench end_to_end -- [--hosts 1,20,500] [--pages 20000] [--runs 3]
//! [--set KEY=VALUE ...]`; better with `CARGO_PROFILE_DEV_OPT_LEVEL=3`, so that our own code is
//! built as in a release. The server has one core and what is measured the other. Each round runs
//! the ceiling (hyper alone), the same with the bodies written to a file, the crawl, and the crawl
//! with an uncompressed archive, one after another; of each the run with the least processor time
//! counts, for what else the machine does can only add to it. The crawl is the program itself,
//! `crawler run`, with its defaults but for politeness, which is off.

mod ceiling;
mod measure;
mod web;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use measure::Usage;
use web::Shape;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().expect("a number");
    match words[..] {
        ["serve", hosts, pages] => {
            let shape = Shape { hosts: number(hosts), pages: number(pages) };
            block_on(web::serve(shape));
        }
        ["ceiling", hosts, pages, port, ref file @ ..] => {
            let shape = Shape { hosts: number(hosts), pages: number(pages) };
            let port = port.parse().expect("a port");
            block_on(ceiling::fetch_all(shape, port, file.first().copied()));
        }
        _ => compare(&Wanted::read(&words)),
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
    set: Vec<String>,
}

impl Wanted {
    fn read(words: &[&str]) -> Wanted {
        let mut wanted =
            Wanted { hosts: vec![1, 20, 500], pages: 20_000, runs: 3, set: Vec::new() };
        for pair in words.chunks(2) {
            match *pair {
                ["--hosts", list] => {
                    wanted.hosts = list.split(',').map(|n| n.parse().expect("a number")).collect();
                }
                ["--pages", pages] => wanted.pages = pages.parse().expect("a number"),
                ["--runs", runs] => wanted.runs = runs.parse().expect("a number"),
                ["--set", set] => wanted.set.push(set.to_owned()),
                _ => panic!("unknown argument {pair:?}; see the head of this file"),
            }
        }
        wanted
    }
}

/// A server in a process of its own, ended with this value.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(shape: Shape) -> Server {
        let program = std::env::current_exe().expect("the program's own path");
        let mut command = measure::beside(program.to_str().expect("a path in UTF-8"));
        command.args(["serve", &shape.hosts.to_string(), &shape.pages.to_string()]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("taskset is there");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it was asked for");
        BufReader::new(stdout).read_line(&mut line).expect("the server says its port");
        let port = line.split(' ').next().and_then(|port| port.parse().ok());
        Server { child, port: port.expect("the server says its port") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn compare(wanted: &Wanted) {
    println!("processor: {}", processor());
    println!(
        "| hosts | what | pages | CPU us/page | pages/CPU s | pages/s | MB written | peak MB | of ceiling |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for hosts in &wanted.hosts {
        let shape = Shape { hosts: *hosts, pages: wanted.pages };
        let server = Server::start(shape);
        let mut best: Vec<Row> = Vec::new();
        for _ in 0..wanted.runs {
            let rows = [
                bare(shape, &server, "hyper alone", false),
                bare(shape, &server, "hyper, bodies to a file", true),
                crawl(shape, &server, "crawl", &wanted.set),
                crawl(
                    shape,
                    &server,
                    "crawl, archive not compressed",
                    &[&wanted.set[..], &["archive.compression=\"none\"".to_owned()]].concat(),
                ),
            ];
            if best.is_empty() {
                best = rows.into();
            } else {
                for (best, row) in best.iter_mut().zip(rows) {
                    if row.per_page() < best.per_page() {
                        *best = row;
                    }
                }
            }
        }
        let ceiling = best[1].per_page();
        for row in &best {
            row.print(*hosts, ceiling);
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

    fn print(&self, hosts: u32, ceiling: f64) {
        let pages = self.pages as f64;
        println!(
            "| {hosts} | {} | {} | {:.1} | {:.0} | {:.0} | {:.1} | {:.1} | {:.1} % |",
            self.what,
            self.pages,
            self.per_page(),
            pages / self.usage.cpu,
            pages / self.usage.wall,
            self.written as f64 / 1e6,
            self.usage.peak_mb,
            100.0 * ceiling / self.per_page(),
        );
    }
}

fn bare(shape: Shape, server: &Server, what: &'static str, writes: bool) -> Row {
    let dir = tempfile::tempdir().expect("a directory");
    let program = std::env::current_exe().expect("the program's own path");
    let mut arguments = vec![
        "ceiling".to_owned(),
        shape.hosts.to_string(),
        shape.pages.to_string(),
        server.port.to_string(),
    ];
    if writes {
        arguments.push(dir.path().join("bodies").display().to_string());
    }
    let usage = measure::run(program.to_str().expect("a path in UTF-8"), &arguments);
    let pages = u64::from(shape.per_host() * shape.hosts);
    Row { what, pages, written: size_of(dir.path()), usage }
}

/// Crawls with the program as it is built, everything on; politeness is what the server can take.
fn crawl(shape: Shape, server: &Server, what: &'static str, set: &[String]) -> Row {
    let dir = tempfile::tempdir().expect("a directory");
    let seeds = dir.path().join("seeds.txt");
    let roots = (0..shape.hosts).map(|n| format!("http://{}:{}/\n", web::address(n), server.port));
    std::fs::write(&seeds, roots.collect::<String>()).expect("writes the seeds");
    let crawl_dir = dir.path().join("crawl");
    let mut arguments: Vec<String> =
        ["run", "--json", "--contact", "mailto:bench@example.org"].map(str::to_owned).to_vec();
    arguments.extend(["--dir".to_owned(), crawl_dir.display().to_string()]);
    arguments.extend(["--seeds".to_owned(), seeds.display().to_string()]);
    let fixed = [
        "dns.allow=[\"127.0.0.0/8\"]",
        "politeness.min_delay=\"0s\"",
        "politeness.group_delay=\"0s\"",
        "politeness.factor=0.0",
        "limits.disk_reserve=\"0B\"",
    ];
    for set in fixed.into_iter().map(str::to_owned).chain(set.iter().cloned()) {
        arguments.extend(["--set".to_owned(), set]);
    }
    let usage = measure::run(env!("CARGO_BIN_EXE_crawler"), &arguments);
    let summary: serde_json::Value =
        serde_json::from_str(usage.output.trim()).expect("a summary in JSON");
    let pages = summary["reasons"]["status-200"].as_u64().unwrap_or(0);
    let wanted = u64::from(shape.per_host() * shape.hosts);
    assert_eq!(pages, wanted, "pages crawled: {summary}");
    Row { what, pages, written: size_of(&crawl_dir), usage }
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
