//! Work on many rows, a step at a time between two steps of the loop.

use std::collections::{BTreeMap, HashSet, VecDeque};

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::act::BUDGETS;
use super::changes::Job;
use super::order::{Answer, Refusal};
use crate::clock::Timestamp;
use crate::crawl::admit::ROBOTS_UNREACHABLE;
use crate::crawl::discover::{TOO_FAR, TRAPPED, TRAPPED_DETAIL};
use crate::crawl::error::CrawlError;
use crate::crawl::explain::as_found;
use crate::crawl::state::State;
use crate::db::families::queue::{self, Item};
use crate::db::families::seen;
use crate::db::families::urls;
use crate::db::{Batch, Db, DbError};
use crate::filter::{Filter, Reason, Usage};
use crate::frontier::{HostId, HostStatus, Parting, Rank, UrlRecord, UrlState, priority};
use crate::url::{CrawlUrl, Fingerprint};

/// Waiting rows that one step looks at: about two milliseconds.
const DROP_STEP: usize = 250;

/// Records of the ledger that one step looks at: about as long, since most are only read.
const BACK_STEP: usize = 1_000;

/// The same where each may be asked for the whole way to it, up to 256 rows.
const WAY_STEP: usize = 50;

/// Waiting rows that a preview looks at.
const PREVIEW_MAX: u64 = 2_000_000;

/// The reason of URLs whose host was given up.
const GIVEN_UP: &str = "host-given-up";

/// How many URLs an order concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// URLs.
    pub urls: u64,
    /// Rows that were looked at to know.
    pub looked_at: u64,
    /// False if rows were left that nobody looked at, so that there may be more.
    pub exact: bool,
}

/// What a job's order is answered through.
pub(in crate::crawl) type Reply = oneshot::Sender<Result<Answer, Refusal>>;

/// A job under way.
#[derive(Debug)]
struct Running {
    job: Job,
    /// Where reading goes on.
    cursor: Vec<u8>,
    count: Count,
    answer: Answer,
    reply: Option<Reply>,
}

/// The jobs that are left to do.
#[derive(Debug, Default)]
pub(in crate::crawl) struct Jobs(VecDeque<Running>);

impl Jobs {
    /// Adds a job.
    pub(in crate::crawl) fn add(&mut self, job: Job, answer: Answer, reply: Option<Reply>) {
        let count = Count { exact: true, ..Count::default() };
        self.0.push_back(Running { job, cursor: Vec::new(), count, answer, reply });
    }

    /// Forgets jobs that are no longer wanted.
    pub(in crate::crawl) fn retain(&mut self, keep: impl Fn(&Job) -> bool) {
        self.0.retain(|running| keep(&running.job));
    }

    /// Returns true if nothing is left to do.
    pub(in crate::crawl) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Counts the waiting URLs that a filter refuses, among at most `PREVIEW_MAX` rows, as they stand
/// when it begins.
///
/// # Errors
/// Returns what the database says.
pub fn count_refused(db: &Db, filter: &Filter) -> Result<Count, DbError> {
    let mut count = Count::default();
    let mut cursor = Some(Vec::new());
    while let Some(from) = cursor.take() {
        if count.looked_at >= PREVIEW_MAX {
            return Ok(count);
        }
        let (rows, next) = queue::chunk(db, &from, DROP_STEP)?;
        for (_, record) in waiting_of(db, &rows)? {
            let refused = CrawlUrl::parse(&record.url).is_ok_and(|url| excluded(filter, &url));
            count.urls += u64::from(refused);
        }
        count.looked_at += rows.len() as u64;
        cursor = next;
    }
    count.exact = true;
    Ok(count)
}

/// Returns what is said to the preview of an exclusion.
pub fn preview_answer(pattern: &str, count: Count) -> Answer {
    let least = if count.exact { "" } else { "at least " };
    let text = format!(
        "`{pattern}` would drop {least}{} of {} waiting URLs; nothing is changed",
        count.urls, count.looked_at
    );
    Answer { count: Some(count), ..Answer::of(text) }
}

type Row = (HostId, crate::frontier::Place, Item);

/// Returns the rows that stand for URLs which wait there, with their records.
fn waiting_of<'r>(db: &Db, rows: &'r [Row]) -> Result<Vec<(&'r Row, UrlRecord)>, DbError> {
    let pages: Vec<(&Row, Fingerprint)> = rows
        .iter()
        .filter_map(|row| match row.2 {
            Item::Page(fingerprint) => Some((row, fingerprint)),
            Item::Probe { .. } | Item::Robots { .. } => None,
        })
        .collect();
    let prints: Vec<Fingerprint> = pages.iter().map(|(_, fingerprint)| *fingerprint).collect();
    let records = urls::get_many(db, &prints)?;
    let rows = pages.into_iter().zip(records).filter_map(|((row, _), record)| {
        let record = record?;
        (record.state == UrlState::Queued(row.1)).then_some((row, record))
    });
    Ok(rows.collect())
}

/// Returns true if a pattern of `exclude` refuses a URL, whatever budgets say.
fn excluded(filter: &Filter, url: &CrawlUrl) -> bool {
    filter.excludes(url).is_some()
}

impl State {
    /// Does a step of the first job that is left; returns true if there is more to do. `leased` are
    /// the serials of rows whose URLs are being fetched: they are settled by their visits.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn work(
        &mut self,
        leased: &HashSet<u64>,
        now: Timestamp,
    ) -> Result<bool, CrawlError> {
        let Some(mut running) = self.jobs.0.pop_front() else { return Ok(false) };
        let next = match running.job.clone() {
            Job::Drop { .. } => self.drop_some(&mut running, leased, now)?,
            Job::Include { .. }
            | Job::Budget
            | Job::Forgive { .. }
            | Job::Untrap
            | Job::Refilter
            | Job::Nearer => self.bring_back_some(&mut running, now)?,
            Job::Disown { names } => {
                let mut batch = Batch::default();
                let (next, urls) = self.disown_some(&mut batch, &running.cursor, &names)?;
                running.count.urls += urls;
                self.commit(batch, now)?;
                next
            }
        };
        if let Some(cursor) = next {
            running.cursor = cursor;
            self.jobs.0.push_front(running);
            return Ok(true);
        }
        // The same may have come again meanwhile, for rows that this one was past.
        if !self.jobs.0.iter().any(|other| other.job == running.job) {
            self.changes.jobs.retain(|job| *job != running.job);
        }
        let mut batch = Batch::default();
        self.keep_changes(&mut batch);
        self.commit(batch, now)?;
        if let Some(reply) = running.reply {
            // Nobody waits for the answer any more: that is the asker's business.
            let _ = reply.send(Ok(finished(&running.job, running.count, running.answer)));
        }
        Ok(true)
    }

    fn drop_some(
        &mut self,
        running: &mut Running,
        leased: &HashSet<u64>,
        now: Timestamp,
    ) -> Result<Option<Vec<u8>>, CrawlError> {
        let db = self.db.clone();
        let (rows, next) = queue::chunk(&db, &running.cursor, DROP_STEP)?;
        let mut batch = Batch::default();
        let mut gone: BTreeMap<HostId, u64> = BTreeMap::new();
        for ((host, place, item), mut record) in waiting_of(&db, &rows)? {
            let Item::Page(own) = item else { continue };
            let Ok(url) = CrawlUrl::parse(&record.url) else { continue };
            let Some(reason) = self.filter.excludes(&url) else { continue };
            if leased.contains(&place.serial) {
                continue;
            }
            queue::delete(&mut batch, &db, *host, *place);
            self.shape.remove(record.hops, place.priority);
            record.state = refused(&reason, now);
            urls::put(&mut batch, &db, *own, &record);
            self.frontier.forget(*host, *place);
            self.counters.queued = self.counters.queued.saturating_sub(1);
            self.counters.refused += 1;
            self.count(reason.code());
            // What stood behind it must stand for itself.
            self.give_back(&mut batch, *own)?;
            *gone.entry(*host).or_default() += 1;
            running.count.urls += 1;
        }
        running.count.looked_at += rows.len() as u64;
        for (host, rows) in &gone {
            self.change_host(*host, |record| record.queued = record.queued.saturating_sub(*rows))?;
        }
        self.commit(batch, now)?;
        for host in gone.keys() {
            if let Some(record) = self.frontier.drop_empty(*host) {
                let mut batch = Batch::default();
                self.part(&mut batch, record, Parting::Empty)?;
                self.commit(batch, now)?;
            }
        }
        Ok(next)
    }

    fn bring_back_some(
        &mut self,
        running: &mut Running,
        now: Timestamp,
    ) -> Result<Option<Vec<u8>>, CrawlError> {
        let db = self.db.clone();
        let asks_ways = matches!(running.job, Job::Nearer | Job::Refilter);
        let step = if asks_ways { WAY_STEP } else { BACK_STEP };
        let (rows, next) = urls::chunk(&db, &running.cursor, step)?;
        running.count.looked_at += rows.len() as u64;
        let mut batch = Batch::default();
        for (own, record) in rows {
            if is_meant(&running.job, &record) && self.bring_back(&mut batch, own, record, now)? {
                running.count.urls += 1;
            }
        }
        if !batch.is_empty() {
            self.commit(batch, now)?;
        }
        Ok(next)
    }

    /// Leaves work that no order asked for: with the batch of what it follows from, so that a crash
    /// does not forget it.
    pub(in crate::crawl) fn bring_back_later(&mut self, batch: &mut Batch, job: Job) {
        self.changes.ask(job.clone());
        self.keep_changes(batch);
        // One that is under way is past some rows; one that has not begun will see them all.
        let waits = |running: &Running| running.job == job && running.cursor.is_empty();
        if !self.jobs.0.iter().any(waits) {
            self.jobs.add(job, Answer::default(), None);
        }
    }

    /// Leaves work for the time when there is nothing else to do, and at the latest for the next
    /// run: it looks through the whole ledger, and any page may ask for it.
    pub(in crate::crawl) fn bring_back_at_last(&mut self, batch: &mut Batch, job: Job) {
        if self.jobs.0.iter().any(|running| running.job == job) {
            self.bring_back_later(batch, job);
        } else if !self.changes.jobs.contains(&job) {
            self.changes.ask(job);
            self.keep_changes(batch);
        }
    }

    /// Begins the work that was left for the time when there is nothing else to do; returns true if
    /// there is any.
    pub(in crate::crawl) fn take_up_last(&mut self) -> bool {
        let is_left = self.jobs.is_empty() && self.changes.jobs.contains(&Job::Nearer);
        if is_left {
            self.jobs.add(Job::Nearer, Answer::default(), None);
        }
        is_left
    }

    /// Puts a URL that was refused, or failed with its host, back into the frontier, if every gate
    /// lets it pass by now.
    fn bring_back(
        &mut self,
        batch: &mut Batch,
        own: Fingerprint,
        mut record: UrlRecord,
        now: Timestamp,
    ) -> Result<bool, CrawlError> {
        let Ok(url) = CrawlUrl::parse(&record.url) else { return Ok(false) };
        let (verdict, (hops, hops_max)) = as_found(&self.db, &self.filter, &url, &record)?;
        if !verdict.accept {
            // What a link said is known by the reasons of this gate alone, so one of them stays;
            // but of patterns the ledger must name the one that refuses by now.
            let by_pattern = matches!(verdict.reason, Reason::Excluded(_));
            if by_pattern || !reason_of(&record.state).is_some_and(Reason::is_of_schedule) {
                self.keep_out(batch, own, (&url, record), refused(&verdict.reason, now), now)?;
            }
            return Ok(false);
        }
        if self.is_still_trapped(&url)? {
            let (reason, detail) = (TRAPPED.to_owned(), TRAPPED_DETAIL.to_owned());
            let state = UrlState::Refused { reason, detail, at: now };
            self.keep_out(batch, own, (&url, record), state, now)?;
            return Ok(false);
        }
        if matches!(verdict.reason, Reason::SeedRedirect) {
            self.widen_scope(batch, &url);
        }
        let host = self.host_id(&url.host())?;
        let Some(known) = self.host(host)? else { return Ok(false) };
        let used = Usage { pages: known.done, bytes: known.bytes };
        if let HostStatus::GivenUp { reason: detail, .. } = known.status {
            (record.hops, record.hops_max) = (hops, hops_max);
            let state = UrlState::Failed { reason: GIVEN_UP.to_owned(), detail, at: now };
            self.keep_out(batch, own, (&url, record), state, now)?;
            return Ok(false);
        }
        let verdict = self.filter.fetch(&url, &used, &self.used());
        if !verdict.accept {
            // A budget of the host that refused it stays the reason while it is spent as well.
            let of_host = self.filter.fetch(&url, &used, &Usage::default());
            if reason_of(&record.state) != Some(of_host.code()) {
                self.keep_out(batch, own, (&url, record), refused(&verdict.reason, now), now)?;
            }
            return Ok(false);
        }
        if !self.count_out(&url, &record.state)? {
            return Ok(false);
        }
        let rank = Rank { hops, belongs: record.path.ends_with(['E', 'R']), stale: false };
        let place = self.enqueue(batch, host, priority(rank), &Item::Page(own))?;
        self.shape.add(hops, place.priority);
        (record.hops, record.hops_max) = (hops, hops_max);
        record.attempts = 0;
        record.state = UrlState::Queued(place);
        urls::put(batch, &self.db, own, &record);
        seen::put_itself(batch, &self.db, own, (hops, hops_max));
        self.counters.queued += 1;
        self.count("restored");
        Ok(true)
    }

    /// Names in the ledger what keeps a URL out by now, where something else did before: else who
    /// looks for what this keeps out, when it does no longer, would not find the URL.
    fn keep_out(
        &mut self,
        batch: &mut Batch,
        own: Fingerprint,
        (url, mut record): (&CrawlUrl, UrlRecord),
        state: UrlState,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        if says_the_same(&record.state, &state) || !self.count_out(url, &record.state)? {
            return Ok(());
        }
        match &state {
            UrlState::Refused { reason, .. } => {
                if reason == TRAPPED {
                    self.hold_in_part(url, now)?;
                }
                self.counters.refused += 1;
                self.count(reason);
            }
            UrlState::Failed { reason, .. } => {
                self.counters.failed += 1;
                self.count(reason);
            }
            UrlState::Queued(_) | UrlState::Done(_) | UrlState::Suppressed { .. } => {}
        }
        record.state = state;
        urls::put(batch, &self.db, own, &record);
        Ok(())
    }

    /// Counts a URL no longer among those that were refused or failed; returns false if it is none
    /// of them.
    fn count_out(&mut self, url: &CrawlUrl, state: &UrlState) -> Result<bool, DbError> {
        match state {
            UrlState::Refused { reason, .. } => {
                if reason == TRAPPED {
                    self.let_out_of_part(url)?;
                }
                self.counters.refused = self.counters.refused.saturating_sub(1);
            }
            UrlState::Failed { .. } => {
                self.counters.failed = self.counters.failed.saturating_sub(1);
            }
            UrlState::Queued(_) | UrlState::Done(_) | UrlState::Suppressed { .. } => {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn refused(reason: &Reason, at: Timestamp) -> UrlState {
    UrlState::Refused { reason: reason.code().to_owned(), detail: reason.to_string(), at }
}

/// Returns why a URL was refused or failed.
fn reason_of(state: &UrlState) -> Option<&str> {
    match state {
        UrlState::Refused { reason, .. } | UrlState::Failed { reason, .. } => Some(reason.as_str()),
        UrlState::Queued(_) | UrlState::Done(_) | UrlState::Suppressed { .. } => None,
    }
}

/// Returns true if two states name one and the same cause. The detail of a budget is how much of it
/// is spent, which is no other cause.
fn says_the_same(before: &UrlState, after: &UrlState) -> bool {
    match (before, after) {
        (
            UrlState::Refused { reason, detail, .. },
            UrlState::Refused { reason: other, detail: others, .. },
        ) => reason == other && (detail == others || BUDGETS.contains(&reason.as_str())),
        (UrlState::Failed { reason, .. }, UrlState::Failed { reason: other, .. }) => {
            reason == other
        }
        _ => false,
    }
}

/// Returns true if a job is about a URL.
fn is_meant(job: &Job, record: &UrlRecord) -> bool {
    let (reason, detail) = match &record.state {
        UrlState::Refused { reason, detail, .. } => (reason.as_str(), detail.as_str()),
        UrlState::Failed { reason, .. } if reason == GIVEN_UP => (GIVEN_UP, ""),
        _ => return false,
    };
    match job {
        Job::Drop { .. } | Job::Disown { .. } => false,
        Job::Include { pattern } => {
            let by = Reason::Excluded(pattern.as_str().into());
            reason == by.code() && detail == by.to_string()
        }
        Job::Budget => BUDGETS.contains(&reason),
        Job::Untrap => reason == TRAPPED,
        Job::Refilter => Reason::is_of_schedule(reason),
        Job::Nearer => reason == TOO_FAR,
        Job::Forgive { host } => {
            [TRAPPED, GIVEN_UP, ROBOTS_UNREACHABLE].contains(&reason)
                && CrawlUrl::parse(&record.url).is_ok_and(|url| url.host_str() == host)
        }
    }
}

/// Returns what is said when a job is done.
fn finished(job: &Job, count: Count, answer: Answer) -> Answer {
    let urls = match count.urls {
        1 => "1 URL".to_owned(),
        n => format!("{n} URLs"),
    };
    let text = match job {
        Job::Drop { .. } => format!("{}: {urls} that waited left the queue", answer.text),
        Job::Include { .. }
        | Job::Budget
        | Job::Forgive { .. }
        | Job::Untrap
        | Job::Refilter
        | Job::Nearer => format!("{}; {urls} came back into the queue", answer.text),
        Job::Disown { .. } => format!("{}; {urls} stand for others no more", answer.text),
    };
    Answer { text, count: Some(count), ..answer }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::crawl::readmit::tests::{open, record, url};
    use crate::db::MemoryEnv;

    fn include() -> Job {
        Job::Include { pattern: "/p".to_owned() }
    }

    /// Opens a state whose only URL was refused by the pattern of [`include`].
    fn refused_by(
        env: &MemoryEnv,
        logs: &std::path::Path,
        page: &CrawlUrl,
        now: Timestamp,
    ) -> State {
        let mut state = open(env, logs, now);
        let mut batch = Batch::default();
        let excluded = refused(&Reason::Excluded("/p".into()), now);
        urls::put(&mut batch, &state.db, page.fingerprint(), &record(page, None, excluded));
        state.counters.refused = 1;
        state.commit(batch, now).unwrap();
        state
    }

    /// Does a job to its end; returns what the URL came to.
    fn carry_out(state: &mut State, job: Job, page: &CrawlUrl, now: Timestamp) -> UrlState {
        state.jobs.add(job, Answer::default(), None);
        while state.work(&HashSet::new(), now).unwrap() {}
        urls::get(&state.db, page.fingerprint()).unwrap().unwrap().state
    }

    /// It stayed refused for the exclusion, which the larger budget did not look for.
    #[test]
    fn what_comes_back_while_a_budget_is_spent_is_refused_for_that_budget() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let page = url("http://a.example/p");
        let mut state = refused_by(&env, logs.path(), &page, now);
        let budget = |state: &mut State, most: u64| {
            let filter = state.filter.with_budgets(|settings| settings.total_pages_max = most);
            state.filter = Arc::new(filter);
        };
        budget(&mut state, 1);
        state.counters.done = 1;
        let kept = carry_out(&mut state, include(), &page, now);
        assert_eq!(reason_of(&kept), Some("total-pages"));
        assert!(state.is_cut_by_budget().unwrap());
        // It is counted once, however often it is looked at.
        carry_out(&mut state, Job::Budget, &page, now);
        assert_eq!(state.reasons.get("total-pages"), Some(&1));
        assert_eq!((state.counters.refused, state.counters.queued), (1, 0));
        budget(&mut state, 2);
        let back = carry_out(&mut state, Job::Budget, &page, now);
        assert!(matches!(back, UrlState::Queued(_)), "{back:?}");
        assert_eq!((state.counters.refused, state.counters.queued), (0, 1));
        assert!(!state.is_cut_by_budget().unwrap());
    }

    /// It stayed refused for the exclusion, and nobody looked for that when the host was forgiven.
    #[test]
    fn what_comes_back_to_a_host_that_is_given_up_comes_back_when_that_is_forgiven() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let page = url("http://a.example/p");
        let mut state = refused_by(&env, logs.path(), &page, now);
        let host = state.host_id(&page.host()).unwrap();
        let status = HostStatus::GivenUp { reason: "gone".to_owned(), at: now };
        state.change_host(host, |record| record.status = status).unwrap();
        let kept = carry_out(&mut state, include(), &page, now);
        assert!(matches!(kept, UrlState::Failed { .. }), "{kept:?}");
        assert_eq!(reason_of(&kept), Some(GIVEN_UP));
        assert_eq!((state.counters.refused, state.counters.failed), (0, 1));
        state.change_host(host, |record| record.status = HostStatus::Open).unwrap();
        let forgive = Job::Forgive { host: "a.example".to_owned() };
        let back = carry_out(&mut state, forgive, &page, now);
        assert!(matches!(back, UrlState::Queued(_)), "{back:?}");
        assert_eq!((state.counters.failed, state.counters.queued), (0, 1));
    }

    /// A pattern took it over from the host, and it was counted as failed for good.
    #[test]
    fn what_is_forgiven_while_a_pattern_refuses_it_is_counted_as_refused() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let page = url("http://a.example/p");
        let mut state = refused_by(&env, logs.path(), &page, now);
        let (reason, detail) = (GIVEN_UP.to_owned(), "gone".to_owned());
        let failed = UrlState::Failed { reason, detail, at: now };
        let mut batch = Batch::default();
        urls::put(&mut batch, &state.db, page.fingerprint(), &record(&page, None, failed));
        (state.counters.refused, state.counters.failed) = (0, 1);
        state.commit(batch, now).unwrap();
        state.filter = Arc::new(state.filter.with_exclude("a.example").unwrap());
        let forgive = Job::Forgive { host: "a.example".to_owned() };
        let kept = carry_out(&mut state, forgive, &page, now);
        assert_eq!(reason_of(&kept), Some("excluded"));
        assert_eq!((state.counters.refused, state.counters.failed), (1, 0));
    }
}
