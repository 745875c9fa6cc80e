//! Data sets out of an archive: one row for every capture as Parquet, or the main text of pages as
//! plain text, one for every group of duplicates.
//!
//! What owners say about the use of their texts stands beside every row, raw and read, and can be
//! filtered by: answers' headers (`Content-Usage`, `Content-Signal`, `TDM-Reservation`,
//! `X-Robots-Tag`), `meta` elements of the page, and the same lines in the robots.txt of the host,
//! as the crawl has it.
//!
//! Text, digest and duplicates are those of the crawl: the same extraction, the same boilerplate of
//! the site, the same index of near-duplicates. The text of a revisit is that of the record that it
//! refers to, but what may be done with it is for the owner of its own URL to say. Nothing is
//! fetched. The archive is read as a stream; its heads are read before, to find what revisits refer
//! to. Memory is bounded by [`TEXTS_MAX`] digests, the places of five million such records, and one
//! row group.

mod originals;
mod parquet;
mod rows;
mod text;
mod usage;

pub use parquet::{COLUMNS, export_parquet};
pub use rows::{Reader, Row, Wanted};
pub use text::export_text;
pub use usage::{Preferences, Purpose, Said};

use std::path::PathBuf;

use crate::archive::{ArchiveError, Walked};
use crate::db::DbError;

/// Distinct texts that are remembered, about 20 bytes each; repeats of later ones are not told.
pub const TEXTS_MAX: usize = 20_000_000;

/// Bytes of a payload that are read: the most that the crawl itself reads by default.
pub const PAYLOAD_MAX: usize = 32 << 20;

/// What an export wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Rows, or texts.
    pub rows: u64,
    /// Bytes of the file, or of the texts.
    pub bytes: u64,
    /// Left out because the owner does not want this use.
    pub left_out_by_usage: u64,
    /// Left out because the same or nearly the same text is there.
    pub left_out_as_duplicates: u64,
    /// Left out because they have no text.
    pub left_out_without_text: u64,
    /// True if there were more distinct texts than are remembered.
    pub overflowed: bool,
    /// What was looked through, and the damage that was stepped over.
    pub walked: Walked,
}

/// Why there is no data set.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// The archive cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The state cannot be read.
    #[error(transparent)]
    Db(#[from] DbError),
    /// The table cannot be made.
    #[error("write {}: {why}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl DatasetError {
    /// Returns true if the same call may succeed when there is room again.
    pub fn is_full(&self) -> bool {
        matches!(self, DatasetError::Archive(error) if error.is_full())
    }
}
