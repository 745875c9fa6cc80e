//! What repeats on a site: the windows of words found on many of its pages, which are therefore not
//! the text of any of them.
//!
//! A [`SiteModel`] watches the first pages of a site, counts on how many of them each window of
//! words occurs (numbers masked, so that counters and dates repeat too), and publishes the windows
//! above a share of pages as a [`Boilerplate`], which visits share. It publishes again each time
//! its sample has doubled, then rests, and takes a new sample when the site has grown much: designs
//! change.
//!
//! On a site full of duplicates their text must not be taken for a template, or it vanishes as
//! evidence. So an exact copy of a page in the sample is not counted, and a window that is on some
//! pages only counts where it stands beside other text: pages of which most is known already, such
//! as copies with another date, bear no witness. Only what [`EVERYWHERE`] of the pages have needs
//! none.
//!
//! Bounded: a sample keeps at most [`Settings::sample_windows_max`] counts (9 bytes each, and as
//! much for each window of the page that brought most; rare windows make room for frequent ones, as
//! in lossy counting [Manku, Motwani 2002]), a published model at most as many windows of 4 bytes
//! and some bits. Not learning, a site costs the published windows only.

use std::sync::Arc;

use super::{Analysis, Settings};

/// The windows of words that are a site's and not a page's: an immutable snapshot.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Boilerplate {
    version: u32,
    learning: bool,
    windows: Vec<u32>,
    /// A bit for each window's low bits: most windows of a page are told to be unknown by this.
    filter: Vec<u64>,
}

impl Boilerplate {
    fn new(version: u32, learning: bool, windows: Vec<u32>) -> Self {
        let bits = (windows.len() * FILTER_BITS).next_power_of_two().max(64);
        let mut filter = vec![0; bits / 64];
        for window in &windows {
            let bit = *window as usize % bits;
            filter[bit / 64] |= 1 << (bit % 64);
        }
        Boilerplate { version, learning, windows, filter }
    }

    /// Returns the number of this snapshot; 0 before the first. Sketches taken under different
    /// versions of a site's model compare too low, never too high.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Whether anything is known.
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Returns the number of windows known.
    pub fn len(&self) -> usize {
        self.windows.len()
    }

    /// Whether the model wants the windows of pages, for its sample.
    pub(super) fn is_learning(&self) -> bool {
        self.learning
    }

    pub(super) fn holds(&self, window: u32) -> bool {
        let bit = window as usize % (self.filter.len() * 64).max(1);
        let maybe = self.filter.get(bit / 64).is_some_and(|bits| bits >> (bit % 64) & 1 == 1);
        maybe && self.windows.binary_search(&window).is_ok()
    }
}

/// Bits of the filter for each window: one unknown window in ten passes it.
const FILTER_BITS: usize = 8;

/// What is known of one site, and the sample it is learned from.
#[derive(Debug, PartialEq, Eq)]
pub struct SiteModel {
    /// Pages seen of the site, in the sample or not.
    pages: u64,
    /// The next sample begins when `pages` reaches this.
    next_sample_at: u64,
    sample: Option<Sample>,
    published: Arc<Boilerplate>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Sample {
    pages: u32,
    publish_at: u32,
    /// The main texts that are in the sample, sorted.
    texts: Vec<u64>,
    counts: Counts,
}

/// Windows, and on how many pages of a sample each was: a table in three columns. A window is a
/// hash, so its value says about where it stands, and the windows of a page, which are sorted, are
/// looked for from one end of the table to the other.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    windows: Vec<u32>,
    /// Pages that each was on, up to [`SAMPLE_PAGES_MAX`]; 0 where the place is free.
    pages: Vec<u8>,
    /// Of these, pages that had other text besides.
    witnesses: Vec<u8>,
    /// Places that are taken: four in five at most.
    len: usize,
}

/// Places looked at for a window, of which three are enough on the average. Only windows that were
/// made to crowd come to so many, and those that find no place are not counted.
const PLACES_MAX: usize = 1024;

/// Most pages of a sample, as its counts are of one byte.
pub const SAMPLE_PAGES_MAX: u32 = u8::MAX as u32;

/// A window on this share of the pages belongs to the site, whatever stands beside it.
const EVERYWHERE: f64 = 0.3;
/// A page bears witness if at least this share of its windows is its own.
const OWN_SHARE: f64 = 0.34;

/// Whether there is memory for the sample of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// As much as a sample may take.
    Ample,
    /// Other sites wait for it: a sample ends when it can tell what is on a quarter of the pages.
    Short,
    /// None: no sample begins.
    Full,
}

impl Default for SiteModel {
    fn default() -> Self {
        let published = Boilerplate::new(0, true, Vec::new());
        SiteModel {
            pages: 0,
            next_sample_at: 0,
            sample: Some(Sample::default()),
            published: Arc::new(published),
        }
    }
}

impl SiteModel {
    /// Returns the present snapshot: one for each page, before it is analysed.
    pub fn boilerplate(&self) -> Arc<Boilerplate> {
        Arc::clone(&self.published)
    }

    /// Returns the pages seen.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Returns about how many bytes of memory the model holds.
    pub fn memory(&self) -> usize {
        let sample = self.sample.as_ref();
        let sample = sample.map_or(0, |kept| kept.counts.memory() + 8 * kept.texts.capacity());
        std::mem::size_of::<Self>() + sample + 6 * self.published.windows.capacity()
    }

    /// Whether a sample is being taken.
    pub fn is_sampling(&self) -> bool {
        self.sample.is_some()
    }

    /// Whether the next page should begin a sample.
    pub fn is_due(&self) -> bool {
        self.sample.is_none() && self.pages >= self.next_sample_at
    }

    /// Lets go of a sample, to begin a new one when there is room; what was published stays.
    pub fn rest(mut self) -> Self {
        if self.sample.take().is_some() {
            self.next_sample_at = self.pages;
            let Boilerplate { version, windows, .. } = &*self.published;
            self.published = Arc::new(Boilerplate::new(*version, false, windows.clone()));
        }
        self
    }

    /// Takes note of a page of the site; returns whether a new snapshot was published.
    pub fn observe(&mut self, page: &Analysis, settings: &Settings, room: Room) -> bool {
        self.pages += 1;
        if room != Room::Full && self.is_due() {
            self.sample = Some(Sample::default());
            self.publish(self.published.windows.clone());
            return true;
        }
        let Some(sample) = &mut self.sample else { return false };
        if !sample.take(page, settings) {
            return false;
        }
        let most = settings.sample_pages_max.min(SAMPLE_PAGES_MAX);
        if sample.pages < sample.publish_at.max(settings.sample_pages_min).min(most) {
            return false;
        }
        sample.publish_at = sample.pages * 2;
        let windows = sample.frequent(settings);
        let enough = match room {
            Room::Ample => most,
            Room::Short | Room::Full => most.min(2 * settings.sample_pages_min),
        };
        if sample.pages >= enough {
            self.sample = None;
            self.next_sample_at = self.pages.saturating_mul(RESAMPLE_GROWTH);
        }
        self.publish(windows);
        true
    }

    fn publish(&mut self, windows: Vec<u32>) {
        let version = self.published.version + 1;
        self.published = Arc::new(Boilerplate::new(version, self.sample.is_some(), windows));
    }
}

/// A new sample is taken when the site has grown by this factor: at 200, 3,200, 51,200 pages.
const RESAMPLE_GROWTH: u64 = 16;

impl Sample {
    /// Counts the windows of `page`, unless it brought none or its text is in the sample already.
    fn take(&mut self, page: &Analysis, settings: &Settings) -> bool {
        let Some(windows) = &page.windows else { return false };
        let text = page.text_digest.short();
        let Err(place) = self.texts.binary_search(&text) else { return false };
        self.texts.insert(place, text);
        self.pages += 1;
        self.add(windows, settings);
        self.counts.keep_most_frequent(settings.sample_windows_max);
        true
    }

    /// Adds a page's windows, sorted and without repeats, to the counts. The page bears witness if
    /// enough of it is not known from other pages.
    fn add(&mut self, windows: &[u32], settings: &Settings) {
        // Well below the share that makes boilerplate, or copies on just that share would pass.
        let usual = (0.4 * settings.boilerplate_share * f64::from(self.pages)).max(2.0);
        self.counts.make_room(windows.len());
        let mut places = Vec::with_capacity(windows.len());
        let mut known = 0;
        for window in windows {
            let Some(at) = self.counts.place_of(*window) else { continue };
            known += usize::from(f64::from(self.counts.pages[at]) >= usual);
            self.counts.add(*window, at);
            places.push(at);
        }
        if (windows.len() - known) as f64 >= OWN_SHARE * windows.len() as f64 {
            self.counts.add_witness(&places);
        }
    }

    fn frequent(&self, settings: &Settings) -> Vec<u32> {
        let pages = f64::from(self.pages);
        let least = f64::from(settings.boilerplate_pages_min);
        let some = least.max(settings.boilerplate_share * pages);
        let most = least.max(EVERYWHERE * pages);
        let frequent = self.counts.iter().filter(|(_, pages, witnesses)| {
            f64::from(*witnesses) >= some || f64::from(*pages) >= most
        });
        let mut windows: Vec<u32> = frequent.map(|(window, ..)| window).collect();
        windows.sort_unstable();
        windows
    }
}

impl Counts {
    fn with_places(places: usize) -> Counts {
        let column = || vec![0; places];
        Counts { windows: vec![0; places], pages: column(), witnesses: column(), len: 0 }
    }

    /// Returns where a window stands, or the free place that it would take; `None` where there is
    /// neither.
    fn place_of(&self, window: u32) -> Option<usize> {
        let places = self.windows.len();
        let mut at = ((u64::from(window) * places as u64) >> 32) as usize;
        for _ in 0..places.min(PLACES_MAX) {
            if self.pages[at] == 0 || self.windows[at] == window {
                return Some(at);
            }
            at = if at + 1 == places { 0 } else { at + 1 };
        }
        None
    }

    /// Counts one page more for a window in its place.
    fn add(&mut self, window: u32, at: usize) {
        self.len += usize::from(self.pages[at] == 0);
        self.windows[at] = window;
        self.pages[at] = self.pages[at].saturating_add(1);
    }

    /// Has one page more bear witness for what stands in these places.
    fn add_witness(&mut self, places: &[usize]) {
        for at in places {
            self.witnesses[*at] = self.witnesses[*at].saturating_add(1);
        }
    }

    /// Makes places for so many windows more, without twice as many as it takes: there are many
    /// samples, and a page brings less and less that is new.
    fn make_room(&mut self, more: usize) {
        let len = self.len + more;
        if 4 * self.windows.len() < 5 * len {
            let old = std::mem::replace(self, Counts::with_places((len * 3).div_ceil(2)));
            old.iter().for_each(|count| self.put(count));
        }
    }

    /// Takes in a window that is not there, with its pages and those of them that bear witness.
    fn put(&mut self, (window, pages, witnesses): (u32, u8, u8)) {
        let Some(at) = self.place_of(window) else { return };
        self.add(window, at);
        self.pages[at] = pages;
        self.witnesses[at] = witnesses;
    }

    /// Leaves out the rarest until there are no more than `most`.
    fn keep_most_frequent(&mut self, most: usize) {
        if self.len <= most {
            return;
        }
        let mut floor = 1;
        let mut kept: Vec<(u32, u8, u8)> = self.iter().filter(|count| count.1 > floor).collect();
        while kept.len() > most {
            floor += 1;
            kept.retain(|count| count.1 > floor);
        }
        self.pages.fill(0);
        self.witnesses.fill(0);
        self.len = 0;
        kept.into_iter().for_each(|count| self.put(count));
    }

    /// Returns the windows, each with its pages and those of them that bear witness.
    fn iter(&self) -> impl Iterator<Item = (u32, u8, u8)> {
        let counts = self.windows.iter().zip(self.pages.iter().zip(&self.witnesses));
        let counts = counts.map(|(window, (pages, witnesses))| (*window, *pages, *witnesses));
        counts.filter(|(_, pages, _)| *pages > 0)
    }

    fn memory(&self) -> usize {
        4 * self.windows.capacity() + self.pages.capacity() + self.witnesses.capacity()
    }
}

/// First byte of an encoded model; another layout gets another.
const LAYOUT: u8 = 2;

impl SiteModel {
    /// Encodes the model for storage: layout u8, then numbers little-endian (see the source). A
    /// sample in progress is not kept, as it is many times as large: it begins anew.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![LAYOUT];
        out.extend(self.pages.to_le_bytes());
        out.extend(self.next_sample_at.to_le_bytes());
        out.extend(self.published.version.to_le_bytes());
        out.push(u8::from(self.published.learning));
        put_len(&mut out, self.published.windows.len());
        self.published.windows.iter().for_each(|window| out.extend(window.to_le_bytes()));
        out
    }

    /// Decodes what [`SiteModel::encode`] wrote; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<SiteModel> {
        let mut read = Reader(bytes);
        (read.u8()? == LAYOUT).then_some(())?;
        let (pages, next_sample_at) = (read.u64()?, read.u64()?);
        let (version, learning) = (read.u32()?, read.u8()? != 0);
        let windows = read.list(4, Reader::u32)?;
        (read.0.is_empty() && windows.is_sorted()).then_some(())?;
        let sample = learning.then(Sample::default);
        let published = Arc::new(Boilerplate::new(version, learning, windows));
        Some(SiteModel { pages, next_sample_at, sample, published })
    }
}

fn put_len(out: &mut Vec<u8>, len: usize) {
    out.extend(u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes());
}

/// Reads numbers off the front of a slice; `None` when it is too short.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// Reads a length and that many items of `size` bytes, never reserving more than is there.
    pub(super) fn list<T>(
        &mut self,
        size: usize,
        mut item: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let len = self.u32()? as usize;
        (self.0.len() / size >= len).then_some(())?;
        // Collected into an option, it would not know its length, and take up to twice the memory.
        let mut list = Vec::with_capacity(len);
        for _ in 0..len {
            list.push(item(self)?);
        }
        Some(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{Block, Content, Page};

    fn page(blocks: &[&str]) -> Vec<Block<'static>> {
        let leak = |text: &&str| Block::paragraph(String::leak(text.to_string()));
        blocks.iter().map(leak).collect()
    }

    fn article(n: u32) -> String {
        (0..60).map(|at| format!("word{} ", n * 1000 + at)).collect()
    }

    const MENU: &str = "Home of the best widgets, our products and services since nineteen ninety";
    const COUNTER: &str = "You are visitor number NNN of this page, thank you for coming by again";

    fn feed(model: &mut SiteModel, content: &mut Content, article: &str, n: u32) -> Analysis {
        let counter = COUNTER.replace("NNN", &(n * 37).to_string());
        let blocks = page(&[MENU, article, &counter]);
        let page = Page { blocks: &blocks, ..Page::default() };
        let analysis = content.analyse(&page, &model.boilerplate());
        model.observe(&analysis, &Settings::default(), Room::Ample);
        analysis
    }

    fn taught(pages: u32) -> (SiteModel, Content) {
        let (mut model, mut content) = (SiteModel::default(), Content::new(Settings::default()));
        for n in 0..pages {
            feed(&mut model, &mut content, &article(n), n);
        }
        (model, content)
    }

    #[test]
    fn counts_are_those_of_a_table_kept_the_plain_way() {
        use crate::content::shingle::mix;
        // Every fourth page or so is one too many for the windows that are on no other.
        let settings = Settings { sample_windows_max: 500, ..Settings::default() };
        let (mut sample, mut plain) = (Sample::default(), std::collections::BTreeMap::new());
        for page in 0..40u64 {
            let common = (0..60).map(|n| mix(mix(page * 60 + n) % 200) as u32);
            let own = (0..100).map(|n| mix(page * 100 + n + 1_000_000) as u32);
            let windows: std::collections::BTreeSet<u32> =
                common.chain(own).chain([7, u32::MAX]).collect();
            let windows: Vec<u32> = windows.into_iter().collect();
            sample.pages += 1;
            let usual = (0.4 * settings.boilerplate_share * f64::from(sample.pages)).max(2.0);
            let is_usual =
                |window: &&u32| plain.get(*window).is_some_and(|(p, _)| f64::from(*p) >= usual);
            let own = windows.len() - windows.iter().filter(is_usual).count();
            let witness = own as f64 >= OWN_SHARE * windows.len() as f64;
            for window in &windows {
                let (pages, witnesses): &mut (u8, u8) = plain.entry(*window).or_default();
                *pages += 1;
                *witnesses += u8::from(witness);
            }
            sample.add(&windows, &settings);
            sample.counts.keep_most_frequent(settings.sample_windows_max);
            for floor in 1..u8::MAX {
                if plain.len() > settings.sample_windows_max {
                    plain.retain(|_, (pages, _)| *pages > floor);
                }
            }
            let mut counts: Vec<(u32, u8, u8)> = sample.counts.iter().collect();
            counts.sort_unstable();
            assert!(counts.into_iter().eq(plain.iter().map(|(w, (p, n))| (*w, *p, *n))));
            assert_eq!(sample.counts.len, plain.len());
        }
    }

    #[test]
    fn windows_that_crowd_cost_a_bounded_search() {
        let mut sample = Sample::default();
        // All of them belong into one place of the table.
        let crowd: Vec<u32> = (0..8192).collect();
        for _ in 0..3 {
            sample.pages += 1;
            sample.add(&crowd, &Settings::default());
            assert_eq!(sample.counts.len, sample.counts.iter().count());
            assert_eq!(sample.counts.len, PLACES_MAX);
        }
    }

    #[test]
    fn what_repeats_on_the_site_is_no_longer_text_of_its_pages() {
        let (mut model, mut content) = taught(1);
        let before = feed(&mut model, &mut content, &article(500), 500);
        assert!(before.words > 60 + 10);
        let (mut model, mut content) = taught(40);
        let after = feed(&mut model, &mut content, &article(500), 500);
        assert_eq!(after.words, 60);
        assert!(after.model_version > 0);
    }

    #[test]
    fn a_page_that_is_all_boilerplate_is_thin() {
        let (mut model, mut content) = taught(40);
        let empty = feed(&mut model, &mut content, "", 900);
        assert!(empty.thin);
        assert_eq!(empty.sketch, None);
    }

    #[test]
    fn a_text_under_many_addresses_is_not_mistaken_for_a_template() {
        let (mut model, mut content) = (SiteModel::default(), Content::new(Settings::default()));
        let blocks = |n: u32| page(&[MENU, &article(n)]);
        for n in 0..200 {
            // Every second address shows the same article.
            let blocks = blocks(if n % 2 == 0 { 0 } else { n });
            let page = Page { blocks: &blocks, ..Page::default() };
            let analysis = content.analyse(&page, &model.boilerplate());
            model.observe(&analysis, &Settings::default(), Room::Ample);
        }
        let blocks = blocks(0);
        let again =
            content.analyse(&Page { blocks: &blocks, ..Page::default() }, &model.boilerplate());
        assert_eq!(again.words, 60);
    }

    #[test]
    fn near_copies_of_a_few_texts_are_not_mistaken_for_a_template() {
        let (mut model, mut content) = (SiteModel::default(), Content::new(Settings::default()));
        let blocks = |n: u32| {
            // Ten articles, each under many addresses, with another word in their midst every time.
            let changed = article(n % 10).replacen("word", &format!("other{n} word"), 30);
            page(&[MENU, &changed.replacen(&format!("other{n} "), "", 29)])
        };
        let mut last = None;
        for n in 0..200 {
            let blocks = blocks(n);
            let page = Page { blocks: &blocks, ..Page::default() };
            let analysis = content.analyse(&page, &model.boilerplate());
            model.observe(&analysis, &Settings::default(), Room::Ample);
            last = Some(analysis);
        }
        assert!(model.boilerplate().len() > 5, "the menu is known");
        assert_eq!(last.unwrap().words, 61);
    }

    #[test]
    fn a_model_survives_its_encoding_and_nothing_else_is_taken_for_one() {
        for pages in [0, 10, 30, 250] {
            let (model, _) = taught(pages);
            let bytes = model.encode();
            let again = SiteModel::decode(&bytes).unwrap();
            assert_eq!(again.boilerplate(), model.boilerplate());
            assert_eq!((again.pages(), again.is_sampling()), (model.pages(), model.is_sampling()));
            assert_eq!(SiteModel::decode(&again.encode()), Some(again));
            for cut in [0, 1, 8, bytes.len() - 1] {
                assert_eq!(SiteModel::decode(&bytes[..cut]), None);
            }
        }
        assert_eq!(SiteModel::decode(&[9; 64]), None);
        assert_eq!(SiteModel::decode(&[1; 64]), None);
    }

    #[test]
    fn a_sample_that_others_wait_for_ends_early_and_one_that_rests_begins_anew() {
        let settings = Settings::default();
        let (mut model, mut content) =
            (SiteModel::default().rest(), Content::new(settings.clone()));
        let mut teach = |model: &mut SiteModel, pages: std::ops::Range<u32>, room| {
            for n in pages {
                let blocks = page(&[MENU, &article(n)]);
                let page = Page { blocks: &blocks, ..Page::default() };
                let analysis = content.analyse(&page, &model.boilerplate());
                model.observe(&analysis, &settings, room);
            }
        };
        teach(&mut model, 0..50, Room::Full);
        assert!(model.is_due() && model.boilerplate().is_empty());
        teach(&mut model, 50..60, Room::Ample);
        assert!(model.is_sampling());
        model = model.rest();
        assert!(!model.is_sampling() && model.is_due());
        teach(&mut model, 60..84, Room::Short);
        assert!(model.is_sampling());
        teach(&mut model, 84..85, Room::Short);
        assert!(!model.is_sampling() && !model.is_due());
        assert!(!model.boilerplate().is_empty());
    }

    #[test]
    fn memory_of_a_sample_is_bounded() {
        let settings = Settings { sample_windows_max: 500, ..Settings::default() };
        let (mut model, mut content) = (SiteModel::default(), Content::new(settings.clone()));
        for n in 0..100 {
            let blocks = page(&[MENU, &article(n)]);
            let page = Page { blocks: &blocks, ..Page::default() };
            let analysis = content.analyse(&page, &model.boilerplate());
            model.observe(&analysis, &settings, Room::Ample);
            assert!(model.memory() < 500 * 8 + 2 * 100 * 8 + 6 * 500 + 1000);
        }
        assert!(!model.boilerplate().is_empty(), "the frequent windows outlive the rare");
    }
}
