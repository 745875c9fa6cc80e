//! `crawler ctl` against the real process: while it runs, after a kill, and when it runs again.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crawler::clock::{Clock, Timestamp};
use crawler::demo::{Latency, Server, ServerOptions, SiteSpec, WebSpec};
use serde_json::Value;

use super::{check, crawler, json, text};

fn run(server: &Server, dir: &Path, min_delay: &str) -> Child {
    let homes = server.web().homes();
    let seeds: String = homes.iter().map(|url| format!("{url}\n")).collect();
    std::fs::write(dir.join("seeds.txt"), seeds).expect("it is written");
    let servers = format!("dns.servers=[\"{}\"]", server.dns_addr());
    let min_delay = format!("politeness.min_delay={min_delay}");
    Command::new(env!("CARGO_BIN_EXE_crawler"))
        .args(["run", "--quiet", "--contact", "mailto:test@crawler.test", "--seeds", "seeds.txt"])
        .args(["--set", &servers, "--set", "dns.allow=[\"127.0.0.0/8\"]"])
        .args(["--set", &min_delay, "--set", "limits.disk_reserve=1MB"])
        .args(["--set", "dust.mode=off"])
        .current_dir(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("the program starts")
}

/// Asks again and again, bounded, until an answer is as wanted: only the process knows when.
fn until(dir: &Path, args: &[&str], is: impl Fn(i32, &Value) -> bool) -> Value {
    for _ in 0..3000 {
        let output = crawler(dir, args);
        let value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if is(output.status.code().unwrap_or(-1), &value) {
            return value;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    panic!("{args:?} never says what is wanted");
}

fn ctl(dir: &Path, args: &[&str]) -> Value {
    let output = crawler(dir, &[&["ctl", "--json"], args].concat());
    check(&output, 0, &[]);
    json(&output)
}

/// A site that answers in no time, so that the crawl takes as long as its `min_delay` says.
fn swift(name: &str) -> SiteSpec {
    let latency = Latency { base: Duration::ZERO, spread: Duration::ZERO, rate: 0 };
    SiteSpec { latency, ..SiteSpec::new(name, 35) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_running_crawl_is_steered_through_its_socket_and_remembers_it_after_a_kill() {
    let clock = Arc::new(Clock::system(Timestamp::ZERO));
    let web = WebSpec::new(4, ["one.test", "two.test", "three.test"].map(swift).to_vec());
    let server = Server::start(web, clock, ServerOptions::default()).await.expect("it serves");
    tokio::task::block_in_place(|| steer(&server));
    server.shutdown().await;
}

/// What reads the state beside the crawl: explanations and the report.
fn seen_from_outside(server: &Server, dir: &Path) {
    let web = server.web();
    let urls = web.documents(0).filter_map(|id| web.url(id)).map(|url| url.to_string());
    let args: Vec<String> =
        ["explain", "--json"].map(str::to_owned).into_iter().chain(urls).collect();
    let output = crawler(dir, &args.iter().map(String::as_str).collect::<Vec<_>>());
    let said: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |is: &str| said.iter().filter(|line| line["state"]["is"] == is).collect::<Vec<_>>();
    assert!(!of("done").is_empty(), "{said:?}");
    let queued = of("queued");
    let first = queued.first().expect("most pages still wait");
    let why = first["state"]["why"].as_str().unwrap_or_default();
    assert!(why.starts_with("the crawl is paused (`crawler ctl resume`)"), "{first}");
    assert_eq!(first["state"]["earliest"], Value::Null, "{first}");
    let report = crawler(dir, &["report", "--json"]);
    check(&report, 0, &[]);
    assert_eq!(json(&report)["state"], "running");
}

fn steer(server: &Server) {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path();
    let mut child = run(server, dir, "200ms");
    let status = ["ctl", "status", "--json"];
    let shown = until(dir, &status, |code, value| {
        code == 0 && value["snapshot"]["counters"]["done"].as_u64() > Some(5)
    });
    super::schemas::compare_with_page("ctl status", &shown);
    let socket = dir.join("crawl/control.sock");
    let mode = std::fs::metadata(&socket).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "nobody else may steer");
    assert_eq!(ctl(dir, &["pause"])["text"], "paused");
    until(dir, &status, |_, value| {
        let snapshot = &value["snapshot"];
        snapshot["brake"]["brake"] == "paused" && snapshot["in_flight"] == 0
    });
    seen_from_outside(server, dir);
    let homes = server.web().homes();
    let host = homes[1].host_str();
    let counted = ctl(dir, &["exclude", "add", host, "--preview"]);
    assert_eq!(counted["count"]["exact"], true, "{counted}");
    let dropped = ctl(dir, &["exclude", "add", host]);
    assert_eq!(counted["count"]["urls"], dropped["count"]["urls"]);
    check(&crawler(dir, &["ctl", "exclude", "add", "regex:("]), 2, &["regex:("]);
    check(&crawler(dir, &["ctl", "forgive", "nobody.test"]), 3, &["knows no host nobody.test"]);
    check(&crawler(dir, &["ctl", "log", "loud"]), 2, &["`loud` is no log level"]);
    assert_eq!(ctl(dir, &["log", "info"])["text"], "log level: info");
    assert_eq!(ctl(dir, &["budget", "--host-pages", "500"])["budget"]["host_pages"], 500);
    child.kill().expect("it is killed");
    child.wait().expect("it is gone");

    let gone = ["no crawl runs in crawl", "crawler run"];
    check(&crawler(dir, &["ctl", "status"]), 3, &gone);
    check(&crawler(dir, &["ctl", "stop"]), 3, &gone);
    let offline = ctl(dir, &["delay", host, "50ms"]);
    assert_eq!(offline["running"], false, "{offline}");
    assert_eq!(ctl(dir, &["budget"])["budget"]["host_pages"], 500);
    check(&crawler(dir, &["ctl", "exclude", "remove", "other.test"]), 3, &["is not excluded"]);

    let mut child = run(server, dir, "10ms");
    until(dir, &status, |_, value| value["snapshot"]["brake"]["brake"] == "paused");
    let back = ctl(dir, &["exclude", "remove", host]);
    assert!(back["count"]["urls"].as_u64() >= dropped["count"]["urls"].as_u64(), "{back}");
    ctl(dir, &["resume"]);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(!socket.exists(), "a crawl that has ended leaves no socket");
    check(&crawler(dir, &["verify"]), 0, &[]);
    check(&crawler(dir, &["audit"]), 0, &[]);
    let journal = std::fs::read_to_string(dir.join("crawl/log/control.jsonl")).unwrap();
    let done: Vec<Value> = journal.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let orders: Vec<&str> = done.iter().filter_map(|e| e["order"]["do"].as_str()).collect();
    let refused = ["exclude", "forgive"];
    let want = ["pause", "exclude", refused[0], refused[1], "log", "budget"];
    let after = ["delay", "include", "include", "resume"];
    assert_eq!(orders, [&want[..], &after[..]].concat(), "{journal}");
    assert!(done.iter().all(|entry| entry["by"]["uid"].is_u64()), "{journal}");
}

#[test]
fn without_a_crawl_there_is_nothing_to_steer_or_to_watch() {
    let dir = tempfile::tempdir().unwrap();
    for args in [&["ctl", "pause"][..], &["ctl", "status"], &["ctl", "exclude", "add", "a.test"]] {
        check(&crawler(dir.path(), args), 3, &["no crawl runs in crawl", "crawler run"]);
    }
    check(&crawler(dir.path(), &["top"]), 2, &["needs a terminal", "ctl status --json"]);
    let deep = "d".repeat(120);
    check(&crawler(dir.path(), &["ctl", "pause", "--dir", &deep]), 1, &["shorter --dir"]);
}

#[test]
fn a_mistyped_order_is_a_usage_error() {
    let dir = tempfile::tempdir().unwrap();
    for (args, want) in [
        (&["ctl", "delay", "a.test", "soon"][..], "is not a duration"),
        (&["ctl", "budget", "--total-pages", "many"], "write a number"),
        (&["ctl", "rules", "maybe"], "possible values: on, off"),
        (&["ctl", "fly"], "unrecognized subcommand"),
    ] {
        let output = crawler(dir.path(), args);
        check(&output, 2, &[want]);
        assert_eq!(text(&output.stdout), "");
    }
}
