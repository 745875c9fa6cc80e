//! The state as others see it while a crawl writes it.

use std::sync::mpsc;

use crawler::clock::ByteSize;
use crawler::db::{Batch, Db, Family, Settings};

use super::*;

/// Rows that the writer changes by turns.
const ROWS: u64 = 500;

/// Changes during one look: enough for the writer to flush and merge some tables.
const CHANGES: u64 = 250;

/// Files that the writer flushed or merged away were missing, and what stood in them with them: a
/// look failed, or found a hole.
#[test]
fn who_looks_while_another_writes_sees_all_that_was_committed_up_to_a_moment() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings { cache: ByteSize::mib(1), ..Settings::default() };
    let db = Db::open(dir.path(), &settings).unwrap();
    let (go, gone) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0u64;
            for () in gone {
                for _ in 0..CHANGES {
                    write(&db, n);
                    n += 1;
                }
            }
        });
        let look = |_| {
            go.send(()).unwrap();
            look(dir.path(), &settings).err()
        };
        let wrong: Vec<String> = (0..100).filter_map(look).collect();
        drop(go);
        assert!(wrong.is_empty(), "{} of 100: {wrong:#?}", wrong.len());
    });
}

/// Changes a row, and says in the same batch which change it was.
fn write(db: &Db, n: u64) {
    let mut batch = Batch::default();
    let mut row = n.to_be_bytes().to_vec();
    row.resize(2_000, n as u8);
    batch.put_raw(db, Family::Urls, &(n % ROWS).to_be_bytes(), &row);
    batch.put_raw(db, Family::Meta, b"latest", &n.to_be_bytes());
    db.commit(batch).unwrap();
}

/// Checks that every row is as it was at the latest change.
fn look(dir: &Path, settings: &Settings) -> Result<(), String> {
    let number = |bytes: &[u8]| u64::from_be_bytes(bytes[..8].try_into().unwrap());
    let seen = Db::open_read_only(dir, settings).map_err(|error| error.to_string())?;
    let latest = seen.get_raw(Family::Meta, b"latest").map_err(|error| error.to_string())?;
    let Some(latest) = latest.map(|bytes| number(&bytes)) else { return Ok(()) };
    let mut rows = 0;
    let scanned = seen.scan(Family::Urls, &[], &[], |key, row| {
        let (key, change) = (number(key), number(row));
        rows += u64::from(change % ROWS == key && change <= latest && change + ROWS > latest);
        Ok(true)
    });
    scanned.map_err(|error| error.to_string())?;
    let want = ROWS.min(latest + 1);
    if rows == want { Ok(()) } else { Err(format!("{rows} right rows of {want}")) }
}
