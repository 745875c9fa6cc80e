//! `sites`: what is remembered of a site beyond one crawl of its pages.
//!
//! key = kind u8 (`s` the miner's sample, `m` the model of its boilerplate, `e` its error pages) ·
//! site or host name, ASCII · value = bytes as the owner encodes them, with a version byte.

use crate::db::{Batch, Db, DbError, Family};

/// What a value of `sites` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The sample of URLs that rules are mined from.
    Sample,
    /// What repeats on the site's pages.
    Model,
    /// What the host answers to paths that cannot exist.
    Errors,
}

fn key(kind: Kind, name: &str) -> Vec<u8> {
    let mut key = vec![match kind {
        Kind::Sample => b's',
        Kind::Model => b'm',
        Kind::Errors => b'e',
    }];
    key.extend_from_slice(name.as_bytes());
    key
}

/// Returns what is remembered.
///
/// # Errors
/// Returns what the database says.
pub fn get(db: &Db, kind: Kind, name: &str) -> Result<Option<Vec<u8>>, DbError> {
    db.get_raw(Family::Sites, &key(kind, name))
}

/// Stores what is to be remembered.
pub fn put(batch: &mut Batch, db: &Db, kind: Kind, name: &str, bytes: &[u8]) {
    batch.put_raw(db, Family::Sites, &key(kind, name), bytes);
}

/// Calls `visit` with every name and value of a kind.
///
/// # Errors
/// Returns what the database says.
pub fn each(db: &Db, kind: Kind, mut visit: impl FnMut(&str, &[u8])) -> Result<(), DbError> {
    let from = key(kind, "");
    let to = [from[0] + 1];
    db.scan(Family::Sites, &from, &to, |key, value| {
        visit(&String::from_utf8_lossy(&key[1..]), value);
        Ok(true)
    })
}
