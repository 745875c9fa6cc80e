//! Logs as lists of URLs: crawl logs, web-server logs, TSV lists and CDXJ indexes.
//!
//! [`Batch`] reads any number of them, plain or gzip, into [`Record`]s with one per URL. Bad lines
//! are counted and named by file and line, never fatal. Memory is bounded (I8): by the length of a
//! line, by the bytes of a file after decompression, and by the number of distinct URLs.
//!
//! [`Record`]: super::paper::Record

mod access_log;
mod batch;
mod line;

pub use batch::{BadLine, Batch, Collected, Settings};
pub(crate) use line::is_no_page;
pub use line::{Format, LineError, detect};
