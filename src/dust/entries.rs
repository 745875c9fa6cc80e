//! The rules of a book: found by id, by site and by what they do, and counted by shape.
//!
//! A crawl of many sites has many thousands of rules, and each step concerns those of one site. So
//! they are kept by site, and how far rules have been right is counted anew for those sites alone
//! of which a rule was handed out to be changed.

use std::collections::{BTreeMap, BTreeSet};

use xxhash_rust::xxh3::xxh3_64;

use super::book::Entry;
use super::prior;
use super::rule::{Rule, RuleId, RuleKind, RuleState, Scope};
use super::shape::{Shape, ShapeRecords};
use crate::url::Site;

/// All rules of a book, each with what is known of it.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    all: BTreeMap<RuleId, Entry>,
    of_site: BTreeMap<Site, BTreeSet<RuleId>>,
    /// Rules that do the same wherever they are, by a hash of what they do.
    alike: BTreeMap<u64, BTreeSet<RuleId>>,
    records: ShapeRecords,
    /// Sites whose rules may have changed since they were counted.
    uncounted: BTreeSet<Site>,
    /// Sites whose rules may have changed since they were last kept.
    touched: BTreeSet<Site>,
}

/// Returns a hash of what a rule does, wherever it does it.
fn deed(rule: &Rule) -> u64 {
    xxh3_64(&serde_json::to_vec(&(&rule.rule, &rule.scope)).unwrap_or_default())
}

impl Entries {
    pub(crate) fn contains(&self, id: RuleId) -> bool {
        self.all.contains_key(&id)
    }

    pub(crate) fn get(&self, id: RuleId) -> Option<&Entry> {
        self.all.get(&id)
    }

    /// Returns a rule to be changed: that of its site is to be kept and counted anew. What it does
    /// and its site stay as they are, since its id is made of them.
    pub(crate) fn get_mut(&mut self, id: RuleId) -> Option<&mut Entry> {
        let entry = self.all.get_mut(&id)?;
        let site = &entry.rule.site;
        if !self.touched.contains(site) {
            self.touched.insert(site.clone());
        }
        if !self.uncounted.contains(site) {
            self.uncounted.insert(site.clone());
        }
        Some(entry)
    }

    /// Puts a rule in, in place of the one with its id.
    pub(crate) fn insert(&mut self, entry: Entry) {
        let (id, site) = (entry.rule.id, entry.rule.site.clone());
        self.alike.entry(deed(&entry.rule)).or_default().insert(id);
        self.of_site.entry(site.clone()).or_default().insert(id);
        self.all.insert(id, entry);
        self.touched.insert(site.clone());
        self.uncounted.insert(site);
    }

    /// Takes out those rules of a site of which this is not true.
    pub(crate) fn retain_of(&mut self, site: &Site, is_kept: impl Fn(&Entry) -> bool) {
        let gone: Vec<RuleId> =
            self.of_site(site).filter(|e| !is_kept(e)).map(|e| e.rule.id).collect();
        for id in gone {
            let Some(entry) = self.all.remove(&id) else { continue };
            remove_from(&mut self.alike, &deed(&entry.rule), id);
            remove_from(&mut self.of_site, site, id);
            self.touched.insert(site.clone());
            self.uncounted.insert(site.clone());
        }
    }

    /// Returns all rules in the order of their ids.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Entry> {
        self.all.values()
    }

    /// Returns the sites that have rules.
    pub(crate) fn sites(&self) -> impl Iterator<Item = &Site> {
        self.of_site.keys()
    }

    /// Returns the rules of a site in the order of their ids.
    pub(crate) fn of_site(&self, site: &Site) -> impl Iterator<Item = &Entry> {
        self.of_site.get(site).into_iter().flatten().filter_map(|id| self.all.get(id))
    }

    /// Returns the rules of other sites that do what a rule does.
    pub(crate) fn like<'a>(&'a self, rule: &'a Rule) -> impl Iterator<Item = &'a Entry> {
        let ids = self.alike.get(&deed(rule)).into_iter().flatten();
        let others = ids.filter(|id| **id != rule.id).filter_map(|id| self.all.get(id));
        others.filter(|other| other.rule.rule == rule.rule && other.rule.scope == rule.scope)
    }

    /// Returns what rules in force on other sites do that may hold on this one as well: up to
    /// `max`, those first that are in force on the most sites.
    pub(crate) fn in_force_elsewhere(&self, site: &Site, max: usize) -> Vec<(&RuleKind, &Scope)> {
        let in_force = |entry: &&Entry| {
            let rule = &entry.rule;
            rule.state == RuleState::Enforced && rule.site != *site && prior::is_portable(rule)
        };
        let groups = self.alike.values().filter_map(|ids| {
            let mut entries = ids.iter().filter_map(|id| self.all.get(id)).filter(in_force);
            let first = &entries.next()?.rule;
            Some((entries.count(), first))
        });
        let mut groups: Vec<(usize, &Rule)> = groups.collect();
        groups.sort_by_key(|(count, rule)| (std::cmp::Reverse(*count), rule.id));
        groups.into_iter().take(max).map(|(_, rule)| (&rule.rule, &rule.scope)).collect()
    }

    /// Notes that what belongs to a site is to be kept anew.
    pub(crate) fn touch(&mut self, site: &Site) {
        if !self.touched.contains(site) {
            self.touched.insert(site.clone());
        }
    }

    /// Returns the sites of which something is to be kept anew, each once.
    pub(crate) fn take_touched(&mut self) -> BTreeSet<Site> {
        std::mem::take(&mut self.touched)
    }

    /// Counts how far rules of each shape have been right, as [`Entries::records`] tells it.
    pub(crate) fn count(&mut self) {
        for site in std::mem::take(&mut self.uncounted) {
            let rules = self.of_site.get(&site).into_iter().flatten();
            let rules = rules.filter_map(|id| self.all.get(id));
            let verdicts = rules.filter_map(|e| Some((Shape::of(&e.rule.rule), e.verdict()?)));
            self.records.replace(&site, verdicts);
        }
    }

    /// Returns how far rules of each shape had been right when that was last counted.
    pub(crate) fn records(&self) -> &ShapeRecords {
        &self.records
    }
}

fn remove_from<K: Ord>(index: &mut BTreeMap<K, BTreeSet<RuleId>>, key: &K, id: RuleId) {
    if let Some(ids) = index.get_mut(key) {
        ids.remove(&id);
        if ids.is_empty() {
            index.remove(key);
        }
    }
}
