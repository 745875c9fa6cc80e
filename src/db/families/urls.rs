//! `urls`: the ledger, one row for every URL that was found.
//!
//! key = fingerprint of the normal form (16 bytes) · value = [`UrlRecord`]; of version 2, where the
//! seed has a limit of hops of its own, with that limit behind it (u16).

use super::Chunk;
use crate::db::{Batch, Db, DbError, Family};
use crate::frontier::UrlRecord;
use crate::url::Fingerprint;

/// Returns the record of a URL.
///
/// # Errors
/// Returns what the database says.
pub fn get(db: &Db, fingerprint: Fingerprint) -> Result<Option<UrlRecord>, DbError> {
    let key = fingerprint.to_bytes();
    db.get_raw(Family::Urls, &key)?.map(|value| decode(&key, &value)).transpose()
}

/// Returns the records of several URLs.
///
/// # Errors
/// Returns what the database says.
pub fn get_many(db: &Db, fingerprints: &[Fingerprint]) -> Result<Vec<Option<UrlRecord>>, DbError> {
    let keys: Vec<[u8; 16]> = fingerprints.iter().map(|f| f.to_bytes()).collect();
    let values = db.get_many(Family::Urls, &keys)?;
    let decode = |(key, value): (&[u8; 16], Option<Vec<u8>>)| {
        value.map(|value| decode(key, &value)).transpose()
    };
    keys.iter().zip(values).map(decode).collect()
}

/// Stores the record of a URL.
pub fn put(batch: &mut Batch, db: &Db, fingerprint: Fingerprint, record: &UrlRecord) {
    let key = fingerprint.to_bytes();
    match record.hops_max {
        None => batch.put(db, Family::Urls, &key, record),
        Some(max) => batch.put_version(LIMITED, db, Family::Urls, &key, &(record, max)),
    }
}

/// The version of rows whose URLs have a limit of hops of their own.
const LIMITED: u8 = 2;

/// Decodes a row.
///
/// # Errors
/// Returns that it is corrupt, with the key.
pub fn decode(key: &[u8], value: &[u8]) -> Result<UrlRecord, DbError> {
    if value.first() != Some(&LIMITED) {
        return Db::decode(Family::Urls, key, value);
    }
    let (record, max): (UrlRecord, u16) = Db::decode_version(LIMITED, Family::Urls, key, value)?;
    Ok(UrlRecord { hops_max: Some(max), ..record })
}

/// Returns the next records from a key on, at most `most`, and the key behind them; none where
/// there are no more.
///
/// # Errors
/// Returns what the database says.
pub fn chunk(
    db: &Db,
    from: &[u8],
    most: usize,
) -> Result<Chunk<(Fingerprint, UrlRecord)>, DbError> {
    let (mut rows, mut next) = (Vec::new(), None);
    db.scan(Family::Urls, from, &[], |key, value| {
        if rows.len() == most {
            next = Some(key.to_vec());
            return Ok(false);
        }
        let fingerprint = Fingerprint(u128::from_be_bytes(key.try_into().unwrap_or_default()));
        rows.push((fingerprint, decode(key, value)?));
        Ok(true)
    })?;
    Ok((rows, next))
}

/// Calls `visit` with every record until it returns false.
///
/// # Errors
/// Returns what the database says.
pub fn each(db: &Db, mut visit: impl FnMut(Fingerprint, UrlRecord) -> bool) -> Result<(), DbError> {
    db.scan(Family::Urls, &[], &[], |key, value| {
        let fingerprint = Fingerprint(u128::from_be_bytes(key.try_into().unwrap_or_default()));
        Ok(visit(fingerprint, decode(key, value)?))
    })
}

/// Returns the records from a fingerprint on, in order, at most `most`.
///
/// # Errors
/// Returns what the database says.
pub fn from(
    db: &Db,
    first: Fingerprint,
    most: usize,
) -> Result<Vec<(Fingerprint, UrlRecord)>, DbError> {
    let mut found = Vec::new();
    db.scan(Family::Urls, &first.to_bytes(), &[], |key, value| {
        let fingerprint = Fingerprint(u128::from_be_bytes(key.try_into().unwrap_or_default()));
        found.push((fingerprint, decode(key, value)?));
        Ok(found.len() < most)
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::db::MemoryEnv;
    use crate::frontier::UrlState;

    /// A state of an earlier version has rows without a limit only.
    #[test]
    fn a_row_has_a_limit_of_hops_only_where_its_seed_has_one() {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory("/state".as_ref(), &Default::default(), &env).unwrap();
        for (hops_max, version) in [(None, 1), (Some(0), 2), (Some(3), 2)] {
            let [reason, detail] = ["excluded", "matches `exclude`"].map(str::to_owned);
            let record = UrlRecord {
                url: "http://a.test/".to_owned(),
                via: None,
                path: "L".to_owned(),
                hops: 1,
                hops_max,
                discovered: Timestamp::ZERO,
                state: UrlState::Refused { reason, detail, at: Timestamp::ZERO },
                attempts: 0,
                busy: 0,
            };
            let own = Fingerprint(7);
            let mut batch = Batch::default();
            put(&mut batch, &db, own, &record);
            db.commit(batch).unwrap();
            let raw = db.get_raw(Family::Urls, &own.to_bytes()).unwrap().unwrap();
            assert_eq!(raw[0], version);
            assert_eq!(get(&db, own).unwrap(), Some(record.clone()));
            assert_eq!(get_many(&db, &[own]).unwrap(), [Some(record.clone())]);
            assert_eq!(from(&db, own, 1).unwrap(), [(own, record)]);
        }
    }
}
