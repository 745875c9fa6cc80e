//! Second looks at pages that stand for others: one look serves all doubts of its time.
//!
//! What a page says may change from one look to the next, or with the address under which it is
//! asked for: a cache keeps a copy for each address, with the teasers, the clock and the name of
//! the server of the moment when it was made. Asked for again under its own address, such a page
//! stands still, and each form of it seems to be another page. So a page is looked at under an
//! address that means the same, with one parameter more that means nothing: what differs then is no
//! part of what the page is about.
//!
//! An address that is no page, or another one, says nothing. Nor does one that is answered with
//! words of its own, the same under each such address, as a note that something is filtered. The
//! page is looked at under its own address then. Where such words were met once, or two such
//! addresses were no page, the pages of the site are asked for with empty parameters, by which even
//! strict programs find them; and where that is no page either, under their own addresses.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;

use lru::LruCache;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Audited;
use crate::clock::Timestamp;
use crate::content::{Kept, Vocabulary};
use crate::crawl::beside::{Beside, KINDS};
use crate::crawl::evidence::Marks;
use crate::crawl::learn::{Asker, ProbeFlight};
use crate::crawl::state::State;
use crate::crawl::visit::PageFacts;
use crate::db::{Batch, DbError};
use crate::dust::Fetched;
use crate::url::query::{Separator, name_of, parameters};
use crate::url::{CrawlUrl, Fingerprint, Host, Site};

/// Second looks at the pages of a host in any case; one more for so many of its pages that were
/// fetched, and one for so many of its URLs that rules hide. Where pages differ from look to look
/// and rules save nothing, each audit asks for one, and rules would cost a fifth of a crawl.
const LOOKS_FREE: u64 = 64;
const FETCHED_FOR_LOOK: u64 = 40;
const HIDDEN_FOR_LOOK: u64 = 8;

/// How long a second look at a page serves doubts that come after it: pages change.
const LOOK_SERVES: std::time::Duration = std::time::Duration::from_secs(60);

/// Audits that wait for one look.
const AWAITING_MAX: usize = 64;

/// Looks that are remembered.
const LOOKS_KEPT: usize = 64;

/// Pages whose words are remembered since they were fetched, 2 KiB each, or 4 with many numbers.
const VOCABULARIES_KEPT: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1_023);

/// Sites of which it is known how they answer to other addresses of their pages.
const SITES_MAX: usize = 10_000;

/// The parameter that means nothing: what runs in browsers adds it to get past caches (jQuery does
/// where it is told `cache: false`), so that servers know it.
const MEANINGLESS: &str = "_";

/// Numbers that it is given: ten digits, which hardly any text has.
const NUMBERS: std::ops::Range<u64> = 1_000_000_000..10_000_000_000;

/// Looks under other addresses of one kind that were no page, or another one, after which a site is
/// not asked for such any more, where no more of them were the page.
const REFUSED_MAX: u32 = 2;

/// Pages that differed under two other addresses, from which on one is enough to tell that pages of
/// their site change.
const CHANGING_MIN: u32 = 2;

/// What a look at a page showed.
#[derive(Clone, Debug)]
pub(in crate::crawl) struct Look {
    pub(in crate::crawl) shown: Fetched,
    pub(in crate::crawl) marks: Marks,
    /// Its words and numbers.
    pub(in crate::crawl) words: Option<Vocabulary>,
    /// What stands beside its text.
    pub(in crate::crawl) beside: Option<Beside>,
}

impl Look {
    /// Returns what a visit showed, given what is known of the page that it led to, if any.
    pub(in crate::crawl) fn of(shown: Fetched, facts: Option<&PageFacts>) -> Look {
        let analysis = facts.and_then(|facts| facts.analysis.as_ref());
        Look {
            shown,
            marks: facts.map(Marks::of).unwrap_or_default(),
            words: analysis.map(|analysis| analysis.vocabulary.clone()),
            beside: facts.and_then(Beside::of),
        }
    }

    /// Returns true for what may be the page that was known.
    fn may_be(&self, known: &Look) -> bool {
        matches!(self.shown, Fetched::Page { .. }) && !known.shown.is_contradicted_by(self.shown)
    }

    /// Returns true where two looks say the same, word for word.
    fn says_what(&self, other: &Look) -> bool {
        match self.marks.wording.zip(other.marks.wording) {
            Some((own, others)) => own.kept_at(&others) == Some(Kept::All),
            None => self.shown.stands_still(other.shown),
        }
    }
}

/// What makes another address of a page that means the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::crawl) enum Addition {
    /// A parameter that means nothing.
    #[default]
    Parameter,
    /// Separators with nothing between them.
    Separators,
}

impl Addition {
    /// Returns what is added where this one does not serve.
    fn next(self) -> Option<Addition> {
        match self {
            Addition::Parameter => Some(Addition::Separators),
            Addition::Separators => None,
        }
    }

    /// Returns the first or the second address of a page with this added, or with separators where
    /// it has such a parameter itself; `None` where that is too long.
    fn address_of(self, page: &CrawlUrl, is_second: bool) -> Option<CrawlUrl> {
        let query = page.query().unwrap_or_default();
        // One that nothing follows is no part of the last value.
        let separator = char::from(Separator::of(query.trim_end_matches(';')));
        let has_own = || parameters(query).any(|part| name_of(part) == MEANINGLESS);
        let query = match self {
            Addition::Parameter if !has_own() => {
                let drawn = xxh3_64_with_seed(page.as_str().as_bytes(), u64::from(is_second));
                let number = NUMBERS.start + drawn % (NUMBERS.end - NUMBERS.start);
                match query {
                    "" => format!("{MEANINGLESS}={number}"),
                    query => format!("{query}{separator}{MEANINGLESS}={number}"),
                }
            }
            Addition::Parameter | Addition::Separators => {
                // With one alone, or with a bare question mark, a form of the page may be linked.
                let separators = if is_second { 3 } else { 2 };
                query.chars().chain(std::iter::repeat_n(separator, separators)).collect()
            }
        };
        let mut other = page.as_url().clone();
        other.set_query(Some(&query));
        CrawlUrl::from_url(other).ok()
    }
}

/// Under which address a page is looked at.
#[derive(Clone, Debug)]
pub(in crate::crawl) enum Under {
    /// Its own, after it had shown this with something added.
    Own(Option<(Addition, Box<Look>)>),
    /// One that should mean the same, after it had shown this under another such one.
    Other(Addition, Option<Box<Look>>),
}

impl Under {
    /// Returns the same for a page that a redirect has led back to: one that does is no other
    /// address of it.
    pub(in crate::crawl) fn led_back(self) -> Under {
        match self {
            Under::Other(addition, _) => {
                Under::Own(Some((addition, Box::new(Look::of(Fetched::Gone, None)))))
            }
            own @ Under::Own(_) => own,
        }
    }
}

/// How a site answers to addresses of its pages that should mean the same.
#[derive(Clone, Copy, Debug)]
struct Manners {
    /// What makes such addresses; `None` where nothing does.
    addition: Option<Addition>,
    /// Such looks that were the page.
    answered: u32,
    /// Such looks that were not, while the page was what it had been.
    refused: u32,
    /// Pages that said other words under each of two such addresses.
    changing: u32,
}

impl Default for Manners {
    fn default() -> Self {
        Manners::by(Some(Addition::default()))
    }
}

/// What follows from a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// It is known what the page shows.
    Known,
    /// The page is looked at under one more address that should mean the same.
    Other,
    /// It is looked at under its own.
    Own,
}

impl Manners {
    /// Returns what is known of addresses that this makes, before one was asked for.
    fn by(addition: Option<Addition>) -> Manners {
        Manners { addition, answered: 0, refused: 0, changing: 0 }
    }

    /// Takes in a look, given what is known of the page.
    fn note(&mut self, known: &Look, look: &Look, under: &Under) -> Next {
        match under {
            Under::Own(before) => {
                if let Some((addition, before)) = before.as_ref().filter(|_| look.may_be(known)) {
                    self.note_own(*addition, before, known, look);
                }
                Next::Known
            }
            Under::Other(..) if !look.may_be(known) => Next::Own,
            Under::Other(addition, before) => {
                let is_current = self.addition == Some(*addition);
                self.answered += u32::from(is_current);
                match before {
                    _ if look.says_what(known) => Next::Known,
                    // Either it was edited, or such addresses have words of their own.
                    Some(before) if look.says_what(before) => Next::Own,
                    Some(_) => {
                        self.changing += u32::from(is_current);
                        Next::Known
                    }
                    None if is_current && self.changing >= CHANGING_MIN => Next::Known,
                    None => Next::Other,
                }
            }
        }
    }

    /// Takes in that a page shows itself under its own address, and had shown `before` under one
    /// that this addition made.
    fn note_own(&mut self, addition: Addition, before: &Look, known: &Look, look: &Look) {
        // Looks may be under way when it is found that such addresses do not serve.
        if self.addition != Some(addition) {
            return;
        }
        let mut is_misleading = false;
        if before.may_be(known) {
            is_misleading = look.says_what(known);
        } else {
            // That nothing answers is no answer.
            self.refused += u32::from(before.shown != Fetched::Unavailable);
        }
        if is_misleading || self.refused >= REFUSED_MAX && self.refused > self.answered {
            *self = Manners::by(addition.next());
        }
    }
}

impl Next {
    /// Returns under which address a page is looked at that has shown this under one; `None` where
    /// it is known what it shows.
    fn after(self, under: &Under, look: &Look) -> Option<Under> {
        let Under::Other(addition, _) = under else { return None };
        let before = || Box::new(look.clone());
        match self {
            Next::Known => None,
            Next::Other => Some(Under::Other(*addition, Some(before()))),
            Next::Own => Some(Under::Own(Some((*addition, before())))),
        }
    }
}

/// Second looks at pages that stand for others: one look serves all doubts of that time.
#[derive(Debug)]
pub(in crate::crawl) struct Looks {
    /// Audits that wait for a look, by the page that is looked at.
    awaiting: HashMap<Fingerprint, Vec<Audited>>,
    /// What the last looks showed, the newest last.
    shown: VecDeque<(Timestamp, Fingerprint, Look)>,
    /// How sites answer to other addresses of their pages.
    manners: HashMap<Site, Manners>,
    /// What pages of sites with rules said when they were fetched, as far as it is remembered.
    said: LruCache<Fingerprint, Vocabulary>,
    /// Second looks at pages of hosts in this run.
    taken: HashMap<Host, u64>,
}

impl Default for Looks {
    fn default() -> Self {
        Looks {
            awaiting: HashMap::new(),
            shown: VecDeque::new(),
            manners: HashMap::new(),
            said: LruCache::sparse(VOCABULARIES_KEPT),
            taken: HashMap::new(),
        }
    }
}

impl Looks {
    /// Remembers what a page says, which others may be compared with.
    pub(in crate::crawl) fn note_said(&mut self, page: Fingerprint, said: &Vocabulary) {
        self.said.put(page, said.clone());
    }

    /// Counts a second look at a page of a host.
    pub(super) fn take(&mut self, host: Host) {
        if self.taken.len() < SITES_MAX || self.taken.contains_key(&host) {
            *self.taken.entry(host).or_default() += 1;
        }
    }

    /// Returns what a page said when it was fetched, if that is remembered.
    pub(super) fn said_by(&mut self, page: Fingerprint) -> Option<&Vocabulary> {
        self.said.get(&page)
    }

    /// Returns what a page showed when it was looked at lately.
    fn lately(&mut self, page: Fingerprint, now: Timestamp) -> Option<Look> {
        self.shown.retain(|(at, ..)| now.since(*at) <= LOOK_SERVES);
        let mut looks = self.shown.iter().rev();
        looks.find(|(_, looked_at, _)| *looked_at == page).map(|(.., look)| look.clone())
    }

    /// Notes what a look showed; returns the audits that waited for it.
    fn end(&mut self, page: Fingerprint, look: &Look, now: Timestamp) -> Vec<Audited> {
        if matches!(look.shown, Fetched::Page { .. }) {
            if self.shown.len() >= LOOKS_KEPT {
                self.shown.pop_front();
            }
            self.shown.push_back((now, page, look.clone()));
        }
        self.awaiting.remove(&page).unwrap_or_default()
    }

    /// Returns how a site answers; `None` where too many others are known.
    fn manners_of(&mut self, site: &Site) -> Option<&mut Manners> {
        if self.manners.len() >= SITES_MAX && !self.manners.contains_key(site) {
            return None;
        }
        Some(self.manners.entry(site.clone()).or_default())
    }
}

impl State {
    /// Returns true where one more second look at a page of this host costs no more than rules may.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn affords_look(&mut self, host: &Host) -> Result<bool, DbError> {
        let taken = self.looks.taken.get(host).copied().unwrap_or(0);
        if taken < LOOKS_FREE {
            return Ok(true);
        }
        let id = self.host_id(host)?;
        let fetched = self.host(id)?.map_or(0, |record| record.done);
        let hidden = self.hidden_of(host)?;
        Ok(taken < LOOKS_FREE + fetched / FETCHED_FOR_LOOK + hidden / HIDDEN_FOR_LOOK)
    }

    /// Fetches once more what stands for a URL that did not agree with it, unless that was done
    /// lately, is under way or is worth no look. It is said whether the two differ by more than
    /// pages do by themselves.
    pub(super) fn look_twice(
        &mut self,
        batch: &mut Batch,
        stands: &str,
        (told, differs): (Audited, bool),
        now: Timestamp,
    ) -> Result<(), DbError> {
        let Ok(stands) = CrawlUrl::parse(stands) else { return Ok(()) };
        let page = stands.fingerprint();
        // Between two looks at a form none that is older counts.
        if let Some(look) = self.looks.lately(page, now).filter(|_| !told.looks_at_form) {
            return self.verify(batch, told, &look, now);
        }
        let is_under_way = self.looks.awaiting.contains_key(&page);
        if !is_under_way && !self.affords_look(&stands.host())? {
            return self.tell_too_dear(told, differs, now);
        }
        let awaiting = self.looks.awaiting.entry(page).or_default();
        if awaiting.len() >= AWAITING_MAX {
            return self.tell_unsettled(told, now);
        }
        awaiting.push(told);
        if !is_under_way {
            let addition = self.addition_for(&stands.site());
            let under = addition.map_or(Under::Own(None), |addition| Under::Other(addition, None));
            self.ask_again(batch, &stands, under)?;
        }
        Ok(())
    }

    /// Returns what is added to addresses of a site so that its pages come past caches, if it is
    /// asked for them so.
    fn addition_for(&mut self, site: &Site) -> Option<Addition> {
        let looks_past_caches = self.configured.dust.validate.looks_past_caches;
        self.looks.manners_of(site).filter(|_| looks_past_caches)?.addition
    }

    /// Returns the address under which a page comes past caches, which is its own where its site is
    /// not asked for others; `None` where that may not be asked for.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn address_past_caches(
        &mut self,
        page: &CrawlUrl,
    ) -> Result<Option<CrawlUrl>, DbError> {
        let Some(addition) = self.addition_for(&page.site()) else {
            return Ok(Some(page.clone()));
        };
        match addition.address_of(page, false) {
            Some(other) if self.may_be_probed(&other)? => Ok(Some(other)),
            _ => Ok(None),
        }
    }

    fn ask_again(
        &mut self,
        batch: &mut Batch,
        page: &CrawlUrl,
        under: Under,
    ) -> Result<(), DbError> {
        let other = match &under {
            Under::Other(addition, before) => addition.address_of(page, before.is_some()),
            Under::Own(_) => None,
        };
        let other = match other {
            Some(other) if self.may_be_probed(&other)? => Some(other),
            _ => None,
        };
        let (url, under) = match (other, under) {
            (Some(other), under) => (other, under),
            (None, Under::Other(..)) => (page.clone(), Under::Own(None)),
            (None, own) => (page.clone(), own),
        };
        self.looks.take(page.host());
        let asker = Asker::Audit(page.fingerprint(), under);
        self.enqueue_probe(batch, &url, ProbeFlight { asker, hops: 0 })
    }

    /// Takes in what a second look at a page showed, and judges the audits that waited for it,
    /// unless the page must be looked at again.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn looked_at(
        &mut self,
        batch: &mut Batch,
        (page, under): (Fingerprint, Under),
        look: Look,
        now: Timestamp,
    ) -> Result<(), DbError> {
        if let Some(url) = self.url_of(page)?
            && let Some((shown, marks)) = self.evidence_at(page)?
            && let Some(manners) = self.looks.manners_of(&url.site())
        {
            let known = Look { shown, marks, words: None, beside: None };
            let next = manners.note(&known, &look, &under);
            tracing::debug!(%url, ?next, ?manners, "it was looked at again");
            if let Some(under) = next.after(&under, &look) {
                return self.ask_again(batch, &url, under);
            }
        }
        self.note_second_look(batch, page, (look.shown, look.marks))?;
        let waited = self.looks.end(page, &look, now);
        self.note_looks(&waited, &look);
        for audited in waited {
            self.verify(batch, audited, &look, now)?;
        }
        Ok(())
    }

    /// Judges an audit by what stands for its URL shows now, unless the URL is looked at again too.
    fn verify(
        &mut self,
        batch: &mut Batch,
        told: Audited,
        look: &Look,
        now: Timestamp,
    ) -> Result<(), DbError> {
        match self.look_at_form(batch, told, look)? {
            Some(told) => self.tell_verified(told, look, now),
            None => Ok(()),
        }
    }

    /// Notes how far a page was the same at a second look, once for all audits that waited for it.
    pub(super) fn note_looks(&mut self, waited: &[Audited], look: &Look) {
        let Some(first) = waited.first() else { return };
        // A page without numbers says nothing of whether they change.
        if let (Some(before), template) = first.stood
            && before.numbers != 0
            && let Some(kept) = look.marks.wording.and_then(|later| before.kept_at(&later))
        {
            self.checks.looks.kept_at_two_looks(template, kept);
        }
        if look.shown.is_page() {
            let (is_stable, words) =
                (first.known.stands_still(look.shown), first.known.differing(look.shown));
            self.checks.looks.looked_twice(&first.pair.0, is_stable, words);
            if look.words.is_some() {
                self.checks.looks.words_at_two_looks(&first.pair.0, is_stable && words == 0);
            }
        }
        if let Some(before) = waited.iter().find_map(|audited| audited.lacks) {
            let is_stable = look.marks.parts == Some(before);
            self.checks.looks.parts_at_two_looks(&first.pair.0, is_stable);
        }
        if !look.shown.is_page() || first.known.is_contradicted_by(look.shown) {
            return;
        }
        // Once for each kind, whichever of the audits had doubts of it.
        for kind in 0..KINDS {
            let mut kept = waited.iter().map(|told| told.beside.kept_at(look.marks.beside)[kind]);
            if let Some(is_stable) = kept.find_map(|kept| kept) {
                self.checks.looks.beside_at_two_looks(&first.pair.0, kind, is_stable);
            }
        }
    }

    /// Tells of the audits whose second look does not come to pass any more: their URLs were
    /// fetched, and speak only once.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn give_up_looks(&mut self, now: Timestamp) -> Result<(), DbError> {
        for audited in std::mem::take(&mut self.looks.awaiting).into_values().flatten() {
            self.tell_unsettled(audited, now)?;
        }
        // What stands for these was looked at.
        for (audited, look) in std::mem::take(&mut self.forms).into_values() {
            self.tell_verified(audited, &look, now)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Wording;
    use crate::crawl::readmit::tests::url;

    #[test]
    fn an_address_that_means_the_same_has_one_parameter_more() {
        let other = |page: &str, is_second| {
            let address = Addition::Parameter.address_of(&url(page), is_second)?;
            let query = address.query().unwrap_or_default().to_owned();
            let (before, number) = query.rsplit_once("_=").unwrap();
            assert!(NUMBERS.contains(&number.parse().unwrap()), "{query}");
            Some((before.to_owned(), number.to_owned()))
        };
        let (page, list) = ("http://a.example/p", "http://a.example/p?a=1&b=2");
        assert_eq!(other(page, false).unwrap().0, "");
        assert_eq!(other(list, false).unwrap().0, "a=1&b=2&");
        assert_eq!(other("http://a.example/p?a=1;b=2", false).unwrap().0, "a=1;b=2;");
        assert_ne!(other(page, false), other(page, true));
        let own = Addition::Parameter.address_of(&url("http://a.example/p?_=1"), false);
        assert_eq!(own.unwrap().query(), Some("_=1&&"), "it has such a one itself");
    }

    #[test]
    fn an_address_that_means_the_same_has_empty_parameters_more() {
        let others = |page: &str| {
            [false, true].map(|is_second| {
                let other = Addition::Separators.address_of(&url(page), is_second).unwrap();
                other.as_str().strip_prefix("http://a.example").unwrap().to_owned()
            })
        };
        assert_eq!(others("http://a.example/p"), ["/p?&&", "/p?&&&"]);
        assert_eq!(others("http://a.example/p?"), ["/p?&&", "/p?&&&"]);
        assert_eq!(others("http://a.example/p?a=1&b=2"), ["/p?a=1&b=2&&", "/p?a=1&b=2&&&"]);
        assert_eq!(others("http://a.example/p?a=1;b=2"), ["/p?a=1;b=2;;", "/p?a=1;b=2;;;"]);
        assert_eq!(others("http://a.example/p?a=1;b=2;")[0], "/p?a=1;b=2;;;");
    }

    fn look(wording: u32) -> Look {
        let text = crate::dust::Text::Main(crate::dust::Sketch { mins: [7; 16], shingles: 99 });
        let shown = Fetched::Page { text, digest: Some(wording.into()), bag: None, junk: false };
        let wording = Some(Wording { whole: wording, masked_whole: wording, ..Wording::default() });
        let marks = Marks { wording, ..Marks::default() };
        Look { shown, marks, words: None, beside: None }
    }

    fn no_page() -> Look {
        Look { shown: Fetched::Gone, marks: Marks::default(), words: None, beside: None }
    }

    /// Lets a page be looked at that shows this under its own address, and that under the first and
    /// the second other one with any addition; returns what is known in the end, and how many looks
    /// it took.
    fn looked(manners: &mut Manners, known: &Look, own: Look, others: [Look; 2]) -> (Look, u32) {
        looked_with(manners, known, &own, |_, is_second| others[usize::from(is_second)].clone())
    }

    /// The same, given what it shows with an addition, under the first or the second such address.
    fn looked_with(
        manners: &mut Manners,
        known: &Look,
        own: &Look,
        others: impl Fn(Addition, bool) -> Look,
    ) -> (Look, u32) {
        let first = manners.addition.map(|addition| Under::Other(addition, None));
        let (mut under, mut looks) = (first.unwrap_or(Under::Own(None)), 0);
        loop {
            let look = match &under {
                Under::Own(_) => own.clone(),
                Under::Other(addition, before) => others(*addition, before.is_some()),
            };
            looks += 1;
            under = match manners.note(known, &look, &under).after(&under, &look) {
                Some(under) => under,
                None => return (look, looks),
            };
        }
    }

    #[test]
    fn a_page_that_is_the_same_under_another_address_needs_one_look() {
        let mut manners = Manners::default();
        let (shown, looks) = looked(&mut manners, &look(1), look(1), [look(1), look(1)]);
        assert!(looks == 1 && shown.says_what(&look(1)));
    }

    /// A cache has a copy for each address: under its own one the page stood still, and all its
    /// forms were taken for other pages.
    #[test]
    fn what_changes_with_the_address_changes() {
        let mut manners = Manners::default();
        let mut looks = (0..5).map(|_| {
            let (shown, looks) = looked(&mut manners, &look(1), look(1), [look(2), look(3)]);
            assert!(!shown.says_what(&look(1)));
            looks
        });
        assert_eq!(looks.by_ref().collect::<Vec<_>>(), [2, 2, 1, 1, 1]);
    }

    #[test]
    fn words_that_all_other_addresses_have_say_nothing_of_the_page() {
        let mut manners = Manners::default();
        let (shown, looks) = looked(&mut manners, &look(1), look(1), [look(2), look(2)]);
        assert!(looks == 3 && shown.says_what(&look(1)));
        assert_eq!(manners.addition, Some(Addition::Separators), "others may have none");
        let (shown, looks) = looked(&mut manners, &look(1), look(1), [look(2), look(2)]);
        assert!(looks == 3 && shown.says_what(&look(1)) && manners.addition.is_none());
        let (shown, looks) = looked(&mut manners, &look(1), look(1), [look(2), look(2)]);
        assert!(looks == 1 && shown.says_what(&look(1)), "they are not asked for any more");
    }

    #[test]
    fn a_page_that_was_edited_says_nothing_of_other_addresses() {
        let mut manners = Manners::default();
        let (shown, looks) = looked(&mut manners, &look(1), look(2), [look(2), look(2)]);
        assert!(looks == 3 && shown.says_what(&look(2)));
        assert_eq!(manners.addition, Some(Addition::Parameter));
    }

    #[test]
    fn a_site_that_knows_no_other_addresses_is_asked_for_two_of_each_kind() {
        let mut manners = Manners::default();
        for expected in [2, 2, 2, 2, 1, 1] {
            let (shown, looks) = looked(&mut manners, &look(1), look(1), [no_page(), no_page()]);
            assert!(looks == expected && shown.says_what(&look(1)), "{looks}");
        }
        // Nor does it say anything where the page itself is gone.
        let mut manners = Manners::default();
        for _ in 0..3 {
            looked(&mut manners, &look(1), no_page(), [no_page(), no_page()]);
        }
        assert_eq!(manners.addition, Some(Addition::Parameter));
    }

    /// Copies of a cache had another counter for each address, and a parameter that the site did
    /// not know was no page of it: its counters stood still, and all forms were other pages.
    #[test]
    fn what_changes_with_the_address_of_a_strict_site_changes() {
        let mut manners = Manners::default();
        let shown = |addition, is_second| match (addition, is_second) {
            (Addition::Parameter, _) => no_page(),
            (Addition::Separators, false) => look(2),
            (Addition::Separators, true) => look(3),
        };
        let mut looks = (0..6).map(|_| {
            let (shown, looks) = looked_with(&mut manners, &look(1), &look(1), shown);
            (shown.says_what(&look(1)), looks)
        });
        let expected = [(true, 2), (true, 2), (false, 2), (false, 2), (false, 1), (false, 1)];
        assert_eq!(looks.by_ref().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_address_that_leads_back_to_the_page_is_no_other_one() {
        let mut manners = Manners::default();
        for _ in 0..2 {
            let under = Under::Other(Addition::Parameter, None).led_back();
            assert_eq!(manners.note(&look(1), &look(1), &under), Next::Known);
        }
        assert_eq!(manners.addition, Some(Addition::Separators));
        assert!(matches!(Under::Own(None).led_back(), Under::Own(None)));
    }

    #[test]
    fn a_look_that_was_under_way_says_nothing_of_another_addition() {
        let mut manners = Manners::by(Some(Addition::Separators));
        for _ in 0..3 {
            let before = Some((Addition::Parameter, Box::new(no_page())));
            manners.note(&look(1), &look(1), &Under::Own(before));
        }
        assert_eq!(manners.addition, Some(Addition::Separators));
    }
}
