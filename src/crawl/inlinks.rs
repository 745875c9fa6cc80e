//! All pages that lead to URLs which gave no page, for whoever has to mend them.
//!
//! The state keeps of each URL the page on which it was found first, and the archive keeps no
//! links; so they are extracted once more from the archived pages, as a visit does, and only when
//! somebody asks. The crawl pays nothing for it. Reads only.
//!
//! A page leads to a URL also over redirects. Of a URL that was fetched twice the last answer
//! counts. What a rule suppressed was not fetched: the page that stands for it speaks for it. No
//! other form of a broken URL has to be looked for, since one that gives no page stands for none.
//!
//! What it does not do: it fetches nothing. A page that is not archived, or whose record cannot be
//! read, is counted.
//!
//! Bounded: [`URLS_MAX`] broken URLs with the names of [`NAMED_MAX`] pages each, a million
//! redirects, ten thousand rows of the ledger and one page at a time; links are passed on.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::error::CrawlError;
use super::{visit, way};
use crate::archive::{ArchiveError, Record, RecordAt, read_at};
use crate::db::Db;
use crate::db::families::urls;
use crate::extract;
use crate::frontier::{DoneState, UrlRecord, UrlState};
use crate::url::{CrawlUrl, Fingerprint};

/// Broken URLs whose pages are looked for, some 300 bytes each.
pub const URLS_MAX: usize = 100_000;

/// Pages of a broken URL that are named; all are counted and passed on.
pub const NAMED_MAX: usize = 5;

/// Redirects whose targets are remembered, some 50 bytes each.
const REDIRECTS_MAX: usize = 1_000_000;

/// Redirects in a row that are followed; browsers stop at 20.
const STEPS_MAX: usize = 50;

/// Rows that are held at a time and read in the order of the archive: some ten megabytes.
const ROWS: usize = 10_000;

/// Bytes of a redirect that are read: many times what a fetch takes for a head.
const HEAD_MAX: usize = 1 << 20;

/// Records that are followed from a revisit to what it repeats.
const REVISITS_MAX: usize = 4;

/// What is wrong with a URL that was asked for and gave no page.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Status of the answer; nothing where there was none.
    pub status: Option<u16>,
    /// Stable code of the failure, where there was no answer.
    pub reason: String,
}

impl Fault {
    /// Returns what is wrong with a URL, if it was asked for and gave no page.
    pub fn of(state: &UrlState) -> Option<Fault> {
        match state {
            UrlState::Done(done) if !(200..400).contains(&done.status) => {
                Some(Fault { status: Some(done.status), reason: String::new() })
            }
            UrlState::Failed { reason, .. } => Some(Fault { status: None, reason: reason.clone() }),
            UrlState::Done(_)
            | UrlState::Queued(_)
            | UrlState::Refused { .. }
            | UrlState::Suppressed { .. } => None,
        }
    }
}

/// A link that leads to a broken URL.
#[derive(Clone, Copy, Debug)]
pub struct Inlink<'a> {
    /// The broken URL.
    pub url: &'a str,
    /// What is wrong with it.
    pub fault: &'a Fault,
    /// The page that has the link.
    pub page: &'a str,
    /// The link in normal form: another URL than the broken one where it redirects there.
    pub link: &'a str,
}

/// The pages that lead to a broken URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// How many there are.
    pub count: u64,
    /// The first ones, at most [`NAMED_MAX`].
    pub first: Vec<Fingerprint>,
}

impl Pages {
    fn note(&mut self, page: Fingerprint) {
        self.count += 1;
        if self.first.len() < NAMED_MAX {
            self.first.push(page);
        }
    }
}

/// What was found.
#[derive(Debug, Default)]
pub struct Inlinks {
    /// Pages with links that were read.
    pub read: u64,
    /// Pages with links that are not archived, or whose records cannot be read.
    pub unread: u64,
    /// Broken URLs beyond [`URLS_MAX`], whose pages are not looked for.
    pub urls_beyond: u64,
    /// Redirects that are not followed: beyond a million, or not to be read in the archive.
    pub redirects_unknown: u64,
    broken: HashMap<Fingerprint, Broken>,
    /// URLs that redirect, with their targets; in the end those that come to a broken URL, with it.
    redirects: HashMap<Fingerprint, Fingerprint>,
}

#[derive(Debug)]
struct Broken {
    url: String,
    fault: Fault,
    pages: Pages,
}

/// Finds the pages that lead to broken URLs; every link of theirs that does is passed to `each`.
/// `archive` is the archive's directory, `settings` are those of the crawl.
///
/// # Errors
/// Returns what the database or the operating system says, or the first error of `each`.
pub fn inlinks(
    db: &Db,
    archive: &Path,
    settings: &extract::Settings,
    mut each: impl FnMut(&Inlink<'_>) -> Result<(), ArchiveError>,
) -> Result<Inlinks, CrawlError> {
    let shelf = Shelf { db, archive, settings };
    let mut found = Inlinks::default();
    shelf.rows(|rows| {
        rows.iter().for_each(|(own, record)| found.note_url(*own, record));
        for redirect in fetched(rows, |done| (300..400).contains(&done.status)) {
            found.note_redirect(&shelf, &redirect)?;
        }
        Ok(())
    })?;
    found.redirects = found.redirects_to_broken();
    if found.broken.is_empty() {
        return Ok(found);
    }
    shelf.rows(|rows| {
        // What a redirect has for a body, nobody is shown.
        let is_page = |done: &DoneState| done.links > 0 && !(300..400).contains(&done.status);
        for page in fetched(rows, is_page) {
            match shelf.links(&page)? {
                Some(links) => found.note_page(&page, &links, &mut each)?,
                None => found.unread += 1,
            }
        }
        Ok(())
    })?;
    Ok(found)
}

impl Inlinks {
    /// Returns the pages that lead to a URL; nothing where it is not broken.
    pub fn of(&self, url: Fingerprint) -> Option<&Pages> {
        self.broken.get(&url).map(|broken| &broken.pages)
    }

    /// Returns true where no page could be read, though there are some.
    pub fn is_blind(&self) -> bool {
        self.read == 0 && self.unread > 0
    }

    fn note_url(&mut self, own: Fingerprint, record: &UrlRecord) {
        let Some(fault) = Fault::of(&record.state) else { return };
        if self.broken.len() >= URLS_MAX {
            self.urls_beyond += 1;
            return;
        }
        let broken = Broken { url: record.url.clone(), fault, pages: Pages::default() };
        self.broken.insert(own, broken);
    }

    fn note_redirect(&mut self, shelf: &Shelf<'_>, redirect: &Stored) -> Result<(), ArchiveError> {
        if self.redirects.len() >= REDIRECTS_MAX {
            self.redirects_unknown += 1;
            return Ok(());
        }
        let Some(record) = shelf.record(redirect.at.as_ref(), HEAD_MAX)? else {
            self.redirects_unknown += 1;
            return Ok(());
        };
        let location = record.http_urls("location").next();
        let target = visit::redirect_of(&redirect.url, redirect.status, location.as_deref());
        if let Some(target) = target {
            self.redirects.insert(redirect.own, target.fingerprint());
        }
        Ok(())
    }

    /// Returns the URLs that come to a broken one over any number of redirects, with that one.
    fn redirects_to_broken(&self) -> HashMap<Fingerprint, Fingerprint> {
        let end = |from: &Fingerprint| {
            let mut at = *self.redirects.get(from)?;
            for _ in 1..STEPS_MAX {
                if self.broken.contains_key(&at) {
                    break;
                }
                at = *self.redirects.get(&at)?;
            }
            self.broken.contains_key(&at).then_some(at)
        };
        self.redirects.keys().filter_map(|from| Some((*from, end(from)?))).collect()
    }

    fn note_page(
        &mut self,
        page: &Stored,
        links: &[CrawlUrl],
        each: &mut impl FnMut(&Inlink<'_>) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        self.read += 1;
        let mut led_to = HashSet::new();
        for link in links {
            let own = link.fingerprint();
            let url = self.redirects.get(&own).copied().unwrap_or(own);
            let Some(broken) = self.broken.get_mut(&url) else { continue };
            // A page may have the URL itself and others that redirect to it.
            if led_to.insert(url) {
                broken.pages.note(page.own);
            }
            let (page, link) = (page.url.as_str(), link.as_str());
            each(&Inlink { url: &broken.url, fault: &broken.fault, page, link })?;
        }
        Ok(())
    }
}

/// A URL that was fetched, and where the archive has its last answer.
#[derive(Debug)]
struct Stored {
    own: Fingerprint,
    url: CrawlUrl,
    path: String,
    status: u16,
    at: Option<RecordAt>,
}

impl Stored {
    /// Returns its place in the order in which an archive is read fastest.
    fn place(&self) -> Option<(&str, u64)> {
        self.at.as_ref().map(|at| (at.file.as_str(), at.offset))
    }
}

/// Returns the URLs that were fetched and are wanted, in the order of the archive.
fn fetched(
    rows: Vec<(Fingerprint, UrlRecord)>,
    is_wanted: impl Fn(&DoneState) -> bool,
) -> Vec<Stored> {
    let stored = rows.into_iter().filter_map(|(own, record)| match record.state {
        UrlState::Done(done) if is_wanted(&done) => {
            let url = CrawlUrl::parse(&record.url).ok()?;
            let (path, status, at) = (record.path, done.status, place_of(*done));
            Some(Stored { own, url, path, status, at })
        }
        _ => None,
    });
    let mut stored: Vec<Stored> = stored.collect();
    stored.sort_by(|a, b| a.place().cmp(&b.place()));
    stored
}

fn place_of(done: DoneState) -> Option<RecordAt> {
    let (file, offset, length) = done.record?;
    Some(RecordAt { file, offset, length })
}

/// What pages are read from.
struct Shelf<'a> {
    db: &'a Db,
    archive: &'a Path,
    settings: &'a extract::Settings,
}

impl Shelf<'_> {
    /// Passes all rows of the ledger to `visit`, [`ROWS`] at a time.
    fn rows(
        &self,
        mut visit: impl FnMut(Vec<(Fingerprint, UrlRecord)>) -> Result<(), CrawlError>,
    ) -> Result<(), CrawlError> {
        let mut from = Vec::new();
        loop {
            let (rows, next) = urls::chunk(self.db, &from, ROWS)?;
            visit(rows)?;
            let Some(next) = next else { return Ok(()) };
            from = next;
        }
    }

    /// Returns the links of a page as a visit finds them; nothing where the archive does not give
    /// the page.
    fn links(&self, page: &Stored) -> Result<Option<Vec<CrawlUrl>>, CrawlError> {
        // The extractor reads no more of any body.
        let most = self.settings.body_max.max(self.settings.sitemap_max).as_len();
        let Some(record) = self.record(page.at.as_ref(), most)? else { return Ok(None) };
        let link_headers: Vec<String> = record.http_urls("link").collect();
        let refresh = record.http_urls("refresh").next();
        let declared = record.http_headers("content-type").next();
        let Some(original) = self.original(record, most)? else { return Ok(None) };
        let (content_type, body) = original.content(most);
        let content_type = declared.or(content_type);
        let document = extract::Page {
            url: &page.url,
            content_type: content_type.as_deref(),
            link_headers: &link_headers,
            body: &body,
        };
        // What robots.txt or an index names as a sitemap is one, whatever its type says.
        let is_sitemap = way::is_sitemap(&page.path);
        let extract = if is_sitemap { extract::extract_sitemap } else { extract::extract };
        let links = extract(&document, self.settings).links.into_iter().map(|link| link.url);
        Ok(Some(links.chain(visit::refresh_of(&page.url, refresh.as_deref())).collect()))
    }

    /// Returns the record whose payload a record repeats, or the record itself where that is no
    /// revisit; nothing where the archive does not give it.
    fn original(&self, mut record: Record, most: usize) -> Result<Option<Record>, CrawlError> {
        for _ in 0..REVISITS_MAX {
            if record.head.kind() != "revisit" {
                return Ok(Some(record));
            }
            let first = record.head.get("WARC-Refers-To-Target-URI");
            let Some(first) = first.and_then(|uri| CrawlUrl::parse(uri).ok()) else { break };
            let Some(known) = urls::get(self.db, first.fingerprint())? else { break };
            let UrlState::Done(done) = known.state else { break };
            let Some(next) = self.record(place_of(*done).as_ref(), most)? else { break };
            // The URL may have been fetched again, and have shown another page.
            let digest =
                |record: &Record| record.head.get("WARC-Payload-Digest").map(str::to_owned);
            if digest(&next) != digest(&record) {
                break;
            }
            record = next;
        }
        Ok(None)
    }

    /// Reads a record; nothing where there is none, or it is damaged.
    fn record(&self, at: Option<&RecordAt>, most: usize) -> Result<Option<Record>, ArchiveError> {
        let Some(at) = at else { return Ok(None) };
        match read_at(self.archive, at, most) {
            Ok(record) => Ok(Some(record)),
            Err(ArchiveError::Missing { .. } | ArchiveError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_followed_to_what_is_broken_and_circles_to_nothing() {
        let mut found = Inlinks::default();
        let fault = Fault { status: Some(404), reason: String::new() };
        let broken = Broken { url: String::new(), fault, pages: Pages::default() };
        found.broken.insert(Fingerprint(9), broken);
        for (from, to) in [(1, 9), (2, 1), (3, 2), (4, 5), (5, 4), (6, 6), (7, 8)] {
            found.redirects.insert(Fingerprint(from), Fingerprint(to));
        }
        let mut ends: Vec<(u128, u128)> =
            found.redirects_to_broken().iter().map(|(from, to)| (from.0, to.0)).collect();
        ends.sort_unstable();
        assert_eq!(ends, [(1, 9), (2, 9), (3, 9)]);
    }

    #[test]
    fn a_page_counts_once_for_a_url_however_many_of_its_links_lead_there() {
        let url = |path: &str| CrawlUrl::parse(&format!("http://a.test{path}")).unwrap();
        let (gone, moved) = (url("/gone"), url("/moved"));
        let fault = Fault { status: Some(410), reason: String::new() };
        let broken = Broken { url: gone.to_string(), fault, pages: Pages::default() };
        let mut found = Inlinks::default();
        found.broken.insert(gone.fingerprint(), broken);
        found.redirects.insert(moved.fingerprint(), gone.fingerprint());
        let links = [gone.clone(), url("/fine"), moved];
        let mut passed = Vec::new();
        for path in ["/1", "/2", "/3", "/4", "/5", "/6"] {
            let own = url(path).fingerprint();
            let page = Stored { own, url: url(path), path: String::new(), status: 200, at: None };
            let mut each = |link: &Inlink<'_>| {
                passed.push((link.page.to_owned(), link.link.to_owned()));
                Ok(())
            };
            found.note_page(&page, &links, &mut each).unwrap();
        }
        let pages = found.of(gone.fingerprint()).unwrap();
        assert_eq!((found.read, pages.count, pages.first.len()), (6, 6, NAMED_MAX));
        assert_eq!(passed.len(), 12, "every link is passed on");
        assert_eq!(passed[1], ("http://a.test/1".to_owned(), "http://a.test/moved".to_owned()));
    }
}
