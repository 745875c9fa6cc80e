//! What a form says that lasts, where the pages of its site change at each look.
//!
//! Where a teaser or a quote of chance stands on each page, a page differs from itself by as many
//! words as another page may differ from it, and no count tells the two apart. So the form is
//! looked at once more after the page that stands for it: what it says both times, and what that
//! page did not say in between, lasts. Words that other forms under the same rules have for their
//! own too are a label, and those that went or came between two looks are of chance.

use super::{Audited, Look};
use crate::clock::Timestamp;
use crate::content::{Vocabulary, WordSet};
use crate::crawl::learn::{Asker, PROBES_MAX, ProbeFlight};
use crate::crawl::state::State;
use crate::db::{Batch, DbError};
use crate::url::Fingerprint;

/// Words and numbers that are more than what two looks share by chance.
const OWN_MIN: usize = 3;

/// Of these, words that are kept of the texts, where these are long.
const KEPT_MIN: usize = 2;

/// Forms with such from which on that is no accident, and one for so many without.
const OTHERS_MIN: usize = 2;
const OTHERS_SHARE: usize = 12;

/// Of so many it is kept what they said: a larger share of all that are looked at.
const OTHERS_MAX: usize = 8;

/// Of so many forms under the same rules one is looked at twice: the first that differs by more
/// words than chance explains, or else the last. So is each that differs by far more than looks
/// ever did, for the first half of the most that are; and once one has said something of its own,
/// each that differs. A look costs two fetches.
const ONE_IN: u32 = 8;
const LOOKS_MAX: u32 = 32;

/// Forms whose second look is awaited, and those of one site: one that rests for hours keeps them.
const AWAITED_MAX: usize = 64;
const OF_SITE_MAX: usize = 8;

/// Forms that say nothing of their own at two looks, after which words alone refute nothing: one
/// more would hardly say something.
pub(in crate::crawl) const LONG_SILENT: u32 = LOOKS_MAX / 2;

/// What is known of what forms say under the same rules.
#[derive(Debug, Default)]
pub(in crate::crawl) struct Lasting {
    /// Words and numbers that forms have had for their own.
    seen: WordSet,
    /// Those of chance.
    chance: WordSet,
    /// Audits in which it was asked whether to look, and in which it was to be.
    asked: u32,
    begun: u32,
    /// Forms that were looked at twice, and said nothing of their own.
    same: u32,
    /// What those said that did, or seemed to: up to [`OTHERS_MAX`].
    others: Vec<WordSet>,
}

/// How far a form differs from the page that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crawl) enum Distance {
    /// By no more words than two looks at a page usually do.
    Chance,
    /// By more.
    Far,
    /// By more than half again as many as two looks at a page ever did.
    Beyond,
}

/// What two looks at a form say of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::crawl) enum Lasts {
    /// It was not looked at twice, came from a cache, or was another page at the second look.
    #[default]
    Unknown,
    /// Nothing that what stands for it does not say, or a word or two, as looks share by chance.
    Little,
    /// It has words of its own; others under its rules have too, or they may be a label.
    Own { is_page: bool },
}

impl Lasting {
    /// Returns true for an audit whose form, which differs so far, is to be looked at twice.
    pub(in crate::crawl) fn asks(&mut self, differs: Distance) -> bool {
        self.asked = self.asked.saturating_add(1);
        let is_due = match differs {
            Distance::Beyond if self.begun < LOOKS_MAX / 2 => true,
            Distance::Beyond | Distance::Far => self.is_next() || !self.others.is_empty(),
            Distance::Chance => self.is_next() && self.asked.is_multiple_of(ONE_IN),
        };
        let looks = is_due && self.begun < LOOKS_MAX;
        self.begun += u32::from(looks);
        looks
    }

    fn is_next(&self) -> bool {
        self.begun < self.asked.div_ceil(ONE_IN)
    }

    /// Returns how many forms were looked at twice, if none has said anything of its own.
    pub(in crate::crawl) fn silent(&self) -> u32 {
        if self.others.is_empty() { self.same } else { 0 }
    }

    /// Takes back that a form is looked at twice.
    pub(in crate::crawl) fn not_begun(&mut self) {
        self.begun = self.begun.saturating_sub(1);
    }

    /// Takes in what a form said at two looks, the second one after the one that stands for it was
    /// looked at. A label that others have too is nothing of its own.
    pub(in crate::crawl) fn note(
        &mut self,
        [first, last]: &[WordSet; 2],
        stands: &WordSet,
    ) -> Lasts {
        // Where a page changes at each look, one that did not came from a cache.
        if first == last {
            return Lasts::Unknown;
        }
        self.chance = self.chance.union(&first.without(last)).union(&last.without(first));
        let own = first.common(last).without(stands).without(&self.chance);
        let new = own.without(&self.seen);
        self.seen = self.seen.union(&own);
        if !are_enough(&new) {
            self.same = self.same.saturating_add(1);
            return Lasts::Little;
        }
        if self.others.len() < OTHERS_MAX {
            self.others.push(new);
        }
        // What the first looks share by chance is known for that once there were more.
        let chance = &self.chance;
        self.others.retain(|own| own.common(chance).is_empty() || are_enough(&own.without(chance)));
        let others = self.others.len();
        let is_page = others >= OTHERS_MIN && others * OTHERS_SHARE >= self.same as usize;
        Lasts::Own { is_page }
    }
}

/// Returns true for words that are more than what looks share by chance. Of a long text each that
/// is kept counts for several.
fn are_enough(words: &WordSet) -> bool {
    words.len() >= OWN_MIN && words.kept() >= KEPT_MIN
}

/// Returns the words and the numbers of a page in one set.
fn said_by(vocabulary: &Vocabulary) -> WordSet {
    vocabulary.words.union(&vocabulary.numbers)
}

impl State {
    /// Looks at a form once more, given what stands for it shows by now, if that was asked for and
    /// can be; returns the audit where not, to be judged without.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn look_at_form(
        &mut self,
        batch: &mut Batch,
        told: Audited,
        look: &Look,
    ) -> Result<Option<Audited>, DbError> {
        let left = self.ask_for_form(batch, told, look)?;
        if let Some(told) = left.as_ref().filter(|told| told.looks_at_form) {
            self.checks.compared.form_not_looked_at(&told.rules);
        }
        Ok(left)
    }

    /// Asks for a form once more, if that can be; returns the audit where not.
    fn ask_for_form(
        &mut self,
        batch: &mut Batch,
        told: Audited,
        look: &Look,
    ) -> Result<Option<Audited>, DbError> {
        let form = &told.pair.0;
        let own = form.fingerprint();
        let both_speak = told.words.is_some() && look.words.is_some();
        let site = form.site();
        let of_site = self.forms.values().filter(|(told, _)| told.pair.0.site() == site);
        if !told.looks_at_form
            || !both_speak
            || told.known.is_contradicted_by(look.shown)
            || of_site.count() >= OF_SITE_MAX
            || self.forms.len() >= AWAITED_MAX
            || self.probes.len() >= PROBES_MAX
            || self.forms.contains_key(&own)
        {
            return Ok(Some(told));
        }
        // The page was looked at past caches: so is its form, or not at all.
        let Some(address) = self.address_past_caches(form)? else { return Ok(Some(told)) };
        self.forms.insert(own, (told, look.clone()));
        self.looks.take(address.host());
        let flight = ProbeFlight { asker: Asker::Form(own), hops: 0 };
        self.enqueue_probe(batch, &address, flight)?;
        Ok(None)
    }

    /// Takes in what a form showed at its second look, and judges its audit.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn form_looked_at(
        &mut self,
        own: Fingerprint,
        later: &Look,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let Some((mut told, look)) = self.forms.remove(&own) else { return Ok(()) };
        if let (Some(first), Some(stands), Some(last)) = (&told.words, &look.words, &later.words)
            && later.shown.is_page()
            && !told.audited.is_contradicted_by(later.shown)
        {
            let said = [first, last].map(said_by);
            told.lasts = self.checks.compared.note_lasting(&told.rules, &said, &said_by(stands));
            tracing::debug!(url = %told.pair.0, found = ?told.lasts, "what it says lasts");
        }
        self.tell_verified(told, &look, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(words: &str) -> WordSet {
        WordSet::of_text(words)
    }

    /// Returns what is said of forms of pages, each given by what it says for good; all have a
    /// quote of chance besides.
    fn says(forms: &[&str]) -> Vec<Lasts> {
        let mut lasting = Lasting::default();
        let mut quotes = 0;
        let mut quoted = |text: &str| {
            quotes += 1;
            let quote = (0..9).map(|n| format!("quote{quotes}word{n}"));
            set(&format!("the text of a page {text} {}", quote.collect::<Vec<_>>().join(" ")))
        };
        let mut note = |form: &&str| {
            let [first, stands, last] = [*form, "", *form].map(&mut quoted);
            lasting.note(&[first, last], &stands)
        };
        forms.iter().map(&mut note).collect()
    }

    #[test]
    fn what_a_form_says_at_both_looks_is_its_own_unless_others_say_it_too() {
        let [failed, unclear] = [true, false].map(|is_page| Lasts::Own { is_page });
        let nothing = Lasts::Little;
        assert_eq!(says(&["", "", ""]), [nothing; 3], "the quotes are of chance");
        assert_eq!(
            says(&["red with 12 left", "", "green since last summer"]),
            [unclear, nothing, failed]
        );
        assert_eq!(says(&["a view to print"; 4]), [unclear, nothing, nothing, nothing], "a label");
        let labelled = ["a view to print", "a view to print of red bricks from Rome"];
        assert_eq!(says(&labelled), [unclear, failed]);
        assert_eq!(says(&["red", "blue", "green"]), [Lasts::Little; 3], "too few words");
        let mut lasting = Lasting::default();
        let page = |text: &str| set(&format!("the text {text}"));
        let copy = [page("a teaser of a cache"), page("a teaser of a cache")];
        assert_eq!(lasting.note(&copy, &page("")), Lasts::Unknown, "a copy that a cache holds");
    }

    /// Of a text of so many words one of eight is kept, which counts for eight.
    #[test]
    fn one_word_of_a_long_text_is_not_enough() {
        let long = |from: u32, more: &str| {
            let text: Vec<String> = (from..from + 700).map(|n| format!("word{n}")).collect();
            set(&format!("{} {more}", text.join(" ")))
        };
        let is_kept = |word: &String| long(0, word) != long(0, "");
        let names: Vec<String> =
            (0..400).map(|n| format!("name{n}")).filter(is_kept).take(6).collect();
        let note = |lasting: &mut Lasting, names: &[String], look: u32| {
            let pages = [long(0, &names.join(" ")), long(look, &names.join(" "))];
            lasting.note(&pages, &long(0, ""))
        };
        let mut lasting = Lasting::default();
        assert_eq!(note(&mut lasting, &names[..1], 100), Lasts::Little);
        assert_eq!(note(&mut lasting, &names[1..2], 100), Lasts::Little);
        assert!(matches!(note(&mut lasting, &names[2..], 100), Lasts::Own { .. }));
    }

    /// One of three advertisements stands on each page: two looks in three show another one.
    #[test]
    fn what_comes_and_goes_is_of_chance_wherever_it_comes_again() {
        let adverts = ["buy our blue bicycles", "eat more fresh fish", "learn to play music"];
        let mut lasting = Lasting::default();
        let page = |n: usize| set(&format!("some text {}", adverts[n % 3]));
        let mut note =
            |first, stands, last| lasting.note(&[page(first), page(last)], &page(stands));
        assert_eq!([note(0, 1, 1), note(1, 0, 2)], [Lasts::Little; 2]);
        for n in 0..3 {
            assert_eq!(note(n, n + 1, n), Lasts::Unknown);
        }
    }

    /// Two looks shared some words of quotes before it was known that these come and go.
    #[test]
    fn what_the_first_looks_share_by_chance_is_forgotten() {
        let mut lasting = Lasting::default();
        let mut note = |first: &str, last: &str| lasting.note(&[set(first), set(last)], &set(""));
        let own = |is_page| Lasts::Own { is_page };
        assert_eq!(note("red blue green one", "red blue green two"), own(false));
        assert_eq!(note("red one six", "blue green two"), Lasts::Little);
        assert_eq!(note("oak elm ash one", "oak elm ash six"), own(false), "the only one by now");
        assert_eq!(note("cat dog cow two", "cat dog cow six"), own(true));
    }

    #[test]
    fn of_each_few_forms_one_is_looked_at_that_differs_by_more_than_chance_does_if_any() {
        let asked = |differ: &[Distance], others: usize| {
            let others = vec![set("what a form says"); others];
            let mut lasting = Lasting { others, ..Lasting::default() };
            let asks = differ.iter().map(|differs| lasting.asks(*differs));
            asks.enumerate().filter(|(_, asks)| *asks).map(|(n, _)| n + 1).collect::<Vec<_>>()
        };
        let (chance, far) = (Distance::Chance, Distance::Far);
        assert_eq!(asked(&[chance; 20], 0), [8, 16]);
        assert_eq!(asked(&[far; 20], 0), [1, 9, 17]);
        let one = |number: usize, distance| {
            (1..=20).map(|n| if n == number { distance } else { chance }).collect::<Vec<_>>()
        };
        assert_eq!(asked(&one(3, far), 0), [3, 16]);
        assert_eq!(asked(&one(11, far), 0), [8, 11]);
        assert_eq!(asked(&one(10, far), 0), [8, 10]);
        let both = [&[far][..], &one(3, Distance::Beyond)].concat();
        assert_eq!(asked(&both, 0), [1, 4], "whichever were looked at");
        assert_eq!(asked(&[far; 20], 1).len(), 20, "one has said something of its own");
        assert_eq!(asked(&[far; 80], 1).len(), LOOKS_MAX as usize);
        let beyond = asked(&[Distance::Beyond; 200], 0);
        assert_eq!(beyond[..16], (1..=16).collect::<Vec<_>>()[..]);
        assert_eq!(beyond[16..], [129, 137, 145, 153, 161, 169, 177, 185, 193], "some are left");
        assert_eq!(asked(&[chance; 20], 1), [8, 16]);
        let mut lasting = Lasting::default();
        for _ in 0..3 {
            assert!(lasting.asks(far), "what was not looked at is not counted");
            lasting.not_begun();
        }
        assert!(lasting.asks(far) && !lasting.asks(far));
    }
}
