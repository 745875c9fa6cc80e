//! The real resolver: hickory asks, our cache keeps, the policy judges.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ProtocolConfig, ResolveHosts, ResolverConfig, ResolverOpts,
    ServerOrderingStrategy,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError as NetDnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use hickory_resolver::{Resolver, TokioResolver};
use tokio::sync::Semaphore;

use super::cache::{Cache, Known};
use super::{AddressPolicy, DnsFailure, Family, Resolve, Resolved, Settings};
use crate::clock::{Clock, Timestamp};
use crate::url::Host;

/// Why there can be no resolver at all.
#[derive(Debug, thiserror::Error)]
pub enum DnsError {
    /// `/etc/resolv.conf` could not be used.
    #[error(
        "read the system's name server settings: {0}; name your own with \
         `servers = [\"192.0.2.53:53\"]` in `[dns]`"
    )]
    System(String),
    /// hickory refused the settings.
    #[error("start the name resolver: {0}")]
    Start(String),
}

/// Resolves names with hickory-resolver.
///
/// hickory's own cache is off: ours also remembers failures, grows their lifetime, is bounded by
/// names rather than by records and follows the crawl's clock.
#[derive(Debug)]
pub struct HickoryResolver {
    resolver: TokioResolver,
    policy: AddressPolicy,
    cache: Mutex<Cache>,
    asked: Asked,
    under_way: Semaphore,
    total: Duration,
    family: Family,
    /// Names are somebody else's to resolve.
    is_left_to_proxy: bool,
    clock: Arc<Clock>,
}

impl HickoryResolver {
    /// Makes a resolver; asks nobody yet.
    ///
    /// # Errors
    /// Fails if no servers are set and the system's settings cannot be read.
    pub fn new(settings: &Settings, clock: Arc<Clock>) -> Result<Self, DnsError> {
        Ok(HickoryResolver {
            resolver: build(settings)?,
            policy: AddressPolicy::new(settings),
            cache: Mutex::new(Cache::new(settings)),
            asked: Asked::default(),
            under_way: Semaphore::new(settings.in_flight_max.max(1)),
            total: settings.total.get(),
            family: settings.family,
            is_left_to_proxy: false,
            clock,
        })
    }

    /// Leaves names to the proxy that everything goes through: no name server is asked, and no name
    /// has an address here. What says by itself that it is of this machine or of a private network,
    /// an address or `localhost` (RFC 6761 §6.3), is judged all the same.
    #[must_use]
    pub fn left_to_proxy(mut self) -> Self {
        self.is_left_to_proxy = true;
        self
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn lookup(&self, host: &Host) -> (Known, Duration) {
        // The semaphore is never closed. The wait is ours and says nothing of the name: each of
        // those before it has its own limit.
        let _permit = self.under_way.acquire().await;
        tokio::time::timeout(self.total, self.ask(host)).await.unwrap_or_else(|_| {
            let limit = self.total;
            (Known::Failed(format!("no answer within {limit:?}")), Duration::ZERO)
        })
    }

    /// Asks for the kinds of address that are set, as far as needed.
    async fn ask(&self, host: &Host) -> (Known, Duration) {
        // Raw labels and a final dot: real hosts have underscores and leading hyphens, and search
        // domains of the machine must stay out of it.
        let labels = host.as_str().trim_end_matches('.').split('.').map(str::as_bytes);
        let name = match Name::from_labels(labels) {
            Ok(mut name) => {
                name.set_fqdn(true);
                name
            }
            Err(error) => {
                return (Known::Failed(format!("not a DNS name: {error}")), Duration::ZERO);
            }
        };
        let (first, second) = match self.family {
            Family::Ipv4 => return self.ask_kind(name, RecordType::A).await.into_known(),
            Family::Ipv6 => return self.ask_kind(name, RecordType::AAAA).await.into_known(),
            Family::Ipv6First => (RecordType::AAAA, RecordType::A),
            Family::Ipv4First => (RecordType::A, RecordType::AAAA),
            Family::Both => {
                let v4 = self.ask_kind(name.clone(), RecordType::A);
                let v6 = self.ask_kind(name, RecordType::AAAA);
                let (v4, v6) = tokio::join!(v4, v6);
                return v4.and(v6).into_known();
            }
        };
        match self.ask_kind(name.clone(), first).await {
            Said::None { exists: true } => self.ask_kind(name, second).await.into_known(),
            // A failure stays one even if the other kind is answered by "none".
            Said::Failed(why) => {
                Said::Failed(why).and(self.ask_kind(name, second).await).into_known()
            }
            asked => asked.into_known(),
        }
    }

    async fn ask_kind(&self, name: Name, kind: RecordType) -> Said {
        match self.resolver.lookup(name, kind).await {
            Ok(answer) => {
                let records = answer.answers();
                let ttl = records.iter().map(|record| record.ttl).min().unwrap_or(0);
                let addresses: Vec<IpAddr> = records
                    .iter()
                    .filter_map(|record| address_of(&record.data))
                    .take(ADDRESSES_MAX)
                    .collect();
                if addresses.is_empty() {
                    Said::None { exists: true }
                } else {
                    Said::Addresses(addresses, Duration::from_secs(u64::from(ttl)))
                }
            }
            Err(NetError::Dns(NetDnsError::NoRecordsFound(none))) => match none.response_code {
                ResponseCode::NXDomain => Said::None { exists: false },
                ResponseCode::NoError => Said::None { exists: true },
                code => Said::Failed(format!("the name server answered {code}")),
            },
            Err(error) => Said::Failed(error.to_string()),
        }
    }

    fn judge(&self, known: Known, ttl: Duration, cached: bool) -> Result<Resolved, DnsFailure> {
        let found = match known {
            Known::Addresses(found) => found,
            Known::Missing => return Err(DnsFailure::NotFound),
            Known::Failed(why) => return Err(DnsFailure::Failed(why)),
        };
        let (addresses, refused): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|address| self.policy.allows(*address));
        if addresses.is_empty() {
            return Err(DnsFailure::Refused(refused));
        }
        Ok(Resolved { addresses, refused, ttl, cached })
    }
}

impl Resolve for HickoryResolver {
    async fn resolve(&self, host: &Host) -> Result<Resolved, DnsFailure> {
        if let Some(address) = host.ip() {
            return self.judge(Known::Addresses(vec![address]), Duration::MAX, false);
        }
        if self.is_left_to_proxy {
            if is_localhost(host) {
                let address = Ipv4Addr::LOCALHOST.into();
                return self.judge(Known::Addresses(vec![address]), Duration::MAX, true);
            }
            let (addresses, refused) = (Vec::new(), Vec::new());
            return Ok(Resolved { addresses, refused, ttl: Duration::MAX, cached: true });
        }
        if let Some((known, ttl)) = self.cache().get(host, self.clock.now()) {
            return self.judge(known, ttl, true);
        }
        let turn = self.asked.turn(host);
        let _first = turn.lock().await;
        if let Some((known, ttl)) = self.cache().get(host, self.clock.now()) {
            return self.judge(known, ttl, true);
        }
        let (known, ttl) = self.lookup(host).await;
        let ttl = self.cache().put(host, known.clone(), ttl, self.clock.now());
        self.judge(known, ttl, false)
    }

    fn knows(&self, host: &Host, until: Timestamp) -> bool {
        self.is_left_to_proxy || host.ip().is_some() || self.cache().knows(host, until)
    }
}

fn is_localhost(host: &Host) -> bool {
    let name = host.as_str().trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost")
}

/// The names that are being asked for, so that nobody asks twice at once: whoever comes second
/// waits for the first, no longer than that one does, and finds its answer in the cache.
#[derive(Debug, Default)]
struct Asked(Mutex<HashMap<Host, Weak<tokio::sync::Mutex<()>>>>);

/// Names noted before those that nobody asks for any more are forgotten.
const ASKED_MAX: usize = 1024;

impl Asked {
    fn turn(&self, host: &Host) -> Arc<tokio::sync::Mutex<()>> {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = asked.get(host).and_then(Weak::upgrade) {
            return turn;
        }
        if asked.len() >= ASKED_MAX {
            asked.retain(|_, turn| turn.strong_count() > 0);
        }
        let turn = Arc::new(tokio::sync::Mutex::new(()));
        asked.insert(host.clone(), Arc::downgrade(&turn));
        turn
    }
}

/// What the name servers said of one kind of address.
enum Said {
    Addresses(Vec<IpAddr>, Duration),
    None { exists: bool },
    Failed(String),
}

impl Said {
    /// Joins the answers of both kinds: any address is good, and silence is not "none".
    fn and(self, other: Said) -> Said {
        match (self, other) {
            (Said::Addresses(mut all, ttl), Said::Addresses(more, more_ttl)) => {
                all.extend(more);
                Said::Addresses(all, ttl.min(more_ttl))
            }
            (found @ Said::Addresses(..), _) | (_, found @ Said::Addresses(..)) => found,
            (failed @ Said::Failed(_), _) | (_, failed @ Said::Failed(_)) => failed,
            (none @ Said::None { .. }, Said::None { .. }) => none,
        }
    }

    fn into_known(self) -> (Known, Duration) {
        match self {
            Said::Addresses(addresses, ttl) => (Known::Addresses(addresses), ttl),
            Said::None { .. } => (Known::Missing, Duration::ZERO),
            Said::Failed(why) => (Known::Failed(why), Duration::ZERO),
        }
    }
}

/// Addresses of one kind of one name that are kept; more than a fetch could try within its connect
/// limit.
const ADDRESSES_MAX: usize = 32;

fn address_of(record: &RData) -> Option<IpAddr> {
    match record {
        RData::A(v4) => Some(IpAddr::V4(v4.0)),
        RData::AAAA(v6) => Some(IpAddr::V6(v6.0)),
        _ => None,
    }
}

fn build(settings: &Settings) -> Result<TokioResolver, DnsError> {
    let mut builder = if settings.servers.is_empty() {
        TokioResolver::builder_tokio().map_err(|error| DnsError::System(error.to_string()))?
    } else {
        let servers = settings.servers.iter().map(|server| {
            let connections = [ProtocolConfig::Udp, ProtocolConfig::Tcp].map(|protocol| {
                let mut connection = ConnectionConfig::new(protocol);
                connection.port = server.port();
                connection
            });
            NameServerConfig::new(server.ip(), true, connections.into())
        });
        let config = ResolverConfig::from_parts(None, Vec::new(), servers.collect());
        Resolver::builder_with_config(config, TokioRuntimeProvider::default())
    };
    set_options(builder.options_mut(), settings);
    builder.build().map_err(|error| DnsError::Start(error.to_string()))
}

fn set_options(options: &mut ResolverOpts, settings: &Settings) {
    options.timeout = settings.timeout.get();
    options.attempts = settings.attempts.max(1);
    options.cache_size = 0;
    options.use_hosts_file =
        if settings.servers.is_empty() { ResolveHosts::Always } else { ResolveHosts::Never };
    options.server_ordering_strategy = ServerOrderingStrategy::UserProvidedOrder;
    // Aliases stay in the answer, since the shortest TTL of the chain counts.
    options.preserve_intermediates = true;
    // Our semaphore is the bound; two questions per name and some left over.
    options.max_active_requests = settings.in_flight_max.max(1).saturating_mul(4);
}
