//! `line`, `snoozed`, `group_line`: where hosts wait.
//!
//! `line` (the front queues): key = priority u8 · serial u64 (9 bytes) · value = host u32, raw.
//! `snoozed`: key = time u64 in ms · host u32 (12 bytes) · value empty.
//! `group_line`: key = group u64 · serial u64 (16 bytes) · value = host u32, raw.
//!
//! All are read through a cursor that the caller keeps: seeking to the first key would walk over
//! the tombstones of all that were consumed.

use crate::clock::Timestamp;
use crate::db::{Batch, Db, DbError, Family};
use crate::frontier::{HostId, HostRecord, PRIORITIES, Place, Standing};

/// Returns the key of a place in line.
pub fn key(place: Place) -> [u8; 9] {
    let mut key = [0; 9];
    key[0] = place.priority;
    key[1..].copy_from_slice(&place.serial.to_be_bytes());
    key
}

/// Returns the place that a key of `line` stands for.
pub fn place_of(key: &[u8]) -> Option<Place> {
    let (priority, serial) = key.split_first()?;
    Some(Place { priority: *priority, serial: u64::from_be_bytes(serial.try_into().ok()?) })
}

fn snooze_key(at: Timestamp, id: HostId) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&at.as_millis().to_be_bytes());
    key[8..].copy_from_slice(&id.0.to_be_bytes());
    key
}

fn group_key(group: u64, serial: u64) -> [u8; 16] {
    (u128::from(group) << 64 | u128::from(serial)).to_be_bytes()
}

fn host_of(value: &[u8]) -> HostId {
    HostId(<[u8; 4]>::try_from(value).map(u32::from_be_bytes).unwrap_or_default())
}

/// Gives a host another standing: the old row goes, the new one comes, the record says so.
pub fn restand(batch: &mut Batch, db: &Db, record: &mut HostRecord, standing: Standing) {
    let id = record.id.0.to_be_bytes();
    match record.standing {
        Standing::Out => {}
        Standing::InLine(place) => batch.delete(db, Family::Line, &key(place)),
        Standing::Snoozed(at) => batch.delete(db, Family::Snoozed, &snooze_key(at, record.id)),
        Standing::InGroup(group, serial) => {
            batch.delete(db, Family::GroupLine, &group_key(group, serial));
        }
    }
    match standing {
        Standing::Out => {}
        Standing::InLine(place) => batch.put_raw(db, Family::Line, &key(place), &id),
        Standing::Snoozed(at) => {
            batch.put_raw(db, Family::Snoozed, &snooze_key(at, record.id), &[]);
        }
        Standing::InGroup(group, serial) => {
            batch.put_raw(db, Family::GroupLine, &group_key(group, serial), &id);
        }
    }
    record.standing = standing;
}

/// Returns the first place at `priority` from `cursor` on, with its host.
///
/// # Errors
/// Returns what the database says.
pub fn head(db: &Db, priority: u8, cursor: u64) -> Result<Option<(Place, HostId)>, DbError> {
    let from = key(Place { priority, serial: cursor });
    let to = key(Place { priority: priority + 1, serial: 0 });
    let mut found = None;
    db.scan(Family::Line, &from, &to, |key, value| {
        found = place_of(key).map(|place| (place, host_of(value)));
        Ok(false)
    })?;
    Ok(found)
}

/// Returns how many hosts stand in line at each priority.
///
/// # Errors
/// Returns what the database says.
pub fn count(db: &Db) -> Result<[u64; PRIORITIES], DbError> {
    let mut counts = [0; PRIORITIES];
    db.scan(Family::Line, &[], &[], |key, _| {
        counts[usize::from(key[0]) % PRIORITIES] += 1;
        Ok(true)
    })?;
    Ok(counts)
}

/// Returns the sleeping hosts whose time has come, at most `most`, earliest first.
///
/// # Errors
/// Returns what the database says.
pub fn woken(db: &Db, now: Timestamp, most: usize) -> Result<Vec<HostId>, DbError> {
    let to = snooze_key(now.plus(std::time::Duration::from_millis(1)), HostId(0));
    let mut woken = Vec::new();
    db.scan(Family::Snoozed, &[], &to, |key, _| {
        woken.push(host_of(&key[8..]));
        Ok(woken.len() < most)
    })?;
    Ok(woken)
}

/// Returns when the next sleeping host wakes.
///
/// # Errors
/// Returns what the database says.
pub fn next_waking(db: &Db) -> Result<Option<Timestamp>, DbError> {
    let mut first = None;
    db.scan(Family::Snoozed, &[], &[], |key, _| {
        let at = key[..8].try_into().map(u64::from_be_bytes).unwrap_or_default();
        first = Some(Timestamp::from_millis(at));
        Ok(false)
    })?;
    Ok(first)
}

/// Returns the first host that waits for room in a group.
///
/// # Errors
/// Returns what the database says.
pub fn group_head(db: &Db, group: u64) -> Result<Option<HostId>, DbError> {
    let mut first = None;
    let to = if group == u64::MAX { Vec::new() } else { group_key(group + 1, 0).to_vec() };
    db.scan(Family::GroupLine, &group_key(group, 0), &to, |_, value| {
        first = Some(host_of(value));
        Ok(false)
    })?;
    Ok(first)
}
