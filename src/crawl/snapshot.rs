//! What observers see: a copy, once a second, that costs the loop next to nothing.

use serde::{Deserialize, Serialize};

use super::run::Ended;
use super::tally::Tally;
use super::view::View;
use crate::clock::Timestamp;
use crate::db::families::meta::{Counters, QueueShape};
use crate::frontier::PRIORITIES;

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
    /// Time from one request to the next while it is well, in milliseconds.
    pub gap_ms: u64,
}

/// How long the crawl will still take. Over many synthetic crawls, half-way through, the truth lay
/// in the range nine times of ten and more often (tests/MEASUREMENTS.md).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remaining {
    /// What the slowest host takes at least, in milliseconds.
    pub floor_ms: u64,
    /// What is expected at most, with what will yet be found; `None` while no end is in sight.
    pub ceiling_ms: Option<u64>,
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
    /// The host that sets the floor of the remaining time.
    pub slowest: Option<Slowest>,
    /// How long it will still take.
    pub remaining: Remaining,
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
    /// Returns the least time that the crawl can still take, in milliseconds.
    pub fn floor_ms(&self) -> u64 {
        self.remaining.floor_ms
    }

    /// Returns an upper estimate of the remaining time, in milliseconds; `None` while no end is in
    /// sight.
    pub fn ceiling_ms(&self) -> Option<u64> {
        self.remaining.ceiling_ms
    }
}
