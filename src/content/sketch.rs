//! Sketches: a set of shingles in a few bytes, from which resemblance is estimated.
//!
//! One permutation for all bins (one-permutation hashing [Li, Owen, Zhang 2012]): the hash space is
//! cut into equal bins, each keeps the least hash that fell into it, and of that its low 8 bits
//! (b-bit min-hash [Li, König 2010]). An empty bin borrows from another, chosen by a hash of the
//! bin's number and the attempt, the same for every text (densification [Shrivastava 2017]), so
//! that short texts compare without bias. One hash for each shingle makes it 50 times cheaper than
//! a permutation for each bin.
//!
//! Two sizes: [`Sketch`], 16 bins, in every line of the crawl log and enough to tell duplicates
//! from strangers; [`WideSketch`], 128 bins, for finding near-duplicates and saying how near they
//! are.
//!
//! Sketches compare only if they come from the same width of shingles.

use std::fmt;
use std::str::FromStr;

use super::shingle::mix;

/// Two bins that hold unrelated hashes agree in 8 bits with this chance.
const BY_CHANCE: f64 = 1.0 / 256.0;

/// A sketch of `BINS` bins of 8 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bins<const BINS: usize>([u8; BINS]);

/// The sketch of the crawl log and of rule mining: 16 bytes, standard error 0.10 at resemblance
/// 0.8.
pub type Sketch = Bins<16>;

/// The sketch of the near-duplicate index: 128 bytes, standard error 0.035 at resemblance 0.8.
pub type WideSketch = Bins<128>;

/// Both sketches of one text, of one pass over its shingles; `None` if there are none.
pub(super) fn sketches(shingles: &[u64]) -> Option<(Sketch, WideSketch)> {
    let mut least = [u64::MAX; 128];
    for shingle in shingles {
        let hash = mix(shingle ^ SEED);
        let bin = &mut least[(hash >> 57) as usize];
        *bin = (*bin).min(hash);
    }
    // The least hash of eight neighbouring bins is that of the first which is not empty.
    let mut few = [u64::MAX; 16];
    for (bin, group) in few.iter_mut().zip(least.chunks_exact(8)) {
        *bin = group.iter().copied().min().unwrap_or(u64::MAX);
    }
    Some((Bins(dense(&few)?), Bins(dense(&least)?)))
}

/// Keeps the order of sketches apart from that of the shingles' own hashes.
const SEED: u64 = 0x736b_6574_6368_2031;

/// Fills the empty bins and keeps 8 bits of each; `None` if all are empty.
fn dense<const BINS: usize>(least: &[u64; BINS]) -> Option<[u8; BINS]> {
    let first = least.iter().position(|hash| *hash != u64::MAX)?;
    let donor = |bin: usize| {
        // Sixteen tries a bin fail only where almost all bins are empty, and then the first will
        // do.
        (0..16 * BINS as u64)
            .map(|attempt| (mix(((bin as u64) << 32 | attempt) ^ SEED) % BINS as u64) as usize)
            .find(|bin| least[*bin] != u64::MAX)
            .unwrap_or(first)
    };
    let mut out = [0; BINS];
    for (bin, byte) in out.iter_mut().enumerate() {
        let from = if least[bin] == u64::MAX { donor(bin) } else { bin };
        *byte = least[from] as u8;
    }
    Some(out)
}

impl<const BINS: usize> Bins<BINS> {
    /// Returns the sketch with these bins, as [`Bins::bytes`] gave them.
    pub fn from_bytes(bytes: [u8; BINS]) -> Self {
        Bins(bytes)
    }

    /// Returns the bins.
    pub fn bytes(&self) -> &[u8; BINS] {
        &self.0
    }

    /// Returns how many bins agree.
    pub fn agreeing(&self, other: &Self) -> usize {
        self.0.iter().zip(&other.0).filter(|(a, b)| a == b).count()
    }

    /// Estimates the resemblance of the two texts, 0 to 1, without bias: agreement by chance is
    /// taken off. Its error is [`Bins::standard_error`].
    pub fn resemblance(&self, other: &Self) -> f64 {
        let agreeing = self.agreeing(other) as f64 / BINS as f64;
        ((agreeing - BY_CHANCE) / (1.0 - BY_CHANCE)).clamp(0.0, 1.0)
    }

    /// Returns the standard error of an estimate where the true resemblance is `resemblance`.
    ///
    /// That of `BINS` independent draws: one-permutation hashing is a little better where texts
    /// have many more shingles than bins, and worse where they have fewer.
    pub fn standard_error(resemblance: f64) -> f64 {
        let agree = resemblance.clamp(0.0, 1.0) * (1.0 - BY_CHANCE) + BY_CHANCE;
        (agree * (1.0 - agree) / BINS as f64).sqrt() / (1.0 - BY_CHANCE)
    }
}

/// Lower-case hexadecimal, two digits for each bin: the form of the crawl log.
impl<const BINS: usize> fmt::Display for Bins<BINS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<const BINS: usize> fmt::Debug for Bins<BINS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bins({self})")
    }
}

/// A text that is not a sketch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read a sketch of {bins} bins from `{text}`: it takes {digits} hexadecimal digits")]
pub struct NotASketch {
    text: String,
    bins: usize,
    digits: usize,
}

impl<const BINS: usize> FromStr for Bins<BINS> {
    type Err = NotASketch;

    fn from_str(text: &str) -> Result<Self, NotASketch> {
        let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok();
        let bins = bytes.and_then(|bytes| <[u8; BINS]>::try_from(bytes).ok());
        let shown = || text.chars().take(80).collect();
        bins.map(Bins).ok_or_else(|| NotASketch { text: shown(), bins: BINS, digits: 2 * BINS })
    }
}

impl<const BINS: usize> serde::Serialize for Bins<BINS> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, const BINS: usize> serde::Deserialize<'de> for Bins<BINS> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Returns both sketches of a text's shingles, or `None` where the text is thin: then it is no
/// evidence, and a sketch of it would only mislead.
pub fn sketch(shingles: &[u64]) -> Option<(Sketch, WideSketch)> {
    if super::shingle::is_thin(shingles) { None } else { sketches(shingles) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::shingle::resemblance;

    /// Two sets of `size` shingles that have resemblance close to `want`.
    fn pair(seed: u64, size: u64, want: f64) -> (Vec<u64>, Vec<u64>) {
        let common = (size as f64 * 2.0 * want / (1.0 + want)).round() as u64;
        let shared = (0..common).map(|n| mix(seed << 32 | n));
        let own = |side: u64| (common..size).map(move |n| mix(side << 60 | seed << 32 | n));
        (shared.clone().chain(own(1)).collect(), shared.chain(own(2)).collect())
    }

    /// Mean and root mean square error of the estimates over many pairs.
    fn errors<const BINS: usize>(
        pick: impl Fn(&(Sketch, WideSketch)) -> Bins<BINS>,
        size: u64,
        want: f64,
    ) -> (f64, f64) {
        let pairs = 400;
        let (mut sum, mut squares) = (0.0, 0.0);
        for seed in 1..=pairs {
            let (a, b) = pair(seed, size, want);
            let truth = resemblance(&a, &b);
            let (a, b) = (sketches(&a).unwrap(), sketches(&b).unwrap());
            let error = pick(&a).resemblance(&pick(&b)) - truth;
            sum += error;
            squares += error * error;
        }
        (sum / pairs as f64, (squares / pairs as f64).sqrt())
    }

    #[test]
    fn estimates_have_no_bias_and_the_stated_error() {
        for size in [300, 1400] {
            for want in [0.3, 0.5, 0.8, 0.95] {
                let (bias, error) = errors(|pair| pair.1, size, want);
                assert!(bias.abs() < 0.012, "bias {bias} at {want}, {size} shingles");
                let stated = WideSketch::standard_error(want);
                assert!(error < 1.3 * stated, "error {error} at {want}, stated {stated}");
                let (bias, error) = errors(|pair| pair.0, size, want);
                assert!(bias.abs() < 0.025, "bias {bias} at {want}, {size} shingles");
                assert!(error < 1.2 * Sketch::standard_error(want), "error {error} at {want}");
            }
        }
    }

    #[test]
    fn short_texts_borrow_bins_without_bias() {
        for want in [0.3, 0.8] {
            let (bias, error) = errors(|pair| pair.1, 20, want);
            assert!(bias.abs() < 0.04 && error < 0.2, "bias {bias}, error {error} at {want}");
        }
    }

    #[test]
    fn strangers_agree_only_by_chance() {
        let (bias, _) = errors(|pair| pair.1, 500, 0.0);
        assert!(bias.abs() < 0.005, "{bias}");
    }

    #[test]
    fn sketches_survive_their_hexadecimal_form() {
        let (few, wide) = sketches(&[1, 2, 3]).unwrap();
        assert_eq!(few.to_string().len(), 32);
        assert_eq!(few.to_string().parse(), Ok(few));
        assert_eq!(wide.to_string().parse(), Ok(wide));
        assert_eq!(Sketch::from_bytes(*few.bytes()), few);
        let error = "12".parse::<Sketch>().unwrap_err().to_string();
        assert_eq!(error, "read a sketch of 16 bins from `12`: it takes 32 hexadecimal digits");
        assert!("zz".repeat(16).parse::<Sketch>().is_err());
    }

    #[test]
    fn thin_texts_have_no_sketch() {
        assert_eq!(sketch(&[]), None);
        assert_eq!(sketch(&[1, 2, 3, 4, 5, 6, 7, 7, 7, 7]), None);
        assert!(sketch(&[1, 2, 3, 4, 5, 6, 7, 8]).is_some());
        assert_eq!(sketches(&[]), None);
    }

    #[test]
    fn the_sketch_is_the_same_on_every_machine() {
        let shingles: Vec<u64> = (0..100).map(mix).collect();
        let (few, _) = sketch(&shingles).unwrap();
        assert_eq!(few.to_string(), "88e3be8bc6e31b27d4ac30bf125b4754");
    }
}
