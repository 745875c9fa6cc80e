//! What the miner found, for programs and for people.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::parameter::ParameterCandidate;
use super::rule::Rule;
use super::settings::{Cue, Settings};
use super::support::Pair;
use super::token::{TokenTable, display};
use super::validate::Trial;

/// A likely rule before its direction is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LikelyPair {
    /// The greater string, sentinels as `^` and `$`.
    pub alpha: String,
    /// The other string.
    pub beta: String,
    /// Support with buckets up to T_low.
    pub support: u64,
    /// Support with buckets up to T_high.
    pub support_high: u64,
    /// The tokens of `alpha`.
    pub alpha_tokens: Vec<String>,
    /// The tokens of `beta`.
    pub beta_tokens: Vec<String>,
}

/// What each phase found.
pub struct Report<'a> {
    pub(super) settings: Settings,
    /// The cue that was used.
    pub cue: Cue,
    /// How many distinct URLs the list has.
    pub urls: usize,
    /// How many of them were left out for their length.
    pub left_out: usize,
    /// How many of them have more parameters than are looked at.
    pub parameters_left_out: usize,
    pub(super) texts: TokenTable<'a>,
    pub(super) likely: Vec<Pair>,
    /// Indices into `likely`.
    pub(super) remaining: Vec<u32>,
    /// Likely parameter rules.
    pub parameters: Vec<ParameterCandidate>,
    /// The last phase, if there was a way to fetch.
    pub validation: Option<Validation>,
    /// Each URL that was to be canonized, with its canonical form.
    pub canonical: Option<Vec<(&'a str, String)>>,
}

/// What the validation found.
#[derive(Clone, Debug, Default)]
pub struct Validation {
    /// The valid rules, in the order in which they are applied.
    pub rules: Vec<Rule>,
    /// Every trial.
    pub trials: Vec<Trial>,
}

/// Said where there is no way to fetch.
const STOPPED: &str = "before validation: there is no way to fetch pages";

impl<'a> Report<'a> {
    /// Returns the pairs with enough support after the first phase, best first.
    pub fn likely(&self) -> impl Iterator<Item = LikelyPair> {
        self.likely.iter().map(|pair| self.shown(pair))
    }

    /// Returns the pairs that remain after the second phase, best first.
    pub fn after_elimination(&self) -> impl Iterator<Item = LikelyPair> {
        self.remaining.iter().map(|&at| self.shown(&self.likely[at as usize]))
    }

    /// Returns how many pairs the first and the second phase left.
    pub fn counts(&self) -> (usize, usize) {
        (self.likely.len(), self.remaining.len())
    }

    fn shown(&self, pair: &Pair) -> LikelyPair {
        let (alpha_tokens, beta_tokens) =
            (self.texts.texts(&pair.alpha), self.texts.texts(&pair.beta));
        LikelyPair {
            alpha: display(&alpha_tokens),
            beta: display(&beta_tokens),
            support: pair.support,
            support_high: pair.support_high,
            alpha_tokens,
            beta_tokens,
        }
    }
}

/// The settings under the paper's letters, as the fields of other implementations have them.
#[derive(Serialize)]
struct Options<'s> {
    #[serde(rename = "S")]
    s: usize,
    #[serde(rename = "T_low")]
    t_low: usize,
    #[serde(rename = "T_high")]
    t_high: usize,
    #[serde(rename = "MS")]
    ms: u64,
    #[serde(rename = "MRD")]
    mrd: f64,
    #[serde(rename = "MAD")]
    mad: u64,
    #[serde(rename = "MW")]
    mw: usize,
    #[serde(rename = "N")]
    n: u64,
    eps: f64,
    iterations: usize,
    similar: &'s Cue,
    sketch_k: usize,
    sketch_min: usize,
    one_run: bool,
    params: bool,
    param_min_urls: u64,
    param_min_frac: f64,
    seed: u64,
    top: usize,
}

impl Settings {
    fn options<'s>(&self, similar: &'s Cue) -> Options<'s> {
        Options {
            s: self.substring_tokens_max,
            t_low: self.bucket_max_low,
            t_high: self.bucket_max_high,
            ms: self.support_min,
            mrd: self.deficiency_relative_max,
            mad: self.deficiency_absolute_max,
            mw: self.window_max,
            n: self.validations,
            eps: self.refutation_share,
            iterations: self.rounds_max,
            similar,
            sketch_k: self.sketch_values,
            sketch_min: self.sketch_values_min,
            one_run: self.one_run,
            params: self.parameters,
            param_min_urls: self.parameter_urls_min,
            param_min_frac: self.parameter_similar_share_min,
            seed: self.seed,
            top: self.top,
        }
    }
}

/// A list that is made while it is written, so that it is never in memory as a whole.
struct Sequence<F>(F);

impl<F: Fn() -> I, I: Iterator<Item = LikelyPair>> Serialize for Sequence<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// URLs as the keys of a map.
struct Canonical<'c>(&'c [(&'c str, String)]);

impl Serialize for Canonical<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(url, canonical)| (url, canonical)))
    }
}

impl Serialize for Report<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.serialize_fields(&mut map)?;
        map.end()
    }
}

impl Report<'_> {
    /// Writes the fields into a map that may have others.
    pub(super) fn serialize_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("options", &self.settings.options(&self.cue))?;
        map.serialize_entry("urls", &self.urls)?;
        if self.left_out > 0 {
            map.serialize_entry("left_out", &self.left_out)?;
        }
        if self.parameters_left_out > 0 {
            map.serialize_entry("parameters_left_out", &self.parameters_left_out)?;
        }
        map.serialize_entry("likely", &Sequence(|| self.likely()))?;
        map.serialize_entry("after_elimination", &Sequence(|| self.after_elimination()))?;
        map.serialize_entry("param_candidates", &self.parameters)?;
        match &self.validation {
            Some(Validation { rules, trials }) => {
                map.serialize_entry("validated", rules)?;
                map.serialize_entry("validation", trials)?;
                let fetches: u64 = trials.iter().map(|trial| trial.fetches).sum();
                map.serialize_entry("fetches", &fetches)?;
            }
            None => map.serialize_entry("stopped", STOPPED)?,
        }
        if let Some(canonical) = &self.canonical {
            map.serialize_entry("canonical", &Canonical(canonical))?;
        }
        Ok(())
    }
}

/// Most lines of each list that people are shown.
const LINES_MAX: usize = 25;

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (likely, remaining) = self.counts();
        let share = if likely == 0 { 0.0 } else { 100.0 * remaining as f64 / likely as f64 };
        writeln!(
            f,
            "{} URLs, {likely} likely pairs, {remaining} left after elimination ({share:.1} %)",
            self.urls
        )?;
        for (urls, why) in [
            (self.left_out, "too long: only their parameters are looked at"),
            (self.parameters_left_out, "with too many parameters: only the first are looked at"),
        ] {
            if urls > 0 {
                writeln!(f, "{urls} URLs {why}")?;
            }
        }
        if remaining > 0 {
            writeln!(f, "\n{:>8} {:>8}  pair", "support", "(T_high)")?;
        }
        for pair in self.after_elimination().take(LINES_MAX) {
            let LikelyPair { alpha, beta, support, support_high, .. } = pair;
            writeln!(f, "{support:>8} {support_high:>8}  \"{alpha}\" <-> \"{beta}\"")?;
        }
        if remaining > LINES_MAX {
            writeln!(f, "{:>8} more", remaining - LINES_MAX)?;
        }
        if !self.parameters.is_empty() {
            writeln!(f, "\n{:>8} {:>8}  parameter", "similar", "compared")?;
        }
        for ParameterCandidate { name, value, similar_pairs, pairs } in
            self.parameters.iter().take(LINES_MAX)
        {
            writeln!(f, "{similar_pairs:>8} {pairs:>8}  {name} (most often \"{value}\")")?;
        }
        match &self.validation {
            Some(validation) => self.write_validation(f, validation)?,
            None => writeln!(f, "\nstopped {STOPPED}")?,
        }
        if let Some(canonical) = &self.canonical {
            let changed = canonical.iter().filter(|(url, outcome)| url != outcome).count();
            let distinct: std::collections::HashSet<&str> =
                canonical.iter().map(|(_, to)| to.as_str()).collect();
            writeln!(
                f,
                "\n{} URLs canonized: {changed} changed, {} distinct before, {} after",
                canonical.len(),
                canonical.len(),
                distinct.len()
            )?;
        }
        Ok(())
    }
}

impl Report<'_> {
    fn write_validation(&self, f: &mut fmt::Formatter<'_>, validation: &Validation) -> fmt::Result {
        let fetches: u64 = validation.trials.iter().map(|trial| trial.fetches).sum();
        let tried = validation.trials.len();
        writeln!(
            f,
            "\n{} valid rules from {tried} trials, {fetches} pages fetched",
            validation.rules.len()
        )?;
        if !validation.rules.is_empty() {
            writeln!(f, "\n{:>8} {:>8}  rule", "positive", "negative")?;
        }
        let valid = validation.trials.iter().filter(|trial| trial.valid);
        for (rule, trial) in validation.rules.iter().zip(valid) {
            writeln!(f, "{:>8} {:>8}  {rule}", trial.positive, trial.negative)?;
        }
        Ok(())
    }
}
