//! The mutable state of a crawl: one owner, one batch per event.
//!
//! Everything durable that the loop changes goes through here, and every method that changes
//! something takes the [`Batch`] that will make it so.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use lru::LruCache;

use super::behind::Behind;
use super::checks::Checks;
use super::error::CrawlError;
use super::hosts::Hosts;
use super::judge::{Audited, Look, Looks};
use super::learn::{Pair, ProbeFlight};
use super::learner::{Learner, Said};
use super::log::{CrawlLog, JsonLog};
use super::models::Models;
use super::near::NearMode;
use super::outage::Outage;
use super::parked::ParkedParts;
use super::passing::Passing;
use super::redirected::Redirected;
use super::repeats::{HostTexts, RepeatSettings};
use super::robots_cache::RobotsCache;
use super::self_links::SelfLinks;
use super::settings::Settings;
use super::steer::{Changes, Jobs};
use super::tally::Tally;
use super::watched::Watched;
use crate::archive::Position;
use crate::clock::Timestamp;
use crate::content::near::NearSettings;
use crate::content::{self, Analysis, Boilerplate};
use crate::db::families::meta::{self, ArchivePosition, Counters, QueueShape, Serials, Session};
use crate::db::families::queue::Item;
use crate::db::families::{hosts, queue, robots as robots_rows, urls};
use crate::db::{Batch, Db, DbError};
use crate::dust::{self as dust_rules, LiveRules, RuleId};
use crate::filter::Filter;
use crate::frontier::{
    Active, Frontier, HostId, HostRecord, HostStatus, PRIORITIES, Place, Rules, UrlRecord,
};
use crate::robots;
use crate::url::{CrawlUrl, Fingerprint, Host, Origin, Site};

/// Seeds, and redirects of seeds, from which the scope is measured in later runs.
const SCOPED_MAX: usize = 1_000_000;

/// The state of a crawl.
#[derive(Debug)]
pub struct State {
    pub(super) db: Arc<Db>,
    pub(super) frontier: Frontier,
    pub(super) filter: Arc<Filter>,
    pub(super) rules: Arc<LiveRules>,
    pub(super) settings: Settings,
    pub(super) robots_settings: robots::Settings,
    /// Product token: what robots.txt calls us.
    pub(super) agent: String,
    pub(super) counters: Counters,
    pub(super) reasons: BTreeMap<String, u64>,
    pub(super) shape: QueueShape,
    pub(super) tally: Tally,
    pub(super) serials: Serials,
    pub(super) session: Session,
    pub(super) archive: ArchivePosition,
    pub(super) hosts: Hosts,
    pub(super) robots: RobotsCache,
    /// robots.txt files that redirect, until their target has answered.
    pub(super) redirected: Redirected,
    /// The port on which a host answered last, and when.
    pub(super) answered: LruCache<HostId, (u16, Timestamp)>,
    pub(super) models: Models,
    pub(super) texts: HostTexts,
    pub(super) parked_parts: ParkedParts,
    pub(super) repeats: RepeatSettings,
    /// Hosts whose address must be looked up; taken by the loop at once.
    pub(super) lookups: Vec<(HostId, Host)>,
    /// Hosts whose address is being looked up: as many as the frontier keeps back queues for.
    pub(super) in_lookup: HashSet<HostId>,
    pub(super) line_cursors: [u64; PRIORITIES],
    pub(super) drain: VecDeque<HostId>,
    pub(super) log: CrawlLog,
    pub(super) proxy_failures: u32,
    pub(super) outage: Outage,
    /// Since when a host has met nothing but faults of our own machine or network.
    pub(super) excused: LruCache<HostId, Timestamp>,
    /// Seeds of all runs, and what they redirect to.
    pub(super) scoped: HashSet<Fingerprint>,
    pub(super) rule_log: JsonLog,
    pub(super) learner: Learner,
    /// Whether learned rules are applied.
    pub(super) enforces: bool,
    /// What the miner has said and nobody has applied yet.
    pub(super) said: Vec<Said>,
    /// Probes that wait in rows, by their numbers.
    pub(super) probes: HashMap<u64, ProbeFlight>,
    /// Second looks at pages that stand for others.
    pub(super) looks: Looks,
    /// Audits whose URL is looked at once more, with what stands for it showed then.
    pub(super) forms: HashMap<Fingerprint, (Audited, Look)>,
    /// Probes by the miner's names, until all their fetches are there.
    pub(super) pairs: HashMap<u64, Pair>,
    /// Retired rules whose URLs must come back.
    pub(super) readmit: VecDeque<RuleId>,
    /// Rules in force that made one page of forms of which one, in a view, keeps back what the
    /// other gives, and how far what they hide was looked at for that.
    pub(super) rejudged: VecDeque<((RuleId, u64), Fingerprint)>,
    /// URLs that rules would suppress and that are fetched to check them.
    pub(super) checks: Checks,
    pub(super) behind: Behind,
    pub(super) self_links: SelfLinks,
    /// What pages show that is none of them.
    pub(super) passing: Passing,
    /// What an operator changed.
    pub(super) changes: Changes,
    /// What is left to do of it.
    pub(super) jobs: Jobs,
    /// What the configuration says where an operator changed it.
    pub(super) configured: Configured,
    /// The journal of orders; none before the first one.
    pub(super) journal: Option<JsonLog>,
    /// What observers see of rules and errors.
    pub(super) seen_of: Watched,
    /// What stood for URLs that are on their way back, and came to nothing.
    pub(super) stood: HashMap<Fingerprint, Fingerprint>,
    /// Representatives that came to nothing, and whose URLs must come back.
    pub(super) returning: BTreeSet<Fingerprint>,
}

/// What the configuration says, before an operator's changes.
#[derive(Clone, Debug)]
pub(super) struct Configured {
    pub(super) politeness: Rules,
    pub(super) dust: dust_rules::Settings,
}

impl State {
    /// Commits a batch together with everything that changed beside it.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn commit(&mut self, mut batch: Batch, now: Timestamp) -> Result<(), CrawlError> {
        let db = &*self.db;
        self.hosts.flush(&mut batch, db);
        self.texts.flush(&mut batch, db);
        self.parked_parts.flush(&mut batch, db);
        self.session.latest = self.session.latest.max(now);
        meta::put_counters(&mut batch, db, &self.counters);
        meta::put_reasons(&mut batch, db, &self.reasons);
        meta::put_shape(&mut batch, db, &self.shape);
        meta::put_serials(&mut batch, db, &self.serials);
        meta::put_session(&mut batch, db, &self.session);
        meta::put_archive(&mut batch, db, &self.archive);
        Ok(db.commit(batch)?)
    }

    /// Returns the record of a host, wherever its true copy is.
    pub(super) fn host(&mut self, id: HostId) -> Result<Option<HostRecord>, DbError> {
        if let Some(active) = self.frontier.active(id) {
            return Ok(Some(active.record.clone()));
        }
        self.hosts.get(&self.db, id)
    }

    /// Changes the record of a host, wherever its true copy is, and notes it for the next batch.
    pub(super) fn change_host(
        &mut self,
        id: HostId,
        change: impl FnOnce(&mut HostRecord),
    ) -> Result<(), DbError> {
        if let Some(record) = self.frontier.record_mut(id) {
            change(record);
            let record = record.clone();
            self.hosts.set(record);
        } else if let Some(mut record) = self.hosts.get(&self.db, id)? {
            change(&mut record);
            self.hosts.set(record);
        }
        Ok(())
    }

    /// Returns the number of a host, giving it one if it is new.
    pub(super) fn host_id(&mut self, name: &Host) -> Result<HostId, DbError> {
        if let Some(id) = self.hosts.find(&self.db, name)? {
            return Ok(id);
        }
        Ok(self.hosts.create(name.clone(), &mut self.serials.host))
    }

    /// Puts an item at the end of its host's queue and gives the host a standing.
    pub(super) fn enqueue(
        &mut self,
        batch: &mut Batch,
        host: HostId,
        priority: u8,
        item: &Item,
    ) -> Result<Place, DbError> {
        let place = Place { priority: priority.min(PRIORITIES as u8 - 1), serial: self.next_row() };
        queue::put(batch, &self.db, host, place, item);
        self.change_host(host, |record| record.queued += 1)?;
        if !self.frontier.added(host) {
            self.stand(batch, host, place.priority)?;
        }
        Ok(place)
    }

    pub(super) fn next_row(&mut self) -> u64 {
        self.serials.row += 1;
        self.serials.row
    }

    /// Counts one occurrence of a reason.
    pub(super) fn count(&mut self, reason: &str) {
        match self.reasons.get_mut(reason) {
            Some(count) => *count += 1,
            None => {
                self.reasons.insert(reason.to_owned(), 1);
            }
        }
    }

    /// Stores a URL's record, as it was read when its row was taken, with a new state.
    pub(super) fn settle_url(
        &self,
        batch: &mut Batch,
        fingerprint: Fingerprint,
        record: Option<UrlRecord>,
        change: impl FnOnce(&mut UrlRecord),
    ) {
        if let Some(mut record) = record {
            change(&mut record);
            urls::put(batch, &self.db, fingerprint, &record);
        }
    }

    /// Returns what is known of an origin's robots.txt.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn robots_of(
        &mut self,
        origin: &Origin,
    ) -> Result<Option<Arc<robots::Entry>>, DbError> {
        if let Some(entry) = self.robots.get(origin) {
            return Ok(Some(entry));
        }
        // An entry of another version, or read for another name, is as good as none: robots.txt is
        // fetched again.
        let stored = robots_rows::get(&self.db, origin)?;
        let entry = stored.and_then(|bytes| robots::Entry::from_bytes(&bytes).ok());
        let entry = entry.filter(|entry| entry.is_for(&self.agent)).map(Arc::new);
        if let Some(entry) = &entry {
            self.robots.put(origin.clone(), entry.clone());
        }
        Ok(entry)
    }

    /// Forgets that robots.txt of a host could not be fetched, so that it is asked for again.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn forgive_robots(&mut self, batch: &mut Batch, host: &Host) -> Result<(), DbError> {
        self.robots.forget_failed(host);
        robots_rows::remove_of_host(batch, &self.db, host.as_str(), |bytes| {
            robots::Entry::from_bytes(bytes).is_ok_and(|entry| entry.failures() > 0)
        })
    }

    /// Stores what a fetch of robots.txt came to.
    pub(super) fn set_robots(&mut self, batch: &mut Batch, origin: Origin, entry: robots::Entry) {
        let entry = entry.read_for(&self.agent);
        robots_rows::put(batch, &self.db, &origin, &entry.to_bytes());
        self.robots.put(origin, Arc::new(entry));
    }

    /// Returns what repeats on the pages of a site.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn boilerplate(&mut self, site: &Site) -> Result<Arc<Boilerplate>, DbError> {
        self.models.boilerplate(&self.db, site)
    }

    /// Returns when pages are near-duplicates, if they are looked for while the crawl runs.
    pub(super) fn looks_up_near(&self) -> Option<NearSettings> {
        let looks = self.repeats.near_duplicates == NearMode::LookUp;
        looks.then(|| self.repeats.near.clone())
    }

    /// Lets the model of a site learn from a page.
    pub(super) fn learn_page(
        &mut self,
        batch: &mut Batch,
        site: &Site,
        analysis: &Analysis,
        settings: &content::Settings,
    ) -> Result<(), DbError> {
        self.models.observe(&self.db, batch, site, analysis, settings)
    }

    /// Returns the hosts with a back queue.
    pub fn actives(&self) -> Vec<&Active> {
        self.frontier.actives()
    }

    /// Returns the counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns how often each reason was given.
    pub fn reasons(&self) -> &BTreeMap<String, u64> {
        &self.reasons
    }

    /// Returns how far the archive is committed.
    pub fn archive_position(&self) -> Position {
        Position { file: self.archive.file.clone(), offset: self.archive.offset }
    }

    /// Returns the database.
    pub fn db(&self) -> &Arc<Db> {
        &self.db
    }

    /// Returns true if hosts that were given up still have URLs to be marked failed.
    pub(super) fn is_draining(&self) -> bool {
        !self.drain.is_empty()
    }

    /// Takes the place that a seed redirects to into the scope, also for later runs.
    pub(super) fn widen_scope(&mut self, batch: &mut Batch, url: &CrawlUrl) {
        if self.keep_scope(batch, url) {
            self.filter = Arc::new(self.filter.with_seeds(std::slice::from_ref(url)));
        }
    }

    /// Measures the scope of later runs, which may name other seeds or none, from a URL too;
    /// returns true if it is new.
    pub(super) fn keep_scope(&mut self, batch: &mut Batch, url: &CrawlUrl) -> bool {
        let is_new = self.scoped.len() < SCOPED_MAX && self.scoped.insert(url.fingerprint());
        if is_new {
            meta::put_scope(batch, &self.db, url);
        }
        is_new
    }

    /// Returns the hosts that are parked, with the reasons, at most a thousand.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn parked(&self) -> Result<Vec<(String, String)>, DbError> {
        let mut parked = Vec::new();
        hosts::each(&self.db, |record| {
            if let HostStatus::Parked { reason, .. } = record.status {
                parked.push((record.name.to_string(), reason));
            }
            parked.len() < 1000
        })?;
        Ok(parked)
    }

    /// Notes how the run ended.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn close(&mut self, how: &str, now: Timestamp) -> Result<(), CrawlError> {
        self.session.ended = how.to_owned();
        self.texts.save_all();
        self.commit(Batch::default(), now)?;
        Ok(self.db.sync()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::readmit::tests::{open, url};
    use crate::db::MemoryEnv;
    use crate::robots::FetchedRobots;

    /// Of the groups in the file only that of one name is kept.
    #[test]
    fn a_robots_txt_that_was_read_for_another_name_is_as_good_as_none() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let origin = url("http://a.example/").origin();
        let text = b"User-agent: crawler\nDisallow: /\n";
        let settings = Default::default();
        let fetched = FetchedRobots::from_answer(200, text, &state.agent, &settings);
        let entry = robots::after_fetch(None, fetched, now, &settings);
        let mut batch = Batch::default();
        state.set_robots(&mut batch, origin.clone(), entry);
        state.commit(batch, now).unwrap();
        drop(state);
        let known = |agent: &str| {
            let mut state = open(&env, logs.path(), now);
            state.agent = agent.to_owned();
            state.robots_of(&origin).unwrap().is_some()
        };
        assert!(known("crawler"));
        assert!(!known("otherbot"));
    }
}
