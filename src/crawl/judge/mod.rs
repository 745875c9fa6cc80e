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
mod verdict;

use std::collections::BTreeSet;

pub(super) use self::lasting::{Distance, LONG_SILENT, Lasting, Lasts};
pub(super) use self::looks::{Look, Looks, Under};

use super::behind::Form;
use super::beside::{Beside, Differs, Sums};
use super::checks::United;
use super::checks::second_looks::Doubt;
use super::error::CrawlError;
use super::evidence::{Marks, evidence_of, marks_in};
use super::learn::PROBES_MAX;
use super::learner::{AuditedForm, Tell};
use super::repeats::query_names_page;
use super::self_links::{leads_to, may_be_form};
use super::state::State;
use crate::clock::Timestamp;
use crate::content::{Kept, Vocabulary, Wording};
use crate::db::families::{seen, urls};
use crate::db::{Batch, DbError};
use crate::dust::{Difference, Fetched, Finding, RuleId, Sketch};
use crate::frontier::{UrlRecord, UrlState};
use crate::url::{CrawlUrl, Fingerprint};

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
    /// What the URL of `pair` was compared with: that page, or the URL that was fetched, where the
    /// page's is what the rules rewrite.
    other: CrawlUrl,
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

    /// Returns the rules that rewrite what stands for it alone.
    fn theirs(&self) -> Vec<RuleId> {
        let theirs = self.stands.iter().flat_map(|(rules, _)| rules);
        theirs.filter(|rule| !self.rules.contains(rule)).copied().collect()
    }

    /// Returns how the two differ, word for word, with the text of the one that stands for it.
    fn difference(&self) -> Option<(Sketch, Difference)> {
        let (theirs, own) = self.wordings?;
        let wording = theirs.change_to(&own);
        let text = self.known.text().or(self.known.thin())?;
        Some((text, Difference { words: self.known.change_to(self.audited), wording }))
    }
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
        let Some(mut united) = United::by_key(&set, url, page.clone()) else { return Ok(()) };
        let mut audited = fetched;
        if let Some(to) = leads.redirect {
            if united.rules.iter().any(|rule| set.is_self_link(*rule)) {
                let found = match leads_to(&set, to, &page) {
                    Finding::Failed if may_be_form(to, &page) => self.shows_what(to, known)?,
                    found => found,
                };
                if found != Finding::Same {
                    return Ok(self.tell_of_link(united, key, (by, page, known), (found, now))?);
                }
                audited = known;
            } else if let Some(said) = set.uniting(url, to) {
                // The site itself says that both are one page, or of one more form that it is the
                // page of the first: then of those rules alone without which that would not have
                // their key.
                audited = known;
                if to.fingerprint() != by {
                    united.rules.retain(|rule| said.contains(rule));
                    united.stands = None;
                }
            }
        }
        if united.rules.is_empty() {
            return Ok(());
        }
        self.seen_of.note_audit();
        let is_own = united.url == *url && audited == fetched;
        let marks = match &record.state {
            UrlState::Done(done) => marks_in(&done.evidence),
            _ => Marks::default(),
        };
        let template = set.template_of(key);
        let other = if united.url == *url { page } else { url.clone() };
        let stood = (by, known, marks, template);
        let told = self.audit_of((url, key), (united, other), stood, (audited, is_own, &leads));
        Ok(self.weigh(batch, (url, &record.url), told, &leads, now)?)
    }

    /// Returns whether a URL shows what is known of another one; if it was not fetched, that is
    /// unclear.
    ///
    /// # Errors
    /// Returns what the database says.
    fn shows_what(&self, url: &CrawlUrl, known: Fetched) -> Result<Finding, DbError> {
        let shown = self.evidence_at(url.fingerprint())?.map(|(shown, _)| shown);
        Ok(match shown {
            Some(shown) if verdict::is_like(known, shown) => Finding::Same,
            Some(shown) if known.is_contradicted_by(shown) => Finding::Failed,
            Some(_) | None => Finding::Unclear,
        })
    }

    /// Tells of a link that was taken to lead back to its page, and leads elsewhere, or to what is
    /// not known.
    ///
    /// # Errors
    /// Returns what the database says.
    fn tell_of_link(
        &mut self,
        united: United,
        key: &CrawlUrl,
        (by, page, known): (Fingerprint, CrawlUrl, Fetched),
        (found, now): (Finding, Timestamp),
    ) -> Result<(), DbError> {
        self.seen_of.note_audit();
        let United { rules, url, .. } = united;
        if found == Finding::Failed {
            self.note_failed(&rules, (&url, key), by)?;
        }
        let pair = AuditedForm { url, key: key.clone(), stands: page, shown: known };
        self.tell(Tell::Audited(rules, Box::new(pair), found, now));
        Ok(())
    }

    /// Returns what is compared of a URL and of what stands for it.
    fn audit_of(
        &self,
        (url, key): (&CrawlUrl, &CrawlUrl),
        (united, other): (United, CrawlUrl),
        (by, known, stood, template): (Fingerprint, Fetched, Marks, u64),
        (audited, is_own, leads): (Fetched, bool, &Leads<'_>),
    ) -> Audited {
        let looks = &self.checks.looks;
        let lacks = stood.parts.filter(|parts| {
            let are_others = leads.parts.is_some_and(|own| own != *parts);
            are_others && !looks.has_parts_of_chance(url)
        });
        let kept = match looks.is_taken_to_have_counter(url, template) {
            true => Kept::AllButNumbers,
            false => Kept::All,
        };
        let of_kept = |(theirs, own): (Wording, Wording)| (theirs.of_kept(kept), own.of_kept(kept));
        let wordings = stood.wording.zip(leads.wording).map(of_kept);
        let says_same = wordings.is_some_and(|(theirs, own)| theirs.change_to(&own).is_none());
        let has_words = known.has_words_of(audited);
        let are_others = |(theirs, own): &(Wording, Wording)| {
            theirs.change_to(own).is_some() && !(has_words && theirs.differs_in_headings_alone(own))
        };
        let beside = stood.beside.zip(leads.beside).map(|(stood, (own, _))| {
            let counts = |kind| self.checks.asks_beside(url, &united.rules, kind);
            Differs::between(stood, *own, counts)
        });
        Audited {
            beside: beside.unwrap_or_default(),
            rules: united.rules,
            pair: (united.url, key.clone()),
            stands: united.stands.filter(|(rules, _)| !rules.is_empty()),
            audited,
            leads_on: leads.new > 0,
            led_to: leads.led_to.to_vec(),
            lacks,
            wordings: wordings.filter(are_others),
            looks_at_form: false,
            lasts: Lasts::Unknown,
            own_beside: None,
            stood: (stood.wording, template),
            says_same,
            words: None,
            says_no_more: false,
            known,
            is_own,
            by,
            other,
        }
    }

    /// Judges an audit of a URL, given the address of what stands for it, or has that looked at
    /// once more: pages change between two fetches, and so does what is known of their site's
    /// boilerplate.
    ///
    /// # Errors
    /// Returns what the database says.
    fn weigh(
        &mut self,
        batch: &mut Batch,
        (url, stands): (&CrawlUrl, &str),
        mut told: Audited,
        leads: &Leads<'_>,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let Audited { known, audited, is_own, .. } = told;
        let changes_by = self.checks.looks.changes_by(url);
        let is_other = known.hides(audited)
            || known.differs_around(audited)
            || known.is_other_beyond(audited, changes_by);
        let differs = is_other || told.differs_from(known, changes_by);
        if self.rules.snapshot().is_refused(&told.pair.0, &told.rules) {
            self.tell_of_refused(told, differs, now);
            return Ok(());
        }
        if is_led_past(known, audited, leads) {
            return self.tell_audited(told, Some(Finding::Failed), now);
        }
        let doubt = self.doubt_of(url, &told, (differs, is_other));
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
        if doubt != Some(Doubt::LooksTwice) {
            let found = (doubt == Some(Doubt::IsOther)).then_some(Finding::Failed);
            let beside = Differs::default();
            return self.tell_audited(Audited { lacks: None, beside, ..told }, found, now);
        }
        let says_less = !differs
            && !told.looks_at_form
            && leads.words.is_some_and(|own| self.is_known_to_say_less(url, &told, own));
        if says_less {
            told.says_no_more = true;
            return self.tell_audited(told, Some(Finding::Same), now);
        }
        let (has_wordings, lacks) = (told.wordings.is_some(), told.lacks.is_some());
        let beside = told.beside;
        tracing::debug!(
            %url, differs, is_other, has_wordings, lacks, ?beside, changes_by,
            "what stands for it is looked at again"
        );
        if self.probes.len() >= PROBES_MAX {
            return self.tell_unsettled(told, now);
        }
        told.words = leads.words.cloned();
        told.own_beside = leads.beside.map(|(_, beside)| beside.clone());
        self.look_twice(batch, stands, (told, differs), now)
    }

    /// Tells of an audit that raised a doubt which is not worth a second look. Where the pages
    /// differ, it speaks against rules in force: to look would cost more than they save there.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn tell_too_dear(
        &mut self,
        told: Audited,
        differs: bool,
        now: Timestamp,
    ) -> Result<(), DbError> {
        if told.looks_at_form {
            self.checks.compared.form_not_looked_at(&told.rules);
        }
        if !differs || self.rules.snapshot().must_prove(&told.pair.0, &told.rules) {
            return self.tell_unsettled(told, now);
        }
        let (lacks, beside) = (None, Differs::default());
        self.tell_audited(Audited { lacks, beside, ..told }, Some(Finding::Failed), now)
    }

    /// Tells of rules that are known to fail where a URL lies: it is only counted how often they
    /// do.
    fn tell_of_refused(&mut self, told: Audited, differs: bool, now: Timestamp) {
        let Audited { mut rules, pair: (url, key), known, audited, other, .. } = told;
        let set = self.rules.snapshot();
        rules.retain(|rule| set.is_refused(&url, &[*rule]));
        let found = match known.judged_by(audited) {
            Finding::Same if differs => Finding::Unclear,
            found => found,
        };
        let pair = AuditedForm { url, key, stands: other, shown: known };
        self.tell(Tell::Audited(rules, Box::new(pair), found, now));
    }

    /// Returns what is made of an audit before anything is looked at again, given whether both
    /// pages differ, and beyond what theirs do by themselves; `None` where nothing asks for a look.
    fn doubt_of(
        &self,
        url: &CrawlUrl,
        told: &Audited,
        (differs, is_other): (bool, bool),
    ) -> Option<Doubt> {
        let Audited { known, audited, leads_on, .. } = *told;
        let looks = &self.checks.looks;
        let changes_by = looks.changes_by(url);
        if differs {
            // A page that came before the model of its site may have more words than were told
            // then, or a main text that was not known. That the one has all that the other says is
            // seen by a second look alone.
            let may_say_more = !leads_on && known.may_say_more_than(audited, changes_by);
            let is_distrusted =
                self.rules.snapshot().distrusts(&told.rules) && !known.is_mute() && !may_say_more;
            return Some(looks.on_doubt(url, is_other, is_distrusted));
        }
        let has_own = known.own_words(audited, changes_by).is_some();
        let says_other = told.wordings.is_some() && !self.has_label(told);
        let asks = match looks.is_unknown(url) {
            true => has_own || says_other,
            false => says_other && looks.stands_still(url),
        };
        let may_tell = known.is_before_model() && audited.can_testify();
        let shows_other = told.lacks.is_some() || told.beside.asks();
        (asks || may_tell || shows_other).then_some(Doubt::LooksTwice)
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
        for Form { rules, pair: (url, key), by, known } in many {
            let stands = self.url_of(by)?.unwrap_or_else(|| key.clone());
            let pair = AuditedForm { url, key, stands, shown: known };
            self.tell(Tell::Audited(rules, Box::new(pair), Finding::Failed, now));
        }
        Ok(any)
    }
}

/// Returns true for a URL that redirects to what nothing else has led to, where the one that stands
/// for it shows a page or redirects elsewhere: hidden, it would lose what it leads to. A demand to
/// log in that names where one came from is another one for each form, and none is a page.
fn is_led_past(known: Fetched, audited: Fetched, leads: &Leads<'_>) -> bool {
    let stands = known.is_page() || known.is_redirect();
    let leads_to_new =
        |to: &CrawlUrl| leads.led_to.contains(&to.fingerprint()) && !query_names_page(to);
    audited.is_redirect() && audited != known && stands && leads.redirect.is_some_and(leads_to_new)
}

#[cfg(test)]
mod tests;
