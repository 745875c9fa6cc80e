//! Why a crawl stops that should go on.

use crate::archive::ArchiveError;
use crate::db::DbError;

/// A failure of our own. A crawl never goes on after one: a wrong answer is worse than none, and
/// the state is complete up to the last batch.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// The state.
    #[error("failed to {0}")]
    Db(#[from] DbError),
    /// The archive.
    #[error("failed to {0}")]
    Archive(#[from] ArchiveError),
    /// The proxy.
    #[error("reach anything through the proxy: {0}; mend fetch.proxy, the same command goes on")]
    Proxy(String),
    /// The learned rules.
    #[error("failed to load the learned rules: {0}")]
    Rules(String),
    /// What an operator changed.
    #[error("failed to {0}; it is the key `control` of the state")]
    Control(String),
    /// The crawl log.
    #[error("failed to write the crawl log {file}: {why}; free the disk or mend its permissions")]
    Log {
        /// The file.
        file: String,
        /// What the system says.
        why: std::io::Error,
    },
}

impl CrawlError {
    /// Returns true if the disk is full, so that the crawl can go on when it is freed.
    pub fn is_full(&self) -> bool {
        match self {
            CrawlError::Db(error) => matches!(error, DbError::Full),
            CrawlError::Archive(error) => error.is_full(),
            CrawlError::Rules(_) | CrawlError::Control(_) | CrawlError::Proxy(_) => false,
            CrawlError::Log { why, .. } => why.kind() == std::io::ErrorKind::StorageFull,
        }
    }
}
