//! The dashboard over real sockets: routes, headers, streams, commands, bounds.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::assets::ASSETS;
use super::view::tests::snapshot;
use super::{About, Dashboard, DashboardError, Settings};
use crate::crawl::{Command, Ended, Snapshot};

/// Longest wait of a test for what must come at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// A dashboard over a crawl that a test plays.
struct Stage {
    address: SocketAddr,
    dashboard: Option<Dashboard>,
    snapshots: Option<watch::Sender<Option<Arc<Snapshot>>>>,
    commands: mpsc::Receiver<Command>,
}

impl Stage {
    fn with(change: impl FnOnce(&mut Settings)) -> Stage {
        let mut settings = Settings { listen: "127.0.0.1:0".to_owned(), ..Settings::default() };
        change(&mut settings);
        let (sender, receiver) = watch::channel(None);
        let (asker, commands) = mpsc::channel(4);
        let about = About { name: "crawler".to_owned(), ..About::default() };
        let dashboard = Dashboard::start(&settings, about, receiver, asker).unwrap().unwrap();
        let address = dashboard.address();
        Stage { address, dashboard: Some(dashboard), snapshots: Some(sender), commands }
    }

    fn new() -> Stage {
        Stage::with(|_| {})
    }

    fn publish(&self, snapshot: Snapshot) {
        self.snapshots.as_ref().unwrap().send_replace(Some(Arc::new(snapshot)));
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> TcpStream {
        let mut request = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if method == "POST" {
            request += "Content-Length: 0\r\n";
        }
        request += "\r\n";
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut text = String::new();
        self.send(method, path, headers).read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[])
    }

    /// Asks until there is something; the dashboard writes snapshots down on a thread of its own.
    fn get_when_there(&self, path: &str) -> Answer {
        for _ in 0..10_000 {
            let answer = self.get(path);
            if answer.status != 503 {
                return answer;
            }
        }
        panic!("{path} never answered");
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.snapshots.take();
        if let Some(dashboard) = self.dashboard.take() {
            dashboard.close();
        }
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

/// The events of one open page.
struct Page(BufReader<TcpStream>);

impl Page {
    fn open(stage: &Stage) -> Page {
        let mut reader = BufReader::new(stage.send("GET", "/events", &[]));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        Page(reader)
    }

    /// Returns the next event, or `None` at the end of the stream. Chunk sizes stand on lines of
    /// their own, which are neither name nor data.
    fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(text) = line.strip_prefix("event: ") {
                name = text.trim().to_owned();
            }
            if let Some(json) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(json).unwrap()));
            }
        }
    }

    fn names(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.next().unwrap().0).collect()
    }
}

#[test]
fn every_file_of_the_page_comes_with_its_type_and_all_protections() {
    let stage = Stage::new();
    for asset in ASSETS {
        let answer = stage.get(asset.path);
        assert_eq!(answer.status, 200, "{}", asset.path);
        assert_eq!(answer.body, asset.text);
        for header in [
            &format!("content-type: {}", asset.media_type),
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';",
            "require-trusted-types-for 'script'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(answer.head.contains(header), "{}: {header}\n{}", asset.path, answer.head);
        }
        for lax in ["unsafe-inline", "unsafe-eval", "access-control-allow-origin"] {
            assert!(!answer.head.contains(lax), "{}: {lax}", asset.path);
        }
    }
}

#[test]
fn other_paths_and_methods_are_refused_with_the_same_protections() {
    let stage = Stage::new();
    for (method, path, status) in [
        ("GET", "/nothing", 404),
        ("GET", "/../../etc/passwd", 404),
        ("GET", "/assets/page.js", 404),
        ("GET", "/api/pause", 405),
        ("POST", "/api/pause", 403),
        ("POST", "/", 403),
        ("DELETE", "/api/pause", 403),
    ] {
        let answer = stage.ask(method, path, &[]);
        assert_eq!(answer.status, status, "{method} {path}");
        assert!(answer.head.contains("content-security-policy: default-src 'none'"));
    }
}

#[test]
fn a_rebound_name_gets_nothing() {
    let stage = Stage::with(|settings| settings.hosts = vec!["crawler.internal".to_owned()]);
    stage.publish(snapshot());
    for path in ["/", "/events", "/api/snapshot", "/metrics"] {
        let answer = stage.ask("GET", path, &[("Host", "evil.example:8400")]);
        assert_eq!(answer.status, 421, "{path}");
        assert!(answer.body.contains("dashboard.hosts"), "{}", answer.body);
    }
    assert_eq!(stage.ask("GET", "/", &[("Host", "crawler.internal")]).status, 200);
    assert_eq!(stage.ask("GET", "/", &[("Host", "localhost:1")]).status, 200);
}

#[test]
fn with_a_token_nothing_is_shown_without_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    std::fs::write(&file, "0123456789abcdef\n").unwrap();
    let stage = Stage::with(|settings| settings.token_file = file.clone());
    stage.publish(snapshot());
    for asset in ASSETS.iter().map(|asset| asset.path).chain(["/events", "/metrics"]) {
        let answer = stage.get(asset);
        assert_eq!(answer.status, 401, "{asset}");
        assert!(answer.head.contains("www-authenticate: basic"), "{asset}");
        assert!(answer.body.contains("dashboard.token_file"), "{asset}");
    }
    let bearer = [("Authorization", "Bearer 0123456789abcdef")];
    assert_eq!(stage.ask("GET", "/", &bearer).status, 200);
    let wrong = [("Authorization", "Bearer 0123456789abcdeg")];
    assert_eq!(stage.ask("GET", "/", &wrong).status, 401);
}

#[test]
fn a_dashboard_that_cannot_be_safe_does_not_start_and_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let short = dir.path().join("short");
    std::fs::write(&short, "secret\n").unwrap();
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = busy.local_addr().unwrap().to_string();
    let missing = dir.path().join("missing");
    for (listen, token_file, want) in [
        ("0.0.0.0:0", None, "can be reached from other machines"),
        ("0.0.0.0:0", Some(&short), "has 6 characters, and 16 are needed"),
        ("127.0.0.1:0", Some(&missing), "read the dashboard's token from"),
        ("everywhere", None, "must be an address and a port"),
        (taken.as_str(), None, "choose another port with --dashboard"),
    ] {
        let settings = Settings {
            listen: listen.to_owned(),
            token_file: token_file.cloned().unwrap_or_default(),
            ..Settings::default()
        };
        let (_keep, receiver) = watch::channel(None);
        let started = Dashboard::start(&settings, About::default(), receiver, mpsc::channel(1).0);
        let error: DashboardError = started.unwrap_err();
        assert!(error.to_string().contains(want), "{error}");
    }
}

#[test]
fn a_page_is_told_what_was_then_what_is_and_only_what_is_new() {
    let mut stage = Stage::new();
    stage.publish(snapshot());
    stage.get_when_there("/api/snapshot");
    let mut page = Page::open(&stage);
    let (name, hello) = page.next().unwrap();
    assert_eq!((name.as_str(), &hello["about"]["name"]), ("hello", &Value::from("crawler")));
    assert_eq!(hello["command"].as_str().unwrap().len(), 32);
    assert_eq!(page.names(4), ["history", "hosts", "rules", "view"]);
    let mut later = snapshot();
    later.counters.done = 41;
    stage.publish(later.clone());
    let (name, view) = page.next().unwrap();
    assert_eq!((name.as_str(), &view["counters"]["done"]), ("view", &Value::from(41)));
    later.view.hosts.clear();
    later.ended = Some(Ended::Complete);
    stage.publish(later);
    stage.snapshots.take();
    assert_eq!(page.names(1), ["hosts"]);
    let (name, view) = page.next().unwrap();
    assert_eq!((name.as_str(), &view["ended"]), ("view", &Value::from("complete")));
    assert!(page.next().is_none(), "the stream outlives the crawl");
}

#[test]
fn a_page_that_comes_late_gets_the_history() {
    let stage = Stage::new();
    let mut first = Page::open(&stage);
    assert_eq!(first.names(2), ["hello", "history"]);
    for second in 1..=5u64 {
        let at = crate::clock::Timestamp::from_millis(second * 1_000);
        stage.publish(Snapshot { at, ..snapshot() });
        while first.next().unwrap().0 != "view" {}
    }
    let mut late = Page::open(&stage);
    assert_eq!(late.names(1), ["hello"]);
    let (_, history) = late.next().unwrap();
    assert_eq!(history["times"], serde_json::json!([1000, 2000, 3000, 4000, 5000]));
}

#[test]
fn hostile_names_travel_as_json_in_answers_that_are_no_documents() {
    let stage = Stage::new();
    stage.publish(snapshot());
    let answer = stage.get_when_there("/api/snapshot");
    assert!(answer.head.contains("content-type: application/json"));
    let json: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(json["view"]["hosts"][0]["name"], "<img src=x onerror=alert(1)>.example");
    assert_eq!(json["view"]["dust"]["rules"][0]["text"], "drop <script>alert(2)</script>");
}

#[test]
fn commands_reach_the_crawl_with_the_pages_token_only() {
    let mut stage = Stage::new();
    let (_, hello) = Page::open(&stage).next().unwrap();
    let token = hello["command"].as_str().unwrap().to_owned();
    let forged = [
        vec![],
        vec![("X-Crawler-Command", "guess")],
        vec![("X-Crawler-Command", token.as_str()), ("Origin", "http://evil.example")],
        vec![("X-Crawler-Command", token.as_str()), ("Sec-Fetch-Site", "cross-site")],
    ];
    for headers in forged {
        assert_eq!(stage.ask("POST", "/api/pause", &headers).status, 403, "{headers:?}");
    }
    assert!(stage.commands.try_recv().is_err(), "a forged command reached the crawl");

    let ours = [("X-Crawler-Command", token.as_str()), ("Sec-Fetch-Site", "same-origin")];
    for (path, word) in [("/api/pause", "paused"), ("/api/resume", "running")] {
        let mut waiting = stage.send("POST", path, &ours);
        let command = stage.commands.blocking_recv().unwrap();
        match command {
            Command::Pause(reply) if word == "paused" => reply.send("paused".to_owned()).unwrap(),
            Command::Resume(reply) => reply.send("running".to_owned()).unwrap(),
            other => panic!("{other:?}"),
        }
        let mut answer = String::new();
        waiting.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.ends_with(&format!("{{\"answer\":\"{word}\"}}")), "{answer}");
    }
    stage.commands.close();
    let answer = stage.ask("POST", "/api/pause", &ours);
    assert_eq!(answer.status, 503);
    assert!(answer.body.contains("the crawl has ended"), "{}", answer.body);
}

#[test]
fn open_pages_are_bounded_and_a_closed_one_makes_room() {
    let stage = Stage::with(|settings| settings.pages_max = 2);
    stage.publish(snapshot());
    let first = Page::open(&stage);
    let _second = Page::open(&stage);
    let refused = stage.get("/events");
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("dashboard.pages_max"));
    assert_eq!(stage.get("/").status, 200, "the page itself still loads");
    drop(first);
    // That a client is gone shows when something is sent to it.
    for second in 0.. {
        let at = crate::clock::Timestamp::from_millis(second);
        stage.publish(Snapshot { at, ..snapshot() });
        let mut stream = stage.send("GET", "/events", &[]);
        let mut start = [0; 12];
        stream.read_exact(&mut start).unwrap();
        if &start == b"HTTP/1.1 200" {
            break;
        }
        assert!(second < 10_000, "the place of a closed page is never free again");
    }
}

#[test]
fn connections_are_bounded_and_those_beyond_are_closed_at_once() {
    let stage = Stage::with(|settings| (settings.connections_max, settings.pages_max) = (3, 2));
    let _pages = [Page::open(&stage), Page::open(&stage)];
    let mut idle = stage.connect();
    idle.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    let mut beyond = stage.connect();
    // Accepted after the idle one, so the idle one holds the last place by now.
    let mut rest = Vec::new();
    let closed = beyond.read_to_end(&mut rest);
    assert!(rest.is_empty() && closed.map_or(true, |read| read == 0));
    let finish = format!("Host: {}\r\n\r\n", stage.address);
    idle.write_all(finish.as_bytes()).unwrap();
    let mut answer = String::new();
    idle.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn a_head_without_end_is_cut_off() {
    let stage = Stage::new();
    let mut stream = stage.connect();
    let line = format!("X-Filler: {}\r\n", "x".repeat(1000));
    let mut sent = stream.write_all(b"GET / HTTP/1.1\r\n");
    for _ in 0..1000 {
        if sent.is_err() {
            break;
        }
        sent = stream.write_all(line.as_bytes());
    }
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer);
    assert!(read.is_err() || text.starts_with("HTTP/1.1 431") || text.is_empty(), "{text}");
    assert_eq!(stage.get("/").status, 200);
}

#[test]
fn metrics_come_in_their_format_and_before_the_first_figures_a_wait_is_asked_for() {
    let stage = Stage::new();
    let early = stage.get("/metrics");
    assert_eq!(early.status, 503);
    assert!(early.head.contains("retry-after: 1"));
    stage.publish(snapshot());
    let answer = stage.get_when_there("/metrics");
    assert!(answer.head.contains(&format!("content-type: {}", super::metrics::MEDIA_TYPE)));
    assert!(answer.body.contains("\ncrawler_urls_discovered_total 100\n"), "{}", answer.body);
    assert!(answer.body.ends_with("# EOF\n"));
}
