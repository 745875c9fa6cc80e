//! The archive: WARC/1.1 files that other tools replay, with a CDXJ index beside each.
//!
//! Every visit leaves its records, failed ones too: response (or revisit), request and metadata,
//! one gzip member each, byte for byte as received for HTTP/1.x. One task owns the open file behind
//! a bounded channel ([`Archive`]); digests and compression are done by the callers.
//!
//! Upholds **I5**, archive first: [`Archive::write`] answers when the records are in the file, the
//! state then commits [`Written::position`] in the batch of the visit, and [`Archive::open`] cuts
//! off whatever stands behind the committed position. So a crash may repeat a fetch, but leaves no
//! torn record, no lost visit and no record twice. A full disk is no end: what was begun is undone
//! and the same capture can be given again ([`ArchiveError::is_full`]).
//!
//! A file is `PREFIX-YYYYMMDDhhmmss-SERIAL.warc.gz`, with `.open` behind it while it grows. Only
//! the kill of the process is survived without loss under every [`SyncPolicy`]; a power cut may
//! take what was not yet forced to the disk, and then [`ArchiveError::Short`] says so.
//!
//! It does not decide what is kept: which visits, and which of them are revisits, is the crawl's
//! choice. It follows no link and repairs no server's error: a payload is what was received.
//!
//! Sources: ISO 28500:2017 (WARC/1.1, with its annexes), the CDXJ form of `cdxj-indexer` and pywb,
//! the proposed WARC fields `WARC-Protocol` and `WARC-Cipher-Suite`, RFC 1952 (gzip).

mod capture;
mod cdxj;
mod digest;
mod disk;
mod encode;
mod error;
mod export;
mod files;
mod http;
mod index;
mod open;
mod reader;
mod record;
mod repair;
mod settings;
mod task;
mod verify;
mod wacz;
mod walk;
mod writer;

#[cfg(test)]
mod tests;

pub use capture::{Capture, DnsCapture, Profile, RevisitOf};
pub use digest::payload_digest;
pub use encode::USAGE_HEADERS;
pub use error::ArchiveError;
pub use export::{Exported, check_writable, export_aliases, export_cdxj, export_jsonl};
pub use export::{export_warc, replace_by, replace_whole, write_whole};
pub use files::{Position, RecordAt};
pub use index::Indexed;
pub use open::{Cut, Opened, is_cut_short, remove_own};
pub use reader::{Damage, DamageKind, Extent, Head, Reader, Record, resync};
pub use repair::{Repaired, repair};
pub use settings::{About, Compression, RevisitPolicy, Settings, SyncPolicy};
pub use task::Archive;
pub use verify::{Finding, Problem, Report, verify, verify_while_written};
pub use wacz::export_wacz;
pub use walk::{Found, Selection, Walked, read_at, walk, walk_file};
pub use writer::Written;
