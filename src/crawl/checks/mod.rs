//! Checks of rules: URLs that a rule would suppress and that are fetched as found.
//!
//! While a rule is on trial, or not proved in some place of its site, what it would suppress there
//! is set aside: it is suppressed like any other, and comes back if the rule falls. A few of these
//! URLs are fetched, one or two at a time, where what stands for them has shown its text; each
//! proves the rule or refutes it. Before a crawl ends, nothing is left aside that is not proved:
//! what is still in doubt is fetched, few at first, in growing steps.

mod measure;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use xxhash_rust::xxh3::xxh3_64;

use self::measure::{Failed, Measuring};
use super::admit::Admitted;
use super::beside::{self, Differs};
use super::error::CrawlError;
use super::evidence::{Marks, evidence_of, marks_in};
use super::judge::{Distance, Lasting, Lasts};
use super::log::BesideLine;
use super::readmit;
use super::state::State;
use crate::clock::Timestamp;
use crate::content::{Change, Kept, WordSet};
use crate::db::families::seen::{self, Known};
use crate::db::families::{suppressed, urls};
use crate::db::{Batch, DbError};
use crate::dust::{
    Changes, Difference, Fetched, Finding, RuleId, RuleKind, RuleSet, Sketch, Trust, Words,
    are_of_chance, is_among_first,
};
use crate::frontier::UrlState;
use crate::url::{CrawlUrl, Fingerprint, Host, Site};

/// Checks of one rule that are under way at a time: the outcome of one decides about the next.
const AT_ONCE: u32 = 2;

/// URLs whose check is awaited, over all rules, and pages that owe a comparison; beyond it URLs are
/// only set aside.
const AWAITED_MAX: usize = 100_000;

/// URLs by which one rule is measured that are no evidence of a trap.
const SAMPLED_MAX: usize = 16;

/// URLs of one rule in force that are fetched before a crawl ends.
const MEASURED_MAX: usize = 256;

/// Forms of a page that are hidden before further ones are audited the more rarely the more there
/// are: where each look at a page makes new forms of all that it leads to, as by a signature in
/// each link, a share of all forms would have no end.
const FORMS_AUDITED: usize = 4;

/// Pages and rules of which it is remembered that forms agreed, some 60 bytes each; and how many
/// kinds of forms of one.
const AGREED_MAX: usize = 50_000;
const FORMS_AUDITED_MAX: usize = 32;

/// Forms of a page that are counted.
const FORMS_COUNTED: usize = 256;

/// Largest step in which what is in doubt is fetched before a crawl ends.
const STEP_MAX: usize = 256;

/// Pages of a site count two where they changed at a second look, and less one where they did not:
/// from this sum on, the site is taken to change at each look, and up to that one to stand still.
const RESTLESS_MIN: i32 = 8;
const STEADY_MAX: i32 = -4;

/// The same, from where on it does for rules that are likely wrong: refuted for a page that
/// changed, they cost what they would have saved, and no page. So it is for a page that was looked
/// at twice itself.
const STEADY_FOR_DISTRUSTED: i32 = -2;

/// Second looks at pages of a site after which it is taken to change at each look where the sum is
/// still between both: a few words of chance are sometimes the same.
const UNDECIDED_LOOKS: u32 = 24;

/// Second looks at pages of a site, none of which has changed by a word, after which it is taken to
/// stand still altogether.
pub(in crate::crawl) const STILL_LOOKS: u32 = 8;

/// One in so many is looked at again all the same.
const RESTLESS_EVERY: u64 = 16;

/// Forms of a page that are fetched once it stood for another one: where one translation is there,
/// others may be, whatever rule hides them.
pub(in crate::crawl) const CONTESTED_FORMS: usize = 8;

/// Pages of which this is remembered.
const CONTESTED_MAX: usize = 10_000;

/// Sets of rules of which it is remembered how the pages have differed that they make one.
const CHANGES_MAX: usize = 2_000;

/// How many times as many words as those by which two looks at a page differ may be chance: their
/// number is known to within a quarter.
const DIFFERS: f64 = 1.25;

/// The same of what their forms say for good, 4 KiB each.
const LASTING_MAX: usize = 500;

/// Pages with parts that those whose words they have do not show, and one for so many without, from
/// which on they are pages of their own.
const PARTS_MIN: u32 = 3;
const PARTS_SHARE: u32 = 4;

/// Second looks at which pages of a site have shown the same, after which it is taken to do so.
const KEPT_MIN: u32 = 2;

/// Pairs of forms that both keep something back, as by a word to robots that holds for the links of
/// a view, after which a form of that view that does stands for others by the same rule.
const ALIKE_MIN: u32 = 5;

/// Rules, each in one view, of which such pairs are counted.
pub(in crate::crawl) const KEPT_BACK_MAX: usize = 10_000;

/// Sites of which it is known whether their pages change at each look.
const SITES_MAX: usize = 10_000;

/// Second looks at pages of a template at which their numbers alone had changed, as those of a
/// counter do, from where on it is taken to be so with each; and one for so many at which they had
/// not that leaves it at that.
const COUNTERS_MIN: u32 = 3;
const COUNTERS_AMONG: u32 = 8;

/// Templates of which it is known whether their pages show a counter.
const TEMPLATES_MAX: usize = 20_000;

/// URLs of one rule in doubt that are remembered, 32 bytes each.
const IN_DOUBT_MAX: usize = 16 * STEP_MAX;

/// URLs of one rule that are looked at in one step.
const ROWS_MAX: usize = 100_000;

/// A check that is under way.
#[derive(Debug)]
struct Check {
    rules: Vec<RuleId>,
    /// The URL that stands for it.
    by: Fingerprint,
    why: Why,
}

/// Why a URL is fetched that a rule would suppress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// To prove a rule, or to refute it.
    Proves,
    /// Since it was told to be fetched: what is known by then about rules is not asked again.
    Told,
    /// It was drawn as one by which a proved rule is measured, which holds however much is hidden
    /// until its turn comes.
    Drawn,
}

/// How much a page shows by which others can be told from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// A main text of so many words.
    Words(u32),
    /// What is no HTML.
    Bytes,
    /// A main text that is too thin to speak for a rule, and may speak against it.
    Thin,
}

impl Extent {
    fn words(self) -> Option<u32> {
        if let Extent::Words(words) = self { Some(words) } else { None }
    }
}

/// How far the URLs of a rule were looked at before the end of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scan {
    /// Where it goes on.
    from: Fingerprint,
    /// The version of the rules when it began.
    version: u64,
}

/// When all that a rule hides was found to be proved, or remembered as in doubt, and how far the
/// rule was trusted.
#[derive(Debug)]
struct Clean {
    at: Timestamp,
    trust: Trust,
}

/// What is found of a URL that was set aside.
enum SetAside {
    /// That it is in doubt.
    Doubtful(Open),
    /// Nothing: it is on its way already, or nothing is fetched from its host.
    Passed,
    /// That what stands for it shows the same.
    Proved,
}

/// A URL that was set aside and is in doubt.
struct Open {
    /// By the rules that are proved for it, another one stands for it.
    is_held: bool,
    /// What stands for it shows nothing that it could be compared with.
    is_mute: bool,
    own: Fingerprint,
    by: Fingerprint,
    rules: Vec<RuleId>,
    /// How many of them are not proved for it.
    in_doubt: usize,
    /// Places and values in and for which its rules are not proved.
    places: Vec<u64>,
}

/// The checks that are under way.
#[derive(Debug, Default)]
pub(in crate::crawl) struct Checks {
    /// The last run ended with all checked, and this one has fetched and hidden nothing yet.
    pub(in crate::crawl) are_done: bool,
    awaited: HashMap<Fingerprint, Check>,
    under_way: HashMap<RuleId, u32>,
    /// URLs that were fetched to measure each rule, up to now.
    sampled: HashMap<RuleId, usize>,
    /// URLs of each rule that were fetched before the end of the crawl, for what they would prove.
    proving: HashMap<RuleId, usize>,
    /// Rules in force that were measured before the end of the crawl, and by how many URLs.
    measured: HashMap<RuleId, usize>,
    /// What is left of that. To look at all that a rule hides takes long, and is done anew only
    /// when this is used up or the rule is trusted less.
    measuring: HashMap<RuleId, Measuring>,
    /// Where rules have failed.
    failed: HashMap<RuleId, Failed>,
    /// How far the URLs of each rule were looked at for what is not proved.
    scans: HashMap<RuleId, Scan>,
    /// Of each rule, URLs with what stands for them that were found to be in doubt then, in the
    /// order in which they are fetched: all that it hides is looked at anew when none is left.
    in_doubt: HashMap<RuleId, VecDeque<(Fingerprint, Fingerprint)>>,
    /// Rules of which all was looked at, and what is in doubt remembered: what they hid before then
    /// is not looked at again while they are trusted as much.
    clean: HashMap<RuleId, Clean>,
    /// Of each site, how far its pages change at a second look.
    restless: HashMap<Site, Restless>,
    /// Of each template, how often the numbers of its pages do.
    counters: HashMap<u64, Counters>,
    /// Pages that stood for another one, and how many more of their forms are fetched for that.
    contested: HashMap<Fingerprint, usize>,
    /// Those of them whose suppressed forms are to be fetched.
    contested_due: VecDeque<Fingerprint>,
    /// Rules with pages of which forms that they suppress agreed, and by what these differed from
    /// their key ([`measure::own_part`]).
    agreed: BTreeMap<(RuleId, Fingerprint), Vec<u32>>,
    /// Rules that take nothing from a page which has its key by them, as another form has shown;
    /// up to [`AGREED_MAX`].
    cleared: BTreeSet<(RuleId, Fingerprint)>,
    /// How pages have differed that the same rules make one.
    changes: BTreeMap<Vec<RuleId>, Changes>,
    /// The same of pages with one text among more other words than it has.
    around: BTreeMap<Vec<RuleId>, Changes>,
    /// Pages that wait and stand for a form that was fetched before them, which they are compared
    /// with in their turn.
    came_before: HashMap<Fingerprint, Fingerprint>,
    /// How many pages with the words of the one that the same rules make them show its parts.
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

/// Whether a rule makes one page of forms of which one keeps back what the other gives.
#[derive(Clone, Copy, Debug, Default)]
struct KeptBack {
    /// Pairs in which both kept something back.
    alike: u32,
    /// In one pair the second form did not.
    is_refuted: bool,
}

impl KeptBack {
    fn is_alike(self) -> bool {
        self.alike >= ALIKE_MIN && !self.is_refuted
    }
}

/// How far the pages of a site change at a second look.
#[derive(Clone, Copy, Debug, Default)]
struct Restless {
    /// Two for each page that changed, and less one for each that did not, within bounds.
    sum: i32,
    /// Most words by which two looks at one page differed, and all by which they have.
    words: u32,
    all_words: u64,
    /// The sum of the squares of these.
    squares: u64,
    /// Looks of which those are.
    looks: u32,
    /// Looks at words since the last at which some had changed.
    still_looks: u32,
    /// Whether second looks show the same parts.
    parts: Steadiness,
    /// Whether they show the same of each kind beside the text.
    beside: [Steadiness; beside::KINDS],
}

impl Restless {
    /// Returns true where pages of the site are taken to change at each look.
    fn changes(self) -> bool {
        let is_undecided = self.looks >= UNDECIDED_LOOKS && self.sum > STEADY_FOR_DISTRUSTED;
        self.sum >= RESTLESS_MIN || is_undecided
    }

    /// Returns by how many words pages of the site may differ by chance: by one standard deviation
    /// more than two looks at a page have on average.
    fn chance(self) -> f64 {
        let looks = f64::from(self.looks.max(1));
        let mean = self.all_words as f64 / looks;
        let variance = (self.squares as f64 / looks - mean * mean).max(0.0);
        (mean + variance.sqrt()).max(DIFFERS * mean)
    }
}

/// How many pages showed something else at a second look, and how many did not.
#[derive(Clone, Copy, Debug, Default)]
struct Steadiness {
    changed: u32,
    kept: u32,
}

impl Steadiness {
    fn note(&mut self, is_stable: bool) {
        let count = if is_stable { &mut self.kept } else { &mut self.changed };
        *count = count.saturating_add(1);
    }

    /// Returns true where what they show is a matter of chance.
    fn are_of_chance(self) -> bool {
        self.changed >= 2 && self.changed > self.kept
    }

    /// Returns true where they have always shown the same.
    fn keep(self) -> bool {
        self.kept >= KEPT_MIN && self.changed == 0
    }
}

/// At how many second looks pages of a template had changed in their numbers alone, and at how many
/// they had not changed.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    changed: u32,
    kept: u32,
}

/// What makes two URLs one page.
#[derive(Debug)]
pub(in crate::crawl) struct United {
    /// The rules in whose name one of them is suppressed: if any of them falls, it comes back.
    pub(in crate::crawl) all: Vec<RuleId>,
    /// Those that rewrite `url`.
    pub(in crate::crawl) rules: Vec<RuleId>,
    /// The one that is judged: the URL itself, or what stands for it where it is that which the
    /// rules rewrite.
    pub(in crate::crawl) url: CrawlUrl,
    /// What stands for it, where that is not judged already, and the rules that rewrite it too.
    pub(in crate::crawl) stands: Option<(Vec<RuleId>, CrawlUrl)>,
    /// What stands for it keeps something back, in this view: see [`State::is_kept_back`].
    pub(in crate::crawl) withholds: Option<u64>,
}

impl United {
    /// Returns what makes two URLs one page; `None` where they have not one key, and the one is no
    /// link that leads back to the other.
    pub(in crate::crawl) fn by_key(
        set: &RuleSet,
        url: &CrawlUrl,
        stands: CrawlUrl,
    ) -> Option<United> {
        let Some(all) = set.uniting(url, &stands) else {
            return Some(United::by_link(set.led_back(url, &stands)?, url));
        };
        Some(United::by(set, all, url, stands))
    }

    /// Tells that a URL is the page it was found on.
    pub(in crate::crawl) fn by_link(rule: RuleId, url: &CrawlUrl) -> United {
        let rules = vec![rule];
        United { all: rules.clone(), rules, url: url.clone(), stands: None, withholds: None }
    }

    /// Tells which of the two URLs these rules rewrite.
    fn by(set: &RuleSet, all: Vec<RuleId>, url: &CrawlUrl, stands: CrawlUrl) -> United {
        let (own, others) = (set.rewriting(url, &all), set.rewriting(&stands, &all));
        if own.is_empty() {
            return United { all, rules: others, url: stands, stands: None, withholds: None };
        }
        let stands = Some((others, stands));
        United { all, rules: own, url: url.clone(), stands, withholds: None }
    }

    /// Returns true where no rule that makes them one is in doubt.
    pub(in crate::crawl) fn is_proved(&self, set: &RuleSet) -> bool {
        let stands = self.stands.as_ref();
        !self.all.is_empty()
            && !set.is_doubtful(&self.url, &self.rules)
            && !stands.is_some_and(|(rules, stands)| set.is_doubtful(stands, rules))
    }

    /// Returns numbers of the rules in whose name one of the two is suppressed.
    pub(in crate::crawl) fn numbers(&self) -> Vec<u64> {
        self.all.iter().map(|rule| rule.0).collect()
    }
}

/// What is made of two pages that a rule takes for one and that have not the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crawl) enum Doubt {
    /// Nothing, until the one that stands for the other was looked at again.
    LooksTwice,
    /// The same page with another advertisement.
    IsSame,
    /// Two pages.
    IsOther,
}

impl Checks {
    fn begin(&mut self, url: Fingerprint, by: Fingerprint, rules: &[RuleId], why: Why) {
        // Of what is drawn there may be hundreds at a time, for which no check of a rule waits.
        let counted = if why == Why::Drawn { &[] } else { rules };
        for rule in counted {
            *self.under_way.entry(*rule).or_default() += 1;
        }
        self.awaited.insert(url, Check { rules: rules.to_vec(), by, why });
    }

    /// Notes that a URL needs no check any more, or had it; returns what stands for it.
    pub(in crate::crawl) fn end(&mut self, url: Fingerprint) -> Option<Fingerprint> {
        let check = self.awaited.remove(&url)?;
        let counted = if check.why == Why::Drawn { &[][..] } else { &check.rules };
        for rule in counted {
            if let Some(count) = self.under_way.get_mut(rule) {
                *count = count.saturating_sub(1);
            }
        }
        Some(check.by)
    }

    /// Notes that a form of a page which waits was fetched before it.
    pub(in crate::crawl) fn note_came_before(&mut self, page: Fingerprint, form: Fingerprint) {
        if self.came_before.len() < AWAITED_MAX {
            self.came_before.insert(page, form);
        }
    }

    /// Returns true for a page of which a form was fetched before it.
    pub(in crate::crawl) fn has_come_before(&self, page: Fingerprint) -> bool {
        self.came_before.contains_key(&page)
    }

    /// Returns the form that was fetched before a page, once.
    pub(in crate::crawl) fn take_came_before(&mut self, page: Fingerprint) -> Option<Fingerprint> {
        self.came_before.remove(&page)
    }

    /// Returns true where the check of a URL is awaited.
    pub(in crate::crawl) fn awaits(&self, url: Fingerprint) -> bool {
        self.awaited.contains_key(&url)
    }

    /// Returns how many URLs of a rule are fetched at once before the end of the crawl, for what
    /// they would prove: with each step twice as many.
    fn proving_step(&self, rule: RuleId) -> usize {
        self.proving.get(&rule).copied().unwrap_or(0).clamp(AT_ONCE as usize, STEP_MAX)
    }

    /// Returns true where what a URL shows is no evidence of a trap: it is one of so few by which
    /// its rules are measured that they cannot be what keeps the crawl going. Asked once for each.
    pub(in crate::crawl) fn samples(&mut self, url: Fingerprint) -> bool {
        let Some(check) = self.awaited.get(&url) else { return false };
        let mut is_one_of_few = true;
        for rule in &check.rules {
            let sampled = self.sampled.entry(*rule).or_default();
            *sampled += 1;
            is_one_of_few &= *sampled <= SAMPLED_MAX;
        }
        is_one_of_few
    }

    /// Returns what is made of a page that is not in every word like the one that stands for it, or
    /// `is_other` than that. Where nothing is known of a site, that one is looked at again; on a
    /// site whose pages change at each look, words more or less say nothing, unless they are more
    /// than its looks differ by; on one whose pages do not, a second look is for rules that are
    /// worth it.
    pub(in crate::crawl) fn on_doubt(
        &self,
        url: &CrawlUrl,
        is_other: bool,
        is_distrusted: bool,
    ) -> Doubt {
        let restless = self.restless.get(&url.site()).copied().unwrap_or_default();
        match restless.sum {
            _ if is_looked_at_twice(url) => Doubt::LooksTwice,
            _ if restless.changes() && !is_other => Doubt::IsSame,
            ..=STEADY_FOR_DISTRUSTED if is_distrusted => Doubt::IsOther,
            _ => Doubt::LooksTwice,
        }
    }

    /// Returns true where pages of a URL's site were looked at twice often enough to know that they
    /// do not change by themselves.
    pub(in crate::crawl) fn stands_still(&self, url: &CrawlUrl) -> bool {
        self.restless.get(&url.site()).is_some_and(|restless| restless.sum <= STEADY_MAX)
    }

    /// Returns true where pages of a URL's site were looked at twice often enough, and never said
    /// anything else, so that it need not be looked at again what one says; but for some pages.
    pub(in crate::crawl) fn never_changes(&self, url: &CrawlUrl) -> bool {
        let known = self.restless.get(&url.site());
        !is_looked_at_twice(url) && known.is_some_and(|known| known.still_looks >= STILL_LOOKS)
    }

    /// Returns true where the pages of a URL's site that were looked at twice have hardly changed:
    /// few are enough for a page that was among them.
    pub(in crate::crawl) fn has_stood_still(&self, url: &CrawlUrl) -> bool {
        self.restless.get(&url.site()).is_some_and(|restless| restless.sum <= STEADY_FOR_DISTRUSTED)
    }

    /// Returns true where so little is known of how far the pages of a site change by themselves
    /// that words which a page has for its own ask for a second look.
    pub(in crate::crawl) fn is_unknown(&self, url: &CrawlUrl) -> bool {
        let restless = self.restless.get(&url.site()).copied().unwrap_or_default();
        let is_between = (STEADY_MAX + 1..RESTLESS_MIN).contains(&restless.sum);
        is_between && restless.looks < UNDECIDED_LOOKS
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
    /// that nothing else had shown. Returns what that says where it does: now and then a form has
    /// parts of its own, and where many have, they are pages of their own.
    pub(in crate::crawl) fn note_parts(
        &mut self,
        (rules, url): (&[RuleId], &CrawlUrl),
        are_new: bool,
    ) -> Option<Finding> {
        // Where looks show the same parts, others are no chance, however few pages have them.
        let are_kept = self.keeps_parts(url);
        let known = entry_of(&mut self.parts, rules, CHANGES_MAX);
        if !are_new {
            known.same = known.same.saturating_add(1);
            return None;
        }
        known.others = known.others.saturating_add(1);
        let are_many = are_kept || known.others * PARTS_SHARE >= known.same;
        let are_many = are_many && known.others >= PARTS_MIN;
        Some(if are_many { Finding::Failed } else { Finding::Unclear })
    }

    /// Returns true for an audit by these rules whose URL is to be looked at once more, since pages
    /// of its site change at each look.
    /// It is the more worth it the more words both pages differ by, in which next to all that
    /// differ in some lasting way stand out.
    pub(in crate::crawl) fn looks_at_form(
        &mut self,
        url: &CrawlUrl,
        rules: &[RuleId],
        differ_by: u32,
    ) -> bool {
        let known = self.restless.get(&url.site()).copied().unwrap_or_default();
        let distance = match differ_by {
            words if !are_of_chance(words, known.words) => Distance::Beyond,
            words if f64::from(words) > known.chance() => Distance::Far,
            _ => Distance::Chance,
        };
        known.changes() && self.lasting_of(rules).asks(distance)
    }

    /// Returns true where pages of a site change at each look, and by as many words as two of them
    /// differ by, and no form under the same rules that was looked at twice said anything of its
    /// own.
    pub(in crate::crawl) fn may_differ_by_chance(
        &self,
        url: &CrawlUrl,
        rules: &[RuleId],
        differ_by: u32,
    ) -> bool {
        let known = self.restless.get(&url.site()).copied().unwrap_or_default();
        let are_silent = self.lasting.get(rules).is_some_and(Lasting::are_silent);
        known.changes() && f64::from(differ_by) <= known.chance() && are_silent
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

    fn lasting_of(&mut self, rules: &[RuleId]) -> &mut Lasting {
        entry_of(&mut self.lasting, rules, LASTING_MAX)
    }

    /// Counts a pair of forms that a rule makes one, of which the first, of this view, keeps
    /// something back; returns true where they are not alike, and all before had been.
    pub(in crate::crawl) fn kept_back(&mut self, of: (RuleId, u64), is_alike: bool) -> bool {
        if self.kept_back.len() >= KEPT_BACK_MAX && !self.kept_back.contains_key(&of) {
            return false;
        }
        let known = self.kept_back.entry(of).or_default();
        if is_alike {
            known.alike = known.alike.saturating_add(1);
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

    /// Returns the most words by which two looks at a page of a URL's site have differed.
    pub(in crate::crawl) fn changes_by(&self, url: &CrawlUrl) -> u32 {
        self.restless.get(&url.site()).map_or(0, |restless| restless.words)
    }

    /// Returns true for a URL of a site whose pages show other parts at each look, as pictures of
    /// chance.
    pub(in crate::crawl) fn has_parts_of_chance(&self, url: &CrawlUrl) -> bool {
        self.restless.get(&url.site()).is_some_and(|known| known.parts.are_of_chance())
    }

    /// Returns true for a URL of a site whose pages have shown the same parts at each second look.
    fn keeps_parts(&self, url: &CrawlUrl) -> bool {
        self.restless.get(&url.site()).is_some_and(|known| known.parts.keep())
    }

    /// Notes whether a page showed the same parts at a second look.
    pub(in crate::crawl) fn parts_at_two_looks(&mut self, url: &CrawlUrl, is_stable: bool) {
        if let Some(known) = self.restless_of(url) {
            known.parts.note(is_stable);
        }
    }

    /// Returns true where it is worth a second look that a page shows something else of this kind
    /// beside its text than the one that these rules make it.
    pub(in crate::crawl) fn asks_beside(
        &self,
        url: &CrawlUrl,
        rules: &[RuleId],
        kind: usize,
    ) -> bool {
        let site = self.restless.get(&url.site());
        let is_worth = |known: &[beside::Known; beside::KINDS]| known[kind].is_worth_a_look();
        !site.is_some_and(|known| known.beside[kind].are_of_chance())
            && (is_looked_at_twice(url) || self.beside.get(rules).is_none_or(is_worth))
    }

    /// Notes whether a page showed the same of this kind beside its text at a second look.
    pub(in crate::crawl) fn beside_at_two_looks(
        &mut self,
        url: &CrawlUrl,
        kind: usize,
        is_stable: bool,
    ) {
        if let Some(known) = self.restless_of(url) {
            known.beside[kind].note(is_stable);
        }
    }

    /// Counts a page with the words of the one that these rules make it, given with its key, and
    /// in what the two differ beside their text. Returns what that says, if it says something.
    pub(in crate::crawl) fn note_beside(
        &mut self,
        rules: &[RuleId],
        (url, key): (&CrawlUrl, &CrawlUrl),
        differs: &Differs,
    ) -> Option<Finding> {
        let looks = self.restless.get(&url.site()).map(|known| known.beside).unwrap_or_default();
        let part = measure::own_part(url, key);
        let kinds = entry_of(&mut self.beside, rules, CHANGES_MAX);
        let said = kinds
            .iter_mut()
            .enumerate()
            .filter_map(|(kind, known)| known.note(part, differs.alone(kind), looks[kind].keep()));
        // That it fails says more than that it is unclear.
        said.reduce(|one, other| if other == Finding::Failed { other } else { one })
    }

    /// Notes what was the same at a second look at a page of a template.
    pub(in crate::crawl) fn kept_at_two_looks(&mut self, template: u64, kept: Kept) {
        if self.counters.len() >= TEMPLATES_MAX && !self.counters.contains_key(&template) {
            return;
        }
        let known = self.counters.entry(template).or_default();
        let count = match kept {
            Kept::All => &mut known.kept,
            Kept::AllButNumbers => &mut known.changed,
        };
        *count = count.saturating_add(1);
    }

    /// Returns true where the numbers of a page change at each look, as those of the pages of its
    /// template do.
    pub(in crate::crawl) fn has_counter(&self, template: u64) -> bool {
        let known = self.counters.get(&template).copied().unwrap_or_default();
        known.changed >= COUNTERS_MIN && known.kept * COUNTERS_AMONG <= known.changed
    }

    /// The same, but for some pages that are looked at twice whatever is known.
    pub(in crate::crawl) fn is_taken_to_have_counter(&self, url: &CrawlUrl, template: u64) -> bool {
        self.has_counter(template) && !is_looked_at_twice(url)
    }

    /// Notes whether a page was the same, word for word, at a second look, and if not, by how many
    /// words it was another.
    pub(in crate::crawl) fn looked_twice(&mut self, url: &CrawlUrl, is_stable: bool, words: u32) {
        let Some(restless) = self.restless_of(url) else { return };
        let step = if is_stable { -1 } else { 2 };
        restless.sum = (restless.sum + step).clamp(2 * STEADY_MAX, 2 * RESTLESS_MIN);
        restless.words = restless.words.max(words);
        restless.all_words += u64::from(words);
        restless.squares = restless.squares.saturating_add(u64::from(words).pow(2));
        restless.looks += 1;
    }

    /// Notes whether a page that has a text was the same to the word at a second look.
    pub(in crate::crawl) fn words_at_two_looks(&mut self, url: &CrawlUrl, are_same: bool) {
        if let Some(known) = self.restless_of(url) {
            known.still_looks = if are_same { known.still_looks.saturating_add(1) } else { 0 };
        }
    }

    /// Notes that a form which was to be looked at twice under these rules was not.
    pub(in crate::crawl) fn form_not_looked_at(&mut self, rules: &[RuleId]) {
        self.lasting_of(rules).not_begun();
    }

    /// Returns what is known of a URL's site; `None` where too many others are.
    fn restless_of(&mut self, url: &CrawlUrl) -> Option<&mut Restless> {
        let site = url.site();
        if self.restless.len() >= SITES_MAX && !self.restless.contains_key(&site) {
            return None;
        }
        Some(self.restless.entry(site).or_default())
    }

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

    /// Notes that a page stood for another one.
    pub(in crate::crawl) fn contest(&mut self, page: Fingerprint) {
        if self.contested.len() < CONTESTED_MAX && !self.contested.contains_key(&page) {
            self.contested.insert(page, CONTESTED_FORMS);
            self.contested_due.push_back(page);
        }
    }

    /// Returns true while suppressed forms of such pages are to be fetched.
    pub(in crate::crawl) fn has_contested(&self) -> bool {
        !self.contested_due.is_empty()
    }

    /// Returns true where one more form of a page is to be fetched, and counts it.
    fn takes_contested(&mut self, page: Fingerprint) -> bool {
        let left = self.contested.get_mut(&page).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_some()
    }

    fn has_room(&self, rules: &[RuleId]) -> bool {
        let busy = |rule| self.under_way.get(rule).is_some_and(|count| *count >= AT_ONCE);
        self.awaited.len() < AWAITED_MAX && !rules.iter().any(busy)
    }
}

impl State {
    /// Returns which rules make a URL and the one that stands for it one page.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn united_by(
        &self,
        set: &RuleSet,
        url: &CrawlUrl,
        by: Fingerprint,
    ) -> Result<United, DbError> {
        let record = urls::get(&self.db, by)?;
        let parsed = record.as_ref().and_then(|record| CrawlUrl::parse(&record.url).ok());
        let Some(stands) = parsed else {
            let (own, url) = (set.canonize(url).rules, url.clone());
            return Ok(United { all: own.clone(), rules: own, url, stands: None, withholds: None });
        };
        let keeps_back = record.is_some_and(|record| readmit::withholds(&record));
        let withholds = keeps_back.then(|| set.view_of(&stands));
        let all = set.uniting(url, &stands);
        if all.is_none()
            && let Some(rule) = set.led_back(url, &stands)
        {
            return Ok(United { withholds, ..United::by_link(rule, url) });
        }
        // One that stands for it by way of a third has its key no more where rules changed since.
        let all = all.unwrap_or_else(|| {
            let own = set.canonize(url).rules;
            let mut others = set.canonize(&stands).rules;
            others.retain(|rule| !own.contains(rule));
            [own, others].concat()
        });
        Ok(United { withholds, ..United::by(set, all, url, stands) })
    }

    /// Notes the keys that new rules give pages which were fetched before: each page stands for its
    /// key, unless another one does, or the key itself was fetched.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn note_keys(
        &mut self,
        batch: &mut Batch,
        pages: &[(CrawlUrl, CrawlUrl)],
    ) -> Result<(), DbError> {
        let mut keys: Vec<(Fingerprint, Fingerprint)> =
            pages.iter().map(|(url, key)| (key.fingerprint(), url.fingerprint())).collect();
        // In the order of the rows, so that neighbours are read together.
        keys.sort_unstable();
        for (key, url) in keys {
            let free = match seen::get(&self.db, key)? {
                None => true,
                // It waits: when its turn comes, it is one more form of a page that is there.
                Some(Known::Itself) => urls::get(&self.db, key)?
                    .is_some_and(|record| matches!(record.state, UrlState::Queued(_))),
                Some(Known::By(_)) => false,
            };
            if free {
                seen::put_by(batch, &self.db, key, url);
            }
        }
        Ok(())
    }

    /// Returns what stands for a URL whose own form is the key of another one, and by which rules.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn stood_for(
        &self,
        set: &RuleSet,
        url: &CrawlUrl,
        own: Fingerprint,
    ) -> Result<Option<(Fingerprint, United)>, DbError> {
        let Some(Known::By(by)) = seen::get(&self.db, own)? else { return Ok(None) };
        let Some(by) = self.still_stands(by, own)? else { return Ok(None) };
        let united = self.united_by(set, url, by)?;
        Ok((!united.all.is_empty()).then_some((by, united)))
    }

    /// Returns what stands for a URL by those of its rules that are proved for it, where others are
    /// not, given the key that it has by them ([`RuleSet::proved_key`]): what they say of it is as
    /// true as if there were no others. What stands for it by others alone, since the URL that has
    /// this key is hidden by a rule that is proved for that one, does not.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn held_by_proved(
        &self,
        set: &RuleSet,
        url: &CrawlUrl,
        (own, proved): (Fingerprint, Fingerprint),
    ) -> Result<Option<(Fingerprint, United)>, DbError> {
        let Some(by) = self.other_holder(own, proved)? else { return Ok(None) };
        let united = self.united_by(set, url, by)?;
        let stands = united.is_proved(set) && !self.is_kept_back(&united);
        Ok(stands.then_some((by, united)))
    }

    /// Lets what a URL shows be compared with what stands for it, if it is not awaited already.
    pub(in crate::crawl) fn await_audit(
        &mut self,
        url: Fingerprint,
        by: Fingerprint,
        rules: &[RuleId],
    ) {
        self.await_since(url, by, rules, Why::Told);
    }

    fn await_since(&mut self, url: Fingerprint, by: Fingerprint, rules: &[RuleId], why: Why) {
        if !self.checks.awaits(url) && self.checks.awaited.len() < AWAITED_MAX {
            self.checks.begin(url, by, rules, why);
        }
    }

    /// Returns what stands for a URL that is fetched all the same, and why that is; none where
    /// nothing does.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn beside(
        &self,
        admitted: &Admitted,
    ) -> Result<Option<BesideLine>, DbError> {
        let Some(by) = self.stands_beside(admitted) else { return Ok(None) };
        let url = admitted.lease.waiting.fingerprint;
        let (why, rules) = match (self.checks.awaited.get(&url), &admitted.beside) {
            (Some(check), _) if check.why != Why::Proves => ("audit", &check.rules[..]),
            (Some(check), _) => ("check", &check.rules[..]),
            (None, Some((_, rules))) => ("audit", &rules[..]),
            (None, None) if self.withholds(by)? => ("kept-back", &[][..]),
            (None, None) => ("brought-back", &[][..]),
        };
        // It may itself have been suppressed since.
        let by = self.stand_in(url, by)?.unwrap_or(by);
        let stands = urls::get(&self.db, by)?;
        Ok(stands.map(|record| BesideLine {
            url: record.url,
            why: why.to_owned(),
            rules: rules.to_vec(),
        }))
    }

    /// Returns the URL that stands, or stood, for one that is fetched all the same.
    pub(in crate::crawl) fn stands_beside(&self, admitted: &Admitted) -> Option<Fingerprint> {
        let url = admitted.lease.waiting.fingerprint;
        let check = self.checks.awaited.get(&url).map(|check| check.by);
        let by = check.or(admitted.beside.as_ref().map(|(by, _)| *by));
        by.or_else(|| self.stood.get(&url).copied())
    }

    /// Decides whether a URL that rules would suppress in favour of `by` is fetched all the same.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn is_fetched_to_check(
        &mut self,
        set: &RuleSet,
        own: Fingerprint,
        united: &United,
        by: Fingerprint,
    ) -> Result<bool, DbError> {
        let United { rules, url, .. } = united;
        if let Some(check) = self.checks.awaited.get(&own) {
            // Others may have proved the rule while this one was waiting: of a list with a thousand
            // forms half were drawn when little was known of it.
            let goes =
                check.why == Why::Told || set.must_prove(url, rules) || set.audits(url, rules);
            if goes {
                return Ok(true);
            }
            self.checks.end(own);
        }
        if self.is_drawn(set, own, united, by)? || self.is_contested(own, by, rules) {
            return Ok(true);
        }
        // Where two are in doubt at once, it would not be known which one has failed.
        if set.in_doubt(url, rules) != 1 || !self.checks.has_room(rules) || !self.can_testify(by)? {
            return Ok(false);
        }
        self.checks.begin(own, by, rules, Why::Proves);
        Ok(true)
    }

    /// Returns what [`State::is_measured`] says, and sees to it that what is to be fetched is.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn is_drawn(
        &mut self,
        set: &RuleSet,
        own: Fingerprint,
        united: &United,
        by: Fingerprint,
    ) -> Result<bool, DbError> {
        let is_measured = self.is_measured(set, united, by)?;
        if is_measured {
            // More is hidden when its turn comes, and it would be drawn no more.
            self.await_since(own, by, &united.rules, Why::Drawn);
        }
        Ok(is_measured)
    }

    /// Returns true where a URL that rules suppress in favour of `by` is fetched all the same, to
    /// measure them: once a form of that page has agreed, the fewer the more of them they hide.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn is_measured(
        &self,
        set: &RuleSet,
        United { rules, url, .. }: &United,
        by: Fingerprint,
    ) -> Result<bool, DbError> {
        if !set.audits(url, rules) {
            return Ok(false);
        }
        if set.is_uneasy(url, rules) || !self.checks.have_agreed(rules, by) {
            return Ok(true);
        }
        let forms = suppressed::count_of(&self.db, by, FORMS_COUNTED)?;
        Ok(is_among_first(url, FORMS_AUDITED as f64 / forms.max(FORMS_AUDITED) as f64))
    }

    /// Returns true where a URL is fetched since the page that would stand for it has stood for
    /// another one.
    pub(in crate::crawl) fn is_contested(
        &mut self,
        own: Fingerprint,
        by: Fingerprint,
        rules: &[RuleId],
    ) -> bool {
        let takes = self.checks.takes_contested(by);
        if takes {
            self.await_audit(own, by, rules);
        }
        takes
    }

    /// Fetches some of what was suppressed in favour of a page that stood for another one; returns
    /// false where there is none.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn ask_contested(&mut self, now: Timestamp) -> Result<bool, CrawlError> {
        let Some(page) = self.checks.contested_due.pop_front() else { return Ok(false) };
        let mut batch = Batch::default();
        for (form, how) in suppressed::of(&self.db, page, CONTESTED_FORMS)? {
            let rules: Vec<RuleId> = how.rules.iter().copied().map(RuleId).collect();
            let takes = !self.checks.awaits(form) && self.checks.takes_contested(page);
            if takes && self.restore_suppressed(&mut batch, page, form)? {
                self.await_audit(form, page, &rules);
            }
        }
        self.commit(batch, now)?;
        Ok(true)
    }

    /// Returns true where a URL was fetched and showed what others can be compared with.
    fn can_testify(&self, url: Fingerprint) -> Result<bool, DbError> {
        Ok(self.evidence_at(url)?.is_some_and(|(shown, _)| shown.can_testify()))
    }

    /// Returns how much a URL showed, where others can be told from it at all.
    fn extent_of(&self, url: Fingerprint) -> Result<Option<Extent>, DbError> {
        Ok(self.evidence_at(url)?.and_then(|(shown, marks)| {
            let is_thin = shown.thin().is_some() && marks.wording.is_some();
            match shown.text() {
                Some(text) => Some(Extent::Words(text.shingles)),
                None if shown.can_testify() => Some(Extent::Bytes),
                None => is_thin.then_some(Extent::Thin),
            }
        }))
    }

    /// Returns what a URL showed that was fetched.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn evidence_at(
        &self,
        url: Fingerprint,
    ) -> Result<Option<(Fetched, Marks)>, DbError> {
        let Some(record) = urls::get(&self.db, url)? else { return Ok(None) };
        let UrlState::Done(done) = record.state else { return Ok(None) };
        Ok(evidence_of(&done.evidence).map(|shown| (shown, marks_in(&done.evidence))))
    }

    /// Before the crawl ends, fetches what rules set aside and nothing has proved; and of each rule
    /// in force the URL that it suppressed last, and more where the last audits raised a doubt: a
    /// site that changed its habits late would keep what the rule hides. Returns true if there is
    /// anything to fetch.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn check_rules(&mut self, now: Timestamp) -> Result<bool, CrawlError> {
        if self.checks.are_done {
            return Ok(false);
        }
        let set = self.rules.snapshot();
        // Nothing is under way when nothing is left to do: what was awaited came to nothing.
        let awaited: Vec<Fingerprint> = self.checks.awaited.keys().copied().collect();
        for url in awaited {
            self.checks.end(url);
        }
        let mut any = false;
        // What one rule brings back is committed before the next one is looked at: what two of them
        // set aside would come back twice.
        for rule in set.rules() {
            let mut batch = Batch::default();
            let closed = self.joins_a_closed_host(&rule.rule)?;
            if closed {
                // What was proved may wait in vain by now.
                self.checks.clean.remove(&rule.id);
            }
            if (closed || set.is_limited(rule.id))
                && self.prove_before_the_end(&mut batch, &set, rule.id, now)?
            {
                self.commit(batch, now)?;
                any = true;
            }
        }
        if any {
            return Ok(true);
        }
        for rule in set.rules() {
            let mut batch = Batch::default();
            if self.measure_before_the_end(&mut batch, &set, rule.id)? {
                self.commit(batch, now)?;
                any = true;
            }
        }
        if any {
            return Ok(true);
        }
        let mut batch = Batch::default();
        any = self.ask_what_is_shared(&mut batch)?;
        if any {
            self.commit(batch, now)?;
        }
        Ok(any)
    }

    /// Returns true where a rule takes two hosts for one and one of them is closed: what waits on
    /// that is not fetched, and stands for what the other one would show.
    fn joins_a_closed_host(&mut self, rule: &RuleKind) -> Result<bool, DbError> {
        let RuleKind::HostAlias { from, to, .. } = rule else { return Ok(false) };
        Ok(!self.is_host_open(from)? || !self.is_host_open(to)?)
    }

    /// Returns a URL that is known by its record.
    pub(in crate::crawl) fn url_of(&self, own: Fingerprint) -> Result<Option<CrawlUrl>, DbError> {
        let record = urls::get(&self.db, own)?;
        Ok(record.and_then(|record| CrawlUrl::parse(&record.url).ok()))
    }

    fn is_host_open(&mut self, host: &Host) -> Result<bool, DbError> {
        let Some(id) = self.hosts.find(&self.db, host)? else { return Ok(true) };
        Ok(self.host(id)?.is_none_or(|record| record.is_open()))
    }

    /// Fetches some of what a rule set aside, from as many places and for as many values as may be.
    /// Returns true if there may be more.
    fn prove_before_the_end(
        &mut self,
        batch: &mut Batch,
        set: &RuleSet,
        rule: RuleId,
        now: Timestamp,
    ) -> Result<bool, DbError> {
        if self.prove_what_was_in_doubt(batch, set, rule)? {
            return Ok(true);
        }
        let newly = Scan { from: Fingerprint(0), version: set.version() };
        let scan = *self.checks.scans.entry(rule).or_insert(newly);
        let rows = suppressed::by_rule_from(&self.db, rule.0, scan.from, ROWS_MAX)?;
        let clean = self.checks.clean.get(&rule).filter(|of| set.trusts_as(rule, &of.trust));
        let clean = clean.map_or(Timestamp::ZERO, |of| of.at);
        let (mut open, mut is_clean) = (Vec::new(), true);
        for (own, by) in &rows {
            let is_known = clean > Timestamp::ZERO
                && suppressed::get(&self.db, *by, *own)?.is_some_and(|how| how.at < clean);
            if is_known {
                continue;
            }
            match self.look_at(set, *own, *by)? {
                SetAside::Doubtful(one) => open.push(one),
                SetAside::Passed => is_clean = false,
                SetAside::Proved => {}
            }
        }
        // What is in doubt is remembered: the rest of what was hidden by now needs no look, while
        // the rule is trusted as much.
        let is_all = scan.from == newly.from && rows.len() < ROWS_MAX;
        if is_clean && is_all && open.len() <= IN_DOUBT_MAX {
            self.checks.clean.insert(rule, Clean { at: now, trust: set.trust(rule) });
        }
        if open.is_empty() {
            let rest = rows.last().filter(|_| rows.len() == ROWS_MAX);
            let after = |last: Fingerprint| Fingerprint(last.0.saturating_add(1));
            let next = rest.map(|(last, _)| Scan { from: after(*last), ..scan });
            // What was passed may have come into doubt since.
            let is_old = scan.from != newly.from && scan.version != newly.version;
            self.checks.scans.insert(rule, next.unwrap_or(newly));
            return Ok(next.is_some() || is_old);
        }
        let mut any = false;
        // These are suppressed again when their turn comes, without a fetch.
        for one in open.extract_if(.., |one| one.is_held).take(STEP_MAX) {
            any |= self.restore_suppressed(batch, one.by, one.own)?;
        }
        // First what can be compared, and tests one rule; in the order of their hashes, which is
        // no order.
        open.sort_by_key(|one| (one.is_mute, one.in_doubt, one.own));
        let mut seen = BTreeSet::new();
        let (apart, alike): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|one| one.places.iter().any(|at| seen.insert(*at)));
        let mut open: VecDeque<Open> = apart.into_iter().chain(alike).collect();
        for one in open.drain(..self.checks.proving_step(rule).min(open.len())) {
            any |= self.prove_by(batch, rule, &one)?;
        }
        let rest = open.iter().map(|one| (one.own, one.by)).take(IN_DOUBT_MAX);
        self.checks.in_doubt.insert(rule, rest.collect());
        Ok(any)
    }

    /// Fetches some of what was in doubt when all that a rule hides was last looked at, and still
    /// is. Returns false if nothing of it is left.
    fn prove_what_was_in_doubt(
        &mut self,
        batch: &mut Batch,
        set: &RuleSet,
        rule: RuleId,
    ) -> Result<bool, DbError> {
        let Some(mut known) = self.checks.in_doubt.remove(&rule) else { return Ok(false) };
        let (mut any, mut left) = (false, self.checks.proving_step(rule));
        while left > 0
            && let Some((own, by)) = known.pop_front()
        {
            match self.look_at(set, own, by)? {
                SetAside::Doubtful(one) if one.is_held => {
                    any |= self.restore_suppressed(batch, by, own)?;
                }
                SetAside::Doubtful(one) if self.prove_by(batch, rule, &one)? => {
                    (any, left) = (true, left - 1);
                }
                SetAside::Passed => _ = self.checks.clean.remove(&rule),
                SetAside::Doubtful(_) | SetAside::Proved => {}
            }
        }
        if !known.is_empty() {
            self.checks.in_doubt.insert(rule, known);
        }
        Ok(any)
    }

    /// Fetches a URL that was set aside, to prove the rules that set it aside; returns false if it
    /// has come back meanwhile.
    fn prove_by(&mut self, batch: &mut Batch, rule: RuleId, one: &Open) -> Result<bool, DbError> {
        let is_restored = self.restore_suppressed(batch, one.by, one.own)?;
        if is_restored {
            self.checks.begin(one.own, one.by, &one.rules, Why::Told);
            *self.checks.proving.entry(rule).or_default() += 1;
        }
        Ok(is_restored)
    }

    /// Looks at a URL that was suppressed in favour of `by`: it is in doubt if it is not proved to
    /// show the same, or if `by` waits on a host that is closed.
    fn look_at(
        &mut self,
        set: &RuleSet,
        own: Fingerprint,
        by: Fingerprint,
    ) -> Result<SetAside, DbError> {
        let Some(url) = self.url_of(own)? else { return Ok(SetAside::Proved) };
        if self.checks.awaits(own) || !self.is_host_open(&url.host())? {
            return Ok(SetAside::Passed);
        }
        let united = self.united_by(set, &url, by)?;
        let is_doubtful = !united.all.is_empty() && !united.is_proved(set);
        let mut waits_in_vain = false;
        if let Some(record) = urls::get(&self.db, by)?
            && let Ok(stands) = CrawlUrl::parse(&record.url)
        {
            let waits = matches!(record.state, UrlState::Queued(_));
            waits_in_vain = waits && !self.is_host_open(&stands.host())?;
        }
        if !is_doubtful && !waits_in_vain {
            return Ok(SetAside::Proved);
        }
        // Suppressed again in favour of what is never fetched, it would come back for ever.
        let proved = set.proved_key(&url).filter(|_| !waits_in_vain);
        let is_held = match proved {
            Some(key) => match self.held_by_proved(set, &url, (own, key.fingerprint()))? {
                Some((by, united)) => !self.is_measured(set, &united, by)?,
                None => false,
            },
            None => false,
        };
        let (is_mute, places) = (!self.can_testify(by)?, set.open_at(&united.url, &united.rules));
        let in_doubt = set.in_doubt(&united.url, &united.rules);
        let rules = united.rules;
        Ok(SetAside::Doubtful(Open { is_held, is_mute, own, by, rules, in_doubt, places }))
    }
}

/// Returns true for one of the few pages that are looked at twice whatever is known of their site.
fn is_looked_at_twice(url: &CrawlUrl) -> bool {
    xxh3_64(url.as_str().as_bytes()).is_multiple_of(RESTLESS_EVERY)
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

#[cfg(test)]
mod tests;
