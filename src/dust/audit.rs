//! What rules in force are measured by: suppressed URLs that are fetched all the same.
//!
//! A place of the site in which a rule was not proved is opened by the first audit that agrees; one
//! that disagrees there, or in a place that was opened before, says nothing about those where the
//! rule has often held: it is out of force where it failed, and on probation elsewhere. One that
//! fails in many places holds in none; nor does one that fails in its places as seldom as it might
//! anywhere, so that they do not explain it. One that was out of force in a place for what another
//! rule is blamed for, and agrees there, comes back.
//!
//! Where a rule has often agreed, one failure may be an accident: a page that shows something else
//! each time. So the URL that failed is fetched once more, and counts as a second failure if it
//! shows what it had shown: one page in a hundred that is another one is a page that is lost.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::book::{Entry, Probe, RuleBook};
use super::fetched::{Fetched, agreement};
use super::pairs::FORGIVES_AFTER;
use super::proven::{Places, places};
use super::rule::{RuleId, RuleState};
use super::shape::{ODDS_WRONG, POOLED, ShapeRecords};
use super::validate::{Finding, Settings};
use crate::clock::Timestamp;
use crate::url::{CrawlUrl, Site};

/// Failures of which one may be an accident: a page that shows something else each time.
const FAILURES_MIN: u32 = 2;

/// Failures that wait for a second look, or for its answer; overdue ones make room.
const LOOKS_MAX: usize = 64;

/// Pairs that agree elsewhere if a rule is to outlive its failure in one place.
const ELSEWHERE_MIN: u32 = 10;

/// Places in which a rule has failed after which it holds in none, unless so many pairs have agreed
/// for each of them.
const REFUSED_MAX: usize = 4;
const AGREED_FOR_EACH: usize = 4;

/// Documents that agree, for each that fails, in a place where a rule has failed, from which on the
/// place does not explain that: it would fail as seldom in others.
const AGREED_NO_EXCUSE: usize = 4;

/// Documents that agree in a place in which the rule was refused for what another one is blamed
/// for, and in which none fails, after which it is in force there again.
const ACQUITTED_MIN: usize = 8;

/// How many times as often as the rule that is blamed for a page another one must have agreed where
/// that lies to be above suspicion: as one that has agreed so often, at least.
const ABOVE_SUSPICION: u32 = 4;
const ABOVE_AT_LEAST: u32 = 8;

/// Documents of each kind that are told apart in one place.
const DOCUMENTS_MAX: usize = 64;

/// What was seen of a rule in a place that is taken for one in which it fails.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Excuse {
    agreed: BTreeSet<u64>,
    failed: BTreeSet<u64>,
    /// It fails there as seldom as it would anywhere.
    is_void: bool,
}

impl Excuse {
    /// Takes in what a pair of the place showed of a document, where the rule was never blamed in
    /// it; returns true if that acquits the rule.
    fn is_acquitted_by(&mut self, document: u64, finding: Finding, is_blamed: bool) -> bool {
        match finding {
            Finding::Same => _ = self.agreed.insert(document),
            Finding::Failed if is_blamed => _ = self.failed.insert(document),
            Finding::Failed => self.agreed.clear(),
            Finding::Unclear => {}
        }
        self.failed.is_empty() && self.agreed.len() >= ACQUITTED_MIN
    }

    /// Takes in what a pair of the place showed of a document; returns true if that makes it no
    /// excuse any more.
    fn is_voided_by(&mut self, document: u64, finding: Finding) -> bool {
        let documents = match finding {
            Finding::Same => &mut self.agreed,
            Finding::Failed => &mut self.failed,
            Finding::Unclear => return false,
        };
        if documents.len() < DOCUMENTS_MAX {
            documents.insert(document);
        }
        let is_void = self.agreed.len() >= AGREED_NO_EXCUSE * self.failed.len().max(1);
        is_void && !std::mem::replace(&mut self.is_void, true)
    }
}

/// A URL that is another page than the one that a rule in force takes it for, and the rule that is
/// blamed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    rule: RuleId,
    url: CrawlUrl,
    key: CrawlUrl,
    /// What its key's page had shown.
    known: Fetched,
}

/// Failures that may be accidents, until their URLs were looked at again.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    /// Those that nobody was asked to look at.
    waiting: Vec<Failure>,
    /// Those whose answer is awaited, by the number of the probe.
    asked: BTreeMap<u64, Failure>,
}

impl Doubts {
    fn add(&mut self, failure: Failure) {
        // That of a host which is parked never comes.
        if self.waiting.len() + self.asked.len() >= LOOKS_MAX {
            self.asked.pop_first();
        }
        if self.waiting.len() < LOOKS_MAX {
            self.waiting.push(failure);
        }
    }

    /// Returns the site of a probe that was asked for.
    pub(super) fn site_of(&self, probe: u64) -> Option<Site> {
        self.asked.get(&probe).map(|failure| failure.url.site())
    }

    /// Returns what a probe was asked for, once.
    pub(super) fn take(&mut self, probe: u64) -> Option<Failure> {
        self.asked.remove(&probe)
    }
}

impl Entry {
    /// Takes the rule out of force in some places where a document showed that it fails; in others
    /// it must prove itself in each. Where it is blamed, it is counted how often it does.
    fn refuse(&mut self, places: &[u64], blamed_by: Option<u64>) {
        self.refused.extend(places);
        if let Some(document) = blamed_by {
            for place in places {
                self.excuses.entry(*place).or_default().failed.insert(document);
            }
        }
        self.doubted = true;
    }

    /// Takes in what a pair showed in places of which the rule is refused in some, and puts it into
    /// force again where it was wrongly refused; returns true if it was in one of them.
    fn is_acquitted_in(
        &mut self,
        (url, here): (&CrawlUrl, &Places),
        (document, finding): (u64, Finding),
        is_blamed: bool,
    ) -> bool {
        let mut agreed = 0;
        for place in here.iter().filter(|place| self.refused.contains(place)) {
            let excuse = self.excuses.entry(*place).or_default();
            if excuse.failed.is_empty() && excuse.is_acquitted_by(document, finding, is_blamed) {
                agreed = excuse.agreed.len();
                self.excuses.remove(place);
            }
        }
        if agreed == 0 {
            return false;
        }
        let excuses = &self.excuses;
        self.refused.retain(|place| excuses.contains_key(place) || !here.contains(place));
        let has_failed = !self.refused.is_empty() || self.audit.blamed > 0 || self.retired > 0;
        self.doubted &= has_failed;
        if let Some(proven) = &mut self.proven {
            (0..agreed).for_each(|_| proven.add(url, here));
        }
        true
    }

    /// Returns true if the rule is out of force in one of some places.
    pub(super) fn is_refused_in(&self, here: &Places) -> bool {
        here.iter().any(|place| self.refused.contains(place))
    }

    /// Returns the part of the site in which a rule failed, if it holds in others.
    fn failed_part(&self, here: &Places) -> Option<u64> {
        let (part, agreed) = self.proven.as_ref()?.weak_part(here, ELSEWHERE_MIN)?;
        let may_be_accident = agreed >= FORGIVES_AFTER && self.audit.blamed + 1 < FAILURES_MIN;
        (!may_be_accident && self.refused.len() < self.refused_max()).then_some(part)
    }

    /// Takes the rule, which is blamed for a document, out of force in the part of the site where
    /// it failed; returns false if it holds in no others, or the failure may be an accident.
    fn gives_up_part(&mut self, here: &Places, document: u64) -> bool {
        let part = self.failed_part(here);
        if let Some(part) = part {
            self.refuse(&[part], Some(document));
        }
        part.is_some()
    }

    /// Returns how many pairs that agreed speak for a URL in these places.
    fn agreed_for(&self, url: &CrawlUrl, here: &Places) -> u32 {
        let proven = self.proven.as_ref();
        let has_failed = !self.refused.is_empty();
        let least = proven.and_then(|proven| proven.least_for(url, Some(here), has_failed));
        least.unwrap_or(self.agreed())
    }

    /// Returns true where what the rule loses now and then is dearer than all that it saves.
    fn costs_more_than_it_saves(&self, settings: &Settings) -> bool {
        let (evidence, blamed) = (&self.rule.evidence, self.audit.blamed);
        let audits = evidence.audits_same + evidence.audits_failed;
        blamed >= FAILURES_MIN && f64::from(blamed) * settings.loss_price >= f64::from(audits)
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
        if finding == Finding::Failed && shown.is_page() {
            self.miner.set_apart(url, key);
        }
        self.entries.count();
        let records = self.entries.records();
        let document = self.witness(url, shown);
        let priors = rules.iter().map(|id| {
            let odds = self
                .entries
                .get(*id)
                .map_or(ODDS_WRONG, |e| records.odds_wrong(&e.rule, e.doubted));
            (self.agreed_elsewhere(*id) / POOLED, odds)
        });
        let priors: Vec<(u32, f64)> = priors.collect();
        let has_failed = finding == Finding::Failed;
        let here = places(url, key, self.items_of(&url.site()));
        let blamed = has_failed.then(|| self.most_suspect(rules, (url, &here), records)).flatten();
        let least_above = blamed
            .and_then(|id| self.entries.get(id))
            .map(|entry| ABOVE_SUSPICION * entry.agreed_for(url, &here).max(ABOVE_AT_LEAST));
        let alone = has_failed && self.hiding(rules).count() == 1;
        // The key was made before a rule in force was refused here: that it led to another page
        // says nothing of a rule on trial beside it.
        let is_explained = has_failed
            && self
                .hiding(rules)
                .any(|entry| entry.rule.state == RuleState::Enforced && entry.is_refused_in(&here));
        if has_failed {
            let is_link = |id: &RuleId| {
                self.entries.get(*id).is_some_and(|entry| entry.rule.rule.is_self_link())
            };
            if rules.iter().any(is_link) {
                self.doubt_due.insert(url.site());
            }
            let blamed = blamed.map(|id| id.to_string());
            let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
            tracing::debug!(%url, %key, ?rules, blamed, "a form is another page than its rules say");
        }
        for (id, (pooled, odds)) in rules.iter().zip(priors) {
            let Some(entry) = self.entries.get_mut(*id) else { continue };
            if self.by_pairs && entry.rule.state == RuleState::Shadow {
                let finding = if is_explained { Finding::Unclear } else { finding };
                self.pair_result(*id, (url, key), (document, finding), now);
                continue;
            }
            if entry.rule.state != RuleState::Enforced {
                continue;
            }
            if let Some(place) = here.iter().find(|place| entry.refused.contains(place)) {
                let is_blamed = blamed == Some(*id);
                if entry.is_acquitted_in((url, &here), (document, finding), is_blamed) {
                    self.stale.insert(entry.rule.site.clone());
                    self.doubt_due.insert(entry.rule.site.clone());
                    continue;
                }
                let excuse = entry.excuses.get_mut(place).filter(|known| !known.failed.is_empty());
                if excuse.is_some_and(|excuse| excuse.is_voided_by(document, finding)) {
                    entry.audit.blamed += 1;
                    if entry.costs_more_than_it_saves(&self.settings.validate) {
                        self.retire(
                            *id,
                            "it fails now and then, in no part more than elsewhere",
                            now,
                        );
                    }
                }
                continue;
            }
            let share = |entry: &Entry| {
                let agreed = entry.agreed_for(url, &here).saturating_add(pooled);
                self.settings.validate.share_after(agreed, odds)
            };
            let before = share(entry);
            entry.audit.alone += u32::from(alone);
            match finding {
                Finding::Same => entry.rule.evidence.audits_same += 1,
                Finding::Failed => entry.rule.evidence.audits_failed += 1,
                Finding::Unclear => {}
            }
            let new = entry.proven.as_ref().map_or_else(Vec::new, |p| p.unproved_in(&here));
            let counts = finding == Finding::Same && entry.pairs.counts(document);
            let mut is_news = false;
            if let Some(proven) = &mut entry.proven
                && finding == Finding::Same
                && (counts || proven.is_new(url, &here))
            {
                is_news = !new.is_empty() || proven.lacks_value_of(url);
                proven.add(url, &here);
            }
            // Published in steps: a share that is a little too large costs a fetch or two.
            if is_news || self.by_pairs && share(entry) < before {
                self.stale.insert(entry.rule.site.clone());
            }
            if !new.is_empty() {
                // A place in which the rule was not proved: there it may fail and hold elsewhere.
                // So may each of several: lists were lost where only the most suspect one was
                // refused.
                if finding == Finding::Failed {
                    let is_blamed = blamed == Some(*id);
                    entry.refuse(&new, is_blamed.then_some(document));
                    self.stale.insert(entry.rule.site.clone());
                    if is_blamed && entry.refused.len() > entry.refused_max() {
                        self.retire(*id, "it fails in many places", now);
                    }
                }
                continue;
            }
            if self.by_pairs && blamed == Some(*id) && entry.gives_up_part(&here, document) {
                self.stale.insert(entry.rule.site.clone());
                continue;
            }
            let doubted = entry.audit.sum > 0.0;
            // Where several rules led to a wrong key, all are doubted but those for which far more
            // pairs speak than for the most suspect one, which is blamed.
            entry.audit.blamed += u32::from(blamed == Some(*id));
            let is_above = blamed != Some(*id)
                && least_above.is_some_and(|least| entry.agreed_for(url, &here) >= least);
            let heard = if has_failed && is_above { Finding::Unclear } else { finding };
            let settings = &self.settings.validate;
            let broken = entry.audit.record(heard, document, settings);
            let broken = broken || entry.costs_more_than_it_saves(settings);
            if self.by_pairs && blamed == Some(*id) && !broken {
                let (url, key) = (url.clone(), key.clone());
                self.doubts.add(Failure { rule: *id, url, key, known: shown });
            }
            if doubted != (entry.audit.sum > 0.0) {
                self.stale.insert(entry.rule.site.clone());
            }
            if broken {
                self.retire(*id, "audits no longer agree", now);
            }
        }
    }

    /// Returns up to `max` URLs of a site that failed and are to be looked at again.
    pub(super) fn second_looks(&mut self, site: &Site, max: usize) -> Vec<Probe> {
        let waiting = &mut self.doubts.waiting;
        let due = waiting.extract_if(.., |failure| failure.url.site() == *site).take(max);
        let due: Vec<Failure> = due.collect();
        let ask = |failure: Failure| {
            let id = self.number_probe(site, 1);
            let (rule, url) = (failure.rule, failure.url.clone());
            if let Some(entry) = self.entries.get_mut(rule) {
                entry.rule.evidence.probes += 1;
            }
            self.doubts.asked.insert(id, failure);
            Probe { id, rule, stratum: String::new(), url, reference: None }
        };
        due.into_iter().map(ask).collect()
    }

    /// Takes in what a URL that failed shows at a second look. Where it is another page again, and
    /// the same one, the rule fails there, and that counts as the second failure.
    pub(super) fn looked_again(&mut self, failure: &Failure, shown: Fetched, now: Timestamp) {
        let Failure { rule, url, key, known } = failure;
        let is_other = shown.is_page() && agreement(*known, shown) == Finding::Failed;
        let changes =
            self.known(url).is_some_and(|first| agreement(first, shown) == Finding::Failed);
        let here = places(url, key, self.items_of(&url.site()));
        let document = self.witness(url, *known);
        let Some(entry) = self.entries.get_mut(*rule) else { return };
        let is_refused = entry.is_refused_in(&here);
        // It failed by an accident, which is not to count where another one happens.
        if agreement(*known, shown) == Finding::Same {
            entry.audit.blamed = entry.audit.blamed.saturating_sub(1);
        }
        if !is_other || changes || is_refused || entry.rule.state != RuleState::Enforced {
            return;
        }
        if entry.gives_up_part(&here, document) {
            self.stale.insert(url.site());
            return;
        }
        entry.audit.blamed += 1;
        if entry.costs_more_than_it_saves(&self.settings.validate) {
            self.retire(*rule, &format!("{url} is another page, at two looks"), now);
        }
    }

    /// Returns which of these rules has most likely led a URL to a wrong key: what has failed
    /// before where nothing else could have, or else what has agreed least often in its places.
    fn most_suspect(
        &self,
        rules: &[RuleId],
        (url, here): (&CrawlUrl, &Places),
        records: &ShapeRecords,
    ) -> Option<RuleId> {
        let hazard = |entry: &Entry| {
            let odds = records.odds_wrong(&entry.rule, entry.doubted);
            let failed = f64::from(entry.audit.alone) + odds;
            failed / (f64::from(entry.agreed_for(url, here)) + 1.0)
        };
        let most = self.hiding(rules).max_by(|a, b| hazard(a).total_cmp(&hazard(b)));
        most.map(|entry| entry.rule.id)
    }

    fn hiding(&self, rules: &[RuleId]) -> impl Iterator<Item = &Entry> {
        let entries = rules.iter().filter_map(|id| self.entries.get(*id));
        entries.filter(|entry| entry.rule.state.hides())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_whose_answer_never_comes_leave_room_for_others() {
        let failure = |n: usize| {
            let url = CrawlUrl::parse(&format!("http://a.example/{n}?b=1")).unwrap();
            Failure { rule: RuleId(1), key: url.clone(), url, known: Fetched::Gone }
        };
        let mut doubts = Doubts::default();
        for n in 0..3 * LOOKS_MAX {
            doubts.add(failure(n));
            let asked = doubts.waiting.pop().expect("there is room");
            doubts.asked.insert(n as u64, asked);
        }
        assert!(doubts.asked.len() <= LOOKS_MAX);
        assert!(doubts.take(0).is_none(), "it was overdue");
        assert!(doubts.take(3 * LOOKS_MAX as u64 - 1).is_some());
    }
}
