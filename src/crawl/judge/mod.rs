//! What a page that is fetched beside its stand-in says of the rules that gave both one key.
//!
//! Such a page is an audit of a rule in force, a check of one on trial, or came back when what
//! stood for it turned out dead. The two are compared as they were fetched. Where they differ by a
//! little, what stands for the page is looked at once more ([`looks`]): pages change from one look
//! to the next, and with the address under which they are asked for.
//! Words that one of them has for its own are a label where pages of other texts differ by the same
//! ones. Of several rules the one is blamed without which the page would be known, if that can be
//! told.

mod lasting;
mod looks;

use std::collections::BTreeSet;

pub(super) use self::lasting::{Distance, Lasting, Lasts};
pub(super) use self::looks::{Look, Looks, Under};

use super::behind::Form;
use super::beside::{Beside, Differs, Sums};
use super::checks::United;
use super::checks::second_looks::Doubt;
use super::error::CrawlError;
use super::evidence::{Marks, evidence_of, marks_in};
use super::learn::PROBES_MAX;
use super::learner::Tell;
use super::self_links::leads_to;
use super::state::State;
use crate::clock::Timestamp;
use crate::content::{Kept, Vocabulary, Wording};
use crate::db::families::{seen, urls};
use crate::db::{Batch, DbError, Family};
use crate::dust::{
    Difference, Fetched, Finding, RuleId, Sketch, Words, are_of_chance, are_other_figures,
};
use crate::frontier::{UrlRecord, UrlState};
use crate::url::{CrawlUrl, Fingerprint};

/// How many times as often as a rule another one must have agreed to be above suspicion beside it.
const FAR_BETTER: u32 = 2;

/// Pairs that have agreed for a rule from which on what it makes of a URL need not be seen for
/// each.
const AGREED_BETWEEN: u32 = 16;

/// Where a page leads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leads<'a> {
    /// What it redirects to.
    pub(super) redirect: Option<&'a CrawlUrl>,
    /// URLs that were queued for it: nothing had led to them before.
    pub(super) new: u64,
    /// These URLs.
    pub(super) led_to: &'a [Fingerprint],
    /// A hash of the parts that it shows, if some are new: nothing had shown them before.
    pub(super) parts: Option<u64>,
    /// What it says, word for word.
    pub(super) wording: Option<Wording>,
    /// Its words and numbers.
    pub(super) words: Option<&'a Vocabulary>,
    /// What stands beside its text.
    pub(super) beside: Option<&'a (Sums, Beside)>,
}

/// A URL that rules would have suppressed and that was fetched all the same.
#[derive(Clone, Debug)]
pub(super) struct Audited {
    rules: Vec<RuleId>,
    /// What the rules rewrite, and its key.
    pair: (CrawlUrl, CrawlUrl),
    /// What stands for the URL, and the rules that rewrite it too.
    stands: Option<(Vec<RuleId>, CrawlUrl)>,
    /// What it showed.
    audited: Fetched,
    /// It led to URLs that nothing else had led to.
    leads_on: bool,
    /// These URLs.
    led_to: Vec<Fingerprint>,
    /// Which parts the one that stands for it shows, if this one shows others that are new.
    lacks: Option<u64>,
    /// What the one that stands for it says, and this one, if that is not the same word for word;
    /// without numbers where these are likely those of a counter.
    wordings: Option<(Wording, Wording)>,
    /// It is looked at once more too, after the one that stands for it.
    looks_at_form: bool,
    /// What that says.
    lasts: Lasts,
    /// In what it differs from the one that stands for it beside its text.
    beside: Differs,
    /// What stands beside its text, while a second look is awaited.
    own_beside: Option<Beside>,
    /// What the one that stands for it says, all of it, and its template.
    stood: (Option<Wording>, u64),
    /// It says the same, word for word, but for numbers that change by themselves.
    says_same: bool,
    /// Its words and numbers, while a second look is awaited.
    words: Option<Vocabulary>,
    /// It lacks what stands around the text of the one that stands for it, and says nothing that
    /// this does not say.
    says_no_more: bool,
    /// What the one that stands for it had shown.
    known: Fetched,
    /// True if what the rules rewrite is the URL that was fetched.
    is_own: bool,
    /// The page that stands for it.
    by: Fingerprint,
}

impl Audited {
    /// Returns true where its text is much like that of the one that stands for it, as that showed
    /// itself, and it is another page for all that. Where it is the same text among other words,
    /// these may be a label, unless they are no more than the pages of the site change by.
    fn differs_from(&self, known: Fetched, changes_by: u32) -> bool {
        let audited = self.audited;
        let may_be_label = known.has_text_of(audited, changes_by)
            && known.own_words(audited, changes_by).is_some();
        known.differs_from(audited) && !may_be_label
            || self.leads_on && known.differs_by_rows(audited, changes_by)
    }

    /// Returns the rules that rewrite one of the two.
    fn all_rules(&self) -> Vec<RuleId> {
        let theirs = self.stands.iter().flat_map(|(rules, _)| rules);
        let all: BTreeSet<RuleId> = self.rules.iter().chain(theirs).copied().collect();
        all.into_iter().collect()
    }

    /// Returns how the two differ, word for word, with the text of the one that stands for it.
    fn difference(&self) -> Option<(Sketch, Difference)> {
        let (theirs, own) = self.wordings?;
        let wording = theirs.change_to(&own);
        let text = self.known.text().or(self.known.thin())?;
        Some((text, Difference { words: self.known.change_to(self.audited), wording }))
    }
}

/// Whose rules have failed, where a page is another one than that which stands for it.
enum Fault {
    /// Those that rewrite its URL.
    Own,
    /// Those that rewrite what stands for it; the others have not, if the page under the key that
    /// they alone lead to is named, with what it showed.
    Theirs(Option<(CrawlUrl, Fetched)>),
    /// It cannot be told.
    Unknown,
}

impl State {
    /// Returns true where a URL that has no other key was or is stood for by another one of its
    /// key: what it shows says whether that was right.
    pub(super) fn is_compared(&self, own: Fingerprint) -> bool {
        self.checks.awaits(own) || self.stood.contains_key(&own) || self.checks.has_come_before(own)
    }

    /// A URL that has another key and was fetched all the same is evidence about the rules that
    /// give it its key: it was an audit, or what stands for it turned out dead.
    pub(super) fn tell_audit(
        &mut self,
        batch: &mut Batch,
        (url, own): (&CrawlUrl, Fingerprint),
        key: &CrawlUrl,
        (fetched, leads): (Fetched, Leads<'_>),
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        let Some((by, record, known)) = self.stands_for(own, key)? else { return Ok(()) };
        let set = self.rules.snapshot();
        let Ok(page) = CrawlUrl::parse(&record.url) else { return Ok(()) };
        // Rules that have changed meanwhile may give the two keys of their own.
        let Some(united) = United::by_key(&set, url, page.clone()) else { return Ok(()) };
        let (mut rules, rewritten) = (united.rules, united.url);
        let mut stands = united.stands.filter(|(rules, _)| !rules.is_empty());
        let mut audited = fetched;
        let is_link = rules.iter().any(|rule| set.is_self_link(*rule));
        if let Some(to) = leads.redirect.filter(|_| is_link) {
            let finding = leads_to(&set, to, &page);
            if finding != Finding::Same {
                self.seen_of.note_audit();
                if finding == Finding::Failed {
                    self.note_failed(&rules, (&rewritten, key), by)?;
                }
                let pair = Box::new((rewritten, key.clone(), known));
                self.tell(Tell::Audited(rules, pair, finding, now));
                return Ok(());
            }
            audited = known;
        } else if let Some(to) = leads.redirect
            && let Some(said) = set.uniting(url, to)
        {
            // The site itself says that both are one page, or of one more form that it is the page
            // of the first: then of those rules alone without which that would not have their key.
            audited = known;
            if to.fingerprint() != by {
                rules.retain(|rule| said.contains(rule));
                stands = None;
            }
        }
        if rules.is_empty() {
            return Ok(());
        }
        self.seen_of.note_audit();
        let changes_by = self.checks.looks.changes_by(url);
        let is_other = known.hides(audited)
            || known.differs_around(audited)
            || known.is_other_beyond(audited, changes_by);
        let is_own = rewritten == *url && audited == fetched;
        let (leads_on, led_to) = (leads.new > 0, leads.led_to.to_vec());
        let marks = match &record.state {
            UrlState::Done(done) => marks_in(&done.evidence),
            _ => Marks::default(),
        };
        let lacks = marks.parts.filter(|parts| {
            let are_others = leads.parts.is_some_and(|own| own != *parts);
            are_others && !self.checks.looks.has_parts_of_chance(url)
        });
        let has_words = known.has_words_of(audited);
        let are_others = |(theirs, own): &(Wording, Wording)| {
            theirs.change_to(own).is_some() && !(has_words && theirs.differs_in_headings_alone(own))
        };
        let template = set.template_of(key);
        let kept = match self.checks.looks.is_taken_to_have_counter(url, template) {
            true => Kept::AllButNumbers,
            false => Kept::All,
        };
        let of_kept = |(theirs, own): (Wording, Wording)| (theirs.of_kept(kept), own.of_kept(kept));
        let wordings = marks.wording.zip(leads.wording).map(of_kept);
        let says_same = wordings.is_some_and(|(theirs, own)| theirs.change_to(&own).is_none());
        let wordings = wordings.filter(are_others);
        let beside = marks.beside.zip(leads.beside).map(|(stood, (own, _))| {
            let counts = |kind| self.checks.asks_beside(url, &rules, kind);
            Differs::between(stood, *own, counts)
        });
        let beside = beside.unwrap_or_default();
        let pair = (rewritten, key.clone());
        let mut told = Audited {
            rules,
            pair,
            stands,
            audited,
            leads_on,
            led_to,
            lacks,
            wordings,
            looks_at_form: false,
            lasts: Lasts::Unknown,
            beside,
            own_beside: None,
            stood: (marks.wording, template),
            says_same,
            words: None,
            says_no_more: false,
            known,
            is_own,
            by,
        };
        let differs = is_other || told.differs_from(known, changes_by);
        // Where a rule is known to fail, it is only counted how often it does.
        if set.is_refused(&told.pair.0, &told.rules) {
            told.rules.retain(|rule| set.is_refused(&told.pair.0, &[*rule]));
            let finding = match known.judged_by(audited) {
                Finding::Same if differs => Finding::Unclear,
                finding => finding,
            };
            let pair = Box::new((told.pair.0, told.pair.1, known));
            self.tell(Tell::Audited(told.rules, pair, finding, now));
            return Ok(());
        }
        // Pages change between two fetches, and so does what is known of their site's boilerplate:
        // before a rule is blamed, what stands for the URL is looked at again. So it is where the
        // two are much alike, unless it is known how far the pages of this site change.
        // A page that came before the model of its site may have more words than were told then, or
        // a main text that was not known.
        // That the one has all that the other says is seen by a second look alone.
        let may_say_more = !leads_on && known.may_say_more_than(audited, changes_by);
        let is_distrusted = set.distrusts(&told.rules) && !known.is_mute() && !may_say_more;
        let doubt = match differs {
            true => Some(self.checks.looks.on_doubt(url, is_other, is_distrusted)),
            false => {
                let has_own = known.own_words(audited, changes_by).is_some();
                let says_other = told.wordings.is_some() && !self.has_label(&told);
                let asks = match self.checks.looks.is_unknown(url) {
                    true => has_own || says_other,
                    false => says_other && self.checks.looks.stands_still(url),
                };
                let may_tell = known.is_before_model() && audited.can_testify();
                let shows_other = told.lacks.is_some() || told.beside.asks();
                (asks || may_tell || shows_other).then_some(Doubt::LooksTwice)
            }
        };
        // Where pages change at each look, a second one tells not more than what both say for good.
        told.looks_at_form = is_own
            && leads.words.is_some()
            && doubt != Some(Doubt::IsOther)
            && self.probes.len() < PROBES_MAX
            && self.checks.looks_at_form(url, &told.rules, known.differing(audited));
        let doubt = match doubt {
            None | Some(Doubt::IsSame) if told.looks_at_form => Some(Doubt::LooksTwice),
            doubt => doubt,
        };
        let says_less = doubt == Some(Doubt::LooksTwice)
            && !differs
            && !told.looks_at_form
            && leads.words.is_some_and(|own| self.is_known_to_say_less(url, &told, own));
        if says_less {
            told.says_no_more = true;
            return self.tell_audited(told, Some(Finding::Same), now).map_err(Into::into);
        }
        if doubt == Some(Doubt::LooksTwice) {
            let (has_wordings, lacks) = (told.wordings.is_some(), told.lacks.is_some());
            let beside = told.beside;
            tracing::debug!(
                %url, differs, is_other, is_distrusted, has_wordings, lacks, ?beside, changes_by,
                "what stands for it is looked at again"
            );
        }
        match doubt {
            Some(Doubt::LooksTwice) if self.probes.len() < PROBES_MAX => {
                told.words = leads.words.cloned();
                told.own_beside = leads.beside.map(|(_, beside)| beside.clone());
                self.look_twice(batch, &record.url, told, now)?;
            }
            Some(Doubt::LooksTwice) => self.tell_unsettled(told, now)?,
            doubt => {
                let found = (doubt == Some(Doubt::IsOther)).then_some(Finding::Failed);
                let beside = Differs::default();
                self.tell_audited(Audited { lacks: None, beside, ..told }, found, now)?;
            }
        }
        Ok(())
    }

    /// Returns true where an audited page that has these words, and lacks some of what stands
    /// around the text of the one that stands for it, is known to have no more words of its own
    /// than a label beside what that said when it was fetched: pages of the site say the same at
    /// each look, and the numbers of this one are among those.
    fn is_known_to_say_less(&mut self, url: &CrawlUrl, told: &Audited, own: &Vocabulary) -> bool {
        let (known, changes_by) = (told.known, self.checks.looks.changes_by(url));
        let says_other_words = told.wordings.is_some_and(|(theirs, own)| {
            let [theirs, own] = [theirs, own].map(|said| said.of_kept(Kept::AllButNumbers));
            theirs.change_to(&own).is_some()
        });
        let is_open = told.leads_on
            || told.lacks.is_some()
            || told.beside.asks()
            || known.is_before_model()
            || !says_other_words;
        if is_open || !self.checks.looks.never_changes(url) {
            return false;
        }
        let Some(stands) = self.looks.said_by(told.by) else { return false };
        own.numbers.without(&stands.numbers).is_empty()
            && !own.numbers.is_partial()
            && !stands.numbers.is_partial()
            && known.says_more_than(told.audited, stands.words.overlap(&own.words), changes_by)
    }

    /// Returns what stands, or stood, for a URL of this key, and what that showed; `None` where it
    /// is not known, or nothing does.
    ///
    /// # Errors
    /// Returns what the database says.
    fn stands_for(
        &mut self,
        own: Fingerprint,
        key: &CrawlUrl,
    ) -> Result<Option<(Fingerprint, UrlRecord, Fetched)>, DbError> {
        let checked = self.checks.end(own);
        let stood = self.stood.remove(&own).or(checked).or(self.checks.take_came_before(own));
        let mut by = match stood {
            Some(by) => by,
            None => match seen::get(&self.db, key.fingerprint())? {
                Some(known) => known.holder(key.fingerprint()),
                None => return Ok(None),
            },
        };
        let Some(mut record) = urls::get(&self.db, by)?.filter(|_| by != own) else {
            return Ok(None);
        };
        if matches!(record.state, UrlState::Suppressed { .. })
            && let Some(stands) = self.stand_in(own, by)?
            && let Some(other) = urls::get(&self.db, stands)?
        {
            (by, record) = (stands, other);
        }
        let known = match &record.state {
            UrlState::Done(done) => evidence_of(&done.evidence),
            // Nothing answered, which says nothing of the page.
            UrlState::Failed { .. } => Some(Fetched::Unavailable),
            // What other gates refuse says nothing about the page.
            UrlState::Refused { reason, .. } => {
                (reason == "robots-disallowed").then_some(Fetched::Forbidden)
            }
            UrlState::Queued(_) => {
                self.checks.note_came_before(by, own);
                None
            }
            UrlState::Suppressed { .. } => None,
        };
        Ok(known.map(|known| (by, record, known)))
    }

    /// Returns true where pages of other texts say that what tells an audited page from the one
    /// that stands for it is a label.
    fn has_label(&self, told: &Audited) -> bool {
        let changes_by = self.checks.looks.changes_by(&told.pair.0);
        let rules = told.all_rules();
        told.difference().is_some_and(|(text, difference)| {
            self.checks.compared.is_label(&rules, &text, (&difference, changes_by))
        })
    }

    /// Tells the miner of audits that agreed, and alone led to documents, that what they are audits
    /// of would lose these. Where they are few, more of what their rules hide is looked at. Returns
    /// false where there are none.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn tell_led_to(&mut self, now: Timestamp) -> Result<bool, DbError> {
        let (many, few) = (self.behind.take(), self.behind.take_few());
        for Form { rules, pair: (url, key), by, .. } in &few {
            self.note_failed(rules, (url, key), *by)?;
        }
        let any = !many.is_empty() || !few.is_empty();
        for Form { rules, pair: (url, key), known, .. } in many {
            self.tell(Tell::Audited(rules, Box::new((url, key, known)), Finding::Failed, now));
        }
        Ok(any)
    }

    /// Tells the miner of an audit: what it found, or what a comparison of both pages says.
    ///
    /// # Errors
    /// Returns what the database says.
    fn tell_audited(
        &mut self,
        told: Audited,
        found: Option<Finding>,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let is_put_off = told.wordings.is_some()
            && !told.says_no_more
            && self.checks.looks.is_unknown(&told.pair.0)
            && !self.has_label(&told);
        let differing = told.known.differing(told.audited);
        let by_texts = told.known.judged_by(told.audited);
        let is_judged = found.is_some();
        let found = found.unwrap_or_else(|| {
            let is_by_chance = !told.leads_on
                && told.known.is_mostly(told.audited)
                && self.checks.may_differ_by_chance(&told.pair.0, &told.rules, differing);
            match by_texts {
                Finding::Unclear if is_by_chance => Finding::Same,
                by_texts => by_texts,
            }
        });
        let mut found = self.judged_by_words(&told, found);
        if found == Finding::Failed
            && told.says_same
            && !told.leads_on
            && told.known.has_words_but_clock(told.audited)
        {
            found = Finding::Unclear;
        }
        // What no form under the same rules said for good at two looks, this one hardly does; and
        // of one that came before its page it is not asked what it says.
        let says_nothing = || match told.lasts {
            Lasts::Little => true,
            Lasts::Unknown => self.checks.may_say_nothing(&told.pair.0, &told.rules, told.is_own),
            Lasts::Own { .. } => false,
        };
        if found == Finding::Failed
            && !is_judged
            && !told.leads_on
            && (by_texts == Finding::Same
                || are_of_chance(differing, self.checks.looks.changes_by(&told.pair.0)))
            && says_nothing()
        {
            found = Finding::Unclear;
        }
        if found == Finding::Same && self.is_seen_at_its_end_alone(&told)? {
            found = Finding::Unclear;
        }
        let Audited { mut rules, pair, mut stands, audited, led_to, lacks, wordings, .. } = told;
        let Audited { known, is_own, by, leads_on, beside, lasts, .. } = told;
        if found == Finding::Same && is_put_off {
            found = Finding::Unclear;
        }
        // The pages of a book of pictures have the same words, and are not the same page.
        if found != Finding::Failed {
            let judged = self.checks.note_parts((&rules, &pair.0), lacks.is_some());
            found = judged.unwrap_or(found);
            found = match lasts {
                Lasts::Own { is_page: true } => Finding::Failed,
                Lasts::Own { is_page: false } => Finding::Unclear,
                Lasts::Little | Lasts::Unknown => found,
            };
        }
        if found != Finding::Failed {
            let judged = self.checks.note_beside(&rules, (&pair.0, &pair.1), &beside);
            found = judged.unwrap_or(found);
        }
        if found == Finding::Failed && known.is_page() {
            self.checks.contest(by);
        }
        if found == Finding::Failed {
            let (url, key) = (&pair.0, &pair.1);
            tracing::debug!(
                %url, %key, ?known, ?audited, ?wordings, leads_on, "it shows another page"
            );
        }
        if found == Finding::Failed
            && is_own
            && let Some((theirs, stands)) = &stands
        {
            let (url, key) = &pair;
            let theirs = theirs.iter().filter(|rule| !rules.contains(rule)).copied().collect();
            let pair = (url, (&rules[..], audited));
            match self.whose_fault(pair, (stands, &theirs), by)? {
                Fault::Own => {}
                Fault::Unknown => found = Finding::Unclear,
                Fault::Theirs(cleared) => {
                    self.note_failed(&theirs, (stands, key), by)?;
                    // What stands for the URL is another page than the URL of its key is.
                    let failed = Box::new((stands.clone(), key.clone(), audited));
                    self.tell(Tell::Audited(theirs, failed, Finding::Failed, now));
                    let Some((key, known)) = cleared else { return Ok(()) };
                    let pair = Box::new((url.clone(), key, known));
                    self.tell(Tell::Audited(rules, pair, Finding::Same, now));
                    return Ok(());
                }
            }
        }
        if found == Finding::Failed
            && is_own
            && rules.len() > 1
            && let Some(rule) = self.to_blame(&rules, &pair.0, audited)?
        {
            rules = vec![rule];
        }
        if found == Finding::Failed {
            self.note_failed(&rules, (&pair.0, &pair.1), by)?;
        }
        if found == Finding::Same && !led_to.is_empty() {
            let (rules, pair) = (rules.clone(), pair.clone());
            self.behind.agreed(&led_to, &Form { rules, pair, by, known });
        }
        let set = self.rules.snapshot();
        if found == Finding::Same
            && let Some((theirs, stands)) = &mut stands
        {
            let url = &pair.0;
            rules.retain(|one| !set.takes_from_both(*one, url, stands));
            theirs.retain(|one| !set.takes_from_both(*one, stands, url));
            if is_own {
                self.checks.compared.note_cleared(theirs, by);
            }
        }
        if found == Finding::Same {
            self.checks.compared.note_agreed(&rules, by, (&pair.0, &pair.1));
        }
        // Two forms of one key that show the same prove what gave each of them that key. If they
        // do not, it is the one whose turn it was that is doubted.
        let proves = |(rules, stands): &(Vec<RuleId>, CrawlUrl)| {
            found == Finding::Same && set.must_prove(stands, rules)
        };
        if let Some((rules, stands)) = stands.filter(proves) {
            let pair = Box::new((stands, pair.1.clone(), known));
            self.tell(Tell::Audited(rules, pair, found, now));
        }
        let (url, key) = pair;
        if !rules.is_empty() {
            self.tell(Tell::Audited(rules, Box::new((url, key, known)), found, now));
        }
        Ok(())
    }

    /// Returns what an audit says, given what a comparison of both pages does: by which words they
    /// differ, and whether other pages differ by the same.
    fn judged_by_words(&mut self, told: &Audited, mut found: Finding) -> Finding {
        let Audited { known, audited, .. } = *told;
        let url = &told.pair.0;
        if told.says_no_more {
            return found;
        }
        let (all, difference) = (told.all_rules(), told.difference());
        let changes_by = self.checks.looks.changes_by(url);
        if found == Finding::Failed {
            // What a view to print has not, the menus, or has besides, where it was printed, is
            // more than a title, or than a short text, and the same on each page; the rows of a
            // list are others on each. The first pair tells neither.
            let is_around = known.has_text_but_title(audited) && !told.leads_on;
            let Some(text) = known.text().filter(|_| is_around) else { return found };
            let change = (known.change_to(audited), changes_by);
            let said = self.checks.compared.note_around(&all, text, change);
            tracing::debug!(%url, ?said, "it differs around its text");
            match said {
                Some(Words::Label) => found = Finding::Same,
                Some(_) => return found,
                None => return Finding::Unclear,
            }
        }
        // What neither is a label of the rules nor changes at each look is what a page is about. A
        // label is not taken for less than it is where it is long: all pages of a wiki may have had
        // one sentence more since. Nor is a word, where pages stand still: the name of a member,
        // the year of a table or the dose for a child.
        if self.checks.looks.has_stood_still(url)
            && let Some((text, difference)) = difference
        {
            let said = self.checks.compared.note_words(&all, text, (difference, changes_by));
            tracing::debug!(%url, ?said, "it differs on a site that stands still");
            return match said {
                Words::Label => found,
                // By which words others differ may be a matter of how each was asked for.
                Words::Unknown | Words::Other => Finding::Unclear,
                Words::Own | Words::Each => Finding::Failed,
            };
        }
        let Some(text) = known.text().filter(|_| found == Finding::Same) else { return found };
        let Some(change) = known.own_words(audited, changes_by) else {
            if told.wordings.is_none() {
                self.checks.compared.note_no_words(&all, text);
            }
            return found;
        };
        // More words around one text than a title has are another page, unless other pages have
        // them too.
        let is_much =
            known.has_text_of(audited, changes_by) && known.differs_beyond(audited, changes_by);
        let is_beside = known.differs_beside_text(audited, &change, told.wordings.is_none());
        let said =
            self.checks.compared.note_words(&all, text, (Difference::from(change), changes_by));
        tracing::debug!(%url, ?said, is_much, is_beside, "it has words of its own");
        match said {
            Words::Label => Finding::Same,
            Words::Own if is_beside => Finding::Unclear,
            Words::Own => Finding::Failed,
            Words::Other | Words::Each if is_much => Finding::Failed,
            // Where pages stand still, and these words are in the text and not beside it, each page
            // is one of its own, as are the versions of a page that was edited.
            Words::Each
                if self.checks.looks.stands_still(url) && known.text() != audited.text() =>
            {
                Finding::Failed
            }
            Words::Other | Words::Each | Words::Unknown => Finding::Unclear,
        }
    }

    /// Of several rules that led to a wrong key, returns the one that is to blame, if it is known:
    /// without it, and without none of the others, the URL would share its key with a page that
    /// shows the same.
    ///
    /// # Errors
    /// Returns what the database says.
    fn to_blame(
        &self,
        rules: &[RuleId],
        url: &CrawlUrl,
        shown: Fetched,
    ) -> Result<Option<RuleId>, DbError> {
        let (set, own) = (self.rules.snapshot(), url.fingerprint());
        let mut blamed = None;
        for rule in rules {
            let key = set.key_without(url, &[*rule]).fingerprint();
            let Some((_, known)) = self.shown_under(key, own)? else { continue };
            if is_like(known, shown) {
                if blamed.is_some() {
                    return Ok(None);
                }
                blamed = Some(*rule);
            }
        }
        Ok(blamed)
    }

    /// Returns true where one of the rules of a URL changes only what another one makes of it, and
    /// the page between is there and was not seen to be the same: two wrong rules lead to the right
    /// page where the one undoes what the other does. One that has often been right by itself need
    /// not be seen for each page.
    fn is_seen_at_its_end_alone(&self, told: &Audited) -> Result<bool, DbError> {
        let Audited { rules, pair: (url, _), known, .. } = told;
        if rules.len() < 2 {
            return Ok(false);
        }
        let set = self.rules.snapshot();
        let follows = |rule: &&RuleId| set.rewriting(url, &[**rule]).is_empty();
        for rule in rules.iter().filter(follows) {
            let between = set.key_without(url, &[*rule]);
            let is_proved = set.least_agreed(&[*rule]) >= AGREED_BETWEEN
                && !set.is_doubtful(&between, &[*rule]);
            let between = between.fingerprint();
            if !self.db.has(Family::Urls, &between.to_bytes())? {
                continue;
            }
            let shown = self.shown_under(between, url.fingerprint())?;
            let is_other = match shown {
                None => !is_proved,
                Some((_, shown)) if is_proved => known.is_contradicted_by(shown),
                Some((_, shown)) => !is_like(*known, shown),
            };
            if is_other {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Decides who is to blame where a URL, by its own rules, is not the page that stands for it,
    /// and that has its key by further rules: a view of a page was compared with an old version of
    /// that page, and the rule that makes one of its views fell. It is known where another page has
    /// the key that the URL has without `theirs`. Where none has, those that are not proved leave
    /// it open, and of those that are the ones are doubted of which far less is known.
    ///
    /// # Errors
    /// Returns what the database says.
    fn whose_fault(
        &self,
        (url, (rules, shown)): (&CrawlUrl, (&[RuleId], Fetched)),
        (stands, theirs): (&CrawlUrl, &Vec<RuleId>),
        by: Fingerprint,
    ) -> Result<Fault, DbError> {
        let set = self.rules.snapshot();
        // Rules have changed while a second look was awaited: the two have one key no more.
        if set.uniting(url, stands).is_none() {
            return Ok(Fault::Unknown);
        }
        // What stands for both has agreed with another form that its own rules make one with it.
        let are_cleared =
            || self.checks.compared.are_cleared(theirs, by) && !set.is_refused(stands, theirs);
        if theirs.is_empty() || are_cleared() {
            return Ok(Fault::Own);
        }
        let key = set.key_without(url, theirs);
        if let Some((page, known)) = self.shown_under(key.fingerprint(), url.fingerprint())?
            && page != by
        {
            let is_cleared = is_like(known, shown);
            return Ok(if is_cleared { Fault::Theirs(Some((key, known))) } else { Fault::Own });
        }
        let (agreed, others) = (set.least_agreed(rules), set.least_agreed(theirs));
        Ok(if set.must_prove(stands, theirs) {
            Fault::Unknown
        } else if others < agreed {
            // What is on trial counts pairs that were mined: they are alike in their main texts,
            // and say nothing against what was proved.
            match set.must_prove(url, rules) {
                true => Fault::Unknown,
                false => Fault::Theirs(None),
            }
        } else if others < agreed.saturating_mul(FAR_BETTER) {
            Fault::Unknown
        } else {
            Fault::Own
        })
    }

    /// Returns the page that stands for a key, other than `own`, and what it showed.
    fn shown_under(
        &self,
        key: Fingerprint,
        own: Fingerprint,
    ) -> Result<Option<(Fingerprint, Fetched)>, DbError> {
        let Some(known) = seen::get(&self.db, key)? else { return Ok(None) };
        let by = known.holder(key);
        let Some(record) = urls::get(&self.db, by)?.filter(|_| by != own) else { return Ok(None) };
        let UrlState::Done(done) = record.state else { return Ok(None) };
        Ok(evidence_of(&done.evidence).map(|known| (by, known)))
    }

    /// Tells of an audit that did not agree, or not in every word, given what stands for the URL
    /// shows now. A page that is no longer what it was proves nothing. One that is, word for word
    /// but for a clock, is another page than one with more words or fewer; and one that is but for
    /// a few words is another page than one with others around its text.
    ///
    /// # Errors
    /// Returns what the database says.
    fn tell_verified(
        &mut self,
        mut told: Audited,
        look: &Look,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let Look { shown: now_shown, marks, .. } = *look;
        if let Some(before) = told.lacks {
            // Where it shows others at each look, that says nothing.
            told.lacks = told.lacks.filter(|_| marks.parts == Some(before));
        }
        let beside = told.own_beside.take().zip(look.beside.as_ref());
        told.beside = beside.map_or_else(Differs::default, |(own, look)| {
            told.beside.after(marks.beside, &own, look)
        });
        let has_counter = self.checks.looks.has_counter(told.stood.1);
        let changes_by = self.checks.looks.changes_by(&told.pair.0);
        let both = look.words.as_ref().zip(told.words.as_ref());
        let mut has_other_figures = false;
        told.wordings = told.wordings.and_then(|(before, own)| {
            let stood = before.kept_at(&marks.wording?)?;
            let kept = match stood {
                // The view that stands for it may be without what others of them count.
                Kept::All if before.numbers == 0 && has_counter => Kept::AllButNumbers,
                stood => stood,
            };
            let masked = |wording: Wording| wording.of_kept(Kept::AllButNumbers);
            if masked(before).change_to(&masked(own)).is_none() {
                has_other_figures = kept == Kept::All
                    || stood == kept
                        && both.is_some_and(|(look, own)| {
                            let of = look.numbers.overlap(&own.numbers);
                            are_other_figures(of.first_only + of.second_only, changes_by)
                        });
                told.says_same = !has_other_figures;
            }
            let (before, own) = (before.of_kept(kept), own.of_kept(kept));
            before.change_to(&own).map(|_| (before, own))
        });
        let is_page = matches!(now_shown, Fetched::Page { .. });
        let is_stable = told.known.stands_still(now_shown);
        if told.known.is_before_model() && now_shown.can_testify() {
            told.known = now_shown;
        }
        if is_page && !now_shown.is_contradicted_by(told.audited) {
            let known = told.known;
            let holds = !known.is_contradicted_by(now_shown) && !known.differs_from(now_shown);
            let beyond = |shown: Fetched| shown.is_other_beyond(told.audited, changes_by);
            let differs = is_stable && told.differs_from(now_shown, changes_by)
                || holds && now_shown.differs_around(told.audited)
                || beyond(known) && beyond(now_shown)
                || has_other_figures && told.wordings.is_none();
            let common = both.map(|(look, own)| look.words.overlap(&own.words));
            // In a set of words all numbers are one: what says others in the same words lacks none.
            told.says_no_more = !told.leads_on
                && !has_other_figures
                && common.is_some_and(|of| now_shown.says_more_than(told.audited, of, changes_by));
            let found = match differs {
                _ if told.says_no_more => Some(Finding::Same),
                true => Some(Finding::Failed),
                false => None,
            };
            self.tell_audited(Audited { known: now_shown, ..told }, found, now)
        } else if !is_page {
            self.tell_unsettled(told, now)
        } else if !told.known.is_contradicted_by(now_shown) {
            let is_noise = told.known.changes_as_much(now_shown, told.audited);
            self.tell_audited(told, is_noise.then_some(Finding::Unclear), now)
        } else {
            Ok(())
        }
    }

    /// Tells of an audit that raised a doubt which no second look has settled: where the pages are
    /// much alike, that proves nothing.
    ///
    /// # Errors
    /// Returns what the database says.
    fn tell_unsettled(&mut self, told: Audited, now: Timestamp) -> Result<(), DbError> {
        let is_other = told.known.is_contradicted_by(told.audited);
        let found = if is_other { Finding::Failed } else { Finding::Unclear };
        let (lacks, wordings, beside) = (None, None, Differs::default());
        self.tell_audited(Audited { lacks, wordings, beside, ..told }, Some(found), now)
    }
}

/// Returns true where two fetches showed one page.
fn is_like(known: Fetched, shown: Fetched) -> bool {
    known.judged_by(shown) == Finding::Same && !known.differs_from(shown)
}

#[cfg(test)]
mod tests;
