//! Reasons in words.

use serde::Serializer;

use super::judged::RobotsSaid;
use crate::clock::{Span, Timestamp};
use crate::frontier::{HostRecord, HostStatus, Politeness, Standing, UrlRecord, UrlState};

/// Says how the last step to a URL was made.
pub(super) fn step(record: &UrlRecord) -> &'static str {
    if record.via.is_none() {
        return "a seed";
    }
    match record.path.chars().next_back() {
        Some('L') => "a link",
        Some('E') => "needed by a page",
        Some('R') => "a redirect",
        Some('I') => "inferred from a page",
        Some('M') => "a sitemap, named by robots.txt or by an index",
        Some('P') => "a prerequisite",
        Some('S') => "synthesized",
        Some('X') => "speculative",
        _ => "unknown",
    }
}

/// Says what became of a URL, in a word.
pub(super) fn state(state: &UrlState) -> &'static str {
    match state {
        UrlState::Queued(_) => "queued",
        UrlState::Done(_) => "done",
        UrlState::Refused { .. } => "refused",
        UrlState::Failed { .. } => "failed",
        UrlState::Suppressed { .. } => "suppressed",
    }
}

/// Says whether a host may be crawled.
pub(super) fn status(status: &HostStatus) -> String {
    match status {
        HostStatus::Open => "open".to_owned(),
        HostStatus::Parked { reason, at } => format!("parked since {at}: {reason}"),
        HostStatus::GivenUp { reason, at } => format!("given up at {at}: {reason}"),
    }
}

/// Says where a host stands among the hosts.
pub(super) fn standing(host: &HostRecord) -> String {
    match host.standing {
        Standing::Out if host.queued == 0 => "nothing of it waits".to_owned(),
        Standing::Out => "out of line".to_owned(),
        Standing::InLine(place) => {
            format!("in line or being crawled, priority {}", place.priority)
        }
        Standing::Snoozed(until) => format!("asleep until {until}"),
        Standing::InGroup(..) => "waiting for room in its group".to_owned(),
    }
}

/// Returns the first moment at which a host may be asked, and what holds it until then.
pub(super) fn host_waits(
    host: &HostRecord,
    settings: &Politeness,
    robots: Option<&RobotsSaid>,
    now: Timestamp,
) -> (Timestamp, String) {
    if host.status != HostStatus::Open {
        return (now, status(&host.status));
    }
    let pace = &host.pace;
    let (resting, opens) = (pace.next_allowed, pace.earliest(settings, now));
    let gap = Span::millis(pace.gap_ms);
    let why = if opens > resting.max(now) {
        "its allowed hours have not come".to_owned()
    } else if resting <= now {
        match robots {
            Some(robots) if !robots.known || robots.stale => {
                "its host may be asked now, for robots.txt first".to_owned()
            }
            _ => "its host may be asked now".to_owned(),
        }
    } else if let Some(robots) = robots.filter(|robots| robots.failures > 0 && !robots.allowed) {
        robots.reason.clone()
    } else if pace.unreachable > 0 {
        format!("its host could not be reached {} times in a row: it rests {gap}", pace.unreachable)
    } else if pace.busy_level > 0 {
        format!("its host answered 429 or 503 ({} times in all): it rests {gap}", pace.busy_total)
    } else if pace.crawl_delay_ms.is_some_and(|delay| delay == pace.gap_ms) {
        format!("Crawl-delay of its robots.txt: {gap} between requests")
    } else {
        format!("its host rests {gap} after each request")
    };
    (opens, why)
}

/// Writes a time as RFC 3339 text, as all JSON for people has it.
pub(in crate::crawl) fn time<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&at.to_rfc3339())
}

/// Writes a time as [`time`] does, or null.
pub(super) fn time_or_none<S: Serializer>(
    at: &Option<Timestamp>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => time(at, to),
        None => to.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::HostId;
    use crate::url::Host;

    /// Its hours were looked for from the end of its rest on, and so in the past.
    #[test]
    fn a_host_that_was_never_asked_has_its_hours_before_it_too() {
        let windows = vec!["22:00-06:00".parse().unwrap()];
        let settings = Politeness { windows, ..Politeness::default() };
        let host = HostRecord::new(HostId(0), Host::new("a.example"));
        let at = |text: &str| Timestamp::from_rfc3339(text).unwrap();
        let noon = at("2026-01-10T12:00:00Z");
        let (first, why) = host_waits(&host, &settings, None, noon);
        assert_eq!((first, &*why), (at("2026-01-10T22:00:00Z"), "its allowed hours have not come"));
        let night = at("2026-01-10T23:00:00Z");
        let (first, why) = host_waits(&host, &settings, None, night);
        assert_eq!((first, &*why), (night, "its host may be asked now"));
    }
}
