//! Pages that pass: what a server says in place of many pages for a while, with a status as if all
//! were well, such as that it is being maintained, is busy, or prepares what was asked for.
//!
//! Nothing tells such a page from others when it comes. If it is the first form of its key that is
//! fetched it stands for the others, and the page is lost with them. But it shows when an audit of
//! one of these forms leads to a second look: what stood for it has become another page, and what
//! it had shown first was shown by a page of another key as well. That text is no page, then. What
//! showed it stands for nothing any more, all that was suppressed for it comes back, and it is
//! fetched once more itself, as after an answer with the right status. What shows it later stands
//! for nothing either. Before the crawl ends one form is fetched for each text that stands
//! for pages of several keys, as far as that is little beside what rules have saved.
//!
//! A text is known by the bytes of its page, by its words, or by those of most of it. Bounded, and
//! in memory: [`SHOWN_KEPT`] names of texts, [`SHARED_KEPT`] of those that several URLs have shown,
//! the last [`PASSED_MAX`] of those that pass, and [`WALKS_MAX`] walks through all URLs.

use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroUsize;

use lru::LruCache;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::error::CrawlError;
use super::evidence::{Marks, evidence_of, marks_in};
use super::state::State;
use super::steer::Job;
use crate::db::families::{suppressed, urls};
use crate::db::{Batch, DbError};
use crate::dust::{Fetched, RuleId};
use crate::frontier::{DoneState, UrlState};
use crate::url::{CrawlUrl, Fingerprint};

/// How the content of such a page is judged.
pub(super) const PASSING: &str = "junk:passing";

/// Names of texts of which it is remembered which pages showed them.
const SHOWN_KEPT: NonZeroUsize = NonZeroUsize::new(4_096).unwrap();

/// Names of texts that pass which are remembered.
const PASSED_MAX: usize = 64;

/// Texts for which it is looked through all URLs what shows them, in a run.
const WALKS_MAX: u32 = 32;

/// URLs that are looked at in one step.
const STEP: usize = 500;

/// Names of texts of which several URLs are remembered that showed them.
const SHARED_KEPT: NonZeroUsize = NonZeroUsize::new(512).unwrap();

/// URLs that are remembered of each.
const SHARING_MAX: usize = 4;

/// Forms that are fetched in a run since what stands for them shows what others do; and URLs that
/// rules have hidden for each of them.
const ASKED_MAX: u64 = 64;
const HIDDEN_FOR_EACH: u64 = 16;

/// The names of one text.
type Names = [Option<u64>; 3];

/// Which texts pass, and which pages have shown the last ones.
#[derive(Debug)]
pub(super) struct Passing {
    /// The first URL that showed a text, and whether it was fetched beside another one of its key:
    /// such a form stands for none.
    shown: LruCache<u64, (Fingerprint, bool)>,
    /// The first few that did, where there are several; of those that stand for others, if any do.
    shared: LruCache<u64, Vec<(Fingerprint, bool)>>,
    passed: VecDeque<u64>,
    walks: u32,
    /// Pages of which a form was fetched since they show what others do.
    asked: BTreeSet<Fingerprint>,
}

impl Default for Passing {
    fn default() -> Self {
        Passing {
            shown: LruCache::sparse(SHOWN_KEPT),
            shared: LruCache::sparse(SHARED_KEPT),
            passed: VecDeque::new(),
            walks: 0,
            asked: BTreeSet::new(),
        }
    }
}

impl Passing {
    fn has_passed(&self, mut names: impl Iterator<Item = u64>) -> bool {
        names.any(|name| self.passed.contains(&name))
    }

    fn note(&mut self, (url, is_beside): (Fingerprint, bool), names: impl Iterator<Item = u64>) {
        for name in names {
            let first = *self.shown.get_or_insert(name, || (url, is_beside));
            if first.0 == url {
                continue;
            }
            let sharing = self.shared.get_or_insert_mut(name, || vec![first]);
            if sharing.iter().any(|(known, _)| *known == url) {
                continue;
            }
            if sharing.len() < SHARING_MAX {
                sharing.push((url, is_beside));
            } else if !is_beside
                && let Some(known) = sharing.iter_mut().find(|(_, is_beside)| *is_beside)
            {
                *known = (url, is_beside);
            }
        }
    }

    /// Returns some URLs that showed one of these texts, where several did.
    fn sharing(&self, names: &[u64]) -> impl Iterator<Item = Fingerprint> {
        names.iter().filter_map(|name| self.shared.peek(name)).flatten().map(|(url, _)| *url)
    }

    fn pass(&mut self, names: &[u64]) {
        self.passed.extend(names);
        let surplus = self.passed.len().saturating_sub(PASSED_MAX);
        self.passed.drain(..surplus);
    }

    /// Returns some URLs that show one text, for each text of which no form was asked for.
    fn unasked(&self) -> Vec<(u64, Vec<Fingerprint>)> {
        let all = self.shared.iter().map(|(name, urls)| {
            let urls: Vec<Fingerprint> = urls.iter().map(|(url, _)| *url).collect();
            (*name, urls)
        });
        all.filter(|(_, urls)| !urls.iter().any(|url| self.asked.contains(url))).collect()
    }
}

/// Returns the names of what a page shows: of its bytes, of its words, and of the block that is
/// most of it, where it has such: a notice may stand below the title of what was asked for.
fn names_of(shown: Fetched, marks: Marks) -> Names {
    let Fetched::Page { digest, .. } = shown else { return Names::default() };
    let wording = marks.wording.unwrap_or_default();
    let named =
        |what: &str, sum: u32| (sum != 0).then(|| xxh3_64_with_seed(what.as_bytes(), sum.into()));
    [digest, named("words", wording.masked_whole), named("bulk", wording.bulk)]
}

fn names_in(done: &DoneState) -> impl Iterator<Item = u64> {
    let shown = evidence_of(&done.evidence).map(|shown| (shown, marks_in(&done.evidence)));
    shown.into_iter().flat_map(|(shown, marks)| names_of(shown, marks)).flatten()
}

/// Returns true where a page was another one at a second look, or a text at all. Where it was none
/// any more, nothing is said of what it had shown.
fn has_gone(known: Fetched, now: Fetched) -> bool {
    let is_other = known.is_contradicted_by(now) || known.thin().is_some() && now.can_testify();
    now.is_page() && is_other
}

impl State {
    /// Takes note of what a URL shows, which may be fetched beside another one of its key, where
    /// rules are learned. Returns true for a page that passes.
    pub(super) fn note_shown(
        &mut self,
        url: (Fingerprint, bool),
        (shown, marks): (Fetched, Marks),
    ) -> bool {
        if !self.learner.is_on() {
            return false;
        }
        let names = names_of(shown, marks);
        self.passing.note(url, names.into_iter().flatten());
        self.passing.has_passed(names.into_iter().flatten())
    }

    /// Takes in what a second look at a page showed that stands for others. Where what it showed
    /// before is gone, and pages of other keys had shown that, it was none of the pages.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn note_second_look(
        &mut self,
        batch: &mut Batch,
        page: Fingerprint,
        now_shown: (Fetched, Marks),
    ) -> Result<(), DbError> {
        let Some((known, marks)) = self.evidence_at(page)? else { return Ok(()) };
        if !has_gone(known, now_shown.0) || self.passing.walks >= WALKS_MAX {
            return Ok(());
        }
        let left = names_of(now_shown.0, now_shown.1);
        let names = names_of(known, marks).into_iter().filter(|name| !left.contains(name));
        let names: Vec<u64> = names.flatten().collect();
        if self.passing.has_passed(names.iter().copied())
            || !self.is_shown_elsewhere(page, &names)?
        {
            return Ok(());
        }
        tracing::info!(?names, "a text that stood for several pages is gone from one of them");
        self.passing.walks += 1;
        self.passing.pass(&names);
        self.bring_back_later(batch, Job::Disown { names });
        Ok(())
    }

    /// Returns true where a page has shown one of these texts that no rules make one with another.
    fn is_shown_elsewhere(&self, page: Fingerprint, names: &[u64]) -> Result<bool, DbError> {
        let set = self.rules.snapshot();
        let Some(url) = self.url_of(page)? else { return Ok(false) };
        let key = set.canonize(&url).key;
        for other in self.passing.sharing(names).filter(|other| *other != page) {
            let is_another = |other: CrawlUrl| {
                let is_link = |link, page| set.led_back(link, page).is_some();
                set.canonize(&other).key != key && !is_link(&other, &url) && !is_link(&url, &other)
            };
            if self.url_of(other)?.is_some_and(is_another) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Before the crawl ends, fetches a form of one page for each text that stands for pages of
    /// several keys: it may be none of them. Returns true if there is any to fetch.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn ask_what_is_shared(&mut self, batch: &mut Batch) -> Result<bool, DbError> {
        let most = ASKED_MAX.min(self.counters.suppressed / HIDDEN_FOR_EACH);
        let mut any = false;
        for (name, urls) in self.passing.unasked() {
            for by in urls {
                if self.passing.asked.len() as u64 >= most {
                    return Ok(any);
                }
                let Some((form, how)) = suppressed::of(&self.db, by, 1)?.pop() else { continue };
                if self.passing.asked.contains(&by)
                    || self.checks.awaits(form)
                    || !self.is_shown_elsewhere(by, &[name])?
                    || !self.restore_suppressed(batch, by, form)?
                {
                    continue;
                }
                let rules: Vec<RuleId> = how.rules.iter().copied().map(RuleId).collect();
                self.await_audit(form, by, &rules);
                self.passing.asked.insert(by);
                any = true;
                break;
            }
        }
        Ok(any)
    }

    /// Looks through some URLs for what shows a text that passes: it stands for nothing any more,
    /// whether or not it does now, and is fetched once more itself. Returns where to go on, and how
    /// many showed it.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn disown_some(
        &mut self,
        batch: &mut Batch,
        cursor: &[u8],
        names: &[u64],
    ) -> Result<(Option<Vec<u8>>, u64), CrawlError> {
        let db = self.db.clone();
        let (rows, next) = urls::chunk(&db, cursor, STEP)?;
        let mut disowned = 0;
        for (own, record) in rows {
            let UrlState::Done(done) = &record.state else { continue };
            if done.content == PASSING || !names_in(done).any(|name| names.contains(&name)) {
                continue;
            }
            self.give_back(batch, own)?;
            self.counters.junk += 1;
            disowned += u64::from(self.fetch_again(batch, own, record, PASSING)?);
        }
        Ok((next, disowned))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use super::*;
    use crate::clock::Timestamp;
    use crate::crawl::learner::{Learner, Mind};
    use crate::crawl::readmit::tests::{done, drop_parameter, open, record, url};
    use crate::db::MemoryEnv;
    use crate::db::families::suppressed::Suppression;
    use crate::dust::{RuleBook, RuleSet, Sketch, Text};

    fn page(words: std::ops::Range<u64>) -> Fetched {
        let digest = Some(words.start);
        let text = Sketch::of_shingles(words).map_or(Text::Unknown, Text::Main);
        Fetched::Page { text, digest, bag: None, junk: false }
    }

    /// Fetches pages under a rule that hides another form of each, and looks at the first of them
    /// again, which shows `later` by then. Returns how many of the hidden forms, and of the pages,
    /// wait once all work is done, and whether there was any.
    fn waiting(pages: &[(&str, Fetched)], later: Fetched) -> (usize, usize, bool) {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let rule = drop_parameter("sid");
        let rules = vec![rule.id.0];
        state.rules.publish(RuleSet::compile(1, vec![Arc::new(rule)], 0.0).unwrap());
        let book = RuleBook::new(Default::default());
        state.learner = Learner::Inline(Box::new(Mind::new(book, false, Default::default())));
        let mut batch = Batch::default();
        let of = |tail: &str| url(&format!("http://a.example{tail}"));
        for (tail, shown) in pages {
            let (by, form) = (of(tail), of(&format!("{tail}&sid=9")));
            urls::put(
                &mut batch,
                &state.db,
                by.fingerprint(),
                &record(&by, None, done(*shown, false)),
            );
            let how = Suppression { rules: rules.clone(), at: now };
            let (by, own) = (by.fingerprint(), form.fingerprint());
            suppressed::put(&mut batch, &state.db, by, own, &how);
            let gone = UrlState::Suppressed { by, rules: rules.clone(), version: 1, at: now };
            urls::put(&mut batch, &state.db, own, &record(&form, None, gone));
            assert!(!state.note_shown((by, false), (*shown, Marks::default())), "not yet");
        }
        state.commit(batch, now).unwrap();
        let mut batch = Batch::default();
        let first = of(pages[0].0).fingerprint();
        state.note_second_look(&mut batch, first, (later, Marks::default())).unwrap();
        state.commit(batch, now).unwrap();
        let is_due = |job: &Job| matches!(job, Job::Disown { .. });
        let was_due = state.changes.jobs.iter().any(is_due);
        while state.work(&HashSet::new(), now).unwrap() {}
        while state.readmit_some(now).unwrap() {}
        let waits = |tail: &str| {
            let record = urls::get(&state.db, of(tail).fingerprint()).unwrap().unwrap();
            matches!(record.state, UrlState::Queued(_))
        };
        let forms = pages.iter().filter(|(tail, _)| waits(&format!("{tail}&sid=9"))).count();
        (forms, pages.iter().filter(|(tail, _)| waits(tail)).count(), was_due)
    }

    /// A notice of maintenance, with status 200, was the first form that was fetched of each page
    /// that was asked for meanwhile, and stood for the others for good.
    #[test]
    fn what_stood_for_several_pages_stands_for_none_once_it_is_gone_from_one() {
        let (notice, text) = (page(0..50), page(1_000..1_300));
        let pages = [("/p?id=1", notice), ("/p?id=2", notice), ("/p?id=3", page(5_000..5_300))];
        assert_eq!(waiting(&pages, text), (2, 2, true));
        assert_eq!(waiting(&pages, notice), (0, 0, false), "it is still there");
        assert_eq!(waiting(&pages, Fetched::Gone), (0, 0, false), "the page was deleted");
        assert_eq!(waiting(&[pages[0], pages[2]], text), (0, 0, false), "no other page showed it");
        let forms = [("/p?id=1", notice), ("/p?sid=2&id=1", notice)];
        assert_eq!(waiting(&forms, text), (0, 0, false), "another form of one page did");
    }

    /// The first forms that showed a notice were audits, and stood for nothing: no form of a page
    /// that showed it too, and stood for others, was fetched to see whether it was one.
    #[test]
    fn of_pages_that_share_a_text_those_are_remembered_that_stand_for_others() {
        let mut passing = Passing::default();
        let of = |n: u128| Fingerprint(n);
        (0..20).for_each(|n| passing.note((of(n), n < 18), [7].into_iter()));
        (30..40).for_each(|n| passing.note((of(n), true), [7].into_iter()));
        let sharing: BTreeSet<Fingerprint> = passing.sharing(&[7]).collect();
        assert_eq!(sharing.len(), SHARING_MAX);
        assert!(sharing.contains(&of(18)) && sharing.contains(&of(19)), "{sharing:?}");
        assert_eq!(passing.unasked(), [(7, passing.sharing(&[7]).collect())]);
    }
}
