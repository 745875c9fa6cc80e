//! The trial of one rule: uniform draws over strata, a sequential test, and an audit for ever.
//!
//! A draw is a URL that the rule rewrites, chosen without looking at whether its outcome was
//! crawled: choosing among survivors would hide the outcomes that do not exist. Where the outcome
//! is already known, the draw costs nothing; else it is a probe. Two failures in one stratum refute
//! a rule however well it does elsewhere.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::proven::{Places, Proven};
use super::rule::{Evidence, RuleId, Source, template};
use super::sketch::mix;
use crate::url::CrawlUrl;
use crate::url::query;

/// Error rates and prices of validation and audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// Success rate of a rule that must be accepted.
    pub success_good: f64,
    /// Success rate of a rule that must be refuted.
    pub success_bad: f64,
    /// Chance of accepting a rule of `success_bad`.
    pub error_accept: f64,
    /// Chance of refuting a rule of `success_good`.
    pub error_refute: f64,
    /// Largest share of the way to acceptance that content already crawled can contribute, since
    /// it says nothing about outcomes that do not exist.
    pub content_credit_max: f64,
    /// Successful draws without which no rule is enforced.
    pub draws_min: u32,
    /// Probe fetches of one rule of many URLs: a trial that has spent them without one failure
    /// ends in its favour, one with a failure goes on; where the rule has few URLs, fewer say as
    /// much. Reached only where no text is known beforehand.
    pub probes_per_rule: u32,
    /// A rule is tried where it would have saved at least this many fetches of the window per
    /// expected probe; what is still to come is taken to be like the window. Not asked where a log
    /// is mined on request.
    pub saving_factor: f64,
    /// Probes of a site, as a share of its fetches.
    pub probe_share_max: f64,
    /// Probes that each site may have in any case where a log is mined or rules are validated on
    /// request: a short log says little of how large its site is.
    pub probes_on_request: u32,
    /// Whether a page that is looked at again, since one of its forms is another text, is asked for
    /// with one parameter more that means nothing (`_=`, or empty ones where its site refuses
    /// that), so that no cache has it. Else it is asked for under its own address alone, and where
    /// a cache keeps a copy for each address, what these copies say by chance refutes rules that
    /// are right.
    pub looks_past_caches: bool,
    /// Documents that prove a rule in a crawl that enforces rules, where nothing is probed: each
    /// was fetched under two URLs of one key. Rules that were proved elsewhere or that the site
    /// declares need half as many.
    pub pairs_min: u32,
    /// Of these, the documents whose second URL was fetched after the rule was found: what led to
    /// the rule agrees with it in any case.
    pub pairs_new_min: u32,
    /// What one lost document costs, in fetches; it decides how many pairs are fetched after a
    /// rule is in force, if one rule in fifty that repeats itself is wrong.
    pub loss_price: f64,
    /// Least share of suppressed URLs that are fetched all the same; less of a page with more than
    /// four hidden forms, and all after an audit that failed, until the doubt is gone or the rule
    /// is.
    pub audit_share: f64,
    /// Failure rate of audits under a rule that still holds: counters, edits between two fetches.
    pub audit_failure_good: f64,
    /// Failure rate of audits under a rule that broke.
    pub audit_failure_bad: f64,
    /// Log-likelihood ratio at which audits retire a rule.
    pub audit_threshold: f64,
    /// Wait before a retired rule is tried again; doubles each time. One that a page or two refuted
    /// is tried again before, when four times as many pages of its site are known.
    pub retry_after: crate::clock::Span,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            success_good: 0.995,
            success_bad: 0.90,
            error_accept: 0.01,
            error_refute: 0.01,
            content_credit_max: 0.5,
            draws_min: 8,
            probes_per_rule: 24,
            saving_factor: 0.5,
            probe_share_max: 0.10,
            probes_on_request: 240,
            looks_past_caches: true,
            pairs_min: 5,
            pairs_new_min: 2,
            loss_price: 5_000.0,
            audit_share: 0.02,
            audit_failure_good: 0.01,
            audit_failure_bad: 0.10,
            audit_threshold: 6.0,
            retry_after: crate::clock::Span::secs(7 * 24 * 3600),
        }
    }
}

impl Settings {
    /// Returns the log-likelihood ratio at which a rule is accepted [Wald 1945].
    pub(crate) fn accept_at(&self) -> f64 {
        ((1.0 - self.error_refute) / self.error_accept.max(1e-9)).ln()
    }

    pub(crate) fn refute_at(&self) -> f64 {
        (self.error_refute / (1.0 - self.error_accept).max(1e-9)).ln()
    }

    pub(crate) fn success(&self) -> f64 {
        (self.success_good / self.success_bad).ln()
    }

    pub(crate) fn failure(&self) -> f64 {
        ((1.0 - self.success_good) / (1.0 - self.success_bad)).ln()
    }

    /// Returns where a trial begins: documents already merged and the word of others count, but
    /// never for all of it.
    pub(crate) fn credit(&self, evidence: &Evidence, source: Source) -> f64 {
        let content = f64::from(evidence.documents_same) * self.success();
        let word = match source {
            Source::Elsewhere => 0.6,
            Source::Declared => 0.3,
            Source::Software | Source::Imported => 0.1,
            Source::Mined => 0.0,
        };
        let most = self.accept_at();
        let content = content.min(most * self.content_credit_max);
        let draws = f64::from(self.draws_min(source));
        (content + word * most).min(most - draws * self.success())
    }

    /// Returns the fewest successful draws that prove a rule: fewer where it was proved elsewhere,
    /// or small sites would never profit. They suffice only where nothing else is left to draw.
    pub(crate) fn draws_min(&self, source: Source) -> u32 {
        if source == Source::Elsewhere { self.draws_min.div_ceil(3) } else { self.draws_min }
    }

    /// Returns true where a rule is worth its trial: it rewrites enough URLs to draw from, and what
    /// it would have saved pays for the probes. `known` is the share of draws whose outcome is
    /// known without a fetch.
    pub(crate) fn is_worth(&self, evidence: &Evidence, source: Source, known: f64) -> bool {
        let least = f64::from(self.draws_min(source));
        let needed = (self.accept_at() - self.credit(evidence, source)) / self.success();
        let probes = needed.max(least) * (1.0 - known);
        f64::from(evidence.applicable) >= least
            && f64::from(evidence.merged) >= self.saving_factor * probes
    }
}

/// What one draw showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The outcome is the same document.
    Same,
    /// The outcome is another document, junk, forbidden, or does not exist.
    Failed,
    /// Nothing can be said: thin, much alike, or not available now.
    Unclear,
}

/// How a trial stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Open,
    Accepted,
    Refuted,
    /// Nothing left to draw, and too little was shown.
    Exhausted,
}

/// A draw: the URL, its outcome under the rule, and its stratum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Draw {
    pub(crate) url: CrawlUrl,
    pub(crate) outcome: CrawlUrl,
    pub(crate) stratum: usize,
}

/// One part of a site that may behave in its own way.
#[derive(Debug)]
struct Stratum {
    name: String,
    waiting: VecDeque<(CrawlUrl, CrawlUrl)>,
    failures: u32,
}

/// The trial of one rule.
#[derive(Debug)]
pub(crate) struct Trial {
    strata: Vec<Stratum>,
    turn: usize,
    pub(crate) ratio: f64,
    pub(crate) same: u32,
    pub(crate) failed: u32,
    pub(crate) unclear: u32,
    /// Unclear draws of which one URL showed no page.
    pub(crate) unanswered: u32,
    pub(crate) pending: u32,
    /// Probe fetches spent.
    pub(crate) probes: u32,
    draws_min: u32,
    /// Where and for what a draw showed the same document.
    pub(crate) proven: Proven,
    /// URLs in sight that the rule rewrites.
    population: usize,
}

/// Values of one feature that make strata of their own.
const STRATA_PER_FEATURE: usize = 12;

/// Draws kept per stratum.
const DRAWS_PER_STRATUM: usize = 128;

/// Draws without a finding after which a rule counts as not provable.
const UNCLEAR_MAX: u32 = 40;

impl Trial {
    /// Lays out a trial over the URLs that the rule rewrites and their outcomes.
    pub(crate) fn new(
        rule: RuleId,
        urls: Vec<(CrawlUrl, CrawlUrl)>,
        ratio: f64,
        draws_min: u32,
    ) -> Trial {
        let mut urls = urls;
        // A fixed pseudo-random order: uniform, and the same after a restart.
        urls.sort_by_key(|(url, _)| mix(xxh3_64(url.as_str().as_bytes()) ^ rule.0));
        let population = urls.len();
        let mut strata: BTreeMap<String, Stratum> = BTreeMap::new();
        for (name, pair) in stratify(&urls).into_iter().zip(urls) {
            let empty = || Stratum { name: name.clone(), waiting: VecDeque::new(), failures: 0 };
            let stratum = strata.entry(name.clone()).or_insert_with(empty);
            if stratum.waiting.len() < DRAWS_PER_STRATUM {
                stratum.waiting.push_back(pair);
            }
        }
        let mut strata: Vec<Stratum> = strata.into_values().collect();
        strata.sort_by(|a, b| (b.waiting.len(), &a.name).cmp(&(a.waiting.len(), &b.name)));
        Trial {
            strata,
            turn: 0,
            ratio,
            same: 0,
            failed: 0,
            unclear: 0,
            unanswered: 0,
            pending: 0,
            probes: 0,
            draws_min,
            proven: Proven::default(),
            population,
        }
    }

    /// Returns the next draw, strata in turn; in each, URLs with a value that is to be proved
    /// first.
    pub(crate) fn draw(&mut self) -> Option<Draw> {
        for _ in 0..self.strata.len() {
            let stratum = self.turn % self.strata.len();
            self.turn += 1;
            let waiting = &mut self.strata[stratum].waiting;
            let proves_value = |(url, _): &(CrawlUrl, CrawlUrl)| self.proven.lacks_value_of(url);
            let at = waiting.iter().position(proves_value).unwrap_or(0);
            if let Some((url, outcome)) = waiting.remove(at) {
                self.pending += 1;
                return Some(Draw { url, outcome, stratum });
            }
        }
        None
    }

    /// Takes in what a draw showed.
    pub(crate) fn record(
        &mut self,
        (draw, here): (&Draw, &Places),
        finding: Finding,
        settings: &Settings,
    ) {
        self.pending = self.pending.saturating_sub(1);
        let stratum = draw.stratum;
        match finding {
            Finding::Same => {
                self.proven.add(&draw.url, here);
                self.same += 1;
                self.ratio += settings.success();
            }
            Finding::Failed => {
                self.failed += 1;
                self.ratio += settings.failure();
                if let Some(stratum) = self.strata.get_mut(stratum) {
                    stratum.failures += 1;
                }
            }
            Finding::Unclear => self.unclear += 1,
        }
    }

    /// Returns how the trial stands.
    pub(crate) fn standing(&self, settings: &Settings) -> Standing {
        let failed_stratum = self.strata.iter().any(|stratum| stratum.failures >= 2);
        if failed_stratum || self.ratio <= settings.refute_at() {
            return Standing::Refuted;
        }
        // A rule without effect on most pages proves nothing: pages much alike are not the same.
        if self.unclear > UNCLEAR_MAX || self.unclear > 2 * self.same + 10 {
            return Standing::Exhausted;
        }
        let paid = self.failed == 0 && self.is_paid(settings);
        let clear = 4 * self.unclear <= self.same;
        let decided = self.ratio >= settings.accept_at() || (paid && clear);
        // What is proved for few values is applied to no others: while there are others, it would
        // hide next to nothing.
        if self.same >= self.draws_min && decided && !self.proves_values_yet() {
            return Standing::Accepted;
        }
        let left = self.strata.iter().any(|stratum| !stratum.waiting.is_empty());
        if left || self.pending > 0 {
            return Standing::Open;
        }
        // Every URL in sight was tried: the rule holds for all there is to hold for.
        let all = self.failed == 0 && self.same >= self.draws_min && self.unclear < self.same;
        if all { Standing::Accepted } else { Standing::Exhausted }
    }

    /// Returns true where most of the draws that say nothing do so for want of pages: the site did
    /// not answer, or shows neither form.
    pub(crate) fn lacks_answers(&self) -> bool {
        self.unanswered > 0 && 2 * self.unanswered >= self.unclear
    }

    /// Returns true where URLs are left to draw with values that the rule is yet to be proved for.
    fn proves_values_yet(&self) -> bool {
        let mut waiting = self.strata.iter().flat_map(|stratum| &stratum.waiting);
        waiting.any(|(url, _)| self.proven.lacks_value_of(url))
    }

    /// Returns true where the draws say as much against a bad rule as those that
    /// `probes_per_rule` would buy among URLs without number. A rule of few URLs gets there sooner:
    /// each draw leaves fewer of them that could be bad.
    fn is_paid(&self, settings: &Settings) -> bool {
        if self.same == 0 || self.probes == 0 {
            return false;
        }
        let bad = (1.0 - settings.success_bad) * self.population as f64;
        let left = |drawn: u32| (self.population as f64 - f64::from(drawn)).max(1.0);
        let missed: f64 = (0..self.same).map(|drawn| (1.0 - bad / left(drawn)).max(0.0)).product();
        let price = f64::from(self.probes) / f64::from(self.same);
        let bought = f64::from(settings.probes_per_rule) / price;
        missed <= settings.success_bad.powf(bought) * (1.0 + 1e-9)
    }

    /// Returns the outcomes of the draws that are left.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = &CrawlUrl> {
        self.strata.iter().flat_map(|stratum| stratum.waiting.iter().map(|(_, outcome)| outcome))
    }

    /// Returns how many draws are left.
    pub(crate) fn waiting(&self) -> usize {
        self.strata.iter().map(|stratum| stratum.waiting.len()).sum()
    }

    /// Returns the name of a stratum, for the record.
    pub(crate) fn stratum(&self, at: usize) -> &str {
        self.strata.get(at).map_or("", |stratum| &stratum.name)
    }
}

/// Names the stratum of every URL: host, first two segments, names of parameters; what is rare
/// shares a stratum.
fn stratify(urls: &[(CrawlUrl, CrawlUrl)]) -> Vec<String> {
    let features: Vec<[String; 4]> = urls.iter().map(|(url, _)| features(url)).collect();
    let frequent: [BTreeSet<&str>; 4] = std::array::from_fn(|i| {
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for of_url in &features {
            *count.entry(&of_url[i]).or_default() += 1;
        }
        let mut count: Vec<(&str, usize)> = count.into_iter().filter(|(_, n)| *n > 1).collect();
        count.sort_by_key(|(value, n)| (std::cmp::Reverse(*n), *value));
        count.into_iter().take(STRATA_PER_FEATURE).map(|(value, _)| value).collect()
    });
    let name = |of_url: &[String; 4]| {
        let part = |i: usize| {
            let value = of_url[i].as_str();
            if frequent[i].contains(value) { value } else { "*" }
        };
        format!("{} /{}/{} ?{}", part(0), part(1), part(2), part(3))
    };
    features.iter().map(name).collect()
}

/// Returns the host of a URL, the templates of its first two segments, and the names of its
/// parameters. What listens on a port of its own is a server of its own.
pub(super) fn features(url: &CrawlUrl) -> [String; 4] {
    let mut segments = url.path()[1..].split('/');
    let mut segment = || template(segments.next().unwrap_or_default());
    let query = url.as_url().query().unwrap_or_default();
    let names: BTreeSet<&str> = query::parameters(query).map(query::name_of).collect();
    let names: Vec<&str> = names.into_iter().collect();
    [server(url), segment(), segment(), names.join("&")]
}

/// Returns the host of a URL, with its port where that is not the one of its scheme: with and
/// without encryption a host serves the same.
pub(super) fn server(url: &CrawlUrl) -> String {
    let port = url.as_url().port();
    port.map_or_else(|| url.host_str().to_owned(), |port| format!("{}:{port}", url.host_str()))
}

/// Documents that are told apart while a rule is in doubt: beyond so many that agree it is not.
const AGREED_MAX: usize = 256;

/// The running audit of an enforced rule: a cumulative sum of log-likelihood ratios [Page 1954].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Audit {
    pub(crate) sum: f64,
    /// Documents that have agreed since the last failure, while there is a doubt.
    #[serde(default)]
    agreed: BTreeSet<u64>,
    /// Failures that it is blamed for, of all that it had a part in.
    #[serde(default)]
    pub(crate) blamed: u32,
    /// Failures that no other rule had a part in.
    #[serde(default)]
    pub(crate) alone: u32,
}

impl Audit {
    /// Takes in one audit, and of which document; returns true where the rule no longer holds.
    /// Further forms of a document that has agreed take nothing from a doubt: they say once more
    /// what the rule does to it.
    pub(crate) fn record(&mut self, finding: Finding, document: u64, settings: &Settings) -> bool {
        let (good, bad) = (settings.audit_failure_good, settings.audit_failure_bad);
        match finding {
            Finding::Same if self.sum > 0.0 && self.is_new(document) => {
                self.sum += ((1.0 - bad) / (1.0 - good)).ln();
            }
            Finding::Failed => {
                self.agreed.clear();
                self.sum += (bad / good).ln();
            }
            Finding::Same | Finding::Unclear => {}
        }
        if self.sum <= 0.0 {
            self.sum = 0.0;
            self.agreed.clear();
        }
        self.sum >= settings.audit_threshold
    }

    /// Notes a document that agrees; returns true where it had not, or may not have.
    fn is_new(&mut self, document: u64) -> bool {
        let has_room = self.agreed.len() < AGREED_MAX;
        if has_room { self.agreed.insert(document) } else { !self.agreed.contains(&document) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dust::items::NO_ITEMS;
    use crate::dust::proven::places;
    use crate::dust::rule::RuleKind;
    use crate::url::query::Separator;

    fn urls(section: &str, n: usize) -> Vec<(CrawlUrl, CrawlUrl)> {
        let url = |text: String| CrawlUrl::parse(&text).unwrap();
        let pair = |i| {
            let base = format!("http://example.com/{section}/{i}");
            (url(format!("{base}?sid=1")), url(base))
        };
        (0..n).map(pair).collect()
    }

    fn run(mut trial: Trial, truth: impl Fn(&CrawlUrl) -> Finding) -> (Standing, Trial) {
        let settings = Settings::default();
        loop {
            match trial.standing(&settings) {
                Standing::Open => {}
                standing => return (standing, trial),
            }
            let draw = trial.draw().unwrap();
            let here = places(&draw.url, &draw.outcome, &NO_ITEMS);
            trial.record((&draw, &here), truth(&draw.url), &settings);
        }
    }

    #[test]
    fn a_rule_that_always_holds_is_accepted_after_46_draws_without_credit() {
        let (standing, trial) =
            run(Trial::new(RuleId(1), urls("a", 100), 0.0, 8), |_| Finding::Same);
        assert_eq!((standing, trial.same), (Standing::Accepted, 46));
    }

    #[test]
    fn two_failures_in_a_small_stratum_refute_a_rule_that_holds_elsewhere() {
        let mut all = urls("a", 1000);
        all.extend(urls("b", 10));
        let settings = Settings::default();
        let credit = settings
            .credit(&Evidence { documents_same: 500, ..Evidence::default() }, Source::Elsewhere);
        let truth = |url: &CrawlUrl| {
            if url.path().starts_with("/b") { Finding::Failed } else { Finding::Same }
        };
        let (standing, trial) = run(Trial::new(RuleId(1), all, credit, 4), truth);
        assert_eq!(standing, Standing::Refuted);
        assert!(trial.same <= 4);
    }

    #[test]
    fn no_credit_spares_a_rule_its_draws() {
        let settings = Settings::default();
        let evidence = Evidence { documents_same: 10_000, ..Evidence::default() };
        let credit = settings.credit(&evidence, Source::Elsewhere);
        let (standing, trial) =
            run(Trial::new(RuleId(1), urls("a", 100), credit, 4), |_| Finding::Same);
        assert_eq!(standing, Standing::Accepted);
        assert!(trial.same >= 4);
    }

    /// Rules that few draws proved, since documents had spoken for them, held for the values of
    /// these draws and hid nothing else: each URL of a site brings a session of its own.
    #[test]
    fn a_rule_is_proved_for_so_many_values_that_they_speak_for_others_or_for_all_in_sight() {
        let pair = |values: usize| {
            let url = |text: String| CrawlUrl::parse(&text).unwrap();
            move |i: usize| {
                let base = format!("http://example.com/a?id={i}");
                (url(format!("{base}&sid={}", i * values / 40)), url(base))
            }
        };
        let rule = RuleKind::DropParameter {
            names: vec!["sid".to_owned()],
            value: None,
            separator: Separator::default(),
        };
        let settings = Settings::default();
        let evidence = Evidence { documents_same: 13, ..Evidence::default() };
        let credit = settings.credit(&evidence, Source::Elsewhere);
        for (values, draws, is_limited) in
            [(1, 6, true), (3, 6, true), (7, 7, true), (40, 8, false)]
        {
            let urls = (0..40).map(pair(values)).collect();
            let mut trial = Trial::new(RuleId(1), urls, credit, 3);
            trial.proven = Proven::of(&rule);
            let (standing, trial) = run(trial, |_| Finding::Same);
            assert_eq!((standing, trial.same), (Standing::Accepted, draws), "{values} values");
            let proven = trial.proven;
            assert_eq!(proven.is_limited_to_values(), is_limited, "{values} values");
            let seen = proven.limited_to().map(|(_, known)| known.len()).next();
            assert_eq!(seen, is_limited.then_some(values));
        }
    }

    #[test]
    fn pages_that_say_nothing_prove_nothing() {
        let (standing, _) =
            run(Trial::new(RuleId(1), urls("a", 100), 0.0, 8), |_| Finding::Unclear);
        assert_eq!(standing, Standing::Exhausted);
    }

    #[test]
    fn a_trial_lacks_answers_where_most_of_what_is_unclear_showed_no_page() {
        let mut trial = Trial::new(RuleId(1), urls("a", 100), 0.0, 8);
        assert!(!trial.lacks_answers());
        trial.unclear = 10;
        assert!(!trial.lacks_answers());
        trial.unanswered = 4;
        assert!(!trial.lacks_answers());
        trial.unanswered = 5;
        assert!(trial.lacks_answers());
    }

    #[test]
    fn audits_forgive_single_failures_and_retire_what_broke() {
        let settings = Settings::default();
        let mut audit = Audit::default();
        for i in 0..10_000 {
            let finding = if i % 100 == 0 { Finding::Failed } else { Finding::Same };
            assert!(!audit.record(finding, i, &settings), "after {i}");
        }
        let mut broken = Audit::default();
        let audits = (1..100).find(|_| broken.record(Finding::Failed, 1, &settings));
        assert_eq!(audits, Some(3));
    }

    /// Of a site in six languages the doubt that a translation had raised was gone after some pages
    /// that are in no other language, each in all six of them.
    #[test]
    fn many_forms_of_a_few_documents_take_no_doubt_away() {
        let settings = Settings::default();
        let sum_after = |documents: u64| {
            let mut audit = Audit::default();
            audit.record(Finding::Failed, 0, &settings);
            for form in 0..200 {
                audit.record(Finding::Same, form % documents, &settings);
            }
            audit.sum
        };
        assert_eq!(sum_after(200), 0.0);
        assert!(sum_after(9) > sum_after(20) && sum_after(20) > 0.0);
        let mut audit = Audit::default();
        (0..2).for_each(|_| _ = audit.record(Finding::Failed, 0, &settings));
        let forms = (0..10).map(|_| audit.record(Finding::Same, 7, &settings));
        assert!(forms.last() == Some(false) && audit.record(Finding::Failed, 0, &settings));
    }
}
