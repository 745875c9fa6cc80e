//! Which links lead back to the page they were found on: counted by their form and that of the
//! page, until enough pages speak for a rule.
//!
//! A link counts on each page that it leads back to, wherever it was met first: what a list links
//! to beside its entry, and redirects to that, stands on the entry as well.
//!
//! Bounded: the last [`FORMS_MAX`] pairs of forms and [`LINKS_MAX`] links, in memory; those of a
//! run before are counted anew.

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

/// Links of which it is remembered what they redirect to, and as many of which it is on which pages
/// they were met last; some 100 and 150 bytes each.
const LINKS_MAX: usize = 20_000;

/// Pages of a link of which this is remembered.
const MET_MAX: usize = 3;

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
    /// What links redirect to.
    redirects: LruCache<Fingerprint, Fingerprint>,
    /// The last pages with a link that was known before they were, from the first redirect or the
    /// first rule of a host on.
    met_on: LruCache<Fingerprint, [Option<Fingerprint>; MET_MAX]>,
    /// Links of the page that is settled which are known to redirect to it, and which that is.
    back: Vec<(CrawlUrl, Fingerprint)>,
}

impl Default for SelfLinks {
    fn default() -> Self {
        let links = NonZeroUsize::new(LINKS_MAX).unwrap_or(NonZeroUsize::MIN);
        SelfLinks {
            led: LruCache::sparse(NonZeroUsize::new(FORMS_MAX).unwrap_or(NonZeroUsize::MIN)),
            redirects: LruCache::sparse(links),
            met_on: LruCache::sparse(links),
            back: Vec::new(),
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
    /// Returns true where links are looked at for those that lead back.
    fn looks_for_self_links(&self) -> bool {
        self.enforces && self.configured.dust.miner.self_links
    }

    /// Takes note of a link on a page that was known before.
    pub(super) fn meet_again(
        &mut self,
        (url, own): (&CrawlUrl, Fingerprint),
        (page, by): (&CrawlUrl, Fingerprint),
    ) {
        let has_rules = || self.rules.snapshot().knows_self_links(page.host_str());
        let is_of_use = !self.self_links.redirects.is_empty() || has_rules();
        if !is_of_use || own == by || url.host_str() != page.host_str() {
            return;
        }
        let links = &mut self.self_links;
        if links.redirects.peek(&own) == Some(&by) {
            links.back.push((url.clone(), by));
        }
        let pages = links.met_on.get_or_insert_mut(own, Default::default);
        if !pages.contains(&Some(by)) {
            pages.rotate_right(1);
            pages[0] = Some(by);
        }
    }

    /// Returns the last pages on which a known link was met.
    pub(super) fn met_on(&self, link: Fingerprint) -> impl Iterator<Item = Fingerprint> {
        self.self_links.met_on.peek(&link).copied().into_iter().flatten().flatten()
    }

    /// Takes note of where a page redirects to, which may be a page on which its own link was met;
    /// and, given what one shows, of links on it that are known to redirect to it.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn note_links_back(
        &mut self,
        page: &CrawlUrl,
        (shown, redirect): (Fetched, Option<&CrawlUrl>),
        now: Timestamp,
    ) -> Result<(), DbError> {
        let own = page.fingerprint();
        if let Some(to) = redirect.filter(|to| to.origin() == page.origin())
            && self.looks_for_self_links()
        {
            let by = to.fingerprint();
            self.self_links.redirects.put(own, by);
            if self.met_on(own).any(|met| met == by)
                && self.evidence_at(by)?.is_some_and(|(known, _)| known.is_page())
                && let Some(of) = self.forms_of(page, to)
            {
                self.count_link((page, to), of, true, now);
            }
        }
        for (link, by) in std::mem::take(&mut self.self_links.back) {
            // Those of a page that was told to nobody, as in trouble, may be left.
            if by == own
                && shown.is_page()
                && let Some(of) = self.forms_of(&link, page)
            {
                self.count_link((&link, page), of, true, now);
            }
        }
        Ok(())
    }

    /// Returns the forms of a page and of a link on it, and how they are counted; `None` where they
    /// have none, or it is not open whether such links lead back.
    fn forms_of(&mut self, url: &CrawlUrl, via: &CrawlUrl) -> Option<(String, String, Count)> {
        let (page, link) = form_of_page(via).zip(form_of_link(url, via))?;
        let forms = xxh3_64(format!("{} {page} {link}", url.host().as_str()).as_bytes());
        let count = Count { forms, is_naming: names_page(url, via) };
        self.self_links.is_open(count).then_some((page, link, count))
    }

    /// Counts a link by its form and that of its page; a rule that says so is told to the miner.
    fn count_link(
        &mut self,
        (url, via): (&CrawlUrl, &CrawlUrl),
        (page, link, count): (String, String, Count),
        leads_back: bool,
        now: Timestamp,
    ) {
        let Some(pages) = self.self_links.note(count, via.fingerprint(), leads_back) else {
            return;
        };
        let found = LedBack {
            rule: RuleKind::SelfLink { page, link },
            scope: Scope { host: Some(url.host()), ..Scope::default() },
            pages: u32::try_from(pages).unwrap_or(u32::MAX),
            link: url.clone(),
            page: via.clone(),
        };
        self.tell(Tell::SelfLinks(Box::new(found), now));
    }

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
        let says_what = shown.can_testify() || redirect.is_some();
        let can_tell = says_what && url != via && url.origin() == via.origin();
        if !can_tell || !self.looks_for_self_links() {
            return Ok(());
        }
        let Some(of) = self.forms_of(url, via) else { return Ok(()) };
        let Some((known, _)) = self.evidence_at(via.fingerprint())? else { return Ok(()) };
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
        self.count_link((url, via), of, leads_back, now);
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
    use crate::crawl::readmit::tests::{done, open, record};
    use crate::db::families::urls;
    use crate::db::{Batch, MemoryEnv};
    use crate::dust::Text;

    /// Short links to entries of a blog, each met on a list before its entry, proposed no rule: an
    /// entry has that link as well.
    #[test]
    fn a_link_counts_on_the_page_that_it_redirects_to_wherever_it_was_met_first() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        state.enforces = true;
        let url = |tail: &str| CrawlUrl::parse(&format!("http://a.example{tail}")).unwrap();
        let shown = Fetched::Page { text: Text::Unknown, digest: Some(1), bag: None, junk: false };
        let counted = |state: &State| -> usize {
            state.self_links.led.iter().map(|(_, led)| led.back.len()).sum()
        };
        let redirect = |state: &mut State, short: &CrawlUrl, entry: &CrawlUrl| {
            let led = (Fetched::redirect(entry), Some(entry));
            state.note_links_back(short, led, now).unwrap();
        };
        let meet = |state: &mut State, short: &CrawlUrl, page: &CrawlUrl, shown: Fetched| {
            let met = (short, short.fingerprint());
            state.meet_again(met, (page, page.fingerprint()));
            state.note_links_back(page, (shown, None), now).unwrap();
            let mut batch = Batch::default();
            let row = record(page, None, done(shown, false));
            urls::put(&mut batch, &state.db, page.fingerprint(), &row);
            state.commit(batch, now).unwrap();
        };
        let list = url("/list");
        let of = |n: u32| (url(&format!("/s/{n}")), url(&format!("/entry/{}", n + 20)));
        for n in 1..=4 {
            let (short, entry) = of(n);
            redirect(&mut state, &short, &entry);
            meet(&mut state, &short, &list, shown);
            meet(&mut state, &short, &entry, shown);
            assert_eq!(counted(&state), n as usize, "the link came first");
        }
        for n in 5..=8 {
            let (short, entry) = of(n);
            meet(&mut state, &short, &entry, shown);
            meet(&mut state, &short, &list, shown);
            assert_eq!(counted(&state), n as usize - 1);
            redirect(&mut state, &short, &entry);
            assert_eq!(counted(&state), n as usize, "the entry came first");
        }
        // An error page has the links of its site, and is no page.
        let (short, entry) = of(9);
        redirect(&mut state, &short, &entry);
        meet(&mut state, &short, &entry, Fetched::Gone);
        state.note_links_back(&entry, (shown, None), now).unwrap();
        let (short, entry) = of(10);
        meet(&mut state, &short, &entry, Fetched::Gone);
        redirect(&mut state, &short, &entry);
        assert_eq!(counted(&state), 8);
    }

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
