//! What a fetch for the sake of a rule showed, and whether two fetches showed the same.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::evidence::{Page, Text};
use super::sketch::{Likeness, Sketch};
use super::validate::Finding;
use crate::content::{Bag, Change, Overlap};
use crate::url::CrawlUrl;

/// A shorter main text than this may be missing from a page by chance.
const SUBSTANTIAL_SHINGLES: u32 = 24;

/// Words that a page may have more or fewer than the one that stands for it: a title of some words
/// that says how it was asked for, and three on each side, which with it are no boilerplate. An
/// entry of a list has more.
pub(super) const TITLE_WORDS_MAX: u32 = 12;

/// In a long text as many as this part of its words: its table of contents.
const TITLE_PARTS: u32 = 32;

/// Differing words are estimated to within a quarter, and a title in place of another one differs
/// by both: at four times as many words a title is taken for more once in 1,000 times.
const ESTIMATES: u32 = 4;

/// Words by which lists differ of which one has a row of six words more, or of three in place of
/// three others, which is less than a title.
const ROWS_WORDS_MIN: u32 = 6;

/// Words by which two looks at one page differ where it shows a clock or a counter: one in place of
/// another counts as two.
const CLOCK_WORDS_MAX: u32 = 8;

/// Of five words of two pages so many at least are in one page alone if these are two documents,
/// whatever stands on all pages of their site: the teasers and quotes that pages have at each look
/// are one word of five.
const APART_OF_FIVE: u32 = 2;

/// Words by which the pages of a rule may differ, each pair by its own: a word or two of a label,
/// such as what a list is sorted by, for it and once more for the one that it takes the place of.
const OWN_WORDS_MAX: u32 = 4;

/// What a fetch for a rule showed: by a probe, redirects followed as far as they may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fetched {
    /// A page.
    Page {
        /// Its main text.
        text: Text,
        /// A hash of its payload.
        digest: Option<u64>,
        /// Its words.
        bag: Option<Bag>,
        /// A soft error, a login or consent page.
        junk: bool,
    },
    /// 4xx other than 429: no such page.
    Gone,
    /// Forbidden by robots.txt.
    Forbidden,
    /// 429, 5xx, or no answer: says nothing about the rule.
    Unavailable,
    /// It redirects, and what it leads to was not followed.
    Redirect {
        /// A hash of the URL that it leads to.
        to: u64,
    },
}

impl Fetched {
    /// Returns what it says of a rule that one URL showed this, which stands for another one, and
    /// the other showed `audited`.
    pub fn judged_by(self, audited: Fetched) -> Finding {
        let dead = match self {
            Fetched::Gone | Fetched::Forbidden => true,
            // With the very same words it is what the other is.
            Fetched::Page { junk, .. } => junk && !self.has_words_of(audited),
            Fetched::Unavailable | Fetched::Redirect { .. } => false,
        };
        let words = audited.words();
        let alive = words.is_some() || audited.has_bytes();
        // A page that is known by a dead, forbidden or junk form alone is lost, and so is one that
        // is known by a form with next to no words.
        let is_hidden =
            self.is_mute() && words >= Some(SUBSTANTIAL_SHINGLES) && !self.has_words_of(audited);
        if dead && alive || is_hidden { Finding::Failed } else { agreement(self, audited) }
    }

    /// Returns what a URL shows that redirects there.
    pub(crate) fn redirect(to: &CrawlUrl) -> Fetched {
        Fetched::Redirect { to: target_of(to.as_str()) }
    }

    /// Returns true for a page that is neither gone nor an error.
    pub(crate) fn is_page(self) -> bool {
        matches!(self, Fetched::Page { junk: false, .. })
    }

    /// Returns true for what leads to another URL.
    pub(crate) fn is_redirect(self) -> bool {
        matches!(self, Fetched::Redirect { .. })
    }

    /// Returns true for a page with next to no words: thin, or no HTML. Where only the main text is
    /// not known yet there are words.
    pub(crate) fn is_mute(self) -> bool {
        let Fetched::Page { text, bag, junk: false, .. } = self else { return false };
        match text {
            Text::Thin(_) => true,
            Text::Unknown | Text::Bytes(_) => bag.is_none(),
            Text::Main(_) | Text::Page(_) | Text::Size(..) => false,
        }
    }

    /// Returns true for a page with words of which it is not known what its main text is: it came
    /// before the model of its site.
    pub(crate) fn is_before_model(self) -> bool {
        matches!(self, Fetched::Page { text: Text::Unknown, bag: Some(_), junk: false, .. })
    }

    /// Returns true where this came before the model of its site, or the other did, and they are
    /// two pages all the same.
    pub(crate) fn was_apart(self, other: Fetched) -> bool {
        let bag = |fetched| match fetched {
            Fetched::Page { bag, junk: false, .. } => bag,
            _ => None,
        };
        let bags = bag(self).zip(bag(other));
        let is_early = self.is_before_model() || other.is_before_model();
        is_early && bags.is_some_and(|(one, other)| are_apart(&one, &other))
    }

    /// Returns true where two pages with main texts share most of their words, however much these
    /// texts are alike.
    pub(crate) fn is_mostly(self, other: Fetched) -> bool {
        let have_texts = self.text().is_some() && other.text().is_some();
        let bags = self.bag().zip(other.bag()).filter(|_| have_texts);
        bags.is_some_and(|(one, other)| !are_apart(&one, &other))
    }

    /// Returns true where others can be compared with what this shows.
    pub(crate) fn can_testify(self) -> bool {
        self.words().is_some() || self.has_bytes()
    }

    /// Returns true for what is no HTML, and known by its bytes.
    fn has_bytes(self) -> bool {
        matches!(self, Fetched::Page { text: Text::Bytes(_), junk: false, .. })
    }

    /// Returns true where a later fetch shows what certainly is not the page that was known.
    pub(crate) fn is_contradicted_by(self, later: Fetched) -> bool {
        agreement(self, later) == Finding::Failed
    }

    /// Returns true where one page stood for another that certainly is another one.
    pub(crate) fn hides(self, audited: Fetched) -> bool {
        self.is_page() && self.judged_by(audited) == Finding::Failed
    }

    /// Returns true where two fetches showed texts that are much alike, but differ by more words
    /// than a title or a table of contents makes up for: the same page with another advertisement,
    /// or a list with some entries more, or with others. Where a few words are half of a text, more
    /// than a clock has.
    pub(crate) fn differs_from(self, other: Fetched) -> bool {
        let (Some(words), Some(others)) = (self.words(), other.words()) else { return false };
        let most = title_words_max(words, others);
        let differing_max = match agreement(self, other) {
            Finding::Failed => return false,
            Finding::Unclear => CLOCK_WORDS_MAX,
            Finding::Same => ESTIMATES * most,
        };
        (words.abs_diff(others) > most || self.differing(other) > differing_max)
            && !self.has_words_of(other)
    }

    /// Returns true where two fetches showed texts that are much alike but for as many words as a
    /// few rows of a list have. By themselves these may be a title; not so where one of the pages
    /// leads on to what nothing else has led to, and differs by more than the pages of its site
    /// change by from one look to the next.
    pub(crate) fn differs_by_rows(self, other: Fetched, changes_by: u32) -> bool {
        self.words().is_some()
            && other.words().is_some()
            && self.differing(other) >= ROWS_WORDS_MIN + noise_of(changes_by)
            && agreement(self, other) != Finding::Failed
    }

    /// Returns true where two fetches showed texts that are much alike but for more words than a
    /// title has beside what the pages of their site change by from one look to the next.
    pub(crate) fn differs_beyond(self, other: Fetched, changes_by: u32) -> bool {
        let (Some(words), Some(others)) = (self.words(), other.words()) else { return false };
        self.differing(other) > ESTIMATES * title_words_max(words, others) + changes_by
            && agreement(self, other) != Finding::Failed
    }

    /// Returns true where two fetches differ by so many words, and not only around one text.
    pub(crate) fn is_other_beyond(self, other: Fetched, changes_by: u32) -> bool {
        self.differs_beyond(other, changes_by) && !self.has_text_of(other, changes_by)
    }

    /// Returns true where two fetches showed one main text, to within the words of a label, and to
    /// within a title's where the pages of their site change by as many at each look: by what else
    /// they differ stands around it, as the menus do that a view to print has not. Whether that is
    /// a label is seen by the pages of other texts.
    pub(crate) fn has_text_of(self, other: Fetched, changes_by: u32) -> bool {
        self.has_text_amid_others(other, changes_by) && !self.differs_around(other)
    }

    /// Returns true where two fetches showed one main text in that sense, among however many other
    /// words.
    pub(crate) fn has_text_amid_others(self, other: Fetched, changes_by: u32) -> bool {
        self.has_text_within(other, (OWN_WORDS_MAX + changes_by).min(TITLE_WORDS_MAX))
    }

    /// Returns true where two fetches showed one main text, to within the words of a title, among
    /// however many other words: a label, where the pages of other texts differ by the same.
    pub(crate) fn has_text_but_title(self, other: Fetched) -> bool {
        self.has_text_within(other, TITLE_WORDS_MAX)
    }

    /// Returns true where two fetches showed one main text, one of them with so many words more of
    /// it at most.
    fn has_text_within(self, other: Fetched, more_max: u32) -> bool {
        let texts = self.words().zip(other.words());
        texts.is_some_and(|(a, b)| a.abs_diff(b) <= more_max)
            && agreement(self, other) == Finding::Same
    }

    /// Returns true where two pages have one main text, and so many words are around it in one of
    /// them alone that the other may lack them, and say nothing of its own.
    pub(crate) fn may_say_more_than(self, form: Fetched, changes_by: u32) -> bool {
        self.has_text_amid_others(form, changes_by)
            && self.differing(form) > TITLE_WORDS_MAX + noise_of(changes_by)
    }

    /// Returns true where it is so, and the form has no more words of its own than a label, beside
    /// what the pages of their site change by from one look to the next: a view to print lacks the
    /// menus, and the lists beside the text that are others on each page. `words` is what the two
    /// have in common, this page first.
    pub(crate) fn says_more_than(self, form: Fetched, words: Overlap, changes_by: u32) -> bool {
        let own_max = f64::from(OWN_WORDS_MAX + noise_of(changes_by));
        self.may_say_more_than(form, changes_by) && words.second_only <= own_max
    }

    /// Returns true where a page that shows other words at each look differs from another one by
    /// no more of them than from itself: items of chance beside a short text.
    pub(crate) fn changes_as_much(self, later: Fetched, other: Fetched) -> bool {
        let words = self.differing(later);
        words > CLOCK_WORDS_MAX && are_of_chance(self.differing(other), words)
    }

    /// Returns true where two pages have the same words, but for those of a clock: by what else
    /// their main texts differ was boilerplate when one of them was read, and not for the other.
    pub(crate) fn has_words_but_clock(self, other: Fetched) -> bool {
        let most = self.words().max(other.words());
        let bags = self.bag().zip(other.bag());
        let is_long = most >= Some(2 * SUBSTANTIAL_SHINGLES);
        is_long && bags.is_some_and(|(one, other)| differ_by_clock(&one, &other))
    }

    /// Returns by which words two pages of one text differ, where these are more than a label has
    /// beside what the pages of their site change by from one look to the next.
    pub(crate) fn own_words(self, other: Fetched, changes_by: u32) -> Option<Change> {
        let (a, b) = self.bag().zip(other.bag())?;
        let change = a.change_to(&b);
        let is_more = change.words() > OWN_WORDS_MAX + noise_of(changes_by);
        (is_more && agreement(self, other) == Finding::Same).then_some(change)
    }

    /// Returns by which words two pages differ.
    pub(crate) fn change_to(self, other: Fetched) -> Change {
        self.bag().zip(other.bag()).map(|(a, b)| a.change_to(&b)).unwrap_or_default()
    }

    /// Returns true where two pages of one main text differ beside it by no more words than a title
    /// has, as by the link to the page that comes next; or two, where all that they say outside of
    /// links is the same.
    pub(crate) fn differs_beside_text(
        self,
        other: Fetched,
        change: &Change,
        by_links: bool,
    ) -> bool {
        let most = if by_links { 2 * TITLE_WORDS_MAX } else { TITLE_WORDS_MAX };
        change.words() <= most && self.text().is_some() && self.text() == other.text()
    }

    /// Returns the sketch of the main text of a page that can bear witness.
    pub(crate) fn text(self) -> Option<Sketch> {
        match self {
            Fetched::Page { text: Text::Main(sketch), junk: false, .. } => Some(sketch),
            _ => None,
        }
    }

    /// Estimates how many words are in one of two pages alone.
    pub(crate) fn differing(self, other: Fetched) -> u32 {
        self.bag().zip(other.bag()).map_or(0, |(a, b)| a.differing(&b))
    }

    /// Returns true where two fetches showed the very same words.
    pub(crate) fn has_words_of(self, other: Fetched) -> bool {
        let (Fetched::Page { digest, bag, .. }, Fetched::Page { digest: d, bag: b, .. }) =
            (self, other)
        else {
            return false;
        };
        digest.is_some() && digest == d || bag.is_some() && bag == b
    }

    /// Returns true where two fetches of one page showed the same words, but for those of a clock
    /// or of a counter.
    pub(crate) fn stands_still(self, later: Fetched) -> bool {
        let has_words = self.bag().is_some() && later.bag().is_some();
        let is_clock = has_words && self.differing(later) <= CLOCK_WORDS_MAX;
        let is_thin = self.thin().is_some() && self.thin() == later.thin();
        is_thin || self.has_words_of(later) || is_clock && agreement(self, later) == Finding::Same
    }

    /// Returns the words of the main text of a thin page.
    pub(crate) fn thin(self) -> Option<Sketch> {
        match self {
            Fetched::Page { text: Text::Thin(words), junk: false, .. } => Some(words),
            _ => None,
        }
    }

    /// Returns true where two fetches showed a text that is much the same among so many other words
    /// that these are what the pages are for.
    pub(crate) fn differs_around(self, other: Fetched) -> bool {
        let texts = self.words().zip(other.words()).map(|(a, b)| a.max(b));
        let bags = self.bag().zip(other.bag());
        texts.zip(bags).is_some_and(|(text, (a, b))| a.differs_around(&b, text))
    }

    /// Returns the words of a page.
    pub(crate) fn bag(self) -> Option<Bag> {
        if let Fetched::Page { bag, .. } = self { bag } else { None }
    }

    /// Returns the number of words of the main text of a page that can bear witness.
    fn words(self) -> Option<u32> {
        self.text().map(|sketch| sketch.shingles)
    }
}

/// Returns true for more numbers, in one of two pages alone, than change by themselves where looks
/// at pages of their site have differed by so many words: a clock has one, which counts as two.
pub(crate) fn are_other_figures(numbers: f64, changes_by: u32) -> bool {
    numbers > f64::from(noise_of(changes_by) + 2)
}

/// Returns how many words two looks at a page may differ by, given the most by which they have: a
/// few looks show less than many, and it is an estimate.
fn noise_of(changes_by: u32) -> u32 {
    changes_by + changes_by / 2
}

/// Returns how many words more a title or a table of contents may make of two texts of so many.
fn title_words_max(words: u32, others: u32) -> u32 {
    TITLE_WORDS_MAX.max(words.max(others) / TITLE_PARTS)
}

/// Returns what stands for the URL that others redirect to, among the documents that they are.
pub(super) fn target_of(url: &str) -> u64 {
    xxh3_64(url.as_bytes())
}

/// Returns true where a page can bear witness.
pub(crate) fn speaks(page: &Page) -> bool {
    let redirects = page.declared.as_ref().is_some_and(|(redirect, _)| *redirect);
    !page.junk && !redirects && page.text.is_told()
}

/// Returns true for a page of which nothing is known but that it is there.
pub(crate) fn is_untold(page: &Page) -> bool {
    let looked_at = page.digest.is_some() || page.bag.is_some() || page.declared.is_some();
    page.text == Text::Unknown && !page.junk && !looked_at
}

/// Returns what a page of the window shows, where its main text is known, or its bytes are.
pub(crate) fn of_page(page: &Page) -> Option<Fetched> {
    let redirects = page.declared.as_ref().is_some_and(|(redirect, _)| *redirect);
    let (Text::Main(_) | Text::Bytes(_)) = page.text else { return None };
    let Page { text, digest, bag, junk, .. } = *page;
    (!redirects).then_some(Fetched::Page { text, digest, bag, junk })
}

/// Estimates how many words a page has.
fn words_of(bag: &Bag) -> u32 {
    Bag::of([]).differing(bag)
}

/// Returns true where two pages that are no short ones differ by no more words than those of a
/// clock.
pub(super) fn differ_by_clock(one: &Bag, other: &Bag) -> bool {
    one.differing(other) <= CLOCK_WORDS_MAX
        && words_of(one).max(words_of(other)) >= 2 * SUBSTANTIAL_SHINGLES
}

/// Returns true where two pages differ by no more words than two looks at one may, given the most
/// by which looks have.
pub(crate) fn are_of_chance(words: u32, changes_by: u32) -> bool {
    words <= noise_of(changes_by)
}

/// Returns true where two pages differ by a good part of their words, whatever is known of their
/// site: what stands on all of its pages is among those they share.
pub(super) fn are_apart(one: &Bag, other: &Bag) -> bool {
    5 * one.differing(other) > APART_OF_FIVE * (words_of(one) + words_of(other))
}

/// Compares a page with what should be the same page.
pub(crate) fn agreement(known: Fetched, outcome: Fetched) -> Finding {
    let (text, junk) = match known {
        Fetched::Page { text, junk, .. } => (text, junk),
        // That they lead to two URLs does not say that these are two pages.
        Fetched::Redirect { .. } if known == outcome => return Finding::Same,
        _ => return Finding::Unclear,
    };
    let (other, other_junk) = match outcome {
        Fetched::Page { text, junk, .. } => (text, junk),
        Fetched::Gone | Fetched::Forbidden => return Finding::Failed,
        Fetched::Unavailable | Fetched::Redirect { .. } => return Finding::Unclear,
    };
    match (text, other) {
        _ if junk || other_junk && known.has_words_of(outcome) => Finding::Unclear,
        _ if other_junk => Finding::Failed,
        (Text::Main(_), Text::Main(_)) if known.has_words_of(outcome) => Finding::Same,
        (Text::Main(a), Text::Main(b)) => match a.compare(&b) {
            Likeness::Same => Finding::Same,
            Likeness::Different => Finding::Failed,
            Likeness::Unsure => Finding::Unclear,
        },
        // A list whose rows are text enough in one order, and not in another one.
        (Text::Main(_), Text::Thin(_)) | (Text::Thin(_), Text::Main(_))
            if known.has_words_of(outcome) =>
        {
            Finding::Same
        }
        (Text::Main(a), Text::Unknown | Text::Thin(_) | Text::Bytes(_))
            if a.shingles >= SUBSTANTIAL_SHINGLES =>
        {
            Finding::Failed
        }
        (Text::Thin(a), Text::Thin(b)) => {
            let other = !known.has_words_of(outcome) && a.compare(&b) == Likeness::Different;
            if other { Finding::Failed } else { Finding::Unclear }
        }
        (Text::Bytes(a), Text::Bytes(b)) if a == b => Finding::Same,
        (Text::Bytes(_), Text::Bytes(_)) => Finding::Failed,
        _ => Finding::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sketch::Sketch;
    use super::*;

    /// A page of words, of which the first ones are its own.
    fn page(words: std::ops::Range<u64>) -> Fetched {
        page_of(words)
    }

    fn page_of(words: impl Iterator<Item = u64> + Clone) -> Fetched {
        let bag = Bag::of(words.clone());
        let text = Sketch::of_shingles(words).map_or(Text::Unknown, Text::Main);
        Fetched::Page { text, digest: None, bag: Some(bag), junk: false }
    }

    #[test]
    fn a_list_with_an_entry_more_is_alike_but_differs_by_more_than_a_title() {
        let list = page(0..300);
        assert_eq!(list.judged_by(page(0..316)), Finding::Same);
        assert!(list.differs_from(page(0..316)) && page(0..316).differs_from(list));
        assert!(!list.differs_from(page(0..300)) && !list.differs_from(page(0..312)));
        assert!(!page(0..2_000).differs_from(page(0..2_060)), "a table of contents");
        assert!(list.has_words_of(page(0..300)) && !list.has_words_of(page(0..316)));
        // Entries that change at each look are none of its own.
        let more = page(0..308);
        assert!(list.differs_by_rows(more, 0) && !list.differs_by_rows(more, 8));
        assert!(list.own_words(more, 0).is_some() && list.own_words(more, 4).is_none());
        // As many words, of which some are others; a title, and what is there in place of a form.
        let others = |shown: std::ops::Range<u64>| {
            let Fetched::Page { text, .. } = page(0..300) else { unreachable!("it is a page") };
            let bag = Some(Bag::of((0..300).chain(shown)));
            Fetched::Page { text, digest: None, bag, junk: false }
        };
        assert!(others(1_000..1_080).differs_from(others(2_000..2_080)));
        assert!(!others(1_000..1_080).differs_around(others(2_000..2_080)));
        assert!(others(1_000..1_400).differs_around(others(2_000..2_400)));
        assert!(!others(1_000..1_010).differs_from(others(2_000..2_010)));
        // An entry of nine words before its references, in another language, and with a counter.
        let entry = |own: std::ops::Range<u64>| page_of(own.chain(1_000..1_014));
        assert_eq!(entry(0..9).judged_by(entry(100..109)), Finding::Unclear);
        assert!(entry(0..9).differs_from(entry(100..109)));
        assert!(!entry(0..9).differs_from(entry(2..11)));
        // What is another text anyway differs by more than words can tell.
        assert!(!list.differs_from(page(5_000..5_400)));
        assert_eq!(list.judged_by(page(5_000..5_300)), Finding::Failed);
    }

    /// A page whose stand-in had next to no text was neither the same nor another one, however
    /// often that was seen.
    #[test]
    fn a_page_that_is_known_by_a_form_without_text_alone_is_lost() {
        let thin = Fetched::Page { text: Text::Unknown, digest: Some(1), bag: None, junk: false };
        assert_eq!(thin.judged_by(page(0..300)), Finding::Failed);
        assert_eq!(thin.judged_by(page(0..12)), Finding::Unclear, "too little to be lost");
        assert_eq!(thin.judged_by(thin), Finding::Unclear);
        // Its words are known, and only what they are worth on this site was not known yet.
        let Fetched::Page { bag, .. } = page(0..300) else { unreachable!("it is a page") };
        let early = Fetched::Page { text: Text::Unknown, digest: Some(1), bag, junk: false };
        assert_eq!(early.judged_by(page(0..300)), Finding::Unclear);
    }

    /// Of a dictionary in several languages, whose entries have five words each, no translation was
    /// evidence of anything, and all of them were lost.
    #[test]
    fn a_thin_page_is_another_one_where_it_has_other_words_and_never_the_same() {
        let thin = |words: std::ops::Range<u64>| {
            let digest = Some(words.start);
            let text = Sketch::of_words(words).map_or(Text::Unknown, Text::Thin);
            Fetched::Page { text, digest, bag: None, junk: false }
        };
        let entry = thin(0..6);
        assert_eq!(entry.judged_by(thin(100..106)), Finding::Failed);
        assert!(entry.hides(thin(100..106)) && entry.is_contradicted_by(thin(100..106)));
        assert_eq!(entry.judged_by(entry), Finding::Unclear);
        assert_eq!(entry.judged_by(thin(1..7)), Finding::Unclear, "a counter");
        assert_eq!(entry.judged_by(thin(100..102)), Finding::Unclear, "too few words");
        assert_eq!(entry.judged_by(page(0..300)), Finding::Failed);
        assert_eq!(page(0..300).judged_by(entry), Finding::Failed);
        assert_eq!(page(0..12).judged_by(entry), Finding::Unclear);
        assert!(entry.is_mute() && !entry.can_testify());
        assert!(entry.stands_still(entry) && !entry.stands_still(thin(1..7)));
    }

    /// Of directories with four files each, in nine orders, some were text enough and some were
    /// not: the rule that makes them one fell by them, after all of its audits had agreed.
    #[test]
    fn the_same_words_in_another_order_are_no_other_page_for_being_too_few_in_one() {
        let Fetched::Page { text, bag, .. } = page(0..30) else { unreachable!("it is a page") };
        let text_of = |words| Sketch::of_words(words).map_or(Text::Unknown, Text::Thin);
        let thin = |text, bag| Fetched::Page { text, digest: None, bag, junk: false };
        let list = Fetched::Page { text, digest: None, bag, junk: false };
        let reordered = thin(text_of(0..13), bag);
        assert_eq!(list.judged_by(reordered), Finding::Same);
        assert_eq!(reordered.judged_by(list), Finding::Same);
        assert!(!reordered.hides(list) && !reordered.differs_from(list));
        let other = thin(text_of(0..13), Some(Bag::of(0..29)));
        assert_eq!(list.judged_by(other), Finding::Failed);
        assert_eq!(other.judged_by(list), Finding::Failed);
        assert_eq!(reordered.judged_by(reordered), Finding::Unclear, "it is no evidence alone");
    }

    /// Of images, PDF and plain text nothing was known, so that no rule was proved by them.
    #[test]
    fn what_is_no_html_is_known_by_its_bytes() {
        let bytes = |hash| Fetched::Page {
            text: Text::Bytes(hash),
            digest: Some(hash),
            bag: None,
            junk: false,
        };
        assert_eq!(bytes(1).judged_by(bytes(1)), Finding::Same);
        assert_eq!(bytes(1).judged_by(bytes(2)), Finding::Failed);
        assert!(bytes(1).is_contradicted_by(bytes(2)) && bytes(1).can_testify());
        assert_eq!(page(0..300).judged_by(bytes(1)), Finding::Failed);
        assert_eq!(bytes(1).judged_by(page(0..300)), Finding::Failed);
        assert_eq!(bytes(1).judged_by(page(0..12)), Finding::Unclear);
        assert_eq!(Fetched::Gone.judged_by(bytes(1)), Finding::Failed);
        assert_eq!(bytes(1).judged_by(Fetched::Gone), Finding::Failed);
        assert!(!bytes(1).differs_from(bytes(2)) && !bytes(1).differs_around(bytes(2)));
    }

    /// Software that shows its start page under every unknown address: seen before that was known,
    /// it was a page, and its other forms, word for word the same, refuted all that made them one.
    #[test]
    fn the_same_words_are_no_other_page_for_being_taken_for_a_soft_error_since() {
        let Fetched::Page { text, bag, .. } = page(0..300) else { unreachable!("it is a page") };
        let taken_for_junk = Fetched::Page { text, digest: None, bag, junk: true };
        assert_eq!(page(0..300).judged_by(taken_for_junk), Finding::Unclear);
        assert_eq!(taken_for_junk.judged_by(page(0..300)), Finding::Unclear);
        assert_eq!(page(500..800).judged_by(taken_for_junk), Finding::Failed);
        assert_eq!(taken_for_junk.judged_by(page(500..800)), Finding::Failed);
    }

    #[test]
    fn what_redirects_is_known_by_where_it_leads() {
        let to = |n: u32| {
            let url = CrawlUrl::parse(&format!("http://a.example/{n}")).unwrap();
            Fetched::redirect(&url)
        };
        assert_eq!(to(1).judged_by(to(1)), Finding::Same);
        assert_eq!(to(1).judged_by(to(2)), Finding::Unclear, "both may be one page");
        assert_eq!(to(1).judged_by(page(0..300)), Finding::Unclear);
        assert_eq!(page(0..300).judged_by(to(1)), Finding::Unclear);
        assert_eq!(to(1).judged_by(Fetched::Unavailable), Finding::Unclear);
        assert!(!to(1).is_page() && !to(1).can_testify() && !to(1).hides(page(0..300)));
    }

    #[test]
    fn a_page_that_is_known_by_a_dead_form_alone_is_lost() {
        assert_eq!(Fetched::Gone.judged_by(page(0..300)), Finding::Failed);
        assert_eq!(page(0..300).judged_by(Fetched::Gone), Finding::Failed);
        assert_eq!(page(0..300).judged_by(Fetched::Unavailable), Finding::Unclear);
    }
}
