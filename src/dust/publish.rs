//! From the book to the rule set of the crawl: which rules it has, and how far each is proved.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::book::{Entry, RuleBook};
use super::live::{self, RuleSet};
use super::pairs::POOLED;
use super::proven::PLACES_MAX;
use super::rule::{RuleError, RuleId, RuleKind, RuleState, Scope};
use crate::url::{CrawlUrl, Host, Site};

/// Places of a whole host after which a name with and without `www.` is taken to be the same in
/// all others too: a server that tells names apart does so for all that it serves under them, or
/// for a few directories. One place in which that fails, and each is looked at again.
const ALIAS_PLACES_MAX: usize = 15;

/// Returns in how many places a rule must be proved before it is taken to hold in all.
fn places_max(entry: &Entry) -> usize {
    let is_alias = match &entry.rule.rule {
        RuleKind::HostAlias { from, to, from_path, to_path } => {
            let bare = |host: &Host| host.as_str().trim_start_matches("www.").to_owned();
            bare(from) == bare(to) && from_path == "/" && to_path == "/"
        }
        _ => false,
    };
    if is_alias && entry.refused.is_empty() { ALIAS_PLACES_MAX } else { PLACES_MAX }
}

impl RuleBook {
    /// Returns the next rule set, if anything about the rules in force has changed.
    ///
    /// # Errors
    /// Returns a rule that cannot be used.
    pub fn take_rule_set(&mut self) -> Result<Option<RuleSet>, RuleError> {
        if !std::mem::take(&mut self.changed) {
            return Ok(None);
        }
        if self.by_pairs {
            self.doubt()?;
        }
        let hiding = self.entries.values().filter(|entry| entry.rule.state.hides());
        let sites: BTreeSet<Site> = hiding.map(|entry| entry.rule.site.clone()).collect();
        sites.iter().for_each(|site| self.note_items(site));
        self.version += 1;
        self.rule_set().map(Some)
    }

    /// Returns pages of the sample that rules of a set give another key, each with that key, where
    /// the set is the first one with the rule: they were fetched before it was found, and stand for
    /// the other URLs of their keys. The first page of a key is named.
    pub fn take_new_keys(&mut self, set: &RuleSet) -> Vec<(CrawlUrl, CrawlUrl)> {
        let ids: BTreeSet<RuleId> = set.rules().iter().map(|rule| rule.id).collect();
        let new: BTreeSet<RuleId> = ids.difference(&self.told_keys).copied().collect();
        let found = set.rules().iter().filter(|rule| new.contains(&rule.id));
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
        let settings = &self.settings.validate;
        let tried = |entry: &Entry| self.by_pairs && entry.rule.state == RuleState::Shadow;
        let applied = |e: &&Entry| e.rule.state == RuleState::Enforced || tried(e);
        let entries = || self.entries.values().filter(applied);
        let rules = entries().map(|entry| Arc::new(entry.rule.clone())).collect();
        let set = RuleSet::compile(self.version, rules, settings.audit_share)?;
        let doubted = entries().filter(|entry| entry.audit.sum > 0.0);
        let set = set.doubting(doubted.map(|entry| entry.rule.id));
        let mut pool: BTreeMap<(&RuleKind, &Scope), u32> = BTreeMap::new();
        for entry in entries() {
            *pool.entry((&entry.rule.rule, &entry.rule.scope)).or_default() += entry.agreed();
        }
        let pooled = |entry: &Entry| {
            let all = pool.get(&(&entry.rule.rule, &entry.rule.scope)).copied().unwrap_or(0);
            (all - entry.agreed()) / POOLED
        };
        let records = self.record_of_shapes();
        let standings = entries().map(|entry| {
            let everywhere = entry.proven.as_ref().is_none_or(|p| p.places() >= places_max(entry));
            let (pooled, odds) = (pooled(entry), records.odds_wrong(entry));
            let agreed = entry.agreed() + pooled;
            let standing = live::Standing {
                on_trial: tried(entry),
                proven: entry.proven.clone(),
                everywhere,
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
        let items = self.items.iter().map(|(site, items)| (site.clone(), items.clone()));
        Ok(set.standing(standings).naming_items(items))
    }
}
