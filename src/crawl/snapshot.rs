//! What observers see: a copy, once a second, that costs the loop next to nothing.

use serde::{Deserialize, Serialize};

use super::run::Ended;
use super::tally::Tally;
use super::view::View;
use crate::clock::Timestamp;
use crate::db::families::meta::{Counters, QueueShape};
use crate::frontier::{PRIORITIES, Pace};

/// Why the crawl is not faster: the one thing that, if mended, would speed it up most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slowest {
    /// Its name.
    pub host: String,
    /// URLs that wait.
    pub backlog: u64,
    /// Its present gap, in milliseconds.
    pub gap_ms: u64,
}

/// The crawl at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    #[serde(default)]
    pub disk_reserve: u64,
    /// Hosts that were ever heard of.
    #[serde(default)]
    pub hosts_known: u64,
    /// Waiting and running pages, by depth and by priority.
    #[serde(default)]
    pub shape: QueueShape,
    /// What this run counts for its observers.
    #[serde(default)]
    pub tally: Tally,
    /// Why the run ended; none while it runs.
    #[serde(default)]
    pub ended: Option<Ended>,
    /// Hosts, rules, fetches and failures one by one, as many as fit a screen.
    #[serde(default)]
    pub view: View,
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
