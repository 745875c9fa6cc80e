//! robots.txt files that redirect, until what they lead to has answered.
//!
//! In memory alone, and bounded by [`REDIRECTS_MAX`]: after a crash, or beyond it, hosts ask anew.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::admit::REDIRECT_PATIENCE;
use crate::clock::Timestamp;
use crate::db::families::seen::Depth;
use crate::frontier::{HostId, Place};
use crate::url::{CrawlUrl, Origin};

/// robots.txt files that redirect and are remembered until their targets have answered; 300 bytes
/// each.
pub(super) const REDIRECTS_MAX: usize = 1 << 16;

/// How long a host whose robots.txt redirects waits where that cannot be remembered.
pub(super) const REDIRECT_WAIT: Duration = Duration::from_secs(300);

/// A robots.txt that redirects.
#[derive(Clone, Debug)]
pub(super) struct PendingRobots {
    pub(super) target: CrawlUrl,
    pub(super) hops: u32,
    /// That of the page that asked for it: what the file names is found from there.
    pub(super) depth: Depth,
    pub(super) since: Timestamp,
    /// Where the target waits if it is of another host.
    pub(super) row: Option<(HostId, Place)>,
}

/// Those of all origins.
#[derive(Debug)]
pub(super) struct Redirected {
    pending: HashMap<Origin, PendingRobots>,
    /// Where targets of other hosts wait.
    rows: BTreeSet<(HostId, Place)>,
    /// When those that nobody asks for any more were last forgotten.
    swept: Timestamp,
}

impl Redirected {
    pub(super) fn new(now: Timestamp) -> Self {
        Redirected { pending: HashMap::new(), rows: BTreeSet::new(), swept: now }
    }

    pub(super) fn get(&self, origin: &Origin) -> Option<&PendingRobots> {
        self.pending.get(origin)
    }

    /// Remembers where the robots.txt of an origin leads to, in place of where it led before.
    pub(super) fn put(&mut self, origin: Origin, pending: PendingRobots) {
        self.remove(&origin);
        self.rows.extend(pending.row);
        self.pending.insert(origin, pending);
    }

    /// Forgets a robots.txt that is waited for no longer.
    pub(super) fn remove(&mut self, origin: &Origin) {
        let old = self.pending.remove(origin);
        if let Some(row) = old.and_then(|old| old.row) {
            self.rows.remove(&row);
        }
    }

    /// Returns true if another host waits for a robots.txt of this one. That is asked at each look
    /// of each host that waits itself: a walk through all of them would cost their square.
    pub(super) fn is_asked(&self, host: HostId) -> bool {
        let first = (host, Place { priority: 0, serial: 0 });
        self.rows.range(first..).next().is_some_and(|(asked, _)| *asked == host)
    }

    /// Makes room for a robots.txt that redirects; returns false if there is none, since as many as
    /// are remembered wait for their targets.
    pub(super) fn make_room(&mut self, origin: &Origin, now: Timestamp) -> bool {
        if self.pending.len() < REDIRECTS_MAX || self.pending.contains_key(origin) {
            return true;
        }
        // Those of hosts that nobody asks for any more; a walk costs, and once a while will do.
        if now >= self.swept.plus(REDIRECT_WAIT) {
            self.swept = now;
            self.pending.retain(|_, one| now.since(one.since) < REDIRECT_PATIENCE);
            self.rows = self.pending.values().filter_map(|one| one.row).collect();
        }
        self.pending.len() < REDIRECTS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).unwrap()
    }

    #[test]
    fn a_host_is_asked_while_a_row_of_its_queue_is_waited_for() {
        let now = Timestamp::from_millis(1);
        let mut redirected = Redirected::new(now);
        let [a, b] = ["http://a.example/", "http://b.example/"].map(|text| url(text).origin());
        let pending = |row: Option<(u32, u64)>| PendingRobots {
            target: url("http://c.example/robots.txt"),
            hops: 1,
            depth: (0, None),
            since: now,
            row: row.map(|(host, serial)| (HostId(host), Place { priority: 0, serial })),
        };
        let asked = |of: &Redirected| [1, 2, 3].map(|host| of.is_asked(HostId(host)));
        redirected.put(a.clone(), pending(Some((2, 7))));
        redirected.put(b.clone(), pending(Some((2, 8))));
        assert_eq!(asked(&redirected), [false, true, false]);
        redirected.put(a.clone(), pending(Some((3, 9))));
        assert_eq!(asked(&redirected), [false, true, true]);
        redirected.put(b.clone(), pending(None));
        redirected.remove(&a);
        assert_eq!(asked(&redirected), [false; 3]);
        assert!(redirected.get(&a).is_none() && redirected.get(&b).is_some());
    }
}
