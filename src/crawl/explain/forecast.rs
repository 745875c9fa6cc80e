//! What would become of a URL that the crawl has not met.

use serde::Serialize;

use super::judged::{Gate, RobotsSaid, RulesSaid};

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
}

/// Asks the judges in the order in which the crawl does.
pub(super) fn forecast(
    seed: bool,
    schedule: &Gate,
    fetch: &Gate,
    rules: &RulesSaid,
    robots: &RobotsSaid,
) -> Forecast {
    let refused = |reason: &str, why: &str| Forecast {
        is: "refused",
        reason: Some(reason.to_owned()),
        why: why.to_owned(),
        seed,
    };
    if !schedule.accept {
        return refused(&schedule.code, &format!("it would not be queued: {}", schedule.reason));
    }
    if let Some(holder) = rules.key_held_by.as_ref().filter(|_| rules.enforced) {
        let why = format!("a rule takes it for {holder}, which stands for it");
        return Forecast { is: "suppressed", reason: None, why, seed };
    }
    if !fetch.accept {
        let why = format!("it would be queued, and refused at its turn: {}", fetch.reason);
        return refused(&fetch.code, &why);
    }
    if !robots.allowed {
        let why = format!("it would be queued, and refused at its turn: {}", robots.reason);
        return refused("robots-disallowed", &why);
    }
    let way = if seed { "as a seed" } else { "once a link leads to it" };
    let last = match robots.known && !robots.stale {
        true => "its robots.txt allows it",
        false => "its robots.txt has the last word, and is fetched before it",
    };
    let why = format!("it would be queued {way}, and fetched at its turn; {last}");
    Forecast { is: "fetched", reason: None, why, seed }
}
