//! Names to addresses: the [`Resolve`] trait, and which addresses may be connected to.
//!
//! A name is resolved once per fetch, every address is checked, and the fetch connects to exactly
//! the addresses that passed: a name that is bound anew between check and connect changes nothing.
//!
//! [`HickoryResolver`] asks the name servers and keeps the answers; [`AddressPolicy`] decides what
//! may be connected to; [`History`] remembers what a name has meant. The module connects to nobody
//! but name servers, fetches nothing ahead by itself (prefetching is the crawl loop's decision) and
//! stores nothing: a history is handed out as bytes.

mod cache;
mod history;
mod policy;
mod resolver;
mod settings;

pub use history::{History, HistoryError, Interval};
pub use policy::AddressPolicy;
pub use resolver::{DnsError, HickoryResolver};
pub use settings::{Family, Settings};

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::fetch::Failure;
use crate::url::Host;

/// What a name resolves to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Addresses that may be connected to, in the order to try them; never empty.
    pub addresses: Vec<IpAddr>,
    /// Addresses that were refused by the address policy.
    pub refused: Vec<IpAddr>,
    /// How long the answer may be kept.
    pub ttl: Duration,
    /// True if the answer came from the cache.
    pub cached: bool,
}

/// Why a name has no address to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DnsFailure {
    /// NXDOMAIN, or no address records.
    NotFound,
    /// Every address is refused by the address policy; which ones.
    Refused(Vec<IpAddr>),
    /// SERVFAIL, silence, nonsense; the detail is for the log.
    Failed(String),
}

impl DnsFailure {
    /// Returns the failure of a fetch whose host could not be resolved.
    pub fn failure(&self) -> Failure {
        match self {
            DnsFailure::NotFound => Failure::DnsNotFound,
            DnsFailure::Refused(_) => Failure::AddressRefused,
            DnsFailure::Failed(_) => Failure::DnsFailed,
        }
    }
}

impl fmt::Display for DnsFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DnsFailure::NotFound => f.write_str("the name does not exist or has no address"),
            DnsFailure::Refused(addresses) => {
                write!(f, "no address may be connected to: {addresses:?}")
            }
            DnsFailure::Failed(why) => write!(f, "not resolved: {why}"),
        }
    }
}

/// Resolves names.
pub trait Resolve: Send + Sync + 'static {
    /// Resolves a host within a bounded time; IP literals are checked and returned as they are.
    fn resolve(&self, host: &Host) -> impl Future<Output = Result<Resolved, DnsFailure>> + Send;

    /// Returns true if nobody will have to be asked for `host` until `until`.
    fn knows(&self, host: &Host, until: Timestamp) -> bool;
}
