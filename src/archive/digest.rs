//! SHA-1 in base 32, the form of digest that replay tools compare.

use data_encoding::BASE32;
use sha1::{Digest as _, Sha1};

/// A digest in the making.
#[derive(Clone, Default)]
pub(super) struct Hasher(Sha1);

impl Hasher {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn finish(self) -> String {
        label(&self.0.finalize())
    }
}

fn label(digest: &[u8]) -> String {
    format!("sha1:{}", BASE32.encode(digest))
}

/// Returns the payload digest of a payload as WARC records carry it: `sha1:` and 32 letters.
pub fn payload_digest(payload: &[u8]) -> String {
    label(&Sha1::digest(payload))
}

/// Returns the digest of several pieces that follow one another.
pub(super) fn digest_of(pieces: &[&[u8]]) -> String {
    let mut hasher = Hasher::default();
    for piece in pieces {
        hasher.update(piece);
    }
    hasher.finish()
}

/// A digest that a record states, of any algorithm that is in use.
pub(super) enum Stated {
    Sha1(Hasher, Vec<u8>),
    Sha256(Box<sha2::Sha256>, Vec<u8>),
    /// An algorithm or form that cannot be checked here.
    Unknown,
}

impl Stated {
    /// Reads `algorithm:value`, the value in base 32 or hexadecimal.
    pub(super) fn parse(text: &str) -> Stated {
        let Some((algorithm, value)) = text.trim().split_once(':') else { return Stated::Unknown };
        let algorithm = algorithm.to_ascii_lowercase().replace('-', "");
        let length = match algorithm.as_str() {
            "sha1" => 20,
            "sha256" => 32,
            _ => return Stated::Unknown,
        };
        match (decode(value, length), length) {
            (Some(want), 20) => Stated::Sha1(Hasher::default(), want),
            (Some(want), _) => Stated::Sha256(Box::default(), want),
            (None, _) => Stated::Unknown,
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Stated::Sha1(hasher, _) => hasher.update(bytes),
            Stated::Sha256(hasher, _) => hasher.update(bytes),
            Stated::Unknown => {}
        }
    }

    /// Returns whether the bytes seen have the stated digest; `None` if it cannot be checked.
    pub(super) fn holds(self) -> Option<bool> {
        match self {
            Stated::Sha1(hasher, want) => Some(hasher.0.finalize()[..] == want[..]),
            Stated::Sha256(hasher, want) => Some(hasher.finalize()[..] == want[..]),
            Stated::Unknown => None,
        }
    }
}

fn decode(value: &str, length: usize) -> Option<Vec<u8>> {
    let hex = || data_encoding::HEXLOWER_PERMISSIVE.decode(value.as_bytes()).ok();
    let base32 = || {
        let bare = value.trim_end_matches('=').to_ascii_uppercase();
        data_encoding::BASE32_NOPAD.decode(bare.as_bytes()).ok()
    };
    hex().filter(|bytes| bytes.len() == length).or_else(|| base32().filter(|b| b.len() == length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_well_known_one() {
        assert_eq!(payload_digest(b""), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(digest_of(&[b"a", b"", b"b"]), payload_digest(b"ab"));
    }

    #[test]
    fn stated_digests_are_checked_in_each_form() {
        fn check(stated: &str, bytes: &[u8], want: Option<bool>) {
            let mut digest = Stated::parse(stated);
            digest.update(bytes);
            assert_eq!(digest.holds(), want, "{stated}");
        }
        check("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", b"", Some(true));
        check("sha1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj", b"", Some(true));
        check("SHA-1:da39a3ee5e6b4b0d3255bfef95601890afd80709", b"", Some(true));
        check("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", b"x", Some(false));
        let sha256 = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        check(sha256, b"", Some(true));
        check("md5:d41d8cd98f00b204e9800998ecf8427e", b"", None);
        check("nonsense", b"", None);
    }
}
