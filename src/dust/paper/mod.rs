//! DustBuster as its paper has it (Bar-Yossef, Keidar, Schonfeld: Do Not Crawl in the DUST,
//! WWW 2007), to the letter.
//!
//! Four phases: likely pairs of substrings from a URL list alone (`bucket`, `support`), redundant
//! pairs dropped (`eliminate`), parameters (`parameter`), and validation by fetching (`validate`);
//! the valid rules canonize URLs (`rule`). Equal input gives equal output, byte for byte, on any
//! machine: samples are drawn by hash, and ties are broken by tokens.
//!
//! Where the paper is silent, this holds:
//! - sizes are taken from status 200 only; unknown sizes and sketches match everything;
//! - a bucket is as large as its distinct substrings; support has to reach MS, not exceed it;
//! - support of empty and semiperiodic substrings counts pairs of URLs, since one pair can have
//!   several envelopes there (theorem 4.1 excludes them);
//! - equal supports: longer pairs first, then by tokens;
//! - candidates and their order by T_low support, elimination by T_high support;
//! - the greater of two strings has more tokens, or comes later token by token: then shrinking
//!   always ends;
//! - accepted at (1 - epsilon) N positives, refuted at epsilon N negatives, samples without
//!   replacement; a list that ends first decides by the shares seen;
//! - a rule applies to the leftmost place in each round, never gluing two tokens together.
//!
//! What it does not do: fetch (that is a [`Fetcher`]), read files (that is [`super::input`]), or
//! learn while crawling. It weighs no harm: it is here to compare with, and for lists without a
//! crawl.

mod bucket;
mod command;
mod eliminate;
mod list;
mod parameter;
mod parts;
mod report;
mod rule;
mod sample;
mod settings;
mod shingle;
mod similar;
mod support;
mod table;
mod token;
mod validate;

pub use command::{MineArgs, MineError, by_site, run_mine};
pub use list::{Record, UrlList};
pub use parameter::ParameterCandidate;
pub use report::{LikelyPair, Report, Validation};
pub use rule::{Rule, Substitution, canonize};
pub use sample::fnv1a64;
pub use settings::{Cue, Settings};
pub use shingle::Shingles;
pub use token::{BEGIN, END, Tokens, display, tokens};
pub use validate::{Fetched, Fetcher, Trial};

use similar::Likeness;
use table::Table;

/// What to mine, and what to do with the rules.
#[derive(Clone, Copy, Debug)]
pub struct Lists<'a> {
    /// The log that rules are learned from; of one site.
    pub train: &'a [Record],
    /// The URLs that rules are validated on; those of `train` if there is none.
    pub valid: Option<&'a [Record]>,
    /// URLs to canonize with the valid rules.
    pub canon: Option<&'a [Record]>,
}

/// Mines the rules of one site.
///
/// Without a fetcher it stops before validation.
pub fn mine<'a>(
    records: &'a [Record],
    settings: &Settings,
    fetcher: Option<&mut dyn Fetcher>,
) -> Report<'a> {
    mine_lists(Lists { train: records, valid: None, canon: None }, settings, fetcher)
}

/// Mines the rules of one site, validates them on another list, and canonizes a third.
pub fn mine_lists<'a>(
    lists: Lists<'a>,
    settings: &Settings,
    fetcher: Option<&mut dyn Fetcher>,
) -> Report<'a> {
    let train = UrlList::new(lists.train);
    let mut report = likely(&train, settings);
    if let Some(fetcher) = fetcher {
        let valid = lists.valid.map(UrlList::new);
        let urls = valid.as_ref().map_or(&train.urls, |valid| &valid.urls);
        let pairs = report.after_elimination().map(|pair| (pair.alpha_tokens, pair.beta_tokens));
        let (rules, trials) =
            validate::validate(pairs, &report.parameters, urls, settings, fetcher);
        report.validation = Some(Validation { rules, trials });
    }
    if let Some(canon) = lists.canon {
        let rules = report.validation.as_ref().map_or(&[][..], |validation| &validation.rules);
        let canonical = UrlList::new(canon)
            .urls
            .into_iter()
            .map(|url| (url, canonize(url, rules, settings.rounds_max)));
        report.canonical = Some(canonical.collect());
    }
    report
}

/// The three phases that need no page.
fn likely<'a>(list: &UrlList<'a>, settings: &Settings) -> Report<'a> {
    let parameters = match settings.parameters {
        true => {
            let order: Vec<u32> = (0..list.len() as u32).collect();
            parameter::detect(list, &Likeness::new(list, settings, &order), settings)
        }
        false => Vec::new(),
    };
    let table = Table::new(list);
    let likeness = Likeness::new(list, settings, &table.order);
    let mut pairs = support::likely_pairs(&table, &likeness, settings);
    let left_out = list.len() - table.len();
    let texts = table.into_texts();
    drop(likeness);
    eliminate::sort(&mut pairs, &texts, |pair| pair.support);
    let kept = eliminate::kept(&pairs, &texts, settings);
    let mut remaining: Vec<u32> =
        (0..).zip(kept).filter(|&(_, kept)| kept).map(|(at, _)| at).collect();
    if settings.top > 0 {
        remaining.truncate(settings.top);
    }
    Report {
        settings: settings.clone(),
        cue: similar::resolve(settings.cue, list),
        urls: list.len(),
        left_out,
        parameters_left_out: if settings.parameters { parameter::left_out(list) } else { 0 },
        texts,
        likely: pairs,
        remaining,
        parameters,
        validation: None,
        canonical: None,
    }
}
