//! Fetches again what a power cut took out of the archive.
//!
//! The archive is forced to the disk before the state, once a second. In between the state may
//! reach the disk by itself: RocksDB forces its log whenever it writes a memtable out. So after a
//! power cut the state may know of records that are gone. They are of that second; their URLs go
//! back into the frontier, and nothing else that is known is doubted.

use std::collections::BTreeSet;

use super::error::CrawlError;
use super::state::State;
use crate::archive::Position;
use crate::clock::Timestamp;
use crate::db::families::meta::{self, ArchivePosition};
use crate::db::families::{content, urls};
use crate::db::{Batch, DbError};
use crate::frontier::{UrlRecord, UrlState};
use crate::url::Fingerprint;

/// URLs that are put back in one batch.
const STEP: usize = 1_000;

impl State {
    /// Keeps how far the archive was forced to the disk.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn note_forced(&self, position: &ArchivePosition) -> Result<(), DbError> {
        if meta::forced(&self.db)?.as_ref() == Some(position) {
            return Ok(());
        }
        let mut batch = Batch::default();
        meta::put_forced(&mut batch, &self.db, position);
        self.db.commit(batch)
    }

    /// Puts the URLs back into the frontier whose records lie behind a position, where the archive
    /// ends now; returns how many. If it is broken off it can be done again, and until it is done
    /// the state asks for it.
    ///
    /// # Errors
    /// Returns what the database says.
    pub fn fetch_again_behind(
        &mut self,
        end: &Position,
        now: Timestamp,
    ) -> Result<u64, CrawlError> {
        let db = self.db.clone();
        let mut lost: BTreeSet<Fingerprint> = BTreeSet::new();
        urls::each(&db, |own, record| {
            if is_behind(&record, end) {
                lost.insert(own);
            }
            true
        })?;
        // First of all: a page that comes back must not be told to repeat what is gone.
        let mut batch = Batch::default();
        content::forget(&mut batch, &db, &lost)?;
        self.commit(batch, now)?;
        let lost: Vec<Fingerprint> = lost.into_iter().collect();
        for some in lost.chunks(STEP) {
            let mut batch = Batch::default();
            for (own, record) in some.iter().zip(urls::get_many(&db, some)?) {
                if let Some(record) = record {
                    self.fetch_again(&mut batch, *own, record, "record-lost")?;
                }
            }
            self.commit(batch, now)?;
        }
        self.archive = ArchivePosition { file: end.file.clone(), offset: end.offset };
        self.commit(Batch::default(), now)?;
        Ok(lost.len() as u64)
    }
}

/// Returns true for a URL whose record ends behind a position.
fn is_behind(record: &UrlRecord, end: &Position) -> bool {
    let UrlState::Done(done) = &record.state else { return false };
    done.record.as_ref().is_some_and(|(file, offset, length)| {
        let own = Position { file: file.clone(), offset: offset.saturating_add(*length) };
        own > *end
    })
}
