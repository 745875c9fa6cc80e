//! What a crawl has twice, read from its state: the same text, nearly the same, clusters of these,
//! hosts that repeat themselves, and hosts that repeat each other.
//!
//! Reads only, beside a running crawl too. Bounds: [`GROUPS_MAX`] groups of equal texts,
//! [`PAIRS_MAX`] pairs of nearly equal ones, and of the near-duplicate index some ten thousand
//! entries at a time. Where a bound cuts something off, the result says so.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::near::stored_sketch;
use crate::content::TextDigest;
use crate::content::host::HostContent;
use crate::content::mirror::{MirrorPage, MirrorPair, MirrorSettings, Mirrors};
use crate::content::near::{BandKey, NearSettings, Pair, clusters, pairs_in_key_order};
use crate::content::trap::Level;
use crate::db::families::content::{self as contents, Kind};
use crate::db::families::dust::{self as sites, Kind as SiteKind};
use crate::db::families::{hosts, names, urls};
use crate::db::{Db, DbError};
use crate::dns::History;
use crate::frontier::{HostStatus, UrlState};
use crate::url::{CrawlUrl, Host};

/// Groups of pages with the same text that are told apart; pages of further ones are only counted.
pub const GROUPS_MAX: usize = 1_000_000;

/// Pairs of nearly equal texts that are told apart, some 100 bytes each; further ones are left out,
/// and with them clusters that only they connect.
pub const PAIRS_MAX: usize = 1_000_000;

/// Entries of the near-duplicate index that are compared at a time. Each is compared with a few
/// beside it, so that memory is bounded by a multiple of this however many pages there are.
const ENTRIES_MAX: usize = 1 << 15;

/// URLs of a group or cluster that are named.
pub const NAMED_MAX: usize = 10;

/// Pages with one text.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Same {
    /// The URL that had it first.
    pub first: String,
    /// How many others have it.
    pub others: u64,
    /// Some of them.
    pub urls: Vec<String>,
}

/// Pages with the same text.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Exact {
    /// Pages whose text was known before.
    pub pages: u64,
    /// Groups, the largest first.
    pub groups: Vec<Same>,
    /// Pages of groups beyond [`GROUPS_MAX`].
    pub overflowed: u64,
}

/// Returns groups of pages with the same text, the largest first, at most `most`.
///
/// # Errors
/// Returns what the database says.
pub fn exact(db: &Db, most: usize) -> Result<Exact, DbError> {
    let mut groups: HashMap<u128, Same> = HashMap::new();
    let mut exact = Exact::default();
    urls::each(db, |_, record| {
        let UrlState::Done(done) = record.state else { return true };
        let Some(digest) = done.text_digest.filter(|_| done.content == "duplicate") else {
            return true;
        };
        exact.pages += 1;
        if groups.len() >= GROUPS_MAX && !groups.contains_key(&digest) {
            exact.overflowed += 1;
            return true;
        }
        let group = groups.entry(digest).or_default();
        group.others += 1;
        if group.urls.len() < NAMED_MAX {
            group.urls.push(record.url);
        }
        true
    })?;
    let mut groups: Vec<(u128, Same)> = groups.into_iter().collect();
    groups.sort_by_key(|(digest, group)| (std::cmp::Reverse(group.others), *digest));
    groups.truncate(most);
    for (digest, mut group) in groups {
        let first = contents::get(db, Kind::Text, digest)?;
        group.first = first.map(|first| first.target).unwrap_or_default();
        exact.groups.push(group);
    }
    Ok(exact)
}

/// Two pages with nearly the same text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NearPair {
    /// One.
    pub a: String,
    /// The other.
    pub b: String,
    /// Estimated resemblance of their texts.
    pub resemblance: f64,
}

/// Pages that nearly the same texts connect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NearCluster {
    /// How many pages.
    pub pages: usize,
    /// Some of them.
    pub urls: Vec<String>,
    /// The least resemblance of two of them: resemblance is not transitive, so it may be far below
    /// the threshold.
    pub least_resemblance: f64,
}

/// Nearly the same texts. Pairs and clusters are different answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Nearly {
    /// Pairs found.
    pub pairs_total: usize,
    /// True if there are more than [`PAIRS_MAX`]: the others are not in this answer, and clusters
    /// may be larger than they look.
    pub pairs_cut: bool,
    /// Pairs, the most alike first.
    pub pairs: Vec<NearPair>,
    /// Clusters found.
    pub clusters_total: usize,
    /// Clusters, the largest first.
    pub clusters: Vec<NearCluster>,
}

/// Finds the near-duplicates of a crawl by one walk through its index; at most `most` pairs and
/// clusters are named.
///
/// # Errors
/// Returns what the database says.
pub fn nearly(db: &Db, settings: &NearSettings, most: usize) -> Result<Nearly, DbError> {
    let (pairs, pairs_cut) = near_pairs(db, settings, PAIRS_MAX)?;
    let mut failed = None;
    let found = clusters(&pairs, |page| {
        stored_sketch(db, page).unwrap_or_else(|error| {
            failed = Some(error);
            None
        })
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let mut nearly = Nearly {
        pairs_total: pairs.len(),
        pairs_cut,
        clusters_total: found.len(),
        ..Nearly::default()
    };
    let mut sorted = pairs;
    sorted
        .sort_by(|x, y| y.resemblance.total_cmp(&x.resemblance).then((x.a, x.b).cmp(&(y.a, y.b))));
    for pair in sorted.into_iter().take(most) {
        let (a, b) = (url_of(db, pair.a)?, url_of(db, pair.b)?);
        nearly.pairs.push(NearPair { a, b, resemblance: pair.resemblance });
    }
    for cluster in found.into_iter().take(most) {
        let named = cluster.members.iter().take(NAMED_MAX);
        let urls: Result<Vec<String>, DbError> = named.map(|page| url_of(db, *page)).collect();
        let least_resemblance = cluster.least_resemblance;
        let pages = cluster.members.len();
        nearly.clusters.push(NearCluster { pages, urls: urls?, least_resemblance });
    }
    Ok(nearly)
}

/// Returns for every page that has a near-duplicate the cluster that it is in, named by its first
/// member. A page is the last half of the fingerprint of its URL; 16 bytes each.
///
/// # Errors
/// Returns what the database says.
pub fn cluster_of_pages(db: &Db, settings: &NearSettings) -> Result<HashMap<u64, u64>, DbError> {
    let (pairs, cut) = near_pairs(db, settings, PAIRS_MAX)?;
    if cut {
        tracing::warn!(pairs = PAIRS_MAX, "more pages are nearly alike than are told apart");
    }
    // The least resemblance is not asked for, so no sketch is looked up.
    let found = clusters(&pairs, |_| None);
    let pages = found.iter().flat_map(|cluster| {
        let name = cluster.members.first().copied().unwrap_or_default();
        cluster.members.iter().map(move |page| (*page, name))
    });
    Ok(pages.collect())
}

/// Returns the pairs of the index, at most `most`, and whether there are more.
fn near_pairs(db: &Db, settings: &NearSettings, most: usize) -> Result<(Vec<Pair>, bool), DbError> {
    let mut found = Found { pairs: BTreeMap::new(), most, cut: false };
    for band in 0..settings.bands.min(128 / settings.bins.clamp(1, 7)) as u64 {
        let mut entries: Vec<(BandKey, u64)> = Vec::new();
        let mut failed = None;
        contents::each_band(db, band << 56, band << 56 | ((1 << 56) - 1), |key, page| {
            if entries.len() >= ENTRIES_MAX {
                // The last one goes into the next part too: pages of one key stay connected.
                let last = entries.last().copied();
                failed = found.compare(db, settings, std::mem::take(&mut entries)).err();
                entries.extend(last);
            }
            entries.push((BandKey(key), page));
            failed.is_none() && !found.cut
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        found.compare(db, settings, entries)?;
    }
    Ok((found.pairs.into_values().collect(), found.cut))
}

/// Pairs as they are found.
struct Found {
    pairs: BTreeMap<(u64, u64), Pair>,
    most: usize,
    cut: bool,
}

impl Found {
    fn compare(
        &mut self,
        db: &Db,
        settings: &NearSettings,
        entries: Vec<(BandKey, u64)>,
    ) -> Result<(), DbError> {
        let sketch_of = |page| stored_sketch(db, page);
        for pair in pairs_in_key_order(entries, settings.resemblance_min, sketch_of)? {
            let key = (pair.a, pair.b);
            if self.pairs.len() < self.most {
                self.pairs.insert(key, pair);
            } else {
                // A pair is found in several bands; only one that is not known yet is one too many.
                self.cut |= !self.pairs.contains_key(&key);
            }
        }
        Ok(())
    }
}

fn url_of(db: &Db, page: u64) -> Result<String, DbError> {
    let Some((fingerprint, _)) = contents::sketch(db, page)? else { return Ok(String::new()) };
    Ok(urls::get(db, fingerprint)?.map(|record| record.url).unwrap_or_default())
}

/// How much of what a host shows is new.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostRow {
    /// Its name.
    pub host: String,
    /// Answers.
    pub pages: u64,
    /// Pages whose text was known before.
    pub duplicates: u64,
    /// Share of new text over about the last 64 pages.
    pub new_lately: f64,
    /// The worst level of the host and its parts.
    pub level: Level,
    /// Requests for what cannot exist that were answered.
    pub probes: u32,
    /// Why it is parked, if it is.
    pub parked: Option<String>,
}

/// Returns the hosts with most repeats, at most `most`.
///
/// # Errors
/// Returns what the database says.
pub fn by_host(db: &Db, most: usize) -> Result<Vec<HostRow>, DbError> {
    let mut contents: HashMap<String, HostContent> = HashMap::new();
    sites::each(db, SiteKind::Errors, |name, bytes| {
        contents.extend(HostContent::decode(bytes).map(|content| (name.to_owned(), content)));
    })?;
    let mut rows = Vec::new();
    hosts::each(db, |record| {
        let content = contents.remove(record.name.as_str()).unwrap_or_default();
        let parked = match record.status {
            HostStatus::Parked { reason, .. } => Some(reason),
            HostStatus::Open | HostStatus::GivenUp { .. } => None,
        };
        rows.push(HostRow {
            host: record.name.to_string(),
            pages: record.done,
            duplicates: record.duplicates,
            new_lately: content.trap().share_of_new_text(),
            level: content.trap().worst(),
            probes: content.errors().probes(),
            parked,
        });
        true
    })?;
    rows.sort_by_key(|row| {
        (std::cmp::Reverse(row.level), std::cmp::Reverse(row.duplicates), row.host.clone())
    });
    rows.truncate(most);
    Ok(rows)
}

/// Returns hosts that have the same texts under the same paths, at most `most`.
///
/// # Errors
/// Returns what the database says.
pub fn mirrors(
    db: &Db,
    settings: &MirrorSettings,
    most: usize,
) -> Result<Vec<MirrorPair>, DbError> {
    let (mut mirrors, mut failed) = (Mirrors::default(), None);
    let mut addresses: HashMap<Host, Option<String>> = HashMap::new();
    urls::each(db, |_, record| {
        if let UrlState::Done(done) = record.state
            && let Some(digest) = done.text_digest
            && let Ok(url) = CrawlUrl::parse(&record.url)
        {
            let host = url.host();
            if addresses.len() < settings.hosts_max && !addresses.contains_key(&host) {
                match address_of(db, &host) {
                    Ok(address) => drop(addresses.insert(host.clone(), address)),
                    Err(error) => failed = Some(error),
                }
            }
            let origin = url.origin().to_string();
            let text = TextDigest::from_bytes(digest.to_be_bytes());
            let target = url.path_and_query();
            let address = addresses.get(&host).and_then(Option::as_deref);
            mirrors.note(&MirrorPage { origin: &origin, target, text, address }, settings);
        }
        failed.is_none()
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    let mut pairs = mirrors.report(settings);
    pairs.truncate(most);
    Ok(pairs)
}

/// Returns the address that a host had last: a number is its own.
fn address_of(db: &Db, host: &Host) -> Result<Option<String>, DbError> {
    if let Some(address) = host.ip() {
        return Ok(Some(address.to_string()));
    }
    let stored = names::get(db, host.as_str())?;
    let history = stored.and_then(|bytes| History::decode(&bytes).ok());
    let last = history.as_ref().and_then(|history| history.intervals().last());
    Ok(last.and_then(|interval| interval.addresses.first()).map(ToString::to_string))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::WideSketch;
    use crate::crawl::near;
    use crate::db::{Batch, MemoryEnv};
    use crate::url::Fingerprint;

    /// A state with `pages` pages of nearly one text.
    fn alike(pages: u32) -> Db {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory("/state".as_ref(), &Default::default(), &env).unwrap();
        let mut batch = Batch::default();
        for page in 0..pages {
            let mut bytes = [7; 128];
            bytes[127] = page as u8;
            let sketch = WideSketch::from_bytes(bytes);
            let url = Fingerprint::of(&format!("http://a.test/{page}"));
            near::put(&db, &mut batch, &Default::default(), url, &sketch).unwrap();
        }
        db.commit(batch).unwrap();
        db
    }

    #[test]
    fn pairs_beyond_the_bound_are_left_out_and_that_is_said() {
        let db = alike(9);
        let (all, cut) = near_pairs(&db, &Default::default(), 36).unwrap();
        assert_eq!((all.len(), cut), (36, false), "each with each");
        let (some, cut) = near_pairs(&db, &Default::default(), 35).unwrap();
        assert_eq!((some.len(), cut), (35, true));
        let nearly = nearly(&db, &Default::default(), 3).unwrap();
        assert_eq!((nearly.pairs_total, nearly.pairs_cut), (36, false));
        assert_eq!((nearly.pairs.len(), nearly.clusters.len()), (3, 1));
    }

    #[test]
    fn more_pages_of_one_text_than_are_compared_at_once_are_one_cluster() {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory("/state".as_ref(), &Default::default(), &env).unwrap();
        let mut batch = Batch::default();
        let pages = ENTRIES_MAX as u32 + 10;
        for page in 0..pages {
            let url = Fingerprint::of(&format!("http://a.test/{page}"));
            contents::put_band(&mut batch, &db, 1, near::page_id(url));
            contents::put_sketch(&mut batch, &db, near::page_id(url), url, &[7; 128]);
        }
        db.commit(batch).unwrap();
        let settings = NearSettings { bands: 1, ..NearSettings::default() };
        let (pairs, cut) = near_pairs(&db, &settings, usize::MAX).unwrap();
        assert!(!cut);
        let found = clusters(&pairs, |_| None);
        assert_eq!(found.iter().map(|c| c.members.len()).collect::<Vec<_>>(), [pages as usize]);
    }
}
