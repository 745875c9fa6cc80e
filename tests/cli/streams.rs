//! Output that nobody reads, and output that cannot be written.

use std::process::Stdio;
use std::time::Duration;

use super::docs::copy;
use super::site::{Page, html, serve_pages};
use super::*;

/// Runs the program with a standard output that is given.
fn into(dir: &Path, args: &[&str], stdout: impl Into<Stdio>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(args).current_dir(dir).stdin(Stdio::null());
    for variable in ["CRAWLER_CONFIG", "CRAWLER_DIR", "CRAWLER_CONTACT", "CRAWLER_LOG"] {
        command.env_remove(variable);
    }
    command.stdout(stdout).stderr(Stdio::piped());
    command.spawn().and_then(std::process::Child::wait_with_output).expect("the program runs")
}

/// Returns a pipe that nobody reads any more, as after `| head -0`.
fn unread() -> std::io::PipeWriter {
    std::io::pipe().expect("a pipe").1
}

fn full() -> std::fs::File {
    std::fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there")
}

#[test]
fn output_that_nobody_reads_is_no_failure() {
    let dir = crawled().dir.path();
    for args in [
        &["export", "--format", "cdxj"][..],
        &["export", "--format", "jsonl"],
        &["export", "--format", "text"],
        &["completions", "bash"],
        &["man"],
        &["status"],
        &["diff", "crawl", "crawl", "--list", "--unchanged"],
        &["config", "show"],
    ] {
        let output = into(dir, args, unread());
        check(&output, 0, &[]);
        assert!(!text(&output.stderr).contains("error"), "{args:?}: {}", text(&output.stderr));
    }
    let missing = into(dir, &["explain", "http://nobody.test/"], unread());
    check(&missing, 3, &[]);
}

#[test]
fn damage_is_told_by_the_exit_code_also_where_nobody_reads() {
    let dir = tempfile::tempdir().unwrap();
    copy(&crawled().dir.path().join("crawl"), &dir.path().join("crawl"));
    for entry in std::fs::read_dir(dir.path().join("crawl/archive")).unwrap().flatten() {
        if entry.path().display().to_string().ends_with(".cdxj") {
            std::fs::write(entry.path(), "").unwrap();
        }
    }
    check(&into(dir.path(), &["verify"], unread()), 20, &[]);
    check(&into(dir.path(), &["verify"], full()), 20, &["failed to write to standard output"]);
}

#[test]
fn output_that_cannot_be_written_is_a_failure_with_a_message() {
    let dir = crawled().dir.path();
    let want = ["failed to write to standard output", "No space left"];
    for args in [
        &["status"][..],
        &["report", "--json"],
        &["export", "--format", "cdxj"],
        &["completions", "bash"],
        &["config", "show"],
    ] {
        check(&into(dir, args, full()), 12, &want);
    }
}

fn slow_site(path: &str, _: &str) -> Page {
    match path {
        "/robots.txt" => ("404 Not Found", String::new(), String::new()),
        _ => html(path, "", "<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>"),
    }
}

/// What could not be said on standard error ended the task that was to stop the crawl.
#[test]
fn a_signal_stops_a_crawl_whose_errors_nobody_can_read() {
    let site = serve_pages(slow_site);
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_crawler"))
        .args(["run", &site, "--contact", "mailto:test@crawler.test"])
        .args(["--set", "dns.allow=[\"127.0.0.0/8\"]", "--set", "politeness.min_delay=3s"])
        .args(["--set", "limits.disk_reserve=1MB"])
        .current_dir(dir.path())
        .stdout(Stdio::null())
        .stderr(full())
        .spawn()
        .expect("the program starts");
    for _ in 0..3000 {
        if crawler(dir.path(), &["ctl", "status"]).status.success() {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(11));
}
