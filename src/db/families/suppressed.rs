//! `suppressed`, `suppressed_by_rule`: what rules kept from being fetched, so that it can come
//! back.
//!
//! `suppressed`: key = fingerprint of the representative · fingerprint of the suppressed URL
//! (32 bytes) · value = [`Suppression`].
//! `suppressed_by_rule`: key = rule u64 · fingerprint of the suppressed URL (24 bytes) · value =
//! fingerprint of the representative, raw.
//! In `meta`: key = `returning ` · fingerprint of a representative that came to nothing · no value:
//! what it stood for is on its way back into the frontier. Key = `kept back ` · rule u64 · view
//! u64 · value = whether what the rule hides for pages that keep something back must be looked at
//! yet: a page of this view kept back what another form of it gives.

use serde::{Deserialize, Serialize};

use super::urls;
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

/// What keys of representatives that came to nothing begin with, in `meta`.
const RETURNING: &[u8] = b"returning ";

fn returning_key(by: Fingerprint) -> Vec<u8> {
    [RETURNING, &by.to_bytes()[..]].concat()
}

/// Notes that all that `by` stood for has to come back.
pub fn put_returning(batch: &mut Batch, db: &Db, by: Fingerprint) {
    batch.put_raw(db, Family::Meta, &returning_key(by), &[]);
}

/// Forgets it: all is back.
pub fn delete_returning(batch: &mut Batch, db: &Db, by: Fingerprint) {
    batch.delete(db, Family::Meta, &returning_key(by));
}

/// Returns the representatives whose suppressed URLs have to come back, at most `most`.
///
/// # Errors
/// Returns what the database says.
pub fn returning(db: &Db, most: usize) -> Result<Vec<Fingerprint>, DbError> {
    let mut found = Vec::new();
    db.scan(Family::Meta, RETURNING, &[], |key, _| {
        let Some(by) = key.strip_prefix(RETURNING) else { return Ok(false) };
        found.push(fingerprint(by));
        Ok(found.len() < most)
    })?;
    Ok(found)
}

/// What keys begin with, in `meta`, of rules that made one page of forms of which one keeps back
/// what the other gives.
const KEPT_BACK: &[u8] = b"kept back ";

/// A rule that made one page of forms of which one keeps back what the other gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptBack {
    /// The rule.
    pub rule: u64,
    /// The view of the page that keeps something back.
    pub view: u64,
    /// What the rule hides must be looked at yet.
    pub is_due: bool,
}

/// Notes that a rule did so in a view, and whether what it hides must be looked at yet.
pub fn put_kept_back(batch: &mut Batch, db: &Db, how: KeptBack) {
    let key = [KEPT_BACK, &how.rule.to_be_bytes()[..], &how.view.to_be_bytes()[..]].concat();
    batch.put(db, Family::Meta, &key, &how.is_due);
}

/// Returns the rules that did so, with the views, and whether what they hide must be looked at yet;
/// at most `most`.
///
/// # Errors
/// Returns what the database says.
pub fn kept_back(db: &Db, most: usize) -> Result<Vec<KeptBack>, DbError> {
    let mut found = Vec::new();
    db.scan(Family::Meta, KEPT_BACK, &[], |key, value| {
        let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap_or_default());
        let Some((rule, view)) = key.strip_prefix(KEPT_BACK).and_then(|of| of.split_at_checked(8))
        else {
            return Ok(false);
        };
        let is_due = Db::decode(Family::Meta, key, value)?;
        found.push(KeptBack { rule: number(rule), view: number(view), is_due });
        Ok(found.len() < most)
    })?;
    Ok(found)
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

/// Counts the URLs that are suppressed in favour of `by`, up to `most`.
///
/// # Errors
/// Returns what the database says.
pub fn count_of(db: &Db, by: Fingerprint, most: usize) -> Result<usize, DbError> {
    let from = pair(by, Fingerprint(0));
    let to = pair(Fingerprint(by.0.wrapping_add(1)), Fingerprint(0));
    let mut count = 0;
    db.scan(Family::Suppressed, &from, &to, |key, _| {
        count += usize::from(key[..16] == by.to_bytes());
        Ok(count < most)
    })?;
    Ok(count)
}

/// Forms of one URL that an alias stands for, and steps from one that stands for another.
const FORMS_MAX: usize = 100_000;
const STEPS_MAX: usize = 5;

/// Returns the URLs that are suppressed in favour of `by`, or of one that is itself: what a page
/// stands for, at most 100,000.
///
/// # Errors
/// Returns what the database says.
pub fn urls_under(db: &Db, by: Fingerprint) -> Result<Vec<String>, DbError> {
    let mut found = Vec::new();
    let mut heads = vec![by];
    for _ in 0..STEPS_MAX {
        let mut below = Vec::new();
        for head in std::mem::take(&mut heads) {
            for (url, _) in of(db, head, FORMS_MAX.saturating_sub(found.len()))? {
                if let Some(record) = urls::get(db, url)? {
                    found.push(record.url);
                    below.push(url);
                }
            }
        }
        heads = below;
    }
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
    by_rule_from(db, rule, Fingerprint(0), most)
}

/// Returns the same, in the order of their fingerprints from `from` on.
///
/// # Errors
/// Returns what the database says.
pub fn by_rule_from(
    db: &Db,
    rule: u64,
    from: Fingerprint,
    most: usize,
) -> Result<Vec<(Fingerprint, Fingerprint)>, DbError> {
    let mut found = Vec::new();
    db.scan(Family::SuppressedByRule, &rule_key(rule, from), &[], |key, value| {
        if key[..8] != rule.to_be_bytes() {
            return Ok(false);
        }
        found.push((fingerprint(&key[8..]), fingerprint(value)));
        Ok(found.len() < most)
    })?;
    Ok(found)
}

/// Returns the rules that suppress any URL.
///
/// # Errors
/// Returns what the database says.
pub fn rules(db: &Db) -> Result<Vec<u64>, DbError> {
    let mut found = Vec::new();
    loop {
        let from = found.last().map_or(Some(0), |last: &u64| last.checked_add(1));
        let Some(from) = from else { return Ok(found) };
        let before = found.len();
        db.scan(Family::SuppressedByRule, &from.to_be_bytes(), &[], |key, _| {
            found.extend(key.first_chunk().map(|rule| u64::from_be_bytes(*rule)));
            Ok(false)
        })?;
        if found.len() == before {
            return Ok(found);
        }
    }
}
