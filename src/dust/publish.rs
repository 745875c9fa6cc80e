//! From the book to the rule set of the crawl: which rules it has, and how far each is proved.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::book::{Entry, RuleBook};
use super::live::{self, RuleSet};
use super::rule::{RuleError, RuleId, RuleKind, RuleState};
use super::shape::POOLED;
use crate::url::{CrawlUrl, Host, Site};

/// Places of a whole host after which a name with and without `www.` is taken to be the same in
/// all others too: a server that tells names apart does so for all that it serves under them, or
/// for a few directories. One place in which that fails, and each is looked at again.
const ALIAS_PLACES_MAX: usize = 15;

/// Every so many versions the whole set is made anew: in between, the rules of a site are told what
/// other sites have shown of rules like them when something is new on their own.
const WHOLE_EVERY: u64 = 64;

/// Returns true where a rule is proved in so many places that it is taken to hold in all: where two
/// names of one host are one, they are everywhere. Of other rules each kind of places is asked for
/// itself.
fn is_proved_everywhere(entry: &Entry) -> bool {
    let Some(proven) = &entry.proven else { return true };
    let is_alias = match &entry.rule.rule {
        RuleKind::HostAlias { from, to, from_path, to_path } => {
            let bare = |host: &Host| host.as_str().trim_start_matches("www.").to_owned();
            bare(from) == bare(to) && from_path == "/" && to_path == "/"
        }
        _ => false,
    };
    is_alias && entry.refused.is_empty() && proven.places() >= ALIAS_PLACES_MAX
}

impl RuleBook {
    /// Returns the next rule set, if anything about the rules in force has changed.
    ///
    /// # Errors
    /// Returns a rule that cannot be used.
    pub fn take_rule_set(&mut self) -> Result<Option<RuleSet>, RuleError> {
        let is_whole_due = std::mem::take(&mut self.is_whole_due);
        if self.stale.is_empty() && !is_whole_due {
            return Ok(None);
        }
        if self.by_pairs {
            self.doubt()?;
        }
        let stale = std::mem::take(&mut self.stale);
        self.version += 1;
        let is_whole = is_whole_due || self.version.is_multiple_of(WHOLE_EVERY);
        let last = self.published.take().filter(|_| !is_whole);
        let hides = |site: &&Site| self.entries.of_site(site).any(|e| e.rule.state.hides());
        let sites: Vec<Site> = match last {
            Some(_) => stale.iter().filter(hides).cloned().collect(),
            None => self.entries.sites().filter(hides).cloned().collect(),
        };
        sites.iter().for_each(|site| self.note_items(site));
        self.entries.count();
        let set = match last {
            Some(last) => self.next_set(last, &stale)?,
            None => self.rule_set()?,
        };
        self.published = Some(set.clone());
        Ok(Some(set))
    }

    /// Returns pages of the sample that rules of a set give another key, each with that key, where
    /// the set is the first one with the rule: they were fetched before it was found, and stand for
    /// the other URLs of their keys. The first page of a key is named.
    pub fn take_new_keys(&mut self, set: &RuleSet) -> Vec<(CrawlUrl, CrawlUrl)> {
        let ids: BTreeSet<RuleId> = set.rules().map(|rule| rule.id).collect();
        let new: BTreeSet<RuleId> = ids.difference(&self.told_keys).copied().collect();
        let found = set.rules().filter(|rule| new.contains(&rule.id));
        let sites: BTreeSet<&Site> = found.map(|rule| &rule.site).collect();
        let windows = sites.into_iter().filter_map(|site| self.miner.window(site));
        let mut keys: BTreeMap<CrawlUrl, CrawlUrl> = BTreeMap::new();
        for page in windows.flat_map(|window| &window.pages) {
            let Ok(url) = CrawlUrl::parse(&page.url) else { continue };
            let canonized = set.canonize(&url);
            if canonized.rules.iter().any(|id| new.contains(id)) {
                let key = canonized.key.into_owned();
                keys.entry(key).or_insert(url);
            }
        }
        self.told_keys = ids;
        keys.into_iter().map(|(key, url)| (url, key)).collect()
    }

    /// Compiles the rules in force, and those on trial by pairs, under the present version.
    ///
    /// # Errors
    /// Returns a rule that cannot be used.
    pub fn rule_set(&self) -> Result<RuleSet, RuleError> {
        let empty = RuleSet::compile(self.version, Vec::new(), self.settings.validate.audit_share)?;
        let applied = self.entries.values().filter(|entry| self.is_applied(entry));
        self.next_set(empty, &applied.map(|entry| entry.rule.site.clone()).collect())
    }

    /// Returns the set that comes after another one, where some sites have changed.
    fn next_set(&self, last: RuleSet, stale: &BTreeSet<Site>) -> Result<RuleSet, RuleError> {
        let mut set = last;
        let mut entries: Vec<&Entry> = Vec::new();
        for site in stale {
            let applied = || self.entries.of_site(site).filter(|entry| self.is_applied(entry));
            let rules = applied().map(|entry| Arc::new(entry.rule.clone())).collect();
            set = set.with_site(self.version, site, rules)?;
            entries.extend(applied());
        }
        let items =
            stale.iter().filter_map(|site| Some((site.clone(), self.items.get(site)?.clone())));
        Ok(self.told_of(set, &entries).naming_items(items))
    }

    fn is_applied(&self, entry: &Entry) -> bool {
        entry.rule.state == RuleState::Enforced || self.is_tried(entry)
    }

    fn is_tried(&self, entry: &Entry) -> bool {
        self.by_pairs && entry.rule.state == RuleState::Shadow
    }

    /// Tells a set how far some of its rules are proved.
    fn told_of(&self, set: RuleSet, entries: &[&Entry]) -> RuleSet {
        let settings = &self.settings.validate;
        let pooled = |entry: &Entry| self.agreed_elsewhere(entry.rule.id) / POOLED;
        let records = self.entries.records();
        let standings = entries.iter().map(|entry| {
            let (pooled, odds) = (pooled(entry), records.odds_wrong(&entry.rule, entry.doubted));
            let agreed = entry.agreed() + pooled;
            let standing = live::Standing {
                on_trial: self.is_tried(entry),
                proven: entry.proven.clone(),
                everywhere: is_proved_everywhere(entry),
                refused: entry.refused.clone(),
                audit_share: self.by_pairs.then(|| settings.share_after(agreed, odds)),
                shares: if self.by_pairs {
                    settings.shares_after(pooled, odds)
                } else {
                    Vec::new()
                },
                agreed,
                odds: self.by_pairs.then_some(odds),
            };
            (entry.rule.id, standing)
        });
        let doubted = entries.iter().filter(|entry| entry.audit.sum > 0.0);
        let doubted = doubted.map(|entry| entry.rule.id);
        set.standing(standings).doubting(doubted)
    }
}
