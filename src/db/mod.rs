//! The durable state: RocksDB, one column family per file of `families`, one batch per visit.
//!
//! Upholds the storage half of **I4** and **I5**: everything that a visit changes is put into one
//! [`Batch`], and a batch is there after a crash or it is not. Only this module names `rocksdb`.
//! It decides nothing: it reads and writes what the crawl loop says.
//!
//! Durability: every batch goes through the write-ahead log, so `kill -9` loses nothing that was
//! committed. [`Db::sync`] makes the log safe against a power cut; the loop calls it once a second,
//! after the archive's own sync.
//!
//! Layouts stand byte by byte at the head of each family's file. Numbers in keys are big-endian, so
//! that bytes sort as numbers. Values are postcard (<https://postcard.jamesmunns.com/wire-format>)
//! of the types named there, behind one byte for the version of the type.

mod error;
pub mod families;
mod options;
mod store;

pub use error::DbError;
pub use families::Family;
pub use options::Settings;
pub use store::{Batch, Db, FORMAT_VERSION, MemoryEnv, Totals};
