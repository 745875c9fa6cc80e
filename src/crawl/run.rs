//! The loop.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};

use super::admit::Admitted;
use super::discover::SeedUrl;
use super::edge::{Edge, Store};
use super::error::CrawlError;
use super::names::{self, AHEAD_MAX, Lookup};
use super::obey::Command;
use super::remaining::{Known, Survey};
use super::snapshot::{Brake, Remaining, Snapshot};
use super::state::State;
use super::visit::{READ_AT_ONCE, Task, Tools, Visit, VisitError, visit};
use crate::clock::{Span, Timestamp};
use crate::db::Batch;
use crate::db::families::line;
use crate::db::families::meta::Counters;
use crate::dns::Resolve;
use crate::fetch::{Failed, Failure, Fetch, Outcome, Purpose};
use crate::frontier::{Errand, HostId, Next};
use crate::url::Host;
use crate::{content, extract};

/// Steps of the frontier between two looks at what else has happened.
const STEPS_MAX: usize = 512;

/// Visits settled between two looks at the frontier.
const SETTLE_MAX: usize = 64;

/// How often observers, disks and syncs have their turn.
const TICK: Duration = Duration::from_secs(1);

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Nothing is left to fetch.
    Complete,
    /// All that is left belongs to parked hosts.
    Parked,
    /// An operator or a signal ended it.
    Interrupted,
    /// `time_max` was reached, or nothing is left but what the page or byte budget of the crawl
    /// refused.
    Limit,
}

impl Ended {
    /// Returns the word that the state keeps.
    pub fn word(self) -> &'static str {
        match self {
            Ended::Complete => "complete",
            Ended::Parked => "parked",
            Ended::Interrupted => "interrupted",
            Ended::Limit => "limit",
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Why it ended.
    pub ended: Ended,
    /// Counters of the whole crawl.
    pub counters: Counters,
    /// How often each reason was given.
    pub reasons: BTreeMap<String, u64>,
    /// How long this run took.
    pub took_ms: u64,
    /// Hosts that are parked, with the reasons.
    pub parked: Vec<(String, String)>,
}

/// What a run is made of beside state and edge.
#[derive(Clone, Debug)]
pub struct Options {
    /// How pages are read.
    pub extract: extract::Settings,
    /// How text is judged.
    pub content: content::Settings,
    /// Whether known payloads become revisit records.
    pub revisits: bool,
    /// Whether answers of name servers are archived.
    pub dns: bool,
    /// How often state and archive are made safe against a power cut.
    pub sync_interval: Span,
    /// Directories whose disks are watched; empty in a simulation.
    pub disks: Vec<PathBuf>,
    /// Notified when the miner has said something.
    pub wake: Arc<Notify>,
    /// The runtime that visits run on; in a simulation the loop's own.
    pub visits: tokio::runtime::Handle,
}

impl Options {
    /// Returns options with default settings, of a run that watches no disk and leaves a power cut
    /// a minute's work.
    pub fn new(visits: tokio::runtime::Handle) -> Options {
        Options {
            extract: extract::Settings::default(),
            content: content::Settings::default(),
            revisits: true,
            dns: true,
            sync_interval: Span::secs(60),
            disks: Vec::new(),
            wake: Arc::default(),
            visits,
        }
    }
}

/// A crawl that is about to run.
#[derive(Debug)]
pub struct Crawl<R, F, S> {
    pub(super) edge: Arc<Edge<R, F, S>>,
    pub(super) state: State,
    pub(super) options: Options,
    tools: Arc<Tools>,
    visits: JoinSet<Result<Visit, VisitError>>,
    pub(super) flights: HashMap<Id, Admitted>,
    /// Names that are looked up before their hosts are due.
    lookups: JoinSet<Option<Vec<IpAddr>>>,
    looking_up: HashMap<Id, Lookup>,
    /// Visits whose records come after one that is not settled yet, by the archive's order.
    pub(super) held: BTreeMap<u64, (Admitted, Visit)>,
    next_record: u64,
    rates: VecDeque<(Timestamp, u64, u64)>,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    pub(super) stopping: Option<(Ended, Timestamp)>,
    pub(super) paused_by: Option<Brake>,
    synced: Timestamp,
    waking: Option<Timestamp>,
    pub(super) began: Timestamp,
    survey: Survey,
    remaining: Remaining,
    pub(super) disk_free: Option<u64>,
}

impl<R: Resolve, F: Fetch, S: Store> Crawl<R, F, S> {
    /// Composes a crawl.
    pub fn new(edge: Arc<Edge<R, F, S>>, state: State, options: Options) -> Self {
        let began = edge.clock.now();
        let tools = Arc::new(Tools {
            db: state.db.clone(),
            filter: state.filter.clone(),
            extract: options.extract.clone(),
            content: options.content.clone(),
            near: state.looks_up_near(),
            agent: state.agent.clone(),
            revisits: options.revisits,
            dns: options.dns,
            room: Arc::new(Semaphore::new(READ_AT_ONCE)),
        });
        Crawl {
            edge,
            state,
            options,
            tools,
            visits: JoinSet::new(),
            flights: HashMap::new(),
            lookups: JoinSet::new(),
            looking_up: HashMap::new(),
            held: BTreeMap::new(),
            next_record: 0,
            rates: VecDeque::new(),
            snapshots: watch::channel(None).0,
            stopping: None,
            paused_by: None,
            synced: began,
            waking: None,
            began,
            survey: Survey::default(),
            remaining: Remaining::default(),
            disk_free: None,
        }
    }

    /// Returns a view that is renewed each second and after each order; looking at it cannot slow
    /// the crawl (I9).
    pub fn snapshots(&self) -> watch::Receiver<Option<Arc<Snapshot>>> {
        self.snapshots.subscribe()
    }

    /// Returns the state, for what is read before and after a run.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Runs until nothing is left, a limit is reached or a command ends it.
    ///
    /// # Errors
    /// Returns a failure of our own; the state is then complete up to the last batch, and the same
    /// command goes on from there.
    pub async fn run(
        &mut self,
        seeds: &[SeedUrl],
        mut commands: mpsc::Receiver<Command>,
    ) -> Result<Summary, CrawlError> {
        let now = self.edge.clock.now();
        for chunk in seeds.chunks(1000) {
            let mut batch = Batch::default();
            self.state.discover_seeds(&mut batch, chunk, now)?;
            self.state.commit(batch, now)?;
        }
        if self.state.changes().paused {
            self.state.frontier.set_paused(true);
            self.paused_by = Some(Brake::Paused);
        }
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut open = true;
        let wake = self.options.wake.clone();
        let ended = loop {
            let now = self.edge.clock.now();
            let wait = self.advance(now).await?;
            if let Some(ended) = self.over(wait, now) {
                // An order that was given before the end is carried out: it may leave work.
                let done = matches!(ended, Ended::Complete | Ended::Parked);
                if done && let Ok(command) = commands.try_recv() {
                    self.obey(command)?;
                    continue;
                }
                if done && self.stopping.is_none() && self.looks_again(now)? {
                    continue;
                }
                break match ended {
                    Ended::Complete if self.state.is_cut_by_budget()? => Ended::Limit,
                    ended => ended,
                };
            }
            let until = match wait {
                Wait::Until(at) => self.edge.clock.instant_of(at),
                Wait::Now => tokio::time::Instant::now(),
                Wait::Event => tokio::time::Instant::now() + Duration::from_secs(3600),
            };
            tokio::select! {
                biased;
                // What is rare comes first: at full speed some visit has always ended.
                command = commands.recv(), if open => match command {
                    Some(command) => {
                        self.obey(command)?;
                        self.publish(self.edge.clock.now());
                    }
                    None => open = false,
                },
                _ = tick.tick() => self.tick().await?,
                Some(found) = self.lookups.join_next_with_id() => self.looked_up(found)?,
                Some(done) = self.visits.join_next_with_id() => self.collect(done)?,
                () = wake.notified() => {}
                () = tokio::time::sleep_until(until) => {}
            }
        };
        self.finish(ended).await
    }

    /// Returns why the run is over, if it is.
    fn over(&mut self, wait: Wait, now: Timestamp) -> Option<Ended> {
        if let Some((ended, deadline)) = self.stopping {
            let idle = self.flights.is_empty() && self.held.is_empty();
            return (idle || now >= deadline).then_some(ended);
        }
        let limit = self.state.settings.time_max.get();
        if !limit.is_zero() && now.since(self.began) >= limit {
            self.stop(Ended::Limit, now);
            return None;
        }
        let idle = wait == Wait::Event
            && self.flights.is_empty()
            && self.lookups.is_empty()
            && self.held.is_empty()
            && self.waking.is_none()
            && self.paused_by.is_none()
            && self.state.jobs.is_empty()
            && !self.state.is_draining()
            && !self.state.is_readmitting();
        let left = self.state.counters.queued > 0;
        idle.then_some(if left { Ended::Parked } else { Ended::Complete })
    }

    /// Takes a last look where nothing else is left: at what was refused for too many hops, if some
    /// of it is near enough by now; and at the rules: what waits for a look that never came, as at
    /// a page of a host that is parked; what the miner still has to say; whether what the rules
    /// hide is still what they say, and what would be lost with it. Returns true if there is more
    /// to do.
    fn looks_again(&mut self, now: Timestamp) -> Result<bool, CrawlError> {
        self.state.give_up_looks(now)?;
        Ok(self.state.take_up_last()
            || self.state.hear_miner(now)?
            || self.state.is_readmitting()
            || self.state.check_rules(now)?
            || self.state.tell_led_to(now)?)
    }

    pub(super) fn stop(&mut self, ended: Ended, now: Timestamp) {
        self.state.frontier.set_paused(true);
        self.stopping = Some((ended, now.plus(self.state.settings.grace.get())));
    }

    /// Steps 1 and 2 of the contract; returns what to wait for.
    async fn advance(&mut self, now: Timestamp) -> Result<Wait, CrawlError> {
        self.waking = match self.waking {
            Some(at) if at > now => Some(at),
            _ => self.state.wake(now)?,
        };
        let mut draining = self.state.drain_given_up(now)?;
        draining |= self.work(now)?;
        draining |= self.state.apply_said(now)?;
        draining |= self.state.readmit_some(now)?;
        for _ in 0..STEPS_MAX {
            // The end of a visit wakes the loop, as it does where as many as may be are under way.
            let next = if self.state.is_budget_under_way() {
                Next::Full
            } else {
                self.state.frontier.next(now)
            };
            match next {
                Next::Fetch(lease) => {
                    if let Some(admitted) = self.state.admit(lease, now)? {
                        self.start(admitted)?;
                    }
                    // A lease that ended at once may have put its host to sleep.
                    self.waking = None;
                }
                Next::Fill(host) => self.state.fill(host, now)?,
                Next::Activate(priority) => {
                    self.state.activate(priority, now)?;
                    self.look_up();
                }
                _ if draining => return Ok(Wait::Now),
                Next::Wait(at) => return Ok(Wait::Until(self.earlier(at))),
                Next::Full | Next::Idle => {
                    // Who fell asleep just now is work as well: without it the crawl were over.
                    if self.waking.is_none() {
                        self.waking = line::next_waking(&self.state.db)?;
                    }
                    return Ok(self.waking.map_or(Wait::Event, Wait::Until));
                }
            }
        }
        // Visits on a single-threaded runtime run only while the loop waits.
        Ok(Wait::Now)
    }

    /// Resolves the names of hosts whose group is not known yet.
    fn look_up(&mut self) {
        for (id, name) in self.state.take_lookups() {
            self.spawn_lookup(name, Some(id));
        }
    }

    /// Resolves the names of hosts that are due soon, so that their fetches need not wait for it.
    fn look_ahead(&mut self, now: Timestamp) {
        let ahead = self.state.settings.names_ahead.get();
        let room = AHEAD_MAX.saturating_sub(self.lookups.len());
        if ahead.is_zero() || self.state.frontier.is_paused() {
            return;
        }
        let until = now.plus(ahead);
        let due = self.state.frontier.due_before(until).map(|active| &active.record.name);
        let unknown = due.filter(|name| !self.edge.resolve.knows(name, until));
        let names: Vec<Host> = unknown.take(room).cloned().collect();
        for name in names {
            self.spawn_lookup(name, None);
        }
    }

    fn spawn_lookup(&mut self, name: Host, group_of: Option<HostId>) {
        let future = names::look_up(self.edge.clone(), name.clone(), self.options.dns);
        let handle = self.lookups.spawn_on(future, &self.options.visits);
        self.looking_up.insert(handle.id(), Lookup { host: name, group_of });
    }

    /// Takes a finished lookup. One that panicked is a bug of ours, and has found nothing: its host
    /// waits for it no more.
    fn looked_up(
        &mut self,
        found: Result<(Id, Option<Vec<IpAddr>>), JoinError>,
    ) -> Result<(), CrawlError> {
        let (id, addresses) = found.unwrap_or_else(|error| {
            tracing::error!(%error, "a lookup broke");
            (error.id(), None)
        });
        let Some(lookup) = self.looking_up.remove(&id) else { return Ok(()) };
        self.state.looked_up(&lookup, addresses.as_deref(), self.edge.clock.now())
    }

    fn earlier(&self, at: Timestamp) -> Timestamp {
        self.waking.map_or(at, |waking| waking.min(at))
    }

    fn start(&mut self, admitted: Admitted) -> Result<(), CrawlError> {
        let waiting = &admitted.lease.waiting;
        let purpose = match waiting.errand {
            Errand::Page => Purpose::Page,
            Errand::Probe(_) => Purpose::Probe,
            Errand::Robots { .. } => Purpose::Robots,
        };
        let task = Task {
            url: waiting.url.clone(),
            purpose,
            again: waiting.attempts > 0,
            path: waiting.path.clone(),
            via: admitted.via.clone(),
            rules_version: admitted.rules_version,
            group: self.state.group_by_address(admitted.lease.host),
            robots: admitted.robots.clone(),
            usage: admitted.usage.clone(),
            validators: admitted.validators.clone(),
            boilerplate: self.state.boilerplate(&waiting.url.site())?,
            errors: self.state.errors_of(&waiting.url.host())?,
            tools: self.tools.clone(),
        };
        let future = visit(self.edge.clone(), task);
        let handle = self.visits.spawn_on(future, &self.options.visits);
        self.flights.insert(handle.id(), admitted);
        Ok(())
    }

    /// Step 4: takes a finished visit, and others that are ready, and settles them in the order of
    /// their records.
    fn collect(
        &mut self,
        first: Result<(Id, Result<Visit, VisitError>), JoinError>,
    ) -> Result<(), CrawlError> {
        self.take(first)?;
        for _ in 1..SETTLE_MAX {
            // What is joined is taken: a visit that got lost here would hold all later ones up.
            let Some(joined) = self.visits.try_join_next_with_id() else { break };
            self.take(joined)?;
        }
        debug_assert_eq!(self.flights.len(), self.visits.len(), "a visit was joined and lost");
        Ok(())
    }

    fn take(
        &mut self,
        joined: Result<(Id, Result<Visit, VisitError>), JoinError>,
    ) -> Result<(), CrawlError> {
        let (id, visit) = match joined {
            Ok((id, Ok(visit))) => (id, visit),
            Ok((_, Err(VisitError::Db(error)))) => return Err(error.into()),
            Ok((_, Err(VisitError::Archive(error)))) => return Err(error.into()),
            Err(error) => (error.id(), self.broken(&error)),
        };
        let Some(admitted) = self.flights.remove(&id) else { return Ok(()) };
        match visit.written.as_ref().map(|written| written.sequence) {
            None => self.settle(admitted, visit)?,
            Some(sequence) => {
                self.held.insert(sequence, (admitted, visit));
                while let Some((admitted, visit)) = self.held.remove(&self.next_record) {
                    self.next_record += 1;
                    self.settle(admitted, visit)?;
                }
            }
        }
        Ok(())
    }

    fn settle(&mut self, admitted: Admitted, visit: Visit) -> Result<(), CrawlError> {
        let now = self.edge.clock.now();
        self.waking = None;
        self.state.settle(admitted, visit, &self.options.content, now)
    }

    /// A visit that panicked is a bug of ours; the crawl goes on, the URL is tried again.
    fn broken(&self, error: &JoinError) -> Visit {
        let now = self.edge.clock.now();
        tracing::error!(%error, "a visit broke; its URL will be tried again");
        let failed = Failed {
            failure: Failure::Timeout,
            detail: "a visit broke; see the program's log".to_owned(),
            began: now,
            took: Duration::ZERO,
            address: None,
            request_block: None,
            received: bytes::Bytes::new(),
        };
        Visit {
            began: now,
            ended: now,
            took: Duration::ZERO,
            outcome: Arc::new(Outcome::Failed(failed)),
            address: None,
            resolved: None,
            page: None,
            moved: None,
            not_archived: None,
            written: None,
            room: None,
        }
    }

    async fn tick(&mut self) -> Result<(), CrawlError> {
        let now = self.edge.clock.now();
        self.watch_disks();
        self.look_ahead(now);
        if now.since(self.synced) >= self.options.sync_interval.get() {
            self.synced = now;
            // The archive first (I5): the state must never know of a record that a power cut takes.
            let forced = self.state.archive.clone();
            self.edge.store.sync().await?;
            self.state.note_forced(&forced)?;
            self.state.db.sync()?;
        }
        let counters = self.state.counters;
        self.rates.push_back((now, counters.done, counters.bytes));
        while self.rates.front().is_some_and(|(at, ..)| now.since(*at) > Duration::from_secs(10)) {
            self.rates.pop_front();
        }
        if self.snapshots.receiver_count() > 0 {
            let mut survey = std::mem::take(&mut self.survey);
            self.remaining = survey.tick(&self.known(now))?;
            self.survey = survey;
            self.state.ask_for_rules();
            self.publish(now);
        }
        Ok(())
    }

    /// Shows observers the crawl as it is: each second, and at once what an order has changed.
    fn publish(&self, now: Timestamp) {
        if self.snapshots.receiver_count() > 0 {
            self.snapshots.send_replace(Some(Arc::new(self.snapshot(now))));
        }
    }

    fn known(&self, now: Timestamp) -> Known<'_> {
        let limit = self.state.settings.time_max.get();
        Known {
            db: &self.state.db,
            frontier: &self.state.frontier,
            counters: &self.state.counters,
            limits: &self.state.settings,
            robots: &self.state.robots_settings,
            host_pages_max: self.state.filter.settings().host_pages_max,
            now,
            left: (!limit.is_zero()).then(|| limit.saturating_sub(now.since(self.began))),
        }
    }

    /// Holds the crawl while a disk is short, and lets it go on when it no longer is.
    pub(super) fn watch_disks(&mut self) {
        let free = |dir: &PathBuf| {
            let stat = rustix::fs::statvfs(dir.as_path()).ok()?;
            Some(stat.f_bavail.saturating_mul(stat.f_frsize))
        };
        self.disk_free = self.options.disks.iter().filter_map(free).min();
        let reserve = self.state.settings.disk_reserve.get();
        let Some(free) = self.disk_free else { return };
        let short = matches!(self.paused_by, Some(Brake::Disk { .. }));
        if free < reserve && self.paused_by.is_none() {
            tracing::warn!(free, reserve, "paused: the disk is fuller than its reserve allows");
            self.state.frontier.set_paused(true);
            self.paused_by = Some(Brake::Disk { free, reserve });
        } else if free >= reserve && short {
            tracing::info!(free, "going on: the disk has room again");
            self.state.frontier.set_paused(self.stopping.is_some());
            self.paused_by = None;
        }
    }

    fn snapshot(&self, now: Timestamp) -> Snapshot {
        let (hosts_active, hosts_ready) = self.state.frontier.host_counts(now);
        let selector = self.state.frontier.selector();
        let (mut rate, mut bytes_rate) = (0.0, 0.0);
        if let (Some(first), Some(last)) = (self.rates.front(), self.rates.back()) {
            let secs = last.0.since(first.0).as_secs_f64();
            if secs > 0.0 {
                rate = (last.1 - first.1) as f64 / secs;
                bytes_rate = (last.2 - first.2) as f64 / secs;
            }
        }
        let rules = self.state.rules.snapshot();
        Snapshot {
            at: now,
            began: self.began,
            counters: self.state.counters,
            hosts_active,
            hosts_ready,
            hosts_waiting: selector.by_priority(),
            in_flight: self.flights.len(),
            rate,
            bytes_rate,
            brake: self.brake(hosts_active, hosts_ready, selector.waiting()),
            slowest: self.survey.slowest().cloned(),
            remaining: self.remaining.clone(),
            rules_version: rules.version(),
            rules: rules.len(),
            disk_free: self.disk_free,
            disk_reserve: self.state.settings.disk_reserve.get(),
            hosts_known: u64::from(self.state.serials.host),
            shape: self.state.shape,
            tally: self.state.tally.clone(),
            ended: None,
            view: self.view(now),
        }
    }

    fn brake(&self, active: usize, ready: usize, waiting: u64) -> Brake {
        if let Some(brake) = &self.paused_by {
            return brake.clone();
        }
        let settings = self.state.frontier.settings();
        if self.state.counters.queued == 0 {
            return Brake::Exhausted;
        }
        if self.flights.len() >= settings.in_flight_max {
            return Brake::InFlight { max: settings.in_flight_max };
        }
        if waiting > 0 && active >= settings.back_queue_count() {
            return Brake::BackQueues { waiting, max: settings.back_queue_count() };
        }
        if ready == 0 {
            return Brake::Politeness { resting: active };
        }
        Brake::Nothing
    }

    async fn finish(&mut self, ended: Ended) -> Result<Summary, CrawlError> {
        // What is still in flight is not settled: its rows are where they were, and the archive's
        // next opening cuts its records off.
        self.visits.shutdown().await;
        self.lookups.shutdown().await;
        self.edge.store.sync().await?;
        let now = self.edge.clock.now();
        self.state.close_learning(now)?;
        self.state.close(ended.word(), now)?;
        let snapshot = Snapshot { ended: Some(ended), ..self.snapshot(now) };
        self.snapshots.send_replace(Some(Arc::new(snapshot)));
        Ok(Summary {
            ended,
            counters: self.state.counters,
            reasons: self.state.reasons.clone(),
            took_ms: now.since(self.began).as_millis() as u64,
            parked: self.state.parked()?,
        })
    }
}

/// What the loop waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// There is more to do; look at events only.
    Now,
    /// The time of a lease, or of a host's waking.
    Until(Timestamp),
    /// A visit or a command.
    Event,
}
