//! Verifying names exactly what is damaged; repairing mends what can be mended.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::captures::{about, all, dns, settings};
use super::samples::finished;
use crate::archive::{
    Archive, ArchiveError, Compression, Finding, Indexed, Settings, Written, read_at, repair,
    verify, verify_while_written,
};

/// Writes an archive with a record of every kind; returns its only file and what was written.
async fn archive(dir: &Path, compression: Compression) -> (PathBuf, Vec<Written>) {
    let settings = Settings { compression, ..settings(dir) };
    let (archive, _) = Archive::open(settings, about(), None).unwrap();
    let mut written = vec![archive.write_dns(Arc::new(dns())).await.unwrap()];
    for capture in all() {
        written.push(archive.write(Arc::new(capture)).await.unwrap());
    }
    archive.close().await.unwrap();
    let ending = if compression == Compression::Gzip { ".warc.gz" } else { ".warc" };
    (finished(dir, ending).remove(0), written)
}

fn findings(dir: &Path) -> Vec<(Option<u64>, Finding)> {
    let problems = verify(dir, Indexed::IfAny).unwrap().problems;
    problems.into_iter().map(|problem| (problem.offset, problem.finding)).collect()
}

#[tokio::test]
async fn a_sound_archive_has_nothing_to_report() {
    for compression in [Compression::Gzip, Compression::None] {
        let dir = tempfile::tempdir().unwrap();
        let (file, written) = archive(dir.path(), compression).await;
        let report = verify(dir.path(), Indexed::IfAny).unwrap();
        assert_eq!(report.problems, []);
        assert_eq!((report.files, report.records), (1, 49));
        assert_eq!(report.bytes, fs::metadata(file).unwrap().len());
        assert!(report.digests > 60);
        for written in &written {
            let record = read_at(dir.path(), &written.at, 1 << 20).unwrap();
            assert_eq!(record.extent.length, written.at.length);
            assert!(!record.block_cut);
        }
    }
    for indexed in [Indexed::All, Indexed::IfAny] {
        assert!(verify(Path::new("no-such-directory"), indexed).unwrap().is_clean());
    }
}

#[tokio::test]
async fn a_place_where_no_record_begins_is_an_error_and_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let (_, written) = archive(dir.path(), Compression::Gzip).await;
    let mut at = written[3].at.clone();
    at.offset += 1;
    assert!(matches!(read_at(dir.path(), &at, 10), Err(ArchiveError::Damaged { .. })));
    at.offset = 1 << 40;
    assert!(matches!(read_at(dir.path(), &at, 10), Err(ArchiveError::Damaged { .. })));
    at.file = "../outside.warc.gz".to_owned();
    assert!(matches!(read_at(dir.path(), &at, 10), Err(ArchiveError::Missing { .. })));
}

#[tokio::test]
async fn changed_bytes_are_reported_with_their_record() {
    let dir = tempfile::tempdir().unwrap();
    let (file, written) = archive(dir.path(), Compression::None).await;
    let at = &written[1].at;
    let mut bytes = fs::read(&file).unwrap();
    let last = usize::try_from(at.offset + at.length).unwrap() - 5;
    bytes[last] ^= 1;
    fs::write(&file, bytes).unwrap();
    let offset = Some(at.offset);
    let want = [(offset, Finding::BlockDigest), (offset, Finding::PayloadDigest)];
    assert_eq!(findings(dir.path()), want);
    let repaired = repair(dir.path(), false, Indexed::IfAny).unwrap();
    assert_eq!(repaired, Default::default());
}

#[tokio::test]
async fn damage_in_the_middle_is_stepped_over_and_left_by_repair() {
    let dir = tempfile::tempdir().unwrap();
    let (file, written) = archive(dir.path(), Compression::Gzip).await;
    let at = &written[2].at;
    let mut bytes = fs::read(&file).unwrap();
    let start = usize::try_from(at.offset).unwrap();
    bytes[start + 40..start + 60].fill(0);
    fs::write(&file, bytes).unwrap();
    let found = findings(dir.path());
    let is_damage = |finding: &Finding| match finding {
        Finding::Damaged { bytes, .. } => *bytes == at.length,
        _ => false,
    };
    assert!(found.iter().any(|(o, f)| *o == Some(at.offset) && is_damage(f)), "{found:?}");
    assert!(found.iter().any(|(_, f)| *f == Finding::IndexDiffers { missing: 0, extra: 1 }));
    let length = fs::metadata(&file).unwrap().len();
    let repaired = repair(dir.path(), true, Indexed::IfAny).unwrap();
    assert_eq!((repaired.left.len(), repaired.cuts.len()), (1, 0));
    assert_eq!(repaired.indexed.len(), 1);
    assert_eq!(fs::metadata(&file).unwrap().len(), length);
    let still = findings(dir.path());
    assert!(!still.iter().any(|(_, f)| matches!(f, Finding::IndexDiffers { .. })), "{still:?}");
}

#[tokio::test]
async fn a_torn_tail_and_a_lost_index_are_mended() {
    let dir = tempfile::tempdir().unwrap();
    let (file, written) = archive(dir.path(), Compression::Gzip).await;
    let length = written.last().unwrap().position.offset;
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 3]).unwrap();
    let index = finished(dir.path(), ".cdxj").remove(0);
    let text = fs::read_to_string(&index).unwrap();
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.reverse();
    lines.pop();
    fs::write(&index, lines.concat()).unwrap();
    let found = findings(dir.path());
    assert!(matches!(found[0].1, Finding::TornTail { bytes, .. } if bytes < length));
    assert_eq!(found[1], (None, Finding::IndexUnsorted));
    assert_eq!(found[2], (None, Finding::IndexDiffers { missing: 1, extra: 0 }));
    let repaired = repair(dir.path(), true, Indexed::IfAny).unwrap();
    assert_eq!(repaired.cuts.len(), 1);
    assert_eq!(findings(dir.path()), []);
}

#[tokio::test]
async fn an_archive_in_use_is_not_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let (archive, _) = Archive::open(settings(dir.path()), about(), None).unwrap();
    archive.write_dns(Arc::new(dns())).await.unwrap();
    assert!(repair(dir.path(), true, Indexed::IfAny).is_err());
    assert_eq!(findings(dir.path()), []);
    archive.close().await.unwrap();
    assert_eq!(repair(dir.path(), true, Indexed::IfAny).unwrap().indexed.len(), 1);
}

#[test]
fn what_is_no_archive_is_reported_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("notes-1.warc");
    fs::write(&file, "These are notes.").unwrap();
    // A promise that `repair` cuts it would not be kept.
    assert!(matches!(findings(dir.path())[..], [(Some(0), Finding::NoRecord { bytes: 16, .. })]));
    let repaired = repair(dir.path(), false, Indexed::IfAny).unwrap();
    assert_eq!(repaired, Default::default());
    assert_eq!(fs::read(&file).unwrap(), b"These are notes.");
}

/// The open file was read to its end, and then compared with an index that had grown meanwhile.
#[tokio::test]
async fn what_a_crawl_writes_during_a_check_is_no_damage() {
    let dir = tempfile::tempdir().unwrap();
    let (file, written) = archive(dir.path(), Compression::Gzip).await;
    let index = finished(dir.path(), ".cdxj").remove(0);
    let open = |path: &Path| PathBuf::from(format!("{}.open", path.display()));
    fs::rename(&file, open(&file)).unwrap();
    fs::rename(&index, open(&index)).unwrap();
    let indexed = written.iter().rfind(|written| written.cdxj.is_some());
    let last = &indexed.expect("most are").at;
    let growing = fs::File::options().write(true).open(open(&file)).unwrap();
    growing.set_len(last.offset + last.length / 2).unwrap();
    assert_eq!(findings(dir.path()).len(), 2, "a torn tail, and a line too many");
    let meanwhile = || verify_while_written(dir.path(), Indexed::All).unwrap();
    assert_eq!(meanwhile().problems, []);
    let bytes = fs::read(open(&file)).unwrap();
    let middle = (written[3].at.offset + written[3].at.length / 2) as usize;
    let mut damaged = bytes.clone();
    damaged[middle] ^= 0x40;
    fs::write(open(&file), damaged).unwrap();
    assert!(!meanwhile().is_clean(), "true damage is");
}

/// It was told of by `verify`, with the advice to repair it, and left as it was.
#[tokio::test]
async fn an_index_that_is_not_that_of_its_file_is_made_anew_unasked() {
    let dir = tempfile::tempdir().unwrap();
    let _ = archive(dir.path(), Compression::Gzip).await;
    let _ = archive(dir.path(), Compression::Gzip).await;
    let index = finished(dir.path(), ".cdxj").remove(0);
    let text = fs::read_to_string(&index).unwrap();
    let sound = repair(dir.path(), false, Indexed::IfAny).unwrap();
    assert_eq!(sound.indexed, [""; 0], "what is right is left alone");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let reversed: String = lines.iter().rev().copied().collect();
    for damaged in [Some(lines[1..].concat()), Some(reversed), Some("\0".to_owned()), None] {
        match &damaged {
            Some(damaged) => fs::write(&index, damaged).unwrap(),
            None => fs::remove_file(&index).unwrap(),
        }
        assert_ne!(findings(dir.path()), []);
        let repaired = repair(dir.path(), false, Indexed::IfAny).unwrap();
        assert_eq!(repaired.indexed.len(), 1, "{damaged:?}");
        assert_eq!(findings(dir.path()), []);
        assert_eq!(fs::read_to_string(&index).unwrap(), text);
    }
}

/// Where there was one file, its index could be lost without a word.
#[tokio::test]
async fn the_only_index_may_be_lost_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let _ = archive(dir.path(), Compression::Gzip).await;
    let index = finished(dir.path(), ".cdxj").remove(0);
    let text = fs::read_to_string(&index).unwrap();
    fs::remove_file(&index).unwrap();
    assert_eq!(findings(dir.path()), [], "an archive from elsewhere may have none");
    assert_eq!(repair(dir.path(), false, Indexed::IfAny).unwrap(), Default::default());
    let problems = verify(dir.path(), Indexed::All).unwrap().problems;
    let found: Vec<&Finding> = problems.iter().map(|problem| &problem.finding).collect();
    assert_eq!(found, [&Finding::IndexMissing]);
    assert_eq!(repair(dir.path(), false, Indexed::All).unwrap().indexed.len(), 1);
    assert_eq!(verify(dir.path(), Indexed::All).unwrap().problems, []);
    assert_eq!(fs::read_to_string(&index).unwrap(), text);
}
