//! What a run counts for its observers alone: fixed arrays, a few additions per visit (I9).
//!
//! Nothing here is durable and nothing decides anything; it begins at zero with every run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::frontier::{GapReason, Pace, Rest};

/// Counts of observations by size, with their sum: a histogram of fixed bounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many lie at or below each bound, and not at or below the one before; the last counts
    /// what lies above all bounds.
    pub counts: Vec<u64>,
    /// Sum of all observations, in milliseconds.
    pub sum_ms: u64,
}

impl Spread {
    fn new(bounds: &[u64]) -> Self {
        Spread { counts: vec![0; bounds.len() + 1], sum_ms: 0 }
    }

    fn add(&mut self, ms: u64, bounds: &[u64]) {
        let at = bounds.partition_point(|bound| *bound < ms);
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
        }
        self.sum_ms = self.sum_ms.saturating_add(ms);
    }

    /// Returns how many observations there are.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Upper bounds of the fetch durations that are told apart, in milliseconds; a fetch may take as
/// long as `fetch.total_timeout`.
pub const FETCH_BOUNDS_MS: [u64; 9] = [10, 50, 100, 250, 500, 1_000, 2_500, 10_000, 60_000];

/// Upper bounds of the margins that are told apart, in milliseconds.
pub const MARGIN_BOUNDS_MS: [u64; 6] = [5, 20, 100, 1_000, 10_000, 60_000];

/// Reasons of rests, in the order in which [`Tally::rests`] counts them.
pub const REST_REASONS: [&str; 9] = [
    "min-delay",
    "fetch-time",
    "max-delay",
    "crawl-delay",
    "retry-after",
    "backoff",
    "unreachable",
    "latency",
    "local",
];

/// Counters of one run, for observers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// How long fetches took, by [`FETCH_BOUNDS_MS`].
    pub fetch: Spread,
    /// How much later than required requests were made, by [`MARGIN_BOUNDS_MS`].
    pub margin: Spread,
    /// The smallest margin, in milliseconds; `None` before a host was asked twice.
    pub margin_min_ms: Option<i64>,
    /// Requests that came before their host's rest was over: always zero, or the crawler is wrong.
    pub too_early: u64,
    /// Rests by reason, in the order of [`REST_REASONS`].
    pub rests: [u64; REST_REASONS.len()],
    /// Pages that were like another without being equal.
    pub near_duplicates: u64,
    /// Rules that were in force and were taken out of it.
    pub rules_retracted: u64,
    /// Hosts that are parked.
    pub hosts_parked: u64,
    /// Hosts that were given up.
    pub hosts_given_up: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Tally {
            fetch: Spread::new(&FETCH_BOUNDS_MS),
            margin: Spread::new(&MARGIN_BOUNDS_MS),
            margin_min_ms: None,
            too_early: 0,
            rests: [0; REST_REASONS.len()],
            near_duplicates: 0,
            rules_retracted: 0,
            hosts_parked: 0,
            hosts_given_up: 0,
        }
    }
}

impl Tally {
    /// Notes a request that began at `began`, when its host was last asked and might be
    /// asked again, and the rest that follows it.
    pub(super) fn fetched(&mut self, before: Due, began: Timestamp, took: Duration, rest: &Rest) {
        self.fetch.add(took.as_millis() as u64, &FETCH_BOUNDS_MS);
        self.rests[reason_index(rest.reason)] += 1;
        if before.last == Timestamp::ZERO {
            return;
        }
        let required = before.next;
        let late = began.since(required).as_millis() as u64;
        let early = required.since(began).as_millis() as u64;
        let margin = if early > 0 { -(early as i64) } else { late as i64 };
        self.too_early += u64::from(early > 0);
        self.margin.add(late, &MARGIN_BOUNDS_MS);
        self.margin_min_ms = Some(self.margin_min_ms.map_or(margin, |least| least.min(margin)));
    }
}

/// What a host's pace said when a lease of it was given. An operator may lengthen the rest while
/// the request is under way, which makes it no earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Due {
    /// When the last request ended; zero before the first.
    pub(super) last: Timestamp,
    /// When the next was allowed.
    pub(super) next: Timestamp,
}

impl Due {
    pub(super) fn of(pace: &Pace) -> Due {
        Due { last: pace.last_ended, next: pace.next_allowed }
    }
}

fn reason_index(reason: GapReason) -> usize {
    match reason {
        GapReason::MinDelay => 0,
        GapReason::FetchTime => 1,
        GapReason::MaxDelay => 2,
        GapReason::CrawlDelay => 3,
        GapReason::RetryAfter => 4,
        GapReason::Backoff => 5,
        GapReason::Unreachable => 6,
        GapReason::Latency => 7,
        GapReason::Local => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn due(last: u64, next: u64) -> Due {
        Due { last: at(last), next: at(next) }
    }

    fn rest(reason: GapReason) -> Rest {
        Rest { gap: Duration::from_secs(1), reason, beyond: None }
    }

    #[test]
    fn a_margin_is_what_lies_between_the_end_of_the_rest_and_the_request() {
        let mut tally = Tally::default();
        let took = Duration::from_millis(80);
        tally.fetched(due(0, 0), at(5_000), took, &rest(GapReason::MinDelay));
        assert_eq!((tally.margin_min_ms, tally.margin.total()), (None, 0));
        tally.fetched(due(5_080, 6_080), at(6_092), took, &rest(GapReason::MinDelay));
        tally.fetched(due(6_172, 7_172), at(9_000), took, &rest(GapReason::CrawlDelay));
        assert_eq!(tally.margin_min_ms, Some(12));
        assert_eq!(tally.margin.counts, [0, 1, 0, 0, 1, 0, 0]);
        assert_eq!(tally.margin.sum_ms, 12 + 1_828);
        assert_eq!((tally.rests[0], tally.rests[3]), (2, 1));
        assert_eq!(tally.fetch.counts[2], 3);
        tally.fetched(due(9_000, 10_000), at(9_990), took, &rest(GapReason::MinDelay));
        assert_eq!((tally.too_early, tally.margin_min_ms), (1, Some(-10)));
    }

    #[test]
    fn the_names_of_rests_are_those_of_the_crawl_log() {
        let reasons = [
            GapReason::MinDelay,
            GapReason::FetchTime,
            GapReason::MaxDelay,
            GapReason::CrawlDelay,
            GapReason::RetryAfter,
            GapReason::Backoff,
            GapReason::Unreachable,
            GapReason::Latency,
            GapReason::Local,
        ];
        for reason in reasons {
            let name = serde_json::to_value(reason).unwrap();
            assert_eq!(name, REST_REASONS[reason_index(reason)]);
        }
    }

    #[test]
    fn a_spread_counts_what_lies_above_all_bounds() {
        let mut spread = Spread::new(&[10, 100]);
        for ms in [0, 10, 11, 100, 101, u64::MAX] {
            spread.add(ms, &[10, 100]);
        }
        assert_eq!(spread.counts, [2, 2, 2]);
        assert_eq!(spread.sum_ms, u64::MAX);
    }
}
