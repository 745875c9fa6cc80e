//! What the miner knows of a page's text: 16 small min-hashes, and how alike two of them are.
//!
//! One permutation serves all 16 slots: the top four bits of a shingle's hash choose the slot, the
//! least rest wins it, and eight bits of the winner are kept. Two unrelated texts agree in a slot
//! once in 256 times. Which shingles are boilerplate is decided before a sketch is made; this
//! module only counts. It does not parse pages.

use serde::{Deserialize, Serialize};

/// Number of slots.
pub const SLOTS: usize = 16;

/// Fewer shingles than this make a page thin: it is no evidence for any rule.
pub const SHINGLES_MIN: u32 = 8;

/// Distinct words from which on a thin page may be evidence against a rule.
const WORDS_MIN: u32 = 3;

/// Slots that must agree for two texts to be the same. At resemblance 0.8, which a small page with
/// a counter and an advertisement reaches, fewer agree in 7 of 1,000 comparisons; unrelated texts
/// never get there.
const SAME_MIN: u32 = 9;

/// Up to this many agreeing slots the texts are different; between the two nothing is claimed.
const DIFFERENT_MAX: u32 = 5;

/// In texts of fewer shingles than this a counter or an advertisement changes so many that a page
/// and itself agree in few slots: there, up to [`DIFFERENT_MAX`], nothing is claimed.
const SHORT_SHINGLES: u32 = 48;

/// Up to this many agreeing slots short texts are different; unrelated ones agree in three slots
/// once in 30,000 times.
const DIFFERENT_SHORT_MAX: u32 = 2;

/// The sketch of a page's main text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sketch {
    /// One min-hash of eight bits per slot.
    pub mins: [u8; SLOTS],
    /// Number of distinct shingles of the main text.
    pub shingles: u32,
}

/// What two sketches say about their texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Likeness {
    /// The same text, up to counters, dates and advertisements.
    Same,
    /// Another text.
    Different,
    /// Too much alike to be different and too little to be the same: no evidence.
    Unsure,
}

impl Sketch {
    /// Returns the sketch of a text given by the 64-bit hashes of its distinct shingles, or `None`
    /// for a thin page.
    pub fn of_shingles(hashes: impl IntoIterator<Item = u64>) -> Option<Sketch> {
        let sketch = Sketch::of(hashes);
        (sketch.shingles >= SHINGLES_MIN).then_some(sketch)
    }

    /// Returns the sketch of a thin page given by the 64-bit hashes of its distinct words, each of
    /// which is taken for a shingle, or `None` where there are next to none: then any two pages
    /// would be different, or the same.
    pub fn of_words(hashes: impl IntoIterator<Item = u64>) -> Option<Sketch> {
        let sketch = Sketch::of(hashes);
        (sketch.shingles >= WORDS_MIN).then_some(sketch)
    }

    fn of(hashes: impl IntoIterator<Item = u64>) -> Sketch {
        let mut least = [u64::MAX; SLOTS];
        let mut shingles = 0u32;
        for hash in hashes {
            let hash = mix(hash);
            let slot = (hash >> 60) as usize;
            least[slot] = least[slot].min(hash & (u64::MAX >> 4));
            shingles = shingles.saturating_add(1);
        }
        Sketch { mins: densify(&least), shingles }
    }

    /// Returns the number of slots in which two sketches agree.
    pub fn agreement(&self, other: &Sketch) -> u32 {
        self.mins.iter().zip(&other.mins).map(|(a, b)| u32::from(a == b)).sum()
    }

    /// Compares two texts.
    pub fn compare(&self, other: &Sketch) -> Likeness {
        let (short, long) = (self.shingles.min(other.shingles), self.shingles.max(other.shingles));
        let different = if long < SHORT_SHINGLES { DIFFERENT_SHORT_MAX } else { DIFFERENT_MAX };
        match self.agreement(other) {
            agreement if agreement <= different => Likeness::Different,
            // A page that holds another one and as much again is not its duplicate.
            agreement if agreement >= SAME_MIN && u64::from(short) * 2 > u64::from(long) => {
                Likeness::Same
            }
            _ => Likeness::Unsure,
        }
    }
}

/// Fills empty slots from the next full one, so that short texts compare in all slots.
fn densify(least: &[u64; SLOTS]) -> [u8; SLOTS] {
    std::array::from_fn(|slot| {
        let full = (0..SLOTS).find(|step| least[(slot + step) % SLOTS] != u64::MAX).unwrap_or(0);
        (mix(least[(slot + full) % SLOTS].wrapping_add(full as u64)) & 0xff) as u8
    })
}

/// Spreads a 64-bit value over all bits (the finalizer of splitmix64).
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(from: u64, to: u64) -> Option<Sketch> {
        Sketch::of_shingles(from..to)
    }

    #[test]
    fn a_page_with_few_shingles_has_no_sketch() {
        assert_eq!(text(0, 7), None);
        assert!(text(0, 8).is_some());
    }

    /// A dictionary of entries of five words each is read in its language, or in none.
    #[test]
    fn thin_pages_without_a_word_in_common_are_different_and_others_are_not() {
        assert_eq!(Sketch::of_words(0..2), None);
        let words = |from: u64, to: u64| Sketch::of_words(from..to).unwrap();
        let different = |a: Sketch, b: Sketch| a.compare(&b) == Likeness::Different;
        let entry = |page: u64| page * 100;
        let told = |apart: u64| {
            let pairs = (0..1_000).map(|page| (words(entry(page), entry(page) + 6), page));
            let pairs =
                pairs.map(|(a, page)| (a, words(entry(page) + apart, entry(page) + apart + 6)));
            pairs.filter(|(a, b)| different(*a, *b)).count()
        };
        assert!(told(6) > 950, "no word in common: {}", told(6));
        assert!(told(2) < 50, "four words of eight in common: {}", told(2));
        assert_eq!(told(0), 0);
    }

    #[test]
    fn small_changes_leave_a_text_the_same() {
        let mut same = 0;
        for page in 0..200u64 {
            let from = page * 10_000;
            let (a, b) = (text(from, from + 200), text(from + 10, from + 210));
            same += u32::from(a.unwrap().compare(&b.unwrap()) == Likeness::Same);
        }
        assert!(same >= 198, "{same} of 200");
    }

    #[test]
    fn a_short_text_with_another_advertisement_is_never_called_another_text() {
        for page in 0..2_000u64 {
            let from = page * 10_000;
            let with = |advertisement: u64| {
                Sketch::of_shingles((from..from + 18).chain(advertisement..advertisement + 7))
            };
            let (a, b) = (with(from + 1_000).unwrap(), with(from + 2_000).unwrap());
            assert_ne!(a.compare(&b), Likeness::Different, "page {page}");
        }
    }

    #[test]
    fn unrelated_texts_are_different_and_halves_are_not_the_same() {
        for page in 0..200u64 {
            let from = page * 10_000;
            let whole = text(from, from + 300).unwrap();
            assert_eq!(whole.compare(&text(from + 500, from + 800).unwrap()), Likeness::Different);
            assert_ne!(whole.compare(&text(from, from + 140).unwrap()), Likeness::Same);
        }
    }
}
