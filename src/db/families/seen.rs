//! `seen`: the exact URL-seen test.
//!
//! key = fingerprint of a key URL (16 bytes) · value = the depth of the URL if it was accepted
//! itself, or the fingerprint (16 bytes) of the URL that stands for this key under a rule.
//!
//! A depth is the links from the seed (u16) and, where the seed has a limit of its own, the most
//! that there may be (u16); empty where it stands in the ledger alone.

use crate::db::{Batch, Db, DbError, Family};
use crate::url::Fingerprint;

/// What is known of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The URL itself is known.
    Itself,
    /// Another URL stands for it.
    By(Fingerprint),
}

/// Links from the seed, and the most that there may be, where the seed has a limit of its own.
pub type Depth = (u16, Option<u16>);

/// What is known of a key, and the depth of a URL that is known itself, if it stands here.
pub type Deep = (Known, Option<Depth>);

impl Known {
    /// Returns the URL that stands for a key of which this is known.
    pub fn holder(self, key: Fingerprint) -> Fingerprint {
        match self {
            Known::Itself => key,
            Known::By(by) => by,
        }
    }
}

/// Returns what is known of several keys, with the depths of those that are known themselves.
///
/// # Errors
/// Returns what the database says.
pub fn get_many(db: &Db, keys: &[Fingerprint]) -> Result<Vec<Option<Deep>>, DbError> {
    let bytes: Vec<[u8; 16]> = keys.iter().map(|key| key.to_bytes()).collect();
    let values = db.get_many(Family::Seen, &bytes)?;
    let decode = |value: Vec<u8>| (known(&value), depth(&value));
    Ok(values.into_iter().map(|value| value.map(decode)).collect())
}

/// Returns what is known of a key.
///
/// # Errors
/// Returns what the database says.
pub fn get(db: &Db, key: Fingerprint) -> Result<Option<Known>, DbError> {
    Ok(db.get_raw(Family::Seen, &key.to_bytes())?.map(|value| known(&value)))
}

fn known(value: &[u8]) -> Known {
    <[u8; 16]>::try_from(value)
        .map_or(Known::Itself, |bytes| Known::By(Fingerprint(u128::from_be_bytes(bytes))))
}

fn depth(value: &[u8]) -> Option<Depth> {
    match *value {
        [a, b] => Some((u16::from_be_bytes([a, b]), None)),
        [a, b, c, d] => Some((u16::from_be_bytes([a, b]), Some(u16::from_be_bytes([c, d])))),
        _ => None,
    }
}

/// Notes that a URL is known itself, at this depth.
pub fn put_itself(batch: &mut Batch, db: &Db, own: Fingerprint, (hops, hops_max): Depth) {
    let mut value = hops.to_be_bytes().to_vec();
    value.extend(hops_max.into_iter().flat_map(u16::to_be_bytes));
    batch.put_raw(db, Family::Seen, &own.to_bytes(), &value);
}

/// Notes which URL stands for a key.
pub fn put_by(batch: &mut Batch, db: &Db, key: Fingerprint, by: Fingerprint) {
    batch.put_raw(db, Family::Seen, &key.to_bytes(), &by.to_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::MemoryEnv;

    #[test]
    fn a_depth_is_read_as_it_was_noted_and_may_be_missing() {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory("/state".as_ref(), &Default::default(), &env).unwrap();
        let keys = [1, 2, 3, 4, 5].map(Fingerprint);
        let mut batch = Batch::default();
        put_itself(&mut batch, &db, keys[0], (300, None));
        put_itself(&mut batch, &db, keys[1], (2, Some(515)));
        // As states of before have it.
        batch.put_raw(&db, Family::Seen, &keys[2].to_bytes(), &[]);
        put_by(&mut batch, &db, keys[3], keys[0]);
        db.commit(batch).unwrap();
        let want = [
            Some((Known::Itself, Some((300, None)))),
            Some((Known::Itself, Some((2, Some(515))))),
            Some((Known::Itself, None)),
            Some((Known::By(keys[0]), None)),
            None,
        ];
        assert_eq!(get_many(&db, &keys).unwrap(), want);
        assert_eq!(get(&db, keys[1]).unwrap(), Some(Known::Itself));
    }
}
