//! What a page that is fetched beside its stand-in says of the rules that gave both one key.
//!
//! Such a page is an audit of a rule in force, a check of one on trial, or came back when what
//! stood for it turned out dead. The two are compared as they were fetched. Where they differ by a
//! little, what stands for the page is looked at once more: pages change from one look to the next.
//! Words that one of them has for its own are a label where pages of other texts differ by the same
//! ones. Of several rules the one is blamed without which the page would be known, if that can be
//! told.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::behind::Form;
use super::checks::{Doubt, United};
use super::error::CrawlError;
use super::evidence::{Marks, evidence_of, marks_in};
use super::learn::{Asker, PROBES_MAX, ProbeFlight};
use super::learner::Tell;
use super::state::State;
use super::visit::PageFacts;
use crate::clock::Timestamp;
use crate::content::{Kept, WordSet, Wording};
use crate::db::families::{seen, urls};
use crate::db::{Batch, DbError};
use crate::dust::{Difference, Fetched, Finding, RuleId, Sketch, Words};
use crate::frontier::{UrlRecord, UrlState};
use crate::url::{CrawlUrl, Fingerprint};

/// How long a second look at a page serves doubts that come after it: pages change.
const LOOK_SERVES: std::time::Duration = std::time::Duration::from_secs(60);

/// Audits that wait for one look.
const AWAITING_MAX: usize = 64;

/// How many times as often as a rule another one must have agreed to be above suspicion beside it.
const FAR_BETTER: u32 = 2;

/// Looks that are remembered.
const LOOKS_KEPT: usize = 64;

/// What a look at a page showed.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) shown: Fetched,
    pub(super) marks: Marks,
    /// Its words, or a known part of them.
    pub(super) words: Option<WordSet>,
}

impl Look {
    /// Returns what a visit showed, given what is known of the page that it led to, if any.
    pub(super) fn of(shown: Fetched, facts: Option<&PageFacts>) -> Look {
        let analysis = facts.and_then(|facts| facts.analysis.as_ref());
        Look {
            shown,
            marks: facts.map(Marks::of).unwrap_or_default(),
            words: analysis.map(|analysis| analysis.word_set.clone()),
        }
    }
}

/// Second looks at pages that stand for others: one look serves all doubts of that time.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// Audits that wait for a look, by the page that is looked at.
    awaiting: HashMap<Fingerprint, Vec<Audited>>,
    /// What the last looks showed, the newest last.
    shown: VecDeque<(Timestamp, Fingerprint, Look)>,
}

impl Looks {
    /// Returns what a page showed when it was looked at lately.
    fn lately(&mut self, page: Fingerprint, now: Timestamp) -> Option<Look> {
        self.shown.retain(|(at, ..)| now.since(*at) <= LOOK_SERVES);
        let mut looks = self.shown.iter().rev();
        looks.find(|(_, looked_at, _)| *looked_at == page).map(|(.., look)| look.clone())
    }

    /// Notes what a look showed; returns the audits that waited for it.
    fn end(&mut self, page: Fingerprint, look: &Look, now: Timestamp) -> Vec<Audited> {
        if matches!(look.shown, Fetched::Page { .. }) {
            if self.shown.len() >= LOOKS_KEPT {
                self.shown.pop_front();
            }
            self.shown.push_back((now, page, look.clone()));
        }
        self.awaiting.remove(&page).unwrap_or_default()
    }
}

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
    /// Its words, or a known part of them.
    pub(super) words: Option<&'a WordSet>,
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
    /// What the one that stands for it says, all of it, and its template.
    stood: (Option<Wording>, u64),
    /// Its words, or a known part of them, while a second look is awaited.
    words: Option<WordSet>,
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
        let Ok(stands) = CrawlUrl::parse(&record.url) else { return Ok(()) };
        // Rules that have changed meanwhile may give the two keys of their own.
        let Some(united) = United::by_key(&set, url, stands) else { return Ok(()) };
        let (mut rules, rewritten) = (united.rules, united.url);
        let mut stands = united.stands.filter(|(rules, _)| !rules.is_empty());
        let mut audited = fetched;
        if let Some(to) = leads.redirect
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
        let changes_by = self.checks.changes_by(url);
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
            are_others && !self.checks.has_parts_of_chance(url)
        });
        let has_words = known.has_words_of(audited);
        let are_others = |(theirs, own): &(Wording, Wording)| {
            theirs.change_to(own).is_some() && !(has_words && theirs.differs_in_headings_alone(own))
        };
        let template = set.template_of(key);
        let kept = match self.checks.is_taken_to_have_counter(url, template) {
            true => Kept::AllButNumbers,
            false => Kept::All,
        };
        let of_kept = |(theirs, own): (Wording, Wording)| (theirs.of_kept(kept), own.of_kept(kept));
        let wordings = marks.wording.zip(leads.wording).map(of_kept).filter(are_others);
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
            stood: (marks.wording, template),
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
            true => Some(self.checks.on_doubt(url, is_other, is_distrusted)),
            false => {
                let has_own = known.own_words(audited, changes_by).is_some();
                let says_other = told.wordings.is_some() && !self.has_label(&told);
                let asks = match self.checks.is_unknown(url) {
                    true => has_own || says_other,
                    false => says_other && self.checks.stands_still(url),
                };
                let may_tell = known.is_before_model() && audited.can_testify();
                (asks || may_tell || told.lacks.is_some()).then_some(Doubt::LooksTwice)
            }
        };
        if doubt == Some(Doubt::LooksTwice) {
            let (has_wordings, lacks) = (told.wordings.is_some(), told.lacks.is_some());
            tracing::debug!(
                %url, differs, is_other, is_distrusted, has_wordings, lacks, changes_by,
                "what stands for it is looked at again"
            );
        }
        match doubt {
            Some(Doubt::LooksTwice) if self.probes.len() < PROBES_MAX => {
                told.words = leads.words.cloned();
                self.look_twice(batch, &record.url, told, now)?;
            }
            Some(Doubt::LooksTwice) => self.tell_unsettled(told, now)?,
            doubt => {
                let found = (doubt == Some(Doubt::IsOther)).then_some(Finding::Failed);
                self.tell_audited(Audited { lacks: None, ..told }, found, now)?;
            }
        }
        Ok(())
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
        let changes_by = self.checks.changes_by(&told.pair.0);
        let rules = told.all_rules();
        told.difference().is_some_and(|(text, difference)| {
            self.checks.is_label(&rules, &text, (&difference, changes_by))
        })
    }

    /// Fetches once more what stands for a URL that did not agree with it, unless that was done
    /// lately or is under way.
    fn look_twice(
        &mut self,
        batch: &mut Batch,
        stands: &str,
        told: Audited,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let Ok(stands) = CrawlUrl::parse(stands) else { return Ok(()) };
        let page = stands.fingerprint();
        if let Some(look) = self.looks.lately(page, now) {
            return self.tell_verified(told, &look, now);
        }
        let awaiting = self.looks.awaiting.entry(page).or_default();
        if awaiting.len() >= AWAITING_MAX {
            return self.tell_unsettled(told, now);
        }
        awaiting.push(told);
        if awaiting.len() == 1 {
            let flight = ProbeFlight { asker: Asker::Audit(page), hops: 0 };
            self.enqueue_probe(batch, &stands, flight)?;
        }
        Ok(())
    }

    /// Tells the miner of audits that agreed, and alone led to documents, that what they are audits
    /// of would lose these; returns false where there are none.
    pub(super) fn tell_led_to(&mut self, now: Timestamp) -> bool {
        let forms = self.behind.take();
        let any = !forms.is_empty();
        for Form { rules, pair: (url, key), known } in forms {
            self.tell(Tell::Audited(rules, Box::new((url, key, known)), Finding::Failed, now));
        }
        any
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
            && self.checks.is_unknown(&told.pair.0)
            && !self.has_label(&told);
        let found = found.unwrap_or_else(|| told.known.judged_by(told.audited));
        let mut found = self.judged_by_words(&told, found);
        let Audited { mut rules, pair, stands, audited, led_to, lacks, wordings, .. } = told;
        let Audited { known, is_own, by, leads_on, .. } = told;
        if found == Finding::Same && is_put_off {
            found = Finding::Unclear;
        }
        // The pages of a book of pictures have the same words, and are not the same page.
        if found != Finding::Failed {
            let judged = self.checks.note_parts(&rules, lacks.is_some());
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
                    let failed = Box::new((stands.clone(), key.clone(), known));
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
        if found == Finding::Same {
            self.checks.note_agreed(&rules, by, (&pair.0, &pair.1));
            if !led_to.is_empty() {
                let (rules, pair) = (rules.clone(), pair.clone());
                self.behind.agreed(&led_to, &Form { rules, pair, known });
            }
        }
        // Two forms of one key that show the same prove what gave each of them that key. If they
        // do not, it is the one whose turn it was that is doubted.
        let set = self.rules.snapshot();
        let proves = |(rules, stands): &(Vec<RuleId>, CrawlUrl)| {
            found == Finding::Same && set.must_prove(stands, rules)
        };
        if let Some((rules, stands)) = stands.filter(proves) {
            let pair = Box::new((stands, pair.1.clone(), known));
            self.tell(Tell::Audited(rules, pair, found, now));
        }
        let (url, key) = pair;
        self.tell(Tell::Audited(rules, Box::new((url, key, known)), found, now));
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
        let changes_by = self.checks.changes_by(url);
        if found == Finding::Failed {
            // A menu that a view to print has not is more than a short text, and the same on each
            // page; the rows of a list are others on each. The first pair tells neither.
            let is_around = known.differs_around(audited)
                && known.has_text_amid_others(audited, changes_by)
                && !told.leads_on;
            let Some(text) = known.text().filter(|_| is_around) else { return found };
            let change = (known.change_to(audited), changes_by);
            let said = self.checks.note_around(all.clone(), text, change);
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
        if self.checks.has_stood_still(url)
            && let Some((text, difference)) = difference
        {
            let said = self.checks.note_words(all, text, (difference, changes_by));
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
                self.checks.note_no_words(all, text);
            }
            return found;
        };
        // More words around one text than a title has are another page, unless other pages have
        // them too.
        let is_much =
            known.has_text_of(audited, changes_by) && known.differs_beyond(audited, changes_by);
        let is_beside = known.differs_beside_text(audited, &change, told.wordings.is_none());
        let said = self.checks.note_words(all, text, (Difference::from(change), changes_by));
        tracing::debug!(%url, ?said, is_much, is_beside, "it has words of its own");
        match said {
            Words::Label => Finding::Same,
            Words::Own if is_beside => Finding::Unclear,
            Words::Own => Finding::Failed,
            Words::Other | Words::Each if is_much => Finding::Failed,
            // Where pages stand still, and these words are in the text and not beside it, each page
            // is one of its own, as are the versions of a page that was edited.
            Words::Each if self.checks.stands_still(url) && known.text() != audited.text() => {
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
        if theirs.is_empty() {
            return Ok(Fault::Own);
        }
        let set = self.rules.snapshot();
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
            Fault::Theirs(None)
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
            let is_stable = marks.parts == Some(before);
            self.checks.parts_at_two_looks(&told.pair.0, is_stable);
            told.lacks = told.lacks.filter(|_| is_stable);
        }
        let has_counter = self.checks.has_counter(told.stood.1);
        told.wordings = told.wordings.and_then(|(before, own)| {
            let kept = match before.kept_at(&marks.wording?)? {
                // The view that stands for it may be without what others of them count.
                Kept::All if before.numbers == 0 && has_counter => Kept::AllButNumbers,
                kept => kept,
            };
            let (before, own) = (before.of_kept(kept), own.of_kept(kept));
            before.change_to(&own).map(|_| (before, own))
        });
        let is_page = matches!(now_shown, Fetched::Page { .. });
        let is_stable = told.known.stands_still(now_shown);
        let url = &told.pair.0;
        if is_page {
            let words = told.known.differing(now_shown);
            self.checks.looked_twice(url, is_stable, words);
        }
        let changes_by = self.checks.changes_by(url);
        if told.known.is_before_model() && now_shown.can_testify() {
            told.known = now_shown;
        }
        if is_page && !now_shown.is_contradicted_by(told.audited) {
            let known = told.known;
            let holds = !known.is_contradicted_by(now_shown) && !known.differs_from(now_shown);
            let beyond = |shown: Fetched| shown.is_other_beyond(told.audited, changes_by);
            let differs = is_stable && told.differs_from(now_shown, changes_by)
                || holds && now_shown.differs_around(told.audited)
                || beyond(known) && beyond(now_shown);
            let words = look.words.as_ref().zip(told.words.as_ref());
            let common = words.map(|(words, own)| words.overlap(own));
            told.says_no_more = !told.leads_on
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

    /// Takes in what a second look at a page showed, and judges the audits that waited for it.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn looked_at(
        &mut self,
        page: Fingerprint,
        look: Look,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let waited = self.looks.end(page, &look, now);
        // A page without numbers says nothing of whether they change.
        if let Some((Some(before), template)) = waited.first().map(|audited| audited.stood)
            && before.numbers != 0
            && let Some(kept) = look.marks.wording.and_then(|later| before.kept_at(&later))
        {
            self.checks.kept_at_two_looks(template, kept);
        }
        for audited in waited {
            self.tell_verified(audited, &look, now)?;
        }
        Ok(())
    }

    /// Tells of the audits whose second look does not come to pass any more: their URLs were
    /// fetched, and speak only once.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn give_up_looks(&mut self, now: Timestamp) -> Result<(), DbError> {
        for audited in std::mem::take(&mut self.looks.awaiting).into_values().flatten() {
            self.tell_unsettled(audited, now)?;
        }
        Ok(())
    }

    /// Tells of an audit that raised a doubt which no second look has settled: where the pages are
    /// much alike, that proves nothing.
    ///
    /// # Errors
    /// Returns what the database says.
    fn tell_unsettled(&mut self, told: Audited, now: Timestamp) -> Result<(), DbError> {
        let is_other = told.known.is_contradicted_by(told.audited);
        let found = if is_other { Finding::Failed } else { Finding::Unclear };
        self.tell_audited(Audited { lacks: None, wordings: None, ..told }, Some(found), now)
    }
}

/// Returns true where two fetches showed one page.
fn is_like(known: Fetched, shown: Fetched) -> bool {
    known.judged_by(shown) == Finding::Same && !known.differs_from(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Bag;
    use crate::crawl::checks::CONTESTED_FORMS;
    use crate::crawl::evidence::evidence;
    use crate::crawl::learner::{Learner, Mind, Said};
    use crate::crawl::readmit::tests::{done, drop_parameter, open, record, url};
    use crate::db::MemoryEnv;
    use crate::db::families::seen::Known;
    use crate::dust::{Rule, RuleBook, Sketch, Text};

    /// A page of these words.
    fn page(words: std::ops::Range<u64>) -> Fetched {
        let bag = Some(Bag::of(words.clone()));
        let text = Sketch::of_shingles(words).map_or(Text::Unknown, Text::Main);
        Fetched::Page { text, digest: None, bag, junk: false }
    }

    /// Returns a rule in force after the audit of a page that has some words more than the one that
    /// stands for it, which at a second look came to this.
    fn audited_beside(now_shown: Fetched) -> Rule {
        let (known, audited) = (page(0..300), page(0..340));
        assert!(known.differs_from(audited));
        audited_as(known, audited, now_shown)
    }

    /// Returns a rule in force after the audit of a page, given what had stood for it, and what
    /// that shows at a second look.
    fn audited_as(known: Fetched, audited: Fetched, now_shown: Fetched) -> Rule {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let rule = drop_parameter("sid");
        let id = rule.id;
        let mut book = RuleBook::new(Default::default()).proving_by_pairs();
        book.import(vec![rule]);
        assert!(book.enforce(id, "as the test says", now));
        state.learner = Learner::Inline(Box::new(Mind::new(book, false, Default::default())));
        let pair = (url("http://a.example/p?sid=1"), url("http://a.example/p"));
        let is_own = true;
        let rules = vec![id];
        let (leads_on, by) = (false, pair.1.fingerprint());
        let (stands, lacks) = (None, None);
        let led_to = Vec::new();
        let told = Audited {
            rules,
            pair,
            stands,
            audited,
            leads_on,
            led_to,
            lacks,
            wordings: None,
            stood: (None, 0),
            words: None,
            says_no_more: false,
            known,
            is_own,
            by,
        };
        state.tell_verified(told, &Look::of(now_shown, None), now).unwrap();
        state.tell(Tell::Show);
        let shown = state.said.iter().find_map(|said| match said {
            Said::Shown(rules, _) => rules.iter().find(|rule| rule.id == id).cloned(),
            _ => None,
        });
        shown.expect("all rules are shown")
    }

    /// Where the page that stands for another one could not be looked at again, the doubt counted
    /// as proof that both are one.
    #[test]
    fn a_doubt_that_no_second_look_settles_proves_nothing() {
        for nothing in [Fetched::Unavailable, Fetched::Forbidden, Fetched::Gone] {
            let evidence = audited_beside(nothing).evidence;
            let counted = (evidence.audits_same, evidence.audits_failed);
            assert_eq!(counted, (0, 0), "{nothing:?}");
        }
        assert_eq!(audited_beside(page(0..300)).evidence.audits_failed, 1, "it stands still");
        assert_eq!(audited_beside(page(0..340)).evidence.audits_same, 1, "it has changed");
    }

    impl From<(Fetched, Marks)> for Look {
        fn from((shown, marks): (Fetched, Marks)) -> Look {
            Look { shown, marks, words: None }
        }
    }

    /// Items of chance stood beside the short texts of a shop, others at each look. Two looks at
    /// one page were not so unlike that it had certainly changed, a third one was.
    #[test]
    fn what_differs_from_a_page_as_its_own_looks_do_is_no_evidence() {
        let shown = |own: u64, chance: u64| {
            let words = (0..own).chain(chance * 1_000..chance * 1_000 + 100 - own);
            let bag = Some(Bag::of(words.clone()));
            let text = Sketch::of_shingles(words).map_or(Text::Unknown, Text::Main);
            Fetched::Page { text, digest: None, bag, junk: false }
        };
        let (known, audited) = (shown(60, 1), shown(45, 2));
        assert!(known.is_contradicted_by(audited));
        let counted = |now_shown: Fetched| {
            assert!(!known.is_contradicted_by(now_shown));
            let evidence = audited_as(known, audited, now_shown).evidence;
            (evidence.audits_same, evidence.audits_failed)
        };
        assert_eq!(counted(shown(60, 3)), (0, 0), "its looks differ by as much");
        assert_eq!(counted(known), (0, 1), "it stands still");
    }

    /// A state with two rules, of which one is on trial, and a page that stands for its forms.
    struct Bench {
        state: State,
        rules: [Rule; 2],
        now: Timestamp,
        _env: MemoryEnv,
        _logs: tempfile::TempDir,
    }

    impl Bench {
        /// `holder` was fetched, and stands for its key.
        fn new(holder: &str, became: UrlState) -> Bench {
            let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
            let logs = tempfile::tempdir().unwrap();
            let mut state = open(&env, logs.path(), now);
            let rules = ["sid", "lang"].map(drop_parameter);
            let mut book = RuleBook::new(Default::default()).proving_by_pairs();
            book.import(rules.to_vec());
            assert!(book.enforce(rules[0].id, "as the test says", now));
            book.try_by_pairs(vec![rules[1].id], now).unwrap();
            state.rules.publish(book.rule_set().unwrap());
            state.learner = Learner::Inline(Box::new(Mind::new(book, false, Default::default())));
            let mut bench = Bench { state, rules, now, _env: env, _logs: logs };
            bench.hold(holder, became);
            bench
        }

        /// Lets a page that was fetched stand for its key.
        fn hold(&mut self, holder: &str, became: UrlState) {
            let (state, holder) = (&mut self.state, url(holder));
            let key = state.rules.snapshot().canonize(&holder).key.fingerprint();
            let mut batch = Batch::default();
            let row = record(&holder, None, became);
            urls::put(&mut batch, &state.db, holder.fingerprint(), &row);
            state.know(&mut batch, key, Known::By(holder.fingerprint()));
            state.commit(batch, self.now).unwrap();
        }

        /// Lets a form be fetched that has the key of the holder; returns what is known by then of
        /// each rule: pairs that agreed, and pairs that failed or were no evidence.
        fn fetch(&mut self, form: &str, shown: Fetched, leads_to: Option<&str>) -> [(u32, u32); 2] {
            let leads_to = leads_to.map(url);
            let leads = Leads { redirect: leads_to.as_ref(), ..Leads::default() };
            self.fetch_leading(form, shown, leads)
        }

        fn fetch_leading(
            &mut self,
            form: &str,
            shown: Fetched,
            leads: Leads<'_>,
        ) -> [(u32, u32); 2] {
            let form = url(form);
            let set = self.state.rules.snapshot();
            let key = set.canonize(&form).key.into_owned();
            let mut batch = Batch::default();
            let (own, shown) = (form.fingerprint(), (shown, leads));
            self.state.tell_audit(&mut batch, (&form, own), &key, shown, self.now).unwrap();
            self.state.commit(batch, self.now).unwrap();
            self.known()
        }

        /// Lets each second look that is under way show this; returns what is known by then.
        fn look(&mut self, shown: Fetched) -> [(u32, u32); 2] {
            self.look_at((shown, Marks::default()))
        }

        fn look_at(&mut self, look: impl Into<Look>) -> [(u32, u32); 2] {
            let look = look.into();
            while let Some(number) = self.state.probes.keys().next().copied() {
                let flight = self.state.probes.remove(&number).unwrap();
                self.state.probe_came_to(flight.asker, look.clone(), self.now).unwrap();
            }
            self.state.looks = Looks::default();
            self.known()
        }

        /// Returns what is known by now of each rule, as [`Bench::fetch`] does.
        fn known(&mut self) -> [(u32, u32); 2] {
            self.state.tell(Tell::Show);
            let said = std::mem::take(&mut self.state.said);
            let shown = said.into_iter().rev().find_map(|said| match said {
                Said::Shown(rules, _) => Some(rules),
                _ => None,
            });
            let shown = shown.expect("all rules are shown");
            self.rules.each_ref().map(|rule| {
                let rule = shown.iter().find(|shown| shown.id == rule.id).unwrap();
                let of = &rule.evidence;
                (of.draws_same + of.audits_same, of.draws_failed + of.audits_failed)
            })
        }
    }

    /// A pair proved each rule that rewrote its URL, also one that rewrote both pages alike.
    #[test]
    fn a_pair_proves_the_rules_that_make_it_one_and_no_others() {
        let page = page(0..300);
        let mut bench = Bench::new("http://a.example/d?id=7&lang=fr&sid=1", done(page, false));
        let agreed = bench.fetch("http://a.example/d?id=7&lang=fr&sid=2", page, None);
        assert_eq!(agreed, [(1, 0), (0, 0)], "the language was the same");
        let agreed = bench.fetch("http://a.example/d?id=7&lang=de&sid=1", page, None);
        assert_eq!(agreed, [(1, 0), (2, 0)], "each of its two values");
        // The site takes the session away, and says nothing of languages.
        let leads_to = Some("http://a.example/d?id=7&lang=es");
        let said = bench.fetch("http://a.example/d?id=7&lang=es&sid=3", page, leads_to);
        assert_eq!(said, [(2, 0), (2, 0)]);
    }

    /// Of a session and a language both were doubted when the language mattered; of several such
    /// failures the rule fell that had agreed hundreds of times.
    #[test]
    fn of_several_rules_the_one_is_blamed_without_which_the_page_is_known() {
        let (english, german) = (page(0..300), page(1_000..1_300));
        let mut bench = Bench::new("http://a.example/d?id=7", done(english, false));
        let known = url("http://a.example/d?id=7&lang=de");
        let mut batch = Batch::default();
        let row = record(&known, None, done(german, false));
        urls::put(&mut batch, &bench.state.db, known.fingerprint(), &row);
        bench.state.know(&mut batch, known.fingerprint(), Known::Itself);
        bench.state.commit(batch, bench.now).unwrap();
        let mut doubt = |form: &str, shown: Fetched| {
            bench.fetch(form, shown, None);
            bench.look(english)
        };
        let of = doubt("http://a.example/d?id=7&lang=de&sid=2", german);
        assert_eq!(of, [(0, 0), (0, 1)]);
        let french = page(2_000..2_300);
        let of = doubt("http://a.example/d?id=7&lang=fr&sid=2", french);
        assert_eq!(of, [(0, 1), (0, 1)], "of that language nothing is known, nor is it tried now");
    }

    /// Each view of a page was compared with a version of it for which a rule stood that fell a
    /// moment later, and the rules that make one page of its views fell with it.
    #[test]
    fn what_stands_for_a_page_by_a_rule_of_its_own_may_be_what_is_wrong() {
        let (new, old) = (page(0..300), page(1_000..1_300));
        // The old version stands for the page, by the language, which is on trial.
        let mut bench = Bench::new("http://a.example/d?id=7&lang=old", done(old, false));
        let doubt = |bench: &mut Bench, form: &str| {
            bench.fetch(form, new, None);
            bench.look(old)
        };
        let of = doubt(&mut bench, "http://a.example/d?id=7&sid=1");
        assert_eq!(of, [(0, 0), (0, 0)], "nobody knows which of the two it is");
        let plain = url("http://a.example/d?id=8");
        let holder = url("http://a.example/d?id=8&lang=old");
        let mut batch = Batch::default();
        for (page, shown) in [(&plain, new), (&holder, old)] {
            let row = record(page, None, done(shown, false));
            urls::put(&mut batch, &bench.state.db, page.fingerprint(), &row);
            bench.state.know(&mut batch, page.fingerprint(), Known::Itself);
        }
        bench
            .state
            .stood
            .insert(url("http://a.example/d?id=8&sid=1").fingerprint(), holder.fingerprint());
        bench.state.commit(batch, bench.now).unwrap();
        let of = doubt(&mut bench, "http://a.example/d?id=8&sid=1");
        assert_eq!(of, [(1, 0), (0, 1)], "without the language it is the page that is there");
    }

    /// Of artists with a page of text and four works on each page of their list a rule hid all but
    /// the first pages: titles of a few words were taken for labels.
    #[test]
    fn a_page_with_other_rows_that_leads_on_is_another_page() {
        let list = |rows: std::ops::Range<u64>| {
            let Fetched::Page { text, junk, .. } = page(0..300) else { panic!("a page") };
            let bag = Some(Bag::of((0..300).chain(rows)));
            Fetched::Page { text, digest: None, bag, junk }
        };
        let (first, next) = (list(1_000..1_016), list(2_000..2_016));
        assert!(!first.differs_from(next) && first.differs_by_rows(next, 0));
        let audit = |shown: Fetched, new: u64| {
            let mut bench = Bench::new("http://a.example/d?id=7&sid=1", done(first, false));
            let leads = Leads { new, ..Leads::default() };
            let form = "http://a.example/d?id=7&sid=2";
            bench.fetch_leading(form, shown, leads);
            bench.look(first)[0]
        };
        assert_eq!(audit(next, 4), (0, 1));
        assert_eq!(
            audit(next, 0),
            (0, 0),
            "labels, if others differ so: nothing is there that is new"
        );
        assert_eq!(audit(list(1_000..1_015), 4), (1, 0), "the same list, and forms of its links");
    }

    /// A form that was found at a better place than the page that stands for it was fetched before
    /// that, and was never compared with it.
    #[test]
    fn a_page_that_waited_is_compared_with_the_form_that_came_before_it() {
        let holder = url("http://a.example/d?id=7");
        for (shown, want) in [(page(0..300), (1, 0)), (page(1_000..1_300), (0, 1))] {
            let place = crate::frontier::Place { priority: 1, serial: 1 };
            let mut bench = Bench::new(holder.as_str(), UrlState::Queued(place));
            let form = url("http://a.example/d?id=7&sid=1");
            let mut batch = Batch::default();
            let row = record(&form, None, done(shown, false));
            urls::put(&mut batch, &bench.state.db, form.fingerprint(), &row);
            bench.state.commit(batch, bench.now).unwrap();
            assert_eq!(bench.fetch(form.as_str(), shown, None)[0], (0, 0));
            assert!(bench.state.is_compared(holder.fingerprint()));
            bench.fetch(holder.as_str(), page(0..300), None);
            assert_eq!(bench.look(shown)[0], want);
            assert!(!bench.state.is_compared(holder.fingerprint()), "once");
        }
    }

    /// Versions of a page that differ by the few words of an edit proved nothing, however many they
    /// were, and the rule that hid them stayed in force.
    #[test]
    fn pages_that_each_have_words_of_their_own_in_their_text_are_pages_of_their_own() {
        let version = |of: u64, edit: u64| {
            let words = move || (of..of + 294).chain(of + edit..of + edit + 6);
            let text = Sketch::of_shingles(words()).map_or(Text::Unknown, Text::Main);
            Fetched::Page { text, digest: None, bag: Some(Bag::of(words())), junk: false }
        };
        let versions = |text_of: fn(Fetched, Fetched) -> Fetched| {
            let holder = |of: u64| format!("http://a.example/d?id={of}&sid=1");
            let mut bench = Bench::new(&holder(0), done(version(0, 300), false));
            (0..8).for_each(|_| bench.state.checks.looked_twice(&url(&holder(0)), true, 0));
            for of in [1_000, 2_000, 3_000, 4_000] {
                let known = version(of, 300);
                bench.hold(&holder(of), done(known, false));
                let shown = text_of(known, version(of, 400));
                assert_eq!(known.judged_by(shown), Finding::Same);
                bench.fetch(&format!("http://a.example/d?id={of}&sid=2"), shown, None);
            }
            // One of them is a sample of those that are looked at again, and is no longer there.
            bench.look(version(0, 300))[0]
        };
        assert_eq!(versions(|_, shown| shown), (0, 1), "two may be accidents");
        let beside = |known: Fetched, shown: Fetched| match (known, shown) {
            (Fetched::Page { text, .. }, Fetched::Page { digest, bag, junk, .. }) => {
                Fetched::Page { text, digest, bag, junk }
            }
            _ => shown,
        };
        assert_eq!(versions(beside), (0, 0), "the words are not in the text");
    }

    /// Nothing was compared with the first pages of a site, whose main text was not known, and what
    /// they stood for wrongly said nothing of the rule.
    #[test]
    fn a_page_that_came_before_the_model_of_its_site_is_looked_at_again() {
        let Fetched::Page { digest, bag, junk, .. } = page(0..300) else { panic!("a page") };
        let early = Fetched::Page { text: Text::Unknown, digest, bag, junk };
        for (shown, want) in [(page(0..300), (1, 0)), (page(1_000..1_300), (0, 1))] {
            let mut bench = Bench::new("http://a.example/d?id=7", done(early, false));
            bench.fetch("http://a.example/d?id=7&sid=1", shown, None);
            assert_eq!(bench.look(page(0..300))[0], want);
        }
    }

    /// The pages of a book of pictures, all with the words of the first one, agreed with it each
    /// time they were looked at, and none but those was ever fetched.
    #[test]
    fn pages_with_the_same_words_and_new_parts_are_pages_of_their_own() {
        let text = page(0..300);
        // What parts the first page showed, and shows when it is looked at again; and those of the
        // others, if some of them are new.
        let pages = |first: u64, again: Option<u64>, others: [Option<u64>; 6]| {
            let holder = url("http://a.example/d?id=7&sid=1");
            let mut bench = Bench::new(holder.as_str(), done(text, false));
            let UrlState::Done(mut shown) = done(text, false) else { panic!("it was fetched") };
            let marks = Marks { parts: Some(first), ..Marks::default() };
            shown.evidence = evidence(&text, false, marks);
            let mut batch = Batch::default();
            let row = record(&holder, None, UrlState::Done(shown));
            urls::put(&mut batch, &bench.state.db, holder.fingerprint(), &row);
            bench.state.commit(batch, bench.now).unwrap();
            for (n, parts) in others.into_iter().enumerate() {
                let leads = Leads { new: 1, parts, ..Leads::default() };
                bench.fetch_leading(&format!("http://a.example/d?id=7&sid=1{n}"), text, leads);
                bench.look_at((text, Marks { parts: again, ..Marks::default() }));
            }
            bench.known()[0]
        };
        let others = [2, 3, 4, 5, 6, 7].map(Some);
        assert_eq!(pages(1, Some(1), others), (0, 2), "two may be an accident");
        assert_eq!(pages(1, Some(1), [None; 6]), (6, 0), "all are known");
        assert_eq!(pages(1, Some(1), [Some(1); 6]), (6, 0), "they are at other addresses");
        assert_eq!(pages(1, Some(9), others), (6, 0), "the first one has others at each look");
        let one = [None, None, Some(2), None, None, None];
        assert_eq!(pages(1, Some(1), one), (5, 0), "one that has some proves nothing");
    }

    /// Returns the wording of a page with these numbers.
    fn says(page: u64, numbers: &[u64]) -> Wording {
        let figures = numbers.iter().sum::<u64>() as u32;
        let words = figures.wrapping_add(page as u32 * 1_000_003);
        let (masked_whole, masked_words) = (page as u32, page as u32);
        let numbers = figures;
        let masked = Wording { masked_whole, masked_words, ..Wording::default() };
        Wording { whole: words, words, numbers, figures, but_headings: words, ..masked }
    }

    /// Five members of parliament after each other for each of 150 seats, alike but for their
    /// names: a sketch takes them for one page, and all but the first were lost.
    #[test]
    fn pages_that_differ_by_one_word_each_are_pages_of_their_own_where_they_stand_still() {
        // Another word of the text of each page, or the same words in another order; the second
        // look shows the same as the first, or a clock.
        let forms = |word: &dyn Fn(u64) -> u64, moves: bool, clock: bool| {
            let shown = |page: u64, word: u64, moved: u32| {
                let words = page * 1_000..page * 1_000 + 300;
                let text = Sketch::of_shingles(words.clone()).map_or(Text::Unknown, Text::Main);
                let bag = Some(Bag::of(words.chain([word])));
                let page = Fetched::Page { text, digest: None, bag, junk: false };
                let sum = (word as u32).wrapping_add(moved);
                let (whole, words, masked_whole, masked_words) = (sum, sum, sum, sum);
                let sums = Wording { whole, words, masked_whole, ..Wording::default() };
                (page, Wording { masked_words, but_headings: sum, ..sums })
            };
            let (first, _) = shown(0, 0, 0);
            let mut bench = Bench::new("http://a.example/d?id=0", done(first, false));
            for page in 1..16 {
                let by = format!("http://a.example/d?id={page}");
                let (known, wording) = shown(page, page * 77, 0);
                let UrlState::Done(mut became) = done(known, false) else { panic!("a page") };
                let marks = Marks { wording: Some(wording), parts: None };
                became.evidence = evidence(&known, false, marks);
                bench.hold(&by, UrlState::Done(became));
                let moved = if moves { page as u32 * 999 } else { 0 };
                let (other, wording) = shown(page, word(page), moved);
                let leads = Leads { wording: Some(wording), ..Leads::default() };
                bench.fetch_leading(&format!("{by}&sid=1"), other, leads);
                let (again, wording) = shown(page, page * 77, if clock { page as u32 } else { 0 });
                bench.look_at((again, Marks { wording: Some(wording), parts: None }));
            }
            bench.known()[0]
        };
        assert_eq!(forms(&|page| page * 77, false, false), (15, 0), "the same words");
        let (agreed, against) = forms(&|page| page * 55, false, false);
        assert!(agreed == 0 && against >= 2, "each has its own word: {agreed} {against}");
        let (agreed, against) = forms(&|page| page * 77, true, false);
        assert!(agreed == 0 && against >= 2, "another order: {agreed} {against}");
        let (agreed, against) = forms(&|page| page * 77 + 5, false, false);
        assert!(agreed >= 8 && against <= 1, "the same on each: {agreed} {against}");
        assert_eq!(forms(&|page| page * 55, false, true).1, 0, "it changes at each look");
    }

    /// Views to print lack the menu of their site, which has more words than a short text: the
    /// first of them refuted the rule that makes them one with their pages.
    #[test]
    fn a_menu_that_all_forms_lack_is_a_label_and_the_rows_of_a_list_are_not() {
        let forms = |around: &dyn Fn(u64) -> u64| {
            let shown = |page: u64, around: std::ops::Range<u64>| {
                let words = page * 1_000..page * 1_000 + 100;
                let text = Sketch::of_shingles(words.clone()).map_or(Text::Unknown, Text::Main);
                let bag = Some(Bag::of(words.chain(around)));
                Fetched::Page { text, digest: None, bag, junk: false }
            };
            let whole = |page: u64| shown(page, around(page)..around(page) + 200);
            let mut bench = Bench::new("http://a.example/d?id=0", done(whole(0), false));
            for page in 1..10 {
                let by = format!("http://a.example/d?id={page}");
                bench.hold(&by, done(whole(page), false));
                bench.fetch(&format!("{by}&sid=1"), shown(page, 0..0), None);
                bench.look(whole(page));
            }
            bench.known()[0]
        };
        assert_eq!(forms(&|_| 900_000), (7, 0), "the first two tell nothing yet");
        let (agreed, against) = forms(&|page| 900_000 + page * 1_000);
        assert!(agreed == 0 && against >= 2, "{agreed} {against}");
    }

    /// Views to print lacked what stands beside each post of a topic, others on each, and their
    /// rule fell for it.
    #[test]
    fn a_form_that_says_nothing_more_than_its_page_is_no_other_page() {
        let text = |page: u64| page * 1_000..page * 1_000 + 100;
        let shown = |page: u64, around: std::ops::Range<u64>| {
            let sketch = Sketch::of_shingles(text(page)).map_or(Text::Unknown, Text::Main);
            let bag = Some(Bag::of(text(page).chain(around.clone())));
            let said: Vec<String> = text(page).chain(around).map(|n| format!("word{n}x")).collect();
            let words = Some(WordSet::of_text(&said.join(" ")));
            let shown = Fetched::Page { text: sketch, digest: None, bag, junk: false };
            Look { shown, marks: Marks::default(), words }
        };
        // Which words stand around the text of each form; returns how many agreed and did not.
        let forms = |around: &dyn Fn(u64) -> std::ops::Range<u64>, leads_on: bool| {
            let whole = |page: u64| shown(page, page * 1_000_000..page * 1_000_000 + 150);
            let mut bench = Bench::new("http://a.example/d?id=0", done(whole(0).shown, false));
            for page in 1..10 {
                let by = format!("http://a.example/d?id={page}");
                bench.hold(&by, done(whole(page).shown, false));
                let form = shown(page, around(page));
                let leads = Leads { words: form.words.as_ref(), ..Leads::default() };
                let leads = Leads { new: u64::from(leads_on), ..leads };
                bench.fetch_leading(&format!("{by}&sid=1"), form.shown, leads);
                bench.look_at(whole(page));
            }
            bench.known()[0]
        };
        assert_eq!(forms(&|_| 0..0, false), (8, 0), "at one of them nothing is looked at again");
        let fell = |(agreed, against)| agreed == 0 && against >= 2;
        assert!(fell(forms(&|_| 0..0, true)), "they lead to what nothing else does");
        let others = |page: u64| 7_000_000 + page * 1_000..7_000_060 + page * 1_000;
        assert!(fell(forms(&others, false)), "each has a list of its own");
    }

    /// The doses for a child, in a table of the same words, were no evidence of anything, and what
    /// agreed beside them proved the rule that hid them.
    #[test]
    fn pages_with_the_same_words_and_other_numbers_are_pages_of_their_own() {
        let shown = |page: u64, numbers: &[u64]| {
            let words = page * 1_000..page * 1_000 + 300;
            let text = Sketch::of_shingles(words.clone()).map_or(Text::Unknown, Text::Main);
            let bag = Some(Bag::of(words.chain(numbers.iter().copied())));
            let marks = Marks { wording: Some(says(page, numbers)), parts: None };
            (Fetched::Page { text, digest: None, bag, junk: false }, marks)
        };
        let own = |page: u64| vec![page * 10, page * 10 + 1, page * 10 + 2];
        // Which numbers each form shows, and its page at a second look; returns how many agreed,
        // and how many failed or were no evidence.
        let forms = |form: &dyn Fn(u64) -> Vec<u64>, again: &dyn Fn(u64) -> Vec<u64>| {
            let (first, _) = shown(0, &own(0));
            let mut bench = Bench::new("http://a.example/d?id=0", done(first, false));
            for page in 1..13 {
                let by = format!("http://a.example/d?id={page}");
                let (known, marks) = shown(page, &own(page));
                let UrlState::Done(mut became) = done(known, false) else { panic!("a page") };
                became.evidence = evidence(&known, false, marks);
                bench.hold(&by, UrlState::Done(became));
                let (other, Marks { wording, .. }) = shown(page, &form(page));
                let leads = Leads { wording, ..Leads::default() };
                bench.fetch_leading(&format!("{by}&sid=1"), other, leads);
                bench.look_at(shown(page, &again(page)));
            }
            bench.known()[0]
        };
        assert_eq!(forms(&own, &own), (12, 0));
        let others = |page: u64| vec![page * 100, page * 100 + 1, page * 100 + 2];
        assert_eq!(forms(&others, &own), (0, 2), "two are no accident");
        let (agreed, against) = forms(&|page| own(page)[1..].to_vec(), &own);
        assert!(agreed == 0 && against >= 2, "a single number less: {against}");
        let (agreed, _) = forms(&|page| [own(page), vec![7, 8, 9]].concat(), &own);
        assert!(agreed >= 7, "what all forms say is how they were asked for: {agreed}");
        let clock = |page| vec![page * 77, page * 77 + 1];
        assert!(forms(&others, &clock).1 <= 1, "they are others at each look");
    }

    /// On a site with a counter on each page each audit took two fetches, since the numbers of the
    /// first two were never the same; and a label beside them was none.
    #[test]
    fn a_counter_on_each_page_asks_for_a_second_look_at_few_of_them() {
        let shown = |page: u64, count: u64| {
            let words = page * 1_000..page * 1_000 + 300;
            let text = Sketch::of_shingles(words.clone()).map_or(Text::Unknown, Text::Main);
            let bag = Some(Bag::of(words.chain([count])));
            let marks = Marks { wording: Some(says(page, &[count])), parts: None };
            (Fetched::Page { text, digest: None, bag, junk: false }, marks)
        };
        // Second looks at forty pages, and how many forms agreed.
        let looks = |count: &dyn Fn(u64) -> u64| {
            let mut bench = Bench::new("http://a.example/d?id=0", done(shown(0, 0).0, false));
            let mut looks = 0;
            for page in 1..41 {
                let by = format!("http://a.example/d?id={page}");
                let (known, marks) = shown(page, count(3 * page));
                let UrlState::Done(mut became) = done(known, false) else { panic!("a page") };
                became.evidence = evidence(&known, false, marks);
                bench.hold(&by, UrlState::Done(became));
                let (other, Marks { wording, .. }) = shown(page, count(3 * page + 1));
                let leads = Leads { wording, ..Leads::default() };
                bench.fetch_leading(&format!("{by}&sid=1"), other, leads);
                looks += bench.state.probes.len();
                bench.look_at(shown(page, count(3 * page + 2)));
            }
            (looks, bench.known()[0])
        };
        let (none, all) = looks(&|_| 7);
        assert_eq!((none, all), (0, (40, 0)), "the same each time");
        let (few, agreed) = looks(&|n| 1_000_000 + n);
        assert!((3..10).contains(&few), "{few}");
        assert_eq!(agreed, (40, 0));
    }

    /// Each view to print was another page than the one with the menus, and its rule fell.
    #[test]
    fn the_words_around_one_text_are_a_label_where_other_pages_lack_them_too() {
        let framed = |text: u64, frame: std::ops::Range<u64>| {
            let own = text * 1_000..text * 1_000 + 300;
            let Fetched::Page { text, junk, .. } = page(own.clone()) else { panic!("a page") };
            Fetched::Page { text, digest: None, bag: Some(Bag::of(own.chain(frame))), junk }
        };
        let menus = 900_000..900_064;
        let holder = |text: u64| format!("http://a.example/d?id={text}&sid=1");
        let mut bench = Bench::new(&holder(1), done(framed(1, menus.clone()), false));
        let mut print = |text: u64, frame: std::ops::Range<u64>| {
            let (known, shown) = (framed(text, menus.clone()), framed(text, frame));
            assert!(known.differs_from(shown) && known.has_text_of(shown, 0));
            bench.hold(&holder(text), done(known, false));
            bench.fetch(&format!("http://a.example/d?id={text}&sid=2"), shown, None);
            bench.look(known)[0]
        };
        assert_eq!(print(1, 0..0), (0, 0), "nothing is known of such views yet");
        assert_eq!(print(2, 0..0), (1, 0), "another page has the same menus");
        assert_eq!(print(3, 0..0), (2, 0));
        assert_eq!(print(4, 500_000..500_090), (2, 1), "it shows what no other page does");
    }

    /// A page that did not answer in time refuted the rule under which it stood for others.
    #[test]
    fn what_did_not_answer_says_nothing_of_a_rule() {
        let failed =
            UrlState::Failed { reason: "timeout".into(), detail: "".into(), at: Timestamp::ZERO };
        let mut bench = Bench::new("http://a.example/d?id=7&sid=1", failed);
        let known = bench.fetch("http://a.example/d?id=7&sid=2", page(0..300), None);
        assert_eq!(known, [(0, 0), (0, 0)]);
        let mut bench = Bench::new("http://a.example/d?id=7&sid=1", done(Fetched::Gone, false));
        let known = bench.fetch("http://a.example/d?id=7&sid=2", page(0..300), None);
        assert_eq!(known, [(0, 1), (0, 0)], "a page that is gone does");
    }

    /// A plain form came back when the page that had stood for it was gone, and that did not count
    /// against the rule.
    #[test]
    fn a_plain_form_that_came_back_is_compared_with_what_stood_for_it() {
        let holder = "http://a.example/d?id=7&sid=1";
        let mut bench = Bench::new(holder, done(Fetched::Gone, false));
        let plain = url("http://a.example/d?id=7").fingerprint();
        assert!(!bench.state.is_compared(plain));
        bench.state.stood.insert(plain, url(holder).fingerprint());
        assert!(bench.state.is_compared(plain));
        let known = bench.fetch("http://a.example/d?id=7", page(0..300), None);
        assert_eq!(known, [(0, 1), (0, 0)]);
        assert!(!bench.state.is_compared(plain), "and is not remembered any longer");
    }

    /// Checks whose pages never answered, or were refused, kept the rule from any further check.
    #[test]
    fn what_came_to_nothing_is_no_check_under_way() {
        let Fetched::Page { text, bag, junk, .. } = page(0..300) else { panic!("a page") };
        let shown = Fetched::Page { text, bag, junk, digest: Some(1) };
        let mut bench = Bench::new("http://a.example/p?id=7&lang=x", done(shown, false));
        let mut is_fetched = |tail: &str| {
            crate::crawl::readmit::tests::find(&mut bench.state, tail, bench.now);
            let own = url(&format!("http://a.example{tail}")).fingerprint();
            let record = urls::get(&bench.state.db, own).unwrap().unwrap();
            let is_fetched = matches!(record.state, UrlState::Queued(_));
            if is_fetched {
                let mut batch = Batch::default();
                bench.state.stood.insert(own, own);
                bench.state.give_back(&mut batch, own).unwrap();
                bench.state.commit(batch, bench.now).unwrap();
                assert!(!bench.state.is_compared(own));
            }
            is_fetched
        };
        let fetched = (0..8).filter(|n| is_fetched(&format!("/p?id=7&lang={n}"))).count();
        assert_eq!(fetched, 8, "each in place of the one before");
    }

    /// While a rule was on trial, or proved for some values only, the others did nothing for a URL
    /// that it rewrote as well: a list was fetched in every order at every commit.
    #[test]
    fn rules_that_are_proved_hold_beside_one_that_is_not() {
        let Fetched::Page { text, bag, junk, .. } = page(0..300) else { panic!("a page") };
        let page = Fetched::Page { text, bag, junk, digest: Some(1) };
        let mut bench = Bench::new("http://a.example/d?id=7&lang=fr&sid=1", done(page, false));
        let mut find = |tails: &[&str]| {
            let urls: Vec<CrawlUrl> =
                tails.iter().map(|tail| url(&format!("http://a.example/d?id=7{tail}"))).collect();
            let seed = |url: &CrawlUrl| crate::crawl::SeedUrl {
                url: url.clone(),
                priority: None,
                hops_max: None,
            };
            let seeds: Vec<crate::crawl::SeedUrl> = urls.iter().map(seed).collect();
            let (state, mut batch) = (&mut bench.state, Batch::default());
            state.discover_seeds(&mut batch, &seeds, bench.now).unwrap();
            state.commit(batch, bench.now).unwrap();
            let hidden = |url: &CrawlUrl| {
                let record = urls::get(&state.db, url.fingerprint()).unwrap().unwrap();
                match record.state {
                    UrlState::Suppressed { by, rules, .. } => Some((by, rules)),
                    _ => None,
                }
            };
            urls.iter().map(hidden).collect::<Vec<_>>()
        };
        let by = |tail: &str| url(&format!("http://a.example/d?id=7{tail}")).fingerprint();
        let [sid, lang] = ["sid", "lang"].map(|name| drop_parameter(name).id.0);
        let of = find(&["&lang=de&sid=2", "&lang=de&sid=3", "&lang=de"]);
        let german = Some((by("&lang=de&sid=2"), vec![sid]));
        assert_eq!(of, [None, german.clone(), german.clone()], "at once");
        assert_eq!(find(&["&lang=de&sid=4"]), [german], "and later");
        let french = (by("&lang=fr&sid=1"), vec![sid]);
        assert_eq!(find(&["&lang=fr&sid=5"]), [Some(french)]);
        let set_aside = find(&["&lang=es&sid=1", "&lang=it&sid=2", "&lang=it&sid=3"]);
        let aside = Some((by("&lang=fr&sid=1"), vec![lang, sid]));
        assert_eq!(set_aside, [None, aside.clone(), aside], "as many are checked at a time");
    }

    /// A handbook of which some pages are translated into three languages: the same pages refuted
    /// the rules of two of them, and the third one hid all that there was in its language.
    #[test]
    fn other_forms_of_a_page_that_stood_for_another_one_are_fetched() {
        let Fetched::Page { text, bag, junk, .. } = page(0..300) else { panic!("a page") };
        let shown = Fetched::Page { text, bag, junk, digest: Some(1) };
        let mut bench = Bench::new("http://a.example/d?id=7&sid=1", done(shown, false));
        let form = |n: u32| url(&format!("http://a.example/d?id=7&sid={n}"));
        let find = |bench: &mut Bench, forms: std::ops::Range<u32>| {
            let seeds = forms.map(|n| crate::crawl::SeedUrl {
                url: form(n),
                priority: None,
                hops_max: None,
            });
            let (seeds, mut batch) = (seeds.collect::<Vec<_>>(), Batch::default());
            bench.state.discover_seeds(&mut batch, &seeds, bench.now).unwrap();
            bench.state.commit(batch, bench.now).unwrap();
        };
        let hidden = |bench: &Bench, forms: std::ops::Range<u32>| {
            let record = |n| urls::get(&bench.state.db, form(n).fingerprint()).unwrap().unwrap();
            forms.filter(|n| matches!(record(*n).state, UrlState::Suppressed { .. })).count()
        };
        find(&mut bench, 10..22);
        let before = hidden(&bench, 10..22);
        assert!((4..CONTESTED_FORMS).contains(&before), "{before} of 12 are hidden");
        bench.fetch("http://a.example/d?id=7&sid=2", page(1_000..1_300), None);
        bench.look(shown);
        assert!(bench.state.is_readmitting());
        while bench.state.readmit_some(bench.now).unwrap() {}
        assert_eq!(hidden(&bench, 10..22), 0);
        // Those that are found later are fetched as well, as many as are left of them.
        find(&mut bench, 30..42);
        let later = hidden(&bench, 30..42);
        find(&mut bench, 50..62);
        assert!(later < hidden(&bench, 50..62), "{later}");
    }

    /// Each audit that did not agree had what stands for it fetched again, however many looked at
    /// the same page in the same second.
    #[test]
    fn one_look_at_a_page_serves_all_doubts_of_its_time() {
        let (shown, other) = (page(0..300), page(0..340));
        let mut bench = Bench::new("http://a.example/d?id=7&sid=1", done(shown, false));
        let mut audit = |tail: &str| {
            let form = format!("http://a.example/d?id=7&sid={tail}");
            let known = bench.fetch(&form, other, None);
            (known[0], bench.state.probes.len())
        };
        assert_eq!((audit("2"), audit("3")), (((0, 0), 1), ((0, 0), 1)), "a look is under way");
        let number = *bench.state.probes.keys().next().unwrap();
        let flight = bench.state.probes.remove(&number).unwrap();
        bench.state.probe_came_to(flight.asker, Look::of(other, None), bench.now).unwrap();
        let mut audit = |tail: &str, now: u64| {
            bench.now = Timestamp::from_millis(now);
            let form = format!("http://a.example/d?id=7&sid={tail}");
            (bench.fetch(&form, other, None)[0], bench.state.probes.len())
        };
        assert_eq!(audit("4", 50_000), ((3, 0), 0), "it has changed, as all three say");
        assert_eq!(audit("5", 90_000), ((3, 0), 1), "that was long ago");
    }
}
