//! What a run counts for its observers alone: fixed arrays, a few additions per visit (I9).
//!
//! Nothing here is durable and nothing decides anything; it begins at zero with every run.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::clock::Timestamp;
use crate::frontier::{GapReason, Pace, Rest};

/// Counts of observations by size, with their sum: a histogram of fixed bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread<const N: usize> {
    /// How many lie at or below each bound, and not at or below the one before; the last counts
    /// what lies above all bounds.
    #[serde(serialize_with = "as_list")]
    pub counts: [u64; N],
    /// Sum of all observations, in milliseconds.
    pub sum_ms: u64,
}

fn as_list<const N: usize, S: Serializer>(counts: &[u64; N], to: S) -> Result<S::Ok, S::Error> {
    counts.as_slice().serialize(to)
}

impl<const N: usize> Default for Spread<N> {
    fn default() -> Self {
        Spread { counts: [0; N], sum_ms: 0 }
    }
}

impl<const N: usize> Spread<N> {
    fn add(&mut self, ms: u64, bounds: &[u64]) {
        let at = bounds.partition_point(|bound| *bound < ms);
        self.counts[at.min(N - 1)] += 1;
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
pub const REST_REASONS: [&str; 8] = [
    "min-delay",
    "fetch-time",
    "max-delay",
    "crawl-delay",
    "retry-after",
    "backoff",
    "unreachable",
    "latency",
];

/// Counters of one run, for observers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// How long fetches took, by [`FETCH_BOUNDS_MS`].
    pub fetch: Spread<{ FETCH_BOUNDS_MS.len() + 1 }>,
    /// How much later than required requests were made, by [`MARGIN_BOUNDS_MS`].
    pub margin: Spread<{ MARGIN_BOUNDS_MS.len() + 1 }>,
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

impl Tally {
    /// Notes a request that began at `began`, given its host's pace until then, and the rest that
    /// follows it.
    pub(super) fn fetched(
        &mut self,
        before: Option<(Timestamp, Timestamp)>,
        began: Timestamp,
        took: Duration,
        rest: &Rest,
    ) {
        self.fetch.add(took.as_millis() as u64, &FETCH_BOUNDS_MS);
        self.rests[reason_index(rest.reason)] += 1;
        let Some((last, required)) = before else { return };
        if last == Timestamp::ZERO {
            return;
        }
        let late = began.since(required).as_millis() as u64;
        let early = required.since(began).as_millis() as u64;
        let margin = if early > 0 { -(early as i64) } else { late as i64 };
        self.too_early += u64::from(early > 0);
        self.margin.add(late, &MARGIN_BOUNDS_MS);
        self.margin_min_ms = Some(self.margin_min_ms.map_or(margin, |least| least.min(margin)));
    }
}

/// Returns when a host was last asked and when it may be asked next.
pub(super) fn due(pace: &Pace) -> (Timestamp, Timestamp) {
    (pace.last_ended, pace.next_allowed)
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn rest(reason: GapReason) -> Rest {
        Rest { gap: Duration::from_secs(1), reason, beyond: false }
    }

    #[test]
    fn a_margin_is_what_lies_between_the_end_of_the_rest_and_the_request() {
        let mut tally = Tally::default();
        let took = Duration::from_millis(80);
        tally.fetched(Some((Timestamp::ZERO, at(0))), at(5_000), took, &rest(GapReason::MinDelay));
        assert_eq!((tally.margin_min_ms, tally.margin.total()), (None, 0));
        tally.fetched(Some((at(5_080), at(6_080))), at(6_092), took, &rest(GapReason::MinDelay));
        tally.fetched(Some((at(6_172), at(7_172))), at(9_000), took, &rest(GapReason::CrawlDelay));
        assert_eq!(tally.margin_min_ms, Some(12));
        assert_eq!(tally.margin.counts, [0, 1, 0, 0, 1, 0, 0]);
        assert_eq!(tally.margin.sum_ms, 12 + 1_828);
        assert_eq!((tally.rests[0], tally.rests[3]), (2, 1));
        assert_eq!(tally.fetch.counts[2], 3);
        tally.fetched(Some((at(9_000), at(10_000))), at(9_990), took, &rest(GapReason::MinDelay));
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
        ];
        for reason in reasons {
            let name = serde_json::to_value(reason).unwrap();
            assert_eq!(name, REST_REASONS[reason_index(reason)]);
        }
    }

    #[test]
    fn a_spread_counts_what_lies_above_all_bounds() {
        let mut spread = Spread::<3>::default();
        for ms in [0, 10, 11, 100, 101, u64::MAX] {
            spread.add(ms, &[10, 100]);
        }
        assert_eq!(spread.counts, [2, 2, 2]);
        assert_eq!(spread.sum_ms, u64::MAX);
    }
}
