//! Which links lead back to the page they were found on: counted by their form and that of the
//! page, until enough pages speak for a rule.
//!
//! Bounded: the last [`FORMS_MAX`] pairs of forms, in memory; those of a run before are counted
//! anew.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use lru::LruCache;
use xxhash_rust::xxh3::xxh3_64;

use super::learner::Tell;
use super::state::State;
use crate::clock::Timestamp;
use crate::db::DbError;
use crate::dust::{Fetched, Finding, RuleKind, Scope, form_of_link, form_of_page, names_page};
use crate::url::{CrawlUrl, Fingerprint};

/// Pairs of forms that are counted, some 150 bytes each and up to 2 KiB for those that lead back.
const FORMS_MAX: usize = 10_000;

/// Pages with a link that led back to them, from which on a rule is tried; and links that led
/// elsewhere for each of which there must be so many pages more.
const PAGES_MIN: usize = 3;
const PAGES_FOR_OTHERS: usize = 16;

/// Pages that are told apart.
const PAGES_MAX: usize = 64;

/// Links that led elsewhere, beyond which no more are looked at.
const OTHERS_MAX: usize = PAGES_MAX / PAGES_FOR_OTHERS;

/// Where links of one form on pages of another one led.
#[derive(Debug, Default)]
struct Led {
    /// Pages to which one led back.
    back: BTreeSet<Fingerprint>,
    /// Links that led to another page.
    elsewhere: usize,
}

/// Where links led, by their form and that of their page.
#[derive(Debug)]
pub(super) struct SelfLinks {
    led: LruCache<u64, Led>,
}

impl Default for SelfLinks {
    fn default() -> Self {
        SelfLinks {
            led: LruCache::sparse(NonZeroUsize::new(FORMS_MAX).unwrap_or(NonZeroUsize::MIN)),
        }
    }
}

impl SelfLinks {
    /// Returns true where it is open whether links of these forms lead back.
    fn is_open(&mut self, forms: u64) -> bool {
        self.led
            .get(&forms)
            .is_none_or(|led| led.elsewhere < OTHERS_MAX && led.back.len() < PAGES_MAX)
    }

    /// Takes in where a link of these forms led; returns the number of pages that speak for a rule,
    /// each time that there are twice as many.
    fn note(&mut self, forms: u64, page: Fingerprint, leads_back: bool) -> Option<usize> {
        let led = self.led.get_or_insert_mut(forms, Led::default);
        if !leads_back {
            led.elsewhere += 1;
            return None;
        }
        let is_new = led.back.insert(page);
        let pages = led.back.len();
        let needed = PAGES_MIN + PAGES_FOR_OTHERS * led.elsewhere;
        let is_time = pages >= needed && (pages == needed || pages.is_power_of_two());
        (is_new && is_time).then_some(pages)
    }
}

impl State {
    /// Takes note of whether a link led back to the page that it was found on, given what it
    /// showed; a rule that says so is told to the miner.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn note_self_link(
        &mut self,
        (url, via): (&CrawlUrl, &CrawlUrl),
        shown: Fetched,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let is_asked = self.enforces && self.configured.dust.miner.self_links;
        let can_tell = shown.can_testify() && url != via && url.origin() == via.origin();
        // Of a link that names the page that it is, rules say as much that rewrite addresses.
        if !is_asked || !can_tell || names_page(url, via) {
            return Ok(());
        }
        let Some((page, link)) = form_of_page(via).zip(form_of_link(url, via)) else {
            return Ok(());
        };
        let host = url.host();
        let forms = xxh3_64(format!("{} {page} {link}", host.as_str()).as_bytes());
        if !self.self_links.is_open(forms) {
            return Ok(());
        }
        let by = via.fingerprint();
        let Some((known, _)) = self.evidence_at(by)? else { return Ok(()) };
        let leads_back = match known.judged_by(shown) {
            Finding::Same => !known.hides(shown) && !known.differs_around(shown),
            Finding::Failed => false,
            Finding::Unclear => return Ok(()),
        };
        if let Some(pages) = self.self_links.note(forms, by, leads_back) {
            let rule = RuleKind::SelfLink { page, link };
            let scope = Scope { host: Some(host.clone()), ..Scope::default() };
            let pages = u32::try_from(pages).unwrap_or(u32::MAX);
            self.tell(Tell::SelfLinks(host.site(), (rule, scope), pages, now));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns after which of some links a rule is told, and by how many pages.
    fn told(links: impl Iterator<Item = (u128, bool)>) -> Vec<(usize, usize)> {
        let mut known = SelfLinks::default();
        let told = links.enumerate().filter_map(|(at, (page, leads_back))| {
            Some((at, known.note(1, Fingerprint(page), leads_back)?))
        });
        told.collect()
    }

    #[test]
    fn three_pages_speak_for_a_rule_whatever_links_they_have() {
        assert_eq!(told((0..10).map(|_| (1, true))), [], "one page");
        let links = (0..20).map(|n| (n / 4, true));
        assert_eq!(told(links), [(8, 3), (12, 4)], "told again: it may not have been heard");
    }

    #[test]
    fn links_that_lead_elsewhere_ask_for_more_pages_and_many_for_no_rule() {
        let links = (0..40).map(|n| (n, n != 2));
        assert_eq!(told(links), [(19, 19), (32, 32)]);
        let mut known = SelfLinks::default();
        for page in 0..OTHERS_MAX as u128 {
            assert!(known.is_open(1));
            assert_eq!(known.note(1, Fingerprint(page), false), None);
        }
        assert!(!known.is_open(1));
        assert!(known.is_open(2));
    }
}
