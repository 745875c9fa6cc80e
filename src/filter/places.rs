//! A set of hosts, domains and prefixes, quick to ask at any size.

use std::collections::HashMap;

use crate::url::CrawlUrl;

/// Places of the web, each with a number that says which entry it came from.
///
/// Asking costs one hash look-up per label of the host and a binary search among the prefixes of
/// one host, whatever the size.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    hosts: HashMap<Box<str>, u32>,
    domains: HashMap<Box<str>, u32>,
    /// Path prefixes by host. Sorted; none is a prefix of another, so only one neighbour can
    /// match.
    prefixes: HashMap<Box<str>, Vec<(Box<str>, u32)>>,
}

impl Places {
    /// Makes a set of places; the first of equal places keeps its number.
    pub(super) fn new(places: impl IntoIterator<Item = (Place, u32)>) -> Self {
        let mut set = Places::default();
        for (place, number) in places {
            match place {
                Place::Host(host) => {
                    set.hosts.entry(host.into()).or_insert(number);
                }
                Place::Domain(name) => {
                    set.domains.entry(name.into()).or_insert(number);
                }
                Place::Prefix { host, path } => {
                    set.prefixes.entry(host.into()).or_default().push((path.into(), number));
                }
            }
        }
        for paths in set.prefixes.values_mut() {
            paths.sort();
            // After sorting, everything below a prefix directly follows it.
            paths.dedup_by(|next, kept| next.0.starts_with(&*kept.0));
        }
        set
    }

    /// Returns how many places there are.
    pub(super) fn len(&self) -> usize {
        self.hosts.len() + self.domains.len() + self.prefixes.values().map(Vec::len).sum::<usize>()
    }

    /// Returns the number of an entry that holds the URL.
    pub(super) fn find(&self, url: &CrawlUrl) -> Option<u32> {
        self.host(url.host_str())
            .or_else(|| self.domain(url.host_str()))
            .or_else(|| self.prefix(url))
    }

    /// Returns true if a domain is an entry by its own name.
    pub(super) fn has_domain(&self, name: &str) -> bool {
        self.domains.contains_key(name)
    }

    /// Returns true if an entry is a part of a host.
    pub(super) fn has_prefix_of(&self, host: &str) -> bool {
        self.prefixes.contains_key(host)
    }

    fn host(&self, host: &str) -> Option<u32> {
        self.hosts.get(host).copied()
    }

    fn domain(&self, host: &str) -> Option<u32> {
        if self.domains.is_empty() {
            return None;
        }
        let starts = memchr::memchr_iter(b'.', host.as_bytes()).map(|dot| dot + 1);
        std::iter::once(0).chain(starts).find_map(|at| self.domains.get(&host[at..]).copied())
    }

    fn prefix(&self, url: &CrawlUrl) -> Option<u32> {
        let paths = self.prefixes.get(url.host_str())?;
        let asked = url.path_and_query();
        let after = paths.partition_point(|(path, _)| **path <= *asked);
        let (path, number) = paths.get(after.checked_sub(1)?)?;
        asked.starts_with(&**path).then_some(*number)
    }

    /// Returns one set of both; numbers are kept as they are.
    pub(super) fn merge(&self, other: &Places) -> Places {
        Places::new(self.entries().chain(other.entries()))
    }

    fn entries(&self) -> impl Iterator<Item = (Place, u32)> + '_ {
        let hosts = self.hosts.iter().map(|(host, n)| (Place::Host(host.to_string()), *n));
        let domains = self.domains.iter().map(|(name, n)| (Place::Domain(name.to_string()), *n));
        let prefixes = self.prefixes.iter().flat_map(|(host, paths)| {
            let place =
                |path: &str| Place::Prefix { host: host.to_string(), path: path.to_owned() };
            paths.iter().map(move |(path, n)| (place(path), *n))
        });
        hosts.chain(domains).chain(prefixes)
    }
}

/// A part of the web.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// One host.
    Host(String),
    /// A domain with all below it.
    Domain(String),
    /// What begins with this path on a host: one SURT prefix.
    Prefix {
        /// The host.
        host: String,
        /// The beginning of path and query.
        path: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(host: &str, path: &str) -> Place {
        Place::Prefix { host: host.to_owned(), path: path.to_owned() }
    }

    fn find(places: &Places, url: &str) -> Option<u32> {
        places.find(&CrawlUrl::parse(url).unwrap())
    }

    #[test]
    fn places_hold_what_lies_within_them() {
        let places = Places::new([
            (Place::Host("a.test".into()), 1),
            (Place::Domain("example.org".into()), 2),
            (prefix("b.test", "/docs/"), 3),
            (prefix("b.test", "/docs/deep/"), 4),
            (prefix("b.test", "/e"), 5),
        ]);
        assert_eq!(places.len(), 4);
        for (url, want) in [
            ("http://a.test/x", Some(1)),
            ("https://a.test:8443/", Some(1)),
            ("http://www.a.test/", None),
            ("http://example.org/", Some(2)),
            ("http://a.b.example.org/", Some(2)),
            ("http://anexample.org/", None),
            ("http://b.test/docs/deep/x", Some(3)),
            ("http://b.test/docs", None),
            ("http://b.test/else", Some(5)),
            ("http://b.test/d", None),
        ] {
            assert_eq!(find(&places, url), want, "{url}");
        }
        assert_eq!(find(&Places::default(), "http://a.test/"), None);
    }

    #[test]
    fn a_hundred_thousand_prefixes_are_searched_not_scanned() {
        let host = |n: u32| format!("h{}.test", n % 1_000);
        let prefixes = (0..100_000).map(|n| (prefix(&host(n), &format!("/d{n}/")), n));
        let places = Places::new(prefixes);
        assert_eq!(places.len(), 100_000);
        for n in (0..100_000).step_by(997) {
            assert_eq!(find(&places, &format!("http://{}/d{n}/x", host(n))), Some(n));
            assert_eq!(find(&places, &format!("http://{}/d{n}", host(n))), None);
            assert_eq!(find(&places, &format!("http://{}/d{n}/x", host(n + 1))), None);
        }
    }
}
