//! Crashes at every byte, full disks at every byte: nothing committed is lost, nothing torn stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use uuid::Uuid;

use super::captures::{about, date, plain, settings};
use super::samples::records;
use crate::archive::disk::{Disk, FileSystem, Medium};
use crate::archive::encode::Item;
use crate::archive::open::open;
use crate::archive::writer::Writer;
use crate::archive::{
    About, ArchiveError, Compression, Indexed, Opened, Position, Settings, Written, verify,
};
use crate::clock::ByteSize;

/// Returns a directory in memory where there is one: thousands of syncs cost nothing there.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn writer(settings: &Settings, resume: Option<&Position>) -> (Writer, Opened) {
    open(settings.clone(), about(), resume, Box::new(FileSystem)).unwrap()
}

fn try_write(writer: &mut Writer, path: &str) -> Result<Written, ArchiveError> {
    let mut capture = plain(path, path.repeat(20).as_bytes());
    date(&mut capture, path.len() as u64);
    let item = Item::Visit(Arc::new(capture));
    let encoded = writer.encoder.encode(&item, writer.info.get());
    writer.write(&item, encoded)
}

fn write(writer: &mut Writer, path: &str) -> Written {
    try_write(writer, path).unwrap()
}

fn only(dir: &Path, ending: &str) -> PathBuf {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> =
        entries.filter(|path| path.to_str().unwrap().ends_with(ending)).collect();
    assert_eq!(found.len(), 1, "{ending}");
    found.remove(0)
}

/// The target URIs of the responses, and the offsets in the index, of a directory's only file.
fn contents(dir: &Path, ending: &str) -> (Vec<String>, usize) {
    let records = records(&only(dir, &format!(".warc{ending}")));
    let responses = records.iter().filter(|record| record.head.kind() == "response");
    let index = fs::read_to_string(only(dir, ".cdxj")).unwrap();
    (responses.map(|record| record.head.uri().to_owned()).collect(), index.lines().count())
}

fn check_torn_at_every_byte(compression: Compression, ending: &str) {
    let source = scratch();
    let settings_at = |dir: &Path| Settings { compression, ..settings(dir) };
    let (mut first, _) = writer(&settings_at(source.path()), None);
    write(&mut first, "/kept");
    let committed = write(&mut first, "/committed").position;
    let lost = write(&mut first, "/lost").position;
    drop(first);
    let warc = only(source.path(), &format!(".warc{ending}.open"));
    let index = only(source.path(), ".cdxj.open");
    let whole = fs::read(&warc).unwrap();
    assert_eq!(whole.len() as u64, lost.offset);
    let target = scratch();
    for length in committed.offset..=lost.offset {
        for entry in fs::read_dir(target.path()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        let length_kept = usize::try_from(length).unwrap();
        fs::write(target.path().join(warc.file_name().unwrap()), &whole[..length_kept]).unwrap();
        fs::copy(&index, target.path().join(index.file_name().unwrap())).unwrap();
        let (mut again, opened) = writer(&settings_at(target.path()), Some(&committed));
        let cut: u64 = opened.cuts.iter().map(|cut| cut.bytes).sum();
        assert_eq!(cut, length - committed.offset);
        let written = write(&mut again, "/again");
        assert_eq!(written.at.offset, committed.offset);
        again.finish().unwrap();
        drop(again);
        let (uris, lines) = contents(target.path(), ending);
        let want = ["/kept", "/committed", "/again"].map(|p| format!("http://example.org{p}"));
        assert_eq!((uris.as_slice(), lines), (&want[..], 3), "torn at {length}");
    }
}

#[test]
fn a_tail_torn_at_any_byte_is_cut_back_to_what_was_committed() {
    check_torn_at_every_byte(Compression::Gzip, ".gz");
}

#[test]
fn a_plain_tail_torn_at_any_byte_is_cut_back_too() {
    check_torn_at_every_byte(Compression::None, "");
}

#[test]
fn without_a_state_every_whole_record_is_kept() {
    let dir = scratch();
    let (mut first, _) = writer(&settings(dir.path()), None);
    write(&mut first, "/one");
    let whole = write(&mut first, "/two").position;
    write(&mut first, "/three");
    drop(first);
    let warc = only(dir.path(), ".warc.gz.open");
    let bytes = fs::read(&warc).unwrap();
    fs::write(&warc, &bytes[..usize::try_from(whole.offset).unwrap() + 9]).unwrap();
    fs::remove_file(only(dir.path(), ".cdxj.open")).unwrap();
    let (second, opened) = writer(&settings(dir.path()), None);
    drop(second);
    assert_eq!(opened.finished.len(), 1);
    assert_eq!((opened.cuts[0].offset, opened.cuts[0].bytes), (whole.offset, 9));
    assert_eq!(opened.position, whole);
    assert_eq!(contents(dir.path(), ".gz").1, 2);
}

#[test]
fn a_damaged_index_is_made_again_from_the_records() {
    for damage in [&b""[..], b"\0\0\0\0", b"org,example)/ 2025 {\"off", b"\xff\xfe\n\n"] {
        let dir = scratch();
        let (mut first, _) = writer(&settings(dir.path()), None);
        write(&mut first, "/one");
        let committed = write(&mut first, "/two").position;
        drop(first);
        let index = only(dir.path(), ".cdxj.open");
        let mut text = fs::read(&index).unwrap();
        text.truncate(text.len() / 2);
        text.extend_from_slice(damage);
        fs::write(&index, text).unwrap();
        let (mut second, _) = writer(&settings(dir.path()), Some(&committed));
        write(&mut second, "/three");
        second.finish().unwrap();
        assert_eq!(contents(dir.path(), ".gz").1, 3, "{damage:?}");
    }
}

#[test]
fn files_begun_after_the_committed_position_are_moved_aside() {
    let dir = scratch();
    let mut settings = settings(dir.path());
    settings.compression = Compression::None;
    let (mut first, _) = writer(&settings, None);
    let committed = write(&mut first, "/one").position;
    write(&mut first, "/two");
    first.finish().unwrap();
    write(&mut first, "/three");
    drop(first);
    let (mut second, opened) = writer(&settings, Some(&committed));
    assert_eq!(opened.cuts.len(), 2);
    assert!(opened.cuts.iter().any(|cut| cut.records == 3 && cut.moved_to.is_none()));
    assert!(only(dir.path(), ".uncommitted").exists());
    assert_eq!(contents(dir.path(), ""), (vec!["http://example.org/one".to_owned()], 1));
    let next = write(&mut second, "/four");
    assert!(next.position > committed);
}

#[test]
fn an_archive_that_lacks_what_was_committed_is_refused() {
    let dir = scratch();
    let settings = settings(dir.path());
    let (mut first, _) = writer(&settings, None);
    let committed = write(&mut first, "/one").position;
    drop(first);
    let warc = only(dir.path(), ".warc.gz.open");
    let attempt = || open(settings.clone(), about(), Some(&committed), Box::new(FileSystem));
    fs::write(&warc, b"short").unwrap();
    assert!(matches!(attempt(), Err(ArchiveError::Short { have: 5, .. })));
    fs::remove_file(&warc).unwrap();
    assert!(matches!(attempt(), Err(ArchiveError::Missing { .. })));
}

#[test]
fn a_finished_file_may_be_taken_elsewhere_though_it_is_the_newest() {
    let dir = scratch();
    let settings = settings(dir.path());
    let (mut first, _) = writer(&settings, None);
    let committed = write(&mut first, "/one").position;
    first.finish().unwrap();
    drop(first);
    let (warc, elsewhere) = (only(dir.path(), ".warc.gz"), scratch());
    fs::rename(&warc, elsewhere.path().join("kept")).unwrap();
    let (mut second, opened) = writer(&settings, Some(&committed));
    assert_eq!(opened.moved_away.as_ref(), Some(&committed.file));
    let next = write(&mut second, "/two").position;
    assert!(next.file > committed.file, "{next:?}");
}

#[test]
fn a_second_writer_is_refused_while_the_first_lives() {
    let dir = scratch();
    let settings = settings(dir.path());
    let (mut first, _) = writer(&settings, None);
    let committed = write(&mut first, "/one").position;
    let second = open(settings.clone(), about(), Some(&committed), Box::new(FileSystem));
    let error = second.err().unwrap().to_string();
    assert!(error.contains("another process"), "{error}");
}

/// A file system with room for so many bytes more.
struct Limited {
    room: Arc<AtomicU64>,
}

struct LimitedDisk {
    disk: Box<dyn Disk>,
    room: Arc<AtomicU64>,
}

impl Medium for Limited {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Disk>> {
        let disk = FileSystem.create(path)?;
        Ok(Box::new(LimitedDisk { disk, room: Arc::clone(&self.room) }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Disk>> {
        let disk = FileSystem.open(path)?;
        Ok(Box::new(LimitedDisk { disk, room: Arc::clone(&self.room) }))
    }
}

impl Disk for LimitedDisk {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let room = self.room.load(Ordering::Relaxed);
        let fits = usize::try_from(room).unwrap().min(bytes.len());
        self.disk.write_at(offset, &bytes[..fits])?;
        self.room.store(room - fits as u64, Ordering::Relaxed);
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.disk.cut(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.sync()
    }
}

#[test]
fn a_disk_full_at_any_byte_leaves_whole_records_and_the_capture_can_be_tried_again() {
    let dir = scratch();
    let settings = Settings { size_max: ByteSize(1_000_000), ..settings(dir.path()) };
    let room = Arc::new(AtomicU64::new(0));
    let medium = Limited { room: Arc::clone(&room) };
    let (mut writer, _) = open(settings, about(), None, Box::new(medium)).unwrap();
    let mut failures = 0;
    for i in 0..400 {
        let mut given = i % 200 * 7;
        room.store(given, Ordering::Relaxed);
        while let Err(error) = try_write(&mut writer, "/page") {
            assert!(error.is_full(), "{error}");
            failures += 1;
            if let Some(position) = writer.position() {
                let warc = only(dir.path(), ".warc.gz.open");
                assert_eq!(fs::metadata(&warc).unwrap().len(), position.offset);
            }
            given += 501;
            room.store(given, Ordering::Relaxed);
        }
    }
    assert!(failures > 300);
    writer.finish().unwrap();
    let (uris, lines) = contents(dir.path(), ".gz");
    assert_eq!((uris.len(), lines), (400, 400));
}

/// The about of one of several crawls.
fn of_crawl(id: u128) -> About {
    About { crawl: Some(Uuid::from_u128(id)), ..about() }
}

/// A second crawl finished the file that the first one was writing, and cut what it wrote next.
#[test]
fn an_archive_that_another_crawl_is_writing_to_is_refused() {
    let dir = scratch();
    let settings = settings(dir.path());
    let attempt = |id, resume: Option<&Position>| {
        open(settings.clone(), of_crawl(id), resume, Box::new(FileSystem))
    };
    let (mut early, _) = attempt(2, None).unwrap();
    let before = write(&mut early, "/early").position;
    early.finish().unwrap();
    drop(early);
    let (mut first, _) = attempt(1, None).unwrap();
    write(&mut first, "/one");
    let warc = only(dir.path(), ".warc.gz.open");
    let bytes = fs::read(&warc).unwrap();
    for resume in [None, Some(&Position::default()), Some(&before)] {
        let error = attempt(2, resume).err().unwrap();
        assert!(error.is_in_use(), "{error}");
        assert!(error.to_string().contains("another process"), "{error}");
        assert_eq!(fs::read(&warc).unwrap(), bytes);
    }
    write(&mut first, "/two");
    first.finish().unwrap();
}

/// What the second of two crawls had committed was taken for what the first had not.
#[test]
fn files_of_another_crawl_are_left_alone() {
    let dir = scratch();
    let settings = settings(dir.path());
    let resume = |id, position: Option<&Position>| {
        open(settings.clone(), of_crawl(id), position, Box::new(FileSystem)).unwrap()
    };
    let (mut first, _) = resume(1, None);
    let committed = write(&mut first, "/one").position;
    first.finish().unwrap();
    write(&mut first, "/lost");
    drop(first);
    let (mut second, _) = resume(2, None);
    let other = write(&mut second, "/two").position;
    second.finish().unwrap();
    write(&mut second, "/killed");
    drop(second);
    let (_, opened) = resume(1, Some(&committed));
    let moved: Vec<_> = opened.cuts.iter().filter_map(|cut| cut.moved_to.as_deref()).collect();
    assert_eq!(moved.len(), 1, "its own, of which nothing was committed: {moved:?}");
    assert!(moved[0].contains("-00002."), "{moved:?}");
    assert!(dir.path().join(&other.file).exists());
    assert!(only(dir.path(), "-00003.cdxj").exists());
    assert!(only(dir.path(), "-00004.warc.gz.open").exists());
    let (_, opened) = resume(2, Some(&other));
    let moved: Vec<_> = opened.cuts.iter().filter_map(|cut| cut.moved_to.as_deref()).collect();
    assert!(moved.len() == 1 && moved[0].contains("-00004."), "{moved:?}");
}

/// Its next run cut it, though copies of finished files are made at any time.
#[test]
fn a_file_that_is_finished_ends_with_what_was_committed() {
    for cdxj in [true, false] {
        let dir = scratch();
        let settings = Settings { cdxj, ..settings(dir.path()) };
        let (mut first, _) = writer(&settings, None);
        write(&mut first, "/one");
        let committed = write(&mut first, "/two").position;
        write(&mut first, "/in-flight");
        first.finish_at(&committed).unwrap();
        drop(first);
        let warc = only(dir.path(), ".warc.gz");
        assert_eq!(fs::metadata(&warc).unwrap().len(), committed.offset);
        let indexed = if cdxj { Indexed::All } else { Indexed::IfAny };
        assert_eq!(verify(dir.path(), indexed).unwrap().problems, []);
        let (_, opened) = writer(&settings, Some(&committed));
        assert_eq!(opened.cuts, []);
    }
    // A file of which nothing was committed is not finished: the next opening moves it aside.
    let dir = scratch();
    let settings = settings(dir.path());
    let (mut first, _) = writer(&settings, None);
    let committed = write(&mut first, "/one").position;
    first.finish().unwrap();
    write(&mut first, "/in-flight");
    first.finish_at(&committed).unwrap();
    drop(first);
    assert!(only(dir.path(), "-00002.warc.gz.open").exists());
}

/// What was indexed before the kill was all that its index ever had.
#[test]
fn a_file_that_was_begun_with_an_index_keeps_it() {
    for (before, after) in [(true, false), (false, true)] {
        let dir = scratch();
        let at = |cdxj| Settings { cdxj, ..settings(dir.path()) };
        let (mut first, _) = writer(&at(before), None);
        let committed = write(&mut first, "/one").position;
        drop(first);
        let (mut second, _) = writer(&at(after), Some(&committed));
        write(&mut second, "/two");
        second.finish().unwrap();
        assert_eq!(contents(dir.path(), ".gz").1, 2, "{before} {after}");
    }
}

/// Records were written under a warcinfo record that names another User-Agent and contact.
#[test]
fn a_file_is_not_gone_on_with_where_its_warcinfo_is_no_longer_true() {
    let dir = scratch();
    let settings = settings(dir.path());
    let (mut first, _) = writer(&settings, None);
    let committed = write(&mut first, "/one").position;
    drop(first);
    let resume = |about: About| {
        let (mut writer, _) =
            open(settings.clone(), about, Some(&committed), Box::new(FileSystem)).unwrap();
        write(&mut writer, "/two").at.file
    };
    assert_eq!(resume(about()), committed.file);
    let contact = "mailto:someone.else@example.org".to_owned();
    assert_ne!(resume(About { contact, ..about() }), committed.file);
}
