//! Why a URL is where it is: everything that decides about it, read from the state alone.
//!
//! [`explain`] repeats the decisions of the crawl with the crawl's own judges (gates, robots.txt,
//! rule set, pace) on what is stored, and puts them beside what the ledger says. It writes nothing
//! and makes no request, so it may run beside the crawl. What the ledger says of the past stands in
//! [`Explanation::state`]; what would be decided now stands in the other parts. Where settings were
//! changed since, the two may differ, and that is worth seeing. Of a URL that the crawl has not
//! met, also before there is a crawl, [`Forecast`] says what would become of it.
//!
//! It does not read the crawl log: the attempts of a URL are the caller's to look up.

mod forecast;
mod judged;
mod parts;
mod stored;
mod words;

use serde::Serialize;

use crate::clock::Timestamp;
use crate::db::families::{hosts, urls};
use crate::db::{Db, DbError};
use crate::filter::Filter;
use crate::frontier::Rules;
use crate::url::CrawlUrl;

pub use forecast::Forecast;
use forecast::Gates;
pub use judged::{Applied, Gate, RobotsSaid, RulesSaid};
pub(super) use judged::{as_found, nearest};
pub use parts::PartSaid;
pub use stored::{HostSaid, LineOf, Seen, State};
pub(super) use words::time;

/// What an explanation is made with: the settings of the crawl.
#[derive(Clone, Copy, Debug)]
pub struct Judges<'a> {
    /// The five gates.
    pub filter: &'a Filter,
    /// Politeness, with the overrides of single hosts.
    pub politeness: &'a Rules,
    /// The settings under which rules are decoded.
    pub dust: &'a crate::dust::Settings,
    /// Whether learned rules are applied, or only found.
    pub enforces: bool,
    /// The seeds that are known beside the ledger: a URL that was not met yet may be one.
    pub seeds: &'a [CrawlUrl],
    /// A robots.txt of the URL's origin that was fetched just now, used instead of the stored one.
    pub robots: Option<&'a crate::robots::Entry>,
    /// Whether an operator paused the crawl.
    pub paused: bool,
}

/// Everything that is known of a URL.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The URL in normal form: what is fetched.
    pub url: String,
    /// Its fingerprint in hexadecimal: its key in the ledger.
    pub fingerprint: String,
    /// Its host.
    pub host: String,
    /// Its registrable domain.
    pub site: String,
    /// What became of it.
    pub state: State,
    /// What would become of it if the crawl met it now; none if it has.
    pub forecast: Option<Forecast>,
    /// How it was found; none if it was not.
    pub seen: Option<Seen>,
    /// Which rules touch it.
    pub rules: RulesSaid,
    /// What the schedule gate says now.
    pub schedule_gate: Gate,
    /// What the fetch gate says now: exclusions and budgets.
    pub fetch_gate: Gate,
    /// What robots.txt says, as far as it is stored.
    pub robots: RobotsSaid,
    /// How its host stands; none if it was never heard of.
    pub host_state: Option<HostSaid>,
    /// The part of its host that it lies in, where that is parked as a trap.
    pub parked_part: Option<PartSaid>,
}

impl Explanation {
    /// Returns true if the crawl has met the URL.
    pub fn is_known(&self) -> bool {
        self.state != State::Unknown
    }
}

/// Explains a URL from the state; `None` stands for a crawl that has not begun.
///
/// # Errors
/// Returns what the database says, or that the rule book in it cannot be read.
pub fn explain(
    db: Option<&Db>,
    judges: &Judges<'_>,
    url: &CrawlUrl,
    now: Timestamp,
) -> Result<Explanation, DbError> {
    let record = match db {
        Some(db) => urls::get(db, url.fingerprint())?,
        None => None,
    };
    let host = match db {
        Some(db) => match hosts::id_of(db, url.host_str())? {
            Some(id) => hosts::get(db, id)?,
            None => None,
        },
        None => None,
    };
    let seen = match (db, &record) {
        (Some(db), Some(record)) => Some(stored::seen(db, record)?),
        _ => None,
    };
    let robots = judged::robots(db, judges, url, now)?;
    let rules = judged::rules(db, judges, url)?;
    let schedule_gate = judged::schedule_gate(db, judges, url, record.as_ref())?;
    let fetch_gate = judged::fetch_gate(db, judges, url, host.as_ref())?;
    let state = match (db, &record) {
        (Some(db), Some(record)) => {
            stored::state(db, judges, url, record, host.as_ref(), &robots, now)?
        }
        _ => State::Unknown,
    };
    let parked_part = parts::part(db, url, matches!(state, State::Done { .. }))?;
    let forecast = if state == State::Unknown {
        let is_seed = judges.seeds.contains(url);
        let unfollowed = forecast::unfollowed(db)?;
        let gates = Gates { schedule: &schedule_gate, fetch: &fetch_gate };
        let part = parked_part.as_ref();
        Some(forecast::forecast(is_seed, &gates, part, &rules, &robots, unfollowed))
    } else {
        None
    };
    Ok(Explanation {
        forecast,
        schedule_gate,
        fetch_gate,
        host_state: host.map(|host| stored::host_said(&host, judges, now)),
        parked_part,
        url: url.to_string(),
        fingerprint: format!("{:032x}", url.fingerprint().0),
        host: url.host_str().to_owned(),
        site: url.site().to_string(),
        state,
        seen,
        rules,
        robots,
    })
}
