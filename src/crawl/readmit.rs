//! The way back: URLs that rules suppressed return to the frontier when the rule falls, or when
//! the URL that stood for them comes to nothing.
//!
//! Nothing is lost on the way: what has to come back is a row of its own, written in the batch that
//! says why, and it is drained in small batches, also after a crash. What has come back is leased
//! like any URL; the first of its key that is fetched stands for the others again.

use super::checks::{Alike, United};
use super::error::CrawlError;
use super::evidence::{Withheld, evidence_of, withheld};
use super::state::State;
use crate::clock::Timestamp;
use crate::db::families::queue::Item;
use crate::db::families::suppressed::{self, KeptBack};
use crate::db::families::urls;
use crate::db::{Batch, DbError};
use crate::dust::{Fetched, RuleId};
use crate::frontier::{DoneState, Rank, UrlRecord, UrlState, priority};
use crate::url::{CrawlUrl, Fingerprint};

/// Suppressed URLs that come back in one batch.
const STEP: usize = 500;

/// URLs on their way back of which it is remembered what stood for them: evidence against rules,
/// which is lost with a crash, and without which nothing else is.
const STOOD_MAX: usize = 100_000;

/// Steps from a suppressed URL to the one that stands for it in the end; more are taken for none.
const CHAIN_MAX: usize = 16;

/// Returns true where a URL may stand for others of its key: it waits, or it showed a page. What
/// cannot be fetched, and what is an error page in all but name, stands for nothing. Nor, by
/// itself, does what redirects: the page is where that leads to, which stands for the others if it
/// has their key. An old session may lead to the front page, and a new one to what was asked for.
/// Whether it does all the same, as what keeps something back may, is for [`State::is_kept_back`]
/// to say.
fn stands(record: &UrlRecord) -> bool {
    match &record.state {
        UrlState::Queued(_) | UrlState::Suppressed { .. } => true,
        UrlState::Done(done) => shows_something(done) || redirects(done),
        UrlState::Refused { .. } | UrlState::Failed { .. } => false,
    }
}

/// Returns true where a URL that was fetched showed a page, and all of it: another form may lead on
/// where this one forbids to follow it, as views to print do, or be archived.
pub(super) fn shows_a_page(done: &DoneState) -> bool {
    shows_something(done) && withheld(&done.evidence).is_none()
}

fn redirects(done: &DoneState) -> bool {
    matches!(withheld(&done.evidence), Some(Withheld::Page(_)))
}

/// Returns true where a URL that was fetched showed a page, whatever that keeps back. No page is
/// asked for on condition that it has changed, so that one which says it has not shows nothing. An
/// answer that is empty, or that broke off, is a failure of the server, whatever its status says:
/// under another form it may show the page. Nor does one that a host gave in trouble: it may be a
/// page that says so.
fn shows_something(done: &DoneState) -> bool {
    let is_page = matches!(done.status, 200..=299) && !done.content.starts_with("junk");
    let is_nothing =
        |shown| matches!(shown, Fetched::Page { digest: None, .. } | Fetched::Unavailable);
    is_page && !evidence_of(&done.evidence).is_some_and(is_nothing)
}

/// Returns what a URL that was fetched keeps back: a page, if it is the first of its key that does,
/// and what redirects always.
pub(super) fn withholds(record: &UrlRecord) -> Option<Withheld> {
    match &record.state {
        UrlState::Done(done) => withheld(&done.evidence),
        _ => None,
    }
}

impl State {
    /// Returns the URL that stands for `own`, if it is suppressed in favour of `by`: `by`, or what
    /// stands for that. None where it would be `own` itself, as when rules changed and each of two
    /// URLs has the other's key, or where it came to nothing.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn stand_in(
        &self,
        own: Fingerprint,
        by: Fingerprint,
    ) -> Result<Option<Fingerprint>, DbError> {
        let mut at = by;
        for _ in 0..CHAIN_MAX {
            if at == own {
                return Ok(None);
            }
            let Some(record) = urls::get(&self.db, at)? else { return Ok(None) };
            match &record.state {
                // When a rule falls, what it hid waits to come back, and what stood for it then
                // stands for it no more.
                // That it was found on another page says nothing of other forms of its own key.
                UrlState::Suppressed { rules, .. } if self.is_by_link(rules) => return Ok(None),
                UrlState::Suppressed { by, rules, .. } if self.are_in_force(rules) => at = *by,
                _ => return Ok(stands(&record).then_some(at)),
            }
        }
        Ok(None)
    }

    /// Returns what a URL that was fetched keeps back: see [`withholds`].
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn withholds(&self, url: Fingerprint) -> Result<Option<Withheld>, DbError> {
        Ok(urls::get(&self.db, url)?.and_then(|record| withholds(&record)))
    }

    /// Returns true where what would stand for a URL keeps something back that this one may give,
    /// since some of the rules that make both one page have not shown that it would not.
    pub(super) fn is_kept_back(&self, united: &United) -> bool {
        united
            .withholds
            .is_some_and(|view| !self.checks.compared.keep_back_alike(&united.all, view))
    }

    /// Returns true where that is so, and notes what the page that is fetched is to be compared
    /// with: where it does not give it either, what the two agree in is taken for the wish of the
    /// site, or no form of such a page would ever stand for another.
    pub(super) fn notes_kept_back(
        &mut self,
        own: Fingerprint,
        by: Fingerprint,
        united: &United,
    ) -> bool {
        let is_kept_back = self.is_kept_back(united);
        if is_kept_back && own != by && self.stood.len() < STOOD_MAX {
            self.stood.insert(own, by);
        }
        is_kept_back
    }

    /// Takes in whether a page keeps back what another one of its key does. Where a rule was taken
    /// to make one page only of those that do alike, and is shown not to, all that it hides for
    /// such pages comes back, and is judged anew.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn note_kept_back(
        &mut self,
        batch: &mut Batch,
        url: &CrawlUrl,
        other: Fingerprint,
        alike: Alike,
    ) -> Result<(), DbError> {
        let set = self.rules.snapshot();
        let United { all, withholds, .. } = self.united_by(&set, url, other)?;
        let Some(view) = withholds else { return Ok(()) };
        for rule in all {
            if self.checks.compared.kept_back((rule, view), alike) {
                let how = KeptBack { rule: rule.0, view, is_due: true };
                suppressed::put_kept_back(batch, &self.db, how);
                self.rejudged.push_back(((rule, view), Fingerprint(0)));
            }
        }
        Ok(())
    }

    fn are_in_force(&self, rules: &[u64]) -> bool {
        let set = self.rules.snapshot();
        rules.iter().all(|rule| set.rule(RuleId(*rule)).is_some())
    }

    fn is_by_link(&self, rules: &[u64]) -> bool {
        let set = self.rules.snapshot();
        rules.iter().any(|rule| set.is_self_link(RuleId(*rule)))
    }

    /// Notes that a URL came to nothing: what it stood for comes back, and it is compared with
    /// nothing any more, so that its rules are checked by other URLs.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn give_back(&mut self, batch: &mut Batch, url: Fingerprint) -> Result<(), DbError> {
        self.checks.end(url);
        self.stood.remove(&url);
        if !suppressed::of(&self.db, url, 1)?.is_empty() {
            self.note_returning(batch, url);
        }
        Ok(())
    }

    /// Notes that what is suppressed in favour of a URL comes back, if there is any.
    pub(super) fn note_returning(&mut self, batch: &mut Batch, url: Fingerprint) {
        if self.returning.insert(url) {
            suppressed::put_returning(batch, &self.db, url);
        }
    }

    /// Returns true while URLs are on their way back.
    pub(super) fn is_readmitting(&self) -> bool {
        !self.readmit.is_empty()
            || !self.rejudged.is_empty()
            || !self.returning.is_empty()
            || self.checks.has_contested()
    }

    /// Puts some of the URLs that have to come back into the frontier; returns true if there may
    /// be more.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn readmit_some(&mut self, now: Timestamp) -> Result<bool, CrawlError> {
        if self.ask_contested(now)? {
            return Ok(true);
        }
        if let Some(by) = self.returning.first().copied() {
            let rows = suppressed::of(&self.db, by, STEP)?;
            let mut batch = Batch::default();
            for (url, how) in &rows {
                if !self.restore_suppressed(&mut batch, by, *url)? {
                    // The row has outlived its URL's record; it must not be found again.
                    suppressed::delete(&mut batch, &self.db, by, *url, how);
                } else if self.stood.len() < STOOD_MAX {
                    self.stood.insert(*url, by);
                }
            }
            if rows.len() < STEP {
                suppressed::delete_returning(&mut batch, &self.db, by);
                self.returning.remove(&by);
            }
            self.commit(batch, now)?;
            return Ok(true);
        }
        if let Some((of, from)) = self.rejudged.front().copied() {
            self.rejudge_some(of, from, now)?;
            return Ok(true);
        }
        let Some(rule) = self.readmit.front().copied() else { return Ok(false) };
        let rows = suppressed::by_rule(&self.db, rule.0, STEP)?;
        if rows.is_empty() {
            self.readmit.pop_front();
            return Ok(true);
        }
        let mut batch = Batch::default();
        for (url, by) in rows {
            if !self.restore_set_aside(&mut batch, (by, url), now)? {
                suppressed::forget(&mut batch, &self.db, rule.0, url);
            }
        }
        self.commit(batch, now)?;
        Ok(true)
    }

    /// Brings back some of what a rule hides for pages that keep something back.
    fn rejudge_some(
        &mut self,
        (rule, view): (RuleId, u64),
        from: Fingerprint,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        let rows = suppressed::by_rule_from(&self.db, rule.0, from, STEP)?;
        let mut batch = Batch::default();
        for (url, by) in &rows {
            if self.withholds(*by)?.is_some() {
                self.restore_suppressed(&mut batch, *by, *url)?;
            }
        }
        // Once through them all: what is suppressed meanwhile is not for such a page.
        self.rejudged.pop_front();
        match rows.last().and_then(|(last, _)| last.0.checked_add(1)) {
            Some(next) if rows.len() == STEP => {
                self.rejudged.push_front(((rule, view), Fingerprint(next)));
            }
            _ => {
                let how = KeptBack { rule: rule.0, view, is_due: false };
                suppressed::put_kept_back(&mut batch, &self.db, how);
            }
        }
        self.commit(batch, now)
    }

    /// Puts a URL back into the frontier that was suppressed in favour of `by` by a rule that fell.
    /// Where its part of the host was parked meanwhile, that is judged anew.
    ///
    /// # Errors
    /// Returns what the database says.
    fn restore_set_aside(
        &mut self,
        batch: &mut Batch,
        (by, own): (Fingerprint, Fingerprint),
        now: Timestamp,
    ) -> Result<bool, DbError> {
        let is_restored = self.restore_suppressed(batch, by, own)?;
        if is_restored && let Some(url) = self.url_of(own)? {
            self.reprieve_part(batch, &url, now)?;
        }
        Ok(is_restored)
    }

    /// Puts a suppressed URL back into the frontier.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn restore_suppressed(
        &mut self,
        batch: &mut Batch,
        by: Fingerprint,
        url: Fingerprint,
    ) -> Result<bool, DbError> {
        let Some(how) = suppressed::get(&self.db, by, url)? else { return Ok(false) };
        suppressed::delete(batch, &self.db, by, url, &how);
        let Some(record) = urls::get(&self.db, url)? else { return Ok(false) };
        let Ok(parsed) = CrawlUrl::parse(&record.url) else { return Ok(false) };
        self.tell_restored(&how.rules);
        if !matches!(record.state, UrlState::Suppressed { .. }) {
            return Ok(false);
        }
        self.texts.note_restored(&parsed.host());
        let rank = Rank { hops: record.hops, belongs: false, stale: false };
        self.put_back(batch, (url, &parsed), record, rank)?;
        self.counters.known = self.counters.known.saturating_sub(1);
        self.counters.suppressed = self.counters.suppressed.saturating_sub(1);
        self.count("restored");
        Ok(true)
    }

    /// Puts a URL that was fetched back into the frontier, to be fetched once more; `why` names
    /// what is counted. Returns false for one that cannot be read.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn fetch_again(
        &mut self,
        batch: &mut Batch,
        own: Fingerprint,
        mut record: UrlRecord,
        why: &str,
    ) -> Result<bool, DbError> {
        let Ok(url) = CrawlUrl::parse(&record.url) else { return Ok(false) };
        let host = self.host_id(&url.host())?;
        self.change_host(host, |host| host.done = host.done.saturating_sub(1))?;
        let belongs = record.path.ends_with(['E', 'R']);
        let rank = Rank { hops: record.hops, belongs, stale: false };
        record.attempts = 0;
        self.put_back(batch, (own, &url), record, rank)?;
        self.counters.done = self.counters.done.saturating_sub(1);
        self.count(why);
        Ok(true)
    }

    fn put_back(
        &mut self,
        batch: &mut Batch,
        (own, url): (Fingerprint, &CrawlUrl),
        mut record: UrlRecord,
        rank: Rank,
    ) -> Result<(), DbError> {
        let host = self.host_id(&url.host())?;
        let place = self.enqueue(batch, host, priority(rank), &Item::Page(own))?;
        self.shape.add(record.hops, place.priority);
        record.state = UrlState::Queued(place);
        urls::put(batch, &self.db, own, &record);
        self.counters.queued += 1;
        self.drain_if_given_up(host)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::Timestamp;
    use crate::crawl::discover::{Link, Via};
    use crate::crawl::evidence::{Marks, evidence};
    use crate::crawl::{Dust, Parts, RepeatSettings, Settings, log};
    use crate::db::families::suppressed::Suppression;
    use crate::db::{Db, MemoryEnv};
    use crate::dust::{LiveRules, Rule, RuleSet, Text};
    use crate::filter::Filter;
    use crate::frontier::{Frontier, HostStatus, Rules};

    /// More than any one batch brings back.
    const FORMS: usize = 1_700;

    /// Opens a state of its own.
    pub(in crate::crawl) fn open(env: &MemoryEnv, logs: &std::path::Path, now: Timestamp) -> State {
        let db = Db::open_in_memory("/state".as_ref(), &Default::default(), env).unwrap();
        let rules = Rules::new(Default::default(), &Default::default());
        let parts = Parts {
            db: Arc::new(db),
            frontier: Frontier::new(Default::default(), rules, now),
            filter: Arc::new(Filter::new(&Default::default(), &[]).unwrap()),
            rules: Arc::new(LiveRules::new(RuleSet::default())),
            settings: Settings::default(),
            robots_settings: Default::default(),
            agent: "crawler".to_owned(),
            log: log::CrawlLog::open(logs, 1 << 24).unwrap(),
            rule_log: log::JsonLog::open(&logs.join("rules.jsonl")).unwrap(),
            repeats: RepeatSettings::default(),
            dust: Dust::default(),
        };
        State::open(parts, now).unwrap().0
    }

    /// Opens a state of its own with a rule in force that is never audited.
    fn open_under(env: &MemoryEnv, logs: &std::path::Path, rule: Rule, now: Timestamp) -> State {
        let state = open(env, logs, now);
        state.rules.publish(RuleSet::compile(1, vec![Arc::new(rule)], 0.0).unwrap());
        state
    }

    pub(in crate::crawl) fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).unwrap()
    }

    pub(in crate::crawl) fn record(
        url: &CrawlUrl,
        via: Option<Fingerprint>,
        state: UrlState,
    ) -> UrlRecord {
        UrlRecord {
            url: url.as_str().to_owned(),
            via,
            path: if via.is_some() { "R" } else { "L" }.to_owned(),
            hops: 1,
            hops_max: None,
            discovered: Timestamp::ZERO,
            state,
            attempts: 0,
            busy: 0,
        }
    }

    fn failed() -> UrlState {
        UrlState::Failed { reason: "gone".into(), detail: String::new(), at: Timestamp::ZERO }
    }

    #[test]
    fn all_that_a_dead_page_stood_for_comes_back_also_after_a_crash() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let by = url("http://a.example/p");
        let forms: Vec<CrawlUrl> =
            (0..FORMS).map(|n| url(&format!("http://a.example/p?sid={n}"))).collect();
        let mut batch = Batch::default();
        urls::put(&mut batch, &state.db, by.fingerprint(), &record(&by, None, failed()));
        for form in &forms {
            let how = Suppression { rules: vec![7], at: now };
            let (by, own) = (by.fingerprint(), form.fingerprint());
            suppressed::put(&mut batch, &state.db, by, own, &how);
            let gone = UrlState::Suppressed { by, rules: vec![7], version: 1, at: now };
            urls::put(&mut batch, &state.db, own, &record(form, None, gone));
        }
        state.commit(batch, now).unwrap();
        let mut batch = Batch::default();
        state.give_back(&mut batch, by.fingerprint()).unwrap();
        state.commit(batch, now).unwrap();
        assert!(state.readmit_some(now).unwrap(), "a first part");
        let left = suppressed::of(&state.db, by.fingerprint(), usize::MAX).unwrap().len();
        assert_eq!(left, FORMS - STEP);
        let stood = forms.iter().filter_map(|form| state.stood.get(&form.fingerprint()));
        let rightly = stood.filter(|stood| **stood == by.fingerprint()).count();
        assert_eq!(rightly, STEP, "what is fetched now is compared with what stood for it");
        drop(state);

        let mut state = open(&env, logs.path(), now);
        assert!(state.is_readmitting(), "the rest is not forgotten");
        while state.readmit_some(now).unwrap() {}
        assert!(!state.is_readmitting());
        for form in &forms {
            let record = urls::get(&state.db, form.fingerprint()).unwrap().unwrap();
            assert!(matches!(record.state, UrlState::Queued(_)), "{form}: {:?}", record.state);
        }
        assert!(suppressed::by_rule(&state.db, 7, 1).unwrap().is_empty());
        drop(state);
        assert!(!open(&env, logs.path(), now).is_readmitting(), "and does not come back again");
    }

    /// Finds a URL of a.example.
    pub(in crate::crawl) fn find(state: &mut State, tail: &str, now: Timestamp) {
        find_at_once(state, &[tail], now);
    }

    /// Finds URLs of a.example in one batch.
    pub(in crate::crawl) fn find_at_once(state: &mut State, tails: &[&str], now: Timestamp) {
        let seed = |tail: &&str| crate::crawl::SeedUrl {
            url: url(&format!("http://a.example{tail}")),
            priority: None,
            hops_max: None,
        };
        let seeds: Vec<crate::crawl::SeedUrl> = tails.iter().map(seed).collect();
        let mut batch = Batch::default();
        state.discover_seeds(&mut batch, &seeds, now).unwrap();
        state.commit(batch, now).unwrap();
    }

    fn drop_sid() -> Rule {
        drop_parameter("sid")
    }

    pub(in crate::crawl) fn drop_parameter(name: &str) -> Rule {
        use crate::dust::{RuleKind, Scope, Source};
        let kind = RuleKind::drop(vec![name.to_owned()], None);
        let site = url("http://a.example/").site();
        Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO)
    }

    /// A URL whose form is the key of another one was suppressed in the name of no rule, and stayed
    /// so when the rule was taken back.
    #[test]
    fn the_plain_form_that_is_found_after_another_comes_back_with_it() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let rule = drop_sid();
        let id = rule.id;
        state.rules.publish(RuleSet::compile(1, vec![Arc::new(rule)], 0.0).unwrap());
        find(&mut state, "/p?sid=1", now);
        find(&mut state, "/p", now);
        let plain = url("http://a.example/p").fingerprint();
        let hidden = |state: &State| {
            let record = urls::get(&state.db, plain).unwrap().unwrap();
            matches!(record.state, UrlState::Suppressed { .. })
        };
        assert!(hidden(&state), "another form stands for it");
        state.rules.publish(RuleSet::default());
        state.readmit.push_back(id);
        while state.readmit_some(now).unwrap() {}
        assert!(!hidden(&state));
    }

    /// Rules that were disabled, or were on trial, hid their URLs for good in a run without any.
    #[test]
    fn a_run_without_rules_brings_back_what_rules_hide_that_are_not_in_force() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let state = open_under(&env, logs.path(), drop_sid(), now);
        let mut state = state;
        find(&mut state, "/p?sid=1", now);
        find(&mut state, "/p?sid=2", now);
        assert_eq!(state.counters.suppressed, 1);
        drop(state);
        let mut state = open(&env, logs.path(), now);
        while state.readmit_some(now).unwrap() {}
        assert_eq!((state.counters.suppressed, state.counters.queued), (0, 2));
    }

    /// What came back to a host that had been given up meanwhile waited there for ever.
    #[test]
    fn what_comes_back_to_a_host_that_is_given_up_is_given_up_too() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open_under(&env, logs.path(), drop_sid(), now);
        find(&mut state, "/p?sid=1", now);
        find(&mut state, "/p?sid=2", now);
        let host = state.host_id(&url("http://a.example/").host()).unwrap();
        let gone = HostStatus::GivenUp { reason: "gone".to_owned(), at: now };
        state.change_host(host, |record| record.status = gone).unwrap();
        state.readmit.push_back(drop_sid().id);
        while state.readmit_some(now).unwrap() || state.drain_given_up(now).unwrap() {}
        assert_eq!((state.counters.queued, state.counters.failed), (0, 2));
    }

    /// A URL stood for the page to which it redirects, and that was never fetched.
    #[test]
    fn a_redirect_does_not_stand_for_the_page_that_it_leads_to() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open_under(&env, logs.path(), drop_sid(), now);
        let target = |to: &str, from: &str, state: &mut State| {
            let (from, to) = (url(from), url(to));
            let fingerprint = from.fingerprint();
            let (path, hops_max) = ("", None);
            let via = Via { url: &from, fingerprint, path, hops: 0, hops_max, stale: false };
            let (found, as_link) = (crate::filter::Found::Redirect, None);
            let link = Link { url: to.clone(), found, letter: 'R', nofollow: false, as_link };
            let mut batch = Batch::default();
            state.discover(&mut batch, &via, &[link], now).unwrap();
            state.commit(batch, now).unwrap();
            urls::get(&state.db, to.fingerprint()).unwrap().unwrap().state
        };
        let queued = |state: UrlState| matches!(state, UrlState::Queued(_));
        find(&mut state, "/p?sid=1", now);
        assert!(queued(target("http://a.example/p", "http://a.example/p?sid=1", &mut state)));
        // Where the target is another form, the key is its own from now on.
        find(&mut state, "/q?sid=1", now);
        let (first, second) = ("http://a.example/q?sid=1", "http://a.example/q?sid=2");
        assert!(queued(target(second, first, &mut state)));
        find(&mut state, "/q?sid=3", now);
        let form = urls::get(&state.db, url("http://a.example/q?sid=3").fingerprint()).unwrap();
        let by = url(second).fingerprint();
        let form = form.unwrap().state;
        assert!(matches!(form, UrlState::Suppressed { by: b, .. } if b == by), "{form:?}");
    }

    /// A form that was fetched before its rule was found left the plain form in its queue, and that
    /// was fetched too, rule or not.
    #[test]
    fn a_plain_form_that_waits_is_one_more_form_of_a_page_that_was_fetched_before_the_rule() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        find(&mut state, "/p?sid=1", now);
        find(&mut state, "/p", now);
        let (form, plain) = (url("http://a.example/p?sid=1"), url("http://a.example/p"));
        let own = plain.fingerprint();
        let set = RuleSet::compile(1, vec![Arc::new(drop_sid())], 0.0).unwrap();
        assert!(state.stood_for(&set, &plain, own).unwrap().is_none());
        state.rules.publish(RuleSet::compile(1, vec![Arc::new(drop_sid())], 0.0).unwrap());
        let mut batch = Batch::default();
        state.note_keys(&mut batch, &[(form.clone(), plain.clone())]).unwrap();
        state.commit(batch, now).unwrap();
        let stood = state.stood_for(&set, &plain, own).unwrap();
        let (by, united) = stood.unwrap();
        assert_eq!((by, united.all, united.url), (form.fingerprint(), vec![drop_sid().id], form));
        let before = state.counters.queued;
        find(&mut state, "/p", now);
        assert_eq!(state.counters.queued, before, "found again, it keeps its place");
        state.rules.publish(RuleSet::default());
        assert!(state.stood_for(&set, &plain, own).unwrap().is_none(), "nor after the rule");
    }

    /// Of a URL and the one that stood for it two rules made one key; it was remembered under its
    /// own rule alone, and stayed suppressed when the other's fell.
    #[test]
    fn a_form_comes_back_when_the_rule_of_what_stands_for_it_falls() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let (sid, print) = (drop_parameter("sid"), drop_parameter("print"));
        let both = vec![Arc::new(sid.clone()), Arc::new(print.clone())];
        state.rules.publish(RuleSet::compile(1, both, 0.0).unwrap());
        find(&mut state, "/p?sid=1", now);
        find(&mut state, "/p?print=1", now);
        let form = url("http://a.example/p?print=1").fingerprint();
        let hidden = |state: &State| {
            let record = urls::get(&state.db, form).unwrap().unwrap();
            matches!(record.state, UrlState::Suppressed { .. })
        };
        assert!(hidden(&state));
        state.rules.publish(RuleSet::compile(2, vec![Arc::new(print)], 0.0).unwrap());
        state.readmit.push_back(sid.id);
        while state.readmit_some(now).unwrap() {}
        assert!(!hidden(&state));
    }

    /// Two URLs stood for each other after rules had changed between them, and neither was fetched.
    #[test]
    fn what_a_url_stands_for_never_stands_for_it() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let [a, b, c] = ["/a", "/b", "/c"].map(|tail| url(&format!("http://a.example{tail}")));
        let mut batch = Batch::default();
        state.rules.publish(RuleSet::compile(1, vec![Arc::new(drop_sid())], 0.0).unwrap());
        let by = |by: &CrawlUrl| UrlState::Suppressed {
            by: by.fingerprint(),
            rules: vec![drop_sid().id.0],
            version: 1,
            at: now,
        };
        let place = crate::frontier::Place { priority: 1, serial: 1 };
        let rows = [(&a, UrlState::Queued(place)), (&b, by(&a)), (&c, by(&b))];
        for (url, state_of) in rows {
            urls::put(&mut batch, &state.db, url.fingerprint(), &record(url, None, state_of));
        }
        state.commit(batch, now).unwrap();
        let [a, b, c] = [a, b, c].map(|url| url.fingerprint());
        let other = url("http://a.example/d").fingerprint();
        assert_eq!(state.stand_in(other, c).unwrap(), Some(a), "what stands for it in the end");
        assert_eq!(state.stand_in(a, c).unwrap(), None);
        assert_eq!(state.stand_in(a, b).unwrap(), None);
        let mut batch = Batch::default();
        let dead = url("http://a.example/a");
        urls::put(&mut batch, &state.db, a, &record(&dead, None, failed()));
        state.commit(batch, now).unwrap();
        assert_eq!(state.stand_in(other, c).unwrap(), None, "nothing stands on what failed");
    }

    /// While what a fallen rule had hidden was on its way back, other forms were hidden for what
    /// had stood for it, which is another page: they stayed so.
    #[test]
    fn what_is_on_its_way_back_stands_for_its_forms_by_itself() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let (sid, print) = (drop_parameter("sid"), drop_parameter("print"));
        let both = vec![Arc::new(sid.clone()), Arc::new(print.clone())];
        state.rules.publish(RuleSet::compile(1, both, 0.0).unwrap());
        find(&mut state, "/p", now);
        find(&mut state, "/p?print=1", now);
        let [view, form] =
            ["?print=1", "?print=1&sid=1"].map(|query| url(&format!("http://a.example/p{query}")));
        let state_of = |state: &State, url: &CrawlUrl| {
            urls::get(&state.db, url.fingerprint()).unwrap().unwrap().state
        };
        assert!(matches!(state_of(&state, &view), UrlState::Suppressed { .. }));
        state.rules.publish(RuleSet::compile(2, vec![Arc::new(sid)], 0.0).unwrap());
        find(&mut state, "/p?print=1&sid=1", now);
        state.readmit.push_back(print.id);
        while state.readmit_some(now).unwrap() {}
        assert!(matches!(state_of(&state, &view), UrlState::Queued(_)));
        let hidden = state_of(&state, &form);
        let by_view = matches!(hidden, UrlState::Suppressed { by, .. } if by == view.fingerprint());
        assert!(by_view, "{hidden:?}");
        // What it stands for comes back if it comes to nothing.
        let mut batch = Batch::default();
        urls::put(&mut batch, &state.db, view.fingerprint(), &record(&view, None, failed()));
        state.give_back(&mut batch, view.fingerprint()).unwrap();
        state.commit(batch, now).unwrap();
        while state.readmit_some(now).unwrap() {}
        assert!(matches!(state_of(&state, &form), UrlState::Queued(_)));
    }

    /// A URL that came to nothing, and whose key another one took over, was suppressed when it was
    /// found again: counted twice, and its outcome forgotten.
    #[test]
    fn a_url_that_lost_its_key_to_another_keeps_its_place() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open_under(&env, logs.path(), drop_sid(), now);
        let plain = url("http://a.example/p");
        find(&mut state, "/p", now);
        let mut batch = Batch::default();
        urls::put(&mut batch, &state.db, plain.fingerprint(), &record(&plain, None, failed()));
        state.commit(batch, now).unwrap();
        find(&mut state, "/p?sid=1", now);
        let before = state.counters.suppressed;
        find(&mut state, "/p", now);
        let known = urls::get(&state.db, plain.fingerprint()).unwrap().unwrap();
        assert_eq!(known.state, failed());
        assert_eq!(state.counters.suppressed, before);
    }

    /// A URL that was fetched and showed this, and keeps something back or nothing.
    pub(in crate::crawl) fn done(shown: Fetched, withheld: bool) -> UrlState {
        let done = DoneState {
            at: Timestamp::ZERO,
            status: if matches!(shown, Fetched::Redirect { .. }) { 302 } else { 200 },
            bytes: 1,
            mime: "text/html".to_owned(),
            text_digest: None,
            record: None,
            rules_version: 1,
            content: "new".to_owned(),
            links: 1,
            evidence: evidence(&shown, withheld, Marks::default()),
        };
        assert_eq!(evidence_of(&done.evidence), Some(shown));
        UrlState::Done(Box::new(done))
    }

    /// Stores that a URL was fetched and showed a page that keeps something back, or nothing.
    pub(in crate::crawl) fn fetched(state: &mut State, tail: &str, withheld: bool, now: Timestamp) {
        let shown = Fetched::Page { text: Text::Unknown, digest: Some(1), bag: None, junk: false };
        let url = url(&format!("http://a.example{tail}"));
        let mut batch = Batch::default();
        let done = record(&url, None, done(shown, withheld));
        urls::put(&mut batch, &state.db, url.fingerprint(), &done);
        state.commit(batch, now).unwrap();
    }

    /// An answer given in trouble, which may be a page that says so, stood for all other forms, and
    /// nothing could speak against it.
    #[test]
    fn what_was_shown_in_trouble_stands_for_no_other_form() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open_under(&env, logs.path(), drop_sid(), now);
        find(&mut state, "/p?sid=1", now);
        let first = url("http://a.example/p?sid=1");
        let mut batch = Batch::default();
        let shown = record(&first, None, done(Fetched::Unavailable, false));
        urls::put(&mut batch, &state.db, first.fingerprint(), &shown);
        state.commit(batch, now).unwrap();
        find(&mut state, "/p?sid=2", now);
        let other = url("http://a.example/p?sid=2").fingerprint();
        let known = urls::get(&state.db, other).unwrap().unwrap();
        assert!(matches!(known.state, UrlState::Queued(_)), "{:?}", known.state);
    }

    /// The view to print of a page, which forbids to follow its links, stood for the page, and what
    /// no other page led to was never found.
    #[test]
    fn a_page_whose_links_are_not_followed_stands_for_no_other_form() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open_under(&env, logs.path(), drop_sid(), now);
        let queued = |state: &State, tail: &str| {
            let url = url(&format!("http://a.example{tail}"));
            let record = urls::get(&state.db, url.fingerprint()).unwrap().unwrap();
            matches!(record.state, UrlState::Queued(_))
        };
        find(&mut state, "/p?sid=1", now);
        fetched(&mut state, "/p?sid=1", true, now);
        find(&mut state, "/p?sid=2", now);
        assert!(queued(&state, "/p?sid=2"), "another form may let its links be followed");
        let own = url("http://a.example/p?sid=2").fingerprint();
        let first = url("http://a.example/p?sid=1").fingerprint();
        assert_eq!(state.stood.get(&own), Some(&first), "or say the same once more");
        fetched(&mut state, "/p?sid=2", false, now);
        find(&mut state, "/p", now);
        assert!(!queued(&state, "/p"));
        find(&mut state, "/q", now);
        fetched(&mut state, "/q", true, now);
        find(&mut state, "/q?sid=1", now);
        assert!(queued(&state, "/q?sid=1"), "nor does the plain form");
    }

    /// Of a site whose links to other languages redirect to the page all forms of each were
    /// fetched, and rules that say so cost more than they saved.
    #[test]
    fn a_redirect_stands_for_its_forms_where_those_of_many_targets_lead_to_the_same() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open_under(&env, logs.path(), drop_sid(), now);
        let form =
            |page: u32, form: u32| url(&format!("http://a.example/go?next={page}&sid={form}"));
        let to = |page: u32| url(&format!("http://a.example/{page}"));
        let state_of = |state: &State, url: &CrawlUrl| {
            urls::get(&state.db, url.fingerprint()).unwrap().unwrap().state
        };
        let is_hidden = |state: &State, url: &CrawlUrl| {
            matches!(state_of(state, url), UrlState::Suppressed { .. })
        };
        // Fetches the first form, finds the second one and returns whether that is hidden.
        let hides = |state: &mut State, page: u32, to: &CrawlUrl| {
            let (first, second) = (form(page, 1), form(page, 2));
            find(state, first.path_and_query(), now);
            let row = record(&first, None, done(Fetched::redirect(to), false));
            let mut batch = Batch::default();
            urls::put(&mut batch, &state.db, first.fingerprint(), &row);
            state.commit(batch, now).unwrap();
            find(state, second.path_and_query(), now);
            is_hidden(state, &second)
        };
        let compare = |state: &mut State, page: u32, shown: Fetched| {
            let first = form(page, 1).fingerprint();
            let Some(Withheld::Page(to)) = state.withholds(first).unwrap() else {
                panic!("it redirects")
            };
            let Some(alike) = Alike::of_redirect(to, (shown, false)) else { return };
            let mut batch = Batch::default();
            state.note_kept_back(&mut batch, &form(page, 2), first, alike).unwrap();
            state.commit(batch, now).unwrap();
        };
        let front = url("http://a.example/");
        for page in 0..20 {
            assert!(!hides(&mut state, page, &front), "all lead to the front page");
            compare(&mut state, page, Fetched::redirect(&front));
        }
        for page in 20..24 {
            assert!(!hides(&mut state, page, &to(page)));
            compare(&mut state, page, Fetched::redirect(&to(page)));
        }
        assert!(hides(&mut state, 24, &to(24)), "that is four targets, and the front page");
        compare(&mut state, 24, Fetched::Unavailable);
        assert!(hides(&mut state, 25, &to(25)), "that nothing answers says nothing");
        // An audit leads to a page of its own.
        compare(&mut state, 25, Fetched::redirect(&to(99)));
        while state.readmit_some(now).unwrap() {}
        assert!(!is_hidden(&state, &form(24, 2)) && !is_hidden(&state, &form(25, 2)));
        assert!(!hides(&mut state, 26, &to(26)), "nor does it from then on");
        drop(state);
        let mut state = open_under(&env, logs.path(), drop_sid(), now);
        for page in 30..36 {
            assert!(!hides(&mut state, page, &to(page)), "nor in the next run");
            compare(&mut state, page, Fetched::redirect(&to(page)));
        }
    }

    /// Of a wiki whose views all forbid to follow their links both forms of each were fetched.
    #[test]
    fn where_all_forms_keep_back_the_same_one_of_them_stands_for_the_others() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open_under(&env, logs.path(), drop_sid(), now);
        let queued = |state: &State, page: u32| {
            let url = url(&format!("http://a.example/{page}?sid=2"));
            let record = urls::get(&state.db, url.fingerprint()).unwrap().unwrap();
            matches!(record.state, UrlState::Queued(_))
        };
        let both_of = |state: &mut State, page: u32| {
            find(state, &format!("/{page}?sid=1"), now);
            fetched(state, &format!("/{page}?sid=1"), true, now);
            find(state, &format!("/{page}?sid=2"), now);
        };
        let compare = |state: &mut State, page: u32, is_alike: bool| {
            let [first, second] =
                [1, 2].map(|form| url(&format!("http://a.example/{page}?sid={form}")));
            let mut batch = Batch::default();
            let alike = if is_alike { Alike::By(page.into()) } else { Alike::No };
            state.note_kept_back(&mut batch, &second, first.fingerprint(), alike).unwrap();
            state.commit(batch, now).unwrap();
        };
        for page in 0..5 {
            both_of(&mut state, page);
            assert!(queued(&state, page), "page {page}");
            compare(&mut state, page, true);
        }
        both_of(&mut state, 8);
        assert!(!queued(&state, 8), "five pairs were alike");
        fetched(&mut state, "/0?print=1&sid=1", true, now);
        let [plain, printed] =
            ["", "&sid=1"].map(|sid| url(&format!("http://a.example/0?print=1{sid}")));
        let set = state.rules.snapshot();
        let united = state.united_by(&set, &plain, printed.fingerprint()).unwrap();
        assert!(state.is_kept_back(&united), "of another view nothing is known");
        // What the rule hides for a page that keeps nothing back stays hidden.
        find(&mut state, "/9?sid=1", now);
        fetched(&mut state, "/9?sid=1", false, now);
        find(&mut state, "/9?sid=2", now);
        compare(&mut state, 0, false);
        drop(state);
        let mut state = open(&env, logs.path(), now);
        assert!(state.is_readmitting(), "the process was killed before anything came back");
        state.readmit.clear();
        state.rules.publish(RuleSet::compile(1, vec![Arc::new(drop_sid())], 0.0).unwrap());
        while state.readmit_some(now).unwrap() {}
        assert!(queued(&state, 8), "it may give what the first form keeps back");
        assert!(!queued(&state, 9));
        for page in 10..16 {
            both_of(&mut state, page);
            compare(&mut state, page, true);
            assert!(queued(&state, page), "page {page}");
        }
        drop(state);
        let state = open(&env, logs.path(), now);
        assert!(state.rejudged.is_empty(), "and nothing comes back twice");
    }

    /// The plain form of a page, found after another one and fetched to measure the rule, was
    /// compared with nothing.
    #[test]
    fn a_plain_form_that_is_fetched_to_measure_a_rule_is_compared_with_what_stood_for_it() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        state.rules.publish(RuleSet::compile(1, vec![Arc::new(drop_sid())], 1.0).unwrap());
        find(&mut state, "/p?sid=1", now);
        fetched(&mut state, "/p?sid=1", false, now);
        find(&mut state, "/p", now);
        let plain = url("http://a.example/p").fingerprint();
        assert!(state.checks.awaits(plain));
        assert_eq!(state.checks.end(plain), Some(url("http://a.example/p?sid=1").fingerprint()));
    }

    /// Forms that one page leads to were all fetched: none was seen to wait for its turn yet.
    #[test]
    fn of_forms_that_are_found_at_once_one_stands_for_the_others() {
        let sets = [["/p?sid=1", "/p", "/p?sid=2"], ["/p", "/p?sid=1", "/p?sid=2"]];
        for tails in sets {
            let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
            let logs = tempfile::tempdir().unwrap();
            let mut state = open_under(&env, logs.path(), drop_sid(), now);
            find_at_once(&mut state, &tails, now);
            let queued = |tail: &&str| {
                let own = url(&format!("http://a.example{tail}")).fingerprint();
                let record = urls::get(&state.db, own).unwrap().unwrap();
                matches!(record.state, UrlState::Queued(_))
            };
            assert_eq!(tails.iter().filter(|tail| queued(tail)).collect::<Vec<_>>(), [&tails[0]]);
            assert_eq!((state.counters.queued, state.counters.suppressed), (1, 2));
        }
    }

    /// A link that was refused was shown as if it stood beside the seeds.
    #[test]
    fn what_is_refused_has_the_depth_at_which_it_was_found() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let (page, other) = (url("http://a.example/"), url("http://b.example/"));
        let (fingerprint, path) = (page.fingerprint(), "LLL");
        let via = Via { url: &page, fingerprint, path, hops: 3, hops_max: None, stale: false };
        let found = crate::filter::Found::Link;
        let link = Link { url: other.clone(), found, letter: 'L', nofollow: false, as_link: None };
        let mut batch = Batch::default();
        state.discover(&mut batch, &via, &[link], now).unwrap();
        state.commit(batch, now).unwrap();
        let record = urls::get(&state.db, other.fingerprint()).unwrap().unwrap();
        assert!(matches!(record.state, UrlState::Refused { .. }));
        assert_eq!(record.hops, 4);
    }
}
