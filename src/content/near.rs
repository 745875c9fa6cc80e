//! Near-duplicates among millions of pages: an index of sketches by bands.
//!
//! A [`WideSketch`] is cut into bands of a few bins; two texts are candidates if they agree in all
//! bins of at least one band, and a pair if their whole sketches then estimate enough resemblance
//! (locality-sensitive hashing [Indyk, Motwani 1998]). With `b` bands of `r` bins a pair of
//! resemblance `s` becomes a candidate with chance `1 - (1 - s^r)^b`:
//!
//! | bands x bins | 0.5 | 0.6 | 0.7 | 0.8 | 0.9 |
//! |---|---|---|---|---|---|
//! | 16 x 6 | 0.22 | 0.53 | 0.87 | 0.992 | 1.000 |
//! | 25 x 5 | 0.55 | 0.87 | 0.990 | 1.000 | 1.000 |
//! | 16 x 4 (default) | 0.65 | 0.89 | 0.988 | 1.000 | 1.000 |
//! | 32 x 4 | 0.87 | 0.99 | 1.000 | 1.000 | 1.000 |
//!
//! What a page costs is its bands: each is a row to write and a place to look. So the default has
//! the fewest that still find 0.99 of what resembles by 0.7. Its four bins are 32 bits: at 100
//! million pages an unrelated page turns up as a candidate once in three look-ups, which is one
//! sketch to read and refuse; five bins would make that once in 400, for nine rows more. On two
//! versions of real documentation (`tests/bench/versions.rs`; figures in `tests/MEASUREMENTS.md`)
//! the index found every page of which at least 95 % of the words were unchanged, eleven in twelve
//! of those with at least 90 %, and no pair of which less than half was.
//!
//! **Plan for 100 million pages.** In a sorted key-value store: key = band and bins 8 bytes, page
//! u64 (16 bytes, no value); under its id the URL's fingerprint and the sketch of a page (9 + 16 +
//! 128 bytes). A page costs 16 x 16 + 153 = 409 bytes: 41 GB, of which prefix compression saves
//! about a quarter (the keys of a band are dense: neighbours share three of their bytes), while the
//! 13 GB of sketches do not compress. At 1,000 pages a second that is 0.4 MB/s of new data, 4 MB/s
//! with a write amplification of ten. Look-ups would be 16 prefix seeks a page, 16,000 a second,
//! more than one disk likes. So a large crawl only *puts* while it runs, and finds its pairs by one
//! walk in key order ([`pairs_in_key_order`]): candidates stand side by side, 26 GB are read in
//! sequence, and sketches only of those that share a key: of those that share it by chance some 37
//! million, half an hour of reading. Exact repeats are known by their digests and never enter.
//! Memory is the store's cache, whatever it is set to. Where near-duplicates must be known at once,
//! [`MemoryBands`] answers for the last `n` texts in some 270 bytes each.
//!
//! Both stores answer the same as long as no key has more pages than are looked at: of one key
//! [`MemoryBands`] has the newest four, the state's index the first eight in the order of their
//! ids. Of a cluster of more pages each so names another few; whichever they are, they are members.
//!
//! Pairs and clusters are different answers, as resemblance is not transitive: a chain of versions
//! is one cluster whose ends may have nothing in common. [`clusters`] therefore says of each how
//! unlike its least like members are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::WideSketch;
use super::shingle::mix;

/// The number by which the caller knows a page.
pub type PageId = u64;

/// Candidates looked at for each band: beyond so many of one key they are a cluster already.
const CANDIDATES_MAX: usize = 8;

/// Settings of the near-duplicate index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct NearSettings {
    /// Bands of a sketch; bands x bins is at most 128.
    pub bands: usize,
    /// Bins in a band, at most 7.
    pub bins: usize,
    /// Estimated resemblance from which two texts are near-duplicates.
    pub resemblance_min: f64,
}

impl Default for NearSettings {
    fn default() -> Self {
        NearSettings { bands: 16, bins: 4, resemblance_min: 0.7 }
    }
}

/// One band of a sketch: its number in the highest byte, then its bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BandKey(pub u64);

impl BandKey {
    /// Returns the 8 bytes whose order is that of the keys.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

/// Returns the band keys of a sketch.
pub fn band_keys(sketch: &WideSketch, settings: &NearSettings) -> Vec<BandKey> {
    let bins = settings.bins.clamp(1, 7);
    (0..settings.bands.min(128 / bins)).map(|band| band_key(sketch, band, bins)).collect()
}

fn band_key(sketch: &WideSketch, band: usize, bins: usize) -> BandKey {
    let bins = &sketch.bytes()[band * bins..(band + 1) * bins];
    let bins = bins.iter().fold(0u64, |key, bin| key << 8 | u64::from(*bin));
    BandKey((band as u64) << 56 | bins)
}

/// Two texts found to be alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The smaller id.
    pub a: PageId,
    /// The larger id.
    pub b: PageId,
    /// Estimated resemblance, with the error of [`super::Bins::standard_error`].
    pub resemblance: f64,
}

impl Pair {
    fn new(one: PageId, other: PageId, resemblance: f64) -> Pair {
        Pair { a: one.min(other), b: one.max(other), resemblance }
    }
}

/// Where bands and sketches are kept: in memory here, in the state database elsewhere.
pub trait BandStore {
    /// What can go wrong in the store.
    type Error;

    /// Stores a page under each of its keys, and its sketch.
    ///
    /// # Errors
    /// Those of the store.
    fn put(
        &mut self,
        page: PageId,
        sketch: &WideSketch,
        keys: &[BandKey],
    ) -> Result<(), Self::Error>;

    /// Appends to `out`, for each of `keys`, up to `limit` pages that were put under it, newest
    /// first if it can.
    ///
    /// # Errors
    /// Those of the store.
    fn get(&self, keys: &[BandKey], limit: usize, out: &mut Vec<PageId>)
    -> Result<(), Self::Error>;

    /// Returns the sketch of a page.
    ///
    /// # Errors
    /// Those of the store.
    fn sketch(&self, page: PageId) -> Result<Option<WideSketch>, Self::Error>;
}

/// The index: settings over a store.
#[derive(Debug)]
pub struct NearIndex<S> {
    settings: NearSettings,
    store: S,
}

impl<S: BandStore> NearIndex<S> {
    /// Returns an index over `store`.
    pub fn new(settings: NearSettings, store: S) -> Self {
        NearIndex { settings, store }
    }

    /// Returns the store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Returns the pages that are near-duplicates of `sketch`, most alike first.
    ///
    /// # Errors
    /// Those of the store.
    pub fn find(&self, sketch: &WideSketch) -> Result<Vec<(PageId, f64)>, S::Error> {
        let mut candidates = Vec::new();
        let keys = band_keys(sketch, &self.settings);
        self.store.get(&keys, CANDIDATES_MAX, &mut candidates)?;
        candidates.sort_unstable();
        candidates.dedup();
        let mut found = Vec::new();
        for page in candidates {
            let Some(other) = self.store.sketch(page)? else { continue };
            let resemblance = sketch.resemblance(&other);
            if resemblance >= self.settings.resemblance_min {
                found.push((page, resemblance));
            }
        }
        found.sort_by(|(p, x), (q, y)| y.total_cmp(x).then(p.cmp(q)));
        Ok(found)
    }

    /// Adds a page.
    ///
    /// # Errors
    /// Those of the store.
    pub fn add(&mut self, page: PageId, sketch: &WideSketch) -> Result<(), S::Error> {
        self.store.put(page, sketch, &band_keys(sketch, &self.settings))
    }

    /// Finds the near-duplicates of a page, then adds the page.
    ///
    /// # Errors
    /// Those of the store.
    pub fn insert(&mut self, page: PageId, sketch: &WideSketch) -> Result<Vec<Pair>, S::Error> {
        let found = self.find(sketch)?;
        self.add(page, sketch)?;
        let others = found.into_iter().filter(|(other, _)| *other != page);
        Ok(others.map(|(other, resemblance)| Pair::new(page, other, resemblance)).collect())
    }
}

/// Walks (key, page) in the order of keys, and returns the pairs that verify: the way to find all
/// near-duplicates of a stored crawl in one pass, without a look-up for each page.
///
/// Of a run of more than `CANDIDATES_MAX` pages under one key each is compared with the
/// `CANDIDATES_MAX` before it, which is enough to connect them all.
///
/// # Errors
/// Those of `sketch_of`.
pub fn pairs_in_key_order<E>(
    entries: impl IntoIterator<Item = (BandKey, PageId)>,
    resemblance_min: f64,
    mut sketch_of: impl FnMut(PageId) -> Result<Option<WideSketch>, E>,
) -> Result<Vec<Pair>, E> {
    let mut run: Vec<(PageId, Option<WideSketch>)> = Vec::new();
    let mut run_key = None;
    let mut pairs = BTreeMap::new();
    for (key, page) in entries {
        if run_key != Some(key) {
            run.clear();
            run_key = Some(key);
        }
        if run.is_empty() {
            // Most keys have one page only, and its sketch is not needed.
            run.push((page, None));
            continue;
        }
        if let (first, None) = run[0] {
            run[0] = (first, sketch_of(first)?);
        }
        let sketch = sketch_of(page)?;
        for (other, other_sketch) in run.iter().filter(|(other, _)| *other != page) {
            let both = sketch.as_ref().zip(other_sketch.as_ref());
            let resemblance = both.map_or(0.0, |(a, b)| a.resemblance(b));
            if resemblance >= resemblance_min {
                let pair = Pair::new(page, *other, resemblance);
                pairs.insert((pair.a, pair.b), pair);
            }
        }
        if run.len() == CANDIDATES_MAX {
            run.remove(0);
        }
        run.push((page, sketch));
    }
    Ok(pairs.into_values().collect())
}

/// A set of texts connected by resemblance.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The pages, ascending.
    pub members: Vec<PageId>,
    /// The least resemblance of two members: far below the threshold where the cluster is a chain.
    /// Of a large cluster, over the first [`DIAMETER_MEMBERS`] members only.
    pub least_resemblance: f64,
}

/// Members of a cluster among which every pair is compared.
pub const DIAMETER_MEMBERS: usize = 64;

/// Returns the clusters that `pairs` connect, largest first.
pub fn clusters(
    pairs: &[Pair],
    mut sketch_of: impl FnMut(PageId) -> Option<WideSketch>,
) -> Vec<Cluster> {
    let pages: BTreeSet<PageId> = pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect();
    let pages: Vec<PageId> = pages.into_iter().collect();
    let place = |page: PageId| pages.partition_point(|other| *other < page);
    let mut parents: Vec<usize> = (0..pages.len()).collect();
    for pair in pairs {
        let (a, b) = (root(&mut parents, place(pair.a)), root(&mut parents, place(pair.b)));
        // The smaller becomes the root, so the answer does not depend on the order of pairs.
        parents[a.max(b)] = a.min(b);
    }
    let mut members: BTreeMap<usize, Vec<PageId>> = BTreeMap::new();
    for (at, page) in pages.iter().enumerate() {
        members.entry(root(&mut parents, at)).or_default().push(*page);
    }
    let cluster = |members: Vec<PageId>| {
        let near = members.iter().take(DIAMETER_MEMBERS).filter_map(|page| sketch_of(*page));
        let least_resemblance = least_resemblance(&near.collect::<Vec<_>>());
        Cluster { members, least_resemblance }
    };
    let mut all: Vec<Cluster> = members.into_values().map(cluster).collect();
    all.sort_by_key(|cluster| (std::cmp::Reverse(cluster.members.len()), cluster.members[0]));
    all
}

fn root(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

fn least_resemblance(sketches: &[WideSketch]) -> f64 {
    let mut least = 1.0f64;
    for (at, one) in sketches.iter().enumerate() {
        for other in &sketches[at + 1..] {
            least = least.min(one.resemblance(other));
        }
    }
    least
}

/// The bands of the last `n` texts, in memory: a ring of sketches, and for each band a table whose
/// places hold the newest four pages. Older pages give way, so memory stays within its capacity:
/// with the default settings 270 to 400 bytes a page, least just under a power of two.
#[derive(Debug)]
pub struct MemoryBands {
    pages: Vec<(PageId, WideSketch)>,
    slots: HashMap<PageId, u32>,
    capacity: usize,
    newest: usize,
    tables: Vec<Vec<[u32; 4]>>,
    bins: usize,
    mask: u64,
}

const NOTHING: u32 = u32::MAX;

impl MemoryBands {
    /// Returns an empty store for `capacity` pages, which must be fewer than 2^32.
    pub fn new(capacity: usize, settings: &NearSettings) -> Self {
        let capacity = capacity.clamp(1, NOTHING as usize - 1);
        let places = (capacity / 4).next_power_of_two().max(16);
        let bins = settings.bins.clamp(1, 7);
        let bands = settings.bands.min(128 / bins);
        MemoryBands {
            pages: Vec::new(),
            slots: HashMap::new(),
            capacity,
            newest: 0,
            tables: vec![vec![[NOTHING; 4]; places]; bands],
            bins,
            mask: places as u64 - 1,
        }
    }

    /// Returns the number of pages held.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether no page is held.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Returns about how many bytes of memory are held.
    pub fn memory(&self) -> usize {
        let tables: usize = self.tables.iter().map(|table| 16 * table.capacity()).sum();
        tables
            + self.pages.capacity() * std::mem::size_of::<(PageId, WideSketch)>()
            + self.slots.capacity() * 20
    }

    fn place(&self, key: BandKey) -> (usize, usize) {
        ((key.0 >> 56) as usize, (mix(key.0) & self.mask) as usize)
    }

    fn next_slot(&mut self, page: PageId, sketch: &WideSketch) -> u32 {
        if self.pages.len() < self.capacity {
            self.newest = self.pages.len();
            self.pages.push((page, *sketch));
        } else {
            self.newest = (self.newest + 1) % self.capacity;
            let leaving = self.pages[self.newest].0;
            if self.slots.get(&leaving) == Some(&(self.newest as u32)) {
                self.slots.remove(&leaving);
            }
            self.pages[self.newest] = (page, *sketch);
        }
        self.slots.insert(page, self.newest as u32);
        self.newest as u32
    }
}

impl BandStore for MemoryBands {
    type Error = Infallible;

    fn put(
        &mut self,
        page: PageId,
        sketch: &WideSketch,
        keys: &[BandKey],
    ) -> Result<(), Infallible> {
        let slot = self.next_slot(page, sketch);
        for key in keys {
            let (band, place) = self.place(*key);
            if let Some(newest) = self.tables.get_mut(band).map(|table| &mut table[place]) {
                newest.rotate_right(1);
                newest[0] = slot;
            }
        }
        Ok(())
    }

    fn get(&self, keys: &[BandKey], limit: usize, out: &mut Vec<PageId>) -> Result<(), Infallible> {
        for key in keys {
            let (band, place) = self.place(*key);
            let Some(newest) = self.tables.get(band).map(|table| table[place]) else { continue };
            let held = newest.iter().filter_map(|slot| self.pages.get(*slot as usize));
            // A place is shared by many keys, and a slot may hold a later page: ask the sketch.
            let same = held.filter(|(_, sketch)| band_key(sketch, band, self.bins) == *key);
            out.extend(same.take(limit).map(|(page, _)| *page));
        }
        Ok(())
    }

    fn sketch(&self, page: PageId) -> Result<Option<WideSketch>, Infallible> {
        Ok(self.slots.get(&page).map(|slot| self.pages[*slot as usize].1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{shingles, sketch};

    /// A text of 200 words of which the last `changed` are its own.
    fn text(base: u64, own: u64, changed: u64) -> WideSketch {
        let word = |at: u64| mix(if at < 200 - changed { base << 32 | at } else { own << 40 | at });
        let words: Vec<String> = (0..200).map(|at| format!("{:x}", word(at))).collect();
        sketch(&shingles(&words.join(" "), 4)).unwrap().1
    }

    fn index(capacity: usize) -> NearIndex<MemoryBands> {
        let settings = NearSettings::default();
        NearIndex::new(settings.clone(), MemoryBands::new(capacity, &settings))
    }

    fn found(result: Result<Vec<(PageId, f64)>, Infallible>) -> Vec<PageId> {
        let Ok(found) = result;
        found.into_iter().map(|(page, _)| page).collect()
    }

    #[test]
    fn near_duplicates_are_found_among_strangers() {
        let mut index = index(2000);
        for n in 0..1000 {
            let Ok(pairs) = index.insert(n, &text(n, 0, 0));
            assert_eq!(pairs, []);
        }
        for n in 0..100 {
            assert_eq!(found(index.find(&text(n, 7, 5))), [n]);
        }
        assert!(found(index.find(&text(5000, 0, 0))).is_empty());
        let Ok(pairs) = index.insert(1000, &text(3, 9, 4));
        assert_eq!((pairs[0].a, pairs[0].b, pairs.len()), (3, 1000, 1));
        assert!(pairs[0].resemblance > 0.8);
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_give_way() {
        let mut index = index(500);
        for n in 0..5000 {
            let Ok(_) = index.insert(n, &text(n, 0, 0));
        }
        assert_eq!(index.store().len(), 500);
        assert!(index.store().memory() < 500 * 500, "{}", index.store().memory());
        assert!(found(index.find(&text(4, 0, 0))).is_empty());
        assert_eq!(found(index.find(&text(4990, 0, 0))), [4990]);
        let recent = (4500..5000).filter(|n| found(index.find(&text(*n, 0, 0))) == [*n]).count();
        assert_eq!(recent, 500);
    }

    #[test]
    fn a_walk_in_key_order_finds_what_look_ups_find() {
        let pages: Vec<WideSketch> = (0..300).map(|n| text(n % 100, n / 100, 3)).collect();
        let mut index = index(1000);
        let mut by_look_up: Vec<(PageId, PageId)> = Vec::new();
        let mut entries = Vec::new();
        for (page, sketch) in (0..).zip(&pages) {
            let Ok(pairs) = index.insert(page, sketch);
            by_look_up.extend(pairs.iter().map(|pair| (pair.a, pair.b)));
            let keys = band_keys(sketch, &NearSettings::default());
            entries.extend(keys.into_iter().map(|key| (key, page)));
        }
        entries.sort_unstable();
        by_look_up.sort_unstable();
        let sketch_of = |page: PageId| Ok::<_, Infallible>(Some(pages[page as usize]));
        let Ok(pairs) = pairs_in_key_order(entries, 0.7, sketch_of);
        let by_walk: Vec<(PageId, PageId)> = pairs.iter().map(|pair| (pair.a, pair.b)).collect();
        assert_eq!(by_walk, by_look_up);
        assert!(by_walk.len() > 250, "{}", by_walk.len());
        let clusters = clusters(&pairs, |page| Some(pages[page as usize]));
        assert_eq!((clusters.len(), clusters[0].members.len()), (100, 3));
    }

    #[test]
    fn a_chain_is_one_cluster_that_says_its_ends_differ() {
        // Each version changes 12 words of the one before.
        let chain: Vec<WideSketch> = (0..8).map(|n| text(1, 2, 12 * n)).collect();
        let resembles = |a: usize, b: usize| chain[a].resemblance(&chain[b]);
        let pairs: Vec<Pair> =
            (1..8).map(|n| Pair::new(n as u64, n as u64 - 1, resembles(n, n - 1))).collect();
        let clusters = clusters(&pairs, |page| Some(chain[page as usize]));
        assert_eq!(clusters.len(), 1);
        assert_eq!(clusters[0].members, (0..8).collect::<Vec<_>>());
        assert!(clusters[0].least_resemblance < 0.6, "{}", clusters[0].least_resemblance);
        assert!(pairs.iter().all(|pair| pair.resemblance > 0.7));
    }

    #[test]
    fn keys_sort_by_band_and_stay_within_the_sketch() {
        let settings = NearSettings { bands: 99, bins: 7, ..NearSettings::default() };
        let keys = band_keys(&text(1, 1, 0), &settings);
        assert_eq!(keys.len(), 18);
        assert!(keys.is_sorted() && keys.iter().map(|key| key.to_bytes()).is_sorted());
    }
}
