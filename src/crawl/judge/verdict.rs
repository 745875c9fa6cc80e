//! What an audit says of the rules behind it, and whom it is told of.
//!
//! Texts are judged first, then words, parts and what stands beside the text: each may find another
//! page where those before it found none. What is found is told of the rules that rewrite the URL,
//! unless those of what stands for it are to blame.

use super::{Audited, Form, Lasts, Look};
use crate::clock::Timestamp;
use crate::content::{Kept, Wording};
use crate::crawl::beside::Differs;
use crate::crawl::evidence::evidence_of;
use crate::crawl::learner::{AuditedForm, Tell};
use crate::crawl::state::State;
use crate::db::families::{seen, urls};
use crate::db::{DbError, Family};
use crate::dust::{Difference, Fetched, Finding, RuleId, Words, are_of_chance, are_other_figures};
use crate::frontier::UrlState;
use crate::url::{CrawlUrl, Fingerprint};

/// How many times as often as a rule another one must have agreed to be above suspicion beside it.
const FAR_BETTER: u32 = 2;

/// Pairs that have agreed for a rule from which on what it makes of a URL need not be seen for
/// each.
pub(super) const AGREED_BETWEEN: u32 = 16;

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
    /// Tells the miner of an audit: what it found, or what a comparison of both pages says.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn tell_audited(
        &mut self,
        mut told: Audited,
        found: Option<Finding>,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let mut found = self.judged(&told, found)?;
        if found == Finding::Failed {
            let Audited { known, audited, wordings, leads_on, .. } = told;
            let (url, key) = (&told.pair.0, &told.pair.1);
            tracing::debug!(
                %url, %key, ?known, ?audited, ?wordings, leads_on, "it shows another page"
            );
            if known.is_page() {
                self.checks.contest(told.by);
            }
            match self.whose_fault(&told)? {
                Fault::Own => self.blame_own(&mut told)?,
                Fault::Unknown => found = Finding::Unclear,
                Fault::Theirs(cleared) => return self.blame_theirs(told, cleared, now),
            }
        }
        if found == Finding::Same {
            self.note_agreed(&mut told);
        }
        self.tell_of_both(told, found, now);
        Ok(())
    }

    /// Returns what an audit says: what was found, or what a comparison of both pages says.
    ///
    /// # Errors
    /// Returns what the database says.
    fn judged(&mut self, told: &Audited, found: Option<Finding>) -> Result<Finding, DbError> {
        // By what was known before this one is counted among others.
        let is_put_off = told.wordings.is_some()
            && !told.says_no_more
            && self.checks.looks.is_unknown(&told.pair.0)
            && !self.has_label(told);
        let is_judged = found.is_some();
        let found = found.unwrap_or_else(|| self.judged_by_texts(told));
        let found = match self.judged_by_words(told, found) {
            Finding::Failed if has_another_clock(told) => Finding::Unclear,
            Finding::Failed if !is_judged && self.says_nothing_for_good(told) => Finding::Unclear,
            Finding::Same if is_put_off => Finding::Unclear,
            Finding::Same if self.is_seen_at_its_end_alone(told)? => Finding::Unclear,
            found => found,
        };
        Ok(self.judged_by_the_rest(told, found))
    }

    /// Returns what a comparison of both texts says, and of what stands around them.
    fn judged_by_texts(&self, told: &Audited) -> Finding {
        let Audited { known, audited, .. } = *told;
        let differ_by = known.differing(audited);
        let is_by_chance = || {
            !told.leads_on
                && known.is_mostly(audited)
                && self.checks.may_differ_by_chance(&told.pair.0, &told.rules, differ_by)
        };
        match known.judged_by(audited) {
            Finding::Unclear if is_by_chance() => Finding::Same,
            by_texts => by_texts,
        }
    }

    /// Returns true where the words that a page has for its own are none that it says for good: no
    /// form under the same rules said any at two looks, and this one hardly does; and of one that
    /// came before its page it is not asked what it says.
    fn says_nothing_for_good(&self, told: &Audited) -> bool {
        let Audited { known, audited, is_own, .. } = *told;
        let url = &told.pair.0;
        let may_be_chance = || {
            let changes_by = self.checks.looks.changes_by(url);
            known.judged_by(audited) == Finding::Same
                || are_of_chance(known.differing(audited), changes_by)
        };
        let says_nothing = || match told.lasts {
            Lasts::Little => true,
            Lasts::Unknown => self.checks.may_say_nothing(url, &told.rules, is_own),
            Lasts::Own { .. } => false,
        };
        !told.leads_on && may_be_chance() && says_nothing()
    }

    /// Returns what an audit says, given what both texts do: by parts, as the pages of a book of
    /// pictures have the same words and are not the same page; by what lasts of what it says; and
    /// by what stands beside its text.
    fn judged_by_the_rest(&mut self, told: &Audited, found: Finding) -> Finding {
        if found == Finding::Failed {
            return found;
        }
        let (url, key) = &told.pair;
        let by_parts = self.checks.note_parts((&told.rules, url), told.lacks.is_some());
        let found = match told.lasts {
            Lasts::Own { is_page: true } => Finding::Failed,
            Lasts::Own { is_page: false } => Finding::Unclear,
            Lasts::Little | Lasts::Unknown => by_parts.unwrap_or(found),
        };
        if found == Finding::Failed {
            return found;
        }
        self.checks.note_beside(&told.rules, (url, key), &told.beside).unwrap_or(found)
    }

    /// Notes that the rules which rewrite a URL have failed: the one of them alone that is to
    /// blame, if it is known.
    ///
    /// # Errors
    /// Returns what the database says.
    fn blame_own(&mut self, told: &mut Audited) -> Result<(), DbError> {
        if told.is_own
            && told.rules.len() > 1
            && let Some(rule) = self.to_blame(&told.rules, &told.pair.0, told.audited)?
        {
            told.rules = vec![rule];
        }
        self.note_failed(&told.rules, (&told.pair.0, &told.pair.1), told.by)
    }

    /// Tells that the rules of what stands for a URL have failed, and that its own have not, where
    /// the page that those lead to is named, with what it showed.
    ///
    /// # Errors
    /// Returns what the database says.
    fn blame_theirs(
        &mut self,
        told: Audited,
        cleared: Option<(CrawlUrl, Fetched)>,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let theirs = told.theirs();
        let Audited { rules, pair: (url, key), stands, audited, by, .. } = told;
        let Some((_, stands)) = stands else { return Ok(()) };
        self.note_failed(&theirs, (&stands, &key), by)?;
        // What stands for the URL is another page than the URL of its key is.
        let failed = AuditedForm { url: stands.clone(), key, stands: url.clone(), shown: audited };
        self.tell(Tell::Audited(theirs, Box::new(failed), Finding::Failed, now));
        if let Some((key, shown)) = cleared {
            let cleared = AuditedForm { url, stands: key.clone(), key, shown };
            self.tell(Tell::Audited(rules, Box::new(cleared), Finding::Same, now));
        }
        Ok(())
    }

    /// Notes that both pages are one, and leaves the rules to be told of it that are proved by it:
    /// not those that take the same from both of their addresses.
    fn note_agreed(&mut self, told: &mut Audited) {
        let by = told.by;
        if !told.led_to.is_empty() {
            let (rules, pair, known) = (told.rules.clone(), told.pair.clone(), told.known);
            self.behind.agreed(&told.led_to, &Form { rules, pair, by, known });
        }
        let (url, key) = (&told.pair.0, &told.pair.1);
        if let Some((theirs, stands)) = &mut told.stands {
            let set = self.rules.snapshot();
            told.rules.retain(|one| !set.takes_from_both(*one, url, stands));
            theirs.retain(|one| !set.takes_from_both(*one, stands, url));
            if told.is_own {
                self.checks.compared.note_cleared(theirs, by);
            }
        }
        self.checks.compared.note_agreed(&told.rules, by, (url, key));
    }

    /// Tells of the rules that rewrite a URL; and where both pages are one, of those that rewrite
    /// what stands for it, if they are to be proved: two forms of one key that show the same prove
    /// what gave each of them that key. If they do not, it is the one whose turn it was that is
    /// doubted.
    fn tell_of_both(&mut self, told: Audited, found: Finding, now: Timestamp) {
        let Audited { rules, pair: (url, key), stands, known, other, .. } = told;
        let set = self.rules.snapshot();
        let proves = |(rules, stands): &(Vec<RuleId>, CrawlUrl)| {
            found == Finding::Same && set.must_prove(stands, rules)
        };
        if let Some((rules, stands)) = stands.filter(proves) {
            let pair =
                AuditedForm { url: stands, key: key.clone(), stands: url.clone(), shown: known };
            self.tell(Tell::Audited(rules, Box::new(pair), found, now));
        }
        if !rules.is_empty() {
            let pair = AuditedForm { url, key, stands: other, shown: known };
            self.tell(Tell::Audited(rules, Box::new(pair), found, now));
        }
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
    fn whose_fault(&self, told: &Audited) -> Result<Fault, DbError> {
        let Some((_, stands)) = told.stands.as_ref().filter(|_| told.is_own) else {
            return Ok(Fault::Own);
        };
        let (url, rules, shown, by) = (&told.pair.0, &told.rules[..], told.audited, told.by);
        let theirs = &told.theirs();
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
    pub(super) fn tell_verified(
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
    pub(super) fn tell_unsettled(&mut self, told: Audited, now: Timestamp) -> Result<(), DbError> {
        let is_other = told.known.is_contradicted_by(told.audited);
        let found = if is_other { Finding::Failed } else { Finding::Unclear };
        let (lacks, wordings, beside) = (None, None, Differs::default());
        self.tell_audited(Audited { lacks, wordings, beside, ..told }, Some(found), now)
    }
}

/// Returns true where two fetches showed one page.
pub(super) fn is_like(known: Fetched, shown: Fetched) -> bool {
    known.judged_by(shown) == Finding::Same && !known.differs_from(shown)
}

/// Returns true for a page that says the same as the one that stands for it but for the numbers of
/// a clock or a counter.
fn has_another_clock(told: &Audited) -> bool {
    told.says_same && !told.leads_on && told.known.has_words_but_clock(told.audited)
}
