//! Compares with the recorded results of another implementation, on sites that it serves itself.
//!
//! The environment variable `CRAWLER_DUST_REFERENCE` names a folder with `corpora.py`, which makes
//! the logs of a model site and serves its pages on loopback, and with `golden_SITE_2k.json`, the
//! recorded reports. Where it is not set there is nothing to compare with, and the test says so.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crawler::dust::input::{self, Batch};
use crawler::dust::paper::{Fetched, Fetcher, MineArgs, Record, Settings, Shingles, run_mine};
use serde_json::Value;

#[test]
fn the_recorded_reports_of_the_forum_are_reproduced() {
    check("forum");
}

#[test]
fn the_recorded_reports_of_the_academic_site_are_reproduced() {
    check("academic");
}

fn check(site: &str) {
    let Some(folder) = std::env::var_os("CRAWLER_DUST_REFERENCE").map(PathBuf::from) else {
        println!("CRAWLER_DUST_REFERENCE is not set: nothing to compare {site} with");
        return;
    };
    let logs = tempfile::tempdir().unwrap();
    let made = corpora(&folder, "gen", site).arg("--out").arg(logs.path()).status().unwrap();
    assert!(made.success());
    let read = |name: &str| -> Vec<Record> {
        let file = BufReader::new(std::fs::File::open(logs.path().join(name)).unwrap());
        let mut batch = Batch::new(input::Settings::default());
        batch.read(file, name, None).unwrap();
        let collected = batch.finish();
        assert_eq!(collected.bad, 0);
        collected.records
    };
    let args = MineArgs {
        train: read("train.tsv"),
        valid: Some(read("valid.tsv")),
        canon: Some(read("test.tsv")),
        split_sites: false,
        settings: Settings::default(),
        json: true,
    };
    let mut server = Server::start(&folder, site);
    let mut out = Vec::new();
    run_mine(args, Some(&mut server), &mut out).unwrap();
    let ours: Value = serde_json::from_slice(&out).unwrap();
    let text = std::fs::read_to_string(folder.join(format!("golden_{site}_2k.json"))).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    for (field, want) in recorded.as_object().unwrap() {
        // How long the other one took says nothing about ours.
        if field != "seconds" {
            assert_eq!(&ours[field], want, "{site}: {field}");
        }
    }
    assert!(!ours["validated"].as_array().unwrap().is_empty());
}

fn corpora(folder: &Path, command: &str, site: &str) -> Command {
    let mut python = Command::new("python3");
    python.arg("-B").arg(folder.join("corpora.py")).args([command, "--site", site]);
    python.args(["--n", "2000", "--seed", "1"]).stdout(Stdio::null());
    python
}

/// The model site, served on loopback for as long as this lives.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(folder: &Path, site: &str) -> Server {
        let mut command = corpora(folder, "serve", site);
        let mut child =
            command.args(["--port", "0", "--fixed"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(address.starts_with("127.0.0.1:"), "{line}");
        Server { child, address }
    }

    /// Asks as one asks a proxy; returns status, location and body.
    fn get(&self, url: &str) -> (u16, Option<String>, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = url.split('/').nth(2).unwrap_or_default();
        write!(stream, "GET {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let location = head.lines().find_map(|line| line.strip_prefix("Location: "));
        (status, location.map(str::to_owned), body.to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Fetcher for Server {
    fn fetch(&mut self, url: &str) -> Fetched {
        const REDIRECTS_MAX: usize = 5;
        let mut url = url.to_owned();
        for _ in 0..=REDIRECTS_MAX {
            let (status, location, body) = self.get(&url);
            match (status, location) {
                (300..400, Some(location)) => url = location,
                (200, _) => return Fetched::Page(Shingles::of(&text(&body))),
                _ => break,
            }
        }
        Fetched::Failed
    }
}

/// Returns the text of a page without its title.
fn text(html: &str) -> String {
    let body = html.split_once("</head>").map_or(html, |(_, body)| body);
    let mut text = String::new();
    for part in body.split('<') {
        text.push_str(part.split_once('>').map_or(part, |(_, text)| text));
        text.push(' ');
    }
    text
}
