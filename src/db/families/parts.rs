//! Parts of hosts that are parked as traps, by the name that people know; the content stage knows
//! them by hashes.
//!
//! In `sites`: key = `p` · host name, ASCII · 0 · section u64 big-endian · value = [`Part`].

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::db::{Batch, Db, DbError, Family};
use crate::url::Host;

/// A part of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its name, as [`crate::content::trap::section_name`] has it.
    pub name: String,
    /// Why it is parked.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
    /// URLs that were refused for it and have not come back.
    pub urls: u64,
}

const PART: u8 = b'p';

fn of_host_key(host: &Host) -> Vec<u8> {
    [&[PART], host.as_str().as_bytes(), &[0]].concat()
}

fn key(host: &Host, section: u64) -> Vec<u8> {
    [&of_host_key(host)[..], &section.to_be_bytes()].concat()
}

fn parse(key: &[u8]) -> Option<(Host, u64)> {
    let (name, section) = key.strip_prefix(&[PART])?.split_last_chunk::<8>()?;
    let name = std::str::from_utf8(name.strip_suffix(&[0])?).ok()?;
    Some((Host::new(name), u64::from_be_bytes(*section)))
}

/// Returns a part of a host, if it is parked.
///
/// # Errors
/// Returns what the database says.
pub fn get(db: &Db, host: &Host, section: u64) -> Result<Option<Part>, DbError> {
    db.get(Family::Sites, &key(host, section))
}

/// Stores a part of a host.
pub fn put(batch: &mut Batch, db: &Db, host: &Host, section: u64, part: &Part) {
    batch.put(db, Family::Sites, &key(host, section), part);
}

/// Removes a part of a host that has recovered.
pub fn delete(batch: &mut Batch, db: &Db, host: &Host, section: u64) {
    batch.delete(db, Family::Sites, &key(host, section));
}

/// Calls `visit` with the parts of a host, or of all, in the order of names, until it returns
/// false.
///
/// # Errors
/// Returns what the database says.
pub fn each(
    db: &Db,
    host: Option<&Host>,
    mut visit: impl FnMut(Host, u64) -> Result<bool, DbError>,
) -> Result<(), DbError> {
    let from = host.map_or_else(|| vec![PART], of_host_key);
    let mut to = from.clone();
    *to.last_mut().expect("a key has its kind") += 1;
    db.scan(Family::Sites, &from, &to, |key, _| match parse(key) {
        Some((host, section)) => visit(host, section),
        None => Ok(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::MemoryEnv;

    #[test]
    fn the_parts_of_a_host_are_told_from_those_of_one_whose_name_begins_alike() {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory("/state".as_ref(), &Default::default(), &env).unwrap();
        let mut batch = Batch::default();
        let part = |name: &str| Part {
            name: name.to_owned(),
            reason: "nothing new".to_owned(),
            since: Timestamp::from_millis(7),
            urls: 3,
        };
        let hosts = ["a.test", "a.test.example", "b.test"].map(Host::new);
        for host in &hosts {
            put(&mut batch, &db, host, u64::MAX, &part("/list"));
            put(&mut batch, &db, host, 0, &part("/view"));
        }
        db.commit(batch).unwrap();
        let of = |host: Option<&Host>| {
            let mut found = Vec::new();
            each(&db, host, |host, section| {
                found.push((host.to_string(), section));
                Ok(true)
            })
            .unwrap();
            found
        };
        let name = "a.test".to_owned();
        assert_eq!(of(Some(&hosts[0])), [(name.clone(), 0), (name, u64::MAX)]);
        assert_eq!(of(None).len(), 6);
        assert_eq!(get(&db, &hosts[1], 0).unwrap(), Some(part("/view")));
        let mut batch = Batch::default();
        delete(&mut batch, &db, &hosts[1], 0);
        db.commit(batch).unwrap();
        assert_eq!(get(&db, &hosts[1], 0).unwrap(), None);
    }
}
