//! From the book to the rule set of the crawl: which rules it has, and how far each is proved.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::book::{Entry, RuleBook};
use super::live::{self, RuleSet};
use super::pairs::POOLED;
use super::rule::{RuleError, RuleKind, RuleState, Scope};
use super::validate::PLACES_MAX;

impl RuleBook {
    /// Returns the next rule set, if anything about the rules in force has changed.
    ///
    /// # Errors
    /// Returns a rule that cannot be used.
    pub fn take_rule_set(&mut self) -> Result<Option<RuleSet>, RuleError> {
        if !std::mem::take(&mut self.changed) {
            return Ok(None);
        }
        self.version += 1;
        self.rule_set().map(Some)
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
        let agreed = |entry: &Entry| {
            let all = pool.get(&(&entry.rule.rule, &entry.rule.scope)).copied().unwrap_or(0);
            entry.agreed() + (all - entry.agreed()) / POOLED
        };
        let kinds = self.record_of_kinds();
        let standings = entries().map(|entry| {
            let places = entry.proven.as_ref().filter(|places| places.len() < PLACES_MAX);
            let standing = live::Standing {
                on_trial: tried(entry),
                proven: places.cloned(),
                refused: entry.refused.clone(),
                audit_share: self
                    .by_pairs
                    .then(|| settings.share_after(agreed(entry), kinds.odds_wrong(&entry.rule))),
            };
            (entry.rule.id, standing)
        });
        Ok(set.standing(standings))
    }
}
