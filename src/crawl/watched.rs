//! What the loop remembers for observers alone: rules as they stand, and what failed last.

use std::collections::{BTreeMap, VecDeque};

use super::clusters::Clusters;
use crate::clock::Timestamp;
use crate::dust::{Evidence, Rule, RuleEvent, RuleId, RuleState, Source};

/// Failures that are remembered.
const FAULTS_MAX: usize = 64;

/// Rules that are remembered; the first so many of a crawl.
const RULES_MAX: usize = 100_000;

/// A request that brought no page.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) at: Timestamp,
    pub(super) url: String,
    pub(super) what: String,
}

/// A rule as observers see it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KnownRule {
    pub(super) site: String,
    pub(super) text: String,
    pub(super) state: RuleState,
    pub(super) evidence: Evidence,
    /// Where it came from; unknown until the miner has shown it.
    pub(super) source: Option<Source>,
    /// When its state last changed.
    pub(super) changed: Timestamp,
    /// Fetches avoided, as the loop counts them.
    pub(super) saved: u64,
}

/// What is remembered.
#[derive(Debug, Default)]
pub(super) struct Watched {
    pub(super) rules: BTreeMap<RuleId, KnownRule>,
    pub(super) faults: VecDeque<Fault>,
    /// What is nearly the same.
    pub(super) clusters: Clusters,
    pub(super) audits: u64,
    /// Probe fetches of all rules.
    pub(super) probes: u64,
}

impl Watched {
    /// Takes in the rules of a book.
    pub(super) fn load_rules<'r>(&mut self, rules: impl Iterator<Item = &'r Rule>) {
        for rule in rules.take(RULES_MAX) {
            let known = KnownRule {
                site: rule.site.to_string(),
                text: rule.to_string(),
                state: rule.state,
                evidence: rule.evidence,
                source: Some(rule.source),
                changed: rule.changed,
                saved: rule.evidence.suppressed,
            };
            self.rules.insert(rule.id, known);
        }
    }

    /// Takes note of a step in the life of a rule.
    pub(super) fn note_rule(&mut self, event: &RuleEvent) {
        if let Some(known) = self.rules.get_mut(&event.rule) {
            (known.state, known.evidence) = (event.to, event.evidence);
            known.changed = event.at;
        } else if self.rules.len() < RULES_MAX {
            let known = KnownRule {
                site: event.site.to_string(),
                text: event.text.clone(),
                state: event.to,
                evidence: event.evidence,
                source: None,
                changed: event.at,
                saved: 0,
            };
            self.rules.insert(event.rule, known);
        }
    }

    /// Takes in what the miner shows; what rules save is counted here, and sooner.
    pub(super) fn refresh(&mut self, rules: &[Rule], probes: u64) {
        self.probes = probes;
        for rule in rules {
            if let Some(known) = self.rules.get_mut(&rule.id) {
                known.evidence = rule.evidence;
                known.source = Some(rule.source);
            }
        }
    }

    /// Counts a fetch that rules avoided.
    pub(super) fn note_suppressed(&mut self, rules: &[u64]) {
        for rule in rules {
            if let Some(known) = self.rules.get_mut(&RuleId(*rule)) {
                known.saved += 1;
            }
        }
    }

    /// Counts a URL that rules kept from being fetched and that is to be fetched after all.
    pub(super) fn note_restored(&mut self, rules: &[u64]) {
        for rule in rules {
            if let Some(known) = self.rules.get_mut(&RuleId(*rule)) {
                known.saved = known.saved.saturating_sub(1);
            }
        }
    }

    /// Counts a check of rules in force.
    pub(super) fn note_audit(&mut self) {
        self.audits += 1;
    }

    /// Remembers a request that brought no page.
    pub(super) fn note_fault(&mut self, fault: Fault) {
        if self.faults.len() == FAULTS_MAX {
            self.faults.pop_front();
        }
        self.faults.push_back(fault);
    }

    /// Returns the rules whose ids begin so.
    pub(super) fn rules_named(&self, start: &str) -> Vec<(RuleId, String)> {
        let named = self
            .rules
            .iter()
            .filter(|(id, _)| !start.is_empty() && id.to_string().starts_with(start));
        named.map(|(id, rule)| (*id, rule.text.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dust::{RuleKind, Scope};
    use crate::url::Site;

    #[test]
    fn what_the_miner_shows_is_its_evidence_and_not_what_was_saved() {
        let site = Site::new("example.org");
        let at = Timestamp::from_millis(7);
        let kind = RuleKind::PathCase;
        let mut rule = Rule::new(site, kind, Scope::default(), Source::Software, at);
        let mut watched = Watched::default();
        watched.load_rules([&rule].into_iter());
        watched.note_suppressed(&[rule.id.0, rule.id.0]);
        rule.evidence = Evidence { draws_same: 5, suppressed: 1, ..Evidence::default() };
        watched.refresh(std::slice::from_ref(&rule), 9);
        let known = &watched.rules[&rule.id];
        assert_eq!((known.evidence.draws_same, known.saved), (5, 2));
        assert_eq!((known.source, known.changed), (Some(Source::Software), at));
        assert_eq!(watched.probes, 9);
        let unknown = RuleId(1);
        rule.id = unknown;
        watched.refresh(&[rule], 9);
        assert!(!watched.rules.contains_key(&unknown), "only events bring rules in");
    }
}
