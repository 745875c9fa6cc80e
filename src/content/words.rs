//! Words of a text: folded, hashed and marked, cheaply enough for every page of a crawl.
//!
//! A word is a run of letters and digits, lower-cased; where it is not plain ASCII also brought to
//! NFKC, so that `é` written as one or as two characters is the same word. Scripts that put no
//! spaces between words (Han, Kana, Thai, Lao, Khmer, Burmese) give one word for each run of
//! [`gram_of`] characters, overlapping: no dictionary, and an edit of one character touches only
//! the runs around it.
//!
//! Does not stem, drop stop words or guess a language: the same bytes must give the same words on
//! every version of this crate, or stored sketches stop being comparable.

use super::shingle::mix;
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// The word every number becomes where a template is looked for: counters and dates change, the
/// words around them do not.
const NUMBER: u64 = 0x6e75_6d62_6572_0001;

/// A sequence of words, each as a hash of its folded form, of which the lowest bit says whether it
/// starts with a digit: a number, a date, a price, a version.
#[derive(Clone, Debug, Default)]
pub struct Words {
    hashes: Vec<u64>,
    /// A run of one script while it is folded.
    run: String,
}

impl Words {
    /// Returns the words of `text`.
    pub fn of(text: &str) -> Words {
        let mut words = Words::default();
        words.push_text(text, usize::MAX);
        words
    }

    /// Empties the sequence, keeping its memory.
    pub fn clear(&mut self) {
        self.hashes.clear();
    }

    /// Appends the words of `text` until the sequence holds `words_max`; returns how many came.
    pub fn push_text(&mut self, text: &str, words_max: usize) -> usize {
        let before = self.len();
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() && self.len() < words_max {
            let start = at;
            let mut word = Hasher::default();
            let mut class = SEPARATOR;
            // Eight bytes at once, as far as they are letters and digits: most words are one look.
            while let Some(eight) = bytes[at..].first_chunk() {
                let came = word.push_eight(*eight);
                at += came;
                if came < 8 {
                    break;
                }
            }
            while at < bytes.len() {
                class = FOLDED[usize::from(bytes[at])];
                if class >= SEPARATOR {
                    break;
                }
                word.push(class);
                at += 1;
            }
            if at < bytes.len() && class == NOT_ASCII {
                let length = text[at..].find(|c: char| !is_word_char(c));
                let end = length.map_or(bytes.len(), |length| at + length);
                if end > at {
                    self.push_unicode(&text[start..end]);
                    at = end;
                    continue;
                }
                at += char_len(bytes[at]);
            } else {
                at += 1;
            }
            if let Some(hash) = word.finish() {
                self.hashes.push(hash);
            }
        }
        self.hashes.truncate(words_max);
        self.len() - before
    }

    /// Returns the number of words.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Returns the hash of every word, in order.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// Returns the hash of word `index`, where every number is the same word.
    pub fn masked(&self, index: usize) -> u64 {
        if self.is_number(index) { NUMBER } else { self.hashes[index] }
    }

    /// Whether word `index` starts with a digit.
    pub fn is_number(&self, index: usize) -> bool {
        Words::is_number_hash(self.hashes[index])
    }

    /// Whether the word with this hash starts with a digit.
    pub(super) fn is_number_hash(hash: u64) -> bool {
        hash & 1 == 1
    }

    /// Appends the words of a run of word characters of which some are not ASCII.
    fn push_unicode(&mut self, run: &str) {
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let gram = gram_of(first);
            let length = rest.find(|c| gram_of(c) != gram).unwrap_or(rest.len());
            let (part, after) = rest.split_at(length);
            match gram {
                0 => self.push_folded(part),
                gram => self.push_grams(part, gram),
            }
            rest = after;
        }
    }

    fn push_folded(&mut self, word: &str) {
        self.run.clear();
        let kept = |c: &char| !is_ignorable(*c);
        if is_nfkc_quick(word.chars()) == IsNormalized::Yes {
            self.run.extend(word.chars().flat_map(char::to_lowercase).filter(kept));
        } else {
            self.run.extend(word.nfkc().flat_map(char::to_lowercase).filter(kept));
        }
        self.hashes.extend(Hasher::of(self.run.as_bytes()).finish());
    }

    fn push_grams(&mut self, run: &str, gram: usize) {
        let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).collect();
        for window in 0..(starts.len() + 1).saturating_sub(gram).max(1) {
            let end = starts.get(window + gram).copied().unwrap_or(run.len());
            self.hashes.extend(Hasher::of(&run.as_bytes()[starts[window]..end]).finish());
        }
    }
}

/// Hashes a word byte by byte, eight at a time: two words of up to seven bytes never collide, and
/// longer ones by chance only.
#[derive(Clone, Copy, Default)]
struct Hasher {
    state: u64,
    /// The bytes since the last multiple of eight.
    bytes: u64,
    len: u32,
    first: u8,
}

impl Hasher {
    fn of(bytes: &[u8]) -> Hasher {
        let mut word = Hasher::default();
        bytes.iter().for_each(|byte| word.push(*byte));
        word
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        if self.len == 0 {
            self.first = byte;
        }
        self.bytes |= u64::from(byte) << (8 * (self.len & 7));
        self.len = self.len.wrapping_add(1);
        if self.len & 7 == 0 {
            self.state = mix(self.state ^ self.bytes);
            self.bytes = 0;
        }
    }

    /// Takes the letters and digits of ASCII that eight bytes begin with, folded, as that many
    /// calls of [`Hasher::push`] would; returns how many there are. To be called where a multiple
    /// of eight was taken before.
    #[inline]
    fn push_eight(&mut self, eight: [u8; 8]) -> usize {
        let bytes = u64::from_le_bytes(eight);
        let letters = letters_of(bytes);
        let others = !(letters | digits_of(bytes)) & HIGHEST;
        let count = others.trailing_zeros() / 8;
        // A capital letter and its small one differ in the bit two places below the highest.
        let folded = bytes | letters >> 2;
        if self.len == 0 {
            self.first = folded as u8;
        }
        self.len = self.len.wrapping_add(count);
        if count == 8 {
            self.state = mix(self.state ^ folded);
        } else {
            self.bytes = folded & !(u64::MAX << (8 * count));
        }
        count as usize
    }

    #[inline]
    fn finish(self) -> Option<u64> {
        // At most seven bytes are left, so the highest byte is free for the length.
        let hash = mix(self.state ^ self.bytes ^ u64::from(self.len) << 56 ^ SEED);
        let number = u64::from(self.first.is_ascii_digit());
        (self.len > 0).then_some(hash & !1 | number)
    }
}

/// Keeps the empty state from being zero.
const SEED: u64 = 0x776f_7264_7320_3100;

/// Classes of bytes from this on are no letters or digits of ASCII.
const SEPARATOR: u8 = 0x80;
const NOT_ASCII: u8 = 0xff;

/// Every byte folded: letters in lower case, digits; the rest as classes.
const FOLDED: [u8; 256] = {
    let mut table = [SEPARATOR; 256];
    let mut byte = 0;
    while byte < 256 {
        let ascii = byte as u8;
        if ascii.is_ascii_alphanumeric() {
            table[byte] = ascii.to_ascii_lowercase();
        } else if byte >= 0x80 {
            table[byte] = NOT_ASCII;
        }
        byte += 1;
    }
    table
};

/// The highest bit of each of eight bytes, and their lowest.
const HIGHEST: u64 = 0x8080_8080_8080_8080;
const LOWEST: u64 = 0x0101_0101_0101_0101;

/// Returns the highest bits of those of eight bytes that are letters of ASCII.
fn letters_of(bytes: u64) -> u64 {
    within(bytes | (0x20 * LOWEST), b'a', b'z') & !bytes
}

/// Returns the highest bits of those of eight bytes that are digits.
fn digits_of(bytes: u64) -> u64 {
    within(bytes, b'0', b'9') & !bytes
}

/// Returns the highest bits of those of eight bytes whose other bits are from `low` to `high`: the
/// sums, none of which reaches the next byte, pass the highest bit where a bound is passed.
fn within(bytes: u64, low: u8, high: u8) -> u64 {
    let bytes = bytes & !HIGHEST;
    let from_low = bytes + u64::from(0x80 - low) * LOWEST;
    let above_high = bytes + u64::from(0x7f - high) * LOWEST;
    from_low & !above_high & HIGHEST
}

/// Returns how many characters make one word in the script of `c`, or 0 where spaces do.
///
/// Three for Han and Kana, where most words have one or two characters; five for the alphabets
/// written without spaces, where most have three to six.
fn gram_of(c: char) -> usize {
    match c as u32 {
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff => 5,
        0x3005..=0x3007 | 0x3040..=0x30ff | 0x31f0..=0x31ff => 3,
        0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x323af => 3,
        _ => 0,
    }
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c) || is_ignorable(c)
}

/// Characters that are invisible inside a word: soft hyphen, joiners, variation selectors.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}')
}

fn char_len(first_byte: u8) -> usize {
    match first_byte {
        0..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that `text` has the words `want`, each of them folded already.
    fn check(text: &str, want: &[&str]) {
        let hash = |word: &&str| Hasher::of(word.as_bytes()).finish().unwrap();
        let want_hashes: Vec<u64> = want.iter().map(hash).collect();
        assert_eq!(Words::of(text).hashes(), want_hashes, "{text:?} {want:?}");
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        check("The  Quick, brown\tFOX-42!", &["the", "quick", "brown", "fox", "42"]);
        check("", &[]);
        check("... -- !", &[]);
        check("naïve CAFÉ Straße", &["naïve", "café", "straße"]);
        check("Привет, МИР", &["привет", "мир"]);
        check("«été»", &["été"]);
        check("half x² done", &["half", "x2", "done"]);
    }

    #[test]
    fn composed_and_decomposed_letters_are_the_same_word() {
        assert_eq!(Words::of("caf\u{e9}").hashes(), Words::of("cafe\u{301}").hashes());
        assert_eq!(Words::of("ex\u{ad}ample").hashes(), Words::of("Example").hashes());
        assert_eq!(Words::of("ｆｕｌｌ").hashes(), Words::of("full").hashes());
    }

    #[test]
    fn scripts_without_spaces_give_overlapping_runs() {
        check("東京都に", &["東京都", "京都に"]);
        check("東京都庁舎", &["東京都", "京都庁", "都庁舎"]);
        check("東京", &["東京"]);
        check("abc東京都", &["abc", "東京都"]);
        check("ภาษาไทย", &["ภาษาไ", "าษาไท", "ษาไทย"]);
    }

    #[test]
    fn numbers_are_marked_and_look_alike_when_masked() {
        let words = Words::of("page 12 of 340, 3rd v2");
        let marks: Vec<bool> = (0..words.len()).map(|at| words.is_number(at)).collect();
        assert_eq!(marks, [false, true, false, true, true, false]);
        assert_eq!(words.masked(1), words.masked(3));
        assert_ne!(words.masked(0), words.masked(2));
    }

    #[test]
    fn eight_bytes_at_once_give_the_words_of_one_at_a_time() {
        let mut state = 7u64;
        for round in 0..20_000u64 {
            let mut bytes = [0; 8];
            for byte in &mut bytes {
                state = mix(state.wrapping_add(round));
                // Every byte, those around the letters and digits often.
                let near = b"azAZ09/:@[`{ \x7f\x80\xff"[state as usize % 16];
                *byte = if state >> 32 & 3 == 0 { (state >> 40) as u8 } else { near };
            }
            let word = bytes.iter().map(|byte| FOLDED[usize::from(*byte)]);
            let word: Vec<u8> = word.take_while(|class| *class < SEPARATOR).collect();
            let mut at_once = Hasher::default();
            assert_eq!(at_once.push_eight(bytes), word.len(), "{bytes:x?}");
            assert_eq!(at_once.finish(), Hasher::of(&word).finish(), "{bytes:x?}");
        }
    }

    #[test]
    fn a_run_is_one_word_however_long() {
        let long = "a".repeat(100_000);
        assert_eq!(Words::of(&long).len(), 1);
        assert_ne!(Words::of(&long).hashes(), Words::of(&long[1..]).hashes());
    }

    #[test]
    fn words_of_any_length_have_hashes_of_their_own() {
        let text = "abcdefghijklmnopqrstuvwxyz";
        let mut all: Vec<u64> = (1..=26)
            .flat_map(|len| (0..=26 - len).map(move |at| &text[at..at + len]))
            .map(|word| Words::of(word).hashes()[0])
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 26 * 27 / 2);
    }

    #[test]
    fn dashes_and_quotes_of_typographers_part_words() {
        check("it’s – “so” naïve—yes", &["it", "s", "so", "naïve", "yes"]);
        check("é", &["é"]);
        check("—", &[]);
    }

    #[test]
    fn the_bound_on_words_is_kept() {
        let mut words = Words::default();
        assert_eq!(words.push_text("a b c d e", 3), 3);
        assert_eq!(words.push_text("f g", 3), 0);
    }
}
