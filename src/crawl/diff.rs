//! Compares two crawls: which URLs were added, changed, moved, redirected, and which are gone.
//!
//! The ledgers of both are sorted by the same fingerprint, so they are merged as two streams; what
//! is remembered is one digest for every page that is gone, at most [`GONE_MAX`], to recognize
//! where its text has moved to.
//!
//! Only what was fetched is compared. A text is the same if its digest is; where a page has no
//! text, its type and size decide. The second crawl may not have got everywhere yet: what it never
//! heard of is `missing`, what its server said is not there is `gone`.

use std::collections::HashMap;
use std::collections::vec_deque::{IntoIter, VecDeque};

use serde::Serialize;

use crate::db::families::urls;
use crate::db::{Db, DbError};
use crate::frontier::{DoneState, UrlRecord, UrlState};
use crate::url::{CrawlUrl, Fingerprint};

/// Rows that are read at a time from each side.
const CHUNK: usize = 4_096;

/// Pages that are gone whose texts are looked for elsewhere, about 50 bytes each.
pub const GONE_MAX: usize = 5_000_000;

/// What became of a URL from the first crawl to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Fetched in the second crawl alone.
    Added,
    /// Another text.
    Changed,
    /// It answers with a redirect now.
    Redirected,
    /// Its text is at another URL now.
    Moved,
    /// The server says that it is gone, or gives no usable answer any more.
    Gone,
    /// The second crawl never fetched it.
    Missing,
    /// The same as before.
    Unchanged,
}

impl Change {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Change; 7] = [
        Change::Added,
        Change::Changed,
        Change::Redirected,
        Change::Moved,
        Change::Gone,
        Change::Missing,
        Change::Unchanged,
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Change::Added => "added",
            Change::Changed => "changed",
            Change::Redirected => "redirected",
            Change::Moved => "moved",
            Change::Gone => "gone",
            Change::Missing => "missing",
            Change::Unchanged => "unchanged",
        }
    }
}

/// One URL and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// What became of it.
    pub change: Change,
    /// The URL.
    pub url: String,
    /// Where its text is now, for one that moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Status in the first crawl; 0 where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_a: Option<u16>,
    /// Status in the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_b: Option<u16>,
}

/// How often each change was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Fetched in the second crawl alone; those that moved here are not counted again.
    pub added: u64,
    /// Another text.
    pub changed: u64,
    /// A redirect now.
    pub redirected: u64,
    /// At another URL now.
    pub moved: u64,
    /// Gone.
    pub gone: u64,
    /// Not fetched by the second crawl.
    pub missing: u64,
    /// The same.
    pub unchanged: u64,
    /// Pages that are gone beyond those whose texts were looked for.
    pub not_looked_for: u64,
}

impl Counts {
    fn of(&mut self, change: Change) -> &mut u64 {
        match change {
            Change::Added => &mut self.added,
            Change::Changed => &mut self.changed,
            Change::Redirected => &mut self.redirected,
            Change::Moved => &mut self.moved,
            Change::Gone => &mut self.gone,
            Change::Missing => &mut self.missing,
            Change::Unchanged => &mut self.unchanged,
        }
    }

    /// Returns how often a change was found.
    pub fn get(mut self, change: Change) -> u64 {
        *self.of(change)
    }
}

/// What is known of a page that is gone.
#[derive(Clone, Copy, Debug)]
struct Lost {
    url: Fingerprint,
    change: Change,
    told: bool,
}

/// Compares two crawls and passes every URL to `each`; `wanted` chooses URLs.
///
/// # Errors
/// Returns what a database says.
pub fn diff(
    a: &Db,
    b: &Db,
    wanted: impl Fn(&str) -> bool,
    mut each: impl FnMut(Difference),
) -> Result<Counts, DbError> {
    let mut counts = Counts::default();
    let mut lost: HashMap<u128, Lost> = HashMap::new();
    let (mut left, mut right) = (Rows::new(a), Rows::new(b));
    let (mut one, mut other) = (left.next()?, right.next()?);
    loop {
        let order = match (&one, &other) {
            (None, None) => break,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some((x, _)), Some((y, _))) => x.cmp(y),
        };
        let (mut from, mut to) = (None, None);
        if order.is_le() {
            from = std::mem::replace(&mut one, left.next()?);
        }
        if order.is_ge() {
            to = std::mem::replace(&mut other, right.next()?);
        }
        let url = from.as_ref().or(to.as_ref()).map(|(_, record)| record.url.clone());
        let Some(url) = url.filter(|url| wanted(url)) else { continue };
        let Some(found) = judge(from.as_ref(), to.as_ref()) else { continue };
        let text = from.as_ref().and_then(|(_, record)| text_of(record));
        if matches!(found, Change::Gone | Change::Missing)
            && let (Some(text), Some((fingerprint, _))) = (text, &from)
        {
            if lost.len() < GONE_MAX {
                lost.insert(text, Lost { url: *fingerprint, change: found, told: false });
                continue;
            }
            counts.not_looked_for += 1;
        }
        // Whether it was added or has moved here is known when all that is gone is.
        if found == Change::Added {
            continue;
        }
        *counts.of(found) += 1;
        each(difference(found, url, from.as_ref(), to.as_ref()));
    }
    tell_added(a, b, &wanted, &mut lost, &mut counts, &mut each)?;
    tell_lost(a, b, &lost, &mut counts, &mut each)?;
    Ok(counts)
}

/// Goes through the second crawl once more: what is new there was added, or has moved there.
fn tell_added(
    a: &Db,
    b: &Db,
    wanted: &impl Fn(&str) -> bool,
    lost: &mut HashMap<u128, Lost>,
    counts: &mut Counts,
    each: &mut impl FnMut(Difference),
) -> Result<(), DbError> {
    let mut rows = Rows::new(b);
    while let Some((fingerprint, record)) = rows.next()? {
        if !wanted(&record.url) || !is_page(&record) {
            continue;
        }
        let before = urls::get(a, fingerprint)?;
        if before.as_ref().is_some_and(was_fetched) {
            continue;
        }
        let gone = text_of(&record).and_then(|text| lost.get_mut(&text)).filter(|gone| !gone.told);
        let Some(gone) = gone else {
            counts.added += 1;
            let to = (fingerprint, record);
            each(difference(Change::Added, to.1.url.clone(), None, Some(&to)));
            continue;
        };
        gone.told = true;
        counts.moved += 1;
        let Some(from) = urls::get(a, gone.url)? else { continue };
        let from = (gone.url, from);
        let mut moved = difference(Change::Moved, from.1.url.clone(), Some(&from), None);
        (moved.to, moved.status_b) = (Some(record.url.clone()), status_of(&record));
        each(moved);
    }
    Ok(())
}

/// Tells of what is gone and has not moved, in the order of fingerprints.
fn tell_lost(
    a: &Db,
    b: &Db,
    lost: &HashMap<u128, Lost>,
    counts: &mut Counts,
    each: &mut impl FnMut(Difference),
) -> Result<(), DbError> {
    let mut left: Vec<&Lost> = lost.values().filter(|gone| !gone.told).collect();
    left.sort_by_key(|gone| gone.url);
    for gone in left {
        let Some(from) = urls::get(a, gone.url)? else { continue };
        let to = urls::get(b, gone.url)?.map(|record| (gone.url, record));
        *counts.of(gone.change) += 1;
        let from = (gone.url, from);
        each(difference(gone.change, from.1.url.clone(), Some(&from), to.as_ref()));
    }
    Ok(())
}

type Row = (Fingerprint, UrlRecord);

fn difference(change: Change, url: String, from: Option<&Row>, to: Option<&Row>) -> Difference {
    let status = |row: Option<&Row>| row.and_then(|(_, record)| status_of(record));
    Difference { change, url, to: None, status_a: status(from), status_b: status(to) }
}

/// Says what became of a URL; `None` where neither crawl has fetched it.
fn judge(from: Option<&Row>, to: Option<&Row>) -> Option<Change> {
    let before = from.map(|(_, record)| record).filter(|record| was_fetched(record));
    let after = to.map(|(_, record)| record);
    let Some(before) = before else {
        return after.is_some_and(is_page).then_some(Change::Added);
    };
    let old = done(before)?;
    let Some(after) = after else { return Some(Change::Missing) };
    let new = match &after.state {
        UrlState::Done(new) => new,
        UrlState::Failed { .. } => return Some(Change::Gone),
        UrlState::Queued(_) | UrlState::Refused { .. } | UrlState::Suppressed { .. } => {
            return Some(Change::Missing);
        }
    };
    let is = |status: u16, class: u16| status / 100 == class;
    Some(match (old.status, new.status) {
        (old, new) if !is(old, 3) && is(new, 3) => Change::Redirected,
        (old, 404 | 410) if !matches!(old, 404 | 410) => Change::Gone,
        (old, new) if old != new => Change::Changed,
        _ if same(old, new) => Change::Unchanged,
        _ => Change::Changed,
    })
}

fn same(old: &DoneState, new: &DoneState) -> bool {
    match (old.text_digest, new.text_digest) {
        (Some(old), Some(new)) => old == new,
        (None, None) => old.mime == new.mime && old.bytes == new.bytes,
        _ => false,
    }
}

fn done(record: &UrlRecord) -> Option<&DoneState> {
    match &record.state {
        UrlState::Done(done) => Some(done),
        _ => None,
    }
}

fn was_fetched(record: &UrlRecord) -> bool {
    done(record).is_some()
}

/// Returns true for what counts as added: an answer of a page, not of an error.
fn is_page(record: &UrlRecord) -> bool {
    done(record).is_some_and(|done| (200..400).contains(&done.status))
}

fn text_of(record: &UrlRecord) -> Option<u128> {
    done(record).filter(|done| done.status / 100 == 2).and_then(|done| done.text_digest)
}

fn status_of(record: &UrlRecord) -> Option<u16> {
    match &record.state {
        UrlState::Done(done) => Some(done.status),
        UrlState::Failed { .. } => Some(0),
        _ => None,
    }
}

/// The ledger of one crawl, some rows at a time.
struct Rows<'d> {
    db: &'d Db,
    next: Option<Fingerprint>,
    held: IntoIter<Row>,
}

impl Rows<'_> {
    fn new(db: &Db) -> Rows<'_> {
        Rows { db, next: Some(Fingerprint(0)), held: VecDeque::new().into_iter() }
    }

    fn next(&mut self) -> Result<Option<Row>, DbError> {
        if let Some(row) = self.held.next() {
            return Ok(Some(row));
        }
        let Some(from) = self.next else { return Ok(None) };
        let rows = urls::from(self.db, from, CHUNK)?;
        let full = rows.len() == CHUNK;
        let last = rows.last().and_then(|(last, _)| last.0.checked_add(1));
        self.next = last.filter(|_| full).map(Fingerprint);
        self.held = VecDeque::from(rows).into_iter();
        Ok(self.held.next())
    }
}

/// Returns whether a URL is of a host or of one of its subdomains.
pub fn is_of_host(url: &str, host: &str) -> bool {
    CrawlUrl::parse(url).is_ok_and(|url| {
        url.host_str().strip_suffix(host).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::clock::Timestamp;
    use crate::db::{Batch, MemoryEnv, Settings};

    fn crawl(env: &MemoryEnv, name: &str, pages: &[(&str, u16, Option<u128>)]) -> Db {
        let db = Db::open_in_memory(Path::new(name), &Settings::default(), env).unwrap();
        let mut batch = Batch::default();
        for (path, status, text_digest) in pages {
            let url = CrawlUrl::parse(&format!("http://a.test/{path}")).unwrap();
            let done = DoneState {
                at: Timestamp::ZERO,
                status: *status,
                bytes: 100,
                mime: "text/html".to_owned(),
                text_digest: *text_digest,
                record: None,
                rules_version: 0,
                content: "new".to_owned(),
                links: 0,
                evidence: Vec::new(),
            };
            let record = UrlRecord {
                url: url.to_string(),
                via: None,
                path: String::new(),
                hops: 0,
                hops_max: None,
                discovered: Timestamp::ZERO,
                state: UrlState::Done(Box::new(done)),
                attempts: 0,
                busy: 0,
            };
            urls::put(&mut batch, &db, url.fingerprint(), &record);
        }
        db.commit(batch).unwrap();
        db
    }

    type Pages<'p> = &'p [(&'p str, u16, Option<u128>)];

    fn check(a: Pages<'_>, b: Pages<'_>, want: &[(Change, &str, Option<&str>)]) {
        let env = MemoryEnv::new().unwrap();
        let (a, b) = (crawl(&env, "/a", a), crawl(&env, "/b", b));
        let mut found = Vec::new();
        let counts = diff(&a, &b, |_| true, |difference| found.push(difference)).unwrap();
        let short = |url: &str| url.trim_start_matches("http://a.test/").to_owned();
        let mut got: Vec<_> =
            found.iter().map(|d| (d.change, short(&d.url), d.to.as_deref().map(short))).collect();
        got.sort();
        let mut want: Vec<_> = want
            .iter()
            .map(|(c, url, to)| (*c, (*url).to_owned(), to.map(str::to_owned)))
            .collect();
        want.sort();
        assert_eq!(got, want);
        for change in Change::ALL {
            let told = got.iter().filter(|(found, ..)| *found == change).count() as u64;
            assert_eq!(counts.get(change), told, "{change:?}");
        }
    }

    #[test]
    fn every_url_has_one_change() {
        check(
            &[
                ("same", 200, Some(1)),
                ("changed", 200, Some(2)),
                ("gone", 200, Some(3)),
                ("moved", 200, Some(4)),
                ("redirected", 200, Some(5)),
                ("missing", 200, Some(6)),
                ("still-gone", 404, None),
                ("back", 404, None),
                ("picture", 200, None),
            ],
            &[
                ("same", 200, Some(1)),
                ("changed", 200, Some(20)),
                ("gone", 404, None),
                ("moved", 404, None),
                ("here", 200, Some(4)),
                ("redirected", 301, None),
                ("still-gone", 404, None),
                ("back", 200, Some(8)),
                ("picture", 200, None),
                ("new", 200, Some(9)),
                ("new-error", 500, None),
            ],
            &[
                (Change::Unchanged, "same", None),
                (Change::Changed, "changed", None),
                (Change::Gone, "gone", None),
                (Change::Moved, "moved", Some("here")),
                (Change::Redirected, "redirected", None),
                (Change::Missing, "missing", None),
                (Change::Unchanged, "still-gone", None),
                (Change::Changed, "back", None),
                (Change::Unchanged, "picture", None),
                (Change::Added, "new", None),
            ],
        );
    }

    #[test]
    fn a_text_that_is_there_twice_moves_once() {
        check(
            &[("old", 200, Some(1))],
            &[("new1", 200, Some(1)), ("new2", 200, Some(1)), ("old", 410, None)],
            // Which of the two is the new place is decided by the order of fingerprints.
            &[
                (Change::Moved, "old", Some(first_of("new1", "new2"))),
                (
                    Change::Added,
                    if first_of("new1", "new2") == "new1" { "new2" } else { "new1" },
                    None,
                ),
            ],
        );
    }

    fn first_of<'n>(a: &'n str, b: &'n str) -> &'n str {
        let of =
            |path: &str| CrawlUrl::parse(&format!("http://a.test/{path}")).unwrap().fingerprint();
        if of(a) < of(b) { a } else { b }
    }

    #[test]
    fn more_rows_than_are_read_at_a_time_are_all_compared() {
        let names: Vec<String> = (0..CHUNK + 10).map(|n| n.to_string()).collect();
        let pages: Vec<_> = names.iter().map(|name| (name.as_str(), 200, Some(7u128))).collect();
        let env = MemoryEnv::new().unwrap();
        let (a, b) = (crawl(&env, "/a", &pages), crawl(&env, "/b", &pages));
        let counts = diff(&a, &b, |_| true, |_| ()).unwrap();
        assert_eq!(counts, Counts { unchanged: (CHUNK + 10) as u64, ..Counts::default() });
    }

    #[test]
    fn hosts_are_told_with_their_subdomains() {
        assert!(is_of_host("http://www.a.test/x", "a.test"));
        assert!(is_of_host("http://a.test/", "a.test"));
        assert!(!is_of_host("http://ba.test/", "a.test"));
    }
}
