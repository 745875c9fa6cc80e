//! Lays out trials by draws: which pages of a site's sample each rule rewrites, and to what.
//!
//! A rule may rewrite only what other rules leave of a URL. What all of them leave is worked out
//! once for all trials of a site, and anew without a rule only where that rule takes part.

use std::collections::BTreeMap;

use super::apply::SiteRules;
use super::book::{Entry, RuleBook};
use super::evidence::{Doc, Page};
use super::fetched::{is_untold, speaks};
use super::live::{rewrite, rewrite_without};
use super::proven::Proven;
use super::rule::{Rule, RuleError, RuleId, RuleState};
use super::validate::Trial;
use crate::clock::Timestamp;
use crate::url::{CrawlUrl, Site};

/// Draws of one document in one trial: more would let one page speak for a whole site.
const DRAWS_PER_DOC: usize = 2;

/// The pages of a site that trials draw from.
struct Pool {
    pages: Vec<Drawable>,
    /// All rules of the site that are in force, on trial, or candidates.
    rules: SiteRules,
}

/// A page that can be drawn.
struct Drawable {
    url: CrawlUrl,
    doc: Option<Doc>,
    /// What all rules make of the URL, if anything, and which of them take part.
    rewritten: Option<(CrawlUrl, Vec<RuleId>)>,
}

impl Pool {
    /// Returns the URLs that a rule rewrites, with what it makes of each.
    fn draws(&self, rule: &Rule) -> Result<Vec<(CrawlUrl, CrawlUrl)>, RuleError> {
        let alone = SiteRules::compile([rule])?;
        let mut draws = Vec::new();
        let mut per_doc: BTreeMap<Doc, usize> = BTreeMap::new();
        for page in &self.pages {
            let Some(outcome) = self.outcome(page, rule.id, &alone) else { continue };
            if let Some(doc) = page.doc {
                let taken = per_doc.entry(doc).or_default();
                *taken += 1;
                if *taken > DRAWS_PER_DOC {
                    continue;
                }
            }
            draws.push((page.url.clone(), outcome));
        }
        Ok(draws)
    }

    /// Returns what a rule makes of a page's URL: alone, or, where it only meets what the others
    /// leave, after them.
    fn outcome(&self, page: &Drawable, rule: RuleId, alone: &SiteRules) -> Option<CrawlUrl> {
        let by_it = |url: &CrawlUrl| {
            let rewritten = alone.may_touch(url).then(|| rewrite(alone, url)).flatten();
            rewritten.map(|(outcome, _)| outcome)
        };
        by_it(&page.url).or_else(|| {
            let (form, by) = page.rewritten.as_ref()?;
            if by.contains(&rule) {
                by_it(&rewrite_without(&self.rules, &page.url, &[rule])?.0)
            } else {
                by_it(form)
            }
        })
    }
}

impl RuleBook {
    /// Puts candidates of one site on trial by draws where what they save is worth their probes.
    pub(super) fn try_by_draws(
        &mut self,
        site: &Site,
        candidates: Vec<RuleId>,
        now: Timestamp,
    ) -> Result<(), RuleError> {
        if candidates.is_empty() {
            return Ok(());
        }
        let pool = self.pool(site)?;
        for id in candidates {
            let Some(entry) = self.entries.get(id) else { continue };
            let trial = self.trial_of(entry, &pool)?;
            let known = self.known_share(&trial);
            let Some(entry) = self.entries.get_mut(id) else { continue };
            if self.settings.validate.is_worth(&entry.rule.evidence, entry.rule.source, known) {
                entry.trial = Some(trial);
                self.become_state(id, RuleState::Shadow, "on trial", now);
            }
        }
        Ok(())
    }

    /// Lays out the trials of some rules, of those that have none yet.
    pub(super) fn lay_out(&mut self, rules: &[RuleId]) -> Result<(), RuleError> {
        let mut untried: BTreeMap<Site, Vec<RuleId>> = BTreeMap::new();
        for id in rules {
            if let Some(entry) = self.entries.get(*id).filter(|entry| entry.trial.is_none()) {
                untried.entry(entry.rule.site.clone()).or_default().push(*id);
            }
        }
        for (site, rules) in untried {
            let pool = self.pool(&site)?;
            for id in rules {
                let Some(entry) = self.entries.get(id) else { continue };
                let trial = self.trial_of(entry, &pool)?;
                if let Some(entry) = self.entries.get_mut(id) {
                    entry.trial = Some(trial);
                }
            }
        }
        Ok(())
    }

    fn pool(&self, site: &Site) -> Result<Pool, RuleError> {
        let lives =
            |state| matches!(state, RuleState::Enforced | RuleState::Shadow | RuleState::Candidate);
        let rules = self.entries.of_site(site).map(|entry| &entry.rule);
        let rules = SiteRules::compile(rules.filter(|rule| lives(rule.state)))?;
        let is_drawn = |page: &&Page| speaks(page) || self.draws_untold && is_untold(page);
        let pages = self.miner.window(site).into_iter().flat_map(|window| &window.pages);
        let drawable = |page: &Page| {
            let url = CrawlUrl::parse(&page.url).ok()?;
            let rewritten = rules.may_touch(&url).then(|| rewrite(&rules, &url)).flatten();
            Some(Drawable { doc: page.doc, url, rewritten })
        };
        let pages = pages.filter(is_drawn).filter_map(drawable).collect();
        Ok(Pool { pages, rules })
    }

    fn trial_of(&self, entry: &Entry, pool: &Pool) -> Result<Trial, RuleError> {
        let (rule, settings) = (&entry.rule, &self.settings.validate);
        let credit = settings.credit(&rule.evidence, rule.source);
        let draws_min = settings.draws_min(rule.source);
        let mut trial = Trial::new(rule.id, pool.draws(rule)?, credit, draws_min);
        trial.proven = Proven::of(&rule.rule);
        Ok(trial)
    }

    /// Returns the share of a trial's draws whose outcome is known.
    fn known_share(&self, trial: &Trial) -> f64 {
        let known = trial.outcomes().filter(|outcome| self.known(outcome).is_some()).count();
        known as f64 / trial.waiting().max(1) as f64
    }
}
