//! Numbers and words that only a seed decides: the same on every machine, for ever.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Mixes two numbers into one that looks random (the finalizer of SplitMix64).
pub(super) fn mix(a: u64, b: u64) -> u64 {
    let mut z = a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Hashes a text under a seed.
pub(super) fn hash(seed: u64, text: &str) -> u64 {
    hash_bytes(seed, text.as_bytes())
}

/// Hashes bytes under a seed.
pub(super) fn hash_bytes(seed: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}

/// A sequence of numbers from one seed (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Draw(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0, 0)
    }

    /// Returns a number below `n`, or zero where `n` is zero.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        // The high half of a product: no division, and a bias too small to matter here.
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// Syllables of the language that the synthetic web is written in.
const SYLLABLES: [&str; 64] = [
    "ba", "be", "bo", "ca", "ce", "co", "da", "de", "di", "do", "fa", "fe", "fi", "ga", "go", "ha",
    "he", "hi", "ja", "jo", "ka", "ke", "ki", "la", "le", "li", "lo", "lu", "ma", "me", "mi", "mo",
    "mu", "na", "ne", "ni", "no", "nu", "pa", "pe", "pi", "po", "ra", "re", "ri", "ro", "ru", "sa",
    "se", "si", "so", "su", "ta", "te", "ti", "to", "tu", "va", "ve", "vi", "vo", "za", "zen",
    "zur",
];

/// Words of the language.
const WORDS: u64 = 1 << 13;

/// Appends word `k` of the language.
fn push_word(out: &mut String, k: u64) {
    let syllable = |at: u64| SYLLABLES[(at & 63) as usize];
    out.push_str(syllable(k));
    out.push_str(syllable(k >> 6));
    if k & (1 << 12) != 0 {
        out.push_str(syllable(k.wrapping_mul(7).wrapping_add(3) >> 2));
    }
}

/// Returns the word that a hash stands for.
pub(super) fn word(hash: u64) -> String {
    let mut out = String::with_capacity(8);
    push_word(&mut out, hash % WORDS);
    out
}

/// Appends one paragraph of `words` words, more frequent and rarer ones as in a real language.
pub(super) fn push_paragraph(out: &mut String, draw: &mut Draw, words: u64) {
    let mut left_in_sentence = 0;
    for n in 0..words {
        let first = left_in_sentence == 0;
        if first {
            left_in_sentence = 8 + draw.below(9);
        }
        let at = out.len();
        let bits = draw.next();
        // The product of two draws favours small numbers: some words come often, most rarely.
        push_word(out, ((bits & 0xffff) * ((bits >> 16) & 0xffff) * WORDS) >> 32);
        if first {
            out[at..at + 1].make_ascii_uppercase();
        }
        left_in_sentence -= 1;
        let last = n + 1 == words;
        if last || left_in_sentence == 0 {
            left_in_sentence = 0;
            out.push('.');
        }
        if !last {
            out.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_every_word() {
        let text = |seed| {
            let mut out = String::new();
            push_paragraph(&mut out, &mut Draw::new(seed), 40);
            out
        };
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
        assert_eq!(text(1).split(' ').count(), 40);
        assert!(text(1).ends_with('.') && text(1).starts_with(|c: char| c.is_ascii_uppercase()));
    }

    #[test]
    fn draws_stay_below_their_bound() {
        let mut draw = Draw::new(7);
        assert!((0..10_000).all(|_| draw.below(10) < 10));
        assert_eq!(draw.below(0), 0);
    }
}
