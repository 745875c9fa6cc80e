//! Trials that cost nothing: rules are proved by pages of a crawl that have one key.
//!
//! In a crawl a rule does one thing: where two URLs that were found have one key, it keeps the
//! later one from being fetched. So what has to be proved is what such pairs show, and the crawl
//! holds some of them already: pages that it fetched before the rule was found. While a rule is on
//! trial, further URLs of known keys are set aside, and a few of them are fetched as found. Each is
//! a draw from just those URLs that the rule would hide, whether they exist or not; if the rule is
//! wrong, it is a page that had to be fetched anyway. All others come back then.
//!
//! Where several rules give two URLs their key, the pair is a test of those only without which it
//! would have two ([`needed`]): what rewrites both alike may be wrong, and the pair is one page for
//! all that.
//!
//! A rule is in force after some documents have agreed ([`Settings::pairs_needed`]), however many
//! forms each of them has; and eight forms of a document count, however many agree. How many pairs
//! are enough beyond that is a matter of price. Most rules that repeat themselves are true without
//! exception, the others fail as often as not: after n pairs that agree, a further URL is another
//! document with a chance of about (1 - c) / c / (n + 1)(n + 2), where c is the share of true rules
//! among those that are tried. The chance times the number of URLs to be hidden is what may be
//! lost; so pairs go on being fetched after the rule is in force, the fewer the more have agreed
//! ([`Settings::share_after`]). The share of true rules is at first that of their shape
//! ([`super::shape`]), then that of the site itself: where half of what repeats itself is refuted,
//! as in a repository that shows each file at each commit, all URLs of a rule are fetched until
//! twenty or thirty of them have agreed. And where that became known only after a rule had hidden
//! its URLs, some of these are fetched before the crawl ends, as many as would have been
//! ([`Settings::agreed_among`]).
//!
//! What agreed is counted in each place of the site for itself, and for each value of a parameter
//! until eight were without effect ([`super::proven`]): a list is cut where other views say nothing
//! of its length. A rule that fails in one place may go on in the others; there it must prove
//! itself as one does that is as likely wrong as right.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::apply::SiteRules;
use super::book::{Entry, RuleBook};
use super::changes::{Difference, Others};
use super::entries::Entries;
use super::evidence::{Doc, Documents, Page, Text, Window, witness_of};
use super::fetched::{Fetched, are_apart, of_page, speaks, target_of};
use super::live::{is_united, needed, rewrite};
use super::prior;
use super::proven::{AGREED_BEFORE, Proven, places};
use super::rule::{RuleError, RuleId, RuleState, Source};
use super::shape::{ODDS_WRONG, Verdict};
use super::validate::{Finding, Settings, Standing};
use crate::clock::Timestamp;
use crate::content::Change;
use crate::url::{CrawlUrl, Site};

/// Rules of one site that are on trial at once; further candidates wait for the next search.
const TRIALS_MAX: usize = 100;

/// How many times the documents of an idle trial must speak for a candidate that takes its place.
const IDLE_SUPPORT: u32 = 3;

/// Pairs after which one failure is taken for a page that changed between two fetches.
pub(super) const FORGIVES_AFTER: u32 = 40;

/// A rule that failed so often at most is tried again when its site has so many times the pages:
/// how far these change by themselves was not known before.
const FAILED_MAX: u32 = 2;
const GROWN: u64 = 4;

/// Refuted rules of a site that others are compared with, and URLs by which they are.
const REFUTED_MAX: usize = 64;
const LOOKS_MAX: u32 = 8;

/// Pairs after which a rule repeats itself: one that is refuted sooner is a guess that was wrong.
const REPEATED: u32 = 3;

/// Largest share of the URLs of a rule in force that is fetched all the same, at these odds; at
/// twice the odds it is all of them.
const SHARE_MAX: f64 = 0.5;

/// Forms of one document that count, of all that agreed.
const FORMS_MAX: u32 = 8;

/// Documents that are told apart in one trial.
const DOCUMENTS_MAX: usize = 64;

/// Pairs in one place beyond which more of them say nothing new.
const AGREED_MAX: u32 = 10_000;

/// A rule is not tried, and not put in force, where one page in hand is another one for so many
/// that agree: pages also differ by what their site says anew at each look.
const APART_SHARE: usize = 8;

/// URLs of one trial that are known to have been judged.
const JUDGED_MAX: usize = 256;

/// Pairs of a sample that are searched for the label of another one.
const LABELS_MAX: usize = 256;

/// URLs of a rule beyond which their number asks for no further pairs.
const URLS_MAX: u32 = 1_000_000;

/// How a trial by pairs stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pairs {
    /// Documents that the crawl held under two URLs when the trial began.
    pub(crate) known: u32,
    /// URLs that were fetched since and showed what the rule said, another document, or neither.
    pub(crate) same: u32,
    pub(crate) failed: u32,
    pub(crate) unclear: u32,
    /// Documents that agreed, and those of them that did in a URL that was fetched since: many
    /// forms of one list say what the rule does to that list.
    #[serde(default)]
    documents: BTreeSet<u64>,
    #[serde(default)]
    fetched: BTreeSet<u64>,
    /// Pairs that agreed on each document, up to [`FORMS_MAX`], and those beyond it.
    #[serde(default)]
    forms: BTreeMap<u64, u32>,
    #[serde(default)]
    pub(crate) uncounted: u32,
    /// Draws and audits of earlier trials: what of them is still in the sample is known.
    #[serde(default)]
    pub(crate) earlier: u32,
    /// Hashes of the URLs that were fetched for it: what they show was judged, some at two looks.
    #[serde(skip)]
    judged: BTreeSet<u64>,
}

impl Pairs {
    /// Returns how a trial begins, given the documents that the crawl holds under two URLs, and how
    /// many of these each has.
    fn of(forms: BTreeMap<u64, u32>) -> Pairs {
        let known = u32::try_from(forms.len()).unwrap_or(u32::MAX);
        // Beyond so many it does not matter which they are.
        let forms: BTreeMap<u64, u32> = forms.into_iter().take(DOCUMENTS_MAX).collect();
        let documents = forms.keys().copied().collect();
        Pairs { known, documents, forms, ..Pairs::default() }
    }

    /// Returns true while nothing was fetched for the trial.
    fn is_idle(&self) -> bool {
        self.same + self.failed + self.unclear == 0
    }

    /// Takes in that a pair agreed on a document; returns true if it counts. What a rule does to
    /// one page in hundreds of forms says little of what it does to others.
    pub(super) fn counts(&mut self, document: u64) -> bool {
        if self.forms.len() >= DOCUMENTS_MAX && !self.forms.contains_key(&document) {
            return true;
        }
        let counts = has_room(&mut self.forms, document);
        self.uncounted = self.uncounted.saturating_add(u32::from(!counts));
        counts
    }

    /// Takes in that a URL showed what the rule said, and of which document.
    fn agree(&mut self, document: u64) {
        self.same += 1;
        if self.fetched.len() < DOCUMENTS_MAX {
            self.documents.insert(document);
            self.fetched.insert(document);
        }
    }

    /// Returns how the trial stands. That the rule holds on other sites makes fewer documents do,
    /// and makes up neither for those of this one nor for what fails here.
    pub(crate) fn standing(&self, is_told: bool, settings: &Settings) -> Standing {
        let (all, new) = settings.pairs_needed(is_told);
        if self.failed > u32::from(self.known + self.same >= FORGIVES_AFTER) {
            return Standing::Refuted;
        }
        let count = |documents: &BTreeSet<u64>| u32::try_from(documents.len()).unwrap_or(u32::MAX);
        if count(&self.documents) >= all && count(&self.fetched) >= new {
            return Standing::Accepted;
        }
        if self.unclear > 2 * self.same + 10 {
            return Standing::Exhausted;
        }
        Standing::Open
    }
}

fn hash_of(url: &CrawlUrl) -> u64 {
    xxhash_rust::xxh3::xxh3_64(url.as_str().as_bytes())
}

/// Counts one more form of a document; returns false where there are enough.
fn has_room(forms: &mut BTreeMap<u64, u32>, document: u64) -> bool {
    let forms = forms.entry(document).or_default();
    let has_room = *forms < FORMS_MAX;
    *forms += u32::from(has_room);
    has_room
}

impl Settings {
    /// Returns how many documents prove a rule, and how many of them must be fetched after it was
    /// found: what holds on other sites, or was told beforehand, needs half as many.
    pub(crate) fn pairs_needed(&self, is_told: bool) -> (u32, u32) {
        if is_told {
            return (self.pairs_min.div_ceil(2), self.pairs_new_min.div_ceil(2));
        }
        (self.pairs_min, self.pairs_new_min)
    }

    /// Returns the share of a rule's URLs that is fetched all the same after so many pairs agreed:
    /// what keeps the sum of these fetches and of what a wrong rule would cost at its least, where
    /// there are `odds` wrong rules for each true one.
    pub(crate) fn share_after(&self, agreed: u32, odds: f64) -> f64 {
        let n = f64::from(agreed) + AGREED_BEFORE;
        let most = (SHARE_MAX * odds / ODDS_WRONG).clamp(SHARE_MAX, 1.0);
        (self.loss_price * odds * 2.0 / 3.0 / (n * n)).min(most).max(self.audit_share)
    }

    /// Returns these shares for none to so many pairs that agreed beyond `pooled` ones, up to the
    /// first share that falls no further.
    pub(crate) fn shares_after(&self, pooled: u32, odds: f64) -> Vec<f64> {
        let share = |agreed| self.share_after(agreed, odds);
        let shares = (pooled..pooled.saturating_add(AGREED_MAX)).map(share);
        shares.take_while(|share| *share > self.audit_share).chain([self.audit_share]).collect()
    }

    /// Returns how many pairs have agreed by the time that so many URLs of a rule have come, if
    /// their share is fetched that these odds ask for from the first one on.
    pub(crate) fn agreed_among(&self, urls: u32, odds: f64) -> u32 {
        let (mut agreed, mut came) = (0, 0.0);
        while came < f64::from(urls.min(URLS_MAX)) {
            came += 1.0 / self.share_after(agreed, odds);
            agreed += 1;
        }
        agreed
    }
}

impl Entry {
    /// Tells whether the rule turned out right or wrong. One that was refuted before it had agreed
    /// as often as most do when their trial begins says nothing about those that have.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let has_failed = self.rule.evidence.has_failed();
        let is_in_force = self.rule.state == RuleState::Enforced;
        if has_failed && self.retired > 0 && self.agreed() >= REPEATED && !is_in_force {
            return Some(Verdict::Wrong);
        }
        (!has_failed && is_in_force).then_some(Verdict::Right)
    }
}

/// What a sample says of a rule that is to be tried.
#[derive(Debug, Default)]
struct Sampled {
    /// Documents with several URLs, and how many of these count.
    same: BTreeMap<u64, u32>,
    proven: Option<Proven>,
    /// URLs of other documents than what has their key.
    apart: BTreeSet<CrawlUrl>,
}

impl Sampled {
    /// Returns a URL that is another page than the rule says, if there are enough of them.
    fn is_wrong_for(&self) -> Option<&CrawlUrl> {
        let is_enough = APART_SHARE * self.apart.len() >= self.same.len();
        self.apart.first().filter(|_| is_enough)
    }
}

impl RuleBook {
    /// Proves rules by pairs of pages, as a crawl that enforces them does, in place of probes.
    pub fn proving_by_pairs(mut self) -> RuleBook {
        self.by_pairs = true;
        self.miner.take_small_rules();
        self.is_whole_due = true;
        self
    }

    /// Puts candidates on trial, all of one site.
    pub(crate) fn try_by_pairs(
        &mut self,
        candidates: Vec<RuleId>,
        now: Timestamp,
    ) -> Result<(), RuleError> {
        let Some(first) = candidates.first().and_then(|id| self.entries.get(*id)) else {
            return Ok(());
        };
        let site = first.rule.site.clone();
        let mut candidates = candidates;
        candidates.sort_by_key(|id| (std::cmp::Reverse(self.support(*id)), *id));
        self.entries.touch(&site);
        self.note_items(&site);
        let room = self.make_room(&site, &candidates, now);
        let urls = self.urls_of_sample(&site);
        let apart: Vec<(CrawlUrl, CrawlUrl)> =
            self.miner.window(&site).into_iter().flat_map(Window::apart).collect();
        for id in candidates.into_iter().take(room) {
            if self.is_refuted(id, &apart)? {
                continue;
            }
            let sampled = self.sampled(id, &urls)?;
            if sampled.is_wrong_for().is_some() {
                continue;
            }
            let Some(entry) = self.entries.get_mut(id) else { continue };
            let earlier = entry.rule.evidence.fetched_same();
            entry.pairs = Pairs { earlier, ..Pairs::of(sampled.same) };
            entry.doubted |= entry.rule.evidence.has_failed();
            entry.proven = sampled.proven;
            entry.refused.clear();
            entry.excuses.clear();
            self.become_state(id, RuleState::Shadow, "on trial", now);
        }
        self.doubt_due.insert(site);
        Ok(())
    }

    /// Returns the URLs of the pages in the sample of a site, in its order.
    fn urls_of_sample(&self, site: &Site) -> Vec<Option<CrawlUrl>> {
        let pages = self.miner.window(site).into_iter().flat_map(|window| &window.pages);
        pages.map(|page| CrawlUrl::parse(&page.url).ok()).collect()
    }

    /// Returns a URL in the sample that is another page than a rule says. Pages that were under way
    /// when the rule was found have come into it since, and were compared with nothing.
    fn contradicted_by(&self, id: RuleId) -> Option<CrawlUrl> {
        let urls = self.urls_of_sample(&self.entries.get(id)?.rule.site);
        match self.sampled(id, &urls) {
            Ok(sampled) => sampled.is_wrong_for().cloned(),
            Err(error) => {
                tracing::error!(rule = %id, %error, "a rule that cannot be used is in force");
                None
            }
        }
    }

    /// Returns for how many of these candidates, best supported first, a trial can begin. Trials
    /// for which nothing was fetched end for what has far more behind it.
    fn make_room(&mut self, site: &Site, candidates: &[RuleId], now: Timestamp) -> usize {
        let on_trial = self.on_trial(site);
        let mut room = TRIALS_MAX.saturating_sub(on_trial.len());
        let is_idle = |id: &RuleId| self.entries.get(*id).is_some_and(|e| e.pairs.is_idle());
        // The least supported one first.
        let idle: Vec<RuleId> = on_trial.into_iter().rev().filter(is_idle).collect();
        for id in idle {
            let Some(next) = candidates.get(room) else { break };
            if self.support(*next) < IDLE_SUPPORT.saturating_mul(self.support(id).max(1)) {
                break;
            }
            self.become_state(id, RuleState::Candidate, "makes room for a better one", now);
            room += 1;
        }
        room
    }

    /// Returns true where one of these pages is another one than what a rule by itself takes it
    /// for, as another rule did that fell: what is left of that is as wrong.
    fn is_refuted(&self, id: RuleId, apart: &[(CrawlUrl, CrawlUrl)]) -> Result<bool, RuleError> {
        let Some(entry) = self.entries.get(id) else { return Ok(false) };
        let rule = SiteRules::compile([&entry.rule])?;
        Ok(apart.iter().any(|(url, key)| is_united(&rule, url, key)))
    }

    fn support(&self, id: RuleId) -> u32 {
        self.entries.get(id).map_or(0, |entry| entry.rule.evidence.documents_same)
    }

    /// Doubts rules that make one page of two URLs of which a rule of their site did that was
    /// refuted, in either direction. What is left of a wrong rule is proved by the same pages as it
    /// was: where a list of so many entries is a view like others, the parameter that says how many
    /// was dropped for all of its values, and then is for each of them, by views without a list and
    /// by lists that are shorter.
    ///
    /// # Errors
    /// Returns a rule that cannot be used.
    pub(super) fn doubt(&mut self) -> Result<(), RuleError> {
        for site in std::mem::take(&mut self.doubt_due) {
            self.doubt_links(&site);
            let refuted = |entry: &&Entry| {
                entry.rule.state == RuleState::Retired && entry.rule.evidence.has_failed()
            };
            let refuted = self.entries.of_site(&site).filter(refuted).take(REFUTED_MAX);
            let refuted: Vec<SiteRules> = refuted
                .map(|entry| SiteRules::compile(std::iter::once(&entry.rule)))
                .collect::<Result<_, _>>()?;
            if refuted.is_empty() {
                continue;
            }
            let live = |entry: &&Entry| entry.rule.state.hides() && !entry.doubted;
            let live = self.entries.of_site(&site).filter(live);
            let rules = SiteRules::compile(live.map(|entry| &entry.rule))?;
            let pages = self.miner.window(&site).into_iter().flat_map(|window| &window.pages);
            let mut looked: HashMap<RuleId, u32> = HashMap::new();
            let mut doubted: BTreeSet<RuleId> = BTreeSet::new();
            for url in pages.filter_map(|page| CrawlUrl::parse(&page.url).ok()) {
                let Some((key, by)) = rewrite(&rules, &url) else { continue };
                let [id] = by[..] else { continue };
                let looked = looked.entry(id).or_default();
                *looked += 1;
                let leads = |rule: &SiteRules, from: &CrawlUrl, to: &CrawlUrl| {
                    rewrite(rule, from).is_some_and(|(led, _)| led == *to)
                };
                let unites = |rule: &SiteRules| leads(rule, &url, &key) || leads(rule, &key, &url);
                if *looked <= LOOKS_MAX && refuted.iter().any(unites) {
                    doubted.insert(id);
                }
            }
            for id in doubted {
                if let Some(entry) = self.entries.get_mut(id) {
                    entry.doubted = true;
                    self.stale.insert(site.clone());
                }
            }
        }
        Ok(())
    }

    /// Doubts rules of links that lead back from one kind of pages, where a rule about such links
    /// on another kind was refuted, or failed in a part of the site.
    fn doubt_links(&mut self, site: &Site) {
        let of_site = || self.entries.of_site(site);
        let link = |entry: &Entry| entry.rule.rule.link_that_leads_back().map(str::to_owned);
        let has_failed = |entry: &&Entry| {
            let is_refuted = entry.rule.state == RuleState::Retired;
            (is_refuted && entry.rule.evidence.has_failed()) || !entry.refused.is_empty()
        };
        let failed: Vec<(String, RuleId)> = of_site()
            .filter(has_failed)
            .filter_map(|entry| Some((link(entry)?, entry.rule.id)))
            .collect();
        let is_doubtful = |entry: &&Entry| {
            let fails =
                |own: String| failed.iter().any(|(link, id)| *link == own && *id != entry.rule.id);
            entry.rule.state.hides() && !entry.doubted && link(entry).is_some_and(fails)
        };
        let doubtful: Vec<RuleId> =
            of_site().filter(is_doubtful).map(|entry| entry.rule.id).collect();
        for id in doubtful {
            if let Some(entry) = self.entries.get_mut(id) {
                entry.doubted = true;
                self.stale.insert(site.clone());
            }
        }
    }

    /// Takes in what a URL showed that a rule on trial would have hidden, and of which document.
    pub(super) fn pair_result(
        &mut self,
        id: RuleId,
        (url, key): (&CrawlUrl, &CrawlUrl),
        (document, finding): (u64, Finding),
        now: Timestamp,
    ) {
        let elsewhere = self.agreed_elsewhere(id);
        let here = places(url, key, self.items_of(&url.site()));
        let Some(entry) = self.entries.get_mut(id) else { return };
        let (pairs, evidence) = (&mut entry.pairs, &mut entry.rule.evidence);
        if pairs.judged.len() < JUDGED_MAX {
            pairs.judged.insert(hash_of(url));
        }
        match finding {
            Finding::Same => {
                let proven = entry.proven.get_or_insert_with(|| Proven::of(&entry.rule.rule));
                if pairs.counts(document) || proven.is_new(url, &here) {
                    proven.add(url, &here);
                }
                pairs.agree(document);
                evidence.draws_same += 1;
            }
            Finding::Failed => {
                pairs.failed += 1;
                evidence.draws_failed += 1;
            }
            Finding::Unclear => pairs.unclear += 1,
        }
        let settings = &self.settings.validate;
        let told = entry.rule.source != Source::Mined || elsewhere >= settings.pairs_min;
        let standing = pairs.standing(told, settings);
        let portable = prior::is_portable(&entry.rule).then(|| entry.rule.site.clone());
        if standing == Standing::Accepted
            && let Some(other) = self.contradicted_by(id)
        {
            if let Some(entry) = self.entries.get_mut(id) {
                entry.rule.evidence.draws_failed += 1;
            }
            return self.refute(id, &other, now);
        }
        // A place is proved as soon as one of its URLs is.
        if finding == Finding::Same {
            self.stale.insert(url.site());
            self.miner.bear_fruit(&url.site());
        }
        match standing {
            Standing::Open => {}
            Standing::Accepted => {
                self.become_state(id, RuleState::Enforced, "proved", now);
                if let Some(site) = portable {
                    self.miner.spread(&site);
                }
            }
            Standing::Refuted => self.refute(id, url, now),
            Standing::Exhausted => self.retire(id, "not provable", now),
        }
    }

    /// Ends the trial of a rule that a URL has refuted.
    fn refute(&mut self, id: RuleId, url: &CrawlUrl, now: Timestamp) {
        self.retire(id, &format!("refuted: {url} is another document"), now);
        let pages = self.pages_of(&url.site());
        let Some(entry) = self.entries.get_mut(id) else { return };
        let evidence = &entry.rule.evidence;
        if evidence.draws_failed + evidence.audits_failed <= FAILED_MAX {
            entry.retry_after_pages = Some(pages.saturating_mul(GROWN));
        }
    }

    /// Returns which document a page of a site is, as far as that is known of its text.
    pub(super) fn witness(&self, url: &CrawlUrl, shown: Fetched) -> u64 {
        let text = match shown {
            Fetched::Page { text: Text::Main(text), .. } => text,
            Fetched::Page { text: Text::Bytes(hash), .. } | Fetched::Redirect { to: hash } => {
                return hash;
            }
            _ => return 0,
        };
        let window = self.miner.window(&url.site());
        window.map_or_else(|| witness_of(&text), |window| window.documents.witness_of_text(&text))
    }

    /// Returns how many pairs agreed on other sites under the same rule, if it failed on none.
    pub(super) fn agreed_elsewhere(&self, id: RuleId) -> u32 {
        let Some(own) = self.entries.get(id) else { return 0 };
        if !prior::is_portable(&own.rule) {
            return 0;
        }
        let mut agreed = 0u32;
        for other in self.entries.like(&own.rule) {
            match other.rule.state {
                RuleState::Retired | RuleState::Suspended => return 0,
                RuleState::Enforced | RuleState::Shadow => agreed += other.agreed(),
                RuleState::Candidate => {}
            }
        }
        agreed
    }

    /// Returns what pages of the sample show that the rule would have merged: those that it alone
    /// gives the key of another one. `urls` are those of the sample, in its order.
    fn sampled(&self, id: RuleId, urls: &[Option<CrawlUrl>]) -> Result<Sampled, RuleError> {
        let mut sampled = Sampled::default();
        let Some(entry) = self.entries.get(id) else { return Ok(sampled) };
        let proven = sampled.proven.insert(Proven::of(&entry.rule.rule));
        let site = &entry.rule.site;
        let live = |other: &&Entry| other.rule.state.hides() || other.rule.id == id;
        let rules = SiteRules::compile(self.entries.of_site(site).filter(live).map(|e| &e.rule))?;
        let keys = Keys { rules: &rules, on_trial: id, entries: &self.entries };
        let Some(window) = self.miner.window(site) else { return Ok(sampled) };
        let mut groups: BTreeMap<CrawlUrl, Vec<Seen<'_>>> = BTreeMap::new();
        for (page, url) in window.pages.iter().zip(urls) {
            let Some(url) = url else { continue };
            let (key, by) = rewrite(&rules, url).unwrap_or_else(|| (url.clone(), Vec::new()));
            let rewritten = by.contains(&id);
            groups.entry(key).or_default().push(Seen { page, url, rewritten });
        }
        let documents = &window.documents;
        let mut agreed = Vec::new();
        for (key, group) in &groups {
            for (at, seen) in group.iter().enumerate().filter(|(_, seen)| seen.rewritten) {
                let others = || group.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, s)| s);
                let is_judged = |of: &Seen<'_>| entry.pairs.judged.contains(&hash_of(of.url));
                let others_unjudged = || others().filter(|other| !is_judged(other));
                let tests = |other: &Seen<'_>| keys.test(seen.url, other.url);
                if !is_judged(seen)
                    && others_unjudged().any(|o| seen.is_apart(o, documents) && tests(o))
                {
                    sampled.apart.insert(seen.url.clone());
                }
                let others = others();
                if let Some((witness, change)) = seen.agrees(others, (&keys, key), documents) {
                    agreed.push((seen.url, key, witness, change));
                }
            }
        }
        // What only one document shows is no label; the first one that does is known by the others.
        for (url, key, witness, change) in &agreed {
            let is_label = |change: &Change| {
                let mut others = Others::default();
                let of_others =
                    agreed.iter().take(LABELS_MAX).filter(|(_, _, of, _)| of != witness);
                of_others.for_each(|(.., seen)| {
                    others.count(seen.as_ref().map(|seen| seen.is_like(change, 0)));
                });
                others.have(&Difference::from(*change))
            };
            if change.as_ref().is_some_and(|change| !is_label(change)) {
                continue;
            }
            let here = places(url, key, self.items_of(site));
            if has_room(&mut sampled.same, *witness) || proven.is_new(url, &here) {
                proven.add(url, &here);
            }
        }
        Ok(sampled)
    }
}

/// The rules of a site by which pages of the sample have their keys, and the one to be tried.
struct Keys<'a> {
    rules: &'a SiteRules,
    on_trial: RuleId,
    entries: &'a Entries,
}

impl Keys<'_> {
    /// Returns true where two URLs of one key would not have it without the rule to be tried, by
    /// what is proved and what it does itself: what other rules merge anyway does not test it.
    fn test(&self, url: &CrawlUrl, other: &CrawlUrl) -> bool {
        let is_proved = |rule: &RuleId| {
            let entry = self.entries.get(*rule);
            entry.is_some_and(|entry| entry.rule.state == RuleState::Enforced)
        };
        let order = |rule: &RuleId| (is_proved(rule), *rule == self.on_trial, *rule);
        needed(self.rules, (url, other), order).contains(&self.on_trial)
    }
}

/// A page of the sample, and whether the rule on trial takes part in its key.
struct Seen<'a> {
    page: &'a Page,
    url: &'a CrawlUrl,
    rewritten: bool,
}

impl Seen<'_> {
    /// Returns true where two pages differ by a good part of their words, and by their texts where
    /// both came after the model of their site.
    fn is_apart(&self, other: &Seen<'_>, documents: &Documents) -> bool {
        let bag = |page: &Page| page.bag.filter(|_| !page.junk);
        let bags = bag(self.page).zip(bag(other.page));
        if self.page.text == Text::Unknown || other.page.text == Text::Unknown {
            return bags.is_some_and(|(one, other)| are_apart(&one, &other));
        }
        let docs = self.page.doc.zip(other.page.doc);
        let docs = docs.filter(|_| speaks(self.page) && speaks(other.page));
        docs.is_some_and(|(a, b)| documents.differ(a, b))
            && bags.is_none_or(|(one, other)| are_apart(&one, &other))
    }

    /// Returns the document that the page shares with another one of its key, or with what it
    /// redirects to, if that tests the rule on trial. Two that redirect to one URL share that. One
    /// that is contained in the other is none, nor is one with the same text among other words:
    /// what an audit would doubt proves nothing either. Where each of the others differs from it by
    /// more than a label has, it is said how one of them does.
    fn agrees<'s>(
        &self,
        others: impl Iterator<Item = &'s Seen<'s>>,
        (keys, key): (&Keys<'_>, &CrawlUrl),
        documents: &Documents,
    ) -> Option<(u64, Option<Change>)> {
        if let Some((true, target)) = &self.page.declared {
            let target = CrawlUrl::parse(target).ok()?;
            let led = rewrite(keys.rules, &target).map_or_else(|| target.clone(), |(led, _)| led);
            let is_led = led == *key && keys.test(self.url, &target);
            if is_led {
                return Some((target_of(key.as_str()), None));
            }
            let leads_there = |other: &&Seen<'_>| other.page.declared == self.page.declared;
            let mut others = others.filter(leads_there).take(FORMS_MAX as usize);
            let agrees = others.any(|other| keys.test(self.url, other.url));
            return agrees.then(|| (target_of(target.as_str()), None));
        }
        let doc: Doc = self.page.doc.filter(|_| speaks(self.page))?;
        let shown = of_page(self.page);
        let differs = |other: &Page| {
            let texts = shown.zip(of_page(other));
            texts.is_some_and(|(a, b)| {
                a.differs_from(b) && !a.has_text_of(b, 0) || a.differs_around(b)
            })
        };
        let is_same = |other: &Page| speaks(other) && other.doc == Some(doc) && !differs(other);
        let agrees = |other: &&Seen<'_>| is_same(other.page) && keys.test(self.url, other.url);
        let own_words =
            |other: &Seen<'_>| shown.zip(of_page(other.page)).and_then(|(a, b)| a.own_words(b, 0));
        let mut least: Option<Option<Change>> = None;
        for other in others.filter(agrees).take(FORMS_MAX as usize) {
            match own_words(other) {
                None => return Some((documents.witness(doc), None)),
                change => least = least.or(Some(change)),
            }
        }
        least.map(|change| (documents.witness(doc), change))
    }
}
