//! The real resolver: hickory asks, our cache keeps, the policy judges.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ProtocolConfig, ResolveHosts,
    ResolverConfig, ResolverOpts, ServerOrderingStrategy,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError as NetDnsError, NetError};
use hickory_resolver::proto::rr::{Name, RData};
use hickory_resolver::{Resolver, TokioResolver};
use tokio::sync::Semaphore;

use super::cache::{Cache, Known};
use super::{AddressPolicy, DnsFailure, Family, Resolve, Resolved, Settings};
use crate::clock::Clock;
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
    under_way: Semaphore,
    total: Duration,
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
            under_way: Semaphore::new(settings.in_flight_max.max(1)),
            total: settings.total.get(),
            clock,
        })
    }

    async fn lookup(&self, host: &Host) -> (Known, Duration) {
        let asked = async {
            // The semaphore is never closed.
            let _permit = self.under_way.acquire().await;
            self.ask(host).await
        };
        tokio::time::timeout(self.total, asked).await.unwrap_or_else(|_| {
            let limit = self.total;
            (Known::Failed(format!("no answer within {limit:?}")), Duration::ZERO)
        })
    }

    async fn ask(&self, host: &Host) -> (Known, Duration) {
        // A final dot keeps the search domains of the machine out of it. `from_ascii` accepts the
        // underscores and leading hyphens that real hosts have.
        let name = match Name::from_ascii(format!("{}.", host.as_str().trim_end_matches('.'))) {
            Ok(name) => name,
            Err(error) => {
                return (Known::Failed(format!("not a DNS name: {error}")), Duration::MAX);
            }
        };
        match self.resolver.lookup_ip(name).await {
            Ok(answer) => {
                let records = answer.as_lookup().answers();
                let ttl = records.iter().map(|record| record.ttl).min().unwrap_or(0);
                let mut addresses: Vec<IpAddr> =
                    records.iter().filter_map(|record| address_of(&record.data)).collect();
                addresses.truncate(ADDRESSES_MAX);
                let known =
                    if addresses.is_empty() { Known::Missing } else { Known::Addresses(addresses) };
                (known, Duration::from_secs(u64::from(ttl)))
            }
            Err(NetError::Dns(NetDnsError::NoRecordsFound(none)))
                if none.response_code == hickory_resolver::proto::op::ResponseCode::NXDomain
                    || none.response_code == hickory_resolver::proto::op::ResponseCode::NoError =>
            {
                (Known::Missing, Duration::ZERO)
            }
            Err(error) => (Known::Failed(error.to_string()), Duration::ZERO),
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
        let kept = {
            let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
            cache.get(host, self.clock.now())
        };
        if let Some((known, ttl)) = kept {
            return self.judge(known, ttl, true);
        }
        let (known, ttl) = self.lookup(host).await;
        let ttl = {
            let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
            cache.put(host, known.clone(), ttl, self.clock.now())
        };
        self.judge(known, ttl, false)
    }
}

/// Addresses of one name that are kept; more than a fetch could try within its connect limit.
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
    options.ip_strategy = match settings.family {
        Family::Ipv4First => LookupIpStrategy::Ipv4thenIpv6,
        Family::Ipv6First => LookupIpStrategy::Ipv6thenIpv4,
        Family::Both => LookupIpStrategy::Ipv4AndIpv6,
        Family::Ipv4 => LookupIpStrategy::Ipv4Only,
        Family::Ipv6 => LookupIpStrategy::Ipv6Only,
    };
    options.server_ordering_strategy = ServerOrderingStrategy::UserProvidedOrder;
    // Aliases stay in the answer, since the shortest TTL of the chain counts.
    options.preserve_intermediates = true;
    // Our semaphore is the bound; two questions per name and some left over.
    options.max_active_requests = settings.in_flight_max.max(1).saturating_mul(4);
}
