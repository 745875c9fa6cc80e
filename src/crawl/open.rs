//! Opens a crawl: a new one, or what an earlier run left, brought into order.

use std::collections::{HashMap, HashSet, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use tokio::sync::Notify;
use xxhash_rust::xxh3::xxh3_64;

use super::behind::Behind;
use super::checks::{Alike, Checks, KEPT_BACK_MAX};
use super::error::CrawlError;
use super::hosts::Hosts;
use super::judge::Looks;
use super::learned;
use super::learner::{DustMode, Learner, Mind};
use super::log::{CrawlLog, JsonLog};
use super::models::{self, Models};
use super::outage::Outage;
use super::parked::ParkedParts;
use super::passing::Passing;
use super::redirected::Redirected;
use super::repeats::{HostTexts, RepeatSettings};
use super::robots_cache::RobotsCache;
use super::run::Ended;
use super::self_links::SelfLinks;
use super::settings::Settings;
use super::state::{Configured, State};
use super::steer::{Changes, Job, Jobs};
use super::tally::Tally;
use super::told;
use super::watched::Watched;
use crate::clock::Timestamp;
use crate::db::families::meta::{self, Session};
use crate::db::families::{dust, hosts, line, suppressed, urls};
use crate::db::{Batch, Db, DbError};
use crate::dust::{self as dust_rules, LiveRules, RuleBook, RuleId, RuleState};
use crate::filter::{self, Filter};
use crate::frontier::{Frontier, HostStatus, PRIORITIES, Standing};
use crate::robots;
use crate::url::{CrawlUrl, Fingerprint};

/// Hosts that are remembered for meeting nothing but faults of ours; 100 bytes each.
const EXCUSED_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(16_383);

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
        let capacity = capacity.unwrap_or(NonZeroUsize::MIN);
        let changes = Changes::read(meta::control(&db)?.as_deref()).map_err(CrawlError::Control)?;
        let configured = Configured {
            politeness: parts.frontier.rules().clone(),
            dust: parts.dust.settings.clone(),
        };
        let (mut checks, mut rejudged) = (Checks::default(), VecDeque::new());
        for known in suppressed::kept_back(&db, KEPT_BACK_MAX)? {
            let of = (RuleId(known.rule), known.view);
            checks.compared.kept_back(of, Alike::No);
            rejudged.extend(known.is_due.then_some((of, Fingerprint(0))));
        }
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
            robots: RobotsCache::new(capacity),
            redirected: Redirected::new(now),
            answered: LruCache::sparse(capacity),
            models: Models::new(models::SAMPLES_MAX),
            texts: HostTexts::new(parts.repeats.hosts_held),
            parked_parts: ParkedParts::default(),
            repeats: parts.repeats,
            lookups: Vec::new(),
            in_lookup: HashSet::new(),
            line_cursors: [0; PRIORITIES],
            drain: VecDeque::new(),
            log: parts.log,
            proxy_failures: 0,
            outage: Outage::default(),
            excused: LruCache::sparse(EXCUSED_MAX),
            scoped: HashSet::new(),
            rule_log: parts.rule_log,
            learner: Learner::Off,
            enforces: matches!(parts.dust.mode, DustMode::Auto | DustMode::Enforce),
            said: Vec::new(),
            probes: HashMap::new(),
            looks: Looks::default(),
            forms: HashMap::new(),
            pairs: HashMap::new(),
            readmit: VecDeque::new(),
            rejudged,
            checks,
            behind: Behind::default(),
            self_links: SelfLinks::default(),
            passing: Passing::default(),
            changes,
            jobs: Jobs::default(),
            configured,
            journal: None,
            seen_of: Watched::default(),
            stood: HashMap::new(),
            returning: suppressed::returning(&db, usize::MAX)?.into_iter().collect(),
            db,
        };
        let gate = digest(state.filter.settings());
        let scoped = seeds_of(&state.db)?;
        state.scoped = scoped.iter().map(CrawlUrl::fingerprint).collect();
        state.filter = Arc::new(state.filter.with_seeds(&scoped));
        state.take_up_changes();
        state.start_learning(parts.dust)?;
        let mut batch = Batch::default();
        state.take_up_gate(&mut batch, gate, &scoped)?;
        let resumed = state.restore(batch, session, now)?;
        state.take_up_jobs(now)?;
        Ok((state, resumed))
    }

    /// Has what was refused judged again where the filter is configured otherwise than in the last
    /// run.
    fn take_up_gate(
        &mut self,
        batch: &mut Batch,
        gate: u64,
        scoped: &[CrawlUrl],
    ) -> Result<(), CrawlError> {
        match meta::gate(&self.db)? {
            Some(before) if before == gate => {}
            Some(_) => {
                self.changes.ask(Job::Refilter);
                self.keep_changes(batch);
            }
            // What was found in the ledger of an earlier version is stored from now on.
            None => scoped.iter().for_each(|url| meta::put_scope(batch, &self.db, url)),
        }
        meta::put_gate(batch, &self.db, &gate);
        Ok(())
    }

    /// Loads the rule book, puts its rules in force, and starts the miner. Boot and swap publish by
    /// the same call. What is hidden by rules that are not in force any more comes back, whatever
    /// the mode.
    fn start_learning(&mut self, how: Dust) -> Result<(), CrawlError> {
        let mut samples = Vec::new();
        if how.mode != DustMode::Off {
            dust::each(&self.db, dust::Kind::Sample, |_, bytes| samples.push(bytes.to_vec()))?;
        }
        let unusable = |error: String| CrawlError::Rules(error);
        let mut book = match learned::rules(&self.db)? {
            None => RuleBook::new(how.settings),
            Some(stored) => {
                let samples = samples.iter().map(Vec::as_slice);
                RuleBook::decode(how.settings, &stored, samples)
                    .map_err(|error| unusable(error.to_string()))?
            }
        };
        if self.enforces {
            book = book.proving_by_pairs();
        }
        let hides = |state| match state {
            RuleState::Enforced => true,
            // Without a miner nothing would prove it.
            RuleState::Shadow => self.enforces && how.mode != DustMode::Off,
            RuleState::Candidate | RuleState::Suspended | RuleState::Retired => false,
        };
        let hiding: HashSet<RuleId> =
            book.rules().filter(|rule| hides(rule.state)).map(|rule| rule.id).collect();
        let rules = suppressed::rules(&self.db)?.into_iter().map(RuleId);
        self.readmit.extend(rules.filter(|rule| !hiding.contains(rule)));
        if how.mode == DustMode::Off {
            return Ok(());
        }
        self.seen_of.load_rules(book.rules());
        if self.enforces {
            self.rules.publish(book.rule_set().map_err(|error| unusable(error.to_string()))?);
        }
        let unkept = told::tell_again(&self.db, &mut book)?;
        let probes = how.mode != DustMode::Observe;
        let mind = Mind::new(book, probes, unkept);
        self.learner = match how.wake {
            None => Learner::Inline(Box::new(mind)),
            Some(wake) => Learner::spawn(mind, move || wake.notify_one())
                .map_err(|why| unusable(format!("cannot start a thread: {why}")))?,
        };
        Ok(())
    }

    fn restore(
        &mut self,
        mut batch: Batch,
        before: Option<Session>,
        now: Timestamp,
    ) -> Result<Resumed, CrawlError> {
        let db = self.db.clone();
        let interrupted = self.release_leases(&mut batch, now)?;
        self.keep_rests_of_log(now)?;
        self.counters.queued += self.counters.in_flight;
        self.counters.in_flight = 0;
        let counts = line::count(&db)?;
        for (priority, count) in counts.iter().enumerate() {
            (0..*count).for_each(|_| self.frontier.ticket_added(priority as u8));
        }
        let (mut given_up, mut stranded) = (Vec::new(), Vec::new());
        hosts::each(&db, |record| {
            self.count_closed(&record.status);
            if matches!(record.status, HostStatus::GivenUp { .. }) && record.queued > 0 {
                given_up.push(record.id);
            }
            if let Standing::InGroup(group, _) = record.standing
                && self.frontier.group_of(&record).0 != group
            {
                stranded.push(record.id);
            }
            true
        })?;
        self.drain.extend(given_up);
        self.recount_shape()?;
        let mut resumed = Resumed::default();
        if let Some(before) = before {
            self.checks.are_done = before.ended == Ended::Complete.word();
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
        self.call_stranded(&stranded, now)?;
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
}

/// Returns from what the scope of a crawl is measured besides the seeds of the present run: the
/// seeds of the runs before, and what they redirect to.
///
/// # Errors
/// Returns what the database says.
pub fn seeds_of(db: &Db) -> Result<Vec<CrawlUrl>, DbError> {
    let stored = meta::scope(db)?;
    let mut seeds: Vec<CrawlUrl> =
        stored.iter().filter_map(|url| CrawlUrl::parse(url).ok()).collect();
    // Versions that stored no hash of the filter's settings stored no seeds either.
    if meta::gate(db)?.is_none() {
        urls::each(db, |_, record| {
            let is_seed = record.via.is_none();
            seeds.extend(is_seed.then(|| CrawlUrl::parse(&record.url).ok()).flatten());
            true
        })?;
    }
    Ok(seeds)
}

fn digest(settings: &filter::Settings) -> u64 {
    let text = serde_json::to_string(settings).unwrap_or_default();
    xxh3_64(text.as_bytes())
}
