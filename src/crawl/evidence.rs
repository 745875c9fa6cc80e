//! What a page shows of itself, as far as rules are judged by it, and how that is kept.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::beside::{self, Sums};
use super::visit::PageFacts;
use crate::content::{Analysis, Wording};
use crate::dust::{Fetched, Sketch, Text};
use crate::fetch::{Answer, Truncated};
use crate::filter::Found;
use crate::url::CrawlUrl;

/// Bytes from which on a body that is no HTML says which document it is: `OK`, `[]` or an image of
/// one pixel is what many answer with.
pub(crate) const BODY_MIN: usize = 64;

/// Returns what a page shows the miner.
pub(super) fn fetched_of(answer: &Answer, facts: Option<&PageFacts>) -> Fetched {
    match answer.status {
        429 | 500..=599 => Fetched::Unavailable,
        400..=499 => Fetched::Gone,
        200..=299 => {
            let analysis = facts.and_then(|facts| facts.analysis.as_ref());
            // What is cut at our own limit is the same each time.
            let whole = matches!(answer.truncated, None | Some(Truncated::Length))
                && !answer.body.is_empty();
            let junk = facts.is_some_and(|facts| facts.junk.is_some());
            let is_html = facts.is_none_or(|facts| facts.is_html);
            page_of(whole.then_some(&answer.body[..]), is_html, analysis, junk)
        }
        _ => {
            let redirect = facts.and_then(|facts| facts.redirect.as_ref());
            redirect.map_or(Fetched::Unavailable, Fetched::redirect)
        }
    }
}

/// Returns what a page shows the miner, given its whole body, whether that is HTML, what is known
/// of its text, and whether it is an error page.
pub(crate) fn page_of(
    body: Option<&[u8]>,
    is_html: bool,
    analysis: Option<&Analysis>,
    junk: bool,
) -> Fetched {
    let digest = body.map(xxh3_64);
    let tells = !is_html && body.is_some_and(|body| body.len() >= BODY_MIN);
    let bytes = digest.filter(|_| tells).map_or(Text::Unknown, Text::Bytes);
    let text = analysis.map_or(bytes, text_of);
    // In another order the rows of a list may be text enough where they were not.
    let has_bag = |analysis: &&Analysis| !analysis.thin || matches!(text, Text::Thin(_));
    Fetched::Page { text, digest, bag: analysis.filter(has_bag).map(|analysis| analysis.bag), junk }
}

fn text_of(analysis: &Analysis) -> Text {
    match &analysis.sketch {
        // Before the site's model is there, what repeats on its pages still stands in the text, and
        // a sketch of both compares with no later one.
        Some(sketch) if !analysis.thin && analysis.model_version > 0 => {
            Text::Main(Sketch { mins: *sketch.bytes(), shingles: analysis.words })
        }
        _ if analysis.thin && analysis.model_version > 0 => {
            let words: BTreeSet<u64> = analysis.main_words.iter().copied().collect();
            Sketch::of_words(words).map_or(Text::Unknown, Text::Thin)
        }
        _ => Text::Unknown,
    }
}

/// Returns a hash of the parts that an HTML page shows, such as pictures: their addresses without
/// the query, which is where sessions and counters stand, each once and in no order.
fn parts_of(facts: &PageFacts) -> Option<u64> {
    let parts = facts.links.iter().filter(|link| link.found == Found::Embed);
    let mut places: Vec<u64> = parts.map(|link| place_of(&link.url)).collect();
    places.sort_unstable();
    places.dedup();
    facts.is_html.then(|| places.into_iter().fold(0, u64::wrapping_add))
}

/// Returns a hash of the host and the path of an address.
pub(super) fn place_of(url: &CrawlUrl) -> u64 {
    xxh3_64_with_seed(url.path().as_bytes(), xxh3_64(url.host_str().as_bytes()))
}

/// What tells pages of the same words apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// A hash of the parts that it shows, as pictures are.
    pub(super) parts: Option<u64>,
    /// What it says, word for word.
    pub(super) wording: Option<Wording>,
    /// What stands beside its text.
    pub(super) beside: Option<Sums>,
}

impl Marks {
    /// Returns the marks of a page.
    pub(super) fn of(facts: &PageFacts) -> Marks {
        let wording = facts.analysis.as_ref().map(|analysis| analysis.wording);
        Marks { parts: parts_of(facts), wording, beside: beside::sums_of(facts) }
    }
}

/// Encodes what a page shows the miner, to be compared with an audit later, whether the page keeps
/// something back that another form of it may give: where it leads to, or itself from the archive;
/// and its marks.
pub(super) fn evidence(fetched: &Fetched, withheld: bool, marks: Marks) -> Vec<u8> {
    let Marks { parts, wording, beside } = marks;
    postcard::to_stdvec(&(fetched, withheld, parts, wording, beside)).unwrap_or_default()
}

/// Returns what a page showed the miner.
pub(super) fn evidence_of(bytes: &[u8]) -> Option<Fetched> {
    postcard::from_bytes(bytes).ok()
}

/// What a URL that was fetched keeps back, and another form of it may give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Withheld {
    /// Where it leads to, or itself from the archive.
    Links,
    /// A page of its own: it redirects to the URL of this hash.
    Page(u64),
}

/// Returns what a URL keeps back, given what it showed; what older programs wrote does not say.
pub(super) fn withheld(bytes: &[u8]) -> Option<Withheld> {
    match postcard::from_bytes::<(Fetched, bool)>(bytes) {
        Ok((Fetched::Redirect { to }, _)) => Some(Withheld::Page(to)),
        Ok((_, withheld)) => withheld.then_some(Withheld::Links),
        Err(_) => None,
    }
}

/// Returns the marks of a page; what older programs wrote does not say, or not of each.
pub(super) fn marks_in(bytes: &[u8]) -> Marks {
    type Parts = (Fetched, bool, Option<u64>);
    let Ok(((_, _, parts), rest)) = postcard::take_from_bytes::<Parts>(bytes) else {
        return Marks::default();
    };
    let Ok((wording, rest)) = postcard::take_from_bytes(rest) else {
        return Marks { parts, ..Marks::default() };
    };
    Marks { parts, wording, beside: postcard::from_bytes(rest).unwrap_or_default() }
}
