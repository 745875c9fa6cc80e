//! What sets apart the URLs that lead to one document, counted as pages come: it says when a search
//! of a site would find something new. It proposes no rule; that is the search's part.
//!
//! A difference is what is left of two URLs without what they have in common, numbers and values
//! masked, so that `/story_17` beside `/story?id=17` is the same difference as any other pair of
//! that kind. Bounded: so many differences are counted per site, and later ones are not.

use std::collections::{BTreeSet, HashMap};

use xxhash_rust::xxh3::xxh3_64;

use super::escapes;
use super::evidence::Doc;
use super::propose::tokens;
use crate::url::query;

/// Differences counted for one site; where there are more, most are chance.
const DIFFERENCES_MAX: usize = 1_024;

/// Documents that a difference must be seen on before it is worth a search, and then twice as many
/// each time: what the search made of it does not change much before.
const DOCUMENTS_MIN: u32 = 2;

/// The differences of one site.
#[derive(Clone, Debug, Default)]
pub(crate) struct Differences {
    seen: HashMap<u64, Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    last: Doc,
    documents: u32,
    next: u32,
}

impl Differences {
    /// Takes in two URLs of one document; returns true where their difference is worth a search.
    pub(crate) fn note(&mut self, doc: Doc, a: &str, b: &str) -> bool {
        let difference = difference(a, b);
        if self.seen.len() >= DIFFERENCES_MAX && !self.seen.contains_key(&difference) {
            return false;
        }
        let none = Seen { last: doc, documents: 0, next: DOCUMENTS_MIN };
        let seen = self.seen.entry(difference).or_insert(none);
        if seen.documents == 0 || seen.last != doc {
            seen.last = doc;
            seen.documents = seen.documents.saturating_add(1);
        }
        let worth = seen.documents >= seen.next;
        if worth {
            seen.next = seen.documents.saturating_mul(2);
        }
        worth
    }
}

/// Returns a hash of what two URLs do not have in common, whichever is given first.
fn difference(a: &str, b: &str) -> u64 {
    // Whichever characters are escaped, one rule is about all of them.
    if escapes::are_alike(a, b) {
        return xxh3_64(b"%");
    }
    let (a, b) = (Parts::of(a), Parts::of(b));
    let mut sides = [String::new(), String::new()];
    let [left, right] = &mut sides;
    if a.origin != b.origin {
        left.push_str(a.origin);
        right.push_str(b.origin);
    }
    let (x, y) = (tokens(a.path), tokens(b.path));
    let before = x.iter().zip(&y).take_while(|(x, y)| x == y).count();
    let most = x.len().min(y.len()) - before;
    let after = x.iter().rev().zip(y.iter().rev()).take_while(|(x, y)| x == y).count().min(most);
    let (x, y) = (&x[before..x.len() - after], &y[before..y.len() - after]);
    let only_case = x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.eq_ignore_ascii_case(y));
    if only_case && !x.is_empty() {
        left.push('\u{1}');
    } else {
        x.iter().for_each(|token| push_masked(left, token));
        y.iter().for_each(|token| push_masked(right, token));
    }
    let (x, y) = (a.parameters(), b.parameters());
    x.difference(&y).for_each(|(name, _)| push_name(left, name));
    y.difference(&x).for_each(|(name, _)| push_name(right, name));
    if x == y && a.query != b.query {
        left.push('\u{2}');
    }
    sides.sort_unstable();
    xxh3_64(sides.join("\u{3}").as_bytes())
}

fn push_masked(side: &mut String, token: &str) {
    let number = token.bytes().all(|byte| byte.is_ascii_digit());
    side.push_str(if number { "#" } else { token });
}

fn push_name(side: &mut String, name: &str) {
    side.push('\u{4}');
    side.push_str(name);
}

/// A URL taken apart, as far as that needs no parsing.
struct Parts<'a> {
    origin: &'a str,
    path: &'a str,
    query: &'a str,
}

impl<'a> Parts<'a> {
    fn of(url: &'a str) -> Parts<'a> {
        let host = url.find("://").map_or(0, |at| at + 3);
        let path = url[host..].find(['/', '?']).map_or(url.len(), |at| host + at);
        let (origin, tail) = url.split_at(path);
        let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
        Parts { origin, path, query }
    }

    /// Returns names and values.
    fn parameters(&self) -> BTreeSet<(&'a str, &'a str)> {
        let parts = query::parameters(self.query).filter(|part| !part.is_empty());
        parts.map(|part| part.split_once('=').unwrap_or((part, ""))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_one_kind_have_one_difference_whatever_their_numbers_and_values() {
        let alike = |a: [&str; 2], b: [&str; 2]| {
            let url = |tail: &str| format!("http://a.example{tail}");
            let hash = |pair: [&str; 2]| difference(&url(pair[0]), &url(pair[1]));
            hash(a) == hash(b) && hash(a) == hash([b[1], b[0]])
        };
        assert!(alike(["/story_1", "/story?id=1"], ["/story_27", "/story?id=27"]));
        assert!(alike(["/p?sid=a1", "/p"], ["/q/r?x=1&sid=b2", "/q/r?x=1"]));
        assert!(alike(["/p?sid=a1", "/p?sid=a2"], ["/q?sid=b1&x=1", "/q?x=1&sid=b2"]));
        assert!(alike(["/p?a=1&b=2", "/p?b=2&a=1"], ["/q?c=1&d=2", "/q?d=2&c=1"]));
        assert!(alike(["/About/x", "/about/x"], ["/y/Team", "/y/team"]));
        assert!(alike(["/(x)", "/%28x%29"], ["/y?q=a+b:c", "/y?q=a%20b%3Ac"]));
        assert!(alike(["/~ann/cv", "/people/ann/cv"], ["/~bob/", "/people/bob/"]));
        assert!(!alike(["/p?sid=a1", "/p"], ["/p?ref=a1", "/p"]));
        assert!(!alike(["/a/x", "/b/x"], ["/a/x", "/c/x"]));
    }

    #[test]
    fn a_difference_is_worth_a_search_at_two_documents_four_and_eight() {
        let mut differences = Differences::default();
        let note = |differences: &mut Differences, doc: Doc| {
            differences.note(doc, "http://a.example/p?sid=1", "http://a.example/p")
        };
        assert!(!note(&mut differences, 1));
        assert!(!note(&mut differences, 1), "one document is one witness");
        let worth: Vec<Doc> = (2..=16).filter(|doc| note(&mut differences, *doc)).collect();
        assert_eq!(worth, [2, 4, 8, 16]);
    }

    #[test]
    fn no_site_makes_it_grow_without_end() {
        let mut differences = Differences::default();
        for n in 0..5_000 {
            differences.note(n, &format!("http://a.example/p?x{n}=1"), "http://a.example/p");
        }
        assert_eq!(differences.seen.len(), DIFFERENCES_MAX);
    }
}
