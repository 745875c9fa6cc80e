//! What the miner was told and no kept sample holds, row by row in the batches of the visits.
//!
//! A sample is kept whole, and so the more seldom the larger it is. A process that dies in between
//! would forget pages that are never fetched again, and one that dies often would never learn
//! anything. So each page that is told is a small row as well; a sample that is kept removes the
//! rows that it holds.

use std::collections::BTreeMap;

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
        rows::put_told(batch, db, told.url.site().as_str(), serial, &bytes);
    }
}

/// Tells a book that was read back what it had been told since; returns how many rows there are of
/// each site. A row that cannot be read is passed over: it is one sample less.
///
/// # Errors
/// Returns what the database says.
pub(super) fn tell_again(db: &Db, book: &mut RuleBook) -> Result<BTreeMap<Site, usize>, DbError> {
    let mut sites = BTreeMap::new();
    rows::each_told(db, |bytes| {
        if let Some(told) = read(bytes) {
            book.recall(&told);
            *sites.entry(told.url.site()).or_default() += 1;
        }
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
            rows::each_told(&db, |bytes| found = read(bytes)).unwrap();
            assert_eq!(format!("{:?}", found.unwrap()), format!("{want:?}"));
        }
        assert!(read(b"\xff\xff\xff").is_none());
    }

    #[test]
    fn a_book_that_is_read_back_hears_what_no_sample_holds_and_nothing_else() {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory(Path::new("/s"), &Settings::default(), &env).unwrap();
        let elsewhere = CrawlUrl::parse("http://other.test/").unwrap();
        let mut batch = Batch::default();
        (1..=9).for_each(|n| note(&mut batch, &db, n, &told(n, None)));
        let other = Observation { url: elsewhere.clone(), ..told(5, None) };
        note(&mut batch, &db, 5, &other);
        db.commit(batch).unwrap();
        let mut batch = Batch::default();
        rows::delete_told(&mut batch, &db, url("/").site().as_str(), 6).unwrap();
        db.commit(batch).unwrap();
        let mut book = RuleBook::new(dust::Settings::default());
        let sites = tell_again(&db, &mut book).unwrap();
        assert_eq!(sites, [(url("/").site(), 3), (elsewhere.site(), 1)].into());
        let mut left = Vec::new();
        rows::each_told(&db, |bytes| left.extend(read(bytes).and_then(|told| told.digest)))
            .unwrap();
        assert_eq!(left, [5, 7, 8, 9], "site by site");
    }
}
