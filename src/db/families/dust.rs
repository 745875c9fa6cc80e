//! `sites`: what is remembered of a site beyond one crawl of its pages.
//!
//! key = kind u8 (`s` the miner's sample, `r` its rules with their evidence, `m` the model of its
//! boilerplate, `e` its error pages) · site or host name, ASCII · value = bytes as the owner
//! encodes them, with a version.
//!
//! key = `p` · …: see [`super::parts`].
//!
//! key = `t` · site · 0 · serial u64 big-endian · value = what the miner was told of that site and
//! its kept sample does not hold yet.

use crate::db::{Batch, Db, DbError, Family};

/// What a value of `sites` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The sample of URLs that rules are mined from.
    Sample,
    /// The rules of a site with their evidence.
    Rules,
    /// What repeats on the site's pages.
    Model,
    /// What the host answers to paths that cannot exist.
    Errors,
}

fn key(kind: Kind, name: &str) -> Vec<u8> {
    let mut key = vec![match kind {
        Kind::Sample => b's',
        Kind::Rules => b'r',
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

/// Removes what is remembered, if anything.
pub fn delete(batch: &mut Batch, db: &Db, kind: Kind, name: &str) {
    batch.delete(db, Family::Sites, &key(kind, name));
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

const TOLD: u8 = b't';

fn told_key(site: &str, serial: u64) -> Vec<u8> {
    let mut key = vec![TOLD];
    key.extend_from_slice(site.as_bytes());
    // No name of a site has this byte, so that none begins the rows of another.
    key.push(0);
    key.extend_from_slice(&serial.to_be_bytes());
    key
}

/// Stores what the miner is told of a site.
pub fn put_told(batch: &mut Batch, db: &Db, site: &str, serial: u64, bytes: &[u8]) {
    batch.put_raw(db, Family::Sites, &told_key(site, serial), bytes);
}

/// Removes what was told of a site up to a row, which the kept sample holds by now.
///
/// # Errors
/// Returns what the database says.
pub fn delete_told(batch: &mut Batch, db: &Db, site: &str, serial: u64) -> Result<(), DbError> {
    let mut held = Vec::new();
    let (from, to) = (told_key(site, 0), told_key(site, serial.saturating_add(1)));
    db.scan(Family::Sites, &from, &to, |key, _| {
        held.push(key.to_vec());
        Ok(true)
    })?;
    held.iter().for_each(|key| batch.delete(db, Family::Sites, key));
    Ok(())
}

/// Calls `visit` with what the miner was told, site by site and in order.
///
/// # Errors
/// Returns what the database says.
pub fn each_told(db: &Db, mut visit: impl FnMut(&[u8])) -> Result<(), DbError> {
    db.scan(Family::Sites, &[TOLD], &[TOLD + 1], |_, value| {
        visit(value);
        Ok(true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_what_was_told_stand_in_order_and_apart_from_names_and_other_sites() {
        assert!(told_key("a.test", 255) < told_key("a.test", 256));
        assert!(key(Kind::Sample, "z.test") < told_key("a.test", 0));
        assert!(told_key("z.test", u64::MAX) < vec![TOLD + 1]);
        assert!(told_key("a.test", u64::MAX) < told_key("a.test.example", 0));
    }
}
