//! The four things a crawl touches the world with, as one argument.

use std::future::Future;
use std::sync::Arc;

use crate::archive::{Archive, ArchiveError, Capture, DnsCapture, Written};
use crate::clock::Clock;

/// Where captures go.
pub trait Store: Send + Sync + 'static {
    /// Appends the records of a capture and answers when they are in the file.
    fn write(
        &self,
        capture: Arc<Capture>,
    ) -> impl Future<Output = Result<Written, ArchiveError>> + Send;

    /// Appends the answer of a name server; nothing refers to it, and it is committed with the next
    /// capture behind it.
    fn write_dns(
        &self,
        dns: Arc<DnsCapture>,
    ) -> impl Future<Output = Result<(), ArchiveError>> + Send;

    /// Makes what was written safe against a power cut.
    fn sync(&self) -> impl Future<Output = Result<(), ArchiveError>> + Send;
}

impl Store for Archive {
    async fn write(&self, capture: Arc<Capture>) -> Result<Written, ArchiveError> {
        Archive::write(self, capture).await
    }

    async fn write_dns(&self, dns: Arc<DnsCapture>) -> Result<(), ArchiveError> {
        Archive::write_dns(self, dns).await.map(|_| ())
    }

    async fn sync(&self) -> Result<(), ArchiveError> {
        Archive::sync(self).await
    }
}

/// Clock, name servers, network and archive: real ones, or a simulation's.
#[derive(Debug)]
pub struct Edge<R, F, S> {
    /// The time.
    pub clock: Arc<Clock>,
    /// Names to addresses.
    pub resolve: R,
    /// Requests.
    pub fetch: F,
    /// The archive.
    pub store: S,
}
