//! Learning from a finished log: the same book of rules, fed all at once and probing through a
//! trait, so that a log, a model site and a crawl are judged by one code.

use std::collections::{BTreeMap, BTreeSet};

use super::book::{RuleBook, RuleEvent, Settings};
use super::evidence::Observation;
use super::fetched::Fetched;
use super::rule::{Rule, RuleError, RuleId, RuleState};
use crate::clock::Timestamp;
use crate::url::{CrawlUrl, Site};

/// Searches per site: each meets what the trials of the last one refuted.
const SEARCHES_MAX: usize = 6;

/// Fetches one URL, redirects followed, within whatever politeness its owner keeps.
pub trait Fetcher {
    /// Returns what the URL shows.
    fn fetch(&mut self, url: &CrawlUrl) -> Fetched;

    /// Returns whether robots.txt allows the URL.
    fn allows(&self, url: &CrawlUrl) -> bool {
        let _ = url;
        true
    }
}

/// What was learned.
#[derive(Debug)]
pub struct Report {
    /// All rules with state and evidence.
    pub rules: Vec<Rule>,
    /// What happened, in order.
    pub events: Vec<RuleEvent>,
    /// Rules of a file that are as they were before their trial: too few of their pages could be
    /// fetched to say anything. The book has them on trial.
    pub unanswered: BTreeSet<RuleId>,
    /// Fetches spent on probes.
    pub probes: u64,
    /// The book, to go on with.
    pub book: RuleBook,
}

impl Report {
    /// Returns the rules in force.
    pub fn enforced(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(|rule| rule.state == RuleState::Enforced)
    }
}

/// Learns from a log; without a fetcher, rules stay on trial.
///
/// # Errors
/// Returns a rule that cannot be used.
pub fn learn(
    log: impl IntoIterator<Item = Observation>,
    mut fetcher: Option<&mut dyn Fetcher>,
    settings: Settings,
    now: Timestamp,
) -> Result<Report, RuleError> {
    // Whoever mines a log wants its rules, not the fetches of one more crawl.
    let validate = super::validate::Settings { saving_factor: 0.0, ..settings.validate };
    let settings = Settings { validate, ..settings };
    let mut book = book_on_request(log, settings);
    let sites: Vec<Site> = book.miner.sites().cloned().collect();
    for _ in 0..SEARCHES_MAX {
        let mut progress = false;
        for site in &sites {
            progress |= book.mine(site, now)? > 0;
            if let Some(fetcher) = &mut fetcher {
                progress |= prove(&mut book, site, &mut **fetcher, now)?;
            }
        }
        if !progress || fetcher.is_none() {
            break;
        }
    }
    let (rules, events) = (book.rules_as_proved(), book.take_events());
    let unanswered = BTreeSet::new();
    Ok(Report { rules, events, unanswered, probes: book.probes_spent(), book })
}

/// Proves rules of a file on the URLs of a log; searches for no others.
///
/// A rule that rewrites no URL of the log stays a candidate. One whose pages cannot be fetched is
/// neither proved nor refuted, and reported as it was.
///
/// # Errors
/// Returns a rule that cannot be used.
pub fn prove_rules(
    rules: Vec<Rule>,
    log: impl IntoIterator<Item = Observation>,
    fetcher: &mut dyn Fetcher,
    settings: Settings,
    now: Timestamp,
) -> Result<Report, RuleError> {
    let mut book = book_on_request(log, settings);
    book.draws_untold = true;
    book.keeps_unanswered = true;
    let ids: Vec<_> = rules.iter().map(|rule| rule.id).collect();
    let sites: BTreeSet<Site> = rules.iter().map(|rule| rule.site.clone()).collect();
    let mut before: BTreeMap<RuleId, Rule> =
        rules.iter().map(|rule| (rule.id, rule.clone())).collect();
    book.import(rules);
    book.put_on_trial(&ids, now)?;
    for site in &sites {
        prove(&mut book, site, fetcher, now)?;
    }
    let unanswered = book.unanswered();
    before.retain(|id, _| unanswered.contains(id));
    let rules = book.rules_as_proved().into_iter();
    let rules = rules.map(|rule| before.remove(&rule.id).unwrap_or(rule)).collect();
    let events = book.take_events();
    Ok(Report { rules, events, unanswered, probes: book.probes_spent(), book })
}

/// Returns a book that knows a log, of which somebody asked for proofs.
fn book_on_request(log: impl IntoIterator<Item = Observation>, settings: Settings) -> RuleBook {
    let probes_granted = settings.validate.probes_on_request;
    let mut book = RuleBook::new(settings);
    book.probes_granted = probes_granted;
    for observation in log {
        book.observe(&observation);
    }
    book
}

/// Runs the trials of a site to their end.
fn prove(
    book: &mut RuleBook,
    site: &Site,
    fetcher: &mut dyn Fetcher,
    now: Timestamp,
) -> Result<bool, RuleError> {
    let mut any = false;
    loop {
        let allowed = |url: &CrawlUrl| fetcher.allows(url);
        let probes = book.next_probes(now, site, 1, &allowed)?;
        if probes.is_empty() {
            return Ok(any);
        }
        for probe in probes {
            any = true;
            let outcome = fetcher.fetch(&probe.url);
            let reference = probe.reference.as_ref().map(|url| fetcher.fetch(url));
            book.probe_result(probe.id, outcome, reference, now);
        }
    }
}
