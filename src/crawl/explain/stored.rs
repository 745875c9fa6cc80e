//! What the state says of a URL: how it was found, where it stands, what became of it.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;

use super::judged::{Applied, RobotsSaid, book};
use super::{Judges, words};
use crate::clock::Timestamp;
use crate::db::families::{content as contents, hosts, queue, urls};
use crate::db::{Db, DbError};
use crate::dust::RuleId;
use crate::frontier::{DoneState, HostRecord, HostStatus, Place, UrlRecord, UrlState};
use crate::url::{CrawlUrl, Fingerprint};

/// Pages of a discovery chain that are named; discovery paths keep 64 letters too.
const CHAIN_MAX: usize = 64;

/// Rows of a host that are counted to find a URL's place.
const PLACES_MAX: u64 = 100_000;

/// How a URL was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// When it was found first.
    #[serde(serialize_with = "super::words::time")]
    pub at: Timestamp,
    /// The page it was found on; none for seeds and what robots.txt lists.
    pub via: Option<String>,
    /// Discovery path: one letter per step.
    pub path: String,
    /// The last step in words.
    pub step: String,
    /// Links followed from the seed.
    pub hops: u16,
    /// Pages from the seed to here, this URL last; at most 64.
    pub chain: Vec<String>,
}

/// Where a waiting URL stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineOf {
    /// 0 (best) to 7.
    pub priority: u8,
    /// Order of arrival in the crawl.
    pub serial: u64,
    /// URLs of its host before it; counted up to 100,000.
    pub before: u64,
    /// True if there are more.
    pub before_is_more: bool,
    /// Not before this, if all before it are fetched at the host's present pace; none while its
    /// host may not be asked at all.
    #[serde(serialize_with = "super::words::time_or_none")]
    pub earliest: Option<Timestamp>,
    /// Why not earlier.
    pub why: String,
    /// True if the crawl has asked for it and has not settled the answer.
    pub in_flight: bool,
    /// Attempts that failed so far.
    pub attempts: u16,
    /// 429 and 503 answers so far.
    pub busy: u16,
}

/// What became of a URL.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum State {
    /// The crawl has not met it.
    Unknown,
    /// It waits.
    Queued(LineOf),
    /// It was fetched.
    Done {
        /// When the fetch began.
        #[serde(serialize_with = "super::words::time")]
        at: Timestamp,
        /// HTTP status.
        status: u16,
        /// Decoded bytes.
        bytes: u64,
        /// Media type.
        mime: String,
        /// How the content was judged.
        content: String,
        /// The URL that had its main text first, if it is another one.
        same_text_as: Option<String>,
        /// Links found on it.
        links: u32,
        /// Version of the rules that judged its links.
        rules_version: u64,
        /// Archive file of its record.
        file: Option<String>,
        /// Offset there.
        offset: Option<u64>,
        /// Bytes there.
        length: Option<u64>,
    },
    /// A gate, or robots.txt, refused it.
    Refused {
        /// Stable code.
        reason: String,
        /// Which pattern, line or limit.
        detail: String,
        /// When.
        #[serde(serialize_with = "super::words::time")]
        at: Timestamp,
    },
    /// No usable answer after all attempts.
    Failed {
        /// Stable code.
        reason: String,
        /// One line for people.
        detail: String,
        /// When.
        #[serde(serialize_with = "super::words::time")]
        at: Timestamp,
        /// How often it was tried.
        attempts: u16,
    },
    /// Rules give it the key of another URL.
    Suppressed {
        /// The URL that stands for it.
        by: String,
        /// What became of that one.
        by_is: String,
        /// The rules.
        rules: Vec<Applied>,
        /// Rules that the book no longer has.
        rules_gone: Vec<String>,
        /// Version of the rule set.
        version: u64,
        /// When.
        #[serde(serialize_with = "super::words::time")]
        at: Timestamp,
    },
}

impl State {
    /// Returns the state in one word, as `by_is` has it.
    pub fn word(&self) -> &'static str {
        match self {
            State::Unknown => "unknown",
            State::Queued(_) => "queued",
            State::Done { .. } => "done",
            State::Refused { .. } => "refused",
            State::Failed { .. } => "failed",
            State::Suppressed { .. } => "suppressed",
        }
    }
}

/// How a host stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostSaid {
    /// `open`, `parked: …` or `given up: …`.
    pub status: String,
    /// Where it stands among the hosts.
    pub standing: String,
    /// Waiting URLs.
    pub queued: u64,
    /// Fetched URLs.
    pub done: u64,
    /// No request before this.
    #[serde(serialize_with = "super::words::time")]
    pub next_allowed: Timestamp,
    /// Why not before.
    pub why: String,
    /// The rest after its last fetch, in milliseconds.
    pub gap_ms: u64,
    /// 429 and 503 answers in all.
    pub busy_total: u32,
}

pub(super) fn seen(db: &Db, record: &UrlRecord) -> Result<Seen, DbError> {
    let mut chain = vec![record.url.clone()];
    let mut met = BTreeSet::new();
    let mut next = record.via;
    let mut via = None;
    while let Some(fingerprint) = next {
        // A redirect back to where it came from must not lead round for ever.
        if chain.len() >= CHAIN_MAX || !met.insert(fingerprint.0) {
            break;
        }
        let Some(before) = urls::get(db, fingerprint)? else { break };
        via.get_or_insert_with(|| before.url.clone());
        chain.push(before.url);
        next = before.via;
    }
    chain.reverse();
    Ok(Seen {
        at: record.discovered,
        via,
        path: record.path.clone(),
        step: words::step(record).to_owned(),
        hops: record.hops,
        chain,
    })
}

pub(super) fn state(
    db: &Db,
    judges: &Judges<'_>,
    url: &CrawlUrl,
    record: &UrlRecord,
    host: Option<&HostRecord>,
    robots: &RobotsSaid,
    now: Timestamp,
) -> Result<State, DbError> {
    Ok(match &record.state {
        UrlState::Queued(place) => {
            State::Queued(line(db, judges, record, *place, host, robots, now)?)
        }
        UrlState::Done(done) => self::done(db, url.fingerprint(), done)?,
        UrlState::Refused { reason, detail, at } => {
            State::Refused { reason: reason.clone(), detail: detail.clone(), at: *at }
        }
        UrlState::Failed { reason, detail, at } => State::Failed {
            reason: reason.clone(),
            detail: detail.clone(),
            at: *at,
            attempts: record.attempts,
        },
        UrlState::Suppressed { by, rules, version, at } => {
            suppressed(db, judges, *by, rules, *version, *at)?
        }
    })
}

fn done(db: &Db, own: Fingerprint, done: &DoneState) -> Result<State, DbError> {
    let first = match done.text_digest {
        Some(digest) => contents::get(db, contents::Kind::Text, digest)?,
        None => None,
    };
    let record = done.record.as_ref();
    Ok(State::Done {
        at: done.at,
        status: done.status,
        bytes: done.bytes,
        mime: done.mime.clone(),
        content: done.content.clone(),
        same_text_as: first.filter(|first| first.url != own).map(|first| first.target),
        links: done.links,
        rules_version: done.rules_version,
        file: record.map(|(file, ..)| file.clone()),
        offset: record.map(|(_, offset, _)| *offset),
        length: record.map(|(.., length)| *length),
    })
}

fn suppressed(
    db: &Db,
    judges: &Judges<'_>,
    by: Fingerprint,
    rules: &[u64],
    version: u64,
    at: Timestamp,
) -> Result<State, DbError> {
    let holder = urls::get(db, by)?;
    let book = book(db, judges)?;
    let (mut known, mut gone) = (Vec::new(), Vec::new());
    for id in rules {
        match book.as_ref().and_then(|book| book.rule(RuleId(*id))) {
            Some(rule) => known.push(rule.into()),
            None => gone.push(RuleId(*id).to_string()),
        }
    }
    let by_is =
        holder.as_ref().map_or("gone from the ledger", |holder| words::state(&holder.state));
    Ok(State::Suppressed {
        by: holder.as_ref().map_or_else(|| format!("{:032x}", by.0), |holder| holder.url.clone()),
        by_is: by_is.to_owned(),
        rules: known,
        rules_gone: gone,
        version,
        at,
    })
}

fn line(
    db: &Db,
    judges: &Judges<'_>,
    record: &UrlRecord,
    place: Place,
    host: Option<&HostRecord>,
    robots: &RobotsSaid,
    now: Timestamp,
) -> Result<LineOf, DbError> {
    let mut line = LineOf {
        priority: place.priority,
        serial: place.serial,
        before: 0,
        before_is_more: false,
        earliest: None,
        why: "its host has no record; run `crawler verify`".to_owned(),
        in_flight: false,
        attempts: record.attempts,
        busy: record.busy,
    };
    let Some(host) = host else { return Ok(line) };
    let mut found = false;
    queue::each(db, host.id, |at, _| {
        found = at == place;
        line.before += u64::from(!found);
        !found && line.before < PLACES_MAX
    })?;
    line.before_is_more = !found;
    let leases = hosts::leases(db)?;
    line.in_flight = leases.iter().any(|(id, lease)| *id == host.id && lease.url == record.url);
    if line.in_flight {
        line.why = "a request for it is under way, or was when the crawl was killed".to_owned();
        line.earliest = Some(now);
        return Ok(line);
    }
    let settings = judges.politeness.of(host.name.as_str());
    let (first, why) = words::host_waits(host, settings, Some(robots), now);
    line.why = why;
    if judges.paused {
        line.why = format!("the crawl is paused (`crawler ctl resume`); then: {}", line.why);
    }
    if host.status == HostStatus::Open && !judges.paused {
        let gap = Duration::from_millis(host.pace.gap_ms).max(settings.min_delay.get());
        let rounds = u32::try_from(line.before).unwrap_or(u32::MAX);
        line.earliest = Some(first.plus(gap.saturating_mul(rounds)));
        if line.before > 0 {
            let more = if line.before_is_more { "more than " } else { "" };
            let (before, gap) = (line.before, crate::clock::Span(gap));
            line.why += &format!("; {more}{before} URLs of its host are before it, {gap} each");
        }
    }
    Ok(line)
}

pub(super) fn host_said(host: &HostRecord, judges: &Judges<'_>, now: Timestamp) -> HostSaid {
    let settings = judges.politeness.of(host.name.as_str());
    let (_, why) = words::host_waits(host, settings, None, now);
    HostSaid {
        status: words::status(&host.status),
        standing: words::standing(host),
        queued: host.queued,
        done: host.done,
        next_allowed: host.pace.earliest(settings, now),
        why,
        gap_ms: host.pace.gap_ms,
        busy_total: host.pace.busy_total,
    }
}
