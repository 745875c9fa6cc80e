//! What rules would save that are suggested and not applied: pages that were fetched, and URLs that
//! wait, although another URL of their key is there.
//!
//! It only reads, beside a running crawl too: the ledger twice, and for each URL that a rule
//! changes a row or two by their keys. What was fetched is read first, since it stands for what
//! waits. What showed no page, or keeps something back, stands for nothing and is not counted
//! either: whether it would be asked for depends on which form is met first.
//!
//! What it does not do: it takes nothing off for what rules in force have fetched all the same, and
//! it does not judge whether two pages are one. Bounded: at most [`KEYS_MAX`] keys of which no
//! fetched or waiting URL is the key itself are told apart; where there are more, the answer says
//! so.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::readmit::shows_a_page;
use crate::db::families::urls;
use crate::db::{Db, DbError, Family};
use crate::dust::{Canonized, Rule, RuleId, RuleSet, RuleState};
use crate::frontier::{UrlRecord, UrlState};
use crate::url::{CrawlUrl, Fingerprint};

/// Keys of which it is remembered which URL has them: 35 MB, and half as much again while the table
/// grows.
pub const KEYS_MAX: usize = 900_000;

/// What would be saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Saving {
    /// Pages that were fetched, but for one of each key.
    pub fetched: u64,
    /// URLs that wait, but for one of each key of which no page was fetched.
    pub waiting: u64,
}

/// What rules would save that are not applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsaved {
    by_rule: BTreeMap<RuleId, Saving>,
    /// By all rules, each URL once.
    pub all: Saving,
    /// There are more keys than are told apart: all this is the least that it may be.
    pub cut: bool,
}

impl Unsaved {
    /// Returns what a rule would save, if it is in force. A URL that needs two rules to have the
    /// key of another one counts for both.
    pub fn of(&self, rule: &Rule) -> Option<Saving> {
        let is_in_force = rule.state == RuleState::Enforced;
        is_in_force.then(|| self.by_rule.get(&rule.id).copied().unwrap_or_default())
    }
}

/// Counts what the rules of a set would save as far as they are proved; none for an empty set.
///
/// # Errors
/// Returns what the database says.
pub fn unsaved(db: &Db, set: &RuleSet) -> Result<Option<Unsaved>, DbError> {
    if set.is_empty() {
        return Ok(None);
    }
    within(db, set, KEYS_MAX).map(Some)
}

fn within(db: &Db, set: &RuleSet, keys_max: usize) -> Result<Unsaved, DbError> {
    let mut count = Count {
        db,
        set,
        holders: HashMap::new(),
        keys_max,
        reading: Reading::Fetched,
        found: Unsaved::default(),
    };
    for reading in [Reading::Fetched, Reading::Waiting] {
        count.reading = reading;
        db.scan(Family::Urls, &[], &[], |row, value| {
            let record = urls::decode(row, value)?;
            if reading.is_of(&record)
                && let Ok(url) = CrawlUrl::parse(&record.url)
                && set.knows(url.host_str())
            {
                let own = Fingerprint(u128::from_be_bytes(row.try_into().unwrap_or_default()));
                count.take(own, &url)?;
            }
            Ok(true)
        })?;
    }
    Ok(count.found)
}

/// Which URLs one reading of the ledger counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Fetched,
    Waiting,
}

impl Reading {
    fn is_of(self, record: &UrlRecord) -> bool {
        match &record.state {
            UrlState::Done(done) => self == Reading::Fetched && shows_a_page(done),
            UrlState::Queued(_) => self == Reading::Waiting,
            UrlState::Refused { .. } | UrlState::Failed { .. } | UrlState::Suppressed { .. } => {
                false
            }
        }
    }

    fn add_to(self, saving: &mut Saving) {
        match self {
            Reading::Fetched => saving.fetched += 1,
            Reading::Waiting => saving.waiting += 1,
        }
    }
}

/// The count while it is made.
struct Count<'a> {
    db: &'a Db,
    set: &'a RuleSet,
    /// By key the first URL that has it, where the key itself is not there.
    holders: HashMap<Fingerprint, Fingerprint>,
    keys_max: usize,
    reading: Reading,
    found: Unsaved,
}

impl Count<'_> {
    /// Takes in a URL: it is saved if another one stands for its key, or else stands for it.
    fn take(&mut self, own: Fingerprint, url: &CrawlUrl) -> Result<(), DbError> {
        let Canonized { key, rules } = self.set.canonize_proved(url);
        let hash = key.fingerprint();
        let is_key = rules.is_empty();
        let stands = match !is_key && self.is_there(hash)? {
            true => Some(key.into_owned()),
            false => self.holder(hash)?,
        };
        match stands {
            Some(stands) => self.note(url, &stands, rules),
            None if is_key => {}
            None if self.holders.len() < self.keys_max => {
                self.holders.insert(hash, own);
            }
            None => self.found.cut = true,
        }
        Ok(())
    }

    /// Returns true for a URL that showed a page, or that waits where it is for others that wait.
    fn is_there(&self, url: Fingerprint) -> Result<bool, DbError> {
        let Some(record) = urls::get(self.db, url)? else { return Ok(false) };
        Ok(Reading::Fetched.is_of(&record) || self.reading.is_of(&record))
    }

    fn holder(&self, key: Fingerprint) -> Result<Option<CrawlUrl>, DbError> {
        let Some(holder) = self.holders.get(&key) else { return Ok(None) };
        let record = urls::get(self.db, *holder)?;
        Ok(record.and_then(|record| CrawlUrl::parse(&record.url).ok()))
    }

    /// Counts a URL for which another one stands, for the rules that it takes.
    fn note(&mut self, url: &CrawlUrl, stands: &CrawlUrl, own: Vec<RuleId>) {
        // What is not proved for one of the two may part them where all rules are applied.
        for rule in self.set.uniting(url, stands).unwrap_or(own) {
            self.reading.add_to(self.found.by_rule.entry(rule).or_default());
        }
        self.reading.add_to(&mut self.found.all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::crawl::readmit::tests::{drop_parameter, record, url};
    use crate::db::{Batch, MemoryEnv};
    use crate::dust::{RuleKind, Scope, Source};
    use crate::frontier::{DoneState, Place};

    /// A count: of fetched pages and of waiting URLs.
    type Pair = (u64, u64);

    fn done(status: u16) -> UrlState {
        UrlState::Done(Box::new(DoneState {
            at: Timestamp::ZERO,
            status,
            bytes: 1,
            mime: "text/html".to_owned(),
            text_digest: None,
            record: None,
            rules_version: 0,
            content: "new".to_owned(),
            links: 0,
            evidence: Vec::new(),
        }))
    }

    fn waits() -> UrlState {
        UrlState::Queued(Place { priority: 1, serial: 1 })
    }

    /// One rule that drops `sid`, and one that sorts parameters.
    fn rules() -> [Rule; 2] {
        let site = url("http://a.example/").site();
        let sort = RuleKind::SortParameters;
        let sort = Rule::new(site, sort, Scope::default(), Source::Mined, Timestamp::ZERO);
        [drop_parameter("sid"), sort].map(|rule| Rule { state: RuleState::Enforced, ..rule })
    }

    fn count(rows: &[(&str, UrlState)], keys_max: usize) -> Unsaved {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory("/state".as_ref(), &Default::default(), &env).unwrap();
        let mut batch = Batch::default();
        for (text, state) in rows {
            let url = url(&format!("http://{text}"));
            urls::put(&mut batch, &db, url.fingerprint(), &record(&url, None, state.clone()));
        }
        db.commit(batch).unwrap();
        let set = RuleSet::in_force(&rules()).unwrap();
        within(&db, &set, keys_max).unwrap()
    }

    #[track_caller]
    fn check(rows: &[(&str, UrlState)], all: Pair, by_sid: Pair, by_order: Pair) {
        let found = count(rows, KEYS_MAX);
        let [sid, order] = rules().map(|rule| found.of(&rule).unwrap());
        let pairs = [found.all, sid, order].map(|saving| (saving.fetched, saving.waiting));
        assert_eq!((pairs, found.cut), ([all, by_sid, by_order], false), "{rows:?}");
    }

    #[test]
    fn all_urls_of_a_key_would_be_saved_but_for_one() {
        let [one, two, plain] = ["a.example/p?sid=1", "a.example/p?sid=2", "a.example/p"];
        let none = (0, 0);
        let check = |rows: &[(&str, UrlState)], sid| check(rows, sid, sid, none);
        check(&[(plain, done(200)), (one, done(200)), (two, waits())], (1, 1));
        check(&[(one, done(200)), (two, done(200)), (plain, waits())], (1, 1));
        check(&[(one, done(200)), (two, waits()), (plain, waits())], (0, 2));
        check(&[(one, waits()), (two, waits()), (plain, waits())], (0, 2));
        check(&[(one, waits()), (two, waits())], (0, 1));
        check(&[(one, done(200)), ("a.example/q?sid=1", done(200))], none);
        check(&[("b.example/p", done(200)), ("b.example/p?sid=1", done(200))], none);
    }

    #[test]
    fn what_showed_no_page_stands_for_nothing_and_is_not_counted() {
        let [one, two, plain] = ["a.example/p?sid=1", "a.example/p?sid=2", "a.example/p"];
        let reason = "budget".to_owned();
        let refused = UrlState::Refused { reason, detail: String::new(), at: Timestamp::ZERO };
        for state in [done(404), done(301), refused] {
            let rows = [(plain, state.clone()), (one, done(200)), (two, waits())];
            check(&rows, (0, 1), (0, 1), (0, 0));
            check(&[(plain, done(200)), (one, state)], (0, 0), (0, 0), (0, 0));
        }
    }

    #[test]
    fn a_url_counts_for_the_rules_that_it_takes_and_once_for_all() {
        let plain = "a.example/?a=1&b=2";
        check(&[(plain, done(200)), ("a.example/?b=2&a=1", waits())], (0, 1), (0, 0), (0, 1));
        check(&[(plain, done(200)), ("a.example/?b=2&sid=3&a=1", waits())], (0, 1), (0, 1), (0, 1));
        // Both are in another order than their key.
        let alike = ["a.example/?b=2&a=1", "a.example/?b=2&a=1&sid=3"];
        check(&alike.map(|url| (url, done(200))), (1, 0), (1, 0), (0, 0));
        let candidate = drop_parameter("sid");
        assert_eq!(count(&[], KEYS_MAX).of(&candidate), None, "it is not in force");
    }

    #[test]
    fn more_keys_than_are_told_apart_are_left_out_and_it_is_said() {
        let urls = ["p?sid=1", "p?sid=2", "q?sid=1", "q?sid=2"];
        let urls = urls.map(|tail| format!("a.example/{tail}"));
        let rows: Vec<(&str, UrlState)> = urls.iter().map(|url| (&**url, done(200))).collect();
        let found = [2, 1].map(|keys_max| count(&rows, keys_max));
        assert_eq!(found.map(|found| (found.all.fetched, found.cut)), [(2, false), (1, true)]);
    }
}
