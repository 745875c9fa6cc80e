//! The life of all rules: what is found is tried, what is proved is enforced, what breaks is taken
//! back. The crawl loop feeds it pages and probe results, and asks it for probes, events and the
//! next rule set.
//!
//! Everything is a value: the same calls give the same rules. It does not fetch; a probe is an
//! ordinary URL for which the caller takes an ordinary lease.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::apply::SiteRules;
use super::audit::{Doubts, Excuse};
use super::declared;
use super::entries::Entries;
use super::evidence::{Declared, Observation, Window};
use super::fetched::{Fetched, agreement, of_page};
use super::items::{Items, NO_ITEMS};
use super::limits::{Hashes, Limits};
use super::live::{RuleSet, is_united, rewrite};
use super::miner::{self, Miner};
use super::pairs::Pairs;
use super::prior;
use super::proven::{Proven, places};
use super::rule::{Evidence, Rule, RuleError, RuleId, RuleKind, RuleState, Scope, Source};
use super::self_link::{LedBack, names_page};
use super::validate::{self, Audit, Draw, Finding, Standing, Trial};
use crate::clock::Timestamp;
use crate::url::{CrawlUrl, Site};

/// Probes of one rule that may be under way at once: later ones depend on earlier ones.
const PENDING_MAX: u32 = 4;

/// Texts of probes kept for further rules.
const PROBED_MAX: usize = 50_000;

/// Documents behind a refuted rule that make another search worth while: narrower contexts of it
/// may hold.
const WORTH_ANOTHER_LOOK: u32 = 10;

/// Pairs of pages of a rule that was taken out of force by which others are compared with it.
const APART_MAX: usize = 8;

/// Rules proved on other sites that are judged first on a new one.
const ELSEWHERE_MAX: usize = 64;

/// Declared rules noted per site.
const DECLARED_MAX: usize = 64;

/// Rules of one site for links that lead back to their pages.
const SELF_LINKS_MAX: usize = 64;

/// Tries of a probe whose host did not answer.
const TRIES_MAX: u8 = 3;

/// Everything that can be set about learning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// The sample and the search.
    pub miner: miner::Settings,
    /// Proof and audit.
    pub validate: validate::Settings,
}

/// One URL to fetch for the sake of a rule: within its host's politeness and robots, at low
/// priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Name of the probe, to be given back with its result.
    pub id: u64,
    /// The rule on trial.
    pub rule: RuleId,
    /// The part of the site that it stands for.
    pub stratum: String,
    /// What to fetch: the outcome of the rule.
    pub url: CrawlUrl,
    /// What to fetch as well: the URL as found, where its main text is not known.
    pub reference: Option<CrawlUrl>,
}

/// One step in the life of a rule: a line of `rules.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleEvent {
    /// When.
    pub at: Timestamp,
    /// Which rule.
    pub rule: RuleId,
    /// Its site.
    pub site: Site,
    /// The rule in words.
    pub text: String,
    /// Its state until now; none for a new rule.
    pub from: Option<RuleState>,
    /// Its state from now on.
    pub to: RuleState,
    /// Why.
    pub reason: String,
    /// What spoke for and against it.
    pub evidence: Evidence,
}

impl RuleEvent {
    /// Returns true where the URLs that the rule suppressed, or that were set aside for its trial,
    /// must go back into the frontier.
    pub fn readmits(&self) -> bool {
        self.from.is_some_and(RuleState::hides) && !self.to.hides()
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) rule: Rule,
    pub(crate) audit: Audit,
    pub(crate) retry_at: Timestamp,
    pub(crate) retired: u32,
    /// Pages of its site from which on it may be tried again all the same.
    #[serde(default)]
    pub(crate) retry_after_pages: Option<u64>,
    /// Where and for what it is proved; everywhere and for all, if there is nothing to tell.
    #[serde(default)]
    pub(crate) proven: Option<Proven>,
    /// Places in which it failed: there it is not applied.
    #[serde(default)]
    pub(crate) refused: BTreeSet<u64>,
    /// What was seen of it in these since.
    #[serde(default)]
    pub(crate) excuses: BTreeMap<u64, Excuse>,
    /// Its trial by pairs.
    #[serde(default)]
    pub(crate) pairs: Pairs,
    /// It does to some URL what a rule did that was refuted, or failed in a part of its site.
    #[serde(default)]
    pub(crate) doubted: bool,
    #[serde(skip)]
    pub(crate) trial: Option<Trial>,
}

impl Entry {
    /// Returns how many pairs and draws have agreed, as far as they count.
    pub(crate) fn agreed(&self) -> u32 {
        let fetched = self.rule.evidence.fetched_same().saturating_sub(self.pairs.earlier);
        (self.pairs.known + fetched).saturating_sub(self.pairs.uncounted)
    }

    /// Returns true where a rule that was retired may be tried again, given how many pages of its
    /// site were observed.
    fn is_due(&self, pages: u64, now: Timestamp) -> bool {
        self.retry_at <= now || self.retry_after_pages.is_some_and(|after| after <= pages)
    }

    /// Returns the rule for those who have nothing else of this book.
    pub(crate) fn as_proved(&self, items: &Items) -> Rule {
        let limited = self.proven.iter().flat_map(Proven::limited_to);
        let limits = Limits {
            refused: Hashes(self.refused.clone()),
            values: limited.map(|(name, known)| (name.clone(), Hashes(known.clone()))).collect(),
            items: if self.refused.is_empty() { Items::new() } else { items.clone() },
        };
        Rule { limits, ..self.rule.clone() }
    }

    /// Returns what is kept of it; a trial is laid out anew, and what it drew is known by then.
    pub(crate) fn kept(&self) -> Entry {
        Entry {
            rule: self.rule.clone(),
            proven: self.proven.clone(),
            refused: self.refused.clone(),
            excuses: self.excuses.clone(),
            pairs: self.pairs.clone(),
            audit: self.audit.clone(),
            trial: None,
            ..*self
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spending {
    pub(crate) pages: u64,
    pub(crate) probes: u64,
}

#[derive(Debug)]
struct Pending {
    rule: RuleId,
    draw: Draw,
    tries: u8,
    /// Both URLs are fetched now: the texts known of them may be of different days.
    both: bool,
}

/// All rules of a crawl and what they rest on.
#[derive(Debug, Default)]
pub struct RuleBook {
    pub(crate) settings: Settings,
    pub(crate) miner: Miner,
    pub(crate) entries: Entries,
    pub(crate) spending: BTreeMap<Site, Spending>,
    pub(crate) version: u64,
    pending: BTreeMap<u64, Pending>,
    again: Vec<Pending>,
    pub(super) doubts: Doubts,
    pub(crate) declared: BTreeMap<Site, BTreeSet<(RuleKind, Scope)>>,
    pub(crate) probed: BTreeMap<Box<str>, Fetched>,
    probes: u64,
    events: Vec<RuleEvent>,
    /// Sites of which the last rule set says something else than is known by now.
    pub(super) stale: BTreeSet<Site>,
    /// That rule set.
    pub(super) published: Option<RuleSet>,
    /// The next rule set is made anew, and not from the last one.
    pub(super) is_whole_due: bool,
    /// Rules are proved by pairs of pages, not by probes.
    pub(super) by_pairs: bool,
    /// Trials draw pages of which nothing is known as well: whoever asks for proofs on a log
    /// without texts pays for a second fetch.
    pub(super) draws_untold: bool,
    /// Trials that end undecided for want of pages leave their rules on trial: whoever asks for
    /// proofs has rules that were in force before.
    pub(super) keeps_unanswered: bool,
    /// Probes that each site may have whatever its fetches: whoever asks for proofs pays for them.
    pub(super) probes_granted: u32,
    /// Rules whose keys the caller knows of all pages that were fetched before them.
    pub(super) told_keys: BTreeSet<RuleId>,
    /// Sites of which a rule has begun its trial or has fallen since doubts were looked for.
    pub(super) doubt_due: BTreeSet<Site>,
    /// The parameters of each site with rules that name its items.
    pub(super) items: BTreeMap<Site, Items>,
}

impl RuleBook {
    /// Starts without rules.
    pub fn new(settings: Settings) -> Self {
        let miner = Miner::new(settings.miner.clone());
        RuleBook { settings, miner, ..RuleBook::default() }
    }

    /// Takes in one fetched page.
    pub fn observe(&mut self, observation: &Observation) {
        let site = observation.url.site();
        self.entries.touch(&site);
        self.spending.entry(site).or_default().pages += 1;
        if let Some(Declared::Redirect(target) | Declared::Canonical(target)) =
            &observation.declared
            && let Some((rule, scope)) = declared::step(&observation.url, target)
        {
            self.declare(&observation.url.site(), rule, scope);
        }
        self.miner.observe(observation);
    }

    /// Takes in again what was observed before this book was read back and is not in its samples.
    pub fn recall(&mut self, observation: &Observation) {
        self.miner.observe(observation);
    }

    /// Returns the sites whose sample has changed enough to be mined, each once: they are to be
    /// mined now.
    pub fn take_due(&mut self) -> Vec<Site> {
        self.miner.take_due()
    }

    /// Returns the sites whose samples were dropped to make room, each once: what is kept of their
    /// samples is to go too. Of their rules those stay that were tried.
    pub fn take_forgotten(&mut self) -> Vec<Site> {
        let forgotten = self.miner.take_forgotten();
        for site in &forgotten {
            self.entries.touch(site);
            self.declared.remove(site);
            // What a site has spent is remembered; that it has spent nothing is no news, unless a
            // rule waits for so many of its pages.
            let waits = |entry: &Entry| entry.retry_after_pages.is_some();
            let is_awaited = self.entries.of_site(site).any(waits);
            if !is_awaited && self.spending.get(site).is_some_and(|spent| spent.probes == 0) {
                self.spending.remove(site);
            }
            // What was found and never tried is found again with the next sample.
            self.entries.retain_of(site, |entry| {
                entry.rule.state != RuleState::Candidate
                    || entry.rule.source == Source::Imported
                    || entry.retired > 0
            });
            if self.entries.of_site(site).next().is_none() {
                self.items.remove(site);
            }
        }
        forgotten
    }

    /// Searches one site and puts what it finds on trial. Takes seconds on a full sample; call it
    /// on a thread that nobody waits for.
    ///
    /// # Errors
    /// Returns a rule in force that cannot be used.
    pub fn mine(&mut self, site: &Site, now: Timestamp) -> Result<usize, RuleError> {
        let mut base = Vec::new();
        let mut refuted = BTreeSet::new();
        let mut due = Vec::new();
        let pages = self.pages_of(site);
        for entry in self.entries.of_site(site) {
            let id = entry.rule.id;
            match entry.rule.state {
                RuleState::Enforced | RuleState::Shadow => base.push(entry.rule.clone()),
                // Candidates are judged again on the larger sample.
                RuleState::Candidate => {}
                // What it was refuted by is asked anew.
                RuleState::Retired if entry.is_due(pages, now) => {
                    due.push(SiteRules::compile([&entry.rule])?);
                }
                RuleState::Retired | RuleState::Suspended => {
                    refuted.insert(id);
                    // Where nothing depends on which of two forms exists, both directions say the
                    // same. It would be believed at once: by the pages that the first one hid.
                    let inverse = entry.rule.rule.inverse().filter(|_| self.by_pairs);
                    refuted.extend(inverse.map(|kind| RuleId::of(site, &kind, &entry.rule.scope)));
                }
            }
        }
        if !due.is_empty() {
            let is_due =
                |url: &CrawlUrl, key: &CrawlUrl| due.iter().any(|rule| is_united(rule, url, key));
            self.miner.forget_apart(site, is_due);
        }
        let priors = self.priors(site);
        let found = self.miner.mine(site, base, &refuted, &priors, now)?;
        let count = found.len();
        for rule in found {
            self.admit(rule);
        }
        self.start_trials(site, now)?;
        Ok(count)
    }

    /// Returns up to `max` probes for a site; `allows` is its robots.txt. Probes stay within the
    /// set share of the site's fetches. Where pairs of pages prove rules, only URLs that turned out
    /// to be other pages are asked for, once more.
    ///
    /// # Errors
    /// Returns a rule that cannot be used.
    pub fn next_probes(
        &mut self,
        now: Timestamp,
        site: &Site,
        max: usize,
        allows: &dyn Fn(&CrawlUrl) -> bool,
    ) -> Result<Vec<Probe>, RuleError> {
        let mut probes = Vec::new();
        if self.by_pairs {
            return Ok(self.second_looks(site, max));
        }
        while probes.len() < max && self.affords_probe(site) {
            let Some(at) = self.again.iter().position(|pending| {
                self.entries.get(pending.rule).is_some_and(|entry| entry.rule.site == *site)
            }) else {
                break;
            };
            let pending = self.again.swap_remove(at);
            probes.push(self.issue(site, pending));
        }
        let on_trial = self.on_trial(site);
        if probes.len() < max && self.affords_probe(site) {
            self.lay_out(&on_trial)?;
        }
        for id in on_trial {
            while probes.len() < max && self.affords_probe(site) {
                match self.draw(id, now, allows) {
                    Some((draw, both)) => {
                        let pending = Pending { rule: id, draw, tries: 0, both };
                        probes.push(self.issue(site, pending));
                    }
                    None => break,
                }
            }
        }
        Ok(probes)
    }

    /// Takes in what a probe showed; `reference` is the second fetch, where one was asked for.
    pub fn probe_result(
        &mut self,
        id: u64,
        outcome: Fetched,
        reference: Option<Fetched>,
        now: Timestamp,
    ) {
        if let Some(failure) = self.doubts.take(id) {
            return self.looked_again(&failure, outcome, now);
        }
        let Some(mut pending) = self.pending.remove(&id) else { return };
        self.remember(&pending.draw.outcome, outcome);
        if let Some(reference) = reference {
            self.remember(&pending.draw.url, reference);
        }
        // What a probe was not led to is not known: a wall that all URLs lead to proves nothing.
        let away = |fetched| matches!(fetched, Fetched::Unavailable | Fetched::Redirect { .. });
        if away(outcome) || reference.is_some_and(away) {
            pending.tries += 1;
            if pending.tries < TRIES_MAX {
                self.again.push(pending);
            } else {
                self.record(pending.rule, &pending.draw, Finding::Unclear, now);
            }
            return;
        }
        let finding = self.compare(&pending.draw, outcome);
        if reference.is_none() && self.doubts(pending.rule, finding, outcome) {
            pending.both = true;
            self.again.push(pending);
            return;
        }
        self.record(pending.rule, &pending.draw, finding, now);
    }

    /// Takes note of a rule that the site declares: it is judged first when the site is mined, and
    /// it must be proved like any other. A site may declare 64 rules; redirects and canonical links
    /// of the pages that were observed are among them.
    pub fn declare(&mut self, site: &Site, rule: RuleKind, scope: Scope) {
        self.entries.touch(site);
        let declared = self.declared.entry(site.clone()).or_default();
        if declared.len() < DECLARED_MAX {
            declared.insert((rule, scope));
        }
    }

    /// Takes note of links that led back to the page they were found on, and puts the rule that
    /// says so on trial: pairs of pages alone can prove it, since what it is about is no URL. One
    /// that was retired is tried again when it is due.
    ///
    /// Where the links name the page themselves, that is the business of rules that rewrite
    /// addresses, if there is one that makes the two one. If one that did was refuted, this rule is
    /// doubted as what is left of a wrong one: see [`RuleBook::doubt`].
    ///
    /// # Errors
    /// Returns a rule of the site that cannot be used.
    pub(crate) fn found_self_links(
        &mut self,
        found: LedBack,
        now: Timestamp,
    ) -> Result<(), RuleError> {
        let site = found.page.site();
        let mut rule = Rule::new(site.clone(), found.rule, found.scope, Source::Mined, now);
        let of_kind = self.entries.of_site(&site).filter(|entry| entry.rule.rule.is_self_link());
        let is_full = of_kind.count() >= SELF_LINKS_MAX;
        let can_be_tried = match self.entries.get(rule.id) {
            None => !is_full,
            Some(entry) => match entry.rule.state {
                RuleState::Candidate => true,
                RuleState::Retired => entry.is_due(self.pages_of(&site), now),
                RuleState::Shadow | RuleState::Enforced | RuleState::Suspended => false,
            },
        };
        if !self.by_pairs || !can_be_tried {
            return Ok(());
        }
        rule.check()?;
        let mut is_doubted = false;
        if names_page(&found.link, &found.page) {
            let here = places(&found.link, &found.page, self.items_of(&site));
            let unite = |hold: &dyn Fn(&Entry) -> bool| -> Result<bool, RuleError> {
                let rules = self.entries.of_site(&site).filter(|entry| hold(entry));
                let rules = SiteRules::compile(rules.map(|entry| &entry.rule))?;
                Ok(is_united(&rules, &found.link, &found.page))
            };
            if unite(&|entry| entry.rule.state.hides() && !entry.is_refused_in(&here))? {
                return Ok(());
            }
            is_doubted = unite(&|entry| entry.rule.evidence.has_failed())?;
        }
        rule.evidence.documents_same = found.pages;
        let id = rule.id;
        self.admit(rule);
        if let Some(entry) = self.entries.get_mut(id) {
            entry.doubted |= is_doubted;
        }
        self.start_trials(&site, now)
    }

    /// Counts a URL that rules suppressed.
    pub fn count_suppressed(&mut self, rules: &[RuleId]) {
        for id in rules {
            if let Some(entry) = self.entries.get_mut(*id) {
                entry.rule.evidence.suppressed += 1;
            }
        }
    }

    /// Counts a URL that rules suppressed and that is to be fetched after all.
    pub fn count_restored(&mut self, rules: &[RuleId]) {
        for id in rules {
            if let Some(entry) = self.entries.get_mut(*id) {
                let suppressed = &mut entry.rule.evidence.suppressed;
                *suppressed = suppressed.saturating_sub(1);
            }
        }
    }

    /// Returns the site of a probe that is under way.
    pub fn site_of_probe(&self, id: u64) -> Option<Site> {
        let of_trial = || Some(self.entries.get(self.pending.get(&id)?.rule)?.rule.site.clone());
        self.doubts.site_of(id).or_else(of_trial)
    }

    /// Takes an enforced rule out of force until the operator resumes it.
    pub fn suspend(&mut self, id: RuleId, reason: &str, now: Timestamp) -> bool {
        self.entries.contains(id) && {
            self.become_state(id, RuleState::Suspended, reason, now);
            true
        }
    }

    /// Puts a rule in force whatever its trial says: the operator knows.
    pub fn enforce(&mut self, id: RuleId, reason: &str, now: Timestamp) -> bool {
        let Some(entry) = self.entries.get_mut(id) else { return false };
        // Whoever says so means everywhere, where it failed as well.
        entry.proven = None;
        entry.refused.clear();
        entry.excuses.clear();
        self.stale.insert(entry.rule.site.clone());
        self.become_state(id, RuleState::Enforced, reason, now);
        true
    }

    /// Takes a rule back: what it suppressed returns, and it is on trial again after the usual
    /// wait, if the site still speaks for it.
    pub fn revert(&mut self, id: RuleId, reason: &str, now: Timestamp) -> bool {
        self.entries.contains(id) && {
            self.retire(id, reason, now);
            true
        }
    }

    /// Puts rules on trial at once, whether or not what they save is worth their probes. A rule
    /// that rewrites no URL of the sample stays a candidate.
    ///
    /// # Errors
    /// Returns a rule that cannot be used.
    pub(crate) fn put_on_trial(&mut self, ids: &[RuleId], now: Timestamp) -> Result<(), RuleError> {
        self.lay_out(ids)?;
        for id in ids {
            let Some(entry) = self.entries.get_mut(*id) else { continue };
            let waiting = entry.trial.as_ref().map_or(0, Trial::waiting);
            entry.rule.evidence.applicable = u32::try_from(waiting).unwrap_or(u32::MAX);
            if waiting > 0 && entry.rule.state == RuleState::Candidate {
                self.become_state(*id, RuleState::Shadow, "on trial", now);
            }
        }
        Ok(())
    }

    /// Loads rules of another crawl: they are judged first when their site is mined, and must be
    /// proved here like any other. Rules that are known here stay as they are.
    pub fn import(&mut self, rules: Vec<Rule>) {
        for mut rule in rules {
            if self.entries.contains(rule.id) {
                continue;
            }
            self.declare(&rule.site, rule.rule.clone(), rule.scope.clone());
            rule.source = Source::Imported;
            rule.state = RuleState::Candidate;
            rule.evidence = Evidence::default();
            rule.limits = Limits::default();
            self.admit(rule);
        }
    }

    /// Makes a retired rule a candidate before its wait is over; returns false for any other one.
    pub fn revive(&mut self, id: RuleId, reason: &str, now: Timestamp) -> bool {
        let is_retired = |entry: &Entry| entry.rule.state == RuleState::Retired;
        self.entries.get(id).is_some_and(is_retired) && {
            self.become_state(id, RuleState::Candidate, reason, now);
            true
        }
    }

    /// Returns what happened since the last call.
    pub fn take_events(&mut self) -> Vec<RuleEvent> {
        std::mem::take(&mut self.events)
    }

    /// Takes over from the sample of a site which of its parameters name items.
    pub(super) fn note_items(&mut self, site: &Site) {
        let Some(window) = self.miner.window(site) else { return };
        let items = window.words.items();
        if !items.is_empty() {
            self.items.entry(site.clone()).or_default().extend(items.iter().cloned());
            self.entries.touch(site);
        }
    }

    /// Returns the parameters of a site that name its items.
    pub(super) fn items_of(&self, site: &Site) -> &Items {
        self.items.get(site).unwrap_or(&NO_ITEMS)
    }

    /// Returns all rules in the order of their ids, each with the limits of its proof.
    pub fn rules_as_proved(&self) -> Vec<Rule> {
        let items = |entry: &Entry| self.items_of(&entry.rule.site);
        self.entries.values().map(|entry| entry.as_proved(items(entry))).collect()
    }

    /// Returns all rules in the order of their ids.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.entries.values().map(|entry| &entry.rule)
    }

    /// Returns the rules on trial of which nothing can be said for want of pages.
    pub(super) fn unanswered(&self) -> BTreeSet<RuleId> {
        let on_trial = self.entries.values().filter(|entry| entry.rule.state == RuleState::Shadow);
        let lacks = |entry: &&Entry| entry.trial.as_ref().is_some_and(Trial::lacks_answers);
        on_trial.filter(lacks).map(|entry| entry.rule.id).collect()
    }

    /// Returns the number of probe fetches so far, references included.
    pub fn probes_spent(&self) -> u64 {
        self.spending.values().map(|spending| spending.probes).sum()
    }

    fn admit(&mut self, rule: Rule) {
        self.entries.touch(&rule.site);
        match self.entries.get_mut(rule.id) {
            Some(entry) => {
                let evidence = rule.evidence;
                entry.rule.evidence.documents_same = evidence.documents_same;
                entry.rule.evidence.documents_different = evidence.documents_different;
                entry.rule.evidence.applicable = evidence.applicable;
                entry.rule.evidence.merged = evidence.merged;
                if rule.source == Source::Elsewhere {
                    entry.rule.source = rule.source;
                }
                if entry.rule.state == RuleState::Retired {
                    entry.rule.state = RuleState::Candidate;
                }
            }
            None => {
                self.event(&rule, None, "found");
                let entry = Entry {
                    rule,
                    audit: Audit::default(),
                    retry_at: Timestamp::ZERO,
                    retired: 0,
                    retry_after_pages: None,
                    proven: None,
                    refused: BTreeSet::new(),
                    excuses: BTreeMap::new(),
                    pairs: Pairs::default(),
                    doubted: false,
                    trial: None,
                };
                self.entries.insert(entry);
            }
        }
    }

    fn priors(&self, site: &Site) -> Vec<(RuleKind, Scope, Source)> {
        let elsewhere = self.entries.in_force_elsewhere(site, ELSEWHERE_MAX);
        let mut priors = prior::all(self.declared.get(site), elsewhere);
        let hosts = self.miner.window(site).map(Window::hosts).unwrap_or_default();
        priors.extend(prior::hosts(&hosts));
        priors
    }

    pub(super) fn on_trial(&self, site: &Site) -> Vec<RuleId> {
        // No draw proves a rule that rewrites nothing: without pairs it waits.
        let is_tried = |entry: &&Entry| {
            let can_be = self.by_pairs || !entry.rule.rule.is_self_link();
            entry.rule.state == RuleState::Shadow && can_be
        };
        let shadows = self.entries.of_site(site).filter(is_tried);
        let mut ids: Vec<(u32, RuleId)> =
            shadows.map(|e| (e.rule.evidence.documents_same, e.rule.id)).collect();
        ids.sort_by_key(|(support, id)| (std::cmp::Reverse(*support), *id));
        ids.into_iter().map(|(_, id)| id).collect()
    }

    /// Returns how many pages of a site were observed.
    pub(super) fn pages_of(&self, site: &Site) -> u64 {
        self.spending.get(site).map_or(0, |spending| spending.pages)
    }

    fn affords_probe(&self, site: &Site) -> bool {
        let spending = self.spending.get(site).copied().unwrap_or_default();
        let share = spending.pages as f64 * self.settings.validate.probe_share_max;
        spending.probes as f64 <= share.max(f64::from(self.probes_granted))
    }

    fn issue(&mut self, site: &Site, pending: Pending) -> Probe {
        let reference = pending.both || self.needs_reference(&pending.draw.url);
        let fetches = 1 + u32::from(reference);
        let id = self.number_probe(site, fetches);
        let trial = self.entries.get_mut(pending.rule).and_then(|entry| {
            let trial = entry.trial.as_mut()?;
            entry.rule.evidence.probes += fetches;
            trial.probes += fetches;
            Some(&*trial)
        });
        let probe = Probe {
            id,
            rule: pending.rule,
            stratum: trial.map_or(String::new(), |t| t.stratum(pending.draw.stratum).to_owned()),
            url: pending.draw.outcome.clone(),
            reference: reference.then(|| pending.draw.url.clone()),
        };
        self.pending.insert(probe.id, pending);
        probe
    }

    /// Counts the fetches of a probe, and returns its number.
    pub(super) fn number_probe(&mut self, site: &Site, fetches: u32) -> u64 {
        self.probes += 1;
        self.entries.touch(site);
        self.spending.entry(site.clone()).or_default().probes += u64::from(fetches);
        self.probes
    }

    /// Draws until a probe is needed or the trial is over; the second value asks for both URLs.
    fn draw(
        &mut self,
        id: RuleId,
        now: Timestamp,
        allows: &dyn Fn(&CrawlUrl) -> bool,
    ) -> Option<(Draw, bool)> {
        loop {
            let entry = self.entries.get_mut(id)?;
            let trial = entry.trial.as_mut()?;
            if entry.rule.state != RuleState::Shadow || trial.pending >= PENDING_MAX {
                return None;
            }
            let open = trial.standing(&self.settings.validate) == Standing::Open;
            let Some(draw) = open.then(|| trial.draw()).flatten() else {
                self.settle(id, None, now);
                return None;
            };
            if !allows(&draw.outcome) {
                self.record(id, &draw, Finding::Failed, now);
                continue;
            }
            match self.known(&draw.outcome) {
                Some(known) if !self.needs_reference(&draw.url) => {
                    let finding = self.compare(&draw, known);
                    if self.doubts(id, finding, known) {
                        return Some((draw, true));
                    }
                    self.record(id, &draw, finding, now);
                }
                _ => return Some((draw, false)),
            }
        }
    }

    /// Returns what is known of a URL without fetching it.
    pub(super) fn known(&self, url: &CrawlUrl) -> Option<Fetched> {
        if let Some(fetched) = self.probed.get(url.as_str()) {
            return Some(*fetched);
        }
        let window = self.miner.window(&url.site())?;
        if window.is_dead(url.as_str()) {
            return Some(Fetched::Gone);
        }
        window.find(url.as_str()).and_then(of_page)
    }

    /// Returns true where a failure is worth a second look: the rule did well so far, and the two
    /// texts may be of different days.
    fn doubts(&self, id: RuleId, finding: Finding, outcome: Fetched) -> bool {
        let trial = self.entries.get(id).and_then(|entry| entry.trial.as_ref());
        finding == Finding::Failed
            && matches!(outcome, Fetched::Page { junk: false, .. })
            && trial.is_some_and(|trial| trial.same >= 2)
    }

    fn needs_reference(&self, url: &CrawlUrl) -> bool {
        self.known(url).is_none()
    }

    /// Compares what a draw showed with what is known of its URL. The same form around other rows
    /// of a list speaks neither for the rule nor against it: pages may be of different days.
    fn compare(&self, draw: &Draw, outcome: Fetched) -> Finding {
        let Some(known) = self.known(&draw.url) else { return Finding::Unclear };
        match agreement(known, outcome) {
            Finding::Same if known.differs_around(outcome) => Finding::Unclear,
            finding => finding,
        }
    }

    fn remember(&mut self, url: &CrawlUrl, fetched: Fetched) {
        match fetched {
            Fetched::Unavailable | Fetched::Redirect { .. } => return,
            Fetched::Gone => self.miner.note_dead(url),
            Fetched::Page { .. } | Fetched::Forbidden => {}
        }
        if self.probed.len() >= PROBED_MAX {
            self.probed.pop_first();
        }
        self.probed.insert(url.as_str().into(), fetched);
    }

    fn record(&mut self, id: RuleId, draw: &Draw, finding: Finding, now: Timestamp) {
        let here = places(&draw.url, &draw.outcome, self.items_of(&draw.url.site()));
        let is_page = |url: &CrawlUrl| matches!(self.known(url), Some(Fetched::Page { .. }));
        let has_pages = finding != Finding::Unclear || is_page(&draw.url) && is_page(&draw.outcome);
        let Some(entry) = self.entries.get_mut(id) else { return };
        let Some(trial) = &mut entry.trial else { return };
        trial.record((draw, &here), finding, &self.settings.validate);
        trial.unanswered += u32::from(!has_pages);
        entry.rule.evidence.draws_same = trial.same;
        entry.rule.evidence.draws_failed = trial.failed;
        if finding == Finding::Same {
            self.miner.bear_fruit(&entry.rule.site);
        }
        self.settle(id, Some(draw), now);
    }

    /// Ends a trial that is decided.
    fn settle(&mut self, id: RuleId, last: Option<&Draw>, now: Timestamp) {
        let Some(entry) = self.entries.get(id) else { return };
        let Some(trial) = &entry.trial else { return };
        if entry.rule.state != RuleState::Shadow {
            return;
        }
        match trial.standing(&self.settings.validate) {
            Standing::Open => {}
            Standing::Accepted => {
                let proven = trial.proven.clone();
                if let Some(entry) = self.entries.get_mut(id) {
                    entry.proven = Some(proven);
                }
                self.become_state(id, RuleState::Enforced, "proved", now);
            }
            Standing::Refuted => {
                let reason = last.map_or_else(
                    || "refuted".to_owned(),
                    |draw| format!("refuted: {} is not {}", draw.outcome, draw.url),
                );
                let (site, worth) = (entry.rule.site.clone(), entry.rule.evidence.documents_same);
                self.retire(id, &reason, now);
                if worth >= WORTH_ANOTHER_LOOK {
                    self.miner.hurry(&site);
                }
            }
            Standing::Exhausted if self.keeps_unanswered && trial.lacks_answers() => {}
            Standing::Exhausted => self.retire(id, "not provable", now),
        }
    }

    pub(super) fn retire(&mut self, id: RuleId, reason: &str, now: Timestamp) {
        if let Some(entry) = self.entries.get_mut(id) {
            let wait = self.settings.validate.retry_after.get();
            entry.retry_at = now.plus(wait.saturating_mul(1 << entry.retired.min(16)));
            entry.retired += 1;
            entry.retry_after_pages = None;
            entry.audit = Audit::default();
            entry.trial = None;
            self.doubt_due.insert(entry.rule.site.clone());
        }
        self.become_state(id, RuleState::Retired, reason, now);
    }

    pub(super) fn become_state(&mut self, id: RuleId, to: RuleState, reason: &str, now: Timestamp) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let from = entry.rule.state;
        if from == to {
            return;
        }
        entry.rule.state = to;
        entry.rule.changed = now;
        if to != RuleState::Shadow {
            entry.trial = None;
        }
        let applied =
            |state| state == RuleState::Enforced || (self.by_pairs && state == RuleState::Shadow);
        let rule = entry.rule.clone();
        if applied(from) || applied(to) {
            self.stale.insert(rule.site.clone());
        }
        self.event(&rule, Some(from), reason);
    }

    fn event(&mut self, rule: &Rule, from: Option<RuleState>, reason: &str) {
        self.events.push(RuleEvent {
            at: rule.changed,
            rule: rule.id,
            site: rule.site.clone(),
            text: rule.to_string(),
            from,
            to: rule.state,
            reason: reason.to_owned(),
            evidence: rule.evidence,
        });
    }

    /// Puts candidates on trial where what they save is worth their probes.
    fn start_trials(&mut self, site: &Site, now: Timestamp) -> Result<(), RuleError> {
        let candidates = self.entries.of_site(site);
        let candidates = candidates.filter(|entry| entry.rule.state == RuleState::Candidate);
        let candidates = candidates.map(|entry| entry.rule.id).collect();
        let candidates = self.allowed(site, candidates)?;
        if self.by_pairs {
            return self.try_by_pairs(candidates, now);
        }
        self.try_by_draws(site, candidates, now)
    }

    /// Returns those candidates that do not make one page of what a rule did that the operator took
    /// out of force: the same rule in the other direction would undo what was decided.
    fn allowed(&self, site: &Site, candidates: Vec<RuleId>) -> Result<Vec<RuleId>, RuleError> {
        let suspended = self.entries.of_site(site);
        let suspended = suspended.filter(|entry| entry.rule.state == RuleState::Suspended);
        let mut apart: Vec<(CrawlUrl, CrawlUrl)> = Vec::new();
        for entry in suspended {
            let rule = SiteRules::compile([&entry.rule])?;
            let pages = self.miner.window(site).into_iter().flat_map(|window| &window.pages);
            let urls = pages.filter_map(|page| CrawlUrl::parse(&page.url).ok());
            let pairs = urls.filter_map(|url| rewrite(&rule, &url).map(|(key, _)| (url, key)));
            apart.extend(pairs.take(APART_MAX));
        }
        let mut allowed = Vec::new();
        for id in candidates {
            let Some(entry) = self.entries.get(id) else { continue };
            let rule = SiteRules::compile([&entry.rule])?;
            if !apart.iter().any(|(one, other)| is_united(&rule, one, other)) {
                allowed.push(id);
            }
        }
        Ok(allowed)
    }
}
