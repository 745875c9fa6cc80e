//! Shingles: hashes of every window of `w` words, the set by which two texts are compared.
//!
//! The resemblance of two texts is the share of shingles they have in common: the size of the
//! intersection over the size of the union [Broder 1997]. Windows never cross the end of a piece
//! of text (a paragraph, a list item, a row of cells), so that the same list in another order is
//! the same set. A piece shorter than `w` words is one shingle.
//!
//! `w` is 4: see the table in the module's front page.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A run of words that belong together: `start..end` in a [`super::Words`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Piece {
    pub(super) fn len(self) -> usize {
        self.end - self.start
    }
}

/// Fewer distinct shingles than this are no evidence that two texts are alike: such a page is
/// *thin*. Error messages and login forms that are left with a dozen words of their own look like
/// each other by chance.
pub const THIN_SHINGLES: usize = 8;

/// Odd, and without short cycles in its powers: the base of the rolling hash.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes the bits of `x`: a bijection, so distinct inputs stay distinct (finalizer of splitmix64).
pub(super) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Calls `each(first, width, shingle)` for every window of `width` words of `piece`, of which
/// `word(i)` is word `i`; a piece of fewer words is one window of its own length.
pub(super) fn for_each_shingle(
    piece: Piece,
    width: usize,
    word: impl Fn(usize) -> u64,
    mut each: impl FnMut(usize, usize, u64),
) {
    let width = width.max(1).min(piece.len());
    if width == 0 {
        return;
    }
    let leaving = (1..width).fold(1u64, |power, _| power.wrapping_mul(BASE));
    let grown = |rolling: u64, at: usize| rolling.wrapping_mul(BASE).wrapping_add(word(at));
    let full = piece.start + width - 1;
    let mut rolling = (piece.start..full).fold(0, grown);
    for at in full..piece.end {
        let first = at + 1 - width;
        rolling = grown(rolling, at);
        each(first, width, mix(rolling));
        rolling = rolling.wrapping_sub(word(first).wrapping_mul(leaving));
    }
}

/// Returns the shingles of a text, in order and with repeats.
///
/// For comparisons outside a crawl (two files side by side); a crawl goes through
/// [`super::Content::analyse`], which sets boilerplate aside first.
pub fn shingles(text: &str, width: usize) -> Vec<u64> {
    let words = super::Words::of(text);
    let mut out = Vec::with_capacity(words.len());
    let piece = Piece { start: 0, end: words.len() };
    for_each_shingle(piece, width, |at| words.hashes()[at], |_, _, shingle| out.push(shingle));
    out
}

/// Whether `shingles` holds fewer than [`THIN_SHINGLES`] distinct values.
pub fn is_thin(shingles: &[u64]) -> bool {
    let mut seen = [0u64; THIN_SHINGLES];
    let mut count = 0;
    for shingle in shingles {
        if !seen[..count].contains(shingle) {
            seen[count] = *shingle;
            count += 1;
            if count == THIN_SHINGLES {
                return false;
            }
        }
    }
    true
}

/// Returns the exact resemblance of two sets of shingles, 0 where both are empty.
pub fn resemblance(a: &[u64], b: &[u64]) -> f64 {
    let (a, b) = (distinct(a), distinct(b));
    let common = a.iter().filter(|shingle| b.binary_search(shingle).is_ok()).count();
    let union = a.len() + b.len() - common;
    if union == 0 { 0.0 } else { common as f64 / union as f64 }
}

/// Returns the share of the shingles of `a` that are also in `b`, 0 where `a` is empty.
pub fn containment(a: &[u64], b: &[u64]) -> f64 {
    let (a, b) = (distinct(a), distinct(b));
    let common = a.iter().filter(|shingle| b.binary_search(shingle).is_ok()).count();
    if a.is_empty() { 0.0 } else { common as f64 / a.len() as f64 }
}

/// Returns the `k` least values of the shingles, each under a permutation of its own: the min-hash
/// list of the classic crawl log, first-come comparable position by position. Empty for no
/// shingles.
///
/// It costs `k` hashes for each shingle; [`super::Bins`] gives the same accuracy for one.
pub fn min_hashes(shingles: &[u64], k: usize) -> Vec<u64> {
    if shingles.is_empty() {
        return Vec::new();
    }
    let least = |seed: u64| shingles.iter().map(|shingle| mix(shingle ^ seed)).min().unwrap_or(0);
    (0..k as u64).map(|nth| least(xxh3_64_with_seed(b"min-hash", nth))).collect()
}

/// Writes a min-hash list as the sketch column of a crawl log: hexadecimal with commas between,
/// `-` for an empty list.
pub fn min_hashes_text(hashes: &[u64]) -> String {
    if hashes.is_empty() {
        return "-".to_owned();
    }
    let words: Vec<String> = hashes.iter().map(|hash| format!("{hash:016x}")).collect();
    words.join(",")
}

fn distinct(shingles: &[u64]) -> Vec<u64> {
    let mut sorted = shingles.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_every_four_words_is_a_shingle() {
        assert_eq!(shingles("a b c d e f", 4).len(), 3);
        assert_eq!(shingles("a b c", 4).len(), 1);
        assert_eq!(shingles("", 4).len(), 0);
        assert_eq!(shingles("a b c d", 4)[0], shingles("x a b c d", 4)[1]);
        assert_ne!(shingles("a b c d", 4), shingles("b a c d", 4));
        assert_ne!(shingles("a b", 4), shingles("a b a b", 4));
    }

    #[test]
    fn resemblance_and_containment_are_shares_of_sets() {
        let (a, b) = (shingles("a b c d e f g", 4), shingles("a b c d e f x", 4));
        assert_eq!(resemblance(&a, &b), 3.0 / 5.0);
        assert_eq!(containment(&a[..2], &b), 1.0);
        assert_eq!(resemblance(&[], &[]), 0.0);
        assert_eq!(resemblance(&a, &a), 1.0);
    }

    #[test]
    fn one_phrase_repeated_for_ever_is_thin() {
        let text = "buy it now please ".repeat(1000);
        assert!(is_thin(&shingles(&text, 4)));
        assert!(is_thin(&shingles("one two three four five six seven eight nine ten", 4)));
        assert!(!is_thin(&shingles("one two three four five six seven eight nine ten 11", 4)));
    }

    #[test]
    fn min_hash_lists_agree_position_by_position_as_often_as_the_texts_resemble() {
        let text: Vec<String> = (0..400).map(|n| format!("w{n}")).collect();
        let mut other = text.clone();
        other.truncate(300);
        let (a, b) = (shingles(&text.join(" "), 4), shingles(&other.join(" "), 4));
        let (x, y) = (min_hashes(&a, 512), min_hashes(&b, 512));
        let equal = x.iter().zip(&y).filter(|(x, y)| x == y).count() as f64 / 512.0;
        assert!((equal - resemblance(&a, &b)).abs() < 0.06, "{equal}");
        assert_eq!(min_hashes_text(&[1, 0xabc]), "0000000000000001,0000000000000abc");
        assert_eq!(min_hashes_text(&min_hashes(&[], 4)), "-");
    }
}
