//! Why the state cannot be read or written.

use std::path::PathBuf;

/// A failure of the state directory; the crawl stops on it, for a wrong answer is worse than none.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// Another process has the state open.
    #[error(
        "open the state in {dir}: another process{pid} has it open; stop that crawl first, or give \
         this one a state directory of its own"
    )]
    Locked {
        /// The directory.
        dir: PathBuf,
        /// ` (process N)` where it is known.
        pid: String,
    },
    /// The state was written by another version of this program.
    #[error(
        "open the state in {dir}: it has format {found}, this program reads format {wanted}; use the \
         version that wrote it, or start anew in another directory"
    )]
    Version {
        /// The directory.
        dir: PathBuf,
        /// What was found.
        found: String,
        /// What this program writes.
        wanted: u32,
    },
    /// There is no state here.
    #[error("open the state in {0}: there is none; `crawler run` makes one")]
    Missing(PathBuf),
    /// The files changed whenever the state was opened for reading.
    #[error("open the state in {0}, which is being written: its files change too fast; try again")]
    Restless(PathBuf),
    /// A value cannot be decoded.
    #[error("read {family} key {key}: {why}; run `crawler verify`")]
    Corrupt {
        /// The column family.
        family: &'static str,
        /// The key in hexadecimal.
        key: String,
        /// What is wrong with the value.
        why: String,
    },
    /// No space is left on the disk.
    #[error("write the state: no space left on the disk; free some, the same command goes on")]
    Full,
    /// RocksDB cannot read a file of the state.
    #[error(
        "read the state, which is damaged: {0}; `crawler verify` says what else is, and nothing but \
         a copy of the state directory, or a new crawl in another directory, brings it back"
    )]
    Damaged(rocksdb::Error),
    /// RocksDB says so.
    #[error("use the state: {0}")]
    Rocks(rocksdb::Error),
}

impl From<rocksdb::Error> for DbError {
    fn from(error: rocksdb::Error) -> Self {
        let text = error.as_ref();
        let full = ["No space left", "File too large", "Disk quota exceeded"];
        if full.iter().any(|sign| text.contains(sign)) {
            return DbError::Full;
        }
        match error.kind() {
            rocksdb::ErrorKind::Corruption => DbError::Damaged(error),
            _ => DbError::Rocks(error),
        }
    }
}
