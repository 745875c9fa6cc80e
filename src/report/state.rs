//! One walk over the state: what became of every URL that was found.

use std::collections::{BTreeMap, HashMap};

use super::safe;
use crate::content::near::NearSettings;
use crate::crawl::dups::{self, Exact, HostRow, Nearly};
use crate::db::families::meta::{self, Counters, Session};
use crate::db::families::{hosts, urls};
use crate::db::{Db, DbError};
use crate::dust::{self, Rule, RuleBook};
use crate::frontier::{HostStatus, UrlState};
use crate::url::CrawlUrl;

use super::CSV_ROWS_MAX;

/// Depths that are told apart; what is deeper is counted with the last.
const DEPTHS_MAX: u16 = 60;

/// Pairs of host and line, or reasons, that are told apart.
const KINDS_MAX: usize = 20_000;

/// Hosts whose waiting URLs and status are shown.
const HOSTS_KEPT_MAX: usize = 200_000;

/// Steps of a redirect chain that are looked up.
const STEPS_MAX: usize = 20;

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
    pub(super) reasons: BTreeMap<String, u64>,
}

impl StateFacts {
    /// Reads the state.
    pub(super) fn read(
        db: &Db,
        near: &NearSettings,
        dust: dust::Settings,
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
        if let Some(bytes) = meta::rule_book(db)?
            && let Ok(book) = RuleBook::decode(dust, &bytes, [])
        {
            facts.rules = book.rules().cloned().collect();
        }
        urls::each(db, |_, record| {
            facts.note(&record.url, record.hops, &record.state);
            true
        })?;
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

/// Returns the redirects that led to a URL, from the first to it.
pub(super) fn chain(db: &Db, url: &str, length: u32) -> Result<Vec<String>, DbError> {
    let mut steps = vec![safe::url(url)];
    let Ok(parsed) = CrawlUrl::parse(url) else { return Ok(steps) };
    let mut next = urls::get(db, parsed.fingerprint())?.and_then(|record| record.via);
    for _ in 0..(length as usize).min(STEPS_MAX) {
        let Some(fingerprint) = next else { break };
        let Some(record) = urls::get(db, fingerprint)? else { break };
        steps.push(safe::url(&record.url));
        next = record.via;
    }
    steps.reverse();
    Ok(steps)
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
