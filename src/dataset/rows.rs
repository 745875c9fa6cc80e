//! From a record of the archive to a row: text, duplicates, preferences.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use lru::LruCache;

use super::originals::Originals;
use super::usage::{Preferences, Purpose};
use super::{DatasetError, PAYLOAD_MAX, TEXTS_MAX, Written};
use crate::archive::{ArchiveError, Found, Selection, USAGE_HEADERS, walk};
use crate::clock::Timestamp;
use crate::content::near::NearSettings;
use crate::content::{self, Boilerplate, Content, SiteModel};
use crate::crawl::{blocks_of, dups, text_page};
use crate::db::families::{dust as sites, robots as robots_rows, urls};
use crate::db::{Db, DbError};
use crate::extract::{self, Extracted};
use crate::frontier::UrlState;
use crate::robots::{Entry, Robots, SignalScope};
use crate::url::{CrawlUrl, Origin, Site};

/// Sites whose boilerplate and hosts whose robots.txt are held at a time.
const SITES_HELD: usize = 256;

/// Bytes of one robots value, title or language that are kept.
const FACT_BYTES_MAX: usize = 2_048;

/// One capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its URL.
    pub url: String,
    /// Host name.
    pub host: String,
    /// Registrable domain.
    pub site: String,
    /// When it was fetched.
    pub fetched: Option<Timestamp>,
    /// Status of the answer.
    pub status: Option<i32>,
    /// Media type without parameters.
    pub mime: String,
    /// `response`, `revisit` or `resource`.
    pub kind: String,
    /// The URL whose payload a revisit repeats.
    pub revisit_of: Option<String>,
    /// What the page says its language is.
    pub language: Option<String>,
    /// Title of the page.
    pub title: Option<String>,
    /// The main text, one block a line; none where there is none. A revisit has that of the record
    /// that it refers to.
    pub text: Option<String>,
    /// Words of the main text.
    pub words: Option<i64>,
    /// Digest of the main text.
    pub text_digest: Option<String>,
    /// Digest of the payload, as the archive has it.
    pub payload_digest: Option<String>,
    /// Bytes of the decoded payload, as far as it was read.
    pub bytes: Option<i64>,
    /// How the crawl judged the last answer of this URL.
    pub judged: Option<String>,
    /// True if the same main text came earlier in this export.
    pub repeats: bool,
    /// Number of the cluster of nearly the same texts that it is in.
    pub near_cluster: Option<String>,
    /// Why the body is short.
    pub truncated: Option<String>,
    /// What the owner says about its use.
    pub usage: Preferences,
    /// File of the archive.
    pub warc_file: String,
    /// Offset in it.
    pub warc_offset: i64,
    /// Length of the record.
    pub warc_length: i64,
}

/// Which captures are wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// By URL, host, type, status and time.
    pub selection: Selection,
    /// Purposes that the owner must not have refused.
    pub purposes: Vec<Purpose>,
    /// True if the owner must have allowed them in words.
    pub stated: bool,
}

/// Reads rows out of an archive.
#[derive(Debug)]
pub struct Reader<'a> {
    dir: &'a Path,
    db: Option<&'a Db>,
    agent: String,
    extract: extract::Settings,
    content: Content,
    boilerplate: LruCache<Site, Arc<Boilerplate>>,
    robots: LruCache<Origin, Option<Arc<Robots>>>,
    clusters: HashMap<u64, u64>,
    texts: HashSet<u64>,
    overflowed: bool,
    originals: Originals,
}

impl<'a> Reader<'a> {
    /// Prepares to read the archive in `dir`; without a state, nothing is known of boilerplate,
    /// robots.txt and near-duplicates. `agent` is our product token, by which pages address us.
    ///
    /// # Errors
    /// Returns what the database says.
    pub fn new(
        dir: &'a Path,
        db: Option<&'a Db>,
        agent: &str,
        near: &NearSettings,
        extract: extract::Settings,
        content: content::Settings,
    ) -> Result<Reader<'a>, DbError> {
        let held = NonZeroUsize::new(SITES_HELD).unwrap_or(NonZeroUsize::MIN);
        let clusters = db.map_or_else(|| Ok(HashMap::new()), |db| dups::cluster_of_pages(db, near));
        Ok(Reader {
            dir,
            db,
            agent: agent.to_owned(),
            extract,
            content: Content::new(content),
            boilerplate: LruCache::sparse(held),
            robots: LruCache::sparse(held),
            clusters: clusters?,
            texts: HashSet::new(),
            overflowed: false,
            originals: Originals::default(),
        })
    }

    /// Passes every wanted capture to `each`, in the order of the archive; `each` returns whether
    /// it wrote the row. Only what was written is there already when its text comes again.
    ///
    /// # Errors
    /// Returns what the archive or the database says, or the first error of `each`.
    pub fn read(
        mut self,
        wanted: &Wanted,
        mut each: impl FnMut(Row, &mut Written) -> Result<bool, DatasetError>,
    ) -> Result<Written, DatasetError> {
        let mut written = Written::default();
        let mut failed = None;
        let dir = self.dir;
        self.originals = Originals::find(dir, &wanted.selection)?;
        let walked = walk(dir, &wanted.selection, PAYLOAD_MAX, |found, block| {
            let result = self.row(found, block).and_then(|row| {
                if !row.usage.allow(&wanted.purposes, wanted.stated) {
                    written.left_out_by_usage += 1;
                    return Ok(());
                }
                let (row, text) = self.compared(row);
                if each(row, &mut written)? {
                    self.remember(text);
                }
                Ok(())
            });
            result.map_err(|error| {
                // The walk knows errors of the archive only; the true one is kept beside it.
                let stop = ArchiveError::Missing { file: String::new(), dir: dir.to_owned() };
                failed = Some(error);
                stop
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        written.walked = walked?;
        written.overflowed = self.overflowed;
        Ok(written)
    }

    /// Returns the cluster of a page as a name.
    fn cluster(&self, url: &CrawlUrl) -> Option<String> {
        let page = url.fingerprint().short();
        self.clusters.get(&page).map(|cluster| format!("{cluster:016x}"))
    }

    /// Returns whether a URL was met as a page, as far as that is known, and how its last answer
    /// was judged.
    fn judged(&self, url: &CrawlUrl) -> Result<(bool, Option<String>), DbError> {
        let Some(db) = self.db else { return Ok((true, None)) };
        let record = urls::get(db, url.fingerprint())?;
        let is_met = record.is_some();
        let judged = record.and_then(|record| match record.state {
            UrlState::Done(done) => Some(done.content),
            _ => None,
        });
        Ok((is_met, judged))
    }

    fn row(&mut self, found: &Found, block: &[u8]) -> Result<Row, DatasetError> {
        let uri = found.head.uri();
        let mut row = Row {
            url: uri.to_owned(),
            fetched: found.date,
            status: found.status.as_deref().and_then(|status| status.parse().ok()),
            mime: found.mime.clone(),
            kind: found.head.kind().to_owned(),
            revisit_of: found.head.get("WARC-Refers-To-Target-URI").map(str::to_owned),
            payload_digest: found.head.get("WARC-Payload-Digest").map(str::to_owned),
            truncated: found.head.get("WARC-Truncated").map(str::to_owned),
            warc_file: found.at.file.clone(),
            warc_offset: found.at.offset as i64,
            warc_length: found.at.length as i64,
            ..Row::default()
        };
        let Ok(url) = CrawlUrl::parse(uri) else { return Ok(row) };
        row.host = url.host_str().to_owned();
        row.site = url.site().to_string();
        row.near_cluster = self.cluster(&url);
        let (is_met, judged) = self.judged(&url)?;
        row.judged = judged;
        let is_revisit = row.kind == "revisit";
        let original = if is_revisit { self.originals.read(self.dir, &found.head)? } else { None };
        for name in USAGE_HEADERS {
            for value in found.http_headers(name) {
                row.usage.hear("header", name, cut(&value), &self.agent);
            }
            // A revisit without a head has that of its original, as in replay.
            let original = original.as_ref().filter(|_| found.http_head.is_empty());
            for value in original.into_iter().flat_map(|record| record.http_headers(name)) {
                row.usage.hear("header", name, cut(&value), &self.agent);
            }
        }
        if let Some(robots) = self.robots_of(&url)? {
            let signals = robots.signals().iter();
            let signals = signals.filter(|signal| signal.scope != SignalScope::OtherGroup);
            let lines = signals.map(|signal| (signal.name.as_str(), cut(&signal.value)));
            row.usage.hear_robots(lines, url.path_and_query());
        }
        let payload = match &original {
            Some(record) => {
                let (declared, body) = record.content(PAYLOAD_MAX);
                let declared = found.http_header("content-type").or(declared);
                Some((declared.unwrap_or_default(), body))
            }
            None if is_revisit => None,
            None => Some((found.content_type(), found.decoded(block, PAYLOAD_MAX))),
        };
        if let Some((declared, body)) = payload {
            // What a robots.txt redirects to was fetched as a robots.txt, whatever it is.
            let is_page = is_met && url.path_and_query() != "/robots.txt";
            let extracted = self.read_payload(&mut row, &url, &declared, &body);
            if is_page && !extracted.blocks.is_empty() {
                self.read_text(&mut row, &url, &extracted)?;
            }
        }
        Ok(row)
    }

    fn read_payload(
        &self,
        row: &mut Row,
        url: &CrawlUrl,
        declared: &str,
        body: &[u8],
    ) -> Extracted {
        row.bytes = i64::try_from(body.len()).ok();
        let content_type = Some(declared).filter(|declared| !declared.is_empty());
        let page = extract::Page { url, content_type, link_headers: &[], body };
        let extracted = extract::extract(&page, &self.extract);
        for (name, content) in &extracted.meta_robots {
            row.usage.hear("meta", name, cut(content), &self.agent);
        }
        row.language = extracted.lang.as_deref().map(|lang| cut(lang).to_owned());
        row.title = extracted.title.as_deref().map(|title| cut(title).to_owned());
        extracted
    }

    fn read_text(
        &mut self,
        row: &mut Row,
        url: &CrawlUrl,
        extracted: &Extracted,
    ) -> Result<(), DatasetError> {
        let known = self.boilerplate_of(&url.site())?;
        let blocks = blocks_of(extracted);
        let page = text_page(url, extracted, &blocks);
        let analysis = self.content.analyse(&page, &known);
        let main = self.content.main_blocks(&page, &known);
        let text: Vec<&str> = main.iter().map(|at| blocks[*at].text.trim()).collect();
        let text = text.join("\n");
        if !text.is_empty() {
            row.words = Some(analysis.words.into());
            row.text_digest = Some(analysis.text_digest.to_string());
            row.text = Some(text);
        }
        Ok(())
    }

    /// Says whether the text came before in this export; returns what it is known by.
    fn compared(&self, mut row: Row) -> (Row, Option<u64>) {
        let digest = row.text_digest.as_ref();
        let digest = digest.map(|digest| xxhash_rust::xxh3::xxh3_64(digest.as_bytes()));
        row.repeats = digest.is_some_and(|digest| self.texts.contains(&digest));
        (row, digest)
    }

    fn remember(&mut self, text: Option<u64>) {
        if self.texts.len() < TEXTS_MAX {
            self.texts.extend(text);
        } else if text.is_some_and(|text| !self.texts.contains(&text)) {
            self.overflowed = true;
        }
    }

    fn boilerplate_of(&mut self, site: &Site) -> Result<Arc<Boilerplate>, DbError> {
        let Some(db) = self.db else { return Ok(Arc::default()) };
        if let Some(known) = self.boilerplate.get(site) {
            return Ok(known.clone());
        }
        let stored = sites::get(db, sites::Kind::Model, site.as_str())?;
        let model = stored.and_then(|bytes| SiteModel::decode(&bytes)).unwrap_or_default();
        let known = model.boilerplate();
        self.boilerplate.put(site.clone(), known.clone());
        Ok(known)
    }

    fn robots_of(&mut self, url: &CrawlUrl) -> Result<Option<Arc<Robots>>, DbError> {
        let Some(db) = self.db else { return Ok(None) };
        let origin = url.origin();
        if let Some(known) = self.robots.get(&origin) {
            return Ok(known.clone());
        }
        let stored = robots_rows::get(db, &origin)?;
        let entry = stored.and_then(|bytes| Entry::from_bytes(&bytes).ok());
        let robots = entry.and_then(|entry| entry.robots().cloned()).map(Arc::new);
        self.robots.put(origin, robots.clone());
        Ok(robots)
    }
}

/// Cuts a fact that a page states at a bound, between characters.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(FACT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
