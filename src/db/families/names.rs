//! `names`: the history of a name's addresses.
//!
//! key = host name, ASCII · value = bytes as `dns` encodes a history, with a version byte.

use crate::db::{Batch, Db, DbError, Family};

/// Returns the stored history of a name.
///
/// # Errors
/// Returns what the database says.
pub fn get(db: &Db, name: &str) -> Result<Option<Vec<u8>>, DbError> {
    db.get_raw(Family::Names, name.as_bytes())
}

/// Stores the history of a name.
pub fn put(batch: &mut Batch, db: &Db, name: &str, history: &[u8]) {
    batch.put_raw(db, Family::Names, name.as_bytes(), history);
}
