//! How pages differ that a rule makes one: by labels, or by what they are.
//!
//! A view to print has a notice that the page has not, and a list says by what it is sorted: the
//! same words for every page. What each page has of its own, the material and the washing of a
//! shirt in another colour, is content, even if it is little beside the text that all share.

use std::collections::VecDeque;

use super::fetched::TITLE_WORDS_MAX;
use super::sketch::{Likeness, Sketch};
use crate::content::Change;

/// Pairs that are remembered of one kind, the latest ones.
const KEPT_MAX: usize = 12;

/// The ways in which pages have differed that the same rules make one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    seen: VecDeque<(Sketch, Change)>,
}

impl Changes {
    /// Takes in by which words a page of this text differs from another one, of which so many are
    /// those by which each page changes; returns whether pages of other texts have differed by much
    /// the same words, and `None` where none have differed.
    pub(crate) fn recurs(&mut self, text: Sketch, change: Change, noise: u32) -> Option<bool> {
        let others = self.seen.iter().filter(|(of, _)| of.compare(&text) == Likeness::Different);
        let others: Vec<bool> = others.map(|(_, seen)| seen.is_like(&change, noise)).collect();
        let alike = others.iter().filter(|is_like| **is_like).count();
        let recurs = (!others.is_empty()).then(|| is_common(&change, alike, others.len()));
        if self.seen.len() >= KEPT_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back((text, change));
        recurs
    }
}

/// Returns true where a change by which so many of other pages differ is a label. One as short as a
/// title says how a page was asked for, and each value of a parameter has its own. A long one
/// stands on all pages; where each value has another, as the pages of a machine have its name in
/// every line, it is what they are about.
pub(crate) fn is_common(change: &Change, alike: usize, others: usize) -> bool {
    let least = if change.words() > TITLE_WORDS_MAX { others.div_ceil(2) } else { 1 };
    alike >= least.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Bag;

    #[test]
    fn a_label_recurs_on_another_document_and_content_does_not() {
        let text = |document: u64| {
            Sketch::of_shingles(document * 1_000..document * 1_000 + 120).expect("it has words")
        };
        let change =
            |from: u64| Bag::of(0..100).change_to(&Bag::of((0..100).chain(from..from + 20)));
        let mut changes = Changes::default();
        assert_eq!(changes.recurs(text(1), change(1_000), 0), None);
        assert_eq!(changes.recurs(text(1), change(1_000), 0), None, "one document is one witness");
        assert_eq!(changes.recurs(text(2), change(2_000), 0), Some(false));
        assert_eq!(changes.recurs(text(3), change(1_000), 0), Some(true));
        // The name of a machine in each line of its pages: another one for each machine.
        let mut named = Changes::default();
        let of_machine = |n: u64| change((n % 6 + 1) * 10_000);
        let known = (0..12).filter(|n| named.recurs(text(10 + n), of_machine(*n), 0) == Some(true));
        assert_eq!(known.count(), 0);
        for document in 4..4 + KEPT_MAX as u64 {
            changes.recurs(text(document), change(document * 1_000), 0);
        }
        assert_eq!(changes.recurs(text(99), change(1_000), 0), Some(false), "it is long ago");
        assert_eq!(changes.seen.len(), KEPT_MAX);
    }
}
