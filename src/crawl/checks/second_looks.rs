//! What second looks at pages have shown of their sites: how far these change by themselves.
//!
//! A page that is not in every word like the one that stands for it may be another one, or the same
//! at another moment. So some pages are looked at twice, past caches, and what the looks say is
//! kept of each site, and of counters of each template.
//!
//! One site has pages that change at each look and others that never do, as a program's answers
//! beside files. Of the looks at all of it most are at the ones or the others, and say nothing of
//! the rest: what is looked at most would make a page that changes another page, or one that does
//! not the same. So where pages of one path, but for its numbers, have changed at their looks, the
//! pages of each path are judged by their own, as far as their words go.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::content::Kept;
use crate::crawl::beside;
use crate::crawl::judge::Distance;
use crate::dust::are_of_chance;
use crate::url::{CrawlUrl, Site};

/// Pages of a site count two where they changed at a second look, and less one where they did not:
/// from this sum on, the site is taken to change at each look, and up to that one to stand still.
const RESTLESS_MIN: i32 = 8;
const STEADY_MAX: i32 = -4;

/// The same, from where on it does for rules that are likely wrong: refuted for a page that
/// changed, they cost what they would have saved, and no page. So it is for a page that was looked
/// at twice itself.
const STEADY_FOR_DISTRUSTED: i32 = -2;

/// Second looks at pages of a site after which it is taken to change at each look where the sum is
/// still between both: a few words of chance are sometimes the same.
const UNDECIDED_LOOKS: u32 = 24;

/// Second looks at pages of a site, none of which has changed by a word, after which it is taken to
/// stand still altogether.
pub(in crate::crawl) const STILL_LOOKS: u32 = 8;

/// One in so many is looked at again all the same.
const RESTLESS_EVERY: u64 = 16;

/// How many times as many words as those by which two looks at a page differ may be chance: their
/// number is known to within a quarter.
const DIFFERS: f64 = 1.25;

/// Second looks at which pages of a site have shown the same, after which it is taken to do so.
const KEPT_MIN: u32 = 2;

/// The sum from where on pages of one path are judged apart from the others of their site; and the
/// one up to which their own looks say that they are among those that stand still.
const APART_MIN: i32 = 4;
const AMONG_STILL_MAX: i32 = -2;

/// Sites of which it is known whether their pages change at each look, and paths of each, 40 bytes
/// a path.
const SITES_MAX: usize = 10_000;
const PATHS_MAX: usize = 32;

/// Segments of a path by which it is told from others.
const SEGMENTS_MAX: usize = 4;

/// Second looks at pages of a template at which their numbers alone had changed, as those of a
/// counter do, from where on it is taken to be so with each; and one for so many at which they had
/// not that leaves it at that.
const COUNTERS_MIN: u32 = 3;
const COUNTERS_AMONG: u32 = 8;

/// Templates of which it is known whether their pages show a counter.
const TEMPLATES_MAX: usize = 20_000;

/// What is made of two pages that a rule takes for one and that have not the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crawl) enum Doubt {
    /// Nothing, until the one that stands for the other was looked at again.
    LooksTwice,
    /// The same page with another advertisement.
    IsSame,
    /// Two pages.
    IsOther,
}

/// What is known of sites and templates by second looks.
#[derive(Debug, Default)]
pub(in crate::crawl) struct SecondLooks {
    /// Of each site, how far its pages change.
    sites: HashMap<Site, OfSite>,
    /// Of each template, how often the numbers of its pages do.
    templates: HashMap<u64, Counters>,
}

/// What is known of a site.
#[derive(Clone, Debug, Default)]
struct OfSite {
    /// Of all its pages.
    all: Restless,
    /// Of those of each path, up to [`PATHS_MAX`], and of those beyond it.
    paths: Vec<(u64, Restless)>,
    others: Restless,
    /// Looks at words since the last at which some had changed.
    still_looks: u32,
    /// Whether second looks show the same parts.
    parts: Steadiness,
    /// Whether they show the same of each kind beside the text.
    beside: [Steadiness; beside::KINDS],
}

impl OfSite {
    fn looked_twice(&mut self, path: u64, is_stable: bool, words: u32) {
        self.all.looked_twice(is_stable, words);
        self.of_path_mut(path).looked_twice(is_stable, words);
    }

    /// Returns the place of a path. One that was looked at once makes room for it, as names of
    /// things do of which each has one page.
    fn of_path_mut(&mut self, path: u64) -> &mut Restless {
        if let Some(place) = self.paths.iter().position(|(known, _)| *known == path) {
            return &mut self.paths[place].1;
        }
        if self.paths.len() >= PATHS_MAX {
            let Some(place) = self.paths.iter().position(|(_, of)| of.looks <= 1) else {
                return &mut self.others;
            };
            let (_, gone) = self.paths.swap_remove(place);
            self.others.looked_twice(gone.sum < 0, gone.words);
        }
        &mut self.paths.push_mut((path, Restless::default())).1
    }

    /// Returns what is known of the pages of a path.
    fn of(&self, path: u64) -> Restless {
        let own = self.paths.iter().find(|(known, _)| *known == path).map(|(_, own)| *own);
        let own = own.or_else(|| (self.others.looks > 0).then_some(self.others));
        let mut of_paths = self.paths.iter().map(|(_, of)| of).chain([&self.others]);
        let is_mixed = of_paths.any(|of| of.is_apart());
        match own {
            Some(own) if own.changes() || own.is_apart() && !self.all.changes() => own,
            Some(own) if is_mixed && own.sum <= AMONG_STILL_MAX => own,
            // What is looked at most may say nothing of a path that hardly was.
            own if is_mixed && !self.all.changes() => {
                let looks = own.map_or(0, |own| own.looks);
                Restless { words: self.all.words, looks, ..Restless::default() }
            }
            _ => self.all,
        }
    }
}

/// How far some pages of a site change at a second look.
#[derive(Clone, Copy, Debug, Default)]
struct Restless {
    /// Two for each page that changed, and less one for each that did not, within bounds.
    sum: i32,
    /// Most words by which two looks at one page differed, and all by which they have.
    words: u32,
    all_words: u64,
    /// The sum of the squares of these.
    squares: u64,
    /// Looks of which those are.
    looks: u32,
}

impl Restless {
    fn looked_twice(&mut self, is_stable: bool, words: u32) {
        let step = if is_stable { -1 } else { 2 };
        self.sum = (self.sum + step).clamp(2 * STEADY_MAX, 2 * RESTLESS_MIN);
        self.words = self.words.max(words);
        self.all_words += u64::from(words);
        self.squares = self.squares.saturating_add(u64::from(words).pow(2));
        self.looks += 1;
    }

    /// Returns true where these pages are judged apart from the others of their site.
    fn is_apart(&self) -> bool {
        self.sum >= APART_MIN || self.changes()
    }

    /// Returns true where these pages are taken to change at each look.
    fn changes(&self) -> bool {
        let is_undecided = self.looks >= UNDECIDED_LOOKS && self.sum > STEADY_FOR_DISTRUSTED;
        self.sum >= RESTLESS_MIN || is_undecided
    }

    /// Returns by how many words such pages may differ by chance: by one standard deviation more
    /// than two looks at a page have on average.
    fn chance(self) -> f64 {
        let looks = f64::from(self.looks.max(1));
        let mean = self.all_words as f64 / looks;
        let variance = (self.squares as f64 / looks - mean * mean).max(0.0);
        (mean + variance.sqrt()).max(DIFFERS * mean)
    }
}

/// How many pages showed something else at a second look, and how many did not.
#[derive(Clone, Copy, Debug, Default)]
struct Steadiness {
    changed: u32,
    kept: u32,
}

impl Steadiness {
    fn note(&mut self, is_stable: bool) {
        let count = if is_stable { &mut self.kept } else { &mut self.changed };
        *count = count.saturating_add(1);
    }

    /// Returns true where what they show is a matter of chance.
    fn are_of_chance(self) -> bool {
        self.changed >= 2 && self.changed > self.kept
    }

    /// Returns true where they have always shown the same.
    fn keep(self) -> bool {
        self.kept >= KEPT_MIN && self.changed == 0
    }
}

/// At how many second looks pages of a template had changed in their numbers alone, and at how many
/// they had not changed.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    changed: u32,
    kept: u32,
}

impl SecondLooks {
    /// Returns what is made of a page that is not in every word like the one that stands for it, or
    /// `is_other` than that. Where nothing is known of a site, that one is looked at again; on a
    /// site whose pages change at each look, words more or less say nothing, unless they are more
    /// than its looks differ by; on one whose pages do not, a second look is for rules that are
    /// worth it.
    pub(in crate::crawl) fn on_doubt(
        &self,
        url: &CrawlUrl,
        is_other: bool,
        is_distrusted: bool,
    ) -> Doubt {
        let restless = self.of(url);
        match restless.sum {
            _ if is_looked_at_twice(url) => Doubt::LooksTwice,
            _ if restless.changes() && !is_other => Doubt::IsSame,
            ..=STEADY_FOR_DISTRUSTED if is_distrusted => Doubt::IsOther,
            _ => Doubt::LooksTwice,
        }
    }

    /// Returns true where pages of a URL's site were looked at twice often enough to know that they
    /// do not change by themselves.
    pub(in crate::crawl) fn stands_still(&self, url: &CrawlUrl) -> bool {
        self.of(url).sum <= STEADY_MAX
    }

    /// Returns true where pages of a URL's site were looked at twice often enough, and never said
    /// anything else, so that it need not be looked at again what one says; but for some pages.
    pub(in crate::crawl) fn never_changes(&self, url: &CrawlUrl) -> bool {
        let known = self.sites.get(&url.site());
        let is_still =
            |known: &OfSite| known.still_looks >= STILL_LOOKS && !known.of(path_of(url)).is_apart();
        !is_looked_at_twice(url) && known.is_some_and(is_still)
    }

    /// Returns true where the pages of a URL's site that were looked at twice have hardly changed:
    /// few are enough for a page that was among them.
    pub(in crate::crawl) fn has_stood_still(&self, url: &CrawlUrl) -> bool {
        self.of(url).sum <= STEADY_FOR_DISTRUSTED
    }

    /// Returns true where so little is known of how far the pages of a site change by themselves
    /// that words which a page has for its own ask for a second look.
    pub(in crate::crawl) fn is_unknown(&self, url: &CrawlUrl) -> bool {
        let restless = self.of(url);
        let is_between = (STEADY_MAX + 1..RESTLESS_MIN).contains(&restless.sum);
        is_between && restless.looks < UNDECIDED_LOOKS
    }

    /// Returns the most words by which two looks at a page of a URL's site have differed.
    pub(in crate::crawl) fn changes_by(&self, url: &CrawlUrl) -> u32 {
        self.of(url).words
    }

    /// Returns true where pages of a URL's site are taken to change at each look.
    pub(super) fn change(&self, url: &CrawlUrl) -> bool {
        self.of(url).changes()
    }

    /// Returns how far two pages of a URL's site are apart that differ by so many words; `None`
    /// where its pages do not change at each look.
    pub(in crate::crawl) fn distance(&self, url: &CrawlUrl, words: u32) -> Option<Distance> {
        let known = Some(self.of(url)).filter(|known| known.changes())?;
        Some(match words {
            words if !are_of_chance(words, known.words) => Distance::Beyond,
            words if f64::from(words) > known.chance() => Distance::Far,
            _ => Distance::Chance,
        })
    }

    /// Returns true for a URL of a site whose pages show other parts at each look, as pictures of
    /// chance.
    pub(in crate::crawl) fn has_parts_of_chance(&self, url: &CrawlUrl) -> bool {
        self.sites.get(&url.site()).is_some_and(|known| known.parts.are_of_chance())
    }

    /// Returns true for a URL of a site whose pages have shown the same parts at each second look.
    pub(super) fn keeps_parts(&self, url: &CrawlUrl) -> bool {
        self.sites.get(&url.site()).is_some_and(|known| known.parts.keep())
    }

    /// Returns true for a URL of a site whose pages show something else of this kind beside their
    /// text at each look.
    pub(super) fn is_beside_of_chance(&self, url: &CrawlUrl, kind: usize) -> bool {
        self.sites.get(&url.site()).is_some_and(|known| known.beside[kind].are_of_chance())
    }

    /// Returns true for a URL of a site whose pages have always shown the same of this kind beside
    /// their text.
    pub(super) fn keeps_beside(&self, url: &CrawlUrl, kind: usize) -> bool {
        self.sites.get(&url.site()).is_some_and(|known| known.beside[kind].keep())
    }

    /// Returns true where the numbers of a page change at each look, as those of the pages of its
    /// template do.
    pub(in crate::crawl) fn has_counter(&self, template: u64) -> bool {
        let known = self.templates.get(&template).copied().unwrap_or_default();
        known.changed >= COUNTERS_MIN && known.kept * COUNTERS_AMONG <= known.changed
    }

    /// The same, but for some pages that are looked at twice whatever is known.
    pub(in crate::crawl) fn is_taken_to_have_counter(&self, url: &CrawlUrl, template: u64) -> bool {
        self.has_counter(template) && !is_looked_at_twice(url)
    }

    /// Notes whether a page was the same, word for word, at a second look, and if not, by how many
    /// words it was another.
    pub(in crate::crawl) fn looked_twice(&mut self, url: &CrawlUrl, is_stable: bool, words: u32) {
        if let Some(known) = self.of_site_mut(url) {
            known.looked_twice(path_of(url), is_stable, words);
        }
    }

    /// Notes whether a page that has a text was the same to the word at a second look.
    pub(in crate::crawl) fn words_at_two_looks(&mut self, url: &CrawlUrl, are_same: bool) {
        if let Some(known) = self.of_site_mut(url) {
            known.still_looks = if are_same { known.still_looks.saturating_add(1) } else { 0 };
        }
    }

    /// Notes whether a page showed the same parts at a second look.
    pub(in crate::crawl) fn parts_at_two_looks(&mut self, url: &CrawlUrl, is_stable: bool) {
        if let Some(known) = self.of_site_mut(url) {
            known.parts.note(is_stable);
        }
    }

    /// Notes whether a page showed the same of this kind beside its text at a second look.
    pub(in crate::crawl) fn beside_at_two_looks(
        &mut self,
        url: &CrawlUrl,
        kind: usize,
        is_stable: bool,
    ) {
        if let Some(known) = self.of_site_mut(url) {
            known.beside[kind].note(is_stable);
        }
    }

    /// Notes what was the same at a second look at a page of a template.
    pub(in crate::crawl) fn kept_at_two_looks(&mut self, template: u64, kept: Kept) {
        if self.templates.len() >= TEMPLATES_MAX && !self.templates.contains_key(&template) {
            return;
        }
        let known = self.templates.entry(template).or_default();
        let count = match kept {
            Kept::All => &mut known.kept,
            Kept::AllButNumbers => &mut known.changed,
        };
        *count = count.saturating_add(1);
    }

    /// Returns how far pages like this one change at a second look.
    fn of(&self, url: &CrawlUrl) -> Restless {
        self.sites.get(&url.site()).map(|known| known.of(path_of(url))).unwrap_or_default()
    }

    /// Returns what is known of a URL's site; `None` where too many others are.
    fn of_site_mut(&mut self, url: &CrawlUrl) -> Option<&mut OfSite> {
        let site = url.site();
        if self.sites.len() >= SITES_MAX && !self.sites.contains_key(&site) {
            return None;
        }
        Some(self.sites.entry(site).or_default())
    }
}

/// Returns a name of the path of a URL: the same for those that differ in numbers.
fn path_of(url: &CrawlUrl) -> u64 {
    let segments = url.path().split('/').skip(1).take(SEGMENTS_MAX);
    let masked = segments.flat_map(|segment| {
        let runs = segment.as_bytes().chunk_by(|a, b| a.is_ascii_digit() && b.is_ascii_digit());
        runs.map(|run| if run[0].is_ascii_digit() { b'0' } else { run[0] }).chain([b'/'])
    });
    xxh3_64(&masked.collect::<Vec<u8>>())
}

/// Returns true for one of the few pages that are looked at twice whatever is known of their site.
pub(super) fn is_looked_at_twice(url: &CrawlUrl) -> bool {
    xxh3_64(url.as_str().as_bytes()).is_multiple_of(RESTLESS_EVERY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::readmit::tests::url;

    fn urls() -> impl Iterator<Item = CrawlUrl> {
        (0..64).map(|i| CrawlUrl::parse(&format!("http://example.com/{i}?sid=1")).unwrap())
    }

    fn count(looks: &SecondLooks, is_other: bool, is_distrusted: bool, want: Doubt) -> usize {
        urls().filter(|url| looks.on_doubt(url, is_other, is_distrusted) == want).count()
    }

    #[test]
    fn second_looks_become_rare_where_they_say_the_same_each_time() {
        let mut looks = SecondLooks::default();
        assert_eq!(count(&looks, false, true, Doubt::LooksTwice), 64, "nothing is known yet");
        for url in urls().take(2) {
            looks.looked_twice(&url, true, 0);
        }
        assert!(count(&looks, false, true, Doubt::IsOther) > 50, "its pages stand still");
        for url in urls().take(2) {
            looks.looked_twice(&url, true, 0);
        }
        assert_eq!(count(&looks, false, false, Doubt::LooksTwice), 64, "a rule that is worth it");
        for url in urls().take(10) {
            looks.looked_twice(&url, false, 50);
        }
        assert!(count(&looks, false, false, Doubt::IsSame) > 50, "its pages change at each look");
        assert!(urls().all(|url| looks.changes_by(&url) == 50));
        assert_eq!(count(&looks, true, true, Doubt::LooksTwice), 64, "another text is no change");
        let looked = count(&looks, false, true, Doubt::LooksTwice);
        assert!((1..14).contains(&looked), "{looked} of 64 are looked at all the same");
    }

    /// A name and a clock on each page were the same at two of three looks, and so each audit of
    /// the site took a second look.
    #[test]
    fn a_site_between_both_is_taken_to_change_after_some_looks() {
        let mut looks = SecondLooks::default();
        let page = urls().next().unwrap();
        let look = |looks: &mut SecondLooks, changed: usize| {
            for (n, url) in urls().take(24).enumerate() {
                looks.looked_twice(&url, n % 3 >= changed, 4);
            }
        };
        look(&mut looks, 1);
        assert!(!looks.is_unknown(&page) && !looks.has_stood_still(&page));
        assert!(count(&looks, false, false, Doubt::IsSame) > 50);
        // One that stands still for the most part does so.
        let mut still = SecondLooks::default();
        look(&mut still, 0);
        assert!(still.stands_still(&page));
        assert_eq!(count(&still, false, false, Doubt::IsSame), 0);
    }

    /// Most looks at a university's site were at files, which never change; then its rules for the
    /// answers of a program were refuted by the words of chance in these.
    #[test]
    fn pages_that_change_are_told_from_those_of_their_site_that_do_not() {
        let of = |name: &str, n: usize| url(&format!("http://a.example/{name}{n}?print=1"));
        let mut looks = SecondLooks::default();
        (0..20).for_each(|n| looks.looked_twice(&of("file/", n), true, 0));
        assert!(looks.stands_still(&of("cgi/pub?id=", 1)), "as all that was looked at");
        (0..4).for_each(|n| looks.looked_twice(&of("cgi/pub?id=", n), false, 30));
        (20..40).for_each(|n| looks.looked_twice(&of("file/", n), true, 0));
        let (answer, file, other) = (of("cgi/pub?id=", 9), of("file/", 99), of("cgi/list?of=", 1));
        assert!(looks.change(&answer) && !looks.has_stood_still(&answer));
        assert_eq!(looks.changes_by(&answer), 30);
        assert!(looks.stands_still(&file));
        assert_eq!((looks.changes_by(&file), looks.distance(&file, 9)), (0, None));
        // Nothing is known of what was not looked at, and all may be said of it.
        assert!(looks.is_unknown(&other) && looks.changes_by(&other) == 30);
        // Where nearly all changes, so does what is new.
        (0..40).for_each(|n| looks.looked_twice(&of("news/", n), false, 30));
        assert!(looks.change(&other) && looks.stands_still(&file));
    }

    #[test]
    fn paths_that_differ_in_numbers_are_one() {
        let path = |path: &str| path_of(&url(&format!("http://a.example{path}")));
        assert_eq!(path("/a/1/x-17?p=1"), path("/a/234/x-5"));
        assert_ne!(path("/a/1"), path("/a/1/"));
        assert_ne!(path("/a/b"), path("/a/c"));
        assert_eq!(path("/a/b/c/d/e"), path("/a/b/c/d/f"), "the first four segments");
        let mut looks = SecondLooks::default();
        for name in 'a'..='z' {
            for second in ["1", "x"] {
                let page = url(&format!("http://a.example/{name}/{second}"));
                looks.looked_twice(&page, true, 0);
            }
        }
        assert_eq!(looks.sites.values().map(|of| of.paths.len()).max(), Some(PATHS_MAX));
    }

    /// Of names that have one page each none is known, and all of them together are.
    #[test]
    fn pages_with_paths_of_their_own_are_known_by_each_other() {
        let mut looks = SecondLooks::default();
        let name = |n: u32| char::from_u32(u32::from('a') + n % 26).unwrap_or('a');
        let of = |n: u32| url(&format!("http://a.example/{}/{}{}", name(n), name(n / 26), name(n)));
        let answer = url("http://a.example/cgi/pub");
        for n in 0..200 {
            looks.looked_twice(&of(n), true, 0);
            if n % 20 == 0 {
                looks.looked_twice(&answer, false, 30);
            }
        }
        assert!(looks.change(&answer));
        let unseen = url("http://a.example/unseen/name");
        assert!(looks.stands_still(&unseen) && !looks.is_unknown(&unseen));
        // What changes at each third look is in doubt for so many looks, and then known.
        let third = url("http://a.example/third");
        let mut unknown = 0;
        for n in 0..UNDECIDED_LOOKS {
            unknown += u32::from(looks.is_unknown(&third));
            looks.looked_twice(&third, n % 3 != 0, 4);
        }
        assert!(unknown > 0 && looks.change(&third) && looks.changes_by(&third) == 4, "{unknown}");
    }

    /// A dozen names that had changed once each made files that never do pages that change.
    #[test]
    fn paths_that_were_hardly_looked_at_say_nothing_of_others() {
        let mut looks = SecondLooks::default();
        let file = |n: u32| url(&format!("http://a.example/file/{n}"));
        (0..108).for_each(|n| looks.looked_twice(&file(n), true, 0));
        for name in 'a'..='l' {
            looks.looked_twice(&url(&format!("http://a.example/{name}")), false, 30);
            looks.looked_twice(&file(1), true, 0);
            looks.looked_twice(&file(2), true, 0);
        }
        assert!(looks.stands_still(&file(2)) && !looks.change(&file(2)));
    }

    #[test]
    fn pages_may_differ_by_chance_by_a_deviation_or_a_quarter_more_than_two_looks_do() {
        let url = url("http://a.example/p");
        let chance = |words: [u32; 2]| {
            let mut looks = SecondLooks::default();
            words.into_iter().for_each(|words| looks.looked_twice(&url, false, words));
            looks.of(&url).chance()
        };
        assert_eq!((chance([10, 30]), chance([20, 20])), (30.0, 25.0));
    }
}
