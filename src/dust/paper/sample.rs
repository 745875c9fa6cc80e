//! Samples without replacement, in an order that any language can repeat.

use super::support::mix;

/// Returns the 64-bit FNV-1a hash of a text.
pub fn fnv1a64(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A URL list from which samples are drawn.
pub(super) struct Urn<'a> {
    urls: &'a [&'a str],
    hashes: Vec<u64>,
}

/// How many URLs the first step of a draw puts in order; each further step takes four times more.
const FIRST_STEP: usize = 256;

impl<'a> Urn<'a> {
    pub(super) fn new(urls: &'a [&'a str]) -> Self {
        Urn { urls, hashes: urls.iter().map(|url| fnv1a64(url)).collect() }
    }

    /// Returns the URLs in the order of `mix(hash of the URL ^ mix(hash of the salt))`, then of
    /// their text. Only as many as are asked for are sorted.
    pub(super) fn draw(&self, salt: &str) -> impl Iterator<Item = &'a str> {
        let salt = mix(fnv1a64(salt));
        let mut keys: Vec<(u64, &'a str)> =
            self.hashes.iter().zip(self.urls).map(|(hash, url)| (mix(hash ^ salt), *url)).collect();
        let mut sorted = 0;
        let mut step = FIRST_STEP;
        (0..keys.len()).map(move |at| {
            if at == sorted {
                let rest = &mut keys[sorted..];
                let taken = step.min(rest.len());
                if taken < rest.len() {
                    rest.select_nth_unstable(taken);
                }
                rest[..taken].sort_unstable();
                sorted += taken;
                step = step.saturating_mul(4);
            }
            keys[at].1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hashes_are_the_published_ones() {
        assert_eq!(fnv1a64(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a64("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(mix(1), 0x5692_161d_100b_05e5);
    }

    #[test]
    fn a_draw_holds_every_url_once_in_the_order_of_its_keys() {
        let urls: Vec<String> = (0..3000).map(|n| format!("http://h/{n}")).collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let urn = Urn::new(&urls);
        let draw: Vec<&str> = urn.draw("0/1").collect();
        let salt = mix(fnv1a64("0/1"));
        let mut want = urls.clone();
        want.sort_by_key(|url| (mix(fnv1a64(url) ^ salt), *url));
        assert_eq!(draw, want);
        assert_ne!(draw, urn.draw("0/2").collect::<Vec<_>>());
    }
}
