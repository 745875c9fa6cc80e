//! `contents`, `bands`: content-seen, exact and near.
//!
//! `contents`: key = kind u8 (`t` main text, `p` payload) · digest (16 bytes) · value =
//! [`FirstCapture`]; and key = kind `s` · page u64 · value = fingerprint of its URL (16 bytes) and
//! its sketch.
//! `bands`: key = band u64 · page u64 (16 bytes) · no value. A page is the last half of the
//! fingerprint of its URL: among 100 million pages two share one with a chance of 1 in 3,700.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::db::{Batch, Db, DbError, Family};
use crate::url::Fingerprint;

/// Which digest a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The main text.
    Text,
    /// The payload as transferred, and how it was framed.
    Payload,
}

/// The first capture of a content.
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

/// Forgets the contents that some URLs had first.
///
/// # Errors
/// Returns what the database says.
pub fn forget(batch: &mut Batch, db: &Db, urls: &BTreeSet<Fingerprint>) -> Result<(), DbError> {
    for kind in [b"p", b"t"] {
        db.scan(Family::Contents, kind, &[kind[0] + 1], |key, value| {
            let first: FirstCapture = Db::decode(Family::Contents, key, value)?;
            if urls.contains(&first.url) {
                batch.delete(db, Family::Contents, key);
            }
            Ok(true)
        })?;
    }
    Ok(())
}

/// Adds a page to a band of the near-duplicate index.
pub fn put_band(batch: &mut Batch, db: &Db, band: u64, page: u64) {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&band.to_be_bytes());
    key[8..].copy_from_slice(&page.to_be_bytes());
    batch.put_raw(db, Family::Bands, &key, &[]);
}

/// Appends to `found` the pages of several bands, at most `most` of each.
///
/// # Errors
/// Returns what the database says.
pub fn bands(db: &Db, bands: &[u64], most: usize, found: &mut Vec<u64>) -> Result<(), DbError> {
    let prefixes: Vec<[u8; 8]> = bands.iter().map(|band| band.to_be_bytes()).collect();
    let (mut band, mut count) = ([0; 8], 0);
    db.each_with_prefixes(Family::Bands, &prefixes, |key| {
        let Some((prefix, page)) = key.split_first_chunk::<8>() else { return true };
        count = if *prefix == band { count + 1 } else { 1 };
        band = *prefix;
        found.extend(page.try_into().map(u64::from_be_bytes));
        count < most
    })
}

/// Calls `visit` with every band and page from band `first` to band `last`, in order, until it
/// returns false.
///
/// # Errors
/// Returns what the database says.
pub fn each_band(
    db: &Db,
    first: u64,
    last: u64,
    mut visit: impl FnMut(u64, u64) -> bool,
) -> Result<(), DbError> {
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes).unwrap_or_default();
    let end = last.checked_add(1).map(u64::to_be_bytes);
    let end = end.as_ref().map_or(&[][..], |end| &end[..]);
    db.scan(Family::Bands, &first.to_be_bytes(), end, |key, _| {
        Ok(key.len() != 16 || visit(number(&key[..8]), number(&key[8..])))
    })
}

/// Stores the URL and the sketch of a page of the near-duplicate index.
pub fn put_sketch(batch: &mut Batch, db: &Db, page: u64, url: Fingerprint, sketch: &[u8]) {
    let value = [&url.to_bytes()[..], sketch].concat();
    batch.put_raw(db, Family::Contents, &sketch_key(page), &value);
}

/// Returns the URL and the sketch of a page of the near-duplicate index.
///
/// # Errors
/// Returns what the database says.
pub fn sketch(db: &Db, page: u64) -> Result<Option<(Fingerprint, Vec<u8>)>, DbError> {
    let value = db.get_raw(Family::Contents, &sketch_key(page))?;
    Ok(value.and_then(|value| {
        let (url, sketch) = value.split_first_chunk::<16>()?;
        Some((Fingerprint(u128::from_be_bytes(*url)), sketch.to_vec()))
    }))
}

fn sketch_key(page: u64) -> [u8; 9] {
    let mut key = [b's'; 9];
    key[1..].copy_from_slice(&page.to_be_bytes());
    key
}
