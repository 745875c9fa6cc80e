//! `robots`: the robots cache on disk.
//!
//! key = origin, ASCII, such as `https://example.org:8443` · value = bytes as `robots` encodes an
//! entry, with a version byte of its own.

use crate::db::{Batch, Db, DbError, Family};
use crate::url::Origin;

/// Returns the stored entry of an origin.
///
/// # Errors
/// Returns what the database says.
pub fn get(db: &Db, origin: &Origin) -> Result<Option<Vec<u8>>, DbError> {
    db.get_raw(Family::Robots, origin.to_string().as_bytes())
}

/// Stores the entry of an origin.
pub fn put(batch: &mut Batch, db: &Db, origin: &Origin, entry: &[u8]) {
    batch.put_raw(db, Family::Robots, origin.to_string().as_bytes(), entry);
}
