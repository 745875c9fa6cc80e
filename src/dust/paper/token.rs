//! Tokens: the letters of the paper's alphabet (section 3).
//!
//! A token is a run of ASCII letters and digits, or any other single character. Two sentinels stand
//! around every URL, so that rules can speak of its beginning and end; they are tokens of their
//! own, apart from the characters `^` and `$`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::support::mix;

/// The text of the token before every URL.
pub const BEGIN: &str = "\u{2}";
/// The text of the token after every URL.
pub const END: &str = "\u{3}";

/// Returns the tokens of a URL, without the sentinels.
pub fn tokens(url: &str) -> Tokens<'_> {
    Tokens { rest: url }
}

/// See [`tokens`].
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let first = *self.rest.as_bytes().first()?;
        let length = if first.is_ascii_alphanumeric() {
            let bytes = self.rest.as_bytes();
            bytes.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(bytes.len())
        } else if first < 0x80 {
            1
        } else {
            self.rest.chars().next().map_or(1, char::len_utf8)
        };
        let (token, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(token)
    }
}

/// Returns tokens as people read them: the sentinels as `^` and `$`.
pub fn display(tokens: &[impl AsRef<str>]) -> String {
    let mut text = String::new();
    for token in tokens {
        text.push_str(match token.as_ref() {
            BEGIN => "^",
            END => "$",
            other => other,
        });
    }
    text
}

/// A number that stands for one token of one list.
pub(super) type TokenId = u32;

/// Numbers below this are single ASCII characters, which need no table.
const ASCII: u32 = 128;
/// Numbers from here on are decimal numbers, which need no table either: what is above this is the
/// number. A list may have a number for each of its URLs, but has few words.
const DECIMAL: u32 = 1 << 31;
/// Any decimal number of so many digits fits beside [`DECIMAL`].
const DIGITS_MAX: usize = 9;

/// The distinct tokens of a URL list, each with its number.
pub(super) struct TokenTable<'a> {
    /// The numbers of tokens of up to eight bytes, by these bytes. Nearly all tokens are that
    /// short, and to know one again nothing else is read.
    short: HashMap<u64, TokenId, Seeded>,
    /// The numbers of the others.
    long: HashMap<&'a str, TokenId, Seeded>,
    texts: Vec<&'a str>,
}

/// Makes hashers that differ from table to table, so that no log can hold tokens chosen to collide.
/// Numbers do not depend on it.
#[derive(Clone, Copy, Default)]
struct Seeded(u64);

impl BuildHasher for Seeded {
    type Hasher = TokenHasher;

    fn build_hasher(&self) -> TokenHasher {
        TokenHasher(self.0)
    }
}

/// Hashes the bytes of a token.
struct TokenHasher(u64);

impl Hasher for TokenHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn write_u64(&mut self, bytes: u64) {
        self.0 = mix(mix(self.0 ^ bytes).wrapping_add(self.0));
    }

    /// What tells strings apart that are hashed one after the other; a token is hashed alone.
    fn write_u8(&mut self, _: u8) {}
}

/// All single ASCII characters in order, so that each is a slice of this text.
const ASCII_TEXT: &str = concat!(
    "\0\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}\u{9}\u{a}\u{b}\u{c}\u{d}\u{e}\u{f}",
    "\u{10}\u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{19}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}",
    "\u{1f} !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`",
    "abcdefghijklmnopqrstuvwxyz{|}~\u{7f}"
);

impl<'a> TokenTable<'a> {
    /// The number of [`BEGIN`].
    pub(super) const BEGIN: TokenId = 2;
    /// The number of [`END`].
    pub(super) const END: TokenId = 3;

    pub(super) fn new() -> Self {
        let seeded = Seeded(RandomState::new().hash_one(0u64));
        TokenTable {
            short: HashMap::with_hasher(seeded),
            long: HashMap::with_hasher(seeded),
            texts: Vec::new(),
        }
    }

    /// Returns the number of a token, a new one if it was not seen before.
    pub(super) fn number(&mut self, token: &'a str) -> TokenId {
        if let [byte] = *token.as_bytes() {
            return TokenId::from(byte);
        }
        if let Some(number) = decimal(token.as_bytes()) {
            return DECIMAL + number;
        }
        let next = ASCII + self.texts.len() as u32;
        let number = match packed(token.as_bytes()) {
            Some(bytes) => *self.short.entry(bytes).or_insert(next),
            None => *self.long.entry(token).or_insert(next),
        };
        if number == next {
            self.texts.push(token);
        }
        number
    }

    /// Frees what only [`TokenTable::number`] needs.
    pub(super) fn close(&mut self) {
        self.short = HashMap::default();
        self.long = HashMap::default();
    }

    /// Returns the text of a token.
    pub(super) fn text(&self, token: TokenId) -> Cow<'a, str> {
        if token >= DECIMAL {
            return Cow::Owned((token - DECIMAL).to_string());
        }
        Cow::Borrowed(match token.checked_sub(ASCII) {
            None => &ASCII_TEXT[token as usize..token as usize + 1],
            Some(index) => self.texts[index as usize],
        })
    }

    /// Returns the texts of several tokens.
    pub(super) fn texts(&self, tokens: &[TokenId]) -> Vec<String> {
        tokens.iter().map(|&token| self.text(token).into_owned()).collect()
    }

    /// Compares token by token, by text.
    pub(super) fn compare(&self, a: &[TokenId], b: &[TokenId]) -> std::cmp::Ordering {
        for (&x, &y) in a.iter().zip(b) {
            if x != y {
                return self.text(x).cmp(&self.text(y));
            }
        }
        a.len().cmp(&b.len())
    }
}

/// Returns a token of up to eight bytes as a number that no other token has: a token of more than
/// one byte has no zero byte, so its length need not be told.
fn packed(token: &[u8]) -> Option<u64> {
    let mut bytes = [0; size_of::<u64>()];
    bytes.get_mut(..token.len())?.copy_from_slice(token);
    Some(u64::from_le_bytes(bytes))
}

/// Returns the number that a token writes, if no other token writes it and it fits.
fn decimal(token: &[u8]) -> Option<u32> {
    if token.len() > DIGITS_MAX || token[0] == b'0' {
        return None;
    }
    token.iter().try_fold(0, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| number * 10 + u32::from(digit))
    })
}

/// Returns whether a string has a proper non-empty border: semiperiodic, by theorem 4.1.
pub(super) fn is_semiperiodic<T: PartialEq>(tokens: &[T]) -> bool {
    (1..tokens.len()).any(|border| tokens[..border] == tokens[tokens.len() - border..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, want: &[&str]) {
        assert_eq!(tokens(url).collect::<Vec<_>>(), want, "{url}");
        assert_eq!(tokens(url).collect::<String>(), url);
    }

    #[test]
    fn a_token_is_a_run_of_letters_and_digits_or_one_other_character() {
        check(
            "http://a.co/b_1?x=",
            &["http", ":", "/", "/", "a", ".", "co", "/", "b", "_", "1", "?", "x", "="],
        );
        check("", &[]);
        check("é1--", &["é", "1", "-", "-"]);
        check("x^$", &["x", "^", "$"]);
    }

    #[test]
    fn the_table_gives_equal_numbers_to_equal_tokens_only() {
        let mut table = TokenTable::new();
        let url = "ab/é/ab/$\u{7f}z~é";
        let numbers: Vec<_> = tokens(url).map(|token| table.number(token)).collect();
        for (number, token) in numbers.iter().zip(tokens(url)) {
            assert_eq!(table.text(*number), token);
        }
        assert_eq!(numbers[0], numbers[4]);
        assert_eq!(numbers[2], *numbers.last().unwrap());
        assert_eq!(table.text(TokenTable::BEGIN), BEGIN);
        assert_eq!(table.text(TokenTable::END), END);
    }

    #[test]
    fn decimal_numbers_are_tokens_like_others() {
        let mut table = TokenTable::new();
        let mut texts = ["10", "99", "100", "a1", "010", "0", "9", "999999999", "1000000000", "1a"];
        let mut numbers = texts.map(|text| table.number(text));
        for (&number, text) in numbers.iter().zip(texts) {
            assert_eq!(table.text(number), text);
        }
        assert_eq!(numbers, texts.map(|text| table.number(text)));
        texts.sort_unstable();
        numbers.sort_unstable_by(|&a, &b| table.compare(&[a], &[b]));
        assert_eq!(table.texts(&numbers), texts);
    }

    #[test]
    fn semiperiodic_strings_are_those_the_paper_names() {
        for (text, want) in [
            ("/////", true),
            ("a.a.a", true),
            ("/people/", true),
            ("a.a.b", false),
            ("%////", false),
            ("a", false),
            ("", false),
        ] {
            assert_eq!(is_semiperiodic(&tokens(text).collect::<Vec<_>>()), want, "{text}");
        }
    }

    #[test]
    fn sentinels_are_shown_as_the_paper_writes_them() {
        assert_eq!(display(&[BEGIN, "a", "/", END]), "^a/$");
    }
}
