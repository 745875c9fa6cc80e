//! The demo replaces earlier demos and nothing else.

use super::docs::copy;
use super::*;

/// Ends a demo before its first request: what it finds and replaces happens before.
const BRIEFLY: [&str; 4] = ["--set", "limits.time_max=1ms", "--set", "limits.disk_reserve=1MB"];

fn demo(dir: &Path, more: &[&str]) -> Output {
    crawler(dir, &[&["demo", "--quiet"], &BRIEFLY[..], more].concat())
}

fn done(dir: &Path, crawl: &str) -> Value {
    let output = crawler(dir, &["status", "--json", "--dir", crawl]);
    check(&output, 0, &[]);
    json(&output)["counters"]["done"].clone()
}

/// `CRAWLER_DIR`, as in the image, names the directory of the crawl for every command.
#[test]
fn a_crawl_that_no_demo_made_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    copy(&crawled().dir.path().join("crawl"), &dir.path().join("crawl"));
    for more in [&["--dir", "crawl"][..], &["--dir", "crawl", "--keep"]] {
        check(&demo(dir.path(), more), 2, &["a crawl that no demo made", "--dir"]);
        assert_eq!(done(dir.path(), "crawl"), 6);
    }
    assert!(!dir.path().join("crawl/demo.port").exists());
}

#[test]
fn what_a_run_went_on_with_is_no_demo_any_more() {
    let dir = tempfile::tempdir().unwrap();
    check(&demo(dir.path(), &[]), 10, &[]);
    let url = crawled().url("/");
    let run = [&["run", &url, "--dir", "demo-crawl"], &LOOPBACK[..], &BRIEFLY].concat();
    check(&crawler(dir.path(), &run), 10, &[]);
    check(&demo(dir.path(), &[]), 2, &["a crawl that no demo made"]);
}

/// The second demo removed the whole directory that the configuration names for the archive.
#[test]
fn no_file_goes_that_a_demo_did_not_make() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("crawler.toml"), "[archive]\ndir = \"../precious\"\n").unwrap();
    check(&demo(dir.path(), &[]), 10, &[]);
    let own = ["precious", "demo-crawl/archive", "demo-crawl/log", "demo-crawl/state"];
    for place in own {
        let place = dir.path().join(place);
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("notes.txt"), "mine").unwrap();
    }
    check(&demo(dir.path(), &[]), 10, &[]);
    for place in own {
        assert!(dir.path().join(place).join("notes.txt").exists(), "{place}");
    }
    assert_eq!(std::fs::read_dir(dir.path().join("precious")).unwrap().count(), 1);
    let status = json(&crawler(dir.path(), &["status", "--json", "--dir", "demo-crawl"]));
    assert_eq!(status["runs"], 1, "the earlier demo is gone");
}

#[test]
fn a_demo_beside_a_running_one_is_refused_before_anything_goes() {
    let dir = tempfile::tempdir().unwrap();
    check(&demo(dir.path(), &[]), 10, &[]);
    let state = dir.path().join("demo-crawl/state");
    let log = dir.path().join("demo-crawl/log/crawl-00001.jsonl");
    let held = crawler::db::Db::open(&state, &Default::default()).unwrap();
    check(&demo(dir.path(), &[]), 75, &["another process"]);
    assert!(log.exists() && state.join("CURRENT").exists(), "nothing was removed");
    drop(held);
    let marker = dir.path().join("demo-crawl/demo.port");
    let marker = std::fs::OpenOptions::new().write(true).open(marker).unwrap();
    marker.lock().unwrap();
    check(&demo(dir.path(), &[]), 75, &["another demo"]);
    assert!(log.exists() && state.join("CURRENT").exists(), "nothing was removed");
}

#[test]
fn an_archive_has_a_directory_with_a_name() {
    let dir = tempfile::tempdir().unwrap();
    for bad in ["", "..", ".", "a/.."] {
        let set = format!("archive.dir=\"{bad}\"");
        let output = crawler(dir.path(), &["config", "check", "--set", &set]);
        check(&output, 78, &["archive.dir", "must end in a name"]);
    }
    let set = ["config", "check", "--set", "archive.dir=\"../warcs\""];
    check(&crawler(dir.path(), &set), 0, &[]);
}
