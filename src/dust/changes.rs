//! How pages differ that a rule makes one: by labels, or by what they are.
//!
//! A view to print has a notice that the page has not, and a list says by what it is sorted: the
//! same words for every page. What each page has of its own, the material and the washing of a
//! shirt in another colour, is content, even if it is little beside the text that all share.

use std::collections::VecDeque;

use super::sketch::{Likeness, Sketch};
use crate::content::Change;

/// Pairs that are remembered of one kind, the latest ones.
const KEPT_MAX: usize = 12;

/// The ways in which pages have differed that the same rules make one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    seen: VecDeque<(Sketch, Change)>,
}

/// What is known of a way in which two pages differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recurrence {
    /// Pages with another text differ by much the same words: they are a label.
    Recurs,
    /// Pages with another text differ by other words.
    IsOwn,
    /// No pages with another text were seen to differ.
    Unknown,
}

impl Changes {
    /// Takes in by which words a page of this text differs from another one.
    pub(crate) fn note(&mut self, text: Sketch, change: Change) -> Recurrence {
        let others = self.seen.iter().filter(|(of, _)| of.compare(&text) == Likeness::Different);
        let recurs = others.map(|(_, seen)| seen.is_like(&change)).max();
        if self.seen.len() >= KEPT_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back((text, change));
        match recurs {
            Some(true) => Recurrence::Recurs,
            Some(false) => Recurrence::IsOwn,
            None => Recurrence::Unknown,
        }
    }
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
        assert_eq!(changes.note(text(1), change(1_000)), Recurrence::Unknown);
        assert_eq!(changes.note(text(1), change(1_000)), Recurrence::Unknown, "one document");
        assert_eq!(changes.note(text(2), change(2_000)), Recurrence::IsOwn);
        assert_eq!(changes.note(text(3), change(1_000)), Recurrence::Recurs);
        for document in 4..4 + KEPT_MAX as u64 {
            changes.note(text(document), change(document * 1_000));
        }
        assert_eq!(changes.note(text(99), change(1_000)), Recurrence::IsOwn, "it is long ago");
        assert_eq!(changes.seen.len(), KEPT_MAX);
    }
}
