//! The rule set in force: immutable, versioned, swapped whole.
//!
//! A page takes one snapshot, so all its links are judged by one version (I6). Booting and
//! publishing are the same call. A rule changes the key under which a URL is known, never the URL
//! that is fetched: [`RuleSet::canonize`] returns that key. The outcome is a fixed point: a URL for
//! which none is found in ten rounds keeps its own form.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use xxhash_rust::xxh3::xxh3_64;

use super::apply::{Form, HashedMap, SiteRules};
use super::items::{Items, NO_ITEMS};
use super::proven::{FIRST, NAMES, Places, Proven, VIEW, places};
use super::rule::{Rule, RuleError, RuleId, RuleState};
use super::sketch::mix;
use super::validate::Settings;
use crate::url::query::parameters;
use crate::url::{CrawlUrl, Site};

/// Rounds of canonization, as in the paper [DustBuster §5.4].
const ROUNDS_MAX: usize = 10;

/// Rules that are found needless where two URLs have one key; of more, all are taken for needed.
const NEEDLESS_MAX: usize = 16;

/// Odds of being wrong from which a rule that fails is not looked at again.
const ODDS_DISTRUSTED: f64 = 0.25;

/// Odds of being wrong up to which a rule is not asked for in each directory of very many.
const ODDS_TRUSTED: f64 = 0.1;

/// One million, the unit of the audit share.
const MILLION: u64 = 1_000_000;

/// All enforced rules of one version. A copy shares what it holds with the original, so that the
/// next version costs what has changed, and not what all sites have.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    version: u64,
    rules: BTreeMap<RuleId, Known>,
    sites: HashedMap<OfSite>,
    audit_per_million: u32,
}

/// A rule, and what is known of it.
#[derive(Clone, Debug)]
struct Known {
    rule: Arc<Rule>,
    /// None where it is proved everywhere alike.
    standing: Option<Arc<Standing>>,
    /// Its last audits raised a doubt.
    is_doubted: bool,
}

/// The rules of one site.
#[derive(Clone, Debug)]
struct OfSite {
    site: Site,
    /// They hold for hosts below its name, too.
    below: bool,
    rules: Arc<SiteRules>,
    ids: Arc<[RuleId]>,
    /// Parameters that name its items.
    items: Arc<Items>,
}

impl OfSite {
    fn compile(site: &Site, rules: &[&Rule]) -> Result<OfSite, RuleError> {
        Ok(OfSite {
            site: site.clone(),
            below: site.has_hosts_below(),
            rules: Arc::new(SiteRules::compile(rules.iter().copied())?),
            ids: rules.iter().map(|rule| rule.id).collect(),
            items: Arc::default(),
        })
    }
}

fn hash_of(site: &Site) -> u64 {
    xxh3_64(site.as_str().as_bytes())
}

/// What is known of one rule of a set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    /// It is not proved yet: what it would suppress is set aside.
    pub(crate) on_trial: bool,
    /// Where and for what it is proved; everywhere and for all, if there is nothing to tell.
    pub(crate) proven: Option<Proven>,
    /// It is proved in so many places that it holds in all.
    pub(crate) everywhere: bool,
    /// Places in which it failed.
    pub(crate) refused: BTreeSet<u64>,
    /// Share of what it suppresses that is fetched all the same, where it has one of its own.
    pub(crate) audit_share: Option<f64>,
    /// The same by the number of pairs that agreed in a place, or of values that did, where these
    /// count for themselves.
    pub(crate) shares: Vec<f64>,
    /// Pairs that have agreed.
    pub(crate) agreed: u32,
    /// Odds that it is wrong, where pairs prove it.
    pub(crate) odds: Option<f64>,
}

/// How far a rule of a set is trusted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    standing: Option<Arc<Standing>>,
    is_doubted: bool,
    /// By which the places of its site's URLs are told.
    items: Option<Arc<Items>>,
}

/// Returns true for the first `share` of a number of URLs like this one, in an order that is none.
pub(crate) fn is_among_first(url: &CrawlUrl, share: f64) -> bool {
    // Not the number that audits are drawn by: those are all among the first by that one.
    let drawn = mix(mix(xxh3_64(url.as_str().as_bytes()))) % MILLION;
    (drawn as f64) < share * MILLION as f64
}

impl Standing {
    /// Returns true where nothing that was suppressed while `before` was known is fetched now.
    fn is_trusted_as(&self, before: &Standing) -> bool {
        let at_most = |is: Option<f64>, was: Option<f64>| match (is, was) {
            (Some(is), Some(was)) => is <= was,
            (is, was) => is.is_none() == was.is_none(),
        };
        let share =
            |of: &Standing, agreed: usize| of.shares.get(agreed).or(of.shares.last()).copied();
        let most = self.shares.len().max(before.shares.len());
        self.on_trial == before.on_trial
            && self.everywhere >= before.everywhere
            && self.agreed >= before.agreed
            && self.refused.is_subset(&before.refused)
            && at_most(self.odds, before.odds)
            && at_most(self.audit_share, before.audit_share)
            && (0..most).all(|agreed| at_most(share(self, agreed), share(before, agreed)))
    }

    /// Returns those of some places in which the rule is not proved. One that is more likely wrong
    /// than most, or has failed, is asked for in each.
    fn open_in(&self, places: Places) -> impl Iterator<Item = u64> {
        let proven = self.proven.as_ref().filter(|_| !self.everywhere);
        let is_doubtful = self.odds.is_none_or(|odds| odds > ODDS_TRUSTED);
        let asks_each = is_doubtful || !self.refused.is_empty();
        proven.into_iter().flat_map(move |proven| proven.open_in(places, asks_each))
    }

    /// Returns true where the rule is not proved in some of these places.
    fn is_open_in(&self, places: Places) -> bool {
        self.open_in(places).next().is_some()
    }

    /// Returns true where the rule is not proved for some value that it drops.
    fn is_open_for(&self, url: &CrawlUrl) -> bool {
        self.proven.as_ref().is_some_and(|proven| proven.lacks_value_of(url))
    }

    /// Returns the share of what it suppresses that is fetched all the same of URLs in these places
    /// and with such values.
    fn share_of(&self, url: &CrawlUrl, places: impl FnOnce() -> Places) -> Option<f64> {
        let (Some(proven), Some(last)) = (&self.proven, self.shares.last()) else {
            return self.audit_share;
        };
        let here = (!self.everywhere).then(places);
        let Some(agreed) = proven.least_for(url, here.as_ref(), !self.refused.is_empty()) else {
            return self.audit_share;
        };
        Some(*self.shares.get(agreed as usize).unwrap_or(last))
    }
}

/// The key under which a URL is known, and the rules that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonized<'a> {
    /// The canonical URL: the URL itself where no rule applies.
    pub key: Cow<'a, CrawlUrl>,
    /// Rules in the order of their application; empty where the key is the URL itself.
    pub rules: Vec<RuleId>,
}

impl RuleSet {
    /// Compiles enforced rules; `audit_share` of what they suppress is fetched nevertheless.
    ///
    /// # Errors
    /// Returns the first rule that cannot be used.
    pub fn compile(
        version: u64,
        rules: Vec<Arc<Rule>>,
        audit_share: f64,
    ) -> Result<RuleSet, RuleError> {
        let mut by_site: BTreeMap<Site, Vec<Arc<Rule>>> = BTreeMap::new();
        for rule in rules {
            by_site.entry(rule.site.clone()).or_default().push(rule);
        }
        let audit_per_million = (audit_share.clamp(0.0, 1.0) * MILLION as f64) as u32;
        let empty = RuleSet { version, audit_per_million, ..RuleSet::default() };
        by_site
            .into_iter()
            .try_fold(empty, |set, (site, rules)| set.with_site(version, &site, rules))
    }

    /// Compiles those of some rules that are in force, each as far as it says that it is proved.
    ///
    /// # Errors
    /// Returns the first rule that cannot be used.
    pub fn in_force<'r>(rules: impl IntoIterator<Item = &'r Rule>) -> Result<RuleSet, RuleError> {
        let in_force = rules.into_iter().filter(|rule| rule.state == RuleState::Enforced);
        let rules = in_force.cloned().map(Arc::new).collect();
        Ok(RuleSet::compile(1, rules, 0.0)?.limited())
    }

    /// Returns the next version, in which one site has these rules, and no others.
    ///
    /// # Errors
    /// Returns the first rule that cannot be used.
    pub(crate) fn with_site(
        mut self,
        version: u64,
        site: &Site,
        rules: Vec<Arc<Rule>>,
    ) -> Result<RuleSet, RuleError> {
        self.version = version;
        let before = self.sites.remove(&hash_of(site));
        for id in before.iter().flat_map(|before| before.ids.iter()) {
            self.rules.remove(id);
        }
        if !rules.is_empty() {
            let of_site: Vec<&Rule> = rules.iter().map(|rule| &**rule).collect();
            // With each audit it changes how far rules are trusted, and seldom which they are.
            let is_known = |before: &OfSite| before.ids.iter().eq(of_site.iter().map(|of| &of.id));
            let of = match before.filter(is_known) {
                Some(before) => OfSite { items: Arc::default(), ..before },
                None => OfSite::compile(site, &of_site)?,
            };
            self.sites.insert(hash_of(site), of);
        }
        for rule in rules {
            self.rules.insert(rule.id, Known { rule, standing: None, is_doubted: false });
        }
        Ok(self)
    }

    /// Keeps to what each rule says of how far it is proved.
    pub fn limited(self) -> RuleSet {
        let limited: Vec<Arc<Rule>> =
            self.rules().filter(|rule| !rule.limits.is_none()).cloned().collect();
        let standings = limited.iter().map(|rule| (rule.id, rule.limits.standing()));
        let items = limited.iter().map(|rule| (rule.site.clone(), rule.limits.items.clone()));
        self.standing(standings).naming_items(items)
    }

    /// Says which parameters name the items of sites; what is said of a site twice is added up.
    pub(crate) fn naming_items(mut self, of: impl IntoIterator<Item = (Site, Items)>) -> RuleSet {
        for (site, items) in of {
            if let Some(of) = self.sites.get_mut(&hash_of(&site)) {
                Arc::make_mut(&mut of.items).extend(items);
            }
        }
        self
    }

    /// Names rules of the set whose last audits raised a doubt: all that they would suppress is
    /// fetched until the doubt is gone, or the rule.
    pub fn doubting(mut self, rules: impl IntoIterator<Item = RuleId>) -> RuleSet {
        for id in rules {
            if let Some(known) = self.rules.get_mut(&id) {
                known.is_doubted = true;
            }
        }
        self
    }

    /// Says how far rules are proved.
    pub(crate) fn standing(
        mut self,
        rules: impl IntoIterator<Item = (RuleId, Standing)>,
    ) -> RuleSet {
        for (id, standing) in rules {
            if let Some(known) = self.rules.get_mut(&id) {
                known.standing = Some(Arc::new(standing));
            }
        }
        self
    }

    fn standing_of(&self, rule: &RuleId) -> Option<&Standing> {
        self.rules.get(rule)?.standing.as_deref()
    }

    /// Returns true where one of these rules is on trial, or not proved in this URL's places or for
    /// its values: what they would suppress is set aside, and some of it fetched as found, until
    /// that proves them.
    pub fn must_prove(&self, url: &CrawlUrl, rules: &[RuleId]) -> bool {
        let here = LazyCell::new(|| self.places_of(url));
        let mut standings = rules.iter().filter_map(|rule| self.standing_of(rule));
        standings.any(|of| of.on_trial || of.is_open_in(*here) || of.is_open_for(url))
    }

    /// Returns how many of these rules must still prove themselves for this URL.
    pub(crate) fn in_doubt(&self, url: &CrawlUrl, rules: &[RuleId]) -> usize {
        rules.iter().filter(|rule| self.must_prove(url, &[**rule])).count()
    }

    /// Returns true where one of these rules must still prove itself for this URL, or has failed in
    /// its places.
    pub(crate) fn is_doubtful(&self, url: &CrawlUrl, rules: &[RuleId]) -> bool {
        self.must_prove(url, rules) || self.is_refused(url, rules)
    }

    /// Returns the key that a URL has by those rules alone that are not doubtful for it: the URL
    /// itself where none is left. `None` where none is doubtful, and the key that of
    /// [`RuleSet::canonize`].
    ///
    /// A list in every order at every commit has one key for all of it while a rule that drops the
    /// commit is on trial; whatever becomes of that, its orders are one list.
    pub(crate) fn proved_key(&self, url: &CrawlUrl) -> Option<CrawlUrl> {
        self.canonize_without_doubtful(url).map(|(key, _)| key)
    }

    /// Canonizes by those rules alone that are proved for this URL: what a rule says of parts of
    /// the site where it failed, or of values that were never seen, is nothing to rely on.
    pub fn canonize_proved<'a>(&self, url: &'a CrawlUrl) -> Canonized<'a> {
        match self.canonize_without_doubtful(url) {
            Some((key, rules)) => Canonized { key: Cow::Owned(key), rules },
            None => self.canonize(url),
        }
    }

    fn canonize_without_doubtful(&self, url: &CrawlUrl) -> Option<(CrawlUrl, Vec<RuleId>)> {
        let rules = self.rules_of(url.host_str())?;
        let mut applied = self.canonize(url).rules;
        let mut proved = None;
        let mut without: Vec<RuleId> = Vec::new();
        loop {
            let known = without.len();
            for rule in &applied {
                if !without.contains(rule) && self.is_doubtful(url, &[*rule]) {
                    without.push(*rule);
                }
            }
            if without.len() == known {
                return proved.map(|key| (key, applied));
            }
            if without.len() > NEEDLESS_MAX {
                return Some((url.clone(), Vec::new()));
            }
            let Some((rewritten, by)) = rewrite_without(rules, url, &without) else {
                return Some((url.clone(), Vec::new()));
            };
            (proved, applied) = (Some(rewritten), by);
        }
    }

    /// Returns how many pairs have agreed on that of these rules of which the fewest have.
    pub(crate) fn least_agreed(&self, rules: &[RuleId]) -> u32 {
        let agreed = |rule| self.standing_of(rule).map_or(u32::MAX, |of| of.agreed);
        rules.iter().map(agreed).min().unwrap_or(u32::MAX)
    }

    /// Returns true where a rule takes parameters from a URL, each of which another form of the
    /// same key has too, and loses. That both show the same says nothing of them: two facets in
    /// either order are one list, and not the list without them.
    pub(crate) fn takes_from_both(&self, rule: RuleId, url: &CrawlUrl, other: &CrawlUrl) -> bool {
        let has = |url: &CrawlUrl, part: &str| {
            parameters(url.query().unwrap_or_default()).any(|known| known == part)
        };
        let (without, key) = (self.key_without(url, &[rule]), self.canonize(url).key);
        let left = parameters(without.query().unwrap_or_default());
        let mut taken = left.filter(|part| !has(&key, part)).peekable();
        taken.peek().is_some() && taken.all(|part| has(other, part))
    }

    /// Returns the key that a URL has by all rules but some.
    pub(crate) fn key_without(&self, url: &CrawlUrl, without: &[RuleId]) -> CrawlUrl {
        let rewritten =
            self.rules_of(url.host_str()).and_then(|rules| rewrite_without(rules, url, without));
        rewritten.map_or_else(|| url.clone(), |(key, _)| key)
    }

    fn places_of(&self, url: &CrawlUrl) -> Places {
        let items = self.site_of(url.host_str()).map_or(&NO_ITEMS, |of| &*of.items);
        places(url, &self.canonize(url).key, items)
    }

    /// Returns a name of the view of its site that a URL is: what its parameters are called, and
    /// the words among their values.
    pub(crate) fn view_of(&self, url: &CrawlUrl) -> u64 {
        let here = self.places_of(url);
        mix(here[NAMES]) ^ here[VIEW]
    }

    /// Returns a name of the template that a page is likely made by: the first directory of its
    /// path, and what its parameters are called.
    pub(crate) fn template_of(&self, url: &CrawlUrl) -> u64 {
        let here = self.places_of(url);
        mix(here[FIRST]) ^ here[NAMES]
    }

    /// Returns names of the places and values of a URL in and for which one of these rules is not
    /// proved.
    pub(crate) fn open_at(&self, url: &CrawlUrl, rules: &[RuleId]) -> Vec<u64> {
        let here = self.places_of(url);
        let mut open = Vec::new();
        for standing in rules.iter().filter_map(|rule| self.standing_of(rule)) {
            let Some(proven) = &standing.proven else { continue };
            open.extend(proven.unproven_values(url));
            open.extend(standing.open_in(here));
        }
        open
    }

    /// Returns true where a rule of the set is on trial, proved in some places or for some values
    /// only, or refuted in some.
    pub fn is_limited(&self, rule: RuleId) -> bool {
        self.standing_of(&rule).is_some_and(|standing| {
            let proven = standing.proven.as_ref();
            standing.on_trial
                || !standing.refused.is_empty()
                || proven.is_some_and(|p| !standing.everywhere || p.is_limited_to_values())
        })
    }

    /// Returns true where one of these rules failed in the places of this URL, so that nothing is
    /// suppressed there.
    pub fn is_refused(&self, url: &CrawlUrl, rules: &[RuleId]) -> bool {
        let mut standings = rules.iter().filter_map(|rule| self.standing_of(rule));
        standings.any(|standing| {
            !standing.refused.is_empty()
                && self.places_of(url).iter().any(|place| standing.refused.contains(place))
        })
    }

    /// Returns true where one of these rules is so likely wrong, or so little proved, that its
    /// failure needs no second look where pages stand still.
    pub(crate) fn distrusts(&self, rules: &[RuleId]) -> bool {
        let mut standings = rules.iter().filter_map(|rule| self.standing_of(rule));
        let is_likely_wrong = |odds: f64| odds >= ODDS_DISTRUSTED;
        standings.any(|known| known.on_trial || known.odds.is_some_and(is_likely_wrong))
    }

    /// Returns true where the last audits of a rule raised a doubt.
    pub fn doubts(&self, rule: RuleId) -> bool {
        self.rules.get(&rule).is_some_and(|known| known.is_doubted)
    }

    /// Returns how many more of the URLs that a rule has hidden are to be fetched, by what is known
    /// of its site by now: as many as would have been, had that been known from the first one on.
    pub(crate) fn wants(&self, rule: RuleId, hidden: usize, settings: &Settings) -> usize {
        let Some(standing) = self.standing_of(&rule) else { return 0 };
        let Some(odds) = standing.odds else { return 0 };
        let hidden = u32::try_from(hidden).unwrap_or(u32::MAX);
        let needed = settings.agreed_among(hidden.saturating_add(standing.agreed), odds);
        needed.saturating_sub(standing.agreed) as usize
    }

    /// Returns the version; 0 before any rule was found.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the rules of this version, in the order of their ids.
    pub fn rules(&self) -> impl Iterator<Item = &Arc<Rule>> {
        self.rules.values().map(|known| &known.rule)
    }

    /// Returns the number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Returns true for a set without rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns a rule of this version.
    pub fn rule(&self, id: RuleId) -> Option<&Arc<Rule>> {
        self.rules.get(&id).map(|known| &known.rule)
    }

    /// Returns the key of a URL. Canonizing a key returns the key.
    pub fn canonize<'a>(&self, url: &'a CrawlUrl) -> Canonized<'a> {
        if let Some(rules) = self.rules_of(url.host_str())
            && rules.may_touch(url)
            && let Some((key, applied)) = rewrite(rules, url)
        {
            return Canonized { key: Cow::Owned(key), rules: applied };
        }
        Canonized { key: Cow::Borrowed(url), rules: Vec::new() }
    }

    /// Returns the rules without which two URLs would not have one key, where they have one. Where
    /// some would do without others, it is those that are proved best.
    pub(crate) fn uniting(&self, url: &CrawlUrl, other: &CrawlUrl) -> Option<Vec<RuleId>> {
        let (one, two) = (self.canonize(url), self.canonize(other));
        if one.key != two.key {
            return None;
        }
        // Most are united by one rule, and there is no better one than one that is proved.
        let mut applied = [one.rules, two.rules].concat();
        applied.dedup();
        if let [rule] = applied[..]
            && self.standing_of(&rule).is_none_or(|of| !of.on_trial)
        {
            return Some(applied);
        }
        let Some(rules) = self.rules_of(url.host_str()) else { return Some(Vec::new()) };
        let order = |rule: &RuleId| {
            let standing = self.standing_of(rule);
            let agreed = standing.map_or(u32::MAX, |of| of.agreed);
            (standing.is_none_or(|of| !of.on_trial), agreed, *rule)
        };
        Some(needed(rules, (url, other), order))
    }

    /// Returns the rule by which a link is the page that it was found on; `None` for a link to the
    /// address of that page.
    pub(crate) fn led_back(&self, link: &CrawlUrl, page: &CrawlUrl) -> Option<RuleId> {
        self.rules_of(link.host_str())?.led_back(link, page)
    }

    /// Returns true for a rule of the set that takes links for the pages they stand on.
    pub(crate) fn is_self_link(&self, rule: RuleId) -> bool {
        self.rule(rule).is_some_and(|rule| rule.rule.is_self_link())
    }

    /// Returns those of some rules that rewrite a URL where the others are left out: a rule on
    /// trial may do in one directory what one in force does in all.
    pub(crate) fn rewriting(&self, url: &CrawlUrl, among: &[RuleId]) -> Vec<RuleId> {
        let Some(rules) = self.rules_of(url.host_str()) else { return Vec::new() };
        let mut without: Vec<RuleId> = Vec::new();
        let mut applied = self.canonize(url).rules;
        loop {
            let left_out = without.len();
            without.extend(applied.extract_if(.., |rule| !among.contains(rule)));
            if without.len() == left_out || without.len() > NEEDLESS_MAX {
                return applied;
            }
            let rewritten = rewrite_without(rules, url, &without);
            applied = rewritten.map(|(_, applied)| applied).unwrap_or_default();
        }
    }

    /// Returns true where the set has rules for the site of this host.
    pub fn knows(&self, host: &str) -> bool {
        self.rules_of(host).is_some()
    }

    /// Returns true where some of these rules take links for the pages they stand on.
    pub(crate) fn knows_self_links(&self, host: &str) -> bool {
        self.rules_of(host).is_some_and(SiteRules::has_self_links)
    }

    /// Decides whether a URL that these rules suppress is fetched all the same: to measure them, or
    /// since one of them failed in its place. The same URL meets the same answer under the same
    /// doubts, so that repeating a page changes nothing.
    pub fn audits(&self, url: &CrawlUrl, rules: &[RuleId]) -> bool {
        if self.is_refused(url, rules) {
            return true;
        }
        // What has to be proved yet is fetched by another count.
        if self.must_prove(url, rules) {
            return false;
        }
        mix(xxh3_64(url.as_str().as_bytes())) % MILLION < self.audited_per_million(url, rules)
    }

    /// Returns true where one of these rules failed in this URL's place, or its last audits raised
    /// a doubt.
    pub(crate) fn is_uneasy(&self, url: &CrawlUrl, rules: &[RuleId]) -> bool {
        self.is_refused(url, rules) || rules.iter().any(|rule| self.doubts(*rule))
    }

    /// Returns true where a rule is trusted at least as much as it was when `before` was taken, so
    /// that what it suppressed then it suppresses now.
    pub(crate) fn trusts_as(&self, rule: RuleId, before: &Trust) -> bool {
        let now = self.trust(rule);
        if now.items != before.items {
            return false;
        }
        match (&now.standing, &before.standing) {
            (_, None) => !now.is_doubted || before.is_doubted,
            (None, Some(_)) => false,
            (Some(is), Some(was)) => {
                (!now.is_doubted || before.is_doubted) && is.is_trusted_as(was)
            }
        }
    }

    /// Returns how far a rule is trusted.
    pub(crate) fn trust(&self, rule: RuleId) -> Trust {
        let known = self.rules.get(&rule);
        Trust {
            standing: known.and_then(|known| known.standing.clone()),
            is_doubted: known.is_some_and(|known| known.is_doubted),
            items: known
                .and_then(|known| self.sites.get(&hash_of(&known.rule.site)))
                .map(|of| of.items.clone()),
        }
    }

    /// Returns true where these rules suppress some URLs like this one, so that it speaks for more
    /// than itself if it is fetched all the same.
    pub(crate) fn hides(&self, url: &CrawlUrl, rules: &[RuleId]) -> bool {
        !self.is_refused(url, rules)
            && (self.must_prove(url, rules) || self.audited_per_million(url, rules) < MILLION)
    }

    /// Returns how many of a million URLs like this one are fetched although these rules suppress
    /// them.
    fn audited_per_million(&self, url: &CrawlUrl, rules: &[RuleId]) -> u64 {
        let doubted = rules.iter().any(|rule| self.doubts(*rule));
        let here = LazyCell::new(|| self.places_of(url));
        let standings = rules.iter().filter_map(|rule| self.standing_of(rule));
        let shares = standings.filter_map(|standing| standing.share_of(url, || *here));
        // The rule that is known least decides.
        let share = shares.map(|share| (share * MILLION as f64) as u64).max();
        let share = share.unwrap_or(u64::from(self.audit_per_million));
        if doubted { MILLION } else { share }
    }

    fn rules_of(&self, host: &str) -> Option<&SiteRules> {
        self.site_of(host).map(|of| &*of.rules)
    }

    /// Finds the site of a host without knowing where its registrable domain begins: every suffix
    /// of labels is looked up, which costs less than the public suffix list.
    fn site_of(&self, host: &str) -> Option<&OfSite> {
        if self.sites.is_empty() {
            return None;
        }
        let mut suffix = host;
        loop {
            if let Some(of) = self.sites.get(&xxh3_64(suffix.as_bytes()))
                && of.site.as_str() == suffix
            {
                return (of.below || suffix.len() == host.len()).then_some(of);
            }
            suffix = &suffix[memchr::memchr(b'.', suffix.as_bytes())? + 1..];
        }
    }
}

/// Rewrites to a fixed point, or returns `None` where nothing changes or none is found.
pub(crate) fn rewrite(rules: &SiteRules, url: &CrawlUrl) -> Option<(CrawlUrl, Vec<RuleId>)> {
    rewrite_without(rules, url, &[])
}

/// Returns true where rules give one key to two URLs.
pub(crate) fn is_united(rules: &SiteRules, url: &CrawlUrl, other: &CrawlUrl) -> bool {
    let key = |url: &CrawlUrl| rewrite(rules, url).map_or_else(|| url.clone(), |to| to.0);
    url != other && key(url) == key(other)
}

/// Returns the rules without which two URLs would not have the one key that they have: what
/// rewrites both of them alike says nothing of whether they are one page, and does not decide
/// whether one stands for the other. Where some would do without others, those go that come first
/// in an order.
pub(crate) fn needed<K: Ord>(
    rules: &SiteRules,
    (url, other): (&CrawlUrl, &CrawlUrl),
    order: impl Fn(&RuleId) -> K,
) -> Vec<RuleId> {
    let mut kept: Vec<RuleId> = Vec::new();
    let mut without: Vec<RuleId> = Vec::new();
    loop {
        let [one, two] = [url, other].map(|url| rewrite_without(rules, url, &without));
        let applied = [one, two].into_iter().flatten().flat_map(|(_, applied)| applied);
        let mut applied: Vec<RuleId> = applied.collect();
        applied.sort_by_key(&order);
        applied.dedup();
        let next = applied.iter().find(|rule| !kept.contains(rule)).copied();
        let Some(next) = next.filter(|_| without.len() < NEEDLESS_MAX) else { return applied };
        without.push(next);
        let [one, two] = [url, other].map(|url| {
            let rewritten = rewrite_without(rules, url, &without);
            rewritten.map_or_else(|| Cow::Borrowed(url), |(key, _)| Cow::Owned(key))
        });
        if one != two {
            without.pop();
            kept.push(next);
        }
    }
}

/// Rewrites as [`rewrite`] does, by all rules but some. Each rule is named once, in the order of
/// their first application.
pub(crate) fn rewrite_without(
    rules: &SiteRules,
    url: &CrawlUrl,
    without: &[RuleId],
) -> Option<(CrawlUrl, Vec<RuleId>)> {
    let mut applied = Vec::new();
    let mut key: Option<CrawlUrl> = None;
    let mut rounds = 0;
    loop {
        let mut form = Form::of(key.as_ref().unwrap_or(url), without);
        let before = applied.len();
        while rules.round(&mut form, &mut applied) {
            rounds += 1;
            if rounds >= ROUNDS_MAX {
                return None;
            }
        }
        if applied.len() == before {
            break;
        }
        let (built, same) = form.build()?;
        key = Some(built);
        if same {
            break;
        }
        // Parsing changed the text (a dot segment appeared): the rules see the normal form too.
    }
    // One that drops several parameters, or was applied in several rounds, counts once.
    let mut at = 1;
    while at < applied.len() {
        if applied[..at].contains(&applied[at]) {
            applied.remove(at);
        } else {
            at += 1;
        }
    }
    key.filter(|key| key != url).map(|key| (key, applied))
}

/// The rule set in force; readers never wait.
#[derive(Debug, Default)]
pub struct LiveRules {
    current: ArcSwap<RuleSet>,
}

impl LiveRules {
    /// Starts with a rule set: an empty one, or what the last run left.
    pub fn new(set: RuleSet) -> Self {
        LiveRules { current: ArcSwap::from_pointee(set) }
    }

    /// Returns the set in force; take it once per page.
    pub fn snapshot(&self) -> Arc<RuleSet> {
        self.current.load_full()
    }

    /// Puts another set in force, for pages that begin from now on.
    pub fn publish(&self, set: RuleSet) {
        self.current.store(Arc::new(set));
    }
}
