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

use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use xxhash_rust::xxh3::xxh3_64;

/// The word every number becomes where a template is looked for: counters and dates change, the
/// words around them do not.
const NUMBER: u64 = 0x6e75_6d62_6572_0000;

/// The longest word kept, in bytes after folding; the rest of it is cut off. Longer runs are
/// base64 and the like: their first part tells them apart as well as the whole.
const WORD_BYTES_MAX: usize = 64;

/// A sequence of folded words: their hashes, which of them are numbers, and their text.
#[derive(Clone, Debug, Default)]
pub struct Words {
    folded: Vec<u8>,
    ends: Vec<u32>,
    hashes: Vec<u64>,
    numbers: Vec<bool>,
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
        self.folded.clear();
        self.ends.clear();
        self.hashes.clear();
        self.numbers.clear();
    }

    /// Appends the words of `text` until the sequence holds `words_max`; returns how many came.
    pub fn push_text(&mut self, text: &str, words_max: usize) -> usize {
        let before = self.len();
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() && self.len() < words_max {
            let byte = bytes[at];
            if byte.is_ascii_alphanumeric() {
                at = self.push_run(text, at);
            } else if byte < 0x80 {
                at += 1;
            } else {
                at = self.push_run(text, at).max(at + char_len(byte));
            }
        }
        self.truncate(words_max);
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
        if self.numbers[index] { NUMBER } else { self.hashes[index] }
    }

    /// Whether word `index` starts with a digit: a number, a date, a price, a version.
    pub fn is_number(&self, index: usize) -> bool {
        self.numbers[index]
    }

    /// Returns the folded bytes of word `index`.
    pub fn folded(&self, index: usize) -> &[u8] {
        let text = self.folded_text(index, index + 1);
        &text[..text.len() - 1]
    }

    /// Returns the folded bytes of the words `start..end`, one space after each.
    pub(super) fn folded_text(&self, start: usize, end: usize) -> &[u8] {
        let at = |index: usize| if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.folded[at(start)..at(end)]
    }

    fn truncate(&mut self, len: usize) {
        if self.len() > len {
            self.hashes.truncate(len);
            self.numbers.truncate(len);
            self.ends.truncate(len);
            self.folded.truncate(self.ends.last().map_or(0, |end| *end as usize));
        }
    }

    /// Appends the run of word characters that starts at `start`; returns where it ends.
    fn push_run(&mut self, text: &str, start: usize) -> usize {
        let bytes = text.as_bytes();
        let mut end = start;
        while end < bytes.len() && bytes[end].is_ascii_alphanumeric() {
            end += 1;
        }
        if end == bytes.len() || bytes[end] < 0x80 {
            let from = self.folded.len();
            self.folded.extend_from_slice(&bytes[start..end.min(start + WORD_BYTES_MAX)]);
            self.folded[from..].make_ascii_lowercase();
            self.close_word(from);
            return end;
        }
        let length = text[start..].find(|c: char| !is_word_char(c)).unwrap_or(text.len() - start);
        self.push_unicode(&text[start..start + length]);
        start + length
    }

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
        let from = self.folded.len();
        let mut space = [0; 4];
        let mut push = |c: char| {
            if self.folded.len() - from < WORD_BYTES_MAX && !is_ignorable(c) {
                self.folded.extend_from_slice(c.encode_utf8(&mut space).as_bytes());
            }
        };
        if is_nfkc_quick(word.chars()) == IsNormalized::Yes {
            word.chars().flat_map(char::to_lowercase).for_each(&mut push);
        } else {
            word.nfkc().flat_map(char::to_lowercase).for_each(&mut push);
        }
        self.close_word(from);
    }

    fn push_grams(&mut self, run: &str, gram: usize) {
        let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).collect();
        for window in 0..(starts.len() + 1).saturating_sub(gram).max(1) {
            let from = self.folded.len();
            let end = starts.get(window + gram).copied().unwrap_or(run.len());
            self.folded.extend_from_slice(&run.as_bytes()[starts[window]..end]);
            self.close_word(from);
        }
    }

    fn close_word(&mut self, from: usize) {
        let word = &self.folded[from..];
        if word.is_empty() {
            return;
        }
        self.hashes.push(xxh3_64(word));
        self.numbers.push(word[0].is_ascii_digit());
        self.folded.push(b' ');
        self.ends.push(u32::try_from(self.folded.len()).unwrap_or(u32::MAX));
    }
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

    fn check(text: &str, want: &[&str]) {
        let words = Words::of(text);
        let got: Vec<&str> =
            (0..words.len()).map(|at| std::str::from_utf8(words.folded(at)).unwrap()).collect();
        assert_eq!(got, want, "{text:?}");
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
    fn a_long_run_is_one_word_of_bounded_length() {
        let words = Words::of(&"a".repeat(100_000));
        assert_eq!((words.len(), words.folded(0).len()), (1, WORD_BYTES_MAX));
    }

    #[test]
    fn the_bound_on_words_is_kept() {
        let mut words = Words::default();
        assert_eq!(words.push_text("a b c d e", 3), 3);
        assert_eq!(words.push_text("f g", 3), 0);
    }
}
