//! `suppressed`, `suppressed_by_rule`: what rules kept from being fetched, so that it can come
//! back.
//!
//! `suppressed`: key = fingerprint of the representative · fingerprint of the suppressed URL
//! (32 bytes) · value = [`Suppression`].
//! `suppressed_by_rule`: key = rule u64 · fingerprint of the suppressed URL (24 bytes) · value =
//! fingerprint of the representative, raw.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::db::{Batch, Db, DbError, Family};
use crate::url::Fingerprint;

/// How a URL came to be suppressed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suppression {
    /// The rules that gave it its key.
    pub rules: Vec<u64>,
    /// When.
    pub at: Timestamp,
}

fn pair(by: Fingerprint, url: Fingerprint) -> [u8; 32] {
    let mut key = [0; 32];
    key[..16].copy_from_slice(&by.to_bytes());
    key[16..].copy_from_slice(&url.to_bytes());
    key
}

fn rule_key(rule: u64, url: Fingerprint) -> [u8; 24] {
    let mut key = [0; 24];
    key[..8].copy_from_slice(&rule.to_be_bytes());
    key[8..].copy_from_slice(&url.to_bytes());
    key
}

fn fingerprint(bytes: &[u8]) -> Fingerprint {
    Fingerprint(u128::from_be_bytes(bytes.try_into().unwrap_or_default()))
}

/// Notes that `url` is suppressed in favour of `by`.
pub fn put(batch: &mut Batch, db: &Db, by: Fingerprint, url: Fingerprint, how: &Suppression) {
    batch.put(db, Family::Suppressed, &pair(by, url), how);
    for rule in &how.rules {
        batch.put_raw(db, Family::SuppressedByRule, &rule_key(*rule, url), &by.to_bytes());
    }
}

/// Forgets that `url` is suppressed in favour of `by`.
pub fn delete(batch: &mut Batch, db: &Db, by: Fingerprint, url: Fingerprint, how: &Suppression) {
    batch.delete(db, Family::Suppressed, &pair(by, url));
    for rule in &how.rules {
        batch.delete(db, Family::SuppressedByRule, &rule_key(*rule, url));
    }
}

/// Forgets that a rule suppresses `url`.
pub fn forget(batch: &mut Batch, db: &Db, rule: u64, url: Fingerprint) {
    batch.delete(db, Family::SuppressedByRule, &rule_key(rule, url));
}

/// Returns how `url` came to be suppressed in favour of `by`.
///
/// # Errors
/// Returns what the database says.
pub fn get(db: &Db, by: Fingerprint, url: Fingerprint) -> Result<Option<Suppression>, DbError> {
    db.get(Family::Suppressed, &pair(by, url))
}

/// Returns URLs that are suppressed in favour of `by`, at most `most`.
///
/// # Errors
/// Returns what the database says.
pub fn of(
    db: &Db,
    by: Fingerprint,
    most: usize,
) -> Result<Vec<(Fingerprint, Suppression)>, DbError> {
    let from = pair(by, Fingerprint(0));
    let to = pair(Fingerprint(by.0.wrapping_add(1)), Fingerprint(0));
    let mut found = Vec::new();
    db.scan(Family::Suppressed, &from, &to, |key, value| {
        if key[..16] != by.to_bytes() {
            return Ok(false);
        }
        found.push((fingerprint(&key[16..]), Db::decode(Family::Suppressed, key, value)?));
        Ok(found.len() < most)
    })?;
    Ok(found)
}

/// Returns URLs that a rule suppresses, with their representatives, at most `most`.
///
/// # Errors
/// Returns what the database says.
pub fn by_rule(
    db: &Db,
    rule: u64,
    most: usize,
) -> Result<Vec<(Fingerprint, Fingerprint)>, DbError> {
    let mut found = Vec::new();
    db.scan(Family::SuppressedByRule, &rule.to_be_bytes(), &[], |key, value| {
        if key[..8] != rule.to_be_bytes() {
            return Ok(false);
        }
        found.push((fingerprint(&key[8..]), fingerprint(value)));
        Ok(found.len() < most)
    })?;
    Ok(found)
}
