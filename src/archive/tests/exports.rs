//! Parts of an archive in other forms hold what was asked for and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use regex::Regex;

use super::captures::{START, about, answer, capture, plain, settings};
use super::samples::{records, sample_dir, write_all};
use crate::archive::disk::FileSystem;
use crate::archive::encode::Item;
use crate::archive::open::open;
use crate::archive::{
    Capture, Compression, Indexed, Selection, Settings, export_cdxj, export_jsonl, export_wacz,
    export_warc, verify, walk,
};

fn select(change: impl FnOnce(&mut Selection)) -> Selection {
    let mut selection = Selection::default();
    change(&mut selection);
    selection
}

/// Writes these visits to an archive and packs all of it.
fn packed(dir: &Path, visits: impl IntoIterator<Item = Capture>) -> PathBuf {
    let settings = settings(dir);
    let (mut writer, _) = open(settings.clone(), about(), None, Box::new(FileSystem)).unwrap();
    for visit in visits {
        let item = Item::Visit(Arc::new(visit));
        let encoded = writer.encoder.encode(&item, writer.info.get());
        writer.write(&item, encoded).unwrap();
    }
    writer.finish().unwrap();
    let target = dir.join("all.wacz");
    export_wacz(dir, &Selection::default(), &target, &settings, &about(), START).unwrap();
    target
}

fn uris(dir: &Path, selection: &Selection) -> Vec<String> {
    let mut out = Vec::new();
    export_jsonl(dir, selection, 0, &mut out).unwrap();
    let lines = String::from_utf8(out).unwrap();
    let json = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    json.map(|json| json["url"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn each_condition_of_a_selection_narrows_it() {
    let dir = tempfile::tempdir().unwrap();
    write_all(settings(dir.path())).await;
    let check = |change: &dyn Fn(&mut Selection), want: usize| {
        let selection = select(change);
        assert_eq!(uris(dir.path(), &selection).len(), want, "{selection:?}");
    };
    check(&|_| {}, 18);
    check(&|s| s.url = Regex::new("/short").ok(), 5);
    check(&|s| s.hosts = vec!["example.org".into()], 17);
    check(&|s| s.hosts = vec!["ample.org".into()], 0);
    check(&|s| s.mimes = vec!["text/plain".into(), "warc/".into()], 3);
    check(&|s| s.mimes = vec!["TEXT/DNS".into()], 1);
    check(&|s| s.statuses = vec!["3xx".into()], 1);
    check(&|s| s.statuses = vec!["404".into(), "204".into()], 2);
    check(&|s| s.until = Some(START), 2);
    check(&|s| s.since = Some(START.plus(std::time::Duration::from_secs(60))), 3);
}

/// The list of damages is bounded, and so was their number.
#[test]
fn all_damages_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let record = "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a.test/\r\n\
                  WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:0>\r\n\
                  Content-Type: text/plain\r\nContent-Length: 1\r\n\r\nx\r\n\r\n";
    fs::write(dir.path().join("a.warc"), format!("damage\r\n\r\n{record}").repeat(1_200)).unwrap();
    let walked = walk(dir.path(), &Selection::default(), 9, |_, _| Ok(())).unwrap();
    assert_eq!((walked.damages.len(), walked.damaged), (1_000, 1_200), "{}", walked.records);
}

#[tokio::test]
async fn a_new_warc_holds_the_wanted_records_and_what_belongs_to_them() {
    let dir = tempfile::tempdir().unwrap();
    let pages = select(|s| s.url = Regex::new("example.org/(chunked|gzip)$").ok());
    for (source, target) in [
        (Compression::Gzip, "part-1.warc.gz"),
        (Compression::Gzip, "part-1.warc"),
        (Compression::None, "part-1.warc.gz"),
        (Compression::None, "part-1.warc"),
    ] {
        let from = tempfile::tempdir_in(dir.path()).unwrap();
        let settings = Settings { compression: source, ..settings(from.path()) };
        write_all(settings.clone()).await;
        let to = tempfile::tempdir_in(dir.path()).unwrap();
        let path = to.path().join(target);
        let exported = export_warc(from.path(), &pages, &path, &settings, &about(), START).unwrap();
        let records = records(&path);
        let kinds: Vec<&str> = records.iter().map(|record| record.head.kind()).collect();
        let of_one = ["response", "request", "metadata"];
        assert_eq!(kinds, [&["warcinfo"][..], &of_one, &of_one].concat());
        assert_eq!(exported.records, 7);
        assert_eq!(exported.bytes, fs::metadata(&path).unwrap().len());
        assert_eq!(verify(to.path(), Indexed::IfAny).unwrap().problems, []);
        let again = export_warc(from.path(), &pages, &path, &settings, &about(), START);
        assert!(again.is_err(), "an existing file is not overwritten");
    }
}

#[tokio::test]
async fn json_lines_carry_the_text_decoded() {
    let dir = tempfile::tempdir().unwrap();
    write_all(settings(dir.path())).await;
    let mut out = Vec::new();
    let coded = select(|s| s.url = Regex::new("/gzip-chunked$").ok());
    export_jsonl(dir.path(), &coded, 1000, &mut out).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["text"], "<!doctype html><title>A page</title><p>Some text, é too.</p>");
    assert_eq!((&json["status"], &json["mime"]), (&200.into(), &"text/html".into()));
    let mut out = Vec::new();
    export_jsonl(dir.path(), &coded, 9, &mut out).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["text"], "<!doctype");
}

#[tokio::test]
async fn the_exported_index_is_the_one_beside_the_file() {
    let dir = tempfile::tempdir().unwrap();
    write_all(settings(dir.path())).await;
    let mut out = Vec::new();
    export_cdxj(dir.path(), &Selection::default(), &mut out).unwrap();
    let index = super::samples::finished(dir.path(), ".cdxj").remove(0);
    assert_eq!(out, fs::read(index).unwrap());
}

#[tokio::test]
async fn a_wacz_holds_the_files_their_index_and_the_pages() {
    let (dir, _guard) = sample_dir("wacz");
    write_all(settings(&dir)).await;
    write_all(settings(&dir)).await;
    for (name, selection, warcs, lines) in [
        ("all.wacz", Selection::default(), 2, 36),
        ("some.wacz", select(|s| s.statuses = vec!["200".into()]), 1, 26),
    ] {
        let target = dir.join(name);
        let settings = settings(&dir);
        export_wacz(&dir, &selection, &target, &settings, &about(), START).unwrap();
        let mut zip = zip::ZipArchive::new(fs::File::open(&target).unwrap()).unwrap();
        let names: Vec<String> = zip.file_names().map(|name| name.unwrap().into_owned()).collect();
        let held = names.iter().filter(|name| name.starts_with("archive/")).count();
        assert_eq!(held, warcs);
        let mut index = String::new();
        let mut entry = zip.by_name("indexes/index.cdx.gz").unwrap();
        let mut decoder = flate2::read::MultiGzDecoder::new(&mut entry);
        std::io::Read::read_to_string(&mut decoder, &mut index).unwrap();
        drop(entry);
        assert_eq!(index.lines().count(), lines);
        assert!(index.lines().is_sorted());
        let mut pages = String::new();
        let mut entry = zip.by_name("pages/pages.jsonl").unwrap();
        std::io::Read::read_to_string(&mut entry, &mut pages).unwrap();
        assert!(pages.contains("{\"id\":\"page-0\",\"url\":\"http"), "{pages}");
    }
    assert!(super::samples::finished(&dir, ".part.warc.gz").is_empty());
}

/// The file was listed under the name that it had while it grew, and not found under it.
#[test]
fn a_file_that_is_finished_during_an_export_is_found_under_its_new_name() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path());
    let (mut writer, _) = open(settings.clone(), about(), None, Box::new(FileSystem)).unwrap();
    for path in ["/one", "/two"] {
        let item = Item::Visit(Arc::new(plain(path, path.as_bytes())));
        let encoded = writer.encoder.encode(&item, writer.info.get());
        writer.write(&item, encoded).unwrap();
        if path == "/one" {
            writer.finish().unwrap();
        }
    }
    let mut found = Vec::new();
    let walked = walk(dir.path(), &Selection::default(), 0, |one, _| {
        found.push(one.head.uri().to_owned());
        writer.finish()
    });
    assert_eq!(walked.unwrap().damages, []);
    assert_eq!(found, ["http://example.org/one", "http://example.org/two"]);
}

/// Returns the contents of an entry of a ZIP file.
fn entry(zip: &Path, name: &str) -> Vec<u8> {
    let mut zip = zip::ZipArchive::new(fs::File::open(zip).unwrap()).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut zip.by_name(name).unwrap(), &mut bytes).unwrap();
    bytes
}

/// Its keys were cut at a brace, so that many members had one key, and a reader that goes by it
/// looked into the last of them only.
#[test]
fn each_member_of_a_packed_index_is_found_by_its_first_line() {
    let dir = tempfile::tempdir().unwrap();
    let visits = (0..700).map(|n| plain(&format!("/t?q={{{n:04}}}"), b""));
    let target = packed(dir.path(), visits);
    let index = entry(&target, "indexes/index.cdx.gz");
    let second = String::from_utf8(entry(&target, "indexes/index.idx")).unwrap();
    let places: Vec<(&str, serde_json::Value)> = second
        .lines()
        .skip(1)
        .map(|line| line.split_once(" {").unwrap())
        .map(|(key, json)| (key, serde_json::from_str(&format!("{{{json}")).unwrap()))
        .collect();
    assert_eq!(places.len(), 3);
    for (key, place) in places {
        let offset = place["offset"].as_u64().unwrap() as usize;
        let mut text = String::new();
        let mut member = flate2::read::GzDecoder::new(&index[offset..]);
        std::io::Read::read_to_string(&mut member, &mut text).unwrap();
        assert!(text.starts_with(&format!("{key} {{")), "{key}: {}", &text[..60]);
    }
}

#[test]
fn a_page_is_listed_however_its_type_is_spelled() {
    let dir = tempfile::tempdir().unwrap();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: Text/HTML;charset=utf-8\r\nContent-Length: 1";
    let target = packed(dir.path(), [capture("/loud", answer(head, b"x"))]);
    let pages = String::from_utf8(entry(&target, "pages/pages.jsonl")).unwrap();
    assert!(pages.contains("http://example.org/loud"), "{pages}");
}

#[tokio::test]
async fn a_packed_file_calls_itself_as_its_package_does() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path());
    write_all(settings.clone()).await;
    let target = dir.path().join("some.wacz");
    let some = select(|s| s.statuses = vec!["200".into()]);
    export_wacz(dir.path(), &some, &target, &settings, &about(), START).unwrap();
    let name = "crawl-selection.warc.gz";
    let copy = dir.path().join("copy");
    fs::write(&copy, entry(&target, &format!("archive/{name}"))).unwrap();
    assert_eq!(records(&copy)[0].head.get("WARC-Filename"), Some(name));
}

/// It was left out of exports and checks, without a word.
#[tokio::test]
async fn a_file_that_was_moved_and_left_a_link_is_part_of_the_archive() {
    let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_all(settings(dir.path())).await;
    let everything = Selection::default();
    let before = uris(dir.path(), &everything);
    let file = super::samples::finished(dir.path(), ".warc.gz").remove(0);
    let moved = elsewhere.path().join("moved");
    fs::copy(&file, &moved).unwrap();
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&moved, &file).unwrap();
    assert_eq!(uris(dir.path(), &everything), before);
    fs::remove_file(&moved).unwrap();
    assert!(uris(dir.path(), &everything).is_empty());
}
