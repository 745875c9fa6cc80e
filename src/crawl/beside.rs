//! Whether pages that rules make one show other things beside their text.
//!
//! What stands beside a text is often the same on all pages, or another at each look, and then says
//! nothing. It makes two pages of two only where a second look at one of them shows the same as the
//! first, and where each has something of its own that is no label of a kind of forms: where other
//! pages have other things of their own.

use std::collections::VecDeque;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::evidence::place_of;
use super::visit::PageFacts;
use crate::content::WordSet;
use crate::dust::Finding;
use crate::extract;
use crate::url::CrawlUrl;
use crate::url::query::parameters;

/// Kinds of what stands beside a text: words, numbers, and pictures.
pub(super) const KINDS: usize = 3;

/// A sum over each kind, 0 where there is nothing.
pub(super) type Sums = [u32; KINDS];

/// Forms with something of their own from which on they are pages of their own; and one for so many
/// without, unless what is beside the texts of their site is known to stay.
const OTHERS_MIN: u32 = 3;
const OTHERS_SHARE: u32 = 4;

/// Forms of different kinds that each show something else, with no label among them, from which on
/// it is no matter of the kind: each may be the only one of it.
const KINDS_MIN: usize = 16;

/// Forms of which it is remembered what they showed.
const KNOWN_MAX: usize = 32;

/// Second looks that found nothing, after which one in a few is made.
const IDLE_LOOKS: u32 = 8;

/// Returns hashes of the pictures, films and frames of a page whose addresses have a query that
/// says more than the page's own does: the path of such an address is that of a program.
pub(super) fn pictures(page: &CrawlUrl, links: &[extract::Link]) -> Vec<u64> {
    let own = page.query().unwrap_or_default();
    let hash_of = |link: &extract::Link| {
        let query = link.url.query().filter(|_| link.kind.is_shown())?;
        let is_own = |part: &str| parameters(own).any(|known| known == part);
        let said = parameters(query).filter(|part| !is_own(part));
        said.map(|part| xxh3_64(part.as_bytes()))
            .reduce(|all, part| xxh3_64_with_seed(&part.to_le_bytes(), all))
            .map(|said| xxh3_64_with_seed(&said.to_le_bytes(), place_of(&link.url)))
    };
    links.iter().filter_map(hash_of).collect()
}

/// Returns the sums over what stands beside the text of a page.
pub(super) fn sums_of(facts: &PageFacts) -> Option<Sums> {
    let [words, numbers] = facts.analysis.as_ref()?.beside.sums();
    let pictures = facts.pictures.iter().fold(0, |sum: u32, hash| sum.wrapping_add(*hash as u32));
    Some([words, numbers, pictures])
}

/// What stands beside the text of a page, as far as it is needed to tell what is its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside([WordSet; KINDS]);

impl Beside {
    /// Returns what stands beside the text of a page.
    pub(super) fn of(facts: &PageFacts) -> Option<Beside> {
        let [words, numbers] = facts.analysis.as_ref()?.beside.sets();
        Some(Beside([words, numbers, WordSet::of_hashes(facts.pictures.clone())]))
    }

    /// Returns a sum over what this page shows of a kind and another one does not, if that one
    /// shows something that this one does not: a view to print may be without all of it.
    pub(super) fn own_beside(&self, other: &Beside, kind: usize) -> Option<u32> {
        let (own, theirs) = (&self.0[kind], &other.0[kind]);
        let alone = own.without(theirs);
        (!alone.is_empty() && !theirs.without(own).is_empty()).then(|| alone.sum() as u32)
    }

    fn is_partial(&self, kind: usize) -> bool {
        self.0[kind].is_partial()
    }

    /// Returns words, for tests.
    #[cfg(test)]
    pub(super) fn of_words(text: &str) -> Beside {
        Beside([WordSet::of_text(text), WordSet::default(), WordSet::default()])
    }
}

/// Of which kinds what a page shows is not what the one that stands for it shows, and what it shows
/// alone: as much as a second look has left of that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Differs {
    /// The sum over what the one that stands for it shows, where both show something.
    stood: [Option<u32>; KINDS],
    /// A sum over what it shows alone; `None` where it is not known or is nothing.
    alone: [Option<u32>; KINDS],
}

impl Differs {
    /// Compares two pages, as far as `counts` says of a kind that it says something.
    pub(super) fn between(stood: Sums, own: Sums, counts: impl Fn(usize) -> bool) -> Differs {
        let differs = |kind: usize| {
            let is_other = stood[kind] != own[kind] && stood[kind] != 0 && own[kind] != 0;
            (is_other && counts(kind)).then_some(stood[kind])
        };
        Differs { stood: std::array::from_fn(differs), alone: [None; KINDS] }
    }

    /// Returns true where a second look would tell more.
    pub(super) fn asks(&self) -> bool {
        self.stood.iter().any(Option::is_some)
    }

    /// Returns of each kind in which they differ whether another look at the page that stands for
    /// the other has shown the same.
    pub(super) fn kept_at(&self, later: Option<Sums>) -> [Option<bool>; KINDS] {
        std::array::from_fn(|kind| Some(self.stood[kind]? == later?[kind]))
    }

    /// Takes in what a second look showed.
    #[must_use]
    pub(super) fn after(self, later: Option<Sums>, own: &Beside, look: &Beside) -> Differs {
        let kept = self.kept_at(later);
        let alone = |kind: usize| own.own_beside(look, kind).filter(|_| kept[kind] == Some(true));
        let alone = std::array::from_fn(alone);
        // What differs may be missing in what is kept of so much.
        let is_known =
            |kind: usize| alone[kind].is_some() || !own.is_partial(kind) && !look.is_partial(kind);
        let stood = |kind: usize| self.stood[kind].filter(|_| is_known(kind));
        Differs { stood: std::array::from_fn(stood), alone }
    }

    /// Returns of a kind what a second look found: `None` where none was made.
    pub(super) fn alone(&self, kind: usize) -> Option<Option<u32>> {
        self.stood[kind].map(|_| self.alone[kind])
    }
}

/// What forms that the same rules make one page with others show of a kind beside their text.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// By what each of the last forms differed from its key, and what it showed alone.
    last: VecDeque<(u32, u32)>,
    /// Forms that showed nothing of their own, or a label.
    same: u32,
    /// Those of them that were looked at for it.
    idle: u32,
    /// Some of these showed what another one had shown.
    has_label: bool,
    /// Forms that showed what no other did, though others of their kind were known.
    others: u32,
}

impl Known {
    /// Returns true where it is worth a second look that a form shows something else.
    pub(super) fn is_worth_a_look(&self) -> bool {
        self.idle < IDLE_LOOKS || self.others > 0
    }

    /// Counts a form that differs from its key by this part, given what it shows alone if a second
    /// look was made for that. Returns what that says, if it says something: the first of a kind
    /// may show a label. What is beside the text `is_kept` where looks are known to show the same.
    pub(super) fn note(
        &mut self,
        part: u32,
        alone: Option<Option<u32>>,
        is_kept: bool,
    ) -> Option<Finding> {
        let is_label = |alone: &u32| self.last.iter().any(|(_, known)| known == alone);
        let own = alone.flatten();
        let label = own.filter(is_label);
        let Some(own) = own.filter(|_| label.is_none()) else {
            self.has_label |= label.is_some();
            self.same = self.same.saturating_add(1);
            self.idle = self.idle.saturating_add(u32::from(alone.is_some()));
            return None;
        };
        let is_known_part = self.last.iter().any(|(known, _)| *known == part);
        let is_other = is_known_part || !self.has_label && self.last.len() >= KINDS_MIN;
        if self.last.len() >= KNOWN_MAX {
            self.last.pop_front();
        }
        self.last.push_back((part, own));
        self.others = self.others.saturating_add(u32::from(is_other));
        let are_many = is_kept || self.others.saturating_mul(OTHERS_SHARE) >= self.same;
        let is_page = is_other && are_many && self.others >= OTHERS_MIN;
        Some(if is_page { Finding::Failed } else { Finding::Unclear })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is said of forms, each given by its kind and by what it shows alone.
    fn says(forms: &[(u32, Option<u32>)], is_kept: bool) -> Vec<Option<Finding>> {
        let mut known = Known::default();
        forms.iter().map(|(part, own)| known.note(*part, Some(*own), is_kept)).collect()
    }

    const FAILED: Option<Finding> = Some(Finding::Failed);
    const UNCLEAR: Option<Finding> = Some(Finding::Unclear);

    #[test]
    fn three_forms_of_one_kind_that_show_something_else_each_are_other_pages() {
        let each: Vec<_> = (1..6).map(|n| (7, Some(n))).collect();
        assert_eq!(says(&each, false), [UNCLEAR, UNCLEAR, UNCLEAR, FAILED, FAILED]);
        let rare = |kept| {
            let mut forms = vec![(7, None); 40];
            forms.extend(&each);
            says(&forms, kept).iter().filter(|said| **said == FAILED).count()
        };
        assert_eq!((rare(false), rare(true)), (0, 2), "few count where looks show the same");
    }

    #[test]
    fn a_label_of_a_kind_is_none_of_its_pages_own() {
        assert_eq!(says(&[(7, Some(1)); 4], true), [UNCLEAR, None, None, None]);
        // Twelve themes, each with its name beside the text.
        let themes: Vec<_> = (0..48).map(|n| (n % 12, Some(n % 12))).collect();
        let said = says(&themes, true);
        assert_eq!(said.iter().filter(|said| said.is_none()).count(), 36);
        assert!(!said.contains(&FAILED));
        // A label and something of its own is another page all the same.
        let both = [(7, Some(1)), (7, Some(1)), (7, Some(2)), (7, Some(3)), (7, Some(4))];
        assert_eq!(says(&both, false), [UNCLEAR, None, UNCLEAR, UNCLEAR, FAILED]);
    }

    #[test]
    fn forms_of_which_each_is_its_own_kind_count_once_there_are_many() {
        let each: Vec<_> = (0..24).map(|n| (n, Some(n))).collect();
        let first = says(&each, false).iter().position(|said| *said == FAILED);
        assert_eq!(first, Some(KINDS_MIN + 2));
    }

    #[test]
    fn looks_that_find_nothing_are_not_worth_more() {
        let mut known = Known::default();
        for _ in 0..7 {
            known.note(7, Some(None), true);
            known.note(7, None, true);
        }
        assert!(known.is_worth_a_look());
        known.note(7, Some(None), true);
        assert!(!known.is_worth_a_look());
        for n in 1..3 {
            known.note(7, Some(Some(n)), true);
        }
        assert!(known.is_worth_a_look());
    }

    #[test]
    fn what_a_page_shows_alone_counts_where_the_other_one_has_something_too() {
        let [one, two, less] = ["born in Rome", "born in Paris", "born in"].map(Beside::of_words);
        assert!(two.own_beside(&one, 0).is_some());
        assert_eq!(two.own_beside(&one, 0), Beside::of_words("in Paris").own_beside(&one, 0));
        assert_eq!((two.own_beside(&less, 0), less.own_beside(&two, 0)), (None, None));
        let differs = Differs::between([1, 2, 0], [3, 2, 5], |_| true);
        assert!(differs.asks());
        assert_eq!(differs.kept_at(Some([1, 9, 9])), [Some(true), None, None]);
        assert_eq!(differs.kept_at(Some([4, 2, 0])), [Some(false), None, None]);
        assert!(differs.after(Some([1, 2, 0]), &two, &one).alone(0).flatten().is_some());
        assert_eq!(differs.after(Some([4, 2, 0]), &two, &one).alone(0), Some(None));
        assert!(!Differs::between([1, 2, 0], [3, 2, 5], |kind| kind != 0).asks());
    }
}
