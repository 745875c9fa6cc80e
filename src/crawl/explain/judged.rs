//! What the judges of the crawl say of a URL now: gates, robots.txt, rules.

use serde::Serialize;

use super::Judges;
use crate::clock::Timestamp;
use crate::crawl::learned;
use crate::crawl::way;
use crate::db::families::seen::{self, Depth};
use crate::db::families::{meta, robots as robots_rows, urls};
use crate::db::{Db, DbError};
use crate::dust::{Evidence, Rule, RuleBook, RuleState, Source};
use crate::filter::{Candidate, Filter, Reason, Usage, Verdict};
use crate::frontier::{HostRecord, UrlRecord, UrlState};
use crate::robots;
use crate::url::CrawlUrl;

/// Pages before a URL that are asked for a nearer way to it: more than there are between a seed and
/// what the usual limit lets in, with some redirects.
const WAY_MAX: usize = 256;

/// The verdict of a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gate {
    /// True to go on.
    pub accept: bool,
    /// Stable code of the reason.
    pub code: String,
    /// The reason in words.
    pub reason: String,
}

impl From<Verdict> for Gate {
    fn from(verdict: Verdict) -> Self {
        Gate {
            accept: verdict.accept,
            code: verdict.code().to_owned(),
            reason: verdict.reason.to_string(),
        }
    }
}

/// What robots.txt says of a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RobotsSaid {
    /// True if it was fetched and is stored.
    pub known: bool,
    /// True if the URL may be fetched, as far as is known.
    pub allowed: bool,
    /// The group that speaks to us.
    pub group: String,
    /// The number of the deciding line.
    pub line: Option<u32>,
    /// The deciding rule.
    pub rule: Option<String>,
    /// The whole in words.
    pub reason: String,
    /// Crawl-delay, in milliseconds.
    pub crawl_delay_ms: Option<u64>,
    /// When it was fetched.
    #[serde(serialize_with = "super::words::time_or_none")]
    pub fetched: Option<Timestamp>,
    /// Until when it is believed.
    #[serde(serialize_with = "super::words::time_or_none")]
    pub valid_until: Option<Timestamp>,
    /// True if that time is over, so that it is fetched before the next page.
    pub stale: bool,
    /// Failures to fetch it, in a row.
    pub failures: u32,
}

/// A rule that touches the URL, with what speaks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// Its name, 16 hexadecimal digits.
    pub id: String,
    /// The rule in words.
    pub text: String,
    /// Its state.
    pub state: RuleState,
    /// Where it came from.
    pub source: Source,
    /// What speaks for and against it.
    pub evidence: Evidence,
    /// When it was found.
    #[serde(serialize_with = "super::words::time")]
    pub found: Timestamp,
    /// When its state last changed.
    #[serde(serialize_with = "super::words::time")]
    pub changed: Timestamp,
}

impl From<&Rule> for Applied {
    fn from(rule: &Rule) -> Self {
        Applied {
            id: rule.id.to_string(),
            text: rule.to_string(),
            state: rule.state,
            source: rule.source,
            evidence: rule.evidence,
            found: rule.found,
            changed: rule.changed,
        }
    }
}

/// What the learned rules make of a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RulesSaid {
    /// Version of the rule set; 0 before any rule.
    pub version: u64,
    /// True if rules in force change keys in this crawl; false if they are only found and shown.
    pub enforced: bool,
    /// The canonical URL; none if no rule applies.
    pub key: Option<String>,
    /// The URL that stands for the key, if it is another one.
    pub key_held_by: Option<String>,
    /// The rules that applied, in order.
    pub applied: Vec<Applied>,
    /// How many rules of the site there are, in whatever state.
    pub of_site: usize,
}

/// Reads the stored rule book; none if nothing was learned yet.
pub(super) fn book(db: &Db, judges: &Judges<'_>) -> Result<Option<RuleBook>, DbError> {
    let Some(stored) = learned::rules(db)? else { return Ok(None) };
    let book = RuleBook::decode(judges.dust.clone(), &stored, []);
    book.map(Some).map_err(|error| DbError::Corrupt {
        family: "meta",
        key: "rule-book".to_owned(),
        why: error.to_string(),
    })
}

pub(super) fn rules(
    db: Option<&Db>,
    judges: &Judges<'_>,
    url: &CrawlUrl,
) -> Result<RulesSaid, DbError> {
    let mut said = RulesSaid {
        version: 0,
        enforced: judges.enforces,
        key: None,
        key_held_by: None,
        applied: Vec::new(),
        of_site: 0,
    };
    let Some(db) = db else { return Ok(said) };
    let Some(book) = book(db, judges)? else { return Ok(said) };
    let site = url.site();
    said.of_site = book.rules().filter(|rule| rule.site == site).count();
    let set = book.rule_set().map_err(|error| DbError::Corrupt {
        family: "meta",
        key: "rule-book".to_owned(),
        why: error.to_string(),
    })?;
    said.version = set.version();
    let canonized = set.canonize(url);
    if canonized.rules.is_empty() {
        return Ok(said);
    }
    said.applied = canonized.rules.iter().filter_map(|id| book.rule(*id)).map(Into::into).collect();
    said.key = Some(canonized.key.to_string());
    let own = url.fingerprint();
    let key = canonized.key.fingerprint();
    let holder = seen::get(db, key)?.map(|known| known.holder(key));
    if let Some(holder) = holder.filter(|holder| *holder != own) {
        said.key_held_by = urls::get(db, holder)?.map(|record| record.url);
    }
    Ok(said)
}

/// Asks the schedule gate about the URL as it was found, or as a plain link if it was not.
pub(super) fn schedule_gate(
    db: Option<&Db>,
    judges: &Judges<'_>,
    url: &CrawlUrl,
    record: Option<&UrlRecord>,
) -> Result<Gate, DbError> {
    let Some(record) = record else {
        if judges.seeds.contains(url) {
            return Ok(judges.filter.schedule(&Candidate::seed(url)).into());
        }
        // Its depth is unknown: everything but the hop limit and nofollow is judged.
        return Ok(judges.filter.schedule(&Candidate::link(url, url, 0)).into());
    };
    let Some(db) = db else { return Ok(judges.filter.schedule(&Candidate::seed(url)).into()) };
    Ok(as_found(db, judges.filter, url, record)?.0.into())
}

/// Asks the schedule gate about a URL of the ledger as it was found, by the way that its page has
/// by now; returns also its depth.
pub(in crate::crawl) fn as_found(
    db: &Db,
    filter: &Filter,
    url: &CrawlUrl,
    record: &UrlRecord,
) -> Result<(Verdict, Depth), DbError> {
    let Some(via) = record.via else {
        let depth = (record.hops, record.hops_max);
        return Ok((filter.schedule(&Candidate::seed(url)), depth));
    };
    let before = urls::get(db, via)?;
    // What robots.txt lists was found on a page that has no record of its own.
    let via_url = before.as_ref().map(|before| before.url.as_str());
    let via_url = via_url.and_then(|text| CrawlUrl::parse(text).ok());
    let via_url = via_url.or_else(|| CrawlUrl::parse(&robots::robots_url(url)).ok());
    let refused_for_nofollow = matches!(
        &record.state,
        UrlState::Refused { reason, .. } if reason == "link-nofollow"
    );
    // Ledgers of before have no depth of a refused URL.
    let depth = match (&record.state, &before) {
        (UrlState::Refused { .. }, Some(before)) => {
            (before.hops.saturating_add(links_of(record)), before.hops_max)
        }
        _ => (record.hops, record.hops_max),
    };
    let via = via_url.as_ref();
    let ask = |depth: Depth| {
        filter.schedule(&way::candidate(url, via, &record.path, depth, refused_for_nofollow))
    };
    let verdict = ask(depth);
    if !matches!(verdict.reason, Reason::TooManyHops(_)) {
        return Ok((verdict, depth));
    }
    let depth = nearest(db, record, depth, filter.settings().hops_max)?;
    Ok((ask(depth), depth))
}

/// Returns this depth of a URL of the ledger or, where that leaves more room under the crawl's
/// limit, the one that the pages before it give it: some may have been found nearer since.
pub(in crate::crawl) fn nearest(
    db: &Db,
    record: &UrlRecord,
    known: Depth,
    limit: u16,
) -> Result<Depth, DbError> {
    let (mut best, mut via, mut links) = (known, record.via, links_of(record));
    for _ in 0..WAY_MAX {
        let Some(page) = via else { break };
        let Some(before) = urls::get(db, page)? else { break };
        let depth = (before.hops.saturating_add(links), before.hops_max);
        if way::room(depth, limit) > way::room(best, limit) {
            best = depth;
        }
        links = links.saturating_add(links_of(&before));
        via = before.via;
    }
    Ok(best)
}

/// Returns the links of the last hop of a path: one, or none.
fn links_of(record: &UrlRecord) -> u16 {
    way::deeper(0, record.path.chars().next_back().unwrap_or('L'))
}

pub(super) fn fetch_gate(
    db: Option<&Db>,
    judges: &Judges<'_>,
    url: &CrawlUrl,
    host: Option<&HostRecord>,
) -> Result<Gate, DbError> {
    let counters = match db {
        Some(db) => meta::counters(db)?.unwrap_or_default(),
        None => meta::Counters::default(),
    };
    let total = Usage { pages: counters.done, bytes: counters.bytes };
    let used = host.map_or(Usage::default(), |host| Usage { pages: host.done, bytes: host.bytes });
    Ok(judges.filter.fetch(url, &used, &total).into())
}

pub(super) fn robots(
    db: Option<&Db>,
    judges: &Judges<'_>,
    url: &CrawlUrl,
    now: Timestamp,
) -> Result<RobotsSaid, DbError> {
    if let Some(entry) = judges.robots {
        return Ok(said_by(entry, url, now));
    }
    let origin = url.origin();
    let bytes = match db {
        Some(db) => robots_rows::get(db, &origin)?,
        None => None,
    };
    let Some(bytes) = bytes else {
        return Ok(RobotsSaid {
            known: false,
            allowed: true,
            group: String::new(),
            line: None,
            rule: None,
            reason: "robots.txt is not fetched yet; it is before the first page".to_owned(),
            crawl_delay_ms: None,
            fetched: None,
            valid_until: None,
            stale: false,
            failures: 0,
        });
    };
    let entry = robots::Entry::from_bytes(&bytes).map_err(|error| DbError::Corrupt {
        family: "robots",
        key: origin.to_string(),
        why: error.to_string(),
    })?;
    Ok(said_by(&entry, url, now))
}

fn said_by(entry: &robots::Entry, url: &CrawlUrl, now: Timestamp) -> RobotsSaid {
    let verdict = entry.allows(url);
    let delay = entry.robots().and_then(robots::Robots::crawl_delay);
    RobotsSaid {
        known: true,
        allowed: verdict.allowed,
        group: verdict.group,
        line: verdict.line,
        rule: verdict.rule,
        reason: verdict.reason,
        crawl_delay_ms: delay.map(|delay| delay.as_millis() as u64),
        fetched: Some(entry.fetched),
        valid_until: Some(entry.valid_until),
        stale: entry.is_stale(now),
        failures: entry.failures(),
    }
}
