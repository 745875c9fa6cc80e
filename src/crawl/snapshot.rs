//! What observers see: a copy, once a second, that costs the loop next to nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::run::Ended;
use super::tally::Tally;
use crate::clock::Timestamp;
use crate::db::families::meta::{Counters, QueueShape};
use crate::dust::{Evidence, Rule, RuleState, Source};
use crate::frontier::{PRIORITIES, Pace};

/// Why the crawl is not faster: the one thing that, if mended, would speed it up most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "brake", rename_all = "kebab-case")]
pub enum Brake {
    /// Nothing to do is left.
    Exhausted,
    /// An operator paused it.
    Paused,
    /// The disk is fuller than its reserve allows.
    Disk {
        /// Bytes free.
        free: u64,
        /// Bytes that must stay free.
        reserve: u64,
    },
    /// As many fetches are in flight as may be.
    InFlight {
        /// How many.
        max: usize,
    },
    /// Every host with waiting URLs rests.
    Politeness {
        /// Hosts that rest.
        resting: usize,
    },
    /// More hosts wait than have a back queue.
    BackQueues {
        /// Hosts that wait.
        waiting: u64,
        /// Back queues.
        max: usize,
    },
    /// Nothing holds it back.
    Nothing,
}

/// The host whose backlog takes longest.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Slowest {
    /// Its name.
    pub host: String,
    /// URLs that wait.
    pub backlog: u64,
    /// Its present gap, in milliseconds.
    pub gap_ms: u64,
}

/// Hosts of a snapshot at most: those with the longest backlogs.
pub(super) const HOSTS_SHOWN: usize = 100;

/// Rules of a snapshot at most: those that save most, then the newest.
pub(super) const RULES_SHOWN: usize = 100;

/// What a host with a back queue is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostNow {
    /// It is being asked.
    InFlight,
    /// It may be asked.
    Ready,
    /// It rests.
    Waiting,
    /// It rests because of 429, 503 or silence.
    BackingOff,
}

/// A host with a back queue, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostView {
    /// Its name.
    pub host: String,
    /// What it is doing.
    pub now: HostNow,
    /// URLs that wait.
    pub backlog: u64,
    /// URLs that were fetched.
    pub done: u64,
    /// Bytes that were received.
    pub bytes: u64,
    /// Pages whose text was known before.
    pub duplicates: u64,
    /// The rest after its last fetch, in milliseconds.
    pub gap_ms: u64,
    /// Moving average of its fetches, in milliseconds.
    pub latency_ms: u64,
    /// Milliseconds until it may be asked again.
    pub rests_ms: u64,
    /// 429 and 503 answers so far.
    pub busy: u32,
}

/// A rule, with what speaks for and against it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleView {
    /// Its stable name.
    pub id: String,
    /// Where it holds.
    pub site: String,
    /// What it does, in words.
    pub text: String,
    /// Its state.
    pub state: RuleState,
    /// Where it came from.
    pub source: Source,
    /// What speaks for and against it.
    pub evidence: Evidence,
    /// When its state last changed.
    pub changed: Timestamp,
}

/// The rule book at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RulesView {
    /// How many rules are in each state: candidate, shadow, enforced, suspended, retired.
    pub by_state: [u64; 5],
    /// Probe fetches spent so far.
    pub probes: u64,
    /// The most telling rules.
    pub rules: Vec<RuleView>,
}

impl RulesView {
    /// Shows the rules of a book: those in force first, by what they save, then the newest.
    pub(super) fn of<'r>(rules: impl Iterator<Item = &'r Rule>, probes: u64) -> RulesView {
        let mut by_state = [0; 5];
        let mut all: Vec<&Rule> =
            rules.inspect(|rule| by_state[state_index(rule.state)] += 1).collect();
        let key = |rule: &&Rule| {
            let rank = [3, 1, 0, 2, 4][state_index(rule.state)];
            let saved = std::cmp::Reverse(rule.evidence.suppressed);
            (rank, saved, std::cmp::Reverse(rule.changed), rule.id)
        };
        if all.len() > RULES_SHOWN {
            all.select_nth_unstable_by_key(RULES_SHOWN, key);
            all.truncate(RULES_SHOWN);
        }
        all.sort_unstable_by_key(key);
        let view = |rule: &Rule| RuleView {
            id: rule.id.to_string(),
            site: rule.site.to_string(),
            text: rule.to_string(),
            state: rule.state,
            source: rule.source,
            evidence: rule.evidence,
            changed: rule.changed,
        };
        RulesView { by_state, probes, rules: all.into_iter().map(view).collect() }
    }
}

fn state_index(state: RuleState) -> usize {
    match state {
        RuleState::Candidate => 0,
        RuleState::Shadow => 1,
        RuleState::Enforced => 2,
        RuleState::Suspended => 3,
        RuleState::Retired => 4,
    }
}

/// The crawl at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    /// When.
    pub at: Timestamp,
    /// When this run began.
    pub began: Timestamp,
    /// Counters of the whole crawl.
    pub counters: Counters,
    /// Hosts with a back queue.
    pub hosts_active: usize,
    /// Of these, those that may be fetched now.
    pub hosts_ready: usize,
    /// Hosts that wait for a back queue, by priority.
    pub hosts_waiting: [u64; PRIORITIES],
    /// Fetches in flight.
    pub in_flight: usize,
    /// Pages a second over the last ten seconds.
    pub rate: f64,
    /// Bytes a second over the same time.
    pub bytes_rate: f64,
    /// Why it is not faster.
    pub brake: Brake,
    /// The backlog that sets the floor of the remaining time.
    pub slowest: Option<Slowest>,
    /// Version of the rule set.
    pub rules_version: u64,
    /// Rules in force.
    pub rules: usize,
    /// Bytes free on the fuller of the disks.
    pub disk_free: Option<u64>,
    /// Bytes that must stay free there.
    pub disk_reserve: u64,
    /// Hosts that were ever heard of.
    pub hosts_known: u64,
    /// Waiting and running pages, by depth and by priority.
    pub shape: QueueShape,
    /// What this run counts for its observers.
    pub tally: Tally,
    /// How often each reason was given.
    pub reasons: BTreeMap<String, u64>,
    /// Hosts with a back queue, the longest backlogs first.
    pub hosts: Vec<HostView>,
    /// The rule book, as the miner last showed it.
    pub book: Arc<RulesView>,
    /// Why the run ended; none while it runs.
    pub ended: Option<Ended>,
}

impl Snapshot {
    /// Returns the least time that the crawl can still take, in milliseconds: the largest backlog
    /// times its gap.
    pub fn floor_ms(&self) -> u64 {
        self.slowest.as_ref().map_or(0, |slowest| slowest.backlog.saturating_mul(slowest.gap_ms))
    }

    /// Returns an upper estimate of the remaining time, in milliseconds: what is queued and what it
    /// will yet lead to, at the present yield and rate. `None` while there is no rate.
    pub fn ceiling_ms(&self) -> Option<u64> {
        if self.rate <= 0.0 {
            return None;
        }
        let done = self.counters.done.max(1) as f64;
        // New URLs per page so far, less than one or the crawl has no end in sight.
        let found = (self.counters.done + self.counters.queued) as f64;
        let yield_each = (1.0 - done / found.max(1.0)).clamp(0.0, 0.95);
        let expected = self.counters.queued as f64 / (1.0 - yield_each);
        Some(((expected / self.rate) * 1000.0) as u64).map(|ms| ms.max(self.floor_ms()))
    }
}

/// Returns the gap that a host's backlog must be multiplied with.
pub(super) fn typical_gap(pace: &Pace) -> u64 {
    pace.gap_ms.saturating_add(pace.latency().as_millis() as u64)
}
