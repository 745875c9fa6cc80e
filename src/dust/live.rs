//! The rule set in force: immutable, versioned, swapped whole.
//!
//! A page takes one snapshot, so all its links are judged by one version (I6). Booting and
//! publishing are the same call. A rule changes the key under which a URL is known, never the URL
//! that is fetched: [`RuleSet::canonize`] returns that key. The outcome is a fixed point: a URL for
//! which none is found in ten rounds keeps its own form.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use xxhash_rust::xxh3::xxh3_64;

use super::apply::{Form, HashedMap, SiteRules};
use super::rule::{Rule, RuleError, RuleId};
use super::sketch::mix;
use super::validate::places;
use crate::url::{CrawlUrl, Site};

/// Rounds of canonization, as in the paper [DustBuster §5.4].
const ROUNDS_MAX: usize = 10;

/// One million, the unit of the audit share.
const MILLION: u64 = 1_000_000;

/// All enforced rules of one version.
#[derive(Debug, Default)]
pub struct RuleSet {
    version: u64,
    rules: Vec<Arc<Rule>>,
    sites: HashedMap<(Site, SiteRules)>,
    audit_per_million: u32,
    /// Rules whose last audits raised a doubt, sorted.
    doubted: Vec<RuleId>,
    /// Places in which rules are proved; rules that are not named are proved everywhere.
    proven: BTreeMap<RuleId, BTreeSet<u64>>,
}

/// The key under which a URL is known, and the rules that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonized<'a> {
    /// The canonical URL: the URL itself where no rule applies.
    pub key: Cow<'a, CrawlUrl>,
    /// Rules in the order of their application; empty where the key is the URL itself.
    pub rules: Vec<RuleId>,
}

impl RuleSet {
    /// Compiles enforced rules; `audit_share` of what they suppress is fetched nevertheless.
    ///
    /// # Errors
    /// Returns the first rule that cannot be used.
    pub fn compile(
        version: u64,
        rules: Vec<Arc<Rule>>,
        audit_share: f64,
    ) -> Result<RuleSet, RuleError> {
        let mut by_site: BTreeMap<&Site, Vec<&Rule>> = BTreeMap::new();
        for rule in &rules {
            by_site.entry(&rule.site).or_default().push(rule);
        }
        let mut sites = HashedMap::default();
        for (site, rules) in by_site {
            let compiled = SiteRules::compile(rules)?;
            sites.insert(xxh3_64(site.as_str().as_bytes()), (site.clone(), compiled));
        }
        let audit_per_million = (audit_share.clamp(0.0, 1.0) * MILLION as f64) as u32;
        Ok(RuleSet {
            version,
            rules,
            sites,
            audit_per_million,
            doubted: Vec::new(),
            proven: BTreeMap::new(),
        })
    }

    /// Names the rules whose last audits raised a doubt: half of what they suppress is fetched
    /// until the doubt is gone, or the rule.
    pub fn doubting(mut self, rules: impl IntoIterator<Item = RuleId>) -> RuleSet {
        self.doubted = rules.into_iter().collect();
        self.doubted.sort_unstable();
        self
    }

    /// Says in which places of its site a rule is proved: what it would suppress elsewhere is
    /// fetched, until that proves the place too.
    pub(crate) fn proven_in(
        mut self,
        places: impl IntoIterator<Item = (RuleId, BTreeSet<u64>)>,
    ) -> RuleSet {
        self.proven = places.into_iter().collect();
        self
    }

    fn is_unproven(&self, rule: RuleId, url: &CrawlUrl) -> bool {
        let proven = self.proven.get(&rule);
        proven.is_some_and(|proven| places(url).iter().any(|place| !proven.contains(place)))
    }

    /// Returns true where the last audits of a rule raised a doubt.
    pub fn doubts(&self, rule: RuleId) -> bool {
        self.doubted.binary_search(&rule).is_ok()
    }

    /// Returns the version; 0 before any rule was found.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the rules of this version.
    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// Returns a rule of this version.
    pub fn rule(&self, id: RuleId) -> Option<&Arc<Rule>> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// Returns the key of a URL. Canonizing a key returns the key.
    pub fn canonize<'a>(&self, url: &'a CrawlUrl) -> Canonized<'a> {
        if let Some(rules) = self.rules_of(url.host_str())
            && rules.may_touch(url)
            && let Some((key, applied)) = rewrite(rules, url)
        {
            return Canonized { key: Cow::Owned(key), rules: applied };
        }
        Canonized { key: Cow::Borrowed(url), rules: Vec::new() }
    }

    /// Returns true where the set has rules for the site of this host.
    pub fn knows(&self, host: &str) -> bool {
        self.rules_of(host).is_some()
    }

    /// Decides whether a URL that these rules suppress is fetched all the same, to measure them, or
    /// since it belongs to a place where one of them is not proved. The same URL meets the same
    /// answer under the same doubts, so that repeating a page changes nothing.
    pub fn audits(&self, url: &CrawlUrl, rules: &[RuleId]) -> bool {
        if rules.iter().any(|rule| self.is_unproven(*rule, url)) {
            return true;
        }
        let doubted = rules.iter().any(|rule| self.doubts(*rule));
        let per_million = if doubted { MILLION / 2 } else { u64::from(self.audit_per_million) };
        mix(xxh3_64(url.as_str().as_bytes())) % MILLION < per_million
    }

    /// Finds the rules of a host without knowing where its registrable domain begins: every suffix
    /// of labels is looked up, which costs less than the public suffix list.
    fn rules_of(&self, host: &str) -> Option<&SiteRules> {
        if self.sites.is_empty() {
            return None;
        }
        let mut suffix = host;
        loop {
            if let Some((site, rules)) = self.sites.get(&xxh3_64(suffix.as_bytes()))
                && site.as_str() == suffix
            {
                return Some(rules);
            }
            suffix = &suffix[memchr::memchr(b'.', suffix.as_bytes())? + 1..];
        }
    }
}

/// Rewrites to a fixed point, or returns `None` where nothing changes or none is found.
pub(crate) fn rewrite(rules: &SiteRules, url: &CrawlUrl) -> Option<(CrawlUrl, Vec<RuleId>)> {
    let mut applied = Vec::new();
    let mut key: Option<CrawlUrl> = None;
    let mut rounds = 0;
    loop {
        let mut form = Form::of(key.as_ref().unwrap_or(url));
        let before = applied.len();
        while rules.round(&mut form, &mut applied) {
            rounds += 1;
            if rounds >= ROUNDS_MAX {
                return None;
            }
        }
        if applied.len() == before {
            break;
        }
        let (built, same) = form.build()?;
        key = Some(built);
        if same {
            break;
        }
        // Parsing changed the text (a dot segment appeared): the rules see the normal form too.
    }
    key.filter(|key| key != url).map(|key| (key, applied))
}

/// The rule set in force; readers never wait.
#[derive(Debug, Default)]
pub struct LiveRules {
    current: ArcSwap<RuleSet>,
}

impl LiveRules {
    /// Starts with a rule set: an empty one, or what the last run left.
    pub fn new(set: RuleSet) -> Self {
        LiveRules { current: ArcSwap::from_pointee(set) }
    }

    /// Returns the set in force; take it once per page.
    pub fn snapshot(&self) -> Arc<RuleSet> {
        self.current.load_full()
    }

    /// Puts another set in force, for pages that begin from now on.
    pub fn publish(&self, set: RuleSet) {
        self.current.store(Arc::new(set));
    }
}
