//! Similarity of fetched pages: resemblance of their shingles (Broder et al., cited by the paper).

use unicode_normalization::char::is_combining_mark;
use xxhash_rust::xxh3::xxh3_64;

/// How many words one shingle has.
const WIDTH: usize = 4;

/// The distinct shingles of a text, as hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shingles(Box<[u64]>);

impl Shingles {
    /// Returns the shingles of a text: every four words in a row; all words of a shorter text.
    ///
    /// A word is a run of letters, digits and underscores, in any script. Marks end a word, as the
    /// signs of vowels in Indic scripts: so do those that read pages by regular expressions.
    pub fn of(text: &str) -> Self {
        let is_word = |c: char| c == '_' || c.is_alphanumeric() && !is_combining_mark(c);
        let words: Vec<&str> =
            text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect();
        let mut joined = String::new();
        let mut hash = |words: &[&str]| {
            joined.clear();
            for word in words {
                joined.push_str(word);
                joined.push(' ');
            }
            xxh3_64(joined.as_bytes())
        };
        let mut hashes: Vec<u64> = match words.len() < WIDTH {
            true => vec![hash(&words)],
            false => words.windows(WIDTH).map(hash).collect(),
        };
        hashes.sort_unstable();
        hashes.dedup();
        Shingles(hashes.into())
    }

    /// Returns which share of all shingles of two texts both have, from 0 to 1.
    pub fn resemblance(&self, other: &Shingles) -> f64 {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = 0usize;
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            match x.cmp(y) {
                std::cmp::Ordering::Less => drop(a.next()),
                std::cmp::Ordering::Greater => drop(b.next()),
                std::cmp::Ordering::Equal => {
                    both += 1;
                    a.next();
                    b.next();
                }
            }
        }
        both as f64 / (self.0.len() + other.0.len() - both).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &str, b: &str, want: f64) {
        let (a, b) = (Shingles::of(a), Shingles::of(b));
        assert_eq!(a.resemblance(&b), want);
        assert_eq!(b.resemblance(&a), want);
    }

    #[test]
    fn resemblance_is_the_share_of_common_shingles() {
        check("a b c d e", "a, b; c d e", 1.0);
        check("a b c d e", "a b c d f", 1.0 / 3.0);
        check("a b c d", "e f g h", 0.0);
        check("x a a a a a a", "x a a a", 0.5);
        check("", "...", 1.0);
        check("a b", "a b c", 0.0);
        check("día_1 été", "día_1  été", 1.0);
        // The sign of a vowel ends a word, as for `\\w` of Python.
        check("\u{939}\u{93f}\u{928} a b c", "\u{939} \u{928} a b c", 1.0);
    }
}
