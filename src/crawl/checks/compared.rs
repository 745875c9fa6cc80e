//! What comparing pages that the same rules make one has shown, pair by pair.
//!
//! One pair says little: another advertisement, a label of a view, a list that is cut. What many
//! pairs under the same rules have in common says more, and is kept here in bounded space.

use std::collections::{BTreeMap, BTreeSet};

use super::measure;
use crate::content::{Change, WordSet};
use crate::crawl::beside::{self, Differs};
use crate::crawl::judge::{Distance, Lasting, Lasts};
use crate::dust::{Changes, Difference, Fetched, Finding, RuleId, Sketch, Words};
use crate::url::{CrawlUrl, Fingerprint};

/// Pages and rules of which it is remembered that forms agreed, some 60 bytes each; and how many
/// kinds of forms of one.
const AGREED_MAX: usize = 50_000;
const FORMS_AUDITED_MAX: usize = 32;

/// Sets of rules of which it is remembered how the pages have differed that they make one.
const CHANGES_MAX: usize = 2_000;

/// The same of what their forms say for good, 4 KiB each.
const LASTING_MAX: usize = 500;

/// Pages with parts that those whose words they have do not show, and one for so many without, from
/// which on they are pages of their own.
const PARTS_MIN: u32 = 3;
const PARTS_SHARE: u32 = 4;

/// Pairs of forms that both keep something back, as by a word to robots that holds for the links of
/// a view, after which a form of that view that does stands for others by the same rule. Of forms
/// that redirect, URLs that both forms of a pair lead to: that many pairs lead to the front page
/// says nothing of others.
const ALIKE_MIN: usize = 5;

/// Rules, each in one view, of which such pairs are counted.
pub(in crate::crawl) const KEPT_BACK_MAX: usize = 10_000;

/// What pairs of pages have shown, by the rules that make them one.
#[derive(Debug, Default)]
pub(in crate::crawl) struct Compared {
    /// Rules with pages of which forms that they suppress agreed, and by what these differed from
    /// their key ([`measure::own_part`]).
    agreed: BTreeMap<(RuleId, Fingerprint), Vec<u32>>,
    /// Rules that take nothing from a page which has its key by them, as another form has shown;
    /// up to [`AGREED_MAX`].
    cleared: BTreeSet<(RuleId, Fingerprint)>,
    /// How pages have differed.
    changes: BTreeMap<Vec<RuleId>, Changes>,
    /// The same of pages with one text among more other words than it has.
    around: BTreeMap<Vec<RuleId>, Changes>,
    /// How many pages with the words of the one that the rules make them show its parts.
    parts: BTreeMap<Vec<RuleId>, Parts>,
    /// What such pages show beside their text, of each kind.
    beside: BTreeMap<Vec<RuleId>, [beside::Known; beside::KINDS]>,
    /// What forms say for good on sites whose pages change at each look.
    lasting: BTreeMap<Vec<RuleId>, Lasting>,
    /// Of each rule and view, what other forms of pages do that keep something back.
    kept_back: BTreeMap<(RuleId, u64), KeptBack>,
}

/// How many pages showed the parts of the one that rules make them, and how many had new ones.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    same: u32,
    others: u32,
}

/// Whether two forms keep back the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crawl) enum Alike {
    /// They do; pairs of one number count once.
    By(u64),
    /// The second one gives what the first one does not.
    No,
}

impl Alike {
    /// Returns whether a form is like one that keeps its links or itself back.
    pub(in crate::crawl) fn of_links(form: &CrawlUrl, keeps_back: bool) -> Alike {
        if keeps_back { Alike::By(form.fingerprint().0 as u64) } else { Alike::No }
    }

    /// Returns whether a form that showed this is like one that redirects to the URL of a hash;
    /// `None` where that says nothing, as it does of one that is sent to a wall.
    pub(in crate::crawl) fn of_redirect(
        to: u64,
        (shown, walled): (Fetched, bool),
    ) -> Option<Alike> {
        match shown {
            Fetched::Redirect { to: own } if own == to => Some(Alike::By(to)),
            Fetched::Redirect { .. } => (!walled).then_some(Alike::No),
            shown => shown.is_page().then_some(Alike::No),
        }
    }
}

/// Whether a rule makes one page of forms of which one keeps back what the other gives.
#[derive(Clone, Debug, Default)]
struct KeptBack {
    /// What pairs in which both kept something back count as, up to [`ALIKE_MIN`].
    alike: BTreeSet<u64>,
    /// In one pair the second form did not.
    is_refuted: bool,
}

impl KeptBack {
    fn is_alike(&self) -> bool {
        self.alike.len() >= ALIKE_MIN && !self.is_refuted
    }
}

impl Compared {
    /// Notes that a form which rules would have suppressed in favour of `by` agreed with it, given
    /// with its key.
    pub(in crate::crawl) fn note_agreed(
        &mut self,
        rules: &[RuleId],
        by: Fingerprint,
        (form, key): (&CrawlUrl, &CrawlUrl),
    ) {
        let part = measure::own_part(form, key);
        for rule in rules {
            // What is forgotten is looked at again.
            if self.agreed.len() >= AGREED_MAX {
                self.agreed.clear();
            }
            let parts = self.agreed.entry((*rule, by)).or_default();
            if parts.len() < FORMS_AUDITED_MAX && !parts.contains(&part) {
                parts.push(part);
            }
        }
    }

    pub(in crate::crawl) fn have_agreed(&self, rules: &[RuleId], by: Fingerprint) -> bool {
        rules.iter().all(|rule| self.agreed.contains_key(&(*rule, by)))
    }

    /// Returns the pages of a rule of which forms agreed, and by what these differed from their
    /// key.
    pub(super) fn agreed_under(&self, rule: RuleId) -> BTreeMap<Fingerprint, &[u32]> {
        let of_rule = (rule, Fingerprint(0))..=(rule, Fingerprint(u128::MAX));
        let agreed = self.agreed.range(of_rule);
        agreed.map(|((_, page), parts)| (*page, &parts[..])).collect()
    }

    /// Notes that a form agreed with a page that stands for it, whose key is given to it by these
    /// rules: they take nothing from that page.
    pub(in crate::crawl) fn note_cleared(&mut self, theirs: &[RuleId], by: Fingerprint) {
        if self.cleared.len() >= AGREED_MAX {
            self.cleared.clear();
        }
        self.cleared.extend(theirs.iter().map(|rule| (*rule, by)));
    }

    /// Returns true where forms that these rules make one with a page have agreed with it.
    pub(in crate::crawl) fn are_cleared(&self, theirs: &[RuleId], by: Fingerprint) -> bool {
        theirs.iter().all(|rule| self.cleared.contains(&(*rule, by)))
    }

    /// Takes in by which words a page of this text differs from another one that these rules make
    /// it, on a site whose pages change by so many at each look; returns what pages of other texts
    /// say of these words.
    pub(in crate::crawl) fn note_words(
        &mut self,
        rules: &[RuleId],
        text: Sketch,
        (change, changes_by): (Difference, u32),
    ) -> Words {
        entry_of(&mut self.changes, rules, CHANGES_MAX).note(text, change, changes_by)
    }

    /// The same of pages that have one text among more other words than it has; nothing, where this
    /// is the first that differs in that way.
    pub(in crate::crawl) fn note_around(
        &mut self,
        rules: &[RuleId],
        text: Sketch,
        (change, changes_by): (Change, u32),
    ) -> Option<Words> {
        let known = entry_of(&mut self.around, rules, CHANGES_MAX);
        let is_first = !known.have_any();
        let said = known.note(text, change.into(), changes_by);
        (!is_first).then_some(said)
    }

    /// Returns true where pages of other texts say that these words are a label of the pages that
    /// these rules make one.
    pub(in crate::crawl) fn is_label(
        &self,
        rules: &[RuleId],
        text: &Sketch,
        (change, changes_by): (&Difference, u32),
    ) -> bool {
        let known = self.changes.get(rules);
        known.is_some_and(|known| known.say(text, change, changes_by) == Words::Label)
    }

    /// Takes in that a page of this text has no words of its own beside the one that these rules
    /// make it.
    pub(in crate::crawl) fn note_no_words(&mut self, rules: &[RuleId], text: Sketch) {
        entry_of(&mut self.changes, rules, CHANGES_MAX).note_same(text);
    }

    /// Counts a page with the words of the one that these rules make it, and whether it shows parts
    /// that nothing else had shown, on a site whose pages are known to show the same parts at each
    /// look, or not. Returns what that says where it does: now and then a form has parts of its
    /// own, and where many have, they are pages of their own.
    pub(super) fn note_parts(
        &mut self,
        rules: &[RuleId],
        are_new: bool,
        are_kept: bool,
    ) -> Option<Finding> {
        let known = entry_of(&mut self.parts, rules, CHANGES_MAX);
        if !are_new {
            known.same = known.same.saturating_add(1);
            return None;
        }
        known.others = known.others.saturating_add(1);
        // Where looks show the same parts, others are no chance, however few pages have them.
        let are_many = are_kept || known.others * PARTS_SHARE >= known.same;
        let are_many = are_many && known.others >= PARTS_MIN;
        Some(if are_many { Finding::Failed } else { Finding::Unclear })
    }

    /// Returns true where it says something that a page shows something else of this kind beside
    /// its text than the one that these rules make it.
    pub(super) fn asks_beside(&self, rules: &[RuleId], kind: usize) -> bool {
        self.beside.get(rules).is_none_or(|known| known[kind].is_worth_a_look())
    }

    /// Counts a page with the words of the one that these rules make it, given with its key, in
    /// what the two differ beside their text, and of which kinds its site always shows the same.
    /// Returns what that says, if it says something.
    pub(super) fn note_beside(
        &mut self,
        rules: &[RuleId],
        (url, key): (&CrawlUrl, &CrawlUrl),
        differs: &Differs,
        are_kept: [bool; beside::KINDS],
    ) -> Option<Finding> {
        let part = measure::own_part(url, key);
        let kinds = entry_of(&mut self.beside, rules, CHANGES_MAX);
        let said = kinds
            .iter_mut()
            .enumerate()
            .filter_map(|(kind, known)| known.note(part, differs.alone(kind), are_kept[kind]));
        // That it fails says more than that it is unclear.
        said.reduce(|one, other| if other == Finding::Failed { other } else { one })
    }

    /// Returns true for an audit by these rules whose form, which differs so far, is to be looked
    /// at once more.
    pub(super) fn looks_at_form(&mut self, rules: &[RuleId], distance: Distance) -> bool {
        self.lasting_of(rules).asks(distance)
    }

    /// Returns how many forms under these rules were looked at twice, none of which has said
    /// anything of its own; 0 where some have.
    pub(super) fn silent(&self, rules: &[RuleId]) -> u32 {
        self.lasting.get(rules).map_or(0, Lasting::silent)
    }

    /// Takes in what a form said at two looks, and what the page that these rules make it said in
    /// between.
    pub(in crate::crawl) fn note_lasting(
        &mut self,
        rules: &[RuleId],
        said: &[WordSet; 2],
        stands: &WordSet,
    ) -> Lasts {
        self.lasting_of(rules).note(said, stands)
    }

    /// Notes that a form which was to be looked at twice under these rules was not.
    pub(in crate::crawl) fn form_not_looked_at(&mut self, rules: &[RuleId]) {
        self.lasting_of(rules).not_begun();
    }

    fn lasting_of(&mut self, rules: &[RuleId]) -> &mut Lasting {
        entry_of(&mut self.lasting, rules, LASTING_MAX)
    }

    /// Counts a pair of forms that a rule makes one, of which the first, of this view, keeps
    /// something back; returns true where they are not alike, and all before had been.
    pub(in crate::crawl) fn kept_back(&mut self, of: (RuleId, u64), alike: Alike) -> bool {
        if self.kept_back.len() >= KEPT_BACK_MAX && !self.kept_back.contains_key(&of) {
            return false;
        }
        let known = self.kept_back.entry(of).or_default();
        if let Alike::By(witness) = alike {
            if known.alike.len() < ALIKE_MIN {
                known.alike.insert(witness);
            }
            return false;
        }
        !std::mem::replace(&mut known.is_refuted, true)
    }

    /// Returns true where each of these rules has made one page only of forms that keep back the
    /// same, and often, where the first was of this view.
    pub(in crate::crawl) fn keep_back_alike(&self, rules: &[RuleId], view: u64) -> bool {
        let of = |rule: &RuleId| self.kept_back.get(&(*rule, view));
        !rules.is_empty() && rules.iter().all(|rule| of(rule).is_some_and(|known| known.is_alike()))
    }
}

/// Returns what is known of pages that these rules make one; where so many sets of rules are known,
/// the first is forgotten for it.
fn entry_of<'a, T: Default>(
    of: &'a mut BTreeMap<Vec<RuleId>, T>,
    rules: &[RuleId],
    max: usize,
) -> &'a mut T {
    if of.len() >= max && !of.contains_key(rules) {
        of.pop_first();
    }
    of.entry(rules.to_vec()).or_default()
}
