//! Names of hosts: resolved for a visit or ahead of it, and kept in history and archive.

use std::net::IpAddr;
use std::sync::Arc;

use super::edge::{Edge, Store};
use super::error::CrawlError;
use super::state::State;
use super::visit::{VisitError, patiently};
use crate::archive::DnsCapture;
use crate::clock::Timestamp;
use crate::db::Batch;
use crate::db::families::names;
use crate::dns::{self, DnsFailure, Resolve, Resolved};
use crate::frontier::HostId;
use crate::url::Host;

/// Lookups ahead of their need that are under way at once; the next second brings more.
pub(super) const AHEAD_MAX: usize = 64;

/// A name that is looked up outside a visit.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) host: Host,
    /// The host that waits for its group to be known.
    pub(super) group_of: Option<HostId>,
}

/// Looks a name up outside a visit, so that its host's group is known or no fetch has to wait.
/// Returns its addresses; `None` if it has none to connect to.
pub(super) async fn look_up<R: Resolve, F, S: Store>(
    edge: Arc<Edge<R, F, S>>,
    host: Host,
    keep: bool,
) -> Option<Vec<IpAddr>> {
    // What the archive has to say meets the next visit, which can end the crawl.
    let resolved = resolve(&edge, &host, keep).await.ok();
    resolved.and_then(Result::ok).map(|resolved| resolved.addresses)
}

/// Resolves a name; an answer that came from a name server is archived, if `keep` says so.
///
/// # Errors
/// Returns what the archive says.
pub(super) async fn resolve<R: Resolve, F, S: Store>(
    edge: &Edge<R, F, S>,
    host: &Host,
    keep: bool,
) -> Result<Result<Resolved, DnsFailure>, VisitError> {
    let asked = edge.clock.now();
    let resolved = edge.resolve.resolve(host).await;
    if let Ok(resolved) = &resolved
        && keep
        && !resolved.cached
        && host.ip().is_none()
    {
        let ttl = u32::try_from(resolved.ttl.as_secs()).unwrap_or(u32::MAX);
        let (addresses, host) = (resolved.addresses.clone(), host.clone());
        let capture = Arc::new(DnsCapture { host, addresses, ttl, server: None, asked });
        patiently(|| edge.store.write_dns(capture.clone())).await?;
    }
    Ok(resolved)
}

impl State {
    /// Notes what a lookup outside a visit found.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn looked_up(
        &mut self,
        lookup: &Lookup,
        addresses: Option<&[IpAddr]>,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        if let Some(id) = lookup.group_of {
            self.group_found(id, addresses.and_then(|all| all.first()), now)?;
        }
        let Some(addresses) = addresses else { return Ok(()) };
        let mut batch = Batch::default();
        self.note_addresses(&mut batch, &lookup.host, addresses, now)?;
        self.commit(batch, now)
    }

    /// Adds the addresses of a name that was resolved anew to the history of the name.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn note_addresses(
        &self,
        batch: &mut Batch,
        host: &Host,
        addresses: &[IpAddr],
        at: Timestamp,
    ) -> Result<(), CrawlError> {
        if host.ip().is_some() {
            return Ok(());
        }
        let stored = names::get(&self.db, host.as_str())?;
        // A history that cannot be read is begun anew: it decides nothing.
        let mut history =
            stored.and_then(|bytes| dns::History::decode(&bytes).ok()).unwrap_or_default();
        history.observe(addresses, at);
        names::put(batch, &self.db, host.as_str(), &history.encode());
        Ok(())
    }
}
