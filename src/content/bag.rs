//! The words of a page as a multiset, in 40 bytes: whether two pages have the very same words, and
//! if not, by about how many they differ, whatever their order.
//!
//! A sketch of shingles says which share of a text is the same; of a long form around a short list
//! that is nearly all, whatever the list shows. Here each word counts once, wherever it stands.
//!
//! The counters are a linear sketch (tug of war [Alon, Matias, Szegedy 1996], with one counter for
//! each word [Charikar, Chen, Farach-Colton 2002]): a hash gives each word a counter and a sign,
//! and the squares of what two pages' counters differ by add up to the squared difference of their
//! words' counts, up to chance.

use serde::{Deserialize, Serialize};

use super::shingle::mix;

/// With so many counters an estimate has a relative standard error of a quarter.
const COUNTERS: usize = 32;

/// Words that may be others around a text, however short it is.
const AROUND_MIN: u32 = 48;

/// Cosine from which two changes are of much the same words: where they have nothing in common it
/// deviates from none by a fifth.
const COSINE_MIN: f64 = 0.8;

/// A multiset of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bag {
    /// A sum over the hashes of all words.
    sum: u64,
    /// What does not fit stays at the end of the range, where it no longer tells pages apart: of a
    /// long page's commonest words.
    counters: [i8; COUNTERS],
}

impl Bag {
    /// Length of the bytes of one.
    pub const BYTES: usize = 8 + COUNTERS;

    /// Returns the multiset of the words with these hashes.
    pub fn of(words: impl IntoIterator<Item = u64>) -> Bag {
        let mut sum = 0u64;
        let mut counters = [0i32; COUNTERS];
        // No loop: words come from block after block, and a loop asks at each whether one ends.
        words.into_iter().for_each(|word| {
            let hash = mix(word);
            sum = sum.wrapping_add(hash);
            let sign = 1 - 2 * (hash >> 58 & 1) as i32;
            counters[(hash >> 59) as usize] += sign;
        });
        let most = i32::from(i8::MAX);
        Bag { sum, counters: counters.map(|count| count.clamp(-most, most) as i8) }
    }

    /// Returns a hash of the multiset: the same for the same words in any order.
    pub fn hash(&self) -> u64 {
        self.sum
    }

    /// Returns all there is of it: the hash, little-endian, and the counters.
    pub fn to_bytes(&self) -> [u8; Bag::BYTES] {
        let mut bytes = [0; Bag::BYTES];
        bytes[..8].copy_from_slice(&self.sum.to_le_bytes());
        let counters = self.counters.map(i8::cast_unsigned);
        bytes[8..].copy_from_slice(&counters);
        bytes
    }

    /// Returns the multiset with these bytes, as [`Bag::to_bytes`] gave them.
    pub fn from_bytes(bytes: [u8; Bag::BYTES]) -> Bag {
        let sum = bytes[..8].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let counters = std::array::from_fn(|at| bytes[8 + at].cast_signed());
        Bag { sum, counters }
    }

    /// Estimates how many words are in one of the two alone: without bias where none is there more
    /// than once, and too many where some are there often, as each counts with its square. 0 for
    /// the same words.
    pub fn differing(&self, other: &Bag) -> u32 {
        self.change_to(other).words()
    }

    /// Returns which words make another bag of this one, as far as that can be compared with other
    /// such changes.
    pub fn change_to(&self, other: &Bag) -> Change {
        Change(std::array::from_fn(|at| {
            i16::from(other.counters[at]) - i16::from(self.counters[at])
        }))
    }

    /// Whether two pages with the same text of so many words show so many others around it that
    /// they are what the pages are for: the rows of a list below a form, where a row is a link and
    /// the form is text. Another advertisement has fewer words than a text.
    pub fn differs_around(&self, other: &Bag, text: u32) -> bool {
        self.differing(other) > text.max(AROUND_MIN)
    }
}

/// The words by which one page differs from another, those that come and those that go: a vector
/// whose squared length estimates their number, and which points the same way for the same words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change([i16; COUNTERS]);

impl Change {
    /// Estimates how many words they are, as [`Bag::differing`] does.
    pub fn words(&self) -> u32 {
        self.0.iter().map(|count| u32::from(count.unsigned_abs()).pow(2)).sum()
    }

    /// Returns true where two pairs of pages differ by much the same words, whichever page of each
    /// pair is the one that has them, beside `noise` words by which pages change at each look; half
    /// of a change at most is taken for such.
    pub fn is_like(&self, other: &Change, noise: u32) -> bool {
        let product = |(a, b): (&i16, &i16)| i64::from(*a) * i64::from(*b);
        let inner: i64 = self.0.iter().zip(&other.0).map(product).sum();
        let signal = |words: u32| f64::from(words - noise.min(words / 2));
        let lengths = signal(self.words()) * signal(other.words());
        inner.unsigned_abs() as f64 >= COSINE_MIN * lengths.sqrt() && inner != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_in_another_order_are_the_same_bag() {
        assert_eq!(Bag::of([1, 2, 3, 3]), Bag::of([3, 1, 3, 2]));
        assert_ne!(Bag::of([1, 2, 3, 3]), Bag::of([1, 2, 3]));
        assert_eq!(Bag::from_bytes(Bag::of([1, 2, 3, 3]).to_bytes()), Bag::of([3, 1, 3, 2]));
        assert_eq!(Bag::of([1, 2, 3, 3]).differing(&Bag::of([3, 1, 3, 2])), 0);
    }

    #[test]
    fn the_number_of_differing_words_is_estimated_without_bias_and_with_the_stated_error() {
        for words in [24u64, 60, 250] {
            let (mut sum, mut squares) = (0.0, 0.0);
            for page in 0..400u64 {
                let from = page * 100_000;
                let own = |side: u64| from + side * 10_000..from + side * 10_000 + words / 2;
                let bag = |side| Bag::of((from..from + 500).chain(own(side)));
                let error = f64::from(bag(1).differing(&bag(2))) / words as f64 - 1.0;
                (sum, squares) = (sum + error, squares + error * error);
            }
            let (bias, error) = (sum / 400.0, (squares / 400.0f64).sqrt());
            assert!(bias.abs() < 0.04, "bias {bias} of {words}");
            assert!((0.20..0.30).contains(&error), "error {error} of {words}");
        }
    }

    #[test]
    fn changes_by_the_same_words_are_alike_and_those_by_others_are_not() {
        // A notice stands on the page as it is printed, and fewer links to its parts.
        let printed = |page: u64, links: usize| {
            let text = || page * 1_000..page * 1_000 + 200;
            let shown = Bag::of(text().chain(std::iter::repeat_n(7, links)));
            shown.change_to(&Bag::of(text().chain(100..126)))
        };
        assert!(printed(1, 2).is_like(&printed(2, 4), 0));
        // A product in another colour has another number, price and stock.
        let coloured = |product: u64| {
            let of = |colour: u64| {
                let own = product * 1_000 + colour * 100..product * 1_000 + colour * 100 + 12;
                Bag::of((0..200).chain(own).chain([colour, colour]))
            };
            of(1).change_to(&of(2))
        };
        let alike = (1..200).filter(|n| coloured(*n).is_like(&coloured(n + 1), 0)).count();
        assert!(alike <= 4, "{alike} of 199");
        let same = Bag::of(0..9).change_to(&Bag::of(0..9));
        assert!(same.words() == 0 && !same.is_like(&same, 0));
        assert!(coloured(1).is_like(&Change(coloured(1).0.map(|count| -count)), 0));
    }

    #[test]
    fn words_that_change_at_each_look_do_not_hide_what_two_changes_have_in_common() {
        let printed = |page: u64| {
            let text = page * 1_000..page * 1_000 + 300;
            let look = |at: u64| (page + at) * 100_000..(page + at) * 100_000 + 16;
            let menu = 100..164;
            let whole = Bag::of(text.clone().chain(menu).chain(look(1)));
            whole.change_to(&Bag::of(text.chain(look(500))))
        };
        let other = |page: u64| {
            Bag::of(0..9).change_to(&Bag::of((0..9).chain(page * 777..page * 777 + 96)))
        };
        let count = |alike: &dyn Fn(u64) -> bool| (1..200).filter(|n| alike(*n)).count();
        let known = count(&|n| printed(n).is_like(&printed(n + 1), 32));
        assert!(known > 180, "{known} of 199");
        assert!(known > count(&|n| printed(n).is_like(&printed(n + 1), 0)) + 60);
        let others = count(&|n| other(n).is_like(&other(n + 1), 32));
        assert!(others <= 4, "{others} of 199");
    }

    #[test]
    fn a_list_around_a_form_is_more_than_an_advertisement_around_a_text() {
        let page = |from: u64, words: u64| Bag::of((0..200).chain(from..from + words));
        assert!(!page(1_000, 30).differs_around(&page(2_000, 30), 200));
        assert!(page(1_000, 300).differs_around(&page(2_000, 300), 200));
        assert!(!page(1_000, 10).differs_around(&page(2_000, 10), 5), "a short text");
    }

    #[test]
    fn a_word_that_comes_very_often_does_not_overflow() {
        let long = Bag::of(std::iter::repeat_n(7, 1_000_000));
        assert_eq!(long.differing(&Bag::of(std::iter::repeat_n(7, 2_000_000))), 0);
        assert_eq!(long.differing(&Bag::of([])), 127 * 127);
    }
}
