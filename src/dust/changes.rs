//! How pages differ that a rule makes one: by labels, or by what they are.
//!
//! A view to print has a notice that the page has not, and a list says by what it is sorted: the
//! same words for every page. What each page has of its own, the material and the washing of a
//! shirt in another colour, is content, even if it is little beside the text that all share.

use std::collections::VecDeque;

use super::fetched::TITLE_WORDS_MAX;
use super::sketch::{Likeness, Sketch};
use crate::content::{Change, WordingChange};

/// Pairs that are remembered of one kind, the latest ones.
const KEPT_MAX: usize = 12;

/// What words are by which a page differs from the one that rules make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// Nothing is known of other pages yet.
    Unknown,
    /// They say how a page was asked for.
    Label,
    /// Other pages differ by others.
    Other,
    /// Several other pages do, and none by these: each has words of its own.
    Each,
    /// Other pages do not differ, or some do by these and some do not: they are what it says.
    Own,
}

/// How a page differs from the one that rules make it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Difference {
    /// By which words, as far as that can be estimated.
    pub(crate) words: Change,
    /// By what it says exactly, if that is known.
    pub(crate) wording: Option<WordingChange>,
}

impl Difference {
    /// Returns true where two pairs differ by the same: by much the same words, beside so many by
    /// which pages change at each look, and not by numbers of their own, if that is known.
    fn is_like(&self, other: &Difference, noise: u32) -> bool {
        match (&self.wording, &other.wording) {
            (Some(a), Some(b)) if a.is_same(b) => true,
            (Some(a), Some(b)) if !a.has_figures_of(b) => false,
            _ => self.words.is_like(&other.words, noise),
        }
    }
}

impl From<Change> for Difference {
    fn from(words: Change) -> Self {
        Difference { words, wording: None }
    }
}

/// The ways in which pages have differed that the same rules make one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// The text of a pair, and how its pages differed, if they did.
    seen: VecDeque<(Sketch, Option<Difference>)>,
}

impl Changes {
    /// Takes in by which words a page of this text differs from another one, of which so many are
    /// those by which each page changes; returns what pages of other texts say of that.
    pub(crate) fn note(&mut self, text: Sketch, change: Difference, noise: u32) -> Words {
        let said = self.say(&text, &change, noise);
        self.keep(text, Some(change));
        said
    }

    /// Returns what pages of other texts say of a change.
    pub(crate) fn say(&self, text: &Sketch, change: &Difference, noise: u32) -> Words {
        let mut others = Others::default();
        let mut otherwise: Vec<Sketch> = Vec::new();
        let is_other = |a: &Sketch, b: &Sketch| a.compare(b) == Likeness::Different;
        for (of, seen) in self.seen.iter().filter(|(of, _)| is_other(of, text)) {
            others.count(seen.as_ref().map(|seen| seen.is_like(change, noise)));
            if seen.is_some() && otherwise.iter().all(|known| is_other(known, of)) {
                otherwise.push(*of);
            }
        }
        match () {
            () if !others.are_some() => Words::Unknown,
            () if others.have(change) => Words::Label,
            () if others.have_mostly_none() => Words::Own,
            () if change.wording.is_some() && others.have_some() => Words::Own,
            () if others.alike == 0 && otherwise.len() >= EACH_MIN => Words::Each,
            () => Words::Other,
        }
    }

    /// Returns true where some pages differ.
    pub(crate) fn have_any(&self) -> bool {
        self.seen.iter().any(|(_, change)| change.is_some())
    }

    /// Takes in that a page of this text is, word for word, the one that the rules make it.
    pub(crate) fn note_same(&mut self, text: Sketch) {
        self.keep(text, None);
    }

    fn keep(&mut self, text: Sketch, change: Option<Difference>) {
        if self.seen.len() >= KEPT_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back((text, change));
    }
}

/// What pairs of pages of other texts show beside a change.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Others {
    alike: usize,
    otherwise: usize,
    same: usize,
}

impl Others {
    /// Counts a pair of which it is told whether it differs by the same, if it does at all.
    pub(crate) fn count(&mut self, alike: Option<bool>) {
        match alike {
            None => self.same += 1,
            Some(true) => self.alike += 1,
            Some(false) => self.otherwise += 1,
        }
    }

    /// Returns true where some pairs have a change and others none at all: "not" came into these.
    fn have_some(&self) -> bool {
        self.alike > 0 && self.same > 0
    }

    fn are_some(&self) -> bool {
        self.alike + self.otherwise + self.same > 0
    }

    /// Returns true where next to all of many pairs are the same word for word.
    fn have_mostly_none(&self) -> bool {
        self.same >= SHORT_AMONG && (self.alike + self.otherwise) * SHORT_AMONG < self.same
    }

    /// Returns true where so many of the pairs have a change that it is a label: it says how a page
    /// was asked for, and stands where others were asked for in that way. A long one stands on all
    /// pages; where each value has another, as the pages of a machine have its name in every line,
    /// it is what they are about. One as short as a title may differ from value to value, but is on
    /// most pages in some form. A notice that some documents have is theirs.
    ///
    /// Where it is known by what exactly the pages differ, also that some do not is known, and on
    /// these there is no label: "not" may be in every second sentence.
    pub(crate) fn have(&self, change: &Difference) -> bool {
        let Others { alike, otherwise, same } = *self;
        let least = match change.words.words() > TITLE_WORDS_MAX {
            true => (alike + otherwise + same).div_ceil(2),
            false if change.wording.is_some() => same * SHORT_AMONG,
            false => same.div_ceil(SHORT_AMONG),
        };
        alike >= least.max(1)
    }
}

/// Other texts whose pages differ, each by its own words, after which one that does is no accident.
const EACH_MIN: usize = 2;

/// Of so many pairs without a label one at most has a short one.
const SHORT_AMONG: usize = 8;

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
            |from: u64| Bag::of(0..100).change_to(&Bag::of((0..100).chain(from..from + 20))).into();
        let mut changes = Changes::default();
        assert_eq!(changes.note(text(1), change(1_000), 0), Words::Unknown);
        let said = changes.note(text(1), change(1_000), 0);
        assert_eq!(said, Words::Unknown, "one document is one witness");
        assert_eq!(changes.note(text(2), change(2_000), 0), Words::Other);
        assert_eq!(changes.note(text(3), change(1_000), 0), Words::Label);
        // The name of a machine in each line of its pages: another one for each machine.
        let mut named = Changes::default();
        let of_machine = |n: u64| change((n % 6 + 1) * 10_000);
        let known = (0..12).filter(|n| named.note(text(10 + n), of_machine(*n), 0) == Words::Label);
        assert_eq!(known.count(), 0);
        for document in 4..4 + KEPT_MAX as u64 {
            changes.note(text(document), change(document * 1_000), 0);
        }
        assert_eq!(changes.note(text(99), change(1_000), 0), Words::Each, "it is long ago");
        assert_eq!(changes.seen.len(), KEPT_MAX);
    }

    /// A notice of twelve words on each form, and another weight of each product beside it: by
    /// their words all differed by the notice.
    #[test]
    fn a_label_does_not_cover_numbers_beside_it() {
        let text = |document: u64| {
            Sketch::of_shingles(document * 1_000..document * 1_000 + 120).expect("it has words")
        };
        let of = |figures: u32| WordingChange::of(77 * figures, figures);
        let notice = |document: u64, figures: Option<u32>| {
            let own = (document * 5_000..).take(if figures.is_some() { 2 } else { 0 });
            let words = Bag::of(0..100).change_to(&Bag::of((0..100).chain(500..512).chain(own)));
            Difference { words, wording: Some(figures.map_or(of(0), of)) }
        };
        let mut changes = Changes::default();
        changes.note(text(1), notice(1, None), 0);
        assert_eq!(changes.note(text(2), notice(2, None), 0), Words::Label);
        let weighs = |n: u64| notice(n, Some(n as u32));
        assert_ne!(changes.note(text(3), weighs(3), 0), Words::Label);
        assert_ne!(changes.note(text(4), weighs(4), 0), Words::Label);
        assert_eq!(changes.note(text(5), notice(5, None), 0), Words::Label);
    }

    /// One function in twenty had a notice on one of two platforms, word for word that of others:
    /// pairs without it were no pairs, and from the second one on it was a label.
    #[test]
    fn what_stands_on_a_few_pages_is_theirs_though_it_is_the_same_on_each() {
        let text = |document: u64| {
            Sketch::of_shingles(document * 1_000..document * 1_000 + 120).expect("it has words")
        };
        let notice = |words: u64| {
            Bag::of(0..100).change_to(&Bag::of((0..100).chain(500..500 + words))).into()
        };
        for (words, on_one_in, are) in [
            (24, 20, Words::Own),
            (6, 20, Words::Own),
            (6, 4, Words::Label),
            (24, 4, Words::Other),
            (24, 1, Words::Label),
        ] {
            let mut changes = Changes::default();
            let mut said = Vec::new();
            for document in 0..80 {
                if document % on_one_in == 0 {
                    said.push(changes.note(text(document), notice(words), 0));
                } else {
                    changes.note_same(text(document));
                }
            }
            assert_eq!(said.remove(0), Words::Unknown, "nothing is known of others");
            let later = &said[said.len().min(2)..];
            assert!(later.iter().all(|said| *said == are), "{words} {on_one_in} {said:?}");
        }
    }
}
