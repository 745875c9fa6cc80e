//! Checks of rules: URLs that a rule would suppress and that are fetched as found.
//!
//! While a rule is on trial, or not proved in some place of its site, what it would suppress there
//! is set aside: it is suppressed like any other, and comes back if the rule falls. A few of these
//! URLs are fetched, one or two at a time, where what stands for them has shown its text; each
//! proves the rule or refutes it. Before a crawl ends, nothing is left aside that is not proved:
//! what is still in doubt is fetched, few at first, in growing steps.

mod compared;
mod measure;
mod prove;
pub(in crate::crawl) mod second_looks;

use std::collections::{HashMap, VecDeque};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use self::compared::Compared;
pub(in crate::crawl) use self::compared::{Alike, KEPT_BACK_MAX};
use self::measure::{Failed, Measuring};
use self::prove::{Clean, Scan};
use self::second_looks::{SecondLooks, is_looked_at_twice};
use super::admit::Admitted;
use super::beside::Differs;
use super::error::CrawlError;
use super::evidence::{Marks, Withheld, evidence_of, marks_in};
use super::judge::{Distance, LONG_SILENT};
use super::log::BesideLine;
use super::readmit;
use super::state::State;
use crate::clock::Timestamp;
use crate::db::families::seen::{self, Known};
use crate::db::families::{suppressed, urls};
use crate::db::{Batch, DbError};
use crate::dust::{Fetched, Finding, RuleId, RuleSet, is_among_first};
use crate::frontier::UrlState;
use crate::url::{CrawlUrl, Fingerprint, Host};

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

/// Forms of a page that are counted.
const FORMS_COUNTED: usize = 256;

/// Largest step in which what is in doubt is fetched before a crawl ends.
const STEP_MAX: usize = 256;

/// Forms of a page that are fetched once it stood for another one: where one translation is there,
/// others may be, whatever rule hides them.
pub(in crate::crawl) const CONTESTED_FORMS: usize = 8;

/// Pages of which this is remembered.
const CONTESTED_MAX: usize = 10_000;

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
    /// The same of one by which a rule in force is measured before the crawl ends: there are at
    /// most [`MEASURED_MAX`] of each.
    Measures,
    /// It was drawn as one by which a proved rule is measured, which holds however much is hidden
    /// until its turn comes.
    Drawn,
}

/// How much a page shows by which others can be told from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// A main text of so many words.
    Words(u32),
    /// What is no HTML, or a redirect.
    Bytes,
    /// A main text that is too thin to speak for a rule, and may speak against it.
    Thin,
}

impl Extent {
    fn words(self) -> Option<u32> {
        if let Extent::Words(words) = self { Some(words) } else { None }
    }
}

/// The checks that are under way.
#[derive(Debug, Default)]
pub(in crate::crawl) struct Checks {
    /// The last run ended with all checked, and this one has fetched and hidden nothing yet.
    pub(in crate::crawl) are_done: bool,
    /// What second looks have shown of sites and templates.
    pub(in crate::crawl) looks: SecondLooks,
    /// What pairs of pages that rules make one have shown.
    pub(in crate::crawl) compared: Compared,
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
    /// Pages that stood for another one, and how many more of their forms are fetched for that.
    contested: HashMap<Fingerprint, usize>,
    /// Those of them whose suppressed forms are to be fetched.
    contested_due: VecDeque<Fingerprint>,
    /// Pages that wait and stand for a form that was fetched before them, which they are compared
    /// with in their turn.
    came_before: HashMap<Fingerprint, Fingerprint>,
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
    /// What stands for it keeps something back: a name of that, and of its view. See
    /// [`State::is_kept_back`].
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
    /// its rules are measured that they cannot be what keeps the crawl going. A page with too
    /// little text to be compared with another checks nothing that is not proved, and so may have
    /// no end. Asked once for each.
    pub(in crate::crawl) fn samples(&mut self, url: Fingerprint, is_thin: bool) -> bool {
        let Some(check) = self.awaited.get(&url) else { return false };
        if check.why == Why::Measures {
            return true;
        }
        let mut is_one_of_few = !is_thin;
        for rule in &check.rules {
            let sampled = self.sampled.entry(*rule).or_default();
            *sampled += 1;
            is_one_of_few &= *sampled <= SAMPLED_MAX;
        }
        is_one_of_few
    }

    /// Counts a page with the words of the one that these rules make it, and whether it shows parts
    /// that nothing else had shown. Returns what that says where it does.
    pub(in crate::crawl) fn note_parts(
        &mut self,
        (rules, url): (&[RuleId], &CrawlUrl),
        are_new: bool,
    ) -> Option<Finding> {
        self.compared.note_parts(rules, are_new, self.looks.keeps_parts(url))
    }

    /// Counts a page with the words of the one that these rules make it, given with its key, and
    /// in what the two differ beside their text. Returns what that says, if it says something.
    pub(in crate::crawl) fn note_beside(
        &mut self,
        rules: &[RuleId],
        (url, key): (&CrawlUrl, &CrawlUrl),
        differs: &Differs,
    ) -> Option<Finding> {
        let are_kept = std::array::from_fn(|kind| self.looks.keeps_beside(url, kind));
        self.compared.note_beside(rules, (url, key), differs, are_kept)
    }

    /// Returns true where it is worth a second look that a page shows something else of this kind
    /// beside its text than the one that these rules make it.
    pub(in crate::crawl) fn asks_beside(
        &self,
        url: &CrawlUrl,
        rules: &[RuleId],
        kind: usize,
    ) -> bool {
        !self.looks.is_beside_of_chance(url, kind)
            && (is_looked_at_twice(url) || self.compared.asks_beside(rules, kind))
    }

    /// Returns true for an audit by these rules whose URL is to be looked at once more, since pages
    /// of its site change at each look: the sooner the more words both pages differ by, in which
    /// next to all that differ in some lasting way stand out.
    pub(in crate::crawl) fn looks_at_form(
        &mut self,
        url: &CrawlUrl,
        rules: &[RuleId],
        differ_by: u32,
    ) -> bool {
        let distance = self.looks.distance(url, differ_by);
        distance.is_some_and(|distance| self.compared.looks_at_form(rules, distance))
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
        self.looks.distance(url, differ_by) == Some(Distance::Chance)
            && self.compared.silent(rules) > 0
    }

    /// Returns true where pages of a site change at each look, and what a page says by its words is
    /// not known to last: many forms under the same rules were looked at twice, and none said
    /// anything of its own; or none is looked at, since this was not its form's turn.
    pub(in crate::crawl) fn may_say_nothing(
        &self,
        url: &CrawlUrl,
        rules: &[RuleId],
        is_own: bool,
    ) -> bool {
        self.looks.change(url) && (!is_own || self.compared.silent(rules) >= LONG_SILENT)
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

/// Returns a name of what is kept back in a view.
fn view_without(what: Withheld, view: u64) -> u64 {
    match what {
        Withheld::Links => view,
        Withheld::Page(_) => xxh3_64_with_seed(b"redirects", view),
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
        let withholds = record.and_then(|record| readmit::withholds(&record));
        let withholds = withholds.map(|what| view_without(what, set.view_of(&stands)));
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
        let (why, rules) = match self.rules_beside(admitted) {
            Some((Why::Proves, rules)) => ("check", rules),
            Some((_, rules)) => ("audit", rules),
            None => match self.withholds(by)? {
                Some(Withheld::Links) => ("kept-back", &[][..]),
                Some(Withheld::Page(_)) => ("redirects", &[][..]),
                None => ("brought-back", &[][..]),
            },
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

    /// Returns why a URL is fetched that rules would suppress, and which.
    fn rules_beside<'a>(&'a self, admitted: &'a Admitted) -> Option<(Why, &'a [RuleId])> {
        let check = self.checks.awaited.get(&admitted.lease.waiting.fingerprint);
        let check = check.map(|check| (check.why, &check.rules[..]));
        check.or_else(|| admitted.beside.as_ref().map(|(_, rules)| (Why::Told, &rules[..])))
    }

    /// Returns true where the links of a URL that is fetched to measure rules are followed though
    /// its text is known, as are many of its host: it speaks for others that nobody fetches.
    pub(in crate::crawl) fn follows_audit(&mut self, admitted: &Admitted) -> bool {
        let rules = self.rules_beside(admitted).map_or_else(Vec::new, |(_, rules)| rules.to_vec());
        self.behind.follows(&rules)
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
            let is_told = matches!(check.why, Why::Told | Why::Measures);
            let goes = is_told || set.must_prove(url, rules) || set.audits(url, rules);
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
        if set.is_uneasy(url, rules) || !self.checks.compared.have_agreed(rules, by) {
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
        let shown = self.evidence_at(url)?;
        Ok(shown.is_some_and(|(shown, _)| shown.can_testify() || shown.is_redirect()))
    }

    /// Returns how much a URL showed, where others can be told from it at all.
    fn extent_of(&self, url: Fingerprint) -> Result<Option<Extent>, DbError> {
        Ok(self.evidence_at(url)?.and_then(|(shown, marks)| {
            let is_thin = shown.thin().is_some() && marks.wording.is_some();
            match shown.text() {
                Some(text) => Some(Extent::Words(text.shingles)),
                None if shown.can_testify() || shown.is_redirect() => Some(Extent::Bytes),
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

    /// Returns a URL that is known by its record.
    pub(in crate::crawl) fn url_of(&self, own: Fingerprint) -> Result<Option<CrawlUrl>, DbError> {
        let record = urls::get(&self.db, own)?;
        Ok(record.and_then(|record| CrawlUrl::parse(&record.url).ok()))
    }

    fn is_host_open(&mut self, host: &Host) -> Result<bool, DbError> {
        let Some(id) = self.hosts.find(&self.db, host)? else { return Ok(true) };
        Ok(self.host(id)?.is_none_or(|record| record.is_open()))
    }
}

#[cfg(test)]
mod tests;
