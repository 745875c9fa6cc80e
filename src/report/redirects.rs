//! Redirect chains: how long they are, and the longest of them.
//!
//! The discovery path of a URL ends in one `R` for every redirect that led to it, so the log tells
//! the length of a chain at its end without any memory of its beginning.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::crawl::log::Line;

/// Chains that are shown.
const KEPT_MAX: usize = 100;

/// What the log says of redirects.
#[derive(Debug, Default)]
pub(super) struct Redirects {
    /// Answers with a redirect, by status.
    pub(super) by_status: BTreeMap<u16, u64>,
    /// Redirects whose target is on another host.
    pub(super) elsewhere: u64,
    /// How often a URL was reached over so many redirects, and answered something else.
    pub(super) by_length: BTreeMap<u32, u64>,
    longest: BinaryHeap<Reverse<Chain>>,
    order: u64,
}

/// The end of a chain. The longest come first; among equals, the first found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Chain {
    /// Redirects in it.
    pub(super) length: u32,
    order: Reverse<u64>,
    /// Where it ends.
    pub(super) url: String,
    /// The last redirect before that.
    pub(super) via: String,
    /// What the end answered.
    pub(super) status: u16,
}

impl Redirects {
    /// Takes in a line about a page.
    pub(super) fn note(&mut self, line: &Line) {
        if let Some(location) = &line.location {
            *self.by_status.entry(line.status).or_default() += 1;
            let host = crate::url::CrawlUrl::parse(location);
            self.elsewhere += u64::from(host.is_ok_and(|url| url.host_str() != line.host));
            return;
        }
        let length = line.path.bytes().rev().take_while(|letter| *letter == b'R').count() as u32;
        if length == 0 {
            return;
        }
        *self.by_length.entry(length).or_default() += 1;
        let least = self.longest.peek().map_or(0, |least| least.0.length);
        if self.longest.len() >= KEPT_MAX && length <= least {
            return;
        }
        self.order += 1;
        self.longest.push(Reverse(Chain {
            length,
            order: Reverse(self.order),
            url: line.url.clone(),
            via: line.via.clone().unwrap_or_default(),
            status: line.status,
        }));
        if self.longest.len() > KEPT_MAX {
            self.longest.pop();
        }
    }

    /// Returns the longest chains, the longest first.
    pub(super) fn longest(&self) -> Vec<Chain> {
        let mut chains: Vec<Chain> = self.longest.iter().map(|chain| chain.0.clone()).collect();
        chains.sort_by(|a, b| b.cmp(a));
        chains
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_chain_is_known_at_its_end_and_the_longest_are_kept() {
        let mut redirects = Redirects::default();
        let mut note = |path: &str, url: &str, location: Option<&str>| {
            redirects.note(&Line {
                path: path.to_owned(),
                url: url.to_owned(),
                host: "a.test".to_owned(),
                status: if location.is_some() { 301 } else { 200 },
                location: location.map(str::to_owned),
                ..Line::default()
            });
        };
        note("L", "http://a.test/1", Some("http://a.test/2"));
        note("LR", "http://a.test/2", Some("http://b.test/3"));
        note("LRR", "http://b.test/3", None);
        note("LRL", "http://b.test/4", None);
        (0..KEPT_MAX).for_each(|n| note("LR", &format!("http://a.test/x{n}"), None));
        assert_eq!(redirects.by_status[&301], 2);
        assert_eq!(redirects.elsewhere, 1);
        assert_eq!(redirects.by_length[&2], 1);
        assert_eq!(redirects.by_length[&1], KEPT_MAX as u64);
        let longest = redirects.longest();
        assert_eq!((longest.len(), longest[0].length), (KEPT_MAX, 2));
        assert_eq!(longest[1].url, "http://a.test/x0");
    }
}
