//! Probes: requests whose answer shows how a host says "there is nothing here".
//!
//! A path of twenty random letters cannot exist, and a search for them finds nothing (the
//! "background queries" of He et al., WSDM 2013). A plan is a few such targets, chosen by where the
//! host's pages are; each is an ordinary fetch under a lease of its own. The letters follow from a
//! seed, so a plan can be made again.

use std::collections::BTreeMap;

use super::shingle::mix;
use crate::url::query::{name_of, parameters};

/// What a probe asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// A page that is not there.
    Page,
    /// A search for what is not there.
    Search,
}

/// One request for something that cannot be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Path and query.
    pub target: String,
    /// What it asks for.
    pub kind: ProbeKind,
    /// The random letters in it: a host may echo them.
    pub nonsense: String,
}

impl Probe {
    /// Returns true where the probe is a place, given by its path and query, with nonsense instead
    /// of a part of it that may not matter: of the name in a directory, or beside it of a parameter
    /// that the place has not.
    pub fn strays_from(&self, place: &str) -> bool {
        let (path, query) = split(place);
        let (own, words) = split(&self.target);
        match self.kind {
            ProbeKind::Page => {
                let directory = own.rsplit_once('/').map_or("", |(directory, _)| directory);
                !directory.is_empty()
                    && path.rsplit_once('/').is_some_and(|(of, _)| of == directory)
            }
            ProbeKind::Search => {
                let name = name_of(words);
                path == own && parameters(query).all(|part| name_of(part) != name)
            }
        }
    }
}

/// Probes of a host at most: each costs it a request.
pub const PROBES_MAX: usize = 6;

/// Names of the parameter that takes the words of a search.
const SEARCH_PARAMETERS: [&str; 11] =
    ["q", "query", "s", "search", "k", "kw", "keyword", "keywords", "term", "text", "wd"];

/// Plans at most `limit` probes (and [`PROBES_MAX`]) of a host on which `known` (paths with
/// queries) were found: one at the root, then one in each of the directories with most pages, with
/// their usual file ending, and a search where the host has one. A second of each comes last, to
/// show what changes from answer to answer.
pub fn plan(seed: u64, known: &[&str], limit: usize) -> Vec<Probe> {
    let mut directories: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut searches: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for target in known {
        let (path, query) = split(target);
        let (directory, file) = path.rsplit_once('/').unwrap_or(("", path));
        *directories.entry((directory, ending(file))).or_default() += 1;
        for (name, _) in parameters(query).filter_map(|pair| pair.split_once('=')) {
            if SEARCH_PARAMETERS.contains(&name) {
                *searches.entry((path, name)).or_default() += 1;
            }
        }
    }
    let most = |counts: BTreeMap<(&str, &str), usize>| {
        let mut all: Vec<_> = counts.into_iter().collect();
        all.sort_by_key(|(place, count)| (std::cmp::Reverse(*count), place.len_key()));
        all.into_iter().map(|((a, b), _)| (a.to_owned(), b.to_owned())).collect::<Vec<_>>()
    };
    let page = |directory: &str, ending: &str, nth: u64| {
        let nonsense = nonsense(seed, nth);
        let target = format!("{directory}/{nonsense}{ending}");
        Probe { target, kind: ProbeKind::Page, nonsense }
    };
    let mut out = vec![page("", "", 0)];
    let searches = most(searches);
    let search = |nth: u64| {
        let (path, name) = searches.first()?;
        let nonsense = nonsense(seed, nth);
        let target = format!("{path}?{name}={nonsense}");
        Some(Probe { target, kind: ProbeKind::Search, nonsense })
    };
    out.extend(search(1));
    let places = most(directories).into_iter().filter(|place| *place != Default::default());
    let mut places =
        places.zip(2..4).map(|((directory, ending), nth)| page(&directory, &ending, nth));
    out.extend(places.next());
    out.extend(search(8));
    out.push(page("", "", 9));
    out.extend(places.next());
    out.truncate(limit.min(PROBES_MAX));
    out
}

/// Returns path and query.
fn split(target: &str) -> (&str, &str) {
    target.split_once('?').unwrap_or((target, ""))
}

/// Shorter places first, then by name, so that a plan does not depend on chance.
trait LenKey {
    fn len_key(&self) -> (usize, String);
}

impl LenKey for (&str, &str) {
    fn len_key(&self) -> (usize, String) {
        (self.0.len() + self.1.len(), format!("{}{}", self.0, self.1))
    }
}

/// Returns `.html` and the like, or nothing.
fn ending(file: &str) -> &str {
    let dot = file.rfind('.').filter(|dot| *dot > 0 && file.len() - dot <= 6);
    dot.map_or("", |dot| &file[dot..])
}

/// Returns twenty letters that mean nothing.
fn nonsense(seed: u64, nth: u64) -> String {
    const LETTERS: &[u8; 16] = b"bcdfghjklmnpqvwz";
    let bits = u128::from(mix(seed ^ mix(nth))) << 64 | u128::from(mix(seed.rotate_left(32) ^ nth));
    (0..20).map(|at| LETTERS[(bits >> (4 * at)) as usize & 15] as char).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_asks_where_the_pages_are() {
        let known = ["/a.html", "/docs/x.html", "/docs/y.html", "/docs/z.html", "/find?q=x&page=2"];
        let plan = plan(7, &known, 9);
        let shapes: Vec<String> =
            plan.iter().map(|probe| probe.target.replace(&probe.nonsense, "*")).collect();
        assert_eq!(shapes, ["/*", "/find?q=*", "/docs/*.html", "/find?q=*", "/*", "/*.html"]);
        assert_eq!(plan[1].kind, ProbeKind::Search);
        let between = super::plan(7, &["/find?page=2;q=x"], 2);
        assert_eq!(between[1].kind, ProbeKind::Search, "between semicolons");
        assert!(plan.iter().all(|probe| probe.nonsense.len() == 20));
    }

    #[test]
    fn nonsense_may_stand_for_a_name_behind_a_number_or_for_words_that_are_not_looked_for() {
        let probe =
            |kind, target: &str| Probe { target: target.into(), kind, nonsense: "x".into() };
        let page = probe(ProbeKind::Page, "/item/1/x");
        assert!(page.strays_from("/item/1/title") && page.strays_from("/item/1/?all=1"));
        assert!(!page.strays_from("/item/2/title") && !page.strays_from("/item/1"));
        assert!(
            !probe(ProbeKind::Page, "/x").strays_from("/title"),
            "of the root nothing is known"
        );
        let search = probe(ProbeKind::Search, "/list?q=x");
        assert!(search.strays_from("/list") && search.strays_from("/list?page=2"));
        assert!(!search.strays_from("/list?q=word") && !search.strays_from("/other"));
    }

    #[test]
    fn a_plan_follows_from_its_seed_and_keeps_its_limit() {
        assert_eq!(plan(7, &["/a/b"], 4), plan(7, &["/a/b"], 4));
        assert_ne!(plan(7, &[], 1), plan(8, &[], 1));
        assert_eq!(plan(1, &["/a/b", "/c/d", "/?s=x"], 2).len(), 2);
        assert_ne!(plan(1, &[], 2)[0].nonsense, plan(1, &[], 2)[1].nonsense);
    }
}
