//! From a lease to a visit: the fetch gate, robots.txt, the rules once more.

use std::time::Duration;

use super::checks::United;
use super::discover::{TRAPPED, TRAPPED_DETAIL};
use super::error::CrawlError;
use super::redirected::PendingRobots;
use super::state::State;
use super::tally::Due;
use crate::clock::Timestamp;
use crate::db::families::hosts::{self, LeaseRecord};
use crate::db::families::seen::{self, Known};
use crate::db::families::suppressed::{self, Suppression};
use crate::db::families::{queue, urls};
use crate::db::{Batch, DbError};
use crate::dust::{Fetched, RuleId, RuleSet};
use crate::filter::{Reason, Usage};
use crate::frontier::{
    Active, Errand, HostId, HostRecord, HostStatus, Lease, PRIORITIES, Parting, Place, UrlRecord,
    UrlState,
};
use crate::robots::{self, Robots, SignalScope};
use crate::url::{CrawlUrl, Fingerprint, Origin};

/// How long a host waits for another host to answer for its robots.txt before it looks again.
const REDIRECT_POLL: Duration = Duration::from_secs(10);

/// The longest that it waits so, as it does for one that must rest: that may be let go on earlier.
const REDIRECT_POLL_MAX: Duration = Duration::from_secs(600);

/// How long a redirected robots.txt may take before it counts as no answer. The host that it leads
/// to may be closed for most of a day, or rest for a whole one, and then must have its turn.
pub(super) const REDIRECT_PATIENCE: Duration = Duration::from_secs(26 * 3600);

/// How long an answer on one port speaks for a host that does not answer on another. Longer, and a
/// machine that is gone would be asked for each of its URLs on the other port.
const ANSWERED_LATELY: Duration = Duration::from_secs(3600);

/// The reason of URLs of which no robots.txt could be had.
pub(super) const ROBOTS_UNREACHABLE: &str = "robots-unreachable";

/// A lease that may be used, and what was decided on the way.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) lease: Lease,
    pub(super) rules_version: u64,
    /// The key of the URL under the rules, where it differs.
    pub(super) canonical: Option<String>,
    /// The rules suppress others like it: it is fetched to measure them.
    pub(super) is_audit: bool,
    /// What stands for it, and the rules by which it does, where it is fetched all the same.
    pub(super) beside: Option<(Fingerprint, Vec<RuleId>)>,
    /// What robots.txt said, in words.
    pub(super) robots: Option<String>,
    /// What robots.txt says of the use of contents: name and value as they stood.
    pub(super) usage: Vec<(String, String)>,
    /// By what to ask whether our copy of a robots.txt is still the latest.
    pub(super) validators: Option<robots::Validators>,
    pub(super) via: Option<CrawlUrl>,
    /// What the host's pace said then.
    pub(super) due: Due,
}

enum Leave {
    Go {
        robots: Option<String>,
    },
    Robots(CrawlUrl, u32),
    Hold(Timestamp),
    /// Another host must answer first.
    Await(Timestamp),
    Later,
    Refuse {
        reason: &'static str,
        detail: String,
    },
}

impl State {
    /// Decides what becomes of a lease: a visit of its URL, a visit of the robots.txt that must
    /// come first, or neither; then the lease is ended here and `None` returned.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn admit(
        &mut self,
        lease: Lease,
        now: Timestamp,
    ) -> Result<Option<Admitted>, CrawlError> {
        // It may have waited until its hours were over, or never have been asked before.
        let active = self.frontier.active(lease.host);
        let opens = active.map(|active| self.frontier.earliest(&active.record, now));
        if let Some(opens) = opens.filter(|opens| *opens > now) {
            return self.hold(lease, opens, now).map(|()| None);
        }
        if self.is_refused_redirect(&lease, now)? {
            let detail = "no host waits for it, or its own is not asked any more".to_owned();
            return self.refuse(lease, "stale-robots", detail, now);
        }
        match lease.waiting.errand {
            Errand::Robots { .. } => return self.start(lease, None, now).map(Some),
            Errand::Probe(number) if !self.awaits_probe(number) => {
                let detail = "asked for by an earlier run".to_owned();
                return self.refuse(lease, "stale-probe", detail, now);
            }
            Errand::Probe(_) | Errand::Page => {}
        }
        // Before robots.txt is asked for: of a host that may give no page nothing is asked at all.
        if let Some(reason) = self.refused_by_gate(&lease) {
            return self.refuse(lease, reason.code(), reason.to_string(), now);
        }
        let origin = lease.waiting.url.origin();
        let leave = match self.ask_robots(&lease, now)? {
            // What others wait for is behind it, and they may be the ones that it waits for.
            Leave::Await(_) if self.redirected.is_asked(lease.host) => Leave::Later,
            leave => leave,
        };
        match leave {
            Leave::Robots(target, hops) => {
                let errand = Errand::Robots { origin, hops, row: false };
                let lease = lease.exchange(&mut self.frontier, target, errand);
                self.start(lease, None, now).map(Some)
            }
            Leave::Hold(until) => self.hold(lease, until, now).map(|()| None),
            Leave::Await(until) => {
                if let Some(record) = self.frontier.record_mut(lease.host) {
                    record.pace.hold_until(until);
                }
                let (record, parting) = self.frontier.put_aside(lease, until, now);
                let mut batch = Batch::default();
                self.part(&mut batch, record, parting)?;
                self.commit(batch, now)?;
                Ok(None)
            }
            Leave::Later => {
                let mut batch = Batch::default();
                self.put_last(&mut batch, &lease, |_| ())?;
                let (record, parting) = self.frontier.put_off(lease, now);
                self.part(&mut batch, record, parting)?;
                self.commit(batch, now)?;
                Ok(None)
            }
            Leave::Refuse { reason, detail } => self.refuse(lease, reason, detail, now),
            Leave::Go { .. } if self.frontier.park_if_too_slow(&lease, now) => {
                self.hold(lease, now, now).map(|()| None)
            }
            Leave::Go { robots } => self.pass_gates(lease, robots, now),
        }
    }

    /// Returns why the fetch gate refuses a lease. A probe costs no budget, but it may come from a
    /// redirect, which no gate has seen.
    fn refused_by_gate(&self, lease: &Lease) -> Option<Reason> {
        let url = &lease.waiting.url;
        match lease.waiting.errand {
            Errand::Robots { .. } => None,
            Errand::Probe(_) if url.has_bad_port() => Some(Reason::BadPort(url.port())),
            Errand::Probe(_) => self.filter.excludes(url),
            // That it lies in a trap is the reason to be named: it comes back with its part.
            Errand::Page if self.is_trapped(url) => None,
            Errand::Page => {
                let record = self.frontier.active(lease.host).map(|active| &active.record);
                let host =
                    record.map_or(Usage::default(), |r| Usage { pages: r.done, bytes: r.bytes });
                let verdict = self.filter.fetch(url, &host, &self.used());
                (!verdict.accept).then_some(verdict.reason)
            }
        }
    }

    /// Ends a lease without a request; its host rests until then.
    fn hold(&mut self, lease: Lease, until: Timestamp, now: Timestamp) -> Result<(), CrawlError> {
        if let Some(record) = self.frontier.record_mut(lease.host) {
            record.pace.hold_until(until);
        }
        let (record, parting) = self.frontier.put_back(lease, now);
        let mut batch = Batch::default();
        self.part(&mut batch, record, parting)?;
        self.commit(batch, now)
    }

    fn ask_robots(&mut self, lease: &Lease, now: Timestamp) -> Result<Leave, CrawlError> {
        let (url, origin) = (&lease.waiting.url, lease.waiting.url.origin());
        let pace = self.frontier.active(lease.host).map(|active| active.record.pace.clone());
        // A host that had to rest for longer than its robots.txt is valid is asked for one page
        // after each robots.txt, as far as that allows; else it would be asked for nothing else.
        let rested = |entry: &robots::Entry| {
            pace.as_ref().is_some_and(|pace| {
                entry.fetched >= pace.last_ended && pace.next_allowed >= entry.valid_until
            })
        };
        let usable = |entry: &robots::Entry| !entry.is_stale(now) || rested(entry);
        let Some(entry) = self.robots_of(&origin)?.filter(|entry| usable(entry)) else {
            return self.seek_robots(url, &origin, now);
        };
        let verdict = entry.allows(url);
        let reason = verdict.reason;
        let (errand, tries) = (&lease.waiting.errand, self.settings.robots_failures_max);
        Ok(match (verdict.allowed, entry.failures()) {
            (true, _) => Leave::Go { robots: Some(reason) },
            (false, _) if !entry.is_withheld() => {
                Leave::Refuse { reason: "robots-disallowed", detail: reason }
            }
            // Where there is a good copy of before, its pages wait until it counts again.
            (false, failures)
                if failures >= tries && (entry.robots().is_none() || errand != &Errand::Page) =>
            {
                Leave::Refuse { reason: ROBOTS_UNREACHABLE, detail: reason }
            }
            (false, _) if entry.is_stale(now) => self.seek_robots(url, &origin, now)?,
            // The others of the host must not wait for a port on which nobody answers; and the last
            // of its URLs not until the time between two tries has doubled and doubled.
            (false, failures) if self.answers_elsewhere(lease.host, &origin, now) => {
                let since = now.since(entry.fetched);
                let soon = failures >= tries || since < self.robots_settings.failure_ttl_min.get();
                match errand {
                    Errand::Page if soon => Leave::Later,
                    _ => self.seek_robots(url, &origin, now)?,
                }
            }
            (false, _) => Leave::Hold(entry.valid_until),
        })
    }

    fn seek_robots(
        &mut self,
        url: &CrawlUrl,
        origin: &Origin,
        now: Timestamp,
    ) -> Result<Leave, CrawlError> {
        let first = CrawlUrl::parse(&robots::robots_url(url)).map(|target| (target, 0));
        let Some(pending) = self.redirected.get(origin) else {
            return Ok(first.map_or_else(
                |error| Leave::Refuse { reason: "bad-url", detail: error.to_string() },
                |(target, hops)| Leave::Robots(target, hops),
            ));
        };
        let Some(row) = pending.row else {
            return Ok(Leave::Robots(pending.target.clone(), pending.hops));
        };
        let pending = pending.clone();
        self.await_robots(origin, &pending, row, now)
    }

    /// Waits for the host that a robots.txt redirects to. That it rests, or stands in line, is no
    /// failure of anybody; that it is not crawled is one, and that it takes too long: else nothing
    /// would end the waiting.
    fn await_robots(
        &mut self,
        origin: &Origin,
        pending: &PendingRobots,
        (host, place): (HostId, Place),
        now: Timestamp,
    ) -> Result<Leave, CrawlError> {
        let is_late = now.since(pending.since) >= REDIRECT_PATIENCE;
        let why = match (self.refused_target(&pending.target)?, self.host(host)?) {
            (Some(why), _) => why,
            (None, Some(record)) if !is_late => {
                let until = self.answers_at(&record, pending.since, now);
                return Ok(Leave::Await(until));
            }
            (None, _) => format!("{} did not answer for it in time", pending.target.host_str()),
        };
        let mut batch = Batch::default();
        self.lose_robots(&mut batch, origin.clone(), why, now)?;
        self.withdraw(&mut batch, host, place)?;
        self.commit(batch, now)?;
        Ok(Leave::Await(now.plus(REDIRECT_POLL)))
    }

    /// Returns when to look whether a host has answered for another one, which has waited since
    /// then: when it has rested, and ever more rarely the longer it could have answered.
    fn answers_at(&self, record: &HostRecord, since: Timestamp, now: Timestamp) -> Timestamp {
        let rest = self.frontier.earliest(record, now).since(now);
        let could = now.since(since.max(record.pace.next_allowed));
        let wait = rest.saturating_add(REDIRECT_POLL).max(could / 4);
        now.plus(wait.min(REDIRECT_POLL_MAX))
    }

    /// Returns true if the robots.txt that another host's redirects to is not asked for by now;
    /// that host has to do without it.
    fn is_refused_redirect(&mut self, lease: &Lease, now: Timestamp) -> Result<bool, CrawlError> {
        let Errand::Robots { origin, hops, row: true } = &lease.waiting.errand else {
            return Ok(false);
        };
        let url = &lease.waiting.url;
        if !self.awaits_robots(origin, url.as_str(), *hops) {
            return Ok(true);
        }
        let Some(why) = self.refused_target(url)? else { return Ok(false) };
        let mut batch = Batch::default();
        self.lose_robots(&mut batch, origin.clone(), why, now)?;
        self.commit(batch, now)?;
        Ok(true)
    }

    /// Returns why the host that a robots.txt redirects to is not asked for it, if it is not. A
    /// pattern that fits this URL alone, such as one for text files, does not speak of its host.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn refused_target(&mut self, target: &CrawlUrl) -> Result<Option<String>, DbError> {
        let name = target.host();
        let excludes_home = || target.join("/").is_ok_and(|at| self.filter.excludes(&at).is_some());
        if let Some(reason) = self.filter.excludes(target).filter(|_| excludes_home()) {
            return Ok(Some(format!("it redirects to {name}, which is not asked: {reason}")));
        }
        let Some(id) = self.hosts.find(&self.db, &name)? else { return Ok(None) };
        let status = self.host(id)?.map(|record| record.status);
        let (HostStatus::GivenUp { reason, .. } | HostStatus::Parked { reason, .. }) =
            status.unwrap_or_default()
        else {
            return Ok(None);
        };
        Ok(Some(format!("it redirects to {name}, which is not crawled: {reason}")))
    }

    /// Takes a row out of the queue of a host, unless that is being asked, perhaps for this very
    /// row: then it goes with its visit, or when its turn comes.
    fn withdraw(
        &mut self,
        batch: &mut Batch,
        host: HostId,
        place: Place,
    ) -> Result<(), CrawlError> {
        if self.frontier.active(host).is_some_and(Active::is_in_flight) {
            return Ok(());
        }
        queue::delete(batch, &self.db, host, place);
        self.frontier.forget(host, place);
        self.change_host(host, |record| record.queued = record.queued.saturating_sub(1))?;
        if let Some(record) = self.frontier.drop_empty(host) {
            self.part(batch, record, Parting::Empty)?;
        }
        Ok(())
    }

    /// Returns true if a host waits for what its robots.txt redirects to. A row may be of an
    /// earlier run, whose host asks anew.
    pub(super) fn awaits_robots(&self, origin: &Origin, target: &str, hops: u32) -> bool {
        let pending = self.redirected.get(origin);
        pending.is_some_and(|one| one.target.as_str() == target && one.hops == hops)
    }

    /// Counts a robots.txt as not answered, because the host that it redirects to does not answer.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn lose_robots(
        &mut self,
        batch: &mut Batch,
        origin: Origin,
        why: String,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        self.redirected.remove(&origin);
        let previous = self.robots_of(&origin)?;
        let lost = robots::FetchedRobots::NoAnswer(why);
        let entry = robots::after_fetch(previous.as_deref(), lost, now, &self.robots_settings);
        self.set_robots(batch, origin, entry);
        Ok(())
    }

    /// Returns true if the host has answered lately, and last on another port than that of
    /// `origin`: then what fails is that port and not the host. To have no robots.txt but a failure
    /// is no answer.
    pub(super) fn answers_elsewhere(&self, host: HostId, origin: &Origin, now: Timestamp) -> bool {
        let lately = |at: Timestamp| now.since(at) < ANSWERED_LATELY;
        self.answered.peek(&host).is_some_and(|(port, at)| *port != origin.port && lately(*at))
    }

    fn pass_gates(
        &mut self,
        lease: Lease,
        robots: Option<String>,
        now: Timestamp,
    ) -> Result<Option<Admitted>, CrawlError> {
        if lease.waiting.errand != Errand::Page {
            return self.start(lease, robots, now).map(Some);
        }
        if self.is_trapped(&lease.waiting.url) && !self.is_proof_in_trap(&lease.waiting) {
            self.hold_in_part(&lease.waiting.url, now)?;
            return self.refuse(lease, TRAPPED, TRAPPED_DETAIL.to_owned(), now);
        }
        let rules = self.rules.snapshot();
        let url = lease.waiting.url.clone();
        let canonized = rules.canonize(&url);
        let own = lease.waiting.fingerprint;
        let key = canonized.key.fingerprint();
        let (mut is_audit, mut beside) = (false, None);
        let mut keys = Vec::new();
        if key != own {
            let proved = rules.proved_key(&url).map(|key| key.fingerprint());
            let held = proved.map(|proved| self.held_by_proved(&rules, &url, (own, proved)));
            let held = held.transpose()?.flatten();
            // Where it is one of those by which these rules would be measured, it may as well prove
            // the others first.
            if let Some((by, united)) = &held
                && !self.checks.awaits(own)
                && !self.is_measured(&rules, united, *by)?
            {
                return self.suppress(lease, *by, united.numbers(), rules.version(), now);
            }
            if let Some(by) = self.other_holder(own, key)? {
                let united = self.united_by(&rules, &url, by)?;
                if self.notes_kept_back(own, by, &united) {
                    keys.push(key);
                } else if self.is_fetched_to_check(&rules, own, &united, by)? {
                    is_audit = rules.hides(&united.url, &united.rules);
                    beside = Some((by, united.rules));
                } else {
                    return self.suppress(lease, by, united.numbers(), rules.version(), now);
                }
            } else {
                keys.push(key);
            }
            if held.is_none() {
                keys.extend(proved.filter(|proved| *proved != own));
            }
        }
        if !keys.is_empty() {
            let mut batch = Batch::default();
            for key in keys {
                seen::put_by(&mut batch, &self.db, key, own);
            }
            self.commit(batch, now)?;
        }
        if key == own
            && rules.knows(url.host_str())
            && let Some((by, united)) = self.stood_for(&rules, &url, own)?
            && !self.notes_kept_back(own, by, &united)
        {
            if !self.is_fetched_to_check(&rules, own, &united, by)? {
                return self.suppress(lease, by, united.numbers(), rules.version(), now);
            }
            self.await_audit(own, by, &united.rules);
            is_audit = rules.hides(&united.url, &united.rules);
        } else if beside.is_none()
            && let Some((by, rule)) = self.page_of_link(&rules, &lease)?
        {
            let united = United::by_link(rule, &url);
            if !self.is_fetched_to_check(&rules, own, &united, by)? {
                return self.suppress(lease, by, united.numbers(), rules.version(), now);
            }
            is_audit = rules.hides(&url, &united.rules);
            beside = Some((by, united.rules));
        }
        let canonical = (key != own).then(|| canonized.key.as_str().to_owned());
        let mut admitted = self.start(lease, robots, now)?;
        admitted.canonical = canonical;
        admitted.is_audit = is_audit;
        admitted.beside = beside;
        admitted.rules_version = rules.version();
        Ok(Some(admitted))
    }

    /// Returns the URL that stands for `key`, if it is another one than `own`, and not itself one
    /// that was refused or failed: what cannot be fetched stands for nothing. Nor does a form that
    /// waits while `own` has its turn: it may lie deeper, and be refused when its own turn comes.
    /// The key itself does, which is what others are forms of.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn other_holder(
        &self,
        own: Fingerprint,
        key: Fingerprint,
    ) -> Result<Option<Fingerprint>, DbError> {
        let by = match seen::get(&self.db, key)? {
            Some(Known::Itself) => key,
            // A rule that fell leaves its keys behind: what had one of them stands for others only
            // while the rules still give it that key.
            Some(Known::By(by)) if self.still_stands(by, key)?.is_some() => by,
            Some(Known::By(_)) | None => return Ok(None),
        };
        match self.stand_in(own, by)? {
            Some(stands) if stands != key && self.waits(stands)? => Ok(None),
            stands => Ok(stands),
        }
    }

    fn waits(&self, url: Fingerprint) -> Result<bool, DbError> {
        let record = urls::get(&self.db, url)?;
        Ok(record.is_some_and(|record| matches!(record.state, UrlState::Queued(_))))
    }

    /// Returns the page that a link was found on, or met on since, and the rule by which the link
    /// is that page. One that keeps something back stands for nothing but itself; and where there
    /// are two of which a rule says so, and which are not one page, one of them quotes the other.
    fn page_of_link(
        &self,
        set: &RuleSet,
        lease: &Lease,
    ) -> Result<Option<(Fingerprint, RuleId)>, DbError> {
        let waiting = &lease.waiting;
        if !set.knows_self_links(waiting.url.host_str()) {
            return Ok(None);
        }
        let own = waiting.fingerprint;
        let pages = waiting.via.into_iter().chain(self.met_on(own));
        let mut found: Option<(Fingerprint, RuleId, Fingerprint)> = None;
        for via in pages.filter(|via| *via != own) {
            let Some(page) = self.url_of(via)? else { continue };
            let Some(rule) = set.led_back(&waiting.url, &page) else { continue };
            let key = set.canonize(&page).key.fingerprint();
            if found.is_some_and(|(.., known)| known != key) {
                return Ok(None);
            }
            let stands = self.stand_in(own, via)? == Some(via) && self.withholds(via)?.is_none();
            if found.is_none() && stands {
                found = Some((via, rule, key));
            }
        }
        Ok(found.map(|(via, rule, _)| (via, rule)))
    }

    /// Notes the lease durably, so that a crash knows which host may have been asked, and counts
    /// the URL as in flight.
    fn start(
        &mut self,
        lease: Lease,
        robots: Option<String>,
        now: Timestamp,
    ) -> Result<Admitted, CrawlError> {
        self.checks.are_done = false;
        let active = self.frontier.active(lease.host);
        let due = active.map_or(Due::default(), |active| Due::of(&active.record.pace));
        let mut batch = Batch::default();
        let record = LeaseRecord { url: lease.waiting.url.to_string(), given: now };
        hosts::put_lease(&mut batch, &self.db, lease.host, &record);
        if lease.waiting.errand == Errand::Page {
            self.counters.queued = self.counters.queued.saturating_sub(1);
            self.counters.in_flight += 1;
        }
        self.db.commit(batch)?;
        let via = match lease.waiting.via {
            Some(via) => urls::get(&self.db, via)?.and_then(|r| CrawlUrl::parse(&r.url).ok()),
            None => None,
        };
        let usage = match robots {
            Some(_) => self.usage_of(&lease.waiting.url.origin())?,
            None => Vec::new(),
        };
        let validators = self.validators_of(&lease.waiting.errand)?;
        Ok(Admitted {
            lease,
            rules_version: 0,
            canonical: None,
            is_audit: false,
            beside: None,
            robots,
            usage,
            validators,
            via,
            due,
        })
    }

    /// A redirect's target has validators of its own, which are not kept.
    fn validators_of(&mut self, errand: &Errand) -> Result<Option<robots::Validators>, DbError> {
        let Errand::Robots { origin, hops: 0, .. } = errand else { return Ok(None) };
        let entry = self.robots_of(origin)?;
        Ok(entry.and_then(|entry| entry.validators(&self.agent).cloned()))
    }

    /// Returns the usage preferences of an origin's robots.txt that hold for us: those for all
    /// robots and those of our group.
    fn usage_of(&mut self, origin: &Origin) -> Result<Vec<(String, String)>, DbError> {
        let entry = self.robots_of(origin)?;
        let signals = entry.as_deref().and_then(robots::Entry::robots).map(Robots::signals);
        let ours = signals.unwrap_or_default().iter();
        let ours = ours.filter(|signal| signal.scope != SignalScope::OtherGroup);
        Ok(ours.map(|signal| (signal.name.clone(), signal.value.clone())).collect())
    }

    /// Removes the row of a lease and moves the host's floor behind it. Returns the record of a
    /// page, by whose hops it was counted: it may have been found nearer since its row was read.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn take_row(
        &mut self,
        batch: &mut Batch,
        lease: &Lease,
    ) -> Result<Option<UrlRecord>, DbError> {
        let (waiting, place) = (&lease.waiting, lease.waiting.place);
        if matches!(waiting.errand, Errand::Robots { row: false, .. }) {
            return Ok(None);
        }
        queue::delete(batch, &self.db, lease.host, place);
        let record = match waiting.errand {
            Errand::Page => urls::get(&self.db, waiting.fingerprint)?,
            Errand::Probe(_) | Errand::Robots { .. } => None,
        };
        if let Some(record) = &record {
            self.shape.remove(record.hops, place.priority);
        }
        if let Some(host) = self.frontier.record_mut(lease.host) {
            host.queued = host.queued.saturating_sub(1);
            let floor = &mut host.floors[usize::from(place.priority) % PRIORITIES];
            *floor = (*floor).max(place.serial + 1);
        }
        Ok(record)
    }

    fn refuse(
        &mut self,
        lease: Lease,
        reason: &'static str,
        detail: String,
        now: Timestamp,
    ) -> Result<Option<Admitted>, CrawlError> {
        let mut batch = Batch::default();
        let record = self.take_row(&mut batch, &lease)?;
        if lease.waiting.errand == Errand::Page {
            self.settle_url(&mut batch, lease.waiting.fingerprint, record, |record| {
                record.state = UrlState::Refused { reason: reason.to_owned(), detail, at: now };
            });
            self.counters.queued = self.counters.queued.saturating_sub(1);
            self.counters.refused += 1;
            self.give_back(&mut batch, lease.waiting.fingerprint)?;
        }
        if let Errand::Probe(number) = lease.waiting.errand {
            // That robots.txt does not answer says nothing of the page.
            let shown = match reason {
                ROBOTS_UNREACHABLE => Fetched::Unavailable,
                _ => Fetched::Forbidden,
            };
            self.give_up_probe(&mut batch, number, shown, now)?;
        }
        self.count(reason);
        let (record, parting) = self.frontier.skip(lease, now);
        self.part(&mut batch, record, parting)?;
        self.commit(batch, now)?;
        Ok(None)
    }

    fn suppress(
        &mut self,
        lease: Lease,
        by: Fingerprint,
        rules: Vec<u64>,
        version: u64,
        now: Timestamp,
    ) -> Result<Option<Admitted>, CrawlError> {
        self.checks.are_done = false;
        let mut batch = Batch::default();
        let record = self.take_row(&mut batch, &lease)?;
        let own = lease.waiting.fingerprint;
        // It may have been found nearer since its row was read.
        let (hops, hops_max) = (lease.waiting.hops, lease.waiting.hops_max);
        let depth = record.as_ref().map_or((hops, hops_max), |of| (of.hops, of.hops_max));
        self.lead_nearer(&mut batch, by, depth)?;
        self.stood.remove(&own);
        self.behind.hidden(own, by);
        self.tell_suppressed(&lease.waiting.url, &rules);
        let how = Suppression { rules: rules.clone(), at: now };
        suppressed::put(&mut batch, &self.db, by, own, &how);
        self.settle_url(&mut batch, own, record, |record| {
            record.state = UrlState::Suppressed { by, rules, version, at: now };
        });
        self.counters.queued = self.counters.queued.saturating_sub(1);
        self.counters.known += 1;
        self.counters.suppressed += 1;
        self.count("suppressed");
        let (record, parting) = self.frontier.skip(lease, now);
        self.part(&mut batch, record, parting)?;
        self.commit(batch, now)?;
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::learn::{Asker, ProbeFlight};
    use super::*;
    use crate::crawl::readmit::tests::{drop_parameter, fetched, find, open, record, url};
    use crate::db::MemoryEnv;
    use crate::db::families::queue::Item;
    use crate::dust::{Rule, RuleKind, Scope, Source};
    use crate::frontier::Next;

    fn next_lease(state: &mut State, now: Timestamp) -> Lease {
        for _ in 0..10 {
            match state.frontier.next(now) {
                Next::Activate(priority) => state.activate(priority, now).unwrap(),
                Next::Fill(host) => state.fill(host, now).unwrap(),
                Next::Fetch(lease) => return lease,
                other => panic!("{other:?}"),
            }
        }
        panic!("no lease");
    }

    /// A day of a calendar, found long before its rule, gave way to another form of it that was
    /// found later and deeper, and refused as part of a trap when its turn came: neither was
    /// fetched.
    #[test]
    fn a_form_that_waits_stands_for_none_that_has_its_turn_before_it() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        find(&mut state, "/day?sid=1", now);
        find(&mut state, "/night", now);
        let rules = vec![Arc::new(drop_parameter("sid"))];
        state.rules.publish(RuleSet::compile(1, rules, 0.0).unwrap());
        find(&mut state, "/day?sid=2", now);
        let of = |tail: &str| url(&format!("http://a.example{tail}")).fingerprint();
        let [early, late, key, night] = ["/day?sid=1", "/day?sid=2", "/day", "/night"].map(of);
        assert_eq!(seen::get(&state.db, key).unwrap(), Some(Known::By(late)));
        assert_eq!(state.other_holder(early, key).unwrap(), None);
        fetched(&mut state, "/day?sid=2", false, now);
        assert_eq!(state.other_holder(early, key).unwrap(), Some(late), "it was fetched");
        let form = of("/night?sid=1");
        assert_eq!(state.other_holder(form, night).unwrap(), Some(night), "the key itself");
        // Nor does one that waits by way of a third, which is hidden for it.
        let mut batch = Batch::default();
        let (by, rules) = (of("/night"), vec![drop_parameter("sid").id.0]);
        let hidden = UrlState::Suppressed { by, rules, version: 1, at: now };
        let row = record(&url("http://a.example/day?sid=2"), None, hidden);
        urls::put(&mut batch, &state.db, late, &row);
        state.commit(batch, now).unwrap();
        assert_eq!(state.stand_in(early, late).unwrap(), Some(night));
        assert_eq!(state.other_holder(early, key).unwrap(), None);
    }

    /// Of a forum's links to single posts those were fetched that a list had led to before their
    /// topic did.
    #[test]
    fn a_link_leads_back_to_a_page_where_it_was_not_met_first() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        state.enforces = true;
        let [list, topic, post] =
            ["list", "topic/4", "post/17"].map(|tail| url(&format!("http://a.example/{tail}")));
        for page in ["/list", "/topic/4"] {
            fetched(&mut state, page, false, now);
        }
        find(&mut state, "/post/17", now);
        let kind = RuleKind::SelfLink { page: "/topic/<n>".into(), link: "/post/<n>".into() };
        let site = url("http://a.example/").site();
        let rule = Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO);
        let id = rule.id;
        state.rules.publish(RuleSet::compile(1, vec![Arc::new(rule)], 0.0).unwrap());
        let mut lease = next_lease(&mut state, now);
        assert_eq!(lease.waiting.url, post);
        lease.waiting.via = Some(list.fingerprint());
        let set = state.rules.snapshot();
        let own = post.fingerprint();
        assert_eq!(state.page_of_link(&set, &lease).unwrap(), None);
        state.meet_again((&post, own), (&list, list.fingerprint()));
        assert_eq!(state.page_of_link(&set, &lease).unwrap(), None, "no rule speaks of lists");
        state.meet_again((&post, own), (&topic, topic.fingerprint()));
        assert_eq!(state.page_of_link(&set, &lease).unwrap(), Some((topic.fingerprint(), id)));
        let other = url("http://a.example/topic/5");
        fetched(&mut state, "/topic/5", false, now);
        state.meet_again((&post, own), (&other, other.fingerprint()));
        assert_eq!(state.page_of_link(&set, &lease).unwrap(), None, "one topic quotes another");
    }

    /// Returns what is asked for on account of a probe.
    fn asked_for(probe: &str, exclude: Option<&str>) -> Option<String> {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let mut batch = Batch::default();
        let asker = Asker::Rule { id: 1, is_reference: false };
        state.enqueue_probe(&mut batch, &url(probe), ProbeFlight { asker, hops: 1 }).unwrap();
        state.commit(batch, now).unwrap();
        if let Some(pattern) = exclude {
            state.filter = state.filter.with_exclude(pattern).unwrap().into();
        }
        let lease = next_lease(&mut state, now);
        let admitted = state.admit(lease, now).unwrap();
        assert_eq!(state.probes.is_empty(), admitted.is_none());
        admitted.map(|admitted| admitted.lease.waiting.url.to_string())
    }

    /// Only pages met the gate: an excluded host went on to be asked for probes, and a redirect of
    /// one led to any port.
    #[test]
    fn a_probe_is_not_sent_where_no_page_would_be_fetched() {
        let robots = "http://a.example/robots.txt".to_owned();
        assert_eq!(asked_for("http://a.example/p", Some("b.example")), Some(robots));
        assert_eq!(asked_for("http://a.example/p", Some("a.example")), None);
        assert_eq!(asked_for("http://a.example:25/p", None), None);
    }

    /// The origin whose robots.txt leads to b.example.
    fn origin() -> Origin {
        url("http://a.example/").origin()
    }

    /// Queues the robots.txt that it leads to; returns the host of that.
    fn redirect(state: &mut State, now: Timestamp) -> HostId {
        let target = url("http://b.example/robots.txt");
        let host = state.host_id(&target.host()).unwrap();
        let mut batch = Batch::default();
        let item = Item::Robots { url: target.to_string(), origin: origin(), hops: 1 };
        let place = state.enqueue(&mut batch, host, 0, &item).unwrap();
        state.commit(batch, now).unwrap();
        let pending = {
            let (depth, row) = ((0, None), Some((host, place)));
            PendingRobots { target, hops: 1, depth, since: now, row }
        };
        state.redirected.put(origin(), pending);
        host
    }

    /// Returns when the host that waits for it looks again.
    fn looks_again(state: &mut State, now: Timestamp) -> Timestamp {
        let leave = state.seek_robots(&url("http://a.example/"), &origin(), now).unwrap();
        let Leave::Await(until) = leave else { panic!("it does not wait") };
        assert!(until > now && until.since(now) <= REDIRECT_POLL_MAX);
        until
    }

    /// Requires that the waiting has ended in a failure, and has left no row.
    fn is_lost(state: &mut State, host: HostId) {
        assert!(state.redirected.get(&origin()).is_none());
        assert_eq!(state.robots_of(&origin()).unwrap().map(|entry| entry.failures()), Some(1));
        assert!(queue::read(&state.db, host, &[0; PRIORITIES], 10).unwrap().0.is_empty());
        assert_eq!(state.host(host).unwrap().map(|record| record.queued), Some(0));
    }

    /// Each ten minutes of its rest counted as a failure, and the robots.txt was asked for anew.
    #[test]
    fn who_waits_for_the_robots_txt_of_a_host_at_rest_waits_without_failure_but_not_for_ever() {
        let (env, start) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), start);
        let host = redirect(&mut state, start);
        let rests = start.plus(Duration::from_secs(4 * 3600));
        state.change_host(host, |record| record.pace.hold_until(rests)).unwrap();
        let (mut now, mut looks) = (start, 0);
        while now.since(start) < REDIRECT_PATIENCE {
            now = looks_again(&mut state, now);
            looks += 1;
            assert!(state.robots_of(&origin()).unwrap().is_none());
        }
        assert!((100..250).contains(&looks), "{looks}");
        looks_again(&mut state, now);
        is_lost(&mut state, host);
    }

    /// Of one that was excluded it waited for the turn, which a host at rest has after hours.
    #[test]
    fn who_waits_for_the_robots_txt_of_a_host_that_is_parked_or_excluded_waits_no_longer() {
        let now = Timestamp::from_millis(1);
        for is_parked in [true, false] {
            let (env, logs) = (MemoryEnv::new().unwrap(), tempfile::tempdir().unwrap());
            let mut state = open(&env, logs.path(), now);
            let host = redirect(&mut state, now);
            looks_again(&mut state, now);
            assert!(state.redirected.get(&origin()).is_some());
            if is_parked {
                let parked = HostStatus::Parked { reason: "a trap".to_owned(), at: now };
                state.change_host(host, |record| record.status = parked).unwrap();
            } else {
                state.filter = state.filter.with_exclude("b.example").unwrap().into();
            }
            looks_again(&mut state, now);
            is_lost(&mut state, host);
        }
    }

    /// It keeps no back queue for a row that has been taken out of it.
    #[test]
    fn a_host_from_which_nothing_else_is_wanted_goes_when_nobody_waits_for_it() {
        let (env, start) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), start);
        let host = redirect(&mut state, start);
        let lease = next_lease(&mut state, start);
        state.hold(lease, start.plus(REDIRECT_PATIENCE), start).unwrap();
        assert!(state.frontier.active(host).is_some());
        looks_again(&mut state, start.plus(REDIRECT_PATIENCE));
        is_lost(&mut state, host);
        assert!(state.frontier.active(host).is_none());
    }

    /// What two runs had queued was asked for twice.
    #[test]
    fn a_redirected_robots_txt_for_which_nobody_waits_is_not_asked_for() {
        let now = Timestamp::from_millis(1);
        for awaited in [true, false] {
            let (env, logs) = (MemoryEnv::new().unwrap(), tempfile::tempdir().unwrap());
            let mut state = open(&env, logs.path(), now);
            redirect(&mut state, now);
            if !awaited {
                state.redirected.remove(&origin());
            }
            let lease = next_lease(&mut state, now);
            let admitted = state.admit(lease, now).unwrap();
            assert_eq!(admitted.is_some(), awaited);
            let stale = state.reasons().get("stale-robots").copied();
            assert_eq!(stale, (!awaited).then_some(1));
        }
    }

    /// Whoever had waited for a host until it was excluded had it asked all the same.
    #[test]
    fn a_redirected_robots_txt_of_a_host_that_was_excluded_meanwhile_is_not_asked_for() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let host = redirect(&mut state, now);
        let lease = next_lease(&mut state, now);
        state.filter = state.filter.with_exclude("b.example").unwrap().into();
        assert!(state.admit(lease, now).unwrap().is_none());
        is_lost(&mut state, host);
    }
}
