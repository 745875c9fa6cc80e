//! `robots`: the robots cache on disk.
//!
//! key = origin, ASCII, such as `https://example.org:8443` · value = bytes as `robots` encodes an
//! entry, with a version byte of its own.

use crate::db::{Batch, Db, DbError, Family};
use crate::url::Origin;

/// Returns the stored entry of an origin.
///
/// # Errors
/// Returns what the database says.
pub fn get(db: &Db, origin: &Origin) -> Result<Option<Vec<u8>>, DbError> {
    db.get_raw(Family::Robots, origin.to_string().as_bytes())
}

/// Stores the entry of an origin.
pub fn put(batch: &mut Batch, db: &Db, origin: &Origin, entry: &[u8]) {
    batch.put_raw(db, Family::Robots, origin.to_string().as_bytes(), entry);
}

/// Calls `visit` with every stored entry of a host, whatever its scheme and port, and removes those
/// for which it returns true.
///
/// # Errors
/// Returns what the database says.
pub fn remove_of_host(
    batch: &mut Batch,
    db: &Db,
    host: &str,
    mut visit: impl FnMut(&[u8]) -> bool,
) -> Result<(), DbError> {
    let mut keys = Vec::new();
    each_of_host(db, host, |key, entry| {
        if visit(entry) {
            keys.push(key.to_vec());
        }
        true
    })?;
    keys.iter().for_each(|key| batch.delete(db, Family::Robots, key));
    Ok(())
}

/// Calls `visit` with every stored entry of the other origins of `origin`'s host, at most `max`.
///
/// # Errors
/// Returns what the database says.
pub fn of_other_ports(
    db: &Db,
    origin: &Origin,
    max: usize,
    mut visit: impl FnMut(&[u8]),
) -> Result<(), DbError> {
    let own = origin.to_string();
    let mut left = max;
    each_of_host(db, origin.host.as_str(), |key, entry| {
        if key != own.as_bytes() && left > 0 {
            left -= 1;
            visit(entry);
        }
        left > 0
    })
}

/// Calls `visit` with key and entry of each origin of a host, for as long as it returns true.
fn each_of_host(
    db: &Db,
    host: &str,
    mut visit: impl FnMut(&[u8], &[u8]) -> bool,
) -> Result<(), DbError> {
    for scheme in ["http", "https"] {
        let from = format!("{scheme}://{host}").into_bytes();
        // The next character ends the name, or begins a port.
        let to = [&from[..], b";"].concat();
        db.scan(Family::Robots, &from, &to, |key, entry| {
            let is_it = matches!(key.get(from.len()), None | Some(b':'));
            Ok(!is_it || visit(key, entry))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{MemoryEnv, Settings};
    use crate::url::CrawlUrl;

    #[test]
    fn entries_of_a_host_are_found_by_scheme_and_port_and_no_other_host_with_them() {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory("/state".as_ref(), &Settings::default(), &env).unwrap();
        let origin = |text: &str| CrawlUrl::parse(text).unwrap().origin();
        let all = ["http://a.test/", "https://a.test:8443/", "http://a.test.b/", "http://a.tes/"];
        let mut batch = Batch::default();
        all.iter().for_each(|url| put(&mut batch, &db, &origin(url), b"x"));
        db.commit(batch).unwrap();
        let mut batch = Batch::default();
        remove_of_host(&mut batch, &db, "a.test", |_| true).unwrap();
        db.commit(batch).unwrap();
        let left = all.map(|url| get(&db, &origin(url)).unwrap().is_some());
        assert_eq!(left, [false, false, true, true]);
    }

    #[test]
    fn entries_of_other_ports_are_found_and_no_more_than_asked_for() {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory("/state".as_ref(), &Settings::default(), &env).unwrap();
        let origin = |text: &str| CrawlUrl::parse(text).unwrap().origin();
        let all = ["http://a.test/", "http://a.test:81/", "https://a.test/", "https://b.test/"];
        let mut batch = Batch::default();
        all.iter().for_each(|url| put(&mut batch, &db, &origin(url), url.as_bytes()));
        db.commit(batch).unwrap();
        for (max, want) in [(9, &all[1..3]), (1, &all[1..2]), (0, &[][..])] {
            let mut found = Vec::new();
            let take = |entry: &[u8]| found.push(String::from_utf8(entry.to_vec()).unwrap());
            of_other_ports(&db, &origin(all[0]), max, take).unwrap();
            assert_eq!(found, want);
        }
    }
}
