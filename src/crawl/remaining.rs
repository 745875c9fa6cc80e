//! How long the crawl will still take: a range, from what every host must still be given.
//!
//! A host is asked one thing at a time with its gap between, so its backlog times its step is the
//! least that it takes: the slowest host sets the floor. The ceiling adds what is not known yet:
//! URLs that the waiting ones will lead to (by the yield of the host's latest pages), the size of
//! hosts that have shown nothing yet (by that of others), tries at hosts in trouble, and the pace
//! that a host really had of late, where that is slower than its gap promises.
//!
//! The hosts are looked at in rounds of at most [`HOSTS_PER_TICK`] a second, so that the estimate
//! of a crawl of millions of hosts is some minutes old rather than the crawl slower. Hours in which
//! a host may not be asked count up to its next opening only.

use std::collections::HashMap;
use std::time::Duration;

use super::settings::Settings;
use super::snapshot::{Remaining, Slowest};
use crate::clock::Timestamp;
use crate::db::families::hosts;
use crate::db::families::meta::Counters;
use crate::db::{Db, DbError};
use crate::frontier::{Frontier, HostId, HostRecord, Politeness};
use crate::robots;

/// Hosts that one tick looks at: some milliseconds.
const HOSTS_PER_TICK: usize = 2_000;

/// Groups of hosts that are told apart.
const GROUPS_MAX: usize = 100_000;

/// Yield that is taken for no more than this: each page leads to nearly one more.
const YIELD_MAX: f64 = 0.95;

/// Least pages that a trend is taken from.
const MARK_PAGES: u64 = 8;

/// Hosts whose trend is followed, about 80 bytes each.
const PASTS_MAX: usize = 200_000;

/// Pages from which on a host's backlog says how large it is.
const KNOWN_PAGES: u64 = 10;

/// Share of the backlog that is fetched at least; the rest may be refused or saved by rules.
const FETCHED_MIN: f64 = 0.55;

/// Pages from which on a crawl has a ceiling.
const PAGES_MIN: u64 = 10;

/// What the ceiling allows for gaps that grow with a host's latency.
const SLOWER: f64 = 1.5;

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
    pasts: HashMap<HostId, Past>,
}

/// A host at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mark {
    at: Timestamp,
    done: u64,
    /// Pages that were fetched or wait.
    found: u64,
}

/// What a host was like some of its latest pages ago: between a fifth and a half of them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Past {
    older: Mark,
    newer: Mark,
}

/// What a host's latest pages say of those to come.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Trend {
    /// URLs that one waiting URL stands for, with all that it will lead to.
    growth: f64,
    /// Time from one page to the next, waits and all, in milliseconds.
    step_ms: f64,
}

impl Past {
    fn new(mark: Mark) -> Past {
        Past { older: mark, newer: mark }
    }

    /// Takes in how the host is now; returns the trend since the older mark.
    fn note(&mut self, now: Mark) -> Option<Trend> {
        if now.done >= self.newer.done + self.newer.done / 4 + MARK_PAGES {
            self.older = std::mem::replace(&mut self.newer, now);
        }
        let pages = now.done.saturating_sub(self.older.done);
        if pages < MARK_PAGES {
            return None;
        }
        let found = now.found.saturating_sub(self.older.found) as f64 / pages as f64;
        let step_ms = now.at.since(self.older.at).as_secs_f64() * 1000.0 / pages as f64;
        Some(Trend { growth: 1.0 / (1.0 - found.min(YIELD_MAX)), step_ms })
    }
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
        let typical = self.whole.typical_size();
        let (from, mut looked) = (self.next, 0usize);
        let (round, pasts) = (&mut self.round, &mut self.pasts);
        let mut next = None;
        hosts::each_from(known.db, from, |record| {
            if looked == HOSTS_PER_TICK {
                next = Some(record.id.0);
                return false;
            }
            looked += 1;
            // A host with a back queue has its true record in the frontier.
            let active = known.frontier.active(record.id).map(|active| &active.record);
            let record = active.unwrap_or(&record);
            let trend = follow(pasts, record, known.now);
            round.add(record, trend, known, typical);
            true
        })?;
        self.next = next.unwrap_or(0);
        if next.is_none() {
            self.whole = std::mem::take(&mut self.round);
        }
        Ok(self.whole.remaining(known))
    }

    /// Returns the host that sets the floor.
    pub(super) fn slowest(&self) -> Option<&Slowest> {
        self.whole.slowest.as_ref()
    }
}

/// Follows a host, as long as it has something to do.
fn follow(pasts: &mut HashMap<HostId, Past>, record: &HostRecord, now: Timestamp) -> Option<Trend> {
    if record.queued == 0 || !record.is_open() {
        pasts.remove(&record.id);
        return None;
    }
    let mark = Mark { at: now, done: record.done, found: record.done + record.queued };
    if pasts.len() >= PASTS_MAX && !pasts.contains_key(&record.id) {
        return None;
    }
    pasts.entry(record.id).or_insert_with(|| Past::new(mark)).note(mark)
}

impl Round {
    /// Adds what a host will take.
    fn add(&mut self, record: &HostRecord, trend: Option<Trend>, known: &Known<'_>, typical: u64) {
        if record.queued == 0 || !record.is_open() {
            if record.done > 0 {
                self.sizes[(record.done.ilog2() as usize).min(31)] += 1;
            }
            return;
        }
        let politeness = known.frontier.rules().of(record.name.as_str());
        let now = known.now.as_millis() as f64;
        let wait =
            known.frontier.earliest(record, known.now).since(known.now).as_secs_f64() * 1000.0;
        let latency = record.pace.latency().as_secs_f64() * 1000.0;
        let step = step_ms(record, politeness, latency);
        let real = trend.map_or(step, |trend| trend.step_ms);
        let budget = budget_left(record, known.host_pages_max);
        // A host in trouble may be given up at its next try, with all that waits.
        let in_trouble = record.pace.unreachable > 0 || record.robots_failures > 0;
        let sure = if in_trouble { 0.0 } else { record.queued as f64 * FETCHED_MIN };
        let least = wait + (sure.min(budget) - 1.0).max(0.0) * step.min(real);
        let growth = trend.map_or(1.0, |trend| trend.growth);
        let pages = pages_to_come(record, growth, typical).min(budget).max(1.0);
        let most = wait + pages * step.max(real) * SLOWER + trouble_ms(record, politeness, known);
        self.open += 1;
        self.work_ms += most;
        self.fetching_ms += pages * latency;
        self.end_most = self.end_most.max(now + most);
        if now + least >= self.end_least {
            self.end_least = now + least;
            let (host, backlog) = (record.name.to_string(), record.queued);
            self.slowest = Some(Slowest { host, backlog, gap_ms: step as u64 });
        }
        if let Some(group) = known.frontier.group(record)
            && (self.groups.len() < GROUPS_MAX || self.groups.contains_key(&group))
        {
            let delay = politeness.group_delay.get().as_secs_f64() * 1000.0;
            *self.groups.entry(group).or_default() += wait.max(pages * (latency + delay));
        }
    }

    fn remaining(&self, known: &Known<'_>) -> Remaining {
        let now = known.now.as_millis() as f64;
        let left = known.left.map_or(f64::INFINITY, |left| left.as_secs_f64() * 1000.0);
        let least = (self.end_least - now).max(0.0).min(left);
        if known.counters.done < PAGES_MIN {
            let ceiling_ms = known.left.map(|left| left.as_millis() as u64);
            return Remaining { floor_ms: least as u64, ceiling_ms };
        }
        // Hosts are worked off side by side: what all take, by the number of places, and the last.
        let settings = known.frontier.settings();
        let places = settings.back_queue_count().max(1) as f64;
        let in_line = if self.open as f64 > places { self.work_ms / places } else { 0.0 };
        let fetching = self.fetching_ms / settings.in_flight_max.max(1) as f64;
        let groups = self.groups.values().copied().fold(0.0, f64::max);
        let last = (self.end_most - now).max(0.0);
        let most = (last + in_line + fetching).max(groups) + SLACK_MS;
        Remaining { floor_ms: least as u64, ceiling_ms: Some(most.max(least).min(left) as u64) }
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
fn pages_to_come(record: &HostRecord, growth: f64, typical: u64) -> f64 {
    let pages = record.queued as f64 * growth;
    if record.done < KNOWN_PAGES { pages.max(typical as f64) } else { pages }
}

/// Returns how many pages of a host may still be fetched; `most` is 0 where there is no limit.
fn budget_left(record: &HostRecord, most: u64) -> f64 {
    match most {
        0 => f64::INFINITY,
        most => most.saturating_sub(record.done) as f64,
    }
}

/// Returns what the tries at a host in trouble may still cost, in milliseconds, until it is given
/// up. What refusals cost is in the pace that it had.
fn trouble_ms(record: &HostRecord, politeness: &Politeness, known: &Known<'_>) -> f64 {
    let ms = |span: crate::clock::Span| span.get().as_secs_f64() * 1000.0;
    let doubled = |first: f64, level: u32, most: f64| (first * 2f64.powi(level as i32)).min(most);
    let mut cost = 0.0;
    if record.pace.unreachable > 0 {
        let tries = record.pace.unreachable..politeness.unreachable_max.min(30);
        let (first, most) = (ms(politeness.unreachable_initial), ms(politeness.backoff_max));
        cost += tries.map(|level| doubled(first, level, most)).sum::<f64>();
    }
    if record.robots_failures > 0 {
        let tries = record.robots_failures..known.limits.robots_failures_max.min(30);
        let (first, most) = (ms(known.robots.failure_ttl_min), ms(known.robots.failure_ttl_max));
        cost += tries.map(|level| doubled(first, level, most)).sum::<f64>();
    }
    if record.pace.busy_level > 0 {
        // Another refusal doubles the rest once more.
        let level = u32::from(record.pace.busy_level.min(30));
        let (first, most) = (ms(politeness.backoff_initial), ms(politeness.backoff_max));
        cost += doubled(first, level, most);
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_pages_of_a_host_say_what_its_next_ones_will_be_like() {
        let mut past = Past::new(Mark::default());
        let mut trend = None;
        for page in 1..=1000u64 {
            // The first half leads to two URLs a page and takes a second each, the second leads to
            // one in two pages and takes three seconds.
            let (found, at) = match page {
                0..=500 => (2 * page, page * 1000),
                _ => (1000 + (page - 500) / 2, 500_000 + (page - 500) * 3000),
            };
            let now = Mark { at: Timestamp::from_millis(at), done: page, found };
            trend = past.note(now);
            if page < MARK_PAGES {
                assert_eq!(trend, None);
            }
            if page == 400 {
                assert_eq!(trend.unwrap().growth, 1.0 / (1.0 - YIELD_MAX));
            }
        }
        let Trend { growth, step_ms } = trend.unwrap();
        assert!((1.9..2.1).contains(&growth), "{growth}");
        assert!((2900.0..3100.0).contains(&step_ms), "{step_ms}");
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
    fn a_host_that_has_shown_little_may_be_as_large_as_others_but_has_its_budget() {
        let mut record = HostRecord::new(
            crate::frontier::HostId(1),
            crate::url::CrawlUrl::parse("http://a.test/").unwrap().host(),
        );
        record.queued = 3;
        assert_eq!(pages_to_come(&record, 1.0, 64), 64.0);
        assert_eq!(budget_left(&record, 0), f64::INFINITY);
        record.done = 100;
        assert_eq!((budget_left(&record, 120), budget_left(&record, 60)), (20.0, 0.0));
        assert_eq!(pages_to_come(&record, 2.0, 64), 6.0);
    }
}
