//! robots.txt files held in memory: the ones that were asked for last, by number and by bytes.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;

use crate::robots::Entry;
use crate::url::{Host, Origin};

/// Bytes of all entries held. A usual file takes a few KiB, the largest that is read some MiB: by
/// number alone, a domain with ever new hosts could have any amount of memory.
const BYTES_MAX: usize = 32 << 20;

/// The entries of origins; those that are not held are in the database.
#[derive(Debug)]
pub(super) struct RobotsCache {
    entries: LruCache<Origin, Held>,
    bytes: usize,
}

#[derive(Debug)]
struct Held {
    entry: Arc<Entry>,
    bytes: usize,
}

impl RobotsCache {
    /// Makes a cache of at most so many entries.
    pub(super) fn new(capacity: NonZeroUsize) -> Self {
        RobotsCache { entries: LruCache::sparse(capacity), bytes: 0 }
    }

    pub(super) fn get(&mut self, origin: &Origin) -> Option<Arc<Entry>> {
        self.entries.get(origin).map(|held| Arc::clone(&held.entry))
    }

    /// Holds an entry, and lets go of those that were not asked for longest until there is room;
    /// one that is larger than all room is held alone.
    pub(super) fn put(&mut self, origin: Origin, entry: Arc<Entry>) {
        let bytes = entry.memory();
        self.bytes += bytes;
        if let Some((_, old)) = self.entries.push(origin, Held { entry, bytes }) {
            self.bytes -= old.bytes;
        }
        while self.bytes > BYTES_MAX
            && self.entries.len() > 1
            && let Some((_, old)) = self.entries.pop_lru()
        {
            self.bytes -= old.bytes;
        }
    }

    /// Lets go of the entries of a host for which robots.txt could not be fetched.
    pub(super) fn forget_failed(&mut self, host: &Host) {
        let held = self.entries.iter().filter(|(origin, _)| origin.host == *host);
        let failed = held.filter(|(_, held)| held.entry.failures() > 0);
        let failed: Vec<Origin> = failed.map(|(origin, _)| origin.clone()).collect();
        for origin in failed {
            self.bytes -= self.entries.pop(&origin).map_or(0, |held| held.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::robots::{FetchedRobots, Settings, after_fetch};
    use crate::url::CrawlUrl;

    fn after(outcome: FetchedRobots) -> Arc<Entry> {
        Arc::new(after_fetch(None, outcome, Timestamp::ZERO, &Settings::default()))
    }

    /// An entry of so many rules.
    fn entry(rules: usize) -> Arc<Entry> {
        let lines = (0..rules).map(|n| format!("Disallow: /{n:08}-{}\n", "x".repeat(8)));
        let file = format!("User-agent: *\n{}", lines.collect::<String>());
        let settings = Settings::default();
        after(FetchedRobots::from_answer(200, file.as_bytes(), "crawler", &settings))
    }

    fn origin(n: usize) -> Origin {
        CrawlUrl::parse(&format!("http://host-{n}.example/")).unwrap().origin()
    }

    #[test]
    fn large_files_of_many_hosts_take_no_more_than_their_share() {
        let mut cache = RobotsCache::new(NonZeroUsize::new(1_000).unwrap());
        let large = entry(1 << 14);
        assert!((1 << 19..1 << 21).contains(&large.memory()), "{}", large.memory());
        for n in 0..200 {
            cache.put(origin(n), Arc::clone(&large));
            let held: usize = cache.entries.iter().map(|(_, held)| held.bytes).sum();
            assert_eq!(cache.bytes, held);
            assert!(held <= BYTES_MAX);
        }
        assert!(cache.get(&origin(199)).is_some() && cache.get(&origin(0)).is_none());
        let small = entry(1);
        for n in 0..1_100 {
            cache.put(origin(n), Arc::clone(&small));
        }
        assert_eq!(cache.entries.len(), 1_000);
        assert_eq!(cache.bytes, 1_000 * small.memory(), "one that is put again counts once");
    }

    #[test]
    fn what_failed_is_forgotten_and_takes_no_room() {
        let mut cache = RobotsCache::new(NonZeroUsize::new(10).unwrap());
        cache.put(origin(1), after(FetchedRobots::NoAnswer("no route".to_owned())));
        cache.put(origin(2), entry(1));
        cache.forget_failed(&origin(1).host);
        cache.forget_failed(&origin(2).host);
        assert!(cache.get(&origin(1)).is_none() && cache.get(&origin(2)).is_some());
        assert_eq!(cache.bytes, entry(1).memory());
    }
}
