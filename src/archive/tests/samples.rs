//! An archive with every kind of record, read back here and, where asked, left for other judges.
//!
//! With `ARCHIVE_SAMPLES=DIR` the archives stay in `DIR`, so that validators by others can be
//! pointed at them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::captures::{about, all, dns, revisits, settings};
use crate::archive::{
    Archive, Compression, Reader, Record, RevisitPolicy, Settings, SyncPolicy, Written,
};
use crate::clock::ByteSize;

/// Where samples go; the guard removes them unless somebody asked for them.
pub(super) fn sample_dir(name: &str) -> (PathBuf, Option<tempfile::TempDir>) {
    match std::env::var_os("ARCHIVE_SAMPLES") {
        Some(dir) => {
            let dir = Path::new(&dir).join(name);
            let _ = fs::remove_dir_all(&dir);
            (dir, None)
        }
        None => {
            let dir = tempfile::tempdir().unwrap();
            (dir.path().to_owned(), Some(dir))
        }
    }
}

pub(super) async fn write_all(settings: Settings) -> Vec<Written> {
    let (archive, opened) = Archive::open(settings, about(), None).unwrap();
    assert_eq!(opened.cuts, []);
    let mut written = vec![archive.write_dns(Arc::new(dns())).await.unwrap()];
    let captures = all();
    for capture in &captures {
        written.push(archive.write(Arc::new(capture.clone())).await.unwrap());
    }
    let body = match &*captures[0].outcome {
        crate::fetch::Outcome::Answer(answer) => answer.body.clone(),
        crate::fetch::Outcome::Failed(_) => unreachable!("the first sample is a page"),
    };
    for capture in revisits("/plain", &body, &written[1]) {
        written.push(archive.write(Arc::new(capture)).await.unwrap());
    }
    archive.close().await.unwrap();
    written
}

pub(super) fn records(path: &Path) -> Vec<Record> {
    let mut reader = Reader::open_at(path, 0).unwrap();
    std::iter::from_fn(|| reader.next_record(1 << 20)).map(Result::unwrap).collect()
}

pub(super) fn finished(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        entries.filter(|path| path.to_str().unwrap().ends_with(ending)).collect();
    paths.sort();
    paths
}

async fn check_samples(name: &str, change: impl FnOnce(&mut Settings)) -> Vec<Record> {
    let (dir, _guard) = sample_dir(name);
    let mut settings = settings(&dir);
    change(&mut settings);
    let gzip = settings.compression == Compression::Gzip;
    let written = write_all(settings).await;
    let files = finished(&dir, if gzip { ".warc.gz" } else { ".warc" });
    assert_eq!(files.len(), 1);
    let records = records(&files[0]);
    let length = fs::metadata(&files[0]).unwrap().len();
    let last = records.last().unwrap().extent;
    assert_eq!(last.offset + last.length, length);
    for written in &written {
        let at = &written.at;
        let found = records.iter().find(|record| record.extent.offset == at.offset).unwrap();
        assert_eq!(found.extent.length, at.length);
        assert_eq!(found.head.get("WARC-Record-ID"), Some(&*format!("<{}>", written.record_id)));
    }
    let index = fs::read_to_string(&finished(&dir, ".cdxj")[0]).unwrap();
    let lines: Vec<&str> = index.lines().collect();
    assert!(lines.is_sorted());
    assert_eq!(lines.len(), written.iter().filter(|written| written.cdxj.is_some()).count());
    assert!(finished(&dir, ".open").is_empty());
    records
}

fn count(records: &[Record]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts.entry(record.head.kind()).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn every_kind_of_visit_is_kept_and_read_back() {
    let records = check_samples("gzip", |_| {}).await;
    let want = [
        ("metadata", 20),
        ("request", 19),
        ("resource", 1),
        ("response", 15),
        ("revisit", 2),
        ("warcinfo", 1),
    ];
    assert_eq!(count(&records), want.into());
    let chunked = records.iter().find(|r| r.head.uri().ends_with("/chunked")).unwrap();
    assert!(chunked.block.ends_with(b"\r\n0\r\n\r\n"));
    let page = records.iter().find(|r| r.head.uri().ends_with("/plain")).unwrap();
    let digest = |record: &Record| record.head.get("WARC-Payload-Digest").unwrap().to_owned();
    assert_eq!(digest(page), digest(chunked));
    let revisit = records.iter().find(|r| r.head.kind() == "revisit").unwrap();
    assert_eq!(digest(page), digest(revisit));
    assert!(revisit.block.ends_with(b"\r\n\r\n"));
    assert_eq!(revisit.head.get("WARC-Refers-To"), page.head.get("WARC-Record-ID"));
    let unchanged = records.iter().rfind(|r| r.head.kind() == "revisit").unwrap();
    assert_eq!((unchanged.block.len(), unchanged.head.get("Content-Type")), (0, None));
    let h2 = records.iter().find(|r| r.head.get("WARC-Protocol") == Some("h2")).unwrap();
    assert_eq!(h2.head.get("WARC-Cipher-Suite"), Some("TLS_AES_128_GCM_SHA256"));
}

#[tokio::test]
async fn records_can_stand_uncompressed() {
    let records = check_samples("plain", |settings| {
        settings.compression = Compression::None;
        settings.sync = SyncPolicy::Record;
    });
    assert_eq!(records.await.len(), 58);
}

#[tokio::test]
async fn revisits_are_whole_responses_where_the_settings_say_so() {
    let records = check_samples("no-revisits", |settings| {
        settings.revisit = RevisitPolicy::Never;
        settings.level = 1;
    });
    assert_eq!(count(&records.await).get("revisit"), None);
}

#[tokio::test]
async fn a_file_is_finished_before_it_grows_past_its_limit() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        compression: Compression::None,
        size_max: ByteSize(1_000_000),
        ..settings(dir.path())
    };
    let (archive, _) = Archive::open(settings, about(), None).unwrap();
    let body = vec![b'x'; 300_000];
    let writes = (0..10).map(|i| {
        let capture = Arc::new(super::captures::plain(&format!("/{i}"), &body));
        let archive = archive.clone();
        async move { archive.write(capture).await.unwrap() }
    });
    let written = futures_util::future::join_all(writes).await;
    archive.close().await.unwrap();
    let files = finished(dir.path(), ".warc");
    assert_eq!(files.len(), 4);
    for file in &files {
        assert!(fs::metadata(file).unwrap().len() <= 1_000_000);
        let records = records(file);
        let info = records[0].head.get("WARC-Record-ID");
        assert_eq!(records[0].head.kind(), "warcinfo");
        assert_eq!(records[0].head.get("WARC-Filename"), file.file_name().unwrap().to_str());
        assert!(records[1..].iter().all(|r| r.head.get("WARC-Warcinfo-ID") == info));
    }
    let distinct: std::collections::BTreeSet<_> =
        written.iter().map(|written| (&written.at.file, written.at.offset)).collect();
    assert_eq!(distinct.len(), 10);
}
