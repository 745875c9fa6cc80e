//! Answers of the name servers, kept by TTL and bounded by number.
//!
//! Time is an argument. Missing names and failures are kept too, each time twice as long as the
//! time before, so that a dead name costs less and less.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use super::Settings;
use crate::clock::Timestamp;
use crate::url::Host;

/// What the name servers said of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It has these addresses; not yet judged by the address policy.
    Addresses(Vec<IpAddr>),
    /// It does not exist, or has no address.
    Missing,
    /// They failed; why.
    Failed(String),
}

/// Answers by name; at most `cache_max`, the longest unused goes first.
#[derive(Debug)]
pub(super) struct Cache {
    settings: Settings,
    entries: HashMap<Host, Entry>,
    by_use: BTreeMap<u64, Host>,
    uses: u64,
}

#[derive(Debug)]
struct Entry {
    known: Known,
    expires: Timestamp,
    /// Answers without an address in a row.
    failures: u32,
    last_use: u64,
}

impl Cache {
    pub(super) fn new(settings: &Settings) -> Self {
        Cache {
            settings: settings.clone(),
            entries: HashMap::new(),
            by_use: BTreeMap::new(),
            uses: 0,
        }
    }

    /// Returns what is known of `host` and how long it stays valid.
    pub(super) fn get(&mut self, host: &Host, now: Timestamp) -> Option<(Known, Duration)> {
        let entry = self.entries.get_mut(host).filter(|entry| entry.expires > now)?;
        self.uses += 1;
        self.by_use.remove(&entry.last_use);
        self.by_use.insert(self.uses, host.clone());
        entry.last_use = self.uses;
        Some((entry.known.clone(), entry.expires.since(now)))
    }

    /// Returns true if what is known of `host` is valid until `until`.
    pub(super) fn knows(&self, host: &Host, until: Timestamp) -> bool {
        self.entries.get(host).is_some_and(|entry| entry.expires > until)
    }

    /// Keeps an answer whose records may be kept for `ttl`; returns how long it stays valid.
    pub(super) fn put(
        &mut self,
        host: &Host,
        known: Known,
        ttl: Duration,
        now: Timestamp,
    ) -> Duration {
        // An expired entry stays until it is the longest unused, for the count of its failures.
        let before = self.entries.remove(host);
        if let Some(entry) = &before {
            self.by_use.remove(&entry.last_use);
        }
        let failures = before.map_or(0, |entry| entry.failures);
        let (kept, failures) = self.kept(&known, ttl, failures);
        while self.entries.len() >= self.settings.cache_max.max(1) {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            self.entries.remove(&oldest);
        }
        self.uses += 1;
        self.by_use.insert(self.uses, host.clone());
        let entry = Entry { known, expires: now.plus(kept), failures, last_use: self.uses };
        self.entries.insert(host.clone(), entry);
        kept
    }

    fn kept(&self, known: &Known, ttl: Duration, failures: u32) -> (Duration, u32) {
        let doubled = |min: Duration, max: Duration| {
            min.saturating_mul(2u32.saturating_pow(failures)).clamp(min, max.max(min))
        };
        let set = &self.settings;
        match known {
            Known::Addresses(_) => {
                (ttl.clamp(set.ttl_min.get(), set.ttl_max.get().max(set.ttl_min.get())), 0)
            }
            Known::Missing => {
                (doubled(set.negative_min.get(), set.negative_max.get()), failures + 1)
            }
            Known::Failed(_) => (doubled(set.failed_min.get(), set.failed_max.get()), failures + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(cache_max: usize) -> Cache {
        Cache::new(&Settings { cache_max, ..Settings::default() })
    }

    fn addresses() -> Known {
        Known::Addresses(vec![IpAddr::from([192, 0, 2, 1])])
    }

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_millis(secs * 1000)
    }

    #[test]
    fn an_answer_is_kept_for_its_ttl_within_bounds() {
        for (ttl, want) in [(0, 60), (59, 60), (300, 300), (90_000, 86_400)] {
            let mut cache = cache(9);
            let host = Host::new("a.example");
            cache.put(&host, addresses(), Duration::from_secs(ttl), at(0));
            assert!(cache.get(&host, at(want - 1)).is_some(), "ttl {ttl}");
            assert!(cache.get(&host, at(want)).is_none(), "ttl {ttl}");
        }
    }

    #[test]
    fn a_missing_name_is_asked_for_ever_less_often() {
        let mut cache = cache(9);
        let host = Host::new("a.example");
        let mut now = at(0);
        let mut waits = Vec::new();
        for _ in 0..6 {
            let wait = cache.put(&host, Known::Missing, Duration::ZERO, now);
            now = now.plus(wait);
            assert!(cache.get(&host, now).is_none());
            waits.push(wait.as_secs());
        }
        assert_eq!(waits, [15, 30, 60, 120, 240, 480]);
        cache.put(&host, addresses(), Duration::ZERO, now);
        let wait = cache.put(&host, Known::Missing, Duration::ZERO, now);
        assert_eq!(wait.as_secs(), 15, "an answer forgives");
    }

    #[test]
    fn failures_of_servers_are_forgotten_sooner() {
        let mut cache = cache(9);
        let host = Host::new("a.example");
        let failed = Known::Failed("servfail".to_owned());
        let mut wait = || cache.put(&host, failed.clone(), Duration::ZERO, at(0)).as_secs();
        assert_eq!([wait(), wait(), wait(), wait(), wait()], [5, 10, 20, 40, 60]);
    }

    #[test]
    fn the_longest_unused_name_goes_first() {
        let mut cache = cache(2);
        let [a, b, c] = ["a", "b", "c"].map(Host::new);
        cache.put(&a, addresses(), Duration::ZERO, at(0));
        cache.put(&b, addresses(), Duration::ZERO, at(0));
        assert!(cache.get(&a, at(1)).is_some());
        cache.put(&c, addresses(), Duration::ZERO, at(1));
        assert!(cache.get(&b, at(1)).is_none());
        assert!(cache.get(&a, at(1)).is_some() && cache.get(&c, at(1)).is_some());
        assert_eq!((cache.entries.len(), cache.by_use.len()), (2, 2));
    }
}
