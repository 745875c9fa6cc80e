//! What the crawl tells the miner of each page, and the bounded window of it per site.
//!
//! Pages are grouped into documents as they come: evidence is counted in distinct documents, so a
//! login page or a soft error is one witness however many URLs lead to it. Pages fetched while the
//! host was in trouble are remembered by URL only, and thin ones belong to no document.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::differences::Differences;
use super::fetched::target_of;
use super::items::Words;
use super::sketch::{Likeness, SLOTS, Sketch};
use crate::content::Bag;
use crate::url::CrawlUrl;

/// What is known of a page's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Text {
    /// Nothing: not looked at, or not known yet.
    #[default]
    Unknown,
    /// The sketch of its main text.
    Main(Sketch),
    /// The first four min-hashes of the whole page, from a log; only strict equality counts, since
    /// boilerplate makes different pages alike.
    Page([u64; 4]),
    /// The least and greatest size seen, from a server log.
    Size(u32, u32),
    /// A hash of all bytes of what is no HTML, such as an image, a PDF or plain text: the same
    /// bytes are the same document, others another one.
    Bytes(u64),
    /// Thin: the sketch of the distinct words of its main text, few as they are. It speaks for no
    /// rule; against one it does where another page has other words.
    Thin(Sketch),
}

impl Text {
    /// Returns true where it says which document a page is, or may be.
    pub(crate) fn is_told(&self) -> bool {
        !matches!(self, Text::Unknown | Text::Thin(_))
    }
}

/// What the site itself says about a page's URL.
#[derive(Clone, Debug, PartialEq)]
pub enum Declared {
    /// It redirects there, permanently or not.
    Redirect(CrawlUrl),
    /// rel=canonical, in the page or in a Link header.
    Canonical(CrawlUrl),
}

/// One fetched page, as the crawl loop hands it over.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The URL as fetched.
    pub url: CrawlUrl,
    /// The key under which it was known at that time.
    pub key: CrawlUrl,
    /// HTTP status.
    pub status: u16,
    /// What is known of its text.
    pub text: Text,
    /// A hash of the payload, if at hand: equal payloads are the same document.
    pub digest: Option<u64>,
    /// The words of the page, if at hand: the same for the same items in another order, which a
    /// sketch of shingles calls another text, and others for other items in the same frame, which
    /// it calls the same.
    pub bag: Option<Bag>,
    /// What the site says about the URL.
    pub declared: Option<Declared>,
    /// A soft error, a login or consent page.
    pub junk: bool,
    /// Fetched while the host answered with 429 or 5xx: no evidence.
    pub troubled: bool,
}

impl Observation {
    /// Returns what a log of URLs tells of a page: its key is the URL itself.
    pub fn of(url: CrawlUrl, status: u16, text: Text) -> Observation {
        Observation {
            key: url.clone(),
            url,
            status,
            text,
            digest: None,
            bag: None,
            declared: None,
            junk: false,
            troubled: false,
        }
    }

    /// Returns true for a page of which nothing is known but that it is there. One that was looked
    /// at has a digest, with or without text.
    pub fn tells_nothing(&self) -> bool {
        let page = (200..300).contains(&self.status) && !self.junk;
        let looked_at = self.digest.is_some() || self.bag.is_some() || self.declared.is_some();
        page && self.text == Text::Unknown && !looked_at
    }
}

/// Number of a document within its window.
pub(crate) type Doc = u32;

/// One page of a window.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Page {
    pub(crate) url: Box<str>,
    pub(crate) text: Text,
    pub(crate) digest: Option<u64>,
    pub(crate) bag: Option<Bag>,
    pub(crate) declared: Option<(bool, Box<str>)>,
    pub(crate) junk: bool,
    pub(crate) doc: Option<Doc>,
}

/// What a document is known by.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// The sketch of its main text.
    Sketch(Sketch),
    /// A hash: of its bytes, of what a log tells of it, or of the URL that leads to it.
    Hash(u64),
}

/// The documents of a window, found again by slices of their sketches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Documents {
    known: Vec<Known>,
    junk: Vec<bool>,
    /// The latest document of each slice; the one before it is in `before`.
    slices: HashMap<u32, Doc>,
    /// By document and slice: the document before it with the same slice. A list for each slice
    /// would take four times the memory, as most slices are of one document.
    before: Vec<[Doc; SLOTS / 2]>,
    hashes: HashMap<u64, Doc>,
    pages: u32,
}

/// Documents compared per slice; a slice shared by more holds boilerplate.
const SLICE_MAX: usize = 64;

/// Pages of a window that are documents of their own; so many would have ended any rule.
const APART_MAX: usize = 512;

/// Stands before the first document of a slice.
const NONE: Doc = Doc::MAX;

impl Documents {
    /// Returns the document of a page, a new one if need be, or `None` where the text is unknown.
    pub(crate) fn assign(
        &mut self,
        text: &Text,
        digests: [Option<u64>; 2],
        junk: bool,
    ) -> Option<Doc> {
        let doc = match text {
            Text::Main(sketch) => self.of_sketch(sketch, digests),
            Text::Page(hashes) => {
                let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_be_bytes()).collect();
                self.of_hash(xxh3_64(&bytes))
            }
            Text::Bytes(hash) => self.of_hash(*hash),
            Text::Size(..) | Text::Unknown | Text::Thin(_) => return None,
        };
        self.junk[doc as usize] |= junk;
        self.pages += 1;
        Some(doc)
    }

    /// Returns the number of pages beyond the first of each document.
    pub(crate) fn duplicates(&self) -> u32 {
        self.pages.saturating_sub(u32::try_from(self.known.len()).unwrap_or(u32::MAX))
    }

    /// Returns the number of pages whose document is known.
    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    /// Returns the document of pages that are known only as what this URL leads to.
    pub(crate) fn of_target(&mut self, target: &str) -> Doc {
        self.of_hash(target_of(target))
    }

    /// Returns the document of a page that is another one than those like it, known from here on by
    /// its URL and by these digests: what has one of them is that page, while what is only like it
    /// may be either.
    fn of_apart(&mut self, url: &str, digests: &[u64]) -> Doc {
        let known = digests.iter().filter_map(|digest| self.hashes.get(digest));
        let mut known = known.filter(|doc| matches!(self.known[**doc as usize], Known::Hash(_)));
        let doc = known.next().copied().unwrap_or_else(|| self.of_target(url));
        let hashes = digests.iter().copied().chain([xxh3_64(url.as_bytes())]);
        self.hashes.extend(hashes.map(|hash| (hash, doc)));
        doc
    }

    /// Returns true where two documents are certainly different.
    pub(crate) fn differ(&self, a: Doc, b: Doc) -> bool {
        match (self.known[a as usize], self.known[b as usize]) {
            (Known::Sketch(a), Known::Sketch(b)) => a.compare(&b) == Likeness::Different,
            _ => a != b,
        }
    }

    /// Returns what stands for a document among the witnesses of a rule: it stays the same when the
    /// documents are grouped anew.
    pub(crate) fn witness(&self, doc: Doc) -> u64 {
        match self.known[doc as usize] {
            Known::Sketch(sketch) => witness_of(&sketch),
            Known::Hash(hash) => hash,
        }
    }

    /// Returns the witness that a text is.
    pub(crate) fn witness_of_text(&self, text: &Sketch) -> u64 {
        self.like(text).map_or_else(|| witness_of(text), |doc| self.witness(doc))
    }

    /// Returns true for a document that is a soft error, a login or a consent page.
    pub(crate) fn is_junk(&self, doc: Doc) -> bool {
        self.junk[doc as usize]
    }

    fn of_sketch(&mut self, sketch: &Sketch, digests: [Option<u64>; 2]) -> Doc {
        let mut known = digests.iter().flatten().filter_map(|digest| self.hashes.get(digest));
        if let Some(doc) = known.next() {
            return *doc;
        }
        let doc = match self.like(sketch) {
            Some(doc) => doc,
            None => {
                let doc = self.add(Known::Sketch(*sketch));
                for (i, slice) in slices(sketch).into_iter().enumerate() {
                    if self.sharing(i, slice).count() < SLICE_MAX {
                        let before = self.slices.insert(slice, doc).unwrap_or(NONE);
                        self.before[doc as usize][i] = before;
                    }
                }
                doc
            }
        };
        for digest in digests.into_iter().flatten() {
            self.hashes.insert(digest, doc);
        }
        doc
    }

    /// Returns the document whose text is most like this one, if that is the same.
    fn like(&self, sketch: &Sketch) -> Option<Doc> {
        let slices = slices(sketch);
        let near = slices.iter().enumerate().flat_map(|(i, slice)| self.sharing(i, *slice));
        let same = near
            .filter_map(|doc| match self.known[doc as usize] {
                Known::Sketch(other) => Some((doc, other)),
                Known::Hash(_) => None,
            })
            .filter(|(_, other)| other.compare(sketch) == Likeness::Same)
            .max_by_key(|(doc, other)| (other.agreement(sketch), std::cmp::Reverse(*doc)));
        same.map(|(doc, _)| doc)
    }

    /// Returns the documents with a slice at a place, the latest first.
    fn sharing(&self, place: usize, slice: u32) -> impl Iterator<Item = Doc> {
        std::iter::successors(self.slices.get(&slice).copied(), move |doc| {
            let before = self.before[*doc as usize][place];
            (before != NONE).then_some(before)
        })
    }

    fn of_hash(&mut self, hash: u64) -> Doc {
        if let Some(doc) = self.hashes.get(&hash) {
            return *doc;
        }
        let doc = self.add(Known::Hash(hash));
        self.hashes.insert(hash, doc);
        doc
    }

    fn add(&mut self, known: Known) -> Doc {
        self.known.push(known);
        self.junk.push(false);
        self.before.push([NONE; SLOTS / 2]);
        u32::try_from(self.known.len() - 1).unwrap_or(u32::MAX)
    }
}

/// Returns the witness that a text is, where none is known that is like it.
pub(crate) fn witness_of(sketch: &Sketch) -> u64 {
    xxh3_64(&sketch.mins)
}

/// Eight pairs of slots with their place: two texts of resemblance 0.8 share one but for 4 times in
/// 10,000, unrelated ones once in 8,000.
fn slices(sketch: &Sketch) -> [u32; SLOTS / 2] {
    std::array::from_fn(|i| {
        let (a, b) = (u32::from(sketch.mins[2 * i]), u32::from(sketch.mins[2 * i + 1]));
        ((i as u32) << 16) | (a << 8) | b
    })
}

/// The sample of one site: its latest pages, each URL once, and addresses known to be dead.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pub(crate) pages: VecDeque<Page>,
    pub(crate) documents: Documents,
    /// URLs that answered 404 or 410, newest last.
    pub(crate) dead: VecDeque<Box<str>>,
    pub(crate) dead_hashes: HashSet<u64>,
    /// Where each URL stands, counted from the first page ever kept.
    pub(crate) known: HashMap<u64, u64>,
    pub(crate) dropped: u64,
    /// Pages ever taken in.
    pub(crate) total: u64,
    /// `total` when the site was mined last.
    pub(crate) mined_at: u64,
    /// Share of duplicates when the site was mined last.
    pub(crate) mined_share: f64,
    /// Duplicates when the site was mined last.
    pub(crate) mined_duplicates: u32,
    /// A refuted rule left something to look for.
    pub(crate) hurried: bool,
    /// A search would find something: pages of one document differ in a way that was seen before,
    /// or a rule was proved on another site.
    pub(crate) promising: bool,
    /// Searches that found nothing since a page agreed with what one had found.
    pub(crate) fruitless: u32,
    pub(crate) differences: Differences,
    pub(crate) words: Words,
    /// Where the first page of each document stands, counted like `known`.
    pub(crate) firsts: HashMap<Doc, u64>,
    /// When the window was last used, in observations of all sites.
    pub(crate) used: u64,
    /// URLs that are another page than the one that stood for them, by their hashes: each of these
    /// pages is a document of its own, whatever its main text says.
    pub(crate) apart: BTreeMap<u64, Apart>,
}

/// A URL, and that of another page, which stood for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Apart {
    pub(crate) url: Box<str>,
    pub(crate) stands: Box<str>,
}

impl Apart {
    fn urls(&self) -> Option<(CrawlUrl, CrawlUrl)> {
        CrawlUrl::parse(&self.url).ok().zip(CrawlUrl::parse(&self.stands).ok())
    }
}

impl Window {
    /// Returns the URLs of pages that are another page than the one that stood for them, each with
    /// that of this one.
    pub(crate) fn apart(&self) -> impl Iterator<Item = (CrawlUrl, CrawlUrl)> {
        self.apart.values().filter_map(Apart::urls)
    }

    /// Takes in one page; returns false where it says nothing new.
    pub(crate) fn add(&mut self, page: Page, pages_max: usize) -> bool {
        let hash = xxh3_64(page.url.as_bytes());
        if self.known.contains_key(&hash) {
            return false;
        }
        let place = self.dropped + self.pages.len() as u64;
        self.known.insert(hash, place);
        let mut page = page;
        page.doc = self.documents.assign(&page.text, page.digests(), page.junk);
        self.compare_with_first(&page, place);
        self.words.note(&page.url);
        self.pages.push_back(page);
        if let Some(apart) = self.apart.get(&hash).cloned() {
            self.part(&apart);
        }
        self.total += 1;
        // Dropped in quarters, since the documents are grouped anew each time.
        if self.pages.len() > pages_max + pages_max / 4 {
            let old = self.pages.len() - pages_max;
            self.pages.drain(..old);
            self.dropped += old as u64;
            self.regroup();
        }
        true
    }

    /// Takes in that a page is another one than what stood for it. Where their main texts are the
    /// same, and the rows of their lists are not, they were one document until now. Pages of the
    /// same words go with it.
    pub(crate) fn set_apart(&mut self, apart: Apart) {
        let hash = xxh3_64(apart.url.as_bytes());
        if self.apart.len() < APART_MAX && !self.apart.contains_key(&hash) {
            self.part(&apart);
            self.apart.insert(hash, apart);
        }
    }

    /// Forgets pages that are others than what stood for them, where `is_due` says so of both URLs.
    pub(crate) fn forget_apart(&mut self, is_due: impl Fn(&CrawlUrl, &CrawlUrl) -> bool) {
        let before = self.apart.len();
        self.apart
            .retain(|_, apart| !apart.urls().is_some_and(|(url, stands)| is_due(&url, &stands)));
        if self.apart.len() < before {
            self.regroup();
        }
    }

    /// Makes a page a document of its own, if it is in the window and was the same as what stood
    /// for it, together with those that have a digest in common with it and none with that.
    fn part(&mut self, apart: &Apart) {
        let digests = |page: &Page| page.digests().into_iter().flatten().collect();
        let Some(own) = self.find(&apart.url).filter(|page| page.text.is_told()) else { return };
        let stands = self.find(&apart.stands);
        // Where their texts tell them apart, it stays what it is, as other forms of it are.
        let docs = own.doc.zip(stands.and_then(|page| page.doc));
        if docs.is_some_and(|(own, other)| self.documents.differ(own, other)) {
            return;
        }
        let mut own: Vec<u64> = digests(own);
        let other: Vec<u64> = stands.map(digests).unwrap_or_default();
        if own.iter().any(|digest| other.contains(digest)) {
            own.clear();
        }
        let doc = self.documents.of_apart(&apart.url, &own);
        for page in &mut self.pages {
            let goes = page.digests().iter().flatten().any(|digest| own.contains(digest));
            if page.doc.is_some() && (goes || page.url == apart.url) {
                page.doc = Some(doc);
            }
        }
    }

    /// Returns where a page stands now, given its place counted from the first page ever kept.
    fn at(&self, place: u64) -> Option<usize> {
        place.checked_sub(self.dropped).and_then(|at| usize::try_from(at).ok())
    }

    /// Returns where the page of a URL stands, given the hash of the URL.
    fn find_at(&self, hash: u64, url: &str) -> Option<usize> {
        let at = self.at(*self.known.get(&hash)?)?;
        self.pages.get(at).filter(|page| *page.url == *url).map(|_| at)
    }

    /// Compares a page with the first one of its document, if it is another one.
    fn compare_with_first(&mut self, page: &Page, place: u64) {
        let Some(doc) = page.doc.filter(|_| !page.junk) else { return };
        let first = *self.firsts.entry(doc).or_insert(place);
        if let Some(first) = self.at(first).and_then(|at| self.pages.get(at)) {
            self.promising |= self.differences.note(doc, &first.url, &page.url);
        }
    }

    /// Remembers a URL that has no page.
    pub(crate) fn add_dead(&mut self, url: &str, dead_max: usize) {
        if !self.dead_hashes.insert(xxh3_64(url.as_bytes())) {
            return;
        }
        self.dead.push_back(url.into());
        if self.dead.len() > dead_max
            && let Some(oldest) = self.dead.pop_front()
        {
            self.dead_hashes.remove(&xxh3_64(oldest.as_bytes()));
        }
    }

    /// Returns the memory it takes, in pages; an address alone takes a quarter of one.
    pub(crate) fn weight(&self) -> usize {
        self.pages.len() + self.dead.len().div_ceil(4)
    }

    /// Returns true for a URL that answered 404 or 410.
    pub(crate) fn is_dead(&self, url: &str) -> bool {
        self.dead_hashes.contains(&xxh3_64(url.as_bytes()))
    }

    /// Returns the page of a URL.
    pub(crate) fn find(&self, url: &str) -> Option<&Page> {
        self.pages.get(self.find_at(xxh3_64(url.as_bytes()), url)?)
    }

    /// Returns the share of pages whose document was seen before under another URL.
    pub(crate) fn duplicate_share(&self) -> f64 {
        f64::from(self.documents.duplicates()) / f64::from(self.documents.pages().max(1))
    }

    /// Returns the pages by URL.
    pub(crate) fn by_url(&self) -> BTreeMap<&str, &Page> {
        self.pages.iter().map(|page| (&*page.url, page)).collect()
    }

    /// Returns the hosts of the pages, and how many pages each has.
    pub(crate) fn hosts(&self) -> BTreeMap<&str, u32> {
        let mut hosts = BTreeMap::new();
        for page in &self.pages {
            let host = page.url.split_once("://").map_or("", |(_, rest)| rest);
            *hosts.entry(host.split(['/', ':']).next().unwrap_or_default()).or_default() += 1;
        }
        hosts
    }

    pub(crate) fn regroup(&mut self) {
        self.documents = Documents::default();
        self.known.clear();
        self.firsts.clear();
        for (i, page) in self.pages.iter_mut().enumerate() {
            let place = self.dropped + i as u64;
            let hash = xxh3_64(page.url.as_bytes());
            self.known.insert(hash, place);
            self.words.note(&page.url);
            page.doc = self.documents.assign(&page.text, page.digests(), page.junk);
        }
        for apart in std::mem::take(&mut self.apart) {
            self.part(&apart.1);
            self.apart.insert(apart.0, apart.1);
        }
        for (i, page) in self.pages.iter().enumerate() {
            if let Some(doc) = page.doc {
                self.firsts.entry(doc).or_insert(self.dropped + i as u64);
            }
        }
    }
}

impl Page {
    /// Returns what only pages of one document have in common.
    fn digests(&self) -> [Option<u64>; 2] {
        [self.digest, self.bag.map(|bag| bag.hash())]
    }

    /// Makes a page of an observation; its document is assigned by the window.
    pub(crate) fn of(observation: &Observation) -> Page {
        let declared = observation.declared.as_ref().map(|declared| match declared {
            Declared::Redirect(url) => (true, url.as_str().into()),
            Declared::Canonical(url) => (false, url.as_str().into()),
        });
        let is_told = !observation.troubled;
        Page {
            url: observation.url.as_str().into(),
            text: if is_told { observation.text } else { Text::Unknown },
            digest: observation.digest,
            bag: observation.bag.filter(|_| is_told),
            declared,
            junk: observation.junk,
            doc: None,
        }
    }
}
