//! What can go wrong on our side of the archive.

use std::io;
use std::path::{Path, PathBuf};

/// Why the archive could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// No room: what was begun has been undone, so the same capture can be written again later.
    #[error("write {}: no space left; free some, then it can go on", path.display())]
    Full {
        /// The file that was to grow.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The operating system refused otherwise.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The state knows records of a file that is not there.
    #[error(
        "find {file} in {}, to which the state refers; put it back, or start with a new state",
        dir.display()
    )]
    Missing {
        /// The file's name.
        file: String,
        /// The archive's directory.
        dir: PathBuf,
    },
    /// The state knows records that the file does not hold, as after a power cut.
    #[error(
        "continue {}: it has {have} bytes, the state knows of {want}; restore the file, or start \
         with a new state", path.display()
    )]
    Short {
        /// The file.
        path: PathBuf,
        /// Its length.
        have: u64,
        /// The length that the state committed.
        want: u64,
    },
    /// A record could not be read.
    #[error("read {}: {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        damage: super::Damage,
    },
    /// A setting that cannot be used.
    #[error("use the archive settings: {0}")]
    Settings(String),
    /// An earlier error left the file in a state that nobody knows, or the archive was closed.
    #[error("write to the archive: {0}")]
    Stopped(String),
}

impl ArchiveError {
    /// Returns the error of a write that failed.
    pub fn write(path: &Path, source: io::Error) -> Self {
        Self::io("write", path, source)
    }

    /// Returns the error of a copy: it names the file on which there is no room, else the other.
    pub(super) fn copy(from: &Path, to: &Path, source: io::Error) -> Self {
        if is_full(&source) { Self::write(to, source) } else { Self::io("copy", from, source) }
    }

    pub(super) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if is_full(&source) {
            ArchiveError::Full { path, source }
        } else {
            ArchiveError::Io { action, path, source }
        }
    }

    /// Returns true if another process writes to the archive.
    pub fn is_in_use(&self) -> bool {
        matches!(self, ArchiveError::Io { source, .. }
            if source.kind() == io::ErrorKind::ResourceBusy)
    }

    /// Returns true if the same call may succeed when there is room again.
    pub fn is_full(&self) -> bool {
        matches!(self, ArchiveError::Full { .. })
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Names the action and the file of an I/O error.
pub(super) trait Named<T> {
    /// Turns the error into one that names the action and the file.
    fn named(self, action: &'static str, path: &Path) -> Result<T, ArchiveError>;
}

impl<T> Named<T> for io::Result<T> {
    fn named(self, action: &'static str, path: &Path) -> Result<T, ArchiveError> {
        self.map_err(|source| ArchiveError::io(action, path, source))
    }
}
