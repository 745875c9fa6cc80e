//! How long the crawl will still take: a range, from what every host must still be given.
//!
//! A host is asked one thing at a time with its gap between, so its backlog times its step is the
//! least that it takes: the slowest host sets the floor. The ceiling adds what is not known yet: URLs
//! that the waiting ones will lead to (by the yield of the latest pages), the size of hosts that
//! have shown nothing yet (by that of others), tries at hosts in trouble, and repeated refusals.
//!
//! The hosts are looked at in rounds of at most [`HOSTS_PER_TICK`] a second, so that the estimate of
//! a crawl of millions of hosts is some minutes old rather than the crawl slower. Hours in which a
//! host may not be asked count up to its next opening only.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::settings::Settings;
use super::snapshot::{Remaining, Slowest};
use crate::clock::Timestamp;
use crate::db::families::hosts;
use crate::db::families::meta::Counters;
use crate::db::{Db, DbError};
use crate::frontier::{Frontier, Grouping, HostRecord, Politeness};
use crate::robots;

/// Hosts that one tick looks at: some milliseconds.
const HOSTS_PER_TICK: usize = 2_000;

/// Groups of hosts that are told apart.
const GROUPS_MAX: usize = 100_000;

/// Samples of how many URLs the pages led to.
const SAMPLES_MAX: usize = 128;

/// Part of the pages that the yield is measured on: the latest.
const LATEST: f64 = 0.2;

/// Yield from which no end is in sight: each page leads to nearly one more.
const YIELD_MAX: f64 = 0.95;

/// Pages from which on a host's backlog says how large it is.
const KNOWN_PAGES: u64 = 10;

/// Share of the backlog that is fetched at least; the rest may be refused or saved by rules.
const FETCHED_MIN: f64 = 0.8;

/// What the ceiling allows for gaps that grow with a host's latency.
const SLOWER: f64 = 1.25;

/// What a tick and the end of a crawl take, in milliseconds.
const SLACK_MS: f64 = 2_000.0;

/// What one round of hosts adds up to.
#[derive(Clone, Debug, Default)]
struct Round {
    slowest: Option<Slowest>,
    /// The earliest and latest end, in milliseconds since the epoch.
    end_least: f64,
    end_most: f64,
    /// What all hosts take together, as if one followed the other, in milliseconds.
    work_ms: f64,
    /// Of this, fetching alone.
    fetching_ms: f64,
    /// Hosts with waiting URLs.
    open: u64,
    /// Pages of hosts that are done, by the number's binary logarithm.
    sizes: [u64; 32],
    groups: HashMap<u64, f64>,
}

/// Goes through the hosts of a crawl, again and again.
#[derive(Debug, Default)]
pub(super) struct Survey {
    next: u32,
    round: Round,
    whole: Round,
    samples: VecDeque<(u64, u64)>,
}

/// What the survey is told of the crawl.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) db: &'a Db,
    pub(super) frontier: &'a Frontier,
    pub(super) counters: &'a Counters,
    pub(super) limits: &'a Settings,
    pub(super) robots: &'a robots::Settings,
    pub(super) host_pages_max: u64,
    pub(super) now: Timestamp,
    /// Time that the run may still take, where that is limited.
    pub(super) left: Option<Duration>,
}

impl Survey {
    /// Looks at the next hosts, and estimates anew where a round is complete.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn tick(&mut self, known: &Known<'_>) -> Result<Remaining, DbError> {
        self.sample(known.counters);
        let growth = self.growth();
        let typical = self.whole.typical_size();
        let (from, mut looked) = (self.next, 0usize);
        let round = &mut self.round;
        let mut next = None;
        hosts::each_from(known.db, from, |record| {
            if looked == HOSTS_PER_TICK {
                next = Some(record.id.0);
                return false;
            }
            looked += 1;
            // A host with a back queue has its true record in the frontier.
            let active = known.frontier.active(record.id).map(|active| &active.record);
            round.add(active.unwrap_or(&record), known, growth.unwrap_or(1.0), typical);
            true
        })?;
        self.next = next.unwrap_or(0);
        if next.is_none() {
            self.whole = std::mem::take(&mut self.round);
        }
        Ok(self.remaining(known, growth.is_some()))
    }

    /// Returns the host that sets the floor.
    pub(super) fn slowest(&self) -> Option<&Slowest> {
        self.whole.slowest.as_ref()
    }

    /// Notes how many URLs the pages so far have led to.
    fn sample(&mut self, counters: &Counters) {
        let ended = counters.done + counters.failed;
        let accepted = ended + counters.queued + counters.in_flight;
        let step = (ended as f64 * LATEST / (SAMPLES_MAX as f64 / 2.0)) as u64;
        if self.samples.back().is_some_and(|(last, _)| ended <= last + step) {
            return;
        }
        self.samples.push_back((ended, accepted));
        let from = (ended as f64 * (1.0 - LATEST)) as u64;
        while self.samples.len() > SAMPLES_MAX
            || (self.samples.len() > 2 && self.samples[1].0 <= from)
        {
            self.samples.pop_front();
        }
    }

    /// Returns how many URLs one waiting URL stands for, with all that it will lead to; `None`
    /// while no end is in sight.
    fn growth(&self) -> Option<f64> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let pages = last.0.saturating_sub(first.0);
        if pages == 0 {
            return None;
        }
        let found = last.1.saturating_sub(first.1) as f64 / pages as f64;
        (found < YIELD_MAX).then(|| 1.0 / (1.0 - found))
    }

    fn remaining(&self, known: &Known<'_>, end_in_sight: bool) -> Remaining {
        let whole = &self.whole;
        let now = known.now.as_millis() as f64;
        let left = known.left.map_or(f64::INFINITY, |left| left.as_secs_f64() * 1000.0);
        let least = (whole.end_least - now).max(0.0);
        // Hosts are worked off side by side: what all take, by the number of places, and the last.
        let settings = known.frontier.settings();
        let places = settings.back_queue_count().max(1) as f64;
        let queued_for_place =
            if whole.open as f64 > places { whole.work_ms / places } else { 0.0 };
        let fetching = whole.fetching_ms / settings.in_flight_max.max(1) as f64;
        let groups = whole.groups.values().copied().fold(0.0, f64::max);
        let last = (whole.end_most - now).max(0.0);
        let most = (last + queued_for_place + fetching).max(groups) + SLACK_MS;
        Remaining {
            floor_ms: least.min(left) as u64,
            ceiling_ms: (end_in_sight || left.is_finite()).then(|| {
                let most = if end_in_sight { most } else { left };
                most.max(least).min(left) as u64
            }),
        }
    }
}

impl Round {
    /// Adds what a host will take.
    fn add(&mut self, record: &HostRecord, known: &Known<'_>, growth: f64, typical: u64) {
        if record.queued == 0 || !record.is_open() {
            if record.done > 0 {
                self.sizes[(record.done.ilog2() as usize).min(31)] += 1;
            }
            return;
        }
        let politeness = known.frontier.rules().of(record.name.as_str());
        let now = known.now.as_millis() as f64;
        let wait = known.frontier.earliest(record).since(known.now).as_secs_f64() * 1000.0;
        let latency = record.pace.latency().as_secs_f64() * 1000.0;
        let step = step_ms(record, politeness, latency);
        let queued = record.queued as f64;
        let least = wait + (queued * FETCHED_MIN - 1.0).max(0.0) * step;
        let pages = pages_to_come(record, growth, typical, known.host_pages_max);
        let most = wait + pages * step * SLOWER + trouble_ms(record, politeness, known, pages);
        self.open += 1;
        self.work_ms += most;
        self.fetching_ms += pages * latency;
        self.end_most = self.end_most.max(now + most);
        if now + least >= self.end_least {
            self.end_least = now + least;
            let (host, backlog) = (record.name.to_string(), record.queued);
            self.slowest = Some(Slowest { host, backlog, gap_ms: step as u64 });
        }
        if politeness.group != Grouping::Host
            && let Some(group) = record.group
            && (self.groups.len() < GROUPS_MAX || self.groups.contains_key(&group))
        {
            let delay = politeness.group_delay.get().as_secs_f64() * 1000.0;
            *self.groups.entry(group).or_default() += wait.max(pages * (latency + delay));
        }
    }

    /// Returns the size that one host in ten exceeds, of those that are done.
    fn typical_size(&self) -> u64 {
        let all: u64 = self.sizes.iter().sum();
        let mut above = all / 10;
        for (bits, count) in self.sizes.iter().enumerate().rev() {
            if *count > above {
                return 2u64 << bits;
            }
            above -= count;
        }
        1
    }
}

/// Returns the time from one request of a host to the next while it is well, in milliseconds.
fn step_ms(record: &HostRecord, politeness: &Politeness, latency: f64) -> f64 {
    let ms = |span: crate::clock::Span| span.get().as_secs_f64() * 1000.0;
    let (min, max) = (ms(politeness.min_delay), ms(politeness.max_delay));
    let gap = (latency * politeness.factor).clamp(min, max.max(min));
    gap.max(record.pace.crawl_delay_ms.unwrap_or(0) as f64) + latency
}

/// Returns how many pages a host may still have.
fn pages_to_come(record: &HostRecord, growth: f64, typical: u64, host_pages_max: u64) -> f64 {
    let mut pages = record.queued as f64 * growth;
    if record.done < KNOWN_PAGES {
        pages = pages.max(typical as f64);
    }
    if host_pages_max > 0 {
        let left = host_pages_max.saturating_sub(record.done).max(1);
        pages = pages.min(left as f64).max(1.0);
    }
    pages
}

/// Returns what a host in trouble may cost beside its pages, in milliseconds: tries until it is
/// given up, and as many refusals as so far, page by page.
fn trouble_ms(record: &HostRecord, politeness: &Politeness, known: &Known<'_>, pages: f64) -> f64 {
    let ms = |span: crate::clock::Span| span.get().as_secs_f64() * 1000.0;
    let doubled = |first: f64, level: u32, most: f64| (first * 2f64.powi(level as i32)).min(most);
    let pace = &record.pace;
    let mut cost = 0.0;
    if pace.unreachable > 0 {
        let tries = pace.unreachable..politeness.unreachable_max.min(30);
        let (first, most) = (ms(politeness.unreachable_initial), ms(politeness.backoff_max));
        cost += tries.map(|level| doubled(first, level, most)).sum::<f64>();
    }
    if record.robots_failures > 0 {
        let tries = record.robots_failures..known.limits.robots_failures_max.min(30);
        let (first, most) = (ms(known.robots.failure_ttl_min), ms(known.robots.failure_ttl_max));
        cost += tries.map(|level| doubled(first, level, most)).sum::<f64>();
    }
    if pace.busy_total > 0 {
        let again = f64::from(pace.busy_total) / (record.done.max(1) as f64) * pages;
        let level = u32::from(pace.busy_level.clamp(1, 4));
        let rest = doubled(ms(politeness.backoff_initial), level - 1, ms(politeness.backoff_max));
        // Until the doublings are forgiven, each answer is followed by a longer rest.
        let forgiven = f64::from(politeness.forgive_after * u32::from(pace.busy_level.min(30)));
        let slow = ms(politeness.min_delay).max(100.0) * f64::from(1u32 << pace.busy_level.min(6));
        cost += again.min(f64::from(pace.busy_total) * 2.0) * rest + forgiven.min(pages) * slow;
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_yield_of_the_latest_pages_decides_and_no_end_is_in_sight_while_it_is_one() {
        let mut survey = Survey::default();
        let mut counters = Counters::default();
        for step in 0..1000u64 {
            // The first half leads to two URLs a page, the second to one in two pages.
            let found = if step < 500 { 2 * step } else { 1000 + (step - 500) / 2 };
            counters.done = step;
            counters.queued = found.saturating_sub(step) + 1;
            survey.sample(&counters);
            if step == 400 {
                assert_eq!(survey.growth(), None);
            }
        }
        let growth = survey.growth().unwrap();
        assert!((1.8..2.2).contains(&growth), "{growth}");
        assert!(survey.samples.len() <= SAMPLES_MAX);
    }

    #[test]
    fn a_typical_size_is_exceeded_by_one_host_in_ten() {
        let mut round = Round::default();
        assert_eq!(round.typical_size(), 1);
        round.sizes[3] = 90;
        round.sizes[9] = 10;
        assert_eq!(round.typical_size(), 16);
        round.sizes[9] = 20;
        assert_eq!(round.typical_size(), 1024);
    }

    #[test]
    fn a_host_that_has_shown_little_may_be_as_large_as_others_but_within_its_budget() {
        let mut record = HostRecord::new(
            crate::frontier::HostId(1),
            crate::url::CrawlUrl::parse("http://a.test/").unwrap().host(),
        );
        record.queued = 3;
        assert_eq!(pages_to_come(&record, 1.0, 64, 0), 64.0);
        assert_eq!(pages_to_come(&record, 1.0, 64, 20), 20.0);
        record.done = 100;
        assert_eq!(pages_to_come(&record, 2.0, 64, 0), 6.0);
    }
}
