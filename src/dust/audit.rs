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
use super::shape::{ODDS_WRONG, POOLED};
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

/// What all rules of an audit hear of it.
struct Heard<'a> {
    url: &'a CrawlUrl,
    key: &'a CrawlUrl,
    /// Where the URL lies.
    here: Places,
    /// What its key's page had shown.
    shown: Fetched,
    /// The document that it is.
    document: u64,
    finding: Finding,
    /// The rule that is blamed, if it failed.
    blamed: Option<RuleId>,
    /// Pairs that have agreed where it lies for a rule that is above suspicion beside that one.
    least_above: Option<u32>,
    /// It failed, and one rule alone led to its key.
    alone: bool,
    /// It failed, and the key was made before a rule in force was refused where it lies: that says
    /// nothing of a rule on trial beside it.
    is_explained: bool,
}

/// How far a rule is trusted for what is known of others.
#[derive(Clone, Copy)]
struct Trusted {
    /// What agreed elsewhere, in pairs.
    pooled: u32,
    /// The odds that a rule like it is wrong.
    odds: f64,
}

impl Entry {
    /// Counts an audit where the rule is in force, in a place that is new to it or not; returns
    /// true if it proves the rule in such a place, or for a value that was not proved.
    fn counts(&mut self, heard: &Heard<'_>, is_new_place: bool) -> bool {
        self.audit.alone += u32::from(heard.alone);
        match heard.finding {
            Finding::Same => self.rule.evidence.audits_same += 1,
            Finding::Failed => self.rule.evidence.audits_failed += 1,
            Finding::Unclear => {}
        }
        if heard.finding != Finding::Same {
            return false;
        }
        let counts = self.pairs.counts(heard.document);
        let Some(proven) = &mut self.proven else { return false };
        if !counts && !proven.is_new(heard.url, &heard.here) {
            return false;
        }
        let is_news = is_new_place || proven.lacks_value_of(heard.url);
        proven.add(heard.url, &heard.here);
        is_news
    }

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
    /// Takes in that a URL is another page than the one that stands for it: no rule that makes both
    /// one is found. Both are to be given as they were fetched: of their key, which need not be
    /// there, nothing is known.
    pub fn set_apart(&mut self, url: &CrawlUrl, stands: &CrawlUrl) {
        self.miner.set_apart(url, stands);
    }

    /// Takes in the audit of a suppressed URL, given with its key: what its key's page had shown,
    /// and what the URL itself says beside it.
    pub fn audit_result(
        &mut self,
        rules: &[RuleId],
        (url, key): (&CrawlUrl, &CrawlUrl),
        (shown, finding): (Fetched, Finding),
        now: Timestamp,
    ) {
        self.entries.count();
        let heard = self.heard(rules, (url, key), (shown, finding));
        let trusts: Vec<Trusted> = rules.iter().map(|id| self.trusted(*id)).collect();
        if finding == Finding::Failed {
            self.note_failure(rules, &heard);
        }
        for (id, trusted) in rules.iter().zip(trusts) {
            self.hear(*id, trusted, &heard, now);
        }
    }

    /// Returns what all rules of an audit are to hear of it.
    fn heard<'a>(
        &self,
        rules: &[RuleId],
        (url, key): (&'a CrawlUrl, &'a CrawlUrl),
        (shown, finding): (Fetched, Finding),
    ) -> Heard<'a> {
        let here = places(url, key, self.items_of(&url.site()));
        let has_failed = finding == Finding::Failed;
        let is_refused =
            |entry: &Entry| entry.rule.state == RuleState::Enforced && entry.is_refused_in(&here);
        let is_explained = has_failed && self.hiding(rules).any(is_refused);
        let blamed = has_failed.then(|| self.most_suspect(rules, (url, &here))).flatten();
        let blamed = blamed.map(|entry| {
            let agreed = entry.agreed_for(url, &here).max(ABOVE_AT_LEAST);
            (entry.rule.id, ABOVE_SUSPICION * agreed)
        });
        Heard {
            document: self.witness(url, shown),
            alone: has_failed && self.hiding(rules).count() == 1,
            blamed: blamed.map(|(id, _)| id),
            least_above: blamed.map(|(_, least)| least),
            url,
            key,
            here,
            shown,
            finding,
            is_explained,
        }
    }

    /// Returns how far a rule is trusted for what is known of others.
    fn trusted(&self, id: RuleId) -> Trusted {
        let records = self.entries.records();
        let odds = self.entries.get(id).map(|entry| records.odds_wrong(&entry.rule, entry.doubted));
        Trusted { pooled: self.agreed_elsewhere(id) / POOLED, odds: odds.unwrap_or(ODDS_WRONG) }
    }

    fn note_failure(&mut self, rules: &[RuleId], heard: &Heard<'_>) {
        let Heard { url, key, .. } = heard;
        let mut entries = rules.iter().filter_map(|id| self.entries.get(*id));
        if entries.any(|entry| entry.rule.rule.is_self_link()) {
            self.doubt_due.insert(url.site());
        }
        let blamed = heard.blamed.map(|id| id.to_string());
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        tracing::debug!(%url, %key, ?rules, blamed, "a form is another page than its rules say");
    }

    /// Lets a rule hear of an audit, as its state has it.
    fn hear(&mut self, id: RuleId, trusted: Trusted, heard: &Heard<'_>, now: Timestamp) {
        let Some(entry) = self.entries.get(id) else { return };
        match entry.rule.state {
            RuleState::Shadow if self.by_pairs => {
                let finding = if heard.is_explained { Finding::Unclear } else { heard.finding };
                self.pair_result(id, (heard.url, heard.key), (heard.document, finding), now);
            }
            RuleState::Enforced => {
                match heard.here.iter().find(|place| entry.refused.contains(place)).copied() {
                    Some(place) => self.hear_where_refused(id, place, heard, now),
                    None => self.hear_in_force(id, trusted, heard, now),
                }
            }
            _ => {}
        }
    }

    /// Lets a rule hear of an audit in a place where it is out of force.
    fn hear_where_refused(&mut self, id: RuleId, place: u64, heard: &Heard<'_>, now: Timestamp) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let (document, finding) = (heard.document, heard.finding);
        let pair = (heard.url, &heard.here);
        if entry.is_acquitted_in(pair, (document, finding), heard.blamed == Some(id)) {
            self.stale.insert(entry.rule.site.clone());
            self.doubt_due.insert(entry.rule.site.clone());
            return;
        }
        let excuse = entry.excuses.get_mut(&place).filter(|known| !known.failed.is_empty());
        if excuse.is_some_and(|excuse| excuse.is_voided_by(document, finding)) {
            entry.audit.blamed += 1;
            if entry.costs_more_than_it_saves(&self.settings.validate) {
                self.retire(id, "it fails now and then, in no part more than elsewhere", now);
            }
        }
    }

    /// Lets a rule hear of an audit where it is in force.
    fn hear_in_force(&mut self, id: RuleId, trusted: Trusted, heard: &Heard<'_>, now: Timestamp) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let (url, here) = (heard.url, &heard.here);
        let share = |entry: &Entry| {
            let agreed = entry.agreed_for(url, here).saturating_add(trusted.pooled);
            self.settings.validate.share_after(agreed, trusted.odds)
        };
        let before = share(entry);
        let new = entry.proven.as_ref().map_or_else(Vec::new, |p| p.unproved_in(here));
        let is_news = entry.counts(heard, !new.is_empty());
        // Published in steps: a share that is a little too large costs a fetch or two.
        if is_news || self.by_pairs && share(entry) < before {
            self.stale.insert(entry.rule.site.clone());
        }
        let is_blamed = heard.blamed == Some(id);
        if !new.is_empty() {
            // A place in which the rule was not proved: there it may fail and hold elsewhere. So
            // may each of several: lists were lost where only the most suspect one was refused.
            if heard.finding == Finding::Failed {
                entry.refuse(&new, is_blamed.then_some(heard.document));
                self.stale.insert(entry.rule.site.clone());
                if is_blamed && entry.refused.len() > entry.refused_max() {
                    self.retire(id, "it fails in many places", now);
                }
            }
        } else if self.by_pairs && is_blamed && entry.gives_up_part(here, heard.document) {
            self.stale.insert(entry.rule.site.clone());
        } else {
            self.count_where_proved(id, heard, now);
        }
    }

    /// Counts an audit for a rule where that was proved, or against it, and retires one that is
    /// broken.
    fn count_where_proved(&mut self, id: RuleId, heard: &Heard<'_>, now: Timestamp) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let is_blamed = heard.blamed == Some(id);
        let was_doubted = entry.audit.sum > 0.0;
        entry.audit.blamed += u32::from(is_blamed);
        // Where several rules led to a wrong key, all are doubted but those for which far more
        // pairs speak than for the most suspect one, which is blamed.
        let agreed = entry.agreed_for(heard.url, &heard.here);
        let is_above = !is_blamed && heard.least_above.is_some_and(|least| agreed >= least);
        let finding = match heard.finding {
            Finding::Failed if is_above => Finding::Unclear,
            finding => finding,
        };
        let settings = &self.settings.validate;
        let is_broken = entry.audit.record(finding, heard.document, settings)
            || entry.costs_more_than_it_saves(settings);
        if was_doubted != (entry.audit.sum > 0.0) {
            self.stale.insert(entry.rule.site.clone());
        }
        if is_broken {
            self.retire(id, "audits no longer agree", now);
        } else if self.by_pairs && is_blamed {
            let (url, key) = (heard.url.clone(), heard.key.clone());
            self.doubts.add(Failure { rule: id, url, key, known: heard.shown });
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
    fn most_suspect(&self, rules: &[RuleId], (url, here): (&CrawlUrl, &Places)) -> Option<&Entry> {
        let records = self.entries.records();
        let hazard = |entry: &Entry| {
            let odds = records.odds_wrong(&entry.rule, entry.doubted);
            let failed = f64::from(entry.audit.alone) + odds;
            failed / (f64::from(entry.agreed_for(url, here)) + 1.0)
        };
        self.hiding(rules).max_by(|a, b| hazard(a).total_cmp(&hazard(b)))
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
