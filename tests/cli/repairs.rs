//! What `repair` leaves, and that it says so.

use std::io::{Read, Write};
use std::path::PathBuf;

use super::*;

/// A copy of the crawl's directory, to be damaged; and its only WARC file.
fn copied() -> (tempfile::TempDir, PathBuf) {
    let copy = tempfile::tempdir().unwrap();
    docs::copy(&crawled().dir.path().join("crawl"), &copy.path().join("crawl"));
    let entries = std::fs::read_dir(copy.path().join("crawl/archive")).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let warc = paths.find(|path| path.extension().is_some_and(|end| end == "gz")).unwrap();
    (copy, warc)
}

/// Damages an archive; `repair` must leave what `verify` finds afterwards, and name all of it.
#[track_caller]
fn check_left(damage: impl FnOnce(&Path), want: &str) {
    let (copy, warc) = copied();
    damage(&warc);
    check(&crawler(copy.path(), &["verify"]), 20, &[]);
    let repaired = crawler(copy.path(), &["repair"]);
    check(&repaired, 20, &[]);
    let repaired = text(&repaired.stdout);
    assert!(!repaired.contains("there was nothing to mend"), "{repaired}");
    let verified = crawler(copy.path(), &["verify"]);
    check(&verified, 20, &[]);
    let verified = text(&verified.stdout);
    assert!(
        !verified.contains("`repair` cuts") && !verified.contains("`repair` makes"),
        "{verified}"
    );
    let is_problem = |line: &&str| line.starts_with("archive: ") || line.starts_with("state: ");
    let problems: Vec<&str> = verified.lines().filter(is_problem).collect();
    assert!(problems.iter().any(|problem| problem.contains(want)), "{want}: {verified}");
    for problem in problems {
        assert!(repaired.contains(&format!("left       {problem}\n")), "{problem}: {repaired}");
    }
}

#[test]
fn what_verify_would_still_report_is_left_and_named() {
    let (copy, _) = copied();
    let sound = crawler(copy.path(), &["repair"]);
    check(&sound, 0, &[]);
    assert_eq!(text(&sound.stdout), "there was nothing to mend\n");
    let beside = |name: &'static str, bytes: &'static [u8]| {
        move |warc: &Path| std::fs::write(warc.with_file_name(name), bytes).unwrap()
    };
    let no_gzip = b"\x1f\x8b\x08not gzip at all";
    check_left(beside("alien.warc.gz", no_gzip), "alien.warc.gz at 0: no whole record in 18 bytes");
    let cut = b"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 900\r\n\r\ncut";
    check_left(beside("alien.warc", cut), "`repair` leaves it");
    check_left(|warc| std::fs::write(warc, "").unwrap(), "lost-record");
    check_left(|warc| std::fs::remove_file(warc).unwrap(), "lost-record");
    let half = |warc: &Path| {
        let bytes = std::fs::read(warc).unwrap();
        std::fs::write(warc, &bytes[..bytes.len() * 2 / 3]).unwrap();
    };
    check_left(half, "lost-record");
    let one_member = |warc: &Path| {
        let (packed, mut plain) = (std::fs::read(warc).unwrap(), Vec::new());
        flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut plain).unwrap();
        let file = std::fs::File::create(warc).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        encoder.write_all(&plain).unwrap();
        encoder.finish().unwrap();
    };
    check_left(one_member, "shares its gzip member with others");
}

/// They looked in the default place: records were lost, there was nothing to export.
#[test]
fn commands_that_look_find_the_archive_where_the_latest_run_wrote_it() {
    let crawled = crawled();
    let dir = tempfile::tempdir().unwrap();
    let (home, page) = (crawled.url("/"), crawled.url("/a"));
    let place = format!("archive.dir={}", dir.path().join("warcs").display());
    let more = ["--set", "limits.disk_reserve=1MB", "--set", &place];
    check(&crawler(dir.path(), &[&["run", &home], &LOOPBACK[..], &more].concat()), 0, &[]);
    assert!(!dir.path().join("crawl/archive").exists());
    for args in [
        &["verify", "--all"][..],
        &["verify", "--archive-only"],
        &["repair"],
        &["sketch", &page],
        &["dups", "--diff", &page, &home],
        &["diff", "--url", &page, "crawl", "crawl"],
    ] {
        check(&crawler(dir.path(), args), 0, &[]);
    }
    let exported = crawler(dir.path(), &["export", "--format", "jsonl"]);
    check(&exported, 0, &[]);
    assert!(text(&exported.stdout).contains(&page), "{}", text(&exported.stdout));
    // What is said now is stronger.
    let default = ["verify", "--set", "archive.dir=archive"];
    check(&crawler(dir.path(), &default), 20, &[]);
}
