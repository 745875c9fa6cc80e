//! Other crawlers at the same job, each doing less: none keeps a durable state, and of what they
//! fetch they keep the bodies only, or nothing. Those that are not installed are left out.

use std::path::Path;

use super::crawl::Server;
use super::measure;
use super::{Row, size_of};

/// Runs every peer that is there.
pub(crate) fn run_all(server: &Server) -> Vec<Row> {
    [wget2(server), scrapy(server), spider(server)].into_iter().flatten().collect()
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

fn seeds(server: &Server, dir: &Path) -> String {
    let file = dir.join("seeds.txt");
    std::fs::write(&file, server.roots().join("\n")).expect("writes the seeds");
    file.display().to_string()
}

/// Mirrors every host into files; its threads are at most its hosts.
fn wget2(server: &Server) -> Option<Row> {
    let dir = tempfile::tempdir().expect("a directory");
    let seeds = is_there("wget2").then(|| seeds(server, dir.path()))?;
    let threads = format!("--max-threads={}", server.shape.hosts.min(20));
    let arguments = ["-q", "-r", "-l", "100", &threads, "-i", &seeds, "-P", "pages"];
    let arguments = arguments.map(str::to_owned);
    // 8: a server answered with an error.
    let usage = measure::run("wget2", &arguments, dir.path(), &[0, 8]);
    let pages = pages_in(&dir.path().join("pages"));
    Some(Row { what: "wget2", pages, written: size_of(dir.path()), usage })
}

fn pages_in(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let pages = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => pages_in(&entry.path()),
        _ => u64::from(entry.file_name().to_string_lossy().ends_with(".html")),
    });
    pages.sum()
}

/// Follows all links and keeps nothing.
fn scrapy(server: &Server) -> Option<Row> {
    is_there("scrapy").then_some(())?;
    let dir = tempfile::tempdir().expect("a directory");
    let seeds = seeds(server, dir.path());
    let spider = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bench/end_to_end/scrapy_spider.py");
    let arguments = ["runspider", spider, "-a", &format!("seeds={seeds}")].map(str::to_owned);
    let usage = measure::run("scrapy", &arguments, dir.path(), &[0]);
    let pages = usage.output.trim().parse().expect("the number of pages");
    Some(Row { what: "Scrapy", pages, written: 0, usage })
}

/// Follows all links of one host after another, as its command does, and keeps nothing.
fn spider(server: &Server) -> Option<Row> {
    is_there("spider").then_some(())?;
    let dir = tempfile::tempdir().expect("a directory");
    let mut whole = measure::Usage::default();
    let mut pages = 0;
    for url in server.roots() {
        let arguments = ["--url", &url, "--respect-robots-txt", "crawl", "-o"];
        let arguments = arguments.map(str::to_owned);
        let usage = measure::run("spider", &arguments, dir.path(), &[0]);
        pages += usage.output.lines().filter(|line| line.contains("http")).count() as u64;
        whole.wall += usage.wall;
        whole.cpu += usage.cpu;
        whole.peak_mb = whole.peak_mb.max(usage.peak_mb);
    }
    Some(Row { what: "spider", pages: pages.max(1), written: 0, usage: whole })
}
