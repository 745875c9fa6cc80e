//! Back queues, groups, and the heap of next-allowed times.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::front::Selector;
use super::politeness::{Behaviour, GapReason, Grouping, Rest, Rules};
use super::record::{HostId, HostRecord, HostStatus, PRIORITIES, Place};
use crate::clock::{Span, Timestamp};
use crate::url::{CrawlUrl, Fingerprint, Host, Origin};

/// Bounds of the frontier's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// Fetches in flight at most, over all hosts.
    pub in_flight_max: usize,
    /// Hosts with a back queue at most; 0 means three times `in_flight_max`, as Mercator advises.
    pub back_queues: usize,
    /// URLs of one back queue held in memory; the others are rows on disk.
    pub buffer: usize,
    /// URLs after which a host with a back queue lets a waiting one have its turn.
    pub session: u32,
    /// A host that must rest longer than this lends its back queue to a waiting one.
    pub snooze_after: Span,
    /// Hosts of one group (address or site) that may have a back queue at once.
    pub group_hosts_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            in_flight_max: 128,
            back_queues: 0,
            buffer: 32,
            session: 1000,
            snooze_after: Span::secs(120),
            group_hosts_max: 16,
        }
    }
}

impl Settings {
    /// Returns B, the number of back queues.
    pub fn back_queue_count(&self) -> usize {
        match self.back_queues {
            0 => self.in_flight_max.saturating_mul(3).max(3),
            set => set,
        }
    }
}

/// A URL that waits for its host.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Its row.
    pub place: Place,
    /// What to fetch.
    pub url: CrawlUrl,
    /// Its key among the URL records.
    pub fingerprint: Fingerprint,
    /// Discovery path.
    pub path: String,
    /// The page it was found on.
    pub via: Option<Fingerprint>,
    /// Links followed from the seed to here.
    pub hops: u16,
    /// Most links from its seed, where the seed has a limit of its own.
    pub hops_max: Option<u16>,
    /// Attempts that failed so far.
    pub attempts: u16,
    /// Answers of a busy host so far.
    pub busy: u16,
    /// What it is fetched for.
    pub errand: Errand,
}

/// What a waiting URL is fetched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Errand {
    /// For itself: a URL with a record.
    Page,
    /// As a sample that tests a rule or a soft error, by the number that the asker gave it.
    Probe(u64),
    /// As the robots.txt of an origin, or what it redirects to.
    Robots {
        /// Whose robots.txt.
        origin: Origin,
        /// Redirects followed so far.
        hops: u32,
        /// True if it waits in a row of its own, false if it was exchanged for a page.
        row: bool,
    },
}

/// The exclusive right to fetch one URL of one host.
#[derive(Debug)]
#[must_use = "a lease must be finished, or its host stays blocked"]
pub struct Lease {
    /// The host.
    pub host: HostId,
    /// Its name.
    pub name: Host,
    /// What was waiting.
    pub waiting: Waiting,
    /// When the lease was given.
    pub given: Timestamp,
    /// When the host could have been fetched at the earliest: lateness is `given` less this.
    pub allowed: Timestamp,
    group: u64,
    _private: (),
}

/// What the loop must do next.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one at a time, taken apart at once")]
pub enum Next {
    /// Fetch this.
    Fetch(Lease),
    /// Read rows of this host and call [`Frontier::fill`].
    Fill(HostId),
    /// Read the head of this front queue and call [`Frontier::activate`] or
    /// [`Frontier::skip_ticket`].
    Activate(u8),
    /// As many fetches are in flight as may be: wait for one.
    Full,
    /// Nothing may be fetched before this.
    Wait(Timestamp),
    /// No host has a back queue, and none waits for one.
    Idle,
}

/// How a host left its back queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parting {
    /// It keeps it.
    Stays,
    /// It has no waiting URLs.
    Empty,
    /// Its session is over; it goes to the end of a front queue.
    Rotated,
    /// It belongs to another group than was known; it goes to the end of a front queue.
    Left,
    /// It rests so long that another host uses its back queue.
    Snoozed(Timestamp),
    /// It is parked or given up.
    Closed,
}

/// What follows from a finished lease.
#[derive(Debug)]
pub struct Finished {
    /// The host's record, to be stored in the batch of the visit.
    pub record: HostRecord,
    /// The gap and its reason.
    pub rest: Rest,
    /// Whether the host keeps its back queue.
    pub parting: Parting,
}

/// A host that has a back queue.
#[derive(Debug)]
pub struct Active {
    /// Its durable record; the one true copy while the host is here.
    pub record: HostRecord,
    /// Where reading of its rows goes on, per priority.
    pub cursors: [u64; PRIORITIES],
    buffer: VecDeque<Waiting>,
    more: bool,
    in_flight: bool,
    group: u64,
    served: u32,
    /// URLs that were put off since the last request.
    put_off: u32,
}

impl Active {
    fn has_work(&self) -> bool {
        self.more || !self.buffer.is_empty()
    }
}

#[derive(Debug, Default)]
struct Group {
    next_allowed: Timestamp,
    busy: bool,
    /// Hosts with work and nothing in flight, by the time at which they may be fetched.
    members: BTreeSet<(Timestamp, HostId)>,
    hosts: usize,
    /// The key under which the group stands in the heap.
    listed: Option<Timestamp>,
}

/// All back queues. One owner, no locks; see the module's head.
#[derive(Debug)]
pub struct Frontier {
    settings: Settings,
    rules: Rules,
    hosts: HashMap<HostId, Active>,
    groups: HashMap<u64, Group>,
    heap: BTreeSet<(Timestamp, u64)>,
    selector: Selector,
    in_flight: usize,
    /// Hosts that were taken from a front queue and wait for their group to be known.
    lookups: usize,
    paused: bool,
    /// Shared groups without hosts that must still rest, by the end of their rest.
    resting: BTreeSet<(Timestamp, u64)>,
    /// No shared group is fetched before this: what a restart does not know.
    floor: Timestamp,
}

/// Hosts whose group is looked up at once: a slow name server must not take all back queues.
const LOOKUPS_MAX: usize = 64;

/// How long a host rests whose URL was put off, where it must.
pub const PUT_OFF: Duration = Duration::from_secs(1);

/// URLs of a host that are put off between two of its requests before it must rest.
const PUT_OFF_FREE: u32 = 64;

/// Marks the keys of groups that several hosts may share; host numbers have 32 bits.
const SHARED: u64 = 1 << 63;

impl Frontier {
    /// Returns a frontier without hosts that was opened at `now`.
    pub fn new(settings: Settings, rules: Rules, now: Timestamp) -> Self {
        let floor = now.plus(rules.all().group_delay.get());
        Frontier {
            settings,
            rules,
            hosts: HashMap::new(),
            groups: HashMap::new(),
            heap: BTreeSet::new(),
            selector: Selector::default(),
            in_flight: 0,
            lookups: 0,
            paused: false,
            resting: BTreeSet::new(),
            floor,
        }
    }

    /// Returns what to do next. Every answer but [`Next::Fetch`] leaves the frontier as it was.
    pub fn next(&mut self, now: Timestamp) -> Next {
        self.forget_rested(now);
        let taken = self.hosts.len() + self.lookups;
        let room = taken < self.settings.back_queue_count() && self.lookups < LOOKUPS_MAX;
        if room && let Some(priority) = self.selector.choose() {
            return Next::Activate(priority);
        }
        let head = self.heap.first().copied();
        let Some((at, key)) = head else {
            return if taken == 0 { Next::Idle } else { Next::Full };
        };
        if self.paused || self.in_flight >= self.settings.in_flight_max {
            return Next::Full;
        }
        if at > now {
            return Next::Wait(at);
        }
        let member = self.groups.get(&key).and_then(|group| group.members.first().copied());
        let (_, id) = member.expect("a group stands in the heap only while it has members");
        let active = self.hosts.get(&id).expect("a member of a group has a back queue");
        if active.buffer.is_empty() { Next::Fill(id) } else { Next::Fetch(self.lease(id, at, now)) }
    }

    fn forget_rested(&mut self, now: Timestamp) {
        while let Some((at, key)) = self.resting.first().copied()
            && at <= now
        {
            self.resting.pop_first();
            if self.groups.get(&key).is_some_and(|group| group.hosts == 0 && !group.busy) {
                self.groups.remove(&key);
            }
        }
    }

    fn lease(&mut self, id: HostId, allowed: Timestamp, now: Timestamp) -> Lease {
        let active = self.hosts.get_mut(&id).expect("the caller has just seen the host");
        let waiting = active.buffer.pop_front().expect("the caller has just seen the buffer");
        assert!(!active.in_flight, "a host has at most one lease (I2)");
        active.in_flight = true;
        active.served += 1;
        let (group, name) = (active.group, active.record.name.clone());
        self.unlist_host(id);
        let state = self.groups.get_mut(&group).expect("an active host has a group");
        assert!(!state.busy, "a group has at most one lease (I2)");
        state.busy = true;
        self.relist(group);
        self.in_flight += 1;
        Lease { host: id, name, waiting, given: now, allowed, group, _private: () }
    }

    /// Gives a host its back queue, without URLs at first. Its standing must be in line, there.
    pub fn activate(&mut self, record: HostRecord, ticket: Place) {
        self.selector.left(ticket.priority);
        let id = record.id;
        let group = self.group_key(&record);
        let active = Active {
            cursors: record.floors,
            record,
            buffer: VecDeque::new(),
            more: true,
            in_flight: false,
            group,
            served: 0,
            put_off: 0,
        };
        let floor = if group & SHARED == 0 { Timestamp::ZERO } else { self.floor };
        let state = self.groups.entry(group).or_default();
        state.hosts += 1;
        state.next_allowed = state.next_allowed.max(floor);
        let before = self.hosts.insert(id, active);
        assert!(before.is_none(), "a host has at most one back queue");
        self.list_host(id);
    }

    /// Keeps a back queue free for a host whose group is being looked up.
    pub fn lookup_began(&mut self) {
        self.lookups += 1;
    }

    /// Gives that back queue up again; the host is activated, or stands in line, next.
    pub fn lookup_ended(&mut self) {
        self.lookups = self.lookups.saturating_sub(1);
    }

    /// Notes that the head of a front queue was stale or went elsewhere.
    pub fn skip_ticket(&mut self, priority: u8) {
        self.selector.left(priority);
    }

    /// Notes that a front queue turned out to be empty.
    pub fn clear_line(&mut self, priority: u8) {
        self.selector.clear(priority);
    }

    /// Returns the group of a host, and whether it has room for another host.
    pub fn group_of(&self, record: &HostRecord) -> (u64, bool) {
        let key = self.group_key(record);
        let hosts = self.groups.get(&key).map_or(0, |group| group.hosts);
        (key, hosts < self.settings.group_hosts_max.max(1))
    }

    fn group_key(&self, record: &HostRecord) -> u64 {
        match self.group(record) {
            None => u64::from(record.id.0),
            Some(group) => group | SHARED,
        }
    }

    /// Returns the number of a host's group, where a second unit is kept apart and the host's is
    /// known. Of an address it is what was noted last, unless that was under another grouping.
    pub fn group(&self, record: &HostRecord) -> Option<u64> {
        let site = || group_number(record.name.site().as_str().as_bytes());
        match self.rules.all().group {
            Grouping::Host => None,
            Grouping::RegistrableDomain => Some(site()),
            Grouping::Ip => record.group.filter(|group| *group != site()),
        }
    }

    /// Adds rows that were read for a host, at these places; `more` says whether others are left on
    /// disk. A place whose row makes no sense is passed over, so that reading comes to an end.
    pub fn fill(&mut self, id: HostId, places: &[Place], rows: Vec<Waiting>, more: bool) {
        let Some(active) = self.hosts.get_mut(&id) else { return };
        for place in places {
            let cursor = &mut active.cursors[usize::from(place.priority) % PRIORITIES];
            *cursor = (*cursor).max(place.serial + 1);
        }
        active.buffer.extend(rows);
        active.more = more;
        if !active.has_work() && !active.in_flight {
            self.unlist_host(id);
        }
    }

    /// Removes a host that turned out to have nothing waiting, and returns its record.
    pub fn drop_empty(&mut self, id: HostId) -> Option<HostRecord> {
        let idle = self.hosts.get(&id).is_some_and(|a| !a.in_flight && !a.has_work());
        if idle { self.remove(id).map(|active| active.record) } else { None }
    }

    /// Takes a waiting URL whose row is being removed out of its host's buffer; what is under a
    /// lease is in no buffer.
    pub fn forget(&mut self, id: HostId, place: Place) {
        let Some(active) = self.hosts.get_mut(&id) else { return };
        active.buffer.retain(|waiting| waiting.place != place);
        if !active.has_work() && !active.in_flight {
            self.unlist_host(id);
        }
    }

    /// Notes that a row was added to a host that may have a back queue.
    ///
    /// Returns false if it has none, so that the caller gives it a standing.
    pub fn added(&mut self, id: HostId) -> bool {
        let Some(active) = self.hosts.get_mut(&id) else { return false };
        active.more = true;
        if !active.in_flight {
            self.list_host(id);
        }
        true
    }

    /// Returns a host that has a back queue.
    pub fn active(&self, id: HostId) -> Option<&Active> {
        self.hosts.get(&id)
    }

    /// Returns the record of a host that has a back queue, to be changed.
    pub fn record_mut(&mut self, id: HostId) -> Option<&mut HostRecord> {
        self.hosts.get_mut(&id).map(|active| &mut active.record)
    }

    /// Notes that a host entered a front queue.
    pub fn ticket_added(&mut self, priority: u8) {
        self.selector.entered(priority);
    }

    /// Ends a lease whose request was made (or failed to be made) from `began` to `ended`.
    pub fn finish(
        &mut self,
        lease: Lease,
        behaviour: Behaviour,
        began: Timestamp,
        ended: Timestamp,
    ) -> Finished {
        let settings = self.rules.of(lease.name.as_str()).clone();
        let active = self.hosts.get_mut(&lease.host).expect("a leased host has a back queue");
        active.put_off = 0;
        let rest = active.record.pace.finish(behaviour, began, ended, &settings);
        if let Some(reason) = rest.beyond {
            active.record.status = beyond(reason, &rest, &active.record, ended);
        }
        if lease.group & SHARED != 0 {
            let group = self.groups.get_mut(&lease.group).expect("a leased host has a group");
            group.next_allowed = group.next_allowed.max(ended.plus(settings.group_delay.get()));
        }
        let (record, parting) = self.release(lease, ended);
        Finished { record, rest, parting }
    }

    /// Parks the host of a lease that asks for a longer Crawl-delay than is honoured; returns true
    /// if it does. What the robots.txt of another host or port says is heeded at the next lease.
    pub fn park_if_too_slow(&mut self, lease: &Lease, at: Timestamp) -> bool {
        let limit = self.rules.of(lease.name.as_str()).honor_crawl_delay_up_to.get();
        let Some(active) = self.hosts.get_mut(&lease.host) else { return false };
        let delay = Duration::from_millis(active.record.pace.crawl_delay_ms.unwrap_or_default());
        let is_too_slow = delay > limit;
        if is_too_slow {
            active.record.status = too_slow(&active.record, at);
        }
        is_too_slow
    }

    /// Ends a lease without a request: the host may go on at once.
    pub fn skip(&mut self, lease: Lease, now: Timestamp) -> (HostRecord, Parting) {
        self.release(lease, now)
    }

    /// Ends a lease without a request, whose URL goes to the end of its queue. The host may go on
    /// at once, but rests for [`PUT_OFF`] after each further one once `PUT_OFF_FREE` were put off
    /// in a row: else nothing would slow a queue that holds nothing else.
    pub fn put_off(&mut self, lease: Lease, now: Timestamp) -> (HostRecord, Parting) {
        if let Some(active) = self.hosts.get_mut(&lease.host) {
            active.put_off = active.put_off.saturating_add(1);
            if active.put_off > PUT_OFF_FREE {
                active.record.pace.hold_until(now.plus(PUT_OFF));
            }
        }
        self.release(lease, now)
    }

    /// Ends a lease without a request and puts its URL back where it was; nothing is changed on
    /// disk, so the URL is read from memory or, after a crash, from its row.
    pub fn put_back(&mut self, lease: Lease, now: Timestamp) -> (HostRecord, Parting) {
        if let Some(active) = self.hosts.get_mut(&lease.host) {
            active.buffer.push_front(lease.waiting.clone());
        }
        self.release(lease, now)
    }

    /// Puts a URL back that waits for another host, until `until` at the longest. That one may be
    /// among those that wait for a back queue, or for room in the group, so the host gives its own
    /// away.
    pub fn put_aside(
        &mut self,
        lease: Lease,
        until: Timestamp,
        now: Timestamp,
    ) -> (HostRecord, Parting) {
        let (id, others_wait) = (lease.host, self.others_wait(lease.group));
        let (record, parting) = self.put_back(lease, now);
        match parting {
            Parting::Stays | Parting::Rotated if others_wait => {
                let record = self.remove(id).map_or(record, |active| active.record);
                (record, Parting::Snoozed(until))
            }
            parting => (record, parting),
        }
    }

    /// Ends a lease of a host that belongs to another group than was known: it goes back into line.
    /// Nothing is changed on disk.
    pub fn leave_group(&mut self, lease: Lease, now: Timestamp) -> (HostRecord, Parting) {
        let id = lease.host;
        let (record, parting) = self.put_back(lease, now);
        match parting {
            Parting::Stays | Parting::Rotated => {
                let record = self.remove(id).map_or(record, |active| active.record);
                (record, Parting::Left)
            }
            parting => (record, parting),
        }
    }

    fn release(&mut self, lease: Lease, now: Timestamp) -> (HostRecord, Parting) {
        self.in_flight -= 1;
        if let Some(group) = self.groups.get_mut(&lease.group) {
            group.busy = false;
        }
        let id = lease.host;
        let active = self.hosts.get_mut(&id).expect("a leased host has a back queue");
        active.in_flight = false;
        let parting = self.parting(id, now);
        let record = if parting == Parting::Stays {
            self.list_host(id);
            self.hosts[&id].record.clone()
        } else {
            self.remove(id).expect("the host was there a moment ago").record
        };
        self.relist(lease.group);
        (record, parting)
    }

    fn parting(&self, id: HostId, now: Timestamp) -> Parting {
        let active = &self.hosts[&id];
        if active.record.status != HostStatus::Open {
            return Parting::Closed;
        }
        if !active.has_work() {
            return Parting::Empty;
        }
        let others_wait = self.others_wait(active.group);
        let settings = self.rules.of(active.record.name.as_str());
        let earliest = active.record.pace.earliest(settings, now);
        if others_wait && earliest.since(now) > self.settings.snooze_after.get() {
            return Parting::Snoozed(earliest);
        }
        if others_wait && active.served >= self.settings.session.max(1) {
            return Parting::Rotated;
        }
        Parting::Stays
    }

    /// Returns true if others wait for any back queue, or may wait for room in this group.
    fn others_wait(&self, group: u64) -> bool {
        let hosts = self.groups.get(&group).map_or(0, |group| group.hosts);
        let is_full = group & SHARED != 0 && hosts >= self.settings.group_hosts_max.max(1);
        is_full || self.selector.waiting() > 0
    }

    /// Takes a host's back queue away because its status changed; only without a lease.
    pub fn close(&mut self, id: HostId) -> Option<HostRecord> {
        let idle = self.hosts.get(&id).is_some_and(|active| !active.in_flight);
        if idle { self.remove(id).map(|active| active.record) } else { None }
    }

    fn remove(&mut self, id: HostId) -> Option<Active> {
        self.unlist_host(id);
        let active = self.hosts.remove(&id)?;
        if let Some(group) = self.groups.get_mut(&active.group) {
            group.hosts -= 1;
            // A host alone keeps its time in its record; a shared group must be remembered.
            if group.hosts == 0 && active.group & SHARED != 0 {
                self.resting.insert((group.next_allowed, active.group));
            } else if group.hosts == 0 {
                self.unlist_group(active.group);
                self.groups.remove(&active.group);
            }
        }
        Some(active)
    }

    /// Replaces the politeness rules; hosts are listed anew under them.
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
        let mut ids: Vec<HostId> = self.hosts.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            self.refresh(id);
        }
    }

    /// Returns the politeness rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Lists a host anew after its record was changed.
    pub fn refresh(&mut self, id: HostId) {
        if self.hosts.get(&id).is_some_and(|active| !active.in_flight) {
            self.list_host(id);
        }
    }

    /// Stops or resumes the giving of leases.
    pub fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Returns true while no leases are given.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Returns the number of leases given and not finished.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Returns the hosts that have a back queue: all, those that may be fetched at `now`.
    pub fn host_counts(&self, now: Timestamp) -> (usize, usize) {
        let later = (now.plus(std::time::Duration::from_millis(1)), 0);
        (self.hosts.len(), self.heap.range(..later).count())
    }

    /// Returns the hosts whose group may be fetched before `at`, soonest first; those being fetched
    /// are not among them.
    pub fn due_before(&self, at: Timestamp) -> impl Iterator<Item = &Active> {
        let groups = self.heap.range(..(at, 0)).filter_map(|(_, key)| self.groups.get(key));
        groups.flat_map(|group| &group.members).filter_map(|(_, id)| self.hosts.get(id))
    }

    /// Returns the front queues.
    pub fn selector(&self) -> &Selector {
        &self.selector
    }

    /// Returns the active hosts in the order of their numbers.
    pub fn actives(&self) -> Vec<&Active> {
        let mut actives: Vec<&Active> = self.hosts.values().collect();
        actives.sort_unstable_by_key(|active| active.record.id);
        actives
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the first moment from `now` on at which a host may be fetched: after its rest and
    /// that of its group, and within its allowed hours.
    pub fn earliest(&self, record: &HostRecord, now: Timestamp) -> Timestamp {
        let group = self.groups.get(&self.group_key(record));
        let rested = group.map_or(now, |group| group.next_allowed.max(now));
        record.pace.earliest(self.rules.of(record.name.as_str()), rested)
    }

    fn list_host(&mut self, id: HostId) {
        self.unlist_host(id);
        let Some(active) = self.hosts.get(&id) else { return };
        if active.in_flight || !active.has_work() {
            return;
        }
        // Its hours may be over when its turn comes: that is asked of the lease.
        let settings = self.rules.of(active.record.name.as_str());
        let at = active.record.pace.earliest(settings, Timestamp::ZERO);
        let group = active.group;
        if let Some(state) = self.groups.get_mut(&group) {
            state.members.insert((at, id));
        }
        self.relist(group);
    }

    fn unlist_host(&mut self, id: HostId) {
        let Some(active) = self.hosts.get(&id) else { return };
        let group = active.group;
        if let Some(state) = self.groups.get_mut(&group) {
            // At most `group_hosts_max` members, so a walk is cheaper than a second index.
            let entry = state.members.iter().find(|(_, member)| *member == id).copied();
            if let Some(entry) = entry {
                state.members.remove(&entry);
                self.relist(group);
            }
        }
    }

    fn relist(&mut self, key: u64) {
        self.unlist_group(key);
        let Some(group) = self.groups.get_mut(&key) else { return };
        let first = group.members.first().map(|(at, _)| *at);
        if let (false, Some(at)) = (group.busy, first) {
            let at = at.max(group.next_allowed);
            group.listed = Some(at);
            self.heap.insert((at, key));
        }
    }

    fn unlist_group(&mut self, key: u64) {
        if let Some(group) = self.groups.get_mut(&key)
            && let Some(at) = group.listed.take()
        {
            self.heap.remove(&(at, key));
        }
    }
}

/// Returns the number of the group that these bytes name.
fn group_number(name: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(name) >> 1
}

/// Returns the number of the group of an address: /24 of IPv4 is too much to assume one server, so
/// it is the address itself; of IPv6 the /64, which one machine usually holds.
pub fn group_of_address(address: std::net::IpAddr) -> u64 {
    match address.to_canonical() {
        std::net::IpAddr::V4(v4) => group_number(&v4.octets()),
        std::net::IpAddr::V6(v6) => group_number(&v6.octets()[..8]),
    }
}

/// Returns the number of the group of a host whose name has no address that is known: one of its
/// own, in which it is asked for nothing until it has one.
pub fn group_of_name(name: &Host) -> u64 {
    group_number(format!("{name} ").as_bytes())
}

/// What becomes of a host that asks for more than is honoured, or cannot be reached.
fn beyond(reason: GapReason, rest: &Rest, record: &HostRecord, at: Timestamp) -> HostStatus {
    match reason {
        GapReason::Unreachable => {
            let tries = record.pace.unreachable;
            HostStatus::GivenUp { reason: format!("unreachable {tries} times in a row"), at }
        }
        GapReason::RetryAfter => {
            let secs = rest.gap.as_secs();
            HostStatus::Parked {
                reason: format!(
                    "asks for {secs} s of rest (Retry-After), more than honor_retry_after_up_to"
                ),
                at,
            }
        }
        _ => too_slow(record, at),
    }
}

fn too_slow(record: &HostRecord, at: Timestamp) -> HostStatus {
    let secs = record.pace.crawl_delay_ms.unwrap_or_default() / 1000;
    HostStatus::Parked {
        reason: format!(
            "asks for {secs} s between requests (Crawl-delay), more than honor_crawl_delay_up_to"
        ),
        at,
    }
}

impl Lease {
    /// Turns the lease into one for a prerequisite of its URL, which goes back to the head of its
    /// queue: robots.txt is fetched under a lease like any other (I1).
    pub fn exchange(
        mut self,
        frontier: &mut Frontier,
        prerequisite: CrawlUrl,
        errand: Errand,
    ) -> Lease {
        let fingerprint = prerequisite.fingerprint();
        let path = format!("{}P", self.waiting.path);
        let waiting = Waiting {
            url: prerequisite,
            fingerprint,
            path,
            via: Some(self.waiting.fingerprint),
            hops: self.waiting.hops,
            hops_max: self.waiting.hops_max,
            attempts: 0,
            busy: 0,
            errand,
            place: self.waiting.place,
        };
        let page = std::mem::replace(&mut self.waiting, waiting);
        if let Some(active) = frontier.hosts.get_mut(&self.host) {
            active.buffer.push_front(page);
        }
        self
    }
}

impl Active {
    /// Returns true while one of its URLs is being fetched.
    pub fn is_in_flight(&self) -> bool {
        self.in_flight
    }

    /// Returns the URLs that are held in memory, first to be fetched first.
    pub fn buffered(&self) -> impl Iterator<Item = &Waiting> {
        self.buffer.iter()
    }
}
