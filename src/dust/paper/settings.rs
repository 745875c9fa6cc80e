//! The constants of the paper, each a setting with the paper's value.

use serde::{Deserialize, Serialize};

use crate::clock::ByteSize;

/// Which cue tells that two URLs of a bucket probably lead to the same text (section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cue {
    /// Sketches if any URL has one, else sizes if any is known, else none.
    #[default]
    Auto,
    /// The ranges of sizes seen overlap.
    Size,
    /// The first min-hashes agree.
    Sketch,
    /// Every pair counts.
    None,
}

/// What the miner of the paper may be told. The letters in the comments are the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// S: longest substring that a rule may replace, in tokens, sentinels included.
    pub substring_tokens_max: usize,
    /// T_low: most URLs in a bucket that may testify to a rule; keeps numbered items out.
    pub bucket_max_low: usize,
    /// T_high: the same when supports are compared with each other in the second phase.
    pub bucket_max_high: usize,
    /// MS: least support of a likely rule, in envelopes.
    pub support_min: u64,
    /// MRD: by which share of its support a rule may exceed one that refines it and still fall.
    pub deficiency_relative_max: f64,
    /// MAD: the same as a number of envelopes.
    pub deficiency_absolute_max: u64,
    /// MW: how many rules further down the list a refinement is looked for.
    pub window_max: usize,
    /// N: pairs of pages that validate a rule.
    pub validations: u64,
    /// Epsilon: share of counterexamples that refutes a rule (the news sites used 0.10).
    pub refutation_share: f64,
    /// Most rounds of canonization.
    pub rounds_max: usize,
    /// The cue by which pairs are likely similar.
    pub cue: Cue,
    /// How many min-hashes of a sketch are compared; the paper used four shingles.
    pub sketch_values: usize,
    /// How many of them must agree. The paper gives no number; all of them, since two of four
    /// accept every ninth pair of different pages with common navigation.
    pub sketch_values_min: usize,
    /// True to compare supports by T_low too, and save the count with T_high.
    pub one_run: bool,
    /// Whether parameter substitution rules are looked for (the third phase).
    pub parameters: bool,
    /// Least occurrences of a parameter in the list; rarer ones are not worth a probe.
    pub parameter_urls_min: u64,
    /// Least share of likely similar pairs among the pairs that differ in the parameter only.
    pub parameter_similar_share_min: f64,
    /// Resemblance of shingles from which two fetched pages are the same text.
    pub resemblance_min: f64,
    /// Chooses the samples of the validation: equal seeds draw equal samples.
    pub seed: u64,
    /// How many rules go on to validation, best first; 0 is all of them.
    pub top: usize,
    /// Memory for one table of instances. A log that needs more is counted in several passes,
    /// each over one part of the pairs, with the same result.
    pub table_bytes_max: ByteSize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            substring_tokens_max: 35,
            bucket_max_low: 6,
            bucket_max_high: 11,
            support_min: 3,
            deficiency_relative_max: 0.05,
            deficiency_absolute_max: 1,
            window_max: 1100,
            validations: 100,
            refutation_share: 0.05,
            rounds_max: 10,
            cue: Cue::Auto,
            sketch_values: 4,
            sketch_values_min: 4,
            one_run: false,
            parameters: true,
            parameter_urls_min: 10,
            parameter_similar_share_min: 0.5,
            resemblance_min: 0.8,
            seed: 0,
            top: 0,
            // A quarter of the 1 GiB that a million URLs may take.
            table_bytes_max: ByteSize::mib(512),
        }
    }
}
