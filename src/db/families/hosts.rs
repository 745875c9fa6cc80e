//! `hosts`, `host_ids`, `leases`: the durable state of hosts.
//!
//! `hosts`: key = host number u32 (4 bytes) · value = [`HostRecord`].
//! `host_ids`: key = host name, ASCII · value = host number u32, raw big-endian.
//! `leases`: key = host number u32 · value = [`LeaseRecord`]; there from the moment before the
//! request is made until the batch that records its outcome, so that a restart knows which hosts
//! may have been asked just before the crash.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::db::{Batch, Db, DbError, Family};
use crate::frontier::{HostId, HostRecord};

/// A lease that was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRecord {
    /// What is fetched.
    pub url: String,
    /// When the lease was given.
    pub given: Timestamp,
}

/// Returns the key of a host.
pub fn key(id: HostId) -> [u8; 4] {
    id.0.to_be_bytes()
}

/// Returns the record of a host.
///
/// # Errors
/// Returns what the database says.
pub fn get(db: &Db, id: HostId) -> Result<Option<HostRecord>, DbError> {
    db.get(Family::Hosts, &key(id))
}

/// Stores the record of a host.
pub fn put(batch: &mut Batch, db: &Db, record: &HostRecord) {
    batch.put(db, Family::Hosts, &key(record.id), record);
}

/// Returns the number of a host.
///
/// # Errors
/// Returns what the database says.
pub fn id_of(db: &Db, name: &str) -> Result<Option<HostId>, DbError> {
    let bytes = db.get_raw(Family::HostIds, name.as_bytes())?;
    Ok(bytes.and_then(|b| <[u8; 4]>::try_from(&b[..]).ok()).map(|b| HostId(u32::from_be_bytes(b))))
}

/// Stores the number of a host.
pub fn put_id(batch: &mut Batch, db: &Db, name: &str, id: HostId) {
    batch.put_raw(db, Family::HostIds, name.as_bytes(), &id.0.to_be_bytes());
}

/// Calls `visit` with every host until it returns false.
///
/// # Errors
/// Returns what the database says.
pub fn each(db: &Db, mut visit: impl FnMut(HostRecord) -> bool) -> Result<(), DbError> {
    db.scan(Family::Hosts, &[], &[], |key, value| Ok(visit(Db::decode(Family::Hosts, key, value)?)))
}

/// Calls `visit` with the hosts from number `from` on, in order, until it returns false.
///
/// # Errors
/// Returns what the database says.
pub fn each_from(
    db: &Db,
    from: u32,
    mut visit: impl FnMut(HostRecord) -> bool,
) -> Result<(), DbError> {
    db.scan(Family::Hosts, &from.to_be_bytes(), &[], |key, value| {
        Ok(visit(Db::decode(Family::Hosts, key, value)?))
    })
}

/// Notes that a lease is given.
pub fn put_lease(batch: &mut Batch, db: &Db, id: HostId, lease: &LeaseRecord) {
    batch.put(db, Family::Leases, &key(id), lease);
}

/// Notes that a lease is finished.
pub fn delete_lease(batch: &mut Batch, db: &Db, id: HostId) {
    batch.delete(db, Family::Leases, &key(id));
}

/// Returns the leases that were given and never finished.
///
/// # Errors
/// Returns what the database says.
pub fn leases(db: &Db) -> Result<Vec<(HostId, LeaseRecord)>, DbError> {
    let mut leases = Vec::new();
    db.scan(Family::Leases, &[], &[], |key, value| {
        let id = <[u8; 4]>::try_from(key).map(u32::from_be_bytes).unwrap_or_default();
        leases.push((HostId(id), Db::decode(Family::Leases, key, value)?));
        Ok(true)
    })?;
    Ok(leases)
}
