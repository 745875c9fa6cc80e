//! The book of rules as bytes, for the caller to keep: rules as JSON, samples as compact rows.
//!
//! Three kinds of rows, so that what is written is what has changed, however many sites have rules:
//! one for what belongs to no site, and for each site one of its rules and one of its sample. A row
//! of another format, or a damaged one, is refused whole; nothing is half read.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::book::{Entry, RuleBook, Settings, Spending};
use super::evidence::{Apart, Page, Text, Window};
use super::fetched::Fetched;
use super::items::Items;
use super::rule::{FORMAT, RuleId, RuleKind, Scope};
use super::sketch::{SLOTS, Sketch};
use crate::content::Bag;
use crate::url::Site;

/// Why kept bytes cannot be used; reads after "failed to read the learned rules: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The rules are not what this version writes.
    #[error("the kept rules are not readable ({0}); export them with the version that wrote them")]
    Rules(String),
    /// The sample of a site is damaged.
    #[error("the sample of a site is damaged at byte {0}; delete it, it is learned anew")]
    Window(usize),
}

/// Version of the kept rules, which is not that of rule files.
const ROWS_FORMAT: u32 = 4;

/// What kept rules of every version begin with.
#[derive(Deserialize)]
struct Header {
    format: u32,
}

#[derive(Serialize, Deserialize)]
struct Head {
    format: u32,
    version: u64,
    probed: BTreeMap<Box<str>, Fetched>,
}

#[derive(Serialize, Deserialize)]
struct SiteRow {
    site: Site,
    entries: Vec<Entry>,
    spending: Spending,
    declared: Vec<(RuleKind, Scope)>,
    items: Items,
}

impl SiteRow {
    fn is_empty(&self) -> bool {
        self.entries.is_empty()
            && self.spending == Spending::default()
            && self.declared.is_empty()
            && self.items.is_empty()
    }
}

/// Rules, their evidence and what probes showed, as rows to be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleRows {
    /// What belongs to no site.
    pub head: Vec<u8>,
    /// The row of each site; `None` where none is to be kept any more.
    pub sites: Vec<(Site, Option<Vec<u8>>)>,
}

impl RuleBook {
    /// Returns all rows.
    pub fn encode_rules(&self) -> RuleRows {
        let sites = self.entries.sites().chain(self.spending.keys()).chain(self.declared.keys());
        self.rows_of(sites.chain(self.items.keys()).collect())
    }

    /// Returns the rows that have changed since the last call.
    pub fn take_changed_rows(&mut self) -> RuleRows {
        let touched = self.entries.take_touched();
        self.rows_of(touched.iter().collect())
    }

    fn rows_of(&self, sites: BTreeSet<&Site>) -> RuleRows {
        let head = Head { format: ROWS_FORMAT, version: self.version, probed: self.probed.clone() };
        let row = |site: &Site| {
            let row = SiteRow {
                site: site.clone(),
                entries: self.entries.of_site(site).map(Entry::kept).collect(),
                spending: self.spending.get(site).copied().unwrap_or_default(),
                declared: self.declared.get(site).into_iter().flatten().cloned().collect(),
                items: self.items_of(site).clone(),
            };
            let bytes = (!row.is_empty()).then(|| serde_json::to_vec(&row).unwrap_or_default());
            (row.site, bytes)
        };
        RuleRows {
            head: serde_json::to_vec(&head).unwrap_or_default(),
            sites: sites.into_iter().map(row).collect(),
        }
    }

    /// Returns the sample of one site, or `None` where there is none.
    pub fn encode_site(&self, site: &Site) -> Option<Vec<u8>> {
        self.miner.window(site).map(|window| encode_window(site, window))
    }

    /// Returns how many URLs the sample of a site has, dead ones among them.
    pub fn sample_size(&self, site: &Site) -> usize {
        self.miner.window(site).map_or(0, |window| window.pages.len() + window.dead.len())
    }

    /// Returns the sites that have a sample.
    pub fn sites(&self) -> impl Iterator<Item = &Site> {
        self.miner.sites()
    }

    /// Reads back what [`RuleBook::encode_rules`] and [`RuleBook::encode_site`] returned: all rows
    /// of the rules, and the sample of each site.
    ///
    /// # Errors
    /// Returns what is damaged.
    pub fn decode<'a>(
        settings: Settings,
        rows: &RuleRows,
        samples: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<RuleBook, DecodeError> {
        let unreadable = |error: serde_json::Error| DecodeError::Rules(error.to_string());
        let header: Header = serde_json::from_slice(&rows.head).map_err(unreadable)?;
        if header.format != ROWS_FORMAT {
            let why = format!("format {}, where {ROWS_FORMAT} is known", header.format);
            return Err(DecodeError::Rules(why));
        }
        let head: Head = serde_json::from_slice(&rows.head).map_err(unreadable)?;
        let mut book = RuleBook::new(settings);
        book.version = head.version;
        book.probed = head.probed;
        for row in rows.sites.iter().filter_map(|(_, row)| row.as_deref()) {
            let row: SiteRow = serde_json::from_slice(row).map_err(unreadable)?;
            let site = row.site;
            for entry in row.entries {
                entry.rule.check().map_err(|error| DecodeError::Rules(error.to_string()))?;
                if entry.rule.site != site {
                    let why =
                        format!("rule {} is of {}, not {site}", entry.rule.id, entry.rule.site);
                    return Err(DecodeError::Rules(why));
                }
                book.entries.insert(entry);
            }
            if row.spending != Spending::default() {
                book.spending.insert(site.clone(), row.spending);
            }
            if !row.declared.is_empty() {
                book.declared.insert(site.clone(), row.declared.into_iter().collect());
            }
            if !row.items.is_empty() {
                book.items.insert(site, row.items);
            }
        }
        book.entries.take_touched();
        for bytes in samples {
            let (site, window) = decode_window(bytes)?;
            book.miner.restore(site, window);
        }
        Ok(book)
    }

    /// Returns the rules as a file for people and other crawls.
    pub fn export(&self) -> super::rule::RuleFile {
        let rules = self.rules_as_proved();
        super::rule::RuleFile { format: FORMAT, version: self.version, rules }
    }

    /// Returns one rule.
    pub fn rule(&self, id: RuleId) -> Option<&super::rule::Rule> {
        self.entries.get(id).map(|entry| &entry.rule)
    }
}

const MAGIC: &[u8; 4] = b"DW03";

/// What samples began with that know of no pages that are set apart.
const MAGIC_BEFORE: &[u8; 4] = b"DW02";

fn encode_window(site: &Site, window: &Window) -> Vec<u8> {
    let mut out = Vec::with_capacity(window.pages.len() * 96);
    out.extend_from_slice(MAGIC);
    put_text(&mut out, site.as_str());
    for number in [window.total, window.mined_at, window.mined_share.to_bits(), window.used] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    put_number(&mut out, window.dead.len());
    window.dead.iter().for_each(|url| put_text(&mut out, url));
    put_number(&mut out, window.pages.len());
    window.pages.iter().for_each(|page| put_page(&mut out, page));
    put_number(&mut out, window.apart.len());
    for Apart { url, stands } in window.apart.values() {
        put_text(&mut out, url);
        put_text(&mut out, stands);
    }
    out
}

fn put_page(out: &mut Vec<u8>, page: &Page) {
    put_text(out, &page.url);
    let declared = match &page.declared {
        None => 0,
        Some((false, _)) => 1,
        Some((true, _)) => 2,
    };
    let flags = u8::from(page.junk)
        | declared << 1
        | u8::from(page.digest.is_some()) << 3
        | u8::from(page.bag.is_some()) << 4;
    out.push(flags);
    if let Some(digest) = page.digest {
        out.extend_from_slice(&digest.to_le_bytes());
    }
    if let Some(bag) = page.bag {
        out.extend_from_slice(&bag.to_bytes());
    }
    if let Some((_, target)) = &page.declared {
        put_text(out, target);
    }
    match page.text {
        Text::Unknown => out.push(0),
        Text::Main(sketch) => {
            out.push(1);
            put_sketch(out, &sketch);
        }
        Text::Page(hashes) => {
            out.push(2);
            hashes.iter().for_each(|hash| out.extend_from_slice(&hash.to_le_bytes()));
        }
        Text::Size(min, max) => {
            out.push(3);
            out.extend_from_slice(&min.to_le_bytes());
            out.extend_from_slice(&max.to_le_bytes());
        }
        Text::Bytes(hash) => {
            out.push(4);
            out.extend_from_slice(&hash.to_le_bytes());
        }
        Text::Thin(sketch) => {
            out.push(5);
            put_sketch(out, &sketch);
        }
    }
}

fn put_sketch(out: &mut Vec<u8>, sketch: &Sketch) {
    out.extend_from_slice(&sketch.mins);
    out.extend_from_slice(&sketch.shingles.to_le_bytes());
}

fn put_number(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// Reads a row from its start to its end.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.at.checked_add(len).ok_or(DecodeError::Window(self.at))?;
        let taken = self.bytes.get(self.at..end).ok_or(DecodeError::Window(self.at))?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let at = self.at;
        self.take(N)?.try_into().map_err(|_| DecodeError::Window(at))
    }

    fn number(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Result<&'a str, DecodeError> {
        let at = self.at;
        let len = self.number()? as usize;
        std::str::from_utf8(self.take(len)?).map_err(|_| DecodeError::Window(at))
    }

    fn sketch(&mut self) -> Result<Sketch, DecodeError> {
        let mins: [u8; SLOTS] = self.array()?;
        Ok(Sketch { mins, shingles: self.number()? })
    }

    fn page(&mut self) -> Result<Page, DecodeError> {
        let url = self.text()?.into();
        let at = self.at;
        let [flags] = self.array()?;
        let digest = if flags & 1 << 3 != 0 { Some(self.long()?) } else { None };
        let bag = if flags & 1 << 4 != 0 { Some(Bag::from_bytes(self.array()?)) } else { None };
        let declared = match flags >> 1 & 3 {
            0 => None,
            kind => Some((kind == 2, self.text()?.into())),
        };
        let text = match self.array()? {
            [0] => Text::Unknown,
            [1] => Text::Main(self.sketch()?),
            [2] => Text::Page([self.long()?, self.long()?, self.long()?, self.long()?]),
            [3] => Text::Size(self.number()?, self.number()?),
            [4] => Text::Bytes(self.long()?),
            [5] => Text::Thin(self.sketch()?),
            _ => return Err(DecodeError::Window(at)),
        };
        Ok(Page { url, text, digest, bag, declared, junk: flags & 1 != 0, doc: None })
    }
}

fn decode_window(bytes: &[u8]) -> Result<(Site, Window), DecodeError> {
    let mut reader = Reader { bytes, at: 0 };
    let magic = reader.array()?;
    if magic != *MAGIC && magic != *MAGIC_BEFORE {
        return Err(DecodeError::Window(0));
    }
    let site = Site::new(reader.text()?);
    let mut window = Window { total: reader.long()?, ..Window::default() };
    window.mined_at = reader.long()?;
    window.mined_share = f64::from_bits(reader.long()?);
    window.used = reader.long()?;
    for _ in 0..reader.number()? {
        let url = reader.text()?;
        window.add_dead(url, usize::MAX);
    }
    for _ in 0..reader.number()? {
        let page = reader.page()?;
        window.pages.push_back(page);
    }
    let apart = if magic == *MAGIC { reader.number()? } else { 0 };
    for _ in 0..apart {
        window.set_apart(Apart { url: reader.text()?.into(), stands: reader.text()?.into() });
    }
    if reader.at != bytes.len() {
        return Err(DecodeError::Window(reader.at));
    }
    window.regroup();
    Ok((site, window))
}

#[cfg(test)]
mod tests {
    use super::super::evidence::{Declared, Observation};
    use super::*;
    use crate::url::CrawlUrl;

    fn book() -> RuleBook {
        use crate::clock::Timestamp;
        use crate::dust::rule::{Rule, Source};
        let mut book = RuleBook::new(Settings::default());
        let (site, kind) = (Site::new("example.com"), RuleKind::drop(vec!["sid".to_owned()], None));
        book.import(vec![Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO)]);
        for i in 0..50u64 {
            let url = CrawlUrl::parse(&format!("http://example.com/{i}?sid={i}")).unwrap();
            let target = CrawlUrl::parse("http://example.com/target").unwrap();
            book.observe(&Observation {
                key: url.clone(),
                url,
                status: if i % 7 == 6 { 404 } else { 200 },
                text: match i % 6 {
                    0 => Text::Main(Sketch::of_shingles(i..i + 30).unwrap()),
                    1 => Text::Page([i, 2, 3, 4]),
                    2 => Text::Size(i as u32, 99),
                    3 => Text::Bytes(i),
                    4 => Text::Thin(Sketch::of_words(i..i + 5).unwrap()),
                    _ => Text::Unknown,
                },
                digest: (i % 3 == 0).then_some(i),
                bag: (i % 7 == 0).then(|| Bag::of(0..i)),
                declared: match i % 6 {
                    0 => Some(Declared::Redirect(target)),
                    1 => Some(Declared::Canonical(target)),
                    _ => None,
                },
                junk: i % 10 == 0,
                troubled: false,
            });
        }
        for i in [3, 6, 12] {
            let url = CrawlUrl::parse(&format!("http://example.com/{i}?sid={i}")).unwrap();
            let key = CrawlUrl::parse(&format!("http://example.com/{i}")).unwrap();
            book.miner.set_apart(&url, &key);
        }
        book
    }

    #[test]
    fn a_book_survives_its_bytes() {
        let book = book();
        let site = Site::new("example.com");
        let (rules, window) = (book.encode_rules(), book.encode_site(&site).unwrap());
        let again = RuleBook::decode(Settings::default(), &rules, [&window[..]]).unwrap();
        assert_eq!(again.encode_rules(), rules);
        assert_eq!(again.encode_site(&site).unwrap(), window);
        let share = |book: &RuleBook| book.miner.window(&site).map(Window::duplicate_share);
        assert_eq!(share(&again), share(&book));
    }

    #[test]
    fn a_sample_of_before_is_read() {
        let (site, mut window) =
            decode_window(&book().encode_site(&Site::new("example.com")).unwrap()).unwrap();
        window.apart.clear();
        window.regroup();
        let now = encode_window(&site, &window);
        let mut before = now.clone();
        before.truncate(now.len() - size_of::<u32>());
        before[..MAGIC.len()].copy_from_slice(MAGIC_BEFORE);
        let (site, window) = decode_window(&before).unwrap();
        assert_eq!(encode_window(&site, &window), now);
    }

    #[test]
    fn damaged_bytes_are_refused_and_never_panic() {
        let book = book();
        let window = book.encode_site(&Site::new("example.com")).unwrap();
        for cut in 0..window.len() {
            assert!(decode_window(&window[..cut]).is_err(), "{cut}");
        }
        for at in 0..window.len() {
            let mut bytes = window.clone();
            bytes[at] ^= 0xff;
            let _ = decode_window(&bytes);
        }
        let RuleRows { head, sites } = book.encode_rules();
        let row = sites[0].1.as_deref().unwrap();
        let decoded = |head: &[u8], row: &[u8]| {
            let sites = vec![(Site::new("example.com"), Some(row.to_vec()))];
            let rows = RuleRows { head: head.to_vec(), sites };
            RuleBook::decode(Settings::default(), &rows, []).map(|_| ())
        };
        assert_eq!(decoded(&head, row), Ok(()));
        assert!(decoded(b"{}", row).is_err() && decoded(&head, b"{}").is_err());
        assert!(decoded(&head, &row[..row.len() - 1]).is_err());
        let moved = String::from_utf8(row.to_vec()).unwrap();
        let moved = moved.replacen("example.com", "example.org", 1);
        let why = decoded(&head, moved.as_bytes()).unwrap_err().to_string();
        assert!(why.contains("example.com, not example.org"), "{why}");
    }

    #[test]
    fn rules_kept_by_another_version_are_refused_by_their_format() {
        let head = br#"{"format":1,"entries":[{"proven":[1,2]}]}"#.to_vec();
        let kept = RuleRows { head, sites: Vec::new() };
        let refused = RuleBook::decode(Settings::default(), &kept, []).map(|_| ());
        let why = format!("format 1, where {ROWS_FORMAT} is known");
        assert_eq!(refused, Err(DecodeError::Rules(why)));
    }
}
