//! What rules in force are measured by: suppressed URLs that are fetched all the same.
//!
//! A place of the site in which a rule was not proved is opened by the first audit that agrees; one
//! that disagrees there, or in a place that was opened before, says nothing about those where the
//! rule has often held: it is out of force where it failed, and on probation elsewhere. One that
//! fails in many places holds in none.

use super::book::{Entry, RuleBook};
use super::fetched::Fetched;
use super::pairs::{FORGIVES_AFTER, POOLED};
use super::proven::{PLACES_MAX, Places, places};
use super::rule::{RuleId, RuleState};
use super::shape::ODDS_WRONG;
use super::validate::Finding;
use crate::clock::Timestamp;
use crate::url::CrawlUrl;

/// Failures of which one may be an accident: a page that shows something else each time.
const FAILURES_MIN: u32 = 2;

/// Pairs that agree elsewhere if a rule is to outlive its failure in one place.
const ELSEWHERE_MIN: u32 = 10;

/// Places in which a rule has failed after which it holds in none, unless so many pairs have agreed
/// for each of them.
const REFUSED_MAX: usize = 4;
const AGREED_FOR_EACH: usize = 4;

impl Entry {
    /// Takes the rule out of force in some places; in others it must prove itself in each.
    fn refuse(&mut self, places: impl IntoIterator<Item = u64>) {
        self.refused.extend(places);
        self.doubted = true;
    }

    /// Returns the part of the site in which a rule failed, if it holds in others.
    fn failed_part(&self, here: &Places) -> Option<u64> {
        let (part, agreed) = self.proven.as_ref()?.weak_part(here, ELSEWHERE_MIN)?;
        let may_be_accident = agreed >= FORGIVES_AFTER && self.audit.blamed + 1 < FAILURES_MIN;
        (!may_be_accident && self.refused.len() < self.refused_max()).then_some(part)
    }

    /// Returns in how many places the rule may fail.
    fn refused_max(&self) -> usize {
        REFUSED_MAX.max(self.agreed() as usize / AGREED_FOR_EACH)
    }
}

impl RuleBook {
    /// Takes in the audit of a suppressed URL, given with its key: what its key's page had shown,
    /// and what the URL itself says beside it.
    pub fn audit_result(
        &mut self,
        rules: &[RuleId],
        (url, key): (&CrawlUrl, &CrawlUrl),
        (shown, finding): (Fetched, Finding),
        now: Timestamp,
    ) {
        let records = self.record_of_shapes();
        let document = self.witness(url, shown);
        let priors = rules.iter().map(|id| {
            let odds = self.entries.get(id).map_or(ODDS_WRONG, |e| records.odds_wrong(e));
            (self.agreed_elsewhere(*id) / POOLED, odds)
        });
        let priors: Vec<(u32, f64)> = priors.collect();
        let blamed = self.least_proved(rules).filter(|_| finding == Finding::Failed);
        for (id, (pooled, odds)) in rules.iter().zip(priors) {
            let Some(entry) = self.entries.get_mut(id) else { continue };
            if self.by_pairs && entry.rule.state == RuleState::Shadow {
                self.pair_result(*id, (url, key), (document, finding), now);
                continue;
            }
            if entry.rule.state != RuleState::Enforced {
                continue;
            }
            let here = places(url, key);
            if here.iter().any(|place| entry.refused.contains(place)) {
                continue;
            }
            let share = |entry: &Entry| {
                let proven = entry.proven.as_ref();
                let agreed = proven.and_then(|proven| proven.least_for(url, Some(&here)));
                let agreed = agreed.unwrap_or(entry.agreed()).saturating_add(pooled);
                self.settings.validate.share_after(agreed, odds)
            };
            let before = share(entry);
            match finding {
                Finding::Same => entry.rule.evidence.audits_same += 1,
                Finding::Failed => entry.rule.evidence.audits_failed += 1,
                Finding::Unclear => {}
            }
            let new = entry.proven.as_ref().map_or_else(Vec::new, |p| p.unproved_in(&here));
            let has_room = entry.proven.as_ref().is_some_and(|p| p.places() < PLACES_MAX);
            let counts = finding == Finding::Same && entry.pairs.counts(document);
            if let Some(proven) = &mut entry.proven
                && finding == Finding::Same
                && (new.is_empty() || has_room)
                && (counts || proven.is_new(url, key))
            {
                self.changed |= !new.is_empty() || proven.unproven_values(url).next().is_some();
                proven.add(url, key);
            }
            // Published in steps: a share that is a little too large costs a fetch or two.
            self.changed |= self.by_pairs && share(entry) < before;
            if !new.is_empty() && has_room {
                // A place in which the rule was not proved: there it may fail and hold elsewhere.
                if finding == Finding::Failed {
                    entry.refuse(new);
                    self.changed = true;
                    if blamed == Some(*id) && entry.refused.len() > entry.refused_max() {
                        self.retire(*id, "it fails in many places", now);
                    }
                }
                continue;
            }
            if self.by_pairs
                && finding == Finding::Failed
                && blamed == Some(*id)
                && let Some(part) = entry.failed_part(&here)
            {
                entry.refuse([part]);
                self.changed = true;
                continue;
            }
            let doubted = entry.audit.sum > 0.0;
            // Where several rules led to a wrong key, all are doubted, and the one that was right
            // least often is blamed. What it loses now and then is dearer than all that it saves.
            entry.audit.blamed += u32::from(blamed == Some(*id));
            let evidence = &entry.rule.evidence;
            let audits = evidence.audits_same + evidence.audits_failed;
            let costs = entry.audit.blamed >= FAILURES_MIN
                && f64::from(entry.audit.blamed) * self.settings.validate.loss_price
                    >= f64::from(audits);
            let broken = entry.audit.record(finding, &self.settings.validate) || costs;
            self.changed |= doubted != (entry.audit.sum > 0.0);
            if broken {
                self.retire(*id, "audits no longer agree", now);
            }
        }
    }

    /// Returns which of these rules has agreed least often.
    fn least_proved(&self, rules: &[RuleId]) -> Option<RuleId> {
        let entries = rules.iter().filter_map(|id| self.entries.get(id));
        let applied = entries.filter(|entry| entry.rule.state.hides());
        applied.min_by_key(|entry| entry.agreed()).map(|entry| entry.rule.id)
    }
}
