//! Digests: the exact side of "content seen?".
//!
//! [`PayloadDigest`] is SHA-1 of the payload, as WARC writes it; [`TextDigest`] is xxh3-128 of the
//! hashes of the folded words of the main text. The first says that the bytes are the same, the
//! second that a reader would find the same words. SHA-1 is what archives compare by; neither is a
//! defence against an author who wants a collision, who could at worst hide a page of his own.

use std::fmt;
use std::str::FromStr;

use sha1::{Digest, Sha1};
use xxhash_rust::xxh3::Xxh3Default;

/// SHA-1 of a payload after its transfer coding was taken off.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PayloadDigest([u8; 20]);

impl PayloadDigest {
    /// Returns the digest of `payload`.
    pub fn of(payload: &[u8]) -> Self {
        let mut bytes = [0; 20];
        bytes.copy_from_slice(Sha1::digest(payload).as_slice());
        PayloadDigest(bytes)
    }

    /// Returns the digest that was computed elsewhere, while the payload came in.
    pub fn from_bytes(bytes: [u8; 20]) -> Self {
        PayloadDigest(bytes)
    }

    /// Returns the 20 bytes.
    pub fn bytes(&self) -> &[u8; 20] {
        &self.0
    }
}

/// `sha1:` and base 32, the form of WARC headers.
impl fmt::Display for PayloadDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha1:{}", data_encoding::BASE32.encode(&self.0))
    }
}

impl fmt::Debug for PayloadDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// xxh3-128 of the words of a text: of their 64-bit hashes, little-endian.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct TextDigest([u8; 16]);

impl TextDigest {
    /// Returns the digest of `text`, whatever its layout, case and punctuation.
    pub fn of(text: &str) -> Self {
        let words = super::Words::of(text);
        let mut digester = TextDigester::default();
        digester.push(words.hashes());
        digester.finish()
    }

    /// Returns the digest with these bytes, as [`TextDigest::bytes`] gave them.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        TextDigest(bytes)
    }

    /// Returns the 16 bytes.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns the first 8 bytes as a number, for tables that can bear one mistake in 2^64.
    pub fn short(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}

impl fmt::Display for TextDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TextDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TextDigest({self})")
    }
}

impl From<TextDigest> for String {
    fn from(digest: TextDigest) -> String {
        digest.to_string()
    }
}

impl TryFrom<String> for TextDigest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for TextDigest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok();
        let bytes = bytes.and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
        bytes.map(TextDigest).ok_or_else(|| "a text digest has 32 hexadecimal digits".to_owned())
    }
}

/// Builds a [`TextDigest`] from the hashes of words.
#[derive(Clone)]
pub(super) struct TextDigester(Xxh3Default);

impl Default for TextDigester {
    fn default() -> Self {
        TextDigester(Xxh3Default::new())
    }
}

impl TextDigester {
    pub(super) fn push(&mut self, words: &[u64]) {
        let mut bytes = [0; 512];
        for words in words.chunks(bytes.len() / 8) {
            for (word, bytes) in words.iter().zip(bytes.chunks_exact_mut(8)) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
            self.0.update(&bytes[..8 * words.len()]);
        }
    }

    pub(super) fn finish(&self) -> TextDigest {
        TextDigest(self.0.digest128().to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_digests_are_written_as_archives_write_them() {
        let digest = PayloadDigest::of(b"abc");
        assert_eq!(digest.to_string(), "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5");
        assert_eq!(PayloadDigest::from_bytes(*digest.bytes()), digest);
    }

    #[test]
    fn the_same_words_have_the_same_digest() {
        let digest = TextDigest::of("Hello,   World!");
        assert_eq!(digest, TextDigest::of("hello world"));
        assert_ne!(digest, TextDigest::of("hello worl d"));
        assert_ne!(digest, TextDigest::of("world hello"));
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(TextDigest::from_bytes(*digest.bytes()), digest);
        assert!("12".parse::<TextDigest>().is_err());
    }

    #[test]
    fn the_digest_is_the_same_on_every_machine() {
        assert_eq!(TextDigest::of("").to_string(), "99aa06d3014798d86001c324468d497f");
    }
}
