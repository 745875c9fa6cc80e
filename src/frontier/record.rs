//! What is stored of a URL and of a host.

use serde::{Deserialize, Serialize};

use super::politeness::Pace;
use crate::clock::Timestamp;
use crate::url::{Fingerprint, Host};

/// Number of priorities: 0 is best, 7 is last.
pub const PRIORITIES: usize = 8;

/// A host by number; numbers are given once and never again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HostId(pub u32);

/// Where a waiting URL stands: priority first, then first in, first out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// 0 (best) to 7.
    pub priority: u8,
    /// Order of arrival, unique in a crawl.
    pub serial: u64,
}

/// All that is remembered of a URL that was found, in every state it can be in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UrlRecord {
    /// The URL as found, in normal form: what is fetched.
    pub url: String,
    /// The page it was found on, by the way that leaves most room for links from here; none for
    /// seeds.
    pub via: Option<Fingerprint>,
    /// Discovery path: one letter per hop from the seed (`L` link, `E` embed, `R` redirect, `I`
    /// inferred, `P` prerequisite, `M` sitemap, `S` synthesized, `X` speculative), at most the last
    /// 64.
    pub path: String,
    /// Links followed from the seed to here; embeds and redirects add nothing.
    pub hops: u16,
    /// Most links from its seed, where the seed has a limit of its own. Not all rows have it, so
    /// that whoever stores the record stores it beside.
    #[serde(skip)]
    pub hops_max: Option<u16>,
    /// When it was first found.
    pub discovered: Timestamp,
    /// What became of it.
    pub state: UrlState,
    /// Attempts that failed so far.
    pub attempts: u16,
    /// 429 and 503 answers so far: the host's state, not the URL's fault.
    pub busy: u16,
}

/// What became of a URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum UrlState {
    /// In the frontier.
    Queued(Place),
    /// Fetched, whatever the answer said.
    Done(Box<DoneState>),
    /// A gate refused it.
    Refused {
        /// Stable code of the reason.
        reason: String,
        /// Which pattern, line or limit decided.
        detail: String,
        /// When.
        at: Timestamp,
    },
    /// No usable answer after all attempts.
    Failed {
        /// Stable code of the failure.
        reason: String,
        /// One line for people.
        detail: String,
        /// When.
        at: Timestamp,
    },
    /// A rule gives it the key of a URL that is known already.
    Suppressed {
        /// The URL that stands for it.
        by: Fingerprint,
        /// The rules that were applied.
        rules: Vec<u64>,
        /// Version of the rule set.
        version: u64,
        /// When.
        at: Timestamp,
    },
}

/// The last answer to a URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DoneState {
    /// When the fetch began.
    pub at: Timestamp,
    /// HTTP status.
    pub status: u16,
    /// Decoded bytes.
    pub bytes: u64,
    /// Media type without parameters.
    pub mime: String,
    /// Hash of the main text, if there is any.
    pub text_digest: Option<u128>,
    /// Where the archive has it: file, offset, length.
    pub record: Option<(String, u64, u64)>,
    /// Rule set version in force.
    pub rules_version: u64,
    /// `new`, `revisit`, `duplicate`, `junk:…`: how the content was judged.
    pub content: String,
    /// Links found on it.
    pub links: u32,
    /// What the page looked like to the miner, as `crawl` encodes it; empty for none.
    pub evidence: Vec<u8>,
}

/// Whether a host may be crawled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostStatus {
    /// It may.
    #[default]
    Open,
    /// It waits for a person: its wishes exceed what is honoured, or it is a trap. Nothing of it is
    /// lost; its URLs stay queued.
    Parked {
        /// Why, with the figure.
        reason: String,
        /// When.
        at: Timestamp,
    },
    /// It is given up; its URLs are marked failed.
    GivenUp {
        /// Why.
        reason: String,
        /// When.
        at: Timestamp,
    },
}

/// Where a host with waiting URLs stands when it has no back queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// It has no waiting URLs, or it may not be crawled.
    #[default]
    Out,
    /// It has a place in a front queue; kept while it has a back queue, so that a crash finds it.
    InLine(Place),
    /// It sleeps until then.
    Snoozed(Timestamp),
    /// It waits for room in its group.
    InGroup(u64, u64),
}

/// The durable state of one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostRecord {
    /// Its number.
    pub id: HostId,
    /// Its name.
    pub name: Host,
    /// Politeness.
    pub pace: Pace,
    /// Whether it may be crawled.
    pub status: HostStatus,
    /// Its place.
    pub standing: Standing,
    /// Waiting URLs.
    pub queued: u64,
    /// Fetched URLs.
    pub done: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Pages whose text was known before, but for those that were fetched to measure a rule.
    pub duplicates: u64,
    /// Per priority, the least serial that may still wait: reading starts there, since a scan over
    /// consumed rows costs more with every one of them.
    pub floors: [u64; PRIORITIES],
    /// The group of its address, once known, where addresses are kept apart.
    pub group: Option<u64>,
    /// Failures of its robots.txt in a row.
    pub robots_failures: u32,
}

impl HostRecord {
    /// Returns the record of a host that has just been heard of.
    pub fn new(id: HostId, name: Host) -> Self {
        HostRecord {
            id,
            name,
            pace: Pace::default(),
            status: HostStatus::Open,
            standing: Standing::Out,
            queued: 0,
            done: 0,
            bytes: 0,
            duplicates: 0,
            floors: [0; PRIORITIES],
            group: None,
            robots_failures: 0,
        }
    }

    /// Returns true if the host may be crawled.
    pub fn is_open(&self) -> bool {
        self.status == HostStatus::Open
    }
}
