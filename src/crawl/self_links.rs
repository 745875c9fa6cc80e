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
use crate::dust::{
    Fetched, Finding, LedBack, RuleKind, RuleSet, Scope, form_of_link, form_of_page, names_page,
};
use crate::url::query::{name_of, parameters};
use crate::url::{CrawlUrl, Fingerprint};

/// Pairs of forms that are counted, some 150 bytes each and up to 2 KiB for those that lead back.
const FORMS_MAX: usize = 10_000;

/// Pages with a link that led back to them, from which on a rule is tried; and links that led
/// elsewhere for each of which there must be so many pages more.
const PAGES_MIN: usize = 3;
const PAGES_FOR_OTHERS: usize = 16;

/// Such pages where the links name the page: rules that rewrite addresses say the same with fewer,
/// if it is so wherever the link is found; and one link that led elsewhere is enough against it.
const NAMING_PAGES_MIN: usize = 8;

/// Pages that are told apart.
const PAGES_MAX: usize = 64;

/// Links that led elsewhere, beyond which no more are looked at.
const OTHERS_MAX: usize = PAGES_MAX / PAGES_FOR_OTHERS;

/// How links of one form on pages of another one are counted.
#[derive(Clone, Copy, Debug)]
struct Count {
    /// Hash of both forms, and of their host.
    forms: u64,
    /// The links name the page.
    is_naming: bool,
}

impl Count {
    /// Returns how many links that led elsewhere are enough against a rule.
    fn others_max(self) -> usize {
        if self.is_naming { 1 } else { OTHERS_MAX }
    }

    /// Returns how many pages speak for a rule, where so many links led elsewhere.
    fn pages_needed(self, elsewhere: usize) -> usize {
        let least = if self.is_naming { NAMING_PAGES_MIN } else { PAGES_MIN };
        least + PAGES_FOR_OTHERS * elsewhere
    }
}

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
    fn is_open(&mut self, count: Count) -> bool {
        self.led
            .get(&count.forms)
            .is_none_or(|led| led.elsewhere < count.others_max() && led.back.len() < PAGES_MAX)
    }

    /// Takes in where a link of these forms led; returns the number of pages that speak for a rule,
    /// each time that there are twice as many.
    fn note(&mut self, count: Count, page: Fingerprint, leads_back: bool) -> Option<usize> {
        let led = self.led.get_or_insert_mut(count.forms, Led::default);
        if !leads_back {
            led.elsewhere += 1;
            return None;
        }
        let is_new = led.back.insert(page);
        let pages = led.back.len();
        let needed = count.pages_needed(led.elsewhere);
        let is_time = pages >= needed && (pages == needed || pages.is_power_of_two());
        (is_new && is_time).then_some(pages)
    }
}

impl State {
    /// Takes note of whether a link led back to the page that it was found on, given what it
    /// showed, or what it redirects to; a rule that says so is told to the miner.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn note_self_link(
        &mut self,
        (url, via): (&CrawlUrl, &CrawlUrl),
        (shown, redirect): (Fetched, Option<&CrawlUrl>),
        now: Timestamp,
    ) -> Result<(), DbError> {
        let is_asked = self.enforces && self.configured.dust.miner.self_links;
        let says_what = shown.can_testify() || redirect.is_some();
        let can_tell = says_what && url != via && url.origin() == via.origin();
        if !is_asked || !can_tell {
            return Ok(());
        }
        let Some((page, link)) = form_of_page(via).zip(form_of_link(url, via)) else {
            return Ok(());
        };
        let host = url.host();
        let forms = xxh3_64(format!("{} {page} {link}", host.as_str()).as_bytes());
        let count = Count { forms, is_naming: names_page(url, via) };
        if !self.self_links.is_open(count) {
            return Ok(());
        }
        let by = via.fingerprint();
        let Some((known, _)) = self.evidence_at(by)? else { return Ok(()) };
        let leads_back = match (redirect, known.judged_by(shown)) {
            (Some(to), _) => {
                // What it redirects to may turn out to be another form of this page.
                let finding = leads_to(&self.rules.snapshot(), to, via);
                if finding != Finding::Same || !known.is_page() {
                    return Ok(());
                }
                true
            }
            (None, Finding::Same) => !known.hides(shown) && !known.differs_around(shown),
            (None, Finding::Failed) => false,
            (None, Finding::Unclear) if known.was_apart(shown) => false,
            (None, Finding::Unclear) => return Ok(()),
        };
        if let Some(pages) = self.self_links.note(count, by, leads_back) {
            let found = LedBack {
                rule: RuleKind::SelfLink { page, link },
                scope: Scope { host: Some(host.clone()), ..Scope::default() },
                pages: u32::try_from(pages).unwrap_or(u32::MAX),
                link: url.clone(),
                page: via.clone(),
            };
            self.tell(Tell::SelfLinks(Box::new(found), now));
        }
        Ok(())
    }
}

/// Tells whether what a link redirects to is the page that has the link, or another form of it by
/// the rules in force. By those on trial, and by links that lead back, it may be.
pub(super) fn leads_to(set: &RuleSet, to: &CrawlUrl, page: &CrawlUrl) -> Finding {
    if to == page {
        return Finding::Same;
    }
    match set.uniting(to, page) {
        Some(rules) if !set.must_prove(to, &rules) => Finding::Same,
        Some(_) => Finding::Unclear,
        None if set.led_back(to, page).is_some() => Finding::Unclear,
        None => Finding::Failed,
    }
}

/// Returns true where one of two addresses may be another form of the page at the other: the first
/// part of a topic has its number there and not here. Where both say something else of one
/// parameter they are two pages.
pub(super) fn may_be_form(one: &CrawlUrl, other: &CrawlUrl) -> bool {
    let [own, others]: [Vec<&str>; 2] =
        [one, other].map(|url| parameters(url.query().unwrap_or_default()).collect());
    let is_said = |part: &str| others.iter().any(|other| name_of(other) == name_of(part));
    one.origin() == other.origin()
        && one.path() == other.path()
        && own.iter().all(|part| others.contains(part) || !is_said(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_of_a_page_has_parameters_more_or_less_and_none_of_another_value() {
        let may_be = |one: &str, other: &str| {
            let url = |tail: &str| CrawlUrl::parse(&format!("http://a.example{tail}")).unwrap();
            may_be_form(&url(one), &url(other)) && may_be_form(&url(other), &url(one))
        };
        assert!(may_be("/topic/4", "/topic/4?page=1"));
        assert!(may_be("/topic?id=4&page=1", "/topic?view=all&id=4"));
        for (one, other) in [
            ("/topic/4", "/topic/5"),
            ("/topic?id=4", "/topic?id=5"),
            ("/topic?id=4", "/topic?id=5&page=1"),
        ] {
            assert!(!may_be(one, other), "{one} {other}");
        }
    }

    const OTHERS: Count = Count { forms: 1, is_naming: false };
    const NAMING: Count = Count { forms: 2, is_naming: true };

    /// Returns after which of some links a rule is told, and by how many pages.
    fn told(count: Count, links: impl Iterator<Item = (u128, bool)>) -> Vec<(usize, usize)> {
        let mut known = SelfLinks::default();
        let told = links.enumerate().filter_map(|(at, (page, leads_back))| {
            Some((at, known.note(count, Fingerprint(page), leads_back)?))
        });
        told.collect()
    }

    #[test]
    fn three_pages_speak_for_a_rule_whatever_links_they_have() {
        assert_eq!(told(OTHERS, (0..10).map(|_| (1, true))), [], "one page");
        let links = (0..20).map(|n| (n / 4, true));
        assert_eq!(
            told(OTHERS, links),
            [(8, 3), (12, 4)],
            "told again: it may not have been heard"
        );
    }

    #[test]
    fn links_that_lead_elsewhere_ask_for_more_pages_and_many_for_no_rule() {
        let links = (0..40).map(|n| (n, n != 2));
        assert_eq!(told(OTHERS, links), [(19, 19), (32, 32)]);
        let mut known = SelfLinks::default();
        for page in 0..OTHERS_MAX as u128 {
            assert!(known.is_open(OTHERS));
            assert_eq!(known.note(OTHERS, Fingerprint(page), false), None);
        }
        assert!(!known.is_open(OTHERS));
        assert!(known.is_open(NAMING));
    }

    #[test]
    fn where_links_name_their_page_more_pages_speak_for_a_rule_and_none_against() {
        assert_eq!(told(NAMING, (0..20).map(|n| (n, true))), [(7, 8), (15, 16)]);
        let mut known = SelfLinks::default();
        assert_eq!(known.note(NAMING, Fingerprint(1), false), None);
        assert!(!known.is_open(NAMING));
    }
}
