//! The mutable state of a crawl: one owner, one batch per event.
//!
//! Everything durable that the loop changes goes through here, and every method that changes
//! something takes the [`Batch`] that will make it so.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use tokio::sync::Notify;

use super::error::CrawlError;
use super::hosts::Hosts;
use super::learn::{Pair, ProbeFlight};
use super::learner::{DustMode, Learner, Mind, Said};
use super::log::{CrawlLog, JsonLog};
use super::models::{self, Models};
use super::near::NearMode;
use super::outage::Outage;
use super::repeats::{HostTexts, RepeatSettings};
use super::settings::Settings;
use super::steer::{Changes, Jobs};
use super::tally::Tally;
use super::told;
use super::watched::Watched;
use crate::archive::Position;
use crate::clock::Timestamp;
use crate::content::near::NearSettings;
use crate::content::{self, Analysis, Boilerplate};
use crate::db::families::meta::{self, ArchivePosition, Counters, QueueShape, Serials, Session};
use crate::db::families::queue::Item;
use crate::db::families::{
    dust, hosts, line, queue, robots as robots_rows, seen, suppressed, urls,
};
use crate::db::{Batch, Db, DbError};
use crate::dust::{self as dust_rules, LiveRules, RuleBook, RuleId, RuleState};
use crate::filter::Filter;
use crate::frontier::{
    Active, Errand, Frontier, Grouping, HostId, HostRecord, HostStatus, PRIORITIES, Parting, Place,
    Rules, Standing, UrlRecord, UrlState, Waiting,
};
use crate::robots;
use crate::url::{CrawlUrl, Fingerprint, Host, Origin, Site};

/// Rows of a host that was given up that are marked failed in one step.
const DRAIN_STEP: usize = 200;

/// Redirects of seeds that widen the scope.
const WIDENED_MAX: usize = 100_000;

/// A robots.txt that redirects.
#[derive(Clone, Debug)]
pub(super) struct PendingRobots {
    pub(super) target: CrawlUrl,
    pub(super) hops: u32,
    pub(super) since: Timestamp,
}

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
    robots: LruCache<Origin, Arc<robots::Entry>>,
    /// robots.txt files that redirect, until their target has answered.
    pub(super) pending_robots: HashMap<Origin, PendingRobots>,
    /// The port on which a host answered last, and when.
    pub(super) answered: LruCache<HostId, (u16, Timestamp)>,
    models: Models,
    pub(super) texts: HostTexts,
    pub(super) repeats: RepeatSettings,
    lookups: Vec<(HostId, Host)>,
    line_cursors: [u64; PRIORITIES],
    drain: VecDeque<HostId>,
    pub(super) log: CrawlLog,
    pub(super) proxy_failures: u32,
    pub(super) outage: Outage,
    /// URLs that seeds redirect to.
    widened: Vec<String>,
    pub(super) rule_log: JsonLog,
    pub(super) learner: Learner,
    /// Whether learned rules are applied.
    pub(super) enforces: bool,
    /// What the miner has said and nobody has applied yet.
    pub(super) said: Vec<Said>,
    /// Probes that wait in rows, by their numbers.
    pub(super) probes: HashMap<u64, ProbeFlight>,
    /// Probes by the miner's names, until all their fetches are there.
    pub(super) pairs: HashMap<u64, Pair>,
    /// Retired rules whose URLs must come back.
    pub(super) readmit: VecDeque<RuleId>,
    /// Suppressed URLs that are fetched to check rules before the crawl ends.
    pub(super) checks: HashSet<Fingerprint>,
    /// Rules that were checked so, and how many of their URLs were.
    pub(super) checked: HashMap<RuleId, usize>,
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
    pub(super) returning: VecDeque<Fingerprint>,
}

/// What the configuration says, before an operator's changes.
#[derive(Clone, Debug)]
pub(super) struct Configured {
    pub(super) politeness: Rules,
    pub(super) dust: dust_rules::Settings,
}

/// What a state is made of; see [`State::open`].
#[derive(Debug)]
pub struct Parts {
    /// The open database.
    pub db: Arc<Db>,
    /// An empty frontier.
    pub frontier: Frontier,
    /// The five gates.
    pub filter: Arc<Filter>,
    /// The live rules.
    pub rules: Arc<LiveRules>,
    /// Bounds of the crawl.
    pub settings: Settings,
    /// How robots.txt is kept.
    pub robots_settings: robots::Settings,
    /// Product token: what robots.txt calls us.
    pub agent: String,
    /// The crawl log.
    pub log: CrawlLog,
    /// The lives of rules.
    pub rule_log: JsonLog,
    /// What follows from text that comes back.
    pub repeats: RepeatSettings,
    /// Learning of rules.
    pub dust: Dust,
}

/// How rules are learned and applied in this run.
#[derive(Debug, Default)]
pub struct Dust {
    /// What is done with what is learned; [`DustMode::Auto`] counts as `enforce` here.
    pub mode: DustMode,
    /// Sample, search, proof and audit.
    pub settings: dust_rules::Settings,
    /// The miner's thread calls this when it has said something; `None` runs it in the loop.
    pub wake: Option<Arc<Notify>>,
}

/// What opening found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumed {
    /// True if there was a crawl before.
    pub resumed: bool,
    /// Fetched before.
    pub done: u64,
    /// Waiting, those that were in flight included.
    pub queued: u64,
    /// Fetches that were in flight when the last run ended.
    pub interrupted: usize,
    /// Latest time stored by the last run.
    pub stopped: Timestamp,
    /// How it ended: `complete`, `interrupted`, `limit`, or `killed`.
    pub how: String,
}

impl State {
    /// Opens a crawl: a new one, or the one that the database holds, brought into order at `now`.
    ///
    /// # Errors
    /// Returns what the database or the log says.
    pub fn open(parts: Parts, now: Timestamp) -> Result<(State, Resumed), CrawlError> {
        let db = parts.db;
        let session = meta::session(&db)?;
        let capacity = NonZeroUsize::new(parts.settings.robots_cache.max(8));
        let changes = Changes::read(meta::control(&db)?.as_deref()).map_err(CrawlError::Control)?;
        let configured = Configured {
            politeness: parts.frontier.rules().clone(),
            dust: parts.dust.settings.clone(),
        };
        let mut state = State {
            counters: meta::counters(&db)?.unwrap_or_default(),
            reasons: meta::reasons(&db)?.unwrap_or_default(),
            shape: meta::shape(&db)?.unwrap_or_default(),
            tally: Tally::default(),
            serials: meta::serials(&db)?.unwrap_or_default(),
            session: session.clone().unwrap_or_default(),
            archive: meta::archive(&db)?.unwrap_or_default(),
            frontier: parts.frontier,
            filter: parts.filter,
            rules: parts.rules,
            hosts: Hosts::new(parts.settings.host_cache),
            settings: parts.settings,
            robots_settings: parts.robots_settings,
            agent: parts.agent,
            robots: LruCache::new(capacity.unwrap_or(NonZeroUsize::MIN)),
            pending_robots: HashMap::new(),
            answered: LruCache::new(capacity.unwrap_or(NonZeroUsize::MIN)),
            models: Models::new(models::BYTES_MAX),
            texts: HostTexts::new(parts.repeats.hosts_held),
            repeats: parts.repeats,
            lookups: Vec::new(),
            line_cursors: [0; PRIORITIES],
            drain: VecDeque::new(),
            log: parts.log,
            proxy_failures: 0,
            outage: Outage::default(),
            widened: meta::scope(&db)?.unwrap_or_default(),
            rule_log: parts.rule_log,
            learner: Learner::Off,
            enforces: matches!(parts.dust.mode, DustMode::Auto | DustMode::Enforce),
            said: Vec::new(),
            probes: HashMap::new(),
            pairs: HashMap::new(),
            readmit: VecDeque::new(),
            checks: HashSet::new(),
            checked: HashMap::new(),
            changes,
            jobs: Jobs::default(),
            configured,
            journal: None,
            seen_of: Watched::default(),
            stood: HashMap::new(),
            returning: suppressed::returning(&db, usize::MAX)?.into(),
            db,
        };
        let widened = state.widened.iter().filter_map(|url| CrawlUrl::parse(url).ok());
        let widened: Vec<CrawlUrl> = widened.collect();
        state.filter = Arc::new(state.filter.with_seeds(&widened));
        state.take_up_changes();
        state.start_learning(parts.dust)?;
        let resumed = state.restore(session, now)?;
        state.take_up_jobs(now)?;
        Ok((state, resumed))
    }

    /// Loads the rule book, puts its rules in force, and starts the miner. Boot and swap publish by
    /// the same call.
    fn start_learning(&mut self, how: Dust) -> Result<(), CrawlError> {
        if how.mode == DustMode::Off {
            return Ok(());
        }
        let mut samples = Vec::new();
        dust::each(&self.db, dust::Kind::Sample, |_, bytes| samples.push(bytes.to_vec()))?;
        let unusable = |error: String| CrawlError::Rules(error);
        let mut book = match meta::rule_book(&self.db)? {
            None => RuleBook::new(how.settings),
            Some(bytes) => {
                let samples = samples.iter().map(Vec::as_slice);
                RuleBook::decode(how.settings, &bytes, samples)
                    .map_err(|error| unusable(error.to_string()))?
            }
        };
        for rule in book.rules().filter(|rule| rule.state != RuleState::Enforced) {
            if !suppressed::by_rule(&self.db, rule.id.0, 1)?.is_empty() {
                self.readmit.push_back(rule.id);
            }
        }
        self.seen_of.load_rules(book.rules());
        if self.enforces {
            self.rules.publish(book.rule_set().map_err(|error| unusable(error.to_string()))?);
        }
        let changed = told::tell_again(&self.db, &mut book)?;
        let mind = Mind::new(book, how.mode != DustMode::Observe, changed);
        self.learner = match how.wake {
            None => Learner::Inline(Box::new(mind)),
            Some(wake) => Learner::spawn(mind, move || wake.notify_one())
                .map_err(|why| unusable(format!("cannot start a thread: {why}")))?,
        };
        Ok(())
    }

    fn restore(&mut self, before: Option<Session>, now: Timestamp) -> Result<Resumed, CrawlError> {
        let db = self.db.clone();
        let mut batch = Batch::default();
        let interrupted = self.release_leases(&mut batch, now)?;
        self.keep_rests_of_log(now)?;
        self.counters.queued += self.counters.in_flight;
        self.counters.in_flight = 0;
        let counts = line::count(&db)?;
        for (priority, count) in counts.iter().enumerate() {
            (0..*count).for_each(|_| self.frontier.ticket_added(priority as u8));
        }
        let mut given_up = Vec::new();
        hosts::each(&db, |record| {
            self.count_closed(&record.status);
            if matches!(record.status, HostStatus::GivenUp { .. }) && record.queued > 0 {
                given_up.push(record.id);
            }
            true
        })?;
        self.drain.extend(given_up);
        self.recount_shape()?;
        let mut resumed = Resumed::default();
        if let Some(before) = before {
            resumed = Resumed {
                resumed: true,
                done: self.counters.done,
                queued: self.counters.queued,
                interrupted,
                stopped: before.latest,
                how: if before.ended.is_empty() { "killed".to_owned() } else { before.ended },
            };
        }
        self.session.began = now;
        self.session.latest = now;
        self.session.ended.clear();
        self.session.runs += 1;
        self.commit(batch, now)?;
        Ok(resumed)
    }

    /// A lease that was never finished may have been a request in the last moment before the crash:
    /// its host rests from now on, and the log says that its outcome is unknown.
    fn release_leases(&mut self, batch: &mut Batch, now: Timestamp) -> Result<usize, CrawlError> {
        let leases = hosts::leases(&self.db)?;
        for (id, lease) in &leases {
            hosts::delete_lease(batch, &self.db, *id);
            let Some(mut record) = self.hosts.get(&self.db, *id)? else { continue };
            let settings = self.frontier.rules().of(record.name.as_str());
            let wish = record.pace.crawl_delay_ms.unwrap_or(0).max(record.pace.gap_ms);
            let rest = settings.min_delay.get().max(std::time::Duration::from_millis(wish));
            record.pace.hold_until(now.plus(rest));
            let line = super::log::Line {
                at: lease.given.to_rfc3339(),
                at_ms: lease.given.as_millis(),
                took_ms: now.since(lease.given).as_millis() as u64,
                gap_ms: rest.as_millis() as u64,
                gap_reason: "interrupted".to_owned(),
                next_allowed_ms: record.pace.next_allowed.as_millis(),
                host: record.name.to_string(),
                url: lease.url.clone(),
                then: "interrupted".to_owned(),
                ..super::log::Line::default()
            };
            self.log.write(&line)?;
            self.hosts.set(record);
        }
        Ok(leases.len())
    }

    /// The log is written before the state, so after a power cut it may know of requests that the
    /// state has forgotten: their hosts rest all the same.
    fn keep_rests_of_log(&mut self, now: Timestamp) -> Result<(), CrawlError> {
        for line in self.log.recent()? {
            let until = Timestamp::from_millis(line.next_allowed_ms);
            let Some(url) = CrawlUrl::parse(&line.url).ok().filter(|_| until > now) else {
                continue;
            };
            let id = self.host_id(&url.host())?;
            self.change_host(id, |record| record.pace.hold_until(until))?;
        }
        Ok(())
    }

    /// Commits a batch together with everything that changed beside it.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn commit(&mut self, mut batch: Batch, now: Timestamp) -> Result<(), CrawlError> {
        let db = &*self.db;
        self.hosts.flush(&mut batch, db);
        self.texts.flush(&mut batch, db);
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

    /// Marks a key as known.
    pub(super) fn know(&mut self, batch: &mut Batch, key: Fingerprint, known: seen::Known) {
        seen::put(batch, &self.db, key, known);
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

    /// Gives a host without a back queue a place in line, or a better one.
    pub(super) fn stand(
        &mut self,
        batch: &mut Batch,
        host: HostId,
        priority: u8,
    ) -> Result<(), DbError> {
        let Some(mut record) = self.hosts.get(&self.db, host)? else { return Ok(()) };
        let better = match record.standing {
            Standing::Out => record.is_open(),
            Standing::InLine(place) => place.priority > priority,
            Standing::Snoozed(_) | Standing::InGroup(..) => false,
        };
        if better {
            if let Standing::InLine(place) = record.standing {
                self.frontier.skip_ticket(place.priority);
            }
            let place = Place { priority, serial: self.next_row() };
            line::restand(batch, &self.db, &mut record, Standing::InLine(place));
            self.frontier.ticket_added(priority);
            self.hosts.set(record);
        }
        Ok(())
    }

    /// Takes the next host of a front queue and gives it a back queue, if it may have one.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn activate(&mut self, priority: u8, now: Timestamp) -> Result<(), CrawlError> {
        let cursor = self.line_cursors[usize::from(priority)];
        let Some((place, id)) = line::head(&self.db, priority, cursor)? else {
            // The count and the rows can only part where a row was lost; the rows are right.
            self.frontier.clear_line(priority);
            return Ok(());
        };
        self.line_cursors[usize::from(priority)] = place.serial + 1;
        let Some(mut record) = self.hosts.get(&self.db, id)? else {
            self.frontier.skip_ticket(priority);
            return Ok(());
        };
        if record.standing != Standing::InLine(place) || self.frontier.active(id).is_some() {
            self.frontier.skip_ticket(priority);
            return Ok(());
        }
        if record.group.is_none() && record.is_open() {
            match self.frontier.rules().all().group {
                Grouping::Host => {}
                Grouping::RegistrableDomain => {
                    let site = record.name.site();
                    record.group = Some(xxhash_rust::xxh3::xxh3_64(site.as_str().as_bytes()) >> 1);
                }
                Grouping::Ip => {
                    // Its group must be known before its first request, or that may come too early.
                    self.frontier.skip_ticket(priority);
                    self.frontier.lookup_began();
                    self.lookups.push((id, record.name.clone()));
                    return Ok(());
                }
            }
        }
        let (group, room) = self.frontier.group_of(&record);
        let standing = match (record.is_open(), room) {
            (true, true) => {
                self.frontier.activate(record, place);
                return Ok(());
            }
            (true, false) => Standing::InGroup(group, self.next_row()),
            (false, _) => Standing::Out,
        };
        let mut batch = Batch::default();
        self.frontier.skip_ticket(priority);
        line::restand(&mut batch, &self.db, &mut record, standing);
        self.hosts.set(record);
        self.commit(batch, now)
    }

    /// Takes the hosts whose address must be looked up.
    pub(super) fn take_lookups(&mut self) -> Vec<(HostId, Host)> {
        std::mem::take(&mut self.lookups)
    }

    /// Notes the group of a host and puts it back into line.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn group_found(
        &mut self,
        id: HostId,
        address: Option<&std::net::IpAddr>,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        self.frontier.lookup_ended();
        let Some(mut record) = self.hosts.get(&self.db, id)? else { return Ok(()) };
        // A name without an address fails by itself, in a group of its own.
        let own = || xxhash_rust::xxh3::xxh3_64(record.name.as_str().as_bytes()) >> 1;
        record.group =
            Some(address.map_or_else(own, |address| super::settle::group_of_address(*address)));
        let mut batch = Batch::default();
        if let Standing::InLine(place) = record.standing {
            let place = Place { priority: place.priority, serial: self.next_row() };
            line::restand(&mut batch, &self.db, &mut record, Standing::InLine(place));
            self.frontier.ticket_added(place.priority);
        }
        self.hosts.set(record);
        self.commit(batch, now)
    }

    /// Reads the next rows of a host with a back queue.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn fill(&mut self, id: HostId, now: Timestamp) -> Result<(), CrawlError> {
        let Some(active) = self.frontier.active(id) else { return Ok(()) };
        let most = self.frontier.settings().buffer.max(2);
        let (rows, more) = queue::read(&self.db, id, &active.cursors, most)?;
        let waiting = self.waiting(rows)?;
        let none = waiting.is_empty();
        self.frontier.fill(id, waiting, more);
        if none && let Some(record) = self.frontier.drop_empty(id) {
            let mut batch = Batch::default();
            self.part(&mut batch, record, Parting::Empty)?;
            self.commit(batch, now)?;
        }
        Ok(())
    }

    fn waiting(&self, rows: Vec<(Place, Item)>) -> Result<Vec<Waiting>, DbError> {
        let prints = rows.iter().filter_map(|(_, item)| match item {
            Item::Page(fingerprint) => Some(*fingerprint),
            Item::Probe { .. } | Item::Robots { .. } => None,
        });
        let prints: Vec<Fingerprint> = prints.collect();
        let mut records = urls::get_many(&self.db, &prints)?.into_iter();
        let mut waiting = Vec::with_capacity(rows.len());
        for (place, item) in rows {
            let one = match item {
                Item::Page(fingerprint) => {
                    let record = records.next().flatten();
                    record.and_then(|record| page_of(place, fingerprint, record))
                }
                Item::Probe { url, number } => errand_of(place, &url, "S", Errand::Probe(number)),
                Item::Robots { url, origin, hops } => {
                    errand_of(place, &url, "P", Errand::Robots { origin, hops, row: true })
                }
            };
            waiting.extend(one);
        }
        Ok(waiting)
    }

    /// Gives a host that left its back queue its next standing.
    pub(super) fn part(
        &mut self,
        batch: &mut Batch,
        mut record: HostRecord,
        parting: Parting,
    ) -> Result<(), DbError> {
        let id = record.id;
        let group = self.frontier.group_of(&record).0;
        let standing = match parting {
            Parting::Stays => {
                self.hosts.set(record);
                return Ok(());
            }
            // A row that was added meanwhile keeps the host in line.
            Parting::Empty => Standing::Out,
            Parting::Closed => {
                self.count_closed(&record.status);
                Standing::Out
            }
            Parting::Snoozed(at) => Standing::Snoozed(at),
            Parting::Rotated => {
                let priority = self.best_priority(&record)?;
                self.frontier.ticket_added(priority);
                Standing::InLine(Place { priority, serial: self.next_row() })
            }
        };
        line::restand(batch, &self.db, &mut record, standing);
        if matches!(record.status, HostStatus::GivenUp { .. }) && record.queued > 0 {
            self.drain.push_back(id);
        }
        self.hosts.set(record);
        self.admit_from_group(batch, group)
    }

    /// A host that waited for room in the group comes to the head of a front queue.
    fn admit_from_group(&mut self, batch: &mut Batch, group: u64) -> Result<(), DbError> {
        let Some(id) = line::group_head(&self.db, group)? else { return Ok(()) };
        let Some(mut record) = self.hosts.get(&self.db, id)? else { return Ok(()) };
        if !matches!(record.standing, Standing::InGroup(..)) {
            return Ok(());
        }
        let priority = self.best_priority(&record)?;
        let place = Place { priority, serial: self.next_row() };
        line::restand(batch, &self.db, &mut record, Standing::InLine(place));
        self.frontier.ticket_added(priority);
        self.hosts.set(record);
        Ok(())
    }

    fn best_priority(&self, record: &HostRecord) -> Result<u8, DbError> {
        let (rows, _) = queue::read(&self.db, record.id, &record.floors, 2)?;
        Ok(rows.first().map_or(PRIORITIES as u8 - 1, |(place, _)| place.priority))
    }

    /// Brings sleeping hosts whose time has come back into line; returns when the next one wakes.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn wake(&mut self, now: Timestamp) -> Result<Option<Timestamp>, CrawlError> {
        let woken = line::woken(&self.db, now, 64)?;
        if !woken.is_empty() {
            let mut batch = Batch::default();
            for id in woken {
                let Some(mut record) = self.hosts.get(&self.db, id)? else { continue };
                let standing = if record.is_open() {
                    let priority = self.best_priority(&record)?;
                    self.frontier.ticket_added(priority);
                    Standing::InLine(Place { priority, serial: self.next_row() })
                } else {
                    Standing::Out
                };
                line::restand(&mut batch, &self.db, &mut record, standing);
                self.hosts.set(record);
            }
            self.commit(batch, now)?;
        }
        Ok(line::next_waking(&self.db)?)
    }

    /// Marks some URLs of hosts that were given up as failed; returns true if there are more.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn drain_given_up(&mut self, now: Timestamp) -> Result<bool, CrawlError> {
        let Some(id) = self.drain.front().copied() else { return Ok(false) };
        let Some(record) = self.host(id)? else {
            self.drain.pop_front();
            return Ok(true);
        };
        let HostStatus::GivenUp { reason, .. } = record.status.clone() else {
            self.drain.pop_front();
            return Ok(true);
        };
        let (rows, _) = queue::read(&self.db, id, &record.floors, DRAIN_STEP)?;
        if rows.is_empty() {
            self.drain.pop_front();
            return Ok(true);
        }
        let mut batch = Batch::default();
        let mut floors = record.floors;
        for (place, item) in &rows {
            queue::delete(&mut batch, &self.db, id, *place);
            let floor = &mut floors[usize::from(place.priority) % PRIORITIES];
            *floor = (*floor).max(place.serial + 1);
            if let Item::Robots { origin, .. } = item {
                let why = format!("it redirects to {}, which is given up", record.name);
                self.lose_robots(&mut batch, origin.clone(), why, now)?;
            }
            if let Item::Page(fingerprint) = item
                && let Some(mut url) = urls::get(&self.db, *fingerprint)?
            {
                url.state = UrlState::Failed {
                    reason: "host-given-up".to_owned(),
                    detail: reason.clone(),
                    at: now,
                };
                urls::put(&mut batch, &self.db, *fingerprint, &url);
                self.shape.remove(url.hops, place.priority);
                self.give_back(&mut batch, *fingerprint)?;
                self.counters.queued = self.counters.queued.saturating_sub(1);
                self.counters.failed += 1;
                self.count("host-given-up");
            }
        }
        let gone = rows.len() as u64;
        self.change_host(id, |record| {
            record.floors = floors;
            record.queued = record.queued.saturating_sub(gone);
        })?;
        self.commit(batch, now)?;
        Ok(true)
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

    /// Stores a URL's record, with a new state.
    pub(super) fn settle_url(
        &mut self,
        batch: &mut Batch,
        fingerprint: Fingerprint,
        change: impl FnOnce(&mut UrlRecord),
    ) -> Result<(), DbError> {
        if let Some(mut record) = urls::get(&self.db, fingerprint)? {
            change(&mut record);
            urls::put(batch, &self.db, fingerprint, &record);
        }
        Ok(())
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
            return Ok(Some(entry.clone()));
        }
        // An entry of another version is as good as none: robots.txt is fetched again.
        let stored = robots_rows::get(&self.db, origin)?;
        let entry = stored.and_then(|bytes| robots::Entry::from_bytes(&bytes).ok()).map(Arc::new);
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
        let held = self.robots.iter().filter(|(origin, _)| origin.host == *host);
        let failed = held.filter(|(_, entry)| entry.failures() > 0);
        let failed: Vec<Origin> = failed.map(|(origin, _)| origin.clone()).collect();
        for origin in failed {
            self.robots.pop(&origin);
        }
        robots_rows::remove_of_host(batch, &self.db, host.as_str(), |bytes| {
            robots::Entry::from_bytes(bytes).is_ok_and(|entry| entry.failures() > 0)
        })
    }

    /// Stores what a fetch of robots.txt came to.
    pub(super) fn set_robots(&mut self, batch: &mut Batch, origin: Origin, entry: robots::Entry) {
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
        if self.widened.len() < WIDENED_MAX && !self.widened.iter().any(|one| one == url.as_str()) {
            self.widened.push(url.to_string());
            meta::put_scope(batch, &self.db, &self.widened);
            self.filter = Arc::new(self.filter.with_seeds(std::slice::from_ref(url)));
        }
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

fn page_of(place: Place, fingerprint: Fingerprint, record: UrlRecord) -> Option<Waiting> {
    Some(Waiting {
        place,
        url: CrawlUrl::parse(&record.url).ok()?,
        fingerprint,
        path: record.path,
        via: record.via,
        hops: record.hops,
        attempts: record.attempts,
        errand: Errand::Page,
    })
}

fn errand_of(place: Place, url: &str, path: &str, errand: Errand) -> Option<Waiting> {
    let url = CrawlUrl::parse(url).ok()?;
    let fingerprint = url.fingerprint();
    let path = path.to_owned();
    Some(Waiting { place, url, fingerprint, path, via: None, hops: 0, attempts: 0, errand })
}
