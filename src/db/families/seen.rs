//! `seen`: the exact URL-seen test.
//!
//! key = fingerprint of a key URL (16 bytes) · value = empty if the URL itself was accepted, or the
//! fingerprint (16 bytes) of the URL that stands for this key under a rule.

use crate::db::{Batch, Db, DbError, Family};
use crate::url::Fingerprint;

/// What is known of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The URL itself is known.
    Itself,
    /// Another URL stands for it.
    By(Fingerprint),
}

impl Known {
    /// Returns the URL that stands for a key of which this is known.
    pub fn holder(self, key: Fingerprint) -> Fingerprint {
        match self {
            Known::Itself => key,
            Known::By(by) => by,
        }
    }
}

/// Returns what is known of several keys.
///
/// # Errors
/// Returns what the database says.
pub fn get_many(db: &Db, keys: &[Fingerprint]) -> Result<Vec<Option<Known>>, DbError> {
    let bytes: Vec<[u8; 16]> = keys.iter().map(|key| key.to_bytes()).collect();
    let values = db.get_many(Family::Seen, &bytes)?;
    Ok(values.into_iter().map(|value| value.map(|value| known(&value))).collect())
}

/// Returns what is known of a key.
///
/// # Errors
/// Returns what the database says.
pub fn get(db: &Db, key: Fingerprint) -> Result<Option<Known>, DbError> {
    Ok(db.get_raw(Family::Seen, &key.to_bytes())?.map(|value| known(&value)))
}

fn known(value: &[u8]) -> Known {
    <[u8; 16]>::try_from(value)
        .map_or(Known::Itself, |bytes| Known::By(Fingerprint(u128::from_be_bytes(bytes))))
}

/// Notes what is known of a key.
pub fn put(batch: &mut Batch, db: &Db, key: Fingerprint, known: Known) {
    match known {
        Known::Itself => batch.put_raw(db, Family::Seen, &key.to_bytes(), &[]),
        Known::By(by) => batch.put_raw(db, Family::Seen, &key.to_bytes(), &by.to_bytes()),
    }
}
