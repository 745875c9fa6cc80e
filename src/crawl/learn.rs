//! Between the loop and the miner: pages become observations, answers become changes.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::admit::Admitted;
use super::checks::{Doubt, United};
use super::discover::Link;
use super::error::CrawlError;
use super::learner::{Said, Tell};
use super::state::State;
use super::told;
use super::visit::{PageFacts, Visit};
use crate::clock::Timestamp;
use crate::content::Analysis;
use crate::content::probes::Probe as Nonsense;
use crate::db::families::queue::Item;
use crate::db::families::seen::{self, Known};
use crate::db::families::{dust as samples, meta, urls};
use crate::db::{Batch, DbError};
use crate::dust::declared::{self, DeclaredRule};
use crate::dust::{
    Declared, Fetched, Finding, Observation, Probe, RuleEvent, RuleId, RuleState, Sketch, Text,
};
use crate::fetch::{Answer, Outcome, Truncated};
use crate::filter::Found;
use crate::frontier::{PRIORITIES, UrlState};
use crate::url::{CrawlUrl, Fingerprint, Host};

/// Probes whose outcome is awaited; more would mean that nobody takes them.
const PROBES_MAX: usize = 10_000;

/// How long a second look at a page serves doubts that come after it: pages change.
const LOOK_SERVES: std::time::Duration = std::time::Duration::from_secs(60);

/// Audits that wait for one look.
const AWAITING_MAX: usize = 64;

/// How many times as often as a rule another one must have agreed to be above suspicion beside it.
const FAR_BETTER: u32 = 2;

/// Looks that are remembered.
const LOOKS_KEPT: usize = 64;

/// How long the loop waits for the miner when nothing else is left to do.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_secs(5);

/// Locations of a sitemap that are looked at for the host that the site prefers.
const LISTED_MAX: usize = 1_000;

/// Redirects that a probe follows.
const PROBE_HOPS_MAX: u8 = 5;

/// A fetch that a judgement needs.
#[derive(Clone, Debug)]
pub(super) struct ProbeFlight {
    pub(super) asker: Asker,
    /// Redirects followed so far.
    pub(super) hops: u8,
}

/// Whose judgement needs a fetch.
#[derive(Clone, Debug)]
pub(super) enum Asker {
    /// The miner's.
    Rule {
        /// The miner's name for it.
        id: u64,
        /// True for the second fetch, the URL as found.
        is_reference: bool,
    },
    /// That of audits which did not agree: what stands for their URLs, of which this names one, is
    /// fetched once more.
    Audit(Fingerprint),
    /// How a host answers to what cannot exist.
    Host {
        /// The host.
        host: Host,
        /// What it is asked for.
        probe: Nonsense,
    },
}

/// Second looks at pages that stand for others: one look serves all doubts of that time.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// Audits that wait for a look, by the page that is looked at.
    awaiting: HashMap<Fingerprint, Vec<Audited>>,
    /// What the last looks showed, the newest last.
    shown: VecDeque<(Timestamp, Fingerprint, Fetched)>,
}

impl Looks {
    /// Returns what a page showed when it was looked at lately.
    fn lately(&mut self, page: Fingerprint, now: Timestamp) -> Option<Fetched> {
        self.shown.retain(|(at, ..)| now.since(*at) <= LOOK_SERVES);
        let mut looks = self.shown.iter().rev();
        looks.find(|(_, looked_at, _)| *looked_at == page).map(|(.., fetched)| *fetched)
    }

    /// Notes what a look showed; returns the audits that waited for it.
    fn end(&mut self, page: Fingerprint, fetched: Fetched, now: Timestamp) -> Vec<Audited> {
        if matches!(fetched, Fetched::Page { .. }) {
            if self.shown.len() >= LOOKS_KEPT {
                self.shown.pop_front();
            }
            self.shown.push_back((now, page, fetched));
        }
        self.awaiting.remove(&page).unwrap_or_default()
    }
}

/// Where a page leads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leads<'a> {
    /// What it redirects to.
    redirect: Option<&'a CrawlUrl>,
    /// URLs that were queued for it: nothing had led to them before.
    new: u64,
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
        let may_be_label =
            known.has_text_of(audited) && known.own_words(audited, changes_by).is_some();
        known.differs_from(audited) && !may_be_label
            || self.leads_on && known.differs_by_rows(audited)
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

/// A probe with two fetches, until both are there.
#[derive(Clone, Debug, Default)]
pub(super) struct Pair {
    wants_reference: bool,
    outcome: Option<Fetched>,
    reference: Option<Fetched>,
}

impl State {
    /// Tells the miner of a page, for which so many new URLs were queued.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn learn(
        &mut self,
        batch: &mut Batch,
        admitted: &Admitted,
        answer: &Answer,
        (facts, new): (&PageFacts, u64),
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        if !self.learner.is_on() {
            return Ok(());
        }
        let waiting = &admitted.lease.waiting;
        let troubled = self.is_troubled(admitted);
        let key = admitted.canonical.as_deref().and_then(|key| CrawlUrl::parse(key).ok());
        let fetched = fetched_of(answer, Some(facts));
        let (text, digest, bag) = match fetched {
            Fetched::Page { text, digest, bag, .. } => (text, digest, bag),
            _ => (Text::Unknown, None, None),
        };
        let redirect = facts.redirect.clone().map(Declared::Redirect);
        let canonical = facts.canonical.clone().filter(|url| *url != waiting.url);
        self.tell_declared(&waiting.url, declarations(&waiting.url, answer, facts));
        let observation = Observation {
            url: waiting.url.clone(),
            key: key.clone().unwrap_or_else(|| waiting.url.clone()),
            status: answer.status,
            text,
            digest,
            bag,
            declared: redirect.or(canonical.map(Declared::Canonical)),
            junk: facts.junk.is_some(),
            troubled,
        };
        if troubled {
            self.checks.end(waiting.fingerprint);
            self.stood.remove(&waiting.fingerprint);
        } else if key.is_some() || self.is_compared(waiting.fingerprint) {
            let key = key.as_ref().unwrap_or(&waiting.url);
            let shown = (fetched, Leads { redirect: facts.redirect.as_ref(), new });
            self.tell_audit(batch, (&waiting.url, waiting.fingerprint), key, shown, now)?;
        }
        let row = self.next_row();
        told::note(batch, &self.db, row, &observation);
        self.tell(Tell::Page(Box::new(observation), row, now));
        Ok(())
    }

    /// Returns true where a URL that has no other key was or is stood for by another one of its
    /// key: what it shows says whether that was right.
    fn is_compared(&self, own: Fingerprint) -> bool {
        self.checks.awaits(own) || self.stood.contains_key(&own)
    }

    /// Returns true where a host had not recovered from 429, 503 or silence when it was asked: an
    /// answer given in trouble may be a page that says so, whatever its status, and is no evidence.
    pub(super) fn is_troubled(&self, admitted: &Admitted) -> bool {
        let record = self.frontier.active(admitted.lease.host).map(|active| &active.record);
        record.is_some_and(|record| record.pace.is_troubled())
    }

    /// Tells the miner what a site declares of its URLs, in its robots.txt or with a page.
    pub(super) fn tell_declared(&mut self, url: &CrawlUrl, rules: Vec<DeclaredRule>) {
        if self.learner.is_on() && !rules.is_empty() {
            self.tell(Tell::Declared(url.site(), rules));
        }
    }

    /// A URL that has another key and was fetched all the same is evidence about the rules that
    /// give it its key: it was an audit, or what stands for it turned out dead.
    fn tell_audit(
        &mut self,
        batch: &mut Batch,
        (url, own): (&CrawlUrl, Fingerprint),
        key: &CrawlUrl,
        (fetched, leads): (Fetched, Leads<'_>),
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        let checked = self.checks.end(own);
        let stood = self.stood.remove(&own).or(checked);
        let by = match (stood, seen::get(&self.db, key.fingerprint())?) {
            (Some(by), _) | (None, Some(Known::By(by))) => by,
            (None, Some(Known::Itself)) => key.fingerprint(),
            (None, None) => return Ok(()),
        };
        if by == own {
            return Ok(());
        }
        let Some(mut record) = urls::get(&self.db, by)? else { return Ok(()) };
        let mut by = by;
        if matches!(record.state, UrlState::Suppressed { .. })
            && let Some(stands) = self.stand_in(own, by)?
            && let Some(other) = urls::get(&self.db, stands)?
        {
            (by, record) = (stands, other);
        }
        let known = match record.state {
            UrlState::Done(done) => evidence_of(&done.evidence),
            // Nothing answered, which says nothing of the page.
            UrlState::Failed { .. } => Some(Fetched::Unavailable),
            // What other gates refuse says nothing about the page.
            UrlState::Refused { reason, .. } => {
                (reason == "robots-disallowed").then_some(Fetched::Forbidden)
            }
            UrlState::Queued(_) | UrlState::Suppressed { .. } => None,
        };
        let Some(known) = known else { return Ok(()) };
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
            || known.differs_beyond(audited, changes_by) && !known.has_text_of(audited);
        let is_own = rewritten == *url && audited == fetched;
        let leads_on = leads.new > 0;
        let pair = (rewritten, key.clone());
        let mut told = Audited { rules, pair, stands, audited, leads_on, known, is_own, by };
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
        // A page that came before the model of its site may have more words than were told then.
        let is_distrusted = set.distrusts(&told.rules) && !known.is_mute();
        let doubt = match differs {
            true => Some(self.checks.on_doubt(url, is_other, is_distrusted)),
            false => {
                let own_words = known.own_words(audited, changes_by);
                let asks = own_words.is_some() && self.checks.is_unknown(url);
                asks.then_some(Doubt::LooksTwice)
            }
        };
        match doubt {
            Some(Doubt::LooksTwice) if self.probes.len() < PROBES_MAX => {
                self.look_twice(batch, &record.url, told, now)?;
            }
            Some(Doubt::LooksTwice) => self.tell_unsettled(told, now)?,
            Some(Doubt::IsOther) => self.tell_audited(told, Some(Finding::Failed), now)?,
            _ => self.tell_audited(told, None, now)?,
        }
        Ok(())
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
        if let Some(shown) = self.looks.lately(page, now) {
            return self.tell_verified(told, shown, now);
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
        let Audited { mut rules, pair, stands, audited, known, is_own, by, .. } = told;
        let mut found = found.unwrap_or_else(|| known.judged_by(audited));
        let changes_by = self.checks.changes_by(&pair.0);
        // What neither is a label of the rules nor changes at each look is what a page is about. A
        // label is not taken for less than it is where it is long: all pages of a wiki may have had
        // one sentence more since.
        if found == Finding::Same
            && let Some(change) = known.own_words(audited, changes_by)
            && let Some(text) = known.text()
        {
            let is_much = || known.differs_beyond(audited, changes_by);
            let theirs = stands.iter().flat_map(|(rules, _)| rules);
            let all: BTreeSet<RuleId> = rules.iter().chain(theirs).copied().collect();
            found = match self.checks.is_label(all.into_iter().collect(), text, change) {
                Some(true) => Finding::Same,
                // More words than a title has are another page, unless other pages have them too.
                Some(false) if known.has_text_of(audited) && is_much() => Finding::Failed,
                Some(false) | None => Finding::Unclear,
            };
        }
        if found == Finding::Failed && known.is_page() {
            self.checks.contest(by);
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
        let by = match seen::get(&self.db, key)? {
            Some(Known::By(by)) => by,
            Some(Known::Itself) => key,
            None => return Ok(None),
        };
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
        told: Audited,
        now_shown: Fetched,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let is_page = matches!(now_shown, Fetched::Page { .. });
        let is_stable = told.known.stands_still(now_shown);
        let url = &told.pair.0;
        if is_page {
            let words = told.known.differing(now_shown);
            self.checks.looked_twice(url, is_stable, words);
        }
        let changes_by = self.checks.changes_by(url);
        if is_page && !now_shown.is_contradicted_by(told.audited) {
            let known = told.known;
            let holds = !known.is_contradicted_by(now_shown) && !known.differs_from(now_shown);
            let beyond = |shown: Fetched| {
                shown.differs_beyond(told.audited, changes_by) && !shown.has_text_of(told.audited)
            };
            let differs = is_stable && told.differs_from(now_shown, changes_by)
                || holds && now_shown.differs_around(told.audited)
                || beyond(known) && beyond(now_shown);
            let found = differs.then_some(Finding::Failed);
            self.tell_audited(Audited { known: now_shown, ..told }, found, now)
        } else if !is_page {
            self.tell_unsettled(told, now)
        } else if !told.known.is_contradicted_by(now_shown) {
            self.tell_audited(told, None, now)
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
        self.tell_audited(told, Some(found), now)
    }

    /// Tells the miner, and what is known of the URL's host, that rules kept it from being fetched.
    pub(super) fn tell_suppressed(&mut self, url: &CrawlUrl, rules: &[u64]) {
        self.texts.note_hidden(&url.host());
        self.seen_of.note_suppressed(rules);
        if self.learner.is_on() {
            let rules = rules.iter().copied().map(RuleId).collect();
            // Counting says nothing at once that could not wait for the next page.
            self.tell(Tell::Suppressed(rules));
        }
    }

    /// Tells the miner that a URL which rules kept from being fetched is to be fetched after all.
    pub(super) fn tell_restored(&mut self, rules: &[u64]) {
        self.seen_of.note_restored(rules);
        if self.learner.is_on() {
            self.tell(Tell::Restored(rules.iter().copied().map(RuleId).collect()));
        }
    }

    /// Takes in what a probe came to; a redirect becomes a further probe.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn settle_probe(
        &mut self,
        batch: &mut Batch,
        number: u64,
        visit: &Visit,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        let Some(ProbeFlight { asker, hops }) = self.probes.remove(&number) else {
            return Ok(());
        };
        let facts = visit.page.as_deref();
        let asker = match asker {
            Asker::Host { host, probe } => {
                return Ok(self.settle_nothing(batch, host, probe, hops, &visit.outcome, facts)?);
            }
            asker @ (Asker::Rule { .. } | Asker::Audit(_)) => asker,
        };
        let redirect = facts.and_then(|facts| facts.redirect.clone());
        if let Some(target) = redirect
            && hops < PROBE_HOPS_MAX
        {
            let flight = ProbeFlight { asker, hops: hops + 1 };
            return Ok(self.enqueue_probe(batch, &target, flight)?);
        }
        let fetched = match &*visit.outcome {
            Outcome::Answer(answer) => fetched_of(answer, visit.page.as_deref()),
            Outcome::Failed(_) => Fetched::Unavailable,
        };
        self.probe_came_to(asker, fetched, now)
    }

    /// Takes in that robots.txt, or another gate, forbids a probe.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn probe_forbidden(
        &mut self,
        number: u64,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        match self.probes.remove(&number) {
            Some(flight) => self.probe_came_to(flight.asker, Fetched::Forbidden, now),
            None => Ok(()),
        }
    }

    fn probe_came_to(
        &mut self,
        asker: Asker,
        fetched: Fetched,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        let (id, is_reference) = match asker {
            Asker::Rule { id, is_reference } => (id, is_reference),
            Asker::Audit(page) => {
                for audited in self.looks.end(page, fetched, now) {
                    self.tell_verified(audited, fetched, now)?;
                }
                return Ok(());
            }
            // What a host may not be asked says nothing about how it answers.
            Asker::Host { .. } => return Ok(()),
        };
        let Some(pair) = self.pairs.get_mut(&id) else { return Ok(()) };
        if is_reference {
            pair.reference = Some(fetched);
        } else {
            pair.outcome = Some(fetched);
        }
        let (Some(outcome), true) =
            (pair.outcome, !pair.wants_reference || pair.reference.is_some())
        else {
            return Ok(());
        };
        let reference = pair.reference;
        self.pairs.remove(&id);
        self.tell(Tell::Probed(id, outcome, reference, now));
        Ok(())
    }

    /// Returns true if a probe is still awaited; its row may have outlived the run that asked.
    pub(super) fn awaits_probe(&self, number: u64) -> bool {
        self.probes.contains_key(&number)
    }

    /// Tells the miner something and notes what it says at once; [`State::apply_said`] applies
    /// that, between visits.
    fn tell(&mut self, message: Tell) {
        let said = self.learner.tell(message);
        self.said.extend(said);
    }

    /// Applies what the miner has said, each in a batch of its own; returns true if there was
    /// anything.
    ///
    /// # Errors
    /// Returns what the database or the log of rules says.
    pub(super) fn apply_said(&mut self, now: Timestamp) -> Result<bool, CrawlError> {
        let heard = self.learner.listen();
        self.said.extend(heard);
        let said = std::mem::take(&mut self.said);
        let any = !said.is_empty();
        for one in said {
            let mut batch = Batch::default();
            match one {
                Said::Rules(set, book, keys) => {
                    // Stored first, whole: after a crash the state has the old version or the new.
                    meta::put_rule_book(&mut batch, &self.db, &book);
                    if self.enforces {
                        self.note_keys(&mut batch, &keys)?;
                    }
                    self.commit(batch, now)?;
                    if self.enforces {
                        self.rules.publish(set);
                    }
                }
                Said::Events(events) => self.note_events(&events)?,
                Said::Shown(rules, probes) => self.seen_of.refresh(&rules, probes),
                Said::Heard(_) => {}
                Said::Probes(probes) => {
                    for probe in probes {
                        self.ask_probe(&mut batch, probe)?;
                    }
                    self.commit(batch, now)?;
                }
                Said::Keep(book, sites, row) => {
                    meta::put_rule_book(&mut batch, &self.db, &book);
                    for (site, sample) in sites {
                        let kind = samples::Kind::Sample;
                        match sample {
                            Some(sample) => {
                                samples::put(&mut batch, &self.db, kind, site.as_str(), &sample);
                            }
                            None => samples::delete(&mut batch, &self.db, kind, site.as_str()),
                        }
                    }
                    told::forget(&mut batch, &self.db, row)?;
                    self.commit(batch, now)?;
                }
            }
        }
        Ok(any)
    }

    fn note_events(&mut self, events: &[RuleEvent]) -> Result<(), CrawlError> {
        for event in events {
            self.rule_log.write(event)?;
            self.seen_of.note_rule(event);
            if event.readmits() {
                self.tally.rules_retracted += u64::from(event.from == Some(RuleState::Enforced));
                self.readmit.push_back(event.rule);
            }
        }
        Ok(())
    }

    fn ask_probe(&mut self, batch: &mut Batch, probe: Probe) -> Result<(), CrawlError> {
        if self.probes.len() >= PROBES_MAX {
            return Ok(());
        }
        let (id, wants_reference) = (probe.id, probe.reference.is_some());
        self.pairs.insert(id, Pair { wants_reference, ..Pair::default() });
        let flight =
            |is_reference| ProbeFlight { asker: Asker::Rule { id, is_reference }, hops: 0 };
        self.enqueue_probe(batch, &probe.url, flight(false))?;
        if let Some(reference) = &probe.reference {
            self.enqueue_probe(batch, reference, flight(true))?;
        }
        Ok(())
    }

    /// Puts a probe into its host's queue, under a number of its own.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn enqueue_probe(
        &mut self,
        batch: &mut Batch,
        url: &CrawlUrl,
        flight: ProbeFlight,
    ) -> Result<(), DbError> {
        // What a host says to nonsense decides what its next pages are; rules have time.
        let priority = match flight.asker {
            Asker::Host { .. } => 0,
            Asker::Rule { .. } | Asker::Audit(_) => PRIORITIES as u8 - 1,
        };
        self.serials.probe += 1;
        let number = self.serials.probe;
        self.probes.insert(number, flight);
        let host = self.host_id(&url.host())?;
        let item = Item::Probe { url: url.to_string(), number };
        self.enqueue(batch, host, priority, &item)?;
        Ok(())
    }

    /// Passes an operator's decision about a rule on to the miner; returns false if it is too busy
    /// to hear it.
    pub(super) fn decide_rule(&mut self, id: RuleId, enforce: bool, now: Timestamp) -> bool {
        let dropped = self.learner.dropped();
        self.tell(Tell::Decide(id, enforce, now));
        self.learner.dropped() == dropped
    }

    /// Asks the miner to show its rules; it answers when it has time.
    pub(super) fn ask_for_rules(&mut self) {
        if self.learner.is_on() {
            self.tell(Tell::Show);
        }
    }

    /// Waits until the miner has heard everything, and applies what it says; returns true if it
    /// had anything to say but what it keeps, or has not heard everything yet.
    ///
    /// # Errors
    /// Returns what the database or the log of rules says.
    pub(super) fn hear_miner(&mut self, now: Timestamp) -> Result<bool, CrawlError> {
        if !self.learner.is_on() {
            return Ok(false);
        }
        let (said, is_done) = self.learner.last_words(LAST_WORDS);
        let news = said.iter().any(|one| !matches!(one, Said::Keep(..) | Said::Heard(_)));
        self.said.extend(said);
        self.apply_said(now)?;
        Ok(news || !is_done)
    }

    /// Ends the miner's part of a run. A doubt whose second look does not come to pass any more is
    /// told as one that was not settled: the URL was fetched, and speaks only once.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn close_learning(&mut self, now: Timestamp) -> Result<(), CrawlError> {
        if self.learner.is_on() {
            self.probes.clear();
            for audited in std::mem::take(&mut self.looks.awaiting).into_values().flatten() {
                self.tell_unsettled(audited, now)?;
            }
            self.hear_miner(now)?;
        }
        Ok(())
    }
}

/// Returns what comes with a page about the URLs of its site; redirects and canonical links are
/// part of the observation.
fn declarations(url: &CrawlUrl, answer: &Answer, facts: &PageFacts) -> Vec<DeclaredRule> {
    let header = answer.header_text("no-vary-search");
    let mut rules = header.map(|text| declared::no_vary_search(&text, url)).unwrap_or_default();
    let of_sitemap = |link: &&Link| link.found == Found::Manifest && link.url.site() == url.site();
    rules.extend(declared::listed(
        facts.links.iter().filter(of_sitemap).map(|link| &link.url).take(LISTED_MAX),
    ));
    rules
}

/// Returns true where two fetches showed one page.
fn is_like(known: Fetched, shown: Fetched) -> bool {
    known.judged_by(shown) == Finding::Same && !known.differs_from(shown)
}

/// Returns what a page shows the miner.
pub(super) fn fetched_of(answer: &Answer, facts: Option<&PageFacts>) -> Fetched {
    match answer.status {
        429 | 500..=599 => Fetched::Unavailable,
        400..=499 => Fetched::Gone,
        200..=299 => {
            let analysis = facts.and_then(|facts| facts.analysis.as_ref());
            // What is cut at our own limit is the same each time.
            let whole = matches!(answer.truncated, None | Some(Truncated::Length))
                && !answer.body.is_empty();
            let junk = facts.is_some_and(|facts| facts.junk.is_some());
            let is_html = facts.is_none_or(|facts| facts.is_html);
            page_of(whole.then_some(&answer.body[..]), is_html, analysis, junk)
        }
        _ => Fetched::Unavailable,
    }
}

/// Bytes from which on a body that is no HTML says which document it is: `OK`, `[]` or an image of
/// one pixel is what many answer with.
pub(crate) const BODY_MIN: usize = 64;

/// Returns what a page shows the miner, given its whole body, whether that is HTML, what is known
/// of its text, and whether it is an error page.
pub(crate) fn page_of(
    body: Option<&[u8]>,
    is_html: bool,
    analysis: Option<&Analysis>,
    junk: bool,
) -> Fetched {
    let digest = body.map(xxhash_rust::xxh3::xxh3_64);
    let tells = !is_html && body.is_some_and(|body| body.len() >= BODY_MIN);
    let bytes = digest.filter(|_| tells).map_or(Text::Unknown, Text::Bytes);
    Fetched::Page {
        text: analysis.map_or(bytes, text_of),
        digest,
        bag: analysis.filter(|analysis| !analysis.thin).map(|analysis| analysis.bag),
        junk,
    }
}

fn text_of(analysis: &Analysis) -> Text {
    match &analysis.sketch {
        // Before the site's model is there, what repeats on its pages still stands in the text, and
        // a sketch of both compares with no later one.
        Some(sketch) if !analysis.thin && analysis.model_version > 0 => {
            Text::Main(Sketch { mins: *sketch.bytes(), shingles: analysis.words })
        }
        _ if analysis.thin && analysis.model_version > 0 => {
            let words: BTreeSet<u64> = analysis.main_words.iter().copied().collect();
            Sketch::of_words(words).map_or(Text::Unknown, Text::Thin)
        }
        _ => Text::Unknown,
    }
}

/// Encodes what a page shows the miner, to be compared with an audit later, and whether the page
/// keeps something back that another form of it may give: where it leads to, or itself from the
/// archive.
pub(super) fn evidence(fetched: &Fetched, withheld: bool) -> Vec<u8> {
    postcard::to_stdvec(&(fetched, withheld)).unwrap_or_default()
}

/// Returns what a page showed the miner.
pub(super) fn evidence_of(bytes: &[u8]) -> Option<Fetched> {
    postcard::from_bytes(bytes).ok()
}

/// Returns true where a page keeps something back; what older programs wrote does not say.
pub(super) fn is_withheld(bytes: &[u8]) -> bool {
    postcard::from_bytes(bytes).is_ok_and(|(_, withheld): (Fetched, bool)| withheld)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::content::Bag;
    use crate::crawl::checks::CONTESTED_FORMS;
    use crate::crawl::learner::{Learner, Mind};
    use crate::crawl::readmit::tests::{done, drop_parameter, open, record, url};
    use crate::db::MemoryEnv;
    use crate::dust::{Rule, RuleBook};

    /// A page of these words.
    fn page(words: std::ops::Range<u64>) -> Fetched {
        let bag = Some(Bag::of(words.clone()));
        let text = Sketch::of_shingles(words).map_or(Text::Unknown, Text::Main);
        Fetched::Page { text, digest: None, bag, junk: false }
    }

    /// Returns a rule in force after the audit of a page that has some words more than the one that
    /// stands for it, which at a second look came to this.
    fn audited_beside(now_shown: Fetched) -> Rule {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let rule = drop_parameter("sid");
        let id = rule.id;
        let mut book = RuleBook::new(Default::default()).proving_by_pairs();
        book.import(vec![rule]);
        assert!(book.enforce(id, "as the test says", now));
        state.learner = Learner::Inline(Box::new(Mind::new(book, false, BTreeSet::new())));
        let (known, audited) = (page(0..300), page(0..340));
        assert!(known.differs_from(audited));
        let pair = (url("http://a.example/p?sid=1"), url("http://a.example/p"));
        let is_own = true;
        let rules = vec![id];
        let (leads_on, by) = (false, pair.1.fingerprint());
        let told = Audited { rules, pair, stands: None, audited, leads_on, known, is_own, by };
        state.tell_verified(told, now_shown, now).unwrap();
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

    /// A checkpoint that was on its way ended the wait for the miner's last words, and the crawl
    /// with it, before a rule that had fallen gave back what it hid.
    #[test]
    fn the_crawl_hears_the_miner_to_the_end_before_it_ends() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let (tell, told) = sync_channel(8);
        let (saying, said) = sync_channel(8);
        state.learner = Learner::over(tell, said);
        saying.send(Said::Keep(Vec::new(), Vec::new(), 0)).unwrap();
        let miner = std::thread::spawn(move || {
            let asked = told.recv().expect("it is asked for its last words");
            let Tell::Checkpoint(number) = asked else { panic!("{asked:?}") };
            saying.send(Said::Shown(Vec::new(), 0)).unwrap();
            saying.send(Said::Keep(Vec::new(), Vec::new(), 0)).unwrap();
            saying.send(Said::Heard(number)).unwrap();
        });
        assert!(state.hear_miner(now).unwrap(), "it had more to say");
        miner.join().unwrap();
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
            state.learner = Learner::Inline(Box::new(Mind::new(book, false, BTreeSet::new())));
            let holder = url(holder);
            let key = state.rules.snapshot().canonize(&holder).key.fingerprint();
            let mut batch = Batch::default();
            let row = record(&holder, None, became);
            urls::put(&mut batch, &state.db, holder.fingerprint(), &row);
            state.know(&mut batch, key, Known::By(holder.fingerprint()));
            state.commit(batch, now).unwrap();
            Bench { state, rules, now, _env: env, _logs: logs }
        }

        /// Lets a form be fetched that has the key of the holder; returns what is known by then of
        /// each rule: pairs that agreed, and pairs that failed or were no evidence.
        fn fetch(&mut self, form: &str, shown: Fetched, leads_to: Option<&str>) -> [(u32, u32); 2] {
            let leads_to = leads_to.map(url);
            self.fetch_leading(form, shown, Leads { redirect: leads_to.as_ref(), new: 0 })
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
            let number = *bench.state.probes.keys().next().unwrap();
            let flight = bench.state.probes.remove(&number).unwrap();
            bench.state.probe_came_to(flight.asker, english, bench.now).unwrap();
            bench.state.looks = Looks::default();
            bench.known()
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
            while let Some(number) = bench.state.probes.keys().next().copied() {
                let flight = bench.state.probes.remove(&number).unwrap();
                bench.state.probe_came_to(flight.asker, old, bench.now).unwrap();
            }
            bench.state.looks = Looks::default();
            bench.known()
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
        assert!(!first.differs_from(next) && first.differs_by_rows(next));
        let audit = |shown: Fetched, new: u64| {
            let mut bench = Bench::new("http://a.example/d?id=7&sid=1", done(first, false));
            let leads = Leads { redirect: None, new };
            let form = "http://a.example/d?id=7&sid=2";
            let of = bench.fetch_leading(form, shown, leads);
            let Some(number) = bench.state.probes.keys().next().copied() else { return of[0] };
            let flight = bench.state.probes.remove(&number).unwrap();
            bench.state.probe_came_to(flight.asker, first, bench.now).unwrap();
            bench.known()[0]
        };
        assert_eq!(audit(next, 4), (0, 1));
        assert_eq!(
            audit(next, 0),
            (0, 0),
            "labels, if others differ so: nothing is there that is new"
        );
        assert_eq!(audit(list(1_000..1_015), 4), (1, 0), "the same list, and forms of its links");
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
        let number = *bench.state.probes.keys().next().unwrap();
        let flight = bench.state.probes.remove(&number).unwrap();
        bench.state.probe_came_to(flight.asker, shown, bench.now).unwrap();
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
        bench.state.probe_came_to(flight.asker, other, bench.now).unwrap();
        let mut audit = |tail: &str, now: u64| {
            bench.now = Timestamp::from_millis(now);
            let form = format!("http://a.example/d?id=7&sid={tail}");
            (bench.fetch(&form, other, None)[0], bench.state.probes.len())
        };
        assert_eq!(audit("4", 50_000), ((3, 0), 0), "it has changed, as all three say");
        assert_eq!(audit("5", 90_000), ((3, 0), 1), "that was long ago");
    }
}
