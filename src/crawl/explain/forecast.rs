//! What would become of a URL that the crawl has not met.

use std::collections::BTreeMap;

use serde::Serialize;

use super::judged::{Gate, RobotsSaid, RulesSaid};
use super::parts::PartSaid;
use crate::crawl::discover::TRAPPED;
use crate::db::families::meta;
use crate::db::{Db, DbError};
use crate::filter::Filter;

/// What would become of a URL if the crawl met it now, as a seed or as a link of its own host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Forecast {
    /// `fetched`, `refused` or `suppressed`.
    pub is: &'static str,
    /// Stable code of what refuses it; none if nothing does.
    pub reason: Option<String>,
    /// The whole in words.
    pub why: String,
    /// True if it is one of the seeds.
    pub seed: bool,
    /// Pages of the crawl whose links were not followed, by the code of the reason. Any of them may
    /// lead to the URL: links that are not followed have no row.
    pub unfollowed: BTreeMap<&'static str, u64>,
}

/// Counts the pages whose links were not followed.
pub(super) fn unfollowed(db: Option<&Db>) -> Result<BTreeMap<&'static str, u64>, DbError> {
    let counts = db.map(meta::reasons).transpose()?.flatten().unwrap_or_default();
    let codes = Filter::UNFOLLOWED.map(|reason| reason.code()).into_iter();
    Ok(codes.filter_map(|code| Some((code, *counts.get(code)?))).collect())
}

/// What the gates say that a URL would pass.
pub(super) struct Gates<'a> {
    pub(super) schedule: &'a Gate,
    pub(super) fetch: &'a Gate,
}

/// Asks the judges in the order in which the crawl does.
pub(super) fn forecast(
    seed: bool,
    gates: &Gates<'_>,
    part: Option<&PartSaid>,
    rules: &RulesSaid,
    robots: &RobotsSaid,
    unfollowed: BTreeMap<&'static str, u64>,
) -> Forecast {
    let would_be = |is, reason: Option<&str>, why| Forecast {
        is,
        reason: reason.map(str::to_owned),
        why,
        seed,
        unfollowed,
    };
    let Gates { schedule, fetch } = gates;
    if !schedule.accept {
        let why = format!("it would not be queued: {}", schedule.reason);
        return would_be("refused", Some(&schedule.code), why);
    }
    if let Some(part) = part.filter(|part| part.leaves_out) {
        let turn = if seed { "be queued, and refused at its turn" } else { "not be queued" };
        let why = format!("it would {turn}: the part {} of its host is parked", part.name);
        return would_be("refused", Some(TRAPPED), why);
    }
    if let Some(holder) = rules.key_held_by.as_ref().filter(|_| rules.enforced) {
        let why = format!("a rule takes it for {holder}, which stands for it");
        return would_be("suppressed", None, why);
    }
    if !fetch.accept {
        let why = format!("it would be queued, and refused at its turn: {}", fetch.reason);
        return would_be("refused", Some(&fetch.code), why);
    }
    if !robots.allowed {
        let why = format!("it would be queued, and refused at its turn: {}", robots.reason);
        return would_be("refused", Some("robots-disallowed"), why);
    }
    let way = if seed { "as a seed" } else { "once a link leads to it" };
    let last = match robots.known && !robots.stale {
        true => "its robots.txt allows it",
        false => "its robots.txt has the last word, and is fetched before it",
    };
    let why = format!("it would be queued {way}, and fetched at its turn; {last}");
    would_be("fetched", None, why)
}
