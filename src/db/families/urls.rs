//! `urls`: the ledger, one row for every URL that was found.
//!
//! key = fingerprint of the normal form (16 bytes) · value = [`UrlRecord`].

use super::Chunk;
use crate::db::{Batch, Db, DbError, Family};
use crate::frontier::UrlRecord;
use crate::url::Fingerprint;

/// Returns the record of a URL.
///
/// # Errors
/// Returns what the database says.
pub fn get(db: &Db, fingerprint: Fingerprint) -> Result<Option<UrlRecord>, DbError> {
    db.get(Family::Urls, &fingerprint.to_bytes())
}

/// Returns the records of several URLs.
///
/// # Errors
/// Returns what the database says.
pub fn get_many(db: &Db, fingerprints: &[Fingerprint]) -> Result<Vec<Option<UrlRecord>>, DbError> {
    let keys: Vec<[u8; 16]> = fingerprints.iter().map(|f| f.to_bytes()).collect();
    let values = db.get_many(Family::Urls, &keys)?;
    let decode = |(key, value): (&[u8; 16], Option<Vec<u8>>)| {
        value.map(|value| Db::decode(Family::Urls, key, &value)).transpose()
    };
    keys.iter().zip(values).map(decode).collect()
}

/// Stores the record of a URL.
pub fn put(batch: &mut Batch, db: &Db, fingerprint: Fingerprint, record: &UrlRecord) {
    batch.put(db, Family::Urls, &fingerprint.to_bytes(), record);
}

/// Returns the next records from a key on, at most `most`, and the key behind them; none where
/// there are no more.
///
/// # Errors
/// Returns what the database says.
pub fn chunk(
    db: &Db,
    from: &[u8],
    most: usize,
) -> Result<Chunk<(Fingerprint, UrlRecord)>, DbError> {
    let (mut rows, mut next) = (Vec::new(), None);
    db.scan(Family::Urls, from, &[], |key, value| {
        if rows.len() == most {
            next = Some(key.to_vec());
            return Ok(false);
        }
        let fingerprint = Fingerprint(u128::from_be_bytes(key.try_into().unwrap_or_default()));
        rows.push((fingerprint, Db::decode(Family::Urls, key, value)?));
        Ok(true)
    })?;
    Ok((rows, next))
}

/// Calls `visit` with every record until it returns false.
///
/// # Errors
/// Returns what the database says.
pub fn each(db: &Db, mut visit: impl FnMut(Fingerprint, UrlRecord) -> bool) -> Result<(), DbError> {
    db.scan(Family::Urls, &[], &[], |key, value| {
        let fingerprint = Fingerprint(u128::from_be_bytes(key.try_into().unwrap_or_default()));
        Ok(visit(fingerprint, Db::decode(Family::Urls, key, value)?))
    })
}

/// Returns the records from a fingerprint on, in order, at most `most`.
///
/// # Errors
/// Returns what the database says.
pub fn from(
    db: &Db,
    first: Fingerprint,
    most: usize,
) -> Result<Vec<(Fingerprint, UrlRecord)>, DbError> {
    let mut found = Vec::new();
    db.scan(Family::Urls, &first.to_bytes(), &[], |key, value| {
        let fingerprint = Fingerprint(u128::from_be_bytes(key.try_into().unwrap_or_default()));
        found.push((fingerprint, Db::decode(Family::Urls, key, value)?));
        Ok(found.len() < most)
    })?;
    Ok(found)
}
