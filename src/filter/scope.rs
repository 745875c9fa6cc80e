//! The seeds' share of the web.

use std::sync::Arc;

use crate::url::CrawlUrl;

use super::places::{Place, Places};
use super::settings::Scope;

/// The places of the seeds under one scope; grows by making a new value.
///
/// Held in tiers of falling size, merged as they come to equal size, so that adding one of n seeds
/// costs log n on average and asking at most log n look-ups.
#[derive(Clone, Debug)]
pub(super) struct SeedScope {
    scope: Scope,
    tiers: Vec<Arc<Places>>,
}

impl SeedScope {
    /// Measures a scope from seeds.
    pub(super) fn new(scope: Scope, seeds: &[CrawlUrl]) -> Self {
        SeedScope { scope, tiers: Vec::new() }.with(seeds)
    }

    /// Returns this scope grown by more seeds.
    pub(super) fn with(&self, seeds: &[CrawlUrl]) -> Self {
        let mut tiers = self.tiers.clone();
        if self.scope == Scope::Any || seeds.is_empty() {
            return SeedScope { scope: self.scope, tiers };
        }
        let places = seeds.iter().map(|seed| (place(self.scope, seed), 0));
        let mut newest = Places::new(places);
        while let Some(last) = tiers.pop_if(|last| last.len() <= 2 * newest.len()) {
            newest = last.merge(&newest);
        }
        tiers.push(Arc::new(newest));
        SeedScope { scope: self.scope, tiers }
    }

    /// Returns true if the URL lies within.
    pub(super) fn holds(&self, url: &CrawlUrl) -> bool {
        if self.scope == Scope::Any {
            return true;
        }
        let holds = |url: &CrawlUrl| self.tiers.iter().any(|tier| tier.find(url).is_some());
        if self.scope != Scope::Domain {
            return holds(url);
        }
        // Public suffixes lie below others (`amazonaws.com`, `s3.amazonaws.com`), so being below a
        // seed's domain is not enough: the registrable domain itself must be a seed's.
        if !holds(url) {
            return false;
        }
        let site = url.site();
        self.tiers.iter().any(|tier| tier.has_domain(site.as_str()))
    }

    /// Returns true if the URL's host lies within, or a folder of it does.
    pub(super) fn holds_part_of_host(&self, url: &CrawlUrl) -> bool {
        self.holds(url) || self.tiers.iter().any(|tier| tier.has_prefix_of(url.host_str()))
    }
}

fn place(scope: Scope, seed: &CrawlUrl) -> Place {
    match scope {
        Scope::Host | Scope::Any => Place::Host(seed.host_str().to_owned()),
        Scope::Domain => Place::Domain(seed.site().as_str().to_owned()),
        Scope::Prefix => Place::Prefix { host: seed.host_str().to_owned(), path: folder(seed) },
    }
}

/// Returns the folder of a seed: its path up to the last slash.
fn folder(seed: &CrawlUrl) -> String {
    let path = seed.path();
    let end = path.rfind('/').map_or(path.len(), |slash| slash + 1);
    path[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scope: Scope, seeds: &[&str], url: &str, want: bool) {
        let seeds: Vec<CrawlUrl> =
            seeds.iter().map(|seed| CrawlUrl::parse(seed).unwrap()).collect();
        let url = CrawlUrl::parse(url).unwrap();
        assert_eq!(SeedScope::new(scope, &seeds).holds(&url), want, "{scope:?} {url}");
    }

    #[test]
    fn scope_is_measured_from_the_seeds() {
        let seeds = ["http://www.example.co.uk/docs/a.html?x=/y", "http://other.test/"];
        for (scope, url, want) in [
            (Scope::Host, "https://www.example.co.uk:444/x", true),
            (Scope::Host, "http://example.co.uk/", false),
            (Scope::Host, "http://other.test/x", true),
            (Scope::Domain, "http://example.co.uk/", true),
            (Scope::Domain, "http://a.b.example.co.uk/", true),
            (Scope::Domain, "http://else.co.uk/", false),
            (Scope::Prefix, "http://www.example.co.uk/docs/b", true),
            (Scope::Prefix, "http://www.example.co.uk/docs", false),
            (Scope::Prefix, "http://other.test/x/y", true),
            (Scope::Any, "http://anything.test/", true),
        ] {
            check(scope, &seeds, url, want);
        }
    }

    #[test]
    fn a_domain_does_not_reach_into_the_public_suffixes_below_it() {
        check(Scope::Domain, &["http://github.io/"], "http://someone.github.io/", false);
        check(Scope::Domain, &["http://github.io/"], "http://github.io/x", true);
        check(Scope::Domain, &["http://127.0.0.1/"], "http://127.0.0.1:81/x", true);
        check(Scope::Domain, &["http://127.0.0.1/"], "http://127.0.0.2/x", false);
    }

    #[test]
    fn no_seed_means_nothing_is_in_scope() {
        check(Scope::Host, &[], "http://a.test/", false);
        check(Scope::Any, &[], "http://a.test/", true);
    }

    #[test]
    fn a_scope_grown_seed_by_seed_equals_one_made_at_once() {
        let seeds: Vec<CrawlUrl> = (0..2_000)
            .map(|n| CrawlUrl::parse(&format!("http://h{n}.test/d/x")).unwrap())
            .collect();
        for scope in [Scope::Host, Scope::Domain, Scope::Prefix] {
            let mut grown = SeedScope::new(scope, &[]);
            for seed in &seeds {
                grown = grown.with(std::slice::from_ref(seed));
            }
            assert!(grown.tiers.len() <= 12, "{} tiers", grown.tiers.len());
            assert!(seeds.iter().all(|seed| grown.holds(seed)));
            assert!(!grown.holds(&CrawlUrl::parse("http://h2000.test/d/x").unwrap()));
        }
    }
}
