//! Names of archive files, and places within them.

use std::cmp::Ordering;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// Suffix of a file that is still being written.
pub(super) const OPEN: &str = ".open";

/// Where a record is: what the state keeps for a URL.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RecordAt {
    /// Name of the WARC file, without `.open`, so that it stays right when the file is finished.
    pub file: String,
    /// Offset of the record's first byte.
    pub offset: u64,
    /// Bytes of the record in the file.
    pub length: u64,
}

/// How far the archive is known to be written: what the state commits with each visit (I5).
///
/// Positions are ordered: of several, the state keeps the greatest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Position {
    /// Name of the WARC file, without `.open`; empty before the first record of all.
    pub file: String,
    /// Offset behind its last record.
    pub offset: u64,
}

impl Ord for Position {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |position: &Position| {
            (Name::parse(&position.file).map_or(0, |name| name.serial), position.offset)
        };
        rank(self).cmp(&rank(other)).then_with(|| self.file.cmp(&other.file))
    }
}

impl PartialOrd for Position {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Name of a WARC file: `PREFIX-YYYYMMDDhhmmss-SERIAL.warc.gz`. The serial number grows through all
/// files of a directory; no host name is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// All but the extension.
    pub(super) stem: String,
    pub(super) serial: u32,
    pub(super) gzip: bool,
}

impl Name {
    pub(super) fn new(prefix: &str, date: Timestamp, serial: u32, gzip: bool) -> Self {
        let text = date.to_rfc3339();
        let digits: String = text.chars().filter(char::is_ascii_digit).take(14).collect();
        Name { stem: format!("{prefix}-{digits}-{serial:05}"), serial, gzip }
    }

    /// Parses a name of this form, with or without `.open`.
    pub(super) fn parse(file: &str) -> Option<Name> {
        let file = file.strip_suffix(OPEN).unwrap_or(file);
        let (stem, gzip) = match file.strip_suffix(".warc.gz") {
            Some(stem) => (stem, true),
            None => (file.strip_suffix(".warc")?, false),
        };
        let (_, serial) = stem.rsplit_once('-')?;
        Some(Name { stem: stem.to_owned(), serial: serial.parse().ok()?, gzip })
    }

    /// Returns true for a file that [`Name::new`] names with this prefix.
    pub(super) fn is_of(&self, prefix: &str) -> bool {
        let rest = self.stem.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('-'));
        let date = rest.and_then(|rest| rest.split_once('-')).map(|(date, _)| date);
        date.is_some_and(|date| date.len() == 14 && date.bytes().all(|b| b.is_ascii_digit()))
    }

    /// Returns the name that the finished file has.
    pub(super) fn warc(&self) -> String {
        format!("{}.warc{}", self.stem, if self.gzip { ".gz" } else { "" })
    }

    pub(super) fn warc_open(&self) -> String {
        self.warc() + OPEN
    }

    pub(super) fn cdxj(&self) -> String {
        format!("{}.cdxj", self.stem)
    }

    pub(super) fn cdxj_open(&self) -> String {
        self.cdxj() + OPEN
    }
}

/// Returns the WARC files of a directory in order, finished and open; any other file is passed by.
///
/// # Errors
/// Returns the operating system's error; a missing directory is empty.
pub(super) fn list(dir: &Path) -> io::Result<Vec<Listed>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let file_name = entry.file_name();
        let Some(file) = file_name.to_str() else { continue };
        let is_warc = |name: &str| name.ends_with(".warc") || name.ends_with(".warc.gz");
        let bare = file.strip_suffix(OPEN);
        // One that was moved to a larger disk may have left a link; where that leads nowhere, it is
        // not there.
        let is_file = || fs::metadata(entry.path()).is_ok_and(|metadata| metadata.is_file());
        if is_warc(bare.unwrap_or(file)) && is_file() {
            files.push(Listed {
                path: entry.path(),
                file: bare.unwrap_or(file).to_owned(),
                open: bare.is_some(),
            });
        }
    }
    let serial = |listed: &Listed| Name::parse(&listed.file).map_or(0, |name| name.serial);
    files.sort_by(|a, b| serial(a).cmp(&serial(b)).then_with(|| a.path.cmp(&b.path)));
    Ok(files)
}

/// A WARC file in a directory.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) path: PathBuf,
    /// Name without `.open`.
    pub(super) file: String,
    pub(super) open: bool,
}

impl Listed {
    /// Returns where it is now: a file that grew when it was listed may have been finished since.
    pub(super) fn path_now(&self) -> PathBuf {
        let finished = self.path.with_file_name(&self.file);
        if self.open && finished.exists() { finished } else { self.path.clone() }
    }

    /// Opens it for reading, wherever it is now.
    pub(super) fn read(&self) -> io::Result<fs::File> {
        match fs::File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::File::open(self.path_now())
            }
            opened => opened,
        }
    }
}

/// Forces a directory's entries to the disk: without it, a renamed file may come back under its old
/// name after a power cut.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    fs::File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_as_they_were_written() {
        let name = Name::new("my-crawl", Timestamp::from_millis(1_763_632_800_123), 7, true);
        assert_eq!(name.warc(), "my-crawl-20251120100000-00007.warc.gz");
        assert_eq!(Name::parse(&name.warc()), Some(name.clone()));
        assert_eq!(Name::parse(&name.warc_open()), Some(name.clone()));
        assert_eq!(name.cdxj(), "my-crawl-20251120100000-00007.cdxj");
        for other in ["a.warc.gz", "a-b.warc", "a-1.cdxj", "a-1.warc.gz.part", ""] {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }

    #[test]
    fn positions_sort_by_serial_whatever_the_prefix() {
        let at = |file: &str, offset| Position { file: file.to_owned(), offset };
        let sorted = [
            Position::default(),
            at("z-20260101000000-00001.warc.gz", 5),
            at("z-20260101000000-00001.warc.gz", 9),
            at("a-20260101000000-00002.warc", 1),
            at("a-20260101000000-100000.warc", 0),
        ];
        assert!(sorted.is_sorted());
    }
}
