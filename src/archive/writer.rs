//! The one appender: owns the open file, rotates it, and undoes what could not be written whole.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use uuid::Uuid;

use super::disk::{Disk, Medium};
use super::encode::{Encoded, Encoder, Item, warcinfo};
use super::error::Named;
use super::files::{Name, sync_dir};
use super::{About, ArchiveError, Compression, Position, RecordAt, Settings, index};
use crate::clock::Timestamp;

/// What was written for one capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The response or revisit record; of a failed fetch its metadata record; of DNS its resource.
    pub at: RecordAt,
    /// Behind the last record of the capture: what the state commits with the visit (I5).
    pub position: Position,
    /// Id of the record, without angle brackets.
    pub record_id: String,
    /// Date of the record, as a revisit record must repeat it.
    pub date: Timestamp,
    /// Digest of the payload as received, content coding intact.
    pub payload_digest: Option<String>,
    /// True if a revisit record was written.
    pub is_revisit: bool,
    /// The line of the index, line end included.
    pub cdxj: Option<String>,
    /// How many bytes the archive has grown.
    pub bytes: u64,
    /// Number of this visit since the archive was opened, from 0, in the order of the records: who
    /// commits in this order commits a prefix of the archive. A DNS record is not counted, for
    /// nobody commits it: it has the number of the visit that comes behind it and covers it.
    pub sequence: u64,
}

/// The warcinfo record that new records name: of the open file, or of the next one.
#[derive(Clone, Debug)]
pub(super) struct CurrentInfo(Arc<Mutex<Uuid>>);

impl CurrentInfo {
    pub(super) fn new(id: Uuid) -> Self {
        CurrentInfo(Arc::new(Mutex::new(id)))
    }

    pub(super) fn get(&self) -> Uuid {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, id: Uuid) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }
}

/// Appends records to the files of one directory.
pub(super) struct Writer {
    pub(super) dir: PathBuf,
    pub(super) settings: Settings,
    pub(super) about: About,
    pub(super) encoder: Encoder,
    pub(super) medium: Box<dyn Medium>,
    pub(super) open: Option<OpenFile>,
    pub(super) next_serial: u32,
    pub(super) info: CurrentInfo,
    /// Why nothing can be written any more.
    pub(super) stopped: Option<String>,
    /// Number of the next write.
    pub(super) sequence: u64,
}

/// The file that grows.
pub(super) struct OpenFile {
    pub(super) name: Name,
    pub(super) warc: Box<dyn Disk>,
    /// Offset behind the last whole record.
    pub(super) end: u64,
    pub(super) index: Option<Box<dyn Disk>>,
    pub(super) index_end: u64,
    /// True if the file holds more than its warcinfo record.
    pub(super) has_records: bool,
    /// True if something is written that was not forced to the disk.
    pub(super) dirty: bool,
}

impl Writer {
    /// Appends the records of an item.
    ///
    /// # Errors
    /// After [`ArchiveError::Full`] nothing of the item is in the archive, and it can be written
    /// again. Any other error may repeat.
    pub(super) fn write(&mut self, item: &Item, encoded: Encoded) -> Result<Written, ArchiveError> {
        if let Some(why) = &self.stopped {
            return Err(ArchiveError::Stopped(why.clone()));
        }
        let size = encoded.bytes.len() as u64;
        let is_over = |open: &OpenFile| {
            open.has_records && open.end.saturating_add(size) > self.settings.size_max.get()
        };
        if self.open.as_ref().is_some_and(is_over) {
            self.finish()?;
        }
        if self.open.is_none() {
            self.open = Some(self.begin(item.date())?);
        }
        // A rotation between encoding and writing leaves the records with the wrong warcinfo.
        let current = self.info.get();
        let encoded =
            if encoded.warcinfo == current { encoded } else { self.encoder.encode(item, current) };
        let written = self.append(encoded)?;
        self.sequence += u64::from(matches!(item, Item::Visit(_)));
        Ok(written)
    }

    fn append(&mut self, encoded: Encoded) -> Result<Written, ArchiveError> {
        let open = self.open.as_mut().expect("a file was begun by the caller");
        let filename = open.name.warc();
        let at = RecordAt { file: filename, offset: open.end, length: encoded.first_length };
        let line = encoded.entry.as_ref().map(|entry| entry.line(at.length, at.offset, &at.file));
        let warc_path = self.dir.join(open.name.warc_open());
        let index_path = self.dir.join(open.name.cdxj_open());
        let mut written = open.warc.write_at(open.end, &encoded.bytes).named("write", &warc_path);
        if let (Ok(()), Some(index), Some(line)) = (&written, &mut open.index, &line) {
            written = index.write_at(open.index_end, line.as_bytes()).named("write", &index_path);
        }
        open.dirty = true;
        if let Err(error) = written {
            let (end, index_end) = (open.end, open.index_end);
            let uncut = open
                .warc
                .cut(end)
                .and_then(|()| open.index.as_mut().map_or(Ok(()), |index| index.cut(index_end)));
            if let Err(cause) = uncut {
                self.stopped = Some(format!("half a record could not be taken back ({cause})"));
            }
            return Err(error);
        }
        open.end += encoded.bytes.len() as u64;
        open.has_records = true;
        if let (Some(_), Some(line)) = (&open.index, &line) {
            open.index_end += line.len() as u64;
        }
        let position = Position { file: at.file.clone(), offset: open.end };
        Ok(Written {
            sequence: self.sequence,
            at,
            position,
            record_id: format!("urn:uuid:{}", encoded.record_id),
            date: encoded.date,
            payload_digest: encoded.payload_digest,
            is_revisit: encoded.is_revisit,
            cdxj: line,
            bytes: encoded.bytes.len() as u64,
        })
    }

    /// Creates the next file with its warcinfo record.
    fn begin(&mut self, date: Timestamp) -> Result<OpenFile, ArchiveError> {
        let gzip = self.settings.compression == Compression::Gzip;
        let name = Name::new(&self.settings.prefix, date, self.next_serial, gzip);
        let info = warcinfo(&self.settings, &self.about, self.info.get(), &name.warc(), date);
        let path = self.dir.join(name.warc_open());
        let index_path = self.dir.join(name.cdxj_open());
        let mut warc = self.medium.create(&path).named("create", &path)?;
        let mut index = None;
        let mut made = warc.write_at(0, &info).named("write", &path);
        if made.is_ok() && self.settings.cdxj {
            match self.medium.create(&index_path).named("create", &index_path) {
                Ok(disk) => index = Some(disk),
                Err(error) => made = Err(error),
            }
        }
        if let Err(error) = made {
            // Half a file would be in the way of the next attempt.
            let _ = fs::remove_file(&path);
            let _ = fs::remove_file(&index_path);
            return Err(error);
        }
        self.next_serial += 1;
        let end = info.len() as u64;
        Ok(OpenFile { name, warc, end, index, index_end: 0, has_records: false, dirty: true })
    }

    /// Forces what is written to the disk.
    pub(super) fn sync(&mut self) -> Result<(), ArchiveError> {
        let Some(open) = self.open.as_mut().filter(|open| open.dirty) else { return Ok(()) };
        let path = self.dir.join(open.name.warc_open());
        open.warc.sync().named("sync", &path)?;
        if let Some(index) = &mut open.index {
            index.sync().named("sync", &path)?;
        }
        sync_dir(&self.dir).named("sync", &self.dir)?;
        open.dirty = false;
        Ok(())
    }

    /// Finishes the open file, if any: sorts its index and gives both their lasting names.
    ///
    /// A crash between any two steps leaves what [`super::open`] completes.
    pub(super) fn finish(&mut self) -> Result<(), ArchiveError> {
        self.sync()?;
        let Some(open) = &self.open else { return Ok(()) };
        finish_file(&self.dir, &open.name)?;
        self.open = None;
        self.info.set(Uuid::new_v4());
        Ok(())
    }

    /// Finishes the open file as the last of a run: what was never committed is cut off now, since
    /// a finished file does not change any more. One of which nothing was committed stays open, and
    /// is moved aside by the next opening.
    pub(super) fn finish_at(&mut self, committed: &Position) -> Result<(), ArchiveError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let file = open.name.warc();
        if file != committed.file {
            let next = Position { file, offset: 0 };
            return if next > *committed { self.sync() } else { self.finish() };
        }
        if committed.offset < open.end {
            let path = self.dir.join(open.name.warc_open());
            open.warc.cut(committed.offset).named("cut", &path)?;
            open.end = committed.offset;
            open.dirty = true;
            if open.index.is_some() {
                open.index_end = index::restore(&self.dir, &open.name, &path, open.end)?;
            }
        }
        self.finish()
    }

    /// Returns where the next record will begin, as far as that is known.
    #[cfg(test)]
    pub(super) fn position(&self) -> Option<Position> {
        let open = self.open.as_ref()?;
        Some(Position { file: open.name.warc(), offset: open.end })
    }
}

/// Sorts the index of a whole file and gives both their lasting names.
pub(super) fn finish_file(dir: &std::path::Path, name: &Name) -> Result<(), ArchiveError> {
    index::finish(dir, name)?;
    let (from, to) = (dir.join(name.warc_open()), dir.join(name.warc()));
    fs::rename(&from, &to).named("rename", &from)?;
    remove_if_any(&dir.join(name.cdxj_open()))?;
    sync_dir(dir).named("sync", dir)
}

pub(super) fn remove_if_any(path: &std::path::Path) -> Result<(), ArchiveError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(ArchiveError::io("remove", path, error))
        }
        _ => Ok(()),
    }
}
