//! Opening an archive, and mending what a crash left (I5: archive first, then the state's batch).
//!
//! What the state committed is kept to the byte; what was written behind it was never committed and
//! goes, torn or whole, because its fetches will be made again. Files begun after the committed
//! position are moved aside, not deleted: should the state be an old copy, they are still there.
//! Those of other crawls in the same directory, by their warcinfo records, are left alone.

use std::fmt;
use std::fs;
use std::path::Path;

use uuid::Uuid;

use super::disk::Medium;
use super::encode::{CRAWL_FIELD, Encoder, warcinfo_fields};
use super::error::Named;
use super::files::{self, Listed, Name, Position, sync_dir};
use super::reader::{Reader, Record};
use super::writer::{CurrentInfo, OpenFile, Writer, finish_file, remove_if_any};
use super::{About, ArchiveError, Compression, Damage, Settings, index};

/// Suffix of a file whose records were never committed.
const UNCOMMITTED: &str = ".uncommitted";

/// What opening an archive found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Where the archive ends: a new state commits it before its first visit.
    pub position: Position,
    /// What was cut off or moved aside.
    pub cuts: Vec<Cut>,
    /// Files of an earlier crawl that were still open and have been finished.
    pub finished: Vec<String>,
    /// Damage in those files with whole records behind it, which stays.
    pub damages: Vec<(String, Damage)>,
    /// The finished file that the state committed last, if it is no longer there.
    pub moved_away: Option<String>,
}

/// Bytes that are no longer part of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The file, without `.open`.
    pub file: String,
    /// Where the cut was made.
    pub offset: u64,
    /// How many bytes went.
    pub bytes: u64,
    /// How many whole records were among them.
    pub records: u64,
    /// The name under which the whole file was kept, if it was moved aside.
    pub moved_to: Option<String>,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cut { file, offset, bytes, records, moved_to } = self;
        match moved_to {
            Some(name) => write!(f, "moved {file} ({bytes} bytes, never committed) to {name}"),
            None => write!(f, "cut {file} at {offset}: {bytes} bytes, {records} whole records"),
        }
    }
}

/// Opens the archive for appending.
///
/// `resume` is what the state committed last; `None` is for a new state, which keeps every whole
/// record that it finds.
pub(super) fn open(
    settings: Settings,
    about: About,
    resume: Option<&Position>,
    medium: Box<dyn Medium>,
) -> Result<(Writer, Opened), ArchiveError> {
    settings.check().map_err(ArchiveError::Settings)?;
    let dir = settings.dir.clone();
    fs::create_dir_all(&dir).named("create", &dir)?;
    let mut opened = Opened::default();
    let mut open = None;
    let files = files::list(&dir).named("list", &dir)?;
    let committed = resume.map(|position| position.file.as_str());
    let names = files.iter().map(|listed| listed.file.as_str()).chain(committed);
    let greatest = names.filter_map(Name::parse).map(|name| name.serial);
    let next_serial = greatest.max().unwrap_or(0).saturating_add(1);
    for listed in files.iter().filter(|listed| listed.open) {
        // Only to meet the lock of whoever writes to it: nothing is touched before.
        drop(medium.open(&listed.path).named("open", &listed.path)?);
    }
    match resume {
        None => adopt(&dir, &files, &mut opened)?,
        Some(position) => {
            let before = Before { settings: &settings, about: &about, medium: &*medium };
            open = resume_at(&dir, &files, position, &before, &mut opened)?;
        }
    }
    let (open, info) = match open {
        Some((open, info)) => (Some(open), info),
        None => (None, Uuid::new_v4()),
    };
    let encoder = Encoder::new(&settings);
    let info = CurrentInfo::new(info);
    let stopped = None;
    let writer = Writer {
        dir,
        settings,
        about,
        encoder,
        medium,
        open,
        next_serial,
        info,
        stopped,
        sequence: 0,
    };
    Ok((writer, opened))
}

/// Returns true where a power cut has taken the end of an archive from a state that knows of it.
///
/// The archive is forced to the disk before the state; but a state may also reach the disk by
/// itself, up to a second before the records that it knows of. `forced` is how far the archive was
/// forced for certain. What lacks more than what lies behind that was damaged otherwise, and is
/// for [`super::Archive::open`] to refuse.
///
/// # Errors
/// What the operating system refused.
pub fn is_cut_short(
    dir: &Path,
    committed: &Position,
    forced: &Position,
) -> Result<bool, ArchiveError> {
    let Some(name) = Name::parse(&committed.file).filter(|_| forced < committed) else {
        return Ok(false);
    };
    let is_new = forced.file != committed.file;
    let paths = [name.warc(), name.warc_open()].map(|file| dir.join(file));
    let Some(path) = paths.iter().find(|path| path.exists()) else { return Ok(is_new) };
    let whole_to = if is_new { 0 } else { forced.offset };
    let length = fs::metadata(path).named("read", path)?.len();
    if length < committed.offset {
        return Ok(length >= whole_to);
    }
    let scan = index::scan_with(path, whole_to, &committed.file, |_| Ok(()))?;
    let is_damaged = |damage: &Damage| damage.offset < committed.offset;
    Ok(scan.end < committed.offset || scan.damages.iter().any(is_damaged))
}

/// Removes the files that a crawl with this prefix writes into its archive, and no other.
///
/// # Errors
/// What the operating system refused.
pub fn remove_own(dir: &Path, prefix: &str) -> Result<(), ArchiveError> {
    for listed in files::list(dir).named("list", dir)? {
        let Some(name) = Name::parse(&listed.file).filter(|name| name.is_of(prefix)) else {
            continue;
        };
        for file in [name.warc(), name.warc_open(), name.cdxj(), name.cdxj_open()] {
            remove_if_any(&dir.join(file))?;
        }
    }
    Ok(())
}

/// Finishes the open files that an unknown crawl left, and takes the end of all as the position.
fn adopt(dir: &Path, files: &[Listed], opened: &mut Opened) -> Result<(), ArchiveError> {
    for listed in files {
        let Some(name) = Name::parse(&listed.file) else { continue };
        if listed.open {
            mend(dir, &name, listed, opened)?;
        }
        let finished = dir.join(name.warc());
        if let Ok(metadata) = fs::metadata(&finished) {
            let position = Position { file: name.warc(), offset: metadata.len() };
            opened.position = opened.position.clone().max(position);
        }
    }
    Ok(())
}

/// Cuts an open file behind its last whole record and finishes it.
pub(super) fn mend(
    dir: &Path,
    name: &Name,
    listed: &Listed,
    opened: &mut Opened,
) -> Result<(), ArchiveError> {
    let scan = index::scan_with(&listed.path, 0, &listed.file, |_| Ok(()))?;
    if scan.records == 0 {
        return move_aside(dir, name, listed, opened);
    }
    cut_to(&listed.path, &listed.file, scan.end, 0, opened)?;
    let damages = scan.damages.into_iter().map(|damage| (listed.file.clone(), damage));
    opened.damages.extend(damages);
    index::restore(dir, name, &listed.path, scan.end)?;
    finish_file(dir, name)?;
    opened.finished.push(name.warc());
    Ok(())
}

/// What a crawl goes on with.
struct Before<'a> {
    settings: &'a Settings,
    about: &'a About,
    medium: &'a dyn Medium,
}

/// Goes back to the committed position; returns the file to go on with and its warcinfo record.
fn resume_at(
    dir: &Path,
    files: &[Listed],
    position: &Position,
    before: &Before<'_>,
    opened: &mut Opened,
) -> Result<Option<(OpenFile, Uuid)>, ArchiveError> {
    opened.position = position.clone();
    let serial = Name::parse(&position.file).map_or(0, |name| name.serial);
    let (mut found, mut is_foreign) = (None, false);
    for listed in files {
        let Some(name) = Name::parse(&listed.file) else { continue };
        let may_be_touched = name.serial > serial || listed.open || listed.file == position.file;
        if !may_be_touched || is_of_another(&listed.path, before.about)? {
            // A new crawl in an old directory begins behind a file that is not its own.
            is_foreign |= listed.file == position.file;
        } else if listed.file == position.file {
            found = Some((name, listed));
        } else if name.serial > serial {
            move_aside(dir, &name, listed, opened)?;
        } else if listed.open {
            mend(dir, &name, listed, opened)?;
        }
    }
    if position.file.is_empty() || is_foreign {
        return Ok(None);
    }
    let Some((name, listed)) = found else {
        // Finished files may be taken elsewhere. One that was still growing has left its index.
        let file = position.file.clone();
        if Name::parse(&file).is_none_or(|name| dir.join(name.cdxj_open()).exists()) {
            return Err(ArchiveError::Missing { file, dir: dir.to_owned() });
        }
        opened.moved_away = Some(file);
        return Ok(None);
    };
    let length = fs::metadata(&listed.path).named("read", &listed.path)?.len();
    if length < position.offset {
        let (path, want) = (listed.path.clone(), position.offset);
        return Err(ArchiveError::Short { path, have: length, want });
    }
    let tail = index::scan_with(&listed.path, position.offset, &listed.file, |_| Ok(()))?;
    cut_to(&listed.path, &listed.file, position.offset, tail.records, opened)?;
    if !listed.open {
        // A crash while it was being finished leaves the growing index behind.
        if length > position.offset || dir.join(name.cdxj_open()).exists() {
            index::restore(dir, &name, &listed.path, position.offset)?;
            index::finish(dir, &name)?;
            remove_if_any(&dir.join(name.cdxj_open()))?;
        }
        return Ok(None);
    }
    go_on(dir, name, listed, position.offset, before)
}

/// Opens an unfinished file for appending, or finishes it if the settings are no longer its own, or
/// what it says of the crawl no longer holds.
fn go_on(
    dir: &Path,
    name: Name,
    listed: &Listed,
    end: u64,
    before: &Before<'_>,
) -> Result<Option<(OpenFile, Uuid)>, ArchiveError> {
    let Before { settings, about, medium } = before;
    let index_path = dir.join(name.cdxj_open());
    // What was begun with an index keeps it: half of one would hide the other half's records.
    let with_index = settings.cdxj || index_path.exists();
    // A crash between the sorted index and the renaming of its file leaves one that is out of date.
    let index_end = if with_index { index::restore(dir, &name, &listed.path, end)? } else { 0 };
    remove_if_any(&dir.join(name.cdxj()))?;
    let gzip = settings.compression == Compression::Gzip;
    // A warcinfo record speaks for all records behind it (WARC/1.1 §6.2).
    let is_true = |info: &Record| info.block == warcinfo_fields(settings, about).as_bytes();
    let info = warcinfo_of(&listed.path)?.filter(is_true).as_ref().and_then(id_of);
    let Some(info) = info.filter(|_| name.gzip == gzip) else {
        finish_file(dir, &name)?;
        return Ok(None);
    };
    let warc = medium.open(&listed.path).named("open", &listed.path)?;
    let index = match with_index {
        true => Some(medium.open(&index_path).named("open", &index_path)?),
        false => None,
    };
    let open = OpenFile { name, warc, end, index, index_end, has_records: true, dirty: true };
    Ok(Some((open, info)))
}

/// Bytes of a warcinfo record that are looked at; ours have some hundreds.
const WARCINFO_BYTES_MAX: usize = 64 << 10;

/// Returns the warcinfo record at the start of a file, if there is one.
fn warcinfo_of(path: &Path) -> Result<Option<Record>, ArchiveError> {
    let mut reader = Reader::open_at(path, 0).named("read", path)?;
    let first = reader.next_record(WARCINFO_BYTES_MAX).and_then(Result::ok);
    Ok(first.filter(|record| record.head.kind() == "warcinfo"))
}

/// Returns true for a file that says to be of another crawl. One that says nothing is taken for the
/// crawl's own: earlier versions gave their crawls no name.
fn is_of_another(path: &Path, about: &About) -> Result<bool, ArchiveError> {
    let Some(own) = about.crawl else { return Ok(false) };
    let Some(info) = warcinfo_of(path)? else { return Ok(false) };
    let text = String::from_utf8_lossy(&info.block);
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let named = fields.find(|(name, _)| *name == CRAWL_FIELD).map(|(_, value)| value.trim());
    let named = named.and_then(|value| Uuid::try_parse(value.strip_prefix("urn:uuid:")?).ok());
    Ok(named.is_some_and(|named| named != own))
}

/// Returns the id of a record, if it has the form of ours.
fn id_of(record: &Record) -> Option<Uuid> {
    let id = record.head.get("WARC-Record-ID")?;
    Uuid::try_parse(id.strip_prefix("<urn:uuid:")?.strip_suffix('>')?).ok()
}

pub(super) fn cut_to(
    path: &Path,
    file: &str,
    offset: u64,
    records: u64,
    opened: &mut Opened,
) -> Result<(), ArchiveError> {
    let length = fs::metadata(path).named("read", path)?.len();
    if length > offset {
        let disk = fs::OpenOptions::new().write(true).open(path).named("cut", path)?;
        disk.set_len(offset).and_then(|()| disk.sync_all()).named("cut", path)?;
        let (file, bytes) = (file.to_owned(), length - offset);
        opened.cuts.push(Cut { file, offset, bytes, records, moved_to: None });
    }
    Ok(())
}

fn move_aside(
    dir: &Path,
    name: &Name,
    listed: &Listed,
    opened: &mut Opened,
) -> Result<(), ArchiveError> {
    let bytes = fs::metadata(&listed.path).named("read", &listed.path)?.len();
    let target = name.warc() + UNCOMMITTED;
    fs::rename(&listed.path, dir.join(&target)).named("rename", &listed.path)?;
    remove_if_any(&dir.join(name.cdxj_open()))?;
    remove_if_any(&dir.join(name.cdxj()))?;
    sync_dir(dir).named("sync", dir)?;
    let (file, moved_to) = (listed.file.clone(), Some(target));
    opened.cuts.push(Cut { file, offset: 0, bytes, records: 0, moved_to });
    Ok(())
}
