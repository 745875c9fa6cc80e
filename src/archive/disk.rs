//! The few operations on an open file that the writer needs, as a trait, so that tests can fill a
//! disk that is not full.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// An open file that only grows at its end, or is cut.
pub(super) trait Disk: Send {
    /// Writes all of `bytes` at `offset`, the end.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file to `length` bytes.
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Forces the contents to the disk.
    fn sync(&mut self) -> io::Result<()>;
}

/// Opens and creates files.
pub(super) trait Medium: Send {
    /// Creates a file that must not exist yet.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Disk>>;
    /// Opens a file that exists.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Disk>>;
}

/// The real file system.
pub(super) struct FileSystem;

impl Medium for FileSystem {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Disk>> {
        locked(OpenOptions::new().read(true).write(true).create_new(true).open(path)?)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Disk>> {
        locked(OpenOptions::new().read(true).write(true).open(path)?)
    }
}

/// Two processes that append to one file would tear each other's records.
fn locked(file: File) -> io::Result<Box<dyn Disk>> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let why =
                "another process is writing to it; each crawl needs an `archive.dir` of its own";
            Err(io::Error::new(io::ErrorKind::ResourceBusy, why))
        }
        // Some network file systems know no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Box::new(file)),
    }
}

impl Disk for File {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}
