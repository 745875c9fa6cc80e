//! What rules in force are measured by: suppressed URLs that are fetched all the same.
//!
//! A place of the site in which a rule was not proved is opened by the first audit that agrees; one
//! that disagrees there says nothing about the places where the rule holds.

use super::book::RuleBook;
use super::evidence::Text;
use super::fetched::{Fetched, agreement};
use super::pairs::{ODDS_WRONG, POOLED};
use super::rule::{RuleId, RuleState};
use super::validate::{Finding, PLACES_MAX, places};
use crate::clock::Timestamp;
use crate::url::CrawlUrl;

/// Failures of which one may be an accident: a page that shows something else each time.
const FAILURES_MIN: u32 = 2;

impl RuleBook {
    /// Takes in the audit of a suppressed URL, given with its key: what it showed, and what its
    /// key's page had shown.
    pub fn audit_result(
        &mut self,
        rules: &[RuleId],
        (url, key): (&CrawlUrl, &CrawlUrl),
        audited: Fetched,
        known: Fetched,
        now: Timestamp,
    ) {
        let dead =
            matches!(known, Fetched::Gone | Fetched::Forbidden | Fetched::Page { junk: true, .. });
        let alive = matches!(audited, Fetched::Page { text: Text::Main(_), junk: false, .. });
        // A page that is known by a dead, forbidden or junk form alone is lost.
        let finding = if dead && alive { Finding::Failed } else { agreement(known, audited) };
        let kinds = self.record_of_kinds();
        let priors = rules.iter().map(|id| {
            let odds = self.entries.get(id).map_or(ODDS_WRONG, |e| kinds.odds_wrong(e));
            (self.agreed_elsewhere(*id) / POOLED, odds)
        });
        let priors: Vec<(u32, f64)> = priors.collect();
        let blamed = self.least_proved(rules).filter(|_| finding == Finding::Failed);
        for (id, (pooled, odds)) in rules.iter().zip(priors) {
            let Some(entry) = self.entries.get_mut(id) else { continue };
            if self.by_pairs && entry.rule.state == RuleState::Shadow {
                self.pair_result(*id, (url, key), finding, now);
                continue;
            }
            if entry.rule.state != RuleState::Enforced {
                continue;
            }
            let share = self.settings.validate.share_after(entry.agreed() + pooled, odds);
            match finding {
                Finding::Same => entry.rule.evidence.audits_same += 1,
                Finding::Failed => entry.rule.evidence.audits_failed += 1,
                Finding::Unclear => {}
            }
            // Published in steps: a share that is a little too large costs a fetch or two.
            let next = self.settings.validate.share_after(entry.agreed() + pooled, odds);
            self.changed |= self.by_pairs && next < share;
            if let Some(proven) = &mut entry.proven
                && proven.len() < PLACES_MAX
                && places(url, key).iter().any(|place| !proven.contains(place))
            {
                // A place in which the rule was not proved: there it may fail and hold elsewhere.
                let here = places(url, key);
                match finding {
                    Finding::Same => proven.extend(here),
                    Finding::Failed => {
                        entry.refused.extend(here.iter().filter(|at| !proven.contains(at)));
                    }
                    Finding::Unclear => continue,
                }
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
