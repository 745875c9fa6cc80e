//! What bounds a crawl as a whole.

use serde::{Deserialize, Serialize};

use crate::clock::{ByteSize, Span};

/// Bounds of a crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// Free bytes that stay on the disks of state and archive: below, the crawl pauses; it goes on
    /// when they are freed.
    pub disk_reserve: ByteSize,
    /// Time after which a run stops, resumable; zero means none.
    pub time_max: Span,
    /// Tries after the first for a URL whose fetch fails; a kind of failure may allow fewer.
    pub retries_max: u16,
    /// 429 and 503 answers of one URL after which the last one is taken for its answer.
    pub busy_answers_max: u16,
    /// Failures of an origin's robots.txt in a row after which its URLs are refused; where a good
    /// copy of before is kept they wait until it counts again, for `robots.outage_tolerated`.
    pub robots_failures_max: u32,
    /// Host records held in memory beside those with a back queue.
    pub host_cache: usize,
    /// robots.txt files held in memory, as far as they fit into 32 MiB.
    pub robots_cache: usize,
    /// How long before a host is due its name is looked up, so that no fetch waits for a name
    /// server; zero looks names up when they are needed.
    pub names_ahead: Span,
    /// Hosts that answered before and must fail in a row, with no answer in between, for the fault
    /// to be taken for ours: our network, or our name servers.
    pub outage_hosts: usize,
    /// How long such an outage excuses failures; hosts that are silent for longer are gone.
    pub outage_max: Span,
    /// Time that fetches in flight get to finish after a first Ctrl-C.
    pub grace: Span,
    /// Size at which the crawl log begins a new file.
    pub log_size: ByteSize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            disk_reserve: ByteSize::gib(1),
            time_max: Span::secs(0),
            retries_max: 3,
            busy_answers_max: 12,
            robots_failures_max: 6,
            host_cache: 16_384,
            robots_cache: 2_048,
            names_ahead: Span::secs(2),
            outage_hosts: 4,
            outage_max: Span::secs(6 * 3600),
            grace: Span::secs(10),
            log_size: ByteSize::mib(256),
        }
    }
}
