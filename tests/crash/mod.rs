//! The real process, killed again and again: nothing lost, nothing twice, nobody hurried.
//!
//! `CRASH_KILLS=50 cargo test --test all crash::` kills more often than every test run has time
//! for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crawler::archive;
use crawler::clock::{Clock, Timestamp};
use crawler::crawl::audit;
use crawler::db::families::urls;
use crawler::db::{Db, Settings};
use crawler::demo::{Draft, Server, ServerOptions, Truth, WebSpec};
use crawler::frontier::UrlState;
use crawler::url::CrawlUrl;

fn crawl(server: &Server, dir: &Path, seeds: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_crawler"))
        .args(["run", "--quiet", "--contact", "mailto:test@crawler.test"])
        .arg("--dir")
        .arg(dir)
        .arg("--seeds")
        .arg(seeds)
        .args(["--set", &format!("dns.servers=[\"{}\"]", server.dns_addr())])
        .args(["--set", "dns.allow=[\"127.0.0.0/8\"]"])
        .args(["--set", "politeness.min_delay=20ms", "--set", "politeness.max_delay=200ms"])
        .args([
            "--set",
            "archive.size_max=1MB",
            "--set",
            "archive.compression=none",
            "--set",
            "limits.disk_reserve=1MB",
        ])
        .args(["--set", "dust.mode=off"])
        .current_dir(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("the program starts")
}

/// Number of lines in the crawl log.
fn lines(dir: &Path) -> usize {
    let files = crawler::crawl::log::files(&dir.join("log")).unwrap_or_default();
    files.iter().filter_map(|file| std::fs::read(file).ok()).map(|text| count(&text)).sum()
}

fn count(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

/// Waits until the crawl has logged `more` further requests, or has ended; returns true in the
/// latter case. It looks again and again, bounded, since only the process knows when it gets there.
fn until_logged(child: &mut Child, dir: &Path, more: usize) -> bool {
    let want = lines(dir) + more;
    for _ in 0..60_000 {
        if let Some(status) = child.try_wait().expect("the child can be asked") {
            assert!(status.success(), "the crawl ended with {status}");
            return true;
        }
        if lines(dir) >= want {
            return false;
        }
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(1));
    }
    panic!("the crawl does not get on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_process_killed_at_any_moment_loses_nothing_and_hurries_nobody() {
    let kills: u64 = std::env::var("CRASH_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(8);
    let draft =
        Draft { hosts: 6, pages: (10, 40), sick: 0, touchy: 0, dust: 0, ..Draft::default() };
    let web = WebSpec::draw(11, &draft);
    let clock = Arc::new(Clock::system(Timestamp::ZERO));
    let server = Server::start(web, clock, ServerOptions::default()).await.expect("loopback");
    let dir = tempfile::tempdir().expect("a directory");
    let seeds = dir.path().join("seeds.txt");
    let list: Vec<String> = server.web().homes().iter().map(ToString::to_string).collect();
    std::fs::write(&seeds, list.join("\n")).expect("the list is written");

    let mut killed = 0;
    let ended = tokio::task::block_in_place(|| {
        for kill in 0..kills {
            let mut child = crawl(&server, dir.path(), &seeds);
            let more = 1 + (kill.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % 12;
            if until_logged(&mut child, dir.path(), more) {
                return true;
            }
            child.kill().expect("it can be killed");
            child.wait().expect("it is gone");
            killed += 1;
        }
        false
    });
    if !ended {
        tokio::task::block_in_place(|| {
            let status = crawl(&server, dir.path(), &seeds).wait().expect("it ends");
            assert!(status.success(), "the last run ended with {status}");
        });
    }
    assert!(killed > 2, "{killed} kills prove little");
    check_documents(&server, dir.path());
    check_archive(dir.path());
    let audit = audit::audit(&dir.path().join("log"), None).expect("the log is read");
    assert_eq!((audit.violations_total, audit.bad_lines.len()), (0, 0), "{:?}", audit.violations);
    server.shutdown().await;
}

/// Every document of the web is fetched.
fn check_documents(server: &Server, dir: &Path) {
    let db = Db::open_read_only(&dir.join("state"), &Settings::default()).expect("opens");
    let mut found = BTreeSet::new();
    urls::each(&db, |_, record| {
        if let UrlState::Done(_) = record.state
            && let Ok(url) = CrawlUrl::parse(&record.url)
            && let Some(Truth::Document { id, .. }) = server.web().truth(&url)
        {
            found.insert(id);
        }
        true
    })
    .expect("the ledger is read");
    let all: BTreeSet<_> = (0..server.web().hosts().len() as u32)
        .flat_map(|host| server.web().documents(host))
        .collect();
    let lost: Vec<_> = all.difference(&found).collect();
    assert!(lost.is_empty(), "{} of {} documents lost: {lost:?}", lost.len(), all.len());
}

/// The archive is whole, and no answer stands in it twice.
fn check_archive(dir: &Path) {
    let archive = dir.join("archive");
    let report = archive::verify(&archive).expect("the archive is read");
    assert!(report.is_clean(), "{:?}", report.problems);
    let mut pages: BTreeMap<String, u32> = BTreeMap::new();
    let selection = archive::Selection::default();
    archive::walk(&archive, &selection, 0, |found, _| {
        if found.head.kind() == "response" && !found.head.uri().ends_with("/robots.txt") {
            *pages.entry(found.head.uri().to_owned()).or_default() += 1;
        }
        Ok(())
    })
    .expect("the archive is read");
    let twice: Vec<_> = pages.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert!(pages.len() > 50);
}
