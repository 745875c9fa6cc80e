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

#[cfg(test)]
mod tests {
    use super::super::book::{RuleBook, Settings};
    use super::super::rule::Source;
    use super::*;
    use crate::clock::Timestamp;

    fn rule(site: usize, name: &str) -> Rule {
        let kind = RuleKind::drop(vec![name.to_owned()], None);
        let site = Site::new(&format!("s{site}.test"));
        Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO)
    }

    fn ids<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<RuleId> {
        entries.map(|entry| entry.rule.id).collect()
    }

    /// Compares what is kept step by step with what a look at all rules says.
    fn check(entries: &mut Entries) {
        entries.count();
        let mut anew = Entries::default();
        entries.values().for_each(|entry| anew.insert(entry.kept()));
        anew.count();
        for entry in entries.values() {
            let rule = &entry.rule;
            let odds = |of: &Entries| of.records().odds_wrong(rule, false);
            assert_eq!(odds(entries), odds(&anew), "{rule}");
            let of_site = entries.values().filter(|other| other.rule.site == rule.site);
            assert_eq!(ids(entries.of_site(&rule.site)), ids(of_site));
            let like = entries
                .values()
                .filter(|other| other.rule.id != rule.id && other.rule.rule == rule.rule);
            assert_eq!(ids(entries.like(rule)), ids(like));
        }
        let sites: BTreeSet<&Site> = entries.values().map(|entry| &entry.rule.site).collect();
        assert!(entries.sites().eq(sites));
    }

    #[test]
    fn what_is_kept_by_site_is_what_all_rules_say() {
        let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
        let names = ["sid", "ref", "print", "sort"];
        let rules = (0..8).flat_map(|site| names.map(|name| rule(site, name)));
        let rules: Vec<Rule> = rules.collect();
        book.import(rules.clone());
        check(&mut book.entries);
        let mut lot = 7u64;
        let mut seen = [0; 5];
        for _ in 0..400 {
            lot =
                lot.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let rule = &rules[(lot >> 33) as usize % rules.len()];
            let what = (lot >> 50) as usize % seen.len();
            seen[what] += 1;
            match what {
                0 => drop(book.enforce(rule.id, "told", Timestamp::ZERO)),
                1 => book.retire(rule.id, "refuted", Timestamp::ZERO),
                2 => {
                    let entry = book.entries.get_mut(rule.id);
                    entry.into_iter().for_each(|entry| entry.rule.evidence.audits_failed += 1);
                }
                3 => {
                    let entry = book.entries.get_mut(rule.id);
                    entry.into_iter().for_each(|entry| entry.rule.evidence.draws_same += 2);
                }
                _ => {
                    let is_kept = |entry: &Entry| entry.rule.state != RuleState::Candidate;
                    book.entries.retain_of(&rule.site, is_kept);
                    book.import(vec![rule.clone()]);
                }
            }
            check(&mut book.entries);
        }
        assert!(seen.iter().all(|count| *count > 40), "{seen:?}");
    }

    /// Each site of a broad crawl was searched for what any other one had.
    #[test]
    fn a_site_is_shown_what_most_others_have() {
        let mut book = RuleBook::new(Settings::default()).proving_by_pairs();
        let rare = (0..9).map(|site| rule(site, &format!("own{site}")));
        let usual = (0..9).map(|site| rule(site, "sid"));
        let rules: Vec<Rule> = rare.chain(usual).collect();
        book.import(rules.clone());
        for rule in rules.iter().skip(1) {
            book.enforce(rule.id, "told", Timestamp::ZERO);
        }
        let shown = |site: &str, max| {
            let shown = book.entries.in_force_elsewhere(&Site::new(site), max);
            shown.into_iter().map(|(kind, _)| kind.clone()).collect::<Vec<_>>()
        };
        assert_eq!(shown("new.test", 1), [rules[9].rule.clone()]);
        assert_eq!(shown("new.test", 99).len(), 9, "one is not in force");
        assert_eq!(shown("s1.test", 99).len(), 8, "one is its own");
        assert_eq!(shown("new.test", 4).len(), 4);
    }
}
