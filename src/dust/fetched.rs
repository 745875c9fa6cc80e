//! What a fetch for the sake of a rule showed, and whether two fetches showed the same.

use serde::{Deserialize, Serialize};

use super::evidence::{Page, Text};
use super::sketch::Likeness;
use super::validate::Finding;

/// A shorter main text than this may be missing from a page by chance.
const SUBSTANTIAL_SHINGLES: u32 = 24;

/// Words that a page may have more or fewer than the one that stands for it: a title of some words
/// that says how it was asked for, and three on each side, which with it are no boilerplate. An
/// entry of a list has more.
const TITLE_WORDS_MAX: u32 = 12;

/// In a long text as many as this part of its words: its table of contents.
const TITLE_PARTS: u32 = 32;

/// What a fetch for a rule showed, redirects followed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fetched {
    /// A page.
    Page {
        /// Its main text.
        text: Text,
        /// A hash of its payload.
        digest: Option<u64>,
        /// A hash of the multiset of its words.
        bag: Option<u64>,
        /// A soft error, a login or consent page.
        junk: bool,
    },
    /// 4xx other than 429: no such page.
    Gone,
    /// Forbidden by robots.txt.
    Forbidden,
    /// 429, 5xx, or no answer: says nothing about the rule.
    Unavailable,
}

impl Fetched {
    /// Returns what it says of a rule that one URL showed this, which stands for another one, and
    /// the other showed `audited`.
    pub fn judged_by(self, audited: Fetched) -> Finding {
        let dead =
            matches!(self, Fetched::Gone | Fetched::Forbidden | Fetched::Page { junk: true, .. });
        let alive = matches!(audited, Fetched::Page { text: Text::Main(_), junk: false, .. });
        // A page that is known by a dead, forbidden or junk form alone is lost.
        if dead && alive { Finding::Failed } else { agreement(self, audited) }
    }

    /// Returns true where a later fetch shows what certainly is not the page that was known.
    pub(crate) fn is_contradicted_by(self, later: Fetched) -> bool {
        agreement(self, later) == Finding::Failed
    }

    /// Returns true where two fetches showed texts that are much alike, but one of them has more
    /// words than a title or a table of contents makes up for: the same page with another
    /// advertisement, or a list with some entries more.
    pub(crate) fn outgrows(self, other: Fetched) -> bool {
        let (Some(words), Some(others)) = (self.words(), other.words()) else { return false };
        let most = TITLE_WORDS_MAX.max(words.max(others) / TITLE_PARTS);
        words.abs_diff(others) > most
            && !self.has_words_of(other)
            && agreement(self, other) != Finding::Failed
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

    /// Returns the number of words of the main text of a page that can bear witness.
    fn words(self) -> Option<u32> {
        match self {
            Fetched::Page { text: Text::Main(sketch), junk: false, .. } => Some(sketch.shingles),
            _ => None,
        }
    }
}

/// Returns true where a page can bear witness.
pub(crate) fn speaks(page: &Page) -> bool {
    let redirects = page.declared.as_ref().is_some_and(|(redirect, _)| *redirect);
    !page.junk && !redirects && page.text != Text::Unknown
}

/// Returns what a page of the window shows, where its main text is known.
pub(crate) fn of_page(page: &Page) -> Option<Fetched> {
    let redirects = page.declared.as_ref().is_some_and(|(redirect, _)| *redirect);
    let Text::Main(_) = page.text else { return None };
    let [digest, bag] = page.digests;
    (!redirects).then_some(Fetched::Page { text: page.text, digest, bag, junk: page.junk })
}

/// Compares a page with what should be the same page.
pub(crate) fn agreement(known: Fetched, outcome: Fetched) -> Finding {
    let Fetched::Page { text, digest, bag, junk } = known else { return Finding::Unclear };
    let (other, other_digest, other_bag, other_junk) = match outcome {
        Fetched::Page { text, digest, bag, junk } => (text, digest, bag, junk),
        Fetched::Gone | Fetched::Forbidden => return Finding::Failed,
        Fetched::Unavailable => return Finding::Unclear,
    };
    let equal = |a: Option<u64>, b: Option<u64>| a.is_some() && a == b;
    match (text, other) {
        _ if junk => Finding::Unclear,
        _ if other_junk => Finding::Failed,
        (Text::Main(_), Text::Main(_)) if equal(digest, other_digest) || equal(bag, other_bag) => {
            Finding::Same
        }
        (Text::Main(a), Text::Main(b)) => match a.compare(&b) {
            Likeness::Same => Finding::Same,
            Likeness::Different => Finding::Failed,
            Likeness::Unsure => Finding::Unclear,
        },
        (Text::Main(a), Text::Unknown) if a.shingles >= SUBSTANTIAL_SHINGLES => Finding::Failed,
        _ => Finding::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sketch::Sketch;
    use super::*;

    /// A page of words, of which the first ones are its own.
    fn page(words: std::ops::Range<u64>) -> Fetched {
        let bag = super::super::sketch::bag(words.clone());
        let text = Sketch::of_shingles(words).map_or(Text::Unknown, Text::Main);
        Fetched::Page { text, digest: None, bag: Some(bag), junk: false }
    }

    #[test]
    fn a_list_with_an_entry_more_is_alike_but_outgrows_a_title() {
        let list = page(0..300);
        assert_eq!(list.judged_by(page(0..316)), Finding::Same);
        assert!(list.outgrows(page(0..316)) && page(0..316).outgrows(list));
        assert!(!list.outgrows(page(0..300)) && !list.outgrows(page(0..312)));
        assert!(!page(0..2_000).outgrows(page(0..2_060)), "a table of contents");
        assert!(list.has_words_of(page(0..300)) && !list.has_words_of(page(0..316)));
        // What is another text anyway differs by more than words can tell.
        assert!(!list.outgrows(page(5_000..5_400)));
        assert_eq!(list.judged_by(page(5_000..5_300)), Finding::Failed);
    }

    #[test]
    fn a_page_that_is_known_by_a_dead_form_alone_is_lost() {
        assert_eq!(Fetched::Gone.judged_by(page(0..300)), Finding::Failed);
        assert_eq!(page(0..300).judged_by(Fetched::Gone), Finding::Failed);
        assert_eq!(page(0..300).judged_by(Fetched::Unavailable), Finding::Unclear);
    }
}
