//! One walk over the state: what became of every URL that was found.

use std::collections::{BTreeMap, HashMap};

use super::redirects::Chain;
use super::safe;
use crate::content::near::NearSettings;
use crate::crawl::dups::{self, Exact, HostRow, Nearly};
use crate::crawl::inlinks::{Fault, Inlinks, Pages};
use crate::crawl::learned;
use crate::crawl::unsaved::{Unsaved, unsaved};
use crate::db::families::meta::{self, Counters, Session};
use crate::db::families::{hosts, urls};
use crate::db::{Db, DbError};
use crate::dust::{self, Rule, RuleBook, RuleSet};
use crate::frontier::{HostStatus, UrlState};
use crate::url::{CrawlUrl, Fingerprint};

use super::{CSV_ROWS_MAX, ERRORS_MAX};

/// Depths that are told apart; what is deeper is counted with the last.
const DEPTHS_MAX: u16 = 60;

/// Pairs of host and line, or reasons, that are told apart.
const KINDS_MAX: usize = 20_000;

/// Hosts whose waiting URLs and status are shown.
const HOSTS_KEPT_MAX: usize = 200_000;

/// A URL that gave no page, what led to it first, and all pages that do, not looked up yet.
type Found<'a> = (Broken, Option<Fingerprint>, Option<&'a Pages>);

/// A URL that gave no page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) url: String,
    pub(super) fault: Fault,
    /// The page on which it was found first; nothing for a seed.
    pub(super) via: Option<String>,
    /// How many pages lead to it, where they were looked for.
    pub(super) pages: u64,
    /// The first of them.
    pub(super) linked_from: Vec<String>,
}

/// How many, and one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) count: u64,
    pub(super) example: String,
}

/// What was found at one depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AtDepth {
    pub(super) done: u64,
    pub(super) queued: u64,
    pub(super) refused: u64,
    pub(super) failed: u64,
    pub(super) suppressed: u64,
}

/// What the fetched URLs answered at last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) all: u64,
    pub(super) redirects: u64,
    pub(super) errors: u64,
    pub(super) junk: u64,
    pub(super) duplicates: u64,
    pub(super) thin: u64,
    /// Answers without text: pictures, robots of other kinds, empty bodies.
    pub(super) no_text: u64,
    pub(super) new: u64,
}

/// What the state says of a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HostState {
    pub(super) queued: u64,
    pub(super) gap_ms: u64,
    /// Empty where it is open.
    pub(super) closed: String,
}

/// What the state says.
#[derive(Debug, Default)]
pub(super) struct StateFacts {
    pub(super) counters: Counters,
    pub(super) session: Session,
    pub(super) answered: Answered,
    pub(super) depths: BTreeMap<u16, AtDepth>,
    pub(super) refused: HashMap<String, Counted>,
    pub(super) failed: HashMap<String, Counted>,
    /// URLs that gave no page, at most [`ERRORS_MAX`].
    pub(super) broken: Vec<Broken>,
    /// How many there are.
    pub(super) broken_total: u64,
    /// By host and line of its robots.txt.
    pub(super) robots: HashMap<(String, String), Counted>,
    /// Refusals by robots.txt beyond those that are told apart.
    pub(super) robots_beyond: u64,
    pub(super) hosts: HashMap<String, HostState>,
    pub(super) hosts_total: u64,
    pub(super) hosts_parked: u64,
    pub(super) repeating: Vec<HostRow>,
    pub(super) exact: Exact,
    pub(super) nearly: Nearly,
    pub(super) rules: Vec<Rule>,
    /// What those would save that are suggested and not applied, where there are any.
    pub(super) unsaved: Option<Unsaved>,
    pub(super) reasons: BTreeMap<String, u64>,
}

impl StateFacts {
    /// Reads the state.
    pub(super) fn read(
        db: &Db,
        near: &NearSettings,
        dust: dust::Settings,
        inlinks: Option<&Inlinks>,
    ) -> Result<StateFacts, DbError> {
        let mut facts = StateFacts {
            counters: meta::counters(db)?.unwrap_or_default(),
            session: meta::session(db)?.unwrap_or_default(),
            reasons: meta::reasons(db)?.unwrap_or_default(),
            exact: dups::exact(db, CSV_ROWS_MAX)?,
            nearly: dups::nearly(db, near, CSV_ROWS_MAX)?,
            repeating: dups::by_host(db, CSV_ROWS_MAX)?,
            ..StateFacts::default()
        };
        // A rule book of another version says nothing here; `crawler dust rules` tells why.
        if let Some(stored) = learned::rules(db)?
            && let Ok(book) = RuleBook::decode(dust, &stored, [])
        {
            facts.rules = book.rules_as_proved();
        }
        let mut found = Vec::new();
        urls::each(db, |own, record| {
            facts.note(&record.url, record.hops, &record.state);
            if let Some(fault) = Fault::of(&record.state) {
                facts.broken_total += 1;
                if found.len() < ERRORS_MAX {
                    let broken = Broken { url: safe::url(&record.url), fault, ..Broken::default() };
                    found.push((broken, record.via, inlinks.and_then(|all| all.of(own))));
                }
            }
            true
        })?;
        facts.broken = with_referrers(db, found)?;
        hosts::each(db, |record| {
            facts.hosts_total += 1;
            let closed = match &record.status {
                HostStatus::Open => String::new(),
                HostStatus::Parked { reason, .. } => format!("parked: {reason}"),
                HostStatus::GivenUp { reason, .. } => format!("given up: {reason}"),
            };
            facts.hosts_parked += u64::from(matches!(record.status, HostStatus::Parked { .. }));
            if facts.hosts.len() < HOSTS_KEPT_MAX {
                let (queued, gap_ms) = (record.queued, record.pace.gap_ms);
                facts.hosts.insert(record.name.to_string(), HostState { queued, gap_ms, closed });
            }
            true
        })?;
        Ok(facts)
    }

    /// Counts what the rules would save that are in force, where the crawl applies none.
    pub(super) fn count_unsaved(&mut self, db: &Db) -> Result<(), DbError> {
        // A rule that cannot be used is none; `crawler dust rules` says so.
        if let Ok(set) = RuleSet::in_force(&self.rules) {
            self.unsaved = unsaved(db, &set)?;
        }
        Ok(())
    }

    fn note(&mut self, url: &str, hops: u16, state: &UrlState) {
        let depth = self.depths.entry(hops.min(DEPTHS_MAX)).or_default();
        match state {
            UrlState::Queued(_) => depth.queued += 1,
            UrlState::Suppressed { .. } => depth.suppressed += 1,
            UrlState::Done(done) => {
                depth.done += 1;
                self.answered.note(done.status, &done.content);
            }
            UrlState::Failed { reason, .. } => {
                depth.failed += 1;
                count(&mut self.failed, reason, url);
            }
            UrlState::Refused { reason, detail, .. } => {
                depth.refused += 1;
                count(&mut self.refused, reason, url);
                if reason.starts_with("robots") {
                    self.note_robots(url, detail);
                }
            }
        }
    }

    fn note_robots(&mut self, url: &str, detail: &str) {
        let host = CrawlUrl::parse(url).map(|url| url.host_str().to_owned()).unwrap_or_default();
        let key = (host, detail.to_owned());
        if self.robots.len() >= KINDS_MAX && !self.robots.contains_key(&key) {
            self.robots_beyond += 1;
            return;
        }
        let counted = self.robots.entry(key).or_default();
        counted.count += 1;
        if counted.example.is_empty() {
            counted.example = safe::url(url);
        }
    }
}

impl Answered {
    fn note(&mut self, status: u16, content: &str) {
        self.all += 1;
        let of = match (status, content) {
            (300..=399, _) => &mut self.redirects,
            (_, content) if content.starts_with("junk:") => &mut self.junk,
            (200..=299, "new" | "revisit") => &mut self.new,
            (200..=299, "duplicate") => &mut self.duplicates,
            (200..=299, "thin") => &mut self.thin,
            (200..=299, _) => &mut self.no_text,
            _ => &mut self.errors,
        };
        *of += 1;
    }
}

fn count(of: &mut HashMap<String, Counted>, reason: &str, url: &str) {
    if of.len() >= KINDS_MAX && !of.contains_key(reason) {
        return;
    }
    let counted = of.entry(reason.to_owned()).or_default();
    counted.count += 1;
    if counted.example.is_empty() {
        counted.example = safe::url(url);
    }
}

/// Returns what a redirect chain comes to: a status, or why there is none.
pub(super) fn end_of(db: &Db, chain: &Chain) -> Result<String, DbError> {
    if chain.is_loop {
        return Ok("loop".to_owned());
    }
    let end = chain.steps.last().and_then(|url| CrawlUrl::parse(url).ok());
    let record = end.map(|url| urls::get(db, url.fingerprint())).transpose()?.flatten();
    Ok(match record.map(|record| record.state) {
        None => "not known".to_owned(),
        Some(UrlState::Queued(_)) => "waiting".to_owned(),
        Some(UrlState::Suppressed { .. }) => "known under another URL".to_owned(),
        Some(UrlState::Done(done)) => done.status.to_string(),
        Some(UrlState::Failed { reason, .. }) => reason,
        Some(UrlState::Refused { reason, .. }) => format!("refused: {reason}"),
    })
}

/// Looks up which pages lead to each broken link.
fn with_referrers(db: &Db, found: Vec<Found<'_>>) -> Result<Vec<Broken>, DbError> {
    let referrers: Vec<Fingerprint> = found.iter().filter_map(|(_, via, _)| *via).collect();
    let mut records = urls::get_many(db, &referrers)?.into_iter();
    let mut all = Vec::with_capacity(found.len());
    for (mut broken, via, pages) in found {
        let via = via.and_then(|_| records.next().flatten());
        broken.via = via.map(|record| safe::url(&record.url));
        if let Some(pages) = pages {
            broken.pages = pages.count;
            let first = urls::get_many(db, &pages.first)?.into_iter().flatten();
            broken.linked_from = first.map(|record| safe::url(&record.url)).collect();
            broken.linked_from.sort();
        }
        all.push(broken);
    }
    all.sort_by(|a, b| (&a.fault, &a.url).cmp(&(&b.fault, &b.url)));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_in_exactly_one_class() {
        let mut answered = Answered::default();
        for (status, content) in [
            (200, "new"),
            (200, "duplicate"),
            (200, "thin"),
            (200, "none"),
            (200, "junk:soft-404"),
            (404, "junk:login"),
            (301, "none"),
            (404, "none"),
            (500, ""),
        ] {
            answered.note(status, content);
        }
        let Answered { all, redirects, errors, junk, duplicates, thin, no_text, new } = answered;
        assert_eq!(all, redirects + errors + junk + duplicates + thin + no_text + new);
        assert_eq!((junk, errors, new), (2, 2, 1));
    }

    #[test]
    fn refusals_by_robots_are_told_by_host_and_line() {
        let mut facts = StateFacts::default();
        let refused = |detail: &str| UrlState::Refused {
            reason: "robots-disallowed".to_owned(),
            detail: detail.to_owned(),
            at: crate::clock::Timestamp::ZERO,
        };
        facts.note("http://a.test/p/1", 1, &refused("line 2: Disallow: /p/"));
        facts.note("http://a.test/p/2", 9, &refused("line 2: Disallow: /p/"));
        facts.note("http://b.test/p/2", 999, &refused("line 2: Disallow: /p/"));
        assert_eq!(facts.robots.len(), 2);
        assert_eq!(facts.refused["robots-disallowed"].count, 3);
        assert_eq!(facts.depths[&DEPTHS_MAX].refused, 1);
    }
}
