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
    for scheme in ["http", "https"] {
        let from = format!("{scheme}://{host}").into_bytes();
        // The next character ends the name, or begins a port.
        let to = [&from[..], b";"].concat();
        let mut keys = Vec::new();
        db.scan(Family::Robots, &from, &to, |key, entry| {
            let is_it = matches!(key.get(from.len()), None | Some(b':'));
            if is_it && visit(entry) {
                keys.push(key.to_vec());
            }
            Ok(true)
        })?;
        keys.iter().for_each(|key| batch.delete(db, Family::Robots, key));
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
}
