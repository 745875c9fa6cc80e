//! The server in a process of its own, and crawls of what it has.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use crawler::crawl::log::{self, Line};

use super::measure::{self, Usage};
use super::web::{self, Shape};
use super::{Row, size_of};

/// The exit code of a crawl that its limit of time has ended.
const LIMIT: i32 = 10;
/// The exit code of an audit that has found early requests.
const FOUND_EARLY: i32 = 20;

/// A server, ended with this value.
pub(crate) struct Server {
    child: Child,
    pub(crate) shape: Shape,
    pub(crate) port: u16,
    /// Where the certificate is, if it serves over TLS.
    dir: tempfile::TempDir,
    tls: bool,
}

/// What a polite crawl came to.
pub(crate) struct Polite {
    /// Pages per second while all hosts had pages left.
    pub(crate) rate: f64,
    /// Requests that came before their host could be asked.
    pub(crate) early: u64,
    pub(crate) usage: Usage,
}

impl Server {
    pub(crate) fn start(shape: Shape, tls: bool) -> Server {
        let program = std::env::current_exe().expect("the program's own path");
        let dir = tempfile::tempdir().expect("a directory");
        let mut command = measure::beside(program.to_str().expect("a path in UTF-8"));
        command.args(["serve", &shape.hosts.to_string(), &shape.pages.to_string()]);
        if tls {
            command.arg(dir.path().join("ca.pem"));
        }
        let mut child = command.stdout(Stdio::piped()).spawn().expect("taskset is there");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it was asked for");
        BufReader::new(stdout).read_line(&mut line).expect("the server says its port");
        let port = line.split(' ').next().and_then(|port| port.parse().ok());
        Server { child, shape, port: port.expect("the server says its port"), dir, tls }
    }

    /// Returns the file of the certificate that clients must trust.
    pub(crate) fn ca_file(&self) -> Option<String> {
        self.tls.then(|| self.dir.path().join("ca.pem").display().to_string())
    }

    fn url(&self, host: u32, page: u32) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}:{}{}", web::address(host), self.port, web::path(page))
    }

    /// Returns the first page of every host.
    pub(crate) fn roots(&self) -> Vec<String> {
        (0..self.shape.hosts).map(|host| self.url(host, 0)).collect()
    }

    /// Returns all pages, the hosts taking turns.
    pub(crate) fn all_urls(&self) -> Vec<String> {
        let pages = 0..self.shape.per_host();
        pages
            .flat_map(|page| (0..self.shape.hosts).map(move |host| (host, page)))
            .map(|(host, page)| self.url(host, page))
            .collect()
    }

    /// Crawls with the program as it is built, everything on, without politeness.
    pub(crate) fn crawl(&self, what: &'static str, seeds: &[String], set: &[String]) -> Row {
        let dir = tempfile::tempdir().expect("a directory");
        let fixed = [
            "politeness.min_delay=\"0s\"",
            "politeness.group_delay=\"0s\"",
            "politeness.factor=0.0",
        ];
        let set: Vec<String> = fixed.map(str::to_owned).into_iter().chain(set.to_vec()).collect();
        let usage = self.run(dir.path(), seeds, &set, 0);
        let summary: serde_json::Value =
            serde_json::from_str(usage.output.trim()).expect("a summary in JSON");
        let pages = summary["reasons"]["status-200"].as_u64().unwrap_or(0);
        assert_eq!(pages, self.shape.in_all(), "pages crawled: {summary}");
        Row { what, pages, written: size_of(&dir.path().join("crawl")), usage }
    }

    fn run(&self, dir: &Path, seeds: &[String], set: &[String], code: i32) -> Usage {
        let file = dir.join("seeds.txt");
        std::fs::write(&file, seeds.join("\n")).expect("writes the seeds");
        let crawl_dir = dir.join("crawl").display().to_string();
        let file = file.display().to_string();
        let words = ["run", "--json", "--contact", "mailto:bench@example.org"];
        let words = words.into_iter().chain(["--dir", &crawl_dir, "--seeds", &file]);
        let mut arguments: Vec<String> = words.map(str::to_owned).collect();
        let fixed = ["dns.allow=[\"127.0.0.0/8\"]", "limits.disk_reserve=\"0B\""];
        let ca_file = self.ca_file().map(|file| format!("fetch.ca_file=\"{file}\""));
        for set in fixed.into_iter().map(str::to_owned).chain(ca_file).chain(set.to_vec()) {
            arguments.extend(["--set".to_owned(), set]);
        }
        measure::run(env!("CARGO_BIN_EXE_crawler"), &arguments, dir, &[code])
    }

    /// Crawls politely for two thirds of the time that the pages last, and has the audit judge it.
    pub(crate) fn crawl_politely(&self, set: &[String]) -> Polite {
        let dir = tempfile::tempdir().expect("a directory");
        let secs = self.shape.per_host() * 2 / 3;
        let limit = format!("limits.time_max=\"{secs}s\"");
        let set: Vec<String> = set.iter().cloned().chain([limit]).collect();
        let usage = self.run(dir.path(), &self.roots(), &set, LIMIT);
        let crawl_dir = dir.path().join("crawl");
        let rate = rate_of(&crawl_dir.join("log"), u64::from(secs));
        let audit = ["audit", "--json", "--dir"].map(str::to_owned);
        let arguments: Vec<String> =
            audit.into_iter().chain([crawl_dir.display().to_string()]).collect();
        let program = env!("CARGO_BIN_EXE_crawler");
        let judged = measure::run(program, &arguments, dir.path(), &[0, FOUND_EARLY]);
        let judged: serde_json::Value =
            serde_json::from_str(judged.output.trim()).expect("a judgement in JSON");
        let early = judged["violations_total"].as_u64().expect("a number");
        Polite { rate, early, usage }
    }
}

/// Returns the pages per second of the middle third of a crawl's time.
fn rate_of(log_dir: &Path, secs: u64) -> f64 {
    let files = log::files(log_dir).expect("the crawl has a log");
    let text = files.iter().map(|file| std::fs::read_to_string(file).expect("reads"));
    let text: String = text.collect();
    let lines: Vec<Line> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line of the log")).collect();
    let began = lines.iter().map(|line| line.at_ms).min().unwrap_or(0);
    let third = secs * 1000 / 3;
    let middle = began + third..began + 2 * third;
    let pages = lines.iter().filter(|line| line.purpose == "page" && middle.contains(&line.at_ms));
    pages.count() as f64 * 1000.0 / third as f64
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
