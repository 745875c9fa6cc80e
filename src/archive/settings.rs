//! What the user can set, and who the archive says it is.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::{ByteSize, Span};

/// Settings of the archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// Directory of the WARC files; created if missing. Relative to the crawl's directory.
    pub dir: PathBuf,
    /// First part of every file name: letters, digits, `.`, `_` and `-`.
    pub prefix: String,
    /// A new file is begun before one would grow past this. 1 GB is what WARC Annex C recommends.
    pub size_max: ByteSize,
    /// How records are stored.
    pub compression: Compression,
    /// Effort of gzip, 1 (fast) to 9 (small); 6 saves a tenth over 1 and takes three times as
    /// long, which is a fifth of all that a page costs.
    pub level: u32,
    /// Whether a CDXJ index is kept beside each file.
    pub cdxj: bool,
    /// Whether the answers of name servers are kept as resource records of type `text/dns`, one
    /// for each question asked.
    pub dns: bool,
    /// When records are forced to the disk. A killed process loses nothing under any policy; this
    /// is about power cuts.
    pub sync: SyncPolicy,
    /// Longest time that a written record stays unforced under `sync = "interval"`.
    pub sync_interval: Span,
    /// What is written for a payload that the archive holds already.
    pub revisit: RevisitPolicy,
    /// Person or organisation that runs the crawl, for the warcinfo record; empty: left out.
    pub operator: String,
    /// Collection that the files belong to, for the warcinfo record; empty: the prefix.
    pub is_part_of: String,
    /// What the crawl is for, for the warcinfo record; empty: left out.
    pub description: String,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            dir: PathBuf::from("archive"),
            prefix: "crawl".to_owned(),
            size_max: ByteSize(1_000_000_000),
            compression: Compression::Gzip,
            level: 1,
            cdxj: true,
            dns: true,
            sync: SyncPolicy::Interval,
            sync_interval: Span::secs(5),
            revisit: RevisitPolicy::Identical,
            operator: String::new(),
            is_part_of: String::new(),
            description: String::new(),
        }
    }
}

impl Settings {
    /// Checks what the types cannot: lengths, characters and ranges.
    ///
    /// # Errors
    /// Returns the key and what it must be.
    pub fn check(&self) -> Result<(), String> {
        // It is filled and looked through as a whole: not with what else lies in `..` or `/`.
        if self.dir.file_name().is_none() {
            return Err("`dir` must end in a name, for it is a directory of its own".to_owned());
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if self.prefix.is_empty() || self.prefix.len() > 100 || !self.prefix.chars().all(fits) {
            return Err("`prefix` must be 1 to 100 letters, digits, `.`, `_` or `-`".to_owned());
        }
        if self.prefix.starts_with(['.', '-']) {
            return Err("`prefix` must begin with a letter, a digit or `_`".to_owned());
        }
        if !(1..=9).contains(&self.level) {
            return Err("`level` must be 1 to 9".to_owned());
        }
        if self.size_max.get() < 1_000_000 {
            return Err("`size_max` must be at least 1MB".to_owned());
        }
        if self.sync == SyncPolicy::Interval && self.sync_interval.get().is_zero() {
            return Err("`sync_interval` must be longer than zero".to_owned());
        }
        Ok(())
    }
}

/// How records are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// One gzip member per record (`.warc.gz`), so that each can be read alone.
    Gzip,
    /// As they are (`.warc`).
    None,
}

/// When records are forced to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncPolicy {
    /// Only when a file is full or closed.
    Close,
    /// Also at most `sync_interval` after a record was written.
    Interval,
    /// Before a record is reported as written; records that wait together share one sync.
    Record,
}

/// What is written for a payload that the archive holds already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RevisitPolicy {
    /// A revisit record that points to the earlier one.
    Identical,
    /// A whole response record, as if it were new.
    Never,
}

/// What warcinfo records say beyond the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Program and version, `crawler/0.1.0`.
    pub software: String,
    /// The User-Agent header that the crawl sends.
    pub user_agent: String,
    /// Where to complain: a URL or an e-mail address.
    pub contact: String,
    /// The robots policy: `RFC 9309`, or what it was replaced by.
    pub robots: String,
    /// What tells the files of this crawl from those of others in the same directory; none for
    /// what is no crawl's.
    pub crawl: Option<Uuid>,
}
