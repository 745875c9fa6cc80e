//! What the miner was told since its last checkpoint, kept row by row in the batches of the visits.
//!
//! A checkpoint writes whole samples and comes seldom. A process that dies in between would forget
//! pages that are never fetched again, and one that dies often would never learn anything. So each
//! page that is told is a small row as well; a checkpoint removes the rows that it holds.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::content::Bag;
use crate::db::families::dust as rows;
use crate::db::{Batch, Db, DbError};
use crate::dust::{Declared, Observation, RuleBook, Text};
use crate::url::{CrawlUrl, Site};

/// An observation as its row keeps it, in postcard's format.
#[derive(Serialize, Deserialize)]
struct Row<'a> {
    url: &'a str,
    key: Option<&'a str>,
    status: u16,
    text: Text,
    digest: Option<u64>,
    bag: Option<Bag>,
    /// Where it leads, and whether as a redirect.
    declared: Option<(&'a str, bool)>,
    junk: bool,
    troubled: bool,
}

/// Notes what the miner is told; `serial` grows from row to row.
pub(super) fn note(batch: &mut Batch, db: &Db, serial: u64, told: &Observation) {
    let declared = told.declared.as_ref().map(|declared| match declared {
        Declared::Redirect(to) => (to.as_str(), true),
        Declared::Canonical(to) => (to.as_str(), false),
    });
    let row = Row {
        url: told.url.as_str(),
        key: (told.key != told.url).then(|| told.key.as_str()),
        status: told.status,
        text: told.text,
        digest: told.digest,
        bag: told.bag,
        declared,
        junk: told.junk,
        troubled: told.troubled,
    };
    // It has no part that postcard cannot encode; without its row a page is one sample less.
    if let Ok(bytes) = postcard::to_stdvec(&row) {
        rows::put_told(batch, db, serial, &bytes);
    }
}

/// Removes the rows that a checkpoint holds: those up to `serial`.
///
/// # Errors
/// Returns what the database says.
pub(super) fn forget(batch: &mut Batch, db: &Db, serial: u64) -> Result<(), DbError> {
    let mut held = Vec::new();
    rows::each_told(db, |found, _| {
        if found <= serial {
            held.push(found);
        }
        found < serial
    })?;
    held.into_iter().for_each(|found| rows::delete_told(batch, db, found));
    Ok(())
}

/// Tells a book that was read back what it had been told since; returns the sites whose samples
/// changed by it. A row that cannot be read is passed over: it is one sample less.
///
/// # Errors
/// Returns what the database says.
pub(super) fn tell_again(db: &Db, book: &mut RuleBook) -> Result<BTreeSet<Site>, DbError> {
    let mut sites = BTreeSet::new();
    rows::each_told(db, |_, bytes| {
        if let Some(told) = read(bytes) {
            book.recall(&told);
            sites.insert(told.url.site());
        }
        true
    })?;
    Ok(sites)
}

fn read(bytes: &[u8]) -> Option<Observation> {
    let row: Row<'_> = postcard::from_bytes(bytes).ok()?;
    let url = CrawlUrl::parse(row.url).ok()?;
    let key = row.key.and_then(|key| CrawlUrl::parse(key).ok());
    let declared = row.declared.and_then(|(to, redirects)| {
        let to = CrawlUrl::parse(to).ok()?;
        Some(if redirects { Declared::Redirect(to) } else { Declared::Canonical(to) })
    });
    Some(Observation {
        key: key.unwrap_or_else(|| url.clone()),
        url,
        status: row.status,
        text: row.text,
        digest: row.digest,
        bag: row.bag,
        declared,
        junk: row.junk,
        troubled: row.troubled,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::db::{MemoryEnv, Settings};
    use crate::dust;

    fn url(path: &str) -> CrawlUrl {
        CrawlUrl::parse(&format!("http://told.test{path}")).unwrap()
    }

    fn told(n: u64, declared: Option<Declared>) -> Observation {
        Observation {
            url: url(&format!("/page?id={n}&sid=4")),
            key: url(&format!("/page?id={n}")),
            status: 200,
            text: Text::Page([n, 1, 2, 3]),
            digest: Some(n),
            bag: None,
            declared,
            junk: n.is_multiple_of(2),
            troubled: n.is_multiple_of(3),
        }
    }

    #[test]
    fn an_observation_comes_back_as_it_went() {
        let declared =
            [None, Some(Declared::Redirect(url("/a"))), Some(Declared::Canonical(url("/b")))];
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory(Path::new("/s"), &Settings::default(), &env).unwrap();
        for (n, declared) in declared.into_iter().enumerate() {
            let want = told(n as u64, declared);
            let mut batch = Batch::default();
            note(&mut batch, &db, n as u64, &want);
            db.commit(batch).unwrap();
            let mut found = None;
            rows::each_told(&db, |serial, bytes| {
                found = (serial == n as u64).then(|| read(bytes)).flatten().or(found.take());
                true
            })
            .unwrap();
            assert_eq!(format!("{:?}", found.unwrap()), format!("{want:?}"));
        }
        assert!(read(b"\xff\xff\xff").is_none());
    }

    #[test]
    fn a_book_that_is_read_back_hears_what_no_checkpoint_holds_and_nothing_else() {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory(Path::new("/s"), &Settings::default(), &env).unwrap();
        let mut batch = Batch::default();
        (1..=9).for_each(|n| note(&mut batch, &db, n, &told(n, None)));
        db.commit(batch).unwrap();
        let mut batch = Batch::default();
        forget(&mut batch, &db, 6).unwrap();
        db.commit(batch).unwrap();
        let mut book = RuleBook::new(dust::Settings::default());
        let sites = tell_again(&db, &mut book).unwrap();
        assert_eq!(sites, [url("/").site()].into());
        let mut left = Vec::new();
        rows::each_told(&db, |serial, _| {
            left.push(serial);
            true
        })
        .unwrap();
        assert_eq!(left, [7, 8, 9]);
    }
}
