//! The set of words of a page, in little memory: what short pages are compared by, such as error
//! messages, which have too few words for shingles.
//!
//! A page of many words keeps a class of them by hash, a half, a quarter and so on, so that a set
//! has at most [`WORDS_KEPT`] words, and about a third of that where it is long; the same words of
//! every text are in a class, so sets of different classes compare as the coarser of the two.
//! Numbers are one word: counters and dates change.

use super::Words;
use super::shingle::{Piece, mix};

/// Words in a set, at most: the share of words in common is then known to within 3 %.
pub const WORDS_KEPT: usize = 256;

/// A set of words, or a known part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordSet {
    /// Hashes with this many high bits zero are in the set.
    class: u32,
    /// Sorted, without repeats.
    hashes: Vec<u64>,
}

/// The distinct words of a page and its numbers, or a known part of either.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// The words of the page and its forms, without navigation, header, footer and what stands
    /// beside the text.
    pub words: WordSet,
    /// The numbers that it says outside blocks of links, as far as its address does not.
    pub numbers: WordSet,
}

/// How much two sets have in common, in words (scaled up where a part is known only).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overlap {
    /// Words in both.
    pub both: f64,
    /// Words in the first only.
    pub first_only: f64,
    /// Words in the second only.
    pub second_only: f64,
}

impl Overlap {
    /// Returns the Jaccard similarity; 0 for two empty sets.
    pub fn similarity(&self) -> f64 {
        let union = self.both + self.first_only + self.second_only;
        if union == 0.0 { 0.0 } else { self.both / union }
    }
}

impl WordSet {
    /// Returns the set of the words of `text`.
    pub fn of_text(text: &str) -> WordSet {
        let words = Words::of(text);
        WordSet::of(&words, &[Piece { start: 0, end: words.len() }])
    }

    pub(super) fn of(words: &Words, pieces: &[Piece]) -> WordSet {
        let total: usize = pieces.iter().map(|piece| piece.len()).sum();
        // Pages that may be error messages are known in full, of long ones a part will do.
        let share = if total <= 2 * WORDS_KEPT { 1 } else { total.div_ceil(WORDS_KEPT / 2) };
        let class = share.next_power_of_two().trailing_zeros();
        let all = pieces.iter().flat_map(|piece| piece.start..piece.end);
        let in_class = |hash: &u64| hash.leading_zeros() >= class;
        let mut hashes: Vec<u64> = all.map(|at| words.masked(at)).filter(in_class).collect();
        hashes.sort_unstable();
        hashes.dedup();
        WordSet::cut(class, hashes)
    }

    /// Returns the set of words with these hashes.
    pub fn of_hashes(mut hashes: Vec<u64>) -> WordSet {
        hashes.sort_unstable();
        hashes.dedup();
        WordSet::cut(0, hashes)
    }

    /// Returns the set of hashes of a class, sorted and without repeats, in as coarse a class as it
    /// takes to keep few.
    fn cut(mut class: u32, mut hashes: Vec<u64>) -> WordSet {
        while hashes.len() > WORDS_KEPT {
            class += 1;
            hashes.retain(|hash| hash.leading_zeros() >= class);
        }
        WordSet { class, hashes }
    }

    /// Returns the number of distinct words, estimated where a part of them is kept.
    pub fn len(&self) -> usize {
        self.hashes.len() << self.class
    }

    /// Returns how many words are kept, of which each may stand for several.
    pub fn kept(&self) -> usize {
        self.hashes.len()
    }

    /// Whether words may be missing, since there were too many to keep.
    pub fn is_partial(&self) -> bool {
        self.class > 0
    }

    /// Whether no word is known.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Returns a sum over the words: the same for the same ones.
    pub fn sum(&self) -> u64 {
        self.hashes.iter().fold(0, |sum, hash| sum.wrapping_add(mix(*hash)))
    }

    /// Returns the set without the words of `other`.
    pub fn without(&self, other: &WordSet) -> WordSet {
        let class = self.class.max(other.class);
        let kept = self.hashes.iter().filter(|hash| hash.leading_zeros() >= class);
        let hashes = kept.filter(|hash| !other.holds(**hash)).copied().collect();
        WordSet { class, hashes }
    }

    /// Returns the words in both sets.
    pub fn common(&self, other: &WordSet) -> WordSet {
        let class = self.class.max(other.class);
        let kept = self.hashes.iter().filter(|hash| hash.leading_zeros() >= class);
        let hashes = kept.filter(|hash| other.holds(**hash)).copied().collect();
        WordSet { class, hashes }
    }

    /// Returns the words of either set.
    pub fn union(&self, other: &WordSet) -> WordSet {
        let class = self.class.max(other.class);
        let both = self.hashes.iter().chain(&other.hashes);
        let mut hashes: Vec<u64> =
            both.copied().filter(|hash| hash.leading_zeros() >= class).collect();
        hashes.sort_unstable();
        hashes.dedup();
        WordSet::cut(class, hashes)
    }

    /// Compares two sets.
    pub fn overlap(&self, other: &WordSet) -> Overlap {
        let class = self.class.max(other.class);
        let size =
            |set: &WordSet| set.hashes.iter().filter(|hash| hash.leading_zeros() >= class).count();
        let both = self.common(other).hashes.len();
        let scaled = |count: usize| (count << class) as f64;
        Overlap {
            both: scaled(both),
            first_only: scaled(size(self) - both),
            second_only: scaled(size(other) - both),
        }
    }

    pub(super) fn class(&self) -> u32 {
        self.class
    }

    pub(super) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    pub(super) fn filtered(&self, keep: impl Fn(u64) -> bool) -> WordSet {
        let hashes = self.hashes.iter().copied().filter(|hash| keep(*hash)).collect();
        WordSet { class: self.class, hashes }
    }

    fn holds(&self, hash: u64) -> bool {
        self.hashes.binary_search(&hash).is_ok()
    }

    /// Appends the set to `out`: class u8, words u32, each word u64, little-endian.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.class as u8);
        out.extend((self.hashes.len() as u32).to_le_bytes());
        self.hashes.iter().for_each(|hash| out.extend(hash.to_le_bytes()));
    }

    pub(super) fn decode(read: &mut super::site_model::Reader<'_>) -> Option<WordSet> {
        let class = u32::from(read.u8()?);
        let hashes = read.list(8, super::site_model::Reader::u64)?;
        (class < 32 && hashes.len() <= WORDS_KEPT && hashes.is_sorted())
            .then_some(WordSet { class, hashes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(from: u64, to: u64) -> String {
        (from..to).map(|n| format!("word{n}x ")).collect()
    }

    #[test]
    fn small_sets_compare_exactly() {
        let (a, b) = (WordSet::of_text("one two three 4"), WordSet::of_text("two three 5 six"));
        let overlap = a.overlap(&b);
        assert_eq!((overlap.both, overlap.first_only, overlap.second_only), (3.0, 1.0, 1.0));
        assert_eq!(overlap.similarity(), 0.6);
        assert_eq!(a.without(&b), WordSet::of_text("one"));
        assert_eq!(a.common(&b), WordSet::of_text("two three 4"));
        assert_eq!(a.union(&b), WordSet::of_text("one two three 4 six"));
        assert_eq!(Overlap::default().similarity(), 0.0);
    }

    #[test]
    fn large_sets_keep_a_part_and_compare_by_it() {
        let (a, b) = (WordSet::of_text(&text(0, 9000)), WordSet::of_text(&text(3000, 6900)));
        assert!(a.hashes.len() <= WORDS_KEPT && b.hashes.len() <= WORDS_KEPT);
        assert!((a.len() as f64 / 9000.0 - 1.0).abs() < 0.4, "{}", a.len());
        let overlap = a.overlap(&b);
        assert!(overlap.second_only < 800.0, "{overlap:?}");
        assert!((overlap.both / 3900.0 - 1.0).abs() < 0.4, "{overlap:?}");
    }
}
