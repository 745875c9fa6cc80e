//! Redirect chains: where they begin, and what they come to.
//!
//! They are followed from answer to answer by what each says, for the crawl fetches a URL once:
//! most redirects lead to what is known already, and some in a circle.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use crate::crawl::log::Line;
use crate::url::CrawlUrl;

/// Redirects whose targets are remembered, a few hundred bytes each.
const KNOWN_MAX: usize = 100_000;

/// Steps of a chain that are followed; browsers stop at 20.
const STEPS_MAX: usize = 50;

/// What the log says of redirects.
#[derive(Debug, Default)]
pub(super) struct Redirects {
    /// Answers with a redirect, by status.
    pub(super) by_status: BTreeMap<u16, u64>,
    /// Redirects whose target is on another host.
    pub(super) elsewhere: u64,
    /// Redirects that are not followed, for too many were met before.
    pub(super) beyond: u64,
    targets: BTreeMap<String, String>,
}

/// Redirects that lead from one to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    /// The URLs, from the first that redirects to the one where it ends.
    pub(super) steps: Vec<String>,
    /// True if the last one came before.
    pub(super) is_loop: bool,
}

impl Chain {
    /// Returns the number of redirects in it.
    pub(super) fn length(&self) -> usize {
        self.steps.len().saturating_sub(1)
    }
}

impl Redirects {
    /// Takes in a line about a page.
    pub(super) fn note(&mut self, line: &Line) {
        let Some(location) = &line.location else { return };
        *self.by_status.entry(line.status).or_default() += 1;
        let target = CrawlUrl::parse(location);
        self.elsewhere += u64::from(target.as_ref().is_ok_and(|url| url.host_str() != line.host));
        if self.targets.len() >= KNOWN_MAX && !self.targets.contains_key(&line.url) {
            self.beyond += 1;
            return;
        }
        let target = target.map_or_else(|_| location.clone(), |url| url.as_str().to_owned());
        self.targets.insert(line.url.clone(), target);
    }

    /// Returns all chains, the longest first.
    pub(super) fn chains(&self) -> Vec<Chain> {
        let onward = self.targets.iter().filter(|(from, to)| from != to);
        let led_to: HashSet<&String> = onward.map(|(_, to)| to).collect();
        let (later, first): (Vec<_>, Vec<_>) =
            self.targets.keys().partition(|url| led_to.contains(url));
        let mut passed = HashSet::new();
        let mut chains: Vec<Chain> =
            first.into_iter().map(|url| self.follow(url, &mut passed)).collect();
        // What no chain has passed leads in a circle that nothing leads into.
        for url in later {
            if !passed.contains(url) {
                chains.push(self.follow(url, &mut passed));
            }
        }
        chains.sort_by_key(|chain| Reverse(chain.length()));
        chains
    }

    fn follow<'a>(&'a self, first: &'a String, passed: &mut HashSet<&'a String>) -> Chain {
        let (mut steps, mut at) = (vec![first.clone()], first);
        while let Some(next) = self.targets.get(at)
            && steps.len() <= STEPS_MAX
        {
            passed.insert(at);
            let is_loop = steps.contains(next);
            steps.push(next.clone());
            if is_loop {
                return Chain { steps, is_loop };
            }
            at = next;
        }
        Chain { steps, is_loop: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_followed_to_their_ends_and_circles_are_known() {
        let mut redirects = Redirects::default();
        let mut note = |from: &str, to: Option<&str>| {
            redirects.note(&Line {
                url: format!("http://a.test/{from}"),
                host: "a.test".to_owned(),
                status: if to.is_some() { 301 } else { 200 },
                location: to.map(str::to_owned),
                ..Line::default()
            });
        };
        note("1", Some("http://a.test/2"));
        note("2", Some("http://b.test/3"));
        note("4", None);
        note("also", Some("http://a.test/2"));
        note("self", Some("http://a.test/self"));
        note("x", Some("http://a.test/y"));
        note("y", Some("http://a.test/x"));
        assert_eq!(redirects.by_status[&301], 6);
        assert_eq!(redirects.elsewhere, 1);
        let found = redirects.chains();
        let shown: Vec<(String, bool)> = found
            .iter()
            .map(|chain| (chain.steps.join(" ").replace("http://a.test/", ""), chain.is_loop))
            .collect();
        let want = [
            ("1 2 http://b.test/3", false),
            ("also 2 http://b.test/3", false),
            ("x y x", true),
            ("self self", true),
        ];
        assert_eq!(shown, want.map(|(steps, is_loop)| (steps.to_owned(), is_loop)));
    }
}
