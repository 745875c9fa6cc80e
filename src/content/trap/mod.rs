//! Traps: hosts, or parts of hosts, that make addresses for ever and text never.
//!
//! Each page of a host brings new text or does not. A [`HostTrap`] adds up the evidence as a
//! cumulative sum of log-likelihood ratios [Page 1954], of "one page in ten is new" against "every
//! second is": a page of new text takes 1.61 off, a repeat adds 0.59, and the sum never falls below
//! zero. So a host is judged by its present, however long its good past, and one where at least
//! 27 % of the pages are new never drifts upwards. As the sum grows the host, or the section of it,
//! is [`Level::Slowed`] and its links become [`Level::LowPriority`]: after 14 and 35 pages of
//! nothing new. New text brings it back the same way.
//!
//! Neither of them loses anything. Parking does, so it has a sum of its own, of "one page in a
//! hundred is new" against "one in ten is": a repository browsed at every commit brings new text
//! with one page in ten or twenty, for tens of thousands of pages. Here a new text takes 2.3 off
//! and a repeat adds 0.095, so that nothing drifts upwards where more than 4 % are new; a host of
//! nothing new is [`Level::Parked`] after 105 pages.
//!
//! Old text in a new mixture may be a document too, as a directory is at each commit, or worth
//! nothing, as a shop's goods in any order are. Texts do not tell the two apart: a repository of 18
//! commits shows 60 new ones on its first thousand pages, and on nine thousand more what they were
//! made of. Addresses do. A space that ends combines few words, path by commit; one without end
//! needs a new word for each page. So where the address has a path segment or a parameter that the
//! host has not shown before, old text in a new mixture is a repeat. Where it has not, it is new
//! for this sum until the host has shown `MIXTURES_FREE` of them, `MIXTURES_PER_TEXT` for each new
//! text and `MIXTURES_PER_PAIR` for each two words that came together for the first time, and adds
//! an eighth of a repeat from then on: a repository of 60 commits pairs each of its paths with each
//! of them, in four views, where the facets of a shop have soon all met each other and go on in
//! threes and fours. What rules hide counts among them. A host of more than [`WORDS_MAX`] words has
//! the benefit of the doubt.
//!
//! Pages of the same words that differ in numbers are counters and calendars, or they are what the
//! weather was, a table of results, an exercise. Where those numbers are new ([`Figures`]), not in
//! the address, and a good part of the page, [`FIGURES_MANY`] of them are new text; fewer may be
//! the time of day, and are no evidence until the host has shown [`FIGURES_FREE`] such pages. What
//! is no text at all, such as photographs and papers, speaks for the pages that lead to it.
//!
//! A finite site that shows the same files in many orders, or one tree under two names, repeats
//! itself as much, but its repeats come to an end by themselves. So where it is known how many
//! addresses of the host wait, those counted that rules hide, nothing is parked before that number
//! has stood still, or grown, over as many repeats as the host had new texts, nor while it falls by
//! every second of them: an address more is a fetch, a host parked wrongly is its text. A demand to
//! log in, to which the server sends whoever asks for something else or which names the page that
//! is shown afterwards, has nothing to lose: in its section it counts for four repeats, so that one
//! of nothing else is parked after 27, and none drifts upwards where one page in seven is new; and
//! it is parked all the same.
//!
//! Sections (by first path segment) are judged on their own, and a section under suspicion no
//! longer counts against the host: a calendar does not park the archive around it. The host's own
//! sum is for traps that spread over many sections.
//!
//! A section may hold both, as software does that keeps all it has under one name: lists in every
//! order, and the posts that they list. So pages are also judged by the shape of their address
//! ([`shape_of`]), and in a section that is parked those of a shape that has brought new text, and
//! goes on to, are fetched as before. A shape that was not tried yet is tried. And a section leads
//! elsewhere: new text speaks for the section of the page on which its address was found.
//!
//! What rules on trial set aside is no fair sample of a section, nor is what is fetched meanwhile:
//! lists in every order, and not the things that they list. When it comes back since such a rule
//! fell, the section is judged anew ([`HostTrap::reprieve`]), a few times.
//!
//! Pure state of bounded size: at most [`SECTIONS_MAX`] sections, [`SHAPES_MAX`] shapes,
//! [`RECENT_TEXTS`] digests, [`RECENT_SHINGLES`] shingles, [`RECENT_FIGURES`] windows of numbers
//! and [`WORDS_MAX`] words of addresses: 17 KiB for a large host and some hundred bytes for a small
//! one; 8 KiB more for one with many mixtures.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::figures::Figures;
use super::site_model::Reader;
use super::track::{Track, Weight};
use crate::url::query::{name_of, parameters};

/// Sections of a host that are judged on their own; the least visited makes room.
pub const SECTIONS_MAX: usize = 32;
/// Shapes of addresses of a host that are judged on their own; the least visited makes room.
pub const SHAPES_MAX: usize = 64;
/// Core digests, and digests of numbers, remembered for each host, 4 bytes each: a trap repeats
/// itself well within so many.
pub const RECENT_TEXTS: usize = 512;
/// Sampled shingles remembered for each host, 4 bytes each.
pub const RECENT_SHINGLES: usize = 1024;
/// Windows of numbers remembered for each host, 4 bytes each: the days of a calendar come back
/// within a year of pages.
pub const RECENT_FIGURES: usize = 512;
/// New numbers on a page of known words by which it is new text: a clock, a counter and the time
/// that a page took to make have a third of that.
pub const FIGURES_MANY: u32 = 32;
/// Pages of known words and fewer new numbers that are no evidence for parking a host. Where each
/// is a document, so many would be lost; where none is, as many fetches are.
pub const FIGURES_FREE: u32 = 1000;
/// Shingles sampled of a page.
pub const SAMPLE_LEN: usize = 8;
/// Words of addresses remembered for each host, 2 bytes each.
pub const WORDS_MAX: usize = 2048;

/// The shingles of a page with the least hashes: a fair sample of its text, and the same whatever
/// else is on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample([u32; SAMPLE_LEN]);

const NO_SHINGLE: u32 = u32::MAX;

impl Default for Sample {
    fn default() -> Self {
        Sample([NO_SHINGLE; SAMPLE_LEN])
    }
}

impl Sample {
    pub(super) fn of(shingles: &[u64]) -> Sample {
        let mut least = [NO_SHINGLE; SAMPLE_LEN];
        for shingle in shingles {
            let hash = (shingle >> 32) as u32;
            if hash < least[SAMPLE_LEN - 1] && !least.contains(&hash) {
                let place = least.partition_point(|other| *other < hash);
                least[place..].rotate_right(1);
                least[place] = hash;
            }
        }
        Sample(least)
    }

    pub(super) fn hashes(&self) -> impl Iterator<Item = u32> {
        self.0.into_iter().filter(|hash| *hash != NO_SHINGLE)
    }
}

/// How a host, or a section of it, is treated.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As any other.
    #[default]
    Healthy,
    /// Its gap is longer.
    Slowed,
    /// Slowed, and its links come last.
    LowPriority,
    /// Its links wait until somebody looks.
    Parked,
}

/// Settings of trap recognition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct TrapSettings {
    /// Sum of evidence at which a host is slowed; 8 means odds of 3,000 to 1.
    pub slowed_at: f32,
    /// Sum of evidence at which its links drop in priority.
    pub low_priority_at: f32,
    /// Sum of evidence at which it is parked; 10 means odds of 22,000 to 1, and takes at least 105
    /// pages without new text, or 27 demands to log in that name where one came from. It has shares
    /// of its own, since parking is what loses pages.
    pub parked_at: f32,
    /// Factor on the gap of a host that is slowed.
    pub slowed_gap_factor: u32,
    /// Share of new text that a healthy host is expected to have, at least.
    pub healthy_share: f32,
    /// Share of new text that a trap is expected to have, at most.
    pub trap_share: f32,
    /// Share of new text for which a host is worth crawling to its end: where one page in ten is
    /// new, each of its texts costs ten fetches.
    pub worthy_share: f32,
    /// Share of new text of what is worth nothing any more.
    pub endless_share: f32,
}

impl Default for TrapSettings {
    fn default() -> Self {
        TrapSettings {
            slowed_at: 8.0,
            low_priority_at: 20.0,
            parked_at: 10.0,
            slowed_gap_factor: 4,
            healthy_share: 0.5,
            trap_share: 0.1,
            worthy_share: 0.1,
            endless_share: 0.01,
        }
    }
}

/// What one page of a host brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Brought {
    /// [`super::Analysis::core_digest`] of the page.
    pub core_digest: u64,
    /// [`super::Analysis::sample`] of the page, by which text is known again in other company; the
    /// default for none.
    pub sample: Sample,
    /// [`super::Analysis::figures`] of the page; the default for none.
    pub figures: Figures,
    /// The main text, or the payload, is known already.
    pub repeat: bool,
    /// The main text is nearly the same as a known one.
    pub near_repeat: bool,
    /// The main text is thin.
    pub thin: bool,
    /// The page is a soft error, a login wall or the like.
    pub junk: bool,
    /// Addresses of the host that wait, where that is known.
    pub waiting: Option<u64>,
    /// What its address has that the host has not shown before: [`HostTrap::note_address`].
    pub address: Novelty,
    /// The shape of its address, where that is judged on its own: [`shape_of`].
    pub shape: Option<u64>,
    /// The section of the page of this host on which its address was found.
    pub found_in: Option<u64>,
    /// The server sent to it whoever asked for something else, or its address names the page that
    /// is shown afterwards, and it shows nothing but a demand.
    pub walled: bool,
}

/// What an address has that its host has not shown before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Novelty {
    /// Nothing.
    #[default]
    None,
    /// Two words that have not been in one address before, as far as is remembered.
    Pair,
    /// A word.
    Word,
}

/// A change of level, to be logged and shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    /// The section it is about, or `None` for the whole host.
    pub section: Option<u64>,
    /// The level before.
    pub from: Level,
    /// The level now.
    pub to: Level,
    /// Why, in words and figures.
    pub reason: String,
}

/// Returns the section of a host that `path_and_query` belongs to, or `None` where it stands at the
/// root and so belongs to no section.
///
/// It is the first path segment with numbers made alike, or the file at the root that takes a
/// query.
pub fn section_of(path_and_query: &str) -> Option<u64> {
    // Zero marks "no section" in the encoded form.
    Some(xxh3_64(masked_section(path_and_query)?.as_bytes()).max(1))
}

/// Returns the name of the section that `path_and_query` belongs to, for people: the same for all
/// addresses of the section. `#` stands for any number.
pub fn section_name(path_and_query: &str) -> Option<String> {
    let mut name = masked_section(path_and_query)?.replace('0', "#");
    // It is ASCII in a normal form; any other text is cut where a letter ends.
    name.truncate(name.floor_char_boundary(SECTION_NAME_MAX));
    Some(format!("/{name}"))
}

fn masked_section(path_and_query: &str) -> Option<String> {
    let (path, query) = match path_and_query.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path_and_query, None),
    };
    let path = path.strip_prefix('/').unwrap_or(path);
    let first = match (path.split_once('/'), query) {
        (Some((first, _)), _) => first,
        (None, Some(_)) => path,
        (None, None) => return None,
    };
    let mut masked = String::with_capacity(first.len());
    mask(first, &mut masked);
    Some(masked)
}

/// Returns the shape of an address: the first three directories of its path with numbers made
/// alike, and the names of its parameters; where it has any, the name of the file as well. Its
/// upper half is the same for all addresses of one file.
pub fn shape_of(path_and_query: &str) -> u64 {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let (directories, file) = path.rsplit_once('/').unwrap_or(("", path));
    let mut masked = String::with_capacity(path_and_query.len());
    for directory in directories.split('/').skip(1).take(SHAPE_DEPTH) {
        mask(directory, &mut masked);
        masked.push('/');
    }
    if !query.is_empty() {
        mask(file, &mut masked);
    }
    let file = xxh3_64(masked.as_bytes());
    if !query.is_empty() {
        let mut names: Vec<&str> = parameters(query).map(name_of).take(SEGMENTS_MAX).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            masked.push('?');
            mask(name, &mut masked);
        }
    }
    file & FILE_OF_SHAPE | xxh3_64(masked.as_bytes()) & !FILE_OF_SHAPE
}

/// The bits of a shape that are the same for all addresses of one file.
const FILE_OF_SHAPE: u64 = !0 << 32;

/// Writes a word with its numbers made alike, in lower case.
fn mask(word: &str, masked: &mut String) {
    let from = masked.len();
    for c in word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c.to_ascii_lowercase() }) {
        if c != '0' || !masked[from..].ends_with('0') {
            masked.push(c);
        }
    }
}

/// The evidence about one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostTrap {
    whole: Track,
    sections: Vec<(u64, Track)>,
    shapes: Vec<(u64, Track)>,
    /// Shapes that were first seen in a section that was parked, and tried there.
    tried: u32,
    /// Times that a section was judged anew.
    reprieves: u32,
    /// Pages that were fetched to prove rules though their section was parked.
    proofs: u32,
    texts: Ring,
    shingles: Ring,
    figures: Ring,
    /// Hashes of the words of addresses, in order.
    words: Vec<u16>,
    /// Pages of new text.
    new_texts: u32,
    /// Pages of old text in a new mixture, and addresses that rules hid.
    mixtures: u32,
    /// Pages of known words and a few new numbers.
    figured: u32,
    /// Those of the mixtures whose address brought two words together.
    pairs: u32,
    /// A bit for each hash of two words of one address; empty before `MIXTURES_FREE` mixtures.
    paired: Vec<u8>,
    /// Fewest addresses that waited, since the last page of new text.
    waiting_least: u64,
    /// Addresses that waited when it was last looked whether they grow fewer.
    waiting_then: u64,
    /// Repeats since fewer waited than ever before.
    stuck: u32,
}

/// The last so many hashes.
#[derive(Clone, Debug, Default, PartialEq)]
struct Ring {
    hashes: Vec<u32>,
    oldest: u32,
}

impl Ring {
    /// Adds a hash, unless it was there; returns whether it was.
    fn remember(&mut self, hash: u32, most: usize) -> bool {
        if self.hashes.contains(&hash) {
            return true;
        }
        if self.hashes.len() < most {
            self.hashes.push(hash);
        } else {
            self.hashes[self.oldest as usize % most] = hash;
            self.oldest = (self.oldest + 1) % most as u32;
        }
        false
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.oldest.to_le_bytes());
        out.extend((self.hashes.len() as u32).to_le_bytes());
        self.hashes.iter().for_each(|hash| out.extend(hash.to_le_bytes()));
    }

    fn decode(read: &mut Reader<'_>, most: usize) -> Option<Ring> {
        let oldest = read.u32()?;
        let hashes = read.list(4, Reader::u32)?;
        (hashes.len() <= most).then_some(Ring { hashes, oldest })
    }
}

impl HostTrap {
    /// Returns how links into `section` are treated.
    pub fn level(&self, section: Option<u64>) -> Level {
        let track = section.and_then(|section| find(&self.sections, section));
        self.whole.level.max(track.map_or(Level::Healthy, |track| track.level))
    }

    /// Returns how links to an address are treated: as its section, but where that is parked and
    /// pages of its shape bring new text.
    pub fn level_at(&self, path_and_query: &str) -> Level {
        let level = self.level(section_of(path_and_query));
        let spared = level == Level::Parked
            && self.whole.level < Level::Parked
            && self.brings(shape_of(path_and_query));
        if spared { Level::LowPriority } else { level }
    }

    /// Returns true where an address, of which this is a hash, is left out: its section is parked,
    /// while the host is not, its shape brings nothing, and it is none of those by which it is seen
    /// whether that is still so.
    pub fn leaves_out(&self, path_and_query: &str, hash: u64) -> bool {
        self.whole.level < Level::Parked
            && self.level_at(path_and_query) == Level::Parked
            && !self.is_untried(shape_of(path_and_query))
            && !self.samples(section_of(path_and_query), hash)
    }

    /// Returns whether a page of `section`, whose address has this hash, is fetched all the same
    /// while the section is parked: the first one offered, then one in two, in four and so on, so
    /// that it is seen if the section recovers, and a trap costs the logarithm of what it offers.
    pub fn samples(&self, section: Option<u64>, hash: u64) -> bool {
        let track = section.and_then(|section| find(&self.sections, section));
        track.is_none_or(|track| hash.trailing_zeros() >= track.samples)
    }

    /// Returns true where pages of a shape have brought new text, and still do.
    fn brings(&self, shape: u64) -> bool {
        find(&self.shapes, shape)
            .is_some_and(|track| track.news >= SHAPE_NEWS_MIN && track.level < Level::Parked)
    }

    /// Returns true for a shape of which too few pages were seen to say what they bring, while few
    /// of its file were, and few were tried in all: a space without end has ever new ones, and the
    /// facets of one script must not use up what others are tried by.
    fn is_untried(&self, shape: u64) -> bool {
        let is_of_file = |(known, _): &&(u64, Track)| (known ^ shape) & FILE_OF_SHAPE == 0;
        match find(&self.shapes, shape) {
            Some(track) => track.pages < SHAPE_NEWS_MIN,
            None => {
                self.tried < SHAPES_TRIED_MAX
                    && self.shapes.iter().filter(is_of_file).count() < SHAPES_OF_FILE
            }
        }
    }

    /// Returns true if a section is parked, whatever is said of the host as a whole.
    pub fn is_parked(&self, section: u64) -> bool {
        find(&self.sections, section).is_some_and(|track| track.level == Level::Parked)
    }

    /// Says what the pages of a section have brought, if it is judged.
    pub fn why(&self, section: u64) -> Option<String> {
        find(&self.sections, section).map(Track::in_words)
    }

    /// Returns the share of new text over about the last 64 pages; 1 before the first.
    pub fn share_of_new_text(&self) -> f64 {
        if self.whole.pages == 0 { 1.0 } else { f64::from(self.whole.share) }
    }

    /// Returns the number of pages noted.
    pub fn pages(&self) -> u32 {
        self.whole.pages
    }

    /// Returns the worst level of the host and all its sections, for reports.
    pub fn worst(&self) -> Level {
        self.sections
            .iter()
            .map(|(_, track)| track.level)
            .max()
            .unwrap_or_default()
            .max(self.whole.level)
    }

    /// Takes note of a page; returns the changes of level that follow, at most three.
    pub fn note(
        &mut self,
        section: Option<u64>,
        page: &Brought,
        settings: &TrapSettings,
    ) -> Vec<Transition> {
        let weight = self.weigh(page);
        let mut changes = Vec::new();
        let mut suspect = false;
        // Pages of a shape that is spared, and of one that is tried, say nothing of what is left of
        // a section that is parked.
        let (brought, untried) =
            page.shape.map_or((false, false), |shape| (self.brings(shape), self.is_untried(shape)));
        let parked = section.is_some_and(|section| self.is_parked(section));
        if let Some(shape) = page.shape {
            self.tried += u32::from(parked && untried && find(&self.shapes, shape).is_none());
            let _ = place(&mut self.shapes, shape, SHAPES_MAX).add(&weight, true, settings);
        }
        if let Some(section) = section {
            let brings = page.shape.is_some_and(|shape| self.brings(shape));
            let track = place(&mut self.sections, section, SECTIONS_MAX);
            track.samples = track.samples.saturating_add(u32::from(parked && !brought && !untried));
            let change = match parked && brought {
                true => None,
                false => track.add(&weight, true, settings),
            };
            suspect = track.level > Level::Healthy;
            let spared = (track.level == Level::Parked && brings && !brought).then(|| Transition {
                section: None,
                from: Level::Parked,
                to: Level::LowPriority,
                reason: "pages of one shape of address bring new text".to_owned(),
            });
            let change = change.or(spared);
            changes.extend(change.map(|change| Transition { section: Some(section), ..change }));
        }
        if let Some(found_in) = page.found_in.filter(|from| weight.is_new && Some(*from) != section)
            && let Some(track) = find_mut(&mut self.sections, found_in)
        {
            let change = track.credit(settings);
            changes.extend(change.map(|change| Transition { section: Some(found_in), ..change }));
        }
        // A part of nothing but demands has nothing to lose; the host around it has.
        let weight = Weight { drought: weight.drought.min(1.0), ..weight };
        changes.extend(self.whole.add(&weight, !suspect, settings));
        changes
    }

    /// Takes note of an address; returns what it has that the host has not shown before. Its words
    /// are its path segments, and its parameters with their values. No word is new once the host
    /// has too many to remember.
    pub fn note_address(&mut self, path_and_query: &str) -> Novelty {
        let mut novelty = Novelty::None;
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        let parts = std::iter::once(path).chain(parameters(query));
        let words = parts.flat_map(|part| part.split(['/', '?'])).filter(|word| !word.is_empty());
        let hashes: Vec<u64> =
            words.take(SEGMENTS_MAX).map(|word| xxh3_64(word.as_bytes())).collect();
        if self.mixtures >= MIXTURES_FREE && self.note_pairs(&hashes) {
            novelty = Novelty::Pair;
        }
        for hash in hashes.into_iter().map(|hash| hash as u16) {
            let Err(place) = self.words.binary_search(&hash) else { continue };
            if self.words.len() < WORDS_MAX {
                self.words.insert(place, hash);
                novelty = Novelty::Word;
            }
        }
        novelty
    }

    /// Remembers which words came together; returns whether two of them did for the first time.
    fn note_pairs(&mut self, words: &[u64]) -> bool {
        self.paired.resize(PAIRED_BYTES, 0);
        let mut fresh = false;
        let words = &words[..words.len().min(PAIRED_WORDS_MAX)];
        for (at, word) in words.iter().enumerate() {
            for other in &words[at + 1..] {
                // Their order counts: a place in a path is part of what a word says.
                let hash =
                    word.rotate_left(1).wrapping_add(*other).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let bit = (hash >> 48) as usize;
                let (byte, mask) = (&mut self.paired[bit / 8], 1 << (bit % 8));
                fresh |= *byte & mask == 0;
                *byte |= mask;
            }
        }
        fresh
    }

    /// Takes note of an address that rules keep from being fetched: it would have been one more
    /// mixture of old text, and counts as one of those that the host may show. What rules hide by
    /// the ten thousand is a space that has no end where they do not reach.
    pub fn note_hidden(&mut self) {
        self.mixtures = self.mixtures.saturating_add(1);
    }

    /// Puts the host back among the healthy, keeping its counts: an operator's decision.
    pub fn forgive(&mut self) {
        let tracks = self.sections.iter_mut().map(|(_, track)| track);
        for track in tracks.chain([&mut self.whole]) {
            track.sum = 0.0;
            track.drought = 0.0;
            track.level = Level::Healthy;
        }
    }

    /// Returns true for one more page that is fetched to prove rules though its section is parked,
    /// as long as there were few.
    pub fn takes_proof(&mut self) -> bool {
        self.proofs = self.proofs.saturating_add(1);
        self.proofs <= PROOFS_MAX
    }

    /// Judges a section that is parked anew, since addresses of it come back that rules had kept
    /// from being fetched: what they would have shown was no part of the evidence. A few times for
    /// each host, so that a trap costs a few times what it takes to see that it is one. Returns the
    /// change of level, if that is one.
    pub fn reprieve(
        &mut self,
        path_and_query: &str,
        settings: &TrapSettings,
    ) -> Option<Transition> {
        let section = section_of(path_and_query)?;
        let track = find_mut(&mut self.sections, section)?;
        if track.level < Level::Parked || self.reprieves >= REPRIEVES_MAX {
            return None;
        }
        self.reprieves += 1;
        let change = track.reprieve(settings)?;
        let reason = "rules give back what they had set aside".to_owned();
        Some(Transition { section: Some(section), reason, ..change })
    }

    /// Takes note of a payload without text that no other address had, such as a photograph, found
    /// on a page of `section`: it speaks for that section and for the host. Returns the changes of
    /// level that follow, at most two.
    pub fn note_payload(
        &mut self,
        section: Option<u64>,
        settings: &TrapSettings,
    ) -> Vec<Transition> {
        let known = section.and_then(|section| find_mut(&mut self.sections, section));
        let change = known.and_then(|track| track.credit(settings));
        let change = change.map(|change| Transition { section, ..change });
        change.into_iter().chain(self.whole.credit(settings)).collect()
    }

    fn weigh(&mut self, page: &Brought) -> Weight {
        let (known_text, known_shingles) = self.remember(page);
        let (new_figures, new_numbers) = self.remember_figures(&page.figures);
        let (repeat, drought) = match () {
            () if page.walled => (1.0, WALL),
            () if page.repeat || page.junk => (1.0, 1.0),
            () if known_text && new_numbers >= FIGURES_MANY => (0.0, 0.0),
            () if known_text && new_figures && self.affords_figures() => (0.25, 0.0),
            () if known_text => (1.0, 1.0),
            // Old text in a new order or mixture, as lists by facets have it.
            () if page.near_repeat || known_shingles => (0.5, MIXTURE),
            // A gallery has a few new words on every page: little text, but no proof of a trap.
            () if page.thin => (0.25, 0.0),
            () => (0.0, 0.0),
        };
        let is_new = repeat == 0.0;
        let (brings, drought) = match () {
            () if drought == MIXTURE && page.address == Novelty::Word => (false, 1.0),
            () if drought == MIXTURE => (self.affords_mixture(page.address), drought),
            () => (is_new, drought),
        };
        // Where a server sends to, behind every address that it keeps back, comes to no end by
        // having been seen.
        let parks = self.is_endless(page.waiting, is_new) || page.walled;
        Weight { is_new, repeat, brings, drought, parks }
    }

    /// Counts a new mixture of old text; returns whether it is still worth a fetch.
    fn affords_mixture(&mut self, address: Novelty) -> bool {
        self.mixtures = self.mixtures.saturating_add(1);
        self.pairs = self.pairs.saturating_add(u32::from(address == Novelty::Pair));
        let by_texts = self.new_texts.saturating_mul(MIXTURES_PER_TEXT);
        let by_pairs = self.pairs.saturating_mul(MIXTURES_PER_PAIR);
        self.mixtures <= MIXTURES_FREE.saturating_add(by_texts).saturating_add(by_pairs)
    }

    /// Counts a page of known words and a few new numbers; returns whether it may be worth a fetch.
    fn affords_figures(&mut self) -> bool {
        self.figured = self.figured.saturating_add(1);
        self.figured <= FIGURES_FREE
    }

    /// Remembers the numbers of a page; returns whether they are new as a whole, and about how many
    /// of them stand beside words that they did not stand beside before.
    fn remember_figures(&mut self, figures: &Figures) -> (bool, u32) {
        if !figures.are_text {
            return (false, 0);
        }
        let is_new = !self.texts.remember(figures.digest, RECENT_TEXTS);
        let hashes = figures.sample.hashes();
        let known = hashes.map(|hash| self.figures.remember(hash, RECENT_FIGURES));
        let (mut sampled, mut new) = (0, 0);
        for known in known {
            sampled += 1;
            new += u32::from(!known);
        }
        (is_new, (figures.numbers.saturating_mul(new)).checked_div(sampled).unwrap_or(0))
    }

    /// Returns whether what waits is not growing fewer, though as many repeats came as texts
    /// before.
    fn is_endless(&mut self, waiting: Option<u64>, is_new: bool) -> bool {
        self.new_texts = self.new_texts.saturating_add(u32::from(is_new));
        let Some(waiting) = waiting else { return true };
        if waiting < self.waiting_least {
            self.stuck = 0;
        } else if !is_new {
            self.stuck = self.stuck.saturating_add(1);
            // Lists may have raised it since; what they list is worked off address by address.
            let span = self.new_texts.max(WAITING_SPAN_MIN);
            if self.stuck.is_multiple_of(span) {
                let falls = waiting.saturating_add(u64::from(span / 2)) <= self.waiting_then;
                self.waiting_then = waiting;
                if falls {
                    self.waiting_least = waiting;
                    self.stuck = 0;
                }
            }
        }
        if is_new || waiting < self.waiting_least {
            self.waiting_least = waiting;
            self.waiting_then = waiting;
        }
        self.stuck >= self.new_texts.max(1)
    }

    /// Remembers what a page brought; returns whether its text, or most of it, was known.
    fn remember(&mut self, page: &Brought) -> (bool, bool) {
        let text = self.texts.remember((page.core_digest >> 32) as u32, RECENT_TEXTS);
        let sampled = page.sample.hashes();
        let known = sampled.filter(|hash| self.shingles.remember(*hash, RECENT_SHINGLES)).count();
        (text, known > SAMPLE_LEN / 2)
    }
}

/// Returns what is known under a key.
fn find(tracks: &[(u64, Track)], key: u64) -> Option<&Track> {
    tracks.iter().find(|(known, _)| *known == key).map(|(_, track)| track)
}

/// Returns what is known under a key, to be written to.
fn find_mut(tracks: &mut [(u64, Track)], key: u64) -> Option<&mut Track> {
    tracks.iter_mut().find(|(known, _)| *known == key).map(|(_, track)| track)
}

/// Returns the place of a key; the one that is least known makes room for it.
fn place(tracks: &mut Vec<(u64, Track)>, key: u64, most: usize) -> &mut Track {
    let place = tracks.iter().position(|(known, _)| *known == key);
    let place = place.unwrap_or_else(|| {
        if tracks.len() < most {
            tracks.push((key, Track::default()));
            return tracks.len() - 1;
        }
        let rank = |(at, (_, track)): &(usize, &(u64, Track))| (track.level, track.pages, *at);
        let least = tracks.iter().enumerate().min_by_key(rank).map_or(0, |(at, _)| at);
        tracks[least] = (key, Track::default());
        least
    });
    &mut tracks[place].1
}

/// Bytes of the name of a section.
const SECTION_NAME_MAX: usize = 200;

/// Directories of an address that are part of its shape.
const SHAPE_DEPTH: usize = 3;

/// Pages of new text after which a shape of address is said to bring some.
const SHAPE_NEWS_MIN: u32 = 2;

/// Shapes that are tried in the sections of a host that are parked.
const SHAPES_TRIED_MAX: u32 = 32;

/// Pages of the sections of a host that are parked which are fetched to prove rules.
const PROOFS_MAX: u32 = 32;

/// Times that sections of a host are judged anew.
const REPRIEVES_MAX: u32 = 2;

/// Shapes of one file that are known before no further one of it is tried.
const SHAPES_OF_FILE: usize = 8;

/// Words of an address that are looked at.
const SEGMENTS_MAX: usize = 64;

/// Pages of old text in a new mixture that every host may show.
const MIXTURES_FREE: u32 = 1000;

/// Further ones for each page of new text.
const MIXTURES_PER_TEXT: u32 = 50;

/// Further ones for each two words of addresses that first came together in one of them: the views
/// that a thing has of its own.
const MIXTURES_PER_PAIR: u32 = 8;

/// Bytes of the bits for words that came together.
const PAIRED_BYTES: usize = 1 << 13;

/// Repeats at least over which it is looked whether ever fewer addresses wait.
const WAITING_SPAN_MIN: u32 = 32;

/// Words of an address whose pairs are looked at.
const PAIRED_WORDS_MAX: usize = 12;

/// Weight of old text in a new mixture as evidence for parking.
const MIXTURE: f32 = 0.125;

/// The same of a demand that stands where pages are kept back. It is no document under any address,
/// where a repeat may be one in a hundred times; few are needed to know it by its wording.
const WALL: f32 = 4.0;

const LAYOUT: u8 = 10;

impl HostTrap {
    /// Encodes the evidence for storage: layout u8, the host, sections u32 and each with its key,
    /// shapes u32 and each with its key, shapes tried u32, reprieves u32, proofs u32, the rings of
    /// digests, of shingles and of figures, words u32 and they u16, new texts u32, mixtures u32,
    /// pages of few numbers u32, pairs u32, bytes of bits u32 and they, fewest waiting u64, waiting
    /// when last looked u64, repeats since fewer waited u32; numbers little-endian.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![LAYOUT];
        self.whole.encode(&mut out);
        for tracks in [&self.sections, &self.shapes] {
            out.extend((tracks.len() as u32).to_le_bytes());
            for (key, track) in tracks {
                out.extend(key.to_le_bytes());
                track.encode(&mut out);
            }
        }
        out.extend(self.tried.to_le_bytes());
        out.extend(self.reprieves.to_le_bytes());
        out.extend(self.proofs.to_le_bytes());
        self.texts.encode(&mut out);
        self.shingles.encode(&mut out);
        self.figures.encode(&mut out);
        out.extend((self.words.len() as u32).to_le_bytes());
        self.words.iter().for_each(|word| out.extend(word.to_le_bytes()));
        out.extend(self.new_texts.to_le_bytes());
        out.extend(self.mixtures.to_le_bytes());
        out.extend(self.figured.to_le_bytes());
        out.extend(self.pairs.to_le_bytes());
        out.extend((self.paired.len() as u32).to_le_bytes());
        out.extend(&self.paired);
        out.extend(self.waiting_least.to_le_bytes());
        out.extend(self.waiting_then.to_le_bytes());
        out.extend(self.stuck.to_le_bytes());
        out
    }

    /// Decodes what [`HostTrap::encode`] wrote; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<HostTrap> {
        let mut read = Reader(bytes);
        (read.u8()? == LAYOUT).then_some(())?;
        let whole = Track::decode(&mut read)?;
        let mut tracks =
            || read.list(8 + Track::LEN, |read| Some((read.u64()?, Track::decode(read)?)));
        let (sections, shapes) = (tracks()?, tracks()?);
        let (tried, reprieves, proofs) = (read.u32()?, read.u32()?, read.u32()?);
        let texts = Ring::decode(&mut read, RECENT_TEXTS)?;
        let shingles = Ring::decode(&mut read, RECENT_SHINGLES)?;
        let figures = Ring::decode(&mut read, RECENT_FIGURES)?;
        let words = read.list(2, |read| read.take().map(u16::from_le_bytes))?;
        let (new_texts, mixtures) = (read.u32()?, read.u32()?);
        let (figured, pairs) = (read.u32()?, read.u32()?);
        let paired = read.list(1, Reader::u8)?;
        let (waiting_least, waiting_then, stuck) = (read.u64()?, read.u64()?, read.u32()?);
        let good = read.0.is_empty()
            && sections.len() <= SECTIONS_MAX
            && shapes.len() <= SHAPES_MAX
            && words.len() <= WORDS_MAX
            && words.is_sorted()
            && [0, PAIRED_BYTES].contains(&paired.len());
        let remembered =
            HostTrap { texts, shingles, figures, words, paired, ..HostTrap::default() };
        let counted = HostTrap { new_texts, mixtures, figured, pairs, ..remembered };
        let counted = HostTrap { waiting_least, waiting_then, stuck, ..counted };
        let spared = HostTrap { tried, reprieves, proofs, ..counted };
        good.then_some(HostTrap { whole, sections, shapes, ..spared })
    }
}

#[cfg(test)]
mod tests;
