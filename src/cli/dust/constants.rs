//! The constants of the paper as flags.

use clap::{Args, ValueEnum};

use crate::dust::paper::{Cue, Settings};

/// The cue by which pairs of URLs are likely alike.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(super) enum CueName {
    /// Sketches if there are any, else sizes, else none
    Auto,
    /// Ranges of sizes overlap
    Size,
    /// Min-hashes agree
    Sketch,
    /// Every pair counts
    None,
}

/// Constants of the paper, for `--mode paper`. Without a flag the paper's value holds.
#[derive(Args, Debug, Default, PartialEq)]
#[command(next_help_heading = "Constants of the paper (--mode paper)")]
pub(super) struct Constants {
    /// S: longest substring that a rule may replace, in tokens [35]
    #[arg(long = "max-substring", alias = "S", value_name = "S")]
    s: Option<usize>,
    /// Most URLs in a bucket that may testify to a rule [6]
    #[arg(long, value_name = "T")]
    t_low: Option<usize>,
    /// The same where supports are compared with each other [11]
    #[arg(long, value_name = "T")]
    t_high: Option<usize>,
    /// Least support of a likely rule [3]
    #[arg(long, value_name = "N")]
    ms: Option<u64>,
    /// Greatest relative deficiency of support [0.05]
    #[arg(long, value_name = "SHARE", value_parser = amount)]
    mrd: Option<f64>,
    /// Greatest absolute deficiency of support [1]
    #[arg(long, value_name = "N")]
    mad: Option<u64>,
    /// Window in which refinements are looked for [1100]
    #[arg(long, value_name = "N")]
    mw: Option<usize>,
    /// Pairs of pages that validate a rule [100]
    #[arg(long, value_name = "N")]
    n: Option<u64>,
    /// Share of counterexamples that refutes a rule [0.05]
    #[arg(long, alias = "eps", value_name = "SHARE", value_parser = share)]
    epsilon: Option<f64>,
    /// Most rounds of canonization [10]
    #[arg(long, alias = "iterations", value_name = "N")]
    rounds: Option<usize>,
    /// What makes two URLs likely alike [auto]
    #[arg(long, value_name = "CUE")]
    similar: Option<CueName>,
    /// Min-hashes of a sketch that are compared [4]
    #[arg(long, value_name = "K")]
    sketch_k: Option<usize>,
    /// How many of them must agree [4]
    #[arg(long, value_name = "K")]
    sketch_min: Option<usize>,
    /// Compare supports by T_low too, in one run
    #[arg(long)]
    one_run: bool,
    /// Look for no parameter rules
    #[arg(long)]
    no_params: bool,
    /// Least occurrences of a parameter [10]
    #[arg(long, value_name = "N")]
    param_min_urls: Option<u64>,
    /// Least share of alike pairs that differ in the parameter only [0.5]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    param_min_frac: Option<f64>,
    /// Resemblance from which two fetched pages are the same [0.8]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    same: Option<f64>,
    /// Chooses the samples of the validation [0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Rules that go on to validation, best first; 0 is all [0]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
}

/// Reads a share of a whole.
fn share(text: &str) -> Result<f64, String> {
    amount(text).ok().filter(|share| *share <= 1.0).ok_or("write a number from 0 to 1".to_owned())
}

/// Reads a number that may be above 1.
pub(super) fn amount(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or("write a number from 0 on".to_owned())
}

impl Constants {
    /// Returns true where any flag was given.
    pub(super) fn are_given(&self) -> bool {
        *self != Constants::default()
    }

    /// Returns the settings: the paper's, unless a flag says otherwise.
    pub(super) fn settings(&self) -> Settings {
        let paper = Settings::default();
        Settings {
            substring_tokens_max: self.s.unwrap_or(paper.substring_tokens_max),
            bucket_max_low: self.t_low.unwrap_or(paper.bucket_max_low),
            bucket_max_high: self.t_high.unwrap_or(paper.bucket_max_high),
            support_min: self.ms.unwrap_or(paper.support_min),
            deficiency_relative_max: self.mrd.unwrap_or(paper.deficiency_relative_max),
            deficiency_absolute_max: self.mad.unwrap_or(paper.deficiency_absolute_max),
            window_max: self.mw.unwrap_or(paper.window_max),
            validations: self.n.unwrap_or(paper.validations),
            refutation_share: self.epsilon.unwrap_or(paper.refutation_share),
            rounds_max: self.rounds.unwrap_or(paper.rounds_max),
            cue: self.similar.map_or(paper.cue, |cue| match cue {
                CueName::Auto => Cue::Auto,
                CueName::Size => Cue::Size,
                CueName::Sketch => Cue::Sketch,
                CueName::None => Cue::None,
            }),
            sketch_values: self.sketch_k.unwrap_or(paper.sketch_values),
            sketch_values_min: self.sketch_min.unwrap_or(paper.sketch_values_min),
            one_run: self.one_run,
            parameters: !self.no_params,
            parameter_urls_min: self.param_min_urls.unwrap_or(paper.parameter_urls_min),
            parameter_similar_share_min: self
                .param_min_frac
                .unwrap_or(paper.parameter_similar_share_min),
            resemblance_min: self.same.unwrap_or(paper.resemblance_min),
            seed: self.seed.unwrap_or(paper.seed),
            top: self.top.unwrap_or(paper.top),
            table_bytes_max: paper.table_bytes_max,
        }
    }
}
