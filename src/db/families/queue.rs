//! `queue`: what waits, under its host.
//!
//! key = host u32 · priority u8 · serial u64 (13 bytes) · value = [`Item`].

use serde::{Deserialize, Serialize};

use super::Chunk;
use crate::db::{Batch, Db, DbError, Family};
use crate::frontier::{HostId, PRIORITIES, Place};
use crate::url::{Fingerprint, Origin};

/// What a row of the queue stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Item {
    /// A URL with a record of its own.
    Page(Fingerprint),
    /// A sample that tests a rule or a soft error.
    Probe {
        /// What to fetch.
        url: String,
        /// Its number, by which the asker knows it.
        number: u64,
    },
    /// Where a robots.txt redirects to, on another host.
    Robots {
        /// What to fetch.
        url: String,
        /// Whose robots.txt it is.
        origin: Origin,
        /// Redirects followed so far.
        hops: u32,
    },
}

/// Returns the key of a row.
pub fn key(host: HostId, place: Place) -> [u8; 13] {
    let mut key = [0; 13];
    key[..4].copy_from_slice(&host.0.to_be_bytes());
    key[4] = place.priority;
    key[5..].copy_from_slice(&place.serial.to_be_bytes());
    key
}

/// Returns host and place of a key.
pub fn parse(key: &[u8]) -> Option<(HostId, Place)> {
    let key: &[u8; 13] = key.try_into().ok()?;
    let host = u32::from_be_bytes(key[..4].try_into().ok()?);
    let serial = u64::from_be_bytes(key[5..].try_into().ok()?);
    Some((HostId(host), Place { priority: key[4], serial }))
}

/// Adds a row.
pub fn put(batch: &mut Batch, db: &Db, host: HostId, place: Place, item: &Item) {
    batch.put(db, Family::Queue, &key(host, place), item);
}

/// Removes a row.
pub fn delete(batch: &mut Batch, db: &Db, host: HostId, place: Place) {
    batch.delete(db, Family::Queue, &key(host, place));
}

/// Reads about `most` rows of a host from its cursors on: half of them from its best priority, and
/// at least one from every other that has any, so that none starves. The flag says whether there
/// may be more.
///
/// # Errors
/// Returns what the database says.
pub fn read(
    db: &Db,
    host: HostId,
    cursors: &[u64; PRIORITIES],
    most: usize,
) -> Result<(Vec<(Place, Item)>, bool), DbError> {
    let mut quota = most.max(2) / 2;
    let mut rows = Vec::new();
    let (mut more, mut best) = (false, None);
    for (priority, cursor) in (0..).zip(cursors) {
        let from = Place { priority, serial: *cursor };
        let before = rows.len();
        more |= read_one(db, host, from, quota.max(1), &mut rows)?;
        if rows.len() > before {
            best = best.or(Some(priority));
            quota /= 2;
        }
    }
    if let Some(priority) = best
        && more
        && rows.len() < most / 2
    {
        let taken = rows.iter().filter(|(place, _)| place.priority == priority);
        let last = taken.map(|(place, _)| place.serial).max().unwrap_or(0);
        let from = Place { priority, serial: last + 1 };
        read_one(db, host, from, most - rows.len(), &mut rows)?;
    }
    rows.sort_by_key(|(place, _)| *place);
    Ok((rows, more))
}

/// Reads up to `most` rows of one priority; returns true if there are more of it. It looks no
/// further: in front of the cursor of the next priority lie all rows that were taken from there,
/// and what was removed is stepped over one by one until it is compacted away.
fn read_one(
    db: &Db,
    host: HostId,
    from: Place,
    most: usize,
    rows: &mut Vec<(Place, Item)>,
) -> Result<bool, DbError> {
    let start = key(host, from);
    let end = key(host, Place { priority: from.priority + 1, serial: 0 });
    let (before, mut more) = (rows.len(), false);
    db.scan(Family::Queue, &start, &end, |key, value| {
        more = rows.len() - before == most;
        if let Some((_, place)) = parse(key).filter(|_| !more) {
            rows.push((place, Db::decode(Family::Queue, key, value)?));
        }
        Ok(!more)
    })?;
    Ok(more)
}

/// Returns the next rows of all hosts from a key on, at most `most`, and the key behind them; none
/// where there are no more.
///
/// # Errors
/// Returns what the database says.
pub fn chunk(db: &Db, from: &[u8], most: usize) -> Result<Chunk<(HostId, Place, Item)>, DbError> {
    let (mut rows, mut next) = (Vec::new(), None);
    db.scan(Family::Queue, from, &[], |key, value| {
        if rows.len() == most {
            next = Some(key.to_vec());
            return Ok(false);
        }
        if let Some((host, place)) = parse(key) {
            rows.push((host, place, Db::decode(Family::Queue, key, value)?));
        }
        Ok(true)
    })?;
    Ok((rows, next))
}

/// Calls `visit` with every row of a host, best first, until it returns false.
///
/// # Errors
/// Returns what the database says.
pub fn each(
    db: &Db,
    host: HostId,
    mut visit: impl FnMut(Place, Item) -> bool,
) -> Result<(), DbError> {
    let start = key(host, Place { priority: 0, serial: 0 });
    let end = key(host, Place { priority: PRIORITIES as u8, serial: 0 });
    db.scan(Family::Queue, &start, &end, |key, value| {
        let Some((_, place)) = parse(key) else { return Ok(true) };
        Ok(visit(place, Db::decode(Family::Queue, key, value)?))
    })
}
