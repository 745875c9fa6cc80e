//! What a fetch for the sake of a rule showed, and whether two fetches showed the same.

use serde::{Deserialize, Serialize};

use super::evidence::{Page, Text};
use super::sketch::Likeness;
use super::validate::Finding;

/// A shorter main text than this may be missing from a page by chance.
const SUBSTANTIAL_SHINGLES: u32 = 24;

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
    /// Returns true where a later fetch shows what certainly is not the page that was known.
    pub(crate) fn is_contradicted_by(self, later: Fetched) -> bool {
        agreement(self, later) == Finding::Failed
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
