//! Clusters of near-duplicates as they grow, for observers: what `crawler dups --clusters` finds in
//! the whole index, without a walk through it.
//!
//! A page is looked up once, when it comes, and joins its nearest known page: so clusters grow by
//! single pages and never merge, and one may be named here in parts that the walk would connect.
//! They begin anew with each start of the program. Bounded: [`CLUSTERS_MAX`] clusters, and
//! [`PAGES_MAX`] pages that are known as members, 16 bytes each.

use std::collections::HashMap;

use super::view::ClusterLine;
use crate::content::near::PageId;

/// Clusters that are told apart; the first so many of a run.
const CLUSTERS_MAX: usize = 4_096;

/// Members that are known again when something is like them.
const PAGES_MAX: usize = 65_536;

/// All clusters of this run.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    of_page: HashMap<PageId, usize>,
    clusters: Vec<ClusterLine>,
}

impl Clusters {
    /// Takes note that a page is nearly the same as a known one; each with its number and URL.
    pub(super) fn note(&mut self, page: (PageId, &str), known: (PageId, &str)) {
        let at = match self.of_page.get(&known.0) {
            Some(at) => *at,
            None if self.clusters.len() < CLUSTERS_MAX => {
                let (url, newest) = (known.1.to_owned(), String::new());
                self.clusters.push(ClusterLine { pages: 1, url, newest });
                self.remember(known.0, self.clusters.len() - 1);
                self.clusters.len() - 1
            }
            None => return,
        };
        let cluster = &mut self.clusters[at];
        cluster.pages += 1;
        page.1.clone_into(&mut cluster.newest);
        self.remember(page.0, at);
    }

    fn remember(&mut self, page: PageId, at: usize) {
        if self.of_page.len() < PAGES_MAX {
            self.of_page.insert(page, at);
        }
    }

    /// Returns the largest clusters, at most `most`, the largest first.
    pub(super) fn largest(&self, most: usize) -> Vec<ClusterLine> {
        let mut all: Vec<&ClusterLine> = self.clusters.iter().collect();
        all.sort_by_key(|cluster| std::cmp::Reverse(cluster.pages));
        all.into_iter().take(most).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_join_the_cluster_of_the_page_that_they_are_like() {
        let mut clusters = Clusters::default();
        for (page, known) in [(2, 1), (5, 4), (3, 2), (6, 1)] {
            let names = [page, known].map(|at| format!("http://a.test/{at}"));
            clusters.note((page, &names[0]), (known, &names[1]));
        }
        let largest = clusters.largest(1);
        assert_eq!(largest.len(), 1);
        let (url, newest) = ("http://a.test/1".to_owned(), "http://a.test/6".to_owned());
        assert_eq!(largest[0], ClusterLine { pages: 4, url, newest });
        assert_eq!(clusters.largest(9)[1].pages, 2);
    }

    #[test]
    fn clusters_are_bounded_and_those_that_are_known_go_on_growing() {
        let mut clusters = Clusters::default();
        for n in 0..100_000 {
            clusters.note((2 * n + 1, "b"), (2 * n, "a"));
        }
        assert_eq!(clusters.clusters.len(), CLUSTERS_MAX);
        clusters.note((7_000_000, "c"), (0, "a"));
        assert_eq!(clusters.largest(1)[0].pages, 3);
    }
}
