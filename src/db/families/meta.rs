//! `meta`: whatever there is one of.
//!
//! key = text, listed here · value = postcard of the type beside it:
//! `format-version` (raw u32, big-endian) · `counters` [`Counters`] ·
//! `reasons` map of reason codes to counts · `serials` [`Serials`] ·
//! `session` [`Session`] · `anchor` [`Anchor`] · `archive` [`ArchivePosition`] ·
//! `forced` [`ArchivePosition`] · `crawl` (its id, u128) · `queue-shape` [`QueueShape`] ·
//! `rules` (bytes of the rule set, with its version) · `scope/` and a fingerprint (a seed, or a URL
//! that one redirects to; before, a list of the latter was one row, `scope`) · `control` (what an
//! operator changed while running, as JSON) · `gate` (hash of the settings of the filter that the
//! last run was configured with, u64).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::{Anchor, Timestamp};
use crate::db::{Batch, Db, DbError, Family};
use crate::frontier::PRIORITIES;
use crate::url::CrawlUrl;

/// Every URL occurrence is in exactly one of the terms on the right:
/// discovered = queued + in_flight + done + known + refused + failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// URL occurrences: seeds, and links after one page's own repeats are dropped.
    pub discovered: u64,
    /// Waiting.
    pub queued: u64,
    /// Under a lease.
    pub in_flight: u64,
    /// Fetched.
    pub done: u64,
    /// Known already, by their own name or by their key.
    pub known: u64,
    /// Refused by a gate.
    pub refused: u64,
    /// No usable answer after all attempts.
    pub failed: u64,
    /// Of `known`: suppressed by a rule.
    pub suppressed: u64,
    /// Requests made, robots.txt and probes included.
    pub requests: u64,
    /// Requests for robots.txt.
    pub robots_requests: u64,
    /// Requests for probes and audits.
    pub probe_requests: u64,
    /// Bytes received, before decoding.
    pub bytes: u64,
    /// Pages whose text was known before.
    pub duplicates: u64,
    /// Pages that are error pages whatever their status says.
    pub junk: u64,
    /// Answers by the first digit of their status: below 100, then 1xx (never) to 5xx and above.
    pub by_class: [u64; 6],
    /// Attempts that failed and were put off.
    pub retries: u64,
}

impl Counters {
    /// Returns how far the two sides of the identity are apart; zero is right.
    pub fn imbalance(&self) -> i128 {
        let right = [self.queued, self.in_flight, self.done, self.known, self.refused, self.failed];
        i128::from(self.discovered) - right.iter().map(|n| i128::from(*n)).sum::<i128>()
    }
}

/// Depths that the shape of the queue tells apart: from the last one on they are counted together.
pub const DEPTHS: usize = 16;

/// Pages that wait or are in flight, by depth and by priority; either sums to
/// [`Counters::queued`] plus [`Counters::in_flight`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueShape {
    /// By links from the seed, the last one and more counted together.
    pub by_depth: [u64; DEPTHS],
    /// By priority, 0 best.
    pub by_priority: [u64; PRIORITIES],
}

impl QueueShape {
    /// Notes a page that was put into the queue.
    pub fn add(&mut self, hops: u16, priority: u8) {
        self.by_depth[usize::from(hops).min(DEPTHS - 1)] += 1;
        self.by_priority[usize::from(priority).min(PRIORITIES - 1)] += 1;
    }

    /// Notes a page that left it.
    pub fn remove(&mut self, hops: u16, priority: u8) {
        let depth = &mut self.by_depth[usize::from(hops).min(DEPTHS - 1)];
        *depth = depth.saturating_sub(1);
        let priority = &mut self.by_priority[usize::from(priority).min(PRIORITIES - 1)];
        *priority = priority.saturating_sub(1);
    }

    /// Returns how many pages it counts.
    pub fn total(&self) -> u64 {
        self.by_depth.iter().sum()
    }
}

/// Numbers that are given once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serials {
    /// Next host number.
    pub host: u32,
    /// Next serial of a queue row or a place in line.
    pub row: u64,
    /// Next number of a probe.
    pub probe: u64,
}

/// The present or last run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// When it began.
    pub began: Timestamp,
    /// Latest time that was stored: the clock never runs before it.
    pub latest: Timestamp,
    /// How it ended: empty while it runs or after a kill, else `complete`, `interrupted`, `limit`.
    pub ended: String,
    /// How many runs there were.
    pub runs: u32,
    /// Digest of the configuration that matters for resuming.
    pub seeds_digest: u64,
}

/// End of the last archived record whose outcome is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivePosition {
    /// File name.
    pub file: String,
    /// Bytes.
    pub offset: u64,
}

macro_rules! single {
    ($load:ident, $save:ident, $type:ty, $key:literal, $what:literal) => {
        #[doc = concat!("Returns the stored ", $what, ", if there is one.")]
        ///
        /// # Errors
        /// Returns what the database says.
        pub fn $load(db: &Db) -> Result<Option<$type>, DbError> {
            db.get(Family::Meta, $key)
        }

        #[doc = concat!("Stores the ", $what, ".")]
        pub fn $save(batch: &mut Batch, db: &Db, value: &$type) {
            batch.put(db, Family::Meta, $key, value);
        }
    };
}

single!(counters, put_counters, Counters, b"counters", "counters");
single!(reasons, put_reasons, BTreeMap<String, u64>, b"reasons", "count of each reason");
single!(shape, put_shape, QueueShape, b"queue-shape", "shape of the queue");
single!(serials, put_serials, Serials, b"serials", "serials");
single!(session, put_session, Session, b"session", "session");
single!(archive, put_archive, ArchivePosition, b"archive", "archive position");
single!(forced, put_forced, ArchivePosition, b"forced", "position known to be on the disk");
single!(crawl, put_crawl, u128, b"crawl", "id of the crawl");
single!(anchor, put_anchor, Anchor, b"anchor", "moment at which the present or last run began");
single!(rules, put_rules, Vec<u8>, b"rules", "rule set");
single!(rule_book, put_rule_book, Vec<u8>, b"rule-book", "what the learned rules share");
single!(control, put_control, String, b"control", "operator's changes");
single!(gate, put_gate, u64, b"gate", "hash of the settings of the filter");

const SCOPE: &[u8] = b"scope";
const SCOPE_ROWS: &[u8] = b"scope/";

/// Returns the seeds of all runs, and the URLs that they redirect to.
///
/// # Errors
/// Returns what the database says.
pub fn scope(db: &Db) -> Result<Vec<String>, DbError> {
    let mut urls: Vec<String> = db.get(Family::Meta, SCOPE)?.unwrap_or_default();
    let end = [SCOPE, &[SCOPE_ROWS[SCOPE.len()] + 1]].concat();
    db.scan(Family::Meta, SCOPE_ROWS, &end, |key, bytes| {
        urls.push(Db::decode(Family::Meta, key, bytes)?);
        Ok(true)
    })?;
    Ok(urls)
}

/// Stores a seed, or a URL that one redirects to: a row of its own, since of a list of bare names
/// nearly all redirect.
pub fn put_scope(batch: &mut Batch, db: &Db, url: &CrawlUrl) {
    let key = [SCOPE_ROWS, &url.fingerprint().to_bytes()].concat();
    batch.put(db, Family::Meta, &key, &url.as_str());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::MemoryEnv;

    #[test]
    fn what_seeds_redirect_to_is_a_row_each_beside_the_list_of_an_earlier_version() {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory("/state".as_ref(), &Default::default(), &env).unwrap();
        let url = |host: &str| CrawlUrl::parse(&format!("http://www.{host}.test/")).unwrap();
        let mut batch = Batch::default();
        batch.put(&db, Family::Meta, SCOPE, &vec![url("a").to_string()]);
        for host in ["b", "c", "b"] {
            put_scope(&mut batch, &db, &url(host));
        }
        // A neighbour in the order of the keys.
        put_session(&mut batch, &db, &Session::default());
        db.commit(batch).unwrap();
        let mut found = scope(&db).unwrap();
        found.sort_unstable();
        assert_eq!(found, ["a", "b", "c"].map(|host| url(host).to_string()));
    }
}
