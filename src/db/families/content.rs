//! `contents`, `bands`: content-seen, exact and near.
//!
//! `contents`: key = kind u8 (`t` main text, `p` payload) · digest (16 bytes) · value =
//! [`FirstCapture`].
//! `bands`: key = band u64 · fingerprint of a URL (24 bytes) · value = bytes of its sketch.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::db::{Batch, Db, DbError, Family};
use crate::url::Fingerprint;

/// Which digest a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The main text.
    Text,
    /// The payload as transferred.
    Payload,
}

/// The first capture of a content, and how often it came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstCapture {
    /// The URL that had it first.
    pub url: Fingerprint,
    /// That URL, since a revisit record must name it.
    pub target: String,
    /// When.
    pub at: Timestamp,
    /// The archive's digest of the payload, as the record has it.
    pub payload_digest: String,
    /// Captures so far.
    pub count: u32,
}

fn key(kind: Kind, digest: u128) -> [u8; 17] {
    let mut key = [if kind == Kind::Text { b't' } else { b'p' }; 17];
    key[1..].copy_from_slice(&digest.to_be_bytes());
    key
}

/// Returns the first capture of a content.
///
/// # Errors
/// Returns what the database says.
pub fn get(db: &Db, kind: Kind, digest: u128) -> Result<Option<FirstCapture>, DbError> {
    db.get(Family::Contents, &key(kind, digest))
}

/// Stores the first capture of a content.
pub fn put(batch: &mut Batch, db: &Db, kind: Kind, digest: u128, first: &FirstCapture) {
    batch.put(db, Family::Contents, &key(kind, digest), first);
}

/// Adds a document to a band.
pub fn put_band(batch: &mut Batch, db: &Db, band: u64, url: Fingerprint, sketch: &[u8]) {
    let mut key = [0; 24];
    key[..8].copy_from_slice(&band.to_be_bytes());
    key[8..].copy_from_slice(&url.to_bytes());
    batch.put_raw(db, Family::Bands, &key, sketch);
}

/// Returns documents of a band with their sketches, at most `most`.
///
/// # Errors
/// Returns what the database says.
pub fn band(db: &Db, band: u64, most: usize) -> Result<Vec<(Fingerprint, Vec<u8>)>, DbError> {
    let mut found = Vec::new();
    db.scan(Family::Bands, &band.to_be_bytes(), &[], |key, value| {
        if key.len() != 24 || key[..8] != band.to_be_bytes() {
            return Ok(false);
        }
        let url = u128::from_be_bytes(key[8..].try_into().unwrap_or_default());
        found.push((Fingerprint(url), value.to_vec()));
        Ok(found.len() < most)
    })?;
    Ok(found)
}
